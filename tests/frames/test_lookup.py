"""Public joins: each row keeps its place, types follow from the public table, and what multiplies rows is refused."""

import datetime as dt

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from toolkit import Curator, Ledger, Pure
from toolkit.frames import with_lookup

PEOPLE = pd.DataFrame({"school": ["b", "a", "b", "c", None], "pay": [3, 2, 5, 4, 1]})
SCHOOLS = pd.DataFrame(
    {
        "school": ["a", "b"],
        "size": [200, 900],
        "town": ["x", "y"],
        "share": [0.5, 1.5],
        "open": pd.to_datetime(["2020-01-01", "2021-06-30"]),
        "state": [True, False],
    }
)
LIBRARIES = {
    "pandas": lambda frame: frame.copy(),
    "polars": pl.from_pandas,
    "pyarrow": lambda frame: pa.Table.from_pandas(frame, preserve_index=False),
}


def column(table, name: str) -> list:
    cells = table[name].to_list() if hasattr(table[name], "to_list") else table[name].to_pylist()
    return [None if pd.isna(cell) else cell for cell in cells]


@pytest.mark.parametrize("library", LIBRARIES)
def test_each_row_gets_the_values_of_its_key(library) -> None:
    make = LIBRARIES[library]
    joined = with_lookup(make(PEOPLE), make(SCHOOLS), on="school")
    assert column(joined, "pay") == [3, 2, 5, 4, 1]
    assert column(joined, "size") == [900, 200, 900, None, None]
    assert column(joined, "town") == ["y", "x", "y", None, None]
    assert column(joined, "share") == [1.5, 0.5, 1.5, None, None]
    assert column(joined, "state") == [False, True, False, None, None]
    assert [cell and cell.year for cell in column(joined, "open")] == [2021, 2020, 2021, None, None]


@pytest.mark.parametrize("library", LIBRARIES)
def test_no_key_of_a_person_changes_a_type(library) -> None:
    """Nor does it change the number of rows: unmatched, missing and matched keys give the same columns."""
    make = LIBRARIES[library]
    tables = [
        with_lookup(make(PEOPLE.assign(school=pd.Series(keys, dtype=PEOPLE.school.dtype))), make(SCHOOLS), "school")
        for keys in (["a"] * 5, ["?"] * 5, [None] * 5)
    ]
    types = [str(table.schema if library != "pandas" else table.dtypes.to_dict()) for table in tables]
    assert len(set(types)) == 1
    assert {len(table) for table in tables} == {5}
    for table in tables:
        keeper = Curator(table, Ledger(Pure(1)), "replace")
        keeper.mean("size", bounds=(0, 1000), missing="drop", epsilon=0.5)
        keeper.count({"town": "y"}, epsilon=0.5)


def test_numbers_and_objects_are_keys() -> None:
    numbers = with_lookup(pd.DataFrame({"k": [2.0, 1.0, np.nan]}), pd.DataFrame({"k": [1, 2], "v": [10, 20]}), "k")
    assert column(numbers, "v") == [20, 10, None]
    mixed = pd.DataFrame({"k": pd.Series(["x", 3, [1], None], dtype=object)}).set_axis([7, 7, 1, 0])
    joined = with_lookup(mixed, pd.DataFrame({"k": pd.Series([3, "x"], dtype=object), "v": ["three", "ex"]}), "k")
    assert column(joined, "v") == ["ex", "three", None, None]
    assert joined.index.tolist() == [7, 7, 1, 0]
    assert list(mixed.columns) == ["k"]


def test_joins_that_multiply_rows_or_read_queries_are_refused() -> None:
    twice = pd.concat([SCHOOLS, SCHOOLS.head(1)])
    with pytest.raises(ValueError, match="each key must occur once in `lookup`, got 1 repetitions") as error:
        with_lookup(PEOPLE, twice, on="school")
    assert "one person counts several times" in str(error.value)
    with pytest.raises(ValueError, match="must have a key, got a missing key"):
        with_lookup(PEOPLE, SCHOOLS.assign(school=["a", None]), on="school")
    with pytest.raises(ValueError, match="share the column of the key alone, got 2 columns"):
        with_lookup(PEOPLE, SCHOOLS.assign(pay=1), on="school")
    with pytest.raises(TypeError, match="same library"):
        with_lookup(PEOPLE, pl.from_pandas(SCHOOLS), on="school")
    with pytest.raises(TypeError, match="school holds text, got a number"):
        with_lookup(PEOPLE, SCHOOLS.assign(school=[1, 2]), on="school")
    with pytest.raises(TypeError, match="must be in memory, got duckdb"):
        with_lookup(duckdb.sql("select 'a' as school"), SCHOOLS, on="school")


def test_keys_that_the_column_cannot_distinguish_are_refused() -> None:
    """A column of 32 bits has 16,777,216 but not 16,777,217: a row would get the values of either key."""
    schools = pd.DataFrame({"k": [16_777_216.0, 16_777_217.0], "v": [10, 20]})
    for dtype in (np.float32, "Float32"):
        people = pd.DataFrame({"k": pd.array([16_777_216.0, 1.0], dtype=dtype)})
        with pytest.raises(ValueError, match="differ from the others in the type of the frame's column, got 1 rep"):
            with_lookup(people, schools, on="k")
    assert column(with_lookup(schools[["k"]], schools, on="k"), "v") == [10, 20]


def test_dates_are_no_keys_of_datetimes() -> None:
    """They would match nobody, without an error."""
    days = pd.DataFrame({"k": [dt.date(2024, 1, 1)], "v": [10]})
    moments = pd.DataFrame({"k": pd.to_datetime(["2024-01-01"])})
    with pytest.raises(TypeError, match=r"k holds dates with a time, got a date in `lookup`"):
        with_lookup(moments, days, on="k")
    assert column(with_lookup(moments, moments.assign(v=10), on="k"), "v") == [10]
    assert column(with_lookup(days[["k"]], days, on="k"), "v") == [10]


def test_no_column_of_the_frame_is_replaced() -> None:
    """For pandas, the labels 1 and True are equal, and so are 1 and 1.0."""
    for label in (True, 1.0):
        with pytest.raises(TypeError, match="names that are text or whole numbers"):
            with_lookup(pd.DataFrame({"k": [1], 1: [2]}), pd.DataFrame({"k": [1], label: [5]}), on="k")


def test_a_join_with_confidential_rows_is_refused_with_the_reason() -> None:
    keeper = Curator(PEOPLE, Ledger(Pure(1)), "replace")
    with pytest.raises(TypeError, match="let one person change many rows"):
        with_lookup(PEOPLE, keeper, on="school")
    for name in ("join", "merge"):
        with pytest.raises(AttributeError, match=r"one person could change many rows.*with_lookup"):
            getattr(keeper, name)
