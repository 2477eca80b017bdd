"""Reconstruction of a small census block from its published tables, by integer programming."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from toolkit.core.arrays import Array, ArrayLike, Counts
from toolkit.core.checks import float_array, reject
from toolkit.core.extras import chunks

Marginals = Mapping[tuple[int, ...], ArrayLike]


@dataclass(frozen=True, eq=False)
class FittingTable:
    """A table that fits the published counts, and bounds of each cell over all such tables.

    Parameters
    ----------
    guess : Counts
        A table that fits.
    low : Counts
        The smallest count of each cell.
    high : Counts
        The largest count of each cell.

    Examples
    --------
    >>> FittingTable(np.array([[2]]), np.array([[1]]), np.array([[3]])).high.tolist()
    [[3]]
    """

    guess: Counts
    low: Counts
    high: Counts

    @property
    def certain(self) -> npt.NDArray[np.bool_]:
        """The cells with the same count in every table that fits."""
        return np.asarray(self.low == self.high)


def marginals_of(table: ArrayLike, axes: list[tuple[int, ...]]) -> dict[tuple[int, ...], Counts]:
    """Compute the counts by each set of columns, as a statistical office would publish them.

    Parameters
    ----------
    table : array-like
        The true table.
    axes : list of tuple
        Sets of columns.

    Returns
    -------
    dict
        A mapping from sets of columns to counts.

    Examples
    --------
    >>> marginals_of([[1, 2], [3, 4]], [(0,), (1,)])
    {(0,): array([3, 7]), (1,): array([4, 6])}
    """
    counts = float_array(table, "table").astype(np.int64)
    return {axis: counts.sum(axis=tuple(i for i in range(counts.ndim) if i not in axis)) for axis in axes}


def from_marginals(published: Marginals, shape: tuple[int, ...], *, tolerance: float = 0.0) -> FittingTable:
    """Find the table of people from published counts.

    The guess has the smallest sum of deviations, and `low` and `high` are the extremes over all tables within the
    tolerance. If there is no such table, because noisy counts contradict each other, nothing is certain.

    Parameters
    ----------
    published : mapping
        A mapping from sets of axes, such as (0, 2), to arrays of counts.
    shape : tuple of int
        The number of values of each column.
    tolerance : float
        The largest error of a published count.

    Returns
    -------
    FittingTable
        The guess, and bounds of each cell.

    References
    ----------
    J. Abowd and M. Hawes, Confidentiality protection in the 2020 US census (2023).

    Examples
    --------
    >>> block = from_marginals({(0,): [1, 0], (1,): [0, 1]}, (2, 2))
    >>> block.guess.tolist(), bool(block.certain.all())
    ([[0, 1], [0, 0]], True)
    """
    rows, counts = _system(published, shape)
    guess = _closest(rows, counts)
    low = np.zeros(rows.shape[1], dtype=np.int64)
    high = np.full(rows.shape[1], int(max(counts.max(), guess.max())), dtype=np.int64)
    for part in chunks(rows.shape[1], 1, "bounding cells"):
        ends = _ends(rows, counts, part.start, tolerance)
        if ends is None:
            break
        low[part.start], high[part.start] = ends
    return FittingTable(guess.reshape(shape), low.reshape(shape), high.reshape(shape))


def _system(published: Marginals, shape: tuple[int, ...]) -> tuple[Array, Array]:
    """Return the linear system of the published counts: a row per count marks the cells that it adds up."""
    index, rows, totals = np.indices(shape).reshape(len(shape), -1), [], []
    for columns, counts in published.items():
        array = float_array(counts, "published")
        if array.shape != tuple(shape[i] for i in columns):
            reject(
                "each of `published` must have the shape of its axes",
                array.shape,
                f"check the axes {columns} and `shape`",
            )
        for cell in np.ndindex(array.shape):
            rows.append(np.all([index[axis] == value for axis, value in zip(columns, cell, strict=True)], axis=0))
            totals.append(array[cell])
    return np.array(rows, dtype=float), np.array(totals)


def _closest(rows: Array, totals: Array) -> Counts:
    """Return the non-negative integer counts with the smallest sum of deviations from the published ones."""
    from scipy.optimize import Bounds, LinearConstraint, milp

    number, cells = rows.shape
    eye = np.eye(number)
    solution: Any = milp(
        np.concatenate([np.zeros(cells), np.ones(2 * number)]),
        constraints=LinearConstraint(np.hstack([rows, eye, -eye]), totals, totals),
        integrality=np.concatenate([np.ones(cells), np.zeros(2 * number)]),
        bounds=Bounds(0, np.inf),
    )
    return np.asarray(np.round(solution.x[:cells]), dtype=np.int64)


def _ends(rows: Array, totals: Array, cell: int, tolerance: float) -> tuple[int, int] | None:
    """Return the smallest and largest count of a cell, or None if no table fits."""
    from scipy.optimize import Bounds, LinearConstraint, milp

    goal, ends = np.zeros(rows.shape[1]), []
    for sign in (1.0, -1.0):
        goal[cell] = sign
        limits = LinearConstraint(rows, totals - tolerance, totals + tolerance)
        solution: Any = milp(goal, constraints=limits, integrality=np.ones(rows.shape[1]), bounds=Bounds(0, np.inf))
        if solution.x is None:
            return None
        ends.append(round(solution.x[cell]))
    return ends[0], ends[1]
