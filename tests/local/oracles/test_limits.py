import math

import pytest

from toolkit.local.oracles.limits import limit, ratio

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


@pytest.mark.parametrize("k", [2, 3, 17, 100])
@pytest.mark.parametrize("epsilon", [0.01, 0.7, 3.0, 10.0])
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
