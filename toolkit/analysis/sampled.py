"""Findings from the rows of a sample: weighted, through its strata and clusters."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from toolkit.analysis.found import Found, nobody
from toolkit.analysis.reading.cells import STRANGE, Reader
from toolkit.analysis.sampling.sample import Sample
from toolkit.core.arrays import Array, Mask
from toolkit.core.checks import is_missing, refuse
from toolkit.core.counting import Group, in_order
from toolkit.core.estimate import Estimate, boundary_note
from toolkit.local.design import Design
from toolkit.local.protocol import Randomizer


@dataclass(frozen=True, eq=False)
class Sampled:
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
    def _places(self) -> tuple[dict[Group, int], Array]:
        """The number of each group, in order, and of each row's group; -1 where it has none."""
        rows = zip(*(self._columns[name] for name in self.by), strict=True) if self.by else [()] * self._rows
        first: dict[Group, int] = {}
        found = [-1 if any(map(is_missing, group)) else first.setdefault(group, len(first)) for group in rows]
        order = {group: number for number, group in enumerate(sorted(first, key=in_order))}
        renamed = np.array([*(order[group] for group in first), -1])
        return order, renamed[found]

    def groups(self) -> dict[Group, int]:
        order, places = self._places
        sizes = np.bincount(places[places >= 0], minlength=len(order)).tolist()
        return dict(zip(order, sizes, strict=True))

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
            return np.full(len(codes), np.nan)
        made = design.scores([code for code in codes if code is not None])
        scores = np.full((len(codes), *made.shape[1:]), np.nan)
        scores[there] = made
        return scores

    def _where(self, group: Group) -> Mask:
        order, places = self._places
        return np.asarray(places == order[group])

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
        scores, (sample, asked) = self._scores(design, self._codes(name)), self._sample(design)
        first, second = self._where(group), self._where(other)
        known = ~np.isnan(scores if scores.ndim == 1 else scores.max(axis=1))
        if not (known & first).any() or not (known & second).any():
            return nobody(design)
        made = sample.difference(scores, first, second, labels=self._labels(design), **asked)
        return replace(self._estimated(design, made), notes=())

    def change(self, first: str, second: str) -> dict[Group, Estimate]:
        """The first question less the second, of the same people, in each group."""
        one, other = (self._scores(self.readers[name].design, self._codes(name)) for name in (first, second))
        sample = replace(self.sample, population=None)  # how their noise goes together is not known
        found = {
            group: sample.mean(one - other, self._where(group), labels=("difference",))
            for group in self.groups()
        }
        covers = {
            group: made.covers.replace("what is random in the scores", "randomization")
            for group, made in found.items()
        }
        return {group: replace(made, covers=covers[group]) for group, made in found.items()}

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


def _deff(estimate: Estimate, scores: Array) -> Any:
    """The variance as a multiple of that of a simple random sample of as many people."""
    known = (~np.isnan(scores)).sum(axis=0)
    if np.min(known) < 2:
        return None
    alike = np.nanvar(scores, axis=0, ddof=1) / known
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(estimate.se) ** 2 / alike
