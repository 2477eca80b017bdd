import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from toolkit.frames.counts import has_column, row_counts, sort_key, value_counts

ROWS = {"faculty": ["arts", "law", "arts", None, "law"], "cheated": ["yes", "no", "yes", "no", None]}
FRAME = pd.DataFrame(ROWS)


def on_a_database(rows):
    return duckdb.from_arrow(pa.table(rows))


ENGINES = {
    "pandas": pd.DataFrame,
    "polars": pl.DataFrame,
    "lazy polars": pl.LazyFrame,
    "pyarrow": pa.table,
    "duckdb": on_a_database,
}


@pytest.mark.parametrize("engine", ENGINES)
def test_every_engine_counts_alike_and_leaves_out_what_is_missing(engine):
    frame = ENGINES[engine](ROWS)
    assert value_counts(frame, "cheated") == {(): {"no": 2, "yes": 2}}
    assert value_counts(frame, "cheated", ["faculty"]) == {("arts",): {"yes": 2}, ("law",): {"no": 1}}


def test_a_frame_without_the_column_is_refused():
    with pytest.raises(ValueError, match=r"must have a column for each question, .* got none called paid: there are"):
        value_counts(FRAME, "paid")


@pytest.mark.parametrize("engine", ENGINES)
def test_rows_are_counted_with_what_is_missing(engine):
    frame = ENGINES[engine](ROWS)
    assert row_counts(frame, []) == [((), 5)]
    assert sum(count for _, count in row_counts(frame, ["faculty", "cheated"])) == 5
    assert has_column(frame, "cheated")
    assert not has_column(frame, "paid")


def test_numbers_come_before_texts():
    assert sorted([("b",), (2,), ("a",)], key=sort_key) == [(2,), ("a",), ("b",)]


def test_columns_may_have_any_name():
    frame = pd.DataFrame({"number of people": ["a", "b", "a"], "number of people ": [1, 1, 1]})
    assert value_counts(frame, "number of people ", ["number of people"]) == {("a",): {1: 2}, ("b",): {1: 1}}
    assert dict(row_counts(frame, list(frame))) == {("a", 1): 2, ("b", 1): 1}


def test_values_that_are_not_hashable_are_rejected():
    with pytest.raises(TypeError, match="columns must hold hashable values, got others, such as lists"):
        row_counts(pd.DataFrame({"town": [["a"], ["b"]]}), ["town"])
