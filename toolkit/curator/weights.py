"""`Weights`: the column of a sample's weights, clipped to public bounds, and the design effect if it is public."""

from dataclasses import dataclass
from fractions import Fraction
from typing import NoReturn

from toolkit.core.arrays import Label
from toolkit.core.checks import Number, check_positive, reject
from toolkit.frames.frame import Frame
from toolkit.frames.sums import SQUARE_BITS, Bounds, BoundsLike, Variable, format_number

_CALIBRATED = (
    "weights calibrated on the data (raked, poststratified, adjusted for nonresponse) depend on other people's rows: "
    "one person's row then moves many weights, and the noise hides only its own; use the weights of the sampling design"
)

_MAX_DEFF = 10**6


@dataclass(frozen=True, eq=False)
class Weights:
    """The column of weights with its public bounds, and the public design effect of the sample if there is one.

    A missing weight counts as the lower bound. So every row has a weight within the bounds, and whether a weight is
    missing is as confidential as its value.
    """

    variable: Variable
    deff: float | None = None

    @classmethod
    def of(
        cls, frame: Frame, label: Label | None, bounds: BoundsLike | None, deff: Number | None, *, are_fixed: bool
    ) -> "Weights | None":
        """Check the arguments of a curator; return None if it has no weights."""
        if label is None:
            if bounds is not None or deff is not None or are_fixed:
                rule = "`weight_bounds`, `weights_are_fixed` and `deff` must be given with `weights`"
                reject(rule, "no `weights`", 'write weights="w", weight_bounds=(0, 50), weights_are_fixed=True')
            return None
        column = frame.column(label, must_be_numeric=True)
        if bounds is None:
            remedy = "weights are clipped to public bounds, which scale the noise: weight_bounds=(0, 50)"
            reject("`weight_bounds` must be given with `weights`", "nothing", remedy)
        if are_fixed is not True:
            rule = (
                "`weights_are_fixed=True` must be given with `weights`, because a weight must depend on its row alone"
            )
            reject(rule, "no such statement", _CALIBRATED)
        limits = Bounds.of(bounds, SQUARE_BITS)
        low = format_number(float(limits.low))
        if limits.low < 0:
            reject("`weight_bounds` must not be negative", low, "write weight_bounds=(0, 50)")
        variable = Variable(label, limits, limits.low, column.name, f"missing weights counted as {low}")
        return cls(variable, None if deff is None else _design_effect(deff))

    @property
    def description(self) -> str:
        """The column and its bounds in words."""
        low, high = (format_number(float(end)) for end in (self.variable.limits.low, self.variable.limits.high))
        return f"weights {self.variable.name}, clipped to {low} to {high}"

    @property
    def largest(self) -> float:
        """The largest weight on the grid."""
        return float(self.variable.limits.high_steps * self.variable.limits.step)


def _design_effect(deff: Number) -> float:
    amount = check_positive(deff, "deff")
    if not Fraction(1, _MAX_DEFF) <= amount <= _MAX_DEFF:
        rule = f"`deff` must be between 1/{_MAX_DEFF:,} and {_MAX_DEFF:,}"
        reject(rule, "another number", "it is the variance divided by that of a simple random sample")
    return float(amount)


def reject_weights() -> NoReturn:
    """Reject a statistic that has no weighted form."""
    remedy = "for an unweighted statistic, make a Curator without `weights` on the same ledger"
    consequence = f"the sensitivity and the error of others are not known with weights; {remedy}"
    rule = "a curator with `weights` releases count, histogram, sum and mean, for one table and one column at a time"
    reject(rule, "another statistic", consequence)
