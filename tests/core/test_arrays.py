import math
from decimal import Decimal

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from toolkit.core.arrays import (
    as_float,
    index_of_largest,
    number_or_nan,
    number_or_none,
    object_array,
    project_onto_simplex,
)


class Loud(int):
    def __int__(self) -> int:
        raise RuntimeError("a cell's own method was called")

    __index__ = __float__ = __int__  # type: ignore[assignment]


class Strange:
    __float__ = __int__ = Loud.__int__


def test_a_cell_is_a_number_by_its_type_alone() -> None:
    """The methods of the cell are never called."""
    assert number_or_nan(Loud(7)) == 7.0
    assert number_or_none(np.uint64(2**64 - 1)) == 2**64 - 1
    assert math.isnan(number_or_nan(Strange()))
    assert math.isnan(number_or_nan(Decimal("sNaN")))
    assert (as_float(10**400), number_or_nan(Decimal("-1E+999999")), number_or_nan(True)) == (math.inf, -math.inf, 1.0)
    assert number_or_none("3") is number_or_none(3j) is None


def test_objects_are_one_entry_a_cell() -> None:
    found = object_array([[1], [2], (3, 4), np.array([5])])
    assert (found.shape, found.dtype) == ((4,), np.dtype(object))
    assert found[0] == [1]
    assert object_array([]).shape == (0,)


def test_the_first_of_values_equal_up_to_rounding_is_the_largest() -> None:
    for values, place in (
        ([1.0, 1 + 1e-15, 0.5], 0),
        ([1.0, 1.001], 1),
        ([-1.0, -1 - 1e-15], 0),
        ([-1.0, 0.0, 0.0], 1),
    ):
        assert index_of_largest(np.array(values)) == place


vectors = hnp.arrays(np.float64, st.integers(1, 30), elements=st.floats(-3, 3))


@pytest.mark.slow
@given(vectors, st.integers(0, 2**32 - 1))
def test_projection_is_on_the_simplex_and_nearer_than_any_other_point(shares: np.ndarray, seed: int) -> None:
    near = project_onto_simplex(shares)
    assert near.min() >= 0
    assert np.isclose(near.sum(), 1)
    others = np.random.default_rng(seed).dirichlet(np.ones(len(shares)), size=20)
    assert np.all(np.linalg.norm(shares - near) <= np.linalg.norm(shares - others, axis=1) + 1e-12)


@pytest.mark.slow
@settings(max_examples=60)
@given(st.lists(st.floats(-50, 500), min_size=1, max_size=12), st.integers(1, 2000))
def test_all_entries_above_zero_are_shifted_alike(values: list[float], total: int) -> None:
    table = np.array(values)
    found = project_onto_simplex(table, total)
    assert found.sum() == pytest.approx(total)
    kept = found > 0
    shifts = (table - found)[kept]
    assert shifts == pytest.approx(np.full(len(shifts), shifts.mean()), abs=1e-6)
    assert np.all(table[~kept] <= shifts.mean() + 1e-6)


def test_nothing_is_left_of_a_total_of_zero() -> None:
    assert project_onto_simplex(np.array([3.0, -1.0]), 0).tolist() == [0, 0]
