"""A gallery of broken mechanisms. Each claims epsilon = 1, looks right at a glance or was published, and is wrong.

They are for lessons, and for testing audits: never for data. Beside each hangs its repair, the same code without the
fault. All noise but that of `float_laplace` lies on a grid of 1/64, so that only the planted fault can be seen.
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
from toolkit.core.checks import whole

Generator = np.random.Generator

EPSILON = 1.0
_GRID = 64
_REACH = 60  # noise beyond 60 has a probability below 1e-13


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
        What the fault is.
    delta : float
        Of the claim.

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
        """Audit the claim of epsilon = 1 and `delta`.

        Parameters
        ----------
        repaired : bool
            Whether to audit the repair.
        **options : Any
            As for `audit`.

        Returns
        -------
        Verdict
            Of the audit.
        """
        claim = {"epsilon": EPSILON, "delta": self.delta}
        return audit(self.repaired if repaired else self.broken, self.neighbors, **claim | options)


def laplace(scale: float, size: int, rng: Generator) -> Array:
    """Draw Laplace noise on the grid: the difference of two geometric numbers.

    Parameters
    ----------
    scale : float
        Of the noise.
    size : int
        How many.
    rng : numpy.random.Generator
        What draws.

    Returns
    -------
    array
        The noise.

    Examples
    --------
    >>> laplace(1.0, 3, np.random.default_rng(1)).shape
    (3,)
    """
    drawn = rng.geometric(-math.expm1(-1 / (scale * _GRID)), size=(2, size))
    return np.asarray((drawn[0] - drawn[1]) / _GRID)


def _one(scale: float, rng: Generator) -> float:
    """The same as `laplace(scale, 1, rng)[0]`, without an array: audits draw it a million times."""
    chance = -math.expm1(-1 / (scale * _GRID))
    return (int(rng.geometric(chance)) - int(rng.geometric(chance))) / _GRID


def count(value: float, rng: Generator, scale: float) -> float:
    """Release a count that one person moves by 1.

    Parameters
    ----------
    value : float
        The count.
    rng : numpy.random.Generator
        What draws.
    scale : float
        Of the noise.

    Returns
    -------
    float
        The count with noise.

    Examples
    --------
    >>> 5 < count(10, np.random.default_rng(1), scale=0.1) < 15
    True
    """
    return float(value + _one(scale, rng))


def histogram(column: npt.NDArray[np.intp], rng: Generator, scale: float) -> Array:
    """Release three counts; a person who moves from one to another changes two of them.

    Parameters
    ----------
    column : array of int
        0, 1 or 2 for each person.
    rng : numpy.random.Generator
        What draws.
    scale : float
        Of the noise.

    Returns
    -------
    array
        Three counts with noise.

    Examples
    --------
    >>> histogram(np.array([0, 1, 1]), np.random.default_rng(1), scale=1.0).shape
    (3,)
    """
    return np.asarray(np.bincount(column, minlength=3) + laplace(scale, 3, rng))


def seeded_count(value: float, rng: Generator, seed: int | None = None) -> float:
    """Release a count with noise from a generator of its own.

    Parameters
    ----------
    value : float
        The count.
    rng : numpy.random.Generator
        What draws, if there is no seed.
    seed : int, optional
        The fault: who knows it knows the noise.

    Returns
    -------
    float
        The count with noise.

    Examples
    --------
    >>> seeded_count(10, np.random.default_rng(1), seed=7) == seeded_count(10, np.random.default_rng(2), seed=7)
    True
    """
    return count(value, rng if seed is None else np.random.default_rng(seed), 1 / EPSILON)


def two_releases(value: float, rng: Generator, scale: float) -> Array:
    """Release the same count twice.

    Parameters
    ----------
    value : float
        The count.
    rng : numpy.random.Generator
        What draws.
    scale : float
        Of the noise.

    Returns
    -------
    array
        Two numbers.

    Examples
    --------
    >>> two_releases(10, np.random.default_rng(1), scale=2.0).shape
    (2,)
    """
    return np.asarray(value + laplace(scale, 2, rng))


def coarse_count(value: float, rng: Generator, *, noisy: bool) -> float:
    """Release a count rounded to tens, for privacy.

    Parameters
    ----------
    value : float
        The count.
    rng : numpy.random.Generator
        What draws.
    noisy : bool
        Whether noise is added before.

    Returns
    -------
    float
        A multiple of ten.

    Examples
    --------
    >>> coarse_count(14, np.random.default_rng(1), noisy=False)
    10.0
    """
    return 10.0 * round(count(value, rng, 1 / EPSILON) / 10 if noisy else value / 10)


def whole_count(value: float, rng: Generator, *, together: bool) -> float:
    """Release a weighted count made whole, for it looks nicer: either the sum is rounded, or the noise alone.

    Parameters
    ----------
    value : float
        The count.
    rng : numpy.random.Generator
        What draws.
    together : bool
        Whether the sum is rounded.

    Returns
    -------
    float
        The count with noise.

    Examples
    --------
    >>> whole_count(10.5, np.random.default_rng(1), together=True).is_integer()
    True
    """
    noise = _one(1 / EPSILON, rng)
    return float(round(value + noise) if together else value + round(noise))


def mean(salaries: Array, rng: Generator, *, clamps: bool) -> float:
    """Release the mean of salaries "from 0 to 100", with noise for that range.

    Parameters
    ----------
    salaries : array
        The salaries.
    rng : numpy.random.Generator
        What draws.
    clamps : bool
        Whether the range is seen to.

    Returns
    -------
    float
        The mean with noise.

    Examples
    --------
    >>> mean(np.full(10_000, 1e6), np.random.default_rng(1), clamps=True) < 200
    True
    """
    values = np.clip(salaries, 0, 100) if clamps else salaries
    return float(round(values.mean() * _GRID) / _GRID + _one((100 / len(values) + 1 / _GRID) / EPSILON, rng))


def total(answers: Array, rng: Generator, *, fills: bool) -> float:
    """Release the sum of answers from 0 to 1, one of which may be missing.

    Parameters
    ----------
    answers : array
        The answers.
    rng : numpy.random.Generator
        What draws.
    fills : bool
        Whether a missing answer counts as 0.

    Returns
    -------
    float
        The sum with noise; NaN where a missing one is not filled.

    Examples
    --------
    >>> total(np.array([1.0, np.nan]), np.random.default_rng(1), fills=False)
    nan
    """
    values = np.nan_to_num(answers) if fills else answers
    return float(np.clip(values, 0, 1).sum() + _one(1 / EPSILON, rng))


def median(ages: Array, rng: Generator, *, local: bool) -> float:
    """Release the median of ages from 0 to 100, with noise for how far one person can move it.

    Parameters
    ----------
    ages : array
        The ages.
    rng : numpy.random.Generator
        What draws.
    local : bool
        In these data, which is the fault, or in any.

    Returns
    -------
    float
        The median with noise.

    Examples
    --------
    >>> median(np.full(5, 40.0), np.random.default_rng(1), local=True)
    40.0
    """
    ordered, middle = np.sort(ages), len(ages) // 2
    reach = max(np.diff(ordered)[middle - 1 : middle + 1]) if local else 100.0
    return float(ordered[middle] + (_one(reach / EPSILON, rng) if reach else 0.0))


def float_laplace(value: float, rng: Generator) -> float:
    """Draw by the textbook's sampler in floating point: its last bits tell what was added.

    Mironov (2012); Haney et al. (2022).

    Parameters
    ----------
    value : float
        What noise is added to.
    rng : numpy.random.Generator
        What draws.

    Returns
    -------
    float
        The value with noise.

    Examples
    --------
    >>> isinstance(float_laplace(10, np.random.default_rng(1)), float)
    True
    """
    uniform = rng.random() - 0.5
    # Processors differ in the last bits of NumPy's logarithm, and an audit reads them; this one is the same everywhere.
    logarithm = float(Decimal(1 - 2 * abs(uniform)).ln())
    return float(value - np.sign(uniform) * logarithm / EPSILON)


def five_retries(answer: int, rng: Generator, *, remembers: bool) -> Any:
    """Send a yes or no by Warner's design, and again when the network fails: five times.

    Parameters
    ----------
    answer : int
        0 or 1.
    rng : numpy.random.Generator
        What draws.
    remembers : bool
        Whether the first report is sent again, or a new one is drawn each time.

    Returns
    -------
    array
        Five reports.

    Examples
    --------
    >>> len(set(five_retries(1, np.random.default_rng(1), remembers=True).tolist()))
    1
    """
    lies = rng.random(1 if remembers else 5) < 1 / (np.exp(EPSILON) + 1)
    return np.resize(answer ^ lies, 5).astype(int)


def rappor(answer: int, rng: Generator, *, keeps_ones: bool) -> Any:
    """Flip each of eight bits with probability 1 / (e**(epsilon/2) + 1); the faulty client never flips a 1.

    Parameters
    ----------
    answer : int
        The bit that is 1.
    rng : numpy.random.Generator
        What draws.
    keeps_ones : bool
        The fault.

    Returns
    -------
    array
        Eight bits.

    Examples
    --------
    >>> bool(rappor(3, np.random.default_rng(1), keeps_ones=True)[3])
    True
    """
    bits = np.arange(8) == answer
    flips = rng.random(8) < 1 / (np.exp(EPSILON / 2) + 1)
    return bits | flips if keeps_ones else bits ^ flips


def one_of_two(answers: tuple[int, int], rng: Generator, *, fakes: bool) -> Any:
    """Answer one of two yes/no questions, drawn at random; the other is left out, or faked by a coin.

    Where it is faked, the noise was made smaller for it.

    Parameters
    ----------
    answers : tuple of int
        Both true answers, 0 or 1.
    rng : numpy.random.Generator
        What draws.
    fakes : bool
        Whether the other is faked.

    Returns
    -------
    tuple of int
        Both reports; -1 for what is left out.

    Examples
    --------
    >>> -1 in one_of_two((0, 1), np.random.default_rng(1), fakes=False)
    True
    """
    budget = np.log(2 * np.expm1(EPSILON) + 1) if fakes else EPSILON
    place = int(rng.integers(2))
    answer = answers[place] ^ int(rng.random() < 1 / (np.exp(budget) + 1))
    other = int(rng.integers(2)) if fakes else -1
    return (answer, other) if place == 0 else (other, answer)


def sparse_vector(answers: Array, rng: Generator, *, bar: float = 2.0, query: float = 4.0, limit: int = 1) -> Any:
    """Tell which answers are above 1, until `limit` were: algorithm 1 of Lyu, Su and Li (2017).

    Parameters
    ----------
    answers : array
        The true answers.
    rng : numpy.random.Generator
        What draws.
    bar : float
        The scale of the threshold's noise, times epsilon.
    query : float
        The scale of each answer's noise, times epsilon.
    limit : int
        How many may be told as above.

    Returns
    -------
    array
        1 for above, 0 for below, -1 for not asked any more.

    Examples
    --------
    >>> sparse_vector(np.zeros(4), np.random.default_rng(1)).shape
    (4,)
    """
    threshold = 1 + _one(bar / EPSILON, rng)
    above = answers + (laplace(query / EPSILON, len(answers), rng) if query else 0) >= threshold
    return np.where(np.cumsum(above) - above < limit, above.astype(int), -1)


def telling_vector(answers: Array, rng: Generator, *, fresh: bool) -> Any:
    """Tell the first answer above 0, with the very noise that put it there, or fresh noise.

    The fault is that of Roth (2011), algorithm 3 of Lyu et al. -1000 stands for "below", -2000 for "not asked any
    more". With fresh noise, search and answer share the budget.

    Parameters
    ----------
    answers : array
        The true answers.
    rng : numpy.random.Generator
        What draws.
    fresh : bool
        Whether the answer has noise of its own.

    Returns
    -------
    array
        A number for each answer.

    Examples
    --------
    >>> telling_vector(np.zeros(4), np.random.default_rng(1), fresh=True).shape
    (4,)
    """
    noisy = answers + laplace(8 if fresh else 2, len(answers), rng)
    above = np.flatnonzero(noisy >= _one(4 if fresh else 2, rng))
    vector = np.full(len(answers), -1000.0)
    if len(above):
        vector[above[0]] = answers[above[0]] + _one(2, rng) if fresh else noisy[above[0]]
        vector[above[0] + 1 :] = -2000
    return vector


def telling_event(below: int, at_most: float = 0.0) -> tuple[float, float]:
    """Compute the probabilities, on two neighbors, of the event that breaks `telling_vector`.

    The event: so many below, then an answer of at most this. First neighbor: all answers are 0, the last is 1. Second:
    all are 1, the last is 0. Summed over the grid.

    An observer of an answer of at most 0 that was told as above knows that the threshold is lower still, and then
    every "below" before it costs epsilon/2.

    Parameters
    ----------
    below : int
        How many are told as below.
    at_most : float
        What the answer after them is at most.

    Returns
    -------
    tuple of float
        Both probabilities.

    Examples
    --------
    >>> likelier, other = telling_event(30)
    >>> round(float(np.log(likelier / other)), 2), likelier < 1e-12
    (14.5, True)
    """
    number, steps = whole(below, "below"), np.arange(-_REACH * _GRID, _REACH * _GRID + 1)
    ratio = np.exp(-1 / (2 * _GRID))
    law = (1 - ratio) / (1 + ratio) * ratio ** np.abs(steps)  # of the threshold's noise, and of every answer's
    chances = []
    for early, last in ((0, 1), (1, 0)):
        under = np.append(0, np.cumsum(law))[
            np.maximum(np.arange(len(steps)) - early * _GRID, 0)
        ]  # below each threshold
        outputs = steps + last * _GRID
        inside = np.where(outputs <= at_most * _GRID, law, 0)
        tail = np.append(np.cumsum(inside[::-1])[::-1], 0)[np.searchsorted(outputs, steps)]
        chances.append(float((law * under**number * tail).sum()))
    return chances[0], chances[1]


_COLUMN = np.array([0, 0, 1, 1, 2])
_MANY = shapes(30)
_COUNT = partial(count, scale=1 / EPSILON)
_AGES = (np.array([0.0, 0, 0, 0, 100]), np.array([0.0, 0, 0, 100, 100]))
_ANSWERS = (np.array([1.0, 0.5, 0.5]), np.array([np.nan, 0.5, 0.5]))

EXHIBITS: dict[str, Exhibit] = {
    "half the noise": Exhibit(
        partial(count, scale=0.5 / EPSILON), _COUNT, (0.0, 1.0), "scale 1/2 instead of sensitivity / epsilon"
    ),
    "one cell too few": Exhibit(
        partial(histogram, scale=1 / EPSILON),
        partial(histogram, scale=2 / EPSILON),
        (_COLUMN, np.array([2, 0, 1, 1, 2])),
        "noise for one count, but a person who changes moves two",
    ),
    "the seed again": Exhibit(
        partial(seeded_count, seed=1234), seeded_count, (0.0, 1.0), "the same noise in every release"
    ),
    "two for one": Exhibit(
        partial(two_releases, scale=1 / EPSILON),
        partial(two_releases, scale=2 / EPSILON),
        (0, 1),
        "two releases, and epsilon charged once",
    ),
    "rounding as noise": Exhibit(
        partial(coarse_count, noisy=False),
        partial(coarse_count, noisy=True),
        (14.0, 15.0),
        "no noise at all: deterministic",
    ),
    "whole noise": Exhibit(
        partial(whole_count, together=False),
        partial(whole_count, together=True),
        (3.0, 3.5),
        "whole noise leaves the fraction of the answer in sight",
    ),
    "no clamping": Exhibit(
        partial(mean, clamps=False),
        partial(mean, clamps=True),
        replacements([30.0, 40.0, 50.0, 60.0], (0, 100)),
        "nobody made sure that salaries lie in the range",
    ),
    "missing answers": Exhibit(
        partial(total, fills=False), partial(total, fills=True), _ANSWERS, "one missing answer makes the sum no number"
    ),
    "local sensitivity": Exhibit(
        partial(median, local=True), partial(median, local=False), _AGES, "the size of the noise tells about the data"
    ),
    "float noise": Exhibit(float_laplace, _COUNT, (0.0, 1.0), "the last bits of a float tell what was added"),
    "five retries": Exhibit(
        partial(five_retries, remembers=False),
        partial(five_retries, remembers=True),
        (0, 1),
        "a fresh draw for every retry",
    ),
    "ones kept": Exhibit(
        partial(rappor, keeps_ones=True), partial(rappor, keeps_ones=False), (0, 1), "the true bit is never turned"
    ),
    "faked questions": Exhibit(
        partial(one_of_two, fakes=True),
        partial(one_of_two, fakes=False),
        ((0, 0), (1, 1)),
        "fakes hide which question was asked, not what a whole person says",
    ),
    # Algorithms 5 (Stoddard et al. 2014), 6 (Chen et al. 2015) and 4 (Lee and Clifton 2014) of Lyu, Su and Li
    # (2017).
    "search without noise": Exhibit(
        partial(sparse_vector, query=0, limit=99),
        sparse_vector,
        _MANY,
        "noise on the threshold alone, none on the queries",
    ),
    "search without end": Exhibit(
        partial(sparse_vector, query=2, limit=99),
        sparse_vector,
        _MANY,
        "every answer above the threshold for one price",
    ),
    "search for ten": Exhibit(
        partial(sparse_vector, bar=4.0, query=4 / 3, limit=10),
        sparse_vector,
        _MANY,
        "ten answers with the noise for one",
    ),
}
"""All are refuted by an audit of 20,000 runs, and all repairs stand."""

MISSED = Exhibit(
    partial(telling_vector, fresh=False),
    partial(telling_vector, fresh=True),
    _MANY,
    "the answer tells about the threshold's noise",
)
"""Broken, too, but 20,000 runs do not show it, and 200,000 not always: what tells is rare. See
`telling_event`.
"""


# A release as a slide prints it: Laplace noise in p dimensions, scaled to the smooth sensitivity.
#
# It is for the gallery of broken mechanisms, and nowhere else. The slide has beta = epsilon / (4 (p + 2 ln(2/delta)))
# and noise of scale S / epsilon. With that scale a shift by S uses all of epsilon, and nothing is left for the scale
# itself, which may differ by a factor e**beta; the beta is that of Gaussian noise. What breaks is too rare for an
# audit of a few hundred thousand runs: `laplace_delta` finds it without a run. An S that is allowed twice the noise,
# as in one dimension, is the repair.

DELTA = 1e-6


def slide_beta(dimension: int, delta: float = DELTA) -> float:
    """Compute the smoothness that the slide asks for.

    Parameters
    ----------
    dimension : int
        Of the statistic.
    delta : float
        Of the claim.

    Returns
    -------
    float
        Beta.

    Examples
    --------
    >>> round(slide_beta(1), 5)
    0.00833
    """
    return EPSILON / (4 * (whole(dimension, "dimension") + 2 * math.log(2 / delta)))


def in_dimensions(found: tuple[Array, float], rng: Generator, *, times: float) -> Array:
    """Release a statistic with noise for its smooth sensitivity S in each direction.

    Parameters
    ----------
    found : tuple
        The statistic and S.
    rng : numpy.random.Generator
        What draws.
    times : float
        The scale of the noise is `times` S / epsilon.

    Returns
    -------
    array
        The statistic with noise.

    Examples
    --------
    >>> in_dimensions((np.zeros(2), 1.0), np.random.default_rng(1), times=1.0).shape
    (2,)
    """
    value, smooth = found
    return np.asarray(value + laplace(times * smooth / EPSILON, len(value), rng))


def laplace_delta(epsilon: float, first: tuple[float, float], second: tuple[float, float]) -> float:
    """Compute the integral of (p - e**epsilon q)+ for two Laplace laws.

    ln(p / q) is linear between the centres and beyond them, so that it crosses epsilon at most once in each part.

    Parameters
    ----------
    epsilon : float
        Of the claim.
    first : tuple of float
        Center and scale of p.
    second : tuple of float
        Center and scale of q.

    Returns
    -------
    float
        Delta.

    Examples
    --------
    >>> round(laplace_delta(1, (0, 1), (1, 1)), 12)  # the Laplace mechanism: no delta at all
    0.0
    >>> beta = slide_beta(1)
    >>> f"{laplace_delta(1, (0, 1), (math.exp(-beta), math.exp(-beta))):.1e}"  # 1e-6 is claimed
    '1.5e-03'
    """
    (m, s), (k, r) = first, second

    def height(z: float) -> float:
        return math.log(r / s) - abs(z - m) / s + abs(z - k) / r - epsilon

    far = 800 * max(s, r)
    ends = sorted({min(m, k) - far, m, k, max(m, k) + far})
    cuts = list(ends)
    for low, high in pairwise(ends):
        at_low, at_high = height(low), height(high)
        if at_low * at_high < 0:
            cuts.append(low + (high - low) * at_low / (at_low - at_high))
    parts = (
        _mass(first, low, high) - math.exp(epsilon) * _mass(second, low, high)
        for low, high in pairwise(sorted(cuts))
        if height((low + high) / 2) > 0
    )
    return float(sum(parts))


def _mass(law: tuple[float, float], low: float, high: float) -> float:
    """The probability between two points that lie on one side of the centre."""
    center, scale = law
    near, far = sorted((abs(low - center), abs(high - center)))
    return (math.exp(-near / scale) - math.exp(-far / scale)) / 2


_SHRUNK = 64 * math.exp(-slide_beta(2))
_MOVED = math.floor(64 * _SHRUNK) / 64  # on the gallery's grid, so that no last bits tell

SLIDE = Exhibit(
    partial(in_dimensions, times=1.0),
    partial(in_dimensions, times=2.0),
    ((np.zeros(2), 64.0), (np.array([_MOVED, 0.0]), _SHRUNK)),
    "the shift alone uses all of epsilon, and nothing is left for the scale",
    delta=DELTA,
)
"""Claims (1, 1e-6) in two dimensions. An audit of 20,000 runs does not show the fault; `laplace_delta`
does.
"""
