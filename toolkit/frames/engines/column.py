"""`Column`: what the engines have in common. A column's `Kind` follows from its type; nothing else decides
how it is read.

What cannot be read as a number is missing as a number, whatever it is: whether a column holds such values
must not show as an error, a warning, another shape, or a longer time. Engines go a shorter way through
columns without missing values, so one is always appended before they are asked, and taken off the result.
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

from toolkit.core.arrays import Array, Codes, Mask, number
from toolkit.core.checks import reject
from toolkit.frames.engines import cells

DAY = 86_400 * 10**9
"""Nanoseconds."""

YEARS = (-719_162, 2_932_896)
"""Days since 1970 of the years 1 to 9999, which are those of Python."""

TICKS = {"s": 10**9, "ms": 10**6, "us": 10**3, "ns": 1}

_WORDS = {
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
    """What a column can hold, by its type.

    Parameters
    ----------
    name : str
        "number", "whole", "truth", "text", "moment", "day", "object" or "other".
    limits : pair of int
        The smallest and the largest whole number.
    bits : int
        Of a floating-point number.
    tick : int
        Nanoseconds in a unit of a moment or a day.
    zoned : bool
        Whether moments have a time zone.
    categorical : bool
        Whether values are held as places in a list of categories; such a column is not added up.
    long : bool
        Whether numbers have more digits than a float or 64 bits hold: they are added up as floats, and compared
        one by one, exactly.
    """

    name: str
    limits: tuple[int, int] = (-(2**63), 2**63 - 1)
    bits: int = 64
    tick: int = 1
    zoned: bool = False
    categorical: bool = False
    long: bool = False

    @cached_property
    def one_by_one(self) -> bool:
        """Whether values are compared as Python objects."""
        return self.name == "object" or self.long

    @cached_property
    def adds_up(self) -> bool:
        """Whether values can be numbers."""
        return not self.categorical and self.name in ("number", "whole", "truth", "object")

    @property
    def words(self) -> str:
        return "categories" if self.categorical else f"{_WORDS[self.name]}{' and a time zone' if self.zoned else ''}"


def whole_kind(bits: int, signed: bool) -> Kind:
    """Integers of a number of bits."""
    limits = (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1) if signed else (0, 2**bits - 1)
    return Kind("whole", limits, long=bits > 64)


def decimal_kind(digits: int) -> Kind:
    """Decimal numbers; up to 15 digits a float tells all of them apart."""
    return Kind("number", long=digits > 15)


class Column(ABC):
    """A column of a frame: its kind and name are public, all that the verbs return is confidential."""

    name: str = ""

    def __init__(self, values: Any, kind: Kind) -> None:
        self._values, self.kind = values, kind

    @abstractmethod
    def floats(self) -> Array:
        """Numbers and truth values as floats, NaN where missing."""

    def ticks(self, *, local: bool = False) -> tuple[npt.NDArray[Any], Mask]:
        """Whole numbers, moments and days as integers, and where they are missing; moments in UTC or local time."""
        raise NotImplementedError("Python objects are compared one by one")

    def places(self, texts: Sequence[str]) -> Codes:
        """The place of each text in the list, -1 where it is not there."""
        raise NotImplementedError("texts are compared cell by cell")

    def has(self, texts: Sequence[str]) -> Mask:
        """Whether each text is in the list."""
        return self.places(texts) >= 0

    @abstractmethod
    def missing(self) -> Mask:
        """Where nothing is."""

    def cells(self) -> list[Any]:
        """The values one by one, as Python objects."""
        return list(self._values.tolist())

    def tally(self, counted: Mask) -> dict[Any, int]:
        """How many of the counted rows hold each text; what else may be among them is no text."""
        return Counter(compress(self.cells(), counted.tolist()))

    @abstractmethod
    def empty(self) -> "Column":
        """A column of the same type without a row."""

    def adds_up(self, name: str = "") -> "Column":
        """Itself, if its type can hold numbers; `name` is what it is called in the refusal."""
        if not self.kind.adds_up:
            rule = f"{name or f'column {self.name}'} must hold numbers"
            remedy = "only numbers can be added up and ordered"
            if self.kind.name in ("moment", "day"):
                days = "make the column days since a public day, as in (dates - first_day).dt.days"
                remedy = f"count dates with by={{column: bands(*edges)}}; for a mean or a histogram {days}"
            reject(rule, self.kind.words, remedy, TypeError)
        return self


class Cells(Column):
    """A column of Python objects, from a function that lists them: one loop over the cells, whatever they are."""

    @np.errstate(all="ignore")
    def floats(self) -> Array:
        return np.array([number(cell) for cell in self.cells()], dtype=np.float64)

    def places(self, texts: Sequence[str]) -> Codes:
        return cells.places(self.cells(), {text: place for place, text in enumerate(texts)})

    @np.errstate(all="ignore")
    def missing(self) -> Mask:
        return np.array([cells.key(cell) is cells.NOTHING for cell in self.cells()], dtype=bool)

    def cells(self) -> list[Any]:
        return list(self._values())

    def empty(self) -> Column:
        return Cells(list, self.kind)


class Categories(Column):
    """Values as places in a list of categories, -1 where missing: the list is read, and its entries put in place."""

    def __init__(self, listed: Column, places: npt.NDArray[Any], kind: Kind) -> None:
        self._listed, self._values, self.kind = listed, places, kind

    def floats(self) -> Array:
        return np.asarray(np.append(self._listed.floats(), np.nan)[self._values])

    def ticks(self, *, local: bool = False) -> tuple[npt.NDArray[Any], Mask]:
        ticks, missing = self._listed.ticks(local=local)
        return np.append(ticks, ticks.dtype.type(0))[self._values], np.append(missing, True)[self._values]

    def places(self, texts: Sequence[str]) -> Codes:
        return np.asarray(np.append(self._listed.places(texts), -1)[self._values])

    def missing(self) -> Mask:
        return np.asarray(np.append(self._listed.missing(), True)[self._values])

    def tally(self, counted: Mask) -> dict[Any, int]:
        numbers = np.bincount(self._values[counted] + 1, minlength=1)
        return dict(zip([None, *self._listed.cells()], numbers.tolist(), strict=False))

    def cells(self) -> list[Any]:
        listed = [*self._listed.cells(), None]
        return [listed[place] for place in self._values.tolist()]

    def empty(self) -> Column:
        return Categories(self._listed.empty(), self._values[:0], self.kind)


def numpy_column(array: npt.NDArray[Any]) -> Column:
    """An array of one dimension; what is masked is missing. Dates are of another type here."""
    if array.dtype.kind in "iuf":
        kind = _number_kind(array.dtype)
    else:
        kind = Kind({"b": "truth", "O": "object", "U": "text"}.get(array.dtype.kind, "other"))
    return Cells(array.tolist, kind) if kind.name in ("object", "text") else NumpyColumn(array, kind)


def _number_kind(dtype: np.dtype[Any]) -> Kind:
    if dtype.kind == "f":
        return Kind("number", bits=min(8 * dtype.itemsize, 64))
    return whole_kind(8 * dtype.itemsize, dtype.kind == "i")


class NumpyColumn(Column):
    """Numbers and truth values, and what has no kind of its own."""

    @np.errstate(all="ignore")
    def floats(self) -> Array:
        numbers = np.ma.getdata(self._values).astype(np.float64)
        return np.where(np.ma.getmaskarray(self._values), np.nan, numbers)

    def ticks(self, *, local: bool = False) -> tuple[npt.NDArray[Any], Mask]:  # noqa: ARG002
        return np.ma.getdata(self._values), np.ma.getmaskarray(self._values)

    def missing(self) -> Mask:
        numbers = self.kind.name in ("number", "whole", "truth")
        return np.isnan(self.floats()) if numbers else np.ma.getmaskarray(self._values)

    def empty(self) -> Column:
        return NumpyColumn(self._values[:0], self.kind)
