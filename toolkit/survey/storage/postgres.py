"""Reports in PostgreSQL, for large collections: one schema per collection, named in the URL (`?schema=campus`).

Durability: a commit returns when it is on disk. Several servers may share a collection, and each locks it before it
reads. With open access the lock is shared until the cap is near; otherwise it is exclusive. A lost connection is
reopened at the next use. Reports are bound parameters and never violate a constraint, so the server's log does not
quote them; a warning names settings that would log more.

Order: PostgreSQL leaves rows where they were written and marks each with its transaction (`ctid`, `xmin`). With open
access a reader of the tables can thus learn the order of the reports. With tokens, reports and spent tokens go through
a pool (see `mixing.py`), so that the marks reveal only groups of at least ten and not which report came with which
token. Rows of tokens are never updated, so that a reader with an old snapshot learns nothing more. Somebody who reads
the tables repeatedly sees tokens and reports change together, in any database; only blind access prevents that. Closing
empties the tables of tokens (except the invitations, if another wave follows) and rewrites the reports into new files,
sorted by their random keys, in one transaction.

Closing cannot reach the server's write-ahead log, which contains every batch with its tokens in order and the time of
each commit. Nor can it reach archives of that log, replicas, consumers of logical decoding, or file backups. Until the
tables are vacuumed, somebody who reads their pages finds deleted rows. The owner of the server decides how long all of
these are retained.
"""
# ruff: noqa: S608 (statements are built from constants)

import secrets
import selectors
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import Any

import psycopg
from psycopg import IsolationLevel, errors

from toolkit.core.checks import reject, warn
from toolkit.core.postgres import address, check_encoding, qualified, set_locally
from toolkit.survey.storage import schema as tables
from toolkit.survey.storage.collection import Collection
from toolkit.survey.storage.engine import Session
from toolkit.survey.storage.mixing import Pool
from toolkit.survey.storage.protocol import State, StoreError

_REWRITE_INTERVAL = 200
_REPORTS = "INSERT INTO main.report SELECT * FROM unnest(%(keys)s::bytea[], %(bodies)s::text[])"
_SPEND = "INSERT INTO main.spent SELECT * FROM unnest(%(hashes)s::bytea[])"
_SET_POOL = "UPDATE main.pool SET content = %(content)s"
# Each server counts its reports in its own row.
_ADD_TO_TALLY = "ON CONFLICT (server) DO UPDATE SET reports = tally.reports + excluded.reports"
_COUNT = f"INSERT INTO main.tally VALUES (%(server)s, %(n_added)s) {_ADD_TO_TALLY}"
_COUNT_STORED = f"INSERT INTO main.tally SELECT %(server)s, count(*) FROM stored {_ADD_TO_TALLY}"
# Each of these is a single statement, because every statement costs a round trip to the server.
_INSERT = (
    f"WITH stored AS ({_REPORTS} ON CONFLICT DO NOTHING RETURNING key), counted AS ({_COUNT_STORED}) "
    "SELECT key FROM stored"
)
_FLUSH_POOL = f"WITH stored AS ({_REPORTS}), spending AS ({_SPEND}), refilled AS ({_SET_POOL}) {_COUNT}"


class PostgresSession(Session):
    """One transaction in PostgreSQL; each server counts its reports in its own row."""

    IDENTITY = "tableoid::bigint"

    def __init__(self, connection: psycopg.Connection[Any], server: str, schema: str) -> None:
        super().__init__(connection, server)
        self._schema = schema

    def run(self, query: str, *values: object) -> psycopg.Cursor[Any]:
        return self.execute(query, values)

    def execute(self, query: str, values: Sequence[object] | Mapping[str, object] = ()) -> psycopg.Cursor[Any]:
        cursor: psycopg.Cursor[Any] = self._connection.execute(qualified(query, self._schema).encode(), values)
        return cursor

    def lookup(self, query: str, values: Sequence[bytes]) -> set[bytes]:
        return {row[0] for row in self.run(f"{query} = ANY (%s)", list(values))}

    def close(self, *, keep_invitations: bool) -> None:
        """Close in one transaction; truncated tables get new files, and the commit deletes the old ones."""
        self.run("SET LOCAL statement_timeout = 0")
        count, pool = self.count_and_pool()
        self.flush_pool(Pool(), pool, 0)
        self.run("CREATE TABLE main.scratch AS SELECT key, body FROM main.report")
        self.run("TRUNCATE main.report, main.issued, main.spent, main.pool, main.tally")
        if not keep_invitations:
            self.run("TRUNCATE main.invited")
        self.run("INSERT INTO main.report SELECT key, body FROM main.scratch ORDER BY key")
        self.run("DROP TABLE main.scratch")
        self.run("INSERT INTO main.pool VALUES (%s, '')", tables.VERSION)
        self.run("INSERT INTO main.tally VALUES ('all', %s)", count)
        self.set_state(State.CLOSED.value)

    def count_writers(self) -> int:
        """Count the holders of the shared lock; an earlier holder not counted here has committed."""
        return int(self.row(_WRITERS)[0])

    def insert_reports(self, reports: dict[bytes, str]) -> set[bytes]:
        """Insert reports; a duplicate key must not raise, because the server's log would quote the key."""
        ordered = dict(sorted(reports.items()))
        values = {"keys": list(ordered), "bodies": list(ordered.values()), "server": self._server}
        return set(reports) - {row[0] for row in self.execute(_INSERT, values)}

    def flush_pool(self, new_pool: Pool, leaving: Pool, n_added: int) -> None:
        reports = dict(sorted(leaving.reports.items()))
        values = {"keys": list(reports), "bodies": list(reports.values()), "hashes": sorted(leaving.token_hashes)}
        values |= {"content": new_pool.to_text(), "server": self._server, "n_added": n_added}
        self.execute(_FLUSH_POOL, values)

    def invite(self, hashes: Sequence[bytes]) -> None:
        self.run("INSERT INTO main.invited SELECT * FROM unnest(%s::bytea[]) ON CONFLICT DO NOTHING", list(hashes))

    def delete_settings(self, prefix: str) -> None:
        """Rewrite the other settings to a new file, because deleted rows remain in the old file until a vacuum."""
        rows = self.run("SELECT name, value FROM main.setting ORDER BY name").fetchall()
        self.run("TRUNCATE main.setting")
        for name, value in rows:
            if not name.startswith(prefix):
                self.set_setting(name, value)

    def issue(self, invitation: bytes, blinded_hash: bytes) -> None:
        """Insert a row and sometimes rewrite all rows (always while there are few), to hide the order of arrival."""
        super().issue(invitation, blinded_hash)
        if secrets.randbelow(max(1, self.row("SELECT count(*) FROM main.issued")[0] // _REWRITE_INTERVAL)) == 0:
            rows = sorted(self.run("DELETE FROM main.issued RETURNING invitation, blinded").fetchall())
            columns = [row[0] for row in rows], [row[1] for row in rows]
            self.run("INSERT INTO main.issued SELECT * FROM unnest(%s::bytea[], %s::bytea[])", *columns)


_SETTINGS = {"synchronous_commit": "on", "statement_timeout": "10s", "idle_in_transaction_session_timeout": "10s"}
_WAIT, _PATIENT_WAIT = "1s", "8s"  # time to wait for the lock of another server
# The tally is locked, because the database role of a server may write to this table.
_EXCLUSIVE_LOCK, _SHARE_LOCK = "LOCK TABLE main.tally IN EXCLUSIVE MODE", "LOCK TABLE main.tally IN ROW EXCLUSIVE MODE"
_WRITERS = "SELECT count(*) FROM pg_locks WHERE relation = 'main.tally'::regclass AND mode = 'RowExclusiveLock'"
_REVEALING_SETTINGS = """
SELECT name FROM pg_settings WHERE (name = 'log_statement' AND setting IN ('mod', 'all'))
  OR (name IN ('log_min_duration_statement', 'log_min_duration_sample') AND setting <> '-1')
  OR (name = 'log_transaction_sample_rate' AND setting <> '0') OR (name = 'track_commit_timestamp' AND setting = 'on')"""  # noqa: E501
# Only a superuser may turn off the logging of parameters for a session.
_HIDE_PARAMETERS = """
SELECT pg_catalog.set_config('log_parameter_max_length', '0', false) FROM pg_catalog.pg_roles
  WHERE rolname = current_user AND rolsuper"""
_ALL_TABLES = {*tables.POSTGRES_TABLES, "unspent"}  # the tables of all versions


def postgres_store(url: str, readonly: bool) -> Collection:
    """Return the collection in a schema of a database: postgresql://user@host/database?schema=campus."""
    options, schema = address(url, "survey")
    return Collection(PostgresEngine({"application_name": "survey", **options}, schema, readonly))


class PostgresEngine:
    """The engine of collections in PostgreSQL, each in its own schema."""

    def __init__(self, options: dict[str, Any], schema: str, readonly: bool) -> None:
        self._options, self._schema, self._readonly = options, schema, readonly
        self._connection: psycopg.Connection[Any] | None = None
        self._server = secrets.token_hex(8)
        self._version_is_checked = False  # whether the tables are known to have the current version

    @contextmanager
    def reading(self) -> Iterator[PostgresSession]:
        with self._translate_errors(), self._transaction(_WAIT) as session:
            self._check_version(session)
            yield session

    @contextmanager
    def writing(self, *, wait_longer: bool = False, is_shared: bool = False) -> Iterator[PostgresSession]:
        """Lock a table rather than a row: waiting sessions then take turns, so new batches do not delay closing."""
        with self._writing(wait_longer) as session:
            # The lock is a separate statement, so that the snapshots of later statements include all earlier commits.
            session.run(_SHARE_LOCK if is_shared else _EXCLUSIVE_LOCK)
            self._check_version(session)
            yield session

    @contextmanager
    def creating(self) -> Iterator[PostgresSession]:
        with self._writing(wait_longer=True) as session:
            # There may be no table to lock yet.
            session.run("SELECT pg_advisory_xact_lock(hashtext('survey.create'))")
            self._prepare(session)
            session.run(_EXCLUSIVE_LOCK)
            self._check_version(session)
            yield session

    @contextmanager
    def _writing(self, wait_longer: bool) -> Iterator[PostgresSession]:
        if self._readonly:
            reject("the store must be open for writing", "a read-only one", "nothing was changed")
        with self._translate_errors(), self._transaction(_PATIENT_WAIT if wait_longer else _WAIT) as session:
            yield session

    @contextmanager
    def _transaction(self, lock_timeout: str) -> Iterator[PostgresSession]:
        """Open a transaction with the settings that it depends on."""
        with self._connected() as connection, connection.transaction():
            settings = {**_SETTINGS, "lock_timeout": lock_timeout}
            if self._readonly:
                settings["transaction_read_only"] = "on"
            set_locally(connection, settings)
            yield PostgresSession(connection, self._server, self._schema)

    def finish_closing(self) -> None:
        """Do nothing, because closing was one transaction."""

    def wipe_log(self) -> None:
        """Do nothing, because the write-ahead log belongs to the database server."""

    def migrate(self) -> int:
        """Upgrade the tables to the current version in one transaction; return their previous version."""
        with self._writing(wait_longer=True) as session:
            session.run("SET LOCAL statement_timeout = 0")
            session.run("LOCK TABLE main.collection IN ACCESS EXCLUSIVE MODE")
            previous_version = _version(session)
            for statement in tables.migration_steps(previous_version, tables.POSTGRES_TABLES):
                session.run(statement)
            tables.check_version(_version(session))
        return previous_version

    def _check_version(self, session: PostgresSession) -> None:
        if not self._version_is_checked:
            tables.check_version(_version(session))
            self._version_is_checked = True

    def remove(self) -> None:
        """Drop the schema; reject a schema that has other tables."""
        with self._writing(wait_longer=True) as session:
            query = "SELECT relname FROM pg_class WHERE relnamespace = to_regnamespace(%s) AND relkind <> 'i'"
            other_tables = {name for (name,) in session.run(query, self._schema)} - _ALL_TABLES
            if other_tables:
                rule = f"schema {self._schema} must contain only the collection"
                reject(rule, f"{len(other_tables)} other tables", "move them, or drop the schema by hand")
            session.run(f'DROP SCHEMA "{self._schema}" CASCADE')

    def close(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            with suppress(psycopg.Error):
                connection.close()

    @contextmanager
    def _connected(self) -> Iterator[psycopg.Connection[Any]]:
        if self._connection is not None and not _is_idle(self._connection):
            self.close()
        if self._connection is None:
            self._connection = self._connect()
        try:
            yield self._connection
        except psycopg.Error:
            if self._connection.broken or not _is_idle(self._connection):
                self.close()
            raise

    def _connect(self) -> psycopg.Connection[Any]:
        try:
            # Prepared statements belong to a session, and a connection pooler may change the session.
            connection = psycopg.connect(**self._options, autocommit=True, prepare_threshold=None)
        except psycopg.OperationalError as error:  # the error message cannot quote a report, because none was sent yet
            reason = (str(error).splitlines() or [""])[0]
            raise StoreError(f"the database must answer, got “{reason}”: nothing was stored.") from None
        try:
            connection.isolation_level = IsolationLevel.READ_COMMITTED
            connection.execute(_HIDE_PARAMETERS)
        except BaseException:
            connection.close()
            raise
        return connection

    def _prepare(self, session: PostgresSession) -> None:
        """Create the schema and the tables, unless they exist."""
        check_encoding(*session.row("SHOW server_encoding"))
        if session.row("SELECT to_regnamespace(%s)", self._schema) == (None,):
            session.run(f'CREATE SCHEMA "{self._schema}"')
        query = "SELECT relname FROM pg_class WHERE relnamespace = to_regnamespace(%s)"
        existing_tables = session.run(query, self._schema).fetchall()
        if not existing_tables:
            for statement in tables.POSTGRES_TABLES.values():
                session.run(statement)
        elif not {("collection",), ("tally",), ("report",)} <= set(existing_tables):
            rule = "a new collection needs a separate schema"
            reject(rule, f"{self._schema} with other tables", "give another schema as ?schema=")
        names = [name for (name,) in session.run(_REVEALING_SETTINGS)]
        if names:
            risk = f"PostgreSQL's {', '.join(names)} may keep the time of every report, if not the report"
            warn(f"{risk}: reset it for this database.")

    @contextmanager
    def _translate_errors(self) -> Iterator[None]:
        """Translate errors of the database, whose messages may quote a row, into errors that quote nothing."""
        try:
            yield
        except (errors.DataError, errors.IntegrityError):
            failure: Exception = ValueError(
                "a report must fit into the database, got one that does not: it can never be stored."
            )
        except (errors.UndefinedTable, errors.InvalidSchemaName):
            failure = StoreError(
                f"the database must hold a collection, got none in schema {self._schema}: create one first.", 30
            )
        except psycopg.Error as error:
            failure = _store_error(error)
        else:
            return
        raise failure from None


def _version(session: PostgresSession) -> int:
    """Return the version of the tables, or the current version if there is no collection yet."""
    row = session.row("SELECT version FROM main.collection")
    return tables.VERSION if row is None else int(row[0])


def _is_idle(connection: psycopg.Connection[Any]) -> bool:
    """Return whether the connection is alive; on an idle connection the server sends data only to close it."""
    if connection.closed:
        return False
    with selectors.DefaultSelector() as selector:
        selector.register(connection.fileno(), selectors.EVENT_READ)
        return not selector.select(0)


def _store_error(error: psycopg.Error) -> StoreError:
    if isinstance(error, errors.LockNotAvailable | errors.DeadlockDetected | errors.SerializationFailure):
        return StoreError("the collection must be free, got a lock of another session: nothing was stored.", 1)
    if isinstance(error, errors.DiskFull):
        return StoreError("the database's disk must have room, got none: nothing was stored.", 30)
    if isinstance(error, errors.InsufficientPrivilege):
        return StoreError("the role must have the privilege, got a permission error: nothing was stored.", 30)
    if isinstance(error, errors.ReadOnlySqlTransaction):
        return StoreError("the database must be writable, got a read-only one: nothing was stored.", 30)
    kind = f"{type(error).__name__}{f' ({error.sqlstate})' if error.sqlstate else ''}"
    return StoreError(f"the database must be available, got {kind}: send it again.", 5)
