"""Quantiles of a column, one or many for one charge, in all or by group."""

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property, lru_cache, partial
from typing import Any

import numpy as np

from toolkit.central.publishing.quantiles import MOST_ROWS, RecursiveQuantiles, StepCounts, rank_unit
from toolkit.central.release import chosen
from toolkit.core.arrays import Array, Codes, Label, Steps
from toolkit.core.checks import Number, probability, refuse
from toolkit.core.covers import Covers, ErrorSource
from toolkit.core.estimate import Estimate
from toolkit.core.randomness import Rng, words
from toolkit.curator.release import Price, Query, Release, cells_by
from toolkit.frames.frame import as_list
from toolkit.frames.reader import steps_or_values
from toolkit.frames.sums import Bounds, BoundsLike, Variable, split

GRID_BITS = 20
"""Quantiles are sought on 2**20 to 2**21 steps: values that share a step split the parts less well."""
_MOST_SHARES = 1000
_RANKS = Covers([ErrorSource.NOISE], unit="ranks")
_PLACES = 52  # bits of a place: its step, and a random part that tells equal values apart


def quantiles(
    query: Query, column: Label, q: Number | Iterable[Number], bounds: BoundsLike, step: Number | None
) -> Release[Any]:
    """The values below which the shares `q` lie, the middle one first; a single share is released as a number."""
    single = not isinstance(q, Iterable) or isinstance(q, str)
    shares = _shares([q] if single else q)  # type: ignore[list-item,arg-type]
    name, rows, unit, price = query.frame.column(column, numbers=True).name, query.rows, query.unit, query.price
    limits = Bounds.of(bounds, GRID_BITS)
    limits = limits if step is None else limits.with_step(step)
    grid, ordered = Grid(limits), sorted(shares)
    mechanism = _mechanism(price, tuple(ordered), unit.neighbors, unit.caps.most(rows.cells), rows.cells)
    names = [f"{float(share):.15g}" for share in shares]

    def draw(read: tuple[Codes, Array] | Steps, rng: Rng) -> Estimate:
        if isinstance(read, tuple):
            places = grid.places(limits.steps(read[1]), rng)
            values_by_cell = split(np.where(places < 0, -1, read[0]), places, rows.cells)
            cuts = [mechanism.choose(cell, grid.most, rng) for cell in values_by_cell]
        else:
            cuts = [mechanism.choose_spread(StepCounts(counts, grid.extra, rng), rng) for counts in read]
        values = [grid.value(one[ordered.index(share)]) for one in cuts for share in shares]
        cells = cells_by(rows, "quantile", names)
        estimate = chosen(values, mechanism.loss, _RANKS, "Exponential", rng, **cells)
        return replace(estimate, value=values[0], se=math.nan, axes=()) if single and not rows.axes else estimate

    keys = {axis.name: list(axis.labels) for axis in rows.axes} | ({} if single else {"quantile": names})
    return query.release(
        f"{names[0] if single else len(shares)} quantile{'s' * (len(shares) > 1)} of {name}{rows.words}",
        mechanism,
        partial(steps_or_values, query.frame, rows, column, limits),
        draw,
        variables=[Variable(column, limits, None, name, "missing left out")],
        query={"by": keys} if keys else None,
        notes=(_note(mechanism, grid, unit.n or MOST_ROWS, rows.cells),),
    )


@lru_cache(maxsize=256)
def _mechanism(price: Price, shares: tuple[Fraction, ...], relation: str, most: int, groups: int) -> RecursiveQuantiles:
    make = RecursiveQuantiles.for_epsilon if price.is_epsilon else RecursiveQuantiles.for_rho
    return make(price.amount, shares, neighbors=relation, rows=most, grouped=groups > 1)


@dataclass(frozen=True)
class Grid:
    """Places of values: their steps between the bounds, and random digits after them."""

    limits: Bounds

    @cached_property
    def extra(self) -> int:
        return _PLACES - (self.limits.span + 1).bit_length()

    @cached_property
    def most(self) -> int:
        return (self.limits.span + 1) << self.extra

    def places(self, steps: Steps, rng: Rng) -> Steps:
        """-1 for a missing value; the digits of one value are independent of all others. Steps are overwritten."""
        bits = 32 if self.extra <= 32 else 64
        drawn = words(len(steps), bits, rng)
        steps <<= self.extra
        steps |= (drawn >> drawn.dtype.type(bits - self.extra)).astype(np.int64)
        return np.maximum(steps, -1, out=steps)  # -1 with any digits after it is below 0

    def value(self, cut: int) -> float:
        """In the column's unit, within the bounds."""
        limits, step = self.limits, min(cut >> self.extra, self.limits.span)
        return float(min(max((limits.least + step) * limits.step, limits.low), limits.high))


def _note(mechanism: RecursiveQuantiles, grid: Grid, rows: int, groups: int) -> str:
    ranks = mechanism.off_by(grid.most, grid.limits.span + 1, rows)
    each = "it" if len(mechanism.quantiles) * groups == 1 else "each"
    where = f" of its group, in each of {groups} groups for itself" if groups > 1 else ""
    more = f", and of all values {mechanism.levels} in 2,097,152" if mechanism.rounded else ""
    return f"with probability 95 % at most {ranks:,} values{more} lie between {each} and its true quantile{where}"


def _shares(q: Iterable[Number]) -> list[Fraction]:
    listed = as_list(q, "q")
    if len(listed) > _MOST_SHARES:
        refuse(f"`q` must have at most {_MOST_SHARES:,} shares", f"{len(listed):,}", "ask for fewer")
    shares = [rank_unit(probability(one, "q")) for one in listed]
    if not shares or len(set(shares)) < len(shares):
        received = "repetitions" if shares else "none"
        refuse("`q` must be distinct shares, at least one", received, "each is one quantile")
    return shares
