"""The privacy blanket: an upper bound on delta for shuffled reports.

For a given epsilon, delta is the largest difference Pr[S] - e**epsilon Pr'[S] over sets S of outcomes, where the two
distributions differ in one person's answer. The *blanket* bounds delta for all answers of the others. Each report y has
at least probability least(y) for every answer, so with that probability it can be drawn independently of the answer. An
observer who also learns which reports were not drawn this way has at least as much information, and the reports that
were drawn this way form a crowd with a known distribution. With scores s(y) = (R(y|x) - e**epsilon R(y|x')) / least(y),
delta is at most E[(sum of the n scores)+] / n.
"""

import functools
import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from toolkit.core.arrays import Array
from toolkit.core.inference.special import betainc, xlog1py, xlogy
from toolkit.local.shuffling.tally import MAX_PEOPLE

# The mean excess of a binomial count over a threshold, from which the blanket is computed.
#
# For I ~ Binomial(t, share), E[(slope I - offset)+] = slope (1 - share) i Pr[I = i] - (offset - slope t share) Pr[I >=
# i], where i is the first count above offset / slope. Both terms are positive in the relevant tail and nearly cancel,
# by a factor of about z**2, so each needs many more digits than the result. The probabilities use Loader's method.

HINGE_ERROR = 1e-10
"""A bound on the relative error of each term of a hinge, a hundred times the largest observed error."""

_MAX_TABULATED_COUNT = 15
_HALF_LOG_2PI = math.log(2 * math.pi) / 2
_STIRLING = np.array(
    [
        0.0,
        *(
            math.lgamma(k + 1) - ((k + 0.5) * math.log(k) - k + _HALF_LOG_2PI)
            for k in range(1, _MAX_TABULATED_COUNT + 1)
        ),
    ]
)


def binomial_hinge(t: Array, share: float, slope: float, offset: Array) -> Array:
    """Return an upper bound on E[(slope I - offset)+] for I ~ Binomial(t, share), with the numerical error added.

    `t` holds whole numbers as floats, `share` is strictly between 0 and 1, `slope` is positive and `offset` at least 0.
    """
    first = np.floor(offset / slope) + 1
    possible = first <= t
    count = np.where(possible, first, np.maximum(t, 1))
    trials = np.maximum(t, 1)
    probability = np.exp(log_binomial(count, trials, share))
    tail = betainc(count, trials - count + 1, share)
    rise = slope * (1 - share) * count * probability
    fall = (offset - slope * t * share) * tail
    return np.where(possible & (t >= 1), np.maximum(rise - fall, 0) + HINGE_ERROR * (rise + np.abs(fall)), 0.0)


def log_binomial(count: Array, trials: Array, share: float) -> Array:
    """Return the logarithm of Pr[I = count] by the saddle-point expansion of C. Loader (2000)."""
    rest = trials - count
    inner = (count > 0) & (rest > 0)
    safe_count, safe_rest = np.where(inner, count, 1), np.where(inner, rest, 1)
    saddle = _stirling(trials) - _stirling(safe_count) - _stirling(safe_rest)
    saddle = saddle - _deviance(safe_count, trials * share) - _deviance(safe_rest, trials * (1 - share))
    saddle = saddle + (np.log(trials / safe_count) - np.log(safe_rest)) / 2 - _HALF_LOG_2PI
    ends = np.where(count == 0, xlog1py(trials, -share), xlogy(trials, share))
    return np.asarray(np.where(inner, saddle, ends))


def binomial_window(trials: int, share: float, omitted: float) -> tuple[Array, Array]:
    """Return the counts around the mode with all but `omitted` of a binomial distribution, and their probabilities.

    The probabilities are products of ratios from the mode, divided by their sum, so they are slightly too large. No
    special function is needed, and the relative error is one rounding per step. The radius is Bernstein's bound.
    """
    need = math.log(2 / omitted)
    radius = math.ceil(math.sqrt(2 * trials * share * (1 - share) * need) + need) + 1
    mode = min(int((trials + 1) * share), trials)
    up = np.arange(mode, min(mode + radius, trials), dtype=float)
    down = np.arange(mode, max(mode - radius, 0), -1, dtype=float)
    odds = share / (1 - share) if share < 1 else math.inf
    rising = np.cumprod((trials - up) / (up + 1) * odds)
    falling = np.cumprod(down / (trials - down + 1) / odds)
    weights = np.concatenate([falling[::-1], [1.0], rising])
    counts = np.arange(mode - len(falling), mode + len(rising) + 1, dtype=float)
    return counts, weights / weights.sum()


def _stirling(count: Array) -> Array:
    """Return the error of Stirling's formula: ln n! - ln(sqrt(2 pi n) (n / e)**n)."""
    n = np.maximum(count, 1)
    square = n * n
    series = (1 / 12 - (1 / 360 - (1 / 1260 - (1 / 1680 - 1 / 1188 / square) / square) / square) / square) / n
    few = np.minimum(count, _MAX_TABULATED_COUNT).astype(np.intp)
    return np.where(count <= _MAX_TABULATED_COUNT, _STIRLING[few], series)


def _deviance(count: Array, mean: Array) -> Array:
    """Return count ln(count / mean) + mean - count, accurate even if count is near the mean."""
    gap = (count - mean) / mean
    near = np.abs(gap) < 0.1
    # (1 + g) ln(1 + g) - g = g**2/2 - g**3/6 + g**4/12 - …, which is precise where the difference would lose digits
    g = np.where(near, gap, 0)
    series = np.zeros_like(g)
    for power in range(16, 1, -1):
        series = (-1) ** power / (power * (power - 1)) + g * series
    return mean * np.where(near, g * g * series, (1 + gap) * np.log1p(np.where(near, 0, gap)) - gap)


DeltaBound = Callable[[float], float]
"""An upper bound on delta as a function of epsilon."""

_OMITTED_SHARE = 1e-4  # the share of delta that each of two windows omits; it is added to the result
_GRID_STEP = 0.1  # the grid, in standard deviations, for the count of reports that favor neither answer


@dataclass(frozen=True)
class Pair:
    """Two answers x and x' of one person, with the probabilities of the reports that favor one of them.

    The report that favors x has probability `p` given x, `q` given x', and at least `min_p` given any answer. The
    report that favors x' has `mirrored_p` given x', `mirrored_q` given x, and `mirrored_min_p`. `min_rest` is the
    smallest probability of all other reports together.
    """

    p: float
    q: float
    min_p: float
    mirrored_p: float
    mirrored_q: float
    mirrored_min_p: float
    min_rest: float = 0.0

    @classmethod
    def forced(cls, truth: Fraction, first: Fraction, second: Fraction, rest: Fraction) -> "Pair":
        """Make the pair for reports that are the truth with some probability, else drawn from a fixed distribution."""
        chance_first, chance_second, chance_rest = float(first), float(second), float(rest)
        return cls(
            float(truth + first),
            chance_first,
            chance_first,
            float(truth + second),
            chance_second,
            chance_second,
            chance_rest,
        )

    @classmethod
    def any_randomizer(cls, epsilon: float) -> "Pair":
        """Make the pair for any randomizer with local loss epsilon (Feldman, McMillan and Talwar 2021, theorem 3.1)."""
        keep, lie, least = 1 / (1 + math.exp(-epsilon)), 1 / (1 + math.exp(epsilon)), math.exp(-epsilon) / 2
        return cls(keep, lie, least, keep, lie, least)

    def scores(self, epsilon: float) -> tuple[float, float, float]:
        """Return the score of a report for x, and the negative scores of a report for x' and of any other report."""
        factor = math.exp(epsilon)
        return (
            (self.p - factor * self.q) / self.min_p,
            (factor * self.mirrored_p - self.mirrored_q) / self.mirrored_min_p,
            math.expm1(epsilon),
        )

    def rough_epsilon(self, n: int, delta: float) -> float:
        """Return a rough value of epsilon, from the standard deviation of the loss."""
        gaps = (self.p - self.q) ** 2 / self.min_p + (self.mirrored_p - self.mirrored_q) ** 2 / self.mirrored_min_p
        return 0.7 * math.sqrt(2 * math.log(1 / delta) * gaps / n)


def blanket(pair: Pair, n: int, delta: float, *, max_summands: int = 10**9, others_agree: bool = False) -> DeltaBound:
    """Return the blanket's delta as a function of epsilon; `max_summands` allows a quick approximation.

    With `others_agree=True` the result is the exact delta if all others have the same third answer, which is a lower
    bound.
    """
    both = pair.min_p + pair.mirrored_min_p
    share, aside = pair.min_p / both, pair.min_rest / (1 - both) if pair.min_rest else 0.0
    people = min(n, MAX_PEOPLE)
    omitted = _OMITTED_SHARE * delta * pair.min_p / pair.p  # the sum of scores is at most n p / min_p
    totals, chances = binomial_window(people, both, omitted)
    if len(totals) > max_summands:
        step = -(-len(totals) // max_summands)
        totals, chances = totals[::step], chances[::step] / chances[::step].sum()
    others = people - totals
    deepest = float(np.sqrt(totals.max() * share * (1 - share)))

    def delta_at(epsilon: float) -> float:
        gain, loss, toll = pair.scores(epsilon)
        if gain <= 0:
            return 0.0
        offsets = loss * totals + toll * aside * others
        nodes: tuple[tuple[float, float], ...] = ((0.0, 1.0),)
        if pair.min_rest and not others_agree:
            nodes = _discretized_count(
                int(others.max()), aside, omitted, _GRID_STEP * (gain + loss) * deepest / toll if toll else math.inf
            )
        sums = [
            weight * float(chances @ binomial_hinge(totals, share, gain + loss, np.maximum(offsets + toll * node, 0)))
            for node, weight in nodes
        ]
        return sum(sums) / people * (1 + HINGE_ERROR) + 2 * _OMITTED_SHARE * delta

    return delta_at


@functools.lru_cache(maxsize=256)
def _centred(trials: int, share: float, omitted: float) -> tuple[Array, Array]:
    counts, chances = binomial_window(trials, share, min(omitted, 1e-18))  # so that the mean is not changed
    return counts - float(counts @ chances), chances


def _discretized_count(trials: int, share: float, omitted: float, grid_step: float) -> tuple[tuple[float, float], ...]:
    """Return the distribution of a centered binomial count on a grid, with values split so that the mean is unchanged.

    A hinge is convex, so its mean under the coarser distribution is an upper bound.
    """
    values, chances = _centred(trials, share, omitted)
    step = min(max(grid_step, 1.0), float(values[-1] - values[0]) + 1)
    positions = (values - values[0]) / step
    below = np.floor(positions).astype(np.intp)
    part = positions - below
    weights = np.bincount(below, chances * (1 - part), minlength=below[-1] + 2) + np.bincount(
        below + 1, chances * part, minlength=below[-1] + 2
    )
    return tuple((float(values[0] + step * i), float(weight)) for i, weight in enumerate(weights) if weight > 0)


def solve_epsilon(delta_at: DeltaBound, delta: float, local: float, guess: float) -> float:
    """Solve delta_at(epsilon) = delta to nine digits by the secant method; return 0 if delta_at(0) <= delta.

    `delta_at` is decreasing. `local` is an upper bound on the solution, and `guess` a first guess.
    """
    if delta_at(0.0) <= delta:
        return 0.0
    goal, low, high, nearest = math.log(delta), 0.0, local, math.inf
    previous = min(local / 2, guess)
    current, value = previous * 1.1, log_delta(delta_at(previous)) - goal
    for _ in range(100):
        excess = log_delta(delta_at(current)) - goal
        low, high = (current, high) if excess > 0 else (low, current)
        if abs(excess) < 1e-9 or high - low < 1e-13 * high:
            break
        following = current + excess * (current - previous) / (value - excess) if value != excess else math.inf
        if abs(excess) > nearest / 2 or not low < following < high:
            following = (low + high) / 2
        previous, value, current, nearest = current, excess, following, abs(excess)
    return current


def log_delta(value: float) -> float:
    """Return the logarithm of a delta, or -1e4 if it is zero."""
    return math.log(value) if value > 0 else -1e4
