"""M-estimators of location: the value t at which the scores psi(x - t) add up to zero.

Each has its score psi, the slope of psi, the loss rho whose slope psi is, the largest score `bound` (how much one
person can add to the sum), whether psi is `monotone`, and the `kinks` at which its slope jumps. The mean and the
median are the two ends between which the others lie.
"""

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np

from toolkit.core.arrays import Array, ArrayLike
from toolkit.core.checks import Number, positive
from toolkit.core.inference.special import expit
from toolkit.frames.sums import written


class Score(ABC):
    """What the estimators have in common: psi, its slope, and the loss rho whose slope psi is."""

    @abstractmethod
    def psi(self, u: ArrayLike) -> Array:
        """Return the score of each distance.

        Parameters
        ----------
        u : array-like
            Distances from the location.

        Returns
        -------
        array
            A score for each.
        """

    @abstractmethod
    def slope(self, u: ArrayLike) -> Array:
        """Return the derivative of psi.

        Parameters
        ----------
        u : array-like
            Distances from the location.

        Returns
        -------
        array
            A slope for each.
        """

    @abstractmethod
    def rho(self, u: ArrayLike) -> Array:
        """Return the integral of psi from 0: what the location minimizes the sum of.

        Parameters
        ----------
        u : array-like
            Distances from the location.

        Returns
        -------
        array
            A height for each.
        """


@dataclass(frozen=True, repr=False)
class Huber(Score):
    """psi(u) = u, cut at -k and k: the mean for values within k of it, and of the others only their side.

    Parameters
    ----------
    k : number
        Where psi is cut.

    Examples
    --------
    >>> Huber(1.345).psi([-5, 0.5, 5]).tolist(), Huber("4/3")
    ([-1.345, 0.5, 1.345], Huber(1.3333333333333333))
    """

    k: Fraction
    monotone: ClassVar[bool] = True

    def __init__(self, k: Number) -> None:
        object.__setattr__(self, "k", positive(k, "k", "beyond k a value counts by its side only"))

    @property
    def bound(self) -> float:
        """The largest score, which is `k`."""
        return float(self.k)

    @property
    def kinks(self) -> tuple[float, ...]:
        """Where the slope of psi jumps."""
        return (-self.bound, self.bound)

    def psi(self, u: ArrayLike) -> Array:
        return np.asarray(np.clip(np.asarray(u, dtype=float), -self.bound, self.bound))

    def slope(self, u: ArrayLike) -> Array:
        return np.asarray(np.abs(np.asarray(u, dtype=float)) < self.bound, dtype=float)

    def rho(self, u: ArrayLike) -> Array:
        size = np.abs(np.asarray(u, dtype=float))
        return np.asarray(np.where(size < self.bound, size**2 / 2, self.bound * (size - self.bound / 2)))

    def __repr__(self) -> str:
        return f"Huber({written(float(self.k))})"


@dataclass(frozen=True, repr=False)
class Tukey(Score):
    """psi(u) = u (1 - (u/c)**2)**2 within c, and 0 beyond: far outliers do not count at all.

    psi falls again beyond c / sqrt(5), so its zero need not be unique.

    Parameters
    ----------
    c : number
        Beyond it values do not count.

    Examples
    --------
    >>> round(Tukey(4.685).bound, 6), Tukey(4.685).psi(10.0).item()
    (1.340925, 0.0)
    """

    c: Fraction
    monotone: ClassVar[bool] = False

    def __init__(self, c: Number) -> None:
        object.__setattr__(self, "c", positive(c, "c", "beyond c a value does not count"))

    @property
    def bound(self) -> float:
        """The largest score."""
        return 16 * float(self.c) / (25 * math.sqrt(5))

    @property
    def kinks(self) -> tuple[float, ...]:
        """Where the slope of psi jumps."""
        return (-float(self.c), float(self.c))

    def psi(self, u: ArrayLike) -> Array:
        size = np.asarray(u, dtype=float)
        return np.asarray(size * self._rest(size) ** 2)

    def slope(self, u: ArrayLike) -> Array:
        size = np.asarray(u, dtype=float)
        rest = self._rest(size)
        return np.asarray(rest * (rest - 4 * (size / float(self.c)) ** 2))

    def rho(self, u: ArrayLike) -> Array:
        return np.asarray(float(self.c) ** 2 / 6 * (1 - self._rest(np.asarray(u, dtype=float)) ** 3))

    def _rest(self, u: Array) -> Array:
        return np.asarray(1 - np.minimum(np.abs(u) / float(self.c), 1) ** 2)

    def __repr__(self) -> str:
        return f"Tukey({written(float(self.c))})"


@dataclass(frozen=True)
class Logistic(Score):
    """psi(u) = tanh(u / 2): the most likely location where values follow the logistic law.

    Examples
    --------
    >>> round(float(Logistic().psi(1.0)), 4)
    0.4621
    """

    bound: ClassVar[float] = 1.0
    monotone: ClassVar[bool] = True
    kinks: ClassVar[tuple[float, ...]] = ()

    def psi(self, u: ArrayLike) -> Array:
        return np.asarray(np.tanh(np.asarray(u, dtype=float) / 2))

    def slope(self, u: ArrayLike) -> Array:
        share = expit(np.asarray(u, dtype=float))
        return np.asarray(2 * share * (1 - share))

    def rho(self, u: ArrayLike) -> Array:
        size = np.abs(np.asarray(u, dtype=float))
        return np.asarray(size + 2 * np.log1p(np.expm1(-size) / 2))  # exactly 0 at 0


@dataclass(frozen=True)
class Mean(Score):
    """psi(u) = u: one person can add anything to the sum.

    Examples
    --------
    >>> float(Mean().psi(100.0))
    100.0
    """

    bound: ClassVar[float] = math.inf
    monotone: ClassVar[bool] = True
    kinks: ClassVar[tuple[float, ...]] = ()

    def psi(self, u: ArrayLike) -> Array:
        return np.array(u, dtype=float)

    def slope(self, u: ArrayLike) -> Array:
        return np.asarray(np.ones_like(np.asarray(u, dtype=float)))

    def rho(self, u: ArrayLike) -> Array:
        return np.asarray(np.asarray(u, dtype=float) ** 2 / 2)


@dataclass(frozen=True)
class Median(Score):
    """psi(u) = the sign of u. Its slope is 0 but for the jump at 0, where `influence` takes the density.

    Examples
    --------
    >>> float(Median().psi(100.0))
    1.0
    """

    bound: ClassVar[float] = 1.0
    monotone: ClassVar[bool] = True
    kinks: ClassVar[tuple[float, ...]] = (0.0,)

    def psi(self, u: ArrayLike) -> Array:
        return np.asarray(np.sign(np.asarray(u, dtype=float)))

    def slope(self, u: ArrayLike) -> Array:
        return np.asarray(np.zeros_like(np.asarray(u, dtype=float)))

    def rho(self, u: ArrayLike) -> Array:
        return np.asarray(np.abs(np.asarray(u, dtype=float)))


Estimator = Huber | Tukey | Logistic | Mean | Median
