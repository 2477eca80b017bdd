"""Local Laplace noise, which each person adds to the answer on a grid of whole numbers."""

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from toolkit.core.arrays import Array, Steps
from toolkit.core.randomness import DrawBelow, Rng
from toolkit.core.rounding import float_up
from toolkit.core.sampling import discrete_laplace
from toolkit.local.calibration import checked_epsilon
from toolkit.local.numeric.grid import laplace_browser_data
from toolkit.local.numeric.means import MeanRandomizer
from toolkit.local.protocol import is_json_integer, read_fraction

_MAX_SCALES = 64  # bound on the noise, in scales; e**-64 is less than 10**-27


@dataclass(frozen=True, repr=False)
class LocalLaplace(MeanRandomizer):
    """A randomizer that adds discrete Laplace noise to the answer, which is counted in steps above `low`.

    The noise is an integer z with probability proportional to e**(-abs(z) budget / steps). The loss is budget / steps
    for two answers that are one step apart, and answers are at most `steps` apart, so epsilon is exactly `budget`.
    Reports are unbounded integers.

    To draw z, let s / t = steps / budget in lowest terms (Canonne, Kamath and Steinke 2020, algorithm 2). Draw u below
    s and accept it with probability e**(-u/s), else start over. Let v be the number of successes before the first
    failure in trials that succeed with probability e**-1, and let z be the integer part of (u + s v) / t. Draw a sign,
    and start over if it is minus and z is 0. To draw an event of probability e**-x for x at most 1, draw a uniform
    integer below the denominator of x/j for j = 1, 2, … as long as the integer is below the numerator. The event occurs
    if the last j is odd.

    Parameters
    ----------
    budget : number
        The epsilon of a report.

    Examples
    --------
    >>> from toolkit.local.numeric import local_laplace
    >>> local_laplace((0, 80), epsilon=1)
    <LocalLaplace on 0 to 80: epsilon 1>
    """

    budget: Fraction

    name = "local_laplace"

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "budget", checked_epsilon(read_fraction(self.budget, "budget")))

    @cached_property
    def epsilon(self) -> float:
        """The budget, rounded up to a float."""
        return float_up(self.budget)

    @property
    def scale(self) -> Fraction:
        """The scale of the noise, in steps."""
        return self.steps / self.budget

    @cached_property
    def squared_score_coefficients(self) -> tuple[float, float, float]:
        """The coefficients of the mean squared score; the noise has variance 2 r / (1-r)**2, r = e**(-1/scale)."""
        half = math.sinh(float(1 / self.scale) / 2)  # (1-r)**2 / r = (2 sinh(1 / (2 scale)))**2
        return 1 / (2 * half**2 * self.steps**2), 0.0, 1.0

    def _draw_report(self, index: int, draw: DrawBelow) -> int:
        while True:
            rest = draw(self.scale.numerator)
            if not _succeeds(Fraction(rest, self.scale.numerator), draw):
                continue
            rounds = 0
            while _succeeds(Fraction(1), draw):
                rounds += 1
            size = (rest + self.scale.numerator * rounds) // self.scale.denominator
            minus = draw(2)
            if size or not minus:
                return index - size if minus else index + size

    def _accepts(self, report: object) -> bool:
        farthest = _MAX_SCALES * self.scale
        return is_json_integer(report) and -farthest <= report <= self.steps + farthest

    def _browser_data(self) -> dict[str, Any]:
        return super()._browser_data() | laplace_browser_data(self.scale, self.budget)

    def _score_range(self) -> tuple[Array, Array]:
        return np.array(-np.inf), np.array(np.inf)

    def _draw(self, index: Steps, rng: Rng) -> Steps:
        return np.asarray(index + discrete_laplace(self.scale, len(index), rng), dtype=np.int64)

    def _unit_scores(self, reports: Steps) -> Array:
        return reports / self.steps


def _succeeds(exponent: Fraction, draw: DrawBelow) -> bool:
    """Return True with probability e**-exponent, for an exponent from 0 to 1."""
    tries = 1
    while draw((exponent / tries).denominator) < (exponent / tries).numerator:
        tries += 1
    return tries % 2 == 1
