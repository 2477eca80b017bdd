"""The unit of a ledger: who its totals are about, and on which terms a loss about another is counted.

A promise about a row says little to somebody who has ten of them, and one about an event of a stream less to
somebody who comes every week. So totals are about one unit, and a loss about a finer one is counted as often
as the coarser one has it: `loss.group(times)`.
"""

from toolkit.budget.charges import BudgetError
from toolkit.core.checks import choice, refuse, whole

UNITS = ("event", "row", "person")
"""From fine to coarse: a record in one period of a stream, a row of a table, a person with all their rows."""
_REMEDIES = {
    "event": "say how many events one {known} has, as in every(total, label, events=12), which charges 12 of "
    "them together; or count people with `per_person`",
    "row": "a Curator with person=… and rows=… is about persons; of one row a person number the rows in a "
    "column and say rows=1; or use another ledger",
    "person": "use another ledger, Ledger(…, unit='person')",
}


def check_unit(unit: str | None) -> str | None:
    return None if unit is None else choice(unit, "unit", UNITS)


def agreed_unit(known: str | None, stated: str | None, times: int | None) -> tuple[str | None, str]:
    """The unit of a ledger after a charge about the `stated` one, and the terms of that charge: of a finer
    unit so many `times` as one of the coarser has. What does not say its unit is taken to be about the
    ledger's.

    >>> agreed_unit("person", "event", 12)
    ('person', 'at most 12 events of one person, charged together')
    """
    if times is not None:
        number = whole(times, "times")
        if known is None or stated is None or UNITS.index(stated) >= UNITS.index(known):
            refuse(
                "`times` is for a charge about a finer unit than the ledger's",
                f"{stated or 'no unit'} in a ledger about {known or 'no unit'}",
                "it says how many of them one of the ledger's has; Ledger(…, unit='person') has one",
                BudgetError,
            )
        return known, f"at most {number:,} {stated}{'s' * (number > 1)} of one {known}, charged together"
    if known is not None and stated not in (None, known):
        refuse(
            "a ledger counts what one unit loses",
            f"a charge about one {stated} in a ledger about one {known}",
            _REMEDIES[str(stated)].format(known=known),
            BudgetError,
        )
    return known or stated, ""
