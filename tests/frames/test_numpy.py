import numpy as np
import pytest

from tests.curator.hostile import CELLS
from toolkit.core.arrays import object_array
from toolkit.frames.engines.column import numpy_column
from toolkit.frames.frame import column_of


@pytest.mark.parametrize(
    ("dtype", "kind"),
    [
        ("bool", "truth"), ("int8", "whole"), ("uint64", "whole"), ("float16", "number"),
        ("longdouble", "number"), ("U3", "text"), ("S3", "other"), ("datetime64[D]", "other"),
        ("object", "object"),
    ],
)  # fmt: skip
def test_a_kind_follows_from_the_type_alone(dtype: str, kind: str) -> None:
    column = numpy_column(np.zeros(0, dtype=dtype))
    assert (column.kind.name, column.empty().kind) == (kind, column.kind)
    assert column.missing().tolist() == column.cells() == []


def test_what_is_masked_is_missing() -> None:
    for made in (np.array([1, 2], dtype=np.int16), np.array([1.0, 2.0]), np.array([True, True])):
        column = numpy_column(np.ma.masked_array(made, mask=[False, True]))
        assert column.missing().tolist() == [False, True]
        assert column.cells() == [made[0], None]
        np.testing.assert_array_equal(column.floats(), [1, np.nan])
    assert numpy_column(np.ma.masked_array([1.0, np.nan, 2.0], [0, 0, 1])).missing().tolist() == [False, True, True]
    ticks, missing = numpy_column(np.array([2**53 + 1, -5])).ticks()
    assert (ticks.tolist(), missing.tolist()) == ([2**53 + 1, -5], [False, False])


def test_a_long_double_beyond_the_floats_is_infinite_without_a_warning() -> None:
    assert numpy_column(np.array(["1e400", "-1e400"], dtype=np.longdouble)).floats().tolist() == [np.inf, -np.inf]


def test_no_method_of_a_hostile_cell_is_called() -> None:
    column = column_of(object_array(CELLS.values()))
    assert column is not None
    assert len(column.floats()) == len(CELLS)
    assert column_of(np.ones((2, 2))) is None
    assert column_of([1, 2]) is None
