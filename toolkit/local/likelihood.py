"""Estimates that respect 0 and 1: maximum likelihood through a design, and projection onto the simplex.

The likelihood of the truth's shares x, given report counts c and the matrix P[truth, report], is
sum_y c_y ln((x P)_y). It is concave, so every stationary point is the maximum.
"""

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]


def project_onto_simplex(shares: Array) -> Array:
    """The nearest point, in Euclidean distance, whose entries are non-negative and sum to one; by one sort.

    >>> project_onto_simplex(np.array([0.7, 0.5, -0.2]))
    array([0.6, 0.4, 0. ])
    """
    descending = np.sort(shares)[::-1]
    excess = (np.cumsum(descending) - 1) / np.arange(1, len(shares) + 1)
    kept = np.flatnonzero(descending > excess)[-1]
    return np.asarray(np.maximum(shares - excess[kept], 0))


def forced_mle(counts: Array, truth: float, forced: Array) -> Array:
    """Closed form when a report is the truth with probability `truth` > 0, else option j with probability forced[j].

    The maximum gives report probabilities proportional to the counts where a share is positive, and sets the options
    with the smallest counts[j] / forced[j] to zero: water-filling, one sort.
    """
    with np.errstate(divide="ignore"):
        order = np.argsort(np.where(counts > 0, counts / forced, 0.0))[::-1]
    # With the first m options positive, counts / mass - forced must sum to `truth`, which fixes the mass.
    mass = np.cumsum(counts[order]) / (truth + np.cumsum(forced[order]))
    inside = np.flatnonzero(counts[order] > mass * forced[order])
    shares = np.maximum(counts / mass[inside[-1]] - forced, 0) / truth
    return np.asarray(shares / shares.sum())


def em(matrix: Array, counts: Array, *, tolerance: float = 1e-9, rounds: int = 20_000) -> Array:
    """Maximum likelihood for any matrix, by expectation-maximisation with extrapolation.

    A plain round multiplies each share by its mean likelihood ratio; squared extrapolation (Varadhan and Roland 2008) is
    used where it raises the likelihood. It ends with a certificate: when no ratio exceeds 1 + tolerance, the mean
    log-likelihood is within `tolerance` of its maximum.
    """
    seen = counts > 0
    law, weight = matrix[:, seen], counts[seen] / counts.sum()

    def ratio(x: Array) -> Array:
        return np.asarray(law @ (weight / (x @ law)))

    def height(x: Array) -> float:
        mixture = x @ law
        return float(weight @ np.log(mixture)) if np.all(mixture > 0) else -np.inf

    shares = np.full(len(matrix), 1 / len(matrix))
    for _ in range(rounds):
        gain = ratio(shares)
        if gain.max() <= 1 + tolerance:
            return shares
        once = shares * gain
        twice = once * ratio(once)
        leap = _extrapolated(shares, once, twice)
        shares = leap if height(leap) > height(twice) else twice
    raise _unsettled(rounds)


def _extrapolated(start: Array, once: Array, twice: Array) -> Array:
    """Where the line through two rounds points to, kept inside the simplex."""
    change, bend = once - start, twice - 2 * once + start
    length = float(np.linalg.norm(bend))
    step = max(float(np.linalg.norm(change)) / length, 1.0) if length > 0 else 1.0
    leap = np.maximum(start + 2 * step * change + step**2 * bend, 0)
    return np.asarray(leap / leap.sum())


def _unsettled(rounds: int) -> ArithmeticError:
    return ArithmeticError(f"the likelihood did not settle within {rounds} rounds: the design hardly tells its options apart.")
