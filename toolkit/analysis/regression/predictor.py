"""`predictor`: what follows from it? A randomized answer on the right-hand side of a regression."""

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
    channel,
    complete,
    counted_rows,
    gaps_in,
    missing_codes,
    sampling_columns,
    who,
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
from toolkit.core.checks import choice, explain_call, reject
from toolkit.core.estimate import Estimate
from toolkit.core.loss import Pure
from toolkit.frames.table import as_frame, column, is_lazy, numbers, select_rows, with_column

_ADVICE = "use penalty='jeffreys', leave out covariates of the truth (truth='1'), or ask more people"
_NO_SPREAD = -12.0  # logarithm of the errors' share of the outcome's spread: 6e-6
_MOST = 6


@dataclass(frozen=True, eq=False)
class Hidden:
    """Covariates of the outcome for each cell of truths, covariates of the truths, reports and people."""

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
        """Pr(the reports that were seen | cell): reports are drawn independently of each other."""
        probabilities = [
            np.prod([one.report_likelihood[truth] for one, truth in zip(self.channels, cell, strict=True)], axis=0)
            for cell in self.cells
        ]
        return np.array(probabilities)

    @property
    def loss(self) -> Pure:
        """What all reports of a person cost together."""
        return Pure(sum(one.loss.epsilon for one in self.channels))

    @property
    def notes(self) -> tuple[str, ...]:
        assumed = "given the truth, the outcome is taken to be independent of the report"
        return (assumed, *self.sampling_notes)


def combinations(items: tuple[str, ...]) -> list[tuple[int, ...]]:
    """All combinations of no (0) and yes (1) of these items."""
    return list(product((0, 1), repeat=len(items)))


def read_hidden(
    formula: str, data: Any, designs: object, truth: str | None, sampling: Mapping[str, Any], missing: object
) -> Hidden:
    """A formula with randomized answers on its right side, and a frame."""
    left, right = sides(formula)
    if is_lazy(data):
        explaining = variables(truth.strip().removeprefix("~").strip(), data) if truth is not None else ()
        data, sampling = counted_rows(data, [left, *variables(right, data), *explaining], sampling)
    frame = as_frame(data)
    known = _of_survey(designs, variables(right, frame))
    items = _items(known, variables(right, frame))
    truth_side = terms_without(right, items) if truth is None else truth.strip().removeprefix("~").strip()
    covariates = tuple(set(variables(right, frame)) | set(variables(truth_side, frame)) - set(items))
    if set(items) & set(variables(truth_side, frame)):
        reject("`truth` must not hold the randomized answers", truth, "they are what it explains")
    columns = {"outcome": column(frame, left, "the outcome")}
    columns |= {item: column(frame, item, "reports") for item in items}
    columns |= sampling_columns(frame, sampling)
    gaps = gaps_in(columns, sampling)
    way, codes = missing_codes(missing)
    for item in items:
        gaps[item] |= without_answer(columns[item], codes)
    gaps["covariates"] = absent_in(frame, tuple(sorted(set(covariates) - set(items))))
    rows, dropped = complete(gaps, way, columns.get("times"))
    people, notes = who(columns, rows, sampling, dropped, frame, finite=False)
    used, columns = select_rows(frame, rows), {what: values[rows] for what, values in columns.items()}
    count = int(rows.sum())
    empty = _with_truths(used, items, (0,) * len(items), count)
    covered = from_formula(right, empty)
    return Hidden(
        outcome=numbers(columns["outcome"], "outcomes"),
        columns=tuple(covered.matrix_of(_with_truths(empty, items, cell, count)) for cell in combinations(items)),
        labels=covered.labels,
        truths=from_formula(truth_side, empty),
        items=items,
        channels=tuple(channel(columns[item], known[item], None, codes) for item in items),
        people=people,
        dropped=dropped,
        sampling_notes=notes,
    )


def _of_survey(designs: object, columns: tuple[str, ...]) -> Any:
    """Of a survey the designs of the questions among these columns."""
    questions = {one.name: one.design for one in getattr(designs, "questions", ())}
    return {name: questions[name] for name in columns if questions.get(name) is not None} if questions else designs


def _items(designs: object, terms: tuple[str, ...]) -> tuple[str, ...]:
    if not isinstance(designs, Mapping) or not designs:
        received = type(designs).__name__
        rule = "`designs` must map the randomized columns to their designs"
        reject(rule, received, "it says how each is read", TypeError)
    items = tuple(str(name) for name in designs)
    if absent_items := [name for name in items if name not in terms]:
        reject(
            "every column of `designs` must be on the right side of the formula",
            ", ".join(absent_items),
            "it would explain nothing",
        )
    if len(items) > _MOST:
        consequence = f"{2 ** len(items)} combinations of truths are too many"
        reject(f"there may be at most {_MOST} randomized answers", len(items), consequence)
    for name, design in designs.items():
        if len(getattr(design, "options", ())) not in (0, 2):
            reject(
                f"the design of {name!r} must have two options",
                len(design.options),
                "only yes or no stands on the right side",
            )
    return items


def _with_truths(frame: object, items: tuple[str, ...], cell: tuple[int, ...], count: int) -> Any:
    """The frame if everybody's truths were these."""
    for item, truth in zip(items, cell, strict=True):
        frame = with_column(frame, item, np.full(count, float(truth)))
    return frame


@dataclass(frozen=True, eq=False, repr=False)
class PredictorFit(Fit):
    """A fitted `predictor` model; its coefficients are those of the outcome.

    Parameters
    ----------
    truth : Estimate
        The model of the truths: log odds of each combination of them against "no" to all.
    sigma : float, optional
        The standard deviation of the errors of a linear model.
    cells : array
        The shares of the combinations of truths, averaged over people.
    combinations : tuple of tuple of int
        Their order.
    family : {"linear", "logistic"}
        What the outcome is.

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
    """Regress an outcome on truths that are seen through randomized reports, one or several.

    The likelihood sums over the truths that could be behind a person's reports: the chance of those truths given the
    covariates (a logit, multinomial for several), of the reports given the truths (the designs), and of the outcome
    given both. Given the truth, the outcome is taken to be independent of the report.

    Parameters
    ----------
    formula : str
        "outcome ~ randomized + covariates", interactions too; a randomized column stands for its truth, 0 or 1.
    data : frame or mapping
        As for `logistic`.
    designs : mapping or Survey
        The design of each randomized column, {"cheated": die}, or the survey; at most six, drawn independently.
    family : {"linear", "logistic"}
        Normal errors, or an outcome of 0 or 1.
    truth : str, optional
        Covariates of the truths, "female + age"; without it, those of the outcome. To leave out one that goes with the
        truth biases the coefficients.
    se : {"observed", "opg", "robust"}, optional
        As for `logistic`.
    penalty : {"jeffreys"}, optional
        Half the log determinant of the information that the coefficients would have if the truths were seen. The share
        of a truth then stays away from 0 and 1, and of a logistic outcome the coefficients stay finite; intervals are
        by the curvature of the penalized likelihood.
    sample, weights, strata, clusters, times, missing : optional
        As for `logistic`.

    Returns
    -------
    PredictorFit
        Coefficients of the outcome; `truth` has those of the model of the truths.

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
    choice(family, "family", tuple(FAMILIES))
    sampling = {"sample": sample, "weights": weights, "strata": strata, "clusters": clusters, "times": times}
    rows = read_hidden(formula, data, designs, truth, sampling, missing)
    jeffreys = penalty is not None and choice(penalty, "penalty", ("jeffreys",)) == "jeffreys"
    kind = error_kind(se, rows.people, jeffreys)
    kind = "observed" if se is None and kind == "expected" else kind
    if kind == "expected":
        reject("`se` must be one of observed, opg, robust", "'expected'", "no formula holds the mean over all outcomes")
    outcome = checked_outcome(rows.outcome, family)
    stacked = Covariates(np.concatenate(rows.columns), rows.labels, lambda _: np.empty(0), None)
    columns, back = standardize(stacked)
    truths, truths_back = standardize(rows.truths)
    shift, scale = _scale(outcome, stacked.matrix) if family == "linear" else (0.0, 1.0)
    by_cell = columns.reshape(len(rows.columns), -1, columns.shape[1])
    model = MixtureModel(
        by_cell, truths, rows.report_likelihood, (outcome - shift) / scale, FAMILIES[family], rows.people
    )
    params, curved = _fitted(model, jeffreys)
    point = model.evaluate(params)
    cov = covariance(curved, params, kind, point.information)
    return _as_fit(rows, model, point, cov, (kind, family, jeffreys), (back, truths_back, shift, scale))


def _scale(outcome: Array, matrix: Array) -> tuple[float, float]:
    """What is taken off an outcome, if there is an intercept to put it back, and what it is divided by."""
    return (float(outcome.mean()) if len(constants(matrix)) else 0.0), float(outcome.std())


def _fitted(model: MixtureModel, jeffreys: bool) -> tuple[Array, Likelihood]:
    """EM's steps are sure of their way, then Newton's arrive: where they end, and what bends there."""
    faster = replace(model, newton=True)
    slow, fast = (
        with_penalty(one.evaluate, model.complete_information) if jeffreys else one.evaluate for one in (model, faster)
    )
    near = maximize(slow, np.zeros(model.width), steps=15)
    if np.any(model.split(near.point.params)[1] < _NO_SPREAD / 2):
        later = maximize(slow, near.point.params, steps=15).point
        if np.any(model.split(later.params)[1] < _NO_SPREAD):  # on its way to -infinity
            consequence = "its errors would have no spread; family='logistic' is for an outcome of 0 or 1"
            reject("a linear outcome must have errors", "one that columns and truths explain", consequence)
    ascent = replace(maximize(fast, near.point.params), start=near.start)
    if jeffreys:
        return penalized_maximum(fast, ascent), PenalizedLikelihood(model, fast)
    return interior_maximum(model.observed, ascent, _ADVICE), faster


def _as_fit(
    rows: Hidden,
    model: MixtureModel,
    point: Evaluation,
    cov: Array,
    options: tuple[str, str, bool],
    scales: tuple[Array, Array, float, float],
) -> PredictorFit:
    """Everything back in the units of the data."""
    (kind, family, jeffreys), (back, truths_back, shift, scale) = options, scales
    beta, more, gamma = model.split(point.params)
    wide = np.kron(np.eye(model.cells - 1), truths_back)
    first, last = len(beta), len(beta) + len(more)
    value, matrix = scale * (back @ beta), np.concatenate(rows.columns)
    if shift:
        one = constants(matrix)[0]
        value[one] += shift / matrix[0, one]
    through = " and ".join(item.description for item in rows.channels)
    how = "penalized" if jeffreys else "maximum"
    method = f"{through}, {family} outcome, {how} likelihood, {kind} errors"
    of_truth = f"model of the truth; {method}"
    outcome_cov = scale**2 * back @ cov[:first, :first] @ back.T
    truth_cov = wide @ cov[last:, last:] @ wide.T
    row_weights = rows.people.row_weights
    answers = "a randomized answer" if len(rows.items) == 1 else "randomized answers"
    shared = (family, rows.report_likelihood, rows.outcome, rows.truths.matrix, row_weights)
    return PredictorFit(
        as_estimate(value, outcome_cov, rows.labels, rows.people, rows.loss, method, rows.notes),
        point.loglike - float(row_weights.sum()) * np.log(scale),
        {"used": rows.people.n, **rows.dropped},
        f"{family} regression on {answers}{' (Jeffreys penalty)' if jeffreys else ''}",
        FitProvenance(shared, matrix, kind, jeffreys, rows.people.df if rows.people.complex else None),
        as_estimate(wide @ gamma, truth_cov, _truth_labels(rows), rows.people, rows.loss, of_truth, rows.notes),
        float(np.exp(more[0]) * scale) if len(more) else None,
        np.asarray(model.shares(point.params) @ row_weights / row_weights.sum()),
        tuple(rows.cells),
        family,
    )


def _truth_labels(rows: Hidden) -> tuple[str, ...]:
    """One item: its name and the column. Several: all truths of the cell, and the column."""
    if len(rows.items) == 1:
        return tuple(f"{rows.items[0]}: {name}" for name in rows.truths.labels)
    cells = [", ".join(f"{item} = {one}" for item, one in zip(rows.items, cell, strict=True)) for cell in rows.cells]
    return tuple(f"{cell}: {name}" for cell in cells[1:] for name in rows.truths.labels)
