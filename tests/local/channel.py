"""The exact distribution of anything that is drawn with bounded integers, and tests whether samples follow it."""

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from scipy.special import xlogy

Draw = Callable[[int], int]
Law = dict[Hashable, Fraction]


class NoDraw(np.random.Generator):
    """A generator that fails when it is used."""

    def __init__(self) -> None:
        super().__init__(np.random.PCG64(0))

    def integers(self, *_args: object, **_options: object) -> object:  # type: ignore[override]
        raise AssertionError("something was drawn before the answers were checked")


class _MoreError(Exception):
    def __init__(self, bound: int) -> None:
        self.bound = bound


def law_of(report: Callable[[Draw], Any]) -> Law:
    """Return every outcome of `report(draw)` with its exact probability, when draw(bound) is uniform on 0 … bound-1."""
    found: defaultdict[Hashable, Fraction] = defaultdict(Fraction)
    paths: list[tuple[int, ...]] = [()]
    while paths:
        path, bounds = paths.pop(), list[int]()

        def draw(bound: int, path: tuple[int, ...] = path, bounds: list[int] = bounds) -> int:
            if len(bounds) == len(path):
                raise _MoreError(bound)
            bounds.append(bound)
            return path[len(bounds) - 1]

        try:
            outcome = report(draw)
        except _MoreError as more:
            paths.extend((*path, value) for value in range(more.bound))
            continue
        chance = Fraction(1)
        for bound in bounds:
            chance /= bound
        found[frozen(outcome)] += chance
    return dict(found)


def frozen(outcome: Any) -> Hashable:
    if isinstance(outcome, dict):
        return tuple((key, frozen(value)) for key, value in outcome.items())
    return tuple(outcome) if isinstance(outcome, list | tuple | np.ndarray) else outcome


def channel(report: Callable[[Any, Draw], Any], answers: list[Any]) -> list[Law]:
    """Return the exact distribution of the report for each answer."""
    return [law_of(lambda draw, answer=answer: report(answer, draw)) for answer in answers]


def largest_ratio(laws: list[Law]) -> Fraction | None:
    """Return the largest ratio of an outcome's probabilities under two answers, or None if it is infinite."""
    outcomes = set().union(*laws)
    if any(outcome not in law for outcome in outcomes for law in laws):
        return None
    return max(max(law[y] for law in laws) / min(law[y] for law in laws) for y in outcomes)


def follows(outcomes: list[Hashable] | dict[Hashable, int], law: Law) -> float:
    """Return `goodness` for outcomes, or for the counts of outcomes; 0 if an impossible outcome occurred."""
    counts = Counter(outcomes)
    return (
        0.0
        if set(counts) - set(law)
        else goodness([counts[outcome] for outcome in law], [float(p) for p in law.values()])
    )


def goodness(counts: Sequence[int], law: Sequence[float]) -> float:
    """Return a p-value of the hypothesis that the counts were drawn from the distribution: P(p <= a) <= a for every a.

    The moment generating function of n times the relative entropy of the counts to the distribution is at most that of
    a gamma variable with shape k - 1 (Agrawal, Finite-sample concentration of the multinomial in relative entropy,
    2020). So Chernoff's bound applies. Chi-squared has no such bound: one report in a cell with expected count 0.008
    has "p < 1e-9", although it occurs in 0.8 % of samples.
    """
    seen, chances = np.asarray(counts, dtype=float), np.asarray(law, dtype=float)
    if seen[chances == 0].any():
        return 0.0
    seen, chances = seen[chances > 0], chances[chances > 0]
    shape, n = len(seen) - 1, seen.sum()
    distance = float(xlogy(seen, seen / (n * chances)).sum())
    # with a single possible report, shape and distance are 0; anything else is rounding
    if distance <= shape + 1e-9 * n:
        return 1.0
    return math.exp(shape - distance + shape * math.log(distance / shape))
