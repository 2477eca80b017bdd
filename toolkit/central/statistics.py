"""Statistics of one column in whole steps: clamp, round to a public grid, add up exactly.

Each function returns a `Statistic`, made of public things alone: how far one person can move it, the way back
to the column's unit, and what is to be computed of the column, which happens only when a ledger has been
charged. Noise is added to whole numbers and the division is done once, afterwards; so neither the order of
the rows, nor rounding, nor overflow can make a difference that the sensitivity does not count.

"replace": one person's record changes, the number of records n is public. "add_remove": one person comes or
goes, n is private. A missing value (NaN) that is dropped makes the number of values private under either
relation.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np

from toolkit.central.sensitivity import Sensitivity
from toolkit.central.steps import Bounds, written
from toolkit.central.tables import caps
from toolkit.core.arrays import Array, Steps
from toolkit.core.checks import exact, refuse, whole
from toolkit.core.checks import neighbors as check_neighbors

MOST_RANK_UNITS = 2**20
"""The largest denominator of a quantile: 2**20 times 2**42 rows, which are 32 TiB of floats, is below 2**63.
"""


@dataclass(frozen=True, eq=False)
class Statistic:
    """A whole number of a column, or one a cell: how far one person can move it or all of them together (L1,
    and `squared` in length), how to compute it, and its unit.

    The statistic in the column's unit is offset + factor * of(column), where the column is what the function
    says.
    """

    sensitivity: int
    of: Callable[[Any], int | Steps]
    factor: Fraction = Fraction(1)
    offset: Fraction = Fraction(0)
    squared: int | None = None

    def reach(self, neighbors: str) -> Sensitivity:
        """In both norms; of a single number the squared length is the square."""
        length = self.sensitivity**2 if self.squared is None else self.squared
        return Sensitivity(Fraction(self.sensitivity), Fraction(length), neighbors)


def total(bounds: Bounds, neighbors: str, n: int | None = None) -> Statistic:
    """The sum, of `Sums` in which missing values are filled or add nothing; n is public under "replace", and
    asked for there.
    """
    if check_neighbors(neighbors) == "replace":
        rows = whole(n, "n", least=0)
        return Statistic(bounds.span, lambda sums: sums.first, bounds.step, rows * bounds.least * bounds.step)
    return totals(bounds, 1, neighbors)


def totals(bounds: Bounds, cells: int, neighbors: str, people: caps.Caps = caps.ONE) -> Statistic:
    """The sums of cells, of the `Sums` of one, when the number of values in each is private."""
    reach = caps.sums(Fraction(bounds.least), Fraction(bounds.most), cells, check_neighbors(neighbors), people)
    return Statistic(
        int(reach.l1),
        lambda sums: sums.first + sums.number * bounds.least,
        bounds.step,
        squared=int(reach.l2_squared),
    )


def mean(bounds: Bounds, n: int) -> Statistic:
    """The mean of n values, of their `Sums`, under "replace": one person moves it by (high - low) / n."""
    rows = _enough(n, 1)
    return Statistic(bounds.span, lambda sums: sums.first, bounds.step / rows, bounds.least * bounds.step)


def variance(bounds: Bounds, n: int) -> Statistic:
    """The sample variance of n values, of their `Sums` with squares, under "replace".

    n * sum s**2 - (sum s)**2 is the sum of (s_i - s_j)**2 over all pairs; a new s_i changes n - 1 of them,
    each by at most span**2. The variance is that divided by n (n-1), so one person moves it by (high -
    low)**2 / n.
    """
    rows = _enough(n, 2)
    reach = (rows - 1) * bounds.span**2
    return Statistic(reach, lambda sums: rows * sums.second - sums.first**2, bounds.step**2 / (rows * (rows - 1)))


def covariance(bounds: tuple[Bounds, Bounds], n: int) -> Statistic:
    """The sample covariance of n pairs, of the sums of 1, y, y**2, x, x y, …, under "replace".

    In n * sum x y - sum x * sum y one pair (x, y) stands as n - 1 times (x - a)(y - b), where a and b are the
    means of the others; that is largest and least at corners of the bounds, which differ by at most the
    product of the spans.
    """
    rows, (first, second) = _enough(n, 2), bounds
    reach = (rows - 1) * first.span * second.span
    unit = first.step * second.step / (rows * (rows - 1))
    return Statistic(reach, lambda sums: rows * sums[4] - sums[3] * sums[1], unit)


@dataclass(frozen=True, eq=False)
class Edges:
    """Bins between increasing edges; the last one includes its upper edge.

    >>> edges = Edges.of([0, 5, 10])
    >>> edges.codes(np.array([0.0, 5.0, 10.0, 11.0, np.nan])), edges.names
    (array([ 0,  1,  1, -1, -1]), ('0 to 5', '5 to 10'))
    """

    limits: Array

    @classmethod
    def of(cls, edges: Iterable[Any]) -> "Edges":
        if isinstance(edges, str) or not isinstance(edges, Iterable):
            refuse(
                "`edges` must be a list of numbers",
                type(edges).__name__,
                "a bin lies between two of them",
                TypeError,
            )
        limits = np.array([float(exact(edge, "edges")) for edge in edges])
        if len(limits) < 2 or np.any(np.diff(limits) <= 0):
            refuse(
                "`edges` must be at least two increasing numbers",
                f"{len(limits)} numbers",
                "a bin lies between two edges",
            )
        return cls(limits)

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(f"{written(low)} to {written(high)}" for low, high in pairwise(self.limits.tolist()))

    def codes(self, values: Array) -> Steps:
        """The bin of each number, -1 where it is in none."""
        closed = np.append(self.limits[:-1], np.nextafter(self.limits[-1], np.inf))
        places = np.searchsorted(closed, values, side="right")  # 0 below, len(closed) above and for NaN
        return np.where(places < len(closed), places - 1, -1)


def rank_unit(q: Fraction) -> Fraction:
    """The nearest fraction to q with a denominator of at most `MOST_RANK_UNITS`: within 2**-21 of it."""
    return q.limit_denominator(MOST_RANK_UNITS)


def rank_scores(bounds: Bounds, q: Fraction, neighbors: str) -> Statistic:
    """How well each step 0 … span of the grid serves as the quantile q, of a column; one person moves a score
    by `sensitivity`.

    A score is minus the distance of the step's rank from the wanted one, times the denominator of q so that
    it is whole; a step that many values share has all their ranks at once, so ties cost nothing. Steps are
    counted, not sorted: the time depends on the number of rows and steps alone. Missing values are left out.

    No score overflows: ranks are at most the number of rows, n, and the numerator of q at most its
    denominator d, so all that is computed lies between -d n and d n. With d at most 2**20 that is below 2**63
    for any n below 2**43, and 2**42 floats would fill 32 TiB.
    """
    unit, share = q.denominator, q.numerator
    if unit > MOST_RANK_UNITS:
        refuse(
            f"the denominator of `q` must be at most {MOST_RANK_UNITS:,}",
            f"{unit:,}",
            "scores are 64-bit integers",
        )

    def scored(values: Array) -> Steps:
        counts = np.bincount(bounds.steps(values) + 1, minlength=bounds.span + 2)[1:].astype(np.int64)
        upto = np.cumsum(counts)
        wanted = share * int(upto[-1])
        distance = np.maximum(unit * (upto - counts) - wanted, wanted - unit * upto)
        return np.asarray(-np.maximum(distance, 0))

    comes_or_goes = max(share, unit - share)
    return Statistic(comes_or_goes if check_neighbors(neighbors) == "add_remove" else unit, scored)


def _enough(n: int, least: int) -> int:
    if n < least:
        refuse(f"a column must have at least {least} rows", n, "under 'replace' their number is public")
    return n
