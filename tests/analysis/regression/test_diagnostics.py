"""Residuals of reports and the test of observed against expected reports, against formulas of our own."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy.stats import chi2, kstest, norm

from tests.analysis.reference_survey import BOTH, COVARIATES, DIE, DIRECT, WARNER, survey
from toolkit import k_ary
from toolkit.analysis import (
    extended_crosswise,
    linear,
    list_experiment,
    logistic,
    mixed_logistic,
    multinomial,
    ordinal,
    plain,
    predictor,
)

DATA = survey()
THREE = k_ary(("low", "medium", "high"), epsilon=2.0)


def expit(eta):
    return 1 / (1 + np.exp(-eta))


def yes_reports(n, design, rng, *, curve=0.0):
    x = rng.normal(size=n)
    truth = rng.random(n) < expit(-0.5 + 0.8 * x + curve * (x**2 - 1))
    return pd.DataFrame({"yes": design.randomize(truth, rng=rng).astype(int), "x": x, "x2": x**2})


@pytest.mark.parametrize(("design", "low", "high"), [(DIRECT, 0, 1), (DIE, 1 / 6, 5 / 6), (WARNER, 0.25, 0.75)])
def test_residuals_and_statistic_of_yes_or_no_are_those_of_the_formulas(design, low, high) -> None:
    frame = yes_reports(1500, design, np.random.default_rng(3))
    fit = logistic("yes ~ x", frame, design)
    p = low + (high - low) * expit(fit.value[0] + fit.value[1] * frame.x.to_numpy())
    y = frame.yes.to_numpy()
    assert fit.residuals("pearson") == pytest.approx((y - p) / np.sqrt(p * (1 - p)))
    assert fit.residuals("deviance") == pytest.approx(np.sign(y - p) * np.sqrt(-2 * np.log(np.where(y, p, 1 - p))))
    assert np.sum(fit.residuals("deviance") ** 2) == pytest.approx(-2 * fit.llf)
    u = np.random.default_rng(5).random(1500)
    drawn = norm.ppf(np.where(y, 1 - p + u * p, u * (1 - p)))
    assert fit.residuals(rng=np.random.default_rng(5)) == pytest.approx(drawn)
    group = np.argsort(np.argsort(fit.value[1] * frame.x, kind="stable"), kind="stable") // 150
    observed, expected = (np.bincount(group, values) for values in (y, p))
    test = fit.goodness_of_fit()
    table = test.to_frame()
    assert table["observed yes"].to_numpy() == pytest.approx(observed)
    assert table["expected yes"].to_numpy() == pytest.approx(expected)
    statistic = np.sum((observed - expected) ** 2 / (expected * (1 - expected / 150)))
    assert test.statistic == pytest.approx(statistic)
    assert test.df == pytest.approx(8, abs=0.1)
    assert test.p == pytest.approx(chi2.sf(statistic, test.df))


@pytest.mark.parametrize(
    ("fit", "df"),
    [
        (lambda x, rng: logistic(DIE.randomize(rng.random(len(x)) < 0.2 + x / 10, rng=rng), x, DIE), 4 - 2),
        (lambda x, rng: logistic(BOTH.randomize(rng.random(len(x)) < 0.2 + x / 10, rng=rng), x, BOTH), 4 * 3 - 2),
        (lambda x, rng: multinomial(THREE.randomize(rng.integers(3, size=len(x)), rng=rng), x, THREE), 4 * 2 - 4),
        (lambda x, rng: ordinal(THREE.randomize(rng.integers(3, size=len(x)), rng=rng), x, THREE), 4 * 2 - 3),
    ],
)
def test_degrees_of_freedom_of_four_equal_groups_are_cells_less_coefficients(fit, df) -> None:
    """If everybody in a group has the same probabilities, the reference distribution is chi-squared exactly."""
    test = fit(np.arange(2000) % 4.0, np.random.default_rng(2)).goodness_of_fit()
    assert test.df == pytest.approx(df, abs=1e-8)
    assert test.people.tolist() == [500] * 4
    assert test.observed.sum(axis=1) == pytest.approx(test.expected.sum(axis=1))


def test_several_options_have_a_column_for_each_report() -> None:
    """Each column is the residual of one report against the others; without a device, they are closed formulas."""
    rng = np.random.default_rng(4)
    x, options = rng.normal(size=900), plain(["a", "b", "c"])
    y = rng.choice(3, size=900, p=[0.5, 0.3, 0.2])
    fit = multinomial(y, x, options, base="b")
    eta = np.column_stack([np.ones(900), x]) @ fit.value.reshape(2, 2).T
    odds = np.exp(np.column_stack([eta[:, 0], np.zeros(900), eta[:, 1]]))
    p, seen = odds / odds.sum(axis=1, keepdims=True), np.eye(3)[y]
    assert fit.residuals("pearson") == pytest.approx((seen - p) / np.sqrt(p * (1 - p)))
    signed = np.where(seen == 1, 1, -1) * np.sqrt(-2 * np.log(np.where(seen == 1, p, 1 - p)))
    assert fit.residuals("deviance") == pytest.approx(signed)
    group = np.argsort(np.argsort(-p[:, 1], kind="stable"), kind="stable") // 90
    observed, expected = (np.array([table[group == k].sum(axis=0) for k in range(10)]) for table in (seen, p))
    assert fit.goodness_of_fit().statistic == pytest.approx(((observed - expected) ** 2 / expected).sum())


def test_quantile_residuals_of_an_ordinal_fit_follow_its_order() -> None:
    rng = np.random.default_rng(6)
    x = rng.normal(size=3000)
    reports = THREE.randomize(np.digitize(x + rng.logistic(size=3000), [-1, 1]), rng=rng)
    fit = ordinal(reports, np.ones((3000, 0)), THREE)
    reverse = ordinal(reports, np.ones((3000, 0)), THREE, order=["high", "medium", "low"])
    assert np.corrcoef(fit.residuals(rng=rng), x)[0, 1] > 0.1
    assert np.corrcoef(reverse.residuals(rng=rng), x)[0, 1] < -0.1
    assert reverse.with_scores().residuals("pearson")[:, ::-1] == pytest.approx(fit.residuals("pearson"), abs=1e-6)


def test_a_row_with_times_stands_for_as_many_people() -> None:
    frame = DATA.assign(age=DATA.age // 10)[["forced", "female", "age"]]
    counts = frame.groupby(list(frame), as_index=False).size()
    rows, people = (
        logistic("forced ~ female + age", data, DIE, times=times)
        for data, times in ((counts, "size"), (frame.sort_values(list(frame), kind="stable"), None))
    )
    for kind in ("pearson", "deviance"):
        assert rows.residuals(kind) == pytest.approx(people.residuals(kind), abs=1e-6)
    assert len(rows.residuals()) == len(frame)
    found, expected = rows.goodness_of_fit(), people.goodness_of_fit()
    assert (found.statistic, found.df) == pytest.approx((expected.statistic, expected.df), abs=1e-5)
    assert found.people.sum() == len(frame)


def test_two_devices_and_two_groups_are_tested_together() -> None:
    """Each person's report has the probability of the person's device."""
    both = logistic("die_or_coins" + COVARIATES, DATA, {1: DIE, 2: WARNER}, design_by="group")
    pi, die = np.asarray(both.predict().value), (DATA.group == 1).to_numpy()
    p = np.where(die, 1 / 6 + pi * 2 / 3, 1 / 4 + pi / 2)
    y = DATA.die_or_coins.to_numpy()
    assert both.residuals("pearson") == pytest.approx((y - p) / np.sqrt(p * (1 - p)))
    assert both.goodness_of_fit().df == pytest.approx(8, abs=0.1)
    rng = np.random.default_rng(8)
    x, version = rng.normal(size=3000), rng.integers(2, size=3000)
    innocuous = np.where(version, 0.85, 0.15)
    same = (rng.random(3000) < expit(x - 1)) == (rng.random(3000) < innocuous)
    frame = {"same": (same & (rng.random(3000) > 0.2)).astype(int), "x": x, "version": version}
    fit = extended_crosswise("same ~ x", frame, p={0: 0.15, 1: 0.85}, group="version")
    pi, silent = np.asarray(fit.predict().value), expit(fit.value[-1])
    p = (1 - silent) * (innocuous * pi + (1 - innocuous) * (1 - pi))
    assert fit.residuals("pearson") == pytest.approx((frame["same"] - p) / np.sqrt(p * (1 - p)))
    assert fit.goodness_of_fit().p > 0.001


def test_quantile_residuals_are_standard_normal_if_the_model_is_right() -> None:
    """Kolmogorov's p-value is below 0.001 for one seed in a thousand; for the wrong model it is far below."""
    rng = np.random.default_rng(9)
    x = rng.normal(size=20_000)
    y = THREE.randomize(np.digitize(2 * x + rng.logistic(size=20_000), [-1, 1]), rng=rng)
    for fit in (multinomial, ordinal):
        assert kstest(fit(y, x, THREE).residuals(rng=rng), "norm").pvalue > 0.001
    values = ordinal(y, np.ones((20_000, 0)), THREE).residuals(rng=rng)
    assert kstest(values[x > 1], "norm").pvalue < 1e-9


@pytest.mark.slow
@pytest.mark.parametrize("design", [DIRECT, DIE, WARNER], ids=["direct", "die", "coins"])
def test_the_test_has_its_size(design) -> None:
    """With 300 surveys, a test of size 0.05 rejects between 3 and 29 times, but for one seed in a thousand."""
    rng = np.random.default_rng(11)
    p = [logistic("yes ~ x", yes_reports(800, design, rng), design).goodness_of_fit().p for _ in range(300)]
    assert 3 <= np.sum(np.array(p) < 0.05) <= 29


@pytest.mark.slow
def test_a_wrong_model_is_found_and_the_right_one_is_not() -> None:
    frame = yes_reports(20_000, DIE, np.random.default_rng(12), curve=0.5)
    assert logistic("yes ~ x", frame, DIE).goodness_of_fit().p < 1e-6
    assert logistic("yes ~ x + x2", frame, DIE).goodness_of_fit().p > 0.001


def test_residuals_of_an_extreme_fit_are_finite() -> None:
    fit = logistic("yes ~ x", yes_reports(400, DIRECT, np.random.default_rng(13)), DIRECT)
    extreme = replace(fit, coefficients=replace(fit.coefficients, value=np.array([-2000.0, 3000.0])))
    for kind in ("quantile", "pearson", "deviance"):
        assert np.isfinite(extreme.residuals(kind)).all()
    assert np.isfinite(extreme.goodness_of_fit().statistic)


def test_residuals_of_a_complex_sample_are_given_and_its_test_is_refused() -> None:
    fit = logistic("forced ~ age10", DATA, DIE, weights="weight", clusters="c60")
    assert fit.residuals("pearson").shape == fit.residuals(rng=np.random.default_rng(1)).shape == (2400,)
    with pytest.raises(ValueError, match=r"got a sample with weights, clusters: the test of Archer and Lemeshow"):
        fit.goodness_of_fit()


def test_what_has_no_probabilities_of_reports_is_refused() -> None:
    rng = np.random.default_rng(14)
    treated = np.arange(400) % 2
    frame = {"count": rng.binomial(3, 0.5, size=400) + treated * (rng.random(400) < 0.3), "t": treated}
    fits = [
        linear("forced ~ age10", DATA, DIE),
        list_experiment("count ~ 1", frame, treatment="t", items=3),
        mixed_logistic("forced ~ 1", DATA, DIE, group="c60"),
        predictor("age10 ~ forced", DATA, {"forced": DIE}),
    ]
    for fit in fits:
        for call in (fit.residuals, fit.goodness_of_fit):
            with pytest.raises(ValueError, match=f"residuals need a fit of logistic.* got {type(fit).__name__}"):
                call()
    four = logistic("both ~ 1", DATA.assign(both=DATA.both.map("{:02b}".format)), BOTH)
    assert four.residuals("pearson").shape == (2400, 4)
    with pytest.raises(ValueError, match="got 1 groups with different predictions: nothing to test"):
        logistic("forced ~ 1", DATA, DIE).goodness_of_fit()
    frame = DATA.assign(report=np.where(DATA.group == 1, DATA.forced.astype(str), "10"))
    with pytest.raises(ValueError, match="must have the same number of reports, got 2 and 4"):
        logistic("report ~ 1", frame, {1: DIE, 2: BOTH}, design_by="group", penalty="jeffreys").residuals()
    with pytest.raises(ValueError, match="`groups` must be at least 2"):
        four.goodness_of_fit(1)
    with pytest.raises(ValueError, match="`kind`"):
        four.residuals("student")
    with pytest.raises(TypeError, match="`rng` must be None"):
        four.residuals(rng=1)
