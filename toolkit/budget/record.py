"""The record behind a ledger: entries that can be added and read, never changed or removed.

`FileRecord` keeps them in SQLite. Every use opens the file, does one transaction and closes it, so that no connection
outlives a call: nothing is shared between threads or carried over a fork or a pickle, and a file that was moved away is
noticed rather than written to. A transaction takes the write lock before it reads, so that of many processes one decides
at a time; it is on the disk before it counts as done. The journal only serves to undo what was left half done: the file
itself holds the whole truth (write-ahead logging would keep the newest charges in a second file, which a copy may miss).
"""

import os
import sqlite3
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any, NoReturn, Protocol, TypeAlias

from toolkit.core.checks import refuse
from toolkit.core.loss import Approx, Loss, Pure, Zcdp

_WAIT = 60.0  # seconds to wait for other processes
_APPLICATION, _VERSION = 0x4C454447, 1  # "LEDG"
_SCHEMA = """
CREATE TABLE head (id INTEGER PRIMARY KEY CHECK (id = 1), ceiling TEXT NOT NULL, neighbors TEXT)

CREATE TABLE entries (
  number INTEGER PRIMARY KEY, label TEXT NOT NULL, mechanism TEXT NOT NULL, neighbors TEXT,
  loss TEXT NOT NULL, charged TEXT NOT NULL, total TEXT NOT NULL)

CREATE TRIGGER head_keep BEFORE UPDATE ON head BEGIN SELECT RAISE(ABORT, 'a ceiling never changes'); END

CREATE TRIGGER head_stay BEFORE DELETE ON head BEGIN SELECT RAISE(ABORT, 'a ceiling never changes'); END

CREATE TRIGGER head_once BEFORE INSERT ON head WHEN (SELECT count(*) FROM head) > 0
  BEGIN SELECT RAISE(ABORT, 'a ceiling never changes'); END

CREATE TRIGGER entries_keep BEFORE UPDATE ON entries BEGIN SELECT RAISE(ABORT, 'a charge is never taken back'); END

CREATE TRIGGER entries_stay BEFORE DELETE ON entries BEGIN SELECT RAISE(ABORT, 'a charge is never taken back'); END

CREATE TRIGGER entries_once BEFORE INSERT ON entries WHEN NEW.number IS NOT (SELECT coalesce(max(number), 0) + 1 FROM entries)
  BEGIN SELECT RAISE(ABORT, 'charges are only added at the end'); END
"""  # the two triggers on insertion also stop INSERT OR REPLACE, which deletes without asking the others
_KINDS: dict[str, Callable[..., Loss]] = {"pure": Pure, "approx": Approx, "zcdp": Zcdp}
_RULES = {
    "BUSY": "the ledger's file must be free within a minute",
    "FULL": "the ledger's disk must have room",
    "NOTADB": "the ledger's file must be a ledger",
    "CORRUPT": "the ledger's file must be undamaged",
    "READONLY": "the ledger's file must be writable",
    "CANTOPEN": "the ledger's file must be there and writable",
}


_ONE_AT_A_TIME = threading.RLock()
"""Held while this process uses SQLite, and while it forks: a child must not inherit a transaction half done."""
if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=_ONE_AT_A_TIME.acquire, after_in_child=_ONE_AT_A_TIME.release, after_in_parent=_ONE_AT_A_TIME.release
    )


class RecordError(OSError):
    """The record cannot be read or written; nothing is released without a charge that is on the disk."""


@dataclass(frozen=True)
class Entry:
    """One charge: the loss as it was asked for, what was charged in the ceiling's currency, and the total after it."""

    number: int
    label: str
    mechanism: str
    neighbors: str | None
    loss: Loss
    charged: Loss
    total: Loss


Decision: TypeAlias = Callable[[Entry | None], Entry]
"""From the last entry, if any, to the next one; raises to refuse it."""


class Record(Protocol):
    """What a ledger needs of its memory."""

    def append(self, decide: Decision) -> Entry:
        """Add what `decide` makes of the last entry, with nobody else writing in between."""

    def last(self) -> Entry | None: ...

    def entries(self) -> tuple[Entry, ...]: ...


class MemoryRecord:
    """A record that lives and dies with this process; it cannot be copied into another, because a copy has its own sum."""

    def __init__(self) -> None:
        self._entries: list[Entry] = []
        self._lock = threading.Lock()
        self._process = os.getpid()

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
    """A record in a SQLite file, created if it is not there; `head` is the ceiling and the relation that the file was made with."""

    def __init__(self, path: Path, make: tuple[Loss, str | None] | None) -> None:
        self.path = path.expanduser().absolute()  # a later change of directory must not lead to a fresh file
        self._longest = 0
        with self._connected("rwc" if make else "rw") as database:
            if make and _is_empty(database):
                _create(database, *make)
            marks = _one(database, "PRAGMA application_id") + _one(database, "PRAGMA user_version")
            if marks != (_APPLICATION, _VERSION):
                refuse(_RULES["NOTADB"], self.path.name, "something else or a later version made it", RecordError)
            self._ceiling, neighbors = _one(database, "SELECT ceiling, neighbors FROM head")
        self.head: tuple[Loss, str | None] = _read(self._ceiling), neighbors

    def append(self, decide: Decision) -> Entry:
        with self._connected("rw") as database:
            database.execute("BEGIN IMMEDIATE")
            entry = decide(self._last(database))
            values = (entry.number, entry.label, entry.mechanism, entry.neighbors)
            losses = (_written(entry.loss), _written(entry.charged), _written(entry.total))
            database.execute("INSERT INTO entries VALUES (?, ?, ?, ?, ?, ?, ?)", (*values, *losses))
            database.execute("COMMIT")
            self._longest = max(self._longest, entry.number)
            return entry

    def last(self) -> Entry | None:
        with self._connected("rw") as database:
            return self._last(database)

    def entries(self) -> tuple[Entry, ...]:
        with self._connected("rw") as database:
            return tuple(map(_entry, database.execute("SELECT * FROM entries ORDER BY number")))

    def _last(self, database: sqlite3.Connection) -> Entry | None:
        row = database.execute("SELECT * FROM entries ORDER BY number DESC LIMIT 1").fetchone()
        same = _one(database, "SELECT ceiling FROM head")[0] == self._ceiling
        if not same or (row[0] if row else 0) < self._longest:
            refuse(
                "the ledger's file must only grow",
                "an older or another file",
                "what was spent since is missing from it",
                RecordError,
            )
        return _entry(row) if row else None

    @contextmanager
    def _connected(self, mode: str) -> Iterator[sqlite3.Connection]:
        """A connection for one use; leaving it by an exception rolls back."""
        try:
            with _ONE_AT_A_TIME, closing(_connect(self.path, mode)) as database:
                database.execute("PRAGMA journal_mode = PERSIST")  # ended by a write and a sync, 10 times faster than a deletion
                database.execute("PRAGMA synchronous = FULL")
                yield database
        except sqlite3.Error as error:
            name = str(getattr(error, "sqlite_errorname", "SQLITE_ERROR")).removeprefix("SQLITE_")
            rule = next((rule for code, rule in _RULES.items() if name.startswith(code)), "the ledger's file must work")
            refuse(rule, f"“{error}” for {self.path.name}", "nothing was released", RecordError)


def _connect(path: Path, mode: str) -> sqlite3.Connection:
    return sqlite3.connect(f"{path.as_uri()}?mode={mode}", uri=True, timeout=_WAIT, isolation_level=None)


def _create(database: sqlite3.Connection, ceiling: Loss, neighbors: str | None) -> None:
    database.execute("BEGIN IMMEDIATE")
    if _is_empty(database):  # still, now that nobody else writes
        for statement in _SCHEMA.strip().split("\n\n"):
            database.execute(statement)
        database.execute(f"PRAGMA application_id = {_APPLICATION}")
        database.execute(f"PRAGMA user_version = {_VERSION}")
        database.execute("INSERT INTO head VALUES (1, ?, ?)", (_written(ceiling), neighbors))
    database.execute("COMMIT")


def _is_empty(database: sqlite3.Connection) -> bool:
    return database.execute("SELECT 1 FROM sqlite_master").fetchone() is None


def _one(database: sqlite3.Connection, query: str) -> Any:
    return database.execute(query).fetchone()


def _entry(row: tuple[int, str, str, str | None, str, str, str]) -> Entry:
    number, label, mechanism, neighbors, *losses = row
    return Entry(number, label, mechanism, neighbors, *map(_read, losses))


def _written(loss: Loss) -> str:
    """For example "approx 1/2 1/1000000": exact, and readable in any SQLite browser."""
    amounts = (loss.amount, loss.slack) if isinstance(loss, Approx) else (loss.amount,)
    return " ".join([type(loss).__name__.lower(), *map(str, amounts)])


def _read(text: str) -> Loss:
    try:
        kind, *amounts = text.split()
        return _KINDS[kind](*map(Fraction, amounts))
    except (AttributeError, KeyError, TypeError, ValueError, ZeroDivisionError):
        refuse(_RULES["CORRUPT"], "a loss that cannot be read", "what was spent is not known", RecordError)
