"""A gallery of broken mechanisms. Each claims epsilon = 1, looks right at a glance or was published, and is wrong.

They are made for lessons and for tests of audits, never for data. Each exhibit has its repair beside it, which is the
same code without the fault. All noise except in "float noise" lies on a grid of 1/64, so that an audit can detect
nothing but the planted fault.
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
_LARGEST_NOISE = 60  # noise beyond 60 has a probability below 1e-13


@dataclass(frozen=True)
class Exhibit:
    """A broken mechanism and its repair.

    Parameters
    ----------
    broken : callable
        The mechanism.
    repaired : callable
        The same without the fault.
    neighbors : tuple or list or dict
        Neighbors on which the fault shows.
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
            Whether to audit the repair.
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
    """Draw the same as `_laplace_array(scale, 1, rng)[0]` without an array: audits draw it a million times."""
    p = -math.expm1(-1 / (scale * _GRID))
    return (int(rng.geometric(p)) - int(rng.geometric(p))) / _GRID


def _count(value: float, rng: Generator, scale: float) -> float:
    """Release a count that one person changes by 1."""
    return float(value + _laplace(scale, rng))


def _histogram(column: npt.NDArray[np.intp], rng: Generator, scale: float) -> Array:
    """Release three counts; a person who moves from one cell to another changes two of them."""
    return np.asarray(np.bincount(column, minlength=3) + _laplace_array(scale, 3, rng))


def _seeded_count(value: float, rng: Generator, seed: int | None = None) -> float:
    """Release a count with noise from a generator that is seeded anew: the fault is `seed`."""
    return _count(value, rng if seed is None else np.random.default_rng(seed), 1 / EPSILON)


def _two_releases(value: float, rng: Generator, scale: float) -> Array:
    """Release the same count twice."""
    return np.asarray(value + _laplace_array(scale, 2, rng))


def _coarse_count(value: float, rng: Generator, *, noisy: bool) -> float:
    """Round a count to tens, with noise before or without any."""
    return 10.0 * round(_count(value, rng, 1 / EPSILON) / 10 if noisy else value / 10)


def _whole_count(value: float, rng: Generator, *, together: bool) -> float:
    """Release a weighted count as a whole number: round the noisy sum, or only the noise, which is the fault."""
    noise = _laplace(1 / EPSILON, rng)
    return float(round(value + noise) if together else value + round(noise))


def _mean(salaries: Array, rng: Generator, *, clamps: bool) -> float:
    """Release the mean of salaries "from 0 to 100" with noise for that range."""
    values = np.clip(salaries, 0, 100) if clamps else salaries
    return float(round(values.mean() * _GRID) / _GRID + _laplace((100 / len(values) + 1 / _GRID) / EPSILON, rng))


def _total(answers: Array, rng: Generator, *, fills: bool) -> float:
    """Release the sum of answers from 0 to 1, one of which may be missing; unfilled it makes the sum NaN."""
    values = np.nan_to_num(answers) if fills else answers
    return float(np.clip(values, 0, 1).sum() + _laplace(1 / EPSILON, rng))


def _median(ages: Array, rng: Generator, *, local: bool) -> float:
    """Release the median of ages from 0 to 100 with noise for the local sensitivity, the fault, or the global one."""
    ordered, middle = np.sort(ages), len(ages) // 2
    sensitivity = max(np.diff(ordered)[middle - 1 : middle + 1]) if local else 100.0
    return float(ordered[middle] + (_laplace(sensitivity / EPSILON, rng) if sensitivity else 0.0))


def _float_laplace(value: float, rng: Generator) -> float:
    """Sample Laplace noise as textbooks do, in floating point: its last bits reveal the value.

    Mironov (2012); Haney et al. (2022).
    """
    uniform = rng.random() - 0.5
    # Processors differ in the last bits of NumPy's logarithm, and an audit reads them; this one is the same everywhere.
    logarithm = float(Decimal(1 - 2 * abs(uniform)).ln())
    return float(value - np.sign(uniform) * logarithm / EPSILON)


def _five_retries(answer: int, rng: Generator, *, remembers: bool) -> Any:
    """Send Warner's report five times, as if the network failed: the first one again, or a fresh draw each time."""
    lies = rng.random(1 if remembers else 5) < 1 / (np.exp(EPSILON) + 1)
    return np.resize(answer ^ lies, 5).astype(int)


def _rappor(answer: int, rng: Generator, *, keeps_ones: bool) -> Any:
    """Flip each of eight bits with probability 1 / (e**(epsilon/2) + 1); the faulty client never flips a 1."""
    bits = np.arange(8) == answer
    flips = rng.random(8) < 1 / (np.exp(EPSILON / 2) + 1)
    return bits | flips if keeps_ones else bits ^ flips


def _one_of_two(answers: tuple[int, int], rng: Generator, *, fakes: bool) -> Any:
    """Answer one of two yes/no questions, drawn at random; the other is left out (-1), or faked by a coin.

    Where it is faked, the noise is reduced on account of it, which is the fault.
    """
    budget = np.log(2 * np.expm1(EPSILON) + 1) if fakes else EPSILON
    question = int(rng.integers(2))
    answer = answers[question] ^ int(rng.random() < 1 / (np.exp(budget) + 1))
    other = int(rng.integers(2)) if fakes else -1
    return (answer, other) if question == 0 else (other, answer)


def _sparse_vector(answers: Array, rng: Generator, *, bar: float = 2.0, query: float = 4.0, limit: int = 1) -> Any:
    """Report which answers exceed 1 until `limit` did: algorithm 1 of Lyu, Su and Li (2017).

    `bar` and `query` are the scales of the threshold's noise and of each answer's, times epsilon. The result has 1
    for above, 0 for below, and -1 for answers that are not tested any more.
    """
    threshold = 1 + _laplace(bar / EPSILON, rng)
    above = answers + (_laplace_array(query / EPSILON, len(answers), rng) if query else 0) >= threshold
    return np.where(np.cumsum(above) - above < limit, above.astype(int), -1)


def _noisy_answer(answers: Array, rng: Generator, *, fresh: bool) -> Any:
    """Release the first answer above a noisy 0, with the noise of the test, which is the fault, or with fresh noise.

    Roth (2011), algorithm 3 of Lyu et al. (2017). -1000 stands for below, -2000 for not tested any more. With fresh
    noise, test and answer share the budget.
    """
    noisy = answers + _laplace_array(8 if fresh else 2, len(answers), rng)
    above = np.flatnonzero(noisy >= _laplace(4 if fresh else 2, rng))
    vector = np.full(len(answers), -1000.0)
    if len(above):
        vector[above[0]] = answers[above[0]] + _laplace(2, rng) if fresh else noisy[above[0]]
        vector[above[0] + 1 :] = -2000
    return vector


def telling_event(below: int, at_most: float = 0.0) -> tuple[float, float]:
    """Compute the probabilities, on two neighbors, of the event that breaks the exhibit `MISSED`.

    The event is that the first `below` answers are reported as below the threshold, and the next as above it with a
    value of at most `at_most`. On the first neighbor all answers are 0 and the last is 1; on the second all are 1 and
    the last is 0. The probabilities are sums over the grid of the noise.

    Whoever observes an answer of at most 0 that is above the threshold knows that the threshold is even lower, so that
    every "below" before it costs epsilon/2.

    Parameters
    ----------
    below : int
        The number of answers reported as below the threshold.
    at_most : float
        The upper limit of the answer after them.

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
    number, steps = check_integer(below, "below"), np.arange(-_LARGEST_NOISE * _GRID, _LARGEST_NOISE * _GRID + 1)
    ratio = np.exp(-1 / (2 * _GRID))
    law = (1 - ratio) / (1 + ratio) * ratio ** np.abs(steps)  # noise of threshold and answers
    probabilities = []
    for early, last in ((0, 1), (1, 0)):
        # The probability that an answer lies below, for each value of the threshold's noise.
        under = np.append(0, np.cumsum(law))[np.maximum(np.arange(len(steps)) - early * _GRID, 0)]
        outputs = steps + last * _GRID
        inside = np.where(outputs <= at_most * _GRID, law, 0)
        tail = np.append(np.cumsum(inside[::-1])[::-1], 0)[np.searchsorted(outputs, steps)]
        probabilities.append(float((law * under**number * tail).sum()))
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
        "noise for one count, but a person who changes moves two",
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
        partial(_coarse_count, noisy=False),
        partial(_coarse_count, noisy=True),
        (14.0, 15.0),
        "no noise at all: deterministic",
    ),
    "whole noise": Exhibit(
        partial(_whole_count, together=False),
        partial(_whole_count, together=True),
        (3.0, 3.5),
        "whole noise leaves the fraction of the answer in sight",
    ),
    "no clamping": Exhibit(
        partial(_mean, clamps=False),
        partial(_mean, clamps=True),
        replacements([30.0, 40.0, 50.0, 60.0], (0, 100)),
        "nobody made sure that salaries lie in the range",
    ),
    "missing answers": Exhibit(
        partial(_total, fills=False),
        partial(_total, fills=True),
        _ANSWERS,
        "one missing answer makes the sum no number",
    ),
    "local sensitivity": Exhibit(
        partial(_median, local=True), partial(_median, local=False), _AGES, "the size of the noise tells about the data"
    ),
    "float noise": Exhibit(_float_laplace, _COUNT, (0.0, 1.0), "the last bits of a float tell what was added"),
    "five retries": Exhibit(
        partial(_five_retries, remembers=False),
        partial(_five_retries, remembers=True),
        (0, 1),
        "a fresh draw for every retry",
    ),
    "ones kept": Exhibit(
        partial(_rappor, keeps_ones=True), partial(_rappor, keeps_ones=False), (0, 1), "the true bit is never turned"
    ),
    "faked questions": Exhibit(
        partial(_one_of_two, fakes=True),
        partial(_one_of_two, fakes=False),
        ((0, 0), (1, 1)),
        "fakes hide which question was asked, not what a whole person says",
    ),
    # Algorithms 5 (Stoddard et al. 2014), 6 (Chen et al. 2015) and 4 (Lee and Clifton 2014) of Lyu, Su and Li
    # (2017).
    "search without noise": Exhibit(
        partial(_sparse_vector, query=0, limit=99),
        _sparse_vector,
        _NEIGHBORS,
        "noise on the threshold alone, none on the queries",
    ),
    "search without end": Exhibit(
        partial(_sparse_vector, query=2, limit=99),
        _sparse_vector,
        _NEIGHBORS,
        "every answer above the threshold for one price",
    ),
    "search for ten": Exhibit(
        partial(_sparse_vector, bar=4.0, query=4 / 3, limit=10),
        _sparse_vector,
        _NEIGHBORS,
        "ten answers with the noise for one",
    ),
}
"""Broken mechanisms by name. An audit of 20,000 runs refutes each of them, and none of their repairs."""

MISSED = Exhibit(
    partial(_noisy_answer, fresh=False),
    partial(_noisy_answer, fresh=True),
    _NEIGHBORS,
    "the answer tells about the threshold's noise",
)
"""A broken mechanism that 20,000 runs do not refute, and 200,000 not always: the event that reveals it is rare. See
`telling_event`.
"""


# `SLIDE` is a release as a slide of the lecture prints it: Laplace noise in p dimensions, scaled to the smooth
# sensitivity S, with beta = epsilon / (4 (p + 2 ln(2/delta))) and noise of scale S / epsilon. With that scale a shift
# by S uses all of epsilon, and nothing is left for the scale itself, which may differ by a factor e**beta; the beta is
# that of Gaussian noise. The event that breaks the claim is too rare for an audit of a few hundred thousand runs:
# `laplace_delta` finds it without a run. The repair doubles the noise, as in one dimension.

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


def _vector(data: tuple[Array, float], rng: Generator, *, times: float) -> Array:
    """Release a statistic with noise for its smooth sensitivity per coordinate; the scale is `times` S / epsilon."""
    value, smooth = data
    return np.asarray(value + _laplace_array(times * smooth / EPSILON, len(value), rng))


def laplace_delta(epsilon: float, first: tuple[float, float], second: tuple[float, float]) -> float:
    """Compute the smallest delta for two Laplace laws: the integral of (p - e**epsilon q)+.

    ln(p / q) is linear between the centers and beyond them, so that it crosses epsilon at most once in each interval.

    Parameters
    ----------
    epsilon : float
        The epsilon of the claim.
    first : tuple of float
        Center and scale of p.
    second : tuple of float
        Center and scale of q.

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
    """Compute the probability of an interval on one side of the center."""
    center, scale = law
    near, far = sorted((abs(low - center), abs(high - center)))
    return (math.exp(-near / scale) - math.exp(-far / scale)) / 2


_SHRUNK = 64 * math.exp(-slide_beta(2))
_MOVED = math.floor(64 * _SHRUNK) / 64  # on the gallery's grid, so that no last bits tell

SLIDE = Exhibit(
    partial(_vector, times=1.0),
    partial(_vector, times=2.0),
    ((np.zeros(2), 64.0), (np.array([_MOVED, 0.0]), _SHRUNK)),
    "the shift alone uses all of epsilon, and nothing is left for the scale",
    delta=DELTA,
)
"""A claim of (1, 1e-6) in two dimensions. An audit of 20,000 runs does not find the fault; `laplace_delta` does."""
