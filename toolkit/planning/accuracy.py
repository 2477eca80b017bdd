"""How precise a survey is: margin and power as functions of epsilon and n, for every randomizer by one protocol.

The power of the test of one share is counted from the binomial law of the reports, not from a bell curve.
"""

import inspect
import math
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from toolkit.core.arrays import Array, ArrayLike
from toolkit.core.checks import Number, exact, refuse
from toolkit.core.inference.special import bdtr, betainc, ndtr, ndtri, rel_entr
from toolkit.local.design import has_matrix
from toolkit.local.protocol import Randomizer
from toolkit.planning.families import Family, is_randomizer, member, not_above
from toolkit.planning.fieldwork import Field

MOST_COUNTED = 10**6
"""Up to this number of people power is counted; beyond, by the normal formula."""
_ROUNDING = 1e-12  # forty times what the incomplete beta function was seen to be off by at these sizes


@dataclass(frozen=True)
class ScoreTest:
    """Tells one share from another by the number of reports that speak for the other.

    It rejects when the Wilson interval, before it is cut to [0, 1], lies beyond the first share on the side of the
    other: when more than n * null + critical * sqrt(n * null * (1 - null)) reports speak for the other. Power rises
    with n and falls whenever that number rises, as the teeth of a saw: n people may be enough, and n + 1 not.

    null, truth : probability of such a report at the first share, and at the other; null < truth.
    critical : at least 0, in standard errors: 1.96 for a two-sided test at 5 %, 1.645 for a one-sided one.
    """

    null: float
    truth: float
    critical: float

    def power(self, n: int) -> float:
        """Probability to reject when the other share is true."""
        return self._rejects(n, self._accepted(n))

    def envelope(self, n: int) -> float:
        """What the power is at least, without the teeth: the threshold is not rounded down to whole reports."""
        return self._rejects(n, self._edge(n))

    def ceiling(self, n: int) -> float:
        """What it is at most: the threshold is rounded down by a whole report."""
        return self._rejects(n, max(self._edge(n) - 1, 0))

    def _accepted(self, n: int) -> int:
        """The most reports for the other share with which the first is not rejected."""
        return math.floor(self._edge(n))

    def _edge(self, n: int) -> float:
        edge = n * self.null + self.critical * math.sqrt(n * self.null * (1 - self.null))
        return edge + 1e-12 * (1 + edge)  # a count on the edge does not reject

    def _rejects(self, n: int, accepted: float) -> float:
        """Probability that over `accepted` of n reports speak for the other share, never rounded above the truth."""
        if accepted >= n:
            return 0.0
        return max(float(betainc(accepted + 1, n - accepted, self.truth)) - _ROUNDING, 0.0)

    def first(self, power: float) -> int:
        """The smallest n that reaches this power; blocks of n are dismissed by their largest n with the mildest
        threshold.
        """
        n, step = 1, 1
        while True:
            if self._rejects(n + step - 1, self._accepted(n)) < power:
                n, step = n + step, 2 * step
            elif step > 1:
                step //= 2
            else:
                return n

    def stays(self, power: float) -> int:
        """The smallest n that reaches this power and from which on every larger one does."""
        n, step = self._surely(power), 1
        while n > 1:
            step = min(step, n - 1)
            if self._block(n - step, n - 1) >= power:
                n, step = n - step, 2 * step
            elif step > 1:
                step //= 2
            else:
                return n
        return 1

    def keeps(self, power: float, n: int) -> bool:
        """Whether n people, and every larger number, reach this power."""
        surely, step = self._surely(power), 1
        while n < surely:
            if self._block(n, n + step - 1) >= power:
                n, step = n + step, 2 * step
            elif step > 1:
                step //= 2
            else:
                return False
        return True

    def _block(self, least: int, most: int) -> float:
        """No n from least to most has less power than this: the fewest people with the strictest threshold."""
        return self._rejects(least, self._accepted(most))

    def _surely(self, power: float) -> int:
        """An n from which on Chernoff's bound, exp(-n KL(threshold / n || truth)), which falls, keeps the power."""
        n = 1
        while True:
            edge = self.null + self.critical * math.sqrt(self.null * (1 - self.null) / n)
            if (edge := edge * (1 + 1e-9)) < self.truth:  # a little stricter: no rounding can matter
                distance = rel_entr(edge, self.truth) + rel_entr(1 - edge, 1 - self.truth)
                if math.exp(-n * distance) <= 1 - power:
                    return n
            n *= 2


def score_tests(
    matrix: npt.NDArray[np.float64], prevalence: float, detect: float, critical: float
) -> tuple[ScoreTest, ScoreTest] | None:
    """The test by reports of two kinds on two answers, and that of asking directly; None where it is another."""
    if matrix.shape != (2, 2) or critical < 0 or prevalence == detect:
        return None
    tests = []
    for no, yes in (matrix[:, 1], (0.0, 1.0)):
        null, truth = (float(no + (yes - no) * share) for share in (prevalence, detect))
        tests.append(ScoreTest(*((null, truth) if null < truth else (1 - null, 1 - truth)), critical))
    return tests[0], tests[1]


class Precision(Protocol):
    """What n people are worth: what a search for their number asks."""

    @property
    def field(self) -> Field: ...

    @property
    def counted(self) -> ScoreTest | None: ...

    def margin(self, n: ArrayLike) -> Any: ...

    def power(self, n: ArrayLike) -> Any: ...


@dataclass(frozen=True)
class VarianceSources:
    """The variance of one person's contribution, by its sources; one entry for each option.

    `alike` is the noise of a mean if all gave the same answer, where their standard deviation is not known:
    the noise of some randomizers is largest then, and a finite population spares none of it.
    """

    noise: Array
    sampling: Array
    alike: Array | None = None

    def left(self, part: Any) -> Array:
        """The variance with this part of the sampling variance left, at the spread of answers that makes it largest."""
        variance = self.noise + self.sampling * part
        return np.asarray(variance if self.alike is None else np.maximum(variance, self.alike))


@dataclass(frozen=True)
class Assured:
    """A margin that a `share` of surveys keeps; `seen`: the chance of a yes report; `slope`: from no yes to all."""

    share: float
    seen: float
    slope: float

    def widening(self, n: Any) -> Any:
        """The variance at a share of yes reports that as many surveys do not reach, relative to the expected one."""
        spread = self.seen * (1 - self.seen)
        with np.errstate(divide="ignore", invalid="ignore"):
            far = np.minimum(min(self.seen, 1 - self.seen) + ndtri(self.share) * np.sqrt(spread / n), 0.5)
        return far * (1 - far) / spread if spread > 0 else np.ones_like(far)

    def kept(self, n: Array, margin: float, z: float) -> Array:
        """The share of surveys of n people whose Wilson interval is at most this wide, by the binomial law."""
        width = (margin * abs(self.slope) * (1 + z**2 / n) / z) ** 2 * n - z**2 / 4 / n  # at most seen * (1 - seen)
        reach = n / 2 - n * np.sqrt(np.maximum(0.25 - width, 0))
        count = np.where(width < 0, -1.0, np.floor(reach * (1 + 1e-12)))
        people = n.astype(np.int64)
        few, many = (np.where(count < 0, 0, bdtr(np.maximum(count, 0), people, p)) for p in (self.seen, 1 - self.seen))
        return np.where(width >= 0.25, 1.0, few + many)


@dataclass(frozen=True)
class Accuracy:
    """What n people are worth with one randomizer. `shift` is the distance to tell, `other` the spread there.

    `counted` is the test whose power is counted from the binomial law, where there is one; `counted_directly`
    is that of direct questioning.
    """

    field: Field
    level: float
    here: VarianceSources
    other: VarianceSources | None = None
    shift: Array | None = None
    sides: int = 2
    counted: ScoreTest | None = None
    counted_directly: ScoreTest | None = None
    assured: Assured | None = None
    assured_directly: Assured | None = None

    def variance(self, n: ArrayLike, spread: VarianceSources | None = None) -> Array:
        """Variance of the estimate when n people answer; n may be an array, options are the last axis."""
        people = np.asarray(n, dtype=np.float64)[..., None]
        return np.asarray((spread or self.here).left(self.field.left(people)) / self.field.behind(people))

    def margin(self, n: ArrayLike) -> Any:
        """Half the width of the interval of the given level, of the option with the widest."""
        variance = self.variance(n).max(axis=-1)
        if self.assured is not None:
            alone = self.assured.seen * (1 - self.assured.seen) / self.assured.slope**2
            variance = variance * self.assured.widening(alone / variance)
        margin = ndtri(0.5 + self.level / 2) * np.sqrt(variance)
        return float(margin) if np.ndim(n) == 0 else margin

    def power(self, n: Any) -> Any:
        """Probability that the test tells `detect` from `prevalence`: counted, or by the normal formula."""
        if np.ndim(n):
            return np.array([self.power(people) for people in np.asarray(n).tolist()])
        if self.counted is not None and n <= MOST_COUNTED:
            return self.counted.power(int(n))
        return self.formula(n)

    def formula(self, n: ArrayLike) -> Any:
        """The power by the normal approximation of the literature, by the option that tells best."""
        if self.other is None or self.shift is None:
            refuse("a power needs `detect`", "none", "it is the probability to detect something")
        before, after = np.sqrt(self.variance(n)), np.sqrt(self.variance(n, self.other))
        with np.errstate(divide="ignore", invalid="ignore"):
            reach = (self.shift - critical(self.level, self.sides) * before) / after
        power = np.where(self.shift > 0, ndtr(np.nan_to_num(reach, nan=-math.inf)), 0).max(axis=-1)
        return float(power) if np.ndim(n) == 0 else power

    def without_noise(self) -> "Accuracy":
        """Direct questioning, if everybody told the truth."""
        return replace(self.with_noise(0.0), counted=self.counted_directly, assured=self.assured_directly)

    def with_noise(self, variance: float | Array) -> "Accuracy":
        """The same people with another noise: that of one person's contribution."""
        loud = np.broadcast_to(variance, self.here.noise.shape)
        here, other = (
            VarianceSources(loud, self.here.sampling),
            self.other and VarianceSources(loud, self.other.sampling),
        )
        return replace(self, here=here, other=other, counted=None, assured=None)


def critical(level: float, sides: int) -> float:
    """How many standard errors an estimate must be off before the test of this level rejects."""
    return float(ndtri(level if sides == 1 else 0.5 + level / 2))


@dataclass(frozen=True)
class Case:
    """One question to plan for: how answers are hidden, what is guessed of them, and the field."""

    source: Family | Randomizer
    prevalence: Any
    level: float
    detect: Any = None
    sd: Number | None = None
    field: Field = field(default_factory=Field)
    sides: int = 2
    assurance: float | None = None

    @property
    def fixed(self) -> bool:
        """Whether the randomizer is given, and with it epsilon; else epsilon chooses it from a family."""
        return is_randomizer(self.source)

    def randomizer(self, epsilon: float | None) -> Randomizer:
        """What hides each answer when a person may lose epsilon in all; each is made once."""
        if self.fixed:
            return self.source  # type: ignore[return-value]
        if epsilon not in self._randomizers:
            share = not_above(exact(epsilon or 0, "epsilon") / self.field.at_once)
            self._randomizers[epsilon] = member(self.source, share)  # type: ignore[arg-type]
        return self._randomizers[epsilon]

    @cached_property
    def _randomizers(self) -> dict[float | None, Randomizer]:
        return {}

    @cached_property
    def _accuracies(self) -> dict[float | None, Accuracy]:
        return {}

    def accuracy(self, epsilon: float | None) -> Accuracy:
        """Margin and power at this epsilon, as functions of n."""
        if epsilon not in self._accuracies:
            self._accuracies[epsilon] = self._accuracy(self._behaved(self.randomizer(epsilon)))
        return self._accuracies[epsilon]

    def _accuracy(self, randomizer: Randomizer) -> Accuracy:
        here = spread_of(randomizer, self.prevalence, self.sd)
        if self.detect is None:
            own, direct_too = self._assured(randomizer)
            return Accuracy(self.field, self.level, here, assured=own, assured_directly=direct_too)
        truth, guess = (np.atleast_1d(np.asarray(share, dtype=float)) for share in (self.detect, self.prevalence))
        gap = np.abs(truth - guess)
        counted, direct = self._counted(randomizer) or (None, None)
        other = spread_of(randomizer, self.detect, self.sd)
        return Accuracy(self.field, self.level, here, other, gap, self.sides, counted, direct)

    def _assured(self, randomizer: Randomizer) -> tuple[Assured | None, Assured | None]:
        """A margin that most surveys keep, and the same if people were asked directly."""
        if self.assurance is None:
            return None, None
        if not has_matrix(randomizer) or randomizer.matrix.shape != (2, 2) or np.ndim(self.prevalence):
            rule = "`assurance` must be for one yes/no question with two reports"
            refuse(rule, randomizer.name, "leave it out: the margin is then that of the expected width")
        (no, yes), share = randomizer.matrix[:, 1], float(self.prevalence)
        own = Assured(self.assurance, float(no + (yes - no) * share), float(yes - no))
        return own, Assured(self.assurance, share, 1.0)

    def _counted(self, randomizer: Randomizer) -> tuple[ScoreTest, ScoreTest] | None:
        """The tests whose reports are binomial: those of one yes/no question to n people of a large population."""
        if not has_matrix(randomizer) or not self.field.plain:
            return None
        before, after = (float(np.atleast_1d(truth)[-1]) for truth in (self.prevalence, self.detect))
        return score_tests(randomizer.matrix, before, after, critical(self.level, self.sides))

    def _behaved(self, randomizer: Randomizer) -> Randomizer:
        if self.field.compliance is None:
            return randomizer
        if not has_matrix(randomizer):
            remedy = "leave it out, or ask a yes/no question"
            refuse("`compliance` needs a design with a matrix", type(randomizer).__name__, remedy)
        return self.field.compliance.seen_through(randomizer)


def spread_of(randomizer: Randomizer, truth: Any, sd: Number | None) -> VarianceSources:
    """Noise and sampling variance of one person, through `variance` alone.

    Of a mean whose standard deviation is not known both ends are kept: answers as far apart as the bounds
    allow, and all alike. The variance is linear in between, whatever part of the sampling variance is left,
    so one of them is the worst.
    """
    if randomizer.bounds is None:
        return _split(randomizer, truth)
    if "sd" not in inspect.signature(randomizer.variance).parameters:
        advice = "it estimates a distribution: simulate surveys, as its `variance` does"
        refuse("a plan must be for shares or for a mean", randomizer.name, advice)
    if sd is not None:
        return _split(randomizer, truth, sd=sd)
    center = float(exact(truth, "prevalence"))
    low, high = (float(limit) for limit in randomizer.bounds)
    widest = math.sqrt(max((center - low) * (high - center), 0))
    return replace(_split(randomizer, truth, sd=widest), alike=_noise(randomizer, truth, sd=0))


def _split(randomizer: Randomizer, truth: ArrayLike, **sd: Any) -> VarianceSources:
    total = np.atleast_1d(np.asarray(randomizer.variance(truth, 1, **sd), dtype=np.float64))
    noise = _noise(randomizer, truth, **sd)
    return VarianceSources(noise, np.maximum(total - noise, 0))


def _noise(randomizer: Randomizer, truth: object, **sd: object) -> Array:
    return np.atleast_1d(np.asarray(randomizer.variance(truth, 1, respondents="fixed", **sd), dtype=np.float64))


def margin_grid(
    family: Family, prevalence: object, *, epsilons: ArrayLike, ns: ArrayLike, level: float = 0.95
) -> Array:
    """Margins for many epsilons (rows) and numbers of people (columns): for contours and sliders."""
    people = np.asarray(ns, dtype=np.float64)
    return np.array([Case(family, prevalence, level).accuracy(float(e)).margin(people) for e in np.asarray(epsilons)])
