"""Columns of any frame as codes, and rows that agree on some of them: the classes that linkage and anonymity
count.
"""

from typing import Any

import numpy as np
import numpy.typing as npt

from toolkit.core.arrays import Codes
from toolkit.core.checks import refuse

_ROOM = 2**62


def column_names(frame: Any) -> list[str]:
    """The names of a frame's columns: pandas, polars, or a mapping from names to arrays."""
    if hasattr(frame, "columns"):
        return list(frame.columns)
    if hasattr(frame, "keys"):
        return list(frame.keys())
    refuse(
        "`frame` must be a pandas or polars frame, or a mapping of arrays",
        type(frame).__name__,
        "it has columns",
        TypeError,
    )


def checked_columns(frame: Any, columns: Any) -> list[str]:
    """The columns asked for, each of them in the frame."""
    present = column_names(frame)
    asked = [columns] if isinstance(columns, str) else list(columns)
    missing = [name for name in asked if name not in present]
    if missing or not asked:
        refuse(
            f"`columns` must be among {', '.join(map(str, present))}",
            ", ".join(map(str, missing)) or "none",
            "they are compared",
        )
    return asked


def codes(column: Any) -> Codes:
    """Whole numbers from 0, equal for equal values; missing values are one value.

    >>> codes(["b", "a", "b"])
    array([1, 0, 1])
    """
    kind = type(column).__module__.split(".")[0]
    if kind == "polars":
        return np.asarray(column.rank("dense").fill_null(0).to_numpy(), dtype=np.int64)
    if kind == "pandas":
        import pandas as pd

        return np.asarray(pd.factorize(column, use_na_sentinel=True)[0], dtype=np.int64) + 1
    return np.asarray(np.unique(np.asarray(column), return_inverse=True)[1], dtype=np.int64)


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


def class_of_rows(frame: Any, columns: list[str]) -> Codes:
    """For each row the number of its class, 0 … classes - 1."""
    combined, _ = joined([codes(frame[name]) for name in columns])
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
