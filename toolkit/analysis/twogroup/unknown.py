"""An unrelated question whose prevalence nobody knows: two groups find it out together (Greenberg and others
1969).
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from toolkit.analysis.twogroup.groups import Groups, outside_notes, read_groups, standard_errors
from toolkit.core.arrays import Array
from toolkit.core.checks import explains
from toolkit.core.covers import SAMPLED
from toolkit.core.estimate import Estimate
from toolkit.core.inference.intervals import Normal


@dataclass(frozen=True, eq=False)
class Unknown:
    """What two unrelated questions found: both prevalences, unbiased, and the likeliest ones inside 0 to
    1.
    """

    estimate: Estimate
    likeliest: Array


@explains("unknown_question([[842, 389], [747, 422]], (0.75, 0.2))")
def unknown_question(reports: Any, p: Any, *, by: Any = None) -> Unknown:
    """The prevalence of a sensitive trait and of an innocuous one, from reports that may be about either.

    A person is asked the sensitive question with the probability p of the group, else the innocuous one:
    Pr(yes) = p * sensitive + (1 - p) * innocuous.

    Parameters
    ----------
    reports : counts [[no, yes], [no, yes]] of the two groups; or one report a person, and `by` their groups.
    p : the probability of the sensitive question in each group, (0.75, 0.2); with `by`, {group: probability}.

    >>> unknown_question([[842, 389], [747, 422]], (0.75, 0.2)).estimate.value.round(4)
    array([0.2956, 0.3774])
    """
    groups = read_groups(reports, p, by)
    first, second = groups.p
    solve = np.array([[1 - second, first - 1], [-second, first]]) / (first - second)
    value = solve @ groups.seen
    cov = solve @ np.diag(groups.variance) @ solve.T
    inside, highest = _likeliest(groups, value)
    se = standard_errors(cov)
    estimate = Estimate(
        value=value,
        se=se,
        labels=("sensitive", "innocuous"),
        cov=cov,
        n=groups.n,
        loss=None,
        covers=SAMPLED,
        method="unrelated question of unknown prevalence, unbiased",
        notes=(
            "what a report costs its sender depends on the innocuous prevalence, which was not known",
            *outside_notes(groups, highest, "two shares"),
        ),
        basis=Normal(value, se),
    )
    return Unknown(estimate, inside)


def _likeliest(groups: Groups, value: Array) -> tuple[Array, float]:
    """Both shares inside 0 to 1: the unbiased ones where they are, else the best point of the four edges."""
    if value.min() >= 0 and value.max() <= 1:
        return value, groups.best
    p, q = np.array(groups.p), 1 - np.array(groups.p)
    found = []
    for fixed in (0.0, 1.0):
        at, height = groups.likeliest(p * fixed, p * fixed + q)
        found.append((height, np.array([fixed, at])))
        at, height = groups.likeliest(q * fixed, q * fixed + p)
        found.append((height, np.array([at, fixed])))
    height, shares = max(found, key=lambda pair: pair[0])
    return shares, height
