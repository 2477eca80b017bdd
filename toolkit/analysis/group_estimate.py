"""`GroupEstimate`: one question in one group: the estimate, and the people that it was made from."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from toolkit.analysis.reports import QuestionModel, estimated_labels, is_single
from toolkit.core.covers import Covers
from toolkit.core.estimate import Estimate
from toolkit.core.inference.intervals import Interval, IntervalBasis
from toolkit.frames.counts import Group
from toolkit.local.oracles.support import COVARIANCE_LIMIT


@dataclass(frozen=True)
class GroupEstimate:
    """`rows` : how many rows the group has; `missing` : those of them without a report. `yes` : the share of
    the reports that are the last one, as they are, where there are two. `deff` : the variance as a multiple
    of that of as many people drawn alike; None without a sample. `weighted` : whether people of a sample have
    weights; None without one.
    """

    question: str
    group: Group
    estimate: Estimate
    rows: int
    missing: int
    yes: float | None = None
    deff: Any = None
    weighted: bool | None = None

    @property
    def used(self) -> int:
        return self.rows - self.missing

    @property
    def df(self) -> int | None:
        """Degrees of freedom of the interval of a sample."""
        return None if self.weighted is None else getattr(self.estimate.basis, "df", None)

    def deff_of(self, place: int) -> float:
        """The design effect of one option; NaN where there is none."""
        return float(np.broadcast_to(np.nan if self.deff is None else self.deff, len(self.estimate.labels))[place])

    def entries(self) -> list[tuple[str | int, Estimate]]:
        """Each option's estimate for itself."""
        if np.ndim(self.estimate.value) == 0:
            return [(self.estimate.labels[0], self.estimate)]
        return [(label, entry(self.estimate, place)) for place, label in enumerate(self.estimate.labels)]


def empty_estimate(design: QuestionModel) -> Estimate:
    """The estimate where nobody answered: no number, under the labels that an estimate would have.

    >>> from toolkit import warner
    >>> empty_estimate(warner("3/4"))
    <Estimate — without an error; n = 0; covers nothing, as nobody answered; privacy loss ε = 1.1>
    """
    labels = estimated_labels(design)
    k = len(labels)
    nothing = float("nan") if is_single(design) else np.full(k, np.nan)
    return Estimate(
        value=nothing,
        se=nothing,
        labels=labels,
        cov=np.full((k, k), np.nan) if k <= COVARIANCE_LIMIT else None,
        n=0,
        loss=design.loss,
        covers=Covers((), more="nothing, as nobody answered"),
        notes=("nobody answered: there is nothing to estimate from",),
    )


@dataclass(frozen=True, eq=False)
class Entry:
    """The intervals of one entry of an estimate that has several."""

    basis: IntervalBasis
    place: int

    @property
    def methods(self) -> tuple[str, ...]:
        return self.basis.methods

    def interval(self, level: float, method: str) -> Interval:
        limits = self.basis.interval(level, method)
        low, high = (float(np.atleast_1d(limit)[self.place]) for limit in limits)
        empty = np.broadcast_to(limits.empty, np.shape(limits.low))
        return replace(limits, low=low, high=high, empty=bool(np.atleast_1d(empty)[self.place]))


def entry(estimate: Estimate, place: int) -> Estimate:
    """One entry as an estimate of its own, with the same intervals."""
    value, se = np.atleast_1d(estimate.value)[place], np.atleast_1d(estimate.se)[place]
    return replace(
        estimate,
        value=float(value),
        se=float(se),
        labels=(estimate.labels[place],),
        cov=np.array([[se**2]]),
        basis=None if estimate.basis is None else Entry(estimate.basis, place),
        fit=None,
    )
