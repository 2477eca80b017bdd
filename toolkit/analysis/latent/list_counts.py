"""List experiments and item sums: people report only a count or a sum, and two means are compared.

There is no epsilon here, because a person who says "none" or "all" has revealed every answer.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from toolkit.analysis.latent.group_counts import ModelTest, in_errors
from toolkit.analysis.sampling.units import ALIKE
from toolkit.core.arrays import Array, Codes, Mask, Values
from toolkit.core.checks import check_integer, explain_call, reject
from toolkit.core.covers import Covers, ErrorSource
from toolkit.core.estimate import Estimate
from toolkit.core.inference.intervals import Student
from toolkit.core.inference.special import ndtr
from toolkit.frames.table import floats_or_none

_FEW = "fewer than two people of a list confessed: what they tell cannot be compared"
NO_EPSILON = "no epsilon: who tells the least or the most possible has told the truth"


@dataclass(frozen=True, eq=False)
class ListExperiment:
    """The result of a list experiment.

    Parameters
    ----------
    estimate : Estimate
        The share of carriers, which is the difference between two means.
    test : ModelTest
        The test of whether some combination has a negative share, which would mean that the sensitive item changed the
        answers to the others. It uses a Bonferroni correction over all combinations.
    told_none, told_all : float
        The shares of people with the long list who said none, or all, and thereby revealed every answer.
    carriers_by_count : array
        The estimated share of people with the trait, by their number of other items.

    Examples
    --------
    >>> from toolkit.analysis import list_experiment
    >>> treatment = np.repeat([False, True], 6)
    >>> found = list_experiment([0, 1, 1, 2, 2, 1, 1, 1, 2, 3, 2, 1], treatment=treatment, items=3)
    >>> found.told_none, found.told_all
    (0.0, 0.0)
    """

    estimate: Estimate
    test: ModelTest
    told_none: float
    told_all: float
    carriers_by_count: Array


def list_of_counts(counts: Values, treatment: Values, most: int) -> ListExperiment:
    """Compute the difference in means, a test of its assumptions, and the shares who revealed every answer."""
    on = _truths(treatment, "treatment")
    told = _numbers(counts, "counts")
    _same_length(told, on)
    item_counts(told, most + on, f"counts must be whole numbers from 0 to {most}, and to {most + 1} on the long list")
    short, long = told[~on], told[on]
    estimate = mean_difference(short, long, "list experiment, difference of means")
    below = np.array([np.mean(short <= y) for y in range(most + 1)])
    with_it = np.array([np.mean(long <= y) for y in range(most + 1)])
    joint = np.concatenate([below - with_it, with_it - np.concatenate([[0.0], below[:-1]])])
    before = np.concatenate([below, [0.0], below[:-1]])
    after = np.concatenate([with_it, with_it])
    se = np.sqrt(before * (1 - before) / len(short) + after * (1 - after) / len(long))
    z = np.where(se > 0, joint / np.where(se > 0, se, 1), np.where(joint < 0, -np.inf, 0.0))
    p = min(1.0, float(ndtr(z.min())) * len(joint))
    return ListExperiment(
        estimate,
        ModelTest(float(z.min()), p, "no combination has a negative share"),
        float(np.mean(long == 0)),
        float(np.mean(long == most + 1)),
        joint[: most + 1],
    )


@explain_call("item_sum([3.0, 5.0, 4.0], [9.0, 7.0, 8.0])")
def item_sum(short: Iterable[object], long: Iterable[object]) -> Estimate:
    """Estimate the mean of a sensitive quantity from sums that people report without and with it.

    Parameters
    ----------
    short, long : array
        Sums without and with the sensitive quantity.

    Returns
    -------
    Estimate
        The difference in means, with Welch's interval.

    Examples
    --------
    >>> item_sum([3.0, 5.0, 4.0], [9.0, 7.0, 8.0]).value
    4.0
    """
    one, two = _numbers(short, "short"), _numbers(long, "long")
    return mean_difference(one, two, "item sum, difference of means")


@dataclass(frozen=True, eq=False)
class CombinedList:
    """The combined result of a list and a direct question, with tests of the assumptions.

    Parameters
    ----------
    estimate : Estimate
        The share of carriers.
    confessed : float
        The share who said yes to the direct question.
    truthful : Estimate
        The difference in means among those who confessed: 1 if nobody confesses falsely.
    unmoved : Estimate
        The share of confessions with the long list minus that with the short list: 0 if the list does not affect them.

    Examples
    --------
    >>> from toolkit.analysis import list_with_direct
    >>> counts, confessed = [1, 2, 2, 3, 0, 2, 1, 1, 2, 2, 1, 3], np.arange(12) > 7
    >>> round(list_with_direct(counts, np.arange(12) % 2 == 1, confessed, items=3).confessed, 3)
    0.333
    """

    estimate: Estimate
    confessed: float
    truthful: Estimate
    unmoved: Estimate


def list_with_direct(
    counts: Iterable[object], treatment: Iterable[object], direct: Iterable[object], *, items: int
) -> CombinedList:
    """Estimate the share of carriers from a list and a direct question to the same people (Aronow and others 2015).

    People who confess are carriers; the list gives the share of carriers among the others. The variance is smaller than
    that of the list alone. Two assumptions are tested: nobody confesses falsely, and the list does not affect the
    direct answers.

    Parameters
    ----------
    counts : array
        The number of items that each person reported.
    treatment : array of bool
        Who saw the long list.
    direct : array of bool
        Who said yes to the direct question.
    items : int
        The number of items on the short list.

    Returns
    -------
    CombinedList
        The estimate, and two tests of its assumptions.

    Examples
    --------
    >>> treated = np.arange(12) % 2 == 1
    >>> counts = [1, 2, 2, 3, 0, 2, 1, 1, 2, 2, 1, 3]
    >>> found = list_with_direct(counts, treated, np.arange(12) > 7, items=3)
    >>> round(found.confessed, 3), round(found.estimate.value, 3)
    (0.333, 1.0)
    """
    most, confessed, on = check_integer(items, "items"), _truths(direct, "direct"), _truths(treatment, "treatment")
    items_told = _counts(counts, most + 1, "counts")
    _same_length(items_told, confessed, on)
    no = ~confessed
    list_alone = mean_difference(items_told[no & ~on], items_told[no & on], "of those who do not confess")
    arms = [items_told[confessed & ~on], items_told[confessed & on]]
    truthful = _of_lists(np.nan, np.nan, int(confessed.sum()), "difference in means", 0, "difference", (_FEW,))
    if min(map(len, arms)) > 1:
        truthful = mean_difference(arms[0], arms[1], "difference in means")
    share, rest = float(confessed.mean()), float(list_alone)
    value = share + (1 - share) * rest
    variance = (1 - rest) ** 2 * share * (1 - share) / (len(confessed) - 1)
    se = float(np.sqrt(variance + (1 - share) ** 2 * float(np.asarray(list_alone.se)) ** 2))
    moved = mean_difference(confessed[~on].astype(float), confessed[on].astype(float), "confessions by list")
    n = len(items_told)
    return CombinedList(_of_lists(value, se, n, "list and direct question", n - 2, "share"), share, truthful, moved)


def double_list(
    first: Iterable[object], second: Iterable[object], treatment: Iterable[object], *, items: int
) -> tuple[Estimate, ModelTest]:
    """Estimate the share of carriers from two lists to the same people.

    One half of the people sees the long form of the first list, the other half that of the second list.

    Parameters
    ----------
    first, second : array
        The number of items of each list that each person reported.
    treatment : array of bool
        Who saw the long form of the first list; the others saw that of the second.
    items : int
        The number of items on each short list.

    Returns
    -------
    Estimate
        The share of carriers from both lists; its error includes the correlation of a person's two answers.
    ModelTest
        The test of whether the mean sum of both answers is equal in both halves, as it is if carriers add one to each.

    Examples
    --------
    >>> treated = np.arange(8) < 4
    >>> share, test = double_list([2, 3, 2, 3, 2, 2, 2, 2], [1, 1, 1, 1, 2, 1, 2, 1], treated, items=3)
    >>> share.value, round(test.p, 2)
    (0.5, 1.0)
    """
    most, on = check_integer(items, "items"), _truths(treatment, "treatment")
    one, two = _counts(first, most + 1, "first"), _counts(second, most + 1, "second")
    _same_length(one, two, on)
    half, both = (one - two) / 2, one + two
    share = mean_difference(half[~on], half[on], "double list, difference of means")
    total = mean_difference(both[~on], both[on], "sums")
    z = in_errors(float(total), float(np.asarray(total.se)))
    return share, ModelTest(z, float(2 * ndtr(-abs(z))), "both halves tell the same sum")


def _of_lists(
    value: float, se: float, n: int, method: str, df: int, label: str, notes: tuple[str, ...] = ()
) -> Estimate:
    return Estimate(
        value=value,
        se=se,
        labels=(label,),
        cov=np.array([[se**2]]),
        n=n,
        loss=None,
        covers=Covers([ErrorSource.SAMPLING]),
        method=method,
        notes=(NO_EPSILON, *notes),
        basis=Student(value, se, df),
    )


def _truths(values: Any, name: str) -> Mask:
    numbers = _numbers(values, name)
    if np.any((numbers != 0) & (numbers != 1)):
        reject(f"`{name}` must be true or false", "something else", "it says who is in which group")
    return np.asarray(numbers == 1)


def _same_length(*columns: npt.NDArray[Any]) -> None:
    if len({len(one) for one in columns}) > 1:
        lengths = ", ".join(str(len(one)) for one in columns)
        reject("all columns must be of the same people", f"lengths {lengths}", "rows belong together")


def mean_difference(short: Array, long: Array, method: str) -> Estimate:
    """Return the difference between two independent means, with Welch's degrees of freedom, rounded down."""
    if min(len(short), len(long)) < 2:
        rule = f"each list must be told by at least two people ({method})"
        reject(rule, f"{len(short)} and {len(long)}", "there would be no variance")
    parts = np.array([long.var(ddof=1) / len(long), short.var(ddof=1) / len(short)])
    value, se = float(long.mean() - short.mean()), float(np.sqrt(parts.sum()))
    notes = (ALIKE,) if np.ptp(short) == np.ptp(long) == 0 else ()
    spread = float((parts**2 / (np.array([len(long), len(short)]) - 1)).sum())
    df = int(parts.sum() ** 2 / spread) if spread > 0 else len(long) + len(short) - 2
    return _of_lists(value, np.nan if notes else se, len(short) + len(long), method, df, "difference", notes)


def _numbers(values: Any, name: str) -> Array:
    plain = isinstance(values, Iterable) and not hasattr(values, "to_numpy")
    numbers = floats_or_none(list(values) if plain else values)
    if numbers is None:
        reject(f"`{name}` must be numbers", "something else", "they are averaged", TypeError)
    if numbers.ndim != 1 or len(numbers) < 2:
        reject(f"`{name}` must hold at least two answers", f"shape {numbers.shape}", "there would be no variance")
    if bad := int(np.count_nonzero(~np.isfinite(numbers))):
        reject(f"`{name}` must be finite", f"{bad} of {len(numbers)} that are not", "leave missing answers out first")
    return numbers


def _counts(values: Iterable[object], most: int, name: str) -> Array:
    return item_counts(_numbers(values, name), most, f"`{name}` must be whole numbers from 0 to {most}")


def item_counts(values: object, most: int | Codes, rule: str) -> Array:
    """Check and return the numbers of items: whole numbers from 0 to `most`, which is one limit or one per person."""
    counts = floats_or_none(values)
    if counts is None:
        reject("counts must be whole numbers", "something else", "they count items", TypeError)
    if bad := int(np.count_nonzero((counts < 0) | (counts > most) | (counts != np.floor(counts)))):
        reject(rule, f"{bad} of {len(counts)} that are not", "they count items")
    return counts
