"""Designs with two groups whose devices have different probabilities.

People have the trait or not, and belong to a second class or not, whose share is also unknown: cheaters, honest people,
or people whose innocuous answer is yes. The probability that a class says yes is linear in the probability p of the
group's device. Estimates from counts, fits with covariates and plans all read the table in this file.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from toolkit.core.arrays import Array, ArrayLike

_NO, _YES, _P, _NOT_P = (0, 0), (1, 0), (0, 1), (1, -1)
"""Coefficients (a, b) of Pr(yes) = a + b p."""

Cell = tuple[int, int]
"""Whether people have the trait and whether they belong to the second class, as 0 and 1."""


@dataclass(frozen=True)
class TwoGroupDesign:
    """A design with two groups.

    Parameters
    ----------
    title : str
        The name in the literature.
    other : str
        The name of the second class.
    chances : tuple
        Pr(yes) of people without the trait and with it, each outside and inside the second class.
    corners : tuple
        Two cells whose shares are linear in both groups' shares of yes; a further cell is that of people without the
        trait and outside the second class.
    exclusive : bool
        Whether nobody with the trait is in the second class. Otherwise the two are independent.
    reports : tuple of str
        The labels of the two reports.
    """

    title: str
    other: str
    chances: tuple[tuple[Cell, Cell], tuple[Cell, Cell]]
    corners: tuple[Cell, Cell] = ((1, 0), (0, 1))
    exclusive: bool = False
    reports: tuple[str, str] = ("no", "yes")

    def chance(self, cell: Cell, p: ArrayLike) -> Array:
        """Return Pr(yes) in one cell for each probability p."""
        start, slope = self.chances[cell[0]][cell[1]]
        return start + slope * np.asarray(p, dtype=float)

    def yes(self, p: ArrayLike, trait: Any, other: Any) -> tuple[Array, Array, Array]:
        """Return Pr(yes) at given shares of the trait and of the second class, and its derivatives by both shares."""
        (none, second), (first, both) = ((self.chance((trait, 0), p), self.chance((trait, 1), p)) for trait in (0, 1))
        if self.exclusive:
            return none + trait * (first - none) + other * (second - none), first - none, second - none
        without, within = none + other * (second - none), first + other * (both - first)
        by_other = (1 - trait) * (second - none) + trait * (both - first)
        return without + trait * (within - without), within - without, by_other

    def solution(self, p: ArrayLike) -> tuple[Array, Array]:
        """Return (v, M) such that the shares of both corners are v + M y, where y are the groups' shares of yes."""
        base = self.chance((0, 0), p)
        (a, c), (b, d) = (self.chance(corner, p) - base for corner in self.corners)
        matrix = np.array([[d, -b], [-c, a]]) / (a * d - b * c)
        return -matrix @ base, matrix

    def carriers(self, p: ArrayLike) -> tuple[float, Array]:
        """Return (a, w) such that the share of carriers is a + w y, where y are the groups' shares of yes."""
        start, matrix = self.solution(p)
        traits = np.array([trait for trait, _ in self.corners], dtype=float)
        return float(traits @ start), traits @ matrix

    @property
    def outline(self) -> tuple[Cell, ...]:
        """The cells at the corners of the polygon of possible pairs of shares of yes, in order around it."""
        return ((0, 0), (1, 0), (0, 1)) if self.exclusive else ((0, 0), (1, 0), (1, 1), (0, 1))

    @property
    def triangular(self) -> bool:
        """Whether the polygon of possible shares is a triangle, because two cells have equal probabilities."""
        return len({chance for row in self.chances for chance in row}) == 3


TWO_GROUP_DESIGNS = {
    "unknown_question": TwoGroupDesign(
        "unrelated question of unknown prevalence", "innocuous", ((_NO, _NOT_P), (_P, _YES))
    ),
    "cheater_detection": TwoGroupDesign("cheater detection", "cheater", ((_P, _NO), (_YES, _NO)), exclusive=True),
    "lie_detector": TwoGroupDesign(
        "stochastic lie detector", "honesty", ((_NOT_P, _NOT_P), (_NO, _YES)), corners=((1, 1), (1, 0))
    ),
    "extended_crosswise": TwoGroupDesign(
        "extended crosswise model", "always different", ((_NOT_P, _NO), (_P, _NO)), reports=("different", "same")
    ),
}
"""The designs by the name of the function of `toolkit.analysis` that estimates from them."""
