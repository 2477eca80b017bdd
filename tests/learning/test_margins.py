import numpy as np
import pytest

from toolkit.learning.perturbation import HuberHinge, LogisticLoss

LOSSES = [LogisticLoss(), HuberHinge(0.5), HuberHinge(0.01), HuberHinge(1)]
MARGINS = np.linspace(-8, 8, 16001)


@pytest.mark.parametrize("loss", LOSSES, ids=str)
def test_slope_and_bend_are_the_derivatives(loss) -> None:
    step = MARGINS[1] - MARGINS[0]
    slopes = np.diff(loss.value(MARGINS)) / step
    middles = (MARGINS[1:] + MARGINS[:-1]) / 2
    np.testing.assert_allclose(slopes, loss.slope(middles), atol=step * loss.curvature)
    bends = np.diff(loss.slope(MARGINS)) / step
    assert np.mean(np.abs(bends - loss.second_derivative(middles)) > 1e-6) < 1e-3  # not at the ends of the parabola


@pytest.mark.parametrize("loss", LOSSES, ids=str)
def test_slope_and_curvature_of_a_loss_stay_within_their_bounds(loss) -> None:
    """The slope of a loss lies between -1 and 0, and its second derivative between 0 and the stated curvature."""
    far = np.concatenate([MARGINS, [-1e308, 1e308, -800, 800]])
    assert (loss.slope(far) <= 0).all()
    assert loss.slope(far).min() >= -1
    assert loss.second_derivative(far).max() == pytest.approx(loss.curvature)
    assert loss.second_derivative(far).min() >= 0
    assert loss.value(np.zeros(1))[0] <= 1  # what bounds the weights in `tolerance`
