"""How likely shuffled reports tell two answers of one person apart, when n people's reports hide each other.

Every function here returns delta for a given epsilon: the largest gap Pr[S] - e**epsilon Pr'[S] over sets S of outcomes, where
the two laws differ in one person's answer. The *blanket* bounds it from above for every answer of the others: a report
is at least as likely as its least likely case, so with that probability it is drawn without regard to its sender's answer;
an observer who is told which reports were not drawn so can only do better, and the others form a crowd of known law.
With scores s(y) = (R(y|x) - e**epsilon R(y|x')) / least(y), delta is at most E[(sum of the n scores)+] / n.
"""

import functools
import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from toolkit.core.hinge import UNSURE, Array, binomial_hinge, binomial_window

Delta = Callable[[float], float]
"""Delta as a function of epsilon, from above."""

EVERY_COMPOSITION = 300
"""Up to this many people all compositions of the others' answers are gone through."""

_ENOUGH_SPREAD = 25  # a count with a smaller variance is too coarse for the all-alike composition to be near the worst
_BEYOND = 1e-4  # of delta: what windows leave out, which is added
_GRAIN = 0.1  # standard deviations; how coarsely the reports that speak for neither answer are counted


@dataclass(frozen=True)
class Pair:
    """Two answers x and x' of one person, by what their reports look like and how the others can be counted on.

    own, other : probability of the report that speaks for x when x is true, and when x' is; and mirrored, `own_too`, `other_too`.
    least, least_too : how likely any other person gives these reports, whatever their answer; `rest` the same of all others.
    """

    own: float
    other: float
    least: float
    own_too: float
    other_too: float
    least_too: float
    rest: float = 0.0

    @classmethod
    def forced(cls, truth: Fraction, first: Fraction, second: Fraction, rest: Fraction) -> "Pair":
        """Reports that are the truth with one probability, else drawn from a fixed law."""
        one, two, three = float(first), float(second), float(rest)
        return cls(float(truth + first), one, one, float(truth + second), two, two, three)

    @classmethod
    def any_randomizer(cls, epsilon: float) -> "Pair":
        """Whatever the reports are, if each has local loss epsilon (Feldman, McMillan and Talwar 2021, theorem 3.1)."""
        keep, lie, least = 1 / (1 + math.exp(-epsilon)), 1 / (1 + math.exp(epsilon)), math.exp(-epsilon) / 2
        return cls(keep, lie, least, keep, lie, least)

    def scores(self, epsilon: float) -> tuple[float, float, float]:
        """What a report for x adds, what one for x' and what any other takes away."""
        factor = math.exp(epsilon)
        return (
            (self.own - factor * self.other) / self.least,
            (factor * self.own_too - self.other_too) / self.least_too,
            math.expm1(epsilon),
        )

    def spread(self, n: int) -> float:
        """The standard deviation of the loss, nearly: what epsilon is measured in."""
        gaps = (self.own - self.other) ** 2 / self.least + (self.own_too - self.other_too) ** 2 / self.least_too
        return math.sqrt(gaps / n)


def blanket(pair: Pair, n: int, delta: float, *, most: int = 10**9, third: bool = False) -> Delta:
    """The blanket's delta; `most` summands make a quick approximation of it.

    `third=True` is not a bound: it is the true delta when all others hold one third answer, so the truth is not below it.
    """
    both = pair.least + pair.least_too
    share, aside = pair.least / both, pair.rest / (1 - both) if pair.rest else 0.0
    people = min(n, 10**9)  # more people hide no worse than a billion
    totals, chances = binomial_window(people, both, _BEYOND * delta * pair.least / pair.own)
    if len(totals) > most:
        step = -(-len(totals) // most)
        totals, chances = totals[::step], chances[::step] / chances[::step].sum()
    others = people - totals
    deepest = float(np.sqrt(totals.max() * share * (1 - share)))

    def at(epsilon: float) -> float:
        gain, loss, toll = pair.scores(epsilon)
        if gain <= 0:
            return 0.0
        offsets = loss * totals + toll * aside * others
        nodes: tuple[tuple[float, float], ...] = ((0.0, 1.0),)
        if pair.rest and not third:
            nodes = _uncounted(int(others.max()), aside, _GRAIN * (gain + loss) * deepest / toll if toll else math.inf)
        sums = [
            weight * float(chances @ binomial_hinge(totals, share, gain + loss, np.maximum(offsets + toll * node, 0)))
            for node, weight in nodes
        ]
        return sum(sums) / people * (1 + UNSURE) + _BEYOND * delta

    return at


@functools.lru_cache(maxsize=256)
def _centred(trials: int, share: float) -> tuple[Array, Array]:
    counts, chances = binomial_window(trials, share, 1e-18)
    return counts - float(counts @ chances), chances


def _uncounted(trials: int, share: float, grain: float) -> tuple[tuple[float, float], ...]:
    """A binomial count less its mean, on a grid: each value split between its neighbours so that the mean is kept.

    A hinge is convex, so its mean over the coarser law is above that over the law itself.
    """
    values, chances = _centred(trials, share)
    step = min(max(grain, 1.0), float(values[-1] - values[0]) + 1)
    places = (values - values[0]) / step
    below = np.floor(places).astype(np.intp)
    part = places - below
    weights = np.bincount(below, chances * (1 - part), minlength=below[-1] + 2) + np.bincount(
        below + 1, chances * part, minlength=below[-1] + 2
    )
    return tuple((float(values[0] + step * i), float(weight)) for i, weight in enumerate(weights) if weight > 0)


def alike(pair: Pair, n: int) -> Delta:
    """The true delta of a yes/no design when all others hold the same answer, the worse of the two answers and directions."""
    yes, no = (pair.own, pair.other), (1 - pair.own, 1 - pair.other)
    cases = [
        (speaks[a], speaks[1 - a], speaks[held], rest[1 - a], rest[a], rest[held])
        for held in (0, 1)  # what the others hold: an index into `yes` and `no`
        for speaks, rest, a in ((yes, no, 0), (no, yes, 1))  # the person's answer, and the report that speaks for it
    ]
    own, other, least, own_too, other_too, least_too = np.array(cases).T
    trials = np.full(len(cases), float(n))

    def at(epsilon: float) -> float:
        factor = math.exp(epsilon)
        gain, loss = (own - factor * other) / least, (factor * own_too - other_too) / least_too
        if gain.max() <= 0:
            return 0.0
        return float(np.where(gain > 0, binomial_hinge(trials, least, gain + loss, loss * trials), 0).max()) / n

    return at


def coarse(keep: float, n: int) -> bool:
    """Whether counts of Warner reports are too coarse to rely on the all-alike composition."""
    return n * keep * (1 - keep) < _ENOUGH_SPREAD


def fewer(keep: float, n: int) -> int:
    """A number of people, a little below n, whose all-alike delta is above that of every composition of n.

    All alike is the worst composition but for the grid that counts lie on: another composition may lie better on it, and
    gain as much as 1 / (4 keep (1 - keep)) people are worth.
    """
    return n - math.ceil(1 / (4 * keep * (1 - keep)))


def every_composition(keep: float, n: int) -> Delta:
    """The true delta of Warner's design: the largest over all compositions of the others' answers."""
    laws, tails = _compositions(keep, n)

    def at(epsilon: float) -> float:
        gain, loss = keep - math.exp(epsilon) * (1 - keep), math.exp(epsilon) * keep - (1 - keep)
        if gain <= 0:
            return 0.0
        return float((gain * laws - (loss - gain) * tails).max()) + UNSURE * float(laws.max())

    return at


@functools.lru_cache(maxsize=8)
def _compositions(keep: float, n: int) -> tuple[Array, Array]:
    """The law of the others' count of yes, a row a composition, and Pr[count > c]; mirrored ones are reversed rows."""
    law = {share: [np.ones(1)] for share in (keep, 1 - keep)}
    for share, powers in law.items():
        for _ in range(n - 1):
            powers.append(np.convolve(powers[-1], [1 - share, share]))
    rows = np.array([np.convolve(law[keep][m], law[1 - keep][n - 1 - m]) for m in range(n)])
    tails = np.cumsum(rows[:, ::-1], axis=1)[:, ::-1] - rows
    return rows, tails
