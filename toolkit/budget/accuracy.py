"""How precise a survey is: margin and power as functions of epsilon and n, for every randomizer by one protocol."""

import functools
import inspect
import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import ndtr, ndtri

from toolkit.budget.field import Field
from toolkit.core.checks import Number, exact, refuse
from toolkit.local.design import Design
from toolkit.local.protocol import Randomizer

Array = npt.NDArray[np.float64]
Family = Callable[..., Randomizer]


@dataclass(frozen=True)
class Spread:
    """The variance of one person's contribution, by its sources; one entry for each option."""

    noise: Array
    sampling: Array


@dataclass(frozen=True)
class Accuracy:
    """What n people are worth with one randomizer. `shift` is the distance to tell, `other` the spread there."""

    field: Field
    level: float
    here: Spread
    other: Spread | None = None
    shift: Array | None = None

    def variance(self, n: Any, spread: Spread | None = None) -> Array:
        """Variance of the estimate when n people answer; n may be an array, options are the last axis."""
        people = np.asarray(n, dtype=np.float64)[..., None]
        parts = spread or self.here
        return np.asarray((parts.noise + parts.sampling * self.field.left(people)) / self.field.behind(people))

    def margin(self, n: Any) -> Any:
        """Half the width of the interval of the given level, of the option with the widest."""
        found = ndtri(0.5 + self.level / 2) * np.sqrt(self.variance(n).max(axis=-1))
        return float(found) if np.ndim(n) == 0 else found

    def power(self, n: Any) -> Any:
        """Probability that a one-sided test of the given level tells `detect` from `prevalence`, by the option that tells best."""
        if self.other is None or self.shift is None:
            refuse("a power needs `detect`", "none", "it is the probability to detect something")
        before, after = np.sqrt(self.variance(n)), np.sqrt(self.variance(n, self.other))
        with np.errstate(divide="ignore", invalid="ignore"):
            reach = (self.shift - ndtri(self.level) * before) / after
        found = np.where(self.shift > 0, ndtr(np.nan_to_num(reach, nan=-math.inf)), 0).max(axis=-1)
        return float(found) if np.ndim(n) == 0 else found

    def without_noise(self) -> "Accuracy":
        """Direct questioning, if everybody told the truth."""
        return self.with_noise(0.0)

    def with_noise(self, variance: float | Array) -> "Accuracy":
        """The same people with another noise: that of one person's contribution."""
        loud = np.broadcast_to(variance, self.here.noise.shape)
        return replace(self, here=replace(self.here, noise=loud), other=self.other and replace(self.other, noise=loud))


@dataclass(frozen=True)
class Case:
    """One question to plan for: how answers are hidden, what is guessed of them, and the field."""

    source: Family | Randomizer
    prevalence: Any
    level: float
    detect: Any = None
    sd: Number | None = None
    field: Field = field(default_factory=Field)

    @property
    def fixed(self) -> bool:
        """Whether the randomizer is given, and with it epsilon; else epsilon chooses it from a family."""
        return is_randomizer(self.source)

    def randomizer(self, epsilon: float | None) -> Randomizer:
        """What hides each answer when a person may lose epsilon in all."""
        if self.fixed:
            return self.source  # type: ignore[return-value]
        share = 1 if self.field.one_each else self.field.questions
        return member(self.source, float(epsilon or 0) / share)  # type: ignore[arg-type]

    def accuracy(self, epsilon: float | None) -> Accuracy:
        """Margin and power at this epsilon, as functions of n."""
        randomizer = self._behaved(self.randomizer(epsilon))
        here = spread_of(randomizer, self.prevalence, self.sd)
        if self.detect is None:
            return Accuracy(self.field, self.level, here)
        gap = np.abs(np.atleast_1d(np.asarray(self.detect, dtype=float)) - np.atleast_1d(np.asarray(self.prevalence, dtype=float)))
        return Accuracy(self.field, self.level, here, spread_of(randomizer, self.detect, self.sd), gap)

    def _behaved(self, randomizer: Randomizer) -> Randomizer:
        if self.field.compliance is None:
            return randomizer
        if not isinstance(randomizer, Design):
            refuse("`compliance` needs a design with a matrix", type(randomizer).__name__, "leave it out, or ask a yes/no question")
        return self.field.compliance.seen_through(randomizer)


def spread_of(randomizer: Randomizer, truth: Any, sd: Number | None) -> Spread:
    """Noise and sampling variance of one person, through `variance` alone.

    Of a mean whose standard deviation is not known the widest possible is taken for both.
    """
    low, high = getattr(randomizer, "low", None), getattr(randomizer, "high", None)
    if low is None or high is None:
        total = np.atleast_1d(np.asarray(randomizer.variance(truth, 1), dtype=np.float64))
        noise = np.atleast_1d(np.asarray(randomizer.variance(truth, 1, respondents="fixed"), dtype=np.float64))
        return Spread(noise, np.maximum(total - noise, 0))
    extra: dict[str, Any] = {} if sd is None else {"sd": sd}
    total = np.atleast_1d(np.asarray(randomizer.variance(truth, 1, **extra), dtype=np.float64))
    center = float(exact(truth, "prevalence"))
    sampling = np.atleast_1d((center - float(low)) * (float(high) - center) if sd is None else float(exact(sd, "sd")) ** 2)
    return Spread(np.maximum(total - sampling, 0), sampling)


def is_randomizer(source: object) -> bool:
    return hasattr(source, "variance") and hasattr(source, "epsilon")


def member(family: Family, epsilon: float) -> Randomizer:
    """The member of a family with this epsilon, given by name if the family has that name."""
    return family(epsilon=epsilon) if _takes_epsilon(family) else family(epsilon)


@functools.lru_cache(maxsize=256)
def _takes_epsilon(family: Family) -> bool:
    return "epsilon" in inspect.signature(family).parameters


def margin_grid(family: Family, prevalence: Any, *, epsilons: npt.ArrayLike, ns: npt.ArrayLike, level: float = 0.95) -> Array:
    """Margins for many epsilons (rows) and numbers of people (columns): for contours and sliders.

    >>> from toolkit import warner
    >>> margin_grid(warner, 0.5, epsilons=[0.5, 1.0], ns=[100, 400]).round(3).tolist()
    [[0.4, 0.2], [0.212, 0.106]]
    """
    people = np.asarray(ns, dtype=np.float64)
    return np.array([Case(family, prevalence, level).accuracy(float(e)).margin(people) for e in np.asarray(epsilons)])
