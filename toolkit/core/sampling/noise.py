"""Integer noise with an exact law: discrete Laplace (two-sided geometric) and discrete Gaussian, of any
rational scale.

Both laws are symmetric with Pr[k] proportional to rho(|k|), rho(n) = e**-(a n + b n**2): a = 1/scale, b = 0
for Laplace; a = 0, b = 1/(2 variance) for Gauss. No floating-point number decides an outcome. The argument
that the law is exact:

1. *Small scales* (below 64): the integers in the order 0, -1, 1, -2, 2, … are drawn by `Inversion`. The powers of e
   are enclosed between integers, and a draw that falls too near an edge gets more random bits and the edge more digits.
2. *Larger scales*: |k| = h m + l with m a power of two, l < m. h is drawn by inversion with weights rho(h m), l and
   the sign uniformly, and the triple is kept with probability rho(h m + l) / rho(h m); so it is kept in proportion to
   rho(h m) * rho(h m + l) / rho(h m) = rho(|k|). Minus zero is always rejected, else 0 would count twice.
3. *Keeping with probability e**-x* compares a uniform number u with e**-x in three stages of precision: 16 bits of u
   with a lower bound of e**-x over the whole step h; 32 bits with e**-x from its power series in 32-bit integers, sure
   but for a margin of 2**-27; then as many bits as it takes with decimal arithmetic. A stage decides only if the
   comparison is certain.

Up to a scale of 2**53 the result is an int64 array, and no sum in it can overflow: h stays below 2**15 and m
below 2**48. Above, it is an object array of Python integers, slower and without a limit. Which of them
depends on the scale alone.

References: Canonne, Kamath and Steinke (2020), The discrete Gaussian for differential privacy; Ghosh,
Roughgarden and Sundararajan (2009) for the geometric law. The tables are public constants of a scale; no
random bit outlives a call.
"""

import math
from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache
from itertools import accumulate
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from toolkit.core.checks import Number, positive
from toolkit.core.randomness import Rng, big_below, words
from toolkit.core.sampling.categorical import CHUNK
from toolkit.core.sampling.enclosure import WORD, exp_enclosure, exp_of, falls_below, floor_log2
from toolkit.core.sampling.inversion import Edges, Inversion

Integers: TypeAlias = npt.NDArray[Any]
"""int64, or Python integers in an object array where the scale is 2**53 or more."""

_FINE = 5  # a step is between 2**-6 and 2**-5 of the scale
_GUARD = 48  # bits beyond those asked for, to absorb the rounding of a few thousand products
_SIGN_AND_QUICK = 17  # bits of a word that are not the position within a step
_FEW = 8  # up to here Python's integers are faster than arrays
_STEP_LIMIT = 1 << 15
_ONE = np.uint64(1 << 32)
_HALF_WORD = np.uint64(32)
_TERMS = 12
_MARGIN = np.uint64(32)


def discrete_laplace(scale: Number, size: int, rng: Rng = None) -> Integers:
    """`size` integers with Pr[k] proportional to e**(-|k|/scale): the two-sided geometric law with ratio
    e**(-1/scale).

    >>> discrete_laplace(2, 5, np.random.default_rng(1)).dtype
    dtype('int64')
    """
    return laplace_sampler(positive(scale, "scale")).draw(size, rng)


def discrete_gaussian(variance: Number, size: int, rng: Rng = None) -> Integers:
    """`size` integers with Pr[k] proportional to e**(-k**2 / (2 variance)).

    >>> discrete_gaussian("25/2", 5, np.random.default_rng(1)).dtype
    dtype('int64')
    """
    return gaussian_sampler(positive(variance, "variance")).draw(size, rng)


def bernoulli_exp(exponent: Number, size: int, rng: Rng = None) -> npt.NDArray[np.bool_]:
    """`size` truth values, each true with probability exactly e**-exponent, for an exponent above 0.

    >>> bernoulli_exp("1/2", 4, np.random.default_rng(1)).dtype
    dtype('bool')
    """
    power = positive(exponent, "exponent")
    low, high = (np.uint64(min(bound, 2**WORD - 1)) for bound in exp_enclosure(power, WORD))
    uniform = words(size, WORD, rng)
    outcome = uniform < low
    for i in np.flatnonzero((uniform >= low) & (uniform <= high)):
        outcome[i] = falls_below(exp_of(power), int(uniform[i]), WORD, rng)
    return outcome


@lru_cache(maxsize=128)
def laplace_sampler(scale: Fraction) -> "LatticeSampler":
    """The sampler behind `discrete_laplace`, with its tables, for who draws often."""
    return LatticeSampler(1 / scale, Fraction(0))


@lru_cache(maxsize=128)
def gaussian_sampler(variance: Fraction) -> "LatticeSampler":
    """The sampler behind `discrete_gaussian`, with its tables, for who draws often."""
    return LatticeSampler(Fraction(0), 1 / (2 * variance))


class LatticeSampler:
    """Exact draws with Pr[k] proportional to rho(|k|) = e**-(linear |k| + square k**2); see the module's argument."""

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
        """`size` independent integers."""
        if self.shift > WORD - _SIGN_AND_QUICK:
            return np.array([*(self.draw_one(rng) for _ in range(size)), None], dtype=object)[:-1]
        if size <= _FEW:
            return np.array([self.draw_one(rng) for _ in range(size)], dtype=np.int64)
        if self.shift == 0:
            cell = self._steps.draw(size, rng)
            return (cell >> 1) ^ -(cell & 1)
        drawn = np.empty(size, dtype=np.int64)
        filled = 0
        while filled < size:
            fresh = self._draw_some(min(size - filled, CHUNK), rng)
            drawn[filled : filled + len(fresh)] = fresh
            filled += len(fresh)
        return drawn

    def exponent(self, step: int, place: int) -> Fraction:
        """The x with e**-x = rho(step * m + place) / rho(step * m)."""
        return self._linear * place + self._square * place * (2 * (step << self.shift) + place)

    def draw_one(self, rng: Rng = None) -> int:
        """One integer of any size, with Python's integers throughout."""
        while True:
            step = self._steps.draw_one(rng)
            if self.shift == 0:
                return (step >> 1) ^ -(step & 1)
            place, negative = divmod(big_below(2 << self.shift, rng), 2)
            quick = int(words(1, 16, rng)[0])
            sure = step < len(self._sure) and quick < self._sure[step]
            accepted = sure or falls_below(exp_of(self.exponent(step, place)), quick, 16, rng)
            magnitude = (step << self.shift) + place
            if accepted and (magnitude or not negative):
                return -magnitude if negative else magnitude

    def _draw_some(self, size: int, rng: Rng) -> npt.NDArray[np.int64]:
        """Up to `size` integers: those that are kept."""
        step = self._steps.draw(size, rng)
        if step.max() >= _STEP_LIMIT:
            raise OverflowError("the noise left the range of 64-bit integers, an event of probability below 2**-700")
        word = words(size, WORD, rng).view(np.int64)
        place = word & ((1 << self.shift) - 1)
        quick = (word >> 48) & 0xFFFF
        accepted = quick < np.take(self._quick, step, mode="clip")
        doubtful = np.flatnonzero(~accepted)
        accepted[doubtful] = self._keep(step[doubtful], place[doubtful], quick[doubtful], rng)
        magnitude = (step << self.shift) | place
        negative = -((word >> self.shift) & 1)
        accepted &= (magnitude | ~negative) != 0
        return ((magnitude ^ negative) - negative)[accepted]

    def _keep(self, step: Integers, place: Integers, quick: Integers, rng: Rng) -> npt.NDArray[np.bool_]:
        """The second and third stage: 16 more bits against the series, then exact arithmetic where that is not sure."""
        uniform = (quick.astype(np.uint64) << np.uint64(16)) | words(len(quick), 16, rng)
        power = self._series(step, place)
        accepted = uniform < power - _MARGIN
        beyond = step >= len(self._slope)  # a step so rare that it has no row in the tables
        for i in np.flatnonzero(beyond | ((uniform >= power - _MARGIN) & (uniform <= power + _MARGIN))):
            exact = exp_of(self.exponent(int(step[i]), int(place[i])))
            accepted[i] = falls_below(exact, int(uniform[i]), 32, rng)
        return accepted

    def _series(self, step: Integers, place: Integers) -> npt.NDArray[np.uint64]:
        """2**32 e**-x within 20 units, from integers: x = p (slope + curve p), p = place / m, all times
        2**32.

        Every division rounds down by less than one unit. That makes x at most 6 units too small; the twelve
        terms of Horner's rule add 2 / (1 - x) units, and for x below 0.7 what they leave out is less than
        one.
        """
        position = _shifted(place.astype(np.uint64), 32 - self.shift)
        slope = np.take(self._slope, step, mode="clip")
        x = ((slope + ((self._curve * position) >> _HALF_WORD)) * position) >> _HALF_WORD
        power = np.full_like(x, _ONE)
        for term in range(_TERMS, 0, -1):
            power = _ONE - ((x * power) >> _HALF_WORD) // np.uint64(term)
        return power

    def _stages(self) -> tuple[list[int], list[int], int]:
        """For every step the sure 16-bit threshold and the slope of x; the curve of x is the same for all."""
        _, _, ratios, _ = self._powers(WORD)
        sure = [ratio >> (WORD + _GUARD - 16) for ratio in ratios]
        rise, bend = (math.floor(part * 2**96) for part in (self._linear * 2**self.shift, self._square * 4**self.shift))
        return sure, [(rise + 2 * step * bend) >> 64 for step in range(len(sure))], bend >> 64

    def _powers(self, bits: int) -> tuple[list[int], list[int], list[int], tuple[int, int]]:
        """Lower and upper bounds of rho(0), rho(m), …, times 2**(bits + guard), lower bounds of their ratios,
        and of the rest.

        rho((h+1) m) / rho(h m) falls by the same factor at each step, so two products give the next power.
        The ratios never rise, so a geometric series bounds what the list leaves out; of the Laplace law it is
        that series, and the list may stop early.
        """
        width = bits + _GUARD
        one = 1 << width
        rise, bend = self._linear * 2**self.shift, self._square * 4**self.shift
        (ratio_low, ratio_high), (fall_low, fall_high) = (
            exp_enclosure(rise + bend, width),
            exp_enclosure(2 * bend, width),
        )
        low, high, ratios, enough = ([one], [one], [ratio_low], 1 << (_GUARD - 8 if bend else width - bits * 3 // 8))
        while (next_high := -(-(high[-1] * ratio_high) >> width)) >= enough:
            low.append((low[-1] * ratio_low) >> width)
            high.append(next_high)
            if bend:
                ratio_low, ratio_high = (ratio_low * fall_low) >> width, -(-(ratio_high * fall_high) >> width)
            ratios.append(ratio_low)
        rest_low = 0 if bend else (low[-1] * ratio_low) // (one - ratio_low)
        return low, high, ratios, (rest_low, -(-(next_high << width) // (one - ratio_high)))

    def _edges(self, bits: int) -> Edges:
        """Bounds of the cumulative probabilities of the steps; of 0, -1, 1, … where a step is one integer."""
        low, high, _, (rest_low, rest_high) = self._powers(bits)
        if self.shift == 0:
            low, high, rest_low, rest_high = _both_signs(low), _both_signs(high), 2 * rest_low, 2 * rest_high
        least, most = sum(low) + rest_low, sum(high) + rest_high
        return [(part << bits) // most for part in accumulate(low)], [
            -(-(part << bits) // least) for part in accumulate(high)
        ]


def _both_signs(weights: Sequence[int]) -> list[int]:
    return [weights[0], *(weight for weight in weights[1:] for _ in "-+")]


def _shifted(values: npt.NDArray[np.uint64], places: int) -> npt.NDArray[np.uint64]:
    return values << np.uint64(places) if places >= 0 else values >> np.uint64(-places)
