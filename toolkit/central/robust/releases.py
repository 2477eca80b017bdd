"""Releases with noise scaled to the smooth sensitivity of a median, a trimmed mean or an interquartile range.

The scale depends on the data and stays inside: no standard error, no interval, no message tells it. Values
are clamped and rounded to a public grid first; statistic and sensitivity are then exact rationals, and the
sum with a continuous noise is rounded to the grid, exactly. The work does not depend on the data but for
the length of the integers; the time that it takes is not part of the promise.
"""

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from toolkit.central.laplace import Laplace
from toolkit.central.release import released_choice
from toolkit.central.robust.admissible import Law, PowerLaw, SmoothGaussian, SmoothLaplace, rounded_sum
from toolkit.central.robust.ranks import RankStatistic
from toolkit.core.arrays import ArrayLike, Steps
from toolkit.core.checks import Number, check_choice, check_level, float_array, reject
from toolkit.core.covers import Covers, ErrorSource
from toolkit.core.estimate import Estimate
from toolkit.core.loss import Loss, Pure
from toolkit.core.randomness import Rng, check_rng
from toolkit.core.sampling import exp_enclosure
from toolkit.frames.sums import Bounds, BoundsLike, format_number

FLOOR_BITS = 24
"""The sensitivity that noise is scaled to is at least 2**-24 of the distance of the bounds: a constant is
smooth, and so is the larger of two smooth functions. It limits how many people away one must look.
"""
_CLOSE = 1e-9


@dataclass(frozen=True, eq=False, repr=False)
class Summary:
    """The statistic and its smooth sensitivity in steps of the grid, to which noise is added; private.

    Parameters
    ----------
    value : Fraction
        The statistic.
    smooth : Fraction
        Its smooth sensitivity.

    Examples
    --------
    >>> mechanism = SmoothSensitivity.for_epsilon(1, "median", n=3, bounds=(0, 100))
    >>> float(mechanism._summarize([0, 50, 100]).value * mechanism.bounds.step)
    50.0
    """

    value: Fraction
    smooth: Fraction


@dataclass(frozen=True, repr=False)
class SmoothSensitivity:
    """A release of a statistic of sorted values with noise for its smooth sensitivity, under "replace".

    Parameters
    ----------
    statistic : RankStatistic
        What is released, of a public number of values.
    bounds : Bounds
        Limits that values are clamped to and a grid that they are rounded to; public.
    noise : PowerLaw, SmoothLaplace or SmoothGaussian
        The law of the noise; `PowerLaw` is pure.

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
    noise: Law

    @classmethod
    def for_epsilon(
        cls, epsilon: Number, statistic: str, *, n: int, bounds: BoundsLike, t: Number | None = None, **options: Any
    ) -> "SmoothSensitivity":
        """Make the mechanism that costs Pure(epsilon), by the power law.

        Parameters
        ----------
        epsilon : number
            What a release costs.
        statistic : str
            A name that `RankStatistic.from_name` takes.
        n : int
            How many values; public.
        bounds : pair of number or Bounds
            Limits that values are clamped to; public.
        t : number, optional
            Of the power law; it must be fixed before the data are seen.
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
            What a release costs.
        delta : number
            What a release costs.
        statistic : str
            A name that `RankStatistic.from_name` takes.
        n : int
            How many values; public.
        bounds : pair of number or Bounds
            Limits that values are clamped to; public.
        noise : {"laplace", "gaussian"}
            The law of the noise.
        **options : Any
            `rank` or `trim`, as for `RankStatistic.from_name`.

        Returns
        -------
        SmoothSensitivity
            The mechanism.
        """
        kind = check_choice(noise, "noise", ("laplace", "gaussian"))
        law: Law = (
            SmoothLaplace.for_loss(epsilon, delta) if kind == "laplace" else SmoothGaussian.for_loss(epsilon, delta)
        )
        return cls(RankStatistic.from_name(statistic, n, **options), Bounds.of(bounds), law)

    def _describe(self) -> dict[str, Any]:
        """Describe the mechanism for a document, without its scale, which depends on the data."""
        name = type(self).__name__
        return {"mechanism": name, "words": name}

    @property
    def loss(self) -> Loss:
        """The privacy loss of a release."""
        return self.noise.loss

    @property
    def _ratio(self) -> Fraction:
        """The ratio q, a binary fraction of at least e**-t."""
        digits = 16 + max(0, math.ceil(-math.log2(self.noise.smoothness)))
        return Fraction(exp_enclosure(self.noise.smoothness, digits)[1], 2**digits)

    @property
    def _farthest(self) -> int:
        """The distance in people beyond which even the width of the bounds contributes less than the floor."""
        needed = math.log(self.bounds.span / self._floor) / -math.log(self._ratio)
        return min(self.statistic.n, math.ceil(needed) + 1)

    @property
    def _floor(self) -> int:
        return max(1, self.bounds.span >> FLOOR_BITS)

    def _summarize(self, values: ArrayLike) -> Summary:
        """Return the statistic and its smooth sensitivity, in steps; private."""
        steps = self.bounds.steps(float_array(values, "values"))
        if len(steps) != self.statistic.n:
            reject(f"there must be {self.statistic.n} values", len(steps), "their number is public")
        return self._summarize_steps(np.sort(np.maximum(steps, 0)))

    def _summarize_steps(self, ordered: Steps) -> Summary:
        """Return the statistic and its smooth sensitivity for sorted steps from 0 to span."""
        reaches = np.array(self.statistic._sensitivities(ordered, 0, self.bounds.span, self._farthest), dtype=float)
        with np.errstate(divide="ignore"):
            heights = np.log(reaches) + np.arange(len(reaches)) * math.log(self._ratio)
        near = np.flatnonzero(heights >= heights.max() - _CLOSE)  # floats choose whom to compare exactly
        largest = max(Fraction(self._floor), *(int(reaches[k]) * self._ratio ** int(k) for k in near))
        value = Fraction(int(self.statistic._evaluate(ordered)), self.statistic.divisor)
        return Summary(value, _rounded_up(largest) / self.statistic.divisor)

    def release(self, values: ArrayLike, rng: Rng = None) -> Estimate:
        """Release the statistic with noise; its standard error is private, because it depends on the data.

        Parameters
        ----------
        values : array-like
            As many as `statistic` is of; a missing value counts as the lower bound.
        rng : numpy.random.Generator, optional
            For simulation; a release uses none, which is the operating system's randomness.

        Returns
        -------
        Estimate
            The statistic.
        """
        source = check_rng(rng)
        return self._draw(self._summarize(values), source)

    def _draw(self, summary: Summary, rng: Rng = None) -> Estimate:
        """Release the statistic of a summary."""
        steps = rounded_sum(summary.value, lambda away: self.noise.tail(away, summary.smooth), rng)
        start = self.bounds.low_steps if not self.statistic.minus else 0
        value = float((start + steps) * self.bounds.step)
        return released_choice(value, self.loss, COVERS, "SmoothSensitivity", rng, (self._note,))

    @property
    def _note(self) -> str:
        """The law of the noise, in units of the private smooth sensitivity."""
        return (
            f"the noise is S times a number that exceeds {self.noise.quantile(0.95):.3g} in size with "
            "probability 5 %; S, its smooth sensitivity, depends on the data and is not told"
        )

    def scale_bound(self, epsilon: Number) -> "ScaleBound":
        """Make a mechanism of its own that releases an upper bound of the noise's scale, for a price of its own.

        Parameters
        ----------
        epsilon : number
            Its price.

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


def _rounded_up(number: Fraction) -> Fraction:
    """Round a number of at least 1 up to fewer digits, by at most 2**-128.

    The ratio q exceeds e**-t by more than this error, so the rounded sensitivity is still t-smooth.
    """
    return Fraction(math.ceil(number * 2**128), 2**128)


COVERS = Covers([ErrorSource.NOISE], "of a size that is private")
_LOG_ERROR = Fraction(1, 2**30)  # twice the error of a logarithm in floats, with much room


@dataclass(frozen=True, repr=False)
class ScaleBound:
    """A noisy upper bound of the scale of the noise, where ln S changes by at most t between neighbors.

    Parameters
    ----------
    release_of : SmoothSensitivity
        The mechanism whose noise it is.
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

    release_of: SmoothSensitivity
    laplace: Laplace

    @property
    def loss(self) -> Pure:
        """The privacy loss of a release."""
        return self.laplace.loss

    def release(self, values: ArrayLike, rng: Rng = None, *, level: Number = 0.95) -> float:
        """Release a number that the standard deviation of the noise does not exceed.

        Parameters
        ----------
        values : array-like
            The values that the statistic is of.
        rng : numpy.random.Generator, optional
            For simulation; a release uses none, which is the operating system's randomness.
        level : number
            Probability that it does not.

        Returns
        -------
        float
            The bound, in the unit of the values.
        """
        share, source = check_level(level), check_rng(rng)
        mechanism = self.release_of
        smooth = mechanism._summarize(values).smooth
        noisy = self.laplace.release(math.log(smooth.numerator) - math.log(smooth.denominator), rng=source)
        upper = float(noisy) - self.laplace.scale * math.log(2 * (1 - share)) * (1 + 1e-6)
        return math.exp(min(upper, 600)) * mechanism.noise.sd * float(mechanism.bounds.step)
