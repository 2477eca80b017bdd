"""The conditions of a survey in the field: the population, response, clusters, weights and compliance."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from toolkit.core.checks import Number, check_integer, check_positive, exact_fraction, reject
from toolkit.local.compliance import DEVIATIONS, Compliance

__all__ = ["Compliance", "Field", "check_field"]


def whole_people(number: float) -> int:
    """Round a number of people up, with a tolerance for rounding errors."""
    return math.ceil(number - 1e-9)


@dataclass(frozen=True)
class Field:
    """The conditions of a survey in the field; n is always the number of people whose reports arrive.

    Parameters
    ----------
    subgroup_share : float
        The share of the smallest subgroup for which the precision must hold.
    population : int, optional
        The size of the population, for the finite population correction.
    response : float
        The share of invited people who answer.
    questions : int
        The number of questions.
    one_question_each : bool
        Whether each person answers one of the questions, drawn at random.
    compliance : Compliance, optional
        The shares of people who do not follow the instructions.
    deff : float
        The design effect, 1 + (people per cluster - 1) * intraclass correlation. It multiplies the sampling variance,
        not the variance of the randomization.
    weighting : float
        The factor by which unequal weights multiply every variance: 1 + their squared coefficient of variation.

    Examples
    --------
    >>> Field(response=0.5).invited(100)
    200
    """

    subgroup_share: float = 1.0
    population: int | None = None
    response: float = 1.0
    questions: int = 1
    one_question_each: bool = True
    compliance: Compliance | None = None
    deff: float = 1.0
    weighting: float = 1.0

    @property
    def is_binomial(self) -> bool:
        """Whether counts of reports are binomial: n independent people who comply, and a single estimate."""
        independent = self.deff == self.weighting == 1 and self.population is None
        single = self.subgroup_share == 1 and self.questions == 1
        return independent and single and self.compliance is None

    @property
    def questions_each(self) -> int:
        """The number of questions that one person answers."""
        return 1 if self.one_question_each else self.questions

    def effective_n(self, n: object) -> Any:
        """Return the effective sample size: people in the smallest subgroup per question, divided by `weighting`."""
        return self._group_size(n) / self.weighting

    def _group_size(self, n: Any) -> Any:
        return n * self.subgroup_share / (self.questions if self.one_question_each else 1)

    def sampling_factor(self, n: object) -> Any:
        """Return the factor for the sampling variance: above 1 for clusters, below 1 for a finite population."""
        if self.population is None:
            return self.deff
        group = self.population * self.subgroup_share
        return self.deff * np.clip((group - self._group_size(n)) / max(group - 1, 1e-9), 0, 1)

    def invited(self, n: int) -> int:
        """Return the number of people to invite so that n of them answer, rounded up."""
        return whole_people(n / self.response)

    def max_respondents(self) -> int | None:
        """Return the number of people who answer if the whole population is invited once; None without a population."""
        if self.population is None:
            return None
        respondents = math.floor(self.population * self.response + 1e-6)
        return respondents if self.invited(respondents) <= self.population else respondents - 1


def check_field(
    subgroup_share: Number,
    population: int | None,
    response: Number,
    questions: int,
    compliance: Mapping[str, Number] | Compliance | None,
    deff: Number = 1,
    weighting: Number = 1,
) -> Field:
    people = None if population is None else check_integer(population, "population", minimum=2)
    return Field(
        _check_share(subgroup_share, "subgroup"),
        people,
        _check_share(response, "response"),
        check_integer(questions, "questions"),
        True,
        _check_compliance(compliance),
        float(check_positive(deff, "deff", "it multiplies a variance")),
        _check_weighting(weighting),
    )


def _check_weighting(weighting: Number) -> float:
    number = exact_fraction(weighting, "weighting")
    if number < 1:
        reject("`weighting` must be at least 1", weighting, "it is 1 + cv**2 of the weights")
    return float(number)


def _check_share(value: Number, name: str) -> float:
    number = exact_fraction(value, name)
    if not 0 < number <= 1:
        reject(f"`{name}` must be a share above 0 and at most 1", value, "write 0.25 for a quarter of the people")
    return float(number)


def _check_compliance(shares: Mapping[str, Number] | Compliance | None) -> Compliance | None:
    if shares is None or isinstance(shares, Compliance):
        return shares
    if not isinstance(shares, Mapping) or not set(shares) <= set(DEVIATIONS):
        rule = f"`compliance` must map {', '.join(DEVIATIONS)} to shares"
        reject(rule, "something else", 'write compliance={"self_protective": 0.1}')
    return Compliance(**dict(shares))  # type: ignore[arg-type]
