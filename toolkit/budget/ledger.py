"""`Ledger`: a durable record of what was spent, with a ceiling that is never passed.

The ledger is the only thing in the toolkit that remembers. It charges before the mechanism draws, so that whatever
happens in between (an exception, a crash, a power cut) can only leave a charge without a release, never the reverse.
"""

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeVar, runtime_checkable

from toolkit.budget.charges import (
    BudgetError,
    Decision,
    Entry,
    Head,
    MemoryRecord,
    Priced,
    Register,
    agreed_neighbors,
    agreed_unit,
    check_ceiling,
    fitted,
    nothing,
    price_of,
    recordable,
    remaining_of,
    serialize,
)
from toolkit.budget.ledger_file import FileRecord
from toolkit.budget.report import Report, frame_of, html_of, report_of
from toolkit.core.checks import explain_call, reject, whole
from toolkit.core.extras import check_extras
from toolkit.core.loss import Loss, warn_if_weak
from toolkit.core.randomness import Rng, check_rng

if TYPE_CHECKING:
    import pandas as pd

    from toolkit.budget.ledger_postgres import PostgresRecord
    from toolkit.budget.stream_file import StreamPlace
    from toolkit.budget.streams import Stream
    from toolkit.central.stream.total import RunningTotal

Result_co = TypeVar("Result_co", covariant=True)
_LONGEST_LABEL = 200


@runtime_checkable
class Mechanism(Protocol[Result_co]):
    """All that a ledger knows of a mechanism: what it costs, and how to make it draw."""

    @property
    def loss(self) -> Loss: ...

    def release(self, value: object, rng: Rng = None) -> Result_co: ...


@explain_call(
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
    ceiling : Pure, Approx or Zcdp
        The most that may be spent. A Zcdp ceiling also takes Pure losses, and is the thrifty choice for many
        releases: `Zcdp.within(Approx(1, 1e-6))` promises no less than (1, 1e-6).
    path : str or path, optional
        A file that keeps the record and that many processes may share, or an address of PostgreSQL that machines
        may share, such as "postgresql://ann@db/office?schema=claims"; without one it is in memory. Its rows are
        chained: a row that was edited, or a total that is not the sum of the charges, is refused when the file is
        opened or listed. `budget.db-last` detects that the file was replaced by an older copy. Both are against
        mistakes: they do not detect a copy that is moved elsewhere, a folder that is restored as a whole, or a
        file that somebody wrote again from the start.
    neighbors : "replace" or "add_remove", optional
        Whom the promise is about. Once stated, here or with a charge, it never changes.
    unit : "person", "row" or "event", optional
        Who the totals are about. Once stated, here or with a charge, it never changes; a charge about another is
        refused, or counted as often as one of the unit has it.
    simulated : bool
        Whether it is for teaching or tests. Only then may a generator draw, and the ledger, its file and every
        estimate say so.

    Examples
    --------
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
        self._ceiling, self._neighbors = check_ceiling(ceiling), agreed_neighbors(None, neighbors)
        self._unit, _ = agreed_unit(None, unit)
        self._record: MemoryRecord | FileRecord | PostgresRecord = MemoryRecord()
        self.register: Register = self._record.register
        """Where `estimate.publish` writes down what it made of this ledger's releases."""
        self._simulated = bool(simulated)
        if path is not None:
            self._record = record = _record_at(path, (self._ceiling, self._neighbors, self._simulated, self._unit))
            self.register = record.register
            before, relation, simulation, counted = record.head
            if simulation != self._simulated:
                rule = "a ledger of a simulation stays one, and no other becomes one"
                consequence = "what it holds would be taken for the other; use another file"
                reject(rule, f"simulated={self._simulated} for a file with simulated={simulation}", consequence)
            if before != ceiling:
                remedy = "a budget that can be raised is none; see `Ledger.open(path)`"
                reject("a ledger keeps its ceiling", f"{ceiling!r} for a file with {before!r}", remedy)
            last = record.last()
            self._neighbors = agreed_neighbors(relation or (last.neighbors if last else None), self._neighbors)
            self._unit, _ = agreed_unit(counted or (last.unit if last else None), self._unit)

    @classmethod
    def open(cls, path: str | os.PathLike[str]) -> "Ledger":
        """Open the ledger in a file that exists already, with its ceiling.

        Parameters
        ----------
        path : str or path
            The file.

        Returns
        -------
        Ledger
            With all that was charged before.

        Raises
        ------
        RecordError
            If the file is missing, damaged, or older than what was charged.
        """
        record = _record_at(path, None)
        ledger = cls.__new__(cls)
        ledger._record, ledger.register = record, record.register
        ledger._ceiling, ledger._neighbors, ledger._simulated, ledger._unit = record.head
        return ledger

    @property
    def simulated(self) -> bool:
        """Whether it is a simulation's: then releases may be drawn with a generator, and protect nobody."""
        return self._simulated

    def source(self, rng: Rng) -> Rng:
        """Check the randomness of a release: only a simulation may use a generator.

        Parameters
        ----------
        rng : numpy.random.Generator or None
            None draws from the operating system.

        Returns
        -------
        numpy.random.Generator or None
            The same.
        """
        if rng is not None and check_rng(rng) is not None and not self._simulated:
            consequence = "whoever knows its seed has the data; a simulation has Ledger(…, simulated=True)"
            reject("a release must be drawn with rng=None", "a generator", consequence)
        return rng

    @property
    def ceiling(self) -> Loss:
        """The most that may be spent."""
        return self._ceiling

    @property
    def neighbors(self) -> str | None:
        """Whom the promise is about; None as long as nobody stated it."""
        last = self._record.last()
        return (last.neighbors if last else None) or self._neighbors

    @property
    def unit(self) -> str | None:
        """Who the totals are about: a person, a row or an event; None as long as nobody stated it."""
        last = self._record.last()
        return (last.unit if last else None) or self._unit

    @property
    def spent(self) -> Loss:
        """The sum of all charges, in the ceiling's currency."""
        last = self._record.last()
        return last.total if last else nothing(self._ceiling)

    @property
    def remaining(self) -> Loss:
        """What may still be spent."""
        return remaining_of(self.spent, self._ceiling)

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
        """Spend a loss, or raise `BudgetError` and spend nothing.

        A charge cannot be taken back; but to delete the file, or to open a second ledger for the same data, is to
        spend again.

        Parameters
        ----------
        loss : Loss or mechanism
            What is spent. Of what draws later charge the mechanism itself: its name is then written down, and a
            ceiling in Zcdp counts its `zcdp`, where it has one.
        label : str, optional
            What it is for: one line.
        mechanism : str, optional
            The name of the mechanism, where a loss is charged.
        neighbors : "replace" or "add_remove", optional
            What the loss is about; that of local randomization (`design.loss`) is about "replace".
        unit : "person", "row" or "event", optional
            Who the loss is about; the ledger's unit if not given.
        times : int, optional
            How many of a finer unit one of the ledger's has at most: `loss.group(times)` is charged.
        terms : str, optional
            What else the promise rests on.

        Returns
        -------
        Entry
            The charge, as it was written down.

        Raises
        ------
        BudgetError
            If it does not fit into what remains, or is about something else than the ledger.

        Examples
        --------
        >>> from toolkit.central.selection import Exponential
        >>> from toolkit.core.loss import Zcdp
        >>> entry = Ledger(Zcdp(1)).charge(Exponential.for_epsilon(1), "a choice", neighbors="replace")
        >>> entry.mechanism, entry.loss, entry.charged
        ('Exponential', Pure(1.0), Zcdp(0.125))
        """
        return self._record.append(self._decision(loss, label, mechanism, neighbors, unit, times, terms))

    def facts(self, entry: Entry) -> dict[str, Any]:
        """Say for a document what an entry cost, and the totals before and after it.

        Parameters
        ----------
        entry : Entry
            A charge of this ledger.

        Returns
        -------
        dict
            Texts, by what they say.
        """
        return {
            "id": self._record.id,
            "entry": entry.number,
            "label": entry.label,
            "loss": str(entry.loss),
            "exact loss": serialize(entry.loss),
            "charged": str(entry.charged),
            "before": str(remaining_of(entry.charged, entry.total)),
            "after": str(entry.total),
            "ceiling": str(self._ceiling),
            "unit": entry.unit,
            **({"terms": entry.terms} if entry.terms else {}),
            "simulated": self._simulated,
        }

    def fits(self, loss: Loss | Priced, **about: Any) -> bool:
        """Say whether such a charge would be taken now; nothing is charged.

        Parameters
        ----------
        loss : Loss or mechanism
            What would be spent.
        **about : object
            What `charge` takes beside.

        Returns
        -------
        bool
            Whether `charge` would return.

        Examples
        --------
        >>> from toolkit.core.loss import Pure
        >>> ledger = Ledger(Pure(1), unit="person")
        >>> ledger.fits(Pure(1), unit="person"), ledger.fits(Pure(2)), ledger.fits(Pure(1), unit="row")
        (True, False, False)
        """
        try:
            self._decision(loss, **about)(self._record.last())
        except BudgetError:
            return False
        return True

    def _decision(
        self,
        loss: Loss | Priced,
        label: str | None = None,
        mechanism: str | None = None,
        neighbors: str | None = None,
        unit: str | None = None,
        times: int | None = None,
        terms: str = "",
    ) -> Decision:
        own_loss, price = price_of(loss, self._ceiling)
        own = "" if own_loss is loss else type(loss).__name__[:_LONGEST_LABEL]
        name, kind, own_loss = _label(label), _label(own if mechanism is None else mechanism), recordable(own_loss)
        price = price if times is None else price.group(whole(times, "times"))
        if not self._simulated:
            warn_if_weak(own_loss)

        def decide(last: Entry | None) -> Entry:
            number, spent = (last.number, last.total) if last else (0, nothing(self._ceiling))
            known = agreed_neighbors(last.neighbors if last else None, self._neighbors)
            relation = agreed_neighbors(known, neighbors)
            counted, converted = agreed_unit((last.unit if last else None) or self._unit, unit, times)
            charged, total = fitted(spent, price, self._ceiling)
            conditions = "; ".join(part for part in (terms, converted) if part)
            return Entry(number + 1, name, kind, relation, own_loss, charged, total, counted, conditions)

        return decide

    def release(
        self,
        mechanism: Mechanism[Result_co],
        value: object,
        label: str | None = None,
        *,
        rng: Rng = None,
        neighbors: str | None = None,
        unit: str | None = None,
        times: int | None = None,
    ) -> Result_co:
        """Charge the mechanism, then let it draw.

        If drawing fails, the charge remains: a failure tells something, too.

        Parameters
        ----------
        mechanism : mechanism
            It has a `loss` and a `release` method.
        value : object
            The statistic, as the mechanism takes it.
        label : str, optional
            What it is for: one line.
        rng : numpy.random.Generator, optional
            Only with a ledger of a simulation.
        neighbors : "replace" or "add_remove", optional
            As of `charge`.
        unit : "person", "row" or "event", optional
            As of `charge`.
        times : int, optional
            As of `charge`.

        Returns
        -------
        object
            What the mechanism released.
        """
        if not isinstance(mechanism, Mechanism):
            reject(
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
        total: "RunningTotal",
        label: str | None = None,
        *,
        events: int | None = None,
        path: str | os.PathLike[str] | None = None,
    ) -> "Stream":
        """Open a total that is published every period: all its periods are charged now, before the first.

        What stops early is not refunded. A ledger with a file keeps the stream in another one beside it: next
        week, in another process, `resume(label)` goes on with it. A ledger in memory keeps none, unless it is
        given a path: then the stream ends with this process.

        Parameters
        ----------
        total : RunningTotal
            A new one.
        label : str, optional
            What it is for; needed where the ledger has a file.
        events : int, optional
            For a total at event level under a ledger about persons, or rows: how many events one of them has at
            most, in all periods. `total.group(events)` is charged.
        path : str or path, optional
            Where to keep the stream; the file is as confidential as the data.

        Returns
        -------
        Stream
            It takes one count per period.

        Examples
        --------
        >>> from toolkit.central.stream import RunningTotal
        >>> from toolkit.core.loss import Pure
        >>> ledger = Ledger(Pure(1))
        >>> weekly = ledger.every(RunningTotal.for_epsilon(1, periods=52), "new members")
        >>> weekly.add(17).labels, weekly.add(12).labels, ledger.spent
        (('total after 1 of 52 periods',), ('total after 2 of 52 periods',), Pure(1.0))
        """
        from toolkit.budget.stream_file import KeptStream, StreamFile
        from toolkit.budget.streams import Stream, check_openable

        if events is not None:
            whole(events, "events")
        place = self._stream_place(label) if path is None else StreamFile(Path(path).expanduser().resolve())
        check_openable(total, place, self._simulated)
        unit, terms = ("event", "") if total.per_person is None else ("person", total.unit)
        entry = self.charge(total, label, neighbors=total.neighbors, unit=unit, times=events, terms=terms)
        return Stream(total, self, entry, None if place is None else KeptStream.create(place, total, entry))

    def resume(self, label: str | os.PathLike[str], *, rng: Rng = None) -> "Stream":
        """Go on with a stream that `every` opened under this ledger, after its last period; nothing is charged.

        Its `last` is the number of that period once more, which may not have been handed out. Of a stream at user
        level whose people were counted elsewhere, a warning says that the file does not know them.

        Parameters
        ----------
        label : str or path
            The stream's label, or the path of its file.
        rng : numpy.random.Generator, optional
            Only with a ledger of a simulation.

        Returns
        -------
        Stream
            It takes the next period's count.
        """
        from toolkit.budget.stream_file import StreamFile
        from toolkit.budget.streams import resumed

        place: StreamPlace = StreamFile(Path(label).expanduser().resolve())
        beside = self._stream_place(label) if isinstance(label, str) else None
        if beside is not None and (beside.exists() or not place.exists()):
            place = beside
        return resumed(place, self, self.entries(), self.source(rng))

    def _stream_place(self, label: str | None) -> "StreamPlace | None":
        if isinstance(self._record, MemoryRecord):
            return None
        name = _label(label)
        if not name:
            reject("a stream of a ledger that is kept needs a label", "none", "`resume(label)` goes on with it")
        if isinstance(self._record, FileRecord):
            from toolkit.budget.stream_file import StreamFile

            return StreamFile.of(self._record.path, name)
        return self._record.stream_place(name)

    def entries(self) -> tuple[Entry, ...]:
        """List every charge, the oldest first.

        Returns
        -------
        tuple of Entry
            All of them; a file is checked as a whole.
        """
        return self._record.entries()

    def to_frame(self) -> "pd.DataFrame":
        """List what was spent on what, with the total after each charge.

        Returns
        -------
        pandas.DataFrame
            One row per charge, its cost in the ceiling's currency.
        """
        return frame_of(self.entries(), self._ceiling)

    @property
    def id(self) -> str:
        """By which published documents name this ledger."""
        return self._record.id

    def report(self) -> Report:
        """Write up all that was released under this budget, and the documents that were published of it.

        Returns
        -------
        Report
            Markdown, which a notebook shows as a page.

        Examples
        --------
        >>> from toolkit.core.loss import Pure
        >>> ledger = Ledger(Pure(1), neighbors="replace")
        >>> entry = ledger.charge(Pure(0.25), "a survey")
        >>> print(ledger.report().splitlines()[-1])
        | 1 | a survey |  | not said | ε = 0.25 | ε = 0.25 | ε = 0.25 |  |
        """
        entries = self.entries()
        summary = self._summary(entries[-1] if entries else None)
        return report_of(entries, summary, self.id, self.register.publications())

    def __repr__(self) -> str:
        return f"<Ledger: {self._summary(self._record.last())}>"

    def _repr_html_(self) -> str:
        entries = self.entries()
        return html_of(entries, self._ceiling, self._summary(entries[-1] if entries else None))

    def _summary(self, last: Entry | None) -> str:
        spent, count = (last.total, last.number) if last else (nothing(self._ceiling), 0)
        state = f"spent {spent} of {self._ceiling}, remaining {remaining_of(spent, self._ceiling)}"
        relation = (last.neighbors if last else None) or self._neighbors
        neighbors = f"neighbors: {relation}" if relation else "neighbors not said"
        counted = (last.unit if last else None) or self._unit
        unit = f"unit: {counted}" if counted else "unit not said"
        charges = f"{count:,} {'charge' if count == 1 else 'charges'}"
        mark = "simulated, no privacy claim; " if self._simulated else ""
        return f"{mark}{state}; {charges}; {neighbors}; {unit}; {self._record.name}"


def _record_at(path: str | os.PathLike[str], make: Head | None) -> "FileRecord | PostgresRecord":
    """The record in a file or in PostgreSQL, which is made if `make` says with what."""
    if not str(path).startswith(("postgresql:", "postgres:")):
        return FileRecord(Path(path), make)
    check_extras("psycopg")
    from toolkit.budget.ledger_postgres import PostgresRecord

    return PostgresRecord(str(path), make)


def _label(text: str | None) -> str:
    if text is None:
        return ""
    if not isinstance(text, str):
        reject("a label must be text", type(text).__name__, "it says in the record what the charge was for", TypeError)
    if len(text) > _LONGEST_LABEL or not text.isprintable():
        rule = f"a label must be one line of at most {_LONGEST_LABEL} printable characters"
        reject(rule, f"{len(text)}", "it is never deleted")
    return text
