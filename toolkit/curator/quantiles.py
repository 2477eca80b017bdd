"""One or several quantiles of a column for one charge, in total or by group."""

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property, lru_cache, partial
from typing import Any

import numpy as np

from toolkit.central.publishing.quantiles import MAX_ROWS, RecursiveQuantiles, StepCounts, round_share
from toolkit.central.release import selection_estimate
from toolkit.core.arrays import Array, Codes, Label, Steps
from toolkit.core.checks import Number, check_probability, reject
from toolkit.core.covers import Covers, ErrorSource
from toolkit.core.estimate import Estimate
from toolkit.core.randomness import Rng, words
from toolkit.curator.release import PlannedRelease, Price, Query, cells_by
from toolkit.frames.frame import as_list
from toolkit.frames.reader import histogram_or_values
from toolkit.frames.sums import Bounds, BoundsLike, Variable, split_by_cell

GRID_BITS = 20
"""The grid of candidates has 2**20 to 2**21 steps, because values on the same step are hard to separate."""
_MAX_SHARES = 1000
_RANKS = Covers([ErrorSource.NOISE], unit="ranks")
_POSITION_BITS = 52  # a position combines the step of a value with random digits, which break ties


def quantiles(
    query: Query, column: Label, q: Number | Iterable[Number], bounds: BoundsLike, step: Number | None
) -> PlannedRelease[Any]:
    """Describe the release of the quantiles at the shares `q`; a single share gives a single number."""
    single = not isinstance(q, Iterable) or isinstance(q, str)
    shares = _shares([q] if single else q)  # type: ignore[list-item,arg-type]
    name, rows, unit, price = query.frame.column(column, must_be_numeric=True).name, query.rows, query.unit, query.price
    limits = Bounds.of(bounds, GRID_BITS)
    limits = limits if step is None else limits.with_step(step)
    grid, ordered = Grid(limits), sorted(shares)
    mechanism = _mechanism(price, tuple(ordered), unit.neighbors, unit.caps.max_rows(rows.n_cells), rows.n_cells)
    names = [f"{float(share):.15g}" for share in shares]

    def draw(read: tuple[Codes, Array] | Steps, rng: Rng) -> Estimate:
        if isinstance(read, tuple):
            positions = grid.positions(limits.steps(read[1]), rng)
            values_by_cell = split_by_cell(np.where(positions < 0, -1, read[0]), positions, rows.n_cells)
            cuts = [mechanism.choose(cell, grid.n_positions, rng) for cell in values_by_cell]
        else:
            cuts = [mechanism.choose_lazily(StepCounts(counts, grid.n_digits, rng), rng) for counts in read]
        values = [grid.value(cell[ordered.index(share)]) for cell in cuts for share in shares]
        cells = cells_by(rows, "quantile", names)
        estimate = selection_estimate(values, mechanism.loss, _RANKS, "Exponential", rng, **cells)
        return replace(estimate, value=values[0], se=math.nan, axes=()) if single and not rows.axes else estimate

    keys = {axis.name: list(axis.labels) for axis in rows.axes} | ({} if single else {"quantile": names})
    return query.release(
        f"{names[0] if single else len(shares)} quantile{'s' * (len(shares) > 1)} of {name}{rows.description}",
        mechanism,
        partial(histogram_or_values, query.frame, rows, column, limits),
        draw,
        variables=[Variable(column, limits, None, name, "missing left out")],
        query={"by": keys} if keys else None,
        notes=(_note(mechanism, grid, unit.n or MAX_ROWS, rows.n_cells),),
    )


@lru_cache(maxsize=256)
def _mechanism(
    price: Price, shares: tuple[Fraction, ...], relation: str, rows_per_person: int, n_groups: int
) -> RecursiveQuantiles:
    make = RecursiveQuantiles.for_epsilon if price.is_epsilon else RecursiveQuantiles.for_rho
    return make(price.amount, shares, neighbors=relation, rows_per_person=rows_per_person, is_grouped=n_groups > 1)


@dataclass(frozen=True)
class Grid:
    """Positions of values: their steps between the bounds, followed by random digits that break ties."""

    limits: Bounds

    @cached_property
    def n_digits(self) -> int:
        """The number of random binary digits that follow a step."""
        return _POSITION_BITS - (self.limits.span + 1).bit_length()

    @cached_property
    def n_positions(self) -> int:
        return (self.limits.span + 1) << self.n_digits

    def positions(self, steps: Steps, rng: Rng) -> Steps:
        """Convert steps to positions in place, with independent random digits; a missing value has the step -1."""
        bits = 32 if self.n_digits <= 32 else 64
        digits = words(len(steps), bits, rng)
        steps <<= self.n_digits
        steps |= (digits >> digits.dtype.type(bits - self.n_digits)).astype(np.int64)
        return np.maximum(steps, -1, out=steps)  # a step of -1 remains negative with any digits

    def value(self, cut: int) -> float:
        """Convert a position to the unit of the column, within the bounds."""
        limits, step = self.limits, min(cut >> self.n_digits, self.limits.span)
        return float(min(max((limits.low_steps + step) * limits.step, limits.low), limits.high))


def _note(mechanism: RecursiveQuantiles, grid: Grid, rows: int, groups: int) -> str:
    ranks = mechanism.rank_error_bound(grid.n_positions, grid.limits.span + 1, rows)
    each = "it" if len(mechanism.quantiles) * groups == 1 else "each"
    where = f" of its group, separately in each of {groups} groups" if groups > 1 else ""
    more = f", and of all values {mechanism.n_levels} in 2,097,152" if mechanism.has_rounded_share else ""
    return f"with probability 95 % at most {ranks:,} values{more} lie between {each} and its true quantile{where}"


def _shares(q: Iterable[Number]) -> list[Fraction]:
    values = as_list(q, "q")
    if len(values) > _MAX_SHARES:
        reject(f"`q` must have at most {_MAX_SHARES:,} shares", f"{len(values):,}", "give fewer shares")
    shares = [round_share(check_probability(share, "q")) for share in values]
    if not shares or len(set(shares)) < len(shares):
        received = "repetitions" if shares else "none"
        reject("`q` must be one or more distinct shares", received, "write q=[0.25, 0.5, 0.75]")
    return shares
