"""The reported maximum is the best of 20 random starts of another optimizer, and no fit with a maximum is refused."""

import math

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import expit

from toolkit import forced
from toolkit.analysis import (
    cheater_detection,
    extended_crosswise,
    lie_detector,
    list_experiment,
    logistic,
    unknown_question,
)

pytestmark = pytest.mark.slow

DIE = forced("1/6", "1/6")
GROUPS = {
    "cheater": (cheater_detection, {0: 0.2, 1: 0.8}),
    "lie": (lie_detector, {0: 0.3, 1: 0.8}),
    "crosswise": (extended_crosswise, {0: 0.15, 1: 0.85}),
    "unknown": (unknown_question, {0: 0.75, 1: 0.2}),
}
# Fits of one curve take milliseconds, those of latent classes half a second.
SURVEYS = {"logistic": 100, "list, squares": 100, "list": 20, "cheater": 20, "lie": 20, "crosswise": 20, "unknown": 20}


def survey(kind, rng, n=300):
    """A survey of random coefficients: the covariate has three values, so that it is counted in few cells."""
    x, group, u, v = rng.integers(-1, 2, n), rng.integers(2, size=n), rng.random(n), rng.random(n)
    slopes = rng.normal(size=2)
    trait, other = rng.random(n) < expit(slopes[0] - 0.5 + slopes[1] * x), v < expit(rng.normal())
    if kind == "logistic":
        y = DIE.randomize(trait, rng=rng)
    elif kind.startswith("list"):
        y = rng.binomial(3, expit(0.4 * rng.normal() + 0.4 * x)) + (trait & (group == 1))
    else:
        p = np.array([*GROUPS[kind][1].values()])[group]
        y = {
            "cheater": (trait | (u < p)) & ~((v < 0.15) & ~trait),
            "lie": np.where(trait, other, u < 1 - p),
            "crosswise": (trait == (u < p)) & (v > 0.08),
            "unknown": np.where(u < p, trait, other),
        }[kind]
    return {"y": np.asarray(y).astype(int), "x": x.astype(float), "g": group}


def fitted(kind, frame):
    if kind == "logistic":
        return logistic("y ~ x", frame, DIE)
    if kind.startswith("list"):
        method = "nls" if kind == "list, squares" else "ml"
        return list_experiment("y ~ x", frame, treatment="g", items=3, method=method)
    function, p = GROUPS[kind]
    return function("y ~ x", frame, p=p, group="g")


def cells(frame):
    table = np.column_stack([frame["x"], frame["g"], frame["y"]]).astype(float)
    values, counts = np.unique(table, axis=0, return_counts=True)
    return (*values.T, counts)


def loglike_of(kind, frame, fit=None):
    """The log-likelihood, or minus the sum of squares, written out once more; and its number of coefficients."""
    x, g, y, counts = cells(frame)

    def trait(b):
        return expit(b[0] + b[1] * x)

    def bernoulli(yes):
        return counts @ np.log(np.clip(np.where(y == 1, yes, 1 - yes), 1e-300, None))

    if kind == "logistic":
        return lambda b: bernoulli(1 / 6 + 2 / 3 * trait(b)), 2
    if kind == "list, squares":
        rest = y - 3 * expit(fit.value[2] + fit.value[3] * x)
        return lambda b: -(counts * (g == 1)) @ (rest - trait(b)) ** 2, 2
    if kind == "list":
        choose = np.array([math.comb(3, k) if 0 <= k <= 3 else 0 for k in range(-1, 5)])

        def items(k, b):
            share = expit(b[2] + b[3] * x)
            return choose[(k + 1).astype(int)] * share**k * (1 - share) ** (3 - k)

        return lambda b: counts @ np.log(trait(b) * items(y - g, b) + (1 - trait(b)) * items(y, b) + 1e-300), 4
    p = np.array([*GROUPS[kind][1].values()])[g.astype(int)]

    def yes(b):
        if kind == "cheater":
            first, second = np.exp(b[0] + b[1] * x), np.exp(b[2] + b[3] * x)
            return (first + p) / (1 + first + second)
        own = expit(b[2])
        return {
            "lie": own * trait(b) + (1 - p) * (1 - trait(b)),
            "crosswise": (1 - own) * (p * trait(b) + (1 - p) * (1 - trait(b))),
            "unknown": p * trait(b) + (1 - p) * own,
        }[kind]

    return lambda b: bernoulli(np.clip(yes(b), 0, 1)), 4 if kind == "cheater" else 3


def best_of_random_starts(loglike, width, rng, starts=20):
    """The end points from all starts: whether each is a maximum at finite coefficients, and its log-likelihood."""
    ends = []
    for _ in range(starts):
        with np.errstate(all="ignore"):
            end = minimize(lambda b: -loglike(b), rng.normal(scale=1.5, size=width), method="BFGS")
            step = 0.02 * np.eye(width)
            curvature = [loglike(end.x + d) + loglike(end.x - d) + 2 * end.fun for d in step]
        ends.append((np.abs(end.x).max() < 6 and max(curvature) < -1e-6, -end.fun))
    return ends


@pytest.mark.parametrize("kind", SURVEYS)
def test_no_random_start_leads_to_a_higher_maximum(kind) -> None:
    refused = 0
    for seed in range(SURVEYS[kind]):
        rng = np.random.default_rng(seed)
        frame = survey(kind, rng)
        try:
            fit = fitted(kind, frame)
        except ValueError as error:
            assert "coefficients" in str(error)  # noqa: PT017  # whether there is an error depends on the data
            refused += 1
            if kind != "list, squares":
                loglike, width = loglike_of(kind, frame)
                ends = best_of_random_starts(loglike, width, rng)
                # The highest end is none at finite coefficients.
                top = max(value for _, value in ends)
                assert not any(proper and value > top - 1e-6 for proper, value in ends), seed
            continue
        loglike, width = loglike_of(kind, frame, fit)
        reported = loglike(fit.value[:width])
        if kind != "list, squares":
            assert reported == pytest.approx(fit.llf, abs=1e-6)
        ends = best_of_random_starts(loglike, width, rng)
        assert not any(proper and value > reported + 1e-3 for proper, value in ends), seed
    assert refused < SURVEYS[kind] / 2
