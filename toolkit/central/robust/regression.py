"""M-estimators of regression with rows of bounded length, and their influence.

beta solves the sum of psi(y - x beta) w(x) x = 0, where w(x) = min(1, clip / |x|) cuts every row to length
`clip`: without that one row far out would move beta without limit, whatever psi.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from toolkit.central.robust.estimators import Estimator
from toolkit.core.arrays import Array
from toolkit.core.checks import Number, positive, refuse
from toolkit.core.inference.digits import concise

_ROUNDS = 1000


@dataclass(frozen=True)
class RegressionInfluence:
    """Coefficients, and how far one more row pulls them.

    Parameters
    ----------
    coefficients : beta.
    matrix : M, the mean of psi'(y - x beta) w(x) x x'.
    gross_error_sensitivity : sup |IF| over all rows, bound * clip / (the least eigenvalue of M).
    """

    estimator: Estimator
    clip: float
    coefficients: Array
    matrix: Array
    gross_error_sensitivity: float

    __repr__ = concise

    def __call__(self, x: npt.ArrayLike, y: float) -> Array:
        """M**-1 psi(y - x beta) w(x) x."""
        row = np.asarray(x, dtype=float)
        score = self.estimator.psi(y - row @ self.coefficients) * _weights(row[None, :], self.clip)[0]
        return np.asarray(np.linalg.solve(self.matrix, score * row))


def regression(estimator: Estimator, rows: Any, y: Any, *, clip: Number) -> RegressionInfluence:
    """Fit by weighting each residual u with psi(u) / u, again and again; a column of ones is an intercept.

    >>> from toolkit.central.robust.estimators import Huber
    >>> x = np.column_stack([np.ones(50), np.linspace(-1, 1, 50)])
    >>> y = x @ [1.0, 2.0] + np.where(np.arange(50) == 7, 1000, 0)
    >>> fit = regression(Huber(0.1), x, y, clip=2)
    >>> bool(np.abs(fit.coefficients - [1, 2]).max() < 0.02)
    True
    """
    table, target = np.asarray(rows, dtype=float), np.asarray(y, dtype=float)
    if table.ndim != 2 or target.shape != table.shape[:1] or not np.isfinite(table.sum() + target.sum()):
        refuse("`rows` must be a table and `y` a number for each row, all finite", "others", "settle them first")
    length = float(positive(clip, "clip", "rows are cut to it"))
    cut = _weights(table, length)
    beta = np.linalg.lstsq(table, target, rcond=None)[0]
    for _ in range(_ROUNDS):
        residual = target - table @ beta
        near = np.abs(residual) < 1e-12
        weight = cut * np.where(near, estimator.slope(0.0), estimator.psi(residual) / np.where(near, 1.0, residual))
        following = np.linalg.solve((table * weight[:, None]).T @ table, (table * weight[:, None]).T @ target)
        done = np.abs(following - beta).max() <= 1e-12 * max(1.0, float(np.abs(beta).max()))
        beta = following
        if done:
            break
    slope = estimator.slope(target - table @ beta) * cut
    matrix = (table * slope[:, None]).T @ table / len(table)
    least = float(np.linalg.eigvalsh(matrix)[0])
    reach = estimator.bound * length / least if least > 0 else np.inf
    return RegressionInfluence(estimator, length, beta, matrix, float(reach))


def _weights(rows: Array, clip: float) -> Array:
    lengths = np.linalg.norm(rows, axis=1)
    return np.asarray(np.minimum(1.0, clip / np.where(lengths > 0, lengths, 1.0)))
