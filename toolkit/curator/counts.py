"""Counts, histograms and sums, in all or by groups: each cell is one whole number with noise."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from toolkit.central import statistics
from toolkit.central.release import released
from toolkit.central.sensitivity import table_counts
from toolkit.central.statistics import Statistic
from toolkit.core.arrays import Codes
from toolkit.core.checks import Number, refuse
from toolkit.core.estimate import Estimate
from toolkit.core.randomness import Rng
from toolkit.curator.query import Query
from toolkit.curator.release import Noise, Release
from toolkit.frames.bounds import Bounds, Sums
from toolkit.frames.conditions import as_list
from toolkit.frames.frame import Frame
from toolkit.frames.groups import keys_of
from toolkit.frames.sums import Variable, counted, summed


def count(query: Query, name: str = "count") -> Release[Any]:
    """How many rows each cell has."""
    if not query.rows.is_part and query.unit.n is not None:
        refuse(
            "`where` or `by` must be given under 'replace'",
            "none",
            "the number of all rows is public there: len(frame)",
        )
    reach = table_counts(query.rows.cells, query.neighbors, query.caps)
    read = partial(counted, query.frame, query.rows)
    return linear(query, f"{name}{query.rows.words}", Statistic(reach, int), read)


def histogram(query: Query, column: Any, options: Iterable[Any] | None, edges: Iterable[Number] | None) -> Release[Any]:
    """How many rows hold each option, or fall between edges: a count by one column."""
    if (options is None) == (edges is None):
        received = "none" if options is None else "both"
        refuse("exactly one of `options` and `edges` must be given", received, "they say what is counted")
    name, where = query.frame.name(column), query.rows.words
    axis: Any
    if options is not None:
        axis = keys_of(query.frame, column, options, "options")
    else:
        query.numbers(column)
        if isinstance(edges, int):
            refuse("`edges` must be a list", "a number", "where bins end is public: edges=[0, 10, 20]", TypeError)
        axis = Bins(column, name, statistics.Edges.of(as_list(edges, "edges")))
    split = replace(query, rows=replace(query.rows, axes=(axis,)))
    return replace(count(split), label=f"histogram of {name}{where}")


def total(query: Query, column: Any, bounds: Any, missing: Any) -> Release[Any]:
    """The sum of a column in each cell."""
    variable, words = query.variable(column, bounds, missing)
    n, limits = query.public_n(variable), variable.limits
    statistic = (
        statistics.totals(limits, query.rows.cells, query.neighbors, query.caps)
        if n is None
        else statistics.total(limits, query.neighbors, n)
    )
    return of_sums(query, "sum", statistic, variable, words)


def of_sums(
    query: Query, name: str, statistic: Statistic, variable: Variable, missing: str, order: int = 1
) -> Release[Any]:
    """A statistic of the exact sums of one column."""
    column = query.frame.name(variable.label)

    def read() -> list[Sums]:
        return [Sums(*cell) for cell in summed(query.frame, query.rows, variable, order)]

    unit = "steps, as bounds have them" if order == 1 else "products of steps, as bounds have them"
    label, limits = f"{name} of {column}{query.rows.words}", {column: variable.limits}
    return linear(query, label, statistic, read, limits, missing=missing, noise_unit=unit)


def linear(
    query: Query,
    label: str,
    statistic: Statistic,
    read: Callable[[], Iterable[Any]],
    limits: Mapping[str, Bounds] | None = None,
    **more: Any,
) -> Release[Any]:
    """One whole number per cell, with noise, in the unit of the statistic."""
    mechanism, rows = query.price.noise(statistic.sensitivity), query.rows

    def draw(numbers: list[int], rng: Rng) -> Estimate:
        noisy, law = mechanism.integers(numbers, rng)
        estimate = released(
            _array(noisy) if rows.axes else noisy[0],
            law,
            loss=mechanism.loss,
            method=type(mechanism).__name__,
            rng=rng,
            labels=rows.labels if rows.axes else None,
        )
        estimate = replace(estimate, axes=rows.names) if rows.axes else estimate
        if statistic.factor == 1 and statistic.offset == 0:
            return estimate
        return estimate.rescaled(float(statistic.factor), float(statistic.offset))

    return query.release(
        label,
        mechanism,
        lambda: [statistic.of(cell) for cell in read()],
        draw,
        limits=limits,
        noise=lambda: Noise(rows.cells, float(statistic.factor) * mechanism.whole_law.sd),
        **more,
    )


@dataclass(frozen=True, eq=False)
class Bins:
    """A column that is split at given numbers."""

    label: Any
    name: str
    edges: statistics.Edges

    @property
    def labels(self) -> tuple[str, ...]:
        return self.edges.names

    def codes(self, frame: Frame) -> Codes:
        return self.edges.codes(frame.column(self.label).floats())


def _array(noisy: list[int]) -> Any:
    """Whole numbers of 64 bits, or floats where some are longer."""
    fits = min(noisy) >= -(2**63) and max(noisy) < 2**63
    return np.array(noisy, dtype=np.int64) if fits else np.array([float(number) for number in noisy])
