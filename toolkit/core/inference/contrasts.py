"""Differences and ratios of independent estimates, and weighted sums of the entries of one estimate.

The interval of a difference combines the limits of both estimates (MOVER: method of variance estimates recovery, Zou
and Donner 2008) before these limits are truncated to the possible range. With limits that are already truncated, the
coverage falls to 0.68 instead of 0.95 if a share is near 0.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from toolkit.core.arrays import Array, ArrayLike, Label
from toolkit.core.checks import reject
from toolkit.core.inference.intervals import (
    Affine,
    EntryBasis,
    Interval,
    IntervalBasis,
    Normal,
    Shares,
    Student,
    Tails,
    cut,
    p_value_by_inversion,
    possible_range,
    wald,
)
from toolkit.core.inference.special import ndtr, ndtri


@dataclass(frozen=True, eq=False)
class Mover:
    """The difference D = a - b of two estimates with untruncated limits (l, u) and (l', u') and correlation r.

    The interval extends from D - sqrt((a - l)**2 + (u' - b)**2 - 2 r (a - l) (u' - b)) to D + sqrt((u - a)**2 + (b -
    l')**2 - 2 r (u - a) (b - l')), and is then truncated to the possible range.
    """

    first: IntervalBasis
    second: IntervalBasis
    value: float | Array
    se: float | Array
    correlation: float = 0.0
    methods: tuple[str, ...] = ("mover", "wald")

    @property
    def within(self) -> tuple[float, float]:
        (low, high), (least, greatest) = possible_range(self.first), possible_range(self.second)
        return low - greatest, high - least

    def uncut(self, level: float, method: str) -> tuple[Any, Any]:
        if method == "wald":
            return wald(self.value, self.se, level)
        a, b = (limits_of(basis, level) for basis in (self.first, self.second))
        low, high = mover(*a, *b, correlation=self.correlation)
        return low.reshape(np.shape(self.value)), high.reshape(np.shape(self.value))

    def interval(self, level: float, method: str) -> Interval:
        return cut(*self.uncut(level, method), self.within, level, method)

    def tails(self, null: float, method: str) -> Tails:
        if method == "wald":
            return Normal(self.value, self.se).tails(null, method)
        return _tails_by_inversion(self, null, method)


def _tails_by_inversion(basis: Any, null: float, method: str) -> Tails:
    """Return p-values from the level at which a limit meets the null, so that test and interval always agree."""
    value = np.atleast_1d(np.asarray(basis.value, dtype=np.float64))
    p = p_value_by_inversion(lambda level: basis.uncut(level, method), value, null).reshape(np.shape(basis.value))
    with np.errstate(invalid="ignore"):
        z = np.sign(np.asarray(basis.value) - null) * np.abs(ndtri(p / 2))
    return z, ndtr(z), ndtr(-z)


@dataclass(frozen=True, eq=False)
class Quotient:
    """The quotient of two estimates with untruncated limits and a correlation.

    The interval contains a ratio r if the interval of first - r * second, computed from the limits of both estimates
    (MOVER: Donner and Zou 2012), contains 0. With normal limits it is Fieller's interval. If the second estimate could
    be 0, there is no upper limit. For numbers that can be negative, there is then no limit at all. The method "log" is
    the delta method on the logarithmic scale, for positive estimates.
    """

    first: IntervalBasis
    second: IntervalBasis
    value: float | Array
    se: float | Array
    log_se: float | Array
    correlation: float | Array = 0.0
    methods: tuple[str, ...] = ("fieller", "log")

    @property
    def within(self) -> tuple[float, float]:
        shares = possible_range(self.first)[0] >= 0 and possible_range(self.second)[0] >= 0
        return (0.0 if shares else -np.inf), np.inf

    def uncut(self, level: float, method: str) -> tuple[Any, Any]:
        if method == "log":
            with np.errstate(invalid="ignore", divide="ignore"):
                low, high = wald(np.log(np.asarray(self.value)), self.log_se, level)
            return np.exp(low), np.exp(high)
        tops, bottoms = (limits_of(basis, level) for basis in (self.first, self.second))
        cells = np.broadcast_arrays(*map(np.atleast_1d, (*tops, *bottoms, self.correlation)))
        rows = [[float(number) for number in cell] for cell in zip(*cells, strict=True)]
        ends = [_fieller(row[:3], row[3:6], row[6], self.within[0] == 0) for row in rows]
        low, high = np.array(ends).T
        return low.reshape(np.shape(self.value)), high.reshape(np.shape(self.value))

    def interval(self, level: float, method: str) -> Interval:
        return cut(*self.uncut(level, method), self.within, level, method)

    def tails(self, null: float, method: str) -> Tails:
        return _tails_by_inversion(self, null, method)


def _fieller(top: Sequence[float], bottom: Sequence[float], correlation: float, positive: bool) -> tuple[float, float]:
    """Return the range of all r for which the interval of x - r y contains 0, by a formula without cancellation."""
    (x, low, high), (y, least, most) = top, bottom
    if most < 0 and not positive:
        x, low, high, y, least, most = -x, -high, -low, -y, -most, -least
    if math.isnan(low + high + least + most) or (positive and (most <= 0 or high < 0)):
        return math.nan, math.nan
    if least <= 0 and not positive:
        return -math.inf, math.inf

    def root(distance: float, other: float, side: int) -> float:
        square, half, rest = y**2 - other**2, x * y - correlation * distance * other, x**2 - distance**2
        depth = math.sqrt(max(half**2 - square * rest, 0.0))
        aligned = side * half >= 0
        return (half + side * depth) / square if aligned else rest / (half - side * depth)

    lower = root(x - low, most - y if low > 0 else y - least, -1) if low > 0 or not positive else 0.0
    upper = root(high - x, y - least if high > 0 else most - y, 1) if least > 0 else math.inf
    return lower, upper


def mover(
    value: float | Array,
    low: float | Array,
    high: float | Array,
    other_value: float | Array,
    other_low: float | Array,
    other_high: float | Array,
    *,
    correlation: float = 0.0,
) -> tuple[Array, Array]:
    """Return the limits of value - other_value from the untruncated limits of both estimates."""

    def length(first: Array, second: Array) -> Array:
        return np.sqrt(np.maximum(first**2 + second**2 - 2 * correlation * first * second, 0))

    difference = np.asarray(value - other_value)
    return (
        difference - length(np.asarray(value - low), np.asarray(other_high - other_value)),
        difference + length(np.asarray(high - value), np.asarray(other_value - other_low)),
    )


@dataclass(frozen=True, eq=False)
class BonferroniDifference:
    """A difference of two estimates of which only the intervals are known; each gets half of the error probability."""

    first: IntervalBasis
    second: IntervalBasis
    methods: tuple[str, ...] = ("bounds",)

    def interval(self, level: float, method: str) -> Interval:
        share = 1 - (1 - level) / 2
        a, b = (basis.interval(share, basis.methods[0]) for basis in (self.first, self.second))
        return Interval(a.low - b.high, a.high - b.low, level, method)


def quotient_basis(
    first: IntervalBasis,
    second: IntervalBasis,
    value: float | Array,
    se: float | Array,
    log_se: float | Array,
    correlation: float | Array = 0.0,
) -> IntervalBasis:
    if not (_has_limits(first) and _has_limits(second)):
        reject("a ratio needs estimates with untruncated limits", "intervals alone", "the ratio has no interval")
    return Quotient(first, second, value, se, log_se, correlation)


def ratio_basis(basis: IntervalBasis, value: float, se: float) -> IntervalBasis:
    """Return the basis of one number in a ratio of dependent numbers: its reports if known, otherwise its error."""
    inner, index = (basis.basis, basis.index) if isinstance(basis, EntryBasis) else (basis, 0)
    if isinstance(inner, Shares):
        return inner.rows(np.array([index]))
    if isinstance(inner, Student):
        return Student(value, se, inner.df, within=inner.within)
    return Normal(value, se, possible_range(inner))


def difference_basis(
    first: IntervalBasis, second: IntervalBasis, value: float | Array, se: float | Array
) -> IntervalBasis:
    if _has_limits(first) and _has_limits(second):
        return Mover(first, second, value, se)
    return BonferroniDifference(first, second)


def covariance(cov: Array | None, first: Array, second: Array) -> float:
    """Return the covariance of two numbers from their gradients with respect to the entries of one estimate."""
    if cov is None:
        consequence = "the error of a combination of entries cannot be computed"
        reject("the estimate must have covariances", f"{len(first)} entries without", consequence)
    return float(first @ cov @ second)


def error(cov: Array | None, gradient: Array) -> float:
    """Return the standard error of a number from its gradient with respect to the entries of an estimate."""
    variance = covariance(cov, gradient, gradient)
    # Rounding may make the variance slightly negative.
    return variance if math.isnan(variance) else math.sqrt(max(variance, 0.0))


def entry_weights(weights: Mapping[Label, float] | ArrayLike, labels: Sequence[str | int]) -> Array:
    """Return one weight per label from a sequence or a mapping; labels that the mapping lacks have weight 0."""
    if isinstance(weights, Mapping):
        unknown = [name for name in weights if name not in labels]
        if unknown:
            rule = f"`weights` must name entries of the estimate ({', '.join(map(str, labels[:8]))})"
            reject(rule, ", ".join(map(repr, unknown[:3])), "the estimate has no such entry")
        weights = [weights.get(label, 0) for label in labels]
    factors = np.asarray(weights, dtype=np.float64)
    if factors.shape != (len(labels),) or not np.all(np.isfinite(factors)) or not factors.any():
        rule = f"`weights` must hold {len(labels)} finite numbers, not all zero, or name some entries"
        reject(rule, f"shape {factors.shape}", "each entry needs a weight")
    return factors


def contrast_basis(basis: IntervalBasis, value: float, se: float) -> IntervalBasis:
    """Return the basis of a weighted sum, with the degrees of freedom of the estimate if it has any."""
    df = getattr(basis, "df", None)
    return Normal(value, se) if df is None else Student(value, se, df)


def _has_limits(basis: object) -> bool:
    return _has_limits(basis.basis) if isinstance(basis, Affine | EntryBasis) else hasattr(basis, "uncut")


def limits_of(basis: Any, level: float) -> tuple[Any, Any, Any]:
    """Return the value and its untruncated limits."""
    if isinstance(basis, Affine):
        value, low, high = (basis.offset + basis.factor * part for part in limits_of(basis.basis, level))
        return value, low, high
    if isinstance(basis, EntryBasis):
        value, low, high = map(basis.pick, limits_of(basis.basis, level))
        return value, low, high
    low, high = (np.asarray(limit) for limit in basis.uncut(level, basis.methods[0]))
    return np.asarray(basis.value).reshape(low.shape), low, high
