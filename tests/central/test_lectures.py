import math
from fractions import Fraction

import numpy as np
import pytest

from tests.slowly import each
from toolkit.central import Gaussian, Laplace
from toolkit.central import laplace as laplace_module


def test_a_preview_tells_scale_error_and_cost_and_draws_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(laplace_module, "laplace_sampler", None)
    preview = Laplace.for_epsilon(0.5, sensitivity=2).preview(0.9)
    assert repr(preview) == "<Preview Laplace: noise scale 4; error at 90 % ± 9.21; cost ε = 0.5>"
    assert all(part in preview._repr_html_() for part in ("Laplace", "9.21", "90 %", "ε = 0.5"))


@pytest.mark.slow
@each(level=[0.5, 0.95], error=[0.02, 0.5, 1.5, 6, 100], sensitivity=[1, 3, "1/100"])
def test_epsilon_for_inverts_error(sensitivity: object, error: float, level: float) -> None:
    epsilon = Laplace.epsilon_for(error=error, level=level, sensitivity=sensitivity)
    assert Laplace.for_epsilon(epsilon, sensitivity=sensitivity).error(level) <= error
    assert Laplace.for_epsilon(epsilon * (1 - 1e-7), sensitivity=sensitivity).error(level) > error
    epsilon = Gaussian.epsilon_for(error=error, level=level, sensitivity=sensitivity, delta=1e-6)
    assert Gaussian.for_loss(epsilon, 1e-6, sensitivity=sensitivity).error(level) <= error
    assert Gaussian.for_loss(epsilon * (1 - 1e-5), 1e-6, sensitivity=sensitivity).error(level) > error * (1 - 1e-9)


def test_lecture_mean_size_of_laplace_noise_is_the_scale_and_tails_are_exponential() -> None:
    """E|Y| = b and Pr[|Y| >= t b] = e**-t: 200,000 draws, 5 standard errors, false alarms 6e-7 each."""
    mechanism = Laplace.for_epsilon("1/4", sensitivity="1/8")
    size = np.abs(mechanism.release(np.zeros(200_000), np.random.default_rng(14)).value) / mechanism.scale
    assert mechanism.scale == 0.5
    assert abs(size.mean() - 1) < 5 / math.sqrt(200_000)
    for t in (0.5, 1, 2, 4):
        share = math.exp(-t)
        assert abs(np.mean(size >= t) - share) < 5 * math.sqrt(share * (1 - share) / 200_000)
        assert mechanism.error(1 - share) == pytest.approx(t * mechanism.scale, rel=1e-7)


def test_lecture_mean_of_n_numbers_from_0_to_1_has_error_1_over_n_epsilon() -> None:
    n, epsilon = 400, Fraction(1, 2)
    mechanism = Laplace.for_epsilon(epsilon, sensitivity=Fraction(1, n))
    assert mechanism.exact_scale == 1 / (n * epsilon)
    twice = Laplace.for_epsilon(epsilon, sensitivity=Fraction(1, 2 * n))
    assert twice.error() == pytest.approx(mechanism.error() / 2, rel=1e-6)


@pytest.mark.slow
def test_lecture_length_of_noise_grows_with_d_for_laplace_and_with_root_d_for_gauss() -> None:
    """Mean lengths d / epsilon and about sqrt(d) sigma; 200 and 100 draws, within 6 standard errors of the mean."""
    rng = np.random.default_rng(15)
    for d in (1, 16):
        laplace = Laplace.for_epsilon(2, sensitivity=1, norm="l2")
        lengths = [np.linalg.norm(laplace.release(np.zeros(d), rng).value) for _ in range(200)]
        assert abs(np.mean(lengths) - d / 2) < 6 * math.sqrt(d) / 2 / math.sqrt(200)
        gauss = Gaussian.for_loss(1, 1e-6)
        lengths = [np.linalg.norm(gauss.release(np.zeros(d), rng).value) for _ in range(100)]
        expected = gauss.scale * math.sqrt(2) * math.exp(math.lgamma((d + 1) / 2) - math.lgamma(d / 2))
        assert abs(np.mean(lengths) - expected) < 6 * gauss.scale / math.sqrt(100)
        assert laplace.error(0.5, dimension=d) == pytest.approx((d - 1 / 3) / 2, rel=0.05)


def test_density_and_pmf_are_laws() -> None:
    x, k = np.linspace(-60, 60, 240_001), np.arange(-400, 401)
    for mechanism in (Laplace.for_epsilon(1), Gaussian.for_rho("1/8")):
        assert mechanism.density(x).sum() * (x[1] - x[0]) == pytest.approx(1, abs=1e-6)
        assert mechanism.pmf(k).sum() == pytest.approx(1, abs=1e-12)
    assert Laplace.for_epsilon(1).pmf(0) == pytest.approx((1 - math.exp(-1)) / (1 + math.exp(-1)))
