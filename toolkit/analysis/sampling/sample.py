"""`Sample`: the sampling design of a survey, with means and totals of scores."""

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
from toolkit.analysis.sampling.replicates import Replicates, jackknife, replicate_covariance
from toolkit.analysis.sampling.units import Linearization, Lonely, Names, Noise, Units, units
from toolkit.core.arrays import Array, DataFrame, Mask, Values
from toolkit.core.checks import explain_call, reject
from toolkit.core.covers import Covers, ErrorSource
from toolkit.core.estimate import Estimate

_COLUMNS = ("weights", "strata", "clusters")
_FIELDS = (*_COLUMNS, "population")
FINITE = "the finite population correction is not used here: the errors are conservative"


@explain_call('Sample(weights="w", clusters="school")')
@dataclass(frozen=True, eq=False, repr=False)
class Sample:
    """A sampling design: weights, strata and clusters, by the names of their columns or as columns.

    Names are looked up in the frame that is analyzed, so the order of its rows does not matter. Columns have one entry
    per row of the frame, in its order; if they are pandas columns, their index must equal the index of the frame.

    Parameters
    ----------
    weights : str or array, optional
        Sampling weights: the number of people that each row represents, or a multiple of it. By default, all weights
        are equal.
    strata : str or array, optional
        Strata, which were sampled separately.
    clusters : str or array, or tuple of two, optional
        Primary sampling units, which may be numbered within strata. For two stages, a tuple of the clusters and the
        units within clusters.
    population : int, mapping, str or array, or tuple of two, optional
        Population size for the finite population correction: the total number of clusters, or of people if there are no
        clusters. It may be given for each stratum, by name or in a column. Everybody in a sampled cluster must then be
        in the sample. If people were sampled within clusters, a tuple gives the sizes of both stages, ("clusters in
        all", "people of the cluster").
    lonely : {"refuse", "collapse", "centre"}
        The treatment of a stratum with a single cluster: raise an error, merge it with the next stratum, or center its
        total at the mean of all clusters.
    calibration : Calibration, optional
        Known totals, as set by `poststratified` and `raked`.
    index : pandas.Index, optional
        Index of the columns; it is taken from pandas columns.

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
            rule = "a tuple `population` must have two elements, and needs `clusters`"
            reject(rule, "another tuple", "give the number of clusters and of the people of each cluster")
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
        """Return the columns of each argument, one for each stage; a population that is a number has no column."""
        values = [(name, getattr(self, name)) for name in _FIELDS]
        stages = [(name, item) for name, value in values for item in (value if isinstance(value, tuple) else (value,))]
        return [(name, item) for name, item in stages if name != "population" or isinstance(item, str) or np.ndim(item)]

    @property
    def _by_name(self) -> bool:
        """Whether columns are given by names, which are looked up in a frame."""
        return bool(self._column_names)

    @property
    def _only_names(self) -> bool:
        """Whether the design consists of the names of weights, strata and clusters only."""
        columns = [getattr(self, name) for name in _COLUMNS]
        more = self.population is not None or self.calibration is not None or self.lonely != "refuse"
        return self._by_name and not more and all(column is None or isinstance(column, str) for column in columns)

    @property
    def _column_names(self) -> tuple[str, ...]:
        """Names of the columns that are looked up in a frame."""
        margins = self.calibration if isinstance(self.calibration, Mapping) else ()
        return (*names_in(self._parts()), *margins)

    def resolve(self, frame: DataFrame) -> "Sample":
        """Look up the columns in a frame.

        Parameters
        ----------
        frame : frame
            A pandas, polars or pyarrow frame.

        Returns
        -------
        Sample
            The sample with the columns of the frame; the sample itself if it already has columns.

        Raises
        ------
        ValueError
            If the frame lacks a column, or its rows are not those of the sample's columns.
        """
        if not self._by_name:
            check_frame(self.rows, self.index, frame)
            return self
        columns = {name: from_frame(frame, getattr(self, name), name) for name in _FIELDS}
        index = one_index([frame, *(part for _, part in self._parts())])
        margins = self.calibration if isinstance(self.calibration, Mapping) else None
        resolved = replace(self, **columns, index=index, calibration=None if margins else self.calibration)
        check_frame(resolved.rows, None, frame)
        return resolved if margins is None else resolved.raked(margins, frame)

    @cached_property
    def rows(self) -> int | None:
        """Number of rows; None for a sample without columns, which fits any number of rows."""
        margin = None if self.calibration is None else self.calibration.margins[0].index
        return None if self._by_name else same_length([*self._parts(), ("known totals", margin)])

    @cached_property
    def _units_by_size(self) -> dict[int, Units]:
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
            reject("the sample needs a column, or the number of rows must be given", "neither", "its size is unknown")
        if size not in self._units_by_size:
            self._units_by_size[size] = units(size, self.strata, self.clusters, self.population, self.lonely)
        return self._units_by_size[size]

    def final_weights(self, rows: int | None = None) -> Array:
        """Return the weights, calibrated to known totals if there are any.

        Parameters
        ----------
        rows : int, optional
            Number of rows, for a sample without columns.

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
        """Degrees of freedom: the number of clusters minus the number of strata."""
        return self._units().df

    @property
    def effective_n(self) -> float:
        """Kish's effective sample size, (sum w)**2 / sum w**2."""
        weights = self.final_weights()
        return float(weights.sum() ** 2 / (weights**2).sum())

    def mean(
        self, scores: Values, where: Values | None = None, *, noise: Noise = None, labels: Names = None
    ) -> Estimate:
        """Estimate the weighted mean (Hájek) of scores, overall or in a domain.

        Parameters
        ----------
        scores : array
            One row per person, as from `design.scores(reports)`; NaN where a score is missing.
        where : array of bool, optional
            The domain, or a table with a domain for each column. Rows outside the domain are needed for the standard
            error, because clusters without members count.
        noise : {"shares"} or number or array, optional
            With a `population`, the part of each score's variance that is due to randomization, which a finite
            population does not reduce: "shares" for scores of options, 0 for plain answers, or one number per row.
        labels : sequence, optional
            Names of the columns.

        Returns
        -------
        Estimate
            The mean, with a t interval that is not truncated to [0, 1].
        """
        numbers, single = self._table(scores)
        inside = self._where(where, numbers)
        linearized = linear.mean(numbers, self.final_weights(len(numbers)), inside)
        estimate = self._estimated(linearized, numbers, single, noise, labels, "weighted mean")
        return linear.without_certainty(estimate, numbers, inside)

    def total(
        self, scores: Values, where: Values | None = None, *, noise: Noise = None, labels: Names = None
    ) -> Estimate:
        """Estimate the weighted sum of scores: a number of people, if weights are numbers of people.

        Parameters
        ----------
        scores, where, noise, labels : optional
            As for `mean`.

        Returns
        -------
        Estimate
            The total, with a t interval.
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
        """Estimate the mean of one domain minus the mean of another; clusters may have members of both domains.

        Parameters
        ----------
        scores : array
            One row per person; NaN where a score is missing.
        first, second : array of bool
            The domains.
        noise, labels : optional
            As for `mean`.

        Returns
        -------
        Estimate
            The difference, with a t interval.
        """
        numbers, single = self._table(scores)
        weights = self.final_weights(len(numbers))
        means = [linear.mean(numbers, weights, self._where(where, numbers)) for where in (first, second)]
        return self._estimated(means[0] - means[1], numbers, single, noise, labels, "difference of weighted means")

    def jackknife(self) -> Replicates:
        """Return jackknife replicates, which leave out one cluster at a time.

        The weights of the other m - 1 clusters of its stratum are multiplied by m / (m - 1), and all weights are
        calibrated to known totals again.

        Returns
        -------
        Replicates
            One replicate per cluster.
        """
        base = np.ones(self._units().unit.shape) if self.weights is None else self.weights
        return jackknife(self._units(), base, self.calibration, self.index)

    def poststratified(self, cells: Values, totals: Mapping[Any, Any]) -> "Sample":
        """Return the sample with weights calibrated to known totals of cells.

        Parameters
        ----------
        cells : str or array
            The cell of each row; a name is looked up in the frame.
        totals : mapping
            Number of people of each cell in the population.

        Returns
        -------
        Sample
            The calibrated sample, whose errors are smaller.
        """
        if isinstance(cells, str):
            return self.raked({cells: totals})
        check_index(self.index, cells, "`cells`")
        return replace(self, calibration=calibration({"cells": totals}, {"cells": cells}, self.rows))

    def raked(
        self, margins: Mapping[str, Mapping[Any, Any]], columns: DataFrame | Mapping[str, Values] | None = None
    ) -> "Sample":
        """Return the sample with weights calibrated to known totals of several columns.

        Parameters
        ----------
        margins : mapping
            Totals of each column, {"sex": {"f": 2300, …}, …}.
        columns : frame or mapping, optional
            The columns; by default they are looked up in the frame that is analyzed.

        Returns
        -------
        Sample
            The calibrated sample, whose errors are smaller.
        """
        if columns is None:
            return replace(self, calibration=dict(margins))
        check_index(self.index, columns, "`columns`")
        return replace(self, calibration=calibration(margins, columns, self.rows))

    def _table(self, scores: Values) -> tuple[Array, bool]:
        check_index(self.index, scores, "scores")
        return table(scores, self.rows)

    def _where(self, where: Values | None, numbers: Array) -> Mask:
        """Return the members of the domain that have a score, column by column."""
        check_index(self.index, where, "`where`")
        inside = ~np.isnan(numbers)
        return inside if where is None else np.asarray(inside & domain(where, numbers.shape))

    def _estimated(
        self, sums: Linearization, numbers: Array, single: bool, noise: Noise, labels: Names, method: str
    ) -> Estimate:
        weights = self.final_weights(len(numbers))
        sampled = self._units(len(numbers))
        cov = variance_of_total(self, weights[:, None] * sums.influence, finite=True)
        if self.population is not None:
            cov = cov + linear.randomization(sums.factors, numbers, sampled.row_fraction(), noise)
        return linear.as_estimate(sums, cov, sampled.df, single, labels, method, self._covers(sampled.df))

    def _covers(self, df: int) -> Covers:
        used = [name for name in design_elements(self) if name != "finite population"]
        return Covers([ErrorSource.SAMPLING, ErrorSource.SCORES], f"({', '.join([*used, f'{df} df'])})")

    def __repr__(self) -> str:
        used = [name for name in _FIELDS if getattr(self, name) is not None]
        if self._by_name:
            quoted = [", ".join(f'"{column}"' for column in names_in([(name, getattr(self, name))])) for name in used]
            texts = [f"{name} {columns}".strip() for name, columns in zip(used, quoted, strict=True)]
            return f"<Sample by name: {', '.join([*texts, *(['known totals'] if self.calibration else [])])}>"
        size = "any number of rows" if self.rows is None else f"{self.rows:,} rows, {self.df:,} df"
        return f"<Sample of {size}: {', '.join(used) or 'equal probabilities'}>"


Sampled: TypeAlias = Sample | Replicates
"""A sampling design, or replicate weights in its place."""


def design_elements(sample: Sampled) -> list[str]:
    """Return the parts of a sampling design, such as "weights" and "clusters"."""
    if isinstance(sample, Replicates):
        return ["weights", f"{len(sample.factors)} replicates"]
    parts = [name for name in _COLUMNS if getattr(sample, name) is not None]
    parts += ["known totals"] if sample.calibration is not None else []
    return parts + (["finite population"] if sample.population is not None else [])


def weights_of(sample: Sampled, rows: int) -> Array:
    """Return one weight per row, calibrated to known totals."""
    return sample._checked_weights if isinstance(sample, Replicates) else sample.final_weights(rows)


def df_of(sample: Sampled, inside: Mask) -> int:
    """Return the degrees of freedom of a domain: clusters with members minus their strata, as in R's survey package.

    Replicates have the same degrees of freedom in every domain.
    """
    return int(sample.df) if isinstance(sample, Replicates) else sample._units(len(inside)).df_of(inside)


def variance_of_total(sample: Sampled, values: Array, *, finite: bool) -> Array:
    """Return the variance of the sum of weighted values, one row per person.

    With `finite`, the finite population correction is applied, which is valid only for the sampling variance.
    """
    if isinstance(sample, Replicates):
        base = sample._checked_weights
        return replicate_covariance(sample, lambda weights: np.asarray(weights / base @ values), values.sum(axis=0))[0]
    if sample.calibration is not None:
        weights = sample.final_weights(len(values))
        values = sample.calibration.residuals(values / weights[:, None], weights) * weights[:, None]
    sampled = sample._units(len(values))
    return (sampled if finite else sampled.without_population).covariance(values)


@dataclass(frozen=True, eq=False)
class SampleRows:
    """The rows of a sample that are in a model.

    Clusters without such rows contribute to the variance, because they could have contained such rows.
    """

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
        """The sampling fraction of each row of the model; None for an infinite population."""
        if isinstance(self.sample, Replicates) or self.sample.population is None:
            return None
        return self.sample._units(len(self.used)).row_fraction()[self.used]

    def variance_of_sum(self, values: Array, *, finite: bool = False) -> Array:
        """Return the variance of the sum of `values`, one row per person of the model."""
        all_rows = np.zeros((len(self.used), values.shape[1]))
        all_rows[self.used] = values
        return variance_of_total(self.sample, all_rows, finite=finite)


def checked_sample(sample: object, others: list[str], data: DataFrame) -> Sampled | None:
    """Return the sample with its columns looked up in the data; None if it is a simple random sample."""
    if not isinstance(sample, Sample | Replicates):
        remedy = "write sample=Sample(…)"
        reject("`sample` must be a Sample or Replicates", type(sample).__name__, remedy, TypeError)
    if others:
        reject("`sample` must be given alone", ", ".join(others), "make them part of the Sample")
    resolved = sample.resolve(data)
    simple = isinstance(resolved, Sample) and resolved.rows is None and resolved.population is None
    return None if simple else resolved
