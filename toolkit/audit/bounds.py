"""Confidence bounds on a probability, and on epsilon and delta from the counts of one event on two neighbors.

Let p and q be the probabilities of an event on two neighbors. Each count has an exact p-value: the probability of a
count at least as high given p, or at least as low given q. The p-values are independent, so Fisher's method combines
them, and the pairs (p, q) that it does not reject form a confidence region. All bounds here follow from this region.
"""

import math
from collections.abc import Callable

import numpy as np

from toolkit.core.arrays import Array, ArrayLike
from toolkit.core.inference.special import betainc, betaincinv, kl_div
from toolkit.core.loss import Approx, Loss, Pure
from toolkit.core.search import bisect

_MIN_P_VALUE = 1e-100
_UNDERFLOW = 2000.0  # larger than any negative logarithm of the product of two floats
_POINTS, _ROUNDS = 33, 7  # they locate the peak to within 16**-7 of the range


def clopper_pearson(count: ArrayLike, n: int, tail: float) -> tuple[Array, Array]:
    """Compute a lower and an upper confidence bound on a probability.

    Parameters
    ----------
    count : array-like
        The number of runs in which the event occurred.
    n : int
        The total number of runs.
    tail : float
        The largest probability that the lower bound is wrong, and likewise for the upper bound.

    Returns
    -------
    tuple
        The two bounds.

    References
    ----------
    C. J. Clopper and E. S. Pearson, Biometrika 26 (1934).

    Examples
    --------
    >>> low, high = clopper_pearson(0, 100, 0.05)
    >>> float(low), round(float(high), 4)
    (0.0, 0.0295)
    """
    observed = np.asarray(count, dtype=float)
    low = np.where(observed > 0, betaincinv(np.maximum(observed, 1), n - observed + 1, tail), 0.0)
    # The upper bound is 1 minus the lower bound for the opposite event, because 1 - tail would lose a tiny tail.
    high = np.where(observed < n, 1 - betaincinv(np.maximum(n - observed, 1), observed + 1, tail), 1.0)
    return low, high


def p_value(count: int, n: int, other: int, m: int, *, epsilon: float, delta: float = 0.0, above: float = 1.0) -> float:
    """Compute the p-value, at least 1e-100, of the counts of an event under (epsilon, delta).

    For all p <= e**epsilon q + delta, the probability of a p-value of at most x is at most x. The search stops as soon
    as the p-value is known to exceed `above`, and then returns a number between `above` and the p-value.

    References: R. A. Fisher, Statistical methods for research workers (1932), section 21.1, on products of p-values.
    """
    power = math.exp(min(epsilon, 700.0))
    if epsilon == math.inf or count / n - delta <= power * other / m:
        return 1.0

    def log_product(q: Array) -> Array:
        return _log_product(count, n, other, m, np.minimum(power * q + delta, 1.0), q)

    def fisher(log_value: float) -> float:
        return max(_MIN_P_VALUE, min(1.0, (1 - log_value) * math.exp(max(log_value, -700.0))))

    max_q = (1 - delta) / power  # for larger q, p stays at 1 and the product decreases
    return fisher(_maximize(log_product, 0.0, max_q, lambda log_value: fisher(log_value) > above))


def epsilon_bound(count: int, n: int, other: int, m: int, *, delta: float = 0.0, error: float) -> float:
    """Compute a lower confidence bound on epsilon: the smallest epsilon with a p-value above `error`.

    Parameters
    ----------
    count : int
        The number of runs on one input in which the event occurred.
    n : int
        The total number of runs on this input.
    other : int
        The number of runs on the neighbor in which the event occurred.
    m : int
        The total number of runs on the neighbor.
    delta : float
        The claimed delta.
    error : float
        The largest probability that the bound is wrong.

    Returns
    -------
    float
        The bound, at least 0.

    Examples
    --------
    >>> round(epsilon_bound(500, 1000, 0, 1000, error=0.01), 2)
    4.38
    """
    if count / n <= delta:
        return 0.0
    # Any larger epsilon is consistent with the counts.
    max_epsilon = math.log((count / n - delta) * m / max(other, 0.5))

    def is_rejected(epsilon: float) -> bool:
        return p_value(count, n, other, m, epsilon=epsilon, delta=delta, above=error) <= error

    return _largest_where(is_rejected, max(max_epsilon, 0.0))


def delta_bound(count: int, n: int, other: int, m: int, *, epsilon: float, error: float) -> float:
    """Compute a lower confidence bound on delta: the smallest delta with a p-value above `error`.

    Parameters
    ----------
    count : int
        The number of runs on one input in which the event occurred.
    n : int
        The total number of runs on this input.
    other : int
        The number of runs on the neighbor in which the event occurred.
    m : int
        The total number of runs on the neighbor.
    epsilon : float
        The claimed epsilon.
    error : float
        The largest probability that the bound is wrong.

    Returns
    -------
    float
        The bound, at least 0.

    Examples
    --------
    >>> round(delta_bound(500, 1000, 100, 1000, epsilon=1, error=0.01), 2)
    0.14
    """
    return _largest_where(
        lambda delta: p_value(count, n, other, m, epsilon=epsilon, delta=delta, above=error) <= error, count / n
    )


def _log_product(count: int, n: int, other: int, m: int, p: Array, q: Array) -> Array:
    """Return the logarithm of Pr[at least `count` of n at p] times Pr[at most `other` of m at q].

    The result is the product of two independent p-values. Minus its logarithm is at most a Gamma(2) variable, which
    exceeds t with probability (1 + t) e**-t. If floats underflow, Chernoff's bound replaces the product; it is reduced
    so that it ranks below every exact value.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        exact = np.log(betainc(count, n - count + 1, p)) + np.log(betainc(m - other, other + 1, 1 - q))
        if np.isfinite(exact).all():
            return np.asarray(exact)
        beyond = -n * _divergence(count / n, p) - m * _divergence(other / m, q)
    return np.asarray(np.where(np.isfinite(exact), exact, beyond - _UNDERFLOW))


def _divergence(share: float, p: Array) -> Array:
    return np.asarray(kl_div(share, p) + kl_div(1 - share, 1 - p))


def _maximize(function: Callable[[Array], Array], low: float, high: float, is_enough: Callable[[float], bool]) -> float:
    """Return the maximum of a log-concave function, or a smaller value for which `is_enough` is true."""
    best = -math.inf
    for _ in range(_ROUNDS):
        grid = np.linspace(low, high, _POINTS)
        values = function(grid)
        peak = int(np.argmax(values))
        low, high, best = (grid[max(peak - 1, 0)], grid[min(peak + 1, _POINTS - 1)], max(best, float(values[peak])))
        if is_enough(best):
            break
    return best


def _largest_where(is_true: Callable[[float], bool], high: float) -> float:
    """Return the largest number up to `high` for which `is_true` holds, rounded down to five digits, or 0."""
    return float(bisect(lambda number: not is_true(number), 0.0, high, rtol=1e-5)[0]) if is_true(0.0) else 0.0


def epsilon_and_delta(loss: Loss | None, delta: float) -> tuple[float, float] | None:
    """Return the epsilon and delta of a claim, if any; concentrated privacy is converted at `delta`."""
    if loss is None:
        return None
    if isinstance(loss, Pure):
        return loss.epsilon, 0.0
    claim = loss if isinstance(loss, Approx) else loss.to_approx(delta)
    return claim.epsilon, claim.delta


def advantage(epsilon: float, delta: float = 0.0) -> float:
    """Compute the largest advantage of any attacker over guessing: the true-positive minus the false-positive rate.

    Parameters
    ----------
    epsilon : float
        The claimed epsilon.
    delta : float
        The claimed delta.

    Returns
    -------
    float
        The advantage, (e**epsilon - 1 + 2 delta) / (e**epsilon + 1).

    References
    ----------
    P. Kairouz, S. Oh and P. Viswanath, The composition theorem for differential privacy (2015).

    Examples
    --------
    >>> round(advantage(1.0), 4)
    0.4621
    """
    return math.tanh(epsilon / 2) + delta * (1 - math.tanh(epsilon / 2))
