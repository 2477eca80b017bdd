"""Lists with and without the sensitive item: only a count or a sum is told, and two means are compared.

There is no epsilon here: who says "none" or "all" has told everything.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from toolkit.analysis.regression.reading.columns import floats
from toolkit.analysis.twogroup.groups import ModelTest
from toolkit.core.arrays import Array
from toolkit.core.checks import refuse, whole
from toolkit.core.estimate import Estimate
from toolkit.core.inference.intervals import Student
from toolkit.core.inference.special import ndtr


@dataclass(frozen=True, eq=False)
class ListExperiment:
    """What a list experiment found.

    Parameters
    ----------
    estimate : the share of carriers: the difference of two means.
    test : whether some combination has a negative share: then the sensitive item changed the answers to the
        others. Bonferroni over all of them.
    told_none, told_all : the shares of the long list's group who said none, or all, and can deny nothing.
    carriers_by_count : estimated share of people who have the trait and so many of the other items.
    """

    estimate: Estimate
    test: ModelTest
    told_none: float
    told_all: float
    carriers_by_count: Array


def list_experiment(short: Any, long: Any, *, items: int) -> ListExperiment:
    """How many have a trait, from how many items of a list people say they have, without and with the
    trait on it.

    Parameters
    ----------
    short, long : counts that people told, of the list without and with the sensitive item.
    items : how many items the short list has; a long answer is 0 to items + 1.

    >>> found = list_experiment([0, 1, 1, 2, 2, 1], [1, 1, 2, 3, 2, 1], items=3)
    >>> round(found.estimate.value, 3), round(found.estimate.se, 3)
    (0.5, 0.453)
    """
    most = whole(items, "items")
    one, two = _counts(short, most, "short"), _counts(long, most + 1, "long")
    below = np.array([np.mean(one <= y) for y in range(most + 1)])
    with_it = np.array([np.mean(two <= y) for y in range(most + 1)])
    joint = np.concatenate([below - with_it, with_it - np.concatenate([[0.0], below[:-1]])])
    before = np.concatenate([below, [0.0], below[:-1]])
    after = np.concatenate([with_it, with_it])
    se = np.sqrt(before * (1 - before) / len(one) + after * (1 - after) / len(two))
    z = np.where(se > 0, joint / np.where(se > 0, se, 1), np.where(joint < 0, -np.inf, 0.0))
    p = min(1.0, float(ndtr(z.min())) * len(joint))
    estimate = _difference(one, two, "list experiment, difference of means")
    return ListExperiment(
        estimate,
        ModelTest(float(z.min()), p, "no combination has a negative share"),
        float(np.mean(two == 0)),
        float(np.mean(two == most + 1)),
        joint[: most + 1],
    )


def item_sum(short: Any, long: Any) -> Estimate:
    """The mean of a sensitive quantity, from sums that people told without and with it.

    >>> item_sum([3.0, 5.0, 4.0], [9.0, 7.0, 8.0]).value
    4.0
    """
    one, two = _numbers(short, "short"), _numbers(long, "long")
    return _difference(one, two, "item sum, difference of means")


def _difference(short: Array, long: Array, method: str) -> Estimate:
    """The difference of two independent means, with Welch's degrees of freedom, rounded down."""
    parts = np.array([long.var(ddof=1) / len(long), short.var(ddof=1) / len(short)])
    value, se = float(long.mean() - short.mean()), float(np.sqrt(parts.sum()))
    spread = float((parts**2 / (np.array([len(long), len(short)]) - 1)).sum())
    df = int(parts.sum() ** 2 / spread) if spread > 0 else len(long) + len(short) - 2
    return Estimate(
        value=value,
        se=se,
        labels=("difference",),
        cov=np.array([[se**2]]),
        n=len(short) + len(long),
        loss=None,
        covers="sampling",
        method=method,
        notes=("no epsilon: who tells the least or the most possible has told the truth",),
        basis=Student(value, se, df),
    )


def _numbers(values: Any, name: str) -> Array:
    found = floats(values.to_numpy() if hasattr(values, "to_numpy") else list(values))
    if found is None:
        refuse(f"`{name}` must be numbers", "something else", "they are averaged", TypeError)
    if found.ndim != 1 or len(found) < 2:
        refuse(
            f"`{name}` must hold at least two answers", f"shape {found.shape}", "there would be no variance"
        )
    if bad := int(np.count_nonzero(~np.isfinite(found))):
        refuse(
            f"`{name}` must be finite",
            f"{bad} of {len(found)} that are not",
            "leave missing answers out first",
        )
    return found


def _counts(values: Any, most: int, name: str) -> Array:
    found = _numbers(values, name)
    if bad := int(np.count_nonzero((found < 0) | (found > most) | (found != np.floor(found)))):
        refuse(
            f"`{name}` must be whole numbers from 0 to {most}",
            f"{bad} of {len(found)} that are not",
            "they count items",
        )
    return found
