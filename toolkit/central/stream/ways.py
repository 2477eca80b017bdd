"""How much noise a way of adding up asks for, and which way has the smallest error."""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import TypeAlias

import numpy as np

from toolkit.central.noise.laws import GeometricLaw, NoiseLaw, NormalLaw
from toolkit.central.stream.roots import SquareRoot
from toolkit.central.stream.trees import Tree, candidates
from toolkit.core.arrays import Array
from toolkit.core.inference.special import betainc, gammaincc, gammaln
from toolkit.core.loss import Pure, Zcdp
from toolkit.core.sampling import LatticeSampler, gaussian_sampler, laplace_sampler
from toolkit.core.search import least_whole

_MOST_TERMS = 20_000


@dataclass(frozen=True)
class GeometricSumLaw:
    """`count` independent noises with Pr[k] proportional to e**(-|k| / scale), added up: the law of a difference of two
    negative binomial numbers, each of `count` successes; where there are too many integers to add over, of two gamma
    numbers.
    """

    scale: float
    count: int

    @property
    def sd(self) -> float:
        return math.sqrt(self.count) * GeometricLaw(self.scale).sd

    def reach(self, level: float) -> float:
        """The least whole error that is passed with probability at most 1 - level."""
        return float(least_whole(lambda error: self.tail(error) <= 1 - level, -1, max(1, math.ceil(self.sd))))

    def tail(self, error: int) -> float:
        """Pr[|sum| > error]."""
        most = self.count * self.scale + 40 * (math.sqrt(self.count) + 1) * (self.scale + 1)
        if most > _MOST_TERMS:
            return self._smooth_tail(error)
        other = np.arange(math.ceil(most))
        ratio = math.exp(-1 / self.scale)
        log_weight = (
            gammaln(other + self.count)
            - gammaln(other + 1)
            - gammaln(self.count)
            - other / self.scale
            + self.count * math.log(-math.expm1(-1 / self.scale))
        )
        above = betainc(other + error + 1.0, self.count, ratio)
        return float(min(1.0, 2 * np.sum(np.exp(log_weight) * above)))

    def _smooth_tail(self, error: int) -> float:
        """Of Laplace noise: its size is Gamma(count - j, scale) with probability (count-1+j over j) 2**(1-count-j)."""
        j = np.arange(self.count)
        log_weight = gammaln(self.count + j) - gammaln(j + 1) - gammaln(self.count) - (self.count - 1 + j) * math.log(2)
        return float(np.sum(np.exp(log_weight) * gammaincc(self.count - j, error / self.scale)))


Way: TypeAlias = Tree | SquareRoot
"""A factorization B C of the matrix of totals: what is measured, with noise (`measure`), how far one person
moves it (`absolute`, `squared`), and how totals are read off (`reader`).
"""


@dataclass(frozen=True)
class Calibrated:
    """A way, and noise on whatever it measures that is enough for a loss: Pure buys two-sided geometric noise, Zcdp
    discrete Gaussian noise; one person can move `times` periods by `reach` each.
    """

    way: Way
    loss: Pure | Zcdp
    reach: int
    times: int

    @cached_property
    def scale(self) -> Fraction:
        """The scale of Laplace noise, which is for trees alone: how far all is moved, over epsilon."""
        return self.way.absolute(self.times) * self.reach / Fraction(self.loss.amount)

    @cached_property
    def variance(self) -> Fraction:
        """The variance of Gaussian noise, in units: how far all is moved, squared, over 2 rho."""
        moved = self.way.squared(self.times) * (self.reach * self.way.unit) ** 2
        return moved / (2 * Fraction(self.loss.amount))

    @cached_property
    def sampler(self) -> LatticeSampler:
        """Exact whole noise, for every number that is measured."""
        return laplace_sampler(self.scale) if isinstance(self.loss, Pure) else gaussian_sampler(self.variance)

    @cached_property
    def sd(self) -> Array:
        """The standard deviation of the published number, at every period."""
        if isinstance(self.loss, Pure):
            return np.asarray(self.way.spread * GeometricLaw(float(self.scale)).sd)
        return np.asarray(self.way.spread * (math.sqrt(self.variance) / self.way.unit))

    def law(self, period: int) -> NoiseLaw:
        """The law of the noise in the published number of a period, counted from 1."""
        if isinstance(self.loss, Pure) and isinstance(self.way, Tree):
            return GeometricSumLaw(float(self.scale), int(self.way.nodes[period - 1]))
        whole = 0.5 if isinstance(self.way, Tree) else 0.0  # of whole noise, half a step more than of smooth
        return NormalLaw(float(self.sd[period - 1]), whole)


noise_for = lru_cache(maxsize=64)(Calibrated)
"""The same object for the same arguments: its tables are made once."""


@lru_cache(maxsize=64)
def best(loss: Pure | Zcdp, periods: int, *, window: int | None = None, times: int = 1) -> Way:
    """The way with the smallest error: of fresh noise and trees, under Zcdp also the root of the totals' matrix."""
    ways: list[Way] = list(candidates(periods, window))
    if isinstance(loss, Zcdp):
        ways.append(SquareRoot(periods, window))
    return smallest(ways, loss, times)


def smallest(ways: Iterable[Way], loss: Pure | Zcdp, times: int = 1) -> Way:
    """The way whose largest standard deviation over the periods is smallest; of equals, by mean square."""

    def error(way: Way) -> tuple[float, float]:
        moved = way.absolute(times) ** 2 if isinstance(loss, Pure) else way.squared(times)
        variance = float(moved) * way.spread**2
        return round(float(variance.max()), 9), float(variance.mean())

    return min(ways, key=error)
