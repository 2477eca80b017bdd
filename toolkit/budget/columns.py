"""Columns of a pandas or polars frame as arrays, by rules that do not depend on what the column holds.

What cannot be read as a number is missing, whatever it is (None, NaN, NA, NaT, text): whether there are such values in
a column must not show as an error, a warning or another shape. An infinite number is a number, and is clamped later.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from toolkit.core.checks import is_missing, refuse

Array = npt.NDArray[np.float64]
_NO_NUMBERS = ("str", "date", "time", "duration", "cat", "enum", "interval", "period")
Where = Mapping[str, Any] | Callable[[dict[str, Any]], Any]


def names(frame: Any) -> list[str]:
    """The names of a frame's columns, which are public."""
    if not hasattr(frame, "columns") or not hasattr(frame, "__getitem__"):
        refuse("`frame` must be a pandas or polars frame", type(frame).__name__, "its columns are read by name", TypeError)
    found = [str(name) for name in frame.columns]
    if len(set(found)) < len(found):
        refuse("the columns of `frame` must have distinct names", "repetitions", "a name must mean one column")
    return found


def objects(frame: Any, column: str) -> npt.NDArray[np.object_]:
    """A column's values as they are, missing ones as None."""
    values = _column(frame, column).to_numpy()
    read = np.empty(len(values), dtype=object)
    read[:] = [None if is_missing(value) else value for value in values.tolist()]
    return read


def numbers(frame: Any, column: str) -> Array:
    """A column as floats; NaN where there is no number. Columns of text, categories or dates are refused by their type."""
    values = _column(frame, column).to_numpy()
    kind = str(frame[column].dtype).lower()
    if kind.startswith(_NO_NUMBERS):
        refuse(f"column {column!r} must hold numbers", f"type {kind}", "only numbers can be added up", TypeError)
    if values.dtype.kind in "fiub":
        return np.asarray(values, dtype=np.float64)
    return np.array([_number(value) for value in values.tolist()], dtype=np.float64)


def _column(frame: Any, column: str) -> Any:
    if column not in names(frame):
        refuse(f"`column` must be one of {', '.join(names(frame))}", repr(column), "no other column is there")
    return frame[column]


def codes(values: npt.NDArray[np.object_], options: Iterable[Any]) -> npt.NDArray[np.int64]:
    """The place of each value among the options, -1 where it is none of them. Numbers match by value, 1 as 1.0."""
    places: dict[Any, int] = {}
    for place, option in enumerate(options):
        if is_missing(option) or option in places:
            refuse(
                "`options` must be distinct and not missing", "repetitions or a missing value", "each is counted once", ValueError
            )
        places[option] = place
    return np.array([places.get(value, -1) if _hashable(value) else -1 for value in values], dtype=np.int64)


def matches(frame: Any, where: Where | None) -> npt.NDArray[np.bool_]:
    """Which rows a condition holds for; the condition sees one row at a time, so one person decides about one row.

    A mapping asks for a value or one of a list of values in each named column; a function is given each row as a dict.
    A ready-made mask is refused, because it may have been made from other people's rows.
    """
    if where is None:
        return np.ones(len(frame), dtype=bool)
    if isinstance(where, Mapping):
        kept = np.ones(len(frame), dtype=bool)
        for column, wanted in where.items():
            options = wanted if isinstance(wanted, list | tuple | set | frozenset) else [wanted]
            kept &= codes(objects(frame, column), options) >= 0
        return kept
    if not callable(where):
        refuse(
            "`where` must be a mapping of columns to values, or a function of one row",
            type(where).__name__,
            "a mask may depend on other people's rows, which no sensitivity counts",
            TypeError,
        )
    columns = {name: objects(frame, name).tolist() for name in names(frame)}
    rows = (dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True))
    return np.array([_holds(where, row) for row in rows], dtype=bool)


def _holds(where: Callable[[dict[str, Any]], Any], row: dict[str, Any]) -> bool:
    """A condition that fails on a row does not hold for it: an exception would tell about that row."""
    try:
        return bool(where(row))
    except Exception:
        return False


def _number(value: object) -> float:
    if is_missing(value) or isinstance(value, str | bytes):
        return float("nan")
    try:
        return float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return float("nan")
    except OverflowError:
        return float("inf") if value > 0 else float("-inf")  # type: ignore[operator]


def _hashable(value: object) -> bool:
    return value is not None and value.__hash__ is not None
