"""Where findings come from: counts that an engine made, or the rows of a sample."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import prod
from typing import Any, Protocol

import numpy as np

from toolkit.analysis.found import Found, nobody
from toolkit.analysis.reading.cells import STRANGE, Reader
from toolkit.analysis.sampling.sample import Sample
from toolkit.core.arrays import Array
from toolkit.core.checks import is_missing, refuse
from toolkit.core.counting import Group, in_order, rows_by
from toolkit.core.estimate import Estimate, boundary_note
from toolkit.local.design import Design
from toolkit.local.protocol import Randomizer

_CELLS = 256  # questions are counted together as long as their reports combine to no more kinds than this


class Source(Protocol):
    """What findings are made of."""

    by: tuple[str, ...]

    def groups(self) -> dict[Group, int]:
        """Rows of each group, in order; those without a group are not among them."""

    def groupless(self) -> int:
        """Rows that have no group."""

    def found(self, name: str, method: str) -> list[Found]:
        """One question in each group."""

    def difference(self, name: str, group: Group, other: Group) -> Estimate:
        """One group less another."""

    def pairs(self, first: str, second: str, design: Design) -> dict[Group, Estimate]:
        """Two questions together, in each group; who misses one of them is left out."""


@dataclass(frozen=True, eq=False)
class Counted:
    """Counts of the reports in each group, made where the reports are."""

    frame: Any
    by: tuple[str, ...]
    readers: Mapping[str, Reader]

    @cached_property
    def _tables(self) -> dict[str, list[tuple[Group, Any, int]]]:
        """For each question group, cell and number of rows; few kinds of report are counted in one go."""
        names = list(self.readers)
        kinds = [len(self.readers[name].design.report_options) for name in names]
        together = all(kinds) and prod(kind + 1 for kind in kinds) <= _CELLS
        parts = [names] if together else [[name] for name in names]
        found: dict[str, list[tuple[Group, Any, int]]] = {}
        for part in parts:
            rows = rows_by(self.frame, [*self.by, *part])
            for place, name in enumerate(part, start=len(self.by)):
                found[name] = [(row[: len(self.by)], row[place], count) for row, count in rows]
        return found

    @cached_property
    def _rows(self) -> tuple[dict[Group, int], int]:
        sums: dict[Group, int] = {}
        lost = 0
        for group, _, count in next(iter(self._tables.values())):
            if any(map(is_missing, group)):
                lost += count
            else:
                sums[group] = sums.get(group, 0) + count
        return {group: sums[group] for group in sorted(sums, key=in_order)}, lost

    def groups(self) -> dict[Group, int]:
        return self._rows[0]

    def groupless(self) -> int:
        return self._rows[1]

    def _values(self, name: str) -> dict[Group, list[tuple[Any, int]]]:
        """Reports of each group, as they are read; what is missing is left out."""
        table, reader = self._tables[name], self.readers[name]
        read = reader.read_all([(cell, count) for _, cell, count in table])
        values: dict[Group, list[tuple[Any, int]]] = {}
        for (group, _, _), (value, count) in zip(table, read, strict=True):
            if value is not None:
                values.setdefault(group, []).append((value, count))
        return values

    def found(self, name: str, method: str) -> list[Found]:
        design, values = self.readers[name].design, self._values(name)
        made = []
        for group, rows in self.groups().items():
            own = values.get(group, [])
            used = sum(count for _, count in own)
            estimate = estimated(design, own, method) if own else nobody(design)
            yes = sum(count for value, count in own if value == 1) / used if used else None
            said = yes if len(design.report_options) == 2 else None
            made.append(Found(name, group, estimate, rows, rows - used, said))
        return made

    def difference(self, name: str, group: Group, other: Group) -> Estimate:
        if name not in self._moments:
            self._moments[name] = {one.group: one.estimate for one in self.found(name, "moment")}
        return self._moments[name][group] - self._moments[name][other]

    @cached_property
    def _moments(self) -> dict[str, dict[Group, Estimate]]:
        return {}

    def counts(self, name: str) -> dict[Group, Array]:
        """How often each report came in each group."""
        kinds, found = len(self.readers[name].design.report_options), {}
        for group, values in self._values(name).items():
            counts = np.zeros(kinds)
            for value, count in values:
                counts[value] += count
            found[group] = counts
        return {group: found[group] for group in self.groups() if group in found}

    def pair_counts(self, first: str, second: str) -> Array:
        """How often each pair of reports came, in all groups together."""
        counts = np.zeros([len(self.readers[name].design.report_options) for name in (first, second)])
        for values in self._pairs(first, second).values():
            for code, count in values:
                counts.flat[code] += count
        return counts

    def _pairs(self, first: str, second: str) -> dict[Group, list[tuple[int, int]]]:
        rows = rows_by(self.frame, [*self.by, first, second])
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
        return {
            group: estimated(design, values[group]) if group in values else nobody(design)
            for group in self.groups()
        }


@dataclass(frozen=True, eq=False)
class Drawn:
    """The rows of a frame, in the order of the sample's."""

    frame: Any
    by: tuple[str, ...]
    readers: Mapping[str, Reader]
    sample: Sample

    @cached_property
    def _columns(self) -> dict[str, list[Any]]:
        import narwhals as nw

        try:
            table = nw.from_native(self.frame, eager_only=True)
        except TypeError:
            refuse(
                "with a `sample` the frame must hold its rows in order",
                type(self.frame).__name__,
                "collect it first, as a frame of pandas, polars or pyarrow",
                TypeError,
            )
        names = [*self.by, *self.readers]
        lost = [name for name in names if name not in table.columns]
        if lost:
            refuse("the frame must have every column", f"none called {', '.join(lost)}", "columns go by name")
        if self.sample.rows is not None and self.sample.rows != len(table):
            refuse(
                f"the frame must have {self.sample.rows} rows, as the sample has",
                len(table),
                "rows go by place",
            )
        return {name: table[name].to_list() for name in names}

    @cached_property
    def _rows(self) -> int:
        return len(next(iter(self._columns.values())))

    @cached_property
    def _groups(self) -> list[Group]:
        return (
            list(zip(*(self._columns[name] for name in self.by), strict=True))
            if self.by
            else [()] * self._rows
        )

    def groups(self) -> dict[Group, int]:
        sums: dict[Group, int] = {}
        for group in self._groups:
            if not any(map(is_missing, group)):
                sums[group] = sums.get(group, 0) + 1
        return {group: sums[group] for group in sorted(sums, key=in_order)}

    def groupless(self) -> int:
        return self._rows - sum(self.groups().values())

    def _codes(self, name: str) -> list[Any]:
        reader = self.readers[name]
        kept: dict[Any, Any] = {}
        read = []
        for cell in self._columns[name]:
            key = (type(cell), cell) if isinstance(cell, str | int | float) else None
            if key is None or key not in kept:
                value = reader.read(cell)
                if key is not None:
                    kept[key] = value
            else:
                value = kept[key]
            read.append(value)
        strange = sum(value is STRANGE for value in read)
        if strange:
            reader._refuse(strange, len(read))
        return read

    def _scores(self, design: Randomizer, codes: Sequence[Any]) -> Array:
        """Scores of those who have a report; NaN of the others."""
        there = np.array([code is not None for code in codes])
        if not there.any():
            refuse("there must be at least one report", "none", "there is nothing to estimate from")
        made = design.scores([code for code in codes if code is not None])
        scores = np.full((len(codes), *made.shape[1:]), np.nan)
        scores[there] = made
        return scores

    def _where(self, group: Group) -> Any:
        return np.array([one == group for one in self._groups])

    def _labels(self, design: Randomizer) -> tuple[str | int, ...]:
        if not design.options:
            return ("mean",)
        return design.options[1:] if len(design.options) == 2 and design.asks == "choice" else design.options

    def _estimated(self, design: Randomizer, estimate: Estimate) -> Estimate:
        notes = boundary_note(estimate.value) if design.bounds is None else ()
        if self.sample.population is not None and design.bounds is not None:
            notes += ("the finite population is not used for a number: the error is rather too large",)
        return replace(
            estimate,
            loss=design.loss,
            covers=estimate.covers.replace("what is random in the scores", "randomization"),
            method=f"{design.name.replace('_', ' ')} design, {estimate.method}",
            notes=notes,
        )

    def _sample(self, design: Randomizer) -> tuple[Sample, dict[str, Any]]:
        if self.sample.population is None:
            return self.sample, {}
        if design.bounds is not None:
            return replace(self.sample, population=None), {}
        return self.sample, {"noise": "shares"}

    def found(self, name: str, method: str) -> list[Found]:
        if method != "moment":
            refuse(
                "with a `sample` the method must be 'moment'", repr(method), "weights go with scores alone"
            )
        design, codes = self.readers[name].design, self._codes(name)
        scores = self._scores(design, codes)
        sample, asked = self._sample(design)
        made = []
        for group, rows in self.groups().items():
            where = self._where(group)
            own = [code for code, inside in zip(codes, where, strict=True) if inside and code is not None]
            if not own:
                made.append(Found(name, group, nobody(design), rows, rows))
                continue
            labels = self._labels(design)
            estimate = self._estimated(design, sample.mean(scores, where, labels=labels, **asked))
            yes = sum(code == 1 for code in own) / len(own) if len(design.report_options) == 2 else None
            made.append(
                Found(name, group, estimate, rows, rows - len(own), yes, _deff(estimate, scores[where]))
            )
        return made

    def difference(self, name: str, group: Group, other: Group) -> Estimate:
        design = self.readers[name].design
        scores = self._scores(design, self._codes(name))
        sample, asked = self._sample(design)
        made = sample.difference(
            scores, self._where(group), self._where(other), labels=self._labels(design), **asked
        )
        return replace(self._estimated(design, made), notes=())

    def contrasts(self, name: str) -> tuple[Array, Array, int]:
        """All groups less the first, all options but the last, side by side: values, covariance, df."""
        design = self.readers[name].design
        scores = self._scores(design, self._codes(name))
        sample, asked = self._sample(design)
        flat = scores[:, None] if scores.ndim == 1 else scores[:, :-1]
        first, *others = self.groups()
        own = np.stack([self._where(group) for group in others], axis=1).repeat(flat.shape[1], axis=1)
        base = np.broadcast_to(self._where(first)[:, None], own.shape)
        found = sample.difference(np.tile(flat, len(others)), own, base, **asked)
        return np.atleast_1d(found.value), np.asarray(found.cov), sample.units(len(scores)).df

    def pairs(self, first: str, second: str, design: Design) -> dict[Group, Estimate]:
        width = len(self.readers[second].design.report_options)
        codes = [
            None if a is None or b is None else a * width + b
            for a, b in zip(self._codes(first), self._codes(second), strict=True)
        ]
        scores, (sample, asked) = self._scores(design, codes), self._sample(design)
        return {
            group: self._estimated(
                design, sample.mean(scores, self._where(group), labels=design.options, **asked)
            )
            for group in self.groups()
        }


def estimated(design: Randomizer, values: Sequence[tuple[Any, int]], method: str = "moment") -> Estimate:
    """From reports as they were sent, each with the number of people who sent it."""
    return design.estimate_sent([value for value, _ in values], [count for _, count in values], method)


def _deff(estimate: Estimate, scores: Array) -> Any:
    """The variance as a multiple of that of a simple random sample of as many people."""
    known = (~np.isnan(scores)).sum(axis=0)
    if np.min(known) < 2:
        return None
    alike = np.nanvar(scores, axis=0, ddof=1) / known
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(estimate.se) ** 2 / alike
