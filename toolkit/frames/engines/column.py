"""`Column`: the interface that all engines share.

The `Kind` of a column follows from its type and determines how the column is read.

A value that cannot be read as a number counts as missing. Whether a column holds such values must not be visible as an
error, a warning, a different shape or a longer running time. Engines have a fast path for columns without missing
values, so a missing value is always appended before an engine is called, and removed from the result.
"""

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import compress
from typing import Any

import numpy as np
import numpy.typing as npt

from toolkit.core.arrays import Array, Codes, Mask, number_or_nan
from toolkit.core.checks import reject
from toolkit.frames.engines import cells

DAY = 86_400 * 10**9
"""Nanoseconds in a day."""

YEARS = (-719_162, 2_932_896)
"""The first and the last day that Python can represent (years 1 to 9999), in days since 1970."""

TICKS = {"s": 10**9, "ms": 10**6, "us": 10**3, "ns": 1}

_KIND_NAMES = {
    "number": "numbers",
    "whole": "whole numbers",
    "truth": "truth values",
    "text": "text",
    "moment": "dates with a time",
    "day": "dates",
    "object": "Python objects",
    "other": "values of another type",
}


@dataclass(frozen=True)
class Kind:
    """The kind of values that a column can hold, according to its type.

    Parameters
    ----------
    name : str
        "number", "whole", "truth", "text", "moment", "day", "object" or "other".
    limits : pair of int
        The smallest and the largest whole number.
    float_bits : int
        The number of bits of a floating-point number.
    tick : int
        The number of nanoseconds in the unit of a datetime or a date.
    is_zoned : bool
        Whether datetimes have a time zone.
    is_categorical : bool
        Whether values are stored as codes of categories; such a column is not summed.
    is_long : bool
        Whether numbers have more digits than a float or 64 bits can hold. Such numbers are added up as floats, but
        compared exactly, one by one.
    """

    name: str
    limits: tuple[int, int] = (-(2**63), 2**63 - 1)
    float_bits: int = 64
    tick: int = 1
    is_zoned: bool = False
    is_categorical: bool = False
    is_long: bool = False

    @cached_property
    def is_compared_by_cell(self) -> bool:
        """Whether values are compared one by one, as Python objects."""
        return self.name == "object" or self.is_long

    @cached_property
    def can_hold_numbers(self) -> bool:
        """Whether values can be numbers."""
        return not self.is_categorical and self.name in ("number", "whole", "truth", "object")

    @property
    def description(self) -> str:
        """A description of the kind, for a message."""
        return (
            "categories"
            if self.is_categorical
            else f"{_KIND_NAMES[self.name]}{' and a time zone' if self.is_zoned else ''}"
        )


def whole_kind(bits: int, signed: bool) -> Kind:
    """Return the kind of integers with the given number of bits."""
    limits = (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1) if signed else (0, 2**bits - 1)
    return Kind("whole", limits, is_long=bits > 64)


def decimal_kind(digits: int) -> Kind:
    """Return the kind of decimal numbers; floats can distinguish those of up to 15 digits."""
    return Kind("number", is_long=digits > 15)


class Column(ABC):
    """A column of a frame, whose kind and name are public; all results of its methods are confidential."""

    name: str = ""

    def __init__(self, values: Any, kind: Kind) -> None:
        self._values, self.kind = values, kind

    @abstractmethod
    def floats(self) -> Array:
        """Return numbers and truth values as floats, NaN where missing."""

    def ticks(self, *, in_local_time: bool = False) -> tuple[npt.NDArray[Any], Mask]:
        """Return whole numbers, datetimes (in UTC or local time) or dates as integers, and a mask of missing values."""
        raise NotImplementedError("Python objects are compared one by one")

    def codes(self, texts: Sequence[str]) -> Codes:
        """Return the index in `texts` of each value; -1 for a value that is not in `texts`."""
        raise NotImplementedError("texts are compared cell by cell")

    def has(self, texts: Sequence[str]) -> Mask:
        """Return a mask of the values that are in `texts`."""
        return self.codes(texts) >= 0

    @abstractmethod
    def missing(self) -> Mask:
        """Return a mask of the missing values."""

    def cells(self) -> list[Any]:
        """Return the values as Python objects."""
        return list(self._values.tolist())

    def tally(self, mask: Mask) -> dict[Any, int]:
        """Count each text in the rows of a mask; the result may also have keys that are not text."""
        return Counter(compress(self.cells(), mask.tolist()))

    @abstractmethod
    def empty(self) -> "Column":
        """Return a column of the same type without rows."""

    def require_numbers(self, name: str = "") -> "Column":
        """Return the column if its type can hold numbers; otherwise reject it, with `name` in the message."""
        if not self.kind.can_hold_numbers:
            rule = f"{name or f'column {self.name}'} must hold numbers"
            remedy = "only numbers can be added up and ordered"
            if self.kind.name in ("moment", "day"):
                remedy_by_days = "make the column days since a public day, as in (dates - first_day).dt.days"
                remedy = f"count dates with by={{column: bands(*edges)}}; for a mean or a histogram {remedy_by_days}"
            reject(rule, self.kind.description, remedy, TypeError)
        return self


class Cells(Column):
    """A column of Python objects, which are read in one loop from the list that a function returns."""

    @np.errstate(all="ignore")
    def floats(self) -> Array:
        return np.array([number_or_nan(cell) for cell in self.cells()], dtype=np.float64)

    def codes(self, texts: Sequence[str]) -> Codes:
        return cells.codes(self.cells(), {text: index for index, text in enumerate(texts)})

    @np.errstate(all="ignore")
    def missing(self) -> Mask:
        return np.array([cells.key(cell) is cells.MISSING_KEY for cell in self.cells()], dtype=bool)

    def cells(self) -> list[Any]:
        return list(self._values())

    def empty(self) -> Column:
        return Cells(list, self.kind)


class Categories(Column):
    """A column of category codes, -1 if missing: the categories are read, and then indexed by the codes."""

    def __init__(self, categories: Column, codes: npt.NDArray[Any], kind: Kind) -> None:
        self._categories, self._values, self.kind = categories, codes, kind

    def floats(self) -> Array:
        return np.asarray(np.append(self._categories.floats(), np.nan)[self._values])

    def ticks(self, *, in_local_time: bool = False) -> tuple[npt.NDArray[Any], Mask]:
        ticks, missing = self._categories.ticks(in_local_time=in_local_time)
        return np.append(ticks, ticks.dtype.type(0))[self._values], np.append(missing, True)[self._values]

    def codes(self, texts: Sequence[str]) -> Codes:
        return np.asarray(np.append(self._categories.codes(texts), -1)[self._values])

    def missing(self) -> Mask:
        return np.asarray(np.append(self._categories.missing(), True)[self._values])

    def tally(self, mask: Mask) -> dict[Any, int]:
        numbers = np.bincount(self._values[mask] + 1, minlength=1)
        return dict(zip([None, *self._categories.cells()], numbers.tolist(), strict=False))

    def cells(self) -> list[Any]:
        categories = [*self._categories.cells(), None]
        return [categories[code] for code in self._values.tolist()]

    def empty(self) -> Column:
        return Categories(self._categories.empty(), self._values[:0], self.kind)


def numpy_column(array: npt.NDArray[Any]) -> Column:
    """Wrap a one-dimensional array; masked entries are missing. Columns of dates have the kind "other"."""
    if array.dtype.kind in "iuf":
        kind = _number_kind(array.dtype)
    else:
        kind = Kind({"b": "truth", "O": "object", "U": "text"}.get(array.dtype.kind, "other"))
    return Cells(array.tolist, kind) if kind.name in ("object", "text") else NumpyColumn(array, kind)


def _number_kind(dtype: np.dtype[Any]) -> Kind:
    if dtype.kind == "f":
        return Kind("number", float_bits=min(8 * dtype.itemsize, 64))
    return whole_kind(8 * dtype.itemsize, dtype.kind == "i")


class NumpyColumn(Column):
    """A NumPy array of numbers, truth values, or values of kind "other"."""

    @np.errstate(all="ignore")
    def floats(self) -> Array:
        numbers = np.ma.getdata(self._values).astype(np.float64)
        return np.where(np.ma.getmaskarray(self._values), np.nan, numbers)

    def ticks(self, *, in_local_time: bool = False) -> tuple[npt.NDArray[Any], Mask]:  # noqa: ARG002
        return np.ma.getdata(self._values), np.ma.getmaskarray(self._values)

    def missing(self) -> Mask:
        numbers = self.kind.name in ("number", "whole", "truth")
        return np.isnan(self.floats()) if numbers else np.ma.getmaskarray(self._values)

    def empty(self) -> Column:
        return NumpyColumn(self._values[:0], self.kind)
