"""A ledger in a SQLite file: its tables, the chain of its rows, the rollback check, and its publications.

Every use opens the file, runs one transaction and closes it. No connection outlives a call, so nothing is shared
between threads or inherited through a fork or a pickle, and the ledger never writes to a file that was moved away. A
transaction takes the write lock before it reads, so only one process decides at a time, and it is complete only when it
is on the disk. The journal only serves to undo incomplete transactions: the file itself contains all charges.
Write-ahead logging would store the newest charges in a second file, which a copy may miss.

The rollback check uses a note, budget.db-last, with the number and the link of the last charge. The note shows whether
the file was replaced by an older copy. The note is written after a charge is on the disk and before another process may
charge, so it is never ahead of the file. If a process dies in between, the note is one charge behind until the next
charge. A missing or incomplete note is ignored, so a ledger's file may be copied or moved without it.

The list of publications, budget.db-published, has one line per publication, with the number of the charge, the name of
the document and the SHA-256 of its table. The list is meant for readers; the ledger does not depend on the list.
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
    deserialize,
    entry_from_row,
    first_position,
    row_from_entry,
    row_link,
    serialize,
    verify_rows,
    zero_loss,
)
from toolkit.core.checks import reject

if TYPE_CHECKING:
    import sqlite3

# Seconds to wait for other processes.
_WAIT = 60.0
_RULES = {
    "BUSY": "the ledger's file must be free within a minute",
    "FULL": "the ledger's disk must have free space",
    "NOTADB": "the ledger's file must be a ledger",
    "CORRUPT": "the ledger's file must be undamaged",
    "READONLY": "the ledger's file must be writable",
    "CANTOPEN": "the ledger's file must exist and be writable",
}


_SQLITE_LOCK = threading.RLock()
"""A lock for every use of SQLite and for forks, so that no child process inherits an incomplete transaction."""
if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=_SQLITE_LOCK.acquire, after_in_child=_SQLITE_LOCK.release, after_in_parent=_SQLITE_LOCK.release
    )


class DurableRecord:
    """A record in a database, with its head and the last row that this process verified.

    Opening and listing verify the whole chain of rows. Every other use verifies the rows that were added since the last
    use, checks that the previous row is unchanged, and checks that the record contains the charge of the note. A
    subclass implements the connection (`_connected`), the lock against other writers (`_begin`) and the end of a
    transaction (`_commit`).
    """

    name: str
    base_path: Path
    head: Head
    """The display name, the path next to which the note lies, and the settings with which the record was created."""

    def _open(self, database: object, noted: tuple[int, str] | None) -> None:
        self._head_row = ceiling, neighbors, mark, unit = fetch_row(database, HEAD)
        self.head = deserialize(ceiling), neighbors, is_simulated(mark), unit
        self._start = self._position = first_position(ceiling, neighbors, mark, zero_loss(self.head[0]), unit)
        self._row: Row | None = None
        self._last(database, noted)

    @property
    def id(self) -> str:
        return self._start.link[:16]

    def append(self, decide: Decision) -> Entry:
        with self._connected() as database:
            self._begin(database)
            entry = decide(self._last(database, read_note(self.base_path)))
            row = row_from_entry(entry)
            link = row_link(self._position.link, row)
            database.execute(
                "INSERT INTO main.entries VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", (*row[:7], link, *row[7:])
            )
            self._commit(database)
            self._position, self._row = ChainPosition(entry.number, link, entry.total), row
            write_note(self.base_path, entry.number, link)
            return entry

    def last(self) -> Entry | None:
        noted = read_note(self.base_path)
        with self._connected() as database:
            return self._last(database, noted)

    def entries(self) -> tuple[Entry, ...]:
        noted = read_note(self.base_path)
        with self._connected() as database:
            self._last(database, noted)
            return tuple(entry for _, entry in verify_rows(self._start, _rows(database, 1), self._REMEDY))

    def _last(self, database: Any, noted: tuple[int, str] | None) -> Entry | None:
        """Return the last entry after verifying the new rows and checking that no earlier row is missing."""
        if fetch_row(database, HEAD) != self._head_row:
            self._refuse_older(f"another {self._KIND}")
        rows = _rows(database, max(self._position.number, 1))
        if self._row is not None and next(rows, None) != (self._row, self._position.link):
            self._refuse_older(f"an older or another {self._KIND}")
        for row, link in rows:
            ((self._position, _),) = verify_rows(self._position, [(row, link)], self._REMEDY)
            self._row = row
        if noted and database.execute("SELECT link FROM main.entries WHERE number = ?", noted[:1]).fetchone() != (
            noted[1],
        ):
            self._refuse_older(f"an older or another {self._KIND}")
        return entry_from_row(self._row) if self._row is not None else None

    _KIND, _REMEDY = "file", COPY

    def _refuse_older(self, received: str) -> NoReturn:
        note, hint = note_path(self.base_path), ""
        if note.exists():
            hint = f"; {note.name} records them, and must be removed before a new ledger can begin"
        consequence = f"later charges are missing from it{hint}"
        reject(f"the ledger's {self._KIND} must only grow", received, consequence, RecordError)

    def _connected(self) -> AbstractContextManager[Any]:
        raise NotImplementedError

    def _begin(self, database: Any) -> None:
        raise NotImplementedError

    def _commit(self, database: Any) -> None:
        raise NotImplementedError


class FileRecord(DurableRecord):
    """A record in a SQLite file, which is created if it does not exist."""

    def __init__(self, path: Path, new_head: Head | None) -> None:
        # The path is absolute and without links: a change of directory must not create a new file, and a link must not
        # lead to another note.
        self.path = self.base_path = path.expanduser().resolve()
        self.name = self.path.name
        # Read the note before the file, because it is written after the file.
        noted = read_note(self.path)
        if not self.path.exists():
            if noted:
                self._refuse_older("no file")
            if not new_head:
                rule, remedy = "the file of a ledger must exist", "Ledger(Pure(1.0), path) creates a new one"
                reject(rule, f"no file {self.name} in {self.path.parent}", remedy, RecordError)
        with self._connected("rwc" if new_head else "rw") as database:
            if new_head and is_empty(database):
                if noted:
                    self._refuse_older("an empty file")
                create(database, new_head)
            if file_version(database) in ((APPLICATION, 1), (APPLICATION, 2)):
                upgrade(database)
            if file_version(database) != (APPLICATION, VERSION):
                reject(_RULES["NOTADB"], self.path.name, "another program or a later version created it", RecordError)
            self._open(database, noted)

    @property
    def register(self) -> "FileRegister":
        return FileRegister(self.path)

    def _begin(self, database: "sqlite3.Connection") -> None:
        database.execute("BEGIN IMMEDIATE")

    def _commit(self, database: "sqlite3.Connection") -> None:
        # No other process can charge until the note is written and the file is closed.
        database.execute("PRAGMA locking_mode = EXCLUSIVE")
        database.execute("COMMIT")

    @contextmanager
    def _connected(self, mode: str = "rw") -> Iterator["sqlite3.Connection"]:
        """Yield a connection for one use; after an exception or a crash, SQLite rolls back the transaction."""
        # The import is here because a ledger in memory does not need SQLite, which may be missing in a browser.
        import sqlite3

        try:
            with _SQLITE_LOCK, closing(connect(self.path, mode)) as database:
                # This is ten times faster than deleting the journal.
                database.execute("PRAGMA journal_mode = PERSIST")
                database.execute("PRAGMA synchronous = FULL")
                yield database
        except sqlite3.Error as error:
            name = str(getattr(error, "sqlite_errorname", "SQLITE_ERROR")).removeprefix("SQLITE_")
            rule = next(
                (rule for code, rule in _RULES.items() if name.startswith(code)),
                "SQLite must be able to use the ledger's file",
            )
            reject(rule, f"“{error}” for {self.path.name}", "nothing was released", RecordError)


def connect(path: Path, mode: str) -> "sqlite3.Connection":
    """Connect to a file, and wait up to a minute for other processes."""
    import sqlite3

    return sqlite3.connect(f"{path.as_uri()}?mode={mode}", uri=True, timeout=_WAIT, isolation_level=None)


def _rows(database: Any, first: int) -> Iterator[tuple[Row, str]]:
    for *row, link, unit, terms in database.execute(
        "SELECT * FROM main.entries WHERE number >= ? ORDER BY number", (first,)
    ):
        yield (*row, unit, terms), link


# The tables, and upgrades from older versions.

APPLICATION, VERSION = 0x4C454447, 3  # "LEDG"
_SIMULATED = "simulated-"
_TRIGGERS = """
CREATE TRIGGER head_keep BEFORE UPDATE ON head BEGIN SELECT RAISE(ABORT, 'a ceiling never changes'); END

CREATE TRIGGER entries_keep BEFORE UPDATE ON entries BEGIN SELECT RAISE(ABORT, 'a charge is never taken back'); END
"""
# The triggers on insertion also stop INSERT OR REPLACE, which deletes rows without firing the triggers on deletion.
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
"""  # noqa: E501
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


def head_row(head: Head) -> tuple[str | None, ...]:
    ceiling, neighbors, simulated, unit = head
    return serialize(ceiling), neighbors, new_mark(simulated), unit


def create(database: "sqlite3.Connection", head: Head) -> None:
    database.execute("BEGIN IMMEDIATE")
    # Check again under the lock.
    if is_empty(database):
        execute_all(database, _SCHEMA)
        execute_all(database, _TRIGGERS)
        database.execute(f"PRAGMA application_id = {APPLICATION}")
        database.execute(f"PRAGMA user_version = {VERSION}")
        database.execute("INSERT INTO head VALUES (1, ?, ?, ?, ?)", head_row(head))
    database.execute("COMMIT")


def upgrade(database: "sqlite3.Connection") -> None:
    """Upgrade a file of version 1 or 2 in one transaction, without changing a charge.

    Version 1 has no chain: its rows are chained if its totals are the sums of its charges. Both versions lack the
    columns for the unit. After the upgrade, a process with an older version of the toolkit can no longer charge,
    because the rows of that version are shorter.
    """
    database.execute("BEGIN IMMEDIATE")
    # Check again under the lock.
    if file_version(database) == (APPLICATION, 1):
        (ceiling, neighbors), mark = fetch_row(database, "SELECT ceiling, neighbors FROM head"), new_mark(False)
        position = first_position(ceiling, neighbors, mark, zero_loss(deserialize(ceiling)))
        links = []
        for row in database.execute("SELECT * FROM entries ORDER BY number"):
            longer = (*row, None, None)
            ((position, entry),) = verify_rows(position, [(longer, row_link(position.link, longer))])
            links.append((position.link, entry.number))
        execute_all(database, _FIRST_VERSION)
        database.execute("UPDATE head SET mark = ?", (mark,))
        database.executemany("UPDATE entries SET link = ? WHERE number = ?", links)
        execute_all(database, _TRIGGERS)
        database.execute("PRAGMA user_version = 2")
    if file_version(database) == (APPLICATION, 2):
        execute_all(database, _SECOND_VERSION)
        database.execute(f"PRAGMA user_version = {VERSION}")
    database.execute("COMMIT")


def is_empty(database: "sqlite3.Connection") -> bool:
    return fetch_row(database, "SELECT 1 FROM sqlite_master") is None


def file_version(database: "sqlite3.Connection") -> tuple[int, int]:
    """Return the id of the application that created the file, and the version of its tables."""
    return (*fetch_row(database, "PRAGMA application_id"), *fetch_row(database, "PRAGMA user_version"))


def fetch_row(database: Any, query: str) -> Any:
    """Return the first row of a query's result, or None."""
    return database.execute(query).fetchone()


def execute_all(database: Any, statements: str) -> None:
    """Execute statements that are separated by empty lines."""
    for statement in statements.strip().split("\n\n"):
        database.execute(statement)


def new_mark(simulated: bool) -> str:
    """Return a random mark with which the chain begins, so that files with the same charges can be distinguished."""
    return (_SIMULATED if simulated else "") + os.urandom(16).hex()


def is_simulated(mark: str) -> bool:
    return mark.startswith(_SIMULATED)


# The rollback check.

_LAST = "-last"


def note_path(path: Path) -> Path:
    return path.with_name(path.name + _LAST)


def read_note(path: Path) -> tuple[int, str] | None:
    """Return the number and the link of the last charge from the note, or None if there is no valid note."""
    with contextlib.suppress(OSError, ValueError):
        text = note_path(path).read_text(encoding="ascii")
        number, link, _ = text.split()
        if text == _note_text(int(number), link):
            return int(number), link
    return None


def write_note(path: Path, number: int, link: str) -> None:
    """Write the note in a single write of fixed length; if that fails, the older note remains, which is also valid."""
    with contextlib.suppress(OSError):
        file = os.open(note_path(path), os.O_WRONLY | os.O_CREAT, 0o666)
        try:
            os.write(file, _note_text(number, link).encode("ascii"))
        finally:
            os.close(file)


def _note_text(number: int, link: str) -> str:
    """Return the text of a note; its checksum distinguishes a complete note from one that a power cut interrupted."""
    content = f"{number:020} {link}"
    return f"{content} {hashlib.sha256(content.encode()).hexdigest()[:16]}\n"


# Publications.


@dataclass(frozen=True)
class FileRegister:
    """A list of publications in a file next to the ledger; each line is one write, so processes may share the file."""

    ledger: Path

    @property
    def path(self) -> Path:
        return self.ledger.with_name(self.ledger.name + "-published")

    def add(self, entry: int, file: str, digest: str) -> None:
        line = json.dumps({"entry": entry, "file": file, "sha256": digest}) + "\n"
        with self.path.open("ab", buffering=0) as register:
            register.write(line.encode("utf-8", "backslashreplace"))

    def publications(self) -> tuple[Publication, ...]:
        """Return the publications of all complete lines; a line that a power cut interrupted is ignored."""
        if not self.path.exists():
            return ()
        publications = []
        for line in self.path.read_text(encoding="utf-8").splitlines():
            with contextlib.suppress(ValueError, KeyError, TypeError):
                line_facts: dict[str, Any] = json.loads(line)
                publications.append(
                    Publication(int(line_facts["entry"]), str(line_facts["file"]), str(line_facts["sha256"]))
                )
        return tuple(publications)
