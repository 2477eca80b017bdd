"""One transaction in PostgreSQL, statement by statement."""
# ruff: noqa: S608 (statements are put together from constants)

import secrets
from collections.abc import Sequence
from typing import Any

import psycopg
from psycopg import sql

from toolkit.survey.storage.admission import Head
from toolkit.survey.storage.mixing import Pool
from toolkit.survey.storage.protocol import Edition, State
from toolkit.survey.storage.schema import VERSION

_REWRITTEN_AT_ONCE = 200
_STORE = "INSERT INTO report SELECT * FROM unnest(%(keys)s::bytea[], %(bodies)s::text[])"
_SPEND = "INSERT INTO spent SELECT * FROM unnest(%(passes)s::bytea[])"
_REFILL = "UPDATE pool SET content = %(content)s"
# a server counts in a row of its own
_MORE = "ON CONFLICT (server) DO UPDATE SET reports = tally.reports + excluded.reports"
_COUNT = f"INSERT INTO tally VALUES (%(server)s, %(more)s) {_MORE}"
_COUNT_STORED = f"INSERT INTO tally SELECT %(server)s, count(*) FROM stored {_MORE}"
# One statement each, as each costs a journey to the server and back.
_KEEP = (
    f"WITH stored AS ({_STORE} ON CONFLICT DO NOTHING RETURNING key), counted AS ({_COUNT_STORED}) "
    "SELECT key FROM stored"
)
_MIX = f"WITH stored AS ({_STORE}), spending AS ({_SPEND}), refilled AS ({_REFILL}) {_COUNT}"


class PostgresSession:
    """One transaction in PostgreSQL, of a server that counts the reports that it stored in a row of its
    own.
    """

    def __init__(self, connection: psycopg.Connection[Any], server: str) -> None:
        self._connection, self._server = connection, server

    def head(self) -> Head | None:
        row = self._row("SELECT hash, access, cap, state, tableoid::bigint FROM collection")
        if row is None:
            return None
        code, access, cap, state, table = row
        return Head(code, access, cap, State(state), swept=state == State.CLOSED.value, identity=table)

    def begin(self, head: Head) -> None:
        values = (VERSION, head.hash, head.access, head.cap, head.state.value)
        self._connection.execute("INSERT INTO collection VALUES (%s, %s, %s, %s, %s)", values)
        self._connection.execute("INSERT INTO pool VALUES (%s, '')", [VERSION])

    def editions(self) -> list[Edition]:
        rows = self._connection.execute("SELECT hash, toolkit, survey FROM edition ORDER BY number")
        return [Edition(*row) for row in rows]

    def publish(self, edition: Edition) -> None:
        query = "INSERT INTO edition SELECT count(*) + 1, %s, %s, %s FROM edition"
        self._connection.execute(query, [edition.hash, edition.toolkit, edition.survey])

    def move(self, state: State) -> None:
        self._connection.execute("UPDATE collection SET state = %s", [state.value])

    def sweep(self, *, again: bool) -> None:
        """All in one transaction. The emptied tables get new files, and the old ones go when it is done."""
        self._connection.execute("SET LOCAL statement_timeout = 0")
        held = self.held()
        self.mix(Pool(), self.pool(), 0)
        self._connection.execute("CREATE TABLE scratch AS SELECT key, body FROM report")
        self._connection.execute("TRUNCATE report, issued, spent, pool, tally")
        if not again:
            self._connection.execute("TRUNCATE invited")
        self._connection.execute("INSERT INTO report SELECT key, body FROM scratch ORDER BY key")
        self._connection.execute("DROP TABLE scratch")
        self._connection.execute("INSERT INTO pool VALUES (%s, '')", [VERSION])
        self._connection.execute("INSERT INTO tally VALUES ('all', %s)", [held])
        self.move(State.CLOSED)

    def held(self) -> int:
        return int(self._row("SELECT coalesce(sum(reports), 0) FROM tally")[0])

    def pool(self) -> Pool:
        return Pool.read(self._row("SELECT content FROM pool")[0])

    def standing(self) -> tuple[int, Pool]:
        held, content = self._row("SELECT (SELECT coalesce(sum(reports), 0) FROM tally), content FROM pool")
        return int(held), Pool.read(content)

    def found(self, keys: Sequence[bytes]) -> set[bytes]:
        return self._hashes("SELECT key FROM report WHERE key = ANY (%s)", keys)

    def page(self, after: bytes, most: int) -> list[tuple[bytes, str]]:
        query = "SELECT key, body FROM report WHERE key > %s ORDER BY key LIMIT %s"
        return self._connection.execute(query, [after, most]).fetchall()

    def keep(self, reports: dict[bytes, str]) -> set[bytes]:
        """One that another server stores in the same moment is waited for, and is no error, which the
        server's log would quote.
        """
        values = {"keys": list(reports), "bodies": list(reports.values()), "server": self._server}
        return set(reports) - {row[0] for row in self._connection.execute(_KEEP, values)}

    def mix(self, stays: Pool, leaves: Pool, more: int) -> None:
        reports = dict(sorted(leaves.reports.items()))
        values = {"keys": list(reports), "bodies": list(reports.values()), "passes": sorted(leaves.passes)}
        self._connection.execute(_MIX, {**values, "content": stays.written(), "server": self._server, "more": more})

    def invite(self, hashes: Sequence[bytes]) -> None:
        self._connection.execute(
            "INSERT INTO invited SELECT * FROM unnest(%s::bytea[]) ON CONFLICT DO NOTHING", [list(hashes)]
        )

    def invited(self, hashes: Sequence[bytes]) -> set[bytes]:
        return self._hashes("SELECT hash FROM invited WHERE hash = ANY (%s)", hashes)

    def guests(self) -> list[bytes]:
        rows = self._connection.execute("SELECT hash FROM invited ORDER BY hash").fetchall()
        return [bytes(row[0]) for row in rows]

    def unspent(self, hashes: Sequence[bytes]) -> set[bytes]:
        query = (
            "SELECT hash FROM invited WHERE hash = ANY (%s) AND NOT EXISTS (SELECT FROM spent WHERE "
            "spent.hash = invited.hash)"
        )
        return self._hashes(query, hashes)

    def spent(self, hashes: Sequence[bytes]) -> set[bytes]:
        return self._hashes("SELECT hash FROM spent WHERE hash = ANY (%s)", hashes)

    def setting(self, name: str) -> str | None:
        row = self._row("SELECT value FROM setting WHERE name = %s", name)
        return None if row is None else row[0]

    def remember(self, name: str, value: str) -> None:
        query = "INSERT INTO setting VALUES (%s, %s) ON CONFLICT (name) DO UPDATE SET value = excluded.value"
        self._connection.execute(query, [name, value])

    def forget(self, beginning: str) -> None:
        """The table gets a new file: deleted rows, and earlier versions of them, would lie in the old one
        until it is vacuumed.
        """
        rows = self._connection.execute("SELECT name, value FROM setting ORDER BY name").fetchall()
        self._connection.execute("TRUNCATE setting")
        for name, value in rows:
            if not name.startswith(beginning):
                self.remember(name, value)

    def issued(self, invitation: bytes) -> bytes | None:
        row = self._row("SELECT blinded FROM issued WHERE invitation = %s", invitation)
        return None if row is None else row[0]

    def issue(self, invitation: bytes, blinded: bytes) -> None:
        """Now and then, and always while they are few, all rows are written afresh, so that their order is
        not that of coming.
        """
        self._connection.execute("INSERT INTO issued VALUES (%s, %s)", [invitation, blinded])
        if secrets.randbelow(max(1, self._row("SELECT count(*) FROM issued")[0] // _REWRITTEN_AT_ONCE)) == 0:
            rows = sorted(self._connection.execute("DELETE FROM issued RETURNING invitation, blinded").fetchall())
            columns = [[row[0] for row in rows], [row[1] for row in rows]]
            self._connection.execute("INSERT INTO issued SELECT * FROM unnest(%s::bytea[], %s::bytea[])", columns)

    def _row(self, query: str, *values: object) -> Any:
        return self._connection.execute(sql.SQL(query), values).fetchone()

    def _hashes(self, query: str, wanted: Sequence[bytes]) -> set[bytes]:
        return {row[0] for row in self._connection.execute(sql.SQL(query), [list(wanted)])}
