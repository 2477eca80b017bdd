"""A randomized answer on the right-hand side: reference fits, and invariances.

The points were confirmed by EM; standard errors are of the observed information.
"""

from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

from tests.analysis.reference_survey import COINS, DIE, DIRECT, survey
from toolkit import k_ary
from toolkit.analysis import predictor
from toolkit.analysis.regression import mixture
from toolkit.analysis.regression import predictor as module
from toolkit.analysis.regression.fit import covers_of
from toolkit.analysis.regression.mixture import FAMILIES, MixtureModel
from toolkit.analysis.regression.predictor import _randomized_columns, read_predictor_rows, truth_combinations

DATA = survey().assign(high=lambda frame: (frame.outcome > 2.5).astype(int))
FORMULA = "outcome ~ female + age10 + forced"
DESIGNS = {"forced": DIE}


def two_items() -> pd.DataFrame:
    rng, n = np.random.default_rng(2027), 3000
    a = rng.random(n) < 0.3
    b = rng.random(n) < np.where(a, 0.5, 0.15)
    outcome = 1 + 0.8 * a - 0.5 * b + rng.normal(size=n)
    die, coins = rng.random(n), rng.random(n)
    seen = np.where(die < 1 / 6, 0, np.where(die < 1 / 3, 1, a)).astype(int)
    return pd.DataFrame({"outcome": outcome, "a": seen, "b": np.where(coins < 0.75, b, ~b).astype(int)})


@pytest.mark.slow
def test_a_linear_outcome_has_the_reference_fit() -> None:
    """P1; the raw report in its place has a slope of 0.523: attenuated."""
    fit = predictor(FORMULA, DATA, DESIGNS)
    assert fit.labels == ("Intercept", "female", "age10", "forced")
    assert np.allclose(fit.value, [2.03684695, -0.04570949, 0.20967812, 0.88477830], atol=2e-8)
    assert abs(np.log(fit.sigma) + 0.02143179) < 1e-8
    assert abs(fit.sigma - 0.97879624) < 1e-8
    assert np.allclose(fit.truth.value, [-1.03894983, 0.37476673, -0.25851709], atol=2e-8)
    assert abs(fit.llf + 5006.70981177) < 1e-7
    assert np.allclose(fit.se, [0.03642395, 0.04461124, 0.01291773, 0.07106700], rtol=1e-6)
    assert np.allclose(fit.truth.se, [0.10923425, 0.14401232, 0.04123070], rtol=1e-6)
    rows = read_predictor_rows(FORMULA, DATA, DESIGNS, None, {}, "refuse")
    model = MixtureModel(
        np.array(rows.outcome_covariates),
        rows.truth_covariates.matrix,
        rows.report_likelihood,
        rows.outcome,
        FAMILIES["linear"],
        rows.people,
    )
    at = np.concatenate([fit.value, [np.log(fit.sigma)], fit.truth.value])
    assert np.sqrt(np.linalg.inv(model.observed_information(at))[4, 4]) == pytest.approx(0.01737128, rel=1e-6)
    assert abs(predictor(FORMULA, DATA, DESIGNS, se="opg").se[3] - 0.07317920) < 1e-7
    columns = np.column_stack([np.ones(2400), DATA.female, DATA.age10, DATA.forced])
    raw = np.linalg.lstsq(columns, DATA.outcome, rcond=None)[0][3]
    assert abs(raw - 0.52332648) < 1e-8


def test_a_yes_or_no_outcome_has_the_reference_fit() -> None:
    """P2."""
    fit = predictor("high ~ female + age10 + forced", DATA, DESIGNS, family="logistic")
    assert np.allclose(fit.value, [-0.72355933, -0.05363775, 0.33181110, 1.38711095], atol=2e-8)
    assert np.allclose(fit.truth.value, [-1.05329163, 0.37659815, -0.25764954], atol=2e-8)
    assert abs(fit.llf + 3105.54646529) < 1e-7
    assert np.allclose(fit.se, [0.08297136, 0.09395068, 0.03044852, 0.17416633], rtol=1e-6)
    assert np.allclose(fit.truth.se, [0.11196398, 0.14715752, 0.04237075], rtol=1e-6)
    assert fit.sigma is None
    assert fit.loss.epsilon == pytest.approx(DIE.epsilon)
    assert fit.aic == pytest.approx(2 * (4 + 3) + 2 * 3105.54646529)
    assert "odds ratio" in fit.to_frame(exp=True).columns


@pytest.mark.slow
def test_two_randomized_predictors_have_the_reference_fit() -> None:
    """P3."""
    fit = predictor("outcome ~ a + b", two_items(), {"a": DIE, "b": COINS})
    assert np.allclose(fit.value, [1.05399340, 0.64997146, -0.49814326], atol=2e-8)
    assert abs(np.log(fit.sigma) - 0.01236387) < 1e-8
    assert np.allclose(fit.combination_shares, [0.58968565, 0.09656121, 0.17506066, 0.13869248], atol=1e-8)
    assert fit.combinations == ((0, 0), (0, 1), (1, 0), (1, 1))
    assert abs(fit.llf + 8343.50748841) < 1e-7
    assert np.allclose(fit.se, [0.03092363, 0.09170481, 0.13671494], rtol=2e-6)
    assert fit.truth.labels[0] == "a = 0, b = 1: Intercept"
    assert abs(fit.coefficients.loss.epsilon - DIE.epsilon - COINS.epsilon) < 1e-12


def test_answers_that_nothing_hides_give_least_squares() -> None:
    fit = predictor(FORMULA, DATA, {"forced": DIRECT}, se="observed")
    columns = np.column_stack([np.ones(2400), DATA.female, DATA.age10, DATA.forced])
    value, residual, *_ = np.linalg.lstsq(columns, DATA.outcome, rcond=None)
    assert np.allclose(fit.value, value, atol=1e-8)
    se = np.sqrt(np.diag(np.linalg.inv(columns.T @ columns)) * residual[0] / 2400)
    assert np.allclose(fit.se, se, rtol=1e-6)


@pytest.mark.slow
def test_units_do_not_matter() -> None:
    far = DATA.assign(outcome=1000 + 100 * DATA.outcome, age10=DATA.age)
    one, two = predictor(FORMULA, DATA, DESIGNS), predictor(FORMULA, far, DESIGNS)
    assert np.allclose(two.value[[1, 3]], 100 * one.value[[1, 3]], atol=1e-5)
    assert abs(two.value[2] - 10 * one.value[2]) < 1e-7
    assert abs(two.sigma - 100 * one.sigma) < 1e-6
    assert abs(two.llf - (one.llf - 2400 * np.log(100))) < 1e-6
    without = predictor("outcome ~ 0 + C(female) + forced", DATA, DESIGNS)
    with_one = predictor("outcome ~ female + forced", DATA, DESIGNS)
    assert abs(without.value[1] - with_one.value[:2].sum()) < 1e-7


def test_a_constant_column_takes_the_place_of_the_intercept() -> None:
    """Twice as large, so with half the coefficient; the mean of the outcome, which is taken off, comes back to it."""
    few = DATA[:300].assign(two=2.0)
    given: dict[str, Any] = {"designs": DESIGNS, "truth": "1"}
    one, two = (predictor(f"outcome ~ {right} + forced", few, **given) for right in ("1", "0 + two"))
    assert two.labels == ("two", "forced")
    assert two.value == pytest.approx(one.value * [0.5, 1], rel=1e-6)
    assert two.se == pytest.approx(one.se * [0.5, 1], rel=1e-6)
    assert two.llf == pytest.approx(one.llf, abs=1e-8)


@pytest.mark.slow
def test_interactions_with_the_truth_are_found() -> None:
    """4 standard errors of three coefficients: false alarms 2e-4."""
    rng, n = np.random.default_rng(8), 6000
    female, truth = rng.integers(0, 2, n), rng.random(n) < 0.4
    frame = pd.DataFrame({"female": female, "cheated": DIE.randomize(truth, rng=rng)})
    frame["y"] = 1 + 0.5 * truth + 1.0 * truth * female + rng.normal(size=n)
    fit = predictor("y ~ cheated * female", frame, {"cheated": DIE})
    assert fit.labels == ("Intercept", "cheated", "female", "cheated:female")
    assert np.abs((fit.value - [1, 0.5, 0, 1]) / fit.se)[1:].max() < 4
    assert fit.truth.labels == ("cheated: Intercept", "cheated: female")


@pytest.mark.slow
def test_a_truth_model_of_ones_own_is_used_and_allows_comparison() -> None:
    full = predictor(FORMULA, DATA, DESIGNS, truth="1")
    smaller = predictor("outcome ~ female + forced", DATA, DESIGNS, truth="1")
    assert full.truth.labels == ("forced: Intercept",)
    assert full.compare(smaller).df == 1
    assert full.compare(smaller).p < 1e-6
    with pytest.raises(ValueError, match="of one kind, with the same designs and rows"):
        predictor(FORMULA, DATA, DESIGNS).compare(smaller)


@pytest.mark.slow
def test_counts_weights_and_frames_are_read_as_everywhere() -> None:
    twice = pd.concat([DATA[:600], DATA[:600]])
    one = predictor(FORMULA, twice, DESIGNS)
    two = predictor(FORMULA, pl.from_pandas(DATA[:600]), DESIGNS, times=np.full(600, 2))
    assert np.allclose(one.value, two.value, atol=1e-8)
    assert np.allclose(one.se, two.se, rtol=1e-7)
    heavy = predictor(FORMULA, DATA, DESIGNS, weights="weight", clusters="c60")
    assert heavy.interval().method == "t"
    assert "clusters; 59 df" in heavy.coefficients.covers
    gone = DATA.assign(outcome=DATA.outcome.where(DATA.index > 9))
    assert predictor(FORMULA, gone, DESIGNS, missing="drop").rows["outcome"] == 10


@pytest.mark.parametrize("family", FAMILIES)
def test_whole_weights_are_that_many_rows_of_one_cluster(family: str) -> None:
    few = DATA[:200].assign(w=1 + np.arange(200) % 3, id=np.arange(200))
    given: dict[str, Any] = {"designs": DESIGNS, "truth": "1", "family": family}
    formula = f"{'outcome' if family == 'linear' else 'high'} ~ forced"
    one = predictor(formula, few, weights="w", **given)
    two = predictor(formula, few.loc[few.index.repeat(few.w)], clusters="id", **given)
    assert one.value == pytest.approx(two.value, abs=1e-6)
    assert [*one.se, *one.truth.se] == pytest.approx([*two.se, *two.truth.se], rel=1e-5)


@pytest.mark.parametrize("family", FAMILIES)
def test_gradient_and_observed_information_are_those_of_differences(family: str) -> None:
    formula = ("outcome" if family == "linear" else "high") + " ~ age10 + forced + warner"
    rows = read_predictor_rows(formula, DATA[:300], {"forced": DIE, "warner": COINS}, None, {}, "refuse")
    columns = np.array(rows.outcome_covariates)
    model = MixtureModel(
        columns, rows.truth_covariates.matrix, rows.report_likelihood, rows.outcome, FAMILIES[family], rows.people
    )
    at, step = np.linspace(-0.4, 0.5, model.n_parameters), 1e-6
    found, axes = model.evaluate(at), np.eye(model.n_parameters)
    sides = [(model.evaluate(at + step * axis), model.evaluate(at - step * axis)) for axis in axes]
    slopes = [(up.loglike - down.loglike) / (2 * step) for up, down in sides]
    assert np.allclose(found.score, slopes, atol=1e-4)
    hessian = [(down.score - up.score) / (2 * step) for up, down in sides]
    assert np.allclose(model.observed_information(at), hessian, atol=1e-3)
    assert np.allclose(model.scores(at).sum(axis=0), found.score)
    assert len(truth_combinations(("a", "b", "c"))) == 8


def test_the_expected_information_on_sigma_is_the_mean_of_the_observed() -> None:
    """Gauss-Hermite quadrature integrates polynomials of degree 2 over the normal distribution exactly."""
    outcome, weights = np.polynomial.hermite_e.hermegauss(3)
    law = FAMILIES["linear"]
    *_, by_nuisance = law.negative_hessian(outcome, np.zeros(3), np.zeros(1))
    assert law.expected_information == pytest.approx(weights @ by_nuisance / weights.sum())


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"designs": {"height": DIE}}, ("every column of `designs` must be on the right side of the formula, "
                                       "got height")),
        ({"designs": DIE}, "`designs` must map the randomized columns to their designs, got Design"),
        ({"designs": {}}, "`designs` must map the randomized columns"),
        ({"designs": {"forced": "die"}}, "`design` must be a Design, got str"),
        ({"designs": {"forced": k_ary(3, epsilon=1.0)}}, ("the design of 'forced' must have two options, got "
                                                         "3")),
        ({"family": "poisson"}, "`family` must be one of linear, logistic"),
        ({"family": "logistic"}, "the outcome of family='logistic' must be 0 or 1"),
        ({"penalty": "firth"}, "`penalty` must be one of jeffreys"),
        ({"se": "expected"}, "`se` must be one of observed, opg, robust"),
        ({"truth": "forced"}, "`truth` must not contain the randomized answers"),
        ({"data": DATA.assign(outcome=1.0)}, "the outcome must vary, got one value"),
        ({"data": DATA.assign(outcome="a")}, "outcomes must be numbers"),
        ({"data": DATA.assign(forced=7)}, "reports given as codes must lie in 0 … 1"),
        ({"formula": "outcome ~ forced + I(2 * forced)"}, "combination of the columns before it"),
        ({"weights": np.zeros(2400)}, "`weights` must be above 0"),
    ],
)  # fmt: skip
def test_bad_input_is_refused(change: dict[str, Any], sentence: str) -> None:
    given = {"formula": FORMULA, "data": DATA, "designs": DESIGNS} | change
    with pytest.raises((ValueError, TypeError), match=sentence):
        predictor(given.pop("formula"), given.pop("data"), **given)


def rare(seed: int) -> dict[str, np.ndarray]:
    """300 people of whom one in twenty has it, and an outcome that it makes likelier."""
    rng = np.random.default_rng(seed)
    truth = rng.random(300) < 0.05
    high = (rng.random(300) < np.where(truth, 0.5, 0.27)).astype(int)
    return {"high": high, "y": truth + rng.normal(size=300), "t": DIE.randomize(truth, rng=rng) + 0}


def test_seen_truths_have_the_rule_of_succession_for_their_penalized_share() -> None:
    """An intercept and a seen truth: the penalty is the logarithm of share times (1 - share), so that the
    share is (yes + 1) / (n + 2); the coefficients are those of least squares.
    """
    fit = predictor("outcome ~ forced", DATA[:40], {"forced": DIRECT}, penalty="jeffreys")
    yes, plain = int(DATA.forced[:40].sum()), predictor("outcome ~ forced", DATA[:40], {"forced": DIRECT})
    assert fit.truth.value[0] == pytest.approx(np.log((yes + 1) / (40 - yes + 1)), abs=1e-6)
    assert np.allclose(fit.value, plain.value, atol=1e-7)
    assert fit.sigma == pytest.approx(plain.sigma, abs=1e-7)


@pytest.mark.slow
def test_the_penalized_maximum_is_the_one_that_another_search_finds() -> None:
    """A logistic outcome: the log-likelihood is written out and maximized by Nelder and Mead's method."""
    from scipy.optimize import minimize
    from scipy.special import expit

    frame = rare(3)
    y, seen = frame["high"], DIE.matrix[:, frame["t"]]

    def depth(at: np.ndarray) -> float:
        share, means = expit(at[2]), expit([at[0], at[0] + at[1]])
        law = (1 - share) * seen[0] * np.where(y, means[0], 1 - means[0])
        law = law + share * seen[1] * np.where(y, means[1], 1 - means[1])
        told = np.array([1 - share, share]) * means * (1 - means)
        determinant = told[0] * told[1] * share * (1 - share)  # of [[a + b, b], [b, b]], and of the share
        return -float(np.log(law).sum() + np.log(determinant) / 2)

    options = {"xatol": 1e-9, "fatol": 1e-12, "maxiter": 4000, "maxfev": 4000}
    best = minimize(depth, np.zeros(3), method="Nelder-Mead", options=options)
    fit = predictor("high ~ t", frame, {"t": DIE}, family="logistic", penalty="jeffreys")
    assert np.allclose([*fit.value, *fit.truth.value], best.x, atol=2e-5)


@pytest.mark.slow
def test_where_the_maximum_is_at_infinity_the_penalized_one_is_finite() -> None:
    frame = rare(9) | {"x": np.arange(300) / 300}
    sides = {"split": (frame["x"] > 0.5).astype(int)}
    for formula, family in (("split ~ t + x", "logistic"), ("high ~ t", "logistic"), ("y ~ t + x", "linear")):
        given: dict[str, Any] = {"data": frame | sides, "designs": {"t": DIE}, "family": family}
        if family == "logistic":
            with pytest.raises(ValueError, match="use penalty='jeffreys', leave out covariates of the truth"):
                predictor(formula, **given)
        fit = predictor(formula, penalty="jeffreys", **given)
        assert np.isfinite([*fit.value, *fit.se, *fit.truth.value, *fit.truth.se]).all()
        assert "Jeffreys penalty" in fit.title
        assert "penalized likelihood, observed errors" in fit.method
    with pytest.raises(ValueError, match="models to compare must not be penalized"):
        fit.compare(predictor("y ~ t", frame, {"t": DIE}, truth="x", penalty="jeffreys"))


@pytest.mark.slow
def test_of_many_people_the_penalty_is_of_no_account() -> None:
    """P1 again: no coefficient moves by more than a twentieth of its error, nor does an error by a
    hundredth; with weights and clusters the errors are still the robust ones.
    """
    for sampling in ({}, {"weights": "weight", "clusters": "c60"}):
        plain = predictor(FORMULA, DATA, DESIGNS, **sampling)
        fit = predictor(FORMULA, DATA, DESIGNS, penalty="jeffreys", **sampling)
        assert np.all(np.abs(fit.value - plain.value) < plain.se / 20)
        assert np.all(fit.value != plain.value)
        assert np.allclose(fit.se, plain.se, rtol=0.01)
    assert fit.interval().method == "t"


@pytest.mark.slow
def test_an_outcome_that_is_explained_without_error_is_refused() -> None:
    """Its likelihood has no bound: the spread of the errors goes to zero."""
    x = np.arange(200) / 200
    frame = {"line": 2 * x, "x": x, "t": DATA.forced[:200].to_numpy()}
    with pytest.raises(ValueError, match="a linear outcome must have errors, got one that the columns"):
        predictor("line ~ t + x", frame, {"t": DIE})
    with pytest.raises(ValueError, match="family='logistic' is for an outcome of 0 or 1"):
        predictor("same ~ t", {"same": 1.0 * frame["t"], "t": frame["t"]}, {"t": DIRECT}, penalty="jeffreys")


def test_seven_items_are_refused() -> None:
    seven = tuple("abcdefg")
    assert _randomized_columns(dict.fromkeys(seven[:6], DIE), seven) == seven[:6]
    with pytest.raises(ValueError, match="at most 6 randomized answers, got 7"):
        _randomized_columns(dict.fromkeys(seven, DIE), seven)


def test_what_is_assumed_is_said() -> None:
    fit = predictor(FORMULA, DATA, DESIGNS)
    assert "given the truth, the outcome is taken to be independent of the report" in repr(fit)
    assert (
        covers_of(read_predictor_rows(FORMULA, DATA, DESIGNS, None, {}, "refuse").people)
        == "sampling and randomization"
    )
    with pytest.raises(ValueError, match="`exp` needs a link"):
        fit.to_frame(exp=True)


@pytest.mark.slow
def test_intervals_of_the_hidden_slope_cover() -> None:
    """30 surveys of 500 people, slope 0.8: at least 23 cover; a binomial with chance 0.95 has fewer with
    probability 8.5e-5.
    """
    rng, covering = np.random.default_rng(12), 0
    for _ in range(30):
        truth = rng.random(500) < 0.3
        frame = {"y": 0.8 * truth + rng.normal(size=500), "t": DIE.randomize(truth, rng=rng)}
        low, high = predictor("y ~ t", frame, {"t": DIE}).interval()
        covering += low[1] <= 0.8 <= high[1]
    assert covering >= 23


@pytest.mark.parametrize("family", ["linear", "logistic"])
def test_the_likelihood_of_blocks_of_rows_adds_up(family, monkeypatch) -> None:
    outcome = "outcome" if family == "linear" else "high"
    rows = read_predictor_rows(f"{outcome} ~ female + age10 + forced", DATA, DESIGNS, None, {}, "refuse")
    law, parts = FAMILIES[family], (np.array(rows.outcome_covariates), rows.truth_covariates.matrix)
    at = np.linspace(-0.3, 0.4, 7 + law.n_nuisance)
    for with_newton in (True, False):
        points = []
        for size in (10_000, 701):
            monkeypatch.setattr(mixture, "_BLOCK", size)
            model = MixtureModel(*parts, rows.report_likelihood, rows.outcome, law, rows.people, with_newton)
            assert len(model._blocks) == -(-2400 // size)
            points.append((model.evaluate(at), model.observed_information(at)))
        (whole, curvature), (added, curvatures) = points
        assert added.loglike == pytest.approx(whole.loglike, rel=1e-10)
        assert added.score == pytest.approx(whole.score, rel=1e-8, abs=1e-8)
        assert added.information == pytest.approx(whole.information, rel=1e-8, abs=1e-8)
        assert curvatures == pytest.approx(curvature, rel=1e-8, abs=1e-8)


def test_many_people_have_the_maximum_that_few_would_lead_to(monkeypatch) -> None:
    """The first steps are on a sample of the rows; where they mislead, all rows are used. The last rows, of whom nobody
    need be in the sample, are the only ones with a trait that explains the outcome.
    """
    rng, n = np.random.default_rng(11), 3000
    truth, rare = rng.random(n) < 0.3, (np.arange(n) >= n - 3) * 1.0
    x = rng.normal(size=n)
    frame = {"r": DIE.randomize(truth, rng=rng), "x": x, "rare": rare}
    frame["y"] = 1 + 0.5 * x + 0.8 * truth + 2 * rare + rng.normal(size=n)
    frame["yes"] = rng.random(n) < 1 / (1 + np.exp(0.5 - x - truth))
    calls = [("y ~ x + rare + r", "linear"), ("yes ~ x + r", "logistic")]
    fits = [predictor(formula, frame, {"r": DIE}, family=family) for formula, family in calls]
    monkeypatch.setattr(module, "_MANY_ROWS", 1000)
    monkeypatch.setattr(module, "_SAMPLE", 300)
    for (formula, family), fit in zip(calls, fits, strict=True):
        sampled = predictor(formula, frame, {"r": DIE}, family=family)
        assert sampled.llf == pytest.approx(fit.llf, abs=1e-7)
        assert sampled.value == pytest.approx(fit.value, abs=1e-5)
        assert sampled.se == pytest.approx(fit.se, rel=1e-4)
    exact = frame | {"y": 1 + 0.5 * x}
    with pytest.raises(ValueError, match="a linear outcome must have errors"):
        predictor("y ~ x + r", exact, {"r": DIE})
