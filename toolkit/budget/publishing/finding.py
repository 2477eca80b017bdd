"""`FindingVerbs`: what an analyst must know before a table can be asked for: keys, limits, the most frequent."""

from collections.abc import Iterable
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np

from toolkit.budget.facts import keys_facts, release_facts
from toolkit.budget.frames.conditions import Where
from toolkit.budget.keeper import Keeper
from toolkit.budget.publishing.occurring import check_keys, people_by_key, people_by_key_once
from toolkit.budget.record import Entry
from toolkit.budget.tables.spending import Spending
from toolkit.central.publishing.keys import KeyThreshold
from toolkit.central.publishing.ranges import RangeFinder
from toolkit.central.publishing.top import TopK
from toolkit.central.tables import caps
from toolkit.core.checks import Number, exact, refuse, whole
from toolkit.core.estimate import SIMULATED, Estimate
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
        spending, rows, found = Spending.of(epsilon, rho), self._rows(where), self._frame.column(column)
        name = self._frame.name(column)
        check_keys(found, name)
        make = KeyThreshold.for_loss if spending.laplace else KeyThreshold.for_rho
        most = self._caps.rows if self._caps.groups is None else min(self._caps.rows, self._caps.groups)
        mechanism = make(spending.amount, delta, neighbors=self.neighbors, keys=most)
        label, source = f"keys of {name}{rows.words}", self.ledger.source(rng)

        def counted() -> dict[Any, int]:
            mask = rows.where.mask(self._frame)
            if self._people is None:
                return people_by_key(found, mask)
            person, tags = self._people.tagged(self._frame)
            return people_by_key_once(found, mask, person, tags, self._people.key, most)

        entry = self._charged(mechanism, label)
        noisy = mechanism.release(self._computed(counted), rng=source)
        query = {"statistic": label, **keys_facts([name], [noisy.labels], "found"), **_asked(rows)}
        return self._found(noisy, label, entry, mechanism, query, (name,), rows.notes)

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
        spending, rows, found = Spending.of(epsilon, rho), self._rows(where), self._summable(column)
        first, last = powers
        bins = 2 * (whole(last, "powers", least=-(10**6)) - whole(first, "powers", least=-(10**6)) + 1)
        reach = caps.counts(max(bins, 1), self.neighbors, self._caps)
        mechanism = RangeFinder(spending.mechanism(reach), first, last, exact(beta, "beta"))
        label, source = f"bounds of {self._frame.name(column)}{rows.words}", self.ledger.source(rng)

        def counted() -> Any:
            codes = np.where(rows.where.mask(self._frame), mechanism.codes(found.floats()), -1)
            codes = codes if self._people is None else self._people.limited(self._frame, codes)
            return np.bincount(codes + 1, minlength=mechanism.bins + 1)[1:].astype(np.int64)

        entry = self._charged(mechanism, label)
        low, high = mechanism.choose(self._computed(counted), source)
        note = (
            f"bins whose noisy count reached {mechanism.threshold} lie inside; if none did, the limits are "
            f"those of all bins, ±2**{last}"
        )
        chosen = _chosen(np.array([float(low), float(high)]), ("low", "high"), "RangeFinder", note)
        query = {"statistic": label, "powers of two": [first, last], "beta": str(beta), **_asked(rows)}
        return self._found(chosen, label, entry, mechanism, query, (), rows.notes, rng)

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
        spending, listed = Spending.of(epsilon, rho), self._rows(where, {column: options})
        make = TopK.for_epsilon if spending.laplace else TopK.for_rho
        mechanism = make(spending.amount, k, neighbors=self.neighbors, rows=self._caps.most(1))
        if mechanism.k > listed.cells:
            refuse("`k` must be at most the number of options", k, f"there are {listed.cells}")
        name, plain = self._frame.name(column), self._rows(where)
        label, source = f"top {mechanism.k} of {name} ({listed.cells}){plain.words}", self.ledger.source(rng)

        def counted() -> Any:
            return np.bincount(listed.codes(self._frame) + 1, minlength=listed.cells + 1)[1:]

        entry = self._charged(mechanism, label)
        places = mechanism.choose(self._computed(counted), source)
        note = (
            f"with probability 95 % no chosen option has {mechanism.off_by(listed.cells):,} rows fewer than "
            "one that was left for later rounds, or more"
        )
        ranks, names = np.arange(1, mechanism.k + 1), tuple(listed.labels[place] for place in places)
        query = {"statistic": label, **keys_facts([name], [listed.labels]), **_asked(plain)}
        found = _chosen(ranks, names, "Exponential", note)
        return self._found(found, label, entry, mechanism, query, (name,), plain.notes, rng)

    def _found(
        self,
        estimate: Estimate,
        label: str,
        entry: Entry,
        mechanism: Any,
        query: dict[str, Any],
        axes: tuple[str, ...],
        notes: tuple[str, ...],
        rng: Rng = None,
    ) -> Estimate:
        """What was found, with its label, its axes and all that is public about it."""
        drawn = () if rng is None or SIMULATED in estimate.notes else (SIMULATED,)
        told = self._told(replace(estimate, axes=axes or ("limit",)), label, "", (*notes, *drawn))
        known = mechanism.loss if SIMULATED not in told.notes else None
        facts = release_facts(self.ledger, entry, mechanism, query, self._unit())
        return replace(told, axes=axes, labels=estimate.labels, loss=known, release=facts)


def _asked(rows: Any) -> dict[str, Any]:
    return {"where": rows.where.words} if rows.where.words else {}


def _chosen(value: Any, labels: tuple[Any, ...], method: str, note: str) -> Estimate:
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
    )
