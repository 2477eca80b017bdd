"""A ledger in a SQLite file: its tables, the chain of its rows, the rollback check, and its publications.

Every use opens the file, does one transaction and closes it, so that no connection outlives a call: nothing is shared
between threads or carried over a fork or a pickle, and a file that was moved away is noticed rather than written to. A
transaction takes the write lock before it reads, so that of many processes one decides at a time; it is on the disk
before it counts as done. The journal only serves to undo what was left half done: the file itself holds the whole truth
(write-ahead logging would keep the newest charges in a second file, which a copy may miss).

The rollback check: budget.db-last holds the number and the link of the last charge, and so detects that the file was
replaced by an older copy. It is written after each charge is on the disk and before anybody else may charge, so it is
never ahead of the file. A process that dies in between leaves it one charge behind, until the next one. A note that is
not there, or that is not whole, says nothing: a ledger's file may be copied or moved without it.

The publications: budget.db-published has one line per publication, with the number of the charge, the name of
the document and the SHA-256 of its table. It helps readers, and is no part of what the ledger enforces.
"""

import contextlib
import hashlib
import json
import os
import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager, closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from toolkit.budget.charges import (
    COPY,
    ChainPosition,
    Decision,
    Entry,
    Head,
    Publication,
    RecordError,
    Row,
    begin,
    deserialize,
    entry_of,
    follow,
    link_of,
    nothing,
    row_of,
    serialize,
)
from toolkit.core.checks import reject

if TYPE_CHECKING:
    import sqlite3

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
"""Held while this process uses SQLite, and while it forks: a child must not inherit a transaction half done."""
if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=_ONE_AT_A_TIME.acquire, after_in_child=_ONE_AT_A_TIME.release, after_in_parent=_ONE_AT_A_TIME.release
    )


class DurableRecord:
    """A record in a database, and what this process knows of it: the head, and how far its rows were followed.

    Opening and listing follow the whole chain of rows; every other use follows what was added since the last one,
    and checks that the row before is still the same, and that the record holds what the note knows of. A subclass
    says how to connect (`_connected`), how to keep others from writing (`_begin`) and how to end (`_commit`).
    """

    name: str
    beside: Path
    head: Head
    """Of what the note is kept, what the record is called, and what it was made with."""

    def _open(self, database: object, noted: tuple[int, str] | None) -> None:
        self._made = ceiling, neighbors, mark, unit = one(database, HEAD)
        self.head = deserialize(ceiling), neighbors, is_simulated(mark), unit
        self._start = self._place = begin(ceiling, neighbors, mark, nothing(self.head[0]), unit)
        self._row: Row | None = None
        self._last(database, noted)

    @property
    def id(self) -> str:
        return self._start.link[:16]

    def append(self, decide: Decision) -> Entry:
        with self._connected() as database:
            self._begin(database)
            entry = decide(self._last(database, read_note(self.beside)))
            row = row_of(entry)
            link = link_of(self._place.link, row)
            database.execute(
                "INSERT INTO main.entries VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", (*row[:7], link, *row[7:])
            )
            self._commit(database)
            self._place, self._row = ChainPosition(entry.number, link, entry.total), row
            write_note(self.beside, entry.number, link)
            return entry

    def last(self) -> Entry | None:
        noted = read_note(self.beside)
        with self._connected() as database:
            return self._last(database, noted)

    def entries(self) -> tuple[Entry, ...]:
        noted = read_note(self.beside)
        with self._connected() as database:
            self._last(database, noted)
            return tuple(entry for _, entry in follow(self._start, _rows(database, 1), self._REMEDY))

    def _last(self, database: Any, noted: tuple[int, str] | None) -> Entry | None:
        """The last entry, after checking all that was added since the last time, and that nothing is gone."""
        if one(database, HEAD) != self._made:
            self._refuse_older(f"another {self._KIND}")
        rows = _rows(database, max(self._place.number, 1))
        if self._row is not None and next(rows, None) != (self._row, self._place.link):
            self._refuse_older(f"an older or another {self._KIND}")
        for row, link in rows:
            ((self._place, _),) = follow(self._place, [(row, link)], self._REMEDY)
            self._row = row
        if noted and database.execute("SELECT link FROM main.entries WHERE number = ?", noted[:1]).fetchone() != (
            noted[1],
        ):
            self._refuse_older(f"an older or another {self._KIND}")
        return entry_of(self._row) if self._row is not None else None

    _KIND, _REMEDY = "file", COPY

    def _refuse_older(self, received: str) -> NoReturn:
        note, known = note_of(self.beside), ""
        if note.exists():
            known = f"; {note.name} knows of it, and is in the way of a new beginning until it is removed"
        consequence = f"what was spent since is missing from it{known}"
        reject(f"the ledger's {self._KIND} must only grow", received, consequence, RecordError)

    def _connected(self) -> AbstractContextManager[Any]:
        raise NotImplementedError

    def _begin(self, database: Any) -> None:
        raise NotImplementedError

    def _commit(self, database: Any) -> None:
        raise NotImplementedError


class FileRecord(DurableRecord):
    """A record in a SQLite file, created if it is not there."""

    def __init__(self, path: Path, make: Head | None) -> None:
        # Neither a later change of directory may lead to a fresh file, nor a link to another note.
        self.path = self.beside = path.expanduser().resolve()
        self.name = self.path.name
        noted = read_note(self.path)  # before the file, as it is written after it
        if not self.path.exists():
            if noted:
                self._refuse_older("no file")
            if not make:
                rule, remedy = "a ledger that is opened must be there", "a new one is made by Ledger(Pure(1.0), path)"
                reject(rule, f"no file {self.name} in {self.path.parent}", remedy, RecordError)
        with self._connected("rwc" if make else "rw") as database:
            if make and is_empty(database):
                if noted:
                    self._refuse_older("an empty file")
                create(database, make)
            if marks(database) in ((APPLICATION, 1), (APPLICATION, 2)):
                take_over(database)
            if marks(database) != (APPLICATION, VERSION):
                reject(_RULES["NOTADB"], self.path.name, "something else or a later version made it", RecordError)
            self._open(database, noted)

    @property
    def register(self) -> "FileRegister":
        return FileRegister(self.path)

    def _begin(self, database: "sqlite3.Connection") -> None:
        database.execute("BEGIN IMMEDIATE")

    def _commit(self, database: "sqlite3.Connection") -> None:
        # Nobody else charges until the note is written and the file closed.
        database.execute("PRAGMA locking_mode = EXCLUSIVE")
        database.execute("COMMIT")

    @contextmanager
    def _connected(self, mode: str = "rw") -> Iterator["sqlite3.Connection"]:
        """A connection for one use; leaving it by an exception rolls back. A reader undoes what was left half done."""
        # Here, as a ledger in memory needs none: in a browser SQLite may not have been fetched.
        import sqlite3

        try:
            with _ONE_AT_A_TIME, closing(connect(self.path, mode)) as database:
                database.execute("PRAGMA journal_mode = PERSIST")  # 10 times faster than deleting the journal
                database.execute("PRAGMA synchronous = FULL")
                yield database
        except sqlite3.Error as error:
            name = str(getattr(error, "sqlite_errorname", "SQLITE_ERROR")).removeprefix("SQLITE_")
            rule = next((rule for code, rule in _RULES.items() if name.startswith(code)), "the ledger's file must work")
            reject(rule, f"“{error}” for {self.path.name}", "nothing was released", RecordError)


def connect(path: Path, mode: str) -> "sqlite3.Connection":
    """A connection to a file, which waits a minute for other processes."""
    import sqlite3

    return sqlite3.connect(f"{path.as_uri()}?mode={mode}", uri=True, timeout=_WAIT, isolation_level=None)


def _rows(database: Any, first: int) -> Iterator[tuple[Row, str]]:
    for *row, link, unit, terms in database.execute(
        "SELECT * FROM main.entries WHERE number >= ? ORDER BY number", (first,)
    ):
        yield (*row, unit, terms), link


# Tables: how they are made, and how those of older versions are taken over.

APPLICATION, VERSION = 0x4C454447, 3  # "LEDG"
_SIMULATED = "simulated-"
_KEPT = """
CREATE TRIGGER head_keep BEFORE UPDATE ON head BEGIN SELECT RAISE(ABORT, 'a ceiling never changes'); END

CREATE TRIGGER entries_keep BEFORE UPDATE ON entries BEGIN SELECT RAISE(ABORT, 'a charge is never taken back'); END
"""
_SCHEMA = """
CREATE TABLE head (id INTEGER PRIMARY KEY CHECK (id = 1), ceiling TEXT NOT NULL, neighbors TEXT, mark TEXT NOT NULL, unit TEXT)

CREATE TABLE entries (
  number INTEGER PRIMARY KEY, label TEXT NOT NULL, mechanism TEXT NOT NULL, neighbors TEXT,
  loss TEXT NOT NULL, charged TEXT NOT NULL, total TEXT NOT NULL, link TEXT NOT NULL, unit TEXT, terms TEXT)

CREATE TRIGGER head_stay BEFORE DELETE ON head BEGIN SELECT RAISE(ABORT, 'a ceiling never changes'); END

CREATE TRIGGER head_once BEFORE INSERT ON head WHEN (SELECT count(*) FROM head) > 0
  BEGIN SELECT RAISE(ABORT, 'a ceiling never changes'); END

CREATE TRIGGER entries_stay BEFORE DELETE ON entries BEGIN SELECT RAISE(ABORT, 'a charge is never taken back'); END

CREATE TRIGGER entries_once BEFORE INSERT ON entries WHEN NEW.number IS NOT (SELECT coalesce(max(number), 0) + 1 FROM entries)
  BEGIN SELECT RAISE(ABORT, 'charges are only added at the end'); END
"""  # the two triggers on insertion also stop INSERT OR REPLACE, which deletes without asking the others  # noqa: E501
_FIRST_VERSION = """
ALTER TABLE head ADD COLUMN mark TEXT NOT NULL DEFAULT ''

ALTER TABLE entries ADD COLUMN link TEXT NOT NULL DEFAULT ''

DROP TRIGGER head_keep

DROP TRIGGER entries_keep
"""
_SECOND_VERSION = """
ALTER TABLE head ADD COLUMN unit TEXT

ALTER TABLE entries ADD COLUMN unit TEXT

ALTER TABLE entries ADD COLUMN terms TEXT
"""
HEAD = "SELECT ceiling, neighbors, mark, unit FROM main.head"


def head_row(made: Head) -> tuple[str | None, ...]:
    ceiling, neighbors, simulated, unit = made
    return serialize(ceiling), neighbors, new_mark(simulated), unit


def create(database: "sqlite3.Connection", made: Head) -> None:
    database.execute("BEGIN IMMEDIATE")
    if is_empty(database):  # still, now that nobody else writes
        execute_all(database, _SCHEMA)
        execute_all(database, _KEPT)
        database.execute(f"PRAGMA application_id = {APPLICATION}")
        database.execute(f"PRAGMA user_version = {VERSION}")
        database.execute("INSERT INTO head VALUES (1, ?, ?, ?, ?)", head_row(made))
    database.execute("COMMIT")


def take_over(database: "sqlite3.Connection") -> None:
    """Chain the rows of a file of version 1, if its totals are the sums of its charges, and make room for the unit in
    one of version 1 or 2; no charge is changed. All happens in one transaction. A process with an older version that
    has the file open can then no longer charge, because its rows are shorter.
    """
    database.execute("BEGIN IMMEDIATE")
    if marks(database) == (APPLICATION, 1):  # still, now that nobody else writes
        (ceiling, neighbors), mark = one(database, "SELECT ceiling, neighbors FROM head"), new_mark(False)
        place = begin(ceiling, neighbors, mark, nothing(deserialize(ceiling)))
        links = []
        for row in database.execute("SELECT * FROM entries ORDER BY number"):
            longer = (*row, None, None)
            ((place, entry),) = follow(place, [(longer, link_of(place.link, longer))])
            links.append((place.link, entry.number))
        execute_all(database, _FIRST_VERSION)
        database.execute("UPDATE head SET mark = ?", (mark,))
        database.executemany("UPDATE entries SET link = ? WHERE number = ?", links)
        execute_all(database, _KEPT)
        database.execute("PRAGMA user_version = 2")
    if marks(database) == (APPLICATION, 2):
        execute_all(database, _SECOND_VERSION)
        database.execute(f"PRAGMA user_version = {VERSION}")
    database.execute("COMMIT")


def is_empty(database: "sqlite3.Connection") -> bool:
    return one(database, "SELECT 1 FROM sqlite_master") is None


def marks(database: "sqlite3.Connection") -> tuple[int, int]:
    """Whose file it is, and of which version."""
    return (*one(database, "PRAGMA application_id"), *one(database, "PRAGMA user_version"))


def one(database: Any, query: str) -> Any:
    return database.execute(query).fetchone()


def execute_all(database: Any, statements: str) -> None:
    """Execute statements that empty lines separate."""
    for statement in statements.strip().split("\n\n"):
        database.execute(statement)


def new_mark(simulated: bool) -> str:
    """So that two files with the same charges are not taken for one; the chain of rows begins with it."""
    return (_SIMULATED if simulated else "") + os.urandom(16).hex()


def is_simulated(mark: str) -> bool:
    return mark.startswith(_SIMULATED)


# The rollback check.

_LAST = "-last"


def note_of(path: Path) -> Path:
    return path.with_name(path.name + _LAST)


def read_note(path: Path) -> tuple[int, str] | None:
    """The number and the link of the last charge, as far as the note beside the file knows."""
    with contextlib.suppress(OSError, ValueError):
        text = note_of(path).read_text(encoding="ascii")
        number, link, _ = text.split()
        if text == _note_text(int(number), link):
            return int(number), link
    return None


def write_note(path: Path, number: int, link: str) -> None:
    """In one write, of one length; where the disk does not allow it, the older note stays, which is true as well."""
    with contextlib.suppress(OSError):
        file = os.open(note_of(path), os.O_WRONLY | os.O_CREAT, 0o666)
        try:
            os.write(file, _note_text(number, link).encode("ascii"))
        finally:
            os.close(file)


def _note_text(number: int, link: str) -> str:
    """The last part tells a whole note from one that a power cut left half written."""
    content = f"{number:020} {link}"
    return f"{content} {hashlib.sha256(content.encode()).hexdigest()[:16]}\n"


# Publications.


@dataclass(frozen=True)
class FileRegister:
    """A list in a file beside that of a ledger; a line is added in one write: processes may share it."""

    ledger: Path

    @property
    def path(self) -> Path:
        return self.ledger.with_name(self.ledger.name + "-published")

    def add(self, entry: int, file: str, digest: str) -> None:
        line = json.dumps({"entry": entry, "file": file, "sha256": digest}) + "\n"
        with self.path.open("ab", buffering=0) as register:
            register.write(line.encode("utf-8", "backslashreplace"))

    def publications(self) -> tuple[Publication, ...]:
        """All whole lines; one that a power cut left half written says nothing."""
        if not self.path.exists():
            return ()
        listed = []
        for line in self.path.read_text(encoding="utf-8").splitlines():
            with contextlib.suppress(ValueError, KeyError, TypeError):
                line_facts: dict[str, Any] = json.loads(line)
                listed.append(Publication(int(line_facts["entry"]), str(line_facts["file"]), str(line_facts["sha256"])))
        return tuple(listed)
