"""Jeffreys' penalty: half the log determinant of the information is added to a log-likelihood, which then
falls towards infinity.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from toolkit.analysis.regression.reading.people import People
from toolkit.analysis.regression.scoring import Climb, Curved, Evaluate, Point, curvature, newton
from toolkit.core.arrays import Array
from toolkit.core.checks import refuse

_STEP = 1e-4  # of a coefficient of a standardised column: the error of a difference is its square


def with_penalty(evaluate: Evaluate, information: Callable[[Array], Array]) -> Evaluate:
    """The same likelihood, penalised; the slope of the penalty by differences of the information."""

    def penalised(at: Array) -> Point:
        here, half = evaluate(at), _half_log(information(at))
        if half == -np.inf:
            return Point(at, -np.inf, here.gradient, here.information)
        slope = [
            (_half_log(information(at + axis)) - _half_log(information(at - axis))) / (2 * _STEP)
            for axis in _STEP * np.eye(len(at))
        ]
        return Point(at, here.height + half, here.gradient + np.array(slope), here.information)

    return penalised


def _half_log(information: Array) -> float:
    sign, height = np.linalg.slogdet(information)
    return float(height) / 2 if sign > 0 else -np.inf


def penalised_maximum(evaluate: Evaluate, found: Climb) -> Array:
    """The maximum of a penalised likelihood: it falls to minus infinity in every direction."""
    point, arrived = found.point, found.arrived
    if not arrived:
        point, arrived = newton(evaluate, point)
    if not arrived:
        refuse(
            "the penalised likelihood must lead to its maximum",
            "none within 60 steps",
            "rescale or leave out covariates",
        )
    return point.at


@dataclass(frozen=True, eq=False)
class Penalised:
    """A likelihood whose errors are those of its penalised maximum: it bends as the penalised one does."""

    model: Curved
    evaluate: Evaluate

    @property
    def people(self) -> People:
        return self.model.people

    def scores(self, at: Array) -> Array:
        return self.model.scores(at)

    def observed(self, at: Array) -> Array:
        return curvature(self.evaluate, self.evaluate(at))
