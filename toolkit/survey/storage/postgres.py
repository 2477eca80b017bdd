"""Reports in PostgreSQL, for large collections: one schema per collection, named in the URL (`?schema=campus`, else
`survey`).

Durable: a commit returns when it is on the disk. Several servers may share a collection: each locks it before it reads,
in open access together with the others until the cap is near, else for itself. A lost connection is reopened at the
next use. Reports travel as bound parameters and never meet a constraint that could fail, so the server's log has
nothing to quote; settings that would log more are warned of.

Order: PostgreSQL keeps rows where they were written and marks each with its transaction (`ctid`, `xmin`). While a
collection in open access runs, a reader of its tables can thus learn in which order reports came. With tokens,
reports and spent tokens go through a pool (see `mixing.py`), so that the marks tell of groups of at least ten, and not
which report came with which token; no row of a token is ever changed, so that a reader with an old snapshot learns no
more. Who looks again and again sees tokens and reports change together, in any database; only blind access helps
against that. Closing empties the tables of tokens, but for the list of those who were invited where another wave
follows, and writes the reports afresh, in one transaction and in the order of their random keys, into new files.

Beyond the reach of a collection: the server's own log of changes (WAL) holds every batch with its tokens, one after the
other and with the time of each commit, and so do its archive, replicas, logical decoding and backups of its files; its
tables hold what was deleted until they are vacuumed, for readers of their pages. Closing changes nothing of
these. The owner of the server decides how long they live.
"""
# ruff: noqa: S608 (statements are put together from constants)

import secrets
import selectors
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import Any

import psycopg
from psycopg import IsolationLevel, errors

from toolkit.core.checks import refuse
from toolkit.core.postgres import address, check_encoding, qualified, set_locally
from toolkit.survey.storage import schema as tables
from toolkit.survey.storage.collection import Collection
from toolkit.survey.storage.engine import Session
from toolkit.survey.storage.mixing import Pool
from toolkit.survey.storage.protocol import State, StoreError

_REWRITTEN_AT_ONCE = 200
_REPORTS = "INSERT INTO main.report SELECT * FROM unnest(%(keys)s::bytea[], %(bodies)s::text[])"
_SPEND = "INSERT INTO main.spent SELECT * FROM unnest(%(passes)s::bytea[])"
_REFILL = "UPDATE main.pool SET content = %(content)s"
# a server counts in a row of its own
_MORE = "ON CONFLICT (server) DO UPDATE SET reports = tally.reports + excluded.reports"
_COUNT = f"INSERT INTO main.tally VALUES (%(server)s, %(more)s) {_MORE}"
_COUNT_STORED = f"INSERT INTO main.tally SELECT %(server)s, count(*) FROM stored {_MORE}"
# One statement each, as each costs a journey to the server and back.
_INSERT = (
    f"WITH stored AS ({_REPORTS} ON CONFLICT DO NOTHING RETURNING key), counted AS ({_COUNT_STORED}) "
    "SELECT key FROM stored"
)
_FLUSH = f"WITH stored AS ({_REPORTS}), spending AS ({_SPEND}), refilled AS ({_REFILL}) {_COUNT}"


class PostgresSession(Session):
    """One transaction in PostgreSQL, of a server that counts the reports that it stored in a row of its own."""

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

    def close(self, *, again: bool) -> None:
        """All in one transaction. The emptied tables get new files, and the old ones go when it is done."""
        self.run("SET LOCAL statement_timeout = 0")
        count, pool = self.count_and_pool()
        self.flush_pool(Pool(), pool, 0)
        self.run("CREATE TABLE main.scratch AS SELECT key, body FROM main.report")
        self.run("TRUNCATE main.report, main.issued, main.spent, main.pool, main.tally")
        if not again:
            self.run("TRUNCATE main.invited")
        self.run("INSERT INTO main.report SELECT key, body FROM main.scratch ORDER BY key")
        self.run("DROP TABLE main.scratch")
        self.run("INSERT INTO main.pool VALUES (%s, '')", tables.VERSION)
        self.run("INSERT INTO main.tally VALUES ('all', %s)", count)
        self.set_state(State.CLOSED.value)

    def writers(self) -> int:
        """All that hold the shared lock. Who took it before is seen here, or has committed and is counted."""
        return int(self.row(_WRITERS)[0])

    def insert(self, reports: dict[bytes, str]) -> set[bytes]:
        """A key that another server stores in the same moment is no error, which the database's log would quote."""
        values = {"keys": list(reports), "bodies": list(reports.values()), "server": self._server}
        return set(reports) - {row[0] for row in self.execute(_INSERT, values)}

    def flush_pool(self, stays: Pool, leaves: Pool, more: int) -> None:
        reports = dict(sorted(leaves.reports.items()))
        values = {"keys": list(reports), "bodies": list(reports.values()), "passes": sorted(leaves.passes)}
        values |= {"content": stays.to_text(), "server": self._server, "more": more}
        self.execute(_FLUSH, values)

    def invite(self, hashes: Sequence[bytes]) -> None:
        self.run("INSERT INTO main.invited SELECT * FROM unnest(%s::bytea[]) ON CONFLICT DO NOTHING", list(hashes))

    def forget(self, prefix: str) -> None:
        """The table gets a new file: deleted rows would lie in the old one until it is vacuumed."""
        rows = self.run("SELECT name, value FROM main.setting ORDER BY name").fetchall()
        self.run("TRUNCATE main.setting")
        for name, value in rows:
            if not name.startswith(prefix):
                self.remember(name, value)

    def issue(self, invitation: bytes, blinded: bytes) -> None:
        """Now and then, and always while they are few, all rows are rewritten: they lie in no order of arrival."""
        super().issue(invitation, blinded)
        if secrets.randbelow(max(1, self.row("SELECT count(*) FROM main.issued")[0] // _REWRITTEN_AT_ONCE)) == 0:
            rows = sorted(self.run("DELETE FROM main.issued RETURNING invitation, blinded").fetchall())
            columns = [row[0] for row in rows], [row[1] for row in rows]
            self.run("INSERT INTO main.issued SELECT * FROM unnest(%s::bytea[], %s::bytea[])", *columns)


_SETTINGS = {"synchronous_commit": "on", "statement_timeout": "10s", "idle_in_transaction_session_timeout": "10s"}
_WAIT, _PATIENCE = "1s", "8s"  # for the lock of another server
# Of the table that a server may write.
_LOCK, _SHARE = "LOCK TABLE main.tally IN EXCLUSIVE MODE", "LOCK TABLE main.tally IN ROW EXCLUSIVE MODE"
_WRITERS = "SELECT count(*) FROM pg_locks WHERE relation = 'main.tally'::regclass AND mode = 'RowExclusiveLock'"
_TELLTALES = """
SELECT name FROM pg_settings WHERE (name = 'log_statement' AND setting IN ('mod', 'all'))
  OR (name IN ('log_min_duration_statement', 'log_min_duration_sample') AND setting <> '-1')
  OR (name = 'log_transaction_sample_rate' AND setting <> '0') OR (name = 'track_commit_timestamp' AND setting = 'on')"""  # noqa: E501
# That parameters are not logged, only a superuser may say for a session.
_SILENT = """
SELECT pg_catalog.set_config('log_parameter_max_length', '0', false) FROM pg_catalog.pg_roles
  WHERE rolname = current_user AND rolsuper"""
_TABLES = {*tables.POSTGRES, "unspent"}  # of all versions


def postgres_store(url: str, readonly: bool) -> Collection:
    """The collection in a schema of a database: postgresql://user@host/database?schema=campus."""
    options, schema = address(url, "survey")
    return Collection(PostgresEngine({"application_name": "survey", **options}, schema, readonly))


class PostgresEngine:
    def __init__(self, options: dict[str, Any], schema: str, readonly: bool) -> None:
        self._options, self._schema, self._readonly = options, schema, readonly
        self._connection: psycopg.Connection[Any] | None = None
        self._server = secrets.token_hex(8)
        self._is_known = False  # whether its tables are of our version

    @contextmanager
    def reading(self) -> Iterator[PostgresSession]:
        with self._translated(), self._transaction(_WAIT) as session:
            self._check_version(session)
            yield session

    @contextmanager
    def writing(self, *, patient: bool = False, shared: bool = False) -> Iterator[PostgresSession]:
        """Locked as a table, not as a row: those who wait take turns, so that new batches do not put off closing."""
        with self._changing(patient) as session:
            # On its own: what is read from now on is what holds.
            session.run(_SHARE if shared else _LOCK)
            self._check_version(session)
            yield session

    @contextmanager
    def making(self) -> Iterator[PostgresSession]:
        with self._changing(patient=True) as session:
            # There is no row yet that could be locked.
            session.run("SELECT pg_advisory_xact_lock(hashtext('survey.create'))")
            self._prepare(session)
            session.run(_LOCK)
            self._check_version(session)
            yield session

    @contextmanager
    def _changing(self, patient: bool) -> Iterator[PostgresSession]:
        if self._readonly:
            refuse("the store must be open for writing", "a read-only one", "nothing was changed")
        with self._translated(), self._transaction(_PATIENCE if patient else _WAIT) as session:
            yield session

    @contextmanager
    def _transaction(self, wait: str) -> Iterator[PostgresSession]:
        """A transaction that sets all that it depends on."""
        with self._connected() as connection, connection.transaction():
            settings = {**_SETTINGS, "lock_timeout": wait}
            if self._readonly:
                settings["transaction_read_only"] = "on"
            set_locally(connection, settings)
            yield PostgresSession(connection, self._server, self._schema)

    def finish(self) -> None:
        """Nothing is left to do: closing was one transaction."""

    def wipe(self) -> None:
        """Nothing that we could do: the log of changes is the server's own."""

    def migrate(self) -> int:
        """Bring the tables to today's version, all in one transaction; the version that was found."""
        with self._changing(patient=True) as session:
            session.run("SET LOCAL statement_timeout = 0")
            session.run("LOCK TABLE main.collection IN ACCESS EXCLUSIVE MODE")
            earlier = _version(session)
            for statement in tables.steps(earlier, tables.POSTGRES):
                session.run(statement)
            tables.check_version(_version(session))
        return earlier

    def _check_version(self, session: PostgresSession) -> None:
        if not self._is_known:
            tables.check_version(_version(session))
            self._is_known = True

    def remove(self) -> None:
        """The schema, if nobody has put anything else into it."""
        with self._changing(patient=True) as session:
            query = "SELECT relname FROM pg_class WHERE relnamespace = to_regnamespace(%s) AND relkind <> 'i'"
            others = {name for (name,) in session.run(query, self._schema)} - _TABLES
            if others:
                rule = f"schema {self._schema} must hold nothing but the collection"
                refuse(rule, f"{len(others)} more", "take it out, or drop the schema by hand")
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
            # Prepared statements live in a session, which may not be ours the next time.
            connection = psycopg.connect(**self._options, autocommit=True, prepare_threshold=None)
        except psycopg.OperationalError as error:  # no report was on its way yet
            reason = (str(error).splitlines() or [""])[0]
            raise StoreError(f"the database must answer, got “{reason}”: nothing was stored.") from None
        try:
            connection.isolation_level = IsolationLevel.READ_COMMITTED
            connection.execute(_SILENT)
        except BaseException:
            connection.close()
            raise
        return connection

    def _prepare(self, session: PostgresSession) -> None:
        """Make schema and tables, if there is nothing yet."""
        check_encoding(*session.row("SHOW server_encoding"))
        if session.row("SELECT to_regnamespace(%s)", self._schema) == (None,):
            session.run(f'CREATE SCHEMA "{self._schema}"')
        query = "SELECT relname FROM pg_class WHERE relnamespace = to_regnamespace(%s)"
        there = session.run(query, self._schema).fetchall()
        if not there:
            for statement in tables.POSTGRES.values():
                session.run(statement)
        elif not {("collection",), ("tally",), ("report",)} <= set(there):
            rule = "a new collection needs a schema of its own"
            refuse(rule, self._schema, "something else is in it; name another by ?schema=")
        names = [name for (name,) in session.run(_TELLTALES)]
        if names:
            risk = f"PostgreSQL's {', '.join(names)} may keep the time of every report, if not the report"
            warnings.warn(f"{risk}: reset it for this database.", stacklevel=2)

    @contextmanager
    def _translated(self) -> Iterator[None]:
        """Failures of the database in our words: its own may quote a row."""
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
            failure = _failure(error)
        else:
            return
        raise failure from None


def _version(session: PostgresSession) -> int:
    """The version of the tables; today's where no collection was begun."""
    row = session.row("SELECT version FROM main.collection")
    return tables.VERSION if row is None else int(row[0])


def _is_idle(connection: psycopg.Connection[Any]) -> bool:
    """Whether the connection still stands: the server of an idle one has nothing to say but farewell."""
    if connection.closed:
        return False
    with selectors.DefaultSelector() as selector:
        selector.register(connection.fileno(), selectors.EVENT_READ)
        return not selector.select(0)


def _failure(error: psycopg.Error) -> StoreError:
    if isinstance(error, errors.LockNotAvailable | errors.DeadlockDetected | errors.SerializationFailure):
        return StoreError("the collection must be free, got a lock of somebody else: nothing was stored.", 1)
    if isinstance(error, errors.DiskFull):
        return StoreError("the database's disk must have room, got none: nothing was stored.", 30)
    if isinstance(error, errors.InsufficientPrivilege):
        return StoreError("the role must be allowed to do this, got a refusal: nothing was stored.", 30)
    if isinstance(error, errors.ReadOnlySqlTransaction):
        return StoreError("the database must be writable, got a refusal: nothing was stored.", 30)
    kind = f"{type(error).__name__}{f' ({error.sqlstate})' if error.sqlstate else ''}"
    return StoreError(f"the database must be there and work, got {kind}: send it again.", 5)
