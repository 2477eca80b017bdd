"""Models of two groups whose devices have different odds.

Cheater detection (Clark and Desharnais 1998): some say no whatever the device demands. The stochastic lie
detector (Moshagen, Musch and Erdfelder 2012): some carriers deny it. The extended crosswise model (Heck,
Hoffmann and Moshagen 2018): the odds of the groups are mirrored. An unrelated question whose prevalence nobody
knows (Greenberg and others 1969).
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from toolkit.analysis.twogroup.group_counts import (
    Chances,
    Groups,
    Kinds,
    ModelTest,
    boundary_test,
    in_errors,
    outside_notes,
    read_groups,
    standard_errors,
)
from toolkit.core.arrays import Array, Values
from toolkit.core.checks import explains, refuse
from toolkit.core.checks import level as check_level
from toolkit.core.covers import SAMPLED
from toolkit.core.estimate import Estimate
from toolkit.core.inference.intervals import Interval, Normal, cut, imbens_manski
from toolkit.core.inference.special import chdtrc, chdtri
from toolkit.core.loss import Pure
from toolkit.local.questions import crosswise


@dataclass(frozen=True, eq=False)
class Unknown:
    """What two unrelated questions found.

    Parameters
    ----------
    estimate : Estimate
        Both prevalences, unbiased.
    likeliest : array
        The likeliest ones inside 0 to 1.

    Examples
    --------
    >>> from toolkit.analysis import unknown_question
    >>> unknown_question([[842, 389], [747, 422]], (0.75, 0.2)).likeliest.round(2)
    array([0.3 , 0.38])
    """

    estimate: Estimate
    likeliest: Array


@explains("unknown_question([[842, 389], [747, 422]], (0.75, 0.2))")
def unknown_question(reports: Values, p: Chances, *, by: Values | None = None) -> Unknown:
    """Estimate the prevalence of a sensitive trait and of an innocuous one, from reports that may be about either.

    A person is asked the sensitive question with the probability p of the group, else the innocuous one:
    Pr(yes) = p * sensitive + (1 - p) * innocuous.

    Parameters
    ----------
    reports : array
        Counts [[no, yes], [no, yes]] of the two groups; or one report per person, and `by` their groups.
    p : tuple or mapping
        The probability of the sensitive question in each group, (0.75, 0.2); with `by`, {group: probability}.
    by : array, optional
        The group of each report.

    Returns
    -------
    Unknown
        Both prevalences, unbiased, and the likeliest ones inside 0 to 1.

    Examples
    --------
    >>> unknown_question([[842, 389], [747, 422]], (0.75, 0.2)).estimate.value.round(4)
    array([0.2956, 0.3774])
    """
    groups = read_groups(reports, p, by)
    first, second = groups.p
    solve = np.array([[1 - second, first - 1], [-second, first]]) / (first - second)
    value = solve @ groups.seen
    cov = solve @ np.diag(groups.variance) @ solve.T
    inside, highest = _likeliest(groups, value)
    note = "what a report costs its sender depends on the innocuous prevalence, which was not known"
    notes = (note, *outside_notes(groups, highest, "two shares"))
    method = "unrelated question of unknown prevalence, unbiased"
    return Unknown(_estimate(groups, value, cov, ("sensitive", "innocuous"), None, method, notes), inside)


def _estimate(
    groups: Groups,
    value: Array,
    cov: Array,
    labels: tuple[str, ...],
    loss: Pure | None,
    method: str,
    notes: tuple[str, ...],
) -> Estimate:
    se = standard_errors(cov)
    return Estimate(value, se, labels, cov, groups.n, loss, SAMPLED, method, notes, Normal(value, se))


def _likeliest(groups: Groups, value: Array) -> tuple[Array, float]:
    """Both shares inside 0 to 1: the unbiased ones where they are, else the best point of the four edges."""
    if value.min() >= 0 and value.max() <= 1:
        return value, groups.best
    p, q = np.array(groups.p), 1 - np.array(groups.p)
    edges = []
    for fixed in (0.0, 1.0):
        at, height = groups.likeliest(p * fixed, p * fixed + q)
        edges.append((height, np.array([fixed, at])))
        at, height = groups.likeliest(q * fixed, q * fixed + p)
        edges.append((height, np.array([at, fixed])))
    height, shares = max(edges, key=lambda pair: pair[0])
    return shares, height


@dataclass(frozen=True, eq=False)
class Lying:
    """What the lie detector found.

    Parameters
    ----------
    estimate : Estimate
        The share of carriers, and which share of these is honest.
    likeliest : array
        The same, inside what is possible.
    test : ModelTest
        Whether all carriers are honest: likelihood ratio on the edge.
    if_honest : float
        The share of carriers if they are.
    groups : object
        The counts of the two groups.
    highest : float
        The log-likelihood at `likeliest`.

    Examples
    --------
    >>> from toolkit.analysis import lie_detector
    >>> lie_detector([[300, 700], [750, 250]], (0.3, 0.8)).likeliest.round(2)
    array([0.1, 0.7])
    """

    estimate: Estimate
    likeliest: Array
    test: ModelTest
    if_honest: float
    groups: Groups
    highest: float

    def honesty(self, level: float = 0.95) -> Interval:
        """The interval of the honest share of carriers by profile likelihood: a standard error says little of it.

        Parameters
        ----------
        level : float
            Level of the interval.

        Returns
        -------
        Interval
            Skewed, as the likelihood is.
        """
        allowed = float(chdtri(1, 1 - check_level(level))) / 2

        def fits(honest: float) -> bool:
            return self.highest - _profile(self.groups, honest)[1] <= allowed + 1e-12

        best = float(self.likeliest[1])
        low, high = _crossing(fits, best, 0.0), _crossing(fits, best, 1.0)
        return Interval(low, high, level, "profile likelihood")


@explains("lie_detector([[300, 700], [750, 250]], (0.3, 0.8))")
def lie_detector(reports: Values, p: Chances, *, by: Values | None = None) -> Lying:
    """Estimate how many carriers there are when some of them deny it.

    A non-carrier answers truthfully, no, with probability p of the group, else says yes; a carrier says yes if honest
    and no if not: Pr(yes) = carriers * honest + (1 - carriers)(1 - p).

    Parameters
    ----------
    reports : array
        Counts [[no, yes], [no, yes]] of the two groups; or one report per person, and `by` their groups.
    p : tuple or mapping
        The probability that a non-carrier says no in each group, (0.3, 0.8); with `by`, {group: probability}.
    by : array, optional
        The group of each report.

    Returns
    -------
    Lying
        The share of carriers, the honest share of them, and a test of honesty.

    Examples
    --------
    >>> found = lie_detector([[300, 700], [750, 250]], (0.3, 0.8))
    >>> found.estimate.value.round(3), found.estimate.se.round(3)
    (array([0.1, 0.7]), array([0.04 , 0.145]))
    """
    groups = read_groups(reports, p, by)
    kinds = Kinds(groups, (1 - groups.p[0], 1 - groups.p[1]))  # who admit it, non-carriers, who deny it
    admit, others, _ = (float(share) for share in kinds.value)
    carriers = 1 - others
    # of carriers, and of the honest among them; of nobody, exactly, the honesty cannot be told
    honest = admit / carriers if carriers != 0 else np.nan
    slope = np.array([[0.0, -1.0, 0.0], [1.0, honest, 0.0]])
    slope[1] = slope[1] / carriers if carriers != 0 else np.nan
    value = np.array([carriers, honest])
    cov = slope @ kinds.cov @ slope.T
    shares, highest = kinds.likeliest
    alone, without = kinds.without_the_last()
    method = "stochastic lie detector; share of carriers unbiased, honesty by the delta method"
    notes = ("the honest share is skewed: use honesty() for its interval", *outside_notes(groups, highest, "shares"))
    labels = ("carriers", "honest among carriers")
    estimate = _estimate(groups, value, cov, labels, Pure(float("inf")), method, notes)
    test = boundary_test(2 * (highest - without), "all carriers are honest")
    inside = np.array([1 - shares[1], shares[0] / (1 - shares[1]) if shares[1] < 1 else 1.0])
    return Lying(estimate, inside, test, alone, groups, highest)


def _profile(groups: Groups, honest: float) -> tuple[float, float]:
    """The likeliest share of carriers if this share of them is honest, and how likely."""
    return groups.likeliest([1 - p for p in groups.p], (honest, honest))


def _crossing(fits: Callable[[float], bool], inside: float, end: float) -> float:
    """Where, from a point that fits towards an end, values cease to fit."""
    if fits(end):
        return end
    near, far = inside, end
    for _ in range(50):
        middle = (near + far) / 2
        near, far = (middle, far) if fits(middle) else (near, middle)
    return near


@dataclass(frozen=True, eq=False)
class ExtendedCrosswise:
    """What the extended crosswise model found.

    Parameters
    ----------
    estimate : Estimate
        The prevalence from both groups together; to be used where `test` has no objection.
    by_group : tuple of Estimate
        The prevalence from each group.
    test : ModelTest
        Whether the groups agree: likelihood ratio on chi-squared.
    z : float
        The same as a distance in standard errors: positive if "same" came too often.

    Examples
    --------
    >>> from toolkit.analysis import extended_crosswise
    >>> round(extended_crosswise([[250, 750], [740, 260]], (0.15, 0.85)).test.p, 2)
    0.61
    """

    estimate: Estimate
    by_group: tuple[Estimate, Estimate]
    test: ModelTest
    z: float


@explains("extended_crosswise([[250, 750], [740, 260]], (0.15, 0.85))")
def extended_crosswise(reports: Values, p: Chances, *, by: Values | None = None) -> ExtendedCrosswise:
    """Estimate a prevalence by the crosswise question in two groups, with mirrored odds p and 1 - p.

    If people follow the instructions, "same" in one group is as frequent as "different" in the other. People who prefer
    one of the answers break this; people who answer at random do not, and are not seen.

    Parameters
    ----------
    reports : array
        Counts [[different, same], [different, same]]; or one report per person, and `by` their groups.
    p : tuple or mapping
        The innocuous prevalence in each group, (0.15, 0.85); with `by`, {group: probability}.
    by : array, optional
        The group of each report.

    Returns
    -------
    ExtendedCrosswise
        The prevalence from both groups and from each, and a test whether they agree.

    Examples
    --------
    >>> found = extended_crosswise([[250, 750], [740, 260]], (0.15, 0.85))
    >>> round(found.estimate.value, 4), round(found.test.p, 4)
    (0.15, 0.6079)
    """
    groups = read_groups(reports, p, by, ("different", "same"))
    first, second = groups.p
    if abs(first + second - 1) > 1e-9:
        received = f"{first:g} and {second:g}"
        refuse("the two probabilities must sum to 1", received, "mirrored odds are what makes the test")
    one, other = (crosswise(chance).estimate_counts(row) for chance, row in zip(groups.p, groups.counts, strict=True))
    pooled = groups.counts[0] + groups.counts[1][::-1]
    same = pooled[1] / pooled.sum()
    ratio = max(2 * (groups.best - groups.log_likelihood((same, 1 - same))), 0.0)
    z = in_errors(float(groups.seen.sum() - 1), float(np.sqrt(groups.variance.sum())))
    test = ModelTest(ratio, float(chdtrc(1, ratio)), "both groups have one prevalence")
    estimate = crosswise(first).estimate_counts(pooled)
    return ExtendedCrosswise(_with_note(estimate, test), (one, other), test, z)


def _with_note(estimate: Estimate, test: ModelTest) -> Estimate:
    if test.p >= 0.05:
        return estimate
    note = f"the groups disagree (p = {test.p:.1g}): one answer was preferred, and the pooled prevalence is biased"
    return replace(estimate, notes=(*estimate.notes, note))


@dataclass(frozen=True, eq=False)
class Cheating:
    """What cheater detection found.

    Parameters
    ----------
    estimate : Estimate
        Shares of carriers who follow the instructions, of non-carriers who do, and of cheaters, who always say no;
        unbiased.
    kinds : object
        The model, with the counts.

    Examples
    --------
    >>> from toolkit.analysis import cheater_detection
    >>> found = cheater_detection([[748, 483], [201, 968]], (0.2, 0.8))
    >>> found.estimate.labels, found.likeliest.round(2)
    (('carriers', 'honest non-carriers', 'cheaters'), array([0.25, 0.73, 0.03]))
    """

    estimate: Estimate
    kinds: Kinds

    @property
    def groups(self) -> Groups:
        """The counts of the two groups."""
        return self.kinds.groups

    @property
    def likeliest(self) -> Array:
        """The three shares, inside what is possible."""
        return self.kinds.likeliest[0]

    @property
    def without_cheating(self) -> float:
        """The share of carriers if there are no cheaters."""
        return self.kinds.without_the_last()[0]

    @property
    def test(self) -> ModelTest:
        """Whether there are cheaters at all: likelihood ratio, on the edge."""
        ratio = 2 * (self.kinds.likeliest[1] - self.kinds.without_the_last()[1])
        return boundary_test(ratio, "there are no cheaters")

    @property
    def range(self) -> tuple[float, float]:
        """Where the true share lies if nothing else were unknown: a cheater may be a carrier or not."""
        value = np.asarray(self.estimate.value)
        return float(value[0]), float(value[0] + value[2])

    def interval(self, level: float = 0.95) -> Interval:
        """An interval that, for large groups, holds the true share with this chance wherever in the range it lies.

        It is shorter than one that holds the whole range (Imbens and Manski 2004).

        Parameters
        ----------
        level : float
            The chance.

        Returns
        -------
        Interval
            Cut to 0 to 1.
        """
        confidence, se = check_level(level), np.asarray(self.estimate.se)
        low, high = self.range
        if np.isnan(se).any():  # all answers are equal, and say nothing of the next one
            return Interval(np.nan, np.nan, confidence, "imbens-manski")
        reach = imbens_manski(max(high - low, 0.0) / max(float(se[0]), float(se[1])), confidence)
        return cut(low - reach * se[0], max(low, high) + reach * se[1], (0.0, 1.0), confidence, "imbens-manski")


@explains("cheater_detection([[748, 483], [201, 968]], (0.2, 0.8))")
def cheater_detection(reports: Values, p: Chances, *, by: Values | None = None) -> Cheating:
    """Estimate how many carriers there are when some people say no whatever the device demands.

    Each group is told "say yes" with its own probability, else to tell the truth. Carriers say yes, honest non-carriers
    say yes when told so, cheaters never: Pr(yes) = carriers + honest * p. Cheaters may be carriers: the true share lies
    between the carriers found and those plus the cheaters.

    Parameters
    ----------
    reports : array
        Counts [[no, yes], [no, yes]] of the two groups; or one report per person, and `by` their groups.
    p : tuple or mapping
        The probability of "say yes" in each group, (0.2, 0.8); with `by`, {group: probability}.
    by : array, optional
        The group of each report.

    Returns
    -------
    Cheating
        Shares of carriers, honest non-carriers and cheaters, an interval, and a test for cheaters.

    Examples
    --------
    >>> found = cheater_detection([[748, 483], [201, 968]], (0.2, 0.8))
    >>> found.estimate.value.round(3), found.interval()
    (array([0.247, 0.726, 0.027]), Interval(low=0.2151, high=0.324, level=0.95, method='imbens-manski'))
    """
    groups = read_groups(reports, p, by)
    kinds = Kinds(groups, groups.p)
    note = "the true share lies between carriers and carriers plus cheaters"
    notes = (note, *outside_notes(groups, kinds.likeliest[1], "three shares"))
    labels, loss = ("carriers", "honest non-carriers", "cheaters"), Pure(float("inf"))
    method = "cheater detection, unbiased"
    return Cheating(_estimate(groups, kinds.value, kinds.cov, labels, loss, method, notes), kinds)
