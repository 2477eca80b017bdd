"""Standard errors of a maximum: by the information that was observed or expected, by the scores, or by
both.
"""

from typing import Protocol, runtime_checkable

import numpy as np

from toolkit.analysis.regression.reading.people import People
from toolkit.core.arrays import Array
from toolkit.core.checks import choice, refuse

ERRORS = ("observed", "expected", "opg", "robust")


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
    """The kind that was asked for; "robust" for a complex sample, "expected" for a penalised fit."""
    if se is None:
        return "robust" if people.complex else "expected" if jeffreys else "observed"
    if choice(se, "se", ERRORS) != "robust" and people.complex:
        consequence = "with weights, strata or clusters the information is not the variance of the score"
        refuse("`se` must be 'robust' with weights, strata or clusters", repr(se), consequence)
    return se


def covariance(model: Curved, at: Array, kind: str, expected: Array) -> Array:
    """The covariance of a maximum.

    "observed": the inverse of minus the Hessian. "expected": the inverse of the Fisher information. "opg":
    the inverse of the sum of outer products of the scores. "robust": the variance of the scores' sum between
    the inverses of minus the Hessian, which holds when the model is only an approximation.
    """
    if kind == "expected":
        return inverse(expected)
    scores = model.scores(at)
    if kind == "opg":
        counted = scores if model.people.times is None else scores * model.people.times[:, None]
        return inverse(scores.T @ counted)
    bread = inverse(model.observed(at))
    return bread if kind == "observed" else np.asarray(bread @ _spread(model, at, scores) @ bread)


def _spread(model: Curved, at: Array, scores: Array) -> Array:
    """The variance of the scores' sum. A finite population lessens what comes from drawing people, never the
    randomization: of the share f that was drawn, f times the scores' variance given the truths is added.
    """
    drawn = model.people.drawn
    if drawn is None or drawn.fraction is None or not isinstance(model, TellsApart):
        return model.people.scatter(scores)
    return drawn.scatter(scores, finite=True) + model.randomization(at, drawn.fraction)


def inverse(information: Array) -> Array:
    """The inverse of a positive definite matrix; a maximum has no other."""
    try:
        np.linalg.cholesky(information)
    except np.linalg.LinAlgError:
        consequence = "the likelihood is flat or rises there; another `se` may be defined"
        refuse("the information at the maximum must be positive definite", "one that is not", consequence)
    return np.asarray(np.linalg.inv(information))
