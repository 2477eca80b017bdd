"""Means, variances, covariances and correlations from the noisy sums of a table's cells, with their errors.

All is computed from what was released, so none of it costs anything: a cell whose noisy number of values is
small, or negative, has a value within the bounds and a wide interval.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal, localcontext
from functools import cached_property, lru_cache, partial
from typing import Any

import numpy as np

from toolkit.central.noise.laws import GeometricLaw, NoiseLaw
from toolkit.central.tables.coding import Coding
from toolkit.core.arrays import Array
from toolkit.core.inference.intervals import Interval, Normal
from toolkit.core.inference.special import ndtr, ndtri

# The law of a combination of independent noises: its tail, and the error that it exceeds with a given probability.
#
# Noise is whole; a combination of Laplace noises is treated as if it were real, and moved by one step of each.

_SPREAD = Decimal("1e-4")


@np.errstate(over="ignore", under="ignore", divide="ignore", invalid="ignore")
def tail_of_two(law: NoiseLaw, first: Any, second: Any, error: Any) -> Array:
    """Pr[|first Z + second Z'| >= error] of two noises of one law, entry by entry; never too small."""
    a, b = np.abs(first), np.abs(second)
    t = np.maximum(np.abs(error) - (a + b), 0.0)
    if not isinstance(law, GeometricLaw):
        length = np.hypot(a, b) * law.sd
        return np.asarray(2 * ndtr(-np.divide(t, length, out=np.full(t.shape, np.inf), where=length > 0)))
    a, b = np.maximum(a, b) * law.scale, np.minimum(a, b) * law.scale
    a = np.maximum(a, np.finfo(float).tiny)
    near = a - b < 1e-4 * a
    lesser = np.where(near, 0.5 * a, b)  # the formula for unequal ones is not used there
    small = np.where(lesser > 0, np.exp(-t / np.maximum(lesser, np.finfo(float).tiny)), 0.0)
    unequal = (np.exp(-t / a) - (lesser / a) ** 2 * small) / (1 - (lesser / a) ** 2)
    return np.asarray(np.where(near, (1 + t / (2 * a)) * np.exp(-t / a), unequal))


def reach_of(law: NoiseLaw, factors: Sequence[float], level: float) -> float:
    """The error that a combination of independent noises exceeds with probability at most 1 - level."""
    sizes = tuple(sorted(abs(factor) for factor in factors if factor))
    if not isinstance(law, GeometricLaw):
        return -float(ndtri((1 - level) / 2)) * law.sd * math.hypot(*sizes) + sum(sizes)
    if len(sizes) == 1:
        return sizes[0] * law.reach(level)
    return _laplace_reach(law.scale, sizes, level)


@lru_cache(maxsize=512)  # it depends on public numbers alone, and the same are asked for again and again
def _laplace_reach(scale: float, sizes: tuple[float, ...], level: float) -> float:
    """Laplace noises with factors that differ have a tail in closed form; equal ones are first made a little
    larger, each by another ten-thousandth, which makes the tail larger, too.
    """
    with localcontext() as context:
        context.prec = 120
        scales = [Decimal(size) * Decimal(scale) * (1 + place * _SPREAD) for place, size in enumerate(sizes, start=1)]
        weights = [math.prod((a * a / (a * a - b * b) for b in scales if b is not a), start=Decimal(1)) for a in scales]
        low, high = Decimal(0), sum(scales) * (len(scales) / Decimal(1 - level)).ln()
        for _ in range(60):
            error = (low + high) / 2
            tail = sum(weight * (-error / size).exp() for weight, size in zip(weights, scales, strict=True))
            low, high = (error, high) if tail > Decimal(1 - level) else (low, error)
        return float(high) + sum(sizes)


def confidence_limits(tail: Any, best: Array, level: float) -> tuple[Array, Array]:
    """The least and the largest value from -1 to 1 that is not rejected, where `tail` gives the p-value of
    one; `best` is where that is largest on either side. Where all are rejected, the whole range.
    """
    ends = [np.full(best.shape, end) for end in (-1.0, 1.0)]
    allowed = 1 - level
    kept = [tail(end) >= allowed for end in ends]
    inside = tail(best) >= allowed
    anchor = np.where(inside, best, np.where(kept[0], -1.0, 1.0))
    found = []
    for end, keeps in zip(ends, kept, strict=True):
        out, good = end.copy(), anchor.copy()
        for _ in range(50):
            middle = (out + good) / 2
            yes = tail(middle) >= allowed
            out, good = np.where(yes, out, middle), np.where(yes, middle, good)
        found.append(np.where(keeps | ~(inside | kept[0] | kept[1]), end, good))
    return found[0], found[1]


@dataclass(frozen=True, eq=False)
class Moments:
    """Noisy sums of powers of t, from -1 to 1, a row per cell, and the noise they have in common.

    Parameters
    ----------
    sums : number, sum of t, …
    slopes : how each follows from the entries that were released, in units of their noise.
    law : of the noise of an entry.
    """

    sums: Array
    slopes: Array
    law: NoiseLaw

    @classmethod
    def of(cls, coding: Coding, noisy: list[int], law: NoiseLaw) -> "Moments":
        return cls(coding.moments(noisy), coding.slopes / coding.unit, law)

    @cached_property
    def number(self) -> Array:
        return self.sums[:, 0]

    @property
    def number_sd(self) -> float:
        return float(np.linalg.norm(self.slopes[0])) * self.law.sd

    def at_least(self, fewest: float) -> Array:
        return np.maximum(self.number, fewest)

    def error(self, gradient: Array) -> Array:
        """The standard error of a function of the sums, by its slopes in each, a row per cell."""
        along = gradient @ self.slopes
        return np.asarray(np.sqrt(np.add.reduce(along * along, axis=1)) * self.law.sd)

    def box(self, place: int, share: float) -> tuple[Array, Array]:
        """Limits of a sum that hold with probability `share`."""
        reach = reach_of(self.law, self.slopes[place].tolist(), share)
        return self.sums[:, place] - reach, self.sums[:, place] + reach


@dataclass(frozen=True, eq=False)
class CellEstimates:
    """Value, standard error and interval of each cell, in units in which a value lies from -1 to 1."""

    value: Array
    se: Array
    basis: "Limits"


@dataclass(frozen=True, eq=False)
class Limits:
    """Intervals from a function of the level; of one cell without an axis they are floats.

    An estimate keeps it and is handed on, pickled say: so the function is one of a module, with numbers that
    were released (`partial`), and never a closure, which would hold whatever else is in scope.
    """

    of: Callable[[float], tuple[Array, Array]]
    scalar: bool = False
    methods: tuple[str, ...] = ("noise",)

    def interval(self, level: float, method: str) -> Interval:
        low, high = self.of(level)
        if self.scalar:
            return Interval(float(low[0]), float(high[0]), level, method)
        return Interval(low, high, level, method)


def counts(moments: Moments) -> CellEstimates:
    """The number of values, which comes with a mean."""
    se = np.full(len(moments.number), moments.number_sd)
    return CellEstimates(moments.number, se, Limits(partial(moments.box, 0)))


def mean(moments: Moments) -> CellEstimates:
    """The mean of t. Its interval holds every m for which the sum of t, less m times the number, is no
    further from 0 than the noise of just that combination: exact, whatever the number. Where no m is left, it
    is the whole range.
    """
    number = moments.at_least(1.0)
    value = np.clip(moments.sums[:, 1] / number, -1, 1)
    se = moments.error(np.stack([-value, np.ones_like(value)], axis=1)) / number
    return CellEstimates(value, se, Limits(partial(_mean_limits, moments)))


def _mean_limits(moments: Moments, level: float) -> tuple[Array, Array]:
    (n0, n1), (t0, t1) = moments.slopes[:2]

    def tail(m: Array) -> Array:
        return tail_of_two(moments.law, t0 - m * n0, t1 - m * n1, moments.sums[:, 1] - m * moments.number)

    best = np.clip(moments.sums[:, 1] / np.where(moments.number == 0, 1.0, moments.number), -1, 1)
    return confidence_limits(tail, best, level)


def variance(moments: Moments) -> CellEstimates:
    """The sample variance of t: limits from those of number, sum and sum of squares together, so the level is
    guaranteed.
    """
    number, freedom = moments.at_least(2.0), moments.at_least(2.0) - 1
    middle = moments.sums[:, 1] / number
    plain = np.clip(moments.sums[:, 2] / number - middle**2, 0, 1)
    gradient = np.stack([plain * number / freedom - middle**2, 2 * middle, np.ones_like(middle)], axis=1)

    return CellEstimates(
        plain * number / freedom, moments.error(gradient) / freedom, Limits(partial(_variance_limits, moments))
    )


def _variance_limits(moments: Moments, level: float) -> tuple[Array, Array]:
    share = 1 - (1 - level) / 3
    (fewest, most), first, second = (moments.box(place, share) for place in range(3))
    sizes = np.maximum(fewest, 2.0), np.maximum(most, 2.0)
    means, squares = _extremes(first, sizes), _extremes(second, sizes)
    spread = np.maximum(means[0] ** 2, means[1] ** 2)
    least = np.where((means[0] <= 0) & (means[1] >= 0), 0.0, np.minimum(means[0] ** 2, means[1] ** 2))
    low, high = np.clip(squares[0] - spread, 0, 1), np.clip(squares[1] - least, 0, 1)
    # The more values, the less their sample variance is above their variance.
    return low * sizes[1] / (sizes[1] - 1), high * sizes[0] / (sizes[0] - 1)


# Places of 1, y, y**2, x, x y, … among the sums of a pair.
_ONE, _Y, _YY, _X, _XY, _XX = 0, 1, 2, 3, 4, 6


def covariance(moments: Moments) -> CellEstimates:
    """The sample covariance of two t: limits as for a variance."""
    number, freedom = moments.at_least(2.0), moments.at_least(2.0) - 1
    x, y = (moments.sums[:, place] / number for place in (_X, _Y))
    plain = np.clip(moments.sums[:, _XY] / number - x * y, -1, 1)
    gradient = np.zeros((len(number), 9))
    for place, slope in ((_ONE, -plain * number / freedom + x * y), (_X, -y), (_Y, -x), (_XY, np.ones_like(x))):
        gradient[:, place] = slope

    return CellEstimates(
        plain * number / freedom, moments.error(gradient) / freedom, Limits(partial(_covariance_limits, moments))
    )


def _covariance_limits(moments: Moments, level: float) -> tuple[Array, Array]:
    share = 1 - (1 - level) / 4
    fewest, most = moments.box(_ONE, share)
    sizes = np.maximum(fewest, 2.0), np.maximum(most, 2.0)
    one, other, both = (_extremes(moments.box(place, share), sizes) for place in (_X, _Y, _XY))
    products = np.array([a * b for a in one for b in other])
    low, high = both[0] - products.max(axis=0), both[1] - products.min(axis=0)
    wide = sizes[0] / (sizes[0] - 1)  # at most so much larger than the covariance divided by n
    return np.maximum(low, -1) * np.where(low < 0, wide, 1), np.minimum(high, 1) * np.where(high > 0, wide, 1)


def correlation(moments: Moments) -> CellEstimates:
    """The correlation, NaN where a noisy variance is not above 0; its interval is that of the linear error,
    cut to -1 … 1: near its level, not guaranteed.
    """
    number = moments.at_least(2.0)
    x, y, xx, yy, xy = (moments.sums[:, place] / number for place in (_X, _Y, _XX, _YY, _XY))
    one, other = (np.where(v > 0, v, np.nan) for v in (xx - x**2, yy - y**2))
    plain = (xy - x * y) / np.sqrt(one * other)
    gradient = np.zeros((len(number), 9))
    root = np.sqrt(one * other)
    gradient[:, _XY] = 1 / root
    gradient[:, _XX], gradient[:, _YY] = -plain / (2 * one), -plain / (2 * other)
    gradient[:, _X] = -y / root + plain * x / one
    gradient[:, _Y] = -x / root + plain * y / other
    gradient[:, _ONE] = -(gradient[:, 1:] * moments.sums[:, 1:]).sum(axis=1) / number
    value, se = np.clip(plain, -1, 1), moments.error(gradient) / number
    linear = Normal(value, se, within=(-1.0, 1.0))
    return CellEstimates(value, se, Limits(partial(_normal_limits, linear), methods=("linear",)))


def _normal_limits(linear: Normal, level: float) -> tuple[Array, Array]:
    low, high = linear.interval(level, "wald")
    return np.asarray(low), np.asarray(high)


def _extremes(box: tuple[Array, Array], sizes: tuple[Array, Array]) -> tuple[Array, Array]:
    """Of a sum between limits, divided by a positive number between limits."""
    quotients = np.array([end / size for end in box for size in sizes])
    return quotients.min(axis=0), quotients.max(axis=0)
