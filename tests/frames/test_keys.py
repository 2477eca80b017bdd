"""Values, ranges, bands, MISSING and OTHER, as a column's type can hold them."""

import copy
import datetime as dt
import enum
import itertools
import pickle
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from tests.frames.tables import keys_of
from tests.work import calls
from toolkit import MISSING, OTHER, Curator, Ledger, Pure, bands, between
from toolkit.frames import values as typed_values
from toolkit.frames.frame import Frame, as_list
from toolkit.frames.values import Keys

TABLE = {
    "degree": ["law", "art", None, "law", "west"],
    "age": [18, 30, 45, 65, None],
    "pay": [18.0, 29.999, None, 65.0, 65.001],
    "came": [*(dt.datetime(2020, 1, day, 23, 59) for day in (1, 2, 3)), dt.datetime(2020, 2, 1), None],
    "born": [*(dt.date(2000, 1, day) for day in (1, 2, 3)), dt.date(2000, 2, 1), None],
}
ENGINES = {
    "pandas": lambda: pd.DataFrame(TABLE).astype({"pay": "float64", "age": "Int64"}),
    "pandas objects": lambda: pd.DataFrame({k: pd.Series(v, dtype=object) for k, v in TABLE.items()}),
    "polars": lambda: pl.DataFrame(TABLE),
    "pyarrow": lambda: pa.table(TABLE),
}
DAYS = bands(dt.date(2020, 1, 1), dt.date(2020, 1, 3), dt.date(2020, 2, 1))
FOUND = [
    ("degree", ["art", "law", OTHER], [1, 0, 2, 1, 2]),
    ("degree", ["art", MISSING, OTHER], [2, 0, 1, 2, 2]),
    ("degree", ["law", "nobody", MISSING], [0, -1, 2, 0, -1]),
    ("age", bands(18, 30, 45, 65), [0, 1, 2, 2, -1]),
    ("age", [*bands(18, 30.5), MISSING, 65], [0, 0, -1, 2, 1]),
    ("pay", bands(18, 30, 65), [0, 0, -1, 1, -1]),
    ("pay", [between(30, 70), 18, OTHER], [1, 2, 2, 0, 0]),
    ("came", DAYS, [0, 0, 1, 1, -1]),
    (
        "came",
        bands(dt.datetime(2020, 1, 1), dt.datetime(2020, 1, 2, 23, 59), dt.datetime(2021, 1, 1)),
        [0, 1, 1, 1, -1],
    ),
    ("born", bands(dt.date(2000, 1, 1), dt.date(2000, 1, 3), dt.date(2000, 1, 31)), [0, 0, 1, -1, -1]),
]


@pytest.mark.parametrize("engine", ENGINES)
def test_each_row_has_the_first_of_the_items_that_holds_it(engine: str) -> None:
    frame = Frame(ENGINES[engine]())
    for column, keys, codes in FOUND:
        asked = keys_of(frame, column, iter(keys), "by")
        assert asked.codes(frame).tolist() == asked.codes(frame).tolist() == codes, (column, keys)
        assert asked.mask(frame).tolist() == [code >= 0 for code in codes]


@pytest.mark.parametrize("engine", ENGINES)
def test_of_ranges_that_overlap_the_first_one_counts(engine: str) -> None:
    """In a condition they may."""
    frame = Frame(ENGINES[engine]())
    asked = Keys.parse(frame, "age", [between(30, 50), between(18, 40), 65])
    assert asked.codes(frame).tolist() == [1, 0, 0, 2, -1]


def test_bands_hold_their_lower_ends_and_the_last_one_its_upper() -> None:
    assert [band.label for band in bands(0, 0.5, 1)] == ["0 to under 0.5", "0.5 to 1"]
    assert [repr(band) for band in bands(0, 1, 2)] == ["<0 to under 1>", "between(1, 2)"]
    assert [band.label for band in bands(Decimal("0.1"), Fraction(1, 3))] == ["0.1 to 1/3"]
    with pytest.raises(ValueError, match=r"must hold a value of its type, got 0\.2 to under 1"):
        keys_of(Frame(ENGINES["polars"]()), "age", bands(0.2, 1, 2), "by")


@pytest.mark.parametrize(
    ("edges", "words"),
    [
        ((), "must have at least two edges, got 0"),
        ((1,), "must have at least two edges, got 1"),
        ((1, 1), "must increase, got 1 before 1"),
        ((0, 2, 1.5), "must increase, got 2 before 1.5"),
        (("2024-01-01", "2025-01-01"), r"got text: write a date as datetime.date\(2024, 1, 31\)"),
        ((dt.date(2024, 1, 1), "2025-01-01"), r"got text: write a date as datetime.date"),
        ((1, dt.date(2020, 1, 1)), "got edges of different types"),
        ((dt.date(2024, 1, 1), dt.datetime(2025, 1, 1)), "got edges of different types"),
        ((dt.datetime(2024, 1, 1, tzinfo=dt.UTC), dt.datetime(2025, 1, 1)), "got edges of different types"),
        ((False, True), "got a truth value"),
        ((0, None), "got a missing value"),
        ((0, float("nan")), "got a missing value"),
        ((0, float("inf")), "must be finite"),
        (([0, 1],), r"got list: write single numbers, or unpack a list: bands\(\*edges\)"),
    ],
)
def test_edges_that_make_no_bands_are_refused_with_what_to_write(edges: tuple[Any, ...], words: str) -> None:
    with pytest.raises((ValueError, TypeError), match=words):
        bands(*edges)


@pytest.mark.parametrize("values", [{"a", "b"}, frozenset("ab")])
def test_a_set_has_no_order_that_a_table_could_be_in(values: Any) -> None:
    with pytest.raises(TypeError, match="`by` must have an order, got a set"):
        as_list(values, "by")


@pytest.mark.parametrize(
    "values", [{"a": 1}, "ab", b"ab", bytearray(b"ab"), 3, np.array(3), np.array([[1]]), pd.DataFrame({"a": [1]})]
)
def test_what_is_no_list_is_refused(values: Any) -> None:
    with pytest.raises(TypeError, match="`by` must be a list"):
        as_list(values, "by")


@pytest.mark.parametrize(
    "values",
    [
        {"a": 1, "b": 2}.keys(), {1: "a", 2: "b"}.values(), np.array(["a", "b"]), pd.Index(["a", "b"]),
        pd.Series(["a", "b"]), pd.Categorical(["a", "b"]), pl.Series(["a", "b"]), pa.array(["a", "b"]),
        (letter for letter in "ab"),
    ],
    ids=lambda values: type(values).__name__,
)  # fmt: skip
def test_lists_of_every_library_are_lists(values: Any) -> None:
    assert [str(one) for one in as_list(values, "by")] == ["a", "b"]


def test_a_list_without_an_end_is_refused_at_once() -> None:
    with pytest.raises(ValueError, match="at most 1,000,000 entries"):
        as_list(itertools.count(), "by")


def test_numbers_that_are_one_number_in_python_objects_are_refused() -> None:
    """A cell of 0.1 is compared as a float, so Decimal("0.1") and 0.1 would be one key."""
    frame = Frame(pd.DataFrame({"k": pd.Series([0.1, "a"], dtype=object)}))
    with pytest.raises(ValueError, match="must be distinct"):
        Keys.parse(frame, "k", [Decimal("0.1"), 0.1], "by")


def test_text_and_numbers_that_no_engine_can_hold_are_rejected() -> None:
    """The text is not Unicode, and the numbers are beyond floats."""
    frame = Frame(pd.DataFrame({"g": pd.Series(["a"], dtype="str"), "x": [np.inf]}))
    with pytest.raises(ValueError, match="must be Unicode"):
        Keys.parse(frame, "g", ["\ud800"])
    with pytest.raises(ValueError, match="got a very long number"):
        Keys.parse(frame, "x", [10**400])
    with pytest.raises(ValueError, match="must hold a value of its type"):
        Keys.parse(frame, "x", [between(10**400, 10**401)])
    assert Keys.parse(frame, "x", [between(0, 10**400)]).codes(frame).tolist() == [-1]


@pytest.mark.parametrize(
    ("column", "keys", "message"),
    [
        ("degree", "law", "`options` must be a list, got str"),
        ("degree", {"law": 1}, "`options` must be a list, got dict"),
        ("degree", 5, "`options` must be a list, got int"),
        ("degree", [], "at least one, got none"),
        ("degree", ["law", "law"], "repetitions"),
        ("age", [1, 1.0], "repetitions"),
        ("age", [1, True], "truth value|repetitions"),
        ("age", [1, None], "write MISSING"),
        ("age", [MISSING, MISSING], "repetitions"),
        ("age", [OTHER, OTHER], "repetitions"),
        ("age", [OTHER, 1], "OTHER must be the last"),
        ("age", [between(1, 3), 3], "repetitions"),
        ("age", [between(1, 9), between(5, 6)], "repetitions"),
        ("age", [*bands(1, 5, 9), between(9, 10)], "repetitions"),
        ("pay", [between(1, 3), 2.5], "repetitions"),
    ],
)
def test_keys_are_a_list_of_distinct_ones_as_the_column_holds_them(column: str, keys: object, message: str) -> None:
    for engine in ENGINES.values():
        with pytest.raises((ValueError, TypeError), match=message):
            keys_of(Frame(engine()), column, keys, "options")


def test_ranges_that_touch_are_apart_where_one_leaves_its_end_out() -> None:
    for engine in ENGINES.values():
        frame = Frame(engine())
        assert keys_of(frame, "age", [*bands(1, 30, 45)[:1], 30], "by").codes(frame).tolist() == [0, 1, -1, -1, -1]


def test_days_in_an_unknown_time_zone_are_rejected_before_the_charge() -> None:
    """Moments in that zone are accepted. An error while the rows are read would come after the charge."""
    came = pa.array([0, None], pa.timestamp("s", tz="Nowhere/At_all"))
    curator = Curator(pa.table({"came": came}), Ledger(Pure(1)), "replace")
    for day in (dt.date(1970, 1, 1), between(dt.date(1970, 1, 1), dt.date(1970, 1, 2))):
        with pytest.raises(ValueError, match="column came must have a time zone that is installed"):
            curator.count({"came": day}, epsilon=1)
    assert curator.ledger.spent == Pure(0)
    curator.count({"came": dt.datetime(1970, 1, 1, tzinfo=dt.UTC)}, epsilon=1)
    assert curator.ledger.spent == Pure(1)


def test_labels_are_the_keys_in_words() -> None:
    frame = Frame(ENGINES["pandas"]())
    assert keys_of(frame, "degree", ["law", MISSING, OTHER], "by").labels == ("law", "missing", "other")
    assert keys_of(frame, "age", [3, *bands(18, 30, 45)], "by").labels == (3, "18 to under 30", "30 to 45")
    assert keys_of(frame, "came", [dt.date(2020, 1, 2)], "by").labels == ("2020-01-02",)
    assert Keys.parse(frame, "age", [*bands(18, 30, 45), MISSING]).description == (
        "age from 18 to under 30 or between 30 and 45 or missing"
    )


def test_the_types_of_numpy_are_keys_as_well() -> None:
    frame = Frame(ENGINES["pandas"]())
    assert keys_of(frame, "age", np.array([30, 18]), "by").codes(frame).tolist() == [1, 0, -1, -1, -1]
    assert keys_of(frame, "degree", pd.Series(["art"]), "by").labels == ("art",)


def test_between_has_two_ends_of_one_sort_in_order() -> None:
    assert repr(between(30, 39)) == "between(30, 39)"
    for low, high in (
        (1, "2"),
        ("a", "b"),
        (True, False),
        (1, dt.date(2020, 1, 1)),
        (dt.date(2020, 1, 1), dt.datetime(2020, 1, 1)),
    ):
        with pytest.raises(TypeError, match=r"two numbers, two dates|must be a number, a date"):
            between(low, high)
    with pytest.raises(TypeError, match="two numbers"):
        between(dt.datetime(2020, 1, 1), dt.datetime(2020, 1, 2, tzinfo=dt.UTC))
    with pytest.raises(ValueError, match="low at most high"):
        between(40, 30)


def test_missing_is_one_and_stays_one() -> None:
    assert repr(MISSING) == "MISSING"
    for mark in (MISSING, OTHER):
        assert pickle.loads(pickle.dumps(mark)) is copy.deepcopy(mark) is mark  # noqa: S301


class Colour(enum.IntEnum):
    RED = 1


class Word(str):
    pass


PLAIN = [
    ("degree", ["law", "art", "nobody", ""]),
    ("degree", ["law", Word("art")]),
    ("degree", ["law", "law"]),
    ("degree", ["\ud800", "law"]),
    ("degree", ["law", 1]),
    ("age", [65, 18, 45, -7]),
    ("age", [*range(-20, 70)]),
    ("age", list(np.arange(10, 70, dtype=np.uint8))),
    ("age", [18, np.int8(30)]),
    ("age", [18, Colour.RED]),
    ("age", [18, True]),
    ("age", [18, 2**63]),
    ("age", [18, 18.0]),
    ("age", [18, np.timedelta64(30)]),
    ("age", []),
    ("pay", [18, 65, 7]),
    ("pay", [2**53, -(2**53), 18]),
    ("pay", [2**53 + 1, 18]),
    ("pay", [18, 18]),
    ("born", [18]),
]


@pytest.mark.parametrize("engine", ["pandas", "polars", "pyarrow"])
@pytest.mark.parametrize(("column", "keys"), PLAIN)
def test_keys_that_are_read_all_at_once_are_those_that_are_read_one_by_one(
    engine: str, column: str, keys: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Labels, words, which row has which, and what is refused in which words."""
    frame = Frame(ENGINES[engine]())

    def found() -> object:
        try:
            asked = keys_of(frame, column, keys, "by")
        except (TypeError, ValueError) as error:
            return type(error), str(error)
        kinds = [type(label) for label in asked.labels]
        return asked.labels, kinds, asked.description, asked.codes(frame).tolist(), asked.mask(frame).tolist()

    together = found()
    monkeypatch.setattr(typed_values, "parse_plain", lambda *_: None)
    assert together == found()


@pytest.mark.slow
@pytest.mark.parametrize("keys", [[*range(30_000)], [f"key {place}" for place in range(30_000)]], ids=["int", "text"])
@pytest.mark.parametrize("engine", [pd.DataFrame, pl.DataFrame], ids=["pandas", "polars"])
def test_thousands_of_keys_are_read_together(engine: Any, keys: list[Any]) -> None:
    """No function is called for each of them, as there was when each was made a fraction."""
    curator = Curator(engine({"k": keys}), Ledger(Pure(10)), "add_remove")
    found: list[Any] = []
    assert calls(lambda: found.append(curator.count(by={"k": keys}, epsilon=1))) < 10_000
    assert found[0].labels == tuple(keys)


@pytest.mark.parametrize("dtype", [pa.int8(), pa.int16(), pa.uint8()])
def test_keys_further_apart_than_short_numbers_reach_have_their_own_rows(dtype: pa.DataType) -> None:
    """100 - (-100) is no number of eight bits: rows of 100 were counted as those of -56."""
    least, most = (0, 255) if dtype == pa.uint8() else (-100, 100) if dtype == pa.int8() else (-30000, 30000)
    frame = Frame(pa.table({"k": pa.array([least, most, most, 3], type=dtype)}))
    keys = list(range(least, most + 1))
    assert [keys[code] for code in keys_of(frame, "k", keys, "by").codes(frame)] == [least, most, most, 3]
