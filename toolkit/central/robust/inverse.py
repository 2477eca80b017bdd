"""Inverse sensitivity: the exponential mechanism on the number of people who would have to change."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from toolkit.central.noise.grid import NO_END
from toolkit.central.release import chosen
from toolkit.central.robust.estimators import Huber
from toolkit.central.robust.lengths import function_lengths, huber_lengths, quantile_lengths
from toolkit.central.selection import Exponential
from toolkit.central.statistics import rank_unit
from toolkit.core.arrays import Array, Steps
from toolkit.core.checks import Number, positive, probability, refuse, whole
from toolkit.core.covers import Covers, Source
from toolkit.core.estimate import Estimate
from toolkit.core.loss import Pure, Zcdp
from toolkit.core.randomness import Rng, check_rng
from toolkit.frames.bounds import QUANTILE_BITS, Bounds, written

_UNIT = 2**10  # so many parts of half a step that Huber's k is rounded to
_SURPLUS = 40  # beyond so many more e-folds all candidates together have a probability below e**-40


@dataclass(frozen=True, repr=False)
class Quantile:
    """The value that at most a share q of the values lie below, and at most a share 1 - q above.

    >>> Quantile("3/4"), Quantile(0.5)
    (Quantile(0.75), Quantile(0.5))
    """

    q: Fraction

    def __init__(self, q: Number) -> None:
        object.__setattr__(self, "q", rank_unit(probability(q, "q")))

    def __repr__(self) -> str:
        return f"Quantile({written(float(self.q))})"


COVERS = Covers([Source.NOISE], unit="people")
Statistic = Quantile | Huber | Callable[[Array], float]


@dataclass(frozen=True, repr=False)
class InverseSensitivity:
    """A value v of the grid, with probability proportional to e**(-epsilon length(v) / 2): Pure(epsilon).

    length(v) is the least number of people whose values must change for v to be the statistic, to the width
    of the grid. One person moves it by at most 1, whatever the data, so that the promise holds at every n;
    of a quantile and of a Huber location under both neighbour relations, of a function under "replace".

    Parameters
    ----------
    statistic : a `Quantile`, a `Huber`, or a function of an array of sorted values that never falls when one
        of them rises; that it does not is the curator's word.
    bounds : limits that values are clamped to, and the grid of candidates; public.
    loss : Pure(epsilon).
    groups : in how many groups of a table, each with a choice of its own, one person's change can be seen: 2
        under "replace", where a person moves from one to another. Each choice then has an equal part of
        epsilon.
    rows : how many rows one person can have: so far they move a length.

    Examples
    --------
    >>> mechanism = InverseSensitivity.for_epsilon(2, "median", bounds=(0, 100), step=1)
    >>> mechanism
    <InverseSensitivity of Quantile(0.5) between 0 and 100; ε = 2>
    >>> float(mechanism.release([41.0, 42.0, 43.0] * 100))
    42.0

    References
    ----------
    Asi and Duchi, Near instance-optimality in differential privacy (2020).
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
            refuse(
                "`statistic` must be a Quantile, a Huber, or a monotone function of sorted values",
                getattr(self.statistic, "__name__", repr(self.statistic)),
                "else the number of people who must change is not known",
                TypeError,
            )
        if not isinstance(self.loss, Pure):
            refuse("`loss` must be Pure(epsilon)", type(self.loss).__name__, "the choice is pure", TypeError)
        positive(self.loss.amount, "epsilon", NO_END)
        whole(self.groups, "groups")
        whole(self.rows, "rows")

    @classmethod
    def for_epsilon(
        cls,
        epsilon: Number,
        statistic: Any,
        *,
        bounds: Any,
        step: Number | None = None,
        groups: int = 1,
        rows: int = 1,
    ) -> "InverseSensitivity":
        """The mechanism that costs Pure(epsilon). "median" is Quantile("1/2"); candidates are multiples of
        `step` between the bounds, 2**-16 of their distance if not given.
        """
        limits = Bounds.of(bounds, QUANTILE_BITS)
        found = Quantile("1/2") if isinstance(statistic, str) and statistic == "median" else statistic
        return cls(
            found,
            limits if step is None else limits.with_step(step),
            Pure(positive(epsilon, "epsilon", NO_END)),
            groups,
            rows,
        )

    def facts(self) -> dict[str, Any]:
        """What a document says of it; a scale that depends on the data is not told."""
        name = type(self).__name__
        return {"mechanism": name, "words": name}

    @property
    def epsilon(self) -> float:
        return self.loss.epsilon

    @property
    def zcdp(self) -> Zcdp:
        """Epsilon**2 / 8 of each choice, as of every exponential mechanism."""
        return Zcdp(self.groups * Fraction(self.selection.zcdp.amount))

    @property
    def selection(self) -> Exponential:
        """The exponential mechanism that chooses, on scores that one person moves by at most 1 a row."""
        return Exponential(Pure(Fraction(self.loss.amount) / self.groups), Fraction(self.rows))

    def lengths(self, values: Array, rows: int | None = None) -> Steps:
        """How many people must change, for each step of the grid; private. NaN is left out; of a function's
        values, whose number is public, it counts as the lower bound. Of a group `rows` is the number of all
        rows: the work for a Huber location is then as much as for so many.
        """
        steps = self.bounds.steps(np.asarray(values, dtype=np.float64))
        if isinstance(self.statistic, Quantile):
            return quantile_lengths(steps[steps >= 0], self.bounds.span, self.statistic.q)
        if isinstance(self.statistic, Huber):
            reach = max(1, round(2 * _UNIT * self.statistic.k / self.bounds.step))
            most = 2 * _UNIT * (self.bounds.span + 1)  # beyond, nothing is cut
            return huber_lengths(steps[steps >= 0], self.bounds.span, min(reach, most), _UNIT, rows)
        most = math.ceil((math.log(self.bounds.span + 1) + _SURPLUS) / float(self.selection.rate))
        on_grid = (self.bounds.least + np.maximum(steps, 0)) * float(self.bounds.step)
        limited = np.clip(on_grid, float(self.bounds.low), float(self.bounds.high))
        return function_lengths(limited, self.bounds, self.statistic, most)

    def probabilities(self, values: Any) -> Array:
        """The law of the release, as floats, for lessons and tests; private."""
        return self.selection.probabilities(-self.lengths(values))

    def release(self, values: Any, rng: Rng = None) -> Estimate:
        """A point of the grid, without an error: how far it is off depends on the data."""
        source = check_rng(rng)
        return self.choose(-self.lengths(values), source)

    def choose(self, scores: Steps, rng: Rng = None) -> Estimate:
        """The release, once minus the lengths are known."""
        return chosen(self.point(scores, rng), self.loss, COVERS, "InverseSensitivity", rng, (self.note,))

    def point(self, scores: Steps, rng: Rng = None) -> float:
        """What is chosen by minus the lengths, in the column's unit."""
        place = self.selection.choose(range(len(scores)), scores, rng=rng)
        point = (self.bounds.least + place) * self.bounds.step
        return float(min(max(point, self.bounds.low), self.bounds.high))

    @property
    def note(self) -> str:
        """What is known of the error beforehand: one candidate at least has the length 0."""
        reach = (math.log(self.bounds.span + 1) + math.log(20)) / float(self.selection.rate)
        return (
            f"with probability 95 % it is the {self._target()} of a table that differs from this one in at "
            f"most {math.ceil(reach):,} {'people' if self.rows == 1 else 'rows'}, to the width of the grid"
        )

    def _target(self) -> str:
        if isinstance(self.statistic, Quantile):
            return f"{float(self.statistic.q):g} quantile"
        return f"{self.statistic!r} location" if isinstance(self.statistic, Huber) else "statistic"

    def __repr__(self) -> str:
        shown = self.statistic if isinstance(self.statistic, Quantile | Huber) else "a function"
        low, high = (written(float(limit)) for limit in (self.bounds.low, self.bounds.high))
        return f"<InverseSensitivity of {shown} between {low} and {high}; {self.loss}>"
