import math
from decimal import Decimal

import numpy as np

from toolkit.core.arrays import as_float, first_largest, number, numeric, objects


class Loud(int):
    def __int__(self) -> int:
        raise RuntimeError("a cell's own method was called")

    __index__ = __float__ = __int__  # type: ignore[assignment]


class Strange:
    __float__ = __int__ = Loud.__int__


def test_a_cell_is_a_number_by_its_type_and_its_own_methods_are_never_called() -> None:
    assert number(Loud(7)) == 7.0
    assert numeric(np.uint64(2**64 - 1)) == 2**64 - 1
    assert math.isnan(number(Strange()))
    assert math.isnan(number(Decimal("sNaN")))
    assert (as_float(10**400), number(Decimal("-1E+999999")), number(True)) == (math.inf, -math.inf, 1.0)
    assert numeric("3") is numeric(3j) is None


def test_objects_are_one_entry_a_cell() -> None:
    found = objects([[1], [2], (3, 4), np.array([5])])
    assert (found.shape, found.dtype) == ((4,), np.dtype(object))
    assert found[0] == [1]
    assert objects([]).shape == (0,)


def test_of_values_that_are_equal_but_for_rounding_the_first_is_the_largest() -> None:
    for values, place in (
        ([1.0, 1 + 1e-15, 0.5], 0),
        ([1.0, 1.001], 1),
        ([-1.0, -1 - 1e-15], 0),
        ([-1.0, 0.0, 0.0], 1),
    ):
        assert first_largest(np.array(values)) == place
