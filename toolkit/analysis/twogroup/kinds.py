"""Three kinds of people behind two groups: who always say yes, who say yes as often as their group's device
makes them, and who always say no.

Cheater detection and the lie detector are this model with different names for the kinds.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from toolkit.analysis.twogroup.groups import Groups
from toolkit.core.arrays import Array


@dataclass(frozen=True, eq=False)
class Kinds:
    """`sometimes` : in each group the chance that people of the second kind say yes."""

    groups: Groups
    sometimes: tuple[float, float]

    @cached_property
    def _solve(self) -> Array:
        """What turns the shares of yes of both groups into shares of the kinds, up to a constant."""
        first, second = self.sometimes
        return np.array([[second, -first], [-1, 1], [1 - second, first - 1]]) / (second - first)

    @cached_property
    def value(self) -> Array:
        """The shares of the three kinds, unbiased."""
        return np.asarray(self._solve @ self.groups.seen + np.array([0.0, 0.0, 1.0]))

    @cached_property
    def cov(self) -> Array:
        return np.asarray(self._solve @ np.diag(self.groups.variance) @ self._solve.T)

    @cached_property
    def likeliest(self) -> tuple[Array, float]:
        """The likeliest shares, and how likely: the unbiased ones where these are possible, else the best
        point of the three edges.
        """
        if self.value.min() >= 0:
            return self.value, self.groups.best
        corners = ((1.0, 1.0), self.sometimes, (0.0, 0.0))
        found = []
        for one, other in ((0, 1), (0, 2), (1, 2)):
            at, height = self.groups.likeliest(corners[one], corners[other])
            shares = np.zeros(3)
            shares[one], shares[other] = 1 - at, at
            found.append((height, shares))
        height, shares = max(found, key=lambda pair: pair[0])
        return shares, height

    def without_the_last(self) -> tuple[float, float]:
        """The share of the first kind if nobody always says no, and how likely that is."""
        return self.groups.likeliest(self.sometimes, (1.0, 1.0))
