"""Conditions on rows, as values: {"degree": "law", "year": [1, 2], "age": between(30, 39)}.

Values are parsed once, compared according to the type of the column, and recorded in the ledger. Whether a row meets a
condition depends on that row alone, so a person with one row changes a count by at most 1. A function of a row is also
accepted; the curator has to guarantee that the function uses only the row.
"""

import copy
import inspect
import re
from collections.abc import Callable, Iterable, Mapping, MappingView, Set
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from toolkit.core.arrays import Mask
from toolkit.core.checks import PROGRAM_EXITS, reject
from toolkit.frames.engines import cells
from toolkit.frames.engines.cells import Day, Moment
from toolkit.frames.frame import Frame, as_list
from toolkit.frames.values import OTHER, Keys, Range, SpecialValue

Where = Mapping[Any, Any] | Callable[[dict[Any, Any]], Any]

TRUSTED_FUNCTION = (
    "a Python function selected the rows: the curator guarantees that it uses each row alone and remembers none; "
    "only then does one person change the count by at most 1"
)


@dataclass(frozen=True, eq=False)
class ColumnCondition:
    """A condition on several columns, each of which must match; without columns every row meets it."""

    column_keys: tuple[Keys, ...] = ()
    notes: tuple[str, ...] = ()

    @cached_property
    def description(self) -> str:
        """The condition in words, as the ledger records it."""
        return " and ".join(keys.description for keys in self.column_keys)

    @cached_property
    def columns(self) -> tuple[Any, ...]:
        """The labels of the columns that the condition uses."""
        return tuple(keys.label for keys in self.column_keys)

    def mask(self, frame: Frame) -> Mask:
        """Return a mask of the rows that meet the condition."""
        if not self.column_keys:
            return np.ones(len(frame), dtype=bool)
        return np.asarray(np.logical_and.reduce([keys.mask(frame) for keys in self.column_keys]))


@dataclass(frozen=True, eq=False)
class FunctionCondition:
    """A condition given by a function, called with a copy of each row; a row on which it fails does not meet it."""

    columns: tuple[Any, ...]
    function: Callable[[dict[Any, Any]], Any]
    description: str = "a function of the row holds"
    notes: tuple[str, ...] = (TRUSTED_FUNCTION,)

    def mask(self, frame: Frame) -> Mask:
        """Return a mask of the rows that meet the condition."""
        columns = [frame.column(label).cells() for label in self.columns]
        return np.array([self._holds(row) for row in zip(*columns, strict=True)], dtype=bool)

    def _holds(self, row: tuple[Any, ...]) -> bool:
        """Call the function on a row; treat an exception as no, because raising it would disclose information."""
        try:
            return bool(self.function(dict(zip(self.columns, map(_copy_cell, row), strict=True))))
        except PROGRAM_EXITS:
            raise
        except BaseException:
            return False


Condition = ColumnCondition | FunctionCondition

EVERY_ROW = ColumnCondition()

_QUERY_SYNTAX = re.compile(r"""\s*(\w+)\s*==?\s*('[^']*'|"[^"]*"|-?\d+)\s*""")


def parse_condition(frame: Frame, where: object) -> Condition:
    """Parse `where` for a frame. Whether it is rejected depends on its content alone; no data are read."""
    if isinstance(where, Mapping):
        conditions = dict(where.items())
        return ColumnCondition(
            tuple(Keys.parse(frame, label, _parse_items(frame, label, conditions[label])) for label in conditions)
        )
    if not callable(where):
        equal = _QUERY_SYNTAX.fullmatch(where) if isinstance(where, str) else None  # the syntax of `DataFrame.query`
        example = f'{{"{equal[1]}": {equal[2]}}}' if equal else '{"city": "north", "age": between(30, 39)}'
        rule = "`where` must be a mapping of columns to values, or a function of one row"
        consequence = f"write {example}; a mask may depend on other people's rows, which no sensitivity covers"
        reject(rule, type(where).__name__, consequence, TypeError)
    _check_function(where)
    return FunctionCondition(tuple(label for label in frame.labels if label is not None), where)


def _parse_items(frame: Frame, label: object, value: object) -> list[Any]:
    """Return the values that a condition accepts in one column, as a list."""
    name = frame.column(label).name
    if isinstance(value, tuple) and not isinstance(value, Day | Moment):
        remedy = "write [30, 40] for either of two values, between(30, 40) for the range"
        reject(f"a condition on column {name} must not be a tuple", "a tuple", remedy, TypeError)
    if isinstance(value, np.ndarray) and value.ndim == 0:
        return [value[()]]
    if isinstance(value, str | bytes | Range | SpecialValue) or not isinstance(value, Iterable):
        value = [value]
    if isinstance(value, Set) and not isinstance(value, MappingView):  # sorted to be the same in every process
        try:
            value = sorted(value)
        except TypeError:
            value = sorted(value, key=repr)
    items = as_list(value, f"where[{name!r}]")
    if any(item is OTHER for item in items):
        rule = f"a condition on column {name} must name its values"
        reject(rule, "OTHER", "it is a key of tables, for all values without another key")
    if not items:
        reject(f"a condition on column {name} must name at least one value", "an empty list", "no row could meet it")
    return items


def _check_function(where: Callable[..., Any]) -> None:
    """Reject a function that cannot be called with a row, or whose result, such as a coroutine, is always true."""
    if inspect.iscoroutinefunction(where) or inspect.isgeneratorfunction(where):
        consequence = "every row would meet the condition"
        reject("`where` must return a truth value", "a coroutine or generator", consequence, TypeError)
    try:
        inspect.signature(where).bind({})
    except TypeError:
        received = "a function of other arguments"
        reject("`where` must take one argument, a row", received, "no row could meet the condition", TypeError)
    except ValueError:  # some functions written in C have no signature
        return


def _copy_cell(cell: object) -> Any:
    """Copy a cell, so that a function cannot change the frame; None if it is missing or cannot be copied."""
    key = cells.key(cell)
    if key is cells.MISSING_KEY:
        return None
    if key is not None:  # the cell has a known and immutable type
        return cell
    try:
        return copy.deepcopy(cell)
    except Exception:
        return None
