"""Statistics with one whole number per cell of a table: values are clamped, rounded to a public grid and added exactly.

Each function returns a `LinearStatistic` from public arguments alone. Noise is added to whole numbers, and the division
comes last. So the order of the rows, rounding and overflow cannot cause a difference that the sensitivity omits.

A missing value (NaN) that is dropped makes the number of values private under either relation.
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
from toolkit.central.release import CellNoise, released
from toolkit.central.sensitivity import Sensitivity
from toolkit.core.arrays import Array, Steps
from toolkit.core.checks import check_integer, check_neighbors, exact_fraction, reject
from toolkit.core.estimate import Estimate
from toolkit.frames.persons import ONE_ROW, Caps
from toolkit.frames.sums import Bounds, format_number


class Statistic(Protocol):
    """Whole numbers from the cells of a table that are released with noise, and the estimate computed from them."""

    @property
    def sensitivity(self) -> Sensitivity:
        """The sensitivity of all numbers together."""
        ...

    def integers(self, cells: Iterable[Any]) -> list[int] | None:
        """Return the numbers of all cells from the exact sums of each.

        The result is None if the table does not have its public number of rows, because the sensitivity and the unit
        would then be wrong.
        """
        ...

    def estimate(self, noisy: Sequence[int], law: NoiseLaw, *, scalar: bool) -> Estimate:
        """Estimate the statistic of each cell, or of the only cell as a `scalar`, from the noisy numbers."""
        ...

    def noise(self, law: NoiseLaw) -> CellNoise:
        """Return the effect of the noise on a cell, for a preview."""
        ...


@dataclass(frozen=True, eq=False)
class LinearStatistic:
    """A whole number per cell, which in the column's unit is offset + factor * of(sums)."""

    sensitivity: Sensitivity
    of: Callable[[Any], int | None]
    factor: Fraction = Fraction(1)
    offset: Fraction = Fraction(0)

    def integers(self, cells: Iterable[Any]) -> list[int] | None:
        numbers = [self.of(cell) for cell in cells]
        return None if None in numbers else numbers  # type: ignore[return-value]

    def estimate(self, noisy: Sequence[int], law: NoiseLaw, *, scalar: bool) -> Estimate:
        estimate = released(noisy[0] if scalar else _array(noisy), law)
        factor, offset = float(self.factor), float(self.offset)
        return estimate if (factor, offset) == (1, 0) else estimate.rescaled(factor, offset)

    def noise(self, law: NoiseLaw) -> CellNoise:
        return CellNoise(sd=float(self.factor) * law.sd)


def _array(noisy: Sequence[int]) -> Any:
    """Return an array of 64-bit integers, or of floats if some numbers are longer."""
    fits = min(noisy) >= -(2**63) and max(noisy) < 2**63
    return np.array(noisy, dtype=np.int64) if fits else np.array([float(number) for number in noisy])


def total(bounds: Bounds, neighbors: str, n: int | None = None) -> LinearStatistic:
    """Make the sum of values, where missing ones are filled or add nothing; "replace" requires the public n."""
    if check_neighbors(neighbors) == "add_remove":
        return totals(bounds, 1, neighbors)
    rows = check_integer(n, "n", minimum=0)
    change = sensitivity.total((0, bounds.span), neighbors="replace")
    return LinearStatistic(change, partial(_first, rows), bounds.step, rows * bounds.low_steps * bounds.step)


def totals(bounds: Bounds, cells: int, neighbors: str, people: Caps = ONE_ROW) -> LinearStatistic:
    """Make the sum of each cell when the number of its values is private."""
    change = sensitivity.table_sums(
        Fraction(bounds.low_steps), Fraction(bounds.high_steps), cells, check_neighbors(neighbors), people
    )
    return LinearStatistic(change, lambda sums: sums[1] + sums[0] * bounds.low_steps, bounds.step)


def mean(bounds: Bounds, n: int) -> LinearStatistic:
    """Make the mean of n values under "replace", with sensitivity (high - low) / n."""
    rows = _enough(n, 1)
    change = sensitivity.mean((0, bounds.span), rows, neighbors="replace").rows(rows)
    return LinearStatistic(change, partial(_first, rows), bounds.step / rows, bounds.low_steps * bounds.step)


def variance(bounds: Bounds, n: int) -> LinearStatistic:
    """Make the sample variance of n values under "replace", which is a whole number after multiplying by n (n - 1)."""
    rows = _enough(n, 2)
    unit = rows * (rows - 1)
    change = sensitivity.variance((0, bounds.span), rows, neighbors="replace").rows(unit)

    def of(sums: Sequence[int]) -> int | None:
        return rows * sums[2] - sums[1] ** 2 if sums[0] == rows else None

    return LinearStatistic(change, of, bounds.step**2 / unit)


def covariance(bounds: tuple[Bounds, Bounds], n: int) -> LinearStatistic:
    """Make the sample covariance of n pairs under "replace", from the sums of 1, y, y**2, x, x y, …"""
    rows, (first, second) = _enough(n, 2), bounds
    unit = rows * (rows - 1)
    change = sensitivity.covariance((0, first.span), (0, second.span), rows, neighbors="replace").rows(unit)

    def of(sums: Sequence[int]) -> int | None:
        return rows * sums[4] - sums[3] * sums[1] if sums[0] == rows else None

    return LinearStatistic(change, of, first.step * second.step / unit)


@dataclass(frozen=True, eq=False)
class Edges:
    """Bins between increasing edges; the last one includes its upper edge."""

    limits: Array

    @classmethod
    def of(cls, edges: Iterable[Any]) -> "Edges":
        if isinstance(edges, str) or not isinstance(edges, Iterable):
            reject(
                "`edges` must be a list of numbers", type(edges).__name__, "a bin lies between two of them", TypeError
            )
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
        """The lower edges of the bins, and the bins below, between and above these edges, where -1 is no bin."""
        closed = [*self.limits[:-1].tolist(), float(np.nextafter(self.limits[-1], np.inf))]
        return closed, [*range(-1, len(closed) - 1), -1]

    def codes(self, values: Array) -> Steps:
        """Return the bin of each number, or -1 if it is in none."""
        closed, codes = self.cuts
        return np.array(codes)[np.searchsorted(closed, values, side="right")]  # NaN is sorted above all edges


def _first(rows: int, sums: Sequence[int]) -> int | None:
    return sums[1] if sums[0] == rows else None


def _enough(n: int, least: int) -> int:
    if n < least:
        reject(f"a column must have at least {least} rows", n, "under 'replace' their number is public")
    return n
