"""A window that slides with the answer: reports inside it are likelier than those outside, by a factor of at
most e**epsilon.

The piecewise randomizer and the square wave are both this, with windows of different width. Drawn on integers
it needs no discretization of its own: the report's law is exact, and so is its mean.
"""

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np

from toolkit.core.arrays import Array, Steps
from toolkit.core.randomness import Below, Rng, below
from toolkit.local.calibration import check_odds
from toolkit.local.numeric.grid import OnGrid
from toolkit.local.protocol import keep_whole
from toolkit.local.sampled_randomizer import SampledAtOdds


@dataclass(frozen=True)
class Window:
    """Reports 0 … steps+width-1; an answer i of 0 … steps has the window i … i+width-1.

    A report in the window has weight `inside`, one beside it weight `outside`. To draw it: a uniform integer
    below width * inside + steps * outside. Below width * inside, the report is i plus the whole part of
    integer / inside. Else let j be the whole part of (integer - width * inside) / outside: the report is j,
    or j + width if j is not below i.
    """

    steps: int
    width: int
    inside: int
    outside: int

    def __post_init__(self) -> None:
        check_odds(self.inside, self.outside, self.total)

    @property
    def total(self) -> int:
        return self.width * self.inside + self.steps * self.outside

    @property
    def reports(self) -> int:
        return self.steps + self.width

    @property
    def odds(self) -> Fraction:
        return Fraction(self.inside, self.outside)

    def report(self, index: int, draw: Below) -> int:
        """One report for one answer, by the rule above."""
        drawn = draw(self.total)
        if drawn < self.width * self.inside:
            return index + drawn // self.inside
        beside = (drawn - self.width * self.inside) // self.outside
        return beside if beside < index else beside + self.width

    def draw(self, index: Steps, rng: Rng) -> Steps:
        """The same for many answers at once."""
        drawn = below(self.total, len(index), rng).astype(np.int64)
        beyond = drawn - self.width * self.inside
        beside = beyond // self.outside
        return np.where(beyond < 0, index + drawn // self.inside, beside + np.where(beside < index, 0, self.width))

    def matrix(self) -> Array:
        """Pr(report | answer): rows are answers, columns are reports."""
        start = np.arange(self.reports) - np.arange(self.steps + 1)[:, None]
        return np.where((start >= 0) & (start < self.width), self.inside, self.outside) / self.total

    @cached_property
    def base(self) -> Fraction:
        """The mean report when the answer is 0."""
        evenly = self.outside * Fraction(self.reports * (self.reports - 1), 2)
        return (evenly + (self.inside - self.outside) * Fraction(self.width * (self.width - 1), 2)) / self.total

    @cached_property
    def slope(self) -> Fraction:
        """By how much the mean report moves when the answer moves a step."""
        return Fraction((self.inside - self.outside) * self.width, self.total)

    def scores(self, reports: Steps) -> Array:
        """Numbers whose mean, given the answer, is the answer as a part of the range."""
        return np.asarray((reports - float(self.base)) / float(self.slope * self.steps))

    @cached_property
    def square(self) -> tuple[float, float, float]:
        """c0, c1, c2: the mean squared score of an answer u from 0 to 1 is c0 + c1 u + c2 u**2."""
        evenly = _sum_of_squares(self.reports, self.base) * self.outside
        extra = self.inside - self.outside  # the window of answer i adds (i + t - base)**2 for t = 0 … width-1
        still = (evenly + extra * _sum_of_squares(self.width, self.base)) / self.total
        drift = 2 * extra * (Fraction(self.width * (self.width - 1), 2) - self.width * self.base) / self.total
        unit = self.slope * self.steps
        return (
            float(still / unit**2),
            float(drift * self.steps / unit**2),
            float(self.slope * self.steps**2 / unit**2),
        )


@dataclass(frozen=True, repr=False)
class Windowed(SampledAtOdds, OnGrid):
    """A randomizer of bounded numbers that draws with a sliding window.

    Parameters
    ----------
    width : int
        How many reports are near an answer.
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
        keep_whole(self, width=1, inside=1, outside=1)
        _ = self._window  # checked once, here

    @cached_property
    def _window(self) -> Window:
        """The law that reports are drawn by."""
        return Window(self.steps, self.width, self.inside, self.outside)

    @property
    def _odds(self) -> Fraction:
        return self._window.odds

    def _draw_report(self, index: int, draw: Below) -> int:
        return self._window.report(index, draw)

    def _draw(self, index: Steps, rng: Rng) -> Steps:
        return self._window.draw(index, rng)


def _sum_of_squares(count: int, center: Fraction) -> Fraction:
    """Sum of (t - center)**2 for t = 0 … count-1."""
    return Fraction((count - 1) * count * (2 * count - 1), 6) - center * count * (count - 1) + count * center**2
