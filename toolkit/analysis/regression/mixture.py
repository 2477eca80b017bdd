"""The likelihood of an outcome and randomized reports, summed over the possible truths.

l_i = sum over cells c of Pr(c | z_i) Pr(reports_i | c) f(outcome_i | x_i, c): given the truths, reports and
outcome are independent.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Protocol, cast

import numpy as np

from toolkit.analysis.regression.multinomial import option_shares
from toolkit.analysis.regression.responses import block_diagonal
from toolkit.analysis.regression.rows import Codes, People
from toolkit.analysis.regression.scoring import Evaluation
from toolkit.core.arrays import Array
from toolkit.core.checks import reject
from toolkit.core.inference.special import expit

# Number of rows whose arrays, with a column for each parameter, stay in the processor's cache.
_BLOCK = 4096


class OutcomeLaw(Protocol):
    """The distribution of an outcome given its linear predictor and `n_nuisance` nuisance parameters.

    `expected_information` is the expected information of one outcome about each nuisance parameter. For each person,
    `log_density` returns the log-density, and `score` its derivatives with respect to the linear predictor and the
    nuisance parameters. `negative_hessian` returns minus the second derivatives: with respect to the predictor, mixed,
    and with respect to the nuisance parameters.
    """

    n_nuisance: int
    expected_information: Array

    def log_density(self, outcome: Array, eta: Array, nuisance: Array) -> Array: ...

    def score(self, outcome: Array, eta: Array, nuisance: Array) -> tuple[Array, Array]: ...

    def negative_hessian(self, outcome: Array, eta: Array, nuisance: Array) -> tuple[Array, Array, Array]: ...


class NormalOutcome:
    """Normal errors; the nuisance parameter is the logarithm of their standard deviation."""

    n_nuisance = 1
    expected_information = np.array([2.0])

    def log_density(self, outcome: Array, eta: Array, nuisance: Array) -> Array:
        error = (outcome - eta) * np.exp(-nuisance[0])
        return np.asarray(-(error**2) / 2 - nuisance[0] - np.log(2 * np.pi) / 2)

    def score(self, outcome: Array, eta: Array, nuisance: Array) -> tuple[Array, Array]:
        error = (outcome - eta) * np.exp(-nuisance[0])
        return error * np.exp(-nuisance[0]), (error**2 - 1)[:, None]

    def negative_hessian(self, outcome: Array, eta: Array, nuisance: Array) -> tuple[Array, Array, Array]:
        error, precision = (outcome - eta) * np.exp(-nuisance[0]), np.exp(-2 * nuisance[0])
        return np.full(len(eta), precision), (2 * error * np.exp(-nuisance[0]))[:, None], (2 * error**2)[:, None]


class BinaryOutcome:
    """A binary outcome with the logit link."""

    n_nuisance = 0
    expected_information = np.empty(0)

    def log_density(self, outcome: Array, eta: Array, _nuisance: Array) -> Array:
        return np.asarray(outcome * eta - np.logaddexp(0, eta))

    def score(self, outcome: Array, eta: Array, nuisance: Array) -> tuple[Array, Array]:
        return outcome - expit(eta), np.empty((len(eta), len(nuisance)))

    def negative_hessian(self, _outcome: Array, eta: Array, nuisance: Array) -> tuple[Array, Array, Array]:
        empty = np.empty((len(eta), len(nuisance)))
        return expit(eta) * expit(-eta), empty, empty


FAMILIES: dict[str, OutcomeLaw] = {"linear": NormalOutcome(), "logistic": BinaryOutcome()}


def checked_outcome(values: Array, family: str) -> Array:
    """Return the outcomes after checking that the family allows them and that they vary."""
    if np.all(values == values[0]):
        reject("the outcome must vary", "one value", "there is nothing to explain")
    if family == "logistic" and not np.isin(values, (0, 1)).all():
        reject(
            "the outcome of family='logistic' must be 0 or 1",
            "other values",
            "recode it as 0 and 1, or use family='linear'",
        )
    return values


@dataclass(frozen=True, eq=False)
class MixtureModel:
    """The log-likelihood of outcomes and reports; a cell is a combination of possible truths.

    The parameters are the coefficients of the outcome, its nuisance parameters, then the coefficients of the truths,
    cell by cell.

    `outcome_covariates` holds, for each cell, the covariates of the outcome if that cell is the truth.
    `report_likelihood` is Pr(observed reports | cell), one row per cell. `with_newton` takes Newton steps
    with the observed information where it is positive definite.
    """

    outcome_covariates: Array
    truth_covariates: Array
    report_likelihood: Array
    outcome: Array
    law: OutcomeLaw
    people: People
    with_newton: bool = False

    @property
    def n_cells(self) -> int:
        return len(self.report_likelihood)

    @property
    def n_truths(self) -> int:
        """The number of combinations of truths."""
        return self.n_cells

    @property
    def n_parameters(self) -> int:
        return (
            int(self.outcome_covariates.shape[2])
            + self.law.n_nuisance
            + (self.n_truths - 1) * int(self.truth_covariates.shape[1])
        )

    def split_parameters(self, params: Array) -> tuple[Array, Array, Array]:
        """Split the parameters: coefficients of the outcome, nuisance parameters, coefficients of the truths."""
        first = self.outcome_covariates.shape[2]
        return (params[:first], params[first : first + self.law.n_nuisance], params[first + self.law.n_nuisance :])

    def truth_shares(self, params: Array) -> Array:
        """Return the prior probability of each combination of truths: one row each, one column per person."""
        return option_shares(self.truth_covariates, self.split_parameters(params)[2], self.n_truths)

    def shares(self, params: Array) -> Array:
        """Return the prior Pr(cell | covariates): one row per cell, one column per person."""
        return self.truth_shares(params)

    def posterior(self, params: Array) -> tuple[Array, Array]:
        """Return Pr(cell | reports, outcome) for each person, and each person's log-likelihood."""
        return self._posterior(params, self.shares(params))

    def _posterior(self, params: Array, shares: Array) -> tuple[Array, Array]:
        beta, nuisance, _ = self.split_parameters(params)
        with np.errstate(divide="ignore"):  # a report may be impossible in a cell
            joint = np.log(shares * self.report_likelihood)
        joint = joint + np.array(
            [self.law.log_density(self.outcome, x @ beta, nuisance) for x in self.outcome_covariates]
        )
        total = np.logaddexp.reduce(joint, axis=0)
        return np.exp(joint - total), total

    @cached_property
    def _blocks(self) -> "list[MixtureModel]":
        """The likelihoods of consecutive rows, whose arrays stay in the processor's cache."""
        return [self.of_rows(slice(first, first + _BLOCK)) for first in range(0, len(self.outcome), _BLOCK)]

    def of_rows(self, rows: slice | Codes) -> "MixtureModel":
        """Return the likelihood of some rows, with their weights; sums over people do not need strata and clusters."""
        row_weights = self.people.row_weights[rows]
        return replace(
            self,
            outcome_covariates=self.outcome_covariates[:, rows],
            truth_covariates=self.truth_covariates[rows],
            report_likelihood=self.report_likelihood[:, rows],
            outcome=self.outcome[rows],
            people=People(len(row_weights), times=row_weights),
        )

    def evaluate(self, params: Array) -> Evaluation:
        """Return log-likelihood and score, with the complete-data information of EM or the observed information."""
        for is_observed in (True, False) if self.with_newton else (False,):
            loglike, gradient, information = _added(block._sums(params, is_observed) for block in self._blocks)
            if not is_observed or np.linalg.eigvalsh(information)[0] > 0:
                break
        return Evaluation(params, float(loglike), gradient, information)

    def _sums(self, params: Array, is_observed: bool) -> tuple[float, Array, Array]:
        """Return log-likelihood, score, and the observed or the expected complete-data information.

        The observed information is the complete-data information minus the missing information (Louis 1982).
        """
        shares, row_weights = self.shares(params), self.people.row_weights
        (posterior, total), truths = self._posterior(params, shares), self._truth_information(shares)
        scores = [self._cell_score(params, cell, shares) for cell in range(self.n_cells)]
        mean = _averages(posterior, scores)
        information = self._complete_information(params, posterior, truths, is_expected=not is_observed)
        if is_observed:
            information = information - self._missing_information(posterior, scores, mean)
        return float(row_weights @ total), row_weights @ mean, information

    def scores(self, params: Array) -> Array:
        """Return each person's score times the person's weight."""
        shares = self.shares(params)
        cell_scores = [self._cell_score(params, cell, shares) for cell in range(self.n_cells)]
        scores = _averages(self._posterior(params, shares)[0], cell_scores)
        return scores if self.people.weights is None else scores * self.people.weights[:, None]

    def observed_information(self, params: Array) -> Array:
        """Return the observed information."""
        *_, information = _added(block._sums(params, True) for block in self._blocks)
        return np.asarray(information)

    def complete_information(self, params: Array) -> Array:
        """Return the information on the coefficients if the truths were observed, with nuisance parameters at 0."""
        beta, nuisance, _ = self.split_parameters(params)
        shares, first = self.shares(params), len(beta)
        last = self._truth_information(shares)
        information = np.zeros((first + len(last),) * 2)
        for x, share in zip(self.outcome_covariates, shares, strict=True):
            weight = (
                self.people.row_weights * share * self.law.negative_hessian(self.outcome, x @ beta, 0 * nuisance)[0]
            )
            information[:first, :first] += x.T @ (x * weight[:, None])
        information[first:, first:] = last
        return information

    def _cell_score(self, params: Array, cell: int, shares: Array) -> Array:
        """Return each person's complete-data score, given that this cell is the truth."""
        beta, nuisance, _ = self.split_parameters(params)
        factor, by_nuisance = self.law.score(self.outcome, self.outcome_covariates[cell] @ beta, nuisance)
        truths = [
            ((cell == other) - shares[other])[:, None] * self.truth_covariates for other in range(1, self.n_truths)
        ]
        return np.concatenate([factor[:, None] * self.outcome_covariates[cell], by_nuisance, *truths], axis=1)

    def _missing_information(self, posterior: Array, scores: Sequence[Array], mean: Array) -> Array:
        """Return the variance of the complete-data score given reports and outcome, summed over people."""
        row_weights = self.people.row_weights
        information = -(mean.T @ (mean * row_weights[:, None]))
        for probability, score in zip(posterior, scores, strict=True):
            information += score.T @ (score * (row_weights * probability)[:, None])
        return np.asarray(information)

    def _complete_information(self, params: Array, posterior: Array, truths: Array, is_expected: bool) -> Array:
        """Return the complete-data information averaged over cells and, if `is_expected`, over outcomes as well.

        `truths` is the information on the coefficients of the truths.
        """
        beta, nuisance, _ = self.split_parameters(params)
        first, last = self.outcome_covariates.shape[2], self.outcome_covariates.shape[2] + self.law.n_nuisance
        information = np.zeros((self.n_parameters, self.n_parameters))
        for cell, probability in enumerate(posterior):
            x, weight = self.outcome_covariates[cell], self.people.row_weights * probability
            by_predictor, mixed, by_nuisance = self.law.negative_hessian(self.outcome, x @ beta, nuisance)
            information[:first, :first] += x.T @ (x * (weight * by_predictor)[:, None])
            if not is_expected:
                information[:first, first:last] += x.T @ (weight[:, None] * mixed)
                information[first:last, first:last] += np.diag(weight @ by_nuisance)
        if is_expected:
            information[first:last, first:last] = np.diag(self.people.row_weights.sum() * self.law.expected_information)
        information[first:last, :first] = information[:first, first:last].T
        information[last:, last:] = truths
        return information

    def _truth_information(self, shares: Array) -> Array:
        count, width = self.n_truths - 1, self.truth_covariates.shape[1]
        blocks = np.empty((count, width, count, width))
        for s in range(count):
            for t in range(count):
                weight = self.people.row_weights * shares[s + 1] * ((s == t) - shares[t + 1])
                blocks[s, :, t] = self.truth_covariates.T @ (self.truth_covariates * weight[:, None])
        return blocks.reshape(count * width, count * width)


def _averages(posterior: Array, scores: Sequence[Array]) -> Array:
    """Return the average of each person's scores over the cells."""
    total = np.zeros_like(scores[0])
    for probability, score in zip(posterior, scores, strict=True):
        total += probability[:, None] * score
    return total


def _added(sums: Iterable[tuple[Any, ...]]) -> tuple[Any, ...]:
    """Add up the sums of all blocks."""
    return tuple(sum(values) for values in zip(*sums, strict=True))


@dataclass(frozen=True, eq=False, kw_only=True)
class AnchoredMixture(MixtureModel):
    """A mixture over truths and attention, which an anchor question reveals.

    The first half of the cells are the combinations of truths of people who follow the instructions, the second half
    are those of all others. The last parameters are the coefficients of attention, the log odds of the first half.
    """

    attention_covariates: Array

    def of_rows(self, rows: slice | Codes) -> "AnchoredMixture":
        block = cast("AnchoredMixture", super().of_rows(rows))
        return replace(block, attention_covariates=self.attention_covariates[rows])

    @property
    def n_truths(self) -> int:
        return self.n_cells // 2

    @property
    def n_parameters(self) -> int:
        return super().n_parameters + int(self.attention_covariates.shape[1])

    def split_parameters(self, params: Array) -> tuple[Array, Array, Array]:
        return super().split_parameters(params[: -self.attention_covariates.shape[1]])

    def attention_parameters(self, params: Array) -> Array:
        """Return the coefficients of attention."""
        return params[-self.attention_covariates.shape[1] :]

    def shares(self, params: Array) -> Array:
        truths, eta = self.truth_shares(params), self.attention_covariates @ self.attention_parameters(params)
        return np.concatenate([truths * expit(eta), truths * expit(-eta)])

    def _cell_score(self, params: Array, cell: int, shares: Array) -> Array:
        attentive, others = shares[: self.n_truths], shares[self.n_truths :]
        of_truth = super()._cell_score(params, cell % self.n_truths, attentive + others)
        residual = (cell < self.n_truths) - attentive.sum(axis=0)
        return np.concatenate([of_truth, residual[:, None] * self.attention_covariates], axis=1)

    def _truth_information(self, shares: Array) -> Array:
        attentive, others = shares[: self.n_truths], shares[self.n_truths :]
        weight = self.people.row_weights * attentive.sum(axis=0) * others.sum(axis=0)
        of_attention = self.attention_covariates.T @ (self.attention_covariates * weight[:, None])
        return block_diagonal([super()._truth_information(attentive + others), of_attention])
