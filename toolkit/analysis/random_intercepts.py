"""The likelihood of binary reports with one normal intercept per group, and its maximum."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from toolkit.analysis.regression.rows import Codes
from toolkit.analysis.regression.scoring import Evaluation, maximize, newton
from toolkit.core.arrays import Array
from toolkit.core.checks import reject
from toolkit.core.inference.special import expit

LEAST = 1e-150
# A smaller curvature at a mode is replaced by an upper bound, because the likelihood is not log-concave.
_FLATTEST = 0.1
# At or below this log standard deviation, the likelihood is flat.
LEAST_LOG_SD = -6.0
# Relative error of the log-likelihood by quadrature: the score is that of the exact integral, and may still be nonzero
# where the sum over nodes no longer rises.
QUADRATURE = 1e-7
# The number of nodes is doubled until the log-likelihood changes by less than this.
_FINE = 0.01
MOST_NODES = 127
# Number of rows whose arrays, with a column for each node, stay in the processor's cache.
_BLOCK = 4096


@dataclass(frozen=True, eq=False)
class GroupModel:
    """The likelihood with one normal intercept per group, by adaptive Gauss–Hermite quadrature.

    Rows are sorted by group; people with equal values share a row, and `times` counts them. `report_likelihood` is
    Pr(observed report | truth), one row per truth. `starts` holds the first row of each group, `weights` the weights of
    groups.
    """

    columns: Array
    report_likelihood: Array
    starts: Codes
    weights: Array
    nodes: int
    times: Array

    @property
    def row_weights(self) -> Array:
        return np.repeat(self.weights, self.sizes) * self.times

    @cached_property
    def _rule(self) -> tuple[Array, Array]:
        points, weights = np.polynomial.hermite.hermgauss(self.nodes)
        return points, np.log(weights) + points**2

    @cached_property
    def sizes(self) -> Codes:
        return np.diff(np.append(self.starts, len(self.columns)))

    @cached_property
    def _blocks(self) -> list["GroupModel"]:
        """The likelihoods of consecutive groups, in blocks of about `_BLOCK` rows."""
        block = (np.cumsum(self.sizes) - 1) // _BLOCK
        first = np.flatnonzero(np.diff(block, prepend=-1))
        rows = [*self.starts[first], len(self.columns)]
        return [
            replace(
                self,
                columns=self.columns[begin:end],
                report_likelihood=self.report_likelihood[:, begin:end],
                starts=starts - begin,
                weights=weights,
                times=self.times[begin:end],
            )
            for begin, end, starts, weights in zip(
                rows[:-1], rows[1:], np.split(self.starts, first[1:]), np.split(self.weights, first[1:]), strict=True
            )
        ]

    def log_derivatives(self, eta: Array) -> tuple[Array, Array, Array]:
        """Return each row's log-likelihood and its first two derivatives with respect to the linear predictor."""
        share = expit(eta)
        likelihood, score = self._likelihood(share), 1 - share
        # Computed in place, because these arrays have a row for each person and a column for each node.
        score *= share
        score *= self._by_person(self.report_likelihood[1] - self.report_likelihood[0], share)
        score /= likelihood
        share *= -2
        share += 1
        share -= score
        share *= score
        return np.log(likelihood, out=likelihood), score, share

    def _likelihood(self, share: Array) -> Array:
        """Return the probability of each row's report if the trait has this probability."""
        no, yes = self.report_likelihood
        likelihood = share * self._by_person(yes - no, share)
        likelihood += self._by_person(no, share)
        return np.maximum(likelihood, LEAST, out=likelihood)

    def _by_person(self, values: Array, like: Array) -> Array:
        """Return one value per row in a shape that broadcasts with an array that may have a column for each node."""
        return values if like.ndim == 1 else values[:, None]

    def group_sums(self, rows: Array) -> Array:
        """Sum over the people of each group."""
        return np.asarray(np.add.reduceat((rows.T * self.times).T, self.starts, axis=0))

    def modes(self, eta: Array, sd: float) -> tuple[Array, Array]:
        """Return the posterior mode of each group's intercept, in standard deviations, and the width of the peak."""
        u = np.zeros(len(self.starts))
        loglike, score, hessian = self._intercepts(eta, sd, u)
        for _ in range(60):
            step = (sd * self.group_sums(score) - u) / self._curvature(sd, score, hessian)
            if np.abs(step).max() < 1e-9:
                break
            for _ in range(20):
                higher, score, hessian = self._intercepts(eta, sd, u + step)
                worse = higher < loglike - 1e-12
                if not worse.any():
                    break
                step = np.where(worse, step / 2, step)
            u, loglike = u + step, higher
        return u, 1 / np.sqrt(self._curvature(sd, score, hessian))

    def _curvature(self, sd: float, score: Array, hessian: Array) -> Array:
        curvature = 1 - sd**2 * self.group_sums(hessian)
        return np.where(curvature < _FLATTEST, 1 + sd**2 * self.group_sums(score**2), curvature)

    def _intercepts(self, eta: Array, sd: float, u: Array) -> tuple[Array, Array, Array]:
        """Return each group's log-posterior at these intercepts, and the derivatives of each row."""
        log, score, hessian = self.log_derivatives(eta + sd * np.repeat(u, self.sizes))
        return self.group_sums(log) - u**2 / 2, score, hessian

    def integrate(self, params: Array) -> tuple[Array, Array, Array, Array, Array]:
        """Return each group's log-likelihood, nodes and posterior probabilities, and the derivatives at the nodes."""
        eta, nodes, width = self._nodes(params)
        log, score, hessian = self.log_derivatives(eta)
        return *self._integral(log, nodes, width), score, hessian

    def loglike(self, params: Array) -> float:
        """Return the log-likelihood."""
        total = 0.0
        for block in self._blocks:
            eta, nodes, width = block._nodes(params)
            loglikes, *_ = block._integral(np.log(block._likelihood(expit(eta))), nodes, width)
            total += float(block.weights @ loglikes)
        return total

    def _nodes(self, params: Array) -> tuple[Array, Array, Array]:
        """Return each row's linear predictors at the nodes, the nodes of each group, and the width of its peak."""
        eta, sd = self.columns @ params[:-1], float(np.exp(params[-1]))
        mode, width = self.modes(eta, sd)
        nodes = mode[:, None] + np.sqrt(2) * width[:, None] * self._rule[0]
        return eta[:, None] + sd * np.repeat(nodes, self.sizes, axis=0), nodes, width

    def _integral(self, log: Array, nodes: Array, width: Array) -> tuple[Array, Array, Array]:
        """Return each group's log-likelihood, the nodes, and their posterior probabilities."""
        log_terms = self.group_sums(log) - nodes**2 / 2 + self._rule[1]
        top = log_terms.max(axis=1, keepdims=True)  # factored out of the sum, which would otherwise underflow
        terms = np.exp(log_terms - top)
        total = terms.sum(axis=1, keepdims=True)
        return (top + np.log(total))[:, 0] + np.log(width) - np.log(np.pi) / 2, nodes, terms / total

    def group_scores(self, params: Array) -> tuple[Array, Array]:
        """Return each group's log-likelihood and its score, which is that of the exact integral."""
        if len(self._blocks) > 1:
            blocks = [block.group_scores(params) for block in self._blocks]
            return np.concatenate([loglikes for loglikes, _ in blocks]), np.concatenate(
                [scores for _, scores in blocks]
            )
        loglikes, nodes, posterior, score, _ = self.integrate(params)
        rows = (score * np.repeat(posterior, self.sizes, axis=0)).sum(axis=1)
        by_sd = float(np.exp(params[-1])) * (self.group_sums(score) * posterior * nodes).sum(axis=1)
        return loglikes, np.column_stack([self.group_sums(self.columns * rows[:, None]), by_sd])

    def evaluate(self, params: Array) -> Evaluation:
        """Return log-likelihood, score and observed information (Louis 1982) of all parameters."""
        if len(self._blocks) > 1:
            points = [block.evaluate(params) for block in self._blocks]
            sums = (sum(getattr(point, name) for point in points) for name in ("loglike", "score", "information"))
            return Evaluation(params, *sums)
        (loglikes, nodes, posterior, score, hessian), sd = self.integrate(params), float(np.exp(params[-1]))
        by_sd, width = sd * nodes, len(params)
        scores = np.empty((width, *nodes.shape))
        for index, column in enumerate(self.columns.T):
            scores[index] = self.group_sums(column[:, None] * score)
        scores[-1] = by_sd * self.group_sums(score)
        means = (scores * posterior).sum(axis=2).T
        weighted = posterior * self.weights[:, None]
        # The posterior variance of the scores, and the posterior mean of the second derivatives given the intercepts.
        deviations = (scores - means.T[:, :, None]).reshape(width, -1)
        total = (deviations * weighted.ravel()) @ deviations.T
        curvature = hessian * np.repeat(posterior, self.sizes, axis=0)
        mixed = (curvature * np.repeat(by_sd, self.sizes, axis=0)).sum(axis=1) * self.row_weights
        total[:-1, :-1] += self.columns.T @ (self.columns * (curvature.sum(axis=1) * self.row_weights)[:, None])
        total[:-1, -1] += self.columns.T @ mixed
        total[-1, :-1] = total[:-1, -1]
        total[-1, -1] += (weighted * by_sd * (by_sd * self.group_sums(hessian) + self.group_sums(score))).sum()
        return Evaluation(params, float(self.weights @ loglikes), self.weights @ means, -total)

    def evaluate_coefficients(self, params: Array, log_sd: float) -> Evaluation:
        """Return log-likelihood, score and observed information of the coefficients at this `log_sd`."""
        point = self.evaluate(np.append(params, log_sd))
        return Evaluation(params, point.loglike, point.score[:-1], point.information[:-1, :-1])


def distinct_rows(columns: Sequence[Array | Codes]) -> tuple[Codes, Array]:
    """Return the index of each distinct row, sorted by the columns, and its number of occurrences.

    With a million rows, `np.unique(axis=0)` takes several times as long.
    """
    order = np.lexsort(columns[::-1])
    is_new = np.ones(len(order), dtype=bool)
    is_new[1:] = np.any([column[order[1:]] != column[order[:-1]] for column in columns], axis=0)
    starts = np.flatnonzero(is_new)
    return order[starts], np.diff(np.append(starts, len(order))).astype(np.float64)


def maximum_without_groups(model: GroupModel) -> Evaluation:
    """Maximize at a standard deviation of 0, which is a logistic regression through the designs."""

    def evaluate(params: Array) -> Evaluation:
        eta, weights = model.columns @ params, model.row_weights
        (log, score, _), share = model.log_derivatives(eta), expit(eta)
        # The truths carry more information than the reports, so steps are short and safe.
        weight = weights * share * (1 - share) * (model.report_likelihood[1] - model.report_likelihood[0]) ** 2
        expected = model.columns.T @ (model.columns * (weight + 1e-12)[:, None])
        return Evaluation(params, float(weights @ log), model.columns.T @ (weights * score), expected)

    def observed_information(point: Evaluation) -> Array:
        _, _, hessian = model.log_derivatives(model.columns @ point.params)
        return np.asarray(-model.columns.T @ (model.columns * (model.row_weights * hessian)[:, None]))

    ascent = maximize(evaluate, np.zeros(model.columns.shape[1]), max_steps=8)
    point, _ = newton(evaluate, ascent.point, information=observed_information)
    return point


def maximum(model: GroupModel, plain: Evaluation) -> tuple[GroupModel, Evaluation]:
    """Return the maximum, and the model with enough nodes for it.

    If groups differ strongly, the likelihood of a group with randomized answers is one-sided, and with few nodes the
    log-likelihood does not match its score.
    """
    point = model.evaluate(np.append(plain.params, np.log(0.5)))
    point, _ = newton(model.evaluate, point, 8, QUADRATURE, _information)
    while model.nodes <= MOST_NODES:
        finer, converged = replace(model, nodes=2 * model.nodes + 1), False
        if _same_loglike(finer, point):
            point, converged = newton(model.evaluate, point, relative_error=QUADRATURE, information=_information)
        if point.params[-1] <= LEAST_LOG_SD or (converged and _same_loglike(finer, point)):
            return model, point
        model, point = finer, finer.evaluate(point.params)
    rule = "the likelihood must have its maximum at finite coefficients, accurate to 0.01"
    reject(rule, f"a less accurate one with {model.nodes // 2} nodes", "use fewer covariates or more reports per group")


def _same_loglike(finer: GroupModel, point: Evaluation) -> bool:
    return abs(finer.loglike(point.params) - point.loglike) < _FINE


def _information(point: Evaluation) -> Array:
    return point.information
