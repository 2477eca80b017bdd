"""Several tables of the same people that agree: weighted least squares over their margins, without a solver.

A table splits into effects: the total, what each axis adds, what pairs of axes add, and so on. The effect of
a set of axes is what remains of the table over them after every average over one of them is taken out. Noise
of equal variance in all cells of a table is uncorrelated between its effects, so that least squares is a
weighted mean of each effect over the tables that show it (Xiao, He, Zhang and Kifer 2023, ResidualPlanner, of
whose residual basis this is the symmetric form).
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from math import prod
from typing import Any

import numpy as np

from toolkit.core.arrays import Array
from toolkit.core.checks import refuse, whole


@dataclass(frozen=True)
class Margins:
    """Tables over some of several axes, each with one variance of the noise in its cells.

    The functions take and return whatever numbers the tables and variances hold: with fractions they are
    exact.

    Parameters
    ----------
    sizes : how many keys each axis has.
    tables : the axes of each table, increasing; () is the total alone.
    variances : of the noise in every cell of a table.

    >>> cells, rows = np.array([[1.0, 2.0], [3.0, 4.0]]), np.array([6.0, 7.0])
    >>> both = Margins((2, 2), ((0, 1), (0,)), (1.0, 2.0))
    >>> [table.tolist() for table in both.agreed([cells, rows])]
    [[[1.75, 2.75], [3.0, 4.0]], [4.5, 7.0]]
    """

    sizes: tuple[int, ...]
    tables: tuple[tuple[int, ...], ...]
    variances: tuple[Any, ...]

    def __post_init__(self) -> None:
        for size in self.sizes:
            whole(size, "sizes")
        known = all(
            list(axes) == sorted(set(axes)) and set(axes) <= set(range(len(self.sizes))) for axes in self.tables
        )
        if not self.tables or not known or len(set(self.tables)) < len(self.tables):
            refuse("`tables` must be distinct sets of axes", self.tables, "each is one table")
        if len(self.variances) != len(self.tables) or not all(variance > 0 for variance in self.variances):
            refuse("`variances` must be one number above 0 a table", self.variances, "they weigh the tables")

    @cached_property
    def effects(self) -> dict[tuple[int, ...], Any]:
        """For every set of axes that some table has, the variance of its effect: information adds up over
        tables.
        """
        found: dict[tuple[int, ...], Any] = {}
        for axes, variance in zip(self.tables, self.variances, strict=True):
            for part in _subsets(axes):
                found[part] = found.get(part, 0) + 1 / (variance * self._cells(axes, part))
        return {part: 1 / information for part, information in found.items()}

    def agreed(self, tables: Sequence[Any]) -> list[Any]:
        """The tables that least squares makes of noisy ones: each is a margin of the same table of counts,
        and unbiased.
        """
        effects: dict[tuple[int, ...], Any] = {}
        for axes, variance, table in zip(self.tables, self.variances, tables, strict=True):
            for part in _subsets(axes):
                weight = self.effects[part] / (variance * self._cells(axes, part))
                effects[part] = effects.get(part, 0) + weight * _effect(table, axes, part)
        return [self._rebuilt(axes, effects) for axes in self.tables]

    def cell_variance(self, axes: tuple[int, ...]) -> Any:
        """Of every cell of a table, after least squares."""
        total: Any = 0
        for part in _subsets(axes):
            share = self.effects[part]
            for axis in axes:
                size = self.sizes[axis]
                share = share * (size - 1) / size if axis in part else share / size**2
            total = total + share
        return total

    def covariance(self) -> Array:
        """Of all cells of all tables, one after the other."""
        return np.block([[self._block(first, second) for second in self.tables] for first in self.tables])

    def _block(self, first: tuple[int, ...], second: tuple[int, ...]) -> Array:
        """Of the cells of one table with those of another: a product over axes, for each effect that both
        have.
        """
        shape = prod(self.sizes[axis] for axis in first), prod(self.sizes[axis] for axis in second)
        total = np.zeros(shape)
        for part in _subsets(tuple(axis for axis in first if axis in second)):
            block = np.array([[float(self.effects[part])]])
            for axis in range(len(self.sizes)):
                block = np.kron(block, self._factor(axis, axis in first, axis in second, axis in part))
            total += block
        return total

    def _factor(self, axis: int, in_first: bool, in_second: bool, in_part: bool) -> Array:
        size = self.sizes[axis]
        rows, columns = size if in_first else 1, size if in_second else 1
        if in_part:
            return np.eye(size) - 1 / size
        return np.full((rows, columns), 1 / (rows * columns))

    def _rebuilt(self, axes: tuple[int, ...], effects: dict[tuple[int, ...], Any]) -> Any:
        total: Any = 0
        for part in _subsets(axes):
            shape = [self.sizes[axis] if axis in part else 1 for axis in axes]
            total = total + np.reshape(effects[part], shape) / self._cells(axes, part)
        return np.broadcast_to(total, [self.sizes[axis] for axis in axes])

    def _cells(self, axes: tuple[int, ...], part: tuple[int, ...]) -> int:
        """How many cells of a table are added up for one of a part of its axes."""
        return prod(self.sizes[axis] for axis in axes if axis not in part)


def shares_of(cells: Sequence[int], power: float) -> list[int]:
    """Whole weights in proportion to cells**power: by what a budget is split among tables.

    The least total variance has power 1/3 in epsilon, with variances in proportion to 1 / epsilon**2, and
    power 1/2 in rho, with variances in proportion to 1 / rho.

    >>> shares_of([1, 4, 100], 0.5)
    [1048576, 2097152, 10485760]
    """
    return [round(number**power * 2**20) for number in cells]


def _effect(table: Any, axes: tuple[int, ...], part: tuple[int, ...]) -> Any:
    """Summed over the other axes, with the mean along every axis of the part taken out."""
    found = np.asarray(table)
    for place in reversed(range(len(axes))):
        if axes[place] not in part:
            found = np.asarray(found.sum(axis=place))
    for place in range(len(part)):
        found = found - found.sum(axis=place, keepdims=True) / found.shape[place]
    return found


def _subsets(axes: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
    for number in range(len(axes) + 1):
        yield from combinations(axes, number)
