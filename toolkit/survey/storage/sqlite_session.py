"""One transaction in SQLite, statement by statement."""

import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from toolkit.survey.storage.admission import Head
from toolkit.survey.storage.mixing import Pool
from toolkit.survey.storage.protocol import Edition, State
from toolkit.survey.storage.schema import VERSION

CLOSING = "closing"
"""Closed for everybody, but not yet rewritten: what an interrupted closing leaves."""

_TOKENS = ("issued", "spent")  # what tells who has answered


class SqliteSession:
    """One transaction in SQLite."""

    def __init__(self, database: sqlite3.Connection) -> None:
        self._database = database

    def head(self) -> Head | None:
        row = self._row("SELECT hash, access, cap, state FROM collection")
        if row is None:
            return None
        code, access, cap, state = row
        return Head(
            code,
            access,
            cap,
            State.CLOSED if state == CLOSING else State(state),
            swept=state == State.CLOSED.value,
        )

    def begin(self, head: Head) -> None:
        values = (VERSION, head.hash, head.access, head.cap, head.state.value)
        self._database.execute("INSERT INTO collection VALUES (?, ?, ?, ?, ?)", values)
        self._database.execute("INSERT INTO tally VALUES ('all', 0)")
        self._database.execute("INSERT INTO pool VALUES (?, '')", (VERSION,))

    def editions(self) -> list[Edition]:
        rows = self._database.execute("SELECT hash, toolkit, survey FROM edition ORDER BY number")
        return [Edition(*row) for row in rows]

    def publish(self, edition: Edition) -> None:
        query = "INSERT INTO edition SELECT count(*) + 1, ?, ?, ? FROM edition"
        self._database.execute(query, (edition.hash, edition.toolkit, edition.survey))

    def move(self, state: State) -> None:
        self._database.execute("UPDATE collection SET state = ?", (state.value,))

    def sweep(self, *, again: bool) -> None:
        self.mix(Pool(), self.pool(), 0)
        for table in _TOKENS if again else (*_TOKENS, "invited"):
            self._database.execute(f"DELETE FROM {table}")  # noqa: S608
        self._database.execute("UPDATE collection SET state = ?", (CLOSING,))

    def held(self) -> int:
        return int(self._row("SELECT sum(reports) FROM tally")[0])

    def pool(self) -> Pool:
        return Pool.read(self._row("SELECT content FROM pool")[0])

    def standing(self) -> tuple[int, Pool]:
        return self.held(), self.pool()

    def found(self, keys: Sequence[bytes]) -> set[bytes]:
        return {row[0] for row in self._each("SELECT key FROM report WHERE key = ?", keys)}

    def page(self, after: bytes, most: int) -> list[tuple[bytes, str]]:
        query = "SELECT key, body FROM report WHERE key > ? ORDER BY key LIMIT ?"
        return self._database.execute(query, (after, most)).fetchall()

    def keep(self, reports: dict[bytes, str]) -> set[bytes]:
        """Nobody else writes meanwhile, so that none of them is there already."""
        self._store(reports, len(reports))
        return set()

    def mix(self, stays: Pool, leaves: Pool, more: int) -> None:
        self._database.execute("UPDATE pool SET content = ?", (stays.written(),))
        self._database.executemany("INSERT INTO spent VALUES (?)", [(one,) for one in sorted(leaves.passes)])
        self._store(leaves.reports, more)

    def _store(self, reports: Mapping[bytes, str], more: int) -> None:
        self._database.executemany("INSERT INTO report VALUES (?, ?)", sorted(reports.items()))
        self._database.execute("UPDATE tally SET reports = reports + ?", (more,))

    def invite(self, hashes: Sequence[bytes]) -> None:
        self._database.executemany("INSERT OR IGNORE INTO invited VALUES (?)", [(one,) for one in hashes])

    def invited(self, hashes: Sequence[bytes]) -> set[bytes]:
        return {row[0] for row in self._each("SELECT hash FROM invited WHERE hash = ?", hashes)}

    def guests(self) -> list[bytes]:
        return [row[0] for row in self._database.execute("SELECT hash FROM invited ORDER BY hash")]

    def unspent(self, hashes: Sequence[bytes]) -> set[bytes]:
        query = (
            "SELECT hash FROM invited WHERE hash = ? AND NOT EXISTS (SELECT 1 FROM spent WHERE spent.hash = "
            "invited.hash)"
        )
        return {row[0] for row in self._each(query, hashes)}

    def spent(self, hashes: Sequence[bytes]) -> set[bytes]:
        return {row[0] for row in self._each("SELECT hash FROM spent WHERE hash = ?", hashes)}

    def setting(self, name: str) -> str | None:
        row = self._row("SELECT value FROM setting WHERE name = ?", name)
        return None if row is None else row[0]

    def remember(self, name: str, value: str) -> None:
        self._database.execute("INSERT OR REPLACE INTO setting VALUES (?, ?)", (name, value))

    def forget(self, beginning: str) -> None:
        self._database.execute("DELETE FROM setting WHERE substr(name, 1, ?) = ?", (len(beginning), beginning))

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
