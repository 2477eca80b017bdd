import subprocess
import sys

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from toolkit.frames.frame import Frame

SECRET = {"pay": [4242.42, 1.0], "name": ["Bob Secret", "Ann"]}


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, pa.table], ids=["pandas", "polars", "pyarrow"])
def test_frames_are_recognised_by_their_type(make) -> None:
    frame = Frame(make(SECRET))
    assert (len(frame), frame.names, frame.column("pay").name) == (2, ["pay", "name"], "pay")
    assert frame.column("pay").floats().tolist() == SECRET["pay"]
    assert frame.column("name").codes(["Ann"]).tolist() == [-1, 0]


@pytest.mark.parametrize(
    ("thing", "remedy"),
    [
        (pl.Series(SECRET["pay"]), "series.to_frame()"),
        (pd.Series(SECRET["pay"]), "series.to_frame()"),
        (pa.RecordBatch.from_pydict(SECRET), "Table.from_batches"),
        (np.array([[4242.42]]), "pandas.DataFrame\\(array"),
        (SECRET, "pandas.DataFrame\\(dict"),
        ([SECRET], "pandas.DataFrame\\(list"),
        (type("DataFrame", (), {"columns": ["pay"], "__getitem__": None})(), "to_pandas"),
        (type("DataFrame", (), {"__module__": "dask.dataframe"})(), "polars.scan_parquet"),
        (type("Table", (), {"__module__": "ibis.expr.types"})(), "ibis.to_sql"),
        (None, "to_pandas"),
    ],
    ids=lambda thing: type(thing).__name__,
)
def test_what_is_no_frame_is_refused_with_what_to_write_and_never_quoted(thing: object, remedy: str) -> None:
    with pytest.raises(TypeError, match=remedy) as error:
        Frame(thing)
    assert "must be a frame of pandas, polars or PySpark, a pyarrow Table or a DuckDB relation" in str(error.value)
    assert "4242" not in str(error.value)


def test_columns_may_be_labelled_by_whole_numbers_which_are_never_printed() -> None:
    frame = Frame(pd.DataFrame([[1.0, 2.0, 3.0]], columns=[777, "777", 3.5]))
    assert frame.column(777).floats().tolist() == [1.0]
    assert frame.column(np.int64(777)).floats().tolist() == [1.0]
    assert frame.column("777").floats().tolist() == [2.0]
    assert frame.names == ["column number 1", "777", "column number 3"]
    for label in (778, 3.5, None, ("a", "b"), True):
        with pytest.raises(ValueError, match="`column` must be one of column number 1, 777, column number 3") as error:
            frame.column(label)
        assert "778" not in str(error.value)
        assert "3.5" not in str(error.value)


def test_a_column_that_is_not_there_is_refused_with_those_that_are() -> None:
    with pytest.raises(ValueError, match="`column` must be one of pay, name, got 'age'"):
        Frame(pd.DataFrame(SECRET)).column("age")
    many = Frame(pd.DataFrame({f"c{i}": [1] for i in range(30)}))
    with pytest.raises(ValueError, match="c19 and 10 more"):
        many.column("age")


def test_a_truth_value_is_no_whole_number_as_a_label() -> None:
    """True == 1: whoever asks for the one must not be given the other."""
    frame = Frame(pd.DataFrame([[1.0, 2.0]], columns=pd.Index([1, "x"], dtype=object)))
    with pytest.raises(ValueError, match="`column` must be one of column number 1, x, got bool"):
        frame.column(True)
    frame = Frame(pd.DataFrame([[1.0, 2.0]], columns=pd.Index([True, "x"], dtype=object)))
    with pytest.raises(ValueError, match="`column` must be one of column number 1, x, got a whole number"):
        frame.column(1)


def test_labels_must_be_distinct() -> None:
    with pytest.raises(ValueError, match="distinct names"):
        Frame(pd.DataFrame([[1, 2]], columns=["a", "a"]))


def test_columns_that_change_places_later_are_not_mistaken() -> None:
    table = pd.DataFrame(SECRET)
    frame = Frame(table)
    table.insert(0, "new", [7.0, 8.0])
    assert frame.column("pay").floats().tolist() == SECRET["pay"]
    table = pl.DataFrame(SECRET)
    frame = Frame(table)
    table.insert_column(0, pl.Series("new", [7.0, 8.0]))
    assert frame.column("pay").floats().tolist() == SECRET["pay"]


def test_a_copy_can_be_changed_without_changing_the_frame() -> None:
    frame = Frame(pd.DataFrame(SECRET))
    copied = frame.copy()
    copied.loc[:, "pay"] = 0.0
    assert frame.column("pay").floats().tolist() == SECRET["pay"]
    memory = frame.copy()["pay"].to_numpy()
    memory.setflags(write=True)  # pandas copies before it writes, but not before others do
    memory[:] = 0.0
    assert frame.column("pay").floats().tolist() == SECRET["pay"]
    frame = Frame(pl.DataFrame(SECRET))
    frame.copy().drop_in_place("pay")
    assert frame.column("pay").floats().tolist() == SECRET["pay"]


@pytest.mark.slow
def test_no_engine_is_imported_before_it_is_used() -> None:
    code = "import sys, toolkit; assert not {'pandas', 'polars', 'pyarrow', 'duckdb'} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_a_label_that_would_break_a_line_is_written_with_its_signs() -> None:
    frame = Frame(pd.DataFrame({"pay\nsecond line": [1], "": [2]}))
    assert frame.names == [repr("pay\nsecond line"), repr("")]
