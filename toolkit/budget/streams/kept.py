"""`KeptStream`: the file of a stream: what it was opened with, and each period's count and noisy numbers.

A period is on the disk before its number is handed out. Of two processes that add to one file the second is
refused: a period is written only after the one before it. The rows are chained by their noisy numbers, and a
note beside the file knows the last one, as for a ledger.
"""

import hashlib
import json
import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, NoReturn

from toolkit.budget.chain import Entry, RecordError, entry_of, row_of
from toolkit.budget.note import note_of, read_note, write_note
from toolkit.central.stream import RunningTotal, SquareRoot, Tree
from toolkit.core.checks import refuse
from toolkit.core.randomness import Rng

_APPLICATION, _VERSION = 0x5354524D, 1  # "STRM"
_WAIT = 60.0


class KeptStream:
    """A stream's file, opened for each use and closed after it."""

    def __init__(self, path: Path) -> None:
        self.path = path.expanduser().absolute()
        noted = read_note(self.path)
        with self._connected() as database:
            mine = (_APPLICATION,), (_VERSION,)
            if (_one(database, "PRAGMA application_id"), _one(database, "PRAGMA user_version")) != mine:
                self._refuse("something else or a later version")
            (text,) = _one(database, "SELECT content FROM head")
            rows = database.execute("SELECT number, count, noisy FROM periods ORDER BY number").fetchall()
        self._head: dict[str, Any] = json.loads(text)
        self._rows, links = rows, [_hash([text])]
        for place, (number, _, noisy) in enumerate(rows, start=1):
            links.append(_hash([links[-1], number, noisy]))
            if number != place:
                self._refuse("a file with a period missing")
        self._link = links[-1]
        if noted and (noted[0] > len(rows) or noted[1] != links[noted[0]]):
            self._refuse("an older or another file")

    @classmethod
    def create(cls, path: Path, total: RunningTotal, entry: Entry) -> "KeptStream":
        """A new file for a total that an entry has paid for."""
        parts = {"entry": row_of(entry), "total": _described(total), "seeded": total.seeded}
        text = json.dumps({**parts, "mark": os.urandom(16).hex()})
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))  # it will hold the counts
        with closing(sqlite3.connect(path, timeout=_WAIT, isolation_level=None)) as database:
            database.execute("PRAGMA synchronous = FULL")
            database.execute("BEGIN EXCLUSIVE")
            database.execute(f"PRAGMA application_id = {_APPLICATION}")
            database.execute(f"PRAGMA user_version = {_VERSION}")
            database.execute("CREATE TABLE head (content TEXT NOT NULL)")
            database.execute(
                "CREATE TABLE periods (number INTEGER PRIMARY KEY, count TEXT NOT NULL, noisy TEXT NOT NULL)"
            )
            database.execute("INSERT INTO head VALUES (?)", (text,))
            database.execute("COMMIT")
        return cls(path)

    @property
    def entry(self) -> Entry:
        """The charge that paid for it."""
        return entry_of(tuple(self._head["entry"]))

    @property
    def seeded(self) -> bool:
        """Whether its noise came from a generator."""
        return bool(self._head["seeded"])

    def total(self, rng: Rng) -> RunningTotal:
        """A new total like the one that was opened, before its first period."""
        found = dict(self._head["total"])
        kind, *sizes = found.pop("way")
        way = {"tree": Tree, "root": SquareRoot}[kind](found["periods"], *sizes)
        return RunningTotal(self.entry.loss, way=way, rng=rng, **found)

    def periods(self) -> tuple[list[int], list[tuple[int, ...]]]:
        """Counts and noisy numbers of all periods that were there when the file was opened."""
        return [int(count) for _, count, _ in self._rows], [
            tuple(int(number) for number in noisy.split()) for _, _, noisy in self._rows
        ]

    def check(self, period: int) -> None:
        """Refuse if the file is not after this period."""
        with self._connected() as database:
            self._at(database, period)

    def append(self, period: int, count: int, noisy: tuple[int, ...]) -> None:
        """Write one more period; it is on the disk when this returns."""
        text = " ".join(map(str, noisy))
        with self._connected() as database:
            database.execute("BEGIN IMMEDIATE")
            self._at(database, period - 1)
            database.execute("INSERT INTO periods VALUES (?, ?, ?)", (period, str(count), text))
            database.execute("COMMIT")
        self._link = _hash([self._link, period, text])
        write_note(self.path, period, self._link)

    def _at(self, database: sqlite3.Connection, period: int) -> None:
        (last,) = _one(database, "SELECT coalesce(max(number), 0) FROM periods")
        if last != period:
            self._refuse(f"a file after period {last} for a stream after period {period}")

    def _refuse(self, received: str) -> NoReturn:
        note = f"; {note_of(self.path).name} knows the last period" if note_of(self.path).exists() else ""
        refuse(
            "a stream's file must hold what its stream has published",
            received,
            f"a period must not be published twice{note}",
            RecordError,
        )

    @contextmanager
    def _connected(self) -> Iterator[sqlite3.Connection]:
        try:
            address = f"{self.path.as_uri()}?mode=rw"
            with closing(sqlite3.connect(address, uri=True, timeout=_WAIT, isolation_level=None)) as database:
                database.execute("PRAGMA synchronous = FULL")
                yield database
        except sqlite3.Error as error:
            refuse(
                "a stream's file must be there and writable",
                f"“{error}” for {self.path.name}",
                "nothing was published",
                RecordError,
            )


def _described(total: RunningTotal) -> dict[str, Any]:
    way = total.way
    form = (
        ["root", way.window]
        if isinstance(way, SquareRoot)
        else ["tree", way.branches, way.levels, way.window]
    )
    return {
        "periods": total.periods,
        "window": total.window,
        "neighbors": total.neighbors,
        "sensitivity": total.sensitivity,
        "per_person": total.per_person,
        "way": form,
    }


def _one(database: sqlite3.Connection, query: str) -> Any:
    return database.execute(query).fetchone()


def _hash(content: list[object]) -> str:
    return hashlib.sha256(json.dumps(content).encode()).hexdigest()
