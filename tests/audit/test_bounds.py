import math

import numpy as np
import pytest
from scipy.stats import binom, binomtest, entropy

from toolkit import Approx, Pure, Zcdp
from toolkit.audit.bounds import (
    _divergence,
    advantage,
    clopper_pearson,
    delta_bound,
    epsilon_and_delta,
    epsilon_bound,
    p_value,
)


@pytest.mark.parametrize(("count", "n"), [(0, 10), (3, 10), (10, 10), (250, 1000)])
def test_clopper_pearson_agrees_with_scipy(count, n):
    low, high = clopper_pearson(count, n, 0.025)
    theirs = binomtest(count, n).proportion_ci(0.95, method="exact")
    assert (float(low), float(high)) == pytest.approx((theirs.low, theirs.high), rel=1e-9)


def chances(n, p):
    """The law of a count."""
    return np.array([math.comb(n, k) * p**k * (1 - p) ** (n - k) for k in range(n + 1)])


@pytest.mark.slow
@pytest.mark.parametrize(("epsilon", "delta"), [(0.0, 0.0), (1.0, 0.0), (0.5, 0.2)])
@pytest.mark.parametrize("q", [0.02, 0.1, 0.3])
def test_the_p_value_is_small_no_more_often_than_it_says(q, epsilon, delta):
    """By enumeration of all counts of 24 and 16 runs, at the edge of the claim: p = e**epsilon q + delta."""
    n, m = 24, 16
    p = math.exp(epsilon) * q + delta
    joint = np.outer(chances(n, p), chances(m, q))
    found = np.array([[p_value(a, n, b, m, epsilon=epsilon, delta=delta) for b in range(m + 1)] for a in range(n + 1)])
    for error in (0.3, 0.1, 0.03, 0.01, 0.001):
        assert joint[found <= error].sum() <= error


def test_the_p_value_is_that_of_the_worst_probabilities_under_the_claim():
    """Against a grid of 20,001 values of q; Gamma(2) exceeds t with probability (1 + t) e**-t."""
    seen, n, other, m, epsilon, delta = 200, 300, 40, 280, 1.0, 0.02
    q = np.linspace(1e-9, (1 - delta) / math.e, 20_001)
    log_product = binom.logsf(seen - 1, n, math.e * q + delta) + binom.logcdf(other, m, q)
    worst = float(log_product.max())
    expected = (1 - worst) * math.exp(worst)
    assert 1e-6 < expected < 1e-3
    assert p_value(seen, n, other, m, epsilon=epsilon, delta=delta) == pytest.approx(expected, rel=1e-6)


def test_both_counts_are_judged_together_which_is_stronger_than_two_bounds():
    """41 against none in 33,000 runs, at epsilon 1: two Clopper-Pearson bounds do not contradict at an error
    of 1e-5.
    """
    low, high = (clopper_pearson(count, 33_000, 5e-6)[side] for side, count in enumerate((41, 0)))
    assert float(low) < math.e * float(high)
    assert p_value(41, 33_000, 0, 33_000, epsilon=1) < 1e-5


def test_the_bounds_approach_epsilon_and_delta_as_runs_grow():
    n = 10**8
    assert epsilon_bound(n // 2, n, n // 10, n, error=1e-3) == pytest.approx(math.log(5), abs=2e-3)
    assert epsilon_bound(n // 2, n, n // 10, n, delta=0.2, error=1e-3) == pytest.approx(math.log(3), abs=2e-3)
    assert delta_bound(n // 2, n, n // 10, n, epsilon=1, error=1e-3) == pytest.approx(0.5 - math.e / 10, abs=1e-3)


def test_the_p_value_is_the_error_at_which_the_bounds_begin_to_contradict():
    value = p_value(400, 1000, 100, 1000, epsilon=1)
    assert 1e-12 < value < 1e-2
    assert delta_bound(400, 1000, 100, 1000, epsilon=1, error=value * 1.01) > 0
    assert delta_bound(400, 1000, 100, 1000, epsilon=1, error=value / 1.01) == 0
    assert epsilon_bound(400, 1000, 100, 1000, error=value * 1.01) > 1
    assert epsilon_bound(400, 1000, 100, 1000, error=value / 1.01) <= 1


def test_overwhelming_evidence_is_not_lost_where_floats_end():
    assert p_value(500_000, 10**6, 1, 10**6, epsilon=1) == 1e-100
    assert p_value(10**6, 10**6, 0, 10**6, epsilon=1) == 1e-100
    assert p_value(0, 100, 0, 100, epsilon=0) == p_value(100, 100, 100, 100, epsilon=0) == 1


def test_beyond_floats_the_exponent_is_the_relative_entropy():
    """The relative entropy is that of two coins."""
    p = np.array([0.05, 0.3, 0.9])
    for share in (0.0, 0.3, 0.8, 1.0):
        assert _divergence(share, p) == pytest.approx(entropy([[share] * 3, [1 - share] * 3], [p, 1 - p]))


def test_an_infinite_claim_cannot_be_contradicted():
    assert p_value(1000, 1000, 0, 1000, epsilon=math.inf) == 1
    assert delta_bound(1000, 1000, 0, 1000, epsilon=math.inf, error=0.01) == 0


def test_claims_are_read_in_every_currency():
    assert epsilon_and_delta(None, 1e-3) is None
    assert epsilon_and_delta(Pure(0.5), 1e-3) == (0.5, 0.0)
    assert epsilon_and_delta(Approx(1, 1e-6), 1e-3) == (1.0, 1e-6)
    epsilon, delta = epsilon_and_delta(Zcdp(0.5), 1e-3)
    assert delta == pytest.approx(1e-3)
    assert 2 < epsilon <= 0.5 + 2 * math.sqrt(0.5 * math.log(1000))


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 3.0])
def test_the_advantage_is_that_of_the_best_test_of_a_warner_report(epsilon):
    """Warner's design with p = e**epsilon / (1 + e**epsilon) reaches the limit: hits p, false alarms 1 - p."""
    p = math.exp(epsilon) / (1 + math.exp(epsilon))
    assert advantage(epsilon) == pytest.approx(2 * p - 1)
    assert advantage(epsilon, 0.1) == pytest.approx((math.exp(epsilon) - 1 + 0.2) / (math.exp(epsilon) + 1))


@pytest.mark.parametrize("counts", [(500, 1000, 0, 1000), (500, 1000, 100, 1000), (40, 5000, 3, 4000)])
def test_bounds_are_rounded_down_so_that_their_p_value_is_within_the_error(counts):
    """A bound larger by a thousandth has a p-value above the error."""
    for error in (0.01, 1e-4):
        epsilon, delta = epsilon_bound(*counts, error=error), delta_bound(*counts, epsilon=0.5, error=error)
        assert 0 < p_value(*counts, epsilon=epsilon) <= error < p_value(*counts, epsilon=epsilon * 1.001)
        assert delta == 0 or p_value(*counts, epsilon=0.5, delta=delta) <= error < p_value(
            *counts, epsilon=0.5, delta=delta * 1.001
        )
