"""Links: how a linear predictor becomes a probability, with its derivatives and both of its tails."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from toolkit.core.arrays import Array
from toolkit.core.checks import choice
from toolkit.core.inference.special import expit, ndtr

_FARTHEST = 700.0  # e**700 is still a float


@dataclass(frozen=True)
class Link:
    """The inverse of a link function, eta to probability.

    `share` and `rest` are the probability and one minus it, each without cancellation; `slope` is the
    derivative of the probability, `bend` the second derivative divided by the first.
    """

    name: str
    share: Callable[[Array], Array]
    rest: Callable[[Array], Array]
    slope: Callable[[Array], Array]
    bend: Callable[[Array], Array]

    def __reduce__(self) -> tuple[Any, ...]:
        """By its name: functions without one cannot be pickled."""
        return link_named, (self.name,)


def _hazard(eta: Array) -> Array:
    return np.asarray(np.exp(np.minimum(eta, _FARTHEST)))


def _bell(eta: Array) -> Array:
    return np.asarray(np.exp(-(eta**2) / 2) / np.sqrt(2 * np.pi))


LINKS = {
    "logit": Link(
        "logit", expit, lambda eta: expit(-eta), lambda eta: expit(eta) * expit(-eta), lambda eta: -np.tanh(eta / 2)
    ),
    "probit": Link("probit", ndtr, lambda eta: ndtr(-eta), _bell, lambda eta: -eta),
    "cloglog": Link(
        "cloglog",
        lambda eta: -np.expm1(-_hazard(eta)),
        lambda eta: np.exp(-_hazard(eta)),
        lambda eta: np.exp(np.minimum(eta, _FARTHEST) - _hazard(eta)),
        lambda eta: 1 - _hazard(eta),
    ),
}


def link_named(name: object) -> Link:
    """One of the links by its name.

    >>> float(link_named("logit").share(np.array(0.0)))
    0.5
    """
    return LINKS[choice(name, "link", tuple(LINKS))]
