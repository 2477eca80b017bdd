"""Tests of a value, computed from the basis of the intervals, so that a test and its interval always agree."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from toolkit.core.arrays import Array
from toolkit.core.checks import check_choice, exact_fraction, reject
from toolkit.core.inference.intervals import (
    Affine,
    EntryBasis,
    IntervalBasis,
    interval_from,
    p_value_by_inversion,
    possible_range,
)

DIRECTIONS = ("greater", "less")
ADJUSTMENTS = ("holm", "bonferroni")


@dataclass(frozen=True, eq=False, repr=False)
class Significance:
    """The result of a test of one value.

    Parameters
    ----------
    p : float or array
        The p-value, one for each entry of the estimate.
    statistic : float or array
        The distance of the estimate from the null in standard errors, which are computed at the null if possible.
    null : float
        The value that was tested.
    sides : int
        The number of sides, 1 or 2.
    direction : str or None
        "greater" or "less" for a one-sided test.
    method : str
        The method of the interval with which the test agrees.
    adjust : str or None
        The adjustment of the p-values for multiple tests, if any.

    Examples
    --------
    >>> from toolkit import warner
    >>> test = warner("3/4").estimate_counts([600, 400]).test(0.5)
    >>> round(test.statistic, 2), test.p < 0.001, test.method
    (-6.32, True, 'wilson')
    """

    p: float | Array
    statistic: float | Array
    null: float
    sides: int
    direction: str | None
    method: str
    adjust: str | None = None

    def __repr__(self) -> str:
        p, statistic = (
            np.array2string(np.asarray(numbers), precision=4, separator=", ") for numbers in (self.p, self.statistic)
        )
        sides = "two-sided" if self.direction is None else f"one-sided, {self.direction}"
        adjustment = "" if self.adjust is None else f", {self.adjust}"
        return f"<Significance p = {p}: statistic {statistic}, null {self.null:g}, {sides}, {self.method}{adjustment}>"


def significance(
    basis: IntervalBasis,
    value: Any,
    se: Any,
    null: Any,
    sides: int,
    direction: str | None,
    method: str | None,
    adjust: str | None = None,
) -> Significance:
    """Compute the test that rejects at 1 - level exactly when the interval of that level excludes the null."""
    if sides not in (1, 2) or isinstance(sides, bool):
        reject("`sides` must be 1 or 2", repr(sides), "a test has one side or two")
    if sides == 2 and direction is not None:
        reject("`direction` must be left out when `sides` is 2", repr(direction), "it belongs to a one-sided test")
    towards = check_choice(direction or "greater", "direction", DIRECTIONS) if sides == 1 else None
    number, (low, high) = float(exact_fraction(null, "null")), possible_range(basis)
    if not low - 1e-12 <= number <= high + 1e-12:
        rule = f"`null` must lie between {low:g} and {high:g}, as the truth does"
        reject(rule, f"{number:g}", f"for {number:g} percent write {number / 100:g}")
    tested = tuple(name for name in basis.methods if name != "bayes")  # a posterior has no p-value
    if not tested:
        reject("an estimate must have an interval with a test", "a posterior alone", "use .interval()")
    tested_method = check_choice(method or tested[0], "method", tested)
    statistic, below, above, both = _tails(basis, value, se, number, tested_method)
    p = both if towards is None else above if towards == "greater" else below
    p = p if adjust is None else adjusted(p, adjust)
    return Significance(_plain(p), _plain(statistic), number, sides, towards, tested_method, adjust)


def adjusted(p: float | Array, adjust: str) -> Any:
    """Adjust the p-values of several tests so that the probability of any false rejection is controlled.

    "bonferroni" multiplies each p-value by the number of tests m. "holm" multiplies the smallest by m, the next by m -
    1, and so on, and raises each result to at least the previous one; it rejects at least as often as Bonferroni. NaN
    does not count as a test.
    """
    values = np.asarray(p, dtype=np.float64)
    tests = values[~np.isnan(values)]
    if check_choice(adjust, "adjust", ADJUSTMENTS) == "bonferroni":
        return np.minimum(1, values * max(len(tests), 1))
    order = np.argsort(tests, kind="stable")
    raised = np.empty_like(tests)
    raised[order] = np.maximum.accumulate(np.minimum(1, tests[order] * np.arange(len(tests), 0, -1)))
    result = values.copy()
    result[~np.isnan(values)] = raised
    return result


def _tails(
    basis: IntervalBasis, value: float | Array, se: float | Array, null: float, method: str
) -> tuple[Any, Any, Any, Any]:
    """Return the statistic, and the p-values for the alternatives "less", "greater" and two-sided."""
    if isinstance(basis, Affine):
        unit = (null - basis.offset) / basis.factor
        return _tails(basis.basis, (value - basis.offset) / basis.factor, se / basis.factor, unit, method)
    if isinstance(basis, EntryBasis) and hasattr(basis.basis, "tails"):
        statistic, below, above, both = map(basis.pick, _tails(basis.basis, basis.value, basis.se, null, method))
        return statistic, below, above, both
    if hasattr(basis, "tails"):
        statistic, below, above = basis.tails(null, method)
        return statistic, below, above, np.minimum(1, 2 * np.minimum(below, above))
    return _by_inversion(basis, np.asarray(value), np.asarray(se), null, method)


def _by_inversion(basis: IntervalBasis, value: Any, se: Any, null: float, method: str) -> tuple[Any, Any, Any, Any]:
    """Return the statistic and p-values, computed from the intervals alone."""
    both = p_value_by_inversion(lambda level: interval_from(basis, level, method), value, null)
    both = np.maximum(both, getattr(basis, "least_p", 0.0))
    # Half of a two-sided p-value is a one-sided p-value only if both tails of the error are equally probable.
    near = both / 2 if getattr(basis, "equal_tails", False) else both
    with np.errstate(divide="ignore", invalid="ignore"):
        statistic = (value - null) / se
    other = np.where(np.isnan(near), np.nan, 1)
    return statistic, np.where(value < null, near, other), np.where(value > null, near, other), both


def _plain(number: Any) -> Any:
    return np.asarray(number) if np.ndim(number) else float(number)
