"""Links: both tails, and derivatives as differences give them."""

import numpy as np
import pytest

from toolkit.analysis.regression.logistic import LINKS, link_named

ETA = np.linspace(-4, 2, 61)


@pytest.mark.parametrize("name", LINKS)
def test_share_and_rest_sum_to_one_and_derivatives_are_those_of_differences(name: str) -> None:
    link, step = link_named(name), 1e-5
    assert np.allclose(link.share(ETA) + link.rest(ETA), 1, atol=1e-15)
    slope = (link.share(ETA + step) - link.share(ETA - step)) / (2 * step)
    assert np.allclose(link.slope(ETA), slope, rtol=1e-7)
    bend = (link.slope(ETA + step) - link.slope(ETA - step)) / (2 * step) / link.slope(ETA)
    assert np.allclose(link.bend(ETA), bend, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("name", LINKS)
def test_the_far_ends_are_finite_and_keep_their_small_tail(name: str) -> None:
    link, far = link_named(name), np.array([-30.0, 3.0, 800.0, -800.0])
    for part in (link.share, link.rest, link.slope, link.bend):
        assert np.isfinite(part(far)).all()
    assert 0 < link.share(far)[0] < 1e-12
    assert link.rest(np.array([3.0]))[0] > 0


def test_an_unknown_link_is_refused() -> None:
    with pytest.raises(ValueError, match="`link` must be one of logit, probit, cloglog"):
        link_named("cauchit")
