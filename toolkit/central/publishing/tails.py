"""Upper tails of whole noise, rounded up: how improbable it is that noise alone reaches a threshold.

What is bounded here decides a delta, so every number is a fraction that is never below the truth.
"""

import math
from collections.abc import Callable
from decimal import Context, Decimal
from fractions import Fraction
from typing import TypeAlias

from toolkit.central.gaussian import Gaussian
from toolkit.central.laplace import Laplace
from toolkit.central.noise.gaussian_delta import mills
from toolkit.central.noise.grid import GRID_BITS
from toolkit.core.sampling.noise import exp_enclosure

Tail: TypeAlias = Callable[[int], Fraction]
"""A bound of Pr[noise >= k], for k of at least 1; it falls with k."""

_BITS = 256
_DIGITS = Context(prec=60)
_MORE = Fraction(10**30 + 1, 10**30)  # more than the roundings of sigma and of some operations on 60 digits
_ROOT_OF_TWO_PI = Fraction("2.506628274631000502415765284811045253006986740609938316629923")  # rounded down


def geometric_tail(scale: Fraction) -> Tail:
    """Pr[Z >= k] = q**k / (1 + q), q = e**(-1/scale): of the discrete Laplace law.

    >>> float(geometric_tail(Fraction(1))(14))
    6.07...e-07
    """
    floor = Fraction(exp_enclosure(1 / scale, _BITS)[0], 2**_BITS)

    def tail(k: int) -> Fraction:
        return Fraction(exp_enclosure(k / scale, _BITS)[1], 2**_BITS) / (1 + floor)

    return tail


def rounded_normal_tail(variance: Fraction) -> Tail:
    """Pr[Z >= k] of a discrete Gaussian on the grid of `Gaussian`, rounded to whole numbers.

    It reaches k where the discrete Gaussian reaches k - 1/2. That is at most the probability that the normal
    law reaches one step of the grid less (Canonne, Kamath and Steinke 2020, proposition 25); a step is at
    most sigma / 2**GRID_BITS.

    >>> float(rounded_normal_tail(Fraction(16))(20))
    5.4...e-07
    """
    shift = 120 + max(0, variance.denominator.bit_length())
    sigma = Fraction(math.isqrt(math.ceil(variance * 4**shift)) + 1, 2**shift)

    def tail(k: int) -> Fraction:
        place = (k - Fraction(1, 2)) / sigma - Fraction(1, 2**GRID_BITS)
        if place <= 0:
            return Fraction(1)
        x = _DIGITS.divide(Decimal(place.numerator), Decimal(place.denominator))
        power = _DIGITS.exp(_DIGITS.multiply(_DIGITS.multiply(x, x), Decimal("-0.5")))
        return Fraction(power) * Fraction(mills(x)[1]) / _ROOT_OF_TWO_PI * _MORE

    return tail


def threshold_words(noise: Laplace | Gaussian) -> str:
    """What was done, for people."""
    return f"{type(noise).__name__} noise on counts, which are compared with a threshold"


def tail_of(noise: Laplace | Gaussian) -> Tail:
    """The tail of the whole noise that a mechanism adds to whole numbers; its sensitivity is at least 1."""
    return geometric_tail(noise.exact_scale) if isinstance(noise, Laplace) else rounded_normal_tail(noise.variance)


def least_reach(tail: Tail, enough: Callable[[Fraction], bool]) -> int:
    """The least k of at least 1 whose tail is small enough, by doubling and bisection.

    >>> least_reach(geometric_tail(Fraction(1)), lambda share: share <= Fraction(1, 10**6))
    14
    """
    high = 1
    while not enough(tail(high)):
        high *= 2
    low = high // 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(tail(middle)) else (middle, high)
    return high
