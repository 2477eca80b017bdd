import numpy as np
import pytest
from scipy.optimize import approx_fprime, minimize, minimize_scalar

from tests.slowly import each
from toolkit.learning.perturbation import (
    HuberHinge,
    LogisticLoss,
    _gradient,
    _gradient_norm,
    _line_search,
    _solve,
    gradient_tolerance,
    in_memory,
    minimize_objective,
)


def people(rng: np.random.Generator, size: int, n: int) -> np.ndarray:
    rows = rng.normal(size=(size, n))
    return rows / np.maximum(np.linalg.norm(rows, axis=0), 1)


@pytest.mark.slow
@each(
    kind=["random", "apart", "alike"],
    pushed=[0.0, 5.0, 1e4],
    ridge=[1e-6, 0.01, 1.0, 1e6],
    loss=[LogisticLoss(), HuberHinge(0.5), HuberHinge(1e-3)],
)
def test_the_gradient_is_within_the_tolerance_in_extended_precision(loss, ridge, pushed, kind) -> None:
    """Random rows, two groups that can be told apart without an error, and columns that are equal."""
    rng = np.random.default_rng(3)
    rows, push = people(rng, 3, 40), pushed * rng.normal(size=3)
    rows = {"random": rows, "apart": np.abs(rows), "alike": np.tile(rows[:1] / 2, (3, 1))}[kind]
    allowed = gradient_tolerance(40, loss, ridge, 3, float(np.linalg.norm(push)))
    weights = minimize_objective(rows, loss, ridge, push, allowed).astype(np.longdouble)
    wide = rows.astype(np.longdouble)
    margins = weights @ wide
    if isinstance(loss, LogisticLoss):
        slopes = -1 / (1 + np.exp(np.clip(margins, -5000, 5000)))
    else:
        slopes = -np.clip((1 + np.longdouble(loss.width) - margins) / (2 * np.longdouble(loss.width)), 0, 1)
    left = wide @ slopes + np.longdouble(ridge) * weights + push
    assert np.sqrt((left**2).sum()) <= allowed


def test_it_is_where_another_solver_finds_it() -> None:
    rng, loss = np.random.default_rng(4), LogisticLoss()
    rows, push = people(rng, 4, 300), rng.normal(size=4)

    def objective(w: np.ndarray) -> float:
        return float(loss.value(w @ rows).sum() + 0.5 * w @ w + push @ w)

    other = minimize(objective, np.zeros(4), method="BFGS", options={"gtol": 1e-7}).x
    np.testing.assert_allclose(minimize_objective(rows, loss, 1.0, push, 1e-9), other, atol=1e-5)


def test_many_rows_start_from_a_sixteenth_and_end_at_the_same_place() -> None:
    rng, loss = np.random.default_rng(5), LogisticLoss()
    rows = np.tile(people(rng, 2, 700), 32)  # 22,400 people, 700 of them different
    found = minimize_objective(rows, loss, 32.0, np.zeros(2), gradient_tolerance(22_400, loss, 32.0, 2))
    once = minimize_objective(rows[:, :700], loss, 1.0, np.zeros(2), 1e-12)
    np.testing.assert_allclose(found, once, atol=1e-9)


@pytest.mark.parametrize("parts", [[9], [4, 5], [2, 3, 4], [9, 0]])
def test_all_parts_are_taken(parts: list[int]) -> None:
    rows = np.arange(18.0).reshape(2, 9)
    cuts = np.cumsum(parts)[:-1]
    np.testing.assert_array_equal(in_memory(lambda: np.split(rows, cuts, axis=1)), rows)


def test_nobody_at_all_leaves_the_push_alone() -> None:
    np.testing.assert_allclose(
        minimize_objective(np.zeros((2, 0)), LogisticLoss(), 2.0, np.array([1.0, -4.0]), 1e-9), [-0.5, 2]
    )


def test_the_tolerance_is_a_small_part_of_what_one_person_does() -> None:
    """A person pulls with 1. At a million people the tolerance is a ten-thousandth of that."""
    assert gradient_tolerance(1000, LogisticLoss(), 1.0, 20) < 1e-9
    assert gradient_tolerance(10**6, LogisticLoss(), 1.0, 20) < 1e-4
    assert gradient_tolerance(10**8, LogisticLoss(), 100.0, 20) < 0.01


def test_the_search_ends_only_within_half_of_the_tolerance() -> None:
    """At 0 it is 1, and the tolerance 1.5: half of it is left for what the rounding of sums may hide."""
    rows, nothing = np.array([[2.0, 0.0]]), np.zeros(1)
    found = minimize_objective(rows, LogisticLoss(), 1.0, nothing, 1.5)
    assert abs((rows @ LogisticLoss().slope(found @ rows) + found)[0]) <= 0.75


def test_the_tolerance_is_four_times_what_rounding_comes_to() -> None:
    """Of 100 rows with two weights and a ridge of 2: |w| is at most sqrt(2 * 2 * 100) / 2 = 10."""
    people = 100 * (60 + 0.25 * 4 * 10)
    assert gradient_tolerance(100, LogisticLoss(), 2.0, 2) == pytest.approx(4 * 2.0**-53 * (people + 8 * 2 * 10 + 1))


def test_where_a_matrix_is_singular_the_step_is_the_shortest() -> None:
    assert _solve(np.ones((2, 2)), np.array([2.0, 2.0])) == pytest.approx([1, 1])


@pytest.mark.parametrize("loss", [LogisticLoss(), HuberHinge(0.5)], ids=["logistic", "hinge"])
def test_along_a_direction_the_lowest_point_is_found(loss) -> None:
    """Against another solver; the directions are too short, too long and of any length."""
    rng = np.random.default_rng(6)
    rows, push, weights = people(rng, 3, 50), rng.normal(size=3), rng.normal(size=3)

    def objective(w: np.ndarray) -> float:
        return float(loss.value(w @ rows).sum() + 3.0 / 2 * w @ w + push @ w)

    downhill = -(rows @ loss.slope(weights @ rows) + 3.0 * weights + push)
    np.testing.assert_allclose(_gradient(rows, loss, 3.0, push, weights), approx_fprime(weights, objective), atol=1e-4)
    assert _gradient_norm(rows, loss, 3.0, push, weights) == pytest.approx(np.linalg.norm(downhill))
    for length in (1e-3, 0.05, 1.0):
        along = length * downhill
        there = minimize_scalar(lambda share, along=along: objective(weights + share * along), tol=1e-10).x
        assert _line_search(rows, loss, 3.0, push, weights, along) == pytest.approx(there, rel=1e-5)
