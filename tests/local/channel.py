"""The exact law of anything that is drawn with integers below bounds: every path of draws is walked."""

from collections import defaultdict
from collections.abc import Callable, Hashable
from fractions import Fraction
from typing import Any

import numpy as np
from scipy.stats import chi2

Draw = Callable[[int], int]
Law = dict[Hashable, Fraction]


class _MoreError(Exception):
    def __init__(self, bound: int) -> None:
        self.bound = bound


def law_of(report: Callable[[Draw], Any]) -> Law:
    """Every outcome of `report(draw)` with its exact probability, when draw(bound) is uniform on 0 … bound-1."""
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
    """One law for each answer."""
    return [law_of(lambda draw, answer=answer: report(answer, draw)) for answer in answers]


def largest_ratio(laws: list[Law]) -> Fraction | None:
    """The largest ratio of an outcome's probabilities under two answers; None where it is infinite."""
    outcomes = set().union(*laws)
    if any(outcome not in law for outcome in outcomes for law in laws):
        return None
    return max(max(law[y] for law in laws) / min(law[y] for law in laws) for y in outcomes)


def follows(outcomes: list[Hashable], law: Law) -> float:
    """P-value of the chi-squared test that the outcomes were drawn from the law; 0 if an outcome is impossible."""
    counts: defaultdict[Hashable, int] = defaultdict(int)
    for outcome in outcomes:
        counts[outcome] += 1
    if set(counts) - set(law):
        return 0.0
    expected = np.array([float(chance) * len(outcomes) for chance in law.values()])
    seen = np.array([counts[outcome] for outcome in law])
    return float(chi2.sf(((seen - expected) ** 2 / expected).sum(), len(law) - 1))
