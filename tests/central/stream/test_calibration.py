from fractions import Fraction

import pytest

from toolkit.central.stream import SquareRoot, Tree
from toolkit.central.stream.calibration import (
    CalibratedNoise,
    GeometricSumLaw,
    best_factorization,
    lowest_error_factorization,
)
from toolkit.core.loss import Pure, Zcdp
from toolkit.core.sampling import gaussian_sampler, laplace_sampler


def test_noise_is_what_one_person_moves_over_the_loss() -> None:
    pure = CalibratedNoise(Tree(52, 8, 2), Pure("1/2"), sensitivity=3, per_person=4)
    assert pure.scale == 2 * 4 * 3 / Fraction(1, 2)
    assert pure.sampler is laplace_sampler(Fraction(48))
    fresh = CalibratedNoise(Tree(52), Zcdp("1/2"), sensitivity=2, per_person=5)
    assert fresh.variance == 5 * 4 / Fraction(1)
    assert fresh.sampler is gaussian_sampler(Fraction(20))
    rooted = CalibratedNoise(SquareRoot(52), Zcdp(2), sensitivity=1, per_person=1)
    assert rooted.variance == SquareRoot(52)._l2_squared() * 2**48 / 4


def test_the_law_of_a_published_number_is_that_of_the_noise_in_it() -> None:
    """After 7 of 9 periods a tree of blocks of 3 has 2 blocks and a period; whole noise reaches half a step further."""
    tree, root = Tree(9, 3, 2), SquareRoot(9)
    assert CalibratedNoise(tree, Pure("1/2"), 1, 1).law(7) == GeometricSumLaw(4.0, 3)
    for way, half in ((tree, 0.5), (root, 0.0)):
        noise = CalibratedNoise(way, Zcdp("1/2"), 1, 1)
        law = noise.law(7)
        assert law.sd == noise.sd[6] == pytest.approx(way.error_factors[6] * float(way._l2_squared()) ** 0.5)
        assert law.two_sided_quantile(0.95) == pytest.approx(1.959964 * law.sd + half, rel=1e-6)


@pytest.mark.parametrize(
    ("loss", "periods", "largest"),
    [
        (Pure(1), 7, 3.7417),
        (Pure(1), 52, 9.798),
        (Pure(1), 365, 16.971),
        (Pure(1), 3650, 27.821),
        (Zcdp("1/2"), 7, 1.534),
        (Zcdp("1/2"), 52, 2.147),
        (Zcdp("1/2"), 365, 2.756),
    ],
)
def test_the_best_way_has_the_known_error(loss: Pure | Zcdp, periods: int, largest: float) -> None:
    """Of real noise: fresh noise up to 44 periods, trees of two levels, of three from thousands on; and 2.1."""
    way = best_factorization(loss, periods)
    unit = 2**0.5 * float(way.l1_sensitivity()) if isinstance(loss, Pure) else float(way._l2_squared()) ** 0.5
    assert unit * way.error_factors.max() == pytest.approx(largest, rel=3e-4)


def test_the_best_factorization_depends_on_loss_periods_and_window() -> None:
    """It also depends on the number of periods in which one person may appear."""
    assert [best_factorization(Pure(1), periods).levels for periods in (7, 44, 45, 365, 3650)] == [1, 1, 2, 2, 3]
    assert all(isinstance(best_factorization(Zcdp(1), periods), SquareRoot) for periods in (2, 3, 7, 52))
    assert best_factorization(Zcdp(1), 52, per_person=52) == Tree(52)
    assert isinstance(best_factorization(Zcdp(1), 52, per_person=13), SquareRoot)
    assert [best_factorization(Pure(1), 365, window=width).levels for width in (4, 7, 28, 90)] == [1, 1, 1, 1]


def test_of_equals_the_one_with_the_smaller_mean_square_is_taken() -> None:
    """Both trees of 52 periods use 12 sums at most."""
    first, second = Tree(52, 8, 2), Tree(52, 6, 2)
    assert first.node_counts.max() == second.node_counts.max() == 12
    assert first.node_counts.mean() < second.node_counts.mean()
    assert lowest_error_factorization([second, first], Pure(1)) == first
