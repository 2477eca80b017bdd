"""Maximum likelihood by Fisher scoring and Newton's method, with standard errors and Jeffreys' penalty.

Fisher scoring uses the expected information for its steps; a step is halved until the log-likelihood does not fall.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal, Protocol, get_args, runtime_checkable

import numpy as np

from toolkit.analysis.regression.rows import People
from toolkit.analysis.sampling.replicates import Replicates, replicate_covariance
from toolkit.core.arrays import Array
from toolkit.core.checks import check_choice, reject

ErrorKind = Literal["observed", "expected", "opg", "robust"]


class Likelihood(Protocol):
    """A log-likelihood that provides the score of each person and the observed information."""

    @property
    def people(self) -> People: ...

    def scores(self, params: Array) -> Array: ...

    def observed_information(self, params: Array) -> Array: ...


@runtime_checkable
class RandomizedLikelihood(Likelihood, Protocol):
    """A log-likelihood that also provides the share of the scores' variance that is due to randomization."""

    def randomization_variance(self, params: Array, sampling_fraction: Array) -> Array: ...


def checked_penalty(penalty: str | None) -> bool:
    """Return whether a fit has Jeffreys' penalty, the only penalty available."""
    return penalty is not None and check_choice(penalty, "penalty", ("jeffreys",)) == "jeffreys"


def checked_error_kind(se: str | None, people: People, with_jeffreys: bool) -> str:
    """Return the kind of standard errors: by default "robust" for a complex sample, "expected" for a penalized fit."""
    if people.sample_rows is not None and isinstance(people.sample_rows.sample, Replicates):
        if with_jeffreys or se is not None:
            rule = "`se` and `penalty` must be left out with replicate weights"
            reject(rule, "one of them", "the model is fitted again with each replicate")
        return "replicate"
    if se is None:
        return "robust" if people.is_complex else "expected" if with_jeffreys else "observed"
    if check_choice(se, "se", get_args(ErrorKind)) != "robust" and people.is_complex:
        consequence = "with weights, strata or clusters the information is not the variance of the score"
        reject("`se` must be 'robust' with weights, strata or clusters", repr(se), consequence)
    return se


def covariance(
    model: Likelihood,
    params: Array,
    error_kind: str,
    expected_information: Array,
    observed_information: Array | None = None,
) -> Array:
    """Return the covariance of the estimates at a maximum; pass `observed_information` if it was already computed.

    "observed": the inverse of the observed information (minus the Hessian). "expected": the inverse of the Fisher
    information. "opg": the inverse of the sum of outer products of the scores. "robust": the sandwich, with the
    variance of the sum of scores between two inverses of the observed information; it is valid even if the model is
    wrong.
    """
    if error_kind == "expected":
        return inverse_information(expected_information)
    if error_kind == "observed":
        return inverse_information(
            model.observed_information(params) if observed_information is None else observed_information
        )
    if error_kind == "replicate":
        return _replicate_covariance(model, params)
    scores = model.scores(params)
    if error_kind == "opg":
        weighted = scores if model.people.times is None else scores * model.people.times[:, None]
        return inverse_information(scores.T @ weighted)
    bread = inverse_information(
        model.observed_information(params) if observed_information is None else observed_information
    )
    return np.asarray(bread @ score_sum_variance(model, params, scores) @ bread)


def weighted_gram(columns: Array, weights: Array) -> Array:
    """Return the sum over people of weight x x', computed in blocks to avoid a second matrix of all people."""
    total = np.zeros((columns.shape[1],) * 2)
    for first in range(0, len(columns), _BLOCK):
        block = columns[first : first + _BLOCK]
        total += block.T @ (block * weights[first : first + _BLOCK, None])
    return total


def block_gram(columns: Array, weights: Array) -> Array:
    """Return the sum over people of weights[s, t] x x', as one matrix with a block for each pair (s, t)."""
    count, width = len(weights), columns.shape[1]
    blocks = np.empty((count, width, count, width))
    for s in range(count):
        for t in range(s, count):
            blocks[s, :, t] = blocks[t, :, s] = weighted_gram(columns, weights[s, t])
    return blocks.reshape(count * width, count * width)


def _replicate_covariance(model: Any, params: Array) -> Array:
    """Fit the model again with each replicate, starting from the estimates of the whole sample."""
    rows = model.people.sample_rows

    def refit(weights: Array) -> Array:
        people = replace(model.people, weights=weights[rows.used], sample_rows=None)
        replicate = replace(model, people=people)
        ascent = ascend(replicate.evaluate, replicate.observed_information, params)
        has_maximum = is_maximum(ascent, replicate.observed_information(ascent.point.params))
        return ascent.point.params if has_maximum else np.full(len(params), np.nan)

    cov, failures = replicate_covariance(rows.sample, refit, params)
    if failures:
        rule = "the likelihood must have its maximum at finite coefficients with every replicate"
        reject(rule, f"{failures} without", "use fewer covariates, or sample=Sample(…) with clusters")
    return cov


def score_sum_variance(model: Likelihood, params: Array, scores: Array) -> Array:
    """Return the variance of the sum of scores.

    The finite population correction reduces the sampling variance, but must not reduce the variance from randomization.
    With a sampling fraction f, f times the variance of the scores given the truths is therefore added.
    """
    rows = model.people.sample_rows
    if rows is None or rows.fraction is None or not isinstance(model, RandomizedLikelihood):
        return model.people.variance_of_sum(scores)
    return rows.variance_of_sum(scores, finite=True) + model.randomization_variance(params, rows.fraction)


def influence_of(model: Likelihood, params: Array) -> Array:
    """Return the first-order influence of each person on the coefficients: one row per person."""
    return np.asarray(np.linalg.solve(model.observed_information(params), model.scores(params).T).T)


def inverse_information(information: Array) -> Array:
    """Invert an information matrix, which must be positive definite beyond rounding error."""
    scale = np.sqrt(np.maximum(np.diag(information), 0))
    if not scale.all() or np.linalg.eigvalsh(information / np.outer(scale, scale))[0] < _SINGULAR:
        consequence = "the likelihood is flat or rises there; another `se` may be defined"
        reject("the information at the maximum must be positive definite", "one that is not", consequence)
    return np.asarray(np.linalg.inv(information))


_SINGULAR = 1e-13  # smallest eigenvalue, after scaling to unit diagonal, of a matrix that can be inverted accurately
_BLOCK = 4096
_MAX_STEPS = 100
_MAX_STEP_LENGTH = 3.0  # largest change of a coefficient of a standardized column in one step
_MAX_HALVINGS = 40
_CONVERGED_DECREMENT = 1e-16  # limit of score' information**-1 score, twice the gain of one more step
_FLAT_SHARE = 1e-3  # share of the information at the start below which the likelihood counts as flat
_WEAK_INFORMATION = 1.0  # information at which a coefficient of a standardized column has a standard error of 1
_ROUNDING_ERROR = 1e-9  # information below the rounding error of the score
_SMALL_NEWTON_STEP = 0.01  # Newton's step at a maximum is shorter than this; toward a maximum at infinity it is about 1


@dataclass(frozen=True, eq=False)
class Evaluation:
    """The log-likelihood at given parameters, with its gradient and the expected information."""

    params: Array
    loglike: float
    score: Array
    information: Array


Evaluate = Callable[[Array], Evaluation]


@dataclass(frozen=True, eq=False)
class Maximization:
    """The end point of an iteration, whether the iteration converged, and its starting point."""

    point: Evaluation
    converged: bool
    start: Evaluation

    @property
    def is_flat(self) -> bool:
        """Whether the likelihood is much flatter in some direction than at the start.

        In that direction less than 1/1000 of the information remains, and the standard error would be above 1.
        """
        remaining = smallest_remaining_share(self.start.information, self.point.information)
        return remaining < _FLAT_SHARE and float(np.linalg.eigvalsh(self.point.information)[0]) < _WEAK_INFORMATION


def smallest_remaining_share(start_information: Array, information: Array) -> float:
    """Return the smallest share of the starting information that remains in any direction; 0 if it is singular."""
    try:
        root = np.linalg.inv(np.linalg.cholesky(start_information))
    except np.linalg.LinAlgError:
        return 0.0
    return float(np.linalg.eigvalsh(root @ information @ root.T)[0])


def maximize(evaluate: Evaluate, start: Array, max_steps: int = _MAX_STEPS) -> Maximization:
    """Maximize by Fisher scoring from `start`, with the information that `evaluate` returns."""
    start_point = point = evaluate(start)
    for _ in range(max_steps):
        step = _solve_positive_definite(point.information, point.score)
        if step is None:
            return Maximization(point, False, start_point)
        if abs(float(point.score @ step)) < _CONVERGED_DECREMENT:
            return Maximization(point, True, start_point)
        improved = line_search(evaluate, point, step)
        if improved is None:
            return Maximization(point, abs(float(point.score @ step)) < 1e-9, start_point)
        point = improved
    return Maximization(point, False, start_point)


def line_search(evaluate: Evaluate, point: Evaluation, step: Array, relative_error: float = 1e-12) -> Evaluation | None:
    """Halve a step until the log-likelihood does not fall; return None if even the shortest step lowers it.

    `relative_error` is the relative numerical error of the log-likelihood.
    """
    step = step * (_MAX_STEP_LENGTH / max(_MAX_STEP_LENGTH, float(np.abs(step).max())))
    slack = relative_error * (1 + abs(point.loglike))
    for _ in range(_MAX_HALVINGS):
        new = evaluate(point.params + step)
        if new.loglike >= point.loglike - slack:
            return new
        step = step / 2
    return None


def is_maximum(ascent: Maximization, information: Array) -> bool:
    """Return whether an iteration ended at a maximum; `information` is the observed information at its end.

    A log-likelihood without a maximum levels off exponentially: score and information shrink together, and Newton's
    step keeps its length. At a maximum Newton's step vanishes, however little information is left.
    """
    if (
        not ascent.converged
        or not np.isfinite(information).all()
        or np.linalg.eigvalsh(information)[0] <= _ROUNDING_ERROR
    ):
        return False
    return float(np.abs(np.linalg.solve(information, ascent.point.score)).max()) < _SMALL_NEWTON_STEP


def interior_maximum(observed_information: Callable[[Array], Array], ascent: Maximization, advice: str) -> Array:
    """Return the parameters of a maximum at finite coefficients; if there is none, raise an error with the reason."""
    information = observed_information(ascent.point.params)
    if is_maximum(ascent, information):
        return ascent.point.params
    rule = "the likelihood must have its maximum at finite coefficients"
    if ascent.is_flat:
        consequence = f"the maximum is not at finite coefficients; {advice}"
        reject(rule, "one that still rises where coefficients grow without limit", consequence)
    if ascent.converged:
        received = "a point from which it is level or rises in some direction"
        reject(rule, received, f"the coefficients would be meaningless; {advice}")
    reject(rule, "none within 160 steps", f"the coefficients would be meaningless; {advice}")


def newton(
    evaluate: Evaluate,
    point: Evaluation,
    max_steps: int = 60,
    relative_error: float = 1e-12,
    information: Callable[[Evaluation], Array] | None = None,
    min_gain: float = 1e-14,
) -> tuple[Evaluation, bool]:
    """Maximize by Newton's method where Fisher scoring is too slow; return the end point and whether it converged.

    `information` returns minus the Hessian; without it, finite differences of the score are used. The iteration ends
    when another step would gain less than `min_gain`.
    """
    for _ in range(max_steps):
        if information is None:
            observed = negative_hessian(lambda params: evaluate(params).score, point.params)
        else:
            observed = information(point)
        # Absolute values of the eigenvalues make every step an ascent, even where the log-likelihood is not concave.
        values, vectors = np.linalg.eigh(observed)
        smallest_curvature = max(1e-8 * np.abs(values).max(), 1e-200)
        step = vectors @ (vectors.T @ point.score / np.maximum(np.abs(values), smallest_curvature))
        gain = abs(float(point.score @ step))
        if gain < min_gain and values[0] > 0:
            return point, True
        # A long step with almost no gain means that the maximum is at infinity.
        if gain < 1e-12 and np.abs(step).max() > _SMALL_NEWTON_STEP:
            return point, False
        improved = line_search(evaluate, point, step, relative_error)
        if improved is None:
            return point, bool(values[0] > 0 and abs(float(point.score @ step)) < 1e-9)
        point = improved
    return point, False


def finish_by_newton(
    evaluate: Evaluate, observed_information: Callable[[Array], Array], ascent: Maximization
) -> Maximization:
    """Continue by Newton's method if Fisher scoring ran out of steps.

    Scoring converges only linearly if the expected information differs from the observed information.
    """
    if ascent.converged:
        return ascent
    point, converged = newton(evaluate, ascent.point, information=lambda point: observed_information(point.params))
    return replace(ascent, point=point, converged=converged)


def ascend(evaluate: Evaluate, observed_information: Callable[[Array], Array], start: Array) -> Maximization:
    """Maximize by Fisher scoring; if it runs out of steps, continue by Newton's method."""
    return finish_by_newton(evaluate, observed_information, maximize(evaluate, start))


def find_maximum(
    evaluate: Evaluate,
    observed_information: Callable[[Array], Array],
    start: Array,
    with_jeffreys: bool,
    advice: str,
    ascend: Callable[..., Maximization] = ascend,
) -> Evaluation:
    """Return the maximum of a log-likelihood; `evaluate` includes Jeffreys' penalty if `with_jeffreys`."""
    if with_jeffreys:
        return penalized_maximum(evaluate, maximize(evaluate, start))
    ascent = ascend(evaluate, observed_information, start)
    interior_maximum(observed_information, ascent, advice)
    return ascent.point


def negative_hessian(score: Callable[[Array], Array], params: Array) -> Array:
    """Return minus the Hessian, by finite differences of the score."""
    hessian = -_derivatives(score, params)
    return np.asarray((hessian + hessian.T) / 2)


def _derivatives(function: Callable[[Array], Any], params: Array) -> Array:
    """Return the derivatives of a function, one row per coordinate, by central differences of fourth order.

    The error is about step**4 plus the rounding error of the function divided by the step. Even the second derivatives
    of a penalty are accurate to ten digits, so standard errors do not depend on the processor.
    """
    rows = []
    for axis in _DIFFERENCE_STEP * np.eye(len(params)):
        near, far = (function(params + k * axis) - function(params - k * axis) for k in (1, 2))
        rows.append((8 * near - far) / (12 * _DIFFERENCE_STEP))
    return np.array(rows)


def _solve_positive_definite(matrix: Array, vector: Array) -> Array | None:
    try:
        factor = np.linalg.cholesky(matrix)
    except np.linalg.LinAlgError:
        return None
    return np.asarray(np.linalg.solve(factor.T, np.linalg.solve(factor, vector)))


_DIFFERENCE_STEP = 1e-3  # step of the finite differences in a coefficient of a standardized column


def with_jeffreys_penalty(evaluate: Evaluate, information_of: Callable[[Array], Array] | None = None) -> Evaluate:
    """Add Jeffreys' penalty to a log-likelihood; its gradient is computed by differences of the information.

    The information is the expected information that `evaluate` returns, unless another one is given.
    """
    information = information_of or (lambda params: evaluate(params).information)

    def penalized(params: Array) -> Evaluation:
        point, penalty = evaluate(params), _half_log_determinant(information(params))
        if penalty == -np.inf:
            return Evaluation(params, -np.inf, point.score, point.information)
        return _LazyEvaluation(point, point.loglike + penalty, information)

    return penalized


class _LazyEvaluation(Evaluation):
    """An evaluation that computes its score on demand: at most points, a line search needs only the log-likelihood."""

    def __init__(self, point: Evaluation, loglike: float, information: Callable[[Array], Array]) -> None:
        vars(self).update(
            params=point.params,
            loglike=loglike,
            information=point.information,
            _unpenalized_score=point.score,
            _information_at=information,
        )

    @cached_property
    def score(self) -> Array:
        information_at = vars(self)["_information_at"]
        penalty = _derivatives(lambda params: _half_log_determinant(information_at(params)), self.params)
        return np.asarray(vars(self)["_unpenalized_score"] + penalty)


def _half_log_determinant(information: Array) -> float:
    sign, log_determinant = np.linalg.slogdet(information)
    return float(log_determinant) / 2 if sign > 0 else -np.inf


def penalized_maximum(evaluate: Evaluate, ascent: Maximization) -> Evaluation:
    """Return the maximum of a penalized likelihood, which exists because the likelihood falls to 0 everywhere."""
    point, converged = ascent.point, ascent.converged
    if not converged:
        point, converged = newton(evaluate, point)
    if not converged:
        rule = "the iteration must reach the maximum of the penalized likelihood"
        reject(rule, "no convergence within 60 steps", "rescale or leave out covariates")
    return point


@dataclass(frozen=True, eq=False)
class PenalizedLikelihood:
    """A likelihood with the observed information of its penalized version."""

    model: Likelihood
    evaluate: Evaluate

    @property
    def people(self) -> People:
        return self.model.people

    def scores(self, params: Array) -> Array:
        return self.model.scores(params)

    def observed_information(self, params: Array) -> Array:
        return negative_hessian(lambda point: self.evaluate(point).score, params)
