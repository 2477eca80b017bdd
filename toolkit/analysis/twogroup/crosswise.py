"""The extended crosswise model (Heck, Hoffmann and Moshagen 2018): two groups whose odds are mirrored."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from toolkit.analysis.twogroup.groups import ModelTest, read_groups
from toolkit.core.checks import explains, refuse
from toolkit.core.estimate import Estimate
from toolkit.core.inference.special import chdtrc
from toolkit.local.questions import crosswise


@dataclass(frozen=True, eq=False)
class ExtendedCrosswise:
    """What the extended crosswise model found.

    Parameters
    ----------
    estimate : the prevalence from both groups together; to be used where `test` has no objection.
    by_group : the prevalence from each group.
    test : whether the groups agree: likelihood ratio on chi-squared.
    z : the same as a distance in standard errors: positive if "same" came too often.
    """

    estimate: Estimate
    by_group: tuple[Estimate, Estimate]
    test: ModelTest
    z: float


@explains("extended_crosswise([[250, 750], [740, 260]], (0.15, 0.85))")
def extended_crosswise(reports: Any, p: Any, *, by: Any = None) -> ExtendedCrosswise:
    """The crosswise question in two groups, with an innocuous prevalence of p in one and of 1 - p in the
    other.

    If people follow the instructions, "same" in one group is as frequent as "different" in the other. People
    who prefer one of the answers break this; people who answer at random do not, and are not seen.

    Parameters
    ----------
    reports : counts [[different, same], [different, same]]; or one report a person, and `by` their groups.
    p : the innocuous prevalence in each group, (0.15, 0.85); with `by`, {group: probability}.

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
    z = float((groups.seen.sum() - 1) / np.sqrt(groups.variance.sum()))
    test = ModelTest(ratio, float(chdtrc(1, ratio)), "both groups have one prevalence")
    estimate = crosswise(first).estimate_counts(pooled)
    return ExtendedCrosswise(_noted(estimate, test), (one, other), test, z)


def _noted(estimate: Estimate, test: ModelTest) -> Estimate:
    if test.p >= 0.05:
        return estimate
    note = f"the groups disagree (p = {test.p:.1g}): one answer was preferred, and the pooled prevalence is biased"
    return replace(estimate, notes=(*estimate.notes, note))
