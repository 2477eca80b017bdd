"""`PrivatePCA`: principal components from second moments with noise."""

import math
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin

from toolkit.budget.ledger import Ledger
from toolkit.core.arrays import Array, DataFrame, first_largest
from toolkit.core.checks import Number, refuse, whole
from toolkit.core.randomness import Rng
from toolkit.learning.base import PrivateLearner
from toolkit.learning.fitting.moments import Moments


class PrivatePCA(ClassNamePrefixFeaturesOutMixin, TransformerMixin, PrivateLearner):  # type: ignore[misc]
    """Directions of most variance, with differential privacy for every person in the data (Analyze Gauss).

    The sum of x x' over rows with a constant is released with symmetric Gaussian noise; one replaced row
    moves it by at most sqrt(2). Mean, covariance and components follow from it and cost nothing more. Columns
    are in units of half their bounds: public scales in place of standard deviations.

    What a pipeline learns from the data before it comes here, as StandardScaler does, is not covered.

    Parameters
    ----------
    n_components : int, optional
        How many; None for all.
    epsilon : Number, optional
        The cost is Approx(epsilon, delta).
    rho : Number, optional
        In their place: Zcdp(rho).
    delta : Number, optional
        Goes with `epsilon`.
    bounds : tuple or list or dict, optional
        As for `PrivateLogisticRegression`.
    row_norm : Number, optional
        As for `PrivateLogisticRegression`.
    missing : str or Number, optional
        As for `PrivateLogisticRegression`.
    neighbors : str
        "replace" or "add_remove".
    ledger : Ledger, optional
        Is charged before a row is read.
    rng : Generator, optional
        For simulation; the learner then claims no privacy.

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

    def fit(self, X: Any, y: Any = None) -> Self:  # noqa: ARG002, N803 — scikit-learn's own names
        """Charge the ledger, then read the rows and release moments.

        Parameters
        ----------
        X : array-like
            The rows: a matrix, a list of rows, or a frame of pandas, polars or pyarrow.
        y : None
            Ignored.

        Returns
        -------
        Self
            The learner, with `components_`, `mean_`, `explained_variance_` and `loss_`.
        """
        rows = self._opened(X)
        features = rows.shape[1]
        count = features if self.n_components is None else whole(self.n_components, "n_components")
        if count > features:
            refuse("`n_components` must be at most the number of columns", count, f"X has {features}")
        scaling = self._scale(rows)
        moments = Moments(self._claimed_loss(), features + 1, self.neighbors)
        matrix, _ = self._released(
            moments.mechanism,
            f"moments of {features} columns",
            lambda source: moments.release(scaling.rows(rows.read()), None, source),
        )
        people = self._people(matrix, rows.shape[0])
        unit = scaling.row_norm / math.sqrt(features / (features + 1))
        mean = matrix[:-1, -1] / people * unit * math.sqrt(features + 1)
        covariance = matrix[:-1, :-1] / people * unit**2 - np.outer(mean, mean)
        values, vectors = np.linalg.eigh(covariance)
        best = np.argsort(-values, kind="stable")[:count]
        spread = np.maximum(values, 0.0)
        self.components_, self.explained_variance_ = _signed(vectors[:, best].T), spread[best]
        self.explained_variance_ratio_ = spread[best] / max(float(spread.sum()), 1e-300)
        self.mean_ = scaling.middle + scaling.half * mean
        self._half, self._n_features_out = scaling.half, count
        self.loss_ = None if self.simulated_ else moments.loss
        return self

    def _people(self, matrix: Array, rows: int) -> float:
        """How many there are: public, or as the noisy moment of the constant says, at least one."""
        if self.neighbors == "replace" and self.missing != "drop":
            return float(rows)
        return max(float(matrix[-1, -1]) * len(matrix), 1.0)

    def transform(self, X: DataFrame | npt.ArrayLike) -> Array:  # noqa: N803
        """Compute the scores of each row on the components.

        Parameters
        ----------
        X : array-like
            Rows with the columns of the fit; a missing number counts as the mean.

        Returns
        -------
        Array
            A column per component.
        """
        cells = self._rows_to_predict(X).read()
        filled = np.clip(np.where(np.isnan(cells), self.mean_, cells), -1e100, 1e100)
        return np.asarray((filled - self.mean_) / self._half @ self.components_.T)

    def inverse_transform(self, X: DataFrame | npt.ArrayLike) -> Array:  # noqa: N803
        """Compute the rows, in the units of the data, that have these scores.

        Parameters
        ----------
        X : array-like
            Scores, a column per component.

        Returns
        -------
        Array
            A column per column of the data.
        """
        return np.asarray(np.asarray(X, dtype=float) @ self.components_ * self._half + self.mean_)

    def _facts(self) -> list[tuple[str, str]]:
        facts = [("noise", "on the sums of squares and products")]
        if hasattr(self, "components_"):
            facts.append(("components", f"{len(self.components_)} of {self.n_features_in_}"))
        return facts


def _signed(components: Array) -> Array:
    """The largest entry of each, of equal ones the first, is positive, so that two fits can be compared."""
    largest = np.array([row[first_largest(np.abs(row))] for row in components])
    return components * np.where(largest < 0, -1.0, 1.0)[:, None]
