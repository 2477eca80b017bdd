"""Solve for the one unknown, so that the target is reached; what cannot be reached is explained before any search."""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from toolkit.core.arrays import ArrayLike
from toolkit.core.checks import refuse
from toolkit.core.search import least_whole
from toolkit.planning.accuracy import MOST_COUNTED, Assured, Case, Precision, critical

LEAST_EPSILON, MOST_EPSILON = 1e-3, 20.0
MOST_PEOPLE = 10**12
_CLOSE = 1e-7
_NEAR = 1e-3
_STEP = 5e-3
_LOWER = tuple(1 - part / 100 for part in range(1, 19))
_SURELY = 50.0
_UP = 1 + 1e-12  # more than the rounding of a margin


class OutOfReach(ValueError):  # noqa: N818  it is the target that is
    """No number of people, or no epsilon, reaches the target; the message says what can be had instead."""


@dataclass(frozen=True)
class Target:
    """What is wanted: a margin, or a power; one of them."""

    margin: float | None = None
    power: float | None = None
    shares: bool = True

    def shortfall(self, accuracy: Precision, n: ArrayLike) -> float:
        """Above 0 where the target is missed, at most 0 where it is reached."""
        if self.margin is not None:
            margin = float(accuracy.margin(n))
            return math.log(margin / self.margin) if margin > 0 else -math.inf
        return float(self.power or 0) - float(accuracy.power(n))

    def reached(self, accuracy: Precision, n: ArrayLike) -> bool:
        return self.shortfall(accuracy, n) <= 0

    def kept(self, accuracy: Precision, n: int) -> bool:
        """Whether n people reach the target, and so does every larger number: a counted power may fall again."""
        reached = self.reached(accuracy, n)
        return reached and (not self.counts(accuracy, n) or accuracy.counted.keeps(float(self.power or 0), n))  # type: ignore[union-attr]

    def counts(self, accuracy: Precision, n: int) -> bool:
        """Whether the power of n people is counted, not approximated."""
        return self.margin is None and accuracy.counted is not None and n <= MOST_COUNTED

    def __str__(self) -> str:
        return f"a power of {self.power:.3g}" if self.margin is None else in_words(self.margin, shares=self.shares)

    def attained(self, accuracy: Precision, n: int) -> str:
        """What n people really give, in words."""
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
    """The smallest n that reaches the target, from which on every larger one does."""
    reachable = accuracy.field.max_respondents()
    most = MOST_PEOPLE if reachable is None else reachable
    if most == 0 or not target.reached(accuracy, most):
        _explain_people(accuracy, target, most)
    people = least_whole(lambda n: target.reached(accuracy, n), 0, _guess(accuracy, target), most=most)
    if target.counts(accuracy, people):
        return accuracy.counted.stays(float(target.power or 0))  # type: ignore[union-attr]
    assured: Assured | None = getattr(accuracy, "assured", None)
    if assured is None or target.margin is None or not accuracy.field.is_binomial or people > MOST_COUNTED:
        return people
    near = np.arange(max(2, int(0.97 * people)), int(1.03 * people) + 3, dtype=np.float64)
    missed = assured.coverage(near, target.margin, critical(accuracy.level, 2)) < assured.share  # type: ignore[attr-defined]
    return int(near[np.flatnonzero(missed)[-1]]) + 1 if missed.any() and not missed[-1] else people


def _guess(accuracy: Precision, target: Target) -> int:
    """A number of people near the answer: exact for a margin without a finite population."""
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
    refuse(f"the target must be within reach of {who}", target, gives, OutOfReach)


def epsilon_for(case: Case, target: Target, n: int) -> float:
    """An epsilon that reaches the target with n people, and with every larger number: for a margin of a design the
    smallest to seven digits. Where the error does not fall steadily with epsilon, because reports or subsets are
    counted, smaller ones that do are looked for in steps.
    """
    best = case.accuracy(float(case.field.questions_each)).without_noise()
    counted = target.counts(best, n)
    if not target.kept(best, n):
        none = (
            "no epsilon was found that keeps" if counted else "no epsilon reaches"
        )  # along the teeth one may, by chance
        remedy = f"even direct questioning has {target.attained(best, n)}; ask more people"
        refuse(f"{none} the target with {n:,} people", target, remedy, OutOfReach)

    def kept(epsilon: float) -> bool:
        return target.kept(case.accuracy(epsilon), n)

    def missed(epsilon: float) -> float:
        accuracy = case.accuracy(epsilon)
        if counted and accuracy.counted is not None:
            return float(target.power or 0) - accuracy.counted.envelope(n)
        return max(target.shortfall(accuracy, n), -_SURELY)

    low, high = _around(missed)
    if low is None and not counted:
        return LEAST_EPSILON
    least = LEAST_EPSILON if low is None else MOST_EPSILON
    if low and high:
        least = _root(missed, low, high, _NEAR if counted else _CLOSE)
    if (high is None or counted) and not kept(least):  # what the envelope of a power promises is checked
        least = MOST_EPSILON
        if not kept(least):
            rule = f"the target with {n:,} people must need an epsilon of at most {MOST_EPSILON:g}"
            refuse(rule, target, "ask more people", OutOfReach)
    if counted:
        return _lower_epsilon(case, target, n, least)
    return least if case.randomizer(least).matrix is not None else _less(missed, least)


def _less(missed: Callable[[float], float], epsilon: float) -> float:
    """Subset sizes and windows are whole: where they change, the error may rise with epsilon, and less may do."""
    reached = [part * epsilon for part in _LOWER if part * epsilon > LEAST_EPSILON and missed(part * epsilon) <= 0]
    if not reached:
        return epsilon
    below = max(LEAST_EPSILON, 0.98 * reached[-1])
    return _root(missed, (below, missed(below)), (reached[-1], missed(reached[-1])))


def _lower_epsilon(case: Case, target: Target, n: int, least: float) -> float:
    """The least epsilon, in steps and then to three digits, at which a counted power is kept, from one that is enough.
    As n does, epsilon moves the power along the teeth of a saw: there is nothing to be found where even their tips
    miss.
    """
    power, epsilon = float(target.power or 0), least
    while (epsilon := epsilon * (1 - _STEP)) > LEAST_EPSILON:
        accuracy = case.accuracy(epsilon)
        if target.kept(accuracy, n):
            least = epsilon
        elif accuracy.counted is None or accuracy.counted.ceiling(n) < power:
            break
    missed = max((1 - _STEP) * least, LEAST_EPSILON)
    while least / missed - 1 > _NEAR:
        middle = math.sqrt(missed * least)
        missed, least = (missed, middle) if target.kept(case.accuracy(middle), n) else (middle, least)
    return least


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


def _root(missed: Callable[[float], float], low: _Point, high: _Point, close: float = _CLOSE) -> float:
    """The smallest epsilon that does not miss, from above: Chandrupatla's method (1997) on a logarithmic axis."""
    if low[1] <= 0:
        return low[0]
    old, a, b, part = low, low, high, 0.5
    while high[0] / low[0] - 1 > close:
        epsilon = a[0] * (b[0] / a[0]) ** part
        new = (epsilon, missed(epsilon))
        if (new[1] > 0) == (a[1] > 0):
            old, a = a, new
        else:
            old, b, a = b, a, new
        low, high = (a, b) if a[1] > 0 else (b, a)
        part = _next_part(a, b, old, close / 2 / math.log(high[0] / low[0]))
    return high[0]


def _next_part(a: _Point, b: _Point, old: _Point, least: float) -> float:
    """Where to look between a (the newest) and b: by a parabola through three points where it is safe, else halfway."""
    xa, xb, xc = (math.log(point[0]) for point in (a, b, old))
    shape, rise = (xa - xb) / (xc - xb), (a[1] - b[1]) / (old[1] - b[1]) if old[1] != b[1] else 0.5
    part = 0.5
    if rise**2 < shape and (1 - rise) ** 2 < 1 - shape:
        part = a[1] / (b[1] - a[1]) * old[1] / (b[1] - old[1]) + (xc - xa) / (xb - xa) * a[1] / (old[1] - a[1]) * b[
            1
        ] / (old[1] - b[1])
    return min(max(part, least), 1 - least)


def in_words(margin: float, *, shares: bool) -> str:
    """A margin as people say it: of shares in percentage points, of means in their own unit."""
    return f"±{100 * margin:.3g} points" if shares else f"±{margin:.3g}"
