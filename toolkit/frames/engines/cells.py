"""Cells that are Python objects, read according to type: no method of an object of unknown type is ever called.

A cell may be any object that somebody put into a frame. A cell whose `__float__`, `__eq__` or `__hash__` raises or is
slow would disclose something about a person. So only the types in this module are read; a cell of any other type is
neither a number nor an option.
"""

import datetime as dt
import sys
from collections.abc import Hashable, Mapping
from decimal import Decimal
from fractions import Fraction
from typing import Any, NamedTuple
from uuid import UUID

import numpy as np
import numpy.typing as npt

from toolkit.core.arrays import as_float, number_or_none

_EPOCH, _ZONED_EPOCH = dt.datetime(1970, 1, 1), dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
_DAYS = ("D", "W")
# A Decimal with a larger exponent is not expanded, because 1E+999999999 would have a billion digits.
MAX_EXPONENT = 1000
MISSING_KEY = object()
"""The key of a missing cell."""


class Day(NamedTuple):
    """A date, in days since 1970."""

    days: int


class Moment(NamedTuple):
    """A date with a time, in nanoseconds since 1970; in UTC if it has a time zone."""

    nanoseconds: int
    is_zoned: bool


def key(cell: object, *, as_days: bool = False) -> Hashable:
    """Return the key by which a cell is compared: `MISSING_KEY` if it is missing, None if its type is unknown.

    Equal values of different types have equal keys. Whole numbers of any length are exact. Other numbers become the
    nearest float, so that 0.1 matches Decimal("0.1"), unless that float is whole. With `as_days` a date with a time
    becomes its day in its own time zone.
    """
    kind = type(cell)
    if kind is str:
        return cell
    try:
        return _cell_key(cell, kind, as_days)
    except Exception:
        return None


def person_key(cell: object) -> Hashable:
    """Return the key of the person in a cell: like `key`, but exact for all numbers, so that people are not merged.

    Numbers of different types that are equal in Python identify the same person.

    >>> person_key(10**18 + 1) == person_key(Decimal(10**18)), person_key(Decimal("0.5")) == person_key(0.5)
    (False, True)
    """
    kind = type(cell)
    try:
        if kind is Decimal or kind is Fraction:
            return MISSING_KEY if cell != cell else cell
        if kind is np.longdouble and np.isfinite(cell):  # type: ignore[call-overload]
            return Fraction(*cell.as_integer_ratio())  # type: ignore[attr-defined]
        return (cell.int, "UUID") if kind is UUID else key(cell)  # type: ignore[attr-defined]
    except Exception:
        return None


@np.errstate(all="ignore")
def codes(column: list[Any], targets: Mapping[Any, int], *, as_days: bool = False) -> npt.NDArray[np.int64]:
    """Look up the code of each cell by its key; a cell without a code has the code -1."""
    get = targets.get
    looked_up = [get(cell, -1) if type(cell) is str else get(key(cell, as_days=as_days), -1) for cell in column]
    return np.array(looked_up, dtype=np.int64)


def moment(value: dt.datetime) -> Moment:
    """Convert a datetime, or a pandas Timestamp with its nanoseconds."""
    is_zoned = value.utcoffset() is not None
    since = value - _ZONED_EPOCH if is_zoned else value.replace(tzinfo=None) - _EPOCH
    whole = (since.days * 86_400 + since.seconds) * 10**9 + since.microseconds * 1000
    return Moment(whole + getattr(since, "nanoseconds", 0), is_zoned)


def day_or_moment(value: np.datetime64) -> Day | Moment | None:
    """Convert a NumPy date: days and weeks to a `Day`, finer units to a `Moment`, months and years to None."""
    unit, times = np.datetime_data(value.dtype)
    if unit in _DAYS:
        return Day(int(value.astype("datetime64[D]").astype(np.int64)))
    per = {"h": 3600 * 10**9, "m": 60 * 10**9, "s": 10**9, "ms": 10**6, "us": 1000, "ns": 1}.get(unit)
    return None if per is None else Moment(int(value.astype(np.int64)) * times * per, False)


def day(value: dt.date) -> Day:
    return Day(value.toordinal() - dt.date(1970, 1, 1).toordinal())


def _cell_key(cell: Any, kind: type, as_days: bool) -> Hashable:
    if issubclass(kind, str):
        return str.__str__(cell)
    if cell is None or cell is _if_loaded("pandas", "NA") or cell is _if_loaded("pandas", "NaT"):
        return MISSING_KEY
    value = number_or_none(cell)
    if value is not None:
        exact = value if type(value) is int else _number_key(value)
        return MISSING_KEY if exact != exact else exact
    if kind is dt.datetime or kind is _if_loaded("pandas", "Timestamp"):
        return None if not _is_safe_zone(type(cell.tzinfo)) else day(cell) if as_days else moment(cell)
    if kind is dt.date:
        return day(cell)
    if kind is np.datetime64:
        return MISSING_KEY if np.isnat(cell) else day_or_moment(cell.astype("datetime64[D]") if as_days else cell)
    return None


def _number_key(value: Any) -> int | float | Fraction:
    """Return the key of a float, Decimal or Fraction, in a time independent of its exponent."""
    kind, near = type(value), as_float(value)
    far = kind is Decimal and not (value.is_finite() and abs(value.adjusted()) < MAX_EXPONENT)
    if far or kind not in (Decimal, Fraction, np.longdouble) or (kind is np.longdouble and near - near != 0):
        return near
    whole = int(value)
    if value == whole:
        return whole
    return near if near % 1 else Fraction(*value.as_integer_ratio())


def _if_loaded(module: str, name: str) -> Any:
    """Look up a name in a module if it is loaded; otherwise no cell can have one of its types."""
    return getattr(sys.modules.get(module), name, MISSING_KEY)


def _is_safe_zone(kind: type) -> bool:
    """Return whether a time zone is None or from the standard library or pytz; others could run arbitrary code."""
    pytz = _if_loaded("pytz", "BaseTzInfo")
    standard = any(kind is zone for zone in (type(None), dt.timezone, _if_loaded("zoneinfo", "ZoneInfo")))
    return standard or (pytz is not MISSING_KEY and issubclass(kind, pytz))
