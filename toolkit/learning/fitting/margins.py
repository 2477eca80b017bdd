"""Losses of a margin, a function of label times score: the logistic one and the Huberised hinge.

Both fall by at most 1 for each unit of the margin, so that a row of length at most 1 pulls at the weights
with a force of at most 1; and both have a bounded curvature, which noise inside an objective needs.
"""

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from toolkit.core.arrays import Array
from toolkit.core.inference.special import expit


class MarginLoss(Protocol):
    """A convex loss with 0 <= -slope <= 1 and 0 <= second derivative <= curvature."""

    @property
    def curvature(self) -> float: ...

    def value(self, margins: Array) -> Array: ...

    def slope(self, margins: Array) -> Array: ...

    def bend(self, margins: Array) -> Array: ...


@dataclass(frozen=True)
class Logistic:
    """ln(1 + e**-m).

    >>> float(Logistic().slope(np.array([0.0]))[0])
    -0.5
    """

    curvature: float = 0.25

    def value(self, margins: Array) -> Array:
        return np.logaddexp(0.0, -margins)

    def slope(self, margins: Array) -> Array:
        return np.asarray(-expit(-margins))

    def bend(self, margins: Array) -> Array:
        share = expit(-np.abs(margins))
        return np.asarray(share * (1 - share))


@dataclass(frozen=True)
class HuberHinge:
    """max(0, 1 - m), with a parabola in place of the corner from 1 - width to 1 + width.

    >>> HuberHinge(0.5).value(np.array([0.0, 1.0, 2.0])).tolist()
    [1.0, 0.125, 0.0]
    """

    width: float = 0.5

    @property
    def curvature(self) -> float:
        return 1 / (2 * self.width)

    def value(self, margins: Array) -> Array:
        near = np.clip(1 + self.width - margins, 0.0, 2 * self.width)
        return near**2 / (4 * self.width) + np.maximum(1 - self.width - margins, 0.0)

    def slope(self, margins: Array) -> Array:
        near = np.clip(margins, 1 - self.width, 1 + self.width)
        return np.clip((near - 1 - self.width) / (2 * self.width), -1.0, 0.0)

    def bend(self, margins: Array) -> Array:
        return np.where(np.abs(margins - 1) <= self.width, self.curvature, 0.0)
