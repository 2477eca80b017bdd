"""`estimates`: from a frame of reports and their designs to findings, in all or by group; without a sample by
counts, made where the reports are.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from toolkit.analysis.agreement import change_variance
from toolkit.analysis.findings import Findings
from toolkit.analysis.from_sample import SampleSource
from toolkit.analysis.homogeneity import TableTest, homogeneity
from toolkit.analysis.plain import question_model
from toolkit.analysis.reports import (
    Designs,
    GroupEstimate,
    QuestionModel,
    Reader,
    checked_designs,
    empty_estimate,
    with_matrix,
)
from toolkit.analysis.sampling.replicates import Replicates
from toolkit.analysis.sampling.sample import Sample
from toolkit.core.arrays import Array, DataFrame
from toolkit.core.checks import choice, explain_call, is_missing, reject
from toolkit.core.covers import SAMPLED
from toolkit.core.estimate import Estimate
from toolkit.core.inference.intervals import Student
from toolkit.frames.counts import Group, columns_of, in_order, row_counts
from toolkit.frames.table import rows_in_order
from toolkit.local.design import Design

METHODS = ("moment", "mle", "simplex")
_SAMPLING = frozenset({"weight", "weights", "wt", "pweight", "cluster", "clusters", "psu", "stratum", "strata"})
_SAMPLE = 'Sample(weights="w", clusters="school")'
_CELLS = 256  # questions are counted together as long as their reports combine to no more kinds than this


@explain_call(
    'estimates(frame, {"report": forced("1/6", "1/6")}, by="sex")',
    designs="they say how each column was hidden",
    weights='write sample=Sample(weights="w")',
)
def estimates(
    frame: DataFrame,
    designs: Designs,
    by: Sequence[str] | str | None = None,
    *,
    sample: Sample | Replicates | None = None,
    missing: Sequence[Any] = (),
    method: str | None = None,
) -> Findings:
    """Estimate every column of reports, in all or for each group.

    Parameters
    ----------
    frame : frame
        Of pandas, polars, pyarrow, DuckDB, Dask, PySpark or Ibis; the counting is done there. With a `sample`
        the rows are needed, in its order.
    designs : mapping or Survey
        The randomizer of each column, {"report": forced("1/6", "1/6")}; of plain answers `plain(…)`. Or the survey,
        whose questions are the columns. Cells may be labels in any case; of yes and no also truth values, 0 and 1, and
        the usual words. All else is refused.
    by : str or sequence of str, optional
        Columns that make the groups, of any kind.
    sample : Sample or Replicates, optional
        How people were drawn, if not all alike: Sample(weights="w", strata="region", clusters="school").
    missing : sequence, optional
        What stands for no answer, besides empty cells: (9, "refused").
    method : {"moment", "mle", "simplex"}, optional
        "moment" is unbiased, and the default; the others stay inside 0 to 1, for display.

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
    questions, absent = _of_survey(designs, names, columns)
    models = checked_designs(questions)
    if len(set(names)) < len(names):
        reject("`by` must name each column once", "one that comes twice", "a group has one value of it")
    if both := [name for name in names if name in models]:
        consequence = "people cannot be sorted by a hidden answer"
        reject("`by` must name columns that nothing hides", ", ".join(both), consequence)
    if sample is not None and not isinstance(sample, Sample | Replicates):
        reject("`sample` must be a Sample or Replicates", type(sample).__name__, _SAMPLE, TypeError)
    codes = (missing,) if isinstance(missing, str | int | float) else tuple(missing)
    readers = {name: Reader(name, model, codes) for name, model in models.items()}
    way = checked_method(method)
    source: CountSource | SampleSource = CountSource(frame, names, readers)
    if sample is not None:
        rows_in_order(frame)  # else refused
        source = SampleSource(frame, names, readers, sample.resolve(frame))
    if not source.groups():
        reject("the frame must have a row that is in a group", "none", "there is nothing to estimate from")
    rows = tuple(one for name in models for one in source.group_estimates(name, way))
    notes = (*ungrouped_notes(source.ungrouped(), names), *absent)
    if sample is None:
        notes += _sampling_notes([name for name in columns if name not in (*names, *models)])
    return Findings(models, names, rows, source, notes)


def _of_survey(designs: Designs, by: tuple[str, ...], columns: Sequence[Any]) -> tuple[Any, tuple[str, ...]]:
    """The models of a survey's questions, without those that make the groups; a note names those without a column."""
    if not hasattr(designs, "questions"):
        return designs, ()
    questions = [one for one in designs.questions if one.kind != "text" and one.name not in by]
    there = {one.name: question_model(one) for one in questions if one.name in columns}
    if not there:
        reject("the frame must have a column of the survey", "none", ", ".join(one.name for one in questions[:8]))
    lost = ", ".join(one.name for one in questions if one.name not in columns)
    return there, (f"the frame has no column of the survey's {lost}",) if lost else ()


def _group_names(by: object) -> tuple[str, ...]:
    if hasattr(by, "to_numpy"):
        name = getattr(by, "name", None)
        remedy = f"write by={name!r}" if isinstance(name, str) else 'write by="city"'
        reject("`by` must be names of columns", f"a {type(by).__name__}", remedy, TypeError)
    names: tuple[Any, ...] = () if by is None else (by,)
    if isinstance(by, Iterable) and not isinstance(by, str):
        names = tuple(by)
    if bad := [name for name in names if not isinstance(name, str)]:
        reject("`by` must be names of columns", type(bad[0]).__name__, "columns go by name, as texts", TypeError)
    return names


def checked_method(method: str | None) -> str:
    """The name of an estimator; "moment", the unbiased one, if none is named."""
    return choice("moment" if method is None else method, "method", METHODS)


def ungrouped_notes(rows: int, by: Sequence[str]) -> tuple[str, ...]:
    """How many rows are in no estimate, as a value that groups are made by is missing."""
    counted = f"{rows:,} row{' is' if rows == 1 else 's are'} in no group, and in no estimate"
    return (f"{counted}: {' or '.join(by)} is missing",) if rows else ()


def _sampling_notes(others: Sequence[str]) -> tuple[str, ...]:
    """Say so where a column looks as if people were not drawn alike."""
    if not (names := [name for name in others if str(name).casefold() in _SAMPLING]):
        return ()
    fact = f"the frame has {', '.join(names)}, which no error here takes into account"
    return (f"{fact}: give sample=Sample(…) if people were drawn with weights, in strata or in clusters",)


@dataclass(frozen=True, eq=False)
class CountSource:
    """Counts of the reports in each group, made where the reports are."""

    frame: Any
    by: tuple[str, ...]
    readers: Mapping[str, Reader]

    @cached_property
    def _tables(self) -> dict[str, list[tuple[Group, Any, int]]]:
        """For each question group, cell and number of rows; few kinds of report are counted in one go."""
        tables: dict[str, list[tuple[Group, Any, int]]] = {}
        for part in self._parts():
            rows = row_counts(self.frame, [*self.by, *part])
            for place, name in enumerate(part, start=len(self.by)):
                tables[name] = [(row[: len(self.by)], row[place], count) for row, count in rows]
        return tables

    def _parts(self) -> list[list[str]]:
        """Questions that are counted together: as many as combine to few kinds, the missing report one of them."""
        parts: list[list[str]] = []
        room = 0
        for name, reader in sorted(self.readers.items(), key=lambda one: len(one[1].design.report_options)):
            kinds = len(reader.design.report_options) + 1
            if kinds > 1 and kinds <= room:
                parts[-1].append(name)
                room //= kinds
            else:
                parts.append([name])
                room = _CELLS // kinds if kinds > 1 else 0
        return parts

    @cached_property
    def _rows(self) -> tuple[dict[Group, int], int]:
        sums: dict[Group, int] = {}
        lost = 0
        by_group = [] if self.readers else [(row, None, count) for row, count in row_counts(self.frame, self.by)]
        for group, _, count in next(iter(self._tables.values()), by_group):
            if any(map(is_missing, group)):
                lost += count
            else:
                sums[group] = sums.get(group, 0) + count
        return {group: sums[group] for group in sorted(sums, key=in_order)}, lost

    def groups(self) -> dict[Group, int]:
        return self._rows[0]

    def ungrouped(self) -> int:
        return self._rows[1]

    def _values(self, name: str) -> dict[Group, list[tuple[Any, int]]]:
        """Reports of each group, as they are read; what is missing is left out."""
        table = self._tables[name]
        read = self.readers[name].read_all([(cell, count) for _, cell, count in table])
        values: dict[Group, list[tuple[Any, int]]] = {}
        for (group, _, _), (value, count) in zip(table, read, strict=True):
            if value is not None:
                values.setdefault(group, []).append((value, count))
        return values

    def group_estimates(self, name: str, method: str) -> list[GroupEstimate]:
        design, values = self.readers[name].design, self._values(name)
        estimated = []
        for group, rows in self.groups().items():
            own = values.get(group, [])
            used = sum(count for _, count in own)
            yes = None
            if used and len(design.report_options) == 2:
                yes = sum(count for value, count in own if value == 1) / used
            estimated.append(GroupEstimate(name, group, _estimate(design, own, method), rows, rows - used, yes))
        return estimated

    @cached_property
    def _moments(self) -> dict[str, dict[Group, Estimate]]:
        return {}

    def difference(self, name: str, group: Group, other: Group) -> Estimate:
        if name not in self._moments:
            self._moments[name] = {one.group: one.estimate for one in self.group_estimates(name, "moment")}
        return self._moments[name][group] - self._moments[name][other]

    def homogeneity(self, name: str, method: str | None = None) -> TableTest:
        """Whether all groups have the same shares, by the counts of reports."""
        if method is not None:
            reject("`method` must be left out without a sample", repr(method)[:40], "counts have one test")
        design = self.readers[name].design
        if not with_matrix(design):
            rule = "homogeneity is tested through a matrix"
            reject(rule, type(design).__name__, "compare .differences(…)", TypeError)
        return homogeneity(design, list(self.counts(name).values()))

    def counts(self, name: str) -> dict[Group, Array]:
        """How often each report came in each group that has one."""
        kinds, values = len(self.readers[name].design.report_options), self._values(name)
        return {group: _tally(values[group], kinds) for group in self.groups() if group in values}

    def change(self, first: str, second: str) -> dict[Group, Estimate]:
        """The first question less the second, of the same people, in each group: by their scores."""
        designs = [self.readers[name].design for name in (first, second)]
        scores = [design._scores_sent(range(len(design.report_options))) for design in designs]
        pair = np.stack([table.ravel() for table in np.meshgrid(*scores, indexing="ij")], axis=1)
        gaps = {}
        for group, values in self._pairs(first, second).items():
            counts = _tally(values, len(pair))
            gaps[group] = _mean_of(pair[:, 0] - pair[:, 1], counts, change_variance(designs, pair, counts))
        return {group: gaps.get(group, empty_estimate(designs[0])) for group in self.groups()}

    def pair_counts(self, first: str, second: str) -> Array:
        """How often each pair of reports came, in all groups together."""
        shape = [len(self.readers[name].design.report_options) for name in (first, second)]
        values = [one for own in self._pairs(first, second).values() for one in own]
        return _tally(values, shape[0] * shape[1]).reshape(shape)

    def _pairs(self, first: str, second: str) -> dict[Group, list[tuple[int, int]]]:
        """Of each group the codes of both reports, first * kinds of the second + second, each with its count."""
        rows = row_counts(self.frame, [*self.by, first, second])
        a, b = (
            self.readers[name].read_all([(row[place], count) for row, count in rows])
            for name, place in ((first, -2), (second, -1))
        )
        width = len(self.readers[second].design.report_options)
        values: dict[Group, list[tuple[int, int]]] = {}
        for (row, count), (one, _), (other, _) in zip(rows, a, b, strict=True):
            if one is not None and other is not None:
                values.setdefault(row[:-2], []).append((one * width + other, count))
        return values

    def pairs(self, first: str, second: str, design: Design) -> dict[Group, Estimate]:
        values = self._pairs(first, second)
        return {group: _estimate(design, values.get(group, [])) for group in self.groups()}


def _tally(values: Sequence[tuple[int, int]], kinds: int) -> Array:
    counts = np.zeros(kinds)
    for code, count in values:
        counts[code] += count
    return counts


def _estimate(design: QuestionModel, values: Sequence[tuple[Any, int]], method: str = "moment") -> Estimate:
    """From reports as they were sent, each with the number of people who sent it."""
    if not values:
        return empty_estimate(design)
    return design._estimate_sent([value for value, _ in values], [count for _, count in values], method)


def _mean_of(scores: Array, counts: Array, law: Array) -> Estimate:
    """The mean of scores by code, with people of each. `law` : one person's variance where all are the same, else 0."""
    n = int(counts.sum())
    value = float(counts @ scores / n)
    spread = float(counts @ (scores - value) ** 2) / (n - 1) if n > 1 else float("nan")
    se = float(np.sqrt((law[0, 0] if law.any() else spread) / n))
    how = "difference of two questions to the same people, unbiased"
    basis = Student(value, se, n - 1)
    return Estimate(value, se, ("difference",), np.array([[se**2]]), n, None, SAMPLED, how, basis=basis)
