"""`Persons`: whose each row is, and which rows of a person are used where one has more than the caps allow.

What is used of a person depends on that person's own rows alone, never on anybody else's, nor on where a row
stands. Which they are is drawn by a hash with a key that is made once for each curator and never told, so that
no value could be chosen in order to be used.

Keys that occur in a column are counted by people: what a threshold is then held against. A key is what a cell
holds, read by its type alone. Missing values, infinite numbers and objects of unknown type are no keys; equal
numbers of different types are one.
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
from toolkit.core.checks import reject, whole
from toolkit.frames.engines import cells
from toolkit.frames.engines.column import Column
from toolkit.frames.engines.streams import TAG_BITS, EngineTable, text_tag
from toolkit.frames.frame import Frame
from toolkit.frames.values import numeric

_EPOCH = dt.date(1970, 1, 1).toordinal()
_ONE_BY_ONE = threading.Lock()  # of two threads the second must know whom the first has counted
_LONG = 10**cells.FAR
_SORTS = {bool: 0, int: 0, float: 0, Fraction: 0, str: 1, dt.date: 2}


class Visits:
    """Counts people: each once per period, and in the first `per_person` periods in which they come.

    What a person adds depends on that person's own records alone: a `RunningTotal` with the same `per_person`
    then promises about people. A record without a name (None, NaN) is nobody's, and is not counted.

    Parameters
    ----------
    per_person : int
        In how many periods one person is counted at most.
    seen : mapping, optional
        How often each was counted before, from `seen` of another one, to go on after a restart.

    Examples
    --------
    >>> visits = Visits(2)
    >>> visits.count(["ann", "bob", "ann"]), visits.count(["ann"]), visits.count(["ann", "bob"])
    (2, 1, 1)
    """

    def __init__(self, per_person: int, seen: Mapping[Any, int] | None = None) -> None:
        self.per_person = whole(per_person, "per_person")
        self._seen: dict[Hashable, int] = dict(seen or {})

    @property
    def seen(self) -> dict[Hashable, int]:
        """How often each person was counted: as confidential as the data."""
        return dict(self._seen)

    def count(self, people: Iterable[Any]) -> int:
        """Count the people of a period, each in no more periods than a person may be counted in.

        Parameters
        ----------
        people : iterable
            Who came: one entry per record, in any order.

        Returns
        -------
        int
            How many are counted.
        """
        if isinstance(people, str | bytes):
            reject("`people` must be a list of names", "one text", "its letters would be people", TypeError)
        present = {name for name in people if _is_name(name)}
        with _ONE_BY_ONE:
            counted = [name for name in present if self._seen.get(name, 0) < self.per_person]
            for name in counted:
                self._seen[name] = self._seen.get(name, 0) + 1
        return len(counted)

    def __repr__(self) -> str:
        return f"<Visits: each person in at most {self.per_person:,} periods>"


def _is_name(value: object) -> bool:
    """Whether a record says whose it is: what is missing is not equal to itself, and no value is an error."""
    try:
        hash(value)
        return value is not None and bool(value == value)
    except Exception:
        return False


_PACKED_BITS = 62  # an order and what it is of, in one whole number
_LEAST_BITS = 8  # of a draw that is packed
_TAG: int = 2**TAG_BITS - 1


@dataclass(frozen=True)
class Caps:
    """The most that is used of one person: `rows` in all, in at most `groups` cells, `each` in a cell.

    >>> Caps(5, 3, 2).most(10), Caps(5, 3, 2).squares(10)
    (5, 9)
    """

    rows: int = 1
    groups: int | None = None
    each: int | None = None

    def __post_init__(self) -> None:
        whole(self.rows, "rows")
        for name in ("groups", "each"):
            if getattr(self, name) is not None:
                whole(getattr(self, name), name)

    @lru_cache(maxsize=256)  # noqa: B019  (caps are public, and few)
    def most(self, cells: int) -> int:
        """The most rows of one person in a number of cells."""
        return min(self.rows, self._cells(cells) * self._each)

    def squares(self, cells: int) -> int:
        """The largest sum of squares of one person's counts: full cells first, then what is left in one more."""
        full = min(self._cells(cells), self.rows // self._each)
        rest = min(self._each, self.rows - full * self._each) if full < self._cells(cells) else 0
        return full * self._each**2 + rest**2

    @property
    def windows(self) -> list[tuple[int, tuple[str, ...], str, bool]]:
        """How rows are cut, one after the other: the most, within what, in which order, and whether equals share a
        rank. Without a cap there is none.
        """
        windows = (
            (self.each, ("person", "group"), "row", False),
            (self.groups, ("person",), "group", True),
            (self.rows, ("person",), "row", False),
        )
        return [(cap, by, order, dense) for cap, by, order, dense in windows if cap is not None]

    @property
    def _each(self) -> int:
        return self.rows if self.each is None else min(self.each, self.rows)

    def _cells(self, cells: int) -> int:
        return cells if self.groups is None else min(self.groups, cells)


ONE = Caps()
"""One row per person."""


@dataclass(frozen=True, eq=False)
class Persons:
    """The column that says whose a row is, and how much of one person is used; a row of nobody is not.

    Of a row only the person, the cell and the step of its value are read. Rows are put in an order by a hash of the
    three, and those that are equal in all three add the same to every sum: whichever of them is used, no place of a row
    in a frame is needed, and every engine uses the same. Once the key is drawn, what one person adds to a table is a
    fixed function of that person's own rows: `each` cuts the rows in a cell, then `groups` the cells, then `rows` all
    of them. The table is the sum of these functions over people, so who comes or goes changes it by their own, whose
    counts add up to at most `Caps.most` and their squares to at most `Caps.squares`; who is replaced, by two such.
    Privacy does not rest on the hash, but nobody can choose a value in order to be used: of two rows either comes first
    with the same chance, but for one in 2**8 at a million cells, in 2**21 at a hundred, where 62 bits for all leave so
    few for the hash. Rows that are used in one table need not be those in a table of other cells or of another column.

    Parameters
    ----------
    label : str or int
        The column.
    name : str
        What it is called.
    caps : Caps
        How much of one person is used.
    key : bytes
        What is drawn depends on it; never told.
    """

    label: Any
    name: str
    caps: Caps
    key: bytes = field(default_factory=lambda: secrets.token_bytes(32), repr=False)
    _known: "WeakKeyDictionary[Frame, tuple[Codes, Codes]]" = field(default_factory=WeakKeyDictionary, repr=False)

    @classmethod
    def of(cls, frame: Frame, label: Label, caps: Caps) -> "Persons":
        return cls(label, check_names(frame, label), caps)

    @property
    def words(self) -> str:
        """What is used of a person."""
        caps = self.caps
        parts = [f"{caps.rows} row{'s' * (caps.rows > 1)}"]
        parts += [f"{caps.groups} group{'s' * (caps.groups > 1)}"] if caps.groups is not None else []
        parts += [f"{caps.each} row{'s' * (caps.each > 1)} in a group"] if caps.each is not None else []
        return f"at most {', '.join(parts)} of a person ({self.name})"

    @property
    def sentence(self) -> str:
        """What is used of a person, and how it is chosen, for a document."""
        used = "is used" if self.caps.rows == 1 else "are used"
        drawn = "drawn by a secret key from that person's own rows"
        return f"{self.words} {used}, {drawn}; a row that names nobody is not used"

    @cached_property
    def factors(self) -> tuple[int, ...]:
        """Secret odd numbers that the hashes are made with: of a person, a cell, a step, and two of their sum."""
        bits = (30, 30, 27, TAG_BITS, TAG_BITS)
        digests = [hashlib.blake2b(bytes([place]), key=self.key, digest_size=16).digest() for place in range(5)]
        return tuple(int.from_bytes(digest) % 2**size | 1 for digest, size in zip(digests, bits, strict=True))

    def draws(self, tag: Any, cell: Any, step: Any, source: EngineTable | None = None) -> tuple[Any, Any]:
        """Hashes of a person and a cell, and of the two and a step: of arrays, or of an engine's expressions. Tags
        and cells have at most 31 bits and steps 34, so that all stay below 2**63.
        """
        bits, xor = (_bits, operator.xor) if source is None else (source.bits, source.xor)
        a, b, c, d, e = self.factors
        group = tag * a + cell * b

        def mixed(total: Any, first: int, second: int) -> Any:
            once = bits(xor(total, bits(total, 24)), 0, TAG_BITS) * first
            return bits(bits(xor(once, bits(once, 20)), 0, TAG_BITS) * second, 0, TAG_BITS)

        return mixed(group, d, e), mixed(group + step * c, e, d)

    @staticmethod
    def packed(draw: Any, value: Any, width: int, source: EngineTable | None = None) -> tuple[Any, ...]:
        """What rows are ordered by: a draw, and then a value of so many bits, in one number where both fit into it."""
        spare = min(TAG_BITS, _PACKED_BITS - width)
        if spare < _LEAST_BITS:
            return draw, value
        return ((_bits if source is None else source.bits)(draw, TAG_BITS - spare, spare) * 2**width + value,)

    def limited(self, frame: Frame, codes: Codes, width: int, steps: Steps | int = 0, bits: int = 0) -> Codes:
        """Codes of cells of so many bits, -1 for the rows beyond the caps: first those in a cell, then cells, then
        all; `steps` are those of values, 0 where one is missing, and their bits.
        """
        (person, tags), caps = self.tagged(frame), self.caps
        used = np.flatnonzero((codes >= 0) & (person >= 0))
        person, cell, step = person[used], codes[used], steps[used] if isinstance(steps, np.ndarray) else steps
        group, row = self.draws(tags[used], _bits(cell, 0, TAG_BITS), step)
        within = np.ones(len(used), dtype=bool)
        groups, rows = self.packed(group, cell, width), self.packed(row, cell * 2**bits + step, width + bits)
        columns = {"person": (person,), "group": groups, "row": rows}
        for cap, by, order, dense in caps.windows:
            at = np.flatnonzero(within)
            among = [column[at] for one in by for column in columns[one]]
            within[at] = _ranks(among, [column[at] for column in columns[order]], dense=dense) < cap
        limited_codes = np.full(len(codes), -1, dtype=np.int64)
        limited_codes[used[within]] = cell[within]
        return limited_codes

    def tagged(self, frame: Frame) -> tuple[Codes, Codes]:
        """Whose each row is, -1 for nobody, and a number of that person; read once, as a frame does not change."""
        if frame not in self._known:
            person, names = identities(frame.column(self.label))
            self._known[frame] = person, np.array([*map(self.tag, names), 0], dtype=np.int64)[person]
        return self._known[frame]

    def tag(self, name: Hashable) -> int:
        """A number of a person, or of a key: of whole numbers and days their last bits, as engines have them, too."""
        if isinstance(name, str):
            return text_tag(name, self.key)
        if isinstance(name, dt.date):
            return (name.toordinal() - _EPOCH) & _TAG
        if isinstance(name, Decimal | Fraction) and cells.key(name) == name:
            name = cells.key(name)
        if isinstance(name, int) or (isinstance(name, float) and name.is_integer()):
            return int(name) & _TAG
        return int.from_bytes(hashed(name, self.key, 8)) & _TAG


def _bits(number: Any, low: int, size: int | None = None) -> Any:
    """Some bits of a whole number, all from a place on without a size."""
    return number >> low if size is None else (number >> low) & (2**size - 1)


def identities(column: Column) -> tuple[Codes, list[Hashable]]:
    """The place of each row's person in a list, -1 where none is named. 1 and 1.0 are one person, "1" another."""
    if column.kind.one_by_one or column.kind.name == "text":
        places: dict[Hashable, int] = {}
        keys = (cells.identity(cell) for cell in column.cells())
        codes = [-1 if key is None or key is cells.NOTHING else places.setdefault(key, len(places)) for key in keys]
        return np.array(codes, dtype=np.int64), list(places)
    values, missing = numeric(column, days=False)
    distinct, places_of = np.unique(values[~missing], return_inverse=True)
    person = np.full(len(values), -1, dtype=np.int64)
    person[~missing] = places_of
    return person, distinct.tolist()


def check_names(frame: Frame, label: object) -> str:
    """The name of a column, refused if its type cannot say whose a row is."""
    column = frame.column(label)
    if column.kind.name == "other":
        rule = f"column {column.name} must say whose a row is"
        reject(rule, column.kind.words, "they cannot be compared", TypeError)
    return column.name


def hashed(name: Hashable, key: bytes, size: int) -> bytes:
    """A hash of a name, equal for equal names."""
    return hashlib.blake2b(_spelled(name), key=key, digest_size=size).digest()


def _spelled(name: Hashable) -> bytes:
    """Spell equal names alike and others differently, without a method of an unknown type. Only a Fraction and a
    Decimal below 10**-1000 are spelled differently though they are equal.
    """
    if isinstance(name, tuple):
        return repr(tuple(name)).encode()
    if isinstance(name, str):
        return b"text " + name.encode("utf-8", "surrogatepass")
    if isinstance(name, Decimal | Fraction):
        name = cells.key(name) if cells.key(name) == name else _exact(name)
    if isinstance(name, int) and abs(name) >= _LONG:
        name = _exact(Decimal(name))
    whole = isinstance(name, float) and name.is_integer()
    try:
        return f"number {int(name) if whole else name!r}".encode()  # type: ignore[call-overload]
    except ValueError:  # Python writes some thousand digits of a fraction, and no more
        return f"number {name.numerator:x}/{name.denominator:x}".encode()  # type: ignore[attr-defined]


def _exact(number: Decimal | Fraction) -> Decimal | Fraction:
    """The one form of a number that no float equals: 0.1 and 0.10 are the same. A Decimal whose exponent might make a
    fraction of millions of digits stays one, without the zeros at its end.
    """
    if isinstance(number, Fraction):
        return number
    if number.is_finite() and abs(number.adjusted()) < cells.FAR:
        return Fraction(number)
    sign, digits, exponent = number.as_tuple()
    significant = "".join(map(str, digits)).rstrip("0")
    return Decimal(f"{'-' * sign}{significant}E{int(exponent) + len(digits) - len(significant)}")


def _ranks(groups: Sequence[Codes], order: Sequence[Codes], *, dense: bool) -> Codes:
    """The rank of each row among those of its group, or `dense`, of its different values."""
    at = np.lexsort((*reversed(order), *reversed(groups)))

    def begins(columns: Sequence[Codes]) -> Mask:
        new = np.ones(len(at), dtype=bool)
        new[1:] = np.logical_or.reduce([np.diff(column[at]) != 0 for column in columns])
        return new

    count = np.cumsum(begins([*groups, *order])) if dense else np.arange(len(at))
    ranks = np.empty(len(at), dtype=np.int64)
    ranks[at] = count - np.maximum.accumulate(np.where(begins(groups), count, 0))
    return ranks


def check_keys(column: Column) -> None:
    """Refuse a type whose values are all but unique, or cannot be compared."""
    if column.kind.name in ("moment", "other"):
        rule = f"column {column.name} must hold text, numbers, truth values or dates"
        reject(rule, column.kind.words, "their values would be no keys of a table", TypeError)


def rows_by_key(column: Column, counted: Mask) -> dict[Any, int]:
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
    return sort_keys((key_of(kind, value), number) for value, number in raw.items())


def people_by_key(column: Column, counted: Mask, frame: Frame, persons: Persons, most: int) -> dict[Any, int]:
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
    return sort_keys(Counter(used_keys).items())


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


def sort_keys(counts: Iterable[tuple[Any, int]]) -> dict[Any, int]:
    """Equal keys added up; numbers, then texts, then dates, each in their order."""
    totals: dict[Any, int] = {}
    for key, number in counts:
        if key is not None and number:
            totals[key] = totals.get(key, 0) + number
    if set(map(type, totals)) <= {int, float}:
        return {key: totals[key] for key in sorted(totals)}
    return {key: totals[key] for key in sorted(totals, key=lambda key: (_SORTS[type(key)], key))}
