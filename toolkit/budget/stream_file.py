"""`StoredStream`: a stream's settings, counts and noisy numbers by period, and how often each person was counted.

Each period is written to the disk before its estimate is returned. If two processes add to the same file, the second is
rejected, because each period must follow the last period in the file. The rows are chained by their noisy numbers, and
a note next to the file stores the last row, as for a ledger. A file is created completely or not at all.
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

from toolkit.budget.charges import Entry, RecordError, digest, entry_from_row, row_from_entry
from toolkit.budget.ledger_file import connect, execute_all, fetch_row, file_version, note_path, read_note, write_note
from toolkit.central.stream.total import RunningTotal
from toolkit.core.checks import reject
from toolkit.core.randomness import Rng

if TYPE_CHECKING:
    import sqlite3

_APPLICATION, _VERSION = 0x5354524D, 2  # "STRM"
# `people` is 1 if the stream itself counted people, who are then listed in `visits`.
_PEOPLE = """
ALTER TABLE periods ADD COLUMN people INTEGER

CREATE TABLE visits (name BLOB PRIMARY KEY, times INTEGER NOT NULL)
"""


class StreamStorage(Protocol):
    """The interface of a stream's storage: a database that is opened for each use, and a note next to it."""

    @property
    def name(self) -> str: ...
    @property
    def base_path(self) -> Path: ...
    def exists(self) -> bool: ...
    def check_new(self) -> None: ...
    def create(self, text: str) -> None: ...
    def connected(self) -> AbstractContextManager[Any]: ...
    def check_version(self, database: Any) -> None: ...
    def begin(self, database: Any) -> None: ...
    def commit(self, database: Any) -> None: ...


@dataclass(frozen=True)
class StreamFile:
    """The storage of a stream in a SQLite file, which is created completely or not at all."""

    base_path: Path

    @classmethod
    def of(cls, ledger: Path, label: str) -> "StreamFile":
        """Return the file of a stream next to its ledger, such as budget.db-stream-claims for "claims"."""
        plain = re.sub(r"[^A-Za-z0-9_-]", "_", label)[:40]
        mark = "" if plain == label else f"-{hashlib.sha256(label.encode()).hexdigest()[:12]}"
        return cls(ledger.with_name(f"{ledger.name}-stream-{plain}{mark}"))

    @property
    def name(self) -> str:
        return self.base_path.name

    def exists(self) -> bool:
        return self.base_path.is_file()

    def check_new(self) -> None:
        if self.base_path.exists() or note_path(self.base_path).exists():
            received = (
                self.name
                if self.base_path.exists()
                else f"{note_path(self.base_path).name}, the note of an older stream"
            )
            reject("a new stream needs a new file", received, "`Ledger.resume` continues an existing stream")
        if not self.base_path.parent.is_dir():
            reject("the folder of a stream's file must exist", self.base_path.parent.name, "nothing was charged")

    def create(self, text: str) -> None:
        draft = self.base_path.with_name(f"{self.name}-new-{os.urandom(6).hex()}")
        # Only the owner may read the file, because it will contain the counts.
        os.close(os.open(draft, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
        try:
            with closing(connect(draft.absolute(), "rw")) as database:
                database.execute("PRAGMA synchronous = FULL")
                database.execute("BEGIN EXCLUSIVE")
                database.execute(f"PRAGMA application_id = {_APPLICATION}")
                database.execute("CREATE TABLE head (content TEXT NOT NULL)")
                database.execute(
                    "CREATE TABLE periods (number INTEGER PRIMARY KEY, count TEXT NOT NULL, noisy TEXT NOT NULL)"
                )
                database.execute("INSERT INTO head VALUES (?)", (text,))
                _add_people(database)
                database.execute("COMMIT")
            _publish_draft(draft, self.base_path)
        except FileExistsError:
            reject(
                "a new stream needs a new file",
                self.name,
                "another process created it first; `Ledger.resume` continues it",
            )
        finally:
            draft.unlink(missing_ok=True)

    @contextmanager
    def connected(self) -> Iterator["sqlite3.Connection"]:
        import sqlite3

        try:
            with closing(connect(self.base_path, "rw")) as database:
                database.execute("PRAGMA synchronous = FULL")
                yield database
        except sqlite3.Error as error:
            exists = self.base_path.exists()
            received = f"“{error}” for {self.name}" if exists else f"no file {self.name} in {self.base_path.parent}"
            reject("a stream's file must exist and be writable", received, "nothing was published", RecordError)

    def check_version(self, database: "sqlite3.Connection") -> None:
        if file_version(database) == (_APPLICATION, 1):
            _upgrade(database)
        elif file_version(database) != (_APPLICATION, _VERSION):
            _reject(self, "a file of another program or of a later version")

    def begin(self, database: "sqlite3.Connection") -> None:
        database.execute("BEGIN IMMEDIATE")

    def commit(self, database: "sqlite3.Connection") -> None:
        database.execute("COMMIT")


class StoredStream:
    """The stored state of a stream, in a database that is opened for each use and closed afterwards."""

    def __init__(self, storage: StreamStorage) -> None:
        self.storage = storage
        noted = read_note(storage.base_path)
        with storage.connected() as database:
            storage.check_version(database)
            (text,) = fetch_row(database, "SELECT content FROM main.head")
            rows = database.execute("SELECT number, count, noisy FROM main.periods ORDER BY number").fetchall()
            self.people = [people for (people,) in database.execute("SELECT people FROM main.periods ORDER BY number")]
            self.visits = dict(database.execute("SELECT name, times FROM main.visits"))
        self._head: dict[str, Any] = json.loads(text)
        self._rows, links = rows, [digest([text])]
        for period, (number, _, noisy) in enumerate(rows, start=1):
            links.append(digest([links[-1], number, noisy]))
            if number != period:
                _reject(storage, "a file with a missing period")
        self._link = links[-1]
        if noted and (noted[0] > len(rows) or noted[1] != links[noted[0]]):
            _reject(storage, "an older or another file")

    @classmethod
    def create(cls, storage: StreamStorage, total: RunningTotal, entry: Entry) -> "StoredStream":
        parts = {"entry": row_from_entry(entry), "total": total._settings, "seeded": total._seeded}
        storage.create(json.dumps({**parts, "mark": os.urandom(16).hex()}))
        return cls(storage)

    @property
    def entry(self) -> Entry:
        return entry_from_row(tuple(self._head["entry"]))

    @property
    def seeded(self) -> bool:
        """Whether the noise came from a generator."""
        return bool(self._head["seeded"])

    def total(self, rng: Rng) -> RunningTotal:
        """Return a new running total with the stored settings, before its first period."""
        return RunningTotal._from_settings(self.entry.loss, self._head["total"], rng)

    def periods(self) -> tuple[list[int], list[tuple[int, ...]]]:
        """Return the counts and noisy numbers of all periods that the storage contained when it was opened."""
        noisy = [tuple(map(int, numbers.split())) for _, _, numbers in self._rows]
        return [int(count) for _, count, _ in self._rows], noisy

    def check(self, period: int) -> None:
        """Reject the storage unless its last period is `period`."""
        with self.storage.connected() as database:
            self._check_last(database, period)

    @property
    def key(self) -> bytes:
        """The key with which names are hashed, which differs between files."""
        return str(self._head["mark"]).encode()

    def append(self, period: int, count: int, noisy: tuple[int, ...], visits: Mapping[Any, int] | None = None) -> None:
        """Write one more period to the disk, and how often the people of this period have been counted so far."""
        text, people = " ".join(map(str, noisy)), None if visits is None else 1
        with self.storage.connected() as database:
            self.storage.begin(database)
            self._check_last(database, period - 1)
            database.execute("INSERT INTO main.periods VALUES (?, ?, ?, ?)", (period, str(count), text, people))
            more = "INSERT INTO main.visits VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET times = excluded.times"
            database.executemany(more, (visits or {}).items())
            self.storage.commit(database)
        self._link = digest([self._link, period, text])
        write_note(self.storage.base_path, period, self._link)

    def _check_last(self, database: object, period: int) -> None:
        (last,) = fetch_row(database, "SELECT coalesce(max(number), 0) FROM main.periods")
        if last != period:
            _reject(self.storage, f"a file after period {last} for a stream after period {period}")


def _reject(storage: StreamStorage, received: str) -> NoReturn:
    note = (
        f"; {note_path(storage.base_path).name} records the last period"
        if note_path(storage.base_path).exists()
        else ""
    )
    rule = f"{storage.name} must contain all published periods of its stream"
    reject(rule, received, f"a period must not be published twice{note}", RecordError)


def _publish_draft(draft: Path, path: Path) -> None:
    """Rename a complete draft to its final path; raise FileExistsError if another process was first."""
    if hasattr(os, "link"):
        os.link(draft, path)
    elif path.exists():
        raise FileExistsError(path.name)
    else:
        # There are no hard links in a browser, but only one process runs there.
        draft.rename(path)


def _upgrade(database: "sqlite3.Connection") -> None:
    """Add the columns and the table for people to a file of version 1, without changing its contents."""
    database.execute("BEGIN IMMEDIATE")
    # Check again under the lock.
    if file_version(database) == (_APPLICATION, 1):
        _add_people(database)
    database.execute("COMMIT")


def _add_people(database: "sqlite3.Connection") -> None:
    execute_all(database, _PEOPLE)
    database.execute(f"PRAGMA user_version = {_VERSION}")
