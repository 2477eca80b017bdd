"""Ordinal regression: `logistic` with two options, R's polr without randomization, and likelihoods written here."""

import pickle
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import polars as pl
import pytest
from matplotlib import pyplot as plt
from scipy.optimize import minimize
from scipy.stats import binom, chi2, gumbel_l, norm
from scipy.stats import logistic as logistic_law

from tests.analysis.reference_survey import COVARIATES, DIE, LIKERT, survey
from toolkit import Design, forced_options, k_ary, likert
from toolkit.analysis import (
    OrdinalFit,
    Replicates,
    Sample,
    compare_models,
    compliance_sensitivity,
    logistic,
    multinomial,
    ordinal,
    plain,
)
from toolkit.analysis.regression.ordinal import OrderedCoordinates

Array = npt.NDArray[np.float64]
DATA = survey()
LAWS = {"logit": logistic_law, "probit": norm, "cloglog": gumbel_l}
WIDE = Design([[6, 2, 1, 1], [2, 6, 1, 1], [1, 1, 2, 6]], 10, ("a", "b", "c"), ("w", "x", "y", "z"))
DESIGNS: dict[str, Any] = {
    "direct": plain(["a", "b", "c"]),
    "k_ary": k_ary(("a", "b", "c"), epsilon=2.0),
    "forced": forced_options(4, ["0.05"] * 4),
    "more reports than options": WIDE,
}
ORDINAL = ordinal("likert" + COVARIATES, DATA, LIKERT)


def as_logistic(values: Array) -> Array:
    """The coefficients of `logistic` in the order of an ordinal fit of two options: slopes, then the threshold."""
    return np.append(values[1:], values[0])


def cumulative(fit: OrdinalFit, x: Array) -> Array:
    """Pr(truth <= j), from the distributions of scipy."""
    slopes, thresholds = fit.value[: x.shape[1]], fit.value[x.shape[1] :]
    return np.asarray(LAWS[fit.link.name].cdf(thresholds[:, None] - x @ slopes))


def loglike(params: Array, link: str, x: Array, likelihood: Array, weights: Array | float = 1.0) -> float:
    """The log-likelihood of reports with these likelihoods given each truth: one row per truth."""
    slopes, thresholds = params[: x.shape[1]], params[x.shape[1] :]
    below = LAWS[link].cdf(thresholds[:, None] - x @ slopes)
    shares = np.diff(np.vstack([np.zeros(len(x)), below, np.ones(len(x))]), axis=0)
    if np.any(np.diff(thresholds) <= 0):
        return -np.inf
    return float(np.sum(weights * np.log(np.maximum((shares * likelihood).sum(axis=0), 1e-300))))


def derivatives(function: Any, at: Array, step: float = 1e-4) -> Array:
    """Central differences of fourth order, one row per coordinate."""
    rows = []
    for axis in step * np.eye(len(at)):
        near, far = (function(at + k * axis) - function(at - k * axis) for k in (1, 2))
        rows.append((8 * near - far) / (12 * step))
    return np.array(rows)


# ---------------------------------------------------------------- two options are `logistic`

TWO: list[dict[str, Any]] = [
    {},
    {"se": "expected"},
    {"se": "opg"},
    {"se": "robust"},
    {"weights": "weight", "strata": "stratum", "clusters": "psu"},
    {"penalty": "jeffreys"},
    {"sample": Sample(DATA.weight, population=3000, clusters=np.arange(2400))},
]


@pytest.mark.slow
@pytest.mark.parametrize("link", ["logit", "probit"])
@pytest.mark.parametrize("number", range(len(TWO)))
def test_two_options_are_the_logistic_fit(link: Any, number: int) -> None:
    one = ordinal("forced" + COVARIATES, DATA, DIE, link=link, **TWO[number])
    two = logistic("forced" + COVARIATES, DATA, DIE, link=link, **TWO[number])
    assert one.labels == ("female", "age10", "loginc", "no|yes")
    sign = np.array([1, 1, 1, -1])
    assert one.value == pytest.approx(sign * as_logistic(two.value), abs=1e-8)
    assert one.se == pytest.approx(as_logistic(two.se), abs=1e-8)
    assert one.llf == pytest.approx(two.llf, abs=1e-8)
    assert np.isnan([one.aic, two.aic]).all() or one.aic == pytest.approx(two.aic, abs=1e-8)
    kinds: tuple[Any, ...] = ("fixed", "sample") if "penalty" not in TWO[number] else ("fixed",)
    for kind in kinds:
        effects = [fit.margins("female", respondents=kind) for fit in (one, two)]
        assert (effects[0].value[1], effects[0].se[1]) == pytest.approx((effects[1].value, effects[1].se), abs=1e-8)
    found, expected = one.predict(DATA[:4]), two.predict(DATA[:4])
    assert found.value[1::2] == pytest.approx(expected.value, abs=1e-8)
    assert found.se[1::2] == pytest.approx(expected.se, abs=1e-8)


def test_the_complementary_log_log_link_is_that_of_the_lower_option() -> None:
    """As in R's polr, the link is that of the probability of at most an option: the direction of the order matters."""
    mirrored = Design(DIE.weights[::-1].tolist(), DIE.denominator, ("yes", "no"), DIE.report_options)
    one = ordinal("forced" + COVARIATES, DATA, DIE, link="cloglog")
    two = logistic("forced" + COVARIATES, DATA, mirrored, link="cloglog")
    assert one.value == pytest.approx(np.array([-1, -1, -1, 1]) * as_logistic(two.value), abs=1e-8)
    assert one.se == pytest.approx(as_logistic(two.se), abs=1e-8)
    assert one.llf == pytest.approx(two.llf, abs=1e-8)
    assert one.ratio_name == ""


# ---------------------------------------------------------------- R's polr

LEVELS, TYPES = ["Low", "Medium", "High"], ["Tower", "Apartment", "Atrium", "Terrace"]
COUNTS = """
    21 21 28 34 22 36 10 11 36  61 23 17 43 35 40 26 18 54  13  9 10  8  8 12  6  7  9  18  6  7 15 13 13  7  5 11
    14 19 37 17 23 40  3  5 23  78 46 43 48 45 86 15 25 62  20 23 20 10 22 24  7 10 21  57 23 13 31 21 13  5  6 13
"""


def housing() -> pd.DataFrame:
    """1,681 tenants in Copenhagen: the table `housing` of R's MASS (Venables and Ripley 2002, section 7.3)."""
    cell = np.arange(72)
    frame = pd.DataFrame({"satisfaction": np.array(LEVELS)[cell % 3], "people": np.array(COUNTS.split(), dtype=int)})
    return frame.assign(
        influence=pd.Categorical(np.array(LEVELS)[cell // 3 % 3], LEVELS),
        type=pd.Categorical(np.array(TYPES)[cell // 9 % 4], TYPES),
        contact=pd.Categorical(np.array(["Low", "High"])[cell // 36], ["Low", "High"]),
    )


POLR: dict[str, tuple[float, list[float], list[float], list[float]]] = {
    # Deviance, slopes and thresholds, and errors of polr(Sat ~ Infl + Type + Cont, weights = Freq, data = housing): R's
    # `summary` prints 0.5664 (0.10465) and so on for "logit", and the tests of PolrModels.jl hold all three links.
    # The last row, errors from the expected information, is in the tests of OrdinalMultinomialModels.jl.
    "logit": (
        3479.149,
        [0.5663937, 1.2888191, -0.5723501, -0.3661866, -1.0910149, 0.3602841, -0.4961353, 0.6907083],
        [0.104653, 0.127156, 0.119238, 0.155173, 0.151486, 0.095536, 0.12485, 0.12547],
        [0.104963, 0.126705, 0.118747, 0.156766, 0.151514, 0.0953575, 0.124541, 0.125212],
    ),
    "probit": (
        3479.689,
        [0.34642, 0.78291, -0.34754, -0.21789, -0.66417, 0.22239, -0.29983, 0.42672],
        [0.064137, 0.076426, 0.072291, 0.094766, 0.091800, 0.058123, 0.07615, 0.07640],
        [0.0641796, 0.0762645, 0.0722116, 0.0955741, 0.0919294, 0.0581214, 0.0761614, 0.0763991],
    ),
    "cloglog": (
        3484.053,
        [0.38204, 0.91536, -0.40720, -0.28053, -0.74245, 0.20922, -0.79622, 0.05537],
        [0.070260, 0.092560, 0.086071, 0.111149, 0.101331, 0.065106, 0.08965, 0.08560],
        [0.0701218, 0.0924964, 0.0861325, 0.112948, 0.102084, 0.0653755, 0.0904734, 0.0866657],
    ),
}
SATISFACTION: tuple[Any, ...] = ("satisfaction ~ influence + type + contact", housing(), plain(LEVELS))


@pytest.mark.parametrize("link", POLR)
def test_plain_answers_have_the_coefficients_of_polr(link: Any) -> None:
    """The references stop where the deviance is within 1e-8 of its minimum, some slopes 4e-5 away."""
    deviance, value, se, expected_se = POLR[link]
    fit = ordinal(*SATISFACTION, link=link, times="people")
    assert -2 * fit.llf == pytest.approx(deviance, abs=5e-4)
    assert fit.value == pytest.approx(value, abs=1e-6 if link == "logit" else 5e-5)
    assert fit.se == pytest.approx(se, abs=1e-5)
    assert ordinal(*SATISFACTION, link=link, times="people", se="expected").se == pytest.approx(expected_se, abs=1e-5)
    assert (fit.n, fit.aic) == (1681, pytest.approx(deviance + 16, abs=5e-4))
    assert fit.labels[-2:] == ("Low|Medium", "Medium|High")


# ---------------------------------------------------------------- likelihoods written here


def simulated(design: Any, link: str, n: int, seed: int) -> tuple[Array, Any, Array]:
    """Two covariates, reports, and their likelihoods given each truth."""
    rng = np.random.default_rng(seed)
    x = np.column_stack([rng.normal(size=n), rng.random(n) < 0.4])
    matrix = np.eye(3) if design is DESIGNS["direct"] else design.matrix
    thresholds = np.linspace(-0.8, 0.8, len(matrix) - 1)
    latent = x @ [0.7, -0.5] + LAWS[link].rvs(size=n, random_state=rng)
    truth = np.searchsorted(thresholds, latent)
    reports = (rng.random(n)[:, None] > np.cumsum(matrix[truth], axis=1)).sum(axis=1)
    return x, reports, matrix[:, reports]


@pytest.mark.slow
@pytest.mark.parametrize("link", LAWS)
@pytest.mark.parametrize("name", DESIGNS)
def test_the_maximum_is_that_of_an_independent_likelihood(name: str, link: Any) -> None:
    """The likelihood has laws of scipy; its maximum is found by a simplex, then by Newton steps by differences."""
    design = DESIGNS[name]
    x, reports, likelihood = simulated(design, link, 3000, seed=len(name))
    fit = ordinal(reports, x, design, link=link)

    def minus(params: Array) -> float:
        return -loglike(params, link, x, likelihood)

    at = minimize(minus, np.append([0.0, 0.0], np.linspace(-1, 1, len(likelihood) - 1)), method="Nelder-Mead").x
    for _ in range(8):
        gradient = derivatives(minus, at)
        hessian = derivatives(lambda params: derivatives(minus, params), at, 1e-3)
        at = at - np.linalg.solve(hessian, gradient)
    assert fit.value == pytest.approx(at, abs=1e-6)
    assert fit.llf == pytest.approx(-minus(at), abs=1e-8)
    assert fit.se == pytest.approx(np.sqrt(np.diag(np.linalg.inv(hessian))), rel=1e-5)


@pytest.mark.slow
@pytest.mark.parametrize("link", LAWS)
def test_gradient_and_hessian_match_finite_differences(link: Any) -> None:
    """Away from the maximum, in both coordinates, and with slopes of its own for each threshold."""
    x, reports, likelihood = simulated(WIDE, link, 400, seed=3)
    weights = np.random.default_rng(5).gamma(2, size=400)
    fit = ordinal(reports, x, WIDE, link=link, weights=weights, penalty="jeffreys")
    model = fit._model()
    at = fit.value + np.array([0.2, -0.1, -0.1, 0.15])
    by_hand = derivatives(lambda params: loglike(params, link, x, likelihood, weights / weights.mean()), at)
    assert model.evaluate(at).score == pytest.approx(by_hand, abs=1e-6)
    assert model.scores(at).sum(axis=0) == pytest.approx(by_hand, abs=1e-6)
    separate = replace(model, is_parallel=False)
    for evaluated, point in (
        (model, at),
        (OrderedCoordinates(model), np.array([0.9, -0.6, -0.9, 0.3])),
        (separate, model.constraints @ at + np.arange(6) / 100),
    ):
        score = derivatives(lambda params, one=evaluated: one.evaluate(params).loglike, point)
        hessian = derivatives(lambda params, one=evaluated: one.evaluate(params).score, point)
        assert evaluated.evaluate(point).score == pytest.approx(score, abs=1e-6)
        assert evaluated.observed_information(point) == pytest.approx(-hessian, abs=1e-5)


@pytest.mark.slow
def test_expected_information_and_randomization_variance_are_sums_over_reports() -> None:
    """Every report of every person is tried: 5 people, 4 reports."""
    x = np.array([[-1.0], [0.5], [0.1], [2.0], [-0.3]])
    model = ordinal(np.arange(5) % 4, x, WIDE, penalty="jeffreys")._model()
    at = np.array([0.4, -0.7, 0.6])
    shares, chances = model.shares(at), np.array(WIDE.matrix)
    channels = [replace(model.channel, codes=np.full(5, report)) for report in range(4)]
    scores, weights = np.array([replace(model, channel=one).scores(at) for one in channels]), np.linspace(0, 1, 5)
    information = np.einsum("yi,yis,yir->sr", chances.T @ shares, scores, scores)
    assert model.evaluate(at).information == pytest.approx(information, abs=1e-12)
    means = np.einsum("ty,yis->tis", chances, scores)
    second = np.einsum("ti,ty,yis,yir,i->sr", shares, chances, scores, scores, weights)
    variance = second - np.einsum("ti,tis,tir,i->sr", shares, means, means, weights)
    assert model.randomization_variance(at, weights) == pytest.approx(variance, abs=1e-12)


@pytest.mark.slow
def test_two_designs_with_different_reports_are_one_model() -> None:
    rng = np.random.default_rng(4)
    three, x = k_ary(("a", "b", "c"), epsilon=1.5), rng.normal(size=6000)
    truth = np.searchsorted([-0.5, 0.9], 0.8 * x + rng.logistic(size=6000))
    phone = rng.random(6000) < 0.5
    reports = np.where(phone, three.randomize(truth, rng=rng), WIDE.randomize(truth, rng=rng))
    fit = ordinal(reports, x, {True: three, False: WIDE}, design_by=phone)
    assert np.abs((fit.value - [0.8, -0.5, 0.9]) / fit.se).max() < 4  # false alarms 1.9e-4
    likelihood = np.where(phone, three.matrix[:, np.minimum(reports, 2)], WIDE.matrix[:, reports])
    assert fit.llf == pytest.approx(loglike(fit.value, "logit", x[:, None], likelihood), abs=1e-8)
    assert fit.coefficients.loss.epsilon == max(three.epsilon, WIDE.epsilon)


def test_a_share_close_to_zero_is_no_reason_to_refuse() -> None:
    """The first ascent ends at the edge, where "d" has the share 0, although the maximum has a share of 0.0017."""
    rng = np.random.default_rng(29)
    rng.integers(3, 6), rng.integers(60, 400), rng.choice([1, 2, 3])
    design, x = k_ary(tuple("abcde"), epsilon=2.0), rng.normal(size=77)
    thresholds = np.sort(rng.normal(size=4) * 1.2)
    truth = np.digitize(rng.normal() * x + rng.logistic(size=77), thresholds)
    reports = design.randomize(truth, rng=rng)
    fit = ordinal(reports, x, design, link="cloglog")
    assert fit.llf == pytest.approx(-115.5513056, abs=1e-6)
    assert 0.001 < fit.margins().value[3] < 0.003


# ---------------------------------------------------------------- samples


def repeated(times: Array) -> pd.DataFrame:
    return DATA.loc[np.repeat(DATA.index, times)].reset_index(drop=True)


def test_whole_number_weights_are_repeated_rows_of_one_cluster() -> None:
    times = 1 + np.arange(2400) % 3
    weighted = ordinal("likert" + COVARIATES, DATA, LIKERT, weights=times)
    rows = ordinal("likert" + COVARIATES, repeated(times), LIKERT, clusters=np.repeat(np.arange(2400), times))
    assert weighted.value == pytest.approx(rows.value, abs=1e-9)
    assert weighted.se == pytest.approx(rows.se, rel=1e-8)
    assert weighted.provenance.df == rows.provenance.df == 2399


@pytest.mark.slow
def test_counts_of_people_are_repeated_rows() -> None:
    times = 1 + np.arange(2400) % 3
    kinds: tuple[Any, ...] = ("observed", "expected", "opg", "robust")
    for kind in kinds:
        counted = ordinal("likert" + COVARIATES, DATA, LIKERT, times=times, se=kind)
        rows = ordinal("likert" + COVARIATES, repeated(times), LIKERT, se=kind)
        assert counted.value == pytest.approx(rows.value, abs=1e-9)
        assert counted.se == pytest.approx(rows.se, rel=1e-8)
        assert (counted.n, counted.llf) == (rows.n, pytest.approx(rows.llf, abs=1e-7))


@pytest.mark.slow
def test_robust_errors_are_the_sandwich_of_independent_scores() -> None:
    """Clusters in strata: scores by differences of the likelihood of each person, added up by cluster."""
    fit = ordinal("likert ~ female", DATA, LIKERT, weights="weight", strata="stratum", clusters="psu")
    weights = (DATA.weight / DATA.weight.mean()).to_numpy()
    likelihood = np.array(LIKERT.matrix)[:, [LIKERT.report_options.index(report) for report in DATA.likert]]
    x = DATA[["female"]].to_numpy(dtype=float)

    def each(params: Array) -> Array:
        below = logistic_law.cdf(params[1:, None] - x @ params[:1])
        shares = np.diff(np.vstack([np.zeros(2400), below, np.ones(2400)]), axis=0)
        return np.asarray(weights * np.log((shares * likelihood).sum(axis=0)))

    scores = pd.DataFrame(derivatives(each, fit.value).T)
    totals = scores.groupby([DATA.stratum.to_numpy(), DATA.psu.to_numpy()]).sum()
    middle = np.zeros((5, 5))
    for _, stratum in totals.groupby(level=0):
        centred = stratum.to_numpy() - stratum.to_numpy().mean(axis=0)
        middle += len(stratum) / (len(stratum) - 1) * centred.T @ centred
    bread = np.linalg.inv(-derivatives(lambda at: derivatives(lambda to: each(to).sum(), at), fit.value, 1e-3))
    assert fit.se == pytest.approx(np.sqrt(np.diag(bread @ middle @ bread)), rel=1e-5)
    assert fit.interval().method == "t"


@pytest.mark.slow
def test_replicates_have_the_spread_of_the_thresholds_themselves() -> None:
    """As R's svyolr has it: the covariance is that of the refitted slopes and thresholds."""
    rng = np.random.default_rng(8)
    frame, names = DATA[:500].assign(w=rng.gamma(2, size=500)), [f"r{number}" for number in range(8)]
    frame = frame.assign(**{name: frame.w * rng.choice([0.5, 1.5], size=500) for name in names})
    fit = ordinal("likert ~ female", frame, LIKERT, sample=Replicates.given("w", names, kind="BRR", df=7))
    refits = np.array([ordinal("likert ~ female", frame, LIKERT, weights=name).value for name in names])
    deviations = refits - fit.value
    assert fit.cov == pytest.approx(deviations.T @ deviations / 8, abs=1e-9)
    assert "replicate errors" in fit.method


# ---------------------------------------------------------------- predictions and margins


@pytest.mark.slow
@pytest.mark.parametrize("link", LAWS)
def test_gradients_of_predictions_match_finite_differences(link: Any) -> None:
    fit = ordinal("likert" + COVARIATES, DATA[:300], LIKERT, link=link, penalty="jeffreys")
    for one in (fit, fit.with_scores()):
        matrix = one.covariates.matrix[:5]

        def values(params: Array, one: OrdinalFit = one, matrix: Array = matrix) -> Array:
            moved = replace(one, coefficients=replace(one.coefficients, value=params))
            return np.array([effect.value for effect in moved._predictions(matrix)])

        gradients = np.array([effect.gradient for effect in one._predictions(matrix)])
        assert gradients == pytest.approx(np.moveaxis(derivatives(values, one.value), 0, 2), abs=1e-9)


def test_margins_add_up_and_the_mean_score_is_their_weighted_sum() -> None:
    shares = ORDINAL.predict(DATA[:3])
    below = cumulative(ORDINAL, DATA[["female", "age10", "loginc"]].to_numpy(dtype=float))
    by_hand = np.diff(np.vstack([np.zeros(2400), below, np.ones(2400)]), axis=0)
    assert shares.value.reshape(3, 5) == pytest.approx(by_hand.T[:3], abs=1e-12)
    assert shares.labels[5] == f"1: {ORDINAL.options[0]}"
    assert ORDINAL.margins().value == pytest.approx(by_hand.mean(axis=1), abs=1e-12)
    scored = ORDINAL.with_scores([1, 2, 4, 7, 11])
    calls: list[dict[str, Any]] = [{}, {"variable": "female"}, {"variable": "age10"}]
    for call in [*calls, {"variable": "female", "at": {"age10": 2.0}}]:
        mean, total = scored.margins(**call), ORDINAL.margins(**call).contrast([1, 2, 4, 7, 11])
        assert (mean.value, mean.se) == pytest.approx((total.value, total.se), rel=1e-8)
    assert scored.margins().labels == ("mean",)
    assert scored.margins().interval().high > 1  # a mean is not truncated to [0, 1]
    assert scored.predict(DATA[:3]).value == pytest.approx([1, 2, 4, 7, 11] @ by_hand[:, :3])


@pytest.mark.slow
def test_marginal_effects_match_finite_differences() -> None:
    step = 1e-4
    above, below = (ORDINAL.predict(DATA.assign(age10=DATA.age10 + side * step)).value for side in (1, -1))
    slopes = (above - below).reshape(-1, 5).mean(axis=0) / (2 * step)
    assert ORDINAL.margins("age10").value == pytest.approx(slopes, abs=1e-7)
    levels = ORDINAL.margins("female", levels=[0, 1])
    change = ORDINAL.margins("female")
    assert levels.value[5:] - levels.value[:5] == pytest.approx(change.value)
    assert change.value.sum() == pytest.approx(0, abs=1e-12)

    def effects(params: Array) -> Array:
        moved = replace(ORDINAL, coefficients=replace(ORDINAL.coefficients, value=params))
        return np.asarray(moved.margins("female").value)

    gradient = derivatives(effects, ORDINAL.value)
    assert change.se == pytest.approx(np.sqrt(np.diag(gradient.T @ ORDINAL.cov @ gradient)), rel=1e-7)


def test_scores_are_the_points_unless_others_are_given() -> None:
    scale, rng = likert(5, epsilon=2.0), np.random.default_rng(2)
    reports = scale.distribution.randomize(rng.integers(1, 6, 2000), rng=rng)
    fit = ordinal(reports, np.ones((2000, 0)), scale)
    assert fit.options == (1, 2, 3, 4, 5)
    mean, unbiased = fit.with_scores().margins(), scale.distribution.estimate(reports).contrast([1, 2, 3, 4, 5])
    assert (mean.value, mean.se) == pytest.approx((unbiased.value, unbiased.se), rel=1e-3)
    letters = ordinal(reports - 1, np.ones((2000, 0)), k_ary(tuple("abcde"), epsilon=2.0))
    assert letters.with_scores().scores == (1, 2, 3, 4, 5)
    with pytest.raises(ValueError, match="`scores` must be one number for each of the 5 options, got 2 numbers"):
        fit.with_scores([1, 2])
    with pytest.raises(ValueError, match="`scores` must be one number for each of the 5 options, got something else"):
        fit.with_scores(["a", "b", "c", "d", "e"])  # type: ignore[list-item]


def test_the_most_likely_option_has_the_largest_share() -> None:
    fit, cells = ordinal(*SATISFACTION, times="people"), housing()
    shares = fit.predict(cells).value.reshape(-1, 3)
    assert fit.most_likely(cells).tolist() == [LEVELS[index] for index in shares.argmax(axis=1)]
    assert fit.most_likely().tolist() == fit.most_likely(cells).tolist()


@pytest.mark.slow
def test_sampled_respondents_add_the_variance_of_their_covariates() -> None:
    fixed, sampled = (ORDINAL.margins(respondents=kind) for kind in ("fixed", "sample"))  # type: ignore[arg-type]
    assert sampled.value == pytest.approx(fixed.value)
    null = ordinal("likert ~ 1", DATA, LIKERT).margins(respondents="sample")
    assert null.se == pytest.approx(LIKERT.estimate(DATA.likert.tolist()).se, rel=1e-3)
    for model in (ordinal, multinomial):
        penalized = model("likert ~ female", DATA[:600], LIKERT, penalty="jeffreys")
        with pytest.raises(ValueError, match="respondents='sample' needs a fit without penalty"):
            penalized.margins(respondents="sample")


# ---------------------------------------------------------------- tests of models


def test_nested_models_are_compared_by_likelihood_ratio_or_wald() -> None:
    smaller = ordinal("likert ~ female", DATA, LIKERT)
    found = ORDINAL.compare(smaller)
    assert (found.statistic, found.df) == (pytest.approx(2 * (ORDINAL.llf - smaller.llf)), 2)
    sampled = [ordinal(f"likert ~ {right}", DATA, LIKERT, clusters="c60") for right in ("female + age10", "female")]
    wald = sampled[0].compare(sampled[1])
    assert (wald.method, wald.df) == ("Wald, F", 1)
    assert wald.statistic == pytest.approx((sampled[0].value[1] / sampled[0].se[1]) ** 2)
    with pytest.raises(ValueError, match="of one kind"):
        ORDINAL.compare(multinomial("likert ~ female", DATA, LIKERT))
    reversed_order = ordinal("likert ~ female", DATA, LIKERT, order=ORDINAL.options[::-1])
    assert reversed_order.llf == pytest.approx(smaller.llf, abs=1e-8)
    assert reversed_order.value[0] == pytest.approx(-smaller.value[0], abs=1e-8)
    with pytest.raises(ValueError, match="of one kind"):
        ORDINAL.compare(reversed_order)


def test_the_score_statistic_is_that_of_the_model_with_slopes_of_its_own() -> None:
    """U' I**-1 U, with the score and the expected information of a likelihood written here."""
    x, reports, _ = simulated(WIDE, "probit", 2000, seed=6)
    fit = ordinal(reports, x, WIDE, link="probit")
    at = np.array([fit.value[2], *-fit.value[:2], fit.value[3], *-fit.value[:2]])  # threshold and slopes, twice
    columns, people = np.column_stack([np.ones(2000), x]), np.arange(2000)

    def chances(params: Array) -> Array:
        below = norm.cdf(params.reshape(2, 3) @ columns.T)
        shares = np.diff(np.vstack([np.zeros(2000), below, np.ones(2000)]), axis=0)
        return np.asarray(np.array(WIDE.matrix).T @ shares)

    slopes = derivatives(chances, at, 1e-3)
    score = (slopes[:, reports, people] / chances(at)[reports, people]).sum(axis=1)
    information = np.einsum("syi,ryi,yi->sr", slopes, slopes, 1 / chances(at))
    found = fit.test_parallel_slopes()
    assert found.statistic == pytest.approx(float(score @ np.linalg.solve(information, score)), rel=1e-6)
    assert (found.df, found.method) == (2, "score")
    assert found.p == pytest.approx(chi2.sf(found.statistic, 2))


@pytest.mark.slow
def test_of_one_group_variable_the_test_is_that_against_multinomial() -> None:
    """With a covariate of few values both alternatives are saturated: score and likelihood ratio are alike."""
    rng = np.random.default_rng(7)
    design, group = k_ary(("a", "b", "c"), epsilon=3.0), rng.integers(0, 2, 40_000)
    shares = np.array([[0.3, 0.4, 0.3], [0.27, 0.36, 0.37]])
    truth = (rng.random(40_000)[:, None] > np.cumsum(shares[group], axis=1)).sum(axis=1)
    frame = {"y": design.randomize(truth, rng=rng), "group": group}
    one, other = ordinal("y ~ C(group)", frame, design), multinomial("y ~ C(group)", frame, design)
    found, ratio = one.test_parallel_slopes(), 2 * (other.llf - one.llf)
    assert found.statistic == pytest.approx(ratio, rel=0.02)
    assert found.statistic > 3


@pytest.mark.slow
@pytest.mark.parametrize("is_clustered", [False, True])
def test_parallel_slopes_are_rejected_at_the_stated_rate(is_clustered: bool) -> None:
    """Of 400 surveys with parallel slopes, 8 to 35 are rejected at 5 % with probability 0.9988."""
    rng, design, rejected = np.random.default_rng(21), k_ary(("a", "b", "c"), epsilon=2.5), 0
    options: dict[str, Any] = {"clusters": np.arange(800) // 8} if is_clustered else {}
    for _ in range(400):
        x = np.repeat(rng.normal(size=100), 8) if is_clustered else rng.normal(size=800)
        truth = np.searchsorted([-0.7, 0.7], 0.8 * x + rng.logistic(size=800))
        rejected += ordinal(design.randomize(truth, rng=rng), x, design, **options).test_parallel_slopes().p < 0.05
    assert binom.cdf(7, 400, 0.05) + binom.sf(35, 400, 0.05) < 1.2e-3
    assert 8 <= rejected <= 35


@pytest.mark.slow
def test_slopes_that_differ_are_found() -> None:
    """Odds ratios 1 and 3.3 at the two thresholds, 4,000 people: the test rejects in all of 10 surveys."""
    rng, design = np.random.default_rng(22), k_ary(("a", "b", "c"), epsilon=2.5)
    for _ in range(10):
        x = rng.integers(0, 2, 4000)
        below = logistic_law.cdf(np.array([-0.7 + 0 * x, 1.5 - 1.2 * x]))
        truth = (rng.random(4000) > below).sum(axis=0)
        assert ordinal(design.randomize(truth, rng=rng), x, design).test_parallel_slopes().p < 0.05


@pytest.mark.slow
def test_parallel_slopes_need_something_to_compare() -> None:
    with pytest.raises(ValueError, match="parallel slopes need three options and a covariate, got 2 options, 1 slopes"):
        ordinal("forced ~ female", DATA, DIE).test_parallel_slopes()
    with pytest.raises(ValueError, match="got 5 options, 0 slopes"):
        ordinal("likert ~ 1", DATA, LIKERT).test_parallel_slopes()
    with pytest.raises(ValueError, match="a score test needs a fit without penalty"):
        ordinal("likert ~ female", DATA[:600], LIKERT, penalty="jeffreys").test_parallel_slopes()
    few = ordinal("likert ~ female + age10", DATA, LIKERT, clusters=DATA.c60 % 4)
    with pytest.raises(ValueError, match="more sampling units than coefficients to test, got 3"):
        few.test_parallel_slopes()


@pytest.mark.slow
def test_intervals_cover_at_their_level() -> None:
    """400 surveys of 500 people through k_ary with epsilon 2: each 95 % interval covers in at least 93 %.

    A binomial of 400 with chance 0.95 is below 372 with probability 0.03; the seed is fixed.
    """
    rng, design = np.random.default_rng(33), k_ary(("low", "medium", "high"), epsilon=2.0)
    truth, covered = np.array([0.6, -0.4, -0.8, 0.7]), np.zeros(5)
    for _ in range(400):
        x = np.column_stack([rng.normal(size=500), rng.random(500) < 0.5])
        latent = x @ truth[:2] + rng.logistic(size=500)
        fit = ordinal(design.randomize(np.searchsorted(truth[2:], latent), rng=rng), x, design)
        mean = 3 - logistic_law.cdf(truth[2:, None] - x @ truth[:2]).sum(axis=0).mean()
        intervals = [fit.interval(), fit.with_scores([1, 2, 3]).margins().interval()]
        low, high = (np.append(*limits) for limits in zip(*intervals, strict=True))
        covered += (low <= np.append(truth, mean)) & (np.append(truth, mean) <= high)
    assert covered.min() >= 0.93 * 400


# ---------------------------------------------------------------- reports of every kind, and what is refused

RNG = np.random.default_rng(1)
X = RNG.normal(size=600)
THREE = k_ary(("low", "mid", "high"), epsilon=2.0)
CODES = np.asarray(THREE.randomize(np.searchsorted([-0.7, 0.7], 0.8 * X + RNG.logistic(size=600)), rng=RNG))
FRAME = pd.DataFrame({"x": X, "code": CODES, "answer": np.array(THREE.options)[CODES]})
BASE = ordinal("answer ~ x", FRAME, THREE)
ORDERED = pd.Categorical(FRAME.answer, ["low", "mid", "high"], ordered=True)
KINDS: dict[str, tuple[Any, Any]] = {
    "codes": (CODES, THREE),
    "codes as floats": (CODES.astype(float), THREE),
    "nullable codes": (pd.Series(CODES, dtype="Int64"), THREE),
    "texts": (FRAME.answer.to_numpy(dtype=str), THREE),
    "list": (FRAME.answer.tolist(), THREE),
    "pandas strings": (FRAME.answer.astype("string"), THREE),
    "capitals": (FRAME.answer.str.upper(), THREE),
    "ordered categories": (ORDERED, THREE),
    "other categories": (pd.Categorical(FRAME.answer, ["high", "low", "mid"]), THREE),
    "points of a scale": (CODES + 1, likert(3, epsilon=2.0)),
    "points as texts": ((CODES + 1).astype(str), likert(3, epsilon=2.0)),
    "enum of polars": (pl.Series(FRAME.answer.tolist(), dtype=pl.Enum(["low", "mid", "high"])), THREE),
}


@pytest.mark.parametrize("kind", KINDS)
def test_reports_of_every_kind_give_the_same_fit(kind: str) -> None:
    reports, design = KINDS[kind]
    assert ordinal(reports, X, design).value == pytest.approx(BASE.value, abs=1e-9)
    data = (
        FRAME.assign(answer=reports)
        if not isinstance(reports, pl.Series)
        else pl.DataFrame({"x": X, "answer": reports})
    )
    assert ordinal("answer ~ x", data, design).value == pytest.approx(BASE.value, abs=1e-9)


def test_truth_values_are_read_as_the_lower_and_the_higher_option() -> None:
    by_truth, by_code = (ordinal(values, X, DIE).value for values in (CODES > 0, (CODES > 0).astype(int)))
    assert by_truth == pytest.approx(by_code, abs=1e-12)


def test_rows_without_an_answer_are_refused_or_counted() -> None:
    gaps = FRAME.assign(answer=FRAME.answer.where(FRAME.x < 2, None))
    with pytest.raises(
        ValueError, match="no value may be missing, got 11 in reports: missing='drop' leaves those rows"
    ):
        ordinal("answer ~ x", gaps, THREE)
    fit = ordinal("answer ~ x", gaps, THREE, missing="drop")
    coded = ordinal(
        "answer ~ x", FRAME.assign(answer=FRAME.answer.where(FRAME.x < 2, "refused")), THREE, missing=("refused",)
    )
    assert fit.rows == coded.rows == {"used": 589, "reports": 11, "covariates": 0}
    assert fit.value == pytest.approx(coded.value, abs=1e-12)


def test_the_order_is_that_of_the_design_or_given() -> None:
    """An ordered categorical that contradicts the design is refused, whose order may be any."""
    shuffled = k_ary(("mid", "high", "low"), epsilon=2.0)
    fit = ordinal("answer ~ x", FRAME, shuffled, order=["low", "mid", "high"])
    assert fit.value == pytest.approx(BASE.value, abs=1e-9)
    assert (fit.options, fit.labels) == (BASE.options, ("x", "low|mid", "mid|high"))
    contradiction = "the ordered categories of the reports must be in the order of the options, got another order"
    polars_enum = pl.Series(FRAME.answer.tolist(), dtype=pl.Enum(["low", "mid", "high"]))
    for reports in (ORDERED, pd.Series(ORDERED), polars_enum):
        with pytest.raises(ValueError, match=contradiction):
            ordinal(reports, X, shuffled)
    with pytest.raises(ValueError, match=contradiction):
        ordinal("answer ~ x", FRAME.assign(answer=ORDERED), shuffled)
    for order, received in ((["low", "low", "high"], "3 labels"), (["low"], "1 labels"), ("low", "str"), (3, "int")):
        with pytest.raises(ValueError, match=f"`order` must list each option once, the lowest first, got {received}"):
            ordinal("answer ~ x", FRAME, THREE, order=order)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        ({"link": "loglog"}, "`link` must be one of logit, probit, cloglog, got 'loglog'"),
        ({"penalty": "firth"}, "`penalty` must be one of jeffreys, got 'firth'"),
        ({"se": "HC3"}, "`se` must be one of observed, expected, opg, robust, got 'HC3'"),
        ({"formula": "answer ~ 0 + x"}, "`formula` must not leave out the intercept, got one without: the thresholds"),
        ({"formula": "answer ~ x + I(2 * x)"}, "no column may be a combination of the columns before it"),
        ({"data": FRAME.assign(answer=FRAME.answer.replace("low", "lo"))}, "must hold reports of its design"),
    ],
)
def test_what_cannot_be_fitted_is_refused(call: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message.replace("(", r"\(").replace("*", r"\*")):
        ordinal(**{"formula": "answer ~ x", "data": FRAME, "design": THREE} | call)


@pytest.mark.slow
@pytest.mark.parametrize("option", [0, 1, 2])
def test_an_option_that_nobody_has_is_named_and_the_penalty_keeps_it(option: int) -> None:
    """Plain answers and randomized ones: the penalized share is about half a person's, as for a multinomial model."""
    answers, name = np.array([code for code in CODES if code != option]), THREE.options[option]
    for design in (plain(THREE.options), k_ary(THREE.options, epsilon=6.0)):
        with pytest.raises(ValueError, match=f"where the likelihood is highest, got a share of 0 for '{name}'"):
            ordinal(answers, np.ones((len(answers), 0)), design)
        fit = ordinal(answers, np.ones((len(answers), 0)), design, penalty="jeffreys")
        assert np.all(np.diff(fit.thresholds) > 0)
        assert 0 < fit.margins().value[option] * len(answers) < 2.5


@pytest.mark.slow
def test_separated_answers_have_no_finite_slope() -> None:
    separated = np.searchsorted([-0.5, 0.5], X[:60])
    with pytest.raises(ValueError, match="one that still rises where coefficients grow without limit"):
        ordinal(separated, X[:60], plain(THREE.options))
    assert np.isfinite(ordinal(separated, X[:60], plain(THREE.options), penalty="jeffreys").value).all()


def test_a_nearly_useless_design_is_refused_with_the_reason() -> None:
    with pytest.raises(ValueError, match=r"its maximum at finite coefficients|a share above 0"):
        ordinal(CODES, X, k_ary(THREE.options, epsilon=0.01))


# ---------------------------------------------------------------- what a fit offers


def test_summaries_print_thresholds_apart_from_slopes() -> None:
    table = BASE.summary()
    assert [row[0] for row in table.rows] == ["x", "thresholds", "low|mid", "mid|high"]
    assert set(table.rows[1][1:]) == {""}
    assert "(logit link, low < mid < high)" in table.title
    assert str(BASE).splitlines()[3] == "thresholds"
    assert "thresholds" in str(BASE.to_latex())
    assert "odds ratio" in BASE.to_frame(exp=True).columns
    both = compare_models([BASE, ordinal("answer ~ 1", FRAME, THREE)])
    assert [row[0] for row in both.rows[::2]] == ["x", "low|mid", "mid|high"]


@pytest.mark.slow
def test_plots_leave_out_the_thresholds() -> None:
    rows = [text.get_text() for text in BASE.plot().get_yticklabels()]
    assert rows == ["x"]
    legend = BASE.plot("x").get_legend()
    assert [text.get_text() for text in legend.get_texts()] == ["low", "mid", "high"]
    assert BASE.with_scores().plot("x").get_ylabel() == "mean prediction"
    plt.close("all")


def test_a_fit_survives_a_pickle_and_is_made_again_for_other_designs() -> None:
    restored = pickle.loads(pickle.dumps(BASE))  # noqa: S301
    assert restored.margins().value == pytest.approx(BASE.margins().value)
    found = compliance_sensitivity(BASE, "x")
    assert found.at(0).value == pytest.approx(BASE["x"].value, abs=1e-6)
    scored = compliance_sensitivity(BASE.with_scores(), lambda fit: fit.margins())
    assert scored.at(0).value == pytest.approx(BASE.with_scores().margins().value, abs=1e-6)
