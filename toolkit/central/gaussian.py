"""The Gaussian mechanism: approximate and concentrated privacy for numbers and for vectors with bounded L2 norm."""

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import Literal

from toolkit.central.noise.gaussian_delta import (
    classic_noise_multiplier,
    grid_bits,
    is_private,
    smallest_noise_multiplier,
)
from toolkit.central.noise.grid import (
    NO_FINITE_NOISE,
    NO_NOISE_NEEDED,
    Noisy,
    PrivateValue,
    add_grid_noise,
    add_integer_noise,
    check_delta,
    check_magnitude,
    grid_exponent,
    rounded_sensitivity,
)
from toolkit.central.noise.laws import NoiseLaw, NormalLaw, RoundedNormalLaw
from toolkit.central.release import AdditiveMechanism
from toolkit.core.arrays import Array, ArrayLike
from toolkit.core.checks import Number, check_choice, check_level, check_positive, explain_call, reject
from toolkit.core.inference.special import ndtri
from toolkit.core.loss import Approx, Zcdp
from toolkit.core.randomness import Rng
from toolkit.core.sampling import LatticeSampler, floor_log2, gaussian_sampler
from toolkit.core.search import smallest_where


@explain_call("Gaussian.for_rho(0.1, sensitivity=1)", seed="rng=numpy.random.default_rng(1) is for a simulation")
@dataclass(frozen=True, repr=False)
class Gaussian(AdditiveMechanism):
    """Noise with density proportional to e**(-y**2 / (2 variance)): Approx(epsilon, delta) and Zcdp(rho).

    If one person changes the statistic by at most `sensitivity` in the L2 norm, the mechanism costs exactly rho =
    sensitivity**2 / (2 variance). The mechanism also satisfies every (epsilon, delta) that the exact delta of the
    distribution allows. The constructor rejects a loss that cannot be proven. The noise is a discrete Gaussian on a
    fine power-of-two grid. If the values are integers and the sensitivity is at least 1, the result is then rounded to
    integers at no cost.

    Parameters
    ----------
    loss : Approx or Zcdp
        The privacy loss that the mechanism guarantees.
    variance : Fraction
        The variance of the noise on each entry.
    sensitivity : Fraction
        The largest change of the statistic that one person can cause, in the L2 norm.

    References
    ----------
    Balle and Wang (2018) for the exact delta; Canonne, Kamath and Steinke (2020) for the discrete distribution.

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
            self, "variance", check_positive(self.variance, "variance", "a release without noise is not private")
        )
        object.__setattr__(self, "sensitivity", check_magnitude(self.sensitivity, "sensitivity", NO_NOISE_NEEDED))
        check_magnitude(self._sigma, "sigma", NO_FINITE_NOISE)
        if not isinstance(self.loss, Approx | Zcdp):
            reject(
                "`loss` must be Approx or Zcdp", type(self.loss).__name__, "Gaussian noise has no pure loss", TypeError
            )
        proven = self.zcdp <= self.loss if isinstance(self.loss, Zcdp) else self._is_private(self.loss)
        if not proven:
            reject(f"`variance` must be large enough for {self.loss}", float(self.variance), "the claim would not hold")

    def _is_private(self, loss: Approx) -> bool:
        if not 0 < loss.slack < 1 or loss.amount == math.inf or loss.amount == 0:
            reject("epsilon must be above 0 and finite, delta between 0 and 1", loss, NO_FINITE_NOISE)
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
            The epsilon of the loss, above 0.
        delta : Number
            The delta of the loss, between 0 and 1.
        sensitivity : Number
            The largest change of the statistic that one person can cause, in the L2 norm.
        calibration : str
            "analytic" uses the smallest noise that is proven private. Two formulas are available for comparison:
            "classic" is sqrt(2 ln(1.25/delta)) sensitivity / epsilon, which is proven for epsilon up to 1 and rejected
            for larger epsilon; "lecture" has 2 in place of 1.25.

        Returns
        -------
        Gaussian
            The mechanism.
        """
        amount, slack = check_positive(epsilon, "epsilon", NO_FINITE_NOISE), check_delta(delta)
        norm_bound = check_magnitude(sensitivity, "sensitivity", NO_NOISE_NEEDED)
        check_choice(calibration, "calibration", ("analytic", "classic", "lecture"))
        if calibration == "analytic":
            ratio = smallest_noise_multiplier(amount, slack)
        else:
            if calibration == "classic" and amount > 1:
                reject("`epsilon` must be at most 1 for the classic calibration", epsilon, "use the analytic one")
            ratio = classic_noise_multiplier(Fraction(5, 4) if calibration == "classic" else Fraction(2), amount, slack)
            if not is_private(amount, slack, ratio):
                reject(
                    f"`epsilon` must be small for the {calibration} formula", epsilon, "it gives too little noise here"
                )
        return cls(Approx(amount, slack), (ratio * norm_bound) ** 2, norm_bound)

    @classmethod
    def for_rho(cls, rho: Number, *, sensitivity: Number = 1) -> "Gaussian":
        """Make the mechanism that costs Zcdp(rho): variance sensitivity**2 / (2 rho), exactly.

        Parameters
        ----------
        rho : Number
            The zCDP cost, above 0.
        sensitivity : Number
            The largest change of the statistic that one person can cause, in the L2 norm.

        Returns
        -------
        Gaussian
            The mechanism.
        """
        amount, norm_bound = (
            check_positive(rho, "rho", NO_FINITE_NOISE),
            check_magnitude(sensitivity, "sensitivity", NO_NOISE_NEEDED),
        )
        return cls(Zcdp(amount), norm_bound**2 / (2 * amount), norm_bound)

    @classmethod
    def epsilon_for(cls, *, error: Number, delta: Number, level: Number = 0.95, sensitivity: Number = 1) -> float:
        """Compute the smallest epsilon, to within 1e-9, for which noise stays within a bound with a given probability.

        Parameters
        ----------
        error : Number
            The bound on the absolute noise.
        delta : Number
            The delta of the loss, between 0 and 1.
        level : Number
            The probability that the noise stays within the bound.
        sensitivity : Number
            The largest change of the statistic that one person can cause, in the L2 norm.

        Returns
        -------
        float
            The epsilon, or 1e-9 if delta alone suffices.

        Examples
        --------
        >>> Gaussian.epsilon_for(error=8.29, delta=1e-6)
        0.99...
        """
        target, slack = check_positive(error, "error", "noise always has some error"), check_delta(delta)
        norm_bound = check_magnitude(sensitivity, "sensitivity", NO_NOISE_NEEDED)
        allowed = min(target, math.floor(target) + Fraction(1, 2)) if norm_bound >= 1 else target
        ratio = Fraction(float(allowed) / -float(ndtri((1 - check_level(level)) / 2)) / float(norm_bound) * (1 - 1e-7))
        if is_private(Fraction(0), slack, ratio):
            return 1e-9
        return smallest_where(lambda epsilon: is_private(Fraction(epsilon), slack, ratio), 0.0, 1.0, rtol=1e-10)

    @cached_property
    def _sigma(self) -> Fraction:
        """The standard deviation; it is rounded down if irrational, so that the proof never assumes too much noise."""
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
        """The distribution of the noise on integers, which requires a sensitivity of at least 1."""
        return RoundedNormalLaw(self.scale)

    @property
    def zcdp(self) -> Zcdp:
        """The cost in zero-concentrated differential privacy: sensitivity**2 / (2 variance)."""
        return Zcdp(self.sensitivity**2 / (2 * self.variance))

    def error(self, level: Number = 0.95) -> float:
        """Compute the bound that the noise on an entry exceeds with probability at most 1 - level.

        Parameters
        ----------
        level : Number
            The probability that the noise stays within the bound.

        Returns
        -------
        float
            The bound.
        """
        share = check_level(level)
        real = NormalLaw(self.scale * (1 + 1e-8)).two_sided_quantile(share)
        return max(real, RoundedNormalLaw(self.scale).two_sided_quantile(share)) if self.sensitivity >= 1 else real

    def density(self, x: ArrayLike) -> Array:
        """Compute the normal density, for teaching.

        Parameters
        ----------
        x : array-like
            Real numbers.

        Returns
        -------
        Array
            The density at each number.
        """
        return NormalLaw(self.scale).density(x)

    def pmf(self, k: ArrayLike) -> Array:
        """Compute the probabilities of the noise on integers, a normal distribution rounded to integers.

        Parameters
        ----------
        k : array-like
            Integers.

        Returns
        -------
        Array
            The probability of each integer.
        """
        return RoundedNormalLaw(self.scale).pmf(k)

    @lru_cache(maxsize=128)  # noqa: B019  (mechanisms are public and small)
    def _integer_sampler(self, n_entries: int) -> tuple[LatticeSampler, int]:
        exponent = min(self._grid_exponent(n_entries), 0)
        return gaussian_sampler(self.variance / Fraction(4) ** exponent), -exponent

    def _grid_exponent(self, n_entries: int) -> int:
        sigma, loss = Fraction(self.scale), self.loss
        fine_bits = grid_bits(Fraction(loss.amount), loss.slack, n_entries) if isinstance(loss, Approx) else 0
        return min(grid_exponent(sigma, self.sensitivity), grid_exponent(sigma, bits=fine_bits))

    def _add_noise(self, answer: PrivateValue, rng: Rng) -> tuple[Noisy, NoiseLaw]:
        if answer.is_whole and self.sensitivity >= 1:
            sampler, bits = self._integer_sampler(answer.size)
            return add_integer_noise(
                answer, (sampler.draw(answer.size, rng) + (1 << bits >> 1)) >> bits
            ), self._integer_law
        exponent, sampler, law = _grid_noise(self, answer.size)
        return add_grid_noise(answer, sampler.draw(answer.size, rng), exponent), law

    def __repr__(self) -> str:
        return f"<Gaussian scale {self.scale:.4g}; sensitivity {float(self.sensitivity):.4g} (l2); {self.loss}>"


@lru_cache(maxsize=128)
def _grid_noise(mechanism: Gaussian, n_entries: int) -> tuple[int, LatticeSampler, NoiseLaw]:
    """Return the grid exponent, a sampler of noise in grid steps for the rounded sensitivity, and the distribution."""
    exponent = mechanism._grid_exponent(n_entries)
    unit = Fraction(2) ** exponent
    inflation = rounded_sensitivity(mechanism.sensitivity / unit, n_entries, "l2") * unit / mechanism.sensitivity
    law = NormalLaw(mechanism.scale * float(inflation), float(unit))
    return exponent, gaussian_sampler(mechanism.variance * (inflation / unit) ** 2), law
