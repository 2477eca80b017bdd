"""Coded responses whose distribution depends on several linear predictors: log-likelihood, score, information.

The distribution is any function from the linear predictors to the probabilities of the responses and their derivatives.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol, Self

import numpy as np

from toolkit.analysis.regression.rows import Codes, People
from toolkit.analysis.regression.scoring import Evaluation, negative_hessian
from toolkit.core.arrays import Array

Distribution = Callable[[Array], tuple[Array, Array]]
"""From linear predictors (predictor, person) to the probabilities of the responses (person, response), with their
derivatives (predictor, person, response)."""

_TINY = 1e-300
# Step of the linear predictors in differences of each person's information, which has almost no rounding error.
_STEP = 1e-4


class Auxiliary(Protocol):
    """Facts from outside of the responses, as differences with mean zero that have this covariance.

    `given_variance` is the part of their variances that is not due to the sampling of these people.
    `differences` returns them with their derivatives by the linear predictors (difference, predictor, person).
    `contributions` returns what each person adds to them (person, difference), and `with_sampling_variance` the same
    facts with the covariance that follows from these linear predictors.
    """

    @property
    def covariance(self) -> Array: ...

    @property
    def given_variance(self) -> Array: ...

    def differences(self, eta: Array, people: People) -> tuple[Array, Array]: ...

    def contributions(self, eta: Array, people: People) -> Array: ...

    def with_sampling_variance(self, eta: Array, people: People) -> Self: ...


@dataclass(frozen=True, eq=False)
class ResponseModel:
    """The log-likelihood of responses under a distribution.

    `columns` holds the covariates of each linear predictor, one row per person, and `responses` the coded responses.
    `with_jeffreys` adds half the log determinant of the expected information, and `auxiliary` the log density of normal
    differences, without its constant.
    """

    distribution: Distribution
    columns: tuple[Array, ...]
    responses: Codes
    people: People
    with_jeffreys: bool = False
    auxiliary: Auxiliary | None = None

    def predictors(self, params: Array) -> Array:
        """Return the linear predictors at these coefficients: (predictor, person)."""
        return linear_predictors(self.columns, params)

    def evaluate(self, params: Array) -> Evaluation:
        """Return log-likelihood, score and expected information at these coefficients."""
        eta = self.predictors(params)
        law, slopes = self.distribution(eta)
        loglike = float(self.people.row_weights @ np.log(np.maximum(self._at_responses(law), _TINY)))
        information, score = self._information(_information_weights(law, slopes)), self._score(law, slopes)
        if self.with_jeffreys:
            sign, log_determinant = np.linalg.slogdet(information)
            if sign <= 0:
                return Evaluation(params, -np.inf, score, information)
            loglike, score = loglike + float(log_determinant) / 2, score + self._penalty_score(eta, information)
        if self.auxiliary is not None:
            differences, gradient = self.differences(params)
            scaled = np.linalg.solve(self.auxiliary.covariance, np.column_stack([differences, gradient]))
            loglike, score = loglike - float(differences @ scaled[:, 0]) / 2, score - gradient.T @ scaled[:, 0]
            information = information + gradient.T @ scaled[:, 1:]
        return Evaluation(params, loglike, score, information)

    def differences(self, params: Array) -> tuple[Array, Array]:
        """Return the auxiliary differences, and their derivatives with respect to the coefficients."""
        if self.auxiliary is None:
            return np.empty(0), np.empty((0, len(params)))
        differences, slopes = self.auxiliary.differences(self.predictors(params), self.people)
        gradient = [
            np.concatenate([x.T @ slope for x, slope in zip(self.columns, rows, strict=True)]) for rows in slopes
        ]
        return differences, np.array(gradient)

    def scores(self, params: Array) -> Array:
        """Return each person's score times the person's weight: one row per person."""
        factors = self._score_factors(*self.distribution(self.predictors(params)))
        if self.people.weights is not None:
            factors = factors * self.people.weights
        scores = np.column_stack([x * factor[:, None] for x, factor in zip(self.columns, factors, strict=True)])
        if self.auxiliary is None:
            return scores
        contributions = self.auxiliary.contributions(self.predictors(params), self.people)
        _, gradient = self.differences(params)
        return np.asarray(scores - contributions @ np.linalg.solve(self.auxiliary.covariance, gradient))

    def observed_information(self, params: Array) -> Array:
        """Return minus the Hessian of the log-likelihood, with its penalty, by differences of the score."""
        if self.with_jeffreys or self.auxiliary is not None:
            return negative_hessian(lambda near: self.evaluate(near).score, params)
        return negative_hessian(lambda near: self._score(*self.distribution(self.predictors(near))), params)

    def _information(self, weights: Array) -> Array:
        """Return the sum over people of weights[a, b] x_a x_b', as one matrix with a block per pair of predictors."""
        weights = weights * self.people.row_weights
        blocks = [
            [x.T @ (z * weights[a, b][:, None]) for b, z in enumerate(self.columns)] for a, x in enumerate(self.columns)
        ]
        return np.asarray(np.block(blocks))

    def _score(self, law: Array, slopes: Array) -> Array:
        return self._weighted_sums(self._score_factors(law, slopes))

    def _penalty_score(self, eta: Array, information: Array) -> Array:
        """Return the gradient of half the log determinant of the information.

        Its derivative is half the trace of the inverse times the derivative of the information. The information depends
        on a coefficient only through a linear predictor, so differences along predictors suffice.
        """
        ends = np.cumsum([x.shape[1] for x in self.columns])[:-1]
        blocks = [np.split(rows, ends, axis=1) for rows in np.split(np.linalg.inv(information), ends)]
        leverage = np.array(
            [
                [np.einsum("ij,ij->i", x @ blocks[a][b], z) for b, z in enumerate(self.columns)]
                for a, x in enumerate(self.columns)
            ]
        )

        def trace(near: Array) -> Array:
            return np.asarray(np.einsum("abi,abi->i", leverage, _information_weights(*self.distribution(near))))

        steps = _STEP * np.eye(len(eta))[:, :, None]
        factors = [(trace(eta + step) - trace(eta - step)) / (4 * _STEP) for step in steps]
        return self._weighted_sums(np.array(factors))

    def _weighted_sums(self, factors: Array) -> Array:
        """Return the sums over people of each predictor's covariates times a factor (predictor, person)."""
        return np.concatenate(
            [x.T @ factor for x, factor in zip(self.columns, factors * self.people.row_weights, strict=True)]
        )

    def _at_responses(self, table: Array) -> Array:
        return np.asarray(np.take_along_axis(table, self.responses[:, None], axis=1)[:, 0])

    def _score_factors(self, law: Array, slopes: Array) -> Array:
        """Return the derivatives of each person's log-likelihood with respect to the linear predictors."""
        likelihood = np.maximum(self._at_responses(law), _TINY)
        return np.array([self._at_responses(slope) / likelihood for slope in slopes])


def linear_predictors(columns: Sequence[Array], params: Array) -> Array:
    ends = np.cumsum([x.shape[1] for x in columns])
    return np.array([x @ b for x, b in zip(columns, np.split(params, ends[:-1]), strict=True)])


def _information_weights(law: Array, slopes: Array) -> Array:
    """Return each person's expected information about the linear predictors: (predictor, predictor, person)."""
    return np.asarray(np.einsum("aij,bij->abi", slopes, slopes / np.maximum(law, 1e-12)))


def block_diagonal(blocks: Sequence[Array]) -> Array:
    """Return the matrix with these square blocks on its diagonal."""
    ends = np.cumsum([len(block) for block in blocks])
    matrix = np.zeros((ends[-1], ends[-1]))
    for block, end in zip(blocks, ends, strict=True):
        matrix[end - len(block) : end, end - len(block) : end] = block
    return matrix
