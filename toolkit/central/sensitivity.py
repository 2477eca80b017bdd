"""How far one person can move a statistic: the sensitivity that noise is made to hide.

Two tables are neighbours if they differ in one person. "replace": one person's record changes, the number of
records n is public. "add_remove": one person comes or goes, n is private. Every function here asks which of
the two is meant.

Sensitivities are exact fractions. The L1 norm adds up the moves of all entries (for Laplace noise), the L2
norm is their length (for Gaussian noise).
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from toolkit.central.search import Neighbors
from toolkit.central.search import worst_case as worst_case
from toolkit.core.checks import Number, exact, refuse, whole
from toolkit.core.checks import neighbors as check_neighbors

Bounds = tuple[Number, Number]


@dataclass(frozen=True)
class Sensitivity:
    """The largest move that one person can cause, in both norms; `l2_squared` is exact where `l2` is a root.

    >>> histogram(neighbors="replace")
    Sensitivity(l1=2, l2=1.414, neighbors='replace')
    """

    l1: Fraction
    l2_squared: Fraction
    neighbors: str

    @property
    def l2(self) -> Fraction:
        """The length; an irrational root is rounded up at the sixtieth binary digit."""
        root = Fraction(math.isqrt(self.l2_squared.numerator), math.isqrt(self.l2_squared.denominator))
        if root**2 == self.l2_squared:
            return root
        return Fraction(math.isqrt(math.ceil(self.l2_squared * 4**60)) + 1, 2**60)

    def rows(self, k: int) -> "Sensitivity":
        """Where a person may have up to k rows: k times as far in both norms."""
        times = whole(k, "k")
        return Sensitivity(self.l1 * times, self.l2_squared * times**2, self.neighbors)

    def __repr__(self) -> str:
        return f"Sensitivity(l1={float(self.l1):.4g}, l2={float(self.l2):.4g}, neighbors={self.neighbors!r})"


def count(*, neighbors: Neighbors) -> Sensitivity:
    """How many people have a property: one person moves it by 1 under both relations."""
    return _scalar(Fraction(1), check_neighbors(neighbors))


def counts(*groups: Sequence[str], neighbors: Neighbors) -> Sensitivity:
    """Several counts together. Each group lists counts that exclude one another: a person is in at most one
    of a group.

    Coming or going moves one count of each group by 1. A new answer moves a group of several by 2, from one
    to another.

    >>> counts(["brown eyes"], neighbors="add_remove").l1
    Fraction(1, 1)
    >>> counts(["brown eyes", "blue eyes", "green eyes", "red eyes"], neighbors="add_remove").l1
    Fraction(1, 1)
    >>> counts(["brown eyes"], ["taller than six feet"], neighbors="add_remove").l1
    Fraction(2, 1)
    """
    relation = check_neighbors(neighbors)
    if not groups or any(isinstance(group, str) or not len(group) for group in groups):
        refuse(
            "each group must be a list of counts",
            "no list",
            "a group is what excludes one another",
            TypeError,
        )
    # Within a group a new answer moves two counts by one each: L1 and squared length are both 2.
    moves = sum(2 if relation == "replace" and len(group) > 1 else 1 for group in groups)
    return Sensitivity(Fraction(moves), Fraction(moves), relation)


def histogram(*, neighbors: Neighbors) -> Sensitivity:
    """Counts of all options of one question: 1 if a person comes or goes, 2 (length sqrt 2) if an answer
    changes.
    """
    return counts(["one option", "another"], neighbors=neighbors)


def total(bounds: Bounds, *, neighbors: Neighbors) -> Sensitivity:
    """The sum of numbers from low to high: high - low under "replace", the larger of |low| and |high| under
    "add_remove".

    >>> total((-1, 3), neighbors="replace").l1, total((-1, 3), neighbors="add_remove").l1
    (Fraction(4, 1), Fraction(3, 1))
    """
    low, high = _limits(bounds)
    relation = check_neighbors(neighbors)
    return _scalar(high - low if relation == "replace" else max(abs(low), abs(high)), relation)


def mean(bounds: Bounds, n: int, *, neighbors: Neighbors) -> Sensitivity:
    """The mean of n numbers from low to high under "replace": (high - low) / n.

    >>> mean((0, 1), 100, neighbors="replace").l1
    Fraction(1, 100)
    """
    low, high = _limits(bounds)
    return _scalar((high - low) / whole(n, "n"), _with_public_n(neighbors, "a mean"))


def variance(bounds: Bounds, n: int, *, neighbors: Neighbors, ddof: int = 1) -> Sensitivity:
    """The variance of n numbers from low to high under "replace": (high - low)**2 / n, or (n-1)/n of that
    with `ddof=0`.

    n times the sum of squared deviations is the sum of (x_i - x_j)**2 over all pairs; one number is in n - 1
    of them.
    """
    low, high = _limits(bounds)
    size = whole(n, "n", least=2)
    if ddof not in (0, 1):
        refuse("`ddof` must be 0 or 1", ddof, "the sum of squares is divided by n - ddof")
    return _scalar((high - low) ** 2 * (size - 1) / (size * (size - ddof)), _with_public_n(neighbors, "a variance"))


def _scalar(reach: Fraction, relation: str) -> Sensitivity:
    return Sensitivity(reach, reach**2, relation)


def _limits(bounds: Bounds) -> tuple[Fraction, Fraction]:
    low, high = (exact(limit, "bounds") for limit in bounds)
    if low >= high:
        refuse(
            "the lower of `bounds` must be below the upper",
            f"{float(low):g} and {float(high):g}",
            "values lie between them",
        )
    return low, high


def _with_public_n(neighbors: Neighbors, statistic: str) -> str:
    relation = check_neighbors(neighbors)
    if relation == "add_remove":
        refuse(
            f"{statistic} must have a public n",
            "neighbors='add_remove'",
            "there n is private; release the sum and the count, and divide",
        )
    return relation
