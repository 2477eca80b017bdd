"""Estimates whose error has no formula: the survey is drawn again from itself, many times."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from toolkit.core.arrays import Array
from toolkit.core.inference.intervals import Interval

SEED = 20_191_205
"""Drawing again is arithmetic, not privacy: with a fixed start the same reports always give the same band."""


@dataclass(frozen=True, eq=False)
class Bootstrap:
    """Percentiles of the estimates from surveys drawn again: one row a survey, one column a label."""

    replicates: Array
    methods: tuple[str, ...] = ("bootstrap",)
    equal_tails: ClassVar[bool] = True  # each limit leaves out the same share of the surveys

    @property
    def least_p(self) -> float:
        """So many surveys cannot tell a smaller p-value from this one."""
        return 2 / (len(self.replicates) + 1)

    def interval(self, level: float, method: str) -> Interval:
        low, high = np.quantile(self.replicates, [(1 - level) / 2, (1 + level) / 2], axis=0)
        return Interval(low, high, level, method)


def resampled(counts: Array, replicates: int, rng: np.random.Generator) -> Array:
    """Tallies of as many reports drawn from the tally, one row a survey."""
    n = int(counts.sum())
    return rng.multinomial(n, counts / n, size=replicates).astype(np.float64)
