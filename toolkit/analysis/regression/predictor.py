"""`predictor`: regression of an outcome on truths that are observed through randomized reports."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from itertools import product
from typing import Any, Literal

import numpy as np

from toolkit.analysis.regression.covariates import (
    Covariates,
    absent_in,
    constants,
    from_formula,
    sides,
    standardize,
    terms_without,
    variables,
)
from toolkit.analysis.regression.fit import Fit, FitProvenance, as_estimate
from toolkit.analysis.regression.mixture import FAMILIES, MixtureModel, checked_outcome
from toolkit.analysis.regression.rows import (
    Channel,
    People,
    aggregate_rows,
    channel,
    complete_rows,
    missing_codes,
    missing_in,
    read_people,
    sampling_columns,
    without_answer,
)
from toolkit.analysis.regression.scoring import (
    Evaluation,
    Likelihood,
    PenalizedLikelihood,
    covariance,
    error_kind,
    interior_maximum,
    maximize,
    penalized_maximum,
    with_penalty,
)
from toolkit.analysis.reports import Data, Designs
from toolkit.analysis.sampling.sample import Sampled
from toolkit.core.arrays import Array, Values
from toolkit.core.checks import check_choice, explain_call, reject
from toolkit.core.estimate import Estimate
from toolkit.core.loss import Pure
from toolkit.frames.table import as_frame, column, is_lazy, numbers, row_count, select_rows, with_column

_ADVICE = "use penalty='jeffreys', leave out covariates of the truth (truth='1'), or ask more people"
_NO_ERRORS = -12.0  # log of the errors' standard deviation, in those of the outcome: 6e-6
_MOST = 6  # randomized answers


@dataclass(frozen=True, eq=False)
class PredictorRows:
    """The rows of a `predictor` model.

    `columns` are the covariates of the outcome, one matrix for each cell, that is for each combination of the truths;
    `truths` are the covariates of the truths themselves.
    """

    outcome: Array
    columns: tuple[Array, ...]
    labels: tuple[str, ...]
    truths: Covariates
    items: tuple[str, ...]
    channels: tuple[Channel, ...]
    people: People
    dropped: Mapping[str, int]
    sampling_notes: tuple[str, ...]

    @property
    def cells(self) -> list[tuple[int, ...]]:
        return combinations(self.items)

    @property
    def report_likelihood(self) -> Array:
        """Pr(observed reports | cell), one row per cell: reports are randomized independently of each other."""
        probabilities = [
            np.prod([item.report_likelihood[truth] for item, truth in zip(self.channels, cell, strict=True)], axis=0)
            for cell in self.cells
        ]
        return np.array(probabilities)

    @property
    def loss(self) -> Pure:
        """The privacy loss of all reports of a person together."""
        return Pure(sum(item.loss.epsilon for item in self.channels))

    @property
    def notes(self) -> tuple[str, ...]:
        assumed = "given the truth, the outcome is taken to be independent of the report"
        return (assumed, *self.sampling_notes)


def combinations(items: tuple[str, ...]) -> list[tuple[int, ...]]:
    """Return all combinations of no (0) and yes (1) of these items."""
    return list(product((0, 1), repeat=len(items)))


def read_predictor_rows(
    formula: str, data: Any, designs: object, truth: str | None, sampling: Mapping[str, Any], missing: object
) -> PredictorRows:
    """Read the rows of a model with randomized answers on the right side of its formula."""
    response, right = sides(formula)
    if is_lazy(data):
        of_truths = variables(truth.strip().removeprefix("~").strip(), data) if truth is not None else ()
        data, sampling = aggregate_rows(data, [response, *variables(right, data), *of_truths], sampling)
    frame = as_frame(data)
    design_of_item = _designs_by_item(designs, variables(right, frame))
    items = _items(design_of_item, variables(right, frame))
    truth_side = terms_without(right, items) if truth is None else truth.strip().removeprefix("~").strip()
    covariates = tuple(set(variables(right, frame)) | set(variables(truth_side, frame)) - set(items))
    if set(items) & set(variables(truth_side, frame)):
        reject("`truth` must not hold the randomized answers", truth, "it holds the covariates that explain them")
    columns = {"outcome": column(frame, response, "the outcome")} | sampling_columns(frame, sampling)
    columns |= {item: column(frame, item, "reports") for item in items}
    gaps = missing_in(columns, sampling)
    policy, codes = missing_codes(missing)
    for item in items:
        gaps[item] |= without_answer(columns[item], codes)
    gaps["covariates"] = absent_in(frame, tuple(sorted(set(covariates) - set(items))))
    used, dropped = complete_rows(gaps, policy, columns.get("times"))
    people, notes = read_people(columns, used, sampling, dropped, frame, finite=False)
    rows, columns = select_rows(frame, used), {name: values[used] for name, values in columns.items()}
    # Reports may be text, so numbers take their place before formulaic reads the columns.
    baseline = _with_truths(rows, items, (0,) * len(items))
    outcome_side = from_formula(right, baseline)
    return PredictorRows(
        outcome=numbers(columns["outcome"], "outcomes"),
        columns=tuple(outcome_side.matrix_of(_with_truths(baseline, items, cell)) for cell in combinations(items)),
        labels=outcome_side.labels,
        truths=from_formula(truth_side, baseline),
        items=items,
        channels=tuple(channel(columns[item], design_of_item[item], None, codes) for item in items),
        people=people,
        dropped=dropped,
        sampling_notes=notes,
    )


def _designs_by_item(designs: object, columns: tuple[str, ...]) -> Any:
    """Return `designs`, or for a survey the designs of those columns that are its randomized questions."""
    questions = {question.name: question.design for question in getattr(designs, "questions", ())}
    return {name: questions[name] for name in columns if questions.get(name) is not None} if questions else designs


def _items(designs: object, terms: tuple[str, ...]) -> tuple[str, ...]:
    """Return the randomized columns, after a check of their designs."""
    if not isinstance(designs, Mapping) or not designs:
        received = type(designs).__name__
        rule = "`designs` must map the randomized columns to their designs"
        reject(rule, received, "write {'cheated': forced('1/6', '1/6')}, for example", TypeError)
    items = tuple(str(name) for name in designs)
    if absent_items := [name for name in items if name not in terms]:
        reject(
            "every column of `designs` must be on the right side of the formula",
            ", ".join(absent_items),
            "add it to the formula, or leave out its design",
        )
    if len(items) > _MOST:
        consequence = f"{2 ** len(items)} combinations of truths are too many"
        reject(f"there may be at most {_MOST} randomized answers", len(items), consequence)
    for name, design in designs.items():
        if len(getattr(design, "options", ())) not in (0, 2):
            reject(
                f"the design of {name!r} must have two options",
                len(design.options),
                "a truth on the right side is 0 or 1",
            )
    return items


def _with_truths(frame: object, items: tuple[str, ...], cell: tuple[int, ...]) -> Any:
    """Return the frame with these truths for everybody."""
    for item, truth in zip(items, cell, strict=True):
        frame = with_column(frame, item, np.full(row_count(frame), float(truth)))
    return frame


@dataclass(frozen=True, eq=False, repr=False)
class PredictorFit(Fit):
    """A fitted `predictor` model; its coefficients are those of the outcome.

    Parameters
    ----------
    truth : Estimate
        The model of the truths: log odds of each combination of them against "no" to all.
    sigma : float, optional
        Standard deviation of the errors of a linear model.
    cells : array
        Shares of the combinations of truths, averaged over people.
    combinations : tuple of tuple of int
        The combinations, in the order of their shares.
    family : {"linear", "logistic"}
        Kind of outcome.

    Examples
    --------
    >>> from toolkit import forced
    >>> from toolkit.analysis import predictor
    >>> rng, die = np.random.default_rng(1), forced("1/6", "1/6")
    >>> cheated = rng.random(3000) < 0.3
    >>> frame = {"gpa": 2 + 0.8 * cheated + rng.normal(size=3000), "cheated": die.randomize(cheated, rng=rng)}
    >>> fit = predictor("gpa ~ cheated", frame, {"cheated": die})
    >>> fit.cells.round(1), round(fit.sigma, 1)
    (array([0.7, 0.3]), 1.0)
    """

    truth: Estimate
    sigma: float | None
    cells: Array
    combinations: tuple[tuple[int, ...], ...]
    family: str

    @property
    def ratio_name(self) -> str:
        return "odds ratio" if self.family == "logistic" else ""

    @property
    def _parameter_count(self) -> int:
        return len(self.labels) + len(self.truth.labels) + (self.sigma is not None)


@explain_call('predictor("pay ~ report + age", frame, {"report": forced("1/6", "1/6")})')
def predictor(
    formula: str,
    data: Data,
    designs: Designs,
    *,
    family: Literal["linear", "logistic"] = "linear",
    truth: str | None = None,
    se: Literal["observed", "opg", "robust"] | None = None,
    penalty: Literal["jeffreys"] | None = None,
    sample: Sampled | None = None,
    weights: Values | None = None,
    strata: Values | None = None,
    clusters: Values | None = None,
    times: Values | None = None,
    missing: float | Iterable[object] = "refuse",
) -> PredictorFit:
    """Regress an outcome on one or several truths that are observed through randomized reports.

    The likelihood of a person sums over the possible truths. Each term is the product of three probabilities: of the
    truths given the covariates (a logit, multinomial for several truths), of the reports given the truths (the
    designs), and of the outcome given truths and covariates. Given the truths, the outcome is assumed to be independent
    of the reports.

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
        Normal errors, or an outcome of 0 or 1.
    truth : str, optional
        Covariates of the truths, "female + age"; by default those of the outcome. Leaving out a covariate that is
        related to the truth biases the coefficients.
    se : {"observed", "opg", "robust"}, optional
        As for `logistic`.
    penalty : {"jeffreys"}, optional
        Add half the log determinant of the information that the coefficients would have if the truths were observed.
        The share of a truth then stays away from 0 and 1, and the coefficients of a logistic outcome stay finite.
        Intervals are from the curvature of the penalized likelihood.
    sample, weights, strata, clusters, times, missing : optional
        As for `logistic`.

    Returns
    -------
    PredictorFit
        Coefficients of the outcome; its `truth` holds the model of the truths.

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
    rows = read_predictor_rows(formula, data, designs, truth, sampling, missing)
    jeffreys = penalty is not None and check_choice(penalty, "penalty", ("jeffreys",)) == "jeffreys"
    kind = error_kind(se, rows.people, jeffreys)
    kind = "observed" if se is None and kind == "expected" else kind
    if kind == "expected":
        consequence = "the expected information of a mixture has no closed form"
        reject("`se` must be one of observed, opg, robust", "'expected'", consequence)
    outcome = checked_outcome(rows.outcome, family)
    stacked = Covariates(np.concatenate(rows.columns), rows.labels, lambda _: np.empty(0), None)
    columns, back = standardize(stacked)
    truths, truths_back = standardize(rows.truths)
    shift, scale = _scale(outcome, stacked.matrix) if family == "linear" else (0.0, 1.0)
    by_cell = columns.reshape(len(rows.columns), -1, columns.shape[1])
    model = MixtureModel(
        by_cell, truths, rows.report_likelihood, (outcome - shift) / scale, FAMILIES[family], rows.people
    )
    params, likelihood = _maximum(model, jeffreys)
    point = model.evaluate(params)
    cov = covariance(likelihood, params, kind, point.information)
    return _in_data_units(rows, model, point, cov, (kind, family, jeffreys), (back, truths_back, shift, scale))


def _scale(outcome: Array, matrix: Array) -> tuple[float, float]:
    """Return the shift and the scale that standardize an outcome; without an intercept there is no shift."""
    return (float(outcome.mean()) if len(constants(matrix)) else 0.0), float(outcome.std())


def _maximum(model: MixtureModel, jeffreys: bool) -> tuple[Array, Likelihood]:
    """Return the maximum of the likelihood, and the likelihood whose curvature there makes the errors.

    Steps of EM come first, because they rise from any start; Newton's method then converges in few steps.
    """
    newton = replace(model, newton=True)
    by_em, by_newton = (
        with_penalty(likelihood.evaluate, model.complete_information) if jeffreys else likelihood.evaluate
        for likelihood in (model, newton)
    )
    near = maximize(by_em, np.zeros(model.width), steps=15)
    # The log of the errors' standard deviation tends to minus infinity where the columns explain the outcome exactly.
    if np.any(model.split(near.point.params)[1] < _NO_ERRORS / 2):
        later = maximize(by_em, near.point.params, steps=15).point
        if np.any(model.split(later.params)[1] < _NO_ERRORS):
            consequence = "the likelihood has no maximum; family='logistic' is for an outcome of 0 or 1"
            reject("a linear outcome must have errors", "one that columns and truths explain", consequence)
    ascent = replace(maximize(by_newton, near.point.params), start=near.start)
    if jeffreys:
        return penalized_maximum(by_newton, ascent), PenalizedLikelihood(model, by_newton)
    return interior_maximum(model.observed, ascent, _ADVICE), newton


def _in_data_units(
    rows: PredictorRows,
    model: MixtureModel,
    point: Evaluation,
    cov: Array,
    options: tuple[str, str, bool],
    scales: tuple[Array, Array, float, float],
) -> PredictorFit:
    """Return the fit, with coefficients and errors in the units of the data."""
    (kind, family, jeffreys), (back, truths_back, shift, scale) = options, scales
    beta, log_sigma, gamma = model.split(point.params)
    truths_back = np.asarray(np.kron(np.eye(model.cells - 1), truths_back))
    first, last = len(beta), len(beta) + len(log_sigma)
    value, matrix = scale * (back @ beta), np.concatenate(rows.columns)
    if shift:
        intercept = constants(matrix)[0]
        value[intercept] += shift / matrix[0, intercept]
    designs = " and ".join(item.description for item in rows.channels)
    method = f"{designs}, {family} outcome, {'penalized' if jeffreys else 'maximum'} likelihood, {kind} errors"
    truth_method = f"model of the truth; {method}"
    outcome_cov = scale**2 * back @ cov[:first, :first] @ back.T
    truth_cov = truths_back @ cov[last:, last:] @ truths_back.T
    row_weights = rows.people.row_weights
    answers = "a randomized answer" if len(rows.items) == 1 else "randomized answers"
    shared = (family, rows.report_likelihood, rows.outcome, rows.truths.matrix, row_weights)
    return PredictorFit(
        as_estimate(value, outcome_cov, rows.labels, rows.people, rows.loss, method, rows.notes),
        point.loglike - float(row_weights.sum()) * np.log(scale),
        {"used": rows.people.n, **rows.dropped},
        f"{family} regression on {answers}{' (Jeffreys penalty)' if jeffreys else ''}",
        FitProvenance(shared, matrix, kind, jeffreys, rows.people.df if rows.people.complex else None),
        as_estimate(
            truths_back @ gamma, truth_cov, _truth_labels(rows), rows.people, rows.loss, truth_method, rows.notes
        ),
        float(np.exp(log_sigma[0]) * scale) if len(log_sigma) else None,
        np.asarray(model.shares(point.params) @ row_weights / row_weights.sum()),
        tuple(rows.cells),
        family,
    )


def _truth_labels(rows: PredictorRows) -> tuple[str, ...]:
    """Return "item: column" for one item, and "item = 0, item = 1: column" for several."""
    if len(rows.items) == 1:
        return tuple(f"{rows.items[0]}: {name}" for name in rows.truths.labels)
    cells = [
        ", ".join(f"{item} = {truth}" for item, truth in zip(rows.items, cell, strict=True)) for cell in rows.cells
    ]
    return tuple(f"{cell}: {name}" for cell in cells[1:] for name in rows.truths.labels)
