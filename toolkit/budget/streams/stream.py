"""`Stream`: a running total that a ledger has paid for, all periods at once, kept in a file if wanted."""

import contextlib
import threading
import warnings
from pathlib import Path
from typing import Any

import numpy as np

from toolkit.budget.chain import Entry
from toolkit.budget.frames.conditions import Where
from toolkit.budget.frames.rows import Rows, rows_of
from toolkit.budget.frames.summing import counted
from toolkit.budget.note import note_of
from toolkit.budget.streams.kept import KeptStream
from toolkit.central.stream import RunningTotal
from toolkit.core.checks import refuse
from toolkit.core.estimate import Estimate
from toolkit.core.frames.frame import Frame
from toolkit.core.randomness import Rng


class Stream:
    """One number a period, paid for when it was opened; made by `Ledger.every` and `Ledger.resume`.

    With a path, each period is on the disk before its number is handed out: a process that ends in between
    has told nothing, and the next one goes on from the period before, or tells the same number again
    (`last`). Without a path the stream ends with its process, and its charge remains.

    The file holds the counts: it is as confidential as the data. A note beside it (weekly.db-last) tells an
    older copy in its place. Who puts back both, and adds again what was added before, publishes a period
    twice with new noise, which the loss does not cover; nothing here could notice.
    """

    def __init__(self, total: RunningTotal, label: str, kept: KeptStream | None = None) -> None:
        self.total, self.label, self._kept = total, label, kept
        self.last: Estimate | None = None
        self._lock, self._whole = threading.Lock(), True

    def add(self, count: int) -> Estimate:
        """The next period's count; returns the published number.

        Late data belong into the count of the period in which they arrive.
        """
        with self._lock:
            if not self._whole:
                refuse(
                    "a stream must be resumed after its file could not be written",
                    "another period",
                    "what the file holds decides where it goes on; nothing was published",
                    RuntimeError,
                )
            if self._kept is not None:
                self._kept.check(self.total.period)
            estimate = self.total.add(count)
            if self._kept is not None:
                self._whole = False
                counts, noisy = self.total.kept
                self._kept.append(self.total.period, counts[-1], noisy[-1])
                self._whole = True
            self.last = estimate
            return estimate

    def count(self, frame: Any, where: Where | None = None) -> Estimate:
        """The next period's count is that of the rows of a frame that meet a condition, as `Curator.count`
        has it: each row is a record.

        For a promise about people count them with `Visits`, and `add` what it says.
        """
        if self.total.per_person is not None:
            refuse(
                "`count` takes each row for a record, so the stream must be at event level",
                self.total.level,
                "add(visits.count(frame[person])) counts people; see `toolkit.central.stream.Visits`",
            )
        table = Frame(frame)
        rows = rows_of(table, where)
        return self.add(_read(table, rows))

    def __repr__(self) -> str:
        where = "in memory: it ends with its process" if self._kept is None else self._kept.path.name
        return f"<Stream {self.label!r}: {self.total!r}; {where}>"


def _read(table: Frame, rows: Rows) -> int:
    """How many rows count. Nothing that happens then comes out, but that it failed."""
    with contextlib.suppress(Exception), warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        return int(counted(table, rows)[0])
    # here the error, which may quote data, is gone and not chained
    refuse(
        "a frame must be readable by its engine",
        "a failure that is not told",
        "the period is still to come",
        RuntimeError,
    )


def check_openable(total: RunningTotal, path: Path | None, simulated: bool) -> None:
    """Refuse what could not be opened, before anything is charged."""
    if not isinstance(total, RunningTotal):
        refuse("a stream must be a RunningTotal", type(total).__name__, "nothing was charged", TypeError)
    if total.period:
        refuse(
            "a total must be new when it is opened",
            f"one after {total.period} periods",
            "what was published before was not paid for",
        )
    if total.seeded and not simulated:
        refuse(
            "a release must be drawn with rng=None",
            "a generator",
            "whoever knows its seed has the data; a simulation has Ledger(…, simulated=True)",
        )
    if path is not None and (path.exists() or note_of(path).exists()):
        received = path.name if path.exists() else f"{note_of(path).name}, the note of an older one"
        refuse("a new stream needs a new file", received, "`Ledger.resume(path)` goes on with an old one")
    if path is not None and not path.parent.is_dir():
        refuse("the folder of a stream's file must exist", path.parent.name, "nothing was charged")


def opened(total: RunningTotal, entry: Entry, path: Path | None) -> Stream:
    """The stream that an entry of a ledger has paid for."""
    return Stream(total, entry.label, None if path is None else KeptStream.create(path, total, entry))


def resumed(path: Path, entries: tuple[Entry, ...], rng: Rng) -> Stream:
    """The stream of a file, if these entries paid for it; nothing is charged and nothing drawn."""
    kept = KeptStream(path)
    number = kept.entry.number
    if number > len(entries) or entries[number - 1] != kept.entry:
        refuse(
            "a stream goes on under the ledger that paid for it",
            f"{path.name}, paid for elsewhere",
            "its loss is not in this ledger",
        )
    total = kept.total(rng)
    if total.seeded != kept.seeded:
        refuse(
            "a stream whose noise came from a generator is resumed with one, and no other is",
            "a generator" if total.seeded else "none",
            "its numbers would be taken for those of the other kind",
        )
    stream = Stream(total, kept.entry.label, kept)
    counts, noisy = kept.periods()
    stream.last = total.continued(counts, noisy)
    return stream
