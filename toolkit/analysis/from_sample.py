"""Estimates by group from the rows of a sample, with its weights, strata and clusters."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any

import numpy as np

from toolkit.analysis.agreement import Reports, difference_covariance, variance_if_all_changes_equal, with_variance
from toolkit.analysis.homogeneity import TableTest, rao_scott, wald_f
from toolkit.analysis.reports import (
    GroupEstimate,
    QuestionModel,
    Reader,
    empty_estimate,
    estimated_labels,
    model_estimates_shares,
)
from toolkit.analysis.sampling.replicates import Replicates
from toolkit.analysis.sampling.sample import Sample, design_elements, df_of, weights_of
from toolkit.core.arrays import Array, Codes, Labels, Mask
from toolkit.core.checks import check_choice, is_missing, reject
from toolkit.core.covers import Covers, ErrorSource
from toolkit.core.estimate import Estimate
from toolkit.core.inference.fit import boundary_note, fit_notes
from toolkit.frames.counts import Group, sort_key
from toolkit.frames.table import rows_in_order
from toolkit.local.design import Design


@dataclass(frozen=True, eq=False)
class SampleSource:
    """The rows of a frame, in the order of the sample."""

    frame: Any
    by: tuple[str, ...]
    readers: Mapping[str, Reader]
    sample: Sample | Replicates

    @cached_property
    def _columns(self) -> dict[str, tuple[list[Any], Codes]]:
        """Return the distinct cells of each column, and the index of each row's cell among them."""
        table, names = rows_in_order(self.frame), [*self.by, *self.readers]
        if unknown := [name for name in names if name not in table.columns]:
            received = f"none called {', '.join(unknown)}"
            reject("the frame must have every column", received, "columns are looked up by name")
        return {name: encode_cells(table[name]) for name in names}

    @cached_property
    def _rows(self) -> int:
        return len(next(iter(self._columns.values()))[1])

    @cached_property
    def _group_codes(self) -> tuple[dict[Group, int], Codes]:
        """Return the codes of the groups, in order, and the code of each row's group; -1 for rows in no group."""
        combination = np.zeros(self._rows, dtype=np.int64)
        for name in self.by:
            combination = combination * len(self._columns[name][0]) + self._columns[name][1]
        distinct, first, inverse = np.unique(combination, return_index=True, return_inverse=True)
        columns = [self._columns[name] for name in self.by]
        groups: list[Group] = [tuple(cells[index[row]] for cells, index in columns) for row in first]
        complete = sorted((group for group in groups if not any(map(is_missing, group))), key=sort_key)
        codes = {group: code for code, group in enumerate(complete)}
        code_of_combination = [-1 if any(map(is_missing, group)) else codes[group] for group in groups]
        return codes, np.array(code_of_combination, dtype=np.int64).reshape(len(distinct))[inverse]

    def groups(self) -> dict[Group, int]:
        codes, row_codes = self._group_codes
        sizes = np.bincount(row_codes[row_codes >= 0], minlength=len(codes)).tolist()
        return dict(zip(codes, sizes, strict=True))

    def ungrouped(self) -> int:
        return self._rows - sum(self.groups().values())

    def _read(self, name: str) -> tuple[list[Any], Codes]:
        """Return the distinct reports (None if missing), and the index of each row's report among them."""
        cells, index = self._columns[name]
        sizes = np.bincount(index, minlength=len(cells)).tolist()
        reports = self.readers[name].read_all(zip(cells, sizes, strict=True))
        return [value for value, _ in reports], index

    def _scores(self, name: str) -> Array:
        """Return the score of each row's report, NaN if it is missing. Each distinct report is scored only once."""
        values, index = self._read(name)
        return _scores_of(self.readers[name].design, values)[index]

    def where(self, group: Group) -> Mask:
        """Return a mask of the rows of a group."""
        codes, row_codes = self._group_codes
        return np.asarray(row_codes == codes[group])

    def _add_design_details(self, design: QuestionModel, estimate: Estimate) -> Estimate:
        """Return an estimate from scores with the loss, method and notes of its design."""
        notes = boundary_note(estimate.value, inside=None) if model_estimates_shares(design) else ()
        if self.sample.population is not None and not model_estimates_shares(design) and design.loss is not None:
            notes += ("no finite population correction is applied to a number: the error is conservative",)
        name = "plain answers" if design.loss is None else f"{design.name.replace('_', ' ')} design"
        return replace(
            estimate,
            loss=design.loss,
            covers=_covers_of(estimate.covers, plain=design.loss is None),
            method=f"{name}, {estimate.method}",
            notes=(*estimate.notes, *notes),
        )

    def _sample(self, design: QuestionModel) -> tuple[Sample | Replicates, dict[str, Any]]:
        """Return the sample for this design, and the part of the scores' variance that is due to randomization."""
        if self.sample.population is None:
            return self.sample, {}
        if design.loss is None:  # without randomization all variance is sampling variance
            return self.sample, {"noise": 0}
        if not model_estimates_shares(design):
            return self.without_population, {}
        return self.sample, {"noise": "shares"}

    @property
    def without_population(self) -> Sample | Replicates:
        """Return the sample without its finite population correction."""
        return self.sample if isinstance(self.sample, Replicates) else replace(self.sample, population=None)

    def group_estimates(self, name: str, method: str) -> list[GroupEstimate]:
        if method != "moment":
            consequence = "the other methods cannot take weights into account"
            reject("with a `sample` the method must be 'moment'", repr(method), consequence)
        design, (values, index) = self.readers[name].design, self._read(name)
        scores = _scores_of(design, values)
        answered = np.array([value is not None for value in values])[index]
        last = np.array([value == 1 for value in values])[index]
        binary, estimates = len(design.report_options) == 2, []
        weighted = bool({"weights", "known totals"} & {*design_elements(self.sample)})
        for group, rows in self.groups().items():
            where = self.where(group)
            used = int(np.count_nonzero(answered & where))
            estimate = self._mean(self._reports(design, values, scores, index, where), scores[index], where)
            yes = int(np.count_nonzero(last & where)) / used if binary and used else None
            deff = design_effect(estimate, scores[index][where], weights_of(self.sample, self._rows)[where])
            estimates.append(GroupEstimate(name, group, estimate, rows, rows - used, yes, deff, weighted))
        return estimates

    def _reports(
        self, design: QuestionModel, values: Sequence[Any], scores: Array, index: Codes, where: Mask
    ) -> Reports:
        weights = weights_of(self.sample, self._rows)
        return Reports.of(design, values, scores, index[where], weights[where])

    def _mean(self, reports: Reports, scores: Array, where: Mask) -> Estimate:
        """Estimate a group.

        The error is above 0 even if all reports agree. A note names reports that contradict their design.
        """
        sample, noise = self._sample(reports.design)
        labels = estimated_labels(reports.design)
        mean = _observed_boxes(partial(sample.mean, where=where, **noise), scores, labels, where)
        if mean is None:
            return empty_estimate(reports.design)
        equal_weights, added = reports.equal_weights()
        estimate = self._add_design_details(reports.design, with_variance(mean, added))
        if equal_weights is None:
            return estimate
        observed = where[:, None] & ~np.isnan(scores).reshape(len(scores), -1)
        n = observed.sum(axis=0)
        # The degrees of freedom are those of the box about which the fewest people were asked.
        fewest = observed[:, np.argmin(np.where(n > 0, n, len(scores)))]
        finite = variance = np.diag(np.asarray(mean.cov))
        if noise:
            statistic = partial(self.without_population.mean, where=where)
            without_population = _observed_boxes(statistic, scores, labels, where)
            if without_population is not None:
                variance = np.diag(np.asarray(without_population.cov))
        basis = equal_weights.basis(estimate, variance, finite, n, df_of(sample, fewest))
        fit = equal_weights.estimate.fit
        if basis is None:
            return replace(estimate, fit=fit)
        used = [name for name in design_elements(sample) if name != "finite population"]
        covers = Covers(estimate.covers.sources, f"({', '.join([*used, f'{basis.df} df'])})")
        notes = fit_notes(fit, basis) if fit is not None else ()
        return replace(estimate, basis=basis, fit=fit, covers=covers, notes=notes or estimate.notes)

    def _added(self, name: str, group: Group) -> Array:
        """Return the variance to add to a difference for a group whose reports all agree."""
        design, (values, index) = self.readers[name].design, self._read(name)
        return self._reports(design, values, _scores_of(design, values), index, self.where(group)).equal_weights()[1]

    def difference(self, name: str, group: Group, other: Group) -> Estimate:
        design = self.readers[name].design
        scores, (sample, noise) = self._scores(name), self._sample(design)
        first, second = self.where(group), self.where(other)
        statistic = partial(sample.difference, first=first, second=second, **noise)
        difference = _observed_boxes(statistic, scores, estimated_labels(design), first, second)
        if difference is None:
            return empty_estimate(design)
        difference = with_variance(difference, self._added(name, group) + self._added(name, other))
        return replace(self._add_design_details(design, difference), notes=())

    def change(self, first: str, second: str) -> dict[Group, Estimate]:
        """Estimate the difference between two questions to the same people (first minus second), in each group."""
        designs = [self.readers[name].design for name in (first, second)]
        pair = np.stack([self._scores(first), self._scores(second)], axis=1)
        # The randomization variance of the difference is unknown, so no finite population correction is applied.
        sample = self.without_population
        row_weights, changes = weights_of(self.sample, self._rows), {}
        for group in self.groups():
            answered = self.where(group) & ~np.isnan(pair).any(axis=1)
            if not answered.any():
                changes[group] = empty_estimate(designs[0])
                continue
            difference = sample.mean(pair[:, 0] - pair[:, 1], answered, labels=("difference",))
            # `variance_if_all_changes_equal` needs weights of at least 1, so they are divided by the smallest weight.
            weights = row_weights[answered] / row_weights[answered].min()
            added = (
                variance_if_all_changes_equal(designs, pair[answered], weights)
                * (weights**2).sum()
                / weights.sum() ** 2
            )
            changes[group] = with_variance(replace(difference, covers=_covers_of(difference.covers)), added)
        return changes

    def homogeneity(self, name: str, method: str | None = None) -> TableTest:
        """Test whether all groups have the same shares; the default for reports with labels is Rao and Scott's F.

        For other reports, the default is Wald's F of the scores.
        """
        design = self.readers[name].design
        kinds = len(design.report_options)
        if check_choice(method or ("rao-scott" if kinds else "wald"), "method", ("rao-scott", "wald")) == "rao-scott":
            if not kinds:
                reject("method='rao-scott' needs a design with few distinct reports", design.name, "use method='wald'")
            return self._rao_scott(self._group_codes[1], self.codes(name), (len(self.groups()), kinds))
        scores, (sample, noise) = self._scores(name), self._sample(design)
        flat = scores[:, None] if scores.ndim == 1 else scores[:, :-1]
        first, *others = self.groups()
        # All differences from the first group are estimated together, with a column for each group and option.
        members = np.stack([self.where(group) for group in others], axis=1).repeat(flat.shape[1], axis=1)
        base = np.broadcast_to(self.where(first)[:, None], members.shape)
        differences = sample.difference(np.tile(flat, len(others)), members, base, **noise)
        k = flat.shape[1]
        added = [self._added(name, group)[:k, :k] for group in (first, *others)]
        cov = np.asarray(differences.cov) + difference_covariance(added[0], added[1:])
        return wald_f(np.atleast_1d(differences.value), cov, df_of(sample, np.ones(len(scores), dtype=bool)))

    def independence(self, first: str, second: str) -> TableTest:
        """Test whether two answers are independent.

        Reports are randomized independently, so they are independent if and only if the answers are independent.
        """
        rows, columns = (len(self.readers[name].design.report_options) for name in (first, second))
        return self._rao_scott(self.codes(first), self.codes(second), (rows, columns))

    def codes(self, name: str) -> Codes:
        """Return the code of each row's report; -1 if it is missing."""
        values, index = self._read(name)
        return np.array([-1 if value is None else value for value in values])[index]

    def _rao_scott(self, rows: Codes, columns: Codes, shape: tuple[int, int]) -> TableTest:
        """Test the weighted table of two codes; rows with a code of -1 are left out."""
        complete = (rows >= 0) & (columns >= 0)
        cell = np.where(complete, rows * shape[1] + columns, 0)
        observed, index = np.unique(cell[complete], return_inverse=True)
        indicators = np.zeros((self._rows, len(observed)))
        indicators[np.flatnonzero(complete), index] = 1
        shares = self.without_population.mean(indicators, complete, labels=range(len(observed)))
        table = np.zeros(shape[0] * shape[1])
        table[observed] = np.atleast_1d(shares.value)
        cov = np.zeros((len(table),) * 2)
        cov[np.ix_(observed, observed)] = shares.cov
        return rao_scott(table.reshape(shape), cov, int(complete.sum()), df_of(self.sample, complete))

    def pairs(self, first: str, second: str, design: Design) -> dict[Group, Estimate]:
        width = len(self.readers[second].design.report_options)
        (reports, rows), (other_reports, other_rows) = self._read(first), self._read(second)
        codes = [None if x is None or y is None else x * width + y for x in reports for y in other_reports]
        scores, index, estimates = _scores_of(design, codes), rows * len(other_reports) + other_rows, {}
        for group in self.groups():
            where = self.where(group)
            pairs = self._reports(design, codes, scores, index, where)
            estimates[group] = self._mean(pairs, scores[index], where)
        return estimates


def encode_cells(column: Any) -> tuple[list[Any], Codes]:
    """Return the distinct cells of a column, and the index of each row's cell among them."""
    array = column.to_numpy() if column.dtype.is_numeric() and not column.null_count() else None
    if array is not None and array.dtype.kind in "iuf":
        distinct, index = np.unique(array, return_inverse=True)
        return distinct.tolist(), index
    positions: dict[Any, int] = {}
    cells: list[Any] = []
    index = np.empty(len(column), dtype=np.int64)
    for row, cell in enumerate(column.to_list()):
        # The type is part of the key, because 1, 1.0 and True are equal.
        key = None if is_missing(cell) else (type(cell), tuple(cell) if isinstance(cell, list) else cell)
        if key not in positions:
            positions[key] = len(cells)
            cells.append(cell)
        index[row] = positions[key]
    return cells, index


def _observed_boxes(
    statistic: Callable[..., Estimate], scores: Array, labels: Labels, *domains: Mask
) -> Estimate | None:
    """Estimate the columns for which every domain has scores; the other columns are NaN.

    None is returned if there is no such column: with randomly assigned boxes, each person has the score of one box.
    """
    flat = scores.reshape(len(scores), -1)
    observed = np.logical_and.reduce([~np.isnan(flat[where]).all(axis=0) for where in domains])
    if observed.all():
        return statistic(scores, labels=labels)
    if not observed.any():
        return None
    partly = statistic(flat[:, observed], labels=np.flatnonzero(observed))
    value, se, cov = (np.full(shape, np.nan) for shape in (len(observed), len(observed), (len(observed),) * 2))
    value[observed], se[observed], cov[np.ix_(observed, observed)] = partly.value, partly.se, partly.cov
    basis = replace(partly.basis, value=value, se=se)  # type: ignore[type-var]
    return replace(partly, value=value, se=se, cov=cov, labels=labels, basis=basis)


def _covers_of(covers: Covers, *, plain: bool = False) -> Covers:
    """Convert the sources of error of scores to those of answers; plain answers have no randomization."""
    return covers.replaced(ErrorSource.SCORES, *() if plain else (ErrorSource.RANDOMIZATION,))


def _scores_of(design: QuestionModel, values: Sequence[Any]) -> Array:
    """Return a row of scores for each report; NaN where a score is missing."""
    observed = np.array([value is not None for value in values])
    if not observed.any():
        return np.full(len(values), np.nan)
    observed_scores = design._scores_of_raw_reports([value for value in values if value is not None])
    scores = np.full((len(values), *observed_scores.shape[1:]), np.nan)
    scores[observed] = observed_scores
    return scores


def design_effect(estimate: Estimate, scores: Array, weights: Array) -> Any:
    """Return the design effect: the variance relative to a simple random sample of the same size.

    It corresponds to deff="replace" in R's survey package.
    """
    observed = ~np.isnan(scores).reshape(len(scores), -1)
    numbers, n = np.nan_to_num(scores).reshape(observed.shape), observed.sum(axis=0)
    if np.min(n) < 2:
        return None
    shares = np.where(observed, weights[:, None], 0.0)
    shares /= shares.sum(axis=0)
    simple = (shares * (numbers - (shares * numbers).sum(axis=0)) ** 2).sum(axis=0) / (n - 1)
    with np.errstate(divide="ignore", invalid="ignore"):
        # A smaller variance is the rounding error of equal scores.
        varies = simple > 1e-12 * (shares * numbers**2).sum(axis=0) / n
        return np.where(varies, np.asarray(estimate.se) ** 2 / simple, np.nan)
