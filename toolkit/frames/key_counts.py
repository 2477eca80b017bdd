"""Keys that occur in a column, and how many people have each: what a threshold is then held against.

A key is what a cell holds, read by its type alone. Missing values, infinite numbers and objects of unknown
type are no keys; equal numbers of different types are one.
"""

import datetime as dt
import math
from collections import Counter
from collections.abc import Iterable
from fractions import Fraction
from itertools import compress
from typing import Any

import numpy as np

from toolkit.core.arrays import Mask
from toolkit.core.checks import refuse
from toolkit.frames import cells
from toolkit.frames.column import Column
from toolkit.frames.frame import Frame
from toolkit.frames.persons import Persons
from toolkit.frames.values import numeric

_EPOCH = dt.date(1970, 1, 1).toordinal()
_SORTS = {bool: 0, int: 0, float: 0, Fraction: 0, str: 1, dt.date: 2}


def check_keys(column: Column) -> None:
    """Refuse a type whose values are all but unique, or cannot be compared."""
    if column.kind.name in ("moment", "other"):
        rule = f"column {column.name} must hold text, numbers, truth values or dates"
        refuse(rule, column.kind.words, "their values would be no keys of a table", TypeError)


def people_by_key(column: Column, counted: Mask) -> dict[Any, int]:
    """How many of the counted rows have each key, in an order that follows from the keys alone."""
    kind = column.kind.name
    raw: dict[Any, int]
    if kind == "text":
        raw = column.tally(counted)
    elif column.kind.one_by_one:
        raw = Counter(cells.key(cell) for cell in compress(column.cells(), counted.tolist()))
    else:
        values, missing = numeric(column, days=False)
        keys, numbers = np.unique(values[counted & ~missing], return_counts=True)
        raw = dict(zip(keys.tolist(), numbers.tolist(), strict=True))
    if kind == "whole" and not column.kind.long:
        return raw  # in order, and each a key
    return ordered((key_of(kind, value), number) for value, number in raw.items())


def people_by_key_once(column: Column, counted: Mask, frame: Frame, persons: Persons, most: int) -> dict[Any, int]:
    """How many people have each key: a person counts once in a key, and in at most `most` keys.

    Which keys of a person who has more are counted is drawn by a hash of the key and the person, so that nobody
    else's rows decide.
    """
    kind, (person, tags) = column.kind.name, persons.tagged(frame)
    used = counted & (person >= 0)
    if kind == "text" or column.kind.one_by_one:
        listed = [cells.key(cell) for cell in compress(column.cells(), used.tolist())]
    else:
        values, missing = numeric(column, days=False)
        used &= ~missing
        listed = values[used].tolist()
    own: dict[int, dict[Any, int]] = {}
    for one, tag, value in zip(person[used].tolist(), tags[used].tolist(), listed, strict=True):
        key = key_of(kind, value)
        if key is not None:
            own.setdefault(one, {})[key] = tag
    used_keys = (key for keys in own.values() for key in _drawn(keys, persons, most))
    return ordered(Counter(used_keys).items())


def _drawn(keys: dict[Any, int], persons: Persons, most: int) -> Iterable[Any]:
    if len(keys) <= most:
        return keys

    def place(key: Any) -> tuple[int, int, Any]:
        return persons.draws(keys[key], persons.tag(key), 0)[0], _SORTS[type(key)], key

    return sorted(keys, key=place)[:most]


def key_of(kind: str, value: Any) -> Any:
    """As it is told and as `by` can ask for it; None for what is no key."""
    if value is None or value is cells.NOTHING:
        return None
    if kind == "truth":
        return bool(value)
    if kind == "day":
        return _date(int(value))
    if isinstance(value, str):
        return str.__str__(value)
    if isinstance(value, cells.Day):
        return _date(value.days)
    if isinstance(value, float):
        return None if not math.isfinite(value) else int(value) if value.is_integer() else value
    return value if isinstance(value, int | Fraction) and not isinstance(value, bool) else None


def _date(days: int) -> dt.date | None:
    place = days + _EPOCH
    return dt.date.fromordinal(place) if 1 <= place <= dt.date.max.toordinal() else None


def ordered(counts: Iterable[tuple[Any, int]]) -> dict[Any, int]:
    """Equal keys added up; numbers, then texts, then dates, each in their order."""
    totals: dict[Any, int] = {}
    for key, number in counts:
        if key is not None and number:
            totals[key] = totals.get(key, 0) + number
    if set(map(type, totals)) <= {int, float}:
        return {key: totals[key] for key in sorted(totals)}
    return {key: totals[key] for key in sorted(totals, key=lambda key: (_SORTS[type(key)], key))}
