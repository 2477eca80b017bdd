"""`KeptStream`: the file of a stream: what it was opened with, each period's count and noisy numbers, and how
often each person was counted.

A period is on the disk before its number is handed out. Of two processes that add to one file the second is
refused: a period is written only after the one before it. The rows are chained by their noisy numbers, and a
note beside the file knows the last one, as for a ledger. A file appears whole, or not at all.
"""

import hashlib
import json
import os
import re
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, Protocol

from toolkit.budget.ledger_file import connect, execute_all, marks, note_of, one, read_note, write_note
from toolkit.budget.record import Entry, RecordError, digest, entry_of, row_of
from toolkit.core.checks import refuse
from toolkit.core.estimate import Estimate
from toolkit.core.lazy import lazy
from toolkit.core.loss import Loss
from toolkit.core.randomness import Rng

if TYPE_CHECKING:
    import sqlite3

_APPLICATION, _VERSION = 0x5354524D, 2  # "STRM"
_PEOPLE = """
ALTER TABLE periods ADD COLUMN people INTEGER

CREATE TABLE visits (name BLOB PRIMARY KEY, times INTEGER NOT NULL)
"""  # `people` is 1 if the stream counted them itself, so that `visits` knows of them


class Total(Protocol):
    """What a ledger asks of a total that is published every period: `toolkit.central.stream.RunningTotal`."""

    loss: Loss
    periods: int
    neighbors: str
    sensitivity: int
    per_person: int | None

    @property
    def settings(self) -> dict[str, Any]: ...
    @property
    def period(self) -> int: ...
    @property
    def level(self) -> str: ...
    @property
    def seeded(self) -> bool: ...
    @property
    def way(self) -> Any: ...
    @property
    def kept(self) -> tuple[list[int], list[tuple[int, ...]]]: ...
    def add(self, count: int) -> Estimate: ...
    def continued(self, counts: list[int], noisy: list[tuple[int, ...]]) -> Estimate | None: ...


def file_of(ledger: Path, label: str) -> Path:
    """Where a ledger with a file keeps the stream of a label: beside it, budget.db-stream-claims."""
    plain = re.sub(r"[^A-Za-z0-9_-]", "_", label)[:40]
    mark = "" if plain == label else f"-{hashlib.sha256(label.encode()).hexdigest()[:12]}"
    return ledger.with_name(f"{ledger.name}-stream-{plain}{mark}")


class KeptStream:
    """A stream's file, opened for each use and closed after it."""

    def __init__(self, path: Path) -> None:
        self.path = path.expanduser().absolute()
        noted = read_note(self.path)
        with self._connected() as database:
            version = marks(database)
            if version == (_APPLICATION, 1):
                _take_over(database)
            elif version != (_APPLICATION, _VERSION):
                self._refuse("something else or a later version")
            (text,) = one(database, "SELECT content FROM head")
            rows = database.execute("SELECT number, count, noisy FROM periods ORDER BY number").fetchall()
            self.own = [own for (own,) in database.execute("SELECT people FROM periods ORDER BY number")]
            self.visits = dict(database.execute("SELECT name, times FROM visits"))
        self._head: dict[str, Any] = json.loads(text)
        self._rows, links = rows, [digest([text])]
        for place, (number, _, noisy) in enumerate(rows, start=1):
            links.append(digest([links[-1], number, noisy]))
            if number != place:
                self._refuse("a file with a period missing")
        self._link = links[-1]
        if noted and (noted[0] > len(rows) or noted[1] != links[noted[0]]):
            self._refuse("an older or another file")

    @classmethod
    def create(cls, path: Path, total: Total, entry: Entry) -> "KeptStream":
        """A new file for a total that an entry has paid for."""
        parts = {"entry": row_of(entry), "total": total.settings, "seeded": total.seeded}
        text = json.dumps({**parts, "mark": os.urandom(16).hex()})
        begun = path.with_name(f"{path.name}-new-{os.urandom(6).hex()}")
        os.close(os.open(begun, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))  # it will hold the counts
        try:
            with closing(connect(begun.absolute(), "rw")) as database:
                database.execute("PRAGMA synchronous = FULL")
                database.execute("BEGIN EXCLUSIVE")
                database.execute(f"PRAGMA application_id = {_APPLICATION}")
                database.execute("CREATE TABLE head (content TEXT NOT NULL)")
                database.execute(
                    "CREATE TABLE periods (number INTEGER PRIMARY KEY, count TEXT NOT NULL, noisy TEXT NOT NULL)"
                )
                database.execute("INSERT INTO head VALUES (?)", (text,))
                _make_room(database)
                database.execute("COMMIT")
            _appear(begun, path)
        except FileExistsError:
            refuse("a new stream needs a new file", path.name, "another process was first; its stream goes on")
        finally:
            begun.unlink(missing_ok=True)
        return cls(path)

    @property
    def entry(self) -> Entry:
        """The charge that paid for it."""
        return entry_of(tuple(self._head["entry"]))

    @property
    def seeded(self) -> bool:
        """Whether its noise came from a generator."""
        return bool(self._head["seeded"])

    def total(self, rng: Rng) -> Total:
        """A new total like the one that was opened, before its first period."""
        running_total = lazy("toolkit.central.stream", "RunningTotal")
        total: Total = running_total.from_settings(self.entry.loss, self._head["total"], rng)
        return total

    def periods(self) -> tuple[list[int], list[tuple[int, ...]]]:
        """Counts and noisy numbers of all periods that were there when the file was opened."""
        noisy = [tuple(map(int, numbers.split())) for _, _, numbers in self._rows]
        return [int(count) for _, count, _ in self._rows], noisy

    def check(self, period: int) -> None:
        """Refuse if the file is not after this period."""
        with self._connected() as database:
            self._at(database, period)

    @property
    def key(self) -> bytes:
        """By which names are hashed: no two files hold the same."""
        return str(self._head["mark"]).encode()

    def append(self, period: int, count: int, noisy: tuple[int, ...], visits: Mapping[Any, int] | None = None) -> None:
        """Write one more period, and how often those were counted who came in it; it is on the disk when this
        returns.
        """
        text, own = " ".join(map(str, noisy)), None if visits is None else 1
        with self._connected() as database:
            database.execute("BEGIN IMMEDIATE")
            self._at(database, period - 1)
            database.execute("INSERT INTO periods VALUES (?, ?, ?, ?)", (period, str(count), text, own))
            database.executemany("INSERT OR REPLACE INTO visits VALUES (?, ?)", (visits or {}).items())
            database.execute("COMMIT")
        self._link = digest([self._link, period, text])
        write_note(self.path, period, self._link)

    def _at(self, database: "sqlite3.Connection", period: int) -> None:
        (last,) = one(database, "SELECT coalesce(max(number), 0) FROM periods")
        if last != period:
            self._refuse(f"a file after period {last} for a stream after period {period}")

    def _refuse(self, received: str) -> NoReturn:
        note = f"; {note_of(self.path).name} knows the last period" if note_of(self.path).exists() else ""
        rule = "a stream's file must hold what its stream has published"
        refuse(rule, received, f"a period must not be published twice{note}", RecordError)

    @contextmanager
    def _connected(self) -> Iterator["sqlite3.Connection"]:
        import sqlite3

        try:
            with closing(connect(self.path, "rw")) as database:
                database.execute("PRAGMA synchronous = FULL")
                yield database
        except sqlite3.Error as error:
            received = f"“{error}” for {self.path.name}"
            refuse("a stream's file must be there and writable", received, "nothing was published", RecordError)


def _appear(begun: Path, path: Path) -> None:
    """Give a finished file its name; refused where another process was first."""
    if hasattr(os, "link"):
        os.link(begun, path)
    elif path.exists():
        raise FileExistsError(path.name)
    else:  # in a browser, which has one process
        begun.rename(path)


def _take_over(database: "sqlite3.Connection") -> None:
    """Make room for people in a file of version 1; nothing that it holds is changed."""
    database.execute("BEGIN IMMEDIATE")
    if marks(database) == (_APPLICATION, 1):  # still, now that nobody else writes
        _make_room(database)
    database.execute("COMMIT")


def _make_room(database: "sqlite3.Connection") -> None:
    execute_all(database, _PEOPLE)
    database.execute(f"PRAGMA user_version = {_VERSION}")
