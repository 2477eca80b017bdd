"""Solve a plan for its unknown quantity; a target that cannot be reached is explained before any search."""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from toolkit.core.arrays import ArrayLike
from toolkit.core.checks import reject
from toolkit.core.search import smallest_integer_where
from toolkit.planning.accuracy import MOST_COUNTED, Assured, Case, Precision, critical

LEAST_EPSILON, MOST_EPSILON = 1e-3, 20.0
MOST_PEOPLE = 10**12
_CLOSE = 1e-7
_NEAR = 1e-3
_STEP = 5e-3
_LOWER = tuple(1 - percent / 100 for percent in range(1, 19))
_MAX_SHORTFALL = 50.0
_UP = 1 + 1e-12  # more than the rounding of a margin


class OutOfReach(ValueError):  # noqa: N818  named after the target
    """No number of people, or no epsilon, reaches the target; the message says what can be reached."""


@dataclass(frozen=True)
class Target:
    """The target of a plan: either a margin or a power."""

    margin: float | None = None
    power: float | None = None
    shares: bool = True

    def shortfall(self, accuracy: Precision, n: ArrayLike) -> float:
        """Return a number above 0 if the target is missed, and at most 0 if it is reached."""
        if self.margin is not None:
            margin = float(accuracy.margin(n))
            return math.log(margin / self.margin) if margin > 0 else -math.inf
        return float(self.power or 0) - float(accuracy.power(n))

    def reached(self, accuracy: Precision, n: ArrayLike) -> bool:
        return self.shortfall(accuracy, n) <= 0

    def sustained(self, accuracy: Precision, n: int) -> bool:
        """Return whether n people and every larger number reach the target: an exact power is a sawtooth in n."""
        reached = self.reached(accuracy, n)
        return reached and (not self.counts(accuracy, n) or accuracy.exact_test.keeps(float(self.power or 0), n))  # type: ignore[union-attr]

    def counts(self, accuracy: Precision, n: int) -> bool:
        """Return whether the power of n people is exact, and not approximated."""
        return self.margin is None and accuracy.exact_test is not None and n <= MOST_COUNTED

    def __str__(self) -> str:
        return f"a power of {self.power:.3g}" if self.margin is None else in_words(self.margin, shares=self.shares)

    def attained(self, accuracy: Precision, n: int) -> str:
        """Return the margin or power of n people as text."""
        return str(
            replace(self, margin=accuracy.margin(n))
            if self.margin is not None
            else replace(self, power=accuracy.power(n))
        )


def margin_of(accuracy: Precision, n: int) -> float:
    return float(accuracy.margin(n)) * _UP


def power_of(accuracy: Precision, n: int) -> float:
    return max(0.0, float(accuracy.power(n)) - 1e-12)


def people_for(accuracy: Precision, target: Target) -> int:
    """Return the smallest n such that it and every larger number reach the target."""
    reachable = accuracy.field.max_respondents()
    most = MOST_PEOPLE if reachable is None else reachable
    if most == 0 or not target.reached(accuracy, most):
        _explain_people(accuracy, target, most)
    people = smallest_integer_where(lambda n: target.reached(accuracy, n), 0, _guess(accuracy, target), highest=most)
    if target.counts(accuracy, people):
        return accuracy.exact_test.stays(float(target.power or 0))  # type: ignore[union-attr]
    assured: Assured | None = getattr(accuracy, "assured", None)
    if assured is None or target.margin is None or not accuracy.field.is_binomial or people > MOST_COUNTED:
        return people
    near = np.arange(max(2, int(0.97 * people)), int(1.03 * people) + 3, dtype=np.float64)
    missed = assured.coverage(near, target.margin, critical(accuracy.level, 2)) < assured.share  # type: ignore[attr-defined]
    return int(near[np.flatnonzero(missed)[-1]]) + 1 if missed.any() and not missed[-1] else people


def _guess(accuracy: Precision, target: Target) -> int:
    """Return a first guess of n, which is exact for a margin without a finite population."""
    if target.margin is None:
        return 64
    return max(1, math.ceil((float(accuracy.margin(1)) / target.margin) ** 2 * (1 - 1e-12)))


def _explain_people(accuracy: Precision, target: Target, most: int) -> None:
    field = accuracy.field
    who = f"even {most:,.0f} people"
    if field.population:
        who = f"all {most:,} people of the population"
        if most < field.population:
            who = f"the {most:,} people who answer when all {field.population:,} of the population are invited"
    gives = (
        f"with this privacy they give {target.attained(accuracy, most)}; allow a larger epsilon"
        if most
        else "nobody answers"
    )
    reject(f"the target must be within reach of {who}", target, gives, OutOfReach)


def epsilon_for(case: Case, target: Target, n: int) -> float:
    """Return an epsilon that reaches the target with n people and with every larger number.

    For the margin of a design it is the smallest, to seven digits. If the error is not monotone in epsilon, because
    power is exact or subset sizes are whole, smaller values are tried in steps.
    """
    best = case.accuracy(float(case.field.questions_each)).without_noise()
    exact = target.counts(best, n)
    if not target.sustained(best, n):
        # An exact power is not monotone, so that an epsilon that reaches it by chance may have been missed.
        none = "no epsilon was found that keeps" if exact else "no epsilon reaches"
        remedy = f"even direct questioning has {target.attained(best, n)}; ask more people"
        reject(f"{none} the target with {n:,} people", target, remedy, OutOfReach)

    def sustained(epsilon: float) -> bool:
        return target.sustained(case.accuracy(epsilon), n)

    def missed(epsilon: float) -> float:
        accuracy = case.accuracy(epsilon)
        if exact and accuracy.exact_test is not None:
            return float(target.power or 0) - accuracy.exact_test.envelope(n)
        return max(target.shortfall(accuracy, n), -_MAX_SHORTFALL)

    low, high = _around(missed)
    if low is None and not exact:
        return LEAST_EPSILON
    least = LEAST_EPSILON if low is None else MOST_EPSILON
    if low and high:
        least = _root(missed, low, high, _NEAR if exact else _CLOSE)
    if (high is None or exact) and not sustained(least):  # the envelope is only an approximation of an exact power
        least = MOST_EPSILON
        if not sustained(least):
            rule = f"the target with {n:,} people must need an epsilon of at most {MOST_EPSILON:g}"
            reject(rule, target, "ask more people", OutOfReach)
    if exact:
        return _lower_epsilon(case, target, n, least)
    return least if case.randomizer(least).matrix is not None else _less(missed, least)


def _less(missed: Callable[[float], float], epsilon: float) -> float:
    """Try smaller epsilons: the error may rise with epsilon where a whole subset size or window changes."""
    candidates = [factor * epsilon for factor in _LOWER if factor * epsilon > LEAST_EPSILON]
    reached = [candidate for candidate in candidates if missed(candidate) <= 0]
    if not reached:
        return epsilon
    below = max(LEAST_EPSILON, 0.98 * reached[-1])
    return _root(missed, (below, missed(below)), (reached[-1], missed(reached[-1])))


def _lower_epsilon(case: Case, target: Target, n: int, least: float) -> float:
    """Return the smallest epsilon at which an exact power is kept, in steps and then to three digits.

    The exact power is a sawtooth in epsilon as well, so the search ends where even its upper bound misses the target.
    """
    power, epsilon = float(target.power or 0), least
    while (epsilon := epsilon * (1 - _STEP)) > LEAST_EPSILON:
        accuracy = case.accuracy(epsilon)
        if target.sustained(accuracy, n):
            least = epsilon
        elif accuracy.exact_test is None or accuracy.exact_test.ceiling(n) < power:
            break
    missed = max((1 - _STEP) * least, LEAST_EPSILON)
    while least / missed - 1 > _NEAR:
        middle = math.sqrt(missed * least)
        missed, least = (missed, middle) if target.sustained(case.accuracy(middle), n) else (middle, least)
    return least


_Point = tuple[float, float]
"""An epsilon, with the shortfall from the target."""


def _around(missed: Callable[[float], float]) -> tuple[_Point | None, _Point | None]:
    """Return a point that misses the target and one that reaches it, from 1 outwards; None if there is none."""
    start = (1.0, missed(1.0))
    low, high = (start, None) if start[1] > 0 else (None, start)
    while high is None and low and low[0] < MOST_EPSILON:
        epsilon = min(3 * low[0], MOST_EPSILON)
        low, high = ((epsilon, value), None) if (value := missed(epsilon)) > 0 else (low, (epsilon, value))
    while low is None and high and high[0] > LEAST_EPSILON:
        epsilon = max(high[0] / 4, LEAST_EPSILON)
        low, high = ((epsilon, value), high) if (value := missed(epsilon)) > 0 else (None, (epsilon, value))
    return low, high


def _root(missed: Callable[[float], float], low: _Point, high: _Point, close: float = _CLOSE) -> float:
    """Return the smallest epsilon that reaches the target, by Chandrupatla's method (1997) on a logarithmic axis."""
    if low[1] <= 0:
        return low[0]
    old, a, b, fraction = low, low, high, 0.5
    while high[0] / low[0] - 1 > close:
        epsilon = a[0] * (b[0] / a[0]) ** fraction
        new = (epsilon, missed(epsilon))
        if (new[1] > 0) == (a[1] > 0):
            old, a = a, new
        else:
            old, b, a = b, a, new
        low, high = (a, b) if a[1] > 0 else (b, a)
        fraction = _next_fraction(a, b, old, close / 2 / math.log(high[0] / low[0]))
    return high[0]


def _next_fraction(a: _Point, b: _Point, old: _Point, least: float) -> float:
    """Return the next fraction of the way from a to b: by inverse quadratic interpolation if safe, else one half."""
    xa, xb, xc = (math.log(point[0]) for point in (a, b, old))
    shape, rise = (xa - xb) / (xc - xb), (a[1] - b[1]) / (old[1] - b[1]) if old[1] != b[1] else 0.5
    fraction = 0.5
    if rise**2 < shape and (1 - rise) ** 2 < 1 - shape:
        fa, fb, fc = a[1], b[1], old[1]
        fraction = fa / (fb - fa) * fc / (fb - fc) + (xc - xa) / (xb - xa) * fa / (fc - fa) * fb / (fc - fb)
    return min(max(fraction, least), 1 - least)


def in_words(margin: float, *, shares: bool) -> str:
    """Return a margin as text: in percentage points for shares, in its own unit for a mean."""
    return f"±{100 * margin:.3g} points" if shares else f"±{margin:.3g}"
