"""Combinations of noises: tails against integrals, reaches against tails."""

import math

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.optimize import brentq

from tests.slowly import each
from toolkit.central.noise.laws import GeometricLaw, RoundedNormalLaw
from toolkit.central.tables import confidence_limits, pair_tail, quantile_of_combination

SCALE = 1e9  # so large that steps do not show


def tail(factors: list[float], error: float) -> float:
    """Of Laplace noises of scale 1, through their characteristic function."""
    density = lambda w: math.prod(1 / (1 + (f * w) ** 2) for f in factors)  # noqa: E731
    inside = quad(lambda w: math.sin(w * error) / w * density(w), 0, 200, limit=2000)[0]
    return 1 - 2 / math.pi * inside


@each(
    scale=[SCALE, 0.5], error=[0.1, 1.0, 4.0], factors=[(1.0, 1.0), (1.0, 0.3), (0.2, 1.0), (1.0, 0.99999), (1.0, 0.0)]
)
def test_the_tail_of_two_is_the_one_of_their_law_a_step_of_each_before(
    factors: tuple[float, float], error: float, scale: float
) -> None:
    there = np.array([error * scale + sum(factors)])
    found = pair_tail(GeometricLaw(scale), *(np.array([f]) for f in factors), there)
    expected = tail(list(factors), error) if factors[1] else math.exp(-error)
    assert found[0] == pytest.approx(expected, abs=2e-4)


@pytest.mark.slow
@pytest.mark.parametrize("factors", [[1.0, 1.0], [1.0, 1.0, 1.0], [0.5, 1.0, 0.25], [1.0] * 9])
@pytest.mark.parametrize("level", [0.8, 0.95])
def test_a_reach_is_where_the_tail_ends_and_never_short_of_it(factors: list[float], level: float) -> None:
    reach = quantile_of_combination(GeometricLaw(SCALE), factors, level) / SCALE
    assert 1 - level - 3e-3 < tail(factors, reach) <= 1 - level + 1e-6


def test_of_gaussian_noises_lengths_add_up() -> None:
    law = RoundedNormalLaw(1e6)
    assert quantile_of_combination(law, [3.0, 4.0], 0.95) == pytest.approx(1.959964 * 5e6, rel=1e-5)
    found = pair_tail(law, np.array([3.0]), np.array([4.0]), np.array([1.959964 * 5e6]))
    assert found[0] == pytest.approx(0.05, rel=1e-4)


def test_steps_are_allowed_for_where_noise_is_small() -> None:
    """Two geometric noises of scale 1/2, by enumeration: no tail is too small, and no reach short."""
    law, k = GeometricLaw(0.5), np.arange(-60, 61)
    joint = np.outer(law.pmf(k), law.pmf(k))
    size = np.abs(np.add.outer(k, k))
    for error in range(1, 8):
        truth = joint[size >= error].sum()
        assert pair_tail(law, np.array([1.0]), np.array([1.0]), np.array([float(error)]))[0] >= truth - 1e-12
    assert joint[size > quantile_of_combination(law, [1.0, 1.0], 0.95)].sum() <= 0.05


@pytest.mark.parametrize("scale", [0.01, 1000.0])
def test_equal_noises_are_made_larger_by_a_fiftieth_of_a_percent(scale: float) -> None:
    """Two of Laplace noise are beyond t scales with probability (1 + t / 2) e**-t; a step of each is added."""
    sought = scale * brentq(lambda t: (1 + t / 2) * math.exp(-t) - 0.05, 0, 20)
    assert 1 < (quantile_of_combination(GeometricLaw(scale), [1.0, 1.0], 0.95) - 2) / sought < 1.0002


def test_values_that_are_not_rejected_form_the_interval() -> None:
    """Around the best, at an end, nowhere, at one of the ends though the best is elsewhere, and everywhere."""
    top, best = np.array([0.2, 1.0, 9.0, -1.0, 1.0, 0.0]), np.array([0.2, 1.0, 0.0, 0.5, -0.5, 0.0])
    slope = np.array([4, 4, 4, 4, 4, 0.1])
    low, high = confidence_limits(lambda m: np.maximum(1 - slope * np.abs(m - top), 0), best, 0.95)
    assert low.tolist() == pytest.approx([0.2 - 0.2375, 1 - 0.2375, -1, -1, 1 - 0.2375, -1], abs=1e-9)
    assert high.tolist() == pytest.approx([0.2 + 0.2375, 1, 1, -1 + 0.2375, 1, 1], abs=1e-9)
