"""The law of a combination of independent noises: its tail, and the error that it exceeds with a given
probability.

Noise is whole; a combination of Laplace noises is treated as if it were real, and moved by one step of each.
"""

import math
from collections.abc import Sequence
from decimal import Decimal, localcontext
from functools import lru_cache
from typing import Any

import numpy as np

from toolkit.central.noise.laws import GeometricLaw, NoiseLaw
from toolkit.core.arrays import Array
from toolkit.core.inference.special import ndtr, ndtri

_SPREAD = Decimal("1e-4")


@np.errstate(over="ignore", under="ignore", divide="ignore", invalid="ignore")
def tail_of_two(law: NoiseLaw, first: Any, second: Any, error: Any) -> Array:
    """Pr[|first Z + second Z'| >= error] of two noises of one law, entry by entry; never too small."""
    a, b = np.abs(first), np.abs(second)
    t = np.maximum(np.abs(error) - (a + b), 0.0)
    if not isinstance(law, GeometricLaw):
        length = np.hypot(a, b) * law.sd
        return np.asarray(2 * ndtr(-np.divide(t, length, out=np.full(t.shape, np.inf), where=length > 0)))
    a, b = np.maximum(a, b) * law.scale, np.minimum(a, b) * law.scale
    a = np.maximum(a, np.finfo(float).tiny)
    near = a - b < 1e-4 * a
    lesser = np.where(near, 0.5 * a, b)  # the formula for unequal ones is not used there
    small = np.where(lesser > 0, np.exp(-t / np.maximum(lesser, np.finfo(float).tiny)), 0.0)
    unequal = (np.exp(-t / a) - (lesser / a) ** 2 * small) / (1 - (lesser / a) ** 2)
    return np.asarray(np.where(near, (1 + t / (2 * a)) * np.exp(-t / a), unequal))


def reach_of(law: NoiseLaw, factors: Sequence[float], level: float) -> float:
    """The error that a combination of independent noises exceeds with probability at most 1 - level."""
    sizes = tuple(sorted(abs(factor) for factor in factors if factor))
    if not isinstance(law, GeometricLaw):
        return -float(ndtri((1 - level) / 2)) * law.sd * math.hypot(*sizes) + sum(sizes)
    if len(sizes) == 1:
        return sizes[0] * law.reach(level)
    return _laplace_reach(law.scale, sizes, level)


@lru_cache(maxsize=512)  # it depends on public numbers alone, and the same are asked for again and again
def _laplace_reach(scale: float, sizes: tuple[float, ...], level: float) -> float:
    """Laplace noises with factors that differ have a tail in closed form; equal ones are first made a little
    larger, each by another ten-thousandth, which makes the tail larger, too.
    """
    with localcontext() as context:
        context.prec = 120
        scales = [Decimal(size) * Decimal(scale) * (1 + place * _SPREAD) for place, size in enumerate(sizes, start=1)]
        weights = [math.prod((a * a / (a * a - b * b) for b in scales if b is not a), start=Decimal(1)) for a in scales]
        low, high = Decimal(0), sum(scales) * (len(scales) / Decimal(1 - level)).ln()
        for _ in range(60):
            error = (low + high) / 2
            tail = sum(weight * (-error / size).exp() for weight, size in zip(weights, scales, strict=True))
            low, high = (error, high) if tail > Decimal(1 - level) else (low, error)
        return float(high) + sum(sizes)


def accepted(tail: Any, best: Array, level: float) -> tuple[Array, Array]:
    """The least and the largest value from -1 to 1 that is not rejected, where `tail` gives the p-value of
    one; `best` is where that is largest on either side. Where all are rejected, the whole range.
    """
    ends = [np.full(best.shape, end) for end in (-1.0, 1.0)]
    allowed = 1 - level
    kept = [tail(end) >= allowed for end in ends]
    inside = tail(best) >= allowed
    anchor = np.where(inside, best, np.where(kept[0], -1.0, 1.0))
    found = []
    for end, keeps in zip(ends, kept, strict=True):
        out, good = end.copy(), anchor.copy()
        for _ in range(50):
            middle = (out + good) / 2
            yes = tail(middle) >= allowed
            out, good = np.where(yes, out, middle), np.where(yes, middle, good)
        found.append(np.where(keeps | ~(inside | kept[0] | kept[1]), end, good))
    return found[0], found[1]
