import datetime as dt
import itertools
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest

from tests.curator.hostile import CELLS
from tests.slowly import each
from toolkit.frames import values as wanted
from toolkit.frames.engines.cells import Day, Moment
from toolkit.frames.engines.column import Kind, whole_kind
from toolkit.frames.frame import Frame
from toolkit.frames.values import Keys, Range, check_kinds, format_value, parse_value, stored_ends, to_stored_value

NUMBER, WHOLE, BYTE, TEXT, TRUTH = (
    Kind("number"),
    Kind("whole"),
    whole_kind(8, signed=False),
    Kind("text"),
    Kind("truth"),
)
SECONDS, ZONED, DAYS, OBJECT, OTHER = (
    Kind("moment", tick=10**9),
    Kind("moment", is_zoned=True),
    Kind("day", tick=86_400 * 10**9),
    Kind("object"),
    Kind("other"),
)


@pytest.mark.parametrize(
    ("given", "read"),
    [
        ("law", "law"),
        (np.str_("law"), "law"),
        (True, True),
        (np.bool_(False), False),
        (3, Fraction(3)),
        (np.int8(3), Fraction(3)),
        (0.5, Fraction(1, 2)),
        (Decimal("0.1"), Fraction(1, 10)),
        (Fraction(1, 3), Fraction(1, 3)),
        (dt.date(1970, 1, 2), Day(1)),
        (np.datetime64("1970-01-02"), Day(1)),
        (dt.datetime(1970, 1, 1, 0, 0, 1), Moment(10**9, False)),
        (pd.Timestamp("1970-01-01 00:00:01", tz="UTC"), Moment(10**9, True)),
    ],
    ids=repr,
)
def test_values_are_read_once_into_one_of_five_types(given: object, read: object) -> None:
    assert parse_value(given, "x") == read
    assert type(parse_value(given, "x")) is type(read)


@pytest.mark.parametrize("nothing", [None, np.nan, pd.NA, pd.NaT, np.datetime64("NaT"), Decimal("sNaN")], ids=repr)
def test_a_missing_value_is_asked_for_by_its_name(nothing: object) -> None:
    with pytest.raises(ValueError, match="write MISSING"):
        parse_value(nothing, "x")


@pytest.mark.parametrize(
    "name", ["raises", "a tuple that holds a list", "a memoryview", "a list", "bytes", "a complex number"]
)
def test_what_cannot_be_compared_safely_is_refused_by_its_type(name: str) -> None:
    with pytest.raises(TypeError, match="x must be text, a number, a truth value, a date or a datetime, got"):
        parse_value(CELLS[name], "x")


def test_infinite_numbers_are_refused() -> None:
    for number in (np.inf, -np.inf, Decimal("1E+999999")):
        with pytest.raises(ValueError, match="must be finite"):
            parse_value(number, "x")


@pytest.mark.parametrize(
    ("value", "kind"),
    [
        ("1", WHOLE),
        ("1", NUMBER),
        (Fraction(1), TEXT),
        (True, WHOLE),
        (True, NUMBER),
        ("2020-01-01", SECONDS),
        (Moment(0, False), DAYS),
        (Day(0), NUMBER),
        ("a", OTHER),
        ("yes", TRUTH),
    ],
    ids=repr,
)
def test_what_a_column_can_never_hold_is_refused_by_its_type(value: object, kind: Kind) -> None:
    """ "1" against whole numbers counted nobody, at full price."""
    with pytest.raises(TypeError, match="the column can never hold it"):
        check_kinds([value], kind, "column x")


def test_datetimes_have_a_time_zone_where_the_column_has_one() -> None:
    with pytest.raises(TypeError, match="leave the time zone out"):
        check_kinds([Moment(0, True)], SECONDS, "column x")
    with pytest.raises(TypeError, match="give the datetime a time zone"):
        check_kinds([Moment(0, False)], ZONED, "column x")
    for kind in (SECONDS, OBJECT):
        with pytest.raises(ValueError, match="a date is a whole day"):
            check_kinds([Moment(0, False), Day(0)], kind, "column x")


@pytest.mark.parametrize(
    ("value", "kind"),
    [
        (Fraction(3, 2), WHOLE),
        (Fraction(300), BYTE),
        (Fraction(-1), BYTE),
        (Fraction(2), TRUTH),
        (Moment(1, False), SECONDS),
    ],
    ids=repr,
)
def test_a_value_that_the_type_cannot_hold_is_refused(value: object, kind: Kind) -> None:
    with pytest.raises(ValueError, match="must fit the type of the column"):
        to_stored_value(value, kind, "column x")


def test_values_are_compared_as_the_column_holds_them() -> None:
    assert to_stored_value(Fraction(0.1), Kind("number", float_bits=32), "x") == float(np.float32(0.1))
    assert to_stored_value(Fraction(1, 3), NUMBER, "x") == 1 / 3
    with pytest.raises(ValueError, match="fit the type of the column, got a very long number"):
        to_stored_value(Fraction(10**400), NUMBER, "x")  # no infinite value is counted as this one
    assert to_stored_value(Fraction(2**62 + 1), WHOLE, "x") == 2**62 + 1
    assert to_stored_value(True, TRUTH, "x") == to_stored_value(Fraction(1), TRUTH, "x") == 1.0
    assert to_stored_value(Moment(5 * 10**9, False), SECONDS, "x") == 5


def test_the_ends_of_a_range_are_included_and_lie_within_the_type() -> None:
    assert stored_ends(Range(Fraction(3, 2), Fraction(300)), BYTE, "x") == (2, 255)
    assert stored_ends(Range(Moment(1, False), Moment(3 * 10**9, False)), SECONDS, "x") == (1, 3)
    assert stored_ends(Range(Fraction(0.1), Fraction(0.3)), Kind("number", float_bits=32), "x") == (
        float(np.float32(0.1)),
        float(np.float32(0.3)),
    )
    assert [
        stored_ends(Range(Fraction(low), Fraction(high)), BYTE, "x") for low, high in ((5, 5), (255, 300), (-9, 0))
    ] == [(5, 5), (255, 255), (0, 0)]
    for low, high in ((Fraction(4, 3), Fraction(5, 3)), (Fraction(256), Fraction(300)), (Fraction(-9), Fraction(-1))):
        with pytest.raises(ValueError, match="must hold a value of its type"):
            stored_ends(Range(low, high), BYTE, "x")
    for kind in (TEXT, TRUTH, OTHER):
        with pytest.raises(TypeError, match="only numbers and dates have an order"):
            stored_ends(Range(Fraction(0), Fraction(1)), kind, "x")


@each(dtype=["int8", "int64", "uint64", "float64"], targets=[[7, 3], [*range(40, 0, -2)], [3, 10**9, *range(100, 200)]])
def test_places_are_those_of_the_list_however_they_are_found(targets: list[int], dtype: str) -> None:
    limit = 100 if dtype == "int8" else 2 * 10**9
    listed = np.array([target for target in targets if target <= limit], dtype=dtype)
    values = np.array([v for v in (0, 3, 4, 7, 40, 41, 100, 150, 199, 10**9, 2 * 10**9) if v <= limit], dtype=dtype)
    expected = [listed.tolist().index(value) if value in listed.tolist() else -1 for value in values.tolist()]
    assert wanted._target_codes(values, listed).tolist() == expected


def test_values_are_said_on_one_line_in_the_analysts_words() -> None:
    assert [
        format_value(v)
        for v in ("a\nb", True, Fraction(3), Fraction(0.1), Fraction(1, 3), Day(18_262), Moment(5, True))
    ] == ["'a\\nb'", "True", "3", "0.1", "1/3", "2020-01-01", "1970-01-01T00:00:00.000000005 UTC"]


CELLS_OF = {
    "whole": pd.Series(range(5)),
    "number": pd.Series(np.arange(9) / 2),
    "object": pd.Series([Fraction(half, 2) for half in range(9)], dtype=object),
}
RANGES = [Range(Fraction(a), Fraction(b), below) for a in range(4) for b in range(a, 4) for below in {False, b > a}]


@pytest.mark.parametrize("kind", CELLS_OF)
def test_every_list_of_ranges_holds_the_values_within_them(kind: str) -> None:
    """Ranges are keys only if no value lies in two of them. All pairs of ranges between 0 and 3, and a value beside
    them: the first that holds a cell, by its two ends.
    """
    frame = Frame(pd.DataFrame({"x": CELLS_OF[kind]}))
    cells = [Fraction(cell) for cell in CELLS_OF[kind]]
    for pair in itertools.product(RANGES, repeat=2):
        items = [*pair, Fraction(9)]
        holds = [
            [one.low <= cell <= one.high and not (one.excludes_high and cell == one.high) for one in pair]
            for cell in cells
        ]
        assert Keys.parse(frame, "x", items).codes(frame).tolist() == [
            row.index(True) if any(row) else -1 for row in holds
        ]
        if any(all(row) for row in holds):
            with pytest.raises(ValueError, match="repetitions"):
                Keys.parse(frame, "x", items, "by")
        else:
            Keys.parse(frame, "x", items, "by")


@pytest.mark.parametrize(
    ("kind", "low", "high"),
    [
        (WHOLE, -(2**63), 2**63 - 1),
        (BYTE, 0, 255),
        (NUMBER, -(2**53), 2**53),
        (Kind("number", float_bits=32), -(2**24), 2**24),
    ],
    ids=repr,
)
def test_whole_numbers_are_read_all_at_once_within_a_columns_range(kind: Kind, low: int, high: int) -> None:
    """The range ends where a column can no longer hold each whole number."""
    assert wanted.parse_plain([high, low], kind) == ((high, low), (high, low))
    assert wanted.parse_plain([low - 1], kind) is wanted.parse_plain([high + 1], kind) is None
    assert (
        wanted.parse_plain([], kind)
        is wanted.parse_plain([1, 2.5], kind)
        is wanted.parse_plain([1, True], kind)
        is None
    )
