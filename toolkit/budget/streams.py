"""`Stream`: a running total that a ledger has paid for, all periods at once, kept in a file if wanted."""

import os
import threading
import warnings
from collections.abc import Callable, Hashable, Iterator
from dataclasses import replace
from functools import partial
from typing import Any, Protocol

import numpy as np

from toolkit.budget.charges import Entry
from toolkit.budget.publishing import PublicationRegister, ReleaseFacts
from toolkit.budget.stream_file import KeptStream, StreamPlace
from toolkit.central.stream.total import RunningTotal
from toolkit.core.arrays import DataFrame
from toolkit.core.checks import quietly, reject
from toolkit.core.estimate import Estimate
from toolkit.core.loss import Pure
from toolkit.core.randomness import Rng
from toolkit.frames.conditions import Where
from toolkit.frames.frame import Frame
from toolkit.frames.persons import Visits, check_names, hashed, identities
from toolkit.frames.reader import cell_counts
from toolkit.frames.sums import Grouping, grouping

_read = partial(quietly, rule="a frame must be readable by its engine", consequence="the period is still to come")
NOT_KEPT = (
    "how often each person was counted is not in the stream's file, because another `Visits` counted them: "
    "go on with Visits(per_person, seen) of what that had seen, or people are counted too often"
)


class Account(Protocol):
    """What a stream asks of the ledger that paid."""

    @property
    def register(self) -> PublicationRegister: ...

    def facts(self, entry: Entry) -> dict[str, Any]: ...


class Stream:
    """One number a period, paid for when it was opened; made by `Ledger.every` and `Ledger.resume`.

    With a file, each period is on the disk before its number is handed out: a process that ends in between
    has told nothing, and the next one goes on from the period before, or tells the same number again
    (`last`). Without a file the stream ends with its process, and its charge remains.

    The file holds the counts, and a hash of each person that a stream at user level counted: it is as
    confidential as the data. A note beside it (weekly.db-last) tells an older copy in its place. Who puts
    back both, and adds again what was added before, publishes a period twice with new noise, which the loss
    does not cover; nothing here could notice.
    """

    def __init__(self, total: RunningTotal, ledger: Account, entry: Entry, stored: KeptStream | None = None) -> None:
        self.total, self.label, self._kept = total, entry.label, stored
        self._ledger, self._entry = ledger, entry
        self.last: Estimate | None = None
        self._lock, self._whole = threading.Lock(), True
        self._key = os.urandom(16) if stored is None else stored.key
        self._own: bool | None = None  # whether the stream itself counts people; None before the first period
        self._visits = Visits(total.per_person or 1)

    def add(self, count: int) -> Estimate:
        """Publish the next period's count, at least 0; late data belong into the period in which they arrive."""
        return self._next(lambda _: count, own=False)

    def _next(self, count: Callable[[Visits], int], *, own: bool) -> Estimate:
        """One more period, of people whom the stream counts itself or not: by who was counted before, so that of two
        threads the second waits.
        """
        with self._lock:
            if self._own is not None and self._own != own:
                rule = "people must be counted by the stream in all periods, or in none"
                reject(rule, "both", "who was counted elsewhere would be counted too often")
            if not self._whole:
                rule = "a stream must be resumed after its file could not be written"
                consequence = "what the file holds decides where it goes on; nothing was published"
                reject(rule, "another period", consequence, RuntimeError)
            if self._kept is not None:
                self._kept.check(self.total.period)
            visits = Visits(self._visits.per_person, self._visits.counts if own else None)
            estimate = self.total.add(count(visits))
            if self._kept is not None:
                self._whole = False
                counts, noisy = self.total._history
                self._kept.append(self.total.period, counts[-1], noisy[-1], self._more(visits) if own else None)
                self._whole = True
            self._own, self._visits = own, visits
            self.last = self._documented(estimate)
            return self.last

    def _more(self, visits: Visits) -> dict[Hashable, int]:
        """How often those were counted who are counted in this period."""
        before = self._visits.counts
        return {name: times for name, times in visits.counts.items() if before.get(name) != times}

    def count(self, frame: DataFrame, where: Where | None = None, *, person: str | int | None = None) -> Estimate:
        """Publish the next period, which counts the rows of a frame that meet a condition, as `Curator.count` does.

        At user level each `person` (a column) is counted once, and in the first `per_person` periods in which they
        come. The stream's file remembers how often, by a hash of their name; people may also be counted elsewhere, with
        `Visits`, and then that must be kept there.
        """
        if (self.total.per_person is None) != (person is None):
            rule = "`count` takes each row for a record at event level, and `person` at user level"
            consequence = "the promise is about what is counted"
            reject(rule, f"{'no' if person is None else 'a'} `person`, {self.total.unit}", consequence)
        table = Frame(frame)
        rows = grouping(table, where)
        if person is None:
            return self.add(_read(lambda: int(cell_counts(table, rows)[0])))
        check_names(table, person)
        return self._next(lambda visits: _read(lambda: visits.count(self._present(table, rows, person))), own=True)

    def _present(self, table: Frame, rows: Grouping, person: str | int) -> Iterator[bytes]:
        """Hashes of those who have a row that counts."""
        for part in table.batches((*rows.columns, person), whole=True):
            place, names = identities(part.column(person))
            present = np.unique(place[(rows.codes(part) >= 0) & (place >= 0)])
            yield from (hashed(names[one], self._key, 16) for one in present.tolist())

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
        where = "in memory: it ends with its process" if self._kept is None else self._kept.place.name
        return f"<Stream {self.label!r}: {self.total!r}; {where}>"


def check_openable(total: RunningTotal, place: StreamPlace | None, simulated: bool) -> None:
    """Refuse what could not be opened, before anything is charged."""
    if not isinstance(total, RunningTotal):
        reject("a stream must be a RunningTotal", type(total).__name__, "nothing was charged", TypeError)
    if total.period:
        rule = "a total must be new when it is opened"
        reject(rule, f"one after {total.period} periods", "what was published before was not paid for")
    if total._seeded and not simulated:
        rule = "a release must be drawn with rng=None"
        reject(rule, "a generator", "whoever knows its seed has the data; a simulation has Ledger(…, simulated=True)")
    if place is not None:
        place.check_new()


def resumed(place: StreamPlace, ledger: Account, entries: tuple[Entry, ...], rng: Rng) -> Stream:
    """The stream of a place, if these entries paid for it; nothing is charged and nothing drawn."""
    store = KeptStream(place)
    number = store.entry.number
    if number > len(entries) or entries[number - 1] != store.entry:
        rule = "a stream goes on under the ledger that paid for it"
        reject(rule, f"{place.name}, paid for elsewhere", "its loss is not in this ledger")
    total = store.total(rng)
    if total._seeded != store.seeded:
        rule = "a stream whose noise came from a generator is resumed with one, and no other is"
        consequence = "its numbers would be taken for those of the other kind"
        reject(rule, "a generator" if total._seeded else "none", consequence)
    stream = Stream(total, ledger, store.entry, store)
    counts, noisy = store.periods()
    last = total._resume(counts, noisy)
    stream.last = last and stream._documented(last)
    if store.own and total.per_person is not None:
        stream._own, stream._visits = bool(store.own[0]), Visits(total.per_person, store.visits)
        if not stream._own:
            warnings.warn(NOT_KEPT, stacklevel=3)
    return stream
