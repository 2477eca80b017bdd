import numpy as np
import pandas as pd
import polars as pl
import pytest

from toolkit.teaching.attacks.equivalence_classes import (
    as_column,
    count_singletons,
    join_codes,
    read_columns,
    row_classes,
    value_codes,
    values_of,
)

DATA = {"zip": ["a", "b", "a", None], "age": [1, 2, 1, 3]}


@pytest.mark.parametrize("frame", [pd.DataFrame(DATA), pl.DataFrame(DATA)], ids=["pandas", "polars"])
def test_codes_are_equal_where_values_are_and_missing_is_a_value(frame):
    found = value_codes(as_column(frame["zip"]))
    assert found[0] == found[2]
    assert len(set(found.tolist())) == 3
    assert found.min() >= 0
    rows = row_classes(read_columns(frame)).tolist()
    assert rows.count(rows[0]) == 2


@pytest.mark.parametrize("width", [3, 1000, 10**9])
def test_rows_alone_are_counted_alike_by_counting_and_by_sorting(width):
    rng = np.random.default_rng(1)
    combined = rng.integers(0, width, 500)
    expected = sum(np.count_nonzero(combined == code) == 1 for code in combined)
    assert count_singletons(combined, width) == expected


def test_many_columns_do_not_overflow():
    rng = np.random.default_rng(1)
    parts = [(2**20 - 1) * rng.integers(0, 2, 300) for _ in range(6)]  # 120 bits for 64 classes
    rows = {tuple(part[i] for part in parts) for i in range(300)}
    assert len(np.unique(join_codes(parts)[0])) == len(rows)
    bits = [np.array([0, 1, 1]), *[np.array([0, 0, 1])] * 69]  # the first of 70 would be lost
    assert len(set(join_codes(bits)[0].tolist())) == 3


@pytest.mark.parametrize("values", [[3, 1, None, 2], ["c", "a", None, "b"]], ids=["numbers", "texts"])
def test_codes_are_in_the_order_of_the_values_and_missing_comes_first(values):
    assert value_codes(as_column(values)).tolist() == value_codes(as_column(pd.Series(values))).tolist() == [3, 1, 0, 2]


def test_numeric_columns_without_missing_values_stay_numeric():
    """All other columns are stored as objects."""
    values = [pd.Series([1, 2]), pd.Series([0.5, 2]), pd.Series([1, None], dtype="Int64"), pd.Series(["a", "b"])]
    assert [values_of(as_column(one)).dtype.kind for one in values] == ["i", "f", "O", "O"]


def test_cells_that_cannot_be_compared_are_refused_and_not_quoted():
    with pytest.raises(TypeError, match="must hold texts, numbers or dates, got cells that cannot be compared: it is"):
        value_codes(as_column([object(), object()]))


def test_columns_are_checked_by_name():
    assert read_columns({"a": [1]})["a"].cells() == [1]
    for table in (DATA, pd.DataFrame(DATA)):
        with pytest.raises(ValueError, match="must be among zip, age, got sex"):
            read_columns(table, ["sex"])
    with pytest.raises(TypeError, match="got builtins list: make it a frame"):
        read_columns([1, 2])
