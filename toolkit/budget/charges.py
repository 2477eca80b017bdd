"""Charges, and the append-only chain of entries that records them.

A charge is converted to the type of the ceiling and added exactly to a total for the unit of the ledger. A guarantee
for rows protects a person with ten rows only weakly, and a guarantee for events protects this person even less. So
totals refer to one unit. If a loss is for a finer unit, the charge is `loss.group(times)`, where `times` is the number
of finer units per unit of the ledger.

Entries form a chain: each row holds a hash of itself and of the previous row, and the total so far. If a row is
changed, removed, added or moved, the chain is broken unless every later row is recomputed. A total that is not the sum
of the charges breaks the chain as well. The chain protects against mistakes but not against attackers: it contains no
secret, so anybody who can write the file can also write another chain. The chain cannot detect missing rows at its end;
the rollback check of `toolkit.budget.ledger_file` detects them.
"""

import hashlib
import json
import math
import os
import threading
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache
from operator import attrgetter
from typing import Any, NoReturn, Protocol, TypeAlias, runtime_checkable

from toolkit.core.checks import check_choice, check_integer, check_neighbors, reject
from toolkit.core.loss import Approx, AsymptoticPromise, Loss, Pure, Zcdp, format_amount

# Sums are exact while their denominator is below this limit.
_DIGITS = 2**256

# Otherwise charges are rounded up to multiples of 1 / _GRAIN, so that the size of sums is bounded.
_GRAIN = 2**128


class BudgetError(ValueError):
    """An error raised when a ledger rejects a charge; nothing was charged and nothing was released.

    Examples
    --------
    >>> from toolkit import Ledger, Pure
    >>> Ledger(Pure(1)).charge(Pure(2), "too much")
    Traceback (most recent call last):
    ...
    toolkit.budget.charges.BudgetError: ...
    """


@runtime_checkable
class Priced(Protocol):
    """The interface of an object with a privacy loss, such as a mechanism or a design."""

    @property
    def loss(self) -> Loss: ...


def check_ceiling(ceiling: object) -> Loss:
    """Check that a loss can be a ceiling: finite, with a delta below 1, and with at most 77 digits."""
    if not isinstance(ceiling, Pure | Approx | Zcdp):
        kind = type(ceiling).__name__
        reject("`ceiling` must be Pure, Approx or Zcdp", kind, "write Pure(1.0) for a total epsilon of 1", TypeError)
    if ceiling.amount == math.inf or (isinstance(ceiling, Approx) and ceiling.slack == 1):
        reject("`ceiling` must be a limit", ceiling, "a ledger that rejects nothing protects nobody")
    if any(max(part.numerator, part.denominator) >= _DIGITS for part in components(ceiling)):
        reject("`ceiling` must have fewer digits", "more than 77", "it is stored in the record")
    return ceiling


def convert_loss(loss: object, ceiling: Loss) -> Loss:
    """Convert a loss to the type of the ceiling if that is safe; otherwise reject it and suggest a remedy."""
    if isinstance(loss, AsymptoticPromise):
        reject("a charge must be a proven loss", loss, loss.reason, BudgetError)
    if not isinstance(loss, Pure | Approx | Zcdp):
        kind = type(loss).__name__
        reject("a charge must be Pure, Approx or Zcdp", kind, "write Pure(0.1) for epsilon 0.1", TypeError)
    if loss.amount == math.inf:
        reject("a charge must be finite", loss, "an infinite loss is not private, so no budget covers it", BudgetError)
    if isinstance(loss, type(ceiling)):
        return loss
    if (isinstance(loss, Zcdp) and loss.amount == 0) or (isinstance(loss, Approx) and loss.slack == 0):
        loss = Pure(loss.amount)  # the same guarantee in a type that converts to all other types
    if isinstance(loss, Pure):
        return (
            loss.to_zcdp() if isinstance(ceiling, Zcdp) else loss.to_approx() if isinstance(ceiling, Approx) else loss
        )
    rule = f"a ledger with a ceiling in {' and '.join(symbols(ceiling))} cannot count this charge"
    reject(rule, loss, _remedy(loss, ceiling), BudgetError)


def price_of(priced: Loss | Priced, ceiling: Loss) -> tuple[Loss, Loss]:
    """Return the loss of a mechanism, and its charge in the type of the ceiling.

    A mechanism may have a property `zcdp` that is tighter than the conversion of its loss. Both amounts are valid, so a
    Zcdp ceiling is charged the smaller amount.
    """
    if isinstance(priced, Pure | Approx | Zcdp) or not isinstance(priced, Priced):
        return priced, convert_loss(priced, ceiling)
    loss, zcdp = priced.loss, getattr(priced, "zcdp", None)
    if not (isinstance(ceiling, Zcdp) and isinstance(zcdp, Zcdp) and isinstance(loss, Pure | Approx)):
        usual = isinstance(loss, type(ceiling)) and loss.amount != math.inf
        return loss, loss if usual else convert_loss(loss, ceiling)
    price = convert_loss(zcdp, ceiling)
    return loss, min(price, convert_loss(loss, ceiling), key=attrgetter("amount")) if isinstance(loss, Pure) else price


def components(loss: Loss) -> tuple[Fraction, ...]:
    """Return epsilon, or epsilon and delta, or rho, as exact fractions."""
    return (Fraction(loss.amount), loss.slack) if isinstance(loss, Approx) else (Fraction(loss.amount),)


def zero_loss(ceiling: Loss) -> Loss:
    """Return a loss of zero of the same type."""
    return type(ceiling)(*(0 for _ in components(ceiling)))


def add_charge(spent: Loss, charge: Loss, ceiling: Loss) -> tuple[Loss, Loss]:
    """Return the charge as recorded and the total after it; raise an error if the total exceeds the ceiling."""
    before, limits = components(spent), components(ceiling)
    exact = list(zip(before, components(charge), strict=True))
    charged = [part if (total + part).denominator < _DIGITS else _rounded_up(part) for total, part in exact]
    after = [total + part for total, part in zip(before, charged, strict=True)]
    exceeded = [index for index, (total, limit) in enumerate(zip(after, limits, strict=True)) if total > limit]
    if exceeded:
        names = symbols(ceiling)
        amounts = [
            f"{names[i]} = {_format_difference(charged[i], limit - before[i])} of {format_amount(limit)} remains"
            for i, limit in enumerate(limits)
            if i in exceeded
        ]
        rule = "a charge must fit into what remains of the ceiling"
        reject(rule, " and ".join(amounts), "nothing was charged or released", BudgetError)
    return type(ceiling)(*charged), type(ceiling)(*after)


@lru_cache(maxsize=256)
def round_for_record(loss: Loss) -> Loss:
    """Return the loss as it is recorded: rounded up if it has too many digits."""
    amounts = components(loss)
    if all(part.denominator < _DIGITS for part in amounts):
        return loss
    return type(loss)(*(part if part.denominator < _DIGITS else _rounded_up(part) for part in amounts))


def subtract_from_ceiling(spent: Loss, ceiling: Loss) -> Loss:
    """Subtract a loss from a ceiling."""
    return type(ceiling)(*(limit - total for total, limit in zip(components(spent), components(ceiling), strict=True)))


def symbols(ceiling: Loss) -> tuple[str, ...]:
    """Return the symbols of the components of a loss."""
    return {Pure: ("ε",), Approx: ("ε", "δ"), Zcdp: ("ρ",)}[type(ceiling)]


def _rounded_up(part: Fraction) -> Fraction:
    return Fraction(math.ceil(part * _GRAIN), _GRAIN)


def _format_difference(amount: Fraction, remains: Fraction) -> str:
    """Format two amounts with enough digits to distinguish them."""
    for requested, remaining in (
        (format_amount(amount), format_amount(remains)),
        (f"{Pure(amount).epsilon}", f"{Pure(remains).epsilon}"),
    ):
        if requested != remaining:
            return f"{requested} where {remaining}"
    return f"a little more than {format_amount(remains)} where {format_amount(remains)}"


def _remedy(loss: Loss, ceiling: Loss) -> str:
    if isinstance(loss, Zcdp):
        if isinstance(ceiling, Approx):
            return f"open the ledger with the ceiling Zcdp.within({ceiling!r}), or charge loss.to_approx(delta)"
        return "no ε bounds it; a ledger with a Zcdp ceiling counts both"
    if isinstance(ceiling, Zcdp):
        return "no ρ bounds it; charge the mechanism itself if it has a zcdp, or open a ledger with an Approx ceiling"
    return "it has a δ; a ledger with an Approx ceiling counts both"


UNITS = ("event", "row", "person")
"""The units from fine to coarse: a record in one period of a stream, a row of a table, a person with all their rows."""

_REMEDIES = {
    "event": "state how many events one {current} has, as in every(total, label, events=12), which charges 12 of "
    "them together; or count people with `per_person`",
    "row": "a Curator with person=… and rows=… protects persons; if each person has one row, number the rows in a "
    "column and write rows=1; or use another ledger",
    "person": "use another ledger, Ledger(…, unit='person')",
}


def resolve_unit(current: str | None, stated: str | None, times: int | None = None) -> tuple[str | None, str]:
    """Return the unit of a ledger after a charge for the `stated` unit, and the terms of the charge."""
    if stated is not None and stated != current:
        check_choice(stated, "unit", UNITS)
    if times is not None:
        number = check_integer(times, "times")
        if current is None or stated is None or UNITS.index(stated) >= UNITS.index(current):
            rule = "`times`, or `events` of a stream, must be given only for a finer unit than the ledger's"
            consequence = "it is the number of finer units per unit of the ledger; open Ledger(…, unit='person')"
            reject(rule, f"{stated or 'no unit'} in a ledger for {current or 'no unit'}", consequence, BudgetError)
        return current, f"at most {number:,} {stated}{'s' * (number > 1)} of one {current}, charged together"
    if current is not None and stated not in (None, current):
        received = f"a charge for one {stated} in a ledger for one {current}"
        remedy = _REMEDIES[str(stated)].format(current=current)
        reject("all charges of a ledger must protect the same unit", received, remedy, BudgetError)
    return current or stated, ""


def resolve_neighbors(current: str | None, stated: str | None) -> str | None:
    """Return the neighbor relation of a ledger after a charge with the `stated` relation; a ledger has only one."""
    if stated is None or stated == current:
        return current
    check_neighbors(stated)
    if current is not None:
        remedy = (
            "charge loss.group(2), because a replacement is a removal and an addition"
            if stated == "add_remove"
            else "a promise about changed records does not cover added or removed records; open another ledger"
        )
        received = f"{stated!r} in a ledger for {current!r}"
        reject("all charges of a ledger must have the same neighbor relation", received, remedy, BudgetError)
    return stated


Row: TypeAlias = tuple[int, str, str, str | None, str, str, str, str | None, str | None]
"""The row of an entry: number, label, mechanism, neighbors, loss, charged, total, unit, terms; the last two since
version 3.
"""

_KINDS: dict[str, Callable[..., Loss]] = {"pure": Pure, "approx": Approx, "zcdp": Zcdp}

_CHAIN = "the ledger's rows must be as they were written"

COPY = "restore an undamaged copy that is not older"
"""The remedy for damaged rows."""


class RecordError(OSError):
    """An error raised when a record cannot be read or written; nothing is released before its charge is on disk.

    Examples
    --------
    >>> from toolkit import Ledger
    >>> Ledger.open("no such file.db")
    Traceback (most recent call last):
    ...
    toolkit.budget.charges.RecordError: ...
    """


@dataclass(frozen=True)
class Entry:
    """One charge, as returned by `Ledger.charge` and `Ledger.entries`.

    Parameters
    ----------
    number : int
        The number of the charge; charges are numbered consecutively from 1.
    label : str
        The purpose of the charge.
    mechanism : str
        The name of the mechanism.
    neighbors : str or None
        The neighbor relation of the guarantee.
    loss : Loss
        The loss that was requested.
    charged : Loss
        The loss that was charged, in the type of the ceiling.
    total : Loss
        The sum of all charges up to and including this charge.
    unit : str, optional
        The unit of the totals; None if it has not been stated.
    terms : str
        The conditions of the charge, such as the caps per person or the number of events.

    Examples
    --------
    >>> from toolkit import Ledger, Pure
    >>> entry = Ledger(Pure(1)).charge(Pure("1/4"), "a survey")
    >>> entry.number, entry.label, entry.total
    (1, 'a survey', Pure(0.25))
    """

    number: int
    label: str
    mechanism: str
    neighbors: str | None
    loss: Loss
    charged: Loss
    total: Loss
    unit: str | None = None
    terms: str = ""


@dataclass(frozen=True)
class ChainPosition:
    """A position in a chain: the number, link and total of the last verified row, or 0 before the first row."""

    number: int
    link: str
    total: Loss


def first_position(
    ceiling: str, neighbors: str | None, mark: str, total: Loss, unit: str | None = None
) -> ChainPosition:
    """Return the position before the first row; `mark` is random, so that no two files share a link."""
    return ChainPosition(0, digest(_without_end((ceiling, neighbors, mark, unit))), total)


def row_link(before: str, row: Row) -> str:
    """Return the link of a row: a hash of the previous link and of the row."""
    return digest([before, *_without_end(row)])


def _without_end(row: tuple[Any, ...]) -> list[object]:
    """Drop empty columns at the end; rows of older versions lack them, and their links must remain valid."""
    values = list(row)
    while values and values[-1] is None:
        values.pop()
    return values


def verify_rows(
    position: ChainPosition, rows: Iterable[tuple[Row, str]], remedy: str = COPY
) -> Iterator[tuple[ChainPosition, Entry]]:
    """Yield the position and entry of each row, and reject the first row that does not continue the chain."""
    unknown = f"the spent budget is unknown; {remedy}"
    for row, link in rows:
        number = position.number + 1
        if row[0] != number or link != row_link(position.link, row):
            reject(_CHAIN, f"charge {number} changed, moved or missing", unknown, RecordError)
        entry = entry_from_row(row)
        kinds = {type(loss) for loss in (entry.charged, entry.total, position.total)}
        if len(kinds) > 1 or entry.total != position.total + entry.charged:
            received = f"a total after charge {number} that is not the sum of the charges"
            reject(_CHAIN, received, unknown, RecordError)
        position = ChainPosition(number, link, entry.total)
        yield position, entry


def row_from_entry(entry: Entry) -> Row:
    """Convert an entry to a row of the record."""
    losses = serialize(entry.loss), serialize(entry.charged), serialize(entry.total)
    unit_and_terms = entry.unit, entry.terms or None
    return (entry.number, entry.label, entry.mechanism, entry.neighbors, *losses, *unit_and_terms)


def entry_from_row(row: tuple[Any, ...]) -> Entry:
    """Convert a row of the record to an entry."""
    number, label, mechanism, neighbors, loss, charged, total, *unit_and_terms = row
    unit, terms = unit_and_terms or (None, None)  # a stream's file may hold a row of an older version
    losses = deserialize(loss), deserialize(charged), deserialize(total)
    return Entry(number, label, mechanism, neighbors, *losses, unit, terms or "")


@lru_cache(maxsize=256)
def serialize(loss: Loss) -> str:
    """Format a loss exactly, as in "approx 1/2 1/1000000", which is readable in any SQLite browser."""
    amounts = (loss.amount, loss.slack) if isinstance(loss, Approx) else (loss.amount,)
    return " ".join([type(loss).__name__.lower(), *map(str, amounts)])


def deserialize(text: str) -> Loss:
    """Parse a loss that was formatted by `serialize`."""
    try:
        kind, *amounts = text.split()
        return _KINDS[kind](*map(Fraction, amounts))
    except (AttributeError, KeyError, TypeError, ValueError, ZeroDivisionError):
        consequence = "the spent budget is unknown"
        reject("the ledger's file must be undamaged", "a loss that cannot be read", consequence, RecordError)


def digest(content: list[object]) -> str:
    """Return the SHA-256 of a list, encoded as JSON."""
    return hashlib.sha256(json.dumps(content, default=repr).encode()).hexdigest()


Head: TypeAlias = tuple[Loss, str | None, bool, str | None]
"""The ceiling, the neighbor relation, whether it is a simulation, and the unit."""

Decision: TypeAlias = Callable[[Entry | None], Entry]
"""A function that maps the last entry, if any, to the next entry; it raises an error to reject the charge."""


class MemoryRecord:
    """A record in the memory of this process; it cannot be copied, because a copy would have a separate total."""

    def __init__(self) -> None:
        self._entries: list[Entry] = []
        self._lock = threading.Lock()
        self._process = os.getpid()
        self.id, self.name = os.urandom(8).hex(), "in memory"
        self.register: Register = MemoryRegister()

    def append(self, decide: Decision) -> Entry:
        """Append the entry that `decide` returns for the last entry."""
        entries = self._own_entries()
        with self._lock:
            entries.append(decide(entries[-1] if entries else None))
            return entries[-1]

    def last(self) -> Entry | None:
        """Return the last entry, if any."""
        entries = self._own_entries()
        return entries[-1] if entries else None

    def entries(self) -> tuple[Entry, ...]:
        """Return all entries."""
        return tuple(self._own_entries())

    def _own_entries(self) -> list[Entry]:
        if os.getpid() != self._process:
            self._refuse_copy("a forked process")
        return self._entries

    def __getstate__(self) -> NoReturn:
        self._refuse_copy("a pickle or deep copy")

    @staticmethod
    def _refuse_copy(received: str) -> NoReturn:
        remedy = "two copies would spend the budget twice; open it with a path"
        reject("a ledger in memory stays in its process", received, remedy, TypeError)


class Register(Protocol):
    """The interface of a list of published releases."""

    def add(self, entry: int, file: str, digest: str) -> None: ...

    def publications(self) -> "tuple[Publication, ...]": ...


@dataclass(frozen=True)
class Publication:
    """A publication: the number of the charge, the name of the document, and the hash of its table."""

    entry: int
    file: str
    sha256: str


@dataclass(frozen=True, eq=False)
class MemoryRegister:
    """A register in memory, which exists as long as its ledger."""

    _publications: list[Publication] = field(default_factory=list)

    def add(self, entry: int, file: str, digest: str) -> None:
        self._publications.append(Publication(entry, file, digest))

    def publications(self) -> tuple[Publication, ...]:
        return tuple(self._publications)

    def __deepcopy__(self, _: object) -> "MemoryRegister":
        """Return the register itself, because copies of an estimate belong to the same ledger."""
        return self
