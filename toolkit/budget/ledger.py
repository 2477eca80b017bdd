"""`Ledger`: a durable record of what was spent, with a ceiling that is never passed.

The ledger is the only thing in the toolkit that remembers. It charges before the mechanism draws, so that
whatever happens in between (an exception, a crash, a power cut) can only leave a charge without a release,
never the reverse.
"""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeVar, cast, runtime_checkable

from toolkit.budget.charges import (
    BudgetError,
    Priced,
    agreed_unit,
    check_ceiling,
    check_unit,
    fitted,
    left,
    nothing,
    price_of,
    recorded,
)
from toolkit.budget.ledger_file import FileRecord, FileRegister
from toolkit.budget.record import Decision, Entry, MemoryRecord, MemoryRegister, Record, Register, written
from toolkit.budget.report import Report, frame_of, html_of, report_of
from toolkit.core.checks import explains, refuse, whole
from toolkit.core.checks import neighbors as check_neighbors
from toolkit.core.loss import Loss, warn_if_weak
from toolkit.core.randomness import Rng, check_rng

if TYPE_CHECKING:
    import pandas as pd

    from toolkit.budget.stream_file import Total
    from toolkit.budget.streams import Stream

Result_co = TypeVar("Result_co", covariant=True)
_LONGEST_LABEL = 200


@dataclass(frozen=True)
class Charge:
    """What a charge says beside its loss: see `Ledger.charge`."""

    neighbors: str | None = None
    unit: str | None = None
    times: int | None = None
    terms: str = ""


@runtime_checkable
class Mechanism(Protocol[Result_co]):
    """All that a ledger knows of a mechanism: what it costs, and how to make it draw."""

    @property
    def loss(self) -> Loss: ...

    def release(self, value: Any, rng: Rng = None) -> Result_co: ...


@explains(
    "Ledger(Pure(1.0))",
    value="the mechanism adds noise to it",
    ceiling="a ledger refuses what would pass it: Pure(1.0) allows epsilon 1 in all",
)
class Ledger:
    """A privacy budget: what may be spent in all, and what was spent on what.

    Charges add up exactly, in the currency of the ceiling. This holds whatever is charged next, even if that
    depends on what was released before (a *privacy filter*: Rogers, Roth, Ullman and Vadhan 2016; for Zcdp,
    Feldman and Zrnic 2021).

    Parameters
    ----------
    ceiling : Pure, Approx or Zcdp: the most that may be spent. A Zcdp ceiling also takes Pure losses, and is
    the
        thrifty choice for many releases: `Zcdp.within(Approx(1, 1e-6))` promises no less than (1, 1e-6).
    path : a file that keeps the record and that many processes may share; None keeps it in memory. Its rows
    are chained: a
        row that was edited, or a total that is not the sum of the charges, is refused when the file is opened
        or listed. A note beside it (budget.db-last) tells an older copy in its place. Both are against
        mistakes: a copy that is moved elsewhere, a folder put back as a whole, or a hand that writes all anew
        are not noticed.
    neighbors : "replace" or "add_remove": whom the promise is about. Once said, here or with a charge, it
    never changes.
    unit : "person", "row" or "event": who the totals are about. Once said, here or with a charge, it never
    changes; a charge about another is refused, or counted as often as one of the unit has it.
    simulated : whether it is for teaching or tests. Only then may a generator draw, and the ledger, its file
    and every estimate say so.

    >>> from toolkit.core.loss import Pure
    >>> ledger = Ledger(Pure(0.3))
    >>> ledger.charge(Pure(0.1), "mean of age").number, ledger.charge(Pure(0.2), "campus survey").number
    (1, 2)
    >>> ledger
    <Ledger: spent ε = 0.3 of ε = 0.3, remaining ε = 0; 2 charges; neighbors not said; unit not said; ...>
    """

    def __init__(
        self,
        ceiling: Loss,
        path: str | os.PathLike[str] | None = None,
        *,
        neighbors: str | None = None,
        unit: str | None = None,
        simulated: bool = False,
    ) -> None:
        self._ceiling, self._neighbors = check_ceiling(ceiling), _relation(neighbors)
        self._unit = check_unit(unit)
        self._record: Record = MemoryRecord()
        self._register: Register = MemoryRegister()
        self._simulated = bool(simulated)
        if path is not None:
            made = self._ceiling, self._neighbors, self._simulated, self._unit
            self._record = record = FileRecord(Path(path), made)
            self._register = FileRegister(record.path)
            before, relation, simulation, counted = record.head
            if simulation != self._simulated:
                refuse(
                    "a ledger of a simulation stays one, and no other becomes one",
                    f"simulated={self._simulated} for a file with simulated={simulation}",
                    "what it holds would be taken for the other; use another file",
                )
            if before != ceiling:
                received = f"{ceiling!r} for a file with {before!r}"
                refuse(
                    "a ledger keeps its ceiling",
                    received,
                    "a budget that can be raised is none; see `Ledger.open(path)`",
                )
            self._neighbors = _agreed(relation, self.neighbors, self._neighbors)
            last = record.last()
            self._unit, _ = agreed_unit(counted or (last.unit if last else None), self._unit, None)

    @classmethod
    def open(cls, path: str | os.PathLike[str]) -> "Ledger":
        """The ledger in a file that exists already, with its ceiling."""
        record = FileRecord(Path(path), None)
        ledger = cls.__new__(cls)
        ledger._record = record
        ledger._ceiling, ledger._neighbors, ledger._simulated, ledger._unit = record.head
        ledger._register = FileRegister(record.path)
        return ledger

    @property
    def simulated(self) -> bool:
        """Whether it is a simulation's: then releases may be drawn with a generator, and protect nobody."""
        return self._simulated

    def source(self, rng: Rng) -> Rng:
        """The randomness of a release: the operating system's, or a generator where that is allowed."""
        if check_rng(rng) is not None and not self._simulated:
            refuse(
                "a release must be drawn with rng=None",
                "a generator",
                "whoever knows its seed has the data; a simulation has Ledger(…, simulated=True)",
            )
        return rng

    @property
    def ceiling(self) -> Loss:
        return self._ceiling

    @property
    def neighbors(self) -> str | None:
        last = self._record.last()
        return (last.neighbors if last else None) or self._neighbors

    @property
    def unit(self) -> str | None:
        """Who the totals are about: a person, a row or an event; None as long as nobody said it."""
        last = self._record.last()
        return (last.unit if last else None) or self._unit

    @property
    def spent(self) -> Loss:
        last = self._record.last()
        return last.total if last else nothing(self._ceiling)

    @property
    def remaining(self) -> Loss:
        return left(self.spent, self._ceiling)

    def charge(
        self,
        loss: Loss | Priced,
        label: str | None = None,
        *,
        mechanism: str | None = None,
        neighbors: str | None = None,
        unit: str | None = None,
        times: int | None = None,
        terms: str = "",
    ) -> Entry:
        """Spend `loss`, or raise `BudgetError` and spend nothing. There is no way to take a charge back; but
        whoever deletes the file, or opens a second ledger for the same data, spends anew.

        Whoever draws later charges the mechanism itself rather than its loss: its name is then written down,
        and a ceiling in Zcdp counts its `zcdp`, where it has one. A loss of local randomization
        (`design.loss`) is one about "replace".

        `unit` is who the loss is about: without one, the ledger's. A finer one than the ledger's is counted
        if `times` says how many of them one of the ledger's has at most: `loss.group(times)` is charged. The
        entry and the report say so, and also `terms`, what else the promise rests on.

        >>> from toolkit.central.selection import Exponential
        >>> from toolkit.core.loss import Zcdp
        >>> entry = Ledger(Zcdp(1)).charge(Exponential.for_epsilon(1), "a choice", neighbors="replace")
        >>> entry.mechanism, entry.loss, entry.charged
        ('Exponential', Pure(1.0), Zcdp(0.125))
        """
        about = Charge(neighbors, unit, times, terms)
        return self._record.append(self._decision(loss, label, mechanism, about))

    def facts(self, entry: Entry) -> dict[str, Any]:
        """What a document says of an entry: what it cost, and the totals before and after it."""
        return {
            "id": self.id,
            "entry": entry.number,
            "label": entry.label,
            "loss": str(entry.loss),
            "exact loss": written(entry.loss),
            "charged": str(entry.charged),
            "before": str(left(entry.charged, entry.total)),
            "after": str(entry.total),
            "ceiling": str(self.ceiling),
            "unit": entry.unit,
            **({"terms": entry.terms} if entry.terms else {}),
            "simulated": self.simulated,
        }

    def fits(self, loss: Loss | Priced, **about: Any) -> bool:
        """Whether such a charge would be taken now; `about` is what `charge` takes beside. It charges none.

        >>> from toolkit.core.loss import Pure
        >>> ledger = Ledger(Pure(1), unit="person")
        >>> ledger.fits(Pure(1), unit="person"), ledger.fits(Pure(2)), ledger.fits(Pure(1), unit="row")
        (True, False, False)
        """
        try:
            self._decision(loss, None, None, Charge(**about))(self._record.last())
        except BudgetError:
            return False
        return True

    def _decision(self, loss: Loss | Priced, label: str | None, mechanism: str | None, about: "Charge") -> Decision:
        asked, price = price_of(loss, self._ceiling)
        named = "" if asked is loss else type(loss).__name__[:_LONGEST_LABEL]
        name, kind, stated = (
            _label(label),
            _label(named if mechanism is None else mechanism),
            _relation(about.neighbors),
        )
        asked, unit = recorded(asked), check_unit(about.unit)
        price = price if about.times is None else price.group(whole(about.times, "times"))
        if not self._simulated:
            warn_if_weak(asked)

        def decide(last: Entry | None) -> Entry:
            spent = last.total if last else nothing(self._ceiling)
            relation = _agreed(last.neighbors if last else None, self._neighbors, stated)
            known = (last.unit if last else None) or self._unit
            counted, converted = agreed_unit(known, unit, about.times)
            charged, total = fitted(spent, price, self._ceiling)
            losses = asked, charged, total
            said = "; ".join(part for part in (about.terms, converted) if part)
            return Entry(last.number + 1 if last else 1, name, kind, relation, *losses, counted, said)

        return decide

    def release(
        self,
        mechanism: Mechanism[Result_co],
        value: Any,
        label: str | None = None,
        *,
        rng: Rng = None,
        neighbors: str | None = None,
        unit: str | None = None,
        times: int | None = None,
    ) -> Result_co:
        """Charge the mechanism, then let it draw. If drawing fails, the charge remains: a failure tells
        something, too. `rng` is for a ledger of a simulation.
        """
        if not isinstance(mechanism, Mechanism):
            refuse(
                "`mechanism` must have a loss and a release method",
                type(mechanism).__name__,
                "nothing was charged; it comes first, then the value",
                TypeError,
            )
        source = self.source(rng)
        self.charge(mechanism, label, neighbors=neighbors, unit=unit, times=times)
        return mechanism.release(value, rng=source)

    def every(
        self,
        total: "Total",
        label: str | None = None,
        *,
        events: int | None = None,
        path: str | os.PathLike[str] | None = None,
    ) -> "Stream":
        """Open a total that is published every period: all its periods are charged now, before the first.

        What stops early is not refunded. A ledger with a file keeps the stream in another one beside it, or
        in that of `path`, which is as confidential as the data: next week, in another process,
        `resume(label)` goes on with it. A ledger in memory keeps none, unless it is given a path: then the
        stream ends with this process.

        A total at event level is about one event. Under a ledger about persons, or rows, `events` says how
        many one of them has at most, in all periods, and `total.group(events)` is charged.

        >>> from toolkit.central.stream import RunningTotal
        >>> from toolkit.core.loss import Pure
        >>> ledger = Ledger(Pure(1))
        >>> weekly = ledger.every(RunningTotal.for_epsilon(1, periods=52), "new members")
        >>> weekly.add(17).labels, weekly.add(12).labels, ledger.spent
        (('total after 1 of 52 periods',), ('total after 2 of 52 periods',), Pure(1.0))
        """
        from toolkit.budget.streams import check_openable, opened

        place = None if path is None else Path(path).expanduser().absolute()
        if place is None and isinstance(self._record, FileRecord):
            place = self._stream_file(_label(label))
        check_openable(total, place, self._simulated)
        unit, terms = ("event", "") if total.per_person is None else ("person", total.level)
        about: dict[str, Any] = {"unit": unit, "times": events, "terms": terms}
        return opened(total, self, self.charge(total, label, neighbors=total.neighbors, **about), place)

    def resume(self, label: str | os.PathLike[str], *, rng: Rng = None) -> "Stream":
        """The stream that `every` opened under this ledger, by its label or by the path of its file, after
        its last period: no further charge.

        Its `last` is the number of that period once more, which may not have been handed out. Of a stream at
        user level whose people were counted elsewhere, a warning says that the file does not know them.
        """
        from toolkit.budget.streams import resumed

        place = Path(label).expanduser().absolute()
        if isinstance(label, str) and isinstance(self._record, FileRecord):
            beside = self._stream_file(_label(label))
            place = place if place.is_file() and not beside.is_file() else beside
        return resumed(place, self, self.entries(), self.source(rng))

    def _stream_file(self, label: str) -> Path:
        from toolkit.budget.stream_file import file_of

        if not label:
            refuse("a stream of a ledger with a file needs a label", "none", "`resume(label)` goes on with it")
        return file_of(cast("FileRecord", self._record).path, label)

    def entries(self) -> tuple[Entry, ...]:
        """Every charge, the oldest first."""
        return self._record.entries()

    def to_frame(self) -> "pd.DataFrame":
        """What was spent on what: one row a charge, with its cost in the ceiling's currency and the total
        after it.
        """
        return frame_of(self.entries(), self._ceiling)

    @property
    def id(self) -> str:
        """By which published documents name this ledger."""
        return self._record.id

    @property
    def register(self) -> Register:
        """Where `estimate.publish` writes down what it made of this ledger's releases."""
        return self._register

    def report(self) -> Report:
        """All that was released under this budget and the documents that were published of it, as Markdown.

        >>> from toolkit.core.loss import Pure
        >>> ledger = Ledger(Pure(1), neighbors="replace")
        >>> entry = ledger.charge(Pure(0.25), "a survey")
        >>> print(ledger.report().splitlines()[-1])
        | 1 | a survey |  | not said | ε = 0.25 | ε = 0.25 | ε = 0.25 |  |
        """
        entries = self.entries()
        summary = self._summary(entries[-1] if entries else None)
        return report_of(entries, summary, self.id, self._register.publications())

    def __repr__(self) -> str:
        return f"<Ledger: {self._summary(self._record.last())}>"

    def _repr_html_(self) -> str:
        entries = self.entries()
        return html_of(entries, self._ceiling, self._summary(entries[-1] if entries else None))

    def _summary(self, last: Entry | None) -> str:
        spent, count = (last.total, last.number) if last else (nothing(self._ceiling), 0)
        state = f"spent {spent} of {self._ceiling}, remaining {left(spent, self._ceiling)}"
        relation = (last.neighbors if last else None) or self._neighbors
        neighbors = f"neighbors: {relation}" if relation else "neighbors not said"
        counted = (last.unit if last else None) or self._unit
        unit = f"unit: {counted}" if counted else "unit not said"
        where = self._record.path.name if isinstance(self._record, FileRecord) else "in memory"
        charges = f"{count:,} {'charge' if count == 1 else 'charges'}"
        mark = "simulated, no privacy claim; " if self._simulated else ""
        return f"{mark}{state}; {charges}; {neighbors}; {unit}; {where}"


def _relation(neighbors: str | None) -> str | None:
    return None if neighbors is None else check_neighbors(neighbors)


def _agreed(*relations: str | None) -> str | None:
    """The one relation that was said, if any."""
    said = [relation for relation in relations if relation is not None]
    for other in said:
        if other != said[0]:
            remedy = (
                "charge loss.group(2), because to be replaced is to leave and to come"
                if other == "add_remove"
                else "a promise about changed records does not cover coming and going; open another ledger"
            )
            refuse(
                "a ledger counts one neighbor relation", f"{other!r} in a ledger about {said[0]!r}", remedy, BudgetError
            )
    return said[0] if said else None


def _label(text: str | None) -> str:
    if text is None:
        return ""
    if not isinstance(text, str):
        refuse("a label must be text", type(text).__name__, "it says in the record what the charge was for", TypeError)
    if len(text) > _LONGEST_LABEL or not text.isprintable():
        refuse(
            f"a label must be one line of at most {_LONGEST_LABEL} printable characters",
            f"{len(text)}",
            "it is kept for ever",
        )
    return text
