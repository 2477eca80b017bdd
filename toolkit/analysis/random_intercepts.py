"""The likelihood of binary reports with one normal intercept per group, and its maximum."""

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

    def log_derivatives(self, eta: Array) -> tuple[Array, Array, Array]:
        """Return each row's log-likelihood and its first two derivatives with respect to the linear predictor."""
        share = expit(eta)
        slope = share * (1 - share)
        no, yes = (row if eta.ndim == 1 else row[:, None] for row in self.report_likelihood)
        likelihood = np.maximum(no * (1 - share) + yes * share, LEAST)
        score = slope * (yes - no) / likelihood
        return np.log(likelihood), score, score * (1 - 2 * share) - score**2

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
        beta, sd = params[:-1], float(np.exp(params[-1]))
        eta = self.columns @ beta
        mode, width = self.modes(eta, sd)
        points, logs = self._rule
        nodes = mode[:, None] + np.sqrt(2) * width[:, None] * points
        log, score, hessian = self.log_derivatives(eta[:, None] + sd * np.repeat(nodes, self.sizes, axis=0))
        log_terms = self.group_sums(log) - nodes**2 / 2 + logs
        top = log_terms.max(axis=1, keepdims=True)  # factored out of the sum, which would otherwise underflow
        terms = np.exp(log_terms - top)
        total = terms.sum(axis=1, keepdims=True)
        loglikes = (top + np.log(total))[:, 0] + np.log(width) - np.log(np.pi) / 2
        return loglikes, nodes, terms / total, score, hessian

    def group_scores(self, params: Array) -> tuple[Array, Array]:
        """Return each group's log-likelihood and its score, which is that of the exact integral."""
        loglikes, nodes, posterior, score, _ = self.integrate(params)
        rows = (score * np.repeat(posterior, self.sizes, axis=0)).sum(axis=1)
        by_sd = float(np.exp(params[-1])) * (self.group_sums(score) * posterior * nodes).sum(axis=1)
        return loglikes, np.column_stack([self.group_sums(self.columns * rows[:, None]), by_sd])

    def evaluate(self, params: Array) -> Evaluation:
        """Return log-likelihood and score, with the outer products of the scores as information."""
        loglikes, scores = self.group_scores(params)
        information = scores.T @ (scores * self.weights[:, None]) + 1e-9 * np.eye(len(params))
        return Evaluation(params, float(self.weights @ loglikes), self.weights @ scores, information)

    def evaluate_coefficients(self, params: Array, log_sd: float) -> Evaluation:
        """Return log-likelihood, score and observed information (Louis 1982) of the coefficients at this `log_sd`."""
        loglikes, _, posterior, score, hessian = self.integrate(np.append(params, log_sd))
        scores = self.group_sums(self.columns[:, :, None] * score[:, None, :])
        means = (scores * posterior[:, None, :]).sum(axis=2)
        inner = self.row_weights * (hessian * np.repeat(posterior, self.sizes, axis=0)).sum(axis=1)
        weighted = posterior * self.weights[:, None]
        total = self.columns.T @ (self.columns * inner[:, None]) - means.T @ (means * self.weights[:, None])
        flat = scores.transpose(1, 0, 2).reshape(len(params), -1)
        total += (flat * weighted.ravel()) @ flat.T
        return Evaluation(params, float(self.weights @ loglikes), self.weights @ means, -total)


def maximum_without_groups(model: GroupModel) -> Evaluation:
    """Maximize at a standard deviation of 0, which is a logistic regression through the designs."""

    def evaluate(params: Array) -> Evaluation:
        log, score, _ = model.log_derivatives(model.columns @ params)
        weights, share = model.row_weights, expit(model.columns @ params)
        # The truths have more information than the reports, so steps are short and safe.
        weight = weights * share * (1 - share) * (model.report_likelihood[1] - model.report_likelihood[0]) ** 2
        expected = model.columns.T @ (model.columns * (weight + 1e-12)[:, None])
        return Evaluation(params, float(weights @ log), model.columns.T @ (weights * score), expected)

    ascent = maximize(evaluate, np.zeros(model.columns.shape[1]), max_steps=400)
    point, _ = newton(evaluate, ascent.point)
    return point


def maximum(model: GroupModel, plain: Evaluation) -> tuple[GroupModel, Evaluation]:
    """Return the maximum, and the model with enough nodes for it.

    If groups differ strongly, the likelihood of a group with randomized answers is one-sided, and with few nodes the
    log-likelihood does not match its score.
    """
    point = maximize(model.evaluate, np.append(plain.params, np.log(0.5)), max_steps=8).point
    while model.nodes <= MOST_NODES:
        finer, converged = replace(model, nodes=2 * model.nodes + 1), False
        if _same_loglike(finer, point):
            point, converged = newton(model.evaluate, point, relative_error=QUADRATURE)
        if point.params[-1] <= LEAST_LOG_SD or (converged and _same_loglike(finer, point)):
            return model, point
        model, point = finer, finer.evaluate(point.params)
    rule = "the likelihood must have its maximum at finite coefficients, and be known there to .01"
    reject(rule, f"one that is not, with {model.nodes // 2} nodes", "use fewer covariates, or more reports per group")


def _same_loglike(finer: GroupModel, point: Evaluation) -> bool:
    return abs(finer.evaluate(point.params).loglike - point.loglike) < _FINE
