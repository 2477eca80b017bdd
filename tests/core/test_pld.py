from fractions import Fraction

import pytest

from toolkit.core.optimal import optimal_epsilon
from toolkit.core.pld import pld_epsilon


def test_it_is_never_below_the_exact_optimum_and_near_it() -> None:
    steps = {Fraction(1, 20): 100}
    found, exact = pld_epsilon(steps, Fraction(1, 10**6)), optimal_epsilon(steps, Fraction(1, 10**6))
    assert exact <= found <= exact * Fraction(101, 100)


def test_a_delta_in_the_reach_of_floating_point_is_refused() -> None:
    with pytest.raises(ValueError, match="needs a delta of at least"):
        pld_epsilon({Fraction(1, 10): 3}, Fraction(1, 10**12))
