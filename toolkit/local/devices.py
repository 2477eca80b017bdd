"""Coins, dice, cards, digits and birthdays: what a respondent can hold in the hand instead of trusting a
screen.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Generic, Protocol, TypeVar

import numpy as np
import numpy.typing as npt

from toolkit.core.arrays import Labels
from toolkit.core.rounding import apportion
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
    ("the last digit of a phone number", tuple(map(str, range(10)))),
    ("a month of birth", tuple(map(str, range(1, 13)))),
    ("a card drawn from 13 of one suit", tuple(map(str, range(1, 14)))),
    ("a die thrown twice (6 × first + second − 6)", tuple(map(str, range(1, 37)))),
    ("the last two digits of a phone number", tuple(f"{i:02}" for i in range(100))),
)
_UNEVEN = {"a month of birth": "months differ by a few per cent in length and births"}


@dataclass(frozen=True, repr=False)
class Device(Generic[D]):
    """A device with equally likely outcomes, what to do on each, and the design it really is.

    `distance` is the largest difference between its probabilities and the wanted ones; 0 means it realises
    them.
    """

    name: str
    outcomes: int
    instructions: str
    design: D
    distance: float
    note: str = ""

    @property
    def epsilon(self) -> float:
        """The epsilon that this device really has."""
        return self.design.epsilon

    @property
    def exact(self) -> bool:
        return self.distance == 0

    def __repr__(self) -> str:
        fit = "exact" if self.exact else f"off by {self.distance:.3g}"
        return f"<Device {self.name}: {self.instructions} epsilon {self.epsilon:.4g}, {fit}>"


def nearest_devices(
    weights: npt.NDArray[np.int64],
    denominator: int,
    options: Labels,
    report_options: Labels,
    form: Forced | None,
    realised: Callable[[list[list[int]], int], D],
) -> tuple[Device[D], ...]:
    """Every device of the catalogue that can tell the answers apart, nearest first, fewest outcomes first
    among equals.
    """
    found = []
    for name, outcomes in _CATALOGUE:
        parts = _parts(weights, denominator, form, len(outcomes))
        if parts is None:
            continue
        table, wording = parts
        try:
            design = realised(table, len(outcomes))
        except ValueError:  # too few outcomes: rounding made two answers look alike
            continue
        wanted = [[Fraction(int(w), denominator) for w in row] for row in weights]
        gaps = [
            abs(Fraction(t, len(outcomes)) - w)
            for row, want in zip(table, wanted, strict=True)
            for t, w in zip(row, want, strict=True)
        ]
        instructions = wording(outcomes, options, report_options)
        found.append(
            Device(name, len(outcomes), instructions, design, float(max(gaps)), _UNEVEN.get(name, ""))
        )
    return tuple(sorted(found, key=lambda device: (device.distance, device.outcomes)))


_Wording = Callable[[Sequence[str], Labels, Labels], str]


def _parts(
    weights: npt.NDArray[np.int64], denominator: int, form: Forced | None, m: int
) -> tuple[list[list[int]], _Wording] | None:
    """The matrix in m outcomes, and how to word it; None if m outcomes are too few."""
    if form is not None and form.truth > 0:
        cells = [form.truth, *form.forced.tolist()]
        if sum(c > 0 for c in cells) > m:
            return None
        truth, *forced = apportion([Fraction(c, denominator) for c in cells], m)
        table = [[f + (truth if i == j else 0) for j, f in enumerate(forced)] for i in range(len(forced))]
        return (
            table,
            lambda outcomes, options, reports: (
                _forced_words(outcomes, forced, options)
                if options == reports
                else _row_words(outcomes, table, options, reports)
            ),
        )
    rows = weights.tolist()
    if max(sum(w > 0 for w in row) for row in rows) > m:
        return None
    table = [apportion([Fraction(w, denominator) for w in row], m) for row in rows]
    return table, lambda outcomes, options, reports: _row_words(outcomes, table, options, reports)


def _forced_words(outcomes: Sequence[str], forced: Sequence[int], options: Labels) -> str:
    steps = [f'{span}: say "{option}".' for span, option in _cells(outcomes, forced, options)]
    return " ".join([*steps, f"{_span(outcomes[sum(forced) :])}: answer truthfully."])


def _row_words(
    outcomes: Sequence[str], table: Sequence[Sequence[int]], options: Labels, reports: Labels
) -> str:
    return " ".join(
        f'If your answer is "{option}": {_row_steps(outcomes, row, reports)}.'
        for option, row in zip(options, table, strict=True)
    )


def _row_steps(outcomes: Sequence[str], row: Sequence[int], reports: Labels) -> str:
    return "; ".join(f'{span} report "{report}"' for span, report in _cells(outcomes, row, reports))


def _cells(outcomes: Sequence[str], sizes: Sequence[int], said: Labels) -> Iterator[tuple[str, str | int]]:
    """Consecutive outcomes in cells of these sizes, each with what is said of it; none is empty."""
    start = 0
    for one, size in zip(said, sizes, strict=True):
        if size:
            yield _span(outcomes[start : start + size]), one
        start += size


def _span(outcomes: Sequence[str]) -> str:
    """Consecutive outcomes: a range of numbers, or a list of coin faces."""
    if len(outcomes) <= 2 or not outcomes[0].isdigit():
        return " or ".join(outcomes)
    return f"{outcomes[0]}–{outcomes[-1]}"
