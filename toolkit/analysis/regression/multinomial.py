"""`multinomial`: regression of a categorical trait that is observed through randomized reports."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from toolkit.analysis.regression.covariates import standardize
from toolkit.analysis.regression.fit import AnswerFit, answer_fit_fields
from toolkit.analysis.regression.margins import Effect
from toolkit.analysis.regression.rows import SMALLEST_LIKELIHOOD, Channel, ModelRows, People, read_model_rows
from toolkit.analysis.regression.scoring import (
    ErrorKind,
    Evaluation,
    block_gram,
    checked_error_kind,
    checked_penalty,
    covariance,
    find_maximum,
    with_jeffreys_penalty,
)
from toolkit.analysis.regression.stan import SOFTMAX_SHARES, StanBlocks, covariates_in_stan
from toolkit.analysis.reports import Data, SurveyLike
from toolkit.analysis.sampling.sample import Sampled
from toolkit.core.arrays import Array, Values
from toolkit.core.checks import explain_call, reject
from toolkit.core.inference.special import expit, softmax
from toolkit.local.design import Design

_ADVICE = "use penalty='jeffreys', join rare options, or leave out covariates"


@dataclass(frozen=True, eq=False)
class MultinomialModel:
    """The log-likelihood of reports on k options; `option_order` lists the indices of the options, the base first.

    A report y has probability sum_t p_t P[t, y], where p is the softmax of x'b_t, and b = 0 for the base. Coefficients
    are ordered by option; the base has none.
    """

    columns: Array
    channel: Channel
    people: People
    option_order: tuple[int, ...]

    @property
    def n_parameters(self) -> int:
        return (len(self.option_order) - 1) * int(self.columns.shape[1])

    def shares(self, params: Array) -> Array:
        """Return Pr(truth): one row per option in `option_order`, one column per person."""
        return option_shares(self.columns, params, len(self.option_order))

    def evaluate(self, params: Array) -> Evaluation:
        """Return log-likelihood, score and expected information at these coefficients."""
        shares = self.shares(params)
        joint = self._joint_probabilities(shares)
        likelihood = joint.sum(axis=0)
        factors = self.people.row_weights * (joint / likelihood - shares)
        loglike = float(self.people.row_weights @ np.log(likelihood))
        information = self._information(self._expected_information(shares))
        return Evaluation(params, loglike, (factors[1:] @ self.columns).ravel(), information)

    def scores(self, params: Array) -> Array:
        """Return each person's score times the person's weight: one row per person."""
        shares = self.shares(params)
        joint = self._joint_probabilities(shares)
        factors = joint / joint.sum(axis=0) - shares
        if self.people.weights is not None:
            factors = factors * self.people.weights
        return np.concatenate([factor[:, None] * self.columns for factor in factors[1:]], axis=1)

    def observed_information(self, params: Array) -> Array:
        """Return the observed information: the prior covariance of the truth minus its covariance given the report."""
        shares = self.shares(params)
        joint = self._joint_probabilities(shares)
        return self._information(_truth_covariance(shares) - _truth_covariance(joint / joint.sum(axis=0)))

    def randomization_variance(self, params: Array, sampling_fraction: Array) -> Array:
        """Return the variance of the sum of scores given the truths, times each person's `sampling_fraction`."""
        shares = self.shares(params)
        variance = np.zeros((len(shares), *shares.shape))
        for rows, matrix in self.channel.rows_by_design():
            reports = matrix[list(self.option_order)]
            prior = shares[:, rows]
            posterior = reports[:, :, None] * prior[:, None] / np.maximum(reports.T @ prior, SMALLEST_LIKELIHOOD)
            variance[:, :, rows] = score_variance_given_truth(reports, prior, posterior)
        return self._information(variance * sampling_fraction * self.people.row_weights)

    def _joint_probabilities(self, shares: Array) -> Array:
        return np.asarray(shares * self.channel.report_likelihood[list(self.option_order)])

    def _expected_information(self, shares: Array) -> Array:
        """Return the information of one report: p_s p_t (sum_y P[s, y] P[t, y] / Pr(y) - 1) for options s, t."""
        k = len(self.option_order)
        information = np.zeros((k, k, shares.shape[1]))
        for rows, matrix in self.channel.rows_by_design():
            reports = matrix[list(self.option_order)]
            inner = report_information(reports, reports.T @ shares[:, rows]) - 1
            information[:, :, rows] = inner * shares[:, None, rows] * shares[None, :, rows]
        return information

    def _information(self, weights: Array) -> Array:
        """Return the information of all reports, from that of each report on the log odds of the options."""
        return block_gram(self.columns, weights[1:, 1:] * self.people.row_weights)


def option_shares(columns: Array, params: Array, n_options: int) -> Array:
    """Return the softmax of the linear predictors (0 for the base): one row per option, one column per person."""
    eta = params.reshape(n_options - 1, -1) @ columns.T
    if n_options == 2:
        return np.concatenate([expit(-eta), expit(eta)])
    eta = np.vstack([np.zeros(len(columns)), eta])
    return np.asarray(softmax(eta, axis=0))


def report_information(slopes: Array, likelihood: Array) -> Array:
    """Return for each person the sum over reports y of slopes[s, y] slopes[t, y] / likelihood[y], as [s, t, person]."""
    products = slopes[:, None] * slopes[None]
    return np.asarray(products @ (1 / np.maximum(likelihood, SMALLEST_LIKELIHOOD)))


def score_variance_given_truth(reports: Array, prior: Array, scores: Array) -> Array:
    """Return the variance of each person's scores[s, y, person] given the truth, averaged over truths."""
    mean = np.einsum("ty,syi->tsi", reports, scores)
    second_moment = np.einsum("yi,syi,ryi->sri", reports.T @ prior, scores, scores)
    return np.asarray(second_moment - np.einsum("ti,tsi,tri->sri", prior, mean, mean))


def _truth_covariance(shares: Array) -> Array:
    """Return diag(p) - p p' for each person."""
    cov = -shares[:, None] * shares[None]
    for index, share in enumerate(shares):
        cov[index, index] += share
    return np.asarray(cov)


@dataclass(frozen=True, eq=False, repr=False)
class MultinomialFit(AnswerFit):
    """A fitted `multinomial` model; its labels read "option: column".

    Parameters
    ----------
    option_order : tuple of int
        Indices of the options; the base category comes first.

    Examples
    --------
    >>> from toolkit import k_ary
    >>> from toolkit.analysis import multinomial
    >>> rng, design = np.random.default_rng(0), k_ary(("never", "once", "often"), epsilon=2.0)
    >>> fit = multinomial(design.randomize(rng.integers(0, 3, 5000), rng=rng), np.ones((5000, 0)), design)
    >>> fit.options
    ('never', 'once', 'often')
    """

    option_order: tuple[int, ...]

    @property
    def ratio_name(self) -> str:
        return "odds ratio"

    @property
    def options(self) -> tuple[str | int, ...]:
        """The options, the base first."""
        return tuple(self.data.channel.options[index] for index in self.option_order)

    @property
    def _option_order(self) -> tuple[int, ...]:
        return self.option_order

    def _refit(self, channel: Channel) -> "MultinomialFit":
        rows = replace(self.data, channel=channel)
        return _fit(rows, self.option_order, self.provenance.error_kind, self.provenance.is_penalized)

    def _predictions(self, matrix: Array) -> list[Effect]:
        shares = option_shares(matrix, self.value, len(self.option_order))
        predicted = []
        for index, (share, option) in enumerate(zip(shares, self.options, strict=True)):
            slopes = [share * ((index == other) - shares[other]) for other in range(1, len(shares))]
            gradient = np.concatenate([slope[:, None] * matrix for slope in slopes], axis=1)
            predicted.append(Effect(str(option), share, gradient))
        return predicted

    def _stan_blocks(self) -> tuple[str, StanBlocks, People]:
        width = len(self.covariates.labels)
        names = [f"beta[{1 + index % width},{1 + index // width}]" for index in range(len(self.labels))]
        blocks = StanBlocks(
            labels=dict(zip(names, map(str, self.labels), strict=True)),
            parameters=("matrix[K, T - 1] beta;",),
            model=("matrix[N, T] eta = append_col(rep_vector(0, N), X * beta);", *SOFTMAX_SHARES),
            data=covariates_in_stan(self.covariates.matrix),
        )
        title = "Multinomial regression of a trait behind randomized reports; the first truth is the base"
        return title, blocks.with_channel(self.data.channel, self.option_order), self._people

    def _model(self) -> MultinomialModel:
        return MultinomialModel(self.data.covariates.matrix, self.data.channel, self.data.people, self.option_order)


@explain_call(
    'multinomial("choice ~ age", frame, k_ary(["bus", "car", "bike"], epsilon=1.0))',
    design="it states how reports were randomized",
)
def multinomial(
    formula: str | Values,
    data: Data | Values,
    design: Design | Mapping[Any, Any] | SurveyLike,
    *,
    base: str | int | None = None,
    design_by: Values | None = None,
    se: ErrorKind | None = None,
    penalty: Literal["jeffreys"] | None = None,
    sample: Sampled | None = None,
    weights: Values | None = None,
    strata: Values | None = None,
    clusters: Values | None = None,
    times: Values | None = None,
    missing: float | Iterable[object] = "refuse",
) -> MultinomialFit:
    """Regress a categorical trait on covariates, from randomized reports.

    Each option except the base has its own coefficients, which are log odds ratios against the base. The likelihood is
    maximized by Fisher scoring from zero; if it has no maximum at finite coefficients, a ValueError is raised. With
    penalty="jeffreys", the maximum is always finite.

    Parameters
    ----------
    formula, data, design : str, frame and Design
        As for `logistic`.
    base : str or int, optional
        The option that the others are compared with; by default the first option.
    design_by, se, penalty, sample, weights, strata, clusters, times, missing : optional
        As for `logistic`.

    Returns
    -------
    MultinomialFit
        The coefficients and their standard errors, with methods such as `predict`, `margins` and `compare`.

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
    rows = read_model_rows(formula, data, design, design_by, sampling, missing)
    options = rows.channel.options
    if base is not None and base not in options:
        reject("`base` must be one of the options", repr(base), f"they are {', '.join(map(str, options))}")
    first = 0 if base is None else options.index(base)
    option_order = (first, *(index for index in range(len(options)) if index != first))
    with_jeffreys = checked_penalty(penalty)
    return _fit(rows, option_order, checked_error_kind(se, rows.people, with_jeffreys), with_jeffreys)


def _fit(rows: ModelRows, option_order: tuple[int, ...], error_kind: str, with_jeffreys: bool) -> MultinomialFit:
    """Maximize the likelihood; return coefficients and errors for the covariates in their original units."""
    options = rows.channel.options
    columns, back = standardize(rows.covariates)
    model = MultinomialModel(columns, rows.channel, rows.people, option_order)
    evaluate = with_jeffreys_penalty(model.evaluate) if with_jeffreys else model.evaluate
    start = np.zeros(model.n_parameters)
    params = find_maximum(evaluate, model.observed_information, start, with_jeffreys, _ADVICE).params
    point = model.evaluate(params)
    cov = covariance(model, params, error_kind, point.information)
    back_of_all = np.kron(np.eye(len(option_order) - 1), back)
    labels = tuple(f"{options[index]}: {name}" for index in option_order[1:] for name in rows.covariates.labels)
    result = (back_of_all @ params, back_of_all @ cov @ back_of_all.T, labels, point.loglike)
    form = f"against {options[option_order[0]]!r}"
    fields = answer_fit_fields("multinomial", rows, result, form, error_kind, with_jeffreys)
    return MultinomialFit(*fields, option_order)
