"""Counts made presentable: not negative, whole, with a given total. For display: what comes out is biased."""

from typing import Any

import numpy as np

from toolkit.core.arrays import Array, Steps
from toolkit.core.checks import refuse, whole

TIDIED = "tidied for display: biased, do not add up; small counts lose and empty cells gain; cite the raw table"
"""The note of a table that is not to be computed with."""


def norm_sub(values: Array, total: int) -> Array:
    """All shifted by the same amount and cut at 0, so that they add up to the total: the nearest such table.

    The shift is found from the sorted values: the largest k keep more than 0, where k is the largest number
    for which the k-th largest value is above (their sum - total) / k.

    >>> norm_sub(np.array([5.0, 1.0, -3.0]), 4)
    array([4., 0., 0.])

    References
    ----------
    Wang, Lopuhaä-Zwakenberg, Li, Skoric and Li (2020), Locally differentially private frequency estimation
    with consistency.
    """
    if total == 0:
        return np.zeros(len(values))
    ordered = np.sort(values)[::-1]
    shifts = (np.cumsum(ordered) - total) / np.arange(1, len(values) + 1)
    shift = shifts[np.flatnonzero(ordered > shifts)[-1]]
    return np.asarray(np.maximum(values - shift, 0))


def largest_remainders(values: Array, total: int) -> Steps:
    """Whole numbers that add up to the total, each within 1 of its value; among equal remainders the first.

    >>> largest_remainders(np.array([1.5, 1.25, 1.25]), 4)
    array([2, 1, 1])
    """
    found = np.floor(values).astype(np.int64)
    order = np.argsort(-(values - found), kind="stable")
    found[order[: total - int(found.sum())]] += 1
    return found


def tidied(values: Any, total: int | None) -> Steps:
    """Norm-sub, then largest remainders; without a total the sum of the values, rounded and at least 0."""
    table = np.asarray(values, dtype=np.float64)
    if table.ndim == 0 or not np.all(np.isfinite(table)):
        refuse("only a table of numbers can be tidied", "a single number, or NaN", "its cells share a total")
    known = max(0, round(float(table.sum()))) if total is None else whole(total, "total", least=0)
    return largest_remainders(norm_sub(table, known), known)
