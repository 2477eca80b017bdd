"""`Curator`: a frame and a ledger. Every statistic is charged before anything of the frame is read."""

import math
from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import partial
from typing import Any

from toolkit.budget.frames import cells
from toolkit.budget.frames.asked import listed_once
from toolkit.budget.frames.conditions import Where, condition
from toolkit.budget.frames.missing import clamped_sums, settled, sums_within
from toolkit.budget.frames.rows import keys_of
from toolkit.budget.robust import RobustVerbs
from toolkit.central import statistics
from toolkit.central.laplace import Laplace
from toolkit.central.ratio import Composed, from_moments
from toolkit.central.selection import Exponential
from toolkit.central.statistics import Statistic
from toolkit.central.steps import SQUARE_BITS, Bounds, Sums
from toolkit.core.checks import Number, positive, refuse
from toolkit.core.estimate import Estimate
from toolkit.core.randomness import Rng


class Curator(RobustVerbs):
    """Releases statistics of a confidential frame under the budget of a ledger.

    Bounds, options, edges and conditions are given by the analyst and never read from the data. A call is
    refused for what it says, for the columns' labels and types, or for the budget; then the ledger is
    charged; then the frame is read, and nothing that is found there decides whether an error, a warning or
    another shape appears.

    Parameters
    ----------
    frame : a pandas or polars DataFrame or a pyarrow Table, one row a person.
    ledger : what pays.
    neighbors : "replace" (one record changes; the number of rows is public) or "add_remove" (one comes or
    goes).

    Every verb takes `rng`, a Generator, only with a ledger of a simulation: what it draws is no release.

    Examples
    --------
    >>> import pandas as pd
    >>> from toolkit import Ledger, Pure, between
    >>> curator = Curator(
    ...     pd.DataFrame({"age": [21, 34, 45, 28] * 500}), Ledger(Pure(1.0)), neighbors="replace"
    ... )
    >>> curator.mean("age", bounds=(18, 100), missing="drop", epsilon=0.5).loss
    Pure(0.5)
    >>> curator.count({"age": between(30, 39)}, epsilon=0.25).labels
    ('count where age between 30 and 39',)
    >>> curator.ledger.remaining
    Pure(0.25)
    """

    def count(self, where: Where | None = None, *, epsilon: Number, rng: Rng = None) -> Estimate:
        """How many rows meet a condition: {"degree": "law", "year": [1, 2], "age": between(30, 39), "pay":
        MISSING}.

        A column must have the value, one of a list of values, lie between two (both included), or be missing;
        all columns must. A date asks for the whole day. `where` may also be a function of one row, a dict: it
        is given copies, and does not hold where it fails. It is trusted code of the curator's own: one that
        remembers rows, or looks at others, breaks the promise, and nothing here could notice.
        """
        asked = condition(self._frame, where)
        if not asked.words and self.neighbors == "replace":
            refuse(
                "`where` must be given under 'replace'",
                "none",
                "the number of all rows is public there: len(frame)",
            )
        label = f"count where {asked.words}" if asked.words else "count"
        return self._release(
            statistics.count(), partial(asked.mask, self._frame), epsilon, label, rng, notes=asked.notes
        )

    def sum(
        self, column: str | int, *, bounds: Any, epsilon: Number, missing: Any = None, rng: Rng = None
    ) -> Estimate:
        """The sum of a column, each value clamped to `bounds`; `missing` is "drop" (adds nothing) or a number
        to put there.
        """
        limits, found, label = Bounds.of(bounds), self._numbers(column), f"sum of {self._frame.name(column)}"
        fill, how = settled(missing, limits)
        if fill is None and self.neighbors == "replace":
            # A value that may be dropped moves the sum from zero: the limits are widened to hold zero, which
            # then fills.
            wide = Bounds.of((min(limits.low, 0), max(limits.high, 0)))
            read = partial(clamped_sums, found, limits, wide)
            return self._release(
                statistics.total(wide, "replace", len(self._frame)), read, epsilon, label, rng, how
            )
        statistic = statistics.total(limits, self.neighbors, self._public_n())
        return self._release(statistic, partial(sums_within, found, limits, fill), epsilon, label, rng, how)

    def mean(
        self, column: str | int, *, bounds: Any, epsilon: Number, missing: Any = None, rng: Rng = None
    ) -> Estimate:
        """The mean of a column, each value clamped to `bounds`; `missing` is "drop" or a number to put there.

        Where the number of values is private ("add_remove", or missing="drop") half of epsilon pays for that
        number.
        """
        limits, found, label = Bounds.of(bounds), self._numbers(column), f"mean of {self._frame.name(column)}"
        fill, how = settled(missing, limits)
        read = partial(sums_within, found, limits, fill)
        if self.neighbors == "replace" and fill is not None:
            return self._release(statistics.mean(limits, len(self._frame)), read, epsilon, label, rng, how)
        return self._quotient(
            statistics.moments(limits, (0, 1), self.neighbors), limits, read, epsilon, label, rng, how
        )

    def variance(
        self, column: str | int, *, bounds: Any, epsilon: Number, missing: Any = None, rng: Rng = None
    ) -> Estimate:
        """The sample variance of a column, each value clamped to `bounds`; `missing` as for the mean."""
        limits, found = Bounds.of(bounds, SQUARE_BITS), self._numbers(column)
        label = f"variance of {self._frame.name(column)}"
        fill, how = settled(missing, limits)
        read = partial(sums_within, found, limits, fill, squares=True)
        if self.neighbors == "replace" and fill is not None:
            return self._release(
                statistics.variance(limits, len(self._frame)), read, epsilon, label, rng, how
            )
        return self._quotient(
            statistics.moments(limits, (0, 1, 2), self.neighbors), limits, read, epsilon, label, rng, how
        )

    def histogram(
        self,
        column: str | int,
        *,
        epsilon: Number,
        options: Iterable[Any] | None = None,
        edges: Iterable[Number] | None = None,
        rng: Rng = None,
    ) -> Estimate:
        """How many rows hold each of the given options, or fall between given edges; all others are not
        counted.

        Options are counted in the order given; MISSING may be one of them. A date counts the whole day.
        """
        if (options is None) == (edges is None):
            received = "none" if options is None else "both"
            refuse("exactly one of `options` and `edges` must be given", received, "they say what is counted")
        label = f"histogram of {self._frame.name(column)}"
        read: Callable[[], Any]
        if options is not None:
            asked = keys_of(self._frame, column, options, "options")
            statistic, labels, read = (
                statistics.histogram(len(asked.items), self.neighbors),
                asked.labels,
                partial(asked.codes, self._frame),
            )
        else:
            statistic, labels = statistics.binned(listed_once(edges, "edges"), self.neighbors)
            read = self._numbers(column).floats
        return replace(self._release(statistic, read, epsilon, label, rng), labels=labels)

    def choose(
        self,
        candidates: Iterable[Any],
        score: Callable[[Any, Any], float],
        *,
        sensitivity: Number,
        epsilon: Number,
        rng: Rng = None,
    ) -> Any:
        """One of the candidates, better ones likelier: score(frame, candidate), which one person moves by
        `sensitivity`.

        The score is trusted code of the curator's own, given a copy of the frame; how far one person moves it
        is the curator's word. A score that fails, or is not finite, counts as 0 without a word: saying so
        would tell about the data.
        """
        mechanism, source = Exponential.for_epsilon(epsilon, sensitivity=sensitivity), self.ledger.source(rng)
        listed = listed_once(candidates, "candidates")
        if not listed or not callable(score):
            received = "no candidate" if not listed else type(score).__name__
            refuse(
                "`choose` needs candidates and a score, a function of frame and candidate",
                received,
                "the best is sought",
            )

        def scored() -> list[float]:
            table = self._frame.copy()
            return [_score(score, table, candidate) for candidate in listed]

        scores = self._paid(mechanism, "choice", scored)
        return listed[mechanism.choose(range(len(listed)), scores, rng=source)]

    def _release(
        self,
        statistic: Statistic,
        read: Callable[[], Any],
        epsilon: Number,
        label: str,
        rng: Rng,
        how: str = "",
        notes: tuple[str, ...] = (),
    ) -> Estimate:
        mechanism, source = (
            Laplace.for_epsilon(epsilon, sensitivity=statistic.sensitivity),
            self.ledger.source(rng),
        )
        value = self._paid(mechanism, label, lambda: statistic.of(read()))
        noisy = mechanism.release(value, rng=source)
        return self._told(noisy.rescaled(float(statistic.factor), float(statistic.offset)), label, how, notes)

    def _quotient(
        self,
        parts: tuple[Statistic, ...],
        limits: Bounds,
        read: Callable[[], Sums],
        epsilon: Number,
        label: str,
        rng: Rng,
        how: str,
    ) -> Estimate:
        share, source = positive(epsilon, "epsilon") / len(parts), self.ledger.source(rng)
        mechanism = Composed(
            tuple(Laplace.for_epsilon(share, sensitivity=part.sensitivity) for part in parts)
        )

        def computed() -> tuple[Any, ...]:
            sums = read()
            return tuple(part.of(sums) for part in parts)

        noisy = mechanism.release(self._paid(mechanism, label, computed), rng=source)
        return self._told(from_moments(noisy, limits), label, how)


def _score(score: Callable[[Any, Any], Any], table: Any, candidate: Any) -> float:
    try:
        value = score(table, candidate)
        found = cells.key(value)
        number = found if isinstance(found, int | float) else float(value)
        return number if math.isfinite(number) else 0
    except Exception:
        return 0
