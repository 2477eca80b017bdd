"""Statistics of one column in whole steps: clamp, round to a public grid, add up exactly.

Each function returns a `Statistic`, made of public things alone: how far one person can move it, the way back
to the column's unit, and what is to be computed of the column, which happens only when a ledger has been
charged. Noise is added to whole numbers and the division is done once, afterwards; so neither the order of
the rows, nor rounding, nor overflow can make a difference that the sensitivity does not count.

A missing value (NaN) that is dropped makes the number of values private under either relation.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np

from toolkit.central import sensitivity
from toolkit.central.sensitivity import Sensitivity
from toolkit.core.arrays import Array, Steps
from toolkit.core.checks import exact, refuse, whole
from toolkit.core.checks import neighbors as check_neighbors
from toolkit.frames.persons import ONE, Caps
from toolkit.frames.sums import Bounds, Sums, written


@dataclass(frozen=True, eq=False)
class Statistic:
    """A whole number of a column, or one per cell, and its reach; in its unit it is offset + factor * of(sums). Where
    the number of rows is public, it is None of another number: neither the reach nor the factor would be right.
    """

    sensitivity: Sensitivity
    of: Callable[[Any], int | None]
    factor: Fraction = Fraction(1)
    offset: Fraction = Fraction(0)


def total(bounds: Bounds, neighbors: str, n: int | None = None) -> Statistic:
    """The sum, of `Sums` in which missing values are filled or add nothing; "replace" asks for the public n."""
    if check_neighbors(neighbors) == "add_remove":
        return totals(bounds, 1, neighbors)
    rows = whole(n, "n", least=0)
    reach = sensitivity.total((0, bounds.span), neighbors="replace")
    return Statistic(reach, partial(_first, rows), bounds.step, rows * bounds.least * bounds.step)


def totals(bounds: Bounds, cells: int, neighbors: str, people: Caps = ONE) -> Statistic:
    """The sums of cells, of the `Sums` of one, when the number of values in each is private."""
    reach = sensitivity.table_sums(
        Fraction(bounds.least), Fraction(bounds.most), cells, check_neighbors(neighbors), people
    )
    return Statistic(reach, lambda sums: sums.first + sums.number * bounds.least, bounds.step)


def mean(bounds: Bounds, n: int) -> Statistic:
    """The mean of n values, of their `Sums`, under "replace": one person moves it by (high - low) / n."""
    rows = _enough(n, 1)
    reach = sensitivity.mean((0, bounds.span), rows, neighbors="replace").rows(rows)
    return Statistic(reach, partial(_first, rows), bounds.step / rows, bounds.least * bounds.step)


def variance(bounds: Bounds, n: int) -> Statistic:
    """The sample variance of n values, of their `Sums` with squares, under "replace": n (n - 1) times that is whole."""
    rows = _enough(n, 2)
    unit = rows * (rows - 1)
    reach = sensitivity.variance((0, bounds.span), rows, neighbors="replace").rows(unit)

    def of(sums: Sums) -> int | None:
        return rows * sums.second - sums.first**2 if sums.number == rows else None

    return Statistic(reach, of, bounds.step**2 / unit)


def covariance(bounds: tuple[Bounds, Bounds], n: int) -> Statistic:
    """The same of the sample covariance of n pairs, of the sums of 1, y, y**2, x, x y, …"""
    rows, (first, second) = _enough(n, 2), bounds
    unit = rows * (rows - 1)
    reach = sensitivity.covariance((0, first.span), (0, second.span), rows, neighbors="replace").rows(unit)

    def of(sums: list[int]) -> int | None:
        return rows * sums[4] - sums[3] * sums[1] if sums[0] == rows else None

    return Statistic(reach, of, first.step * second.step / unit)


@dataclass(frozen=True, eq=False)
class Edges:
    """Bins between increasing edges; the last one includes its upper edge."""

    limits: Array

    @classmethod
    def of(cls, edges: Iterable[Any]) -> "Edges":
        if isinstance(edges, str) or not isinstance(edges, Iterable):
            refuse(
                "`edges` must be a list of numbers", type(edges).__name__, "a bin lies between two of them", TypeError
            )
        limits = np.array([float(exact(edge, "edges")) for edge in edges])
        if len(limits) < 2 or np.any(np.diff(limits) <= 0):
            rule = "`edges` must be at least two increasing numbers"
            refuse(rule, f"{len(limits)} numbers", "a bin lies between two edges")
        return cls(limits)

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(f"{written(low)} to {written(high)}" for low, high in pairwise(self.limits.tolist()))

    @property
    def cuts(self) -> tuple[list[float], list[int]]:
        """Where bins begin, and which lies below the first, between them and above the last; -1 is none."""
        closed = [*self.limits[:-1].tolist(), float(np.nextafter(self.limits[-1], np.inf))]
        return closed, [*range(-1, len(closed) - 1), -1]

    def codes(self, values: Array) -> Steps:
        """The bin of each number, -1 where it is in none."""
        closed, codes = self.cuts
        return np.array(codes)[np.searchsorted(closed, values, side="right")]  # NaN is above


def _first(rows: int, sums: Sums) -> int | None:
    return sums.first if sums.number == rows else None


def _enough(n: int, least: int) -> int:
    if n < least:
        refuse(f"a column must have at least {least} rows", n, "under 'replace' their number is public")
    return n
