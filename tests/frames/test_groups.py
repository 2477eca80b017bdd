"""Which rows count and in which cell each is: from public arguments, in the order given."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from toolkit import MISSING, OTHER, bands, between
from toolkit.frames.frame import Frame
from toolkit.frames.sums import parse_grouping

TABLE = {"region": ["n", "s", "n", None, "x"], "age": [20, 30, 65, 40, 50], "sex": ["f", "f", "m", "m", "f"]}


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, pa.table])
def test_where_keeps_and_by_splits(make: object) -> None:
    frame = Frame(make(TABLE))  # type: ignore[operator]
    for where, by, codes in (
        (None, None, [0, 0, 0, 0, 0]),
        ({"age": between(30, 50)}, None, [-1, 0, -1, 0, 0]),
        (None, {"region": ["s", "n"]}, [1, 0, 1, -1, -1]),
        ({"sex": "f"}, {"region": ["s", "n", OTHER]}, [1, 0, -1, -1, 2]),
        (None, {"region": ["n", "s", MISSING], "sex": ["f", "m"]}, [0, 2, 1, 5, -1]),
        (lambda row: row["age"] > 30, {"sex": ["m", "f"]}, [-1, -1, 0, 0, 1]),
        (None, {"age": bands(18, 30, 65), "sex": ["m"]}, [-1, -1, 1, 1, -1]),
    ):
        rows = parse_grouping(frame, where, by)
        assert rows.codes(frame).tolist() == codes
        assert rows.n_cells > max(codes)
        assert len(rows.labels) == rows.n_cells
        assert set(rows.columns) <= {"region", "age", "sex"}


def test_every_cell_has_its_label_and_the_words_say_it_all() -> None:
    rows = parse_grouping(
        Frame(pd.DataFrame(TABLE)), {"age": between(30, 39)}, {"region": ["n", OTHER], "sex": (s for s in ("f", "m"))}
    )
    assert rows.labels == (("n", "f"), ("n", "m"), ("other", "f"), ("other", "m"))
    assert (rows.n_cells, rows.names, rows.may_omit_rows) == (4, ("region", "sex"), True)
    assert rows.description == " by region (2) × sex (2) where age between 30 and 39"
    every = parse_grouping(Frame(pd.DataFrame(TABLE)))
    assert (every.n_cells, every.labels, every.description, every.may_omit_rows) == (1, ((),), "", False)


@pytest.mark.parametrize(
    ("by", "message"),
    [
        ({"region": []}, "at least one, got none"),
        ({"region": "north"}, "`by` must be a list, got str"),
        ({"region": ["n", "n"]}, "repetitions"),
        ({"age": [1, True]}, "a truth value"),
        ({"age": [1, 1.0]}, "repetitions"),
        ({"age": between(1, 2)}, "`by` must be a list"),
        ({}, "1 to 1,000,000 cells, got none"),
        (["region"], "a mapping of columns to their keys, got list"),
        ("region", "a mapping of columns to their keys, got str"),
        ({"age": range(4000), "region": [str(i) for i in range(4000)]}, "got 16,000,000 cells"),
        ({"nothing": [1]}, "`column` must be one of"),
    ],
)
def test_what_is_no_table_is_refused_for_what_it_says(by: object, message: str) -> None:
    with pytest.raises((ValueError, TypeError), match=message):
        parse_grouping(Frame(pd.DataFrame(TABLE)), None, by)  # type: ignore[arg-type]


def test_a_table_of_many_keys_is_coded_like_one_of_few() -> None:
    years = np.arange(5000) % 300
    rows = parse_grouping(frame := Frame(pd.DataFrame({"year": years})), None, {"year": range(299, -1, -1)})
    assert np.array_equal(rows.codes(frame), 299 - years)
