"""Means, variances, covariances and correlations of a table's cells, from integer sums with noise.

Each row contributes non-negative terms that add up to one unit. A value between its bounds is scaled to t from -1 to 1.
A row contributes (1-t)/2 and (1+t)/2 to a mean, and ((1-t)/2)**2, (1-t)(1+t)/2 and ((1+t)/2)**2 to a variance. So
adding or removing one person changes the whole vector by 1 in L1, and the terms also give the count. (Fitzsimons,
Honaker, Shoemate and Singhal 2024; Kulesza, Suresh and Wang 2024.) For a single cell under "replace", other coordinates
are better with Laplace noise: the count and the centered sum are released separately, and only the sum changes within
the cell.

Estimates are computed from released numbers, so they cost no privacy. If the noisy number of values of a cell is small
or negative, the estimate lies within the bounds and its interval is wide.
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
from toolkit.core.search import bisect, bisect_elementwise
from toolkit.frames.persons import ONE_ROW, Caps


@dataclass(frozen=True)
class Composed:
    """Several mechanisms that release one value each; their losses add up."""

    parts: tuple[Laplace | Gaussian, ...]

    @property
    def loss(self) -> Loss:
        return reduce(add, (part.loss for part in self.parts))

    @property
    def zcdp(self) -> Zcdp:
        """The sum of the zCDP costs of the mechanisms, which is less than the zCDP cost of the summed epsilons."""
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


_UNIFORM_MOMENTS = {2: (1.0, 0.0), 3: (1.0, 0.0, 1 / 3), 9: (1.0, 0.0, 1 / 3, 0.0, 0.0, 0.0, 1 / 3, 0.0, 1 / 9)}
"""The moments of the uniform distribution on -1 to 1, or of a pair, by the number of sums of powers."""

_MOST_COVARIANCES = 1000


@dataclass(frozen=True, eq=False)
class MomentStatistic:
    """Integer sums of powers of the values of each cell, and the statistic that is estimated from the noisy sums.

    Parameters
    ----------
    terms : the integer combinations of the sums of powers of steps that are released.
    decoding_matrix : the matrix that maps these terms, divided by `unit`, to the count and the sums of powers of t.
    unit : the contribution of a row to all terms together.
    sensitivity : the sensitivity of all terms of all cells.
    estimator : the function that estimates a statistic of t in each cell.
    factor, offset, within : the estimate in the column's unit is offset + factor * estimate, clipped to `within`.
    """

    terms: Matrix
    decoding_matrix: Matrix
    unit: int
    sensitivity: Sensitivity
    estimator: Callable[["NoisyMoments"], "CellEstimates"]
    factor: float = 1.0
    offset: float = 0.0
    within: tuple[float, float] = (-math.inf, math.inf)

    def integers(self, cells: Iterable[Sequence[int]]) -> list[int]:
        """Return the terms of all cells, cell by cell, from the sums of powers."""
        factors = np.array([[int(factor) for factor in term] for term in self.terms], dtype=object)
        powers = np.array(cells, dtype=object).reshape(-1, factors.shape[1])  # Python integers do not overflow
        return list((powers @ factors.T).ravel().tolist())

    @cached_property
    def slopes(self) -> Array:
        """The decoding matrix as floats, with one row per sum of powers of t and one column per term."""
        return np.array([[float(factor) for factor in row] for row in self.decoding_matrix])

    def moments(self, noisy: Sequence[int], law: NoiseLaw) -> "NoisyMoments":
        """Return the sums of powers of t from noisy terms, with one row per cell."""
        shares = np.array([entry / self.unit for entry in noisy]).reshape(-1, len(self.terms))
        return NoisyMoments(shares @ self.slopes.T, self.slopes / self.unit, law)

    def estimate(self, noisy: Sequence[int], law: NoiseLaw, *, as_scalar: bool) -> Estimate:
        """Estimate the statistic of each cell and its number of values, which is rounded to a whole number."""
        moments = self.moments(noisy, law)
        number = counts(moments)
        if np.all(np.abs(number.value) < 2**62):
            number = replace(number, value=np.rint(number.value).astype(np.int64))
        cells = self.estimator(moments).rescaled(self.factor, self.offset, self.within)
        return cells.estimate(as_scalar=as_scalar, counts=number.estimate(as_scalar=as_scalar))

    def noise(self, law: NoiseLaw) -> CellNoise:
        """Return the standard error of a cell times its number of values, for many evenly spread values."""
        many = 1e9
        moments = NoisyMoments(
            many * np.array([_UNIFORM_MOMENTS[len(self.decoding_matrix)]]), self.slopes / self.unit, law
        )
        return CellNoise(se_times_n=many * self.factor * float(self.estimator(moments).se[0]))


@lru_cache(maxsize=128)
def mean_statistic(
    span: int, n_cells: int, neighbors: str, caps: Caps = ONE_ROW, *, laplace: bool = True
) -> MomentStatistic:
    """Make the statistic for counts and means from the number of values and the sum of their steps."""
    if laplace and n_cells == 1 and neighbors == "replace":
        sensitivity = Sensitivity(
            Fraction(2 * span * caps.max_rows(1)), Fraction(2 * span * caps.max_rows(1)) ** 2, neighbors
        )
        return MomentStatistic(((span, 0), (-span, 2)), ((1, 0), (0, 1)), span, sensitivity, mean)
    sensitivity = scale_sensitivity(table_shares(n_cells, neighbors, caps), span)
    return MomentStatistic(((span, -1), (0, 1)), ((1, 1), (-1, 1)), span, sensitivity, mean)


@lru_cache(maxsize=128)
def variance_statistic(
    span: int, n_cells: int, neighbors: str, caps: Caps = ONE_ROW, *, laplace: bool = True
) -> MomentStatistic:
    """Make the statistic for variances, from the number of values, and the sum and sum of squares of their steps.

    In one cell under "replace" with Laplace noise, a row contributes 2, 2t and 2t**2 - 1. Adding or removing a row
    changes these sums by at most 5 in L1. A change from t to t' changes them by 2|t-t'|(1 + |t+t'|), which is at most
    4.5.
    """
    squared_span = span**2
    if laplace and n_cells == 1 and neighbors == "replace":
        l1 = Fraction(5 * squared_span * caps.max_rows(1))
        terms = ((2 * squared_span, 0, 0), (-2 * squared_span, 4 * span, 0), (squared_span, -8 * span, 8))
        decoding_matrix = ((_HALF, 0, 0), (0, _HALF, 0), (Fraction(1, 4), 0, _HALF))
        return MomentStatistic(terms, decoding_matrix, squared_span, Sensitivity(l1, l1**2, neighbors), variance)
    sensitivity = scale_sensitivity(table_shares(n_cells, neighbors, caps), squared_span)
    return MomentStatistic(bernstein_coefficients(span), BERNSTEIN_VALUES, squared_span, sensitivity, variance)


@lru_cache(maxsize=128)
def covariance_statistic(spans: tuple[int, int], n_cells: int, neighbors: str, caps: Caps = ONE_ROW) -> MomentStatistic:
    """Make the statistic for covariances, from the sums of 1, y, y**2, x, x y, … for two columns of steps."""
    first, second = (bernstein_coefficients(span) for span in spans)
    unit = spans[0] ** 2 * spans[1] ** 2
    sensitivity = scale_sensitivity(table_shares(n_cells, neighbors, caps), unit)
    return MomentStatistic(
        kronecker_product(first, second),
        kronecker_product(BERNSTEIN_VALUES, BERNSTEIN_VALUES),
        unit,
        sensitivity,
        covariance,
    )


BERNSTEIN_VALUES: Matrix = ((1, 1, 1), (-1, 0, 1), (1, -1, 1))
"""The powers of t as combinations of the Bernstein polynomials of degree 2."""


def bernstein_coefficients(span: int) -> Matrix:
    """Return the Bernstein polynomials of degree 2 as combinations of the count, the sum and the sum of squares."""
    return ((span**2, -2 * span, 1), (0, 2 * span, -2), (0, 0, 1))


def kronecker_product(first: Matrix, second: Matrix) -> Matrix:
    return tuple(tuple(a * b for a in row for b in other) for row in first for other in second)


def scale_sensitivity(sensitivity: Sensitivity, unit: int) -> Sensitivity:
    return Sensitivity(sensitivity.l1 * unit, sensitivity.l2_squared * unit**2, sensitivity.neighbors)


# Tails and quantiles of a linear combination of independent noise variables.
#
# The noise is integer-valued. A combination of Laplace variables is treated as continuous and enlarged by one step of
# each variable.

_SPREAD = Decimal("1e-4")


@np.errstate(over="ignore", under="ignore", divide="ignore", invalid="ignore")
def pair_tail(law: NoiseLaw, first_factor: ArrayLike, second_factor: ArrayLike, error: ArrayLike) -> Array:
    """Return an upper bound on Pr[|a Z + b Z'| >= error] for factors a and b, and independent Z and Z' from `law`."""
    a, b = np.abs(first_factor), np.abs(second_factor)
    t = np.maximum(np.abs(error) - (a + b), 0.0)
    if not isinstance(law, GeometricLaw):
        length = np.hypot(a, b) * law.sd
        return np.asarray(2 * ndtr(-np.divide(t, length, out=np.full(t.shape, np.inf), where=length > 0)))
    a, b = np.maximum(a, b) * law.scale, np.minimum(a, b) * law.scale
    a = np.maximum(a, np.finfo(float).tiny)
    near = a - b < 1e-4 * a
    lesser = np.where(near, 0.5 * a, b)  # an arbitrary value if the scales are nearly equal
    small = np.where(lesser > 0, np.exp(-t / np.maximum(lesser, np.finfo(float).tiny)), 0.0)
    unequal = (np.exp(-t / a) - (lesser / a) ** 2 * small) / (1 - (lesser / a) ** 2)
    return np.asarray(np.where(near, (1 + t / (2 * a)) * np.exp(-t / a), unequal))


def quantile_of_combination(law: NoiseLaw, factors: Sequence[float], level: float) -> float:
    """Return the error that a combination of independent noise variables exceeds with probability at most 1 - level."""
    sizes = tuple(sorted(abs(factor) for factor in factors if factor))
    if not isinstance(law, GeometricLaw):
        return -float(ndtri((1 - level) / 2)) * law.sd * math.hypot(*sizes) + sum(sizes)
    if len(sizes) == 1:
        return sizes[0] * law.two_sided_quantile(level)
    return _laplace_quantile(law.scale, sizes, level)


@lru_cache(maxsize=512)  # the arguments are public and often repeated
def _laplace_quantile(scale: float, sizes: tuple[float, ...], level: float) -> float:
    """Return the two-sided quantile of a combination of Laplace variables.

    The tail has a closed form if all factors differ, so the factors are slightly enlarged to make them different.
    """
    with localcontext() as context:
        context.prec = 120
        scales = [Decimal(size) * Decimal(scale) * (1 + index * _SPREAD) for index, size in enumerate(sizes, start=1)]
        weights = [math.prod((a * a / (a * a - b * b) for b in scales if b is not a), start=Decimal(1)) for a in scales]

        def is_rare(error: Decimal) -> bool:
            tail = sum(weight * (-error / size).exp() for weight, size in zip(weights, scales, strict=True))
            return tail <= Decimal(1 - level)

        upper_bound = sum(scales) * (len(scales) / Decimal(1 - level)).ln()
        return float(bisect(is_rare, Decimal(0), upper_bound, max_rounds=60)[1]) + sum(sizes)


def confidence_limits(tail: Callable[[Array], Array], best: Array, level: float) -> tuple[Array, Array]:
    """Return the limits of the values in [-1, 1] whose `tail` is at least 1 - level, or -1 and 1 if there are none."""
    ends = [np.full(best.shape, end) for end in (-1.0, 1.0)]
    allowed = 1 - level
    open_ends = [tail(end) >= allowed for end in ends]
    inside = tail(best) >= allowed
    anchor = np.where(inside, best, np.where(open_ends[0], -1.0, 1.0))
    limits = []
    for end, open_end in zip(ends, open_ends, strict=True):
        _, limit = bisect_elementwise(lambda value: tail(value) >= allowed, end, anchor, n_rounds=50)
        limits.append(np.where(open_end | ~(inside | open_ends[0] | open_ends[1]), end, limit))
    return limits[0], limits[1]


@dataclass(frozen=True, eq=False)
class NoisyMoments:
    """Noisy sums of powers of t in [-1, 1], with one row per cell: the number of values, the sum of t, etc.

    `slopes` holds the coefficients of the released terms in each sum, and `law` is the distribution of the noise on
    each term.
    """

    sums: Array
    slopes: Array
    law: NoiseLaw

    def standard_error(self, gradient: Array) -> Array:
        """Return the standard error of a function of the sums by the delta method, given one gradient per row."""
        weights = gradient @ self.slopes  # the weight of the noise on each term
        return np.asarray(np.sqrt(np.add.reduce(weights * weights, axis=1)) * self.law.sd)

    def sum_limits(self, column: int, level: float) -> tuple[Array, Array]:
        """Return the confidence limits of one sum in each cell."""
        quantile = quantile_of_combination(self.law, self.slopes[column].tolist(), level)
        return self.sums[:, column] - quantile, self.sums[:, column] + quantile


LevelLimits: TypeAlias = Callable[[float], tuple[Array, Array]]
"""The lower and upper confidence limit of each cell at a level."""


@dataclass(frozen=True, eq=False)
class CellEstimates:
    """The value and standard error of each cell, and its confidence limits as a function of the level.

    The object is the basis of an estimate's intervals and may be pickled. So `limits` is a `partial` of a module-level
    function with released numbers. It is never a closure, which could also hold private values of its scope.
    """

    value: Array
    se: Array
    limits: LevelLimits
    methods: tuple[str, ...] = ("noise",)
    is_scalar: bool = False

    def interval(self, level: float, method: str) -> Interval:
        low, high = self.limits(level)
        if self.is_scalar:
            return Interval(float(low[0]), float(high[0]), level, method)
        return Interval(low, high, level, method)

    def rescaled(self, factor: float, offset: float, within: tuple[float, float]) -> "CellEstimates":
        """Return the estimates in another unit, clipped to the possible values."""
        value = np.clip(offset + factor * self.value, *within)
        limits = partial(rescaled_limits, self.limits, factor, offset, within)
        return CellEstimates(value, factor * self.se, limits, self.methods)

    def estimate(self, *, as_scalar: bool = False, counts: Estimate | None = None) -> Estimate:
        """Return an `Estimate` without labels and loss; with `as_scalar`, the only cell gives floats."""
        return Estimate(
            value=self.value[0].item() if as_scalar else self.value,
            se=float(self.se[0]) if as_scalar else self.se,
            labels=("value",) if as_scalar else tuple(range(len(self.value))),
            cov=np.diag(self.se**2) if len(self.se) <= _MOST_COVARIANCES else None,
            n=None,
            loss=None,
            covers=NOISE,
            basis=replace(self, is_scalar=as_scalar),
            counts=counts,
        )


def side_by_side(columns: Sequence[Estimate]) -> Estimate:
    """Combine the estimates of several columns into one, cell by cell and then column by column."""
    bases = [cast("CellEstimates", column.basis) for column in columns]
    value, se = (_interleaved([getattr(column, name) for column in columns]) for name in ("value", "se"))
    cells = CellEstimates(value, se, partial(_interleaved_limits, [basis.limits for basis in bases]), bases[0].methods)
    counts = [column.counts for column in columns if column.counts is not None]
    return cells.estimate(counts=side_by_side(counts) if counts else None)


def rescaled_limits(
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
    """Estimate the number of values in each cell."""
    se = np.full(len(moments.sums), float(np.linalg.norm(moments.slopes[0])) * moments.law.sd)
    return CellEstimates(moments.sums[:, 0], se, partial(moments.sum_limits, 0))


def mean(moments: NoisyMoments) -> CellEstimates:
    """Estimate the mean of t.

    The interval contains every m for which the sum of t minus m times the number of values is not farther from 0 than
    the noise on this combination. So its level is exact for any number of values. If there is no such m, the interval
    is the whole range.
    """
    number = np.maximum(moments.sums[:, 0], 1.0)
    value = np.clip(moments.sums[:, 1] / number, -1, 1)
    se = moments.standard_error(np.stack([-value, np.ones_like(value)], axis=1)) / number
    return CellEstimates(value, se, partial(_mean_limits, moments))


def _mean_limits(moments: NoisyMoments, level: float) -> tuple[Array, Array]:
    (n0, n1), (t0, t1) = moments.slopes[:2]

    def tail(m: Array) -> Array:
        return pair_tail(moments.law, t0 - m * n0, t1 - m * n1, moments.sums[:, 1] - m * moments.sums[:, 0])

    best = np.clip(moments.sums[:, 1] / np.where(moments.sums[:, 0] == 0, 1.0, moments.sums[:, 0]), -1, 1)
    return confidence_limits(tail, best, level)


def variance(moments: NoisyMoments) -> CellEstimates:
    """Estimate the sample variance of t, with guaranteed limits from simultaneous limits on the three sums."""
    number = np.maximum(moments.sums[:, 0], 2.0)
    freedom = number - 1
    average = moments.sums[:, 1] / number
    biased = np.clip(moments.sums[:, 2] / number - average**2, 0, 1)
    gradient = np.stack([average**2 - biased * number / freedom, -2 * average, np.ones_like(average)], axis=1)

    return CellEstimates(
        biased * number / freedom, moments.standard_error(gradient) / freedom, partial(_variance_limits, moments)
    )


def _variance_limits(moments: NoisyMoments, level: float) -> tuple[Array, Array]:
    share = 1 - (1 - level) / 3
    (fewest, most), first, second = (moments.sum_limits(column, share) for column in range(3))
    sizes = np.maximum(fewest, 2.0), np.maximum(most, 2.0)
    means, squares = _quotient_bounds(first, sizes), _quotient_bounds(second, sizes)
    spread = np.maximum(means[0] ** 2, means[1] ** 2)
    least = np.where((means[0] <= 0) & (means[1] >= 0), 0.0, np.minimum(means[0] ** 2, means[1] ** 2))
    low, high = np.clip(squares[0] - spread, 0, 1), np.clip(squares[1] - least, 0, 1)
    # The factor n / (n - 1) of the sample variance decreases in n.
    return low * sizes[1] / (sizes[1] - 1), high * sizes[0] / (sizes[0] - 1)


# The indices of the sums of 1, y, y**2, x, x y, … for a pair of columns.
_ONE, _Y, _YY, _X, _XY, _XX = 0, 1, 2, 3, 4, 6


def covariance(moments: NoisyMoments) -> CellEstimates:
    """Estimate the sample covariance of two columns of t, with limits as for a variance."""
    number = np.maximum(moments.sums[:, 0], 2.0)
    freedom = number - 1
    x, y = (moments.sums[:, column] / number for column in (_X, _Y))
    biased = np.clip(moments.sums[:, _XY] / number - x * y, -1, 1)
    gradient = np.zeros((len(number), 9))
    for column, slope in ((_ONE, -biased * number / freedom + x * y), (_X, -y), (_Y, -x), (_XY, np.ones_like(x))):
        gradient[:, column] = slope

    return CellEstimates(
        biased * number / freedom, moments.standard_error(gradient) / freedom, partial(_covariance_limits, moments)
    )


def _covariance_limits(moments: NoisyMoments, level: float) -> tuple[Array, Array]:
    share = 1 - (1 - level) / 4
    fewest, most = moments.sum_limits(_ONE, share)
    sizes = np.maximum(fewest, 2.0), np.maximum(most, 2.0)
    of_x, of_y, of_xy = (_quotient_bounds(moments.sum_limits(column, share), sizes) for column in (_X, _Y, _XY))
    products = np.array([a * b for a in of_x for b in of_y])
    low, high = (np.clip(end, -1, 1) for end in (of_xy[0] - products.max(axis=0), of_xy[1] - products.min(axis=0)))
    correction = sizes[0] / (sizes[0] - 1)  # the largest ratio of the sample covariance to the covariance
    return low * np.where(low < 0, correction, 1), high * np.where(high > 0, correction, 1)


def correlation(moments: NoisyMoments) -> CellEstimates:
    """Estimate the correlation, which is NaN if a noisy variance is not positive; its interval is approximate."""
    number = np.maximum(moments.sums[:, 0], 2.0)
    x, y, xx, yy, xy = (moments.sums[:, column] / number for column in (_X, _Y, _XX, _YY, _XY))
    var_x, var_y = (np.where(v > 0, v, np.nan) for v in (xx - x**2, yy - y**2))
    estimate = (xy - x * y) / np.sqrt(var_x * var_y)
    gradient = np.zeros((len(number), 9))
    root = np.sqrt(var_x * var_y)
    gradient[:, _XY] = 1 / root
    gradient[:, _XX], gradient[:, _YY] = -estimate / (2 * var_x), -estimate / (2 * var_y)
    gradient[:, _X] = -y / root + estimate * x / var_x
    gradient[:, _Y] = -x / root + estimate * y / var_y
    gradient[:, _ONE] = -(gradient[:, 1:] * moments.sums[:, 1:]).sum(axis=1) / number
    value, se = np.clip(estimate, -1, 1), moments.standard_error(gradient) / number
    linear = Normal(value, se, within=(-1.0, 1.0))
    return CellEstimates(value, se, partial(_normal_limits, linear), methods=("linear",))


def _normal_limits(linear: Normal, level: float) -> tuple[Array, Array]:
    low, high = linear.interval(level, "wald")
    return np.asarray(low), np.asarray(high)


def _quotient_bounds(sums: tuple[Array, Array], sizes: tuple[Array, Array]) -> tuple[Array, Array]:
    """Return bounds on the quotient of a sum and a positive size, given an interval for each."""
    quotients = np.array([end / size for end in sums for size in sizes])
    return quotients.min(axis=0), quotients.max(axis=0)
