import math

import numpy as np
import pytest

from tests.slowly import each
from toolkit.local import oracles
from toolkit.local.matrix.moments import scores
from toolkit.local.oracles.oracle import limit, ratio

# Best size and least standard error at n = 1000, in the reference notes' table of ratios to the limit.
TABLE = {
    (0.5, 2): (1, 0.0646),
    (0.5, 16): (6, 0.1174),
    (1, 5): (1, 0.0495),
    (1, 128): (34, 0.0602),
    (2, 10): (1, 0.0243),
    (4, 50): (1, 0.0086),
}


@pytest.mark.parametrize(("epsilon", "k"), TABLE)
def test_the_limit_is_that_of_the_table(epsilon: float, k: int) -> None:
    found = limit(k, epsilon)
    assert (found.size, round(found.se(k, n=1000), 4)) == TABLE[epsilon, k]


@each(epsilon=[0.01, 0.7, 2.549, 3.0, 10.0], k=[2, 3, 17, 20, 100])
def test_no_other_size_is_better(k: int, epsilon: float) -> None:
    odds = math.exp(epsilon)
    risks = [(k - 1) ** 2 * (d * odds + k - d) ** 2 / (k * d * (k - d) * (odds - 1) ** 2) for d in range(1, k)]
    assert limit(k, epsilon).risk == pytest.approx(min(risks), rel=1e-9)


def test_for_two_options_it_is_warners_variance() -> None:
    """Twice coth(eps/2)**2 / 4: two shares, each with the variance of a yes/no question at one half."""
    assert limit(2, 1.0).risk == pytest.approx(2 * 0.25 / math.tanh(0.5) ** 2)


def test_a_ratio_needs_a_finite_epsilon() -> None:
    assert ratio(2 * limit(5, 1.0).risk, 5, 1.0) == pytest.approx(2)
    with pytest.raises(ValueError, match="positive, finite"):
        ratio(1.0, 5, math.inf)


@pytest.mark.slow
@pytest.mark.parametrize("k", [2, 3, 4, 6])
def test_no_unbiased_estimate_from_any_private_channel_has_a_smaller_variance_at_equal_shares(k: int) -> None:
    """400 channels at random, half of them with two likelihoods only, as the best have: the best unbiased
    estimate of each at equal shares, which `scores` gives, against the limit at the channel's own epsilon.
    """
    rng, equal = np.random.default_rng(3), np.full(k, 1 / k)
    for number in range(400):
        factor, reports = math.exp(rng.uniform(0.2, 4)), int(rng.integers(k, 3 * k + 1))
        high = rng.random((k, reports)) < rng.uniform(0.2, 0.8)
        matrix = np.where(high, factor, 1.0) if number % 2 else rng.uniform(1, factor, (k, reports))
        matrix = matrix / matrix.sum(axis=1, keepdims=True)
        if np.linalg.matrix_rank(matrix) < k:
            continue
        epsilon = float(np.log((matrix.max(axis=0) / matrix.min(axis=0)).max()))
        score, seen = scores(matrix, None, 1), equal @ matrix
        total = float(np.trace(score.T @ (np.diag(seen) - np.outer(seen, seen)) @ score))
        assert total >= limit(k, epsilon + 1e-9).risk * (1 - 1e-6)


@pytest.mark.slow
def test_a_biased_estimate_can_have_less_than_the_limit_as_the_words_say() -> None:
    """Equal shares of 128 options among 1,000 people: the mean square error of the projection is some 11 % of
    the limit.
    """
    best, rng, equal = oracles.best(128, 1.0), np.random.default_rng(1), np.full(128, 1 / 128)
    surveys = [best.estimate_counts(*best.simulate_counts(equal, 1000, rng), method="simplex").value for _ in range(20)]
    off = np.mean([((found - equal) ** 2).sum() for found in surveys])
    assert off / (limit(128, 1.0).risk / 1000) == pytest.approx(0.112, abs=0.02)
    assert "times the unbiased limit" in repr(best)
