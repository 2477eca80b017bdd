"""`estimates`: findings from a frame of reports and their designs, overall or by group.

Without a sample, only counts are needed, and the engine that holds the reports computes them.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from toolkit.analysis.agreement import variance_if_all_changes_equal
from toolkit.analysis.anchored_shares import AnchoredCounts, AnchoredSample, AnchorQuestion, anchor_question
from toolkit.analysis.findings import Findings
from toolkit.analysis.from_sample import SampleSource
from toolkit.analysis.homogeneity import TableTest, homogeneity
from toolkit.analysis.plain import question_model
from toolkit.analysis.regression.anchor import Anchor
from toolkit.analysis.reports import (
    Designs,
    GroupEstimate,
    QuestionModel,
    Reader,
    checked_designs,
    empty_estimate,
    has_matrix,
)
from toolkit.analysis.sampling.replicates import Replicates
from toolkit.analysis.sampling.sample import Sample
from toolkit.core.arrays import Array, DataFrame
from toolkit.core.checks import check_choice, explain_call, is_missing, reject
from toolkit.core.covers import SAMPLED
from toolkit.core.estimate import Estimate
from toolkit.core.inference.contrasts import Mover
from toolkit.core.inference.intervals import Student
from toolkit.frames.counts import Group, columns_of, row_counts, sort_key
from toolkit.frames.table import rows_in_order
from toolkit.local.design import Design

METHODS = ("moment", "mle", "simplex")
_SAMPLING = frozenset({"weight", "weights", "wt", "pweight", "cluster", "clusters", "psu", "stratum", "strata"})
_SAMPLE = 'Sample(weights="w", clusters="school")'
_CELLS = 256  # largest number of combinations of reports for which questions are counted together


@explain_call(
    'estimates(frame, {"report": forced("1/6", "1/6")}, by="sex")',
    designs="they say how each column was randomized",
    weights='write sample=Sample(weights="w")',
)
def estimates(
    frame: DataFrame,
    designs: Designs,
    by: Sequence[str] | str | None = None,
    *,
    sample: Sample | Replicates | None = None,
    anchor: Anchor | str | None = None,
    missing: Sequence[Any] = (),
    method: str | None = None,
) -> Findings:
    """Estimate every column of reports, overall or for each group.

    Parameters
    ----------
    frame : frame
        A frame from pandas, polars, pyarrow, DuckDB, Dask, PySpark or Ibis, whose engine counts the reports. With a
        `sample`, the rows are read in the order of the sample.
    designs : mapping or Survey
        The randomizer of each column, {"report": forced("1/6", "1/6")}, with `plain(…)` for plain answers; or the
        survey, whose questions are the columns. Cells are labels, in upper or lower case. For yes/no questions, they
        may also be booleans, 0 and 1, or the usual words for yes and no. Any other cell raises an error.
    by : str or sequence of str, optional
        Columns whose values are the groups.
    sample : Sample or Replicates, optional
        The sampling design, unless people were drawn with equal probability:
        Sample(weights="w", strata="region", clusters="school").
    anchor : Anchor or str, optional
        An anchor question, or its column, by which the shares are corrected for people who answered at random, as by
        `toolkit.local.anchor.corrected`. Answers that are not randomized, and means, are not corrected.
    missing : sequence, optional
        Codes for missing answers, besides empty cells: (9, "refused").
    method : {"moment", "mle", "simplex"}, optional
        "moment", the default, is unbiased; the other two are restricted to [0, 1] and intended for display.

    Returns
    -------
    Findings
        An estimate for each question and group.

    Examples
    --------
    >>> import pandas as pd
    >>> from toolkit import warner
    >>> frame = pd.DataFrame({"report": ["yes"] * 40 + ["No"] * 60 + [9], "sex": ["f", "m"] * 50 + ["f"]})
    >>> found = estimates(frame, {"report": warner("3/4")}, missing=(9,))
    >>> round(found["report"].value, 3), found.missing["missing report"].item()
    (0.3, 1)
    """
    names, columns = _group_names(by), columns_of(frame)
    questions, notes = _models_of(designs, names, columns)
    models = checked_designs(questions)
    if len(set(names)) < len(names):
        reject("`by` must name each column once", "a repeated name", "leave out the repetition")
    if randomized := [name for name in names if name in models]:
        consequence = "people cannot be grouped by a randomized answer"
        reject("`by` must name columns without a design", ", ".join(randomized), consequence)
    if sample is not None and not isinstance(sample, Sample | Replicates):
        reject("`sample` must be a Sample or Replicates", type(sample).__name__, _SAMPLE, TypeError)
    codes = (missing,) if isinstance(missing, str | int | float) else tuple(missing)
    question = None if anchor is None else anchor_question(anchor, designs, models)
    all_models = models if question is None else {question.name: question.design, **models}
    readers = {name: Reader(name, model, codes) for name, model in all_models.items()}
    estimator = checked_method(method)
    source = _source(frame, names, readers, sample, question)
    if not source.groups():
        reject("the frame must have a row that is in a group", "none", "there is nothing to estimate from")
    rows = tuple(row for name in models for row in source.group_estimates(name, estimator))
    notes = (*ungrouped_notes(source.ungrouped(), names), *notes, *_uncorrected_notes(source, models))
    if sample is None:
        notes += _sampling_notes([name for name in columns if name not in (*names, *all_models)])
    return Findings(models, names, rows, source, notes)


def _source(
    frame: DataFrame,
    by: tuple[str, ...],
    readers: Mapping[str, Reader],
    sample: Sample | Replicates | None,
    anchor: AnchorQuestion | None,
) -> "CountSource | SampleSource | AnchoredCounts | AnchoredSample":
    """Return counts or the rows of a sample, corrected by an anchor if there is one."""
    if sample is None:
        counts = CountSource(frame, by, readers)
        return counts if anchor is None else AnchoredCounts(counts, anchor)
    rows_in_order(frame)  # raises an error for an engine whose rows have no order
    rows = SampleSource(frame, by, readers, sample.resolve(frame))
    return rows if anchor is None else AnchoredSample(rows, anchor)


def _uncorrected_notes(source: object, names: Iterable[str]) -> tuple[str, ...]:
    """Return a note on questions that the anchor does not correct."""
    if not isinstance(source, AnchoredCounts | AnchoredSample):
        return ()
    others = [name for name in names if name != source.anchor.name and not source.corrects(name)]
    return (f"the anchor does not correct {', '.join(others)}: only shares under a design",) if others else ()


def _models_of(designs: Designs, by: tuple[str, ...], columns: Sequence[Any]) -> tuple[Any, tuple[str, ...]]:
    """Return `designs`, or for a survey the models of its questions that have a column, and a note on the others."""
    if not hasattr(designs, "questions"):
        return designs, ()
    questions = [question for question in designs.questions if question.kind != "text" and question.name not in by]
    models = {question.name: question_model(question) for question in questions if question.name in columns}
    if not models:
        names = ", ".join(question.name for question in questions[:8])
        reject("the frame must have a column of the survey", "none", f"its questions are {names}")
    absent = ", ".join(question.name for question in questions if question.name not in columns)
    return models, (f"the frame has no column of the survey's {absent}",) if absent else ()


def _group_names(by: object) -> tuple[str, ...]:
    """Return the names of the columns of `by`."""
    if hasattr(by, "to_numpy"):
        name = getattr(by, "name", None)
        remedy = f"write by={name!r}" if isinstance(name, str) else 'write by="city"'
        reject("`by` must be names of columns", f"a {type(by).__name__}", remedy, TypeError)
    names: tuple[Any, ...] = () if by is None else (by,)
    if isinstance(by, Iterable) and not isinstance(by, str):
        names = tuple(by)
    if bad := [name for name in names if not isinstance(name, str)]:
        reject("`by` must be names of columns", type(bad[0]).__name__, "columns are looked up by name", TypeError)
    return names


def checked_method(method: str | None) -> str:
    """Return the name of an estimator: by default "moment", the unbiased one."""
    return check_choice("moment" if method is None else method, "method", METHODS)


def ungrouped_notes(rows: int, by: Sequence[str]) -> tuple[str, ...]:
    """Return a note on rows that are in no group, because a value of `by` is missing."""
    message = f"{rows:,} row{' is' if rows == 1 else 's are'} in no group, and in no estimate"
    return (f"{message}: {' or '.join(by)} is missing",) if rows else ()


def _sampling_notes(others: Sequence[str]) -> tuple[str, ...]:
    """Return a note if the name of a column suggests weights, strata or clusters."""
    if not (names := [name for name in others if str(name).casefold() in _SAMPLING]):
        return ()
    fact = f"the frame has {', '.join(names)}, which the standard errors do not take into account"
    return (f"{fact}: give sample=Sample(…) if people were drawn with weights, in strata or in clusters",)


@dataclass(frozen=True, eq=False)
class CountSource:
    """Counts of the reports in each group, computed by the engine that holds the reports."""

    frame: Any
    by: tuple[str, ...]
    readers: Mapping[str, Reader]

    @cached_property
    def _tables(self) -> dict[str, list[tuple[Group, Any, int]]]:
        """For each question, every combination of group and cell, with its number of rows."""
        tables: dict[str, list[tuple[Group, Any, int]]] = {}
        for batch in self._batches():
            rows = row_counts(self.frame, [*self.by, *batch])
            for index, name in enumerate(batch, start=len(self.by)):
                tables[name] = [(row[: len(self.by)], row[index], count) for row, count in rows]
        return tables

    def _batches(self) -> list[list[str]]:
        """Return batches of questions whose reports have few combinations, so that one query counts a whole batch."""
        batches: list[list[str]] = []
        remaining = 0  # the number of combinations that a further question may have
        for name, reader in sorted(self.readers.items(), key=lambda item: len(item[1].design.report_options)):
            kinds = len(reader.design.report_options) + 1  # a report may be missing
            if kinds > 1 and kinds <= remaining:
                batches[-1].append(name)
                remaining //= kinds
            else:
                batches.append([name])
                remaining = _CELLS // kinds if kinds > 1 else 0
        return batches

    @cached_property
    def _rows(self) -> tuple[dict[Group, int], int]:
        """The number of rows of each group, in order, and of rows in no group."""
        sums: dict[Group, int] = {}
        ungrouped = 0
        by_group = [] if self.readers else [(row, None, count) for row, count in row_counts(self.frame, self.by)]
        for group, _, count in next(iter(self._tables.values()), by_group):
            if any(map(is_missing, group)):
                ungrouped += count
            else:
                sums[group] = sums.get(group, 0) + count
        return {group: sums[group] for group in sorted(sums, key=sort_key)}, ungrouped

    def groups(self) -> dict[Group, int]:
        return self._rows[0]

    def ungrouped(self) -> int:
        return self._rows[1]

    def _values(self, name: str) -> dict[Group, list[tuple[Any, int]]]:
        """Return the reports of each group with their counts; missing reports are left out."""
        table = self._tables[name]
        reports = self.readers[name].read_all([(cell, count) for _, cell, count in table])
        values: dict[Group, list[tuple[Any, int]]] = {}
        for (group, _, _), (value, count) in zip(table, reports, strict=True):
            if value is not None:
                values.setdefault(group, []).append((value, count))
        return values

    def group_estimates(self, name: str, method: str) -> list[GroupEstimate]:
        design, values = self.readers[name].design, self._values(name)
        estimates = []
        for group, rows in self.groups().items():
            reports = values.get(group, [])
            used = sum(count for _, count in reports)
            yes = None
            if used and len(design.report_options) == 2:
                yes = sum(count for value, count in reports if value == 1) / used
            estimates.append(GroupEstimate(name, group, _estimate(design, reports, method), rows, rows - used, yes))
        return estimates

    @cached_property
    def _moments(self) -> dict[str, dict[Group, Estimate]]:
        return {}

    def difference(self, name: str, group: Group, other: Group) -> Estimate:
        if name not in self._moments:
            self._moments[name] = {row.group: row.estimate for row in self.group_estimates(name, "moment")}
        return self._moments[name][group] - self._moments[name][other]

    def homogeneity(self, name: str, method: str | None = None) -> TableTest:
        """Test whether all groups have the same shares, based on the counts of reports."""
        if method is not None:
            consequence = "the design determines the test of counts"
            reject("`method` must be left out without a sample", repr(method)[:40], consequence)
        design = self.readers[name].design
        if not has_matrix(design):
            rule = "the design must have a matrix to test homogeneity"
            reject(rule, type(design).__name__, "use .differences(…)", TypeError)
        return homogeneity(design, list(self.counts(name).values()))

    def counts(self, name: str) -> dict[Group, Array]:
        """Return the counts of each report, for groups with at least one report."""
        kinds, values = len(self.readers[name].design.report_options), self._values(name)
        return {group: _tally(values[group], kinds) for group in self.groups() if group in values}

    def change(self, first: str, second: str) -> dict[Group, Estimate]:
        """Estimate the difference between two questions to the same people (first minus second), in each group."""
        designs = [self.readers[name].design for name in (first, second)]
        scores = [design._scores_of_raw_reports(range(len(design.report_options))) for design in designs]
        pair = np.stack([table.ravel() for table in np.meshgrid(*scores, indexing="ij")], axis=1)
        gaps = {}
        for group, values in self._pairs(first, second).items():
            counts = _tally(values, len(pair))
            gap = _mean_of(pair[:, 0] - pair[:, 1], counts, variance_if_all_changes_equal(designs, pair, counts))
            plain = any(design.loss is None for design in designs)
            gaps[group] = replace(gap, basis=_paired_limits(designs, pair, counts, gap)) if plain else gap
        return {group: gaps.get(group, empty_estimate(designs[0])) for group in self.groups()}

    def pair_counts(self, first: str, second: str) -> Array:
        """Return the counts of each pair of reports, in all groups together."""
        shape = [len(self.readers[name].design.report_options) for name in (first, second)]
        values = [item for items in self._pairs(first, second).values() for item in items]
        return _tally(values, shape[0] * shape[1]).reshape(shape)

    def _pairs(self, first: str, second: str) -> dict[Group, list[tuple[int, int]]]:
        """Return, for each group, the codes of pairs of reports with their counts.

        The code of a pair is the code of the first report times the number of possible second reports, plus the code of
        the second report.
        """
        rows = row_counts(self.frame, [*self.by, first, second])
        first_reports, second_reports = (
            self.readers[name].read_all([(row[index], count) for row, count in rows])
            for name, index in ((first, -2), (second, -1))
        )
        width = len(self.readers[second].design.report_options)
        values: dict[Group, list[tuple[int, int]]] = {}
        for (row, count), (code, _), (other, _) in zip(rows, first_reports, second_reports, strict=True):
            if code is not None and other is not None:
                values.setdefault(row[:-2], []).append((code * width + other, count))
        return values

    def pair_tables(self, first: str, second: str) -> dict[Group, Array]:
        """Return the table of counts of both reports, for groups in which somebody gave both."""
        shape = [len(self.readers[name].design.report_options) for name in (first, second)]
        pairs = self._pairs(first, second)
        return {group: _tally(values, shape[0] * shape[1]).reshape(shape) for group, values in pairs.items()}

    def pairs(self, first: str, second: str, design: Design) -> dict[Group, Estimate]:
        values = self._pairs(first, second)
        return {group: _estimate(design, values.get(group, [])) for group in self.groups()}


def _tally(values: Sequence[tuple[int, int]], kinds: int) -> Array:
    counts = np.zeros(kinds)
    for code, count in values:
        counts[code] += count
    return counts


def _estimate(design: QuestionModel, values: Sequence[tuple[Any, int]], method: str = "moment") -> Estimate:
    """Return the estimate for a question from its reports, each with the number of people who sent it."""
    if not values:
        return empty_estimate(design)
    return design._estimate_from_raw_reports([value for value, _ in values], [count for _, count in values], method)


def _paired_limits(designs: Sequence[QuestionModel], pair: Array, counts: Array, gap: Estimate) -> Mover:
    """Return limits for the difference between two shares of the same people, given their limits and correlation.

    If a question is plain, the limits cover the difference in at least 93 % of surveys of 15 or more people, whereas t
    intervals for rare shares cover it in 37 %. For two plain questions, this is method 10 of Newcombe (1998).
    """
    table = counts.reshape([len(design.report_options) for design in designs])
    margins = [table.sum(axis=1), table.sum(axis=0)]
    shares = [
        _estimate(design, [(code, int(count)) for code, count in enumerate(margin) if count])
        for design, margin in zip(designs, margins, strict=True)
    ]
    deviations = pair - counts @ pair / counts.sum()
    (first, joint), (_, second) = deviations.T @ (deviations * counts[:, None])
    correlation = float(joint / np.sqrt(first * second)) if first > 0 and second > 0 else 0.0
    bases: list[Any] = [share.basis for share in shares]
    return Mover(bases[0], bases[1], gap.value, gap.se, correlation)


def _mean_of(scores: Array, counts: Array, variance: Array) -> Estimate:
    """Estimate the mean of scores from the number of people with each score.

    `variance` is the variance of one person's score to use if all scores are equal; otherwise it is 0.
    """
    n = int(counts.sum())
    value = float(counts @ scores / n)
    spread = float(counts @ (scores - value) ** 2) / (n - 1) if n > 1 else float("nan")
    se = float(np.sqrt((variance[0, 0] if variance.any() else spread) / n))
    method = "difference of two questions to the same people, unbiased"
    basis = Student(value, se, n - 1)
    return Estimate(value, se, ("difference",), np.array([[se**2]]), n, None, SAMPLED, method, basis=basis)
