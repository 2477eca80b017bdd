"""Type aliases for arrays and labels, by their contents, and numbers read from cells by their type alone: no method of
an object of unknown type is called.
"""

import math
from collections.abc import Iterable
from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING, Any, NewType, Protocol, TypeAlias

import numpy as np
import numpy.typing as npt

Array: TypeAlias = npt.NDArray[np.float64]
"""Numbers with an error: estimates, probabilities, scores."""
Counts: TypeAlias = npt.NDArray[np.int64]
"""Numbers of people, reports or ticks."""
Steps: TypeAlias = npt.NDArray[np.int64]
"""Numbers as integer steps on a public grid."""
Codes: TypeAlias = npt.NDArray[np.integer]
"""Options by their index, 0 … k-1."""
Mask: TypeAlias = npt.NDArray[np.bool_]
"""Truth values: selected people, ticked options, or bits."""
Label: TypeAlias = str | int
"""An option, a key, or a column, by its name or its number."""
Labels: TypeAlias = tuple[Label, ...]
"""Options by their names, in order."""
ArrayLike: TypeAlias = npt.ArrayLike
"""Numbers in any form that NumPy reads."""
Values: TypeAlias = npt.ArrayLike | Iterable[object]
"""One value per person or record, as a list, an array or a Series; for a single person the value itself."""

if not TYPE_CHECKING:  # `help` shows these names instead of their definitions
    _NAMES = ("Array", "ArrayLike", "Counts", "Steps", "Codes", "Mask", "Label", "Labels", "Values")
    Array, ArrayLike, Counts, Steps, Codes, Mask, Label, Labels, Values = (NewType(name, object) for name in _NAMES)


class DataFrame(Protocol):
    """A table of pandas, polars, pyarrow, DuckDB or PySpark, known to a type checker by its columns."""

    @property
    def columns(self) -> Any: ...


def objects(cells: Iterable[object]) -> npt.NDArray[Any]:
    """Return an array of objects with one entry per cell; a list stays a list, and no cell changes the others."""
    return np.fromiter(cells, dtype=object)


_INTEGERS = (np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, np.uint32, np.uint64, np.bool_)
_FLOATS = (np.float16, np.float32, np.float64, np.longdouble, Decimal, Fraction)


def as_array(values: Any) -> npt.NDArray[Any]:
    """Convert values to an array; values without a common shape become objects, which a later check rejects."""
    try:
        return np.asarray(values)
    except ValueError:
        return objects(values)


def first_largest(values: Array) -> int:
    """Return the index of the largest value; of values that are equal except for rounding, the first."""
    return int(np.argmax(values >= values.max() - 1e-9 * abs(values.max())))


def project_onto_simplex(values: Array, total: float = 1) -> Array:
    """Return the nearest point, in Euclidean distance, whose entries are not negative and add up to the total.

    All values are shifted by the same amount and cut at 0. The amount is found by one sort: the k largest values stay
    above 0, where k is the largest number for which the k-th largest value exceeds (their sum - total) / k.
    """
    if total == 0:
        return np.zeros(len(values))
    descending = np.sort(values)[::-1]
    shifts = (np.cumsum(descending) - total) / np.arange(1, len(values) + 1)
    last = np.flatnonzero(descending > shifts)[-1]
    return np.asarray(np.maximum(values - shifts[last], 0))


def number(cell: object) -> float:
    """A cell as a float, NaN if it is no number; never an error."""
    kind = type(cell)
    if kind is float or kind is int:
        return as_float(cell)
    try:
        value = numeric(cell)
        return math.nan if value is None else as_float(value)
    except Exception:
        return math.nan


def numeric(cell: object) -> Any:
    """A cell of a numeric type, as an int, a float, a Decimal or a Fraction; None if it is of no such type."""
    kind = type(cell)
    if issubclass(kind, int):
        return int.__int__(cell)  # type: ignore[arg-type]
    if issubclass(kind, float):
        return float.__float__(cell)  # type: ignore[arg-type]
    if any(kind is number_type for number_type in _INTEGERS):
        return int(cell)  # type: ignore[call-overload]
    return cell if any(kind is number_type for number_type in _FLOATS) else None


def as_float(value: Any) -> float:
    """Convert a result of `numeric` to a float; a number that is too large becomes infinite."""
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf
    except ValueError:  # a signalling NaN of decimal
        return math.nan
