"""Find the point at which a monotone condition begins to hold, by bisection of numbers, integers and arrays.

`scipy.optimize` finds the root of a function. Here the answer must lie on the safe side of it, and the condition is
often a proof in exact arithmetic, or defined for whole numbers alone. So each function returns a number at which the
condition was seen to hold.
"""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from toolkit.core.arrays import Array

# More halvings than are needed to get from the largest float to the smallest.
_MOST_ROUNDS = 2200


def bracket(holds: Callable[[Any], bool], low: Any, high: Any, most: float = math.inf) -> tuple[Any, Any]:
    """Double `high` until the condition holds there; return the number before it and this number.

    If the condition does not hold at `most` either, they are `most` and infinity.
    """
    high = min(high, most)
    while not holds(high):
        low, high = (high, min(2 * high, most)) if high < most else (high, math.inf)
        if math.isinf(high):
            break
    return low, high


def bisect(
    holds: Callable[[Any], bool], low: Any, high: Any, *, close: float = 0, rounds: int = _MOST_ROUNDS
) -> tuple[Any, Any]:
    """Narrow the interval between two numbers, where the condition holds at `high` and not at `low`.

    Either may be the larger one; both may be decimals. The search ends when they differ by at most `close` times
    `high`, when no float is left between them, or after `rounds` evaluations.
    """
    for _ in range(rounds):
        middle = (low + high) / 2
        if abs(high - low) <= close * abs(high) or middle in (low, high):
            break
        low, high = (low, middle) if holds(middle) else (middle, high)
    return low, high


def bisect_each(
    holds: Callable[[Array], npt.NDArray[np.bool_]], low: Array, high: Array, *, rounds: int = 60
) -> tuple[Array, Array]:
    """Bisect entry by entry of two arrays, in a fixed number of rounds."""
    for _ in range(rounds):
        middle = (low + high) / 2
        mask = holds(middle)
        low, high = np.where(mask, low, middle), np.where(mask, middle, high)
    return low, high


def bisect_whole(holds: Callable[[int], bool], low: int, high: int, *, digits: int | None = None) -> int:
    """Return the least whole number above `low` where the condition holds, as it does at `high`.

    With `digits`, a number at most one unit of the last of these digits above it is good enough.
    """
    while high - low > (1 if digits is None else max(1, high // 10**digits)):
        middle = (low + high) // 2
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high


def least(holds: Callable[[float], bool], low: float, high: float, *, close: float, most: float = math.inf) -> float:
    """Return the least number above `low` where the condition holds, from above, to the share `close`.

    It is sought from `high` on, and infinite if the condition does not hold at `most`.
    """
    return float(bisect(holds, *bracket(holds, low, high, most), close=close)[1])


def least_whole(holds: Callable[[int], bool], low: int, high: int, *, most: float = math.inf) -> int:
    """Return the least whole number above `low` from which on the condition holds, sought from `high` up to `most`."""
    return bisect_whole(holds, *bracket(holds, low, high, most))
