"""Columns of any frame as integer codes, and classes of rows that agree on some columns.

Tables are read through `toolkit.frames`. No message quotes anything from a table but the names of its columns: errors
during reading are replaced by fixed messages.
"""

from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any

import numpy as np
import numpy.typing as npt

from toolkit.core.arrays import Codes, object_array
from toolkit.core.checks import Result, quietly, reject
from toolkit.frames.engines.cells import NOTHING, identity
from toolkit.frames.engines.column import Column, numpy_column
from toolkit.frames.frame import Frame, column_of, read_by_engine
from toolkit.frames.values import numeric

_MAX_CODE = 2**62
_ORDERED = ("number", "whole", "truth", "moment", "day")


def columns_of(frame: Any, columns: Any = None) -> dict[Any, Column]:
    """Return the requested columns, or all, of a frame of any engine or a mapping from names to arrays."""
    table = None if isinstance(frame, Mapping) else Frame(frame)
    present = list(frame) if table is None else [label for label in table.labels if label is not None]
    labels = present if columns is None else [columns] if isinstance(columns, str) else list(columns)
    missing = [label for label in labels if label not in present]
    if missing or not labels:
        names = (
            present
            if table is None
            else [name for name, label in zip(table.names, table.labels, strict=True) if label is not None]
        )
        received = ", ".join(map(str, missing)) or "none"
        reject(f"`columns` must be among {', '.join(map(str, names))}", received, "they are compared")
    if table is None:
        return {label: column(frame[label]) for label in labels}
    in_memory = read_by_engine(lambda: next(table.batches(labels, whole=True)))
    return {label: in_memory.column(label) for label in labels}


def column(values: Any) -> Column:
    """Return a Series, an array or a list as a column; the cells of a list keep their own types."""
    return read_cells(lambda: column_of(values) or numpy_column(object_array(values)))


def values_of(values: Column) -> npt.NDArray[Any]:
    """Return the values of a column as an array: numeric for numbers, otherwise of objects."""
    cells = read_cells(values.cells)
    plain = values.kind.name in ("number", "whole", "truth") and all(cell is not None for cell in cells)
    return np.array(cells) if plain and not values.kind.long else object_array(cells)


def codes(values: Column) -> Codes:
    """Return integer codes from 0, in the order of the values; missing values share the first code."""
    kind = values.kind
    return read_cells(lambda: _numbered(values) if kind.name in _ORDERED and not kind.long else _cell_by_cell(values))


def _numbered(values: Column) -> Codes:
    numbers, missing = numeric(values, days=False)
    numbering = np.zeros(len(numbers), dtype=np.int64)
    numbering[~missing] = np.unique(numbers[~missing], return_inverse=True)[1] + bool(missing.any())
    return numbering


def _cell_by_cell(values: Column) -> Codes:
    """Number cells by identity, so that texts, numbers and dates are compared within their own kind."""
    cells = [identity(cell) for cell in values.cells()]
    distinct = dict.fromkeys(cells)
    if None in distinct:
        raise TypeError("a cell of another type")
    ordered: list[Any] = [cell for cell in distinct if cell is not NOTHING]
    with suppress(TypeError):  # a mixture of types has no order, so cells are numbered as they come
        ordered.sort()
    number = {cell: code for code, cell in enumerate([NOTHING] * (NOTHING in distinct) + ordered)}
    return np.array([number[cell] for cell in cells], dtype=np.int64)


def read_cells(
    read: Callable[[], Result],
    rule: str = "columns must hold texts, numbers or dates",
    received: str = "cells that cannot be compared",
) -> Result:
    """Call `read`, and replace errors, which may quote a cell, by a fixed message."""
    return quietly(read, rule, received, "it is not quoted", TypeError)


def join_codes(parts: list[Codes]) -> tuple[Codes, int]:
    """Combine several columns of codes into one, and return an exclusive upper bound of its codes."""
    total, size = parts[0], int(parts[0].max()) + 1
    for part in parts[1:]:
        width = int(part.max()) + 1
        if size * width > _MAX_CODE:
            total = np.unique(total, return_inverse=True)[1].astype(np.int64)
            size = int(total.max()) + 1
        total, size = total * width + part, size * width
    return total, size


def class_of_rows(columns: Mapping[Any, Column]) -> Codes:
    """Return the class of each row, from 0 to the number of classes - 1."""
    combined, _ = join_codes([codes(values) for values in columns.values()])
    return np.asarray(np.unique(combined, return_inverse=True)[1], dtype=np.int64)


def singletons(combined: Codes, size: int) -> int:
    """Count the rows with a unique code: by a table of counts if codes are few, otherwise by sorting."""
    if size <= 4 * len(combined):
        return int(np.count_nonzero(np.bincount(combined, minlength=size) == 1))
    return int(np.count_nonzero(np.unique(combined, return_counts=True)[1] == 1))
