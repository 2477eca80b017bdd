"""Standard errors from replicate weights: the variance of an estimate over replicates of the weights."""

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
from toolkit.core.checks import Number, check_choice, check_integer, check_positive, exact_fraction, reject
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
    """Weights and their replicates; the variance is the sum of factor * (estimate - estimate of the sample)**2.

    Parameters
    ----------
    weights : array or str
        Weights of the whole sample, or the name of their column.
    replicate : callable or tuple of str
        A function from the index of a replicate to its weights, which may be 0; or the names of their columns.
    factors : array
        One factor per replicate.
    df : int
        Degrees of freedom of the intervals; None if they follow from the columns of the frame.
    method : str
        A description of how the replicates were made.
    index : pandas.Index, optional
        Index of the columns.

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
        """Make `Replicates` from replicate weights that were published with the data.

        Parameters
        ----------
        weights : array or str
            Weights of the whole sample, or the name of their column.
        replicates : table, or sequence of str
            Replicate weights, one column each, already multiplied by `weights`; or the names of these columns.
        kind : {"JK1", "JKn", "BRR", "Fay", "bootstrap"}, optional
            The kind of the replicate weights, as stated in the documentation of the data. R replicates have the scale
            (R - 1) / R, 1, 1 / R, 1 / (R (1 - fay)**2) or 1 / (R - 1).
        scale : number, optional
            The scale, instead of the kind.
        df : int, optional
            Degrees of freedom; by default the rank of the replicate weights minus one, as in R's survey package.
        factors : array, optional
            A further factor per replicate, as for JKn.
        fay : number, optional
            The perturbation factor of Fay's method.

        Returns
        -------
        Replicates
            Replicates with `mean`, `total` and `difference`, which analyses accept as `sample=`.
        """
        by_name = isinstance(weights, str)
        columns: Any = tuple(replicates) if by_name else np.asarray(replicates)
        if by_name and (isinstance(replicates, str) or not all(isinstance(name, str) for name in columns)):
            rule = "`replicates` must be a list of names if `weights` is a name"
            reject(rule, type(replicates).__name__, "they are columns of one frame", TypeError)
        count = len(columns) if by_name else np.shape(columns)[-1] if np.ndim(columns) else 0
        further = np.ones(count) if factors is None else np.asarray(factors, dtype=np.float64)
        if further.shape != (count,) or not np.all(further >= 0) or (kind == "JKn" and factors is None):
            consequence = "they scale the variance; for JKn they are (m - 1) / m with m clusters in the stratum"
            reject("`factors` must be at least 0, one factor per replicate", f"{further.size} of them", consequence)
        scaled, df = _scale(kind, scale, fay, count) * further, None if df is None else check_integer(df, "df")
        if by_name:
            return cls(weights, columns, scaled, df)
        return _with_columns(cls(weights, columns, scaled, df, index=one_index([weights, replicates])))

    def resolve(self, frame: DataFrame) -> "Replicates":
        """Look up the columns in a frame.

        Parameters
        ----------
        frame : frame
            A pandas, polars or pyarrow frame.

        Returns
        -------
        Replicates
            The replicates with the columns of the frame; the replicates themselves if they already have columns.
        """
        if not self._column_names:
            check_frame(len(self.weights), self.index, frame)
            return self
        weights, *columns = (from_frame(frame, name, "replicates") for name in self._column_names)
        table = np.stack(columns, axis=1)
        return _with_columns(replace(self, weights=weights, replicate=table, index=index_of(frame)))

    @property
    def _checked_weights(self) -> Array:
        """The weights of the whole sample; an error is raised if they are still a name."""
        if self._column_names:
            reject(
                "replicates must be looked up in a frame", f"{len(self._column_names)} names", "write .resolve(frame)"
            )
        return np.asarray(self.weights)

    @property
    def _column_names(self) -> tuple[str, ...]:
        """Names of the columns that are looked up in a frame."""
        return (self.weights, *self.replicate) if isinstance(self.weights, str) else ()

    def mean(self, scores: Values, where: Values | None = None, *, labels: Names = None) -> Estimate:
        """Estimate the weighted mean of scores, overall or in a domain.

        Parameters
        ----------
        scores : array
            One row per person; NaN where a score is missing.
        where : array of bool, optional
            The domain.
        labels : sequence, optional
            Names of the columns.

        Returns
        -------
        Estimate
            The estimate, with a replicate-based standard error and a t interval.
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
            The estimate, with a replicate-based standard error and a t interval.
        """
        return self._estimated(scores, (where,), labels, linear.total)

    def difference(self, scores: Values, first: Values, second: Values, *, labels: Names = None) -> Estimate:
        """Estimate the mean of one domain minus the mean of another.

        Parameters
        ----------
        scores : array
            One row per person; NaN where a score is missing.
        first, second : array of bool
            The domains.
        labels : sequence, optional
            Names of the columns.

        Returns
        -------
        Estimate
            The estimate, with a replicate-based standard error and a t interval.
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
        observed = ~np.isnan(numbers)
        masks = [observed if where is None else observed & domain(where, numbers.shape) for where in domains]

        def value(weights: Array) -> Array:
            rows = weights > 0
            if not all(mask[rows].any(axis=0).all() for mask in masks):
                return np.full(numbers.shape[1], np.nan)
            values = [statistic(numbers[rows], weights[rows], mask[rows]).value for mask in masks]
            return np.asarray(values[0] - values[1] if len(values) == 2 else values[0])

        linearized = [statistic(numbers, self.weights, mask) for mask in masks]
        whole_sample = linearized[0] - linearized[1] if len(linearized) == 2 else linearized[0]
        cov, lost = replicate_covariance(self, value, whole_sample.value)
        covers = Covers([ErrorSource.SAMPLING, ErrorSource.SCORES], f"({len(self.factors)} replicates, {self.df} df)")
        estimate = linear.as_estimate(whole_sample, cov, self.df, single, labels, self.method, covers)
        estimate = linear.without_certainty(estimate, numbers, masks[0]) if len(masks) == 1 else estimate
        note = f"{lost} of {len(self.factors)} replicates have nobody in the domain, and are left out of the error"
        return replace(estimate, notes=(*estimate.notes, note)) if lost else estimate

    def __repr__(self) -> str:
        if self._column_names:
            return f'<Replicates by name: weights "{self.weights}", {len(self.factors):,} replicates>'
        return f"<Replicates of {len(self.weights):,} rows: {len(self.factors):,} replicates, {self.df:,} df>"


def replicate_covariance(sample: Replicates, value: Callable[[Array], Array], whole_sample: Array) -> tuple[Array, int]:
    """Return the covariance over the replicates, and the number of replicates without an estimate.

    The value of such a replicate is NaN; the covariance of the other replicates is scaled up to compensate.
    """
    values = np.stack([value(sample.replicate(index)) for index in range(len(sample.factors))])
    defined = np.asarray(~np.isnan(values).any(axis=1))
    deviations, factors = (values - whole_sample)[defined], sample.factors[defined]
    if not defined.any():
        return np.full((len(whole_sample),) * 2, np.nan), len(defined)
    cov = (deviations * factors[:, None]).T @ deviations * (len(defined) / defined.sum())
    return cov, int(np.count_nonzero(~defined))


def _scale(kind: str | None, scale: Number | None, fay: Number | None, count: int) -> float:
    """Return the factor of the variance, from the kind of replicates or from the given scale."""
    if kind is None and scale is not None:
        return float(check_positive(scale, "scale", "it scales the variance"))
    if kind is None or scale is not None:
        received = "neither" if kind is None else "both"
        reject(
            "exactly one of `kind` and `scale` must be given", received, "see the documentation of the data", TypeError
        )
    share = float(exact_fraction(0 if fay is None else fay, "fay"))
    if not 0 <= share < 1 or (fay is not None) != (check_choice(kind, "kind", tuple(_SCALES)) == "Fay"):
        rule = "`fay` must be a share below 1 with kind='Fay', and left out with any other kind"
        reject(rule, fay, "it is part of the scale")
    return _SCALES[kind](count, share)


def _with_columns(replicates: Replicates) -> Replicates:
    """Return replicates with checked weights, a function for the weights of a replicate, and degrees of freedom."""
    weights, columns = positive_weights(replicates.weights), replicates.replicate
    if columns.ndim != 2 or len(columns) != len(weights) or columns.shape[1] < 2 or columns.dtype.kind not in "iuf":
        rule = f"replicate weights must be a table of {len(weights)} rows and at least two columns"
        reject(rule, f"shape {columns.shape}", "one column per replicate")
    if not np.all(np.isfinite(columns) & (columns >= 0)) or not columns.any(axis=0).all():
        remedy = "check the columns of replicate weights"
        reject("replicate weights must be finite, at least 0, and not all 0", "others", remedy)
    df = replicates.df
    if df is None:
        df = int(np.linalg.matrix_rank(columns.T @ (columns / weights[:, None] ** 2), tol=None)) - 1
    return replace(replicates, weights=weights, replicate=partial(_column, columns.astype(np.float64)), df=df)


def _column(columns: Array, index: int) -> Array:
    return columns[:, index]


def jackknife(units: Units, base: Array, calibration: Calibration | None, index: "pd.Index[Any] | None") -> Replicates:
    """Return replicates that each leave out one cluster, with weights of its stratum raised by m / (m - 1)."""
    if np.any(units.counts < 2):
        reject("every stratum must have at least two clusters", "one", "no other could replace it when it is left out")
    stratum = units.stratum[units.unit]

    def fitted(weights: Array) -> Array:
        return weights if calibration is None else calibration.weights(weights)

    def without(cluster: int) -> Array:
        its_stratum = units.stratum[cluster]
        count = units.counts[its_stratum]
        raised = np.where(stratum == its_stratum, count / (count - 1.0), 1.0)
        return fitted(np.where(units.unit == cluster, 0.0, base * raised))

    factors = ((units.counts - 1) / units.counts)[units.stratum]
    return Replicates(fitted(base), without, factors, units.df, "jackknife over clusters", index)
