import math
from decimal import Context, Decimal
from fractions import Fraction

import numpy as np
import pytest
from scipy.special import ndtr

from tests.slowly import each
from toolkit.central.noise import gaussian_delta as calibration
from toolkit.central.noise.gaussian_delta import (
    GRID_SLACK,
    classic_noise_multiplier,
    gaussian_delta,
    grid_bits,
    is_private,
    mills_ratio_bounds,
    smallest_noise_multiplier,
)

PRECISE = Context(prec=200)


def upper_tail(x: Decimal) -> Fraction:
    """Phi(-x) to well over 60 digits, from the Taylor series of the integral around 0, in 200 digits."""
    total, term, k = Decimal(0), x, 0
    while abs(term) > Decimal("1e-190"):
        total = PRECISE.add(total, PRECISE.divide(term, Decimal(2 * k + 1)))
        k += 1
        term = PRECISE.divide(PRECISE.multiply(term, PRECISE.multiply(x, x)), Decimal(-2 * k))
    root = PRECISE.sqrt(PRECISE.multiply(Decimal(2), PI))
    return Fraction(1, 2) - Fraction(total) / Fraction(root)


# Machin's formula, so that the constant in the module is checked against something it does not share.
def _arctan_inverse(n: int) -> Fraction:
    return sum((Fraction((-1) ** k, (2 * k + 1) * n ** (2 * k + 1)) for k in range(150)), Fraction(0))


_PI = 16 * _arctan_inverse(5) - 4 * _arctan_inverse(239)
PI = PRECISE.divide(Decimal(_PI.numerator), Decimal(_PI.denominator))


@pytest.mark.parametrize("x", ["-12", "-3", "-0.001", "0", "0.5", "2.9999", "3", "3.1", "7", "12"])
def test_mills_ratio_encloses_the_truth_and_is_tight(x: str) -> None:
    number = Decimal(x)
    density = Fraction(PRECISE.exp(PRECISE.multiply(PRECISE.multiply(number, number), Decimal("-0.5")))) / Fraction(
        PRECISE.sqrt(PRECISE.multiply(Decimal(2), PI))
    )
    low, high = (Fraction(bound) for bound in mills_ratio_bounds(number))
    truth = upper_tail(number) / density
    assert low <= truth <= high
    assert high - low < truth / 10**25


@pytest.mark.parametrize(("epsilon", "ratio"), [(1, 4), (0.1, 30), (8, 0.6), (1e-3, 4000), (3, 2)])
def test_delta_is_the_formula_of_balle_and_wang(epsilon: float, ratio: float) -> None:
    low, high = gaussian_delta(Fraction(epsilon), Fraction(ratio))
    a, b = epsilon * ratio - 1 / (2 * ratio), epsilon * ratio + 1 / (2 * ratio)
    assert float(low) == pytest.approx(ndtr(-a) - math.exp(epsilon) * ndtr(-b), rel=1e-9)
    assert low <= high <= low * (1 + Decimal("1e-20"))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("epsilon", "delta"), [(1, 1e-6), (0.1, 1e-5), (8, 1e-5), (1e-3, 1e-9), (1, 1e-300), (100, 0.5), (1e-300, 1e-6)]
)
def test_the_least_ratio_is_proven_and_nothing_smaller_is(epsilon: float, delta: float) -> None:
    amount, slack = Fraction(repr(float(epsilon))), Fraction(repr(delta))
    ratio = smallest_noise_multiplier(amount, slack)
    assert is_private(amount, slack, ratio)
    assert not is_private(amount, slack, ratio * (1 - Fraction(1, 10**11)))
    assert gaussian_delta(amount, ratio)[1] <= delta
    assert gaussian_delta(amount, ratio * Fraction(99999, 100000))[0] > delta * (1 - 1e-3)


def test_the_least_ratio_is_proven_where_floats_see_no_delta() -> None:
    ratio = smallest_noise_multiplier(Fraction("1e-20"), Fraction("1e-300"))
    assert is_private(Fraction("1e-20"), Fraction("1e-300"), ratio)
    assert not is_private(Fraction("1e-20"), Fraction("1e-300"), ratio * (1 - Fraction(1, 10**11)))


def test_known_values_of_the_analytic_calibration() -> None:
    """sigma for sensitivity 1 as Balle and Wang's own code gives it (algorithm 1), to its tolerance; ours is
    a millionth larger.
    """
    for epsilon, delta, sigma in ((1, "1e-5", 3.730631634), (1, "1e-6", 4.224678889), ("1/10", "1e-6", 36.30469)):
        found = float(smallest_noise_multiplier(Fraction(epsilon), Fraction(delta)))
        assert sigma <= found * (1 + 1e-7)
        assert found == pytest.approx(sigma, rel=3e-6)


def test_textbook_formulas_are_rounded_up() -> None:
    ratio = classic_noise_multiplier(Fraction(5, 4), Fraction(1, 2), Fraction(1, 10**6))
    assert float(ratio) == pytest.approx(math.sqrt(2 * math.log(1.25e6)) / 0.5, rel=1e-15)
    assert ratio**2 * Fraction(1, 4) >= 2 * Fraction(PRECISE.ln(Decimal(1250000)))


def hockey_stick(z: np.ndarray, s: float, shift: tuple[int, ...], epsilon: float) -> float:
    """delta of the product of discrete Gaussians at a shift, by summation over all integers of a box."""
    weight = np.exp(-(z**2) / (2 * s**2))
    weight /= weight.sum()
    mass, other = np.ones(1), np.ones(1)
    for move in shift:
        mass = np.multiply.outer(mass, weight)
        other = np.multiply.outer(other, np.interp(z - move, z, weight, left=0, right=0))
    return float(np.maximum(mass - math.exp(epsilon) * other, 0).sum())


@each(epsilon=[0.2, 1.0], shift=[(1,), (3,), (5,), (1, 1), (2, 1), (3, 4), (5, 0)])
def test_the_bound_covers_the_step_to_the_discrete_gaussian_law(shift: tuple[int, ...], epsilon: float) -> None:
    """The argument of the module covers the step from the continuous to the discrete law.

    Brute force over the integers at a coarse grid, against steps 1 to 3 of the module's argument with T = 9.
    """
    s, reach, size = 15.0, 9.0, len(shift)
    z = np.arange(-200, 201)
    exact = hockey_stick(z, s, shift, epsilon)
    length = Fraction(math.isqrt(math.ceil(sum(move**2 for move in shift) * 4**30)) + 1, 2**30)
    less = epsilon - size * (reach**2 / 8 + 1 / 12) / s**2
    assert less > 0, "the grid is too coarse for this epsilon"
    continuous = float(gaussian_delta(Fraction(less), Fraction(s) / length)[1])
    bound = (1 - 1 / (24 * s**2)) ** -size * (
        continuous + math.exp(less) * size * math.exp(-((reach - 0.5 / s) ** 2) / 2)
    )
    assert exact <= bound


@pytest.mark.parametrize("size", [1, 10**6])
@pytest.mark.parametrize(("epsilon", "delta"), [(1.0, 1e-6), (1e-3, 1e-9), (20.0, 1e-3), (1e-9, 1e-12)])
def test_the_grid_is_fine_enough_for_the_slack(epsilon: float, delta: float, size: int) -> None:
    bits = grid_bits(Fraction(epsilon), Fraction(delta), size)
    s2, t2 = 4.0**bits, 2 * (2 * epsilon + math.log(size) - math.log(delta) + 16)
    assert s2 / 16 < size * t2 * 2**18 / epsilon <= s2 / 4  # and hardly finer than the proof asks
    assert size * (t2 / 8 + 1 / 12) / s2 <= epsilon * (1 - float(GRID_SLACK[0]))
    factor, tail = (
        math.expm1(size / (12 * s2)),
        math.exp(epsilon + math.log(size) - (math.sqrt(t2) - 0.5 / math.sqrt(s2)) ** 2 / 2),
    )
    assert (1 + factor) * (float(GRID_SLACK[1]) * delta + tail) <= delta


def test_where_delta_is_not_computed_nothing_below_1_is_proven() -> None:
    """So little noise that delta is between 0.99 and 1: a claim of 0.995 rests on the upper bound, and is refused."""
    ratio = Fraction(1, 1000)
    assert gaussian_delta(Fraction(1), ratio) == (Decimal("0.99"), Decimal(1))
    for delta in ("0.995", "0.9999"):
        assert not is_private(Fraction(1), Fraction(delta), ratio)


@pytest.mark.slow
@pytest.mark.parametrize("epsilon", ["1e-9", "1/10", "1", "20", "1e5"])
@pytest.mark.parametrize("delta", ["1e-400", "1e-6", "1/2"])
@pytest.mark.parametrize("guess", [1.0, 1.001])
def test_the_least_ratio_is_that_of_the_bisection_on_the_proof(epsilon, delta, guess, monkeypatch):
    """And if the crossing were known less well, the proof itself would be asked all the way."""
    asked, crossing = (Fraction(epsilon), Fraction(delta)), calibration._approximate_multiplier
    monkeypatch.setattr(calibration, "_approximate_multiplier", lambda *loss: guess * crossing(*loss))
    low, high = calibration._bisect_multiplier(lambda ratio: is_private(*asked, Fraction(ratio)))
    assert smallest_noise_multiplier.__wrapped__(*asked) == Fraction(high)
    assert is_private(*asked, Fraction(high))
    assert not is_private(*asked, Fraction(low))


@pytest.mark.parametrize("epsilon", ["1e-9", "1/100", "1", "20"])
@pytest.mark.parametrize("delta", ["1e-12", "1/100"])
def test_the_least_ratio_is_known_before_the_proof_is_asked_twice(epsilon, delta, monkeypatch):
    asked = []
    monkeypatch.setattr(calibration, "is_private", lambda *loss: asked.append(loss) or is_private(*loss))
    smallest_noise_multiplier.__wrapped__(Fraction(epsilon), Fraction(delta))
    assert len(asked) == 2


def test_a_ratio_is_private_only_with_the_slack_of_the_grid() -> None:
    for epsilon, ratio in ((Fraction(1), Fraction(4)), (Fraction(1, 10), Fraction(30))):
        delta = Fraction(gaussian_delta(epsilon * GRID_SLACK[0], ratio)[1]) / GRID_SLACK[1]
        assert is_private(epsilon, delta, ratio)
        assert not is_private(epsilon, delta * (1 - Fraction(1, 10**12)), ratio)
