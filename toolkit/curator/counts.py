"""Counts, histograms, sums and consistent tables of counts: each cell is an integer with noise."""

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
from toolkit.core.checks import Number, reject
from toolkit.core.estimate import Estimate
from toolkit.core.loss import Pure, Zcdp
from toolkit.core.randomness import Rng
from toolkit.curator import weighted
from toolkit.curator.release import STEPS, PlannedRelease, Query, noisy_sums
from toolkit.frames.frame import MAX_CELLS, Frame, as_list
from toolkit.frames.reader import cell_counts, marginal_counts, power_sums
from toolkit.frames.sums import BoundsLike, By, Missing, ThresholdCodes, parse_axes
from toolkit.frames.values import Keys

ALL = "(all)"
"""The key that stands for all values of a column, in a table that is not split by this column."""
_MAX_JOINT_CELLS = 2**62  # the limit on cells of all columns together, so that the index of a cell fits into 64 bits


def count(query: Query) -> PlannedRelease[Any]:
    """Describe the count of the selected rows, in total or by group."""
    if query.weights is not None:
        return weighted.count(query, query.weights)
    if not query.rows.may_omit_rows and query.unit.n is not None:
        consequence = "the number of all rows is public: read len(frame)"
        reject("`where` or `by` must be given under 'replace'", "none", consequence)
    sensitivity = table_counts(query.rows.n_cells, query.unit.neighbors, query.unit.caps)
    statistic = LinearStatistic(sensitivity, int)
    return noisy_sums(query, "count", [statistic], [partial(cell_counts, query.frame, query.rows)])


def histogram(
    query: Query, column: Label, options: Iterable[Any] | None, edges: Iterable[Number] | None
) -> PlannedRelease[Any]:
    """Describe a count by one column, for each option or for bins between edges."""
    if (options is None) == (edges is None):
        received = "none" if options is None else "both"
        reject(
            "exactly one of `options` and `edges` must be given",
            received,
            "write options=[…] for values, or edges=[0, 10, 20] for bins",
        )
    values = query.frame.column(column, must_be_numeric=options is None)
    axis: Keys | Bins
    if options is not None:
        axis = Keys.parse(query.frame, column, as_list(options, "options"), "options")
    else:
        if isinstance(edges, int):
            reject("`edges` must be a list", "a number", "edges are public: write edges=[0, 10, 20]", TypeError)
        axis = Bins(column, values.name, statistics.Edges.of(as_list(edges, "edges")))
    release = count(query.by(axis))
    label = "histogram" if query.weights is None else "weighted histogram"
    return replace(release, label=f"{label} of {values.name}{query.rows.description}")


def total(query: Query, column: Label, bounds: BoundsLike, missing: Missing) -> PlannedRelease[Any]:
    """Describe the sum of a column clamped to bounds."""
    if query.weights is not None:
        return weighted.total(query, query.weights, column, bounds, missing)
    variable, unit, rows = query.variable(column, bounds, missing), query.unit, query.rows
    if variable.fill is None or rows.may_omit_rows or unit.n is None:
        statistic = statistics.cell_totals(variable.limits, rows.n_cells, unit.neighbors, unit.caps)
    else:
        statistic = statistics.total(variable.limits, unit.neighbors, unit.n)
    read = partial(power_sums, query.frame, rows, variable, 1)
    return noisy_sums(query, f"sum of {variable.name}", [statistic], [read], [variable], STEPS)


class BinEdges(Protocol):
    """The edges and names of bins."""

    @property
    def names(self) -> tuple[str, ...]: ...

    @property
    def cuts(self) -> ThresholdCodes: ...

    def codes(self, values: Array) -> Steps: ...


@dataclass(frozen=True, eq=False)
class Bins:
    """A column that is split into bins."""

    label: Label
    name: str
    edges: BinEdges

    @property
    def labels(self) -> tuple[str, ...]:
        return self.edges.names

    @property
    def cuts(self) -> ThresholdCodes:
        return self.edges.cuts

    def codes(self, frame: Frame) -> Codes:
        """Return the index of the bin that contains each row's value, or -1 if no bin does."""
        return self.edges.codes(frame.column(self.label).floats())


def agreeing_counts(query: Query, by: Sequence[By]) -> PlannedRelease[Any]:
    """Describe tables of counts, one per mapping of a list; weighted least squares makes them consistent.

    A row is counted if it has one of the given keys in every column of the list. If a table is not split by a column,
    the label of this column is "(all)".
    """
    axes, tables = _tables(query.frame, by)
    query = query.by(*axes)
    rows, people = query.rows, 2 if query.unit.neighbors == "replace" else 1
    max_rows = query.unit.caps.max_rows(rows.n_cells)
    loss = Pure(query.price.amount) if query.price.is_epsilon else Zcdp(query.price.amount)
    sizes = tuple(len(axis.labels) for axis in axes)
    mechanism = AgreeingTables(loss, sizes, tables, people * max_rows, people * max_rows**2)
    columns = [[axes[index].name for index in table] for table in tables]
    names = [" × ".join(table) or "all" for table in columns]
    where = f" where {rows.where.description}" if rows.where.description else ""

    def draw(counts: list[Steps], rng: Rng) -> Estimate:
        return replace(mechanism.release(counts, cell_labels(axes, tables), rng), axes=rows.names)

    return query.release(
        f"count by {len(tables)} table{'s' * (len(tables) > 1)}: {', '.join(names)}{where}",
        mechanism,
        partial(marginal_counts, query.frame, rows, tables),
        draw,
        query={"tables": columns},
        notes=("a row is in the tables if it has one of the given keys in every column",),
        steps=("weighted least squares: the tables agree, unbiased",),
    )


def _tables(frame: Frame, by: Sequence[By]) -> tuple[tuple[Keys, ...], tuple[tuple[int, ...], ...]]:
    """Return all columns in the order of their first occurrence, and the indices of the columns of each table."""
    axes: list[Keys] = []
    tables: list[tuple[int, ...]] = []
    groupings = [_keys_by_column(grouping) for grouping in by]
    cells = sum(prod(len(keys) for keys in grouping.values()) for grouping in groupings)
    if cells > MAX_CELLS or not any(groupings):
        received = f"{cells:,} cells" if any(groupings) else "no column"
        rule = f"`by` must be a list of tables with 1 to {MAX_CELLS:,} cells in all"
        reject(rule, received, "each is a mapping of columns to their keys; {} is the total")
    for grouping in groupings:
        indices = []
        for axis in parse_axes(frame, grouping) if grouping else ():
            index = next((i for i, other in enumerate(axes) if other.name == axis.name), len(axes))
            if index < len(axes) and axes[index].items != axis.items:
                rule = f"column {axis.name} must have the same keys in all tables"
                reject(rule, "other keys", "tables of different rows cannot agree; give the same list of keys")
            indices.append(index)
            axes += [axis] if index == len(axes) else []
        tables.append(tuple(sorted(indices)))
    if len(set(tables)) < len(tables):
        reject("`by` must be a list of different tables", "the same table twice", "remove one: every table uses budget")
    check_joint_axes(axes)
    return tuple(axes), tuple(tables)


def check_joint_axes(axes: Sequence[Keys]) -> None:
    """Check that the keys of several columns can be combined, and that none of them is called `ALL`."""
    if any(ALL in axis.labels for axis in axes):
        reject(f"a key must not be called {ALL!r}", repr(ALL), "this label stands for all rows; rename the key")
    if prod(len(axis.items) for axis in axes) >= _MAX_JOINT_CELLS:
        reject("all columns together must have fewer than 2**62 combinations of keys", "more", "use fewer columns")


def _keys_by_column(table: object) -> dict[Any, list[Any]]:
    if not isinstance(table, Mapping):
        rule = "each table of `by` must be a mapping of columns to their keys"
        remedy = 'write by=[{"region": ["north", "south"]}, {}]; {} is the total'
        reject(rule, type(table).__name__, remedy, TypeError)
    return {label: as_list(keys, "by") for label, keys in table.items()}


def cell_labels(axes: Sequence[Keys], tables: Sequence[tuple[int, ...]]) -> list[Any]:
    """Return the labels of the cells of all tables; `ALL` is the key of a column that a table is not split by."""
    labels = [
        keys
        for table in tables
        for keys in product(*(axis.labels if index in table else (ALL,) for index, axis in enumerate(axes)))
    ]
    return labels if len(axes) > 1 else [key for (key,) in labels]
