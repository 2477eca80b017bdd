"""Solve for the one unknown, rounded to the safe side; what cannot be reached is explained before any search."""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from toolkit.budget.accuracy import Accuracy, Case
from toolkit.core.checks import refuse
from toolkit.local.design import Design

LEAST_EPSILON, MOST_EPSILON = 1e-3, 20.0
MOST_PEOPLE = 10**12
_CLOSE = 1e-7
_LOWER = tuple(1 - part / 100 for part in range(1, 19))
_SURELY = 50.0
_UP = 1 + 1e-12  # more than the rounding of a margin


@dataclass(frozen=True)
class Target:
    """What is wanted: a margin, or a power; one of them."""

    margin: float | None = None
    power: float | None = None
    shares: bool = True

    def shortfall(self, accuracy: Accuracy, n: Any) -> float:
        """Above 0 where the target is missed, at most 0 where it is reached."""
        if self.margin is not None:
            margin = float(accuracy.margin(n))
            return math.log(margin / self.margin) if margin > 0 else -math.inf
        return float(self.power or 0) - float(accuracy.power(n))

    def reached(self, accuracy: Accuracy, n: Any) -> bool:
        return self.shortfall(accuracy, n) <= 0

    def __str__(self) -> str:
        return f"a power of {self.power:.3g}" if self.margin is None else in_words(self.margin, shares=self.shares)

    def attained(self, accuracy: Accuracy, n: int) -> str:
        """What n people really give, in words."""
        return str(replace(self, margin=accuracy.margin(n)) if self.margin is not None else replace(self, power=accuracy.power(n)))


def margin_of(accuracy: Accuracy, n: int) -> float:
    return float(accuracy.margin(n)) * _UP


def power_of(accuracy: Accuracy, n: int) -> float:
    return max(0.0, float(accuracy.power(n)) - 1e-12)


def people_for(accuracy: Accuracy, target: Target) -> int:
    """The smallest n that reaches the target."""
    most = accuracy.field.population or MOST_PEOPLE
    if not target.reached(accuracy, most):
        _explain_people(accuracy, target, most)
    low, high = 0, min(most, _guess(accuracy, target))
    while not target.reached(accuracy, high):
        low, high = high, min(most, 2 * high)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if target.reached(accuracy, middle) else (middle, high)
    return high


def _guess(accuracy: Accuracy, target: Target) -> int:
    """A number of people near the answer: exact for a margin without a finite population."""
    if target.margin is None:
        return 64
    return max(1, math.ceil((float(accuracy.margin(1)) / target.margin) ** 2 * (1 - 1e-12)))


def _explain_people(accuracy: Accuracy, target: Target, most: int) -> None:
    who = f"all {most:,} people of the population" if accuracy.field.population else f"even {most:,.0f} people"
    remedy = f"with this privacy they give {target.attained(accuracy, most)}; allow a larger epsilon"
    refuse(f"the target must be within reach of {who}", target, remedy)


def epsilon_for(case: Case, target: Target, n: int) -> float:
    """The smallest epsilon, to seven digits, that reaches the target with n people."""
    best = case.accuracy(1.0 * case.field.questions).without_noise()
    if not target.reached(best, n):
        remedy = f"even direct questioning has {target.attained(best, n)}; ask more people"
        refuse(f"no epsilon reaches the target with {n:,} people", target, remedy)

    def missed(epsilon: float) -> float:
        return max(target.shortfall(case.accuracy(epsilon), n), -_SURELY)

    low, high = _around(missed)
    if low is None or high is None:
        if high is None:
            refuse(f"the target with {n:,} people must need an epsilon of at most {MOST_EPSILON:g}", target, "ask more people")
        return LEAST_EPSILON
    found = _root(missed, low, high)
    if isinstance(case.randomizer(found), Design):
        return found
    # Subset sizes and windows are whole numbers: where they change the error may rise with epsilon, and less may do as well.
    reached = [part * found for part in _LOWER if part * found > LEAST_EPSILON and missed(part * found) <= 0]
    if not reached:
        return found
    below = max(LEAST_EPSILON, 0.98 * reached[-1])
    return _root(missed, (below, missed(below)), (reached[-1], missed(reached[-1])))


_Point = tuple[float, float]
"""An epsilon, and by how much the target is missed there."""


def _around(missed: Callable[[float], float]) -> tuple[_Point | None, _Point | None]:
    """A point that misses and one that does not, looked for from 1 outwards; None for the one that does not exist."""
    here = (1.0, missed(1.0))
    low, high = (here, None) if here[1] > 0 else (None, here)
    while high is None and low and low[0] < MOST_EPSILON:
        epsilon = min(3 * low[0], MOST_EPSILON)
        low, high = ((epsilon, value), None) if (value := missed(epsilon)) > 0 else (low, (epsilon, value))
    while low is None and high and high[0] > LEAST_EPSILON:
        epsilon = max(high[0] / 4, LEAST_EPSILON)
        low, high = ((epsilon, value), high) if (value := missed(epsilon)) > 0 else (None, (epsilon, value))
    return low, high


def _root(missed: Callable[[float], float], low: _Point, high: _Point) -> float:
    """The smallest epsilon that does not miss, from above: Chandrupatla's method (1997) on a logarithmic axis."""
    if low[1] <= 0:
        return low[0]
    old, a, b, part = low, low, high, 0.5
    while high[0] / low[0] - 1 > _CLOSE:
        epsilon = a[0] * (b[0] / a[0]) ** part
        new = (epsilon, missed(epsilon))
        if (new[1] > 0) == (a[1] > 0):
            old, a = a, new
        else:
            old, b, a = b, a, new
        low, high = (a, b) if a[1] > 0 else (b, a)
        part = _next_part(a, b, old, _CLOSE / 2 / math.log(high[0] / low[0]))
    return high[0]


def _next_part(a: _Point, b: _Point, old: _Point, least: float) -> float:
    """Where to look between a (the newest) and b: by a parabola through three points where it is safe, else in the middle."""
    xa, xb, xc = (math.log(point[0]) for point in (a, b, old))
    shape, rise = (xa - xb) / (xc - xb), (a[1] - b[1]) / (old[1] - b[1]) if old[1] != b[1] else 0.5
    part = 0.5
    if rise**2 < shape and (1 - rise) ** 2 < 1 - shape:
        part = a[1] / (b[1] - a[1]) * old[1] / (b[1] - old[1]) + (xc - xa) / (xb - xa) * a[1] / (old[1] - a[1]) * b[1] / (
            old[1] - b[1]
        )
    return min(max(part, least), 1 - least)


def in_words(margin: float, *, shares: bool) -> str:
    """A margin as people say it: of shares in percentage points, of means in their own unit.

    >>> in_words(0.0693, shares=True), in_words(2.5, shares=False)
    ('±6.93 points', '±2.5')
    """
    return f"±{100 * margin:.3g} points" if shares else f"±{margin:.3g}"
