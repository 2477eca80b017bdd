"""The numerics behind shuffling, against exact fractions."""

import math
from fractions import Fraction

import numpy as np
import pytest

from toolkit.local.shuffling.bounds import UNSURE, binomial_hinge, binomial_window, log_binomial


def exact_binomial(trials, share):
    return [math.comb(trials, i) * share**i * (1 - share) ** (trials - i) for i in range(trials + 1)]


@pytest.mark.slow
@pytest.mark.parametrize("trials", [1, 2, 7, 16, 40, 300, 1500])
@pytest.mark.parametrize("share", [Fraction(1, 2), Fraction(1, 8), Fraction(15, 16)])
@pytest.mark.parametrize("deviations", [0, 1, 3, 6])
def test_a_hinge_is_never_below_the_exact_sum_and_at_most_a_hair_above(trials, share, deviations):
    slope = Fraction(13, 8)
    offset = slope * (trials * share + Fraction(deviations * math.sqrt(trials * share * (1 - share))))
    exact = sum(max(slope * i - offset, 0) * chance for i, chance in enumerate(exact_binomial(trials, share)))
    found = Fraction(
        float(binomial_hinge(np.array([float(trials)]), float(share), float(slope), np.array([float(offset)]))[0])
    )
    assert found >= exact * (1 - Fraction(1, 10**12))
    assert float(found) <= float(exact) * (1 + 2000 * UNSURE) + 1e-300


@pytest.mark.parametrize("trials", [1, 15, 16, 200, 600])
def test_binomial_logarithms_keep_twelve_digits(trials):
    share = Fraction(3, 16)
    counts = np.arange(trials + 1, dtype=float)
    found = log_binomial(counts, np.full(trials + 1, float(trials)), float(share))
    for place in range(0, trials + 1, max(1, trials // 20)):
        chance = math.comb(trials, place) * share**place * (1 - share) ** (trials - place)
        expected = math.log(chance.numerator) - math.log(chance.denominator)
        assert found[place] == pytest.approx(expected, rel=1e-13, abs=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("trials", "share"), [(60, Fraction(3, 10)), (500, Fraction(1, 64)), (400, Fraction(63, 64)), (5, Fraction(1, 2))]
)
def test_a_window_holds_all_but_what_was_said_and_its_chances_are_exact(trials, share):
    beyond = 1e-9
    counts, chances = binomial_window(trials, float(share), beyond)
    exact = exact_binomial(trials, share)
    inside = [exact[int(c)] for c in counts]
    assert 1 - sum(inside) <= beyond
    assert np.allclose(chances, [float(x / sum(inside)) for x in inside], rtol=1e-12, atol=0)
