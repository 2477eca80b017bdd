"""Fisher scoring: its end points, rejected likelihoods, and flat likelihoods."""

from dataclasses import replace

import numpy as np
import pytest

from tests.analysis.reference_survey import BIRTHDAY, BOTH, COINS, COVARIATES, DIE, UNRELATED, runaway, survey
from toolkit import mangat
from toolkit.analysis import Sample, logistic
from toolkit.analysis.regression.covariates import covariates_from_table, standardize
from toolkit.analysis.regression.logistic import LINKS, BinaryModel, link_named
from toolkit.analysis.regression.rows import People, channel, people
from toolkit.analysis.regression.scoring import (
    Evaluation,
    Maximization,
    checked_error_kind,
    covariance,
    interior_maximum,
    inverse_information,
    line_search,
    maximize,
    negative_hessian,
    newton,
    penalized_maximum,
    with_jeffreys_penalty,
)
from toolkit.analysis.sampling.sample import SampleRows

DATA = survey()


def model(report: str, design, link: str = "logit", jeffreys: bool = False, rows: int = 400) -> BinaryModel:
    table = covariates_from_table(DATA[["female", "age10"]][:rows].to_numpy())
    weights = people(rows, DATA.weight[:rows].to_numpy(), None, None, None)
    reports = channel(DATA[report][:rows].to_numpy(), design, None)
    return BinaryModel(standardize(table)[0], link_named(link), reports, weights, jeffreys)


@pytest.mark.parametrize("jeffreys", [False, True])
@pytest.mark.parametrize("link", LINKS)
@pytest.mark.parametrize(
    ("report", "design"),
    [("forced", DIE), ("warner", COINS), ("unrelated", UNRELATED), ("crosswise", BIRTHDAY), ("both", BOTH)],
)
def test_gradients_and_hessians_are_those_of_differences(report, design, link: str, jeffreys: bool) -> None:
    one, at, step = model(report, design, link, jeffreys), np.array([-0.8, 0.3, -0.2]), 1e-5
    found = one.evaluate(at)
    sides = [(one.evaluate(at + step * axis), one.evaluate(at - step * axis)) for axis in np.eye(3)]
    assert np.allclose([(up.loglike - down.loglike) / (2 * step) for up, down in sides], found.score, atol=1e-5)
    if not jeffreys:
        bent = np.array([(down.score - up.score) / (2 * step) for up, down in sides])
        assert np.allclose(one.observed_information(at), bent, atol=1e-4)
        assert np.allclose(one.scores(at).sum(axis=0), found.score)


def test_the_expected_information_is_the_mean_of_the_observed() -> None:
    """By enumeration of the four reports of each of 40 people."""
    one, at = model("both", BOTH, rows=40), np.array([-0.8, 0.3, -0.2])
    eta = one.columns @ at
    share = one.link.probability(eta)
    total = np.zeros((3, 3))
    for code in range(4):
        chance = BOTH.matrix[0, code] * (1 - share) + BOTH.matrix[1, code] * share
        everybody = channel(np.full(40, code), BOTH, None)
        mass = one.people.weights * chance
        told = BinaryModel(one.columns, one.link, everybody, people(40, mass, None, None, None))
        total += told.observed_information(at) * mass.mean()
    assert np.allclose(total, one.evaluate(at).information)


def test_a_maximization_ends_where_the_gradient_is_zero() -> None:
    """The result says whether the maximization converged."""
    one = model("forced", DIE)
    found = maximize(one.evaluate, np.zeros(3))
    assert found.converged
    assert not found.is_flat
    assert np.abs(found.point.score).max() < 1e-6
    reports, x = runaway()
    columns, _ = standardize(covariates_from_table(x))
    away = BinaryModel(columns, link_named("logit"), channel(reports, DIE, None), people(300, None, None, None, None))
    assert maximize(away.evaluate, np.zeros(2)).is_flat


def test_a_step_is_cut_to_3_and_halved_until_it_does_not_fall() -> None:
    """By more than the accuracy of a log-likelihood h, which is e (1 + |h|)."""
    tried = []

    def evaluate(at: np.ndarray) -> Evaluation:
        tried.append(at.tolist())
        return Evaluation(at, -0.15 if at[0] > 0.5 else -0.09, np.zeros(2), np.eye(2))

    start = Evaluation(np.zeros(2), 0.0, np.zeros(2), np.eye(2))
    assert line_search(evaluate, start, np.array([6.0, -0.4]), relative_error=0.1).params.tolist() == pytest.approx(
        [0.375, -0.025]
    )
    assert tried == [pytest.approx([3 / 2**k, -0.2 / 2**k]) for k in range(4)]
    assert line_search(evaluate, start, np.array([0.4, 2.0])) is None
    assert tried[4] == [0.4, 2.0]


def test_newton_continues_where_scoring_stops() -> None:
    one = model("forced", DIE, jeffreys=True)
    point, converged = newton(one.evaluate, one.evaluate(np.zeros(3)))
    assert converged
    assert np.allclose(point.params, maximize(one.evaluate, np.zeros(3)).point.params, atol=1e-6)


@pytest.mark.parametrize(
    ("remaining", "converged", "curvature", "slope", "reason"),
    [
        (1.0, True, 0.5, 0.0, None),
        (1e-5, True, 1e-5, 1e-12, None),
        (1.0, True, 0.0, 0.0, "level or rises in some direction"),
        (1.0, False, 0.5, 0.0, "none within 160 steps"),
        (1e-5, True, 1e-5, 1e-5, "still rises where coefficients grow without limit"),
        (1e-9, False, 1e-9, 1e-9, "still rises where coefficients grow without limit"),
    ],
)
def test_a_maximum_is_stationary_and_concave(remaining, converged, curvature, slope, reason) -> None:
    """A maximum may be weak; towards infinity score and information shrink together, so Newton's step stays long."""
    start = Evaluation(np.zeros(2), 0.0, np.zeros(2), np.eye(2))
    end = Evaluation(np.ones(2), 0.0, np.array([0.0, slope]), np.diag([1.0, remaining]))
    ascent = Maximization(end, converged, start)
    if reason is None:
        assert interior_maximum(lambda _: np.diag([1.0, curvature]), ascent, "").tolist() == [1, 1]
    else:
        with pytest.raises(ValueError, match=reason):
            interior_maximum(lambda _: np.diag([1.0, curvature]), ascent, "")


def test_newtons_step_is_that_of_the_curvature() -> None:
    """Neither a saddle nor a plateau is a maximum."""
    bent = np.array([[100.0, 3.0], [3.0, 0.5]])

    def evaluate(at: np.ndarray) -> Evaluation:
        return Evaluation(at, float(-at @ bent @ at / 2), -bent @ at, np.eye(2))

    def level(at: np.ndarray) -> Evaluation:
        return Evaluation(at, 0.0, np.zeros(2), np.eye(2))

    assert negative_hessian(lambda at: evaluate(at).score, np.ones(2)) == pytest.approx(bent)
    point, converged = newton(evaluate, evaluate(np.ones(2)), max_steps=2, information=lambda _: bent)
    assert (converged, point.params) == (True, pytest.approx(np.zeros(2), abs=1e-9))
    for other in (np.diag([1.0, -1.0]), np.zeros((2, 2))):
        assert not newton(level, level(np.ones(2)), information=lambda _, other=other: other)[1]


def test_a_penalized_climb_that_has_not_arrived_goes_on_by_newton() -> None:
    def evaluate(at: np.ndarray) -> Evaluation:
        return Evaluation(at, float(-at @ at / 2), -at, np.eye(2))

    start = evaluate(np.ones(2))
    assert penalized_maximum(evaluate, Maximization(start, False, start)).params == pytest.approx(np.zeros(2), abs=1e-6)
    assert penalized_maximum(evaluate, Maximization(start, True, start)).params.tolist() == [1, 1]

    def slope(at: np.ndarray) -> Evaluation:
        return Evaluation(at, float(at.sum()), np.ones(2) - 1e-3 * at, np.eye(2))

    with pytest.raises(ValueError, match="the iteration must reach the maximum of the penalized likelihood"):
        penalized_maximum(slope, Maximization(slope(np.ones(2)), False, start))


def test_a_penalized_likelihood_is_lowest_where_nothing_bends_it() -> None:
    assert model("forced", DIE, jeffreys=True).evaluate(np.array([2000.0, 0.0, 0.0])).loglike == -np.inf


def test_what_is_singular_is_neither_climbed_nor_inverted() -> None:
    flat = Evaluation(np.zeros(2), 0.0, np.ones(2), np.zeros((2, 2)))
    assert not maximize(lambda _at: flat, np.zeros(2)).converged
    assert Maximization(flat, False, flat).is_flat
    with pytest.raises(ValueError, match="the information at the maximum must be positive definite"):
        inverse_information(np.zeros((2, 2)))


def test_the_kind_of_error_follows_from_the_sample() -> None:
    alone, heavy = people(3, None, None, None, None), people(3, np.ones(3), None, None, None)
    assert checked_error_kind(None, alone, False) == "observed"
    assert checked_error_kind(None, alone, True) == "expected"
    assert checked_error_kind(None, heavy, True) == "robust"
    again = People(4, sample_rows=SampleRows(Sample(np.ones(4)).jackknife(), np.ones(4, dtype=bool)))
    assert checked_error_kind(None, again, False) == "replicate"
    for se, jeffreys in ((None, True), ("robust", False)):
        with pytest.raises(ValueError, match="`se` and `penalty` must be left out with replicate weights"):
            checked_error_kind(se, again, jeffreys)
    one = model("forced", DIE)
    at = maximize(one.evaluate, np.zeros(3)).point.params
    assert np.allclose(
        covariance(one, at, "expected", one.evaluate(at).information) @ one.evaluate(at).information, np.eye(3)
    )


@pytest.mark.parametrize("link", LINKS)
def test_mangats_impossible_report_does_not_spoil_the_fit(link: str) -> None:
    """A carrier never says no: a zero in the matrix, and no logarithm of zero."""
    design, rng = mangat("3/4"), np.random.default_rng(2)
    x = rng.normal(size=800)
    truth = rng.random(800) < link_named(link).probability(-0.8 + 0.6 * x)
    fit = logistic(design.randomize(truth, rng=rng), x, design, link=link)
    assert np.abs(fit.value - [-0.8, 0.6]).max() < 4 * fit.se.max()


@pytest.mark.slow
def test_low_prevalence_is_fitted_refused_or_penalized_but_never_absurd() -> None:
    """40 surveys of 300 people, 4.7 % have it: each fit has finite coefficients and errors, or is refused; the
    penalized one is always finite. In 200 simulated surveys of the reference notes 17 % had their highest
    point at infinity, and about half of these run away. The penalized interval of the slope covered in 0.932 of
    250 of them; a binomial of 40 with that chance is below 30 with probability 5.2e-5.
    """
    rng, refused, covered = np.random.default_rng(7), 0, 0
    for _ in range(40):
        x = rng.normal(size=300)
        reports = DIE.randomize(rng.random(300) < 1 / (1 + np.exp(3 - 0.5 * x)), rng=rng)
        bound = logistic(reports, x, DIE, penalty="jeffreys")
        assert np.abs(bound.value).max() < 12
        assert bound.se.max() < 8
        covered += bound.interval().low[1] <= 0.5 <= bound.interval().high[1]
        try:
            free = logistic(reports, x, DIE)
        except ValueError:
            refused += 1
        else:
            assert np.abs(free.value).max() < 30
            assert free.se.max() < 60
    assert 1 <= refused <= 16
    assert covered >= 30


def test_the_same_data_give_the_same_fit_whatever_the_order_of_rows() -> None:
    shuffled = DATA.sample(frac=1, random_state=1)
    one, two = (logistic("forced" + COVARIATES, data, DIE) for data in (DATA, shuffled))
    assert np.allclose(one.value, two.value, atol=1e-9)


@pytest.mark.parametrize(("left", "flat"), [(0.0009, True), (0.0011, False), (0.5, False)])
def test_a_direction_with_little_information_left_is_flat(left: float, flat: bool) -> None:
    """A direction is flat where less than a thousandth of its information is left and the standard error is above 1:
    not of ten thousand people.
    """
    start = Evaluation(np.zeros(2), 0.0, np.zeros(2), np.diag([900.0, 1.0]))
    end = Evaluation(np.zeros(2), 0.0, np.zeros(2), np.diag([900.0, left]))
    assert Maximization(end, True, start).is_flat is flat
    many = [Evaluation(one.params, 0.0, one.score, 10_000 * one.information) for one in (end, start)]
    assert not Maximization(many[0], True, many[1]).is_flat


def test_a_penalty_differenced_twice_has_a_curvature_of_nine_digits() -> None:
    """Half the logarithm of the information's determinant: sum(log(cosh(at))) / 2 here, with a slope of tanh / 2."""
    flat = Evaluation(np.zeros(2), 0.0, np.zeros(2), np.eye(2))
    penalized = with_jeffreys_penalty(lambda at: replace(flat, params=at), lambda at: np.diag(np.cosh(at)))
    at = np.array([0.3, -1.1])
    assert penalized(at).score == pytest.approx(np.tanh(at) / 2, rel=1e-11)
    bent = negative_hessian(lambda near: penalized(near).score, at)
    assert bent == pytest.approx(np.diag(-1 / (2 * np.cosh(at) ** 2)), rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("gap", [0.0, 1e-15, -1e-15])
def test_an_information_matrix_singular_up_to_rounding_has_no_inverse(gap: float) -> None:
    """A Cholesky factor may exist there, but the inverse would have variances of any size and sign."""
    columns = np.diag([1.0, 1e-4]) @ np.array([[1.0, 1.0], [1.0, 1.0 + gap]]) @ np.diag([1.0, 1e-4])
    with pytest.raises(ValueError, match="must be positive definite"):
        inverse_information(columns)
    sound = np.diag([1.0, 1e-12])
    assert inverse_information(sound).tolist() == [[1.0, 0.0], [0.0, 1e12]]
