"""Means, totals and their differences as sums over people: what each person moves them by."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from toolkit.core.arrays import Array
from toolkit.core.checks import refuse
from toolkit.core.estimate import Estimate
from toolkit.core.inference.intervals import Student

ALIKE = "all answers are equal, which says nothing about the error of their mean: there is no interval"


@dataclass(frozen=True, eq=False)
class Linear:
    """`influence` : what one more unit of weight of a row moves the value by. `factors` : what a row's score
    is multiplied with. `people` : rows that have a score and are meant.
    """

    value: Array
    influence: Array
    factors: Array
    people: int

    def __sub__(self, other: "Linear") -> "Linear":
        return Linear(
            self.value - other.value,
            self.influence - other.influence,
            self.factors - other.factors,
            self.people + other.people,
        )


def mean(scores: Array, weights: Array, inside: Any) -> Linear:
    """Sum w d S / sum w d, column by column."""
    if not inside.any(axis=0).all():
        refuse("`where` must hold for somebody with a score", "nobody", "an empty domain has no mean")
    share = np.where(inside, weights[:, None], 0.0)
    share /= share.sum(axis=0)
    known = np.where(inside, scores, 0.0)
    value = (share * known).sum(axis=0)
    return Linear(value, (known - value) * share / weights[:, None], share, int(inside.any(axis=1).sum()))


def total(scores: Array, weights: Array, inside: Any) -> Linear:
    """Sum w d S, column by column."""
    known = np.where(inside, scores, 0.0)
    factors = np.where(inside, weights[:, None], 0.0)
    return Linear((factors * known).sum(axis=0), known, factors, int(inside.any(axis=1).sum()))


def randomization(factors: Array, scores: Array, fraction: Array, noise: Any) -> Array:
    """The part of the randomization that the finite population correction took away, and that is there all
    the same: sum over people of fraction * factor**2 * variance of their score given their answer.

    Of scores of options that variance is estimated, without bias, by S S' - diag(S): an option is had or not.
    """
    if noise is None:
        refuse(
            "with a `population`, `noise` must say how much of the scores is randomization",
            "nothing",
            "noise='shares' for scores of options, noise=0 for what nothing hides, or a variance a row",
        )
    known = np.nan_to_num(scores) * factors
    if isinstance(noise, str):
        if noise != "shares":
            refuse(
                "`noise` must be 'shares', a number, or one number a row",
                repr(noise)[:40],
                "nothing else is known",
            )
        own = np.nan_to_num(scores) * factors**2
        return np.asarray((known * fraction[:, None]).T @ known - np.diag(fraction @ own))
    variance = np.asarray(noise, dtype=np.float64)
    if variance.ndim > 1 or (variance.ndim and len(variance) != len(scores)) or not np.all(variance >= 0):
        refuse("`noise` must be at least 0, one number a row", f"shape {variance.shape}", "it is a variance")
    return np.asarray((factors * (fraction * variance)[:, None]).T @ factors)


def as_estimate(found: Linear, cov: Array, df: int, single: bool, labels: Any, method: str, covers: str) -> Estimate:
    """With a t interval of the design's degrees of freedom."""
    se = np.sqrt(np.maximum(np.diag(cov), 0))
    value: Any = float(found.value[0]) if single else found.value
    error: Any = float(se[0]) if single else se
    names = tuple(labels) if labels is not None else ("mean",) if single else tuple(range(len(se)))
    if len(names) != len(se):
        refuse(f"`labels` must name {len(se)} columns", len(names), "each has its own")
    return Estimate(
        value=value,
        se=error,
        labels=names,
        cov=cov,
        n=found.people,
        loss=None,
        covers=covers,
        method=method,
        basis=Student(value, error, df),
    )


def without_certainty(estimate: Estimate, scores: Array, inside: Any) -> Estimate:
    """The mean of scores that are all equal has no error that they could tell, rather than the error 0."""
    most, least = (np.where(inside, scores, end) for end in (-np.inf, np.inf))
    alike = most.max(axis=0) == least.min(axis=0)
    if not alike.any() or not isinstance(estimate.basis, Student):
        return estimate
    se = np.where(alike, np.nan, estimate.se)
    error = se if np.ndim(estimate.value) else float(se[0])
    return replace(estimate, se=error, notes=(ALIKE,), basis=replace(estimate.basis, se=error))
