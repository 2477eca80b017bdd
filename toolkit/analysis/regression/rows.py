"""What a model is fitted to: covariates, reports with their designs, and the people behind the rows; rows with
missing values are refused or counted.
"""

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
from toolkit.core.checks import choice, reject
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
_ADVICE = "leave empty what is no answer, or say what stands for it with missing=(…)"
_LEAST = 1e-150  # and its square is still a float


@dataclass(frozen=True, eq=False)
class Channel:
    """Reports as `codes` of their row's design: `which` is its place among `designs`, which share their options."""

    designs: tuple[Design, ...]
    which: Codes
    codes: Codes

    @property
    def options(self) -> Labels:
        return self.designs[0].options

    @property
    def loss(self) -> Pure:
        """What a report costs its sender: that of the design with the greatest epsilon."""
        return Pure(max(design.epsilon for design in self.designs))

    @property
    def description(self) -> str:
        """The designs by name."""
        kinds = list(dict.fromkeys(design.name for design in self.designs))
        return f"{' and '.join(kinds)} design{'s' if len(kinds) > 1 else ''}"

    @cached_property
    def report_likelihood(self) -> Array:
        """Pr(the report that was seen | truth), one row per truth, one column per person."""
        chances = np.empty((len(self.options), len(self.codes)))
        for rows, matrix in self.by_design():
            chances[:, rows] = matrix[:, self.codes[rows]]
        return chances

    def by_design(self) -> Iterator[tuple[Any, Array]]:
        if len(self.designs) == 1:
            yield slice(None), self.designs[0].matrix
            return
        for place, design in enumerate(self.designs):
            yield np.flatnonzero(self.which == place), design.matrix

    def likelihood(self, share: Array, rest: Array) -> Array:
        """Pr(the report that was seen) for two truths with these probabilities."""
        return np.asarray(np.maximum(self.report_likelihood[0] * rest + self.report_likelihood[1] * share, _LEAST))

    def report_information(self, share: Array, rest: Array) -> tuple[Array, Array]:
        """Sums over reports of difference**2 / probability, the information of one on a share; and its derivative."""
        kappa, slope = np.zeros_like(share), np.zeros_like(share)
        for rows, (without, having) in self.by_design():
            for low, high in zip(without, having, strict=True):
                if low != high:
                    part = low * rest[rows]
                    part += high * share[rows]
                    np.divide((high - low) ** 2, np.maximum(part, _LEAST, out=part), out=part)
                    kappa[rows] += part
                    part *= part
                    slope[rows] -= part / (high - low)
        return kappa, slope


def channel(reports: Values, design: object, ways: Values | None, missing: tuple[Any, ...] = ()) -> Channel:
    """Reports read by their designs; `ways` says which of several is a row's, `missing` what stood for no answer."""
    if ways is None:
        if isinstance(design, Mapping) and "weights" not in design:
            if len(design) != 1:
                remedy = f"there are {len(design)} designs; write design_by='a column with their names'"
                reject("`design_by` must say which design is whose", "none", remedy)
            design = next(iter(design.values()))
        designs: tuple[Design, ...] = (with_matrix(design),)
        codes = report_codes(reports, designs[0], missing)
        return Channel(designs, np.zeros(len(codes), dtype=np.intp), codes)
    if not isinstance(design, Mapping):
        reject("`design_by` needs a mapping of designs", type(design).__name__, "it chooses among several", TypeError)
    designs = tuple(map(with_matrix, design.values()))
    if not designs or any(one.options != designs[0].options for one in designs):
        received = " and ".join(str(list(one.options[:8])) for one in designs) or "none"
        rule = "designs must have the same options in the same order"
        reject(rule, received, "one model has one set of truths")
    which = np.full(len(ways), -1, dtype=np.intp)
    codes = np.zeros(len(ways), dtype=np.intp)
    for place, (key, one) in enumerate(zip(design, designs, strict=True)):
        mine = np.flatnonzero(ways == key)
        which[mine] = place
        if len(mine):
            codes[mine] = report_codes(reports[mine], one, missing)
    if unknown := int(np.count_nonzero(which < 0)):
        rule = f"`design_by` must hold the keys of `design` ({', '.join(map(str, design))})"
        reject(rule, f"{unknown} of {len(ways)} rows that do not", "their reports cannot be read")
    return Channel(designs, which, codes)


def without_answer(reports: Values, codes: tuple[Any, ...]) -> Mask:
    """Which reports are nobody's answer: empty text, or what was said to stand for none."""
    if reports.dtype.kind not in "OUT" and not codes:
        return np.zeros(len(reports), dtype=bool)
    keys, cells = {"", *map(cell_key, codes)}, reports.tolist()
    none = {report for report in set(cells) if cell_key(report) in keys}
    return np.fromiter((report in none for report in cells), dtype=bool, count=len(cells))


def missing_codes(missing: object) -> tuple[str, tuple[Any, ...]]:
    """What becomes of rows with missing values, and what stands for a missing report, besides empty cells."""
    if isinstance(missing, str):
        return choice(missing, "missing", ("refuse", "drop")), ()
    return "drop", tuple(missing) if isinstance(missing, Iterable) else (missing,)


def report_codes(reports: Values, design: Design, missing: tuple[Any, ...]) -> Codes:
    """Reports as codes. Numbers and truth values are those that the design itself makes; text, and what looks like a
    label's text, is read as everywhere in an analysis: labels in any case, and the usual words for yes and no.
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
    """What has a table of probabilities, the data that its `to_dict` wrote, or plain choices, which nothing hides."""
    restored: Any = restore(design) if isinstance(design, dict) else as_design(design)
    if isinstance(restored, type) or getattr(restored, "matrix", None) is None or not hasattr(restored, "_scores_sent"):
        consequence = "give a design such as warner('3/4'); a bare name leaves its probabilities open"
        received = f"the class {design.__name__}" if isinstance(design, type) else type(design).__name__
        reject("`design` must be a Design", received, consequence, TypeError)
    return restored  # type: ignore[no-any-return]


@dataclass(frozen=True, eq=False)
class People:
    """Persons drawn independently, `times` of them a row, unless weights, strata, clusters or `drawn` say more.

    Weights of any scale are divided by their mean: a likelihood then weighs against penalties and limits as that of so
    many persons does.
    """

    rows: int
    weights: Array | None = None
    times: Array | None = None
    strata: Codes | None = None
    clusters: Codes | None = None
    drawn: SampleRows | None = None

    def __post_init__(self) -> None:
        if self.weights is not None:
            mean = float(np.average(self.weights, weights=self.times)) or 1.0  # of a replicate they may all be 0
            object.__setattr__(self, "weights", self.weights / mean)

    @property
    def description(self) -> list[str]:
        """What is known of how they were drawn, in words."""
        if self.drawn is not None:
            return described(self.drawn.sample)
        return [name for name in ("weights", "strata", "clusters") if getattr(self, name) is not None]

    @property
    def complex(self) -> bool:
        """Whether the sample is more than independent persons who weigh the same."""
        return bool(self.description)

    @cached_property
    def n(self) -> int:
        return self.rows if self.times is None else int(self.times.sum())

    @cached_property
    def row_weights(self) -> Array:
        """What a row counts for in a sum over people: weight times number."""
        one = np.ones(self.rows) if self.weights is None else self.weights
        return one if self.times is None else one * self.times

    @cached_property
    def _units(self) -> tuple[Codes | None, Codes, Array]:
        """For each row its sampling unit, for each unit its stratum, and how many units each stratum has."""
        strata = np.zeros(self.rows, dtype=np.intp) if self.strata is None else self.strata
        if self.clusters is None:
            return None, strata, np.bincount(strata, self.times).astype(np.float64)
        pairs = strata * (int(self.clusters.max()) + 1) + self.clusters
        _, first, unit = np.unique(pairs, return_index=True, return_inverse=True)
        return unit.reshape(-1), strata[first], np.bincount(strata[first]).astype(np.float64)

    @property
    def df(self) -> int:
        """Degrees of freedom: sampling units minus strata."""
        if self.drawn is not None:
            return self.drawn.df
        sizes = self._units[2]
        return int(sizes.sum()) - len(sizes)

    def scatter(self, parts: Array) -> Array:
        """The variance of the sum of `parts`, a row per person, over units drawn with replacement within strata."""
        if self.drawn is not None:
            return self.drawn.scatter(parts)
        unit, stratum, sizes = self._units
        if count := int(np.count_nonzero(sizes < 2)):
            reject("every stratum must have two sampling units", f"{count} with one", "its variance is unknown")
        times = None
        if unit is None:
            totals, times = parts, self.times
        else:
            many = parts if self.times is None else parts * self.times[:, None]
            totals = np.column_stack([np.bincount(unit, column) for column in many.T])
        weighted = totals if times is None else totals * times[:, None]
        means = np.column_stack([np.bincount(stratum, column) for column in weighted.T]) / sizes[:, None]
        centred = totals - means[stratum]
        factor = (sizes / (sizes - 1))[stratum] * (1 if times is None else times)
        return np.asarray(centred.T @ (centred * factor[:, None]))


def people(
    rows: int, weights: Values | None, times: Values | None, strata: Values | None, clusters: Values | None
) -> People:
    row_weights = None if weights is None else _above_zero(weights, "weights", "a person who counts")
    if row_weights is not None:
        check_size(row_weights)
    persons = None if times is None else _above_zero(times, "times", "a row of persons")
    if persons is not None and np.any(persons != np.floor(persons)):
        reject("times must be whole numbers", "others", "they count persons; weights are another argument")
    by, together = (None if group is None else group_codes(group) for group in (strata, clusters))
    return People(rows, row_weights, persons, by, together)


def group_codes(values: Values) -> Codes:
    """The same groups as codes 0, 1, …: of any values that can be told apart, sorted or not."""
    if values.dtype.kind == "O":
        table = {value: code for code, value in enumerate(dict.fromkeys(values.tolist()))}
        return np.fromiter((table[value] for value in values.tolist()), dtype=np.intp, count=len(values))
    return np.asarray(np.unique(values, return_inverse=True)[1], dtype=np.intp)


def _above_zero(values: Values, what: str, whose: str) -> Array:
    array = numbers(values, what)
    if low := int(np.count_nonzero(array <= 0)):
        remedy = f"each belongs to {whose}; leave the others out"
        reject(f"{what} must be above 0", f"{low} of {len(array)} that are not", remedy)
    return array


@dataclass(frozen=True, eq=False)
class ModelRows:
    """Rows that a model is fitted to, and how many were left out, by reason."""

    covariates: Covariates
    channel: Channel
    people: People
    dropped: Mapping[str, int]
    notes: tuple[str, ...]


def read_rows(
    formula: Any, data: Any, design: object, design_by: object, sampling: Mapping[str, Any], missing: object
) -> ModelRows:
    """A formula and a frame, or reports and a table of numbers in their place."""
    by_formula = isinstance(formula, str)
    if isinstance(data, str):
        order = 'the formula comes first: logistic("report ~ age", frame, design)'
        reject("`data` must be a frame", repr(data)[:60], order, TypeError)
    left, right = sides(formula) if by_formula else (formula, "")
    if by_formula and is_lazy(data):
        others = {**sampling, "design_by": design_by}
        data, sampling = counted_rows(data, [left, *variables(right, data)], others)
    frame = as_frame(data) if by_formula else data
    columns, design = {"reports": column(frame, left, "reports")}, design_of(design, left)
    if design_by is not None:
        columns["design_by"] = column(frame, design_by, "`design_by`")
    columns |= sampling_columns(frame, sampling)
    gaps = gaps_in(columns, sampling)
    way, codes = missing_codes(missing)
    gaps["reports"] |= without_answer(columns["reports"], codes)
    if by_formula:
        gaps["covariates"] = absent_in(frame, variables(right, frame))
    used, dropped = complete(gaps, way, columns.get("times"))
    drawn, notes = who(columns, used, sampling, dropped, frame)
    named = (*sampling.values(), *getattr(sampling.get("sample"), "_column_names", ()))
    own = tuple(one for one in named if isinstance(one, str) and one in names(frame))
    columns = {what: values[used] for what, values in columns.items()}
    rows = select_rows(frame, used)
    covariates = from_formula(right, rows, own) if by_formula else from_arrays(rows)
    reports = channel(columns["reports"], design, columns.get("design_by"), codes)
    return ModelRows(covariates, reports, drawn, dropped, notes)


@dataclass(frozen=True, eq=False)
class Answers:
    """What other models are fitted to: columns of a frame, and who stands behind its rows."""

    covariates: Covariates
    columns: Mapping[str, Values]
    people: People
    dropped: Mapping[str, int]
    notes: tuple[str, ...]
    shares: Mapping[str, Covariates]


def read_answers(
    formula: str,
    data: Data,
    named: Mapping[str, Any],
    sampling: Mapping[str, Any],
    missing: str,
    shares: Mapping[str, Any] | None = None,
) -> Answers:
    """The answers on a formula's left, its covariates and further columns; `shares` may have formulas of their own."""
    left, right = sides(formula)
    rights = {name: sides(f"y ~ {text.strip().removeprefix('~')}")[1] for name, text in (shares or {}).items()}
    check_order(data)
    frame = as_frame(data)
    columns = {"answers": column(frame, left, "answers")}
    columns |= {name: column(frame, value, f"`{name}`") for name, value in named.items()}
    columns |= sampling_columns(frame, sampling)
    terms = tuple(name for one in (right, *rights.values()) for name in variables(one, frame))
    gaps = gaps_in(columns, sampling) | {"covariates": absent_in(frame, terms)}
    used, dropped = complete(gaps, missing)
    people, notes = who(columns, used, sampling, dropped, frame, finite=False)
    cut, rows = {what: values[used] for what, values in columns.items()}, select_rows(frame, used)
    more = {name: from_formula(one, rows) for name, one in rights.items()}
    return Answers(from_formula(right, rows), cut, people, dropped, notes, more)


def check_order(data: object) -> None:
    """Refuse rows that an engine would only count."""
    if is_lazy(data):
        reject("`data` must hold its rows in order", type(data).__name__, "collect them into a frame first", TypeError)


def design_of(design: object, name: object) -> Any:
    """The design of the question of this name, where a survey is given; plain answers have one that hides nothing."""
    if not hasattr(design, "questions"):
        return design
    known = {one.name: one for one in design.questions}
    if not isinstance(name, str) or name not in known:
        received = repr(name)[:40] if isinstance(name, str) else "reports without a name"
        reject("with a survey the formula must name one of its questions", received, f"it has {', '.join(known)}"[:200])
    question = known[name]
    if question.design is not None or question.kind != "choice":
        return question.design
    return as_design(plain(question.options))


def counted_rows(data: DataFrame, needs: Sequence[str], others: Mapping[str, Any]) -> tuple[Any, dict[str, Any]]:
    """The different rows of these columns, and `others` by name, with how often each comes."""
    sample = others.get("sample")
    if isinstance(sample, Sample) and sample._only_names:
        others = {**others, "weights": sample.weights, "strata": sample.strata, "clusters": sample.clusters}
        others["sample"] = None
    if others.get("sample") is not None:
        advice = "give weights, strata and clusters by name, or collect the rows first"
        reject("with a `sample` the data must hold its rows in order", type(data).__name__, advice, TypeError)
    labels = {what: name for what, name in others.items() if name is not None}
    for what, name in labels.items():
        if not isinstance(name, str):
            rule = f"`{what}` must be the name of a column"
            reject(rule, type(name).__name__, "the data's rows have no order to pair it with", TypeError)
    times = labels.pop("times", None)
    by = [name for name in dict.fromkeys((*needs, *labels.values())) if name != times]
    return distinct_rows(data, by, times, TIMES), {**others, "times": TIMES}


def sampling_columns(frame: object, sampling: Mapping[str, Any]) -> dict[str, Values]:
    """The columns of weights, times, strata and clusters that were given: by name, or as arrays."""
    values = {name: sampling[name] for name in SAMPLING if sampling.get(name) is not None}
    return {name: column(frame, value, f"`{name}`") for name, value in values.items()}


def gaps_in(columns: Mapping[str, Values], sampling: Mapping[str, Any]) -> dict[str, Mask]:
    """Where each column has no value; what an engine has counted is always there."""
    counted = isinstance(sampling.get("times"), str) and sampling["times"] == TIMES
    return {what: missing_mask(values) for what, values in columns.items() if not (counted and what == "times")}


def who(
    columns: Mapping[str, Values],
    used: Mask,
    sampling: Mapping[str, Any],
    dropped: Mapping[str, int],
    data: DataFrame,
    *,
    finite: bool = True,
) -> tuple[People, tuple[str, ...]]:
    """The people behind the rows, and notes; `finite` : whether the model can tell its randomization from their
    drawing.
    """
    persons = people(int(used.sum()), *(columns[name][used] if name in columns else None for name in SAMPLING))
    reasons = ", ".join(f"{count:,} with missing {what}" for what, count in dropped.items() if count)
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
    drawn = SampleRows(sample, used)
    return People(persons.rows, weights=drawn.weights, drawn=drawn), notes


def complete(gaps: Mapping[str, Mask], missing: str, times: Values | None = None) -> tuple[Mask, dict[str, int]]:
    """Rows without a gap; and how many people others stand for, each counted once, by its first gap."""
    each = np.ones(len(next(iter(gaps.values()))))
    if times is not None and (known := floats(times)) is not None:
        each = np.where(np.isnan(known), 1.0, known)
    some = np.logical_or.reduce(list(gaps.values()))
    if choice(missing, "missing", ("refuse", "drop")) == "refuse" and some.any():
        which = ", ".join(f"{int(each[gap].sum())} in {what}" for what, gap in gaps.items() if gap.any())
        reject("no value may be missing", which, "missing='drop' leaves those rows out and counts them")
    dropped, used = {}, np.ones(len(some), dtype=bool)
    for what, gap in gaps.items():
        dropped[what] = int(each[gap & used].sum())
        used &= ~gap
    if not used.any():
        reject("there must be a row without missing values", "none", "there is nothing to fit")
    return used, dropped
