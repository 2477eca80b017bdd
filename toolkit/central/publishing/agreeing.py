"""`AgreeingTables`: several noisy tables of counts at one cost, made consistent by least squares."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import combinations
from math import prod
from typing import Any

import numpy as np

from toolkit.central.gaussian import Gaussian
from toolkit.central.laplace import Laplace
from toolkit.central.release import paid
from toolkit.central.sensitivity import root_up
from toolkit.core.arrays import Array
from toolkit.core.checks import check_integer, reject
from toolkit.core.covers import NOISE
from toolkit.core.estimate import Estimate
from toolkit.core.inference.intervals import Normal
from toolkit.core.loss import Pure, Zcdp
from toolkit.core.randomness import Rng, check_rng

# Weighted least squares over the margins of several tables of the same people, without a solver.
#
# A table is a sum of effects: the total, main effects of the axes, interactions of pairs of axes, and so on. The effect
# of a set of axes is the table over them, minus all averages along any of them. If the noise has equal variance in all
# cells of a table, it is uncorrelated between the effects. So least squares is a weighted mean of each effect over the
# tables that contain it (Xiao, He, Zhang and Kifer 2023, ResidualPlanner, in a symmetric form of its residual basis).


@dataclass(frozen=True)
class Margins:
    """Tables over subsets of several axes, each with one noise variance for all cells; fractions stay exact.

    `sizes` are the numbers of keys of the axes, `tables` the axes of each table in increasing order, () for the total,
    and `variances` the noise variances of the tables.
    """

    sizes: tuple[int, ...]
    tables: tuple[tuple[int, ...], ...]
    variances: tuple[Any, ...]

    def __post_init__(self) -> None:
        for size in self.sizes:
            check_integer(size, "sizes")
        valid = all(
            list(axes) == sorted(set(axes)) and set(axes) <= set(range(len(self.sizes))) for axes in self.tables
        )
        if not self.tables or not valid or len(set(self.tables)) < len(self.tables):
            reject("`tables` must be distinct sets of axes", self.tables, "give each table once, as increasing axes")
        if len(self.variances) != len(self.tables) or not all(variance > 0 for variance in self.variances):
            reject(
                "`variances` must be one number above 0 per table", self.variances, "they are the weights of the tables"
            )

    @cached_property
    def effects(self) -> dict[tuple[int, ...], Any]:
        """The variance of the effect of every set of axes; the information of all tables adds up."""
        information: dict[tuple[int, ...], Any] = {}
        for axes, variance in zip(self.tables, self.variances, strict=True):
            for part in _subsets(axes):
                information[part] = information.get(part, 0) + 1 / (variance * self._cells(axes, part))
        return {part: 1 / amount for part, amount in information.items()}

    def agreed(self, tables: Sequence[Any]) -> list[Any]:
        """Return the least-squares estimates of noisy tables, which are unbiased margins of one table."""
        effects: dict[tuple[int, ...], Any] = {}
        for axes, variance, table in zip(self.tables, self.variances, tables, strict=True):
            for part in _subsets(axes):
                weight = self.effects[part] / (variance * self._cells(axes, part))
                effects[part] = effects.get(part, 0) + weight * _effect(table, axes, part)
        return [self._rebuilt(axes, effects) for axes in self.tables]

    def cell_variance(self, axes: tuple[int, ...]) -> Any:
        """Return the variance of each cell of a table after least squares."""
        total: Any = 0
        for part in _subsets(axes):
            share = self.effects[part]
            for axis in axes:
                size = self.sizes[axis]
                share = share * (size - 1) / size if axis in part else share / size**2
            total = total + share
        return total

    def covariance(self) -> Array:
        return np.block([[self._block(first, second) for second in self.tables] for first in self.tables])

    def _block(self, first: tuple[int, ...], second: tuple[int, ...]) -> Array:
        """Return the covariance of the cells of two tables, a sum of Kronecker products over their common effects."""
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
        """Return the number of cells of a table that add up to one cell of a margin."""
        return prod(self.sizes[axis] for axis in axes if axis not in part)


def shares_of(cells: Sequence[int], power: float) -> list[int]:
    """Return integer weights proportional to cells**power, by which a budget is divided among tables.

    The total variance is smallest for power 1/3 with epsilon (variance 1 / epsilon**2) and 1/2 with rho (1 / rho).
    """
    return [round(number**power * 2**20) for number in cells]


def _effect(table: object, axes: tuple[int, ...], part: tuple[int, ...]) -> Any:
    """Return the effect of some axes: the sum over the other axes, minus the mean along each of these axes."""
    effect = np.asarray(table).sum(axis=tuple(axis_index for axis_index, axis in enumerate(axes) if axis not in part))
    for axis_index in range(len(part)):
        effect = effect - effect.sum(axis=axis_index, keepdims=True) / effect.shape[axis_index]
    return effect


def _subsets(axes: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
    for number in range(len(axes) + 1):
        yield from combinations(axes, number)


_MOST_COVARIANCES = 2000
"""The largest number of cells for which all covariances are computed (32 megabytes)."""


@dataclass(frozen=True)
class AgreeingTables:
    """Integer noise on every table, followed by least squares over all tables; larger tables get more of the budget.

    Pure(epsilon) gives Laplace noise, with a budget proportional to cells**(1/3), and Zcdp(rho) Gaussian noise, with
    cells**(1/2). The result is unbiased and the tables agree where they overlap; cells may be negative and are not
    whole numbers. `sizes` and `tables` are those of `Margins`. The sensitivity of one table is `moved` in the L1 norm
    and `moved_square` in the squared L2 norm.
    """

    loss: Pure | Zcdp
    sizes: tuple[int, ...]
    tables: tuple[tuple[int, ...], ...]
    moved: int
    moved_square: int

    def __post_init__(self) -> None:
        if not isinstance(self.loss, Pure | Zcdp):
            reject(
                "`loss` must be Pure or Zcdp", type(self.loss).__name__, "the kind of noise depends on it", TypeError
            )
        check_integer(self.moved, "moved")
        check_integer(self.moved_square, "moved_square")
        Margins(self.sizes, self.tables, (1,) * len(self.tables))  # checks sizes and tables

    @cached_property
    def cells(self) -> tuple[int, ...]:
        return tuple(prod(self.sizes[axis] for axis in axes) for axes in self.tables)

    @cached_property
    def noises(self) -> tuple[Laplace | Gaussian, ...]:
        amount = Fraction(self.loss.amount)
        weights = shares_of(self.cells, 1 / 3 if isinstance(self.loss, Pure) else 1 / 2)
        parts = [amount * weight / sum(weights) for weight in weights]
        if isinstance(self.loss, Pure):
            return tuple(Laplace.for_epsilon(part, sensitivity=self.moved) for part in parts)
        return tuple(Gaussian.for_rho(part, sensitivity=root_up(self.moved_square)) for part in parts)

    @property
    def zcdp(self) -> Zcdp:
        """The sum of the zCDP costs of the tables, which is less than epsilon**2 / 2 of the total epsilon."""
        if isinstance(self.loss, Zcdp):
            return self.loss
        return Zcdp(sum(Fraction(noise.loss.amount) ** 2 for noise in self.noises) / 2)

    @cached_property
    def margins(self) -> Margins:
        return Margins(self.sizes, self.tables, tuple(noise._integer_law.sd**2 for noise in self.noises))

    @cached_property
    def covariance(self) -> Array | None:
        """The covariance of all cells, or None if there are too many cells."""
        return self.margins.covariance() if sum(self.cells) <= _MOST_COVARIANCES else None

    def release(self, tables: Sequence[Any], labels: Sequence[Any], rng: Rng = None) -> Estimate:
        """Release all tables, with one entry per cell, table after table."""
        source = check_rng(rng)
        noisy = [
            np.asarray(noise.release(np.ravel(table).astype(np.int64), rng=source).value)
            .astype(np.float64)
            .reshape([self.sizes[axis] for axis in axes])
            for noise, axes, table in zip(self.noises, self.tables, tables, strict=True)
        ]
        value = np.concatenate([np.ravel(table) for table in self.margins.agreed(noisy)])
        spreads = [self.margins.cell_variance(axes) ** 0.5 for axes in self.tables]
        se = np.repeat(spreads, self.cells)
        return Estimate(
            value=value,
            se=se,
            labels=tuple(labels),
            cov=self.covariance,
            n=None,
            covers=NOISE,
            method=f"{type(self.noises[0]).__name__}, least squares",
            basis=Normal(value, se),
            **paid(self.loss, source, self.note),
        )

    def _describe(self) -> dict[str, Any]:
        name = type(self.noises[0]).__name__
        return {
            "mechanism": type(self).__name__,
            "words": f"{name} noise in every table, before they were made to agree",
            "tables": [noise._describe_noise() | {"loss": str(noise.loss)} for noise in self.noises],
        }

    @property
    def note(self) -> str:
        law = (
            "intervals take sums of Laplace noise as normal, which is approximate"
            if isinstance(self.loss, Pure)
            else "intervals are those of the normal law, exact but for the rounding of the noise"
        )
        return f"the tables agree and are unbiased; cells may be negative; {law}"
