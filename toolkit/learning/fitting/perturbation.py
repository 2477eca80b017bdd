"""Where the noise of a private classifier goes: onto the weights, or into the objective before it is
minimized.

The objective is a sum over people of losses of margins, plus ridge / 2 |w|**2, ridge = 1 / C. Every row has a
length of at most 1 and every slope is at most 1, so a person pulls at the weights with a force of at most 1.

**Output perturbation** (Chaudhuri, Monteleoni and Sarwate 2011). If one person is replaced the minimum moves
by at most 2 / ridge = 2 C, if one comes or goes by at most C; what the solver may miss it by is added twice.

**Objective perturbation.** Add push . w with random push, then minimize. Given the weights w that come out,
push is known from the data; for a neighbor it is another by at most 2 in length, and in each entry by at
most twice the largest that a row can have (`pushing`). The density of w has the determinant of the Hessian as
a factor (the Jacobian). With H the Hessian of all others plus the ridge, one row makes it H + a x x', and
det(H + a x x') / det(H) lies between 1 and 1 + curvature / ridge: so the determinants cost at most ln(1 +
curvature / ridge), and the rest pays for the shift. A ridge so small that they would cost more than half of
epsilon is raised.

The push is drawn on a grid. Spread evenly over a cell of the grid it has a density, whose logarithm moves by
at most what the law of the push was made for, its cells included. The cell, like the tolerance of the
solver, moves the weights by a known length; noise for that, paid with a 64th of epsilon, is added to them.
"""

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache

import numpy as np

from toolkit.central.gaussian import Gaussian
from toolkit.central.laplace import Laplace
from toolkit.core.arrays import Array
from toolkit.core.loss import Approx, Loss, Pure, Zcdp
from toolkit.core.randomness import Rng
from toolkit.learning.fitting.margins import MarginLoss
from toolkit.learning.fitting.minimum import MOST_ROWS, minimum, tolerance
from toolkit.learning.fitting.perturbation_noise import GRID, Push, push_law

_FOR_SOLVER = Fraction(1, 64)


@dataclass(frozen=True)
class OutputPerturbation:
    """Noise on the weights: spherical Laplace for Pure, Gaussian for Approx and Zcdp."""

    loss: Loss
    ridge: float
    margins: MarginLoss
    size: int
    rows: int
    neighbors: str = "replace"

    @property
    def tolerance(self) -> float:
        """Of the gradient's length. Where the number of rows is private, for as many as there may be."""
        rows = self.rows if self.neighbors == "replace" else MOST_ROWS
        return tolerance(rows, self.margins, self.ridge, self.size)

    @cached_property
    def sensitivity(self) -> Fraction:
        """How far one person moves the weights, tolerance included: 2 C or C, and a little."""
        times = 2 if self.neighbors == "replace" else 1
        return (times + 2 * Fraction(self.tolerance)) / Fraction(self.ridge)

    @cached_property
    def mechanism(self) -> Laplace | Gaussian:
        return additive(self.loss, self.sensitivity)

    @property
    def price(self) -> Laplace | Gaussian:
        """What a ledger is charged: the mechanism, which may know its cost in more than one currency."""
        return self.mechanism

    def weights(self, rows: Array, rng: Rng) -> Array:
        found = minimum(rows, self.margins, self.ridge, np.zeros(self.size), self.tolerance)
        return np.asarray(self.mechanism.release(found, rng).value)


@dataclass(frozen=True)
class ObjectivePerturbation:
    """Noise in the objective: Laplace noise on a ball or a cube (Chaudhuri, Monteleoni and Sarwate 2011; Awan
    and Slavković 2021), for Approx also Gaussian (Redberg, Koskela and Wang 2023), under "replace".

    `widest` is the largest entry that a row can have.
    """

    loss: Pure | Approx
    least_ridge: float
    margins: MarginLoss
    size: int
    rows: int
    widest: float = 1.0

    @property
    def inside(self) -> Fraction:
        """The epsilon that is paid for noise in the objective."""
        return Fraction(self.loss.amount) * (1 - _FOR_SOLVER)

    @cached_property
    def ridge(self) -> float:
        """The ridge that was asked for, or the least whose determinants cost half of epsilon."""
        half = math.expm1(min(float(self.inside) / 2, 700.0))
        return max(self.least_ridge, self.margins.curvature / half)

    @property
    def determinants(self) -> float:
        """What the Jacobian costs: ln(1 + curvature / ridge), rounded up."""
        return math.log1p(self.margins.curvature / self.ridge) * (1 + 1e-14)

    @cached_property
    def pushing(self) -> Push:
        """The law of the push: one person's shift costs what the determinants leave."""
        delta = float(self.loss.slack) if isinstance(self.loss, Approx) else 0.0
        return push_law(self.inside, self.determinants, self.size, self.widest, delta)

    @property
    def tolerance(self) -> float:
        """Of the gradient's length, with half a cell of the push in it.

        A push is taken to be at most `longest` long. One four times as long is still within what the factor
        of four in `minimum.tolerance` leaves; its probability is below e**-100.
        """
        typical, spread = self.pushing.longest, self.pushing.spread
        cell = math.sqrt(self.size) * max(2.0, 2 * spread) * 2.0**-GRID
        return tolerance(self.rows, self.margins, self.ridge, self.size, typical) + cell

    @cached_property
    def mechanism(self) -> Laplace:
        """The noise on the weights, for tolerance and cell."""
        reach = 2 * Fraction(self.tolerance) / Fraction(self.ridge)
        return Laplace.for_epsilon(Fraction(self.loss.amount) * _FOR_SOLVER, sensitivity=reach, norm="l2")

    @property
    def price(self) -> Loss:
        return self.loss

    def weights(self, rows: Array, rng: Rng) -> Array:
        found = minimum(rows, self.margins, self.ridge, self.pushing.draw(rng), self.tolerance)
        return np.asarray(self.mechanism.release(found, rng).value)


@lru_cache(maxsize=64)
def concentrated(loss: Approx | Zcdp) -> Zcdp:
    """A Zcdp that keeps to the loss: the largest, for Approx, which takes a while to find."""
    return loss if isinstance(loss, Zcdp) else Zcdp.within(loss)


@lru_cache(maxsize=64)
def additive(loss: Loss, sensitivity: Fraction) -> Laplace | Gaussian:
    """Noise on a vector that one person moves by at most `sensitivity` in length."""
    if isinstance(loss, Pure):
        return Laplace.for_epsilon(loss.amount, sensitivity=sensitivity, norm="l2")
    if isinstance(loss, Zcdp):
        return Gaussian.for_rho(loss.amount, sensitivity=sensitivity)
    return Gaussian.for_loss(loss.amount, loss.slack, sensitivity=sensitivity)
