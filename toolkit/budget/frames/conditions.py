"""Conditions as values: {"degree": "law", "year": [1, 2], "age": between(30, 39), "pay": MISSING}.

A condition says for each row, from that row alone, whether it is met; so one person decides about one row,
and a count moves by at most 1. Values are read once, compared by the type of the column, and said in the
ledger. A function of a row is possible, too, but that it looks at nothing else is the curator's own word.
"""

import copy
import inspect
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Protocol

import numpy as np

from toolkit.budget.frames import cells, wanted
from toolkit.budget.frames.cells import Day, Moment
from toolkit.budget.frames.columns import Column
from toolkit.budget.frames.frame import Frame
from toolkit.budget.frames.wanted import Range, Value
from toolkit.core.arrays import Codes, Mask
from toolkit.core.checks import refuse

Where = Mapping[Any, Any] | Callable[[dict[Any, Any]], Any]
TRUSTED = (
    "a Python function said which rows count: that it looks at each row alone, and remembers none, is the "
    "curator's word; "
    "only then does one person move the count by at most 1"
)


class Missing:
    """The type of `MISSING`."""

    def __repr__(self) -> str:
        return "MISSING"

    def __reduce__(self) -> str:
        return "MISSING"


MISSING = Missing()
"""Asks for missing values: in a condition, in a list of values, among the options of a histogram."""


def between(low: Any, high: Any) -> Range:
    """From low to high, both included: numbers, dates, or datetimes. Between two dates lies all of the last
    day.

    >>> between(30, 39)
    between(30, 39)
    """
    first, last = (wanted.value_of(end, "an end of between(low, high)") for end in (low, high))
    if (
        type(first) is not type(last)
        or isinstance(first, str | bool)
        or getattr(first, "zoned", 0) != getattr(last, "zoned", 0)
    ):
        refuse(
            "between(low, high) must have two numbers, two dates or two datetimes",
            "others",
            "nothing lies between them",
            TypeError,
        )
    if first > last:  # type: ignore[operator]
        refuse(
            "between(low, high) must have low at most high",
            f"{wanted.said(first)} and {wanted.said(last)}",
            "nothing lies there",
        )
    return Range(first, last)


class Condition(Protocol):
    """What a count asks for: `words` and `notes` are public, `mask` is confidential."""

    @property
    def words(self) -> str: ...

    @property
    def notes(self) -> tuple[str, ...]: ...

    def mask(self) -> Mask: ...


@dataclass(frozen=True, eq=False)
class Asked:
    """Values, ranges and MISSING that are asked of one column, as its type can hold them."""

    column: Column
    name: str
    items: tuple[Value | Range | Missing, ...]
    held: tuple[Any, ...]
    days: bool

    @classmethod
    def of(cls, column: Column, name: str, items: Iterable[object]) -> "Asked":
        """Read once; refused if the column's type can never hold one of them."""
        told, kind = f"column {name}", column.kind
        read = [
            item if isinstance(item, Range | Missing) else wanted.value_of(item, f"a value for {told}")
            for item in items
        ]
        compared = [end for item in read for end in _values_in(item)]
        wanted.check_kinds(compared, kind, told)
        days = kind.name in ("moment", "object") and any(isinstance(value, Day) for value in compared)
        if days and kind.name == "moment":
            wanted.check_clock(column, told)
        return cls(column, name, tuple(read), tuple(_held(item, column, told) for item in read), days)

    @property
    def words(self) -> str:
        values = [wanted.said(item) for item in self.items if not isinstance(item, Range | Missing)]
        parts = [f"= {values[0]}"] if len(values) == 1 else [f"in [{', '.join(values)}]"] if values else []
        ranges = [item for item in self.items if isinstance(item, Range)]
        parts += [f"between {wanted.said(item.low)} and {wanted.said(item.high)}" for item in ranges]
        return f"{self.name} {' or '.join([*parts, *['missing'] * (MISSING in self.items)])}"

    def labels(self) -> tuple[str | int, ...]:
        """What the items are called, in their order."""
        return tuple(_label(item) for item in self.items)

    def codes(self) -> Codes:
        """The place of each row's value among the items, which are no ranges; -1 where it is none of them."""
        places = [place for place, item in enumerate(self.items) if not isinstance(item, Missing)]
        if not places:
            return np.where(self.column.missing(), 0, -1)
        found = wanted.codes(self.column, [self.held[place] for place in places], days=self.days)
        found = np.array([*places, -1], dtype=np.int64)[found]
        if MISSING in self.items:
            np.copyto(found, self.items.index(MISSING), where=self.column.missing())
        return found

    def mask(self) -> Mask:
        """Which rows have one of the values, lie in one of the ranges, or are missing where that was
        asked.
        """
        values = [
            held
            for item, held in zip(self.items, self.held, strict=True)
            if not isinstance(item, Range | Missing)
        ]
        masks = [wanted.matches(self.column, values, days=self.days)] if values else []
        for item, held in zip(self.items, self.held, strict=True):
            if isinstance(item, Range):
                masks.append(wanted.within(self.column, *held, days=self.days))
        if MISSING in self.items:
            masks.append(self.column.missing())
        return np.asarray(np.logical_or.reduce(masks))


@dataclass(frozen=True, eq=False)
class OfColumns:
    """All columns must have what is asked of them; without any, every row meets the condition."""

    rows: Callable[[], int]
    parts: tuple[Asked, ...]
    notes: tuple[str, ...] = ()

    @property
    def words(self) -> str:
        return " and ".join(part.words for part in self.parts)

    def mask(self) -> Mask:
        met = np.ones(self.rows(), dtype=bool)
        for part in self.parts:
            met &= part.mask()
        return met


@dataclass(frozen=True, eq=False)
class OfFunction:
    """A function of one row, called with a copy of each; a row on which it fails does not meet the
    condition.
    """

    frame: Frame
    function: Callable[[dict[Any, Any]], Any]
    words: str = "a function of the row holds"
    notes: tuple[str, ...] = (TRUSTED,)

    def mask(self) -> Mask:
        labels = [label for label in self.frame.labels if label is not None]
        held = [self.frame.column(label).cells() for label in labels]
        return np.array(
            [self._holds(dict(zip(labels, row, strict=True))) for row in zip(*held, strict=True)], dtype=bool
        )

    def _holds(self, row: dict[Any, Any]) -> bool:
        """An exception would tell about that row."""
        try:
            return bool(self.function({label: _copied(cell) for label, cell in row.items()}))
        except Exception:
            return False


def condition(frame: Frame, where: Where | None) -> Condition:
    """What `where` asks of a frame: refused for what it says alone, before anything is read."""
    if where is None or isinstance(where, Mapping):
        asked = {} if where is None else dict(where.items())
        parts = [
            Asked.of(frame.column(label), frame.name(label), _items(value, frame.name(label)))
            for label, value in asked.items()
        ]
        return OfColumns(lambda: len(frame), tuple(parts))
    if not callable(where):
        refuse(
            "`where` must be a mapping of columns to values, or a function of one row",
            type(where).__name__,
            "a mask may depend on other people's rows, which no sensitivity counts",
            TypeError,
        )
    _check_function(where)
    return OfFunction(frame, where)


def options_of(column: Column, name: str, options: Any) -> Asked:
    """The options of a histogram, read once, distinct, in the order given; MISSING may be one of them."""
    listed = listed_once(options, "options")
    if any(isinstance(option, Range) for option in listed):
        refuse("`options` must be single values", "a range", "give `edges` to count between numbers")
    asked = Asked.of(column, name, listed)
    if not listed or len({_distinct(held) for held in asked.held}) < len(listed):
        received = "none" if not listed else "repetitions, as the column holds them"
        refuse("`options` must be distinct, and at least one", received, "each is counted once")
    return asked


def listed_once(values: Any, name: str) -> list[Any]:
    """Any iterable but a text or a mapping, as a list."""
    if isinstance(values, str | bytes | Mapping) or not isinstance(values, Iterable):
        refuse(
            f"`{name}` must be a list", type(values).__name__, "a single one is written [value]", TypeError
        )
    return list(values)


def _items(value: Any, name: str) -> list[Any]:
    """What is asked of one column, as a list."""
    if isinstance(value, tuple) and not isinstance(value, Day | Moment):
        remedy = "write [30, 40] for either of two values, between(30, 40) for the range"
        refuse(f"a condition on column {name} must not be a tuple", "one", remedy, TypeError)
    if isinstance(value, np.ndarray) and value.ndim == 0:
        return [value[()]]
    if isinstance(value, str | bytes | Range | Missing) or not isinstance(value, Iterable):
        return [value]
    listed = listed_once(value, f"the condition on column {name}")
    if not listed:
        refuse(
            f"a condition on column {name} must ask for something", "an empty list", "no row could meet it"
        )
    return listed


def _values_in(item: Value | Range | Missing) -> tuple[Value, ...]:
    if isinstance(item, Range):
        return (item.low, item.high)
    return () if isinstance(item, Missing) else (item,)


def _held(item: Value | Range | Missing, column: Column, told: str) -> Any:
    if isinstance(item, Range):
        return wanted.ends(item, column.kind, told)
    return MISSING if isinstance(item, Missing) else wanted.fitted(item, column.kind, told)


def _distinct(held: Any) -> Any:
    return int(held) if isinstance(held, bool) else held


def _label(item: Value | Range | Missing) -> str | int:
    if isinstance(item, Range | Missing):
        return repr(item).lower()
    if isinstance(item, str):
        return item
    said = wanted.said(item)
    return int(said) if isinstance(item, Fraction) and item.denominator == 1 else said


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
