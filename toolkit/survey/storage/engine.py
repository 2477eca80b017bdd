"""What a database must do for a collection: an `Engine` opens transactions, a `Session` is one of them.

A `Session` says in SQL what both databases understand; a database adds what it says in its own dialect.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import Any, Protocol

from toolkit.survey.storage.mixing import Pool
from toolkit.survey.storage.protocol import Edition, Head, State
from toolkit.survey.storage.schema import VERSION

CLOSING = "closing"
"""Closed for everybody, but not yet rewritten: what an interrupted closing leaves in SQLite."""


class Session(ABC):
    """One transaction. Keys and hashes are written in their own order, not in the order of arrival."""

    IDENTITY = "0"  # the column that tells collections of the same survey apart

    def __init__(self, connection: Any, server: str = "all") -> None:
        self._connection, self._server = connection, server

    def run(self, query: str, *values: object) -> Any:
        """Execute a statement with %s for values and `main.` before every table; its cursor."""
        return self._connection.execute(query, values)

    def row(self, query: str, *values: object) -> Any:
        return self.run(query, *values).fetchone()

    @abstractmethod
    def lookup(self, query: str, values: Sequence[bytes]) -> set[bytes]:
        """Those of the values for which `query = value` has a row."""

    def head(self) -> Head | None:
        """What the collection is; None if there is none yet."""
        row = self.row(f"SELECT hash, access, cap, state, {self.IDENTITY} FROM main.collection")  # noqa: S608
        if row is None:
            return None
        code, access, cap, state, identity = row
        swept = state == State.CLOSED.value
        return Head(code, access, cap, State.CLOSED if state == CLOSING else State(state), swept, identity)

    def begin(self, head: Head) -> None:
        """Write the rows of a new collection."""
        values = (VERSION, head.hash, head.access, head.cap, head.state.value)
        self.run("INSERT INTO main.collection VALUES (%s, %s, %s, %s, %s)", *values)
        self.run("INSERT INTO main.tally VALUES ('all', 0)")
        self.run("INSERT INTO main.pool VALUES (%s, '')", VERSION)

    def editions(self) -> list[Edition]:
        """The pages that people have seen, oldest first."""
        return [Edition(*row) for row in self.run("SELECT hash, toolkit, survey FROM main.edition ORDER BY number")]

    def publish(self, edition: Edition) -> None:
        query = "INSERT INTO main.edition SELECT count(*) + 1, %s, %s, %s FROM main.edition"
        self.run(query, edition.hash, edition.toolkit, edition.survey)

    def set_state(self, state: str) -> None:
        """Write the state; `close` also removes the tokens."""
        self.run("UPDATE main.collection SET state = %s", state)

    @abstractmethod
    def close(self, *, again: bool) -> None:
        """Remove all tokens, and rewrite what a transaction can; `again` keeps the invitations for the next wave."""

    def count(self) -> int:
        return int(self.row("SELECT coalesce(sum(reports), 0) FROM main.tally")[0])

    def count_and_pool(self) -> tuple[int, Pool]:
        count, content = self.row("SELECT (SELECT coalesce(sum(reports), 0) FROM main.tally), content FROM main.pool")
        return int(count), Pool.from_text(content)

    def writers(self) -> int:
        """How many servers add reports in this moment, this one among them; never too few."""
        return 1

    def existing_keys(self, keys: Sequence[bytes]) -> set[bytes]:
        """Those that are stored, but for the pool; their bodies are not looked at."""
        return self.lookup("SELECT key FROM main.report WHERE key", keys)

    def page(self, after: bytes, most: int) -> list[tuple[bytes, str]]:
        """Reports behind a key, in the order of keys."""
        query = "SELECT key, body FROM main.report WHERE key > %s ORDER BY key LIMIT %s"
        rows: list[tuple[bytes, str]] = self.run(query, after, most).fetchall()
        return rows

    @abstractmethod
    def insert(self, reports: dict[bytes, str]) -> set[bytes]:
        """Store and count reports; the keys that another server, which shares the collection, stored first."""

    @abstractmethod
    def flush_pool(self, stays: Pool, leaves: Pool, more: int) -> None:
        """Write the pool and what leaves it, and add `more` to the count of reports."""

    @abstractmethod
    def invite(self, hashes: Sequence[bytes]) -> None:
        """Add invitations; those that are there already stay as they are."""

    def invitations(self) -> list[bytes]:
        """All that were invited, in the order of their hashes."""
        return [row[0] for row in self.run("SELECT hash FROM main.invited ORDER BY hash")]

    def invited(self, hashes: Sequence[bytes]) -> set[bytes]:
        return self.lookup("SELECT hash FROM main.invited WHERE hash", hashes)

    def unspent(self, hashes: Sequence[bytes]) -> set[bytes]:
        """Those that were invited, and are not among the spent ones."""
        unused = "NOT EXISTS (SELECT 1 FROM main.spent WHERE spent.hash = invited.hash)"
        return self.lookup(f"SELECT hash FROM main.invited WHERE {unused} AND hash", hashes)  # noqa: S608

    def spent(self, hashes: Sequence[bytes]) -> set[bytes]:
        return self.lookup("SELECT hash FROM main.spent WHERE hash", hashes)

    def spend(self, hashes: Sequence[bytes]) -> None:
        """Use up tokens without a report; none of them may be spent already."""
        for one in hashes:
            self.run("INSERT INTO main.spent VALUES (%s)", one)

    def setting(self, name: str) -> str | None:
        return next((row[0] for row in self.run("SELECT value FROM main.setting WHERE name = %s", name)), None)

    def remember(self, name: str, value: str) -> None:
        replacing = "ON CONFLICT (name) DO UPDATE SET value = excluded.value"
        self.run(f"INSERT INTO main.setting VALUES (%s, %s) {replacing}", name, value)  # noqa: S608

    def forget(self, prefix: str) -> None:
        """Remove the settings whose name begins with a prefix."""
        self.run("DELETE FROM main.setting WHERE substr(name, 1, %s) = %s", len(prefix), prefix)

    def issued(self, invitation: bytes) -> bytes | None:
        query = "SELECT blinded FROM main.issued WHERE invitation = %s"
        return next((row[0] for row in self.run(query, invitation)), None)

    def issue(self, invitation: bytes, blinded: bytes) -> None:
        self.run("INSERT INTO main.issued VALUES (%s, %s)", invitation, blinded)


class Engine(Protocol):
    """What opens sessions, and says every failure of its database as a `StoreError`."""

    def reading(self) -> AbstractContextManager[Session]:
        """A transaction that changes nothing."""

    def writing(self, *, patient: bool = False, shared: bool = False) -> AbstractContextManager[Session]:
        """A transaction that has the collection to itself. `patient` : for the researcher, who would rather wait than
        try again. `shared` : others may add reports meanwhile, but nobody changes the state.
        """

    def making(self) -> AbstractContextManager[Session]:
        """As `writing`, where there may be nothing yet; a database of something else is refused."""

    def wipe(self) -> None:
        """Wipe what the database's own log tells of the last commits, as far as it is ours to wipe."""

    def finish(self) -> None:
        """After closing: the rewriting that no transaction can do."""

    def migrate(self) -> int:
        """Bring the tables to today's version; the version that they had."""

    def remove(self) -> None:
        """Take the file away, or the schema."""

    def close(self) -> None:
        """Close the connection; it is opened again at the next use."""
