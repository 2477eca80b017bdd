"""Statistics of one column in whole steps: clamp, round to a public grid, add up exactly.

Each function returns a `Statistic`, made of public things alone: how far one person can move it, the way back
to the column's unit, and what is to be computed of the column, which happens only when a ledger has been
charged. Noise is added to whole numbers and the division is done once, afterwards; so neither the order of
the rows, nor rounding, nor overflow can make a difference that the sensitivity does not count.

"replace": one person's record changes, the number of records n is public. "add_remove": one person comes or
goes, n is private. A missing value (NaN) that is dropped makes the number of values private under either
relation.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np

from toolkit.central.steps import Bounds, written
from toolkit.core.arrays import Array, Steps
from toolkit.core.checks import exact, refuse, whole
from toolkit.core.checks import neighbors as check_neighbors

MOST_RANK_UNITS = 2**20
"""The largest denominator of a quantile: 2**20 times 2**42 rows, which are 32 TiB of floats, is below 2**63.
"""


@dataclass(frozen=True, eq=False)
class Statistic:
    """A whole number of a column: how far one person can move it (L1), how to compute it, and its unit.

    The statistic in the column's unit is offset + factor * of(column), where the column is what the function
    says.
    """

    sensitivity: int
    of: Callable[[Any], int | Steps]
    factor: Fraction = Fraction(1)
    offset: Fraction = Fraction(0)


def count() -> Statistic:
    """How many records match, of a mask; one person moves it by 1 under both relations."""
    return Statistic(1, lambda matches: int(np.count_nonzero(matches)))


def total(bounds: Bounds, neighbors: str, n: int | None = None) -> Statistic:
    """The sum, of `Sums` in which missing values are filled or add nothing; n is public under "replace", and
    asked for there.
    """
    if check_neighbors(neighbors) == "replace":
        rows = whole(n, "n", least=0)
        return Statistic(bounds.span, lambda sums: sums.first, bounds.step, rows * bounds.least * bounds.step)
    furthest = max(abs(bounds.least), abs(bounds.most))
    return Statistic(furthest, lambda sums: sums.first + sums.number * bounds.least, bounds.step)


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
    return Statistic(
        reach, lambda sums: rows * sums.second - sums.first**2, bounds.step**2 / (rows * (rows - 1))
    )


def moments(bounds: Bounds, powers: Sequence[int], neighbors: str) -> tuple[Statistic, ...]:
    """Number, sum and sum of squares, as asked for, of centred steps, of their `Sums`, when their number is
    private.

    Centred steps lie in -half … half, so one person who comes or goes moves the sum of powers p by at most
    half**p. Under "replace" a value may also change from one end to the other, which moves an odd power by
    twice that.
    """
    half = -(-bounds.span // 2)
    doubled = 2 if check_neighbors(neighbors) == "replace" else 1
    of = {
        0: lambda sums: sums.number,
        1: lambda sums: sums.first - half * sums.number,
        2: lambda sums: sums.second - 2 * half * sums.first + half**2 * sums.number,
    }
    return tuple(Statistic(half**p * (doubled if p % 2 else 1), of[p], bounds.step**p) for p in powers)


def histogram(options: int, neighbors: str) -> Statistic:
    """How many values fall into each option, of codes, below 0 for none of them. One person moves it by 1, or
    2 if replaced.
    """

    def counted(codes: Steps) -> Steps:
        return np.bincount(codes + 1, minlength=options + 1)[1:].astype(np.int64)

    return Statistic(2 if check_neighbors(neighbors) == "replace" else 1, counted)


def binned(edges: Iterable[Any], neighbors: str) -> tuple[Statistic, tuple[str, ...]]:
    """How many numbers lie between increasing edges, and what the bins are called; the last bin includes its
    upper edge.

    >>> statistic, names = binned([0, 5, 10], "replace")
    >>> statistic.of(np.array([0.0, 5.0, 10.0, 11.0, np.nan])), names
    (array([1, 2]), ('0 to 5', '5 to 10'))
    """
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
    names = tuple(f"{written(low)} to {written(high)}" for low, high in pairwise(limits.tolist()))
    closed = np.append(limits[:-1], np.nextafter(limits[-1], np.inf))

    def counted(values: Array) -> Steps:
        places = np.searchsorted(closed, values, side="right")  # 0 below, len(closed) above and for NaN
        return np.bincount(places, minlength=len(closed) + 1)[1:-1].astype(np.int64)

    return Statistic(2 if check_neighbors(neighbors) == "replace" else 1, counted), names


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
