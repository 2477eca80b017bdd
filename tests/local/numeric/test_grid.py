from fractions import Fraction

import numpy as np
import pytest

from toolkit.local.numeric.grid import FINEST, Grid, checked_bounds, checked_reports, fine_steps, numbers_in

GRID = Grid(Fraction(0), Fraction(10), 100)


def test_answers_go_to_the_nearest_point_and_both_ends_are_points() -> None:
    index, single = GRID.index([0, 10, 0.04, 0.06, 9.99])
    assert index.tolist() == [0, 100, 0, 1, 100]
    assert not single
    assert GRID.index(5)[1]


def test_whole_numbers_are_met_exactly_on_the_finest_grid() -> None:
    steps = fine_steps(Fraction(0), Fraction(80))
    index, _ = Grid(Fraction(0), Fraction(80), steps).index(np.arange(81))
    assert np.array_equal(index * 80, np.arange(81) * steps)
    assert steps <= FINEST


def test_numbers_outside_or_missing_are_counted_never_quoted() -> None:
    with pytest.raises(ValueError, match="1 of 3 outside") as caught:
        numbers_in([1, 2, 77.125], Fraction(0), Fraction(10))
    assert "77" not in str(caught.value)
    with pytest.raises(ValueError, match="1 missing of 2"):
        numbers_in([1, np.nan], Fraction(0), Fraction(10))
    with pytest.raises(TypeError, match="answers must be numbers"):
        numbers_in(["secret"], Fraction(0), Fraction(10))


@pytest.mark.parametrize(
    ("bounds", "error"),
    [((1, 1), ValueError), ((2, 1), ValueError), (5, TypeError), ("01", TypeError), ((0, np.inf), ValueError)],
)
def test_bounds_are_checked(bounds: object, error: type[Exception]) -> None:
    with pytest.raises(error, match="`bounds` must"):
        checked_bounds(bounds)


def test_reports_of_another_randomizer_are_refused() -> None:
    with pytest.raises(ValueError, match="made by another randomizer"):
        checked_reports([0, 5], kinds=5)
    with pytest.raises(TypeError, match="list of integers"):
        checked_reports([0.5])
