"""The push of objective perturbation: a random vector that hides a shift by what one person can do.

Two laws keep to Pure(epsilon). `Ball`: one person shifts the push by at most 2 in length; its length is near
Gamma(d, 2 / epsilon), the direction near uniform. `Cube`: one person shifts each entry by at most 2 `widest`,
where no row has a larger entry; its largest entry is near Gamma(d, 2 widest / epsilon). For columns with
bounds, no entry is larger than 1 / sqrt(d), and the variance of the second is a third of the first's
(Awan and Slavković 2021: the best norm is that of what one person can do). `Normal` keeps to Approx, with
discrete Gaussian noise on each entry (`renyi`). What is Pure(epsilon) is Approx(epsilon, delta) as well: of
all laws that keep to a loss, the one with the smallest variance is taken.
"""

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import TypeAlias

import numpy as np

from toolkit.central.laplace import Laplace
from toolkit.core.arrays import Array
from toolkit.core.checks import Number, positive, refuse, whole
from toolkit.core.randomness import Rng, below, big_below
from toolkit.core.sampling.enclosure import floor_log2
from toolkit.core.sampling.noise import Integers, gaussian_sampler, laplace_sampler

# What Gaussian noise inside an objective costs, by Rényi's divergence of all orders, and the noise for a given cost.
#
# For neighbors that differ in one replaced row, Redberg, Koskela and Wang (2023) has its divergence of order t + 1
# below
#
#     determinants + 4 / (2 sigma**2) + ln E[e**(t |N(0, 4 / sigma**2)|)] / t,
#
# as the push p changes by g x - g' x' with |g|, |g'| at most 1, |p . (g x - g' x')| <= |p . x| + |p . x'|, and the
# inequality of Cauchy and Schwarz. E[e**(t |N|)] is at most 2 e**(2 t**2 / sigma**2), also for the discrete Gaussian
# on a grid. There the change is a whole number of cells: a coordinate of it is wrong by up to a cell, which costs
# |p_1| + … + |p_k| cells more. Hölder's inequality with 2**-20 for that term gives the small terms below.

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


# Integer vectors with Pr[k] proportional to e**(-m / scale), m the largest size of an entry: exact, in any dimension.
#
# It is the noise for numbers that one person moves by at most so much each, all of them at once. The cubes {-r … r}**d
# lie in one another, and e**(-m / scale) is (1 - q) times the sum of q**r over all r >= m, q = e**(-1 / scale). So a
# radius r is drawn with weight (2 r + 1)**d q**r, and then a vector of its cube, each with the same probability.
#
# **The radius.** d + 1 independent numbers with Pr[g] proportional to q**g, those of the two-sided law that are not
# negative, add up to r with weight (r + 1) (r + 2) … (r + d) q**r / d!. It is kept with probability (2 r + 1) / (2 r +
# 2 i) for each i = 1 … d, which leaves (2 r + 1)**d q**r times a constant.


def cubic_laplace(scale: Number, dimension: int, rng: Rng = None) -> Integers:
    """One vector of integers, Pr[k] proportional to e**(-max |k_i| / scale), for a scale of at least the
    dimension.

    >>> len(cubic_laplace(2**20, 3))
    3
    """
    unit, size = positive(scale, "scale"), whole(dimension, "dimension")
    if unit < size:
        refuse("`scale` must be at least the dimension", float(unit), "choose a finer grid")
    sampler = laplace_sampler(unit)
    while True:
        radius = 0
        missing = size + 1
        while missing:
            drawn = sampler.draw(missing, rng)
            kept = drawn[drawn >= 0]
            radius, missing = radius + int(kept.sum()), missing - len(kept)
        if all(big_below(2 * (radius + i), rng) <= 2 * radius for i in range(1, size + 1)):
            return _of_cube(radius, size, rng)


def _of_cube(radius: int, size: int, rng: Rng) -> Integers:
    """`size` integers, each uniform on -radius … radius."""
    width = 2 * radius + 1
    if radius < 2**62:
        return below(width, size, rng).astype(np.int64) - radius
    return np.array([*(big_below(width, rng) - radius for _ in range(size)), None], dtype=object)[:-1]


GRID = 30  # the grid is finer than the noise and than the shift by so many powers of two


@dataclass(frozen=True)
class Ball:
    """Noise for a shift of at most 2 in length."""

    epsilon: Fraction
    size: int

    @cached_property
    def _law(self) -> Laplace:
        return Laplace.for_epsilon(self.epsilon, sensitivity=2, norm="l2")

    @property
    def scale(self) -> float:
        return self._law.scale

    @property
    def spread(self) -> float:
        """The standard deviation of an entry."""
        return math.sqrt(self.size + 1) * self.scale

    @property
    def longest(self) -> float:
        """A length that is exceeded four times over with a probability below e**-100."""
        return (self.size + 50) * self.scale

    def draw(self, rng: Rng) -> Array:
        return np.asarray(self._law.release(np.zeros(self.size), rng).value)


@dataclass(frozen=True)
class Cube:
    """Noise for a shift of at most 2 `widest` in each entry, on a grid.

    Spread evenly over its cell, a shift of the push moves each entry by at most `shift` cells, the shift
    rounded up: so a density of e**(-largest entry / scale), counted in cells, moves by e**(shift / scale).
    """

    epsilon: Fraction
    size: int
    widest: float

    @cached_property
    def exponent(self) -> int:
        """Of the cell, a power of two."""
        reach = 2 * Fraction(self.widest)
        return floor_log2(min(reach, reach / self.epsilon)) - GRID - self.size.bit_length()

    @cached_property
    def shift(self) -> int:
        """How far one person can move an entry, in cells."""
        return math.ceil(2 * Fraction(self.widest) / Fraction(2) ** self.exponent)

    @property
    def scale(self) -> float:
        return float(self.shift / self.epsilon * Fraction(2) ** self.exponent)

    @property
    def spread(self) -> float:
        """The standard deviation of an entry: uniform in a cube whose radius is Gamma(d + 1, scale)."""
        return math.sqrt((self.size + 1) * (self.size + 2) / 3) * self.scale

    @property
    def longest(self) -> float:
        """A length that is exceeded four times over with a probability below e**-100."""
        return math.sqrt(self.size) * (self.size + 51) * self.scale

    def draw(self, rng: Rng) -> Array:
        cells = cubic_laplace(self.shift / self.epsilon, self.size, rng)
        return np.asarray(np.ldexp(cells.astype(float), self.exponent))


@dataclass(frozen=True)
class Normal:
    """Gaussian noise, on a grid, for a shift of at most 2 in length and what the determinants cost."""

    epsilon: Fraction
    size: int
    delta: float
    determinants: float

    @cached_property
    def spread(self) -> float:
        """The standard deviation of an entry."""
        return least_sigma(float(self.epsilon), self.delta, self.determinants, self.size)

    @property
    def longest(self) -> float:
        """A length that is exceeded four times over with a probability below e**-100."""
        return (math.sqrt(self.size) + 12) * self.spread

    def draw(self, rng: Rng) -> Array:
        sigma = Fraction(self.spread)
        exponent = floor_log2(sigma) - GRID
        cells = gaussian_sampler((sigma / Fraction(2) ** exponent) ** 2).draw(self.size, rng)
        return np.asarray(np.ldexp(cells.astype(float), exponent))


Push: TypeAlias = Ball | Cube | Normal


def push_law(epsilon: Fraction, determinants: float, size: int, widest: float, delta: float = 0.0) -> Push:
    """The law with the smallest variance: known from public numbers alone. What the determinants cost is
    taken from epsilon.

    >>> [type(push_law(Fraction(1), 0.1, 9, widest)).__name__ for widest in (1 / 3, 1.0)]
    ['Cube', 'Ball']
    """
    left = epsilon - Fraction(determinants)
    laws: list[Push] = [Ball(left, size), Cube(left, size, widest)]
    if delta:
        laws.append(Normal(epsilon, size, delta, determinants))
    return min(laws, key=lambda law: law.spread)
