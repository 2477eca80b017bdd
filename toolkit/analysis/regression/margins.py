"""Average marginal effects: predictions, their differences and derivatives, averaged over the people of a fit."""

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

_MAX_GROUPS = 50
_STEP = 1e-4  # step of the central differences of predictions, in standard deviations of the variable


@dataclass(frozen=True, eq=False)
class Effect:
    """A quantity of each person and its gradient with respect to the coefficients.

    `label` names the option to which the quantity refers, if any. The average is over the people in `group`, or over
    all people.
    """

    label: str
    value: Array
    gradient: Array
    group: Mask | None = None


Predictions = Callable[[Array], list[Effect]]
"""A function from a matrix of covariates to predictions: one effect for each option or outcome."""


def margin_effects(
    covariates: Covariates, predict: Predictions, variable: str | None, levels: Sequence[Any] | None
) -> list[Effect]:
    """Return the effects to average: predictions, or their differences or derivatives along a variable."""
    if variable is None:
        return predict(covariates.matrix)
    values = covariates.values(variable)
    if levels is not None:
        if isinstance(levels, str) or not isinstance(levels, Iterable) or not (several := list(levels)):
            reject("`levels` must be a list of at least one value", "something else", "give one for each prediction")
        return [
            replace(effect, label=_joined_label(f"{variable} = {level}", effect.label))
            for level in several
            for effect in predict(covariates.with_value(variable, level).matrix)
        ]
    is_categorical = any(label.startswith(f"C({variable}") for label in covariates.labels)
    compared_levels = covariates.declared_categories(variable) or _levels_of(values, is_categorical)
    if compared_levels is None:
        return _derivatives(covariates, predict, variable, values)
    base = predict(covariates.with_value(variable, compared_levels[0]).matrix)
    differences = []
    for level in compared_levels[1:]:
        level_effects = predict(covariates.with_value(variable, level).matrix)
        change = f"{variable}: {level} − {compared_levels[0]}"
        differences += [
            _effect_difference(_joined_label(change, effect.label), effect, base_effect)
            for effect, base_effect in zip(level_effects, base, strict=True)
        ]
    return differences


def _levels_of(values: Values, is_categorical: bool) -> list[Any] | None:
    """Return the values of a categorical or binary variable; None for a quantitative variable."""
    if values.dtype.kind in "OUTb":
        return sorted(set(values.tolist()))
    distinct = np.unique(values)
    return distinct.tolist() if is_categorical or len(distinct) == 2 else None


def split_by_group(covariates: Covariates, variable: str, effects: list[Effect]) -> list[Effect]:
    """Repeat each effect for every value of a variable, to be averaged over the people with that value."""
    values = covariates.values(variable)
    levels = covariates.declared_categories(variable) or sorted(set(values.tolist()))
    if len(levels) > _MAX_GROUPS:
        remedy = "cut a quantity into classes before the fit, and put the classes into the formula"
        reject(f"`by` must be a variable of at most {_MAX_GROUPS} values", f"{len(levels)} values", remedy)
    return [
        replace(effect, label=_joined_label(effect.label, f"{variable} = {level}"), group=values == level)
        for effect in effects
        for level in levels
    ]


def _derivatives(covariates: Covariates, predict: Predictions, variable: str, values: Values) -> list[Effect]:
    numbers = values.astype(np.float64)
    step = _STEP * float(numbers.std())
    above, below = (predict(covariates.matrix_with(variable, numbers + side * step)) for side in (1, -1))
    return [
        _effect_difference(_joined_label(variable, up.label), up, down, 2 * step)
        for up, down in zip(above, below, strict=True)
    ]


def _effect_difference(label: str, minuend: Effect, subtrahend: Effect, width: float = 1.0) -> Effect:
    return Effect(label, (minuend.value - subtrahend.value) / width, (minuend.gradient - subtrahend.gradient) / width)


def _joined_label(change: str, option: str) -> str:
    return ", ".join(filter(None, (change, option)))


def margin_estimate(
    coefficients: Estimate, people: People, effects: list[Effect], influence: Array | None, are_shares: bool
) -> Estimate:
    """Average effects over people; if `are_shares`, intervals are truncated to [0, 1].

    With `influence`, the covariates are treated as sampled; without it, as fixed.
    """
    averaging_weights = [_averaging_weights(people, effect) for effect in effects]
    means = np.array([row @ effect.value for row, effect in zip(averaging_weights, effects, strict=True)])
    gradients = np.array([row @ effect.gradient for row, effect in zip(averaging_weights, effects, strict=True)])
    if influence is None:
        cov = gradients @ np.asarray(coefficients.cov) @ gradients.T
        covers = coefficients.covers.adding(", at the covariates of these people")
    else:
        deviations = [_row_influence(people, effect, mean) for effect, mean in zip(effects, means, strict=True)]
        cov = people.variance_of_sum(np.column_stack(deviations) + influence @ gradients.T)
        covers = coefficients.covers.adding(", also of the covariates")
    se, single = np.sqrt(np.diag(cov)), len(effects) == 1
    value, error = (float(means[0]), float(se[0])) if single else (means, se)
    return Estimate(
        value=value,
        se=error,
        labels=tuple(effect.label or ("mean prevalence" if are_shares else "mean") for effect in effects),
        cov=cov,
        n=coefficients.n,
        loss=coefficients.loss,
        covers=covers,
        method=f"average over people; {coefficients.method}",
        basis=interval_basis(coefficients, value, error, are_shares=are_shares),
    )


def _averaging_weights(people: People, effect: Effect) -> Array:
    """Return the weight of each row in the average of an effect; the weights sum to 1."""
    weights = people.row_weights if effect.group is None else people.row_weights * effect.group
    if not weights.any():
        reject("every value of `by` must belong to people with a weight above 0", repr(effect.label), "leave it out")
    return np.asarray(weights / weights.sum())


def _row_influence(people: People, effect: Effect, mean: float) -> Array:
    """Return the influence of each row on the average of an effect over its group."""
    group = 1.0 if effect.group is None else effect.group
    weights = group * (1.0 if people.weights is None else people.weights)
    total = (people.row_weights * group).sum()
    return np.asarray(weights * (effect.value - mean) / total)


def interval_basis(
    coefficients: Estimate, value: float | Array, se: float | Array, *, are_shares: bool
) -> Normal | Student:
    """Return t intervals if the coefficients have them, otherwise normal intervals; intervals of shares are truncated.

    Most of the error comes from the randomization, and is nearly the same for small and large shares. The limits are
    therefore symmetric about the share. By enumeration of all counts, with a die, 300 to 2,000 people and shares from
    0.02 to 0.5, they cover the share with probability 94.3 to 97.8 %. Limits on the logit scale cover it with
    probability 80 to 96 %, and the intervals are up to three times as wide.
    """
    basis, within = coefficients.basis, (0.0, 1.0) if are_shares else (-np.inf, np.inf)
    if isinstance(basis, Student):
        return Student(value, se, basis.df, within=within)
    return Normal(value, se, within)
