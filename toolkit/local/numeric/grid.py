"""Bounded numbers on a public grid: answers are rounded to whole steps before anything is drawn.

The last bits of a floating-point report could reveal the answer. Whole steps cannot, because the possible reports are
the same integers for every answer.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from toolkit.core.arrays import Array, Steps, Values, as_array
from toolkit.core.checks import Number, check_bounds, check_integer, exact_fraction, reject
from toolkit.core.randomness import Rng
from toolkit.local.protocol import convert_to_integers, read_fraction
from toolkit.local.sampled_randomizer import MatrixFreeRandomizer

EXACT_LIMIT = 2**53
"""Whole numbers below this are exact in JavaScript."""

_WIDEST_NOISE = 2**43  # in steps; beyond it noise could exceed 2**53

_MULTIPLES = 2**9  # bound on the noise, in multiples of `s`; larger draws have a probability below 10**-200


def laplace_browser_data(scale: Fraction, budget: Fraction) -> dict[str, Any]:
    """Return the scale of Laplace noise in lowest terms, `s` / `t`, and its budget, with long numbers as strings."""
    if scale >= _WIDEST_NOISE:
        reject("`epsilon` must be larger for answers in a browser", float(budget), "reports would exceed 2**53")
    s, t = scale.as_integer_ratio()
    number_type = int if max(_MULTIPLES * s, t) < EXACT_LIMIT else str
    parts = [part if part < EXACT_LIMIT else str(part) for part in budget.as_integer_ratio()]
    return {"budget": parts, "s": number_type(s), "t": number_type(t)}


MAX_STEPS = 1 << 16
"""The default number of steps of a grid; rounding changes an answer by at most 1/131072 of the range."""

MAX_BOUND = 10**300
"""The largest absolute value of bounds, because estimates are floats."""


def checked_bounds(bounds: Sequence[Number]) -> tuple[Fraction, Fraction]:
    """Check that bounds are two finite numbers in order; return them as fractions."""
    low, high = check_bounds(bounds, consequence="the lowest and the highest answer are public; write [0, 80]")
    if max(abs(low), abs(high)) > MAX_BOUND:
        reject("`bounds` must lie between -1e300 and 1e300", "wider ones", "estimates are floats")
    return low, high


def finest_step_count(low: Fraction, high: Fraction) -> int:
    """Return the largest number of steps for which whole numbers are on the grid if the bounds are whole."""
    span = high - low
    if low.denominator == high.denominator == 1 and span <= MAX_STEPS:
        return MAX_STEPS // int(span) * int(span)
    return MAX_STEPS


@dataclass(frozen=True)
class AnswerGrid:
    """A grid of `steps` + 1 points from `low` to `high`, inclusive."""

    low: Fraction
    high: Fraction
    steps: int

    def __post_init__(self) -> None:
        checked_bounds((self.low, self.high))
        if check_integer(self.steps, "steps") > MAX_STEPS:
            reject(f"`steps` must be at most {MAX_STEPS}", self.steps, "a report must be drawn with 32 bits")

    @property
    def span(self) -> float:
        return float(self.high - self.low)

    def nearest_indices(self, answers: Values) -> tuple[Steps, bool]:
        """Return the index of the point nearest to each answer, and whether a single answer was given."""
        numbers, single = checked_answers(answers, self.low, self.high)
        indices = np.rint((numbers - float(self.low)) / self.span * self.steps).astype(np.int64)
        return np.clip(indices, 0, self.steps), single

    def to_unit_interval(self, value: Number, name: str) -> float:
        """Scale a number within the bounds to the range from 0 to 1."""
        number = exact_fraction(value, name)
        if not self.low <= number <= self.high:
            reject(f"`{name}` must lie between {float(self.low):g} and {float(self.high):g}", value, "answers do")
        return float((number - self.low) / (self.high - self.low))


def checked_answers(answers: Values, low: Fraction, high: Fraction) -> tuple[Array, bool]:
    """Read answers as floats; reject missing answers and answers out of bounds, without quoting them."""
    try:
        numbers = np.asarray(answers, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        consequence = "convert them, and drop missing ones"
        reject("answers must be numbers, none missing", "something else", consequence, TypeError)
    single = numbers.ndim == 0
    numbers = numbers.reshape(1) if single else numbers
    if numbers.ndim != 1:
        reject("answers must be one-dimensional", f"{numbers.ndim} dimensions", "give one per person")
    if numbers.size == 0:
        reject("answers must hold at least one entry", "none", "there is nothing to randomize")
    missing = int(np.count_nonzero(np.isnan(numbers)))
    if missing:
        consequence = "drop them first (for example with .dropna())"
        reject("answers must not be missing", f"{missing} missing of {numbers.size}", consequence)
    outside = int(np.count_nonzero((numbers < float(low)) | (numbers > float(high))))
    if outside:
        rule = f"answers must lie between {float(low):g} and {float(high):g}"
        reject(rule, f"{outside} of {numbers.size} outside", "clip them on the respondent's side, or widen the bounds")
    return numbers, single


def checked_reports(reports: Values, n_reports: int | None = None) -> Steps:
    """Check that reports are integers, from 0 to n_reports - 1 if `n_reports` is given."""
    codes = as_array(reports)
    codes = codes.reshape(1) if codes.ndim == 0 else codes
    if codes.ndim != 1 or codes.dtype.kind not in "biu" or codes.size == 0:
        rule = "reports must be a list of integers"
        reject(rule, f"{codes.ndim} dimensions of {codes.dtype}", "pass reports as `randomize` returns them", TypeError)
    least, most = (-(2**62), 2**62) if n_reports is None else (0, n_reports - 1)
    if codes.min() < least or codes.max() > most:
        reject(f"reports must lie in {least} … {most}", "others", "they were made by another randomizer")
    return codes.astype(np.int64)


@dataclass(frozen=True, repr=False)
class GridRandomizer(MatrixFreeRandomizer):
    """A randomizer of answers from `low` to `high` that rounds them to a public grid before anything is drawn.

    Parameters
    ----------
    low : number
        The lowest answer.
    high : number
        The highest answer.
    steps : int
        The number of steps of the public grid between the bounds.
    """

    low: Fraction
    high: Fraction
    steps: int

    answer_kind = "number"
    options = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "low", read_fraction(self.low, "low"))
        object.__setattr__(self, "high", read_fraction(self.high, "high"))
        convert_to_integers(self, steps=1)
        _ = self._grid  # for its checks

    @property
    def bounds(self) -> tuple[Fraction, Fraction]:
        return self.low, self.high

    @property
    def _sensitivity(self) -> float:
        return float(self.high - self.low)

    @cached_property
    def _grid(self) -> AnswerGrid:
        """The points that answers are rounded to."""
        return AnswerGrid(self.low, self.high, self.steps)

    def _encode_answers(self, answers: Values) -> tuple[Steps, bool]:
        return self._grid.nearest_indices(answers)

    def randomize(self, answers: Values, rng: Rng = None) -> Any:
        reports = super().randomize(answers, rng)
        return reports if np.ndim(reports) else int(reports)

    def _browser_data(self) -> dict[str, Any]:
        # Division in a browser gives the same float as in Python if the numerator and the denominator are exact floats.
        span = self.high - self.low
        if max(abs(part) for number in (*self.bounds, span) for part in number.as_integer_ratio()) >= EXACT_LIMIT:
            received = f"{float(self.low)} and {float(self.high)}"
            reject("`bounds` must have fewer digits for answers in a browser", received, "they would be rounded there")
        return super()._browser_data() | {"span": list(span.as_integer_ratio())}
