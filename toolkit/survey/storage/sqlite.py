"""Reports in one SQLite file, by the standard library: the default.

Durable: write-ahead log, synced at every commit. One writer at a time; readers do not wait for it. The file is
opened when it is first used, and again after a failure, or when another file has taken its place.

Without a trace of order: tables have no rowid, and their rows lie in the order of random keys. While a collection runs,
a copy of the file and of its log (`-wal`) shows more to an expert: within a page, rows lie as they came, and the log
holds the pages of the last commits one after the other. So that this does not tell which report came with which token,
both go through a pool (see `mixing.py`), the log is emptied after every commit with fewer people than stay in the pool,
and what is deleted is overwritten. A copy then shows at most that some of at least ten people in one commit sent some
of at least ten reports. Not so a copy made in the milliseconds between a commit and the emptying of its log, or while a
reader of this file holds the log in use: it shows who came in the last commit, or in those since the reader began. In
open access there is no token, and the log is emptied now and then: the order of reports shows in it. Who looks
again and again sees tokens and reports change together; only blind access helps against that.

Closing removes the tokens, but for the list of those who were invited where another wave follows, rewrites the file in
the order of keys (`VACUUM`) and empties the log: two collections of the same reports are then the same bytes, whatever
the order in which they came. Backups and the disk's own free blocks are beyond our reach.
"""

import os
import sqlite3
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, closing, contextmanager, suppress
from pathlib import Path
from typing import NoReturn

from toolkit.core.checks import refuse
from toolkit.survey.storage import schema
from toolkit.survey.storage.collection import Collection
from toolkit.survey.storage.engine import CLOSING, Session
from toolkit.survey.storage.mixing import Pool
from toolkit.survey.storage.protocol import State, StoreError

_TOKENS = ("issued", "spent")  # what tells who has answered


class SqliteSession(Session):
    def run(self, query: str, *values: object) -> sqlite3.Cursor:
        cursor: sqlite3.Cursor = self._connection.execute(query.replace("%s", "?"), values)
        return cursor

    def lookup(self, query: str, values: Sequence[bytes]) -> set[bytes]:
        """One query per value: as fast as one for all, and with no limit to their number."""
        return {row[0] for value in values for row in self.run(f"{query} = %s", value)}

    def close(self, *, again: bool) -> None:
        self.flush_pool(Pool(), self.count_and_pool()[1], 0)
        for table in _TOKENS if again else (*_TOKENS, "invited"):
            self.run(f"DELETE FROM {table}")  # noqa: S608
        self.set_state(CLOSING)

    def insert(self, reports: dict[bytes, str]) -> set[bytes]:
        """Nobody else writes meanwhile, so none of them is there already."""
        self._add(reports, len(reports))
        return set()

    def _add(self, reports: Mapping[bytes, str], more: int) -> None:
        self._connection.executemany("INSERT INTO report VALUES (?, ?)", sorted(reports.items()))
        self.run("UPDATE tally SET reports = reports + %s", more)

    def flush_pool(self, stays: Pool, leaves: Pool, more: int) -> None:
        self.run("UPDATE pool SET content = %s", stays.to_text())
        self._connection.executemany("INSERT INTO spent VALUES (?)", [(one,) for one in sorted(leaves.passes)])
        self._add(leaves.reports, more)

    def invite(self, hashes: Sequence[bytes]) -> None:
        self._connection.executemany("INSERT OR IGNORE INTO invited VALUES (?)", [(one,) for one in hashes])


_APPLICATION = 0x53555256  # "SURV"
_PRAGMAS = (
    "synchronous = FULL",
    "fullfsync = ON",
    "checkpoint_fullfsync = ON",
    "secure_delete = ON",
    "trusted_schema = OFF",
)
_WAIT, _PATIENCE = 1.0, 15.0  # seconds to wait for another writer
_WIPING = 0.1  # seconds to wait for readers of the log before it is emptied; after that, with the next batch
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


def sqlite_store(path: str, readonly: bool) -> Collection:
    """The collection in a file. One in memory is refused: a notebook and a server could not share it."""
    if not path or path.startswith((":memory:", "?")):
        rule = "a SQLite database must be a file, as in sqlite:///survey.db"
        refuse(rule, repr(path), "a server and a notebook share it")
    return Collection(SqliteEngine(Path(path).expanduser().resolve(), readonly))


class SqliteEngine:
    def __init__(self, path: Path, readonly: bool) -> None:
        self._path, self._readonly = path, readonly
        self._database: sqlite3.Connection | None = None
        self._file: tuple[int, int] | None = None
        self._log_tells = False  # whether the log may still tell who came in one of the last commits

    def reading(self) -> AbstractContextManager[SqliteSession]:
        return self._transaction("BEGIN")

    @contextmanager
    def writing(self, *, patient: bool = False, shared: bool = False) -> Iterator[SqliteSession]:  # noqa: ARG002
        """One writer at a time has the file, `shared` or not."""
        if self._readonly:
            refuse("the store must be open for writing", "a read-only one", "nothing was changed")
        with self._transaction("BEGIN IMMEDIATE", _PATIENCE if patient else _WAIT) as session:
            yield session
        if self._log_tells:
            self.wipe()

    @contextmanager
    def making(self) -> Iterator[SqliteSession]:
        if not self._readonly:
            with self._translated():
                self._prepare()
        with self.writing(patient=True) as session:
            yield session

    def wipe(self) -> None:
        """Bring the log's pages into the file, and empty it. What was committed is safe in any case."""
        if self._database is not None:
            self._log_tells = True
            with suppress(sqlite3.Error):
                self._log_tells = _insist(self._database, "PRAGMA wal_checkpoint(TRUNCATE)", _WIPING)

    def migrate(self) -> int:
        """Bring the tables to today's version; the version that was found."""
        with self._translated(), closing(self._open("rw")) as database:
            _insist(database, "BEGIN IMMEDIATE", _PATIENCE)
            earlier = _version(database)
            for statement in schema.steps(earlier, schema.SQLITE):
                database.execute(statement)
            schema.check_version(_version(database))
            database.execute("COMMIT")
            _insist(database, "PRAGMA wal_checkpoint(TRUNCATE)", _PATIENCE)
        return earlier

    def finish(self) -> None:
        with self._translated():
            database = self._connected()
            if database.execute("SELECT state FROM collection").fetchone() == (CLOSING,):
                _insist(database, "VACUUM", _PATIENCE)
                _insist(database, "UPDATE collection SET state = 'closed'", _PATIENCE)
            if _insist(database, "PRAGMA wal_checkpoint(TRUNCATE)", _PATIENCE):
                raise StoreError(
                    "the collection is closed, but somebody reads it: its log could not be emptied; close it again."
                )

    def close(self) -> None:
        """Close the connection; a closed collection becomes one file that can be read where nothing can be written."""
        if self._database is not None and not self._readonly:
            with suppress(sqlite3.Error):
                if self._database.execute("SELECT state FROM collection").fetchone() == (State.CLOSED.value,):
                    self._database.execute("PRAGMA busy_timeout = 0")
                    self._database.execute("PRAGMA journal_mode = DELETE")
        self._drop()

    def remove(self) -> None:
        """The file, and what SQLite puts beside it."""
        with self._translated():
            self._drop()
            for ending in ("", "-wal", "-shm", "-journal"):
                self._path.with_name(f"{self._path.name}{ending}").unlink(missing_ok=True)

    @contextmanager
    def _transaction(self, begin: str, wait: float = _WAIT) -> Iterator[SqliteSession]:
        with self._translated():
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
        """The connection to the file that is there now; one that was moved away or exchanged is not written to."""
        if self._database is not None and self._file == self._identity():
            return self._database
        self._drop()
        database = self._open("ro" if self._readonly else "rw")
        try:
            schema.check_version(_version(database))
        except BaseException:
            database.close()
            raise
        self._database, self._file = database, self._identity()
        if not self._readonly and database.execute("SELECT 1 FROM collection WHERE access <> 'open'").fetchone():
            self.wipe()  # the last server may have been killed between a commit and its end
        return self._database

    def _open(self, mode: str, *, ours: bool = True) -> sqlite3.Connection:
        address = f"{self._path.as_uri()}?mode={mode}"
        database = sqlite3.connect(address, uri=True, timeout=_WAIT, isolation_level=None, check_same_thread=False)
        try:
            for pragma in _PRAGMAS:
                database.execute(f"PRAGMA {pragma}")
            if ours and database.execute("PRAGMA application_id").fetchone() != (_APPLICATION,):
                self._fail("NOTADB", "something else")
        except BaseException:
            database.close()
            raise
        return database

    def _prepare(self) -> None:
        """Make the file and its tables, if there is nothing yet, for its owner alone."""
        with suppress(FileExistsError):
            os.close(os.open(self._path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
        with closing(self._open("rw", ours=False)) as database:
            _insist(database, "BEGIN", _PATIENCE)
            is_new = self._is_empty(database)
            database.execute("COMMIT")
            if is_new:
                _insist(database, "PRAGMA journal_mode = WAL", _PATIENCE)
                self._fill(database)

    def _fill(self, database: sqlite3.Connection) -> None:
        _insist(database, "BEGIN IMMEDIATE", _PATIENCE)
        if self._is_empty(database):  # still: another server may have been faster
            for statement in schema.SQLITE.values():
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
            file = self._path.stat()
        except OSError:
            return None
        return file.st_dev, file.st_ino

    def _drop(self) -> None:
        database, self._database = self._database, None
        if database is not None:
            with suppress(sqlite3.Error):
                database.close()

    @contextmanager
    def _translated(self) -> Iterator[None]:
        """Failures of the database in our words."""
        try:
            yield
        except OSError as error:
            self._fail("CANTOPEN", type(error).__name__)
        except sqlite3.DataError:
            refuse("a report must fit into the database", "one that does not", "it can never be stored")
        except sqlite3.Error as error:
            self._fail(_name(error), f"“{error}”")

    def _fail(self, name: str, received: str) -> NoReturn:
        rule, retry_after = _CAUSES.get(name, ("the database must work", 30))
        raise StoreError(f"{rule}, got {received} for {self._path.name}: nothing was stored.", retry_after)


def _insist(database: sqlite3.Connection, statement: str, wait: float) -> bool:
    """Execute a statement as soon as nobody is in the way; returns whether somebody still was."""
    # SQLite's own waiting sleeps longer and longer, and would miss the short gaps that a busy server leaves.
    end = time.monotonic() + wait
    database.execute("PRAGMA busy_timeout = 0")
    try:
        while True:
            late = time.monotonic() >= end
            try:
                row = database.execute(statement).fetchone()
                was_busy = row is not None and row[0] == 1  # a checkpoint says whether it was kept from its work
                if late or not was_busy:
                    return was_busy
            except sqlite3.OperationalError as error:
                if late or _name(error) != "BUSY":
                    raise
            time.sleep(0.001)
    finally:
        database.execute(f"PRAGMA busy_timeout = {_WAIT * 1000:.0f}")


def _version(database: sqlite3.Connection) -> int:
    """The version of the tables; today's where no collection was begun."""
    row = database.execute("SELECT version FROM collection").fetchone()
    return schema.VERSION if row is None else int(row[0])


def _name(error: sqlite3.Error) -> str:
    """The primary name of an error: BUSY for SQLITE_BUSY_SNAPSHOT."""
    return str(getattr(error, "sqlite_errorname", "SQLITE_ERROR")).split("_")[1]
