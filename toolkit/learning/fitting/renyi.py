"""What Gaussian noise inside an objective costs, by Rényi's divergence of all orders, and the noise for a
given cost.

For neighbours that differ in one replaced row, Redberg, Koskela and Wang (2023) has its divergence of order
t + 1 below

    determinants + 4 / (2 sigma**2) + ln E[e**(t |N(0, 4 / sigma**2)|)] / t,

as the push p changes by g x - g' x' with |g|, |g'| at most 1, |p . (g x - g' x')| <= |p . x| + |p . x'|, and
the inequality of Cauchy and Schwarz. E[e**(t |N|)] is at most 2 e**(2 t**2 / sigma**2), also for the discrete
Gaussian on a grid. There the change is a whole number of cells: a coordinate of it is wrong by up to a cell,
which costs |p_1| + … + |p_k| cells more. Hölder's inequality with 2**-20 for that term gives the small terms
below.
"""

import math
from functools import lru_cache

_HELD = 2.0**-20  # the exponent that Hölder's inequality leaves to the cells
_CELL = 2.0**-30  # of the grid, in units of sigma, at most
_MOST = 2.0**60  # of sigma: a billion billion people would not outweigh it
_CAUTION = 1 + 1e-9  # more than the rounding of all that is computed here


def divergence(t: float, sigma: float, determinants: float, size: int) -> float:
    """The bound of order t + 1.

    >>> round(divergence(10, 9.34, 0.0, 1), 3)
    0.322
    """
    shift = (2 + math.sqrt(size) * _CELL * sigma) ** 2 / (2 * sigma**2)
    rows = math.log(2) * (1 + size * _HELD) + 2 * t**2 / sigma**2 / (1 - _HELD)
    cells = size * t**2 * _CELL**2 / _HELD / 2
    return (determinants + shift + (rows + cells) / t) * _CAUTION


def objective_epsilon(sigma: float, delta: float, determinants: float, size: int) -> float:
    """The smallest epsilon over all orders, by the conversion of Canonne, Kamath and Steinke (2020).

    >>> round(objective_epsilon(9.34, 1e-6, 0.0, 1), 2)
    1.0
    """

    def at(position: float) -> float:
        t = math.exp(position)
        bound = divergence(t, sigma, determinants, size)
        return bound + (-math.log(delta) - math.log1p(t)) / t - math.log1p(1 / t)

    low, high, ratio = -5.0, 25.0, (math.sqrt(5) - 1) / 2
    for _ in range(100):  # golden section; every order is a valid bound, so nothing depends on the best one
        left, right = high - ratio * (high - low), low + ratio * (high - low)
        low, high = (low, right) if at(left) <= at(right) else (left, high)
    return at((low + high) / 2) + 1e-9


@lru_cache(maxsize=64)
def least_sigma(epsilon: float, delta: float, determinants: float, size: int) -> float:
    """The smallest noise, to nine digits, that costs no more than epsilon at delta; infinite where epsilon is
    so small that what is computed here cannot tell.

    >>> [round(least_sigma(epsilon, 1e-6, 0.0, 1), 1) for epsilon in (0.5, 1, 2)]
    [17.9, 9.3, 4.9]
    """
    low, high = 0.0, 1.0
    while objective_epsilon(high, delta, determinants, size) > epsilon:
        low, high = high, 2 * high
        if high > _MOST:
            return math.inf
    while high - low > 1e-9 * high:
        middle = (low + high) / 2
        enough = objective_epsilon(middle, delta, determinants, size) <= epsilon
        low, high = (low, middle) if enough else (middle, high)
    return high
