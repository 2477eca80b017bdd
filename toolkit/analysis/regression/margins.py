"""Average marginal effects: prevalences, and how they differ, averaged over the people of a fit."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from toolkit.analysis.regression.covariates import Covariates
from toolkit.analysis.regression.rows import People
from toolkit.core.arrays import Array
from toolkit.core.checks import reject
from toolkit.core.estimate import Estimate
from toolkit.core.inference.intervals import Normal, Student
from toolkit.frames.table import Values

_STEP = 1e-4  # of a variable, in its standard deviations: step of the central differences of predictions


@dataclass(frozen=True, eq=False)
class Effect:
    """A quantity of each person and its gradient with respect to the coefficients; `label` names its option, if any."""

    label: str
    value: Array
    gradient: Array


Predictions = Callable[[Array], list[Effect]]
"""The predictions for a matrix of covariates: one effect for each option or outcome."""


def effects(
    covariates: Covariates, predict: Predictions, variable: str | None, levels: Sequence[Any] | None
) -> list[Effect]:
    """Return what is averaged: predictions, their differences, or their derivatives with respect to a variable."""
    if variable is None:
        return predict(covariates.matrix)
    values = covariates.values(variable)
    if levels is not None:
        if isinstance(levels, str) or not isinstance(levels, Iterable) or not (several := list(levels)):
            reject("`levels` must be a list of at least one value", "something else", "give one for each prediction")
        return [effect for level in several for effect in _effects_at(covariates, predict, variable, level)]
    categorical = any(label.startswith(f"C({variable}") for label in covariates.labels)
    steps = covariates.declared(variable) or _steps(values, categorical)
    if steps is None:
        return _derivatives(covariates, predict, variable, values)
    base = predict(covariates.where(variable, _constant(covariates, steps[0])))
    differences = []
    for level in steps[1:]:
        others = predict(covariates.where(variable, _constant(covariates, level)))
        change = f"{variable}: {level} − {steps[0]}"
        differences += [
            _difference(_label(change, other.label), other, first) for other, first in zip(others, base, strict=True)
        ]
    return differences


def _steps(values: Values, categorical: bool) -> list[Any] | None:
    """Return the values of a categorical or binary variable; None for a quantity."""
    if values.dtype.kind in "OUTb":
        return sorted(set(values.tolist()))
    distinct = np.unique(values)
    return distinct.tolist() if categorical or len(distinct) == 2 else None


def _constant(covariates: Covariates, level: object) -> Values:
    kind = float if isinstance(level, int | float | np.number) else object
    return np.full(len(covariates.matrix), level, dtype=kind)


def _effects_at(covariates: Covariates, predict: Predictions, variable: str, level: object) -> list[Effect]:
    """Return the predictions for each person if the variable had this value."""
    predictions = predict(covariates.where(variable, _constant(covariates, level)))
    return [replace(effect, label=_label(f"{variable} = {level}", effect.label)) for effect in predictions]


def _derivatives(covariates: Covariates, predict: Predictions, variable: str, values: Values) -> list[Effect]:
    numbers = values.astype(np.float64)
    step = _STEP * float(numbers.std())
    above, below = (predict(covariates.where(variable, numbers + side * step)) for side in (1, -1))
    return [_difference(_label(variable, up.label), up, down, 2 * step) for up, down in zip(above, below, strict=True)]


def _difference(label: str, first: Effect, second: Effect, width: float = 1.0) -> Effect:
    return Effect(label, (first.value - second.value) / width, (first.gradient - second.gradient) / width)


def _label(change: str, option: str) -> str:
    return f"{change}, {option}" if option else change


def margin_estimate(
    coefficients: Estimate, people: People, averaged: list[Effect], influence: Array | None, shares: bool
) -> Estimate:
    """Average effects over people; if `shares`, they are shares, whose limits are cut to 0 to 1.

    With `influence`, the covariates of the people count as sampled; without it, as fixed.
    """
    row_weights = people.row_weights / people.row_weights.sum()
    means = np.array([row_weights @ effect.value for effect in averaged])
    slopes = np.array([row_weights @ effect.gradient for effect in averaged])
    if influence is None:
        cov = slopes @ np.asarray(coefficients.cov) @ slopes.T
        covers = coefficients.covers.adding(", at the covariates of these people")
    else:
        weights = 1.0 if people.weights is None else people.weights
        deviations = [weights * (effect.value - mean) for effect, mean in zip(averaged, means, strict=True)]
        cov = people.scatter(np.column_stack(deviations) / people.row_weights.sum() + influence @ slopes.T)
        covers = coefficients.covers.adding(", also of the covariates")
    se, single = np.sqrt(np.diag(cov)), len(averaged) == 1
    value, error = (float(means[0]), float(se[0])) if single else (means, se)
    return Estimate(
        value=value,
        se=error,
        labels=tuple(effect.label or ("mean prevalence" if shares else "mean") for effect in averaged),
        cov=cov,
        n=coefficients.n,
        loss=coefficients.loss,
        covers=covers,
        method=f"average over people; {coefficients.method}",
        basis=basis_of(coefficients, value, error, shares=shares),
    )


def basis_of(coefficients: Estimate, value: float | Array, se: float | Array, *, shares: bool) -> Normal | Student:
    """Return t intervals if the coefficients have degrees of freedom, else normal ones; for shares, cut to 0 to 1.

    Most of the error is randomization, which is nearly the same for small and large shares, so the limits are symmetric
    about the share. With a die and 300 to 2,000 people, and shares from 0.02 to 0.5, they cover the share in 94.3 to
    97.8 % of surveys (by enumeration of all counts). Limits on the logit scale cover it in 80 to 96 % and are up to
    three times as far apart.
    """
    basis, within = coefficients.basis, (0.0, 1.0) if shares else (-np.inf, np.inf)
    if isinstance(basis, Student):
        return Student(value, se, basis.df, within=within)
    return Normal(value, se, within)
