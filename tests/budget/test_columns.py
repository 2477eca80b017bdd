import datetime as dt
import decimal

import numpy as np
import pandas as pd
import polars as pl
import pytest

from toolkit.budget import columns

VALUES = [1, 2, 3]
NUMERIC = [
    pd.Series(VALUES),
    pd.Series(VALUES, dtype="int8"),
    pd.Series(VALUES, dtype="Int64"),
    pd.Series(VALUES, dtype="double[pyarrow]"),
    pd.Series(VALUES, dtype=object),
    pd.Series([decimal.Decimal(v) for v in VALUES]),
    pl.Series(VALUES),
    pl.Series(VALUES, dtype=pl.Float32),
]


@pytest.mark.parametrize("series", NUMERIC, ids=lambda s: f"{type(s).__module__.split('.')[0]} {s.dtype}")
def test_numbers_are_read_whatever_holds_them(series: object) -> None:
    frame = pl.DataFrame({"x": series}) if isinstance(series, pl.Series) else pd.DataFrame({"x": series})
    assert columns.numbers(frame, "x").tolist() == [1.0, 2.0, 3.0]


@pytest.mark.parametrize(
    "series",
    [
        pd.Series([1.0, None, np.nan]),
        pd.Series([1, None, None], dtype="Int64"),
        pd.Series([1, pd.NA, pd.NaT], dtype=object),
        pd.Series([1, "text", b"bytes"], dtype=object),
        pd.Series([1, [2], {3: 4}], dtype=object),
        pl.Series([1.0, None, float("nan")]),
    ],
)
def test_what_is_no_number_is_missing_and_never_an_error(series: object) -> None:
    frame = pl.DataFrame({"x": series}) if isinstance(series, pl.Series) else pd.DataFrame({"x": series})
    assert np.array_equal(columns.numbers(frame, "x"), [1.0, np.nan, np.nan], equal_nan=True)


def test_infinite_and_huge_numbers_are_numbers() -> None:
    frame = pd.DataFrame({"x": pd.Series([np.inf, -np.inf, 10**400, -(10**400)], dtype=object)})
    assert columns.numbers(frame, "x").tolist() == [np.inf, -np.inf, np.inf, -np.inf]


@pytest.mark.parametrize(
    "series",
    [
        pd.Series(["1", "2"]),
        pd.Series(["1", "2"], dtype="string[pyarrow]"),
        pd.Series([1, 2], dtype="category"),
        pd.Series(pd.to_datetime(["2020-01-01", "2020-01-02"])),
    ],
)
def test_columns_of_text_categories_or_dates_are_refused_by_type(series: object) -> None:
    with pytest.raises(TypeError, match="must hold numbers, got type"):
        columns.numbers(pd.DataFrame({"x": series}), "x")
    with pytest.raises(TypeError, match="must hold numbers, got type"):
        columns.numbers(pl.DataFrame({"x": [dt.date(2020, 1, 1)]}), "x")


def test_options_are_found_in_any_order_and_type() -> None:
    for series in (
        pd.Series(["b", "a", None, "z"]),
        pd.Series(["b", "a", None, "z"], dtype=pd.CategoricalDtype(["z", "b", "a"])),
        pd.Series(["b", "a", None, "z"], dtype="string[pyarrow]"),
    ):
        assert columns.codes(columns.objects(pd.DataFrame({"x": series}), "x"), ["a", "b"]).tolist() == [1, 0, -1, -1]
    polars = pl.DataFrame({"x": pl.Series(["b", "a", None, "z"], dtype=pl.Categorical)})
    assert columns.codes(columns.objects(polars, "x"), ["a", "b"]).tolist() == [1, 0, -1, -1]
    assert columns.codes(columns.objects(pd.DataFrame({"x": [1.0, 2.0, np.nan]}), "x"), [2, 1]).tolist() == [1, 0, -1]
    lists = pd.DataFrame({"x": pd.Series([[1], "a"], dtype=object)})
    assert columns.codes(columns.objects(lists, "x"), ["a", "b"]).tolist() == [-1, 0]


def test_options_must_be_distinct() -> None:
    for options in (["a", "a"], ["a", None], [np.nan, 1]):
        with pytest.raises(ValueError, match="distinct"):
            columns.codes(np.array(["a"], dtype=object), options)


def test_conditions_see_one_row_at_a_time() -> None:
    frame = pd.DataFrame({"degree": ["law", "art", None], "year": [1, 2, 3]})
    assert columns.matches(frame, {"degree": "law"}).tolist() == [True, False, False]
    assert columns.matches(frame, {"year": [2, 3], "degree": "art"}).tolist() == [False, True, False]
    assert columns.matches(frame, lambda row: row["year"] > 1).tolist() == [False, True, True]
    assert columns.matches(frame, lambda row: row["degree"].startswith("a")).tolist() == [False, True, False]  # None fails silently
    assert columns.matches(frame, None).all()


def test_masks_are_refused_because_they_may_come_from_other_rows() -> None:
    frame = pd.DataFrame({"age": [1, 2]})
    with pytest.raises(TypeError, match="a mask may depend on other people's rows"):
        columns.matches(frame, frame["age"] > frame["age"].mean())


def test_names_are_checked() -> None:
    with pytest.raises(ValueError, match="`column` must be one of a, got 'b'"):
        columns.numbers(pd.DataFrame({"a": [1]}), "b")
    with pytest.raises(TypeError, match="pandas or polars frame"):
        columns.names([1, 2])
    with pytest.raises(ValueError, match="distinct names"):
        columns.names(pd.DataFrame([[1, 2]], columns=["a", "a"]))
