"""The same promise kept in four ways: asked directly, hidden by each person, shuffled, or noised by a curator."""

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from toolkit.core.arrays import Array, ArrayLike, first_largest
from toolkit.core.checks import refuse
from toolkit.core.inference.digits import concise
from toolkit.core.inference.special import erfcx, ndtr, ndtri
from toolkit.core.search import bisect_each, bisect_whole, bracket
from toolkit.local.shuffling.amplification import largest_local, shuffled
from toolkit.planning.accuracy import Accuracy, Case, Precision
from toolkit.planning.fieldwork import Field
from toolkit.planning.search import MOST_PEOPLE, OutOfReach, Target, epsilon_for, people_for

_ROOT = 2**0.5
_LEAST = 1e-12  # a standard deviation of so little of the noise is none


@dataclass(frozen=True)
class Curated:
    """What n people are worth to a curator, who knows their answers and adds Laplace noise to the share or the mean.

    The error is that of asking directly, by the normal approximation, plus Laplace noise of scale `total` / n, as it
    is.

    Its quantiles are those of the sum of the two, not of a bell curve of the same variance: where the noise
    governs, a 95 % margin is up to 8 % wider than 1.96 standard errors, and an 80 % margin up to 11 %
    narrower than 1.28.
    """

    direct: Accuracy
    total: float
    counted: None = None

    @property
    def field(self) -> Field:
        return self.direct.field

    def without_noise(self) -> Accuracy:
        return self.direct

    def scale(self, n: ArrayLike) -> Any:
        return self.total / self.direct.field.behind(n)

    def variance(self, n: ArrayLike) -> Array:
        return np.asarray(self.direct.variance(n) + 2 * self.scale(n) ** 2)

    def margin(self, n: ArrayLike) -> Any:
        """Half the width of the interval of the given level, of the option with the widest."""
        widest = np.sqrt(self.direct.variance(n).max(axis=-1))
        margin = quantile((1 - self.direct.level) / 2, widest, self.scale(n))
        return float(margin) if np.ndim(n) == 0 else margin

    def power(self, n: ArrayLike) -> float:
        """Probability that the test tells `detect` from `prevalence`, by the option that tells best."""
        shift = np.asarray(self.direct.shift)
        before, after = (np.sqrt(self.direct.variance(n, spread)) for spread in (self.direct.here, self.direct.other))
        edge = quantile((1 - self.direct.level) / self.direct.sides, before, self.scale(n))
        return float(np.where(shift > 0, tail(edge - shift, after, self.scale(n)), 0).max())


def tail(x: ArrayLike, sd: ArrayLike, scale: ArrayLike) -> Array:
    """Probability that a normal number plus a Laplace number is above x; scales are all zero, or none is."""
    x, sd = np.broadcast_arrays(np.asarray(x, dtype=np.float64), np.asarray(sd, dtype=np.float64))
    if not np.any(scale):
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.asarray(np.nan_to_num(ndtr(-x / sd)))
    ratio = np.maximum(sd / scale, _LEAST)
    far = np.abs(x) / (ratio * scale)
    # An exponential that grows times a probability that vanishes is written with erfcx, so that neither over-
    # nor underflows.
    bell = np.exp(-far * far / 2) / 2
    behind = bell * erfcx((far + ratio) / _ROOT)
    close = bell * erfcx(np.maximum(ratio - far, 0) / _ROOT)
    beyond = np.exp(np.minimum(ratio * (ratio / 2 - far), 0)) * ndtr(far - ratio)
    above = ndtr(-far) + (np.where(far < ratio, close, beyond) - behind) / 2
    return np.asarray(np.where(x < 0, 1 - above, above))


def quantile(size: float, sd: float | Array, scale: float | Array) -> Array:
    """The x that the sum passes with probability `size`: by halving, from above."""
    if size > 0.5:
        return -quantile(1 - size, sd, scale)
    low = np.zeros(np.broadcast_shapes(np.shape(sd), np.shape(scale)))
    high = ndtri(1 - size / 2) * np.asarray(sd) + scale * np.log(1 / size)
    return bisect_each(lambda x: tail(x, sd, scale) <= size, low, high)[1]


TRUST = {
    "direct": "whoever receives the answers, with all of them",
    "local": "the phone and its page, or one's own die; not the collector",
    "shuffled": "a shuffler that mixes the reports and does not tell whose is whose, nor collude with the analyst",
    "central": "a curator, with every true answer, to add the noise and publish nothing else",
}
_MOST_LOCAL = 16.0


@dataclass(frozen=True)
class Way:
    """One of the four ways to keep a promise, as `Plan.ways` returns it.

    Parameters
    ----------
    name : str
        "direct", "local", "shuffled" or "central".
    epsilon : float
        What is promised; infinite where nothing is.
    delta : float
        What a probability may exceed the promise by.
    local_epsilon : float
        What protects a person from whoever receives the report.
    noise_se : float
        The part of the standard error that hiding adds.
    se : float
        The standard error.
    margin : float
        The margin of the plan's people.
    n_needed : float
        People for the plan's goal; NaN where it is out of reach.
    trust : str
        Who must be trusted with what.

    Examples
    --------
    >>> from toolkit import plan, warner
    >>> {way.name: round(way.se, 3) for way in plan(warner, prevalence=0.2, epsilon=1, n=500).ways()}
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


def four_ways(case: Case, epsilon: float, n: int, target: Target, delta: float) -> tuple[Way, ...]:
    """Direct, local, shuffled and central at the same epsilon and n; `n_needed` is for the target."""
    local = case.accuracy(epsilon)
    direct = local.without_noise()
    central = Curated(direct, case.randomizer(epsilon).sensitivity * case.field.at_once / epsilon)
    alone, together, needed = _shuffled(case, epsilon, n, target, delta)
    return (
        _way("direct", direct, n, (math.inf, 0.0, math.inf), _people(direct, target)),
        _way("local", local, n, (epsilon, 0.0, epsilon), _people(local, target)),
        _way("shuffled", case.accuracy(alone), n, (together, delta, alone), needed),
        _way("central", central, n, (epsilon, 0.0, math.inf), _people(central, target)),
    )


def _way(name: str, accuracy: Accuracy | Curated, n: int, losses: tuple[float, float, float], needed: float) -> Way:
    variance = accuracy.variance(n)
    widest = first_largest(variance)
    noise = max(float(variance[widest] - accuracy.without_noise().variance(n)[widest]), 0)
    return Way(
        name, *losses, math.sqrt(noise), math.sqrt(float(variance[widest])), accuracy.margin(n), needed, TRUST[name]
    )


def _people(accuracy: Precision, target: Target) -> float:
    try:
        return people_for(accuracy, target)
    except OutOfReach:  # not within reach of the population
        return math.nan


def _shuffled(case: Case, epsilon: float, n: int, target: Target, delta: float) -> tuple[float, float, float]:
    """What each person may use locally if reports are shuffled, what is then promised, and people for the target."""
    if case.fixed:
        together = shuffled(case.randomizer(None), n, delta).epsilon
        return epsilon, together, _people(case.accuracy(epsilon), target)

    def cost(local: float, people: int) -> float:
        one = shuffled(
            case.randomizer(local), max(1, int(case.field.behind(people) / case.field.smallest)), delta
        ).epsilon
        return one if case.field.one_each else one * case.field.questions

    best = largest_local(lambda local: cost(local, n), epsilon, most=_MOST_LOCAL, tolerance=1e-3)

    def enough(people: int) -> bool:
        try:
            needed = epsilon_for(case, target, people)
        except OutOfReach:
            return False
        return needed <= epsilon or (needed < _MOST_LOCAL and cost(needed, people) <= epsilon)

    reachable = case.field.reachable()
    most = MOST_PEOPLE if reachable is None else reachable
    low, high = bracket(enough, 0, max(2, n // 4), most)
    return best, epsilon, math.nan if math.isinf(high) else float(bisect_whole(enough, low, high, digits=3))


def other_guesses(prevalence: object) -> tuple[Any, ...]:
    """Other truths than the guess: a share halved to doubled, and one half; shares nearer to and farther from even."""
    shares = np.asarray(prevalence, dtype=np.float64)
    if shares.ndim == 0:
        guess = float(shares)
        guesses = {
            round(min(max(x, 0.0), 1.0), 6)
            for x in (0.0, guess / 2, guess * 0.75, guess, guess * 1.25, guess * 1.5, guess * 2, 0.5)
        }
        return tuple(sorted(guesses))
    even = np.full(len(shares), 1 / len(shares))
    return tuple((part * shares + (1 - part) * even).tolist() for part in (0.0, 0.5, 1.0))


def answers_at(
    case: Case, solved: str, epsilon: float, n: int, target: Target, guesses: tuple[Any, ...]
) -> list[float]:
    """The solved quantity if the truth were each of the guesses; NaN where it cannot be reached."""
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
        refuse("`delta` must lie strictly between 0 and 1", delta, "shuffling gains nothing at 0; 1e-6 is usual")
    return float(delta)
