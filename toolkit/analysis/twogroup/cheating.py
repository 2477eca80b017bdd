"""Cheater detection (Clark and Desharnais 1998): some say no whatever the device demands."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from toolkit.analysis.twogroup.groups import (
    Groups,
    ModelTest,
    boundary_test,
    outside_notes,
    read_groups,
    standard_errors,
)
from toolkit.analysis.twogroup.kinds import Kinds
from toolkit.core.arrays import Array
from toolkit.core.checks import explains
from toolkit.core.checks import level as check_level
from toolkit.core.covers import SAMPLED
from toolkit.core.estimate import Estimate
from toolkit.core.inference.intervals import Interval, Normal, cut
from toolkit.core.inference.special import ndtr, ndtri
from toolkit.core.loss import Pure


@dataclass(frozen=True, eq=False)
class Cheating:
    """What cheater detection found.

    Parameters
    ----------
    estimate : shares of carriers who follow the instructions, of non-carriers who do, and of cheaters, who
        always say no; unbiased.
    kinds : the model, with the counts.
    """

    estimate: Estimate
    kinds: Kinds

    @property
    def groups(self) -> Groups:
        """The counts."""
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
        """An interval that, for large groups, holds the true share with this chance wherever in the range it
        lies (Imbens and Manski 2004): shorter than one that holds the whole range.
        """
        wanted, se = check_level(level), np.asarray(self.estimate.se)
        low, high = self.range
        if np.isnan(se).any():  # all answers are equal, and say nothing of the next one
            return Interval(np.nan, np.nan, wanted, "imbens-manski")
        reach = imbens_manski(max(high - low, 0.0) / max(float(se[0]), float(se[1])), wanted)
        return cut(low - reach * se[0], max(low, high) + reach * se[1], (0.0, 1.0), wanted, "imbens-manski")


@explains("cheater_detection([[748, 483], [201, 968]], (0.2, 0.8))")
def cheater_detection(reports: Any, p: Any, *, by: Any = None) -> Cheating:
    """How many carriers, when some people say no whatever they are told?

    Each group is told "say yes" with its own probability, else to tell the truth. Carriers say yes, honest
    non-carriers say yes when told so, cheaters never: Pr(yes) = carriers + honest * p. Cheaters may be
    carriers: the true share lies between the carriers found and those plus the cheaters.

    Parameters
    ----------
    reports : counts [[no, yes], [no, yes]] of the two groups; or one report a person, and `by` their groups.
    p : the probability of "say yes" in each group, (0.2, 0.8); with `by`, {group: probability}.

    >>> found = cheater_detection([[748, 483], [201, 968]], (0.2, 0.8))
    >>> found.estimate.value.round(3), found.interval()
    (array([0.247, 0.726, 0.027]), Interval(low=0.2151, high=0.324, level=0.95, method='imbens-manski'))
    """
    groups = read_groups(reports, p, by)
    kinds = Kinds(groups, groups.p)
    se = standard_errors(kinds.cov)
    estimate = Estimate(
        value=kinds.value,
        se=se,
        labels=("carriers", "honest non-carriers", "cheaters"),
        cov=kinds.cov,
        n=groups.n,
        loss=Pure(float("inf")),
        covers=SAMPLED,
        method="cheater detection, unbiased",
        notes=(
            "the true share lies between carriers and carriers plus cheaters",
            *outside_notes(groups, kinds.likeliest[1], "three shares"),
        ),
        basis=Normal(kinds.value, se),
    )
    return Cheating(estimate, kinds)


def imbens_manski(width: float, level: float) -> float:
    """How many standard errors to add at each end of a range that is `width` standard errors wide.

    >>> round(imbens_manski(0.0, 0.95), 4), round(imbens_manski(100.0, 0.95), 4)
    (1.96, 1.6449)
    """
    low, high = float(ndtri(level)), float(ndtri((1 + level) / 2))
    for _ in range(60):
        middle = (low + high) / 2
        enough = ndtr(middle + width) - ndtr(-middle) >= level
        low, high = (low, middle) if enough else (middle, high)
    return high
