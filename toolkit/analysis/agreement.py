"""Standard errors and intervals for weighted shares near 0 and 1, where all reports of a sample may agree.

At a share of 0 or 1, there is no sampling error, regardless of weights and clusters: only the randomization varies,
independently for each person. A weighted sample is then as precise as an unweighted sample of (sum w)**2 / sum w**2
people, Kish's effective sample size (1965). The counts of reports that are expected in such an unweighted sample are
compared with the design.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np

from toolkit.analysis.reports import QuestionModel, has_matrix
from toolkit.core.arrays import Array, Codes, Counts, project_onto_simplex
from toolkit.core.covers import SAMPLED
from toolkit.core.estimate import Estimate
from toolkit.core.inference.intervals import SampleShares, Shares, Student
from toolkit.local.oracles.boxes import BoxShares

_MOST = 1e9  # largest gain in precision from the finite population correction; infinite in a census


@dataclass(frozen=True, eq=False)
class Reports:
    """The distinct reports of a group (None if missing), their scores, and the summed weights of their senders.

    `squares` holds the sums of squared weights.
    """

    design: QuestionModel
    sent: Sequence[Any]
    scores: Array
    weights: Array
    squares: Array

    @classmethod
    def of(cls, design: QuestionModel, sent: Sequence[Any], scores: Array, index: Codes, weights: Array) -> "Reports":
        """Sum the weights of each report; `index` is the index of each person's report in `sent`."""
        scaled = weights / weights.max()
        sums = [np.bincount(index, column, len(sent)).astype(np.float64) for column in (scaled, scaled**2)]
        return cls(design, sent, scores[:, None] if scores.ndim == 1 else scores, *sums)

    def equal_weights(self) -> tuple["EqualWeights | None", Array]:
        """Return the estimate from an unweighted sample, and the variance to add if all reports agree.

        The size of this sample is Kish's effective sample size.
        """
        observed = ~np.isnan(self.scores) & (self.weights > 0)[:, None]
        weights, squares = (column @ observed for column in (self.weights, self.squares))
        people = np.divide(weights**2, squares, out=np.zeros_like(weights), where=squares > 0)
        whole = np.floor(people + 1e-9).astype(np.int64)
        share = np.where(observed, self.weights[:, None], 0.0) / np.where(weights > 0, weights, 1.0)
        means = (share * np.nan_to_num(self.scores)).sum(axis=0)
        highest = np.where(observed, self.scores, -np.inf).max(axis=0)
        lowest = np.where(observed, self.scores, np.inf).min(axis=0)
        same = observed.any(axis=0) & (highest == lowest)
        if (bounds := self.design.bounds) is not None:
            return None, np.diag(np.where(same, self._number_variance(bounds, means, people), 0.0))
        estimate = self._estimate(means, share[:, 0], whole)
        cov = np.zeros((len(means),) * 2)
        if estimate.cov is not None:
            cov = np.where(np.outer(same, same), estimate.cov, 0.0)
        np.fill_diagonal(cov, np.where(same, np.atleast_1d(estimate.se) ** 2, 0.0))
        return EqualWeights(estimate, people), cov

    def _number_variance(self, bounds: tuple[Fraction, Fraction], means: Array, people: Array) -> Array:
        """Return the design's variance at each mean, after clipping the means to the bounds; 0 for plain answers."""
        if self.design.loss is None or not hasattr(self.design, "variance"):
            return np.zeros_like(means)
        low, high = map(float, bounds)
        nearest = np.clip(means, low, high)
        return np.array([self.design.variance(float(mean), 1) for mean in nearest]) / np.maximum(people, 1)

    def _estimate(self, means: Array, share: Array, people: Counts) -> Estimate:
        """Estimate the shares from an unweighted sample with the given number of people for each score.

        Reports with labels are counted by label. Other reports are counted by the options that they support.
        """
        design: Any = self.design
        if design.report_options:
            observed = [index for index, weight in enumerate(share) if weight > 0]
            # Differences of rounded cumulative counts add up to the number of people.
            times = np.diff(np.rint(np.cumsum(share[observed]) * people[0]).astype(np.int64), prepend=0)
            estimate: Estimate = design._estimate_from_raw_reports([self.sent[index] for index in observed], times)
            return estimate
        if design.loss is None:  # boxes without randomization
            ones = np.ones(len(means))
            basis = Shares.from_support(np.rint(means * people[0]), int(people[0]), ones, 0 * ones)
            return Estimate(basis.value, basis.se, design.options, None, basis.n, None, SAMPLED, basis=basis)
        low, high = (np.broadcast_to(limit, means.shape) for limit in design._score_range())
        supporting = np.rint((means - low) / (high - low) * people).astype(np.int64)
        single_box = np.isnan(self.scores[self.weights > 0]).any()  # each person was asked about one box
        by_support: Estimate = design.estimate_counts(supporting, people if single_box else int(people[0]))
        return by_support


@dataclass(frozen=True, eq=False)
class EqualWeights:
    """The estimate from an unweighted sample of the effective size, and Kish's effective sample size."""

    estimate: Estimate
    kish: Array

    def basis(self, weighted: Estimate, variance: Array, fpc_variance: Array, n: Array, df: int) -> SampleShares | None:
        """Return the intervals of the weighted shares; None for estimates that are not shares.

        `fpc_variance` and `variance` are the variances of the shares with and without the finite population correction.
        """
        basis: Any = self.estimate.basis
        if isinstance(basis, BoxShares):  # all boxes have the same odds
            basis = basis.groups[0].rows(np.zeros(basis.k, dtype=np.intp))
        if not isinstance(basis, Shares):
            return None
        value, se = np.atleast_1d(weighted.value), np.atleast_1d(weighted.se)
        kish = np.where(self.kish > 0, self.kish, np.nan)  # NaN for a box that nobody was asked about
        one_person = value * basis.spread_with + (1 - value) * basis.spread_without - value**2
        with np.errstate(divide="ignore", invalid="ignore"):
            effective = np.where((variance > 0) & (one_person > 0), one_person / variance, kish)
            gain = np.where(variance > 0, np.minimum(variance / fpc_variance, _MOST), 1.0)
        plain = weighted.loss is None
        methods = ("korn-graubard", "wilson", "logit", "t") if plain else SampleShares.methods
        return SampleShares(basis, value, se, effective, kish, n, df, gain, methods)


def variance_if_all_changes_equal(designs: Sequence[QuestionModel], pair: Array, weights: Array) -> Array:
    """Return the variance of one person's difference between two yes/no questions if all differences are equal.

    The observed variance of equal differences is 0, so the variance is computed from the designs, at the estimated
    shares of pairs of answers (projected to valid shares). If the differences are not equal, the result is 0. `pair`
    holds the scores of both questions, one row per person.
    """
    first, second = designs
    observed = ~np.isnan(pair).any(axis=1) & (weights > 0)
    differences = (pair[:, 0] - pair[:, 1])[observed]
    if len(differences) == 0 or weights[observed].sum() <= 1 or np.ptp(differences) > 1e-12:
        return np.zeros((1, 1))
    if not (has_matrix(first) and has_matrix(second)):
        return np.zeros((1, 1))
    scaled = weights[observed] / weights[observed].sum()
    indicators = np.stack([1 - pair[observed], pair[observed]], axis=2)
    shares = project_onto_simplex(np.einsum("i,ij,ik->jk", scaled, indicators[:, 0], indicators[:, 1]).ravel())
    contrast = np.array([0, -1, 1, 0])
    return np.array([[contrast @ first.joint(second).covariance(shares, 1) @ contrast]])


def with_variance(estimate: Estimate, added: Array) -> Estimate:
    """Add to the variance of an estimate, and change its t interval accordingly."""
    if not added.any() or not isinstance(estimate.basis, Student):
        return estimate
    cov = np.asarray(estimate.cov) + added
    se = np.sqrt(np.diag(cov))
    error = float(se[0]) if np.ndim(estimate.value) == 0 else se
    return replace(estimate, se=error, cov=cov, notes=(), basis=replace(estimate.basis, se=error))


def difference_covariance(first: Array, others: Sequence[Array]) -> Array:
    """Return the covariance of the differences between several independent estimates and the first estimate."""
    count, width = len(others), len(first)
    cov = np.kron(np.ones((count, count)), first)
    for index, other in enumerate(others):
        rows = slice(index * width, (index + 1) * width)
        cov[rows, rows] += other
    return np.asarray(cov)
