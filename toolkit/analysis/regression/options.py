"""The likelihood of truths among k options behind randomized reports, as a function of coefficients.

Of a person with covariates x the truth is option t with probability p_t, the softmax of x'b_t with b = 0 for
the base; the report y has the probability sum_t p_t P[t, y].
"""

from dataclasses import dataclass

import numpy as np

from toolkit.analysis.regression.reading.channel import Channel
from toolkit.analysis.regression.reading.people import People
from toolkit.analysis.regression.scoring import Point
from toolkit.core.arrays import Array
from toolkit.core.inference.special import softmax


@dataclass(frozen=True, eq=False)
class OptionsModel:
    """Columns of covariates, the designs and the people; `order` is that of the options, the base first.

    Coefficients stand option by option, those of the base left out.
    """

    columns: Array
    channel: Channel
    people: People
    order: tuple[int, ...]

    @property
    def width(self) -> int:
        return (len(self.order) - 1) * int(self.columns.shape[1])

    def shares(self, at: Array) -> Array:
        """Pr(truth), one row an option in `order`, one column a person."""
        return option_shares(self.columns, at, len(self.order))

    def log_likelihood(self, at: Array) -> float:
        return float(self.people.mass @ np.log(self._joint(self.shares(at)).sum(axis=0)))

    def point(self, at: Array) -> Point:
        """Height, gradient and expected information at these coefficients."""
        shares = self.shares(at)
        joint = self._joint(shares)
        likelihood = joint.sum(axis=0)
        leans = self.people.mass * (joint / likelihood - shares)
        height = float(self.people.mass @ np.log(likelihood))
        return Point(at, height, (leans[1:] @ self.columns).ravel(), self._blocks(self._told(shares)))

    def scores(self, at: Array) -> Array:
        """The gradient of each person's log-likelihood, times the person's weight: one row a person."""
        shares = self.shares(at)
        joint = self._joint(shares)
        leans = joint / joint.sum(axis=0) - shares
        if self.people.weights is not None:
            leans = leans * self.people.weights
        return np.concatenate([lean[:, None] * self.columns for lean in leans[1:]], axis=1)

    def observed(self, at: Array) -> Array:
        """Minus the Hessian: the spread of the truth before the report, less what is left of it after."""
        shares = self.shares(at)
        joint = self._joint(shares)
        return self._blocks(_spread(shares) - _spread(joint / joint.sum(axis=0)))

    def randomization(self, at: Array, share: Array) -> Array:
        """The variance of the scores' sum given the truths, of the chances that this fit gives them; each
        person counted with a share.
        """
        shares = self.shares(at)
        found = np.zeros((len(shares), *shares.shape))
        for rows, matrix in self.channel.parts():
            given = matrix[list(self.order)]
            here = shares[:, rows]
            after = given[:, :, None] * here[:, None] / np.maximum(given.T @ here, 1e-150)
            mean = np.einsum("ty,syi->tsi", given, after)
            found[:, :, rows] = np.einsum("ti,ty,syi,ryi->sri", here, given, after, after)
            found[:, :, rows] -= np.einsum("ti,tsi,tri->sri", here, mean, mean)
        weights = 1.0 if self.people.weights is None else self.people.weights
        return self._blocks(found * share * weights**2 / self.people.mass)

    def _joint(self, shares: Array) -> Array:
        return np.asarray(shares * self.channel.seen[list(self.order)])

    def _told(self, shares: Array) -> Array:
        """What one report is expected to tell: p_s p_t (sum_y P[s, y] P[t, y] / Pr(y) - 1) for options s,
        t.
        """
        k = len(self.order)
        found = np.zeros((k, k, shares.shape[1]))
        for rows, matrix in self.channel.parts():
            given = matrix[list(self.order)]
            likelihood = given.T @ shares[:, rows]
            inner = np.einsum("sy,ty,yi->sti", given, given, 1 / likelihood) - 1
            found[:, :, rows] = inner * shares[:, None, rows] * shares[None, :, rows]
        return found

    def _blocks(self, weights: Array) -> Array:
        """The sum over people of weights[s, t] x x', as one matrix with a block for each pair of options."""
        k, p = len(self.order) - 1, self.columns.shape[1]
        blocks = np.empty((k, p, k, p))
        for s in range(k):
            for t in range(s, k):
                weight = self.people.mass * weights[s + 1, t + 1]
                blocks[s, :, t] = self.columns.T @ (self.columns * weight[:, None])
                blocks[t, :, s] = blocks[s, :, t]
        return blocks.reshape(k * p, k * p)


def option_shares(columns: Array, at: Array, options: int) -> Array:
    """The softmax of the linear predictors, that of the base 0: one row an option, one column a person."""
    eta = np.vstack([np.zeros(len(columns)), at.reshape(options - 1, -1) @ columns.T])
    return np.asarray(softmax(eta, axis=0))


def _spread(shares: Array) -> Array:
    """diag(p) - p p' for each person."""
    found = -shares[:, None] * shares[None]
    for place, share in enumerate(shares):
        found[place, place] += share
    return np.asarray(found)
