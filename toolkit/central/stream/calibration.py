"""Noise for a matrix factorization, calibrated to a privacy loss, and the factorization with the smallest error."""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache

import numpy as np

from toolkit.central.noise.laws import GeometricLaw, NoiseLaw, NormalLaw
from toolkit.central.stream.factorization import Factorization
from toolkit.central.stream.roots import SquareRoot
from toolkit.central.stream.trees import Tree, candidate_trees
from toolkit.core.arrays import Array
from toolkit.core.inference.special import betainc, gammaincc, gammaln
from toolkit.core.loss import Pure, Zcdp
from toolkit.core.sampling import LatticeSampler, gaussian_sampler, laplace_sampler
from toolkit.core.search import smallest_integer_where

_MOST_TERMS = 20_000


@dataclass(frozen=True)
class GeometricSumLaw:
    """The distribution of a sum of `n_terms` independent variables with Pr[k] proportional to e**(-|k| / scale).

    The sum is the difference of two negative binomial variables with `n_terms` successes each. If their sum requires
    too many values, the tail is computed from gamma variables instead.
    """

    scale: float
    n_terms: int

    @property
    def sd(self) -> float:
        return math.sqrt(self.n_terms) * GeometricLaw(self.scale).sd

    def two_sided_quantile(self, level: float) -> float:
        """Return the smallest integer error that is exceeded with probability at most 1 - level."""
        return float(
            smallest_integer_where(
                lambda error: self.tail_probability(error) <= 1 - level, -1, max(1, math.ceil(self.sd))
            )
        )

    def tail_probability(self, error: int) -> float:
        """Return Pr[|sum| > error]."""
        most = self.n_terms * self.scale + 40 * (math.sqrt(self.n_terms) + 1) * (self.scale + 1)
        if most > _MOST_TERMS:
            return self._smooth_tail(error)
        other = np.arange(math.ceil(most))
        ratio = math.exp(-1 / self.scale)
        log_weight = (
            gammaln(other + self.n_terms)
            - gammaln(other + 1)
            - gammaln(self.n_terms)
            - other / self.scale
            + self.n_terms * math.log(-math.expm1(-1 / self.scale))
        )
        above = betainc(other + error + 1.0, self.n_terms, ratio)
        return float(min(1.0, 2 * np.sum(np.exp(log_weight) * above)))

    def _smooth_tail(self, error: int) -> float:
        """Return the tail probability for Laplace noise, by a mixture of gamma distributions.

        With n = `n_terms`, the absolute value of the sum is Gamma(n - j, scale) with probability binomial(n - 1 + j, j)
        2**(1 - n - j).
        """
        n, j = self.n_terms, np.arange(self.n_terms)
        log_weight = gammaln(n + j) - gammaln(j + 1) - gammaln(n) - (n - 1 + j) * math.log(2)
        return float(np.sum(np.exp(log_weight) * gammaincc(n - j, error / self.scale)))


@dataclass(frozen=True)
class CalibratedNoise:
    """A factorization with noise for a privacy loss: geometric noise for Pure, discrete Gaussian noise for Zcdp.

    One person can change the counts of `per_person` periods by `sensitivity` each.
    """

    factorization: Factorization
    loss: Pure | Zcdp
    sensitivity: int
    per_person: int

    @cached_property
    def scale(self) -> Fraction:
        """The scale of Laplace noise, which is used only for trees: the L1 sensitivity over epsilon."""
        return self.factorization.l1_sensitivity(self.per_person) * self.sensitivity / Fraction(self.loss.amount)

    @cached_property
    def variance(self) -> Fraction:
        """The variance of Gaussian noise, in squared units: the squared L2 sensitivity over 2 rho."""
        squared = self.factorization._l2_squared(self.per_person) * (self.sensitivity * self.factorization._unit) ** 2
        return squared / (2 * Fraction(self.loss.amount))

    @cached_property
    def sampler(self) -> LatticeSampler:
        """An exact sampler of integer noise for every measurement."""
        return laplace_sampler(self.scale) if isinstance(self.loss, Pure) else gaussian_sampler(self.variance)

    @cached_property
    def sd(self) -> Array:
        """The standard deviation of the published number at every period."""
        factors = self.factorization.error_factors
        if isinstance(self.loss, Pure):
            return np.asarray(factors * GeometricLaw(float(self.scale)).sd)
        return np.asarray(factors * (math.sqrt(self.variance) / self.factorization._unit))

    def law(self, period: int) -> NoiseLaw:
        """Return the distribution of the noise in the published number of a period; the first period is 1."""
        if not isinstance(self.factorization, Tree):
            return NormalLaw(float(self.sd[period - 1]), 0.0)
        if isinstance(self.loss, Pure):
            return GeometricSumLaw(float(self.scale), int(self.factorization.node_counts[period - 1]))
        # The sum of integer noise variables is treated as a normal variable, with half a step added to its quantiles.
        return NormalLaw(float(self.sd[period - 1]), 0.5)


calibrated_noise = lru_cache(maxsize=64)(CalibratedNoise)
"""Returns the same object for the same arguments, so that its tables are computed once."""


@lru_cache(maxsize=64)
def best_factorization(
    loss: Pure | Zcdp, periods: int, *, window: int | None = None, per_person: int = 1
) -> Factorization:
    """Return the factorization with the smallest error: fresh noise, a tree, or, under Zcdp, the square root."""
    factorizations: list[Factorization] = list(candidate_trees(periods, window))
    if isinstance(loss, Zcdp):
        factorizations.append(SquareRoot(periods, window))
    return lowest_error_factorization(factorizations, loss, per_person)


def lowest_error_factorization(
    factorizations: Iterable[Factorization], loss: Pure | Zcdp, per_person: int = 1
) -> Factorization:
    """Return the factorization with the smallest maximum variance; ties are broken by the mean variance."""

    def error(factorization: Factorization) -> tuple[float, float]:
        pure = isinstance(loss, Pure)
        squared = factorization.l1_sensitivity(per_person) ** 2 if pure else factorization._l2_squared(per_person)
        variance = float(squared) * factorization.error_factors**2
        return round(float(variance.max()), 9), float(variance.mean())

    return min(factorizations, key=error)
