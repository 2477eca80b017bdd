"""Findings from counts: how often each report came in each group, counted where the reports are."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from toolkit.analysis.agreement import change_variance
from toolkit.analysis.group_estimate import Found, nobody
from toolkit.analysis.reports import Asked, Reader
from toolkit.core.arrays import Array
from toolkit.core.checks import is_missing
from toolkit.core.covers import SAMPLED
from toolkit.core.estimate import Estimate
from toolkit.core.inference.intervals import Student
from toolkit.frames.counts import Group, in_order, rows_by
from toolkit.local.design import Design

_CELLS = 256  # questions are counted together as long as their reports combine to no more kinds than this


@dataclass(frozen=True, eq=False)
class Counted:
    """Counts of the reports in each group, made where the reports are."""

    frame: Any
    by: tuple[str, ...]
    readers: Mapping[str, Reader]

    @cached_property
    def _tables(self) -> dict[str, list[tuple[Group, Any, int]]]:
        """For each question group, cell and number of rows; few kinds of report are counted in one go."""
        found: dict[str, list[tuple[Group, Any, int]]] = {}
        for part in self._parts():
            rows = rows_by(self.frame, [*self.by, *part])
            for place, name in enumerate(part, start=len(self.by)):
                found[name] = [(row[: len(self.by)], row[place], count) for row, count in rows]
        return found

    def _parts(self) -> list[list[str]]:
        """Questions that are counted together: as many as combine to few kinds, the missing report one of
        them.
        """
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

    def change(self, first: str, second: str) -> dict[Group, Estimate]:
        """The first question less the second, of the same people, in each group: by their scores."""
        designs = [self.readers[name].design for name in (first, second)]
        scores = [design.scores_sent(range(len(design.report_options))) for design in designs]
        pair = np.stack([table.ravel() for table in np.meshgrid(*scores, indexing="ij")], axis=1)
        found = {}
        for group, values in self._pairs(first, second).items():
            counts = np.zeros(len(pair))
            for code, count in values:
                counts[code] += count
            found[group] = _mean_of(pair[:, 0] - pair[:, 1], counts, change_variance(designs, pair, counts))
        return {group: found.get(group, nobody(designs[0])) for group in self.groups()}

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
            group: estimated(design, values[group]) if group in values else nobody(design) for group in self.groups()
        }


def estimated(design: Asked, values: Sequence[tuple[Any, int]], method: str = "moment") -> Estimate:
    """From reports as they were sent, each with the number of people who sent it."""
    return design.estimate_sent([value for value, _ in values], [count for _, count in values], method)


def _mean_of(scores: Array, counts: Array, law: Array) -> Estimate:
    """The mean of scores by code, each with the number of people who have it. `law` : the variance of one
    person's where all are the same, else 0.
    """
    n = int(counts.sum())
    value = float(counts @ scores / n)
    spread = float(counts @ (scores - value) ** 2) / (n - 1) if n > 1 else float("nan")
    se = float(np.sqrt((law[0, 0] if law.any() else spread) / n))
    return Estimate(
        value=value,
        se=se,
        labels=("difference",),
        cov=np.array([[se**2]]),
        n=n,
        loss=None,
        covers=SAMPLED,
        method="difference of two questions to the same people, unbiased",
        basis=Student(value, se, n - 1),
    )
