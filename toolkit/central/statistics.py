"""Statistics with one integer per cell of a table: values are clamped, rounded to a public grid and added exactly.

Each function returns a `LinearStatistic` from public arguments alone. Noise is added to integers, and results are
divided only afterwards. So row order, rounding and overflow cannot cause a change that the sensitivity does not cover.

If missing values (NaN) are dropped, the number of values is private under either neighbor relation.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from itertools import pairwise
from typing import Any, Protocol

import numpy as np

from toolkit.central import sensitivity
from toolkit.central.noise.laws import NoiseLaw
from toolkit.central.release import CellNoise, noise_estimate
from toolkit.central.sensitivity import Sensitivity
from toolkit.core.arrays import Array, Steps
from toolkit.core.checks import check_integer, check_neighbors, exact_fraction, reject
from toolkit.core.estimate import Estimate
from toolkit.frames.persons import ONE_ROW, Caps
from toolkit.frames.sums import Bounds, format_number


class Statistic(Protocol):
    """A statistic that is computed from noisy integers, which are released for each table cell."""

    @property
    def sensitivity(self) -> Sensitivity:
        """The joint sensitivity of the integers of all cells."""
        ...

    def integers(self, cells: Iterable[Any]) -> list[int] | None:
        """Return the integers of all cells, given the exact sums of each cell.

        The result is None if the table does not have the public number of rows, because the sensitivity and the unit
        would then be wrong.
        """
        ...

    def estimate(self, noisy: Sequence[int], law: NoiseLaw, *, as_scalar: bool) -> Estimate:
        """Estimate the statistic of each cell from the noisy integers; with `as_scalar`, a single cell gives floats."""
        ...

    def noise(self, law: NoiseLaw) -> CellNoise:
        """Return the effect of the noise on one cell, for a preview."""
        ...


@dataclass(frozen=True, eq=False)
class LinearStatistic:
    """A statistic with an integer `from_sums(sums)` per cell; its value is offset + factor * this integer."""

    sensitivity: Sensitivity
    from_sums: Callable[[Any], int | None]
    factor: Fraction = Fraction(1)
    offset: Fraction = Fraction(0)

    def integers(self, cells: Iterable[Any]) -> list[int] | None:
        numbers = [self.from_sums(cell) for cell in cells]
        return None if None in numbers else numbers  # type: ignore[return-value]

    def estimate(self, noisy: Sequence[int], law: NoiseLaw, *, as_scalar: bool) -> Estimate:
        estimate = noise_estimate(noisy[0] if as_scalar else _integer_array(noisy), law)
        factor, offset = float(self.factor), float(self.offset)
        return estimate if (factor, offset) == (1, 0) else estimate.rescaled(factor, offset)

    def noise(self, law: NoiseLaw) -> CellNoise:
        return CellNoise(sd=float(self.factor) * law.sd)


def _integer_array(noisy: Sequence[int]) -> Any:
    """Return an array of 64-bit integers, or of floats if an integer is too large."""
    fits = min(noisy) >= -(2**63) and max(noisy) < 2**63
    return np.array(noisy, dtype=np.int64) if fits else np.array([float(number) for number in noisy])


def total(bounds: Bounds, neighbors: str, n: int | None = None) -> LinearStatistic:
    """Make the statistic for a sum; missing values add nothing unless they are filled in, and "replace" requires n."""
    if check_neighbors(neighbors) == "add_remove":
        return cell_totals(bounds, 1, neighbors)
    rows = check_integer(n, "n", minimum=0)
    change = sensitivity.total((0, bounds.span), neighbors="replace")
    return LinearStatistic(
        change, partial(_total_if_complete, rows), bounds.step, rows * bounds.low_steps * bounds.step
    )


def cell_totals(bounds: Bounds, n_cells: int, neighbors: str, caps: Caps = ONE_ROW) -> LinearStatistic:
    """Make the statistic for the sums of cells with a private number of values."""
    change = sensitivity.table_sums(
        Fraction(bounds.low_steps), Fraction(bounds.high_steps), n_cells, check_neighbors(neighbors), caps
    )
    return LinearStatistic(change, lambda sums: sums[1] + sums[0] * bounds.low_steps, bounds.step)


def mean(bounds: Bounds, n: int) -> LinearStatistic:
    """Make the statistic for the mean of n values under "replace", with sensitivity (high - low) / n."""
    rows = _check_rows(n, 1)
    change = sensitivity.mean((0, bounds.span), rows, neighbors="replace").scaled_by_rows(rows)
    return LinearStatistic(
        change, partial(_total_if_complete, rows), bounds.step / rows, bounds.low_steps * bounds.step
    )


def variance(bounds: Bounds, n: int) -> LinearStatistic:
    """Make the statistic for the sample variance of n values under "replace", an integer divided by n (n - 1)."""
    rows = _check_rows(n, 2)
    unit = rows * (rows - 1)
    change = sensitivity.variance((0, bounds.span), rows, neighbors="replace").scaled_by_rows(unit)

    def from_sums(sums: Sequence[int]) -> int | None:
        return rows * sums[2] - sums[1] ** 2 if sums[0] == rows else None

    return LinearStatistic(change, from_sums, bounds.step**2 / unit)


def covariance(bounds: tuple[Bounds, Bounds], n: int) -> LinearStatistic:
    """Make the statistic for the sample covariance of n pairs under "replace", from sums of 1, y, y**2, x, x y, …"""
    rows, (first_bounds, second_bounds) = _check_rows(n, 2), bounds
    unit = rows * (rows - 1)
    change = sensitivity.covariance(
        (0, first_bounds.span), (0, second_bounds.span), rows, neighbors="replace"
    ).scaled_by_rows(unit)

    def from_sums(sums: Sequence[int]) -> int | None:
        return rows * sums[4] - sums[3] * sums[1] if sums[0] == rows else None

    return LinearStatistic(change, from_sums, first_bounds.step * second_bounds.step / unit)


@dataclass(frozen=True, eq=False)
class Edges:
    """Bins between increasing edges; the last bin includes its upper edge."""

    limits: Array

    @classmethod
    def of(cls, edges: Iterable[Any]) -> "Edges":
        if isinstance(edges, str) or not isinstance(edges, Iterable):
            reject("`edges` must be a list of numbers", type(edges).__name__, "a bin lies between two edges", TypeError)
        limits = np.array([float(exact_fraction(edge, "edges")) for edge in edges])
        if len(limits) < 2 or np.any(np.diff(limits) <= 0):
            rule = "`edges` must be at least two increasing numbers"
            reject(rule, f"{len(limits)} numbers", "a bin lies between two edges")
        return cls(limits)

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(f"{format_number(low)} to {format_number(high)}" for low, high in pairwise(self.limits.tolist()))

    @property
    def cuts(self) -> tuple[list[float], list[int]]:
        """The edges of the bins, and the bin index of each range below, between or above the edges; -1 means no bin."""
        closed = [*self.limits[:-1].tolist(), float(np.nextafter(self.limits[-1], np.inf))]
        return closed, [*range(-1, len(closed) - 1), -1]

    def codes(self, values: Array) -> Steps:
        """Return the index of the bin that contains each number, or -1 if no bin does."""
        closed, codes = self.cuts
        return np.array(codes)[np.searchsorted(closed, values, side="right")]  # NaN is sorted above all edges


def _total_if_complete(n_rows: int, sums: Sequence[int]) -> int | None:
    return sums[1] if sums[0] == n_rows else None


def _check_rows(n: int, minimum: int) -> int:
    if n < minimum:
        reject(f"a column must have at least {minimum} rows", n, "under 'replace' the number of rows is public")
    return n
