"""Noise from the gross-error sensitivity: what it promises, and why no ledger may count it.

Two statements about populations. Chaudhuri and Hsu bound the smooth sensitivity of most samples by influence:
an analysis that is false on a share of all data sets, and so never a scale of noise. Avella-Medina adds
noise in proportion to an influence that is estimated from the data: private as n grows, for populations
that behave; on chosen data the exact delta is near 1 at every n.

References: Chaudhuri and Hsu (2012); Avella-Medina, Privacy-preserving parametric inference: a case for
robust statistics (2021).
"""

import math
from dataclasses import dataclass

import numpy as np

from toolkit.central.robust.estimators import MEstimator
from toolkit.central.robust.influence import influence, location, sample
from toolkit.core.arrays import ArrayLike
from toolkit.core.checks import Number, check_integer, check_positive, check_probability, reject
from toolkit.core.inference.digits import concise
from toolkit.core.inference.special import ndtr
from toolkit.core.loss import AsymptoticPromise


@dataclass(frozen=True)
class AvellaMedina:
    """Release T + gamma 5 sqrt(2 ln n ln(2/delta)) / (epsilon n) Z, gamma the gross-error sensitivity at the sample.

    For simulation and audits: its `loss` is an `AsymptoticPromise`, which a ledger refuses.

    Parameters
    ----------
    estimator : MEstimator
        A `Mean`, `Median`, `Huber`, `Tukey` or `Logistic`.
    epsilon : float
        As n grows.
    delta : float
        As n grows.

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
                "psi must be bounded", repr(self.estimator), "one person moves the location without limit; take Huber"
            )
        check_positive(self.epsilon, "epsilon")
        check_positive(check_probability(self.delta, "delta"), "delta")

    @property
    def loss(self) -> AsymptoticPromise:
        """What is promised, which a ledger refuses."""
        return AsymptoticPromise(float(self.epsilon), float(self.delta))

    def mean_and_sd(self, values: ArrayLike) -> tuple[float, float]:
        """Compute mean and standard deviation of the release; both depend on the data.

        Parameters
        ----------
        values : array-like
            The values.

        Returns
        -------
        tuple of float
            Mean, standard deviation.
        """
        data = sample(values)
        n = len(data)
        gamma = influence(self.estimator, data).gross_error_sensitivity
        root = math.sqrt(2 * math.log(max(n, 2)) * math.log(2 / self.delta))
        return location(self.estimator, data), gamma * 5 * root / (self.epsilon * n)

    def release(self, values: ArrayLike, rng: np.random.Generator | None = None) -> float:
        """Draw once, in floats, from a Generator: for audits.

        Parameters
        ----------
        values : array-like
            The values.
        rng : numpy.random.Generator
            Needed: what is not private is simulated only.

        Returns
        -------
        float
            The release.
        """
        if not isinstance(rng, np.random.Generator):
            reject("`rng` must be a Generator", type(rng).__name__, "what is not private is simulated only")
        mean, sd = self.mean_and_sd(values)
        return mean + sd * float(rng.standard_normal())

    def exact_delta(self, values: ArrayLike, neighbor: ArrayLike) -> float:
        """Compute the delta that holds between two tables at this epsilon.

        Parameters
        ----------
        values : array-like
            The values.
        neighbor : array-like
            The values of the other table.

        Returns
        -------
        float
            Delta, the larger of both directions.
        """
        return max(
            normal_delta(self.epsilon, self.mean_and_sd(values), self.mean_and_sd(neighbor)),
            normal_delta(self.epsilon, self.mean_and_sd(neighbor), self.mean_and_sd(values)),
        )


def normal_delta(epsilon: float, first: tuple[float, float], second: tuple[float, float]) -> float:
    """The integral of (p - e**epsilon q)+ for two normal laws, each a mean and a standard deviation. The logarithm of p
    / q is a square in the output, so that p > e**epsilon q inside or outside of two points.
    """
    (m, s), (k, r) = first, second
    a = (1 / r**2 - 1 / s**2) / 2
    b = m / s**2 - k / r**2
    c = (k**2 / r**2 - m**2 / s**2) / 2 + math.log(r / s) - epsilon

    def surplus(low: float, high: float) -> float:
        return float(
            ndtr((high - m) / s)
            - ndtr((low - m) / s)
            - math.exp(epsilon) * (ndtr((high - k) / r) - ndtr((low - k) / r))
        )

    if abs(a) < 1e-15 * (1 / r**2 + 1 / s**2):
        if b == 0:
            return 0.0
        return max(0.0, surplus(-c / b, math.inf) if b > 0 else surplus(-math.inf, -c / b))
    inside = b * b - 4 * a * c
    if inside <= 0:
        return 0.0
    low, high = sorted((-b + sign * math.sqrt(inside)) / (2 * a) for sign in (-1, 1))
    outside = surplus(-math.inf, low) + surplus(high, math.inf)
    return max(0.0, outside if a > 0 else surplus(low, high))


def chaudhuri_hsu(*, gamma: Number, n: int, beta: Number, eta: Number, diameter: Number) -> float:
    """A bound that the smooth sensitivity exceeds on at most a share eta of samples.

    It is the larger of 2 gamma / n and diameter e**(-beta (sqrt(n ln(2/eta) / 2) - 1)).

    Parameters
    ----------
    gamma : Number
        The largest gross-error sensitivity at the scale 1/n among all distributions within `radius` of the population.
    n : int
        Number of people.
    beta : Number
        The rate at which smooth sensitivity forgives distance.
    eta : Number
        Share of samples that may exceed the bound.
    diameter : Number
        Of the range of the statistic, by public bounds.

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
    near = math.sqrt(size * math.log(2 / _share(eta)) / 2) - 1
    width = float(check_positive(diameter, "diameter"))
    return max(2 * float(gamma) / size, width * math.exp(-slope * near))


def radius(n: int, eta: Number) -> float:
    """sqrt(2 ln(2/eta) / n), twice Massart's DKW bound: half for the sample, half for those who may change."""
    return math.sqrt(2 * math.log(2 / _share(eta)) / check_integer(n, "n"))


def _share(eta: Number) -> float:
    return float(check_positive(check_probability(eta, "eta"), "eta"))
