"""Means, variances, covariances and correlations of a table's cells: coded as sums of integers, and estimated from
these sums with noise.

For each row there are terms that are not negative and add up to one unit. With t from -1 to 1 for a value between its
bounds, a row adds (1-t)/2 and (1+t)/2 for a mean, and ((1-t)/2)**2, (1-t)(1+t)/2 and ((1+t)/2)**2 for a variance: one
unit in all, so one person who comes or goes moves the whole vector by 1 in L1, and the count comes with it.
(Fitzsimons, Honaker, Shoemate and Singhal 2024; Kulesza, Suresh and Wang 2024.) Where only one cell is, and a record
changes, other coordinates are better with Laplace noise: count and centred sum lie apart, and only one of them moves
within the cell.

Estimates are computed from what was released, so none of them costs anything: a cell whose noisy number of values is
small, or negative, has a value within the bounds and a wide interval.
"""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal, localcontext
from fractions import Fraction
from functools import cached_property, lru_cache, partial, reduce
from operator import add
from typing import Any, TypeAlias, cast

import numpy as np

from toolkit.central.gaussian import Gaussian
from toolkit.central.laplace import Laplace
from toolkit.central.noise.laws import GeometricLaw, NoiseLaw
from toolkit.central.release import CellNoise
from toolkit.central.sensitivity import Sensitivity, table_shares
from toolkit.core.arrays import Array, ArrayLike
from toolkit.core.covers import NOISE
from toolkit.core.estimate import Estimate
from toolkit.core.inference.intervals import Interval, Normal
from toolkit.core.inference.special import ndtr, ndtri
from toolkit.core.loss import Loss, Zcdp
from toolkit.core.randomness import Rng
from toolkit.core.search import bisect, bisect_each
from toolkit.frames.persons import ONE, Caps


@dataclass(frozen=True)
class Composed:
    """Several mechanisms as one: their losses add up, and each draws for its own value."""

    parts: tuple[Laplace | Gaussian, ...]

    @property
    def loss(self) -> Loss:
        return reduce(add, (part.loss for part in self.parts))

    @property
    def zcdp(self) -> Zcdp:
        """The parts' concentrated costs added up: less than what the sum of their epsilons would cost."""
        costs = (part.zcdp if isinstance(part, Gaussian) else part.loss.to_zcdp() for part in self.parts)
        return Zcdp(sum((Fraction(cost.amount) for cost in costs), Fraction(0)))

    def _describe(self) -> dict[str, Any]:
        parts = [part._describe() | {"loss": str(part.loss)} for part in self.parts]
        words = f"{type(self.parts[0]).__name__} noise for each column"
        return {"mechanism": type(self).__name__, "words": words, "parts": parts}

    def release(self, value: Any, rng: Rng = None) -> tuple[Estimate, ...]:
        return tuple(part.release(number, rng=rng) for part, number in zip(self.parts, value, strict=True))


Matrix = tuple[tuple[Fraction | int, ...], ...]

_HALF = Fraction(1, 2)


_EVEN = {2: (1.0, 0.0), 3: (1.0, 0.0, 1 / 3), 9: (1.0, 0.0, 1 / 3, 0.0, 0.0, 0.0, 1 / 3, 0.0, 1 / 9)}
"""Sums of powers of numbers, and of pairs, that are spread evenly from -1 to 1."""

_MOST_COVARIANCES = 1000


@dataclass(frozen=True, eq=False)
class MomentStatistic:
    """Sums of powers of the values of each cell, coded as whole numbers, and what is estimated from them with noise.

    Parameters
    ----------
    terms : the whole combinations of the sums of powers of steps that are released.
    back : takes them, divided by `unit`, to the sums of powers of t, the number first.
    unit : what a row adds to all terms together.
    sensitivity : how far one person can move all terms of all cells.
    estimator : computes a statistic of t in each cell.
    factor, offset, within : in the column's unit it is offset + factor * estimate, clipped to `within`.
    """

    terms: Matrix
    back: Matrix
    unit: int
    sensitivity: Sensitivity
    estimator: Callable[["NoisyMoments"], "CellEstimates"]
    factor: float = 1.0
    offset: float = 0.0
    within: tuple[float, float] = (-math.inf, math.inf)

    def integers(self, cells: Iterable[Sequence[int]]) -> list[int]:
        """The terms of each cell, one cell after the other, from its sums of powers."""
        factors = np.array([[int(factor) for factor in term] for term in self.terms], dtype=object)
        powers = np.array(cells, dtype=object).reshape(-1, factors.shape[1])  # Python's integers, without a limit
        return list((powers @ factors.T).ravel().tolist())

    @cached_property
    def slopes(self) -> Array:
        """How much each sum of powers of t, a row, grows with each term over its unit."""
        return np.array([[float(factor) for factor in row] for row in self.back])

    def moments(self, noisy: Sequence[int], law: NoiseLaw) -> "NoisyMoments":
        """The sums of powers of t from terms with noise, a row per cell."""
        shares = np.array([entry / self.unit for entry in noisy]).reshape(-1, len(self.terms))
        return NoisyMoments(shares @ self.slopes.T, self.slopes / self.unit, law)

    def estimate(self, noisy: Sequence[int], law: NoiseLaw, *, scalar: bool) -> Estimate:
        """The estimate of each cell, and with it the number of values, rounded as people are whole."""
        moments = self.moments(noisy, law)
        number = counts(moments)
        if np.all(np.abs(number.value) < 2**62):
            number = replace(number, value=np.rint(number.value).astype(np.int64))
        cells = self.estimator(moments).rescaled(self.factor, self.offset, self.within)
        return cells.estimate(scalar=scalar, counts=number.estimate(scalar=scalar))

    def noise(self, law: NoiseLaw) -> CellNoise:
        """The standard error of a cell, times the number of values, if these are many and spread evenly."""
        many = 1e9
        moments = NoisyMoments(many * np.array([_EVEN[len(self.back)]]), self.slopes / self.unit, law)
        return CellNoise(per_value=many * self.factor * float(self.estimator(moments).se[0]))


@lru_cache(maxsize=128)
def first_order(span: int, cells: int, neighbors: str, caps: Caps = ONE, *, laplace: bool = True) -> MomentStatistic:
    """For counts and means, from number and sum of steps, 0 … span."""
    if laplace and cells == 1 and neighbors == "replace":
        reach = Sensitivity(Fraction(2 * span * caps.most(1)), Fraction(2 * span * caps.most(1)) ** 2, neighbors)
        return MomentStatistic(((span, 0), (-span, 2)), ((1, 0), (0, 1)), span, reach, mean)
    reach = _times(table_shares(cells, neighbors, caps), span)
    return MomentStatistic(((span, -1), (0, 1)), ((1, 1), (-1, 1)), span, reach, mean)


@lru_cache(maxsize=128)
def second_order(span: int, cells: int, neighbors: str, caps: Caps = ONE, *, laplace: bool = True) -> MomentStatistic:
    """For variances, from number, sum and sum of squares of steps.

    In one cell under "replace" with Laplace noise the entries are 2, 2t and 2t**2 - 1 a row: coming or going
    moves them by at most 5, a change from t to t' by 2|t-t'|(1 + |t+t'|), at most 4.5.
    """
    square = span**2
    if laplace and cells == 1 and neighbors == "replace":
        most = Fraction(5 * square * caps.most(1))
        terms = ((2 * square, 0, 0), (-2 * square, 4 * span, 0), (square, -8 * span, 8))
        back = ((_HALF, 0, 0), (0, _HALF, 0), (Fraction(1, 4), 0, _HALF))
        return MomentStatistic(terms, back, square, Sensitivity(most, most**2, neighbors), variance)
    reach = _times(table_shares(cells, neighbors, caps), square)
    return MomentStatistic(_bernstein(span), _BACK, square, reach, variance)


@lru_cache(maxsize=128)
def pairs(spans: tuple[int, int], cells: int, neighbors: str, caps: Caps = ONE) -> MomentStatistic:
    """For covariances, from the sums of all products of powers up to 2 of two steps: 1, y, y**2, x, x y, …"""
    first, second = (_bernstein(span) for span in spans)
    unit = spans[0] ** 2 * spans[1] ** 2
    reach = _times(table_shares(cells, neighbors, caps), unit)
    return MomentStatistic(_product(first, second), _product(_BACK, _BACK), unit, reach, covariance)


_BACK: Matrix = ((1, 1, 1), (-1, 0, 1), (1, -1, 1))


def _bernstein(span: int) -> Matrix:
    return ((span**2, -2 * span, 1), (0, 2 * span, -2), (0, 0, 1))


def _product(first: Matrix, second: Matrix) -> Matrix:
    return tuple(tuple(a * b for a in row for b in other) for row in first for other in second)


def _times(reach: Sensitivity, unit: int) -> Sensitivity:
    return Sensitivity(reach.l1 * unit, reach.l2_squared * unit**2, reach.neighbors)


# The law of a combination of independent noises: its tail, and the error that it exceeds with a given probability.
#
# Noise is whole; a combination of Laplace noises is treated as if it were real, and moved by one step of each.

_SPREAD = Decimal("1e-4")


@np.errstate(over="ignore", under="ignore", divide="ignore", invalid="ignore")
def tail_of_two(law: NoiseLaw, first: ArrayLike, second: ArrayLike, error: ArrayLike) -> Array:
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
    """Differing factors have a tail in closed form; equal ones are made a little larger, and so the tail."""
    with localcontext() as context:
        context.prec = 120
        scales = [Decimal(size) * Decimal(scale) * (1 + place * _SPREAD) for place, size in enumerate(sizes, start=1)]
        weights = [math.prod((a * a / (a * a - b * b) for b in scales if b is not a), start=Decimal(1)) for a in scales]

        def rare(error: Decimal) -> bool:
            tail = sum(weight * (-error / size).exp() for weight, size in zip(weights, scales, strict=True))
            return tail <= Decimal(1 - level)

        most = sum(scales) * (len(scales) / Decimal(1 - level)).ln()
        return float(bisect(rare, Decimal(0), most, rounds=60)[1]) + sum(sizes)


def confidence_limits(tail: Callable[[Array], Array], best: Array, level: float) -> tuple[Array, Array]:
    """The least and the largest value from -1 to 1 whose p-value `tail` is no rejection; else the whole range."""
    ends = [np.full(best.shape, end) for end in (-1.0, 1.0)]
    allowed = 1 - level
    open_ends = [tail(end) >= allowed for end in ends]
    inside = tail(best) >= allowed
    anchor = np.where(inside, best, np.where(open_ends[0], -1.0, 1.0))
    limits = []
    for end, keeps in zip(ends, open_ends, strict=True):
        _, good = bisect_each(lambda value: tail(value) >= allowed, end, anchor, rounds=50)
        limits.append(np.where(keeps | ~(inside | open_ends[0] | open_ends[1]), end, good))
    return limits[0], limits[1]


@dataclass(frozen=True, eq=False)
class NoisyMoments:
    """Noisy sums of powers of t, from -1 to 1, a row per cell: the number, the sum of t, … `slopes` says how each
    follows from the terms that were released, in units of their common noise, of law `law`.
    """

    sums: Array
    slopes: Array
    law: NoiseLaw

    def error(self, gradient: Array) -> Array:
        """The standard error of a function of the sums, by its slopes in each, a row per cell."""
        along = gradient @ self.slopes
        return np.asarray(np.sqrt(np.add.reduce(along * along, axis=1)) * self.law.sd)

    def box(self, place: int, share: float) -> tuple[Array, Array]:
        """Limits of a sum that hold with probability `share`."""
        reach = reach_of(self.law, self.slopes[place].tolist(), share)
        return self.sums[:, place] - reach, self.sums[:, place] + reach


LevelLimits: TypeAlias = Callable[[float], tuple[Array, Array]]
"""The lower and upper confidence limit of each cell at a level."""


@dataclass(frozen=True, eq=False)
class CellEstimates:
    """Value and standard error of each cell, and its confidence limits as a function of the level.

    An estimate keeps them as the basis of its intervals and may be pickled. So `limits` is a function of a module with
    released numbers (`partial`), and never a closure, which would hold everything else in its scope.
    """

    value: Array
    se: Array
    limits: LevelLimits
    methods: tuple[str, ...] = ("noise",)
    scalar: bool = False

    def interval(self, level: float, method: str) -> Interval:
        low, high = self.limits(level)
        if self.scalar:
            return Interval(float(low[0]), float(high[0]), level, method)
        return Interval(low, high, level, method)

    def rescaled(self, factor: float, offset: float, within: tuple[float, float]) -> "CellEstimates":
        """The same in another unit, clipped to what is possible."""
        value = np.clip(offset + factor * self.value, *within)
        limits = partial(_rescaled_limits, self.limits, factor, offset, within)
        return CellEstimates(value, factor * self.se, limits, self.methods)

    def estimate(self, *, scalar: bool = False, counts: Estimate | None = None) -> Estimate:
        """An estimate without labels and price; of one cell, as a `scalar`, with floats."""
        return Estimate(
            value=self.value[0].item() if scalar else self.value,
            se=float(self.se[0]) if scalar else self.se,
            labels=("value",) if scalar else tuple(range(len(self.value))),
            cov=np.diag(self.se**2) if len(self.se) <= _MOST_COVARIANCES else None,
            n=None,
            loss=None,
            covers=NOISE,
            basis=replace(self, scalar=scalar),
            counts=counts,
        )


def side_by_side(columns: Sequence[Estimate]) -> Estimate:
    """Estimates of several columns as one: cell by cell, and in each cell column by column."""
    bases = [cast("CellEstimates", column.basis) for column in columns]
    value, se = (_interleaved([getattr(column, name) for column in columns]) for name in ("value", "se"))
    cells = CellEstimates(value, se, partial(_interleaved_limits, [basis.limits for basis in bases]), bases[0].methods)
    counts = [column.counts for column in columns if column.counts is not None]
    return cells.estimate(counts=side_by_side(counts) if counts else None)


def _rescaled_limits(
    limits: LevelLimits, factor: float, offset: float, within: tuple[float, float], level: float
) -> tuple[Array, Array]:
    low, high = (np.clip(offset + factor * end, *within) for end in limits(level))
    return low, high


def _interleaved_limits(columns: Sequence[LevelLimits], level: float) -> tuple[Array, Array]:
    low, high = (_interleaved(ends) for ends in zip(*(limits(level) for limits in columns), strict=True))
    return low, high


def _interleaved(columns: Sequence[Array]) -> Array:
    return np.stack(columns, axis=1).ravel()


def counts(moments: NoisyMoments) -> CellEstimates:
    """The number of values, which comes with a mean."""
    se = np.full(len(moments.sums), float(np.linalg.norm(moments.slopes[0])) * moments.law.sd)
    return CellEstimates(moments.sums[:, 0], se, partial(moments.box, 0))


def mean(moments: NoisyMoments) -> CellEstimates:
    """The mean of t. Its interval holds every m for which the sum of t, less m times the number, is no further from 0
    than the noise of just that combination: exact, whatever the number. Where no m is left, it is the whole range.
    """
    number = np.maximum(moments.sums[:, 0], 1.0)
    value = np.clip(moments.sums[:, 1] / number, -1, 1)
    se = moments.error(np.stack([-value, np.ones_like(value)], axis=1)) / number
    return CellEstimates(value, se, partial(_mean_limits, moments))


def _mean_limits(moments: NoisyMoments, level: float) -> tuple[Array, Array]:
    (n0, n1), (t0, t1) = moments.slopes[:2]

    def tail(m: Array) -> Array:
        return tail_of_two(moments.law, t0 - m * n0, t1 - m * n1, moments.sums[:, 1] - m * moments.sums[:, 0])

    best = np.clip(moments.sums[:, 1] / np.where(moments.sums[:, 0] == 0, 1.0, moments.sums[:, 0]), -1, 1)
    return confidence_limits(tail, best, level)


def variance(moments: NoisyMoments) -> CellEstimates:
    """The sample variance of t; limits from those of number, sum and squares together, so the level is guaranteed."""
    number = np.maximum(moments.sums[:, 0], 2.0)
    freedom = number - 1
    middle = moments.sums[:, 1] / number
    plain = np.clip(moments.sums[:, 2] / number - middle**2, 0, 1)
    gradient = np.stack([middle**2 - plain * number / freedom, -2 * middle, np.ones_like(middle)], axis=1)

    return CellEstimates(
        plain * number / freedom, moments.error(gradient) / freedom, partial(_variance_limits, moments)
    )


def _variance_limits(moments: NoisyMoments, level: float) -> tuple[Array, Array]:
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


def covariance(moments: NoisyMoments) -> CellEstimates:
    """The sample covariance of two t: limits as for a variance."""
    number = np.maximum(moments.sums[:, 0], 2.0)
    freedom = number - 1
    x, y = (moments.sums[:, place] / number for place in (_X, _Y))
    plain = np.clip(moments.sums[:, _XY] / number - x * y, -1, 1)
    gradient = np.zeros((len(number), 9))
    for place, slope in ((_ONE, -plain * number / freedom + x * y), (_X, -y), (_Y, -x), (_XY, np.ones_like(x))):
        gradient[:, place] = slope

    return CellEstimates(
        plain * number / freedom, moments.error(gradient) / freedom, partial(_covariance_limits, moments)
    )


def _covariance_limits(moments: NoisyMoments, level: float) -> tuple[Array, Array]:
    share = 1 - (1 - level) / 4
    fewest, most = moments.box(_ONE, share)
    sizes = np.maximum(fewest, 2.0), np.maximum(most, 2.0)
    one, other, both = (_extremes(moments.box(place, share), sizes) for place in (_X, _Y, _XY))
    products = np.array([a * b for a in one for b in other])
    low, high = (np.clip(end, -1, 1) for end in (both[0] - products.max(axis=0), both[1] - products.min(axis=0)))
    wide = sizes[0] / (sizes[0] - 1)  # at most so much larger than the covariance divided by n
    return low * np.where(low < 0, wide, 1), high * np.where(high > 0, wide, 1)


def correlation(moments: NoisyMoments) -> CellEstimates:
    """The correlation, NaN where a noisy variance is not above 0; its interval is near its level, not guaranteed."""
    number = np.maximum(moments.sums[:, 0], 2.0)
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
    return CellEstimates(value, se, partial(_normal_limits, linear), methods=("linear",))


def _normal_limits(linear: Normal, level: float) -> tuple[Array, Array]:
    low, high = linear.interval(level, "wald")
    return np.asarray(low), np.asarray(high)


def _extremes(box: tuple[Array, Array], sizes: tuple[Array, Array]) -> tuple[Array, Array]:
    """Bounds of the quotient of two intervals, the second of positive numbers."""
    quotients = np.array([end / size for end in box for size in sizes])
    return quotients.min(axis=0), quotients.max(axis=0)
