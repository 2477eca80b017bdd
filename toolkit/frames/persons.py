"""`Persons`: the owner of each row, and the selection of a person's rows if the caps do not allow all of them.

The selection of a person's rows depends on that person's rows alone, not on other people's rows or on the order of
rows. A hash with a secret key, generated once per curator, selects them, so that nobody can choose a value in order to
be selected.

The people with each key of a column can be counted and compared with a threshold. A key is the value of a cell, read by
its type alone. Missing values, infinite numbers and objects of unknown type are not keys; equal numbers of different
types are the same key.
"""

import datetime as dt
import hashlib
import math
import operator
import secrets
import threading
from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction
from functools import cached_property, lru_cache
from itertools import compress
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from toolkit.core.arrays import Codes, Label, Mask, Steps
from toolkit.core.checks import check_integer, reject
from toolkit.frames.engines import cells
from toolkit.frames.engines.column import Column
from toolkit.frames.engines.streams import TAG_BITS, EngineTable, text_tag
from toolkit.frames.frame import Frame
from toolkit.frames.values import comparable_numbers

_EPOCH = dt.date(1970, 1, 1).toordinal()
# Only one thread counts at a time, so that a person is not counted twice.
_COUNT_LOCK = threading.Lock()
_MIN_LONG_INTEGER = 10**cells.MAX_EXPONENT
_SORT_ORDER = {bool: 0, int: 0, float: 0, Fraction: 0, str: 1, dt.date: 2}


class Visits:
    """A counter of people; each person counts once per period, in the first `per_person` periods with a visit.

    A person's contribution depends on that person's records alone, so a `RunningTotal` with the same `per_person`
    protects people. A record without a name (None or NaN) is not counted.

    Parameters
    ----------
    per_person : int
        The maximum number of periods in which one person is counted.
    counts : mapping, optional
        The `counts` of an earlier counter, to continue after a restart.

    Examples
    --------
    >>> visits = Visits(2)
    >>> visits.count(["ann", "bob", "ann"]), visits.count(["ann"]), visits.count(["ann", "bob"])
    (2, 1, 1)
    """

    def __init__(self, per_person: int, counts: Mapping[Any, int] | None = None) -> None:
        self.per_person = check_integer(per_person, "per_person")
        self._counts: dict[Hashable, int] = dict(counts or {})

    @property
    def counts(self) -> dict[Hashable, int]:
        """The number of periods in which each person was counted; as confidential as the data."""
        return dict(self._counts)

    def count(self, people: Iterable[Any]) -> int:
        """Count the people of a period, except those already counted in `per_person` periods.

        Parameters
        ----------
        people : iterable
            The name on each record, in any order.

        Returns
        -------
        int
            The number of people who were counted.
        """
        if isinstance(people, str | bytes):
            reject("`people` must be a list of names", "a text", "its letters would be counted as people", TypeError)
        present = {name for name in people if _is_person_name(name)}
        with _COUNT_LOCK:
            admitted = [name for name in present if self._counts.get(name, 0) < self.per_person]
            for name in admitted:
                self._counts[name] = self._counts.get(name, 0) + 1
        return len(admitted)

    def __repr__(self) -> str:
        return f"<Visits: each person in at most {self.per_person:,} periods>"


def _is_person_name(value: object) -> bool:
    """Return whether a value names a person: it must be hashable and not missing. No error is raised."""
    try:
        hash(value)
        return value is not None and bool(value == value)
    except Exception:
        return False


# The number of bits of an integer that packs a random draw and its value.
_PACKED_BITS = 62
# The minimum number of bits of a draw that is packed in this way.
_MIN_DRAW_BITS = 8
_TAG_MASK: int = 2**TAG_BITS - 1


@dataclass(frozen=True)
class Caps:
    """The caps on the rows of one person: `rows` in total, in at most `groups` cells, and `rows_in_group` per cell.

    >>> Caps(5, 3, 2).max_rows(10), Caps(5, 3, 2).max_sum_of_squares(10)
    (5, 9)
    """

    rows: int = 1
    groups: int | None = None
    rows_in_group: int | None = None

    def __post_init__(self) -> None:
        check_integer(self.rows, "rows")
        for name in ("groups", "rows_in_group"):
            if getattr(self, name) is not None:
                check_integer(getattr(self, name), name)

    @lru_cache(maxsize=256)  # noqa: B019  (caps are public, and few)
    def max_rows(self, n_cells: int) -> int:
        """Return the maximum number of rows of one person in a table of `n_cells` cells."""
        return min(self.rows, self._max_groups(n_cells) * self._max_rows_in_group)

    def max_sum_of_squares(self, n_cells: int) -> int:
        """Return the largest sum of squares of one person's counts, attained by full cells and one partial cell."""
        full = min(self._max_groups(n_cells), self.rows // self._max_rows_in_group)
        rest = (
            min(self._max_rows_in_group, self.rows - full * self._max_rows_in_group)
            if full < self._max_groups(n_cells)
            else 0
        )
        return full * self._max_rows_in_group**2 + rest**2

    @property
    def rank_limits(self) -> list[tuple[int, tuple[str, ...], str, bool]]:
        """The successive limits on rows, each as (cap, columns to group by, column to order by, dense ranks or not).

        A cap of None imposes no limit.
        """
        windows = (
            (self.rows_in_group, ("person", "group"), "row", False),
            (self.groups, ("person",), "group", True),
            (self.rows, ("person",), "row", False),
        )
        return [(cap, by, order, dense) for cap, by, order, dense in windows if cap is not None]

    @property
    def _max_rows_in_group(self) -> int:
        return self.rows if self.rows_in_group is None else min(self.rows_in_group, self.rows)

    def _max_groups(self, n_cells: int) -> int:
        return n_cells if self.groups is None else min(self.groups, n_cells)


ONE_ROW = Caps()
"""One row per person."""


@dataclass(frozen=True, eq=False)
class Persons:
    """The column that identifies the owner of each row, and the caps on the rows of one person.

    A row without an owner is not used. A person's rows are ordered by a hash of the person, the cell and the step of
    the value. Rows that agree in all three contribute the same to every sum, so the position of a row in a frame does
    not matter, and all engines use equivalent rows.

    Given the key, the contribution of a person to a table is a function of that person's rows: `rows_in_group` limits
    the rows in a cell, then `groups` limits the cells, then `rows` limits the total. The table is the sum of these
    contributions. Adding or removing a person changes it by one contribution, whose counts sum to at most
    `Caps.max_rows` and their squares to at most `Caps.max_sum_of_squares`; replacing a person changes it by two.

    Privacy does not depend on the hash. The hash prevents people from choosing a value in order to be selected: each of
    two rows comes first with the same probability. Because a packed integer has 62 bits, ties have a probability of
    2**-8 for a million cells, and of 2**-21 for a hundred cells. Tables with different cells or of a different column
    may use different rows of the same person.

    Parameters
    ----------
    label : str or int
        The column.
    name : str
        The name of the column in messages.
    caps : Caps
        The caps on the rows of one person.
    key : bytes
        The secret key of the hash.
    """

    label: Any
    name: str
    caps: Caps
    key: bytes = field(default_factory=lambda: secrets.token_bytes(32), repr=False)
    _tags: "WeakKeyDictionary[Frame, tuple[Codes, Codes]]" = field(default_factory=WeakKeyDictionary, repr=False)

    @classmethod
    def of(cls, frame: Frame, label: Label, caps: Caps) -> "Persons":
        return cls(label, check_person_column(frame, label), caps)

    @property
    def description(self) -> str:
        """The caps in words."""
        caps = self.caps
        parts = [f"{caps.rows} row{'s' * (caps.rows > 1)}"]
        parts += [f"{caps.groups} group{'s' * (caps.groups > 1)}"] if caps.groups is not None else []
        parts += (
            [f"{caps.rows_in_group} row{'s' * (caps.rows_in_group > 1)} in a group"]
            if caps.rows_in_group is not None
            else []
        )
        return f"at most {', '.join(parts)} of a person ({self.name})"

    @property
    def sentence(self) -> str:
        """The caps and the selection of rows, as a sentence for a document."""
        used = "is used" if self.caps.rows == 1 else "are used"
        method = "selected by a secret key from that person's own rows"
        return f"{self.description} {used}, {method}; a row without a name is not used"

    @cached_property
    def hash_factors(self) -> tuple[int, ...]:
        """The secret odd factors of the hash: one each for the person, the cell and the step, and two for their sum."""
        bits = (30, 30, 27, TAG_BITS, TAG_BITS)
        digests = [hashlib.blake2b(bytes([index]), key=self.key, digest_size=16).digest() for index in range(5)]
        return tuple(int.from_bytes(digest) % 2**size | 1 for digest, size in zip(digests, bits, strict=True))

    def hash_draws(self, tag: Any, cell: Any, step: Any, source: EngineTable | None = None) -> tuple[Any, Any]:
        """Return two hashes: of a person and a cell, and of a person, a cell and a step.

        The arguments are arrays or expressions of an engine.

        Tags and cells have at most 31 bits and steps at most 34 bits, so all products stay below 2**63.
        """
        bits, xor = (_bit_field, operator.xor) if source is None else (source.bits, source.xor)
        a, b, c, d, e = self.hash_factors
        group = tag * a + cell * b

        def mix(total: Any, first: int, second: int) -> Any:
            product = bits(xor(total, bits(total, 24)), 0, TAG_BITS) * first
            return bits(bits(xor(product, bits(product, 20)), 0, TAG_BITS) * second, 0, TAG_BITS)

        return mix(group, d, e), mix(group + step * c, e, d)

    @staticmethod
    def pack_sort_keys(draw: Any, value: Any, width: int, source: EngineTable | None = None) -> tuple[Any, ...]:
        """Return the sort keys of rows: a draw and then a value of `width` bits, in one integer if both fit."""
        spare = min(TAG_BITS, _PACKED_BITS - width)
        if spare < _MIN_DRAW_BITS:
            return draw, value
        return ((_bit_field if source is None else source.bits)(draw, TAG_BITS - spare, spare) * 2**width + value,)

    def limit_codes(self, frame: Frame, codes: Codes, width: int, steps: Steps | int = 0, bits: int = 0) -> Codes:
        """Set the codes of rows beyond the caps to -1: first within a cell, then by number of cells, then in total.

        Codes have `width` bits. The `steps` of the values have `bits` bits and are 0 for a missing value.
        """
        (person, tags), caps = self.person_codes_and_tags(frame), self.caps
        used = np.flatnonzero((codes >= 0) & (person >= 0))
        person, cell, step = person[used], codes[used], steps[used] if isinstance(steps, np.ndarray) else steps
        group, row = self.hash_draws(tags[used], _bit_field(cell, 0, TAG_BITS), step)
        within = np.ones(len(used), dtype=bool)
        groups, rows = (
            self.pack_sort_keys(group, cell, width),
            self.pack_sort_keys(row, cell * 2**bits + step, width + bits),
        )
        columns = {"person": (person,), "group": groups, "row": rows}
        for cap, by, order, dense in caps.rank_limits:
            selected = np.flatnonzero(within)
            among = [column[selected] for name in by for column in columns[name]]
            within[selected] = _ranks(among, [column[selected] for column in columns[order]], dense=dense) < cap
        limited_codes = np.full(len(codes), -1, dtype=np.int64)
        limited_codes[used[within]] = cell[within]
        return limited_codes

    def person_codes_and_tags(self, frame: Frame) -> tuple[Codes, Codes]:
        """Return the index (-1 for none) and the tag of each row's owner; cached, because a frame does not change."""
        if frame not in self._tags:
            person, names = person_codes(frame.column(self.label))
            self._tags[frame] = person, np.array([*map(self.tag, names), 0], dtype=np.int64)[person]
        return self._tags[frame]

    def tag(self, name: Hashable) -> int:
        """Return the tag of a person or a key; for whole numbers and days, their last bits."""
        if isinstance(name, str):
            return text_tag(name, self.key)
        if isinstance(name, dt.date):
            return (name.toordinal() - _EPOCH) & _TAG_MASK
        if isinstance(name, Decimal | Fraction) and cells.key(name) == name:
            name = cells.key(name)
        if isinstance(name, int) or (isinstance(name, float) and name.is_integer()):
            return int(name) & _TAG_MASK
        return int.from_bytes(hash_name(name, self.key, 8)) & _TAG_MASK


def _bit_field(number: Any, low: int, size: int | None = None) -> Any:
    """Return `size` bits of an integer from bit `low` on; without a size, all higher bits."""
    return number >> low if size is None else (number >> low) & (2**size - 1)


def person_codes(column: Column) -> tuple[Codes, list[Hashable]]:
    """Return the index of each row's person (-1 for none) and the list of people.

    1 and 1.0 are the same person; "1" is a different person.
    """
    if column.kind.is_compared_by_cell or column.kind.name == "text":
        indices: dict[Hashable, int] = {}
        keys = (cells.person_key(cell) for cell in column.cells())
        codes = [
            -1 if key is None or key is cells.MISSING_KEY else indices.setdefault(key, len(indices)) for key in keys
        ]
        return np.array(codes, dtype=np.int64), list(indices)
    values, missing = comparable_numbers(column, as_days=False)
    distinct, inverse = np.unique(values[~missing], return_inverse=True)
    person = np.full(len(values), -1, dtype=np.int64)
    person[~missing] = inverse
    return person, distinct.tolist()


def check_person_column(frame: Frame, label: object) -> str:
    """Return the name of a column; reject a type that cannot identify people."""
    column = frame.column(label)
    if column.kind.name == "other":
        rule = f"column {column.name} must identify the person of each row"
        reject(rule, column.kind.description, "they cannot be compared", TypeError)
    return column.name


def hash_name(name: Hashable, key: bytes, size: int) -> bytes:
    """Hash a name; equal names have equal hashes."""
    return hashlib.blake2b(_name_bytes(name), key=key, digest_size=size).digest()


def _name_bytes(name: Hashable) -> bytes:
    """Encode a name as unique bytes that equal names share. No method of an unknown type is called.

    The only exceptions are an equal Fraction and Decimal below 10**-1000, whose bytes differ.
    """
    if isinstance(name, tuple):
        return repr(tuple(name)).encode()
    if isinstance(name, str):
        return b"text " + name.encode("utf-8", "surrogatepass")
    if isinstance(name, Decimal | Fraction):
        name = cells.key(name) if cells.key(name) == name else _canonical_number(name)
    if isinstance(name, int) and abs(name) >= _MIN_LONG_INTEGER:
        name = _canonical_number(Decimal(name))
    whole = isinstance(name, float) and name.is_integer()
    try:
        return f"number {int(name) if whole else name!r}".encode()  # type: ignore[call-overload]
    except ValueError:  # Python refuses to format integers of more than 4,300 digits
        return f"number {name.numerator:x}/{name.denominator:x}".encode()  # type: ignore[attr-defined]


def _canonical_number(number: Decimal | Fraction) -> Decimal | Fraction:
    """Return the canonical form of a number that is not equal to any float, so that 0.1 and 0.10 are the same.

    A Decimal whose exponent would lead to a fraction of millions of digits stays a Decimal, without trailing zeros.
    """
    if isinstance(number, Fraction):
        return number
    if number.is_finite() and abs(number.adjusted()) < cells.MAX_EXPONENT:
        return Fraction(number)
    sign, digits, exponent = number.as_tuple()
    significant = "".join(map(str, digits)).rstrip("0")
    return Decimal(f"{'-' * sign}{significant}E{int(exponent) + len(digits) - len(significant)}")


def _ranks(groups: Sequence[Codes], order: Sequence[Codes], *, dense: bool) -> Codes:
    """Return the rank of each row within its group, starting at 0; with `dense` equal values share a rank."""
    sorted_rows = np.lexsort((*reversed(order), *reversed(groups)))

    def begins(columns: Sequence[Codes]) -> Mask:
        new = np.ones(len(sorted_rows), dtype=bool)
        new[1:] = np.logical_or.reduce([np.diff(column[sorted_rows]) != 0 for column in columns])
        return new

    count = np.cumsum(begins([*groups, *order])) if dense else np.arange(len(sorted_rows))
    ranks = np.empty(len(sorted_rows), dtype=np.int64)
    ranks[sorted_rows] = count - np.maximum.accumulate(np.where(begins(groups), count, 0))
    return ranks


def check_keys(column: Column) -> None:
    """Reject a type whose values are nearly unique, or cannot be compared."""
    if column.kind.name in ("moment", "other"):
        rule = f"column {column.name} must hold text, numbers, truth values or dates"
        reject(rule, column.kind.description, "other values cannot be the keys of a table", TypeError)


def count_rows_by_key(column: Column, mask: Mask) -> dict[Any, int]:
    """Count the rows of a mask by key, in an order that depends on the keys alone."""
    kind = column.kind.name
    raw: dict[Any, int]
    if kind == "text":
        raw = column.tally(mask)
    elif column.kind.is_compared_by_cell:
        raw = Counter(cells.key(cell) for cell in compress(column.cells(), mask.tolist()))
    else:
        values, missing = comparable_numbers(column, as_days=False)
        keys, numbers = np.unique(values[mask & ~missing], return_counts=True)
        raw = dict(zip(keys.tolist(), numbers.tolist(), strict=True))
    if kind == "whole" and not column.kind.is_long:
        return raw  # already sorted, and every value is a key
    return merge_counts((released_key(kind, value), number) for value, number in raw.items())


def count_people_by_key(column: Column, mask: Mask, frame: Frame, persons: Persons, max_keys: int) -> dict[Any, int]:
    """Count the people who have each key; a person counts at most once per key, and in at most `max_keys` keys.

    If a person has more keys, a hash of the person and the key selects among them, so that other people's rows have no
    influence.
    """
    kind, (person, tags) = column.kind.name, persons.person_codes_and_tags(frame)
    used = mask & (person >= 0)
    if kind == "text" or column.kind.is_compared_by_cell:
        cell_keys = [cells.key(cell) for cell in compress(column.cells(), used.tolist())]
    else:
        values, missing = comparable_numbers(column, as_days=False)
        used &= ~missing
        cell_keys = values[used].tolist()
    keys_by_person: dict[int, dict[Any, int]] = {}
    for row_person, tag, value in zip(person[used].tolist(), tags[used].tolist(), cell_keys, strict=True):
        key = released_key(kind, value)
        if key is not None:
            keys_by_person.setdefault(row_person, {})[key] = tag
    used_keys = (key for keys in keys_by_person.values() for key in _selected_keys(keys, persons, max_keys))
    return merge_counts(Counter(used_keys).items())


def _selected_keys(keys: dict[Any, int], persons: Persons, max_keys: int) -> Iterable[Any]:
    if len(keys) <= max_keys:
        return keys

    def draw(key: Any) -> tuple[int, int, Any]:
        return persons.hash_draws(keys[key], persons.tag(key), 0)[0], _SORT_ORDER[type(key)], key

    return sorted(keys, key=draw)[:max_keys]


def released_key(kind: str, value: Any) -> Any:
    """Convert a value to the key that is released and that `by` accepts; None for a value that is not a key."""
    if value is None or value is cells.MISSING_KEY:
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
    ordinal = days + _EPOCH
    return dt.date.fromordinal(ordinal) if 1 <= ordinal <= dt.date.max.toordinal() else None


def merge_counts(counts: Iterable[tuple[Any, int]]) -> dict[Any, int]:
    """Add the counts of equal keys, and sort the keys: numbers first, then texts, then dates."""
    totals: dict[Any, int] = {}
    for key, number in counts:
        if key is not None and number:
            totals[key] = totals.get(key, 0) + number
    if set(map(type, totals)) <= {int, float}:
        return {key: totals[key] for key in sorted(totals)}
    return {key: totals[key] for key in sorted(totals, key=lambda key: (_SORT_ORDER[type(key)], key))}
