"""`QuantileVerbs`: many quantiles of a column for one charge, in all or by group."""

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from toolkit.budget.frames.asked import listed_once
from toolkit.budget.frames.conditions import Where
from toolkit.budget.frames.rows import By, Rows
from toolkit.budget.frames.summing import split
from toolkit.budget.keeper import Keeper
from toolkit.budget.record import Entry
from toolkit.budget.tables.spending import Spending
from toolkit.central.publishing.quantiles import MOST_ROWS, RecursiveQuantiles
from toolkit.central.release import chosen_by_cell
from toolkit.central.statistics import rank_unit
from toolkit.central.steps import Bounds
from toolkit.core.arrays import Array, Steps
from toolkit.core.checks import Number, probability, refuse
from toolkit.core.estimate import Estimate
from toolkit.core.randomness import Rng, words

LIST_BITS = 20
"""A list is sought on 2**20 to 2**21 steps: values that share a step split the parts less well."""
_MOST_SHARES = 1000
_PLACES = 52  # bits of a place: its step, and a random part that tells equal values apart


class QuantileVerbs(Keeper):
    """`quantiles`, the middle one first, each of the others on its side of it."""

    def quantiles(
        self,
        column: str | int,
        q: Iterable[Number],
        *,
        bounds: Any,
        epsilon: Number | None = None,
        rho: Number | None = None,
        where: Where | None = None,
        by: By | None = None,
        step: Number | None = None,
        rng: Rng = None,
    ) -> Estimate:
        """The values below which the shares `q` of the column's values lie: [0.1, 0.2, …, 0.9] are deciles.

        All together are one charge, in all groups of `by`. They never decrease along q. Candidates are
        multiples of `step` (2**-20 of the bounds' distance if not given) between the bounds: of whole numbers
        say step=1. Equal values are told apart at random; missing ones are left out. How far the ranks may
        be off is in the notes, for up to 2**30 rows if their number is private: in the column's unit that
        depends on the data.
        """
        spending, rows = Spending.of(epsilon, rho), self._rows(where, by)
        self._summable(column)
        shares, limits = _shares(q), Bounds.of(bounds, LIST_BITS)
        limits = limits if step is None else limits.with_step(step)
        mechanism = self._recursive(spending, sorted(shares), rows)
        grid, source, receipt = Grid.of(limits), self.ledger.source(rng), list[Entry]()
        name = self._frame.name(column)
        label = f"{len(shares)} quantile{'s' * (len(shares) > 1)} of {name}{rows.words}"

        def placed() -> list[Steps]:
            parts = self._frame.parts((*rows.columns, column), whole=rows.limited)
            read = ((rows.codes(part), grid.places(part.column(column).floats(), source)) for part in parts)
            nothing = np.empty(0, dtype=np.int64)
            return split([(nothing, nothing), *((np.where(at < 0, -1, c), at) for c, at in read)], rows.cells)

        groups = self._paid(mechanism, label, placed, None, receipt)
        cuts = [mechanism.choose(places, grid.most, source) for places in groups]
        order = [sorted(shares).index(share) for share in shares]
        names = [f"{float(share):.15g}" for share in shares]
        values = [grid.value(one[place]) for one in cuts for place in order]
        most = mechanism.off_by(grid.most, limits.span + 1, self._public_n() or MOST_ROWS)
        notes = (_note(mechanism, most, len(values), rows.cells), *rows.notes)
        plain = _estimate(values, rows, names, mechanism, source)
        told = self._told(plain, label, "missing left out", notes)
        keys = {axis.name: list(axis.labels) for axis in rows.axes} | {"quantile": names}
        how = "left out"
        return self._documented(told, mechanism, receipt, label, rows, {name: limits}, how, by=keys)

    def _recursive(self, spending: Spending, shares: list[Fraction], rows: Rows) -> RecursiveQuantiles:
        make = RecursiveQuantiles.for_epsilon if spending.laplace else RecursiveQuantiles.for_rho
        most, grouped = self._caps.most(rows.cells), rows.cells > 1
        return make(spending.amount, shares, neighbors=self.neighbors, rows=most, grouped=grouped)


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


def _estimate(values: list[float], rows: Rows, names: list[str], mechanism: RecursiveQuantiles, rng: Rng) -> Estimate:
    keys = [label if isinstance(label, tuple) else (label,) for label in rows.labels]
    labels = tuple((*key, name) if rows.axes else name for key in keys for name in names)
    axes = *rows.names, "quantile"
    return chosen_by_cell(values, labels, axes, mechanism.loss, "noise, in ranks", "Exponential", rng)


def _note(mechanism: RecursiveQuantiles, ranks: int, number: int, groups: int) -> str:
    each = "it" if number == 1 else "each"
    where = f" of its group, in each of {groups} groups for itself" if groups > 1 else ""
    more = f", and of all values {mechanism.levels} in 2,097,152" if mechanism.rounded else ""
    most = f"{ranks:,} values{more}"
    return f"with probability 95 % at most {most} lie between {each} and its true quantile{where}"


def _shares(q: Iterable[Number]) -> list[Fraction]:
    listed = listed_once(q, "q")
    if len(listed) > _MOST_SHARES:
        refuse(f"`q` must have at most {_MOST_SHARES:,} shares", f"{len(listed):,}", "ask for fewer")
    shares = [rank_unit(probability(one, "q")) for one in listed]
    if not shares or len(set(shares)) < len(shares):
        received = "repetitions" if shares else "none"
        refuse("`q` must be distinct shares, at least one", received, "each is one quantile")
    return shares
