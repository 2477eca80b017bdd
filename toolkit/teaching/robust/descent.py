"""Noisy gradient descent for an M-estimator of location.

The number of steps is fixed in advance; each has noise for what one person adds to the sum of scores.
"""

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from toolkit.central.gaussian import Gaussian
from toolkit.central.laplace import Laplace
from toolkit.central.noise.grid import NO_END
from toolkit.central.release import chosen
from toolkit.central.robust.estimators import Estimator
from toolkit.core.arrays import ArrayLike
from toolkit.core.checks import Number, exact, floats, limits, positive, refuse, whole
from toolkit.core.checks import neighbors as check_neighbors
from toolkit.core.covers import NOISE
from toolkit.core.estimate import Estimate
from toolkit.core.loss import Pure, Zcdp
from toolkit.core.randomness import Rng, check_rng

_UNITS = 2**20  # a score is a whole number of units, bound / 2**20 each


@dataclass(frozen=True)
class NoisyDescent:
    """Step t <- t + rate (sum of psi(x - t) + noise) / n, a fixed number of times: Pure or Zcdp in all.

    Under "replace" one person moves the sum by up to twice the bound of psi, under "add_remove" by the bound.
    Each score is rounded to a whole number of units, and whole noise is added to the sum. `n` is public: the
    number of values under "replace", a guess of it under "add_remove".

    Parameters
    ----------
    estimator : Estimator
        A `Mean`, `Median`, `Huber`, `Tukey` or `Logistic`.
    bounds : pair of number
        Limits that values are clamped to; public.
    loss : Pure or Zcdp
        Of all steps together.
    n : int
        Public: the number of values under "replace", a guess of it under "add_remove".
    steps : int
        How many.
    rate : number
        How far a step goes.
    start : number
        Where the first begins.
    neighbors : {"replace", "add_remove"}
        What one person can change.

    Examples
    --------
    >>> from toolkit.central.robust.estimators import Huber
    >>> descent = NoisyDescent(Huber(10), (0, 100), Pure(50), n=1000, steps=10, rate=1, start=50, neighbors="replace")
    >>> 29 < float(descent.release([30.0] * 1000)) < 31
    True
    """

    estimator: Estimator
    bounds: tuple[Number, Number]
    loss: Pure | Zcdp
    n: int
    steps: int
    rate: Number
    start: Number
    neighbors: str

    def __post_init__(self) -> None:
        limits(self.bounds)
        if not math.isfinite(self.estimator.bound):
            refuse("psi must be bounded", repr(self.estimator), "one person moves the sum without limit")
        if not isinstance(self.loss, Pure | Zcdp):
            refuse("`loss` must be Pure or Zcdp", type(self.loss).__name__, "it is split evenly", TypeError)
        positive(self.loss.amount, "the loss", NO_END)
        positive(self.rate, "rate")
        exact(self.start, "start")
        whole(self.n, "n")
        whole(self.steps, "steps")
        check_neighbors(self.neighbors)

    @property
    def mechanism(self) -> Laplace | Gaussian:
        """What adds the noise of one step, to a whole number of units."""
        share, reach = Fraction(self.loss.amount) / self.steps, _UNITS * self._times
        if isinstance(self.loss, Pure):
            return Laplace.for_epsilon(share, sensitivity=reach)
        return Gaussian.for_rho(share, sensitivity=reach)

    @property
    def sensitivity(self) -> float:
        """How far one person moves the mean score: 2 bound / n, or bound / n."""
        return self._times * self.estimator.bound / self.n

    @property
    def noise(self) -> float:
        """The standard deviation of what is added to the mean score at each step; public."""
        spread = math.sqrt(2) * self.mechanism.scale if isinstance(self.loss, Pure) else self.mechanism.scale
        return spread * self._unit / self.n

    @property
    def _times(self) -> int:
        return 2 if self.neighbors == "replace" else 1

    @property
    def _unit(self) -> float:
        return self.estimator.bound / _UNITS

    def total(self, values: ArrayLike, at: float) -> int:
        """Add up the scores in whole units; a missing value adds nothing.

        Parameters
        ----------
        values : array-like
            The values.
        at : float
            The place.

        Returns
        -------
        int
            The sum.
        """
        low, high = map(float, limits(self.bounds))
        scores = self.estimator.psi(np.clip(floats(values, "values"), low, high) - at) / self._unit
        whole_scores = np.clip(np.rint(np.where(np.isnan(scores), 0.0, scores)), -_UNITS, _UNITS)
        return int(whole_scores.astype(np.int64).sum())

    def release(self, values: ArrayLike, rng: Rng = None) -> Estimate:
        """Release the last place. Each place is public once its noise is drawn, so that only the sums are private.

        Parameters
        ----------
        values : array-like
            The values.
        rng : numpy.random.Generator, optional
            For simulation; a release uses none, which is the operating system's randomness.

        Returns
        -------
        Estimate
            The place.
        """
        source, mechanism = check_rng(rng), self.mechanism
        low, high = map(float, limits(self.bounds))
        at, rate = float(exact(self.start, "start")), float(exact(self.rate, "rate"))
        for _ in range(self.steps):
            noisy = float(mechanism.release(self.total(values, at), rng=source))
            at = min(max(at + rate * noisy * self._unit / self.n, low), high)
        note = f"{self.steps} steps, to each mean score noise of standard deviation {self.noise:.3g}"
        return chosen(at, self.loss, NOISE.adding(", of steps"), "NoisyDescent", rng, (note,))
