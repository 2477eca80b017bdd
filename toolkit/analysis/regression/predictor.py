"""`predictor`: regression of an outcome on binary traits that are observed through randomized reports."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from itertools import product
from typing import Any, Literal

import numpy as np

from toolkit.analysis.regression.anchor import Anchor, AnchorReports, as_anchor, attention_side, encode_anchor
from toolkit.analysis.regression.covariates import (
    Covariates,
    constant_columns,
    covariates_from_formula,
    right_side_without,
    rows_with_missing,
    split_formula,
    standardize,
    variables,
)
from toolkit.analysis.regression.fit import Fit, FitProvenance, coefficient_estimate
from toolkit.analysis.regression.mixture import FAMILIES, AnchoredMixture, MixtureModel, checked_outcome
from toolkit.analysis.regression.rows import (
    Channel,
    People,
    aggregate_rows,
    channel,
    complete_rows,
    is_missing_answer,
    missing_cells,
    read_people,
    sampling_columns,
    split_missing,
)
from toolkit.analysis.regression.scoring import (
    Evaluation,
    Likelihood,
    PenalizedLikelihood,
    checked_error_kind,
    checked_penalty,
    covariance,
    interior_maximum,
    is_maximum,
    maximize,
    penalized_maximum,
    with_jeffreys_penalty,
)
from toolkit.analysis.reports import Data, Designs
from toolkit.analysis.sampling.sample import Sampled
from toolkit.core.arrays import Array, Mask, Values
from toolkit.core.checks import check_choice, explain_call, reject
from toolkit.core.covers import ErrorSource
from toolkit.core.estimate import Estimate
from toolkit.core.loss import Pure
from toolkit.frames.table import as_frame, column, finite_floats, is_lazy, row_count, select_rows, with_column
from toolkit.local.anchor import ASSUMPTION

_ADVICE = "use penalty='jeffreys', leave out covariates of the truth (truth='1'), or ask more people"
_LOG_SIGMA_LIMIT = -12.0  # smallest log of the residual sd relative to the outcome's sd: exp(-12) is 6e-6
_MANY_ROWS = 20_000
_SAMPLE = 10_000  # rows for the first steps if there are many
_MAX_RANDOMIZED = 6  # columns of randomized answers


@dataclass(frozen=True, eq=False)
class PredictorRows:
    """The rows that a `predictor` model is fitted to.

    A cell is a combination of the truths. `outcome_covariates` has a matrix for each cell, with the covariates of the
    outcome in that cell; `truth_covariates` are the covariates of the truths.
    """

    outcome: Array
    outcome_covariates: tuple[Array, ...]
    labels: tuple[str, ...]
    truth_covariates: Covariates
    items: tuple[str, ...]
    channels: tuple[Channel, ...]
    people: People
    dropped: Mapping[str, int]
    sampling_notes: tuple[str, ...]
    anchor: AnchorReports | None = None

    @property
    def combinations(self) -> list[tuple[int, ...]]:
        return truth_combinations(self.items)

    @property
    def report_likelihood(self) -> Array:
        """Pr(observed reports | cell), one row per cell: the reports of a person are randomized independently.

        With an anchor, the cells of people who answer at random follow; all their reports are equally likely.
        """
        by_design = np.array(
            [
                np.prod(
                    [item.report_likelihood[truth] for item, truth in zip(self.channels, cell, strict=True)], axis=0
                )
                for cell in self.combinations
            ]
        )
        if self.anchor is None:
            return by_design
        kinds = [len(item.designs[0].report_options) for item in (*self.channels, self.anchor.channel)]
        at_random = np.full(by_design.shape, 1 / np.prod(kinds))
        return np.concatenate([by_design * self.anchor.report_likelihood, at_random])

    @property
    def loss(self) -> Pure:
        """The total privacy loss of a person's reports."""
        return Pure(sum(item.loss.epsilon for item in self.channels))

    @property
    def notes(self) -> tuple[str, ...]:
        assumed = "given the truth, the outcome is taken to be independent of the report"
        return (assumed, *(() if self.anchor is None else (ASSUMPTION,)), *self.sampling_notes)


def truth_combinations(items: tuple[str, ...]) -> list[tuple[int, ...]]:
    """Return all combinations of no (0) and yes (1) for these items."""
    return list(product((0, 1), repeat=len(items)))


def read_predictor_rows(
    formula: str,
    data: Any,
    designs: object,
    truth_formula: str | None,
    sampling: Mapping[str, Any],
    missing: object,
    anchor: Anchor | None = None,
) -> PredictorRows:
    """Read the rows of a model whose formula has randomized answers on its right side."""
    response, right = split_formula(formula)
    stated_truth_side = None if truth_formula is None else truth_formula.strip().removeprefix("~").strip()
    if is_lazy(data):
        data, sampling = _counted_rows(data, response, right, stated_truth_side, sampling, anchor)
    frame = as_frame(data)
    design_of_item = _designs_by_item(designs, variables(right, frame))
    items = _randomized_columns(design_of_item, variables(right, frame))
    truth_side, attention = _further_sides(right, stated_truth_side, items, anchor, frame)
    covariates = {name for side in (right, truth_side, attention) for name in variables(side, frame)} - set(items)
    answers = dict(zip(items, items, strict=True)) | ({} if anchor is None else {"anchor": anchor.reports})
    columns = {"outcome": column(frame, response, "the outcome")} | sampling_columns(frame, sampling)
    columns |= {name: column(frame, reports, "reports") for name, reports in answers.items()}
    used, dropped = _used_rows(frame, columns, answers, covariates, sampling, missing)
    people, notes = read_people(columns, used, sampling, dropped, frame, with_fpc=False)
    rows, columns = select_rows(frame, used), {name: values[used] for name, values in columns.items()}
    # Reports may be text, so they are replaced by numbers before formulaic reads the columns.
    baseline = _with_truths(rows, items, (0,) * len(items))
    outcome_side = covariates_from_formula(right, baseline)
    codes, combinations = split_missing(missing)[1], truth_combinations(items)
    return PredictorRows(
        outcome=finite_floats(columns["outcome"], "outcomes"),
        outcome_covariates=tuple(outcome_side.matrix_of(_with_truths(baseline, items, c)) for c in combinations),
        labels=outcome_side.labels,
        truth_covariates=covariates_from_formula(truth_side, baseline),
        items=items,
        channels=tuple(channel(columns[item], design_of_item[item], None, codes) for item in items),
        people=people,
        dropped=dropped,
        sampling_notes=notes,
        anchor=_read_anchor(anchor, columns, designs, design_of_item, codes, attention, baseline),
    )


def _further_sides(
    right: str, truth_side: str | None, items: tuple[str, ...], anchor: Anchor | None, frame: object
) -> tuple[str, str]:
    """Return the right sides of the formulas of the truths and of attention, which must not contain the truths."""
    truth = right_side_without(right, items) if truth_side is None else truth_side
    attention = "1" if anchor is None else attention_side(anchor, truth)
    for name, side in {"truth": truth, "attention": attention}.items():
        if set(items) & set(variables(side, frame)):
            reject(f"`{name}` must not contain the randomized answers", side, "its covariates explain them")
    return truth, attention


def _used_rows(
    frame: object,
    columns: Mapping[str, Any],
    answers: Iterable[str],
    covariates: Iterable[str],
    sampling: Mapping[str, Any],
    missing: object,
) -> tuple[Mask, dict[str, int]]:
    """Return a mask of the rows without missing values, and the numbers of rows left out."""
    policy, codes = split_missing(missing)
    gaps = missing_cells(columns, sampling)
    gaps |= {name: gaps[name] | is_missing_answer(columns[name], codes) for name in answers}
    gaps["covariates"] = rows_with_missing(frame, tuple(sorted(covariates)))
    return complete_rows(gaps, policy, columns.get("times"))


def _counted_rows(
    data: Any, response: str, right: str, truth_side: str | None, sampling: Mapping[str, Any], anchor: Anchor | None
) -> tuple[Any, dict[str, Any]]:
    """Let the engine count the rows with each combination of values."""
    sides = [right, *([] if truth_side is None else [truth_side])]
    sides += [] if anchor is None else [attention_side(anchor, right)]
    columns = [name for side in sides for name in variables(side, data)]
    return aggregate_rows(
        data, [response, *columns], {**sampling, "anchor": None if anchor is None else anchor.reports}
    )


def _read_anchor(
    anchor: Anchor | None,
    columns: Mapping[str, Any],
    designs: object,
    design_of_item: Mapping[str, Any],
    codes: tuple[Any, ...],
    attention: str,
    rows: Any,
) -> AnchorReports | None:
    """Encode the anchor, whose design is its own, the survey's, or that of the only randomized column."""
    if anchor is None:
        return None
    if anchor.design is None and not hasattr(designs, "questions") and len(design_of_item) > 1:
        received = f"{len(design_of_item)} designs"
        reject("the anchor must have a design", received, "write anchor=Anchor('moon', design)")
    question_design = designs if hasattr(designs, "questions") else next(iter(design_of_item.values()))
    return encode_anchor(anchor, columns, question_design, codes, covariates_from_formula(attention, rows))


def _designs_by_item(designs: object, columns: tuple[str, ...]) -> Any:
    """Return `designs`; for a survey, return the designs of the columns that are its randomized questions."""
    questions = {question.name: question.design for question in getattr(designs, "questions", ())}
    return {name: questions[name] for name in columns if questions.get(name) is not None} if questions else designs


def _randomized_columns(designs: object, right_columns: tuple[str, ...]) -> tuple[str, ...]:
    """Return the randomized columns after checking their designs."""
    if not isinstance(designs, Mapping) or not designs:
        received = type(designs).__name__
        rule = "`designs` must map the randomized columns to their designs"
        reject(rule, received, "write {'cheated': forced('1/6', '1/6')}, for example", TypeError)
    items = tuple(str(name) for name in designs)
    if absent_items := [name for name in items if name not in right_columns]:
        reject(
            "every column of `designs` must be on the right side of the formula",
            ", ".join(absent_items),
            "add it to the formula, or leave out its design",
        )
    if len(items) > _MAX_RANDOMIZED:
        consequence = f"{2 ** len(items)} combinations of truths are too many"
        reject(f"there may be at most {_MAX_RANDOMIZED} randomized answers", len(items), consequence)
    for name, design in designs.items():
        if len(getattr(design, "options", ())) not in (0, 2):
            reject(
                f"the design of {name!r} must have two options",
                len(design.options),
                "a truth on the right side is 0 or 1",
            )
    return items


def _with_truths(frame: object, items: tuple[str, ...], cell: tuple[int, ...]) -> Any:
    """Return the frame after setting the randomized columns to these truths for everybody."""
    for item, truth in zip(items, cell, strict=True):
        frame = with_column(frame, item, np.full(row_count(frame), float(truth)))
    return frame


@dataclass(frozen=True, eq=False, repr=False)
class PredictorFit(Fit):
    """A fitted `predictor` model; its coefficients are those of the outcome.

    Parameters
    ----------
    truth : Estimate
        The coefficients of the model for the truths: the log odds of each combination against "no" to all questions.
    sigma : float, optional
        Standard deviation of the errors of a linear model.
    combination_shares : array
        Shares of the combinations of truths, averaged over people.
    combinations : tuple of tuple of int
        The combinations, in the order of their shares.
    family : {"linear", "logistic"}
        Kind of outcome.
    attention : Estimate, optional
        With an anchor, the coefficients of the log odds that a person follows the instructions.

    Examples
    --------
    >>> from toolkit import forced
    >>> from toolkit.analysis import predictor
    >>> rng, die = np.random.default_rng(1), forced("1/6", "1/6")
    >>> cheated = rng.random(3000) < 0.3
    >>> frame = {"gpa": 2 + 0.8 * cheated + rng.normal(size=3000), "cheated": die.randomize(cheated, rng=rng)}
    >>> fit = predictor("gpa ~ cheated", frame, {"cheated": die})
    >>> fit.combination_shares.round(1), round(fit.sigma, 1)
    (array([0.7, 0.3]), 1.0)
    """

    truth: Estimate
    sigma: float | None
    combination_shares: Array
    combinations: tuple[tuple[int, ...], ...]
    family: str
    attention: Estimate | None = None

    @property
    def ratio_name(self) -> str:
        return "odds ratio" if self.family == "logistic" else ""

    @property
    def _n_parameters(self) -> int:
        n_attention = 0 if self.attention is None else len(self.attention.labels)
        return len(self.labels) + len(self.truth.labels) + (self.sigma is not None) + n_attention


@explain_call('predictor("pay ~ report + age", frame, {"report": forced("1/6", "1/6")})')
def predictor(
    formula: str,
    data: Data,
    designs: Designs,
    *,
    family: Literal["linear", "logistic"] = "linear",
    truth: str | None = None,
    anchor: Anchor | str | None = None,
    se: Literal["observed", "opg", "robust"] | None = None,
    penalty: Literal["jeffreys"] | None = None,
    sample: Sampled | None = None,
    weights: Values | None = None,
    strata: Values | None = None,
    clusters: Values | None = None,
    times: Values | None = None,
    missing: float | Iterable[object] = "refuse",
) -> PredictorFit:
    """Regress an outcome on one or several binary traits that are observed through randomized reports.

    The likelihood of a person is a sum over the possible truths. Each term is the product of three probabilities: of
    the truths given the covariates (a logit model, multinomial for several truths), of the reports given the truths
    (the designs), and of the outcome given truths and covariates. Given the truths, the outcome is assumed to be
    independent of the reports.

    Parameters
    ----------
    formula : str
        "outcome ~ randomized + covariates", with interactions if needed; a randomized column stands for its truth, 0 or
        1.
    data : frame or mapping
        As for `logistic`.
    designs : mapping or Survey
        The design of each randomized column, {"cheated": die}, or the survey; at most six columns, which are
        randomized independently.
    family : {"linear", "logistic"}
        "linear" for normal errors, "logistic" for an outcome of 0 or 1.
    truth : str, optional
        Covariates of the truths, as in "female + age"; by default those of the outcome. If a covariate that is related
        to the truth is left out, the coefficients are biased.
    anchor : Anchor or str, optional
        An anchor question, as for `logistic`: people who do not follow the instructions answer it and all randomized
        questions at random. Given the truths, the outcome is assumed to be independent of attention.
    se : {"observed", "opg", "robust"}, optional
        As for `logistic`.
    penalty : {"jeffreys"}, optional
        Add half the log determinant of the information that would be available on the coefficients if the truths were
        observed. This keeps the share of a truth away from 0 and 1, and the coefficients of a logistic outcome finite.
        Intervals are based on the curvature of the penalized likelihood.
    sample, weights, strata, clusters, times, missing : optional
        As for `logistic`.

    Returns
    -------
    PredictorFit
        The coefficients of the outcome model. The attribute `truth` holds the coefficients of the model for the truths,
        and `attention` those of attention.

    Raises
    ------
    ValueError
        If a value is missing, or the maximum is not at finite coefficients.

    Examples
    --------
    >>> import pandas as pd
    >>> from toolkit import forced
    >>> rng, die = np.random.default_rng(1), forced("1/6", "1/6")
    >>> cheated = rng.random(3000) < 0.3
    >>> frame = pd.DataFrame({"gpa": 2 + 0.8 * cheated + rng.normal(size=3000)})
    >>> frame["cheated"] = die.randomize(cheated, rng=rng)
    >>> fit = predictor("gpa ~ cheated", frame, designs={"cheated": die})
    >>> fit.labels, fit.value.round(2), fit.se.round(2)
    (('Intercept', 'cheated'), array([1.97, 0.84]), array([0.03, 0.06]))
    """
    check_choice(family, "family", tuple(FAMILIES))
    sampling = {"sample": sample, "weights": weights, "strata": strata, "clusters": clusters, "times": times}
    stated_anchor = None if anchor is None else as_anchor(anchor)
    rows = read_predictor_rows(formula, data, designs, truth, sampling, missing, stated_anchor)
    with_jeffreys = checked_penalty(penalty)
    error_kind = _error_kind(se, rows.people, with_jeffreys)
    outcome = checked_outcome(rows.outcome, family)
    stacked = Covariates(np.concatenate(rows.outcome_covariates), rows.labels, lambda _: np.empty(0), None)
    columns, back = standardize(stacked)
    truths, truths_back = standardize(rows.truth_covariates)
    shift, scale = _outcome_location_and_scale(outcome, stacked.matrix) if family == "linear" else (0.0, 1.0)
    by_cell = columns.reshape(len(rows.outcome_covariates), -1, columns.shape[1])
    model, attention_back = _mixture(rows, by_cell, truths, (outcome - shift) / scale, family)
    advice = _ADVICE if rows.anchor is None else rows.anchor.advice(rows.people.row_weights, _ADVICE)
    params, likelihood = _maximum_likelihood(model, with_jeffreys, advice)
    point = model.evaluate(params)
    cov = covariance(likelihood, params, error_kind, point.information)
    fit = _fit_in_data_units(
        rows, model, point, cov, (error_kind, family, with_jeffreys), (back, truths_back, shift, scale)
    )
    return fit if rows.anchor is None else _with_attention(fit, rows.anchor, params, cov, attention_back)


def _error_kind(se: str | None, people: People, with_jeffreys: bool) -> str:
    """Return the kind of standard errors; there is no expected information."""
    error_kind = checked_error_kind(se, people, with_jeffreys)
    if se == "expected":
        consequence = "the expected information of a mixture has no closed form"
        reject("`se` must be one of observed, opg, robust", "'expected'", consequence)
    return "observed" if error_kind == "expected" else error_kind


def _mixture(
    rows: PredictorRows, by_cell: Array, truths: Array, outcome: Array, family: str
) -> tuple[MixtureModel, Array]:
    """Return the likelihood, and the matrix that converts coefficients of attention to their original columns."""
    shared = (rows.report_likelihood, outcome, FAMILIES[family], rows.people)
    if rows.anchor is None:
        return MixtureModel(by_cell, truths, *shared), np.empty((0, 0))
    columns, back = standardize(rows.anchor.attention)
    both = np.concatenate([by_cell, by_cell])
    return AnchoredMixture(both, truths, *shared, attention_covariates=columns), back


def _with_attention(fit: PredictorFit, anchor: AnchorReports, params: Array, cov: Array, back: Array) -> PredictorFit:
    """Return the fit with the coefficients of attention, which are the last parameters."""
    width = len(back)
    covers = fit.covers.replaced(ErrorSource.RANDOMIZATION, ErrorSource.RANDOMIZATION, ErrorSource.ANCHOR)
    value, own_cov = back @ params[-width:], back @ cov[-width:, -width:] @ back.T
    basis = fit.coefficients.basis
    attention = replace(
        fit.truth,
        value=value,
        se=np.sqrt(np.diag(own_cov)),
        labels=tuple(f"attention: {label}" for label in anchor.attention.labels),
        cov=own_cov,
        method=f"model of attention; {fit.method}",
        basis=replace(basis, value=value, se=np.sqrt(np.diag(own_cov))),  # type: ignore[type-var]
        covers=covers,
    )
    provenance = replace(
        fit.provenance, shared_data=(*fit.provenance.shared_data, anchor.truth_rows, anchor.attention.matrix)
    )
    coefficients, truth = replace(fit.coefficients, covers=covers), replace(fit.truth, covers=covers)
    return replace(fit, coefficients=coefficients, truth=truth, attention=attention, provenance=provenance)


def _outcome_location_and_scale(outcome: Array, matrix: Array) -> tuple[float, float]:
    """Return the shift and the scale that standardize an outcome; without an intercept, there is no shift."""
    return (float(outcome.mean()) if len(constant_columns(matrix)) else 0.0), float(outcome.std())


def _maximum_likelihood(model: MixtureModel, with_jeffreys: bool, advice: str) -> tuple[Array, Likelihood]:
    """Return the maximum of the likelihood, and the likelihood whose curvature at the maximum determines the errors.

    EM steps come first, because they increase the likelihood from any start; Newton's method then converges in few
    steps. With many people, a random sample of them suffices for the EM steps, unless Newton's method then fails.
    """
    newton = replace(model, with_newton=True)
    if not with_jeffreys and len(model.outcome) > _MANY_ROWS:
        rows = np.sort(np.random.default_rng(0).choice(len(model.outcome), _SAMPLE, replace=False))
        near = maximize(model.of_rows(rows).evaluate, np.zeros(model.n_parameters), max_steps=15)
        ascent = maximize(newton.evaluate, near.point.params)
        has_errors = not np.any(model.split_parameters(ascent.point.params)[1] < _LOG_SIGMA_LIMIT / 2)
        if has_errors and is_maximum(ascent, newton.observed_information(ascent.point.params)):
            return ascent.point.params, newton
    by_em, by_newton = (
        with_jeffreys_penalty(likelihood.evaluate, model.complete_information) if with_jeffreys else likelihood.evaluate
        for likelihood in (model, newton)
    )
    near = maximize(by_em, np.zeros(model.n_parameters), max_steps=15)
    # If the columns explain the outcome exactly, the log of the residual standard deviation tends to minus infinity.
    if np.any(model.split_parameters(near.point.params)[1] < _LOG_SIGMA_LIMIT / 2):
        later = maximize(by_em, near.point.params, max_steps=15).point
        if np.any(model.split_parameters(later.params)[1] < _LOG_SIGMA_LIMIT):
            consequence = "the likelihood has no maximum; family='logistic' is for an outcome of 0 or 1"
            reject("a linear outcome must have errors", "one that the columns and truths explain exactly", consequence)
    ascent = replace(maximize(by_newton, near.point.params), start=near.start)
    if with_jeffreys:
        return penalized_maximum(by_newton, ascent).params, PenalizedLikelihood(model, by_newton)
    return interior_maximum(model.observed_information, ascent, advice), newton


def _fit_in_data_units(
    rows: PredictorRows,
    model: MixtureModel,
    point: Evaluation,
    cov: Array,
    options: tuple[str, str, bool],
    scales: tuple[Array, Array, float, float],
) -> PredictorFit:
    """Return the fit, with coefficients and errors in the units of the data."""
    (error_kind, family, with_jeffreys), (back, truths_back, shift, scale) = options, scales
    beta, log_sigma, gamma = model.split_parameters(point.params)
    truths_back = np.asarray(np.kron(np.eye(model.n_truths - 1), truths_back))
    first, last, end = np.cumsum([len(beta), len(log_sigma), len(gamma)])
    value, matrix = scale * (back @ beta), np.concatenate(rows.outcome_covariates)
    if shift:
        intercept = constant_columns(matrix)[0]
        value[intercept] += shift / matrix[0, intercept]
    designs = " and ".join(item.description for item in rows.channels)
    method = (
        f"{designs}, {family} outcome, {'penalized' if with_jeffreys else 'maximum'} likelihood, {error_kind} errors"
    )
    truth_method = f"model of the truth; {method}"
    outcome_cov = scale**2 * back @ cov[:first, :first] @ back.T
    truth_cov = truths_back @ cov[last:end, last:end] @ truths_back.T
    row_weights = rows.people.row_weights
    answers = "a randomized answer" if len(rows.items) == 1 else "randomized answers"
    shared = (family, rows.report_likelihood, rows.outcome, rows.truth_covariates.matrix, row_weights)
    return PredictorFit(
        coefficient_estimate(value, outcome_cov, rows.labels, rows.people, rows.loss, method, rows.notes),
        point.loglike - float(row_weights.sum()) * np.log(scale),
        {"used": rows.people.n, **rows.dropped},
        f"{family} regression on {answers}{' (Jeffreys penalty)' if with_jeffreys else ''}",
        FitProvenance(shared, matrix, error_kind, with_jeffreys, rows.people.df if rows.people.is_complex else None),
        coefficient_estimate(
            truths_back @ gamma, truth_cov, _truth_labels(rows), rows.people, rows.loss, truth_method, rows.notes
        ),
        float(np.exp(log_sigma[0]) * scale) if len(log_sigma) else None,
        np.asarray(model.truth_shares(point.params) @ row_weights / row_weights.sum()),
        tuple(rows.combinations),
        family,
    )


def _truth_labels(rows: PredictorRows) -> tuple[str, ...]:
    """Return "item: column" for one item, and "item = 0, item = 1: column" for several."""
    if len(rows.items) == 1:
        return tuple(f"{rows.items[0]}: {name}" for name in rows.truth_covariates.labels)
    cells = [
        ", ".join(f"{item} = {truth}" for item, truth in zip(rows.items, cell, strict=True))
        for cell in rows.combinations
    ]
    return tuple(f"{cell}: {name}" for cell in cells[1:] for name in rows.truth_covariates.labels)
