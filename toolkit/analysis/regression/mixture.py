"""The likelihood of an outcome and of reports, summed over the truths that could be behind them.

l_i = sum over cells c of Pr(c | z_i) Pr(reports_i | c) f(outcome_i | x_i, c): given the truths, reports and
outcome are independent.
"""

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from toolkit.analysis.regression.multinomial import option_shares
from toolkit.analysis.regression.rows import People
from toolkit.analysis.regression.scoring import Point
from toolkit.core.arrays import Array
from toolkit.core.checks import refuse
from toolkit.core.inference.special import expit


class OutcomeLaw(Protocol):
    """A law of the outcome given the linear predictor, with `extra` more parameters; `told` : what one outcome is
    expected to tell about each of them.

    For each person: the log-density, its derivatives by the linear predictor and by the extra parameters, and minus the
    second derivatives of both: by the predictor twice, by both, and by the extra parameter twice.
    """

    extra: int
    told: Array

    def log_density(self, outcome: Array, eta: Array, more: Array) -> Array: ...

    def leans(self, outcome: Array, eta: Array, more: Array) -> tuple[Array, Array]: ...

    def bends(self, outcome: Array, eta: Array, more: Array) -> tuple[Array, Array, Array]: ...


class NormalOutcome:
    """Normal errors of one spread; the extra parameter is the logarithm of their standard deviation."""

    extra = 1
    told = np.array([2.0])

    def log_density(self, outcome: Array, eta: Array, more: Array) -> Array:
        error = (outcome - eta) * np.exp(-more[0])
        return np.asarray(-(error**2) / 2 - more[0] - np.log(2 * np.pi) / 2)

    def leans(self, outcome: Array, eta: Array, more: Array) -> tuple[Array, Array]:
        error = (outcome - eta) * np.exp(-more[0])
        return error * np.exp(-more[0]), (error**2 - 1)[:, None]

    def bends(self, outcome: Array, eta: Array, more: Array) -> tuple[Array, Array, Array]:
        error, precision = (outcome - eta) * np.exp(-more[0]), np.exp(-2 * more[0])
        flat = np.full(len(eta), precision)
        return flat, (2 * error * np.exp(-more[0]))[:, None], (2 * error**2)[:, None]


class BinaryOutcome:
    """Yes or no, with the logit link."""

    extra = 0
    told = np.empty(0)

    def log_density(self, outcome: Array, eta: Array, _more: Array) -> Array:
        return np.asarray(outcome * eta - np.logaddexp(0, eta))

    def leans(self, outcome: Array, eta: Array, more: Array) -> tuple[Array, Array]:
        return outcome - expit(eta), np.empty((len(eta), len(more)))

    def bends(self, _outcome: Array, eta: Array, more: Array) -> tuple[Array, Array, Array]:
        nothing = np.empty((len(eta), len(more)))
        return expit(eta) * expit(-eta), nothing, nothing


FAMILIES: dict[str, OutcomeLaw] = {"linear": NormalOutcome(), "logistic": BinaryOutcome()}


def checked_outcome(values: Array, family: str) -> Array:
    """Outcomes that the family can have; a constant one has nothing to explain."""
    if np.all(values == values[0]):
        refuse("the outcome must vary", "one value", "there is nothing to explain")
    if family == "logistic" and not np.isin(values, (0, 1)).all():
        refuse("the outcome of family='logistic' must be 0 or 1", "other values", "it says yes or no")
    return values


@dataclass(frozen=True, eq=False)
class MixtureModel:
    """Coefficients stand in this order: of the outcome, its extra parameter, of the truths cell by cell.

    `columns` : for each cell of truths the covariates of the outcome, if it were true. `seen` : Pr(the reports that
    were seen | cell), one row per cell. `newton` : steps by the observed information, where that is positive definite.
    """

    columns: Array
    truths: Array
    seen: Array
    outcome: Array
    law: OutcomeLaw
    people: People
    newton: bool = False

    @property
    def cells(self) -> int:
        return len(self.seen)

    @property
    def width(self) -> int:
        return int(self.columns.shape[2]) + self.law.extra + (self.cells - 1) * int(self.truths.shape[1])

    def parts(self, at: Array) -> tuple[Array, Array, Array]:
        """Coefficients of the outcome, its extra parameter, and those of the truths."""
        first = self.columns.shape[2]
        return at[:first], at[first : first + self.law.extra], at[first + self.law.extra :]

    def shares(self, at: Array) -> Array:
        """Pr(cell) before reports and outcome are seen."""
        return option_shares(self.truths, self.parts(at)[2], self.cells)

    def behind(self, at: Array) -> tuple[Array, Array]:
        """Pr(cell | all that was seen) for each person, and the logarithm of the likelihood."""
        beta, more, _ = self.parts(at)
        with np.errstate(divide="ignore"):  # a report that a cell cannot send
            joint = np.log(self.shares(at) * self.seen)
        joint = joint + np.array([self.law.log_density(self.outcome, x @ beta, more) for x in self.columns])
        total = np.logaddexp.reduce(joint, axis=0)
        return np.exp(joint - total), total

    def point(self, at: Array) -> Point:
        """Height and gradient; the information of complete data, which EM climbs by, or the observed one."""
        behind, total = self.behind(at)
        gradient = self.people.mass @ self._scores(at, behind)
        information = self._complete(at, behind, expected=True)
        if self.newton:
            observed = self._complete(at, behind) - self._lost(at, behind)
            if np.linalg.eigvalsh(observed)[0] > 0:
                information = observed
        return Point(at, float(self.people.mass @ total), gradient, information)

    def scores(self, at: Array) -> Array:
        """The gradient of each person's log-likelihood, times the person's weight."""
        scores = self._scores(at, self.behind(at)[0])
        return scores if self.people.weights is None else scores * self.people.weights[:, None]

    def observed(self, at: Array) -> Array:
        """Minus the Hessian: the information of complete data, less what not knowing the truths loses."""
        behind, _ = self.behind(at)
        return self._complete(at, behind) - self._lost(at, behind)

    def complete(self, at: Array) -> Array:
        """What all coefficients but the extra one would be told if the truths were seen, in units of that parameter."""
        beta, more, _ = self.parts(at)
        shares, first = self.shares(at), len(beta)
        last = self._truth_information(shares)
        information = np.zeros((first + len(last),) * 2)
        for x, share in zip(self.columns, shares, strict=True):
            weight = self.people.mass * share * self.law.bends(self.outcome, x @ beta, 0 * more)[0]
            information[:first, :first] += x.T @ (x * weight[:, None])
        information[first:, first:] = last
        return information

    def _cell_score(self, at: Array, cell: int, shares: Array) -> Array:
        """The gradient of each person's complete log-likelihood, if this cell were the truth."""
        beta, more, _ = self.parts(at)
        lean, extra = self.law.leans(self.outcome, self.columns[cell] @ beta, more)
        truths = [((cell == other) - shares[other])[:, None] * self.truths for other in range(1, self.cells)]
        return np.concatenate([lean[:, None] * self.columns[cell], extra, *truths], axis=1)

    def _scores(self, at: Array, behind: Array) -> Array:
        shares = self.shares(at)
        scores = np.zeros((len(self.outcome), self.width))
        for cell, chance in enumerate(behind):
            scores += chance[:, None] * self._cell_score(at, cell, shares)
        return scores

    def _lost(self, at: Array, behind: Array) -> Array:
        """The variance of the complete score given what was seen, summed over people."""
        shares, mass = self.shares(at), self.people.mass
        mean = self._scores(at, behind)
        information = -(mean.T @ (mean * mass[:, None]))
        for cell, chance in enumerate(behind):
            score = self._cell_score(at, cell, shares)
            information += score.T @ (score * (mass * chance)[:, None])
        return np.asarray(information)

    def _complete(self, at: Array, behind: Array, expected: bool = False) -> Array:
        """Minus the Hessian if truths were seen, averaged over cells; or its mean over outcomes, always definite."""
        beta, more, _ = self.parts(at)
        first, last = self.columns.shape[2], self.columns.shape[2] + self.law.extra
        information = np.zeros((self.width, self.width))
        for cell, chance in enumerate(behind):
            x, weight = self.columns[cell], self.people.mass * chance
            twice, mixed, extra = self.law.bends(self.outcome, x @ beta, more)
            information[:first, :first] += x.T @ (x * (weight * twice)[:, None])
            if not expected:
                information[:first, first:last] += x.T @ (weight[:, None] * mixed)
                information[first:last, first:last] += np.diag(weight @ extra)
        if expected:
            information[first:last, first:last] = np.diag(self.people.mass.sum() * self.law.told)
        information[first:last, :first] = information[:first, first:last].T
        information[last:, last:] = self._truth_information(self.shares(at))
        return information

    def _truth_information(self, shares: Array) -> Array:
        count, width = self.cells - 1, self.truths.shape[1]
        blocks = np.empty((count, width, count, width))
        for s in range(count):
            for t in range(count):
                weight = self.people.mass * shares[s + 1] * ((s == t) - shares[t + 1])
                blocks[s, :, t] = self.truths.T @ (self.truths * weight[:, None])
        return blocks.reshape(count * width, count * width)
