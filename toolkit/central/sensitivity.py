"""Sensitivity: the largest change of a statistic that one person can cause, which noise must hide.

Two tables are neighbors if they differ in one person. Under "replace" one person's record changes, and the number of
records n is public. Under "add_remove" one person is added or removed, and n is private. Every function requires the
caller to choose one of the two relations.

If a person has several rows, these rows can fall into several cells of a table. Under "add_remove" they are added or
removed. Under "replace" they become different rows, possibly in different cells. So the table loses the old rows and
gains the new rows, unless it has only one cell.

Sensitivities are exact fractions. The L1 norm is the sum of the absolute changes of all entries and is used for Laplace
noise. The L2 norm is the root of the sum of their squares and is used for Gaussian noise.
"""

import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal, TypeAlias

import numpy as np

from toolkit.core.arrays import ArrayLike
from toolkit.core.checks import Number, check_bounds, check_choice, check_integer, check_neighbors, reject
from toolkit.frames.persons import ONE_ROW, Caps

Neighbors: TypeAlias = Literal["replace", "add_remove"]
Table: TypeAlias = tuple[Any, ...]


@dataclass(frozen=True, repr=False)
class WorstCase:
    """The largest change between neighbors that a search found, which is a lower bound on the sensitivity.

    Parameters
    ----------
    at_least : Fraction or float
        The largest change found; it is exact if the function uses exact arithmetic.
    table : tuple
        The first table of the pair.
    neighbor : tuple
        The second table of the pair.
    norm : {"l1", "l2"}
        The norm of the change.
    neighbors : {"replace", "add_remove"}
        The neighbor relation.
    n_pairs : int
        The number of pairs that were compared.
    is_complete : bool
        Whether all pairs of tables of n rows with the given values were compared.

    Examples
    --------
    >>> from toolkit.central import worst_case
    >>> worst_case(sum, values=[0, 1], n=3, neighbors="replace").at_least
    1
    """

    at_least: Fraction | float
    table: Table
    neighbor: Table
    norm: str
    neighbors: str
    n_pairs: int
    is_complete: bool

    def __repr__(self) -> str:
        return (
            f"<WorstCase: sensitivity at least {float(self.at_least):.6g} ({self.norm}, "
            f"{self.neighbors}); {self._caveat()}>"
        )

    def _repr_html_(self) -> str:
        return (
            f"<p>Sensitivity at least <b>{float(self.at_least):.6g}</b> ({self.norm}, {self.neighbors}). "
            f"{self._caveat()}.</p>"
        )

    def _caveat(self) -> str:
        which = "all" if self.is_complete else "a random part of the"
        return f"a lower bound from {which} {self.n_pairs:,} pairs of small tables, not a proof"


def worst_case(
    function: Callable[[Sequence[Any]], Any],
    values: Sequence[Any],
    n: int,
    *,
    neighbors: Neighbors,
    norm: str = "l1",
    limit: int = 50_000,
    rng: np.random.Generator | None = None,
) -> WorstCase:
    """Search neighboring tables for the largest change of a function.

    The search compares all pairs if their number is at most `limit`, otherwise `limit` random pairs. With other values
    or more rows the function may change more. So the result is a lower bound on the sensitivity: it can disprove a
    smaller claimed sensitivity, but it cannot prove a claim.

    Parameters
    ----------
    function : callable
        A function of a list of rows that returns a number or a sequence of numbers.
    values : sequence
        The possible values of a row; include the extremes.
    n : int
        The number of rows of a table; under "add_remove" its neighbor has n - 1 rows.
    neighbors : {"replace", "add_remove"}
        The neighbor relation.
    norm : {"l1", "l2"}
        The norm of the change.
    limit : int
        The maximum number of pairs to compare.
    rng : Generator, optional
        The generator for the random search; the default has a fixed seed, so that the search is reproducible.

    Returns
    -------
    WorstCase
        The largest change and the pair of tables.

    Examples
    --------
    >>> worst_case(lambda rows: Fraction(sum(rows), len(rows)), values=[0, 1], n=4, neighbors="replace")
    <WorstCase: sensitivity at least 0.25 (l1, replace); a lower bound from all 32 pairs ...>
    """
    relation, size = check_neighbors(neighbors), check_integer(n, "n")
    check_choice(norm, "norm", ("l1", "l2"))
    options = list(values)
    if len(options) < 2 and relation == "replace":
        reject("`values` must hold at least two values", len(options), "nothing could be replaced")
    number = _count_pairs(len(options), size, relation)
    complete = number <= check_integer(limit, "limit")
    source = np.random.default_rng(0) if rng is None else rng
    pairs = _all_pairs(options, size, relation) if complete else _random_pairs(options, size, relation, limit, source)
    results: dict[Table, Any] = {}
    best: tuple[Any, Table, Table] | None = None
    for indices, neighbor_indices in pairs:
        for key in (indices, neighbor_indices):
            if key not in results:
                results[key] = function([options[i] for i in key])
        change = _distance(results[indices], results[neighbor_indices], norm)
        if best is None or change > best[0]:
            best = (change, indices, neighbor_indices)
    change, table, neighbor = best or (Fraction(0), (), ())
    rows, neighbor_rows = (tuple(options[i] for i in key) for key in (table, neighbor))
    return WorstCase(change, rows, neighbor_rows, norm, relation, number if complete else limit, complete)


def _count_pairs(n_options: int, n: int, relation: str) -> int:
    tables: int = n_options**n
    return tables * n * (n_options - 1) // 2 if relation == "replace" else tables * n


def _all_pairs(options: Sequence[Any], n: int, relation: str) -> Iterator[tuple[Table, Table]]:
    for table in itertools.product(range(len(options)), repeat=n):
        for index in range(n):
            if relation == "add_remove":
                yield table, table[:index] + table[index + 1 :]
                continue
            for new in range(table[index]):  # so that each pair occurs once
                yield table, (*table[:index], new, *table[index + 1 :])


def _random_pairs(
    options: Sequence[Any], n: int, relation: str, limit: int, rng: np.random.Generator
) -> Iterator[tuple[Table, Table]]:
    for _ in range(limit):
        table = tuple(rng.integers(len(options), size=n).tolist())
        index = int(rng.integers(n))
        if relation == "add_remove":
            yield table, table[:index] + table[index + 1 :]
        else:
            new = (table[index] + 1 + int(rng.integers(len(options) - 1))) % len(options)
            yield table, (*table[:index], new, *table[index + 1 :])


def _distance(first_result: ArrayLike, second_result: ArrayLike, norm: str) -> Any:
    """Return the distance between two results, exact for integers and fractions."""
    pairs = zip(np.atleast_1d(first_result).tolist(), np.atleast_1d(second_result).tolist(), strict=True)
    moves = [abs(a - b) for a, b in pairs]
    if norm == "l1" or len(moves) == 1:
        return sum(moves)
    return math.sqrt(sum(move * move for move in moves))


NumberPair = tuple[Number, Number]


@dataclass(frozen=True)
class Sensitivity:
    """The largest change that one person can cause, in the L1 and the L2 norm.

    Parameters
    ----------
    l1 : Fraction
        The sensitivity in the L1 norm, for Laplace noise.
    l2_squared : Fraction
        The squared sensitivity in the L2 norm, for Gaussian noise; it is exact even if `l2` is irrational.
    neighbors : {"replace", "add_remove"}
        The neighbor relation.

    Examples
    --------
    >>> histogram(neighbors="replace")
    Sensitivity(l1=2, l2=1.414, neighbors='replace')
    """

    l1: Fraction
    l2_squared: Fraction
    neighbors: str

    @property
    def l2(self) -> Fraction:
        """The L2 sensitivity; if irrational, it is rounded up at the sixtieth binary digit."""
        return sqrt_rounded_up(self.l2_squared)

    def scaled_by_rows(self, k: int) -> "Sensitivity":
        """Return the sensitivity for people with up to k rows each.

        Parameters
        ----------
        k : int
            The maximum number of rows per person.

        Returns
        -------
        Sensitivity
            The sensitivity, k times as large in both norms.
        """
        times = check_integer(k, "k")
        return Sensitivity(self.l1 * times, self.l2_squared * times**2, self.neighbors)

    def __repr__(self) -> str:
        return f"Sensitivity(l1={float(self.l1):.4g}, l2={float(self.l2):.4g}, neighbors={self.neighbors!r})"


def sqrt_rounded_up(square: int | Fraction) -> Fraction:
    """Return the square root of a rational number, rounded up to a multiple of 2**-60 if it is irrational."""
    root = Fraction(math.isqrt(square.numerator), math.isqrt(square.denominator))
    return root if root**2 == square else Fraction(math.isqrt(math.ceil(square * 4**60)) + 1, 2**60)


def count(*, neighbors: Neighbors) -> Sensitivity:
    """Return the sensitivity of the number of people with a property, which is 1 under both relations."""
    return _scalar_sensitivity(Fraction(1), check_neighbors(neighbors))


def counts(*groups: Sequence[str], neighbors: Neighbors) -> Sensitivity:
    """Return the joint sensitivity of several counts; the counts in a group are mutually exclusive.

    Adding or removing a person changes one count of each group by 1. A changed answer changes two counts of a group by
    1 each, if the group has several counts.
    """
    relation = check_neighbors(neighbors)
    if not groups or any(isinstance(group, str) or not len(group) for group in groups):
        reject("each group must be a list of counts", "no list", "the counts of a group exclude each other", TypeError)
    # Within a group, a changed answer changes two counts by 1 each, so the L1 and the squared L2 change are both 2.
    moves = sum(2 if relation == "replace" and len(group) > 1 else 1 for group in groups)
    return Sensitivity(Fraction(moves), Fraction(moves), relation)


def histogram(*, neighbors: Neighbors) -> Sensitivity:
    """Return the sensitivity of the counts of all options of one question.

    It is 1 if a person is added or removed. If an answer changes, it is 2 in the L1 norm and sqrt(2) in the L2 norm.
    """
    return counts(["one option", "another"], neighbors=neighbors)


def total(bounds: NumberPair, *, neighbors: Neighbors) -> Sensitivity:
    """Return the sensitivity of a sum: high - low under "replace", otherwise the larger of |low| and |high|."""
    low, high = check_bounds(bounds)
    relation = check_neighbors(neighbors)
    return _scalar_sensitivity(high - low if relation == "replace" else max(abs(low), abs(high)), relation)


def mean(bounds: NumberPair, n: int, *, neighbors: Neighbors) -> Sensitivity:
    """Return the sensitivity of the mean of n numbers under "replace": (high - low) / n."""
    low, high = check_bounds(bounds)
    return _scalar_sensitivity((high - low) / check_integer(n, "n"), _check_public_n(neighbors, "a mean"))


def variance(bounds: NumberPair, n: int, *, neighbors: Neighbors, ddof: int = 1) -> Sensitivity:
    """Return the sensitivity of a variance under "replace": (high - low)**2 / n, times (n-1) / n for ddof=0.

    The sum of squared deviations times n is the sum of (x_i - x_j)**2 over all pairs, and each number is in n - 1
    pairs.
    """
    low, high = check_bounds(bounds)
    size = check_integer(n, "n", minimum=2)
    if ddof not in (0, 1):
        reject("`ddof` must be 0 or 1", ddof, "the sum of squares is divided by n - ddof")
    return _scalar_sensitivity(
        (high - low) ** 2 * (size - 1) / (size * (size - ddof)), _check_public_n(neighbors, "a variance")
    )


def table_counts(n_cells: int, neighbors: str, caps: Caps = ONE_ROW) -> Sensitivity:
    """Return the sensitivity of the counts of disjoint cells.

    Under "replace" the change is largest if the old and the new rows of the person share no cell. If they share a cell,
    removing the smaller of the two counts in this cell increases the change.
    """
    if check_neighbors(neighbors) == "add_remove":
        return _make_sensitivity(caps.max_rows(n_cells), caps.max_sum_of_squares(n_cells), neighbors)
    return _make_sensitivity(
        _disjoint_change(caps.max_rows, n_cells), _disjoint_change(caps.max_sum_of_squares, n_cells), neighbors
    )


def table_shares(n_cells: int, neighbors: str, caps: Caps = ONE_ROW) -> Sensitivity:
    """Return the sensitivity of several sums per cell whose terms are non-negative and add up to 1 for each row.

    Two rows in the same cell can differ in every term, so under "replace" the sensitivity does not depend on the number
    of cells.
    """
    twice = 2 if check_neighbors(neighbors) == "replace" else 1
    return _make_sensitivity(twice * caps.max_rows(n_cells), twice * caps.max_sum_of_squares(n_cells), neighbors)


def table_sums(low: Fraction, high: Fraction, n_cells: int, neighbors: str, caps: Caps = ONE_ROW) -> Sensitivity:
    """Return the sensitivity of sums of numbers from low to high in disjoint cells; rows outside all cells add nothing.

    The result is exact for one row per person, and for numbers of one sign. For several rows and both signs under
    "replace", it is an upper bound. In a cell, p new rows at `high` and q old rows at `low` give a squared change of (p
    high - q low)**2, and the bound replaces 2 p q by p**2 + q**2.
    """
    least, most = min(Fraction(low), Fraction(0)), max(Fraction(high), Fraction(0))
    far = max(-least, most)
    if check_neighbors(neighbors) == "add_remove":
        return _make_sensitivity(far * caps.max_rows(n_cells), far**2 * caps.max_sum_of_squares(n_cells), neighbors)
    if n_cells == 1:
        span = (most - least) * caps.max_rows(1)
        return _make_sensitivity(span, span**2, neighbors)
    if caps.max_rows(n_cells) == 1:
        return _make_sensitivity(2 * far, max((most - least) ** 2, 2 * far**2), neighbors)
    if 0 in (least, most):
        apart = table_counts(n_cells, neighbors, caps)
        return _make_sensitivity(far * apart.l1, far**2 * apart.l2_squared, neighbors)
    square = 2 * (far**2 - least * most) * caps.max_sum_of_squares(n_cells)
    return _make_sensitivity(2 * far * caps.max_rows(n_cells), square, neighbors)


def _disjoint_change(change: Callable[[int], int], n_cells: int) -> int:
    """Return the largest change if half of the cells lose rows and the other cells gain rows."""
    # The bound is concave in the number of cells.
    return change(n_cells // 2) + change(n_cells - n_cells // 2)


def _make_sensitivity(l1: int | Fraction, l2_squared: int | Fraction, neighbors: str) -> Sensitivity:
    return Sensitivity(Fraction(l1), Fraction(l2_squared), neighbors)


def covariance(first_bounds: NumberPair, second_bounds: NumberPair, n: int, *, neighbors: Neighbors) -> Sensitivity:
    """Return the sensitivity of the covariance of n pairs under "replace": the product of both ranges, divided by n.

    One pair (x, y) contributes n - 1 times (x - a)(y - b) to n * sum x y - sum x * sum y, where a and b are the means
    of the other pairs. The maximum and the minimum of this product occur at corners of the bounds and differ by at most
    the product of the ranges.
    """
    (low, high), (least, most) = check_bounds(first_bounds), check_bounds(second_bounds)
    size = check_integer(n, "n", minimum=2)
    return _scalar_sensitivity((high - low) * (most - least) / size, _check_public_n(neighbors, "a covariance"))


def _scalar_sensitivity(change: Fraction, relation: str) -> Sensitivity:
    return Sensitivity(change, change**2, relation)


def _check_public_n(neighbors: Neighbors, statistic: str) -> str:
    relation = check_neighbors(neighbors)
    if relation == "add_remove":
        remedy = "otherwise n is private; release the sum and the count, and divide"
        reject(f"{statistic} must have a public n", "neighbors='add_remove'", remedy)
    return relation
