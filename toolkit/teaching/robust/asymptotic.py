"""Noise scaled to the gross-error sensitivity; its guarantee is only asymptotic, so no ledger accepts it.

The module has two results about populations. Chaudhuri and Hsu bound the smooth sensitivity of most samples by the
influence function. The bound fails for a share of all data sets, so it must not set the scale of noise. Avella-Medina
adds noise in proportion to an influence that is estimated from the data. For regular populations, this is
asymptotically private as n grows. On worst-case data, the exact delta is near 1 for every n.

References: Chaudhuri and Hsu (2012); Avella-Medina, Privacy-preserving parametric inference: a case for
robust statistics (2021).
"""

import math
from dataclasses import dataclass

import numpy as np

from toolkit.central.robust.estimators import MEstimator
from toolkit.central.robust.influence import check_sample, influence, location
from toolkit.core.arrays import ArrayLike
from toolkit.core.checks import Number, check_integer, check_positive, check_probability, reject
from toolkit.core.inference.digits import concise
from toolkit.core.inference.special import ndtr
from toolkit.core.loss import AsymptoticPromise


@dataclass(frozen=True)
class AvellaMedina:
    """Release T + gamma 5 sqrt(2 ln n ln(2/delta)) / (epsilon n) Z, with the sample's gross-error sensitivity gamma.

    This mechanism is for simulations and audits: its `loss` is an `AsymptoticPromise`, which a ledger rejects.

    Parameters
    ----------
    estimator : MEstimator
        A `Mean`, `Median`, `Huber`, `Tukey` or `Logistic`.
    epsilon : float
        The epsilon that holds asymptotically, as n grows.
    delta : float
        The delta that holds asymptotically, as n grows.

    Examples
    --------
    >>> from toolkit.central.robust.estimators import Huber
    >>> AvellaMedina(Huber(1.345), 1, 1e-6).loss
    AsymptoticPromise(epsilon=1.0, delta=1e-06)
    """

    estimator: MEstimator
    epsilon: float
    delta: float

    __repr__ = concise

    def __post_init__(self) -> None:
        if not math.isfinite(self.estimator.bound):
            reject(
                "psi must be bounded", repr(self.estimator), "one person can move the location without limit; use Huber"
            )
        check_positive(self.epsilon, "epsilon")
        check_positive(check_probability(self.delta, "delta"), "delta")

    @property
    def loss(self) -> AsymptoticPromise:
        """The asymptotic guarantee, which a ledger rejects."""
        return AsymptoticPromise(float(self.epsilon), float(self.delta))

    def mean_and_sd(self, values: ArrayLike) -> tuple[float, float]:
        """Compute the mean and the standard deviation of the release; both depend on the data.

        Parameters
        ----------
        values : array-like
            The values.

        Returns
        -------
        tuple of float
            The mean and the standard deviation.
        """
        data = check_sample(values)
        n = len(data)
        gamma = influence(self.estimator, data).gross_error_sensitivity
        root = math.sqrt(2 * math.log(max(n, 2)) * math.log(2 / self.delta))
        return location(self.estimator, data), gamma * 5 * root / (self.epsilon * n)

    def release(self, values: ArrayLike, rng: np.random.Generator | None = None) -> float:
        """Simulate one release in floating point, for audits.

        Parameters
        ----------
        values : array-like
            The values.
        rng : numpy.random.Generator
            The generator; it is required, because the mechanism is not private and may only be simulated.

        Returns
        -------
        float
            The release.
        """
        if not isinstance(rng, np.random.Generator):
            reject("`rng` must be a Generator", type(rng).__name__, "a non-private mechanism may only be simulated")
        mean, sd = self.mean_and_sd(values)
        return mean + sd * float(rng.standard_normal())

    def exact_delta(self, values: ArrayLike, neighbor: ArrayLike) -> float:
        """Compute the smallest delta for two neighboring tables at this epsilon.

        Parameters
        ----------
        values : array-like
            The values.
        neighbor : array-like
            The values of the neighboring table.

        Returns
        -------
        float
            Delta, the maximum over both directions.
        """
        return max(
            normal_delta(self.epsilon, self.mean_and_sd(values), self.mean_and_sd(neighbor)),
            normal_delta(self.epsilon, self.mean_and_sd(neighbor), self.mean_and_sd(values)),
        )


def normal_delta(epsilon: float, first: tuple[float, float], second: tuple[float, float]) -> float:
    """Compute the integral of (p - e**epsilon q)+ for two normal distributions (mean, standard deviation).

    The logarithm of p / q is quadratic in the output, so p > e**epsilon q holds either inside or outside an interval.
    """
    (m, s), (k, r) = first, second
    a = (1 / r**2 - 1 / s**2) / 2
    b = m / s**2 - k / r**2
    c = (k**2 / r**2 - m**2 / s**2) / 2 + math.log(r / s) - epsilon

    def excess_probability(low: float, high: float) -> float:
        return float(
            ndtr((high - m) / s)
            - ndtr((low - m) / s)
            - math.exp(epsilon) * (ndtr((high - k) / r) - ndtr((low - k) / r))
        )

    if abs(a) < 1e-15 * (1 / r**2 + 1 / s**2):
        if b == 0:
            return 0.0
        return max(0.0, excess_probability(-c / b, math.inf) if b > 0 else excess_probability(-math.inf, -c / b))
    discriminant = b * b - 4 * a * c
    if discriminant <= 0:
        return 0.0
    low, high = sorted((-b + sign * math.sqrt(discriminant)) / (2 * a) for sign in (-1, 1))
    outside_excess = excess_probability(-math.inf, low) + excess_probability(high, math.inf)
    return max(0.0, outside_excess if a > 0 else excess_probability(low, high))


def chaudhuri_hsu(*, gamma: Number, n: int, beta: Number, eta: Number, diameter: Number) -> float:
    """Compute a bound on the smooth sensitivity that fails for at most a share eta of samples.

    The bound is the maximum of 2 gamma / n and diameter e**(-beta (sqrt(n ln(2/eta) / 2) - 1)).

    Parameters
    ----------
    gamma : Number
        The largest gross-error sensitivity at the scale 1/n among all distributions within `radius` of the population.
    n : int
        The number of people.
    beta : Number
        The smoothness: the sensitivity at distance k is discounted by e**(-beta k).
    eta : Number
        The share of samples that may exceed the bound.
    diameter : Number
        The width of the statistic's range, from public bounds.

    Returns
    -------
    float
        The bound.

    Examples
    --------
    >>> round(chaudhuri_hsu(gamma=0, n=1000, beta=0.1, eta=0.05, diameter=1), 4)
    0.0151
    """
    size, slope = check_integer(n, "n"), float(check_positive(beta, "beta"))
    near = math.sqrt(size * math.log(2 / _checked_share(eta)) / 2) - 1
    width = float(check_positive(diameter, "diameter"))
    return max(2 * float(gamma) / size, width * math.exp(-slope * near))


def radius(n: int, eta: Number) -> float:
    """Return sqrt(2 ln(2/eta) / n), twice Massart's DKW bound: once for the sample, and once for changed values."""
    return math.sqrt(2 * math.log(2 / _checked_share(eta)) / check_integer(n, "n"))


def _checked_share(eta: Number) -> float:
    return float(check_positive(check_probability(eta, "eta"), "eta"))
