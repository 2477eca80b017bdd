"""Posteriors of shares from a flat prior, seen through randomization: one share on a grid, several by draws.

A flat prior on one share is even on 0 to 1. A flat prior on several shares that sum to one is even on the
simplex: then no share is taken as known while another is looked at. Draws start from a fixed seed, so the
same reports always give the same interval.
"""

from dataclasses import dataclass

import numpy as np

from toolkit.core.arrays import Array
from toolkit.core.checks import reject
from toolkit.core.inference.special import xlogy

OPTIONS_LIMIT = 16
"""Beyond this many options drawing takes longer than anybody waits, and the prior outweighs the reports."""

_CHAINS, _KEPT = 250, 200
_LEAST = 1e-200  # of a report that has no probability, for its logarithm and slope
_TOUCHING = 0.002  # an interval that begins within this share of the draws begins at the edge


def shortest_on_grid(counts: Array, given: Array, without: Array, level: float) -> tuple[float, float]:
    """The shortest interval that holds `level` of the posterior of one share x, on a grid over where the likelihood is.

    Reports follow x * given + (1 - x) * without. With two kinds of report this posterior is a truncated Beta; the grid
    serves every number of kinds, and does not lose its digits when the truncation leaves only the far tail.
    """

    def log_likelihood(x: Array) -> Array:
        # a row for each kind of report, as kinds are few and the grid is long
        mixture = np.multiply.outer(given, x) + np.multiply.outer(without, 1 - x)
        return np.asarray(xlogy(counts[:, None], mixture).sum(axis=0))

    grid = np.linspace(0, 1, 513)
    for _ in range(6):  # each round keeps the part within e**-40 of the mode and looks closer
        height = log_likelihood(grid)
        inside = np.flatnonzero(height >= height.max() - 40)
        first, last = max(inside[0] - 1, 0), min(inside[-1] + 1, len(grid) - 1)
        if last - first >= len(grid) // 2:
            break
        grid = np.linspace(grid[first], grid[last], len(grid))
    grid = np.linspace(grid[first], grid[last], 4001)
    height = log_likelihood(grid)
    density = np.exp(height - height.max())
    mass = np.concatenate([[0], np.cumsum((density[1:] + density[:-1]) / 2)])
    mass /= mass[-1]
    tails = np.linspace(0, 1 - level, 401)
    lows, highs = np.interp(tails, mass, grid), np.interp(tails + level, mass, grid)
    best = int(np.argmin(highs - lows))
    return float(lows[best]), float(highs[best])


@dataclass(frozen=True, eq=False)
class Through:
    """Reports seen through a matrix Pr(report | truth), and the covariance of the unbiased shares."""

    matrix: Array
    counts: Array
    cov: Array

    def shortest(self, level: float) -> tuple[Array, Array]:
        """For each share the shortest interval that holds `level` of the posterior of all shares together."""
        k = len(self.matrix)
        if k > OPTIONS_LIMIT:
            consequence = 'use "wilson" or "exact"'
            reject(f'method="bayes" takes at most {OPTIONS_LIMIT} options through this matrix', k, consequence)
        return shortest_of(simplex_draws(self.matrix, self.counts[None, :], self.cov[None, :, :])[0], level)


def shortest_of(draws: Array, level: float) -> tuple[Array, Array]:
    """For each column the shortest interval that holds `level` of its rows; one near 0 or 1 reaches it."""
    ordered = np.sort(draws, axis=0)
    size = int(np.ceil(level * len(ordered)))
    first = np.argmin(ordered[size - 1 :] - ordered[: len(ordered) - size + 1], axis=0)
    low, high = (np.take_along_axis(ordered, first[None] + end, axis=0)[0] for end in (0, size - 1))
    touch = _TOUCHING * len(ordered)
    return np.where(first <= touch, 0, low), np.where(len(ordered) - size - first <= touch, 1, high)


def simplex_draws(matrix: Array, counts: Array, cov: Array, *, chains: int = _CHAINS, kept: int = _KEPT) -> Array:
    """Draw shares x with density proportional to the likelihood of the counts under x P: by survey, draw and share.

    Hit and run: each step draws a point on a random chord of the simplex, by slice sampling, which needs no tuning and
    is exact however narrow the likelihood is. The log-likelihood is concave, so the slice is one segment. Directions
    follow the estimate's covariance, and every other step the line between two vertices, which finds its way along the
    edges. Draws are stored after a start of 100 + 20 k steps.
    """
    surveys, k = len(counts), len(matrix)
    rng = np.random.default_rng(0)
    tallies = np.repeat(counts, chains, axis=0)
    roots = np.repeat(_roots(cov), chains, axis=0)
    x = rng.dirichlet(np.ones(k), size=surveys * chains)
    draws = np.empty((kept, surveys * chains, k))
    for step in range(-100 - 20 * k, kept):
        if step % 2:
            direction = np.einsum("sij,sj->si", roots, rng.standard_normal((len(x), k)))
        else:
            pairs = rng.random((len(x), k)).argsort(axis=1, kind="stable")
            direction = (pairs == 0) * 1.0 - (pairs == 1)
        x = _step(x, direction, matrix, tallies, rng)
        if step >= 0:
            draws[step] = x
    return draws.reshape(kept, surveys, chains, k).transpose(1, 0, 2, 3).reshape(surveys, kept * chains, k)


def _roots(cov: Array) -> Array:
    """Square roots of covariances: directions that spread as the estimate does, and stay where shares sum to one."""
    values, vectors = np.linalg.eigh(cov)
    return np.asarray(vectors * np.sqrt(np.maximum(values, 0))[:, None, :])


def _step(x: Array, direction: Array, matrix: Array, counts: Array, rng: np.random.Generator) -> Array:
    """One draw per row, on the chord through x, where the likelihood is above a random height."""
    direction = direction / np.abs(direction).max(axis=1, keepdims=True)
    with np.errstate(divide="ignore", invalid="ignore"):
        ends = np.where(direction != 0, -x / direction, np.inf)
    low = np.where(direction > 0, ends, -np.inf).max(axis=1)
    high = np.where(direction < 0, ends, np.inf).min(axis=1)
    here, along = np.maximum(x @ matrix, _LEAST), direction @ matrix
    height = (counts * np.log(here)).sum(axis=1) - rng.standard_exponential(len(x))
    while True:
        tried = low + (high - low) * rng.random(len(x))
        reports = np.maximum(here + tried[:, None] * along, _LEAST)
        above = (counts * np.log(reports)).sum(axis=1) - height
        outside = above < 0
        if not outside.any():
            break
        # The likelihood lies below its tangent, so beyond where the tangent has the height nothing is in the slice.
        slope = (counts * along / reports).sum(axis=1)
        end = tried - np.divide(above, slope, out=np.zeros(len(x)), where=outside & (slope != 0))
        below = tried < 0
        end = np.where(below, np.minimum(end, 0), np.maximum(end, 0))  # x itself is inside, whatever is rounded
        low = np.where(below | ~outside, end, low)  # a row that is done stays: both its ends are its place
        high = np.where(below & outside, high, end)
    moved = np.maximum(x + tried[:, None] * direction, 0)
    return np.asarray(moved / moved.sum(axis=1, keepdims=True))
