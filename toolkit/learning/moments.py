"""`PrivateLinearRegression` and `PrivatePCA`: least squares and principal components from noisy second moments.

A second moment is the sum over all people of the product of two columns, in whole steps.

Consider the vector of the products x_i x_j of one row, in which the off-diagonal products are multiplied by sqrt(2).
Its norm is the squared norm of the row. So adding or removing a row with a norm of at most 1 changes the sums by at
most 1. Replacing a row changes them by at most sqrt(2), because |x x' - y y'|**2 = |x|**4 + |y|**4 - 2 (x . y)**2.
Together with the products t x for a target t in [-1, 1], these bounds are sqrt(2) and sqrt(9/2). With q = |x . y|, the
squared change for a replaced row is at most 2 - 2 q**2 + 2 + 2 q, which is largest at q = 1/2.

The standard errors of a regression also need the sums of 1 - t**2 and of 1 over the rows with a target. Under
"replace", they do not increase the sensitivity: with a = t**2 and b = s**2 for the two targets, the squared change is
at most 2 + a + b + a b / 2 + (a - b)**2, which is convex in a and in b and so largest at a = b = 1, where it is 9/2. If
one of the rows has no target, it is at most 1 + a + (1 - a)**2 + 1, which is at most 3. Under "add_remove", the last
term is 1/16 instead of 1, because the number of rows is multiplied by 1/4, and the bound is 2 + 1/16.

Each product is rounded to a step of 2**-30 before it is summed, so that sums are exact and the noise is an integer
number of steps.
"""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any, Self, cast

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin, RegressorMixin, TransformerMixin
from sklearn.exceptions import NotFittedError

from toolkit.budget.ledger import Ledger
from toolkit.central.gaussian import Gaussian
from toolkit.core.arrays import Array, ArrayLike, DataFrame, Mask, index_of_largest
from toolkit.core.checks import Number, check_integer, reject
from toolkit.core.covers import Covers, ErrorSource
from toolkit.core.estimate import SIMULATED, Estimate
from toolkit.core.extras import extra
from toolkit.core.fit_table import FitTable, coefficient_rows
from toolkit.core.loss import Approx, Loss, Zcdp
from toolkit.core.randomness import Rng
from toolkit.frames.engines.column import Column
from toolkit.learning.base import PrivateLearner, PrivateSupervisedLearner
from toolkit.learning.moment_equations import MomentEquations, RegressionMoments
from toolkit.learning.perturbation import additive_mechanism
from toolkit.learning.tables import Table, checked_limits

if TYPE_CHECKING:
    import pandas as pd

STEPS = 2**30

_SQUARED = {("replace", False): 2, ("add_remove", False): 1, ("replace", True): 4.5, ("add_remove", True): 2 + 1 / 16}
_RIDGE = "a ridge was necessary: coefficients are drawn towards 0 and have no standard error; intervals do without"
_COUNT_WEIGHT = {"replace": 1.0, "add_remove": 0.25}  # the factor of the number of rows with a target


@dataclass(frozen=True)
class Moments:
    """The release of the second moments of rows with `size` columns, with or without a target."""

    loss: Loss
    size: int
    neighbors: str
    has_target: bool = False

    def __post_init__(self) -> None:
        if not isinstance(self.loss, Approx | Zcdp):
            remedy = "Gaussian noise is the smallest for so many numbers, and has no pure loss"
            reject("moments need `rho`, or `epsilon` with `delta`", self.loss, remedy)

    @property
    def n_entries(self) -> int:
        return self.size * (self.size + 1) // 2 + (self.size + 2 if self.has_target else 0)

    @cached_property
    def sensitivity(self) -> Fraction:
        """The sensitivity in steps: the rounded-up sensitivity of the products, plus the rounding error of two rows."""
        squared = Fraction(_SQUARED[self.neighbors, self.has_target])
        exact = Fraction(math.isqrt(math.ceil(squared * STEPS**2)) + 1)
        rounding = Fraction(math.isqrt(self.n_entries) + 1) * Fraction(1001, 1000)
        return exact + rounding

    @cached_property
    def mechanism(self) -> Gaussian:
        return cast("Gaussian", additive_mechanism(self.loss, self.sensitivity))  # the loss is not Pure

    @property
    def sigma(self) -> float:
        """The standard deviation of the noise on the diagonal; off the diagonal, it is divided by sqrt(2)."""
        return self.mechanism.scale / STEPS

    def release(self, batches: Iterable[tuple[Array, Array | None]], rng: Rng) -> RegressionMoments:
        """Return the noisy moments, from batches with one column per person, whose target is NaN if it is missing."""
        count_weight = _COUNT_WEIGHT[self.neighbors]
        sums = np.zeros(self.n_entries, dtype=np.int64)
        for rows, target in batches:
            sums += whole_moments(rows, target, count_weight)
        noisy = np.asarray(self.mechanism._perturb(sums, rng)) / STEPS
        upper_triangle = np.zeros((self.size, self.size))
        indices = np.triu_indices(self.size)
        count = len(indices[0])
        upper_triangle[indices] = noisy[:count]
        off_diagonal = upper_triangle - np.diag(upper_triangle.diagonal())
        matrix = np.diag(upper_triangle.diagonal()) + (off_diagonal + off_diagonal.T) / math.sqrt(2)
        if not self.has_target:
            return RegressionMoments(matrix, np.zeros(0), math.nan, math.nan, math.nan, self.sigma)
        *products, deficit, weighted_count = noisy[count:]
        n = weighted_count / count_weight
        square_sd = self.sigma * math.hypot(1, 1 / count_weight)
        return RegressionMoments(matrix, np.array(products), n - deficit, square_sd, n, self.sigma)


def whole_moments(
    rows: Array, target: Array | None, count_weight: float = 1.0
) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """Return the sums in steps: the upper triangle by rows, off-diagonal sums times sqrt(2), then the target's sums.

    A row without a target must be all zeros.
    """
    sums = []
    for column, row in enumerate(rows):
        products = row * rows[column:]
        products[1:] *= math.sqrt(2)
        sums.append(_whole(products))
    if target is not None:
        present = ~np.isnan(target)
        known_target = np.where(present, target, 0.0)
        sums.append(_whole(rows * known_target))
        sums.append(_whole(np.array([present * (1 - known_target**2), present * count_weight])))
    return np.concatenate(sums)


def _whole(products: Array) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    return np.asarray(np.rint(products * STEPS).astype(np.int64).sum(axis=1))


class PrivateLinearRegression(RegressorMixin, PrivateSupervisedLearner):  # type: ignore[misc]
    """Linear regression with differential privacy for every person in the data.

    The least-squares solution depends on the data only through the sums of x x' and of x y. These sums are released
    together with Gaussian noise, and results computed from the released sums have no further cost. Among these results
    is the ridge that prevents a singular matrix: the smallest ridge that raises the smallest eigenvalue to the size of
    the noise.

    The released sums also give standard errors, intervals and tests (`bse`, `conf_int`, `pvalues`, `summary`), which
    cover sampling and noise for errors of equal variance.

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
            The learner, with `coef_`, `intercept_`, `coefficients_` and `loss_`.
        """
        pairs, (low, high) = self._validate_data(X, y), _checked_target_bounds(self.target_bounds)
        scaling, half = self._scale(pairs.rows, intercept=bool(self.fit_intercept)), (high - low) / 2
        assert pairs.target is not None
        pairs.target.require_numbers("y")
        moments = Moments(self._claimed_loss(), scaling.size, self.neighbors, has_target=True)

        def scale_batch(cells: Array, column: Any) -> tuple[Array, Array]:
            target = (np.clip(column.floats(), low, high) - low - half) / half
            target[~scaling.complete(cells)] = np.nan
            return scaling.rows(cells) * ~np.isnan(target), target

        def learn(source: Rng) -> RegressionMoments:
            return moments.release((scale_batch(*pair) for pair in pairs.read_batches()), source)

        words = f"moments of {scaling.size} weights and a target"
        released = self._charge_and_compute(moments.mechanism, words, learn)
        slopes, constant = scaling.coefficients(released.solve(released.ridge))
        self.coef_, self.intercept_ = slopes * half, constant * half + low + half
        self._scaling, self.loss_ = scaling, None if self.simulated_ else moments.loss
        self.coefficients_ = self._estimate(released, half, low + half)
        return self

    def _estimate(self, released: RegressionMoments, half: float, middle: float) -> Estimate:
        """Return the coefficients with the errors that the released moments justify."""
        columns = [self._scaling.coefficients(unit) for unit in np.eye(self._scaling.size)]
        transform = half * np.array([[constant, *slopes] for slopes, constant in columns]).T
        names = getattr(self, "feature_names_in_", [f"x{i + 1}" for i in range(self.n_features_in_)])
        labels, value = ("Intercept", *map(str, names)), np.array([self.intercept_, *self.coef_])
        first = 0 if self._scaling.intercept else 1
        offset = np.array([middle, *np.zeros(len(names))])
        equations = MomentEquations(released, transform[first:], offset[first:])
        has_ridge = released.ridge > 0
        cov = np.full((len(labels) - first,) * 2, np.nan) if has_ridge else equations.cov
        notes = (*([_RIDGE] if has_ridge else []), *([SIMULATED] if self.simulated_ else []))
        return Estimate(
            value[first:],
            np.sqrt(np.diag(cov)),
            labels[first:],
            cov,
            None,
            self.loss_,
            Covers([ErrorSource.SAMPLING, ErrorSource.NOISE]),
            "least squares from noisy moments, for errors of equal variance",
            notes,
            basis=equations,
        )

    @property
    def bse(self) -> "pd.Series[Any]":
        """The standard errors by label, for sampling and noise; NaN if a ridge was necessary, whose bias is unknown."""
        return self._series(self._coefficients().se)

    @property
    def pvalues(self) -> "pd.Series[Any]":
        """The p-values of the tests that each coefficient is 0, which agree with the intervals."""
        return self._series(self._coefficients().test().p)

    def conf_int(self, *, level: float = 0.95, alpha: float | None = None) -> "pd.DataFrame":
        """Return the limits of each coefficient, from the released moments and at no further cost.

        The intervals cover sampling and noise, and hold whether or not the fit needed a ridge. They are unbounded if
        the noise may be as large as the smallest eigenvalue of the moments. They do not cover the effect of clipping
        to the bounds. Without noise, they are the t intervals of least squares with errors of equal variance; robust
        errors need fourth moments, which are not released. If the variance of the errors depends on the columns, the
        intervals may cover less where sampling matters more than noise.

        Parameters
        ----------
        level : float
            The confidence level.
        alpha : float, optional
            One minus the level, as in statsmodels.

        Returns
        -------
        pandas.DataFrame
            A frame with the columns low and high.

        Examples
        --------
        >>> rng = np.random.default_rng(1)
        >>> x = rng.uniform(0, 1, (20_000, 1))
        >>> model = PrivateLinearRegression(rho=0.5, bounds=(0, 1), target_bounds=(0, 10), missing="drop")
        >>> limits = model.fit(x, 2 + 3 * x[:, 0] + rng.normal(size=20_000)).conf_int(level=0.999999)
        >>> bool(limits.low["x1"] < 3 < limits.high["x1"])
        True
        """
        frame = self._coefficients().to_frame(level if alpha is None else 1 - alpha)
        return frame[["low", "high"]]

    def summary(self, level: float = 0.95) -> FitTable:
        """Return a printable table of the coefficients, with methods `to_latex`, `to_html` and `to_frame`.

        Parameters
        ----------
        level : float
            The confidence level of the intervals.

        Returns
        -------
        FitTable
            The coefficients with standard errors, tests and intervals as in `conf_int`, the noisy number of rows with
            a target, the privacy loss, and notes.

        Examples
        --------
        >>> rng = np.random.default_rng(1)
        >>> x = rng.uniform(0, 1, (20_000, 1))
        >>> y = 2 + 3 * x[:, 0] + rng.normal(size=20_000)
        >>> model = PrivateLinearRegression(rho=0.5, bounds=(0, 1), target_bounds=(0, 10), missing="drop", rng=rng)
        >>> print(model.fit(x, y).summary())
        Private linear regression
                              estimate     se       t        p   95 % interval
        Intercept                1.983  0.014  137.75  < 0.001  1.955 to 2.011
        x1                       3.021  0.025  122.15  < 0.001  2.972 to 3.070
        ----------------------------------------------------------------------
        n                 about 19,997
        privacy loss  no privacy claim
        covers sampling and noise; least squares from noisy moments, for errors of equal variance
        note: simulated: drawn with a generator, so without any protection; ...
        """
        coefficients = self._coefficients()
        rows = tuple(coefficient_rows(coefficients, self.conf_int(level=level).to_numpy()))
        head = ("", "estimate", "se", "t", "p", f"{100 * level:g} % interval")
        loss = "no privacy claim" if coefficients.loss is None else str(coefficients.loss)
        count = f"about {cast('MomentEquations', coefficients.basis).moments.n:,.0f}"
        measures = tuple((name, text, "", "", "", "") for name, text in (("n", count), ("privacy loss", loss)))
        notes = (
            f"covers {coefficients.covers}; {coefficients.method}",
            *(f"note: {note}" for note in coefficients.notes),
        )
        return FitTable("Private linear regression", head, rows, measures, notes)

    def _coefficients(self) -> Estimate:
        if not hasattr(self, "coefficients_"):
            reject(f"{type(self).__name__} must be fitted first", "no weights", "call `fit`", NotFittedError)
        return self.coefficients_

    def _series(self, values: object) -> "pd.Series[Any]":
        labels = list(self._coefficients().labels)
        return extra("pandas").Series(np.atleast_1d(np.asarray(values, dtype=float)), index=labels)

    def _label_filter(self, y: Column) -> Callable[[Column], Mask]:
        y.require_numbers("y")
        return lambda column: ~np.isnan(column.floats())

    def predict(self, X: DataFrame | ArrayLike) -> Array:  # noqa: N803
        """Predict the mean of y for each row, as a linear function of its numbers.

        Parameters
        ----------
        X : array-like
            Rows with the same columns as in the fit. Missing numbers are treated according to `missing`; with "drop",
            the midpoint of the bounds replaces them.

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


def _checked_target_bounds(bounds: object) -> tuple[float, float]:
    if bounds is None or isinstance(bounds, str) or not hasattr(bounds, "__len__") or len(bounds) != 2:
        reject("`target_bounds` must be (low, high)", "none", "a single y could move the result without limit")
    return checked_limits(bounds, "target_bounds", "y is clipped to them")


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
        features = rows.n_columns
        count = features if self.n_components is None else check_integer(self.n_components, "n_components")
        if count > features:
            reject("`n_components` must be at most the number of columns", count, f"X has {features}")
        scaling = self._scale(rows)
        moments = Moments(self._claimed_loss(), features + 1, self.neighbors)
        released = self._charge_and_compute(
            moments.mechanism,
            f"moments of {features} columns",
            lambda source: moments.release(((scaling.rows(cells), None) for cells, _ in pairs.read_batches()), source),
        )
        matrix = released.matrix
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
