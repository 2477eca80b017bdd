"""What several reports from one permanent answer cost, exactly: in whole numbers, the logarithm rounded
up.
"""

from collections.abc import Callable, Sequence
from fractions import Fraction

from toolkit.core.rounding import log_up

Rows = Sequence[Sequence[int]]
Chance = Callable[[int, int, int], int]
"""The chance, up to a constant, of so many yes and so many no from a memo of this truth."""


def chances(permanent: Rows, fresh: Rows) -> Chance:
    """Sums over the two values that a memo can have: permanent[truth][memo] fresh[memo][1]**yes
    fresh[memo][0]**no.
    """

    def chance(truth: int, yes: int, no: int) -> int:
        return sum(
            int(permanent[truth][memo]) * int(fresh[memo][1]) ** yes * int(fresh[memo][0]) ** no
            for memo in (0, 1)
        )

    return chance


def unchanged(chance: Chance, reports: int) -> float:
    """Epsilon of so many reports when the truth cannot change: only their number of yes matters."""
    worst = Fraction(1)
    for yes in range(reports + 1):
        found = [chance(truth, yes, reports - yes) for truth in (0, 1)]
        if min(found) == 0 < max(found):
            return float("inf")
        if max(found):
            worst = max(worst, Fraction(max(found), min(found)))
    return log_up(worst)


def changing(chance: Chance, reports: int) -> float:
    """Epsilon of so many reports over all ways in which the truth can change, with one memo for each truth.

    Of a series of reports with so many yes, a series of truths matters only by how many of the yes, and how
    many of the no, were sent while the truth was yes: all of these are gone through.
    """
    worst = Fraction(1)
    for yes in range(reports + 1):
        no = reports - yes
        found = [chance(1, a, b) * chance(0, yes - a, no - b) for a in range(yes + 1) for b in range(no + 1)]
        least, most = min(found), max(found)
        if least == 0 < most:
            return float("inf")
        if most:
            worst = max(worst, Fraction(most, least))
    return log_up(worst)
