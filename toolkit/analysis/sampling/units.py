"""Who was drawn together: primary sampling units in strata, and the variance of a total over them.

With z the sum of a cluster's linearised values, the variance of a total is the sum over strata of
(1 - f) m / (m - 1) times the sum over their clusters of (z - mean z)**2, for m clusters drawn of M, f = m / M
(Taylor linearisation; Binder 1983).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from toolkit.analysis.sampling.columns import codes
from toolkit.core.arrays import Array
from toolkit.core.checks import choice, exact, refuse

Lonely = Literal["refuse", "collapse", "centre"]


@dataclass(frozen=True, eq=False)
class Units:
    """`unit` : the cluster of each row. `stratum` : the stratum of each cluster. `drawn` : clusters in each
    stratum, and `fraction` : the share of all that there are.
    """

    unit: npt.NDArray[np.intp]
    stratum: npt.NDArray[np.intp]
    drawn: npt.NDArray[np.int64]
    fraction: Array

    @property
    def df(self) -> int:
        """Degrees of freedom: clusters less strata."""
        return len(self.stratum) - len(self.drawn)

    def covariance(self, values: Array) -> Array:
        """Of the sum of rows, one column each: clusters differ from each other within their stratum, and one
        that is alone in it from all others.
        """
        sums = self.totals(values)
        means = np.stack([np.bincount(self.stratum, column, len(self.drawn)) for column in sums.T], axis=1)
        apart = sums - (means / self.drawn[:, None])[self.stratum]
        lonely = self.drawn == 1
        if lonely.any():  # where it was asked for: `units` refuses it else
            apart[lonely[self.stratum]] = (sums - sums.mean(axis=0))[lonely[self.stratum]]
        with np.errstate(divide="ignore"):
            factor = (1 - self.fraction) * np.where(lonely, 1.0, self.drawn / (self.drawn - 1.0))
        return np.asarray((apart * factor[self.stratum, None]).T @ apart)

    def totals(self, values: Array) -> Array:
        """The sum of each cluster."""
        return np.stack([np.bincount(self.unit, column, len(self.stratum)) for column in values.T], axis=1)

    def row_fraction(self) -> Array:
        """For each row the share of its stratum's clusters that were drawn."""
        return np.asarray(self.fraction[self.stratum[self.unit]])


def persons(rows: int, population: Any = None) -> Units:
    """Everybody drawn for themselves, without strata."""
    return units(rows, None, None, population, "refuse")


def units(rows: int, strata: Any, clusters: Any, population: Any, lonely: Lonely) -> Units:
    """Clusters and strata from columns; clusters may be numbered within strata, or across them."""
    choice(lonely, "lonely", ("refuse", "collapse", "centre"))
    place, names = (np.zeros(rows, dtype=np.intp), ("all",)) if strata is None else codes(strata, "strata")
    own = np.arange(rows) if clusters is None else codes(clusters, "clusters")[0]
    span = int(own.max()) + 1
    pairs, unit = np.unique(place * span + own, return_inverse=True)  # one number for stratum and cluster
    stratum = pairs // span
    drawn = np.bincount(stratum, minlength=len(names))
    there = _population(population, names, strata is not None)
    if np.any(there < drawn):
        rule = "`population` must be at least the number of clusters that were drawn"
        refuse(rule, "fewer", "persons are counted where there are no clusters")
    if len(stratum) < 2:
        refuse("a sample must have at least two clusters", len(stratum), "one says nothing about their spread")
    if np.any(drawn == 1) and lonely == "refuse":
        alone = [str(name) for name, number in zip(names, drawn, strict=True) if number == 1]
        rule = "every stratum must have at least two clusters"
        refuse(
            rule,
            f"one in {', '.join(alone[:5])}",
            "use lonely='collapse' or lonely='centre', or merge strata",
        )
    if lonely == "collapse":
        stratum, drawn, there = _collapsed(stratum, drawn, there)
    return Units(unit, stratum, drawn, drawn / there)


def _population(given: Any, names: tuple[Any, ...], stratified: bool) -> Array:
    """How many clusters each stratum has in all: infinite where that is not said."""
    if given is None:
        return np.full(len(names), np.inf)
    if isinstance(given, Mapping):
        unknown = [name for name in names if name not in given]
        if unknown or not stratified:
            refuse("`population` must name every stratum", f"{len(unknown)} not named", "each has its own number")
        return np.array([float(exact(given[name], "population")) for name in names])
    if stratified and len(names) > 1:
        rule = "`population` must be a number of clusters for each stratum, by name"
        refuse(rule, type(given).__name__, "one number for all would not say how they are shared")
    return np.array([float(exact(given, "population"))] * len(names))


def _collapsed(stratum: Any, drawn: Any, there: Any) -> tuple[Any, Any, Any]:
    """Strata of one cluster merged with the next in order; the last with the one before it."""
    into, number = np.arange(len(drawn)), drawn.copy()
    for place in range(len(drawn)):
        if number[place] == 1 and len(drawn) > 1:
            target = place + 1 if place + 1 < len(drawn) else into[place - 1]
            number[target] += 1
            number[place] = 0
            into[into == into[place]] = target
    kept, merged = np.unique(into, return_inverse=True)
    size, total = np.bincount(merged, drawn, len(kept)), np.zeros(len(kept))
    np.add.at(total, merged, there)
    return merged[stratum].astype(np.intp), size.astype(np.int64), total
