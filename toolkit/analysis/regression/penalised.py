"""Jeffreys' penalty: half the log determinant of the information is added to a log-likelihood, which then
falls towards infinity.
"""

import numpy as np

from toolkit.analysis.regression.scoring import Climb, Evaluate, Point, newton
from toolkit.core.arrays import Array
from toolkit.core.checks import refuse

_STEP = 1e-4  # of a coefficient of a standardised column: the error of a difference is its square


def with_penalty(evaluate: Evaluate) -> Evaluate:
    """The same likelihood, penalised; the slope of the penalty by differences of the information."""

    def penalised(at: Array) -> Point:
        here = evaluate(at)
        half = _half_log(here.information)
        if half == -np.inf:
            return Point(at, -np.inf, here.gradient, here.information)
        slope = [
            (_half_log(evaluate(at + axis).information) - _half_log(evaluate(at - axis).information))
            / (2 * _STEP)
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
