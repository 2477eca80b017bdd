"""List experiments and item sums without covariates: two means are compared.

No epsilon is stated, because a count of none or all of the items reveals every answer.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from toolkit.analysis.latent.group_counts import ModelTest, in_standard_errors
from toolkit.analysis.regression.covariates import split_formula
from toolkit.analysis.regression.fit import covers_of
from toolkit.analysis.regression.rows import People
from toolkit.analysis.reports import Data
from toolkit.analysis.sampling.units import ALIKE
from toolkit.core.arrays import Array, Codes, Mask, Values
from toolkit.core.checks import check_integer, explain_call, reject
from toolkit.core.covers import Covers, ErrorSource
from toolkit.core.estimate import Estimate
from toolkit.core.inference.intervals import Student
from toolkit.core.inference.special import ndtr
from toolkit.frames.table import as_frame, column, floats_or_none, with_column
from toolkit.local.matrix.encoding import encode

_FEW = "fewer than two people with one of the lists confessed, so their answers cannot be compared"
NO_EPSILON = "no epsilon: the smallest or largest possible answer reveals the truth"


@dataclass(frozen=True, eq=False)
class ListExperiment:
    """Estimates from the counts of a list experiment.

    Parameters
    ----------
    estimate : Estimate
        The share of carriers: the difference of two means.
    test : ModelTest
        A test of whether a combination of trait and control count has a negative share, with Bonferroni's correction
        over all combinations. A negative share shows that the sensitive item changed the answers to the other items.
    share_counting_none, share_counting_all : float
        The shares of people with the long list who counted no item or every item, which reveals their answer.
    carriers_by_count : array
        Estimated share of people with the trait, by the number of control items that apply to them.

    Examples
    --------
    >>> from toolkit.analysis import list_experiment
    >>> treatment = np.repeat([False, True], 6)
    >>> found = list_experiment([0, 1, 1, 2, 2, 1, 1, 1, 2, 3, 2, 1], treatment=treatment, items=3)
    >>> found.share_counting_none, found.share_counting_all
    (0.0, 0.0)
    """

    estimate: Estimate
    test: ModelTest
    share_counting_none: float
    share_counting_all: float
    carriers_by_count: Array


def list_of_counts(values: Values, treatment: Values, items: int) -> ListExperiment:
    """Return the difference of two means, a test of its assumption, and the shares of people with a revealing count."""
    treated, counts = _is_yes(treatment, "treatment"), _numbers(values, "counts")
    _check_lengths(counts, treated)
    counts = item_counts(counts, treated, items)
    short, long = counts[~treated], counts[treated]
    estimate = mean_difference(short, long, "list experiment, difference of means")
    # Shares of the combinations: carriers with y control items, then others with y control items.
    short_cdf = np.array([np.mean(short <= y) for y in range(items + 1)])
    long_cdf = np.array([np.mean(long <= y) for y in range(items + 1)])
    joint = np.concatenate([short_cdf - long_cdf, long_cdf - np.concatenate([[0.0], short_cdf[:-1]])])
    short_shares = np.concatenate([short_cdf, [0.0], short_cdf[:-1]])
    long_shares = np.concatenate([long_cdf, long_cdf])
    variance = short_shares * (1 - short_shares) / len(short) + long_shares * (1 - long_shares) / len(long)
    se = np.sqrt(variance)
    z = np.where(se > 0, joint / np.where(se > 0, se, 1), np.where(joint < 0, -np.inf, 0.0))
    p = min(1.0, float(ndtr(z.min())) * len(joint))
    return ListExperiment(
        estimate,
        ModelTest(float(z.min()), p, "no combination has a negative share"),
        float(np.mean(long == 0)),
        float(np.mean(long == items + 1)),
        joint[: items + 1],
    )


@explain_call("item_sum([3.0, 5.0, 4.0], [9.0, 7.0, 8.0])")
def item_sum(short: Iterable[object], long: Iterable[object]) -> Estimate:
    """Estimate the mean of a sensitive quantity, from sums with and without it.

    Parameters
    ----------
    short, long : array
        Sums without and with the sensitive quantity.

    Returns
    -------
    Estimate
        The difference of means, with Welch's interval.

    Examples
    --------
    >>> item_sum([3.0, 5.0, 4.0], [9.0, 7.0, 8.0]).value
    4.0
    """
    return mean_difference(_numbers(short, "short"), _numbers(long, "long"), "item sum, difference of means")


@dataclass(frozen=True, eq=False)
class CombinedList:
    """Estimates from a list and a direct question, with tests of their assumptions.

    Parameters
    ----------
    estimate : Estimate
        The share of carriers.
    confessed : float
        The share of people who said yes to the direct question.
    difference_if_confessed : Estimate
        The difference in means among those who confessed: 1 if nobody confesses falsely.
    effect_on_confessions : Estimate
        The share of confessions among people with the long list minus the share among people with the short list: 0 if
        the list does not influence the direct answer.

    Examples
    --------
    >>> from toolkit.analysis import list_with_direct
    >>> counts, confessed = [1, 2, 2, 3, 0, 2, 1, 1, 2, 2, 1, 3], np.arange(12) > 7
    >>> round(list_with_direct(counts, np.arange(12) % 2 == 1, confessed, items=3).confessed, 3)
    0.333
    """

    estimate: Estimate
    confessed: float
    difference_if_confessed: Estimate
    effect_on_confessions: Estimate


def list_with_direct(counts: Iterable[object], treatment: Values, direct: Values, *, items: int) -> CombinedList:
    """Estimate the share of carriers from a list and a direct question for the same people (Aronow and others 2015).

    Those who confess are carriers; the list estimates the share of carriers among the others. The variance is smaller
    than with the list alone, if nobody confesses falsely and the list influences no direct answer; both assumptions are
    tested.

    Parameters
    ----------
    counts : array
        The count of each person.
    treatment : array of yes or no
        Whether each person saw the long list.
    direct : array of yes or no
        Whether each person said yes to the direct question.
    items : int
        Number of items on the short list.

    Returns
    -------
    CombinedList
        The estimate, and tests of its two assumptions.

    Examples
    --------
    >>> treated = np.arange(12) % 2 == 1
    >>> counts = [1, 2, 2, 3, 0, 2, 1, 1, 2, 2, 1, 3]
    >>> found = list_with_direct(counts, treated, np.arange(12) > 7, items=3)
    >>> round(found.confessed, 3), round(found.estimate.value, 3)
    (0.333, 1.0)
    """
    n_items = check_integer(items, "items")
    confessed, treated = _is_yes(direct, "direct"), _is_yes(treatment, "treatment")
    numbers = _counts_up_to(counts, n_items + 1, "counts")
    _check_lengths(numbers, confessed, treated)
    no = ~confessed
    list_alone = mean_difference(numbers[no & ~treated], numbers[no & treated], "of those who do not confess")
    arms = [numbers[confessed & ~treated], numbers[confessed & treated]]
    among_confessors = _list_estimate(
        np.nan, np.nan, int(confessed.sum()), "difference in means", 0, "difference", (_FEW,)
    )
    if min(map(len, arms)) > 1:
        among_confessors = mean_difference(arms[0], arms[1], "difference in means")
    share, rest = float(confessed.mean()), float(list_alone)
    value = share + (1 - share) * rest
    variance = (1 - rest) ** 2 * share * (1 - share) / (len(confessed) - 1)
    se = float(np.sqrt(variance + (1 - share) ** 2 * float(np.asarray(list_alone.se)) ** 2))
    effect_on_confessions = mean_difference(
        confessed[~treated].astype(float), confessed[treated].astype(float), "confessions by list"
    )
    n = len(numbers)
    estimate = _list_estimate(value, se, n, "list and direct question", n - 2, "share")
    return CombinedList(estimate, share, among_confessors, effect_on_confessions)


def double_list(
    first: Iterable[object], second: Iterable[object], treatment: Values, *, items: int
) -> tuple[Estimate, ModelTest]:
    """Estimate the share of carriers from two lists that are answered by the same people.

    One half sees the long form of the first list, the other half the long form of the second.

    Parameters
    ----------
    first, second : array
        The count of each person on each list.
    treatment : array of yes or no
        Whether each person saw the long form of the first list; the others saw the long form of the second.
    items : int
        Number of items on each short list.

    Returns
    -------
    Estimate
        The share of carriers, from both lists; its error accounts for the correlation of a person's two counts.
    ModelTest
        A test of whether the sum of both counts has the same mean in both halves, as it does if carriers add one to
        each sum.

    Examples
    --------
    >>> treated = np.arange(8) < 4
    >>> share, test = double_list([2, 3, 2, 3, 2, 2, 2, 2], [1, 1, 1, 1, 2, 1, 2, 1], treated, items=3)
    >>> share.value, round(test.p, 2)
    (0.5, 1.0)
    """
    n_items, treated = check_integer(items, "items"), _is_yes(treatment, "treatment")
    first_counts, second_counts = (
        _counts_up_to(first, n_items + 1, "first"),
        _counts_up_to(second, n_items + 1, "second"),
    )
    _check_lengths(first_counts, second_counts, treated)
    half, both = (first_counts - second_counts) / 2, first_counts + second_counts
    share = mean_difference(half[~treated], half[treated], "double list, difference of means")
    total = mean_difference(both[~treated], both[treated], "sums")
    z = in_standard_errors(float(total), float(np.asarray(total.se)))
    return share, ModelTest(z, float(2 * ndtr(-abs(z))), "both halves have the same mean sum")


def _list_estimate(
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


def _is_yes(values: Values, name: str) -> Mask:
    return np.asarray(encode(values, ("no", "yes"), f"`{name}`").codes == 1)


def _check_lengths(*columns: npt.NDArray[Any]) -> None:
    if len({len(values) for values in columns}) > 1:
        lengths = ", ".join(str(len(values)) for values in columns)
        reject("all columns must describe the same people", f"lengths {lengths}", "rows belong together")


def mean_difference(short: Array, long: Array, method: str) -> Estimate:
    """Return the difference of two independent means, with Welch's degrees of freedom, rounded down."""
    if min(len(short), len(long)) < 2:
        rule = f"each list must have answers from at least two people ({method})"
        reject(rule, f"{len(short)} and {len(long)}", "there would be no variance")
    variances = np.array([long.var(ddof=1) / len(long), short.var(ddof=1) / len(short)])
    value, se = float(long.mean() - short.mean()), float(np.sqrt(variances.sum()))
    notes = (ALIKE,) if np.ptp(short) == np.ptp(long) == 0 else ()
    spread = float((variances**2 / (np.array([len(long), len(short)]) - 1)).sum())
    df = int(variances.sum() ** 2 / spread) if spread > 0 else len(long) + len(short) - 2
    return _list_estimate(value, np.nan if notes else se, len(short) + len(long), method, df, "difference", notes)


def sampled_difference(people: People, values: Array, treated: Mask, method: str) -> tuple[Estimate, Array]:
    """Return the difference in means, weighted for a complex sample, and each person's influence on the difference."""
    difference = mean_difference(values[~treated], values[treated], method)
    share = np.column_stack([treated, ~treated]) * people.row_weights[:, None]
    share /= share.sum(axis=0)
    means = values @ share
    influence = np.asarray(((values[:, None] - means) * share) @ np.array([1.0, -1.0]))
    if not people.is_complex:
        return difference, influence
    value, cov = float(means[0] - means[1]), people.variance_of_sum(influence[:, None])
    se, covers = float(np.sqrt(cov[0, 0])), covers_of(people).replaced(ErrorSource.RANDOMIZATION)
    basis = Student(value, se, people.df)
    return replace(difference, value=value, se=se, cov=cov, covers=covers, basis=basis), influence


def _numbers(values: Any, name: str) -> Array:
    is_plain = isinstance(values, Iterable) and not hasattr(values, "to_numpy")
    numbers = floats_or_none(list(values) if is_plain else values)
    if numbers is None:
        reject(f"`{name}` must be numbers", "something else", "they are averaged", TypeError)
    if numbers.ndim != 1 or len(numbers) < 2:
        reject(f"`{name}` must hold at least two answers", f"shape {numbers.shape}", "there would be no variance")
    if count := int(np.count_nonzero(~np.isfinite(numbers))):
        reject(f"`{name}` must be finite", f"{count} of {len(numbers)} that are not", "leave missing answers out first")
    return numbers


def _counts_up_to(values: Iterable[object], maximum: int, name: str) -> Array:
    return _whole_numbers(_numbers(values, name), maximum, f"`{name}` must be whole numbers from 0 to {maximum}")


def item_counts(values: object, treated: Mask, items: int) -> Array:
    """Check and return the counts on a list; the people in `treated` saw its long form."""
    rule = f"counts must be whole numbers from 0 to {items}, and to {items + 1} on the long list"
    counts = _whole_numbers(values, items + treated, rule)
    for arm, name in ((treated, "long"), (~treated, "short")):
        if (people := int(arm.sum())) < 2:
            received = f"{people} with the {name} one"
            reject("each list must have at least two people", received, "they are compared")
    return counts


def _whole_numbers(values: object, maximum: int | Codes, rule: str) -> Array:
    """Return counts from 0 to `maximum`, which may differ by person."""
    counts = floats_or_none(values)
    if counts is None:
        reject("counts must be whole numbers", "something else", "they count items", TypeError)
    if count := int(np.count_nonzero((counts < 0) | (counts > maximum) | (counts != np.floor(counts)))):
        reject(rule, f"{count} of {len(counts)} that are not", "they count items")
    return counts


def with_item_sums(formula: str, data: Data, treatment: object, control_items: Sequence[str], items: int) -> Any:
    """Fill in the counts of people who were asked item by item, and zeros for the single items of the others."""
    if len(control_items) != items:
        reject("`control_items` must name the items of the short list", len(control_items), f"there are {items}")
    frame, response = as_frame(data), split_formula(formula)[0]
    treated = encode(column(frame, treatment, "`treatment`"), ("no", "yes"), "treatment").codes == 1
    single_items = []
    for name in control_items:
        values = floats_or_none(column(frame, name, "a control item"))
        if values is None or np.any(~treated & ~np.isnan(values) & (values != 0) & (values != 1)):
            reject(f"the control item {name!r} must be 0 or 1", "something else", "it says to whom it applies")
        single_items.append(np.where(treated, 0.0, values))
        frame = with_column(frame, name, single_items[-1])
    counts = floats_or_none(column(frame, response, "answers"))
    sums = np.sum(single_items, axis=0)
    return with_column(frame, response, np.where(treated, np.nan if counts is None else counts, sums))
