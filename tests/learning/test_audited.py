"""Every learner against an auditor who fits it to two neighbors, and against a fault that was planted.

One person, of whom a number or the target is 1 or -1: this moves the hinge, one step down it and the moments
as far as anybody can, or nearly, so that half of the noise is found out. The logistic loss moves half as far
on a line; its noise is the same, and exact densities in the plane find out half of it (`fitting`).
"""

from math import exp, sqrt
from typing import Any, NamedTuple

import numpy as np
import pytest
from scipy.stats import norm

from toolkit.audit import Verdict, audit
from toolkit.learning import PrivateLinearRegression, PrivateLogisticRegression, PrivatePCA, PrivateSVC

LINE = {"row_norm": 1, "missing": "middle", "fit_intercept": False}
INSIDE = {"C": 0.05, **LINE}
OUTPUT, STEP = {"method": "output", **INSIDE}, {"method": "descent", "steps": 1, **INSIDE}


class Case(NamedTuple):
    """A learner, the epsilon or rho that it is to keep to, and in how many runs a fault is found out."""

    learner: Any
    said: dict[str, Any]
    asked: dict[str, float]
    runs: int = 0


CASES = {
    "logistic, objective": Case(PrivateLogisticRegression, INSIDE, {"epsilon": 1}),
    "hinge, objective": Case(PrivateSVC, INSIDE, {"epsilon": 1.75}, 1000),
    "hinge, output": Case(PrivateSVC, OUTPUT, {"epsilon": 1.75}, 1000),
    "hinge, descent": Case(PrivateSVC, STEP, {"rho": 0.5}, 500),
    "linear": Case(PrivateLinearRegression, {"target_bounds": (-1, 1), **LINE}, {"rho": 0.5}, 600),
    "components": Case(PrivatePCA, {"row_norm": 1, "missing": "middle"}, {"rho": 0.5}, 500),
}
FAULTS = {name: case for name, case in CASES.items() if case.runs}


def claim(asked: dict[str, float]) -> tuple[float, float]:
    """Epsilon and delta; of Gaussian noise, which is Zcdp(rho), the smallest delta for epsilon = 0.1."""
    if "epsilon" in asked:
        return asked["epsilon"], 0.0
    far, epsilon = sqrt(2 * asked["rho"]), 0.1
    reached = norm.cdf(far / 2 - epsilon / far), norm.cdf(-far / 2 - epsilon / far)
    return epsilon, float(reached[0] - exp(epsilon) * reached[1])


def verdict(case: Case, runs: int, times: int = 1) -> Verdict:
    """Of an audit of the claim, where noise is so many times too small: paid with more."""
    more = {name: amount * times ** (2 if name == "rho" else 1) for name, amount in case.asked.items()}
    learner = case.learner(**more, **case.said)

    def released(person: float, rng: np.random.Generator) -> float:
        row, target = (1.0, person) if case.learner is PrivateLinearRegression else (person, 1)
        fitted = learner.set_params(rng=rng).fit([[row]], [target])
        return float(fitted.mean_[0] if case.learner is PrivatePCA else np.ravel(fitted.coef_)[0])

    epsilon, delta = claim(case.asked)
    rng = np.random.default_rng(9)
    return audit(released, (1.0, -1.0), epsilon=epsilon, delta=delta, runs=runs, rng=rng)


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES.values(), ids=list(CASES))
def test_an_audit_finds_nothing(case: Case) -> None:
    """A false alarm has a probability of at most 0.0001."""
    assert not verdict(case, 400).violated


@pytest.mark.slow
@pytest.mark.parametrize("case", FAULTS.values(), ids=list(FAULTS))
def test_half_of_the_noise_is_found_out(case: Case) -> None:
    assert verdict(case, case.runs, times=2).violated
