"""Influence functions: the effect of one more value, or of slight contamination, on an M-estimator.

At a distribution F the location T solves E psi(X - T) = 0. If a small share s of the population is moved to x, T
changes by s times IF(x) = psi(x - T) / M, where M = E psi'(X - T). The gross-error sensitivity is sup |IF| = bound / M,
and the estimate from n values has the asymptotic variance E psi**2 / M**2 / n. These statements concern populations and
the limit of large n. They imply no privacy; see `AsymptoticPromise`.

References: Hampel, The influence curve and its role in robust estimation (1974).
"""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from toolkit.central.robust.estimators import Mean, Median, MEstimator
from toolkit.core.arrays import Array, ArrayLike
from toolkit.core.checks import Number, check_choice, check_positive, exact_fraction, float_array, reject
from toolkit.core.inference.digits import concise
from toolkit.core.inference.special import gamma

# M-estimators of regression with clipped rows and their influence functions.
#
# The coefficients beta solve sum psi(y - x beta) w(x) x = 0, where w(x) = min(1, clip / |x|) scales every row to a norm
# of at most `clip`. Without clipping, one distant row could change beta without limit, for every psi.

_ROUNDS = 1000


@dataclass(frozen=True, eq=False)
class RegressionInfluence:
    """Regression coefficients and the influence of one more row, as returned by `regression`.

    Parameters
    ----------
    estimator : MEstimator
        The estimator that was fitted.
    clip : float
        The maximum norm of a row after clipping.
    coefficients : array
        One coefficient for each column.
    matrix : array
        The matrix M, the mean of psi'(y - x beta) w(x) x x'.
    gross_error_sensitivity : float
        The bound on psi times `clip`, divided by the smallest eigenvalue of M.

    Examples
    --------
    >>> fit = regression(Mean(), [[1.0], [1.0]], [1.0, 3.0], clip=1)
    >>> fit([1.0], 5.0).round(6)  # the influence of a row far above the mean of 2
    array([3.])
    """

    estimator: MEstimator
    clip: float
    coefficients: Array
    matrix: Array
    gross_error_sensitivity: float

    __repr__ = concise

    def __call__(self, x: ArrayLike, y: float) -> Array:
        """Return M**-1 psi(y - x beta) w(x) x, the influence of each row."""
        row = np.asarray(x, dtype=float)
        score = self.estimator.psi(y - row @ self.coefficients) * _clip_weights(row[None, :], self.clip)[0]
        return np.asarray(np.linalg.solve(self.matrix, score * row))


def regression(estimator: MEstimator, rows: ArrayLike, y: ArrayLike, *, clip: Number) -> RegressionInfluence:
    """Fit a regression by iteratively reweighted least squares, with weights psi(u) / u for residuals u.

    Parameters
    ----------
    estimator : MEstimator
        A `Mean`, `Median`, `Huber`, `Tukey` or `Logistic`.
    rows : array-like
        One row per person; a column of ones serves as the intercept.
    y : array-like
        The response, one number per row.
    clip : number
        The maximum norm of a row; longer rows are scaled down to this norm.

    Returns
    -------
    RegressionInfluence
        The coefficients and their influence function.

    Examples
    --------
    >>> from toolkit.central.robust.estimators import Huber
    >>> x = np.column_stack([np.ones(50), np.linspace(-1, 1, 50)])
    >>> y = x @ [1.0, 2.0] + np.where(np.arange(50) == 7, 1000, 0)
    >>> fit = regression(Huber(0.1), x, y, clip=2)
    >>> bool(np.abs(fit.coefficients - [1, 2]).max() < 0.02)
    True
    """
    table, target = float_array(rows, "rows"), float_array(y, "y")
    if table.ndim != 2 or target.shape != table.shape[:1] or not np.isfinite(table.sum() + target.sum()):
        rule = "`rows` must be a table and `y` a number for each row, all finite"
        reject(rule, "others", "fill or drop missing and infinite values first")
    length = float(check_positive(clip, "clip", "longer rows are scaled down to this norm"))
    row_weights = _clip_weights(table, length)
    beta = np.linalg.lstsq(table, target, rcond=None)[0]
    for _ in range(_ROUNDS):
        weighted = (table * (row_weights * _irls_weights(estimator, target - table @ beta))[:, None]).T
        new_beta = np.linalg.solve(weighted @ table, weighted @ target)
        has_converged = np.abs(new_beta - beta).max() <= 1e-12 * max(1.0, float(np.abs(beta).max()))
        beta = new_beta
        if has_converged:
            break
    slope = estimator.slope(target - table @ beta) * row_weights
    matrix = (table * slope[:, None]).T @ table / len(table)
    smallest_eigenvalue = float(np.linalg.eigvalsh(matrix)[0])
    gross_error = estimator.bound * length / smallest_eigenvalue if smallest_eigenvalue > 0 else np.inf
    return RegressionInfluence(estimator, length, np.asarray(beta, np.float64), matrix, float(gross_error))


def _clip_weights(rows: Array, clip: float) -> Array:
    lengths = np.linalg.norm(rows, axis=1)
    return np.asarray(np.minimum(1.0, clip / np.where(lengths > 0, lengths, 1.0)))


POPULATIONS = ("normal", "t3", "contaminated")
_FAR = 60.0


@dataclass(frozen=True)
class Influence:
    """The influence function of an estimator at a population or a sample, as returned by `influence`.

    Parameters
    ----------
    estimator : MEstimator
        The estimator.
    location : float
        The location T.
    slope : float
        The mean of psi', called M in the formulas.
    gross_error_sensitivity : float
        The largest absolute value of IF, which is infinite for the mean.
    variance : float
        The asymptotic variance of sqrt(n) (T_n - T), where T_n is the estimate from n values.

    Examples
    --------
    >>> influence(Mean(), [1.0, 3.0])([2.0, 5.0])
    array([0., 3.])
    """

    estimator: MEstimator
    location: float
    slope: float
    gross_error_sensitivity: float
    variance: float

    __repr__ = concise

    def __call__(self, x: ArrayLike) -> Array:
        """Return IF(x) = psi(x - T) / M."""
        return np.asarray(self.estimator.psi(np.asarray(x, dtype=float) - self.location) / self.slope)


def influence(estimator: MEstimator, population: ArrayLike) -> Influence:
    """Compute the influence function at a population or a sample.

    Parameters
    ----------
    estimator : MEstimator
        A `Mean`, `Median`, `Huber`, `Tukey` or `Logistic`.
    population : {"normal", "t3", "contaminated"} or array-like
        A sample, or the name of a distribution. "t3" is Student's t with 3 degrees of freedom; "contaminated" is the
        mixture of N(0, 1) with weight 0.9 and N(0, 9) with weight 0.1.

    Returns
    -------
    Influence
        The influence function, with the gross-error sensitivity and the asymptotic variance.

    Examples
    --------
    >>> round(influence(Mean(), "t3").variance, 6)
    3.0
    """
    if isinstance(population, str):
        check_choice(population, "population", POPULATIONS)
        center, (slope, square) = 0.0, _population_moments(estimator, population)
        return Influence(estimator, center, slope, estimator.bound / slope, square / slope**2)
    values = check_sample(population)
    if isinstance(estimator, Median):
        reject("the influence of a median needs a density", "a sample", "name a population")
    center = location(estimator, values)
    distances = values - center
    slope = _mean_slope(estimator, distances, center)
    if slope <= 0:
        received = "a sample whose mean slope is 0 or less"
        reject("the mean slope of psi must be above 0", received, "T is not determined for such a sample")
    square = float((estimator.psi(distances) ** 2).mean())
    return Influence(estimator, center, slope, estimator.bound / slope, square / slope**2)


def gross_error_sensitivity(estimator: MEstimator, population: ArrayLike) -> float:
    """Compute the supremum of abs(IF): the largest effect of a small share of arbitrary values, divided by the share.

    Parameters
    ----------
    estimator : MEstimator
        A `Mean`, `Median`, `Huber`, `Tukey` or `Logistic`.
    population : str or array-like
        A sample or the name of a distribution, as for `influence`.

    Returns
    -------
    float
        The sensitivity, which is infinite for the mean.

    Examples
    --------
    >>> from toolkit.central.robust.estimators import Huber
    >>> round(gross_error_sensitivity(Huber(1.345), "normal"), 6)
    1.637499
    """
    return influence(estimator, population).gross_error_sensitivity


def location(estimator: MEstimator, values: ArrayLike, weights: ArrayLike | None = None) -> float:
    """Find the location t at which the sum of psi(x - t) is zero.

    If psi is monotone and the sum is zero on an interval, t is its midpoint. If psi is not monotone, the search starts
    at the median.

    Parameters
    ----------
    estimator : MEstimator
        A `Mean`, `Median`, `Huber`, `Tukey` or `Logistic`.
    values : array-like
        The values.
    weights : array-like, optional
        A weight for each value; the default is equal weights.

    Returns
    -------
    float
        The location.

    Examples
    --------
    >>> from toolkit.central.robust.estimators import Huber
    >>> round(location(Huber(1), [0.0, 1.0, 100.0]), 9), round(location(Huber(1), [0.0, 100.0]), 9)
    (1.0, 50.0)
    """
    numbers = check_sample(values)
    share = np.full(len(numbers), 1 / len(numbers)) if weights is None else float_array(weights, "weights")
    if isinstance(estimator, Mean):
        return float(share @ numbers / (1 if weights is None else share.sum()))
    if isinstance(estimator, Median):
        return _weighted_median(numbers, share)
    if not estimator.is_monotone:
        return _reweight_from_median(estimator, numbers, share)
    low, high = float(numbers.min()), float(numbers.max())
    return low if low == high else _middle_of_zeros(estimator, numbers, share / share.sum(), low, high)


def fixed_scale_influence(estimator: MEstimator, values: ArrayLike, x: Number, rho: Number) -> float:
    """Compute the change of T if a share rho of the population moves to x, divided by rho.

    Parameters
    ----------
    estimator : MEstimator
        A `Mean`, `Median`, `Huber`, `Tukey` or `Logistic`.
    values : array-like
        The values.
    x : number
        The value to which the share is moved.
    rho : number
        The share that is moved, above 0 and below 1.

    Returns
    -------
    float
        The influence.

    Examples
    --------
    >>> from toolkit.central.robust.estimators import Mean
    >>> fixed_scale_influence(Mean(), [0.0, 2.0], 11, 0.5)
    10.0
    """
    numbers, share = check_sample(values), float(check_positive(rho, "rho", "at 0 use `influence`"))
    if share >= 1:
        reject("`rho` must be below 1", rho, "it is a share of the population")
    mixed = np.append(np.full(len(numbers), (1 - share) / len(numbers)), share)
    moved = location(estimator, np.append(numbers, float(exact_fraction(x, "x"))), mixed)
    return (moved - location(estimator, numbers)) / share


def check_sample(values: ArrayLike) -> Array:
    """Check values and return them as a one-dimensional array of finite floats."""
    numbers = float_array(values, "values")
    if numbers.ndim != 1 or not len(numbers) or not np.all(np.isfinite(numbers)):
        rule = "`values` must be a list of at least one number, all finite"
        reject(rule, f"shape {numbers.shape}", "fill or drop missing and infinite values first")
    return numbers


def _density(population: str, x: float) -> float:
    if population == "t3":
        return float(gamma(2) / (np.sqrt(3 * np.pi) * gamma(1.5)) * (1 + x * x / 3) ** -2)
    normal = np.exp(-x * x / 2) / np.sqrt(2 * np.pi)
    if population == "normal":
        return float(normal)
    return float(0.9 * normal + 0.1 * np.exp(-x * x / 18) / (3 * np.sqrt(2 * np.pi)))


def _population_moments(estimator: MEstimator, population: str) -> tuple[float, float]:
    """Return E psi' and E psi**2 of a symmetric distribution; for the median, the jump of 2 at 0 gives E psi'."""
    from scipy.integrate import quad

    if isinstance(estimator, Mean):
        return 1.0, {"normal": 1.0, "t3": 3.0, "contaminated": 1.8}[population]
    ends = sorted({0.0, *(kink for kink in estimator._kinks if kink > 0), _FAR})

    def mean(function: Callable[..., Array]) -> float:
        def weighted(x: float) -> float:
            return float(function(x)) * _density(population, x)

        parts = [quad(weighted, a, b, epsabs=1e-13, limit=200)[0] for a, b in pairwise(ends)]
        return float(2 * (sum(parts) + quad(weighted, _FAR, np.inf, epsabs=1e-13)[0]))

    square = mean(lambda x: estimator.psi(x) ** 2)
    slope = 2 * _density(population, 0.0) if isinstance(estimator, Median) else mean(estimator.slope)
    return slope, square


def _mean_slope(estimator: MEstimator, distances: Array, center: float) -> float:
    """Return the mean of psi', averaging the two one-sided derivatives at a kink."""
    step = 1e-9 * max(estimator._kinks, default=0.0) + 1e-12 * abs(center)
    return float((estimator.slope(distances - step) + estimator.slope(distances + step)).mean() / 2)


def _middle_of_zeros(estimator: MEstimator, values: Array, weights: Array, low: float, high: float) -> float:
    """Find the zero of a decreasing sum of scores, or the midpoint if the sum is zero on an interval.

    Without this rule, rounding errors would determine which point of the interval is returned. At points farther from
    the values than their range, all scores have the same sign.
    """
    from scipy.optimize import brentq

    spread = high - low
    small_score = 1e-12 * float(np.abs(estimator.psi([-spread, spread])).max())
    ends = (low - spread, high + spread)
    tolerances = {"xtol": 1e-13 * max(abs(low), abs(high)), "rtol": 1e-14}

    def score_excess(t: float, target: float) -> float:
        return float(weights @ estimator.psi(values - t)) - target

    first, last = (brentq(score_excess, *ends, args=(target,), **tolerances) for target in (small_score, -small_score))
    return float((first + last) / 2)


def _weighted_median(values: Array, weights: Array) -> float:
    order = np.argsort(values, kind="stable")
    cumulative = np.cumsum(weights[order])
    half = cumulative[-1] / 2
    low = int(np.searchsorted(cumulative, half * (1 - 1e-12)))
    high = int(np.searchsorted(cumulative, half * (1 + 1e-12)))
    return float((values[order][low] + values[order][high]) / 2)


def _irls_weights(estimator: MEstimator, distances: Array) -> Array:
    """Return the weights psi(u) / u, or the derivative of psi near 0."""
    near = np.abs(distances) < 1e-12
    return np.where(near, estimator.slope(0.0), estimator.psi(distances) / np.where(near, 1.0, distances))


def _reweight_from_median(estimator: MEstimator, values: Array, weights: Array) -> float:
    """Find the location by iterative reweighting with psi(u) / u, starting from the median."""
    center = _weighted_median(values, weights)
    for _ in range(500):
        distances = values - center
        weight = _irls_weights(estimator, distances) * weights
        if weight.sum() <= 0:
            return center
        new_center = float(weight @ values / weight.sum())
        if abs(new_center - center) <= 1e-14 * max(1.0, abs(center)):
            return new_center
        center = new_center
    return center
