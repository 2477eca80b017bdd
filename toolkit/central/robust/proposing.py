"""Propose-test-release: a bound on the local sensitivity is proposed, and tested privately before it is used."""

import math
from dataclasses import dataclass
from fractions import Fraction

from toolkit.central.laplace import Laplace
from toolkit.central.noise.grid import NO_FINITE_NOISE
from toolkit.central.release import selection_estimate
from toolkit.central.robust.admissible import log_rounded_up
from toolkit.central.robust.ranks import RankStatistic, sorted_steps
from toolkit.core.arrays import ArrayLike, Steps
from toolkit.core.checks import Number, check_positive, exact_fraction, reject
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

    A release costs Approx(2 epsilon, delta), under "replace".

    Let the distance be the number of people whose values must change before the local sensitivity exceeds the proposal.
    One person changes the distance by at most 1. The distance is released with noise at a cost of Pure(epsilon), and
    the test passes if the noisy distance is above ln(1/delta) / epsilon. If the proposal is already wrong for these
    values, the test passes with probability below delta. If the test fails, the value is NaN and the cost is the same.

    Parameters
    ----------
    statistic : RankStatistic
        The statistic, whose number of values is public.
    bounds : Bounds
        The limits to which values are clamped, and the grid to which they are rounded.
    proposed : number
        The proposed sensitivity, in the unit of the values.
    epsilon : number
        The epsilon of the test, which is also the epsilon of the release.
    delta : number
        The probability that the test wrongly passes.

    References
    ----------
    Dwork and Lei, Differential privacy and robust statistics (2009).

    Examples
    --------
    >>> import numpy as np
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
        check_positive(self.epsilon, "epsilon", NO_FINITE_NOISE)
        check_positive(self.proposed, "proposed", "at 0 there would be no noise")
        if not 0 < exact_fraction(self.delta, "delta") < 1:
            reject("`delta` must lie between 0 and 1", self.delta, "it is the chance that the test wrongly passes")

    @property
    def loss(self) -> Approx:
        """The privacy loss of a release, whether the test passes or not."""
        return Approx(2 * exact_fraction(self.epsilon, "epsilon"), exact_fraction(self.delta, "delta"))

    @property
    def threshold(self) -> int:
        """The threshold of the test: ln(1/delta) / epsilon, rounded up."""
        return math.ceil(
            log_rounded_up(1 / exact_fraction(self.delta, "delta")) / exact_fraction(self.epsilon, "epsilon")
        )

    def distance(self, values: ArrayLike) -> int:
        """Return the private number of values that must change before the local sensitivity exceeds the proposal.

        Parameters
        ----------
        values : array-like
            The values.

        Returns
        -------
        int
            The number of people.
        """
        ordered, max_sensitivity = self._sorted_steps(values), self._max_sensitivity
        max_distance = self.statistic.n + 1  # n + 1 stands for "never", if the proposal is the whole width
        return bisect_integers(
            lambda k: self.statistic._sensitivity_at(ordered, 0, self.bounds.span, k) > max_sensitivity,
            -1,
            max_distance,
        )

    def release(self, values: ArrayLike, rng: Rng = None) -> Estimate:
        """Release the statistic with noise, or NaN if the test fails.

        Parameters
        ----------
        values : array-like
            The values.
        rng : numpy.random.Generator, optional
            A generator for simulations; the default is the operating system's randomness.

        Returns
        -------
        Estimate
            The noisy statistic, or NaN.
        """
        source, amount = check_rng(rng), exact_fraction(self.epsilon, "epsilon")
        noisy_distance = self.distance(values) + int(discrete_laplace(1 / amount, 1, source)[0])
        value = Fraction(int(self.statistic._evaluate(self._sorted_steps(values))), self.statistic.divisor)
        start = self.bounds.low_steps if not self.statistic.subtracted_ranks else 0
        noisy_value = Laplace.for_epsilon(amount, sensitivity=exact_fraction(self.proposed, "proposed")).release(
            (start + value) * self.bounds.step, rng=source
        )
        passed = noisy_distance > self.threshold
        note = "NaN means that the test of the proposed sensitivity did not pass; the cost is the same"
        number = float(noisy_value) if passed else math.nan
        return selection_estimate(number, self.loss, NOISE, "ProposeTestRelease", rng, (note,))

    @property
    def _max_sensitivity(self) -> int:
        """The proposed sensitivity in steps times the divisor, rounded down."""
        return math.floor(exact_fraction(self.proposed, "proposed") / self.bounds.step * self.statistic.divisor)

    def _sorted_steps(self, values: ArrayLike) -> Steps:
        return sorted_steps(values, self.bounds, self.statistic.n)
