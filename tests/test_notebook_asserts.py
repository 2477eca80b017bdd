"""Asserts that bite: with one formula of the toolkit changed, a cell of a notebook that a reader sees fails by
its own assert, not only by a saved output that differs. For each mechanism that a notebook teaches there are two
standard changes: no noise, and half the noise.

Each mutant runs in a process of its own: the code cells of one notebook as plain Python, without a kernel, up
to the first that fails.
"""

import ast
import importlib
import inspect
import json
import os
import signal
import subprocess
import sys
from dataclasses import dataclass
from functools import cache
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from pathlib import Path
from types import CodeType
from typing import Any

import pytest

FOLDER = Path(__file__).parents[1] / "notebooks"
BUILT_ON = (
    "anywidget",
    "IPython.display",
    "matplotlib.figure",
    "matplotlib.offsetbox",
    "pandas",
    "scipy.integrate",
    "scipy.optimize",
    "sqlite3",
    "ssl",
)


@dataclass(frozen=True)
class Mutant:
    """One place in one module of the toolkit, what stands there, and what the mutant has instead. Where the cell
    is said that notices (or several, apart by spaces), only what it needs is run before it.
    """

    notebook: str
    module: str
    here: str
    instead: str
    cell: str = ""


MUTANTS = {
    "general inverse x 1.1": Mutant(
        "03", "toolkit.local.matrix.moments", "np.linalg.inv(matrix)", "1.1 * np.linalg.inv(matrix)"
    ),
    "Wilson's z squared x 0.9": Mutant(
        "03", "toolkit.core.inference.intervals", "level / 2) ** 2 / self.n", "level / 2) ** 2 / self.n * 0.9"
    ),
    "margin x 1.02": Mutant("06", "toolkit.planning.accuracy", "margin = ndtri", "margin = 1.02 * ndtri"),
    "Laplace scale x 2": Mutant(
        "07", "toolkit.central.laplace", "return self.sensitivity / ", "return 2 * self.sensitivity / "
    ),
    "Laplace sampler x 2": Mutant(
        "07", "toolkit.core.sampling.noise", "LatticeSampler(1 / scale,", "LatticeSampler(1 / (2 * scale),"
    ),
    "the largest move for their sum": Mutant("07", "toolkit.central.sensitivity", "moves = sum(", "moves = max("),
    "epsilon for epsilon / 2": Mutant(
        "07", "toolkit.central.selection", "/ (2 * self.sensitivity)", "/ self.sensitivity"
    ),
    "the least ratio for the largest": Mutant(
        "04", "toolkit.local.design", "max(Fraction(int(a), int(b))", "min(Fraction(int(a), int(b))"
    ),
    "a canary that is never planted": Mutant(
        "11", "toolkit.attacks.membership", "planted[0], marked[0] =", "planted[:0], marked[:0] ="
    ),
    "the larger loss for the sum of two": Mutant(
        "02",
        "toolkit.core.loss",
        "return Pure(self.amount + other.amount)",
        "return Pure(max(self.amount, other.amount))",
    ),
    "half the sensitivity of a mean": Mutant(
        "07", "toolkit.central.sensitivity", '(high - low) / whole(n, "n")', '(high - low) / (2 * whole(n, "n"))'
    ),
    "k delta for a group": Mutant("02", "toolkit.core.loss", "_geometric_up(self.amount, people)", "people"),
    "a guess rate without its 1": Mutant(
        "05", "toolkit.planning.disclosure", "return 1 / (1 + math.exp(-", "return 1 / (1.02 + math.exp(-"
    ),
    "subsampling at twice the rate": Mutant(
        "06", "toolkit.core.loss", "log_up(1 + share * (above - 1))", "log_up(1 + 2 * share * (above - 1))"
    ),
    "a classic formula with 1.2": Mutant("07", "toolkit.central.gaussian", "Fraction(5, 4) if", "Fraction(6, 5) if"),
    "a tree whose levels cost nothing": Mutant(
        "12", "toolkit.central.stream.trees", "Fraction(self.levels * min(", "Fraction(1 * min("
    ),
    "beliefs that do not sum to one": Mutant(
        "03", "toolkit.local.design", "joint / joint.sum(axis=0)", "joint / joint.sum(axis=1)"
    ),
    "02: counts without noise": Mutant(
        "02",
        "toolkit.central.laplace",
        "laplace_sampler(self.exact_scale)",
        "laplace_sampler(self.exact_scale / 10**9)",
        "cell-27b",
    ),
    "02: counts with half the noise": Mutant(
        "02",
        "toolkit.central.laplace",
        "laplace_sampler(self.exact_scale)",
        "laplace_sampler(self.exact_scale / 2)",
        "cell-27b",
    ),
    "07: counts without noise": Mutant(
        "07",
        "toolkit.central.laplace",
        "laplace_sampler(self.exact_scale)",
        "laplace_sampler(self.exact_scale / 10**9)",
        "ghosts-check",
    ),
    "07: counts with half the noise": Mutant(
        "07",
        "toolkit.central.laplace",
        "laplace_sampler(self.exact_scale)",
        "laplace_sampler(self.exact_scale / 2)",
        "ghosts-check",
    ),
    "14: counts without noise": Mutant(
        "14",
        "toolkit.central.laplace",
        "laplace_sampler(self.exact_scale)",
        "laplace_sampler(self.exact_scale / 10**9)",
        "counts-below-check",
    ),
    "14: counts with half the noise": Mutant(
        "14",
        "toolkit.central.laplace",
        "laplace_sampler(self.exact_scale)",
        "laplace_sampler(self.exact_scale / 2)",
        "counts-below-check",
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
        "add_on_grid(answer, sampler.draw(answer.size, rng), exponent)",
        "add_on_grid(answer, 0 * sampler.draw(answer.size, rng), exponent)",
        "vectors-agree",
    ),
    "07: Gaussian with half the noise": Mutant(
        "07",
        "toolkit.central.gaussian",
        "add_on_grid(answer, sampler.draw(answer.size, rng), exponent)",
        "add_on_grid(answer, sampler.draw(answer.size, rng) // 2, exponent)",
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
    "07: a choice without noise": Mutant(
        "07",
        "toolkit.central.selection",
        "return _item(candidates, _draw(odds, source))",
        "return _item(candidates, int(np.argmin(odds.gaps(slice(None)))))",
        "drawn-check",
    ),
    "07: a choice at twice epsilon": Mutant(
        "07",
        "toolkit.central.selection",
        "return _item(candidates, _draw(odds, source))",
        "return _item(candidates, _draw(Odds(odds.scores, 2 * odds.rate, odds.base), source))",
        "drawn-check",
    ),
    "11: a choice without noise": Mutant(
        "11",
        "toolkit.central.selection",
        "return _item(candidates, _draw(odds, source))",
        "return _item(candidates, int(np.argmin(odds.gaps(slice(None)))))",
        "choice-below-check",
    ),
    "11: a choice at twice epsilon": Mutant(
        "11",
        "toolkit.central.selection",
        "return _item(candidates, _draw(odds, source))",
        "return _item(candidates, _draw(Odds(odds.scores, 2 * odds.rate, odds.base), source))",
        "choice-below-check",
    ),
    "13: a choice without noise": Mutant(
        "13",
        "toolkit.central.selection",
        "return _item(candidates, _draw(odds, source))",
        "return _item(candidates, int(np.argmin(odds.gaps(slice(None)))))",
        "cell-43b",
    ),
    "13: a choice at twice epsilon": Mutant(
        "13",
        "toolkit.central.selection",
        "return _item(candidates, _draw(odds, source))",
        "return _item(candidates, _draw(Odds(odds.scores, 2 * odds.rate, odds.base), source))",
        "cell-43b",
    ),
    "03: reports that are the truth": Mutant(
        "03",
        "toolkit.local.design",
        "return draw_reports(self.weights, self._form, truths, rng)",
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
        "lambda away: self.noise.tail(away, (summary.smooth,))",
        "lambda away: self.noise.tail(away, (summary.smooth / 10**9,))",
        "drawn-check",
    ),
    "10: half the smooth noise": Mutant(
        "10",
        "toolkit.central.robust.releases",
        "lambda away: self.noise.tail(away, (summary.smooth,))",
        "lambda away: self.noise.tail(away, (summary.smooth / 2,))",
        "drawn-check",
    ),
    "10: a release that smooths too little": Mutant(
        "10",
        "toolkit.central.robust.releases",
        "exp_enclosure(self.noise.smoothness, digits)",
        "exp_enclosure(2 * self.noise.smoothness, digits)",
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
        "return math.exp(-float(positive(beta,",
        "return math.exp(-2 * float(positive(beta,",
        "along-check",
    ),
    "10: a local sensitivity of one side": Mutant(
        "10",
        "toolkit.central.robust.smooth",
        "ranks.reach(ordered, low, high, 0)) / ranks.div",
        "ranks.reach(ordered, low, high, 0)) / 2 / ranks.div",
        "leak-check",
    ),
    "10: steps without noise": Mutant(
        "10",
        "toolkit.central.robust.descent",
        "noisy = float(mechanism.release(self.total(values, at), rng=source))",
        "noisy = float(self.total(values, at))",
        "descent-hand-check",
    ),
    "10: steps with half the noise": Mutant(
        "10",
        "toolkit.central.robust.descent",
        "noisy = float(mechanism.release(self.total(values, at), rng=source))",
        "noisy = (float(mechanism.release(self.total(values, at), rng=source)) + self.total(values, at)) / 2",
        "descent-hand-check",
    ),
    "10: a length that counts half": Mutant(
        "10",
        "toolkit.central.robust.inverse",
        "place = self.selection.choose(range(len(scores)), scores, rng=rng)",
        "place = self.selection.choose(range(len(scores)), 2 * scores, rng=rng)",
        "inverse-drawn-check",
    ),
    "10: influence without its slope": Mutant(
        "10",
        "toolkit.central.robust.influence",
        "return np.asarray(self.estimator.psi(np.asarray(x, dtype=float) - self.at) / self.slope)",
        "return np.asarray(self.estimator.psi(np.asarray(x, dtype=float) - self.at))",
        "moved-check",
    ),
    "09: errors ten per cent too small": Mutant(
        "09",
        "toolkit.analysis.regression.fitted",
        "se = np.sqrt(np.diag(cov))",
        "se = 0.9 * np.sqrt(np.diag(cov))",
        "cell-19b",
    ),
    "09: errors of margins at 0.7": Mutant(
        "09",
        "toolkit.analysis.regression.marginal_effects",
        "cov = slopes @ np.asarray(coefficients.cov) @ slopes.T",
        "cov = 0.49 * slopes @ np.asarray(coefficients.cov) @ slopes.T",
        "cell-23b",
    ),
    "09: margins five per cent too large": Mutant(
        "09",
        "toolkit.analysis.regression.marginal_effects",
        "means = np.array([mass @ effect.each for effect in averages])",
        "means = 1.05 * np.array([mass @ effect.each for effect in averages])",
        "cell-23b",
    ),
    "09: a robust error that is not": Mutant(
        "09",
        "toolkit.analysis.regression.scoring",
        "return np.asarray(bread @ _spread(model, at, scores) @ bread)",
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
        "toolkit.learning.fitting.perturbation",
        'times = 2 if self.neighbors == "replace" else 1',
        "times = 1",
        "blank-check",
    ),
    "11: no determinant": Mutant(
        "11",
        "toolkit.learning.fitting.perturbation",
        "return push_law(self.inside, self.determinants, self",
        "return push_law(self.inside, 0.0, self",
        "blank-check",
    ),
    "11: an objective without a push": Mutant(
        "11",
        "toolkit.learning.fitting.perturbation",
        "self.ridge, self.pushing.draw(rng), self",
        "self.ridge, 0 * self.pushing.draw(rng), self",
        "blank-check",
    ),
    "11: an objective with half a push": Mutant(
        "11",
        "toolkit.learning.fitting.perturbation",
        "self.ridge, self.pushing.draw(rng), self",
        "self.ridge, self.pushing.draw(rng) / 2, self",
        "blank-check",
    ),
    "11: weights without noise": Mutant(
        "11",
        "toolkit.learning.fitting.perturbation",
        "np.zeros(self.size), self.tolerance)\n        return np.asarray(self.mechanism.noisy(weights, rng))",
        "np.zeros(self.size), self.tolerance)\n        return np.asarray(weights)",
        "blank-check",
    ),
    "11: steps with a tenth of the noise": Mutant(
        "11",
        "toolkit.learning.fitting.descent",
        "noise.draw(self.size, rng)).astype",
        "noise.draw(self.size, rng) // 10).astype",
        "step-check",
    ),
    "11: steps with half the noise": Mutant(
        "11",
        "toolkit.learning.fitting.descent",
        "noise.draw(self.size, rng)).astype",
        "noise.draw(self.size, rng) // 2).astype",
        "step-check",
    ),
    "11: moments without noise": Mutant(
        "11",
        "toolkit.learning.moments",
        "self.mechanism.noisy(whole_moments(rows, target), rng)",
        "whole_moments(rows, target)",
        "pca-below-check",
    ),
    "11: moments with half the noise": Mutant(
        "11",
        "toolkit.learning.moments",
        "np.asarray(self.mechanism.noisy(whole_moments(rows, target), rng))",
        "(lambda exact: (self.mechanism.noisy(exact, rng) + exact) / 2)(whole_moments(rows, target))",
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
        "values, law = np.asarray(drawn.value)[:-1], c",
        "values, law = np.array([*counts.values()]), c",
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
        "return self.rows + least_reach(",
        "return self.rows - 1 + least_reach(",
        "keys-below-check",
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
        "return tuple(Laplace.for_epsilon(part, sens",
        "return tuple(Laplace.for_epsilon(2 * part, sens",
        "margins-below-check",
    ),
    "14: quantiles at 20 epsilon": Mutant(
        "14",
        "toolkit.central.publishing.quantiles",
        "self.choice(part).choose_step(",
        "Exponential.for_epsilon(20 * self.each, sensitivity=part.share.denominator).choose_step(",
        "deciles-below-check",
    ),
    "14: quantiles at twice epsilon": Mutant(
        "14",
        "toolkit.central.publishing.quantiles",
        "return Fraction(self.loss.amount) / self.levels",
        "return 2 * Fraction(self.loss.amount) / self.levels",
        "deciles-below-check",
    ),
    "13: a bound that proves too much": Mutant(
        "13",
        "toolkit.attacks.audit.bounds",
        "return max(_LEAST, min(1.0, (1 - log_value) * math.exp(max(log_value, -700.0))))",
        "return max(_LEAST, min(1.0, math.exp(max(2 * log_value, -700.0))))",
        "cell-47",
    ),
    "04: an anchor whose error forgets g": Mutant(
        "04",
        "toolkit.local.anchor",
        "- (value - random) * (care - follow)[None, :, None]",
        "- 0 * (value - random) * (care - follow)[None, :, None]",
        "cell-37",
    ),
    "01: pairs that count as alone": Mutant(
        "01",
        "toolkit.attacks.linkage",
        "shares[names] = singletons(*join_codes([coded[name] for name in names])) / n",
        "shares[names] = 2 * singletons(*join_codes([coded[name] for name in names])) / n",
        "cell-05",
    ),
    "02: the smaller of two ratios": Mutant(
        "02",
        "toolkit.attacks.audit.auditor",
        "max(largest, p / q, q / p)",
        "max(largest, min(p / q, q / p))",
        "cell-19",
    ),
    "02: a delta of absolute differences": Mutant(
        "02",
        "toolkit.attacks.audit.auditor",
        "(max(p - power * second.get(output, Fraction(0)), Fraction(0)) for",
        "(abs(p - power * second.get(output, Fraction(0))) for",
        "cell-51",
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
        'return Pure(self.amount * whole(k, "k"))',
        'return Pure(self.amount + whole(k, "k"))',
        "cell-25",
    ),
    "05: a bet at half epsilon": Mutant(
        "05",
        "toolkit.planning.disclosure",
        "return math.exp(_epsilon(epsilon))",
        "return math.exp(_epsilon(epsilon) / 2)",
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
        "toolkit.planning.solution",
        "people_for(self.case.accuracy(self.epsilon).without_noise(), self.target)",
        "people_for(self.case.accuracy(self.epsilon), self.target)",
        "cell-17",
    ),
    "05: a phone that forgets": Mutant(
        "05",
        "toolkit.attacks.averaging",
        "        logs[1:] = logs[1]",
        "        logs[1:] = logs[1] * np.arange(1, number + 1)[:, None]",
        "cell-29",
    ),
    "06: a faculty without end": Mutant(
        "06",
        "toolkit.planning.fieldwork",
        "return self.deff * np.clip((group - self._asked(n)) / max(group - 1, 1e-9), 0, 1)",
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
        "np.where(odds.base > 0, weights * odds.base, 0.0)",
        "np.where(odds.base > 0, weights, 0.0)",
        "base-check",
    ),
    "10: half the gross error of a law": Mutant(
        "10",
        "toolkit.central.robust.influence",
        "_moments(estimator, population)\n        return Influence(estimator, at, slope, estimator.bound / slope,",
        "_moments(estimator, population)\n        return Influence(estimator, at, slope, estimator.bound / slope / 2,",
        "table-check",
    ),
    "10: half the gross error of a sample": Mutant(
        "10",
        "toolkit.central.robust.influence",
        "** 2).mean())\n    return Influence(estimator, at, slope, estimator.bound / slope,",
        "** 2).mean())\n    return Influence(estimator, at, slope, estimator.bound / slope / 2,",
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
        "unit * float(way.spread.max())",
        "unit * float(way.spread.mean())",
        "ways-table",
    ),
    "12: runs of memos that add": Mutant(
        "12",
        "toolkit.local.waves",
        "return Fraction(most, least) if most else Fraction(1)",
        "return Fraction(1)",
        "memo-check",
    ),
}


UNCHANGED = {
    f"nothing is changed in {number}": Mutant(
        number, "", "", "", " ".join(sorted({one.cell for one in MUTANTS.values() if one.notebook == number} - {""}))
    )
    for number in sorted({one.notebook for one in MUTANTS.values() if one.cell})
}


class _Loader(SourceFileLoader):
    """Reads a module with the mutant's words in place of the toolkit's; they must be there once."""

    def __init__(self, name: str, path: str, mutant: Mutant) -> None:
        super().__init__(name, path)
        self._mutant = mutant

    def get_code(self, fullname: str) -> CodeType:
        source = Path(self.path).read_text(encoding="utf-8")
        if source.count(self._mutant.here) != 1:
            raise LookupError(f"{self._mutant.here!r} must stand once in {fullname}: adapt the mutant")
        return compile(source.replace(self._mutant.here, self._mutant.instead), self.path, "exec")


class _Finder:
    def __init__(self, mutant: Mutant) -> None:
        self._mutant = mutant

    def find_spec(self, name: str, path: object, _target: object = None) -> ModuleSpec | None:
        if name != self._mutant.module:
            return None
        spec = PathFinder.find_spec(name, path)
        spec.loader = _Loader(name, spec.origin, self._mutant)
        return spec


def _needed(cells: list[dict[str, Any]], chosen: set[str]) -> list[dict[str, Any]]:
    """These cells, and those before them that bind a name which they or one of those need."""
    assert chosen <= {cell["id"] for cell in cells}
    kept: list[dict[str, Any]] = []
    names: set[str] = set()
    for cell in reversed(cells):
        loads, stores = _names("".join(cell["source"]))
        if cell["id"] in chosen or names & stores:
            kept.append(cell)
            names |= loads
    return kept[::-1]


def _names(source: str) -> tuple[set[str], set[str]]:
    """What a cell needs, and what it binds: variables, functions and imports."""
    loads, stores = set(), set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Name):
            (loads if isinstance(node.ctx, ast.Load) else stores).add(node.id)
        elif isinstance(node, ast.FunctionDef):
            stores.add(node.name)
        elif isinstance(node, ast.alias):
            stores.add((node.asname or node.name).partition(".")[0])
    return loads, stores


def _first_failure(mutant: Mutant) -> dict[str, str]:
    """The cell of the notebook that fails, with what, and where the error was raised. What fails in a folded
    cell, a check or a solution, no reader sees: it does not count.
    """
    sys.meta_path.insert(0, _Finder(mutant))
    (path,) = FOLDER.glob(f"{mutant.notebook}_*.ipynb")
    cells = [cell for cell in json.loads(path.read_text(encoding="utf-8"))["cells"] if cell["cell_type"] == "code"]
    names: dict[str, object] = {}
    for cell in _needed(cells, set(mutant.cell.split())) if mutant.cell else cells:
        try:
            exec(compile("".join(cell["source"]), f"cell {cell['id']}", "exec"), names)  # noqa: S102 — of this repository
        except Exception as error:
            if {"check", "solution"} & set(cell["metadata"].get("tags", [])):
                continue
            frame = error.__traceback__
            while frame.tb_next:
                frame = frame.tb_next
            raised = frame.tb_frame.f_code.co_filename
            return {"cell": cell["id"], "error": type(error).__name__, "in": raised, "said": str(error)[:200]}
    return {"cell": "", "error": "", "in": "", "said": "no cell failed"}


def _all_failures() -> None:
    """A line for each mutant, written by a child of its own: forked before the toolkit is imported and after
    what it is built on, for time. A mutant that never ends is ended.
    """
    for name in BUILT_ON:
        importlib.import_module(name)
    os.chdir(FOLDER)
    for name, mutant in (MUTANTS | UNCHANGED).items():
        if mutant.notebook not in sys.argv[1:]:
            continue
        if (child := os.fork()) == 0:
            signal.alarm(240)
            sys.stdout.write(json.dumps({"name": name, **_first_failure(mutant)}) + "\n")
            sys.stdout.flush()
            os._exit(0)
        os.waitpid(child, 0)


@cache
def failures(notebook: str) -> dict[str, dict[str, str]]:
    """By a process that has imported nothing of the toolkit, and has no threads."""
    environment = os.environ | {"MPLBACKEND": "agg", "OPENBLAS_NUM_THREADS": "1"}
    command = [sys.executable, __file__, notebook]
    answer = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    return {failure["name"]: failure for failure in map(json.loads, answer.stdout.splitlines())}


def test_what_a_change_replaces_stands_once_in_its_module():
    """So that a new name in the toolkit is noticed by the fast tests, too."""
    counts = {
        name: inspect.getsource(importlib.import_module(one.module)).count(one.here) for name, one in MUTANTS.items()
    }
    assert {name: count for name, count in counts.items() if count != 1} == {}


@pytest.mark.slow
@pytest.mark.parametrize("name", MUTANTS)
def test_a_changed_formula_is_refuted_by_an_assert_of_a_notebook(name):
    failure = failures(MUTANTS[name].notebook)[name]
    assert failure["error"] == "AssertionError", failure
    assert failure["in"] == f"cell {failure['cell']}", "the toolkit noticed by itself, not the notebook"


@pytest.mark.slow
@pytest.mark.parametrize("name", UNCHANGED)
def test_cells_that_notice_a_change_notice_nothing_without_one(name):
    failure = failures(UNCHANGED[name].notebook)[name]
    assert failure["error"] == "", failure


if __name__ == "__main__":
    _all_failures()
