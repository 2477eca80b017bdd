"""The likelihood of binary reports with one normal intercept per group, and its maximum."""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from toolkit.analysis.regression.rows import Codes
from toolkit.analysis.regression.scoring import Point, climb, newton
from toolkit.core.arrays import Array
from toolkit.core.checks import refuse
from toolkit.core.inference.special import expit

LEAST = 1e-150
# Below it the curvature at a mode is replaced by an upper bound: the likelihood is not log-concave.
_FLATTEST = 0.1
# Of the logarithm of the standard deviation: there the likelihood is flat.
LEAST_LOG_SD = -6.0
# Of a likelihood that is summed over nodes: its gradient, that of the integral, goes on where heights no longer rise.
QUADRATURE = 1e-7
# Of the whole log-likelihood: twice as many nodes change it by less, or they are taken.
_FINE = 0.01
MOST_NODES = 127


@dataclass(frozen=True, eq=False)
class GroupModel:
    """The likelihood with one normal intercept per group, by adaptive Gauss–Hermite quadrature.

    Rows are sorted by group, and people who are alike in all share one: `times` says how many. `seen` is Pr(the report
    that was seen | truth), one row per truth; `starts` where the rows of each group begin; `weights` are of groups.
    """

    columns: Array
    seen: Array
    starts: Codes
    weights: Array
    nodes: int
    times: Array

    @property
    def each(self) -> Array:
        return np.repeat(self.weights, self.sizes) * self.times

    @cached_property
    def _rule(self) -> tuple[Array, Array]:
        points, weights = np.polynomial.hermite.hermgauss(self.nodes)
        return points, np.log(weights) + points**2

    @cached_property
    def sizes(self) -> Codes:
        return np.diff(np.append(self.starts, len(self.columns)))

    def logs(self, eta: Array) -> tuple[Array, Array, Array]:
        """Of each row the logarithm of its likelihood, and its first two derivatives by the predictor."""
        share = expit(eta)
        slope = share * (1 - share)
        none, some = (one if eta.ndim == 1 else one[:, None] for one in self.seen)
        chance = np.maximum(none * (1 - share) + some * share, LEAST)
        lean = slope * (some - none) / chance
        return np.log(chance), lean, lean * (1 - 2 * share) - lean**2

    def sums(self, rows: Array) -> Array:
        """Of all people of each group together."""
        return np.asarray(np.add.reduceat((rows.T * self.times).T, self.starts, axis=0))

    def modes(self, eta: Array, sd: float) -> tuple[Array, Array]:
        """The likeliest intercept of each group, in standard deviations, and how wide its curve is there."""
        u = np.zeros(len(self.starts))
        height, lean, bend = self._intercepts(eta, sd, u)
        for _ in range(60):
            step = (sd * self.sums(lean) - u) / self._curved(sd, lean, bend)
            if np.abs(step).max() < 1e-9:
                break
            for _ in range(20):
                higher, lean, bend = self._intercepts(eta, sd, u + step)
                worse = higher < height - 1e-12
                if not worse.any():
                    break
                step = np.where(worse, step / 2, step)
            u, height = u + step, higher
        return u, 1 / np.sqrt(self._curved(sd, lean, bend))

    def _curved(self, sd: float, lean: Array, bend: Array) -> Array:
        curvature = 1 - sd**2 * self.sums(bend)
        return np.where(curvature < _FLATTEST, 1 + sd**2 * self.sums(lean**2), curvature)

    def _intercepts(self, eta: Array, sd: float, u: Array) -> tuple[Array, Array, Array]:
        """How likely these intercepts are, and derivatives of each row."""
        log, lean, bend = self.logs(eta + sd * np.repeat(u, self.sizes))
        return self.sums(log) - u**2 / 2, lean, bend

    def integrate(self, at: Array) -> tuple[Array, Array, Array, Array, Array]:
        """Of each group its log-likelihood, nodes and their posterior probabilities; the rows' derivatives at them."""
        beta, sd = at[:-1], float(np.exp(at[-1]))
        eta = self.columns @ beta
        mode, width = self.modes(eta, sd)
        points, logs = self._rule
        nodes = mode[:, None] + np.sqrt(2) * width[:, None] * points
        chance, lean, bend = self.logs(eta[:, None] + sd * np.repeat(nodes, self.sizes, axis=0))
        heights = self.sums(chance) - nodes**2 / 2 + logs
        top = heights.max(axis=1, keepdims=True)
        parts = np.exp(heights - top)
        total = parts.sum(axis=1, keepdims=True)
        log_likelihoods = (top + np.log(total))[:, 0] + np.log(width) - np.log(np.pi) / 2
        return log_likelihoods, nodes, parts / total, lean, bend

    def group_scores(self, at: Array) -> tuple[Array, Array]:
        """The log-likelihood of each group, and the gradient of the exact integral."""
        log_likelihoods, nodes, posterior, lean, _ = self.integrate(at)
        each = np.repeat(posterior, self.sizes, axis=0)
        rows = (lean * each).sum(axis=1)
        by_sd = float(np.exp(at[-1])) * (self.sums(lean) * posterior * nodes).sum(axis=1)
        return log_likelihoods, np.column_stack([self.sums(self.columns * rows[:, None]), by_sd])

    def point(self, at: Array) -> Point:
        """Height, gradient, and the sum of the scores' squares for the information."""
        log_likelihoods, scores = self.group_scores(at)
        gradient = self.weights @ scores
        information = scores.T @ (scores * self.weights[:, None]) + 1e-9 * np.eye(len(at))
        return Point(at, float(self.weights @ log_likelihoods), gradient, information)

    def coefficients(self, at: Array, log_sd: float) -> Point:
        """Height, gradient and minus the Hessian (Louis 1982) by the coefficients, where groups differ so much."""
        log_likelihoods, _, posterior, lean, bend = self.integrate(np.append(at, log_sd))
        scores = self.sums(self.columns[:, :, None] * lean[:, None, :])
        means = (scores * posterior[:, None, :]).sum(axis=2)
        inner = self.each * (bend * np.repeat(posterior, self.sizes, axis=0)).sum(axis=1)
        weighted = posterior * self.weights[:, None]
        hessian = self.columns.T @ (self.columns * inner[:, None]) - means.T @ (means * self.weights[:, None])
        flat = scores.transpose(1, 0, 2).reshape(len(at), -1)
        hessian += (flat * weighted.ravel()) @ flat.T
        return Point(at, float(self.weights @ log_likelihoods), self.weights @ means, -hessian)


def maximum_without_groups(model: GroupModel) -> Point:
    """The maximum with a standard deviation of 0: plain logistic regression through the designs."""

    def evaluate(at: Array) -> Point:
        log, lean, _ = model.logs(model.columns @ at)
        each, share = model.each, expit(model.columns @ at)
        # The information of the truths is above that of the reports: steps by it are short, and sure.
        weight = each * share * (1 - share) * (model.seen[1] - model.seen[0]) ** 2
        expected = model.columns.T @ (model.columns * (weight + 1e-12)[:, None])
        return Point(at, float(each @ log), model.columns.T @ (each * lean), expected)

    ascent = climb(evaluate, np.zeros(model.columns.shape[1]), steps=400)
    point, _ = newton(evaluate, ascent.point)
    return point


def maximum(model: GroupModel, plain: Point) -> tuple[GroupModel, Point]:
    """The maximum, and the model with as many nodes as it took: where groups differ much, the curve of a group that a
    device hides is one-sided, and few nodes give a height that its gradient does not belong to.
    """
    point = climb(model.point, np.append(plain.at, np.log(0.5)), steps=8).point
    while model.nodes <= MOST_NODES:
        finer, arrived = replace(model, nodes=2 * model.nodes + 1), False
        if abs(finer.point(point.at).height - point.height) < _FINE:
            point, arrived = newton(model.point, point, exact=QUADRATURE)
        if point.at[-1] <= LEAST_LOG_SD or (arrived and abs(finer.point(point.at).height - point.height) < _FINE):
            return model, point
        model, point = finer, finer.point(point.at)
    rule = "the likelihood must have its maximum at finite coefficients, and be known there to .01"
    refuse(rule, f"one that is not, with {model.nodes // 2} nodes", "use fewer covariates, or more reports per group")
