"""`SpanningTables`: noisy tables of every column and of the pairs of columns in a privately chosen spanning tree."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property, partial
from itertools import combinations
from math import prod
from typing import Any, cast

import numpy as np

from toolkit.central.gaussian import Gaussian
from toolkit.central.laplace import Laplace
from toolkit.central.noise.laws import NoiseBasis
from toolkit.central.publishing.agreeing import check_table_loss, table_noise
from toolkit.central.release import loss_and_notes
from toolkit.central.selection import Exponential
from toolkit.central.tables import CellEstimates
from toolkit.core.arrays import Array, Steps, project_onto_simplex
from toolkit.core.checks import check_integer, reject
from toolkit.core.estimate import Estimate
from toolkit.core.loss import Pure, Zcdp
from toolkit.core.randomness import Rng, check_rng

Axes = tuple[int, ...]

# Scores are integers in units of 1 / UNITS_PER_ROW rows, so that one row changes them by no more than the sensitivity;
# floating-point scores would have rounding errors.
UNITS_PER_ROW = 2**16

# The largest total in a score, which keeps scores within 64 bits.
MAX_TOTAL = 2.0**40


@dataclass(frozen=True)
class SpanningTables:
    """The measurements of MST: a table of each column, and a table of each pair of columns in a spanning tree.

    The budget has three equal parts. The first adds noise to the table of each column. The second chooses a maximum
    spanning tree, edge by edge as Kruskal's algorithm does, but each edge with the exponential mechanism: the score of
    a pair of columns is the L1 distance between its table and the table that the noisy columns would have if they were
    independent. The third part adds noise to the tables of the chosen pairs. Pure(epsilon) gives Laplace noise,
    Zcdp(rho) Gaussian noise.

    One person changes a table by at most `l1_sensitivity` in the L1 norm, and a score by as much: the independent
    table depends on noisy tables alone. `squared_l2_sensitivity` is the squared L2 sensitivity of a table.

    References
    ----------
    McKenna, Miklau and Sheldon (2021), Winning the NIST contest: a scalable and general approach to differentially
    private synthetic data.
    """

    loss: Pure | Zcdp
    axis_sizes: tuple[int, ...]
    l1_sensitivity: int
    squared_l2_sensitivity: int

    def __post_init__(self) -> None:
        check_table_loss(self.loss)
        for name in ("l1_sensitivity", "squared_l2_sensitivity"):
            check_integer(getattr(self, name), name)
        for size in self.axis_sizes:
            check_integer(size, "axis_sizes")
        if len(self.axis_sizes) < 2:
            reject("`axis_sizes` must have at least two entries", len(self.axis_sizes), "a tree connects columns")

    @cached_property
    def columns(self) -> tuple[Axes, ...]:
        """The tables of single columns."""
        return tuple((axis,) for axis in range(len(self.axis_sizes)))

    @cached_property
    def pairs(self) -> tuple[Axes, ...]:
        """The tables of all pairs of columns, which are the candidates for the tree."""
        return tuple(combinations(range(len(self.axis_sizes)), 2))

    @property
    def tables(self) -> tuple[Axes, ...]:
        """All tables that are read: those of `columns`, followed by those of `pairs`."""
        return (*self.columns, *self.pairs)

    @cached_property
    def column_noise(self) -> Laplace | Gaussian:
        """The noise on the table of each column."""
        return self._noise(len(self.columns))

    @cached_property
    def pair_noise(self) -> Laplace | Gaussian:
        """The noise on the table of each pair in the tree."""
        return self._noise(self._n_edges)

    @cached_property
    def selection(self) -> Exponential:
        """The mechanism that chooses each edge of the tree."""
        make = Exponential.for_epsilon if isinstance(self.loss, Pure) else Exponential.for_rho
        return make(self._share(self._n_edges), sensitivity=self.l1_sensitivity * UNITS_PER_ROW)

    @property
    def zcdp(self) -> Zcdp:
        """The sum of the zCDP costs of the tables and of the choices."""
        if isinstance(self.loss, Zcdp):
            return self.loss
        squares = [
            (Fraction(noise.loss.amount) ** 2 / 2, n_tables)
            for noise, n_tables in ((self.column_noise, len(self.columns)), (self.pair_noise, self._n_edges))
        ]
        choices = Fraction(self.selection.zcdp.amount) * self._n_edges
        return Zcdp(sum((cost * n_tables for cost, n_tables in squares), choices))

    def release(
        self, counts: Sequence[Steps], labels: Callable[[Sequence[Axes]], Sequence[Any]], rng: Rng = None
    ) -> Estimate:
        """Release the noisy tables as one estimate, with one entry per cell, table by table.

        Parameters
        ----------
        counts : sequence of integer arrays
            The tables of `columns`, followed by those of `pairs`.
        labels : callable
            A function that returns the labels of all cells of the tables with the given axes.
        rng : Generator, optional
            A generator for simulations; the default is the operating system's randomness.

        Returns
        -------
        Estimate
            The noisy counts with their errors.
        """
        source = check_rng(rng)
        tables = [np.ravel(table).astype(np.int64) for table in counts]
        pair_tables = dict(zip(self.pairs, tables[len(self.columns) :], strict=True))
        columns = [self.column_noise.release(table, rng=source) for table in tables[: len(self.columns)]]
        tree = self.choose_pairs([np.asarray(column.value) for column in columns], pair_tables, source)
        noisy = [*columns, *(self.pair_noise.release(pair_tables[pair], rng=source) for pair in tree)]
        value, se = (np.concatenate([np.asarray(getattr(table, name)) for table in noisy]) for name in ("value", "se"))
        limits = partial(_limits_by_table, [cast(NoiseBasis, table.basis) for table in noisy])
        return replace(
            CellEstimates(value, se, limits).estimate(),
            labels=tuple(labels([*self.columns, *tree])),
            method=type(self.column_noise).__name__,
            **loss_and_notes(self.loss, source),
        )

    def choose_pairs(self, noisy_columns: Sequence[Array], pair_tables: dict[Axes, Steps], rng: Rng) -> list[Axes]:
        """Return the pairs of a spanning tree, in increasing order."""
        expected = self._independent_tables(noisy_columns)
        scores = {
            pair: int(np.abs(table * UNITS_PER_ROW - expected[pair]).sum()) for pair, table in pair_tables.items()
        }
        components, tree = list(range(len(self.axis_sizes))), list[Axes]()
        for _ in range(self._n_edges):
            candidates = [(a, b) for a, b in self.pairs if components[a] != components[b]]
            numbers = np.array([scores[pair] for pair in candidates], dtype=np.int64)
            a, b = self.selection.choose(candidates, numbers, rng=rng)
            components = [components[a] if component == components[b] else component for component in components]
            tree.append((a, b))
        return sorted(tree)

    def _independent_tables(self, noisy_columns: Sequence[Array]) -> dict[Axes, Steps]:
        """Return the expected tables of pairs if columns were independent, from noisy counts alone.

        The total is the minimum variance unbiased estimate from the columns, at least 1 and at most 2**40.
        """
        weights = [1 / size for size in self.axis_sizes]
        total = min(max(float(np.average([column.sum() for column in noisy_columns], weights=weights)), 1), MAX_TOTAL)
        fitted = [project_onto_simplex(np.asarray(column, dtype=float), total) for column in noisy_columns]
        return {
            (a, b): np.rint(np.outer(fitted[a], fitted[b]).ravel() * (UNITS_PER_ROW / total)).astype(np.int64)
            for a, b in self.pairs
        }

    @property
    def _n_edges(self) -> int:
        return len(self.axis_sizes) - 1

    def _share(self, n_tables: int) -> Fraction:
        return Fraction(self.loss.amount) / (3 * n_tables)

    def _noise(self, n_tables: int) -> Laplace | Gaussian:
        loss = type(self.loss)(self._share(n_tables))
        return table_noise(loss, self.l1_sensitivity, self.squared_l2_sensitivity)

    def _describe(self) -> dict[str, Any]:
        """Describe the mechanism for publication."""
        name = type(self.column_noise).__name__
        return {
            "mechanism": type(self).__name__,
            "words": f"{name} noise in the table of each column and of each pair in a tree, which the exponential "
            "mechanism chose edge by edge",
            "columns": self.column_noise._describe_noise() | {"loss": str(self.column_noise.loss)},
            "choices": {"rounds": self._n_edges, "epsilon": str(self.selection.loss.amount)},
            "pairs": self.pair_noise._describe_noise() | {"loss": str(self.pair_noise.loss)},
        }


def count_cells(axis_sizes: Sequence[int]) -> int:
    """Return the number of cells in the tables of all columns and of all pairs of columns."""
    return sum(axis_sizes) + sum(prod(pair) for pair in combinations(axis_sizes, 2))


def _limits_by_table(bases: Sequence[NoiseBasis], level: float) -> tuple[Array, Array]:
    intervals = [basis.interval(level, "noise") for basis in bases]
    low, high = (np.concatenate([getattr(interval, end) for interval in intervals]) for end in ("low", "high"))
    return low, high
