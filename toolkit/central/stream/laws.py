"""The law of a sum of several two-sided geometric noises, for intervals."""

import math
from dataclasses import dataclass

import numpy as np

from toolkit.central.noise.laws import GeometricLaw
from toolkit.core.inference.special import betainc, gammaincc, gammaln

_MOST_TERMS = 20_000


@dataclass(frozen=True)
class GeometricSumLaw:
    """`count` independent noises with Pr[k] proportional to e**(-|k| / scale), added up.

    The sum has the law of a difference of two negative binomial numbers, each of `count` successes. Where the
    scale is so large that there are too many integers to add over, it is that of two gamma numbers.

    >>> GeometricSumLaw(2.0, 1).reach(0.95) == GeometricLaw(2.0).reach(0.95)
    True
    """

    scale: float
    count: int

    @property
    def sd(self) -> float:
        return math.sqrt(self.count) * GeometricLaw(self.scale).sd

    def reach(self, level: float) -> float:
        """The least whole error that is passed with probability at most 1 - level, by bisection."""
        low, high = -1, max(1, math.ceil(self.sd))
        while self.tail(high) > 1 - level:
            low, high = high, 2 * high
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if self.tail(middle) > 1 - level else (low, middle)
        return float(high)

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
        """Of Laplace noise: its size is Gamma(count - j, scale) with probability (count-1+j over j)
        2**(1-count-j).
        """
        j = np.arange(self.count)
        log_weight = gammaln(self.count + j) - gammaln(j + 1) - gammaln(self.count) - (self.count - 1 + j) * math.log(2)
        return float(np.sum(np.exp(log_weight) * gammaincc(self.count - j, error / self.scale)))
