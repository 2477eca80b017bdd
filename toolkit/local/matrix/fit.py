"""Whether a design can have made these reports: exact tails where each option has its own report, else a
likelihood ratio.
"""

import numpy as np

from toolkit.core.arrays import Array
from toolkit.core.inference.fit import Fit, edge_fit
from toolkit.core.inference.intervals import Shares
from toolkit.core.inference.special import chdtrc, xlogy
from toolkit.local.matrix.likelihood import maximum_likelihood
from toolkit.local.matrix.moments import Forced

_LIKELIHOOD_LIMIT = 64  # options; beyond, the exact tails of each option take less time, and no approximation
_RATIO = "likelihood ratio, for large samples"


def agreement(matrix: Array, form: Forced | None, counts: Array, basis: Shares) -> Fit:
    """The p-value of the best-fitting shares.

    In the forced form, which every 2 x 2 matrix has, an option's own reports are binomial, and the tails are
    exact. For any other matrix it is the likelihood ratio of the reports' shares against the best mixture of
    rows. Inside the simplex it follows chi-squared with as many degrees of freedom as there are more reports
    than truths (none for a square matrix, which then fits). With m shares at zero there are up to m more: the
    two largest numbers are averaged, which is right for one share at zero and an upper bound for more
    (Perlman 1969).
    """
    k, reports = matrix.shape
    if form is not None or k > _LIKELIHOOD_LIMIT:
        return edge_fit(basis, together=True)
    if k == reports and np.all(basis.value >= 0):
        return Fit(1.0, _RATIO)
    try:
        shares = maximum_likelihood(matrix, counts)
    except ArithmeticError:  # a design that hardly tells its options apart; nothing that came can then contradict it
        return edge_fit(basis, together=True)
    expected = counts.sum() * (shares @ matrix)
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = max(0.0, 2 * float(np.sum(xlogy(counts, counts) - xlogy(counts, expected))))
    spare, at_zero = reports - k, int(np.count_nonzero(shares == 0))
    if at_zero == 0:
        return Fit(_tail(ratio, spare), _RATIO)
    return Fit((_tail(ratio, spare + at_zero - 1) + _tail(ratio, spare + at_zero)) / 2, _RATIO)


def _tail(ratio: float, df: int) -> float:
    """Pr[chi-squared > ratio]; with no degree of freedom it is always zero."""
    return float(chdtrc(df, ratio)) if df > 0 else float(ratio <= 0)


def seen(counts: Array, matrix: Array, label: object) -> str:
    """What came and what a 2 x 2 design makes: "10 of 300 reports were yes, where the design makes at least
    50 on average".
    """
    yes, n = int(counts[1]), int(counts.sum())
    least, most = n * float(matrix[:, 1].min()), n * float(matrix[:, 1].max())
    if least <= yes <= most:
        return ""
    bound = f"at least {least:.4g}" if yes < least else f"at most {most:.4g}"
    return f"{yes:,} of {n:,} reports were {label}, where the design makes {bound} on average"
