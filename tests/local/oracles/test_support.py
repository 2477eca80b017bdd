from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import binom

from toolkit import Pure
from toolkit.local.oracles.support import SupportLaw, checked_support_counts


def test_the_variance_is_that_of_a_binomial_seen_through_p_and_q() -> None:
    support = SupportLaw.independent(Fraction(3, 4), Fraction(1, 4))
    seen = 0.25 + 0.5 * 0.2
    assert support.variance(np.array([0.2]))[0] == pytest.approx(seen * (1 - seen) / 0.25)
    assert support.variance(np.array([0.2]), "fixed")[0] == pytest.approx(seen * (1 - seen) / 0.25 - 0.2 * 0.8)


def test_covariances_follow_from_joint_support() -> None:
    """Independent bits: Pr(both) = f_u pq + f_v pq + (1 - f_u - f_v) q**2, by the definition of the covariance."""
    p, q, shares = 0.5, 0.2, np.array([0.5, 0.3, 0.2])
    both = shares[0] * p * q + shares[1] * p * q + shares[2] * q * q
    means = q + (p - q) * shares
    expected = (both - means[0] * means[1]) / (p - q) ** 2
    assert SupportLaw.independent(Fraction(1, 2), Fraction(1, 5)).covariance(shares)[0, 1] == pytest.approx(expected)


@pytest.mark.parametrize("bad", [[5, 11], [-1, 2], [1, 2, 3]])
def test_counts_are_checked(bad: object) -> None:
    with pytest.raises(ValueError, match="`counts` must"):
        checked_support_counts(bad, 10, 2)


def test_exclusive_options_have_one_p_value_that_allows_for_their_number() -> None:
    """No report of the first of three options, where a fifth of 40 is expected by chance: 2 * 3 times its tail."""
    support = SupportLaw.independent(Fraction(1, 2), Fraction(1, 5))
    found = support.estimate(np.array([0.0, 12, 14]), 40, ("a", "b", "c"), Pure(1), "unary", "moment")
    assert found.fit.p == pytest.approx(2 * 3 * binom.cdf(0, 40, 0.2))
    assert found.contradicted
    assert found.notes[0].startswith("for 1 of 3 options no share agrees with the reports")
    two = support.estimate(np.array([20.0, 0]), 40, ("a", "b"), Pure(1), "unary", "simplex")
    assert two.fit.p == pytest.approx(binom.cdf(0, 40, 0.2))
