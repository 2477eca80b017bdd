"""`PrivateLinearRegression`: least squares from second moments with noise."""

from typing import Any

import numpy as np
from sklearn.base import RegressorMixin

from toolkit.core.arrays import Array
from toolkit.core.checks import Number, exact, refuse
from toolkit.core.randomness import Rng
from toolkit.learning.fitting.moments import Moments
from toolkit.learning.paying import PrivateLearner
from toolkit.learning.scaling import scale
from toolkit.learning.tables import numbers, one_column


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
    bounds, row_norm, fit_intercept, ledger, rng : as of `PrivateLogisticRegression`.
    neighbors : "replace" or "add_remove".

    Examples
    --------
    >>> x = np.linspace(0, 1, 20_000)[:, None]
    >>> model = PrivateLinearRegression(rho=0.5, bounds=(0, 1), target_bounds=(0, 10)).fit(x, 2 + 3 * x[:, 0])
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
        fit_intercept: bool = True,
        neighbors: str = "replace",
        ledger: Any = None,
        rng: Rng = None,
    ) -> None:
        self.epsilon, self.rho, self.delta = epsilon, rho, delta
        self.target_bounds, self.bounds, self.row_norm = target_bounds, bounds, row_norm
        self.fit_intercept, self.neighbors, self.ledger, self.rng = fit_intercept, neighbors, ledger, rng

    def fit(self, X: Any, y: Any) -> Any:  # noqa: N803 — scikit-learn's own names
        """Charge the ledger, then read the rows and release coefficients; a row without a target counts as
        none.
        """
        found = self._opened(X)
        low, high = _ends(self.target_bounds)
        scaling = scale(
            self.bounds,
            self.row_norm,
            features=found.shape[1],
            names=found.names,
            intercept=bool(self.fit_intercept),
        )
        cells = _target(y, found.shape[0])
        moments = Moments(self._asked(), scaling.size, self.neighbors, target=True)
        source = self._paid(moments.mechanism, f"moments of {scaling.size} weights and a target")
        goal, half = numbers(cells), (high - low) / 2
        known = ~np.isnan(goal)
        signed = np.where(known, (np.clip(goal, low, high) - low - half) / half, 0.0)
        matrix, products = moments.release(scaling.rows(found.read()) * known, signed, source)
        slopes, constant = scaling.linear(_solved(matrix, products, moments.sigma))
        self.coef_, self.intercept_ = slopes * half, constant * half + low + half
        self._middle, self.simulated_ = scaling.middle, source is not None
        self.loss_ = None if self.simulated_ else moments.loss
        return self

    def predict(self, X: Any) -> Array:  # noqa: N803
        """The mean of y for each row, linear in its numbers; a missing one is the middle of its bounds."""
        values = self._seen(X).read()
        filled = np.clip(np.where(np.isnan(values), self._middle, values), -1e100, 1e100)
        return np.asarray(filled @ self.coef_ + self.intercept_)

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


def _target(y: Any, rows: int) -> Any:
    if y is None:
        refuse("a regression requires y to be passed, but the target y is None", "None", "nothing is learnt")
    cells = one_column(y, rows)
    if cells.dtype.kind not in "biufO":
        refuse("y must hold numbers", f"dtype {cells.dtype}", "text has no size")
    return cells


def _ends(bounds: Any) -> tuple[float, float]:
    if bounds is None or isinstance(bounds, str) or not hasattr(bounds, "__len__") or len(bounds) != 2:
        refuse("`target_bounds` must be (low, high)", "none", "one person's y could move everything")
    low, high = (float(exact(end, "target_bounds")) for end in bounds)
    if not -1e100 <= low < high <= 1e100:
        refuse("`target_bounds` must be (low, high) with low < high", (low, high), "y is cut to them")
    return low, high
