"""Posteriors of shares under a flat prior, given randomized reports: one share on a grid, several by sampling.

The prior of one share is uniform on 0 to 1. The prior of several shares that sum to one is uniform on the simplex, so
that no share is treated as known while another is estimated. Sampling starts from a fixed seed, so that the same
reports always give the same interval.
"""

from dataclasses import dataclass

import numpy as np

from toolkit.core.arrays import Array
from toolkit.core.checks import reject
from toolkit.core.inference.special import xlogy

OPTIONS_LIMIT = 16
"""The largest number of options; with more, sampling takes too long, and the prior outweighs the reports."""

_CHAINS, _KEPT = 250, 200
# Impossible reports get this probability instead of 0, so that its logarithm and slope exist.
_LEAST = 1e-200
# If an interval begins within this fraction of the draws, it is extended to the edge.
_TOUCHING = 0.002


def shortest_on_grid(counts: Array, probs_with: Array, probs_without: Array, level: float) -> tuple[float, float]:
    """Return the shortest interval with posterior probability `level` for one share x, on a grid.

    Reports follow x * probs_with + (1 - x) * probs_without. With two kinds of report, this posterior is a truncated
    Beta distribution. The grid works for any number of kinds, and loses no digits if only the far tail remains.
    """

    def log_likelihood(x: Array) -> Array:
        # Each kind of report has a row, because there are few kinds and many grid points.
        mixture = np.multiply.outer(probs_with, x) + np.multiply.outer(probs_without, 1 - x)
        return np.asarray(xlogy(counts[:, None], mixture).sum(axis=0))

    grid = np.linspace(0, 1, 513)
    # Each round refines the grid where the likelihood is within e**-40 of its maximum.
    for _ in range(6):
        loglike = log_likelihood(grid)
        inside = np.flatnonzero(loglike >= loglike.max() - 40)
        first, last = max(inside[0] - 1, 0), min(inside[-1] + 1, len(grid) - 1)
        if last - first >= len(grid) // 2:
            break
        grid = np.linspace(grid[first], grid[last], len(grid))
    grid = np.linspace(grid[first], grid[last], 4001)
    loglike = log_likelihood(grid)
    density = np.exp(loglike - loglike.max())
    cumulative = np.concatenate([[0], np.cumsum((density[1:] + density[:-1]) / 2)])
    cumulative /= cumulative[-1]
    tails = np.linspace(0, 1 - level, 401)
    lows, highs = np.interp(tails, cumulative, grid), np.interp(tails + level, cumulative, grid)
    best = int(np.argmin(highs - lows))
    return float(lows[best]), float(highs[best])


@dataclass(frozen=True, eq=False)
class RandomizedCounts:
    """Counts of reports with their matrix Pr(report | truth), and the covariance of the unbiased shares."""

    matrix: Array
    counts: Array
    cov: Array

    def shortest(self, level: float) -> tuple[Array, Array]:
        """Return the shortest interval with posterior probability `level` for each share."""
        k = len(self.matrix)
        if k > OPTIONS_LIMIT:
            consequence = 'use "wilson" or "exact"'
            reject(f'method="bayes" takes at most {OPTIONS_LIMIT} options through this matrix', k, consequence)
        return shortest_intervals(simplex_draws(self.matrix, self.counts[None, :], self.cov[None, :, :])[0], level)


def shortest_intervals(draws: Array, level: float) -> tuple[Array, Array]:
    """Return the shortest interval that holds `level` of the draws in each column; near 0 or 1 it includes the edge."""
    ordered = np.sort(draws, axis=0)
    size = int(np.ceil(level * len(ordered)))
    first = np.argmin(ordered[size - 1 :] - ordered[: len(ordered) - size + 1], axis=0)
    low, high = (np.take_along_axis(ordered, first[None] + end, axis=0)[0] for end in (0, size - 1))
    touch = _TOUCHING * len(ordered)
    return np.where(first <= touch, 0, low), np.where(len(ordered) - size - first <= touch, 1, high)


def simplex_draws(matrix: Array, counts: Array, cov: Array, *, chains: int = _CHAINS, length: int = _KEPT) -> Array:
    """Draw shares x with density proportional to the likelihood of the counts under x P; axes are survey, draw, share.

    The sampler is hit and run: each step draws a point on a random chord of the simplex by slice sampling, which needs
    no tuning and is exact even if the likelihood is narrow. The log-likelihood is concave, so the slice is one segment.
    Directions alternate between the covariance of the estimate and the line between two vertices, which moves along the
    edges. Draws are stored after a burn-in of 100 + 20 k steps.
    """
    surveys, k = len(counts), len(matrix)
    rng = np.random.default_rng(0)
    tallies = np.repeat(counts, chains, axis=0)
    roots = np.repeat(_roots(cov), chains, axis=0)
    x = rng.dirichlet(np.ones(k), size=surveys * chains)
    samples = np.empty((length, surveys * chains, k))
    for step in range(-100 - 20 * k, length):
        if step % 2:
            direction = np.einsum("sij,sj->si", roots, rng.standard_normal((len(x), k)))
        else:
            pairs = rng.random((len(x), k)).argsort(axis=1, kind="stable")
            direction = (pairs == 0) * 1.0 - (pairs == 1)
        x = _step(x, direction, matrix, tallies, rng)
        if step >= 0:
            samples[step] = x
    return samples.reshape(length, surveys, chains, k).transpose(1, 0, 2, 3).reshape(surveys, length * chains, k)


def _roots(cov: Array) -> Array:
    """Return square roots of covariances, whose columns are directions along which the sum of shares is constant."""
    values, vectors = np.linalg.eigh(cov)
    return np.asarray(vectors * np.sqrt(np.maximum(values, 0))[:, None, :])


def _step(x: Array, direction: Array, matrix: Array, counts: Array, rng: np.random.Generator) -> Array:
    """Draw one point per row, from the part of the chord through x with a likelihood above a random threshold."""
    direction = direction / np.abs(direction).max(axis=1, keepdims=True)
    with np.errstate(divide="ignore", invalid="ignore"):
        ends = np.where(direction != 0, -x / direction, np.inf)
    low = np.where(direction > 0, ends, -np.inf).max(axis=1)
    high = np.where(direction < 0, ends, np.inf).min(axis=1)
    probabilities, slopes = np.maximum(x @ matrix, _LEAST), direction @ matrix
    threshold = (counts * np.log(probabilities)).sum(axis=1) - rng.standard_exponential(len(x))
    while True:
        position = low + (high - low) * rng.random(len(x))
        reports = np.maximum(probabilities + position[:, None] * slopes, _LEAST)
        above = (counts * np.log(reports)).sum(axis=1) - threshold
        outside = above < 0
        if not outside.any():
            break
        # The log-likelihood lies below its tangent, so the slice ends before the tangent meets the threshold.
        slope = (counts * slopes / reports).sum(axis=1)
        end = position - np.divide(above, slope, out=np.zeros(len(x)), where=outside & (slope != 0))
        below = position < 0
        end = np.where(below, np.minimum(end, 0), np.maximum(end, 0))  # x itself is inside, despite rounding
        low = np.where(below | ~outside, end, low)  # the interval of a finished row has collapsed to its position
        high = np.where(below & outside, high, end)
    moved = np.maximum(x + position[:, None] * direction, 0)
    return np.asarray(moved / moved.sum(axis=1, keepdims=True))
