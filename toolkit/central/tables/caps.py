"""How far one person can move a table, exactly, however many cells it has and however many rows are theirs.

A person's rows fall into cells. "add_remove": they come or go. "replace": they become other rows, which may
lie in other cells; so a table moves by what leaves and by what comes, unless it has one cell.
"""

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

from toolkit.central.sensitivity import Sensitivity
from toolkit.core.checks import neighbors as check_neighbors
from toolkit.core.checks import whole


@dataclass(frozen=True)
class Caps:
    """The most that is used of one person: `rows` in all, in at most `groups` cells, `each` in a cell.

    >>> Caps(5, 3, 2).most(10), Caps(5, 3, 2).squares(10)
    (5, 9)
    """

    rows: int = 1
    groups: int | None = None
    each: int | None = None

    def __post_init__(self) -> None:
        whole(self.rows, "rows")
        for name in ("groups", "each"):
            if getattr(self, name) is not None:
                whole(getattr(self, name), name)

    def most(self, cells: int) -> int:
        """Rows of one person in so many cells."""
        return min(self.rows, self._cells(cells) * self._each)

    def squares(self, cells: int) -> int:
        """The largest sum of squares of one person's counts: full cells first, then what is left in one
        more.
        """
        full = min(self._cells(cells), self.rows // self._each)
        rest = min(self._each, self.rows - full * self._each) if full < self._cells(cells) else 0
        return full * self._each**2 + rest**2

    @property
    def _each(self) -> int:
        return self.rows if self.each is None else min(self.each, self.rows)

    def _cells(self, cells: int) -> int:
        return cells if self.groups is None else min(self.groups, cells)


ONE = Caps()
"""One row a person."""


def counts(cells: int, neighbors: str, caps: Caps = ONE) -> Sensitivity:
    """Counts of cells that exclude one another.

    Under "replace" the two tables differ most where one person's rows before and after share no cell: where
    they do, taking the smaller count away moves it further.

    >>> counts(1, "replace").l1, counts(4, "replace").l1, counts(4, "add_remove").l1
    (Fraction(1, 1), Fraction(2, 1), Fraction(1, 1))
    """
    if check_neighbors(neighbors) == "add_remove":
        return _sensitivity(caps.most(cells), caps.squares(cells), neighbors)
    return _sensitivity(_apart(caps.most, cells), _apart(caps.squares, cells), neighbors)


def shares(cells: int, neighbors: str, caps: Caps = ONE) -> Sensitivity:
    """Several sums a cell of terms that are not negative and add up to 1 for each row.

    Two rows of one cell can differ in every term, so under "replace" one cell is no better than many.
    """
    twice = 2 if check_neighbors(neighbors) == "replace" else 1
    return _sensitivity(twice * caps.most(cells), twice * caps.squares(cells), neighbors)


def sums(low: Fraction, high: Fraction, cells: int, neighbors: str, caps: Caps = ONE) -> Sensitivity:
    """Sums of numbers from low to high; a row that is in no cell adds nothing.

    All is exact for one row a person, and for numbers of one sign. Of several rows of both signs under
    "replace" it is safe, and may be more than what is possible: p rows at `high` against q at `low` in a cell
    move it by (p high - q low)**2, and the sum of all 2 p q is at most that of p**2 + q**2.

    >>> sums(-1, 3, 3, "replace").l1, sums(-1, 3, 3, "replace").l2_squared
    (Fraction(6, 1), Fraction(18, 1))
    """
    least, most = min(Fraction(low), Fraction(0)), max(Fraction(high), Fraction(0))
    far = max(-least, most)
    if check_neighbors(neighbors) == "add_remove":
        return _sensitivity(far * caps.most(cells), far**2 * caps.squares(cells), neighbors)
    if cells == 1:
        reach = (most - least) * caps.most(1)
        return _sensitivity(reach, reach**2, neighbors)
    if caps.most(cells) == 1:
        return _sensitivity(2 * far, max((most - least) ** 2, 2 * far**2), neighbors)
    if 0 in (least, most):
        apart = counts(cells, neighbors, caps)
        return _sensitivity(far * apart.l1, far**2 * apart.l2_squared, neighbors)
    square = 2 * (far**2 - least * most) * caps.squares(cells)
    return _sensitivity(2 * far * caps.most(cells), square, neighbors)


def _apart(reach: Callable[[int], int], cells: int) -> int:
    """What leaves some cells and what comes into the others, at most together: each more cell adds less than
    the one before, so half of them each is the most.
    """
    return reach(cells // 2) + reach(cells - cells // 2)


def _sensitivity(l1: int | Fraction, squared: int | Fraction, neighbors: str) -> Sensitivity:
    return Sensitivity(Fraction(l1), Fraction(squared), neighbors)
