"""Inverse sensitivity: an exponential mechanism scored by the number of people who would have to change."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from toolkit.central.noise.grid import NO_END
from toolkit.central.publishing.quantiles import rank_unit
from toolkit.central.release import released_choice
from toolkit.central.robust.estimators import Huber
from toolkit.central.selection import Exponential
from toolkit.core.arrays import Array, Steps
from toolkit.core.checks import Number, check_integer, check_positive, check_probability, float_array, reject
from toolkit.core.covers import Covers, ErrorSource
from toolkit.core.estimate import Estimate
from toolkit.core.loss import Pure, Zcdp
from toolkit.core.randomness import Rng, check_rng
from toolkit.frames.sums import QUANTILE_BITS, Bounds, format_number

# How many people must change for a value to be the statistic: for every point of a public grid at once.
#
# The statistic is a quantile, a Huber location, or any monotone function.
#
# Such a number of changes is a distance from the table to a set of tables, so one person who is replaced, comes or
# goes moves it by at most 1: there is nothing to estimate, and no other table to look at. All is in whole steps of the
# grid, and exact; a function of the user's own is computed as it is computed.


def quantile_lengths(steps: Steps, span: int, q: Fraction) -> Steps:
    """Return for each step the least number of changes that make it a quantile.

    At most a share q of the values may lie below a quantile, and at most a share 1 - q above it. Replacing a value on
    the wrong side by the step itself is optimal; removing or adding values is never better.
    """
    counts = np.bincount(steps, minlength=span + 1).astype(np.int64)
    upto = np.cumsum(counts)
    n = int(upto[-1])
    below = upto - counts - _share_down(q, n)
    above = n - upto - _share_down(1 - q, n)
    return np.asarray(np.maximum(np.maximum(below, above), 0))


def _share_down(q: Fraction, n: int) -> int:
    """Return the largest integer that is at most q n: ceil(b - q n) = b - floor(q n) for integer b."""
    return q.numerator * n // q.denominator


def huber_lengths(steps: Steps, span: int, cutoff: int, unit: int, rows: int | None = None) -> Steps:
    """For each step the least number of changes that bring the Huber location within half a step of it.

    `cutoff` is Huber's k in units, of which `unit` make half a step. The location is at most v + 1/2 where the scores
    at v + 1/2 add up to at most 0; while they do not, the largest score is best replaced by that of the lowest value.
    The least number is sought as if there were `rows` values, if given: at least as many as there are.
    """
    rounds = max(len(steps) if rows is None else rows, 1).bit_length() + 1
    lower, upper = (_to_lower(side, span, cutoff, unit, rounds) for side in (steps, span - steps))
    return np.maximum(lower, upper[::-1])


def _to_lower(steps: Steps, span: int, cutoff: int, unit: int, rounds: int) -> Steps:
    """For each step v the least number of changes that bring the location to v + 1/2 or lower.

    In units, at 2 v + 1 half steps: of the scores, cut at `cutoff`, the first `full` are cut above, the last
    `none` cut below. The sums of the largest k come from sums of sorted values; the least k that is enough
    is found for all v together by halving, in `rounds` rounds.
    """
    counts = np.bincount(steps, minlength=span + 1).astype(np.int64)
    ordered = np.repeat(np.arange(span, -1, -1, dtype=np.int64), counts[::-1])
    sums = np.concatenate([[0], np.cumsum(2 * unit * ordered)])
    n, point = len(ordered), unit * (2 * np.arange(span + 1, dtype=np.int64) + 1)
    upto = np.concatenate([[0], np.cumsum(counts)])  # how many values are below a step

    def at_least(units: Steps) -> Steps:
        return n - upto[np.clip(-(-units // (2 * unit)), 0, span + 1)]

    full, none = at_least(point + cutoff), n - at_least(point - cutoff + 1)
    middle = n - none
    total = (full - none) * cutoff + sums[middle] - sums[full] - (middle - full) * point
    fall = np.minimum(point, cutoff)

    def enough(k: Steps) -> np.ndarray[tuple[int, ...], np.dtype[np.bool_]]:
        cut = np.minimum(k, full)
        gained = cut * cutoff + sums[k] - sums[cut] - (k - cut) * point + k * fall
        return np.asarray(gained >= total)

    least, most = np.full(span + 1, -1, dtype=np.int64), at_least(point)
    for _ in range(rounds):
        between = (least + most) // 2
        reached = enough(np.maximum(between, 0)) & (between >= 0)
        least, most = np.where(reached, least, np.minimum(between, most - 1)), np.where(reached, between, most)
    return np.asarray(most)


def function_lengths(values: Array, bounds: Bounds, function: Callable[[Array], float], most: int) -> Steps:
    """Return the least numbers of changes for an increasing function of sorted values, at most `most` + 1.

    With k changes it can be brought as low as where the k largest are at the lower bound, and as high as where the k
    smallest are at the upper. A function that fails, or is not finite, counts as the lower bound.
    """
    low, high, step = float(bounds.low), float(bounds.high), float(bounds.step)
    ordered = np.sort(values)
    n, start = len(ordered), bounds.low_steps * step
    lowest = np.empty(min(most, n) + 1, dtype=np.int64)
    highest = np.empty_like(lowest)
    for k in range(len(lowest)):
        down = np.concatenate([np.full(k, low), ordered[: n - k]])
        up = np.concatenate([ordered[k:], np.full(k, high)])
        lowest[k] = math.ceil((_finite(function, down, low, high) - start) / step - 0.5)
        highest[k] = math.floor((_finite(function, up, low, high) - start) / step + 0.5)
    lowest, highest = np.minimum.accumulate(lowest), np.maximum.accumulate(highest)
    places = np.arange(bounds.span + 1)
    down_to = np.searchsorted(-lowest, -places, side="left")
    up_to = np.searchsorted(highest, places, side="left")
    return np.asarray(np.minimum(np.maximum(down_to, up_to), most + 1), dtype=np.int64)


def _finite(function: Callable[[Array], float], values: Array, low: float, high: float) -> float:
    try:
        number = float(function(values))
    except Exception:
        return low
    return min(max(number, low), high) if math.isfinite(number) else low


_UNIT = 2**10  # parts of half a step that Huber's k is rounded to
_SURPLUS = 40  # e-folds beyond which all candidates together have a probability below e**-40


@dataclass(frozen=True, repr=False)
class Quantile:
    """The value that at most a share q of the values lie below, and at most a share 1 - q above.

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
        object.__setattr__(self, "q", rank_unit(check_probability(q, "q")))

    def __repr__(self) -> str:
        return f"Quantile({format_number(float(self.q))})"


COVERS = Covers([ErrorSource.NOISE], unit="people")
Statistic = Quantile | Huber | Callable[[Array], float]


@dataclass(frozen=True, repr=False)
class InverseSensitivity:
    """A value v of the grid, with probability proportional to e**(-epsilon length(v) / 2): Pure(epsilon).

    length(v) is the least number of people whose values must change for v to be the statistic, to the width
    of the grid. One person moves it by at most 1, whatever the data, so that the promise holds at every n;
    of a quantile and of a Huber location under both neighbor relations, of a function under "replace".

    Parameters
    ----------
    statistic : Quantile, Huber or callable
        A function takes an array of sorted values and never falls when one of them rises; that it does not is the
        curator's word.
    bounds : Bounds
        Limits that values are clamped to, and the grid of candidates; public.
    loss : Pure
        What a release costs.
    groups : int
        In how many groups of a table, each with a choice of its own, one person's change can be seen: 2 under
        "replace", where a person moves from one to another. Each choice then has an equal part of epsilon.
    rows : int
        How many rows one person can have: so far they move a length.

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
    groups: int = 1
    rows: int = 1

    def __post_init__(self) -> None:
        if isinstance(self.statistic, type) or not (
            isinstance(self.statistic, Quantile | Huber) or callable(self.statistic)
        ):
            rule = "`statistic` must be a Quantile, a Huber, or a monotone function of sorted values"
            consequence = "else the number of people who must change is not known"
            reject(rule, getattr(self.statistic, "__name__", repr(self.statistic)), consequence, TypeError)
        if not isinstance(self.loss, Pure):
            reject("`loss` must be Pure(epsilon)", type(self.loss).__name__, "the choice is pure", TypeError)
        check_positive(self.loss.amount, "epsilon", NO_END)
        check_integer(self.groups, "groups")
        check_integer(self.rows, "rows")

    @classmethod
    def for_epsilon(
        cls, epsilon: Number, statistic: Any, *, bounds: Any, step: Number | None = None, groups: int = 1, rows: int = 1
    ) -> "InverseSensitivity":
        """Make the mechanism that costs Pure(epsilon).

        Parameters
        ----------
        epsilon : number
            What a release costs.
        statistic : Quantile, Huber, callable or "median"
            What is released; "median" is Quantile("1/2").
        bounds : pair of number or Bounds
            Limits that values are clamped to; public.
        step : number, optional
            Candidates are its multiples between the bounds; a power of two from 2**-17 to 2**-16 of their
            distance if left out.
        groups : int
            In how many groups of a table one person's change can be seen.
        rows : int
            How many rows one person can have.

        Returns
        -------
        InverseSensitivity
            The mechanism.
        """
        limits = Bounds.of(bounds, QUANTILE_BITS)
        target = Quantile("1/2") if isinstance(statistic, str) and statistic == "median" else statistic
        return cls(
            target,
            limits if step is None else limits.with_step(step),
            Pure(check_positive(epsilon, "epsilon", NO_END)),
            groups,
            rows,
        )

    def _describe(self) -> dict[str, Any]:
        """Describe the mechanism for a document, without a scale, which would depend on the data."""
        name = type(self).__name__
        return {"mechanism": name, "words": name}

    @property
    def zcdp(self) -> Zcdp:
        """The zCDP cost, epsilon**2 / 8 per choice, as for every exponential mechanism."""
        return Zcdp(self.groups * Fraction(self._selection.zcdp.amount))

    @property
    def _selection(self) -> Exponential:
        """The exponential mechanism on scores that one person moves by at most 1 per row."""
        return Exponential(Pure(Fraction(self.loss.amount) / self.groups), Fraction(self.rows))

    def lengths(self, values: Array, rows: int | None = None) -> Steps:
        """Compute how many people must change, for each step of the grid; private.

        NaN is left out; of a function's values, whose number is public, it counts as the lower bound.

        Parameters
        ----------
        values : array-like
            The values.
        rows : int, optional
            Of a group the number of all rows: the work for a Huber location does not depend on the size of the
            group.

        Returns
        -------
        array
            A whole number for each candidate.
        """
        steps = self.bounds.steps(float_array(values, "values"))
        if isinstance(self.statistic, Quantile):
            return quantile_lengths(steps[steps >= 0], self.bounds.span, self.statistic.q)
        if isinstance(self.statistic, Huber):
            cutoff = max(1, round(2 * _UNIT * self.statistic.k / self.bounds.step))
            most = 2 * _UNIT * (self.bounds.span + 1)  # beyond, nothing is cut
            return huber_lengths(steps[steps >= 0], self.bounds.span, min(cutoff, most), _UNIT, rows)
        most = math.ceil((math.log(self.bounds.span + 1) + _SURPLUS) / float(self._selection._rate))
        on_grid = (self.bounds.low_steps + np.maximum(steps, 0)) * float(self.bounds.step)
        limited = np.clip(on_grid, float(self.bounds.low), float(self.bounds.high))
        return function_lengths(limited, self.bounds, self.statistic, most)

    def probabilities(self, values: Any) -> Array:
        """Compute the law of the release, as floats, for lessons and tests; private.

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
        """Release a point of the grid, without a standard error because the error depends on the data.

        Parameters
        ----------
        values : array-like
            The values.
        rng : numpy.random.Generator, optional
            For simulation; a release uses none, which is the operating system's randomness.

        Returns
        -------
        Estimate
            The point.
        """
        source = check_rng(rng)
        return self._release(-self.lengths(values), source)

    def _release(self, scores: Steps, rng: Rng = None) -> Estimate:
        """Release a point, given minus the lengths."""
        return released_choice(
            self._choose_point(scores, rng), self.loss, COVERS, "InverseSensitivity", rng, (self._note,)
        )

    def _choose_point(self, scores: Steps, rng: Rng = None) -> float:
        """Choose a point of the grid by minus the lengths."""
        index = self._selection.choose(range(len(scores)), scores, rng=rng)
        point = (self.bounds.low_steps + index) * self.bounds.step
        return float(min(max(point, self.bounds.low), self.bounds.high))

    @property
    def _note(self) -> str:
        """A note with a bound on the error that needs no data, because at least one candidate has length 0."""
        length = (math.log(self.bounds.span + 1) + math.log(20)) / float(self._selection._rate)
        return (
            f"with probability 95 % it is the {self._target()} of a table that differs from this one in at "
            f"most {math.ceil(length):,} {'people' if self.rows == 1 else 'rows'}, to the width of the grid"
        )

    def _target(self) -> str:
        if isinstance(self.statistic, Quantile):
            return f"{float(self.statistic.q):g} quantile"
        return f"{self.statistic!r} location" if isinstance(self.statistic, Huber) else "statistic"

    def __repr__(self) -> str:
        name = self.statistic if isinstance(self.statistic, Quantile | Huber) else "a function"
        low, high = (format_number(float(limit)) for limit in (self.bounds.low, self.bounds.high))
        return f"<InverseSensitivity of {name} between {low} and {high}; {self.loss}>"
