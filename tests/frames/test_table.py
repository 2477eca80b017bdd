"""Columns as an analysis reads them: by name or by value, without quoting what is not a name."""

from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from toolkit.core import extras
from toolkit.frames import table
from toolkit.frames.table import (
    array_of,
    column,
    column_names,
    distinct_rows,
    finite_floats,
    floats_or_none,
    is_lazy,
    missing_mask,
    rows_in_order,
    select_columns,
    select_rows,
    with_text_as_objects,
)

FRAME = pd.DataFrame({"a": [1, 2, 2], "b": ["x", None, "y"]})
FRAMES: dict[str, Any] = {"pandas": FRAME, "polars": pl.from_pandas(FRAME), "pyarrow": pa.Table.from_pandas(FRAME)}


@pytest.mark.parametrize("engine", FRAMES)
def test_columns_and_rows_are_the_same_in_every_engine(engine: str) -> None:
    data = FRAMES[engine]
    assert column(data, "a", "x").tolist() == [1, 2, 2]
    assert missing_mask(column(data, "b", "x")).tolist() == [False, True, False]
    cut = select_rows(data, np.array([True, False, True]))
    assert type(cut) is type(data)
    assert column(cut, "b", "x").tolist() == ["x", "y"]
    one = select_columns(data, ["b"])
    assert (type(one), column_names(one)) == (type(data), ("b",))
    assert column(one, "b", "x").tolist() == column(data, "b", "x").tolist()
    assert not is_lazy(data)


@pytest.mark.parametrize(
    ("values", "cells"),
    [
        ([1, "a"], [1, "a"]),
        (iter([1, 2]), [1, 2]),
        (pa.array(["x", None]), ["x", None]),
        (pl.Series([True, False]), [True, False]),
        ([[1], [1, 2]], [[1], [1, 2]]),
    ],
)
def test_values_keep_their_types(values: Any, cells: list[Any]) -> None:
    assert array_of(values).tolist() == cells


def test_labels_that_are_no_text_are_told_by_their_place() -> None:
    pivoted = pd.DataFrame([[1, 2, 3]], columns=["a", 1987.5, pd.Timestamp("1999-09-09")])
    with pytest.raises(ValueError, match="there are a, column number 2, column number 3"):
        column(pivoted, "weight", "`weights`")


def test_values_of_another_index_are_refused() -> None:
    with pytest.raises(ValueError, match="must have the index of the data, got another"):
        column(FRAME, FRAME.a[::-1], "`weights`")


def test_formulas_read_texts_as_objects() -> None:
    """Categories of polars are read as texts."""
    texts = pd.DataFrame({"s": pd.Series(["a", None], dtype="string"), "x": [1, 2]})
    assert with_text_as_objects(texts).dtypes.to_dict() == {"s": np.dtype(object), "x": np.dtype("int64")}
    assert with_text_as_objects(texts[["x"]]).dtypes.to_dict() == {"x": np.dtype("int64")}
    assert with_text_as_objects(pl.DataFrame({"s": pl.Series(["b", "a"], dtype=pl.Categorical)})).dtypes == [pl.String]
    assert with_text_as_objects(FRAMES["pyarrow"]) is FRAMES["pyarrow"]


def test_lazy_rows_are_counted_and_have_no_order(monkeypatch: pytest.MonkeyPatch) -> None:
    lazy = pl.from_pandas(FRAME).lazy()
    assert is_lazy(lazy)
    assert not is_lazy({"a": [1, 2]})
    with monkeypatch.context() as patch:
        for module in (table, extras):
            patch.setattr(module, "find_spec", lambda _: None)
        assert not is_lazy(FRAME)  # without narwhals, too
    counts = distinct_rows(lazy, ["a"], None, "n").set_index("a").n
    assert counts.to_dict() == {1: 1, 2: 2}
    with pytest.raises(TypeError, match="must hold its rows in order, got LazyFrame"):
        rows_in_order(lazy)


def test_dates_are_no_numbers() -> None:
    assert floats_or_none(np.array(["2026-01-01"], dtype="datetime64[D]")) is None
    assert floats_or_none(["private"]) is None


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_numbers_must_be_finite_and_are_counted_not_quoted(value: float) -> None:
    with pytest.raises(ValueError, match=r"the weights must be finite, got 2 of 3 that are not"):
        finite_floats(np.array([value, 12.5, value]), "the weights")
    assert finite_floats(np.array([1, 12]), "the weights").tolist() == [1.0, 12.0]


def test_as_many_different_rows_are_fetched_as_may_be_and_none_more(monkeypatch: pytest.MonkeyPatch) -> None:
    data = pd.DataFrame({"a": [1, 2, 2, 3], "people": [5, 6, 7, 8]})
    monkeypatch.setattr(table, "_MAX_DISTINCT_ROWS", 3)
    assert distinct_rows(data, ["a"], "people", "n").set_index("a").n.to_dict() == {1: 5, 2: 13, 3: 8}
    with pytest.raises(ValueError, match="at most 3 distinct rows"):
        distinct_rows(data, ["a", "people"], None, "n")
    for labels, times in ((["b"], None), (["a"], "b")):
        with pytest.raises(ValueError, match="none called b"):
            distinct_rows(data, labels, times, "n")
