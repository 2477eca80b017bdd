"""Columns of any frame as codes, and rows that agree on some of them: the classes that linkage and anonymity count.

Tables are read through `toolkit.frames`. No message holds anything out of a table but the names of its columns:
what fails while it is read is refused in words of our own.
"""

from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any

import numpy as np
import numpy.typing as npt

from toolkit.core.arrays import Codes, objects
from toolkit.core.checks import Result, quietly, refuse
from toolkit.frames.engines.cells import NOTHING, identity
from toolkit.frames.engines.column import Column, numpy_column
from toolkit.frames.frame import Frame, column_of, read_by_engine
from toolkit.frames.values import numeric

_ROOM = 2**62
_ORDERED = ("number", "whole", "truth", "moment", "day")


def columns_of(frame: Any, columns: Any = None) -> dict[Any, Column]:
    """The columns asked for, or all: of a frame of any engine, or of a mapping from names to arrays."""
    known = None if isinstance(frame, Mapping) else Frame(frame)
    present = list(frame) if known is None else [label for label in known.labels if label is not None]
    labels = present if columns is None else [columns] if isinstance(columns, str) else list(columns)
    missing = [label for label in labels if label not in present]
    if missing or not labels:
        names = (
            present
            if known is None
            else [name for name, one in zip(known.names, known.labels, strict=True) if one is not None]
        )
        received = ", ".join(map(str, missing)) or "none"
        refuse(f"`columns` must be among {', '.join(map(str, names))}", received, "they are compared")
    if known is None:
        return {label: column(frame[label]) for label in labels}
    in_memory = read_by_engine(lambda: next(known.parts(labels, whole=True)))
    return {label: in_memory.column(label) for label in labels}


def column(values: Any) -> Column:
    """A Series, an array or a list as a column; of a list no value decides what the others are read as."""
    return read_cells(lambda: column_of(values) or numpy_column(objects(values)))


def values_of(values: Column) -> npt.NDArray[Any]:
    """The values of a column, as Python holds them: numbers in an array of numbers, else as objects."""
    cells = read_cells(values.cells)
    plain = values.kind.name in ("number", "whole", "truth") and all(cell is not None for cell in cells)
    return np.array(cells) if plain and not values.kind.long else objects(cells)


def codes(values: Column) -> Codes:
    """Whole numbers from 0, equal for equal values, in their order if any; missing ones are one, the first."""
    kind = values.kind
    return read_cells(lambda: _numbered(values) if kind.name in _ORDERED and not kind.long else _cell_by_cell(values))


def _numbered(values: Column) -> Codes:
    numbers, missing = numeric(values, days=False)
    places = np.zeros(len(numbers), dtype=np.int64)
    places[~missing] = np.unique(numbers[~missing], return_inverse=True)[1] + bool(missing.any())
    return places


def _cell_by_cell(values: Column) -> Codes:
    """By what each cell is compared by: texts, numbers and dates, each of its own kind."""
    cells = [identity(cell) for cell in values.cells()]
    distinct = dict.fromkeys(cells)
    if None in distinct:
        raise TypeError("a cell of another type")
    ordered: list[Any] = [one for one in distinct if one is not NOTHING]
    with suppress(TypeError):  # texts among numbers have no order: as they come
        ordered.sort()
    place = {one: code for code, one in enumerate([NOTHING] * (NOTHING in distinct) + ordered)}
    return np.array([place[cell] for cell in cells], dtype=np.int64)


def read_cells(
    read: Callable[[], Result],
    rule: str = "columns must hold texts, numbers or dates",
    received: str = "cells that cannot be compared",
) -> Result:
    """Call `read`; a failure becomes an error that states the rule alone, because its own text may quote a cell."""
    return quietly(read, rule, received, "it is not quoted", TypeError)


def join_codes(parts: list[Codes]) -> tuple[Codes, int]:
    """One code for each combination, and a number that all codes are below."""
    total, size = parts[0], int(parts[0].max()) + 1
    for part in parts[1:]:
        width = int(part.max()) + 1
        if size * width > _ROOM:
            total = np.unique(total, return_inverse=True)[1].astype(np.int64)
            size = int(total.max()) + 1
        total, size = total * width + part, size * width
    return total, size


def class_of_rows(columns: Mapping[Any, Column]) -> Codes:
    """For each row the number of its class, 0 … classes - 1."""
    combined, _ = join_codes([codes(one) for one in columns.values()])
    return np.asarray(np.unique(combined, return_inverse=True)[1], dtype=np.int64)


def singletons(combined: Codes, size: int) -> int:
    """How many rows have a code of their own; counted where codes are few, else sorted."""
    if size <= 4 * len(combined):
        return int(np.count_nonzero(np.bincount(combined, minlength=size) == 1))
    return int(np.count_nonzero(np.unique(combined, return_counts=True)[1] == 1))
