"""Estimates without covariates from the counts of two groups that were asked with different probabilities.

Cheater detection (Clark and Desharnais 1998): some people say no even if instructed to say yes. The stochastic lie
detector (Moshagen, Musch and Erdfelder 2012): some carriers deny the trait. The extended crosswise model (Heck,
Hoffmann and Moshagen 2018): the groups have probabilities p and 1 - p. The unrelated question with an
unknown prevalence (Greenberg and others 1969).
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
from toolkit.core.inference.intervals import Interval, Normal, cut, imbens_manski
from toolkit.core.inference.special import chdtrc, chdtri, xlogy
from toolkit.core.loss import Pure
from toolkit.core.search import bisect
from toolkit.frames.table import array_of
from toolkit.local.matrix.encoding import checked_counts, encode
from toolkit.local.questions import crosswise
from toolkit.local.two_groups import TwoGroupDesign

NO_PRIVACY = Pure(math.inf)
Chances: TypeAlias = Sequence[Number] | Mapping[Any, Number]
"""A probability for each of two groups, in their order or by their names."""


@dataclass(frozen=True)
class ModelTest:
    """A test of a model assumption.

    Parameters
    ----------
    statistic : float
        The likelihood ratio, or the distance in standard errors.
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
    """The numbers of no and yes answers, one row per group, under a design with the probabilities `p`.

    `value` and `cov` are unbiased estimates of the shares of the design's corners and their covariance. They may lie
    outside the possible range of shares.
    """

    design: TwoGroupDesign
    counts: Array
    p: tuple[float, float]

    @property
    def n(self) -> int:
        return int(self.counts.sum())

    @property
    def seen(self) -> Array:
        return np.asarray(self.counts[:, 1] / self.counts.sum(axis=1))

    @property
    def variance(self) -> Array:
        return np.asarray(self.seen * (1 - self.seen) / (self.counts.sum(axis=1) - 1))

    def log_likelihood(self, yes: ArrayLike) -> float:
        """Return the log-likelihood of these probabilities of yes in the two groups."""
        yes = np.asarray(yes)
        return float(np.sum(xlogy(self.counts[:, 1], yes) + xlogy(self.counts[:, 0], 1 - yes)))

    @property
    def best(self) -> float:
        """The log-likelihood of the observed shares, which no model can exceed."""
        return self.log_likelihood(self.seen)

    def along(self, start: Iterable[float], end: Iterable[float]) -> tuple[float, float]:
        """Return the position and value of the maximum of the concave log-likelihood, from `start` (0) to `end` (1)."""
        lines = [(float(a), float(b) - float(a)) for a, b in zip(start, end, strict=True)]
        counts = [(float(no), float(yes)) for no, yes in self.counts]

        def falls(at: float) -> bool:
            slope = 0.0
            for (a, b), (no, yes) in zip(lines, counts, strict=True):
                here = a + at * b
                slope += b * yes / here if yes and b else 0.0
                slope -= b * no / (1 - here) if no and b else 0.0
            return slope <= 0

        def height(at: float) -> float:
            return self.log_likelihood([a + at * b for a, b in lines])

        # The ends themselves, where a slope may be infinite, are compared afterwards.
        between = sum(bisect(falls, 0.0, 1.0, max_rounds=60)) / 2
        best = max((0.0, between, 1.0), key=height)
        return best, height(best)

    @cached_property
    def value(self) -> Array:
        start, matrix = self.design.corner_solution(self.p)
        return np.asarray(start + matrix @ self.seen)

    @cached_property
    def cov(self) -> Array:
        _, matrix = self.design.corner_solution(self.p)
        return np.asarray(matrix @ np.diag(self.variance) @ matrix.T)

    @cached_property
    def likeliest(self) -> tuple[Array, float]:
        """The maximum likelihood estimate of the corners' shares, and its log-likelihood.

        It equals the unbiased estimate if that lies in the possible range, and otherwise lies on an edge of the range.
        """
        rest = 1 - (self.value.sum() if self.design.is_triangular else self.value.max())
        if min(self.value.min(), rest) >= 0:
            return self.value, self.best
        start, matrix = self.design.corner_solution(self.p)
        corners = [self.design.yes_probability(cell, self.p) for cell in self.design.polygon_cells]
        shares = [np.round(start + matrix @ corner, 9) for corner in corners]  # they are 0 or 1
        edges = []
        for k, corner in enumerate(corners):
            at, height = self.along(corners[k - 1], corner)
            edges.append((height, (1 - at) * shares[k - 1] + at * shares[k]))
        height, best = max(edges, key=lambda edge: edge[0])
        return best, height

    @cached_property
    def without_second(self) -> tuple[float, float]:
        """The estimated share of the first corner if that of the second is 0, and the log-likelihood of this model."""
        base, first = (self.design.yes_probability(cell, self.p) for cell in ((0, 0), self.design.corner_cells[0]))
        return self.along(base, first)

    def estimate(
        self, value: Array, cov: Array, labels: tuple[str, ...], loss: Pure | None, method: str, notes: Sequence[str]
    ) -> Estimate:
        se = standard_errors(cov)
        return Estimate(value, se, labels, cov, self.n, loss, SAMPLED, method, tuple(notes), Normal(value, se))


def read_groups(design: TwoGroupDesign, reports: Values, p: Chances, group: Values | None) -> GroupCounts:
    """Read counts of no and yes for two groups, in the order of `p`, or reports with the group of each."""
    if not isinstance(p, Mapping) and (not isinstance(p, Sequence) or isinstance(p, str)):
        remedy = "(0.2, 0.8), or {group: 0.2, other: 0.8}"
        reject("`p` must hold a probability for each group", type(p).__name__, remedy, TypeError)
    chances = [float(check_probability(one, "p")) for one in (p.values() if isinstance(p, Mapping) else p)]
    if len(chances) != 2:
        reject("there must be two groups", len(chances), "their odds are compared")
    if chances[0] == chances[1]:
        reject("the groups must have different probabilities", f"{chances[0]:g} twice", "equal ones tell nothing apart")
    if group is None:
        table = as_array(reports)
        if table.shape != (2, 2):
            rule = f"counts must be two rows, how many {' and '.join(design.report_options)} in each group"
            reject(rule, f"shape {table.shape}", "or give reports, and `group` for their groups")
        counts = np.array([checked_counts(row, 2) for row in table])
    else:
        codes, groups = encode(reports, design.report_options, "reports").codes, array_of(group)
        if groups.shape != codes.shape:
            received = f"{groups.shape} for {codes.shape}"
            reject("`group` must have one group for each report", received, "they belong together")
        places = group_places(groups, chances_by_group(p))
        counts = np.bincount(2 * places + codes, minlength=4).reshape(2, 2).astype(float)
    if (small := counts.sum(axis=1).min()) < 2:
        reject("each group must have at least two people", int(small), "there would be no variance")
    return GroupCounts(design, counts, (chances[0], chances[1]))


def chances_by_group(p: object) -> dict[Any, float]:
    """Return the probability of each group by its name."""
    if not isinstance(p, Mapping):
        rule = "`p` must be a mapping, {group: probability}"
        reject(rule, type(p).__name__, "it says which group is which", TypeError)
    return {name: float(check_probability(chance, "p")) for name, chance in p.items()}


def group_places(groups: npt.NDArray[Any], chances: Mapping[Any, float]) -> npt.NDArray[np.intp]:
    """Return the index of each row's group in `p`."""
    places = np.full(len(groups), -1, dtype=np.intp)
    for place, name in enumerate(chances):
        places[groups == name] = place
    if unknown := int(np.count_nonzero(places < 0)):
        received = f"{unknown} of {len(places)} that are not"
        reject("every report must be of one of the groups in `p`", received, "its odds are not known")
    return places


def standard_errors(cov: Array) -> Array:
    """Return the standard errors; NaN instead of 0 if all answers are equal, as 0 would suggest certainty."""
    variances = np.diag(cov)
    return np.sqrt(np.where(variances > 0, variances, np.nan))


def in_errors(distance: float, se: float) -> float:
    """Return a distance in standard errors; if the error is 0, a distance of 0 stays 0 and any other is infinite."""
    return distance / se if se > 0 else math.copysign(math.inf, distance) if distance else 0.0


def boundary_test(ratio: float, null: str) -> ModelTest:
    """Return a likelihood ratio test on the boundary: under the null, half 0 and half chi-squared with 1 df."""
    ratio = max(ratio, 0.0)
    return ModelTest(ratio, 1.0 if ratio < 1e-9 else float(chdtrc(1, ratio) / 2), null)


def outside_notes(groups: GroupCounts, highest: float, names: str) -> tuple[str, ...]:
    """Return notes for an unbiased estimate outside the possible range, with a test of whether the model fits."""
    ratio = 2 * (groups.best - highest)
    if ratio < 1e-9:
        return ()
    p = float(chdtrc(2, ratio))  # an upper bound, because there are at most 2 degrees of freedom
    note = f"the unbiased estimate lies outside what {names} can be; `likeliest` is inside"
    if p >= 0.05:
        return (note,)
    size = 10.0 ** np.floor(np.log10(max(p, 1e-300)))
    above = f"{np.ceil(p / size) * size:.0e}"
    doubt = f"the counts contradict the model: likelihood ratio {ratio:.2f}, p at most {above} for large groups"
    return (note, doubt)


# Results of each design from counts


@dataclass(frozen=True, eq=False)
class Unknown:
    """The result of an unrelated question with an unknown prevalence.

    Parameters
    ----------
    estimate : Estimate
        Unbiased estimates of both prevalences.
    likeliest : array
        The maximum likelihood estimates between 0 and 1.

    Examples
    --------
    >>> from toolkit.analysis import unknown_question
    >>> unknown_question([[842, 389], [747, 422]], p=(0.75, 0.2)).likeliest.round(2)
    array([0.3 , 0.38])
    """

    estimate: Estimate
    likeliest: Array


def unknown_in(groups: GroupCounts) -> Unknown:
    """Estimate both prevalences from counts."""
    shares, highest = groups.likeliest
    note = "what a report costs its sender depends on the innocuous prevalence, which was not known"
    notes = (note, *outside_notes(groups, highest, "two shares"))
    method = "unrelated question of unknown prevalence, unbiased"
    labels = ("sensitive", "innocuous")
    return Unknown(groups.estimate(groups.value, groups.cov, labels, None, method, notes), shares)


@dataclass(frozen=True, eq=False)
class Lying:
    """The result of the stochastic lie detector.

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
        """The maximum likelihood estimates of the same shares, between 0 and 1."""
        admit, carriers = float(self.groups.likeliest[0][0]), float(self.groups.likeliest[0].sum())
        return np.array([carriers, admit / carriers if carriers > 0 else 1.0])

    @property
    def test(self) -> ModelTest:
        """The likelihood ratio test of whether all carriers are honest, which lies on the boundary."""
        return boundary_test(2 * (self.groups.likeliest[1] - self.groups.without_second[1]), "all carriers are honest")

    @property
    def if_honest(self) -> float:
        """The share of carriers if all of them are honest."""
        return self.groups.without_second[0]

    def honesty(self, level: float = 0.95) -> Interval:
        """Return the profile likelihood interval of the honest share of carriers, which is skewed.

        Parameters
        ----------
        level : float
            Confidence level.

        Returns
        -------
        Interval
            The interval, which is not symmetric about the estimate.
        """
        lowest = self.groups.likeliest[1] - float(chdtri(1, 1 - check_level(level))) / 2 - 1e-12
        best = float(self.likeliest[1])

        def leaves(honest: float) -> bool:
            return self._profile(honest) < lowest

        low, high = (bisect(leaves, best, end, max_rounds=50)[0] if leaves(end) else end for end in (0.0, 1.0))
        return Interval(low, high, level, "profile likelihood")

    def _profile(self, honest: float) -> float:
        """Return the profile log-likelihood of an honest share, maximized over the share of carriers."""
        return self.groups.along(self.groups.design.yes_probability((0, 0), self.groups.p), (honest, honest))[1]


def lying_in(groups: GroupCounts) -> Lying:
    """Estimate the share of carriers, and the share of honest people among them, from counts."""
    admit, carriers = float(groups.value[0]), float(groups.value.sum())
    # Without carriers, the share of honest carriers is not defined.
    honest = admit / carriers if carriers != 0 else np.nan
    slope = np.array([[1.0, 1.0], [1 - honest, -honest]])
    slope[1] = slope[1] / carriers if carriers != 0 else np.nan
    method = "stochastic lie detector; share of carriers unbiased, honesty by the delta method"
    note = "the honest share is skewed: use honesty() for its interval"
    notes = (note, *outside_notes(groups, groups.likeliest[1], "shares"))
    value, labels = np.array([carriers, honest]), ("carriers", "honest among carriers")
    return Lying(groups.estimate(value, slope @ groups.cov @ slope.T, labels, NO_PRIVACY, method, notes), groups)


@dataclass(frozen=True, eq=False)
class ExtendedCrosswise:
    """The result of the extended crosswise model.

    Parameters
    ----------
    estimate : Estimate
        The prevalence from both groups together, which is valid if `test` does not reject.
    by_group : tuple of Estimate
        The prevalence from each group.
    test : ModelTest
        The likelihood ratio test of whether the groups agree.
    z : float
        The same disagreement in standard errors, positive if "same" was reported too often.

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


def crosswise_in(groups: GroupCounts) -> ExtendedCrosswise:
    """Estimate the prevalence from the counts of both groups together and of each."""
    first, second = groups.p
    if abs(first + second - 1) > 1e-9:
        received = f"{first:g} and {second:g}"
        reject("the two probabilities must sum to 1", received, "mirrored odds are what makes the test")
    one, other = (crosswise(p).estimate_counts(row) for p, row in zip(groups.p, groups.counts, strict=True))
    pooled = groups.counts[0] + groups.counts[1][::-1]
    same = pooled[1] / pooled.sum()
    ratio = max(2 * (groups.best - groups.log_likelihood((same, 1 - same))), 0.0)
    z = in_errors(float(groups.seen.sum() - 1), float(np.sqrt(groups.variance.sum())))
    test = ModelTest(ratio, float(chdtrc(1, ratio)), "both groups have one prevalence")
    estimate = crosswise(first).estimate_counts(pooled)
    if test.p < 0.05:
        consequence = "one answer was preferred, and the pooled prevalence is biased"
        note = f"the groups disagree (p = {test.p:.1g}): {consequence}"
        estimate = replace(estimate, notes=(*estimate.notes, note))
    return ExtendedCrosswise(estimate, (one, other), test, z)


@dataclass(frozen=True, eq=False)
class Cheating:
    """The result of cheater detection.

    Parameters
    ----------
    estimate : Estimate
        Unbiased estimates of the shares of carriers and of non-carriers who follow the instructions, and of cheaters,
        who always say no.
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
        """The maximum likelihood estimates of the three shares, within their possible range."""
        return _three_shares(self.groups.likeliest[0])

    @property
    def without_cheating(self) -> float:
        """The share of carriers if there are no cheaters."""
        return self.groups.without_second[0]

    @property
    def test(self) -> ModelTest:
        """The likelihood ratio test of whether there are cheaters, which lies on the boundary."""
        return boundary_test(2 * (self.groups.likeliest[1] - self.groups.without_second[1]), "there are no cheaters")

    @property
    def range(self) -> tuple[float, float]:
        """The identified range of the true share without sampling error; a cheater may be a carrier or not."""
        value = np.asarray(self.estimate.value)
        return float(value[0]), float(value[0] + value[2])

    def interval(self, level: float = 0.95) -> Interval:
        """Return an interval that covers the true share with the given probability, wherever it lies in the range.

        The coverage holds for large groups. The interval is shorter than one that covers the whole range (Imbens and
        Manski 2004).

        Parameters
        ----------
        level : float
            Confidence level.

        Returns
        -------
        Interval
            The interval, clipped to 0 to 1.
        """
        confidence, se = check_level(level), np.asarray(self.estimate.se)
        low, high = self.range
        if np.isnan(se).any():  # all answers are equal, so the variance is unknown
            return Interval(np.nan, np.nan, confidence, "imbens-manski")
        reach = imbens_manski(max(high - low, 0.0) / max(float(se[0]), float(se[1])), confidence)
        return cut(low - reach * se[0], max(low, high) + reach * se[1], (0.0, 1.0), confidence, "imbens-manski")


def cheating_in(groups: GroupCounts) -> Cheating:
    """Estimate the three shares from counts."""
    note = "the true share lies between carriers and carriers plus cheaters"
    notes = (note, *outside_notes(groups, groups.likeliest[1], "three shares"))
    labels, method = ("carriers", "honest non-carriers", "cheaters"), "cheater detection, unbiased"
    cov = _THREE @ groups.cov @ _THREE.T
    return Cheating(groups.estimate(_three_shares(groups.value), cov, labels, NO_PRIVACY, method, notes), groups)


_THREE = np.array([[1.0, 0.0], [-1.0, -1.0], [0.0, 1.0]])


def _three_shares(corners: Array) -> Array:
    """Return the shares of carriers, honest non-carriers and cheaters, from those of carriers and cheaters."""
    return np.asarray(_THREE @ corners + np.array([0.0, 1.0, 0.0]))
