"""The record behind a ledger: entries that can be added and read, never changed or removed.

Entries form a chain: each row holds a hash of the row before it and of itself, and a total that is the sum so
far. A row that was changed, removed, added or moved breaks the chain unless every later row was recomputed, and
so does a total that is not the sum of the charges. It is a check against mistakes, not against attackers:
nothing here is secret, so who can write the file can also write another chain. What the chain alone cannot
show is that rows are missing at its end; the rollback check of `toolkit.budget.ledger_file` is for that.
"""

import hashlib
import json
import os
import threading
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, NoReturn, Protocol, TypeAlias

from toolkit.core.checks import refuse
from toolkit.core.loss import Approx, Loss, Pure, Zcdp

Row: TypeAlias = tuple[int, str, str, str | None, str, str, str, str | None, str | None]
"""An entry as it is written down: number, label, mechanism, neighbors, loss, charged, total, unit, terms; the
last two were not there before version 3.
"""

_KINDS: dict[str, Callable[..., Loss]] = {"pure": Pure, "approx": Approx, "zcdp": Zcdp}
_CHAIN = "the ledger's rows must be as they were written"
_UNKNOWN = "what was spent is not known; put back an undamaged copy that is no older"


class RecordError(OSError):
    """The record cannot be read or written; nothing is released without a charge that is on the disk."""


@dataclass(frozen=True)
class Entry:
    """One charge.

    Parameters
    ----------
    number : int
        From 1 on, without a gap.
    label : str
        What it was for.
    mechanism : str
        The name of the mechanism.
    neighbors : str or None
        Whom the promise is about.
    loss : Loss
        As it was asked for.
    charged : Loss
        That in the ceiling's currency.
    total : Loss
        The sum of all charges after it.
    unit : str or None
        Who the totals are about, None where nobody stated it.
    terms : str
        What the charge rests on: what is used of a person, or how many events one has.
    """

    number: int
    label: str
    mechanism: str
    neighbors: str | None
    loss: Loss
    charged: Loss
    total: Loss
    unit: str | None = None
    terms: str = ""


@dataclass(frozen=True)
class Place:
    """Where a chain has been followed to: the number, the link and the total of the last row; 0 before the first."""

    number: int
    link: str
    total: Loss


def begin(ceiling: str, neighbors: str | None, mark: str, total: Loss, unit: str | None = None) -> Place:
    """The place before the first row; `mark` is random, so that no two files have a link in common."""
    return Place(0, digest(_without_end((ceiling, neighbors, mark, unit))), total)


def link_of(before: str, row: Row) -> str:
    """What a row adds to the chain."""
    return digest([before, *_without_end(row)])


def _without_end(row: tuple[Any, ...]) -> list[object]:
    """All but the empty columns at the end: rows of older versions have none, and keep their links."""
    listed = list(row)
    while listed and listed[-1] is None:
        listed.pop()
    return listed


def follow(place: Place, rows: Iterable[tuple[Row, str]]) -> Iterator[tuple[Place, Entry]]:
    """Rows with their links, checked one after the other from `place` on; refuses the first that does not
    belong there.
    """
    for row, link in rows:
        number = place.number + 1
        if row[0] != number or link != link_of(place.link, row):
            refuse(_CHAIN, f"charge {number} changed, moved or missing", _UNKNOWN, RecordError)
        entry = entry_of(row)
        kinds = {type(loss) for loss in (entry.charged, entry.total, place.total)}
        if len(kinds) > 1 or entry.total != place.total + entry.charged:
            received = f"a total after charge {number} that is not the sum of the charges"
            refuse(_CHAIN, received, _UNKNOWN, RecordError)
        place = Place(number, link, entry.total)
        yield place, entry


def row_of(entry: Entry) -> Row:
    losses = written(entry.loss), written(entry.charged), written(entry.total)
    said = entry.unit, entry.terms or None
    return (entry.number, entry.label, entry.mechanism, entry.neighbors, *losses, *said)


def entry_of(row: tuple[Any, ...]) -> Entry:
    number, label, mechanism, neighbors, loss, charged, total, *said = row
    unit, terms = said or (None, None)  # a stream's file may hold a row of an older version
    losses = read(loss), read(charged), read(total)
    return Entry(number, label, mechanism, neighbors, *losses, unit, terms or "")


def written(loss: Loss) -> str:
    """For example "approx 1/2 1/1000000": exact, and readable in any SQLite browser."""
    amounts = (loss.amount, loss.slack) if isinstance(loss, Approx) else (loss.amount,)
    return " ".join([type(loss).__name__.lower(), *map(str, amounts)])


def read(text: str) -> Loss:
    try:
        kind, *amounts = text.split()
        return _KINDS[kind](*map(Fraction, amounts))
    except (AttributeError, KeyError, TypeError, ValueError, ZeroDivisionError):
        consequence = "what was spent is not known"
        refuse("the ledger's file must be undamaged", "a loss that cannot be read", consequence, RecordError)


def digest(content: list[object]) -> str:
    """The SHA-256 of a list, as JSON."""
    return hashlib.sha256(json.dumps(content, default=repr).encode()).hexdigest()


Head: TypeAlias = tuple[Loss, str | None, bool, str | None]
"""Ceiling, neighbors, whether it is a simulation's, and the unit."""
Decision: TypeAlias = Callable[[Entry | None], Entry]
"""From the last entry, if any, to the next one; raises to refuse it."""


class MemoryRecord:
    """What a ledger needs of its memory, in this process: it cannot be copied into another, because a copy has its
    own sum.
    """

    def __init__(self) -> None:
        self._entries: list[Entry] = []
        self._lock = threading.Lock()
        self._process = os.getpid()
        self.id, self.name = os.urandom(8).hex(), "in memory"
        self.register: Register = MemoryRegister()

    def append(self, decide: Decision) -> Entry:
        """Add what `decide` makes of the last entry."""
        entries = self._owned()
        with self._lock:
            entries.append(decide(entries[-1] if entries else None))
            return entries[-1]

    def last(self) -> Entry | None:
        """The newest entry."""
        entries = self._owned()
        return entries[-1] if entries else None

    def entries(self) -> tuple[Entry, ...]:
        """All entries, the oldest first."""
        return tuple(self._owned())

    def _owned(self) -> list[Entry]:
        if os.getpid() != self._process:
            self._refuse_copy("a forked process")
        return self._entries

    def __getstate__(self) -> NoReturn:
        self._refuse_copy("a pickle or deep copy")

    @staticmethod
    def _refuse_copy(received: str) -> NoReturn:
        remedy = "two copies would spend the budget twice; give it a path"
        refuse("a ledger in memory stays in its process", received, remedy, TypeError)


class Register(Protocol):
    """Where publications of a ledger's releases are listed."""

    def add(self, entry: int, file: str, digest: str) -> None: ...

    def publications(self) -> "tuple[Publication, ...]": ...


@dataclass(frozen=True)
class Publication:
    """A charge's number, the name of the document, and the hash of its table."""

    entry: int
    file: str
    sha256: str


@dataclass(frozen=True, eq=False)
class MemoryRegister:
    """A list that lives as long as its ledger."""

    listed: list[Publication] = field(default_factory=list)

    def add(self, entry: int, file: str, digest: str) -> None:
        self.listed.append(Publication(entry, file, digest))

    def publications(self) -> tuple[Publication, ...]:
        return tuple(self.listed)

    def __deepcopy__(self, _: object) -> "MemoryRegister":
        """Itself: what a copy of an estimate publishes is of the same ledger."""
        return self
