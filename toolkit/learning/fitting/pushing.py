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
from functools import cached_property
from typing import TypeAlias

import numpy as np

from toolkit.central.laplace import Laplace
from toolkit.core.arrays import Array
from toolkit.core.randomness import Rng
from toolkit.core.sampling.cubic_laplace import cubic_laplace
from toolkit.core.sampling.enclosure import floor_log2
from toolkit.core.sampling.noise import gaussian_sampler
from toolkit.learning.fitting.renyi import least_sigma

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
