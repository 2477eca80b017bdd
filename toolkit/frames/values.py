"""Values that an analyst asks for, read once, and fitted to a column by its type.

A condition that can never match would still be charged, so it is refused. Whether it can is decided by the type of
the column, never by what is in it.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Context, Decimal
from fractions import Fraction
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from toolkit.core.arrays import Codes, Mask
from toolkit.core.checks import refuse
from toolkit.frames import cells
from toolkit.frames.cells import Day, Moment
from toolkit.frames.column import DAY, Column, Kind

Value: TypeAlias = str | bool | int | Fraction | Day | Moment
_FEW = 16  # as many values are compared one after the other; beyond that they are sorted
_TABLE = 2**16  # whole numbers no further apart, or four times as far as they are many, are found in a table
_NUMPY_WHOLE = {np.dtype(code).type for code in np.typecodes["AllInteger"]}
_DIGITS, _LONG = Context(prec=40), 60
_FITS = {
    "text": (str,),
    "whole": (Fraction,),
    "number": (Fraction,),
    "truth": (bool, Fraction),
    "moment": (Moment, Day),
    "day": (Day,),
    "object": (str, bool, Fraction, Day, Moment),
    "other": (),
}
_WORDS = {str: "text", bool: "a truth value", Fraction: "a number", Day: "a date", Moment: "a date with a time"}
_WRITTEN = {
    str: "text",
    bool: "True or False",
    Fraction: "a number",
    Day: "datetime.date(2024, 1, 31)",
    Moment: "datetime.datetime(2024, 1, 31, 12, 30)",
}


@dataclass(frozen=True, repr=False)
class Range:
    """From low to high; `below` leaves the upper end out, as all bands but the last do."""

    low: Value
    high: Value
    below: bool = False

    @property
    def words(self) -> str:
        """What a row of a table is called: "18 to under 30"."""
        return f"{text_of(self.low)} to {'under ' if self.below else ''}{text_of(self.high)}"

    def __repr__(self) -> str:
        return f"between({text_of(self.low)}, {text_of(self.high)})" if not self.below else f"<{self.words}>"


def value_of(wanted: object, name: str) -> Value:
    """A text, a truth value, a finite number, a date, or a date with a time; nothing else can be asked for."""
    key = cells.key(wanted)
    if key is cells.NOTHING:
        rule = f"{name} must not be None, NaN, NA or NaT"
        refuse(rule, "one of them", "write MISSING, from toolkit, to ask for missing values")
    if isinstance(wanted, bool | np.bool_):
        return bool(wanted)
    if isinstance(key, Day | Moment | str):
        return key
    if isinstance(key, int | float | Fraction):
        if isinstance(key, float) and not math.isfinite(key):
            refuse(f"{name} must be finite", "an infinite number", "it equals no measured value")
        return Fraction(wanted) if isinstance(wanted, Decimal | Fraction) else Fraction(key)
    received = type(wanted).__name__
    consequence = "nothing else can be compared; ranges are written between(low, high), or *bands(…) in a list"
    refuse(f"{name} must be text, a number, a truth value, a date or a datetime", received, consequence, TypeError)


def plain(items: Sequence[Any], kind: Kind) -> tuple[tuple[Any, ...], tuple[Any, ...]] | None:
    """Text or whole numbers that a column holds without rounding, all read at once, and as it holds them.
    None where one is something else: each is then looked at, and what cannot be there refused.
    """
    kinds = set(map(type, items))
    if kind.name == "text" and kinds == {str}:
        try:
            "".join(items).encode()
        except UnicodeEncodeError:
            return None
        return tuple(items), tuple(items)
    whole = all(sort is int or sort in _NUMPY_WHOLE for sort in kinds)
    if kind.name not in ("whole", "number") or not items or not whole:
        return None
    numbers = tuple(map(int, items))
    most = 2 ** (np.finfo(f"f{kind.bits // 8}").nmant + 1)
    low, high = kind.limits if kind.name == "whole" else (-most, most)
    if min(numbers) < low or max(numbers) > high:
        return None
    return numbers, numbers if kind.name == "whole" or kind.long else tuple(map(float, numbers))


def text_of(value: Value) -> str:
    """A value in the analyst's own words, on one line."""
    if isinstance(value, Fraction):
        return str(value) if value.denominator == 1 else _decimal(value)
    if isinstance(value, Day):
        return str(np.datetime64(value.days, "D"))
    if isinstance(value, Moment):
        seconds, rest = divmod(value.nanoseconds, 10**9)
        fraction = f".{rest:09d}".rstrip("0").rstrip(".")
        return f"{np.datetime64(seconds, 's')}{fraction}{' UTC' if value.zoned else ''}"
    return repr(value)


def check_kinds(values: Sequence[Value], kind: Kind, name: str) -> None:
    """All values can be in a column of this kind, and dates are not mixed with dates that have a time."""
    for value in values:
        if not isinstance(value, _FITS[kind.name]) or (isinstance(value, bool) and kind.name in ("whole", "number")):
            written = " or ".join(_WRITTEN[sort] for sort in _FITS[kind.name])
            remedy = f"write {written}" if written else "only MISSING can be asked for"
            refuse(f"{name} holds {kind.words}", _WORDS[type(value)], f"it can never be there; {remedy}", TypeError)
        if isinstance(value, Moment) and kind.name == "moment" and value.zoned != kind.zoned:
            remedy = "give the datetime a time zone" if kind.zoned else "leave the time zone out"
            refuse(f"{name} holds {kind.words}", "a datetime of the other sort", remedy, TypeError)
    if kind.name in ("moment", "object") and {Day, Moment} <= {type(value) for value in values}:
        rule = f"{name} must be compared with dates or with datetimes"
        refuse(rule, "both", "a date means the whole day, a datetime one moment")


def check_clock(column: Column, name: str) -> None:
    """The engine knows the time zone of a column of moments, whose days are asked for."""
    try:
        column.empty().ticks(local=True)
    except Exception:
        rule = f"{name} must have a time zone that is known here"
        refuse(rule, "another", "days begin and end by its clock; compare datetimes")


def fitted(value: Value, kind: Kind, name: str) -> Any:
    """A value as the column holds it: text, a float, or a whole number of ticks; refused if its type cannot hold it."""
    if kind.name == "object":
        return value
    if kind.name == "text":
        return _spelled(value, name)  # type: ignore[arg-type]
    if kind.name == "truth":
        stored: Any = Fraction(value)  # type: ignore[arg-type]
        possible = stored in (0, 1)
    elif kind.name == "number":
        stored = value if kind.long else _as_float(value, kind)  # type: ignore[arg-type]
        possible = math.isfinite(_as_float(value, kind))  # type: ignore[arg-type]
    else:
        stored = _in_ticks(value, kind)
        possible = stored.denominator == 1 and kind.limits[0] <= stored <= kind.limits[1]
    if not possible:
        rule = f"a value for {name} must be one that its type can hold"
        consequence = f"it holds {kind.words}, and never this one"
        refuse(rule, text_of(value) if len(text_of(value)) < _LONG else "a very long number", consequence)
    if kind.long:
        return compared(stored)
    return float(stored) if kind.name in ("truth", "number") else int(stored)


def _spelled(text: str, name: str) -> str:
    """A text that engines can hold."""
    try:
        text.encode()
    except UnicodeEncodeError:
        refuse(f"a text for {name} must be Unicode", "half of a surrogate pair", "it can never be there")
    return text


def ends(wanted: Range, kind: Kind, name: str) -> tuple[Any, Any]:
    """The two ends of a range as the column holds them, the next ones inside where it cannot hold them
    exactly; both are then included, whichever was not before. Python objects are compared with the range.
    """
    if kind.name in ("text", "truth", "other"):
        refuse(f"{name} holds {kind.words}", "a range", "only numbers and dates lie between others", TypeError)
    if kind.one_by_one:
        return compared(wanted.low), compared(wanted.high)
    if kind.name == "number":
        low, high = _as_float(wanted.low, kind), _as_float(wanted.high, kind)  # type: ignore[arg-type]
        if wanted.below:
            high = float(np.nextafter(np.array(high, f"f{kind.bits // 8}"), -np.inf))
        most = float(np.finfo(f"f{kind.bits // 8}").max)
        limits: tuple[float, float] = (-most, most)
    else:
        low, top, limits = math.ceil(_in_ticks(wanted.low, kind)), _in_ticks(wanted.high, kind), kind.limits
        high = math.ceil(top) - 1 if wanted.below else math.floor(top)
    if low > high or low > limits[1] or high < limits[0]:
        rule = f"a range for {name} must hold a value of its type"
        refuse(rule, wanted.words, f"it holds {kind.words}, and none lies between")
    return max(low, limits[0]), min(high, limits[1])


def codes(column: Column, targets: Sequence[Any], *, days: bool) -> Codes:
    """The place of each value of a column among the targets, as `fitted` made them; -1 where it is none of them."""
    if column.kind.one_by_one:
        keys = {compared(target): place for place, target in enumerate(targets)}
        return cells.places(column.cells(), keys, days=days)
    if column.kind.name == "text":
        return column.places(targets)
    values, missing = numeric(column, days=days)
    return np.where(missing, -1, _places(values, np.array(targets, dtype=values.dtype)))


def within(column: Column, ranges: Sequence[Range], stored: Sequence[tuple[Any, Any]], *, days: bool) -> Codes:
    """The place of the first range that holds each value of a column, -1 where none does; `held` are their
    ends, as `ends` gave them. Ranges that do not overlap are searched all at once.
    """
    if column.kind.one_by_one:
        keys = [cells.key(cell, days=days) for cell in column.cells()]
        compare = [(*ends, asked.below) for ends, asked in zip(stored, ranges, strict=True)]
        first = (next((place for place, one in enumerate(compare) if _between(key, *one)), -1) for key in keys)
        return np.fromiter(first, dtype=np.int64, count=len(keys))
    values, missing = numeric(column, days=days)
    order = np.array(sorted(range(len(stored)), key=lambda place: stored[place]), dtype=np.int64)
    lows, highs = (np.array([stored[place][end] for place in order], dtype=values.dtype) for end in (0, 1))
    if np.all(lows[1:] > highs[:-1]):
        near = np.searchsorted(lows, values, side="right") - 1
        codes = np.where((near >= 0) & (values <= highs[near]), order[near], -1)
    else:
        codes = np.full(len(values), -1, dtype=np.int64)
        for place, (low, high) in reversed(list(enumerate(stored))):
            codes = np.where((values >= low) & (values <= high), place, codes)
    return np.where(missing, -1, codes)


def numeric(column: Column, *, days: bool) -> tuple[npt.NDArray[Any], Mask]:
    """Values that can be compared as numbers; moments as days of their own time zone where these are asked for."""
    if column.kind.name in ("number", "truth"):
        values = column.floats()
        return values, np.isnan(values)
    ticks, missing = column.ticks(local=days)
    coarse = days or column.kind.name == "day"
    return (ticks // (DAY // column.kind.tick) if coarse and column.kind.tick < DAY else ticks), missing


def _decimal(value: Fraction) -> str:
    """With a point, where that is exact: as a float is written, or a short decimal number."""
    nearest = _as_float(value, Kind("number"))
    if nearest == value:
        return repr(nearest)
    digits = _DIGITS.divide(Decimal(value.numerator), Decimal(value.denominator))
    return f"{digits:f}" if Fraction(digits) == value else str(value)


def _in_ticks(value: Value, kind: Kind) -> Fraction:
    if isinstance(value, Day):
        return Fraction(value.days)
    return Fraction(value.nanoseconds, kind.tick) if isinstance(value, Moment) else Fraction(value)


def _as_float(value: Fraction, kind: Kind) -> float:
    """The nearest number that the column can hold: 0.1 finds the nearest float of 32 bits in a column of such."""
    try:
        nearest = float(value)
    except OverflowError:
        nearest = math.inf if value > 0 else -math.inf
    with np.errstate(over="ignore"):
        return float(np.array(nearest).astype(f"f{kind.bits // 8}"))


def _places(values: npt.NDArray[Any], targets: npt.NDArray[Any]) -> Codes:
    codes = np.full(len(values), -1, dtype=np.int64)
    if len(targets) <= _FEW:
        for place, target in enumerate(targets):
            codes = np.where(values == target, place, codes)  # as long for all as for none
        return codes
    whole = values.dtype.kind in "iu"
    if whole and int(targets.max()) - int(targets.min()) < max(_TABLE, 4 * len(targets)):
        if values.dtype.itemsize < 8:  # two of them may lie further apart than such numbers reach
            values, targets = values.astype(np.int64), targets.astype(np.int64)
        low, high = int(targets.min()), int(targets.max())
        table = np.full(high - low + 2, -1, dtype=np.int64)
        table[targets - low] = np.arange(len(targets))
        inside = (values >= low) & (values <= high)
        return np.asarray(table[np.where(inside, values - low, -1)])
    order = np.argsort(targets, kind="stable")
    near = order[np.minimum(np.searchsorted(targets[order], values), len(targets) - 1)]
    return np.where(targets[near] == values, near, -1)


def compared(value: Any) -> Any:
    """As `cells.key` gives it for a cell of equal value; what a column holds otherwise, as it is."""
    if isinstance(value, bool):
        return int(value)
    if isinstance(value, Fraction):
        return cells.key(value)
    return value


def _between(key: Any, low: Any, high: Any, below: bool) -> bool:
    """Whether a cell's key lies in a range, whose upper end may be left out."""
    numbers = int | float | Fraction
    same = isinstance(key, numbers) if isinstance(low, numbers) else type(key) is type(low)
    if not same or getattr(key, "zoned", 0) != getattr(low, "zoned", 0):
        return False
    return bool(low <= key <= high) and not (below and key == high)
