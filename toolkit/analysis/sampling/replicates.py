"""Errors by replicate weights: a survey is estimated again with each, and what differs is its error."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np

from toolkit.analysis.sampling import units as linear
from toolkit.analysis.sampling.inputs import (
    Calibration,
    check_frame,
    check_index,
    domain,
    from_frame,
    one_index,
    positive_weights,
    table,
)
from toolkit.analysis.sampling.units import Linearization, Names, Units
from toolkit.core.arrays import Array, ArrayLike, DataFrame, Mask, Values
from toolkit.core.checks import Number, choice, exact, positive, reject, whole
from toolkit.core.covers import Covers, ErrorSource
from toolkit.core.estimate import Estimate
from toolkit.frames.table import index_of

if TYPE_CHECKING:
    import pandas as pd

_SCALES: dict[str, Callable[[int, float], float]] = {
    "JK1": lambda count, _: (count - 1) / count,
    "JKn": lambda _count, _: 1.0,
    "BRR": lambda count, _: 1 / count,
    "Fay": lambda count, fay: 1 / (count * (1 - fay) ** 2),
    "bootstrap": lambda count, _: 1 / (count - 1),
}
Kind = Literal["JK1", "JKn", "BRR", "Fay", "bootstrap"]


@dataclass(frozen=True, eq=False, repr=False)
class Replicates:
    """Weights, and replicates of them: the variance is the sum of factor * (estimate - that of all)**2.

    Parameters
    ----------
    weights : array or str
        The weights of the whole sample, or the name of their column.
    replicate : callable or tuple of str
        The weights of one replicate by its number, zeros allowed; or the names of their columns.
    factors : array
        One factor per replicate.
    df : int
        Degrees of freedom of the intervals; None where they are counted in the frame.
    method : str
        How they were made, in words.
    index : pandas.Index, optional
        The index of the columns.

    Examples
    --------
    >>> Replicates.given([1, 1, 1, 1], [[0, 2], [2, 0], [0, 2], [2, 0]], kind="JK1")
    <Replicates of 4 rows: 2 replicates, 1 df>
    >>> Replicates.given("w", [f"rep{number}" for number in range(1, 81)], kind="Fay", fay=0.5)
    <Replicates by name: weights "w", 80 replicates>
    """

    weights: Any
    replicate: Any
    factors: Array
    df: Any
    method: str = "replicate weights"
    index: Any = None
    population: ClassVar[None] = None

    @classmethod
    def given(
        cls,
        weights: Values,
        replicates: Iterable[object],
        *,
        kind: Kind | None = None,
        scale: Number | None = None,
        df: int | None = None,
        factors: ArrayLike | None = None,
        fay: Number | None = None,
    ) -> "Replicates":
        """Use replicate weights that came with the data.

        Parameters
        ----------
        weights : array or str
            The weights of the whole sample, or the name of their column.
        replicates : table, or sequence of str
            Replicate weights, one column each, with the weights in them; or the names of these columns.
        kind : {"JK1", "JKn", "BRR", "Fay", "bootstrap"}, optional
            What the producer of the data says they are: R replicates have the scale (R - 1) / R, 1, 1 / R,
            1 / (R (1 - fay)**2) or 1 / (R - 1).
        scale : number, optional
            In place of the kind; it is never guessed.
        df : int, optional
            Degrees of freedom; else the rank of the replicate weights less one, as R counts them.
        factors : array, optional
            One more factor per replicate, as JKn has.
        fay : number, optional
            The share that Fay's method leaves of a weight.

        Returns
        -------
        Replicates
            With the verbs `mean`, `total` and `difference`; and for `sample=` of an analysis.
        """
        named = isinstance(weights, str)
        parts: Any = tuple(replicates) if named else np.asarray(replicates)
        if named and (isinstance(replicates, str) or not all(isinstance(name, str) for name in parts)):
            rule = "replicates must be a list of names where the weights are one"
            reject(rule, type(replicates).__name__, "they are columns of one frame", TypeError)
        count = len(parts) if named else np.shape(parts)[-1] if np.ndim(parts) else 0
        each = np.ones(count) if factors is None else np.asarray(factors, dtype=np.float64)
        if each.shape != (count,) or not np.all(each >= 0) or (kind == "JKn" and factors is None):
            consequence = "they make the variance; JKn has (m - 1) / m of the stratum's clusters"
            reject("`factors` must be at least 0, one factor per replicate", f"{each.size} of them", consequence)
        scaled, free = _scale(kind, scale, fay, count) * each, None if df is None else whole(df, "df")
        if named:
            return cls(weights, parts, scaled, free)
        return _with_columns(cls(weights, parts, scaled, free, index=one_index([weights, replicates])))

    def resolve(self, frame: DataFrame) -> "Replicates":
        """Return the replicates of a frame, their columns looked up there.

        Parameters
        ----------
        frame : frame
            Of pandas, polars or pyarrow.

        Returns
        -------
        Replicates
            With columns; themselves where nothing is named.
        """
        if not self._column_names:
            check_frame(len(self.weights), self.index, frame)
            return self
        weights, *columns = (from_frame(frame, name, "replicates") for name in self._column_names)
        table = np.stack(columns, axis=1)
        return _with_columns(replace(self, weights=weights, replicate=table, index=index_of(frame)))

    @property
    def _checked_weights(self) -> Array:
        """The weights of the whole sample; refused where they are still a name."""
        if self._column_names:
            reject(
                "replicates must be looked up in a frame", f"{len(self._column_names)} names", "write .resolve(frame)"
            )
        return np.asarray(self.weights)

    @property
    def _column_names(self) -> tuple[str, ...]:
        """The columns that are looked up in a frame."""
        return (self.weights, *self.replicate) if isinstance(self.weights, str) else ()

    def mean(self, scores: Values, where: Values | None = None, *, labels: Names = None) -> Estimate:
        """Estimate the weighted mean of scores, in all or of a domain.

        Parameters
        ----------
        scores : array
            One row per person; NaN where there is none.
        where : array of bool, optional
            The domain.
        labels : sequence, optional
            Names of the columns.

        Returns
        -------
        Estimate
            With an error by replicates, and a t interval.
        """
        return self._estimated(scores, (where,), labels, linear.mean)

    def total(self, scores: Values, where: Values | None = None, *, labels: Names = None) -> Estimate:
        """Estimate the weighted sum of scores.

        Parameters
        ----------
        scores, where, labels : optional
            As for `mean`.

        Returns
        -------
        Estimate
            With an error by replicates, and a t interval.
        """
        return self._estimated(scores, (where,), labels, linear.total)

    def difference(self, scores: Values, first: Values, second: Values, *, labels: Names = None) -> Estimate:
        """Estimate the mean of one domain less that of another.

        Parameters
        ----------
        scores : array
            One row per person; NaN where there is none.
        first, second : array of bool
            The domains.
        labels : sequence, optional
            Names of the columns.

        Returns
        -------
        Estimate
            With an error by replicates, and a t interval.
        """
        return self._estimated(scores, (first, second), labels, linear.mean)

    def _estimated(
        self,
        scores: Values,
        domains: tuple[Values | None, ...],
        labels: Names,
        statistic: Callable[[Array, Array, Mask], Linearization],
    ) -> Estimate:
        check_index(self.index, scores, "scores")
        numbers, single = table(scores, len(self._checked_weights))
        known = ~np.isnan(numbers)
        inside = [known if where is None else known & domain(where, numbers.shape) for where in domains]

        def value(weights: Array) -> Array:
            there = weights > 0
            if not all(one[there].any(axis=0).all() for one in inside):
                return np.full(numbers.shape[1], np.nan)
            parts = [statistic(numbers[there], weights[there], one[there]).value for one in inside]
            return np.asarray(parts[0] - parts[1] if len(parts) == 2 else parts[0])

        whole_one = [statistic(numbers, self.weights, one) for one in inside]
        whole_sample = whole_one[0] - whole_one[1] if len(whole_one) == 2 else whole_one[0]
        cov, lost = spread(self, value, whole_sample.value)
        covers = Covers([ErrorSource.SAMPLING, ErrorSource.SCORES], f"({len(self.factors)} replicates, {self.df} df)")
        estimate = linear.as_estimate(whole_sample, cov, self.df, single, labels, self.method, covers)
        estimate = linear.without_certainty(estimate, numbers, inside[0]) if len(inside) == 1 else estimate
        note = f"{lost} of {len(self.factors)} replicates have nobody there, and are left out of the error"
        return replace(estimate, notes=(*estimate.notes, note)) if lost else estimate

    def __repr__(self) -> str:
        if self._column_names:
            return f'<Replicates by name: weights "{self.weights}", {len(self.factors):,} replicates>'
        return f"<Replicates of {len(self.weights):,} rows: {len(self.factors):,} replicates, {self.df:,} df>"


def spread(sample: Replicates, value: Callable[[Array], Array], whole_sample: Array) -> tuple[Array, int]:
    """The variance over the replicates; and how many have no estimate, but NaN: the others stand for them."""
    values = np.stack([value(sample.replicate(place)) for place in range(len(sample.factors))])
    there = np.asarray(~np.isnan(values).any(axis=1))
    apart, factors = (values - whole_sample)[there], sample.factors[there]
    if not there.any():
        return np.full((len(whole_sample),) * 2, np.nan), len(there)
    return (apart * factors[:, None]).T @ apart * (len(there) / there.sum()), int(np.count_nonzero(~there))


def _scale(kind: str | None, scale: Number | None, fay: Number | None, count: int) -> float:
    """What the variance is multiplied with, by the kind or as the producer of the data says."""
    if kind is None and scale is not None:
        return float(positive(scale, "scale", "it makes the variance"))
    if kind is None or scale is not None:
        received = "neither" if kind is None else "both"
        reject("exactly one of `kind` and `scale` must be given", received, "it is never guessed", TypeError)
    share = float(exact(0 if fay is None else fay, "fay"))
    if not 0 <= share < 1 or (fay is not None) != (choice(kind, "kind", tuple(_SCALES)) == "Fay"):
        reject("`fay` must be a share below 1 with kind='Fay', and with no other", fay, "it is in the scale")
    return _SCALES[kind](count, share)


def _with_columns(named: Replicates) -> Replicates:
    """With weights and replicates that are checked, and degrees of freedom."""
    own, columns = positive_weights(named.weights), named.replicate
    if columns.ndim != 2 or len(columns) != len(own) or columns.shape[1] < 2 or columns.dtype.kind not in "iuf":
        rule = f"replicate weights must be a table of {len(own)} rows and at least two columns"
        reject(rule, f"shape {columns.shape}", "one column per replicate")
    if not np.all(np.isfinite(columns) & (columns >= 0)) or not columns.any(axis=0).all():
        reject("replicate weights must be finite, at least 0, and not all 0", "others", "they weigh people")
    df = (
        int(np.linalg.matrix_rank(columns.T @ (columns / own[:, None] ** 2), tol=None)) - 1
        if named.df is None
        else named.df
    )
    return replace(named, weights=own, replicate=partial(_column, columns.astype(np.float64)), df=df)


def _column(columns: Array, place: int) -> Array:
    return columns[:, place]


def jackknife(units: Units, base: Array, calibration: Calibration | None, index: "pd.Index[Any] | None") -> Replicates:
    """Each cluster left out once; the others of its stratum weigh m / (m - 1) times more."""
    if np.any(units.drawn < 2):
        reject("every stratum must have at least two clusters", "one", "nobody stands in for it when it is left out")
    stratum = units.stratum[units.unit]

    def fitted(weights: Array) -> Array:
        return weights if calibration is None else calibration.weights(weights)

    def without(place: int) -> Array:
        own = units.stratum[place]
        raised = np.where(stratum == own, units.drawn[own] / (units.drawn[own] - 1.0), 1.0)
        return fitted(np.where(units.unit == place, 0.0, base * raised))

    factors = ((units.drawn - 1) / units.drawn)[units.stratum]
    return Replicates(fitted(base), without, factors, units.df, "jackknife over clusters", index)
