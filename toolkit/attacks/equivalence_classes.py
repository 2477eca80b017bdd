"""Columns of any frame as codes, and rows that agree on some of them: the classes that linkage and anonymity
count.

No message holds anything out of a table but the names of its columns: what fails while it is read is refused
in words of our own.
"""

from collections.abc import Callable, Hashable, Mapping
from contextlib import suppress
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from toolkit.core.arrays import Array, Codes, objects
from toolkit.core.checks import Result, refuse, untold
from toolkit.frames.cells import NOTHING, key
from toolkit.frames.frame import Frame, read_by_engine

_ROOM = 2**62
_EXACT = (str, int, Fraction)


def columns_of(frame: Any, columns: Any = None) -> dict[Any, Any]:
    """The columns asked for, or all: of a frame of any engine, or of a mapping from names to arrays."""
    if isinstance(frame, Mapping):
        held, present = frame, list(frame)
    else:
        known = Frame(frame)
        present = [label for label in known.labels if label is not None]
        held = read_by_engine(known.copy) if known.streamed else frame
    asked = present if columns is None else [columns] if isinstance(columns, str) else list(columns)
    missing = [name for name in asked if name not in present]
    if missing or not asked:
        refuse(
            f"`columns` must be among {', '.join(map(str, present))}",
            ", ".join(map(str, missing)) or "none",
            "they are compared",
        )
    return {name: held[name] for name in asked}


def values_of(column: Any) -> npt.NDArray[Any]:
    """The values of a column; of a list as objects, so that no value decides what the others are read as."""
    return objects(column) if isinstance(column, list | tuple) else quietly(lambda: np.asarray(column))


def floats(values: Any, name: str) -> Array:
    """Numbers as floats, of any shape."""
    rule = f"`{name}` must be numbers"
    return quietly(lambda: np.asarray(values, dtype=float), rule, "what cannot be read as such")


def codes(column: Any) -> Codes:
    """Whole numbers from 0, equal for equal values, in the order of the values where they have one; missing
    values are one value, the first.

    >>> codes(["b", "a", "b"])
    array([1, 0, 1])
    """
    engine = type(column).__module__.split(".")[0]
    if engine == "polars":
        return quietly(lambda: np.asarray(column.rank("dense").fill_null(0).to_numpy(), dtype=np.int64))
    if engine == "pandas" and column.dtype != object and column.dtype != "category":
        import pandas as pd

        return quietly(lambda: np.asarray(pd.factorize(column, sort=True)[0], dtype=np.int64) + 1)
    if isinstance(column, np.ndarray) and column.dtype.kind != "O":
        return np.asarray(np.unique(column, return_inverse=True)[1], dtype=np.int64)
    return quietly(lambda: _cell_by_cell(column.to_pylist() if engine == "pyarrow" else column))


def _cell_by_cell(column: Any) -> Codes:
    """By what each cell is compared by: texts, numbers and dates, each of its own kind."""
    cells = [_exact(cell) for cell in column]
    distinct = dict.fromkeys(cells)
    if None in distinct:
        raise TypeError("a cell of another type")
    listed: list[Any] = [one for one in distinct if one is not NOTHING]
    with suppress(TypeError):  # texts among numbers have no order: as they come
        listed.sort()
    place = {one: code for code, one in enumerate([NOTHING] * (NOTHING in distinct) + listed)}
    return np.array([place[cell] for cell in cells], dtype=np.int64)


def _exact(cell: Any) -> Hashable:
    """A cell's key, but exact where a float would not be."""
    kind = type(cell)
    if any(kind is one for one in _EXACT) or (kind is Decimal and cell.is_finite()):
        return cell  # type: ignore[no-any-return]
    return key(cell)


def quietly(
    read: Callable[[], Result],
    rule: str = "columns must hold texts, numbers or dates",
    received: str = "cells that cannot be compared",
) -> Result:
    """What is read; of what fails, nothing is told but the rule, as an error may quote a cell."""
    return untold(read, rule, received, "it is not quoted", TypeError)


def joined(parts: list[Codes]) -> tuple[Codes, int]:
    """One code for each combination, and a number that all codes are below."""
    total, size = parts[0], int(parts[0].max()) + 1
    for part in parts[1:]:
        width = int(part.max()) + 1
        if size * width > _ROOM:
            total = np.unique(total, return_inverse=True)[1].astype(np.int64)
            size = int(total.max()) + 1
        total, size = total * width + part, size * width
    return total, size


def class_of_rows(columns: Mapping[Any, Any]) -> Codes:
    """For each row the number of its class, 0 … classes - 1."""
    combined, _ = joined([codes(column) for column in columns.values()])
    return np.asarray(np.unique(combined, return_inverse=True)[1], dtype=np.int64)


def singletons(combined: Codes, size: int) -> int:
    """How many rows have a code of their own; counted where codes are few, else sorted."""
    if size <= 4 * len(combined):
        return int(np.count_nonzero(np.bincount(combined, minlength=size) == 1))
    ordered = np.sort(combined)
    change = np.concatenate([[True], ordered[1:] != ordered[:-1], [True]])
    return int(np.count_nonzero(change[1:] & change[:-1]))


def alone(combined: Codes) -> npt.NDArray[np.bool_]:
    """Which rows have a code of their own."""
    _, places, counts = np.unique(combined, return_inverse=True, return_counts=True)
    return np.asarray(counts[places] == 1)
