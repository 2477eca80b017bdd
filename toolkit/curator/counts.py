"""Counts, histograms, sums, and tables of counts that agree: each cell is one whole number with noise."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import product
from math import prod
from typing import Any, Protocol

from toolkit.central import statistics
from toolkit.central.publishing.agreeing import AgreeingTables
from toolkit.central.sensitivity import table_counts
from toolkit.central.statistics import LinearStatistic
from toolkit.core.arrays import Array, Codes, Label, Steps
from toolkit.core.checks import Number, refuse
from toolkit.core.estimate import Estimate
from toolkit.core.loss import Pure, Zcdp
from toolkit.core.randomness import Rng
from toolkit.curator.release import STEPS, Query, Release, noisy_sums
from toolkit.frames.frame import MOST_CELLS, Frame, as_list
from toolkit.frames.reader import counted, counted_by_table, summed
from toolkit.frames.sums import BoundsLike, By, Cuts, Missing, axes_of
from toolkit.frames.values import Keys

ALL = "(all)"
"""The key of a column that a table is not split by."""
_MOST_JOINT = 2**62  # cells of all columns together, which number a row in 64 bits


def count(query: Query) -> Release[Any]:
    if not query.rows.is_part and query.unit.n is not None:
        consequence = "the number of all rows is public there: len(frame)"
        refuse("`where` or `by` must be given under 'replace'", "none", consequence)
    reach = table_counts(query.rows.cells, query.unit.neighbors, query.unit.caps)
    return noisy_sums(query, "count", [LinearStatistic(reach, int)], [partial(counted, query.frame, query.rows)])


def histogram(
    query: Query, column: Label, options: Iterable[Any] | None, edges: Iterable[Number] | None
) -> Release[Any]:
    """How many rows hold each option, or fall between edges: a count by one column."""
    if (options is None) == (edges is None):
        received = "none" if options is None else "both"
        refuse("exactly one of `options` and `edges` must be given", received, "they say what is counted")
    values = query.frame.column(column, numbers=options is None)
    axis: Keys | Bins
    if options is not None:
        axis = Keys.of(query.frame, column, as_list(options, "options"), "options")
    else:
        if isinstance(edges, int):
            refuse("`edges` must be a list", "a number", "where bins end is public: edges=[0, 10, 20]", TypeError)
        axis = Bins(column, values.name, statistics.Edges.of(as_list(edges, "edges")))
    return replace(count(query.by(axis)), label=f"histogram of {values.name}{query.rows.words}")


def total(query: Query, column: Label, bounds: BoundsLike, missing: Missing) -> Release[Any]:
    variable, unit, rows = query.variable(column, bounds, missing), query.unit, query.rows
    if variable.fill is None or rows.is_part or unit.n is None:
        statistic = statistics.totals(variable.limits, rows.cells, unit.neighbors, unit.caps)
    else:
        statistic = statistics.total(variable.limits, unit.neighbors, unit.n)
    read = partial(summed, query.frame, rows, variable, 1)
    return noisy_sums(query, f"sum of {variable.name}", [statistic], [read], [variable], STEPS)


class Cut(Protocol):
    """Numbers at which the bins of a line end."""

    @property
    def names(self) -> tuple[str, ...]: ...

    @property
    def cuts(self) -> Cuts: ...

    def codes(self, values: Array) -> Steps: ...


@dataclass(frozen=True, eq=False)
class Bins:
    label: Label
    name: str
    edges: Cut

    @property
    def labels(self) -> tuple[str, ...]:
        return self.edges.names

    @property
    def cuts(self) -> Cuts:
        return self.edges.cuts

    def codes(self, frame: Frame) -> Codes:
        """The bin of each row, -1 for none."""
        return self.edges.codes(frame.column(self.label).floats())


def agreeing_counts(query: Query, by: Sequence[By]) -> Release[Any]:
    """Counts by each mapping of a list, made to agree by weighted least squares. A row is counted if it has one of the
    given keys in every column of the list; labels have the key "(all)" for a column that their table is not split
    by.
    """
    axes, tables = _tables(query.frame, by)
    query = query.by(*axes)
    rows, people = query.rows, 2 if query.unit.neighbors == "replace" else 1
    most = query.unit.caps.most(rows.cells)
    loss = Pure(query.price.amount) if query.price.is_epsilon else Zcdp(query.price.amount)
    sizes = tuple(len(axis.labels) for axis in axes)
    mechanism = AgreeingTables(loss, sizes, tables, people * most, people * most**2)
    names = [" × ".join(axes[place].name for place in one) or "all" for one in tables]
    where = f" where {rows.where.words}" if rows.where.words else ""

    def draw(counts: list[Steps], rng: Rng) -> Estimate:
        return replace(mechanism.release(counts, _labels(axes, tables), rng), axes=rows.names)

    return query.release(
        f"count by {len(tables)} table{'s' * (len(tables) > 1)}: {', '.join(names)}{where}",
        mechanism,
        partial(counted_by_table, query.frame, rows, tables),
        draw,
        query={"tables": [[axes[place].name for place in one] for one in tables]},
        notes=("a row is in the tables if it has one of the given keys in every column",),
        steps=("weighted least squares: the tables agree, unbiased",),
    )


def _tables(frame: Frame, by: Sequence[By]) -> tuple[tuple[Keys, ...], tuple[tuple[int, ...], ...]]:
    """All columns in the order in which they are first named, and the columns of each table."""
    axes: list[Keys] = []
    tables: list[tuple[int, ...]] = []
    listed = [_listed(one) for one in by]
    cells = sum(prod(len(keys) for keys in one.values()) for one in listed)
    if cells > MOST_CELLS or not any(listed):
        received = f"{cells:,} cells" if any(listed) else "no column"
        rule = f"`by` must be a list of tables with 1 to {MOST_CELLS:,} cells in all"
        refuse(rule, received, "each is a mapping of columns to their keys; {} is the total")
    for one in listed:
        places = []
        for axis in axes_of(frame, one) if one else ():
            known = [place for place, other in enumerate(axes) if other.name == axis.name]
            if known and axes[known[0]].items != axis.items:
                rule = f"column {axis.name} must have the same keys in all tables"
                refuse(rule, "others", "else the tables are of different rows and cannot agree")
            if ALL in axis.labels:
                refuse(f"a key must not be called {ALL!r}", repr(ALL), "it stands for all rows of a table")
            places.append(known[0] if known else len(axes))
            axes += [] if known else [axis]
        tables.append(tuple(sorted(places)))
    if len(set(tables)) < len(tables):
        refuse("`by` must be a list of different tables", "one of them twice", "each is paid for")
    if prod(len(axis.items) for axis in axes) >= _MOST_JOINT:
        refuse("the columns of all tables must have less than 2**62 cells together", "more", "ask for fewer")
    return tuple(axes), tuple(tables)


def _listed(table: object) -> dict[Any, list[Any]]:
    if not isinstance(table, Mapping):
        rule = "each table of `by` must be a mapping of columns to their keys"
        remedy = 'write by=[{"region": ["north", "south"]}, {}]; {} is the total'
        refuse(rule, type(table).__name__, remedy, TypeError)
    return {label: as_list(keys, "by") for label, keys in table.items()}


def _labels(axes: Sequence[Keys], tables: Sequence[tuple[int, ...]]) -> list[Any]:
    labels = [
        keys
        for one in tables
        for keys in product(*(axis.labels if place in one else (ALL,) for place, axis in enumerate(axes)))
    ]
    return labels if len(axes) > 1 else [key for (key,) in labels]
