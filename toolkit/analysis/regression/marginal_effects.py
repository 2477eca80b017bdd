"""Prevalences and their differences, averaged over the people of a fit."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from toolkit.analysis.regression.covariates import Covariates
from toolkit.analysis.regression.rows import People
from toolkit.core.arrays import Array
from toolkit.core.estimate import Estimate
from toolkit.core.inference.intervals import Normal, Student
from toolkit.frames.table import Values

_STEP = 1e-4  # of a standard deviation, to both sides: the derivative of a formula's columns by a variable


@dataclass(frozen=True, eq=False)
class Effect:
    """A quantity of each person, and its derivatives by the coefficients; `label` is its option, if of several."""

    label: str
    each: Array
    gradient: Array


Shares = Callable[[Array], list[Effect]]
"""The prevalences that a matrix of covariates leads to: one effect for each option that has one."""


def effects(covariates: Covariates, shares: Shares, variable: str | None, levels: Sequence[Any] | None) -> list[Effect]:
    """What is to be averaged: prevalences, their differences, or their derivatives by a variable."""
    if variable is None:
        return shares(covariates.matrix)
    values = covariates.values(variable)
    if levels is not None:
        return [effect for level in levels for effect in _at(covariates, shares, variable, level)]
    in_steps = any(label.startswith(f"C({variable}") for label in covariates.labels)
    steps = covariates.declared(variable) or _steps(values, in_steps)
    if steps is None:
        return _derivatives(covariates, shares, variable, values)
    first = shares(covariates.where(variable, _everywhere(covariates, steps[0])))
    differences = []
    for level in steps[1:]:
        others = shares(covariates.where(variable, _everywhere(covariates, level)))
        named = f"{variable}: {level} − {steps[0]}"
        differences += [_less(_named(named, one.label), one, zero) for one, zero in zip(others, first, strict=True)]
    return differences


def _steps(values: Values, in_steps: bool) -> list[Any] | None:
    """The values of a variable that goes in steps: of two numbers, or of categories; None for a quantity."""
    if values.dtype.kind in "OUTb":
        return sorted(set(values.tolist()))
    distinct = np.unique(values)
    return distinct.tolist() if in_steps or len(distinct) == 2 else None


def _everywhere(covariates: Covariates, level: object) -> Values:
    kind = float if isinstance(level, int | float | np.number) else object
    return np.full(len(covariates.matrix), level, dtype=kind)


def _at(covariates: Covariates, shares: Shares, variable: str, level: object) -> list[Effect]:
    """The prevalences of each person if the variable had this value."""
    prevalences = shares(covariates.where(variable, _everywhere(covariates, level)))
    return [replace(effect, label=_named(f"{variable} = {level}", effect.label)) for effect in prevalences]


def _derivatives(covariates: Covariates, shares: Shares, variable: str, values: Values) -> list[Effect]:
    numbers = values.astype(np.float64)
    step = _STEP * float(numbers.std())
    above, below = (shares(covariates.where(variable, numbers + side * step)) for side in (1, -1))
    return [_less(_named(variable, up.label), up, down, 2 * step) for up, down in zip(above, below, strict=True)]


def _less(label: str, one: Effect, other: Effect, width: float = 1.0) -> Effect:
    return Effect(label, (one.each - other.each) / width, (one.gradient - other.gradient) / width)


def _named(change: str, option: str) -> str:
    return f"{change}, {option}" if option else change


def margin_estimate(
    coefficients: Estimate, people: People, averages: list[Effect], influence: Array | None, shares: bool
) -> Estimate:
    """Effects averaged over people: `shares`, or differences. With `influence`, people are a sample, too."""
    mass = people.mass / people.mass.sum()
    means = np.array([mass @ effect.each for effect in averages])
    slopes = np.array([mass @ effect.gradient for effect in averages])
    if influence is None:
        cov = slopes @ np.asarray(coefficients.cov) @ slopes.T
        covers = coefficients.covers.adding(", at the covariates of these people")
    else:
        weights = 1.0 if people.weights is None else people.weights
        own = np.column_stack([weights * (effect.each - mean) for effect, mean in zip(averages, means, strict=True)])
        cov = people.scatter(own / people.mass.sum() + influence @ slopes.T)
        covers = coefficients.covers.adding(", of the covariates, too")
    se, one = np.sqrt(np.diag(cov)), len(averages) == 1
    value, error = (float(means[0]), float(se[0])) if one else (means, se)
    return Estimate(
        value=value,
        se=error,
        labels=tuple(effect.label or "mean prevalence" for effect in averages),
        cov=cov,
        n=coefficients.n,
        loss=coefficients.loss,
        covers=covers,
        method=f"average over people; {coefficients.method}",
        basis=basis_of(coefficients, value, error, shares=shares),
    )


def basis_of(coefficients: Estimate, value: float | Array, se: float | Array, *, shares: bool) -> Normal | Student:
    """By t where the coefficients have degrees of freedom, else normal; of shares cut to 0 … 1.

    Through a design most of the error is randomization, which is nearly the same for small and large shares:
    so limits are symmetric about the share. Of 300 to 2,000 people by a die, at shares from 0.02 to 0.5 and
    by enumeration of all counts, they cover it in 94.3 to 97.8 % of surveys; limits made on the logit in 80
    to 96 %, and are up to three times as far apart.
    """
    basis, within = coefficients.basis, (0.0, 1.0) if shares else (-np.inf, np.inf)
    if isinstance(basis, Student):
        return Student(value, se, basis.df, within=within)
    return Normal(value, se, within)
