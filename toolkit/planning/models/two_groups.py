"""`plan_two_groups`: people for models of two groups that are asked with different odds.

The share of carriers is a weighted sum of both groups' shares of yes: its variance is the sum of the squared
weights times share * (1 - share) / people. What else is unknown (the innocuous question's prevalence, how
many cheat or lie) costs people even though it is not of interest.
"""

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np

from toolkit.core.arrays import Array
from toolkit.core.checks import Number, choice, explain_call, positive, probability, refuse
from toolkit.core.checks import level as check_level
from toolkit.core.inference.intervals import imbens_manski
from toolkit.core.inference.special import ndtr, ndtri
from toolkit.core.search import least_whole
from toolkit.local.two_groups import TWO_GROUP_DESIGNS, TwoGroupDesign
from toolkit.planning.accuracy import critical
from toolkit.planning.fieldwork import whole_people
from toolkit.planning.models.differences import enough_people, likely_counts, people_wanted

Model = Literal["unknown_question", "cheater_detection", "lie_detector"]
MODELS = ("unknown_question", "cheater_detection", "lie_detector")
_COUNTED = 5000  # people in the larger group up to which power is counted; beyond, the normal formula


@dataclass(frozen=True)
class TwoGroupPlan:
    """People for a model of two groups with different odds, as `plan_two_groups` returns them.

    Parameters
    ----------
    model : str
        The function of `toolkit.analysis`.
    p : tuple of float
        The probabilities of both groups.
    prevalence : float
        The guessed share of carriers.
    n : tuple of int
        People whose reports arrive, in each group.
    level : float
        Confidence level.
    margin : float
        Half the width of the interval of the share of carriers, as the analysis shows it: for cheater detection that
        of the whole range, as a cheater may be a carrier or not.
    power : float or None
        To tell that share from `detect`; None where nothing is to be told.
    notes : tuple of str
        How it was found.

    Examples
    --------
    >>> plan_two_groups("unknown_question", (0.7, 0.3), prevalence=0.1, other=0.25, n=725).margin < 0.05
    True
    """

    model: str
    p: tuple[float, float]
    prevalence: float
    n: tuple[int, int]
    level: float
    margin: float
    power: float | None
    notes: tuple[str, ...] = ()

    def __repr__(self) -> str:
        first, second = self.n
        power = "" if self.power is None else f", power {self.power:.4g}"
        return (
            f"<TwoGroupPlan: {first:,} and {second:,} people, margin ±{100 * self.margin:.3g} points at "
            f"{100 * self.level:g} %{power}; {self.model.replace('_', ' ')}>"
        )


@explain_call('plan_two_groups("unknown_question", (0.7, 0.3), prevalence=0.1, other=0.25, margin=0.05)')
def plan_two_groups(
    model: Model,
    p: tuple[Number, Number],
    *,
    prevalence: Number,
    other: Number,
    n: int | None = None,
    margin: Number | None = None,
    power: Number | None = None,
    detect: Number | None = None,
    sides: int = 2,
    level: Number = 0.95,
    ratio: Number = 1,
) -> TwoGroupPlan:
    """Plan a model of two groups: give n, or the margin or the power that is wanted.

    Power is that of the test that agrees with the interval of `toolkit.analysis`, counted from the binomial laws of the
    reports for up to 5,000 people per group; n is such that the next 12 numbers reach it, too. Cheaters may be carriers
    or not, so that the margin of cheater detection is never below half their share; its power is that of the test of
    the carriers who follow the instructions. The extended crosswise model is planned as `plan(crosswise(p), …)`: its n
    are the people of both groups.

    Parameters
    ----------
    model : {"unknown_question", "cheater_detection", "lie_detector"}
        The function of `toolkit.analysis`.
    p : tuple of two numbers
        The probabilities of both groups, as that function takes them.
    prevalence : number
        The share of carriers that is guessed.
    other : number
        The guess of what else is unknown: the innocuous prevalence, the share of cheaters, or the share of carriers
        who are honest.
    n : int, optional
        People in the first group.
    margin, power : number, optional
        What is wanted, in place of n.
    detect : number, optional
        The true share of carriers that power is computed for, to be told from `prevalence`.
    sides : {2, 1}
        Of that test.
    level : number
        Confidence level; the test has the size 1 - level.
    ratio : number
        How many times as many people the second group has.

    Returns
    -------
    TwoGroupPlan
        People, margin and power.

    Examples
    --------
    >>> plan_two_groups("unknown_question", (0.7, 0.3), prevalence=0.1, other=0.25, margin=0.05).n
    (725, 725)
    """
    confidence, guess = check_level(level), float(probability(prevalence, "prevalence"))
    if sides not in (1, 2):
        refuse("`sides` must be 1 or 2", sides, "a test looks on one side or on both")
    case = _TwoGroupCase(
        choice(model, "model", MODELS),
        _two(p),
        float(probability(other, "other")),
        confidence,
        critical(confidence, sides),
        float(positive(ratio, "ratio", "it compares numbers of people")),
    )
    truth = None if detect is None else float(probability(detect, "detect"))
    people = people_wanted(
        n,
        margin,
        power,
        confidence,
        lambda wanted: case.people_for_margin(guess, wanted),
        lambda wanted: case.people_for_power(guess, truth, wanted),
    )
    reached = None if truth is None else case.power(guess, truth, people)
    how = "counted from the binomial laws" if case.counts(people) else "by the normal approximation"
    notes = () if reached is None else (f"{sides}-sided test at {100 * (1 - confidence):.3g} %, power {how}",)
    size = case.sizes(people)
    return TwoGroupPlan(model, case.p, guess, size, confidence, case.margin(guess, people), reached, notes)


def _two(p: tuple[Number, Number]) -> tuple[float, float]:
    chances = tuple(float(probability(one, "p")) for one in p)
    if len(chances) != 2 or chances[0] == chances[1]:
        refuse("`p` must be two different probabilities", p, "equal ones tell nothing apart")
    return chances[0], chances[1]


@dataclass(frozen=True)
class _TwoGroupCase:
    model: str
    p: tuple[float, float]
    other: float
    level: float
    z: float
    ratio: float

    def sizes(self, people: int) -> tuple[int, int]:
        return people, max(2, whole_people(people * self.ratio))

    @property
    def design(self) -> TwoGroupDesign:
        return TWO_GROUP_DESIGNS[self.model]

    def yes(self, share: float) -> Array:
        if self.design.exclusive and share + self.other > 1:
            refuse("carriers and cheaters must be at most everybody", share + self.other, "they are shares")
        return self.design.yes(self.p, share, self.other)[0]

    def _se(self, share: float, people: int, weights: Array | None = None) -> float:
        """Of the share of carriers, or of another weighted sum of the shares of yes."""
        yes, squares = self.yes(share), (self.design.carriers(self.p)[1] if weights is None else weights) ** 2
        return float(np.sqrt(np.sum(squares * yes * (1 - yes) / np.array(self.sizes(people)))))

    def margin(self, share: float, people: int) -> float:
        """Half the width of the interval that the analysis shows."""
        if self.model != "cheater_detection":
            return critical(self.level, 2) * self._se(share, people)
        low = self._se(share, people)
        high = self._se(share, people, self.design.solution(self.p)[1].sum(axis=0))
        return (self.other + imbens_manski(self.other / max(low, high), self.level) * (low + high)) / 2

    def counts(self, people: int) -> bool:
        return max(self.sizes(people)) <= _COUNTED

    def power(self, null: float, truth: float, people: int) -> float:
        """The chance that the estimate is over z errors from the null; one-sided: on the side of the truth."""
        two_sided = self.z == critical(self.level, 2)
        if not self.counts(people):
            return float(ndtr(abs(truth - null) / self._se(truth, people) - self.z))
        start, weights = self.design.carriers(self.p)
        parts, spread, chance = [], [], []
        for weight, yes, size in zip(weights, self.yes(truth), self.sizes(people), strict=True):
            seen, likely = likely_counts(size, float(yes))
            share = seen / size
            parts.append(weight * share)
            spread.append(weight**2 * share * (1 - share) / (size - 1))
            chance.append(likely)
        apart = start + np.add.outer(*parts) - null
        beyond = self.z * np.sqrt(np.add.outer(*spread))
        side = 1.0 if truth > null else -1.0
        hits = np.abs(apart) > beyond if two_sided else side * apart > beyond
        return float(chance[0] @ (hits & (beyond > 0)) @ chance[1])  # equal answers have no interval

    def people_for_margin(self, share: float, margin: float) -> int:
        if self.model == "cheater_detection" and margin <= self.other / 2:
            consequence = "cheaters may be carriers or not, which no number of people tells"
            refuse(f"`margin` must be above half the share of cheaters, {self.other / 2:g}", margin, consequence)
        return least_whole(lambda people: self.margin(share, people) <= margin, 1, 64)

    def people_for_power(self, null: float, truth: float | None, target: float) -> int:
        if truth is None or truth == null:
            refuse("`detect` must be another share with `power`", truth, "there is nothing to tell apart")
        reach = (self.z + float(ndtri(target))) / abs(truth - null)
        rough = max(2, math.ceil((self._se(truth, 10**6) * reach) ** 2 * 10**6))
        if not self.counts(math.ceil(1.2 * rough)):
            return rough
        return enough_people(lambda people: self.power(null, truth, people), max(2, int(0.8 * rough)), target)
