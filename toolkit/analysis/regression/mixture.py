"""The likelihood of an outcome and of reports, summed over the possible truths.

l_i = sum over cells c of Pr(c | z_i) Pr(reports_i | c) f(outcome_i | x_i, c): given the truths, reports and
outcome are independent.
"""

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from toolkit.analysis.regression.multinomial import option_shares
from toolkit.analysis.regression.rows import People
from toolkit.analysis.regression.scoring import Evaluation
from toolkit.core.arrays import Array
from toolkit.core.checks import reject
from toolkit.core.inference.special import expit


class OutcomeLaw(Protocol):
    """The law of an outcome given its linear predictor and `nuisance_count` nuisance parameters.

    `expected_information` is the expected information of one outcome on each nuisance parameter. For each person the
    methods return the log-density; its derivatives with respect to the linear predictor and the nuisance parameters;
    and minus the second derivatives: with respect to the predictor, to both, and to the nuisance parameters.
    """

    nuisance_count: int
    expected_information: Array

    def log_density(self, outcome: Array, eta: Array, nuisance: Array) -> Array: ...

    def score(self, outcome: Array, eta: Array, nuisance: Array) -> tuple[Array, Array]: ...

    def negative_hessian(self, outcome: Array, eta: Array, nuisance: Array) -> tuple[Array, Array, Array]: ...


class NormalOutcome:
    """Normal errors; the nuisance parameter is the logarithm of their standard deviation."""

    nuisance_count = 1
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
    """Yes or no, with the logit link."""

    nuisance_count = 0
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
    """Return the outcomes, after a check that the family allows them and that they vary."""
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
    """Coefficients stand in this order: of the outcome, its extra parameter, of the truths cell by cell.

    `columns` : for each cell of truths the covariates of the outcome, if it were true. `seen` : Pr(the reports that
    were seen | cell), one row per cell. `newton` : steps by the observed information, where that is positive definite.
    """

    columns: Array
    truths: Array
    report_likelihood: Array
    outcome: Array
    law: OutcomeLaw
    people: People
    newton: bool = False

    @property
    def cells(self) -> int:
        return len(self.report_likelihood)

    @property
    def width(self) -> int:
        return int(self.columns.shape[2]) + self.law.nuisance_count + (self.cells - 1) * int(self.truths.shape[1])

    def split(self, params: Array) -> tuple[Array, Array, Array]:
        """Split the parameters: coefficients of the outcome, nuisance parameters, coefficients of the truths."""
        first = self.columns.shape[2]
        return (
            params[:first],
            params[first : first + self.law.nuisance_count],
            params[first + self.law.nuisance_count :],
        )

    def shares(self, params: Array) -> Array:
        """Return Pr(cell) before reports and outcome are observed."""
        return option_shares(self.truths, self.split(params)[2], self.cells)

    def posterior(self, params: Array) -> tuple[Array, Array]:
        """Return Pr(cell | reports, outcome) for each person, and each person's log-likelihood."""
        beta, nuisance, _ = self.split(params)
        with np.errstate(divide="ignore"):  # a report may be impossible in a cell
            joint = np.log(self.shares(params) * self.report_likelihood)
        joint = joint + np.array([self.law.log_density(self.outcome, x @ beta, nuisance) for x in self.columns])
        total = np.logaddexp.reduce(joint, axis=0)
        return np.exp(joint - total), total

    def evaluate(self, params: Array) -> Evaluation:
        """Return log-likelihood and score, with the complete-data information of EM, or the observed information."""
        posterior, total = self.posterior(params)
        gradient = self.people.row_weights @ self._scores(params, posterior)
        information = self._complete_information(params, posterior, expected=True)
        if self.newton:
            observed = self._complete_information(params, posterior) - self._missing_information(params, posterior)
            if np.linalg.eigvalsh(observed)[0] > 0:
                information = observed
        return Evaluation(params, float(self.people.row_weights @ total), gradient, information)

    def scores(self, params: Array) -> Array:
        """Return each person's score times the person's weight."""
        scores = self._scores(params, self.posterior(params)[0])
        return scores if self.people.weights is None else scores * self.people.weights[:, None]

    def observed(self, params: Array) -> Array:
        """Return the observed information: complete-data information minus missing information (Louis 1982)."""
        posterior, _ = self.posterior(params)
        return self._complete_information(params, posterior) - self._missing_information(params, posterior)

    def complete_information(self, params: Array) -> Array:
        """Return the information on the coefficients if the truths were observed, at nuisance parameters of 0."""
        beta, nuisance, _ = self.split(params)
        shares, first = self.shares(params), len(beta)
        last = self._truth_information(shares)
        information = np.zeros((first + len(last),) * 2)
        for x, share in zip(self.columns, shares, strict=True):
            weight = (
                self.people.row_weights * share * self.law.negative_hessian(self.outcome, x @ beta, 0 * nuisance)[0]
            )
            information[:first, :first] += x.T @ (x * weight[:, None])
        information[first:, first:] = last
        return information

    def _cell_score(self, params: Array, cell: int, shares: Array) -> Array:
        """Return each person's complete-data score if this cell were the truth."""
        beta, nuisance, _ = self.split(params)
        factor, by_nuisance = self.law.score(self.outcome, self.columns[cell] @ beta, nuisance)
        truths = [((cell == other) - shares[other])[:, None] * self.truths for other in range(1, self.cells)]
        return np.concatenate([factor[:, None] * self.columns[cell], by_nuisance, *truths], axis=1)

    def _scores(self, params: Array, posterior: Array) -> Array:
        shares = self.shares(params)
        scores = np.zeros((len(self.outcome), self.width))
        for cell, probability in enumerate(posterior):
            scores += probability[:, None] * self._cell_score(params, cell, shares)
        return scores

    def _missing_information(self, params: Array, posterior: Array) -> Array:
        """Return the variance of the complete-data score given reports and outcome, summed over people."""
        shares, row_weights = self.shares(params), self.people.row_weights
        mean = self._scores(params, posterior)
        information = -(mean.T @ (mean * row_weights[:, None]))
        for cell, probability in enumerate(posterior):
            score = self._cell_score(params, cell, shares)
            information += score.T @ (score * (row_weights * probability)[:, None])
        return np.asarray(information)

    def _complete_information(self, params: Array, posterior: Array, expected: bool = False) -> Array:
        """Return the complete-data information averaged over cells; `expected` takes its mean over outcomes as well."""
        beta, nuisance, _ = self.split(params)
        first, last = self.columns.shape[2], self.columns.shape[2] + self.law.nuisance_count
        information = np.zeros((self.width, self.width))
        for cell, probability in enumerate(posterior):
            x, weight = self.columns[cell], self.people.row_weights * probability
            twice, mixed, nuisance_count = self.law.negative_hessian(self.outcome, x @ beta, nuisance)
            information[:first, :first] += x.T @ (x * (weight * twice)[:, None])
            if not expected:
                information[:first, first:last] += x.T @ (weight[:, None] * mixed)
                information[first:last, first:last] += np.diag(weight @ nuisance_count)
        if expected:
            information[first:last, first:last] = np.diag(self.people.row_weights.sum() * self.law.expected_information)
        information[first:last, :first] = information[:first, first:last].T
        information[last:, last:] = self._truth_information(self.shares(params))
        return information

    def _truth_information(self, shares: Array) -> Array:
        count, width = self.cells - 1, self.truths.shape[1]
        blocks = np.empty((count, width, count, width))
        for s in range(count):
            for t in range(count):
                weight = self.people.row_weights * shares[s + 1] * ((s == t) - shares[t + 1])
                blocks[s, :, t] = self.truths.T @ (self.truths * weight[:, None])
        return blocks.reshape(count * width, count * width)
