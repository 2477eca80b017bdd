"""Conditions on rows and keys of tables, as values: {"degree": "law", "year": [1, 2], "age": between(30, 39)}.

Values are read once, compared by the type of the column, and said in the ledger. A condition says for each
row, from that row alone, whether it is met; so one person decides about one row, and a count moves by at most
1. A function of a row is possible, too, but that it looks at nothing else is the curator's own word.
"""

import copy
import inspect
import re
from collections.abc import Callable, Iterable, Mapping, MappingView, Sequence, Set
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import islice, pairwise
from typing import Any, Protocol

import numpy as np

from toolkit.core.arrays import Codes, Mask
from toolkit.core.checks import explains, refuse
from toolkit.core.estimate import Estimate
from toolkit.frames import cells
from toolkit.frames import values as typed
from toolkit.frames.cells import Day, Moment
from toolkit.frames.column import Column
from toolkit.frames.frame import Frame
from toolkit.frames.values import Range, Value

MOST_CELLS = 10**6
"""Cells of a table, and so entries of a list."""


class Mark:
    """The type of `MISSING` and of `OTHER`."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __repr__(self) -> str:
        return self._name

    def __reduce__(self) -> str:
        return self._name


MISSING = Mark("MISSING")
"""Asks for missing values: in a condition, in a list of values, among the keys of a table."""
OTHER = Mark("OTHER")
"""The last key of a table: every row that has none of the other keys, a missing value too unless MISSING is
one of them.
"""
Item = Value | Range | Mark


@explains("between(30, 39)")
def between(low: Any, high: Any) -> Range:
    """From low to high, both included: numbers, dates, or datetimes. Between two dates lies all of the last
    day.

    >>> between(30, 39)
    between(30, 39)
    """
    first, last = (_end(end, "an end of between(low, high)") for end in (low, high))
    if not _ordered(first, last):
        refuse(
            "between(low, high) must have two numbers, two dates, or two datetimes, with or without a zone",
            "two of different sorts",
            "nothing lies between them",
            TypeError,
        )
    if first > last:  # type: ignore[operator]
        refuse(
            "between(low, high) must have low at most high",
            f"{typed.said(first)} and {typed.said(last)}",
            "nothing lies there",
        )
    return Range(first, last)


def bands(*edges: Any) -> list[Range]:
    """Ranges side by side between increasing edges, numbers or dates: each holds its lower end, the last one
    also its upper.

    >>> [band.words for band in bands(18, 30, 45, 65)]
    ['18 to under 30', '30 to under 45', '45 to 65']
    """
    found = [_end(edge, "an edge of bands(…)") for edge in edges]
    if len(found) < 2:
        refuse("bands(…) must have at least two edges", len(found), "a band lies between two of them")
    if not all(_ordered(low, high) for low, high in pairwise(found)):
        refuse(
            "the edges of bands(…) must be numbers, dates, or datetimes, all with a time zone or none",
            "edges of different sorts",
            "they have no order",
            TypeError,
        )
    for low, high in pairwise(found):
        if not low < high:  # type: ignore[operator]
            refuse(
                "the edges of bands(…) must increase",
                f"{typed.said(low)} before {typed.said(high)}",
                "a band begins where the one before it ends",
            )
    return [Range(low, high, below=place + 2 < len(found)) for place, (low, high) in enumerate(pairwise(found))]


@dataclass(frozen=True, eq=False)
class Keys:
    """Items that are asked of one column, as its type can hold them; `plain` if all are text or whole
    numbers. What it says of rows is confidential, all else public.
    """

    label: Any
    name: str
    items: tuple[Item, ...]
    held: tuple[Any, ...]
    days: bool
    plain: bool = False

    @classmethod
    def of(cls, frame: Frame, label: Any, items: Sequence[object]) -> "Keys":
        """Refused if the column's type can never hold one of them."""
        column, name = frame.column(label), frame.name(label)
        told, kind = f"column {name}", column.kind
        if (many := typed.plain(items, kind)) is not None:
            return cls(label, name, *many, days=False, plain=True)
        read = [
            item if isinstance(item, Range | Mark) else typed.value_of(item, f"a value for {told}") for item in items
        ]
        compared = [end for item in read for end in _values_in(item)]
        typed.check_kinds(compared, kind, told)
        days = kind.name in ("moment", "object") and any(isinstance(value, Day) for value in compared)
        if days and kind.name == "moment":
            typed.check_clock(column, told)
        return cls(label, name, tuple(read), tuple(_held(item, column, told) for item in read), days)

    @cached_property
    def words(self) -> str:
        if self.plain and len(self.items) > 1:
            return f"{self.name} in [{', '.join(map(repr, self.items))}]"
        values = [typed.said(item) for item in self.items if not isinstance(item, Range | Mark)]
        parts = [f"= {values[0]}"] if len(values) == 1 else [f"in [{', '.join(values)}]"] if values else []
        ranges = [item for item in self.items if isinstance(item, Range)]
        parts += [
            f"from {item.words}" if item.below else f"between {typed.said(item.low)} and {typed.said(item.high)}"
            for item in ranges
        ]
        return f"{self.name} {' or '.join([*parts, *['missing'] * (MISSING in self.items)])}"

    @cached_property
    def labels(self) -> tuple[str | int, ...]:
        """What the items are called, in their order."""
        return self.items if self.plain else tuple(_label(item) for item in self.items)  # type: ignore[return-value]

    def codes(self, frame: Frame) -> Codes:
        """The place among the items of what each row has, the first if several; -1 where it is none of
        them.
        """
        column, items = frame.column(self.label), self.items
        if self.plain:
            return typed.codes(column, list(self.held), days=False)
        values = [place for place, item in enumerate(items) if not isinstance(item, Range | Mark)]
        ranges = [place for place, item in enumerate(items) if isinstance(item, Range)]
        found: Codes = np.full(0 if values else len(frame), -1, dtype=np.int64)
        if values:
            at = typed.codes(column, [self.held[place] for place in values], days=self.days)
            found = np.array([*values, -1], dtype=np.int64)[at]
        if ranges:
            asked, held = ([one[place] for place in ranges] for one in (items, self.held))
            inside = typed.within(column, asked, held, days=self.days)  # type: ignore[arg-type]
            found = np.where(found < 0, np.array([*ranges, -1], dtype=np.int64)[inside], found)
        if MISSING in items:
            found = np.where(column.missing(), items.index(MISSING), found)
        return np.where(found < 0, items.index(OTHER), found) if OTHER in items else found

    def mask(self, frame: Frame) -> Mask:
        """Which rows have one of the items."""
        column = frame.column(self.label)
        if self.plain:
            return typed.matches(column, list(self.held), days=False)
        if column.kind.name != "text" or any(isinstance(i, Range) or i is OTHER for i in self.items):
            return self.codes(frame) >= 0
        values = [held for item, held in zip(self.items, self.held, strict=True) if not isinstance(item, Mark)]
        if not values:
            return column.missing()
        met = typed.matches(column, values, days=self.days)
        return met | column.missing() if MISSING in self.items else met

    def check_apart(self, name: str) -> "Keys":
        """Itself, if no value could have two of the items: a row of a table is in one cell."""
        if self.plain and len(set(self.items)) == len(self.items):
            return self
        whole = [(item, held) for item, held in zip(self.items, self.held, strict=True)]
        spans = sorted(_span(item, held) for item, held in whole if not isinstance(item, Mark))
        marks = [item for item in self.items if isinstance(item, Mark)]
        twice = any(a[0] == b[0] and (b[1] < a[2] or (b[1] == a[2] and not a[3])) for a, b in pairwise(spans))
        if not self.items or twice or len(set(marks)) < len(marks):
            received = "none" if not self.items else "repetitions, as the column holds them"
            refuse(f"`{name}` must be distinct, and at least one", received, "each row is counted once")
        if OTHER in marks and self.items[-1] is not OTHER:
            refuse(f"OTHER must be the last of `{name}`", "another place", "it holds all that the others leave")
        return self


def as_list(values: Any, name: str) -> list[Any]:
    """Any iterable that has an order, but a text, a table or a mapping, as a list of at most MOST_CELLS."""
    if isinstance(values, Estimate) and len(values.axes) == 1:  # keys that were found, or a table by them
        values = values.labels
    text = isinstance(values, str | bytes | bytearray | memoryview)
    table = isinstance(values, Mapping) or hasattr(values, "columns") or getattr(values, "ndim", 1) != 1
    if text or table or not isinstance(values, Iterable):
        refuse(f"`{name}` must be a list", type(values).__name__, "a single one is written [value]", TypeError)
    if unordered(values):
        refuse(
            f"`{name}` must be in the order in which it is told",
            "a set, which has none",
            "write a list, sorted(…) say",
            TypeError,
        )
    found = values.to_pylist() if hasattr(values, "to_pylist") else values  # an array of arrow
    listed = list(islice(found, MOST_CELLS + 1))
    if len(listed) > MOST_CELLS:
        refuse(f"`{name}` must have at most {MOST_CELLS:,} entries", "more", "nothing was read or charged")
    return listed


def unordered(values: object) -> bool:
    """Whether it is a set; the keys of a dict are in order."""
    return isinstance(values, Set) and not isinstance(values, MappingView)


def _end(value: object, name: str) -> Value:
    """An end of a range, which must have an order."""
    told = None
    if isinstance(value, str | bytes):
        told = "text", "write a date as datetime.date(2024, 1, 31), and numbers without quotes"
    elif isinstance(value, bool | np.bool_):
        told = "a truth value", "ask for True and False by themselves"
    elif isinstance(value, Iterable) and not isinstance(value, np.generic):
        told = type(value).__name__, "write numbers one by one, or with a star: bands(*edges)"
    elif cells.key(value) is cells.NOTHING:
        told = "a missing value", "it lies in no range; MISSING asks for missing values"
    if told is not None:
        refuse(f"{name} must be a number, a date or a datetime", told[0], told[1], TypeError)
    return typed.value_of(value, name)


def _ordered(first: Value, last: Value) -> bool:
    """Whether one of the two can lie below the other."""
    alike = type(first) is type(last) and getattr(first, "zoned", 0) == getattr(last, "zoned", 0)
    return alike and not isinstance(first, str | bool)


def _values_in(item: Item) -> tuple[Value, ...]:
    if isinstance(item, Range):
        return (item.low, item.high)
    return () if isinstance(item, Mark) else (item,)


def _held(item: Item, column: Column, told: str) -> Any:
    if isinstance(item, Range):
        return typed.ends(item, column.kind, told)
    return item if isinstance(item, Mark) else typed.fitted(item, column.kind, told)


def _span(item: Item, held: Any) -> tuple[str, Any, Any, bool]:
    """Sort, lower end, upper end, and whether that is left out, as it may be of Python objects."""
    low, high = held if isinstance(item, Range) else (typed.compared(held),) * 2
    low, high = (Fraction(end) if isinstance(end, bool) else end for end in (low, high))
    number = isinstance(low, int | float | Fraction)
    sort = "number" if number else f"{type(low).__name__} {getattr(low, 'zoned', '')}"
    return sort, low, high, isinstance(item, Range) and item.below and high == typed.compared(item.high)


def _label(item: Item) -> str | int:
    if isinstance(item, Range):
        return item.words
    if isinstance(item, Mark):
        return repr(item).lower()
    if isinstance(item, str) or type(item) is int:
        return item
    said = typed.said(item)
    return int(said) if isinstance(item, Fraction) and item.denominator == 1 else said


Where = Mapping[Any, Any] | Callable[[dict[Any, Any]], Any]
TRUSTED = (
    "a Python function said which rows count: that it looks at each row alone, and remembers none, is the "
    "curator's word; "
    "only then does one person move the count by at most 1"
)


class Condition(Protocol):
    """What is asked of rows: `words`, `notes` and the `columns` are public, `mask` is
    confidential.
    """

    @property
    def words(self) -> str: ...

    @property
    def notes(self) -> tuple[str, ...]: ...

    def mask(self, frame: Frame) -> Mask: ...

    @property
    def columns(self) -> tuple[Any, ...]: ...


@dataclass(frozen=True, eq=False)
class OfColumns:
    """All columns must have what is asked of them; without any, every row meets the condition."""

    parts: tuple[Keys, ...]
    notes: tuple[str, ...] = ()

    @cached_property
    def words(self) -> str:
        return " and ".join(part.words for part in self.parts)

    def mask(self, frame: Frame) -> Mask:
        if not self.parts:
            return np.ones(len(frame), dtype=bool)
        return np.asarray(np.logical_and.reduce([part.mask(frame) for part in self.parts]))

    @property
    def columns(self) -> tuple[Any, ...]:
        return tuple(part.label for part in self.parts)


@dataclass(frozen=True, eq=False)
class OfFunction:
    """A function of one row, called with a copy of each; a row on which it fails does not meet the
    condition.
    """

    columns: tuple[Any, ...]
    function: Callable[[dict[Any, Any]], Any]
    words: str = "a function of the row holds"
    notes: tuple[str, ...] = (TRUSTED,)

    def mask(self, frame: Frame) -> Mask:
        held = [frame.column(label).cells() for label in self.columns]
        return np.array(
            [self._holds(dict(zip(self.columns, row, strict=True))) for row in zip(*held, strict=True)], dtype=bool
        )

    def _holds(self, row: dict[Any, Any]) -> bool:
        """An exception would tell about that row."""
        try:
            return bool(self.function({label: _copied(cell) for label, cell in row.items()}))
        except Exception:
            return False


_EQUAL = re.compile(r"""\s*(\w+)\s*==?\s*('[^']*'|"[^"]*"|-?\d+)\s*""")


def _as_mapping(where: object) -> str:
    """The mapping that a simple text of an analyst means, as pandas' `query` takes it."""
    equal = _EQUAL.fullmatch(where) if isinstance(where, str) else None
    meant = f'{{"{equal[1]}": {equal[2]}}}' if equal else '{"city": "north", "age": between(30, 39)}'
    return f"write {meant}; "


def condition(frame: Frame, where: Where | None) -> Condition:
    """What `where` asks of a frame: refused for what it says alone, before anything is read."""
    if where is None or isinstance(where, Mapping):
        asked = {} if where is None else dict(where.items())
        parts = [Keys.of(frame, label, _items(value, frame.name(label))) for label, value in asked.items()]
        return OfColumns(tuple(parts))
    if not callable(where):
        refuse(
            "`where` must be a mapping of columns to values, or a function of one row",
            type(where).__name__,
            f"{_as_mapping(where)}a mask may depend on other people's rows, which no sensitivity counts",
            TypeError,
        )
    _check_function(where)
    return OfFunction(tuple(label for label in frame.labels if label is not None), where)


def _items(value: Any, name: str) -> list[Any]:
    """What is asked of one column, as a list."""
    if isinstance(value, tuple) and not isinstance(value, Day | Moment):
        remedy = "write [30, 40] for either of two values, between(30, 40) for the range"
        refuse(f"a condition on column {name} must not be a tuple", "one", remedy, TypeError)
    if isinstance(value, np.ndarray) and value.ndim == 0:
        return [value[()]]
    if isinstance(value, str | bytes | Range | Mark) or not isinstance(value, Iterable):
        value = [value]
    if unordered(value):  # either of its values will do; the ledger names them in one order
        value = _in_order(value)
    listed = as_list(value, f"where[{name!r}]")
    if any(item is OTHER for item in listed):
        refuse(
            f"a condition on column {name} must say what it asks for",
            "OTHER",
            "it is a key of tables: what the keys beside it leave",
        )
    if not listed:
        refuse(f"a condition on column {name} must ask for something", "an empty list", "no row could meet it")
    return listed


def _in_order(values: Iterable[Any]) -> list[Any]:
    """The same one in every process, whatever they are."""
    try:
        return sorted(values)
    except TypeError:
        return sorted(values, key=repr)


def _check_function(where: Callable[..., Any]) -> None:
    """One that cannot be called with a row would hold for none, and one that returns no answer for all."""
    if inspect.iscoroutinefunction(where) or inspect.isgeneratorfunction(where):
        refuse(
            "`where` must return its answer",
            "a coroutine or generator",
            "that would count as yes for every row",
            TypeError,
        )
    try:
        inspect.signature(where).bind({})
    except TypeError:
        refuse(
            "`where` must take one argument, a row",
            "a function of other arguments",
            "it could hold for no row",
            TypeError,
        )
    except ValueError:  # some functions of C say nothing about their arguments
        return


def _copied(cell: Any) -> Any:
    """A cell that can be changed without changing the frame; None where it is missing or cannot be copied."""
    key = cells.key(cell)
    if key is cells.NOTHING:
        return None
    if key is not None:  # of a known type, which cannot be changed
        return cell
    try:
        return copy.deepcopy(cell)
    except Exception:
        return None
