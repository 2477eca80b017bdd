"""The rows that a model is fitted to: covariates, reports with their designs, and the people behind the rows."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from toolkit.analysis.plain import as_design, plain
from toolkit.analysis.regression.covariates import (
    Covariates,
    covariates_from_formula,
    covariates_from_table,
    rows_with_missing,
    split_formula,
    variables,
)
from toolkit.analysis.reports import Data, Reader, cell_key
from toolkit.analysis.sampling.inputs import check_size
from toolkit.analysis.sampling.sample import FINITE, Sample, SampleRows, checked_sample, design_elements
from toolkit.core.arrays import Array, DataFrame, Labels, Mask
from toolkit.core.checks import check_choice, reject
from toolkit.core.loss import Pure
from toolkit.frames.table import (
    Values,
    as_frame,
    column,
    column_names,
    distinct_rows,
    finite_floats,
    floats_or_none,
    is_lazy,
    missing_mask,
    select_rows,
)
from toolkit.local.catalogue import restore
from toolkit.local.design import Design
from toolkit.local.matrix.encoding import codes_are_ambiguous, encode
from toolkit.local.questionnaire import Likert

Codes = npt.NDArray[np.intp]
TIMES = "number of people"
SAMPLING = ("weights", "times", "strata", "clusters")
_ADVICE = "leave cells without an answer empty, or list the codes for missing answers in missing=(…)"
SMALLEST_LIKELIHOOD = 1e-150  # its square does not underflow


@dataclass(frozen=True, eq=False)
class Channel:
    """Reports and the designs that randomized them.

    The design of a row is `designs[design_index]`, and `codes` are the reports as codes of that design. All designs
    have the same options.
    """

    designs: tuple[Design, ...]
    design_index: Codes
    codes: Codes

    @property
    def options(self) -> Labels:
        return self.designs[0].options

    @property
    def loss(self) -> Pure:
        """The privacy loss of one report under the design with the largest epsilon."""
        return Pure(max(design.epsilon for design in self.designs))

    @property
    def description(self) -> str:
        """The names of the designs, as in "warner and forced designs"."""
        names = list(dict.fromkeys(design.name for design in self.designs))
        return f"{' and '.join(names)} design{'s' if len(names) > 1 else ''}"

    @cached_property
    def report_likelihood(self) -> Array:
        """Pr(observed report | truth): one row per truth, one column per person."""
        likelihood = np.empty((len(self.options), len(self.codes)))
        for rows, matrix in self.rows_by_design():
            likelihood[:, rows] = matrix[:, self.codes[rows]]
        return likelihood

    def rows_by_design(self) -> Iterator[tuple[Any, Array]]:
        """Yield the rows of each design together with the matrix of the design."""
        if len(self.designs) == 1:
            yield slice(None), self.designs[0].matrix
            return
        for index, design in enumerate(self.designs):
            yield np.flatnonzero(self.design_index == index), design.matrix

    def likelihood(self, probability: Array, complement: Array) -> Array:
        """Return Pr(observed report) if the trait has this probability; `complement` is 1 minus the probability."""
        return np.asarray(
            np.maximum(
                self.report_likelihood[0] * complement + self.report_likelihood[1] * probability, SMALLEST_LIKELIHOOD
            )
        )

    def report_information(self, probability: Array, complement: Array) -> tuple[Array, Array]:
        """Return the Fisher information of one report on the probability of the trait, and its derivative.

        The information is the sum over reports of (Pr(report | yes) - Pr(report | no))**2 / Pr(report).
        """
        information, derivative = np.zeros_like(probability), np.zeros_like(probability)
        for rows, (report_if_no, report_if_yes) in self.rows_by_design():
            for if_no, if_yes in zip(report_if_no, report_if_yes, strict=True):
                if if_no != if_yes:
                    # Computed in place: with a million people a temporary array is as large as a covariate.
                    term = if_no * complement[rows]
                    term += if_yes * probability[rows]
                    np.divide((if_yes - if_no) ** 2, np.maximum(term, SMALLEST_LIKELIHOOD, out=term), out=term)
                    information[rows] += term
                    term *= term
                    derivative[rows] -= term / (if_yes - if_no)
        return information, derivative


def channel(reports: Values, design: object, design_by: Values | None, missing: tuple[Any, ...] = ()) -> Channel:
    """Encode reports by their designs.

    With several designs, `design_by` holds the key of each row's design. `missing` holds the codes for missing answers.
    """
    if design_by is None:
        if isinstance(design, Mapping) and "weights" not in design:
            if len(design) != 1:
                remedy = f"there are {len(design)} designs: name the column with their keys, as in design_by='mode'"
                reject("`design_by` must be given with several designs", "none", remedy)
            design = next(iter(design.values()))
        designs: tuple[Design, ...] = (as_matrix_design(design),)
        codes = report_codes(reports, designs[0], missing)
        return Channel(designs, np.zeros(len(codes), dtype=np.intp), codes)
    if not isinstance(design, Mapping):
        rule = "with `design_by`, `design` must be a mapping of designs"
        reject(rule, type(design).__name__, "leave out `design_by` if there is one design", TypeError)
    designs = tuple(map(as_matrix_design, design.values()))
    if not designs or any(design.options != designs[0].options for design in designs):
        received = " and ".join(str(list(design.options[:8])) for design in designs) or "none"
        rule = "designs must have the same options in the same order"
        reject(rule, received, "one model has one set of truths")
    index = np.full(len(design_by), -1, dtype=np.intp)
    codes = np.zeros(len(design_by), dtype=np.intp)
    for position, key in enumerate(design):
        rows = np.flatnonzero(design_by == key)
        index[rows] = position
        if len(rows):
            codes[rows] = report_codes(reports[rows], designs[position], missing)
    if unknown := int(np.count_nonzero(index < 0)):
        rule = f"`design_by` must hold the keys of `design` ({', '.join(map(str, design))})"
        reject(rule, f"{unknown} of {len(design_by)} rows with another", "their reports cannot be read")
    return Channel(designs, index, codes)


def is_missing_answer(reports: Values, missing_codes: tuple[Any, ...]) -> Mask:
    """Return a mask of the reports that are missing answers: empty text, or one of these codes."""
    if reports.dtype.kind not in "OUT" and not missing_codes:
        return np.zeros(len(reports), dtype=bool)
    keys, cells = {"", *map(cell_key, missing_codes)}, reports.tolist()
    empty = {report for report in set(cells) if cell_key(report) in keys}
    return np.fromiter((report in empty for report in cells), dtype=bool, count=len(cells))


def split_missing(missing: object) -> tuple[str, tuple[Any, ...]]:
    """Split `missing` into a mode, "refuse" or "drop", and the codes that mark a missing answer besides empty cells."""
    if isinstance(missing, str):
        return check_choice(missing, "missing", ("refuse", "drop")), ()
    return "drop", tuple(missing) if isinstance(missing, Iterable) else (missing,)


def report_codes(reports: Values, design: Design, missing: tuple[Any, ...]) -> Codes:
    """Encode reports as codes of a design.

    Numbers and booleans must be codes of the design. Text is read as in every other analysis: labels in upper or lower
    case, and the usual words for yes and no.
    """
    if reports.dtype.kind == "O" and not any(isinstance(report, str) for report in reports):
        reports = np.asarray(reports.tolist())
    by_text = reports.dtype.kind in "OUT" or codes_are_ambiguous(design.report_options)
    reader = Reader("reports", design, missing, _ADVICE) if by_text or missing else None
    if reader is None or not by_text:
        return encode(reports, design.report_options, "reports").codes.astype(np.intp)
    cells = reports.tolist()
    counts = Counter(cells)
    code = dict(zip(counts, (code for code, _ in reader.read_all(counts.items())), strict=True))
    return np.fromiter((code[report] for report in cells), dtype=np.intp, count=len(cells))


def as_matrix_design(design: object) -> Design:
    """Return a design that has a matrix; accept a design, its dictionary from `to_dict`, a scale or plain options."""
    if isinstance(design, Likert):
        design = design.distribution
    restored: Any = restore(design) if isinstance(design, dict) else as_design(design)
    if (
        isinstance(restored, type)
        or getattr(restored, "matrix", None) is None
        or not hasattr(restored, "_scores_of_raw_reports")
    ):
        consequence = "give a design such as warner('3/4'); a name alone does not determine its probabilities"
        received = f"the class {design.__name__}" if isinstance(design, type) else type(design).__name__
        reject("`design` must be a Design", received, consequence, TypeError)
    return restored  # type: ignore[no-any-return]


@dataclass(frozen=True, eq=False)
class People:
    """The people behind the rows, `times` of them per row, and how they were sampled.

    Without weights, strata, clusters and `sample_rows`, they were drawn independently. Weights are divided by their
    mean: the log-likelihood then has the scale of an unweighted sample, which penalties and tolerances assume.
    """

    rows: int
    weights: Array | None = None
    times: Array | None = None
    strata: Codes | None = None
    clusters: Codes | None = None
    sample_rows: SampleRows | None = None

    def __post_init__(self) -> None:
        if self.weights is not None:
            # The weights of a replicate may all be 0.
            mean = float(np.average(self.weights, weights=self.times)) or 1.0
            object.__setattr__(self, "weights", self.weights / mean)

    @property
    def description(self) -> list[str]:
        """The elements of the sampling design that were given, such as "weights" and "clusters"."""
        if self.sample_rows is not None:
            return design_elements(self.sample_rows.sample)
        return [name for name in ("weights", "strata", "clusters") if getattr(self, name) is not None]

    @property
    def is_complex(self) -> bool:
        """Whether the sample is anything other than independent people of equal weight."""
        return bool(self.description)

    @cached_property
    def n(self) -> int:
        """The number of people."""
        return self.rows if self.times is None else int(self.times.sum())

    @cached_property
    def row_weights(self) -> Array:
        """The weight of each row in a sum over people: the people's weight times their number."""
        weights = np.ones(self.rows) if self.weights is None else self.weights
        return weights if self.times is None else weights * self.times

    @cached_property
    def _sampling_units(self) -> tuple[Codes | None, Codes, Array]:
        """The sampling unit of each row, the stratum of each unit, and the number of units in each stratum."""
        strata = np.zeros(self.rows, dtype=np.intp) if self.strata is None else self.strata
        if self.clusters is None:
            return None, strata, np.bincount(strata, self.times).astype(np.float64)
        pairs = strata * (int(self.clusters.max()) + 1) + self.clusters
        _, first, unit = np.unique(pairs, return_index=True, return_inverse=True)
        return unit.reshape(-1), strata[first], np.bincount(strata[first]).astype(np.float64)

    @property
    def df(self) -> int:
        """Degrees of freedom: sampling units minus strata."""
        if self.sample_rows is not None:
            return self.sample_rows.df
        sizes = self._sampling_units[2]
        return int(sizes.sum()) - len(sizes)

    def variance_of_sum(self, values: Array) -> Array:
        """Return the covariance matrix of the column sums of `values`, which has one row per person.

        Without `sample_rows`, units are taken to be drawn with replacement within strata.
        """
        if self.sample_rows is not None:
            return self.sample_rows.variance_of_sum(values)
        unit, stratum, sizes = self._sampling_units
        if count := int(np.count_nonzero(sizes < 2)):
            consequence = "the variance within a single unit is unknown; merge strata"
            reject("every stratum must have at least two sampling units", f"{count} with one", consequence)
        times = None
        if unit is None:
            totals, times = values, self.times
        else:
            row_sums = values if self.times is None else values * self.times[:, None]
            totals = np.column_stack([np.bincount(unit, column) for column in row_sums.T])
        weighted = totals if times is None else totals * times[:, None]
        means = np.column_stack([np.bincount(stratum, column) for column in weighted.T]) / sizes[:, None]
        centred = totals - means[stratum]
        factor = (sizes / (sizes - 1))[stratum] * (1 if times is None else times)
        return np.asarray(centred.T @ (centred * factor[:, None]))


def people(
    rows: int, weights: Values | None, times: Values | None, strata: Values | None, clusters: Values | None
) -> People:
    """Return the people described by these columns, after checking weights and `times`."""
    row_weights = None if weights is None else _positive_numbers(weights, "weights")
    if row_weights is not None:
        check_size(row_weights)
    counts = None if times is None else _positive_numbers(times, "times")
    if counts is not None and np.any(counts != np.floor(counts)):
        reject("`times` must be whole numbers", "others", "they count people; give sampling weights as `weights`")
    stratum, cluster = (None if group is None else group_codes(group) for group in (strata, clusters))
    return People(rows, row_weights, counts, stratum, cluster)


def group_codes(values: Values) -> Codes:
    """Encode groups as 0, 1, …; their values must be hashable but need not be ordered."""
    if values.dtype.kind == "O":
        table = {value: code for code, value in enumerate(dict.fromkeys(values.tolist()))}
        return np.fromiter((table[value] for value in values.tolist()), dtype=np.intp, count=len(values))
    return np.asarray(np.unique(values, return_inverse=True)[1], dtype=np.intp)


def _positive_numbers(values: Values, name: str) -> Array:
    array = finite_floats(values, name)
    if count := int(np.count_nonzero(array <= 0)):
        reject(f"`{name}` must be above 0", f"{count} of {len(array)} that are not", "leave those rows out")
    return array


@dataclass(frozen=True, eq=False)
class ModelRows:
    """The rows that a model is fitted to, and the numbers of rows left out, by the column with the missing value.

    `columns` holds further reports that the caller asked for, and the names of the rows' designs; `share_covariates`
    holds the covariates of further shares.
    """

    covariates: Covariates
    channel: Channel
    people: People
    dropped: Mapping[str, int]
    notes: tuple[str, ...]
    columns: Mapping[str, Values]
    share_covariates: Mapping[str, Covariates]


@dataclass(frozen=True, eq=False)
class FurtherReports:
    """Reports on other questions that a model uses, and the right sides of the formulas of further shares, by name.

    `groups` are columns of groups, which may have no gaps and are kept with the covariates. Without `with_fpc` the
    finite population correction is not applied.
    """

    columns: Mapping[str, Any]
    right_sides: Mapping[str, str]
    with_fpc: bool = True
    groups: tuple[str, ...] = ()


NOTHING_FURTHER = FurtherReports({}, {})


def read_model_rows(
    formula: Any,
    data: Any,
    design: object,
    design_by: object,
    sampling: Mapping[str, Any],
    missing: object,
    further: FurtherReports = NOTHING_FURTHER,
) -> ModelRows:
    """Read the rows of a model from a formula and a frame, or from reports and a table of numbers."""
    by_formula = isinstance(formula, str)
    _reject_text(data)
    response, right = split_formula(formula) if by_formula else (formula, "")
    sides = further.right_sides
    if by_formula and is_lazy(data):
        others = {**sampling, "design_by": design_by, **further.columns}
        data, sampling = aggregate_rows(data, [response, *_variables_of((right, *sides.values()), data)], others)
    frame, answers = as_frame(data) if by_formula else data, {"reports": response, **further.columns}
    columns = {name: column(frame, values, name) for name, values in answers.items()}
    if design_by is not None:
        columns["design_by"] = column(frame, design_by, "`design_by`")
    columns |= {f"the groups {name}": column(frame, name, "the groups") for name in further.groups}
    columns |= sampling_columns(frame, sampling)
    gaps = missing_cells(columns, sampling)
    policy, codes = split_missing(missing)
    for name in answers:
        gaps[name] |= is_missing_answer(columns[name], codes)
    if by_formula:
        gaps["covariates"] = rows_with_missing(frame, _variables_of((right, *sides.values()), frame))
    used, dropped = complete_rows(gaps, policy, columns.get("times"))
    people, notes = read_people(columns, used, sampling, dropped, frame, with_fpc=further.with_fpc)
    columns = {name: values[used] for name, values in columns.items()}
    rows, further_names = select_rows(frame, used), (*_sample_columns(sampling, frame), *further.groups)
    covariates = covariates_from_formula(right, rows, further_names) if by_formula else covariates_from_table(rows)
    reports = channel(columns["reports"], design_of_question(design, response), columns.get("design_by"), codes)
    shares = {
        name: covariates if side == right else covariates_from_formula(side, rows) for name, side in sides.items()
    }
    columns = {name: values for name, values in columns.items() if name in (*further.columns, "design_by")}
    return ModelRows(covariates, reports, people, dropped, notes, columns, shares)


def _reject_text(data: object) -> None:
    """Reject a formula in place of the data."""
    if isinstance(data, str):
        order = 'the formula comes first: logistic("report ~ age", frame, design)'
        reject("`data` must be a frame", repr(data)[:60], order, TypeError)


def _sample_columns(sampling: Mapping[str, Any], frame: object) -> tuple[str, ...]:
    """Return the columns of the sampling design, which are kept: a mixed model reads its groups from them."""
    references = (*sampling.values(), *getattr(sampling.get("sample"), "_column_names", ()))
    return tuple(name for name in references if isinstance(name, str) and name in column_names(frame))


def _variables_of(right_sides: Iterable[str], data: object) -> tuple[str, ...]:
    return tuple(dict.fromkeys(name for side in right_sides for name in variables(side, data)))


@dataclass(frozen=True, eq=False)
class AnswerRows:
    """The rows of a model that has no single design: covariates, columns of answers, and people."""

    covariates: Covariates
    columns: Mapping[str, Values]
    people: People
    dropped: Mapping[str, int]
    notes: tuple[str, ...]
    share_covariates: Mapping[str, Covariates]


def read_answer_rows(
    formula: str,
    data: Data,
    extra_columns: Mapping[str, Any],
    sampling: Mapping[str, Any],
    missing: str,
    share_formulas: Mapping[str, Any] | None = None,
) -> AnswerRows:
    """Read the answers on the left side of a formula, its covariates, and the extra columns.

    `share_formulas` are the formulas of further shares of the model, by name.
    """
    response, right = split_formula(formula)
    formulas = {
        name: split_formula(f"y ~ {text.strip().removeprefix('~')}")[1] for name, text in (share_formulas or {}).items()
    }
    check_row_order(data)
    frame = as_frame(data)
    columns = {"answers": column(frame, response, "answers")}
    columns |= {name: column(frame, value, f"`{name}`") for name, value in extra_columns.items()}
    columns |= sampling_columns(frame, sampling)
    covariates = tuple(name for side in (right, *formulas.values()) for name in variables(side, frame))
    gaps = missing_cells(columns, sampling) | {"covariates": rows_with_missing(frame, covariates)}
    used, dropped = complete_rows(gaps, missing)
    people, notes = read_people(columns, used, sampling, dropped, frame, with_fpc=False)
    columns, rows = {name: values[used] for name, values in columns.items()}, select_rows(frame, used)
    share_covariates = {name: covariates_from_formula(side, rows) for name, side in formulas.items()}
    return AnswerRows(covariates_from_formula(right, rows), columns, people, dropped, notes, share_covariates)


def check_row_order(data: object) -> None:
    """Reject data of an engine whose rows have no order."""
    if is_lazy(data):
        reject("`data` must hold its rows in order", type(data).__name__, "collect them into a frame first", TypeError)


def design_of_question(design: object, question_name: object) -> Any:
    """Return the design of the question `question_name` if `design` is a survey, otherwise `design` itself.

    The design of a choice question that is asked without randomization is the identity matrix.
    """
    if not hasattr(design, "questions"):
        return design
    questions = {question.name: question for question in design.questions}
    if not isinstance(question_name, str) or question_name not in questions:
        received = repr(question_name)[:40] if isinstance(question_name, str) else "reports without a name"
        remedy = f"it has {', '.join(questions)}"[:200]
        reject("with a survey the formula must name one of its questions", received, remedy)
    question = questions[question_name]
    if question.design is not None or question.kind != "choice":
        return question.design
    return as_design(plain(question.options))


def aggregate_rows(data: DataFrame, columns: Sequence[str], arguments: Mapping[str, Any]) -> tuple[Any, dict[str, Any]]:
    """Return the distinct rows of these columns, and the arguments with `times` set to the column of row counts."""
    sample = arguments.get("sample")
    if isinstance(sample, Sample) and sample._only_names:
        arguments = {**arguments, "weights": sample.weights, "strata": sample.strata, "clusters": sample.clusters}
        arguments["sample"] = None
    if arguments.get("sample") is not None:
        advice = "name weights, strata and clusters, or collect the rows first"
        reject("with a `sample` the data must hold its rows in order", type(data).__name__, advice, TypeError)
    labels = {argument: label for argument, label in arguments.items() if label is not None}
    for argument, label in labels.items():
        if not isinstance(label, str):
            rule = f"`{argument}` must be the name of a column"
            reject(rule, type(label).__name__, "an array cannot be matched to rows without an order", TypeError)
    times = labels.pop("times", None)
    by = [label for label in dict.fromkeys((*columns, *labels.values())) if label != times]
    return distinct_rows(data, by, times, TIMES), {**arguments, "times": TIMES}


def sampling_columns(frame: object, sampling: Mapping[str, Any]) -> dict[str, Values]:
    """Return the columns of weights, times, strata and clusters that are given by name or as arrays."""
    values = {name: sampling[name] for name in SAMPLING if sampling.get(name) is not None}
    return {name: column(frame, value, f"`{name}`") for name, value in values.items()}


def missing_cells(columns: Mapping[str, Values], sampling: Mapping[str, Any]) -> dict[str, Mask]:
    """Return a mask of missing values for each column, except for complete counts of `aggregate_rows`."""
    aggregated = isinstance(sampling.get("times"), str) and sampling["times"] == TIMES
    return {name: missing_mask(values) for name, values in columns.items() if not (aggregated and name == "times")}


def read_people(
    columns: Mapping[str, Values],
    used: Mask,
    sampling: Mapping[str, Any],
    dropped: Mapping[str, int],
    data: DataFrame,
    *,
    with_fpc: bool = True,
) -> tuple[People, tuple[str, ...]]:
    """Return the people of the used rows, with notes on the rows that were left out.

    Without `with_fpc` the finite population correction is not applied: it would also reduce the variance from
    randomization in models that cannot separate it from sampling variance.
    """
    persons = people(int(used.sum()), *(columns[name][used] if name in columns else None for name in SAMPLING))
    reasons = ", ".join(f"{count:,} with missing {name}" for name, count in dropped.items() if count)
    total = persons.n + sum(dropped.values())
    notes = (f"{persons.n:,} of {total:,} rows were used: left out {reasons}",) if reasons else ()
    if sampling.get("sample") is None:
        return persons, notes
    others = [name for name in SAMPLING if name in columns]
    sample = checked_sample(sampling["sample"], others, data)
    if sample is None:
        return persons, notes
    if isinstance(sample, Sample) and sample.population is not None and not with_fpc:
        sample, notes = replace(sample, population=None), (*notes, FINITE)
    rows = SampleRows(sample, used)
    return People(persons.rows, weights=rows.weights, sample_rows=rows), notes


def complete_rows(
    gaps: Mapping[str, Mask], missing_mode: str, times: Values | None = None
) -> tuple[Mask, dict[str, int]]:
    """Return a mask of the complete rows, and the number of people left out, by the first column that has no value."""
    counts = np.ones(len(next(iter(gaps.values()))))
    if times is not None and (numbers_of_people := floats_or_none(times)) is not None:
        counts = np.where(np.isnan(numbers_of_people), 1.0, numbers_of_people)
    incomplete = np.logical_or.reduce(list(gaps.values()))
    if check_choice(missing_mode, "missing", ("refuse", "drop")) == "refuse" and incomplete.any():
        received = ", ".join(f"{int(counts[gap].sum())} in {name}" for name, gap in gaps.items() if gap.any())
        reject("no value may be missing", received, "missing='drop' leaves those rows out and counts them")
    dropped, used = {}, np.ones(len(incomplete), dtype=bool)
    for name, gap in gaps.items():
        dropped[name] = int(counts[gap & used].sum())
        used &= ~gap
    if not used.any():
        reject("there must be a row without missing values", "none", "there is nothing to fit")
    return used, dropped
