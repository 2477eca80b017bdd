"""Intervals of shares stay inside 0 to 1, and are t intervals if those of the coefficients are."""

import numpy as np
import pytest
from scipy.stats import binom
from scipy.stats import t as student

from tests.analysis.reference_survey import DIE, LIKERT, survey
from toolkit.analysis import logistic, multinomial
from toolkit.analysis.regression.margins import interval_basis

DATA = survey()


def test_predictions_of_several_options_are_by_t_as_the_coefficients_are() -> None:
    fit = multinomial("likert ~ female", DATA, LIKERT, weights="weight", clusters=DATA.c60 % 12)
    found = fit.predict(DATA[:2])
    assert found.method == f"prediction; {fit.method}"
    interval = found.interval()
    assert interval.method == "t"
    reach = student.ppf(0.975, 11) * found.se
    assert interval.low == pytest.approx(np.maximum(found.value - reach, 0), rel=1e-9)
    assert interval.high == pytest.approx(np.minimum(found.value + reach, 1), rel=1e-9)
    without = multinomial("likert ~ female", DATA, LIKERT).predict(DATA[:2]).interval()
    assert without.method == "wald"


def test_shares_at_levels_stay_inside_and_their_contrasts_keep_t() -> None:
    """Few people, few of whom have it: value less 1.96 errors was below 0."""
    few = DATA[:120].assign(g=["a"] * 100 + ["b"] * 20)
    few["forced"] = (np.arange(120) % 6 == 0).astype(int)
    few.loc[few.index[:8], "forced"] = 1
    fit = logistic("forced ~ g", few, DIE, penalty="jeffreys")
    found = fit.margins("g", levels=["a", "b"])
    assert np.any(found.value - 1.96 * found.se < 0)
    low, high = found.interval()
    assert np.all((low >= 0) & (low < found.value) & (found.value < high) & (high <= 1))
    whole = fit.margins()
    assert 0 <= whole.interval().low < whole.value < whole.interval().high <= 1
    drawn = logistic("forced ~ female", DATA, DIE, clusters="c60").margins("female", levels=[0, 1])
    gap = drawn.contrast([-1, 1])
    assert gap.interval().method == "t"
    alone = logistic("forced ~ female", DATA, DIE, clusters="c60").margins("female")
    assert tuple(gap.interval()) == pytest.approx(tuple(alone.interval()), abs=1e-9)


def test_intervals_of_rare_shares_cover_what_they_claim() -> None:
    """All counts of 300 reports by a die, each with the chance that the share gives it: the fit of one group
    is found from its likelihood. Limits on the logit would cover 0.02 in 80 % of surveys.
    """
    n, counts = 300, np.arange(301)
    grid = np.linspace(-9, 9, 3601)
    share = 1 / (1 + np.exp(-grid))
    yes = 1 / 6 + share * 2 / 3
    information = (share * (1 - share)) ** 2 / (yes * (1 - yes))
    height = np.outer(counts, np.log(yes)) + np.outer(n - counts, np.log(1 - yes)) + np.log(information) / 2
    found = share[height.argmax(axis=1)]
    seen = 1 / 6 + found * 2 / 3
    error = np.sqrt(seen * (1 - seen) / n) * 1.5
    fit = logistic((counts[:n] < 70).astype(int), np.zeros((n, 0)), DIE, penalty="jeffreys")
    assert (fit.margins().value, fit.margins().se) == pytest.approx((found[70], error[70]), rel=0.01)
    low, high = interval_basis(fit.coefficients, found, error, are_shares=True).interval(0.95, "wald")
    for truth in (0.02, 0.05, 0.1, 0.2, 0.3, 0.5):
        chance = binom.pmf(counts, n, 1 / 6 + truth * 2 / 3)
        assert 0.94 < chance @ ((low <= truth) & (truth <= high)) < 0.98
    assert low.min() == 0


FIT = logistic("forced ~ female * age10", DATA, DIE)


def test_margins_by_a_variable_are_averages_over_its_groups() -> None:
    """Each average is over the people who have that value."""
    found = FIT.margins("age10", by="female")
    assert found.labels == ("age10, female = 0", "age10, female = 1")
    step = 1e-5
    shares = [(FIT.predict(DATA.assign(age10=DATA.age10 + side * step)).value / (2 * step)) for side in (1, -1)]
    slopes = shares[0] - shares[1]
    by_hand = [slopes[DATA.female == value].mean() for value in (0, 1)]
    assert found.value == pytest.approx(by_hand, rel=1e-5)
    women = (DATA.female == 1).mean()
    assert women * found.value[1] + (1 - women) * found.value[0] == pytest.approx(FIT.margins("age10").value, rel=1e-9)


def test_levels_by_group_keep_their_covariances() -> None:
    shares, gaps = FIT.margins("female", levels=[0, 1], by="female"), FIT.margins("female", by="female")
    for value in ("0", "1"):
        gap = shares[f"female = 1, female = {value}"] - shares[f"female = 0, female = {value}"]
        single = gaps[f"female: 1 − 0, female = {value}"]
        assert (gap.value, gap.se) == pytest.approx((single.value, single.se), rel=1e-9)


def test_margins_at_a_value_are_those_of_people_who_have_it() -> None:
    found = FIT.margins("female", levels=[1], at={"age10": 3.5})
    assert found.value == pytest.approx(FIT.predict(DATA[:1].assign(female=1, age10=3.5)).value[0], rel=1e-12)
    assert found.se == pytest.approx(FIT.predict(DATA[:1].assign(female=1, age10=3.5)).se[0], rel=1e-9)


def test_sampled_margins_by_group_match_a_fit_with_the_groups_weights() -> None:
    """The average over a group is a ratio, so that its error is that of a weighted mean over the group alone."""
    sampled, fixed = (FIT.margins(by="female", respondents=kind) for kind in ("sample", "fixed"))
    assert sampled.value == pytest.approx(fixed.value, rel=1e-12)
    saturated = logistic("forced ~ female", DATA, DIE)  # one share in each group: covariates add nothing
    assert saturated.margins(by="female", respondents="sample").se == pytest.approx(
        saturated.margins(by="female").se, rel=0.05
    )
    reports = [DIE.estimate(DATA.forced[DATA.female == value].tolist()) for value in (0, 1)]
    assert saturated.margins(by="female").value == pytest.approx([share.value for share in reports], abs=1e-6)
    assert saturated.margins(by="female").se == pytest.approx([share.se for share in reports], rel=0.01)


def test_groups_must_be_few_and_weighted() -> None:
    with pytest.raises(ValueError, match=r"`by` must be a variable of at most 50 values, got [0-9]+ values"):
        FIT.margins(by="age10")
    with pytest.raises(ValueError, match="a variable must be a covariate of the formula, got 'c60'"):
        FIT.margins(by="c60")
