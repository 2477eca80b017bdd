"""How likely shuffled reports tell two answers of one person apart, when n people's reports hide each other.

Delta belongs to an epsilon: it is the largest gap Pr[S] - e**epsilon Pr'[S] over sets S of outcomes, where the two laws
differ in one person's answer. The *blanket* bounds it from above for every answer of the others: a report is at least
as likely as its least likely case, so with that probability it is drawn without regard to its sender's answer; an
observer who is told which reports were not drawn so can only do better, and the others form a crowd of known law. With
scores s(y) = (R(y|x) - e**epsilon R(y|x')) / least(y), delta is at most E[(sum of the n scores)+] / n.
"""

import functools
import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from toolkit.core.arrays import Array
from toolkit.core.inference.special import betainc, xlog1py, xlogy

# The mean of what a count exceeds a threshold by: the one sum behind the blanket of shuffled reports.
#
# For I binomial(t, share), E[(slope I - offset)+] = slope (1 - share) i Pr[I = i] - (offset - slope t share) Pr[I >=
# i], where i is the first count above offset / slope. Both terms are positive in the tail that matters and nearly
# cancel, by a factor of about z**2, so each must be known to many more digits than the result: the probabilities by
# Loader's method.

UNSURE = 1e-10
"""A bound on the relative error of each term of a hinge, a hundred times what was seen."""

_EXACT_UP_TO = 15
_HALF_LOG_2PI = math.log(2 * math.pi) / 2
_STIRLING = np.array(
    [0.0, *(math.lgamma(k + 1) - ((k + 0.5) * math.log(k) - k + _HALF_LOG_2PI) for k in range(1, _EXACT_UP_TO + 1))]
)


def binomial_hinge(t: Array, share: float, slope: float, offset: Array) -> Array:
    """E[(slope I - offset)+] for I binomial(t, share), from above: the error of its terms is added. t : whole numbers
    as floats; share : strictly between 0 and 1; slope : above 0; offset : at least 0.
    """
    first = np.floor(offset / slope) + 1
    possible = first <= t
    count = np.where(possible, first, np.maximum(t, 1))
    trials = np.maximum(t, 1)
    at = np.exp(log_binomial(count, trials, share))
    beyond = betainc(count, trials - count + 1, share)
    rise = slope * (1 - share) * count * at
    fall = (offset - slope * t * share) * beyond
    return np.where(possible & (t >= 1), np.maximum(rise - fall, 0) + UNSURE * (rise + np.abs(fall)), 0.0)


def log_binomial(count: Array, trials: Array, share: float) -> Array:
    """The logarithm of Pr[I = count], without the loss of digits of large factorials (C. Loader 2000)."""
    rest = trials - count
    inner = (count > 0) & (rest > 0)
    safe_count, safe_rest = np.where(inner, count, 1), np.where(inner, rest, 1)
    saddle = _stirling(trials) - _stirling(safe_count) - _stirling(safe_rest)
    saddle = saddle - _deviance(safe_count, trials * share) - _deviance(safe_rest, trials * (1 - share))
    saddle = saddle + (np.log(trials / safe_count) - np.log(safe_rest)) / 2 - _HALF_LOG_2PI
    ends = np.where(count == 0, xlog1py(trials, -share), xlogy(trials, share))
    return np.asarray(np.where(inner, saddle, ends))


def binomial_window(trials: int, share: float, beyond: float) -> tuple[Array, Array]:
    """Counts that hold all but at most `beyond` of a binomial law, and their probabilities, a hair from above.

    The probabilities are built from the mode by their ratios and divided by their sum, which leaves out the
    rest: no special function, and a relative error of a rounding for each step. The reach is Bernstein's.
    """
    need = math.log(2 / beyond)
    reach = math.ceil(math.sqrt(2 * trials * share * (1 - share) * need) + need) + 1
    mode = min(int((trials + 1) * share), trials)
    up = np.arange(mode, min(mode + reach, trials), dtype=float)
    down = np.arange(mode, max(mode - reach, 0), -1, dtype=float)
    odds = share / (1 - share) if share < 1 else math.inf
    rising = np.cumprod((trials - up) / (up + 1) * odds)
    falling = np.cumprod(down / (trials - down + 1) / odds)
    weights = np.concatenate([falling[::-1], [1.0], rising])
    counts = np.arange(mode - len(falling), mode + len(rising) + 1, dtype=float)
    return counts, weights / weights.sum()


def _stirling(count: Array) -> Array:
    """The error of Stirling's formula: ln n! - ln(sqrt(2 pi n) (n / e)**n)."""
    n = np.maximum(count, 1)
    square = n * n
    series = (1 / 12 - (1 / 360 - (1 / 1260 - (1 / 1680 - 1 / 1188 / square) / square) / square) / square) / n
    few = np.minimum(count, _EXACT_UP_TO).astype(np.intp)
    return np.where(count <= _EXACT_UP_TO, _STIRLING[few], series)


def _deviance(count: Array, mean: Array) -> Array:
    """The sum count ln(count / mean) + mean - count, also where the two are close."""
    gap = (count - mean) / mean
    near = np.abs(gap) < 0.1
    # (1 + g) ln(1 + g) - g = g**2/2 - g**3/6 + g**4/12 - …, which keeps its digits where the difference would
    # lose them
    g = np.where(near, gap, 0)
    series = np.zeros_like(g)
    for power in range(16, 1, -1):
        series = (-1) ** power / (power * (power - 1)) + g * series
    return mean * np.where(near, g * g * series, (1 + gap) * np.log1p(np.where(near, 0, gap)) - gap)


Delta = Callable[[float], float]
"""Delta as a function of epsilon, from above."""

_BEYOND = 1e-4  # of delta: what each of two windows leaves out, which is added
_GRAIN = 0.1  # standard deviations; how coarsely the reports that speak for neither answer are counted


@dataclass(frozen=True)
class Pair:
    """Two answers x and x' of one person, by what their reports look like and what the others send.

    `own` and `other` are the probabilities of the report that speaks for x when x is true, and when x' is; `least` how
    likely any other person gives it, whatever their answer; `own_too`, `other_too` and `least_too` the same of the
    report that speaks for x', mirrored; `rest` how likely any other person gives one of all other reports.
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

    def guess(self, n: int, delta: float) -> float:
        """About what epsilon will be: some standard deviations of the loss."""
        gaps = (self.own - self.other) ** 2 / self.least + (self.own_too - self.other_too) ** 2 / self.least_too
        return 0.7 * math.sqrt(2 * math.log(1 / delta) * gaps / n)


def blanket(pair: Pair, n: int, delta: float, *, most: int = 10**9, third: bool = False) -> Delta:
    """The blanket's delta; `most` summands make a quick approximation of it. `third=True` is not a bound: it is the
    true delta when all others hold one third answer, so the truth is not below it.
    """
    both = pair.least + pair.least_too
    share, aside = pair.least / both, pair.rest / (1 - both) if pair.rest else 0.0
    people = min(n, 10**9)  # more people hide no worse than a billion
    beyond = _BEYOND * delta * pair.least / pair.own  # the sum of scores is at most n own / least
    totals, chances = binomial_window(people, both, beyond)
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
            nodes = _uncounted(
                int(others.max()), aside, beyond, _GRAIN * (gain + loss) * deepest / toll if toll else math.inf
            )
        sums = [
            weight * float(chances @ binomial_hinge(totals, share, gain + loss, np.maximum(offsets + toll * node, 0)))
            for node, weight in nodes
        ]
        return sum(sums) / people * (1 + UNSURE) + 2 * _BEYOND * delta

    return at


@functools.lru_cache(maxsize=256)
def _centred(trials: int, share: float, beyond: float) -> tuple[Array, Array]:
    counts, chances = binomial_window(trials, share, min(beyond, 1e-18))  # so that the mean is that of the whole law
    return counts - float(counts @ chances), chances


def _uncounted(trials: int, share: float, beyond: float, grain: float) -> tuple[tuple[float, float], ...]:
    """A binomial count less its mean, on a grid: each value split between its neighbors so that the mean is kept. A
    hinge is convex, so its mean over the coarser law is above that over the law itself.
    """
    values, chances = _centred(trials, share, beyond)
    step = min(max(grain, 1.0), float(values[-1] - values[0]) + 1)
    places = (values - values[0]) / step
    below = np.floor(places).astype(np.intp)
    part = places - below
    weights = np.bincount(below, chances * (1 - part), minlength=below[-1] + 2) + np.bincount(
        below + 1, chances * part, minlength=below[-1] + 2
    )
    return tuple((float(values[0] + step * i), float(weight)) for i, weight in enumerate(weights) if weight > 0)


def epsilon_at(at: Delta, delta: float, local: float, guess: float) -> float:
    """Where a falling function of epsilon meets delta, to nine digits, else 0: secants of its logarithm, kept in
    bounds.
    """
    if at(0.0) <= delta:
        return 0.0
    goal, low, high, nearest = math.log(delta), 0.0, local, math.inf
    before = min(local / 2, guess)
    now, value = before * 1.1, log_of(at(before)) - goal
    for _ in range(100):
        height = log_of(at(now)) - goal
        low, high = (now, high) if height > 0 else (low, now)
        if abs(height) < 1e-9 or high - low < 1e-13 * high:
            break
        following = now + height * (now - before) / (value - height) if value != height else math.inf
        if abs(height) > nearest / 2 or not low < following < high:
            following = (low + high) / 2
        before, value, now, nearest = now, height, following, abs(height)
    return now


def log_of(value: float) -> float:
    """The logarithm of a delta, far below any where delta is nothing."""
    return math.log(value) if value > 0 else -1e4
