"""`multinomial`: who chose what? Regression of a truth among k options, seen through randomized reports."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from toolkit.analysis.regression.covariates import standardize
from toolkit.analysis.regression.fit import AnswerFit, as_estimate, provenance_of
from toolkit.analysis.regression.margins import Effect, basis_of
from toolkit.analysis.regression.rows import Channel, ModelRows, People, read_rows
from toolkit.analysis.regression.scoring import (
    Error,
    Point,
    climb,
    covariance,
    finish,
    gram,
    influence_of,
    inner_maximum,
    kind_of_error,
    penalized_maximum,
    with_penalty,
)
from toolkit.analysis.reports import Asked, Data
from toolkit.analysis.sampling.sample import Sampled
from toolkit.core.arrays import Array, Values
from toolkit.core.checks import choice, explain_call, refuse
from toolkit.core.estimate import Estimate
from toolkit.core.inference.special import softmax
from toolkit.local.design import Design

_ADVICE = "use penalty='jeffreys', join rare options, or leave out covariates"


@dataclass(frozen=True, eq=False)
class OptionsModel:
    """Columns of covariates, the designs and the people; `order` is that of the options, the base first.

    A report y has the probability sum_t p_t P[t, y], with p the softmax of x'b_t and b = 0 for the base. Coefficients
    stand option by option, those of the base left out.
    """

    columns: Array
    channel: Channel
    people: People
    order: tuple[int, ...]

    @property
    def width(self) -> int:
        return (len(self.order) - 1) * int(self.columns.shape[1])

    def shares(self, at: Array) -> Array:
        """Pr(truth), one row per option in `order`, one column per person."""
        return option_shares(self.columns, at, len(self.order))

    def point(self, at: Array) -> Point:
        """Height, gradient and expected information at these coefficients."""
        shares = self.shares(at)
        joint = self._joint(shares)
        likelihood = joint.sum(axis=0)
        leans = self.people.mass * (joint / likelihood - shares)
        height = float(self.people.mass @ np.log(likelihood))
        return Point(at, height, (leans[1:] @ self.columns).ravel(), self._blocks(self._told(shares)))

    def scores(self, at: Array) -> Array:
        """The gradient of each person's log-likelihood, times the person's weight: one row per person."""
        shares = self.shares(at)
        joint = self._joint(shares)
        leans = joint / joint.sum(axis=0) - shares
        if self.people.weights is not None:
            leans = leans * self.people.weights
        return np.concatenate([lean[:, None] * self.columns for lean in leans[1:]], axis=1)

    def observed(self, at: Array) -> Array:
        """Minus the Hessian: the spread of the truth before the report, less what is left of it after."""
        shares = self.shares(at)
        joint = self._joint(shares)
        return self._blocks(_spread(shares) - _spread(joint / joint.sum(axis=0)))

    def randomization(self, at: Array, share: Array) -> Array:
        """The variance of the scores' sum given the truths, by the fit's chances; each person counts with a share."""
        shares = self.shares(at)
        variance = np.zeros((len(shares), *shares.shape))
        for rows, matrix in self.channel.parts():
            chances = matrix[list(self.order)]
            here = shares[:, rows]
            after = chances[:, :, None] * here[:, None] / np.maximum(chances.T @ here, 1e-150)
            mean = np.einsum("ty,syi->tsi", chances, after)
            variance[:, :, rows] = np.einsum("ti,ty,syi,ryi->sri", here, chances, after, after)
            variance[:, :, rows] -= np.einsum("ti,tsi,tri->sri", here, mean, mean)
        return self._blocks(variance * share * self.people.mass)  # times the mass again, the square of the weights

    def _joint(self, shares: Array) -> Array:
        return np.asarray(shares * self.channel.seen[list(self.order)])

    def _told(self, shares: Array) -> Array:
        """What one report is expected to tell: p_s p_t (sum_y P[s, y] P[t, y] / Pr(y) - 1) for options s, t."""
        k = len(self.order)
        information = np.zeros((k, k, shares.shape[1]))
        for rows, matrix in self.channel.parts():
            chances = matrix[list(self.order)]
            likelihood = chances.T @ shares[:, rows]
            inner = np.einsum("sy,ty,yi->sti", chances, chances, 1 / likelihood) - 1
            information[:, :, rows] = inner * shares[:, None, rows] * shares[None, :, rows]
        return information

    def _blocks(self, weights: Array) -> Array:
        """The sum over people of weights[s, t] x x', as one matrix with a block for each pair of options."""
        k, p = len(self.order) - 1, self.columns.shape[1]
        blocks = np.empty((k, p, k, p))
        for s in range(k):
            for t in range(s, k):
                weight = self.people.mass * weights[s + 1, t + 1]
                blocks[s, :, t] = gram(self.columns, weight)
                blocks[t, :, s] = blocks[s, :, t]
        return blocks.reshape(k * p, k * p)


def option_shares(columns: Array, at: Array, options: int) -> Array:
    """The softmax of the linear predictors, that of the base 0: one row per option, one column per person."""
    eta = np.vstack([np.zeros(len(columns)), at.reshape(options - 1, -1) @ columns.T])
    return np.asarray(softmax(eta, axis=0))


def _spread(shares: Array) -> Array:
    """diag(p) - p p' for each person."""
    cov = -shares[:, None] * shares[None]
    for place, share in enumerate(shares):
        cov[place, place] += share
    return np.asarray(cov)


@dataclass(frozen=True, eq=False, repr=False)
class MultinomialFit(AnswerFit):
    """A fitted `multinomial` model; its labels are "option: column".

    Parameters
    ----------
    order : tuple of int
        The places of the options, the base first.

    Examples
    --------
    >>> from toolkit import k_ary
    >>> from toolkit.analysis import multinomial
    >>> rng, design = np.random.default_rng(0), k_ary(("never", "once", "often"), epsilon=2.0)
    >>> fit = multinomial(design.randomize(rng.integers(0, 3, 5000), rng=rng), np.ones((5000, 0)), design)
    >>> fit.options
    ('never', 'once', 'often')
    """

    order: tuple[int, ...]

    @property
    def ratio_name(self) -> str:
        return "odds ratio"

    @property
    def options(self) -> tuple[str | int, ...]:
        """The options, the base first."""
        return tuple(self.data.channel.options[place] for place in self.order)

    def _predict(self, matrix: Array) -> Estimate:
        predicted = self._effects(matrix)
        value = np.stack([effect.value for effect in predicted], axis=1)
        variance = [np.einsum("ij,jk,ik->i", effect.gradient, self.cov, effect.gradient) for effect in predicted]
        se = np.sqrt(np.stack(variance, axis=1))
        return replace(
            self.coefficients,
            value=value.ravel(),
            se=se.ravel(),
            labels=tuple(f"{row}: {option}" for row in range(len(matrix)) for option in self.options),
            cov=None,
            notes=(),
            method="prediction of a multinomial regression",
            basis=basis_of(self.coefficients, value.ravel(), se.ravel(), shares=True),
        )

    def _refit(self, channel: Channel) -> "MultinomialFit":
        rows = replace(self.data, channel=channel)
        return _fit(rows, self.order, self.provenance.error, self.provenance.penalized)

    def _effects(self, matrix: Array) -> list[Effect]:
        shares = option_shares(matrix, self.value, len(self.order))
        predicted = []
        for place, (share, option) in enumerate(zip(shares, self.options, strict=True)):
            moves = [share * ((place == other) - shares[other]) for other in range(1, len(shares))]
            gradient = np.concatenate([move[:, None] * matrix for move in moves], axis=1)
            predicted.append(Effect(str(option), share, gradient))
        return predicted

    def _influence(self) -> Array:
        model = OptionsModel(self.data.covariates.matrix, self.data.channel, self.data.people, self.order)
        return influence_of(model, self.value)


@explain_call(
    'multinomial("choice ~ age", frame, k_ary(["bus", "car", "bike"], epsilon=1.0))',
    design="reports are read through it",
)
def multinomial(
    formula: str | Values,
    data: Data | Values,
    design: Design | Mapping[Any, Any] | Asked,
    *,
    base: str | int | None = None,
    design_by: Values | None = None,
    se: Error | None = None,
    penalty: Literal["jeffreys"] | None = None,
    sample: Sampled | None = None,
    weights: Values | None = None,
    strata: Values | None = None,
    clusters: Values | None = None,
    times: Values | None = None,
    missing: float | Iterable[object] = "refuse",
) -> MultinomialFit:
    """Regress a truth among k options on covariates, from reports that a design has randomized.

    Each option but the base has coefficients of its own, the logarithms of odds against the base. The likelihood is
    climbed by Fisher scoring from zero to an inner maximum; where it rises towards infinity, the fit is refused; with
    penalty="jeffreys" the maximum is always finite.

    Parameters
    ----------
    formula, data, design : str, frame and Design
        As for `logistic`.
    base : str or int, optional
        The option that the others are compared with; the first one without it.
    design_by, se, penalty, sample, weights, strata, clusters, times, missing : optional
        As for `logistic`.

    Returns
    -------
    MultinomialFit
        Coefficients with errors, a table, `predict`, `margins` and `compare`.

    Raises
    ------
    ValueError
        If a value is missing, or the maximum is not at finite coefficients.

    Examples
    --------
    >>> from toolkit import k_ary
    >>> rng, design = np.random.default_rng(0), k_ary(("never", "once", "often"), epsilon=2.0)
    >>> old = rng.random(5000) < 0.5
    >>> truth = np.where(rng.random(5000) < np.where(old, 0.6, 0.3), 0, rng.integers(1, 3, 5000))
    >>> fit = multinomial(design.randomize(truth, rng=rng), old, design)
    >>> fit.labels
    ('once: Intercept', 'once: x1', 'often: Intercept', 'often: x1')
    """
    sampling = {"sample": sample, "weights": weights, "strata": strata, "clusters": clusters, "times": times}
    rows = read_rows(formula, data, design, design_by, sampling, missing)
    options = rows.channel.options
    if base is not None and base not in options:
        refuse("`base` must be one of the options", repr(base), f"they are {', '.join(map(str, options))}")
    first = 0 if base is None else options.index(base)
    order = (first, *(place for place in range(len(options)) if place != first))
    jeffreys = penalty is not None and choice(penalty, "penalty", ("jeffreys",)) == "jeffreys"
    return _fit(rows, order, kind_of_error(se, rows.people, jeffreys), jeffreys)


def _fit(rows: ModelRows, order: tuple[int, ...], kind: str, jeffreys: bool) -> MultinomialFit:
    """The maximum, its errors, and both in the units of the covariates."""
    options = rows.channel.options
    columns, back = standardize(rows.covariates)
    model = OptionsModel(columns, rows.channel, rows.people, order)
    evaluate = with_penalty(model.point, lambda at: model.point(at).information) if jeffreys else model.point
    ascent = climb(evaluate, np.zeros(model.width))
    if jeffreys:
        at = penalized_maximum(evaluate, ascent)
    else:
        at = inner_maximum(model.observed, finish(evaluate, model.observed, ascent), _ADVICE)
    point = model.point(at)
    cov = covariance(model, at, kind, point.information)
    wide = np.kron(np.eye(len(order) - 1), back)
    labels = tuple(f"{options[place]}: {name}" for place in order[1:] for name in rows.covariates.labels)
    method = f"{rows.channel.described}, {'penalized' if jeffreys else 'maximum'} likelihood, {kind} errors"
    against = f"against {options[order[0]]!r}{', Jeffreys penalty' if jeffreys else ''}"
    return MultinomialFit(
        as_estimate(wide @ at, wide @ cov @ wide.T, labels, rows.people, rows.channel.loss, method, rows.notes),
        point.height,
        {"used": rows.people.n, **rows.dropped},
        f"multinomial regression through a randomized answer ({against})",
        provenance_of(rows, f"against {options[order[0]]!r}", kind, jeffreys),
        rows,
        order,
    )
