"""`plan_two_groups`: sample sizes for models of two groups with different randomization probabilities.

The estimated share of carriers is a weighted sum of both groups' shares of yes. Its variance is the sum of weight**2 *
share * (1 - share) / people over the groups. The second unknown share, such as the share of cheaters, increases this
variance.
"""

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np

from toolkit.core.arrays import Array
from toolkit.core.checks import (
    Number,
    check_choice,
    check_level,
    check_positive,
    check_probability,
    explain_call,
    reject,
)
from toolkit.core.inference.intervals import imbens_manski_quantile
from toolkit.core.inference.special import ndtr, ndtri
from toolkit.core.search import smallest_integer_where
from toolkit.local.two_groups import TWO_GROUP_DESIGNS, TwoGroupDesign
from toolkit.planning.accuracy import check_sides, critical_value
from toolkit.planning.fieldwork import whole_people
from toolkit.planning.models.differences import binomial_support, enough_people, people_for_target

Model = Literal["unknown_question", "cheater_detection", "lie_detector"]
MODELS = ("unknown_question", "cheater_detection", "lie_detector")
_MAX_EXACT_N = 5000  # the largest size of the larger group for which power is exact


@dataclass(frozen=True)
class TwoGroupPlan:
    """A plan for a model of two groups with different probabilities, as returned by `plan_two_groups`.

    Parameters
    ----------
    model : str
        The name of the function in `toolkit.analysis`.
    p : tuple of float
        The probabilities of both groups.
    prevalence : float
        The guessed share of carriers.
    n : tuple of int
        The number of people whose reports arrive, in each group.
    level : float
        The confidence level.
    margin : float
        Half the width of the interval of the share of carriers. For cheater detection it includes the identification
        bounds, because a cheater may or may not be a carrier.
    power : float or None
        The power of the test against `detect`; None without `detect`.
    notes : tuple of str
        Notes on how the power was computed.

    Examples
    --------
    >>> plan_two_groups("unknown_question", (0.7, 0.3), prevalence=0.1, other_share=0.25, n=725).margin < 0.05
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


@explain_call('plan_two_groups("unknown_question", (0.7, 0.3), prevalence=0.1, other_share=0.25, margin=0.05)')
def plan_two_groups(
    model: Model,
    p: tuple[Number, Number],
    *,
    prevalence: Number,
    other_share: Number,
    n: int | None = None,
    margin: Number | None = None,
    power: Number | None = None,
    detect: Number | None = None,
    sides: int = 2,
    level: Number = 0.95,
    ratio: Number = 1,
) -> TwoGroupPlan:
    """Plan a model of two groups, given n, a margin or a power.

    The test agrees with the interval of `toolkit.analysis`. For up to 5,000 people per group its power is computed from
    the binomial distributions of the reports, and the 12 sizes above n reach the target as well. Cheaters may or may
    not be carriers, so the margin of cheater detection is never below half of their share. Its test concerns the
    carriers who follow the instructions. To plan the extended crosswise model, use `plan(crosswise(p), …)`, whose n
    counts the people of both groups.

    Parameters
    ----------
    model : {"unknown_question", "cheater_detection", "lie_detector"}
        The name of the function in `toolkit.analysis`.
    p : tuple of two numbers
        The probabilities of both groups, which are arguments of that function.
    prevalence : number
        The guessed share of carriers.
    other_share : number
        The guessed second unknown share: the prevalence of the innocuous question, the share of cheaters, or the
        share of carriers who tell the truth.
    n : int, optional
        The number of people in the first group.
    margin, power : number, optional
        The target, in place of n.
    detect : number, optional
        The true share of carriers for which power is computed; the test is against `prevalence`.
    sides : {2, 1}
        The number of sides of that test.
    level : number
        The confidence level; the test has size 1 - level.
    ratio : number
        The size of the second group, divided by the size of the first.

    Returns
    -------
    TwoGroupPlan
        A plan with the numbers of people, the margin and the power.

    Examples
    --------
    >>> plan_two_groups("unknown_question", (0.7, 0.3), prevalence=0.1, other_share=0.25, margin=0.05).n
    (725, 725)
    """
    confidence, guess = check_level(level), float(check_probability(prevalence, "prevalence"))
    case = _TwoGroupCase(
        check_choice(model, "model", MODELS),
        _check_pair(p),
        float(check_probability(other_share, "other_share")),
        confidence,
        critical_value(confidence, check_sides(sides)),
        float(check_positive(ratio, "ratio", "it compares numbers of people")),
    )
    true_share = None if detect is None else float(check_probability(detect, "detect"))
    n_people = people_for_target(
        n,
        margin,
        power,
        confidence,
        lambda target: case.people_for_margin(guess, target),
        lambda target: case.people_for_power(guess, true_share, target),
    )
    reached = None if true_share is None else case.power(guess, true_share, n_people)
    how = "computed from the binomial distributions" if case.is_exact(n_people) else "by the normal approximation"
    notes = () if reached is None else (f"{sides}-sided test at {100 * (1 - confidence):.3g} %, power {how}",)
    size = case.sizes(n_people)
    return TwoGroupPlan(model, case.p, guess, size, confidence, case.margin(guess, n_people), reached, notes)


def _check_pair(p: tuple[Number, Number]) -> tuple[float, float]:
    probabilities = tuple(float(check_probability(probability, "p")) for probability in p)
    if len(probabilities) != 2 or probabilities[0] == probabilities[1]:
        reject("`p` must be two different probabilities", p, "write p=(0.7, 0.3), for example")
    return probabilities[0], probabilities[1]


@dataclass(frozen=True)
class _TwoGroupCase:
    model: str
    p: tuple[float, float]
    other_share: float
    level: float
    z: float
    ratio: float

    def sizes(self, n_people: int) -> tuple[int, int]:
        return n_people, max(2, whole_people(n_people * self.ratio))

    @property
    def design(self) -> TwoGroupDesign:
        return TWO_GROUP_DESIGNS[self.model]

    def yes(self, share: float) -> Array:
        if self.design.is_exclusive and share + self.other_share > 1:
            reject(
                "the shares of carriers and cheaters must sum to at most 1",
                share + self.other_share,
                "give shares with a sum below 1",
            )
        return self.design.yes_shares(self.p, share, self.other_share)[0]

    def _se(self, share: float, n_people: int, weights: Array | None = None) -> float:
        """Return the standard error of the share of carriers, or of another weighted sum of the shares of yes."""
        yes, squares = (
            self.yes(share),
            (self.design.carrier_coefficients(self.p)[1] if weights is None else weights) ** 2,
        )
        return float(np.sqrt(np.sum(squares * yes * (1 - yes) / np.array(self.sizes(n_people)))))

    def margin(self, share: float, n_people: int) -> float:
        """Return half the width of the interval in the analysis."""
        if self.model != "cheater_detection":
            return critical_value(self.level, 2) * self._se(share, n_people)
        low = self._se(share, n_people)
        high = self._se(share, n_people, self.design.corner_solution(self.p)[1].sum(axis=0))
        return (
            self.other_share + imbens_manski_quantile(self.other_share / max(low, high), self.level) * (low + high)
        ) / 2

    def is_exact(self, n_people: int) -> bool:
        return max(self.sizes(n_people)) <= _MAX_EXACT_N

    def power(self, null: float, true_share: float, n_people: int) -> float:
        """Return the probability of an estimate more than z standard errors from the null, on one or both sides."""
        two_sided = self.z == critical_value(self.level, 2)
        if not self.is_exact(n_people):
            return float(ndtr(abs(true_share - null) / self._se(true_share, n_people) - self.z))
        constant, weights = self.design.carrier_coefficients(self.p)
        weighted_shares, variances, probability_by_group = [], [], []
        for weight, yes, size in zip(weights, self.yes(true_share), self.sizes(n_people), strict=True):
            counts, probabilities = binomial_support(size, float(yes))
            share = counts / size
            weighted_shares.append(weight * share)
            variances.append(weight**2 * share * (1 - share) / (size - 1))
            probability_by_group.append(probabilities)
        deviation = constant + np.add.outer(*weighted_shares) - null
        critical_deviation = self.z * np.sqrt(np.add.outer(*variances))
        direction = 1.0 if true_share > null else -1.0
        is_rejected = (
            np.abs(deviation) > critical_deviation if two_sided else direction * deviation > critical_deviation
        )
        return float(
            probability_by_group[0] @ (is_rejected & (critical_deviation > 0)) @ probability_by_group[1]
        )  # if all answers are equal, there is no interval

    def people_for_margin(self, share: float, margin: float) -> int:
        if self.model == "cheater_detection" and margin <= self.other_share / 2:
            consequence = "cheaters may or may not be carriers, however many people answer"
            reject(f"`margin` must be above half the share of cheaters, {self.other_share / 2:g}", margin, consequence)
        return smallest_integer_where(lambda n_people: self.margin(share, n_people) <= margin, 1, 64)

    def people_for_power(self, null: float, true_share: float | None, target: float) -> int:
        if true_share is None or true_share == null:
            reject("`detect` must be another share with `power`", true_share, "write detect=0.2, for example")
        z = (self.z + float(ndtri(target))) / abs(true_share - null)
        rough = max(2, math.ceil((self._se(true_share, 10**6) * z) ** 2 * 10**6))
        if not self.is_exact(math.ceil(1.2 * rough)):
            return rough
        return enough_people(lambda n_people: self.power(null, true_share, n_people), max(2, int(0.8 * rough)), target)
