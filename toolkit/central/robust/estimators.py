"""M-estimators of location: the value t at which the scores psi(x - t) add up to zero."""

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np

from toolkit.core.arrays import Array, ArrayLike
from toolkit.core.checks import Number, check_positive
from toolkit.core.inference.special import expit
from toolkit.frames.sums import format_number


class MEstimator(ABC):
    """An M-estimator of location, defined by a loss rho, its derivative psi (the score), and the derivative of psi.

    `Huber`, `Tukey` and `Logistic` lie between the two extremes `Mean` and `Median`.

    Examples
    --------
    >>> Mean().psi([1, 2]).tolist(), Median().psi([-3, 2]).tolist()
    ([1.0, 2.0], [-1.0, 1.0])
    """

    is_monotone: ClassVar[bool] = True
    """Whether psi is non-decreasing, so that the zero of the summed scores is unique except on flat intervals."""

    @property
    @abstractmethod
    def bound(self) -> float:
        """The largest absolute score, which is the most that one person can add to the sum of scores."""

    @property
    def _kinks(self) -> tuple[float, ...]:
        """The points at which the derivative of psi is discontinuous."""
        return ()

    @abstractmethod
    def _psi(self, u: Array) -> Array: ...

    @abstractmethod
    def _slope(self, u: Array) -> Array: ...

    @abstractmethod
    def _rho(self, u: Array) -> Array: ...

    def psi(self, u: ArrayLike) -> Array:
        """Return the score psi of each distance.

        Parameters
        ----------
        u : array-like
            Distances from the location.

        Returns
        -------
        array
            The scores.
        """
        return np.asarray(self._psi(np.asarray(u, dtype=float)))

    def slope(self, u: ArrayLike) -> Array:
        """Return the derivative of psi at each distance.

        Parameters
        ----------
        u : array-like
            Distances from the location.

        Returns
        -------
        array
            The derivatives.
        """
        return np.asarray(self._slope(np.asarray(u, dtype=float)))

    def rho(self, u: ArrayLike) -> Array:
        """Return the loss of each distance, the integral of psi from 0; the location minimizes the sum of losses.

        Parameters
        ----------
        u : array-like
            Distances from the location.

        Returns
        -------
        array
            The losses.
        """
        return np.asarray(self._rho(np.asarray(u, dtype=float)))


@dataclass(frozen=True, repr=False)
class Huber(MEstimator):
    """Huber's estimator, psi(u) = u clipped to [-k, k]: values farther than k from the location have limited weight.

    Parameters
    ----------
    k : number
        The distance at which psi is clipped.

    Examples
    --------
    >>> Huber(1.345).psi([-5, 0.5, 5]).tolist(), Huber("4/3")
    ([-1.345, 0.5, 1.345], Huber(1.3333333333333333))
    """

    k: Fraction

    def __init__(self, k: Number) -> None:
        object.__setattr__(self, "k", check_positive(k, "k", "beyond k only the sign of a distance matters"))

    @property
    def bound(self) -> float:
        return float(self.k)

    @property
    def _kinks(self) -> tuple[float, ...]:
        return (-self.bound, self.bound)

    def _psi(self, u: Array) -> Array:
        return np.clip(u, -self.bound, self.bound)

    def _slope(self, u: Array) -> Array:
        return np.asarray(np.abs(u) < self.bound, dtype=float)

    def _rho(self, u: Array) -> Array:
        size = np.abs(u)
        return np.where(size < self.bound, size**2 / 2, self.bound * (size - self.bound / 2))

    def __repr__(self) -> str:
        return f"Huber({format_number(float(self.k))})"


@dataclass(frozen=True, repr=False)
class Tukey(MEstimator):
    """Tukey's biweight, psi(u) = u (1 - (u/c)**2)**2 within c and 0 beyond: distant outliers have no weight.

    Beyond c / sqrt(5), psi decreases, so the zero of the summed scores need not be unique.

    Parameters
    ----------
    c : number
        The distance beyond which values have no weight.

    Examples
    --------
    >>> round(Tukey(4.685).bound, 6), Tukey(4.685).psi(10.0).item()
    (1.340925, 0.0)
    """

    c: Fraction
    is_monotone: ClassVar[bool] = False

    def __init__(self, c: Number) -> None:
        object.__setattr__(self, "c", check_positive(c, "c", "values farther away than c have no weight"))

    @property
    def bound(self) -> float:
        return 16 * float(self.c) / (25 * math.sqrt(5))

    @property
    def _kinks(self) -> tuple[float, ...]:
        return (-float(self.c), float(self.c))

    def _psi(self, u: Array) -> Array:
        return u * self._weight(u) ** 2

    def _slope(self, u: Array) -> Array:
        weight = self._weight(u)
        return weight * (weight - 4 * (u / float(self.c)) ** 2)

    def _rho(self, u: Array) -> Array:
        return float(self.c) ** 2 / 6 * (1 - self._weight(u) ** 3)

    def _weight(self, u: Array) -> Array:
        return np.asarray(1 - np.minimum(np.abs(u) / float(self.c), 1) ** 2)

    def __repr__(self) -> str:
        return f"Tukey({format_number(float(self.c))})"


@dataclass(frozen=True)
class Logistic(MEstimator):
    """The logistic estimator, psi(u) = tanh(u / 2): maximum likelihood for values with a logistic distribution.

    Examples
    --------
    >>> round(float(Logistic().psi(1.0)), 4)
    0.4621
    """

    @property
    def bound(self) -> float:
        return 1.0

    def _psi(self, u: Array) -> Array:
        return np.tanh(u / 2)

    def _slope(self, u: Array) -> Array:
        share = expit(u)
        return np.asarray(2 * share * (1 - share))

    def _rho(self, u: Array) -> Array:
        size = np.abs(u)
        # This form of 2 ln cosh(u / 2) is exactly 0 at 0 and does not overflow.
        return np.asarray(size + 2 * np.log1p(np.expm1(-size) / 2))


@dataclass(frozen=True)
class Mean(MEstimator):
    """The mean, psi(u) = u: one person can change the sum of scores by any amount.

    Examples
    --------
    >>> float(Mean().psi(100.0))
    100.0
    """

    @property
    def bound(self) -> float:
        return math.inf

    def _psi(self, u: Array) -> Array:
        return u.copy()

    def _slope(self, u: Array) -> Array:
        return np.ones_like(u)

    def _rho(self, u: Array) -> Array:
        return u**2 / 2


@dataclass(frozen=True)
class Median(MEstimator):
    """The median, psi(u) = sign(u), with derivative 0 except for the jump at 0, where `influence` uses the density.

    Examples
    --------
    >>> float(Median().psi(100.0))
    1.0
    """

    @property
    def bound(self) -> float:
        return 1.0

    @property
    def _kinks(self) -> tuple[float, ...]:
        return (0.0,)

    def _psi(self, u: Array) -> Array:
        return np.asarray(np.sign(u))

    def _slope(self, u: Array) -> Array:
        return np.zeros_like(u)

    def _rho(self, u: Array) -> Array:
        return np.asarray(np.abs(u))
