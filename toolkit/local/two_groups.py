"""Designs with two groups whose devices have different probabilities.

Each person may or may not have the trait, and may or may not belong to a second class: the cheaters, the honest people,
or the people whose innocuous answer is yes. The share of the second class is also unknown. The probability that a
member of a class reports yes is linear in the probability p of the group's device. Estimates from counts, fits with
covariates and plans all use the table in this file.
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
    second_class : str
        The name of the second class.
    yes_coefficients : tuple
        Coefficients of Pr(yes), first by trait (without, with), then by second class (outside, inside).
    corner_cells : tuple
        Two cells whose shares are linear in both groups' shares of yes. The reference cell holds the people without the
        trait and outside the second class.
    is_exclusive : bool
        Whether nobody with the trait is in the second class. Otherwise the trait and the class are independent.
    report_options : tuple of str
        The labels of the two reports.
    """

    title: str
    second_class: str
    yes_coefficients: tuple[tuple[Cell, Cell], tuple[Cell, Cell]]
    corner_cells: tuple[Cell, Cell] = ((1, 0), (0, 1))
    is_exclusive: bool = False
    report_options: tuple[str, str] = ("no", "yes")

    def yes_probability(self, cell: Cell, p: ArrayLike) -> Array:
        """Return Pr(yes) in one cell for each probability p."""
        start, slope = self.yes_coefficients[cell[0]][cell[1]]
        return start + slope * np.asarray(p, dtype=float)

    def yes_shares(self, p: ArrayLike, trait_share: Any, second_share: Any) -> tuple[Array, Array, Array]:
        """Return Pr(yes) at given shares of the trait and the second class, and its two partial derivatives."""
        (none, second), (carrier, both) = (
            (self.yes_probability((trait, 0), p), self.yes_probability((trait, 1), p)) for trait in (0, 1)
        )
        if self.is_exclusive:
            yes = none + trait_share * (carrier - none) + second_share * (second - none)
            return yes, carrier - none, second - none
        without, within = none + second_share * (second - none), carrier + second_share * (both - carrier)
        by_second = (1 - trait_share) * (second - none) + trait_share * (both - carrier)
        return without + trait_share * (within - without), within - without, by_second

    def corner_solution(self, p: ArrayLike) -> tuple[Array, Array]:
        """Return (v, M): the shares of both corners are v + M y, where y holds the groups' shares of yes."""
        base = self.yes_probability((0, 0), p)
        (a, c), (b, d) = (self.yes_probability(corner, p) - base for corner in self.corner_cells)
        matrix = np.array([[d, -b], [-c, a]]) / (a * d - b * c)
        return -matrix @ base, matrix

    def carrier_coefficients(self, p: ArrayLike) -> tuple[float, Array]:
        """Return (a, w): the share of people with the trait is a + w y, where y holds the groups' shares of yes."""
        start, matrix = self.corner_solution(p)
        traits = np.array([trait for trait, _ in self.corner_cells], dtype=float)
        return float(traits @ start), traits @ matrix

    @property
    def polygon_cells(self) -> tuple[Cell, ...]:
        """The cells at the corners of the polygon of possible pairs of shares of yes, in order around it."""
        return ((0, 0), (1, 0), (0, 1)) if self.is_exclusive else ((0, 0), (1, 0), (1, 1), (0, 1))

    @property
    def is_triangular(self) -> bool:
        """Whether the polygon of possible shares is a triangle, because two cells have equal probabilities."""
        return len({yes_probability for row in self.yes_coefficients for yes_probability in row}) == 3


TWO_GROUP_DESIGNS = {
    "unknown_question": TwoGroupDesign(
        "unrelated question of unknown prevalence", "innocuous", ((_NO, _NOT_P), (_P, _YES))
    ),
    "cheater_detection": TwoGroupDesign("cheater detection", "cheater", ((_P, _NO), (_YES, _NO)), is_exclusive=True),
    "lie_detector": TwoGroupDesign(
        "stochastic lie detector", "honesty", ((_NOT_P, _NOT_P), (_NO, _YES)), corner_cells=((1, 1), (1, 0))
    ),
    "extended_crosswise": TwoGroupDesign(
        "extended crosswise model", "always different", ((_NOT_P, _NO), (_P, _NO)), report_options=("different", "same")
    ),
}
"""The designs, by the name of the function in `toolkit.analysis` that estimates from their reports."""
