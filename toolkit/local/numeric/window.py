"""A sliding window: reports near the answer are more likely than others, by a factor of at most e**epsilon.

The piecewise randomizer and the square wave both use it, with windows of different widths. Because reports are
integers, the distribution of a report and its mean are exact, and no discretization is needed.
"""

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np

from toolkit.core.arrays import Array, Steps
from toolkit.core.randomness import DrawBelow, Rng, below
from toolkit.local.calibration import check_odds
from toolkit.local.numeric.grid import GridRandomizer
from toolkit.local.protocol import convert_to_integers
from toolkit.local.sampled_randomizer import ExactOddsRandomizer


@dataclass(frozen=True)
class Window:
    """The distribution of reports 0 … steps+width-1; the window of answer i consists of the reports i … i+width-1.

    Reports in the window have weight `inside`, and all others have weight `outside`. To draw a report, draw a uniform
    integer below width * inside + steps * outside. If it is below width * inside, the report is i plus the integer part
    of integer / inside. Otherwise let j be the integer part of (integer - width * inside) / outside; the report is j if
    j is below i, else j + width.
    """

    steps: int
    width: int
    inside: int
    outside: int

    def __post_init__(self) -> None:
        check_odds(self.inside, self.outside, self.total_weight)

    @property
    def total_weight(self) -> int:
        return self.width * self.inside + self.steps * self.outside

    @property
    def n_reports(self) -> int:
        return self.steps + self.width

    @property
    def odds(self) -> Fraction:
        return Fraction(self.inside, self.outside)

    def draw_report(self, index: int, draw: DrawBelow) -> int:
        """Draw the report of one answer."""
        uniform = draw(self.total_weight)
        if uniform < self.width * self.inside:
            return index + uniform // self.inside
        beside = (uniform - self.width * self.inside) // self.outside
        return beside if beside < index else beside + self.width

    def draw_reports(self, index: Steps, rng: Rng) -> Steps:
        """Draw a report for each answer."""
        uniform = below(self.total_weight, len(index), rng).astype(np.int64)
        beyond = uniform - self.width * self.inside
        beside = beyond // self.outside
        return np.where(beyond < 0, index + uniform // self.inside, beside + np.where(beside < index, 0, self.width))

    def matrix(self) -> Array:
        """Return Pr(report | answer) as a table with a row per answer and a column per report."""
        start = np.arange(self.n_reports) - np.arange(self.steps + 1)[:, None]
        return np.where((start >= 0) & (start < self.width), self.inside, self.outside) / self.total_weight

    @cached_property
    def mean_report_at_zero(self) -> Fraction:
        """The mean report when the answer is 0."""
        evenly = self.outside * Fraction(self.n_reports * (self.n_reports - 1), 2)
        return (evenly + (self.inside - self.outside) * Fraction(self.width * (self.width - 1), 2)) / self.total_weight

    @cached_property
    def slope(self) -> Fraction:
        """The change in the mean report when the answer increases by one step."""
        return Fraction((self.inside - self.outside) * self.width, self.total_weight)

    def scores(self, reports: Steps) -> Array:
        """Return scores whose mean, given the answer, is the answer scaled to the range from 0 to 1."""
        return np.asarray((reports - float(self.mean_report_at_zero)) / float(self.slope * self.steps))

    @cached_property
    def squared_score_coefficients(self) -> tuple[float, float, float]:
        """The coefficients of the mean squared score c0 + c1 u + c2 u**2 of an answer u from 0 to 1."""
        evenly = _sum_of_squares(self.n_reports, self.mean_report_at_zero) * self.outside
        extra = self.inside - self.outside  # the window of answer i adds (i + t - base)**2 for t = 0 … width-1
        still = (evenly + extra * _sum_of_squares(self.width, self.mean_report_at_zero)) / self.total_weight
        drift = (
            2
            * extra
            * (Fraction(self.width * (self.width - 1), 2) - self.width * self.mean_report_at_zero)
            / self.total_weight
        )
        unit = self.slope * self.steps
        return (
            float(still / unit**2),
            float(drift * self.steps / unit**2),
            float(self.slope * self.steps**2 / unit**2),
        )


@dataclass(frozen=True, repr=False)
class WindowRandomizer(ExactOddsRandomizer, GridRandomizer):
    """A randomizer of bounded numbers that draws with a sliding window.

    Parameters
    ----------
    width : int
        The number of reports near an answer.
    inside : int
        The weight of a report near the answer.
    outside : int
        The weight of any other report.
    """

    width: int
    inside: int
    outside: int

    def __post_init__(self) -> None:
        super().__post_init__()
        convert_to_integers(self, width=1, inside=1, outside=1)
        _ = self._window  # for its checks

    @cached_property
    def _window(self) -> Window:
        """The distribution of the reports."""
        return Window(self.steps, self.width, self.inside, self.outside)

    @property
    def _odds(self) -> Fraction:
        return self._window.odds

    def _draw_report(self, index: int, draw: DrawBelow) -> int:
        return self._window.draw_report(index, draw)

    def _draw(self, index: Steps, rng: Rng) -> Steps:
        return self._window.draw_reports(index, rng)


def _sum_of_squares(count: int, center: Fraction) -> Fraction:
    """Return the sum of (t - center)**2 over t = 0 … count-1."""
    return Fraction((count - 1) * count * (2 * count - 1), 6) - center * count * (count - 1) + count * center**2
