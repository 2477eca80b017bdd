"""Errors by replicate weights: a survey is estimated again with each, and what differs is its error."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from toolkit.analysis.sampling import units as linear
from toolkit.analysis.sampling.inputs import domain, positive_weights, table
from toolkit.analysis.sampling.known_totals import Calibration
from toolkit.analysis.sampling.units import Units
from toolkit.core.arrays import Array
from toolkit.core.checks import exact, refuse, whole
from toolkit.core.covers import Covers, Source
from toolkit.core.estimate import Estimate


@dataclass(frozen=True, eq=False, repr=False)
class Replicates:
    """Weights, and replicates of them: the variance is the sum of factor * (estimate - that of all)**2.

    Parameters
    ----------
    weights : array
        The weights of the whole sample.
    replicate : callable
        The weights of one replicate by its number, zeros allowed.
    factors : array
        One factor per replicate.
    df : int
        Degrees of freedom of the intervals.
    method : str
        How they were made, in words.

    Examples
    --------
    >>> Replicates.given([1, 1, 1, 1], [[0, 2], [2, 0], [0, 2], [2, 0]], scale=0.5)
    <Replicates of 4 rows: 2 replicates, 1 df>
    """

    weights: Array
    replicate: Callable[[int], Array]
    factors: Array
    df: int
    method: str = "replicate weights"

    @classmethod
    def given(
        cls, weights: Any, replicates: Any, *, scale: Any, df: int | None = None, factors: Any = None
    ) -> "Replicates":
        """Use replicate weights that came with the data.

        Parameters
        ----------
        weights : array
            The weights of the whole sample.
        replicates : table
            Replicate weights, one column each.
        scale : number
            As the producer of the data says, and never guessed: (R - 1) / R for JK1, 1 / R for BRR, 1 / (R (1 - k)**2)
            for Fay's, 1 / R or 1 / (R - 1) for a bootstrap.
        df : int, optional
            Degrees of freedom, else one less than there are replicates.
        factors : array, optional
            One more factor per replicate, as JKn has.

        Returns
        -------
        Replicates
            With the verbs `mean`, `total` and `difference`.
        """
        own = positive_weights(weights)
        columns = np.asarray(replicates.to_numpy() if hasattr(replicates, "to_numpy") else replicates)
        if columns.ndim != 2 or len(columns) != len(own) or columns.shape[1] < 2 or columns.dtype.kind not in "iuf":
            rule = f"replicate weights must be a table of {len(own)} rows and at least two columns"
            refuse(rule, f"shape {columns.shape}", "one column per replicate")
        if not np.all(np.isfinite(columns) & (columns >= 0)) or not columns.any(axis=0).all():
            refuse("replicate weights must be finite, at least 0, and not all 0", "others", "they weigh people")
        number = float(exact(scale, "scale"))
        each = np.ones(columns.shape[1]) if factors is None else np.asarray(factors, dtype=np.float64)
        if each.shape != (columns.shape[1],) or not np.all(each >= 0) or number <= 0:
            refuse("`scale` must be above 0, with one factor per replicate", f"{number:g}", "it makes the variance")
        free = columns.shape[1] - 1 if df is None else whole(df, "df")
        return cls(own, lambda place: columns[:, place].astype(np.float64), number * each, free)

    def mean(self, scores: Any, where: Any = None, *, labels: Any = None) -> Estimate:
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

    def total(self, scores: Any, where: Any = None, *, labels: Any = None) -> Estimate:
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

    def difference(self, scores: Any, first: Any, second: Any, *, labels: Any = None) -> Estimate:
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

    def _estimated(self, scores: Any, domains: tuple[Any, ...], labels: Any, made: Any) -> Estimate:
        numbers, single = table(scores, len(self.weights))
        inside = [
            ~np.isnan(numbers) if where is None else ~np.isnan(numbers) & domain(where, numbers.shape)
            for where in domains
        ]

        def value(weights: Array) -> Array:
            kept = weights > 0
            parts = [made(numbers[kept], weights[kept], one[kept]).value for one in inside]
            return np.asarray(parts[0] - parts[1] if len(parts) == 2 else parts[0])

        whole_one = [made(numbers, self.weights, one) for one in inside]
        whole_sample = whole_one[0] - whole_one[1] if len(whole_one) == 2 else whole_one[0]
        apart = np.stack([value(self.replicate(b)) for b in range(len(self.factors))]) - whole_sample.value
        cov = (apart * self.factors[:, None]).T @ apart
        detail = f"({len(self.factors)} replicates, {self.df} df)"
        covers = Covers([Source.SAMPLING, Source.SCORES], detail)
        return linear.as_estimate(whole_sample, cov, self.df, single, labels, self.method, covers)

    def __repr__(self) -> str:
        return f"<Replicates of {len(self.weights):,} rows: {len(self.factors):,} replicates, {self.df:,} df>"


def jackknife(units: Units, base: Array, calibration: Calibration | None) -> Replicates:
    """Each cluster left out once; the others of its stratum weigh m / (m - 1) times more."""
    if np.any(units.drawn < 2):
        refuse("every stratum must have at least two clusters", "one", "nobody stands in for it when it is left out")
    stratum = units.stratum[units.unit]

    def fitted(weights: Array) -> Array:
        return weights if calibration is None else calibration.weights(weights)

    def without(place: int) -> Array:
        own = units.stratum[place]
        raised = np.where(stratum == own, units.drawn[own] / (units.drawn[own] - 1.0), 1.0)
        return fitted(np.where(units.unit == place, 0.0, base * raised))

    factors = ((units.drawn - 1) / units.drawn)[units.stratum]
    return Replicates(fitted(base), without, factors, units.df, "jackknife over clusters")
