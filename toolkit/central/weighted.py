"""Weighted totals and means of a table's cells, with the error of the noise and of the sample.

Let v be a weight divided by the largest possible weight, and t a value scaled to -1 … 1. A row contributes the products
of the Bernstein polynomials of v and t: non-negative terms that add up to one unit. So adding or removing one person
changes the whole vector by 1 in L1, and its terms give all sums of v**i t**j: the numerator and the denominator of a
ratio, the number of rows, and the squares from which the sampling variance is estimated.

The sampling variance is that of a sample with replacement, as in svymean and svytotal of R for
svydesign(ids = ~1, weights = ~w). Let A(f) be the sum of (w f)**2 over the rows of a cell, and n the number of rows of
the sample. A mean m has the variance n/(n-1) A(x - m) / (sum of w)**2, and a total X has n/(n-1) (A(x) - X**2/n). If n
is private, the total has the variance A(x), which is that of a sample of random size and is never smaller. A public
design effect replaces A(f) by deff times the sum of w f**2 times the mean weight of the cell, so that the squares of
weights are not needed. If deff is below 1, it also multiplies X**2/n; above 1, it does not, because the unequal weights
that it stands for make even the total of all weights vary.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache, partial

import numpy as np

from toolkit.central.noise.laws import NoiseLaw
from toolkit.central.release import CellNoise
from toolkit.central.sensitivity import table_shares
from toolkit.central.tables import (
    BERNSTEIN_VALUES,
    CellEstimates,
    LevelLimits,
    Matrix,
    MomentStatistic,
    NoisyMoments,
    bernstein_coefficients,
    confidence_limits,
    kronecker_product,
    quantile_of_combination,
    rescaled_limits,
    scale_sensitivity,
)
from toolkit.core.arrays import Array
from toolkit.core.covers import Covers, ErrorSource
from toolkit.core.estimate import Estimate
from toolkit.core.inference.intervals import Interval
from toolkit.core.inference.special import ndtr, ndtri
from toolkit.frames.persons import ONE_ROW, Caps

_MEAN_SQUARE = 1 / 3  # of a number that is uniform on -1 to 1
_SMALLEST = 1e-100


@dataclass(frozen=True)
class SamplingModel:
    """The source of the sampling variance.

    Parameters
    ----------
    n : int, optional
        The number of rows of the sample, if it is public.
    deff : float, optional
        The public design effect; without it, the squares of the weights are released with noise.
    """

    n: int | None = None
    deff: float | None = None

    @property
    def description(self) -> str:
        """The source of the sampling variance in words."""
        return "noised squares" if self.deff is None else f"design effect {self.deff:g}"

    @property
    def covers(self) -> Covers:
        return Covers([ErrorSource.SAMPLING, ErrorSource.NOISE], detail=f"({self.description})")

    def squares(self, sums: Array, polynomial: Array) -> Array:
        """Return the sum of (v f)**2 in each cell; `polynomial` holds the coefficients of f**2 in powers of t."""
        if self.deff is None:
            return np.asarray(np.maximum(np.sum(sums[:, 2] * polynomial, axis=-1), 0))
        mean_weight = np.clip(sums[:, 1, 0] / np.maximum(sums[:, 0, 0], 1), 0, 1)
        return np.asarray(self.deff * np.maximum(mean_weight * np.sum(sums[:, 1] * polynomial, axis=-1), 0))

    def total_variance(self, squares: Array, totals: Array, n_rows: Array) -> tuple[Array, Array | None]:
        """Return the sampling variances of totals, and a vector: minus its outer product are the covariances."""
        if self.n is None:
            return squares, None
        n, gain = max(self.n, 2), min(self.deff or 1.0, 1.0)
        # By the inequality of Cauchy and Schwarz, a sum of squares is at least the squared total over the rows. If the
        # noise violates it, the covariance matrix would not be positive semidefinite.
        sizes = np.maximum(n_rows, 1.0)
        sizes = sizes * min(1.0, n / float(np.sum(sizes)))
        least = (self.deff or 1.0) * totals**2 / sizes
        return (np.maximum(squares, least) - gain * totals**2 / n) * n / (n - 1), totals * math.sqrt(gain / (n - 1))


@dataclass(frozen=True, eq=False, kw_only=True)
class SampledCells(CellEstimates):
    """The value of each cell with its errors: `se` and `limits` account for sampling and noise.

    `shared_error` times its transpose is the covariance that totals lose because the sample size is fixed.
    """

    noise_se: Array
    noise_limits: LevelLimits
    covers: Covers
    shared_error: Array | None = None
    methods: tuple[str, ...] = ("combined", "noise")

    def interval(self, level: float, method: str) -> Interval:
        cells = self if method == self.methods[0] else replace(self, limits=self.noise_limits)
        return CellEstimates.interval(cells, level, method)

    def rescaled(self, factor: float, offset: float, within: tuple[float, float]) -> "SampledCells":
        return replace(
            self,
            value=np.clip(offset + factor * self.value, *within),
            se=factor * self.se,
            limits=partial(rescaled_limits, self.limits, factor, offset, within),
            noise_se=factor * self.noise_se,
            noise_limits=partial(rescaled_limits, self.noise_limits, factor, offset, within),
            shared_error=None if self.shared_error is None else factor * self.shared_error,
        )

    def estimate(self, *, as_scalar: bool = False, counts: Estimate | None = None) -> Estimate:
        estimate, cov = super().estimate(as_scalar=as_scalar, counts=counts), None
        if estimate.cov is not None and self.shared_error is not None:
            common = np.outer(self.shared_error, self.shared_error)
            cov = estimate.cov - common + np.diag(np.diag(common))
        return replace(estimate, covers=self.covers, cov=estimate.cov if cov is None else cov)


@dataclass(frozen=True, eq=False, kw_only=True)
class WeightedStatistic(MomentStatistic):
    """A total or a mean with weights; `lowest` is the smallest possible weight divided by the largest."""

    lowest: float
    has_counts: bool = True

    def estimate(self, noisy: Sequence[int], law: NoiseLaw, *, as_scalar: bool) -> Estimate:
        estimate = super().estimate(noisy, law, as_scalar=as_scalar)
        return estimate if self.has_counts else replace(estimate, counts=None)

    def noise(self, law: NoiseLaw) -> CellNoise:
        """Return the noise of a cell; that of a mean is for many values and weights evenly spread in their bounds."""
        many = 1e9
        weights = (1.0, (1 + self.lowest) / 2, (1 + self.lowest + self.lowest**2) / 3)
        values = (1.0, 0.0, _MEAN_SQUARE) if len(self.decoding_matrix) > len(weights) else (1.0,)
        sums = np.outer(weights, values).ravel()[: len(self.decoding_matrix)]
        cells = self.estimator(NoisyMoments(many * sums[None, :], self.slopes / self.unit, law))
        assert isinstance(cells, SampledCells)
        se = self.factor * float(cells.noise_se[0])
        return CellNoise(se_times_n=many * se) if math.isfinite(self.within[0]) else CellNoise(sd=se)


@lru_cache(maxsize=128)
def weighted_sums(
    weight_steps: tuple[int, int],
    span: int | None,
    n_cells: int,
    neighbors: str,
    caps: Caps = ONE_ROW,
    *,
    squares: bool = True,
) -> WeightedStatistic:
    """Make the statistic for the sums of v**i t**j, from the sums of products of powers of the steps.

    The powers of a weight go to 2 if `squares` are released, otherwise to 1; those of a value go to 2, or to 0 if there
    is no value. `weight_steps` are the smallest and the largest weight, in steps from zero.
    """
    lowest, highest = weight_steps
    terms, decoding_matrix = _weight_terms(highest - lowest, Fraction(lowest, highest), squares=squares)
    unit = (highest - lowest) ** (len(terms) - 1)
    if span is not None:
        terms = kronecker_product(terms, bernstein_coefficients(span))
        decoding_matrix, unit = kronecker_product(decoding_matrix, BERNSTEIN_VALUES), unit * span**2
    sensitivity = scale_sensitivity(table_shares(n_cells, neighbors, caps), unit)
    estimator = partial(weighted_mean, model=SamplingModel())
    return WeightedStatistic(terms, decoding_matrix, unit, sensitivity, estimator, lowest=lowest / highest)


def _weight_terms(span: int, lowest: Fraction, *, squares: bool) -> tuple[Matrix, Matrix]:
    """Return the Bernstein polynomials of the steps of a weight, and the powers of v as combinations of them."""
    if not squares:
        return ((span, -1), (0, 1)), ((1, 1), (lowest, 1))
    return bernstein_coefficients(span), ((1, 1, 1), (lowest, (lowest + 1) / 2, 1), (lowest**2, lowest, 1))


def _by_power(moments: NoisyMoments, model: SamplingModel) -> Array:
    """Return the sums of v**i t**j in an array of cells by i by j."""
    return moments.sums.reshape(len(moments.sums), 3 if model.deff is None else 2, -1)


def weighted_total(moments: NoisyMoments, model: SamplingModel, middle: float = 1.0, half: float = 0.0) -> SampledCells:
    """Estimate the sum of v (middle + half t) in each cell."""
    sums = _by_power(moments, model)
    n_powers = sums.shape[2]
    value = np.array([middle, half, 0.0])[:n_powers]
    squared = np.array([middle**2, 2 * middle * half, half**2])[:n_powers]
    totals = np.asarray(sums[:, 1] @ value)
    variance, shared_error = model.total_variance(model.squares(sums, squared), totals, sums[:, 0, 0])
    coefficients = value @ moments.slopes[n_powers : 2 * n_powers]
    noise_se = np.full(len(sums), float(np.linalg.norm(coefficients)) * moments.law.sd)
    factors = tuple(coefficients.tolist())
    return SampledCells(
        totals,
        np.sqrt(noise_se**2 + variance),
        partial(_total_limits, totals, variance, moments.law, factors),
        noise_se=noise_se,
        noise_limits=partial(_total_limits, totals, 0.0, moments.law, factors),
        covers=model.covers,
        shared_error=shared_error,
    )


def _total_limits(
    totals: Array, variance: Array | float, law: NoiseLaw, factors: tuple[float, ...], level: float
) -> tuple[Array, Array]:
    """Return limits whose distance combines the quantiles of both errors, which are independent."""
    noise = quantile_of_combination(law, factors, level)
    margin = np.sqrt(noise**2 + ndtri(0.5 + level / 2) ** 2 * variance)
    return totals - margin, totals + margin


def weighted_mean(moments: NoisyMoments, model: SamplingModel) -> SampledCells:
    """Estimate the weighted mean of t in each cell.

    The interval contains every m for which the sum of v (t - m) is not farther from 0 than both of its errors. If there
    is no such m, it is the whole range.
    """
    sums = _by_power(moments, model)
    weights_only, with_value = np.eye(len(moments.slopes))[[3, 4]]
    # Below the noise, or one row of the largest weight, the denominator is unknown.
    least = min(1.0, float(moments.standard_error(weights_only[None, :])[0]))
    number = np.maximum(sums[:, 1, 0], least)
    value = np.clip(sums[:, 1, 1] / number, -1, 1)
    noise_se = moments.standard_error(with_value - value[:, None] * weights_only) / number
    sampling = _deviation_variance(sums, model, value) / number**2
    return SampledCells(
        value,
        np.sqrt(noise_se**2 + sampling),
        partial(_mean_limits, moments, model, 1.0),
        noise_se=noise_se,
        noise_limits=partial(_mean_limits, moments, model, 0.0),
        covers=model.covers,
    )


def _deviation_variance(sums: Array, model: SamplingModel, center: Array) -> Array:
    """Return the sampling variance of the sum of v (t - center)."""
    n = np.maximum(sums[:, 0, 0], 2.0) if model.n is None else max(model.n, 2)
    squares = model.squares(sums, np.stack([center**2, -2 * center, np.ones_like(center)], axis=1))
    return np.asarray(squares * n / (n - 1))


def _mean_limits(
    moments: NoisyMoments, model: SamplingModel, sampling_share: float, level: float
) -> tuple[Array, Array]:
    sums = _by_power(moments, model)
    weights_only, with_value = np.eye(len(moments.slopes))[[3, 4]]
    # The noise has heavier tails than a normal variable, most of all for a mean at an end of its range.
    coefficients = (with_value - weights_only) @ moments.slopes
    normal_quantile = ndtri(0.5 + level / 2) * float(np.linalg.norm(coefficients)) * moments.law.sd
    noise_quantile = quantile_of_combination(moments.law, coefficients.tolist(), level)
    tail_factor = (noise_quantile / max(normal_quantile, _SMALLEST)) ** 2

    def tail(m: Array) -> Array:
        variance = tail_factor * moments.standard_error(with_value - m[:, None] * weights_only) ** 2
        variance = variance + sampling_share * _deviation_variance(sums, model, m)
        return np.asarray(2 * ndtr(-np.abs(sums[:, 1, 1] - m * sums[:, 1, 0]) / np.sqrt(variance)))

    best = np.clip(sums[:, 1, 1] / np.where(sums[:, 1, 0] == 0, 1.0, sums[:, 1, 0]), -1, 1)
    return confidence_limits(tail, best, level)
