"""`Rows`: which rows of a frame count (`where`) and into which cell of a table each falls (`by`).

Both are the same mapping of columns to values and are made of public arguments alone. Every cell is there, in
the order of the keys given, whether or not a row falls into it; a row falls into at most one.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from typing import Any, Protocol

import numpy as np

from toolkit.budget.frames.asked import MOST_CELLS, Asked, listed_once
from toolkit.budget.frames.conditions import Condition, Where, condition
from toolkit.budget.frames.people import People
from toolkit.core.arrays import Codes
from toolkit.core.checks import refuse
from toolkit.core.frames.frame import Frame

By = Mapping[Any, Any]


class Axis(Protocol):
    """How one column splits rows: all public but the codes, which are -1 for a row that has none of the
    keys.
    """

    @property
    def label(self) -> Any: ...

    @property
    def name(self) -> str: ...

    @property
    def labels(self) -> tuple[str | int, ...]: ...

    def codes(self, frame: Frame) -> Codes: ...


@dataclass(frozen=True, eq=False)
class Rows:
    """Which rows count and in which cell each is: `codes` is confidential, all else public."""

    where: Condition
    axes: tuple[Axis, ...] = ()
    people: People | None = None

    @property
    def cells(self) -> int:
        """How many cells there are: one without `by`."""
        return math.prod(len(axis.labels) for axis in self.axes)

    @cached_property
    def labels(self) -> tuple[Any, ...]:
        """The keys of each cell, in the order given, the last column fastest; tuples if it is split by
        several.
        """
        if len(self.axes) == 1:
            return self.axes[0].labels
        return tuple(product(*(axis.labels for axis in self.axes)))

    @property
    def names(self) -> tuple[str, ...]:
        """The columns that it is split by."""
        return tuple(axis.name for axis in self.axes)

    @property
    def some(self) -> bool:
        """Whether the number of rows that count is private even where that of all rows is public."""
        return bool(self.axes or self.where.words)

    @property
    def limited(self) -> bool:
        """Whether a person's rows are counted, so that all rows must be seen together."""
        return self.people is not None

    @property
    def words(self) -> str:
        """To stand behind the name of a statistic: by region (4) × sex (2) where age between 30 and 39."""
        split = " × ".join(f"{axis.name} ({len(axis.labels)})" for axis in self.axes)
        return (f" by {split}" if split else "") + (f" where {self.where.words}" if self.where.words else "")

    @property
    def notes(self) -> tuple[str, ...]:
        return self.where.notes

    @property
    def columns(self) -> tuple[Any, ...]:
        """The labels of the columns that decide."""
        person = () if self.people is None else (self.people.label,)
        return (*self.where.columns, *(axis.label for axis in self.axes), *person)

    def codes(self, frame: Frame) -> Codes:
        """The cell of each row of a frame, by that row alone; -1 where it does not count, or is beyond what
        is used of a person.
        """
        if frame.streamed:  # two columns of it may be read in different orders
            raise RuntimeError("rows of a stream are coded part by part: see Frame.parts")
        codes = self._cells(frame)
        return codes if self.people is None else self.people.limited(frame, codes)

    def _cells(self, frame: Frame) -> Codes:
        found = None
        for axis in self.axes:
            place, size = axis.codes(frame), len(axis.labels)
            found = place if found is None else np.where((found < 0) | (place < 0), -1, found * size + place)
        if not self.where.words:
            return np.zeros(len(frame), dtype=np.int64) if found is None else found
        met = self.where.mask(frame)
        return np.where(met, 0 if found is None else found, -1)


def rows_of(frame: Frame, where: Where | None = None, by: By | None = None, people: People | None = None) -> Rows:
    """What `where` and `by` say: refused for what they say alone, before anything is read."""
    return Rows(condition(frame, where), axes_of(frame, by), people)


def axes_of(frame: Frame, by: By | None) -> tuple[Asked, ...]:
    """The columns of `by` with their keys, each read once."""
    if by is None:
        return ()
    if not isinstance(by, Mapping):
        refuse(
            "`by` must be a mapping of columns to their keys",
            type(by).__name__,
            'keys are public, so they are given: by={"region": ["north", "south"]}',
            TypeError,
        )
    listed = {label: listed_once(keys, "by") for label, keys in dict(by.items()).items()}
    cells = math.prod(len(keys) for keys in listed.values())
    if not listed or cells > MOST_CELLS:
        received = f"{cells:,} cells" if listed else "none"
        refuse(f"`by` must have 1 to {MOST_CELLS:,} cells", received, "every cell is released, empty ones too")
    return tuple(keys_of(frame, label, keys, "by") for label, keys in listed.items())


def keys_of(frame: Frame, label: Any, keys: Any, name: str) -> Asked:
    """The keys of one column, read once, distinct, in the order given."""
    return Asked.of(frame, label, listed_once(keys, name)).check_apart(name)
