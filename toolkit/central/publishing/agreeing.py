"""`AgreeingTables`: several noisy tables of counts for a single cost, made consistent by least squares."""

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
from toolkit.central.release import loss_and_notes
from toolkit.central.sensitivity import sqrt_rounded_up
from toolkit.core.arrays import Array
from toolkit.core.checks import check_integer, reject
from toolkit.core.covers import NOISE
from toolkit.core.estimate import Estimate
from toolkit.core.inference.intervals import Normal
from toolkit.core.loss import Pure, Zcdp
from toolkit.core.randomness import Rng, check_rng

# The margins of several tables of the same people are combined by weighted least squares, without a solver.
#
# A table is a sum of effects: the total, main effects of the axes, interactions of pairs of axes, and so on. The effect
# of a set of axes is the table over these axes, centered along each axis. If the noise has the same variance in all
# cells of a table, the noise of different effects is uncorrelated. So least squares reduces to a weighted mean of each
# effect over the tables that contain it. The method is ResidualPlanner (Xiao, He, Zhang and Kifer 2023) with a
# symmetric form of the residual basis.


@dataclass(frozen=True)
class Margins:
    """Tables over subsets of several axes, each with one noise variance for all its cells; fractions remain exact.

    `axis_sizes` holds the number of keys of each axis. `table_axes` holds the axes of each table in increasing order,
    with () for the total, and `variances` the noise variance of each table.
    """

    axis_sizes: tuple[int, ...]
    table_axes: tuple[tuple[int, ...], ...]
    variances: tuple[Any, ...]

    def __post_init__(self) -> None:
        for size in self.axis_sizes:
            check_integer(size, "axis_sizes")
        valid = all(
            list(axes) == sorted(set(axes)) and set(axes) <= set(range(len(self.axis_sizes)))
            for axes in self.table_axes
        )
        if not self.table_axes or not valid or len(set(self.table_axes)) < len(self.table_axes):
            reject(
                "`table_axes` must be distinct sets of axes",
                self.table_axes,
                "list each table once, with its axes in increasing order",
            )
        if len(self.variances) != len(self.table_axes) or not all(variance > 0 for variance in self.variances):
            reject("`variances` must have one positive number per table", self.variances, "they determine the weights")

    @cached_property
    def effect_variances(self) -> dict[tuple[int, ...], Any]:
        """The variance of the combined estimate of each effect, whose information is the sum over the tables."""
        information: dict[tuple[int, ...], Any] = {}
        for axes, variance in zip(self.table_axes, self.variances, strict=True):
            for effect_axes in _subsets(axes):
                information[effect_axes] = information.get(effect_axes, 0) + 1 / (
                    variance * self._cells_per_margin_cell(axes, effect_axes)
                )
        return {effect_axes: 1 / amount for effect_axes, amount in information.items()}

    def reconcile(self, noisy_tables: Sequence[Any]) -> list[Any]:
        """Return the unbiased least-squares estimates of noisy tables, which are consistent with one joint table."""
        effects: dict[tuple[int, ...], Any] = {}
        for axes, variance, table in zip(self.table_axes, self.variances, noisy_tables, strict=True):
            for effect_axes in _subsets(axes):
                weight = self.effect_variances[effect_axes] / (
                    variance * self._cells_per_margin_cell(axes, effect_axes)
                )
                effects[effect_axes] = effects.get(effect_axes, 0) + weight * _compute_effect(table, axes, effect_axes)
        return [self._rebuild_table(axes, effects) for axes in self.table_axes]

    def cell_variance(self, axes: tuple[int, ...]) -> Any:
        """Return the variance of each cell of a table after least squares."""
        total: Any = 0
        for effect_axes in _subsets(axes):
            share = self.effect_variances[effect_axes]
            for axis in axes:
                size = self.axis_sizes[axis]
                share = share * (size - 1) / size if axis in effect_axes else share / size**2
            total = total + share
        return total

    def covariance(self) -> Array:
        return np.block(
            [[self._covariance_block(first, second) for second in self.table_axes] for first in self.table_axes]
        )

    def _covariance_block(self, first_axes: tuple[int, ...], second_axes: tuple[int, ...]) -> Array:
        """Return the covariances between the cells of two tables: a sum of Kronecker products over common effects."""
        shape = prod(self.axis_sizes[axis] for axis in first_axes), prod(self.axis_sizes[axis] for axis in second_axes)
        total = np.zeros(shape)
        for effect_axes in _subsets(tuple(axis for axis in first_axes if axis in second_axes)):
            block = np.array([[float(self.effect_variances[effect_axes])]])
            for axis in range(len(self.axis_sizes)):
                block = np.kron(
                    block, self._kronecker_factor(axis, axis in first_axes, axis in second_axes, axis in effect_axes)
                )
            total += block
        return total

    def _kronecker_factor(self, axis: int, in_first: bool, in_second: bool, in_effect: bool) -> Array:
        size = self.axis_sizes[axis]
        rows, columns = size if in_first else 1, size if in_second else 1
        if in_effect:
            return np.eye(size) - 1 / size
        return np.full((rows, columns), 1 / (rows * columns))

    def _rebuild_table(self, axes: tuple[int, ...], effects: dict[tuple[int, ...], Any]) -> Any:
        total: Any = 0
        for effect_axes in _subsets(axes):
            shape = [self.axis_sizes[axis] if axis in effect_axes else 1 for axis in axes]
            total = total + np.reshape(effects[effect_axes], shape) / self._cells_per_margin_cell(axes, effect_axes)
        return np.broadcast_to(total, [self.axis_sizes[axis] for axis in axes])

    def _cells_per_margin_cell(self, axes: tuple[int, ...], effect_axes: tuple[int, ...]) -> int:
        """Return the number of cells of a table that add up to one cell of the margin over `effect_axes`."""
        return prod(self.axis_sizes[axis] for axis in axes if axis not in effect_axes)


def budget_weights(cell_counts: Sequence[int], power: float) -> list[int]:
    """Return integer weights, proportional to cell_counts**power, by which a budget is divided among tables.

    The total variance is smallest with power 1/3 for epsilon, because the variance is proportional to 1 / epsilon**2,
    and with power 1/2 for rho, because the variance is proportional to 1 / rho.
    """
    return [round(number**power * 2**20) for number in cell_counts]


def _compute_effect(table: object, axes: tuple[int, ...], effect_axes: tuple[int, ...]) -> Any:
    """Return the effect of `effect_axes`: the sum over the other axes, centered along each axis of the effect."""
    effect = np.asarray(table).sum(
        axis=tuple(axis_index for axis_index, axis in enumerate(axes) if axis not in effect_axes)
    )
    for axis_index in range(len(effect_axes)):
        effect = effect - effect.sum(axis=axis_index, keepdims=True) / effect.shape[axis_index]
    return effect


def _subsets(axes: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
    for number in range(len(axes) + 1):
        yield from combinations(axes, number)


def check_table_loss(loss: object) -> None:
    """Reject a loss for which there is no noise on tables."""
    if not isinstance(loss, Pure | Zcdp):
        reject("`loss` must be Pure or Zcdp", type(loss).__name__, "the kind of noise depends on it", TypeError)


def table_noise(loss: Pure | Zcdp, l1_sensitivity: int, squared_l2_sensitivity: int) -> Laplace | Gaussian:
    """Return the noise on a table: Laplace noise for an epsilon, Gaussian noise for a rho."""
    if isinstance(loss, Pure):
        return Laplace.for_epsilon(loss.amount, sensitivity=l1_sensitivity)
    return Gaussian.for_rho(loss.amount, sensitivity=sqrt_rounded_up(squared_l2_sensitivity))


_MAX_COVARIANCE_CELLS = 2000
"""The largest number of cells for which all covariances are computed (32 megabytes)."""


@dataclass(frozen=True)
class AgreeingTables:
    """Integer noise on every table, followed by least squares over all tables; larger tables get more of the budget.

    Pure(epsilon) gives Laplace noise, with budgets proportional to n_cells**(1/3). Zcdp(rho) gives Gaussian noise, with
    budgets proportional to n_cells**(1/2). The result is unbiased, and the tables agree where they overlap. Cells may
    be negative and are not integers. `axis_sizes` and `table_axes` are as in `Margins`. `l1_sensitivity` and
    `squared_l2_sensitivity` are the L1 sensitivity and the squared L2 sensitivity of a single table.
    """

    loss: Pure | Zcdp
    axis_sizes: tuple[int, ...]
    table_axes: tuple[tuple[int, ...], ...]
    l1_sensitivity: int
    squared_l2_sensitivity: int

    def __post_init__(self) -> None:
        check_table_loss(self.loss)
        check_integer(self.l1_sensitivity, "l1_sensitivity")
        check_integer(self.squared_l2_sensitivity, "squared_l2_sensitivity")
        Margins(self.axis_sizes, self.table_axes, (1,) * len(self.table_axes))  # checks the sizes and the tables

    @cached_property
    def cell_counts(self) -> tuple[int, ...]:
        return tuple(prod(self.axis_sizes[axis] for axis in axes) for axes in self.table_axes)

    @cached_property
    def mechanisms(self) -> tuple[Laplace | Gaussian, ...]:
        amount = Fraction(self.loss.amount)
        weights = budget_weights(self.cell_counts, 1 / 3 if isinstance(self.loss, Pure) else 1 / 2)
        budgets = [amount * weight / sum(weights) for weight in weights]
        kind, sensitivities = type(self.loss), (self.l1_sensitivity, self.squared_l2_sensitivity)
        return tuple(table_noise(kind(budget), *sensitivities) for budget in budgets)

    @property
    def zcdp(self) -> Zcdp:
        """The sum of the zCDP costs of the tables, which is less than epsilon**2 / 2 for the total epsilon."""
        if isinstance(self.loss, Zcdp):
            return self.loss
        return Zcdp(sum(Fraction(noise.loss.amount) ** 2 for noise in self.mechanisms) / 2)

    @cached_property
    def margins(self) -> Margins:
        return Margins(self.axis_sizes, self.table_axes, tuple(noise._integer_law.sd**2 for noise in self.mechanisms))

    @cached_property
    def covariance(self) -> Array | None:
        """The covariance matrix of all cells, or None if there are too many cells."""
        return self.margins.covariance() if sum(self.cell_counts) <= _MAX_COVARIANCE_CELLS else None

    def release(self, tables: Sequence[Any], labels: Sequence[Any], rng: Rng = None) -> Estimate:
        """Release all tables as one estimate, with one entry per cell, table by table."""
        source = check_rng(rng)
        noisy = [
            np.asarray(noise.release(np.ravel(table).astype(np.int64), rng=source).value)
            .astype(np.float64)
            .reshape([self.axis_sizes[axis] for axis in axes])
            for noise, axes, table in zip(self.mechanisms, self.table_axes, tables, strict=True)
        ]
        value = np.concatenate([np.ravel(table) for table in self.margins.reconcile(noisy)])
        spreads = [self.margins.cell_variance(axes) ** 0.5 for axes in self.table_axes]
        se = np.repeat(spreads, self.cell_counts)
        return Estimate(
            value=value,
            se=se,
            labels=tuple(labels),
            cov=self.covariance,
            n=None,
            covers=NOISE,
            method=f"{type(self.mechanisms[0]).__name__}, least squares",
            basis=Normal(value, se),
            **loss_and_notes(self.loss, source, self.note),
        )

    def _describe(self) -> dict[str, Any]:
        name = type(self.mechanisms[0]).__name__
        return {
            "mechanism": type(self).__name__,
            "words": f"{name} noise in every table, before they were made to agree",
            "tables": [noise._describe_noise() | {"loss": str(noise.loss)} for noise in self.mechanisms],
        }

    @property
    def note(self) -> str:
        law = (
            "intervals approximate sums of Laplace noise by a normal distribution"
            if isinstance(self.loss, Pure)
            else "intervals use the normal distribution, which is exact except for the rounding of the noise"
        )
        return f"the tables agree and are unbiased; cells may be negative; {law}"
