"""The least error that any epsilon-private randomizer of k options can have: what the others are measured against."""

import math
from typing import NamedTuple

from toolkit.core.checks import Number, refuse, whole
from toolkit.local.odds import checked_epsilon


class Limit(NamedTuple):
    """`risk`: sum over the options of n times the variance, at equal shares. `size`: the subset size that attains it."""

    risk: float
    size: int

    def se(self, k: int, n: int) -> float:
        """The least standard error of one option's share among n respondents."""
        return math.sqrt(self.risk / (whole(k, "k", least=2) * whole(n, "n")))


def limit(k: int, epsilon: Number) -> Limit:
    """The minimax limit for the shares of k options, respondents being a random sample.

    With E = e**epsilon it is the least over sizes d of (k-1)**2 (d E + k - d)**2 / (k d (k-d) (E-1)**2), which is the
    error of subset selection of that size at equal shares, its worst case.

    >>> least = limit(16, 1.0)
    >>> least.size, round(least.se(16, n=1000), 4)
    (4, 0.057)

    References: M. Ye and A. Barg, Optimal schemes for discrete distribution estimation under locally differential
    privacy, IEEE Transactions on Information Theory 64 (2018).
    """
    options = whole(k, "k", least=2)
    factor = math.expm1(float(checked_epsilon(epsilon)))  # E - 1, without losing digits when epsilon is small

    def risk(size: int) -> float:
        # The square is taken last, so that neither a tiny nor a huge epsilon leaves the floats.
        return ((options - 1) * (size * factor + options) / factor) ** 2 / (options * size * (options - size))

    ideal = options / (factor + 2)  # the risk has one valley, and this is its bottom
    candidates = {min(max(round(ideal) + step, 1), options - 1) for step in (-1, 0, 1)}
    best = min(sorted(candidates), key=risk)
    return Limit(risk(best), best)


def ratio(risk: float, k: int, epsilon: float) -> float:
    """How many times the limit at this epsilon a risk is."""
    if not 0 < epsilon < math.inf:
        refuse("a limit needs a positive, finite epsilon", epsilon, "without privacy, or without information, there is none")
    return risk / limit(k, epsilon).risk
