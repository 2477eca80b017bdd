"""Exact vectorized sampling from finite distributions with integer weights, and of integer noise of any rational scale.

The noise is discrete Laplace (two-sided geometric) or discrete Gaussian. Both distributions are symmetric with Pr[k]
proportional to rho(|k|), rho(n) = e**-(a n + b n**2): a = 1/scale, b = 0 for Laplace; a = 0, b = 1/(2 variance) for
Gauss. No floating-point number decides an outcome. The distribution is exact for these reasons:

1. *Small scales* (below 64): the integers in the order 0, -1, 1, -2, 2, … are drawn by `Inversion`. The powers of e
   are enclosed between integers. If a draw falls too close to an edge, more random bits and more digits of the edge are
   computed.
2. *Larger scales*: |k| = h m + l with m a power of two, l < m. h is drawn by inversion with weights rho(h m), l and
   the sign uniformly, and the triple is accepted with probability rho(h m + l) / rho(h m). So the probability of k is
   proportional to rho(h m) * rho(h m + l) / rho(h m) = rho(|k|). Minus zero is always rejected, because 0 would
   otherwise be counted twice.
3. *Acceptance with probability e**-x* compares a uniform number u with e**-x in three stages of precision. The first
   compares 16 bits of u with a lower bound on e**-x over the whole step h. The second compares 32 bits with the power
   series of e**-x in 32-bit integers; the comparison is certain unless they differ by less than 2**-27. The third uses
   decimal arithmetic and as many bits as necessary. A stage decides only if the comparison is certain.

Up to a scale of 2**53 the result is an int64 array. The computation of this array cannot overflow: h stays below 2**15
and m below 2**48. Above this scale, the result is an object array of Python integers, which is slower and has no limit.
The type depends on the scale alone.

References: Canonne, Kamath and Steinke (2020), The discrete Gaussian for differential privacy; Ghosh, Roughgarden and
Sundararajan (2009) for the geometric distribution. The tables are public constants of a scale; no random bit outlives
a call.
"""

import math
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from decimal import Context, Decimal
from fractions import Fraction
from functools import lru_cache, partial
from itertools import accumulate, islice, pairwise
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from toolkit.core.arrays import ArrayLike
from toolkit.core.checks import Number, check_integer, check_positive, reject
from toolkit.core.randomness import WORD, Enclosure, Rng, below, big_below, falls_below, words
from toolkit.core.rounding import to_decimal

_WORD = 16
# Up to this number, plain draws are faster than building the table.
_FEW_DRAWS = 4096
CHUNK = 1 << 17
"""The size of the chunks of a long computation, whose working arrays fit into the processor's cache."""

_UNDECIDED = -1

Cells = npt.NDArray[np.signedinteger]


class Categorical:
    """Outcome j with probability exactly weights[j] / sum(weights); the sum is at most 2**32.

    A uniform integer U below `total` falls into one of the consecutive cells of the weights. For many draws, a 16-bit
    word is looked up first. This word is the leading part of a finer uniform integer, word * total + U below 2**16 *
    total, and nearly always decides the cell alone. U is drawn only if a cell's edge lies inside the word's range. The
    distribution is exactly the same, and a draw nearly always needs only two random bytes.
    """

    def __init__(self, weights: ArrayLike) -> None:
        self._edges = np.concatenate([[0], np.cumsum(np.asarray(weights, dtype=np.uint64))]).astype(np.uint64)
        self._total = int(self._edges[-1])
        self.outcomes = len(self._edges) - 1
        self._table: Cells | None = None

    def cells(self, uniform: npt.NDArray[np.uint64]) -> npt.NDArray[np.intp]:
        """Return the outcome for each U below the total; the browser uses the same map."""
        return np.searchsorted(self._edges, uniform, side="right") - 1

    def draw(self, size: int, rng: Rng = None) -> Cells:
        """Draw `size` independent outcomes, in the smallest integer type that holds them."""
        if size <= _FEW_DRAWS:
            return self.cells(below(self._total, size, rng))
        if self._table is None:
            self._table = self._lookup_table()
        samples = np.empty(size, dtype=self._table.dtype)
        for start in range(0, size, CHUNK):
            self._fill(samples[start : start + CHUNK], self._table, rng)
        return samples

    def _fill(self, out: Cells, table: Cells, rng: Rng) -> None:
        """Fill `out` with outcomes from the lookup table; draw U only for words that do not decide the cell."""
        leading = words(len(out), _WORD, rng)
        np.take(table, leading, out=out, mode="clip")
        undecided = np.flatnonzero(out == _UNDECIDED)
        if len(undecided):
            total = np.uint64(self._total)
            finer = leading[undecided].astype(np.uint64) * total + below(self._total, len(undecided), rng)
            out[undecided] = np.searchsorted(self._edges << np.uint64(_WORD), finer, side="right") - 1

    def _lookup_table(self) -> Cells:
        """Return the cell that contains the whole range of each word, or a marker if an edge divides the range."""
        fine_edges = self._edges << np.uint64(_WORD)
        first = np.arange(1 << _WORD, dtype=np.uint64) * np.uint64(self._total)
        last = first + np.uint64(self._total - 1)
        cell = np.searchsorted(fine_edges, first, side="right") - 1
        whole = cell == np.searchsorted(fine_edges, last, side="right") - 1
        return np.where(whole, cell, _UNDECIDED).astype(np.min_scalar_type(-self.outcomes))


Integers: TypeAlias = npt.NDArray[Any]
"""Arrays of int64, or object arrays of Python integers if the scale is 2**53 or more."""

# A step is between 2**-6 and 2**-5 of the scale.
_FINE = 5

# Extra bits that absorb the rounding of a few thousand products.
_GUARD = 48

# The bits of a word that do not belong to the position within a step.
_SIGN_AND_QUICK = 17

# Up to this number, Python's integers are faster than arrays.
_FEW = 8

_STEP_LIMIT = 1 << 15

_ONE = np.uint64(1 << 32)

_HALF_WORD = np.uint64(32)

_TERMS = 12

_MARGIN = np.uint64(32)

Edges: TypeAlias = tuple[list[int], list[int]]
"""Lower and upper bounds on Pr[0], Pr[0] + Pr[1], …, times 2**bits; a list may omit a negligible tail."""

_LEADING = 16

# Up to this number, looking up whole words is faster than building the table.
_FEW_WORDS = 2048


def floor_log2(value: Fraction) -> int:
    """Return the largest integer e with 2**e <= value."""
    guess = value.numerator.bit_length() - value.denominator.bit_length()
    return guess if value >= Fraction(2) ** guess else guess - 1


def exp_minus_enclosure(exponent: Fraction, bits: int) -> tuple[int, int]:
    """Return integers low <= 2**bits * e**-exponent <= high that differ by at most 3, for a nonnegative exponent.

    The quotient and its exponential are each rounded to `digits` digits (the decimal module rounds both correctly), so
    the relative error is below (2 * bits + 2) / 10**(digits - 1), which is less than 2**-bits.
    """
    if exponent > bits:  # then e**-exponent < 2**-bits
        return 0, 1
    context = Context(prec=(bits * 302) // 1000 + len(str(bits)) + 5)
    power = context.exp(to_decimal(-exponent, context))
    numerator, denominator = power.as_integer_ratio()
    middle = (numerator << bits) // denominator
    return max(middle - 1, 0), middle + 2


def exp_of(exponent: Fraction) -> Enclosure:
    """Return the enclosure of e**-exponent, as a function of the number of bits."""
    return partial(exp_minus_enclosure, exponent)


class Inversion:
    """Outcome t if a uniform number U falls between the edges of t in the cumulative distribution.

    Only leading bits of U are drawn. Each edge is enclosed between two integers; an outcome is decided when every
    continuation of the bits lies between the upper bound of the edge below and the lower bound of the edge above.
    Otherwise, 64 more bits of U and of the edges are computed. So the distribution is exactly that of a real number U,
    and 16 bits are nearly always enough.
    """

    def __init__(self, edges: Callable[[int], Edges]) -> None:
        self._edges = edges
        self._lower, upper = edges(WORD)
        # No prefix reaches 2**WORD, so an edge at or above it may be replaced by 2**WORD - 1.
        self._upper = [min(edge, 2**WORD - 1) for edge in upper]
        self._low, self._high = (np.array(edge, dtype=np.uint64) for edge in (self._lower, [0, *self._upper]))
        self._table: npt.NDArray[np.signedinteger] | None = None

    def draw(self, size: int, rng: Rng = None) -> npt.NDArray[np.int64]:
        """Draw `size` independent outcomes."""
        if size <= _FEW_WORDS:
            return self._decide(words(size, WORD, rng), rng)
        if self._table is None:
            self._table = self._lookup_table()
        samples = np.empty(size, dtype=np.int64)
        for start in range(0, size, CHUNK):
            self._fill(samples[start : start + CHUNK], self._table, rng)
        return samples

    def draw_one(self, rng: Rng = None) -> int:
        """Draw one outcome, without the cost of arrays."""
        prefix = int(words(1, WORD, rng)[0])
        cell = bisect_right(self._lower, prefix)
        decided = cell < len(self._lower) and (cell == 0 or self._upper[cell - 1] <= prefix)
        return cell if decided else self._refine(prefix, rng)

    def _fill(self, out: npt.NDArray[np.int64], table: npt.NDArray[np.signedinteger], rng: Rng) -> None:
        """Fill `out` with outcomes from the lookup table; draw more bits only if 16 bits do not decide."""
        leading = words(len(out), _LEADING, rng)
        out[:] = np.take(table, leading, mode="clip")
        undecided = np.flatnonzero(out == _UNDECIDED)
        rest = words(len(undecided), WORD, rng) >> np.uint64(_LEADING)
        prefixes = (leading[undecided].astype(np.uint64) << np.uint64(WORD - _LEADING)) | rest
        out[undecided] = self._decide(prefixes, rng)

    def _cells(self, uniform: npt.NDArray[np.unsignedinteger]) -> npt.NDArray[np.intp]:
        """Return the outcome of each 64-bit prefix, or a marker if the prefix does not decide it."""
        cell = np.searchsorted(self._low, uniform, side="right")
        decided = (self._high[cell] <= uniform) & (cell < len(self._low))
        return np.where(decided, cell, _UNDECIDED)

    def _decide(self, uniform: npt.NDArray[np.unsignedinteger], rng: Rng) -> npt.NDArray[np.int64]:
        """Return the outcome of each 64-bit prefix, drawing more bits for prefixes that do not decide it."""
        cell = self._cells(uniform).astype(np.int64, copy=False)
        for i in np.flatnonzero(cell == _UNDECIDED):
            cell[i] = self._refine(int(uniform[i]), rng)
        return cell

    def _refine(self, prefix: int, rng: Rng) -> int:
        """Return the outcome where a prefix of 64 bits does not determine it; draw 64 more bits at a time."""
        bits = WORD
        while True:
            prefix, bits = (prefix << WORD) | int(words(1, WORD, rng)[0]), bits + WORD
            low, high = self._edges(bits)
            cell = bisect_right(low, prefix)
            if cell < len(low) and (cell == 0 or high[cell - 1] <= prefix):
                return cell

    def _lookup_table(self) -> npt.NDArray[np.signedinteger]:
        """Return the outcome that contains the whole range of each 16-bit word, or a marker if an edge divides it."""
        first = np.arange(1 << _LEADING, dtype=np.uint64) << np.uint64(WORD - _LEADING)
        cell = self._cells(first)
        whole = cell == self._cells(first + np.uint64((1 << (WORD - _LEADING)) - 1))
        return np.where(whole, cell, _UNDECIDED).astype(np.min_scalar_type(-len(self._low)))


def discrete_laplace(scale: Number, size: int, rng: Rng = None) -> Integers:
    """Draw `size` integers with Pr[k] proportional to e**(-|k|/scale): the two-sided geometric distribution."""
    return laplace_sampler(check_positive(scale, "scale")).draw(size, rng)


def discrete_gaussian(variance: Number, size: int, rng: Rng = None) -> Integers:
    """Draw `size` integers with Pr[k] proportional to e**(-k**2 / (2 variance))."""
    return gaussian_sampler(check_positive(variance, "variance")).draw(size, rng)


@lru_cache(maxsize=128)
def laplace_sampler(scale: Fraction) -> "LatticeSampler":
    """Return the sampler of `discrete_laplace`, whose tables are cached for repeated draws."""
    return LatticeSampler(1 / scale, Fraction(0))


@lru_cache(maxsize=128)
def gaussian_sampler(variance: Fraction) -> "LatticeSampler":
    """Return the sampler of `discrete_gaussian`, whose tables are cached for repeated draws."""
    return LatticeSampler(Fraction(0), 1 / (2 * variance))


class LatticeSampler:
    """An exact sampler with Pr[k] proportional to rho(|k|) = e**-(linear |k| + square k**2), as the module explains."""

    def __init__(self, linear: Fraction, square: Fraction) -> None:
        self._linear, self._square = linear, square
        size = floor_log2(1 / linear) if linear else floor_log2(1 / (2 * square)) // 2
        self.shift = max(0, size - _FINE)
        self._steps = Inversion(self._edges)
        if self.shift:
            self._sure, slope, curve = self._stages()
            self._quick = np.array([*self._sure, 0])
            self._slope, self._curve = np.array(slope, dtype=np.uint64), np.uint64(curve)

    def draw(self, size: int, rng: Rng = None) -> Integers:
        """Draw `size` independent integers."""
        if self.shift > WORD - _SIGN_AND_QUICK:
            return np.array([*(self.draw_one(rng) for _ in range(size)), None], dtype=object)[:-1]
        if size <= _FEW:
            return np.array([self.draw_one(rng) for _ in range(size)], dtype=np.int64)
        if self.shift == 0:
            cell = self._steps.draw(size, rng)
            return (cell >> 1) ^ -(cell & 1)
        samples = np.empty(size, dtype=np.int64)
        filled = 0
        while filled < size:
            fresh = self._draw_some(min(size - filled, CHUNK), rng)
            samples[filled : filled + len(fresh)] = fresh
            filled += len(fresh)
        return samples

    def exponent(self, step: int, offset: int) -> Fraction:
        """Return the x with e**-x = rho(step * m + offset) / rho(step * m)."""
        return self._linear * offset + self._square * offset * (2 * (step << self.shift) + offset)

    def draw_one(self, rng: Rng = None) -> int:
        """Draw one integer of any size, with Python's integers throughout."""
        while True:
            step = self._steps.draw_one(rng)
            if self.shift == 0:
                return (step >> 1) ^ -(step & 1)
            offset, negative = divmod(big_below(2 << self.shift, rng), 2)
            quick = int(words(1, 16, rng)[0])
            sure = step < len(self._sure) and quick < self._sure[step]
            accepted = sure or falls_below(exp_of(self.exponent(step, offset)), quick, 16, rng)
            magnitude = (step << self.shift) + offset
            if accepted and (magnitude or not negative):
                return -magnitude if negative else magnitude

    def _draw_some(self, size: int, rng: Rng) -> npt.NDArray[np.int64]:
        """Propose `size` integers and return those that are accepted."""
        step = self._steps.draw(size, rng)
        if step.max() >= _STEP_LIMIT:
            raise OverflowError("the noise left the range of 64-bit integers, an event of probability below 2**-700")
        word = words(size, WORD, rng).view(np.int64)
        offset = word & ((1 << self.shift) - 1)
        quick = (word >> 48) & 0xFFFF
        accepted = quick < np.take(self._quick, step, mode="clip")
        doubtful = np.flatnonzero(~accepted)
        accepted[doubtful] = self._keep(step[doubtful], offset[doubtful], quick[doubtful], rng)
        magnitude = (step << self.shift) | offset
        negative = -((word >> self.shift) & 1)
        accepted &= (magnitude | ~negative) != 0
        return ((magnitude ^ negative) - negative)[accepted]

    def _keep(self, step: Integers, offset: Integers, quick: Integers, rng: Rng) -> npt.NDArray[np.bool_]:
        """Decide acceptance by the second stage (power series, 16 more bits) and, if needed, by exact arithmetic."""
        uniform = (quick.astype(np.uint64) << np.uint64(16)) | words(len(quick), 16, rng)
        power = self._series(step, offset)
        accepted = uniform < power - _MARGIN
        beyond = step >= len(self._slope)  # the tables have no rows for very rare steps
        for i in np.flatnonzero(beyond | ((uniform >= power - _MARGIN) & (uniform <= power + _MARGIN))):
            exact = exp_of(self.exponent(int(step[i]), int(offset[i])))
            accepted[i] = falls_below(exact, int(uniform[i]), 32, rng)
        return accepted

    def _series(self, step: Integers, offset: Integers) -> npt.NDArray[np.uint64]:
        """Return 2**32 e**-x within 20 units, in integers: x = p (slope + curve p), p = offset / m, all times 2**32.

        Every division rounds down by less than one unit, so x is at most 6 units too small. The twelve terms of
        Horner's rule add 2 / (1 - x) units. For x below 0.7, the omitted terms contribute less than one unit.
        """
        position = _shifted(offset.astype(np.uint64), 32 - self.shift)
        slope = np.take(self._slope, step, mode="clip")
        x = ((slope + ((self._curve * position) >> _HALF_WORD)) * position) >> _HALF_WORD
        power = np.full_like(x, _ONE)
        for term in range(_TERMS, 0, -1):
            power = _ONE - ((x * power) >> _HALF_WORD) // np.uint64(term)
        return power

    def _stages(self) -> tuple[list[int], list[int], int]:
        """Return the 16-bit threshold of certain acceptance and the slope of x for each step, and x's curvature."""
        _, _, ratios, _ = self._powers(WORD)
        sure = [ratio >> (WORD + _GUARD - 16) for ratio in ratios]
        rise, curve = (
            math.floor(part * 2**96) for part in (self._linear * 2**self.shift, self._square * 4**self.shift)
        )
        return sure, [(rise + 2 * step * curve) >> 64 for step in range(len(sure))], curve >> 64

    def _powers(self, bits: int) -> tuple[list[int], list[int], list[int], tuple[int, int]]:
        """Return bounds on the scaled rho(0), rho(m), …, lower bounds on their ratios, and bounds on the tail.

        All are multiplied by 2**(bits + guard). rho((h+1) m) / rho(h m) falls by the same factor at each step, so two
        products give the next power. The ratios never increase, so a geometric series bounds the omitted tail. For the
        Laplace distribution the tail equals that series, and the list may stop early.
        """
        width = bits + _GUARD
        unit = 1 << width
        rise, curve = self._linear * 2**self.shift, self._square * 4**self.shift
        (ratio_low, ratio_high), (fall_low, fall_high) = (
            exp_minus_enclosure(rise + curve, width),
            exp_minus_enclosure(2 * curve, width),
        )
        low, high, ratios, enough = ([unit], [unit], [ratio_low], 1 << (_GUARD - 8 if curve else width - bits * 3 // 8))
        while (next_high := -(-(high[-1] * ratio_high) >> width)) >= enough:
            low.append((low[-1] * ratio_low) >> width)
            high.append(next_high)
            if curve:
                ratio_low, ratio_high = (ratio_low * fall_low) >> width, -(-(ratio_high * fall_high) >> width)
            ratios.append(ratio_low)
        rest_low = 0 if curve else (low[-1] * ratio_low) // (unit - ratio_low)
        return low, high, ratios, (rest_low, -(-(next_high << width) // (unit - ratio_high)))

    def _edges(self, bits: int) -> Edges:
        """Return bounds on the cumulative probabilities of the steps, or of 0, -1, 1, … if a step is one integer."""
        low, high, _, (rest_low, rest_high) = self._powers(bits)
        if self.shift == 0:
            low, high, rest_low, rest_high = _both_signs(low), _both_signs(high), 2 * rest_low, 2 * rest_high
        least, most = sum(low) + rest_low, sum(high) + rest_high
        return [(part << bits) // most for part in accumulate(low)], [
            -(-(part << bits) // least) for part in accumulate(high)
        ]


def _both_signs(weights: Sequence[int]) -> list[int]:
    return [weights[0], *(weight for weight in weights[1:] for _ in "-+")]


def _shifted(values: npt.NDArray[np.uint64], bits: int) -> npt.NDArray[np.uint64]:
    return values << np.uint64(bits) if bits >= 0 else values >> np.uint64(-bits)


# Integer vectors with Pr[k] proportional to e**(-|k| / scale), where |k| is the Euclidean length, are drawn exactly in
# any dimension.
#
# In one dimension this is the discrete Laplace distribution. In d dimensions the length is nearly Gamma(d, scale) and
# the direction nearly uniform. This is the high-dimensional Laplace noise on the integer grid, and no float decides an
# outcome.
#
# **Proposal.** As a function of the squared length y (in units of scale**2), -sqrt(y) is convex, so between two radii a
# < b it lies below its chord -(y + a b) / (a + b). The exponential of the chord is proportional to a product of
# discrete Gaussians of variance (a + b) / 2 * scale**2, one for each coordinate. With radii 0 = r0 < r1 < r2 < … an
# interval i is drawn with the weight of its Gaussian, e**(-a b / (a + b)) * theta**d, where theta is the sum of
# e**(-k**2 / (2 variance)) over the integers; then the vector is drawn from that Gaussian.
#
# **Rejection.** The vector is accepted only if its length falls into interval i, and then with probability e**-(chord
# minus -sqrt(y)). Each vector lies in one interval, so its probability is proportional to e**(-|k| / scale). If the
# radii grow by a factor of about 1 + 2/sqrt(d), nearly half of the vectors are accepted in any dimension.
#
# **theta.** By Poisson's summation formula, theta = sqrt(2 pi variance) (1 + 2 e**(-2 pi**2 variance) + …). The
# constant factors of the root cancel between the intervals. For a scale of at least 2**10, the bracket equals 1 to more
# digits than are ever compared.

LEAST_SCALE = 2**10


def radial_laplace(scale: Number, dimension: int, rng: Rng = None) -> Integers:
    """Draw one vector of integers with Pr[k] proportional to e**(-|k| / scale), for a scale of at least 2**10."""
    unit, size = check_positive(scale, "scale"), check_integer(dimension, "dimension")
    if unit < LEAST_SCALE:
        reject(f"`scale` must be at least {LEAST_SCALE}", float(unit), "choose a finer grid")
    intervals = _intervals(size)
    while True:
        interval = intervals.draw_one(rng)
        inner, outer = islice(_radii(size), interval, interval + 2)
        vector = discrete_gaussian(unit**2 * (inner + outer) / 2, size, rng)
        squared = Fraction(sum(entry * entry for entry in vector.tolist())) / unit**2
        if inner**2 <= squared < outer**2 and falls_below(_gap(squared, inner, outer), 0, 0, rng):
            return vector


def _radii(dimension: int) -> Iterator[int]:
    """Iterate over the radii, in units of the scale; after the first, each is at most three times the previous one."""
    root, radius = math.isqrt(dimension), max(1, dimension // 8)
    yield 0
    while True:
        yield radius
        radius += max(1, 2 * radius // (root + 1))


@lru_cache(maxsize=64)
def _intervals(dimension: int) -> Inversion:
    return Inversion(partial(_interval_edges, dimension))


def _interval_edges(dimension: int, bits: int) -> Edges:
    """Return bounds on the cumulative weights of the intervals, which are (a + b)**(d/2) e**(-a b / (a + b)).

    For a + b >= 32 d, each weight is at most e**(-7/32) < 5/6 of the previous weight: a b / (a + b) rises by at least
    (c
    - a) / 8 to the next interval (b, c), and d/2 ln(a + b) by at most (c - a) / 64. So the omitted tail is less
    than six times the next weight. Logarithms are rounded correctly; their error stays far below the guard bits.
    """
    width = bits + _GUARD
    context = Context(prec=width * 302 // 1000 + len(str(dimension)) + 12)
    log_weights: list[Decimal] = []
    for a, b in pairwise(_radii(dimension)):
        rise = context.multiply(context.ln(Decimal(a + b)), Decimal(dimension) / 2)
        log_weights.append(context.subtract(rise, context.divide(Decimal(a * b), Decimal(a + b))))
        if a + b >= 32 * dimension and log_weights[-1] - max(log_weights) < -(bits + 16):
            break
    weights = [_scaled(context, context.subtract(log_weight, max(log_weights)), width) for log_weight in log_weights]
    low, high = [max(weight - 2, 0) for weight in weights[:-1]], [weight + 2 for weight in weights[:-1]]
    least, most = sum(low), sum(high) + 6 * (weights[-1] + 2)
    return [(part << bits) // most for part in accumulate(low)], [
        -(-(part << bits) // least) for part in accumulate(high)
    ]


def _scaled(context: Context, exponent: Decimal, width: int) -> int:
    """Return 2**width * e**exponent within two units, for an exponent of at most 0."""
    if exponent < -width:
        return 0
    numerator, denominator = context.exp(exponent).as_integer_ratio()
    return (numerator << width) // denominator


def _gap(squared: Fraction, inner: int, outer: int) -> Enclosure:
    """Return the enclosure of e**-x, x = (r - inner)(outer - r) / (inner + outer), where r is the root of `squared`.

    x = r - (squared + inner * outer) / (inner + outer), and the root is computed in integers with eight extra bits.
    """
    rational = (squared + inner * outer) / (inner + outer)

    def enclosure(bits: int) -> tuple[int, int]:
        fine = bits + 8
        root = Fraction(math.isqrt(math.floor(squared * 4**fine)), 2**fine)
        least, most = (max(root - rational, Fraction(0)), max(root + Fraction(1, 2**fine) - rational, Fraction(0)))
        return exp_minus_enclosure(most, bits)[0], exp_minus_enclosure(least, bits)[1]

    return enclosure
