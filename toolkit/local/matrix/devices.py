"""Devices that respondents can use instead of trusting a screen: coins, dice, cards, digits and birthdays."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate
from typing import Generic, Protocol, TypeVar

import numpy as np
import numpy.typing as npt

from toolkit.core.arrays import Labels
from toolkit.core.rounding import apportion_probabilities
from toolkit.local.matrix.moments import ForcedForm


class _HasEpsilon(Protocol):
    @property
    def epsilon(self) -> float: ...


D = TypeVar("D", bound=_HasEpsilon)

_FACES = ("heads", "tails")
_COMMON_DEVICES: tuple[tuple[str, tuple[str, ...]], ...] = (
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
MAX_SLIPS = 40
"""The largest number of paper slips that is practical to cut out and mix."""

_NOT_ONES_OWN = "only if nobody who sees the report can look it up; never your own"
_NOTES = {
    "a month of birth": f"months differ by a few per cent in length and births; {_NOT_ONES_OWN}",
    "the last digit of a phone number": _NOT_ONES_OWN,
    "the last two digits of a phone number": _NOT_ONES_OWN,
}


@dataclass(frozen=True)
class Step:
    """An instruction: on these outcomes give `report` (None: the truth) if the true answer is `truth` (None: any)."""

    outcomes: tuple[str, ...]
    report: str | int | None
    truth: str | int | None = None


@dataclass(frozen=True, repr=False)
class Device(Generic[D]):
    """A device with equally likely outcomes, instructions for each, and the design that results.

    Parameters
    ----------
    name : str
        The name, for example "a die".
    outcomes : int
        The number of outcomes.
    instructions : str
        The instruction for each outcome.
    design : Design
        The design that results if people follow the instructions.
    distance : float
        The largest difference between the probabilities of the device and those of the original design.
    note : str
        A warning, if the device needs one.
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
        """The privacy loss of a report with this device."""
        return self.design.epsilon

    @property
    def exact(self) -> bool:
        """Whether the device has exactly the probabilities of the original design."""
        return self.distance == 0

    @property
    def _is_simple_to_use(self) -> bool:
        """Whether one draw without arithmetic is enough: a coin, two coins, a die, or numbered slips."""
        return self.name in _IN_HAND or self._n_slips > 0

    @property
    def _n_slips(self) -> int:
        """The number of numbered slips, or 0 for other devices."""
        return self.outcomes if " slips numbered " in self.name else 0

    def __repr__(self) -> str:
        fit = "exact" if self.exact else f"off by {self.distance:.3g}"
        return f"<Device {self.name}: {self.instructions} epsilon {self.epsilon:.4g}, {fit}>"


def nearest_devices(
    weights: npt.NDArray[np.int64],
    denominator: int,
    options: Labels,
    report_options: Labels,
    form: ForcedForm | None,
    make_design: Callable[[list[list[int]], int], D],
) -> tuple[Device[D], ...]:
    """Return the devices that distinguish the answers, sorted by closeness and then by number of outcomes."""
    devices = []
    for name, outcomes in (*_COMMON_DEVICES, *_numbered_slips(denominator)):
        apportioned = _apportioned_outcomes(weights, denominator, form, len(outcomes))
        if apportioned is None:
            continue
        table, forced = apportioned
        try:
            design = make_design(table, len(outcomes))
        except ValueError:  # with too few outcomes, rounding makes the rows of two answers equal
            continue
        distance = max(
            abs(Fraction(part, len(outcomes)) - Fraction(weight, denominator))
            for row, weights_row in zip(table, weights.tolist(), strict=True)
            for part, weight in zip(row, weights_row, strict=True)
        )
        forced_outcomes = forced if options == report_options else None
        steps = _steps(outcomes, table, forced_outcomes, options, report_options)
        note = _NOTES.get(name, "")
        devices.append(Device(name, len(outcomes), _instruction_text(steps), design, float(distance), note, steps))
    return tuple(sorted(devices, key=lambda device: (device.distance, device.outcomes)))


def _numbered_slips(denominator: int) -> list[tuple[str, tuple[str, ...]]]:
    """Return slips numbered up to the denominator, if they are few and no common device gives exact probabilities."""
    if denominator > MAX_SLIPS or any(size % denominator == 0 for size in (4, 6, 10)):
        return []
    return [(f"one of {denominator} slips numbered 1 to {denominator}", tuple(map(str, range(1, denominator + 1))))]


def _apportioned_outcomes(
    weights: npt.NDArray[np.int64], denominator: int, form: ForcedForm | None, n_outcomes: int
) -> tuple[list[list[int]], list[int] | None] | None:
    """Apportion the matrix over m outcomes, or return None if m outcomes are too few.

    The second value is the number of outcomes that force each report, if the matrix has the forced form.
    """
    if form is not None and form.truth_weight > 0:
        cells = [form.truth_weight, *form.forced_weights.tolist()]
        if sum(c > 0 for c in cells) > n_outcomes:
            return None
        truth, *forced = apportion_probabilities([Fraction(c, denominator) for c in cells], n_outcomes)
        table = [[f + (truth if i == j else 0) for j, f in enumerate(forced)] for i in range(len(forced))]
        return table, forced
    rows = weights.tolist()
    if max(sum(w > 0 for w in row) for row in rows) > n_outcomes:
        return None
    return [apportion_probabilities([Fraction(w, denominator) for w in row], n_outcomes) for row in rows], None


def _steps(
    outcomes: Sequence[str],
    table: Sequence[Sequence[int]],
    forced: Sequence[int] | None,
    options: Labels,
    reports: Labels,
) -> tuple[Step, ...]:
    """Return the instructions for the outcomes, for any answer or for each answer separately."""
    if forced is not None:
        assigned_outcomes = _assign_outcomes(outcomes, forced, options)
        return (
            *(Step(subset, option) for subset, option in assigned_outcomes),
            Step(tuple(outcomes[sum(forced) :]), None),
        )
    return tuple(
        Step(subset, report, option)
        for option, row in zip(options, table, strict=True)
        for subset, report in _assign_outcomes(outcomes, row, reports)
    )


def _assign_outcomes(
    outcomes: Sequence[str], sizes: Sequence[int], labels: Labels
) -> list[tuple[tuple[str, ...], str | int]]:
    ends = list(accumulate(sizes))
    return [
        (tuple(outcomes[end - size : end]), name) for name, size, end in zip(labels, sizes, ends, strict=True) if size
    ]


def _instruction_text(steps: Sequence[Step]) -> str:
    if all(step.truth is None for step in steps):
        return " ".join(
            f"{_format_outcomes(step.outcomes)}: "
            + ("answer truthfully." if step.report is None else f'say "{step.report}".')
            for step in steps
        )
    truths = dict.fromkeys(step.truth for step in steps)
    rows = {
        truth: "; ".join(
            f'{_format_outcomes(step.outcomes)} report "{step.report}"' for step in steps if step.truth == truth
        )
        for truth in truths
    }
    return " ".join(f'If your answer is "{truth}": {row}.' for truth, row in rows.items())


def _format_outcomes(outcomes: Sequence[str]) -> str:
    """Format consecutive outcomes as a range of numbers or a list of coin faces."""
    if len(outcomes) <= 2 or not outcomes[0].isdigit():
        return " or ".join(outcomes)
    return f"{outcomes[0]}–{outcomes[-1]}"
