"""What several reports from one permanent answer cost, exactly: in whole numbers, the logarithm rounded
up.
"""

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import cache

from toolkit.core.rounding import log_up

Ratio = Fraction | float
"""How many times likelier reports can be under one truth than under another; infinite where they prove
something.
"""

Rows = Sequence[Sequence[int]]
Chance = Callable[[int, int, int], int]
"""The chance, up to a constant, of so many yes and so many no from a memo of this truth."""


def chances(permanent: Rows, fresh: Rows) -> Chance:
    """Sums over the two values that a memo can have: permanent[truth][memo] fresh[memo][1]**yes
    fresh[memo][0]**no.
    """

    @cache  # one is asked for thousands of times
    def chance(truth: int, yes: int, no: int) -> int:
        return sum(
            int(permanent[truth][memo]) * int(fresh[memo][1]) ** yes * int(fresh[memo][0]) ** no for memo in (0, 1)
        )

    return chance


def unchanged(chance: Chance, reports: int) -> Ratio:
    """The largest ratio of so many reports when the truth cannot change: only their number of yes matters."""
    return max(_ratio([chance(truth, yes, reports - yes) for truth in (0, 1)]) for yes in range(reports + 1))


def changing(chance: Chance, reports: int) -> Ratio:
    """The largest ratio over all ways in which the truth can change, with one memo for each truth.

    Of a series of reports with so many yes, a series of truths matters only by how many of the yes, and how
    many of the no, were sent while the truth was yes: all of these are gone through.
    """
    worst: Ratio = Fraction(1)
    for yes in range(reports + 1):
        no = reports - yes
        found = [chance(1, a, b) * chance(0, yes - a, no - b) for a in range(yes + 1) for b in range(no + 1)]
        worst = max(worst, _ratio(found))
    return worst


def redrawn(of_run: Callable[[int], Ratio], reports: int) -> Ratio:
    """The largest ratio over all ways in which the memos can be lost between reports and drawn anew.

    The reports then fall into runs, each from memos of its own: what they show is independent, so that the
    ratios of all runs multiply. `of_run` is the ratio of a run of so many reports; runs add up to all.
    """
    ratios = [of_run(length) for length in range(1, reports + 1)]
    worst: list[Ratio] = [Fraction(1)]
    for count in range(1, reports + 1):
        worst.append(max(ratios[last - 1] * worst[count - last] for last in range(1, count + 1)))
    return worst[reports]


def epsilon_of(ratio: Ratio) -> float:
    """The logarithm of a ratio, rounded up."""
    return log_up(ratio) if isinstance(ratio, Fraction) else math.inf


def _ratio(found: Sequence[int]) -> Ratio:
    """The most likely over the least; what cannot happen under any truth shows nothing."""
    least, most = min(found), max(found)
    if least == 0 < most:
        return math.inf
    return Fraction(most, least) if most else Fraction(1)
