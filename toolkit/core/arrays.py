"""Type aliases for arrays and labels, and conversion of cells to numbers.

The type of a cell alone decides how it is converted; methods of objects of unknown types are never called.
"""

import math
from collections.abc import Iterable
from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING, Any, NewType, Protocol, TypeAlias

import numpy as np
import numpy.typing as npt

Array: TypeAlias = npt.NDArray[np.float64]
"""Real numbers: estimates, probabilities, scores."""
Counts: TypeAlias = npt.NDArray[np.int64]
"""Counts of people, reports or ticks."""
Steps: TypeAlias = npt.NDArray[np.int64]
"""Integer multiples of the step of a public grid."""
Codes: TypeAlias = npt.NDArray[np.integer]
"""Indices of options, 0 … k-1."""
Mask: TypeAlias = npt.NDArray[np.bool_]
"""Booleans: selected people, ticked options, or bits."""
Label: TypeAlias = str | int
"""The name or the number of an option, a key or a column."""
Labels: TypeAlias = tuple[Label, ...]
"""The labels of options, in order."""
ArrayLike: TypeAlias = npt.ArrayLike
"""Numbers in any form that NumPy can convert."""
Values: TypeAlias = npt.ArrayLike | Iterable[object]
"""One value per person or record, as a list, an array or a Series; a single person's value may be a scalar."""

if not TYPE_CHECKING:  # `help` shows these names instead of their definitions
    _NAMES = ("Array", "ArrayLike", "Counts", "Steps", "Codes", "Mask", "Label", "Labels", "Values")
    Array, ArrayLike, Counts, Steps, Codes, Mask, Label, Labels, Values = (NewType(name, object) for name in _NAMES)


class DataFrame(Protocol):
    """A pandas, polars, pyarrow, DuckDB or PySpark table; type checkers know only its attribute `columns`."""

    @property
    def columns(self) -> Any: ...


def object_array(cells: Iterable[object]) -> npt.NDArray[Any]:
    """Return an object array with one entry per cell; lists remain lists, and no cell is coerced to another type."""
    return np.fromiter(cells, dtype=object)


_INTEGERS = (np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, np.uint32, np.uint64, np.bool_)
_FLOATS = (np.float16, np.float32, np.float64, np.longdouble, Decimal, Fraction)


def as_array(values: Any) -> npt.NDArray[Any]:
    """Convert values to an array; ragged values become an array of objects, which a later check rejects."""
    try:
        return np.asarray(values)
    except ValueError:
        return object_array(values)


def index_of_largest(values: Array) -> int:
    """Return the index of the largest value; values that differ only by rounding count as equal, and the first wins."""
    return int(np.argmax(values >= values.max() - 1e-9 * abs(values.max())))


def project_onto_simplex(values: Array, total: float = 1) -> Array:
    """Return the nearest point, in Euclidean distance, whose entries are nonnegative and add up to `total`.

    The same amount is subtracted from all values, and negative results become 0. A single sort gives the amount: the k
    largest values remain positive, where k is the largest number for which the k-th largest value exceeds
    (the sum of the k largest - total) / k.
    """
    if total == 0:
        return np.zeros(len(values))
    descending = np.sort(values)[::-1]
    shifts = (np.cumsum(descending) - total) / np.arange(1, len(values) + 1)
    last = np.flatnonzero(descending > shifts)[-1]
    return np.asarray(np.maximum(values - shifts[last], 0))


def number_or_nan(cell: object) -> float:
    """Convert a cell to a float, or to NaN if it is not a number; never raise an error."""
    kind = type(cell)
    if kind is float or kind is int:
        return as_float(cell)
    try:
        value = number_or_none(cell)
        return math.nan if value is None else as_float(value)
    except Exception:
        return math.nan


def number_or_none(cell: object) -> Any:
    """Convert a cell of a numeric type to an int, float, Decimal or Fraction; return None for any other type."""
    kind = type(cell)
    if issubclass(kind, int):
        return int.__int__(cell)  # type: ignore[arg-type]
    if issubclass(kind, float):
        return float.__float__(cell)  # type: ignore[arg-type]
    if any(kind is number_type for number_type in _INTEGERS):
        return int(cell)  # type: ignore[call-overload]
    return cell if any(kind is number_type for number_type in _FLOATS) else None


def as_float(value: Any) -> float:
    """Convert a number to a float; a number beyond the range of floats becomes infinite."""
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf
    except ValueError:  # a signaling NaN of the decimal module
        return math.nan
