"""Influence functions: how far one more value, or a little contamination, pulls an M-estimator.

At a distribution F the location T solves E psi(X - T) = 0. With a share s of the people moved to x, T moves
by s times IF(x) = psi(x - T) / M for small s, where M = E psi'(X - T); the gross-error sensitivity is sup
|IF| = bound / M, and T of n values has the asymptotic variance E psi**2 / M**2, divided by n. These are
statements about populations and about n without end: no privacy follows from them, as `AsymptoticPromise`
says.

References: Hampel, The influence curve and its role in robust estimation (1974).
"""

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.integrate import quad
from scipy.optimize import brentq

from toolkit.central.robust.estimators import Estimator, Mean, Median
from toolkit.core.arrays import Array
from toolkit.core.checks import Number, choice, exact, positive, refuse
from toolkit.core.inference.digits import concise
from toolkit.core.inference.special import gamma

POPULATIONS = ("normal", "t3", "contaminated")
_FAR = 60.0


@dataclass(frozen=True)
class Influence:
    """What is known of an estimator at a population or a sample.

    Parameters
    ----------
    at : the location T.
    slope : M, the mean of psi'.
    gross_error_sensitivity : sup |IF|, infinite for the mean.
    variance : the asymptotic variance of sqrt(n) (T of n values - T).
    """

    estimator: Estimator
    at: float
    slope: float
    gross_error_sensitivity: float
    variance: float

    __repr__ = concise

    def __call__(self, x: npt.ArrayLike) -> Array:
        """IF(x) = psi(x - T) / M."""
        return np.asarray(self.estimator.psi(np.asarray(x, dtype=float) - self.at) / self.slope)


def influence(estimator: Estimator, population: Any) -> Influence:
    """The influence function at "normal", "t3" (Student's with 3 degrees of freedom), "contaminated" (9 of 10
    from N(0, 1), 1 of 10 from N(0, 9)), or at a sample.

    >>> round(influence(Mean(), "t3").variance, 6)
    3.0
    """
    if isinstance(population, str):
        choice(population, "population", POPULATIONS)
        slope, square = _moments(estimator, population)
        return _found(estimator, 0.0, slope, square)
    values = sample(population)
    if isinstance(estimator, Median):
        refuse("the influence of a median needs a density", "a sample", "name a population")
    at = location(estimator, values)
    away = values - at
    slope = _slope(estimator, away, at)
    if slope <= 0:
        refuse("the mean slope of psi must be above 0", "a sample where it is not", "T is not determined there")
    return _found(estimator, at, slope, float((estimator.psi(away) ** 2).mean()))


def gross_error_sensitivity(estimator: Estimator, population: Any) -> float:
    """Sup |IF|: how far a share s of arbitrary people pulls the location, divided by s, for small s.

    >>> from toolkit.central.robust.estimators import Huber
    >>> round(gross_error_sensitivity(Huber(1.345), "normal"), 6)
    1.637499
    """
    return influence(estimator, population).gross_error_sensitivity


def location(estimator: Estimator, values: Any, weights: Any = None) -> float:
    """The value t with the sum of psi(x - t) nearest to zero: of a monotone psi its zero, in the middle where
    there are several; else the one found from the median on.

    >>> from toolkit.central.robust.estimators import Huber
    >>> round(location(Huber(1), [0.0, 1.0, 100.0]), 9), round(location(Huber(1), [0.0, 100.0]), 9)
    (1.0, 50.0)
    """
    found = sample(values)
    share = np.full(len(found), 1 / len(found)) if weights is None else np.asarray(weights, dtype=float)
    if isinstance(estimator, Mean):
        return float(share @ found)
    if isinstance(estimator, Median):
        return _weighted_median(found, share)
    if not estimator.monotone:
        return _from_the_median(estimator, found, share)
    low, high = float(found.min()), float(found.max())
    if low == high:
        return low
    return _middle_of_zeros(estimator, found, share / share.sum(), low, high)


def fixed_scale_influence(estimator: Estimator, values: Any, x: Number, rho: Number) -> float:
    """(T with a share rho moved to x - T) / rho: the influence at a scale that is not infinitely small."""
    found, share = sample(values), float(positive(rho, "rho", "at 0 it is the influence function"))
    if share >= 1:
        refuse("`rho` must be below 1", rho, "it is a share of the people")
    point = float(exact(x, "x"))
    mixed = np.append(np.full(len(found), (1 - share) / len(found)), share)
    return (location(estimator, np.append(found, point), mixed) - location(estimator, found)) / share


def fixed_scale_sensitivity(estimator: Estimator, values: Any, rho: Number, points: npt.ArrayLike) -> float:
    """The largest |fixed_scale_influence| over these points: of a monotone psi those far out are enough."""
    return max(abs(fixed_scale_influence(estimator, values, float(x), rho)) for x in np.ravel(points))


def sample(values: Any) -> Array:
    """Values as floats: one-dimensional, finite, at least one."""
    found = np.asarray(values, dtype=np.float64)
    if found.ndim != 1 or not len(found) or not np.all(np.isfinite(found)):
        refuse("`values` must be finite numbers, at least one", f"shape {found.shape}", "settle missing ones first")
    return found


def _found(estimator: Estimator, at: float, slope: float, square: float) -> Influence:
    return Influence(estimator, at, slope, estimator.bound / slope, square / slope**2)


def _density(population: str, x: float) -> float:
    if population == "t3":
        return float(gamma(2) / (np.sqrt(3 * np.pi) * gamma(1.5)) * (1 + x * x / 3) ** -2)
    normal = np.exp(-x * x / 2) / np.sqrt(2 * np.pi)
    if population == "normal":
        return float(normal)
    return float(0.9 * normal + 0.1 * np.exp(-x * x / 18) / (3 * np.sqrt(2 * np.pi)))


def _moments(estimator: Estimator, population: str) -> tuple[float, float]:
    """E psi' and E psi**2 under a symmetric law, by integration between the kinks; the median's slope is the
    jump of 2 at 0.
    """
    if isinstance(estimator, Mean):
        return 1.0, {"normal": 1.0, "t3": 3.0, "contaminated": 1.8}[population]
    ends = sorted({0.0, *(kink for kink in estimator.kinks if kink > 0), _FAR})

    def mean(function: Any) -> float:
        parts = [
            quad(lambda x: float(function(x)) * _density(population, x), a, b, epsabs=1e-13, limit=200)[0]
            for a, b in pairwise(ends)
        ]
        beyond = quad(lambda x: float(function(x)) * _density(population, x), _FAR, np.inf, epsabs=1e-13)[0]
        return float(2 * (sum(parts) + beyond))

    square = mean(lambda x: estimator.psi(x) ** 2)
    slope = 2 * _density(population, 0.0) if isinstance(estimator, Median) else mean(estimator.slope)
    return slope, square


def _slope(estimator: Estimator, away: Array, at: float) -> float:
    """The mean of psi', at a kink the middle of the slopes on both sides: rounding does not choose one."""
    step = 1e-9 * max(estimator.kinks, default=0.0) + 1e-12 * abs(at)
    return float((estimator.slope(away - step) + estimator.slope(away + step)).mean() / 2)


def _middle_of_zeros(estimator: Estimator, values: Array, share: Array, low: float, high: float) -> float:
    """Halfway between where a falling sum of scores comes down to just above 0 and to just below: where it
    is flat, each place in between is a zero, and rounding would choose one. Beyond the values by their
    spread, all scores have one sign.
    """
    spread = high - low
    just = 1e-12 * float(np.abs(estimator.psi([-spread, spread])).max())
    ends = (low - spread, high + spread)
    near = {"xtol": 1e-13 * max(abs(low), abs(high)), "rtol": 1e-14}

    def above(t: float, aim: float) -> float:
        return float(share @ estimator.psi(values - t)) - aim

    first, last = (brentq(above, *ends, args=(aim,), **near) for aim in (just, -just))
    return float((first + last) / 2)


def _weighted_median(values: Array, share: Array) -> float:
    order = np.argsort(values, kind="stable")
    upto = np.cumsum(share[order])
    half = upto[-1] / 2
    low = int(np.searchsorted(upto, half * (1 - 1e-12)))
    high = int(np.searchsorted(upto, half * (1 + 1e-12)))
    return float((values[order][low] + values[order][min(high, len(values) - 1)]) / 2)


def _from_the_median(estimator: Estimator, values: Array, share: Array) -> float:
    """Each value weighted by psi(u) / u, again and again, from the median on."""
    at = _weighted_median(values, share)
    for _ in range(500):
        away = values - at
        near = np.abs(away) < 1e-12
        weight = np.where(near, estimator.slope(0.0), estimator.psi(away) / np.where(near, 1.0, away)) * share
        if weight.sum() <= 0:
            return at
        following = float(weight @ values / weight.sum())
        if abs(following - at) <= 1e-14 * max(1.0, abs(at)):
            return following
        at = following
    return at
