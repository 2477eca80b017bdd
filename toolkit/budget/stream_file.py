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
from contextlib import AbstractContextManager, closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, Protocol

from toolkit.budget.charges import Entry, RecordError, digest, entry_of, row_of
from toolkit.budget.ledger_file import connect, execute_all, marks, note_of, one, read_note, write_note
from toolkit.central.stream.total import RunningTotal
from toolkit.core.checks import reject
from toolkit.core.randomness import Rng

if TYPE_CHECKING:
    import sqlite3

_APPLICATION, _VERSION = 0x5354524D, 2  # "STRM"
_PEOPLE = """
ALTER TABLE periods ADD COLUMN people INTEGER

CREATE TABLE visits (name BLOB PRIMARY KEY, times INTEGER NOT NULL)
"""  # `people` is 1 if the stream counted them itself, so that `visits` knows of them


class StreamPlace(Protocol):
    """Where a stream is kept: its database, for one use at a time, and the note beside it."""

    @property
    def name(self) -> str: ...
    @property
    def beside(self) -> Path: ...
    def exists(self) -> bool: ...
    def check_new(self) -> None: ...
    def create(self, text: str) -> None: ...
    def connected(self) -> AbstractContextManager[Any]: ...
    def check_version(self, database: Any) -> None: ...
    def begin(self, database: Any) -> None: ...
    def commit(self, database: Any) -> None: ...


@dataclass(frozen=True)
class StreamFile:
    """A SQLite file; it appears whole, or not at all."""

    beside: Path

    @classmethod
    def of(cls, ledger: Path, label: str) -> "StreamFile":
        """Where a ledger with a file keeps the stream of a label: beside it, budget.db-stream-claims."""
        plain = re.sub(r"[^A-Za-z0-9_-]", "_", label)[:40]
        mark = "" if plain == label else f"-{hashlib.sha256(label.encode()).hexdigest()[:12]}"
        return cls(ledger.with_name(f"{ledger.name}-stream-{plain}{mark}"))

    @property
    def name(self) -> str:
        return self.beside.name

    def exists(self) -> bool:
        return self.beside.is_file()

    def check_new(self) -> None:
        if self.beside.exists() or note_of(self.beside).exists():
            received = self.name if self.beside.exists() else f"{note_of(self.beside).name}, the note of an older one"
            reject("a new stream needs a new file", received, "`Ledger.resume` goes on with an old one")
        if not self.beside.parent.is_dir():
            reject("the folder of a stream's file must exist", self.beside.parent.name, "nothing was charged")

    def create(self, text: str) -> None:
        begun = self.beside.with_name(f"{self.name}-new-{os.urandom(6).hex()}")
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
            _appear(begun, self.beside)
        except FileExistsError:
            reject("a new stream needs a new file", self.name, "another process was first; its stream goes on")
        finally:
            begun.unlink(missing_ok=True)

    @contextmanager
    def connected(self) -> Iterator["sqlite3.Connection"]:
        import sqlite3

        try:
            with closing(connect(self.beside, "rw")) as database:
                database.execute("PRAGMA synchronous = FULL")
                yield database
        except sqlite3.Error as error:
            exists = self.beside.exists()
            received = f"“{error}” for {self.name}" if exists else f"no file {self.name} in {self.beside.parent}"
            reject("a stream's file must be there and writable", received, "nothing was published", RecordError)

    def check_version(self, database: "sqlite3.Connection") -> None:
        if marks(database) == (_APPLICATION, 1):
            _take_over(database)
        elif marks(database) != (_APPLICATION, _VERSION):
            _reject(self, "something else or a later version")

    def begin(self, database: "sqlite3.Connection") -> None:
        database.execute("BEGIN IMMEDIATE")

    def commit(self, database: "sqlite3.Connection") -> None:
        database.execute("COMMIT")


class KeptStream:
    """What is kept of a stream, in a place that is opened for each use and closed after it."""

    def __init__(self, place: StreamPlace) -> None:
        self.place = place
        noted = read_note(place.beside)
        with place.connected() as database:
            place.check_version(database)
            (text,) = one(database, "SELECT content FROM main.head")
            rows = database.execute("SELECT number, count, noisy FROM main.periods ORDER BY number").fetchall()
            self.own = [own for (own,) in database.execute("SELECT people FROM main.periods ORDER BY number")]
            self.visits = dict(database.execute("SELECT name, times FROM main.visits"))
        self._head: dict[str, Any] = json.loads(text)
        self._rows, links = rows, [digest([text])]
        for period, (number, _, noisy) in enumerate(rows, start=1):
            links.append(digest([links[-1], number, noisy]))
            if number != period:
                _reject(place, "one with a period missing")
        self._link = links[-1]
        if noted and (noted[0] > len(rows) or noted[1] != links[noted[0]]):
            _reject(place, "an older one or another")

    @classmethod
    def create(cls, place: StreamPlace, total: RunningTotal, entry: Entry) -> "KeptStream":
        parts = {"entry": row_of(entry), "total": total._settings, "seeded": total._seeded}
        place.create(json.dumps({**parts, "mark": os.urandom(16).hex()}))
        return cls(place)

    @property
    def entry(self) -> Entry:
        return entry_of(tuple(self._head["entry"]))

    @property
    def seeded(self) -> bool:
        """Whether its noise came from a generator."""
        return bool(self._head["seeded"])

    def total(self, rng: Rng) -> RunningTotal:
        """A new total like the one that was opened, before its first period."""
        return RunningTotal._from_settings(self.entry.loss, self._head["total"], rng)

    def periods(self) -> tuple[list[int], list[tuple[int, ...]]]:
        """Counts and noisy numbers of all periods that were there when the file was opened."""
        noisy = [tuple(map(int, numbers.split())) for _, _, numbers in self._rows]
        return [int(count) for _, count, _ in self._rows], noisy

    def check(self, period: int) -> None:
        """Refuse if the place is not after this period."""
        with self.place.connected() as database:
            self._at(database, period)

    @property
    def key(self) -> bytes:
        """By which names are hashed: no two files hold the same."""
        return str(self._head["mark"]).encode()

    def append(self, period: int, count: int, noisy: tuple[int, ...], visits: Mapping[Any, int] | None = None) -> None:
        """Write one more period, and how often those who came in it were counted; it is then on the disk."""
        text, own = " ".join(map(str, noisy)), None if visits is None else 1
        with self.place.connected() as database:
            self.place.begin(database)
            self._at(database, period - 1)
            database.execute("INSERT INTO main.periods VALUES (?, ?, ?, ?)", (period, str(count), text, own))
            more = "INSERT INTO main.visits VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET times = excluded.times"
            database.executemany(more, (visits or {}).items())
            self.place.commit(database)
        self._link = digest([self._link, period, text])
        write_note(self.place.beside, period, self._link)

    def _at(self, database: object, period: int) -> None:
        (last,) = one(database, "SELECT coalesce(max(number), 0) FROM main.periods")
        if last != period:
            _reject(self.place, f"one after period {last} for a stream after period {period}")


def _reject(place: StreamPlace, received: str) -> NoReturn:
    note = f"; {note_of(place.beside).name} knows the last period" if note_of(place.beside).exists() else ""
    rule = f"{place.name} must hold what its stream has published"
    reject(rule, received, f"a period must not be published twice{note}", RecordError)


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
