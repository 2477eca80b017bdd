import numpy as np
import polars as pl
import pytest

from tests.slowly import each
from tests.work import calls
from toolkit.frames.engines.polars import HashTable, PolarsLazyTable, polars_column

ODD = ["", " ", "a", "A", "ä", "a\u0308", "a\x00", "\x00", "twelve bytes", "thirteen byte", "x" * 1000, "☕" * 9]


@each(dtype=[pl.String, pl.Categorical], number=[1, 2, 7, 100, 1023, 1024, 1025])
def test_each_text_is_found_among_any_number_of_keys(number: int, dtype: pl.DataType) -> None:
    """Up to 1,024 keys by their hash, beyond by an Enum: the place that a dictionary gives."""
    keys = [*ODD, *(f"key {place}" for place in range(number))][:number]
    texts = [*ODD, None, *(f"key {place}" for place in range(0, 2000, 3)), "key 0 ", None]
    places = {key: place for place, key in enumerate(keys)}
    found = polars_column(pl.Series(texts, dtype=pl.String).cast(dtype)).codes(keys)
    assert found.tolist() == [places.get(text, -1) for text in texts]
    assert (HashTable.of(keys) is None) == (number > 1024)


def test_a_text_in_the_place_of_another_is_not_taken_for_it() -> None:
    """A table of four places, in which thousands of texts lie where the only key does."""
    found = HashTable.of(["key"])
    assert found is not None
    others = pl.Series([f"other {number}" for number in range(5000)])
    assert np.count_nonzero(found._slots(others) == found._slots(pl.Series(["key"]))[0]) > 1000
    assert np.all(found.codes(others) == -1)


def test_keys_whose_hashes_meet_for_every_seed_are_found_without_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(HashTable, "_slots", lambda _, column: np.zeros(len(column), dtype=np.int64))
    assert HashTable.of(["a", "b"]) is None
    assert polars_column(pl.Series(["b", None, "c", "a"])).codes(["a", "b"]).tolist() == [1, -1, -1, 0]


def test_no_key_at_all_is_found_nowhere() -> None:
    assert polars_column(pl.Series(["a", None])).codes([]).tolist() == [-1, -1]


@pytest.mark.parametrize("most", [1, 2**27 - 1, 2**27, 2**33, 2**52 + 1, 2**54])
def test_sums_of_large_numbers_are_split_to_avoid_overflow(most: int) -> None:
    """The addends of up to 2**35 rows do not overflow."""
    values = [0, most, most - 1, most // 3, 2 ** (most.bit_length() - 1) - 1]
    parts = PolarsLazyTable(pl.LazyFrame()).sums(pl.col("x"), most)
    for value in values:
        table = pl.DataFrame({"x": [value]}).select(**{str(shift): part for shift, part in parts.items()})
        addends = {int(shift): number for shift, (number,) in table.to_dict(as_series=False).items()}
        assert sum(number << shift for shift, number in addends.items()) == value
        assert max(addends.values()) * 2**35 < 2**63


def test_how_many_texts_are_keys_or_missing_changes_no_operation(monkeypatch: pytest.MonkeyPatch) -> None:
    """A cast to an Enum took half as long again for texts that are keys as for others: there is none."""
    rng, keys = np.random.default_rng(6), [f"region {number:02d}" for number in range(100)]
    codes = rng.integers(0, 100, 5000)
    texts = np.array(keys, dtype=object)[codes]
    others = np.array([f"nobody {number:02d}" for number in range(100)], dtype=object)[codes]
    tables = [texts, others, np.where(rng.random(len(codes)) < 0.5, None, texts)]
    columns = [polars_column(pl.Series(held.tolist(), dtype=pl.String)) for held in tables]
    monkeypatch.delattr(pl, "Enum")
    columns[0].codes(keys)
    assert len({calls(lambda one=one: one.codes(keys)) for one in columns}) == 1
