"""A continuous symmetric law, added to a rational number and rounded to the nearest whole one: exactly.

Noise whose scale depends on the data must not be drawn from a discrete law on a fixed grid, for which
nothing is proven; but a continuous law that is rounded afterwards has lost nothing of what it promises. The
magnitude of the noise is known by its tail, Pr[|Z| > y], which one uniform number is compared with; bits of
that number are drawn only as far as the comparisons ask for.
"""

import math
from collections.abc import Callable
from decimal import Context, Decimal
from fractions import Fraction
from functools import lru_cache
from typing import TypeAlias

from toolkit.core.randomness import WORD, Enclosure, Rng, words

Tail: TypeAlias = Callable[[Fraction], Enclosure]
"""Of a distance y > 0, the enclosure of Pr[|Z| > y]; 1 at 0, continuous, falling."""

_GUARD = 30


class LazyUniform:
    """A uniform number from 0 to 1 whose bits are drawn when a comparison needs them."""

    def __init__(self, rng: Rng = None) -> None:
        self._rng, self._prefix, self._bits = rng, int(words(1, WORD, rng)[0]), WORD

    def is_below(self, probability: Enclosure) -> bool:
        """Whether the number is below the probability; the same number at every call."""
        while True:
            low, high = probability(self._bits)
            if self._prefix < low:
                return True
            if self._prefix >= high:
                return False
            self._prefix = (self._prefix << WORD) | int(words(1, WORD, self._rng)[0])
            self._bits += WORD


def rounded_sum(center: Fraction, tail: Tail, rng: Rng = None) -> int:
    """The whole number nearest to center + Z, halves up, for noise Z whose sign is a fair coin.

    >>> from toolkit.core.sampling.noise import exp_of
    >>> isinstance(rounded_sum(Fraction(1, 3), exp_of), int)
    True
    """
    positive, uniform = bool(int(words(1, 8, rng)[0]) & 1), LazyUniform(rng)
    edge = center + Fraction(1, 2)
    start = math.floor(edge)

    def reaches(j: int) -> bool:
        """Whether center + Z >= j - 1/2."""
        distance = j - edge
        if positive:
            return distance <= 0 or uniform.is_below(tail(distance))
        return distance < 0 and not uniform.is_below(tail(-distance))

    if positive:
        low, high = _gallop(start, 1, reaches)
    else:
        high, low = _gallop(start + 1, -1, lambda j: not reaches(j))
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if reaches(middle) else (low, middle)
    return low


def _gallop(start: int, way: int, holds: Callable[[int], bool]) -> tuple[int, int]:
    """The last place where it holds of a walk whose steps grow sixteenfold, and the next, where it does not."""
    last, step = start, way
    while holds(last + step):
        last, step = last + step, 16 * step
    return last, last + step


def normal_tail(square: Fraction) -> Enclosure:
    """The enclosure of Pr[|N| > z] for standard normal N and z**2 = `square`.

    It is 1 - sqrt(2 z**2 / pi) e**(-z**2 / 2) (1 + z**2 / 3 + z**4 / 15 + ...). All terms are positive, and each
    operation on decimals is rounded correctly, so that a few hundred of them cost three digits; what is left out after
    a term that is below the last digit is less than that term, as each is below half the one before.
    """

    def enclosure(bits: int) -> tuple[int, int]:
        if square > 2 * bits:  # then the tail is below e**-bits
            return 0, 1
        context = Context(prec=bits * 302 // 1000 + math.ceil(square) + _GUARD)
        argument = context.divide(Decimal(square.numerator), Decimal(square.denominator))
        total = term = Decimal(1)
        order = 1
        while 2 * argument > order or term > total.scaleb(-context.prec):
            order += 2
            term = context.divide(context.multiply(term, argument), Decimal(order))
            total = context.add(total, term)
        root = context.sqrt(context.divide(context.multiply(argument, Decimal(2)), pi(context.prec)))
        power = context.exp(context.divide(argument, Decimal(-2)))
        inside = context.multiply(context.multiply(root, power), total)
        numerator, denominator = context.subtract(Decimal(1), inside).as_integer_ratio()
        middle = (numerator << bits) // denominator
        return max(middle - 1, 0), max(middle + 2, 1)

    return enclosure


@lru_cache(maxsize=16)
def pi(digits: int) -> Decimal:
    """Pi to this many digits, by Machin's formula in integers.

    >>> pi(30)
    Decimal('3.14159265358979323846264338328')
    """
    unit = 10 ** (digits + 10)
    value = 4 * (4 * _inverse_tangent(5, unit) - _inverse_tangent(239, unit))
    return Context(prec=digits).divide(Decimal(value), Decimal(unit))


def _inverse_tangent(x: int, unit: int) -> int:
    total = term = unit // x
    order, sign = 1, 1
    while term:
        term //= x * x
        order, sign = order + 2, -sign
        total += sign * (term // order)
    return total
