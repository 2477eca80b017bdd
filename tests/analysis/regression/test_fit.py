"""Methods of all fits: tables, single coefficients, and comparisons."""

import copy
import pickle

import numpy as np
import pytest

from tests.analysis.reference_survey import COINS, COVARIATES, DIE, survey
from toolkit import forced
from toolkit.analysis import logistic, mixed_logistic, plain
from toolkit.analysis.regression.fit import covers_of
from toolkit.analysis.regression.logistic import LINKS
from toolkit.analysis.regression.margins import interval_basis

DATA = survey()
FIT = logistic("forced" + COVARIATES, DATA, DIE)


def test_limits_of_shares_are_cut_and_those_of_differences_are_not() -> None:
    assert interval_basis(FIT.coefficients, 0.99, 0.05, are_shares=True).within == (0, 1)
    assert interval_basis(FIT.coefficients, 0.99, 0.05, are_shares=False).within == (-np.inf, np.inf)


def test_rows_of_margins_are_subtracted_as_the_model_subtracts_them() -> None:
    """The average difference is computed from the model's own gradient, without any covariance of two margins."""
    shares, difference = FIT.margins("female", levels=[0, 1]), FIT.margins("female")
    less = shares[shares.labels[1]] - shares[shares.labels[0]]
    assert less.value == pytest.approx(float(difference.value))
    assert less.se == pytest.approx(float(difference.se), rel=1e-6)


def test_coefficients_are_subtracted_with_their_covariance() -> None:
    less = FIT["female"] - FIT["age10"]
    row = np.array([0, 1, -1, 0])
    assert FIT.labels[1:3] == ("female", "age10")
    assert less.se == pytest.approx(float(np.sqrt(row @ FIT.cov @ row)))
    assert list(less.interval()) == pytest.approx(list(FIT.contrast({"female": 1, "age10": -1}).interval()))


def test_the_table_has_odds_ratios_on_demand() -> None:
    plain, ratios = FIT.to_frame(), FIT.to_frame(exp=True)
    assert list(plain.columns) == ["estimate", "se", "low", "high", "statistic", "p"]
    assert list(ratios.columns) == ["odds ratio", "se", "low", "high", "statistic", "p"]
    assert np.allclose(ratios["odds ratio"], np.exp(plain.estimate))
    assert np.allclose(ratios.high, np.exp(plain.high))
    assert np.allclose(ratios.se, plain.se * np.exp(plain.estimate))
    assert np.allclose(plain.statistic, FIT.value / FIT.se)
    hazard = logistic("forced ~ female", DATA, DIE, link="cloglog").to_frame(exp=True)
    assert "hazard ratio" in hazard.columns
    with pytest.raises(ValueError, match="`exp` needs a link whose coefficients are logarithms"):
        logistic("forced ~ female", DATA, DIE, link="probit").to_frame(exp=True)


def test_the_summary_says_what_the_errors_cover_and_what_it_cost() -> None:
    text, page = repr(FIT), FIT._repr_html_()
    for shown in (text, page):
        assert "logistic regression through a randomized answer (logit link)" in shown
        assert "n = 2,400; log-likelihood -1544.59" in shown
        assert "covers sampling and randomization; privacy loss ε = 1.61" in shown
        assert "observed errors" in shown
        assert "age10" in shown
    assert text.splitlines()[4].split() == ["age10", "-0.258", "0.043", "-0.343", "to", "-0.173", "<", "0.001"]
    assert page.count("<tr>") == 6
    assert covers_of(FIT.data.people) == FIT.coefficients.covers


def test_a_fit_says_of_itself_what_an_estimate_says() -> None:
    fit = logistic("forced ~ female", survey(), DIE)
    for name in ("loss", "covers", "method", "notes", "n", "labels"):
        assert getattr(fit, name) == getattr(fit.coefficients, name)
    assert fit.loss == DIE.loss


def test_labels_are_escaped_in_html() -> None:
    fit = logistic("forced ~ Q('a<b')", DATA.rename(columns={"age10": "a<b"}), DIE)
    assert "<b" not in fit._repr_html_().replace("<br>", "")


def test_one_coefficient_by_name() -> None:
    one = FIT["female"]
    assert float(one) == FIT.value[1]
    assert one.interval().low == FIT.interval().low[1]
    assert one.test().p == FIT.coefficients.test().p[1]
    assert one.labels == ("female",)
    assert one.cov.item() == pytest.approx(one.se**2)
    with pytest.raises(ValueError, match="must be one of the labels, got 'height'"):
        FIT["height"]


def test_a_contrast_uses_the_covariance() -> None:
    """The same model with women as the base: its intercept is a sum of two coefficients of ours."""
    other = logistic("forced ~ I(1 - female) + age10 + loginc", DATA, DIE)
    women = FIT.contrast({"Intercept": 1, "female": 1})
    assert abs(women.value - other.value[0]) < 1e-8
    assert abs(women.se - other.se[0]) < 1e-8
    assert women.labels == ("1 × Intercept + 1 × female",)
    assert logistic("forced ~ female", DATA, DIE, clusters="c60").contrast({"female": 2}).interval().method == "t"
    with pytest.raises(ValueError, match="must be one of the labels, got 'height'"):
        FIT.contrast({"height": 1})


def test_a_margin_is_per_unit_whatever_the_unit() -> None:
    days = logistic("forced ~ female + days + loginc", DATA.assign(days=3652.5e6 * DATA.age10), DIE)
    one, other = FIT.margins("age10"), days.margins("days")
    assert (3652.5e6 * other.value, 3652.5e6 * other.se) == pytest.approx((one.value, one.se), rel=1e-6)


def test_a_sample_is_compared_by_wald_on_f() -> None:
    """One coefficient: F is t squared, with the same p."""
    options = {"weights": "weight", "strata": "stratum", "clusters": "psu"}
    full = logistic("forced" + COVARIATES, DATA, DIE, **options)
    found = full.compare(logistic("forced ~ female + age10", DATA, DIE, **options))
    assert found.method == "Wald, F"
    assert abs(found.statistic - (full.value[3] / full.se[3]) ** 2) < 1e-12
    assert abs(found.p - full["loginc"].test().p) < 1e-12


@pytest.mark.slow
def test_the_degrees_of_freedom_count_columns_whatever_they_are_called() -> None:
    full = logistic("forced ~ C(stratum) * female", DATA, DIE)
    alike = logistic("forced ~ C(stratum) + female", DATA, DIE)
    other = logistic("forced ~ 0 + C(stratum) + female", DATA, DIE)
    assert full.compare(alike).df == full.compare(other).df == 2
    assert abs(full.compare(alike).statistic - full.compare(other).statistic) < 1e-8
    heavy = [logistic(f"forced ~ {right}", DATA, DIE, weights="weight") for right in ("C(stratum)", "1")]
    assert heavy[0].compare(heavy[1]).df == 2
    with pytest.raises(ValueError, match="must have a subset of the larger model's coefficients"):
        logistic("forced ~ 0 + C(stratum)", DATA, DIE, weights="weight").compare(heavy[1])


def test_models_of_other_rows_designs_or_columns_are_not_compared() -> None:
    with pytest.raises(ValueError, match="of one kind, with the same designs and rows"):
        FIT.compare(logistic("forced ~ female", DATA[:1000], DIE))
    with pytest.raises(ValueError, match="of one kind, with the same designs and rows"):
        FIT.compare(logistic("forced ~ female", DATA, COINS))
    with pytest.raises(ValueError, match="of one kind, with the same designs and rows"):
        FIT.compare(logistic("forced ~ female", DATA, DIE, link="probit"))
    with pytest.raises(ValueError, match="must be nested in this one"):
        FIT.compare(logistic("forced ~ stratum", DATA, DIE))
    with pytest.raises(ValueError, match="must be nested in this one"):
        FIT.compare(FIT)
    with pytest.raises(ValueError, match="must not be penalized"):
        FIT.compare(logistic("forced ~ female", DATA, DIE, penalty="jeffreys"))


@pytest.mark.parametrize("link", LINKS)
def test_a_pickled_fit_comes_back_and_predicts(link: str) -> None:
    """The fit may come from a formula or from columns."""
    for fit in (
        logistic("forced ~ female + np.log(age10 + 9)", DATA, DIE, link=link),
        logistic(DATA["forced"], DATA[["female", "age10"]], DIE, link=link),
    ):
        again, copied = pickle.loads(pickle.dumps(fit)), copy.deepcopy(fit)  # noqa: S301
        new = DATA[["female", "age10"]][:7]
        for other in (again, copied):
            assert np.array_equal(other.value, fit.value)
            assert np.array_equal(other.predict(new).value, fit.predict(new).value)
            assert repr(other) == repr(fit)


def test_a_fit_keeps_no_column_that_its_formula_does_not_speak_of() -> None:
    """A pickle of a fit was a pickle of the whole frame."""
    marked = DATA.assign(secret=[f"marker-{place}" for place in range(len(DATA))])
    for fit in (
        logistic("forced ~ female + age10", marked, DIE),
        logistic("forced ~ 1", marked, DIE),
        logistic("forced ~ female", marked, DIE, weights="weight"),
        mixed_logistic("forced ~ female", marked.assign(group=np.arange(len(DATA)) % 30), DIE, group="group"),
    ):
        assert b"marker-" not in pickle.dumps(fit)
        assert fit.margins().n == len(DATA) if hasattr(fit, "margins") else fit.n == len(DATA)


def test_a_variable_that_only_says_how_people_were_drawn_has_no_margin() -> None:
    """It was 0 with an error of 0."""
    mixed = mixed_logistic("forced ~ female", DATA[:300], DIE, group="psu")
    for fit in (logistic("forced ~ female", DATA, DIE, clusters="psu"), mixed):
        with pytest.raises(ValueError, match="must be a covariate of the formula, got 'psu': there are female"):
            fit.margins("psu")


def test_plausible_mistakes_are_answered_in_our_words() -> None:
    with pytest.raises(ValueError, match="columns of equal length"):
        FIT.predict({"female": 1.0, "age10": 2.0, "loginc": 1.0})
    for weights in (["female"], {}):
        with pytest.raises(TypeError, match="weights must be numbers by label"):
            FIT.contrast(weights)
    with pytest.raises(ValueError, match="`weight` must be a number"):
        FIT.contrast({"female": "a"})
    with pytest.raises(ValueError, match=r"of one kind, .* got Estimate"):
        FIT.compare(FIT.coefficients)
    for levels in ([], 1.0):
        with pytest.raises(ValueError, match="`levels` must be a list of at least one value"):
            FIT.margins("female", levels=levels)


def test_plain_answers_go_through_a_design_that_hides_nothing() -> None:
    one, other = (logistic("forced ~ female", DATA, design) for design in (plain(["no", "yes"]), forced(0, 0)))
    assert np.array_equal(one.value, other.value)
    assert one.se == pytest.approx(other.se)
