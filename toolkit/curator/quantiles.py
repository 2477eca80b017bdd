"""Quantiles of a column, one or many for one charge, in all or by group."""

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np

from toolkit.central.publishing.quantiles import MOST_ROWS, RecursiveQuantiles
from toolkit.central.release import chosen_by_cell
from toolkit.central.statistics import rank_unit
from toolkit.core.arrays import Array, Steps
from toolkit.core.checks import Number, probability, refuse
from toolkit.core.covers import Covers, Source
from toolkit.core.estimate import Estimate
from toolkit.core.randomness import Rng, words
from toolkit.curator.query import Query
from toolkit.curator.release import Release
from toolkit.frames.bounds import Bounds
from toolkit.frames.conditions import as_list
from toolkit.frames.sums import split

GRID_BITS = 20
"""Quantiles are sought on 2**20 to 2**21 steps: values that share a step split the parts less well."""
_MOST_SHARES = 1000
_RANKS = Covers([Source.NOISE], unit="ranks")
_PLACES = 52  # bits of a place: its step, and a random part that tells equal values apart


def quantiles(
    query: Query, column: Any, q: Number | Iterable[Number], bounds: Any, step: Number | None
) -> Release[Any]:
    """The values below which the shares `q` lie, the middle one first, each of the others on its side of it.

    A single share is a list of one, told as a number where there are no groups.
    """
    one = not isinstance(q, Iterable) or isinstance(q, str)
    shares = _shares([q] if one else q)  # type: ignore[list-item,arg-type]
    limits, rows = Bounds.of(bounds, GRID_BITS), query.rows
    limits = limits if step is None else limits.with_step(step)
    query.numbers(column)
    mechanism = _mechanism(query, sorted(shares))
    grid, name = Grid.of(limits), query.frame.name(column)
    names = [f"{float(share):.15g}" for share in shares]
    label = f"{names[0] if one else len(shares)} quantile{'s' * (len(shares) > 1)} of {name}{rows.words}"

    def read() -> list[tuple[Any, Array]]:
        parts = query.frame.parts((*rows.columns, column), whole=rows.limited)
        return [(rows.codes(part), part.column(column).floats()) for part in parts]

    def draw(values: list[tuple[Any, Array]], rng: Rng) -> Estimate:
        cuts = [mechanism.choose(places, grid.most, rng) for places in _by_cell(values, grid, rows.cells, rng)]
        order = [sorted(shares).index(share) for share in shares]
        found = [grid.value(one[place]) for one in cuts for place in order]
        keys = [key if isinstance(key, tuple) else (key,) for key in rows.labels]
        labels = tuple((*key, name) if rows.axes else name for key in keys for name in names)
        estimate = chosen_by_cell(found, labels, (*rows.names, "quantile"), mechanism.loss, _RANKS, "Exponential", rng)
        return replace(estimate, value=found[0], se=math.nan, axes=()) if one and not rows.axes else estimate

    ranks = mechanism.off_by(grid.most, limits.span + 1, query.unit.n or MOST_ROWS)
    keys = {axis.name: list(axis.labels) for axis in rows.axes} | ({} if one else {"quantile": names})
    return query.release(
        label,
        mechanism,
        read,
        draw,
        limits={name: limits},
        query={"by": keys} if keys else None,
        missing="missing left out",
        notes=(_note(mechanism, ranks, len(shares) * rows.cells, rows.cells),),
    )


def _mechanism(query: Query, shares: list[Fraction]) -> RecursiveQuantiles:
    make = RecursiveQuantiles.for_epsilon if query.price.is_epsilon else RecursiveQuantiles.for_rho
    cells = query.rows.cells
    most = query.caps.most(cells)
    return make(query.price.amount, shares, neighbors=query.neighbors, rows=most, grouped=cells > 1)


@dataclass(frozen=True)
class Grid:
    """Places of values: their steps between the bounds, and random digits after them."""

    limits: Bounds
    extra: int

    @classmethod
    def of(cls, limits: Bounds) -> "Grid":
        return cls(limits, _PLACES - (limits.span + 1).bit_length())

    @property
    def most(self) -> int:
        """Where the last step ends."""
        return (self.limits.span + 1) << self.extra

    def places(self, values: Array, rng: Rng) -> Steps:
        """-1 for a missing value; the digits of one value are independent of all others."""
        steps = self.limits.steps(values)
        bits = 32 if self.extra <= 32 else 64
        drawn = words(len(steps), bits, rng)
        steps <<= self.extra
        steps |= (drawn >> drawn.dtype.type(bits - self.extra)).astype(np.int64)
        return np.maximum(steps, -1, out=steps)  # -1 with any digits after it is below 0

    def value(self, cut: int) -> float:
        """In the column's unit, within the bounds."""
        limits, step = self.limits, min(cut >> self.extra, self.limits.span)
        return float(min(max((limits.least + step) * limits.step, limits.low), limits.high))


def _by_cell(values: list[tuple[Any, Array]], grid: Grid, cells: int, rng: Rng) -> list[Steps]:
    """The places of the values of each cell."""
    nothing = np.empty(0, dtype=np.int64)
    placed = ((codes, grid.places(numbers, rng)) for codes, numbers in values)
    parts = [(nothing, nothing), *((np.where(at < 0, -1, codes), at) for codes, at in placed)]
    return split(parts, cells)


def _note(mechanism: RecursiveQuantiles, ranks: int, number: int, groups: int) -> str:
    each = "it" if number == 1 else "each"
    where = f" of its group, in each of {groups} groups for itself" if groups > 1 else ""
    more = f", and of all values {mechanism.levels} in 2,097,152" if mechanism.rounded else ""
    most = f"{ranks:,} values{more}"
    return f"with probability 95 % at most {most} lie between {each} and its true quantile{where}"


def _shares(q: Iterable[Number]) -> list[Fraction]:
    listed = as_list(q, "q")
    if len(listed) > _MOST_SHARES:
        refuse(f"`q` must have at most {_MOST_SHARES:,} shares", f"{len(listed):,}", "ask for fewer")
    shares = [rank_unit(probability(one, "q")) for one in listed]
    if not shares or len(set(shares)) < len(shares):
        received = "repetitions" if shares else "none"
        refuse("`q` must be distinct shares, at least one", received, "each is one quantile")
    return shares
