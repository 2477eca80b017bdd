"""Multinomial regression: the reference fit of a Likert question, and what it shares with the logistic one."""

import numpy as np
import pytest
from scipy.optimize import minimize

from tests.analysis.reference_survey import COINS, COVARIATES, DIE, LIKERT, survey
from toolkit import Design, forced_options, k_ary
from toolkit.analysis import logistic, multinomial
from toolkit.analysis.regression.multinomial import MultinomialModel

DATA = survey()
VALUE = [
    [-0.42271951, 0.24119473, -0.03354213],
    [-0.45484480, -0.08227255, -0.07864279],
    [-1.34533550, 0.19622457, -0.06815984],
    [-1.43514245, -0.17464846, 0.10636635],
]
SE = [
    [0.12356491, 0.16603138, 0.04613631],
    [0.12550574, 0.18104501, 0.05089666],
    [0.20752482, 0.27965939, 0.07701779],
    [0.22410363, 0.31209605, 0.08972540],
]
CODES = (DATA.likert - DATA.likert.min()).to_numpy()
FIT = multinomial("code ~ female + age10", DATA.assign(code=CODES), LIKERT)


def test_the_likert_question_has_the_coefficients_of_the_reference() -> None:
    """M11: Fisher scoring, and BFGS to 6e-9."""
    assert np.allclose(FIT.value, np.ravel(VALUE), rtol=0, atol=2e-8)
    assert np.allclose(FIT.se, np.ravel(SE), rtol=2e-7)
    assert abs(FIT.llf + 3748.52083600) < 1e-7
    assert FIT.labels[:3] == ("1: Intercept", "1: female", "1: age10")


@pytest.mark.slow
def test_two_options_are_the_logistic_fit() -> None:
    for options in ({}, {"weights": "weight", "strata": "stratum", "clusters": "psu"}):
        one = multinomial("forced" + COVARIATES, DATA, DIE, **options)
        two = logistic("forced" + COVARIATES, DATA, DIE, **options)
        assert np.allclose(one.value, two.value, atol=1e-9)
        assert np.allclose(one.se, two.se, rtol=1e-8)
        assert abs(one.margins().value[1] - two.margins().value) < 1e-9
        for respondents in ("fixed", "sample"):
            shares = one.margins(respondents=respondents)
            assert abs(shares.se[1] - two.margins(respondents=respondents).se) < 1e-9
        assert np.allclose(one.predict(DATA[:4]).value[1::2], two.predict(DATA[:4]).value)
        assert np.allclose(one.predict(DATA[:4]).se[1::2], two.predict(DATA[:4]).se)
    for kind in ("expected", "opg", "robust"):
        one = multinomial("forced" + COVARIATES, DATA, DIE, se=kind)
        assert np.allclose(one.se, logistic("forced" + COVARIATES, DATA, DIE, se=kind).se, rtol=1e-8)


def test_another_base_is_the_same_model() -> None:
    other = multinomial(CODES, DATA[["female", "age10"]], LIKERT, base=2)
    assert other.options == (2, 0, 1, 3, 4)
    assert abs(other.llf - FIT.llf) < 1e-8
    moved = dict(zip(other.labels, other.value, strict=True))
    assert abs(moved["0: female"] + FIT.value[4]) < 1e-8
    assert np.allclose(sorted(other.margins().value), sorted(FIT.margins().value), atol=1e-9)


def test_the_null_model_has_the_moment_estimates_as_its_shares() -> None:
    null = multinomial("code ~ 1", DATA.assign(code=CODES), LIKERT)
    assert np.allclose(null.margins().value, LIKERT.estimate(CODES).value, atol=1e-9)
    assert FIT.compare(null).df == 8


@pytest.mark.parametrize("seed", [5, 9])
def test_a_maximum_that_scoring_is_slow_to_find_is_not_refused(seed) -> None:
    """100 people and three options: Fisher scoring alone does not end within 100 steps."""
    design, rng = k_ary(["a", "b", "c"], epsilon=1), np.random.default_rng(seed)
    x = rng.normal(size=100)
    reports = np.asarray(design.randomize(np.array(["a", "b", "c"])[rng.integers(0, 3, 100)], rng=rng))
    fit = multinomial("y ~ x", {"y": reports, "x": x}, design)

    def loss(at):
        odds = np.exp(np.column_stack([np.zeros(100), at[0] + at[1] * x, at[2] + at[3] * x]))
        shares = odds / odds.sum(axis=1, keepdims=True) @ design.matrix
        return -float(np.log(shares[np.arange(100), np.searchsorted(["a", "b", "c"], reports)]).sum())

    assert fit.value == pytest.approx(minimize(loss, np.zeros(4), tol=1e-9).x, abs=2e-3)


def test_shares_and_their_differences_add_up() -> None:
    predicted = FIT.predict(DATA[:3])
    assert np.allclose(predicted.value.reshape(3, 5).sum(axis=1), 1)
    assert predicted.labels[5] == "1: 0"
    change = FIT.margins("female")
    assert change.labels[0] == "female: 1 − 0, 0"
    assert abs(change.value.sum()) < 1e-12
    assert abs(FIT.margins("age10").value.sum()) < 1e-9
    levels = FIT.margins("female", levels=[0, 1])
    assert np.allclose(levels.value[5:] - levels.value[:5], change.value)


def test_the_gradient_and_the_observed_information_match_differences() -> None:
    data = FIT.data
    model = MultinomialModel(data.covariates.matrix, data.channel, data.people, (0, 1, 2, 3, 4))
    at, step = FIT.value + 0.1, 1e-6
    found = model.evaluate(at)
    sides = [(model.evaluate(at + step * axis), model.evaluate(at - step * axis)) for axis in np.eye(12)]
    assert np.allclose([(up.loglike - down.loglike) / (2 * step) for up, down in sides], found.score, atol=1e-3)
    bent = np.array([(down.score - up.score) / (2 * step) for up, down in sides])
    assert np.allclose(model.observed_information(at), bent, atol=1e-3)


def test_two_ways_of_asking_are_one_model() -> None:
    """Half through one design, half through another with more reports: each is read by its own matrix."""
    rng = np.random.default_rng(4)
    three = k_ary(("a", "b", "c"), epsilon=1.5)
    wide = Design([[6, 2, 1, 1], [2, 6, 1, 1], [1, 1, 2, 6]], 10, ("a", "b", "c"), ("w", "x", "y", "z"))
    x = rng.normal(size=4000)
    weights = np.exp(np.column_stack([0 * x, 0.3 + 0.5 * x, -0.4 - 0.6 * x]))
    truth = (rng.random(4000)[:, None] > np.cumsum(weights, 1) / weights.sum(1, keepdims=True)).sum(1)
    phone = rng.random(4000) < 0.5
    reports = np.where(phone, three.randomize(truth, rng=rng), wide.randomize(truth, rng=rng))
    fit = multinomial(reports, x, {True: three, False: wide}, design_by=phone)
    assert np.abs((fit.value - [0.3, 0.5, -0.4, -0.6]) / fit.se).max() < 4  # false alarms 2.5e-4
    assert fit.coefficients.loss.epsilon == max(three.epsilon, wide.epsilon)


def test_what_cannot_be_fitted_is_refused() -> None:
    with pytest.raises(ValueError, match="`base` must be one of the options, got 'x'"):
        multinomial("forced ~ female", DATA, DIE, base="x")
    nobody = np.repeat([0, 1, 2], [500, 300, 60])
    with pytest.raises(ValueError, match="join rare options"):
        multinomial(nobody, np.arange(860.0) % 7, forced_options(3, [0.1] * 3))
    with pytest.raises(ValueError, match="of one kind"):
        FIT.compare(logistic("forced ~ female", DATA, DIE))
    assert "warner" in multinomial("warner ~ female", DATA, COINS).coefficients.method
