"""Reports in PostgreSQL, for large collections: one schema a collection, named in the URL (`?schema=campus`, else `survey`).

Durable: a commit returns when it is on the disk. Several servers may share a collection: each locks its row before it
reads. A connection that was lost is made anew at the next use. Reports travel as bound parameters and never meet a
constraint that could fail, so the server's log has nothing to quote; settings that would log more are warned of.

Order: PostgreSQL keeps rows where they were written and marks each with its transaction (`ctid`, `xmin`). While a
collection runs, whoever may read its tables can thus learn in which order reports came, though not with which token: to
spend a token is to delete a row, which leaves no mark that a query could find (an expert with the server's files could,
until they are vacuumed). Whoever looks again and again sees tokens and reports change together, in any database; only
blind access helps against that. Closing empties the tables of tokens and writes the reports afresh, in one transaction and in
the order of their random keys, into new files. The server's own log of changes (WAL), its archive and backups live longer:
whoever owns the server decides how long.
"""

import secrets
import selectors
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any

import psycopg
from psycopg import IsolationLevel, errors, sql
from psycopg.conninfo import conninfo_to_dict

from toolkit.core.checks import refuse
from toolkit.survey.keeping.admission import Head
from toolkit.survey.keeping.collection import Collection
from toolkit.survey.keeping.protocol import State, StoreError

_SCHEMA = """
CREATE TABLE collection (
  version integer PRIMARY KEY CHECK (version = 1),
  survey text NOT NULL, hash text NOT NULL, access text NOT NULL, cap bigint, state text NOT NULL);

CREATE TABLE tally (version integer PRIMARY KEY CHECK (version = 1), reports bigint NOT NULL);

CREATE TABLE report (key bytea PRIMARY KEY, body text NOT NULL);

CREATE TABLE invited (hash bytea PRIMARY KEY);

CREATE TABLE unspent (hash bytea PRIMARY KEY);

CREATE TABLE issued (invitation bytea PRIMARY KEY, blinded bytea NOT NULL);

CREATE TABLE spent (hash bytea PRIMARY KEY);
"""
_SETTING = "CREATE TABLE IF NOT EXISTS setting (name text PRIMARY KEY, value text NOT NULL)"
_NAME_LETTERS, _NAME_LENGTH = set("abcdefghijklmnopqrstuvwxyz0123456789_"), 63
_DEFAULTS = {"connect_timeout": 5, "keepalives_idle": 10, "tcp_user_timeout": 10_000, "application_name": "survey"}
_SETTINGS = {"synchronous_commit": "on", "statement_timeout": "10s", "idle_in_transaction_session_timeout": "10s"}
_WAIT, _PATIENCE = "1s", "8s"  # for the lock of another server
_TELLTALES = """
SELECT name FROM pg_settings WHERE (name = 'log_statement' AND setting IN ('mod', 'all'))
  OR (name IN ('log_min_duration_statement', 'log_min_duration_sample') AND setting <> '-1')
  OR (name = 'log_transaction_sample_rate' AND setting <> '0') OR (name = 'track_commit_timestamp' AND setting = 'on')"""
_REWRITTEN_AT_ONCE = 200
_TABLES = ["collection", "edition", "setting", "tally", "pool", "report", "invited", "unspent", "issued", "spent"]
"""Of all versions."""


def postgres_store(url: str, readonly: bool = False) -> Collection:
    """The collection in a schema of a database: postgresql://user@host/database?schema=campus."""
    address, _, query = url.partition("?")
    options = [option for option in query.split("&") if option]
    schema = next((option.removeprefix("schema=") for option in options if option.startswith("schema=")), "survey")
    if not schema or set(schema) - _NAME_LETTERS or schema[0].isdigit() or len(schema) > _NAME_LENGTH:
        refuse("`schema` must be small letters, digits and _", repr(schema), "PostgreSQL would ask for quotes everywhere else")
    try:
        given = conninfo_to_dict("?".join([address, "&".join(option for option in options if not option.startswith("schema="))]))
    except psycopg.Error:  # its words would quote the URL, and with it a password
        refuse("`database` must be a URL as in postgresql://user@host/database", "another", "PostgreSQL cannot read it")
    return Collection(PostgresEngine({**_DEFAULTS, **given, "client_encoding": "utf8"}, schema, readonly))


class PostgresEngine:
    """One connection to one schema."""

    def __init__(self, options: dict[str, Any], schema: str, readonly: bool) -> None:
        self._options, self._schema, self._readonly = options, schema, readonly
        self._connection: psycopg.Connection[Any] | None = None

    @contextmanager
    def reading(self) -> Iterator["PostgresSession"]:
        with self._told(), self._transaction(_WAIT) as connection:
            yield PostgresSession(connection)

    @contextmanager
    def writing(self, *, patient: bool = False) -> Iterator["PostgresSession"]:
        with self._changing(patient) as connection:
            connection.execute("SELECT FROM collection FOR UPDATE")  # on its own: what is read from now on is what holds
            yield PostgresSession(connection)

    @contextmanager
    def making(self) -> Iterator["PostgresSession"]:
        with self._changing(patient=True) as connection:
            # There is no row yet that could be locked.
            connection.execute("SELECT pg_advisory_xact_lock(hashtext('survey.create'))")
            self._prepare(connection)
            connection.execute("SELECT FROM collection FOR UPDATE")
            yield PostgresSession(connection)

    @contextmanager
    def _changing(self, patient: bool) -> Iterator[psycopg.Connection[Any]]:
        if self._readonly:
            refuse("the store must be open for writing", "a read-only one", "nothing was changed")
        with self._told(), self._transaction(_PATIENCE if patient else _WAIT) as connection:
            yield connection

    @contextmanager
    def _transaction(self, wait: str) -> Iterator[psycopg.Connection[Any]]:
        """A transaction that says for itself what it depends on.

        A pool between us and the server (PgBouncer) may hand out another session for each transaction, with the settings that
        somebody else left there: then tables without a schema would be those of another collection.
        """
        with self._connected() as connection, connection.transaction():
            settings = {**_SETTINGS, "lock_timeout": wait, "search_path": self._schema}
            if self._readonly:
                settings["transaction_read_only"] = "on"
            calls = ", ".join("set_config(%s, %s, true)" for _ in settings)
            connection.execute(f"SELECT {calls}", [text for pair in settings.items() for text in pair])
            yield connection

    def finish(self) -> None:
        """Nothing is left to do: closing was one transaction."""

    def remove(self) -> None:
        """The schema, if nobody has put anything else into it."""
        with self._changing(patient=True) as connection:
            query = "SELECT relname FROM pg_class WHERE relnamespace = to_regnamespace(%s) AND relkind <> 'i'"
            others = {name for (name,) in connection.execute(query, [self._schema])} - set(_TABLES)
            if others:
                told = "take it out, or drop the schema by hand"
                refuse(f"schema {self._schema} must hold nothing but the collection", f"{len(others)} more", told)
            connection.execute(sql.SQL("DROP SCHEMA {} CASCADE").format(sql.Identifier(self._schema)))

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
            self._set_up(connection)
        except BaseException:
            connection.close()
            raise
        return connection

    def _set_up(self, connection: psycopg.Connection[Any]) -> None:
        connection.isolation_level = IsolationLevel.READ_COMMITTED
        # That parameters are not logged, only a superuser may say for a session.
        silent = "SELECT set_config('log_parameter_max_length', '0', false) FROM pg_roles WHERE rolname = current_user AND rolsuper"
        connection.execute(silent)

    def _prepare(self, connection: psycopg.Connection[Any]) -> None:
        """Make schema and tables, if there is nothing yet."""
        if connection.info.parameter_status("server_encoding") != "UTF8":
            refuse("the database must have the encoding UTF8", "another", "not every language could be stored")
        if connection.execute("SELECT to_regnamespace(%s)", [self._schema]).fetchone() == (None,):
            connection.execute(sql.SQL("CREATE SCHEMA {}").format(sql.Identifier(self._schema)))
        there = connection.execute(
            "SELECT relname FROM pg_class WHERE relnamespace = to_regnamespace(%s)", [self._schema]
        ).fetchall()
        if not there:
            connection.execute(_SCHEMA)
        elif not {("collection",), ("tally",), ("report",)} <= set(there):
            refuse("a new collection needs a schema of its own", self._schema, "something else is in it; name another by ?schema=")
        names = [name for (name,) in connection.execute(_TELLTALES)]
        if names:
            kept = f"PostgreSQL's {', '.join(names)} may keep the time of every report, if not the report"
            warnings.warn(f"{kept}: reset it for this database.", stacklevel=2)

    @contextmanager
    def _told(self) -> Iterator[None]:
        """Failures of the database in our words: its own may quote a row."""
        try:
            yield
        except (errors.DataError, errors.IntegrityError):
            failure: Exception = ValueError("a report must fit into the database, got one that does not: it can never be stored.")
        except (errors.UndefinedTable, errors.InvalidSchemaName):
            failure = StoreError(f"the database must hold a collection, got none in schema {self._schema}: create one first.", 30)
        except psycopg.Error as error:
            failure = _failure(error)
        else:
            return
        raise failure from None


class PostgresSession:
    """One transaction in PostgreSQL."""

    def __init__(self, connection: psycopg.Connection[Any]) -> None:
        self._connection = connection

    def head(self) -> Head | None:
        row = self._row("SELECT hash, access, cap, state, tableoid::bigint FROM collection")
        if row is None:
            return None
        code, access, cap, state, table = row
        return Head(code, access, cap, State(state), swept=state == State.CLOSED.value, identity=table)

    def text(self) -> str:
        return str(self._row("SELECT survey FROM collection")[0])

    def begin(self, head: Head, text: str) -> None:
        values = (text, head.hash, head.access, head.cap, head.state.value)
        self._connection.execute("INSERT INTO collection VALUES (1, %s, %s, %s, %s, %s)", values)
        self._connection.execute("INSERT INTO tally VALUES (1, 0)")

    def move(self, state: State) -> None:
        self._connection.execute("UPDATE collection SET state = %s", [state.value])

    def sweep(self) -> None:
        """All in one transaction. The emptied tables get new files, and the old ones go when it is done."""
        self._connection.execute("SET LOCAL statement_timeout = 0")
        self._connection.execute("CREATE TABLE scratch AS SELECT key, body FROM report")
        self._connection.execute("TRUNCATE report, invited, unspent, issued, spent")
        self._connection.execute("INSERT INTO report SELECT key, body FROM scratch ORDER BY key")
        self._connection.execute("DROP TABLE scratch")
        self.move(State.CLOSED)

    def held(self) -> int:
        return int(self._row("SELECT reports FROM tally")[0])

    def found(self, keys: Sequence[bytes]) -> dict[bytes, str]:
        return dict(self._connection.execute("SELECT key, body FROM report WHERE key = ANY (%s)", [list(keys)]).fetchall())

    def page(self, after: bytes, most: int) -> list[tuple[bytes, str]]:
        query = "SELECT key, body FROM report WHERE key > %s ORDER BY key LIMIT %s"
        return self._connection.execute(query, [after, most]).fetchall()

    def keep(self, reports: dict[bytes, str]) -> None:
        values = [list(reports), list(reports.values())]
        self._connection.execute("INSERT INTO report SELECT * FROM unnest(%s::bytea[], %s::text[])", values)
        self._connection.execute("UPDATE tally SET reports = reports + %s", [len(reports)])

    def invite(self, hashes: Sequence[bytes]) -> None:
        query = "INSERT INTO invited SELECT * FROM unnest(%s::bytea[]) ON CONFLICT DO NOTHING RETURNING hash"
        fresh = [row[0] for row in self._connection.execute(query, [list(hashes)])]
        self._connection.execute("INSERT INTO unspent SELECT * FROM unnest(%s::bytea[])", [fresh])

    def unspent(self, hashes: Sequence[bytes]) -> set[bytes]:
        rows = self._connection.execute("SELECT hash FROM unspent WHERE hash = ANY (%s)", [list(hashes)])
        return {row[0] for row in rows}

    def spent(self, hashes: Sequence[bytes]) -> set[bytes]:
        rows = self._connection.execute("SELECT hash FROM spent WHERE hash = ANY (%s)", [list(hashes)])
        return {row[0] for row in rows}

    def use(self, hashes: Sequence[bytes]) -> None:
        self._connection.execute("DELETE FROM unspent WHERE hash = ANY (%s)", [list(hashes)])

    def burn(self, hashes: Sequence[bytes]) -> None:
        """The nonces of blind tokens. Their rows share `xmin` with their reports, but nobody knows whose nonce it was."""
        self._connection.execute("INSERT INTO spent SELECT * FROM unnest(%s::bytea[])", [list(hashes)])

    def setting(self, name: str) -> str | None:
        """None in a collection that never had one, which has no table for them either."""
        (there,) = self._row("SELECT to_regclass('setting')")
        row = there and self._row("SELECT value FROM setting WHERE name = %s", name)
        return None if row is None else row[0]

    def remember(self, name: str, value: str) -> None:
        self._connection.execute(_SETTING)
        query = "INSERT INTO setting VALUES (%s, %s) ON CONFLICT (name) DO UPDATE SET value = excluded.value"
        self._connection.execute(query, [name, value])

    def issued(self, invitation: bytes) -> bytes | None:
        row = self._row("SELECT blinded FROM issued WHERE invitation = %s", invitation)
        return None if row is None else row[0]

    def issue(self, invitation: bytes, blinded: bytes) -> None:
        """Now and then, and always while they are few, all rows are written afresh, so that their order is not that of coming."""
        self._connection.execute("INSERT INTO issued VALUES (%s, %s)", [invitation, blinded])
        if secrets.randbelow(max(1, self._row("SELECT count(*) FROM issued")[0] // _REWRITTEN_AT_ONCE)) == 0:
            rows = sorted(self._connection.execute("DELETE FROM issued RETURNING invitation, blinded").fetchall())
            columns = [[row[0] for row in rows], [row[1] for row in rows]]
            self._connection.execute("INSERT INTO issued SELECT * FROM unnest(%s::bytea[], %s::bytea[])", columns)

    def _row(self, query: str, *values: object) -> Any:
        return self._connection.execute(sql.SQL(query), values).fetchone()


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
    if isinstance(error, errors.InsufficientPrivilege | errors.ReadOnlySqlTransaction):
        return StoreError("the database must be writable, got a refusal: nothing was stored.", 30)
    kind = f"{type(error).__name__}{f' ({error.sqlstate})' if error.sqlstate else ''}"
    return StoreError(f"the database must be there and work, got {kind}: send it again.", 5)
