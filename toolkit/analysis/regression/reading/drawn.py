"""People of a `Sample` behind the rows of a model: who is left out of the model stays in the sample."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from toolkit.analysis.sampling.columns import check_index
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
