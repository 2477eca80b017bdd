import math

import numpy as np
import pytest
from scipy.stats import binomtest

from toolkit import Approx, Pure, Zcdp
from toolkit.attacks.bounds import advantage, claimed, clopper_pearson, delta_bound, epsilon_bound, p_value


@pytest.mark.parametrize(("count", "n"), [(0, 10), (3, 10), (10, 10), (250, 1000)])
def test_clopper_pearson_agrees_with_scipy(count, n):
    low, high = clopper_pearson(count, n, 0.025)
    theirs = binomtest(count, n).proportion_ci(0.95, method="exact")
    assert (float(low), float(high)) == pytest.approx((theirs.low, theirs.high), rel=1e-9)


def test_the_epsilon_bound_covers_at_its_level():
    """p = e q; both bounds at error 0.05 make at most 10 % wrong: of 2000, 260 or more has probability below 1e-5."""
    rng = np.random.default_rng(1)
    p, q = 0.5, 0.5 / math.e
    seen, other = rng.binomial(500, p, 2000), rng.binomial(500, q, 2000)
    wrong = sum(epsilon_bound(int(a), 500, int(b), 500, tail=0.05) > 1 for a, b in zip(seen, other, strict=True))
    assert wrong < 260


def test_the_bounds_approach_epsilon_and_delta_as_runs_grow():
    n = 10**10
    assert epsilon_bound(int(0.5 * n), n, int(0.1 * n), n, tail=1e-3) == pytest.approx(math.log(5), abs=1e-3)
    assert epsilon_bound(int(0.5 * n), n, int(0.1 * n), n, delta=0.2, tail=1e-3) == pytest.approx(math.log(3), abs=1e-3)
    assert delta_bound(int(0.5 * n), n, int(0.1 * n), n, epsilon=1, tail=1e-3) == pytest.approx(0.5 - math.e / 10, abs=1e-3)


def test_the_p_value_is_the_error_at_which_the_bounds_begin_to_contradict():
    value = p_value(400, 1000, 100, 1000, epsilon=1)
    assert 1e-12 < value < 1e-2
    assert delta_bound(400, 1000, 100, 1000, epsilon=1, tail=value / 2 * 1.01) > 0
    assert delta_bound(400, 1000, 100, 1000, epsilon=1, tail=value / 2 / 1.01) == 0


def test_an_infinite_claim_cannot_be_contradicted():
    assert p_value(1000, 1000, 0, 1000, epsilon=math.inf) == 1
    assert delta_bound(1000, 1000, 0, 1000, epsilon=math.inf, tail=0.01) == 0


def test_claims_are_read_in_every_currency():
    assert claimed(None, 1e-3) is None
    assert claimed(Pure(0.5), 1e-3) == (0.5, 0.0)
    assert claimed(Approx(1, 1e-6), 1e-3) == (1.0, 1e-6)
    epsilon, delta = claimed(Zcdp(0.5), 1e-3)
    assert delta == pytest.approx(1e-3)
    assert 2 < epsilon <= 0.5 + 2 * math.sqrt(0.5 * math.log(1000))


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 3.0])
def test_the_advantage_is_that_of_the_best_test_of_a_warner_report(epsilon):
    """Warner's design with p = e**epsilon / (1 + e**epsilon) reaches the limit: hits p, false alarms 1 - p."""
    p = math.exp(epsilon) / (1 + math.exp(epsilon))
    assert advantage(epsilon) == pytest.approx(2 * p - 1)
    assert advantage(epsilon, 0.1) == pytest.approx((math.exp(epsilon) - 1 + 0.2) / (math.exp(epsilon) + 1))
