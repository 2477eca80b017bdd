"""Inverse sensitivity: an exponential mechanism whose scores count the people whose values would have to change."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from toolkit.central.noise.grid import NO_FINITE_NOISE
from toolkit.central.publishing.quantiles import round_share
from toolkit.central.release import selection_estimate
from toolkit.central.robust.estimators import Huber
from toolkit.central.selection import Exponential, check_selection_loss
from toolkit.core.arrays import Array, Steps
from toolkit.core.checks import Number, check_integer, check_positive, check_probability, float_array, reject
from toolkit.core.covers import Covers, ErrorSource
from toolkit.core.estimate import Estimate
from toolkit.core.loss import Pure, Zcdp
from toolkit.core.randomness import Rng, check_rng
from toolkit.frames.sums import QUANTILE_BITS, Bounds, format_number

# The length of a grid point is the number of people whose values must change before the statistic takes this value.
#
# The statistic is a quantile, a Huber location, or any monotone function.
#
# A length is the distance from the table to a set of tables. So one person who is replaced, added or removed changes a
# length by at most 1. Lengths are computed exactly, in whole grid steps, except for functions that the user supplies.


def quantile_lengths(steps: Steps, span: int, q: Fraction) -> Steps:
    """Return, for each grid step, the minimum number of changes after which the step is a q quantile.

    At most a share q of the values may lie below a quantile, and at most a share 1 - q above it. It is optimal to
    replace values on the wrong side by the step itself; removing or adding values is never better.
    """
    counts = np.bincount(steps, minlength=span + 1).astype(np.int64)
    cumulative = np.cumsum(counts)
    n = int(cumulative[-1])
    below = cumulative - counts - _share_down(q, n)
    above = n - cumulative - _share_down(1 - q, n)
    return np.asarray(np.maximum(np.maximum(below, above), 0))


def _share_down(q: Fraction, n: int) -> int:
    """Return floor(q n); this rounding loses nothing, because ceil(b - q n) = b - floor(q n) for an integer b."""
    return q.numerator * n // q.denominator


def huber_lengths(steps: Steps, span: int, cutoff: int, unit: int, n_table_rows: int | None = None) -> Steps:
    """Return, for each grid step, the minimum number of changes that move the Huber location within half a step of it.

    `cutoff` is Huber's k in units, and `unit` is the number of units in half a step. The location is at most v + 1/2 if
    the scores at v + 1/2 add up to at most 0. Until this is true, it is optimal to replace the value with the largest
    score by the lowest possible value. If `n_table_rows` is given, the search takes as many rounds as it would for this
    number of values.
    """
    n_rounds = max(len(steps) if n_table_rows is None else n_table_rows, 1).bit_length() + 1
    lower, upper = (_lowering_lengths(side, span, cutoff, unit, n_rounds) for side in (steps, span - steps))
    return np.maximum(lower, upper[::-1])


def _lowering_lengths(steps: Steps, span: int, cutoff: int, unit: int, n_rounds: int) -> Steps:
    """Return the minimum number of changes that bring the location to v + 1/2 or lower, for each step v.

    The scores at v + 1/2 are in units. When values are sorted in decreasing order, the first `n_above` scores are
    clipped from above and the last `n_below` from below. The sum of the k largest scores follows from cumulative sums
    of the values. The smallest sufficient k is found for all v together by bisection in `n_rounds` rounds.
    """
    counts = np.bincount(steps, minlength=span + 1).astype(np.int64)
    ordered = np.repeat(np.arange(span, -1, -1, dtype=np.int64), counts[::-1])
    sums = np.concatenate([[0], np.cumsum(2 * unit * ordered)])
    n, point = len(ordered), unit * (2 * np.arange(span + 1, dtype=np.int64) + 1)
    cumulative = np.concatenate([[0], np.cumsum(counts)])  # the number of values below each step

    def count_at_least(units: Steps) -> Steps:
        return n - cumulative[np.clip(-(-units // (2 * unit)), 0, span + 1)]

    n_above, n_below = count_at_least(point + cutoff), n - count_at_least(point - cutoff + 1)
    middle = n - n_below
    total = (n_above - n_below) * cutoff + sums[middle] - sums[n_above] - (middle - n_above) * point
    fall = np.minimum(point, cutoff)

    def is_sufficient(k: Steps) -> np.ndarray[tuple[int, ...], np.dtype[np.bool_]]:
        n_clipped = np.minimum(k, n_above)
        gained = n_clipped * cutoff + sums[k] - sums[n_clipped] - (k - n_clipped) * point + k * fall
        return np.asarray(gained >= total)

    too_few, sufficient = np.full(span + 1, -1, dtype=np.int64), count_at_least(point)
    for _ in range(n_rounds):
        between = (too_few + sufficient) // 2
        reached = is_sufficient(np.maximum(between, 0)) & (between >= 0)
        too_few, sufficient = (
            np.where(reached, too_few, np.minimum(between, sufficient - 1)),
            np.where(reached, between, sufficient),
        )
    return np.asarray(sufficient)


def function_lengths(values: Array, bounds: Bounds, function: Callable[[Array], float], max_length: int) -> Steps:
    """Return, for each grid step, the minimum number of changes for an increasing function, up to `max_length` + 1.

    With k changes the function is lowest if the k largest values move to the lower bound, and highest if the k smallest
    values move to the upper bound. If the function fails or is not finite, its value counts as the lower bound.
    """
    low, high, step = float(bounds.low), float(bounds.high), float(bounds.step)
    ordered = np.sort(values)
    n, start = len(ordered), bounds.low_steps * step
    lowest = np.empty(min(max_length, n) + 1, dtype=np.int64)
    highest = np.empty_like(lowest)
    for k in range(len(lowest)):
        down = np.concatenate([np.full(k, low), ordered[: n - k]])
        up = np.concatenate([ordered[k:], np.full(k, high)])
        lowest[k] = math.ceil((_evaluate_finite(function, down, low, high) - start) / step - 0.5)
        highest[k] = math.floor((_evaluate_finite(function, up, low, high) - start) / step + 0.5)
    lowest, highest = np.minimum.accumulate(lowest), np.maximum.accumulate(highest)
    steps = np.arange(bounds.span + 1)
    down_to = np.searchsorted(-lowest, -steps, side="left")
    up_to = np.searchsorted(highest, steps, side="left")
    return np.asarray(np.minimum(np.maximum(down_to, up_to), max_length + 1), dtype=np.int64)


def _evaluate_finite(function: Callable[[Array], float], values: Array, low: float, high: float) -> float:
    try:
        number = float(function(values))
    except Exception:
        return low
    return min(max(number, low), high) if math.isfinite(number) else low


# Huber's k is rounded to a multiple of 1 / _UNIT of half a step.
_UNIT = 2**10
# If the log-odds of candidates are at least ln(number of candidates) + _SURPLUS below the best, their total probability
# is below e**-40.
_SURPLUS = 40


@dataclass(frozen=True, repr=False)
class Quantile:
    """A quantile: at most a share q of the values lie below it, and at most a share 1 - q above it.

    Parameters
    ----------
    q : number
        The share, above 0 and below 1.

    Examples
    --------
    >>> Quantile("3/4"), Quantile(0.5)
    (Quantile(0.75), Quantile(0.5))
    """

    q: Fraction

    def __init__(self, q: Number) -> None:
        object.__setattr__(self, "q", round_share(check_probability(q, "q")))

    def __repr__(self) -> str:
        return f"Quantile({format_number(float(self.q))})"


COVERS = Covers([ErrorSource.NOISE], unit="people")
Statistic = Quantile | Huber | Callable[[Array], float]


@dataclass(frozen=True, repr=False)
class InverseSensitivity:
    """The choice of a grid point v with probability proportional to e**(-epsilon length(v) / 2): Pure(epsilon).

    length(v) is the minimum number of people whose values must change so that v is the statistic, up to the grid width.
    One person changes length(v) by at most 1 for all data, so the guarantee holds for every n. The guarantee holds
    under both neighbor relations for a quantile or a Huber location, and under "replace" for a function.

    Parameters
    ----------
    statistic : Quantile, Huber or callable
        The statistic. A function takes an array of sorted values and must be non-decreasing in each value; this is not
        checked.
    bounds : Bounds
        Public limits to which values are clamped, and the grid of candidates.
    loss : Pure
        The cost of a release.
    affected_groups : int
        The number of groups of a table, each with a separate selection, that one person's change can affect: 2 under
        "replace" if a person can move from one group to another. Each selection gets an equal part of epsilon.
    rows_per_person : int
        The maximum number of rows per person, which is also the maximum change of a length.

    References
    ----------
    Asi and Duchi, Near instance-optimality in differential privacy (2020).

    Examples
    --------
    >>> mechanism = InverseSensitivity.for_epsilon(2, "median", bounds=(0, 100), step=1)
    >>> mechanism
    <InverseSensitivity of Quantile(0.5) between 0 and 100; ε = 2>
    >>> float(mechanism.release([41.0, 42.0, 43.0] * 100))
    42.0
    """

    statistic: Statistic
    bounds: Bounds
    loss: Pure
    affected_groups: int = 1
    rows_per_person: int = 1

    def __post_init__(self) -> None:
        if isinstance(self.statistic, type) or not (
            isinstance(self.statistic, Quantile | Huber) or callable(self.statistic)
        ):
            rule = "`statistic` must be a Quantile, a Huber, or a monotone function of sorted values"
            consequence = "otherwise the number of people who must change is unknown"
            reject(rule, getattr(self.statistic, "__name__", repr(self.statistic)), consequence, TypeError)
        check_selection_loss(self.loss)
        check_integer(self.affected_groups, "affected_groups")
        check_integer(self.rows_per_person, "rows_per_person")

    @classmethod
    def for_epsilon(
        cls,
        epsilon: Number,
        statistic: Any,
        *,
        bounds: Any,
        step: Number | None = None,
        affected_groups: int = 1,
        rows_per_person: int = 1,
    ) -> "InverseSensitivity":
        """Make the mechanism that costs Pure(epsilon).

        Parameters
        ----------
        epsilon : number
            The cost of a release.
        statistic : Quantile, Huber, callable or "median"
            The statistic to release; "median" is Quantile("1/2").
        bounds : pair of number or Bounds
            Public limits to which values are clamped.
        step : number, optional
            The grid step: the candidates are its multiples between the bounds. The default is a power of two between
            2**-17 and 2**-16 of the distance between the bounds.
        affected_groups : int
            The number of groups of a table that one person's change can affect.
        rows_per_person : int
            The maximum number of rows per person.

        Returns
        -------
        InverseSensitivity
            The mechanism.
        """
        limits = Bounds.of(bounds, QUANTILE_BITS)
        resolved = Quantile("1/2") if isinstance(statistic, str) and statistic == "median" else statistic
        return cls(
            resolved,
            limits if step is None else limits.with_step(step),
            Pure(check_positive(epsilon, "epsilon", NO_FINITE_NOISE)),
            affected_groups,
            rows_per_person,
        )

    def _describe(self) -> dict[str, Any]:
        """Describe the mechanism for publication, without a scale, which would depend on the data."""
        name = type(self).__name__
        return {"mechanism": name, "words": name}

    @property
    def zcdp(self) -> Zcdp:
        """The zCDP cost, epsilon**2 / 8 per selection, as for every exponential mechanism."""
        return Zcdp(self.affected_groups * Fraction(self._selection.zcdp.amount))

    @property
    def _selection(self) -> Exponential:
        """The exponential mechanism for scores that one person changes by at most 1 per row."""
        return Exponential(Pure(Fraction(self.loss.amount) / self.affected_groups), Fraction(self.rows_per_person))

    def lengths(self, values: Array, n_table_rows: int | None = None) -> Steps:
        """Compute, for each grid step, the private number of values that must change before the statistic equals it.

        For a quantile or a Huber location, NaN values are ignored. For a function, the number of values is public, and
        NaN counts as the lower bound.

        Parameters
        ----------
        values : array-like
            The values.
        n_table_rows : int, optional
            The number of rows of the whole table, if the values belong to one of its groups. The running time for a
            Huber location then does not depend on the size of the group.

        Returns
        -------
        array
            The length for each candidate.
        """
        steps = self.bounds.steps(float_array(values, "values"))
        if isinstance(self.statistic, Quantile):
            return quantile_lengths(steps[steps >= 0], self.bounds.span, self.statistic.q)
        if isinstance(self.statistic, Huber):
            cutoff = max(1, round(2 * _UNIT * self.statistic.k / self.bounds.step))
            max_cutoff = 2 * _UNIT * (self.bounds.span + 1)  # beyond this, no score is clipped
            return huber_lengths(steps[steps >= 0], self.bounds.span, min(cutoff, max_cutoff), _UNIT, n_table_rows)
        max_length = math.ceil((math.log(self.bounds.span + 1) + _SURPLUS) / float(self._selection._rate))
        on_grid = (self.bounds.low_steps + np.maximum(steps, 0)) * float(self.bounds.step)
        limited = np.clip(on_grid, float(self.bounds.low), float(self.bounds.high))
        return function_lengths(limited, self.bounds, self.statistic, max_length)

    def probabilities(self, values: Any) -> Array:
        """Compute the private probabilities of the release in floating point, for lessons and tests.

        Parameters
        ----------
        values : array-like
            The values.

        Returns
        -------
        array
            A probability for each candidate.
        """
        return self._selection.probabilities(-self.lengths(values))

    def release(self, values: Any, rng: Rng = None) -> Estimate:
        """Release a grid point; there is no standard error, because it would depend on the data.

        Parameters
        ----------
        values : array-like
            The values.
        rng : numpy.random.Generator, optional
            A generator for simulations; the default is the operating system's randomness.

        Returns
        -------
        Estimate
            The grid point.
        """
        source = check_rng(rng)
        return self._release(-self.lengths(values), source)

    def _release(self, scores: Steps, rng: Rng = None) -> Estimate:
        """Release a grid point; the scores are the negative lengths."""
        return selection_estimate(
            self._choose_point(scores, rng), self.loss, COVERS, "InverseSensitivity", rng, (self._note,)
        )

    def _choose_point(self, scores: Steps, rng: Rng = None) -> float:
        """Choose a grid point; the scores are the negative lengths."""
        index = self._selection.choose(range(len(scores)), scores, rng=rng)
        point = (self.bounds.low_steps + index) * self.bounds.step
        return float(min(max(point, self.bounds.low), self.bounds.high))

    @property
    def _note(self) -> str:
        """A note with an error bound that does not depend on the data, because at least one candidate has length 0."""
        length = (math.log(self.bounds.span + 1) + math.log(20)) / float(self._selection._rate)
        return (
            f"with probability 95 % it is the {self._statistic_name()} of a table that differs from this one in at "
            f"most {math.ceil(length):,} {'people' if self.rows_per_person == 1 else 'rows'}, up to the grid width"
        )

    def _statistic_name(self) -> str:
        if isinstance(self.statistic, Quantile):
            return f"{float(self.statistic.q):g} quantile"
        return f"{self.statistic!r} location" if isinstance(self.statistic, Huber) else "statistic"

    def __repr__(self) -> str:
        name = self.statistic if isinstance(self.statistic, Quantile | Huber) else "a function"
        low, high = (format_number(float(limit)) for limit in (self.bounds.low, self.bounds.high))
        return f"<InverseSensitivity of {name} between {low} and {high}; {self.loss}>"
