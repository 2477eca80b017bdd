"""Delta of shuffled reports, against exact convolution with fractions."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

from tests.core.enumeration import exact_matrix, true_delta
from toolkit import k_ary, warner
from toolkit.core.crowd import Pair, alike, blanket, every_composition, fewer


@pytest.mark.parametrize("n", [2, 3, 5, 8, 13])
@pytest.mark.parametrize("keep", ["3/4", "2/3", "9/10"])
def test_every_composition_is_the_exact_worst_case_of_warners_design(n, keep):
    design = warner(keep)
    for part in (0.1, 0.4, 0.8):
        epsilon = part * design.epsilon
        exact = true_delta(exact_matrix(design), n, epsilon)
        found = every_composition(float(Fraction(keep)), n)(epsilon)
        assert exact <= Fraction(found) <= exact + Fraction(1, 10**9)


def test_all_alike_is_not_the_worst_composition_of_few_people():
    """Why `every_composition` exists: for some epsilons a mixed crowd lies better on the grid of counts than a uniform one."""
    pair = Pair.forced(Fraction(1, 2), Fraction(1, 4), Fraction(1, 4), Fraction(0))
    gains = [every_composition(0.75, 13)(e) / alike(pair, 13)(e) - 1 for e in np.linspace(0.05, 0.9, 30)]
    assert min(gains) > -1e-9
    assert max(gains) > 0.05


@pytest.mark.parametrize("n", [301, 420, 640])
@pytest.mark.parametrize("epsilon", [0.1, 0.7, 1.0, 2.0])
def test_all_alike_for_a_few_people_fewer_is_above_every_composition(n, epsilon):
    keep = 1 / (1 + math.exp(-epsilon))
    pair = Pair(keep, 1 - keep, 1 - keep, keep, 1 - keep, 1 - keep)
    bound, every = alike(pair, fewer(keep, n)), every_composition(keep, n)
    for deviations in np.linspace(0.02, 6, 40):
        at = deviations * pair.spread(n)
        if at < epsilon and every(at) > 1e-7:
            assert bound(at) >= every(at)


@pytest.mark.parametrize("n", [2, 3, 5])
@pytest.mark.parametrize("options", [3, 4])
def test_the_blanket_of_k_options_is_never_below_the_truth_and_the_third_answer_never_above(n, options):
    design = k_ary(options, epsilon=1.0)
    lie = Fraction(int(design.weights[0, 1]), design.denominator)
    pair = Pair.forced(1 - options * lie, lie, lie, (options - 2) * lie)
    for epsilon in (0.1, 0.4, 0.8):
        exact = float(true_delta(exact_matrix(design), n, epsilon))
        assert blanket(pair, n, 1e-6)(epsilon) >= exact
        assert blanket(pair, n, 1e-6, third=True)(epsilon) <= exact * (1 + 1e-6) + 1e-9


def test_the_blanket_is_the_exact_mean_of_its_hinge():
    """E[(sum of scores)+] / n over the exact multinomial law of the scores, at n = 6; the grid may only add."""
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


def test_clones_hold_for_a_randomizer_that_is_no_forced_design():
    """A 2-option, 3-report randomizer with a report that tells nothing, by enumeration."""
    matrix = [[Fraction(1, 2), Fraction(1, 6), Fraction(1, 3)], [Fraction(1, 6), Fraction(1, 2), Fraction(1, 3)]]
    for n, epsilon in itertools.product((2, 4, 7), (0.1, 0.4, 0.8)):
        assert blanket(Pair.any_randomizer(math.log(3)), n, 1e-6)(epsilon) >= float(true_delta(matrix, n, epsilon))
