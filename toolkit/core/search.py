"""Bisection for the point at which a monotone condition begins to hold, for floats, decimals, integers and arrays.

`scipy.optimize` finds a root and may stop on either side. Here the result must lie on the safe side: each function
returns a number at which the condition was evaluated and holds. The condition may be a proof in exact arithmetic, and
may be defined for integers only.
"""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from toolkit.core.arrays import Array

# Enough halvings to get from the largest float to the smallest.
_MAX_ROUNDS = 2200


def bracket(condition: Callable[[Any], bool], low: Any, start: Any, highest: float = math.inf) -> tuple[Any, Any]:
    """Return two numbers between which the condition begins to hold: false at the first, true at the second.

    The second number is `start`, doubled until the condition holds. If the condition does not hold at `highest` either,
    the numbers are `highest` and infinity.
    """
    high = min(start, highest)
    while not condition(high):
        low, high = (high, min(2 * high, highest)) if high < highest else (high, math.inf)
        if math.isinf(high):
            break
    return low, high


def bisect(
    condition: Callable[[Any], bool], low: Any, high: Any, *, rtol: float = 0, max_rounds: int = _MAX_ROUNDS
) -> tuple[Any, Any]:
    """Narrow the interval between `low`, where the condition does not hold, and `high`, where it holds.

    `low` may be greater than `high`, and both may be decimals. The search ends when they differ by at most `rtol` times
    `high`, when no float lies between them, or after `max_rounds` evaluations.
    """
    for _ in range(max_rounds):
        middle = (low + high) / 2
        if abs(high - low) <= rtol * abs(high) or middle in (low, high):
            break
        low, high = (low, middle) if condition(middle) else (middle, high)
    return low, high


def bisect_elementwise(
    condition: Callable[[Array], npt.NDArray[np.bool_]], low: Array, high: Array, *, n_rounds: int = 60
) -> tuple[Array, Array]:
    """Bisect the intervals between two arrays, entry by entry, in a fixed number of rounds."""
    for _ in range(n_rounds):
        middle = (low + high) / 2
        mask = condition(middle)
        low, high = np.where(mask, low, middle), np.where(mask, middle, high)
    return low, high


def bisect_integers(
    condition: Callable[[int], bool], low: int, high: int, *, significant_digits: int | None = None
) -> int:
    """Return the smallest integer above `low` at which the condition holds; it must hold at `high`.

    With `significant_digits`, the result may be too large by at most one unit of the last significant digit.
    """
    while high - low > (1 if significant_digits is None else max(1, high // 10**significant_digits)):
        middle = (low + high) // 2
        low, high = (low, middle) if condition(middle) else (middle, high)
    return high


def smallest_where(
    condition: Callable[[float], bool], low: float, start: float, *, rtol: float, highest: float = math.inf
) -> float:
    """Return the smallest number above `low` at which the condition holds, with a relative error of at most `rtol`.

    The result is never too small, so the condition holds at the result. The search begins at `start`. The result is
    infinite if the condition does not hold at `highest`.
    """
    return float(bisect(condition, *bracket(condition, low, start, highest), rtol=rtol)[1])


def smallest_integer_where(condition: Callable[[int], bool], low: int, start: int, *, highest: float = math.inf) -> int:
    """Return the smallest integer above `low` at which the condition holds, or infinity if it fails at `highest`.

    The search begins at `start`.
    """
    return bisect_integers(condition, *bracket(condition, low, start, highest))
