"""`PrivateLogisticRegression` and `PrivateSVC`: linear classifiers with differentially private weights."""

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from scipy.special import expit
from sklearn.base import ClassifierMixin

from toolkit.budget.ledger import Ledger
from toolkit.core.arrays import Array, ArrayLike, DataFrame, Label, Mask
from toolkit.core.checks import Number, check_choice, check_integer, check_positive, check_probability, reject
from toolkit.core.loss import Approx, Loss, Pure, Zcdp
from toolkit.core.randomness import Rng
from toolkit.frames.engines.column import Column
from toolkit.learning.base import PrivateSupervisedLearner
from toolkit.learning.descent import NoisyGradientDescent
from toolkit.learning.perturbation import (
    MAX_ROWS,
    HuberHinge,
    LogisticLoss,
    MarginLoss,
    ObjectivePerturbation,
    OutputPerturbation,
    zcdp_within,
)
from toolkit.learning.tables import Scale, class_codes

METHODS = ("objective", "output", "descent")
WHERE = {"objective": "in the objective", "output": "on the weights", "descent": "on every step"}
Noise = OutputPerturbation | ObjectivePerturbation | NoisyGradientDescent


class PrivateLinearClassifier(ClassifierMixin, PrivateSupervisedLearner):  # type: ignore[misc]
    """The base class of linear classifiers with two public classes, publicly scaled rows, and noise."""

    def _margin_loss(self) -> MarginLoss:
        raise NotImplementedError

    def fit(self, X: DataFrame | ArrayLike, y: ArrayLike) -> Self:  # noqa: N803 — scikit-learn's own names
        """Charge the ledger, then read the rows and release weights.

        A call is rejected only because of types, shapes, parameters or the budget, so an error reveals nothing about
        any cell. Labels are compared exactly: a row is ignored if its label is not one of the classes, for example
        because its case differs. The running time depends on the data and must not be published.

        Parameters
        ----------
        X : array-like
            The rows: a matrix, a list of rows, or a frame of pandas, polars, pyarrow, DuckDB or PySpark. Frames of
            DuckDB and PySpark, and lazy frames of polars, are read in batches.
        y : array-like
            One label per row, or the name of the column of X with the labels.

        Returns
        -------
        Self
            The learner, with `coef_`, `intercept_`, `classes_` and `loss_`.
        """
        pairs, classes = self._validate_data(X, y), _two_classes(self.classes)
        # A private number of rows is neither counted before the charge nor used after it.
        count = pairs.rows.count() if self.neighbors == "replace" else None
        scaling = self._scale(pairs.rows, intercept=bool(self.fit_intercept))
        assert pairs.target is not None
        noise, labels = self._noise(MAX_ROWS if count is None else count, scaling), class_codes(pairs.target, classes)

        def read_batches() -> Iterator[Array]:
            rows = 0
            for cells, column in pairs.read_batches():
                rows += len(cells)
                _check_rows(rows)
                table = scaling.rows(cells)
                table *= np.array([-1.0, 1.0, 0.0])[labels(column)]  # a row with neither class contributes nothing
                yield table

        words = f"noise {WHERE[self.method]}, {scaling.size} weights"
        slopes, constant = scaling.coefficients(
            self._charge_and_compute(noise.price, words, lambda source: noise.weights(read_batches, source))
        )
        alike = type(classes[0]) is type(classes[1])
        self.classes_ = np.array(classes) if alike else np.array(classes, dtype=object)
        self.coef_, self.intercept_, self._scaling = slopes[None, :], np.array([constant]), scaling
        self.C_, self.loss_ = 1 / noise.ridge, None if self.simulated_ else noise.loss
        self.n_rows_ = count
        return self

    def _label_filter(self, y: Column) -> Callable[[Column], Mask]:
        labels = class_codes(y, _two_classes(self.classes))
        return lambda column: labels(column) >= 0

    def _noise(self, n_rows: int, scaling: Scale) -> Noise:
        loss, margin_loss, size = self._claimed_loss(), self._margin_loss(), scaling.size
        check_choice(self.method, "method", METHODS)
        _check_rows(n_rows)
        if self.C is None:
            ridge = 1 / default_strength(loss, size, self.method, margin_loss.curvature)
        else:
            ridge = 1 / float(check_positive(self.C, "C"))
        if not 1e-6 <= ridge <= 1e9:
            reject("`C` must lie between 1e-9 and 1e6", self.C, "no solver could locate the minimum")
        if self.method == "output":
            return OutputPerturbation(loss, ridge, margin_loss, size, n_rows, self.neighbors)
        if self.method == "descent":
            return self._descent(loss, ridge, size, n_rows)
        if self.neighbors != "replace":
            rule = "method='objective' needs neighbors='replace'"
            reject(rule, self.neighbors, "its tolerance needs a public number of rows; method='output' allows both")
        if isinstance(loss, Zcdp):
            rule = "method='objective' needs `epsilon`, with or without `delta`"
            reject(rule, "rho", "its cost is not a Zcdp; method='output' accepts all three")
        return ObjectivePerturbation(loss, ridge, margin_loss, size, n_rows, scaling.max_entry)

    def _descent(self, loss: Loss, ridge: float, size: int, n_rows: int) -> NoisyGradientDescent:
        if self.neighbors == "replace":
            n_people = n_rows
        elif self.people is None:
            rule = "`people` must be given if the number of people is private"
            reject(rule, "none", "a guess determines the step size")
        else:
            n_people = check_integer(self.people, "people")
        sampling_rate = check_probability(self.rate, "rate")
        if sampling_rate == 0:
            reject("`rate` must be above 0", self.rate, "no one would take part")
        return NoisyGradientDescent(
            loss,
            ridge,
            self._margin_loss(),
            size,
            n_people,
            self.neighbors,
            check_integer(self.steps, "steps"),
            sampling_rate,
        )

    def decision_function(self, X: DataFrame | ArrayLike) -> Array:  # noqa: N803
        """Compute the score of each row, which is positive for the second class; predictions have no further cost.

        Parameters
        ----------
        X : array-like
            Rows with the same columns as in the fit.

        Returns
        -------
        Array
            One number per row.
        """
        cells = self._rows_to_predict(X).read()
        return np.asarray(self._scaling.impute(cells) @ self.coef_[0] + self.intercept_[0])

    def predict(self, X: DataFrame | ArrayLike) -> npt.NDArray[Any]:  # noqa: N803
        """Predict the class of each row.

        Parameters
        ----------
        X : array-like
            Rows with the same columns as in the fit.

        Returns
        -------
        NDArray
            The predicted class of each row.
        """
        second = self.decision_function(X) > 0
        return np.asarray(self.classes_[second.astype(int)])

    def _repr_items(self) -> list[tuple[str, str]]:
        where = WHERE.get(self.method, "not stated")
        classes_given = self.classes if isinstance(self.classes, tuple | list | np.ndarray) else ()
        classes = " and ".join(str(label) for label in classes_given) or "not stated"
        labels = ("classes", f"{classes}, spelled exactly; rows with other labels are ignored")
        if not hasattr(self, "coef_"):
            return [("noise", where), labels]
        size = f"{self.n_features_in_} columns, C = {self.C_:.3g}"
        people = "" if self.n_rows_ is None else f"{self.n_rows_:,} rows, "
        return [("noise", where), ("fitted to", f"{people}{size}"), labels]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        tags.classifier_tags.poor_score = True  # with only a handful of rows, noise dominates
        return tags


class PrivateLogisticRegression(PrivateLinearClassifier):
    """Logistic regression with differential privacy for every person in the data.

    The weights minimize the penalized loss, w . w / 2 plus C times the sum of ln(1 + e**(-y w . x)), where public
    scales limit the norm of each row x to 1. One person changes the minimizing weights by at most 2 C, and noise hides
    this change.

    There are no standard errors: they need the second derivatives of the loss, which depend on all rows and are not
    released.

    The guarantee does not cover results that earlier steps of a pipeline learn from the data, such as the means of
    StandardScaler (pass `bounds` instead) or the categories that an encoder finds (list them). Nor does it cover a
    parameter search that compares scores; use `choose_classifier`.

    Parameters
    ----------
    epsilon : Number, optional
        The epsilon of the cost, which is Pure(epsilon) or, with `delta`, Approx(epsilon, delta).
    rho : Number, optional
        The rho of the cost Zcdp(rho), which replaces `epsilon`; only for "output" and "descent".
    delta : Number, optional
        The delta of the cost; requires `epsilon`.
    method : str
        Where noise is added: "objective" to the objective function, "output" to the weights, "descent" to each step.
    C : Number, optional
        The inverse strength of the penalty, as in scikit-learn, but for rows with norm 1. By default it is computed
        from the privacy loss and the number of columns alone; for "objective" it is epsilon / 2. "objective" lowers C
        if epsilon is too small for it. `C_` is the value that was used.
    classes : sequence
        The two labels. They must be given, because reading them from the data would be a release. A column whose type
        cannot contain them is rejected. `count_labeled` releases the number of rows with one of these labels, at a
        cost.
    bounds : tuple or list or dict, optional
        Public limits (low, high) for all columns, a list of such pairs, or a mapping by name. With bounds, "objective"
        adds less noise, because a single column cannot contribute the whole norm of a row.
    row_norm : Number, optional
        The largest norm of a row, in units of half the width of the bounds or, without bounds, in the units of X.
        Longer rows are shortened to this norm.
    missing : str or Number, optional
        The treatment of missing numbers: "drop" omits the row, "middle" replaces them with the midpoint of the bounds
        (0 without bounds), and a number replaces them with this number. A fit always requires this parameter, because
        the type of X must not matter: pandas converts a column of integers to floats if a single integer is missing. In
        predictions, "drop" works like "middle".
    fit_intercept : bool
        Whether to add a constant column, which is penalized like the other columns.
    steps : int
        The number of steps of "descent".
    rate : Number
        The probability that a person takes part in a step of "descent". A rate below 1 requires "add_remove" and
        `delta`.
    people : int, optional
        A guess at the number of people for "descent", if this number is private.
    neighbors : str
        The neighbor relation: "replace" or, except for "objective", "add_remove".
    ledger : Ledger, optional
        The ledger that is charged before any row is read.
    rng : Generator, optional
        A generator for simulations, in which the learner claims no privacy; the default is the operating system's
        randomness.

    References
    ----------
    Chaudhuri, Monteleoni and Sarwate (2011), Differentially private empirical risk minimization; Awan and
    Slavković (2021), Structure and sensitivity in differential privacy; Redberg, Koskela and Wang (2023),
    Improving the privacy and practicality of objective perturbation.

    Examples
    --------
    >>> X, y = np.repeat([[20.0], [60.0]], 500, axis=0), np.repeat([0, 1], 500)
    >>> model = PrivateLogisticRegression(epsilon=1, classes=(0, 1), bounds=(0, 80), missing="drop")
    >>> model.fit(X, y).predict([[10], [70]]).tolist()
    [0, 1]
    >>> model
    <PrivateLogisticRegression: cost ε = 1; promise whatever one person's row is replaced by (replace); ...>
    """

    def __init__(
        self,
        epsilon: Number | None = None,
        *,
        rho: Number | None = None,
        delta: Number | None = None,
        method: str = "objective",
        C: Number | None = None,  # noqa: N803
        classes: Sequence[Label] = (0, 1),
        bounds: object = None,
        row_norm: Number | None = None,
        missing: Number | None = None,
        fit_intercept: bool = True,
        steps: int = 100,
        rate: Number = 1,
        people: int | None = None,
        neighbors: str = "replace",
        ledger: Ledger | None = None,
        rng: Rng = None,
    ) -> None:
        self.epsilon, self.rho, self.delta, self.method, self.C = epsilon, rho, delta, method, C
        self.classes, self.bounds, self.row_norm, self.missing = classes, bounds, row_norm, missing
        self.fit_intercept, self.steps, self.rate, self.people = fit_intercept, steps, rate, people
        self.neighbors, self.ledger, self.rng = neighbors, ledger, rng

    def _margin_loss(self) -> MarginLoss:
        return LogisticLoss()

    def predict_proba(self, X: DataFrame | ArrayLike) -> Array:  # noqa: N803
        """Compute the probabilities of both classes.

        Parameters
        ----------
        X : array-like
            Rows with the same columns as in the fit.

        Returns
        -------
        Array
            The probabilities, with one row per row of X and one column per class.
        """
        second = expit(self.decision_function(X))
        return np.column_stack([1 - second, second])

    def predict_log_proba(self, X: DataFrame | ArrayLike) -> Array:  # noqa: N803
        """Compute the logarithms of the probabilities of both classes.

        Parameters
        ----------
        X : array-like
            Rows with the same columns as in the fit.

        Returns
        -------
        Array
            The log-probabilities, with one row per row of X and one column per class.
        """
        score = self.decision_function(X)
        return -np.column_stack([np.logaddexp(0.0, score), np.logaddexp(0.0, -score)])


class PrivateSVC(PrivateLinearClassifier):
    """A linear support vector machine with differential privacy and a Huberized hinge loss.

    It differs from `PrivateLogisticRegression` in its loss, max(0, 1 - y w . x), whose corner is replaced by a parabola
    from 1 - width to 1 + width. Noise in the objective requires a bounded curvature, which is 1 / (2 width).

    Parameters
    ----------
    epsilon, rho, delta, method : optional
        The same parameters as in `PrivateLogisticRegression`.
    C : Number, optional
        The inverse strength of the penalty, as in scikit-learn, but for rows with norm 1. By default it is computed
        from the privacy loss and the number of columns alone; for "objective" it is epsilon width / 4. `C_` is the
        value that was used.
    width : Number
        Half the width of the parabola, from 0.001 to 1.
    classes, bounds, row_norm, missing, fit_intercept, steps, rate, people, neighbors, ledger, rng : optional
        The same parameters as in `PrivateLogisticRegression`.

    Examples
    --------
    >>> X, y = np.repeat([[20.0], [60.0]], 500, axis=0), np.repeat(["no", "yes"], 500)
    >>> model = PrivateSVC(1, classes=("no", "yes"), bounds=(0, 80), missing="drop").fit(X, y)
    >>> model.predict([[10], [70]]).tolist()
    ['no', 'yes']
    """

    def __init__(
        self,
        epsilon: Number | None = None,
        *,
        rho: Number | None = None,
        delta: Number | None = None,
        method: str = "objective",
        C: Number | None = None,  # noqa: N803
        width: Number = 0.5,
        classes: Sequence[Label] = (0, 1),
        bounds: object = None,
        row_norm: Number | None = None,
        missing: Number | None = None,
        fit_intercept: bool = True,
        steps: int = 100,
        rate: Number = 1,
        people: int | None = None,
        neighbors: str = "replace",
        ledger: Ledger | None = None,
        rng: Rng = None,
    ) -> None:
        self.epsilon, self.rho, self.delta, self.method, self.C = epsilon, rho, delta, method, C
        self.width, self.classes, self.bounds, self.row_norm = width, classes, bounds, row_norm
        self.missing = missing
        self.fit_intercept, self.steps, self.rate, self.people = fit_intercept, steps, rate, people
        self.neighbors, self.ledger, self.rng = neighbors, ledger, rng

    def _margin_loss(self) -> MarginLoss:
        width = float(check_positive(self.width, "width", "a corner has no bounded curvature"))
        if not 1e-3 <= width <= 1:
            reject("`width` must lie between 0.001 and 1", self.width, "the hinge has its corner at 1")
        return HuberHinge(width)


def default_strength(loss: Loss, size: int, method: str, curvature: float) -> float:
    """Return the default C, which depends only on public numbers.

    For "objective", curvature * C is an eighth of epsilon. So the determinants, ln(1 + curvature * C), cost at most
    this much, and the rest of epsilon remains for the random linear term. For the other methods, C makes the noise and
    the penalty about equally strong. It depends on epsilon or, for Gaussian noise, on the epsilon of Laplace noise with
    the same norm. C is smaller for "output", because the noise on the weights grows with C.
    """
    if method == "objective" and isinstance(loss, Pure | Approx):
        strength = float(loss.amount) / 8 / curvature
    else:
        pure = isinstance(loss, Pure)
        noise = float(loss.amount) / size if pure else math.sqrt(2 * float(zcdp_within(loss).amount) / size)
        strength = noise * (0.2 if method == "output" else 2)
    return min(max(strength, 1e-9), 1e6)


def _check_rows(rows: int) -> None:
    if rows > MAX_ROWS:
        reject(f"there must be at most {MAX_ROWS} rows", rows, "sums would lose too many digits")


def _two_classes(classes: Sequence[Label]) -> tuple[Any, Any]:
    """Return the two classes as Python values."""
    if isinstance(classes, str) or not hasattr(classes, "__iter__"):
        reject("`classes` must be two labels", type(classes).__name__, "they are not read from the data", TypeError)
    labels = [label.item() if isinstance(label, np.generic) else label for label in classes]
    if not all(isinstance(label, str | int | float) for label in labels):
        reject("`classes` must be texts or numbers", "others", "labels are compared with them", TypeError)
    if len(labels) != 2 or labels[0] == labels[1]:
        reject("`classes` must be two labels", f"{len(labels)}", "a linear score separates two classes")
    return labels[0], labels[1]
