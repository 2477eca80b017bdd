"""The noise laws as functions of floats: standard deviation, tails and densities, for intervals and for teaching.

Nothing here takes part in a release; the noise itself is drawn in integers by `toolkit.core.sampling`.
"""

import math
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, Protocol

import numpy as np

from toolkit.core.arrays import Array, ArrayLike
from toolkit.core.inference.intervals import Interval
from toolkit.core.inference.special import betainc, gammainccinv, gammaincinv, ndtr, ndtri, xlogy
from toolkit.core.search import bisect


class NoiseLaw(Protocol):
    """What an interval needs to know of one coordinate's noise."""

    @property
    def sd(self) -> float: ...

    def reach(self, level: float) -> float:
        """The least error with Pr[|noise| > error] <= 1 - level."""
        ...


@dataclass(frozen=True, eq=False)
class NoiseBasis:
    """A release and the law of its noise: the interval from the law itself, exact but for the grid's width."""

    value: float | Array
    law: NoiseLaw
    methods: tuple[str, ...] = ("noise",)
    equal_tails: ClassVar[bool] = True  # noise of either sign is equally probable

    def interval(self, level: float, method: str) -> Interval:
        reach = self.law.reach(level)
        return Interval(self.value - reach, self.value + reach, level, method)


@dataclass(frozen=True)
class LaplaceLaw:
    """Pr[|Y| >= t scale] = e**-t and E|Y| = scale. `grid` is the step between possible values."""

    scale: float
    grid: float = 0.0

    @property
    def sd(self) -> float:
        return math.sqrt(2) * self.scale

    def reach(self, level: float) -> float:
        return -self.scale * math.log1p(-level) + self.grid

    def density(self, x: ArrayLike) -> Array:
        return np.asarray(np.exp(-np.abs(np.asarray(x, dtype=float)) / self.scale) / (2 * self.scale))


@dataclass(frozen=True)
class GeometricLaw:
    """The same on the integers: Pr[k] = (1-q) / (1+q) q**|k| with q = e**(-1/scale)."""

    scale: float

    @cached_property
    def sd(self) -> float:
        """The root of 2 q / (1-q)**2, which is 1 / (sqrt(2) sinh(1 / (2 scale)))."""
        half = 0.5 / self.scale
        return 1 / (math.sqrt(2) * math.sinh(half)) if half < 700 else 0.0

    def tail(self, error: int) -> float:
        """Pr[|k| > error] = 2 q**(error+1) / (1+q)."""
        return 2 * math.exp(-(error + 1) / self.scale) / (1 + math.exp(-1 / self.scale))

    def reach(self, level: float) -> float:
        if self.scale > 1e12:  # the integers are then as good as the reals, and their error as good as whole
            return LaplaceLaw(self.scale, 1.0).reach(level)
        start = self.scale * (math.log(2) - math.log1p(-level) - math.log1p(math.exp(-1 / self.scale))) - 1
        error = max(0, math.floor(start) - 1)
        while self.tail(error) > 1 - level:
            error += 1
        return float(error)

    def pmf(self, k: ArrayLike) -> Array:
        return np.asarray(math.tanh(0.5 / self.scale) * np.exp(-np.abs(np.asarray(k, dtype=float)) / self.scale))


@dataclass(frozen=True)
class NormalLaw:
    """The Gaussian law. `grid` is the step between possible values."""

    sigma: float
    grid: float = 0.0

    @property
    def sd(self) -> float:
        return self.sigma

    def reach(self, level: float) -> float:
        return -self.sigma * float(ndtri((1 - level) / 2)) + self.grid

    def density(self, x: ArrayLike) -> Array:
        z = np.asarray(x, dtype=float) / self.sigma
        return np.asarray(np.exp(-(z**2) / 2) / (self.sigma * math.sqrt(2 * math.pi)))


@dataclass(frozen=True)
class RoundedNormalLaw:
    """Gaussian noise rounded to the nearest integer: Pr[k] = Phi((k + 1/2) / sigma) - Phi((k - 1/2) / sigma)."""

    sigma: float

    @cached_property
    def sd(self) -> float:
        """The root of sigma**2 + 1/12, to more digits than a float has once sigma is above 2; a sum below."""
        if self.sigma > 2:
            return math.sqrt(self.sigma**2 + 1 / 12)
        k = np.arange(1, 100)
        return math.sqrt(float(2 * np.sum(k**2 * self.pmf(k))))

    def reach(self, level: float) -> float:
        return float(max(0, math.ceil(-self.sigma * float(ndtri((1 - level) / 2)) - 0.5)))

    def pmf(self, k: ArrayLike) -> Array:
        size = np.abs(np.asarray(k, dtype=float))
        return np.asarray(ndtr((0.5 - size) / self.sigma) - ndtr((-0.5 - size) / self.sigma))


@dataclass(frozen=True)
class RadialLaw:
    """One coordinate of a vector with density proportional to e**(-length / scale), in two or more dimensions: the
    length is Gamma(dimension, scale), the direction uniform; a coordinate's variance is (dimension + 1) scale**2.
    """

    scale: float
    dimension: int
    grid: float = 0.0

    @property
    def sd(self) -> float:
        return math.sqrt(self.dimension + 1) * self.scale

    def length(self, level: float) -> float:
        """The length that the noise exceeds with probability 1 - level."""
        return self.scale * float(gammaincinv(self.dimension, level))

    def reach(self, level: float) -> float:
        """By bisection on the tail of one coordinate, an average over lengths of the share of directions beyond."""
        _, high = bisect(lambda error: self._tail(error) <= 1 - level, 0.0, self.length(level), close=1e-9)
        return float(high) + self.grid

    def _tail(self, error: float) -> float:
        d = self.dimension
        length = np.linspace(float(gammaincinv(d, 1e-15)), float(gammainccinv(d, 1e-15)), 4001)
        log_weight = xlogy(d - 1, length) - length
        weight = np.exp(log_weight - log_weight.max())
        weight[[0, -1]] /= 2
        cosine = np.minimum(error / self.scale / length, 1.0)
        share = 1 - betainc(0.5, (d - 1) / 2, cosine**2)
        return float(np.sum(weight * share) / np.sum(weight))
