"""Coins, dice, cards, digits and birthdays: what a respondent can hold in the hand instead of trusting a screen."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate
from typing import Generic, Protocol, TypeVar

import numpy as np
import numpy.typing as npt

from toolkit.core.arrays import Labels
from toolkit.core.rounding import apportion_probabilities
from toolkit.local.matrix.moments import Forced


class _HasEpsilon(Protocol):
    @property
    def epsilon(self) -> float: ...


D = TypeVar("D", bound=_HasEpsilon)

_FACES = ("heads", "tails")
_CATALOGUE: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("a coin", _FACES),
    ("two coins, one after the other", tuple(f"{a}-{b}" for a in _FACES for b in _FACES)),
    ("a die", tuple(map(str, range(1, 7)))),
    ("one of ten slips numbered 1 to 10", tuple(map(str, range(1, 11)))),
    ("the last digit of a phone number", tuple(map(str, range(10)))),
    ("a month of birth", tuple(map(str, range(1, 13)))),
    ("a card drawn from 13 of one suit", tuple(map(str, range(1, 14)))),
    ("a die thrown twice (6 × first + second − 6)", tuple(map(str, range(1, 37)))),
    ("the last two digits of a phone number", tuple(f"{i:02}" for i in range(100))),
)
_IN_HAND = ("a coin", "two coins, one after the other", "a die")
MOST_SLIPS = 40
"""Slips of paper that anybody cuts out and mixes."""

_SOMEBODY = "only if nobody who sees the report can find it out: not one's own"
_NOTES = {
    "a month of birth": f"months differ by a few per cent in length and births; {_SOMEBODY}",
    "the last digit of a phone number": _SOMEBODY,
    "the last two digits of a phone number": _SOMEBODY,
}


@dataclass(frozen=True)
class Step:
    """On these outcomes give this report, or the truth if there is none; if the answer is this, or any."""

    outcomes: tuple[str, ...]
    report: str | int | None
    answer: str | int | None = None


@dataclass(frozen=True, repr=False)
class Device(Generic[D]):
    """A device with equally likely outcomes, what to do on each, and the design it really is.

    Parameters
    ----------
    name : str
        Such as "a die".
    outcomes : int
        How many it has.
    instructions : str
        What to do on each, in words.
    design : Design
        What people who follow them use.
    distance : float
        The largest difference between its probabilities and the wanted ones.
    note : str
        What to mind.
    steps : tuple of Step
        The instructions, as data.

    Examples
    --------
    >>> from toolkit import forced
    >>> die = forced("1/6", "1/6").devices()[0]
    >>> die.name, die.exact
    ('a die', True)
    """

    name: str
    outcomes: int
    instructions: str
    design: D
    distance: float
    note: str = ""
    steps: tuple[Step, ...] = ()

    @property
    def epsilon(self) -> float:
        """What a report costs with this device."""
        return self.design.epsilon

    @property
    def exact(self) -> bool:
        """Whether it realizes the wanted probabilities."""
        return self.distance == 0

    @property
    def _by_hand(self) -> bool:
        """Whether people can use it in one draw and without arithmetic: a coin, two, a die, or numbered slips."""
        return self.name in _IN_HAND or self._slips > 0

    @property
    def _slips(self) -> int:
        """How many numbered slips it is drawn from; 0 if it is another device."""
        return self.outcomes if " slips numbered " in self.name else 0

    def __repr__(self) -> str:
        fit = "exact" if self.exact else f"off by {self.distance:.3g}"
        return f"<Device {self.name}: {self.instructions} epsilon {self.epsilon:.4g}, {fit}>"


def nearest_devices(
    weights: npt.NDArray[np.int64],
    denominator: int,
    options: Labels,
    report_options: Labels,
    form: Forced | None,
    realized: Callable[[list[list[int]], int], D],
) -> tuple[Device[D], ...]:
    """Every device of the catalogue that can tell the answers apart, nearest first, then by fewest outcomes."""
    devices = []
    for name, outcomes in (*_CATALOGUE, *_slips(denominator)):
        parts = _parts(weights, denominator, form, len(outcomes))
        if parts is None:
            continue
        table, forced = parts
        try:
            design = realized(table, len(outcomes))
        except ValueError:  # too few outcomes: rounding made two answers look alike
            continue
        distance = max(
            abs(Fraction(part, len(outcomes)) - Fraction(weight, denominator))
            for row, wanted in zip(table, weights.tolist(), strict=True)
            for part, weight in zip(row, wanted, strict=True)
        )
        alike = forced if options == report_options else None
        steps = _steps(outcomes, table, alike, options, report_options)
        note = _NOTES.get(name, "")
        devices.append(Device(name, len(outcomes), _words(steps), design, float(distance), note, steps))
    return tuple(sorted(devices, key=lambda device: (device.distance, device.outcomes)))


def _slips(denominator: int) -> list[tuple[str, tuple[str, ...]]]:
    """As many slips as a design has parts, where neither coins, a die nor ten slips draw it and they are few."""
    if denominator > MOST_SLIPS or any(size % denominator == 0 for size in (4, 6, 10)):
        return []
    return [(f"one of {denominator} slips numbered 1 to {denominator}", tuple(map(str, range(1, denominator + 1))))]


def _parts(
    weights: npt.NDArray[np.int64], denominator: int, form: Forced | None, m: int
) -> tuple[list[list[int]], list[int] | None] | None:
    """The matrix in m outcomes, and how many force which report if it is of that form; None if m are too few."""
    if form is not None and form.truth > 0:
        cells = [form.truth, *form.forced.tolist()]
        if sum(c > 0 for c in cells) > m:
            return None
        truth, *forced = apportion_probabilities([Fraction(c, denominator) for c in cells], m)
        table = [[f + (truth if i == j else 0) for j, f in enumerate(forced)] for i in range(len(forced))]
        return table, forced
    rows = weights.tolist()
    if max(sum(w > 0 for w in row) for row in rows) > m:
        return None
    return [apportion_probabilities([Fraction(w, denominator) for w in row], m) for row in rows], None


def _steps(
    outcomes: Sequence[str],
    table: Sequence[Sequence[int]],
    forced: Sequence[int] | None,
    options: Labels,
    reports: Labels,
) -> tuple[Step, ...]:
    """What to do on which outcome: whatever the answer is, or answer by answer."""
    if forced is not None:
        spread = _spread(outcomes, forced, options)
        return (*(Step(some, option) for some, option in spread), Step(tuple(outcomes[sum(forced) :]), None))
    return tuple(
        Step(some, report, option)
        for option, row in zip(options, table, strict=True)
        for some, report in _spread(outcomes, row, reports)
    )


def _spread(outcomes: Sequence[str], sizes: Sequence[int], names: Labels) -> list[tuple[tuple[str, ...], str | int]]:
    ends = list(accumulate(sizes))
    return [
        (tuple(outcomes[end - size : end]), name) for name, size, end in zip(names, sizes, ends, strict=True) if size
    ]


def _words(steps: Sequence[Step]) -> str:
    if all(step.answer is None for step in steps):
        return " ".join(
            f"{_span(step.outcomes)}: " + ("answer truthfully." if step.report is None else f'say "{step.report}".')
            for step in steps
        )
    answers = dict.fromkeys(step.answer for step in steps)
    rows = {
        answer: "; ".join(f'{_span(step.outcomes)} report "{step.report}"' for step in steps if step.answer == answer)
        for answer in answers
    }
    return " ".join(f'If your answer is "{answer}": {row}.' for answer, row in rows.items())


def _span(outcomes: Sequence[str]) -> str:
    """Consecutive outcomes: a range of numbers, or a list of coin faces."""
    if len(outcomes) <= 2 or not outcomes[0].isdigit():
        return " or ".join(outcomes)
    return f"{outcomes[0]}–{outcomes[-1]}"
