"""The least variance of unbiased estimates from epsilon-private reports on k options: what the others are
measured against.

At equal shares no unbiased estimate from n reports, each epsilon-private by itself, has a smaller sum of
variances than the limit / n: that is the bound of Cramér and Rao, with the largest Fisher information that
epsilon allows. Of all estimates, biased ones too, it is the least worst case only as n goes to infinity (Ye
and Barg). At a given n a biased estimate can have less: projected onto the simplex, 128 options and 1,000
people have about a tenth of it at epsilon 1.
"""

import math
from typing import NamedTuple

from toolkit.core.checks import Number, refuse, whole
from toolkit.local.calibration import checked_epsilon


class Limit(NamedTuple):
    """`risk`: sum over the options of n times the variance of unbiased estimates, at equal shares. `size`:
    the subset size that attains it.
    """

    risk: float
    size: int

    def se(self, k: int, n: int) -> float:
        """The standard error of an option's share among n respondents, at equal shares, where the limit is
        attained.
        """
        return math.sqrt(self.risk / (whole(k, "k", least=2) * whole(n, "n")))


def limit(k: int, epsilon: Number) -> Limit:
    """The limit of unbiased estimates for the shares of k options, respondents being a random sample.

    With E = e**epsilon it is the least over sizes d of (k-1)**2 (d E + k - d)**2 / (k d (k-d) (E-1)**2),
    which is the sum of variances of subset selection of that size at equal shares, where it is largest. Of
    biased estimates it is the least worst case as the number of people goes to infinity, and not before.

    >>> least = limit(16, 1.0)
    >>> least.size, round(least.se(16, n=1000), 4)
    (4, 0.057)

    References: M. Ye and A. Barg, Optimal schemes for discrete distribution estimation under locally
    differential privacy, IEEE Transactions on Information Theory 64 (2018); and Asymptotically optimal
    private estimation under mean square loss, arXiv 1708.00059 (2017).
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
        refuse(
            "a limit needs a positive, finite epsilon",
            epsilon,
            "without privacy, or without information, there is none",
        )
    return risk / limit(k, epsilon).risk
