"""Reports in one SQLite file, by the standard library: the default.

Durable: write-ahead log, synced at every commit. One writer at a time; whoever reads does not wait for it. The file is
opened when it is first used, and again after a failure, or when another file has taken its place.

Without a trace of order: tables have no rowid, and their rows lie in the order of random keys. While a collection runs, a
copy of the file and of its log (`-wal`) shows more to an expert: the log holds the pages of the last commits one after the
other, so that the report and the token that came in one commit can be told; and free space shows how pages were split.
Whoever looks again and again sees tokens and reports change together; only blind access helps against that. Closing
removes the tokens, rewrites the file in the order of keys (`VACUUM`) and empties the log: two collections of the same
reports are then the same bytes, whatever the order in which they came. Backups and the disk's own free blocks are beyond our reach.
"""

import os
import sqlite3
import time
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any, NoReturn

from toolkit.core.checks import refuse
from toolkit.survey.keeping.admission import Head
from toolkit.survey.keeping.collection import Collection
from toolkit.survey.keeping.protocol import State, StoreError

_SCHEMA = """
CREATE TABLE collection (
  version INTEGER NOT NULL PRIMARY KEY CHECK (version = 1),
  survey TEXT NOT NULL, hash TEXT NOT NULL, access TEXT NOT NULL, cap INTEGER, state TEXT NOT NULL) STRICT, WITHOUT ROWID

CREATE TABLE tally (version INTEGER NOT NULL PRIMARY KEY CHECK (version = 1), reports INTEGER NOT NULL) STRICT, WITHOUT ROWID

CREATE TABLE report (key BLOB NOT NULL PRIMARY KEY, body TEXT NOT NULL) STRICT, WITHOUT ROWID

CREATE TABLE invited (hash BLOB NOT NULL PRIMARY KEY) STRICT, WITHOUT ROWID

CREATE TABLE unspent (hash BLOB NOT NULL PRIMARY KEY) STRICT, WITHOUT ROWID

CREATE TABLE issued (invitation BLOB NOT NULL PRIMARY KEY, blinded BLOB NOT NULL) STRICT, WITHOUT ROWID

CREATE TABLE spent (hash BLOB NOT NULL PRIMARY KEY) STRICT, WITHOUT ROWID
"""  # the tally is apart from the survey, which would otherwise be written again with every batch
_SETTING = "CREATE TABLE IF NOT EXISTS setting (name TEXT NOT NULL PRIMARY KEY, value TEXT NOT NULL) STRICT, WITHOUT ROWID"
_TOKENS = ("invited", "unspent", "issued", "spent")
_APPLICATION = 0x53555256  # "SURV"
_CLOSING = "closing"  # closed for everybody, but not yet rewritten: what an interrupted closing leaves
_PRAGMAS = ("synchronous = FULL", "fullfsync = ON", "checkpoint_fullfsync = ON", "secure_delete = ON", "trusted_schema = OFF")
_WAIT, _PATIENCE = 1.0, 15.0  # seconds to wait for another writer
_CAUSES = {  # what must hold, and when to try again
    "BUSY": ("the database must be free", 1),
    "LOCKED": ("the database must be free", 1),
    "FULL": ("the disk must have room", 30),
    "IOERR": ("the disk must have room and work", 30),
    "CANTOPEN": ("the database must be there, and its folder writable", 30),
    "READONLY": ("the database must be writable", 30),
    "NOTADB": ("the database must be a collection", 30),
    "CORRUPT": ("the database must be undamaged", 30),
}


def sqlite_store(path: str, readonly: bool = False) -> Collection:
    """The collection in a file. One in memory is refused: a notebook and a server could not share it."""
    if not path or path.startswith((":memory:", "?")):
        refuse("a SQLite database must be a file, as in sqlite:///survey.db", repr(path), "a server and a notebook share it")
    return Collection(SqliteEngine(Path(path).expanduser().absolute(), readonly))


class SqliteEngine:
    """One connection to one file."""

    def __init__(self, path: Path, readonly: bool) -> None:
        self._path, self._readonly = path, readonly
        self._database: sqlite3.Connection | None = None
        self._file: tuple[int, int] | None = None

    @contextmanager
    def reading(self) -> Iterator["SqliteSession"]:
        with self._transaction("BEGIN") as session:
            yield session

    @contextmanager
    def writing(self, *, patient: bool = False) -> Iterator["SqliteSession"]:
        if self._readonly:
            refuse("the store must be open for writing", "a read-only one", "nothing was changed")
        with self._transaction("BEGIN IMMEDIATE", _PATIENCE if patient else _WAIT) as session:
            yield session

    @contextmanager
    def making(self) -> Iterator["SqliteSession"]:
        if not self._readonly:
            with self._told():
                self._prepare()
        with self.writing(patient=True) as session:
            yield session

    def finish(self) -> None:
        with self._told():
            database = self._connected()
            if database.execute("SELECT state FROM collection").fetchone() == (_CLOSING,):
                _insist(database, "VACUUM", _PATIENCE)
                _insist(database, "UPDATE collection SET state = 'closed'", _PATIENCE)
            if _insist(database, "PRAGMA wal_checkpoint(TRUNCATE)", _PATIENCE):
                raise StoreError("the collection is closed, but somebody reads it: its log could not be emptied; close it again.")

    def close(self) -> None:
        """Close the connection. A closed collection becomes a single file that can be read where nothing can be written."""
        if self._database is not None and not self._readonly:
            with suppress(sqlite3.Error):
                if self._database.execute("SELECT state FROM collection").fetchone() == (State.CLOSED.value,):
                    self._database.execute("PRAGMA busy_timeout = 0")
                    self._database.execute("PRAGMA journal_mode = DELETE")
        self._drop()

    def remove(self) -> None:
        """The file, and what SQLite puts beside it."""
        with self._told():
            self._drop()
            for ending in ("", "-wal", "-shm", "-journal"):
                self._path.with_name(f"{self._path.name}{ending}").unlink(missing_ok=True)

    @contextmanager
    def _transaction(self, begin: str, wait: float = _WAIT) -> Iterator["SqliteSession"]:
        with self._told():
            database = self._connected()
            try:
                _insist(database, begin, wait)
                yield SqliteSession(database)
                database.execute("COMMIT")
            except sqlite3.Error as error:
                if _name(error) != "BUSY" or database.in_transaction:
                    self._drop()  # rolls back, and the next use starts afresh
                raise
            except BaseException:
                if database.in_transaction:
                    database.execute("ROLLBACK")
                raise

    def _connected(self) -> sqlite3.Connection:
        """The connection, to the file that is there now: one that was moved away or exchanged must not be written to."""
        if self._database is not None and self._file == self._identity():
            return self._database
        self._drop()
        self._database = self._open("ro" if self._readonly else "rw")
        self._file = self._identity()
        return self._database

    def _open(self, mode: str, *, ours: bool = True) -> sqlite3.Connection:
        address = f"{self._path.as_uri()}?mode={mode}"
        database = sqlite3.connect(address, uri=True, timeout=_WAIT, isolation_level=None, check_same_thread=False)
        try:
            for pragma in _PRAGMAS:
                database.execute(f"PRAGMA {pragma}")
            if ours and database.execute("PRAGMA application_id").fetchone() != (_APPLICATION,):
                self._tell("NOTADB", "something else")
        except BaseException:
            database.close()
            raise
        return database

    def _prepare(self) -> None:
        """Make the file and its tables, if there is nothing yet. Others on this machine have no business in it."""
        with suppress(FileExistsError):
            os.close(os.open(self._path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
        with closing(self._open("rw", ours=False)) as database:
            _insist(database, "BEGIN", _PATIENCE)
            is_new = self._is_empty(database)
            database.execute("COMMIT")
            if is_new:
                database.execute("PRAGMA journal_mode = WAL")
                self._fill(database)

    def _fill(self, database: sqlite3.Connection) -> None:
        _insist(database, "BEGIN IMMEDIATE", _PATIENCE)
        if self._is_empty(database):  # still: another server may have been faster
            for statement in _SCHEMA.strip().split("\n\n"):
                database.execute(statement)
            database.execute(f"PRAGMA application_id = {_APPLICATION}")
        database.execute("COMMIT")

    def _is_empty(self, database: sqlite3.Connection) -> bool:
        (mark,) = database.execute("PRAGMA application_id").fetchone()
        (tables,) = database.execute("SELECT count(*) FROM sqlite_master").fetchone()
        if tables and mark != _APPLICATION:
            refuse("a new collection needs a database of its own", self._path.name, "something else is in it")
        return not tables

    def _identity(self) -> tuple[int, int] | None:
        try:
            found = self._path.stat()
        except OSError:
            return None
        return found.st_dev, found.st_ino

    def _drop(self) -> None:
        database, self._database = self._database, None
        if database is not None:
            with suppress(sqlite3.Error):
                database.close()

    @contextmanager
    def _told(self) -> Iterator[None]:
        """Failures of the database in our words."""
        try:
            yield
        except OSError as error:
            self._tell("CANTOPEN", type(error).__name__)
        except sqlite3.DataError:
            refuse("a report must fit into the database", "one that does not", "it can never be stored")
        except sqlite3.Error as error:
            self._tell(_name(error), f"“{error}”")

    def _tell(self, name: str, received: str) -> NoReturn:
        rule, retry_after = _CAUSES.get(name, ("the database must work", 30))
        raise StoreError(f"{rule}, got {received} for {self._path.name}: nothing was stored.", retry_after)


class SqliteSession:
    """One transaction in SQLite."""

    def __init__(self, database: sqlite3.Connection) -> None:
        self._database = database

    def head(self) -> Head | None:
        row = self._row("SELECT hash, access, cap, state FROM collection")
        if row is None:
            return None
        code, access, cap, state = row
        return Head(code, access, cap, State.CLOSED if state == _CLOSING else State(state), swept=state == State.CLOSED.value)

    def text(self) -> str:
        return str(self._row("SELECT survey FROM collection")[0])

    def begin(self, head: Head, text: str) -> None:
        values = (text, head.hash, head.access, head.cap, head.state.value)
        self._database.execute("INSERT INTO collection VALUES (1, ?, ?, ?, ?, ?)", values)
        self._database.execute("INSERT INTO tally VALUES (1, 0)")

    def move(self, state: State) -> None:
        self._database.execute("UPDATE collection SET state = ?", (state.value,))

    def sweep(self) -> None:
        for table in _TOKENS:
            self._database.execute(f"DELETE FROM {table}")  # noqa: S608
        self._database.execute("UPDATE collection SET state = ?", (_CLOSING,))

    def held(self) -> int:
        return int(self._row("SELECT reports FROM tally")[0])

    def found(self, keys: Sequence[bytes]) -> dict[bytes, str]:
        return dict(self._each("SELECT key, body FROM report WHERE key = ?", keys))

    def page(self, after: bytes, most: int) -> list[tuple[bytes, str]]:
        query = "SELECT key, body FROM report WHERE key > ? ORDER BY key LIMIT ?"
        return self._database.execute(query, (after, most)).fetchall()

    def keep(self, reports: dict[bytes, str]) -> None:
        self._database.executemany("INSERT INTO report VALUES (?, ?)", reports.items())
        self._database.execute("UPDATE tally SET reports = reports + ?", (len(reports),))

    def invite(self, hashes: Sequence[bytes]) -> None:
        known = {row[0] for row in self._each("SELECT hash FROM invited WHERE hash = ?", hashes)}
        fresh = [(one,) for one in hashes if one not in known]
        self._database.executemany("INSERT INTO invited VALUES (?)", fresh)
        self._database.executemany("INSERT INTO unspent VALUES (?)", fresh)

    def unspent(self, hashes: Sequence[bytes]) -> set[bytes]:
        return {row[0] for row in self._each("SELECT hash FROM unspent WHERE hash = ?", hashes)}

    def spent(self, hashes: Sequence[bytes]) -> set[bytes]:
        return {row[0] for row in self._each("SELECT hash FROM spent WHERE hash = ?", hashes)}

    def use(self, hashes: Sequence[bytes]) -> None:
        self._database.executemany("DELETE FROM unspent WHERE hash = ?", [(one,) for one in hashes])

    def burn(self, hashes: Sequence[bytes]) -> None:
        self._database.executemany("INSERT INTO spent VALUES (?)", [(one,) for one in hashes])

    def setting(self, name: str) -> str | None:
        """None in a collection that never had one, which has no table for them either."""
        there = self._row("SELECT 1 FROM sqlite_master WHERE name = 'setting'")
        row = there and self._row("SELECT value FROM setting WHERE name = ?", name)
        return None if row is None else row[0]

    def remember(self, name: str, value: str) -> None:
        self._database.execute(_SETTING)
        self._database.execute("INSERT OR REPLACE INTO setting VALUES (?, ?)", (name, value))

    def issued(self, invitation: bytes) -> bytes | None:
        row = self._row("SELECT blinded FROM issued WHERE invitation = ?", invitation)
        return None if row is None else row[0]

    def issue(self, invitation: bytes, blinded: bytes) -> None:
        self._database.execute("INSERT INTO issued VALUES (?, ?)", (invitation, blinded))

    def _row(self, query: str, *values: object) -> Any:
        return self._database.execute(query, values).fetchone()

    def _each(self, query: str, values: Sequence[bytes]) -> Iterator[Any]:
        """One look-up a value: as fast as one for all, and with no limit to their number."""
        for value in values:
            yield from self._database.execute(query, (value,))


def _insist(database: sqlite3.Connection, statement: str, wait: float) -> bool:
    """Execute a statement as soon as nobody is in the way; returns whether somebody still was.

    SQLite's own waiting sleeps longer and longer, and would not find the short gaps that a busy server leaves.
    """
    end = time.monotonic() + wait
    database.execute("PRAGMA busy_timeout = 0")
    try:
        while True:
            late = time.monotonic() >= end
            try:
                row = database.execute(statement).fetchone()
                if late or not row or not row[0]:  # only a checkpoint has a row: whether it was kept from its work
                    return bool(row and row[0])
            except sqlite3.OperationalError as error:
                if late or _name(error) != "BUSY":
                    raise
            time.sleep(0.001)
    finally:
        database.execute(f"PRAGMA busy_timeout = {_WAIT * 1000:.0f}")


def _name(error: sqlite3.Error) -> str:
    """The primary name of an error: BUSY for SQLITE_BUSY_SNAPSHOT."""
    return str(getattr(error, "sqlite_errorname", "SQLITE_ERROR")).split("_")[1]
