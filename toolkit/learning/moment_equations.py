"""Intervals and tests of a regression whose moments were released with noise, at no further cost.

Let M be the sum of x x' and p the sum of x t over all rows, and let t = x . w + u with errors u of equal variance. The
released moments are M + E and p + e with Gaussian noise, and

    p + e - (M + E) w = sum of x u + e - E w.

At the true weights w, the right side has mean 0 and the covariance

    V(w) = Var(u) M + sigma**2 I + sigma**2 / 2 (|w|**2 I + w w'),

because the entries of the symmetric matrix E have the variance sigma**2 on the diagonal and sigma**2 / 2 elsewhere. So
the quadratic form Q(w) of the left side is nearly chi-squared. The interval of a coefficient contains the values for
which the minimum of Q over the other coefficients is below the quantile of chi-squared with one degree of freedom, or,
because Var(u) is estimated, the square of a t quantile (Anderson and Rubin 1949; Fieller 1954). The ridge of the
estimate does not matter for these intervals. Without noise, they are the t intervals of least squares.

Far away in the direction of an eigenvector of M + E with the eigenvalue v, Q tends to (v / sigma)**2. In other
directions it is larger. If the smallest eigenvalue is within the noise, no coefficient is bounded: a large error in one
weight, multiplied by the noise E, can hide any value of the other weights.

Robust (sandwich) errors need the sums of u**2 x x', which are fourth moments, and are not released.
"""

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.linalg import null_space
from scipy.optimize import brentq, minimize
from scipy.special import ndtri, stdtr, stdtrit

from toolkit.core.arrays import Array
from toolkit.core.inference.intervals import Interval, Tails
from toolkit.core.search import bracket

_FARTHEST = 2.0**20  # in standard errors; an interval that extends farther is unbounded
_LIMIT_RTOL = 1e-9
_UPPER_LIMIT = float(ndtri(0.95))


@dataclass(frozen=True, eq=False)
class RegressionMoments:
    """The released sums over all rows: x x', x t, t**2 and 1, where the first have noise of standard deviation sigma.

    Parameters
    ----------
    matrix, products : array
        The sums of x x' and of x t.
    target_square, target_square_sd : float
        The sum of t**2, and the standard deviation of its noise.
    n : float
        The number of rows with a target.
    sigma : float
        The standard deviation of the noise on `products` and on the diagonal of `matrix`.
    """

    matrix: Array
    products: Array
    target_square: float
    target_square_sd: float
    n: float
    sigma: float

    @cached_property
    def eigen(self) -> tuple[Array, Array]:
        """The eigenvalues of the matrix, in ascending order, and its eigenvectors."""
        return np.linalg.eigh(self.matrix)

    @property
    def ridge(self) -> float:
        """The ridge that raises the smallest eigenvalue to sigma sqrt(2 k), the largest eigenvalue of the noise."""
        return max(0.0, self.sigma * math.sqrt(2 * len(self.matrix)) - float(self.eigen[0][0]))

    def solve(self, ridge: float) -> Array:
        """Return the weights of a ridge regression."""
        eigenvalues, vectors = self.eigen
        return np.asarray(vectors @ ((vectors.T @ self.products) / (eigenvalues + ridge)))


@dataclass(frozen=True, eq=False)
class MomentEquations:
    """The basis of the intervals of coefficients, which are `transform` times the weights, plus `offset`."""

    moments: RegressionMoments
    transform: Array
    offset: Array
    methods: tuple[str, ...] = ("moments",)

    @property
    def df(self) -> float:
        """The degrees of freedom of the residual variance, at least 1."""
        return max(self.moments.n - len(self.moments.matrix), 1.0)

    @cached_property
    def weights(self) -> Array:
        """The weights without a ridge, which satisfy the equations exactly."""
        return self.moments.solve(0.0)

    @cached_property
    def sampling(self) -> Array:
        """The covariance of the sum of x u, for a residual variance that is rarely too small.

        The residual sum of squares is the sum of t**2 - 2 w p + w M w and has noise of known size, which may exceed it.
        So the upper 95 % limit with respect to this noise is used. No variance of a target in [-1, 1] exceeds 1.
        """
        moments, (eigenvalues, vectors) = self.moments, self.moments.eigen
        length = float(self.weights @ self.weights)
        noise = math.hypot(moments.target_square_sd, moments.sigma * math.sqrt(4 * length + length**2))
        residual = moments.target_square - float(self.weights @ moments.products) + _UPPER_LIMIT * noise
        variance = min(max(residual, 0.0) / self.df, 1.0)
        return np.asarray(variance * (vectors * np.maximum(eigenvalues, 0.0)) @ vectors.T)

    def equation_cov(self, weights: Array) -> Array:
        """Return V(w), the covariance of the moment equations at the given weights."""
        half = self.moments.sigma**2 / 2
        noise = half * (2 + weights @ weights) * np.eye(len(weights)) + half * np.outer(weights, weights)
        return np.asarray(self.sampling + noise)

    @cached_property
    def cov(self) -> Array:
        """The covariance of the coefficients without a ridge, to first order in the noise."""
        root = self.transform @ np.linalg.inv(self.moments.matrix)
        return np.asarray(root @ self.equation_cov(self.weights) @ root.T)

    @property
    def far_statistic(self) -> float:
        """The limit of Q in the direction that the moments determine least; a statistic above it is not attainable."""
        return (max(float(self.moments.eigen[0][0]), 0.0) / self.moments.sigma) ** 2

    def quadratic_form(self, weights: Array) -> tuple[float, Array]:
        """Return Q and its gradient."""
        moments = self.moments
        equations = moments.products - moments.matrix @ weights
        solution = np.linalg.solve(self.equation_cov(weights), equations)
        slope = (solution @ solution) * weights + (solution @ weights) * solution
        return float(equations @ solution), -2 * moments.matrix @ solution - moments.sigma**2 * slope

    @cached_property
    def directions(self) -> list[tuple[Array, Array]]:
        """For each coefficient, the most likely change of the weights for one standard error, and all other changes."""
        eigenvalues, vectors = np.linalg.eigh(self.equation_cov(self.weights))
        root = np.linalg.solve(self.moments.matrix, vectors * np.sqrt(np.maximum(eigenvalues, 0.0)))
        slopes = self.transform @ root
        slopes /= np.linalg.norm(slopes, axis=1, keepdims=True)
        return [(root @ slope, root @ null_space(slope[None, :])) for slope in slopes]

    def statistic(self, index: int, distance: float) -> float:
        """Return the minimum of Q where a coefficient is `distance` standard errors above its value without a ridge.

        The other weights are measured in standard errors, too, in which Q is nearly the squared length.
        """
        direction, others = self.directions[index]
        start = self.weights + distance * direction

        def profile(moves: Array) -> tuple[float, Array]:
            value, gradient = self.quadratic_form(start + others @ moves)
            return value, others.T @ gradient

        if not others.shape[1]:
            return self.quadratic_form(start)[0]
        return float(minimize(profile, np.zeros(others.shape[1]), jac=True, method="BFGS").fun)

    def interval(self, level: float, method: str) -> Interval:
        quantile = float(stdtrit(self.df, 0.5 + level / 2))
        shape = len(self.transform)
        low, high = np.full(shape, -np.inf), np.full(shape, np.inf)
        if self.far_statistic > quantile**2:
            center, errors = self._center_and_errors
            low = center - errors * [self._limit(index, -1, quantile) for index in range(shape)]
            high = center + errors * [self._limit(index, 1, quantile) for index in range(shape)]
        return Interval(low, high, level, method, np.zeros(shape, dtype=bool))

    def _limit(self, index: int, sign: int, quantile: float) -> float:
        """Return the distance, in standard errors, at which the statistic reaches the squared quantile."""

        def excess(distance: float) -> float:
            return self.statistic(index, sign * distance) - quantile**2

        near, far = bracket(lambda distance: excess(distance) > 0, 0.0, 1.25 * quantile, _FARTHEST)
        return far if math.isinf(far) else float(brentq(excess, near, far, rtol=_LIMIT_RTOL))

    def tails(self, null: float, _method: str) -> Tails:
        statistics = np.zeros(len(self.transform))
        if self.far_statistic > 0:
            center, errors = self._center_and_errors
            distances = (null - center) / errors
            squares = [self.statistic(index, float(distance)) for index, distance in enumerate(distances)]
            statistics = -np.sign(distances) * np.sqrt(np.minimum(squares, self.far_statistic))
        return statistics, stdtr(self.df, statistics), stdtr(self.df, -statistics)

    @property
    def _center_and_errors(self) -> tuple[Array, Array]:
        return self.transform @ self.weights + self.offset, np.sqrt(np.diag(self.cov))
