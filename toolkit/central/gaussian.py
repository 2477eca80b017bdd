"""The Gaussian mechanism: approximate and concentrated privacy, for numbers and for vectors in length."""

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import Literal

from toolkit.central.noise.gaussian_delta import grid_bits, is_private, least_ratio, root_of_log_ratio
from toolkit.central.noise.grid import (
    NO_END,
    NO_NOISE,
    Noisy,
    PrivateValue,
    add_on_grid,
    add_whole,
    grid_exponent,
    proper,
    rounded_sensitivity,
    sensible,
)
from toolkit.central.noise.laws import NoiseLaw, NormalLaw, RoundedNormalLaw
from toolkit.central.release import Additive
from toolkit.core.arrays import Array, ArrayLike
from toolkit.core.checks import Number, check_choice, check_level, check_positive, explain_call, reject
from toolkit.core.inference.special import ndtri
from toolkit.core.loss import Approx, Zcdp
from toolkit.core.randomness import Rng
from toolkit.core.sampling import LatticeSampler, floor_log2, gaussian_sampler
from toolkit.core.search import smallest_where


@explain_call("Gaussian.for_rho(0.1, sensitivity=1)", seed="rng=numpy.random.default_rng(1) is for a simulation")
@dataclass(frozen=True, repr=False)
class Gaussian(Additive):
    """Noise with density proportional to e**(-y**2 / (2 variance)): Approx(epsilon, delta) and Zcdp(rho).

    If one person moves the statistic by at most `sensitivity` in length (L2 norm), the cost is rho = sensitivity**2 /
    (2 variance), exactly, and every (epsilon, delta) that the exact delta of the law allows. An object whose claim
    cannot be proven cannot be made. The noise is the discrete Gaussian on a fine grid of powers of two; whole numbers
    with a sensitivity of at least 1 are afterwards rounded to whole numbers, which costs nothing.

    Parameters
    ----------
    loss : Approx or Zcdp
        What is claimed.
    variance : Fraction
        Of the noise on each entry.
    sensitivity : Fraction
        How far one person can move the statistic, in length.

    References
    ----------
    Balle and Wang (2018) for the exact delta; Canonne, Kamath and Steinke (2020) for the discrete law.

    Examples
    --------
    >>> mechanism = Gaussian.for_loss(1, 1e-6, sensitivity=1)
    >>> mechanism.preview()
    <Preview Gaussian: noise scale 4.225; error at 95 % ± 8.28; cost ε = 1, δ = 1e-06>
    """

    loss: Approx | Zcdp
    variance: Fraction
    sensitivity: Fraction = Fraction(1)

    def __post_init__(self) -> None:
        object.__setattr__(
            self, "variance", check_positive(self.variance, "variance", "without noise nothing is private")
        )
        object.__setattr__(self, "sensitivity", sensible(self.sensitivity, "sensitivity", NO_NOISE))
        sensible(self._sigma, "sigma", NO_END)
        if not isinstance(self.loss, Approx | Zcdp):
            reject(
                "`loss` must be Approx or Zcdp",
                type(self.loss).__name__,
                "Gaussian noise is not purely private",
                TypeError,
            )
        proven = self.zcdp <= self.loss if isinstance(self.loss, Zcdp) else self._is_private(self.loss)
        if not proven:
            reject(f"`variance` must be large enough for {self.loss}", float(self.variance), "the claim would not hold")

    def _is_private(self, loss: Approx) -> bool:
        if not 0 < loss.slack < 1 or loss.amount == math.inf or loss.amount == 0:
            reject("epsilon must be above 0 and finite, delta between 0 and 1", loss, NO_END)
        return is_private(Fraction(loss.amount), loss.slack, self._sigma / self.sensitivity)

    @classmethod
    def for_loss(
        cls,
        epsilon: Number,
        delta: Number,
        *,
        sensitivity: Number = 1,
        calibration: Literal["analytic", "classic", "lecture"] = "analytic",
    ) -> "Gaussian":
        """Make the mechanism that costs Approx(epsilon, delta).

        Parameters
        ----------
        epsilon : Number
            Above 0.
        delta : Number
            Between 0 and 1.
        sensitivity : Number
            How far one person can move the statistic, in length.
        calibration : str
            "analytic" is the least noise that is proven private. For comparison: "classic" is sqrt(2 ln(1.25/delta))
            sensitivity / epsilon, proven for epsilon up to 1 and refused above; "lecture" has 2 in place of 1.25.

        Returns
        -------
        Gaussian
            The mechanism.
        """
        amount, slack = check_positive(epsilon, "epsilon", NO_END), proper(delta)
        size = sensible(sensitivity, "sensitivity", NO_NOISE)
        check_choice(calibration, "calibration", ("analytic", "classic", "lecture"))
        if calibration == "analytic":
            ratio = least_ratio(amount, slack)
        else:
            if calibration == "classic" and amount > 1:
                reject("`epsilon` must be at most 1 for the classic calibration", epsilon, "use the analytic one")
            ratio = root_of_log_ratio(Fraction(5, 4) if calibration == "classic" else Fraction(2), amount, slack)
            if not is_private(amount, slack, ratio):
                reject(
                    f"`epsilon` must be small for the {calibration} formula", epsilon, "its noise is too little here"
                )
        return cls(Approx(amount, slack), (ratio * size) ** 2, size)

    @classmethod
    def for_rho(cls, rho: Number, *, sensitivity: Number = 1) -> "Gaussian":
        """Make the mechanism that costs Zcdp(rho): variance sensitivity**2 / (2 rho), exactly.

        Parameters
        ----------
        rho : Number
            Above 0.
        sensitivity : Number
            How far one person can move the statistic, in length.

        Returns
        -------
        Gaussian
            The mechanism.
        """
        amount, size = check_positive(rho, "rho", NO_END), sensible(sensitivity, "sensitivity", NO_NOISE)
        return cls(Zcdp(amount), size**2 / (2 * amount), size)

    @classmethod
    def epsilon_for(cls, *, error: Number, delta: Number, level: Number = 0.95, sensitivity: Number = 1) -> float:
        """Compute the smallest epsilon, to a billionth, whose noise stays within an error.

        Parameters
        ----------
        error : Number
            The bound of the noise.
        delta : Number
            Between 0 and 1.
        level : Number
            Probability that the noise stays within it.
        sensitivity : Number
            How far one person can move the statistic, in length.

        Returns
        -------
        float
            The epsilon; a billionth where delta alone is enough.

        Examples
        --------
        >>> Gaussian.epsilon_for(error=8.29, delta=1e-6)
        0.99...
        """
        target, slack = check_positive(error, "error", "no noise has no error"), proper(delta)
        size = sensible(sensitivity, "sensitivity", NO_NOISE)
        allowed = min(target, math.floor(target) + Fraction(1, 2)) if size >= 1 else target
        ratio = Fraction(float(allowed) / -float(ndtri((1 - check_level(level)) / 2)) / float(size) * (1 - 1e-7))
        if is_private(Fraction(0), slack, ratio):
            return 1e-9
        return smallest_where(lambda epsilon: is_private(Fraction(epsilon), slack, ratio), 0.0, 1.0, rtol=1e-10)

    @cached_property
    def _sigma(self) -> Fraction:
        """The root of the variance, rounded down where it is irrational: for the proof, no more than there is."""
        root = Fraction(math.isqrt(self.variance.numerator), math.isqrt(self.variance.denominator))
        if root**2 == self.variance:
            return root
        shift = 120 + max(0, -floor_log2(self.variance))
        return Fraction(math.isqrt(math.floor(self.variance * 4**shift)), 2**shift)

    @cached_property
    def scale(self) -> float:
        """The standard deviation of the noise."""
        return float(self._sigma)

    @cached_property
    def _integer_law(self) -> RoundedNormalLaw:
        """The law of the noise on whole numbers, where the sensitivity is at least 1."""
        return RoundedNormalLaw(self.scale)

    @property
    def zcdp(self) -> Zcdp:
        """The cost in the currency of Gaussian noise: sensitivity**2 / (2 variance)."""
        return Zcdp(self.sensitivity**2 / (2 * self.variance))

    def error(self, level: Number = 0.95) -> float:
        """Compute the bound that the noise on an entry exceeds with probability at most 1 - level.

        Parameters
        ----------
        level : Number
            Probability that the noise stays within it.

        Returns
        -------
        float
            The bound.
        """
        share = check_level(level)
        real = NormalLaw(self.scale * (1 + 1e-8)).quantile(share)
        return max(real, RoundedNormalLaw(self.scale).quantile(share)) if self.sensitivity >= 1 else real

    def density(self, x: ArrayLike) -> Array:
        """Compute the normal density, for teaching.

        Parameters
        ----------
        x : array-like
            Real numbers.

        Returns
        -------
        Array
            The density at each of them.
        """
        return NormalLaw(self.scale).density(x)

    def pmf(self, k: ArrayLike) -> Array:
        """Compute the law of the noise on whole numbers: the normal law rounded to integers.

        Parameters
        ----------
        k : array-like
            Integers.

        Returns
        -------
        Array
            The probability at each of them.
        """
        return RoundedNormalLaw(self.scale).pmf(k)

    @lru_cache(maxsize=128)  # noqa: B019  (mechanisms are public, and small)
    def _integer_noise(self, size: int) -> tuple[LatticeSampler, int]:
        exponent = min(self._grid(size), 0)
        return gaussian_sampler(self.variance / Fraction(4) ** exponent), -exponent

    def _grid(self, size: int) -> int:
        sigma, loss = Fraction(self.scale), self.loss
        finest = grid_bits(Fraction(loss.amount), loss.slack, size) if isinstance(loss, Approx) else 0
        return min(grid_exponent(sigma, self.sensitivity), grid_exponent(sigma, bits=finest))

    def _add_noise(self, answer: PrivateValue, rng: Rng) -> tuple[Noisy, NoiseLaw]:
        if answer.whole and self.sensitivity >= 1:
            sampler, bits = self._integer_noise(answer.size)
            return add_whole(answer, (sampler.draw(answer.size, rng) + (1 << bits >> 1)) >> bits), self._integer_law
        exponent, sampler, law = _real_noise(self, answer.size)
        return add_on_grid(answer, sampler.draw(answer.size, rng), exponent), law

    def __repr__(self) -> str:
        return f"<Gaussian scale {self.scale:.4g}; sensitivity {float(self.sensitivity):.4g} (l2); {self.loss}>"


@lru_cache(maxsize=128)
def _real_noise(mechanism: Gaussian, size: int) -> tuple[int, LatticeSampler, NoiseLaw]:
    """Return the exponent of the grid, the noise in its steps for the rounded sensitivity, and its law."""
    exponent = mechanism._grid(size)
    unit = Fraction(2) ** exponent
    stretch = rounded_sensitivity(mechanism.sensitivity / unit, size, "l2") * unit / mechanism.sensitivity
    law = NormalLaw(mechanism.scale * float(stretch), float(unit))
    return exponent, gaussian_sampler(mechanism.variance * (stretch / unit) ** 2), law
