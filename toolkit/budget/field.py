"""What happens in the field: who can be asked, who answers, who follows the instructions."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from toolkit.core.checks import Number, exact, probability, refuse, whole
from toolkit.local.design import Design

CONDUCT = ("self_protective", "random")


@dataclass(frozen=True)
class Compliance:
    """How many do not follow the instructions: say the harmless answer whatever they draw, or answer at random."""

    self_protective: float = 0.0
    random: float = 0.0

    @property
    def followers(self) -> float:
        return 1 - self.self_protective - self.random

    def seen_through(self, design: Design) -> Design:
        """The design that the reports really come from: its estimates are right for the people as they behave."""
        return Design.from_matrix(self._mixed(design).tolist(), design.options, design.report_options, design.name)

    def bias(self, design: Design, prevalence: Any) -> float:
        """How far the estimate is off on average if nobody corrects for it: of yes, or the largest of k options."""
        truth = np.atleast_1d(np.asarray(prevalence, dtype=np.float64))
        shares = np.array([1 - truth[0], truth[0]]) if len(truth) == 1 else truth
        scores = np.linalg.pinv(design.matrix)
        off = shares @ (self._mixed(design) - design.matrix) @ scores
        return float(off[1] if len(shares) == 2 else off[np.argmax(np.abs(off))])

    def _mixed(self, design: Design) -> np.ndarray[Any, np.dtype[np.float64]]:
        harmless = np.zeros(len(design.report_options))
        with np.errstate(divide="ignore"):
            harmless[int(np.argmin(design.matrix[1] / design.matrix[0])) if len(design.options) == 2 else 0] = 1
        even = np.full(len(harmless), 1 / len(harmless))
        return np.asarray(self.followers * design.matrix + self.self_protective * harmless + self.random * even)


@dataclass(frozen=True)
class Field:
    """The conditions of a survey; n is always the number of people whose reports arrive.

    smallest : share of the smallest subgroup for which the precision must hold.
    population : its size, if so small that asking many of them leaves few to guess about.
    response : share of the invited who answer.
    questions : how many are asked; `one_each` if every person gets one of them, drawn at random.
    """

    smallest: float = 1.0
    population: int | None = None
    response: float = 1.0
    questions: int = 1
    one_each: bool = True
    compliance: Compliance | None = None

    def behind(self, n: Any) -> Any:
        """How many of n people stand behind the estimate that governs."""
        return n * self.smallest / (self.questions if self.one_each else 1)

    def left(self, n: Any) -> Any:
        """The factor by which sampling variance is smaller because the population is finite."""
        if self.population is None:
            return 1.0
        group = self.population * self.smallest
        return np.clip((group - self.behind(n)) / max(group - 1, 1e-9), 0, 1)

    def invited(self, n: int) -> int:
        return math.ceil(n / self.response - 1e-9)


def checked_field(
    smallest: Number, population: int | None, response: Number, questions: int, compliance: Mapping[str, Number] | Compliance | None
) -> Field:
    """Field conditions from what an analyst wrote."""
    people = None if population is None else whole(population, "population", least=2)
    return Field(
        _share(smallest, "subgroup"),
        people,
        _share(response, "response"),
        whole(questions, "questions"),
        True,
        _conduct(compliance),
    )


def _share(value: Number, name: str) -> float:
    number = exact(value, name)
    if not 0 < number <= 1:
        refuse(f"`{name}` must be a share above 0 and at most 1", value, "it says how many of the people count")
    return float(number)


def _conduct(given: Mapping[str, Number] | Compliance | None) -> Compliance | None:
    if given is None or isinstance(given, Compliance):
        return given
    if not isinstance(given, Mapping) or not set(given) <= set(CONDUCT):
        refuse(f"`compliance` must map {' and '.join(CONDUCT)} to shares", "something else", "they are the two ways not to comply")
    found = Compliance(**{name: float(probability(share, name)) for name, share in given.items()})
    if found.followers <= 0:
        refuse("some people must follow the instructions", found.followers, "else the reports say nothing")
    return found
