"""`Ledger`: a durable record of privacy losses, with a ceiling that is never exceeded.

The ledger is the only stateful object in the toolkit. The ledger charges a loss before the mechanism draws its noise,
so an exception, a crash or a power cut in between can leave a charge without a release, but never a release without a
charge.
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
    add_charge,
    check_ceiling,
    price_of,
    resolve_neighbors,
    resolve_unit,
    round_for_record,
    serialize,
    subtract_from_ceiling,
    zero_loss,
)
from toolkit.budget.ledger_file import FileRecord
from toolkit.budget.report import Report, deployment_of, entries_to_frame, entries_to_html, make_report, yaml_lines
from toolkit.core.checks import check_integer, explain_call, reject
from toolkit.core.extras import check_extras
from toolkit.core.loss import Loss, warn_if_weak
from toolkit.core.randomness import Rng, check_rng

if TYPE_CHECKING:
    import pandas as pd

    from toolkit.budget.ledger_postgres import PostgresRecord
    from toolkit.budget.stream_file import StreamStorage
    from toolkit.budget.streams import Stream
    from toolkit.central.stream.total import RunningTotal

Result_co = TypeVar("Result_co", covariant=True)
_LONGEST_LABEL = 200


@runtime_checkable
class Mechanism(Protocol[Result_co]):
    """The interface of a mechanism: its privacy loss, and a method that releases a noisy value."""

    @property
    def loss(self) -> Loss: ...

    def release(self, value: object, rng: Rng = None) -> Result_co: ...


@explain_call(
    "Ledger(Pure(1.0))",
    value="the mechanism adds noise to it",
    ceiling="a ledger rejects charges that would exceed it: Pure(1.0) allows epsilon 1 in total",
)
class Ledger:
    """A privacy budget: a ceiling on the total loss, and a record of all charges.

    Charges are converted to the ceiling's type of loss and add up exactly. The guarantee also holds if later charges
    depend on earlier releases (a *privacy filter*: Rogers, Roth, Ullman and Vadhan 2016; for Zcdp, Feldman and Zrnic
    2021).

    Parameters
    ----------
    ceiling : Pure, Approx or Zcdp
        The largest total loss. A Zcdp ceiling also accepts Pure losses and is the best choice for many releases:
        `Zcdp.within(Approx(1, 1e-6))` guarantees at least (1, 1e-6).
    path : str or path, optional
        A file that stores the record and that several processes may share, or the address of a PostgreSQL database that
        several machines may share, such as "postgresql://ann@db/office?schema=claims". By default, the record is in
        memory. The rows are chained: when the file is opened or listed, an edited row is rejected, and so is a total
        that is not the sum of the charges. A second file, `budget.db-last`, shows whether the file was replaced by an
        older copy. Both checks protect against mistakes only. The checks do not detect a copy in another folder, a
        folder that was restored as a whole, or a file that was written again from the start.
    neighbors : "replace" or "add_remove", optional
        The neighbor relation of the guarantee. Once stated, here or with a charge, it never changes.
    unit : "person", "row" or "event", optional
        The unit that the totals protect. Once stated, here or with a charge, it never changes. A charge for a finer
        unit is multiplied by `times`; any other charge for a different unit is rejected.
    simulated : bool
        Whether the ledger is for teaching or tests. Only such a ledger accepts a random generator, and it marks
        itself, its file and every estimate as simulated.

    Examples
    --------
    >>> from toolkit.core.loss import Pure
    >>> ledger = Ledger(Pure(0.3))
    >>> ledger.charge(Pure(0.1), "mean of age").number, ledger.charge(Pure(0.2), "campus survey").number
    (1, 2)
    >>> ledger
    <Ledger: spent ε = 0.3 of ε = 0.3, remaining ε = 0; 2 charges; neighbors not stated; unit not stated; ...>
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
        self._ceiling, self._neighbors = check_ceiling(ceiling), resolve_neighbors(None, neighbors)
        self._unit, _ = resolve_unit(None, unit)
        self._record: MemoryRecord | FileRecord | PostgresRecord = MemoryRecord()
        self.register: Register = self._record.register
        """The register in which `estimate.publish` records publications of this ledger's releases."""
        self._simulated = bool(simulated)
        if path is not None:
            self._record = record = _record_at(path, (self._ceiling, self._neighbors, self._simulated, self._unit))
            self.register = record.register
            stored_ceiling, relation, simulation, stored_unit = record.head
            if simulation != self._simulated:
                rule = "`simulated` must be the same whenever a ledger is opened"
                consequence = "simulated and real charges would be mixed; use another file"
                reject(rule, f"simulated={self._simulated} for a file with simulated={simulation}", consequence)
            if stored_ceiling != ceiling:
                remedy = "a budget must not be raised; `Ledger.open(path)` opens the file with its own ceiling"
                reject(
                    "the ceiling of a ledger must not change", f"{ceiling!r} for a file with {stored_ceiling!r}", remedy
                )
            last = record.last()
            self._neighbors = resolve_neighbors(relation or (last.neighbors if last else None), self._neighbors)
            self._unit, _ = resolve_unit(stored_unit or (last.unit if last else None), self._unit)

    @classmethod
    def open(cls, path: str | os.PathLike[str]) -> "Ledger":
        """Open the ledger in an existing file, with the ceiling stored there.

        Parameters
        ----------
        path : str or path
            The file.

        Returns
        -------
        Ledger
            The ledger with all earlier charges.

        Raises
        ------
        RecordError
            If the file is missing, damaged, or older than the last charge.
        """
        record = _record_at(path, None)
        ledger = cls.__new__(cls)
        ledger._record, ledger.register = record, record.register
        ledger._ceiling, ledger._neighbors, ledger._simulated, ledger._unit = record.head
        return ledger

    @property
    def simulated(self) -> bool:
        """Whether the ledger is simulated. Releases may then use a generator and have no privacy guarantee."""
        return self._simulated

    def source(self, rng: Rng) -> Rng:
        """Check the source of randomness of a release: only a simulated ledger accepts a generator.

        Parameters
        ----------
        rng : numpy.random.Generator or None
            A generator for simulations; None stands for the operating system's randomness.

        Returns
        -------
        numpy.random.Generator or None
            The argument `rng`, unchanged.
        """
        if rng is not None and check_rng(rng) is not None and not self._simulated:
            consequence = "whoever knows its seed can remove the noise; simulations need Ledger(…, simulated=True)"
            reject("a release must be drawn with rng=None", "a generator", consequence)
        return rng

    @property
    def ceiling(self) -> Loss:
        """The largest total loss."""
        return self._ceiling

    @property
    def neighbors(self) -> str | None:
        """The neighbor relation of the guarantee; None until it is stated."""
        last = self._record.last()
        return (last.neighbors if last else None) or self._neighbors

    @property
    def unit(self) -> str | None:
        """The unit that the totals protect (a person, a row or an event); None until it is stated."""
        last = self._record.last()
        return (last.unit if last else None) or self._unit

    @property
    def spent(self) -> Loss:
        """The sum of all charges, in the ceiling's type of loss."""
        last = self._record.last()
        return last.total if last else zero_loss(self._ceiling)

    @property
    def remaining(self) -> Loss:
        """The part of the ceiling that has not been spent."""
        return subtract_from_ceiling(self.spent, self._ceiling)

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

        A charge cannot be undone. Deleting the file, or opening a second ledger for the same data, spends the budget
        a second time.

        Parameters
        ----------
        loss : Loss or mechanism
            The loss to spend. For a later release, pass the mechanism itself: its name is then recorded, and a Zcdp
            ceiling is charged its `zcdp`, if it has this property.
        label : str, optional
            The purpose, in one line.
        mechanism : str, optional
            The name of the mechanism, if `loss` is a loss.
        neighbors : "replace" or "add_remove", optional
            The neighbor relation of the loss, which is "replace" for local randomization (`design.loss`).
        unit : "person", "row" or "event", optional
            The unit that the loss protects; by default the ledger's unit.
        times : int, optional
            The maximum number of finer units, such as events, per unit of the ledger; `loss.group(times)` is charged.
        terms : str, optional
            Further conditions of the guarantee.

        Returns
        -------
        Entry
            The charge as it was recorded.

        Raises
        ------
        BudgetError
            If the charge exceeds the remaining budget, or if its neighbor relation or unit differs from the ledger's.

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
        """Return the public information about an entry: its cost, and the totals before and after it.

        Parameters
        ----------
        entry : Entry
            A charge of this ledger.

        Returns
        -------
        dict
            The information, as a mapping from names to values.
        """
        return {
            "id": self._record.id,
            "entry": entry.number,
            "label": entry.label,
            "loss": str(entry.loss),
            "exact loss": serialize(entry.loss),
            "charged": str(entry.charged),
            "before": str(subtract_from_ceiling(entry.charged, entry.total)),
            "after": str(entry.total),
            "ceiling": str(self._ceiling),
            "unit": entry.unit,
            **({"terms": entry.terms} if entry.terms else {}),
            "simulated": self._simulated,
        }

    def fits(self, loss: Loss | Priced, **about: Any) -> bool:
        """Return whether a charge would be accepted now, without charging it.

        Parameters
        ----------
        loss : Loss or mechanism
            The loss to check.
        **about : object
            The other arguments of `charge`.

        Returns
        -------
        bool
            Whether `charge` would succeed with these arguments.

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
        exact_loss, price = price_of(loss, self._ceiling)
        default = "" if exact_loss is loss else type(loss).__name__[:_LONGEST_LABEL]
        purpose, kind = _label(label), _label(default if mechanism is None else mechanism)
        recorded_loss = round_for_record(exact_loss)
        price = price if times is None else price.group(check_integer(times, "times"))
        if not self._simulated:
            warn_if_weak(recorded_loss)

        # The record calls this function with its last entry while the record is locked, so no other charge can come in
        # between.
        def decide(last: Entry | None) -> Entry:
            number, spent = (last.number, last.total) if last else (0, zero_loss(self._ceiling))
            stated = resolve_neighbors(last.neighbors if last else None, self._neighbors)
            relation = resolve_neighbors(stated, neighbors)
            total_unit, converted = resolve_unit((last.unit if last else None) or self._unit, unit, times)
            charged, total = add_charge(spent, price, self._ceiling)
            conditions = "; ".join(part for part in (terms, converted) if part)
            return Entry(number + 1, purpose, kind, relation, recorded_loss, charged, total, total_unit, conditions)

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
        """Charge the loss of a mechanism, then release a value with it.

        If the release fails, the charge remains, because a failure also reveals information about the data.

        Parameters
        ----------
        mechanism : mechanism
            An object with a `loss` and a `release` method.
        value : object
            The exact statistic, in the form that `mechanism.release` expects.
        label : str, optional
            The purpose, in one line.
        rng : numpy.random.Generator, optional
            A generator for simulations, which requires a simulated ledger; the default is the operating system's
            randomness.
        neighbors : "replace" or "add_remove", optional
            The neighbor relation, as in `charge`.
        unit : "person", "row" or "event", optional
            The unit that the loss protects, as in `charge`.
        times : int, optional
            The maximum number of finer units, as in `charge`.

        Returns
        -------
        object
            The result of `mechanism.release`.
        """
        if not isinstance(mechanism, Mechanism):
            reject(
                "`mechanism` must have a loss and a release method",
                type(mechanism).__name__,
                "nothing was charged; pass the mechanism first, then the value",
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
        """Open a total that is published every period, and charge for all periods at once.

        A stream that stops early is not refunded. A ledger in a file stores the stream in another file next to it, so
        that `resume(label)` can continue it in another process next week. A ledger in memory does not store the stream,
        so the stream ends with this process unless `path` is given.

        Parameters
        ----------
        total : RunningTotal
            A new running total, before its first period.
        label : str, optional
            The purpose; required if the ledger is stored.
        events : int, optional
            The maximum number of events per person or row over all periods. This number is used for an event-level
            total if the unit of the ledger is a person or a row; `total.group(events)` is charged.
        path : str or path, optional
            The file of the stream, which is as confidential as the data.

        Returns
        -------
        Stream
            A stream that accepts one count per period.

        Examples
        --------
        >>> from toolkit.central.stream import RunningTotal
        >>> from toolkit.core.loss import Pure
        >>> ledger = Ledger(Pure(1))
        >>> weekly = ledger.every(RunningTotal.for_epsilon(1, periods=52), "new members")
        >>> weekly.add(17).labels, weekly.add(12).labels, ledger.spent
        (('total after 1 of 52 periods',), ('total after 2 of 52 periods',), Pure(1.0))
        """
        from toolkit.budget.stream_file import StoredStream, StreamFile
        from toolkit.budget.streams import Stream, check_openable

        if events is not None:
            check_integer(events, "events")
        storage = self._stream_storage(label) if path is None else StreamFile(Path(path).expanduser().resolve())
        check_openable(total, storage, self._simulated)
        unit, terms = ("event", "") if total.per_person is None else ("person", total.unit)
        entry = self.charge(total, label, neighbors=total.neighbors, unit=unit, times=events, terms=terms)
        return Stream(total, self, entry, None if storage is None else StoredStream.create(storage, total, entry))

    def resume(self, label: str | os.PathLike[str], *, rng: Rng = None) -> "Stream":
        """Continue a stream that `every` opened under this ledger; nothing is charged.

        The attribute `last` of the stream is the estimate of the last stored period, which the previous process may not
        have returned. If a separate `Visits` counted the people of a user-level stream, a warning says that the file
        does not contain these counts.

        Parameters
        ----------
        label : str or path
            The stream's label, or the path of its file.
        rng : numpy.random.Generator, optional
            A generator for simulations, which requires a simulated ledger; the default is the operating system's
            randomness.

        Returns
        -------
        Stream
            A stream that accepts the next period's count.
        """
        from toolkit.budget.stream_file import StreamFile
        from toolkit.budget.streams import resume_stream

        storage: StreamStorage = StreamFile(Path(label).expanduser().resolve())
        by_label = self._stream_storage(label) if isinstance(label, str) else None
        # A text may be a label or a path; a stream with this label takes precedence.
        if by_label is not None and (by_label.exists() or not storage.exists()):
            storage = by_label
        return resume_stream(storage, self, self.entries(), self.source(rng))

    def _stream_storage(self, label: str | None) -> "StreamStorage | None":
        if isinstance(self._record, MemoryRecord):
            return None
        name = _label(label)
        if not name:
            reject(
                "a stream of a stored ledger must have a label",
                "none",
                "`resume(label)` needs it to continue the stream",
            )
        if isinstance(self._record, FileRecord):
            from toolkit.budget.stream_file import StreamFile

            return StreamFile.of(self._record.path, name)
        return self._record.stream_storage(name)

    def entries(self) -> tuple[Entry, ...]:
        """Return all charges, oldest first.

        Returns
        -------
        tuple of Entry
            All charges, after a check of the whole chain of a stored record.
        """
        return self._record.entries()

    def to_frame(self) -> "pd.DataFrame":
        """Return a table of the charges, with the total after each charge.

        Returns
        -------
        pandas.DataFrame
            One row per charge, with its cost in the ceiling's type of loss.
        """
        return entries_to_frame(self.entries(), self._ceiling)

    @property
    def id(self) -> str:
        """The identifier of this ledger in published documents."""
        return self._record.id

    def report(self) -> Report:
        """Return a report of all releases under this budget and of their publications.

        Returns
        -------
        Report
            A Markdown text that notebooks render.

        Examples
        --------
        >>> from toolkit.core.loss import Pure
        >>> ledger = Ledger(Pure(1), neighbors="replace")
        >>> entry = ledger.charge(Pure(0.25), "a survey")
        >>> print(ledger.report().splitlines()[-1])
        | 1 | a survey |  | not stated | ε = 0.25 | ε = 0.25 | ε = 0.25 |  |
        """
        entries = self.entries()
        summary = self._summary(entries[-1] if entries else None)
        return make_report(entries, summary, self.id, self.register.publications())

    def deployment(self, path: str | os.PathLike[str]) -> Path:
        """Write a draft record for the public Differential Privacy Deployments Registry.

        The record states the variant, the unit, the total loss and the mechanisms of this ledger. All other fields
        contain "FILL IN" with a hint.

        Parameters
        ----------
        path : str or path
            A new .yaml file.

        Returns
        -------
        Path
            The path of the file.

        Examples
        --------
        For the ledger of a curator::

            ledger.deployment("deployment.yaml")
        """
        if self._simulated:
            rule = "only a ledger of real releases has a deployment record"
            reject(rule, "a simulated one", "its releases have no privacy guarantee")
        entries = self.entries()
        record = deployment_of(entries, self._ceiling, self.neighbors, self.unit, self.id)
        try:
            with Path(path).open("x", encoding="utf-8") as file:
                file.writelines(f"{line}\n" for line in yaml_lines(record))
        except FileExistsError:
            reject("`path` must be a new file", f"{Path(path).name!r}, which exists", "nothing was overwritten")
        return Path(path)

    def __repr__(self) -> str:
        return f"<Ledger: {self._summary(self._record.last())}>"

    def _repr_html_(self) -> str:
        entries = self.entries()
        return entries_to_html(entries, self._ceiling, self._summary(entries[-1] if entries else None))

    def _summary(self, last: Entry | None) -> str:
        spent, count = (last.total, last.number) if last else (zero_loss(self._ceiling), 0)
        state = f"spent {spent} of {self._ceiling}, remaining {subtract_from_ceiling(spent, self._ceiling)}"
        relation = (last.neighbors if last else None) or self._neighbors
        neighbors = f"neighbors: {relation}" if relation else "neighbors not stated"
        stated_unit = (last.unit if last else None) or self._unit
        unit = f"unit: {stated_unit}" if stated_unit else "unit not stated"
        charges = f"{count:,} {'charge' if count == 1 else 'charges'}"
        mark = "simulated, no privacy claim; " if self._simulated else ""
        return f"{mark}{state}; {charges}; {neighbors}; {unit}; {self._record.name}"


def _record_at(path: str | os.PathLike[str], new_head: Head | None) -> "FileRecord | PostgresRecord":
    """Open the record in a file or in PostgreSQL; create a missing record if `new_head` is given."""
    if not str(path).startswith(("postgresql:", "postgres:")):
        return FileRecord(Path(path), new_head)
    check_extras("psycopg")
    from toolkit.budget.ledger_postgres import PostgresRecord

    return PostgresRecord(str(path), new_head)


def _label(text: str | None) -> str:
    if text is None:
        return ""
    if not isinstance(text, str):
        reject(
            "a label must be text", type(text).__name__, "the record stores it as the purpose of the charge", TypeError
        )
    if len(text) > _LONGEST_LABEL or not text.isprintable():
        rule = f"a label must be one line of at most {_LONGEST_LABEL} printable characters"
        reject(rule, f"a text of {len(text)} characters", "the record stores it permanently")
    return text
