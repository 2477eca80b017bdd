"""Likelihoods of truths behind randomized reports, yes or no or among k options, as functions of coefficients."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from toolkit.analysis.regression.links import Link
from toolkit.analysis.regression.reading.channel import Channel
from toolkit.analysis.regression.reading.people import People
from toolkit.analysis.regression.scoring import Point
from toolkit.core.arrays import Array
from toolkit.core.inference.special import softmax

# The likelihood of truths among k options behind randomized reports, as a function of coefficients.
#
# Of a person with covariates x the truth is option t with probability p_t, the softmax of x'b_t with b = 0 for the
# base; the report y has the probability sum_t p_t P[t, y].


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


@dataclass(frozen=True, eq=False)
class BinaryModel:
    """Columns of covariates, the link, the designs and the people; `jeffreys` adds half the log
    determinant of the information.
    """

    columns: Array
    link: Link
    channel: Channel
    people: People
    jeffreys: bool = False

    @cached_property
    def _difference(self) -> Array:
        return np.asarray(self.channel.seen[1] - self.channel.seen[0])

    def log_likelihood(self, at: Array) -> float:
        eta = self.columns @ at
        return float(self.people.mass @ np.log(self.channel.likelihood(self.link.share(eta), self.link.rest(eta))))

    def point(self, at: Array) -> Point:
        """Height, gradient and expected information at these coefficients."""
        eta = self.columns @ at
        share, rest, slope = self.link.share(eta), self.link.rest(eta), self.link.slope(eta)
        probability = self.channel.likelihood(share, rest)
        height = float(self.people.mass @ np.log(probability))
        gradient = self.columns.T @ (self.people.mass * slope * self._difference / probability)
        kappa, change = self.channel.curvature(share, rest)
        weight = self.people.mass * slope * slope * kappa
        information = self.columns.T @ (self.columns * weight[:, None])
        if self.jeffreys:
            sign, log_determinant = np.linalg.slogdet(information)
            if sign <= 0:
                return Point(at, -np.inf, gradient, information)
            height += log_determinant / 2
            leverage = weight * np.einsum("ij,ij->i", self.columns @ np.linalg.inv(information), self.columns)
            gradient += self.columns.T @ (leverage * (self.link.bend(eta) + slope * change / kappa / 2))
        return Point(at, height, gradient, information)

    def scores(self, at: Array) -> Array:
        """The gradient of each person's log-likelihood, times the person's weight: one row a person."""
        return np.asarray(self.columns * (self._weights * self._lean(at))[:, None])

    def observed(self, at: Array) -> Array:
        """Minus the Hessian of the log-likelihood."""
        lean = self._lean(at)
        curved = self.people.mass * lean * (lean - self.link.bend(self.columns @ at))
        return np.asarray(self.columns.T @ (self.columns * curved[:, None]))

    def randomization(self, at: Array, share: Array) -> Array:
        """The variance of the scores' sum given the truths, of the chances that this fit gives them; each
        person counted with a share.
        """
        eta = self.columns @ at
        yes, no = self.link.share(eta), self.link.rest(eta)
        spread = np.zeros_like(eta)
        for rows, matrix in self.channel.parts():
            chance = matrix[0][:, None] * no[rows] + matrix[1][:, None] * yes[rows]
            lean = (matrix[1] - matrix[0])[:, None] / np.maximum(chance, 1e-150)
            for truth, given in ((no, matrix[0]), (yes, matrix[1])):
                spread[rows] += truth[rows] * (given @ lean**2 - (given @ lean) ** 2)
        weight = share * (self._weights * self.link.slope(eta)) ** 2 * spread
        return np.asarray(self.columns.T @ (self.columns * weight[:, None]))

    @property
    def _weights(self) -> Array:
        return np.ones(1) if self.people.weights is None else self.people.weights

    def _lean(self, at: Array) -> Array:
        """The derivative of a person's log-likelihood by the linear predictor."""
        eta = self.columns @ at
        probability = self.channel.likelihood(self.link.share(eta), self.link.rest(eta))
        return np.asarray(self.link.slope(eta) * self._difference / probability)
