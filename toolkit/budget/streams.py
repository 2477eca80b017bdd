"""`Stream`: a running total whose periods are all charged in advance, optionally stored in a file."""

import os
import threading
from collections.abc import Callable, Hashable, Iterator
from dataclasses import replace
from functools import partial
from typing import Any, Protocol

import numpy as np

from toolkit.budget.charges import Entry
from toolkit.budget.publishing import PublicationRegister, ReleaseFacts
from toolkit.budget.stream_file import StoredStream, StreamStorage
from toolkit.central.stream.total import RunningTotal
from toolkit.core.arrays import DataFrame
from toolkit.core.checks import quietly, reject, warn
from toolkit.core.estimate import Estimate
from toolkit.core.loss import Pure
from toolkit.core.randomness import Rng
from toolkit.frames.conditions import Where
from toolkit.frames.frame import Frame
from toolkit.frames.persons import Visits, check_person_column, hash_name, person_codes
from toolkit.frames.reader import cell_counts
from toolkit.frames.sums import Grouping, parse_grouping

_read = partial(quietly, rule="a frame must be readable by its engine", consequence="the period was not published")
COUNTED_ELSEWHERE = (
    "the stream's file does not contain how often each person was counted, because a separate `Visits` counted them: "
    "continue with Visits(per_person, counts) and the counts of that object, or people are counted too often"
)


class Account(Protocol):
    """The interface of the ledger to which a stream was charged."""

    @property
    def register(self) -> PublicationRegister: ...

    def facts(self, entry: Entry) -> dict[str, Any]: ...


class Stream:
    """A total that is published once per period and is charged when it is opened, by `Ledger.every` or `Ledger.resume`.

    With a file, each period is on the disk before its estimate is returned. If a process ends in between, nothing has
    been published. The next process then repeats the period, or returns its stored estimate (`last`). Without a file,
    the stream ends with its process, and its charge remains.

    The file contains the counts, and in a user-level stream a hash of each person, so it is as confidential as the
    data. A note next to the file (weekly.db-last) shows whether the file was replaced by an older copy. If the file and
    the note are both restored and the same periods are added again, these periods are published twice with new noise.
    The loss does not cover this case, which the stream cannot detect.
    """

    def __init__(self, total: RunningTotal, ledger: Account, entry: Entry, stored: StoredStream | None = None) -> None:
        self.total, self.label, self._stored = total, entry.label, stored
        self._ledger, self._entry = ledger, entry
        self.last: Estimate | None = None
        self._lock, self._consistent = threading.Lock(), True
        self._key = os.urandom(16) if stored is None else stored.key
        # Whether the stream itself counts people; None before the first period.
        self._counts_people: bool | None = None
        self._visits = Visits(total.per_person or 1)

    def add(self, count: int) -> Estimate:
        """Add the next period's count, at least 0, and publish the total.

        Late data count in the period in which they arrive.
        """
        return self._next(lambda _: count, counts_people=False)

    def _next(self, count: Callable[[Visits], int], *, counts_people: bool) -> Estimate:
        """Publish one more period; the function `count` computes its count from the visits so far, under the lock."""
        with self._lock:
            if self._counts_people is not None and self._counts_people != counts_people:
                rule = "people must be counted by the stream in all periods, or in none"
                reject(rule, "both", "people who were counted elsewhere would be counted too often")
            if not self._consistent:
                rule = "a stream must be resumed after its file could not be written"
                consequence = "nothing was published; `Ledger.resume` continues after the last stored period"
                reject(rule, "another period", consequence, RuntimeError)
            if self._stored is not None:
                self._stored.check(self.total.period)
            visits = Visits(self._visits.per_person, self._visits.counts if counts_people else None)
            estimate = self.total.add(count(visits))
            if self._stored is not None:
                # If writing fails, the total in memory is one period ahead of the file.
                self._consistent = False
                counts, noisy = self.total._history
                self._stored.append(
                    self.total.period, counts[-1], noisy[-1], self._new_visits(visits) if counts_people else None
                )
                self._consistent = True
            self._counts_people, self._visits = counts_people, visits
            self.last = self._documented(estimate)
            return self.last

    def _new_visits(self, visits: Visits) -> dict[Hashable, int]:
        """Return the number of times that each person of this period has been counted so far."""
        before = self._visits.counts
        return {name: times for name, times in visits.counts.items() if before.get(name) != times}

    def count(self, frame: DataFrame, where: Where | None = None, *, person: str | int | None = None) -> Estimate:
        """Add the next period's count, the number of rows that meet a condition, and publish the total.

        At user level, each person (identified by the column `person`) is counted once per period, and only in the first
        `per_person` periods in which the person appears. The stream's file stores the number of times that each person
        was counted, by a hash of the identifier. Alternatively, people can be counted with a separate `Visits`, whose
        counts must then be stored separately.
        """
        if (self.total.per_person is None) != (person is None):
            rule = "`count` needs `person` at user level, and must not have it at event level"
            consequence = "the guarantee covers the unit that is counted"
            reject(rule, f"{'no' if person is None else 'a'} `person`, {self.total.unit}", consequence)
        table = Frame(frame)
        rows = parse_grouping(table, where)
        if person is None:
            return self.add(_read(lambda: int(cell_counts(table, rows)[0])))
        check_person_column(table, person)
        return self._next(
            lambda visits: _read(lambda: visits.count(self._present(table, rows, person))), counts_people=True
        )

    def _present(self, table: Frame, rows: Grouping, person: str | int) -> Iterator[bytes]:
        """Yield hashes of the people with a row that meets the condition."""
        for part in table.batches((*rows.columns, person), in_one_batch=True):
            indices, names = person_codes(part.column(person))
            present = np.unique(indices[(rows.codes(part) >= 0) & (indices >= 0)])
            yield from (hash_name(names[index], self._key, 16) for index in present.tolist())

    def _documented(self, estimate: Estimate) -> Estimate:
        total, record = self.total, self.total.per_person is None
        law = "Laplace" if isinstance(total.loss, Pure) else "Gaussian"
        query = {"statistic": f"{self.label or 'count'}: {estimate.labels[0]}", "periods": total.periods}
        unit = {"neighbors": total.neighbors, "one": "record" if record else "person", "person": total.unit}
        noise = {
            "mechanism": "RunningTotal",
            "words": f"{law} noise for all periods together, {total.factorization.description}",
            "sensitivity": str(total.sensitivity),
            "sd": float(np.ravel(estimate.se)[0]),
        }
        ledger = self._ledger
        facts = ReleaseFacts(query, unit, noise, ledger.facts(self._entry), register=ledger.register)
        return replace(estimate, release=facts)

    def __repr__(self) -> str:
        where = "in memory: it ends with its process" if self._stored is None else self._stored.storage.name
        return f"<Stream {self.label!r}: {self.total!r}; {where}>"


def check_openable(total: RunningTotal, storage: StreamStorage | None, simulated: bool) -> None:
    """Reject a stream that cannot be opened, before anything is charged."""
    if not isinstance(total, RunningTotal):
        reject("a stream must be a RunningTotal", type(total).__name__, "nothing was charged", TypeError)
    if total.period:
        rule = "a total must be new when it is opened"
        reject(rule, f"a total after {total.period} periods", "the earlier periods were not charged")
    if total._seeded and not simulated:
        rule = "a release must be drawn with rng=None"
        reject(
            rule,
            "a generator",
            "whoever knows its seed can remove the noise; simulations need Ledger(…, simulated=True)",
        )
    if storage is not None:
        storage.check_new()


def resume_stream(storage: StreamStorage, ledger: Account, entries: tuple[Entry, ...], rng: Rng) -> Stream:
    """Open a stored stream whose charge is among the entries, without charging or drawing anything."""
    store = StoredStream(storage)
    number = store.entry.number
    if number > len(entries) or entries[number - 1] != store.entry:
        rule = "a stream must be resumed with the ledger that it was charged to"
        reject(rule, f"{storage.name} of another ledger", "its loss is not in this ledger")
    total = store.total(rng)
    if total._seeded != store.seeded:
        rule = "a stream must be resumed with a generator if, and only if, it was opened with one"
        consequence = "simulated and real noise would be mixed"
        reject(rule, "a generator" if total._seeded else "none", consequence)
    stream = Stream(total, ledger, store.entry, store)
    counts, noisy = store.periods()
    last = total._resume(counts, noisy)
    stream.last = last and stream._documented(last)
    if store.people and total.per_person is not None:
        stream._counts_people, stream._visits = bool(store.people[0]), Visits(total.per_person, store.visits)
        if not stream._counts_people:
            warn(COUNTED_ELSEWHERE)
    return stream
