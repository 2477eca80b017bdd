"""Reports of a sample that all agree, or that no share agrees with: held against their design.

A share at 0 or 1 has no sampling error, whatever the weights and clusters: all that varies is the
randomization, person by person. So a weighted sample is worth there as many people who weigh the same as its
weights say, (sum w)**2 / sum w**2 (Kish 1965), and what as many would have reported is compared with the
design as counts are.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np

from toolkit.analysis.reports import QuestionModel, with_matrix
from toolkit.core.arrays import Array, Codes, Counts, project_onto_simplex
from toolkit.core.covers import SAMPLED
from toolkit.core.estimate import Estimate
from toolkit.core.inference.intervals import SampleShares, Shares, Student
from toolkit.local.oracles.boxes import BoxShares

_MOST = 1e9  # times as many people: in a census nobody else could have been drawn


@dataclass(frozen=True, eq=False)
class Reports:
    """A group's different reports, as `sent`: None for none; `scores`; sums of people's `weights` and `squares`."""

    design: QuestionModel
    sent: Sequence[Any]
    scores: Array
    weights: Array
    squares: Array

    @classmethod
    def of(cls, design: QuestionModel, sent: Sequence[Any], scores: Array, places: Codes, weights: Array) -> "Reports":
        """`places` : for each person of the group the place of the report among those that were `sent`."""
        mass = weights / weights.max()
        sums = [np.bincount(places, part, len(sent)).astype(np.float64) for part in (mass, mass**2)]
        return cls(design, sent, scores[:, None] if scores.ndim == 1 else scores, *sums)

    def worth(self) -> tuple["Worth | None", Array]:
        """What as many people of one weight would show, if shares; and the variance to add where all reports agree."""
        known = ~np.isnan(self.scores) & (self.weights > 0)[:, None]
        mass, squares = (part @ known for part in (self.weights, self.squares))
        people = np.divide(mass**2, squares, out=np.zeros_like(mass), where=squares > 0)
        whole = np.floor(people + 1e-9).astype(np.int64)
        share = np.where(known, self.weights[:, None], 0.0) / np.where(mass > 0, mass, 1.0)
        means = (share * np.nan_to_num(self.scores)).sum(axis=0)
        spread = [np.where(known, self.scores, end).T for end in (-np.inf, np.inf)]
        same = known.any(axis=0) & (spread[0].max(axis=1) == spread[1].min(axis=1))
        if (bounds := self.design.bounds) is not None:
            return None, np.diag(np.where(same, self._of_number(bounds, means, people), 0.0))
        estimate = self._estimated(means, share[:, 0], whole)
        cov = np.zeros((len(means),) * 2)
        if estimate.cov is not None:
            cov = np.where(np.outer(same, same), estimate.cov, 0.0)
        np.fill_diagonal(cov, np.where(same, np.atleast_1d(estimate.se) ** 2, 0.0))
        return Worth(estimate, people), cov

    def _of_number(self, bounds: tuple[Fraction, Fraction], means: Array, people: Array) -> Array:
        """The design's variance at the nearest answer in the bounds; of plain answers nothing is known."""
        if self.design.loss is None or not hasattr(self.design, "variance"):
            return np.zeros_like(means)
        low, high = map(float, bounds)
        nearest = np.clip(means, low, high)
        return np.array([self.design.variance(float(mean), 1) for mean in nearest]) / np.maximum(people, 1)

    def _estimated(self, means: Array, share: Array, people: Counts) -> Estimate:
        """By counts of each report where they have labels, else by the reports that support each option."""
        design: Any = self.design
        if design.report_options:
            there = [place for place, weight in enumerate(share) if weight > 0]
            times = np.diff(np.rint(np.cumsum(share[there]) * people[0]).astype(np.int64), prepend=0)
            estimate: Estimate = design._estimate_sent([self.sent[place] for place in there], times)
            return estimate
        if design.loss is None:  # boxes that nothing hides
            ones = np.ones(len(means))
            basis = Shares.from_support(np.rint(means * people[0]), int(people[0]), ones, 0 * ones)
            return Estimate(basis.value, basis.se, design.options, None, basis.n, None, SAMPLED, basis=basis)
        low, high = (np.broadcast_to(limit, means.shape) for limit in design._score_range())
        seen = np.rint((means - low) / (high - low) * people).astype(np.int64)
        one_each = np.isnan(self.scores[self.weights > 0]).any()  # each person was asked about one box
        by_support: Estimate = design.estimate_counts(seen, people if one_each else int(people[0]))
        return by_support


@dataclass(frozen=True, eq=False)
class Worth:
    """What as many people who weigh the same would show, and how many these are, by Kish."""

    estimate: Estimate
    kish: Array

    def basis(self, drawn: Estimate, variance: Array, finite: Array, n: Array, df: int) -> SampleShares | None:
        """Intervals of the shares that were `drawn`, and of the `finite` population; None where shares have none."""
        basis: Any = self.estimate.basis
        if isinstance(basis, BoxShares):  # each box has people of its own, and all have the same odds
            basis = basis.groups[0].rows(np.zeros(basis.k, dtype=np.intp))
        if not isinstance(basis, Shares):
            return None
        value, se = np.atleast_1d(drawn.value), np.atleast_1d(drawn.se)
        kish = np.where(self.kish > 0, self.kish, np.nan)  # nobody was asked about a box
        alone = value * basis.spread_given + (1 - value) * basis.spread_without - value**2
        with np.errstate(divide="ignore", invalid="ignore"):
            effective = np.where((variance > 0) & (alone > 0), alone / variance, kish)
            gain = np.where(variance > 0, np.minimum(variance / finite, _MOST), 1.0)
        plain = drawn.loss is None
        methods = ("korn-graubard", "wilson", "logit", "t") if plain else SampleShares.methods
        return SampleShares(basis, value, se, effective, kish, n, df, gain, methods)


def change_variance(designs: Sequence[QuestionModel], pair: Array, weights: Array) -> Array:
    """Of one yes/no question less another (`pair` : their scores, a row each), at the nearest shares of pairs, where
    the difference is the same for everybody.
    """
    one, other = designs
    known = ~np.isnan(pair).any(axis=1) & (weights > 0)
    apart = (pair[:, 0] - pair[:, 1])[known]
    if len(apart) == 0 or weights[known].sum() <= 1 or np.ptp(apart) > 1e-12:
        return np.zeros((1, 1))
    if not (with_matrix(one) and with_matrix(other)):
        return np.zeros((1, 1))
    mass = weights[known] / weights[known].sum()
    yes = np.stack([1 - pair[known], pair[known]], axis=2)
    shares = project_onto_simplex(np.einsum("i,ij,ik->jk", mass, yes[:, 0], yes[:, 1]).ravel())
    weight = np.array([0, -1, 1, 0])
    return np.array([[weight @ one.joint(other).covariance(shares, 1) @ weight]])


def with_variance(estimate: Estimate, added: Array) -> Estimate:
    if not added.any() or not isinstance(estimate.basis, Student):
        return estimate
    cov = np.asarray(estimate.cov) + added
    se = np.sqrt(np.diag(cov))
    error = float(se[0]) if np.ndim(estimate.value) == 0 else se
    return replace(estimate, se=error, cov=cov, notes=(), basis=replace(estimate.basis, se=error))


def side_by_side(first: Array, others: Sequence[Array]) -> Array:
    """The covariance of several differences from one: each has its own part, and all have the first's."""
    count, width = len(others), len(first)
    cov = np.kron(np.ones((count, count)), first)
    for place, own in enumerate(others):
        rows = slice(place * width, (place + 1) * width)
        cov[rows, rows] += own
    return np.asarray(cov)
