from decimal import Context, Decimal
from fractions import Fraction

import numpy as np
import pytest

from tests.slowly import each
from toolkit.core import randomness as enclosure
from toolkit.core.randomness import falls_below
from toolkit.core.sampling import exp_minus_enclosure, exp_of, floor_log2

PRECISE = Context(prec=400)


def power_of_e(exponent: Fraction) -> Fraction:
    """e**-exponent to 400 digits, straight from the decimal module."""
    return Fraction(PRECISE.exp(PRECISE.divide(Decimal(-exponent.numerator), Decimal(exponent.denominator))))


@each(
    exponent=[
        Fraction(0),
        Fraction(1, 10**30),
        Fraction(1, 3),
        Fraction(1),
        Fraction(2, 7) * 10,
        Fraction(44),
        Fraction(300),
        Fraction(10**9),
    ],
    bits=[0, 1, 16, 32, 64, 128, 640],
)
def test_the_enclosure_holds_the_power_and_is_tight(exponent: Fraction, bits: int) -> None:
    low, high = exp_minus_enclosure(exponent, bits)
    assert low <= power_of_e(exponent) * 2**bits <= high
    assert high - low <= 3


@pytest.mark.slow
@pytest.mark.parametrize("bits", [8, 16, 40, 64, 112, 176, 640])
def test_the_enclosure_holds_at_many_random_exponents(bits: int) -> None:
    """Against 400 digits; with denominators of every size, and half of the exponents between 1/2 and 2, where errors
    matter most.
    """
    rng = np.random.default_rng(bits)
    for i in range(150):
        denominator = int(rng.integers(1, 10 ** int(rng.integers(1, 18))))
        exponent = (
            Fraction(int(rng.integers(denominator, 4 * denominator)), 2 * denominator)
            if i % 2
            else Fraction(i, denominator)
        )
        low, high = exp_minus_enclosure(exponent, bits)
        assert low <= power_of_e(exponent) * 2**bits <= high <= low + 3


def feed(monkeypatch: pytest.MonkeyPatch, stream: list[int]) -> list[int]:
    """Let `falls_below` read these words; unread words remain in the list."""
    monkeypatch.setattr(enclosure, "words", lambda _count, _bits, _rng: np.array([stream.pop(0)], dtype=np.uint64))
    return stream


def test_one_third_is_decided_by_eight_bits_unless_they_are_85(monkeypatch: pytest.MonkeyPatch) -> None:
    """All 256 prefixes: 85 say yes, 170 say no, and the one that 1/3 cuts asks for more: so the law is exact."""

    def third(bits: int) -> tuple[int, int]:
        return 2**bits // 3, 2**bits // 3 + 1

    for prefix in range(256):
        left = feed(monkeypatch, [0])
        assert falls_below(third, prefix, 8) == (prefix <= 85)
        assert left == ([] if prefix == 85 else [0])


def test_a_tie_is_decided_by_the_next_word_and_the_one_after(monkeypatch: pytest.MonkeyPatch) -> None:
    exponent = Fraction(1, 2)
    exact = power_of_e(exponent)
    for bits in (64, 128):
        digits = int(exact * 2**bits)
        prefix, words = (
            digits >> (bits - 16),
            [(digits >> shift) & (2**64 - 1) for shift in range(bits - 80, -1, -64)],
        )
        for last, outcome in ((0, True), (2**64 - 1, False)):
            left = feed(monkeypatch, [*words, last, last])
            assert falls_below(exp_of(exponent), prefix, 16) is outcome
            assert len(left) < len(words) + 2


@pytest.mark.parametrize("value", [Fraction(1), Fraction(1, 3), Fraction(8), Fraction(10**40, 7), Fraction(7, 2**80)])
def test_floor_log2_is_exact(value: Fraction) -> None:
    power = floor_log2(value)
    assert Fraction(2) ** power <= value < Fraction(2) ** (power + 1)
