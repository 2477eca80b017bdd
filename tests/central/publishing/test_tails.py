import math
from decimal import Context, Decimal
from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import norm

from toolkit.central.gaussian import Gaussian
from toolkit.central.laplace import Laplace
from toolkit.central.publishing.keys import geometric_tail, integer_noise_tail, rounded_normal_tail, smallest_threshold

PRECISE = Context(prec=120)


@pytest.mark.parametrize("scale", [Fraction(1, 3), Fraction(1), Fraction(20), Fraction(1000, 3)])
def test_the_geometric_tail_is_its_formula_and_never_less(scale: Fraction) -> None:
    q = Fraction(PRECISE.exp(PRECISE.divide(Decimal(-scale.denominator), Decimal(scale.numerator))))
    for k in (1, 2, 10, 40):
        assert 0 <= geometric_tail(scale)(k) / (q**k / (1 + q)) - 1 < Fraction(1, 10**20)


@pytest.mark.parametrize("variance", [Fraction(1), Fraction(7, 3), Fraction(10**6), Fraction(2 * 10**60 + 1, 10**60)])
def test_the_normal_tail_is_that_of_rounded_noise_and_barely_more(variance: Fraction) -> None:
    sigma = math.sqrt(variance)
    for k in (1, 3, math.ceil(5 * sigma)):
        assert float(rounded_normal_tail(variance)(k)) == pytest.approx(norm.sf((k - 0.5) / sigma), rel=1e-7)
        assert float(rounded_normal_tail(variance)(k)) > norm.sf((k - 0.5) / sigma)
    assert rounded_normal_tail(Fraction(4**31))(1) == 1  # a step of the grid below 1/2 is below 0


def test_a_mechanism_has_the_tail_of_what_it_draws() -> None:
    """200,000 draws each; a share is off by more than 4.5 standard errors with probability below 1e-5."""
    rng = np.random.default_rng(3)
    for noise, k in ((Laplace.for_epsilon(1), 3), (Gaussian.for_rho("1/8"), 4)):
        drawn = np.asarray(noise.release(np.zeros(200_000, dtype=np.int64), rng=rng).value)
        share = float(integer_noise_tail(noise)(k))
        assert abs((drawn >= k).mean() - share) < 4.5 * math.sqrt(share / 200_000)


def test_the_least_reach_is_found_from_either_side() -> None:
    tail = geometric_tail(Fraction(5))
    for limit in (Fraction(1, 3), Fraction(1, 100), Fraction(1, 10**9)):
        found = smallest_threshold(tail, lambda share, limit=limit: share <= limit)
        assert tail(found) <= limit
        assert found == 1 or tail(found - 1) > limit
