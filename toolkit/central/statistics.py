"""Statistics of a table's cells that are one whole number each: clamp, round to a public grid, add up exactly.

Each function returns a `LinearStatistic` from public arguments alone. Noise is added to whole numbers, and the division
is done once, afterwards: neither the order of the rows, nor rounding, nor overflow can make a difference that the
sensitivity does not count.

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
from toolkit.core.checks import exact, reject, whole
from toolkit.core.checks import neighbors as check_neighbors
from toolkit.core.estimate import Estimate
from toolkit.frames.persons import ONE, Caps
from toolkit.frames.sums import Bounds, format_number


class Statistic(Protocol):
    """Whole numbers that are released of a table's cells with noise, and the estimate that is computed from them."""

    @property
    def sensitivity(self) -> Sensitivity:
        """How far one person can move all of the numbers together."""
        ...

    def integers(self, cells: Iterable[Any]) -> list[int] | None:
        """The numbers of all cells, from the exact sums of each; None if the table has not its public number of rows:
        neither the sensitivity nor the unit would be right.
        """
        ...

    def estimate(self, noisy: Sequence[int], law: NoiseLaw, *, scalar: bool) -> Estimate:
        """The estimate of each cell, or of the only one as a `scalar`, from the numbers with noise."""
        ...

    def noise(self, law: NoiseLaw) -> CellNoise:
        """What the noise does to a cell, for a preview."""
        ...


@dataclass(frozen=True, eq=False)
class LinearStatistic:
    """One whole number of each cell; in the column's unit it is offset + factor * of(sums)."""

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
    """Whole numbers of 64 bits, or floats where some are longer."""
    fits = min(noisy) >= -(2**63) and max(noisy) < 2**63
    return np.array(noisy, dtype=np.int64) if fits else np.array([float(number) for number in noisy])


def total(bounds: Bounds, neighbors: str, n: int | None = None) -> LinearStatistic:
    """The sum of values of which missing ones are filled or add nothing; "replace" asks for the public n."""
    if check_neighbors(neighbors) == "add_remove":
        return totals(bounds, 1, neighbors)
    rows = whole(n, "n", least=0)
    reach = sensitivity.total((0, bounds.span), neighbors="replace")
    return LinearStatistic(reach, partial(_first, rows), bounds.step, rows * bounds.least * bounds.step)


def totals(bounds: Bounds, cells: int, neighbors: str, people: Caps = ONE) -> LinearStatistic:
    """The sum of each cell, when the number of values in it is private."""
    reach = sensitivity.table_sums(
        Fraction(bounds.least), Fraction(bounds.most), cells, check_neighbors(neighbors), people
    )
    return LinearStatistic(reach, lambda sums: sums[1] + sums[0] * bounds.least, bounds.step)


def mean(bounds: Bounds, n: int) -> LinearStatistic:
    """The mean of n values under "replace": one person moves it by (high - low) / n."""
    rows = _enough(n, 1)
    reach = sensitivity.mean((0, bounds.span), rows, neighbors="replace").rows(rows)
    return LinearStatistic(reach, partial(_first, rows), bounds.step / rows, bounds.least * bounds.step)


def variance(bounds: Bounds, n: int) -> LinearStatistic:
    """The sample variance of n values under "replace": n (n - 1) times that is whole."""
    rows = _enough(n, 2)
    unit = rows * (rows - 1)
    reach = sensitivity.variance((0, bounds.span), rows, neighbors="replace").rows(unit)

    def of(sums: Sequence[int]) -> int | None:
        return rows * sums[2] - sums[1] ** 2 if sums[0] == rows else None

    return LinearStatistic(reach, of, bounds.step**2 / unit)


def covariance(bounds: tuple[Bounds, Bounds], n: int) -> LinearStatistic:
    """The same of the sample covariance of n pairs, of the sums of 1, y, y**2, x, x y, …"""
    rows, (first, second) = _enough(n, 2), bounds
    unit = rows * (rows - 1)
    reach = sensitivity.covariance((0, first.span), (0, second.span), rows, neighbors="replace").rows(unit)

    def of(sums: Sequence[int]) -> int | None:
        return rows * sums[4] - sums[3] * sums[1] if sums[0] == rows else None

    return LinearStatistic(reach, of, first.step * second.step / unit)


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
        limits = np.array([float(exact(edge, "edges")) for edge in edges])
        if len(limits) < 2 or np.any(np.diff(limits) <= 0):
            rule = "`edges` must be at least two increasing numbers"
            reject(rule, f"{len(limits)} numbers", "a bin lies between two edges")
        return cls(limits)

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(f"{format_number(low)} to {format_number(high)}" for low, high in pairwise(self.limits.tolist()))

    @property
    def cuts(self) -> tuple[list[float], list[int]]:
        """Where bins begin, and which lies below the first, between them and above the last; -1 is none."""
        closed = [*self.limits[:-1].tolist(), float(np.nextafter(self.limits[-1], np.inf))]
        return closed, [*range(-1, len(closed) - 1), -1]

    def codes(self, values: Array) -> Steps:
        """The bin of each number, -1 where it is in none."""
        closed, codes = self.cuts
        return np.array(codes)[np.searchsorted(closed, values, side="right")]  # NaN is above


def _first(rows: int, sums: Sequence[int]) -> int | None:
    return sums[1] if sums[0] == rows else None


def _enough(n: int, least: int) -> int:
    if n < least:
        reject(f"a column must have at least {least} rows", n, "under 'replace' their number is public")
    return n
