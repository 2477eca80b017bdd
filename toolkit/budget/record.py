"""The record behind a ledger: entries that can be added and read, never changed or removed.

`FileRecord` keeps them in SQLite. Every use opens the file, does one transaction and closes it, so that no
connection outlives a call: nothing is shared between threads or carried over a fork or a pickle, and a file
that was moved away is noticed rather than written to. A transaction takes the write lock before it reads, so
that of many processes one decides at a time; it is on the disk before it counts as done. The journal only
serves to undo what was left half done: the file itself holds the whole truth (write-ahead logging would keep
the newest charges in a second file, which a copy may miss).
"""

import os
import sqlite3
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import NoReturn, Protocol, TypeAlias

from toolkit.budget.chain import Entry as Entry
from toolkit.budget.chain import Place, Row, begin, entry_of, follow, link_of, read, row_of
from toolkit.budget.chain import RecordError as RecordError
from toolkit.budget.charges import nothing
from toolkit.budget.note import note_of, read_note, write_note
from toolkit.budget.schema import (
    APPLICATION,
    HEAD,
    VERSION,
    create,
    is_empty,
    is_simulated,
    marks,
    one,
    take_over,
)
from toolkit.core.checks import refuse
from toolkit.core.loss import Loss

_WAIT = 60.0  # seconds to wait for other processes
_RULES = {
    "BUSY": "the ledger's file must be free within a minute",
    "FULL": "the ledger's disk must have room",
    "NOTADB": "the ledger's file must be a ledger",
    "CORRUPT": "the ledger's file must be undamaged",
    "READONLY": "the ledger's file must be writable",
    "CANTOPEN": "the ledger's file must be there and writable",
}


_ONE_AT_A_TIME = threading.RLock()
"""Held while this process uses SQLite, and while it forks: a child must not inherit a transaction half done.
"""
if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=_ONE_AT_A_TIME.acquire,
        after_in_child=_ONE_AT_A_TIME.release,
        after_in_parent=_ONE_AT_A_TIME.release,
    )


Head: TypeAlias = tuple[Loss, str | None, bool, str | None]
"""Ceiling, neighbors, whether it is a simulation's, and the unit."""
Decision: TypeAlias = Callable[[Entry | None], Entry]
"""From the last entry, if any, to the next one; raises to refuse it."""


class Record(Protocol):
    """What a ledger needs of its memory."""

    def append(self, decide: Decision) -> Entry:
        """Add what `decide` makes of the last entry, with nobody else writing in between."""

    @property
    def id(self) -> str:
        """By which documents name it: public, and no two records have the same."""

    def last(self) -> Entry | None: ...

    def entries(self) -> tuple[Entry, ...]: ...


class MemoryRecord:
    """A record that lives and dies with this process; it cannot be copied into another, because a copy has
    its own sum.
    """

    def __init__(self) -> None:
        self._entries: list[Entry] = []
        self._lock = threading.Lock()
        self._process = os.getpid()
        self.id = os.urandom(8).hex()

    def append(self, decide: Decision) -> Entry:
        with self._owned():
            self._entries.append(decide(self._entries[-1] if self._entries else None))
            return self._entries[-1]

    def last(self) -> Entry | None:
        with self._owned():
            return self._entries[-1] if self._entries else None

    def entries(self) -> tuple[Entry, ...]:
        with self._owned():
            return tuple(self._entries)

    @contextmanager
    def _owned(self) -> Iterator[None]:
        if os.getpid() != self._process:
            self._refuse_copy("a forked process")
        with self._lock:
            yield

    def __getstate__(self) -> NoReturn:
        self._refuse_copy("a pickle or deep copy")

    @staticmethod
    def _refuse_copy(received: str) -> NoReturn:
        refuse(
            "a ledger in memory stays in its process",
            received,
            "two copies would spend the budget twice; give it a path",
            TypeError,
        )


class FileRecord:
    """A record in a SQLite file, created if it is not there; `head` is the ceiling and the relation that the
    file was made with, whether it is a simulation's, and the unit.

    Opening and listing follow the whole chain of rows; every other use follows what was added since the last
    one, and sees that the row before is still the same, and that the file holds what the note beside it knows
    of.
    """

    def __init__(self, path: Path, make: Head | None) -> None:
        self.path = path.expanduser().absolute()  # a later change of directory must not lead to a fresh file
        noted = read_note(self.path)  # before the file, as it is written after it
        if make and noted and not self.path.exists():
            self._refuse_older("no file")
        with self._connected("rwc" if make else "rw") as database:
            if make and is_empty(database):
                if noted:
                    self._refuse_older("an empty file")
                create(database, *make)
            if marks(database) in ((APPLICATION, 1), (APPLICATION, 2)):
                take_over(database)
            if marks(database) != (APPLICATION, VERSION):
                refuse(_RULES["NOTADB"], self.path.name, "something else or a later version made it", RecordError)
            self._made = ceiling, neighbors, mark, unit = one(database, HEAD)
            self.head: Head = read(ceiling), neighbors, is_simulated(mark), unit
            self._start = self._place = begin(ceiling, neighbors, mark, nothing(self.head[0]), unit)
            self._row: Row | None = None
            self._last(database, noted)

    @property
    def id(self) -> str:
        return self._start.link[:16]

    def append(self, decide: Decision) -> Entry:
        with self._connected("rw") as database:
            database.execute("BEGIN IMMEDIATE")
            entry = decide(self._last(database, read_note(self.path)))
            row = row_of(entry)
            link = link_of(self._place.link, row)
            database.execute("INSERT INTO entries VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", (*row[:7], link, *row[7:]))
            database.execute(
                "PRAGMA locking_mode = EXCLUSIVE"
            )  # nobody else until the note is written and the file closed
            database.execute("COMMIT")
            self._place, self._row = Place(entry.number, link, entry.total), row
            write_note(self.path, entry.number, link)
            return entry

    def last(self) -> Entry | None:
        noted = read_note(self.path)
        with self._connected("rw") as database:
            return self._last(database, noted)

    def entries(self) -> tuple[Entry, ...]:
        noted = read_note(self.path)
        with self._connected("rw") as database:
            self._last(database, noted)
            return tuple(entry for _, entry in follow(self._start, _rows(database, 1)))

    def _last(self, database: sqlite3.Connection, noted: tuple[int, str] | None) -> Entry | None:
        """The last entry, after all that was added since the last time was checked, and that nothing is
        gone.
        """
        if one(database, HEAD) != self._made:
            self._refuse_older("another file")
        rows = _rows(database, max(self._place.number, 1))
        if self._row is not None and next(rows, None) != (self._row, self._place.link):
            self._refuse_older("an older or another file")
        for row, link in rows:
            ((self._place, _),) = follow(self._place, [(row, link)])
            self._row = row
        if noted and database.execute("SELECT link FROM entries WHERE number = ?", noted[:1]).fetchone() != (noted[1],):
            self._refuse_older("an older or another file")
        return entry_of(self._row) if self._row is not None else None

    def _refuse_older(self, received: str) -> NoReturn:
        note = note_of(self.path)
        known = (
            f"; {note.name} knows of it, and is in the way of a new beginning until it is removed"
            if note.exists()
            else ""
        )
        refuse(
            "the ledger's file must only grow",
            received,
            f"what was spent since is missing from it{known}",
            RecordError,
        )

    @contextmanager
    def _connected(self, mode: str) -> Iterator[sqlite3.Connection]:
        """A connection for one use; leaving it by an exception rolls back."""
        try:
            with _ONE_AT_A_TIME, closing(_connect(self.path, mode)) as database:
                database.execute(
                    "PRAGMA journal_mode = PERSIST"
                )  # ended by a write and a sync, 10 times faster than a deletion
                database.execute("PRAGMA synchronous = FULL")
                yield database
        except sqlite3.Error as error:
            name = str(getattr(error, "sqlite_errorname", "SQLITE_ERROR")).removeprefix("SQLITE_")
            rule = next(
                (rule for code, rule in _RULES.items() if name.startswith(code)),
                "the ledger's file must work",
            )
            refuse(rule, f"“{error}” for {self.path.name}", "nothing was released", RecordError)


def _connect(path: Path, mode: str) -> sqlite3.Connection:
    return sqlite3.connect(f"{path.as_uri()}?mode={mode}", uri=True, timeout=_WAIT, isolation_level=None)


def _rows(database: sqlite3.Connection, first: int) -> Iterator[tuple[Row, str]]:
    """The rows from this number on, each with its link."""
    for *row, link, unit, terms in database.execute(
        "SELECT * FROM entries WHERE number >= ? ORDER BY number", (first,)
    ):
        yield (*row, unit, terms), link
