import math

import numpy as np
import pytest

from toolkit.attacks.gallery import SLIDE, laplace_delta, slide_beta


@pytest.mark.parametrize(("claimed", "true"), [(1e-6, 1.5e-3), (1e-4, 2.2e-3)])
def test_the_slides_noise_in_dimensions_breaks_its_claim_a_thousandfold(claimed: float, true: float) -> None:
    """At p = 1 and epsilon = 1; the repair, twice the noise, keeps it."""
    shrunk = math.exp(-slide_beta(1, claimed))
    assert laplace_delta(1, (0, 1), (shrunk, shrunk)) == pytest.approx(true, rel=0.05)
    assert laplace_delta(1, (0, 2), (shrunk, 2 * shrunk)) < claimed


@pytest.mark.slow
@pytest.mark.parametrize("second", [(1.0, 1.0), (0.9, 0.9), (0.5, 1.2), (-0.7, 0.8), (0.0, 2.0), (3.0, 0.5)])
def test_the_delta_is_the_integral(second: tuple[float, float]) -> None:
    z = np.linspace(-60, 60, 1_200_001)
    p, q = (np.exp(-np.abs(z - m) / s) / (2 * s) for m, s in ((0.0, 1.0), second))
    for epsilon in (0.1, 1.0):
        expected = np.maximum(p - math.exp(epsilon) * q, 0).sum() * (z[1] - z[0])
        assert laplace_delta(epsilon, (0, 1), second) == pytest.approx(expected, abs=1e-7)


@pytest.mark.slow
def test_an_audit_of_twenty_thousand_runs_sees_nothing_of_it() -> None:
    assert not SLIDE.audit(runs=20_000, seconds=math.inf, rng=np.random.default_rng(1)).violated
    assert SLIDE.repaired(SLIDE.neighbors[0], np.random.default_rng(1)).shape == (2,)
