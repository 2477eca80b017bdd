"""Precision of a survey: margin and power as functions of epsilon and n, for any randomizer.

The power of the test of one share is computed from the binomial distribution of the reports, not from a normal
approximation.
"""

import inspect
import math
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from toolkit.core.arrays import Array, ArrayLike
from toolkit.core.checks import Number, check_integer, exact_fraction, reject
from toolkit.core.inference.special import bdtr, betainc, ndtr, ndtri, rel_entr
from toolkit.local.design import has_matrix
from toolkit.local.protocol import Randomizer
from toolkit.planning.families import Family, is_randomizer, make_randomizer, round_down
from toolkit.planning.fieldwork import Field

MAX_EXACT_N = 10**6
"""The largest number of people for which power is exact; for more people it is a normal approximation."""
_ROUNDING = 1e-12  # forty times the largest observed error of the incomplete beta function for these n


@dataclass(frozen=True)
class ScoreTest:
    """The score test of a null share against an alternative, based on the number of reports for the alternative.

    It rejects if the Wilson interval, before it is clipped to [0, 1], excludes the null share toward the alternative.
    This is the case if more than n * null + critical * sqrt(n * null * (1 - null)) reports favor the alternative. Power
    is a sawtooth in n, because it falls whenever that threshold passes an integer: n people may be enough even if n + 1
    people are not.

    null, truth : the probability of such a report under the null share and under the alternative; null < truth.
    critical : the critical value, at least 0: 1.96 for a two-sided test at 5 %, 1.645 for a one-sided test.
    """

    null: float
    truth: float
    critical: float

    def power(self, n: int) -> float:
        """Return the probability of rejecting the null share if the alternative is true."""
        return self._rejection_probability(n, self._max_accepted_count(n))

    def lower_bound(self, n: int) -> float:
        """Return a smooth lower bound on the power, whose threshold is not rounded down to an integer."""
        return self._rejection_probability(n, self._threshold(n))

    def upper_bound(self, n: int) -> float:
        """Return an upper bound on the power: the power of the test with its threshold lowered by one report."""
        return self._rejection_probability(n, max(self._threshold(n) - 1, 0))

    def _max_accepted_count(self, n: int) -> int:
        """Return the largest number of reports for the alternative at which the null share is not rejected."""
        return math.floor(self._threshold(n))

    def _threshold(self, n: int) -> float:
        edge = n * self.null + self.critical * math.sqrt(n * self.null * (1 - self.null))
        return edge + 1e-12 * (1 + edge)  # a count equal to the threshold does not lead to rejection

    def _rejection_probability(self, n: int, accepted: float) -> float:
        """Return the probability of more than `accepted` reports for the alternative, never rounded up."""
        if accepted >= n:
            return 0.0
        return max(float(betainc(accepted + 1, n - accepted, self.truth)) - _ROUNDING, 0.0)

    def first_n(self, power: float) -> int:
        """Return the smallest n that reaches this power."""
        # If the largest n of a block misses the power even with the block's lowest threshold, no n in the block reaches
        # it.
        n, step = 1, 1
        while True:
            if self._rejection_probability(n + step - 1, self._max_accepted_count(n)) < power:
                n, step = n + step, 2 * step
            elif step > 1:
                step //= 2
            else:
                return n

    def sustained_n(self, power: float) -> int:
        """Return the smallest n such that this and every larger sample size reach this power."""
        n, step = self._sufficient_n(power), 1
        while n > 1:
            step = min(step, n - 1)
            if self._lower_bound_between(n - step, n - 1) >= power:
                n, step = n - step, 2 * step
            elif step > 1:
                step //= 2
            else:
                return n
        return 1

    def is_sustained(self, power: float, n: int) -> bool:
        """Whether n people, and every larger number, reach this power."""
        sufficient, step = self._sufficient_n(power), 1
        while n < sufficient:
            if self._lower_bound_between(n, n + step - 1) >= power:
                n, step = n + step, 2 * step
            elif step > 1:
                step //= 2
            else:
                return False
        return True

    def _lower_bound_between(self, min_n: int, max_n: int) -> float:
        """Return a lower bound on the power in a range of n: the power of the smallest n with the highest threshold."""
        return self._rejection_probability(min_n, self._max_accepted_count(max_n))

    def _sufficient_n(self, power: float) -> int:
        """Return an n beyond which Chernoff's bound, exp(-n KL(threshold / n || truth)), guarantees the power."""
        n = 1
        while True:
            edge = self.null + self.critical * math.sqrt(self.null * (1 - self.null) / n)
            if (edge := edge * (1 + 1e-9)) < self.truth:  # slightly higher, to allow for rounding errors
                distance = rel_entr(edge, self.truth) + rel_entr(1 - edge, 1 - self.truth)
                if math.exp(-n * distance) <= 1 - power:
                    return n
            n *= 2


def score_tests(
    matrix: npt.NDArray[np.float64], prevalence: float, detect: float, critical: float
) -> tuple[ScoreTest, ScoreTest] | None:
    """Return the tests of a yes/no design and of direct questions; return None for other designs."""
    if matrix.shape != (2, 2) or critical < 0 or prevalence == detect:
        return None
    tests = []
    for no, yes in (matrix[:, 1], (0.0, 1.0)):
        null, truth = (float(no + (yes - no) * share) for share in (prevalence, detect))
        tests.append(ScoreTest(*((null, truth) if null < truth else (1 - null, 1 - truth)), critical))
    return tests[0], tests[1]


class Precision(Protocol):
    """The interface of a search for n: margin and power as functions of n."""

    @property
    def field(self) -> Field: ...

    @property
    def exact_test(self) -> ScoreTest | None: ...

    def margin(self, n: ArrayLike) -> Any: ...

    def power(self, n: ArrayLike) -> Any: ...


@dataclass(frozen=True, eq=False)
class VarianceSources:
    """The variance of one person's contribution, by source, with one entry for each option.

    `noise_if_equal` is set only for a mean whose standard deviation is unknown. It is the noise variance if all answers
    are equal: some randomizers have their largest noise in this case, and a finite population does not reduce it.
    """

    noise: Array
    sampling: Array
    noise_if_equal: Array | None = None

    def total(self, factor: Any) -> Array:
        """Return the noise variance plus `factor` times the sampling variance, for the worst sd of the answers."""
        variance = self.noise + self.sampling * factor
        return np.asarray(variance if self.noise_if_equal is None else np.maximum(variance, self.noise_if_equal))


@dataclass(frozen=True)
class AssuredMargin:
    """A margin that a given share of surveys does not exceed.

    share : the share of surveys.
    p_yes : the probability of a yes report.
    slope : the change in that probability from a true share of 0 to a true share of 1.
    """

    share: float
    p_yes: float
    slope: float

    def inflation(self, n: Any) -> Any:
        """Return the variance at the `share` quantile of the observed share of yes, relative to its expectation."""
        variance = self.p_yes * (1 - self.p_yes)
        with np.errstate(divide="ignore", invalid="ignore"):
            p = np.minimum(min(self.p_yes, 1 - self.p_yes) + ndtri(self.share) * np.sqrt(variance / n), 0.5)
        return p * (1 - p) / variance if variance > 0 else np.ones_like(p)

    def coverage(self, n: Array, margin: float, z: float) -> Array:
        """Return the binomial probability that the Wilson interval of a survey of n people is at most this wide."""
        # The interval is narrow enough if the observed p (1 - p) is at most `limit`, that is, if the count is extreme.
        limit = (margin * abs(self.slope) * (1 + z**2 / n) / z) ** 2 * n - z**2 / 4 / n
        largest = n / 2 - n * np.sqrt(np.maximum(0.25 - limit, 0))
        count = np.where(limit < 0, -1.0, np.floor(largest * (1 + 1e-12)))
        people = n.astype(np.int64)
        tails = (np.where(count < 0, 0, bdtr(np.maximum(count, 0), people, p)) for p in (self.p_yes, 1 - self.p_yes))
        return np.where(limit >= 0.25, 1.0, sum(tails))


@dataclass(frozen=True, eq=False)
class Accuracy:
    """The precision of n reports of one randomizer.

    `at_guess` and `at_detect` are the variances at the guessed truth and at the truth to detect, and `shift` is the
    distance between the two. `exact_test` is the test whose power is exact, if there is such a test, and
    `direct_exact_test` is the test for direct questions.
    """

    field: Field
    level: float
    at_guess: VarianceSources
    at_detect: VarianceSources | None = None
    shift: Array | None = None
    sides: int = 2
    exact_test: ScoreTest | None = None
    direct_exact_test: ScoreTest | None = None
    assured_margin: AssuredMargin | None = None
    direct_assured_margin: AssuredMargin | None = None

    def variance(self, n: ArrayLike, sources: VarianceSources | None = None) -> Array:
        """Return the variance of the estimate from n people; n may be an array, and the last axis holds the options."""
        people = np.asarray(n, dtype=np.float64)[..., None]
        variance = (sources or self.at_guess).total(self.field.sampling_factor(people))
        return np.asarray(variance / self.field.effective_n(people))

    def margin(self, n: ArrayLike) -> Any:
        """Return half the width of the widest interval among the options."""
        variance = self.variance(n).max(axis=-1)
        if self.assured_margin is not None:
            per_person = self.assured_margin.p_yes * (1 - self.assured_margin.p_yes) / self.assured_margin.slope**2
            variance = variance * self.assured_margin.inflation(per_person / variance)
        margin = ndtri(0.5 + self.level / 2) * np.sqrt(variance)
        return float(margin) if np.ndim(n) == 0 else margin

    def power(self, n: Any) -> Any:
        """Return the power of the test of `prevalence` against `detect`: exact, or by the normal approximation."""
        if np.ndim(n):
            return np.array([self.power(people) for people in np.asarray(n).tolist()])
        if self.exact_test is not None and n <= MAX_EXACT_N:
            return self.exact_test.power(int(n))
        return self.normal_power(n)

    def normal_power(self, n: ArrayLike) -> Any:
        """Return the power by the normal approximation, for the most informative option."""
        if self.at_detect is None or self.shift is None:
            reject("a power needs `detect`", "none", "give the share that the test should detect: detect=0.2")
        before, after = np.sqrt(self.variance(n)), np.sqrt(self.variance(n, self.at_detect))
        with np.errstate(divide="ignore", invalid="ignore"):
            z = (self.shift - critical_value(self.level, self.sides) * before) / after
        power = np.where(self.shift > 0, ndtr(np.nan_to_num(z, nan=-math.inf)), 0).max(axis=-1)
        return float(power) if np.ndim(n) == 0 else power

    def without_noise(self) -> "Accuracy":
        """Return the precision of direct questions that everybody answers truthfully."""
        return replace(
            self.with_noise(0.0), exact_test=self.direct_exact_test, assured_margin=self.direct_assured_margin
        )

    def with_noise(self, variance: float | Array) -> "Accuracy":
        """Replace the noise variance of one person's contribution."""
        noise = np.broadcast_to(variance, self.at_guess.noise.shape)
        at_guess = VarianceSources(noise, self.at_guess.sampling)
        at_detect = self.at_detect and VarianceSources(noise, self.at_detect.sampling)
        return replace(self, at_guess=at_guess, at_detect=at_detect, exact_test=None, assured_margin=None)


def check_sides(sides: int) -> int:
    """Check that a test is one-sided or two-sided."""
    count = check_integer(sides, "sides")
    if count not in (1, 2):
        reject("`sides` must be 1 or 2", sides, "write sides=1 for a one-sided test")
    return count


def critical_value(level: float, sides: int) -> float:
    """Return the critical value of a test of this level, in standard errors."""
    return float(ndtri(level if sides == 1 else 0.5 + level / 2))


@dataclass(frozen=True)
class PlanInputs:
    """The inputs of a plan: a randomizer or a family, the guessed truth, and the conditions in the field."""

    design_or_family: Family | Randomizer
    prevalence: Any
    level: float
    detect: Any = None
    sd: Number | None = None
    field: Field = field(default_factory=Field)
    sides: int = 2
    assurance: float | None = None

    @property
    def is_fixed(self) -> bool:
        """Whether the randomizer, and therefore epsilon, is given; otherwise epsilon selects it from a family."""
        return is_randomizer(self.design_or_family)

    def randomizer(self, epsilon: float | None) -> Randomizer:
        """Return the randomizer for a total loss of epsilon per person; it is cached."""
        if self.is_fixed:
            return self.design_or_family  # type: ignore[return-value]
        if epsilon not in self._randomizers:
            share = round_down(exact_fraction(epsilon or 0, "epsilon") / self.field.questions_each)
            self._randomizers[epsilon] = make_randomizer(self.design_or_family, share)  # type: ignore[arg-type]
        return self._randomizers[epsilon]

    @cached_property
    def _randomizers(self) -> dict[float | None, Randomizer]:
        return {}

    @cached_property
    def _accuracies(self) -> dict[float | None, Accuracy]:
        return {}

    def accuracy(self, epsilon: float | None) -> Accuracy:
        """Return margin and power at this epsilon, as functions of n; they are cached."""
        if epsilon not in self._accuracies:
            self._accuracies[epsilon] = self._accuracy(self._with_compliance(self.randomizer(epsilon)))
        return self._accuracies[epsilon]

    def _accuracy(self, randomizer: Randomizer) -> Accuracy:
        at_guess = variance_sources(randomizer, self.prevalence, self.sd)
        if self.detect is None:
            assured_margin, direct_assured = self._assured_margins(randomizer)
            return Accuracy(
                self.field, self.level, at_guess, assured_margin=assured_margin, direct_assured_margin=direct_assured
            )
        truth, guess = (np.atleast_1d(np.asarray(share, dtype=float)) for share in (self.detect, self.prevalence))
        gap = np.abs(truth - guess)
        exact_test, direct = self._exact_tests(randomizer) or (None, None)
        at_detect = variance_sources(randomizer, self.detect, self.sd)
        return Accuracy(self.field, self.level, at_guess, at_detect, gap, self.sides, exact_test, direct)

    def _assured_margins(self, randomizer: Randomizer) -> tuple[AssuredMargin | None, AssuredMargin | None]:
        """Return the margins that most surveys do not exceed, for this randomizer and for direct questions."""
        if self.assurance is None:
            return None, None
        if not has_matrix(randomizer) or randomizer.matrix.shape != (2, 2) or np.ndim(self.prevalence):
            rule = "`assurance` must be for one yes/no question with two reports"
            reject(rule, randomizer.name, "leave it out: the margin is then half the expected width")
        (no, yes), share = randomizer.matrix[:, 1], float(self.prevalence)
        assured_margin = AssuredMargin(self.assurance, float(no + (yes - no) * share), float(yes - no))
        return assured_margin, AssuredMargin(self.assurance, share, 1.0)

    def _exact_tests(self, randomizer: Randomizer) -> tuple[ScoreTest, ScoreTest] | None:
        """Return the exact tests if reports are binomial: one yes/no question to n people from a large population."""
        if not has_matrix(randomizer) or not self.field.is_binomial:
            return None
        before, after = (float(np.atleast_1d(truth)[-1]) for truth in (self.prevalence, self.detect))
        return score_tests(randomizer.matrix, before, after, critical_value(self.level, self.sides))

    def _with_compliance(self, randomizer: Randomizer) -> Randomizer:
        if self.field.compliance is None:
            return randomizer
        if not has_matrix(randomizer):
            remedy = "leave it out, or ask a yes/no question"
            reject("`compliance` needs a design with a matrix", type(randomizer).__name__, remedy)
        return self.field.compliance._effective_design(randomizer)


def variance_sources(randomizer: Randomizer, truth: Any, sd: Number | None) -> VarianceSources:
    """Return the noise variance and the sampling variance of one person's contribution.

    For a mean whose standard deviation is unknown, both extremes are computed: answers as far apart as the bounds
    allow, and all answers equal. Between them, the variance is linear for any factor of the sampling variance, so one
    of the extremes is the worst case.
    """
    if randomizer.bounds is None:
        return _variance_sources(randomizer, truth)
    if "sd" not in inspect.signature(randomizer.variance).parameters:
        advice = "this randomizer estimates a distribution: use `plan_by_simulation`"
        reject("a plan must be for shares or for a mean", randomizer.name, advice)
    if sd is not None:
        return _variance_sources(randomizer, truth, sd=sd)
    center = float(exact_fraction(truth, "prevalence"))
    low, high = (float(limit) for limit in randomizer.bounds)
    widest = math.sqrt(max((center - low) * (high - center), 0))
    return replace(
        _variance_sources(randomizer, truth, sd=widest), noise_if_equal=_noise_variance(randomizer, truth, sd=0)
    )


def _variance_sources(randomizer: Randomizer, truth: ArrayLike, **sd: Any) -> VarianceSources:
    total = np.atleast_1d(np.asarray(randomizer.variance(truth, 1, **sd), dtype=np.float64))
    noise = _noise_variance(randomizer, truth, **sd)
    return VarianceSources(noise, np.maximum(total - noise, 0))


def _noise_variance(randomizer: Randomizer, truth: object, **sd: object) -> Array:
    return np.atleast_1d(np.asarray(randomizer.variance(truth, 1, respondents="fixed", **sd), dtype=np.float64))


def margin_grid(
    family: Family, prevalence: object, *, epsilons: ArrayLike, ns: ArrayLike, level: float = 0.95
) -> Array:
    """Return the margin for each epsilon (rows) and each number of people (columns)."""
    people = np.asarray(ns, dtype=np.float64)
    return np.array(
        [PlanInputs(family, prevalence, level).accuracy(float(e)).margin(people) for e in np.asarray(epsilons)]
    )
