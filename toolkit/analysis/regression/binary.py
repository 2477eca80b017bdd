"""The likelihood of yes/no truths behind randomized reports, as a function of coefficients.

Of a person with linear predictor eta the truth is yes with probability g(eta), and the report y has
probability P[no, y] (1 - g) + P[yes, y] g.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from toolkit.analysis.regression.links import Link
from toolkit.analysis.regression.reading.channel import Channel
from toolkit.analysis.regression.reading.people import People
from toolkit.analysis.regression.scoring import Point
from toolkit.core.arrays import Array


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
