"""The Laplace mechanism: pure differential privacy for numbers and vectors."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache, partial
from typing import Literal

from toolkit.central.noise.grid import (
    NO_FINITE_NOISE,
    NO_NOISE_NEEDED,
    Noisy,
    PrivateValue,
    add_grid_noise,
    add_integer_noise,
    check_magnitude,
    grid_exponent,
    rounded_sensitivity,
)
from toolkit.central.noise.laws import GeometricLaw, LaplaceLaw, NoiseLaw, RadialLaw
from toolkit.central.release import AdditiveMechanism
from toolkit.core.arrays import Array, ArrayLike
from toolkit.core.checks import Number, check_choice, check_integer, check_level, check_positive, explain_call, reject
from toolkit.core.loss import Pure
from toolkit.core.randomness import Rng
from toolkit.core.sampling import Integers, LatticeSampler, laplace_sampler, radial_laplace
from toolkit.core.search import smallest_where

NORMS = ("l1", "l2")


@explain_call("Laplace.for_epsilon(1.0, sensitivity=1)", seed="rng=numpy.random.default_rng(1) is for a simulation")
@dataclass(frozen=True, repr=False)
class Laplace(AdditiveMechanism):
    """Noise with density proportional to e**(-abs(y) / scale), scale = sensitivity / epsilon: Pure(epsilon).

    If one person changes the statistic by at most `sensitivity` in the given norm, this person changes the probability
    of any release by a factor of at most e**epsilon. Integers with a sensitivity of at least 1 get integer noise with a
    two-sided geometric distribution. All other values are rounded to a power-of-two grid that depends on the
    sensitivity and epsilon alone; the noise also covers the sensitivity that the rounding adds. The type of the value
    determines the kind of noise, so it must not depend on the data.

    Parameters
    ----------
    loss : Pure
        The privacy loss, with epsilon above 0 and finite.
    sensitivity : Fraction
        The largest change of the statistic that one person can cause, in the given norm.
    norm : str
        "l1" for independent noise on each entry; "l2" for noise with a uniform direction and a Gamma(d, scale) length.

    References
    ----------
    Dwork, McSherry, Nissim and Smith (2006); Ghosh, Roughgarden and Sundararajan (2009) for integers.

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
            reject("`loss` must be Pure(epsilon)", type(self.loss).__name__, "Laplace noise has a pure loss", TypeError)
        check_positive(self.loss.amount, "epsilon", NO_FINITE_NOISE)
        object.__setattr__(self, "sensitivity", check_magnitude(self.sensitivity, "sensitivity", NO_NOISE_NEEDED))
        check_choice(self.norm, "norm", NORMS)
        check_magnitude(self._exact_scale, "sensitivity / epsilon", NO_FINITE_NOISE)

    @classmethod
    def for_epsilon(cls, epsilon: Number, *, sensitivity: Number = 1, norm: Literal["l1", "l2"] = "l1") -> "Laplace":
        """Make the mechanism that costs Pure(epsilon).

        Parameters
        ----------
        epsilon : Number
            The cost.
        sensitivity : Number
            The largest change of the statistic that one person can cause, in the given norm.
        norm : {"l1", "l2"}
            The norm of the sensitivity.

        Returns
        -------
        Laplace
            The mechanism.
        """
        amount = check_positive(epsilon, "epsilon", NO_FINITE_NOISE)
        return cls(Pure(amount), check_magnitude(sensitivity, "sensitivity", NO_NOISE_NEEDED), norm)

    @classmethod
    def epsilon_for(cls, *, error: Number, level: Number = 0.95, sensitivity: Number = 1) -> float:
        """Compute the smallest epsilon, to within 1e-9, for which noise stays within a bound with a given probability.

        Parameters
        ----------
        error : Number
            The bound on the absolute noise.
        level : Number
            The probability that the noise stays within the bound.
        sensitivity : Number
            The largest change of the statistic that one person can cause.

        Returns
        -------
        float
            The epsilon.

        Examples
        --------
        >>> Laplace.epsilon_for(error=6, level=0.95, sensitivity=1)
        0.4992...
        """
        target, share = check_positive(error, "error", "noise always has some error"), check_level(level)
        norm_bound = float(check_positive(sensitivity, "sensitivity", NO_NOISE_NEEDED))
        start = -math.log1p(-share) * norm_bound / float(target)

        def is_accurate(epsilon: float) -> bool:
            return bool(cls.for_epsilon(epsilon, sensitivity=sensitivity).error(share) <= target)

        return smallest_where(is_accurate, 0.0, start, rtol=1e-10)

    @cached_property
    def scale(self) -> float:
        """The mean absolute noise, sensitivity / epsilon."""
        return float(self._exact_scale)

    @cached_property
    def _integer_law(self) -> GeometricLaw:
        """The distribution of the noise on integers, which requires a sensitivity of at least 1."""
        return GeometricLaw(self.scale)

    @cached_property
    def _exact_scale(self) -> Fraction:
        """The exact value of sensitivity / epsilon."""
        return self.sensitivity / Fraction(self.loss.amount)

    def error(self, level: Number = 0.95, *, dimension: int = 1) -> float:
        """Compute the bound that the noise exceeds with probability at most 1 - level.

        For a vector, the bound is for each entry if the norm is "l1", and for the Euclidean norm if it is "l2". If the
        sensitivity is at least 1, the bound also holds for integer noise.

        Parameters
        ----------
        level : Number
            The probability that the noise stays within the bound.
        dimension : int
            The number of entries of the vector.

        Returns
        -------
        float
            The bound.
        """
        share = check_level(level)
        real = LaplaceLaw(self.scale * (1 + 1e-8), 0.0).two_sided_quantile(share)
        if self.norm == "l2" and check_integer(dimension, "dimension") > 1:
            return RadialLaw(self.scale * (1 + 1e-8), dimension).length_quantile(share)
        return max(real, GeometricLaw(self.scale).two_sided_quantile(share)) if self.sensitivity >= 1 else real

    def density(self, x: ArrayLike) -> Array:
        """Compute the density of the continuous distribution, 1 / (2 scale) e**(-abs(x) / scale), for teaching.

        Parameters
        ----------
        x : array-like
            Real numbers.

        Returns
        -------
        Array
            The density at each number.
        """
        return LaplaceLaw(self.scale).density(x)

    def pmf(self, k: ArrayLike) -> Array:
        """Compute the probabilities of integer noise, (1-q) / (1+q) q**abs(k) with q = e**(-1/scale), for teaching.

        Parameters
        ----------
        k : array-like
            Integers.

        Returns
        -------
        Array
            The probability of each integer.
        """
        return GeometricLaw(self.scale).pmf(k)

    @lru_cache(maxsize=128)  # noqa: B019  (mechanisms are public and small)
    def _integer_sampler(self, n_entries: int) -> tuple[LatticeSampler, int]:
        if self.norm == "l2" and n_entries > 1:
            reject("integer noise requires the norm 'l1'", "'l2'", "noise with a random direction is not an integer")
        return laplace_sampler(self._exact_scale), 0

    def _add_noise(self, answer: PrivateValue, rng: Rng) -> tuple[Noisy, NoiseLaw]:
        if answer.is_whole and self.sensitivity >= 1 and (self.norm == "l1" or answer.size == 1):
            return add_integer_noise(
                answer, self._integer_sampler(answer.size)[0].draw(answer.size, rng)
            ), self._integer_law
        exponent, draw, law = _grid_noise(self, answer.size)
        return add_grid_noise(answer, draw(answer.size, rng), exponent), law

    def __repr__(self) -> str:
        return f"<Laplace scale {self.scale:.4g}; sensitivity {float(self.sensitivity):.4g} ({self.norm}); {self.loss}>"


@lru_cache(maxsize=128)
def _grid_noise(mechanism: Laplace, n_entries: int) -> tuple[int, Callable[[int, Rng], Integers], NoiseLaw]:
    """Return the grid exponent, a sampler of noise in grid steps for the rounded sensitivity, and the distribution."""
    exponent = grid_exponent(mechanism.sensitivity, mechanism._exact_scale)
    unit = Fraction(2) ** exponent
    scale = rounded_sensitivity(mechanism.sensitivity / unit, n_entries, mechanism.norm) / Fraction(
        mechanism.loss.amount
    )
    width, grid_step = float(scale * unit), float(unit)
    if mechanism.norm == "l2" and n_entries > 1:
        return exponent, partial(radial_laplace, scale), RadialLaw(width, n_entries, grid_step)
    return exponent, laplace_sampler(scale).draw, LaplaceLaw(width, grid_step)
