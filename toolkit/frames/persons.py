"""`Persons`: whose each row is, and which rows of a person are used where one has more than the caps allow.

What is kept of a person depends on that person's own rows alone: on their number and order, never on anybody
else's. Which they are is drawn by a hash with a key that is made once for each curator and never told, so
that no value could be chosen in order to be kept, and the same rows are used in every table of one frame.
"""

import hashlib
import secrets
from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
import numpy.typing as npt

from toolkit.core.arrays import Codes, Label
from toolkit.core.checks import refuse, whole
from toolkit.frames import cells
from toolkit.frames import values as typed
from toolkit.frames.column import Column
from toolkit.frames.frame import Frame


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
        """How many people of a period are counted; one entry per record, in any order."""
        if isinstance(people, str | bytes):
            refuse("`people` must be a list of names", "one text", "its letters would be people", TypeError)
        present = {name for name in people if _is_name(name)}
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


_Hashes = npt.NDArray[np.uint64]


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
    def _each(self) -> int:
        return self.rows if self.each is None else min(self.each, self.rows)

    def _cells(self, cells: int) -> int:
        return cells if self.groups is None else min(self.groups, cells)


ONE = Caps()
"""One row per person."""


@dataclass(frozen=True, eq=False)
class Owned:
    """Of each row the person it is of, -1 for nobody; a hash of that person, and one of the row's place among
    that person's rows.
    """

    person: Codes
    tag: _Hashes
    draw: _Hashes


@dataclass(frozen=True, eq=False)
class Persons:
    """The column that says whose a row is, and how much of one person is used; a row of nobody is not."""

    label: Any
    name: str
    caps: Caps
    key: bytes = field(default_factory=lambda: secrets.token_bytes(32), repr=False)
    _known: "WeakKeyDictionary[Frame, Owned]" = field(default_factory=WeakKeyDictionary, repr=False)

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

    def limited(self, frame: Frame, codes: Codes) -> Codes:
        """Codes of cells, -1 for the rows beyond the caps: first those in a cell, then cells, then all."""
        owned, caps = self._owned(frame), self.caps
        used = np.flatnonzero((codes >= 0) & (owned.person >= 0))
        if caps.each is not None:
            used = used[_ranks(owned.draw[used], codes[used], owned.person[used]) < caps.each]
        if caps.groups is not None:
            drawn = _mixed(owned.tag[used] + _mixed(codes[used].astype(np.uint64)))
            used = used[_group_ranks(drawn, owned.person[used], codes[used]) < caps.groups]
        used = used[_ranks(owned.draw[used], owned.person[used]) < caps.rows]
        limited_codes = np.full(len(codes), -1, dtype=np.int64)
        limited_codes[used] = codes[used]
        return limited_codes

    def tagged(self, frame: Frame) -> tuple[Codes, _Hashes]:
        """Whose each row is, -1 for nobody, and what was drawn for that person."""
        owned = self._owned(frame)
        return owned.person, owned.tag

    def _owned(self, frame: Frame) -> Owned:
        """Read once: a frame does not change."""
        if frame not in self._known:
            person, names = identities(frame.column(self.label))
            tags = np.array([self._tag(name) for name in names] + [0], dtype=np.uint64)[person]
            place = _ranks(np.arange(len(person), dtype=np.uint64), person)
            self._known[frame] = Owned(person, tags, _mixed(tags ^ _mixed(place.astype(np.uint64) + np.uint64(1))))
        return self._known[frame]

    def _tag(self, name: Hashable) -> int:
        return int.from_bytes(hashed(name, self.key, 8))


def identities(column: Column) -> tuple[Codes, list[Hashable]]:
    """The place of each row's person in a list, -1 where none is named. 1 and 1.0 are one person, "1" another."""
    if column.kind.one_by_one or column.kind.name == "text":
        places: dict[Hashable, int] = {}
        keys = (cells.identity(cell) for cell in column.cells())
        codes = [-1 if key is None or key is cells.NOTHING else places.setdefault(key, len(places)) for key in keys]
        return np.array(codes, dtype=np.int64), list(places)
    values, missing = typed.numeric(column, days=False)
    distinct, places_of = np.unique(values[~missing], return_inverse=True)
    person = np.full(len(values), -1, dtype=np.int64)
    person[~missing] = places_of
    return person, distinct.tolist()


def check_names(frame: Frame, label: object) -> str:
    """The name of a column, refused if its type cannot say whose a row is."""
    column = frame.column(label)
    if column.kind.name == "other":
        rule = f"column {column.name} must say whose a row is"
        refuse(rule, column.kind.words, "they cannot be compared", TypeError)
    return column.name


def hashed(name: Hashable, key: bytes, size: int) -> bytes:
    """A hash of a name, equal for equal names."""
    return hashlib.blake2b(_spelled(name), key=key, digest_size=size).digest()


def _spelled(name: Hashable) -> bytes:
    """Equal names alike, others otherwise, without a method of an unknown type."""
    if isinstance(name, tuple):
        return repr(tuple(name)).encode()
    if isinstance(name, str):
        return b"text " + name.encode("utf-8", "surrogatepass")
    if isinstance(name, Decimal | Fraction) and cells.key(name) == name:
        name = cells.key(name)
    whole = isinstance(name, float) and name.is_integer()
    return f"number {int(name) if whole else name!r}".encode()  # type: ignore[call-overload]


def _mixed(numbers: _Hashes) -> _Hashes:
    """Each number to another one that looks random (the finalizer of SplitMix64)."""
    mixed = numbers + np.uint64(0x9E3779B97F4A7C15)
    mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.asarray(mixed ^ (mixed >> np.uint64(31)))


def _ranks(draw: npt.NDArray[Any], *groups: Codes) -> Codes:
    """The rank of each row among those of its group, by what was drawn."""
    order = np.lexsort((draw, *groups))
    first = np.ones(len(order), dtype=bool)
    if len(order):
        first[1:] = np.logical_or.reduce([np.diff(group[order]) != 0 for group in groups])
    count = np.arange(len(order))
    ranks = np.empty(len(order), dtype=np.int64)
    ranks[order] = count - np.maximum.accumulate(np.where(first, count, 0))
    return ranks


def _group_ranks(draw: _Hashes, person: Codes, codes: Codes) -> Codes:
    """The rank of each row's cell among those of its person."""
    order = np.lexsort((codes, draw, person))
    new, again = np.ones(len(order), dtype=bool), np.zeros(len(order), dtype=bool)
    if len(order):
        again[1:] = np.diff(person[order]) == 0
        new[1:] = ~again[1:] | (np.diff(codes[order]) != 0)
    count = np.cumsum(new)
    ranks = np.empty(len(order), dtype=np.int64)
    ranks[order] = count - np.maximum.accumulate(np.where(again, 0, count))
    return ranks
