"""Counts of the reports of two groups whose devices have different probabilities, and estimates without covariates.

The designs are those of `toolkit.local.two_groups`.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from toolkit.core.arrays import Array, ArrayLike, Values, as_array
from toolkit.core.checks import Number, check_level, check_probability, reject
from toolkit.core.covers import SAMPLED
from toolkit.core.estimate import Estimate
from toolkit.core.inference.digits import concise
from toolkit.core.inference.intervals import Interval, Normal, cut, imbens_manski_quantile
from toolkit.core.inference.special import chdtrc, chdtri, xlogy
from toolkit.core.loss import Pure
from toolkit.core.search import bisect
from toolkit.frames.table import array_of
from toolkit.local.matrix.encoding import checked_counts, encode
from toolkit.local.questions import crosswise
from toolkit.local.two_groups import TwoGroupDesign

NO_PRIVACY = Pure(math.inf)
Probabilities: TypeAlias = Sequence[Number] | Mapping[Any, Number]
"""A probability for each of two groups, in their order or by their names."""


@dataclass(frozen=True)
class ModelTest:
    """A test of a hypothesis about a model.

    Parameters
    ----------
    statistic : float
        The likelihood-ratio statistic, or the distance in standard errors.
    p : float
        The p-value.
    null : str
        The null hypothesis.

    Examples
    --------
    >>> from toolkit.analysis import cheater_detection
    >>> cheater_detection([[748, 483], [201, 968]], p=(0.2, 0.8)).test.null
    'there are no cheaters'
    """

    statistic: float
    p: float
    null: str

    __repr__ = concise


@dataclass(frozen=True, eq=False)
class GroupCounts:
    """The numbers of people who said no and yes in two groups: one row per group, with probabilities `p`.

    `value` and `cov` are the estimated shares of the design's `corner_cells` and their covariance. The estimates are
    unbiased, so a share may lie outside [0, 1].
    """

    design: TwoGroupDesign
    counts: Array
    p: tuple[float, float]

    @property
    def n(self) -> int:
        return int(self.counts.sum())

    @property
    def yes_shares(self) -> Array:
        return np.asarray(self.counts[:, 1] / self.counts.sum(axis=1))

    @property
    def variance(self) -> Array:
        return np.asarray(self.yes_shares * (1 - self.yes_shares) / (self.counts.sum(axis=1) - 1))

    def loglike(self, yes: ArrayLike) -> float:
        """Return the log-likelihood of these probabilities of yes in the two groups."""
        yes = np.asarray(yes)
        return float(np.sum(xlogy(self.counts[:, 1], yes) + xlogy(self.counts[:, 0], 1 - yes)))

    @property
    def best(self) -> float:
        """The log-likelihood of the observed shares, which no model exceeds."""
        return self.loglike(self.yes_shares)

    def maximize_between(self, start: Iterable[float], end: Iterable[float]) -> tuple[float, float]:
        """Return the position of the highest likelihood, from 0 (`start`) to 1 (`end`), and the log-likelihood there.

        The log-likelihood is concave along the line.
        """
        lines = [(float(first), float(last) - float(first)) for first, last in zip(start, end, strict=True)]
        counts = [(float(no), float(yes)) for no, yes in self.counts]

        def is_falling(position: float) -> bool:
            slope = 0.0
            for (first, change), (no, yes) in zip(lines, counts, strict=True):
                p_yes = first + position * change
                slope += change * yes / p_yes if yes and change else 0.0
                slope -= change * no / (1 - p_yes) if no and change else 0.0
            return slope <= 0

        def loglike(position: float) -> float:
            return self.loglike([first + position * change for first, change in lines])

        # The slope may be infinite at the end points, so these are compared afterwards.
        interior = sum(bisect(is_falling, 0.0, 1.0, max_rounds=60)) / 2
        best = max((0.0, interior, 1.0), key=loglike)
        return best, loglike(best)

    @cached_property
    def value(self) -> Array:
        start, matrix = self.design.corner_solution(self.p)
        return np.asarray(start + matrix @ self.yes_shares)

    @cached_property
    def cov(self) -> Array:
        _, matrix = self.design.corner_solution(self.p)
        return np.asarray(matrix @ np.diag(self.variance) @ matrix.T)

    @cached_property
    def likeliest(self) -> tuple[Array, float]:
        """The maximum-likelihood shares of the corner cells within the parameter space, and their log-likelihood."""
        remainder = 1 - (self.value.sum() if self.design.is_triangular else self.value.max())
        if min(self.value.min(), remainder) >= 0:
            return self.value, self.best
        # The unbiased shares lie outside the parameter space, so the maximum is on an edge of the polygon of possible
        # shares of yes.
        start, matrix = self.design.corner_solution(self.p)
        corners = [self.design.yes_probability(cell, self.p) for cell in self.design.polygon_cells]
        shares = [np.round(start + matrix @ corner, 9) for corner in corners]  # 0 or 1, up to rounding errors
        edges = []
        for k, corner in enumerate(corners):
            position, loglike = self.maximize_between(corners[k - 1], corner)
            edges.append((loglike, (1 - position) * shares[k - 1] + position * shares[k]))
        loglike, best = max(edges, key=lambda edge: edge[0])
        return best, loglike

    @cached_property
    def without_second(self) -> tuple[float, float]:
        """The maximum-likelihood share of the first corner cell if that of the second is 0, and its log-likelihood."""
        base, first = (self.design.yes_probability(cell, self.p) for cell in ((0, 0), self.design.corner_cells[0]))
        return self.maximize_between(base, first)

    def second_test(self, null: str) -> ModelTest:
        """Test whether the share of the second corner cell is 0, by the likelihood ratio."""
        return boundary_test(2 * (self.likeliest[1] - self.without_second[1]), null)

    def estimate(
        self, value: Array, cov: Array, labels: tuple[str, ...], loss: Pure | None, method: str, notes: Sequence[str]
    ) -> Estimate:
        # If all answers are equal, the variance is 0, but a standard error of 0 would suggest a false certainty.
        variances = np.diag(cov)
        se = np.sqrt(np.where(variances > 0, variances, np.nan))
        return Estimate(value, se, labels, cov, self.n, loss, SAMPLED, method, tuple(notes), Normal(value, se))


def read_groups(design: TwoGroupDesign, reports: Values, p: Probabilities, group: Values | None) -> GroupCounts:
    """Read counts of no and yes, in the order of `p`; or reports with their groups, which are keys of `p`."""
    if not isinstance(p, Mapping) and (not isinstance(p, Sequence) or isinstance(p, str)):
        remedy = "(0.2, 0.8), or {group: 0.2, other: 0.8}"
        reject("`p` must hold a probability for each group", type(p).__name__, remedy, TypeError)
    probabilities = [float(check_probability(each, "p")) for each in (p.values() if isinstance(p, Mapping) else p)]
    if len(probabilities) != 2:
        reject("there must be two groups", len(probabilities), "the groups are compared")
    if probabilities[0] == probabilities[1]:
        received = f"{probabilities[0]:g} twice"
        reject("the groups must have different probabilities", received, "equal ones do not identify the shares")
    if group is None:
        table = as_array(reports)
        if table.shape != (2, 2):
            rule = f"counts must be two rows, the numbers of {' and '.join(design.report_options)} in each group"
            reject(rule, f"shape {table.shape}", "or give reports, and `group` for their groups")
        counts = np.array([checked_counts(row, 2) for row in table])
    else:
        codes, groups = encode(reports, design.report_options, "reports").codes, array_of(group)
        if groups.shape != codes.shape:
            received = f"{groups.shape} for {codes.shape}"
            reject("`group` must have one group for each report", received, "they belong together")
        indices = group_indices(groups, probabilities_by_group(p))
        counts = np.bincount(2 * indices + codes, minlength=4).reshape(2, 2).astype(float)
    if (smallest := counts.sum(axis=1).min()) < 2:
        reject("each group must have at least two people", int(smallest), "there would be no variance")
    return GroupCounts(design, counts, (probabilities[0], probabilities[1]))


def probabilities_by_group(p: object) -> dict[Any, float]:
    """Return the probability of each group's device, by the group's name."""
    if not isinstance(p, Mapping):
        rule = "`p` must be a mapping, {group: probability}"
        reject(rule, type(p).__name__, "it says which group is which", TypeError)
    return {name: float(check_probability(probability, "p")) for name, probability in p.items()}


def group_indices(groups: npt.NDArray[Any], probabilities: Mapping[Any, float]) -> npt.NDArray[np.intp]:
    """Return the index of each row's group among the keys of `p`."""
    indices = np.full(len(groups), -1, dtype=np.intp)
    for index, name in enumerate(probabilities):
        indices[groups == name] = index
    if unknown := int(np.count_nonzero(indices < 0)):
        received = f"{unknown} of {len(indices)} that are not"
        reject("every report must belong to one of the groups in `p`", received, "its probability is not known")
    return indices


def in_standard_errors(distance: float, se: float) -> float:
    """Return a distance in standard errors; with an error of 0, any distance but 0 is infinite."""
    return distance / se if se > 0 else math.copysign(math.inf, distance) if distance else 0.0


def boundary_test(ratio: float, null: str) -> ModelTest:
    """Test a hypothesis on the boundary: the statistic is 0 with probability ½, otherwise chi-squared with one df."""
    ratio = max(ratio, 0.0)
    return ModelTest(ratio, 1.0 if ratio < 1e-9 else float(chdtrc(1, ratio) / 2), null)


def outside_notes(groups: GroupCounts, loglike: float, names: str) -> tuple[str, ...]:
    """Return notes for an unbiased estimate outside the parameter space, and for counts that contradict the model.

    `loglike` is the maximum of the log-likelihood within the parameter space.
    """
    ratio = 2 * (groups.best - loglike)
    if ratio < 1e-9:
        return ()
    p = float(chdtrc(2, ratio))  # at most 2 degrees of freedom: an upper bound
    note = f"the unbiased estimate lies outside the range of {names}; `likeliest` lies inside"
    if p >= 0.05:
        return (note,)
    # Rounded up to one digit.
    size = 10.0 ** np.floor(np.log10(max(p, 1e-300)))
    bound = f"{np.ceil(p / size) * size:.0e}"
    doubt = f"the counts contradict the model: likelihood ratio {ratio:.2f}, p at most {bound} for large groups"
    return (note, doubt)


# Estimates from the counts of each design


@dataclass(frozen=True, eq=False)
class Unknown:
    """Estimates with an unrelated question of unknown prevalence.

    Parameters
    ----------
    estimate : Estimate
        Both prevalences, unbiased.
    likeliest : array
        The maximum-likelihood estimates within [0, 1].

    Examples
    --------
    >>> from toolkit.analysis import unknown_question
    >>> unknown_question([[842, 389], [747, 422]], p=(0.75, 0.2)).likeliest.round(2)
    array([0.3 , 0.38])
    """

    estimate: Estimate
    likeliest: Array


def unknown_from_counts(groups: GroupCounts) -> Unknown:
    shares, loglike = groups.likeliest
    note = "the privacy loss of a report depends on the innocuous prevalence, which was not known"
    notes = (note, *outside_notes(groups, loglike, "two shares"))
    method = "unrelated question of unknown prevalence, unbiased"
    labels = ("sensitive", "innocuous")
    return Unknown(groups.estimate(groups.value, groups.cov, labels, None, method, notes), shares)


@dataclass(frozen=True, eq=False)
class Lying:
    """Estimates of the stochastic lie detector.

    Parameters
    ----------
    estimate : Estimate
        The share of carriers, and the share of honest people among them.
    groups : GroupCounts
        The counts of the two groups.

    Examples
    --------
    >>> from toolkit.analysis import lie_detector
    >>> lie_detector([[300, 700], [750, 250]], p=(0.3, 0.8)).likeliest.round(2)
    array([0.1, 0.7])
    """

    estimate: Estimate
    groups: GroupCounts

    @property
    def likeliest(self) -> Array:
        """The maximum-likelihood estimates of both shares, within [0, 1]."""
        honest, carriers = float(self.groups.likeliest[0][0]), float(self.groups.likeliest[0].sum())
        return np.array([carriers, honest / carriers if carriers > 0 else 1.0])

    @property
    def test(self) -> ModelTest:
        """The likelihood-ratio test that all carriers are honest, a hypothesis on the boundary."""
        return self.groups.second_test("all carriers are honest")

    @property
    def carriers_if_honest(self) -> float:
        """The maximum-likelihood share of carriers if all of them are honest."""
        return self.groups.without_second[0]

    def honesty(self, level: float = 0.95) -> Interval:
        """Compute the profile-likelihood interval for the share of honest people among carriers.

        The likelihood is skewed, so the standard error is of little use.

        Parameters
        ----------
        level : float
            Confidence level.

        Returns
        -------
        Interval
            The interval, which is as skewed as the likelihood.
        """
        lowest = self.groups.likeliest[1] - float(chdtri(1, 1 - check_level(level))) / 2 - 1e-12
        best = float(self.likeliest[1])

        def is_outside(honest: float) -> bool:
            return self._profile(honest) < lowest

        low, high = (bisect(is_outside, best, end, max_rounds=50)[0] if is_outside(end) else end for end in (0.0, 1.0))
        return Interval(low, high, level, "profile likelihood")

    def _profile(self, honest: float) -> float:
        """Return the log-likelihood at this share of honest people, maximized over the share of carriers."""
        nobody = self.groups.design.yes_probability((0, 0), self.groups.p)
        return self.groups.maximize_between(nobody, (honest, honest))[1]


def lying_from_counts(groups: GroupCounts) -> Lying:
    honest_carriers, carriers = float(groups.value[0]), float(groups.value.sum())
    # Without carriers, the share of honest people among them is undefined.
    honest = honest_carriers / carriers if carriers != 0 else np.nan
    slope = np.array([[1.0, 1.0], [1 - honest, -honest]])
    slope[1] = slope[1] / carriers if carriers != 0 else np.nan
    method = "stochastic lie detector; share of carriers unbiased, honesty by the delta method"
    note = "the honest share is skewed: use honesty() for its interval"
    notes = (note, *outside_notes(groups, groups.likeliest[1], "shares"))
    value, labels = np.array([carriers, honest]), ("carriers", "honest among carriers")
    return Lying(groups.estimate(value, slope @ groups.cov @ slope.T, labels, NO_PRIVACY, method, notes), groups)


@dataclass(frozen=True, eq=False)
class ExtendedCrosswise:
    """Estimates of the extended crosswise model.

    Parameters
    ----------
    estimate : Estimate
        The prevalence from both groups together, to be used if `test` does not reject.
    by_group : tuple of Estimate
        The prevalence from each group.
    test : ModelTest
        The likelihood-ratio test that both groups have the same prevalence.
    z : float
        The same test as a distance in standard errors; positive if "same" is too frequent.

    Examples
    --------
    >>> from toolkit.analysis import extended_crosswise
    >>> round(extended_crosswise([[250, 750], [740, 260]], p=(0.15, 0.85)).test.p, 2)
    0.61
    """

    estimate: Estimate
    by_group: tuple[Estimate, Estimate]
    test: ModelTest
    z: float


def crosswise_from_counts(groups: GroupCounts) -> ExtendedCrosswise:
    first, second = groups.p
    if abs(first + second - 1) > 1e-9:
        received = f"{first:g} and {second:g}"
        reject("the two probabilities must sum to 1", received, "the test needs mirrored probabilities")
    first_share, second_share = (
        crosswise(p).estimate_counts(row) for p, row in zip(groups.p, groups.counts, strict=True)
    )
    pooled = groups.counts[0] + groups.counts[1][::-1]
    same = pooled[1] / pooled.sum()
    ratio = max(2 * (groups.best - groups.loglike((same, 1 - same))), 0.0)
    z = in_standard_errors(float(groups.yes_shares.sum() - 1), float(np.sqrt(groups.variance.sum())))
    test = ModelTest(ratio, float(chdtrc(1, ratio)), "both groups have one prevalence")
    estimate = crosswise(first).estimate_counts(pooled)
    if test.p < 0.05:
        consequence = "one answer was preferred, and the pooled prevalence is biased"
        note = f"the groups disagree (p = {test.p:.1g}): {consequence}"
        estimate = replace(estimate, notes=(*estimate.notes, note))
    return ExtendedCrosswise(estimate, (first_share, second_share), test, z)


@dataclass(frozen=True, eq=False)
class Cheating:
    """Estimates of cheater detection.

    Parameters
    ----------
    estimate : Estimate
        Unbiased shares of carriers and of non-carriers who follow the instructions, and of cheaters, who always say no.
    groups : GroupCounts
        The counts of the two groups.

    Examples
    --------
    >>> from toolkit.analysis import cheater_detection
    >>> found = cheater_detection([[748, 483], [201, 968]], p=(0.2, 0.8))
    >>> found.estimate.labels, found.likeliest.round(2)
    (('carriers', 'honest non-carriers', 'cheaters'), array([0.25, 0.73, 0.03]))
    """

    estimate: Estimate
    groups: GroupCounts

    @property
    def likeliest(self) -> Array:
        """The maximum-likelihood estimates of the three shares, within [0, 1]."""
        return _three_shares(self.groups.likeliest[0])

    @property
    def carriers_without_cheating(self) -> float:
        """The maximum-likelihood share of carriers if there are no cheaters."""
        return self.groups.without_second[0]

    @property
    def test(self) -> ModelTest:
        """The likelihood-ratio test that there are no cheaters, a hypothesis on the boundary."""
        return self.groups.second_test("there are no cheaters")

    @property
    def range(self) -> tuple[float, float]:
        """The identified set of the share of carriers: cheaters may or may not be carriers."""
        value = np.asarray(self.estimate.value)
        return float(value[0]), float(value[0] + value[2])

    def interval(self, level: float = 0.95) -> Interval:
        """Compute an interval that, for large groups, covers the true share wherever it lies in the identified set.

        It is shorter than an interval that covers the whole set (Imbens and Manski 2004).

        Parameters
        ----------
        level : float
            Confidence level.

        Returns
        -------
        Interval
            The interval, truncated to [0, 1].
        """
        confidence, se = check_level(level), np.asarray(self.estimate.se)
        low, high = self.range
        if np.isnan(se).any():  # all answers of a group are equal
            return Interval(np.nan, np.nan, confidence, "imbens-manski")
        z = imbens_manski_quantile(max(high - low, 0.0) / max(float(se[0]), float(se[1])), confidence)
        return cut(low - z * se[0], max(low, high) + z * se[1], (0.0, 1.0), confidence, "imbens-manski")


def cheating_from_counts(groups: GroupCounts) -> Cheating:
    note = "the true share lies between carriers and carriers plus cheaters"
    notes = (note, *outside_notes(groups, groups.likeliest[1], "three shares"))
    labels, method = ("carriers", "honest non-carriers", "cheaters"), "cheater detection, unbiased"
    cov = _THREE @ groups.cov @ _THREE.T
    return Cheating(groups.estimate(_three_shares(groups.value), cov, labels, NO_PRIVACY, method, notes), groups)


_THREE = np.array([[1.0, 0.0], [-1.0, -1.0], [0.0, 1.0]])


def _three_shares(corners: Array) -> Array:
    """Return the shares of carriers, honest non-carriers and cheaters, given the first and the last share."""
    return np.asarray(_THREE @ corners + np.array([0.0, 1.0, 0.0]))
