"""Findings from the rows of a sample: weighted, through its strata and clusters."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any

import numpy as np

from toolkit.analysis.agreement import Reports, change_variance, side_by_side, with_variance
from toolkit.analysis.homogeneity import TableTest, rao_scott, wald_f
from toolkit.analysis.reports import GroupEstimate, QuestionModel, Reader, empty_estimate, estimated_labels, of_shares
from toolkit.analysis.sampling.replicates import Replicates
from toolkit.analysis.sampling.sample import Sample, described, df_of, weights_of
from toolkit.core.arrays import Array, Codes, Labels, Mask
from toolkit.core.checks import choice, is_missing, reject
from toolkit.core.covers import Covers, ErrorSource
from toolkit.core.estimate import Estimate
from toolkit.core.inference.fit import boundary_note, fit_notes
from toolkit.frames.counts import Group, sort_key
from toolkit.frames.table import rows_in_order
from toolkit.local.design import Design


@dataclass(frozen=True, eq=False)
class SampleSource:
    """The rows of a frame, in the order of the sample's."""

    frame: Any
    by: tuple[str, ...]
    readers: Mapping[str, Reader]
    sample: Sample | Replicates

    @cached_property
    def _columns(self) -> dict[str, tuple[list[Any], Codes]]:
        table, names = rows_in_order(self.frame), [*self.by, *self.readers]
        if lost := [name for name in names if name not in table.columns]:
            reject("the frame must have every column", f"none called {', '.join(lost)}", "columns go by name")
        return {name: number_cells(table[name]) for name in names}

    @cached_property
    def _rows(self) -> int:
        return len(next(iter(self._columns.values()))[1])

    @cached_property
    def _places(self) -> tuple[dict[Group, int], Codes]:
        """The number of each group, in order, and of each row's group; -1 where it has none."""
        place = np.zeros(self._rows, dtype=np.int64)
        for name in self.by:
            place = place * len(self._columns[name][0]) + self._columns[name][1]
        kinds, first, inverse = np.unique(place, return_index=True, return_inverse=True)
        cells = [self._columns[name] for name in self.by]
        groups: list[Group] = [tuple(values[places[row]] for values, places in cells) for row in first]
        known = sorted((group for group in groups if not any(map(is_missing, group))), key=sort_key)
        order = {group: number for number, group in enumerate(known)}
        number = [-1 if any(map(is_missing, group)) else order[group] for group in groups]
        return order, np.array(number, dtype=np.int64).reshape(len(kinds))[inverse]

    def groups(self) -> dict[Group, int]:
        order, places = self._places
        sizes = np.bincount(places[places >= 0], minlength=len(order)).tolist()
        return dict(zip(order, sizes, strict=True))

    def ungrouped(self) -> int:
        return self._rows - sum(self.groups().values())

    def _read(self, name: str) -> tuple[list[Any], Codes]:
        """Reports by number, None where they are missing, and the number of each row's."""
        cells, places = self._columns[name]
        sizes = np.bincount(places, minlength=len(cells)).tolist()
        read = self.readers[name].read_all(zip(cells, sizes, strict=True))
        return [value for value, _ in read], places

    def _scores(self, name: str) -> Array:
        """Scores of those who have a report; NaN of the others. Each kind of report is scored once."""
        values, places = self._read(name)
        return _scores_of(self.readers[name].design, values)[places]

    def _where(self, group: Group) -> Mask:
        order, places = self._places
        return np.asarray(places == order[group])

    def _estimated(self, design: QuestionModel, estimate: Estimate) -> Estimate:
        notes = boundary_note(estimate.value, inside=None) if of_shares(design) else ()
        if self.sample.population is not None and not of_shares(design) and design.loss is not None:
            notes += ("the finite population is not used for a number: the error is rather too large",)
        words = "plain answers" if design.loss is None else f"{design.name.replace('_', ' ')} design"
        return replace(
            estimate,
            loss=design.loss,
            covers=_covers_of(estimate.covers, plain=design.loss is None),
            method=f"{words}, {estimate.method}",
            notes=(*estimate.notes, *notes),
        )

    def _sample(self, design: QuestionModel) -> tuple[Sample | Replicates, dict[str, Any]]:
        if self.sample.population is None:
            return self.sample, {}
        if design.loss is None:  # nothing hides it, so all of its variance is that of drawing people
            return self.sample, {"noise": 0}
        if not of_shares(design):
            return self._endless, {}
        return self.sample, {"noise": "shares"}

    @property
    def _endless(self) -> Sample | Replicates:
        return self.sample if isinstance(self.sample, Replicates) else replace(self.sample, population=None)

    def group_estimates(self, name: str, method: str) -> list[GroupEstimate]:
        if method != "moment":
            reject("with a `sample` the method must be 'moment'", repr(method), "weights go with scores alone")
        design, (values, places) = self.readers[name].design, self._read(name)
        scored = _scores_of(design, values)
        known = np.array([value is not None for value in values])[places]
        last = np.array([value == 1 for value in values])[places]
        binary, estimated = len(design.report_options) == 2, []
        weighted = bool({"weights", "known totals"} & {*described(self.sample)})
        for group, rows in self.groups().items():
            where = self._where(group)
            used = int(np.count_nonzero(known & where))
            estimate = self._mean(self._reports(design, values, scored, places, where), scored[places], where)
            yes = int(np.count_nonzero(last & where)) / used if binary and used else None
            deff = _deff(estimate, scored[places][where], weights_of(self.sample, self._rows)[where])
            estimated.append(GroupEstimate(name, group, estimate, rows, rows - used, yes, deff, weighted))
        return estimated

    def _reports(
        self, design: QuestionModel, values: Sequence[Any], scored: Array, places: Codes, where: Mask
    ) -> Reports:
        weights = weights_of(self.sample, self._rows)
        return Reports.of(design, values, scored, places[where], weights[where])

    def _mean(self, reports: Reports, scores: Array, where: Mask) -> Estimate:
        """A group's estimate: no error of 0 where all reports agree, and a note where they contradict their design."""
        sample, noise = self._sample(reports.design)
        labels = estimated_labels(reports.design)
        mean = _of_known(partial(sample.mean, where=where, **noise), scores, labels, where)
        if mean is None:
            return empty_estimate(reports.design)
        worth, added = reports.worth()
        estimate = self._estimated(reports.design, with_variance(mean, added))
        if worth is None:
            return estimate
        known = where[:, None] & ~np.isnan(scores).reshape(len(scores), -1)
        n = known.sum(axis=0)
        fewest = known[:, np.argmin(np.where(n > 0, n, len(scores)))]  # who were asked about the same box
        finite = drawn = np.diag(np.asarray(mean.cov))
        endless = _of_known(partial(self._endless.mean, where=where), scores, labels, where) if noise else None
        if endless is not None:
            drawn = np.diag(np.asarray(endless.cov))
        basis = worth.basis(estimate, drawn, finite, n, df_of(sample, fewest))
        if basis is None:
            return replace(estimate, fit=worth.estimate.fit)
        fit, words = worth.estimate.fit, [word for word in described(sample) if word != "finite population"]
        covers = Covers(estimate.covers.sources, f"({', '.join([*words, f'{basis.df} df'])})")
        notes = fit_notes(fit, basis) if fit is not None else ()
        return replace(estimate, basis=basis, fit=fit, covers=covers, notes=notes or estimate.notes)

    def _added(self, name: str, group: Group) -> Array:
        """What a group whose reports all agree adds to the variance of a difference."""
        design, (values, places) = self.readers[name].design, self._read(name)
        return self._reports(design, values, _scores_of(design, values), places, self._where(group)).worth()[1]

    def difference(self, name: str, group: Group, other: Group) -> Estimate:
        design = self.readers[name].design
        scores, (sample, noise) = self._scores(name), self._sample(design)
        first, second = self._where(group), self._where(other)
        apart = partial(sample.difference, first=first, second=second, **noise)
        gap = _of_known(apart, scores, estimated_labels(design), first, second)
        if gap is None:
            return empty_estimate(design)
        gap = with_variance(gap, self._added(name, group) + self._added(name, other))
        return replace(self._estimated(design, gap), notes=())

    def change(self, first: str, second: str) -> dict[Group, Estimate]:
        """The first question less the second, of the same people, in each group."""
        designs = [self.readers[name].design for name in (first, second)]
        pair = np.stack([self._scores(first), self._scores(second)], axis=1)
        sample = self._endless  # how their noise goes together is not known
        weights, changes = weights_of(self.sample, self._rows), {}
        for group in self.groups():
            known = self._where(group) & ~np.isnan(pair).any(axis=1)
            if not known.any():
                changes[group] = empty_estimate(designs[0])
                continue
            gap = sample.mean(pair[:, 0] - pair[:, 1], known, labels=("difference",))
            mass = weights[known] / weights[known].min()  # at least 1 a person, however weights are scaled
            added = change_variance(designs, pair[known], mass) * (mass**2).sum() / mass.sum() ** 2
            changes[group] = with_variance(replace(gap, covers=_covers_of(gap.covers)), added)
        return changes

    def homogeneity(self, name: str, method: str | None = None) -> TableTest:
        """Whether all groups have the same shares: Rao and Scott's test, or Wald's F where reports have many kinds."""
        design = self.readers[name].design
        kinds = len(design.report_options)
        if choice(method or ("rao-scott" if kinds else "wald"), "method", ("rao-scott", "wald")) == "rao-scott":
            if not kinds:
                reject("'rao-scott' needs reports of few kinds", design.name, "use method='wald'")
            return self._rao_scott(self._places[1], self._codes(name), (len(self.groups()), kinds))
        scores, (sample, noise) = self._scores(name), self._sample(design)
        flat = scores[:, None] if scores.ndim == 1 else scores[:, :-1]
        first, *others = self.groups()
        own = np.stack([self._where(group) for group in others], axis=1).repeat(flat.shape[1], axis=1)
        base = np.broadcast_to(self._where(first)[:, None], own.shape)
        gaps = sample.difference(np.tile(flat, len(others)), own, base, **noise)
        k = flat.shape[1]
        added = [self._added(name, group)[:k, :k] for group in (first, *others)]
        cov = np.asarray(gaps.cov) + side_by_side(added[0], added[1:])
        return wald_f(np.atleast_1d(gaps.value), cov, df_of(sample, np.ones(len(scores), dtype=bool)))

    def independence(self, first: str, second: str) -> TableTest:
        """Whether two hidden answers go together: as reports are drawn independently, exactly when they do."""
        rows, columns = (len(self.readers[name].design.report_options) for name in (first, second))
        return self._rao_scott(self._codes(first), self._codes(second), (rows, columns))

    def _codes(self, name: str) -> Codes:
        """The code of each row's report; -1 where there is none."""
        values, places = self._read(name)
        return np.array([-1 if value is None else value for value in values])[places]

    def _rao_scott(self, rows: Codes, columns: Codes, shape: tuple[int, int]) -> TableTest:
        """Of the weighted table of two codes; -1 is none."""
        known = (rows >= 0) & (columns >= 0)
        cell = np.where(known, rows * shape[1] + columns, 0)
        there, place = np.unique(cell[known], return_inverse=True)
        cells = np.zeros((self._rows, len(there)))
        cells[np.flatnonzero(known), place] = 1
        shares = self._endless.mean(cells, known, labels=range(len(there)))
        full = np.zeros(shape[0] * shape[1])
        full[there] = np.atleast_1d(shares.value)
        cov = np.zeros((len(full),) * 2)
        cov[np.ix_(there, there)] = shares.cov
        return rao_scott(full.reshape(shape), cov, int(known.sum()), df_of(self.sample, known))

    def pairs(self, first: str, second: str, design: Design) -> dict[Group, Estimate]:
        width = len(self.readers[second].design.report_options)
        (a, rows), (b, others) = self._read(first), self._read(second)
        codes = [None if x is None or y is None else x * width + y for x in a for y in b]
        scored, places, estimates = _scores_of(design, codes), rows * len(b) + others, {}
        for group in self.groups():
            where = self._where(group)
            reports = self._reports(design, codes, scored, places, where)
            estimates[group] = self._mean(reports, scored[places], where)
        return estimates


def number_cells(column: Any) -> tuple[list[Any], Codes]:
    """The different cells of a column, and the number of each row's."""
    array = column.to_numpy() if column.dtype.is_numeric() and not column.null_count() else None
    if array is not None and array.dtype.kind in "iuf":
        distinct, places = np.unique(array, return_inverse=True)
        return distinct.tolist(), places
    first: dict[Any, int] = {}
    cells: list[Any] = []
    places = np.empty(len(column), dtype=np.int64)
    for row, cell in enumerate(column.to_list()):
        key = None if is_missing(cell) else (type(cell), tuple(cell) if isinstance(cell, list) else cell)
        if key not in first:
            first[key] = len(cells)
            cells.append(cell)
        places[row] = first[key]
    return cells, places


def _of_known(statistic: Callable[..., Estimate], scores: Array, labels: Labels, *domains: Mask) -> Estimate | None:
    """NaN for boxes that nobody of a domain was asked about; None if that is so of all."""
    flat = scores.reshape(len(scores), -1)
    there = np.logical_and.reduce([~np.isnan(flat[where]).all(axis=0) for where in domains])
    if there.all():
        return statistic(scores, labels=labels)
    if not there.any():
        return None
    some = statistic(flat[:, there], labels=np.flatnonzero(there))
    value, se, cov = (np.full(shape, np.nan) for shape in (len(there), len(there), (len(there),) * 2))
    value[there], se[there], cov[np.ix_(there, there)] = some.value, some.se, some.cov
    basis = replace(some.basis, value=value, se=se)  # type: ignore[type-var]
    return replace(some, value=value, se=se, cov=cov, labels=labels, basis=basis)


def _covers_of(covers: Covers, *, plain: bool = False) -> Covers:
    """What errors of scores cover, said of answers: plain ones are not randomized."""
    return covers.replaced(ErrorSource.SCORES, *() if plain else (ErrorSource.RANDOMIZATION,))


def _scores_of(design: QuestionModel, values: Sequence[Any]) -> Array:
    """A row of scores for each report; NaN where there is none."""
    there = np.array([value is not None for value in values])
    if not there.any():
        return np.full(len(values), np.nan)
    known = design._scores_sent([value for value in values if value is not None])
    scores = np.full((len(values), *known.shape[1:]), np.nan)
    scores[there] = known
    return scores


def _deff(estimate: Estimate, scores: Array, weights: Array) -> Any:
    """The variance as a multiple of that of a simple random sample of as many people, as R's deff="replace"."""
    there = ~np.isnan(scores).reshape(len(scores), -1)
    numbers, known = np.nan_to_num(scores).reshape(there.shape), there.sum(axis=0)
    if np.min(known) < 2:
        return None
    mass = np.where(there, weights[:, None], 0.0)
    mass /= mass.sum(axis=0)
    alike = (mass * (numbers - (mass * numbers).sum(axis=0)) ** 2).sum(axis=0) / (known - 1)
    with np.errstate(divide="ignore", invalid="ignore"):
        some = alike > 1e-12 * (mass * numbers**2).sum(axis=0) / known  # else rounding of equal scores
        return np.where(some, np.asarray(estimate.se) ** 2 / alike, np.nan)
