import datetime as dt
from fractions import Fraction
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from toolkit import Approx, Curator, Ledger
from toolkit.frames.engines.cells import MISSING_KEY, Day
from toolkit.frames.frame import Frame
from toolkit.frames.persons import Caps, Persons, check_keys, count_people_by_key, count_rows_by_key, released_key


def counted(values: object, mask: object = None) -> dict[object, int]:
    frame = Frame(pd.DataFrame({"k": values}))
    return count_rows_by_key(frame.column("k"), np.ones(len(frame), bool) if mask is None else np.array(mask))


def test_keys_are_ordered_by_themselves_and_only_counted_rows_count() -> None:
    assert counted(["b", "a", "b", None]) == {"a": 1, "b": 2}
    assert list(counted(["b", "a"])) == list(counted(["a", "b"])) == ["a", "b"]
    assert counted(["b", "a", "b"], [False, True, True]) == {"a": 1, "b": 1}
    assert counted(pd.Series(["x", 2, 1.5], dtype=object)) == {1.5: 1, 2: 1, "x": 1}
    assert list(counted(pd.Series(["x", 2, 1.5], dtype=object))) == [1.5, 2, "x"]
    assert list(counted(pd.Series([3, None, 1, 3], dtype="Int64")).items()) == [(1, 1), (3, 2)]
    long = Frame(pl.DataFrame({"k": pl.Series([2**70, 3, None, 1, 3], dtype=pl.Int128)})).column("k")
    assert list(count_rows_by_key(long, np.ones(5, bool)).items()) == [(1, 1), (3, 2), (2**70, 1)]


@pytest.mark.parametrize(
    "engine", ["pandas", "object", "categories", "polars", "polars categories", "arrow", "dictionary"]
)
def test_every_engine_tallies_texts_alike(engine: str) -> None:
    texts = ["b", "a", None, "b", "c", "ü"]
    series = pd.Series(texts, dtype=object)
    tables = {
        "pandas": pd.DataFrame({"k": series.astype("str")}),
        "object": pd.DataFrame({"k": series.astype("string[python]")}),
        "categories": pd.DataFrame({"k": series.astype("category")}),
        "polars": pl.DataFrame({"k": texts}),
        "polars categories": pl.DataFrame({"k": pl.Series(texts, dtype=pl.Categorical)}),
        "arrow": pa.table({"k": pa.chunked_array([texts[:2], texts[2:]])}),
        "dictionary": pa.table({"k": pa.array(texts).dictionary_encode()}),
    }
    column = Frame(tables[engine]).column("k")
    mask = np.array([True, True, True, True, False, True])
    assert count_rows_by_key(column, mask) == {"a": 1, "b": 2, "ü": 1}
    assert count_rows_by_key(column, np.zeros(6, bool)) == {}


def once(ids: Any, keys: Any, most: int, secret: bytes = b"secret") -> dict[Any, int]:
    frame = Frame(pd.DataFrame({"id": ids, "k": keys}))
    people = Persons("id", "id", Caps(most), secret)
    return count_people_by_key(frame.column("k"), np.ones(len(frame), bool), frame, people, most)


def test_a_person_counts_once_in_a_key_and_in_few_of_them() -> None:
    ids, keys = [9, 9, 9, 9, None], ["a", "a", "b", "c", "a"]
    assert once(ids, keys, 5) == {"a": 1, "b": 1, "c": 1}
    assert sum(once(ids, keys, 2).values()) == 2
    assert once(ids, keys, 2) == once(ids, keys, 2)
    drawn = {tuple(once(ids, keys, 1, bytes([i]))) for i in range(60)}
    assert drawn == {("a",), ("b",), ("c",)}


def test_which_keys_of_a_person_count_does_not_depend_on_others() -> None:
    mine, drawn = [("a", 7), ("b", 7), ("c", 7)], set()
    for others in ([], [("x", 1), ("z", 1)], [("0", 2), ("00", 2), ("x", 3)]):
        keys, ids = zip(*others, *mine, strict=True)
        drawn.add(tuple(key for key in once(ids, keys, 1) if key in ("a", "b", "c")))
    assert len(drawn) == 1


def test_a_value_that_is_not_a_key_is_none() -> None:
    """A date is a key within the years of Python."""
    epoch = dt.date(1970, 1, 1).toordinal()
    for ends in (dt.date.min, dt.date.max):
        days = ends.toordinal() - epoch
        assert released_key("day", days) == released_key("object", Day(days)) == ends
        beyond = days + (1 if ends is dt.date.max else -1)
        assert released_key("day", beyond) is released_key("object", Day(beyond)) is None
    for nothing in (None, MISSING_KEY, np.inf, -np.inf, np.nan, True, (1, 2)):
        assert released_key("object", nothing) is None
    assert [released_key("number", one) for one in (3.0, 2.5, Fraction(1, 3))] == [3, 2.5, Fraction(1, 3)]
    assert [type(released_key(kind, one)) for kind, one in (("number", 3.0), ("truth", 1.0))] == [int, bool]


def test_types_without_keys_are_refused() -> None:
    frame = Frame(pd.DataFrame({"k": pd.to_datetime(["2024-01-01"])}))
    with pytest.raises(TypeError, match="must hold text"):
        check_keys(frame.column("k"))


@pytest.mark.slow
def test_which_keys_of_a_person_count_is_drawn_for_each_person_anew() -> None:
    """Of 4,000 people who all have the same four keys, one key each: 1,000 a key on average, and 166 off is
    six standard deviations. The secret is fixed.
    """
    people, keys = np.repeat(np.arange(4000), 4), ["a", "b", "c", "d"] * 4000
    found = once(people, keys, 1)
    assert sum(found.values()) == 4000
    assert all(abs(number - 1000) < 166 for number in found.values())
    two = once(people, keys, 2, b"another")
    assert sum(two.values()) == 8000
    assert all(abs(number - 2000) < 6 * 31.7 for number in two.values())


@pytest.mark.slow
@pytest.mark.parametrize("caps", [{}, {"person": "who", "rows": 1}])
def test_keys_of_whole_numbers_of_every_type_of_duckdb_are_found(caps: dict[str, Any]) -> None:
    sizes = {"TINYINT": 7, "SMALLINT": 15, "INTEGER": 31, "BIGINT": 63, "HUGEINT": 127}
    sizes |= {f"U{name}": bits + 1 for name, bits in sizes.items()}
    for name, bits in sizes.items():
        keys = [0, 1, 2 ** min(bits, 127) - 1]  # DuckDB hands over no more bits
        table = duckdb.sql("select unnest($keys) as code, i as who from range(999) t(i)", params={"keys": keys})
        table = table.project(f"code::{name} as code, who")
        curator = Curator(table, Ledger(Approx(99, 0.1)), "add_remove", **caps)
        assert set(curator.keys("code", delta=1e-6, epsilon=9).labels) == set(keys), name
