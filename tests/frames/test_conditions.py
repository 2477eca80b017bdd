import datetime as dt
from collections import namedtuple

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from tests.frames.tables import keys_of
from toolkit import MISSING, OTHER, between
from toolkit.frames.conditions import parse_condition
from toolkit.frames.frame import Frame
from toolkit.frames.sums import parse_grouping

TABLE = {
    "degree": ["law", "art", None, "law"],
    "year": [1, 2, 3, 2],
    "pay": [1.5, None, 2.5, 1.5],
    "member": [True, False, True, None],
    "born": [dt.date(2000, 1, 1), dt.date(2000, 1, 2), None, dt.date(2001, 1, 1)],
    "came": [dt.datetime(2020, 1, 1, 10), dt.datetime(2020, 1, 2), dt.datetime(2020, 1, 1), None],
}
BERLIN = pd.DatetimeTZDtype("ns", "Europe/Berlin")
ENGINES = {
    "pandas": lambda: pd.DataFrame(TABLE).assign(pay=pd.Series([1.5, np.nan, 2.5, 1.5])),
    "pandas objects": lambda: pd.DataFrame({name: pd.Series(values, dtype=object) for name, values in TABLE.items()}),
    "pandas arrow": lambda: pa.table(TABLE).to_pandas(types_mapper=pd.ArrowDtype),
    "pandas nanoseconds": lambda: pd.DataFrame(TABLE).astype({"came": "datetime64[ns]"}),
    "polars": lambda: pl.DataFrame(TABLE),
    "pyarrow": lambda: pa.table(TABLE),
}
MET = [
    ({"degree": "law"}, [0, 3], "degree = 'law'"),
    ({"degree": ["law", "art"]}, [0, 1, 3], "degree in ['law', 'art']"),
    ({"degree": MISSING}, [2], "degree missing"),
    ({"degree": ["art", MISSING]}, [1, 2], "degree = 'art' or missing"),
    ({"year": 2, "degree": "law"}, [3], "year = 2 and degree = 'law'"),
    ({"year": 2.0}, [1, 3], "year = 2"),
    ({"year": range(1, 3)}, [0, 1, 3], "year in [1, 2]"),
    ({"year": np.array([1, 3])}, [0, 2], "year in [1, 3]"),
    ({"year": np.array(3)}, [2], "year = 3"),
    ({"year": {3}}, [2], "year = 3"),
    ({"year": pd.Series([1, 3])}, [0, 2], "year in [1, 3]"),
    ({"year": between(1.5, 3)}, [1, 2, 3], "year between 1.5 and 3"),
    ({"year": [1, between(3, 9)]}, [0, 2], "year = 1 or between 3 and 9"),
    ({"pay": between(1.5, 2.5)}, [0, 2, 3], "pay between 1.5 and 2.5"),
    ({"pay": MISSING}, [1], "pay missing"),
    ({"member": True}, [0, 2], "member = True"),
    ({"member": 0}, [1], "member = 0"),
    ({"member": MISSING}, [3], "member missing"),
    ({"born": dt.date(2000, 1, 2)}, [1], "born = 2000-01-02"),
    ({"born": between(dt.date(2000, 1, 2), dt.date(2001, 1, 1))}, [1, 3], "born between 2000-01-02 and 2001-01-01"),
    ({"born": MISSING}, [2], "born missing"),
    ({"came": dt.datetime(2020, 1, 1, 10)}, [0], "came = 2020-01-01T10:00:00"),
    ({"came": pd.Timestamp("2020-01-02")}, [1], "came = 2020-01-02T00:00:00"),
    ({"came": np.datetime64("2020-01-02T00:00", "ns")}, [1], "came = 2020-01-02T00:00:00"),
    (
        {"came": [dt.datetime(2020, 1, 1), dt.datetime(2020, 1, 2)]},
        [1, 2],
        "came in [2020-01-01T00:00:00, 2020-01-02T00:00:00]",
    ),
    ({"came": between(dt.datetime(2020, 1, 1, 1), dt.datetime(2020, 1, 2))}, [0, 1], None),
    ({"came": dt.date(2020, 1, 1)}, [0, 2], "came = 2020-01-01"),
    ({"came": between(dt.date(2020, 1, 1), dt.date(2020, 1, 2))}, [0, 1, 2], "came between 2020-01-01 and 2020-01-02"),
    ({"came": MISSING}, [3], "came missing"),
    ({}, [0, 1, 2, 3], ""),
    (None, [0, 1, 2, 3], ""),
]


@pytest.mark.parametrize("engine", ENGINES)
def test_conditions_mean_the_same_in_every_engine(engine: str) -> None:
    frame = Frame(ENGINES[engine]())
    for where, rows, words in MET:
        asked = parse_grouping(frame, where).where
        assert np.flatnonzero(asked.mask(frame)).tolist() == rows, where
        assert words is None or asked.description == words
        assert asked.notes == ()


def test_a_generator_is_read_once_and_before_anything_else() -> None:
    for engine in ENGINES.values():
        frame = Frame(engine())
        asked = parse_condition(frame, {"year": (year for year in (1, 3))})
        assert np.flatnonzero(asked.mask(frame)).tolist() == np.flatnonzero(asked.mask(frame)).tolist() == [0, 2]


@pytest.mark.parametrize(
    ("where", "message"),
    [
        ({"year": (30, 40)}, r"write \[30, 40\] for either of two values, between\(30, 40\) for the range"),
        ({"year": namedtuple("Pair", "low high")(1, 2)}, "must not be a tuple"),
        ({"year": "1"}, "column year holds whole numbers, got text: the column can never hold it; write a number"),
        ({"degree": 1}, "column degree holds text, got a number"),
        ({"year": None}, "write MISSING"),
        ({"year": []}, "an empty list"),
        ({"year": {1: 2}}, "must be a list, got dict"),
        ({"year": True}, "got a truth value"),
        ({"year": 1.5}, "must fit the type of the column, got 1.5"),
        ({"year": lambda year: year > 1}, "must be text, a number"),
        ({"year": object()}, "must be text, a number"),
        ({"year": b"1"}, "must be text, a number"),
        ({"degree": between(1, 2)}, "column degree holds text, got a number"),
        ({"came": "2020-01-01"}, "column came holds dates with a time, got text"),
        ({"came": dt.datetime(2020, 1, 1, tzinfo=dt.UTC)}, "leave the time zone out"),
        ({"nothing": 1}, "`column` must be one of degree, year"),
        ("year > 1", "`where` must be a mapping"),
        ({"degree": ["law", OTHER]}, "must name its values, got OTHER"),
        ([True, False], "a mask may depend on other people's rows"),
        (pd.Series([True, False]), "a mask may depend on other people's rows"),
        (lambda: True, "`where` must take one argument"),
        (lambda row, other: row is other, "`where` must take one argument"),
    ],
)
def test_unclear_or_impossible_conditions_are_rejected(where: object, message: str) -> None:
    """The message says what to write instead."""
    for engine in ("pandas", "polars", "pyarrow"):
        with pytest.raises((ValueError, TypeError), match=message):
            parse_condition(Frame(ENGINES[engine]()), where)


def test_functions_that_return_no_answer_are_refused() -> None:
    async def later(row: dict) -> bool:
        return bool(row)

    def some(row: dict):
        yield bool(row)

    for function in (later, some):
        with pytest.raises(TypeError, match="`where` must return a truth value"):
            parse_condition(Frame(ENGINES["pandas"]()), function)


def test_days_begin_and_end_by_the_columns_own_clock() -> None:
    """Half past midnight in Berlin is the day before in UTC."""
    late = pd.DataFrame({"came": pd.to_datetime(["2020-01-02 00:30", "2020-01-01 12:00"]).tz_localize("Europe/Berlin")})
    for table in (late, pl.from_pandas(late), pa.Table.from_pandas(late), late.astype(object)):
        frame = Frame(table)
        assert parse_condition(frame, {"came": dt.date(2020, 1, 2)}).mask(frame).tolist() == [True, False]
        moment = dt.datetime(2020, 1, 1, 23, 30, tzinfo=dt.UTC)
        assert parse_condition(frame, {"came": moment}).mask(frame).tolist() == [True, False]


def test_a_function_sees_copies_and_a_row_on_which_it_fails_does_not_count() -> None:
    table = pd.DataFrame({"tags": pd.Series([["a"], ["b"], None], dtype=object), "n": [1, 2, 3]})
    seen = []

    def clears(row: dict) -> bool:
        seen.append(row)
        row["n"] = 99
        row["tags"].clear()
        return True

    frame = Frame(table)
    asked = parse_condition(frame, clears)
    assert asked.mask(frame).tolist() == [True, True, False]
    assert (table["tags"].tolist(), table["n"].tolist()) == ([["a"], ["b"], None], [1, 2, 3])
    assert asked.description == "a function of the row holds"
    assert "the curator guarantees" in asked.notes[0]


@pytest.mark.parametrize("engine", ENGINES)
def test_a_function_is_given_the_rows_of_every_engine(engine: str) -> None:
    frame = Frame(ENGINES[engine]())
    asked = parse_condition(frame, lambda row: row["degree"] == "law" and row["year"] > 1 and row["came"] is None)
    assert np.flatnonzero(asked.mask(frame)).tolist() == [3]


LARGE = 2**64 - 1


@pytest.mark.parametrize(
    "table",
    [
        lambda: pd.DataFrame(
            {"id": np.array([LARGE, LARGE - 1, 0], dtype=np.uint64), "dose": np.array([0.1, 0.2, 7], np.float32)}
        ),
        lambda: pd.DataFrame(
            {
                "id": pd.arrays.IntegerArray(
                    np.array([LARGE, LARGE - 1, 0], dtype=np.uint64), np.array([False, False, True])
                ),
                "dose": pd.array([0.1, 0.2, 7], dtype="Float32"),
            }
        ),
        lambda: pl.DataFrame(
            {"id": [LARGE, LARGE - 1, 0], "dose": [0.1, 0.2, 7]}, schema={"id": pl.UInt64, "dose": pl.Float32}
        ),
        lambda: pa.table(
            {"id": pa.array([LARGE, LARGE - 1, 0], pa.uint64()), "dose": pa.array([0.1, 0.2, 7], pa.float32())}
        ),
    ],
    ids=["numpy", "nullable", "polars", "pyarrow"],
)
def test_every_engine_finds_large_unsigned_numbers_and_short_floats(table) -> None:
    frame = Frame(table())
    for where in ({"id": LARGE}, {"id": between(LARGE, 2**70)}, {"dose": 0.1}, {"dose": between(0.05, 0.1)}):
        assert np.flatnonzero(parse_condition(frame, where).mask(frame)).tolist() == [0], where
    assert np.flatnonzero(parse_condition(frame, {"id": between(2**63, LARGE)}).mask(frame)).tolist() == [0, 1]
    assert keys_of(frame, "id", [LARGE - 1, LARGE], "options").codes(frame).tolist() == [1, 0, -1]


@pytest.mark.parametrize("engine", ["pandas", "polars", "pyarrow"])
def test_a_missing_whole_number_lies_in_no_range(engine):
    years = pd.Series([0, None, 5], dtype="Int64") if engine == "pandas" else [0, None, 5]
    make = {"pandas": pd.DataFrame, "polars": pl.DataFrame, "pyarrow": pa.table}[engine]
    frame = Frame(make({"year": years}))
    met = parse_condition(frame, {"year": between(-1, 9)}).mask(frame)
    assert list(np.flatnonzero(met)) == [0, 2]
    assert list(np.flatnonzero(parse_condition(frame, {"year": [0, 7]}).mask(frame))) == [0]


def test_moments_of_a_zone_lie_in_no_range_of_moments_without_one():
    noon = dt.datetime(2020, 1, 1, 12)
    frame = Frame(pd.DataFrame({"came": pd.Series([noon, noon.replace(tzinfo=dt.UTC)], dtype=object)}))
    met = parse_condition(frame, {"came": between(noon, noon + dt.timedelta(hours=1))}).mask(frame)
    assert list(np.flatnonzero(met)) == [0]


def test_a_number_too_long_for_64_bits_is_no_reason_to_fail():
    frame = Frame(pl.DataFrame({"x": pl.Series([1, 2**100, None], dtype=pl.Int128)}))
    met = parse_condition(frame, {"x": between(0, 5)}).mask(frame)
    assert list(np.flatnonzero(met)) == [0]


def test_dates_of_arrow_are_found_whatever_they_are_held_in():
    born = [dt.date(2000, 1, 1), None, dt.date(2000, 1, 2)]
    for kind in (pa.date32(), pa.date64()):
        frame = Frame(pa.table({"born": pa.array(born, kind)}))
        assert list(np.flatnonzero(parse_condition(frame, {"born": dt.date(2000, 1, 2)}).mask(frame))) == [2]
        met = parse_condition(frame, {"born": between(dt.date(2000, 1, 1), dt.date(2000, 1, 1))}).mask(frame)
        assert list(np.flatnonzero(met)) == [0]


def test_a_missing_category_of_numbers_is_no_number():
    frame = Frame(pd.DataFrame({"year": pd.Categorical([0, None, 5])}))
    assert list(np.flatnonzero(parse_condition(frame, {"year": between(-1, 9)}).mask(frame))) == [0, 2]


def test_a_set_of_values_is_told_in_one_order() -> None:
    frame = Frame(pd.DataFrame({"k": pd.Series(["a", 1], dtype=object), "n": [1, 2]}))
    assert parse_condition(frame, {"n": {10, 2, 1}}).description == "n in [1, 2, 10]"
    assert parse_condition(frame, {"k": {"b", "a", 1}}).description == "k in ['a', 'b', 1]"
