"""`RangeFinder`: limits for a column of unknown size, from noisy counts of its values by powers of two."""

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from toolkit.central.gaussian import Gaussian
from toolkit.central.laplace import Laplace
from toolkit.central.publishing.tails import least_reach, tail_of, threshold_words
from toolkit.core.arrays import Array, Steps
from toolkit.core.checks import exact, refuse, whole
from toolkit.core.loss import Loss
from toolkit.core.randomness import Rng

_FARTHEST = 300


@dataclass(frozen=True)
class RangeFinder:
    """Bins end at 0 and at ±2**e, e from `first` to `last`; limits are the outer edges of the bins whose
    noisy count reaches `threshold`.

    The threshold is so high that with probability 1 - beta no empty bin reaches it: the least k with
    Pr[noise >= k] <= p, (1 - p)**bins = 1 - beta. A value beyond the outermost powers is in the outermost
    bin. If no bin reaches the threshold, the limits are the whole range.

    >>> finder = RangeFinder(Laplace.for_epsilon(1, sensitivity=1))
    >>> finder.bins, finder.threshold
    (128, 12)
    >>> finder.limits(finder.counts(np.full(1000, 20.0)) * 1)
    (Fraction(16, 1), Fraction(32, 1))

    References
    ----------
    Wilson and others (2020), Differentially private SQL with bounded user contribution, section 5.
    """

    noise: Laplace | Gaussian
    first: int = -31
    last: int = 32
    beta: Fraction = Fraction(1, 1000)

    def __post_init__(self) -> None:
        powers = tuple(whole(power, "powers", least=-_FARTHEST) for power in (self.first, self.last))
        if not powers[0] < powers[1] <= _FARTHEST:
            refuse(
                f"`powers` must be two increasing whole numbers within ±{_FARTHEST}",
                powers,
                "bins end at these powers of two",
            )
        object.__setattr__(self, "beta", exact(self.beta, "beta"))
        if not 0 < self.beta < 1:
            refuse("`beta` must lie strictly between 0 and 1", self.beta, "it is the chance of a wide range")

    def facts(self) -> dict[str, Any]:
        """What a document says of it."""
        facts = {"mechanism": type(self).__name__, "words": threshold_words(self.noise)}
        return facts | self.noise.whole_facts() | {"threshold": self.threshold, "bins": self.bins}

    @property
    def loss(self) -> Loss:
        return self.noise.loss

    @cached_property
    def edges(self) -> tuple[Fraction, ...]:
        """All ends of bins, from the lowest to the highest."""
        powers = [Fraction(2) ** power for power in range(self.first, self.last + 1)]
        return (*(-power for power in reversed(powers)), Fraction(0), *powers)

    @property
    def bins(self) -> int:
        return len(self.edges) - 1

    @cached_property
    def threshold(self) -> int:
        def enough(share: Fraction) -> bool:
            return (1 - share) ** self.bins >= 1 - self.beta

        return least_reach(tail_of(self.noise), enough)

    def codes(self, values: Array) -> Steps:
        """The bin of each value, its lower edge included; -1 for a missing one."""
        inner = np.array([float(edge) for edge in self.edges[1:-1]])
        return np.where(np.isnan(values), -1, np.searchsorted(inner, values, side="right"))

    def counts(self, values: Array) -> Steps:
        """How many values are in each bin."""
        return np.bincount(self.codes(values) + 1, minlength=self.bins + 1)[1:].astype(np.int64)

    def limits(self, noisy: Steps) -> tuple[Fraction, Fraction]:
        """From noisy counts, which nothing but noise separates from the data."""
        bins = np.flatnonzero(np.asarray(noisy) >= self.threshold)
        if not len(bins):
            return self.edges[0], self.edges[-1]
        return self.edges[int(bins[0])], self.edges[int(bins[-1]) + 1]

    def choose(self, counts: Steps, rng: Rng = None) -> tuple[Fraction, Fraction]:
        """Limits of the bins with these counts."""
        return self.limits(np.asarray(self.noise.release(counts, rng=rng).value))
