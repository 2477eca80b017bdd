"""A gallery of broken mechanisms, each of which falsely claims epsilon = 1. Some of them were even published.

Use them for lessons and for testing audits, never for real data. Each exhibit has a repaired version, which is the same
code without the fault. All noise except in "float noise" lies on a grid of 1/64, so that an audit can detect only the
planted fault.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from toolkit.audit.auditor import audit
from toolkit.audit.running import replacements, shapes
from toolkit.audit.verdict import Verdict
from toolkit.core.arrays import Array
from toolkit.core.checks import check_integer

Generator = np.random.Generator

EPSILON = 1.0
_GRID = 64
_MAX_NOISE = 60  # noise beyond 60 has a probability below 1e-13


@dataclass(frozen=True)
class Exhibit:
    """A broken mechanism and its repair.

    Parameters
    ----------
    broken : callable
        The mechanism.
    repaired : callable
        The same mechanism without the fault.
    neighbors : tuple or list or dict
        Neighboring inputs that reveal the fault.
    fault : str
        A description of the fault.
    delta : float
        The delta of the claim.

    Examples
    --------
    >>> EXHIBITS["half the noise"].delta
    0.0
    """

    broken: Callable[..., Any]
    repaired: Callable[..., Any]
    neighbors: Any
    fault: str
    delta: float = 0.0

    def audit(self, *, repaired: bool = False, **options: Any) -> Verdict:
        """Audit the claim that the mechanism has epsilon = 1 and this `delta`.

        Parameters
        ----------
        repaired : bool
            Whether to audit the repaired mechanism.
        **options : Any
            Options of `audit`.

        Returns
        -------
        Verdict
            The verdict of the audit.
        """
        claim = {"epsilon": EPSILON, "delta": self.delta}
        return audit(self.repaired if repaired else self.broken, self.neighbors, **claim | options)


def _laplace_array(scale: float, size: int, rng: Generator) -> Array:
    """Draw Laplace noise on the grid, as the difference of two geometric variables."""
    first, second = rng.geometric(-math.expm1(-1 / (scale * _GRID)), size=(2, size))
    return np.asarray((first - second) / _GRID)


def _laplace(scale: float, rng: Generator) -> float:
    """Draw the same number as `_laplace_array(scale, 1, rng)[0]`, but faster, because audits draw a million of them."""
    p = -math.expm1(-1 / (scale * _GRID))
    return (int(rng.geometric(p)) - int(rng.geometric(p))) / _GRID


def _count(value: float, rng: Generator, scale: float) -> float:
    """Release a count that one person changes by 1."""
    return float(value + _laplace(scale, rng))


def _histogram(column: npt.NDArray[np.intp], rng: Generator, scale: float) -> Array:
    """Release three counts; a person whose value changes affects two of them."""
    return np.asarray(np.bincount(column, minlength=3) + _laplace_array(scale, 3, rng))


def _seeded_count(value: float, rng: Generator, seed: int | None = None) -> float:
    """Release a count with noise; the fault is a `seed`, which makes the noise the same in every release."""
    return _count(value, rng if seed is None else np.random.default_rng(seed), 1 / EPSILON)


def _two_releases(value: float, rng: Generator, scale: float) -> Array:
    """Release the same count twice."""
    return np.asarray(value + _laplace_array(scale, 2, rng))


def _coarse_count(value: float, rng: Generator, *, adds_noise: bool) -> float:
    """Round a count to a multiple of ten, after adding noise or, in the broken version, without any noise."""
    return 10.0 * round(_count(value, rng, 1 / EPSILON) / 10 if adds_noise else value / 10)


def _whole_count(value: float, rng: Generator, *, rounds_sum: bool) -> float:
    """Release a weighted count as a whole number: round the noisy sum or, in the broken version, only the noise."""
    noise = _laplace(1 / EPSILON, rng)
    return float(round(value + noise) if rounds_sum else value + round(noise))


def _mean(salaries: Array, rng: Generator, *, clamps: bool) -> float:
    """Release the mean of salaries with noise for values from 0 to 100; the fault is that values are not clamped."""
    values = np.clip(salaries, 0, 100) if clamps else salaries
    return float(round(values.mean() * _GRID) / _GRID + _laplace((100 / len(values) + 1 / _GRID) / EPSILON, rng))


def _total(answers: Array, rng: Generator, *, fills: bool) -> float:
    """Release the sum of answers from 0 to 1; a missing answer that is not filled in makes the sum NaN."""
    values = np.nan_to_num(answers) if fills else answers
    return float(np.clip(values, 0, 1).sum() + _laplace(1 / EPSILON, rng))


def _median(ages: Array, rng: Generator, *, uses_local_sensitivity: bool) -> float:
    """Release the median of ages from 0 to 100 with noise for the global or, if broken, the local sensitivity."""
    ordered, middle = np.sort(ages), len(ages) // 2
    sensitivity = max(np.diff(ordered)[middle - 1 : middle + 1]) if uses_local_sensitivity else 100.0
    return float(ordered[middle] + (_laplace(sensitivity / EPSILON, rng) if sensitivity else 0.0))


def _float_laplace(value: float, rng: Generator) -> float:
    """Sample Laplace noise in floating point, as textbooks do: the last bits of the result reveal the value.

    Mironov (2012); Haney et al. (2022).
    """
    uniform = rng.random() - 0.5
    # An audit reads the last bits. The last bits of NumPy's logarithm depend on the processor, but those of Decimal's
    # do not.
    logarithm = float(Decimal(1 - 2 * abs(uniform)).ln())
    return float(value - np.sign(uniform) * logarithm / EPSILON)


def _five_retries(answer: int, rng: Generator, *, remembers: bool) -> Any:
    """Send Warner's report five times, as if the network failed: the same report or, if broken, fresh reports."""
    lies = rng.random(1 if remembers else 5) < 1 / (np.exp(EPSILON) + 1)
    return np.resize(answer ^ lies, 5).astype(int)


def _rappor(answer: int, rng: Generator, *, keeps_ones: bool) -> Any:
    """Flip each of eight bits with probability 1 / (e**(epsilon/2) + 1); the faulty client never flips a 1."""
    bits = np.arange(8) == answer
    flips = rng.random(8) < 1 / (np.exp(EPSILON / 2) + 1)
    return bits | flips if keeps_ones else bits ^ flips


def _one_of_two(answers: tuple[int, int], rng: Generator, *, fakes: bool) -> Any:
    """Answer one of two yes/no questions, drawn at random; the answer to the other is -1 or faked by a coin flip.

    The fault is that there is less noise if the other answer is faked.
    """
    budget = np.log(2 * np.expm1(EPSILON) + 1) if fakes else EPSILON
    question = int(rng.integers(2))
    answer = answers[question] ^ int(rng.random() < 1 / (np.exp(budget) + 1))
    other = int(rng.integers(2)) if fakes else -1
    return (answer, other) if question == 0 else (other, answer)


def _sparse_vector(
    answers: Array, rng: Generator, *, threshold_scale: float = 2.0, query_scale: float = 4.0, max_above: int = 1
) -> Any:
    """Report which answers exceed 1, until `max_above` of them do: algorithm 1 of Lyu, Su and Li (2017).

    `threshold_scale` and `query_scale` are epsilon times the scale of the noise on the threshold and on each answer.
    The result is 1 for above, 0 for below, and -1 for answers that are no longer tested.
    """
    threshold = 1 + _laplace(threshold_scale / EPSILON, rng)
    above = answers + (_laplace_array(query_scale / EPSILON, len(answers), rng) if query_scale else 0) >= threshold
    return np.where(np.cumsum(above) - above < max_above, above.astype(int), -1)


def _noisy_answer(answers: Array, rng: Generator, *, draws_fresh_noise: bool) -> Any:
    """Release the first answer above a noisy 0, with fresh noise or, if broken, with the noise of the test.

    This is algorithm 3 of Lyu et al. (2017), by Roth (2011). The result is -1000 for answers below, and -2000 for
    answers that are no longer tested. With fresh noise, the test and the answer share the budget.
    """
    noisy_answers = answers + _laplace_array(8 if draws_fresh_noise else 2, len(answers), rng)
    above = np.flatnonzero(noisy_answers >= _laplace(4 if draws_fresh_noise else 2, rng))
    vector = np.full(len(answers), -1000.0)
    if len(above):
        vector[above[0]] = answers[above[0]] + _laplace(2, rng) if draws_fresh_noise else noisy_answers[above[0]]
        vector[above[0] + 1 :] = -2000
    return vector


def telling_event(n_below: int, max_answer: float = 0.0) -> tuple[float, float]:
    """Compute the probabilities, on two neighbors, of the event that breaks the exhibit `MISSED`.

    The event is that the first `n_below` answers are reported as below the threshold, and the next one as above it with
    a value of at most `max_answer`. On the first neighbor the last answer is 1 and all others are 0; on the second
    neighbor the last answer is 0 and all others are 1. The probabilities are sums over the grid of the noise.

    If an answer of 0 or less is reported as above the threshold, an observer knows that the threshold is lower.
    Therefore every preceding "below" costs epsilon/2.

    Parameters
    ----------
    n_below : int
        The number of answers reported as below the threshold.
    max_answer : float
        The upper limit on the value of the next answer.

    Returns
    -------
    tuple of float
        The probability on the first neighbor and on the second.

    Examples
    --------
    >>> likelier, other = telling_event(30)
    >>> round(float(np.log(likelier / other)), 2), likelier < 1e-12
    (14.5, True)
    """
    n_answers, steps = check_integer(n_below, "n_below"), np.arange(-_MAX_NOISE * _GRID, _MAX_NOISE * _GRID + 1)
    ratio = np.exp(-1 / (2 * _GRID))
    law = (
        (1 - ratio) / (1 + ratio) * ratio ** np.abs(steps)
    )  # the distribution of the threshold's noise and of each answer's noise
    probabilities = []
    for early, last in ((0, 1), (1, 0)):
        # The probability that an answer is below the threshold, for each value of the threshold's noise.
        under = np.append(0, np.cumsum(law))[np.maximum(np.arange(len(steps)) - early * _GRID, 0)]
        outputs = steps + last * _GRID
        inside = np.where(outputs <= max_answer * _GRID, law, 0)
        tail = np.append(np.cumsum(inside[::-1])[::-1], 0)[np.searchsorted(outputs, steps)]
        probabilities.append(float((law * under**n_answers * tail).sum()))
    return probabilities[0], probabilities[1]


_COLUMN = np.array([0, 0, 1, 1, 2])
_NEIGHBORS = shapes(30)
_COUNT = partial(_count, scale=1 / EPSILON)
_AGES = (np.array([0.0, 0, 0, 0, 100]), np.array([0.0, 0, 0, 100, 100]))
_ANSWERS = (np.array([1.0, 0.5, 0.5]), np.array([np.nan, 0.5, 0.5]))

EXHIBITS: dict[str, Exhibit] = {
    "half the noise": Exhibit(
        partial(_count, scale=0.5 / EPSILON), _COUNT, (0.0, 1.0), "scale 1/2 instead of sensitivity / epsilon"
    ),
    "one cell too few": Exhibit(
        partial(_histogram, scale=1 / EPSILON),
        partial(_histogram, scale=2 / EPSILON),
        (_COLUMN, np.array([2, 0, 1, 1, 2])),
        "noise for one count, but a changed record moves two",
    ),
    "the seed again": Exhibit(
        partial(_seeded_count, seed=1234), _seeded_count, (0.0, 1.0), "the same noise in every release"
    ),
    "two for one": Exhibit(
        partial(_two_releases, scale=1 / EPSILON),
        partial(_two_releases, scale=2 / EPSILON),
        (0, 1),
        "two releases, and epsilon charged once",
    ),
    "rounding as noise": Exhibit(
        partial(_coarse_count, adds_noise=False),
        partial(_coarse_count, adds_noise=True),
        (14.0, 15.0),
        "no noise at all: deterministic",
    ),
    "whole noise": Exhibit(
        partial(_whole_count, rounds_sum=False),
        partial(_whole_count, rounds_sum=True),
        (3.0, 3.5),
        "integer noise leaves the answer's fraction visible",
    ),
    "no clamping": Exhibit(
        partial(_mean, clamps=False),
        partial(_mean, clamps=True),
        replacements([30.0, 40.0, 50.0, 60.0], (0, 100)),
        "salaries are not clamped to the range",
    ),
    "missing answers": Exhibit(
        partial(_total, fills=False), partial(_total, fills=True), _ANSWERS, "one missing answer makes the sum NaN"
    ),
    "local sensitivity": Exhibit(
        partial(_median, uses_local_sensitivity=True),
        partial(_median, uses_local_sensitivity=False),
        _AGES,
        "the scale of the noise reveals the data",
    ),
    "float noise": Exhibit(_float_laplace, _COUNT, (0.0, 1.0), "the last bits of a float reveal the true value"),
    "five retries": Exhibit(
        partial(_five_retries, remembers=False),
        partial(_five_retries, remembers=True),
        (0, 1),
        "a fresh draw for every retry",
    ),
    "ones kept": Exhibit(
        partial(_rappor, keeps_ones=True), partial(_rappor, keeps_ones=False), (0, 1), "the true bit is never flipped"
    ),
    "faked questions": Exhibit(
        partial(_one_of_two, fakes=True),
        partial(_one_of_two, fakes=False),
        ((0, 0), (1, 1)),
        "fakes hide which question was asked, not a person's whole record",
    ),
    # Algorithms 5 (Stoddard et al. 2014), 6 (Chen et al. 2015) and 4 (Lee and Clifton 2014) of Lyu, Su and Li
    # (2017).
    "search without noise": Exhibit(
        partial(_sparse_vector, query_scale=0, max_above=99),
        _sparse_vector,
        _NEIGHBORS,
        "noise on the threshold alone, none on the queries",
    ),
    "search without end": Exhibit(
        partial(_sparse_vector, query_scale=2, max_above=99),
        _sparse_vector,
        _NEIGHBORS,
        "all answers above the threshold at the price of one",
    ),
    "search for ten": Exhibit(
        partial(_sparse_vector, threshold_scale=4.0, query_scale=4 / 3, max_above=10),
        _sparse_vector,
        _NEIGHBORS,
        "ten answers with noise for only one",
    ),
}
"""Broken mechanisms by name. An audit of 20,000 runs refutes each of them, and none of the repaired mechanisms."""

MISSED = Exhibit(
    partial(_noisy_answer, draws_fresh_noise=False),
    partial(_noisy_answer, draws_fresh_noise=True),
    _NEIGHBORS,
    "the answer reveals the threshold's noise",
)
"""A broken mechanism that audits of 20,000 runs never refute and audits of 200,000 runs sometimes miss.

The event that reveals the fault is rare; see `telling_event`.
"""


# `SLIDE` is a mechanism from a lecture slide: Laplace noise in p dimensions of scale S / epsilon, where S is the smooth
# sensitivity with beta = epsilon / (4 (p + 2 ln(2/delta))), the beta of Gaussian noise. With that scale, a shift by S
# uses all of epsilon, and nothing remains for the change of the scale by a factor of up to e**beta. The event that
# refutes the claim is too rare for an audit of a few hundred thousand runs, but `laplace_delta` computes its
# probability. The repaired mechanism doubles the noise, as in one dimension.

DELTA = 1e-6


def slide_beta(dimension: int, delta: float = DELTA) -> float:
    """Compute the smoothness beta that the exhibit `SLIDE` uses.

    Parameters
    ----------
    dimension : int
        The number of coordinates of the statistic.
    delta : float
        The delta of the claim.

    Returns
    -------
    float
        Beta = epsilon / (4 (dimension + 2 ln(2/delta))).

    Examples
    --------
    >>> round(slide_beta(1), 5)
    0.00833
    """
    return EPSILON / (4 * (check_integer(dimension, "dimension") + 2 * math.log(2 / delta)))


def _vector(data: tuple[Array, float], rng: Generator, *, multiplier: float) -> Array:
    """Release a statistic with noise calibrated to its smooth sensitivity S, of scale `multiplier` * S / epsilon."""
    value, smooth = data
    return np.asarray(value + _laplace_array(multiplier * smooth / EPSILON, len(value), rng))


def laplace_delta(epsilon: float, first: tuple[float, float], second: tuple[float, float]) -> float:
    """Compute the smallest delta for two Laplace distributions: the integral of (p - e**epsilon q)+.

    ln(p / q) is linear between the centers and beyond them, so it crosses epsilon at most once in each interval.

    Parameters
    ----------
    epsilon : float
        The epsilon of the claim.
    first : tuple of float
        The center and scale of p.
    second : tuple of float
        The center and scale of q.

    Returns
    -------
    float
        The delta.

    Examples
    --------
    >>> round(laplace_delta(1, (0, 1), (1, 1)), 12)  # the Laplace mechanism: no delta at all
    0.0
    >>> beta = slide_beta(1)
    >>> f"{laplace_delta(1, (0, 1), (math.exp(-beta), math.exp(-beta))):.1e}"  # 1e-6 is claimed
    '1.5e-03'
    """
    (m, s), (k, r) = first, second

    def excess(z: float) -> float:
        return math.log(r / s) - abs(z - m) / s + abs(z - k) / r - epsilon

    far = 800 * max(s, r)
    ends = sorted({min(m, k) - far, m, k, max(m, k) + far})
    cuts = list(ends)
    for low, high in pairwise(ends):
        at_low, at_high = excess(low), excess(high)
        if at_low * at_high < 0:
            cuts.append(low + (high - low) * at_low / (at_low - at_high))
    integrals = (
        _probability(first, low, high) - math.exp(epsilon) * _probability(second, low, high)
        for low, high in pairwise(sorted(cuts))
        if excess((low + high) / 2) > 0
    )
    return float(sum(integrals))


def _probability(law: tuple[float, float], low: float, high: float) -> float:
    """Compute the probability of an interval that lies on one side of the center."""
    center, scale = law
    near, far = sorted((abs(low - center), abs(high - center)))
    return (math.exp(-near / scale) - math.exp(-far / scale)) / 2


_SMALLER_SENSITIVITY = 64 * math.exp(-slide_beta(2))
_SHIFTED_VALUE = (
    math.floor(64 * _SMALLER_SENSITIVITY) / 64
)  # on the gallery's grid, so that the last bits reveal nothing

SLIDE = Exhibit(
    partial(_vector, multiplier=1.0),
    partial(_vector, multiplier=2.0),
    ((np.zeros(2), 64.0), (np.array([_SHIFTED_VALUE, 0.0]), _SMALLER_SENSITIVITY)),
    "the shift alone uses all of epsilon, and nothing is left for the scale",
    delta=DELTA,
)
"""A claim of (1, 1e-6) in two dimensions. An audit of 20,000 runs does not find the fault; `laplace_delta` does."""
