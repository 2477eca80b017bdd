"""Columns of any frame as integer codes, and equivalence classes of rows that agree on some columns.

Tables are read through `toolkit.frames`. Messages quote nothing from a table except the names of its columns; errors
during reading are replaced by fixed messages.
"""

from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any

import numpy as np
import numpy.typing as npt

from toolkit.core.arrays import Codes, object_array
from toolkit.core.checks import Result, quietly, reject
from toolkit.frames.engines.cells import MISSING_KEY, person_key
from toolkit.frames.engines.column import Column, numpy_column
from toolkit.frames.frame import Frame, column_of, read_by_engine
from toolkit.frames.values import comparable_numbers

_MAX_CODE = 2**62
_ORDERED = ("number", "whole", "truth", "moment", "day")


def read_columns(frame: Any, columns: Any = None) -> dict[Any, Column]:
    """Return the requested columns, or all of them, from a frame of any engine or a mapping of names to arrays."""
    table = None if isinstance(frame, Mapping) else Frame(frame)
    present_labels = list(frame) if table is None else [label for label in table.labels if label is not None]
    labels = present_labels if columns is None else [columns] if isinstance(columns, str) else list(columns)
    missing = [label for label in labels if label not in present_labels]
    if missing or not labels:
        names = (
            present_labels
            if table is None
            else [name for name, label in zip(table.names, table.labels, strict=True) if label is not None]
        )
        received = ", ".join(map(str, missing)) or "none"
        reject(f"`columns` must be among {', '.join(map(str, names))}", received, "they are compared")
    if table is None:
        return {label: as_column(frame[label]) for label in labels}
    in_memory = read_by_engine(lambda: next(table.batches(labels, in_one_batch=True)))
    return {label: in_memory.column(label) for label in labels}


def as_column(values: Any) -> Column:
    """Convert a Series, an array or a list to a column; the cells of a list keep their own types."""
    return read_without_quoting(lambda: column_of(values) or numpy_column(object_array(values)))


def values_of(column: Column) -> npt.NDArray[Any]:
    """Return the values of a column as an array, numeric if they are numbers, otherwise of objects."""
    cells = read_without_quoting(column.cells)
    is_plain = column.kind.name in ("number", "whole", "truth") and all(cell is not None for cell in cells)
    return np.array(cells) if is_plain and not column.kind.is_long else object_array(cells)


def value_codes(column: Column) -> Codes:
    """Return the values as integer codes from 0, in increasing order; missing values share the first code."""
    kind = column.kind
    return read_without_quoting(
        lambda: _number_codes(column) if kind.name in _ORDERED and not kind.is_long else _cell_codes(column)
    )


def _number_codes(column: Column) -> Codes:
    numbers, missing = comparable_numbers(column, as_days=False)
    numbering = np.zeros(len(numbers), dtype=np.int64)
    numbering[~missing] = np.unique(numbers[~missing], return_inverse=True)[1] + bool(missing.any())
    return numbering


def _cell_codes(column: Column) -> Codes:
    """Number the distinct cells; texts, numbers and dates are compared only with cells of the same kind."""
    cells = [person_key(cell) for cell in column.cells()]
    distinct = dict.fromkeys(cells)
    if None in distinct:
        raise TypeError("a cell of another type")
    ordered: list[Any] = [cell for cell in distinct if cell is not MISSING_KEY]
    with suppress(TypeError):  # a mixture of types has no order, so cells are numbered in order of appearance
        ordered.sort()
    code_of_cell = {cell: code for code, cell in enumerate([MISSING_KEY] * (MISSING_KEY in distinct) + ordered)}
    return np.array([code_of_cell[cell] for cell in cells], dtype=np.int64)


def read_without_quoting(
    read: Callable[[], Result],
    rule: str = "columns must hold texts, numbers or dates",
    received: str = "cells that cannot be compared",
) -> Result:
    """Call `read`, and replace errors, which may quote a cell, by a fixed message."""
    return quietly(read, rule, received, "it is not quoted", TypeError)


def join_codes(columns: list[Codes]) -> tuple[Codes, int]:
    """Combine several columns of codes into one column; also return an exclusive upper bound on its codes."""
    total, n_codes = columns[0], int(columns[0].max()) + 1
    for codes in columns[1:]:
        n_column_codes = int(codes.max()) + 1
        if n_codes * n_column_codes > _MAX_CODE:
            total = np.unique(total, return_inverse=True)[1].astype(np.int64)
            n_codes = int(total.max()) + 1
        total, n_codes = total * n_column_codes + codes, n_codes * n_column_codes
    return total, n_codes


def row_classes(columns: Mapping[Any, Column]) -> Codes:
    """Return the index of each row's equivalence class, from 0 to the number of classes - 1."""
    combined, _ = join_codes([value_codes(column) for column in columns.values()])
    return np.asarray(np.unique(combined, return_inverse=True)[1], dtype=np.int64)


def count_singletons(combined: Codes, n_codes: int) -> int:
    """Count the rows with a unique code: by a table of counts if the codes are small, otherwise by sorting."""
    if n_codes <= 4 * len(combined):
        return int(np.count_nonzero(np.bincount(combined, minlength=n_codes) == 1))
    return int(np.count_nonzero(np.unique(combined, return_counts=True)[1] == 1))
