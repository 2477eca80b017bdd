"""Integer vectors with Pr[k] proportional to e**(-|k| / scale), |k| the Euclidean length: exact, in any
dimension.

On the line this is the discrete Laplace law. In d dimensions the length is near Gamma(d, scale) and the
direction near uniform: the high-dimensional Laplace noise, on the integer grid and without a float that
decides.

**Proposal.** As a function of the squared length y (in units of scale**2), -sqrt(y) is convex, so between two
radii a < b it lies below its chord -(y + a b) / (a + b); and e to the chord is a product of discrete
Gaussians of variance (a + b) / 2 * scale**2, one for each coordinate. With radii 0 = r0 < r1 < r2 < … an
interval i is drawn with the weight of its Gaussian, e**(-a b / (a + b)) * theta**d, where theta is the sum of
e**(-k**2 / (2 variance)) over the integers; then the vector is drawn from that Gaussian.

**Rejection.** It is kept only if its length falls into interval i, and then with probability e**-(chord minus
-sqrt(y)). Each vector lies in one interval, so it is kept in proportion to e**(-|k| / scale). Radii that grow
by a factor of about 1 + 2/sqrt(d) keep nearly half of the vectors, whatever d.

**theta.** By Poisson's summation theta = sqrt(2 pi variance) (1 + 2 e**(-2 pi**2 variance) + …). The root's
constant factors cancel between the intervals; the bracket is 1 to more digits than are ever compared once the
scale is 2**10.
"""

import math
from collections.abc import Iterator
from decimal import Context, Decimal
from fractions import Fraction
from functools import lru_cache
from itertools import accumulate, islice, pairwise

from toolkit.core.checks import Number, positive, refuse, whole
from toolkit.core.randomness import Rng
from toolkit.core.sampling.enclosure import Enclosure, exp_enclosure, falls_below
from toolkit.core.sampling.inversion import Edges, Inversion
from toolkit.core.sampling.noise import Integers, discrete_gaussian

LEAST_SCALE = 2**10
_GUARD = 48


def radial_laplace(scale: Number, dimension: int, rng: Rng = None) -> Integers:
    """One vector of integers, Pr[k] proportional to e**(-|k| / scale), for a scale of at least 2**10.

    >>> len(radial_laplace(2**20, 3))
    3
    """
    unit, size = positive(scale, "scale"), whole(dimension, "dimension")
    if unit < LEAST_SCALE:
        refuse(f"`scale` must be at least {LEAST_SCALE}", float(unit), "choose a finer grid")
    intervals = _intervals(size)
    while True:
        chosen = intervals.draw_one(rng)
        inner, outer = islice(_radii(size), chosen, chosen + 2)
        vector = discrete_gaussian(unit**2 * (inner + outer) / 2, size, rng)
        squared = Fraction(_squared_length(vector)) / unit**2
        if inner**2 <= squared < outer**2 and falls_below(_gap(squared, inner, outer), 0, 0, rng):
            return vector


def _radii(dimension: int) -> Iterator[int]:
    """The radii, in units of the scale. None is more than three times the one before, after the first."""
    root, radius = math.isqrt(dimension), max(1, dimension // 8)
    yield 0
    while True:
        yield radius
        radius += max(1, 2 * radius // (root + 1))


@lru_cache(maxsize=64)
def _intervals(dimension: int) -> Inversion:
    def edges(bits: int) -> Edges:
        return _edges(dimension, bits)

    return Inversion(edges)


def _edges(dimension: int, bits: int) -> Edges:
    """Bounds of the cumulative weights of the intervals, (a + b)**(d/2) e**(-a b / (a + b)) each.

    From a + b >= 32 d on, each weight is at most e**(-7/32) < 5/6 of the one before: a b / (a + b) rises by
    at least (c - a) / 8 to the next interval (b, c), and d/2 ln(a + b) by at most (c - a) / 64. So what the
    list leaves out is less than six times its next weight. Logarithms are rounded correctly; their error
    stays far below the guard bits.
    """
    width = bits + _GUARD
    context = Context(prec=width * 302 // 1000 + len(str(dimension)) + 12)
    heights: list[Decimal] = []
    for a, b in pairwise(_radii(dimension)):
        rise = context.multiply(context.ln(Decimal(a + b)), Decimal(dimension) / 2)
        heights.append(context.subtract(rise, context.divide(Decimal(a * b), Decimal(a + b))))
        if a + b >= 32 * dimension and heights[-1] - max(heights) < -(bits + 16):
            break
    weights = [_scaled(context, context.subtract(height, max(heights)), width) for height in heights]
    low, high = [max(weight - 2, 0) for weight in weights[:-1]], [weight + 2 for weight in weights[:-1]]
    least, most = sum(low), sum(high) + 6 * (weights[-1] + 2)
    return [(part << bits) // most for part in accumulate(low)], [
        -(-(part << bits) // least) for part in accumulate(high)
    ]


def _scaled(context: Context, exponent: Decimal, width: int) -> int:
    """2**width * e**exponent within two units, for an exponent of at most 0."""
    if exponent < -width:
        return 0
    numerator, denominator = context.exp(exponent).as_integer_ratio()
    return (numerator << width) // denominator


def _gap(squared: Fraction, inner: int, outer: int) -> Enclosure:
    """The enclosure of e**-x, x = (r - inner)(outer - r) / (inner + outer), where r is the root of `squared`.

    x = r - (squared + inner * outer) / (inner + outer), and the root is taken in integers, eight bits finer
    than asked.
    """
    rational = (squared + inner * outer) / (inner + outer)

    def enclosure(bits: int) -> tuple[int, int]:
        fine = bits + 8
        root = Fraction(math.isqrt(math.floor(squared * 4**fine)), 2**fine)
        least, most = (max(root - rational, Fraction(0)), max(root + Fraction(1, 2**fine) - rational, Fraction(0)))
        return exp_enclosure(most, bits)[0], exp_enclosure(least, bits)[1]

    return enclosure


def _squared_length(vector: Integers) -> int:
    return sum(entry * entry for entry in vector.tolist())
