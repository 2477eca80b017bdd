"""Estimates that respect 0 and 1: maximum likelihood through a design, and projection onto the simplex.

The likelihood of the truth's shares x, given report counts c and the matrix P[truth, report], is
sum_y c_y ln((x P)_y). It is concave, so every stationary point is the maximum.
"""

import numpy as np

from toolkit.core.arrays import Array

_RIDGE = 1e-14


def project_onto_simplex(shares: Array) -> Array:
    """The nearest point, in Euclidean distance, whose entries are non-negative and sum to one; by one sort.

    >>> project_onto_simplex(np.array([0.7, 0.5, -0.2]))
    array([0.6, 0.4, 0. ])
    """
    descending = np.sort(shares)[::-1]
    excess = (np.cumsum(descending) - 1) / np.arange(1, len(shares) + 1)
    kept = np.flatnonzero(descending > excess)[-1]
    return np.asarray(np.maximum(shares - excess[kept], 0))


def likeliest(matrix: Array, counts: Array, form: tuple[float, Array] | None) -> Array:
    """The maximum, by closed form where the matrix has the forced form: the probabilities of the truth, and
    of each option.
    """
    if form is not None and len(matrix) == 2:
        yes = float(np.clip((counts[1] / counts.sum() - form[1][1]) / form[0], 0, 1))
        return np.array([1 - yes, yes])
    if form is not None and form[0] > 0:
        return forced_mle(counts, *form)
    return maximum_likelihood(matrix, counts)


def forced_mle(counts: Array, truth: float, forced: Array) -> Array:
    """Closed form when a report is the truth with probability `truth` > 0, else option j with probability
    forced[j].

    The maximum gives report probabilities proportional to the counts where a share is positive, and sets the
    options with the smallest counts[j] / forced[j] to zero: water-filling, one sort.
    """
    with np.errstate(divide="ignore"):
        order = np.argsort(np.where(counts > 0, counts / forced, 0.0))[::-1]
    # With the first m options positive, counts / mass - forced must sum to `truth`, which fixes the mass.
    mass = np.cumsum(counts[order]) / (truth + np.cumsum(forced[order]))
    inside = np.flatnonzero(counts[order] > mass * forced[order])
    shares = np.maximum(counts / mass[inside[-1]] - forced, 0) / truth
    return np.asarray(shares / shares.sum())


def maximum_likelihood(matrix: Array, counts: Array, *, tolerance: float = 1e-10) -> Array:
    """The maximum for any matrix, with a certificate.

    When no mean likelihood ratio exceeds 1 + tolerance, the mean log-likelihood is within `tolerance` of its
    maximum, whatever way led there. Expectation-maximisation (the iterative Bayesian update) leads there too,
    but crawls where a share goes to zero, which in private surveys is the common case; an interior-point
    method takes some 20 steps.
    """
    seen = counts > 0
    law, weight = matrix[:, seen], counts[seen] / counts.sum()
    shares = interior_point(law, weight)
    if likelihood_ratios(law, weight, shares).max() > 1 + tolerance:
        raise ArithmeticError("the likelihood did not settle: the design hardly tells its options apart.")
    return shares


def likelihood_ratios(law: Array, weight: Array, shares: Array) -> Array:
    """For each truth, the mean of Pr(report | truth) / Pr(report): the gradient, at most 1 everywhere at the
    maximum.
    """
    return np.asarray(law @ (weight / (shares @ law)))


def interior_point(law: Array, weight: Array, rounds: int = 200) -> Array:
    """Newton's method on the optimality conditions: ratios - 1 + slack = 0 and shares * slack = 0, both
    non-negative.

    The products are driven to zero together, so a share can approach zero at its own pace and still turn
    back. The equations are solved for step / root(shares), which keeps them of one size; the ridge is for
    matrices that leave a maximum flat.
    """
    k = len(law)
    shares, slack = np.full(k, 1 / k), np.full(k, 0.1)
    for _ in range(rounds):
        relative = law / (shares @ law)
        gain = relative @ weight
        target = 0.1 * float(shares @ slack) / k
        root = np.sqrt(shares)
        scaled = root[:, None] * relative
        curvature = (scaled * weight) @ scaled.T + np.diag(slack + _RIDGE)
        step = root * np.asarray(
            np.linalg.solve(curvature, root * (gain - 1) + target / root), dtype=np.float64
        )
        slack_step = (target - slack * step) / shares - slack
        reach = min(_reach(shares, step), _reach(slack, slack_step))
        shares, slack = shares + reach * step, slack + reach * slack_step
        if target < 1e-22 and reach > 0.9:
            break
    shares = np.where(shares > 1e-12, shares, 0)
    return np.asarray(shares / shares.sum())


def _reach(values: Array, step: Array) -> float:
    """The share of a step that keeps all values positive."""
    shrinking = step < 0
    return float(np.min(-0.995 * values[shrinking] / step[shrinking], initial=1.0))
