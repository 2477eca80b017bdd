"""`QuantileVerbs`: many quantiles of a column for one charge, in all or by group."""

from collections.abc import Iterable
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np

from toolkit.budget.facts import keys_facts, release_facts
from toolkit.budget.frames.asked import listed_once
from toolkit.budget.frames.conditions import Where
from toolkit.budget.frames.rows import By, Rows
from toolkit.budget.keeper import Keeper
from toolkit.budget.tables.spending import Spending
from toolkit.central.publishing.quantiles import RecursiveQuantiles
from toolkit.central.statistics import rank_unit
from toolkit.central.steps import Bounds
from toolkit.core.arrays import Array, Steps
from toolkit.core.checks import Number, probability, refuse
from toolkit.core.estimate import SIMULATED, Estimate
from toolkit.core.randomness import Rng, words

LIST_BITS = 20
"""A list is sought on 2**20 to 2**21 steps: values that share a step split the parts less well."""
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
        be off is in the notes: in the column's unit that depends on the data.
        """
        shares = _shares(q)
        ordered = sorted(shares)
        limits = Bounds.of(bounds, LIST_BITS)
        limits = limits if step is None else limits.with_step(step)
        spending, rows, found = Spending.of(epsilon, rho), self._rows(where, by), self._summable(column)
        make = RecursiveQuantiles.for_epsilon if spending.laplace else RecursiveQuantiles.for_rho
        mechanism = make(
            spending.amount,
            ordered,
            neighbors=self.neighbors,
            rows=self._caps.most(rows.cells),
            grouped=rows.cells > 1,
        )
        names = [f"{float(share):.15g}" for share in shares]
        name, source = self._frame.name(column), self.ledger.source(rng)
        label = f"{len(shares)} quantiles of {name}{rows.words}"
        extra = _PLACES - (limits.span + 1).bit_length()
        entry = self._charged(mechanism, label)
        groups = self._computed(lambda: _placed(rows, self._frame, found.floats(), limits, extra, source))
        most = (limits.span + 1) << extra
        cuts = [mechanism.choose(places, most, source) for places in groups]
        value = np.array([_value(limits, one[ordered.index(share)] >> extra) for one in cuts for share in shares])
        reach = mechanism.off_by(most)
        note = (
            f"with probability 95 % at most {reach:,} of the values lie between {'each' if len(value) > 1 else 'it'} "
            "and its true quantile"
            + (", in each group" if rows.cells > 1 else "")
        )
        drawn = () if source is None else (SIMULATED,)
        plain = Estimate(
            value=value,
            se=np.full(len(value), np.nan),
            labels=_labels(rows, names),
            cov=None,
            n=None,
            loss=mechanism.loss if source is None else None,
            covers="noise, in ranks",
            method="Exponential",
            axes=(*rows.names, "quantile"),
        )
        told = self._told(plain, label, "missing left out", (note, *rows.notes, *drawn))
        query = {
            "statistic": label,
            **keys_facts((*rows.names, "quantile"), [*(axis.labels for axis in rows.axes), names]),
            "bounds": {"low": str(limits.low), "high": str(limits.high), "step": str(limits.step)},
            "missing": "left out",
            **({"where": rows.where.words} if rows.where.words else {}),
        }
        facts = release_facts(self.ledger, entry, mechanism, query, self._unit())
        return replace(told, release=facts)


def _shares(q: Iterable[Number]) -> list[Fraction]:
    shares = [rank_unit(probability(one, "q")) for one in listed_once(q, "q")]
    if not shares or len(set(shares)) < len(shares):
        received = "repetitions" if shares else "none"
        refuse("`q` must be distinct shares, at least one", received, "each is one quantile")
    return shares


def _placed(rows: Rows, frame: Any, values: Array, limits: Bounds, extra: int, rng: Rng) -> list[Steps]:
    """The places of each group's values: their steps, and random digits after them."""
    codes, steps = rows.codes(frame), limits.steps(values)
    used = np.flatnonzero((codes >= 0) & (steps >= 0))
    places = (steps[used] << extra) | words(len(used), extra, rng).astype(np.int64)
    order = np.argsort(codes[used], kind="stable")
    ends = np.searchsorted(codes[used][order], np.arange(1, rows.cells))
    return np.split(places[order], ends)


def _value(limits: Bounds, step: int) -> float:
    return float(min(max((limits.least + min(step, limits.span)) * limits.step, limits.low), limits.high))


def _labels(rows: Rows, names: list[str]) -> tuple[Any, ...]:
    if not rows.axes:
        return tuple(names)
    keys = [(label,) if len(rows.axes) == 1 else label for label in rows.labels]
    return tuple((*key, name) for key in keys for name in names)
