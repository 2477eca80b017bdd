"""`PrivateLinearRegression` and `PrivatePCA`: least squares and principal components from noisy second moments.

A second moment is the sum over all people of the product of two columns, in whole steps.

Consider the vector of the products x_i x_j of one row, in which the off-diagonal products are multiplied by sqrt(2).
Its norm is the squared norm of the row. So adding or removing a row with a norm of at most 1 changes the sums by at
most 1. Replacing a row changes them by at most sqrt(2), because |x x' - y y'|**2 = |x|**4 + |y|**4 - 2 (x . y)**2.
Together with the products t x for a target t in [-1, 1], these bounds are sqrt(2) and sqrt(9/2). With q = |x . y|, the
squared change for a replaced row is at most 2 - 2 q**2 + 2 + 2 q, which is largest at q = 1/2.

Each product is rounded to a step of 2**-30 before it is summed, so that sums are exact and the noise is an integer
number of steps.
"""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, Self, cast

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin, RegressorMixin, TransformerMixin

from toolkit.budget.ledger import Ledger
from toolkit.central.gaussian import Gaussian
from toolkit.core.arrays import Array, ArrayLike, DataFrame, Mask, index_of_largest
from toolkit.core.checks import Number, check_integer, reject
from toolkit.core.loss import Approx, Loss, Zcdp
from toolkit.core.randomness import Rng
from toolkit.frames.engines.column import Column
from toolkit.learning.base import PrivateLearner, PrivateSupervisedLearner
from toolkit.learning.perturbation import additive_mechanism
from toolkit.learning.tables import Table, checked_limits

STEPS = 2**30

_SQUARED = {("replace", False): 2, ("add_remove", False): 1, ("replace", True): 4.5, ("add_remove", True): 2}


@dataclass(frozen=True)
class Moments:
    """The release of the second moments of rows with `size` columns, with or without a target."""

    loss: Loss
    size: int
    neighbors: str
    target: bool = False

    def __post_init__(self) -> None:
        if not isinstance(self.loss, Approx | Zcdp):
            remedy = "for so many numbers Gaussian noise is the least, and it is not purely private"
            reject("moments need `rho`, or `epsilon` with `delta`", self.loss, remedy)

    @property
    def entries(self) -> int:
        return self.size * (self.size + 1) // 2 + (self.size if self.target else 0)

    @cached_property
    def sensitivity(self) -> Fraction:
        """The sensitivity in steps: the rounded-up sensitivity of the products, plus the rounding error of two rows."""
        squared = Fraction(_SQUARED[self.neighbors, self.target])
        exact = Fraction(math.isqrt(math.ceil(squared * STEPS**2)) + 1)
        rounding = Fraction(math.isqrt(self.entries) + 1) * Fraction(1001, 1000)
        return exact + rounding

    @cached_property
    def mechanism(self) -> Gaussian:
        return cast("Gaussian", additive_mechanism(self.loss, self.sensitivity))  # the loss is not Pure

    @property
    def sigma(self) -> float:
        """The standard deviation of the noise on the diagonal; off the diagonal, it is divided by sqrt(2)."""
        return self.mechanism.scale / STEPS

    def release(self, batches: Iterable[tuple[Array, Array | None]], rng: Rng) -> tuple[Array, Array]:
        """Return the noisy moments of the columns and the target, from batches with one column per person."""
        sums = np.zeros(self.entries, dtype=np.int64)
        for rows, target in batches:
            sums += whole_moments(rows, target)
        noisy = np.asarray(self.mechanism._perturb(sums, rng)) / STEPS
        upper_triangle = np.zeros((self.size, self.size))
        indices = np.triu_indices(self.size)
        count = len(indices[0])
        upper_triangle[indices] = noisy[:count]
        off_diagonal = upper_triangle - np.diag(upper_triangle.diagonal())
        return np.diag(upper_triangle.diagonal()) + (off_diagonal + off_diagonal.T) / math.sqrt(2), noisy[count:]


def whole_moments(rows: Array, target: Array | None) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """Return the sums in steps: the upper triangle by rows, off-diagonal sums times sqrt(2), then the target's sums."""
    sums = []
    for column, row in enumerate(rows):
        products = row * rows[column:]
        products[1:] *= math.sqrt(2)
        sums.append(_whole(products))
    if target is not None:
        sums.append(_whole(rows * target))
    return np.concatenate(sums)


def _whole(products: Array) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    return np.asarray(np.rint(products * STEPS).astype(np.int64).sum(axis=1))


class PrivateLinearRegression(RegressorMixin, PrivateSupervisedLearner):  # type: ignore[misc]
    """Linear regression with differential privacy for every person in the data.

    The least-squares solution depends on the data only through the sums of x x' and of x y. These sums are released
    together with Gaussian noise, and results computed from the released sums have no further cost. Among these results
    is the ridge that prevents a singular matrix: the smallest ridge that raises the smallest eigenvalue to the size of
    the noise.

    The guarantee does not cover results that earlier steps of a pipeline, such as StandardScaler, learn from the data.

    Parameters
    ----------
    epsilon : Number, optional
        The epsilon of the cost Approx(epsilon, delta).
    rho : Number, optional
        The rho of the cost Zcdp(rho), which replaces `epsilon` and `delta`.
    delta : Number, optional
        The delta of the cost; required with `epsilon`.
    target_bounds : tuple
        The limits (low, high) to which y is clipped.
    bounds : tuple or list or dict, optional
        The same parameter as in `PrivateLogisticRegression`.
    row_norm : Number, optional
        The same parameter as in `PrivateLogisticRegression`.
    missing : str or Number, optional
        The same parameter as in `PrivateLogisticRegression`.
    fit_intercept : bool
        Whether to add a constant column.
    neighbors : str
        The neighbor relation, "replace" or "add_remove".
    ledger : Ledger, optional
        The ledger that is charged before any row is read.
    rng : Generator, optional
        A generator for simulations, in which the learner claims no privacy; the default is the operating system's
        randomness.

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

    def fit(self, X: DataFrame | ArrayLike, y: ArrayLike) -> Self:  # noqa: N803 — scikit-learn's own names
        """Charge the ledger, then read the rows and release coefficients.

        Parameters
        ----------
        X : array-like
            The rows: a matrix, a list of rows, or a frame of pandas, polars, pyarrow, DuckDB or PySpark. Frames of
            DuckDB and PySpark, and lazy frames of polars, are read in batches.
        y : array-like
            One number per row, or the name of the column of X with the numbers; rows without a number are ignored.

        Returns
        -------
        Self
            The learner, with `coef_`, `intercept_` and `loss_`.
        """
        pairs, (low, high) = self._validate_data(X, y), _checked_target_bounds(self.target_bounds)
        scaling, half = self._scale(pairs.rows, intercept=bool(self.fit_intercept)), (high - low) / 2
        assert pairs.target is not None
        pairs.target.require_numbers("y")
        moments = Moments(self._claimed_loss(), scaling.size, self.neighbors, target=True)

        def scale_batch(cells: Array, column: Any) -> tuple[Array, Array]:
            target = column.floats()
            present = ~np.isnan(target)
            scaled_target = np.where(present, (np.clip(target, low, high) - low - half) / half, 0.0)
            return scaling.rows(cells) * present, scaled_target

        def learn(source: Rng) -> tuple[Array, Array]:
            return moments.release((scale_batch(*pair) for pair in pairs.read_batches()), source)

        words = f"moments of {scaling.size} weights and a target"
        matrix, products = self._charge_and_compute(moments.mechanism, words, learn)
        slopes, constant = scaling.coefficients(_solve_ridge(matrix, products, moments.sigma))
        self.coef_, self.intercept_ = slopes * half, constant * half + low + half
        self._scaling, self.loss_ = scaling, None if self.simulated_ else moments.loss
        return self

    def _label_filter(self, y: Column) -> Callable[[Column], Mask]:
        y.require_numbers("y")
        return lambda column: ~np.isnan(column.floats())

    def predict(self, X: DataFrame | ArrayLike) -> Array:  # noqa: N803
        """Predict the mean of y for each row, as a linear function of its numbers.

        Parameters
        ----------
        X : array-like
            Rows with the same columns as in the fit. Missing numbers are treated according to `missing`; "drop" inserts
            the middle of the bounds.

        Returns
        -------
        Array
            One number per row.
        """
        cells = self._rows_to_predict(X).read()
        return np.asarray(self._scaling.impute(cells) @ self.coef_ + self.intercept_)

    def _repr_items(self) -> list[tuple[str, str]]:
        fitted = [("fitted to", f"{self.n_features_in_} columns")] if hasattr(self, "coef_") else []
        return [("noise", "on the sums of squares and products"), *fitted]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.regressor_tags.poor_score = True  # with only a handful of rows, noise dominates
        return tags


def _solve_ridge(matrix: Array, products: Array, sigma: float) -> Array:
    """Solve a ridge regression with eigenvalues of at least sigma sqrt(2 k), about the noise's largest eigenvalue."""
    eigenvalues, eigenvectors = np.linalg.eigh(matrix)
    min_eigenvalue = sigma * np.sqrt(2 * len(matrix))
    shifted_eigenvalues = eigenvalues + max(0.0, min_eigenvalue - float(eigenvalues[0]))
    return np.asarray(eigenvectors @ ((eigenvectors.T @ products) / shifted_eigenvalues))


def _checked_target_bounds(bounds: object) -> tuple[float, float]:
    if bounds is None or isinstance(bounds, str) or not hasattr(bounds, "__len__") or len(bounds) != 2:
        reject("`target_bounds` must be (low, high)", "none", "one person's y could move everything")
    return checked_limits(bounds, "target_bounds", "y is cut to them")


class PrivatePCA(ClassNamePrefixFeaturesOutMixin, TransformerMixin, PrivateLearner):  # type: ignore[misc]
    """Principal components with differential privacy for every person in the data (Analyze Gauss).

    The sum of x x' over rows with a constant is released with symmetric Gaussian noise; replacing one row changes it by
    at most sqrt(2). The mean, the covariance and the components are computed from the released sum at no further cost.
    Columns are scaled by half the width of their bounds, which is public, instead of by standard deviations.

    The guarantee does not cover results that earlier steps of a pipeline, such as StandardScaler, learn from the data.

    Parameters
    ----------
    n_components : int, optional
        The number of components; by default, all components.
    epsilon : Number, optional
        The epsilon of the cost Approx(epsilon, delta).
    rho : Number, optional
        The rho of the cost Zcdp(rho), which replaces `epsilon` and `delta`.
    delta : Number, optional
        The delta of the cost; required with `epsilon`.
    bounds : tuple or list or dict, optional
        The same parameter as in `PrivateLogisticRegression`.
    row_norm : Number, optional
        The same parameter as in `PrivateLogisticRegression`.
    missing : str or Number, optional
        The same parameter as in `PrivateLogisticRegression`.
    neighbors : str
        The neighbor relation, "replace" or "add_remove".
    ledger : Ledger, optional
        The ledger that is charged before any row is read.
    rng : Generator, optional
        A generator for simulations, in which the learner claims no privacy; the default is the operating system's
        randomness.

    References
    ----------
    Dwork, Talwar, Thakurta and Zhang (2014), Analyze Gauss.

    Examples
    --------
    >>> x = np.linspace(0, 1, 20_000)[:, None] * [1, 1]
    >>> pca = PrivatePCA(1, rho=0.5, bounds=(0, 1), missing="drop").fit(x)
    >>> abs(pca.components_[0]).round(1).tolist()
    [0.7, 0.7]
    """

    def __init__(
        self,
        n_components: int | None = None,
        *,
        epsilon: Number | None = None,
        rho: Number | None = None,
        delta: Number | None = None,
        bounds: object = None,
        row_norm: Number | None = None,
        missing: Number | None = None,
        neighbors: str = "replace",
        ledger: Ledger | None = None,
        rng: Rng = None,
    ) -> None:
        self.n_components, self.epsilon, self.rho, self.delta = n_components, epsilon, rho, delta
        self.bounds, self.row_norm, self.missing = bounds, row_norm, missing
        self.neighbors, self.ledger, self.rng = neighbors, ledger, rng

    def fit(self, X: Any, y: object = None) -> Self:  # noqa: ARG002, N803 — scikit-learn's own names
        """Charge the ledger, then read the rows and release moments.

        Parameters
        ----------
        X : array-like
            The rows: a matrix, a list of rows, or a frame of pandas, polars, pyarrow, DuckDB or PySpark. Frames of
            DuckDB and PySpark, and lazy frames of polars, are read in batches.
        y : None
            Ignored.

        Returns
        -------
        Self
            The learner, with `components_`, `mean_`, `explained_variance_` and `loss_`.
        """
        pairs = self._validate_data(X, None, target=False)
        rows = pairs.rows
        features = rows.columns
        count = features if self.n_components is None else check_integer(self.n_components, "n_components")
        if count > features:
            reject("`n_components` must be at most the number of columns", count, f"X has {features}")
        scaling = self._scale(rows)
        moments = Moments(self._claimed_loss(), features + 1, self.neighbors)
        matrix, _ = self._charge_and_compute(
            moments.mechanism,
            f"moments of {features} columns",
            lambda source: moments.release(((scaling.rows(cells), None) for cells, _ in pairs.read_batches()), source),
        )
        people = self._people(matrix, rows)
        unit = scaling.row_norm / math.sqrt(features / (features + 1))
        mean = matrix[:-1, -1] / people * unit * math.sqrt(features + 1)
        covariance = matrix[:-1, :-1] / people * unit**2 - np.outer(mean, mean)
        eigenvalues, vectors = np.linalg.eigh(covariance)
        order = np.argsort(-eigenvalues, kind="stable")[:count]
        variances = np.maximum(eigenvalues, 0.0)
        self.components_, self.explained_variance_ = _signed(vectors[:, order].T), variances[order]
        self.explained_variance_ratio_ = variances[order] / max(float(variances.sum()), 1e-300)
        self.mean_ = scaling.middle + scaling.half * mean
        self._half, self._n_features_out = scaling.half, count
        self.loss_ = None if self.simulated_ else moments.loss
        return self

    def _people(self, matrix: Array, rows: Table) -> float:
        """Return the number of people, public or estimated from the noisy moment of the constant, but at least 1."""
        if self.neighbors == "replace" and self.missing != "drop":
            return float(rows.count())
        return max(float(matrix[-1, -1]) * len(matrix), 1.0)

    def transform(self, X: DataFrame | ArrayLike) -> Array:  # noqa: N803
        """Compute the scores of each row on the components.

        Parameters
        ----------
        X : array-like
            Rows with the same columns as in the fit; a missing number counts as the mean.

        Returns
        -------
        Array
            The scores, with one column per component.
        """
        cells = self._rows_to_predict(X).read()
        impute = np.clip(np.where(np.isnan(cells), self.mean_, cells), -1e100, 1e100)
        return np.asarray((impute - self.mean_) / self._half @ self.components_.T)

    def inverse_transform(self, X: DataFrame | ArrayLike) -> Array:  # noqa: N803
        """Compute the rows with the given scores, in the units of the data.

        Parameters
        ----------
        X : array-like
            Scores, with one column per component.

        Returns
        -------
        Array
            The rows, with one column for each column of the data.
        """
        return np.asarray(np.asarray(X, dtype=float) @ self.components_ * self._half + self.mean_)

    def _repr_items(self) -> list[tuple[str, str]]:
        facts = [("noise", "on the sums of squares and products")]
        if hasattr(self, "components_"):
            facts.append(("components", f"{len(self.components_)} of {self.n_features_in_}"))
        return facts


def _signed(components: Array) -> Array:
    """Return the components with the sign that makes the largest entry positive, so that fits can be compared."""
    largest = np.array([row[index_of_largest(np.abs(row))] for row in components])
    return components * np.where(largest < 0, -1.0, 1.0)[:, None]
