"""Maximum likelihood estimation under a design; the estimates lie between 0 and 1.

The log-likelihood of the shares x of the truths, given report counts c and the matrix P[truth, report], is
sum_y c_y ln((x P)_y). It is concave, so every stationary point is the maximum.
"""

import numpy as np

from toolkit.core.arrays import Array
from toolkit.core.inference.fit import DesignFit, edge_fit
from toolkit.core.inference.intervals import Shares
from toolkit.core.inference.special import chdtrc, xlogy
from toolkit.local.matrix.moments import ForcedForm

_RIDGE = 1e-14
_MAX_STEPS = 60
_MAX_CELLS = 2_000_000  # the largest number of cells in all matrices that are solved together: 16 MB


def maximize(matrix: Array, counts: Array, form: tuple[float, Array] | None) -> Array:
    """Return the maximum-likelihood shares, in closed form where the matrix has the forced form (truth, forced)."""
    if form is not None and len(matrix) == 2:
        yes = float(np.clip((counts[1] / counts.sum() - form[1][1]) / form[0], 0, 1))
        return np.array([1 - yes, yes])
    if form is not None and form[0] > 0:
        return forced_mle(counts, *form)
    return maximum_likelihood(matrix, counts)


def forced_mle(counts: Array, truth: float, forced: Array) -> Array:
    """Return the most likely shares if a report is true with probability `truth` > 0, else option j with forced[j].

    This is water-filling with one sort. Where a share is positive, the report probability is proportional to the count.
    The shares with the smallest counts[j] / forced[j] are zero.
    """
    with np.errstate(divide="ignore", invalid="ignore"):  # 0 / 0 is sorted last
        order = np.argsort(-counts / forced, kind="stable")
    # If the first m shares are positive, counts / scale - forced must sum to `truth`, which determines the scale.
    scale = np.cumsum(counts[order]) / (truth + np.cumsum(forced[order]))
    positive = np.flatnonzero(counts[order] > scale * forced[order])
    shares = np.maximum(counts / scale[positive[-1]] - forced, 0) / truth
    return np.asarray(shares / shares.sum())


def maximum_likelihood(matrix: Array, counts: Array, *, tolerance: float = 1e-10) -> Array:
    """Maximize the likelihood for any matrix, and verify the result.

    When no mean likelihood ratio exceeds 1 + tolerance, the mean log-likelihood is within `tolerance` of its maximum.
    Expectation-maximization (the iterative Bayesian update) also converges, but slowly if a share tends to zero, which
    is common in private surveys. The interior-point method takes about 20 steps.
    """
    return np.asarray(maximum_likelihoods(matrix, counts[None], tolerance=tolerance)[0])


def maximum_likelihoods(matrix: Array, tallies: Array, *, tolerance: float = 1e-10) -> Array:
    """Maximize the likelihoods of many surveys with the same matrix; each survey has a row of counts."""
    observed = (tallies > 0).any(axis=0)
    likelihoods, weights = matrix[:, observed], tallies[:, observed] / tallies.sum(axis=1, keepdims=True)
    batch = max(1, _MAX_CELLS // likelihoods.size)
    batches = [weights[first : first + batch] for first in range(0, len(weights), batch)]
    shares = np.concatenate(
        [
            _maximize_two_truths(likelihoods, part) if len(likelihoods) == 2 else interior_point(likelihoods, part)
            for part in batches
        ]
    )
    if likelihood_ratios(likelihoods, weights, shares).max() > 1 + tolerance:
        raise ArithmeticError("the likelihood did not converge: the design hardly distinguishes its options.")
    return shares


def likelihood_ratios(likelihoods: Array, weights: Array, shares: Array) -> Array:
    """Return the gradient: the mean of Pr(report | truth) / Pr(report) for each truth, at most 1 at the maximum."""
    with np.errstate(divide="ignore", invalid="ignore"):
        ratios = np.where(
            weights > 0, weights / (shares @ likelihoods), 0.0
        )  # a report that did not occur has no weight
    return np.asarray(ratios @ likelihoods.T)


def _maximize_two_truths(likelihoods: Array, weights: Array) -> Array:
    """Maximize for two truths: find the zero of the score by Newton's method, safeguarded by halving."""
    difference = likelihoods[1] - likelihoods[0]

    def derivatives(share: Array) -> tuple[Array, Array]:
        with np.errstate(divide="ignore", invalid="ignore"):
            ratios = np.where(weights > 0, difference / (likelihoods[0] + share[:, None] * difference), 0.0)
        return (weights * ratios).sum(axis=1), (weights * ratios**2).sum(axis=1)

    low, high = np.zeros(len(weights)), np.ones(len(weights))
    share = np.where(derivatives(low)[0] <= 0, 0.0, np.where(derivatives(high)[0] >= 0, 1.0, 0.5))
    unsettled = share == 0.5
    for _ in range(_MAX_STEPS if unsettled.any() else 0):
        score, information = derivatives(share)
        low, high = np.where(score > 0, share, low), np.where(score > 0, high, share)
        new = share + score / information
        new = np.where(unsettled, np.where((new > low) & (new < high), new, (low + high) / 2), share)
        if np.abs(new - share).max() < _RIDGE:
            break
        share = new
    share = np.where(share > 1e-12, np.where(share < 1 - 1e-12, share, 1.0), 0.0)
    return np.stack([1 - share, share], axis=1)


def interior_point(likelihoods: Array, weights: Array, max_steps: int = 200) -> Array:
    """Solve the optimality conditions, ratios - 1 + slack = 0 and shares * slack = 0, by Newton's method.

    Shares and slack stay non-negative. Each survey has one row of weights and one row of shares.

    The products tend to zero together, so that a share near zero can still grow again. The equations are solved for
    step / sqrt(shares), which gives them a common scale. The ridge is for matrices whose likelihood has a flat maximum.
    """
    k = len(likelihoods)
    results = np.full((len(weights), k), 1 / k)
    active, shares, slack = np.arange(len(weights)), results.copy(), np.full_like(results, 0.1)
    for _ in range(max_steps):
        relative = likelihoods / (shares @ likelihoods)[:, None, :]
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


_LIKELIHOOD_LIMIT = 64  # the largest number of options; beyond it, exact tails are faster and need no approximation
_RATIO_TEST = "likelihood ratio, for large samples"


def agreement_test(matrix: Array, form: ForcedForm | None, counts: Array, basis: Shares) -> DesignFit:
    """Test whether the reports are consistent with any shares.

    In the forced form, which every 2 x 2 matrix has, the reports of an option are binomial, and the tails are exact.
    For any other matrix it is the likelihood ratio test of the best mixture of rows against the observed shares of the
    reports. Inside the simplex the statistic has a chi-squared distribution. Its degrees of freedom are the number of
    reports minus the number of truths; a square matrix has none and always fits. With m shares at zero there are up to
    m more degrees of freedom. The p-values with the two largest degrees of freedom are averaged, which is exact for one
    share at zero and an upper bound for more (Perlman 1969).
    """
    k, reports = matrix.shape
    if form is not None or k > _LIKELIHOOD_LIMIT:
        return edge_fit(basis, together=True)
    if k == reports and np.all(basis.value >= 0):
        return DesignFit(1.0, _RATIO_TEST)
    try:
        shares = maximum_likelihood(matrix, counts)
    except ArithmeticError:  # the design hardly distinguishes its options, so no reports contradict it
        return edge_fit(basis, together=True)
    expected = counts.sum() * (shares @ matrix)
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = max(0.0, 2 * float(np.sum(xlogy(counts, counts) - xlogy(counts, expected))))
    at_zero = int(np.count_nonzero(shares == 0))
    df = reports - k + at_zero  # the largest possible degrees of freedom
    if at_zero == 0:
        return DesignFit(_chi_squared_tail(ratio, df), _RATIO_TEST)
    return DesignFit((_chi_squared_tail(ratio, df - 1) + _chi_squared_tail(ratio, df)) / 2, _RATIO_TEST)


def _chi_squared_tail(ratio: float, df: int) -> float:
    """Return Pr[chi-squared > ratio]; without degrees of freedom the variable is zero."""
    return float(chdtrc(df, ratio)) if df > 0 else float(ratio <= 0)


def impossible_count_note(counts: Array, matrix: Array, label: object) -> str:
    """Describe a count that a 2 x 2 design does not allow, or return an empty string if the count is allowed."""
    yes, n = int(counts[1]), int(counts.sum())
    least, most = n * float(matrix[:, 1].min()), n * float(matrix[:, 1].max())
    if least <= yes <= most:
        return ""
    bound = f"at least {least:.4g}" if yes < least else f"at most {most:.4g}"
    return f"{yes:,} of {n:,} reports were {label}, where the design makes {bound} on average"
