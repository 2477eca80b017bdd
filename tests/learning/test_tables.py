import decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy.sparse import csr_matrix

from toolkit.learning.tables import numbers, one_column, places, table

WANTED = np.array([[1.0, 2.5], [3.0, np.nan]])
PANDAS = pd.DataFrame({"a": [1, 3], "b": [2.5, None]})


class Loud:
    def __float__(self) -> float:
        raise RuntimeError("a cell's own method was called")

    __eq__ = __hash__ = __float__  # type: ignore[assignment]


@pytest.mark.parametrize(
    "given",
    [
        WANTED,
        WANTED.astype(np.float32),
        [[1, 2.5], [3, None]],
        [(1, 2.5), np.array([3, np.nan])],
        np.array([[1, 2.5], [3, "x"]], dtype=object),
        np.array([[True, decimal.Decimal("2.5")], [Fraction(3), Loud()]], dtype=object),
        np.ma.masked_array([[1, 2.5], [3, 7]], mask=[[0, 0], [0, 1]]),
        PANDAS,
        PANDAS.astype(object),
        PANDAS.convert_dtypes(),
        PANDAS.astype({"a": "int8", "b": "float32"}),
        pl.DataFrame({"a": [1, 3], "b": [2.5, None]}),
        pl.DataFrame({"a": [1, 3], "b": [2.5, float("nan")]}),
        pa.table({"a": [1, 3], "b": [2.5, None]}),
        pa.table({"a": pa.array([1, 3], pa.int8()), "b": pa.array([2.5, None], pa.float32())}),
    ],
    ids=lambda given: type(given).__module__.partition(".")[0],
)
def test_the_same_numbers_come_out_of_every_kind_of_table(given) -> None:
    found = table(given)
    assert found.shape == (2, 2)
    np.testing.assert_array_equal(found.read(), WANTED)


def test_nothing_is_read_before_it_is_asked_for() -> None:
    found = table(np.array([[Loud()]], dtype=object))
    assert np.isnan(found.read()).all()


@pytest.mark.parametrize(
    "cell", [np.inf, -np.inf, 10**400, "text", b"x", None, pd.NA, pd.NaT, {}, 1j, Loud()]
)
def test_no_cell_decides_an_error(cell) -> None:
    assert numbers(np.array([cell, 1], dtype=object))[1] == 1
    assert table([[cell, 1], [2, 3]]).read()[1].tolist() == [2, 3]
    assert places([cell, 1], (0, 1), 2)().tolist() == [-1, 1]


@pytest.mark.parametrize(
    ("given", "error"),
    [
        (csr_matrix(np.eye(2)), "a sparse matrix"),
        (np.array([["a", "b"]]), "a table of numbers"),
        (np.array([["2024-01-01"]], dtype="datetime64[D]"), "a table of numbers"),
        (pd.DataFrame({"a": ["x", "y"]}), "must hold numbers"),
        (pd.DataFrame({"a": pd.Categorical(["x", "y"])}), "must hold numbers"),
        (pl.DataFrame({"a": ["x", "y"]}), "must hold numbers"),
        (pa.table({"a": ["x", "y"]}), "must hold numbers"),
        (np.eye(2) * 1j, "Complex data not supported"),
        (np.ones(3), "Reshape your data"),
        (np.ones((3, 0)), r"0 feature\(s\)"),
        (pd.DataFrame(index=[1, 2]), r"0 feature\(s\)"),
        ([[1, 2], [3]], "same length"),
        (3, "an array, lists or a frame"),
        ("text", "an array, lists or a frame"),
    ],
)
def test_types_and_shapes_are_refused_in_a_sentence(given, error) -> None:
    with pytest.raises((TypeError, ValueError), match=error):
        table(given)


@pytest.mark.parametrize(
    "given",
    [
        ["no", "yes", "maybe"],
        np.array(["no", "yes", "maybe"]),
        pd.Series(["no", "yes", "maybe"]),
        pd.Series(["no", "yes", None], dtype="category"),
        pl.Series(["no", "yes", None]),
        pa.chunked_array([["no", "yes", None]]),
    ],
    ids=lambda given: type(given).__module__.partition(".")[0],
)
def test_a_label_that_is_no_class_has_no_place(given) -> None:
    assert places(given, ("no", "yes"), 3)().tolist() == [0, 1, -1]


def test_numbers_and_truth_values_are_labels_too() -> None:
    assert places(np.array([0.0, 1.0, np.nan]), (0, 1), 3)().tolist() == [0, 1, -1]
    assert places([False, True, 2], (0, 1), 3)().tolist() == [0, 1, -1]
    assert places([1, "1", 0], ("0", "1"), 3)().tolist() == [-1, 1, -1]
    assert places(np.array([1, 0, 1]), ("0", "1"), 3)().tolist() == [-1, -1, -1]


def test_a_target_has_one_cell_for_each_row() -> None:
    with pytest.raises(ValueError, match="one cell for each row"):
        one_column([1, 2], 3)
    with pytest.warns(match="column-vector"):
        assert one_column(np.ones((3, 1)), 3).shape == (3,)
    with pytest.raises(ValueError, match="requires y"):
        places(None, (0, 1), 3)
    with pytest.raises(TypeError, match="sparse"):
        one_column(csr_matrix(np.eye(2)), 2)
    with pytest.raises(ValueError, match="Complex"):
        one_column(np.ones(2) * 1j, 2)
