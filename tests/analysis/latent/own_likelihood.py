"""A likelihood that is written out in the tests, compared with a fit."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest


def check(fit: Any, height: Callable[[np.ndarray], float], exact: float = 1e-7) -> None:
    """It has the fit's log-likelihood there, a gradient of 0, and the curvature that the covariance implies: by
    differences along each coefficient and along three directions that combine all of them, in standard errors.
    """
    at, rng = np.asarray(fit.value), np.random.default_rng(1)
    ways = np.vstack([np.eye(len(at)), rng.normal(size=(3, len(at)))]) * fit.se
    here = height(at)
    assert fit.llf == pytest.approx(here, abs=exact)
    slopes = [(height(at + 1e-3 * way) - height(at - 1e-3 * way)) / 2e-3 for way in ways]
    assert slopes == pytest.approx(np.zeros(len(ways)), abs=3e-4)
    bends = [(2 * here - height(at + 0.01 * way) - height(at - 0.01 * way)) / 1e-4 for way in ways]
    assert bends == pytest.approx(np.einsum("ij,jk,ik->i", ways, np.linalg.inv(fit.cov), ways), rel=2e-3)
