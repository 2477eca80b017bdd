"""Average marginal effects: prevalences, and how they differ, averaged over the people of a fit."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from toolkit.analysis.regression.covariates import Covariates
from toolkit.analysis.regression.rows import People
from toolkit.core.arrays import Array, Mask
from toolkit.core.checks import reject
from toolkit.core.estimate import Estimate
from toolkit.core.inference.intervals import Normal, Student
from toolkit.frames.table import Values

_MOST_GROUPS = 50
_STEP = 1e-4  # of a variable, in its standard deviations: step of the central differences of predictions


@dataclass(frozen=True, eq=False)
class Effect:
    """A quantity of each person and its gradient with respect to the coefficients.

    `label` names its option, if any. The average is over the people of `group`, or over all.
    """

    label: str
    value: Array
    gradient: Array
    group: Mask | None = None


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
        return [
            replace(effect, label=_label(f"{variable} = {level}", effect.label))
            for level in several
            for effect in predict(covariates.fixed(variable, level).matrix)
        ]
    categorical = any(label.startswith(f"C({variable}") for label in covariates.labels)
    steps = covariates.declared(variable) or _steps(values, categorical)
    if steps is None:
        return _derivatives(covariates, predict, variable, values)
    base = predict(covariates.fixed(variable, steps[0]).matrix)
    differences = []
    for level in steps[1:]:
        others = predict(covariates.fixed(variable, level).matrix)
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


def by_group(covariates: Covariates, variable: str, averaged: list[Effect]) -> list[Effect]:
    """Return each effect once for every value of a variable, to be averaged over the people who have it."""
    values = covariates.values(variable)
    levels = covariates.declared(variable) or sorted(set(values.tolist()))
    if len(levels) > _MOST_GROUPS:
        remedy = "cut a quantity into classes before the fit, and put the classes into the formula"
        reject(f"`by` must be a variable of at most {_MOST_GROUPS} values", f"{len(levels)} values", remedy)
    return [
        replace(effect, label=_label(effect.label, f"{variable} = {level}"), group=values == level)
        for effect in averaged
        for level in levels
    ]


def _derivatives(covariates: Covariates, predict: Predictions, variable: str, values: Values) -> list[Effect]:
    numbers = values.astype(np.float64)
    step = _STEP * float(numbers.std())
    above, below = (predict(covariates.where(variable, numbers + side * step)) for side in (1, -1))
    return [_difference(_label(variable, up.label), up, down, 2 * step) for up, down in zip(above, below, strict=True)]


def _difference(label: str, first: Effect, second: Effect, width: float = 1.0) -> Effect:
    return Effect(label, (first.value - second.value) / width, (first.gradient - second.gradient) / width)


def _label(change: str, option: str) -> str:
    return ", ".join(filter(None, (change, option)))


def margin_estimate(
    coefficients: Estimate, people: People, averaged: list[Effect], influence: Array | None, shares: bool
) -> Estimate:
    """Average effects over people; if `shares`, they are shares, whose limits are cut to 0 to 1.

    With `influence`, the covariates of the people count as sampled; without it, as fixed.
    """
    row_shares = [_row_shares(people, effect) for effect in averaged]
    means = np.array([row @ effect.value for row, effect in zip(row_shares, averaged, strict=True)])
    slopes = np.array([row @ effect.gradient for row, effect in zip(row_shares, averaged, strict=True)])
    if influence is None:
        cov = slopes @ np.asarray(coefficients.cov) @ slopes.T
        covers = coefficients.covers.adding(", at the covariates of these people")
    else:
        deviations = [_row_influence(people, effect, mean) for effect, mean in zip(averaged, means, strict=True)]
        cov = people.scatter(np.column_stack(deviations) + influence @ slopes.T)
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


def _row_shares(people: People, effect: Effect) -> Array:
    """Return the weight of each row in the average of an effect; the weights sum to 1."""
    weights = people.row_weights if effect.group is None else people.row_weights * effect.group
    if not weights.any():
        reject("every value of `by` must belong to people with a weight above 0", repr(effect.label), "leave it out")
    return np.asarray(weights / weights.sum())


def _row_influence(people: People, effect: Effect, mean: float) -> Array:
    """Return how each row moves the average of an effect over its group."""
    group = 1.0 if effect.group is None else effect.group
    weights = group * (1.0 if people.weights is None else people.weights)
    total = (people.row_weights * group).sum()
    return np.asarray(weights * (effect.value - mean) / total)


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
