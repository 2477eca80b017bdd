"""`Estimate`: a number with its error, what the error covers, and what it cost in privacy."""

import html
import math
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from toolkit.core.checks import refuse
from toolkit.core.intervals import Affine, Array, Interval, IntervalBasis, Normal, interval_from
from toolkit.core.loss import Loss

if TYPE_CHECKING:
    import pandas as pd


_SHOWN = 1000
"""Rows that a notebook shows: a page of a million would stop the browser."""


@dataclass(frozen=True, eq=False, repr=False)
class Estimate:
    """The one result type: local estimates, regression coefficients and central releases.

    Parameters
    ----------
    value, se : a float each, or one array each with an entry for every label.
    labels : what each entry is called.
    cov : covariance matrix of the entries; None where there are so many that it would fill the memory.
    n : number of reports or records behind it; None where that number is private.
    loss : what it cost each person in privacy.
    covers : the sources of error that `se` and the intervals account for.
    method : how it was computed, in a few words.
    notes : what a reader must not miss.
    basis : what intervals are made from.
    """

    value: float | Array
    se: float | Array
    labels: tuple[str | int, ...]
    cov: Array | None
    n: int | None
    loss: Loss | None
    covers: str
    method: str = ""
    notes: tuple[str, ...] = ()
    basis: IntervalBasis | None = field(default=None)

    def interval(self, level: float = 0.95, method: str | None = None) -> Interval:
        """An interval of the given level.

        For shares seen through a design: "wilson" (the default), "exact" (Clopper and Pearson: coverage guaranteed),
        "bayes" (the shortest that holds the level of the posterior from a flat prior: never empty) and "wald". Coverage
        of the nominal 95 % intervals of Warner's design, by enumeration of all counts, over epsilon 0.5, 1, 2, seven n from
        50 to 5000 and ten prevalences from 0 to 0.5, and how often an interval is empty at most:

        ======  =====  =====  =====
        method  least  mean   empty
        ======  =====  =====  =====
        wilson  0.935  0.952  0.029
        exact   0.950  0.959  0.025
        bayes   0.881  0.953  0.000
        wald    0.885  0.949  0.053
        ======  =====  =====  =====
        """
        return interval_from(self.basis or Normal(self.value, self.se), level, method)

    def rescaled(self, factor: float, offset: float = 0.0) -> "Estimate":
        """The same estimate in another unit: offset + factor * value, for a positive factor."""
        return replace(
            self,
            value=offset + factor * self.value,
            se=factor * self.se,
            cov=None if self.cov is None else factor**2 * self.cov,
            basis=Affine(self.basis or Normal(self.value, self.se), factor, offset),
        )

    def to_frame(self, level: float = 0.95) -> "pd.DataFrame":
        """One row a label: estimate, standard error, limits of the interval."""
        import pandas as pd

        rows = self._rows(level)
        names = ("estimate", "se", "low", "high")
        return pd.DataFrame([row[1:] for row in rows], columns=names, index=pd.Index([row[0] for row in rows]))

    def __float__(self) -> float:
        if isinstance(self.value, np.ndarray):
            refuse("only a scalar estimate is a float", f"{len(self.labels)} values", "use .value", TypeError)
        return float(self.value)

    def __repr__(self) -> str:
        rows = self._written(6)
        parts = [f"{label}: {value} ± {se}" for label, value, se, _ in rows]
        if np.ndim(self.value) == 0:
            _, value, se, interval = rows[0]
            error = "without an error" if se == "—" and interval == "— to —" else f"± {se} (95 % interval {interval})"
            parts = [f"{value} {error}"]
        more = [f"… {len(self.labels) - 6} more"] if len(self.labels) > 6 else []
        return f"<Estimate {'; '.join(parts + more)}; {self._footing()}>"

    def _repr_html_(self) -> str:
        cells = "".join(
            f"<tr><th>{html.escape(str(label))}</th><td>{value}</td><td>{se}</td><td>{interval}</td></tr>"
            for label, value, se, interval in self._written(_SHOWN)
        )
        if len(self.labels) > _SHOWN:
            cells += f"<tr><td colspan='4' style='text-align:left'>… {len(self.labels) - _SHOWN:,} more: see to_frame()</td></tr>"
        head = "<tr><th></th><th>estimate</th><th>standard error</th><th>95 % interval</th></tr>"
        notes = "".join(f"<br>Note: {html.escape(note)}" for note in self.notes)
        return (
            f"<table><thead>{head}</thead><tbody>{cells}</tbody>"
            f"<tfoot><tr><td colspan='4' style='text-align:left'>{html.escape(self._footing())}{notes}</td></tr></tfoot></table>"
        )

    def _written(self, most: int) -> list[tuple[str | int, str, str, str]]:
        """Label, value, standard error and interval of the first rows, with the digits that the standard error allows."""
        return [
            (label, written(value, se), written(se, se), f"{written(low, se)} to {written(high, se)}")
            for label, value, se, low, high in self._rows(0.95, most)
        ]

    def _footing(self) -> str:
        """What the error covers and what it cost: never left out."""
        privacy = "no privacy claim" if self.loss is None else f"privacy loss {self.loss}"
        size = "n private" if self.n is None else f"n = {self.n:,}"
        return "; ".join(part for part in (size, f"covers {self.covers}", privacy, self.method) if part)

    def _rows(self, level: float, most: int | None = None) -> list[tuple[str | int, float, float, float, float]]:
        interval = self.interval(level)
        columns = (np.atleast_1d(part)[:most] for part in (self.value, self.se, interval.low, interval.high))
        return list(zip(self.labels[:most], *(map(float, column) for column in columns), strict=True))


def written(number: float, se: float) -> str:
    """A number with the decimals that two digits of its standard error reach.

    >>> written(43067.21, 281.4), written(0.33333, 0.0204), written(5.0, float("nan"))
    ('43,067', '0.333', '5')
    """
    if math.isnan(number):
        return "—"
    if not (math.isfinite(number) and math.isfinite(se) and se > 0):
        return f"{number:.4g}"
    return f"{number:,.{max(1 - math.floor(math.log10(se)), 0)}f}"


def boundary_note(value: float | Array, inside: str = "mle") -> tuple[str, ...]:
    """Say so when an unbiased estimate of a share lies outside 0 to 1, as it honestly may."""
    outside = int(np.count_nonzero((np.asarray(value) < 0) | (np.asarray(value) > 1)))
    if not outside or math.isnan(float(np.sum(value))):
        return ()
    which = "the estimate lies" if np.ndim(value) == 0 else f"{outside} of {np.size(value)} estimates lie"
    return (f"{which} outside 0 to 1, as an unbiased estimate may; use it in averages, and method='{inside}' for display",)
