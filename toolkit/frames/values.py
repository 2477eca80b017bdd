"""Values, ranges and keys that an analyst specifies, parsed once and converted to the type of a column.

A condition that can never match would still be charged, so it is rejected. Whether it can match depends on the type of
the column, never on its contents.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from decimal import Context, Decimal
from fractions import Fraction
from functools import cached_property
from itertools import pairwise
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from toolkit.core.arrays import Codes, Mask
from toolkit.core.checks import explain_call, reject
from toolkit.core.rounding import to_decimal
from toolkit.frames.engines import cells
from toolkit.frames.engines.cells import Day, Moment
from toolkit.frames.engines.column import DAY, Column, Kind
from toolkit.frames.frame import Frame

Value: TypeAlias = str | bool | int | Fraction | Day | Moment

# Up to this number of targets, a column is compared with each target in turn.
_MAX_COMPARED_ONE_BY_ONE = 16

# Integer targets are looked up in a table if their range is below this, or below four times their number.
_MIN_TABLE_SIZE = 2**16

_NUMPY_WHOLE = {np.dtype(code).type for code in np.typecodes["AllInteger"]}

# The number of digits of a decimal number in a message, and the smallest length of a number that is not quoted.
_DECIMAL_CONTEXT, _MAX_QUOTED_LENGTH = Context(prec=40), 60

_ACCEPTED_TYPES = {
    "text": (str,),
    "whole": (Fraction,),
    "number": (Fraction,),
    "truth": (bool, Fraction),
    "moment": (Moment, Day),
    "day": (Day,),
    "object": (str, bool, Fraction, Day, Moment),
    "other": (),
}

_TYPE_NAMES = {str: "text", bool: "a truth value", Fraction: "a number", Day: "a date", Moment: "a date with a time"}

_EXAMPLES = {
    str: "text",
    bool: "True or False",
    Fraction: "a number",
    Day: "datetime.date(2024, 1, 31)",
    Moment: "datetime.datetime(2024, 1, 31, 12, 30)",
}


@dataclass(frozen=True, repr=False)
class Range:
    """A range from low to high. `excludes_high` makes it half-open, like all bands except the last."""

    low: Value
    high: Value
    excludes_high: bool = False

    @property
    def label(self) -> str:
        """The label of the range in a table, such as "18 to under 30"."""
        return f"{format_value(self.low)} to {'under ' if self.excludes_high else ''}{format_value(self.high)}"

    def __repr__(self) -> str:
        return (
            f"between({format_value(self.low)}, {format_value(self.high)})"
            if not self.excludes_high
            else f"<{self.label}>"
        )


def parse_value(item: object, name: str) -> Value:
    """Parse a text, a truth value, a finite number, a date, or a date with a time; reject anything else."""
    key = cells.key(item)
    if key is cells.MISSING_KEY:
        rule = f"{name} must not be None, NaN, NA or NaT"
        reject(rule, "a missing value", "write MISSING, from toolkit, to select missing values")
    if isinstance(item, bool | np.bool_):
        return bool(item)
    if isinstance(key, Day | Moment | str):
        return key
    if isinstance(key, int | float | Fraction):
        if isinstance(key, float) and not math.isfinite(key):
            reject(f"{name} must be finite", "an infinite number", "no measured value is infinite")
        return Fraction(item) if isinstance(item, Decimal | Fraction) else Fraction(key)
    received = type(item).__name__
    consequence = "write a range as between(low, high), or as *bands(…) in a list"
    reject(f"{name} must be text, a number, a truth value, a date or a datetime", received, consequence, TypeError)


def parse_plain(items: Sequence[Any], kind: Kind) -> tuple[tuple[Any, ...], tuple[Any, ...]] | None:
    """Parse texts or whole numbers that a column can hold without rounding; also return their stored form.

    This is the fast path for many values. Return None if a value has a different type or is out of range; the values
    are then parsed one by one.
    """
    kinds = set(map(type, items))
    if kind.name == "text" and kinds == {str}:
        try:
            "".join(items).encode()
        except UnicodeEncodeError:
            return None
        return tuple(items), tuple(items)
    whole = all(item_type is int or item_type in _NUMPY_WHOLE for item_type in kinds)
    if kind.name not in ("whole", "number") or not items or not whole:
        return None
    numbers = tuple(map(int, items))
    largest = 2 ** (np.finfo(f"f{kind.float_bits // 8}").nmant + 1)
    low, high = kind.limits if kind.name == "whole" else (-largest, largest)
    if min(numbers) < low or max(numbers) > high:
        return None
    return numbers, numbers if kind.name == "whole" or kind.is_long else tuple(map(float, numbers))


def format_value(value: Value) -> str:
    """Format a value as the analyst would write it, on one line."""
    if isinstance(value, Fraction):
        return str(value) if value.denominator == 1 else _format_fraction(value)
    if isinstance(value, Day):
        return str(np.datetime64(value.days, "D"))
    if isinstance(value, Moment):
        seconds, rest = divmod(value.nanoseconds, 10**9)
        fraction = f".{rest:09d}".rstrip("0").rstrip(".")
        return f"{np.datetime64(seconds, 's')}{fraction}{' UTC' if value.is_zoned else ''}"
    return repr(value)


def check_kinds(values: Sequence[Value], kind: Kind, name: str) -> None:
    """Check that a column of this kind can hold all values, and that dates are not mixed with datetimes."""
    for value in values:
        if not isinstance(value, _ACCEPTED_TYPES[kind.name]) or (
            isinstance(value, bool) and kind.name in ("whole", "number")
        ):
            examples = " or ".join(_EXAMPLES[value_type] for value_type in _ACCEPTED_TYPES[kind.name])
            remedy = f"write {examples}" if examples else "only MISSING can be selected"
            consequence = f"the column can never hold it; {remedy}"
            reject(f"{name} holds {kind.description}", _TYPE_NAMES[type(value)], consequence, TypeError)
        if isinstance(value, Moment) and kind.name == "moment" and value.is_zoned != kind.is_zoned:
            remedy = "give the datetime a time zone" if kind.is_zoned else "leave the time zone out"
            received = f"a datetime {'with' if value.is_zoned else 'without'} a time zone"
            reject(f"{name} holds {kind.description}", received, remedy, TypeError)
    if kind.name in ("moment", "object") and {Day, Moment} <= {type(value) for value in values}:
        rule = f"{name} must be compared with dates or with datetimes"
        reject(rule, "both", "a date is a whole day, a datetime is a moment")


def check_time_zone(column: Column, name: str) -> None:
    """Check that the time zone of a datetime column is installed, so that its days can be compared."""
    try:
        column.empty().ticks(in_local_time=True)
    except Exception:
        rule = f"{name} must have a time zone that is installed"
        reject(rule, "another time zone", "it determines when a day begins; compare datetimes instead")


def to_stored_value(value: Value, kind: Kind, name: str) -> Any:
    """Convert a value to the type of a column: text, a float, or a whole number of ticks; reject other values."""
    if kind.name == "object":
        return value
    if kind.name == "text":
        return _check_unicode(value, name)  # type: ignore[arg-type]
    if kind.name == "truth":
        stored: Any = Fraction(value)  # type: ignore[arg-type]
        possible = stored in (0, 1)
    elif kind.name == "number":
        stored = value if kind.is_long else _as_float(value, kind)  # type: ignore[arg-type]
        possible = math.isfinite(_as_float(value, kind))  # type: ignore[arg-type]
    else:
        stored = _tick_count(value, kind)
        possible = stored.denominator == 1 and kind.limits[0] <= stored <= kind.limits[1]
    if not possible:
        rule = f"a value for {name} must fit the type of the column"
        consequence = f"the column holds {kind.description}"
        reject(
            rule,
            format_value(value) if len(format_value(value)) < _MAX_QUOTED_LENGTH else "a very long number",
            consequence,
        )
    if kind.is_long:
        return comparison_key(stored)
    return float(stored) if kind.name in ("truth", "number") else int(stored)


def _check_unicode(text: str, name: str) -> str:
    """Check that a text can be encoded, so that engines can hold it."""
    try:
        text.encode()
    except UnicodeEncodeError:
        reject(f"a text for {name} must be Unicode", "half of a surrogate pair", "the column can never hold it")
    return text


def stored_ends(span: Range, kind: Kind, name: str) -> tuple[Any, Any]:
    """Convert the two ends of a range to the type of the column, so that the range includes both.

    An end that the column cannot hold, or that the range excludes, is replaced by the next value inside the range. For
    a column of Python objects the ends are returned unchanged.
    """
    if kind.name in ("text", "truth", "other"):
        reject(f"{name} holds {kind.description}", "a range", "only numbers and dates have an order", TypeError)
    if kind.is_compared_by_cell:
        return comparison_key(span.low), comparison_key(span.high)
    if kind.name == "number":
        low, high = _as_float(span.low, kind), _as_float(span.high, kind)  # type: ignore[arg-type]
        if span.excludes_high:
            high = float(np.nextafter(np.array(high, f"f{kind.float_bits // 8}"), -np.inf))
        largest = float(np.finfo(f"f{kind.float_bits // 8}").max)
        limits: tuple[float, float] = (-largest, largest)
    else:
        low, top, limits = math.ceil(_tick_count(span.low, kind)), _tick_count(span.high, kind), kind.limits
        high = math.ceil(top) - 1 if span.excludes_high else math.floor(top)
    if low > high or low > limits[1] or high < limits[0]:
        rule = f"a range for {name} must hold a value of its type"
        reject(rule, span.label, f"the column holds {kind.description}, and none lies in the range")
    return max(low, limits[0]), min(high, limits[1])


def value_codes(column: Column, targets: Sequence[Any], *, as_days: bool) -> Codes:
    """Return the index of each value among targets from `to_stored_value`; -1 for a value that is not a target."""
    if column.kind.is_compared_by_cell:
        keys = {comparison_key(target): index for index, target in enumerate(targets)}
        return cells.codes(column.cells(), keys, as_days=as_days)
    if column.kind.name == "text":
        return column.codes(targets)
    values, missing = comparable_numbers(column, as_days=as_days)
    return np.where(missing, -1, _target_codes(values, np.array(targets, dtype=values.dtype)))


def range_codes(column: Column, ranges: Sequence[Range], stored: Sequence[tuple[Any, Any]], *, as_days: bool) -> Codes:
    """Return the index of the first range that contains each value of a column, -1 if there is none.

    `stored` are the ends of the ranges, as returned by `stored_ends`. Ranges that do not overlap are searched by
    bisection.
    """
    if column.kind.is_compared_by_cell:
        keys = [cells.key(cell, as_days=as_days) for cell in column.cells()]
        comparisons = [(*ends, span.excludes_high) for ends, span in zip(stored, ranges, strict=True)]
        indices = (
            next((index for index, comparison in enumerate(comparisons) if _is_in_range(key, *comparison)), -1)
            for key in keys
        )
        return np.fromiter(indices, dtype=np.int64, count=len(keys))
    values, missing = comparable_numbers(column, as_days=as_days)
    order = np.array(sorted(range(len(stored)), key=lambda index: stored[index]), dtype=np.int64)
    lows, highs = (np.array([stored[index][end] for index in order], dtype=values.dtype) for end in (0, 1))
    if np.all(lows[1:] > highs[:-1]):
        nearest = np.searchsorted(lows, values, side="right") - 1
        codes = np.where((nearest >= 0) & (values <= highs[nearest]), order[nearest], -1)
    else:
        codes = np.full(len(values), -1, dtype=np.int64)
        for index, (low, high) in reversed(list(enumerate(stored))):
            codes = np.where((values >= low) & (values <= high), index, codes)
    return np.where(missing, -1, codes)


def comparable_numbers(column: Column, *, as_days: bool) -> tuple[npt.NDArray[Any], Mask]:
    """Return a column as comparable numbers, with a mask of missing values; `as_days` gives days in local time."""
    if column.kind.name in ("number", "truth"):
        values = column.floats()
        return values, np.isnan(values)
    ticks, missing = column.ticks(in_local_time=as_days)
    coarse = as_days or column.kind.name == "day"
    return (ticks // (DAY // column.kind.tick) if coarse and column.kind.tick < DAY else ticks), missing


def _format_fraction(value: Fraction) -> str:
    """Format a fraction with a decimal point if that is exact, otherwise as a quotient."""
    nearest = _as_float(value, Kind("number"))
    if nearest == value:
        return repr(nearest)
    digits = to_decimal(value, _DECIMAL_CONTEXT)
    return f"{digits:f}" if Fraction(digits) == value else str(value)


def _tick_count(value: Value, kind: Kind) -> Fraction:
    if isinstance(value, Day):
        return Fraction(value.days)
    return Fraction(value.nanoseconds, kind.tick) if isinstance(value, Moment) else Fraction(value)


def _as_float(value: Fraction, kind: Kind) -> float:
    """Return the nearest number that the column can hold, such as a 32-bit float."""
    try:
        nearest = float(value)
    except OverflowError:
        nearest = math.inf if value > 0 else -math.inf
    with np.errstate(over="ignore"):
        return float(np.array(nearest).astype(f"f{kind.float_bits // 8}"))


def _target_codes(values: npt.NDArray[Any], targets: npt.NDArray[Any]) -> Codes:
    codes = np.full(len(values), -1, dtype=np.int64)
    if len(targets) <= _MAX_COMPARED_ONE_BY_ONE:
        for index, target in enumerate(targets):
            codes = np.where(values == target, index, codes)  # constant time, whether or not a value matches
        return codes
    whole = values.dtype.kind in "iu"
    if whole and int(targets.max()) - int(targets.min()) < max(_MIN_TABLE_SIZE, 4 * len(targets)):
        # The difference of two small integers may overflow their type.
        if values.dtype.itemsize < 8:
            values, targets = values.astype(np.int64), targets.astype(np.int64)
        low, high = int(targets.min()), int(targets.max())
        table = np.full(high - low + 2, -1, dtype=np.int64)
        table[targets - low] = np.arange(len(targets))
        inside = (values >= low) & (values <= high)
        return np.asarray(table[np.where(inside, values - low, -1)])
    order = np.argsort(targets, kind="stable")
    near = order[np.minimum(np.searchsorted(targets[order], values), len(targets) - 1)]
    return np.where(targets[near] == values, near, -1)


def comparison_key(value: Any) -> Any:
    """Return the key of a cell with an equal value, as returned by `cells.key`."""
    if isinstance(value, bool):
        return int(value)
    if isinstance(value, Fraction):
        return cells.key(value)
    return value


def _is_in_range(key: Any, low: Any, high: Any, excludes_high: bool) -> bool:
    """Return whether the key of a cell lies in a range; the upper end may be excluded."""
    numbers = int | float | Fraction
    is_comparable = isinstance(key, numbers) if isinstance(low, numbers) else type(key) is type(low)
    if not is_comparable or getattr(key, "is_zoned", 0) != getattr(low, "is_zoned", 0):
        return False
    return bool(low <= key <= high) and not (excludes_high and key == high)


class SpecialValue:
    """The type of `MISSING` and of `OTHER`."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __repr__(self) -> str:
        return self._name

    def __reduce__(self) -> str:
        return self._name


MISSING = SpecialValue("MISSING")
"""A marker for missing values in a condition, in a list of values, or among the keys of a table."""

OTHER = SpecialValue("OTHER")
"""The last key of a table, for all rows that match none of the other keys; it includes missing values unless MISSING is
a key.
"""

Item = Value | Range | SpecialValue


@explain_call("between(30, 39)")
def between(low: object, high: object) -> Range:
    """Select values from low to high, inclusive.

    Parameters
    ----------
    low : number, date or datetime
        The lower end.
    high : number, date or datetime
        The upper end; a date includes the whole day.

    Returns
    -------
    Range
        A range that can be used as a value for `where`, or as a key for `by`.

    Examples
    --------
    >>> between(30, 39)
    between(30, 39)
    """
    first, last = (_parse_end(end, "an end of between(low, high)") for end in (low, high))
    if not _are_comparable(first, last):
        rule = "between(low, high) must have two numbers, two dates, or two datetimes, with or without a zone"
        reject(rule, "two of different types", "they cannot be compared", TypeError)
    if first > last:  # type: ignore[operator]
        received = f"{format_value(first)} and {format_value(last)}"
        reject("between(low, high) must have low at most high", received, "no value lies in such a range")
    return Range(first, last)


def bands(*edges: object) -> list[Range]:
    """Make adjacent ranges from increasing edges; each includes its lower edge, and the last range also its upper edge.

    Parameters
    ----------
    *edges : number, date or datetime
        At least two increasing numbers or dates.

    Returns
    -------
    list of Range
        The ranges, which can be used as keys for `by`.

    Examples
    --------
    >>> [band.label for band in bands(18, 30, 45, 65)]
    ['18 to under 30', '30 to under 45', '45 to 65']
    """
    ends = [_parse_end(edge, "an edge of bands(…)") for edge in edges]
    if len(ends) < 2:
        reject("bands(…) must have at least two edges", len(ends), "a band lies between two edges")
    for low, high in pairwise(ends):
        if not _are_comparable(low, high):
            rule = "the edges of bands(…) must be numbers, dates, or datetimes, all with a time zone or none"
            reject(rule, "edges of different types", "they cannot be compared", TypeError)
        if not low < high:  # type: ignore[operator]
            received = f"{format_value(low)} before {format_value(high)}"
            reject("the edges of bands(…) must increase", received, "each band begins where the previous band ends")
    return [Range(low, high, excludes_high=index + 2 < len(ends)) for index, (low, high) in enumerate(pairwise(ends))]


@dataclass(frozen=True, eq=False)
class Keys:
    """The values, ranges and special values with which one column is compared.

    `stored_items` are the items in the type of the column. `is_plain` means that all items are texts or whole numbers.
    Only the codes and masks of rows are confidential.
    """

    label: Any
    name: str
    items: tuple[Item, ...]
    stored_items: tuple[Any, ...]
    labels: tuple[str | int, ...]
    as_days: bool = False
    is_plain: bool = False

    @classmethod
    def parse(cls, frame: Frame, label: object, items: Sequence[object], argument: str = "") -> "Keys":
        """Parse items, and reject those that the column's type can never hold.

        If `argument`, the name of the caller's argument, is given, items must also be distinct and not overlap.
        """
        column = frame.column(label)
        name, kind = column.name, column.kind
        if (plain := parse_plain(items, kind)) is not None:
            keys = cls(label, name, *plain, labels=plain[0], is_plain=True)
            if argument and len(set(keys.items)) < len(items):
                keys._check_distinct(argument)
            return keys
        parsed = [
            item if isinstance(item, Range | SpecialValue) else parse_value(item, f"a value for column {name}")
            for item in items
        ]
        values = [value for item in parsed for value in _values_in(item)]
        check_kinds(values, kind, f"column {name}")
        as_days = kind.name in ("moment", "object") and any(isinstance(value, Day) for value in values)
        if as_days and kind.name == "moment":
            check_time_zone(column, f"column {name}")
        stored = tuple(_to_stored_item(item, kind, f"column {name}") for item in parsed)
        keys = cls(label, name, tuple(parsed), stored, tuple(map(_item_label, parsed)), as_days)
        if argument:
            keys._check_distinct(argument)
        return keys

    @cached_property
    def description(self) -> str:
        """The condition in words, as the ledger records it."""
        if self.is_plain and len(self.items) > 1:
            return f"{self.name} in [{', '.join(map(repr, self.items))}]"
        values = [format_value(item) for item in self.items if not isinstance(item, Range | SpecialValue)]
        parts = [f"= {values[0]}"] if len(values) == 1 else [f"in [{', '.join(values)}]"] if values else []
        parts += [
            f"from {item.label}"
            if item.excludes_high
            else f"between {format_value(item.low)} and {format_value(item.high)}"
            for item in self.items
            if isinstance(item, Range)
        ]
        return f"{self.name} {' or '.join([*parts, *['missing'] * (MISSING in self.items)])}"

    def codes(self, frame: Frame) -> Codes:
        """Return the index of the first item that each row matches; -1 for a row that matches none."""
        column, items = frame.column(self.label), self.items
        if self.is_plain:
            text = column.kind.name == "text"
            return column.codes(self.stored_items) if text else value_codes(column, self.stored_items, as_days=False)
        values = [index for index, item in enumerate(items) if not isinstance(item, Range | SpecialValue)]
        ranges = [index for index, item in enumerate(items) if isinstance(item, Range)]
        codes: Codes = np.full(0 if values else len(frame), -1, dtype=np.int64)
        if values:
            matches = value_codes(column, [self.stored_items[index] for index in values], as_days=self.as_days)
            codes = np.array([*values, -1], dtype=np.int64)[matches]
        if ranges:
            spans, ends = [items[index] for index in ranges], [self.stored_items[index] for index in ranges]
            matches = range_codes(column, spans, ends, as_days=self.as_days)  # type: ignore[arg-type]
            codes = np.where(codes < 0, np.array([*ranges, -1], dtype=np.int64)[matches], codes)
        if MISSING in items:
            codes = np.where(column.missing(), items.index(MISSING), codes)
        return np.where(codes < 0, items.index(OTHER), codes) if OTHER in items else codes

    def mask(self, frame: Frame) -> Mask:
        """Return a mask of the rows that match one of the items."""
        column = frame.column(self.label)
        if column.kind.name != "text" or any(isinstance(item, Range) or item is OTHER for item in self.items):
            return self.codes(frame) >= 0
        values = [
            stored
            for item, stored in zip(self.items, self.stored_items, strict=True)
            if not isinstance(item, SpecialValue)
        ]
        if MISSING not in self.items:
            return column.has(values)
        return column.has(values) | column.missing() if values else column.missing()

    def _check_distinct(self, name: str) -> None:
        """Check that no value can match two items, because a row belongs to at most one cell of a table."""
        pairs = zip(self.items, self.stored_items, strict=True)
        spans = sorted(
            _comparison_interval(item, stored) for item, stored in pairs if not isinstance(item, SpecialValue)
        )
        special = [item for item in self.items if isinstance(item, SpecialValue)]
        twice = any(a[0] == b[0] and (b[1] < a[2] or (b[1] == a[2] and not a[3])) for a, b in pairwise(spans))
        if not self.items or twice or len(set(special)) < len(special):
            received = "none" if not self.items else "repetitions, in the type of the column"
            reject(f"`{name}` must be distinct keys, at least one", received, "each row is counted once")
        if OTHER in special and self.items[-1] is not OTHER:
            reject(f"OTHER must be the last of `{name}`", "another position", "it is the key of all other values")


def _parse_end(value: object, name: str) -> Value:
    """Parse an end of a range, which must be of an ordered type."""
    fault = None
    if isinstance(value, str | bytes):
        fault = "text", "write a date as datetime.date(2024, 1, 31), and numbers without quotes"
    elif isinstance(value, bool | np.bool_):
        fault = "a truth value", "use True and False as single keys"
    elif isinstance(value, Iterable) and not isinstance(value, np.generic):
        fault = type(value).__name__, "write single numbers, or unpack a list: bands(*edges)"
    elif cells.key(value) is cells.MISSING_KEY:
        fault = "a missing value", "no range contains it; MISSING selects missing values"
    if fault is not None:
        reject(f"{name} must be a number, a date or a datetime", *fault, TypeError)
    return parse_value(value, name)


def _are_comparable(first: Value, last: Value) -> bool:
    """Return whether two values can be ordered."""
    have_same_type = type(first) is type(last) and getattr(first, "is_zoned", 0) == getattr(last, "is_zoned", 0)
    return have_same_type and not isinstance(first, str | bool)


def _values_in(item: Item) -> tuple[Value, ...]:
    if isinstance(item, Range):
        return (item.low, item.high)
    return () if isinstance(item, SpecialValue) else (item,)


def _to_stored_item(item: Item, kind: Kind, name: str) -> Any:
    if isinstance(item, Range):
        return stored_ends(item, kind, name)
    return item if isinstance(item, SpecialValue) else to_stored_value(item, kind, name)


def _comparison_interval(item: Item, stored: Any) -> tuple[str, Any, Any, bool]:
    """Return the sort key of an item: its type, lower end, upper end, and whether the upper end is excluded."""
    low, high = stored if isinstance(item, Range) else (comparison_key(stored),) * 2
    low, high = (Fraction(end) if isinstance(end, bool) else end for end in (low, high))
    number = isinstance(low, int | float | Fraction)
    value_type = "number" if number else f"{type(low).__name__} {getattr(low, 'is_zoned', '')}"
    return value_type, low, high, isinstance(item, Range) and item.excludes_high and high == comparison_key(item.high)


def _item_label(item: Item) -> str | int:
    if isinstance(item, Range):
        return item.label
    if isinstance(item, SpecialValue):
        return repr(item).lower()
    if isinstance(item, str) or type(item) is int:
        return item
    text = format_value(item)
    return int(text) if isinstance(item, Fraction) and item.denominator == 1 else text
