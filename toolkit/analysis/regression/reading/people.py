"""Who stands behind the rows of a model: weights, strata, clusters, how many each row stands for, and the
variance that follows from them.
"""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from toolkit.analysis.regression.reading.columns import Column, groups, numbers
from toolkit.analysis.sampling.columns import check_index, check_size
from toolkit.analysis.sampling.sample import Sample
from toolkit.analysis.sampling.units import Units
from toolkit.core.arrays import Array, Mask
from toolkit.core.checks import refuse

FINITE = "the finite population is not used here: the errors are rather too large"


@dataclass(frozen=True, eq=False)
class Drawn:
    """`kept` : which rows of the sample are in the model. The others add nothing to it, but their clusters
    count: they could have had members.
    """

    sample: Sample
    kept: Mask

    @property
    def units(self) -> Units:
        return self.sample.units(len(self.kept))

    @property
    def weights(self) -> Array:
        """Of the rows in the model, after the weights were made to add up to known totals."""
        return self.sample.final_weights(len(self.kept))[self.kept]

    @property
    def fraction(self) -> Array | None:
        """For each row in the model the share of its stratum's clusters that were drawn; None of a population
        without end.
        """
        return None if self.sample.population is None else self.units.row_fraction()[self.kept]

    @property
    def described(self) -> list[str]:
        """What the sample knows, in words."""
        known = [name for name in ("weights", "strata", "clusters") if getattr(self.sample, name) is not None]
        known += ["known totals"] if self.sample.calibration is not None else []
        return known + (["finite population"] if self.sample.population is not None else [])

    def scatter(self, parts: Array, *, finite: bool = False) -> Array:
        """The variance of the sum of `parts`, one row a person of the model, weights in it already. If
        `finite`, that of drawing people from the population alone, as if nothing else were random.
        """
        values = np.zeros((len(self.kept), parts.shape[1]))
        values[self.kept] = parts
        if self.sample.calibration is not None:
            weights = self.sample.final_weights(len(self.kept))
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


Groups = npt.NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class People:
    """One entry a row. Without any of them the rows are persons drawn independently, each counted once.

    Parameters
    ----------
    rows : how many there are.
    weights : how much each person of a row weighs.
    times : how many persons a row stands for.
    strata, clusters : groups as codes; clusters are told apart within their strata.
    drawn : a sample in their place, which knows all of this, and more.
    """

    rows: int
    weights: Array | None = None
    times: Array | None = None
    strata: Groups | None = None
    clusters: Groups | None = None
    drawn: Drawn | None = None

    @property
    def described(self) -> list[str]:
        """What is known of how they were drawn, in words."""
        if self.drawn is not None:
            return self.drawn.described
        return [name for name in ("weights", "strata", "clusters") if getattr(self, name) is not None]

    @property
    def complex(self) -> bool:
        """Whether the sample is more than independent persons who weigh the same."""
        return bool(self.described)

    @cached_property
    def n(self) -> int:
        return self.rows if self.times is None else int(self.times.sum())

    @cached_property
    def mass(self) -> Array:
        """What a row counts for in a sum over people: weight times number."""
        one = np.ones(self.rows) if self.weights is None else self.weights
        return one if self.times is None else one * self.times

    @cached_property
    def _units(self) -> tuple[Groups | None, Groups, Array]:
        """For each row its sampling unit, for each unit its stratum, and how many units are in each
        stratum.
        """
        strata = np.zeros(self.rows, dtype=np.intp) if self.strata is None else self.strata
        if self.clusters is None:
            return None, strata, np.bincount(strata, self.times).astype(np.float64)
        pairs = strata * (int(self.clusters.max()) + 1) + self.clusters
        _, first, unit = np.unique(pairs, return_index=True, return_inverse=True)
        return unit.reshape(-1), strata[first], np.bincount(strata[first]).astype(np.float64)

    @property
    def df(self) -> int:
        """Degrees of freedom: sampling units minus strata."""
        if self.drawn is not None:
            return self.drawn.units.df
        sizes = self._units[2]
        return int(sizes.sum()) - len(sizes)

    def scatter(self, parts: Array) -> Array:
        """The variance of the sum of `parts` over sampling units drawn with replacement within strata.

        `parts` is one row a person, weights in it already. A stratum with a single unit is refused.
        """
        if self.drawn is not None:
            return self.drawn.scatter(parts)
        unit, stratum, sizes = self._units
        if int(sizes.min()) < 2:
            count = int(np.count_nonzero(sizes < 2))
            refuse("every stratum must have two sampling units", f"{count} with one", "its variance is unknown")
        times = None
        if unit is None:
            totals, times = parts, self.times
        else:
            many = parts if self.times is None else parts * self.times[:, None]
            totals = np.column_stack([np.bincount(unit, column) for column in many.T])
        weighted = totals if times is None else totals * times[:, None]
        means = np.column_stack([np.bincount(stratum, column) for column in weighted.T]) / sizes[:, None]
        centred = totals - means[stratum]
        factor = (sizes / (sizes - 1))[stratum] * (1 if times is None else times)
        return np.asarray(centred.T @ (centred * factor[:, None]))


def people(
    rows: int, weights: Column | None, times: Column | None, strata: Column | None, clusters: Column | None
) -> People:
    """The same from columns, checked."""
    return People(
        rows,
        None if weights is None else _sized(_above_zero(numbers(weights, "weights"), "weights", "a person who counts")),
        None if times is None else _whole(_above_zero(numbers(times, "times"), "times", "a row of persons")),
        None if strata is None else groups(strata),
        None if clusters is None else groups(clusters),
    )


def _sized(weights: Array) -> Array:
    check_size(weights)
    return weights


def _above_zero(found: Array, what: str, whose: str) -> Array:
    if low := int(np.count_nonzero(found <= 0)):
        refuse(
            f"{what} must be above 0",
            f"{low} of {len(found)} that are not",
            f"each belongs to {whose}; leave the others out",
        )
    return found


def _whole(found: Array) -> Array:
    if np.any(found != np.floor(found)):
        refuse("times must be whole numbers", "others", "they count persons; weights are another argument")
    return found
