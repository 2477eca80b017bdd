"""The mean of what a count exceeds a threshold by: the one sum behind the blanket of shuffled reports.

For I binomial(t, share), E[(slope I - offset)+] = slope (1 - share) i Pr[I = i] - (offset - slope t share)
Pr[I >= i], where i is the first count above offset / slope. Both terms are positive in the tail that matters
and nearly cancel, by a factor of about z**2, so each must be known to many more digits than the result: the
probabilities by Loader's method.
"""

import math

import numpy as np

from toolkit.core.arrays import Array
from toolkit.core.inference.special import betainc, xlog1py, xlogy

UNSURE = 1e-10
"""A bound on the relative error of each term of a hinge, a hundred times what was seen."""

_EXACT_UP_TO = 15
_HALF_LOG_2PI = math.log(2 * math.pi) / 2
_STIRLING = np.array(
    [
        0.0,
        *(math.lgamma(k + 1) - ((k + 0.5) * math.log(k) - k + _HALF_LOG_2PI) for k in range(1, _EXACT_UP_TO + 1)),
    ]
)


def binomial_hinge(t: Array, share: float, slope: float, offset: Array) -> Array:
    """E[(slope I - offset)+] for I binomial(t, share), from above: the error of its terms is added.

    t : whole numbers as floats; share : strictly between 0 and 1; slope : above 0; offset : at least 0.
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
    """Counts that hold all but at most `beyond` of a binomial law, and their probabilities, a hair from
    above.

    The probabilities are built from the mode by their ratios and divided by their sum, which leaves out the
    rest: no special function, and a relative error of a rounding for each step. The reach is Bernstein's.
    """
    need = math.log(2 / beyond)
    reach = math.ceil(math.sqrt(2 * trials * share * (1 - share) * need) + need) + 1
    mode = min(int((trials + 1) * share), trials)
    up, down = (
        np.arange(mode, min(mode + reach, trials), dtype=float),
        np.arange(mode, max(mode - reach, 0), -1, dtype=float),
    )
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
