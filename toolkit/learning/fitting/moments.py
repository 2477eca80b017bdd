"""Second moments of rows with noise: sums over people of products of columns, in whole steps.

The products x_i x_j of one row, those off the diagonal times sqrt(2), are a vector as long as the row's length squared.
So one row of length at most 1 that comes or goes moves the sums by at most 1, and one that is replaced by at most
sqrt(2): |x x' - y y'|**2 = |x|**4 + |y|**4 - 2 (x . y)**2. With a target t in [-1, 1] and its products t x beside them,
it is sqrt(2) and sqrt(9/2): with q = |x . y| the latter is at most 2 - 2 q**2 + 2 + 2 q, largest at q = 1/2.

Each product is rounded to a step of 2**-30 before it is summed, so that sums are exact and noise is whole.
"""

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import cast

import numpy as np

from toolkit.central.gaussian import Gaussian
from toolkit.core.arrays import Array
from toolkit.core.checks import refuse
from toolkit.core.loss import Approx, Loss, Zcdp
from toolkit.core.randomness import Rng
from toolkit.learning.fitting.perturbation import additive

STEPS = 2**30
_SQUARED = {("replace", False): 2, ("add_remove", False): 1, ("replace", True): 4.5, ("add_remove", True): 2}


@dataclass(frozen=True)
class Moments:
    """How the moments of rows with `size` columns are released, with or without a target."""

    loss: Loss
    size: int
    neighbors: str
    target: bool = False

    def __post_init__(self) -> None:
        if not isinstance(self.loss, Approx | Zcdp):
            remedy = "for so many numbers Gaussian noise is the least, and it is not purely private"
            refuse("moments need `rho`, or `epsilon` with `delta`", self.loss, remedy)

    @property
    def entries(self) -> int:
        """How many numbers are released."""
        return self.size * (self.size + 1) // 2 + (self.size if self.target else 0)

    @cached_property
    def sensitivity(self) -> Fraction:
        """In steps: that of the products, rounded up, and half a step and a little for each of two rows."""
        squared = Fraction(_SQUARED[self.neighbors, self.target])
        exact = Fraction(math.isqrt(math.ceil(squared * STEPS**2)) + 1)
        rounding = Fraction(math.isqrt(self.entries) + 1) * Fraction(1001, 1000)
        return exact + rounding

    @cached_property
    def mechanism(self) -> Gaussian:
        return cast("Gaussian", additive(self.loss, self.sensitivity))  # the loss is no Pure

    @property
    def sigma(self) -> float:
        """The standard deviation of noise on the diagonal; off it, that by sqrt(2)."""
        return self.mechanism.scale / STEPS

    def release(self, rows: Array, target: Array | None, rng: Rng) -> tuple[Array, Array]:
        """The matrix of moments and the moments with the target, with noise; one column per person."""
        noisy = np.asarray(self.mechanism.noisy(whole_moments(rows, target), rng)) / STEPS
        matrix = np.zeros((self.size, self.size))
        upper = np.triu_indices(self.size)
        count = len(upper[0])
        matrix[upper] = noisy[:count]
        off = matrix - np.diag(matrix.diagonal())
        return np.diag(matrix.diagonal()) + (off + off.T) / math.sqrt(2), noisy[count:]


def whole_moments(rows: Array, target: Array | None) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """The sums in steps: the upper triangle row by row, off the diagonal times sqrt(2), then the target's."""
    sums = []
    for place, row in enumerate(rows):
        products = row * rows[place:]
        products[1:] *= math.sqrt(2)
        sums.append(_whole(products))
    if target is not None:
        sums.append(_whole(rows * target))
    return np.concatenate(sums)


def _whole(products: Array) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    return np.asarray(np.rint(products * STEPS).astype(np.int64).sum(axis=1))
