"""Differences of independent estimates, and weighted sums of the entries of one.

The interval of a difference is made from the limits of both (MOVER: method of variance estimates recovery,
Zou and Donner 2008), before these are cut to what is possible: cut limits cover as seldom as 0.68 instead of
0.95 of the time where a share is near 0.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from toolkit.core.arrays import Array, Label
from toolkit.core.checks import refuse
from toolkit.core.inference.intervals import (
    Affine,
    Interval,
    IntervalBasis,
    Normal,
    Student,
    Tails,
    cut,
    possible,
    wald,
)
from toolkit.core.inference.special import ndtr, ndtri

_LEAST = 1e-15  # a smaller 1 - level is lost in a float


@dataclass(frozen=True, eq=False)
class Mover:
    """The difference of two independent estimates whose uncut limits are known.

    With D the difference and l, u the limits of each: from D - sqrt((a - l)**2 + (u' - b)**2) to
    D + sqrt((u - a)**2 + (b - l')**2), cut to what is possible only then.
    """

    first: IntervalBasis
    second: IntervalBasis
    value: float | Array
    se: float | Array
    methods: tuple[str, ...] = ("mover", "wald")

    @property
    def within(self) -> tuple[float, float]:
        (low, high), (least, greatest) = possible(self.first), possible(self.second)
        return low - greatest, high - least

    def uncut(self, level: float, method: str) -> tuple[Any, Any]:
        if method == "wald":
            return wald(self.value, self.se, level)
        a, b = (_limits(basis, level) for basis in (self.first, self.second))
        low, high = mover(*a, *b)
        return low.reshape(np.shape(self.value)), high.reshape(np.shape(self.value))

    def interval(self, level: float, method: str) -> Interval:
        return cut(*self.uncut(level, method), self.within, level, method)

    def tails(self, null: float, method: str) -> Tails:
        """From the level at which a limit meets the null: so the test and the interval never disagree."""
        if method == "wald":
            return Normal(self.value, self.se).tails(null, method)
        p = self._meeting(null)
        with np.errstate(invalid="ignore"):
            z = np.sign(np.asarray(self.value) - null) * np.abs(ndtri(p / 2))
        return z, ndtr(z), ndtr(-z)

    def _meeting(self, null: float) -> Array:
        """The least 1 - level whose interval leaves out the null, by bisection to 12 digits; at least 1e-15."""
        value = np.atleast_1d(np.asarray(self.value, dtype=np.float64))
        levels = np.full(value.shape, np.nan)
        for entry in np.ndindex(value.shape):
            low, high = np.log(_LEAST), 0.0
            for _ in range(60):
                middle = (low + high) / 2
                limits = [np.atleast_1d(limit)[entry] for limit in self.uncut(1 - np.exp(middle), "mover")]
                if np.isnan(limits).any():
                    break
                left_out = not limits[0] <= null <= limits[1]
                low, high = (low, middle) if left_out else (middle, high)
            else:
                levels[entry] = np.exp(high)
        return levels.reshape(np.shape(self.value))


def mover(
    value: float | Array,
    low: float | Array,
    high: float | Array,
    other: float | Array,
    least: float | Array,
    greatest: float | Array,
) -> tuple[Array, Array]:
    """Limits of value - other, from the uncut limits of both.

    >>> [round(float(limit), 4) for limit in mover(0.5, 0.4, 0.6, 0.3, 0.2, 0.4)]
    [0.0586, 0.3414]
    """
    difference = np.asarray(value - other)
    return (difference - np.hypot(value - low, greatest - other), difference + np.hypot(high - value, other - least))


@dataclass(frozen=True, eq=False)
class Apart:
    """A difference where only intervals are known: each has half of the error, whatever the laws of the errors."""

    first: IntervalBasis
    second: IntervalBasis
    methods: tuple[str, ...] = ("bounds",)

    def interval(self, level: float, method: str) -> Interval:
        share = 1 - (1 - level) / 2
        a, b = (basis.interval(share, basis.methods[0]) for basis in (self.first, self.second))
        return Interval(a.low - b.high, a.high - b.low, level, method)


def difference_basis(
    first: IntervalBasis, second: IntervalBasis, value: float | Array, se: float | Array
) -> IntervalBasis:
    """What intervals of a difference are made from."""
    if _known(first) and _known(second):
        return Mover(first, second, value, se)
    return Apart(first, second)


def weighted_sum(
    value: float | Array, cov: Array | None, labels: Sequence[str | int], weights: Mapping[Label, float] | npt.ArrayLike
) -> tuple[float, float]:
    """A weighted sum of entries and its standard error."""
    factors = _weights(weights, labels)
    if cov is None:
        consequence = "the error of a sum cannot be computed"
        refuse("the estimate must have covariances", f"{len(labels)} entries without", consequence)
    total = float(factors @ np.atleast_1d(value))
    variance = float(factors @ cov @ factors)
    if math.isnan(variance):
        return total, math.nan
    return total, math.sqrt(max(variance, 0.0))  # rounding may leave less than nothing


def _weights(weights: Mapping[Label, float] | npt.ArrayLike, labels: Sequence[str | int]) -> Array:
    """One weight for each label, given in their order or by name; what is not named weighs nothing."""
    if isinstance(weights, Mapping):
        unknown = [name for name in weights if name not in labels]
        if unknown:
            rule = f"`weights` must name entries of the estimate ({', '.join(map(str, labels[:8]))})"
            refuse(rule, ", ".join(map(repr, unknown[:3])), "they weigh nothing here")
        weights = [weights.get(label, 0) for label in labels]
    factors = np.asarray(weights, dtype=np.float64)
    if factors.shape != (len(labels),) or not np.all(np.isfinite(factors)) or not factors.any():
        rule = f"`weights` must hold {len(labels)} finite numbers, not all zero, or name some entries"
        refuse(rule, f"shape {factors.shape}", "each entry has a weight")
    return factors


def contrast_basis(basis: IntervalBasis, value: float, se: float) -> IntervalBasis:
    """Of a weighted sum: with the degrees of freedom of the estimate, where it has some."""
    return Student(value, se, basis.df) if isinstance(basis, Student) else Normal(value, se)


def _known(basis: object) -> bool:
    return _known(basis.basis) if isinstance(basis, Affine) else hasattr(basis, "uncut")


def _limits(basis: Any, level: float) -> tuple[Any, Any, Any]:
    """The value that limits are made around, and the limits."""
    if isinstance(basis, Affine):
        value, low, high = (basis.offset + basis.factor * part for part in _limits(basis.basis, level))
        return value, low, high
    low, high = (np.asarray(limit) for limit in basis.uncut(level, basis.methods[0]))
    return np.asarray(basis.value).reshape(low.shape), low, high
