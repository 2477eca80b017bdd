"""How an outcome follows from its linear predictor: with normal errors, or as yes or no."""

from typing import Protocol

import numpy as np

from toolkit.core.arrays import Array
from toolkit.core.checks import refuse
from toolkit.core.inference.special import expit


class Outcome(Protocol):
    """A law of the outcome given the linear predictor; `extra` is how many parameters it has besides, and
    `told` what one outcome is expected to tell about each of them.

    For each person: the log-density, its derivatives by the linear predictor and by the extra parameters, and
    minus the second derivatives of both: by the predictor twice, by both, and by the extra parameter twice.
    """

    extra: int
    told: Array

    def log_density(self, outcome: Array, eta: Array, more: Array) -> Array: ...

    def leans(self, outcome: Array, eta: Array, more: Array) -> tuple[Array, Array]: ...

    def bends(self, outcome: Array, eta: Array, more: Array) -> tuple[Array, Array, Array]: ...


class Linear:
    """Normal errors of one spread; the extra parameter is the logarithm of their standard deviation."""

    extra = 1
    told = np.array([2.0])

    def log_density(self, outcome: Array, eta: Array, more: Array) -> Array:
        error = (outcome - eta) * np.exp(-more[0])
        return np.asarray(-(error**2) / 2 - more[0] - np.log(2 * np.pi) / 2)

    def leans(self, outcome: Array, eta: Array, more: Array) -> tuple[Array, Array]:
        error = (outcome - eta) * np.exp(-more[0])
        return error * np.exp(-more[0]), (error**2 - 1)[:, None]

    def bends(self, outcome: Array, eta: Array, more: Array) -> tuple[Array, Array, Array]:
        error, precision = (outcome - eta) * np.exp(-more[0]), np.exp(-2 * more[0])
        flat = np.full(len(eta), precision)
        return flat, (2 * error * np.exp(-more[0]))[:, None], (2 * error**2)[:, None]


class Logistic:
    """Yes or no, with the logit link."""

    extra = 0
    told = np.empty(0)

    def log_density(self, outcome: Array, eta: Array, more: Array) -> Array:
        return np.asarray(outcome * eta - np.logaddexp(0, eta) + 0 * more.sum())

    def leans(self, outcome: Array, eta: Array, more: Array) -> tuple[Array, Array]:
        return outcome - expit(eta), np.empty((len(eta), len(more)))

    def bends(self, _outcome: Array, eta: Array, more: Array) -> tuple[Array, Array, Array]:
        nothing = np.empty((len(eta), len(more)))
        return expit(eta) * expit(-eta), nothing, nothing


FAMILIES: dict[str, Outcome] = {"linear": Linear(), "logistic": Logistic()}


def checked_outcome(values: Array, family: str) -> Array:
    """Outcomes that the family can have; a constant one has nothing to explain."""
    if np.all(values == values[0]):
        refuse("the outcome must vary", "one value", "there is nothing to explain")
    if family == "logistic" and not np.isin(values, (0, 1)).all():
        refuse("the outcome of family='logistic' must be 0 or 1", "other values", "it says yes or no")
    return values
