"""`plan_list_experiment` and `plan_item_sum`: people for lists with and without the sensitive item.

Both compare two means: the variance of the difference is that of the short list's answers over the people who
get it, and that of the long list's over the others. What else is on the list adds to both.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from toolkit.core.checks import Number, exact, explain_call, positive, probability, refuse
from toolkit.core.checks import level as check_level
from toolkit.core.inference.special import nctdtr, ndtr, stdtrit
from toolkit.core.search import least_whole
from toolkit.planning.fieldwork import whole_people
from toolkit.planning.models.differences import people_wanted

_NORMAL = 10_000  # degrees of freedom: beyond, power by t and by the normal law differ by less than 1e-4


@dataclass(frozen=True)
class ListPlan:
    """People for lists with and without the sensitive item.

    Parameters
    ----------
    model : str
        "list experiment" or "item sum".
    value : float
        The guessed share, or mean.
    n : tuple of int
        People who get the short list, and the long one.
    level : float
        Confidence level.
    margin : float
        Half the width of the interval of the share, or of the mean.
    power : float or None
        To tell it from `detect`; None where nothing is to be told.
    told_none, told_all : float or None
        The shares of the long list's group who would say none, or all, and could deny nothing; None where the items are
        not known one by one.
    notes : tuple of str
        How it was found.

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
    told_none: float | None = None
    told_all: float | None = None
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
    """Plan a list experiment: give n, or the margin or the power that is wanted.

    By Welch's t, as `toolkit.analysis.list_experiment` has it, for answers that are nearly normal on average:
    approximate for a few dozen people. Having the trait is taken to be independent of the other items.

    Parameters
    ----------
    items : sequence of number, optional
        The shares of people who have each of the other items, taken to be independent; or, in place of them, `spread`.
    prevalence : number
        The share of carriers that is guessed.
    spread : number, optional
        The standard deviation of the short list's counts, smaller where items exclude each other.
    n : int, optional
        People with the short list.
    margin, power : number, optional
        What is wanted, in place of n.
    detect : number, optional
        The true share that power is computed for, to be told from `prevalence`.
    sides : {2, 1}
        Of that test.
    level : number
        Confidence level; the test has the size 1 - level.
    ratio : number
        How many times as many people get the long list.

    Returns
    -------
    ListPlan
        People, margin and power.

    Examples
    --------
    >>> plan_list_experiment((0.9, 0.5, 0.5, 0.1), prevalence=0.1, margin=0.1)
    <ListPlan: 559 people with the short list and 559 with the long one, margin ±9.99 points at 95 %; ...>
    """
    if (items is None) == (spread is None):
        received = "both" if items is not None else "none"
        refuse("exactly one of `items` and `spread` must be given", received, "it says how counts differ")
    none = every = None
    guess = float(probability(prevalence, "prevalence"))
    if items is not None:
        shares = np.array([float(probability(share, "items")) for share in items])
        if not len(shares):
            refuse("`items` must hold a share for each other item", "none", "a list has items")
        variance = float((shares * (1 - shares)).sum())
        none, every = float(np.prod(1 - shares) * (1 - guess)), float(np.prod(shares) * guess)
    else:
        variance = float(positive(spread, "spread", "counts differ")) ** 2  # type: ignore[arg-type]  # given
    other = None if detect is None else float(probability(detect, "detect"))
    case = _ListCase(variance, lambda share: variance + share * (1 - share), *_checked(level, sides, ratio))
    return _planned("list experiment", case, (guess, other), (n, margin, power), (none, every))


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
    """Plan sums with and without a sensitive quantity: give n, or the margin or the power that is wanted.

    As `toolkit.analysis.item_sum` has them, in the unit of the quantities.

    Parameters
    ----------
    spread : number
        The standard deviation of the short list's sums.
    mean, sd : number
        Of the sensitive quantity, as guessed; it is taken to be independent of the others.
    n : int, optional
        People with the short list.
    margin, power : number, optional
        What is wanted, in place of n.
    detect : number, optional
        The true mean that power is computed for, to be told from `mean`.
    sides, level, ratio : optional
        As for `plan_list_experiment`.

    Returns
    -------
    ListPlan
        People, margin and power.

    Examples
    --------
    >>> plan_item_sum(20, mean=5, sd=8, margin=2).n
    (831, 831)
    """
    short = float(positive(spread, "spread", "sums differ")) ** 2
    long = short + float(positive(sd, "sd", "a quantity that is the same for all needs no survey")) ** 2
    other = None if detect is None else float(exact(detect, "detect"))
    case = _ListCase(short, lambda _: long, *_checked(level, sides, ratio))
    return _planned("item sum", case, (float(exact(mean, "mean")), other), (n, margin, power), (None, None))


def _checked(level: Number, sides: int, ratio: Number) -> tuple[float, int, float]:
    if sides not in (1, 2):
        refuse("`sides` must be 1 or 2", sides, "a test looks on one side or on both")
    return check_level(level), sides, float(positive(ratio, "ratio", "it compares numbers of people"))


def _planned(
    model: str,
    case: "_ListCase",
    values: tuple[float, float | None],
    goals: tuple[Any, Any, Any],
    shares: tuple[float | None, float | None],
) -> ListPlan:
    """Enough people for what is wanted, and what they are enough for."""
    value, truth = values

    def for_margin(most: float) -> int:
        return least_whole(lambda people: case.margin(value, people) <= most, 1, 2)

    def for_power(enough: float) -> int:
        if truth is None or truth == value:
            refuse("`detect` must be another value with `power`", truth, "there is nothing to tell apart")
        return least_whole(lambda people: case.power(value, truth, people) >= enough, 1, 2)

    people = people_wanted(*goals, case.level, for_margin, for_power)
    power = None if truth is None else case.power(value, truth, people)
    notes = () if power is None else (f"{case.sides}-sided t test at {100 * (1 - case.level):.3g} %",)
    margin = case.margin(value, people)
    return ListPlan(model, value, case.sizes(people), case.level, margin, power, *shares, notes)


@dataclass(frozen=True)
class _ListCase:
    short: float
    long: Callable[[float], float]
    level: float
    sides: int
    ratio: float

    def sizes(self, people: int) -> tuple[int, int]:
        return people, max(2, whole_people(people * self.ratio))

    def _error(self, value: float, people: int) -> tuple[float, float]:
        """The standard error, and Welch's degrees of freedom."""
        sizes = np.array(self.sizes(people))
        parts = np.array([self.short, self.long(value)]) / sizes
        if not parts.any():
            refuse("the answers must differ", "lists that everybody answers alike", "there is no error to plan")
        return float(np.sqrt(parts.sum())), float(parts.sum() ** 2 / (parts**2 / (sizes - 1)).sum())

    def margin(self, value: float, people: int) -> float:
        se, df = self._error(value, people)
        return float(stdtrit(df, 0.5 + self.level / 2)) * se

    def power(self, null: float, truth: float, people: int) -> float:
        """By the noncentral law of t; by the normal one for many people, where both agree."""
        se, df = self._error(truth, people)
        apart, reach = abs(truth - null) / se, float(stdtrit(df, 1 - (1 - self.level) / self.sides))
        below = [float(ndtr(z - apart) if df > _NORMAL else nctdtr(df, apart, z)) for z in (reach, -reach)]
        return 1 - below[0] + (below[1] if self.sides == 2 else 0.0)
