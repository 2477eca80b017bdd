"""Scrambled responses of the survey literature: a random number is added to the answer or multiplied by it.

They are unbiased and easy to explain, but they offer less protection than they appear to. A deck of cards is finite, so
some reports are possible only for some answers. Epsilon is computed exactly from the deck and is usually infinite.
"""

import math
from collections import defaultdict
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, Literal

import numpy as np

from toolkit.core.arrays import Array, Steps
from toolkit.core.checks import DENOMINATOR_LIMIT, check_choice, check_integer, reject
from toolkit.core.randomness import DrawBelow, Rng
from toolkit.core.rounding import log_up
from toolkit.core.sampling import Categorical
from toolkit.local.numeric.grid import EXACT_LIMIT
from toolkit.local.numeric.means import MeanRandomizer
from toolkit.local.protocol import is_json_integer, read_fraction


@dataclass(frozen=True, repr=False)
class Scrambled(MeanRandomizer):
    """A randomizer that reports the answer plus, or times, a number drawn from a known deck.

    To draw a report, draw a uniform integer below the sum of `weights`; the consecutive cell into which it falls is the
    card. Reports are whole multiples of `unit`, given as integers.

    Parameters
    ----------
    how : {"additive", "multiplicative"}
        Whether the drawn number is added to the answer or multiplied by it.
    values : sequence of number
        The deck's values, all different.
    weights : sequence of int
        The number of cards with each value.

    Examples
    --------
    >>> from toolkit.local.numeric import additive
    >>> additive((0, 10), noise={-1: 0.25, 0: 0.5, 1: 0.25}).epsilon
    inf
    """

    how: Literal["additive", "multiplicative"]
    values: tuple[Fraction, ...]
    weights: tuple[int, ...]

    name = "scrambled"

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "how", check_choice(self.how, "how", ("additive", "multiplicative")))
        object.__setattr__(self, "values", tuple(read_fraction(value, "values") for value in self.values))
        object.__setattr__(self, "weights", tuple(check_integer(weight, "weights") for weight in self.weights))
        if not self.values or len(self.values) != len(self.weights) or len(set(self.values)) < len(self.values):
            consequence = "give `noise` as a mapping from value to probability"
            reject("the deck must have distinct values, each with a weight", f"{len(self.values)} values", consequence)
        if sum(self.weights) > DENOMINATOR_LIMIT:
            reject(
                "the weights must sum to at most 2**32", sum(self.weights), "one 32-bit word must be enough for a draw"
            )
        if self.how == "multiplicative" and self._deck_moment(1) == 0:
            reject("the deck's mean must differ from 0", 0, "the mean report would say nothing about the mean answer")
        _ = self.report_lines  # for its checks

    def _deck_moment(self, order: int) -> Fraction:
        total = sum(weight * value**order for value, weight in zip(self.values, self.weights, strict=True))
        return Fraction(total) / sum(self.weights)

    def _scrambled_answer(self, index: int, value: Fraction) -> Fraction:
        answer = self.low + index * (self.high - self.low) / self.steps
        return answer + value if self.how == "additive" else answer * value

    @cached_property
    def unit(self) -> Fraction:
        """The step of the grid of reports; 1 if answers and deck are whole numbers."""
        # All reports are integer combinations of the reports of the two lowest answers.
        corners = [self._scrambled_answer(index, value) for index in (0, 1) for value in self.values]
        return Fraction(1, math.lcm(*(corner.denominator for corner in corners)))

    @cached_property
    def report_lines(self) -> tuple[Steps, Steps]:
        """The report of the lowest answer and the increment per step, in units, for each value of the deck."""
        starts = [int(self._scrambled_answer(0, value) / self.unit) for value in self.values]
        slopes = [
            int(self._scrambled_answer(1, value) / self.unit) - start
            for value, start in zip(self.values, starts, strict=True)
        ]
        if max(abs(start) + abs(slope) * self.steps for start, slope in zip(starts, slopes, strict=True)) >= 2**62:
            reject("reports must fit into 64 bits", "a finer or wider deck", "choose values with smaller denominators")
        return np.array(starts), np.array(slopes)

    def _browser_data(self) -> dict[str, Any]:
        data, lines = super()._browser_data(), list(zip(*(line.tolist() for line in self.report_lines), strict=True))
        farthest = max(abs(start) + self.steps * abs(slope) for start, slope in lines)
        if max(2 * farthest, *(abs(part) for value in self.values for part in value.as_integer_ratio())) >= EXACT_LIMIT:
            rule = "`noise` must have fewer digits for answers in a browser"
            reject(rule, f"reports in steps of {self.unit}", "they would be rounded there")
        return data | {"cards": [{"start": start, "slope": slope} for start, slope in lines]}

    @cached_property
    def epsilon(self) -> float:
        """The epsilon over all reports and answers; infinite if a report is possible only for some answers."""
        first = set(self._report_weights(0))
        if any(set(self._report_weights(index)) != first for index in range(self.steps, 0, -1)):
            return math.inf
        laws = [self._report_weights(index) for index in range(self.steps + 1)]
        return log_up(max(Fraction(max(law[y] for law in laws), min(law[y] for law in laws)) for y in first))

    def _report_weights(self, index: int) -> dict[int, int]:
        """Return the weight of every possible report for an answer."""
        starts, slopes = self.report_lines
        law: defaultdict[int, int] = defaultdict(int)
        for start, slope, weight in zip(starts.tolist(), slopes.tolist(), self.weights, strict=True):
            law[start + index * slope] += weight
        return law

    @cached_property
    def squared_score_coefficients(self) -> tuple[float, float, float]:
        low, span = self.low, self.high - self.low
        if self.how == "additive":
            return float((self._deck_moment(2) - self._deck_moment(1) ** 2) / span**2), 0.0, 1.0
        factor = (
            self._deck_moment(2) / self._deck_moment(1) ** 2
        )  # the mean squared score of an answer x is factor * x**2
        return float((factor - 1) * low**2 / span**2), float(2 * (factor - 1) * low / span), float(factor)

    def _draw_report(self, index: int, draw: DrawBelow) -> int:
        rest, card = draw(sum(self.weights)), 0
        while rest >= self.weights[card]:
            rest, card = rest - self.weights[card], card + 1
        return int(self.report_lines[0][card]) + index * int(self.report_lines[1][card])

    def _accepts(self, report: object) -> bool:
        if not is_json_integer(report):
            return False
        lines = zip(*(line.tolist() for line in self.report_lines), strict=True)
        return any(self._is_on_line(report - start, slope) for start, slope in lines)

    def _is_on_line(self, offset: int, slope: int) -> bool:
        """Return whether a card with this slope turns some answer into the lowest answer's report plus `offset`."""
        return offset == 0 if slope == 0 else offset % slope == 0 and 0 <= offset // slope <= self.steps

    def _draw(self, index: Steps, rng: Rng) -> Steps:
        card = Categorical(self.weights).draw(len(index), rng)
        starts, slopes = self.report_lines
        return np.asarray(starts[card] + index * slopes[card], dtype=np.int64)

    def _unit_scores(self, reports: Steps) -> Array:
        sent, center = reports * float(self.unit), float(self._deck_moment(1))
        answers = sent - center if self.how == "additive" else sent / center
        return np.asarray((answers - float(self.low)) / self._grid.span)

    def __repr__(self) -> str:
        return super().__repr__().replace("Scrambled", f"Scrambled, {self.how},")
