"""Maximum likelihood through a design, whose estimates lie between 0 and 1.

The likelihood of the truth's shares x, given report counts c and the matrix P[truth, report], is
sum_y c_y ln((x P)_y). It is concave, so every stationary point is the maximum.
"""

import numpy as np

from toolkit.core.arrays import Array
from toolkit.core.inference.fit import DesignFit, edge_fit
from toolkit.core.inference.intervals import Shares
from toolkit.core.inference.special import chdtrc, xlogy
from toolkit.local.matrix.moments import Forced

_RIDGE = 1e-14
_HALVINGS = 60
_CELLS = 2_000_000  # the cells of all matrices that are solved together: 16 MB


def maximize(matrix: Array, counts: Array, form: tuple[float, Array] | None) -> Array:
    """Return the maximum-likelihood shares, in closed form where the matrix has the forced form (truth, forced)."""
    if form is not None and len(matrix) == 2:
        yes = float(np.clip((counts[1] / counts.sum() - form[1][1]) / form[0], 0, 1))
        return np.array([1 - yes, yes])
    if form is not None and form[0] > 0:
        return forced_mle(counts, *form)
    return maximum_likelihood(matrix, counts)


def forced_mle(counts: Array, truth: float, forced: Array) -> Array:
    """Return the maximum when a report is the truth with probability `truth` > 0, else option j with forced[j].

    This is water-filling by one sort: report probabilities are proportional to the counts where a share is positive,
    and the shares of the smallest counts[j] / forced[j] are zero.
    """
    with np.errstate(divide="ignore", invalid="ignore"):  # 0 / 0 is sorted last
        order = np.argsort(-counts / forced, kind="stable")
    # With the first m options positive, counts / mass - forced must sum to `truth`, which fixes the mass.
    mass = np.cumsum(counts[order]) / (truth + np.cumsum(forced[order]))
    inside = np.flatnonzero(counts[order] > mass * forced[order])
    shares = np.maximum(counts / mass[inside[-1]] - forced, 0) / truth
    return np.asarray(shares / shares.sum())


def maximum_likelihood(matrix: Array, counts: Array, *, tolerance: float = 1e-10) -> Array:
    """Maximize the likelihood for any matrix, with a certificate.

    When no mean likelihood ratio exceeds 1 + tolerance, the mean log-likelihood is within `tolerance` of its maximum.
    Expectation-maximization (the iterative Bayesian update) also converges, but slowly if a share goes to zero, which
    is common in private surveys. The interior-point method takes about 20 steps.
    """
    return np.asarray(maximum_likelihoods(matrix, counts[None], tolerance=tolerance)[0])


def maximum_likelihoods(matrix: Array, tallies: Array, *, tolerance: float = 1e-10) -> Array:
    """Maximize the likelihoods of many surveys through one matrix, with a row of counts for each survey."""
    observed = (tallies > 0).any(axis=0)
    law, weights = matrix[:, observed], tallies[:, observed] / tallies.sum(axis=1, keepdims=True)
    batch = max(1, _CELLS // law.size)
    batches = [weights[first : first + batch] for first in range(0, len(weights), batch)]
    shares = np.concatenate(
        [_two_truths(law, part) if len(law) == 2 else interior_point(law, part) for part in batches]
    )
    if likelihood_ratios(law, weights, shares).max() > 1 + tolerance:
        raise ArithmeticError("the likelihood did not converge: the design hardly distinguishes its options.")
    return shares


def likelihood_ratios(law: Array, weight: Array, shares: Array) -> Array:
    """Return the mean of Pr(report | truth) / Pr(report) per truth: the gradient, at most 1 at the maximum."""
    with np.errstate(divide="ignore", invalid="ignore"):
        ratios = np.where(weight > 0, weight / (shares @ law), 0.0)  # a report that did not occur has no weight
    return np.asarray(ratios @ law.T)


def _two_truths(law: Array, weights: Array) -> Array:
    """Maximize for two truths: find the zero of the score by Newton's method, safeguarded by halving."""
    difference = law[1] - law[0]

    def derivatives(at: Array) -> tuple[Array, Array]:
        with np.errstate(divide="ignore", invalid="ignore"):
            ratios = np.where(weights > 0, difference / (law[0] + at[:, None] * difference), 0.0)
        return (weights * ratios).sum(axis=1), (weights * ratios**2).sum(axis=1)

    low, high = np.zeros(len(weights)), np.ones(len(weights))
    at = np.where(derivatives(low)[0] <= 0, 0.0, np.where(derivatives(high)[0] >= 0, 1.0, 0.5))
    unsettled = at == 0.5
    for _ in range(_HALVINGS if unsettled.any() else 0):
        score, information = derivatives(at)
        low, high = np.where(score > 0, at, low), np.where(score > 0, high, at)
        new = at + score / information
        new = np.where(unsettled, np.where((new > low) & (new < high), new, (low + high) / 2), at)
        if np.abs(new - at).max() < _RIDGE:
            break
        at = new
    at = np.where(at > 1e-12, np.where(at < 1 - 1e-12, at, 1.0), 0.0)
    return np.stack([1 - at, at], axis=1)


def interior_point(law: Array, weights: Array, rounds: int = 200) -> Array:
    """Solve the optimality conditions, ratios - 1 + slack = 0 and shares * slack = 0, by Newton's method.

    Shares and slack stay non-negative. There is one row of weights, and of shares, for each survey.

    The products go to zero together, so that a share near zero can still grow again. The equations are solved for
    step / root(shares), which gives them one scale. The ridge is for matrices with a flat maximum.
    """
    k = len(law)
    results = np.full((len(weights), k), 1 / k)
    active, shares, slack = np.arange(len(weights)), results.copy(), np.full_like(results, 0.1)
    for _ in range(rounds):
        relative = law / (shares @ law)[:, None, :]
        weighted = relative * weights[active, None, :]
        target = 0.1 * (shares * slack).sum(axis=1, keepdims=True) / k
        root = np.sqrt(shares)
        curvature = (root[:, :, None] * weighted) @ (root[:, :, None] * relative).swapaxes(1, 2)
        curvature.reshape(len(active), -1)[:, :: k + 1] += slack + _RIDGE  # the diagonals
        rhs = root * (weighted.sum(axis=2) - 1) + target / root
        step = root * np.linalg.solve(curvature, rhs[:, :, None])[:, :, 0]
        slack_step = (target - slack * step) / shares - slack
        length = np.minimum(_max_step(shares, step), _max_step(slack, slack_step))
        shares, slack = shares + length * step, slack + length * slack_step
        results[active] = shares
        unsettled = ~((target < 1e-22) & (length > 0.9))[:, 0]
        if not unsettled.any():
            break
        active, shares, slack = active[unsettled], shares[unsettled], slack[unsettled]
    results = np.where(results > 1e-12, results, 0)
    return np.asarray(results / results.sum(axis=1, keepdims=True))


def _max_step(values: Array, step: Array) -> Array:
    """Return the largest fraction of a step that keeps all values of a row positive."""
    falling = np.maximum(-step / values, 0.995).max(axis=1, keepdims=True)
    return np.asarray(0.995 / falling)


_LIKELIHOOD_LIMIT = 64  # options; beyond it the exact tails of each option are faster and need no approximation
_RATIO = "likelihood ratio, for large samples"


def agreement(matrix: Array, form: Forced | None, counts: Array, basis: Shares) -> DesignFit:
    """Test whether the reports agree with any shares.

    In the forced form, which every 2 x 2 matrix has, the reports of an option are binomial, and the tails are exact.
    For any other matrix the test is the likelihood ratio of the reports' shares against the best mixture of rows.
    Inside the simplex it is chi-squared; its degrees of freedom are the number of reports minus that of truths (none
    for a square matrix, which then fits). With m shares at zero there are up to m more. The p-values of the two largest
    numbers are averaged, which is exact for one share at zero and an upper bound for more (Perlman 1969).
    """
    k, reports = matrix.shape
    if form is not None or k > _LIKELIHOOD_LIMIT:
        return edge_fit(basis, together=True)
    if k == reports and np.all(basis.value >= 0):
        return DesignFit(1.0, _RATIO)
    try:
        shares = maximum_likelihood(matrix, counts)
    except ArithmeticError:  # the design hardly distinguishes its options, so no reports contradict it
        return edge_fit(basis, together=True)
    expected = counts.sum() * (shares @ matrix)
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = max(0.0, 2 * float(np.sum(xlogy(counts, counts) - xlogy(counts, expected))))
    spare, at_zero = reports - k, int(np.count_nonzero(shares == 0))
    if at_zero == 0:
        return DesignFit(_tail(ratio, spare), _RATIO)
    return DesignFit((_tail(ratio, spare + at_zero - 1) + _tail(ratio, spare + at_zero)) / 2, _RATIO)


def _tail(ratio: float, df: int) -> float:
    """Return Pr[chi-squared > ratio]; without degrees of freedom the variable is zero."""
    return float(chdtrc(df, ratio)) if df > 0 else float(ratio <= 0)


def impossible_count(counts: Array, matrix: Array, label: object) -> str:
    """Describe a count outside what a 2 x 2 design allows; empty if it lies inside."""
    yes, n = int(counts[1]), int(counts.sum())
    least, most = n * float(matrix[:, 1].min()), n * float(matrix[:, 1].max())
    if least <= yes <= most:
        return ""
    bound = f"at least {least:.4g}" if yes < least else f"at most {most:.4g}"
    return f"{yes:,} of {n:,} reports were {label}, where the design makes {bound} on average"
