"""`AgreeingTables`: several tables of counts with noise, one cost, made to agree by least squares."""

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
from toolkit.core.checks import reject, whole
from toolkit.core.covers import NOISE
from toolkit.core.estimate import Estimate
from toolkit.core.inference.intervals import Normal
from toolkit.core.loss import Pure, Zcdp
from toolkit.core.randomness import Rng, check_rng

# Several tables of the same people that agree: weighted least squares over their margins, without a solver.
#
# A table splits into effects: the total, what each axis adds, what pairs of axes add, and so on. The effect of a set
# of axes is what remains of the table over them after every average over one of them is taken out. Noise of equal
# variance in all cells of a table is uncorrelated between its effects, so that least squares is a weighted mean of
# each effect over the tables that show it (Xiao, He, Zhang and Kifer 2023, ResidualPlanner, of whose residual basis
# this is the symmetric form).


@dataclass(frozen=True)
class Margins:
    """Tables over some of several axes, each with one variance of the noise in its cells; with fractions all is exact.

    `sizes`: keys of each axis; `tables`: the axes of each table, increasing, () for the total; `variances`: one per
    table.
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
            reject("`tables` must be distinct sets of axes", self.tables, "each is one table")
        if len(self.variances) != len(self.tables) or not all(variance > 0 for variance in self.variances):
            reject("`variances` must be one number above 0 per table", self.variances, "they weigh the tables")

    @cached_property
    def effects(self) -> dict[tuple[int, ...], Any]:
        """The variance of the effect of every set of axes in some table: information adds up over tables."""
        information: dict[tuple[int, ...], Any] = {}
        for axes, variance in zip(self.tables, self.variances, strict=True):
            for part in _subsets(axes):
                information[part] = information.get(part, 0) + 1 / (variance * self._cells(axes, part))
        return {part: 1 / amount for part, amount in information.items()}

    def agreed(self, tables: Sequence[Any]) -> list[Any]:
        """The tables that least squares makes of noisy ones: margins of one table of counts, and unbiased."""
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
        return np.block([[self._block(first, second) for second in self.tables] for first in self.tables])

    def _block(self, first: tuple[int, ...], second: tuple[int, ...]) -> Array:
        """Of the cells of two tables: a product over axes, for each effect that both have."""
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
    """Whole weights in proportion to cells**power, by which a budget is split among tables. The least total variance
    has power 1/3 in epsilon (variances as 1 / epsilon**2), and 1/2 in rho (variances as 1 / rho).
    """
    return [round(number**power * 2**20) for number in cells]


def _effect(table: object, axes: tuple[int, ...], part: tuple[int, ...]) -> Any:
    """Summed over the other axes, with the mean along every axis of the part taken out."""
    left = np.asarray(table).sum(axis=tuple(place for place, axis in enumerate(axes) if axis not in part))
    for place in range(len(part)):
        left = left - left.sum(axis=place, keepdims=True) / left.shape[place]
    return left


def _subsets(axes: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
    for number in range(len(axes) + 1):
        yield from combinations(axes, number)


_MOST_COVARIANCES = 2000
"""Cells up to which the covariances of all are told: 32 megabytes."""


@dataclass(frozen=True)
class AgreeingTables:
    """Whole noise on every table, more of the budget for larger ones, and least squares over all of them.

    Pure(epsilon) buys Laplace noise, split in proportion to cells**(1/3); Zcdp(rho) buys Gaussian noise, in proportion
    to cells**(1/2). Least squares changes no expectation: what comes out is unbiased, its tables agree where they
    overlap, its cells may be negative, and they are no longer whole. `sizes` and `tables` are those of `Margins`; one
    person can move one table by `moved` in the L1 norm, and by `moved_square` in the L2 norm, squared.
    """

    loss: Pure | Zcdp
    sizes: tuple[int, ...]
    tables: tuple[tuple[int, ...], ...]
    moved: int
    moved_square: int

    def __post_init__(self) -> None:
        if not isinstance(self.loss, Pure | Zcdp):
            reject("`loss` must be Pure or Zcdp", type(self.loss).__name__, "they buy the noise", TypeError)
        whole(self.moved, "moved")
        whole(self.moved_square, "moved_square")
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
        """The costs of the tables added up: less than epsilon**2 / 2 of their sum."""
        if isinstance(self.loss, Zcdp):
            return self.loss
        return Zcdp(sum(Fraction(noise.loss.amount) ** 2 for noise in self.noises) / 2)

    @cached_property
    def margins(self) -> Margins:
        return Margins(self.sizes, self.tables, tuple(noise._integer_law.sd**2 for noise in self.noises))

    @cached_property
    def covariance(self) -> Array | None:
        """Of all cells; None where it would fill the memory."""
        return self.margins.covariance() if sum(self.cells) <= _MOST_COVARIANCES else None

    def release(self, tables: Sequence[Any], labels: Sequence[Any], rng: Rng = None) -> Estimate:
        """One entry per cell, table after table."""
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
