"""The stochastic lie detector (Moshagen, Musch and Erdfelder 2012): some carriers deny it."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import chdtri

from toolkit.analysis.twogroup.groups import (
    Groups,
    Tested,
    boundary_test,
    outside_notes,
    read_groups,
    standard_errors,
)
from toolkit.core.arrays import Array
from toolkit.core.checks import level as check_level
from toolkit.core.estimate import Estimate
from toolkit.core.inference.intervals import Interval, Normal
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
    test: Tested
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
    first, second = groups.p
    gap = second - first
    others = float(groups.seen[0] - groups.seen[1]) / gap
    carriers, admit = 1 - others, float(groups.seen[0]) - others * (1 - first)
    # of carriers, and of those who admit it, by the shares of yes
    slope = np.array([[-1.0, 1.0], [gap - (1 - first), 1 - first]]) / gap
    # nobody, exactly: then nobody's honesty can be told
    slope[1] = slope[1] / carriers - admit / carriers**2 * slope[0] if carriers != 0 else np.nan
    value = np.array([carriers, admit / carriers if carriers != 0 else np.nan])
    cov = slope @ np.diag(groups.variance) @ slope.T
    shares, highest = _likeliest(groups, others, admit)
    alone, honest = _profile(groups, 1.0)
    se = standard_errors(cov)
    estimate = Estimate(
        value=value,
        se=se,
        labels=("carriers", "honest among carriers"),
        cov=cov,
        n=groups.n,
        loss=Pure(float("inf")),
        covers="sampling and randomization",
        method="stochastic lie detector; share of carriers unbiased, honesty by the delta method",
        notes=(
            "the honest share is skewed: use honesty() for its interval",
            *outside_notes(groups, highest, "shares"),
        ),
        basis=Normal(value, se),
    )
    test = boundary_test(2 * (highest - honest), "all carriers are honest")
    return Lying(estimate, shares, test, alone, groups, highest)


def _profile(groups: Groups, honest: float) -> tuple[float, float]:
    """The likeliest share of carriers if this share of them is honest, and how likely."""
    return groups.likeliest([1 - p for p in groups.p], (honest, honest))


def _likeliest(groups: Groups, others: float, admit: float) -> tuple[Array, float]:
    """Carriers and honesty inside what is possible."""
    if others >= 0 and admit >= 0 and 1 - others - admit >= 0:
        return np.array([1 - others, admit / (1 - others) if others < 1 else 1.0]), groups.best
    found = [(*_profile(groups, honest), honest) for honest in (0.0, 1.0)]
    everybody, height = groups.likeliest((0.0, 0.0), (1.0, 1.0))
    found.append((1.0, height, everybody))
    carriers, height, honest = max(found, key=lambda one: one[1])
    return np.array([carriers, honest]), height


def _crossing(fits: Any, inside: float, end: float) -> float:
    """Where, from a point that fits towards an end, values cease to fit."""
    if fits(end):
        return end
    near, far = inside, end
    for _ in range(50):
        middle = (near + far) / 2
        near, far = (middle, far) if fits(middle) else (near, middle)
    return near
