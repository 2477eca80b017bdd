"""Designs of two groups that are asked with different odds: who says yes, class by class.

People have the trait or not, and belong to a second class or not, whose share is unknown as well: who cheat, who are
honest, whose innocuous answer is yes. A class says yes with a probability that is linear in the probability p of the
group's device. This table is all that an analysis of counts, a fit with covariates and a plan know of a design.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from toolkit.core.arrays import Array, ArrayLike

_NO, _YES, _P, _NOT_P = (0, 0), (1, 0), (0, 1), (1, -1)
"""Pr(yes) as (a, b), for a + b p."""

Cell = tuple[int, int]
"""Whether people have the trait, and whether they belong to the second class, as 0 and 1."""


@dataclass(frozen=True)
class TwoGroupDesign:
    """A design of two groups.

    Parameters
    ----------
    title : str
        The name in the literature.
    other : str
        What the second class is called.
    chances : tuple
        Pr(yes) of people without the trait and with it, each outside and inside the second class.
    corners : tuple
        Two cells whose shares are linear in both groups' shares of yes; a further cell is that of people without the
        trait and outside the second class.
    exclusive : bool
        Whether nobody with the trait is in the second class. Otherwise both are independent.
    reports : tuple of str
        What the two answers are called.
    """

    title: str
    other: str
    chances: tuple[tuple[Cell, Cell], tuple[Cell, Cell]]
    corners: tuple[Cell, Cell] = ((1, 0), (0, 1))
    exclusive: bool = False
    reports: tuple[str, str] = ("no", "yes")

    def chance(self, cell: Cell, p: ArrayLike) -> Array:
        """Pr(yes) in one cell, for each probability of a group."""
        start, slope = self.chances[cell[0]][cell[1]]
        return start + slope * np.asarray(p, dtype=float)

    def yes(self, p: ArrayLike, trait: Any, other: Any) -> tuple[Array, Array, Array]:
        """Pr(yes) for these shares of the trait and of the second class, and its derivatives by both."""
        (none, second), (first, both) = ((self.chance((trait, 0), p), self.chance((trait, 1), p)) for trait in (0, 1))
        if self.exclusive:
            return none + trait * (first - none) + other * (second - none), first - none, second - none
        without, within = none + other * (second - none), first + other * (both - first)
        by_other = (1 - trait) * (second - none) + trait * (both - first)
        return without + trait * (within - without), within - without, by_other

    def solution(self, p: ArrayLike) -> tuple[Array, Array]:
        """The shares of both corners as numbers plus a matrix times the two groups' shares of yes."""
        base = self.chance((0, 0), p)
        (a, c), (b, d) = (self.chance(corner, p) - base for corner in self.corners)
        matrix = np.array([[d, -b], [-c, a]]) / (a * d - b * c)
        return -matrix @ base, matrix

    def carriers(self, p: ArrayLike) -> tuple[float, Array]:
        """The share of carriers as a number plus weights times the two groups' shares of yes."""
        start, matrix = self.solution(p)
        held = np.array([trait for trait, _ in self.corners], dtype=float)
        return float(held @ start), held @ matrix

    @property
    def outline(self) -> tuple[Cell, ...]:
        """The cells at the corners of all possible pairs of shares of yes, neighbors side by side."""
        return ((0, 0), (1, 0), (0, 1)) if self.exclusive else ((0, 0), (1, 0), (1, 1), (0, 1))

    @property
    def triangular(self) -> bool:
        """Whether three corners have all shares, as two cells answer alike; otherwise four have."""
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
