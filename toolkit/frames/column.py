"""`Column`: what the engines have in common. A column's `Kind` follows from its type; nothing else decides
how it is read.

What cannot be read as a number is missing as a number, whatever it is: whether a column holds such values
must not show as an error, a warning, another shape, or a longer time. Engines go a shorter way through
columns without missing values, so one is always appended before they are asked, and taken off the result.
"""

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import compress
from typing import Any

import numpy as np
import numpy.typing as npt

from toolkit.core.arrays import Array, Codes, Mask, number
from toolkit.core.checks import refuse
from toolkit.frames import cells

DAY = 86_400 * 10**9
"""Nanoseconds."""
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
    name : "number", "whole", "truth", "text", "moment", "day", "object" or "other".
    limits : the smallest and the largest whole number.
    bits : of a floating-point number.
    tick : nanoseconds in a unit of a moment or a day.
    zoned : whether moments have a time zone.
    categorical : whether values are held as places in a list of categories; such a column is not added up.
    long : whether numbers have more digits than a float or 64 bits hold: they are added up as floats, and
        compared one by one, exactly.
    """

    name: str
    limits: tuple[int, int] = (-(2**63), 2**63 - 1)
    bits: int = 64
    tick: int = 1
    zoned: bool = False
    categorical: bool = False
    long: bool = False

    @property
    def one_by_one(self) -> bool:
        """Whether values are compared as Python objects."""
        return self.name == "object" or self.long

    @property
    def words(self) -> str:
        return "categories" if self.categorical else f"{_WORDS[self.name]}{' and a time zone' if self.zoned else ''}"


def whole_kind(bits: int, signed: bool) -> Kind:
    """Integers of so many bits."""
    limits = (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1) if signed else (0, 2**bits - 1)
    return Kind("whole", limits, long=bits > 64)


def decimal_kind(digits: int) -> Kind:
    """Decimal numbers of so many digits; up to 15 a float tells all of them apart."""
    return Kind("number", long=digits > 15)


class Column(ABC):
    """A column of a frame: its kind is public, all that the verbs return is confidential."""

    kind: Kind

    @abstractmethod
    def floats(self) -> Array:
        """Numbers and truth values as floats, NaN where missing."""

    @abstractmethod
    def ticks(self, *, local: bool = False) -> tuple[npt.NDArray[Any], Mask]:
        """Whole numbers, moments and days as integers, and where they are missing; moments in UTC or as the
        clock shows them.
        """

    @abstractmethod
    def places(self, texts: Sequence[str]) -> Codes:
        """The place of each text in the list, -1 where it is not there."""

    def has(self, texts: Sequence[str]) -> Mask:
        """Whether each text is in the list."""
        return self.places(texts) >= 0

    @abstractmethod
    def missing(self) -> Mask:
        """Where nothing is."""

    @abstractmethod
    def cells(self) -> list[Any]:
        """The values one by one, as Python objects."""

    def tally(self, counted: Mask) -> dict[Any, int]:
        """How many of the counted rows hold each text; what else may be among them is no text."""
        return Counter(compress(self.cells(), counted.tolist()))

    @abstractmethod
    def empty(self) -> "Column":
        """A column of the same type without a row."""

    def adds_up(self, name: str) -> "Column":
        """Itself, if its type can hold numbers."""
        if self.kind.categorical or self.kind.name not in ("number", "whole", "truth", "object"):
            refuse(f"{name} must hold numbers", self.kind.words, "only numbers can be added up and ordered", TypeError)
        return self


class Cells(Column):
    """A column of Python objects: one loop over the cells, whatever they are."""

    def __init__(self, read: Callable[[], list[Any]], kind: Kind) -> None:
        self._read, self.kind = read, kind

    @np.errstate(all="ignore")
    def floats(self) -> Array:
        return np.array([number(cell) for cell in self.cells()], dtype=np.float64)

    def ticks(self, *, local: bool = False) -> tuple[npt.NDArray[Any], Mask]:
        raise NotImplementedError("Python objects are compared one by one")

    def places(self, texts: Sequence[str]) -> Codes:
        return cells.places(self.cells(), {text: place for place, text in enumerate(texts)})

    @np.errstate(all="ignore")
    def missing(self) -> Mask:
        return np.array([cells.is_nothing(cell) for cell in self.cells()], dtype=bool)

    def cells(self) -> list[Any]:
        return self._read()

    def empty(self) -> Column:
        return Cells(list, self.kind)


class Categories(Column):
    """Values held as places in a list of categories, -1 where missing: the list is read, and its entries put
    in place.
    """

    def __init__(self, listed: Column, held: npt.NDArray[Any], kind: Kind) -> None:
        self._listed, self._held, self.kind = listed, held, kind

    def floats(self) -> Array:
        return np.asarray(np.append(self._listed.floats(), np.nan)[self._held])

    def ticks(self, *, local: bool = False) -> tuple[npt.NDArray[Any], Mask]:
        ticks, missing = self._listed.ticks(local=local)
        return np.append(ticks, ticks.dtype.type(0))[self._held], np.append(missing, True)[self._held]

    def places(self, texts: Sequence[str]) -> Codes:
        return np.asarray(np.append(self._listed.places(texts), -1)[self._held])

    def missing(self) -> Mask:
        return np.asarray(np.append(self._listed.missing(), True)[self._held])

    def tally(self, counted: Mask) -> dict[Any, int]:
        numbers = np.bincount(self._held[counted] + 1, minlength=1)
        return dict(zip([None, *self._listed.cells()], numbers.tolist(), strict=False))

    def cells(self) -> list[Any]:
        listed = [*self._listed.cells(), None]
        return [listed[place] for place in self._held.tolist()]

    def empty(self) -> Column:
        return Categories(self._listed.empty(), self._held[:0], self.kind)
