"""What a charge comes to: conversion into the currency of a ceiling, exact sums, and the unit of a ledger.

A promise about a row says little to somebody who has ten of them, and one about an event of a stream less to
somebody who comes every week. So totals are about one unit, and a loss about a finer one is counted as often
as the coarser one has it: `loss.group(times)`.
"""

import math
from collections.abc import Iterable
from fractions import Fraction
from operator import attrgetter
from typing import Protocol, runtime_checkable

from toolkit.core.checks import choice, refuse, whole
from toolkit.core.checks import neighbors as check_neighbors
from toolkit.core.loss import Approx, AsymptoticPromise, Loss, Pure, Zcdp, shown

_DIGITS = 2**256  # sums stay exact while their denominator is below this
_GRAIN = 2**128  # beyond it, charges are rounded up to multiples of 1 / _GRAIN, so that sums never grow without bound


class BudgetError(ValueError):
    """A charge that a ledger refuses; nothing was charged and nothing was released."""


@runtime_checkable
class Priced(Protocol):
    """Whatever says what it costs: a mechanism, a design."""

    @property
    def loss(self) -> Loss: ...


def check_ceiling(ceiling: object) -> Loss:
    """A loss that can be a ceiling: finite, with a delta below 1, and of no more than some 77 digits."""
    if not isinstance(ceiling, Pure | Approx | Zcdp):
        kind = type(ceiling).__name__
        refuse("`ceiling` must be Pure, Approx or Zcdp", kind, "Pure(1.0) allows epsilon 1 in all", TypeError)
    if ceiling.amount == math.inf or (isinstance(ceiling, Approx) and ceiling.slack == 1):
        refuse("`ceiling` must be a limit", ceiling, "a ledger that refuses nothing protects nobody")
    if any(max(part.numerator, part.denominator) >= _DIGITS for part in parts(ceiling)):
        refuse("`ceiling` must have fewer digits", "more than 77", "it is written into the record")
    return ceiling


def converted(loss: object, ceiling: Loss) -> Loss:
    """The loss in the ceiling's currency, where that is safe; where it is not, the refusal says what to do.

    >>> converted(Pure(0.5), ceiling=Zcdp(1)), converted(Pure(0.5), ceiling=Approx(1, 1e-6))
    (Zcdp(0.125), Approx(0.5, 0.0))
    """
    if isinstance(loss, AsymptoticPromise):
        refuse("a charge must be a proven loss", loss, loss.reason, BudgetError)
    if not isinstance(loss, Pure | Approx | Zcdp):
        kind = type(loss).__name__
        refuse("a charge must be Pure, Approx or Zcdp", kind, "write Pure(0.1) for epsilon 0.1", TypeError)
    if loss.amount == math.inf:
        refuse("a charge must be finite", loss, "such a release has no privacy that a budget could count", BudgetError)
    if isinstance(loss, type(ceiling)):
        return loss
    if (isinstance(loss, Zcdp) and loss.amount == 0) or (isinstance(loss, Approx) and loss.slack == 0):
        loss = Pure(loss.amount)  # the same promise in the currency that all others contain
    if isinstance(loss, Pure):
        return loss.to_zcdp() if isinstance(ceiling, Zcdp) else like(ceiling, (Fraction(loss.amount), Fraction(0)))
    rule = f"a ledger with a ceiling in {' and '.join(symbols(ceiling))} cannot count this charge"
    refuse(rule, loss, _remedy(loss, ceiling), BudgetError)


def price_of(priced: Loss | Priced, ceiling: Loss) -> tuple[Loss, Loss]:
    """The loss that is priced for, and its price in the ceiling's currency.

    A mechanism may know its cost in concentrated privacy better than its loss tells (a property `zcdp`): a
    ceiling in Zcdp counts the lesser of the two, as both hold.

    >>> from toolkit.central.selection import Exponential, PermuteAndFlip
    >>> (
    ...     price_of(Exponential.for_epsilon(1), ceiling=Zcdp(1)),
    ...     price_of(PermuteAndFlip.for_epsilon(1), ceiling=Zcdp(1)),
    ... )
    ((Pure(1.0), Zcdp(0.125)), (Pure(1.0), Zcdp(0.5)))
    """
    if isinstance(priced, Pure | Approx | Zcdp) or not isinstance(priced, Priced):
        return priced, converted(priced, ceiling)
    loss, own = priced.loss, getattr(priced, "zcdp", None)
    if not (isinstance(ceiling, Zcdp) and isinstance(own, Zcdp) and isinstance(loss, Pure | Approx)):
        return loss, converted(loss, ceiling)
    price = converted(own, ceiling)
    return loss, min(price, converted(loss, ceiling), key=attrgetter("amount")) if isinstance(loss, Pure) else price


def like(ceiling: Loss, amounts: Iterable[Fraction]) -> Loss:
    """A loss of the same kind as the ceiling; all but an Approx take the first amount only."""
    epsilon, *delta = amounts
    return Approx(epsilon, *delta) if isinstance(ceiling, Approx) else type(ceiling)(epsilon)


def parts(loss: Loss) -> tuple[Fraction, ...]:
    """Epsilon, or epsilon and delta, or rho: exact."""
    return (Fraction(loss.amount), loss.slack) if isinstance(loss, Approx) else (Fraction(loss.amount),)


def nothing(ceiling: Loss) -> Loss:
    """No loss, in the ceiling's currency."""
    return like(ceiling, (Fraction(0), Fraction(0)))


def fitted(spent: Loss, charge: Loss, ceiling: Loss) -> tuple[Loss, Loss]:
    """What is charged and the total after it, all in one currency; refuses what would pass the ceiling.

    >>> fitted(Pure(0.1), Pure(0.2), ceiling=Pure(0.3))
    (Pure(0.2), Pure(0.3))
    """
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
        refuse(rule, " and ".join(words), "nothing was charged or released", BudgetError)
    return like(ceiling, charged), like(ceiling, after)


def recorded(loss: Loss) -> Loss:
    """The loss as it is written down: itself, unless it has more digits than anybody needs."""
    amounts = parts(loss)
    if all(part.denominator < _DIGITS for part in amounts):
        return loss
    return like(loss, (part if part.denominator < _DIGITS else _rounded_up(part) for part in amounts))


def left(spent: Loss, ceiling: Loss) -> Loss:
    """What remains of the ceiling, in every part."""
    return like(ceiling, (limit - total for total, limit in zip(parts(spent), parts(ceiling), strict=True)))


def symbols(ceiling: Loss) -> tuple[str, ...]:
    """What each part of a loss is called."""
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
    """The unit of a ledger after a charge about the `stated` one, and the terms of that charge.

    A finer unit is counted `times`, as often as one of the coarser has it. What does not state its unit is taken
    to be about the ledger's.

    >>> agreed_unit("person", "event", 12)
    ('person', 'at most 12 events of one person, charged together')
    """
    if stated is not None and stated != known:
        choice(stated, "unit", UNITS)
    if times is not None:
        number = whole(times, "times")
        if known is None or stated is None or UNITS.index(stated) >= UNITS.index(known):
            rule = "`times` is for a charge about a finer unit than the ledger's"
            consequence = "it says how many of them one of the ledger's has; Ledger(…, unit='person') has one"
            refuse(rule, f"{stated or 'no unit'} in a ledger about {known or 'no unit'}", consequence, BudgetError)
        return known, f"at most {number:,} {stated}{'s' * (number > 1)} of one {known}, charged together"
    if known is not None and stated not in (None, known):
        received = f"a charge about one {stated} in a ledger about one {known}"
        refuse("a ledger counts what one unit loses", received, _REMEDIES[str(stated)].format(known=known), BudgetError)
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
        refuse("a ledger counts one neighbor relation", received, remedy, BudgetError)
    return stated
