"""Conditions as values: {"degree": "law", "year": [1, 2], "age": between(30, 39), "pay": MISSING}.

A condition says for each row, from that row alone, whether it is met; so one person decides about one row,
and a count moves by at most 1. A function of a row is possible, too, but that it looks at nothing else is the
curator's own word.
"""

import copy
import inspect
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import numpy as np

from toolkit.budget.frames.asked import OTHER, Asked, Mark, listed_once, unordered
from toolkit.core.arrays import Mask
from toolkit.core.checks import refuse
from toolkit.core.frames import cells
from toolkit.core.frames.cells import Day, Moment
from toolkit.core.frames.frame import Frame
from toolkit.core.frames.wanted import Range

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

    parts: tuple[Asked, ...]
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
            [self._holds(dict(zip(self.columns, row, strict=True))) for row in zip(*held, strict=True)],
            dtype=bool,
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
        parts = [Asked.of(frame, label, _items(value, frame.name(label))) for label, value in asked.items()]
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
    listed = listed_once(value, f"where[{name!r}]")
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
