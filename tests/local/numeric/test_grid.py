"""Operations of all randomizers of bounded numbers on an answer before drawing."""

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from tests.local.channel import NoDraw
from tests.slowly import each
from toolkit.local import numeric
from toolkit.local.numeric.bounded import OneBit
from toolkit.local.numeric.grid import AnswerGrid, GridRandomizer, checked_answers, checked_reports

GRID = AnswerGrid(Fraction(0), Fraction(10), 100)


def test_answers_go_to_the_nearest_point_and_both_ends_are_points() -> None:
    index, single = GRID.nearest_indices([0, 10, 0.04, 0.06, 9.99])
    assert index.tolist() == [0, 100, 0, 1, 100]
    assert not single
    assert GRID.nearest_indices(5)[1]


def test_numbers_outside_or_missing_are_counted_never_quoted() -> None:
    with pytest.raises(ValueError, match="1 of 3 outside") as caught:
        checked_answers([1, 2, 77.125], Fraction(0), Fraction(10))
    assert "77" not in str(caught.value)
    with pytest.raises(ValueError, match="1 missing of 2"):
        checked_answers([1, np.nan], Fraction(0), Fraction(10))
    with pytest.raises(TypeError, match="answers must be numbers"):
        checked_answers(["secret"], Fraction(0), Fraction(10))


def test_reports_of_another_randomizer_are_refused() -> None:
    with pytest.raises(ValueError, match="made by another randomizer"):
        checked_reports([0, 5], n_reports=5)
    with pytest.raises(TypeError, match="list of integers"):
        checked_reports([0.5])


ZERO, ONE = Fraction(0), Fraction(1)
MAKERS = (numeric.one_bit, numeric.piecewise, numeric.hybrid, numeric.local_laplace, numeric.square_wave)


@pytest.mark.parametrize("make", MAKERS)
def test_it_tells_its_bounds_and_how_far_one_person_can_move_a_sum(make: type) -> None:
    made = make((-2, "7/2"), 1.0)
    assert isinstance(made, GridRandomizer)
    assert (made.bounds, made._sensitivity, made.answer_kind, made.options) == ((-2, Fraction(7, 2)), 5.5, "number", ())
    assert made._browser_data()["span"] == [11, 2]
    assert made._browser_data().items() >= made.to_dict().items()


@pytest.mark.parametrize("make", MAKERS)
def test_one_answer_gives_one_report(make: type) -> None:
    assert isinstance(make((0, 1), 1.0).randomize(0.5), int)


def test_the_grid_is_public_and_whole_numbers_are_met_exactly() -> None:
    mean = numeric.piecewise((10, 90), 1.0)
    index, _ = mean._grid.nearest_indices(np.arange(10, 91))
    assert np.array_equal(index * 80, np.arange(81) * mean.steps)
    for make in MAKERS:
        reports = make((0, 80), 1.0).randomize(np.linspace(0, 80, 500))
        assert reports.dtype == np.int64  # only integers leave the device, no floats


def test_neighboring_floats_give_the_same_law() -> None:
    """The last bit of an answer cannot be observed, because it is removed before anything is drawn."""
    mean = numeric.hybrid((0, 1), 1.0)
    x = 0.123456
    assert mean._grid.nearest_indices(x)[0] == mean._grid.nearest_indices(math.nextafter(x, 1))[0]


BAD: list[tuple[list[Any], str]] = [
    ([0.5, 999.125], "between 0 and 1, got 1 of 2 outside"),
    ([-0.1], "between 0 and 1, got 1 of 1 outside"),
    ([math.inf], "between 0 and 1, got 1 of 1 outside"),
    ([math.nan], "must not be missing, got 1 missing of 1"),
    ([None, 1], "must not be missing, got 1 missing of 2"),
    (["much"], "must be numbers, none missing, got something else"),
    ([1 + 1j], "must be numbers, none missing, got something else"),
    ([[0.1, 0.2]], "must be one-dimensional, got 2 dimensions"),
    ([], "at least one entry, got none"),
]


@each(bad=BAD, make=MAKERS)
def test_bad_answers_are_refused_before_anything_is_drawn_and_never_quoted(make: type, bad: tuple) -> None:
    answers, words = bad
    with pytest.raises((ValueError, TypeError), match=words) as error:
        make((0, 1), 1.0).randomize(answers, NoDraw())
    assert not any(str(secret) in str(error.value) for secret in ("999", "much", "0.1"))


FAR = 10**300
BOUNDS = [(1, 1), (2, 1), (0, math.inf), (math.nan, 1), (0, FAR + 1), (-FAR - 1, 0), (0,), "01", 3, (0, True)]


@each(bounds=BOUNDS, make=MAKERS)
def test_impossible_bounds_are_refused(make: type, bounds: object) -> None:
    with pytest.raises(ValueError, match="`bounds` must") as error:
        make(bounds, 1.0)
    if isinstance(bounds, str | int) or len(bounds) != 2:
        assert make((-FAR, FAR), 1.0).bounds == (-FAR, FAR)
        received = bounds if bounds == (0,) else type(bounds).__name__
        assert f"got {received}: the lowest and the highest answer are public; write [0, 80]" in str(error.value)


@pytest.mark.parametrize("steps", [0, -1, 2.5, "4", True])
def test_the_number_of_steps_must_be_a_whole_number_of_at_least_one(steps: object) -> None:
    with pytest.raises((ValueError, TypeError), match="`steps` must be"):
        OneBit(ZERO, ONE, steps, 3, 1)  # type: ignore[arg-type]
    assert type(OneBit(ZERO, ONE, np.int64(4), 3, 1).steps) is int  # type: ignore[arg-type]
