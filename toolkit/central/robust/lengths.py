"""How many people must change for a value to be the statistic: for every point of a public grid at once.

The statistic is a quantile, a Huber location, or any monotone function.

Such a number of changes is a distance from the table to a set of tables, so one person who is replaced,
comes or goes moves it by at most 1: there is nothing to estimate, and no other table to look at. All is in
whole steps of the grid, and exact; a function of the user's own is computed as it is computed.
"""

import math
from collections.abc import Callable
from fractions import Fraction

import numpy as np

from toolkit.core.arrays import Array, Steps
from toolkit.frames.bounds import Bounds


def quantile_lengths(steps: Steps, span: int, q: Fraction) -> Steps:
    """For each step the least number of changes that make it a quantile: at most a share q of the values
    below it, at most a share 1 - q above.

    A value that is below and should not be is best replaced by the step itself; to remove it, or to add
    others, is never better.

    >>> quantile_lengths(np.array([0, 1, 1, 4, 4]), 4, Fraction(1, 2))
    array([2, 0, 1, 1, 1])
    """
    counts = np.bincount(steps, minlength=span + 1).astype(np.int64)
    upto = np.cumsum(counts)
    n = int(upto[-1])
    below = upto - counts - _share_down(q, n)
    above = n - upto - _share_down(1 - q, n)
    return np.asarray(np.maximum(np.maximum(below, above), 0))


def _share_down(q: Fraction, n: int) -> int:
    """The largest whole number that is at most q n: ceil(b - q n) = b - floor(q n) for whole b."""
    return q.numerator * n // q.denominator


def huber_lengths(steps: Steps, span: int, reach: int, unit: int = 1, rows: int | None = None) -> Steps:
    """For each step the least number of changes that bring the Huber location within half a step of it.

    `reach` is Huber's k in units, of which `unit` make half a step. The location is at most v + 1/2 where
    the scores at v + 1/2 add up to at most 0; while they do not, the largest score is best replaced by that
    of the lowest value. The least number is sought as if there were `rows` values, if given: at least as
    many as there are.

    >>> huber_lengths(np.array([0, 2, 2, 9]), 9, 4)
    array([2, 1, 0, 1, 1, 1, 1, 1, 2, 3])
    """
    rounds = max(len(steps) if rows is None else rows, 1).bit_length() + 1
    lower, upper = (_to_lower(one, span, reach, unit, rounds) for one in (steps, span - steps))
    return np.maximum(lower, upper[::-1])


def _to_lower(steps: Steps, span: int, reach: int, unit: int, rounds: int) -> Steps:
    """For each step v the least number of changes that bring the location to v + 1/2 or lower.

    In units, at 2 v + 1 half steps: of the scores, cut at `reach`, the first `full` are cut above, the last
    `none` cut below. The sums of the largest k come from sums of sorted values; the least k that is enough
    is found for all v together by halving, in so many rounds.
    """
    counts = np.bincount(steps, minlength=span + 1).astype(np.int64)
    ordered = np.repeat(np.arange(span, -1, -1, dtype=np.int64), counts[::-1])
    sums = np.concatenate([[0], np.cumsum(2 * unit * ordered)])
    n, place = len(ordered), unit * (2 * np.arange(span + 1, dtype=np.int64) + 1)
    upto = np.concatenate([[0], np.cumsum(counts)])  # how many values are below a step

    def at_least(units: Steps) -> Steps:
        """How many values are at least this number of units."""
        return n - upto[np.clip(-(-units // (2 * unit)), 0, span + 1)]

    full, none = at_least(place + reach), n - at_least(place - reach + 1)
    middle = n - none
    total = (full - none) * reach + sums[middle] - sums[full] - (middle - full) * place
    fall = np.minimum(place, reach)

    def enough(k: Steps) -> np.ndarray[tuple[int, ...], np.dtype[np.bool_]]:
        cut = np.minimum(k, full)
        gained = cut * reach + sums[k] - sums[cut] - (k - cut) * place + k * fall
        return np.asarray(gained >= total)

    least, most = np.full(span + 1, -1, dtype=np.int64), at_least(place)
    for _ in range(rounds):
        between = (least + most) // 2
        found = enough(np.maximum(between, 0)) & (between >= 0)
        least, most = np.where(found, least, np.minimum(between, most - 1)), np.where(found, between, most)
    return np.asarray(most)


def function_lengths(values: Array, bounds: Bounds, function: Callable[[Array], float], most: int) -> Steps:
    """The same for a function of sorted values that never falls when a value rises; at most `most` + 1.

    With k changes it can be brought as low as where the k largest are at the lower bound, and as high as
    where the k smallest are at the upper. A function that fails, or is not finite, counts as the lower
    bound.
    """
    low, high, step = float(bounds.low), float(bounds.high), float(bounds.step)
    ordered = np.sort(values)
    n, start = len(ordered), bounds.least * step
    lowest = np.empty(min(most, n) + 1, dtype=np.int64)
    highest = np.empty_like(lowest)
    for k in range(len(lowest)):
        down = np.concatenate([np.full(k, low), ordered[: n - k]])
        up = np.concatenate([ordered[k:], np.full(k, high)])
        lowest[k] = math.ceil((_finite(function, down, low, high) - start) / step - 0.5)
        highest[k] = math.floor((_finite(function, up, low, high) - start) / step + 0.5)
    lowest, highest = np.minimum.accumulate(lowest), np.maximum.accumulate(highest)
    places = np.arange(bounds.span + 1)
    down_to = np.searchsorted(-lowest, -places, side="left")
    up_to = np.searchsorted(highest, places, side="left")
    return np.asarray(np.minimum(np.maximum(down_to, up_to), most + 1), dtype=np.int64)


def _finite(function: Callable[[Array], float], values: Array, low: float, high: float) -> float:
    try:
        found = float(function(values))
    except Exception:
        return low
    return min(max(found, low), high) if math.isfinite(found) else low
