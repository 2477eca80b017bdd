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
class ConsistentTable:
    """A table consistent with the published counts, and bounds on each cell over all consistent tables.

    Parameters
    ----------
    guess : Counts
        A consistent table.
    low : Counts
        The smallest count of each cell.
    high : Counts
        The largest count of each cell.

    Examples
    --------
    >>> ConsistentTable(np.array([[2]]), np.array([[1]]), np.array([[3]])).high.tolist()
    [[3]]
    """

    guess: Counts
    low: Counts
    high: Counts

    @property
    def is_certain(self) -> npt.NDArray[np.bool_]:
        """A mask of the cells that have the same count in every consistent table."""
        return np.asarray(self.low == self.high)


def marginals_of(table: ArrayLike, axes: list[tuple[int, ...]]) -> dict[tuple[int, ...], Counts]:
    """Compute the marginal counts for each set of columns, as a statistical office would publish them.

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


def from_marginals(published: Marginals, shape: tuple[int, ...], *, tolerance: float = 0.0) -> ConsistentTable:
    """Reconstruct the table of people from published counts.

    The guess has the smallest sum of absolute deviations from the counts. The bounds `low` and `high` are the extremes
    over all tables within the tolerance. If there is no such table, because noisy counts contradict each other, no cell
    is certain.

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
    ConsistentTable
        The guess, and bounds on each cell.

    References
    ----------
    J. Abowd and M. Hawes, Confidentiality protection in the 2020 US census (2023).

    Examples
    --------
    >>> block = from_marginals({(0,): [1, 0], (1,): [0, 1]}, (2, 2))
    >>> block.guess.tolist(), bool(block.is_certain.all())
    ([[0, 1], [0, 0]], True)
    """
    rows, counts = _linear_system(published, shape)
    guess = _closest_table(rows, counts)
    low = np.zeros(rows.shape[1], dtype=np.int64)
    high = np.full(rows.shape[1], int(max(counts.max(), guess.max())), dtype=np.int64)
    for chunk in chunks(rows.shape[1], 1, "bounding cells"):
        cell_range = _cell_range(rows, counts, chunk.start, tolerance)
        if cell_range is None:
            break
        low[chunk.start], high[chunk.start] = cell_range
    return ConsistentTable(guess.reshape(shape), low.reshape(shape), high.reshape(shape))


def _linear_system(published: Marginals, shape: tuple[int, ...]) -> tuple[Array, Array]:
    """Return the published counts as a linear system; each row marks the cells that are added up in one count."""
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


def _closest_table(rows: Array, totals: Array) -> Counts:
    """Return the table of non-negative integers that has the smallest sum of deviations from the published counts."""
    from scipy.optimize import Bounds, LinearConstraint, milp

    n_counts, n_cells = rows.shape
    identity = np.identity(n_counts)
    solution: Any = milp(
        np.concatenate([np.zeros(n_cells), np.ones(2 * n_counts)]),
        constraints=LinearConstraint(np.hstack([rows, identity, -identity]), totals, totals),
        integrality=np.concatenate([np.ones(n_cells), np.zeros(2 * n_counts)]),
        bounds=Bounds(0, np.inf),
    )
    return np.asarray(np.round(solution.x[:n_cells]), dtype=np.int64)


def _cell_range(rows: Array, totals: Array, cell: int, tolerance: float) -> tuple[int, int] | None:
    """Return the smallest and the largest count of a cell, or None if no table is within the tolerance."""
    from scipy.optimize import Bounds, LinearConstraint, milp

    goal, cell_range = np.zeros(rows.shape[1]), []
    for sign in (1.0, -1.0):
        goal[cell] = sign
        limits = LinearConstraint(rows, totals - tolerance, totals + tolerance)
        solution: Any = milp(goal, constraints=limits, integrality=np.ones(rows.shape[1]), bounds=Bounds(0, np.inf))
        if solution.x is None:
            return None
        cell_range.append(round(solution.x[cell]))
    return cell_range[0], cell_range[1]
