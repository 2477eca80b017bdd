"""A ledger in a schema of PostgreSQL that a team shares, with the same rows, chain and guarantees as in a file.

Every use opens a connection, runs one transaction and closes it, so nothing is shared between threads or inherited
through a fork, and a transaction pool such as PgBouncer works. Each charge takes an advisory lock first, so only one
process on one machine decides at a time. A client that ignores the lock, or inserts a row by hand, can still only add a
valid charge: a trigger checks the number, the sum, the ceiling and the link again. A charge is complete when the server
confirms that the charge is on its disk. A connection that breaks earlier may leave a charge without a release, but
never a release without a charge.

PostgreSQL's permissions apply to each schema. Readers need USAGE on the schema and SELECT on its tables. To charge, a
role also needs INSERT on `entries` and `published`. No role needs UPDATE or DELETE, and triggers reject both even for
the owner. Like the chain, the triggers protect against mistakes only: a superuser can do anything. Every client rejects
a damaged row; docs/production.md explains how the owner removes it.

For the rollback check, each user's machine stores a note per address (in `$XDG_STATE_HOME`, else ~/.local/state). If
the database is restored from an older backup, it is rejected on every machine that has charged since the backup.

A stream of a ledger has a separate schema, such as claims_stream_members, because it contains the counts, which readers
of the ledger may not see.
"""

import hashlib
import os
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import psycopg
from psycopg import IsolationLevel, errors, sql

from toolkit.budget.charges import COPY, Head, Publication, RecordError
from toolkit.budget.ledger_file import DurableRecord, execute_all, fetch_row, head_row, note_path, read_note
from toolkit.core.checks import reject
from toolkit.core.postgres import address, check_encoding, qualified, set_locally

_WAIT = "60s"
_SETTINGS = {"synchronous_commit": "on", "lock_timeout": _WAIT, "idle_in_transaction_session_timeout": _WAIT}
# A charge has fewer digits than this limit, and Python cannot parse integers with far more digits.
_NUMBER = "[0-9]{1,255}(/[1-9][0-9]{0,254}|)"


def _loss(column: str) -> str:
    return f"{column} text NOT NULL CHECK ({column} ~ '^((pure|zcdp) {_NUMBER}|approx {_NUMBER} {_NUMBER})$')"


_TABLES = f"""
CREATE TABLE main.head (id integer PRIMARY KEY CHECK (id = 1), {_loss("ceiling")}, neighbors text, mark text NOT NULL, unit text)

CREATE TABLE main.entries (
  number bigint PRIMARY KEY, label text NOT NULL, mechanism text NOT NULL,
  neighbors text CHECK (neighbors IN ('replace', 'add_remove')),
  {_loss("loss")}, {_loss("charged")}, {_loss("total")}, link text NOT NULL,
  unit text CHECK (unit IN ('event', 'row', 'person')), terms text)

CREATE TABLE main.published (entry bigint NOT NULL, file text NOT NULL, sha256 text NOT NULL)
"""  # noqa: E501
# The server checks the number, sum, ceiling and link of each inserted row again, as `charges.verify_rows` does, because
# every client would reject a ledger with an invalid row. `quoted` is json.dumps of a text. chr(92) is a backslash; the
# meaning of a literal backslash depends on a setting of the session.
_TRIGGERS = """
CREATE FUNCTION main.quoted(content text) RETURNS text LANGUAGE sql IMMUTABLE STRICT SET search_path FROM CURRENT AS $$
  SELECT '"' || coalesce(string_agg(CASE
    WHEN letter IN ('"', chr(92)) THEN chr(92) || letter
    WHEN code BETWEEN 32 AND 126 THEN letter
    WHEN code IN (8, 9, 10, 12, 13) THEN chr(92) || translate(letter, chr(8) || chr(9) || chr(10) || chr(12) || chr(13), 'btnfr')
    WHEN code < 65536 THEN chr(92) || 'u' || lpad(to_hex(code), 4, '0')
    ELSE chr(92) || 'u' || to_hex(55296 + ((code - 65536) >> 10)) || chr(92) || 'u' || to_hex(56320 + ((code - 65536) & 1023))
  END, '' ORDER BY position), '') || '"'
  FROM unnest(string_to_array(content, NULL)) WITH ORDINALITY AS letters (letter, position), ascii(letter) AS code $$

CREATE FUNCTION main.digest(items text) RETURNS text LANGUAGE sql IMMUTABLE STRICT SET search_path FROM CURRENT AS $$
  SELECT encode(sha256(convert_to('[' || items || ']', 'UTF8')), 'hex') $$

CREATE FUNCTION main.amounts(loss text) RETURNS numeric[] LANGUAGE sql IMMUTABLE STRICT SET search_path FROM CURRENT AS $$
  SELECT array_agg(coalesce(nullif(split_part(amount, '/', side), ''), '1')::numeric ORDER BY position, side)
  FROM unnest((string_to_array(loss, ' '))[2:]) WITH ORDINALITY AS listed (amount, position), generate_series(1, 2) AS side $$

CREATE FUNCTION main.next() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
DECLARE
  head main.head; last main.entries; loss numeric[]; spent numeric[]; charged numeric[]; total numeric[]; ceiling numeric[];
BEGIN
  SELECT * INTO STRICT head FROM main.head;
  SELECT * INTO last FROM main.entries ORDER BY number DESC LIMIT 1;
  IF NEW.number IS DISTINCT FROM coalesce(last.number, 0) + 1
  THEN RAISE EXCEPTION 'charges are only added at the end'; END IF;
  IF NEW.neighbors IS DISTINCT FROM coalesce(last.neighbors, head.neighbors, NEW.neighbors)
    OR NEW.unit IS DISTINCT FROM coalesce(last.unit, head.unit, NEW.unit)
  THEN RAISE EXCEPTION 'neighbors and unit never change'; END IF;
  loss := main.amounts(NEW.loss);
  IF loss[3] > loss[4] THEN RAISE EXCEPTION 'a delta is a probability'; END IF;
  ceiling := main.amounts(head.ceiling);
  spent := main.amounts(coalesce(last.total, 'none 0 0'));
  charged := main.amounts(NEW.charged);
  total := main.amounts(NEW.total);
  IF split_part(NEW.charged, ' ', 1) <> split_part(head.ceiling, ' ', 1) OR split_part(NEW.total, ' ', 1) <> split_part(head.ceiling, ' ', 1)
  THEN RAISE EXCEPTION 'a charge is in the currency of the ceiling'; END IF;
  FOR side IN 1 .. cardinality(ceiling) BY 2 LOOP
    IF total[side] * spent[side + 1] * charged[side + 1] <>
      (spent[side] * charged[side + 1] + charged[side] * spent[side + 1]) * total[side + 1]
    THEN RAISE EXCEPTION 'a total is the sum of the charges'; END IF;
    IF total[side] * ceiling[side + 1] > ceiling[side] * total[side + 1]
    THEN RAISE EXCEPTION 'a total does not pass the ceiling'; END IF;
  END LOOP;
  IF NEW.link <> main.digest(concat_ws(', ',
    main.quoted(coalesce(last.link, main.digest(concat_ws(', ',
      main.quoted(head.ceiling), coalesce(main.quoted(head.neighbors), 'null'), main.quoted(head.mark), main.quoted(head.unit))))),
    NEW.number, main.quoted(NEW.label), main.quoted(NEW.mechanism), coalesce(main.quoted(NEW.neighbors), 'null'),
    main.quoted(NEW.loss), main.quoted(NEW.charged), main.quoted(NEW.total),
    coalesce(main.quoted(NEW.unit), CASE WHEN NEW.terms IS NOT NULL THEN 'null' END), main.quoted(NEW.terms)))
  THEN RAISE EXCEPTION 'a charge follows the one before it'; END IF;
  RETURN NEW;
END $$

CREATE FUNCTION main.keep() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'a charge is never taken back'; END $$

CREATE TRIGGER keep BEFORE UPDATE OR DELETE OR TRUNCATE ON main.head EXECUTE FUNCTION main.keep()

CREATE TRIGGER keep BEFORE UPDATE OR DELETE OR TRUNCATE ON main.entries EXECUTE FUNCTION main.keep()

CREATE TRIGGER next BEFORE INSERT ON main.entries FOR EACH ROW EXECUTE FUNCTION main.next()
"""  # noqa: E501
_STREAM = """
CREATE TABLE main.head (content text NOT NULL)

CREATE TABLE main.periods (number bigint PRIMARY KEY, count text NOT NULL, noisy text NOT NULL, people integer)

CREATE TABLE main.visits (name bytea PRIMARY KEY, times bigint NOT NULL)
"""


@dataclass(frozen=True)
class LedgerTransaction:
    """One transaction, with the interface of a SQLite connection."""

    connection: "psycopg.Connection[Any]"
    schema: str

    def execute(self, query: str, values: Sequence[Any] = ()) -> "psycopg.Cursor[Any]":
        return self.connection.execute(self._translate(query), values)

    def executemany(self, query: str, values: Iterable[Sequence[Any]]) -> None:
        with self.connection.cursor() as cursor:
            cursor.executemany(self._translate(query), values)

    def _translate(self, query: str) -> bytes:
        return qualified(query.replace("?", "%s"), self.schema).encode()


@dataclass(frozen=True)
class Schema:
    """A schema of a database, for one transaction at a time."""

    options: dict[str, Any]
    name: str

    @cached_property
    def base_path(self) -> Path:
        """The path of this machine's note, which depends on the address but not on the user."""
        folder = Path(os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state") / "privacy-survey-toolkit"
        parts = [str(self.options.get(part, "")) for part in ("host", "hostaddr", "port", "dbname")]
        return folder / f"{self.name}-{hashlib.sha256(repr(parts).encode()).hexdigest()[:16]}"

    @contextmanager
    def connected(self, rule: str, consequence: str) -> Iterator[LedgerTransaction]:
        """Yield a transaction that is rolled back unless committed; error messages never contain a value."""
        try:
            with psycopg.connect(**self.options, application_name="ledger", prepare_threshold=None) as connection:
                # A client that waited for the lock must read the rows that were added in the meantime.
                connection.isolation_level = IsolationLevel.READ_COMMITTED
                set_locally(connection, _SETTINGS)
                yield LedgerTransaction(connection, self.name)
                connection.rollback()
        except errors.InsufficientPrivilege:
            rule = f"the role must be allowed to do this in schema {self.name}"
            reject(rule, "a role without the permission", consequence, RecordError)
        except (errors.UndefinedTable, errors.InvalidSchemaName):
            reject(rule, f"none in schema {self.name}", consequence, RecordError)
        except psycopg.Error as error:
            kind = f"{type(error).__name__}{f' ({error.sqlstate})' if error.sqlstate else ''}"
            reject("the ledger's database must be available", kind, consequence, RecordError)

    def lock(self, database: LedgerTransaction) -> None:
        """Take the advisory lock of the schema until this transaction ends."""
        key = int.from_bytes(hashlib.sha256(f"toolkit {self.name}".encode()).digest()[:8], signed=True)
        database.execute("SELECT pg_advisory_xact_lock(?)", (key,))

    def exists_in(self, database: LedgerTransaction) -> bool:
        return bool(database.execute("SELECT to_regnamespace(?) IS NOT NULL", (self.name,)).fetchone()[0])  # type: ignore[index]

    def make(self, database: LedgerTransaction, statements: str) -> None:
        check_encoding(*fetch_row(database, "SHOW server_encoding"))
        database.connection.execute(sql.SQL("CREATE SCHEMA {}").format(sql.Identifier(self.name)))
        execute_all(database, statements)


class PostgresRecord(DurableRecord):
    """A record in a schema of PostgreSQL (`?schema=claims`, else `ledger`), which is created if it does not exist."""

    _KIND = "database"
    _REMEDY = f"{COPY}; docs/production.md explains how its owner removes an invalid row"

    def __init__(self, url: str, new_head: Head | None) -> None:
        self.schema = Schema(*address(url, "ledger"))
        self.name, self.base_path = f"schema {self.schema.name} of PostgreSQL", self.schema.base_path
        noted = read_note(self.base_path)
        # Without a writable folder, this machine has no rollback check.
        with suppress(OSError):
            self.base_path.parent.mkdir(parents=True, exist_ok=True)
        with self._connected() as database:
            if new_head and not self.schema.exists_in(database):
                if noted:
                    self._refuse_older("no schema")
                self._create(database, new_head)
            self._open(database, noted)

    def _create(self, database: LedgerTransaction, head: Head) -> None:
        self.schema.lock(database)
        # Check again under the lock.
        if not self.schema.exists_in(database):
            self.schema.make(database, _TABLES)
            database.execute("INSERT INTO main.head VALUES (1, ?, ?, ?, ?)", head_row(head))
            execute_all(database, _TRIGGERS)
        self._commit(database)
        set_locally(database.connection, _SETTINGS)

    @property
    def register(self) -> "PostgresRegister":
        return PostgresRegister(self)

    def stream_storage(self, label: str) -> "StreamSchema":
        return StreamSchema.of(self.schema, label)

    def _connected(self) -> AbstractContextManager[LedgerTransaction]:
        return self.schema.connected("the database must hold a ledger", "nothing was released")

    def _begin(self, database: LedgerTransaction) -> None:
        self.schema.lock(database)

    def _commit(self, database: LedgerTransaction) -> None:
        database.connection.commit()


@dataclass(frozen=True)
class PostgresRegister:
    """The list of publications in the schema of a ledger."""

    record: PostgresRecord

    def add(self, entry: int, file: str, digest: str) -> None:
        with self.record._connected() as database:
            database.execute("INSERT INTO main.published VALUES (?, ?, ?)", (entry, file, digest))
            database.connection.commit()

    def publications(self) -> tuple[Publication, ...]:
        with self.record._connected() as database:
            rows = database.execute("SELECT entry, file, sha256 FROM main.published ORDER BY entry, file").fetchall()
        return tuple(Publication(*row) for row in rows)


@dataclass(frozen=True)
class StreamSchema:
    """The storage of a ledger's stream: a separate schema next to the ledger's schema."""

    schema: Schema

    @classmethod
    def of(cls, ledger: Schema, label: str) -> "StreamSchema":
        plain = re.sub(r"[^a-z0-9_]", "_", label)
        name = f"{ledger.name}_stream_{plain}"
        # PostgreSQL truncates names to 63 characters.
        if plain != label or len(name) > 63:
            mark = hashlib.sha256(f"{ledger.name} {label}".encode()).hexdigest()[:12]
            name = f"{ledger.name[:20]}_stream_{plain[:20]}_{mark}"
        return cls(Schema(ledger.options, name))

    @property
    def name(self) -> str:
        return f"schema {self.schema.name}"

    @property
    def base_path(self) -> Path:
        return self.schema.base_path

    def exists(self) -> bool:
        with self.connected() as database:
            return self.schema.exists_in(database)

    def check_new(self) -> None:
        if self.exists() or note_path(self.base_path).exists():
            reject("a new stream needs a new schema", self.name, "`Ledger.resume` continues an existing stream")

    def create(self, text: str) -> None:
        """Create the schema and its tables in one transaction."""
        with self.connected() as database:
            self.schema.lock(database)
            if self.schema.exists_in(database):
                reject(
                    "a new stream needs a new schema",
                    self.name,
                    "another process created it first; `Ledger.resume` continues it",
                )
            self.schema.make(database, _STREAM)
            database.execute("INSERT INTO main.head VALUES (?)", (text,))
            database.connection.commit()

    def connected(self) -> Any:
        return self.schema.connected("the database must hold the stream", "nothing was published")

    def check_version(self, database: LedgerTransaction) -> None:
        fetch_row(database, "SELECT number FROM main.periods")

    def begin(self, database: LedgerTransaction) -> None:
        self.schema.lock(database)

    def commit(self, database: LedgerTransaction) -> None:
        database.connection.commit()
