"""The interface of a database: an `Engine` opens transactions, and a `Session` is one transaction.

`Session` contains the SQL that both databases understand; a subclass for each database adds its dialect.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import Any, Protocol

from toolkit.survey.storage.mixing import Pool
from toolkit.survey.storage.protocol import CollectionInfo, Edition, State
from toolkit.survey.storage.schema import VERSION

CLOSING = "closing"
"""State of an SQLite file whose closing was interrupted: it counts as closed but must still be rewritten."""


class Session(ABC):
    """One transaction, which writes keys and hashes in sorted order rather than in order of arrival."""

    IDENTITY = "0"  # SQL expression that distinguishes collections of the same survey

    def __init__(self, connection: Any, server: str = "all") -> None:
        self._connection, self._server = connection, server

    def run(self, query: str, *values: object) -> Any:
        """Execute a statement, with %s for each value and `main.` before every table, and return its cursor."""
        return self._connection.execute(query, values)

    def row(self, query: str, *values: object) -> Any:
        """Return the first row of a query, or None."""
        return self.run(query, *values).fetchone()

    @abstractmethod
    def lookup(self, query: str, values: Sequence[bytes]) -> set[bytes]:
        """Return the values for which `query = value` selects a row."""

    def info(self) -> CollectionInfo | None:
        """Return the description of the collection, or None if there is none yet."""
        row = self.row(f"SELECT hash, access, cap, state, {self.IDENTITY} FROM main.collection")  # noqa: S608
        if row is None:
            return None
        survey_hash, access, cap, state_name, identity = row
        state = State.CLOSED if state_name == CLOSING else State(state_name)
        is_rewritten = state_name == State.CLOSED.value
        return CollectionInfo(survey_hash, access, cap, state, is_rewritten, identity)

    def insert_collection(self, info: CollectionInfo) -> None:
        """Insert the rows of a new collection."""
        values = (VERSION, info.survey_hash, info.access, info.cap, info.state.value)
        self.run("INSERT INTO main.collection VALUES (%s, %s, %s, %s, %s)", *values)
        self.run("INSERT INTO main.tally VALUES ('all', 0)")
        self.run("INSERT INTO main.pool VALUES (%s, '')", VERSION)

    def editions(self) -> list[Edition]:
        """Return the pages that respondents have seen, oldest first."""
        return [Edition(*row) for row in self.run("SELECT hash, toolkit, survey FROM main.edition ORDER BY number")]

    def add_edition(self, edition: Edition) -> None:
        """Insert a new edition, which respondents see from now on."""
        query = "INSERT INTO main.edition SELECT count(*) + 1, %s, %s, %s FROM main.edition"
        self.run(query, edition.hash, edition.toolkit_version, edition.survey_json)

    def set_state(self, state: str) -> None:
        """Update the state; unlike `close`, this does not remove the tokens."""
        self.run("UPDATE main.collection SET state = %s", state)

    @abstractmethod
    def close(self, *, keep_invitations: bool) -> None:
        """Remove all tokens and rewrite the reports; `keep_invitations` keeps the invitations for the next wave."""

    def count_reports(self) -> int:
        return int(self.row("SELECT coalesce(sum(reports), 0) FROM main.tally")[0])

    def count_and_pool(self) -> tuple[int, Pool]:
        count, content = self.row("SELECT (SELECT coalesce(sum(reports), 0) FROM main.tally), content FROM main.pool")
        return int(count), Pool.from_text(content)

    def count_writers(self) -> int:
        """Return an upper bound on the number of servers that are adding reports now, including this one."""
        return 1

    def existing_keys(self, keys: Sequence[bytes]) -> set[bytes]:
        """Return the keys that are stored outside the pool, without reading bodies."""
        return self.lookup("SELECT key FROM main.report WHERE key", keys)

    def report_page(self, after_key: bytes, limit: int) -> list[tuple[bytes, str]]:
        """Return at most `limit` reports with keys greater than `after_key`, sorted by key."""
        query = "SELECT key, body FROM main.report WHERE key > %s ORDER BY key LIMIT %s"
        rows: list[tuple[bytes, str]] = self.run(query, after_key, limit).fetchall()
        return rows

    @abstractmethod
    def insert_reports(self, reports: dict[bytes, str]) -> set[bytes]:
        """Store reports in the order of their keys, count them, and return the keys that another server had stored."""

    @abstractmethod
    def flush_pool(self, new_pool: Pool, leaving: Pool, n_added: int) -> None:
        """Write the new pool and the entries that leave the old pool, and add `n_added` to the number of reports."""

    @abstractmethod
    def invite(self, hashes: Sequence[bytes]) -> None:
        """Insert invitations; existing invitations are unchanged."""

    def invitation_hashes(self) -> list[bytes]:
        """Return the hashes of all invitations, sorted."""
        return [row[0] for row in self.run("SELECT hash FROM main.invited ORDER BY hash")]

    def invited_hashes(self, hashes: Sequence[bytes]) -> set[bytes]:
        """Return the hashes that were invited."""
        return self.lookup("SELECT hash FROM main.invited WHERE hash", hashes)

    def unspent_hashes(self, hashes: Sequence[bytes]) -> set[bytes]:
        """Return the hashes that were invited and are not spent."""
        unused = "NOT EXISTS (SELECT 1 FROM main.spent WHERE spent.hash = invited.hash)"
        return self.lookup(f"SELECT hash FROM main.invited WHERE {unused} AND hash", hashes)  # noqa: S608

    def spent_hashes(self, hashes: Sequence[bytes]) -> set[bytes]:
        """Return the hashes that are spent."""
        return self.lookup("SELECT hash FROM main.spent WHERE hash", hashes)

    def spend(self, hashes: Sequence[bytes]) -> None:
        """Spend unspent tokens without a report."""
        for token_hash in hashes:
            self.run("INSERT INTO main.spent VALUES (%s)", token_hash)

    def get_setting(self, name: str) -> str | None:
        """Return the value of a setting, or None."""
        return next((row[0] for row in self.run("SELECT value FROM main.setting WHERE name = %s", name)), None)

    def set_setting(self, name: str, value: str) -> None:
        """Insert or update a setting."""
        upsert = "ON CONFLICT (name) DO UPDATE SET value = excluded.value"
        self.run(f"INSERT INTO main.setting VALUES (%s, %s) {upsert}", name, value)  # noqa: S608

    def delete_settings(self, prefix: str) -> None:
        """Delete the settings whose names begin with a prefix."""
        self.run("DELETE FROM main.setting WHERE substr(name, 1, %s) = %s", len(prefix), prefix)

    def issued_hash(self, invitation: bytes) -> bytes | None:
        """Return the hash of the blinded message that was signed for an invitation, or None."""
        query = "SELECT blinded FROM main.issued WHERE invitation = %s"
        return next((row[0] for row in self.run(query, invitation)), None)

    def issue(self, invitation: bytes, blinded_hash: bytes) -> None:
        """Record the hash of the blinded message that is signed for an invitation."""
        self.run("INSERT INTO main.issued VALUES (%s, %s)", invitation, blinded_hash)


class Engine(Protocol):
    """A database that opens sessions and reports each of its failures as a `StoreError`."""

    def reading(self) -> AbstractContextManager[Session]:
        """Open a transaction for reading."""

    def writing(self, *, wait_longer: bool = False, is_shared: bool = False) -> AbstractContextManager[Session]:
        """Open a transaction that locks the collection.

        With `wait_longer` the session waits longer for the lock, because a researcher would rather wait than try again.
        If the lock `is_shared`, other servers may add reports at the same time, but nobody can change the state.
        """

    def creating(self) -> AbstractContextManager[Session]:
        """Open a transaction as `writing` does and create missing tables; reject a database with other contents."""

    def wipe_log(self) -> None:
        """Empty the log of recent commits if the log belongs to the collection."""

    def finish_closing(self) -> None:
        """After closing, run the rewriting that is not possible inside a transaction."""

    def migrate(self) -> int:
        """Upgrade the tables to the current version; return their previous version."""

    def remove(self) -> None:
        """Delete the file, or drop the schema."""

    def close(self) -> None:
        """Close the connection; it is opened again at the next use."""
