"""Fisher scoring, with the standard errors of its maximum and Jeffreys' penalty.

Scoring goes up a likelihood by its expected information, with steps that are halved until they rise.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal, Protocol, get_args, runtime_checkable

import numpy as np

from toolkit.analysis.regression.rows import People
from toolkit.analysis.sampling.replicates import Replicates, spread
from toolkit.core.arrays import Array
from toolkit.core.checks import choice, refuse

Error = Literal["observed", "expected", "opg", "robust"]


class Curved(Protocol):
    """A likelihood that can say how it bends, and what each person adds to its gradient."""

    @property
    def people(self) -> People: ...

    def scores(self, at: Array) -> Array: ...

    def observed(self, at: Array) -> Array: ...


@runtime_checkable
class TellsApart(Curved, Protocol):
    """One that also knows how much of the scores' variance is randomization."""

    def randomization(self, at: Array, share: Array) -> Array: ...


def kind_of_error(se: str | None, people: People, jeffreys: bool) -> str:
    """The kind that was asked for; "robust" for a complex sample, "expected" for a penalized fit."""
    if people.drawn is not None and isinstance(people.drawn.sample, Replicates):
        if jeffreys or se is not None:
            rule = "`se` and `penalty` must be left out with replicate weights"
            refuse(rule, "one of them", "the model is fitted again with each replicate")
        return "replicate"
    if se is None:
        return "robust" if people.complex else "expected" if jeffreys else "observed"
    if choice(se, "se", get_args(Error)) != "robust" and people.complex:
        consequence = "with weights, strata or clusters the information is not the variance of the score"
        refuse("`se` must be 'robust' with weights, strata or clusters", repr(se), consequence)
    return se


def covariance(model: Curved, at: Array, kind: str, expected: Array, observed: Array | None = None) -> Array:
    """The covariance of a maximum; `observed` where it is known already.

    "observed": the inverse of minus the Hessian. "expected": the inverse of the Fisher information. "opg":
    the inverse of the sum of outer products of the scores. "robust": the variance of the scores' sum between
    the inverses of minus the Hessian, which holds when the model is only an approximation.
    """
    if kind == "expected":
        return inverse(expected)
    if kind == "observed":
        return inverse(model.observed(at) if observed is None else observed)
    if kind == "replicate":
        return _by_replicates(model, at)
    scores = model.scores(at)
    if kind == "opg":
        counted = scores if model.people.times is None else scores * model.people.times[:, None]
        return inverse(scores.T @ counted)
    bread = inverse(model.observed(at) if observed is None else observed)
    return np.asarray(bread @ _spread(model, at, scores) @ bread)


def gram(columns: Array, weights: Array) -> Array:
    """The sum over people of weight x x', in blocks: no second matrix of all people is made."""
    total = np.zeros((columns.shape[1],) * 2)
    for first in range(0, len(columns), _BLOCK):
        part = columns[first : first + _BLOCK]
        total += part.T @ (part * weights[first : first + _BLOCK, None])
    return total


def _by_replicates(model: Any, at: Array) -> Array:
    """The model fitted again with each replicate, from where the whole sample ended."""
    drawn = model.people.drawn

    def again(weights: Array) -> Array:
        replicate = replace(model, people=replace(model.people, weights=weights[drawn.used], drawn=None))
        fit = finish(replicate.point, replicate.observed, climb(replicate.point, at))
        return fit.point.at if fit.arrived and not fit.flat else np.full(len(at), np.nan)

    cov, lost = spread(drawn.sample, again, at)
    if lost:
        rule = "the likelihood must have its maximum at finite coefficients with every replicate"
        refuse(rule, f"{lost} without", "use fewer covariates, or sample=Sample(…) with clusters")
    return cov


def _spread(model: Curved, at: Array, scores: Array) -> Array:
    """The variance of the scores' sum. A finite population lessens what comes from drawing people, never the
    randomization: of the share f that was drawn, f times the scores' variance given the truths is added.
    """
    drawn = model.people.drawn
    if drawn is None or drawn.fraction is None or not isinstance(model, TellsApart):
        return model.people.scatter(scores)
    return drawn.scatter(scores, finite=True) + model.randomization(at, drawn.fraction)


def influence_of(model: Curved, at: Array) -> Array:
    """How much each person moves the coefficients, to first order: one row per person."""
    return np.asarray(np.linalg.solve(model.observed(at), model.scores(at).T).T)


def inverse(information: Array) -> Array:
    """Invert an information matrix, which must be positive definite beyond rounding error."""
    scale = np.sqrt(np.maximum(np.diag(information), 0))
    if not scale.all() or np.linalg.eigvalsh(information / np.outer(scale, scale))[0] < _SINGULAR:
        consequence = "the likelihood is flat or rises there; another `se` may be defined"
        refuse("the information at the maximum must be positive definite", "one that is not", consequence)
    return np.asarray(np.linalg.inv(information))


_SINGULAR = 1e-13  # the least eigenvalue, at unit diagonal, of a matrix whose inverse has correct digits
_BLOCK = 4096
_STEPS = 100
_LONGEST = 3.0  # of a step, in any coefficient of a standardized column
_HALVINGS = 40
_CLOSE = 1e-16  # of gradient, inverse information, gradient: twice what one more step would gain
_FLAT = 1e-3  # information at the maximum, relative to that at zero
_WEAK = 1.0  # information that leaves a standard error of 1 to a standardized column


@dataclass(frozen=True, eq=False)
class Point:
    """A place on a likelihood: its height, its gradient, and the expected information."""

    at: Array
    height: float
    gradient: Array
    information: Array


Evaluate = Callable[[Array], Point]


@dataclass(frozen=True, eq=False)
class Climb:
    """Where scoring ended, whether that is a stationary point, and where it began."""

    point: Point
    arrived: bool
    start: Point

    @property
    def flat(self) -> bool:
        """Whether some direction has less than 1/1000 of its information at zero left, and too little for a
        standard error of 1: there a maximum cannot be told from a slope that rises without end.
        """
        remaining = least_remaining(self.start.information, self.point.information)
        return remaining < _FLAT and float(np.linalg.eigvalsh(self.point.information)[0]) < _WEAK


def least_remaining(first: Array, information: Array) -> float:
    """The least share of the information `first` that is left in any direction; 0 if some direction had none."""
    try:
        root = np.linalg.inv(np.linalg.cholesky(first))
    except np.linalg.LinAlgError:
        return 0.0
    return float(np.linalg.eigvalsh(root @ information @ root.T)[0])


def climb(evaluate: Evaluate, start: Array, steps: int = _STEPS) -> Climb:
    """Fisher scoring from `start`, or whatever the information of the points makes of it."""
    first = point = evaluate(start)
    for _ in range(steps):
        step = _solve(point.information, point.gradient)
        if step is None:
            return Climb(point, False, first)
        if abs(float(point.gradient @ step)) < _CLOSE:
            return Climb(point, True, first)
        higher = rise(evaluate, point, step)
        if higher is None:
            return Climb(point, abs(float(point.gradient @ step)) < 1e-9, first)
        point = higher
    return Climb(point, False, first)


def rise(evaluate: Evaluate, point: Point, step: Array, exact: float = 1e-12) -> Point | None:
    """The point after a step, halved until it is no lower, else None; `exact` : the relative error of a height."""
    step = step * (_LONGEST / max(_LONGEST, float(np.abs(step).max())))
    slack = exact * (1 + abs(point.height))
    for _ in range(_HALVINGS):
        new = evaluate(point.at + step)
        if new.height >= point.height - slack:
            return new
        step = step / 2
    return None


def inner_maximum(observed: Callable[[Array], Array], ascent: Climb, advice: str) -> Array:
    """Where scoring has arrived at a maximum; what runs away, or is too flat to tell, is refused."""
    rule = "the likelihood must have its maximum at finite coefficients"
    if ascent.flat and not ascent.arrived:
        consequence = f"the maximum is not at finite coefficients; {advice}"
        refuse(rule, "one that still rises where nothing bends it", consequence)
    if ascent.flat:
        consequence = f"such a point cannot be told from a maximum at infinity; {advice}"
        refuse(rule, "one with hardly any information left in some direction", consequence)
    if not ascent.arrived or np.linalg.eigvalsh(observed(ascent.point.at))[0] <= 0:
        refuse(rule, "none within 160 steps", f"the coefficients would mean nothing; {advice}")
    return ascent.point.at


def newton(
    evaluate: Evaluate,
    point: Point,
    steps: int = 60,
    exact: float = 1e-12,
    bends: Callable[[Point], Array] | None = None,
) -> tuple[Point, bool]:
    """Newton's method, without `bends` with differences of the gradient: where Fisher scoring is too slow."""
    for _ in range(steps):
        bent = curvature(lambda at: evaluate(at).gradient, point.at) if bends is None else bends(point)
        values, vectors = np.linalg.eigh(bent)
        least = max(1e-8 * np.abs(values).max(), 1e-200)  # where nothing bends it, too
        upward = vectors @ (vectors.T @ point.gradient / np.maximum(np.abs(values), least))
        if abs(float(point.gradient @ upward)) < 1e-14 and values[0] > 0:
            return point, True
        higher = rise(evaluate, point, upward, exact)
        if higher is None:
            return point, bool(values[0] > 0 and abs(float(point.gradient @ upward)) < 1e-9)
        point = higher
    return point, False


def finish(evaluate: Evaluate, observed: Callable[[Array], Array], ascent: Climb) -> Climb:
    """Go on by Newton's method where scoring ran out of steps: it converges only linearly if both curvatures differ."""
    if ascent.arrived:
        return ascent
    point, arrived = newton(evaluate, ascent.point, bends=lambda point: observed(point.at))
    return replace(ascent, point=point, arrived=arrived)


def curvature(gradient: Callable[[Array], Array], at: Array) -> Array:
    """Minus the Hessian, by differences of the gradient."""
    hessian = -_derivatives(gradient, at)
    return np.asarray((hessian + hessian.T) / 2)


def _derivatives(function: Callable[[Array], Any], at: Array) -> Array:
    """Return the derivatives of a function, one row per coordinate, by central differences of fourth order.

    Their error is about step**4 plus the error of the function divided by the step. Even the second derivatives of a
    penalty, which is differenced twice, are good to ten digits, so no standard error depends on the processor.
    """
    rows = []
    for axis in _STEP * np.eye(len(at)):
        near, far = (function(at + k * axis) - function(at - k * axis) for k in (1, 2))
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
    """The same likelihood, penalized; the slope of the penalty by differences of the information."""

    def penalized(at: Array) -> Point:
        here, half = evaluate(at), _half_log(information(at))
        if half == -np.inf:
            return Point(at, -np.inf, here.gradient, here.information)
        return _LazyPoint(here, here.height + half, information)

    return penalized


class _LazyPoint(Point):
    """Its gradient is made where it is asked for: of most points that are tried the height is enough."""

    def __init__(self, here: Point, height: float, information: Callable[[Array], Array]) -> None:
        vars(self).update(at=here.at, height=height, information=here.information, _of=(here.gradient, information))

    @cached_property
    def gradient(self) -> Array:
        own, information = vars(self)["_of"]
        return np.asarray(own + _derivatives(lambda at: _half_log(information(at)), self.at))


def _half_log(information: Array) -> float:
    sign, height = np.linalg.slogdet(information)
    return float(height) / 2 if sign > 0 else -np.inf


def penalized_maximum(evaluate: Evaluate, ascent: Climb) -> Array:
    """The maximum of a penalized likelihood: it falls to minus infinity in every direction."""
    point, arrived = ascent.point, ascent.arrived
    if not arrived:
        point, arrived = newton(evaluate, point)
    if not arrived:
        rule = "the penalized likelihood must lead to its maximum"
        refuse(rule, "none within 60 steps", "rescale or leave out covariates")
    return point.at


@dataclass(frozen=True, eq=False)
class Penalized:
    """A likelihood whose errors are those of its penalized maximum: it bends as the penalized one does."""

    model: Curved
    evaluate: Evaluate

    @property
    def people(self) -> People:
        return self.model.people

    def scores(self, at: Array) -> Array:
        return self.model.scores(at)

    def observed(self, at: Array) -> Array:
        return curvature(lambda near: self.evaluate(near).gradient, at)
