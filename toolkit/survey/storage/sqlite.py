"""Reports in one SQLite file, which is the default and needs only the standard library.

Durability: the write-ahead log is synced at every commit. There is one writer at a time, and readers do not wait for
it. The file is opened at its first use, and reopened after a failure or when a different file has replaced it.

Order: tables have no rowid, and their rows are sorted by random keys. While a collection is open, a copy of the file
and of its log (`-wal`) reveals more to an expert: within a page, rows are in order of arrival, and the log contains the
pages of recent commits one after the other. To hide which report came with which token, both go through a pool (see
`mixing.py`), the log is emptied after every commit with fewer people than the pool retains, and deleted data are
overwritten. A copy then shows at most that a group of ten or more people in one commit sent a group of ten or more
reports. There are two exceptions. A copy made in the milliseconds between a commit and the emptying of its log shows
who was in the last commit, and a copy made while a reader keeps the log in use shows who answered since that reader
began. With open access there are no tokens; the log is emptied only occasionally, so it shows the order of reports.
Somebody who reads the file repeatedly sees tokens and reports change together; only blind access prevents that.

Closing removes the tokens (except the invitations, if another wave follows), rewrites the file in the order of keys
(`VACUUM`) and empties the log. Two collections of the same reports are then identical byte for byte, regardless of the
order of arrival. Backups and free blocks of the disk are beyond the program's reach.
"""

import os
import sqlite3
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, closing, contextmanager, suppress
from pathlib import Path
from typing import NoReturn

from toolkit.core.checks import reject
from toolkit.survey.storage import schema
from toolkit.survey.storage.collection import Collection
from toolkit.survey.storage.engine import CLOSING, Session
from toolkit.survey.storage.mixing import Pool
from toolkit.survey.storage.protocol import State, StoreError

_TOKEN_TABLES = ("issued", "spent")  # the rows of these tables reveal who has answered


class SqliteSession(Session):
    def run(self, query: str, *values: object) -> sqlite3.Cursor:
        cursor: sqlite3.Cursor = self._connection.execute(query.replace("%s", "?"), values)
        return cursor

    def lookup(self, query: str, values: Sequence[bytes]) -> set[bytes]:
        """Run one query per value, which is as fast as a single query and has no limit on the number of values."""
        return {row[0] for value in values for row in self.run(f"{query} = %s", value)}

    def close(self, *, keep_invitations: bool) -> None:
        self.flush_pool(Pool(), self.count_and_pool()[1], 0)
        for table in _TOKEN_TABLES if keep_invitations else (*_TOKEN_TABLES, "invited"):
            self.run(f"DELETE FROM {table}")  # noqa: S608
        self.set_state(CLOSING)

    def insert_reports(self, reports: dict[bytes, str]) -> set[bytes]:
        """Insert reports; this session is the only writer, so no other server can have stored one of them first."""
        self._insert_and_count(reports, len(reports))
        return set()

    def _insert_and_count(self, reports: Mapping[bytes, str], n_added: int) -> None:
        self._connection.executemany("INSERT INTO report VALUES (?, ?)", sorted(reports.items()))
        self.run("UPDATE tally SET reports = reports + %s", n_added)

    def flush_pool(self, new_pool: Pool, leaving: Pool, n_added: int) -> None:
        self.run("UPDATE pool SET content = %s", new_pool.to_text())
        self._connection.executemany(
            "INSERT INTO spent VALUES (?)", [(value,) for value in sorted(leaving.token_hashes)]
        )
        self._insert_and_count(leaving.reports, n_added)

    def invite(self, hashes: Sequence[bytes]) -> None:
        self._connection.executemany("INSERT OR IGNORE INTO invited VALUES (?)", [(value,) for value in hashes])


_APPLICATION_ID = 0x53555256  # "SURV"
_PRAGMAS = (
    "synchronous = FULL",
    "fullfsync = ON",
    "checkpoint_fullfsync = ON",
    "secure_delete = ON",
    "trusted_schema = OFF",
)
# Seconds to wait for another writer, and for readers of the log. If readers take longer, the log is emptied with the
# next batch.
_WAIT, _PATIENT_WAIT, _WIPE_WAIT = 1.0, 15.0, 0.1
# The message and the seconds after which to try again, by the name of SQLite's error.
_FAILURES = {
    "BUSY": ("the database must be free", 1),
    "LOCKED": ("the database must be free", 1),
    "FULL": ("the disk must have room", 30),
    "IOERR": ("the disk must have room and work", 30),
    "CANTOPEN": ("the database must exist, and its folder must be writable", 30),
    "READONLY": ("the database must be writable", 30),
    "NOTADB": ("the database must be a collection", 30),
    "CORRUPT": ("the database must be undamaged", 30),
}


def sqlite_store(path: str, readonly: bool) -> Collection:
    """Return the collection in a file; a database in memory is rejected."""
    if not path or path.startswith((":memory:", "?")):
        rule = "a SQLite database must be a file, as in sqlite:///survey.db"
        reject(rule, repr(path), "a server and a notebook could not share it")
    return Collection(SqliteEngine(Path(path).expanduser().resolve(), readonly))


class SqliteEngine:
    """The engine of collections in SQLite files."""

    def __init__(self, path: Path, readonly: bool) -> None:
        self._path, self._readonly = path, readonly
        self._database: sqlite3.Connection | None = None
        self._open_identity: tuple[int, int] | None = None
        self._log_is_dirty = False  # whether the log may still reveal who was in a recent commit

    def reading(self) -> AbstractContextManager[SqliteSession]:
        return self._transaction("BEGIN")

    @contextmanager
    def writing(self, *, wait_longer: bool = False, is_shared: bool = False) -> Iterator[SqliteSession]:  # noqa: ARG002
        """Open a transaction; its lock on the file is exclusive even if `is_shared`."""
        if self._readonly:
            reject("the store must be open for writing", "a read-only one", "nothing was changed")
        with self._transaction("BEGIN IMMEDIATE", _PATIENT_WAIT if wait_longer else _WAIT) as session:
            yield session
        if self._log_is_dirty:
            self.wipe_log()

    @contextmanager
    def creating(self) -> Iterator[SqliteSession]:
        if not self._readonly:
            with self._translate_errors():
                self._create_file()
        with self.writing(wait_longer=True) as session:
            yield session

    def wipe_log(self) -> None:
        """Move the pages of the log into the file and empty the log; commits are durable even if this fails."""
        if self._database is not None:
            self._log_is_dirty = True
            with suppress(sqlite3.Error):
                self._log_is_dirty = _execute_when_free(self._database, "PRAGMA wal_checkpoint(TRUNCATE)", _WIPE_WAIT)

    def migrate(self) -> int:
        """Upgrade the tables to the current version; return their previous version."""
        with self._translate_errors(), closing(self._open("rw")) as database:
            _execute_when_free(database, "BEGIN IMMEDIATE", _PATIENT_WAIT)
            previous_version = _version(database)
            for statement in schema.migration_steps(previous_version, schema.SQLITE_TABLES):
                database.execute(statement)
            schema.check_version(_version(database))
            database.execute("COMMIT")
            _execute_when_free(database, "PRAGMA wal_checkpoint(TRUNCATE)", _PATIENT_WAIT)
        return previous_version

    def finish_closing(self) -> None:
        with self._translate_errors():
            database = self._connected()
            if database.execute("SELECT state FROM collection").fetchone() == (CLOSING,):
                _execute_when_free(database, "VACUUM", _PATIENT_WAIT)
                _execute_when_free(database, "UPDATE collection SET state = 'closed'", _PATIENT_WAIT)
            if _execute_when_free(database, "PRAGMA wal_checkpoint(TRUNCATE)", _PATIENT_WAIT):
                raise StoreError(
                    "a closed collection must have no readers until its log is emptied, got one: close it again."
                )

    def close(self) -> None:
        """Close the connection; a closed collection becomes a single file, readable from read-only media."""
        if self._database is not None and not self._readonly:
            with suppress(sqlite3.Error):
                if self._database.execute("SELECT state FROM collection").fetchone() == (State.CLOSED.value,):
                    self._database.execute("PRAGMA busy_timeout = 0")
                    self._database.execute("PRAGMA journal_mode = DELETE")
        self._disconnect()

    def remove(self) -> None:
        """Delete the file and the files that SQLite creates next to it."""
        with self._translate_errors():
            self._disconnect()
            for ending in ("", "-wal", "-shm", "-journal"):
                self._path.with_name(f"{self._path.name}{ending}").unlink(missing_ok=True)

    @contextmanager
    def _transaction(self, begin_statement: str, wait: float = _WAIT) -> Iterator[SqliteSession]:
        with self._translate_errors():
            database = self._connected()
            try:
                _execute_when_free(database, begin_statement, wait)
                yield SqliteSession(database)
                database.execute("COMMIT")
            except sqlite3.Error as error:
                if _error_name(error) != "BUSY" or database.in_transaction:
                    self._disconnect()  # this rolls back the transaction; the next use connects again
                raise
            except BaseException:
                if database.in_transaction:
                    database.execute("ROLLBACK")
                raise

    def _connected(self) -> sqlite3.Connection:
        """Return a connection to the file at the path; reconnect if that file was moved away or replaced."""
        if self._database is not None and self._open_identity == self._file_identity():
            return self._database
        self._disconnect()
        database = self._open("ro" if self._readonly else "rw")
        try:
            schema.check_version(_version(database))
        except BaseException:
            database.close()
            raise
        self._database, self._open_identity = database, self._file_identity()
        if not self._readonly and database.execute("SELECT 1 FROM collection WHERE access <> 'open'").fetchone():
            # The last server may have been killed between a commit and the emptying of its log.
            self.wipe_log()
        return self._database

    def _open(self, mode: str, *, check_id: bool = True) -> sqlite3.Connection:
        address = f"{self._path.as_uri()}?mode={mode}"
        database = sqlite3.connect(address, uri=True, timeout=_WAIT, isolation_level=None, check_same_thread=False)
        try:
            for pragma in _PRAGMAS:
                database.execute(f"PRAGMA {pragma}")
            if check_id and database.execute("PRAGMA application_id").fetchone() != (_APPLICATION_ID,):
                self._fail("NOTADB", "something else")
        except BaseException:
            database.close()
            raise
        return database

    def _create_file(self) -> None:
        """Create the file, readable only by its owner, and its tables, unless they exist."""
        with suppress(FileExistsError):
            os.close(os.open(self._path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
        with closing(self._open("rw", check_id=False)) as database:
            _execute_when_free(database, "BEGIN", _PATIENT_WAIT)
            is_new = self._is_empty(database)
            database.execute("COMMIT")
            if is_new:
                _execute_when_free(database, "PRAGMA journal_mode = WAL", _PATIENT_WAIT)
                self._create_tables(database)

    def _create_tables(self, database: sqlite3.Connection) -> None:
        _execute_when_free(database, "BEGIN IMMEDIATE", _PATIENT_WAIT)
        if self._is_empty(database):  # check again under the lock
            for statement in schema.SQLITE_TABLES.values():
                database.execute(statement)
            database.execute(f"PRAGMA application_id = {_APPLICATION_ID}")
        database.execute("COMMIT")

    def _is_empty(self, database: sqlite3.Connection) -> bool:
        (application_id,) = database.execute("PRAGMA application_id").fetchone()
        (tables,) = database.execute("SELECT count(*) FROM sqlite_master").fetchone()
        if tables and application_id != _APPLICATION_ID:
            reject(
                "a new collection needs a separate database", f"{self._path.name} with other tables", "use another file"
            )
        return not tables

    def _file_identity(self) -> tuple[int, int] | None:
        try:
            file = self._path.stat()
        except OSError:
            return None
        return file.st_dev, file.st_ino

    def _disconnect(self) -> None:
        database, self._database = self._database, None
        if database is not None:
            with suppress(sqlite3.Error):
                database.close()

    @contextmanager
    def _translate_errors(self) -> Iterator[None]:
        """Translate errors of the database into `StoreError`."""
        try:
            yield
        except OSError as error:
            self._fail("CANTOPEN", type(error).__name__)
        except sqlite3.DataError:
            reject("a report must fit into the database", "one that does not", "it can never be stored")
        except sqlite3.Error as error:
            self._fail(_error_name(error), f"“{error}”")

    def _fail(self, error_name: str, received: str) -> NoReturn:
        rule, retry_after = _FAILURES.get(error_name, ("the database must work", 30))
        raise StoreError(f"{rule}, got {received} for {self._path.name}: nothing was stored.", retry_after)


def _execute_when_free(database: sqlite3.Connection, statement: str, wait: float) -> bool:
    """Execute a statement as soon as the database is free; return whether a checkpoint remained blocked."""
    # SQLite's own busy handler sleeps longer after each attempt and would miss the short gaps of a busy server.
    end = time.monotonic() + wait
    database.execute("PRAGMA busy_timeout = 0")
    try:
        while True:
            late = time.monotonic() >= end
            try:
                row = database.execute(statement).fetchone()
                was_busy = row is not None and row[0] == 1  # a checkpoint returns whether it was blocked
                if late or not was_busy:
                    return was_busy
            except sqlite3.OperationalError as error:
                if late or _error_name(error) != "BUSY":
                    raise
            time.sleep(0.001)
    finally:
        database.execute(f"PRAGMA busy_timeout = {_WAIT * 1000:.0f}")


def _version(database: sqlite3.Connection) -> int:
    """Return the version of the tables, or the current version if there is no collection yet."""
    row = database.execute("SELECT version FROM collection").fetchone()
    return schema.VERSION if row is None else int(row[0])


def _error_name(error: sqlite3.Error) -> str:
    """Return the primary name of an SQLite error, such as BUSY for SQLITE_BUSY_SNAPSHOT."""
    return str(getattr(error, "sqlite_errorname", "SQLITE_ERROR")).split("_")[1]
