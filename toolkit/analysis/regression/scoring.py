"""Maximum likelihood by Fisher scoring and Newton's method, with standard errors and Jeffreys' penalty.

Fisher scoring steps by the expected information; a step is halved until the log-likelihood rises.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal, Protocol, get_args, runtime_checkable

import numpy as np

from toolkit.analysis.regression.rows import People
from toolkit.analysis.sampling.replicates import Replicates, spread
from toolkit.core.arrays import Array
from toolkit.core.checks import check_choice, reject

Error = Literal["observed", "expected", "opg", "robust"]


class Likelihood(Protocol):
    """A log-likelihood with each person's score and its observed information."""

    @property
    def people(self) -> People: ...

    def scores(self, params: Array) -> Array: ...

    def observed(self, params: Array) -> Array: ...


@runtime_checkable
class RandomizedLikelihood(Likelihood, Protocol):
    """A log-likelihood that also knows how much of the scores' variance is randomization."""

    def randomization(self, params: Array, share: Array) -> Array: ...


def error_kind(se: str | None, people: People, jeffreys: bool) -> str:
    """Return the kind of standard errors: by default "robust" for a complex sample, "expected" for a penalized fit."""
    if people.sample_rows is not None and isinstance(people.sample_rows.sample, Replicates):
        if jeffreys or se is not None:
            rule = "`se` and `penalty` must be left out with replicate weights"
            reject(rule, "one of them", "the model is fitted again with each replicate")
        return "replicate"
    if se is None:
        return "robust" if people.complex else "expected" if jeffreys else "observed"
    if check_choice(se, "se", get_args(Error)) != "robust" and people.complex:
        consequence = "with weights, strata or clusters the information is not the variance of the score"
        reject("`se` must be 'robust' with weights, strata or clusters", repr(se), consequence)
    return se


def covariance(model: Likelihood, params: Array, kind: str, expected: Array, observed: Array | None = None) -> Array:
    """Return the covariance of the estimates at a maximum; `observed` is the observed information, if computed already.

    "observed": the inverse of the observed information, minus the Hessian. "expected": the inverse of the Fisher
    information. "opg": the inverse of the sum of outer products of the scores. "robust": the variance of the scores'
    sum between two inverses of the observed information, which holds when the model is only an approximation.
    """
    if kind == "expected":
        return inverse(expected)
    if kind == "observed":
        return inverse(model.observed(params) if observed is None else observed)
    if kind == "replicate":
        return _replicate_covariance(model, params)
    scores = model.scores(params)
    if kind == "opg":
        weighted = scores if model.people.times is None else scores * model.people.times[:, None]
        return inverse(scores.T @ weighted)
    bread = inverse(model.observed(params) if observed is None else observed)
    return np.asarray(bread @ _spread(model, params, scores) @ bread)


def gram(columns: Array, weights: Array) -> Array:
    """Return the sum over people of weight x x', computed in blocks so that no second matrix of all people is made."""
    total = np.zeros((columns.shape[1],) * 2)
    for first in range(0, len(columns), _BLOCK):
        block = columns[first : first + _BLOCK]
        total += block.T @ (block * weights[first : first + _BLOCK, None])
    return total


def _replicate_covariance(model: Any, params: Array) -> Array:
    """Fit the model again with each replicate, starting from the estimates of the whole sample."""
    rows = model.people.sample_rows

    def refit(weights: Array) -> Array:
        people = replace(model.people, weights=weights[rows.used], sample_rows=None)
        replicate = replace(model, people=people)
        fit = finish_by_newton(replicate.evaluate, replicate.observed, maximize(replicate.evaluate, params))
        reached = is_maximum(fit, replicate.observed(fit.point.params))
        return fit.point.params if reached else np.full(len(params), np.nan)

    cov, failures = spread(rows.sample, refit, params)
    if failures:
        rule = "the likelihood must have its maximum at finite coefficients with every replicate"
        reject(rule, f"{failures} without", "use fewer covariates, or sample=Sample(…) with clusters")
    return cov


def _spread(model: Likelihood, params: Array, scores: Array) -> Array:
    """Return the variance of the scores' sum.

    A finite population reduces the sampling variance, but not the variance from randomization. With a sampling fraction
    f, f times the scores' variance given the truths is therefore added.
    """
    rows = model.people.sample_rows
    if rows is None or rows.fraction is None or not isinstance(model, RandomizedLikelihood):
        return model.people.scatter(scores)
    return rows.scatter(scores, finite=True) + model.randomization(params, rows.fraction)


def influence_of(model: Likelihood, params: Array) -> Array:
    """Return the first-order influence of each person on the coefficients: one row per person."""
    return np.asarray(np.linalg.solve(model.observed(params), model.scores(params).T).T)


def inverse(information: Array) -> Array:
    """Invert an information matrix, which must be positive definite beyond rounding error."""
    scale = np.sqrt(np.maximum(np.diag(information), 0))
    if not scale.all() or np.linalg.eigvalsh(information / np.outer(scale, scale))[0] < _SINGULAR:
        consequence = "the likelihood is flat or rises there; another `se` may be defined"
        reject("the information at the maximum must be positive definite", "one that is not", consequence)
    return np.asarray(np.linalg.inv(information))


_SINGULAR = 1e-13  # the least eigenvalue, at unit diagonal, of a matrix whose inverse has correct digits
_BLOCK = 4096
_STEPS = 100
_LONGEST = 3.0  # the largest change of a coefficient of a standardized column in one step
_HALVINGS = 40
_CLOSE = 1e-16  # limit of score' information**-1 score, which is twice the gain of one more step
_FLAT = 1e-3  # information at the end, relative to that at the start
_WEAK = 1.0  # information that leaves a standard error of 1 to a standardized column
_ROUNDED = 1e-9  # information that rounding errors of the score would drown
_NEAR = 0.01  # Newton's step at a maximum is shorter; towards a maximum at infinity it is about 1


@dataclass(frozen=True, eq=False)
class Evaluation:
    """The log-likelihood at some parameters, with its gradient and the expected information."""

    params: Array
    loglike: float
    score: Array
    information: Array


Evaluate = Callable[[Array], Evaluation]


@dataclass(frozen=True, eq=False)
class Maximization:
    """The last evaluation of an iteration, whether it is a stationary point, and the first evaluation."""

    point: Evaluation
    converged: bool
    start: Evaluation

    @property
    def flat(self) -> bool:
        """Whether the likelihood is far flatter in some direction than at the start.

        Less than 1/1000 of the information remains, and too little for a standard error of 1.
        """
        remaining = least_remaining(self.start.information, self.point.information)
        return remaining < _FLAT and float(np.linalg.eigvalsh(self.point.information)[0]) < _WEAK


def least_remaining(first: Array, information: Array) -> float:
    """Return the least share of the information `first` that remains in any direction; 0 if `first` is singular."""
    try:
        root = np.linalg.inv(np.linalg.cholesky(first))
    except np.linalg.LinAlgError:
        return 0.0
    return float(np.linalg.eigvalsh(root @ information @ root.T)[0])


def maximize(evaluate: Evaluate, start: Array, steps: int = _STEPS) -> Maximization:
    """Maximize by Fisher scoring from `start`, with the information that `evaluate` returns."""
    first = point = evaluate(start)
    for _ in range(steps):
        step = _solve(point.information, point.score)
        if step is None:
            return Maximization(point, False, first)
        if abs(float(point.score @ step)) < _CLOSE:
            return Maximization(point, True, first)
        higher = line_search(evaluate, point, step)
        if higher is None:
            return Maximization(point, abs(float(point.score @ step)) < 1e-9, first)
        point = higher
    return Maximization(point, False, first)


def line_search(evaluate: Evaluate, point: Evaluation, step: Array, exact: float = 1e-12) -> Evaluation | None:
    """Halve a step until the log-likelihood is no lower; None if no step is short enough.

    `exact` is the relative numerical error of the log-likelihood.
    """
    step = step * (_LONGEST / max(_LONGEST, float(np.abs(step).max())))
    slack = exact * (1 + abs(point.loglike))
    for _ in range(_HALVINGS):
        new = evaluate(point.params + step)
        if new.loglike >= point.loglike - slack:
            return new
        step = step / 2
    return None


def is_maximum(ascent: Maximization, information: Array) -> bool:
    """Return whether an iteration ended at a maximum; `information` is the observed information there.

    Where the log-likelihood rises for ever, it levels off like an exponential function. Score and information then
    shrink together, and Newton's step keeps its length; at a maximum it vanishes, however little information is left.
    """
    if not ascent.converged or not np.isfinite(information).all() or np.linalg.eigvalsh(information)[0] <= _ROUNDED:
        return False
    return float(np.abs(np.linalg.solve(information, ascent.point.score)).max()) < _NEAR


def interior_maximum(observed: Callable[[Array], Array], ascent: Maximization, advice: str) -> Array:
    """Return the parameters of a maximum at finite coefficients; raise with the reason where there is none."""
    information = observed(ascent.point.params)
    if is_maximum(ascent, information):
        return ascent.point.params
    rule = "the likelihood must have its maximum at finite coefficients"
    if ascent.flat:
        consequence = f"the maximum is not at finite coefficients; {advice}"
        reject(rule, "one that still rises where coefficients grow without limit", consequence)
    if ascent.converged:
        received = "a point from which it is level or rises in some direction"
        reject(rule, received, f"the coefficients would mean nothing; {advice}")
    reject(rule, "none within 160 steps", f"the coefficients would mean nothing; {advice}")


def newton(
    evaluate: Evaluate,
    point: Evaluation,
    steps: int = 60,
    exact: float = 1e-12,
    information: Callable[[Evaluation], Array] | None = None,
    close: float = 1e-14,
) -> tuple[Evaluation, bool]:
    """Maximize by Newton's method, where Fisher scoring is too slow; return the end and whether it converged.

    `information` returns minus the Hessian; without it, differences of the score are used. The iteration ends where
    one more step would gain less than `close`.
    """
    for _ in range(steps):
        if information is None:
            negative = negative_hessian(lambda params: evaluate(params).score, point.params)
        else:
            negative = information(point)
        # Absolute eigenvalues make every step an ascent, also where the log-likelihood is not concave.
        values, vectors = np.linalg.eigh(negative)
        least = max(1e-8 * np.abs(values).max(), 1e-200)
        step = vectors @ (vectors.T @ point.score / np.maximum(np.abs(values), least))
        gain = abs(float(point.score @ step))
        if gain < close and values[0] > 0:
            return point, True
        # A long step for hardly any gain leads to infinity, where the likelihood only levels off.
        if gain < 1e-12 and np.abs(step).max() > _NEAR:
            return point, False
        higher = line_search(evaluate, point, step, exact)
        if higher is None:
            return point, bool(values[0] > 0 and abs(float(point.score @ step)) < 1e-9)
        point = higher
    return point, False


def finish_by_newton(evaluate: Evaluate, observed: Callable[[Array], Array], ascent: Maximization) -> Maximization:
    """Continue by Newton's method where scoring ran out of steps.

    Scoring converges only linearly where the expected information differs from the observed one.
    """
    if ascent.converged:
        return ascent
    point, converged = newton(evaluate, ascent.point, information=lambda point: observed(point.params))
    return replace(ascent, point=point, converged=converged)


def negative_hessian(score: Callable[[Array], Array], params: Array) -> Array:
    """Return minus the Hessian by differences of the score."""
    hessian = -_derivatives(score, params)
    return np.asarray((hessian + hessian.T) / 2)


def _derivatives(function: Callable[[Array], Any], params: Array) -> Array:
    """Return the derivatives of a function, one row per coordinate, by central differences of fourth order.

    Their error is about step**4 plus the error of the function divided by the step. Even the second derivatives of a
    penalty, which is differenced twice, are good to ten digits, so no standard error depends on the processor.
    """
    rows = []
    for axis in _STEP * np.eye(len(params)):
        near, far = (function(params + k * axis) - function(params - k * axis) for k in (1, 2))
        rows.append((8 * near - far) / (12 * _STEP))
    return np.array(rows)


def _solve(matrix: Array, vector: Array) -> Array | None:
    try:
        factor = np.linalg.cholesky(matrix)
    except np.linalg.LinAlgError:
        return None
    return np.asarray(np.linalg.solve(factor.T, np.linalg.solve(factor, vector)))


_STEP = 1e-3  # in a coefficient of a standardized column


def with_penalty(evaluate: Evaluate, information: Callable[[Array], Array]) -> Evaluate:
    """Add Jeffreys' penalty to a log-likelihood; its gradient is by differences of the information."""

    def penalized(params: Array) -> Evaluation:
        point, penalty = evaluate(params), _half_log_determinant(information(params))
        if penalty == -np.inf:
            return Evaluation(params, -np.inf, point.score, point.information)
        return _LazyEvaluation(point, point.loglike + penalty, information)

    return penalized


class _LazyEvaluation(Evaluation):
    """An evaluation whose score is computed on demand: a line search needs only the log-likelihood of most points."""

    def __init__(self, point: Evaluation, loglike: float, information: Callable[[Array], Array]) -> None:
        vars(self).update(
            params=point.params, loglike=loglike, information=point.information, _of=(point.score, information)
        )

    @cached_property
    def score(self) -> Array:
        unpenalized, information = vars(self)["_of"]
        penalty = _derivatives(lambda params: _half_log_determinant(information(params)), self.params)
        return np.asarray(unpenalized + penalty)


def _half_log_determinant(information: Array) -> float:
    sign, log_determinant = np.linalg.slogdet(information)
    return float(log_determinant) / 2 if sign > 0 else -np.inf


def penalized_maximum(evaluate: Evaluate, ascent: Maximization) -> Array:
    """Return the maximum of a penalized likelihood, which falls to minus infinity in every direction."""
    point, converged = ascent.point, ascent.converged
    if not converged:
        point, converged = newton(evaluate, point)
    if not converged:
        rule = "the penalized likelihood must lead to its maximum"
        reject(rule, "none within 60 steps", "rescale or leave out covariates")
    return point.params


@dataclass(frozen=True, eq=False)
class PenalizedLikelihood:
    """A likelihood whose observed information is that of the penalized likelihood."""

    model: Likelihood
    evaluate: Evaluate

    @property
    def people(self) -> People:
        return self.model.people

    def scores(self, params: Array) -> Array:
        return self.model.scores(params)

    def observed(self, params: Array) -> Array:
        return negative_hessian(lambda near: self.evaluate(near).score, params)
