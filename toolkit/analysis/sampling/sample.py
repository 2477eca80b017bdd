"""`Sample`: how people were drawn, and means and totals of scores with errors that say so."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Literal

import numpy as np

from toolkit.analysis.sampling import units as linear
from toolkit.analysis.sampling.inputs import (
    check_index,
    column,
    domain,
    one_index,
    positive_weights,
    same_length,
    table,
)
from toolkit.analysis.sampling.known_totals import Calibration, calibration
from toolkit.analysis.sampling.replicates import Replicates, jackknife
from toolkit.analysis.sampling.units import Linear, Lonely, Units, units
from toolkit.core.arrays import Array, Mask
from toolkit.core.checks import explains, refuse
from toolkit.core.covers import Covers, Source
from toolkit.core.estimate import Estimate

Noise = Literal["shares"] | float | Any
_COLUMNS = ("weights", "strata", "clusters")
FINITE = "the finite population is not used here: the errors are rather too large"


@explains('Sample(weights=frame["w"], clusters=frame["school"])')
@dataclass(frozen=True, eq=False, repr=False)
class Sample:
    """How people were drawn: weights, strata and clusters, one entry per row of the frame, in its order.

    Where they are columns of pandas, their index must be that of the frame.

    Parameters
    ----------
    weights : array, optional
        How many people each row stands for, or in proportion to that; all the same without it.
    strata, clusters : array, optional
        Who was drawn together; clusters may be numbered within strata.
    population : int or mapping, optional
        How many clusters there are in all (persons, where there are no clusters), for each stratum by name: then the
        sampling error is smaller. All persons of a cluster that was drawn must be in the sample.
    lonely : {"refuse", "collapse", "centre"}
        What to do with a stratum of one cluster: refuse it, merge it with the next, or centre its total at the mean of
        all clusters.
    calibration : Calibration, optional
        Known totals, as `poststratified` and `raked` make them.
    index : pandas.Index, optional
        The index of the columns, found by itself.

    Examples
    --------
    >>> from toolkit import forced
    >>> sample = Sample(weights=[1, 2, 1, 2], clusters=[1, 1, 2, 2])
    >>> sample.mean(forced("1/6", "1/6").scores([1, 0, 0, 1]))
    <Estimate 0.50 (standard error 0.25; 95 % interval -2.68 to 3.68); n = 4; covers sampling ...>
    """

    weights: Any = None
    strata: Any = None
    clusters: Any = None
    population: Any = None
    lonely: Lonely = "refuse"
    calibration: Calibration | None = field(default=None, kw_only=True)
    index: Any = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        if self.index is None:
            object.__setattr__(self, "index", one_index([getattr(self, name) for name in _COLUMNS]))
        if self.weights is not None:
            object.__setattr__(self, "weights", positive_weights(self.weights))
        for name in ("strata", "clusters"):
            if getattr(self, name) is not None:
                object.__setattr__(self, name, column(getattr(self, name), name))
        if self.rows is not None:
            self._units(self.rows)

    @cached_property
    def rows(self) -> int | None:
        """How many people it has; None where no column says so, and it fits any number."""
        fitted = None if self.calibration is None else self.calibration.margins[0].place
        return same_length([(name, getattr(self, name)) for name in _COLUMNS] + [("known totals", fitted)])

    @cached_property
    def _drawn(self) -> dict[int, Units]:
        return {}

    def _units(self, rows: int) -> Units:
        if rows not in self._drawn:
            self._drawn[rows] = units(rows, self.strata, self.clusters, self.population, self.lonely)
        return self._drawn[rows]

    def units(self, rows: int | None = None) -> Units:
        """Return clusters in strata, one entry per row.

        Parameters
        ----------
        rows : int, optional
            How many rows there are, for a sample without columns.

        Returns
        -------
        Units
            Which cluster each row is in, and which stratum each cluster.
        """
        size = self.rows if self.rows is not None else rows
        if size is None:
            refuse("the sample must have a column, or the number of rows be given", "neither", "nothing is drawn")
        return self._units(size)

    def final_weights(self, rows: int | None = None) -> Array:
        """Return the weights, after they were made to add up to known totals if that was asked for.

        Parameters
        ----------
        rows : int, optional
            How many rows there are, for a sample without columns.

        Returns
        -------
        array
            One weight per row.
        """
        base = np.ones(self.units(rows).unit.shape) if self.weights is None else self.weights
        return base if self.calibration is None else self.calibration.weights(base)

    @property
    def df(self) -> int:
        """Degrees of freedom: clusters less strata."""
        return self.units().df

    @property
    def effective_n(self) -> float:
        """Kish's number of people who weigh the same and have the same error: (sum w)**2 / sum w**2."""
        weights = self.final_weights()
        return float(weights.sum() ** 2 / (weights**2).sum())

    def mean(self, scores: Any, where: Any = None, *, noise: Noise = None, labels: Any = None) -> Estimate:
        """Estimate the weighted mean (Hájek) of scores, in all or of a domain.

        Parameters
        ----------
        scores : array
            One row per person, as `design.scores(reports)` makes them; NaN where there is none.
        where : array of bool, optional
            The domain, or a table with a domain for each column. All rows are kept: clusters without members count.
        noise : {"shares"} or number or array, optional
            With a `population`, how much of each score's variance is randomization, which a finite population does not
            lessen: "shares" for scores of options, 0 for what nothing hides, or one number per row.
        labels : sequence, optional
            Names of the columns.

        Returns
        -------
        Estimate
            With a t interval that is not cut.
        """
        numbers, single = self._table(scores)
        inside = self._where(where, numbers)
        linearized = linear.mean(numbers, self._weights(numbers), inside)
        estimate = self._estimated(linearized, numbers, single, noise, labels, "weighted mean")
        return linear.without_certainty(estimate, numbers, inside)

    def total(self, scores: Any, where: Any = None, *, noise: Noise = None, labels: Any = None) -> Estimate:
        """Estimate the weighted sum of scores: a number of people, if weights say how many a row stands for.

        Parameters
        ----------
        scores, where, noise, labels : optional
            As for `mean`.

        Returns
        -------
        Estimate
            With a t interval that is not cut.
        """
        numbers, single = self._table(scores)
        return self._estimated(
            linear.total(numbers, self._weights(numbers), self._where(where, numbers)),
            numbers,
            single,
            noise,
            labels,
            "weighted total",
        )

    def difference(self, scores: Any, first: Any, second: Any, *, noise: Noise = None, labels: Any = None) -> Estimate:
        """Estimate the mean of one domain less that of another; clusters may hold members of both.

        Parameters
        ----------
        scores : array
            One row per person; NaN where there is none.
        first, second : array of bool
            The domains.
        noise, labels : optional
            As for `mean`.

        Returns
        -------
        Estimate
            With a t interval that is not cut.
        """
        numbers, single = self._table(scores)
        weights = self._weights(numbers)
        one, other = (linear.mean(numbers, weights, self._where(where, numbers)) for where in (first, second))
        return self._estimated(one - other, numbers, single, noise, labels, "difference of weighted means")

    def jackknife(self) -> Replicates:
        """Return the same verbs, with errors by leaving out one cluster at a time.

        The others of its stratum weigh m / (m - 1) times more, and the weights are fitted to known totals again.

        Returns
        -------
        Replicates
            One replicate per cluster.
        """
        base = np.ones(self.units().unit.shape) if self.weights is None else self.weights
        return jackknife(self.units(), base, self.calibration)

    def poststratified(self, cells: Any, totals: Mapping[Any, Any]) -> "Sample":
        """Return the sample with weights that add up to known totals of cells.

        Parameters
        ----------
        cells : array
            The cell of each row.
        totals : mapping
            People of each cell in the population.

        Returns
        -------
        Sample
            With errors that the totals lessen.
        """
        check_index(self.index, cells, "`cells`")
        return replace(self, calibration=calibration({"cells": totals}, {"cells": cells}, self.rows))

    def raked(self, margins: Mapping[str, Mapping[Any, Any]], columns: Any) -> "Sample":
        """Return the sample with weights that add up to known totals of several columns.

        Parameters
        ----------
        margins : mapping
            The totals of each column, {"sex": {"f": 2300, …}, …}.
        columns : frame or mapping
            The columns.

        Returns
        -------
        Sample
            With errors that the totals lessen.
        """
        check_index(self.index, columns, "`columns`")
        return replace(self, calibration=calibration(margins, columns, self.rows))

    def _table(self, scores: Any) -> tuple[Array, bool]:
        check_index(self.index, scores, "scores")
        return table(scores, self.rows)

    def _weights(self, numbers: Array) -> Array:
        return self.final_weights(len(numbers))

    def _where(self, where: Any, numbers: Array) -> Mask:
        """Who is in the domain, column by column: of those who have no score nothing is known."""
        check_index(self.index, where, "`where`")
        inside = ~np.isnan(numbers)
        return inside if where is None else np.asarray(inside & domain(where, numbers.shape))

    def _estimated(
        self, found: Linear, numbers: Array, single: bool, noise: Noise, labels: Any, method: str
    ) -> Estimate:
        drawn, weights = self._units(len(numbers)), self._weights(numbers)
        influence = found.influence
        if self.calibration is not None:
            influence = self.calibration.residuals(influence, weights)
        cov = drawn.covariance(weights[:, None] * influence)
        if self.population is not None:
            cov = cov + linear.randomization(found.factors, numbers, drawn.row_fraction(), noise)
        return linear.as_estimate(found, cov, drawn.df, single, labels, method, self._covers(drawn.df))

    def _covers(self, df: int) -> Covers:
        used = [name for name in _COLUMNS if getattr(self, name) is not None]
        used += ["known totals"] if self.calibration is not None else []
        return Covers([Source.SAMPLING, Source.SCORES], f"({', '.join([*used, f'{df} df'])})")

    def __repr__(self) -> str:
        used = [name for name in (*_COLUMNS, "population") if getattr(self, name) is not None]
        size = "any number of rows" if self.rows is None else f"{self.rows:,} rows, {self.df:,} df"
        return f"<Sample of {size}: {', '.join(used) or 'everybody drawn alike'}>"


@dataclass(frozen=True, eq=False)
class SampleRows:
    """`used` : which rows of the sample are in the model. The others add nothing to it, but their clusters
    count: they could have had members.
    """

    sample: Sample
    used: Mask

    @property
    def units(self) -> Units:
        return self.sample.units(len(self.used))

    @property
    def weights(self) -> Array:
        """Of the rows in the model, after the weights were made to add up to known totals."""
        return self.sample.final_weights(len(self.used))[self.used]

    @property
    def fraction(self) -> Array | None:
        """For each row in the model the share of its stratum's clusters that were drawn; None of a population
        without end.
        """
        return None if self.sample.population is None else self.units.row_fraction()[self.used]

    @property
    def described(self) -> list[str]:
        """What the sample knows, in words."""
        known = [name for name in ("weights", "strata", "clusters") if getattr(self.sample, name) is not None]
        known += ["known totals"] if self.sample.calibration is not None else []
        return known + (["finite population"] if self.sample.population is not None else [])

    def scatter(self, parts: Array, *, finite: bool = False) -> Array:
        """The variance of the sum of `parts`, one row per person of the model, weights in it already. If
        `finite`, that of drawing people from the population alone, as if nothing else were random.
        """
        values = np.zeros((len(self.used), parts.shape[1]))
        values[self.used] = parts
        if self.sample.calibration is not None:
            weights = self.sample.final_weights(len(self.used))
            values = self.sample.calibration.residuals(values / weights[:, None], weights) * weights[:, None]
        units = self.units if finite else replace(self.units, fraction=np.zeros(len(self.units.drawn)))
        return units.covariance(values)


def checked_sample(sample: Any, given: list[str], rows: int, data: Any) -> Sample | None:
    """A sample that says how people were drawn; None where it says nothing."""
    if not isinstance(sample, Sample):
        refuse("`sample` must be a Sample", type(sample).__name__, "it says how people were drawn", TypeError)
    if given:
        refuse("`sample` must be given alone", ", ".join(given), "it says how people were drawn")
    if sample.rows is None and sample.population is None:
        return None
    if sample.rows is not None and sample.rows != rows:
        refuse(f"the data must have {sample.rows} rows, as the sample has", rows, "rows go by place")
    check_index(sample.index, data, "the data")
    return sample


def without_population(sample: Sample) -> Sample:
    """The same of a population without end."""
    return replace(sample, population=None)
