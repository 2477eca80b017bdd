"""Prevalences and their differences, averaged over the people of a fit."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from toolkit.analysis.regression.columns import Column
from toolkit.analysis.regression.covariates import Covariates
from toolkit.analysis.regression.links import Link
from toolkit.analysis.regression.people import People
from toolkit.core.arrays import Array
from toolkit.core.estimate import Estimate
from toolkit.core.inference.intervals import Normal, Student

_STEP = 1e-4  # of a standard deviation, to both sides: the derivative of a formula's columns by a variable


@dataclass(frozen=True, eq=False)
class Effect:
    """A quantity of each person, and its derivatives by the coefficients."""

    label: str
    each: Array
    gradient: Array


def effects(
    covariates: Covariates, link: Link, value: Array, variable: str | None, levels: Sequence[Any] | None
) -> list[Effect]:
    """What is to be averaged: prevalences, their differences, or their derivatives by a variable."""
    if variable is None:
        return [_prevalence("mean prevalence", covariates.matrix, link, value)]
    values = covariates.values(variable)
    if levels is not None:
        return [_at(covariates, link, value, variable, level) for level in levels]
    steps = _steps(values)
    if steps is None:
        return [_derivative(covariates, link, value, variable, values)]
    first, *others = (_at(covariates, link, value, variable, level) for level in steps)
    return [
        Effect(f"{variable}: {level} − {steps[0]}", other.each - first.each, other.gradient - first.gradient)
        for level, other in zip(steps[1:], others, strict=True)
    ]


def _steps(values: Column) -> list[Any] | None:
    """The values of a variable that goes in steps: of two numbers, or of categories; None for a quantity."""
    if values.dtype.kind in "OUTb":
        return sorted(set(values.tolist()))
    found = np.unique(values)
    return found.tolist() if len(found) == 2 else None


def _prevalence(label: str, matrix: Array, link: Link, value: Array) -> Effect:
    eta = matrix @ value
    return Effect(label, link.share(eta), link.slope(eta)[:, None] * matrix)


def _at(covariates: Covariates, link: Link, value: Array, variable: str, level: Any) -> Effect:
    """The prevalence of each person if the variable had this value."""
    everywhere = np.full(len(covariates.matrix), level, dtype=object if isinstance(level, str) else None)
    return _prevalence(f"{variable} = {level}", covariates.where(variable, everywhere), link, value)


def _derivative(covariates: Covariates, link: Link, value: Array, variable: str, values: Column) -> Effect:
    numbers = values.astype(np.float64)
    step = _STEP * float(numbers.std())
    above, below = (covariates.where(variable, numbers + side * step) for side in (1, -1))
    change = (above - below) / (2 * step)
    eta, moved = covariates.matrix @ value, change @ value
    slope = link.slope(eta)
    gradient = (slope * link.bend(eta) * moved)[:, None] * covariates.matrix + slope[:, None] * change
    return Effect(variable, slope * moved, gradient)


def margin_estimate(
    coefficients: Estimate, people: People, found: list[Effect], influence: Array | None
) -> Estimate:
    """The effects averaged over people, with the covariance that the coefficients leave them.

    With `influence`, what each person moves the coefficients by, people are a sample, too.
    """
    mass = people.mass / people.mass.sum()
    means = np.array([mass @ effect.each for effect in found])
    slopes = np.array([mass @ effect.gradient for effect in found])
    if influence is None:
        cov = slopes @ np.asarray(coefficients.cov) @ slopes.T
        covers = f"{coefficients.covers}, at the covariates of these people"
    else:
        weights = 1.0 if people.weights is None else people.weights
        own = np.column_stack(
            [weights * (effect.each - mean) for effect, mean in zip(found, means, strict=True)]
        )
        cov = people.scatter(own / people.mass.sum() + influence @ slopes.T)
        covers = f"{coefficients.covers}, of the covariates, too"
    se, one = np.sqrt(np.diag(cov)), len(found) == 1
    value, error = (float(means[0]), float(se[0])) if one else (means, se)
    df = coefficients.basis.df if isinstance(coefficients.basis, Student) else None
    return Estimate(
        value=value,
        se=error,
        labels=tuple(effect.label for effect in found),
        cov=cov,
        n=coefficients.n,
        loss=coefficients.loss,
        covers=covers,
        method=f"average over people; {coefficients.method}",
        basis=Normal(value, error) if df is None else Student(value, error, df),
    )
