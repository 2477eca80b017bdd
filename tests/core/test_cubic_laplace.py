import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import chi2, gamma

from toolkit.learning import perturbation as cubes
from toolkit.learning.perturbation import cubic_laplace


@pytest.mark.parametrize("dimension", [1, 2, 5])
def test_the_weights_of_radii_and_cubes_give_the_law(dimension: int) -> None:
    """In Fractions, with q = 9/10: the sum of geometric numbers has weight C(r + d, d) q**r, what is kept of
    it times a constant is (2 r + 1)**d q**r, and cubes of all radii from m on add up to q**m.
    """
    q = Fraction(9, 10)
    for r in range(40):
        kept = math.prod(Fraction(2 * r + 1, 2 * (r + i)) for i in range(1, dimension + 1))
        weight = math.comb(r + dimension, dimension) * q**r * kept
        constant = 2**dimension * math.factorial(dimension)
        assert constant * weight == (2 * r + 1) ** dimension * q**r
    for m in range(5):
        rest = [(1 - q) * q**r for r in range(m, 200)]  # the chance of one vector in each cube that holds it
        assert q**m - sum(rest) == q**200


@pytest.mark.slow
def test_all_vectors_of_a_small_scale_come_as_often_as_they_should() -> None:
    """1,000 pairs of integers at scale 2, 25 cells and the rest; a false alarm has a probability of 1e-6."""
    rng, n, q = np.random.default_rng(5), 1000, math.exp(-1 / 2)
    total = sum(((2 * r + 1) ** 2 - (2 * r - 1) ** 2 if r else 1) * q**r for r in range(400))
    law = {pair: q ** max(map(abs, pair)) / total for pair in itertools.product(range(-2, 3), repeat=2)}
    found: dict[tuple[int, int], int] = dict.fromkeys(law, 0)
    for _ in range(n):
        pair = tuple(cubic_laplace(2, 2, rng).tolist())
        if pair in found:
            found[pair] += 1
    rest = n * (1 - sum(law.values()))
    others = n - sum(found.values())
    statistic = sum((found[pair] - n * law[pair]) ** 2 / (n * law[pair]) for pair in law)
    statistic += (others - rest) ** 2 / rest
    assert statistic < chi2.ppf(1 - 1e-6, len(law))


@pytest.mark.slow
def test_the_radius_of_a_fine_grid_is_gamma_and_entries_fill_its_cube() -> None:
    """150 vectors of 20 entries: the largest entry is near Gamma(20, scale), whose deciles are reached as often as
    expected; a false alarm has a probability of 1e-6, and a scale off by a fifth is found.
    """
    rng, scale, n = np.random.default_rng(6), 2**30, 150
    largest = np.array([np.abs(cubic_laplace(scale, 20, rng)).max() for _ in range(n)])

    def statistic(width: float) -> float:
        counts = np.bincount((gamma(20, scale=width).cdf(largest) * 10).astype(int), minlength=10)
        return float(((counts - n / 10) ** 2 / (n / 10)).sum())

    bar = chi2.ppf(1 - 1e-6, 9)
    assert statistic(scale) < bar < min(statistic(scale * 1.2), statistic(scale / 1.2))


def test_integers_beyond_a_word_are_drawn_too() -> None:
    far = cubic_laplace(2**70, 3, np.random.default_rng(1))
    assert far.dtype == object
    assert all(isinstance(entry, int) for entry in far)
    assert max(map(abs, far)) > 2**60
    edge = cubes._uniform_in_cube(2**62 - 1, 50, np.random.default_rng(1))
    assert edge.dtype == np.int64
    assert abs(int(edge.max())) < 2**62


def test_a_coarse_grid_is_refused() -> None:
    with pytest.raises(ValueError, match="`scale` must be at least the dimension"):
        cubic_laplace(2, 3)
