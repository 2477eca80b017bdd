"""The stochastic lie detector (Moshagen, Musch and Erdfelder 2012): some carriers deny it."""

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
from toolkit.core.inference.intervals import Interval, Normal
from toolkit.core.inference.special import chdtri
from toolkit.core.loss import Pure


@dataclass(frozen=True, eq=False)
class Lying:
    """What the lie detector found.

    Parameters
    ----------
    estimate : the share of carriers, and which share of these is honest.
    likeliest : the same, inside what is possible.
    test : whether all carriers are honest: likelihood ratio on the edge.
    if_honest : the share of carriers if they are.
    """

    estimate: Estimate
    likeliest: Array
    test: ModelTest
    if_honest: float
    groups: Groups
    highest: float

    def honesty(self, level: float = 0.95) -> Interval:
        """The interval of the honest share of carriers by profile likelihood: its estimate is skewed, and a
        standard error says little.
        """
        allowed = float(chdtri(1, 1 - check_level(level))) / 2

        def fits(honest: float) -> bool:
            return self.highest - _profile(self.groups, honest)[1] <= allowed + 1e-12

        best = float(self.likeliest[1])
        low, high = _crossing(fits, best, 0.0), _crossing(fits, best, 1.0)
        return Interval(low, high, level, "profile likelihood")


@explains("lie_detector([[300, 700], [750, 250]], (0.3, 0.8))")
def lie_detector(reports: Any, p: Any, *, by: Any = None) -> Lying:
    """How many carriers, when some of them deny it?

    A non-carrier answers truthfully, no, with probability p of the group, else says yes; a carrier says yes
    if honest and no if not: Pr(yes) = carriers * honest + (1 - carriers)(1 - p).

    Parameters
    ----------
    reports : counts [[no, yes], [no, yes]] of the two groups; or one report a person, and `by` their groups.
    p : the probability that a non-carrier says no in each group, (0.3, 0.8); with `by`, {group: probability}.

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
    se = standard_errors(cov)
    estimate = Estimate(
        value=value,
        se=se,
        labels=("carriers", "honest among carriers"),
        cov=cov,
        n=groups.n,
        loss=Pure(float("inf")),
        covers=SAMPLED,
        method="stochastic lie detector; share of carriers unbiased, honesty by the delta method",
        notes=(
            "the honest share is skewed: use honesty() for its interval",
            *outside_notes(groups, highest, "shares"),
        ),
        basis=Normal(value, se),
    )
    test = boundary_test(2 * (highest - without), "all carriers are honest")
    inside = np.array([1 - shares[1], shares[0] / (1 - shares[1]) if shares[1] < 1 else 1.0])
    return Lying(estimate, inside, test, alone, groups, highest)


def _profile(groups: Groups, honest: float) -> tuple[float, float]:
    """The likeliest share of carriers if this share of them is honest, and how likely."""
    return groups.likeliest([1 - p for p in groups.p], (honest, honest))


def _crossing(fits: Any, inside: float, end: float) -> float:
    """Where, from a point that fits towards an end, values cease to fit."""
    if fits(end):
        return end
    near, far = inside, end
    for _ in range(50):
        middle = (near + far) / 2
        near, far = (middle, far) if fits(middle) else (near, middle)
    return near
