"""Solve a plan for its unknown quantity; an unreachable target is rejected before any search."""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from toolkit.core.arrays import ArrayLike
from toolkit.core.checks import reject
from toolkit.core.search import smallest_integer_where
from toolkit.planning.accuracy import MAX_EXACT_N, AssuredMargin, PlanInputs, Precision, critical_value

MIN_EPSILON, MAX_EPSILON = 1e-3, 20.0
MAX_PEOPLE = 10**12
_TOLERANCE = 1e-7
_EXACT_TOLERANCE = 1e-3
_EPSILON_STEP = 5e-3
_SMALLER_FACTORS = tuple(1 - percent / 100 for percent in range(1, 19))
_MAX_SHORTFALL = 50.0
_ROUND_UP = 1 + 1e-12  # exceeds the rounding error of a margin


class OutOfReach(ValueError):  # noqa: N818  named after the target
    """The error raised if no number of people, or no epsilon, reaches the target; it states what is attainable."""


@dataclass(frozen=True)
class Target:
    """The target of a plan: either a margin or a power."""

    margin: float | None = None
    power: float | None = None
    is_share: bool = True

    def shortfall(self, accuracy: Precision, n: ArrayLike) -> float:
        """Return the distance from the target: above 0 if the target is missed, and at most 0 if it is reached."""
        if self.margin is not None:
            margin = float(accuracy.margin(n))
            return math.log(margin / self.margin) if margin > 0 else -math.inf
        return float(self.power or 0) - float(accuracy.power(n))

    def is_reached(self, accuracy: Precision, n: ArrayLike) -> bool:
        return self.shortfall(accuracy, n) <= 0

    def is_sustained(self, accuracy: Precision, n: int) -> bool:
        """Whether n people and every larger number reach the target, since an exact power is a sawtooth in n."""
        if not self.is_reached(accuracy, n) or not self.has_exact_power(accuracy, n):
            return self.is_reached(accuracy, n)
        return accuracy.exact_test.is_sustained(float(self.power or 0), n)  # type: ignore[union-attr]

    def has_exact_power(self, accuracy: Precision, n: int) -> bool:
        """Whether the power with n people is computed exactly rather than approximated."""
        return self.margin is None and accuracy.exact_test is not None and n <= MAX_EXACT_N

    def __str__(self) -> str:
        return (
            f"a power of {self.power:.3g}"
            if self.margin is None
            else format_margin(self.margin, is_share=self.is_share)
        )

    def format_attained(self, accuracy: Precision, n: int) -> str:
        """Format the margin or power that n people attain."""
        return str(
            replace(self, margin=accuracy.margin(n))
            if self.margin is not None
            else replace(self, power=accuracy.power(n))
        )


def margin_with_tolerance(accuracy: Precision, n: int) -> float:
    return float(accuracy.margin(n)) * _ROUND_UP


def power_with_tolerance(accuracy: Precision, n: int) -> float:
    return max(0.0, float(accuracy.power(n)) - 1e-12)


def people_for(accuracy: Precision, target: Target) -> int:
    """Return the smallest n such that this and every larger number of people reach the target."""
    reachable = accuracy.field.max_respondents()
    max_people = MAX_PEOPLE if reachable is None else reachable
    if max_people == 0 or not target.is_reached(accuracy, max_people):
        _reject_unreachable(accuracy, target, max_people)
    people = smallest_integer_where(
        lambda n: target.is_reached(accuracy, n), 0, _first_guess(accuracy, target), highest=max_people
    )
    if target.has_exact_power(accuracy, people):
        return accuracy.exact_test.sustained_n(float(target.power or 0))  # type: ignore[union-attr]
    assured_margin: AssuredMargin | None = getattr(accuracy, "assured_margin", None)
    if assured_margin is None or target.margin is None or not accuracy.field.is_binomial or people > MAX_EXACT_N:
        return people
    near = np.arange(max(2, int(0.97 * people)), int(1.03 * people) + 3, dtype=np.float64)
    coverage = assured_margin.coverage(near, target.margin, critical_value(accuracy.level, 2))  # type: ignore[attr-defined]
    missed = coverage < assured_margin.share
    return int(near[np.flatnonzero(missed)[-1]]) + 1 if missed.any() and not missed[-1] else people


def _first_guess(accuracy: Precision, target: Target) -> int:
    """Return a first guess of n. It is exact for a target margin without a finite population correction."""
    if target.margin is None:
        return 64
    return max(1, math.ceil((float(accuracy.margin(1)) / target.margin) ** 2 * (1 - 1e-12)))


def _reject_unreachable(accuracy: Precision, target: Target, max_people: int) -> None:
    field = accuracy.field
    who = f"even {max_people:,.0f} people"
    if field.population:
        who = f"all {max_people:,} people of the population"
        if max_people < field.population:
            who = f"the {max_people:,} people who answer when all {field.population:,} of the population are invited"
    gives = (
        f"with this privacy they give {target.format_attained(accuracy, max_people)}; allow a larger epsilon"
        if max_people
        else "nobody answers"
    )
    reject(f"the target must be within reach of {who}", target, gives, OutOfReach)


def epsilon_for(case: PlanInputs, target: Target, n: int) -> float:
    """Return an epsilon that reaches the target with n people and with every larger number.

    For the margin of a design it is the smallest such epsilon, to seven digits. If the error is not monotone in
    epsilon, because power is exact or subset sizes are integers, smaller values are tried in steps.
    """
    best = case.accuracy(float(case.field.questions_each)).without_noise()
    exact = target.has_exact_power(best, n)
    if not target.is_sustained(best, n):
        # An exact power is not monotone in epsilon, so the search may have missed an isolated epsilon that reaches it.
        none = "no epsilon was found that reaches" if exact else "no epsilon reaches"
        remedy = f"even direct questioning has {target.format_attained(best, n)}; ask more people"
        reject(f"{none} the target with {n:,} people", target, remedy, OutOfReach)

    def is_sustained(epsilon: float) -> bool:
        return target.is_sustained(case.accuracy(epsilon), n)

    def shortfall_at(epsilon: float) -> float:
        accuracy = case.accuracy(epsilon)
        if exact and accuracy.exact_test is not None:
            return float(target.power or 0) - accuracy.exact_test.lower_bound(n)
        return max(target.shortfall(accuracy, n), -_MAX_SHORTFALL)

    low, high = _bracket_epsilon(shortfall_at)
    if low is None and not exact:
        return MIN_EPSILON
    smallest = MIN_EPSILON if low is None else MAX_EPSILON
    if low and high:
        smallest = _smallest_root(shortfall_at, low, high, _EXACT_TOLERANCE if exact else _TOLERANCE)
    if (high is None or exact) and not is_sustained(smallest):  # the lower bound only approximates the power
        smallest = MAX_EPSILON
        if not is_sustained(smallest):
            rule = f"the target with {n:,} people must need an epsilon of at most {MAX_EPSILON:g}"
            reject(rule, target, "ask more people", OutOfReach)
    if exact:
        return _smallest_exact_epsilon(case, target, n, smallest)
    return smallest if case.randomizer(smallest).matrix is not None else _try_smaller_epsilons(shortfall_at, smallest)


def _try_smaller_epsilons(shortfall_at: Callable[[float], float], epsilon: float) -> float:
    """Try smaller epsilons: the error may rise with epsilon where an integer subset size or a window changes."""
    candidates = [factor * epsilon for factor in _SMALLER_FACTORS if factor * epsilon > MIN_EPSILON]
    reached = [candidate for candidate in candidates if shortfall_at(candidate) <= 0]
    if not reached:
        return epsilon
    below = max(MIN_EPSILON, 0.98 * reached[-1])
    return _smallest_root(shortfall_at, (below, shortfall_at(below)), (reached[-1], shortfall_at(reached[-1])))


def _smallest_exact_epsilon(case: PlanInputs, target: Target, n: int, smallest: float) -> float:
    """Return the smallest epsilon with a sustained exact power, which is found in steps and refined to three digits.

    The exact power is also a sawtooth in epsilon, so the search ends where even its upper bound misses the target.
    """
    power, epsilon = float(target.power or 0), smallest
    while (epsilon := epsilon * (1 - _EPSILON_STEP)) > MIN_EPSILON:
        accuracy = case.accuracy(epsilon)
        if target.is_sustained(accuracy, n):
            smallest = epsilon
        elif accuracy.exact_test is None or accuracy.exact_test.upper_bound(n) < power:
            break
    missing_epsilon = max((1 - _EPSILON_STEP) * smallest, MIN_EPSILON)
    while smallest / missing_epsilon - 1 > _EXACT_TOLERANCE:
        middle = math.sqrt(missing_epsilon * smallest)
        reached = target.is_sustained(case.accuracy(middle), n)
        missing_epsilon, smallest = (missing_epsilon, middle) if reached else (middle, smallest)
    return smallest


_Point = tuple[float, float]
"""An epsilon and the amount by which it misses the target."""


def _bracket_epsilon(shortfall_at: Callable[[float], float]) -> tuple[_Point | None, _Point | None]:
    """Search outward from 1 for a point that misses the target and a point that reaches it; None if there are none."""
    start = (1.0, shortfall_at(1.0))
    low, high = (start, None) if start[1] > 0 else (None, start)
    while high is None and low and low[0] < MAX_EPSILON:
        epsilon = min(3 * low[0], MAX_EPSILON)
        low, high = ((epsilon, value), None) if (value := shortfall_at(epsilon)) > 0 else (low, (epsilon, value))
    while low is None and high and high[0] > MIN_EPSILON:
        epsilon = max(high[0] / 4, MIN_EPSILON)
        low, high = ((epsilon, value), high) if (value := shortfall_at(epsilon)) > 0 else (None, (epsilon, value))
    return low, high


def _smallest_root(
    shortfall_at: Callable[[float], float], low: _Point, high: _Point, tolerance: float = _TOLERANCE
) -> float:
    """Return the smallest epsilon that reaches the target, by Chandrupatla's method (1997) on a logarithmic axis."""
    if low[1] <= 0:
        return low[0]
    previous_point, a, b, fraction = low, low, high, 0.5
    while high[0] / low[0] - 1 > tolerance:
        epsilon = a[0] * (b[0] / a[0]) ** fraction
        new = (epsilon, shortfall_at(epsilon))
        if (new[1] > 0) == (a[1] > 0):
            previous_point, a = a, new
        else:
            previous_point, b, a = b, a, new
        low, high = (a, b) if a[1] > 0 else (b, a)
        fraction = _next_fraction(a, b, previous_point, tolerance / 2 / math.log(high[0] / low[0]))
    return high[0]


def _next_fraction(a: _Point, b: _Point, previous_point: _Point, min_fraction: float) -> float:
    """Return the fraction of the step from a to b, by inverse quadratic interpolation if that is safe, else 1/2."""
    xa, xb, xc = (math.log(point[0]) for point in (a, b, previous_point))
    shape, rise = (
        (xa - xb) / (xc - xb),
        (a[1] - b[1]) / (previous_point[1] - b[1]) if previous_point[1] != b[1] else 0.5,
    )
    fraction = 0.5
    if rise**2 < shape and (1 - rise) ** 2 < 1 - shape:
        fa, fb, fc = a[1], b[1], previous_point[1]
        fraction = fa / (fb - fa) * fc / (fb - fc) + (xc - xa) / (xb - xa) * fa / (fc - fa) * fb / (fc - fb)
    return min(max(fraction, min_fraction), 1 - min_fraction)


def format_margin(margin: float, *, is_share: bool) -> str:
    """Format a margin: in percentage points for shares, in its own unit for a mean."""
    return f"±{100 * margin:.3g} points" if is_share else f"±{margin:.3g}"
