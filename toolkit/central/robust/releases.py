"""Releases with noise scaled to the smooth sensitivity of a median, a trimmed mean or an interquartile range.

The scale depends on the data and stays private: no standard error, interval or message reveals it. Values are first
clamped and rounded to a public grid. The statistic and its sensitivity are then exact rationals, and the sum with
continuous noise is rounded to the grid without error. The number of operations does not depend on the data, but the
length of the integers does. Running time is not covered by the privacy guarantee.
"""

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from toolkit.central.laplace import Laplace
from toolkit.central.release import selection_estimate
from toolkit.central.robust.admissible import PowerLaw, SmoothGaussian, SmoothLaplace, SmoothNoiseLaw, draw_rounded_sum
from toolkit.central.robust.ranks import RankStatistic, sorted_steps
from toolkit.core.arrays import ArrayLike, Steps
from toolkit.core.checks import Number, check_choice, check_level
from toolkit.core.covers import Covers, ErrorSource
from toolkit.core.estimate import Estimate
from toolkit.core.loss import Loss, Pure
from toolkit.core.randomness import Rng, check_rng
from toolkit.core.sampling import exp_minus_enclosure
from toolkit.frames.sums import Bounds, BoundsLike, format_number

FLOOR_BITS = 24
"""The sensitivity used for noise is at least 2**-24 times the distance between the bounds.

The result remains smooth: a constant is smooth, and so is the maximum of two smooth functions. This minimum limits
the distance in people up to which sensitivities are computed.
"""
_CLOSE = 1e-9


@dataclass(frozen=True, eq=False, repr=False)
class SmoothSummary:
    """The private statistic and its smooth sensitivity in grid steps, before noise is added.

    Parameters
    ----------
    value : Fraction
        The statistic.
    smooth_sensitivity : Fraction
        The smooth sensitivity of the statistic.

    Examples
    --------
    >>> mechanism = SmoothSensitivity.for_epsilon(1, "median", n=3, bounds=(0, 100))
    >>> float(mechanism._summarize([0, 50, 100]).value * mechanism.bounds.step)
    50.0
    """

    value: Fraction
    smooth_sensitivity: Fraction


@dataclass(frozen=True, repr=False)
class SmoothSensitivity:
    """A release of a statistic of sorted values with noise scaled to its smooth sensitivity, under "replace".

    Parameters
    ----------
    statistic : RankStatistic
        The statistic, whose number of values is public.
    bounds : Bounds
        Public limits to which values are clamped, and the grid to which they are rounded.
    noise : PowerLaw, SmoothLaplace or SmoothGaussian
        The distribution of the noise; `PowerLaw` gives pure privacy.

    References
    ----------
    Nissim, Raskhodnikova and Smith (2007).

    Examples
    --------
    >>> mechanism = SmoothSensitivity.for_epsilon(1, "median", n=1001, bounds=(0, 100))
    >>> mechanism
    <SmoothSensitivity of the median of 1001 values between 0 and 100: PowerLaw; ε = 1>
    >>> 49 < float(mechanism.release([50.0] * 1001)) < 51
    True
    """

    statistic: RankStatistic
    bounds: Bounds
    noise: SmoothNoiseLaw

    @classmethod
    def for_epsilon(
        cls, epsilon: Number, statistic: str, *, n: int, bounds: BoundsLike, t: Number | None = None, **options: Any
    ) -> "SmoothSensitivity":
        """Make the mechanism that costs Pure(epsilon), with power-law noise.

        Parameters
        ----------
        epsilon : number
            The cost of a release.
        statistic : str
            A name that `RankStatistic.from_name` accepts.
        n : int
            The public number of values.
        bounds : pair of number or Bounds
            Public limits to which values are clamped.
        t : number, optional
            The smoothness of the power law, which must be fixed before the data are seen.
        **options : Any
            `rank` or `trim`, as for `RankStatistic.from_name`.

        Returns
        -------
        SmoothSensitivity
            The mechanism.
        """
        law = PowerLaw.for_epsilon(epsilon, t)
        return cls(RankStatistic.from_name(statistic, n, **options), Bounds.of(bounds), law)

    @classmethod
    def for_loss(
        cls,
        epsilon: Number,
        delta: Number,
        statistic: str,
        *,
        n: int,
        bounds: BoundsLike,
        noise: str = "laplace",
        **options: Any,
    ) -> "SmoothSensitivity":
        """Make the mechanism that costs Approx(epsilon, delta), for comparison; the power law needs less noise.

        Parameters
        ----------
        epsilon : number
            The epsilon of a release.
        delta : number
            The delta of a release.
        statistic : str
            A name that `RankStatistic.from_name` accepts.
        n : int
            The public number of values.
        bounds : pair of number or Bounds
            Public limits to which values are clamped.
        noise : {"laplace", "gaussian"}
            The distribution of the noise.
        **options : Any
            `rank` or `trim`, as for `RankStatistic.from_name`.

        Returns
        -------
        SmoothSensitivity
            The mechanism.
        """
        law_name = check_choice(noise, "noise", ("laplace", "gaussian"))
        law: SmoothNoiseLaw = (
            SmoothLaplace.for_loss(epsilon, delta) if law_name == "laplace" else SmoothGaussian.for_loss(epsilon, delta)
        )
        return cls(RankStatistic.from_name(statistic, n, **options), Bounds.of(bounds), law)

    def _describe(self) -> dict[str, Any]:
        """Describe the mechanism for publication, without its scale, which depends on the data."""
        name = type(self).__name__
        return {"mechanism": name, "words": name}

    @property
    def loss(self) -> Loss:
        """The privacy loss of a release."""
        return self.noise.loss

    @property
    def _discount(self) -> Fraction:
        """The discount q per person, a binary fraction of at least e**-t."""
        digits = 16 + max(0, math.ceil(-math.log2(self.noise.smoothness)))
        return Fraction(exp_minus_enclosure(self.noise.smoothness, digits)[1], 2**digits)

    @property
    def _max_distance(self) -> int:
        """The distance beyond which even the discounted full width of the bounds is below the minimum sensitivity."""
        needed = math.log(self.bounds.span / self._floor) / -math.log(self._discount)
        return min(self.statistic.n, math.ceil(needed) + 1)

    @property
    def _floor(self) -> int:
        return max(1, self.bounds.span >> FLOOR_BITS)

    def _summarize(self, values: ArrayLike) -> SmoothSummary:
        """Return the private statistic and its smooth sensitivity in grid steps."""
        return self._summarize_steps(sorted_steps(values, self.bounds, self.statistic.n))

    def _summarize_steps(self, ordered: Steps) -> SmoothSummary:
        """Return the statistic and its smooth sensitivity for sorted steps from 0 to span."""
        sensitivities = np.array(
            self.statistic._sensitivities(ordered, 0, self.bounds.span, self._max_distance), dtype=float
        )
        with np.errstate(divide="ignore"):
            log_values = np.log(sensitivities) + np.arange(len(sensitivities)) * math.log(self._discount)
        near = np.flatnonzero(
            log_values >= log_values.max() - _CLOSE
        )  # floats select the candidates for the exact comparison
        largest = max(Fraction(self._floor), *(int(sensitivities[k]) * self._discount ** int(k) for k in near))
        value = Fraction(int(self.statistic._evaluate(ordered)), self.statistic.divisor)
        return SmoothSummary(value, _round_up(largest) / self.statistic.divisor)

    def release(self, values: ArrayLike, rng: Rng = None) -> Estimate:
        """Release the statistic with noise; the standard error is private because it depends on the data.

        Parameters
        ----------
        values : array-like
            The values; there must be as many as `statistic` requires. A missing value counts as the lower bound.
        rng : numpy.random.Generator, optional
            A generator for simulations; the default is the operating system's randomness.

        Returns
        -------
        Estimate
            The statistic.
        """
        source = check_rng(rng)
        return self._draw(self._summarize(values), source)

    def _draw(self, summary: SmoothSummary, rng: Rng = None) -> Estimate:
        """Add noise to the statistic of a summary and return the estimate."""
        steps = draw_rounded_sum(summary.value, lambda y: self.noise.tail(y, summary.smooth_sensitivity), rng)
        start = self.bounds.low_steps if not self.statistic.subtracted_ranks else 0
        value = float((start + steps) * self.bounds.step)
        return selection_estimate(value, self.loss, COVERS, "SmoothSensitivity", rng, (self._note,))

    @property
    def _note(self) -> str:
        """A sentence about the distribution of the noise, in units of the private smooth sensitivity."""
        return (
            f"the noise is S times a number that exceeds {self.noise.two_sided_quantile(0.95):.3g} in size with "
            "probability 5 %; S, its smooth sensitivity, depends on the data and is not published"
        )

    def scale_bound(self, epsilon: Number) -> "ScaleBound":
        """Make a separate mechanism that releases an upper bound on the scale of the noise, at a separate cost.

        Parameters
        ----------
        epsilon : number
            The cost of the bound.

        Returns
        -------
        ScaleBound
            The mechanism.
        """
        return ScaleBound(self, Laplace.for_epsilon(epsilon, sensitivity=self.noise.smoothness + _LOG_ERROR))

    def __repr__(self) -> str:
        low, high = (format_number(float(limit)) for limit in (self.bounds.low, self.bounds.high))
        return (
            f"<SmoothSensitivity of the {self.statistic.name} of {self.statistic.n} values between {low} and "
            f"{high}: {type(self.noise).__name__}; {self.loss}>"
        )


def _round_up(number: Fraction) -> Fraction:
    """Round a number of at least 1 up to a multiple of 2**-128.

    The discount q exceeds e**-t by more than this rounding error, so the rounded sensitivity is still t-smooth.
    """
    return Fraction(math.ceil(number * 2**128), 2**128)


COVERS = Covers([ErrorSource.NOISE], "of a size that is private")
_LOG_ERROR = Fraction(1, 2**30)  # much larger than twice the error of a logarithm in floats


@dataclass(frozen=True, repr=False)
class ScaleBound:
    """A noisy upper bound on the scale of the noise; ln S changes by at most t between neighbors.

    Parameters
    ----------
    mechanism : SmoothSensitivity
        The mechanism whose noise is bounded.
    laplace : Laplace
        The noise that is added to ln S.

    Examples
    --------
    >>> mechanism = SmoothSensitivity.for_epsilon(1, "median", n=5, bounds=(0, 100)).scale_bound("1/2")
    >>> mechanism.loss
    Pure(0.5)
    >>> mechanism.release([0.0, 0.0, 0.0, 0.0, 100.0]) > 0
    True
    """

    mechanism: SmoothSensitivity
    laplace: Laplace

    @property
    def loss(self) -> Pure:
        """The privacy loss of a release."""
        return self.laplace.loss

    def release(self, values: ArrayLike, rng: Rng = None, *, level: Number = 0.95) -> float:
        """Release an upper bound on the standard deviation of the noise.

        Parameters
        ----------
        values : array-like
            The values from which the statistic is computed.
        rng : numpy.random.Generator, optional
            A generator for simulations; the default is the operating system's randomness.
        level : number
            The probability that the bound holds.

        Returns
        -------
        float
            The bound, in the unit of the values.
        """
        share, source = check_level(level), check_rng(rng)
        mechanism = self.mechanism
        smooth = mechanism._summarize(values).smooth_sensitivity
        noisy = self.laplace.release(math.log(smooth.numerator) - math.log(smooth.denominator), rng=source)
        upper = float(noisy) - self.laplace.scale * math.log(2 * (1 - share)) * (1 + 1e-6)
        return math.exp(min(upper, 600)) * mechanism.noise.sd * float(mechanism.bounds.step)
