"""`ordinal`: regression of an ordered answer, such as a point of a Likert scale, from randomized reports."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import Any, Literal

import numpy as np

from toolkit.analysis.regression.covariates import Covariates, split_formula, standardize
from toolkit.analysis.regression.diagnostics import ReportLaw
from toolkit.analysis.regression.fit import AnswerFit, Comparison, answer_fit_fields, wald_comparison
from toolkit.analysis.regression.logistic import Link, link_named
from toolkit.analysis.regression.margins import Effect
from toolkit.analysis.regression.multinomial import report_information, score_variance_given_truth
from toolkit.analysis.regression.rows import SMALLEST_LIKELIHOOD, Channel, ModelRows, People, read_model_rows
from toolkit.analysis.regression.scoring import (
    ErrorKind,
    Evaluate,
    Evaluation,
    Maximization,
    ascend,
    block_gram,
    checked_error_kind,
    checked_penalty,
    covariance,
    find_maximum,
    inverse_information,
    score_sum_variance,
    weighted_gram,
    with_jeffreys_penalty,
)
from toolkit.analysis.regression.stan import LINK_FUNCTIONS, StanBlocks, covariates_in_stan, element_labels
from toolkit.analysis.reports import Data, SurveyLike
from toolkit.analysis.sampling.sample import Sampled
from toolkit.core.arrays import Array, Labels, Values
from toolkit.core.checks import explain_call, reject
from toolkit.core.fit_table import Cells
from toolkit.core.inference.special import chdtrc, expit
from toolkit.frames.table import as_frame, floats_or_none, is_lazy
from toolkit.local.design import Design

_ADVICE = "use penalty='jeffreys', join neighboring options, or leave out covariates"
_VANISHED = 1e-9  # a mean share below this (one person in a billion) counts as 0
_NEARBY = 0.02  # gap added between thresholds for a second attempt, if they met at the first
_START = 1.5  # thresholds start equally spaced between -1.5 and 1.5, so that no option has a small share


@dataclass(frozen=True, eq=False)
class OrdinalModel:
    """The log-likelihood of reports on ordered options; `option_order` lists their indices, the lowest first.

    The probability that the truth is option j or a lower one is F(threshold_j - x'b), with F the inverse link. The
    parameters are the slopes b, then the thresholds. If not `is_parallel`, each threshold has separate slopes, and the
    parameters are each threshold followed by its slopes. `columns` holds a column of ones, then -x.
    """

    columns: Array
    link: Link
    channel: Channel
    people: People
    option_order: tuple[int, ...]
    is_parallel: bool = True

    @cached_property
    def constraints(self) -> Array:
        """The matrix that maps the parameters to those of the model with separate slopes for each threshold."""
        n_thresholds, width = len(self.option_order) - 1, self.columns.shape[1]
        if not self.is_parallel:
            return np.eye(n_thresholds * width)
        slopes, threshold = np.eye(width)[:, 1:], np.eye(width)[:, :1]
        return np.hstack([np.tile(slopes, (n_thresholds, 1)), np.kron(np.eye(n_thresholds), threshold)])

    def shares(self, params: Array) -> Array:
        """Return Pr(truth): one row per option in `option_order`, one column per person."""
        return ordered_shares(self.link, self._predictors(params))[0]

    def evaluate(self, params: Array) -> Evaluation:
        """Return log-likelihood, score and expected information; the log-likelihood is -inf if thresholds cross."""
        eta = self._predictors(params)
        if np.any(eta[1:] < eta[:-1]):
            return Evaluation(params, -np.inf, np.zeros(len(params)), np.zeros((len(params),) * 2))
        shares, slopes = ordered_shares(self.link, eta)
        likelihood = self._likelihood(shares)
        loglike = float(self.people.row_weights @ np.log(likelihood))
        factors = self.people.row_weights * slopes * self._likelihood_differences / likelihood
        score = self.constraints.T @ (factors @ self.columns).ravel()
        return Evaluation(params, loglike, score, self._information(self._expected_information(shares, slopes)))

    def scores(self, params: Array) -> Array:
        """Return each person's score times the person's weight: one row per person."""
        factors = self._score_factors(self._predictors(params))
        if self.people.weights is not None:
            factors = factors * self.people.weights
        return np.concatenate([factor[:, None] * self.columns for factor in factors], axis=1) @ self.constraints

    def observed_information(self, params: Array) -> Array:
        """Return the observed information: minus the Hessian of the log-likelihood."""
        eta = self._predictors(params)
        factors = self._score_factors(eta)
        weights = factors[:, None] * factors[None]
        diagonal = np.arange(len(eta))
        weights[diagonal, diagonal] -= self.link.curvature(eta) * factors
        return self._information(weights)

    def randomization_variance(self, params: Array, sampling_fraction: Array) -> Array:
        """Return the variance of the sum of scores given the truths, times each person's `sampling_fraction`."""
        eta = self._predictors(params)
        shares, slopes = ordered_shares(self.link, eta)
        variance = np.empty((len(eta), *eta.shape))
        for rows, reports in self._reports_by_design():
            prior = shares[:, rows]
            scores = slopes[:, None, rows] * (reports[:-1] - reports[1:])[:, :, None]
            scores = scores / np.maximum(reports.T @ prior, SMALLEST_LIKELIHOOD)
            variance[:, :, rows] = score_variance_given_truth(reports, prior, scores)
        return self._information(variance * sampling_fraction * self.people.row_weights)

    def _predictors(self, params: Array) -> Array:
        """Return threshold - x'b: one row per threshold, one column per person."""
        coefficients = (self.constraints @ params).reshape(len(self.option_order) - 1, -1)
        return np.asarray(coefficients @ self.columns.T)

    @cached_property
    def _report_likelihood(self) -> Array:
        return np.asarray(self.channel.report_likelihood[list(self.option_order)])

    @cached_property
    def _likelihood_differences(self) -> Array:
        """The derivatives of the likelihood with respect to the cumulative probabilities of the options."""
        return np.asarray(self._report_likelihood[:-1] - self._report_likelihood[1:])

    def _likelihood(self, shares: Array) -> Array:
        return np.asarray(np.maximum(np.einsum("ti,ti->i", shares, self._report_likelihood), SMALLEST_LIKELIHOOD))

    def _reports_by_design(self) -> Iterable[tuple[Any, Array]]:
        return ((rows, matrix[list(self.option_order)]) for rows, matrix in self.channel.rows_by_design())

    def _score_factors(self, eta: Array) -> Array:
        """Return the derivatives of each person's log-likelihood with respect to the linear predictors."""
        shares, slopes = ordered_shares(self.link, eta)
        return np.asarray(slopes * self._likelihood_differences / self._likelihood(shares))

    def _expected_information(self, shares: Array, slopes: Array) -> Array:
        """Return the information of one report on each pair of linear predictors."""
        information = np.empty((len(slopes), *slopes.shape))
        for rows, reports in self._reports_by_design():
            information[:, :, rows] = report_information(reports[:-1] - reports[1:], reports.T @ shares[:, rows])
        information *= slopes
        information *= slopes[:, None]
        return information

    def _information(self, weights: Array) -> Array:
        """Return the information of all reports, from that of each report on the linear predictors."""
        if not self.is_parallel:
            return block_gram(self.columns, weights * self.people.row_weights)
        # All thresholds have the same slopes, so one sum over people is enough for the slopes.
        by_threshold, slopes = weights.sum(axis=1) * self.people.row_weights, self.columns[:, 1:]
        mixed = by_threshold @ slopes
        by_slopes = weighted_gram(slopes, by_threshold.sum(axis=0))
        return np.block([[by_slopes, mixed.T], [mixed, weights @ self.people.row_weights]])


def ordered_shares(link: Link, eta: Array) -> tuple[Array, Array]:
    """Return the probability of each option, and the slopes of the cumulative probabilities.

    Differences are computed in the smaller tail, where no digits cancel.
    """
    probability, complement, slopes = link.evaluate(eta)
    shares = np.empty((len(eta) + 1, eta.shape[1]))
    shares[0], shares[-1] = probability[0], complement[-1]
    below, above = probability[1:] - probability[:-1], complement[:-1] - complement[1:]
    shares[1:-1] = np.where(probability[1:] < 0.5, below, above)
    return shares, slopes


@dataclass(frozen=True, eq=False)
class OrderedCoordinates:
    """A model in coordinates that keep the thresholds in order: slopes, first threshold, then distances.

    A distance is log(1 + e**c) for a coordinate c: about e**c if it is short, and about c if it is long. The likelihood
    is maximized in these coordinates. Jeffreys' penalty is defined in these coordinates as well: it falls without limit
    as two thresholds approach each other, so the penalized share of an option is never 0.
    """

    model: OrdinalModel

    @property
    def start(self) -> Array:
        """Coordinates without slopes, and with thresholds at equal distances."""
        k = len(self.model.option_order)
        distances = np.full(k - 2, np.log(np.expm1(2 * _START / k)))
        return np.concatenate([np.zeros(self._n_slopes), [2 * _START / k - _START], distances])

    def params(self, coordinates: Array) -> Array:
        """Return slopes and thresholds."""
        slopes, first, distances = np.split(coordinates, [self._n_slopes, self._n_slopes + 1])
        return np.concatenate([slopes, np.cumsum(np.concatenate([first, np.logaddexp(0, distances)]))])

    def ascend(self, evaluate: Evaluate, observed_information: Callable[[Array], Array], start: Array) -> Maximization:
        """Maximize the log-likelihood; try again from nearby if the share of an option tends to 0.

        Where a share is almost 0, the likelihood is flat, even if it rises for a larger share.
        """
        ascent = ascend(evaluate, observed_information, start)
        if self._vanished_option(ascent.point.params) is None:
            return ascent
        slopes, thresholds = np.split(self.params(ascent.point.params), [self._n_slopes])
        thresholds = np.clip(thresholds, -2 * _START, _START) + _NEARBY * np.arange(len(thresholds))
        nearby = np.concatenate([slopes, thresholds[:1], np.log(np.expm1(np.diff(thresholds)))])
        again = replace(ascend(evaluate, observed_information, nearby), start=ascent.start)
        if (option := self._vanished_option(again.point.params)) is not None:
            rule = "every option must have a share above 0 where the likelihood is highest"
            reject(rule, f"a share of 0 for {option!r}", "join it with a neighboring option, or use penalty='jeffreys'")
        return again

    def _vanished_option(self, coordinates: Array) -> str | None:
        """Return the option with the smallest mean share, if this share is almost 0."""
        model = self.model
        mean = np.average(model.shares(self.params(coordinates)), axis=1, weights=model.people.row_weights)
        smallest = model.channel.options[model.option_order[int(mean.argmin())]]
        return str(smallest) if mean.min() < _VANISHED else None

    def evaluate(self, coordinates: Array) -> Evaluation:
        """Return log-likelihood, score and expected information at these coordinates."""
        point, jacobian = self.model.evaluate(self.params(coordinates)), self._jacobian(coordinates)
        information = jacobian.T @ point.information @ jacobian
        return Evaluation(coordinates, point.loglike, jacobian.T @ point.score, information)

    def observed_information(self, coordinates: Array) -> Array:
        """Return minus the Hessian of the log-likelihood; a distance moves all thresholds above it."""
        params, jacobian = self.params(coordinates), self._jacobian(coordinates)
        curvature = jacobian.T @ self.model.evaluate(params).score * expit(-coordinates)
        curvature[: self._n_slopes + 1] = 0  # the slopes and the first threshold are themselves coordinates
        return np.asarray(jacobian.T @ self.model.observed_information(params) @ jacobian - np.diag(curvature))

    @property
    def _n_slopes(self) -> int:
        return int(self.model.columns.shape[1]) - 1

    def _jacobian(self, coordinates: Array) -> Array:
        """Return the derivatives of slopes and thresholds with respect to the coordinates."""
        jacobian, first = np.eye(len(coordinates)), self._n_slopes
        steps = np.concatenate([[1.0], expit(coordinates[first + 1 :])])
        jacobian[first:, first:] = np.tril(np.ones((len(steps),) * 2)) * steps
        return jacobian


@dataclass(frozen=True, eq=False, repr=False)
class OrdinalFit(AnswerFit):
    """A fitted `ordinal` model; its labels are the covariates, then the thresholds, as in "low|medium".

    Parameters
    ----------
    link : object
        The link function; its `name` is "logit", "probit" or "cloglog".
    option_order : tuple of int
        Indices of the options, the lowest first.
    scores : tuple of float, optional
        The scores of the options. If given (see `with_scores`), predictions and margins are mean scores.

    Examples
    --------
    >>> from toolkit import k_ary
    >>> from toolkit.analysis import ordinal
    >>> rng, design = np.random.default_rng(0), k_ary(("low", "medium", "high"), epsilon=2.0)
    >>> age = rng.normal(size=5000)
    >>> truth = np.digitize(age + rng.logistic(size=5000), [-1, 1])
    >>> fit = ordinal(design.randomize(truth, rng=rng), age, design)
    >>> fit.labels, fit.thresholds.round(1)
    (('x1', 'low|medium', 'medium|high'), array([-1.,  1.]))
    """

    link: Link
    option_order: tuple[int, ...]
    scores: tuple[float, ...] | None = None

    @property
    def ratio_name(self) -> str:
        return "odds ratio" if self.link.name == "logit" else ""

    @property
    def options(self) -> Labels:
        """The options, the lowest first."""
        return tuple(self.data.channel.options[index] for index in self.option_order)

    @property
    def thresholds(self) -> Array:
        """The thresholds between neighboring options, in increasing order."""
        return self.value[self._n_slopes :]

    @property
    def predicts_means(self) -> bool:
        return self.scores is not None

    def with_scores(self, scores: Sequence[float] | None = None) -> "OrdinalFit":
        """Return the same fit with predictions, margins and plots of the mean score instead of the shares.

        Parameters
        ----------
        scores : sequence of float, optional
            One number for each option, the lowest first; by default the options themselves if they are numbers, else
            1, 2, ….

        Returns
        -------
        OrdinalFit
            The same coefficients.

        Examples
        --------
        >>> from toolkit import likert
        >>> from toolkit.analysis import ordinal
        >>> rng, scale = np.random.default_rng(0), likert(5, epsilon=2.0)
        >>> fit = ordinal(scale.distribution.randomize(rng.integers(1, 6, 9000), rng=rng), np.ones((9000, 0)), scale)
        >>> fit.margins().labels, round(fit.with_scores().margins().value, 1)
        (('1', '2', '3', '4', '5'), 3.0)
        """
        default = self.options if all(isinstance(option, int) for option in self.options) else range(1, 1 + self._k)
        numbers = floats_or_none(np.asarray(default if scores is None else list(scores)))
        if numbers is None or numbers.shape != (self._k,) or not np.isfinite(numbers).all():
            rule = f"`scores` must be one number for each of the {self._k} options"
            received = f"{np.size(numbers)} numbers" if numbers is not None else "something else"
            reject(rule, received, f"they are the scores of {', '.join(map(str, self.options))}")
        return replace(self, scores=tuple(numbers.tolist()))

    def most_likely(self, data: Data | Values | None = None) -> Values:
        """Predict the option with the largest probability for people with these covariates.

        Parameters
        ----------
        data : frame or array, optional
            The covariates of new people; by default, predictions are for the people in the fitted data.

        Returns
        -------
        array
            One option per row.
        """
        matrix = self.covariates.matrix if data is None else self.covariates.matrix_of(data)
        shares, _ = ordered_shares(self.link, self._linear_predictors(matrix))
        several_types = len({type(option) for option in self.options}) > 1
        options = np.asarray(self.options, dtype=object if several_types else None)
        return np.asarray(options[shares.argmax(axis=0)])

    def test_parallel_slopes(self) -> Comparison:
        """Test whether the slopes are the same at all thresholds.

        The alternative model has separate slopes for each threshold. The score test does not fit that model, whose
        thresholds may cross. With weights, strata or clusters it is an F test with the variance of the scores in the
        sample. `multinomial` also makes no such assumption, but `ordinal` is not nested in it. Twice the difference of
        their log-likelihoods therefore has no chi-squared distribution; compare their `aic`.

        Returns
        -------
        Comparison
            Statistic, degrees of freedom and p-value.
        """
        df = (self._k - 2) * self._n_slopes
        if not df:
            rule = "parallel slopes need three options and a covariate"
            reject(rule, f"{self._k} options, {self._n_slopes} slopes", "there is nothing to compare")
        if self.provenance.is_penalized:
            reject("a score test needs a fit without penalty", "penalty='jeffreys'", "fit without `penalty`")
        columns, back = _standardized(self.covariates, self._k)
        model = OrdinalModel(columns, self.link, self.data.channel, self._people, self.option_order)
        params = model.constraints @ np.linalg.solve(back, self.value)
        model = replace(model, is_parallel=False)
        point = model.evaluate(params)
        cov = inverse_information(point.information)
        step = cov @ point.score
        if self._people.is_complex:
            cov = cov @ score_sum_variance(model, params, model.scores(params)) @ cov
        from_first = np.column_stack([-np.ones(self._k - 2), np.eye(self._k - 2)])
        contrasts = np.kron(from_first, np.eye(columns.shape[1])[1:])
        difference, cov = contrasts @ step, contrasts @ cov @ contrasts.T
        if self.provenance.df is not None:
            return wald_comparison(difference, cov, self.provenance.df, "score, F")
        statistic = float(difference @ np.linalg.solve(cov, difference))
        return Comparison(statistic, df, float(chdtrc(df, statistic)), "score")

    @property
    def _k(self) -> int:
        return len(self.option_order)

    @property
    def _n_slopes(self) -> int:
        return len(self.labels) - self._k + 1

    @property
    def _slope_indices(self) -> list[int]:
        return list(range(self._n_slopes))

    def _table_rows(self, rows: Sequence[Cells]) -> tuple[Cells, ...]:
        """Put a heading between the slopes and the thresholds."""
        heading = ("thresholds", *[""] * (len(rows[0]) - 1))
        return (*rows[: self._n_slopes], heading, *rows[self._n_slopes :])

    def _refit(self, channel: Channel) -> "OrdinalFit":
        rows = replace(self.data, channel=channel)
        fit = _fit(rows, self.link, self.option_order, self.provenance.error_kind, self.provenance.is_penalized)
        return replace(fit, scores=self.scores)

    @property
    def _option_order(self) -> tuple[int, ...]:
        return self.option_order

    def _truth_shares(self) -> list[Effect]:
        return replace(self, scores=None)._predictions(self.covariates.matrix)

    def _report_law(self) -> ReportLaw:
        """Return the distribution of reports; if reports are options, they are in the order of the model."""
        law, designs = super()._report_law(), self.data.channel.designs
        reports_are_options = all(design.report_options == design.options for design in designs)
        return law.reordered(self.option_order) if reports_are_options else law

    def _stan_blocks(self) -> tuple[str, StanBlocks, People]:
        slopes, thresholds = self.labels[: self._n_slopes], self.labels[self._n_slopes :]
        blocks = StanBlocks(
            labels={**element_labels("beta", slopes), **element_labels("threshold", thresholds)},
            parameters=("vector[K] beta;", "ordered[T - 1] threshold;"),
            model=(
                "matrix[N, T] share;",
                "vector[N] below = rep_vector(0, N);",
                "for (t in 1:(T - 1)) {",
                f"  vector[N] up_to = {LINK_FUNCTIONS[self.link.name]}(threshold[t] - X * beta);",
                "  share[, t] = up_to - below;",
                "  below = up_to;",
                "}",
                "share[, T] = 1 - below;",
            ),
            data=covariates_in_stan(-_model_columns(self.covariates, self.covariates.matrix)[:, 1:]),
        )
        title = f"Ordinal regression of a trait behind randomized reports ({self.link.name} link)"
        return title, blocks.with_channel(self.data.channel, self.option_order), self._people

    def _model(self) -> OrdinalModel:
        columns = _model_columns(self.covariates, self.covariates.matrix)
        return OrdinalModel(columns, self.link, self.data.channel, self._people, self.option_order)

    def _linear_predictors(self, matrix: Array) -> Array:
        columns = _model_columns(self.covariates, matrix)[:, 1:]
        return np.asarray(self.thresholds[:, None] + columns @ self.value[: self._n_slopes])

    def _predictions(self, matrix: Array) -> list[Effect]:
        eta = self._linear_predictors(matrix)
        shares, slopes = ordered_shares(self.link, eta)
        columns = _model_columns(self.covariates, matrix)[:, 1:]
        # The share of an option increases with the threshold above it and decreases with the threshold below it.
        gains = np.eye(self._k)[:, :-1] - np.eye(self._k, self._k - 1, -1)
        weights = gains if self.scores is None else np.array(self.scores) @ gains
        values = shares if self.scores is None else np.array(self.scores) @ shares
        labels = ("",) if self.scores is not None else tuple(map(str, self.options))
        predicted = []
        for label, value, weight in zip(labels, np.atleast_2d(values), np.atleast_2d(weights), strict=True):
            by_threshold = (weight[:, None] * slopes).T
            gradient = np.column_stack([by_threshold.sum(axis=1)[:, None] * columns, by_threshold])
            predicted.append(Effect(label, value, gradient))
        return predicted


def _model_columns(covariates: Covariates, matrix: Array) -> Array:
    """Return the columns of the model: ones for the thresholds, then the negative covariates."""
    return np.column_stack([np.ones(len(matrix)), -np.delete(matrix, covariates.labels.index("Intercept"), axis=1)])


def _standardized(covariates: Covariates, k: int) -> tuple[Array, Array]:
    """Return the columns of the model after standardization, and the matrix that converts slopes and thresholds back.

    A threshold absorbs the constant that centering a column adds to the linear predictor.
    """
    matrix, back = standardize(covariates)
    intercept = covariates.labels.index("Intercept")
    slopes = np.delete(np.delete(back, intercept, axis=0), intercept, axis=1)
    shift = -np.delete(back[intercept], intercept)
    upper, lower = [slopes, np.zeros((len(slopes), k - 1))], [np.tile(shift, (k - 1, 1)), np.eye(k - 1)]
    return _model_columns(covariates, matrix), np.block([upper, lower])


@explain_call('ordinal("trust ~ age", frame, likert(5, epsilon=1.0))', design="it states how reports were randomized")
def ordinal(
    formula: str | Values,
    data: Data | Values,
    design: Design | Mapping[Any, Any] | SurveyLike,
    *,
    link: Literal["logit", "probit", "cloglog"] = "logit",
    order: Sequence[str | int] | None = None,
    design_by: Values | None = None,
    se: ErrorKind | None = None,
    penalty: Literal["jeffreys"] | None = None,
    sample: Sampled | None = None,
    weights: Values | None = None,
    strata: Values | None = None,
    clusters: Values | None = None,
    times: Values | None = None,
    missing: float | Iterable[object] = "refuse",
) -> OrdinalFit:
    r"""Regress an ordered categorical trait on covariates, from randomized reports.

    The cumulative link model is :math:`\Pr(\text{truth} \le j \mid x) = F(\theta_j - x^\top\beta)` with thresholds
    :math:`\theta_1 < \theta_2 < \dots`, as in R's `polr`. A positive slope shifts people toward higher options. With
    the logit link, this is the proportional odds model: :math:`e^\beta` multiplies the odds of an option above j, for
    every j. The thresholds take the place of the intercept. The likelihood is maximized by Fisher scoring; if it has no
    maximum at finite coefficients, a ValueError is raised.

    Parameters
    ----------
    formula, data, design : str, frame and Design
        As for `logistic`; the design may also be a `likert` scale.
    link : {"logit", "probit", "cloglog"}
        The link function of the cumulative probabilities (of an option or a lower one). With two options, "logit" and
        "probit" are the same as in `logistic`; "cloglog" is the link of `logistic` for the lower option.
    order : sequence, optional
        The options from the lowest to the highest; by default the order of the design.
    design_by, se, penalty, sample, weights, strata, clusters, times, missing : optional
        As for `logistic`. The penalty refers to coordinates that keep the thresholds apart: the slopes, the first
        threshold, and log(e**d - 1) for each distance d between thresholds.

    Returns
    -------
    OrdinalFit
        Slopes and thresholds with their errors, and methods such as `predict`, `margins`, `compare` and
        `test_parallel_slopes`.

    Raises
    ------
    ValueError
        If a value is missing, or the maximum is not at finite coefficients.

    Examples
    --------
    >>> from toolkit import likert
    >>> rng, scale = np.random.default_rng(0), likert(5, epsilon=2.0)
    >>> age = rng.normal(size=5000)
    >>> truth = 1 + np.digitize(0.5 * age + rng.logistic(size=5000), [-2, -1, 1, 2])
    >>> fit = ordinal(scale.distribution.randomize(truth, rng=rng), age, scale)
    >>> fit.labels
    ('x1', '1|2', '2|3', '3|4', '4|5')
    >>> low, high = fit["x1"].interval()
    >>> bool(low < 0.5 < high)
    True
    """
    sampling = {"sample": sample, "weights": weights, "strata": strata, "clusters": clusters, "times": times}
    rows = read_model_rows(formula, data, design, design_by, sampling, missing)
    if "Intercept" not in rows.covariates.labels:
        reject("`formula` must not leave out the intercept", "one without", "the thresholds take its place")
    option_order = _option_order(rows.channel.options, order, _declared_order(formula, data))
    with_jeffreys = checked_penalty(penalty)
    return _fit(rows, link_named(link), option_order, checked_error_kind(se, rows.people, with_jeffreys), with_jeffreys)


def _declared_order(formula: str | Values, data: object) -> list[Any] | None:
    """Return the categories of the reports if their column is an ordered categorical, otherwise None."""
    if not isinstance(formula, str):
        kind = getattr(formula, "dtype", None)
    else:
        kind = None if is_lazy(data) else getattr(as_frame(data)[split_formula(formula)[0]], "dtype", None)
    # The categories of a polars Enum are always ordered.
    is_ordered = getattr(kind, "ordered", type(kind).__name__ == "Enum")
    return list(getattr(kind, "categories", ())) if is_ordered else None


def _option_order(options: Labels, order: object, declared: list[Any] | None) -> tuple[int, ...]:
    """Return the indices of the options, the lowest first; `declared` are the ordered categories of the reports."""
    if order is None:
        common = [category for category in declared or () if category in options]
        if common != [option for option in options if option in common]:
            rule = "the ordered categories of the reports must be in the order of the options"
            reject(rule, "another order", "state which order applies, as in order=['low', 'medium', 'high']")
        return tuple(range(len(options)))
    labels = list(order) if isinstance(order, Iterable) and not isinstance(order, str) else []
    if len(labels) != len(options) or any(option not in labels for option in options):
        received = f"{len(labels)} labels" if labels else type(order).__name__
        remedy = f"they are {', '.join(map(str, options))}"
        reject("`order` must list each option once, the lowest first", received, remedy)
    return tuple(options.index(label) for label in labels)


def _fit(
    rows: ModelRows, link: Link, option_order: tuple[int, ...], error_kind: str, with_jeffreys: bool
) -> OrdinalFit:
    """Maximize the likelihood; return slopes and thresholds with errors for the covariates in their original units."""
    columns, back = _standardized(rows.covariates, len(option_order))
    model = OrdinalModel(columns, link, rows.channel, rows.people, option_order)
    coordinates = OrderedCoordinates(model)
    options = [str(rows.channel.options[index]) for index in option_order]
    evaluate = with_jeffreys_penalty(coordinates.evaluate) if with_jeffreys else coordinates.evaluate
    observed, start = coordinates.observed_information, coordinates.start
    end = find_maximum(evaluate, observed, start, with_jeffreys, _ADVICE, coordinates.ascend)
    params = coordinates.params(end.params)
    point = model.evaluate(params)
    cov = covariance(model, params, error_kind, point.information)
    slopes = tuple(label for label in rows.covariates.labels if label != "Intercept")
    thresholds = tuple(f"{low}|{high}" for low, high in pairwise(options))
    result = (back @ params, back @ cov @ back.T, (*slopes, *thresholds), point.loglike)
    form = f"{link.name} link, {' < '.join(options)}"
    fields = answer_fit_fields("ordinal", rows, result, form, error_kind, with_jeffreys)
    return OrdinalFit(*fields, link, option_order)
