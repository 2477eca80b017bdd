"""The worst that the others can have answered, when yes/no reports are shuffled: one epsilon that holds for
all of them.

With n reports there are n compositions: 0 to n - 1 of the others hold the answer in question. A crowd hides
no better without some of its people, because whoever sees the smaller tally can draw the missing reports and
add them. So where at least `first` and at most `last` of the others hold it, delta is at most that of a crowd
of only `first` who do and n - 1 - last who do not. A range of compositions is settled if that is no more than
what is asked, else it is split, down to single compositions, for which delta is known. So the result holds
for every composition, and one of them needs nearly as much.
"""

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from toolkit.core.arrays import Array
from toolkit.local.shuffling.bounds import epsilon_at
from toolkit.local.shuffling.tally import MOST_PEOPLE, Side, deltas

EACH = 1000
"""Up to so many reports every composition is looked at by itself."""

HEADROOM = 5e-4
"""Beyond, by so much, relatively, the result may lie above the worst composition, so that ranges are settled
and not split.
"""

_LEAST_HEADROOM = 1e-6
_ROUNDED_UP = 1e-6  # of delta: more than `deltas` rounds up by
_SAMPLE = 17  # compositions to look at first
_RANGES, _PARTS = 128, 4  # how many ranges to begin with, and into how many one that fails is split


def worst_composition(yes: Fraction, no: Fraction, n: int, delta: float, local: float) -> tuple[float, float]:
    """An epsilon that some composition of the others' answers reaches at `delta`, and one, hardly larger,
    that none exceeds.

    yes, no : how likely a report is yes from those who hold one answer and from those who hold the other.
    local : the epsilon of one report, which bounds both.

    >>> least, epsilon = worst_composition(Fraction(3, 4), Fraction(1, 4), 10**6, 1e-6, 1.1)
    >>> round(least, 4), round(epsilon / least, 3)
    (0.0032, 1.001)
    """
    own, other = max(yes, no), min(yes, no)
    sides = [Side(own, other)]
    if own + other != 1:  # else the tally of no is that of yes with the answers exchanged
        sides.append(Side(1 - other, 1 - own))
    least, epsilon = 0.0, 0.0
    for side in sides:
        least, epsilon = _Search(side, min(n, MOST_PEOPLE) - 1, delta, local).settled(least, epsilon)
    return least * (1 - _LEAST_HEADROOM), epsilon


@dataclass(frozen=True)
class _Search:
    side: Side
    others: int
    delta: float
    local: float

    def settled(self, least: float, epsilon: float) -> tuple[float, float]:
        """Both numbers, raised as far as a composition asks for it."""
        least, epsilon = self._raised(np.unique(np.round(np.linspace(0, self.others, _SAMPLE))), least, epsilon)
        ranges = _cut(np.zeros(1), np.full(1, float(self.others)), self.others + 1 if self.others < EACH else _RANGES)
        while len(ranges[0]) and epsilon < self.local:
            first, last = ranges
            open_ = deltas(self.side, first, self.others - last, epsilon, self.delta) > self.delta
            first, last = first[open_], last[open_]
            alone = first[first == last]
            if len(alone):
                least, epsilon = self._raised(alone, least, epsilon)
            ranges = _cut(first, last, _PARTS)
        return least, epsilon

    def _raised(self, holders: Array, least: float, epsilon: float) -> tuple[float, float]:
        """Both numbers, raised to what the worst of these compositions asks for."""

        def at(tried: float) -> float:
            return float(deltas(self.side, holders, self.others - holders, tried, self.delta).max())

        if at(epsilon) <= self.delta:
            return least, epsilon
        least = max(least, epsilon_at(at, self.delta * (1 + _ROUNDED_UP), self.local, self._guess()))
        raised = max(least, epsilon) * (1 + (_LEAST_HEADROOM if self.others < EACH else HEADROOM))
        if at(raised) > self.delta:  # delta hardly falls there
            raised = max(raised, epsilon_at(at, self.delta * (1 - _ROUNDED_UP), self.local, raised))
        return least, min(raised, self.local)

    def _guess(self) -> float:
        own, other = float(self.side.own), float(self.side.other)
        variance = (self.others + 1) * max(own * (1 - own), other * (1 - other))
        return 0.7 * (own - other) * math.sqrt(2 * math.log(1 / self.delta) / variance)


def _cut(first: Array, last: Array, parts: int) -> tuple[Array, Array]:
    """Ranges of whole numbers, each cut into so many parts of nearly the same length, or into single
    numbers.
    """
    places = np.arange(parts + 1)
    edges = first[:, None] + np.floor((last - first + 1)[:, None] * places / parts)
    start, stop = edges[:, :-1].ravel(), edges[:, 1:].ravel() - 1
    kept = start <= stop
    return start[kept], stop[kept]
