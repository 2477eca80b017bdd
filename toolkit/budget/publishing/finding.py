"""`FindingVerbs`: what must be known before a table can be asked for: keys, limits, the most frequent."""

import datetime as dt
from collections.abc import Iterable
from dataclasses import replace
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np

from toolkit.budget.frames.asked import listed_once
from toolkit.budget.frames.conditions import Where
from toolkit.budget.frames.rows import Rows
from toolkit.budget.frames.summing import counted
from toolkit.budget.keeper import Keeper
from toolkit.budget.publishing.occurring import check_keys, ordered, people_by_key, people_by_key_once
from toolkit.budget.record import Entry
from toolkit.budget.tables.spending import Spending
from toolkit.central.publishing.keys import KeyThreshold
from toolkit.central.publishing.ranges import RangeFinder
from toolkit.central.publishing.top import TopK
from toolkit.central.tables import caps
from toolkit.core.checks import Number, exact, refuse, whole
from toolkit.core.estimate import SIMULATED, Estimate
from toolkit.core.frames.frame import Frame
from toolkit.core.randomness import Rng


class FindingVerbs(Keeper):
    """Keys, bounds and top: what they find is public, and may be given to every other verb."""

    def keys(
        self,
        column: str | int,
        *,
        epsilon: Number | None = None,
        delta: Number | None = None,
        rho: Number | None = None,
        where: Where | None = None,
        rng: Rng = None,
    ) -> Estimate:
        """The values of a column that many people have, with noisy counts, the most frequent first.

        Nobody needs to know the keys: those whose noisy count reaches a threshold are told, and are public
        afterwards: `by={"city": found.labels}`. The threshold follows from epsilon and delta; delta is the
        chance that a key of one person alone shows. `epsilon` buys Laplace noise; `rho` Gaussian noise for
        half of delta, better where a person has three keys or more. It costs an Approx loss: a ledger with
        a Pure or Zcdp ceiling refuses. How long it takes depends on the number of different keys.
        """
        if delta is None:
            refuse(
                "`delta` must be given for unknown keys",
                "none",
                "with a small probability a rare key shows; 1e-6 is usual, far below one over the people",
            )
        spending, rows, name = Spending.of(epsilon, rho), self._rows(where), self._frame.name(column)
        check_keys(self._frame.column(column), name)
        make = KeyThreshold.for_loss if spending.laplace else KeyThreshold.for_rho
        most = self._caps.rows if self._caps.groups is None else min(self._caps.rows, self._caps.groups)
        mechanism = make(spending.amount, delta, neighbors=self.neighbors, keys=most)
        label, source = f"keys of {name}{rows.words}", self.ledger.source(rng)

        def occurring() -> dict[Any, int]:
            parts = self._frame.parts((*rows.columns, column), whole=rows.limited)
            return ordered(item for part in parts for item in occurring_in(part).items())

        def occurring_in(part: Frame) -> dict[Any, int]:
            mask, values = rows.where.mask(part), part.column(column)
            if self._people is None:
                return people_by_key(values, mask)
            person, tags = self._people.tagged(part)
            return people_by_key_once(values, mask, person, tags, self._people.key, most)

        receipt: list[Entry] = []
        noisy = mechanism.release(self._paid(mechanism, label, occurring, None, receipt), rng=source)
        more = {"by": {name: list(noisy.labels)}, "keys": "found"}
        return self._found(replace(noisy, axes=(name,)), label, rows, mechanism, receipt, None, more)

    def bounds(
        self,
        column: str | int,
        *,
        epsilon: Number | None = None,
        rho: Number | None = None,
        where: Where | None = None,
        powers: tuple[int, int] = (-31, 32),
        beta: Number = Fraction(1, 1000),
        rng: Rng = None,
    ) -> Estimate:
        """Limits of a column, for `bounds=`: the outer edges of the powers of two between which many values
        lie.

        Values are counted by sign and power of two, from 2**powers[0] to 2**powers[1]; a bin whose noisy
        count reaches a threshold is inside. With probability 1 - beta no empty bin is. Values beyond the
        limits are clamped later: an outer bin that is missed holds about as many values as the threshold.
        """
        spending, rows = Spending.of(epsilon, rho), self._rows(where)
        self._summable(column)
        if not isinstance(powers, tuple | list) or len(powers) != 2:
            refuse("`powers` must be two whole numbers", type(powers).__name__, "bins end at powers of two")
        first, last = powers
        bins = 2 * (whole(last, "powers", least=-(10**6)) - whole(first, "powers", least=-(10**6)) + 1)
        reach = caps.counts(max(bins, 1), self.neighbors, self._caps)
        mechanism = RangeFinder(spending.mechanism(reach), first, last, exact(beta, "beta"))
        label, source = f"bounds of {self._frame.name(column)}{rows.words}", self.ledger.source(rng)

        def binned() -> Any:
            total = np.zeros(mechanism.bins, dtype=np.int64)
            for part in self._frame.parts((*rows.columns, column), whole=rows.limited):
                codes = np.where(rows.where.mask(part), mechanism.codes(part.column(column).floats()), -1)
                codes = codes if self._people is None else self._people.limited(part, codes)
                total += np.bincount(codes + 1, minlength=mechanism.bins + 1)[1:]
            return total

        receipt: list[Entry] = []
        low, high = mechanism.choose(self._paid(mechanism, label, binned, None, receipt), source)
        note = (
            f"bins whose noisy count reached {mechanism.threshold} lie inside; if none did, the limits are "
            f"those of all bins, ±2**{last}"
        )
        limits = np.array([float(low), float(high)])
        chosen = _chosen(limits, ("low", "high"), ("limit",), type(mechanism.noise).__name__, note)
        more = {"powers of two": [first, last], "beta": str(beta)}
        return self._found(chosen, label, rows, mechanism, receipt, source, more)

    def top(
        self,
        column: str | int,
        k: int,
        *,
        options: Iterable[Any],
        epsilon: Number | None = None,
        rho: Number | None = None,
        where: Where | None = None,
        rng: Rng = None,
    ) -> Estimate:
        """The k most frequent of the given options, the first chosen first; their counts are not told.

        Labels are the options, values their places 1 … k. A count of them is another release:
        `count(by={"city": found.labels})`.
        """
        given = listed_once(options, "options")
        spending, listed = Spending.of(epsilon, rho), self._rows(where, {column: given})
        make = TopK.for_epsilon if spending.laplace else TopK.for_rho
        reach = {"rows": self._caps.most(1), "together": self._caps.most(whole(k, "k"))}
        mechanism = make(spending.amount, k, neighbors=self.neighbors, **reach)
        if mechanism.k > listed.cells:
            refuse("`k` must be at most the number of options", k, f"there are {listed.cells}")
        name, plain = self._frame.name(column), self._rows(where)
        label, source = f"top {mechanism.k} of {name} ({listed.cells}){plain.words}", self.ledger.source(rng)

        receipt: list[Entry] = []
        counts = self._paid(mechanism, label, partial(counted, self._frame, listed), None, receipt)
        places = mechanism.choose(counts, source)
        note = (
            "numbers are places: 1 was chosen first; "
            f"with probability 95 % no option that was left at a choice has more than "
            f"{mechanism.off_by(listed.cells):,} rows more than the chosen one"
        )
        ranks, names = (
            np.arange(1, mechanism.k + 1),
            tuple(_again(given[place], listed.labels[place]) for place in places),
        )
        found = _chosen(ranks, names, (name,), "Exponential", note)
        return self._found(found, label, listed, mechanism, receipt, source)

    def _found(
        self,
        estimate: Estimate,
        label: str,
        rows: Rows,
        mechanism: Any,
        receipt: list[Entry],
        rng: Rng,
        more: dict[str, Any] | None = None,
    ) -> Estimate:
        """What was found, with all that is public about it."""
        drawn = () if rng is None else (SIMULATED,)
        told = self._told(estimate, label, "", (*rows.notes, *drawn))
        paid = replace(told, loss=None if SIMULATED in told.notes else mechanism.loss)
        return self._documented(paid, mechanism, receipt, label, rows, **(more or {}))


def _again(option: Any, label: Any) -> Any:
    """As `by` can ask for it again: a date and a number as they were given."""
    if isinstance(option, float):
        return float(option)
    return option if isinstance(option, dt.date) else label


def _chosen(value: Any, labels: tuple[Any, ...], axes: tuple[str, ...], method: str, note: str) -> Estimate:
    """Numbers whose errors in their own unit are not told."""
    return Estimate(
        value=value,
        se=np.full(len(labels), np.nan),
        labels=labels,
        cov=None,
        n=None,
        loss=None,
        covers="noise, in counts",
        method=method,
        notes=(note,),
        axes=axes,
    )
