"""Sensitivity: the largest change of a statistic that one person can cause, which noise must hide.

Two tables are neighbors if they differ in one person. "replace": one person's record changes, the number of records n
is public. "add_remove": one person comes or goes, n is private. Every function here asks which of the two is meant.

Where a person has several rows, they fall into cells of a table: "add_remove": they come or go; "replace": they become
other rows, which may lie in other cells. So a table moves by what leaves and by what comes, unless it has one cell.

Sensitivities are exact fractions. The L1 norm adds up the moves of all entries (for Laplace noise), the L2
norm is their length (for Gaussian noise).
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
    """The largest change between neighbors that a search found, and where; a lower bound of the sensitivity.

    Parameters
    ----------
    at_least : Fraction or float
        The largest change found, exact if the function is.
    table : tuple
        One of the two tables.
    neighbor : tuple
        The other.
    norm : str
        "l1" or "l2".
    neighbors : str
        "replace" or "add_remove".
    tried : int
        How many pairs were compared.
    complete : bool
        Whether these were all pairs of tables of n rows with the given values.

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
    tried: int
    complete: bool

    def __repr__(self) -> str:
        return (
            f"<WorstCase: sensitivity at least {float(self.at_least):.6g} ({self.norm}, "
            f"{self.neighbors}); {self._footing()}>"
        )

    def _repr_html_(self) -> str:
        return (
            f"<p>Sensitivity at least <b>{float(self.at_least):.6g}</b> ({self.norm}, {self.neighbors}). "
            f"{self._footing()}.</p>"
        )

    def _footing(self) -> str:
        which = "all" if self.complete else "a random part of the"
        return f"a lower bound from {which} {self.tried:,} pairs of small tables, not a proof"


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

    All pairs if there are at most `limit`, else that many at random. Other values or more rows may move the function
    further: what is found is a lower bound of the sensitivity, and disproves a smaller claim, but never proves one.

    Parameters
    ----------
    function : callable
        Of a list of rows; returns a number or a sequence of numbers.
    values : sequence
        What a row may be; extremes are where to look.
    n : int
        Rows of a table; under "add_remove" its neighbor has n - 1.
    neighbors : str
        "replace" or "add_remove".
    norm : str
        "l1" or "l2".
    limit : int
        The most pairs to compare.
    rng : Generator, optional
        For the random search; a fixed one if left out, so that the search can be repeated.

    Returns
    -------
    WorstCase
        The largest change, and the pair of tables.

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
    number = _pairs_in_all(len(options), size, relation)
    complete = number <= check_integer(limit, "limit")
    source = np.random.default_rng(0) if rng is None else rng
    pairs = _all_pairs(options, size, relation) if complete else _some_pairs(options, size, relation, limit, source)
    results: dict[Table, Any] = {}
    best: tuple[Any, Table, Table] | None = None
    for indices, other in pairs:
        for key in (indices, other):
            if key not in results:
                results[key] = function([options[i] for i in key])
        change = _distance(results[indices], results[other], norm)
        if best is None or change > best[0]:
            best = (change, indices, other)
    change, table, neighbor = best or (Fraction(0), (), ())
    rows, others = (tuple(options[i] for i in key) for key in (table, neighbor))
    return WorstCase(change, rows, others, norm, relation, number if complete else limit, complete)


def _pairs_in_all(options: int, n: int, relation: str) -> int:
    tables: int = options**n
    return tables * n * (options - 1) // 2 if relation == "replace" else tables * n


def _all_pairs(options: Sequence[Any], n: int, relation: str) -> Iterator[tuple[Table, Table]]:
    for table in itertools.product(range(len(options)), repeat=n):
        for index in range(n):
            if relation == "add_remove":
                yield table, table[:index] + table[index + 1 :]
                continue
            for other in range(table[index]):  # each pair once
                yield table, (*table[:index], other, *table[index + 1 :])


def _some_pairs(
    options: Sequence[Any], n: int, relation: str, limit: int, rng: np.random.Generator
) -> Iterator[tuple[Table, Table]]:
    for _ in range(limit):
        table = tuple(rng.integers(len(options), size=n).tolist())
        index = int(rng.integers(n))
        if relation == "add_remove":
            yield table, table[:index] + table[index + 1 :]
        else:
            other = (table[index] + 1 + int(rng.integers(len(options) - 1))) % len(options)
            yield table, (*table[:index], other, *table[index + 1 :])


def _distance(first: ArrayLike, second: ArrayLike, norm: str) -> Any:
    """Return the distance between two results, exact for integers and fractions."""
    pairs = zip(np.atleast_1d(first).tolist(), np.atleast_1d(second).tolist(), strict=True)
    moves = [abs(a - b) for a, b in pairs]
    if norm == "l1" or len(moves) == 1:
        return sum(moves)
    return math.sqrt(sum(move * move for move in moves))


Bounds = tuple[Number, Number]


@dataclass(frozen=True)
class Sensitivity:
    """The largest change that one person can cause, in the L1 and the L2 norm.

    Parameters
    ----------
    l1 : Fraction
        In the L1 norm, for Laplace noise.
    l2_squared : Fraction
        In the L2 norm, for Gaussian noise; squared it is exact where `l2` is a root.
    neighbors : str
        "replace" or "add_remove".

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
        """The L2 sensitivity; an irrational root is rounded up at the sixtieth binary digit."""
        return root_up(self.l2_squared)

    def rows(self, k: int) -> "Sensitivity":
        """Multiply by the number of rows that a person may have.

        Parameters
        ----------
        k : int
            At most this number of rows per person.

        Returns
        -------
        Sensitivity
            The move is k times as far in both norms.
        """
        times = check_integer(k, "k")
        return Sensitivity(self.l1 * times, self.l2_squared * times**2, self.neighbors)

    def __repr__(self) -> str:
        return f"Sensitivity(l1={float(self.l1):.4g}, l2={float(self.l2):.4g}, neighbors={self.neighbors!r})"


def root_up(square: int | Fraction) -> Fraction:
    """Return the root of a rational number, rounded up to 2**-60 if it is irrational."""
    root = Fraction(math.isqrt(square.numerator), math.isqrt(square.denominator))
    return root if root**2 == square else Fraction(math.isqrt(math.ceil(square * 4**60)) + 1, 2**60)


def count(*, neighbors: Neighbors) -> Sensitivity:
    """Return the sensitivity of the number of people with a property, which is 1 under both relations."""
    return _scalar(Fraction(1), check_neighbors(neighbors))


def counts(*groups: Sequence[str], neighbors: Neighbors) -> Sensitivity:
    """Return the sensitivity of several counts together; each group lists counts that exclude one another.

    Coming or going moves one count of each group by 1. A new answer moves a group of several by 2, from one to another.
    """
    relation = check_neighbors(neighbors)
    if not groups or any(isinstance(group, str) or not len(group) for group in groups):
        reject("each group must be a list of counts", "no list", "a group is what excludes one another", TypeError)
    # Within a group a new answer moves two counts by one each: L1 and squared length are both 2.
    moves = sum(2 if relation == "replace" and len(group) > 1 else 1 for group in groups)
    return Sensitivity(Fraction(moves), Fraction(moves), relation)


def histogram(*, neighbors: Neighbors) -> Sensitivity:
    """Counts of all options of one question: 1 if a person comes or goes, 2 (length sqrt 2) if an answer changes."""
    return counts(["one option", "another"], neighbors=neighbors)


def total(bounds: Bounds, *, neighbors: Neighbors) -> Sensitivity:
    """Return the sensitivity of a sum: high - low under "replace", else the larger of |low| and |high|."""
    low, high = check_bounds(bounds)
    relation = check_neighbors(neighbors)
    return _scalar(high - low if relation == "replace" else max(abs(low), abs(high)), relation)


def mean(bounds: Bounds, n: int, *, neighbors: Neighbors) -> Sensitivity:
    """Return the sensitivity of the mean of n numbers under "replace": (high - low) / n."""
    low, high = check_bounds(bounds)
    return _scalar((high - low) / check_integer(n, "n"), _with_public_n(neighbors, "a mean"))


def variance(bounds: Bounds, n: int, *, neighbors: Neighbors, ddof: int = 1) -> Sensitivity:
    """Return the sensitivity of a variance under "replace": (high - low)**2 / n, times (n-1) / n for ddof=0.

    n times the sum of squared deviations is the sum of (x_i - x_j)**2 over all pairs; one number is in n - 1 of them.
    """
    low, high = check_bounds(bounds)
    size = check_integer(n, "n", minimum=2)
    if ddof not in (0, 1):
        reject("`ddof` must be 0 or 1", ddof, "the sum of squares is divided by n - ddof")
    return _scalar((high - low) ** 2 * (size - 1) / (size * (size - ddof)), _with_public_n(neighbors, "a variance"))


def table_counts(cells: int, neighbors: str, caps: Caps = ONE_ROW) -> Sensitivity:
    """Return the sensitivity of the counts of disjoint cells.

    Under "replace" the two tables differ most where one person's rows before and after share no cell: where they do,
    taking the smaller count away moves it further.
    """
    if check_neighbors(neighbors) == "add_remove":
        return _sensitivity(caps.max_rows(cells), caps.max_sum_of_squares(cells), neighbors)
    return _sensitivity(_apart(caps.max_rows, cells), _apart(caps.max_sum_of_squares, cells), neighbors)


def table_shares(cells: int, neighbors: str, caps: Caps = ONE_ROW) -> Sensitivity:
    """Return the sensitivity of several sums per cell whose terms are non-negative and add up to 1 for each row.

    Two rows of one cell can differ in every term, so under "replace" one cell is no better than many.
    """
    twice = 2 if check_neighbors(neighbors) == "replace" else 1
    return _sensitivity(twice * caps.max_rows(cells), twice * caps.max_sum_of_squares(cells), neighbors)


def table_sums(low: Fraction, high: Fraction, cells: int, neighbors: str, caps: Caps = ONE_ROW) -> Sensitivity:
    """Return the sensitivity of sums of numbers from low to high in disjoint cells; rows in no cell add nothing.

    All is exact for one row per person, and for numbers of one sign. Of several rows of both signs under "replace" it
    is safe, and may be more than what is possible: p rows at `high` against q at `low` in a cell move it by (p high - q
    low)**2, and the sum of all 2 p q is at most that of p**2 + q**2.
    """
    least, most = min(Fraction(low), Fraction(0)), max(Fraction(high), Fraction(0))
    far = max(-least, most)
    if check_neighbors(neighbors) == "add_remove":
        return _sensitivity(far * caps.max_rows(cells), far**2 * caps.max_sum_of_squares(cells), neighbors)
    if cells == 1:
        span = (most - least) * caps.max_rows(1)
        return _sensitivity(span, span**2, neighbors)
    if caps.max_rows(cells) == 1:
        return _sensitivity(2 * far, max((most - least) ** 2, 2 * far**2), neighbors)
    if 0 in (least, most):
        apart = table_counts(cells, neighbors, caps)
        return _sensitivity(far * apart.l1, far**2 * apart.l2_squared, neighbors)
    square = 2 * (far**2 - least * most) * caps.max_sum_of_squares(cells)
    return _sensitivity(2 * far * caps.max_rows(cells), square, neighbors)


def _apart(change: Callable[[int], int], cells: int) -> int:
    """Return the largest change of cells when one half of them loses rows and the other half gains them."""
    # The bound is concave in the number of cells.
    return change(cells // 2) + change(cells - cells // 2)


def _sensitivity(l1: int | Fraction, squared: int | Fraction, neighbors: str) -> Sensitivity:
    return Sensitivity(Fraction(l1), Fraction(squared), neighbors)


def covariance(first: Bounds, second: Bounds, n: int, *, neighbors: Neighbors) -> Sensitivity:
    """Return the sensitivity of the sample covariance of n pairs under "replace": the product of the ranges over n.

    In n * sum x y - sum x * sum y one pair (x, y) contributes n - 1 times (x - a)(y - b), where a and b are the means
    of the others. This is largest and smallest at corners of the bounds, which differ by at most the product of the
    ranges.
    """
    (low, high), (least, most) = check_bounds(first), check_bounds(second)
    size = check_integer(n, "n", minimum=2)
    return _scalar((high - low) * (most - least) / size, _with_public_n(neighbors, "a covariance"))


def _scalar(change: Fraction, relation: str) -> Sensitivity:
    return Sensitivity(change, change**2, relation)


def _with_public_n(neighbors: Neighbors, statistic: str) -> str:
    relation = check_neighbors(neighbors)
    if relation == "add_remove":
        remedy = "there n is private; release the sum and the count, and divide"
        reject(f"{statistic} must have a public n", "neighbors='add_remove'", remedy)
    return relation
