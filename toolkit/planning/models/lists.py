"""`plan_list_experiment` and `plan_item_sum`: sample sizes for lists with and without the sensitive item.

Both designs compare two means. For each list, the variance of the answers is divided by the number of people with that
list. The sum of the two quotients is the variance of the difference. The other items contribute to both variances.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from toolkit.core.checks import (
    Number,
    check_level,
    check_positive,
    check_probability,
    exact_fraction,
    explain_call,
    reject,
)
from toolkit.core.inference.special import nctdtr, ndtr, stdtrit
from toolkit.core.search import smallest_integer_where
from toolkit.planning.accuracy import check_sides
from toolkit.planning.fieldwork import whole_people
from toolkit.planning.models.differences import people_for_target

_MAX_T_DEGREES = 10_000  # with more degrees of freedom, the powers of t and normal tests differ by less than 1e-4


@dataclass(frozen=True)
class ListPlan:
    """A plan for lists with and without the sensitive item.

    Parameters
    ----------
    model : str
        "list experiment" or "item sum".
    value : float
        The guessed share or mean.
    n : tuple of int
        The numbers of people who get the short list and the long list.
    level : float
        The confidence level.
    margin : float
        Half the width of the interval of the share or mean.
    power : float or None
        The power of the test against `detect`; None without `detect`.
    share_counting_none, share_counting_all : float or None
        The shares of people with the long list to whom no item, or every item, applies, so that the count reveals the
        answer; None if the shares of the items are not given.
    notes : tuple of str
        Notes on how the power was computed.

    Examples
    --------
    >>> plan_item_sum(20, mean=5, sd=8, margin=2).model
    'item sum'
    """

    model: str
    value: float
    n: tuple[int, int]
    level: float
    margin: float
    power: float | None
    share_counting_none: float | None = None
    share_counting_all: float | None = None
    notes: tuple[str, ...] = ()

    def __repr__(self) -> str:
        short, long = self.n
        power = "" if self.power is None else f", power {self.power:.4g}"
        margin = f"±{100 * self.margin:.3g} points" if self.model == "list experiment" else f"±{self.margin:.3g}"
        return (
            f"<ListPlan: {short:,} people with the short list and {long:,} with the long one, margin {margin} "
            f"at {100 * self.level:g} %{power}; {self.model}>"
        )


@explain_call("plan_list_experiment((0.9, 0.5, 0.5, 0.1), prevalence=0.1, margin=0.1)")
def plan_list_experiment(
    items: Sequence[Number] | None = None,
    *,
    prevalence: Number,
    spread: Number | None = None,
    n: int | None = None,
    margin: Number | None = None,
    power: Number | None = None,
    detect: Number | None = None,
    sides: int = 2,
    level: Number = 0.95,
    ratio: Number = 1,
) -> ListPlan:
    """Plan a list experiment, given n, a margin or a power.

    The plan uses Welch's t test, as `toolkit.analysis.list_experiment` does. This test is approximate for a few dozen
    people. The sensitive trait is assumed to be independent of the other items.

    Parameters
    ----------
    items : sequence of number, optional
        The share of people to whom each of the other items applies; the items are assumed to be independent. Give
        either `items` or `spread`.
    prevalence : number
        The guessed share of carriers.
    spread : number, optional
        The standard deviation of the short list's counts, which is smaller if items are mutually exclusive.
    n : int, optional
        The number of people with the short list.
    margin, power : number, optional
        The target, in place of n.
    detect : number, optional
        The true share for which power is computed; the test is against `prevalence`.
    sides : {2, 1}
        The number of sides of that test.
    level : number
        The confidence level; the test has size 1 - level.
    ratio : number
        The number of people with the long list, divided by the number with the short list.

    Returns
    -------
    ListPlan
        A plan with the numbers of people, the margin and the power.

    Examples
    --------
    >>> plan_list_experiment((0.9, 0.5, 0.5, 0.1), prevalence=0.1, margin=0.1)
    <ListPlan: 559 people with the short list and 559 with the long one, margin ±9.99 points at 95 %; ...>
    """
    if (items is None) == (spread is None):
        received = "both" if items is not None else "none"
        reject(
            "exactly one of `items` and `spread` must be given", received, "write items=(0.9, 0.5, 0.1), or spread=0.8"
        )
    share_with_none = share_with_all = None
    guess = float(check_probability(prevalence, "prevalence"))
    if items is not None:
        shares = np.array([float(check_probability(share, "items")) for share in items])
        if not len(shares):
            reject("`items` must hold a share for each other item", "none", "write items=(0.9, 0.5, 0.1)")
        variance = float((shares * (1 - shares)).sum())
        share_with_none, share_with_all = float(np.prod(1 - shares) * (1 - guess)), float(np.prod(shares) * guess)
    else:
        variance = float(check_positive(spread, "spread", "counts differ")) ** 2  # type: ignore[arg-type]  # given
    alternative = None if detect is None else float(check_probability(detect, "detect"))
    case = _ListCase(variance, lambda share: variance + share * (1 - share), *_check_options(level, sides, ratio))
    return _make_plan(
        "list experiment", case, (guess, alternative), (n, margin, power), (share_with_none, share_with_all)
    )


@explain_call("plan_item_sum(20, mean=5, sd=8, margin=2)")
def plan_item_sum(
    spread: Number,
    *,
    mean: Number,
    sd: Number,
    n: int | None = None,
    margin: Number | None = None,
    power: Number | None = None,
    detect: Number | None = None,
    sides: int = 2,
    level: Number = 0.95,
    ratio: Number = 1,
) -> ListPlan:
    """Plan a study with the item sum technique, given n, a margin or a power.

    The plan agrees with `toolkit.analysis.item_sum`; the margin is in the unit of the quantities.

    Parameters
    ----------
    spread : number
        The standard deviation of the short list's sums.
    mean, sd : number
        The guessed mean and standard deviation of the sensitive quantity, assumed to be independent of the other items.
    n : int, optional
        The number of people with the short list.
    margin, power : number, optional
        The target, in place of n.
    detect : number, optional
        The true mean for which power is computed; the test is against `mean`.
    sides, level, ratio : optional
        As for `plan_list_experiment`.

    Returns
    -------
    ListPlan
        A plan with the numbers of people, the margin and the power.

    Examples
    --------
    >>> plan_item_sum(20, mean=5, sd=8, margin=2).n
    (831, 831)
    """
    short = float(check_positive(spread, "spread", "sums differ")) ** 2
    long = short + float(check_positive(sd, "sd", "a quantity that is the same for all needs no survey")) ** 2
    alternative = None if detect is None else float(exact_fraction(detect, "detect"))
    case = _ListCase(short, lambda _: long, *_check_options(level, sides, ratio))
    return _make_plan(
        "item sum", case, (float(exact_fraction(mean, "mean")), alternative), (n, margin, power), (None, None)
    )


def _check_options(level: Number, sides: int, ratio: Number) -> tuple[float, int, float]:
    return (
        check_level(level),
        check_sides(sides),
        float(check_positive(ratio, "ratio", "it compares numbers of people")),
    )


def _make_plan(
    model: str,
    case: "_ListCase",
    values: tuple[float, float | None],
    goals: tuple[Any, Any, Any],
    shares: tuple[float | None, float | None],
) -> ListPlan:
    """Return the plan with enough people for the target."""
    value, truth = values

    def for_margin(most: float) -> int:
        return smallest_integer_where(lambda n_people: case.margin(value, n_people) <= most, 1, 2)

    def for_power(enough: float) -> int:
        if truth is None or truth == value:
            reject("`detect` must be another value with `power`", truth, "write detect=0.2, for example")
        return smallest_integer_where(lambda n_people: case.power(value, truth, n_people) >= enough, 1, 2)

    n_people = people_for_target(*goals, case.level, for_margin, for_power)
    power = None if truth is None else case.power(value, truth, n_people)
    notes = () if power is None else (f"{case.sides}-sided t test at {100 * (1 - case.level):.3g} %",)
    margin = case.margin(value, n_people)
    return ListPlan(model, value, case.sizes(n_people), case.level, margin, power, *shares, notes)


@dataclass(frozen=True)
class _ListCase:
    short: float
    long: Callable[[float], float]
    level: float
    sides: int
    ratio: float

    def sizes(self, n_people: int) -> tuple[int, int]:
        return n_people, max(2, whole_people(n_people * self.ratio))

    def _standard_error(self, value: float, n_people: int) -> tuple[float, float]:
        """Return the standard error and Welch's degrees of freedom."""
        sizes = np.array(self.sizes(n_people))
        variances = np.array([self.short, self.long(value)]) / sizes
        if not variances.any():
            reject("the answers must differ", "answers that are all equal", "give items with shares below 1")
        return float(np.sqrt(variances.sum())), float(variances.sum() ** 2 / (variances**2 / (sizes - 1)).sum())

    def margin(self, value: float, n_people: int) -> float:
        se, df = self._standard_error(value, n_people)
        return float(stdtrit(df, 0.5 + self.level / 2)) * se

    def power(self, null: float, truth: float, n_people: int) -> float:
        """Return the power by the noncentral t distribution, or by the normal distribution for many people."""
        se, df = self._standard_error(truth, n_people)
        shift, threshold = abs(truth - null) / se, float(stdtrit(df, 1 - (1 - self.level) / self.sides))
        below = [
            float(ndtr(z - shift) if df > _MAX_T_DEGREES else nctdtr(df, shift, z)) for z in (threshold, -threshold)
        ]
        return 1 - below[0] + (below[1] if self.sides == 2 else 0.0)
