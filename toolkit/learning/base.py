"""The base classes of private learners: the cost of a fit, the ledger that is charged, and the display of both.

The user passes a ledger, which is charged before any cell is read. Copies that scikit-learn makes of a learner, for a
search or for cross-validation, share its ledger. A pickled learner does not contain the ledger.
"""

from collections.abc import Callable
from fractions import Fraction
from numbers import Real
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.exceptions import NotFittedError

from toolkit.central.laplace import Laplace
from toolkit.central.release import html_table
from toolkit.core.arrays import ArrayLike, DataFrame, Mask
from toolkit.core.checks import (
    Number,
    Result,
    check_choice,
    check_neighbors,
    check_positive,
    exact_fraction,
    quietly,
    reject,
)
from toolkit.core.estimate import Estimate
from toolkit.core.loss import Approx, Loss, Pure, Zcdp, warn_if_weak
from toolkit.core.randomness import Rng, check_rng
from toolkit.frames.engines.column import Column
from toolkit.learning.tables import Examples, Scale, Table, make_examples, make_scale, make_table, target_column

PROMISES = {
    "replace": "whatever one person's row is replaced by",
    "add_remove": "whether or not one person's row is there",
}
SIMULATED = "simulated, no privacy claim"
FILLS = {"drop": "leave their row out", "middle": "count as the middle of the bounds"}


def resolve_randomness(ledger: Any, rng: Rng) -> Rng:
    if not hasattr(ledger, "charge"):
        reject("`ledger` must be a Ledger", type(ledger).__name__, "it is charged: Ledger(Pure(1.0))", TypeError)
    source: Rng = ledger.source(rng)
    return source


class LeftBehind:
    """A placeholder for a ledger that was not pickled, which rejects every charge."""

    def charge(self, *_: object, **__: object) -> None:
        rule = "a fit must be charged to the ledger of its learner"
        consequence = "set_params(ledger=…) first; in a search use n_jobs=1"
        reject(rule, "a learner that was pickled or sent to another process", consequence)

    source = charge


class PrivateLearner(BaseEstimator):  # type: ignore[misc]
    """A learner whose fit has a privacy cost; parameters are stored unchanged and checked by `fit`."""

    epsilon: Number | None
    rho: Number | None
    delta: Number | None
    bounds: Any
    row_norm: Number | None
    missing: Any
    neighbors: str
    ledger: Any
    rng: Rng

    def _claimed_loss(self) -> Loss:
        if (self.epsilon is None) == (self.rho is None):
            received = "neither" if self.epsilon is None else "both"
            reject("exactly one of `epsilon` and `rho` must be given", received, "it is the cost of a fit")
        if self.rho is not None:
            if self.delta is not None:
                reject("`delta` must be given only with `epsilon`", "both `rho` and `delta`", "a Zcdp has no delta")
            return Zcdp(check_positive(self.rho, "rho"))
        amount = check_positive(self.epsilon, "epsilon", "at 0 no finite noise is enough")  # type: ignore[arg-type]
        if self.delta is None:
            return Pure(amount)
        slack = exact_fraction(self.delta, "delta")
        if not Fraction(1, 10**300) <= slack < 1:
            reject("`delta` must lie between 1e-300 and 1", self.delta, "it is a probability")
        return Approx(amount, slack)

    def _validate_data(self, x: DataFrame | ArrayLike, y: object, *, target: bool = True) -> Examples:
        """Return rows and targets after checking only types and shapes; store the column names, which are public."""
        pairs, relation = make_examples(x, y, target=target), check_neighbors(self.neighbors)
        rows = pairs.rows
        if relation == "replace" and rows.count() == 0:
            reject("there must be rows", "0 sample(s) while a minimum of 1 is required", "nothing to replace")
        self.n_features_in_ = rows.n_columns
        if rows.names is not None:
            self.feature_names_in_ = np.array(rows.names, dtype=object)
        elif hasattr(self, "feature_names_in_"):
            del self.feature_names_in_
        return pairs

    def _scale(self, rows: Table, *, intercept: bool = True) -> Scale:
        """Return the public scales of a table; `missing` is required because a missing number can change X's type."""
        if self.missing is None:
            reject(
                "`missing` must state how missing numbers are treated",
                "nothing",
                'write missing="drop" to leave such rows out, "middle" to insert the middle of the bounds, or the '
                "number to insert",
            )
        if not isinstance(self.missing, Real | Fraction):
            check_choice(self.missing, "missing", tuple(FILLS))
        settings: dict[str, Any] = {"features": rows.n_columns, "names": rows.names, "intercept": intercept}
        return make_scale(self.bounds, self.row_norm, **settings, missing=self.missing)

    def _charge_and_compute(self, cost: object, kind: str, compute: Callable[[Rng], Result]) -> Result:
        """Charge the cost, then compute; if the computation fails, only the fact that it failed is revealed."""
        source = check_rng(self.rng)
        if self.ledger is not None:
            source = resolve_randomness(self.ledger, self.rng)
            self.ledger.charge(cost, kind, mechanism=type(self).__name__, neighbors=self.neighbors, unit="row")
        elif source is None:
            warn_if_weak(self._claimed_loss())
        self.simulated_ = source is not None
        return quietly(lambda: compute(source), consequence="the charge remains")

    def _rows_to_predict(self, x: DataFrame | ArrayLike) -> Table:
        """Return a table after checking that it has the same columns as in the fit."""
        name = type(self).__name__
        if not hasattr(self, "loss_"):
            reject(f"{name} must be fitted first", "no weights", "call `fit`", NotFittedError)
        rows, expected = make_table(x), getattr(self, "feature_names_in_", None)
        if expected is not None and rows.names is not None and list(expected) != list(rows.names):
            rule = "The feature names should match those that were passed during fit"
            reject(rule, "other names or another order", "weights would apply to the wrong columns")
        if rows.n_columns != self.n_features_in_:
            rule = f"X has {rows.n_columns} features, but {name} is expecting {self.n_features_in_} features as input"
            reject(rule, f"{rows.n_columns}", "weights would apply to the wrong columns")
        return rows

    def __sklearn_clone__(self) -> Any:
        """Return an unfitted copy with the same ledger, so that copies have no separate budget."""
        return type(self)(**self.get_params(deep=False))

    def __getstate__(self) -> dict[str, Any]:
        state = dict(super().__getstate__())
        if state.get("ledger") is not None:
            state["ledger"] = LeftBehind()
        return state

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True  # so that no cell can cause an error
        tags.non_deterministic = True
        return tags

    def _repr_items(self) -> list[tuple[str, str]]:
        return []

    def _missing_items(self) -> list[tuple[str, str]]:
        words = "not stated yet" if self.missing is None else FILLS.get(str(self.missing), f"count as {self.missing}")
        facts = [("missing numbers", words)]
        if hasattr(self, "labeled_rows_"):
            about = f"about {float(self.labeled_rows_):,.0f} (standard error {self.labeled_rows_.se:.2g}"
            facts.append(("rows with a known label", f"{about}, {self.labeled_rows_.loss or SIMULATED})"))
        return facts

    def _repr_rows(self) -> list[tuple[str, str]]:
        fitted = hasattr(self, "loss_")
        try:
            cost: object = getattr(self, "loss_", None) or self._claimed_loss()
        except (TypeError, ValueError):
            cost = "not stated yet"
        promise = f"{PROMISES.get(self.neighbors, 'not stated')} ({self.neighbors})"
        head = [("cost" if fitted else "each fit costs", str(cost)), ("promise", promise)]
        if fitted and self.simulated_:
            head = [("cost", SIMULATED)]
        return [*head, *self._repr_items(), *self._missing_items()]

    def __repr__(self, N_CHAR_MAX: int = 700) -> str:  # noqa: N803 — scikit-learn's own signature
        return f"<{type(self).__name__}: {'; '.join(f'{name} {text}' for name, text in self._repr_rows())}>"

    def _repr_html_(self) -> str:
        return html_table(type(self).__name__, self._repr_rows())

    def _repr_mimebundle_(self, **_: object) -> dict[str, str]:
        return {"text/plain": repr(self), "text/html": self._repr_html_()}


class PrivateSupervisedLearner(PrivateLearner):
    """The base class of private learners that predict labels or targets."""

    def count_labeled(self, y: ArrayLike, *, epsilon: Number) -> Estimate:
        """Count the rows from which a fit would learn, at a cost of Pure(epsilon).

        These are the rows with a target, or with a label that is one of the classes. So the count shows whether
        `classes` are spelled as in y. The ledger is charged, and the repr then shows the count.

        Parameters
        ----------
        y : array-like
            The labels or targets, one per row.
        epsilon : Number
            The epsilon of the count.

        Returns
        -------
        Estimate
            The noisy count.
        """
        column = target_column(y).column
        is_labeled, mechanism = self._label_filter(column), Laplace.for_epsilon(epsilon)
        check_neighbors(self.neighbors)
        simulated = getattr(self, "simulated_", None)
        self.labeled_rows_ = self._charge_and_compute(
            mechanism, "rows with a known label", lambda rng: mechanism.release(int(is_labeled(column).sum()), rng=rng)
        )
        # `simulated_` describes the fit, so a later count must not change it.
        self.simulated_ = self.simulated_ if simulated is None else simulated
        return self.labeled_rows_

    def _label_filter(self, y: Column) -> Callable[[Column], Mask]:
        """Return a function that selects the rows of a column that have a label or a target."""
        raise NotImplementedError
