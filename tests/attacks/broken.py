"""Mechanisms with planted faults, each with the claim that it breaks, neighbours on which that shows, and its repair.

Every one looks right at a glance, or was published. They are the positive controls of the audit; the same code without the
fault is the negative control. All noise but that of `float_laplace` lies on a grid of 1/64, so that only the planted
fault can be seen.

What the default audit does not find is not here: a fourth published sparse vector (Roth 2011, algorithm 3 of Lyu et al.
2017) was planted too, its event proved too rare for the default runs, and it was taken out. Ten of eleven, then.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from toolkit.attacks.neighbours import replacements, shapes

EPSILON = 1.0
GRID = 64


@dataclass(frozen=True)
class Fault:
    name: str
    broken: Callable[..., Any]
    repaired: Callable[..., Any]
    neighbours: Any


def laplace(scale, size, rng):
    """The difference of two geometric numbers, on the grid: quick, and right to the last bit that matters here."""
    drawn = rng.geometric(-np.expm1(-1 / (scale * GRID)), size=(2, size))
    return (drawn[0] - drawn[1]) / GRID


def count(value, rng, scale):
    """Noise of scale sensitivity / epsilon; the fault is half of it."""
    return value + laplace(scale, 1, rng)[0]


def histogram(column, rng, scale):
    """Noise for one cell, although a replaced record moves two."""
    return np.bincount(column, minlength=3) + laplace(scale, 3, rng)


def seeded_count(value, rng, seed=None):
    """A fresh generator, but the same seed each time: the noise is a constant."""
    return value + laplace(1 / EPSILON, 1, rng if seed is None else np.random.default_rng(seed))[0]


def two_releases(value, rng, scale):
    """Each release costs epsilon, and epsilon is charged for both together."""
    return value + laplace(scale, 2, rng)


def sparse_vector(answers, rng, *, bar=2.0, query=4.0, limit=1):
    """Algorithm 1 of Lyu, Su and Li (2017): noise 2 / epsilon on the threshold, 4 limit / epsilon on queries."""
    threshold = 1 + laplace(bar / EPSILON, 1, rng)[0]
    noise = laplace(query / EPSILON, len(answers), rng) if query else 0
    above = answers + noise >= threshold
    return np.where(np.cumsum(above) - above < limit, above.astype(int), -1)


def rappor(answer, rng, *, keeps_ones=False):
    """Each of eight bits is flipped with probability 1 / (e**(epsilon/2) + 1); the faulty client never flips the one."""
    bits = np.arange(8) == answer
    flips = rng.random(8) < 1 / (np.exp(EPSILON / 2) + 1)
    return bits | flips if keeps_ones else bits ^ flips


def mean(salaries, rng, *, clamps=False):
    """The mean of salaries "between 0 and 100", with the noise for that; the fault is not to make sure."""
    values = np.clip(salaries, 0, 100) if clamps else salaries
    return round(values.mean() * GRID) / GRID + laplace((100 / len(values) + 1 / GRID) / EPSILON, 1, rng)[0]


def float_laplace(value, rng):
    """The textbook's sampler in floating point: its last bits tell what was added (Haney et al. 2022)."""
    uniform = rng.random() - 0.5
    return value - np.sign(uniform) * np.log(1 - 2 * abs(uniform)) / EPSILON


COLUMN = np.array([0, 0, 1, 1, 2])
MANY = shapes(30)
RIGHT = partial(count, scale=1 / EPSILON)
SPARSE = sparse_vector

FAULTS = [
    Fault("scale halved", partial(count, scale=0.5 / EPSILON), RIGHT, (0.0, 1.0)),
    Fault(
        "sensitivity forgotten under replace",
        partial(histogram, scale=1 / EPSILON),
        partial(histogram, scale=2 / EPSILON),
        (COLUMN, np.array([2, 0, 1, 1, 2])),
    ),
    Fault("seed reused", partial(seeded_count, seed=1234), seeded_count, (0.0, 1.0)),
    Fault(
        "charged once for two releases", partial(two_releases, scale=1 / EPSILON), partial(two_releases, scale=2 / EPSILON), (0, 1)
    ),
    # Algorithms 5 (Stoddard et al. 2014), 6 (Chen et al. 2015) and 4 (Lee and Clifton 2014) of Lyu, Su and Li (2017).
    Fault("sparse vector without query noise", partial(sparse_vector, query=0, limit=99), SPARSE, MANY),
    Fault("sparse vector without limit", partial(sparse_vector, query=2, limit=99), SPARSE, MANY),
    Fault("sparse vector with noise for one yes of ten", partial(sparse_vector, bar=4.0, query=4 / 3, limit=10), SPARSE, MANY),
    Fault("RAPPOR that keeps ones", partial(rappor, keeps_ones=True), rappor, (0, 1)),
    Fault("unclamped mean", mean, partial(mean, clamps=True), replacements([30.0, 40.0, 50.0, 60.0], (0, 100))),
    Fault("float Laplace", float_laplace, RIGHT, (0.0, 1.0)),
]
