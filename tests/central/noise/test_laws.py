import math
from typing import Any

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import k1

from tests.slowly import each
from toolkit.central.noise.laws import GeometricLaw, LaplaceLaw, NormalLaw, RadialLaw, RoundedNormalLaw


@each(level=[0.01, 0.5, 0.9, 0.95, 0.999999], scale=[1e-3, 0.2, 1, 2, 7.5, 1000])
def test_the_reach_on_integers_is_the_least_that_holds(scale: float, level: float) -> None:
    """By summation of the probabilities: within the reach at least the level, one less would be too little."""
    law = GeometricLaw(scale)
    reach = int(law.two_sided_quantile(level))
    k = np.arange(-reach, reach + 1)
    assert law.pmf(k).sum() >= level - 1e-12
    assert reach == 0 or law.pmf(k[1:-1]).sum() < level
    assert law.tail_probability(reach) == pytest.approx(1 - law.pmf(k).sum(), abs=1e-12)


@pytest.mark.parametrize("scale", [1e-3, 0.2, 1, 40])
def test_the_standard_deviation_on_integers_is_that_of_the_probabilities(scale: float) -> None:
    k = np.arange(-4000, 4001)
    law = GeometricLaw(scale)
    assert law.sd == pytest.approx(math.sqrt((k**2 * law.pmf(k)).sum()), rel=1e-9, abs=1e-200)


@pytest.mark.parametrize("law", [LaplaceLaw, NormalLaw])
def test_standard_deviation_and_reach_are_those_of_the_density(law: Any) -> None:
    wide = law(3.0)
    assert quad(lambda x: x**2 * wide.density(x), -200, 200)[0] == pytest.approx(wide.sd**2)
    assert quad(wide.density, -wide.two_sided_quantile(0.9), wide.two_sided_quantile(0.9))[0] == pytest.approx(0.9)
    assert law(3.0, grid_step=0.5).two_sided_quantile(0.9) == wide.two_sided_quantile(0.9) + 0.5


def test_a_huge_scale_on_integers_is_as_good_as_real() -> None:
    assert GeometricLaw(1e15).two_sided_quantile(0.95) == pytest.approx(LaplaceLaw(1e15).two_sided_quantile(0.95))
    assert GeometricLaw(1e300).two_sided_quantile(0.95) == pytest.approx(1e300 * math.log(20))


@each(level=[0.5, 0.95, 0.999], sigma=[0.1, 0.7, 3, 40])
def test_the_reach_of_a_rounded_gaussian_is_the_least_that_holds(sigma: float, level: float) -> None:
    law = RoundedNormalLaw(sigma)
    reach = int(law.two_sided_quantile(level))
    k = np.arange(-reach, reach + 1)
    assert law.pmf(k).sum() >= level - 1e-12
    assert reach == 0 or law.pmf(k[1:-1]).sum() < level


@each(sigma=[0.1, 0.7, 2, 2.01, 3, 40])
def test_the_sd_of_a_rounded_gaussian_agrees_with_its_probabilities(sigma: float) -> None:
    """The standard deviation of a rounded Gaussian law is that of its probabilities."""
    k, law = np.arange(-400, 401), RoundedNormalLaw(sigma)
    assert law.sd == pytest.approx(math.sqrt((k**2 * law.pmf(k)).sum()), rel=1e-9)


def test_one_coordinate_in_three_dimensions_has_the_closed_form() -> None:
    """The tail of |x| is e**-t (1 + t/2)."""
    for level in (0.5, 0.999):
        t = (RadialLaw(2.0, 3, 0.5).two_sided_quantile(level) - 0.5) / 2
        assert math.exp(-t) * (1 + t / 2) == pytest.approx(1 - level, rel=1e-5)


@pytest.mark.slow
def test_one_coordinate_in_two_dimensions_has_the_closed_form() -> None:
    """The density is x K1(x) / pi for x from both sides of 0."""
    x = (np.arange(400_000) + 0.5) * 1e-4
    density = x * k1(x) * 2 / np.pi
    for level in (0.5, 0.95, 0.999):
        t = RadialLaw(2.0, 2).two_sided_quantile(level) / 2
        assert density[x > t].sum() * 1e-4 == pytest.approx(1 - level, rel=1e-3)
    assert RadialLaw(2.0, 2, 0.5).two_sided_quantile(0.999) == 2 * t + 0.5


@pytest.mark.slow
def test_in_many_dimensions_one_coordinate_is_nearly_normal() -> None:
    assert RadialLaw(1.0, 10_000).two_sided_quantile(0.95) == pytest.approx(
        NormalLaw(math.sqrt(10_001)).two_sided_quantile(0.95), rel=1e-3
    )


def test_a_coordinates_variance_is_d_plus_one() -> None:
    """Moments of Gamma(d) lengths and a uniform direction: E r**2 / d = d (d+1) / d."""
    for d in (2, 3, 50):
        assert RadialLaw(3.0, d).sd == pytest.approx(3 * math.sqrt(d + 1))
