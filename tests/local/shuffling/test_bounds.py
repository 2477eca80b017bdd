"""Delta of shuffled reports, against exact convolution with fractions."""

import itertools
import math
from fractions import Fraction
from functools import cache

import numpy as np
import pytest

from tests.core.enumeration import exact_matrix, true_delta
from tests.slowly import each, slowly
from toolkit import k_ary
from toolkit.local.shuffling.bounds import (
    HINGE_ERROR,
    Pair,
    _centred,
    binomial_hinge,
    binomial_window,
    blanket,
    log_binomial,
    solve_epsilon,
)


@pytest.mark.slow
@pytest.mark.parametrize("n", slowly([2, 3, 5], {5}))
@pytest.mark.parametrize("options", [3, 4])
def test_the_blanket_encloses_the_truth_for_k_options(n, options):
    """The blanket of k options is never below the truth, and the bound from a third answer is never above it."""
    design = k_ary(options, epsilon=1.0)
    lie = Fraction(int(design.weights[0, 1]), design.denominator)
    pair = Pair.forced(1 - options * lie, lie, lie, (options - 2) * lie)
    for epsilon in (0.1, 0.4, 0.8):
        exact = float(true_delta(exact_matrix(design), n, epsilon))
        assert blanket(pair, n, 1e-6)(epsilon) >= exact
        assert blanket(pair, n, 1e-6, others_agree=True)(epsilon) <= exact * (1 + 1e-6) + 1e-9


def test_the_blanket_is_the_exact_mean_of_its_hinge():
    """E[(sum of scores)+] / n over the exact multinomial distribution of the scores, at n = 6; the grid may only
    increase it.
    """
    pair, n, epsilon = Pair.forced(Fraction(2, 5), Fraction(1, 10), Fraction(1, 5), Fraction(3, 10)), 6, 0.3
    gain, loss, toll = pair.scores(epsilon)
    chances = [0.1, 0.2, 0.3, 0.4]
    exact = 0.0
    for i, j, third in itertools.product(range(n + 1), repeat=3):
        left = n - i - j - third
        if left >= 0:
            ways = math.factorial(n) / math.prod(math.factorial(x) for x in (i, j, third, left))
            chance = ways * math.prod(c**x for c, x in zip(chances, (i, j, third, left), strict=True))
            exact += chance * max(gain * i - loss * j - toll * third, 0) / n
    found = blanket(pair, n, 1e-6)(epsilon)
    assert exact <= found <= exact * 1.05


def test_neutral_reports_are_centered_at_the_mean_of_the_whole_law():
    """The center does not depend on what the window omits: 6 of 200 people at 3 %."""
    values, _ = _centred(200, 0.03, 1e-3)
    assert np.allclose(values, np.arange(-6, len(values) - 6), rtol=0, atol=1e-12)


def test_what_the_window_of_the_crowd_leaves_out_is_added():
    """The added amount is a ten thousandth of delta, even if nothing else remains, just below the epsilon of a
    report.
    """
    pair = Pair.any_randomizer(1.0)
    for delta in (1e-3, 1e-9):
        assert blanket(pair, 1000, delta)(0.9999) >= 1e-4 * delta
        assert blanket(pair, 1000, delta)(1.0001) == 0


@pytest.mark.slow
def test_clones_hold_for_a_randomizer_that_is_no_forced_design():
    """A randomizer with 2 options and 3 reports, one of which reveals nothing, by enumeration."""
    matrix = [[Fraction(1, 2), Fraction(1, 6), Fraction(1, 3)], [Fraction(1, 6), Fraction(1, 2), Fraction(1, 3)]]
    for n, epsilon in itertools.product((2, 4, 7), (0.1, 0.4, 0.8)):
        assert blanket(Pair.any_randomizer(math.log(3)), n, 1e-6)(epsilon) >= float(true_delta(matrix, n, epsilon))


@pytest.mark.parametrize("guess", [1e-3, 0.2, 0.6, 2.0])
def test_epsilon_is_found_where_delta_is_nothing_on_most_of_the_way(guess):
    """The design's own epsilon may be far below the upper end of the search: secants alone converge slowly, and once
    ended at 0.23.
    """

    def at(epsilon):
        return max(0.9 * math.exp(-8 * epsilon) - 0.9 * math.exp(-8 * 0.67), 0)

    found = solve_epsilon(at, 1e-5, 4.0, guess)
    assert at(found) == pytest.approx(1e-5, rel=1e-8)


def test_epsilon_is_nothing_where_delta_is_never_above():
    assert solve_epsilon(lambda epsilon: 0.01 * math.exp(-epsilon), 0.01, 1.0, 0.3) == 0
    assert solve_epsilon(lambda epsilon: 0.01 * math.exp(-epsilon), 0.009, 1.0, 0.3) == pytest.approx(
        math.log(10 / 9), rel=1e-7
    )


@cache
def exact_binomial(trials, share):
    return [math.comb(trials, i) * share**i * (1 - share) ** (trials - i) for i in range(trials + 1)]


@pytest.mark.slow
@each(
    deviations=[0, 1, 3, 6],
    share=[Fraction(1, 2), Fraction(1, 8), Fraction(15, 16)],
    trials=[1, 2, 7, 16, 40, 300, 1500],
)
def test_a_hinge_is_never_below_the_exact_sum_and_at_most_a_hair_above(trials, share, deviations):
    slope = Fraction(13, 8)
    offset = slope * (trials * share + Fraction(deviations * math.sqrt(trials * share * (1 - share))))
    exact = sum(max(slope * i - offset, 0) * chance for i, chance in enumerate(exact_binomial(trials, share)))
    found = Fraction(
        float(binomial_hinge(np.array([float(trials)]), float(share), float(slope), np.array([float(offset)]))[0])
    )
    assert found >= exact * (1 - Fraction(1, 10**12))
    assert float(found) <= float(exact) * (1 + 2000 * HINGE_ERROR) + 1e-300


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
