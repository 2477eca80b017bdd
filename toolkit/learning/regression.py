"""`PrivateLinearRegression`: least squares from second moments with noise."""

from collections.abc import Callable, Sequence
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import RegressorMixin

from toolkit.budget.ledger import Ledger
from toolkit.core.arrays import Array, DataFrame, Mask
from toolkit.core.checks import Number, refuse
from toolkit.core.randomness import Rng
from toolkit.learning.base import PrivateLearner
from toolkit.learning.fitting.moments import Moments
from toolkit.learning.tables import Target, ends, one_column


class PrivateLinearRegression(RegressorMixin, PrivateLearner):  # type: ignore[misc]
    """Least squares that promise every person in the data differential privacy.

    All that least squares need of the data are the sums of x x' and of x y. They are released with Gaussian
    noise, at once; what follows from them costs nothing more. So does the ridge that keeps noise from making
    the matrix singular: the least that lifts its smallest eigenvalue to the size of the noise.

    What a pipeline learns from the data before it comes here, as StandardScaler does, is not covered.

    Parameters
    ----------
    epsilon : Number, optional
        The cost is Approx(epsilon, delta).
    rho : Number, optional
        In their place: Zcdp(rho).
    delta : Number, optional
        Goes with `epsilon`.
    target_bounds : tuple
        (low, high) that y is cut to.
    bounds : tuple or list or dict, optional
        As for `PrivateLogisticRegression`.
    row_norm : Number, optional
        As for `PrivateLogisticRegression`.
    missing : str or Number, optional
        As for `PrivateLogisticRegression`.
    fit_intercept : bool
        Whether there is a constant column.
    neighbors : str
        "replace" or "add_remove".
    ledger : Ledger, optional
        Is charged before a row is read.
    rng : Generator, optional
        For simulation; the learner then claims no privacy.

    References
    ----------
    Wang (2018), Revisiting differentially private linear regression; Bun and Steinke (2016) for the cost.

    Examples
    --------
    >>> x = np.linspace(0, 1, 20_000)[:, None]
    >>> model = PrivateLinearRegression(rho=0.5, bounds=(0, 1), target_bounds=(0, 10), missing="drop")
    >>> model = model.fit(x, 2 + 3 * x[:, 0])
    >>> bool(abs(model.coef_[0] - 3) < 0.5), bool(abs(model.intercept_ - 2) < 0.5)
    (True, True)
    """

    def __init__(
        self,
        epsilon: Number | None = None,
        *,
        rho: Number | None = None,
        delta: Number | None = None,
        target_bounds: Sequence[Number] | None = None,
        bounds: object = None,
        row_norm: Number | None = None,
        missing: Number | None = None,
        fit_intercept: bool = True,
        neighbors: str = "replace",
        ledger: Ledger | None = None,
        rng: Rng = None,
    ) -> None:
        self.epsilon, self.rho, self.delta = epsilon, rho, delta
        self.target_bounds, self.bounds, self.row_norm = target_bounds, bounds, row_norm
        self.missing = missing
        self.fit_intercept, self.neighbors, self.ledger, self.rng = fit_intercept, neighbors, ledger, rng

    def fit(self, X: DataFrame | npt.ArrayLike, y: npt.ArrayLike) -> Self:  # noqa: N803 — scikit-learn's own names
        """Charge the ledger, then read the rows and release coefficients.

        Parameters
        ----------
        X : array-like
            The rows: a matrix, a list of rows, or a frame of pandas, polars or pyarrow.
        y : array-like
            A number per row; a row without one adds nothing.

        Returns
        -------
        Self
            The learner, with `coef_`, `intercept_` and `loss_`.
        """
        rows, (low, high) = self._opened(X), _ends(self.target_bounds)
        scaling = self._scale(rows, intercept=bool(self.fit_intercept))
        column, half = one_column(y, rows.shape[0]).column.adds_up("y"), (high - low) / 2
        moments = Moments(self._claimed_loss(), scaling.size, self.neighbors, target=True)

        def learn(source: Rng) -> tuple[Array, Array]:
            goal = column.floats()
            known = ~np.isnan(goal)
            signed = np.where(known, (np.clip(goal, low, high) - low - half) / half, 0.0)
            return moments.release(scaling.rows(rows.read()) * known, signed, source)

        words = f"moments of {scaling.size} weights and a target"
        matrix, products = self._released(moments.mechanism, words, learn)
        slopes, constant = scaling.linear(_solved(matrix, products, moments.sigma))
        self.coef_, self.intercept_ = slopes * half, constant * half + low + half
        self._scaling, self.loss_ = scaling, None if self.simulated_ else moments.loss
        return self

    def _known(self, y: Target) -> Callable[[], Mask]:
        column = y.column.adds_up("y")
        return lambda: ~np.isnan(column.floats())

    def predict(self, X: DataFrame | npt.ArrayLike) -> Array:  # noqa: N803
        """Predict the mean of y for each row, linear in its numbers.

        Parameters
        ----------
        X : array-like
            Rows with the columns of the fit; a missing number counts as `missing` says, "drop" as the middle
            of its bounds.

        Returns
        -------
        Array
            A number per row.
        """
        cells = self._rows_to_predict(X).read()
        return np.asarray(self._scaling.filled(cells) @ self.coef_ + self.intercept_)

    def _facts(self) -> list[tuple[str, str]]:
        fitted = [("fitted to", f"{self.n_features_in_} columns")] if hasattr(self, "coef_") else []
        return [("noise", "on the sums of squares and products"), *fitted]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.regressor_tags.poor_score = True  # noise decides on a handful of rows
        return tags


def _solved(matrix: Array, products: Array, sigma: float) -> Array:
    """Ridge regression from noisy moments: no eigenvalue is left below sigma sqrt(2 k), about the largest of the
    noise, which is symmetric with sigma / sqrt(2) off the diagonal.
    """
    values, vectors = np.linalg.eigh(matrix)
    noise = sigma * np.sqrt(2 * len(matrix))
    lifted = values + max(0.0, noise - float(values[0]))
    return np.asarray(vectors @ ((vectors.T @ products) / lifted))


def _ends(bounds: object) -> tuple[float, float]:
    if bounds is None or isinstance(bounds, str) or not hasattr(bounds, "__len__") or len(bounds) != 2:
        refuse("`target_bounds` must be (low, high)", "none", "one person's y could move everything")
    return ends(bounds, "target_bounds", "y is cut to them")
