"""Asserts in notebooks are effective: if one formula of the toolkit is changed, a visible cell of a notebook fails by
its own assert, and not only by a saved output that differs. For each mechanism that a notebook teaches there are two
standard mutants: no noise, and half the noise.

Each notebook runs once, as plain Python without a kernel, and only the code cells that are needed. Before the first
call of a function that a mutant changes, in a cell that this mutant needs, a child process takes over and continues
with the mutant's code.
"""

import ast
import builtins
import gc
import importlib
import inspect
import json
import os
import signal
import subprocess
import sys
import traceback
from collections.abc import Iterator
from dataclasses import dataclass
from inspect import CO_OPTIMIZED
from pathlib import Path
from types import CodeType, FunctionType
from typing import Any

import pytest

FOLDER = Path(__file__).parents[1] / "notebooks"
BUILT_ON = (
    "anywidget", "IPython.display", "matplotlib.figure", "matplotlib.offsetbox", "pandas", "scipy.integrate",
    "scipy.optimize", "sqlite3", "ssl",
)  # fmt: skip


@dataclass(frozen=True)
class Mutant:
    """One position in one module of the toolkit, the original code, the mutant's code, and the cell of the notebook
    that detects it (or several, separated by spaces). Only the cells that this cell needs are run before it.
    """

    notebook: str
    module: str
    here: str
    instead: str
    cell: str


MUTANTS = {
    "general inverse x 1.1": Mutant(
        "03",
        "toolkit.local.matrix.moments",
        "np.linalg.inv(matrix)",
        "1.1 * np.linalg.inv(matrix)",
        "my-estimate-agrees",
    ),
    "Wilson's z squared x 0.9": Mutant(
        "03",
        "toolkit.core.inference.intervals",
        "level / 2) ** 2 / self.n",
        "level / 2) ** 2 / self.n * 0.9",
        "wilson-check",
    ),
    "margin x 1.02": Mutant(
        "06", "toolkit.planning.accuracy", "margin = ndtri", "margin = 1.02 * ndtri", "my-people-agrees"
    ),
    "Laplace scale x 2": Mutant(
        "07", "toolkit.central.laplace", "return self.sensitivity / ", "return 2 * self.sensitivity / ", "preview"
    ),
    "Laplace sampler x 2": Mutant(
        "07", "toolkit.core.sampling", "LatticeSampler(1 / scale,", "LatticeSampler(1 / (2 * scale),", "mean-size-check"
    ),
    "the largest move for their sum": Mutant(
        "07", "toolkit.central.sensitivity", "moves = sum(", "moves = max(", "relations-table"
    ),
    "epsilon for epsilon / 2": Mutant(
        "07", "toolkit.central.selection", "/ (2 * self.sensitivity)", "/ self.sensitivity", "selection-check"
    ),
    "the least ratio for the largest": Mutant(
        "04", "toolkit.local.design", "max(Fraction(int(a), int(b))", "min(Fraction(int(a), int(b))", "cell-03"
    ),
    "a canary that is never planted": Mutant(
        "11",
        "toolkit.teaching.attacks.membership",
        "canary_table[0], canary_classes[0] =",
        "canary_table[:0], canary_classes[:0] =",
        "eleven-005",
    ),
    "the larger loss for the sum of two": Mutant(
        "02",
        "toolkit.core.loss",
        "return Pure(self.amount + other.amount)",
        "return Pure(max(self.amount, other.amount))",
        "cell-35",
    ),
    "half the sensitivity of a mean": Mutant(
        "07",
        "toolkit.central.sensitivity",
        '(high - low) / check_integer(n, "n")',
        '(high - low) / (2 * check_integer(n, "n"))',
        "mean-sensitivity-check",
    ),
    "k delta for a group": Mutant("02", "toolkit.core.loss", "_geometric_up(self.amount, people)", "people", "cell-51"),
    "a guess rate without its 1": Mutant(
        "05", "toolkit.planning.disclosure", "return 1 / (1 + math.exp(-", "return 1 / (1.02 + math.exp(-", "cell-07"
    ),
    "subsampling at twice the rate": Mutant(
        "06", "toolkit.core.loss", "log_up(1 + share * (above - 1))", "log_up(1 + 2 * share * (above - 1))", "cell-17"
    ),
    "a classic formula with 1.2": Mutant(
        "07", "toolkit.central.gaussian", "Fraction(5, 4) if", "Fraction(6, 5) if", "sigma-table"
    ),
    "a tree whose levels cost nothing": Mutant(
        "12", "toolkit.central.stream.trees", "Fraction(self.levels * min(", "Fraction(1 * min(", "ways-table"
    ),
    "beliefs that do not sum to one": Mutant(
        "03", "toolkit.local.design", "joint / joint.sum(axis=0)", "joint / joint.sum(axis=1)", "posterior-table"
    ),
    "07: real numbers without noise": Mutant(
        "07",
        "toolkit.central.laplace",
        "exponent, laplace_sampler(scale).draw, Lap",
        "exponent, lambda size, rng: 0 * laplace_sampler(scale).draw(size, rng), Lap",
        "mean-size-check",
    ),
    "07: real numbers with half the noise": Mutant(
        "07",
        "toolkit.central.laplace",
        "exponent, laplace_sampler(scale).draw, Lap",
        "exponent, laplace_sampler(scale / 2).draw, Lap",
        "mean-size-check",
    ),
    "07: Gaussian without noise": Mutant(
        "07",
        "toolkit.central.gaussian",
        "add_grid_noise(answer, sampler.draw(answer.size, rng), exponent)",
        "add_grid_noise(answer, 0 * sampler.draw(answer.size, rng), exponent)",
        "vectors-agree",
    ),
    "07: Gaussian with half the noise": Mutant(
        "07",
        "toolkit.central.gaussian",
        "add_grid_noise(answer, sampler.draw(answer.size, rng), exponent)",
        "add_grid_noise(answer, sampler.draw(answer.size, rng) // 2, exponent)",
        "vectors-agree",
    ),
    "07: vectors with half the noise": Mutant(
        "07",
        "toolkit.central.laplace",
        "partial(radial_laplace, scale)",
        "partial(radial_laplace, scale / 2)",
        "vectors-agree",
    ),
    "11: vectors with half the noise": Mutant(
        "11",
        "toolkit.central.laplace",
        "partial(radial_laplace, scale)",
        "partial(radial_laplace, scale / 2)",
        "eleven-011",
    ),
    "03: reports that are the truth": Mutant(
        "03",
        "toolkit.local.design",
        "return encoding.draw_reports(self.weights, self._forced_form, truths, rng)",
        "return truths",
        "my-warner-agrees",
    ),
    "12: totals without noise": Mutant(
        "12",
        "toolkit.central.stream.total",
        "noise = self._noise.sampler.draw(len(exact), self._rng)",
        "noise = 0 * self._noise.sampler.draw(len(exact), self._rng)",
        "spot-again-check",
    ),
    "12: totals with half the noise": Mutant(
        "12",
        "toolkit.central.stream.total",
        "noise = self._noise.sampler.draw(len(exact), self._rng)",
        "noise = self._noise.sampler.draw(len(exact), self._rng) // 2",
        "root-draw-check",
    ),
    "10: smooth noise left out": Mutant(
        "10",
        "toolkit.central.robust.releases",
        "lambda y: self.noise.tail(y, summary.smooth_sensitivity)",
        "lambda y: self.noise.tail(y, summary.smooth_sensitivity / 10**9)",
        "drawn-check",
    ),
    "10: half the smooth noise": Mutant(
        "10",
        "toolkit.central.robust.releases",
        "lambda y: self.noise.tail(y, summary.smooth_sensitivity)",
        "lambda y: self.noise.tail(y, summary.smooth_sensitivity / 2)",
        "drawn-check",
    ),
    "10: a release that smooths too little": Mutant(
        "10",
        "toolkit.central.robust.releases",
        "exp_minus_enclosure(self.noise.smoothness, digits)",
        "exp_minus_enclosure(2 * self.noise.smoothness, digits)",
        "drawn-check",
    ),
    "10: a power law too narrow": Mutant(
        "10",
        "toolkit.central.robust.admissible",
        "return Fraction(self.m + 1) / (Fr",
        "return Fraction(self.m - 1) / (Fr",
        "my-ratio-agrees",
    ),
    "10: a smooth sensitivity with twice beta": Mutant(
        "10",
        "toolkit.central.robust.smooth",
        "return math.exp(-float(check_positive(beta,",
        "return math.exp(-2 * float(check_positive(beta,",
        "along-check",
    ),
    "10: a local sensitivity of one side": Mutant(
        "10",
        "toolkit.central.robust.smooth",
        "ranks._sensitivity_at(ordered, low, high, 0)) / ranks.div",
        "ranks._sensitivity_at(ordered, low, high, 0)) / 2 / ranks.div",
        "leak-check",
    ),
    "10: steps without noise": Mutant(
        "10",
        "toolkit.teaching.robust.descent",
        "noisy = float(mechanism.release(self._total_score(values, location), rng=source))",
        "noisy = float(self._total_score(values, location))",
        "descent-hand-check",
    ),
    "10: steps with half the noise": Mutant(
        "10",
        "toolkit.teaching.robust.descent",
        "noisy = float(mechanism.release(self._total_score(values, location), rng=source))",
        "noisy = (float(mechanism.release(self._total_score(values, location), rng=source)) "
        "+ self._total_score(values, location)) / 2",
        "descent-hand-check",
    ),
    "10: a length that counts half": Mutant(
        "10",
        "toolkit.central.robust.inverse",
        "index = self._selection.choose(range(len(scores)), scores, rng=rng)",
        "index = self._selection.choose(range(len(scores)), 2 * scores, rng=rng)",
        "inverse-drawn-check",
    ),
    "10: influence without its slope": Mutant(
        "10",
        "toolkit.central.robust.influence",
        "return np.asarray(self.estimator.psi(np.asarray(x, dtype=float) - self.location) / self.slope)",
        "return np.asarray(self.estimator.psi(np.asarray(x, dtype=float) - self.location))",
        "moved-check",
    ),
    "09: errors ten per cent too small": Mutant(
        "09",
        "toolkit.analysis.regression.fit",
        "se = np.sqrt(np.diag(cov))",
        "se = 0.9 * np.sqrt(np.diag(cov))",
        "cell-19b",
    ),
    "09: errors of margins at 0.7": Mutant(
        "09",
        "toolkit.analysis.regression.margins",
        "cov = gradients @ np.asarray(coefficients.cov) @ gradients.T",
        "cov = 0.49 * gradients @ np.asarray(coefficients.cov) @ gradients.T",
        "cell-23b",
    ),
    "09: margins five per cent too large": Mutant(
        "09",
        "toolkit.analysis.regression.margins",
        "means = np.array([row @ effect.value for row, effect in zip(averaging_weights, effects, strict=True)])",
        "means = 1.05 * np.array([row @ effect.value for row, effect in zip(averaging_weights, effects, strict=True)])",
        "cell-23b",
    ),
    "09: a robust error that is not": Mutant(
        "09",
        "toolkit.analysis.regression.scoring",
        "return np.asarray(bread @ score_sum_variance(model, params, scores) @ bread)",
        "return bread",
        "cell-45b",
    ),
    "09: a predictor with half the error": Mutant(
        "09",
        "toolkit.analysis.regression.predictor",
        "outcome_cov = scale**2 *",
        "outcome_cov = scale**2 / 4 *",
        "cell-61b",
    ),
    "11: C for 2 C": Mutant(
        "11",
        "toolkit.learning.perturbation",
        'times = 2 if self.neighbors == "replace" else 1',
        "times = 1",
        "blank-check",
    ),
    "11: no determinant": Mutant(
        "11",
        "toolkit.learning.perturbation",
        "return best_push_noise(self.epsilon_for_objective, self.determinants, self",
        "return best_push_noise(self.epsilon_for_objective, 0.0, self",
        "blank-check",
    ),
    "11: an objective without a push": Mutant(
        "11",
        "toolkit.learning.perturbation",
        "self.push_noise.draw(rng), self",
        "0 * self.push_noise.draw(rng), self",
        "blank-check",
    ),
    "11: an objective with half a push": Mutant(
        "11",
        "toolkit.learning.perturbation",
        "self.push_noise.draw(rng), self",
        "self.push_noise.draw(rng) / 2, self",
        "blank-check",
    ),
    "11: weights without noise": Mutant(
        "11",
        "toolkit.learning.perturbation",
        "np.zeros(self.size), self.tolerance\n        )\n        "
        "return np.asarray(self.mechanism._perturb(weights, rng))",
        "np.zeros(self.size), self.tolerance\n        )\n        return np.asarray(weights)",
        "blank-check",
    ),
    "11: steps with a tenth of the noise": Mutant(
        "11",
        "toolkit.learning.descent",
        "noise.draw(self.size, rng)).astype",
        "noise.draw(self.size, rng) // 10).astype",
        "step-check",
    ),
    "11: steps with half the noise": Mutant(
        "11",
        "toolkit.learning.descent",
        "noise.draw(self.size, rng)).astype",
        "noise.draw(self.size, rng) // 2).astype",
        "step-check",
    ),
    "11: moments without noise": Mutant(
        "11", "toolkit.learning.moments", "self.mechanism._perturb(sums, rng)", "sums", "pca-below-check"
    ),
    "11: half the noise in standard errors": Mutant(
        "11",
        "toolkit.learning.moment_equations",
        "half = self.moments.sigma**2 / 2",
        "half = self.moments.sigma**2 / 8",
        "regression-table",
    ),
    "11: moments with half the noise": Mutant(
        "11",
        "toolkit.learning.moments",
        "np.asarray(self.mechanism._perturb(sums, rng))",
        "(lambda exact: (self.mechanism._perturb(exact, rng) + exact) / 2)(sums)",
        "pca-below-check",
    ),
    "11: a holdout that tells the truth": Mutant(
        "11",
        "toolkit.learning.holdout",
        "float(self._noise.release(other, rng=self._rng))",
        "float(other)",
        "holdout-below-check",
    ),
    "14: keys without noise": Mutant(
        "14",
        "toolkit.central.publishing.keys",
        "np.asarray(self.noise.release(answer, rng=source).value)[:-1]",
        "answer[:-1]",
        "keys-below-check",
    ),
    "14: keys with half the noise": Mutant(
        "14",
        "toolkit.central.publishing.keys",
        "return Laplace.for_epsilon(Fraction(self.loss.amount), sens",
        "return Laplace.for_epsilon(2 * Fraction(self.loss.amount), sens",
        "keys-below-check",
    ),
    "14: keys at a threshold one lower": Mutant(
        "14",
        "toolkit.central.publishing.keys",
        "return self.rows_per_person + smallest_threshold(",
        "return self.rows_per_person - 1 + smallest_threshold(",
        "keys-below-check",
    ),
    "14: weighted counts with half the sampling variance": Mutant(
        "14",
        "toolkit.central.weighted",
        "np.maximum(squares, least) - gain",
        "0.5 * np.maximum(squares, least) - gain",
        "weights-below-check",
    ),
    "14: agreeing tables without noise": Mutant(
        "14",
        "toolkit.central.publishing.agreeing",
        "np.asarray(noise.release(np.ravel(table).astype(np.int64), rng=source).value)",
        "np.ravel(table)",
        "margins-below-check",
    ),
    "14: agreeing tables with half the noise": Mutant(
        "14",
        "toolkit.central.publishing.agreeing",
        "return Laplace.for_epsilon(loss.amount, sens",
        "return Laplace.for_epsilon(2 * loss.amount, sens",
        "margins-below-check",
    ),
    "14: quantiles at 20 epsilon": Mutant(
        "14",
        "toolkit.central.publishing.quantiles",
        "self.selection_mechanism(split)._choose_step(",
        "Exponential.for_epsilon(20 * self.epsilon_per_level, sensitivity=split.share.denominator)._choose_step(",
        "deciles-below-check",
    ),
    "14: quantiles at twice epsilon": Mutant(
        "14",
        "toolkit.central.publishing.quantiles",
        "return Fraction(self.loss.amount) / self.n_levels",
        "return 2 * Fraction(self.loss.amount) / self.n_levels",
        "deciles-below-check",
    ),
    "13: a bound that proves too much": Mutant(
        "13",
        "toolkit.audit.bounds",
        "return max(_MIN_P_VALUE, min(1.0, (1 - log_value) * math.exp(max(log_value, -700.0))))",
        "return max(_MIN_P_VALUE, min(1.0, math.exp(max(2 * log_value, -700.0))))",
        "cell-47",
    ),
    "01: pairs that count as alone": Mutant(
        "01",
        "toolkit.teaching.attacks.linkage",
        "shares[names] = count_singletons(*join_codes([coded[name] for name in names])) / n",
        "shares[names] = 2 * count_singletons(*join_codes([coded[name] for name in names])) / n",
        "cell-05",
    ),
    "02: the smaller of two ratios": Mutant(
        "02", "toolkit.audit.auditor", "max(largest, p / q, q / p)", "max(largest, min(p / q, q / p))", "cell-19"
    ),
    "02: a delta of absolute differences": Mutant(
        "02",
        "toolkit.audit.auditor",
        "(max(Fraction(p) - power * Fraction(other.get(x, 0)), Fraction(0)) for",
        "(abs(Fraction(p) - power * Fraction(other.get(x, 0))) for",
        "cell-51",
    ),
    "06: a delta in one direction only": Mutant(
        "06",
        "toolkit.audit.auditor",
        "for law, other in ((first, second), (second, first))",
        "for law, other in ((first, second),)",
        "three-check",
    ),
    "03: who was asked left out": Mutant(
        "03",
        "toolkit.local.design",
        "variances = np.diag(self.covariance(prevalence, n, respondents=respondents))",
        'variances = np.diag(self.covariance(prevalence, n, respondents="fixed"))',
        "variance-picture",
    ),
    "05: a household that adds one each": Mutant(
        "05",
        "toolkit.core.loss",
        'return Pure(self.amount * check_integer(k, "k"))',
        'return Pure(self.amount + check_integer(k, "k"))',
        "cell-25",
    ),
    "05: a bet at half epsilon": Mutant(
        "05",
        "toolkit.planning.disclosure",
        "return math.exp(_check_epsilon(epsilon))",
        "return math.exp(_check_epsilon(epsilon) / 2)",
        "cell-19b",
    ),
    "05: a factor turned around": Mutant(
        "05",
        "toolkit.planning.disclosure",
        "factors = design.matrix[1] / design.matrix[0]",
        "factors = design.matrix[0] / design.matrix[1]",
        "cell-03",
    ),
    "05: charges that weigh half": Mutant(
        "05",
        "toolkit.budget.charges",
        "(limit - total for total, limit in",
        "(limit - total / 2 for total, limit in",
        "cell-35",
    ),
    "05: a direct survey with coins": Mutant(
        "05",
        "toolkit.planning.planner",
        "people_for(self.case.accuracy(self.epsilon).without_noise(), self.target)",
        "people_for(self.case.accuracy(self.epsilon), self.target)",
        "cell-17",
    ),
    "05: a phone that forgets": Mutant(
        "05",
        "toolkit.teaching.attacks.averaging",
        "        loglike[1:] = loglike[1]",
        "        loglike[1:] = loglike[1] * np.arange(1, n_reports + 1)[:, None]",
        "cell-29",
    ),
    "06: a faculty without end": Mutant(
        "06",
        "toolkit.planning.fieldwork",
        "return self.deff * np.clip((group - self._group_size(n)) / max(group - 1, 1e-9), 0, 1)",
        "return self.deff",
        "cell-27",
    ),
    "06: the afraid count half": Mutant(
        "06",
        "toolkit.local.compliance",
        "return 1 - self.self_protective - self.random",
        "return 1 - self.self_protective / 2 - self.random",
        "cell-37",
    ),
    "06: a survey that needs no sample": Mutant(
        "06",
        "toolkit.local.design",
        "variances = np.diag(self.covariance(prevalence, n, respondents=respondents))",
        'variances = np.diag(self.covariance(prevalence, n, respondents="fixed"))',
        "cell-07",
    ),
    "07: a base that is not counted": Mutant(
        "07",
        "toolkit.central.selection",
        "np.where(odds.base > 0, weights, 0.0) * odds.base",
        "np.where(odds.base > 0, weights, 0.0)",
        "base-check",
    ),
    "10: half the gross error of a law": Mutant(
        "10",
        "toolkit.central.robust.influence",
        "(estimator, population)\n        return Influence(estimator, center, slope, estimator.bound / slope,",
        "(estimator, population)\n        return Influence(estimator, center, slope, estimator.bound / slope / 2,",
        "table-check",
    ),
    "10: half the gross error of a sample": Mutant(
        "10",
        "toolkit.central.robust.influence",
        "** 2).mean())\n    return Influence(estimator, center, slope, estimator.bound / slope,",
        "** 2).mean())\n    return Influence(estimator, center, slope, estimator.bound / slope / 2,",
        "twice-check",
    ),
    "10: a fixed share that is not divided by": Mutant(
        "10",
        "toolkit.central.robust.influence",
        "return (moved - location(estimator, numbers)) / share",
        "return moved - location(estimator, numbers)",
        "fixed-check",
    ),
    "12: the mean period for the worst": Mutant(
        "12",
        "toolkit.central.stream.comparison",
        "sd * float(factors.max())",
        "sd * float(factors.mean())",
        "ways-table",
    ),
    "12: runs of memos that add": Mutant(
        "12",
        "toolkit.local.waves",
        "return Fraction(most, least) if most else Fraction(1)",
        "return Fraction(1)",
        "memo-check",
    ),
    "16: an anchor whose error forgets g": Mutant(
        "16",
        "toolkit.local.anchor",
        "- (value - random) * (scores - follow)[None, :, None]",
        "- 0 * (value - random) * (scores - follow)[None, :, None]",
        "cell-37",
    ),
    "01: the smaller crowd for both": Mutant(
        "01",
        "toolkit.teaching.attacks.anonymity",
        "possible[row] &= present[group]",
        "possible[row] = min(possible[row], present[group], key=len)",
        "cell-25 cell-35",
    ),
    "01: sums that are not rounded": Mutant(
        "01",
        "toolkit.teaching.attacks.reconstruction",
        "np.asarray(np.round(counts / step) * step)",
        "np.asarray(counts)",
        "cell-57",
    ),
    "01: everybody counts as recognized": Mutant(
        "01",
        "toolkit.teaching.attacks.linkage",
        "return self.eccentricity > 1.5",
        "return self.eccentricity > 0",
        "cell-23",
    ),
    "01: a membership score that is not in units": Mutant(
        "01",
        "toolkit.teaching.attacks.membership",
        "return np.asarray((rows - p) @ ((mean_by_column - p) / (p * (1 - p))))",
        "return np.asarray((rows - p) @ (mean_by_column - p))",
        "cell-70a",
    ),
    "01: n for n - 1 who stay": Mutant(
        "01",
        "toolkit.teaching.attacks.differencing",
        "return n_people * before - (n_people - 1) * after",
        "return n_people * before - n_people * after",
        "cell-39",
    ),
    "01: a tracker that subtracts nothing": Mutant(
        "01",
        "toolkit.teaching.attacks.differencing",
        "return server.sum(common, column) - server.sum(common & ~special, column)",
        "return server.sum(common, column)",
        "cell-43",
    ),
    "02: an advantage of twice epsilon": Mutant(
        "02",
        "toolkit.audit.bounds",
        "return math.tanh(epsilon / 2) + delta",
        "return math.tanh(epsilon) + delta",
        "cell-27b",
    ),
    "02: epsilon in one direction only": Mutant(
        "02", "toolkit.audit.auditor", "max(largest, p / q, q / p)", "max(largest, p / q)", "my-epsilon-agrees"
    ),
    "03: half of the reports are the truth": Mutant(
        "03",
        "toolkit.local.design",
        "return encoding.draw_reports(self.weights, self._forced_form, truths, rng)",
        "return np.where(np.arange(len(truths)) % 2, truths, encoding.draw_reports(self.weights, None, truths, rng))",
        "my-warner-agrees",
    ),
    "05: an observer who counts twice": Mutant(
        "05", "toolkit.teaching.attacks.averaging", "loglike[i] + np.log([", "loglike[i] + 2 * np.log([", "cell-26a"
    ),
    "05: a gain without its square": Mutant(
        "05",
        "toolkit.planning.split",
        "return (self.largest / max(self.one_question_margins.values())) ** 2",
        "return self.largest / max(self.one_question_margins.values())",
        "cell-23",
    ),
    "06: everybody who is invited answers": Mutant(
        "06",
        "toolkit.planning.fieldwork",
        "return whole_people(n / self.response)",
        "return whole_people(n)",
        "cell-27",
    ),
    "06: a curator with half the noise": Mutant(
        "06",
        "toolkit.planning.trust_models",
        "return self.noise_total / self.direct.field.effective_n(n)",
        "return self.noise_total / self.direct.field.effective_n(n) / 2",
        "cell-19",
    ),
    "07: half of rho": Mutant(
        "07",
        "toolkit.central.gaussian",
        "return Zcdp(self.sensitivity**2 / (2 * self.variance))",
        "return Zcdp(self.sensitivity**2 / (4 * self.variance))",
        "rho-check",
    ),
    "08: a form that costs one question": Mutant(
        "08",
        "toolkit.survey.spec",
        "return consenting.loss(self.questions, self.waves, consenting.earlier_loss(self))",
        "return consenting.loss(self.questions[:1], self.waves, consenting.earlier_loss(self))",
        "cell-07",
    ),
    "04: who was asked left out": Mutant(
        "04",
        "toolkit.local.design",
        "variances = np.diag(self.covariance(prevalence, n, respondents=respondents))",
        'variances = np.diag(self.covariance(prevalence, n, respondents="fixed"))',
        "my-times-agrees",
    ),
    "09: a likelihood of twice the chance": Mutant(
        "09",
        "toolkit.analysis.regression.logistic",
        "loglike = float(self.people.row_weights @ np.log(likelihood))",
        "loglike = float(self.people.row_weights @ np.log(2 * likelihood))",
        "cell-19",
    ),
    "10: noise of 1 in place of 5": Mutant(
        "10",
        "toolkit.teaching.robust.asymptotic",
        "gamma * 5 * root / (self.epsilon * n)",
        "gamma * root / (self.epsilon * n)",
        "promise-hand-check",
    ),
    "11: a holdout that charges half": Mutant(
        "11",
        "toolkit.learning.holdout",
        "self.loss = Pure(2 * self.answers * epsilon_per_answer)",
        "self.loss = Pure(self.answers * epsilon_per_answer)",
        "holdout-price-check",
    ),
    "12: a square of the last level only": Mutant(
        "12",
        "toolkit.central.stream.trees",
        "total += full * size**2 + rest**2",
        "total = full * size**2 + rest**2",
        "root-hand-check",
    ),
    "12: levels that do not add up": Mutant(
        "12",
        "toolkit.central.stream.trees",
        "return sum(self._sums[node] for node in added) - sum(",
        "return max(self._sums[node] for node in added) - sum(",
        "silent-check",
    ),
    "14: a table that is charged as one count": Mutant(
        "14",
        "toolkit.central.sensitivity",
        "_disjoint_change(caps.max_rows, n_cells), _disjoint_change(caps.max_sum_of_squares, n_cells), neighbors",
        "caps.max_rows(n_cells), caps.max_sum_of_squares(n_cells), neighbors",
        "counts-below-check",
    ),
    "16: a liar who weighs half": Mutant(
        "16", "toolkit.local.compliance", "return liars * float(np.max(", "return liars / 2 * float(np.max(", "cell-41"
    ),
    "16: sets that hold the answer more often": Mutant(
        "16",
        "toolkit.local.oracles.subset",
        "bits.draw_rows(*self._bit_laws, codes",
        "bits.draw_rows(self._bit_laws[0], "
        "Categorical([self._total_weight - self._inside_weight, 3 * self._inside_weight]), codes",
        "sets-below-check",
    ),
    "16: one bit that never lies": Mutant(
        "16",
        "toolkit.local.numeric.bounded",
        "return np.asarray(bit ^ (flipped == 1), dtype=np.int64)",
        "return np.asarray(bit ^ (flipped == 2), dtype=np.int64)",
        "bit-below-check",
    ),
    "16: four questions at the whole budget each": Mutant(
        "16",
        "toolkit.local.questionnaire",
        "each = checked_epsilon(total / count)",
        "each = checked_epsilon(total)",
        "cell-61",
    ),
    "17: random answers that count as nobody": Mutant(
        "17",
        "toolkit.analysis.noncompliance",
        "share * (no - r) / ((1 - share) * (yes - no))",
        "share * no / ((1 - share) * (yes - no))",
        "plagiarism-doubt",
    ),
    "17: a lie detector that shares the honest out twice": Mutant(
        "17",
        "toolkit.analysis.latent.group_counts",
        "honest = honest_carriers / carriers if carriers != 0 else np.nan",
        "honest = honest_carriers if carriers != 0 else np.nan",
        "minarets-table",
    ),
    "04: mangat turned around": Mutant(
        "04",
        "toolkit.local.questions",
        '_binary_design(Fraction(1), 1 - share, "mangat")',
        '_binary_design(Fraction(1), share, "mangat")',
        "cell-13",
    ),
    "06: a shuffler that forgets an option": Mutant(
        "06",
        "toolkit.local.shuffling.amplification",
        "return second, first",
        "return second, second * first",
        "cell-15",
    ),
    "07: advanced composition without its 2": Mutant(
        "07",
        "toolkit.core.composition",
        "mean + _sqrt_up(2 * squares *",
        "mean + _sqrt_up(squares *",
        "advanced-by-hand-check",
    ),
    "09: Jeffreys at twice the penalty": Mutant(
        "09",
        "toolkit.analysis.regression.logistic",
        "            loglike += log_determinant / 2\n"
        "            # The gradient of the penalty: the derivative of each person's information, "
        "weighted by the leverage.\n"
        "            leverage = weight *",
        "            loglike += log_determinant\n            leverage = 2 * weight *",
        "jeffreys-check",
    ),
    "09: a likelihood ratio without its 2": Mutant(
        "09",
        "toolkit.analysis.regression.fit",
        "statistic = max(2 * (self.llf - smaller.llf), 0.0)",
        "statistic = max(self.llf - smaller.llf, 0.0)",
        "cell-27",
    ),
    "10: Huber clipped at 1.5 k": Mutant(
        "10",
        "toolkit.central.robust.estimators",
        "np.clip(u, -self.bound, self.bound)",
        "np.clip(u, -1.5 * self.bound, 1.5 * self.bound)",
        "moved-check",
    ),
    "10: a trimmed mean divided by everybody": Mutant(
        "10",
        "toolkit.central.robust.ranks",
        "inner, range(0), ((trim, n - trim),), n - 2 * trim)",
        "inner, range(0), ((trim, n - trim),), n)",
        "spread-releases",
    ),
    "10: quartiles at the half": Mutant(
        "10",
        "toolkit.central.robust.ranks",
        "-(-n // 4), -(-3 * n // 4)",
        "-(-n // 4), -(-2 * n // 4)",
        "spread-releases",
    ),
    "11: a holdout that compares with half the noise": Mutant(
        "11",
        "toolkit.learning.holdout",
        "epsilon=self.answers * epsilon_per_answer,",
        "epsilon=2 * self.answers * epsilon_per_answer,",
        "holdout-below-check",
    ),
    "11: moments off the diagonal divided by 2": Mutant(
        "11",
        "toolkit.learning.moments",
        "(off_diagonal + off_diagonal.T) / math.sqrt(2)",
        "(off_diagonal + off_diagonal.T) / 2",
        "pca-below-check",
    ),
    "12: a memo that forgets the no reports": Mutant(
        "12",
        "toolkit.local.waves",
        "* int(fresh[memo][1]) ** yes * int(fresh[memo][0]) ** no for memo",
        "* int(fresh[memo][1]) ** yes for memo",
        "memo-changes-check",
    ),
    "12: a root with the wrong ratio": Mutant(
        "12",
        "toolkit.central.stream.roots",
        "terms[-1] * (2 * k - odd) / (2 * k)",
        "terms[-1] * (2 * k - odd) / (2 * k + 1)",
        "root-check",
    ),
    "12: an interval for one block": Mutant(
        "12",
        "toolkit.central.stream.calibration",
        "GeometricSumLaw(float(self.scale), int(self.factorization.node_counts[period - 1]))",
        "GeometricSumLaw(float(self.scale), 1)",
        "interval-check",
    ),
    "16: a square wave of twice the width": Mutant(
        "16",
        "toolkit.local.numeric.square_wave",
        "(2 * factor * (factor - 1 - epsilon))",
        "(factor * (factor - 1 - epsilon)) / 1.2",
        "cell-59",
    ),
    "16: a window with half the variance": Mutant(
        "16", "toolkit.local.numeric.window", "float(still / unit**2),", "float(still / unit**2 / 2),", "cell-57"
    ),
    "16: attention that is not divided": Mutant(
        "16",
        "toolkit.local.anchor",
        "np.asarray(apart / (apart @ apart))",
        "np.asarray(apart / np.abs(apart).sum())",
        "my-corrected-agrees",
    ),
    "16: cheaters who are among the carriers": Mutant(
        "16",
        "toolkit.analysis.latent.group_counts",
        "return np.asarray(_THREE @ corners + np.array([0.0, 1.0, 0.0]))",
        "return np.asarray(_THREE[::-1] @ corners + np.array([0.0, 1.0, 0.0]))",
        "arms-found",
    ),
    "16: ticks that differ in one box": Mutant(
        "16",
        "toolkit.local.oracles.ticks",
        "return min(2 * max_ticks, n_boxes)",
        "return min(max_ticks, n_boxes)",
        "cell-51",
    ),
    "17: a difference of lists with one variance": Mutant(
        "17",
        "toolkit.analysis.latent.list_counts",
        "value, se = float(long.mean() - short.mean()), float(np.sqrt(variances.sum()))",
        "value, se = float(long.mean() - short.mean()), float(np.sqrt(variances[0]))",
        "race-difference",
    ),
}

# Two standard mutants, in three notebooks each.
_COUNTS = {"without noise": "10**9", "with half the noise": "2"}
_CHOICES = {
    "without noise": "int(np.argmin(odds.score_gaps(slice(None))))",
    "at twice epsilon": "_draw_index(Odds(odds.scores, 2 * odds.rate, odds.base), source)",
}
MUTANTS |= {
    f"{number}: counts {words}": Mutant(
        number,
        "toolkit.central.laplace",
        "laplace_sampler(self._exact_scale)",
        f"laplace_sampler(self._exact_scale / {factor})",
        cell,
    )
    for number, cell in (("02", "cell-27b"), ("07", "ghosts-check"), ("14", "counts-below-check"))
    for words, factor in _COUNTS.items()
} | {
    f"{number}: a choice {words}": Mutant(
        number,
        "toolkit.central.selection",
        "return _candidate_at(candidates, _draw_index(odds, source))",
        f"return _candidate_at(candidates, {choice})",
        cell,
    )
    for number, cell in (("07", "drawn-check"), ("11", "choice-below-check"), ("13", "cell-43b"))
    for words, choice in _CHOICES.items()
}


Place = tuple[str, str, int]
Bound = dict[Place, list[FunctionType]]
UNCHANGED = {f"nothing is changed in {number}": number for number in sorted({one.notebook for one in MUTANTS.values()})}


def _functions_of_mutants(module: str, mutants: dict[str, Mutant]) -> dict[Place, CodeType]:
    """Return the functions of a module that mutants change, with the mutants' code next to the original; `is_mutant`
    selects the code. The original code of a mutant must occur exactly once.
    """
    path = Path(importlib.import_module(module).__file__)
    source = path.read_text(encoding="utf-8")
    tree, before = ast.parse(source), _definitions(ast.parse(source))
    ours, changed = _definitions(tree), set()
    for name, mutant in mutants.items():
        if source.count(mutant.here) != 1:
            raise LookupError(f"{mutant.here!r} must stand once in {module}: adapt the mutant")
        after = _definitions(ast.parse(source.replace(mutant.here, mutant.instead)))
        pairs = [(ast.dump(one), ast.dump(other)) for one, other in zip(before, after, strict=True)]
        differing = [i for i, (one, other) in enumerate(pairs) if one != other]
        if not differing:
            raise LookupError(f"{mutant.here!r} must stand in a function of {module}: adapt the mutant")
        for i in differing:
            is_mutant = ast.parse(f"if is_mutant({name!r}): pass").body[0]
            is_mutant.body = [*after[i].body, ast.Return()]  # and no code of the toolkit after it
            ours[i].body.insert(0, is_mutant)
        changed.update(differing)
    lines = {min(one.lineno for one in (ours[i], *ours[i].decorator_list)) for i in changed}
    codes = list(_codes(compile(ast.fix_missing_locations(tree), path, "exec")))
    return {_place(code): code for code in codes if code.co_firstlineno in lines}


def _definitions(tree: ast.Module | ast.ClassDef) -> list[ast.FunctionDef]:
    """Return the functions of a module and its classes; nested functions belong to their outer function."""
    found: list[ast.FunctionDef] = []
    for node in tree.body:
        if isinstance(node, ast.FunctionDef):
            found.append(node)
        elif isinstance(node, ast.ClassDef):
            found += _definitions(node)
    return found


def _codes(body: CodeType) -> Iterator[CodeType]:
    """Return the same for compiled code."""
    for inside in body.co_consts:
        if isinstance(inside, CodeType):
            yield from (inside,) if inside.co_flags & CO_OPTIMIZED else _codes(inside)


def _place(code: CodeType) -> Place:
    return str(code.co_filename), code.co_qualname, code.co_firstlineno


def _bound() -> Bound:
    """Return all imported functions of the toolkit by their definition, wherever they are bound."""
    found: Bound = {}
    for one in gc.get_objects():
        if type(one) is FunctionType and "toolkit" in one.__code__.co_filename:
            found.setdefault(_place(one.__code__), []).append(one)
    return found


def _change(mutants: dict[str, Mutant], bound: Bound) -> None:
    """Give functions the code of their mutants next to their own."""
    for module in {mutant.module for mutant in mutants.values()}:
        own = {name: mutant for name, mutant in mutants.items() if mutant.module == module}
        for place, code in _functions_of_mutants(module, own).items():
            for function in bound[place]:
                function.__code__ = code


def _needed(cells: list[dict[str, Any]], chosen: set[str]) -> set[str]:
    """Return these cells and all earlier cells that bind a name which one of them needs."""
    assert chosen <= {cell["id"] for cell in cells}
    kept, names = set[str](), set[str]()
    for cell in reversed(cells):
        loads, stores = _names("".join(cell["source"]))
        if cell["id"] in chosen or names & stores:
            kept.add(cell["id"])
            names |= loads
    return kept


def _names(source: str) -> tuple[set[str], set[str]]:
    """Return the names that a cell needs and the names that it binds: variables, functions and imports."""
    loads, stores = set(), set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Name):
            (loads if isinstance(node.ctx, ast.Load) else stores).add(node.id)
        elif isinstance(node, ast.FunctionDef):
            stores.add(node.name)
        elif isinstance(node, ast.alias):
            stores.add((node.asname or node.name).partition(".")[0])
    return loads, stores


def _code_cells(notebook: str) -> list[dict[str, Any]]:
    (path,) = FOLDER.glob(f"{notebook}_*.ipynb")
    return [cell for cell in json.loads(path.read_text(encoding="utf-8"))["cells"] if cell["cell_type"] == "code"]


def _run(cell: dict[str, Any], names: dict[str, object]) -> None:
    exec(compile("".join(cell["source"]), f"cell {cell['id']}", "exec"), names)  # noqa: S102 — of this repository


class Reader:
    """A runner for one notebook, which executes its cells in order without changes, and forks a child for each mutant
    before the first difference. Mutants that never end are stopped.
    """

    def __init__(self, number: str, chosen: list[str], cells: list[dict[str, Any]], bound: Bound) -> None:
        mutants = {name: mutant for name, mutant in MUTANTS.items() if mutant.notebook == number}
        self.name, self.here, self.left = f"nothing is changed in {number}", "", set(chosen) & set(mutants)
        tried = mutants if self.name in chosen else self.left
        self.cells = {name: _needed(cells, set(mutants[name].cell.split())) for name in tried}
        _change({name: mutants[name] for name in self.left}, bound)
        builtins.is_mutant = self.is_mutant  # type: ignore[attr-defined]
        own = os.getpid()
        # objects that remain in this process are also in the child, which no other process uses
        os.getpid = lambda: own

    def is_mutant(self, name: str) -> bool:
        """Return whether this process runs a mutant's code, which only children do."""
        if name in self.left and self.here in self.cells[name]:
            self.left.remove(name)
            if (child := os.fork()) == 0:
                signal.alarm(240)
                self.name, self.left = name, set()
            else:
                os.waitpid(child, 0)
        return self.name == name

    def read(self, cells: list[dict[str, Any]], names: dict[str, object]) -> dict[str, str]:
        """Return the cell of the notebook that fails, the error, and where it was raised. Failures in folded cells,
        checks and solutions do not count, because readers do not see them.
        """
        for cell in cells:
            if cell["id"] not in self.cells.get(self.name, set().union(*self.cells.values())):
                continue
            self.here = cell["id"]
            try:
                _run(cell, names)
            except Exception as error:
                if {"check", "solution"} & set(cell["metadata"].get("tags", [])):
                    continue
                files = [frame.filename for frame in traceback.extract_tb(error.__traceback__)]
                # `attempt` is an assert of the notebook, because it compares the toolkit with the student's function.
                raised = [file for file in files if not file.endswith("toolkit/teaching/attempts.py")][-1]
                return {"cell": cell["id"], "error": type(error).__name__, "in": raised, "said": str(error)[:200]}
        return {"cell": "", "error": "", "in": "", "said": "no cell failed"}


def _all_failures(chosen: list[str]) -> None:
    """Print a line for each mutant and for each notebook without one; children read the notebooks, and are forked after
    all modules that the notebooks and the mutants name are imported, to save time.
    """
    os.chdir(FOLDER)
    numbers = {UNCHANGED[name] if name in UNCHANGED else MUTANTS[name].notebook for name in chosen}
    books = {number: _code_cells(number) for number in sorted(numbers)}
    names: dict[str, dict[str, object]] = {number: {} for number in books}
    for number, (first, *_) in books.items():
        _run(first, names[number])
    for module in (*BUILT_ON, *(mutant.module for mutant in MUTANTS.values())):
        importlib.import_module(module)
    bound = _bound()
    gc.freeze()
    for number, (_, *cells) in books.items():
        if (child := os.fork()) == 0:
            reader = Reader(number, chosen, cells, bound)
            failure = reader.read(cells, names[number])
            sys.stdout.write(json.dumps({"name": reader.name, **failure}) + "\n")
            sys.stdout.flush()
            os._exit(0)
        os.waitpid(child, 0)


@pytest.fixture(scope="module")
def failures(request) -> dict[str, dict[str, str]]:
    """Return the results of all selected mutants, from one process, which has no threads."""
    items = [item for item in request.session.items if item.path == Path(__file__) and "failures" in item.fixturenames]
    environment = os.environ | {"MPLBACKEND": "agg", "OPENBLAS_NUM_THREADS": "1"}
    command = [sys.executable, __file__, *(item.callspec.params["name"] for item in items)]
    answer = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    return {failure["name"]: failure for failure in map(json.loads, answer.stdout.splitlines())}


def test_what_a_change_replaces_stands_once_in_its_module():
    """This test is fast, so that a renamed function in the toolkit is noticed by the fast tests, too."""
    counts = {
        name: inspect.getsource(importlib.import_module(one.module)).count(one.here) for name, one in MUTANTS.items()
    }
    assert {name: count for name, count in counts.items() if count != 1} == {}


@pytest.mark.slow
@pytest.mark.parametrize("name", MUTANTS)
def test_a_changed_formula_is_refuted_by_an_assert_of_a_notebook(name, failures):
    failure = failures[name]
    assert failure["error"] == "AssertionError", failure
    assert failure["in"] == f"cell {failure['cell']}", "the toolkit noticed by itself, not the notebook"


@pytest.mark.slow
@pytest.mark.parametrize("name", UNCHANGED)
def test_cells_that_notice_a_change_notice_nothing_without_one(name, failures):
    failure = failures[name]
    assert failure["error"] == "", failure


if __name__ == "__main__":
    _all_failures(sys.argv[1:])
