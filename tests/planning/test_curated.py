"""The margins of a curator follow from sampling error plus Laplace noise, without a normal approximation."""

import math
from functools import partial
from itertools import pairwise

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import ndtr, ndtri

from tests.slowly import each
from toolkit import k_ary, warner
from toolkit.planning.accuracy import PlanInputs
from toolkit.planning.trust_models import CuratorAccuracy, tail_probability, upper_quantile


def integrated(x, sd):
    """The same probability for noise of scale 1, by numerical integration."""

    def at(noise):
        return math.exp(-abs(noise)) / 2 * ndtr((noise - x) / sd)

    cuts = sorted({-40.0, 40.0, *(c for c in (0.0, x, x - 6 * sd, x + 6 * sd) if -40 < c < 40)})
    return sum(quad(at, low, high, epsabs=1e-13, epsrel=1e-11, limit=400)[0] for low, high in pairwise(cuts))


@each(x=[-5.0, -0.3, 0.0, 0.01, 0.5, 1.0, 3.0], sd=[1e-6, 1e-3, 0.1, 1.0, 3.0, 30.0, 1e4])
def test_the_tail_of_the_sum_is_the_integral(x, sd):
    x *= max(sd, 1.0)
    assert float(tail_probability(x, sd, 1.0)) == pytest.approx(integrated(x, sd), abs=1e-9)


def test_with_one_source_of_error_it_is_the_law_of_that_source():
    assert float(upper_quantile(0.025, 0.0, 2.0)) == pytest.approx(2 * math.log(20), rel=1e-12)
    assert float(upper_quantile(0.025, 2.0, 0.0)) == pytest.approx(2 * ndtri(0.975), rel=1e-12)
    assert float(upper_quantile(0.025, 1e9, 1.0)) == pytest.approx(1e9 * ndtri(0.975), rel=1e-9)
    assert float(upper_quantile(0.7, 1.0, 1.0)) == pytest.approx(-float(upper_quantile(0.3, 1.0, 1.0)), rel=1e-14)
    assert float(upper_quantile(0.025, 0.0, 0.0)) == 0
    assert float(upper_quantile(0.5, 1.0, 1.0)) == pytest.approx(0, abs=1e-12)
    assert 0 < float(upper_quantile(0.495, 1.0, 1.0)) == -float(upper_quantile(1 - 0.495, 1.0, 1.0)) < 0.02


def test_a_simulated_curator_stays_within_the_95_percent_margin():
    """200,000 releases, in which the noise dominates: 4 standard errors, false-alarm rate 6e-5. 1.96 standard
    errors hold 93.8 %.
    """
    rng, size = np.random.default_rng(12), 200_000
    curated = CuratorAccuracy(PlanInputs(warner, 0.02, 0.95).accuracy(0.1).without_noise(), 10.0)
    n = 100
    errors = rng.normal(0, math.sqrt(0.02 * 0.98 / n), size) + rng.laplace(0, 10 / n, size)
    inside = np.mean(np.abs(errors) <= curated.margin(n))
    assert inside == pytest.approx(0.95, abs=4 * math.sqrt(0.95 * 0.05 / size))
    bell = np.mean(np.abs(errors) <= 1.959964 * math.sqrt(curated.variance(n).item()))
    assert bell < 0.95 - 8 * math.sqrt(0.95 * 0.05 / size)


@pytest.mark.parametrize("sides", [1, 2])
def test_a_simulated_test_of_a_curator_has_its_size_and_power(sides):
    """200,000 releases each; 4 standard errors, false-alarm rate 6e-5 each."""
    rng, size, n = np.random.default_rng(13), 200_000, 300
    curated = CuratorAccuracy(PlanInputs(warner, 0.1, 0.9, detect=0.2, sides=sides).accuracy(0.1).without_noise(), 10.0)
    edge = float(upper_quantile(0.1 / sides, math.sqrt(0.09 / n), 10 / n))
    for truth, expected in ((0.1, 0.1 / sides), (0.2, curated.power(n))):
        found = rng.normal(truth, math.sqrt(truth * (1 - truth) / n), size) + rng.laplace(0, 10 / n, size)
        assert np.mean(found - 0.1 > edge) == pytest.approx(
            expected, abs=4 * math.sqrt(expected * (1 - expected) / size)
        )


def test_an_option_that_does_not_move_tells_nothing():
    shares, other = [0.4, 0.4, 0.2], [0.4, 0.5, 0.1]
    curated = CuratorAccuracy(
        PlanInputs(partial(k_ary, 3), shares, 0.95, detect=other).accuracy(1.0).without_noise(), 2.0
    )
    n, powers = 100, []
    for before, after in ((0.4, 0.5), (0.2, 0.1)):
        edge = upper_quantile(0.025, math.sqrt(before * (1 - before) / n), 2 / n)
        powers.append(float(tail_probability(edge - 0.1, math.sqrt(after * (1 - after) / n), 2 / n)))
    assert max(powers) < 0.9
    assert curated.power(n) == pytest.approx(max(powers))


def test_many_numbers_of_people_have_the_margins_of_each():
    curated = CuratorAccuracy(PlanInputs(warner, 0.1, 0.95).accuracy(1.0).without_noise(), 3.0)
    sizes = np.array([20, 300, 4000])
    assert curated.margin(sizes).tolist() == [curated.margin(n) for n in (20, 300, 4000)]


def test_the_variances_of_both_sources_add_up():
    direct = PlanInputs(warner, 0.1, 0.95).accuracy(1.0).without_noise()
    assert CuratorAccuracy(direct, 3.0).variance(50).item() == pytest.approx(0.09 / 50 + 2 * (3 / 50) ** 2, rel=1e-12)


def test_the_margin_is_that_of_the_option_with_the_widest():
    direct = PlanInputs(partial(k_ary, 3), (0.5, 0.3, 0.2), 0.95).accuracy(1.0).without_noise()
    widest = float(upper_quantile(0.025, math.sqrt(0.25 / 500), 3 / 500))
    assert CuratorAccuracy(direct, 3.0).margin(500) == pytest.approx(widest, rel=1e-12)


def test_without_noise_it_is_direct_questioning():
    direct = PlanInputs(warner, 0.1, 0.95, detect=0.2).accuracy(1.0).without_noise()
    curated = CuratorAccuracy(direct, 0.0)
    assert curated.margin(500) == pytest.approx(direct.margin(500), rel=1e-12)
    assert curated.power(500) == pytest.approx(direct.normal_power(500), rel=1e-12)
    assert curated.without_noise() is direct
