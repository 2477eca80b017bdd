"""`tipping_point`: how many people who do not follow the instructions would explain an estimate.

If a share g answers so that the last report comes with probability r, whatever is true, the reports come with
(1 - g) * l0 + g * r instead of l0, which a share x0 alone would make. Solved for g.
"""

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from toolkit.core.checks import Number, probability, refuse
from toolkit.core.estimate import Estimate
from toolkit.core.extras import extra
from toolkit.core.inference.intervals import Shares
from toolkit.local.design import Design

if TYPE_CHECKING:
    import pandas as pd

WAYS = ("random", "self_protective", "self_incriminating")


@dataclass(frozen=True, repr=False)
class TippingPoint:
    """Shares of people who do not follow the instructions that would explain an estimate.

    The ways are "random" (report anything, evenly), "self_protective" (always report what speaks most for the first
    option) and "self_incriminating" (always report what speaks most for the last option). NaN: no share does it.

    Parameters
    ----------
    null : float
        What the truth would be instead.
    level : float
        Level of the interval that `doubt` is about.
    explains : dict of float
        For each way, the share that would explain the estimate.
    doubt : dict of float
        For each way, the share that would explain the limit nearest to `null`: from it on the estimate is in doubt.
    """

    null: float
    level: float
    explains: dict[str, float]
    doubt: dict[str, float]

    def to_frame(self) -> "pd.DataFrame":
        """One row for each way."""
        pd = extra("pandas")
        return pd.DataFrame({"explains": self.explains, "doubt": self.doubt})

    def __repr__(self) -> str:
        parts = [
            f"{way} {'no share' if math.isnan(share) else f'{100 * share:.3g} %'}"
            for way, share in self.explains.items()
        ]
        return f"<TippingPoint: if the truth were {self.null:g}, it would be explained by {', '.join(parts)}>"


def tipping_point(
    estimate: Estimate, null: Number = 0, *, design: Design | None = None, level: float = 0.95
) -> TippingPoint:
    """Find the share of people who answer at random, or always the same, that would explain an estimate of a share.

    Parameters
    ----------
    estimate : Estimate
        Of a design with two answers and two reports.
    null : number
        What the truth might be instead: what people said when they were asked directly, or 0.
    design : Design, optional
        Where the estimate was not made by it alone, as of a sample.
    level : float
        Of the interval whose nearer limit is explained, too.

    Returns
    -------
    TippingPoint
        One share for each way of not following the instructions; NaN where no share does it.

    Examples
    --------
    >>> from toolkit import warner
    >>> tipping_point(warner("3/4").estimate_counts([700, 300]))
    <TippingPoint: if the truth were 0, it would be explained by random 20 %, self_protective no share, ...>
    """
    truth, (no, yes) = float(probability(null, "null")), _row(estimate, design)
    chances = dict(zip(WAYS, (0.5, 0.0, 1.0) if yes > no else (0.5, 1.0, 0.0), strict=True))
    low, high = (float(limit) for limit in estimate.interval(level))
    value = float(estimate.value)
    expected, seen = (no + (yes - no) * share for share in (truth, value))
    explains = {way: _share(seen, expected, chance) for way, chance in chances.items()}
    if low <= truth <= high:  # the interval holds it already
        return TippingPoint(truth, level, explains, dict.fromkeys(WAYS, 0.0))
    limit = no + (yes - no) * (low if value > truth else high)
    return TippingPoint(
        truth, level, explains, {way: _share(limit, expected, chance) for way, chance in chances.items()}
    )


def _share(seen: float, expected: float, said: float) -> float:
    if math.isclose(said, expected):
        return math.nan
    share = (seen - expected) / (said - expected)
    return share if 0 <= share <= 1 else math.nan


def _row(estimate: Any, design: Design | None) -> tuple[float, float]:
    """How probable the last report is from those without and with the last option."""
    if not isinstance(estimate, Estimate):
        consequence = "as design.estimate(…) or estimates(…)['question'] gives it"
        refuse("the estimate must be an Estimate", type(estimate).__name__, consequence, TypeError)
    if np.ndim(estimate.value):
        refuse("the estimate must be of one share", f"{len(estimate.labels)} values", "take two answers together")
    if design is not None:
        if design.matrix.shape != (2, 2):
            rule = "`design` must have two answers and two reports"
            refuse(rule, f"shape {design.matrix.shape}", "others have no name here")
        return float(design.matrix[0, 1]), float(design.matrix[1, 1])
    basis = estimate.basis
    if not isinstance(basis, Shares) or basis.given.shape != (1, 2):
        refuse("the estimate must be made by a design of two answers and two reports", "another", "give design=…")
    return _last(basis)


def _last(basis: Shares) -> tuple[float, float]:
    """From what the intervals are made of: the report that is counted first there is the last one."""
    return float(basis.without[0, 0]), float(basis.given[0, 0])
