"""Randomizers for the mean of bounded numbers: one bit, a sliding window, and a mixture of both."""

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np

from toolkit.core.arrays import Array, ArrayLike, Steps, Values
from toolkit.core.checks import reject
from toolkit.core.estimate import Estimate
from toolkit.core.randomness import DrawBelow, Rng, below
from toolkit.core.sampling import Categorical
from toolkit.local.calibration import check_odds
from toolkit.local.matrix.encoding import checked_counts, checked_times, count_codes
from toolkit.local.numeric.grid import checked_reports
from toolkit.local.numeric.means import FiniteMeanRandomizer
from toolkit.local.numeric.window import Window, WindowRandomizer
from toolkit.local.oracles.support import SupportLaw
from toolkit.local.protocol import convert_to_integers, is_code

TURN_DENOMINATOR = 1 << 16
"""The denominator of the probability that a hybrid uses the window."""


@dataclass(frozen=True, repr=False)
class OneBit(FiniteMeanRandomizer):
    """A randomizer that rounds the answer to 0 or 1 at random and randomizes this bit by Warner's design.

    To draw a report for an answer `index` steps above `low`, draw a uniform integer below `steps`; the bit is 1 if the
    integer is below the index, else 0. Then draw a uniform integer below keep + lie; if it is below `keep`, report the
    bit, else its opposite.

    Parameters
    ----------
    keep : int
        The weight of the true bit.
    lie : int
        The weight of the opposite bit.

    Examples
    --------
    >>> from toolkit.local.numeric import one_bit
    >>> one_bit((0, 80), epsilon=1)
    <OneBit on 0 to 80: epsilon 1>
    """

    keep: int
    lie: int

    name = "one_bit"

    def __post_init__(self) -> None:
        super().__post_init__()
        convert_to_integers(self, keep=1, lie=1)
        check_odds(self.keep, self.lie, self.keep + self.lie, ("keep", "lie"))

    @property
    def _odds(self) -> Fraction:
        return Fraction(self.keep, self.lie)

    @property
    def n_reports(self) -> int:
        return 2

    @cached_property
    def _support_law(self) -> SupportLaw:
        """The support probabilities: an answer u from 0 to 1 gives a 1 with probability u, so the mean is a share."""
        keep = Fraction(self.keep, self.keep + self.lie)
        return SupportLaw.independent(keep, 1 - keep)

    @cached_property
    def squared_score_coefficients(self) -> tuple[float, float, float]:
        basis = self._support_law.interval_basis(np.zeros(1), 1)
        without, having = float(basis.spread_without[0]), float(basis.spread_with[0])
        return without, having - without, 0.0

    def _draw_report(self, index: int, draw: DrawBelow) -> int:
        bit = draw(self.steps) < index
        return int(bit == (draw(self.keep + self.lie) < self.keep))

    def _draw(self, index: Steps, rng: Rng) -> Steps:
        bit = below(self.steps, len(index), rng) < index.astype(np.uint64)
        flipped = Categorical([self.keep, self.lie]).draw(len(index), rng)
        return np.asarray(bit ^ (flipped == 1), dtype=np.int64)

    def _unit_scores(self, reports: Steps) -> Array:
        return np.asarray((reports - float(self._support_law.q)) / self._support_law.slope)

    def estimate(self, reports: Values, *, times: ArrayLike | None = None) -> Estimate:
        codes = checked_reports(reports, 2)
        return self.estimate_counts(count_codes(codes, None if times is None else checked_times(times, len(codes)), 2))

    def estimate_counts(self, counts: ArrayLike) -> Estimate:
        numbers = checked_counts(counts, 2, (0, 1))
        basis = self._support_law.interval_basis(numbers[1:], int(numbers.sum()))
        low, span = float(self.low), self._grid.span
        value, se = low + span * float(basis.value[0]), span * float(basis.se[0])
        return self._make_estimate(value, se, basis.n, basis)


@dataclass(frozen=True, repr=False)
class Piecewise(WindowRandomizer, FiniteMeanRandomizer):
    """A randomizer whose reports are more likely in a window of `width` reports that slides with the answer.

    Reports are drawn as in `toolkit.local.numeric.window.Window`, with the index of the answer.

    Examples
    --------
    >>> from toolkit.local.numeric import piecewise
    >>> piecewise((0, 80), epsilon=1)
    <Piecewise on 0 to 80: epsilon 1>
    """

    name = "piecewise"

    @property
    def n_reports(self) -> int:
        return self._window.n_reports

    @property
    def squared_score_coefficients(self) -> tuple[float, float, float]:
        return self._window.squared_score_coefficients

    def _unit_scores(self, reports: Steps) -> Array:
        return self._window.scores(reports)


@dataclass(frozen=True, repr=False)
class Hybrid(FiniteMeanRandomizer):
    """A random mixture of a sliding window and one bit, whose worst-case variance is no larger than with either alone.

    To draw a report, draw a uniform integer below 65536. If it is below `turn`, draw j as `Window` does and report j +
    2. Otherwise draw a bit as `OneBit` does and report the bit.

    Parameters
    ----------
    keep : int
        The weight of the true bit.
    lie : int
        The weight of the opposite bit.
    width : int
        The number of reports near an answer.
    inside : int
        The weight of a report near the answer.
    outside : int
        The weight of any other report.
    turn : int
        The numerator, over 65536, of the probability that the window is used.

    Examples
    --------
    >>> from toolkit.local.numeric import hybrid
    >>> hybrid((0, 80), epsilon=2)
    <Hybrid on 0 to 80: epsilon 2>
    """

    keep: int
    lie: int
    width: int
    inside: int
    outside: int
    turn: int

    name = "hybrid"

    def __post_init__(self) -> None:
        super().__post_init__()
        convert_to_integers(self, keep=1, lie=1, width=1, inside=1, outside=1, turn=0)
        if self.turn > TURN_DENOMINATOR:
            reject(f"`turn` must be at most {TURN_DENOMINATOR}", self.turn, "it is the numerator of a probability")
        _ = self.bit, self._window  # these constructors check the weights

    @cached_property
    def bit(self) -> OneBit:
        """The one-bit randomizer of the mixture."""
        return OneBit(self.low, self.high, self.steps, self.keep, self.lie)

    @cached_property
    def _window(self) -> Window:
        """The distribution of reports in a sliding window."""
        return Window(self.steps, self.width, self.inside, self.outside)

    @property
    def window_probability(self) -> Fraction:
        """The probability that the window is used."""
        return Fraction(self.turn, TURN_DENOMINATOR)

    @property
    def _odds(self) -> Fraction:
        """The larger odds of the two randomizers, because the choice between them does not depend on the answer."""
        return max(self.bit._odds, self._window.odds)

    @property
    def n_reports(self) -> int:
        return 2 + self._window.n_reports

    @cached_property
    def squared_score_coefficients(self) -> tuple[float, float, float]:
        share = self.turn / TURN_DENOMINATOR
        c0, c1, c2 = (
            share * w + (1 - share) * b
            for w, b in zip(self._window.squared_score_coefficients, self.bit.squared_score_coefficients, strict=True)
        )
        return c0, c1, c2

    def _draw_report(self, index: int, draw: DrawBelow) -> int:
        return (
            2 + self._window.draw_report(index, draw)
            if draw(TURN_DENOMINATOR) < self.turn
            else self.bit._draw_report(index, draw)
        )

    def _accepts(self, report: object) -> bool:
        # If the window or the bit is never used, its reports cannot occur.
        bit = is_code(report, 2)
        return self.turn < TURN_DENOMINATOR if bit else self.turn > 0 and is_code(report, self.n_reports)

    def _draw(self, index: Steps, rng: Rng) -> Steps:
        turns = below(TURN_DENOMINATOR, len(index), rng) < self.turn
        reports = np.empty(len(index), dtype=np.int64)
        reports[turns] = 2 + self._window.draw_reports(index[turns], rng)
        reports[~turns] = self.bit._draw(index[~turns], rng)
        return reports

    def _unit_scores(self, reports: Steps) -> Array:
        return np.where(reports < 2, self.bit._unit_scores(reports), self._window.scores(reports - 2))
