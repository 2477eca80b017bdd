"""Cells that are Python objects, read by their type alone: no method of an object of unknown type is ever called.

A cell may be anything that somebody once put into a frame. One whose `__float__`, `__eq__` or `__hash__`
raises, or takes its time, would tell about its person; so only types known here are read, and all others are
no number and no option.
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

from toolkit.core.arrays import as_float, numeric

_EPOCH, _ZONED_EPOCH = dt.datetime(1970, 1, 1), dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
_DAYS = ("D", "W")
FAR = 1000  # digits: a Decimal of few digits can stand for a number of billions of them
NOTHING = object()
"""The key of a missing cell."""


class Day(NamedTuple):
    """A date, in days since 1970."""

    days: int


class Moment(NamedTuple):
    """A date with a time, in nanoseconds since 1970, in UTC where it has a time zone."""

    nanoseconds: int
    zoned: bool


def key(cell: object, *, days: bool = False) -> Hashable:
    """What a cell is compared by: equal for equal values of whatever type; `NOTHING` if missing, None if of
    no known type.

    Whole numbers are exact, however long. Of other numbers the nearest float is taken, so that 0.1 finds
    Decimal("0.1"), unless that is whole. With `days` a date with a time is its day, by its own clock.
    """
    kind = type(cell)
    if kind is str:
        return cell
    try:
        return _key(cell, kind, days)
    except Exception:
        return None


def identity(cell: object) -> Hashable:
    """Who is meant by a cell: as `key`, but exact for every number, so that no two people are taken for one.

    Equal numbers of different types have one hash, and are equal, in Python: they are one person.

    >>> identity(10**18 + 1) == identity(Decimal(10**18)), identity(Decimal("0.5")) == identity(0.5)
    (False, True)
    """
    kind = type(cell)
    try:
        if kind is Decimal or kind is Fraction:
            return NOTHING if cell != cell else cell
        if kind is np.longdouble and np.isfinite(cell):  # type: ignore[call-overload]
            return Fraction(*cell.as_integer_ratio())  # type: ignore[attr-defined]
        return (cell.int, "UUID") if kind is UUID else key(cell)  # type: ignore[attr-defined]
    except Exception:
        return None


@np.errstate(all="ignore")
def places(column: list[Any], targets: Mapping[Any, int], *, days: bool = False) -> npt.NDArray[np.int64]:
    """The place of each cell, by its key, among those wanted; -1 where it is none."""
    get = targets.get
    codes = [get(cell, -1) if type(cell) is str else get(key(cell, days=days), -1) for cell in column]
    return np.array(codes, dtype=np.int64)


def moment(value: dt.datetime) -> Moment:
    """A datetime, or a pandas Timestamp with its nanoseconds."""
    zoned = value.utcoffset() is not None
    since = value - _ZONED_EPOCH if zoned else value.replace(tzinfo=None) - _EPOCH
    whole = (since.days * 86_400 + since.seconds) * 10**9 + since.microseconds * 1000
    return Moment(whole + getattr(since, "nanoseconds", 0), zoned)


def day_or_moment(value: np.datetime64) -> Day | Moment | None:
    """A numpy date: of days or weeks a `Day`, finer a `Moment`; months and years are neither."""
    unit, times = np.datetime_data(value.dtype)
    if unit in _DAYS:
        return Day(int(value.astype("datetime64[D]").astype(np.int64)))
    per = {"h": 3600 * 10**9, "m": 60 * 10**9, "s": 10**9, "ms": 10**6, "us": 1000, "ns": 1}.get(unit)
    return None if per is None else Moment(int(value.astype(np.int64)) * times * per, False)


def day(value: dt.date) -> Day:
    return Day(value.toordinal() - dt.date(1970, 1, 1).toordinal())


def _key(cell: Any, kind: type, days: bool) -> Hashable:
    if issubclass(kind, str):
        return str.__str__(cell)
    if cell is None or cell is _of("pandas", "NA") or cell is _of("pandas", "NaT"):
        return NOTHING
    value = numeric(cell)
    if value is not None:
        exact = value if type(value) is int else _nearest(value)
        return NOTHING if exact != exact else exact
    if kind is dt.datetime or kind is _of("pandas", "Timestamp"):
        return None if not _known_zone(type(cell.tzinfo)) else day(cell) if days else moment(cell)
    if kind is dt.date:
        return day(cell)
    if kind is np.datetime64:
        return NOTHING if np.isnat(cell) else day_or_moment(cell.astype("datetime64[D]") if days else cell)
    return None


def _nearest(value: Any) -> int | float | Fraction:
    """A float, a Decimal or a Fraction as `key` has it; in a time that its size does not decide, however far
    its exponent is from 0.
    """
    kind, near = type(value), as_float(value)
    far = kind is Decimal and not (value.is_finite() and abs(value.adjusted()) < FAR)
    if far or kind not in (Decimal, Fraction, np.longdouble) or (kind is np.longdouble and near - near != 0):
        return near
    whole = int(value)
    if value == whole:
        return whole
    return near if near % 1 else Fraction(*value.as_integer_ratio())


def _of(module: str, name: str) -> Any:
    """Something of a module, if that was imported; a cell of its types cannot be there before."""
    return getattr(sys.modules.get(module), name, NOTHING)


def _known_zone(kind: type) -> bool:
    """No time zone, or one of the standard library's or of pytz; another's code would run when it is read."""
    pytz = _of("pytz", "BaseTzInfo")
    known = any(kind is one for one in (type(None), dt.timezone, _of("zoneinfo", "ZoneInfo")))
    return known or (pytz is not NOTHING and issubclass(kind, pytz))
