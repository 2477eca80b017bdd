"""Comparison of a plan under four trust models: direct questions, local randomization, shuffling, and a curator."""

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from toolkit.core.arrays import Array, ArrayLike, index_of_largest
from toolkit.core.checks import reject
from toolkit.core.inference.digits import concise
from toolkit.core.inference.special import erfcx, ndtr, ndtri
from toolkit.core.search import bisect_elementwise, bisect_integers, bracket
from toolkit.local.shuffling.amplification import largest_local_epsilon, shuffled
from toolkit.planning.accuracy import Accuracy, PlanInputs, Precision
from toolkit.planning.fieldwork import Field
from toolkit.planning.search import MAX_PEOPLE, OutOfReach, Target, epsilon_for, people_for

_ROOT = 2**0.5
_MIN_RATIO = 1e-12  # the smallest ratio of the standard deviation to the scale of the noise


@dataclass(frozen=True)
class CuratorAccuracy:
    """The precision of a release by a curator who has n answers and adds Laplace noise to the share or mean.

    The error is the sum of a normal sampling error and Laplace noise with scale `noise_total` / n. The quantiles are
    computed from this sum, not from a normal distribution with the same variance. If the noise dominates, a 95 % margin
    is up to 8 % wider than 1.96 standard errors, and an 80 % margin is up to 11 % narrower than 1.28 standard errors.
    """

    direct: Accuracy
    noise_total: float
    exact_test: None = None

    @property
    def field(self) -> Field:
        return self.direct.field

    def without_noise(self) -> Accuracy:
        return self.direct

    def scale(self, n: ArrayLike) -> Any:
        return self.noise_total / self.direct.field.effective_n(n)

    def variance(self, n: ArrayLike) -> Array:
        return np.asarray(self.direct.variance(n) + 2 * self.scale(n) ** 2)

    def margin(self, n: ArrayLike) -> Any:
        """Return half the width of the widest interval among the options."""
        widest = np.sqrt(self.direct.variance(n).max(axis=-1))
        margin = upper_quantile((1 - self.direct.level) / 2, widest, self.scale(n))
        return float(margin) if np.ndim(n) == 0 else margin

    def power(self, n: ArrayLike) -> float:
        """Return the power of the test of `prevalence` against `detect`, for the most informative option."""
        shift = np.asarray(self.direct.shift)
        before, after = (
            np.sqrt(self.direct.variance(n, spread)) for spread in (self.direct.at_guess, self.direct.at_detect)
        )
        edge = upper_quantile((1 - self.direct.level) / self.direct.sides, before, self.scale(n))
        return float(np.where(shift > 0, tail_probability(edge - shift, after, self.scale(n)), 0).max())


def tail_probability(x: ArrayLike, sd: ArrayLike, scale: ArrayLike) -> Array:
    """Return the probability that normal plus Laplace noise exceeds x; the Laplace scales are all 0 or all positive."""
    x, sd = np.broadcast_arrays(np.asarray(x, dtype=np.float64), np.asarray(sd, dtype=np.float64))
    if not np.any(scale):
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.asarray(np.nan_to_num(ndtr(-x / sd)))
    ratio = np.maximum(sd / scale, _MIN_RATIO)
    z = np.abs(x) / (ratio * scale)
    # erfcx computes the product of a growing exponential and a vanishing probability without overflow or underflow.
    density = np.exp(-z * z / 2) / 2
    lower = density * erfcx((z + ratio) / _ROOT)
    near = density * erfcx(np.maximum(ratio - z, 0) / _ROOT)
    far = np.exp(np.minimum(ratio * (ratio / 2 - z), 0)) * ndtr(z - ratio)
    above = ndtr(-z) + (np.where(z < ratio, near, far) - lower) / 2
    return np.asarray(np.where(x < 0, 1 - above, above))


def upper_quantile(p: float, sd: float | Array, scale: float | Array) -> Array:
    """Return the value that the sum exceeds with probability p, found by bisection and rounded up."""
    if p > 0.5:
        return -upper_quantile(1 - p, sd, scale)
    low = np.zeros(np.broadcast_shapes(np.shape(sd), np.shape(scale)))
    high = ndtri(1 - p / 2) * np.asarray(sd) + scale * np.log(1 / p)
    return bisect_elementwise(lambda x: tail_probability(x, sd, scale) <= p, low, high)[1]


TRUST_TEXTS = {
    "direct": "whoever receives the answers, with all of them",
    "local": "the phone and its page, or one's own die; not the collector",
    "shuffled": "a shuffler that mixes the reports, hides whose is whose, and does not collude with the analyst",
    "central": "a curator, with every true answer, to add the noise and publish nothing else",
}
_MAX_LOCAL_EPSILON = 16.0


@dataclass(frozen=True)
class TrustModel:
    """The precision of a plan under one of four trust models, as returned by `Plan.trust_models`.

    Parameters
    ----------
    name : str
        "direct", "local", "shuffled" or "central".
    epsilon : float
        The epsilon of the published results; infinite for direct questions.
    delta : float
        The delta of the published results.
    local_epsilon : float
        The epsilon of a single report, which protects against its recipient.
    noise_se : float
        The standard error of the privacy noise alone.
    se : float
        The standard error of the estimate.
    margin : float
        The margin with the plan's number of people.
    n_needed : float
        The number of people needed for the plan's target; NaN if it cannot be reached.
    trust : str
        The party that must be trusted, and what it must be trusted with.

    Examples
    --------
    >>> from toolkit import plan, warner
    >>> {model.name: round(model.se, 3) for model in plan(warner, prevalence=0.2, epsilon=1, n=500).trust_models()}
    {'direct': 0.018, 'local': 0.046, 'shuffled': 0.021, 'central': 0.018}
    """

    name: str
    epsilon: float
    delta: float
    local_epsilon: float
    noise_se: float
    se: float
    margin: float
    n_needed: float
    trust: str

    __repr__ = concise


def trust_models(case: PlanInputs, epsilon: float, n: int, target: Target, delta: float) -> tuple[TrustModel, ...]:
    """Compare the four trust models at the same epsilon and n; `n_needed` is for the target."""
    local = case.accuracy(epsilon)
    direct = local.without_noise()
    central = CuratorAccuracy(direct, case.randomizer(epsilon)._sensitivity * case.field.questions_each / epsilon)
    local_epsilon, total, needed = _shuffled(case, epsilon, n, target, delta)
    return (
        _trust_model("direct", direct, n, (math.inf, 0.0, math.inf), _people_needed(direct, target)),
        _trust_model("local", local, n, (epsilon, 0.0, epsilon), _people_needed(local, target)),
        _trust_model("shuffled", case.accuracy(local_epsilon), n, (total, delta, local_epsilon), needed),
        _trust_model("central", central, n, (epsilon, 0.0, math.inf), _people_needed(central, target)),
    )


def _trust_model(
    name: str, accuracy: Accuracy | CuratorAccuracy, n: int, losses: tuple[float, float, float], needed: float
) -> TrustModel:
    variance = accuracy.variance(n)
    widest = index_of_largest(variance)
    noise = max(float(variance[widest] - accuracy.without_noise().variance(n)[widest]), 0)
    se = math.sqrt(float(variance[widest]))
    return TrustModel(name, *losses, math.sqrt(noise), se, accuracy.margin(n), needed, TRUST_TEXTS[name])


def _people_needed(accuracy: Precision, target: Target) -> float:
    try:
        return people_for(accuracy, target)
    except OutOfReach:
        return math.nan


def _shuffled(case: PlanInputs, epsilon: float, n: int, target: Target, delta: float) -> tuple[float, float, float]:
    """Return the local epsilon of shuffled reports, their total epsilon, and the people needed for the target."""
    if case.is_fixed:
        total = shuffled(case.randomizer(None), n, delta).epsilon
        return epsilon, total, _people_needed(case.accuracy(epsilon), target)

    def cost(local: float, people: int) -> float:
        reports = max(1, int(case.field.effective_n(people) / case.field.subgroup_share))
        per_question = shuffled(case.randomizer(local), reports, delta).epsilon
        return per_question if case.field.one_question_each else per_question * case.field.questions

    largest = largest_local_epsilon(lambda local: cost(local, n), epsilon, max_local=_MAX_LOCAL_EPSILON, tolerance=1e-3)

    def enough(people: int) -> bool:
        try:
            needed = epsilon_for(case, target, people)
        except OutOfReach:
            return False
        return needed <= epsilon or (needed < _MAX_LOCAL_EPSILON and cost(needed, people) <= epsilon)

    respondents = case.field.max_respondents()
    most = MAX_PEOPLE if respondents is None else respondents
    low, high = bracket(enough, 0, max(2, n // 4), most)
    return (
        largest,
        epsilon,
        math.nan if math.isinf(high) else float(bisect_integers(enough, low, high, significant_digits=3)),
    )


def default_guesses(prevalence: object) -> tuple[Any, ...]:
    """Return alternative truths: shares from 0 to twice the guess, and one half; or more nearly equal shares."""
    shares = np.asarray(prevalence, dtype=np.float64)
    if shares.ndim == 0:
        guess = float(shares)
        guesses = {
            round(min(max(x, 0.0), 1.0), 6)
            for x in (0.0, guess / 2, guess * 0.75, guess, guess * 1.25, guess * 1.5, guess * 2, 0.5)
        }
        return tuple(sorted(guesses))
    even = np.full(len(shares), 1 / len(shares))
    return tuple((weight * shares + (1 - weight) * even).tolist() for weight in (0.0, 0.5, 1.0))


def solutions_at(
    case: PlanInputs, solved: str, epsilon: float, n: int, target: Target, guesses: tuple[Any, ...]
) -> list[float]:
    """Solve the plan for each guessed truth; NaN if the target cannot be reached."""
    return [_solution(replace(case, prevalence=guess), solved, epsilon, n, target) for guess in guesses]


def _solution(case: PlanInputs, solved: str, epsilon: float, n: int, target: Target) -> float:
    try:
        if solved == "epsilon":
            return epsilon_for(case, target, n)
        accuracy = case.accuracy(epsilon)
        if solved == "n":
            return people_for(accuracy, target)
        return float(accuracy.margin(n) if solved == "margin" else accuracy.power(n))
    except OutOfReach:
        return math.nan


def check_delta(delta: float) -> float:
    if not 0 < delta < 1:
        reject("`delta` must lie strictly between 0 and 1", delta, "shuffling gains nothing at 0; 1e-6 is usual")
    return float(delta)
