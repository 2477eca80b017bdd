"""Likert questions, "strongly disagree" to "strongly agree": all shares or the mean alone, and which to ask for."""

from dataclasses import dataclass

import numpy as np

from toolkit.core.checks import Number, explains, whole
from toolkit.core.inference.digits import concise
from toolkit.local.design import Design
from toolkit.local.matrix.tables import TABLE_LIMIT
from toolkit.local.numeric import one_bit
from toolkit.local.numeric.bounded import OneBit
from toolkit.local.questions import k_ary


@dataclass(frozen=True)
class Likert:
    """Two ways to ask on points 1 … k at one epsilon: `distribution` keeps all shares, `mean` the mean alone.

    `saving_spread` and `saving_ends` say how many times the respondents the mean needs when it is taken from the
    distribution: when answers are spread evenly over the points, and when half of them are at either end, its worst
    case.
    """

    distribution: Design
    mean: OneBit
    saving_spread: float
    saving_ends: float

    __repr__ = concise

    def advice(self) -> str:
        """Which to use, in one sentence."""
        if self.saving_spread > 1:
            gain = f"{self.saving_spread:.1f} to {self.saving_ends:.1f} times fewer respondents"
            return f"Use k_ary for the share of each point; for the mean alone use one_bit, which needs {gain}."
        return (
            "Use k_ary: it gives each point's share and, unless answers crowd at the ends, the mean as "
            "precisely as one_bit."
        )


@explains("likert(5, epsilon=1.0)")
def likert(points: int, epsilon: Number) -> Likert:
    """Prepare a Likert question: all shares by `k_ary`, and the mean alone by `one_bit`.

    The mean from the distribution is the sum of points times shares. Respondents are a random sample.

    Parameters
    ----------
    points : int
        At least 2: the points are 1 … k.
    epsilon : number
        What one report may cost.

    Returns
    -------
    Likert
        Both designs, and which needs fewer people.

    Examples
    --------
    >>> likert(5, 1.0).mean
    <OneBit on 1 to 5: epsilon 1>
    """
    k = whole(points, "points", least=2, most=TABLE_LIMIT)
    scores = np.arange(1, k + 1)
    design, bit = k_ary(scores.tolist(), epsilon=epsilon), one_bit((1, k), epsilon)
    spread, ends = np.full(k, 1 / k), np.where((scores == 1) | (scores == k), 0.5, 0)
    middle = bit.variance((k + 1) / 2, 1)  # whatever the spread, one bit's variance depends on the mean alone
    savings = [float(scores @ design.covariance(shares, 1) @ scores) / middle for shares in (spread, ends)]
    return Likert(design, bit, *savings)
