"""`Sample`: how people were drawn, and means and totals of scores with errors that say so."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np

from toolkit.analysis.sampling import units as linear
from toolkit.analysis.sampling.inputs import (
    calibration,
    check_frame,
    check_index,
    columns,
    domain,
    from_frame,
    names_in,
    one_index,
    positive_weights,
    same_length,
    stages,
    table,
)
from toolkit.analysis.sampling.replicates import Replicates, jackknife, spread
from toolkit.analysis.sampling.units import Linearization, Lonely, Names, Noise, Units, units
from toolkit.core.arrays import Array, DataFrame, Mask, Values
from toolkit.core.checks import explain_call, reject
from toolkit.core.covers import Covers, ErrorSource
from toolkit.core.estimate import Estimate

_COLUMNS = ("weights", "strata", "clusters")
_FIELDS = (*_COLUMNS, "population")
FINITE = "the finite population is not used here: the errors are rather too large"


@explain_call('Sample(weights="w", clusters="school")')
@dataclass(frozen=True, eq=False, repr=False)
class Sample:
    """How people were drawn: weights, strata and clusters, by the names of their columns or as columns.

    Names are looked up in the frame that is analyzed, whatever the order of its rows. Columns have one entry per row of
    the frame, in its order; where they are columns of pandas, their index must be that of the frame.

    Parameters
    ----------
    weights : str or array, optional
        How many people each row stands for, or in proportion to that; all the same without it.
    strata : str or array, optional
        The groups that were drawn from separately.
    clusters : str or array, or tuple of two, optional
        Who was drawn together; they may be numbered within strata. Of two stages a tuple: the clusters, and who was
        drawn together inside of them.
    population : int, mapping, str or array, or tuple of two, optional
        How many clusters there are in all (persons, where there are no clusters), for each stratum by name or in a
        column: then the sampling error is smaller. All persons of a cluster that was drawn must be in the sample; where
        only some were drawn, a tuple says of both stages how many there are, ("clusters in all", "people of the
        cluster").
    lonely : {"refuse", "collapse", "centre"}
        What to do with a stratum of one cluster: refuse it, merge it with the next, or centre its total at the mean of
        all clusters.
    calibration : Calibration, optional
        Known totals, as `poststratified` and `raked` make them.
    index : pandas.Index, optional
        The index of the columns, found by itself.

    Examples
    --------
    >>> import pandas as pd
    >>> from toolkit import forced
    >>> frame = pd.DataFrame({"a": [1, 0, 0, 1], "w": [1, 2, 1, 2], "school": [1, 1, 2, 2]})
    >>> sample = Sample(weights="w", clusters="school")
    >>> sample
    <Sample by name: weights "w", clusters "school">
    >>> sample.resolve(frame).mean(forced("1/6", "1/6").scores(frame.a))
    <Estimate 0.50 (standard error 0.25; 95 % interval -2.68 to 3.68); n = 4; covers sampling ...>
    """

    weights: Any = None
    strata: Any = None
    clusters: Any = None
    population: Any = None
    lonely: Lonely = "refuse"
    calibration: Any = field(default=None, kw_only=True)
    index: Any = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        if isinstance(self.population, tuple) and (self.clusters is None or len(self.population) != 2):
            rule = "`population` must be two numbers or columns only with clusters that people were drawn in"
            reject(rule, "another number of them", "it counts clusters, and people of each cluster")
        self._set(**{name: stages(getattr(self, name)) for name in _COLUMNS})
        if self._by_name:
            return
        if self.index is None:
            self._set(index=one_index([part for _, part in self._parts()]))
        if self.weights is not None:
            self._set(weights=positive_weights(self.weights))
        self._set(**{name: columns(getattr(self, name), name) for name in _FIELDS[1:]})
        if self.rows is not None:
            self._units()

    def _set(self, **values: object) -> None:
        for name, value in values.items():
            object.__setattr__(self, name, value)

    def _parts(self) -> list[tuple[str, Any]]:
        """What each argument is made of, by its name; a population may be numbers, and no column."""
        values = [(name, getattr(self, name)) for name in _FIELDS]
        parts = [(name, part) for name, value in values for part in (value if isinstance(value, tuple) else (value,))]
        return [(name, part) for name, part in parts if name != "population" or isinstance(part, str) or np.ndim(part)]

    @property
    def _by_name(self) -> bool:
        """Whether columns are named that are looked up in a frame."""
        return bool(self._column_names)

    @property
    def _only_names(self) -> bool:
        """Whether it is no more than names of weights, strata and clusters."""
        columns = [getattr(self, name) for name in _COLUMNS]
        more = self.population is not None or self.calibration is not None or self.lonely != "refuse"
        return self._by_name and not more and all(one is None or isinstance(one, str) for one in columns)

    @property
    def _column_names(self) -> tuple[str, ...]:
        """The columns that are looked up in a frame."""
        margins = self.calibration if isinstance(self.calibration, Mapping) else ()
        return (*names_in(self._parts()), *margins)

    def resolve(self, frame: DataFrame) -> "Sample":
        """Return the sample of a frame, its columns looked up there.

        Parameters
        ----------
        frame : frame
            Of pandas, polars or pyarrow.

        Returns
        -------
        Sample
            With columns; the sample itself where nothing is named.

        Raises
        ------
        ValueError
            If a column is not there, or the rows are not those of the sample's columns.
        """
        if not self._by_name:
            check_frame(self.rows, self.index, frame)
            return self
        columns = {name: from_frame(frame, getattr(self, name), name) for name in _FIELDS}
        index = one_index([frame, *(part for _, part in self._parts())])
        margins = self.calibration if isinstance(self.calibration, Mapping) else None
        there = replace(self, **columns, index=index, calibration=None if margins else self.calibration)
        check_frame(there.rows, None, frame)
        return there if margins is None else there.raked(margins, frame)

    @cached_property
    def rows(self) -> int | None:
        """How many people it has; None where no column says so, and it fits any number."""
        fitted = None if self.calibration is None else self.calibration.margins[0].place
        return None if self._by_name else same_length([*self._parts(), ("known totals", fitted)])

    @cached_property
    def _drawn(self) -> dict[int, Units]:
        return {}

    def _units(self, rows: int | None = None) -> Units:
        """Return clusters in strata; `rows` is the number of rows, for a sample without columns."""
        size = self.rows if self.rows is not None else rows
        if self._by_name:
            reject(
                "the columns of a sample must be looked up in a frame",
                ", ".join(self._column_names),
                "write .resolve(frame)",
            )
        if size is None:
            reject("the sample must have a column, or the number of rows be given", "neither", "nothing is drawn")
        if size not in self._drawn:
            self._drawn[size] = units(size, self.strata, self.clusters, self.population, self.lonely)
        return self._drawn[size]

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
        count = len(self._units(rows).unit)
        base = np.ones(count) if self.weights is None else self.weights
        return base if self.calibration is None else self.calibration.weights(base)

    @property
    def df(self) -> int:
        """Degrees of freedom: clusters less strata."""
        return self._units().df

    @property
    def effective_n(self) -> float:
        """Kish's number of people who weigh the same and have the same error: (sum w)**2 / sum w**2."""
        weights = self.final_weights()
        return float(weights.sum() ** 2 / (weights**2).sum())

    def mean(
        self, scores: Values, where: Values | None = None, *, noise: Noise = None, labels: Names = None
    ) -> Estimate:
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
        linearized = linear.mean(numbers, self.final_weights(len(numbers)), inside)
        estimate = self._estimated(linearized, numbers, single, noise, labels, "weighted mean")
        return linear.without_certainty(estimate, numbers, inside)

    def total(
        self, scores: Values, where: Values | None = None, *, noise: Noise = None, labels: Names = None
    ) -> Estimate:
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
            linear.total(numbers, self.final_weights(len(numbers)), self._where(where, numbers)),
            numbers,
            single,
            noise,
            labels,
            "weighted total",
        )

    def difference(
        self, scores: Values, first: Values, second: Values, *, noise: Noise = None, labels: Names = None
    ) -> Estimate:
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
        weights = self.final_weights(len(numbers))
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
        base = np.ones(self._units().unit.shape) if self.weights is None else self.weights
        return jackknife(self._units(), base, self.calibration, self.index)

    def poststratified(self, cells: Values, totals: Mapping[Any, Any]) -> "Sample":
        """Return the sample with weights that add up to known totals of cells.

        Parameters
        ----------
        cells : str or array
            The cell of each row; a name is looked up in the frame.
        totals : mapping
            People of each cell in the population.

        Returns
        -------
        Sample
            With errors that the totals lessen.
        """
        if isinstance(cells, str):
            return self.raked({cells: totals})
        check_index(self.index, cells, "`cells`")
        return replace(self, calibration=calibration({"cells": totals}, {"cells": cells}, self.rows))

    def raked(
        self, margins: Mapping[str, Mapping[Any, Any]], columns: DataFrame | Mapping[str, Values] | None = None
    ) -> "Sample":
        """Return the sample with weights that add up to known totals of several columns.

        Parameters
        ----------
        margins : mapping
            The totals of each column, {"sex": {"f": 2300, …}, …}.
        columns : frame or mapping, optional
            The columns; without it they are looked up in the frame that is analyzed.

        Returns
        -------
        Sample
            With errors that the totals lessen.
        """
        if columns is None:
            return replace(self, calibration=dict(margins))
        check_index(self.index, columns, "`columns`")
        return replace(self, calibration=calibration(margins, columns, self.rows))

    def _table(self, scores: Values) -> tuple[Array, bool]:
        check_index(self.index, scores, "scores")
        return table(scores, self.rows)

    def _where(self, where: Values | None, numbers: Array) -> Mask:
        """Who is in the domain, column by column: of those who have no score nothing is known."""
        check_index(self.index, where, "`where`")
        inside = ~np.isnan(numbers)
        return inside if where is None else np.asarray(inside & domain(where, numbers.shape))

    def _estimated(
        self, sums: Linearization, numbers: Array, single: bool, noise: Noise, labels: Names, method: str
    ) -> Estimate:
        weights = self.final_weights(len(numbers))
        drawn, cov = self._units(len(numbers)), scatter(self, weights[:, None] * sums.influence, finite=True)
        if self.population is not None:
            cov = cov + linear.randomization(sums.factors, numbers, drawn.row_fraction(), noise)
        return linear.as_estimate(sums, cov, drawn.df, single, labels, method, self._covers(drawn.df))

    def _covers(self, df: int) -> Covers:
        used = [word for word in described(self) if word != "finite population"]
        return Covers([ErrorSource.SAMPLING, ErrorSource.SCORES], f"({', '.join([*used, f'{df} df'])})")

    def __repr__(self) -> str:
        used = [name for name in _FIELDS if getattr(self, name) is not None]
        if self._by_name:
            named = {name: ", ".join(f'"{own}"' for own in names_in([(name, getattr(self, name))])) for name in used}
            words = [f"{name} {named[name]}".strip() for name in used]
            return f"<Sample by name: {', '.join([*words, *(['known totals'] if self.calibration else [])])}>"
        size = "any number of rows" if self.rows is None else f"{self.rows:,} rows, {self.df:,} df"
        return f"<Sample of {size}: {', '.join(used) or 'everybody drawn alike'}>"


Sampled: TypeAlias = Sample | Replicates
"""How people were drawn."""


def described(sample: Sampled) -> list[str]:
    """What is known of how people were drawn, in words."""
    if isinstance(sample, Replicates):
        return ["weights", f"{len(sample.factors)} replicates"]
    known = [name for name in _COLUMNS if getattr(sample, name) is not None]
    known += ["known totals"] if sample.calibration is not None else []
    return known + (["finite population"] if sample.population is not None else [])


def weights_of(sample: Sampled, rows: int) -> Array:
    """One weight per row, after they were made to add up to known totals."""
    return sample._checked_weights if isinstance(sample, Replicates) else sample.final_weights(rows)


def df_of(sample: Sampled, inside: Mask) -> int:
    """As R's survey package counts them: clusters with members less their strata; of replicates those of the sample."""
    return int(sample.df) if isinstance(sample, Replicates) else sample._units(len(inside)).df_of(inside)


def scatter(sample: Sampled, values: Array, *, finite: bool) -> Array:
    """The variance of the sum of `values`, a row per person, weights in it; if `finite`, of drawing people alone."""
    if isinstance(sample, Replicates):
        own = sample._checked_weights
        return spread(sample, lambda weights: np.asarray(weights / own @ values), values.sum(axis=0))[0]
    if sample.calibration is not None:
        weights = sample.final_weights(len(values))
        values = sample.calibration.residuals(values / weights[:, None], weights) * weights[:, None]
    drawn = sample._units(len(values))
    return (drawn if finite else drawn.without_end).covariance(values)


@dataclass(frozen=True, eq=False)
class SampleRows:
    """`used` : the rows that are in the model. Clusters of others count, as they could have had members."""

    sample: Sampled
    used: Mask

    @property
    def df(self) -> int:
        return df_of(self.sample, np.ones(len(self.used), dtype=bool))

    @property
    def weights(self) -> Array:
        return weights_of(self.sample, len(self.used))[self.used]

    @property
    def fraction(self) -> Array | None:
        """For each row in the model the share of clusters drawn in its stratum; None of a population without end."""
        if isinstance(self.sample, Replicates) or self.sample.population is None:
            return None
        return self.sample._units(len(self.used)).row_fraction()[self.used]

    def scatter(self, parts: Array, *, finite: bool = False) -> Array:
        """The variance of the sum of `parts`, one row per person of the model."""
        values = np.zeros((len(self.used), parts.shape[1]))
        values[self.used] = parts
        return scatter(self.sample, values, finite=finite)


def checked_sample(sample: object, others: list[str], data: DataFrame) -> Sampled | None:
    """A sample that says how people were drawn, its columns looked up in the data; None where it says nothing."""
    if not isinstance(sample, Sample | Replicates):
        reject(
            "`sample` must be a Sample or Replicates", type(sample).__name__, "it says how people were drawn", TypeError
        )
    if others:
        reject("`sample` must be given alone", ", ".join(others), "it says how people were drawn")
    there = sample.resolve(data)
    return None if isinstance(there, Sample) and there.rows is None and there.population is None else there
