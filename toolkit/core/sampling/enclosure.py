"""Irrational numbers between two integers: what random bits are compared with when a law must be exact.

A probability such as e**-x has no finite expansion, but a comparison with a uniform number needs only as many
digits as it takes to tell them apart. Here is the enclosure of e**-x in integers, at any precision, and the
comparison that asks for more bits of both until it is sure.
"""

from collections.abc import Callable
from decimal import Context, Decimal
from fractions import Fraction
from typing import TypeAlias

from toolkit.core.randomness import Rng, words

Enclosure: TypeAlias = Callable[[int], tuple[int, int]]
"""Given a number of bits, integers low and high with low <= 2**bits * probability <= high."""

WORD = 64


def exp_enclosure(exponent: Fraction, bits: int) -> tuple[int, int]:
    """Integers low <= 2**bits * e**-exponent <= high, three apart at most, for an exponent of at least 0.

    The quotient and its exponential are each rounded to `digits` digits (the decimal module rounds both
    correctly), so the relative error is below (2 * bits + 2) / 10**(digits - 1), which is less than 2**-bits.

    >>> exp_enclosure(Fraction(1), 8)
    (93, 96)
    """
    if exponent > bits:  # then e**-exponent < 2**-bits
        return 0, 1
    context = Context(prec=(bits * 302) // 1000 + len(str(bits)) + 5)
    power = context.exp(context.divide(Decimal(-exponent.numerator), Decimal(exponent.denominator)))
    numerator, denominator = power.as_integer_ratio()
    middle = (numerator << bits) // denominator
    return max(middle - 1, 0), middle + 2


def falls_below(probability: Enclosure, prefix: int, bits: int, rng: Rng = None) -> bool:
    """Whether a uniform number whose first `bits` bits are `prefix` is below the probability; more bits are
    drawn until sure.

    The outcome is true with exactly the given probability, because it is only spoken when every continuation
    of the prefix would lead to the same one.
    """
    while True:
        low, high = probability(bits)
        if prefix < low:
            return True
        if prefix >= high:
            return False
        prefix, bits = (prefix << WORD) | int(words(1, WORD, rng)[0]), bits + WORD


def exp_of(exponent: Fraction) -> Enclosure:
    """The enclosure of e**-exponent, as a function of the number of bits."""

    def enclosure(bits: int) -> tuple[int, int]:
        return exp_enclosure(exponent, bits)

    return enclosure


def floor_log2(value: Fraction) -> int:
    """The largest integer e with 2**e <= value.

    >>> floor_log2(Fraction(1, 3)), floor_log2(Fraction(8))
    (-2, 3)
    """
    guess = value.numerator.bit_length() - value.denominator.bit_length()
    return guess if value >= Fraction(2) ** guess else guess - 1
