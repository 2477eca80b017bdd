"""`PrivateLinearRegression`: least squares from second moments with noise."""

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.base import RegressorMixin

from toolkit.core.arrays import Array, Mask
from toolkit.core.checks import Number, exact, refuse
from toolkit.core.randomness import Rng
from toolkit.frames.column import Column
from toolkit.learning.base import PrivateLearner
from toolkit.learning.fitting.moments import Moments
from toolkit.learning.tables import Target, one_column


class PrivateLinearRegression(RegressorMixin, PrivateLearner):  # type: ignore[misc]
    """Least squares that promise every person in the data differential privacy.

    All that least squares need of the data are the sums of x x' and of x y. They are released with Gaussian
    noise, at once; what follows from them costs nothing more. So does the ridge that keeps noise from making
    the matrix singular: the least that lifts its smallest eigenvalue to the size of the noise.

    What a pipeline learns from the data before it comes here, as StandardScaler does, is not covered.

    Parameters
    ----------
    epsilon, delta : the cost, Approx(epsilon, delta).
    rho : in their place: Zcdp(rho).
    target_bounds : (low, high) that y is cut to.
    bounds, row_norm, missing, fit_intercept, ledger, rng : as of `PrivateLogisticRegression`.
    neighbors : "replace" or "add_remove".

    Examples
    --------
    >>> x = np.linspace(0, 1, 20_000)[:, None]
    >>> model = PrivateLinearRegression(rho=0.5, bounds=(0, 1), target_bounds=(0, 10), missing="drop")
    >>> model = model.fit(x, 2 + 3 * x[:, 0])
    >>> bool(abs(model.coef_[0] - 3) < 0.5), bool(abs(model.intercept_ - 2) < 0.5)
    (True, True)

    References
    ----------
    Wang (2018), Revisiting differentially private linear regression; Bun and Steinke (2016) for the cost.
    """

    def __init__(
        self,
        epsilon: Number | None = None,
        *,
        rho: Number | None = None,
        delta: Number | None = None,
        target_bounds: Any = None,
        bounds: Any = None,
        row_norm: Number | None = None,
        missing: Any = None,
        fit_intercept: bool = True,
        neighbors: str = "replace",
        ledger: Any = None,
        rng: Rng = None,
    ) -> None:
        self.epsilon, self.rho, self.delta = epsilon, rho, delta
        self.target_bounds, self.bounds, self.row_norm = target_bounds, bounds, row_norm
        self.missing = missing
        self.fit_intercept, self.neighbors, self.ledger, self.rng = fit_intercept, neighbors, ledger, rng

    def fit(self, X: Any, y: Any) -> Any:  # noqa: N803 — scikit-learn's own names
        """Charge the ledger, then read the rows and release coefficients; a row without a target counts as
        none.
        """
        found, (low, high) = self._opened(X), _ends(self.target_bounds)
        scaling = self._scale(found, intercept=bool(self.fit_intercept))
        column, half = _numbers(one_column(y, found.shape[0])), (high - low) / 2
        moments = Moments(self._asked(), scaling.size, self.neighbors, target=True)

        def learn(source: Rng) -> tuple[Array, Array]:
            goal = column.floats()
            known = ~np.isnan(goal)
            signed = np.where(known, (np.clip(goal, low, high) - low - half) / half, 0.0)
            return moments.release(scaling.rows(found.read()) * known, signed, source)

        words = f"moments of {scaling.size} weights and a target"
        matrix, products = self._released(moments.mechanism, words, learn)
        slopes, constant = scaling.linear(_solved(matrix, products, moments.sigma))
        self.coef_, self.intercept_ = slopes * half, constant * half + low + half
        self._scaling, self.loss_ = scaling, None if self.simulated_ else moments.loss
        return self

    def _known(self, y: Target) -> Callable[[], Mask]:
        column = _numbers(y)
        return lambda: ~np.isnan(column.floats())

    def predict(self, X: Any) -> Array:  # noqa: N803
        """The mean of y for each row, linear in its numbers; a missing one counts as `missing` says, dropped
        as the middle of its bounds.
        """
        values = self._seen(X).read()
        return np.asarray(self._scaling.filled(values) @ self.coef_ + self.intercept_)

    def _said(self) -> list[tuple[str, str]]:
        fitted = [("fitted to", f"{self.n_features_in_} columns")] if hasattr(self, "coef_") else []
        return [("noise", "on the sums of squares and products"), *fitted]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.regressor_tags.poor_score = True  # noise decides on a handful of rows
        return tags


def _solved(matrix: Array, products: Array, sigma: float) -> Array:
    """Ridge regression from noisy moments. Symmetric noise with sigma / sqrt(2) off the diagonal has
    eigenvalues of up to about sigma sqrt(2 k): no eigenvalue is left below that.
    """
    values, vectors = np.linalg.eigh(matrix)
    noise = sigma * np.sqrt(2 * len(matrix))
    lifted = values + max(0.0, noise - float(values[0]))
    return np.asarray(vectors @ ((vectors.T @ products) / lifted))


def _numbers(y: Target) -> Column:
    return y.column.adds_up("y")


def _ends(bounds: Any) -> tuple[float, float]:
    if bounds is None or isinstance(bounds, str) or not hasattr(bounds, "__len__") or len(bounds) != 2:
        refuse("`target_bounds` must be (low, high)", "none", "one person's y could move everything")
    low, high = (float(exact(end, "target_bounds")) for end in bounds)
    if not -1e100 <= low < high <= 1e100:
        refuse("`target_bounds` must be (low, high) with low < high", (low, high), "y is cut to them")
    return low, high
