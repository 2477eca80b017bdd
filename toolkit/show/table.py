"""What the design explorer draws from: numbers of real designs on a grid, and the sentences that say them.

Python computes, the browser looks up. The one step left to the browser is to divide a margin by the root of the number
of respondents, and a test holds it against `Design.variance`.
"""

import math
from collections.abc import Iterable
from functools import lru_cache
from typing import Any, TypeAlias

from scipy.special import ndtri

from toolkit.local.design import Design
from toolkit.local.questions import warner

Row: TypeAlias = dict[str, Any]

EPSILONS = tuple(i / 20 for i in range(2, 101))
PREVALENCES = tuple(i / 100 for i in (*range(1, 11), 12, 15, *range(20, 100, 5)))
SIZES = (50, 70, *(lead * 10**power for power in (1, 2, 3) for lead in (10, 15, 20, 30, 50, 70)), 100_000)
DEVICES = (("a die, true on 5–6", "2/3"), ("two coins", "3/4"), ("a die, true on 3–6", "5/6"))
"""Devices people know, and the p of the Warner design that each realises."""

WORDS = {
    "icons": "Of 100 people whose true answer is yes, {yes} report yes and {no} report no.",
    "odds": "One report shifts the odds between yes and no by a factor of {factor}, never more.",
    "belief": "An observer who guessed {prior} % before thinks {after_no} % after a “no” and {after_yes} % after a “yes”.",
    "margin": "95 % margin: ± {margin} points. Asking directly, if nobody lied: ± {direct} points.",
    "people": "To be as precise as {n} direct answers, ask {needed} people: {multiplier} times as many.",
}

_REACH = float(ndtri(0.975))  # standard errors on each side of a 95 % interval
_DIRECT = Design([[1, 0], [0, 1]], 1, ("no", "yes"), name="direct")


def explorer_table(prevalences: Iterable[float], *, words: dict[str, str] = WORDS) -> dict[str, Any]:
    """The whole table: one row an epsilon, in each row one entry a prevalence."""
    columns = tuple(prevalences)
    devices = {name: warner(p=p) for name, p in DEVICES}
    epsilons = sorted({*EPSILONS, *(design.epsilon for design in devices.values())})
    return {
        "rows": [table_row(epsilon, columns) for epsilon in epsilons],
        "prevalences": list(columns),
        "direct": [_short(_REACH * _spread(_DIRECT, x)) for x in columns],
        "sizes": list(SIZES),
        "devices": [{"name": n, "epsilon": d.epsilon, "how": d.devices()[0].instructions} for n, d in devices.items()],
        "words": words,
    }


@lru_cache(maxsize=512)
def table_row(epsilon: float, prevalences: tuple[float, ...]) -> Row:
    """The Warner design of this epsilon in numbers; margins are those of a single respondent.

    >>> row = table_row(1.0, (0.1,))
    >>> round(row["p"], 4), round(row["factor"], 3), row["multiplier"]
    (0.7311, 2.718, [11.2297])
    """
    design = warner(epsilon=epsilon)
    spreads = [_spread(design, x) for x in prevalences]
    beliefs = [design.posterior(x)[1] for x in prevalences]
    return {
        "epsilon": epsilon,
        "p": float(design.matrix[1, 1]),
        "factor": float(design.weights[1, 1] / design.weights[0, 1]),
        "margin": [_short(_REACH * spread) for spread in spreads],
        "multiplier": [_short((spread / _spread(_DIRECT, x)) ** 2) for spread, x in zip(spreads, prevalences, strict=True)],
        "after_no": [_short(belief[0]) for belief in beliefs],
        "after_yes": [_short(belief[1]) for belief in beliefs],
    }


def reading(table: dict[str, Any], row: Row, prevalence: float, n: int) -> dict[str, str]:
    """The sentences of one setting; the browser fills the same words with the same numbers."""
    column = table["prevalences"].index(prevalence)
    yes = round(100 * row["p"])
    values = {
        "yes": yes,
        "no": 100 - yes,
        "factor": bound(row["factor"]),
        "prior": figure(100 * prevalence, 0),
        "after_no": chance(100 * row["after_no"][column]),
        "after_yes": chance(100 * row["after_yes"][column]),
        "margin": figure(100 * row["margin"][column] / math.sqrt(n), 1),
        "direct": figure(100 * table["direct"][column] / math.sqrt(n), 1),
        "n": figure(n, 0),
        "needed": figure(three_digits(n * row["multiplier"][column]), 0),
        "multiplier": figure(row["multiplier"][column]),
    }
    return {name: text.format(**values) for name, text in table["words"].items()}


def figure(value: float, decimals: int | None = None) -> str:
    """A number for people: about three digits where nothing else is said, thousands apart; below 1, one decimal at least.

    >>> figure(2.0), figure(11.2299), figure(1234.5), figure(0.4, 0)
    ('2.00', '11.2', '1,235', '0.4')
    """
    if decimals is None:
        decimals = 2 if value < 10 else 1 if value < 100 else 0
    elif 0 < value < 1:
        decimals = max(decimals, 1)
    rounded = math.floor(value * 10**decimals + 0.5) / 10**decimals  # halves go up, here and in the browser
    return f"{rounded:,.{decimals}f}"


def bound(factor: float) -> str:
    """A factor that is promised, so rounded up.

    >>> bound(2.0), bound(2.0138), bound(54.59815)
    ('2.00', '2.02', '54.6')
    """
    decimals = 2 if factor < 10 else 1 if factor < 100 else 0
    return figure(math.ceil(factor * 10**decimals - 1e-9) / 10**decimals, decimals)


def chance(percent: float) -> str:
    """A chance in per cent that is never rounded to impossible or to certain.

    >>> chance(0.02), chance(14.2857), chance(99.97)
    ('under 0.1', '14', '99.9')
    """
    if 0 < percent < 0.1:
        return "under 0.1"
    return figure(math.floor(10 * percent) / 10, 1) if 99.5 <= percent < 100 else figure(percent, 0)


def three_digits(value: float) -> float:
    """A number with all digits but the first three zero: more would pretend.

    >>> three_digits(14003.7), three_digits(58.5)
    (14000, 59)
    """
    unit: int = 10 ** max(0, math.floor(math.log10(value)) - 2)
    return math.floor(value / unit + 0.5) * unit


def _spread(design: Design, prevalence: float) -> float:
    return math.sqrt(float(design.variance(prevalence, n=1)))


def _short(value: float) -> float:
    """Six digits: what the browser needs, in half the bytes."""
    return float(f"{value:.6g}")
