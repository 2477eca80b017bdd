"""What happens in the field: who can be asked, who answers, who follows the instructions."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from toolkit.core.checks import Number, exact, positive, refuse, whole
from toolkit.local.compliance import WAYS, Compliance

__all__ = ["Compliance", "Field", "checked_field"]


def whole_people(number: float) -> int:
    """Round a number of people up; what the rounding of floats added is not a person."""
    return math.ceil(number - 1e-9)


@dataclass(frozen=True)
class Field:
    """The conditions of a survey; n is always the number of people whose reports arrive.

    Parameters
    ----------
    smallest : float
        Share of the smallest subgroup for which the precision must hold.
    population : int, optional
        Its size, if so small that asking many of them leaves few to guess about.
    response : float
        Share of the invited who answer.
    questions : int
        How many are asked.
    one_each : bool
        Whether every person gets one of them, drawn at random.
    compliance : Compliance, optional
        People who do not follow the instructions.
    deff : float
        Design effect of the truth, 1 + (people per cluster - 1) * their correlation: it multiplies what comes from
        sampling, and leaves the randomization alone.
    weighting : float
        1 + the squared coefficient of variation of the weights, which multiplies all.

    Examples
    --------
    >>> Field(response=0.5).invited(100)
    200
    """

    smallest: float = 1.0
    population: int | None = None
    response: float = 1.0
    questions: int = 1
    one_each: bool = True
    compliance: Compliance | None = None
    deff: float = 1.0
    weighting: float = 1.0

    @property
    def plain(self) -> bool:
        """Whether the binomial law applies: n people who follow the instructions, drawn from many, for one estimate."""
        drawn_alike = self.deff == self.weighting == 1
        alone = self.smallest == 1 and self.questions == 1
        return drawn_alike and alone and self.population is None and self.compliance is None

    @property
    def at_once(self) -> int:
        """How many questions one person answers."""
        return 1 if self.one_each else self.questions

    def behind(self, n: object) -> Any:
        """Return how many of n people stand behind the estimate that governs, if they all weighed the same.

        Parameters
        ----------
        n : number or array
            People whose reports arrive.

        Returns
        -------
        number or array
            People of the smallest subgroup who got the question, divided by `weighting`.
        """
        return self._asked(n) / self.weighting

    def _asked(self, n: Any) -> Any:
        return n * self.smallest / (self.questions if self.one_each else 1)

    def left(self, n: object) -> Any:
        """Return the factor of the sampling variance: larger for clusters, smaller for a finite population.

        Parameters
        ----------
        n : number or array
            People whose reports arrive.

        Returns
        -------
        number or array
            1 where people are drawn independently from many.
        """
        if self.population is None:
            return self.deff
        group = self.population * self.smallest
        return self.deff * np.clip((group - self._asked(n)) / max(group - 1, 1e-9), 0, 1)

    def invited(self, n: int) -> int:
        """Return how many people to ask so that n of them answer.

        Parameters
        ----------
        n : int
            People whose reports arrive.

        Returns
        -------
        int
            Rounded up.
        """
        return whole_people(n / self.response)

    def reachable(self) -> int | None:
        """Return how many people answer if the whole population is invited, once each.

        Returns
        -------
        int or None
            None without a population.
        """
        if self.population is None:
            return None
        most = math.floor(self.population * self.response + 1e-6)
        return most if self.invited(most) <= self.population else most - 1


def checked_field(
    smallest: Number,
    population: int | None,
    response: Number,
    questions: int,
    compliance: Mapping[str, Number] | Compliance | None,
    deff: Number = 1,
    weighting: Number = 1,
) -> Field:
    people = None if population is None else whole(population, "population", least=2)
    return Field(
        _share(smallest, "subgroup"),
        people,
        _share(response, "response"),
        whole(questions, "questions"),
        True,
        _conduct(compliance),
        float(positive(deff, "deff", "it multiplies a variance")),
        _at_least_one(weighting),
    )


def _at_least_one(weighting: Number) -> float:
    number = exact(weighting, "weighting")
    if number < 1:
        refuse("`weighting` must be at least 1", weighting, "it is 1 + cv**2 of the weights")
    return float(number)


def _share(value: Number, name: str) -> float:
    number = exact(value, name)
    if not 0 < number <= 1:
        refuse(f"`{name}` must be a share above 0 and at most 1", value, "it says how many of the people count")
    return float(number)


def _conduct(shares: Mapping[str, Number] | Compliance | None) -> Compliance | None:
    if shares is None or isinstance(shares, Compliance):
        return shares
    if not isinstance(shares, Mapping) or not set(shares) <= set(WAYS):
        refuse(
            f"`compliance` must map {', '.join(WAYS)} to shares", "something else", "they are the ways not to comply"
        )
    return Compliance(**dict(shares))  # type: ignore[arg-type]
