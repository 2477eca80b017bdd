"""`Curator`: a frame and a ledger. Every statistic is charged before its noise is drawn."""

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from toolkit.budget import columns
from toolkit.budget.columns import Array, Where
from toolkit.budget.ledger import Ledger
from toolkit.central import statistics
from toolkit.central.laplace import Laplace
from toolkit.central.ratio import Together, quotient
from toolkit.central.release import SEEDED
from toolkit.central.selection import Exponential
from toolkit.central.statistics import Bounds, Statistic
from toolkit.core.checks import Number, exact, positive, probability, refuse
from toolkit.core.checks import neighbors as check_neighbors
from toolkit.core.estimate import Estimate
from toolkit.core.loss import Loss
from toolkit.core.randomness import Rng, check_rng

MIDDLE = "a missing value counts as the middle of the bounds, as no other `missing` was given"


class Curator:
    """Releases statistics of a confidential frame under the budget of a ledger.

    Bounds, options and edges are given by the analyst and never read from the data; nothing about the data decides
    whether an error, a warning or another shape appears.

    Parameters
    ----------
    frame : a pandas or polars frame, one row a person.
    ledger : what pays.
    neighbors : "replace" (one record changes; the number of rows is public) or "add_remove" (one comes or goes).

    Examples
    --------
    >>> import pandas as pd
    >>> from toolkit import Ledger, Pure
    >>> curator = Curator(pd.DataFrame({"age": [21, 34, 45, 28] * 500}), Ledger(Pure(1.0)), neighbors="replace")
    >>> curator.mean("age", bounds=(18, 100), epsilon=0.5).loss
    Pure(0.5)
    >>> curator.ledger.remaining
    Pure(0.5)
    """

    def __init__(self, frame: Any, ledger: Ledger, neighbors: str) -> None:
        columns.names(frame)
        self._frame, self.ledger, self.neighbors = frame, ledger, check_neighbors(neighbors)

    def count(self, where: Where | None = None, *, epsilon: Number, rng: Rng = None) -> Estimate:
        """How many rows meet a condition: {"degree": "law"}, {"year": [1, 2]}, or a function of one row (a dict)."""
        if where is None and self.neighbors == "replace":
            refuse("`where` must be given under 'replace'", "none", "the number of all rows is public there: len(frame)")
        statistic = statistics.count(columns.matches(self._frame, where))
        return self._release(statistic, epsilon, "count", rng)

    def sum(self, column: str, *, bounds: Any, epsilon: Number, missing: Any = None, rng: Rng = None) -> Estimate:
        """The sum of a column, each value clamped to `bounds`; `missing` is "drop" (adds nothing) or a number to put there."""
        limits = Bounds.of(bounds)
        values, note, dropped = self._values(column, limits, missing)
        if dropped and self.neighbors == "replace":
            around_zero = Bounds.of((min(limits.low, 0), max(limits.high, 0)))
            zeros = np.zeros(len(self._frame) - len(values))
            clamped = np.clip(values, float(limits.low), float(limits.high))
            statistic = statistics.total(np.concatenate([clamped, zeros]), around_zero, "replace")
        else:
            statistic = statistics.total(values, limits, self.neighbors)
        return self._release(statistic, epsilon, f"sum of {column}", rng, note)

    def mean(self, column: str, *, bounds: Any, epsilon: Number, missing: Any = None, rng: Rng = None) -> Estimate:
        """The mean of a column, each value clamped to `bounds`; `missing` is "drop" or a number to put there.

        Where the number of values is private ("add_remove", or missing="drop") half of epsilon pays for that number.
        """
        limits = Bounds.of(bounds)
        values, note, dropped = self._values(column, limits, missing)
        if self.neighbors == "replace" and not dropped:
            return self._release(statistics.mean(values, limits), epsilon, f"mean of {column}", rng, note)
        parts = statistics.moments(values, limits, (0, 1), self.neighbors)
        return self._quotient(parts, limits, epsilon, f"mean of {column}", rng, note)

    def variance(self, column: str, *, bounds: Any, epsilon: Number, missing: Any = None, rng: Rng = None) -> Estimate:
        """The sample variance of a column, each value clamped to `bounds`; `missing` as for the mean."""
        limits = Bounds.of(bounds, statistics.SQUARE_BITS)
        values, note, dropped = self._values(column, limits, missing)
        if self.neighbors == "replace" and not dropped:
            return self._release(statistics.variance(values, limits), epsilon, f"variance of {column}", rng, note)
        parts = statistics.moments(values, limits, (0, 1, 2), self.neighbors)
        return self._quotient(parts, limits, epsilon, f"variance of {column}", rng, note)

    def histogram(
        self,
        column: str,
        *,
        epsilon: Number,
        options: Sequence[Any] | None = None,
        edges: Sequence[Number] | None = None,
        rng: Rng = None,
    ) -> Estimate:
        """How many rows hold each of the given options, or fall between given edges; all others are not counted."""
        if (options is None) == (edges is None):
            refuse("exactly one of `options` and `edges` must be given", "both" if edges else "none", "they say what is counted")
        if options is not None:
            codes, labels = columns.codes(columns.objects(self._frame, column), options), tuple(options)
        else:
            codes, labels = statistics.bin_codes(columns.numbers(self._frame, column), edges)
        statistic = statistics.histogram(codes, len(labels), self.neighbors)
        return replace(self._release(statistic, epsilon, f"histogram of {column}", rng), labels=labels)

    def quantile(
        self, column: str, q: Number, *, bounds: Any, epsilon: Number, step: Number | None = None, rng: Rng = None
    ) -> Estimate:
        """The value below which a share q of the column's values lie, chosen by the exponential mechanism.

        Candidates are multiples of `step` (2**-16 of the bounds' distance if not given) between the bounds; missing values
        are left out. How far its rank may be off is in the notes: in the column's unit that depends on the data.
        """
        share = probability(q, "q")
        limits = Bounds.of(bounds, statistics.QUANTILE_BITS)
        limits = limits if step is None else limits.with_step(step)
        values = columns.numbers(self._frame, column)
        scores, sensitivity = statistics.rank_scores(values[~np.isnan(values)], limits, share, self.neighbors)
        mechanism = Exponential.for_epsilon(epsilon, sensitivity=sensitivity)
        label = f"{float(share):g} quantile of {column}"
        self._charge(mechanism, label)
        place = mechanism.choose(range(len(scores)), scores, rng=check_rng(rng))
        reach = 2 / mechanism.epsilon * (math.log(len(scores)) + math.log(20))
        note = f"with probability 95 % at most {math.ceil(reach):,} of the values lie between it and the true quantile"
        value = float((limits.least + place) * limits.step)
        return self._told(_chosen(value, mechanism.loss, rng), label, (note,))

    def median(self, column: str, *, bounds: Any, epsilon: Number, step: Number | None = None, rng: Rng = None) -> Estimate:
        """The quantile at one half."""
        return self.quantile(column, "1/2", bounds=bounds, epsilon=epsilon, step=step, rng=rng)

    def choose(
        self,
        candidates: Sequence[Any],
        score: Callable[[Any, Any], float],
        *,
        sensitivity: Number,
        epsilon: Number,
        rng: Rng = None,
    ) -> Any:
        """One of the candidates, better ones likelier: score(frame, candidate), which one person moves by `sensitivity`."""
        mechanism = Exponential.for_epsilon(epsilon, sensitivity=sensitivity)
        scores = [score(self._frame, candidate) for candidate in candidates]
        self._charge(mechanism, "choice")
        return mechanism.choose(candidates, scores, rng=check_rng(rng))

    def _charge(self, mechanism: Exponential, label: str) -> None:
        self.ledger.charge(mechanism.loss, label, mechanism=type(mechanism).__name__, neighbors=self.neighbors)

    def _values(self, column: str, limits: Bounds, missing: Any) -> tuple[Array, tuple[str, ...], bool]:
        """The values with missing ones filled or dropped, what to say about it, and whether their number is private."""
        values = columns.numbers(self._frame, column)
        if isinstance(missing, str) and missing == "drop":
            return values[~np.isnan(values)], (), True
        note = () if missing is not None else (MIDDLE,)
        fill = (limits.low + limits.high) / 2 if missing is None else exact(missing, "missing")
        return np.where(np.isnan(values), float(fill), values), note, False

    def _release(self, statistic: Statistic, epsilon: Number, label: str, rng: Rng, note: tuple[str, ...] = ()) -> Estimate:
        mechanism = Laplace.for_epsilon(epsilon, sensitivity=statistic.sensitivity)
        noisy = self.ledger.release(mechanism, statistic.value, label, rng=check_rng(rng), neighbors=self.neighbors)
        scaled = noisy.rescaled(float(statistic.factor), float(statistic.offset))
        return self._told(scaled, label, note)

    def _quotient(
        self, parts: tuple[Statistic, ...], limits: Bounds, epsilon: Number, label: str, rng: Rng, note: tuple[str, ...]
    ) -> Estimate:
        share = positive(epsilon, "epsilon") / len(parts)
        mechanism = Together(tuple(Laplace.for_epsilon(share, sensitivity=part.sensitivity) for part in parts))
        values = tuple(part.value for part in parts)
        noisy = self.ledger.release(mechanism, values, label, rng=check_rng(rng), neighbors=self.neighbors)
        width = float(limits.high - limits.low)
        if len(parts) == 2:
            middle = float((limits.least + -(-limits.span // 2)) * limits.step)
            estimate = quotient(noisy, factor=float(limits.step), offset=middle, limits=(float(limits.low), float(limits.high)))
        else:
            estimate = quotient(noisy, factor=float(limits.step**2), offset=0.0, limits=(0.0, width**2 / 4))
        return self._told(estimate, label, note)

    def _told(self, estimate: Estimate, label: str, note: tuple[str, ...]) -> Estimate:
        n = len(self._frame) if self.neighbors == "replace" else None
        names = (label,) if len(estimate.labels) == 1 else estimate.labels
        method = f"{label}, {estimate.method} mechanism, neighbors: {self.neighbors}"
        return replace(estimate, labels=names, n=n, method=method, notes=(*estimate.notes, *note))

    def __repr__(self) -> str:
        return f"<Curator: columns {', '.join(columns.names(self._frame))}; neighbors: {self.neighbors}; {self.ledger!r}>"


def _chosen(value: float, loss: Loss, rng: Rng) -> Estimate:
    """A point chosen by the exponential mechanism: its error is one of rank, not of value."""
    return Estimate(
        value=value,
        se=math.nan,
        labels=("value",),
        cov=np.full((1, 1), math.nan),
        n=None,
        loss=loss,
        covers="noise, in ranks",
        method="Exponential",
        notes=() if rng is None else (SEEDED,),
    )
