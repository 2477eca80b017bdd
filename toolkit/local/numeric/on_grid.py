"""`OnGrid`: what all randomizers of bounded numbers share, whatever they estimate."""

from abc import abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar

from toolkit.core.arrays import Labels, Steps
from toolkit.core.randomness import Below, Rng, check_rng
from toolkit.local.drawn import Drawn
from toolkit.local.numeric import browser
from toolkit.local.numeric.grid import Grid
from toolkit.local.protocol import AnswerKind
from toolkit.local.serial import fraction, keep_whole


@dataclass(frozen=True, repr=False)
class OnGrid(Drawn):
    """Answers from `low` to `high`, rounded to a public grid of `steps` before anything is drawn."""

    low: Fraction
    high: Fraction
    steps: int

    asks: ClassVar[AnswerKind] = "number"
    options: ClassVar[Labels] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "low", fraction(self.low, "low"))
        object.__setattr__(self, "high", fraction(self.high, "high"))
        keep_whole(self, steps=1)
        _ = self.grid  # checked once, here

    @property
    def bounds(self) -> tuple[Fraction, Fraction]:
        return self.low, self.high

    @property
    def reach(self) -> float:
        """The width of the bounds."""
        return float(self.high - self.low)

    @cached_property
    def grid(self) -> Grid:
        return Grid(self.low, self.high, self.steps)

    @abstractmethod
    def report(self, index: int, draw: Below) -> int:
        """One report for an answer `index` steps above `low`, by integer draws alone: the browser's rule."""

    @abstractmethod
    def _draw(self, index: Steps, rng: Rng) -> Steps: ...

    def randomize(self, answers: Any, rng: Rng = None) -> Any:
        """Reports for numbers within the bounds: integers on the public grid of reports.

        Parameters
        ----------
        answers : one number, a list, a NumPy array, a pandas or polars Series.
        rng : None for the operating system's randomness (real answers); a numpy Generator for simulation.
        """
        generator = check_rng(rng)
        index, single = self.grid.index(answers)
        reports = self._draw(index, generator)
        return int(reports[0]) if single else reports

    def browser_data(self) -> dict[str, Any]:
        return super().browser_data() | browser.span(self.low, self.high)

    def _range(self) -> str:
        return f"between {float(self.low):g} and {float(self.high):g}"
