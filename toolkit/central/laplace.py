"""The Laplace mechanism: pure differential privacy for numbers and vectors."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache, partial
from typing import Literal

from toolkit.central.noise.grid import (
    NO_END,
    NO_NOISE,
    Noisy,
    PrivateValue,
    add_on_grid,
    add_whole,
    grid_exponent,
    rounded_sensitivity,
    sensible,
)
from toolkit.central.noise.laws import GeometricLaw, LaplaceLaw, NoiseLaw, RadialLaw
from toolkit.central.release import Additive
from toolkit.core.arrays import Array, ArrayLike
from toolkit.core.checks import Number, check_choice, check_integer, check_level, check_positive, explain_call, reject
from toolkit.core.loss import Pure
from toolkit.core.randomness import Rng
from toolkit.core.sampling import Integers, LatticeSampler, laplace_sampler, radial_laplace
from toolkit.core.search import smallest_where

NORMS = ("l1", "l2")


@explain_call("Laplace.for_epsilon(1.0, sensitivity=1)", seed="rng=numpy.random.default_rng(1) is for a simulation")
@dataclass(frozen=True, repr=False)
class Laplace(Additive):
    """Noise with density proportional to e**(-abs(y) / scale), scale = sensitivity / epsilon: Pure(epsilon).

    If one person moves the statistic by at most `sensitivity` in the norm, no release becomes more than
    e**epsilon times likelier through that person. Whole numbers with a sensitivity of at least 1 get whole
    noise (the two-sided geometric law); everything else is rounded to a grid of powers of two, fixed by
    sensitivity and epsilon alone, and what the rounding adds to the sensitivity is added to the noise. The
    type of the value decides, so it must not depend on data.

    Parameters
    ----------
    loss : Pure
        Pure(epsilon), epsilon above 0 and finite.
    sensitivity : Fraction
        How far one person can move the statistic, in the norm.
    norm : str
        "l1" for independent noise on each entry; "l2" for a uniform direction with a Gamma(d, scale) length.

    References
    ----------
    Dwork, McSherry, Nissim and Smith (2006); Ghosh, Roughgarden and Sundararajan (2009) for whole numbers.

    Examples
    --------
    >>> mechanism = Laplace.for_epsilon(0.5, sensitivity=1)
    >>> mechanism.preview()
    <Preview Laplace: noise scale 2; error at 95 % ± 6; cost ε = 0.5>
    """

    loss: Pure
    sensitivity: Fraction = Fraction(1)
    norm: str = "l1"

    def __post_init__(self) -> None:
        if not isinstance(self.loss, Pure):
            reject(
                "`loss` must be Pure(epsilon)", type(self.loss).__name__, "Laplace noise is purely private", TypeError
            )
        check_positive(self.loss.amount, "epsilon", NO_END)
        object.__setattr__(self, "sensitivity", sensible(self.sensitivity, "sensitivity", NO_NOISE))
        check_choice(self.norm, "norm", NORMS)
        sensible(self._exact_scale, "sensitivity / epsilon", NO_END)

    @classmethod
    def for_epsilon(cls, epsilon: Number, *, sensitivity: Number = 1, norm: Literal["l1", "l2"] = "l1") -> "Laplace":
        """Make the mechanism that costs Pure(epsilon).

        Parameters
        ----------
        epsilon : Number
            The cost.
        sensitivity : Number
            How far one person can move the statistic, in the norm.
        norm : str
            "l1" or "l2".

        Returns
        -------
        Laplace
            The mechanism.
        """
        amount = check_positive(epsilon, "epsilon", NO_END)
        return cls(Pure(amount), sensible(sensitivity, "sensitivity", NO_NOISE), norm)

    @classmethod
    def epsilon_for(cls, *, error: Number, level: Number = 0.95, sensitivity: Number = 1) -> float:
        """Compute the smallest epsilon, to a billionth, whose noise stays within an error.

        Parameters
        ----------
        error : Number
            The bound of the noise.
        level : Number
            Probability that the noise stays within it.
        sensitivity : Number
            How far one person can move the statistic.

        Returns
        -------
        float
            The epsilon.

        Examples
        --------
        >>> Laplace.epsilon_for(error=6, level=0.95, sensitivity=1)
        0.4992...
        """
        target, share = check_positive(error, "error", "no noise has no error"), check_level(level)
        size = float(check_positive(sensitivity, "sensitivity", NO_NOISE))
        start = -math.log1p(-share) * size / float(target)

        def enough(epsilon: float) -> bool:
            return bool(cls.for_epsilon(epsilon, sensitivity=sensitivity).error(share) <= target)

        return smallest_where(enough, 0.0, start, rtol=1e-10)

    @cached_property
    def scale(self) -> float:
        """Sensitivity / epsilon: the mean size of the noise."""
        return float(self._exact_scale)

    @cached_property
    def _integer_law(self) -> GeometricLaw:
        """The law of the noise on whole numbers, where the sensitivity is at least 1."""
        return GeometricLaw(self.scale)

    @cached_property
    def _exact_scale(self) -> Fraction:
        """Sensitivity / epsilon, exactly."""
        return self.sensitivity / Fraction(self.loss.amount)

    def error(self, level: Number = 0.95, *, dimension: int = 1) -> float:
        """Compute the bound that the noise exceeds with probability at most 1 - level.

        Of a vector it bounds each entry for norm "l1", and the length for norm "l2". It holds for whole
        numbers too, where the sensitivity allows them.

        Parameters
        ----------
        level : Number
            Probability that the noise stays within it.
        dimension : int
            Length of the vector.

        Returns
        -------
        float
            The bound.
        """
        share = check_level(level)
        real = LaplaceLaw(self.scale * (1 + 1e-8), 0.0).quantile(share)
        if self.norm == "l2" and check_integer(dimension, "dimension") > 1:
            return RadialLaw(self.scale * (1 + 1e-8), dimension).length(share)
        return max(real, GeometricLaw(self.scale).quantile(share)) if self.sensitivity >= 1 else real

    def density(self, x: ArrayLike) -> Array:
        """Compute 1 / (2 scale) e**(-abs(x) / scale): the law on the reals, for teaching.

        Parameters
        ----------
        x : array-like
            Real numbers.

        Returns
        -------
        Array
            The density at each of them.
        """
        return LaplaceLaw(self.scale).density(x)

    def pmf(self, k: ArrayLike) -> Array:
        """Compute (1-q) / (1+q) q**abs(k), q = e**(-1/scale): the law on the integers, for teaching.

        Parameters
        ----------
        k : array-like
            Integers.

        Returns
        -------
        Array
            The probability at each of them.
        """
        return GeometricLaw(self.scale).pmf(k)

    @lru_cache(maxsize=128)  # noqa: B019  (mechanisms are public, and small)
    def _integer_noise(self, size: int) -> tuple[LatticeSampler, int]:
        if self.norm == "l2" and size > 1:
            reject("whole noise needs norm 'l1'", "'l2'", "a direction is not whole; `noisy` adds its noise on a grid")
        return laplace_sampler(self._exact_scale), 0

    def _add_noise(self, answer: PrivateValue, rng: Rng) -> tuple[Noisy, NoiseLaw]:
        if answer.whole and self.sensitivity >= 1 and (self.norm == "l1" or answer.size == 1):
            return add_whole(answer, self._integer_noise(answer.size)[0].draw(answer.size, rng)), self._integer_law
        exponent, draw, law = _real_noise(self, answer.size)
        return add_on_grid(answer, draw(answer.size, rng), exponent), law

    def __repr__(self) -> str:
        return f"<Laplace scale {self.scale:.4g}; sensitivity {float(self.sensitivity):.4g} ({self.norm}); {self.loss}>"


@lru_cache(maxsize=128)
def _real_noise(mechanism: Laplace, size: int) -> tuple[int, Callable[[int, Rng], Integers], NoiseLaw]:
    """Return the exponent of the grid, the noise in its steps for the rounded sensitivity, and its law."""
    exponent = grid_exponent(mechanism.sensitivity, mechanism._exact_scale)
    unit = Fraction(2) ** exponent
    scale = rounded_sensitivity(mechanism.sensitivity / unit, size, mechanism.norm) / Fraction(mechanism.loss.amount)
    width, grid = float(scale * unit), float(unit)
    if mechanism.norm == "l2" and size > 1:
        return exponent, partial(radial_laplace, scale), RadialLaw(width, size, grid)
    return exponent, laplace_sampler(scale).draw, LaplaceLaw(width, grid)
