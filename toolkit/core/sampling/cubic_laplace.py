"""Integer vectors with Pr[k] proportional to e**(-m / scale), m the largest size of an entry: exact, in any
dimension.

It is the noise for numbers that one person moves by at most so much each, all of them at once. The cubes
{-r … r}**d lie in one another, and e**(-m / scale) is (1 - q) times the sum of q**r over all r >= m, q =
e**(-1 / scale). So a radius r is drawn with weight (2 r + 1)**d q**r, and then a vector of its cube, each
with the same probability.

**The radius.** d + 1 independent numbers with Pr[g] proportional to q**g, those of the two-sided law that are
not negative, add up to r with weight (r + 1) (r + 2) … (r + d) q**r / d!. It is kept with probability
(2 r + 1) / (2 r + 2 i) for each i = 1 … d, which leaves (2 r + 1)**d q**r times a constant.
"""

import numpy as np

from toolkit.core.checks import Number, positive, refuse, whole
from toolkit.core.randomness import Rng, below, big_below
from toolkit.core.sampling.noise import Integers, laplace_sampler


def cubic_laplace(scale: Number, dimension: int, rng: Rng = None) -> Integers:
    """One vector of integers, Pr[k] proportional to e**(-max |k_i| / scale), for a scale of at least the
    dimension.

    >>> len(cubic_laplace(2**20, 3))
    3
    """
    unit, size = positive(scale, "scale"), whole(dimension, "dimension")
    if unit < size:
        refuse("`scale` must be at least the dimension", float(unit), "choose a finer grid")
    sampler = laplace_sampler(unit)
    while True:
        radius = 0
        missing = size + 1
        while missing:
            drawn = sampler.draw(missing, rng)
            kept = drawn[drawn >= 0]
            radius, missing = radius + int(kept.sum()), missing - len(kept)
        if all(big_below(2 * (radius + i), rng) <= 2 * radius for i in range(1, size + 1)):
            return _of_cube(radius, size, rng)


def _of_cube(radius: int, size: int, rng: Rng) -> Integers:
    """`size` integers, each uniform on -radius … radius."""
    width = 2 * radius + 1
    if radius < 2**62:
        return below(width, size, rng).astype(np.int64) - radius
    return np.array([*(big_below(width, rng) - radius for _ in range(size)), None], dtype=object)[:-1]
