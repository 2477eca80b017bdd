import numpy as np
import pytest

from toolkit.central.robust.estimators import Huber, Logistic, Mean, Median, MEstimator, Tukey

ALL = [Huber(1.345), Tukey(4.685), Logistic(), Mean(), Median()]
POINTS = np.linspace(-8, 8, 641) + 1e-3  # no kink among them


@pytest.mark.parametrize("estimator", ALL, ids=repr)
def test_psi_is_the_slope_of_rho_from_0_on_and_slope_that_of_psi(estimator: MEstimator) -> None:
    step = 1e-6
    assert estimator.rho(0.0) == 0
    assert all(np.ptp(estimator.rho([kink - 1e-9, kink, kink + 1e-9])) < 1e-6 for kink in estimator._kinks)
    for function, derivative in ((estimator.rho, estimator.psi), (estimator.psi, estimator.slope)):
        numeric = (function(POINTS + step) - function(POINTS - step)) / (2 * step)
        assert np.allclose(numeric, derivative(POINTS), atol=1e-6)


@pytest.mark.parametrize("estimator", ALL, ids=repr)
def test_psi_is_odd_and_never_beyond_its_bound_which_it_reaches(estimator: MEstimator) -> None:
    values = estimator.psi(np.linspace(-60, 60, 240_001))
    assert np.allclose(values, -values[::-1])
    if np.isfinite(estimator.bound):
        assert np.abs(values).max() == pytest.approx(estimator.bound, abs=1e-6)
        assert np.abs(values).max() <= estimator.bound + 1e-12
    assert estimator.is_monotone == bool(np.all(np.diff(values) >= -1e-14))  # the last bit of tanh may fall


def test_far_values_overflow_nowhere() -> None:
    for estimator in ALL:
        assert np.isfinite(estimator.psi([1e150, -1e150, 0.0])).all()
        assert np.isfinite(estimator.slope([1e150, -1e150, 0.0])).all()
