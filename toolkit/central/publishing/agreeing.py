"""`AgreeingTables`: several tables of counts with noise, one cost, made to agree by least squares."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import prod
from typing import Any

import numpy as np

from toolkit.central.gaussian import Gaussian
from toolkit.central.laplace import Laplace
from toolkit.central.publishing.keys import root_up
from toolkit.central.publishing.margins import Margins, shares_of
from toolkit.core.arrays import Array
from toolkit.core.checks import refuse, whole
from toolkit.core.covers import NOISE
from toolkit.core.estimate import SIMULATED, Estimate
from toolkit.core.inference.intervals import Normal
from toolkit.core.loss import Pure, Zcdp
from toolkit.core.randomness import Rng, check_rng

_MOST_COVARIANCES = 2000
"""Cells up to which the covariances of all are told: 32 megabytes."""


@dataclass(frozen=True)
class AgreeingTables:
    """Whole noise on every table, more of the budget for larger ones, and least squares over all of them.

    Pure(epsilon) buys Laplace noise, split in proportion to cells**(1/3); Zcdp(rho) buys Gaussian noise, in
    proportion to cells**(1/2). Least squares changes no expectation: what comes out is unbiased, its tables
    agree where they overlap, its cells may be negative, and they are no longer whole.

    Parameters
    ----------
    loss : of all tables together.
    sizes, tables : as for `Margins`.
    moved : how far one person can move one table in the L1 norm.
    moved_square : the same in the L2 norm, squared.

    >>> tables = AgreeingTables(Zcdp("1/10"), (2, 2), ((0, 1), (0,)), moved=1, moved_square=1)
    >>> found = tables.release([np.array([[9, 1], [2, 8]]), np.array([10, 10])], range(6))
    >>> bool(abs(found.value[0] + found.value[1] - found.value[4]) < 1e-9)
    True
    """

    loss: Pure | Zcdp
    sizes: tuple[int, ...]
    tables: tuple[tuple[int, ...], ...]
    moved: int
    moved_square: int

    def __post_init__(self) -> None:
        if not isinstance(self.loss, Pure | Zcdp):
            refuse("`loss` must be Pure or Zcdp", type(self.loss).__name__, "they buy the noise", TypeError)
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
        return Margins(self.sizes, self.tables, tuple(_variance(noise) for noise in self.noises))

    @cached_property
    def covariance(self) -> Array | None:
        """Of all cells, unless they are so many that it would fill the memory."""
        return self.margins.covariance() if sum(self.cells) <= _MOST_COVARIANCES else None

    def release(self, tables: Sequence[Any], labels: Sequence[Any], rng: Rng = None) -> Estimate:
        """One entry a cell, table after table."""
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
            loss=self.loss if source is None else None,
            covers=NOISE,
            method=f"{type(self.noises[0]).__name__}, least squares",
            notes=(self.note, *(() if source is None else (SIMULATED,))),
            basis=Normal(value, se),
        )

    def facts(self) -> dict[str, Any]:
        """What a document says of it."""
        name = type(self.noises[0]).__name__
        return {
            "mechanism": type(self).__name__,
            "words": f"{name} noise in every table, before they were made to agree",
            "tables": [noise.whole_facts() | {"loss": str(noise.loss)} for noise in self.noises],
        }

    @property
    def note(self) -> str:
        law = (
            "intervals take sums of Laplace noise as normal, which is approximate"
            if isinstance(self.loss, Pure)
            else "intervals are those of the normal law, exact but for the rounding of the noise"
        )
        return f"the tables agree and are unbiased; cells may be negative; {law}"


def _variance(noise: Laplace | Gaussian) -> float:
    """Of the whole noise in a cell."""
    return noise.whole_law.sd**2
