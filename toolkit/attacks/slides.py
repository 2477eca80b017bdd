"""A release as a slide prints it: Laplace noise in p dimensions, scaled to the smooth sensitivity.

It is for the gallery of broken mechanisms, and nowhere else. The slide has beta = epsilon / (4 (p + 2
ln(2/delta))) and noise of scale S / epsilon. With that scale a shift by S uses all of epsilon, and nothing
is left for the scale itself, which may differ by a factor e**beta; the beta is that of Gaussian noise. What
breaks is too rare for an audit of a few hundred thousand runs: `laplace_delta` finds it without a run. An S
that is allowed twice the noise, as in one dimension, is the repair.
"""

import math
from functools import partial
from itertools import pairwise

import numpy as np

from toolkit.attacks.gallery import EPSILON, Exhibit, Generator, laplace
from toolkit.core.arrays import Array
from toolkit.core.checks import whole

DELTA = 1e-6


def slide_beta(dimension: int, delta: float = DELTA) -> float:
    """The smoothness that the slide asks for."""
    return EPSILON / (4 * (whole(dimension, "dimension") + 2 * math.log(2 / delta)))


def in_dimensions(found: tuple[Array, float], rng: Generator, *, times: float) -> Array:
    """A statistic and its smooth sensitivity S, with noise of scale `times` S / epsilon in each direction."""
    value, smooth = found
    return np.asarray(value + laplace(times * smooth / EPSILON, len(value), rng))


def laplace_delta(epsilon: float, first: tuple[float, float], second: tuple[float, float]) -> float:
    """The integral of (p - e**epsilon q)+ for two Laplace laws, each a centre and a scale.

    ln(p / q) is linear between the centres and beyond them, so that it crosses epsilon at most once in each
    part.

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
