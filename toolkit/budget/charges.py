"""Charges: what one comes to, and the record of all, which can be added to and read, never changed.

What a charge comes to: conversion into the currency of a ceiling, exact sums, and the unit of a ledger. A promise about
a row says little to somebody who has ten of them, and one about an event of a stream less to somebody who comes every
week. So totals are about one unit, and a loss about a finer one is counted as often as the coarser one has it:
`loss.group(times)`.

Entries form a chain: each row holds a hash of the row before it and of itself, and a total that is the sum so
far. A row that was changed, removed, added or moved breaks the chain unless every later row was recomputed, and
so does a total that is not the sum of the charges. It is a check against mistakes, not against attackers:
nothing here is secret, so who can write the file can also write another chain. What the chain alone cannot
show is that rows are missing at its end; the rollback check of `toolkit.budget.ledger_file` is for that.
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

from toolkit.core.checks import choice, reject, whole
from toolkit.core.checks import neighbors as check_neighbors
from toolkit.core.loss import Approx, AsymptoticPromise, Loss, Pure, Zcdp, shown

_DIGITS = 2**256  # sums stay exact while their denominator is below this

_GRAIN = 2**128  # beyond it, charges are rounded up to multiples of 1 / _GRAIN, so that sums never grow without bound


class BudgetError(ValueError):
    """A charge that a ledger refuses; nothing was charged and nothing was released.

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
    """Whatever says what it costs: a mechanism, a design."""

    @property
    def loss(self) -> Loss: ...


def check_ceiling(ceiling: object) -> Loss:
    """A loss that can be a ceiling: finite, with a delta below 1, and of no more than some 77 digits."""
    if not isinstance(ceiling, Pure | Approx | Zcdp):
        kind = type(ceiling).__name__
        reject("`ceiling` must be Pure, Approx or Zcdp", kind, "Pure(1.0) allows epsilon 1 in all", TypeError)
    if ceiling.amount == math.inf or (isinstance(ceiling, Approx) and ceiling.slack == 1):
        reject("`ceiling` must be a limit", ceiling, "a ledger that refuses nothing protects nobody")
    if any(max(part.numerator, part.denominator) >= _DIGITS for part in parts(ceiling)):
        reject("`ceiling` must have fewer digits", "more than 77", "it is written into the record")
    return ceiling


def converted(loss: object, ceiling: Loss) -> Loss:
    """The loss in the ceiling's currency, where that is safe; where it is not, the refusal says what to do."""
    if isinstance(loss, AsymptoticPromise):
        reject("a charge must be a proven loss", loss, loss.reason, BudgetError)
    if not isinstance(loss, Pure | Approx | Zcdp):
        kind = type(loss).__name__
        reject("a charge must be Pure, Approx or Zcdp", kind, "write Pure(0.1) for epsilon 0.1", TypeError)
    if loss.amount == math.inf:
        reject("a charge must be finite", loss, "such a release has no privacy that a budget could count", BudgetError)
    if isinstance(loss, type(ceiling)):
        return loss
    if (isinstance(loss, Zcdp) and loss.amount == 0) or (isinstance(loss, Approx) and loss.slack == 0):
        loss = Pure(loss.amount)  # the same promise in the currency that all others contain
    if isinstance(loss, Pure):
        return (
            loss.to_zcdp() if isinstance(ceiling, Zcdp) else loss.to_approx() if isinstance(ceiling, Approx) else loss
        )
    rule = f"a ledger with a ceiling in {' and '.join(symbols(ceiling))} cannot count this charge"
    reject(rule, loss, _remedy(loss, ceiling), BudgetError)


def price_of(priced: Loss | Priced, ceiling: Loss) -> tuple[Loss, Loss]:
    """The loss that is priced for, and its price in the ceiling's currency.

    A mechanism may know its cost in concentrated privacy better than its loss tells (a property `zcdp`): a ceiling in
    Zcdp counts the lesser of the two, as both hold.
    """
    if isinstance(priced, Pure | Approx | Zcdp) or not isinstance(priced, Priced):
        return priced, converted(priced, ceiling)
    loss, own = priced.loss, getattr(priced, "zcdp", None)
    if not (isinstance(ceiling, Zcdp) and isinstance(own, Zcdp) and isinstance(loss, Pure | Approx)):
        usual = isinstance(loss, type(ceiling)) and loss.amount != math.inf
        return loss, loss if usual else converted(loss, ceiling)
    price = converted(own, ceiling)
    return loss, min(price, converted(loss, ceiling), key=attrgetter("amount")) if isinstance(loss, Pure) else price


def parts(loss: Loss) -> tuple[Fraction, ...]:
    """Epsilon, or epsilon and delta, or rho: exact."""
    return (Fraction(loss.amount), loss.slack) if isinstance(loss, Approx) else (Fraction(loss.amount),)


def nothing(ceiling: Loss) -> Loss:
    return type(ceiling)(*(0 for _ in parts(ceiling)))


def fitted(spent: Loss, charge: Loss, ceiling: Loss) -> tuple[Loss, Loss]:
    """What is charged and the total after it, all in one currency; refuses what would pass the ceiling."""
    before, limits = parts(spent), parts(ceiling)
    exact = list(zip(before, parts(charge), strict=True))
    charged = [part if (total + part).denominator < _DIGITS else _rounded_up(part) for total, part in exact]
    after = [total + part for total, part in zip(before, charged, strict=True)]
    short = [place for place, (total, limit) in enumerate(zip(after, limits, strict=True)) if total > limit]
    if short:
        words = (
            f"{symbols(ceiling)[i]} = {_asked_of(charged[i], limits[i] - before[i])} of {shown(limits[i])} remains"
            for i in short
        )
        rule = "a charge must fit into what remains of the ceiling"
        reject(rule, " and ".join(words), "nothing was charged or released", BudgetError)
    return type(ceiling)(*charged), type(ceiling)(*after)


@lru_cache(maxsize=256)
def recorded(loss: Loss) -> Loss:
    """The loss as it is written down: itself, unless it has more digits than anybody needs."""
    amounts = parts(loss)
    if all(part.denominator < _DIGITS for part in amounts):
        return loss
    return type(loss)(*(part if part.denominator < _DIGITS else _rounded_up(part) for part in amounts))


def left(spent: Loss, ceiling: Loss) -> Loss:
    return type(ceiling)(*(limit - total for total, limit in zip(parts(spent), parts(ceiling), strict=True)))


def symbols(ceiling: Loss) -> tuple[str, ...]:
    return {Pure: ("ε",), Approx: ("ε", "δ"), Zcdp: ("ρ",)}[type(ceiling)]


def _rounded_up(part: Fraction) -> Fraction:
    return Fraction(math.ceil(part * _GRAIN), _GRAIN)


def _asked_of(amount: Fraction, remains: Fraction) -> str:
    """The two amounts, with the digits it takes to see that they differ."""
    for asking, remaining in ((shown(amount), shown(remains)), (f"{Pure(amount).epsilon}", f"{Pure(remains).epsilon}")):
        if asking != remaining:
            return f"{asking} where {remaining}"
    return f"a little more than {shown(remains)} where {shown(remains)}"


def _remedy(loss: Loss, ceiling: Loss) -> str:
    if isinstance(loss, Zcdp):
        if isinstance(ceiling, Approx):
            return f"open the ledger with the ceiling Zcdp.within({ceiling!r}), or charge loss.to_approx(delta)"
        return "no ε bounds it; a ledger with a Zcdp ceiling counts both"
    if isinstance(ceiling, Zcdp):
        return "no ρ bounds it; charge the mechanism itself if it has a zcdp, or open a ledger with an Approx ceiling"
    return "it has a δ; a ledger with an Approx ceiling counts both"


UNITS = ("event", "row", "person")
"""From fine to coarse: a record in one period of a stream, a row of a table, a person with all their rows."""

_REMEDIES = {
    "event": "say how many events one {known} has, as in every(total, label, events=12), which charges 12 of "
    "them together; or count people with `per_person`",
    "row": "a Curator with person=… and rows=… is about persons; of one row a person number the rows in a "
    "column and say rows=1; or use another ledger",
    "person": "use another ledger, Ledger(…, unit='person')",
}


def agreed_unit(known: str | None, stated: str | None, times: int | None = None) -> tuple[str | None, str]:
    """The unit of a ledger after a charge about the `stated` one, and its terms; a finer one counts `times`."""
    if stated is not None and stated != known:
        choice(stated, "unit", UNITS)
    if times is not None:
        number = whole(times, "times")
        if known is None or stated is None or UNITS.index(stated) >= UNITS.index(known):
            rule = "`times`, or `events` of a stream, is for a charge about a finer unit than the ledger's"
            consequence = "it says how many of them one of the ledger's has; Ledger(…, unit='person') has one"
            reject(rule, f"{stated or 'no unit'} in a ledger about {known or 'no unit'}", consequence, BudgetError)
        return known, f"at most {number:,} {stated}{'s' * (number > 1)} of one {known}, charged together"
    if known is not None and stated not in (None, known):
        received = f"a charge about one {stated} in a ledger about one {known}"
        reject("a ledger counts what one unit loses", received, _REMEDIES[str(stated)].format(known=known), BudgetError)
    return known or stated, ""


def agreed_neighbors(known: str | None, stated: str | None) -> str | None:
    """The relation of a ledger after a charge about the `stated` one: it never changes."""
    if stated is None or stated == known:
        return known
    check_neighbors(stated)
    if known is not None:
        remedy = (
            "charge loss.group(2), because to be replaced is to leave and to come"
            if stated == "add_remove"
            else "a promise about changed records does not cover coming and going; open another ledger"
        )
        received = f"{stated!r} in a ledger about {known!r}"
        reject("a ledger counts one neighbor relation", received, remedy, BudgetError)
    return stated


Row: TypeAlias = tuple[int, str, str, str | None, str, str, str, str | None, str | None]
"""An entry as it is written down: number, label, mechanism, neighbors, loss, charged, total, unit, terms; the
last two were not there before version 3.
"""

_KINDS: dict[str, Callable[..., Loss]] = {"pure": Pure, "approx": Approx, "zcdp": Zcdp}

_CHAIN = "the ledger's rows must be as they were written"

COPY = "put back an undamaged copy that is no older"
"""What to do about rows that are not as they were written."""


class RecordError(OSError):
    """The record cannot be read or written; nothing is released without a charge that is on the disk.

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
    """One charge, as `Ledger.charge` and `Ledger.entries` return it.

    Parameters
    ----------
    number : int
        From 1 on, without a gap.
    label : str
        What it was for.
    mechanism : str
        The name of the mechanism.
    neighbors : str or None
        Whom the promise is about.
    loss : Loss
        As it was asked for.
    charged : Loss
        That in the ceiling's currency.
    total : Loss
        The sum of all charges after it.
    unit : str, optional
        Who the totals are about, None where nobody stated it.
    terms : str
        What the charge rests on: what is used of a person, or how many events one has.

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
class Place:
    """Where a chain has been followed to: the number, the link and the total of the last row; 0 before the first."""

    number: int
    link: str
    total: Loss


def begin(ceiling: str, neighbors: str | None, mark: str, total: Loss, unit: str | None = None) -> Place:
    """The place before the first row; `mark` is random, so that no two files have a link in common."""
    return Place(0, digest(_without_end((ceiling, neighbors, mark, unit))), total)


def link_of(before: str, row: Row) -> str:
    return digest([before, *_without_end(row)])


def _without_end(row: tuple[Any, ...]) -> list[object]:
    """All but the empty columns at the end: rows of older versions have none, and keep their links."""
    listed = list(row)
    while listed and listed[-1] is None:
        listed.pop()
    return listed


def follow(place: Place, rows: Iterable[tuple[Row, str]], remedy: str = COPY) -> Iterator[tuple[Place, Entry]]:
    """Rows with their links, checked one by one from `place` on; refuses the first that does not belong there."""
    unknown = f"what was spent is not known; {remedy}"
    for row, link in rows:
        number = place.number + 1
        if row[0] != number or link != link_of(place.link, row):
            reject(_CHAIN, f"charge {number} changed, moved or missing", unknown, RecordError)
        entry = entry_of(row)
        kinds = {type(loss) for loss in (entry.charged, entry.total, place.total)}
        if len(kinds) > 1 or entry.total != place.total + entry.charged:
            received = f"a total after charge {number} that is not the sum of the charges"
            reject(_CHAIN, received, unknown, RecordError)
        place = Place(number, link, entry.total)
        yield place, entry


def row_of(entry: Entry) -> Row:
    losses = written(entry.loss), written(entry.charged), written(entry.total)
    unit_and_terms = entry.unit, entry.terms or None
    return (entry.number, entry.label, entry.mechanism, entry.neighbors, *losses, *unit_and_terms)


def entry_of(row: tuple[Any, ...]) -> Entry:
    number, label, mechanism, neighbors, loss, charged, total, *unit_and_terms = row
    unit, terms = unit_and_terms or (None, None)  # a stream's file may hold a row of an older version
    losses = read(loss), read(charged), read(total)
    return Entry(number, label, mechanism, neighbors, *losses, unit, terms or "")


@lru_cache(maxsize=256)
def written(loss: Loss) -> str:
    """For example "approx 1/2 1/1000000": exact, and readable in any SQLite browser."""
    amounts = (loss.amount, loss.slack) if isinstance(loss, Approx) else (loss.amount,)
    return " ".join([type(loss).__name__.lower(), *map(str, amounts)])


def read(text: str) -> Loss:
    try:
        kind, *amounts = text.split()
        return _KINDS[kind](*map(Fraction, amounts))
    except (AttributeError, KeyError, TypeError, ValueError, ZeroDivisionError):
        consequence = "what was spent is not known"
        reject("the ledger's file must be undamaged", "a loss that cannot be read", consequence, RecordError)


def digest(content: list[object]) -> str:
    """The SHA-256 of a list, as JSON."""
    return hashlib.sha256(json.dumps(content, default=repr).encode()).hexdigest()


Head: TypeAlias = tuple[Loss, str | None, bool, str | None]
"""Ceiling, neighbors, whether it is a simulation's, and the unit."""

Decision: TypeAlias = Callable[[Entry | None], Entry]
"""From the last entry, if any, to the next one; raises to refuse it."""


class MemoryRecord:
    """A record that lives and dies with this process; no copy of it is allowed, because a copy has its own sum."""

    def __init__(self) -> None:
        self._entries: list[Entry] = []
        self._lock = threading.Lock()
        self._process = os.getpid()
        self.id, self.name = os.urandom(8).hex(), "in memory"
        self.register: Register = MemoryRegister()

    def append(self, decide: Decision) -> Entry:
        """Add what `decide` makes of the last entry."""
        entries = self._owned()
        with self._lock:
            entries.append(decide(entries[-1] if entries else None))
            return entries[-1]

    def last(self) -> Entry | None:
        entries = self._owned()
        return entries[-1] if entries else None

    def entries(self) -> tuple[Entry, ...]:
        return tuple(self._owned())

    def _owned(self) -> list[Entry]:
        if os.getpid() != self._process:
            self._refuse_copy("a forked process")
        return self._entries

    def __getstate__(self) -> NoReturn:
        self._refuse_copy("a pickle or deep copy")

    @staticmethod
    def _refuse_copy(received: str) -> NoReturn:
        remedy = "two copies would spend the budget twice; give it a path"
        reject("a ledger in memory stays in its process", received, remedy, TypeError)


class Register(Protocol):
    """Where publications of a ledger's releases are listed."""

    def add(self, entry: int, file: str, digest: str) -> None: ...

    def publications(self) -> "tuple[Publication, ...]": ...


@dataclass(frozen=True)
class Publication:
    """A charge's number, the name of the document, and the hash of its table."""

    entry: int
    file: str
    sha256: str


@dataclass(frozen=True, eq=False)
class MemoryRegister:
    """A list that lives as long as its ledger."""

    listed: list[Publication] = field(default_factory=list)

    def add(self, entry: int, file: str, digest: str) -> None:
        self.listed.append(Publication(entry, file, digest))

    def publications(self) -> tuple[Publication, ...]:
        return tuple(self.listed)

    def __deepcopy__(self, _: object) -> "MemoryRegister":
        """Itself: what a copy of an estimate publishes is of the same ledger."""
        return self
