"""`MarginVerbs`: several tables of counts of the same rows that agree, for one charge."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import product
from math import prod
from typing import Any

import numpy as np

from toolkit.budget.frames.asked import MOST_CELLS, Asked, listed_once
from toolkit.budget.frames.conditions import Where, condition
from toolkit.budget.frames.rows import By, Rows, axes_of
from toolkit.budget.keeper import Keeper
from toolkit.budget.record import Entry
from toolkit.budget.tables.spending import Spending
from toolkit.central.publishing.agreeing import AgreeingTables
from toolkit.core.arrays import Codes, Steps
from toolkit.core.checks import Number, refuse
from toolkit.core.estimate import Estimate
from toolkit.core.frames.frame import Frame
from toolkit.core.loss import Pure, Zcdp
from toolkit.core.randomness import Rng

_MOST_JOINT = 2**62  # cells of all columns together, which number a row in 64 bits
ALL = "(all)"
"""The key of a column that a table is not split by."""


class MarginVerbs(Keeper):
    """What `count` does with a list of tables."""

    def _margins(
        self,
        by: Sequence[By],
        where: Where | None,
        epsilon: Number | None,
        rho: Number | None,
        rng: Rng,
    ) -> Estimate:
        """Counts by each mapping of a list, made to agree by weighted least squares.

        A row is counted if it has one of the given keys in every column of the list, so that all tables are
        of the same rows. Labels have the key "(all)" for a column that their table is not split by.
        """
        spending, source = Spending.of(epsilon, rho), self.ledger.source(rng)
        axes, tables = _tables(self._frame, by)
        rows = Rows(condition(self._frame, where), axes, self._people)
        most = self._caps.most(rows.cells)
        people = 2 if self.neighbors == "replace" else 1
        loss = Pure(spending.amount) if spending.laplace else Zcdp(spending.amount)
        sizes = tuple(len(axis.labels) for axis in axes)
        mechanism = AgreeingTables(loss, sizes, tables, people * most, people * most**2)
        names = [" × ".join(axes[place].name for place in one) or "all" for one in tables]
        label = f"count by {len(tables)} table{'s' * (len(tables) > 1)}: {', '.join(names)}" + (
            f" where {rows.where.words}" if rows.where.words else ""
        )
        receipt: list[Entry] = []
        counts = self._paid(mechanism, label, lambda: _counted(rows, self._frame, sizes, tables), None, receipt)
        noisy = mechanism.release(counts, _labels(axes, tables), source)
        note = "a row is in the tables if it has one of the given keys in every column"
        told = self._told(replace(noisy, axes=rows.names), label, "", (note, *rows.notes))
        listed = [[axes[place].name for place in one] for one in tables]
        made = self._documented(told, mechanism, receipt, label, rows, tables=listed)
        return replace(made, release=made._after("weighted least squares: the tables agree, unbiased"))


def _tables(frame: Any, by: Sequence[By]) -> tuple[tuple[Asked, ...], tuple[tuple[int, ...], ...]]:
    """All columns in the order in which they are first named, and the columns of each table."""
    axes: list[Asked] = []
    tables: list[tuple[int, ...]] = []
    listed = [_listed(one) for one in by]
    cells = sum(prod(len(keys) for keys in one.values()) for one in listed)
    if cells > MOST_CELLS or not any(listed):
        received = f"{cells:,} cells" if any(listed) else "no column"
        rule = f"`by` must be a list of tables with 1 to {MOST_CELLS:,} cells in all"
        refuse(rule, received, "each is a mapping of columns to their keys; {} is the total")
    for one in listed:
        asked = axes_of(frame, one) if one else ()
        places = []
        for axis in asked:
            known = [place for place, other in enumerate(axes) if other.name == axis.name]
            if known and axes[known[0]].items != axis.items:
                refuse(
                    f"column {axis.name} must have the same keys in all tables",
                    "others",
                    "else the tables are of different rows and cannot agree",
                )
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
    """One table of a list, its keys read once."""
    if not isinstance(table, Mapping):
        refuse(
            "each table of `by` must be a mapping of columns to their keys",
            type(table).__name__,
            'write by=[{"region": ["north", "south"]}, {}]; {} is the total',
            TypeError,
        )
    return {label: listed_once(keys, "by") for label, keys in table.items()}


def _counted(rows: Rows, frame: Frame, sizes: tuple[int, ...], tables: Sequence[tuple[int, ...]]) -> list[Steps]:
    """How many rows each cell of each table has."""
    shapes = [tuple(sizes[place] for place in one) for one in tables]
    counts = [np.zeros(prod(shape), dtype=np.int64) for shape in shapes]
    for part in frame.parts(rows.columns, whole=rows.limited):
        places = _places(rows.codes(part), sizes)
        for total, one in zip(counts, tables, strict=True):
            flat = np.zeros(len(places[0]), dtype=np.int64)
            for place in one:
                flat = flat * sizes[place] + places[place]
            total += np.bincount(flat, minlength=len(total))
    return [total.reshape(shape) for total, shape in zip(counts, shapes, strict=True)]


def _places(codes: Codes, sizes: tuple[int, ...]) -> list[Codes]:
    """For each column the key of every row that counts."""
    joint = codes[codes >= 0]
    places: list[Codes] = []
    for size in reversed(sizes):
        places.insert(0, joint % size)
        joint = joint // size
    return places


def _labels(axes: Sequence[Asked], tables: Sequence[tuple[int, ...]]) -> list[Any]:
    listed = [
        keys
        for one in tables
        for keys in product(*(axis.labels if place in one else (ALL,) for place, axis in enumerate(axes)))
    ]
    return listed if len(axes) > 1 else [key for (key,) in listed]
