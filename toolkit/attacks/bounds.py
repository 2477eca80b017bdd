"""What counts prove: confidence bounds on a probability, and on epsilon and delta from one event seen on two neighbours."""

import math
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import betaincinv

from toolkit.core.loss import Approx, Loss, Pure

Array = npt.NDArray[np.float64]


def clopper_pearson(count: Any, n: int, tail: float) -> tuple[Array, Array]:
    """A lower and an upper bound of a probability, each wrong with probability at most `tail`, whatever the truth.

    >>> low, high = clopper_pearson(0, 100, 0.05)
    >>> float(low), round(float(high), 4)
    (0.0, 0.0295)

    References: C. J. Clopper and E. S. Pearson, Biometrika 26 (1934).
    """
    seen = np.asarray(count, dtype=float)
    low = np.where(seen > 0, betaincinv(np.maximum(seen, 1), n - seen + 1, tail), 0.0)
    # The upper bound is one less the lower bound of the opposite event: no 1 - tail, which would lose a tiny tail.
    high = np.where(seen < n, 1 - betaincinv(np.maximum(n - seen, 1), seen + 1, tail), 1.0)
    return low, high


def epsilon_bound(seen: int, n: int, other: int, m: int, *, delta: float = 0.0, tail: float) -> float:
    """A lower bound of epsilon from an event seen `seen` times in n runs, and `other` times in m runs on the neighbour.

    ln((p - delta) / q) with p bounded from below and q from above, each with error `tail`; never below 0.

    >>> round(epsilon_bound(500, 1000, 0, 1000, tail=0.005), 2)
    4.46
    """
    low, high = float(clopper_pearson(seen, n, tail)[0]), float(clopper_pearson(other, m, tail)[1])
    return max(0.0, math.log((low - delta) / high)) if low > delta else 0.0


def delta_bound(seen: int, n: int, other: int, m: int, *, epsilon: float, tail: float) -> float:
    """A lower bound of delta at this epsilon, p - e**epsilon q, from the same counts; never below 0.

    >>> round(delta_bound(500, 1000, 100, 1000, epsilon=1, tail=0.005), 2)
    0.11
    """
    if epsilon == math.inf:
        return 0.0
    low, high = float(clopper_pearson(seen, n, tail)[0]), float(clopper_pearson(other, m, tail)[1])
    return max(0.0, low - math.exp(min(epsilon, 700.0)) * high)


def p_value(seen: int, n: int, other: int, m: int, *, epsilon: float, delta: float = 0.0) -> float:
    """How surprising the counts are if (epsilon, delta) holds: the smallest error at which the bounds contradict it.

    Two bounds of error `tail` each make an error of at most twice that; numbers below 1e-100 are given as 1e-100.

    >>> p_value(500, 1000, 480, 1000, epsilon=0.5)
    1.0
    """

    def contradicted(exponent: float) -> bool:
        return delta_bound(seen, n, other, m, epsilon=epsilon, tail=10**exponent / 2) > delta

    least, most = -100.0, 0.0
    if contradicted(least) or not contradicted(most):
        return 10**least if contradicted(least) else 1.0
    while most - least > 1e-3:
        middle = (least + most) / 2
        least, most = (least, middle) if contradicted(middle) else (middle, most)
    return float(10**most)


def claimed(loss: Loss | None, delta: float) -> tuple[float, float] | None:
    """Epsilon and delta of a claim; of concentrated privacy those that follow from it at `delta`."""
    if loss is None:
        return None
    if isinstance(loss, Pure):
        return loss.epsilon, 0.0
    found = loss if isinstance(loss, Approx) else loss.to_approx(delta)
    return found.epsilon, found.delta


def advantage(epsilon: float, delta: float = 0.0) -> float:
    """The most that any attacker can do better than a coin, true less false alarms: (e**epsilon - 1 + 2 delta) / (e**epsilon + 1).

    >>> round(advantage(1.0), 4)
    0.4621

    References: P. Kairouz, S. Oh and P. Viswanath, The composition theorem for differential privacy (2015).
    """
    return math.tanh(epsilon / 2) + delta * (1 - math.tanh(epsilon / 2))
