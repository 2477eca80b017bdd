import datetime as dt
import decimal
from itertools import product

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from tests.curator.hostile import CELLS
from tests.slowly import each
from tests.work import calls
from toolkit.frames.engines import polars
from toolkit.frames.engines.column import Column, numpy_column
from toolkit.frames.engines.polars import polars_column
from toolkit.frames.frame import arrow_column, pandas_column

VALUES = [1, 2, 3]


def column(values: object) -> Column:
    if isinstance(values, pd.Series):
        return pandas_column(values)
    return polars_column(values) if isinstance(values, pl.Series) else arrow_column(values)


def named(values: object) -> str:
    return f"{type(values).__module__.split('.')[0]} {getattr(values, 'dtype', getattr(values, 'type', ''))}"


NUMBERS = [
    pd.Series(VALUES),
    pd.Series(VALUES, dtype="int8"),
    pd.Series(VALUES, dtype="uint64"),
    pd.Series(VALUES, dtype="float32"),
    pd.Series(VALUES, dtype=np.longdouble),
    pd.Series(VALUES, dtype="Int64"),
    pd.Series(VALUES, dtype="double[pyarrow]"),
    pd.Series(VALUES, dtype="int64[pyarrow]"),
    pd.Series(VALUES, dtype=object),
    pd.Series([decimal.Decimal(v) for v in VALUES]),
    pl.Series(VALUES),
    pl.Series(VALUES, dtype=pl.UInt64),
    pl.Series(VALUES, dtype=pl.Float32),
    pl.Series(VALUES, dtype=pl.Decimal(10, 2)),
    pa.array(VALUES),
    pa.array(VALUES, pa.float32()),
    pa.array([decimal.Decimal(v) for v in VALUES]),
    pa.chunked_array([VALUES[:1], VALUES[1:]]),
]


@each(values=NUMBERS)
def test_numbers_are_read_whatever_holds_them(values: object) -> None:
    found = column(values)
    assert found.require_numbers("x").floats().tolist() == [1.0, 2.0, 3.0]
    assert found.missing().tolist() == [False, False, False]
    if found.kind.name == "whole":
        ticks, missing = found.ticks()
        assert (ticks.tolist(), missing.tolist()) == (VALUES, [False] * 3)


MISSING = [
    pd.Series(pd.arrays.FloatingArray(np.array([1.0, np.nan, 2.0]), np.array([False, False, True]))),
    pd.Series([1.0, None, np.nan]),
    pd.Series([1, None, None], dtype="Int64"),
    pd.Series([1, None, None], dtype="UInt8"),
    pd.Series([True, None, None], dtype="boolean"),
    pd.Series([1, None, None], dtype="double[pyarrow]"),
    pd.Series([True, None, None], dtype="bool[pyarrow]"),
    pd.Series([1, pd.NA, pd.NaT], dtype=object),
    pl.Series([1.0, None, float("nan")]),
    pl.Series([1, None, None]),
    pl.Series([True, None, None]),
    pa.array([1.0, None, float("nan")]),
    pa.array([1, None, None]),
    pa.array([True, None, None]),
]


@each(values=MISSING)
def test_missing_values_are_nan_as_numbers_and_missing(values: object) -> None:
    found = column(values)
    assert np.array_equal(found.floats(), [1.0, np.nan, np.nan], equal_nan=True)
    assert found.missing().tolist() == [False, True, True]


def test_large_whole_numbers_keep_all_their_digits_where_they_are_compared() -> None:
    for large, kind in ((2**53 + 1, "Int64"), (2**64 - 1, "UInt64")):
        many = pl.Series([large, None], dtype=getattr(pl, kind)), pa.array([large, None], getattr(pa, kind.lower())())
        for values in (pd.Series([large, None], dtype=kind), pd.Series([large], dtype=kind.lower()), *many):
            assert column(values).ticks()[0][0] == large
            assert column(values).floats()[0] == float(large)


def test_an_arrow_date_beyond_pythons_years_is_none_among_the_cells() -> None:
    """An error would tell that one of the rows holds such a date."""
    for kind, beyond in ((pa.date32(), 2**31 - 1), (pa.timestamp("s"), 2**62)):
        first, last = column(pa.array([0, beyond], kind)).cells()
        assert (first.year, last) == (1970, None)


@pytest.mark.slow
def test_a_moment_beyond_pythons_years_is_missing_among_the_cells() -> None:
    """Such a moment still has a day, and never raises an error. polars fails or panics at such a value, and pandas
    fails in a time zone.
    """
    ends, year = [-(2**63) + 1, -(2**62), 2**62, 2**63 - 1], 31_556_952
    for unit, zone in product(("ms", "us", "ns"), (None, "UTC", "Europe/Berlin", "America/New_York")):
        second = {"ms": 10**3, "us": 10**6, "ns": 10**9}[unit]
        whole = [0, *ends, *(sign * 8030 * year * second for sign in (-1, 1) if unit != "ns")]
        moments = pd.Series(np.array(whole).view(f"M8[{unit}]"))
        zoned = moments if zone is None else moments.dt.tz_localize("UTC").dt.tz_convert(zone)
        for values in (pl.Series(whole).cast(pl.Datetime(unit, zone)), *([zoned] if zone else [])):
            read = column(values)
            cells, (local, missing) = read.cells(), read.ticks(in_local_time=True)
            assert (cells[0].year, not any(missing)) == (1970 - (zone == "America/New_York"), True)
            cells = [cell for cell in cells if not pd.isna(cell)]
            assert all(1 <= cell.year <= 9999 for cell in cells)
            assert max(abs(one - other) for one, other in zip(local.tolist(), whole, strict=True)) <= 15 * 3600 * second
    days = pl.Series([0, 2**31 - 1, -(2**31)], dtype=pl.Int32).cast(pl.Date)
    spans = pl.Series([0, -(2**63), 2**63 - 1]).cast(pl.Duration("ms"))
    nested = [days.reshape((3, 1)), days.implode(), pl.DataFrame({"*": days}).to_struct()]
    for values, first, rest in ((days, dt.date(1970, 1, 1), None), (spans, dt.timedelta(0), None)):
        assert column(values).cells() == [first, rest, rest]
    date = dt.date(1970, 1, 1)
    expected = [[[date], [None], [None]], [[date, None, None]], [{"*": date}, {"*": None}, {"*": None}]]
    assert [column(values).cells() for values in nested] == expected
    assert column(pl.Series([dt.datetime(9999, 12, 31, 23, 59)])).cells() == [dt.datetime(9999, 12, 31, 23, 59)]


@each(name=CELLS)
def test_a_cell_that_is_no_number_is_missing_and_never_an_error(name: str) -> None:
    cells = np.empty(2, dtype=object)
    cells[:] = [1.0, 2.0]
    cells[1] = CELLS[name]
    found = column(pd.Series(cells, dtype=object))
    assert found.require_numbers("x").floats()[0] == 1.0
    assert len(found.floats()) == len(found.missing()) == len(found.codes(["a"])) == 2


@each(
    values=[
        pd.Series(["1", "2"]),
        pd.Series(["1", "2"], dtype="string[python]"),
        pd.Series(["1", "2"], dtype="string[pyarrow]"),
        pd.Series([1, 2], dtype="category"),
        pd.Series(pd.to_datetime(["2020-01-01", "2020-01-02"])),
        pd.Series(pd.to_timedelta(["1D", "2D"])),
        pd.Series(pd.period_range("2020", periods=2)),
        pd.Series(pd.arrays.SparseArray([1.0, 2.0])),
        pd.Series([1j, 2j]),
        pl.Series([dt.date(2020, 1, 1)]),
        pl.Series([[1], [2]]),
        pl.Series(["a"], dtype=pl.Enum(["a", "secret"])),
        pa.array([b"1"]),
        pa.array(["1"]),
        pa.array(["secret"]).dictionary_encode(),
    ]
)
def test_columns_of_other_types_are_refused_by_type(values: object) -> None:
    with pytest.raises(TypeError, match="column x must hold numbers, got") as error:
        column(values).require_numbers("column x")
    assert "secret" not in str(error.value)


TEXT = ["b", "a", None, "z"]
TEXTS = [
    pd.Series(TEXT),
    pd.Series(TEXT, dtype=object),
    pd.Series(TEXT, dtype="string[python]"),
    pd.Series(TEXT, dtype="string[pyarrow]"),
    pd.Series(TEXT, dtype=pd.CategoricalDtype(["z", "b", "a"])),
    pl.Series(TEXT),
    pl.Series(TEXT, dtype=pl.Categorical),
    pl.Series(TEXT, dtype=pl.Enum(["z", "b", "a"])),
    pa.array(TEXT),
    pa.array(TEXT, pa.large_string()),
    pa.array(TEXT).dictionary_encode(),
    pa.chunked_array([TEXT[:1], TEXT[1:]]),
]


@each(values=TEXTS)
def test_texts_are_found_whatever_holds_them(values: object) -> None:
    found = column(values)
    assert found.codes(["a", "b"]).tolist() == [1, 0, -1, -1]
    assert found.has(["a", "b"]).tolist() == [True, True, False, False]
    assert found.missing().tolist() == [False, False, True, False]
    assert [None if pd.isna(cell) else cell for cell in found.cells()] == TEXT


def test_a_column_without_a_row_is_read() -> None:
    for values in (
        pd.Series([], dtype="float64"),
        pl.Series([], dtype=pl.Int64),
        pa.array([], pa.bool_()),
        pd.Series([], dtype=object),
    ):
        assert column(values).floats().shape == (0,)
        assert column(values).missing().shape == (0,)
    for one in (*map(column, (*NUMBERS, *TEXTS)), numpy_column(np.array(VALUES))):
        empty = one.empty()
        assert (type(empty), empty.kind, empty.cells(), empty.missing().tolist()) == (type(one), one.kind, [], [])


YES_NO = {
    "pandas nullable": lambda values: pd.Series(values, dtype="boolean"),
    "pandas nullable number": lambda values: pd.Series(values, dtype="Int64"),
    "pandas arrow": lambda values: pd.Series(values, dtype="bool[pyarrow]"),
    "polars": lambda values: pl.Series(values, dtype=pl.Boolean),
    "pyarrow": lambda values: pa.array(values, pa.bool_()),
}


@pytest.mark.parametrize("name", YES_NO)
def test_reading_a_yes_no_column_always_takes_the_same_calls(name: str) -> None:
    """A missing value leaves the number of calls as it is. One in 200,000 made it 15 to 24 times slower."""
    values = (np.random.default_rng(4).random(5000) < 0.5).tolist()
    whole, neighbor = (column(YES_NO[name](cells)) for cells in (values, [*values[:-1], None]))
    whole.floats()  # what is loaded at the first call
    assert calls(whole.floats) == calls(neighbor.floats)


@pytest.mark.parametrize("more", [-2, -1, 0, 1])
def test_texts_of_long_columns_of_polars_are_placed_part_by_part(more: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(polars, "_BATCH_ROWS", 2**12)
    texts = np.array(["a", "b", None, "c"], dtype=object)
    codes = np.arange(polars._BATCH_ROWS + more) % 4
    found = polars.polars_column(pl.Series(texts[codes], dtype=pl.String)).codes(["c", "a", "nobody"])
    assert np.array_equal(found, np.array([1, -1, -1, 0])[codes])
