import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from toolkit.frames.frame import Frame
from toolkit.frames.key_counts import check_keys, people_by_key, people_by_key_once


def counted(values: object, mask: object = None) -> dict[object, int]:
    frame = Frame(pd.DataFrame({"k": values}))
    return people_by_key(frame.column("k"), np.ones(len(frame), bool) if mask is None else np.array(mask))


def test_keys_are_ordered_by_themselves_and_only_counted_rows_count() -> None:
    assert counted(["b", "a", "b", None]) == {"a": 1, "b": 2}
    assert list(counted(["b", "a"])) == list(counted(["a", "b"])) == ["a", "b"]
    assert counted(["b", "a", "b"], [False, True, True]) == {"a": 1, "b": 1}
    assert counted(pd.Series(["x", 2, 1.5], dtype=object)) == {1.5: 1, 2: 1, "x": 1}
    assert list(counted(pd.Series(["x", 2, 1.5], dtype=object))) == [1.5, 2, "x"]


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
    assert people_by_key(column, mask) == {"a": 1, "b": 2, "ü": 1}
    assert people_by_key(column, np.zeros(6, bool)) == {}


def test_a_person_counts_once_in_a_key_and_in_few_of_them() -> None:
    column = Frame(pd.DataFrame({"k": ["a", "a", "b", "c", "a"]})).column("k")
    person, tags = np.array([0, 0, 0, 0, -1]), np.array([9, 9, 9, 9, 0], dtype=np.uint64)
    every = np.ones(5, bool)
    assert people_by_key_once(column, every, person, tags, b"secret", 5) == {"a": 1, "b": 1, "c": 1}
    kept = people_by_key_once(column, every, person, tags, b"secret", 2)
    assert sum(kept.values()) == 2
    assert kept == people_by_key_once(column, every, person, tags, b"secret", 2)
    drawn = {tuple(people_by_key_once(column, every, person, tags, bytes([i]), 1)) for i in range(60)}
    assert drawn == {("a",), ("b",), ("c",)}


def test_which_keys_of_a_person_count_does_not_depend_on_others() -> None:
    mine = [("a", 7), ("b", 7), ("c", 7)]
    kept = []
    for others in ([], [("a", 1), ("z", 1)], [("0", 2), ("00", 2), ("b", 3)]):
        keys, tags = zip(*others, *mine, strict=True)
        column = Frame(pd.DataFrame({"k": keys})).column("k")
        tag = np.array(tags, dtype=np.uint64)
        person = np.array([int(one == 7) + 2 * (one != 7) * int(one) for one in tags])
        only = people_by_key_once(column, tag == 7, person, tag, b"secret", 1)
        kept.append(tuple(only))
    assert len(set(kept)) == 1


def test_types_without_keys_are_refused() -> None:
    frame = Frame(pd.DataFrame({"k": pd.to_datetime(["2024-01-01"])}))
    with pytest.raises(TypeError, match="must hold text"):
        check_keys(frame.column("k"))


def test_which_keys_of_a_person_count_is_drawn_for_each_person_anew() -> None:
    """Of 4,000 people who all have the same four keys, one key each: 1,000 a key on average, and 166 off is
    six standard deviations. The secret is fixed, the tags are.
    """
    people = np.repeat(np.arange(4000), 4)
    frame = Frame(pd.DataFrame({"k": ["a", "b", "c", "d"] * 4000}))
    tags = (people.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15)).astype(np.uint64)
    everybody = np.ones(len(people), bool)
    found = people_by_key_once(frame.column("k"), everybody, people, tags, b"secret", 1)
    assert sum(found.values()) == 4000
    assert all(abs(number - 1000) < 166 for number in found.values())
    two = people_by_key_once(frame.column("k"), everybody, people, tags, b"another", 2)
    assert sum(two.values()) == 8000
    assert all(abs(number - 2000) < 6 * 31.7 for number in two.values())
