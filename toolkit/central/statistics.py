"""Statistics of one column in whole steps: clamp, round to a public grid, add up exactly.

Each function returns a `Statistic`: integers, the exact distance by which one person can move them, and the way back to
the column's unit. Noise is added to the integers and the division is done once, afterwards; so neither the order of the
rows, nor rounding, nor overflow can make a difference that the sensitivity does not count.

"replace": one person's record changes, the number of records n is public. "add_remove": one person comes or goes, n is
private. A missing value that is dropped makes the number of values private under either relation.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from toolkit.core.checks import Number, exact, positive, refuse
from toolkit.core.checks import neighbors as check_neighbors
from toolkit.core.enclosure import floor_log2

Array = npt.NDArray[np.float64]
Steps = npt.NDArray[np.int64]

SUM_BITS = 32
"""A grid of 2**32 to 2**33 steps over the bounds: a value moves by at most 2**-33 of their distance."""
SQUARE_BITS = 14
"""Squares need a coarser grid: 2**14 to 2**15 steps."""
QUANTILE_BITS = 16
"""A private quantile is found among 2**16 to 2**17 candidates: more would only dilute the choice."""
_MOST_ROWS = 2**29  # times 2**33 steps is below 2**63: no sum can overflow


@dataclass(frozen=True, eq=False)
class Statistic:
    """Whole numbers, how far one person can move them (L1), and the unit: the statistic is offset + factor * value."""

    value: int | Steps
    sensitivity: int
    factor: Fraction = Fraction(1)
    offset: Fraction = Fraction(0)


@dataclass(frozen=True)
class Bounds:
    """Limits that values are clamped to, and the grid that they are rounded to; public, and chosen without the data."""

    low: Fraction
    high: Fraction
    step: Fraction

    @classmethod
    def of(cls, bounds: Any, bits: int = SUM_BITS) -> "Bounds":
        try:
            low, high = (exact(limit, "bounds") for limit in bounds)
        except (TypeError, ValueError) as error:
            refuse("`bounds` must be two finite numbers", _shown(bounds), f"values are clamped to them ({error})")
        if low >= high:
            refuse("the lower of `bounds` must be below the upper", _shown(bounds), "values are clamped to them")
        return cls(low, high, Fraction(2) ** (floor_log2(high - low) - bits))

    def with_step(self, step: Number) -> "Bounds":
        """The same limits on a grid of the analyst's choice, of at most 2**20 steps."""
        width = positive(step, "step")
        if not (self.high - self.low) / 2**20 <= width <= self.high - self.low:
            refuse("`step` must be between 2**-20 of the distance of the bounds and all of it", step, "it spaces the candidates")
        return Bounds(self.low, self.high, width)

    @property
    def least(self) -> int:
        return _nearest(self.low / self.step)

    @property
    def most(self) -> int:
        return _nearest(self.high / self.step)

    @property
    def span(self) -> int:
        return self.most - self.least

    def steps(self, values: Array) -> Steps:
        """Whole steps above the lower limit, 0 … span, one for each value; each depends on its own value alone."""
        if len(values) > _MOST_ROWS:
            refuse(f"a column must have at most {_MOST_ROWS:,} rows", f"{len(values):,}", "their sum might overflow")
        with np.errstate(over="ignore"):
            scaled = (np.clip(values, float(self.low), float(self.high)) - float(self.low)) / float(self.step)
        return np.clip(np.floor(scaled + 0.5), 0, self.span).astype(np.int64)


def count(matches: npt.NDArray[np.bool_]) -> Statistic:
    """How many records match; one person moves it by 1 under both relations."""
    return Statistic(int(np.count_nonzero(matches)), 1)


def total(values: Array, bounds: Bounds, neighbors: str) -> Statistic:
    """The sum of the values; those that are missing must be filled or left out before."""
    steps = bounds.steps(values)
    if check_neighbors(neighbors) == "replace":
        return Statistic(int(steps.sum()), bounds.span, bounds.step, len(values) * bounds.least * bounds.step)
    furthest = max(abs(bounds.least), abs(bounds.most))
    return Statistic(int(steps.sum()) + len(values) * bounds.least, furthest, bounds.step)


def mean(values: Array, bounds: Bounds) -> Statistic:
    """The mean of a public number of values, under "replace": one person moves it by (high - low) / n."""
    n = _some(values, 1)
    steps = bounds.steps(values)
    return Statistic(int(steps.sum()), bounds.span, bounds.step / n, bounds.least * bounds.step)


def variance(values: Array, bounds: Bounds) -> Statistic:
    """The sample variance of a public number of values, under "replace".

    n * sum s**2 - (sum s)**2 is the sum of (s_i - s_j)**2 over all pairs; a new s_i changes n - 1 of them, each by at
    most span**2. The variance is that divided by n (n-1), so one person moves it by (high - low)**2 / n.
    """
    n = _some(values, 2)
    steps = bounds.steps(values)
    pairs = n * _sum_of_squares(steps) - int(steps.sum()) ** 2
    return Statistic(pairs, (n - 1) * bounds.span**2, bounds.step**2 / (n * (n - 1)))


def moments(values: Array, bounds: Bounds, powers: Sequence[int], neighbors: str) -> tuple[Statistic, ...]:
    """Number, sum and sum of squares, as asked for, of centred values, when their number is private.

    Centred steps lie in -half … half, so one person who comes or goes moves the sum of powers p by at most half**p. Under
    "replace" a value may also change from one end to the other, which moves an odd power by twice that.
    """
    half = -(-bounds.span // 2)
    steps = bounds.steps(values) - half
    sums = {0: len(values), 1: int(steps.sum()), 2: _sum_of_squares(steps)}
    doubled = 2 if check_neighbors(neighbors) == "replace" else 1
    return tuple(Statistic(sums[p], half**p * (doubled if p % 2 else 1), bounds.step**p) for p in powers)


def histogram(codes: Steps, options: int, neighbors: str) -> Statistic:
    """How many values fall into each option; codes below 0 are none of them. One person moves it by 1, or 2 if replaced."""
    counts = np.bincount(codes[codes >= 0], minlength=options).astype(np.int64)
    return Statistic(counts, 2 if check_neighbors(neighbors) == "replace" else 1)


def rank_scores(values: Array, bounds: Bounds, q: Fraction, neighbors: str) -> tuple[Steps, int]:
    """How well each step 0 … span of the grid serves as the quantile q, and how far one person can move a score.

    A score is minus the distance of the step's rank from the wanted one, times the denominator of q so that it is whole;
    a step that many values share has all their ranks at once, so ties cost nothing. Steps are counted, not sorted: the
    time depends on the number of rows and steps alone.
    """
    unit, wanted = q.denominator, q.numerator * len(values)
    counts = np.bincount(bounds.steps(values), minlength=bounds.span + 1)
    upto = np.cumsum(counts)
    distance = np.maximum(unit * (upto - counts) - wanted, wanted - unit * upto)
    comes_or_goes = max(q.numerator, unit - q.numerator)
    return -np.maximum(distance, 0), comes_or_goes if check_neighbors(neighbors) == "add_remove" else unit


def bin_codes(values: Array, edges: Any) -> tuple[Steps, tuple[str, ...]]:
    """The bin of each value between increasing edges, -1 outside; the last bin includes its upper edge.

    >>> bin_codes(np.array([0.0, 5.0, 10.0, 11.0]), [0, 5, 10])
    (array([ 0,  1,  1, -1]), ('0 to 5', '5 to 10'))
    """
    limits = np.array([float(exact(edge, "edges")) for edge in edges])
    if len(limits) < 2 or np.any(np.diff(limits) <= 0):
        refuse("`edges` must be at least two increasing numbers", f"{len(limits)} numbers", "a bin lies between two edges")
    codes = np.searchsorted(limits, values, side="right") - 1
    codes[values == limits[-1]] = len(limits) - 2
    codes[~((values >= limits[0]) & (values <= limits[-1]))] = -1
    return codes.astype(np.int64), tuple(f"{low:g} to {high:g}" for low, high in pairwise(limits))


def _sum_of_squares(steps: Steps) -> int:
    """Exact for any number of rows: 2**14 squares below 2**32 fit into 64 bits, and the parts are added without a limit."""
    parts = (steps[i : i + 2**14] for i in range(0, len(steps), 2**14))
    return sum(int(np.dot(part, part)) for part in parts)


def _some(values: Array, least: int) -> int:
    if len(values) < least:
        refuse(f"a column must have at least {least} rows", len(values), "under 'replace' their number is public")
    return len(values)


def _nearest(number: Fraction) -> int:
    return int((2 * number + 1) // 2)


def _shown(bounds: object) -> str:
    return repr(bounds) if isinstance(bounds, tuple | list) else type(bounds).__name__
