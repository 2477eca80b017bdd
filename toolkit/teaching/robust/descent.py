"""Noisy gradient descent for an M-estimator of location.

The number of steps is fixed in advance. The noise of each step hides one person's contribution to the sum of scores.
"""

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from toolkit.central.gaussian import Gaussian
from toolkit.central.laplace import Laplace
from toolkit.central.noise.grid import NO_FINITE_NOISE
from toolkit.central.release import selection_estimate
from toolkit.central.robust.estimators import MEstimator
from toolkit.core.arrays import ArrayLike
from toolkit.core.checks import (
    Number,
    check_bounds,
    check_integer,
    check_neighbors,
    check_positive,
    exact_fraction,
    float_array,
    reject,
)
from toolkit.core.covers import NOISE
from toolkit.core.estimate import Estimate
from toolkit.core.loss import Pure, Zcdp
from toolkit.core.randomness import Rng, check_rng

_UNITS = 2**20  # scores are rounded to whole multiples of bound / 2**20


@dataclass(frozen=True)
class NoisyDescent:
    """Gradient descent with noise: t <- t + rate (sum of psi(x - t) + noise) / n, for a fixed number of steps.

    One person changes the sum by at most twice the bound of psi under "replace", and by at most the bound under
    "add_remove". Each score is rounded to a whole number of units, and integer noise is added to the sum.

    Parameters
    ----------
    estimator : MEstimator
        A `Mean`, `Median`, `Huber`, `Tukey` or `Logistic`.
    bounds : pair of number
        Public limits to which values are clamped.
    loss : Pure or Zcdp
        The loss of all steps together.
    n : int
        A public number: the number of values under "replace", or a guess of this number under "add_remove".
    steps : int
        The number of steps.
    rate : number
        The step size.
    start : number
        The location before the first step.
    neighbors : {"replace", "add_remove"}
        Whether neighboring tables differ by one changed record, or by one added or removed record.

    Examples
    --------
    >>> from toolkit.central.robust.estimators import Huber
    >>> descent = NoisyDescent(Huber(10), (0, 100), Pure(50), n=1000, steps=10, rate=1, start=50, neighbors="replace")
    >>> 29 < float(descent.release([30.0] * 1000)) < 31
    True
    """

    estimator: MEstimator
    bounds: tuple[Number, Number]
    loss: Pure | Zcdp
    n: int
    steps: int
    rate: Number
    start: Number
    neighbors: str

    def __post_init__(self) -> None:
        check_bounds(self.bounds)
        if not math.isfinite(self.estimator.bound):
            reject("psi must be bounded", repr(self.estimator), "one person can move the sum without limit; use Huber")
        if not isinstance(self.loss, Pure | Zcdp):
            reject("`loss` must be Pure or Zcdp", type(self.loss).__name__, "it is divided among the steps", TypeError)
        check_positive(self.loss.amount, "the loss", NO_FINITE_NOISE)
        check_positive(self.rate, "rate")
        exact_fraction(self.start, "start")
        check_integer(self.n, "n")
        check_integer(self.steps, "steps")
        check_neighbors(self.neighbors)

    @property
    def _mechanism(self) -> Laplace | Gaussian:
        """The noise of one step, for a sum in whole units."""
        amount, sensitivity = Fraction(self.loss.amount) / self.steps, _UNITS * self._sensitivity_factor
        if isinstance(self.loss, Pure):
            return Laplace.for_epsilon(amount, sensitivity=sensitivity)
        return Gaussian.for_rho(amount, sensitivity=sensitivity)

    @property
    def sensitivity(self) -> float:
        """The sensitivity of the mean score to one person: 2 bound / n under "replace", otherwise bound / n."""
        return self._sensitivity_factor * self.estimator.bound / self.n

    @property
    def noise_sd(self) -> float:
        """The standard deviation of the noise of the mean score at each step, which is public."""
        sd = math.sqrt(2) * self._mechanism.scale if isinstance(self.loss, Pure) else self._mechanism.scale
        return sd * self._score_unit / self.n

    @property
    def _sensitivity_factor(self) -> int:
        return 2 if self.neighbors == "replace" else 1

    @property
    def _score_unit(self) -> float:
        return self.estimator.bound / _UNITS

    def _total_score(self, values: ArrayLike, location: float) -> int:
        """Return the sum of the scores at a location in whole units; missing values contribute nothing."""
        low, high = map(float, check_bounds(self.bounds))
        scores = self.estimator.psi(np.clip(float_array(values, "values"), low, high) - location) / self._score_unit
        whole_scores = np.clip(np.rint(np.where(np.isnan(scores), 0.0, scores)), -_UNITS, _UNITS)
        return int(whole_scores.astype(np.int64).sum())

    def release(self, values: ArrayLike, rng: Rng = None) -> Estimate:
        """Release the location after the last step.

        The locations depend on the data only through noisy sums, so each location is public once its noise is drawn.

        Parameters
        ----------
        values : array-like
            The values.
        rng : numpy.random.Generator, optional
            A generator for simulations; by default, the operating system's randomness.

        Returns
        -------
        Estimate
            The location.
        """
        source, mechanism = check_rng(rng), self._mechanism
        low, high = map(float, check_bounds(self.bounds))
        location, rate = float(exact_fraction(self.start, "start")), float(exact_fraction(self.rate, "rate"))
        for _ in range(self.steps):
            noisy = float(mechanism.release(self._total_score(values, location), rng=source))
            location = min(max(location + rate * noisy * self._score_unit / self.n, low), high)
        note = f"{self.steps} steps; the noise of each mean score has standard deviation {self.noise_sd:.3g}"
        return selection_estimate(location, self.loss, NOISE.adding(", of steps"), "NoisyDescent", rng, (note,))
