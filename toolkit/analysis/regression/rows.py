"""The rows that a model is fitted to: covariates, reports with their designs, and the people whom they stand for."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from toolkit.analysis.plain import as_design, plain
from toolkit.analysis.regression.covariates import Covariates, absent_in, from_arrays, from_formula, sides, variables
from toolkit.analysis.reports import Data, Reader, cell_key
from toolkit.analysis.sampling.inputs import check_size
from toolkit.analysis.sampling.sample import FINITE, Sample, SampleRows, checked_sample, described
from toolkit.core.arrays import Array, DataFrame, Labels, Mask
from toolkit.core.checks import check_choice, reject
from toolkit.core.loss import Pure
from toolkit.frames.table import (
    Values,
    as_frame,
    column,
    distinct_rows,
    floats,
    is_lazy,
    missing_mask,
    names,
    numbers,
    select_rows,
)
from toolkit.local.catalogue import restore
from toolkit.local.design import Design
from toolkit.local.matrix.encoding import encode, looks_like_others

Codes = npt.NDArray[np.intp]
TIMES = "number of people"
SAMPLING = ("weights", "times", "strata", "clusters")
_ADVICE = "leave cells without an answer empty, or list the codes for missing answers in missing=(…)"
_LEAST = 1e-150  # its square is still a float


@dataclass(frozen=True, eq=False)
class Channel:
    """Reports and the designs that randomized them.

    `codes` are the reports in the coding of their row's design, which is `designs[design_index]`. All designs have the
    same options.
    """

    designs: tuple[Design, ...]
    design_index: Codes
    codes: Codes

    @property
    def options(self) -> Labels:
        return self.designs[0].options

    @property
    def loss(self) -> Pure:
        """The privacy loss of one report: that of the design with the largest epsilon."""
        return Pure(max(design.epsilon for design in self.designs))

    @property
    def description(self) -> str:
        """The names of the designs, as in "warner and forced designs"."""
        kinds = list(dict.fromkeys(design.name for design in self.designs))
        return f"{' and '.join(kinds)} design{'s' if len(kinds) > 1 else ''}"

    @cached_property
    def report_likelihood(self) -> Array:
        """Pr(observed report | truth): one row per truth, one column per person."""
        likelihood = np.empty((len(self.options), len(self.codes)))
        for rows, matrix in self.by_design():
            likelihood[:, rows] = matrix[:, self.codes[rows]]
        return likelihood

    def by_design(self) -> Iterator[tuple[Any, Array]]:
        """Yield the rows of each design, with its matrix."""
        if len(self.designs) == 1:
            yield slice(None), self.designs[0].matrix
            return
        for index, design in enumerate(self.designs):
            yield np.flatnonzero(self.design_index == index), design.matrix

    def likelihood(self, share: Array, rest: Array) -> Array:
        """Return Pr(observed report) if a person has the trait with probability `share`, and not with `rest`."""
        return np.asarray(np.maximum(self.report_likelihood[0] * rest + self.report_likelihood[1] * share, _LEAST))

    def report_information(self, share: Array, rest: Array) -> tuple[Array, Array]:
        """Return the Fisher information of one report on a share, and its derivative.

        The information is the sum over reports of (Pr(report | yes) - Pr(report | no))**2 / Pr(report).
        """
        information, derivative = np.zeros_like(share), np.zeros_like(share)
        for rows, (without, having) in self.by_design():
            for low, high in zip(without, having, strict=True):
                if low != high:
                    # In place: with a million people each temporary array takes as much memory as a covariate.
                    term = low * rest[rows]
                    term += high * share[rows]
                    np.divide((high - low) ** 2, np.maximum(term, _LEAST, out=term), out=term)
                    information[rows] += term
                    term *= term
                    derivative[rows] -= term / (high - low)
        return information, derivative


def channel(reports: Values, design: object, design_by: Values | None, missing: tuple[Any, ...] = ()) -> Channel:
    """Encode reports by their designs.

    `design_by` holds the key of each row's design, where there are several; `missing` holds the codes for missing
    answers.
    """
    if design_by is None:
        if isinstance(design, Mapping) and "weights" not in design:
            if len(design) != 1:
                remedy = f"there are {len(design)} designs: name the column with their keys, as in design_by='mode'"
                reject("`design_by` must be given with several designs", "none", remedy)
            design = next(iter(design.values()))
        designs: tuple[Design, ...] = (with_matrix(design),)
        codes = report_codes(reports, designs[0], missing)
        return Channel(designs, np.zeros(len(codes), dtype=np.intp), codes)
    if not isinstance(design, Mapping):
        rule = "with `design_by`, `design` must be a mapping of designs"
        reject(rule, type(design).__name__, "leave out `design_by` if there is one design", TypeError)
    designs = tuple(map(with_matrix, design.values()))
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


def without_answer(reports: Values, codes: tuple[Any, ...]) -> Mask:
    """Return where reports are missing answers: empty text, or one of these codes."""
    if reports.dtype.kind not in "OUT" and not codes:
        return np.zeros(len(reports), dtype=bool)
    keys, cells = {"", *map(cell_key, codes)}, reports.tolist()
    empty = {report for report in set(cells) if cell_key(report) in keys}
    return np.fromiter((report in empty for report in cells), dtype=bool, count=len(cells))


def missing_codes(missing: object) -> tuple[str, tuple[Any, ...]]:
    """Split `missing` into "refuse" or "drop" and the codes that, besides empty cells, stand for a missing answer."""
    if isinstance(missing, str):
        return check_choice(missing, "missing", ("refuse", "drop")), ()
    return "drop", tuple(missing) if isinstance(missing, Iterable) else (missing,)


def report_codes(reports: Values, design: Design, missing: tuple[Any, ...]) -> Codes:
    """Encode reports as codes of a design.

    Numbers and truth values are those that the design makes. Text is read as everywhere in an analysis: labels in any
    case, and the usual words for yes and no.
    """
    if reports.dtype.kind == "O" and not any(isinstance(report, str) for report in reports):
        reports = np.asarray(reports.tolist())
    by_text = reports.dtype.kind in "OUT" or looks_like_others(design.report_options)
    reader = Reader("reports", design, missing, _ADVICE) if by_text or missing else None
    if reader is None or not by_text:
        return encode(reports, design.report_options, "reports").codes.astype(np.intp)
    cells = reports.tolist()
    counts = Counter(cells)
    code = dict(zip(counts, (code for code, _ in reader.read_all(counts.items())), strict=True))
    return np.fromiter((code[report] for report in cells), dtype=np.intp, count=len(cells))


def with_matrix(design: object) -> Design:
    """Return a design with a matrix, from the design, from the dictionary of its `to_dict`, or from plain options."""
    restored: Any = restore(design) if isinstance(design, dict) else as_design(design)
    if isinstance(restored, type) or getattr(restored, "matrix", None) is None or not hasattr(restored, "_scores_sent"):
        consequence = "give a design such as warner('3/4'); a bare name does not say its probabilities"
        received = f"the class {design.__name__}" if isinstance(design, type) else type(design).__name__
        reject("`design` must be a Design", received, consequence, TypeError)
    return restored  # type: ignore[no-any-return]


@dataclass(frozen=True, eq=False)
class People:
    """The people whom the rows stand for, `times` of them each, and how they were sampled.

    Without weights, strata, clusters and `sample_rows` they were drawn independently. Weights are divided by their
    mean, so that the log-likelihood has the scale of as many people, which penalties and tolerances assume.
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
        """The parts of the sampling design that are known, such as "weights" and "clusters"."""
        if self.sample_rows is not None:
            return described(self.sample_rows.sample)
        return [name for name in ("weights", "strata", "clusters") if getattr(self, name) is not None]

    @property
    def complex(self) -> bool:
        """Whether the sample is other than independent people of equal weight."""
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
    def _units(self) -> tuple[Codes | None, Codes, Array]:
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
        sizes = self._units[2]
        return int(sizes.sum()) - len(sizes)

    def scatter(self, values: Array) -> Array:
        """Return the variance of the sum of `values`, one row per person.

        Without `sample_rows` units are drawn with replacement within strata.
        """
        if self.sample_rows is not None:
            return self.sample_rows.scatter(values)
        unit, stratum, sizes = self._units
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
    """Return the people of these columns, after a check of weights and numbers."""
    row_weights = None if weights is None else _positive(weights, "weights")
    if row_weights is not None:
        check_size(row_weights)
    counts = None if times is None else _positive(times, "times")
    if counts is not None and np.any(counts != np.floor(counts)):
        reject("`times` must be whole numbers", "others", "they count people; give sampling weights as `weights`")
    stratum, cluster = (None if group is None else group_codes(group) for group in (strata, clusters))
    return People(rows, row_weights, counts, stratum, cluster)


def group_codes(values: Values) -> Codes:
    """Encode groups as 0, 1, …; their values must be hashable, but need no order."""
    if values.dtype.kind == "O":
        table = {value: code for code, value in enumerate(dict.fromkeys(values.tolist()))}
        return np.fromiter((table[value] for value in values.tolist()), dtype=np.intp, count=len(values))
    return np.asarray(np.unique(values, return_inverse=True)[1], dtype=np.intp)


def _positive(values: Values, name: str) -> Array:
    array = numbers(values, name)
    if count := int(np.count_nonzero(array <= 0)):
        reject(f"`{name}` must be above 0", f"{count} of {len(array)} that are not", "leave those rows out")
    return array


@dataclass(frozen=True, eq=False)
class ModelRows:
    """The rows that a model is fitted to, and how many were left out, by the column with the missing value."""

    covariates: Covariates
    channel: Channel
    people: People
    dropped: Mapping[str, int]
    notes: tuple[str, ...]


def read_rows(
    formula: Any, data: Any, design: object, design_by: object, sampling: Mapping[str, Any], missing: object
) -> ModelRows:
    """Read the rows of a model from a formula and a frame, or from reports and a table of numbers."""
    by_formula = isinstance(formula, str)
    if isinstance(data, str):
        order = 'the formula comes first: logistic("report ~ age", frame, design)'
        reject("`data` must be a frame", repr(data)[:60], order, TypeError)
    response, right = sides(formula) if by_formula else (formula, "")
    if by_formula and is_lazy(data):
        others = {**sampling, "design_by": design_by}
        data, sampling = aggregate_rows(data, [response, *variables(right, data)], others)
    frame = as_frame(data) if by_formula else data
    columns, design = {"reports": column(frame, response, "reports")}, design_of(design, response)
    if design_by is not None:
        columns["design_by"] = column(frame, design_by, "`design_by`")
    columns |= sampling_columns(frame, sampling)
    gaps = missing_in(columns, sampling)
    policy, codes = missing_codes(missing)
    gaps["reports"] |= without_answer(columns["reports"], codes)
    if by_formula:
        gaps["covariates"] = absent_in(frame, variables(right, frame))
    used, dropped = complete_rows(gaps, policy, columns.get("times"))
    people, notes = read_people(columns, used, sampling, dropped, frame)
    # The columns of the sampling design stay with the covariates: a mixed model reads its groups there.
    references = (*sampling.values(), *getattr(sampling.get("sample"), "_column_names", ()))
    sample_columns = tuple(name for name in references if isinstance(name, str) and name in names(frame))
    columns = {name: values[used] for name, values in columns.items()}
    rows = select_rows(frame, used)
    covariates = from_formula(right, rows, sample_columns) if by_formula else from_arrays(rows)
    reports = channel(columns["reports"], design, columns.get("design_by"), codes)
    return ModelRows(covariates, reports, people, dropped, notes)


@dataclass(frozen=True, eq=False)
class Answers:
    """The rows of a model without a `Channel`: covariates, columns of answers, and people."""

    covariates: Covariates
    columns: Mapping[str, Values]
    people: People
    dropped: Mapping[str, int]
    notes: tuple[str, ...]
    shares: Mapping[str, Covariates]


def read_answers(
    formula: str,
    data: Data,
    further: Mapping[str, Any],
    sampling: Mapping[str, Any],
    missing: str,
    shares: Mapping[str, Any] | None = None,
) -> Answers:
    """Read the answers on the left of a formula, its covariates, and further columns by name.

    `shares` are right-hand sides of further shares of the model, by name.
    """
    response, right = sides(formula)
    formulas = {name: sides(f"y ~ {text.strip().removeprefix('~')}")[1] for name, text in (shares or {}).items()}
    check_order(data)
    frame = as_frame(data)
    columns = {"answers": column(frame, response, "answers")}
    columns |= {name: column(frame, value, f"`{name}`") for name, value in further.items()}
    columns |= sampling_columns(frame, sampling)
    covariates = tuple(name for side in (right, *formulas.values()) for name in variables(side, frame))
    gaps = missing_in(columns, sampling) | {"covariates": absent_in(frame, covariates)}
    used, dropped = complete_rows(gaps, missing)
    people, notes = read_people(columns, used, sampling, dropped, frame, finite=False)
    columns, rows = {name: values[used] for name, values in columns.items()}, select_rows(frame, used)
    share_covariates = {name: from_formula(side, rows) for name, side in formulas.items()}
    return Answers(from_formula(right, rows), columns, people, dropped, notes, share_covariates)


def check_order(data: object) -> None:
    """Reject data of an engine that gives its rows no order."""
    if is_lazy(data):
        reject("`data` must hold its rows in order", type(data).__name__, "collect them into a frame first", TypeError)


def design_of(design: object, name: object) -> Any:
    """Return the design of the question `name` if `design` is a survey, else `design` itself.

    A choice that is asked without randomization has the identity matrix as its design.
    """
    if not hasattr(design, "questions"):
        return design
    questions = {question.name: question for question in design.questions}
    if not isinstance(name, str) or name not in questions:
        received = repr(name)[:40] if isinstance(name, str) else "reports without a name"
        remedy = f"it has {', '.join(questions)}"[:200]
        reject("with a survey the formula must name one of its questions", received, remedy)
    question = questions[name]
    if question.design is not None or question.kind != "choice":
        return question.design
    return as_design(plain(question.options))


def aggregate_rows(data: DataFrame, needs: Sequence[str], others: Mapping[str, Any]) -> tuple[Any, dict[str, Any]]:
    """Return the distinct rows of the columns `needs` and `others`, and `others` with the column of their counts."""
    sample = others.get("sample")
    if isinstance(sample, Sample) and sample._only_names:
        others = {**others, "weights": sample.weights, "strata": sample.strata, "clusters": sample.clusters}
        others["sample"] = None
    if others.get("sample") is not None:
        advice = "name weights, strata and clusters, or collect the rows first"
        reject("with a `sample` the data must hold its rows in order", type(data).__name__, advice, TypeError)
    labels = {argument: label for argument, label in others.items() if label is not None}
    for argument, label in labels.items():
        if not isinstance(label, str):
            rule = f"`{argument}` must be the name of a column"
            reject(rule, type(label).__name__, "these data have no order of rows to match an array with", TypeError)
    times = labels.pop("times", None)
    by = [label for label in dict.fromkeys((*needs, *labels.values())) if label != times]
    return distinct_rows(data, by, times, TIMES), {**others, "times": TIMES}


def sampling_columns(frame: object, sampling: Mapping[str, Any]) -> dict[str, Values]:
    """Return the columns of weights, times, strata and clusters that are given by name or as arrays."""
    values = {name: sampling[name] for name in SAMPLING if sampling.get(name) is not None}
    return {name: column(frame, value, f"`{name}`") for name, value in values.items()}


def missing_in(columns: Mapping[str, Values], sampling: Mapping[str, Any]) -> dict[str, Mask]:
    """Return where each column has no value. Counts of `aggregate_rows` are never missing, and are left out."""
    aggregated = isinstance(sampling.get("times"), str) and sampling["times"] == TIMES
    return {name: missing_mask(values) for name, values in columns.items() if not (aggregated and name == "times")}


def read_people(
    columns: Mapping[str, Values],
    used: Mask,
    sampling: Mapping[str, Any],
    dropped: Mapping[str, int],
    data: DataFrame,
    *,
    finite: bool = True,
) -> tuple[People, tuple[str, ...]]:
    """Return the people of the rows that are used, with notes on rows left out.

    `finite` says whether the model can separate randomization from sampling variance. If not, the finite population
    correction, which would lessen both, is left out.
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
    if isinstance(sample, Sample) and sample.population is not None and not finite:
        sample, notes = replace(sample, population=None), (*notes, FINITE)
    rows = SampleRows(sample, used)
    return People(persons.rows, weights=rows.weights, sample_rows=rows), notes


def complete_rows(gaps: Mapping[str, Mask], missing: str, times: Values | None = None) -> tuple[Mask, dict[str, int]]:
    """Return which rows have no gap, and the number of people left out, counted by the first gap of their row."""
    counts = np.ones(len(next(iter(gaps.values()))))
    if times is not None and (numbers_of_people := floats(times)) is not None:
        counts = np.where(np.isnan(numbers_of_people), 1.0, numbers_of_people)
    incomplete = np.logical_or.reduce(list(gaps.values()))
    if check_choice(missing, "missing", ("refuse", "drop")) == "refuse" and incomplete.any():
        received = ", ".join(f"{int(counts[gap].sum())} in {name}" for name, gap in gaps.items() if gap.any())
        reject("no value may be missing", received, "missing='drop' leaves those rows out and counts them")
    dropped, used = {}, np.ones(len(incomplete), dtype=bool)
    for name, gap in gaps.items():
        dropped[name] = int(counts[gap & used].sum())
        used &= ~gap
    if not used.any():
        reject("there must be a row without missing values", "none", "there is nothing to fit")
    return used, dropped
