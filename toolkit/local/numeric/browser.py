"""Numbers that a browser draws with: exact in JavaScript, whole below 2**53; what would be rounded is refused."""

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from toolkit.core.arrays import Steps
from toolkit.core.checks import refuse

EXACT = 2**53
"""Whole numbers below this are exact in JavaScript."""

_WIDEST_NOISE = 2**43  # in steps; noise a thousand times as wide, which would pass 2**53, does not happen
_MULTIPLES = 2**9  # of `s` that a draw of Laplace noise may meet; that it meets more has a probability below 10**-200


def span(low: Fraction, high: Fraction) -> dict[str, Any]:
    """The width of the bounds as a fraction: a browser divides as Python's `float` does while it holds both parts."""
    if max(abs(part) for number in (low, high, high - low) for part in number.as_integer_ratio()) >= EXACT:
        received = f"{float(low)} and {float(high)}"
        refuse("`bounds` must have fewer digits for answers in a browser", received, "they would be rounded there")
    return {"span": list((high - low).as_integer_ratio())}


def cards(lines: tuple[Steps, Steps], steps: int, values: Sequence[Fraction], unit: Fraction) -> dict[str, Any]:
    """Each card of a deck: the report of the lowest answer, and what a step adds, both exact."""
    starts, slopes = (line.tolist() for line in lines)
    farthest = max(abs(start) + steps * abs(slope) for start, slope in zip(starts, slopes, strict=True))
    if max(2 * farthest, *(abs(part) for value in values for part in value.as_integer_ratio())) >= EXACT:
        consequence = "they would be rounded there"
        refuse("`noise` must have fewer digits for answers in a browser", f"reports in steps of {unit}", consequence)
    return {"cards": [{"start": start, "slope": slope} for start, slope in zip(starts, slopes, strict=True)]}


def laplace(scale: Fraction, budget: Fraction) -> dict[str, Any]:
    """Of Laplace noise: `s` and `t`, its scale in lowest terms, and its budget; the longer numbers as text."""
    if scale >= _WIDEST_NOISE:
        refuse("`epsilon` must be larger for answers in a browser", float(budget), "reports would pass 2**53")
    s, t = scale.as_integer_ratio()
    written = int if max(_MULTIPLES * s, t) < EXACT else str
    parts = [part if part < EXACT else str(part) for part in budget.as_integer_ratio()]
    return {"budget": parts, "s": written(s), "t": written(t)}
