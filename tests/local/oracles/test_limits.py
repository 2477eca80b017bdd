import math

import numpy as np
import pytest

from tests.slowly import each
from toolkit.local import oracles
from toolkit.local.matrix.moments import make_score_matrix
from toolkit.local.oracles.oracle import limit
from toolkit.local.oracles.unary import Unary


@each(epsilon=[0.01, 0.7, 2.549, 3.0, 10.0], k=[2, 3, 17, 20, 100])
def test_no_other_size_is_better(k: int, epsilon: float) -> None:
    odds = math.exp(epsilon)
    risks = [(k - 1) ** 2 * (d * odds + k - d) ** 2 / (k * d * (k - d) * (odds - 1) ** 2) for d in range(1, k)]
    assert limit(k, epsilon).risk == pytest.approx(min(risks), rel=1e-9)


def test_a_mechanism_beyond_the_largest_epsilon_can_still_be_shown() -> None:
    """A mechanism made by hand has a repr even if its epsilon could not be requested.

    Two bits of nearly 32 binary digits each give an epsilon of 44.
    """
    oracle = Unary(("no", "yes"), 2**32 - 1, 1, 2**32)
    assert repr(oracle) == "<Unary of 2 options: epsilon 44.36, variance 1 times the unbiased limit>"


@pytest.mark.slow
@pytest.mark.parametrize("k", [2, 3, 4, 6])
def test_no_private_channel_has_a_smaller_variance_at_equal_shares(k: int) -> None:
    """400 random channels, half of them with only two likelihoods, as the best channels have. The best unbiased
    estimate of each at equal shares, from `make_score_matrix`, is compared with the limit at the channel's own epsilon.
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
        score, seen = make_score_matrix(matrix, None, 1), equal @ matrix
        total = float(np.trace(score.T @ (np.diag(seen) - np.outer(seen, seen)) @ score))
        assert total >= limit(k, epsilon + 1e-9).risk * (1 - 1e-6)


@pytest.mark.slow
def test_a_biased_estimate_can_have_less_than_the_limit_as_the_words_say() -> None:
    """Equal shares of 128 options among 1,000 people: the mean squared error of the projection is about 11 % of the
    limit.
    """
    best, rng, equal = oracles.best(128, 1.0), np.random.default_rng(1), np.full(128, 1 / 128)
    surveys = [best.estimate(best.randomize(rng.integers(0, 128, 1000), rng), "simplex").value for _ in range(20)]
    off = np.mean([((found - equal) ** 2).sum() for found in surveys])
    assert off / (limit(128, 1.0).risk / 1000) == pytest.approx(0.112, abs=0.02)
    assert "times the unbiased limit" in repr(best)
