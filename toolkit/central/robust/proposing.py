"""Propose-test-release: a bound on the local sensitivity is proposed and tested privately before it is used."""

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from toolkit.central.laplace import Laplace
from toolkit.central.noise.grid import NO_END
from toolkit.central.release import released_choice
from toolkit.central.robust.admissible import log_up
from toolkit.central.robust.ranks import RankStatistic
from toolkit.core.arrays import ArrayLike
from toolkit.core.checks import Number, check_positive, exact_fraction, float_array, reject
from toolkit.core.covers import NOISE
from toolkit.core.estimate import Estimate
from toolkit.core.loss import Approx
from toolkit.core.randomness import Rng, check_rng
from toolkit.core.sampling import discrete_laplace
from toolkit.core.search import bisect_integers
from toolkit.frames.sums import Bounds


@dataclass(frozen=True, repr=False)
class ProposeTestRelease:
    """A release with Laplace noise for a sensitivity of `proposed`, if a private test confirms this bound.

    It costs Approx(2 epsilon, delta), under "replace".

    How many people must change before the local sensitivity exceeds the proposal moves by at most 1 with one person.
    It is released with noise, Pure(epsilon), and must be above ln(1/delta) / epsilon; where the proposal does not hold
    here already, that happens with probability below delta. Else nothing is released: the value is NaN, and the cost
    the same.

    Parameters
    ----------
    statistic : RankStatistic
        Of a public number of values.
    bounds : Bounds
        Of the values, with the grid that they are rounded to.
    proposed : number
        The sensitivity, in the unit of the values.
    epsilon : number
        Of each of the two parts.
    delta : number
        Of the test.

    References
    ----------
    Dwork and Lei, Differential privacy and robust statistics (2009).

    Examples
    --------
    >>> median = RankStatistic.from_name("median", 1001)
    >>> mechanism = ProposeTestRelease(median, Bounds.of((0, 100)), proposed=20, epsilon=1, delta="1e-6")
    >>> mechanism.loss
    Approx(2.0, 1e-06)
    >>> bool(np.isfinite(float(mechanism.release(np.linspace(0, 100, 1001)))))
    True
    """

    statistic: RankStatistic
    bounds: Bounds
    proposed: Number
    epsilon: Number
    delta: Number

    def __post_init__(self) -> None:
        check_positive(self.epsilon, "epsilon", NO_END)
        check_positive(self.proposed, "proposed", "at 0 the noise would be none")
        if not 0 < exact_fraction(self.delta, "delta") < 1:
            reject("`delta` must lie between 0 and 1", self.delta, "it is the chance of a wrong test")

    @property
    def loss(self) -> Approx:
        """The privacy loss of a release, whether the test passes or not."""
        return Approx(2 * exact_fraction(self.epsilon, "epsilon"), exact_fraction(self.delta, "delta"))

    @property
    def threshold(self) -> int:
        """The threshold of the test: ln(1/delta) / epsilon, rounded up."""
        return math.ceil(log_up(1 / exact_fraction(self.delta, "delta")) / exact_fraction(self.epsilon, "epsilon"))

    def distance(self, values: ArrayLike) -> int:
        """Count how many people must change before the local sensitivity exceeds the proposal; private.

        Parameters
        ----------
        values : array-like
            The values.

        Returns
        -------
        int
            People.
        """
        ordered, allowed = self._ordered(values), self._allowed
        most = self.statistic.n + 1  # with n changes, or never if the proposal is the width itself
        return bisect_integers(
            lambda k: self.statistic._sensitivity_at(ordered, 0, self.bounds.span, k) > allowed, -1, most
        )

    def release(self, values: ArrayLike, rng: Rng = None) -> Estimate:
        """Release the statistic with noise, or NaN if the test fails.

        Parameters
        ----------
        values : array-like
            The values.
        rng : numpy.random.Generator, optional
            For simulation; a release uses none, which is the operating system's randomness.

        Returns
        -------
        Estimate
            The statistic, or NaN.
        """
        source, amount = check_rng(rng), exact_fraction(self.epsilon, "epsilon")
        noisy = self.distance(values) + int(discrete_laplace(1 / amount, 1, source)[0])
        value = Fraction(int(self.statistic._evaluate(self._ordered(values))), self.statistic.divisor)
        start = self.bounds.low_steps if not self.statistic.minus else 0
        released = Laplace.for_epsilon(amount, sensitivity=exact_fraction(self.proposed, "proposed")).release(
            (start + value) * self.bounds.step, rng=source
        )
        passed = noisy > self.threshold
        note = "NaN says that the test of the proposed sensitivity did not pass; it cost the same"
        number = float(released) if passed else math.nan
        return released_choice(number, self.loss, NOISE, "ProposeTestRelease", rng, (note,))

    @property
    def _allowed(self) -> int:
        """The proposed sensitivity in steps times the divisor, rounded down."""
        return math.floor(exact_fraction(self.proposed, "proposed") / self.bounds.step * self.statistic.divisor)

    def _ordered(self, values: ArrayLike) -> Any:
        steps = self.bounds.steps(float_array(values, "values"))
        if len(steps) != self.statistic.n:
            reject(f"there must be {self.statistic.n} values", len(steps), "their number is public")
        return np.sort(np.maximum(steps, 0))
