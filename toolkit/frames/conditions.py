"""Conditions on rows and keys of tables, as values: {"degree": "law", "year": [1, 2], "age": between(30, 39)}.

Values are read once, compared by the type of the column, and written into the ledger. A condition decides about
each row from that row alone, so one person decides about one row, and a count moves by at most 1. A function of a
row is possible, too, but that it looks at nothing else is the curator's own word.

`Grouping` is which rows of a frame count (`where`) and in which cell of a table each falls (`by`): the same mapping
of columns to values, made of public arguments alone. Every cell is there, in the order of the keys given, whether
or not a row falls into it; a row falls into at most one.
"""

import copy
import inspect
import math
import re
from collections.abc import Callable, Iterable, Mapping, MappingView, Sequence, Set
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import islice, pairwise, product
from typing import Any, Protocol

import numpy as np

from toolkit.core.arrays import Codes, Mask
from toolkit.core.checks import explains, refuse
from toolkit.core.estimate import Estimate
from toolkit.frames import cells
from toolkit.frames import values as typed
from toolkit.frames.cells import Day, Moment
from toolkit.frames.column import Kind
from toolkit.frames.frame import Frame
from toolkit.frames.persons import Persons
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
    """Ask for values from low to high, both included.

    Parameters
    ----------
    low : number, date or datetime
        The lower end.
    high : number, date or datetime
        The upper end; of a date all of that day.

    Returns
    -------
    Range
        A value for `where`, or a key for `by`.

    Examples
    --------
    >>> between(30, 39)
    between(30, 39)
    """
    first, last = (_end(end, "an end of between(low, high)") for end in (low, high))
    if not _ordered(first, last):
        rule = "between(low, high) must have two numbers, two dates, or two datetimes, with or without a zone"
        refuse(rule, "two of different sorts", "nothing lies between them", TypeError)
    if first > last:  # type: ignore[operator]
        received = f"{typed.text_of(first)} and {typed.text_of(last)}"
        refuse("between(low, high) must have low at most high", received, "nothing lies there")
    return Range(first, last)


def bands(*edges: Any) -> list[Range]:
    """Split a line at increasing edges: each band holds its lower end, the last one also its upper.

    Parameters
    ----------
    *edges : number, date or datetime
        At least two, each above the one before.

    Returns
    -------
    list of Range
        Keys for `by`.

    Examples
    --------
    >>> [band.words for band in bands(18, 30, 45, 65)]
    ['18 to under 30', '30 to under 45', '45 to 65']
    """
    ends = [_end(edge, "an edge of bands(…)") for edge in edges]
    if len(ends) < 2:
        refuse("bands(…) must have at least two edges", len(ends), "a band lies between two of them")
    for low, high in pairwise(ends):
        if not _ordered(low, high):
            rule = "the edges of bands(…) must be numbers, dates, or datetimes, all with a time zone or none"
            refuse(rule, "edges of different sorts", "they have no order", TypeError)
        if not low < high:  # type: ignore[operator]
            received = f"{typed.text_of(low)} before {typed.text_of(high)}"
            refuse("the edges of bands(…) must increase", received, "a band begins where the one before it ends")
    return [Range(low, high, below=place + 2 < len(ends)) for place, (low, high) in enumerate(pairwise(ends))]


@dataclass(frozen=True, eq=False)
class Keys:
    """Items that are asked of one column, and as its type holds them; `plain` if all are text or whole numbers.

    What it says of rows is confidential, all else public.
    """

    label: Any
    name: str
    items: tuple[Item, ...]
    stored: tuple[Any, ...]
    labels: tuple[str | int, ...]
    days: bool = False
    plain: bool = False

    @classmethod
    def of(cls, frame: Frame, label: Any, items: Sequence[object], apart: str = "") -> "Keys":
        """Refuse what the column's type can never hold; with `apart`, the argument's name, also what overlaps."""
        column = frame.column(label)
        name, kind = column.name, column.kind
        if (many := typed.plain(items, kind)) is not None:
            keys = cls(label, name, *many, labels=many[0], plain=True)
            if apart and len(set(keys.items)) < len(items):
                keys._check_apart(apart)
            return keys
        read = [
            item if isinstance(item, Range | Mark) else typed.value_of(item, f"a value for column {name}")
            for item in items
        ]
        compared = [end for item in read for end in _values_in(item)]
        typed.check_kinds(compared, kind, f"column {name}")
        days = kind.name in ("moment", "object") and any(isinstance(value, Day) for value in compared)
        if days and kind.name == "moment":
            typed.check_clock(column, f"column {name}")
        stored = tuple(_stored(item, kind, f"column {name}") for item in read)
        keys = cls(label, name, tuple(read), stored, tuple(map(_label, read)), days)
        if apart:
            keys._check_apart(apart)
        return keys

    @cached_property
    def words(self) -> str:
        """The condition, as the ledger writes it."""
        if self.plain and len(self.items) > 1:
            return f"{self.name} in [{', '.join(map(repr, self.items))}]"
        values = [typed.text_of(item) for item in self.items if not isinstance(item, Range | Mark)]
        parts = [f"= {values[0]}"] if len(values) == 1 else [f"in [{', '.join(values)}]"] if values else []
        parts += [
            f"from {item.words}" if item.below else f"between {typed.text_of(item.low)} and {typed.text_of(item.high)}"
            for item in self.items
            if isinstance(item, Range)
        ]
        return f"{self.name} {' or '.join([*parts, *['missing'] * (MISSING in self.items)])}"

    def codes(self, frame: Frame) -> Codes:
        """For each row the place of its item, the first if several; -1 where it has none."""
        column, items = frame.column(self.label), self.items
        if self.plain:
            return typed.codes(column, list(self.stored), days=False)
        values = [place for place, item in enumerate(items) if not isinstance(item, Range | Mark)]
        ranges = [place for place, item in enumerate(items) if isinstance(item, Range)]
        codes: Codes = np.full(0 if values else len(frame), -1, dtype=np.int64)
        if values:
            at = typed.codes(column, [self.stored[place] for place in values], days=self.days)
            codes = np.array([*values, -1], dtype=np.int64)[at]
        if ranges:
            spans, ends = ([one[place] for place in ranges] for one in (items, self.stored))
            inside = typed.within(column, spans, ends, days=self.days)  # type: ignore[arg-type]
            codes = np.where(codes < 0, np.array([*ranges, -1], dtype=np.int64)[inside], codes)
        if MISSING in items:
            codes = np.where(column.missing(), items.index(MISSING), codes)
        return np.where(codes < 0, items.index(OTHER), codes) if OTHER in items else codes

    def mask(self, frame: Frame) -> Mask:
        """Which rows have one of the items."""
        column = frame.column(self.label)
        if column.kind.name != "text" or any(isinstance(item, Range) or item is OTHER for item in self.items):
            return self.codes(frame) >= 0
        values = [stored for item, stored in zip(self.items, self.stored, strict=True) if not isinstance(item, Mark)]
        if MISSING not in self.items:
            return column.has(values)
        return column.has(values) | column.missing() if values else column.missing()

    def _check_apart(self, name: str) -> None:
        """No value could have two of the items: a row of a table is in one cell."""
        pairs = zip(self.items, self.stored, strict=True)
        spans = sorted(_span(item, stored) for item, stored in pairs if not isinstance(item, Mark))
        marks = [item for item in self.items if isinstance(item, Mark)]
        twice = any(a[0] == b[0] and (b[1] < a[2] or (b[1] == a[2] and not a[3])) for a, b in pairwise(spans))
        if not self.items or twice or len(set(marks)) < len(marks):
            received = "none" if not self.items else "repetitions, as the column holds them"
            refuse(f"`{name}` must be distinct, and at least one", received, "each row is counted once")
        if OTHER in marks and self.items[-1] is not OTHER:
            refuse(f"OTHER must be the last of `{name}`", "another place", "it holds all that the others leave")


def as_list(values: Any, name: str) -> list[Any]:
    """Any iterable that has an order, but a text, a table or a mapping, as a list of at most MOST_CELLS."""
    if isinstance(values, Estimate) and len(values.axes) == 1:  # keys that were found, or a table by them
        values = values.labels
    text = isinstance(values, str | bytes | bytearray | memoryview)
    table = isinstance(values, Mapping) or hasattr(values, "columns") or getattr(values, "ndim", 1) != 1
    if text or table or not isinstance(values, Iterable):
        refuse(f"`{name}` must be a list", type(values).__name__, "a single one is written [value]", TypeError)
    if isinstance(values, Set) and not isinstance(values, MappingView):
        rule = f"`{name}` must be in the order in which it is told"
        refuse(rule, "a set, which has none", "write a list, sorted(…) say", TypeError)
    listed = values.to_pylist() if hasattr(values, "to_pylist") else values  # an array of arrow
    listed = list(islice(listed, MOST_CELLS + 1))
    if len(listed) > MOST_CELLS:
        refuse(f"`{name}` must have at most {MOST_CELLS:,} entries", "more", "nothing was read or charged")
    return listed


def _end(value: object, name: str) -> Value:
    """An end of a range, which must have an order."""
    fault = None
    if isinstance(value, str | bytes):
        fault = "text", "write a date as datetime.date(2024, 1, 31), and numbers without quotes"
    elif isinstance(value, bool | np.bool_):
        fault = "a truth value", "ask for True and False by themselves"
    elif isinstance(value, Iterable) and not isinstance(value, np.generic):
        fault = type(value).__name__, "write numbers one by one, or with a star: bands(*edges)"
    elif cells.key(value) is cells.NOTHING:
        fault = "a missing value", "it lies in no range; MISSING asks for missing values"
    if fault is not None:
        refuse(f"{name} must be a number, a date or a datetime", *fault, TypeError)
    return typed.value_of(value, name)


def _ordered(first: Value, last: Value) -> bool:
    """Whether one of the two can lie below the other."""
    alike = type(first) is type(last) and getattr(first, "zoned", 0) == getattr(last, "zoned", 0)
    return alike and not isinstance(first, str | bool)


def _values_in(item: Item) -> tuple[Value, ...]:
    if isinstance(item, Range):
        return (item.low, item.high)
    return () if isinstance(item, Mark) else (item,)


def _stored(item: Item, kind: Kind, name: str) -> Any:
    if isinstance(item, Range):
        return typed.ends(item, kind, name)
    return item if isinstance(item, Mark) else typed.fitted(item, kind, name)


def _span(item: Item, stored: Any) -> tuple[str, Any, Any, bool]:
    """Sort, lower end, upper end, and whether that is left out, as it may be of Python objects."""
    low, high = stored if isinstance(item, Range) else (typed.compared(stored),) * 2
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
    said = typed.text_of(item)
    return int(said) if isinstance(item, Fraction) and item.denominator == 1 else said


Where = Mapping[Any, Any] | Callable[[dict[Any, Any]], Any]
TRUSTED = (
    "a Python function said which rows count: that it looks at each row alone, and remembers none, is the "
    "curator's word; "
    "only then does one person move the count by at most 1"
)


@dataclass(frozen=True, eq=False)
class OfColumns:
    """All columns must have what is asked of them; without any, every row meets the condition."""

    parts: tuple[Keys, ...] = ()
    notes: tuple[str, ...] = ()

    @cached_property
    def words(self) -> str:
        """The condition, as the ledger writes it."""
        return " and ".join(part.words for part in self.parts)

    @cached_property
    def columns(self) -> tuple[Any, ...]:
        """The labels of the columns that decide."""
        return tuple(part.label for part in self.parts)

    def mask(self, frame: Frame) -> Mask:
        """Which rows meet it."""
        if not self.parts:
            return np.ones(len(frame), dtype=bool)
        return np.asarray(np.logical_and.reduce([part.mask(frame) for part in self.parts]))


@dataclass(frozen=True, eq=False)
class OfFunction:
    """A function of one row, called with a copy of each; a row on which it fails does not meet the condition."""

    columns: tuple[Any, ...]
    function: Callable[[dict[Any, Any]], Any]
    words: str = "a function of the row holds"
    notes: tuple[str, ...] = (TRUSTED,)

    def mask(self, frame: Frame) -> Mask:
        """Which rows meet it."""
        columns = [frame.column(label).cells() for label in self.columns]
        return np.array([self._holds(row) for row in zip(*columns, strict=True)], dtype=bool)

    def _holds(self, row: tuple[Any, ...]) -> bool:
        """An exception would tell about that row."""
        try:
            return bool(self.function(dict(zip(self.columns, map(_copied, row), strict=True))))
        except Exception:
            return False


Condition = OfColumns | OfFunction
EVERY_ROW = OfColumns()
_EQUAL = re.compile(r"""\s*(\w+)\s*==?\s*('[^']*'|"[^"]*"|-?\d+)\s*""")


def condition(frame: Frame, where: object) -> Condition:
    """What `where` asks of a frame: refused for what it says alone, before anything is read."""
    if isinstance(where, Mapping):
        conditions = dict(where.items())
        return OfColumns(tuple(Keys.of(frame, label, _items(frame, label, conditions[label])) for label in conditions))
    if not callable(where):
        equal = _EQUAL.fullmatch(where) if isinstance(where, str) else None  # as pandas' `query` takes it
        meant = f'{{"{equal[1]}": {equal[2]}}}' if equal else '{"city": "north", "age": between(30, 39)}'
        rule = "`where` must be a mapping of columns to values, or a function of one row"
        consequence = f"write {meant}; a mask may depend on other people's rows, which no sensitivity counts"
        refuse(rule, type(where).__name__, consequence, TypeError)
    _check_function(where)
    return OfFunction(tuple(label for label in frame.labels if label is not None), where)


def _items(frame: Frame, label: Any, value: Any) -> list[Any]:
    """What is asked of one column, as a list."""
    name = frame.column(label).name
    if isinstance(value, tuple) and not isinstance(value, Day | Moment):
        remedy = "write [30, 40] for either of two values, between(30, 40) for the range"
        refuse(f"a condition on column {name} must not be a tuple", "one", remedy, TypeError)
    if isinstance(value, np.ndarray) and value.ndim == 0:
        return [value[()]]
    if isinstance(value, str | bytes | Range | Mark) or not isinstance(value, Iterable):
        value = [value]
    if isinstance(value, Set) and not isinstance(value, MappingView):  # in the same order in every process
        try:
            value = sorted(value)
        except TypeError:
            value = sorted(value, key=repr)
    listed = as_list(value, f"where[{name!r}]")
    if any(item is OTHER for item in listed):
        rule = f"a condition on column {name} must say what it asks for"
        refuse(rule, "OTHER", "it is a key of tables: what the keys beside it leave")
    if not listed:
        refuse(f"a condition on column {name} must ask for something", "an empty list", "no row could meet it")
    return listed


def _check_function(where: Callable[..., Any]) -> None:
    """One that cannot be called with a row would hold for none, and one that returns no answer for all."""
    if inspect.iscoroutinefunction(where) or inspect.isgeneratorfunction(where):
        consequence = "that would count as yes for every row"
        refuse("`where` must return its answer", "a coroutine or generator", consequence, TypeError)
    try:
        inspect.signature(where).bind({})
    except TypeError:
        received = "a function of other arguments"
        refuse("`where` must take one argument, a row", received, "it could hold for no row", TypeError)
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


By = Mapping[Any, Any]


class Axis(Protocol):
    """How one column splits rows: public but for the codes, which are -1 for a row that has none of the keys."""

    @property
    def label(self) -> Any: ...

    @property
    def name(self) -> str: ...

    @property
    def labels(self) -> tuple[str | int, ...]: ...

    def codes(self, frame: Frame) -> Codes: ...


class Grouping:
    """Which rows count and in which cell each is: `codes` is confidential, all else public.

    Parameters
    ----------
    where : Condition
        Which rows count.
    axes : tuple of Axis
        The columns that split the table; without any it has one cell.
    people : Persons, optional
        Which rows are used of a person who has several.
    """

    def __init__(self, where: Condition, axes: tuple[Axis, ...] = (), people: Persons | None = None) -> None:
        self.where, self.axes, self.people = where, axes, people
        self.names = tuple(axis.name for axis in axes)
        self.cells = math.prod(len(axis.labels) for axis in axes)
        self.is_part = bool(axes or where.words)
        """Whether the number of rows that count is private even where that of all rows is public."""
        self.limited = people is not None
        """Whether a person's rows are counted, so that all rows must be seen together."""
        self.columns = (*where.columns, *(axis.label for axis in axes), *(() if people is None else (people.label,)))
        split = " × ".join(f"{axis.name} ({len(axis.labels)})" for axis in axes)
        self.words = (f" by {split}" if split else "") + (f" where {where.words}" if where.words else "")
        """Follow the name of a statistic: by region (4) × sex (2) where age between 30 and 39."""

    def by(self, *axes: Axis) -> "Grouping":
        """The same rows in other cells."""
        return Grouping(self.where, axes, self.people)

    @cached_property
    def labels(self) -> tuple[Any, ...]:
        """The keys of each cell, the last column fastest; tuples if it is split by several."""
        if len(self.axes) == 1:
            return self.axes[0].labels
        return tuple(product(*(axis.labels for axis in self.axes)))

    def codes(self, frame: Frame) -> Codes:
        """The cell of each row; -1 where it does not count, or is beyond what is used of a person."""
        if frame.streamed:  # two columns of it may be read in different orders
            raise RuntimeError("rows of a stream are coded part by part: see Frame.parts")
        codes = None
        for axis in self.axes:
            place, size = axis.codes(frame), len(axis.labels)
            codes = place if codes is None else np.where((codes < 0) | (place < 0), -1, codes * size + place)
        if self.where.words:
            codes = np.where(self.where.mask(frame), 0 if codes is None else codes, -1)
        elif codes is None:
            codes = np.zeros(len(frame), dtype=np.int64)
        return codes if self.people is None else self.people.limited(frame, codes)


def grouping(frame: Frame, where: Where | None = None, by: By | None = None, people: Persons | None = None) -> Grouping:
    """What `where` and `by` say: refused for what they say alone, before anything is read."""
    rows = EVERY_ROW if where is None else condition(frame, where)
    return Grouping(rows, () if by is None else axes_of(frame, by), people)


def axes_of(frame: Frame, by: object) -> tuple[Keys, ...]:
    """The columns of `by` with their keys, each read once."""
    if not isinstance(by, Mapping):
        remedy = 'keys are public, so they are given: by={"region": ["north", "south"]}'
        refuse("`by` must be a mapping of columns to their keys", type(by).__name__, remedy, TypeError)
    listed = {label: as_list(keys, "by") for label, keys in dict(by.items()).items()}
    cells = math.prod(len(keys) for keys in listed.values())
    if not listed or cells > MOST_CELLS:
        received = f"{cells:,} cells" if listed else "none"
        refuse(f"`by` must have 1 to {MOST_CELLS:,} cells", received, "every cell is released, empty ones too")
    return tuple(Keys.of(frame, label, keys, "by") for label, keys in listed.items())
