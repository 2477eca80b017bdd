"""The weights with the smallest penalized loss, to a tolerance that is fixed before any row is seen.

Newton's method, with a full step where that halves the gradient, else with one to the lowest point along its
direction. The objective bends by at least
`ridge` in every direction, so a gradient of length t means that the minimum is at most t / ridge away. The
gradient is computed in floats; what their rounding can hide is bounded in advance (`tolerance`), and is part
of the sensitivity.
"""

import math

import numpy as np

from toolkit.core.arrays import Array
from toolkit.learning.fitting.margins import MarginLoss

MOST_ROWS = 10**8
_ROUNDING = 2.0**-53
_SUMMED = 60  # roundings of one term: 16 + 3 in a block of numpy's pairwise sums, 20 for blocks, 4 each for
# slope and product, and some to spare
_ROUNDS = 500
_HURRIED = 50  # after so many rounds, every step is as long as the objective falls: it then ends for sure
_LONGEST, _HALVINGS = 2.0**20, 45
_SAMPLED = 20_000  # from so many rows on, the search starts from the minimum of every sixteenth row


def tolerance(rows: int, loss: MarginLoss, ridge: float, size: int, push: float = 0.0) -> float:
    """A length of the gradient that floats can reach and tell, four times what their rounding comes to.

    The minimum has ridge / 2 |w|**2 <= rows + push |w|, which bounds |w|. A margin is then wrong by at most
    size |w| roundings and its slope by curvature times that; and the sum over people, each term of length at
    most 1, by some roundings a term.
    """
    reach = (push + math.sqrt(push**2 + 2 * ridge * rows)) / ridge
    people = rows * (_SUMMED + loss.curvature * (size + 2) * reach)
    return 4 * _ROUNDING * (people + 8 * (ridge * reach + push) + 1)


def minimum(rows: Array, loss: MarginLoss, ridge: float, push: Array, tolerance: float) -> Array:
    """Where sum of loss(w . row) + ridge / 2 |w|**2 + push . w has a gradient of at most half the tolerance.

    `rows` holds one column a person, already multiplied by the label.
    """
    weights = np.zeros(len(rows))
    if rows.shape[1] > _SAMPLED:
        few = np.ascontiguousarray(rows[:, ::16])
        weights = minimum(few, loss, ridge / 16, push / 16, 1e-3 * few.shape[1])
    pull = _gradient(rows, loss, ridge, push, weights)
    for done in range(_ROUNDS):
        if np.linalg.norm(pull) <= tolerance and _careful(rows, loss, ridge, push, weights) <= tolerance / 2:
            break
        bent = rows * np.sqrt(loss.bend(weights @ rows))
        along = -_solved(bent @ bent.T + ridge * np.eye(len(rows)), pull)
        moved = weights + along
        after = _gradient(rows, loss, ridge, push, moved)
        if done > _HURRIED or np.linalg.norm(after) > np.linalg.norm(pull) / 2:
            moved = weights + _furthest(rows, loss, ridge, push, weights, along) * along
            after = _gradient(rows, loss, ridge, push, moved)
        weights, pull = moved, after
    return weights


def _solved(matrix: Array, pull: Array) -> Array:
    """Newton's step; where floats take the matrix for singular, the shortest one: that is no error."""
    try:
        return np.asarray(np.linalg.solve(matrix, pull), dtype=float)
    except np.linalg.LinAlgError:
        return np.asarray(np.linalg.lstsq(matrix, pull, rcond=None)[0], dtype=float)


def _furthest(rows: Array, loss: MarginLoss, ridge: float, push: Array, weights: Array, along: Array) -> float:
    """How far along a direction the objective falls: where its derivative is 0, which never falls."""
    margins, steps = weights @ rows, along @ rows
    start, growth = float((ridge * weights + push) @ along), ridge * float(along @ along)

    def rises(share: float) -> bool:
        return float(loss.slope(margins + share * steps) @ steps) + start + share * growth > 0

    low, high = 0.0, 1.0
    while not rises(high) and high < _LONGEST:
        low, high = high, 2 * high
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        low, high = (low, middle) if rises(middle) else (middle, high)
    return (low + high) / 2


def _gradient(rows: Array, loss: MarginLoss, ridge: float, push: Array, weights: Array) -> Array:
    return np.asarray(rows @ loss.slope(weights @ rows) + ridge * weights + push)


def _careful(rows: Array, loss: MarginLoss, ridge: float, push: Array, weights: Array) -> float:
    """The length of the gradient with sums over people that numpy makes pairwise, of few roundings a term."""
    slopes = loss.slope(weights @ rows)
    sums = np.array([np.sum(row * slopes) for row in rows])
    return float(np.linalg.norm(sums + ridge * weights + push))
