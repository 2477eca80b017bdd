"""Distributions of noise in floating point: standard deviations, quantiles and densities, for intervals and teaching.

No release draws noise with these functions; `toolkit.core.sampling` draws the noise in integers.
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
    """The properties of the noise on one coordinate that intervals need."""

    @property
    def sd(self) -> float: ...

    def two_sided_quantile(self, level: float) -> float:
        """Return the two-sided quantile: the smallest error with Pr[|noise| > error] <= 1 - level."""
        ...


@dataclass(frozen=True, eq=False)
class NoiseBasis:
    """A released value and its noise distribution, whose quantiles give intervals that are exact to one grid step."""

    value: float | Array
    law: NoiseLaw
    methods: tuple[str, ...] = ("noise",)
    equal_tails: ClassVar[bool] = True  # the noise is symmetric

    def interval(self, level: float, method: str) -> Interval:
        quantile = self.law.two_sided_quantile(level)
        return Interval(self.value - quantile, self.value + quantile, level, method)


@dataclass(frozen=True)
class LaplaceLaw:
    """The Laplace distribution, with Pr[|Y| >= t scale] = e**-t; `grid_step` is the step between possible values."""

    scale: float
    grid_step: float = 0.0

    @property
    def sd(self) -> float:
        return math.sqrt(2) * self.scale

    def two_sided_quantile(self, level: float) -> float:
        return -self.scale * math.log1p(-level) + self.grid_step

    def density(self, x: ArrayLike) -> Array:
        return np.asarray(np.exp(-np.abs(np.asarray(x, dtype=float)) / self.scale) / (2 * self.scale))


@dataclass(frozen=True)
class GeometricLaw:
    """The two-sided geometric distribution, with Pr[k] = (1-q) / (1+q) q**|k| and q = e**(-1/scale)."""

    scale: float

    @cached_property
    def sd(self) -> float:
        """The standard deviation, sqrt(2 q) / (1-q), which equals 1 / (sqrt(2) sinh(1 / (2 scale)))."""
        half = 0.5 / self.scale
        return 1 / (math.sqrt(2) * math.sinh(half)) if half < 700 else 0.0

    def tail_probability(self, error: int) -> float:
        """Return Pr[|k| > error] = 2 q**(error+1) / (1+q)."""
        return 2 * math.exp(-(error + 1) / self.scale) / (1 + math.exp(-1 / self.scale))

    def two_sided_quantile(self, level: float) -> float:
        if self.scale > 1e12:  # the step of 1 is negligible, and floats of this size are integers
            return LaplaceLaw(self.scale, 1.0).two_sided_quantile(level)
        start = self.scale * (math.log(2) - math.log1p(-level) - math.log1p(math.exp(-1 / self.scale))) - 1
        error = max(0, math.floor(start) - 1)
        while self.tail_probability(error) > 1 - level:
            error += 1
        return float(error)

    def pmf(self, k: ArrayLike) -> Array:
        return np.asarray(math.tanh(0.5 / self.scale) * np.exp(-np.abs(np.asarray(k, dtype=float)) / self.scale))


@dataclass(frozen=True)
class NormalLaw:
    """The normal distribution; `grid_step` is the step between possible values."""

    sigma: float
    grid_step: float = 0.0

    @property
    def sd(self) -> float:
        return self.sigma

    def two_sided_quantile(self, level: float) -> float:
        return -self.sigma * float(ndtri((1 - level) / 2)) + self.grid_step

    def density(self, x: ArrayLike) -> Array:
        z = np.asarray(x, dtype=float) / self.sigma
        return np.asarray(np.exp(-(z**2) / 2) / (self.sigma * math.sqrt(2 * math.pi)))


@dataclass(frozen=True)
class RoundedNormalLaw:
    """The distribution of rounded Gaussian noise, Pr[k] = Phi((k + 1/2) / sigma) - Phi((k - 1/2) / sigma)."""

    sigma: float

    @cached_property
    def sd(self) -> float:
        """The standard deviation: a sum, or sqrt(sigma**2 + 1/12), which is accurate for sigma above 2."""
        if self.sigma > 2:
            return math.sqrt(self.sigma**2 + 1 / 12)
        k = np.arange(1, 100)
        return math.sqrt(float(2 * np.sum(k**2 * self.pmf(k))))

    def two_sided_quantile(self, level: float) -> float:
        return float(max(0, math.ceil(-self.sigma * float(ndtri((1 - level) / 2)) - 0.5)))

    def pmf(self, k: ArrayLike) -> Array:
        size = np.abs(np.asarray(k, dtype=float))
        return np.asarray(ndtr((0.5 - size) / self.sigma) - ndtr((-0.5 - size) / self.sigma))


@dataclass(frozen=True)
class RadialLaw:
    """The distribution of one coordinate of a noise vector with density proportional to e**(-length / scale).

    For `dimension` >= 2, the length is Gamma(dimension, scale) and the direction is uniform. The variance of a
    coordinate is (dimension + 1) scale**2.
    """

    scale: float
    dimension: int
    grid_step: float = 0.0

    @property
    def sd(self) -> float:
        return math.sqrt(self.dimension + 1) * self.scale

    def length_quantile(self, level: float) -> float:
        """Return the length that the noise exceeds with probability 1 - level."""
        return self.scale * float(gammaincinv(self.dimension, level))

    def two_sided_quantile(self, level: float) -> float:
        """Return the two-sided quantile, found by bisection on the tail probability."""
        _, high = bisect(
            lambda error: self._tail_probability(error) <= 1 - level, 0.0, self.length_quantile(level), rtol=1e-9
        )
        return float(high) + self.grid_step

    def _tail_probability(self, error: float) -> float:
        # Pr[|coordinate| > error], averaged over the length of the vector.
        d = self.dimension
        length = np.linspace(float(gammaincinv(d, 1e-15)), float(gammainccinv(d, 1e-15)), 4001)
        log_weight = xlogy(d - 1, length) - length
        weight = np.exp(log_weight - log_weight.max())
        weight[[0, -1]] /= 2
        cosine = np.minimum(error / self.scale / length, 1.0)
        share = 1 - betainc(0.5, (d - 1) / 2, cosine**2)
        return float(np.sum(weight * share) / np.sum(weight))
