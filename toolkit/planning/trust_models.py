"""The same plan under four trust models: direct questions, local randomization, shuffling, and a central curator."""

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from toolkit.core.arrays import Array, ArrayLike, index_of_largest
from toolkit.core.checks import reject
from toolkit.core.inference.digits import concise
from toolkit.core.inference.special import erfcx, ndtr, ndtri
from toolkit.core.search import bisect_elementwise, bisect_integers, bracket
from toolkit.local.shuffling.amplification import largest_local, shuffled
from toolkit.planning.accuracy import Accuracy, Case, Precision
from toolkit.planning.fieldwork import Field
from toolkit.planning.search import MOST_PEOPLE, OutOfReach, Target, epsilon_for, people_for

_ROOT = 2**0.5
_LEAST_RATIO = 1e-12  # of the standard deviation to the scale of the noise


@dataclass(frozen=True)
class Curated:
    """The precision of a curator who knows n answers and adds Laplace noise to their share or mean.

    The error is the sum of the sampling error, by the normal approximation, and of Laplace noise of scale `total` / n.
    Its quantiles are those of this sum and not of a normal law of the same variance: where the noise dominates, a 95 %
    margin is up to 8 % wider than 1.96 standard errors, and an 80 % margin up to 11 % narrower than 1.28.
    """

    direct: Accuracy
    total: float
    exact_test: None = None

    @property
    def field(self) -> Field:
        return self.direct.field

    def without_noise(self) -> Accuracy:
        return self.direct

    def scale(self, n: ArrayLike) -> Any:
        return self.total / self.direct.field.effective_n(n)

    def variance(self, n: ArrayLike) -> Array:
        return np.asarray(self.direct.variance(n) + 2 * self.scale(n) ** 2)

    def margin(self, n: ArrayLike) -> Any:
        """Return half the width of the widest interval among the options."""
        widest = np.sqrt(self.direct.variance(n).max(axis=-1))
        margin = upper_quantile((1 - self.direct.level) / 2, widest, self.scale(n))
        return float(margin) if np.ndim(n) == 0 else margin

    def power(self, n: ArrayLike) -> float:
        """Return the power of the test of `prevalence` against `detect`, by the most informative option."""
        shift = np.asarray(self.direct.shift)
        before, after = (np.sqrt(self.direct.variance(n, spread)) for spread in (self.direct.here, self.direct.other))
        edge = upper_quantile((1 - self.direct.level) / self.direct.sides, before, self.scale(n))
        return float(np.where(shift > 0, tail(edge - shift, after, self.scale(n)), 0).max())


def tail(x: ArrayLike, sd: ArrayLike, scale: ArrayLike) -> Array:
    """Return the probability that normal plus Laplace noise exceeds x; the scales are all zero, or none is."""
    x, sd = np.broadcast_arrays(np.asarray(x, dtype=np.float64), np.asarray(sd, dtype=np.float64))
    if not np.any(scale):
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.asarray(np.nan_to_num(ndtr(-x / sd)))
    ratio = np.maximum(sd / scale, _LEAST_RATIO)
    z = np.abs(x) / (ratio * scale)
    # The product of a growing exponential and a vanishing probability is computed with erfcx, so that it neither
    # overflows nor underflows.
    density = np.exp(-z * z / 2) / 2
    lower = density * erfcx((z + ratio) / _ROOT)
    near = density * erfcx(np.maximum(ratio - z, 0) / _ROOT)
    far = np.exp(np.minimum(ratio * (ratio / 2 - z), 0)) * ndtr(z - ratio)
    above = ndtr(-z) + (np.where(z < ratio, near, far) - lower) / 2
    return np.asarray(np.where(x < 0, 1 - above, above))


def upper_quantile(p: float, sd: float | Array, scale: float | Array) -> Array:
    """Return the x that the sum exceeds with probability p, by bisection, rounded up."""
    if p > 0.5:
        return -upper_quantile(1 - p, sd, scale)
    low = np.zeros(np.broadcast_shapes(np.shape(sd), np.shape(scale)))
    high = ndtri(1 - p / 2) * np.asarray(sd) + scale * np.log(1 / p)
    return bisect_elementwise(lambda x: tail(x, sd, scale) <= p, low, high)[1]


TRUST = {
    "direct": "whoever receives the answers, with all of them",
    "local": "the phone and its page, or one's own die; not the collector",
    "shuffled": "a shuffler that mixes the reports and does not tell whose is whose, nor collude with the analyst",
    "central": "a curator, with every true answer, to add the noise and publish nothing else",
}
_MOST_LOCAL = 16.0


@dataclass(frozen=True)
class TrustModel:
    """The precision of a plan under one of four trust models, as `Plan.trust_models` returns it.

    Parameters
    ----------
    name : str
        "direct", "local", "shuffled" or "central".
    epsilon : float
        Epsilon of what is published; infinite for direct questions.
    delta : float
        Delta of what is published.
    local_epsilon : float
        Epsilon of a single report, which holds against whoever receives it.
    noise_se : float
        The standard error of the privacy noise alone.
    se : float
        The standard error.
    margin : float
        The margin with the plan's number of people.
    n_needed : float
        People needed for the plan's target; NaN where it is out of reach.
    trust : str
        Who must be trusted with what.

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


def trust_models(case: Case, epsilon: float, n: int, target: Target, delta: float) -> tuple[TrustModel, ...]:
    """Compare direct, local, shuffled and central at the same epsilon and n; `n_needed` is for the target."""
    local = case.accuracy(epsilon)
    direct = local.without_noise()
    central = Curated(direct, case.randomizer(epsilon)._sensitivity * case.field.questions_each / epsilon)
    local_epsilon, total, needed = _shuffled(case, epsilon, n, target, delta)
    return (
        _trust_model("direct", direct, n, (math.inf, 0.0, math.inf), _people(direct, target)),
        _trust_model("local", local, n, (epsilon, 0.0, epsilon), _people(local, target)),
        _trust_model("shuffled", case.accuracy(local_epsilon), n, (total, delta, local_epsilon), needed),
        _trust_model("central", central, n, (epsilon, 0.0, math.inf), _people(central, target)),
    )


def _trust_model(
    name: str, accuracy: Accuracy | Curated, n: int, losses: tuple[float, float, float], needed: float
) -> TrustModel:
    variance = accuracy.variance(n)
    widest = index_of_largest(variance)
    noise = max(float(variance[widest] - accuracy.without_noise().variance(n)[widest]), 0)
    se = math.sqrt(float(variance[widest]))
    return TrustModel(name, *losses, math.sqrt(noise), se, accuracy.margin(n), needed, TRUST[name])


def _people(accuracy: Precision, target: Target) -> float:
    try:
        return people_for(accuracy, target)
    except OutOfReach:
        return math.nan


def _shuffled(case: Case, epsilon: float, n: int, target: Target, delta: float) -> tuple[float, float, float]:
    """Return the local epsilon of shuffled reports, their total epsilon, and the people needed for the target."""
    if case.fixed:
        total = shuffled(case.randomizer(None), n, delta).epsilon
        return epsilon, total, _people(case.accuracy(epsilon), target)

    def cost(local: float, people: int) -> float:
        reports = max(1, int(case.field.effective_n(people) / case.field.smallest))
        per_question = shuffled(case.randomizer(local), reports, delta).epsilon
        return per_question if case.field.one_each else per_question * case.field.questions

    largest = largest_local(lambda local: cost(local, n), epsilon, most=_MOST_LOCAL, tolerance=1e-3)

    def enough(people: int) -> bool:
        try:
            needed = epsilon_for(case, target, people)
        except OutOfReach:
            return False
        return needed <= epsilon or (needed < _MOST_LOCAL and cost(needed, people) <= epsilon)

    respondents = case.field.max_respondents()
    most = MOST_PEOPLE if respondents is None else respondents
    low, high = bracket(enough, 0, max(2, n // 4), most)
    return (
        largest,
        epsilon,
        math.nan if math.isinf(high) else float(bisect_integers(enough, low, high, significant_digits=3)),
    )


def other_guesses(prevalence: object) -> tuple[Any, ...]:
    """Return truths around the guess: a share from half to double and one half; shares between the guess and even."""
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


def answers_at(
    case: Case, solved: str, epsilon: float, n: int, target: Target, guesses: tuple[Any, ...]
) -> list[float]:
    """Solve the plan for each of the guessed truths; NaN where the target is out of reach."""
    return [_answer(replace(case, prevalence=guess), solved, epsilon, n, target) for guess in guesses]


def _answer(case: Case, solved: str, epsilon: float, n: int, target: Target) -> float:
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
