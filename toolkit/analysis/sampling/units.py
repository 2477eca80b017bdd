"""Who was drawn together: primary sampling units in strata, and the variance of a total over them.

With z the sum of a cluster's linearized values, the variance of a total is the sum over strata of
(1 - f) m / (m - 1) times the sum over their clusters of (z - mean z)**2, for m clusters drawn of M, f = m / M
(Taylor linearization; Binder 1983). If people were drawn within clusters too, each cluster adds f times the same of
its own second stage, in which it is the stratum (Särndal, Swensson and Wretman 1992, 4.3).
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from toolkit.analysis.sampling.inputs import codes
from toolkit.core.arrays import Array, ArrayLike, Codes, Label, Mask
from toolkit.core.checks import Number, choice, exact, reject
from toolkit.core.covers import Covers
from toolkit.core.estimate import Estimate
from toolkit.core.inference.intervals import Student

Noise: TypeAlias = ArrayLike | None
"""How much of each score's variance is randomization: "shares", a number, or one number per row."""
Column: TypeAlias = npt.NDArray[Any] | None
Sizes: TypeAlias = Number | Mapping[Any, Number] | Column
"""How many there are in all: of each stratum by name or in a column; None of a population without end."""
Names: TypeAlias = Iterable[Label] | None
"""What the columns of scores are called."""
ALIKE = "all answers are equal, which says nothing about the error of their mean: there is no interval"


@dataclass(frozen=True, eq=False)
class Linearization:
    """`influence` : what one more unit of weight of a row moves the value by. `factors` : what a row's score is
    multiplied with. `people` : rows that have a score and are meant.
    """

    value: Array
    influence: Array
    factors: Array
    people: int

    def __sub__(self, other: "Linearization") -> "Linearization":
        return Linearization(
            self.value - other.value,
            self.influence - other.influence,
            self.factors - other.factors,
            self.people + other.people,
        )


def mean(scores: Array, weights: Array, inside: Mask) -> Linearization:
    """Sum w d S / sum w d, column by column."""
    if not inside.any(axis=0).all():
        reject("`where` must hold for somebody with a score", "nobody", "an empty domain has no mean")
    share = np.where(inside, weights[:, None], 0.0)
    share /= share.sum(axis=0)
    known = np.where(inside, scores, 0.0)
    value = (share * known).sum(axis=0)
    return Linearization(value, (known - value) * share / weights[:, None], share, int(inside.any(axis=1).sum()))


def total(scores: Array, weights: Array, inside: Mask) -> Linearization:
    """Sum w d S, column by column."""
    known = np.where(inside, scores, 0.0)
    factors = np.where(inside, weights[:, None], 0.0)
    return Linearization((factors * known).sum(axis=0), known, factors, int(inside.any(axis=1).sum()))


def randomization(factors: Array, scores: Array, fraction: Array, noise: Noise) -> Array:
    """What the finite population correction took away of the randomization, and that is there all the same: sum over
    people of fraction * factor**2 * variance of their score given their answer. Of scores of options that variance
    is estimated, without bias, by S S' - diag(S): an option is had or not.
    """
    if noise is None:
        consequence = "noise='shares' for scores of options, noise=0 for what nothing hides, or a variance per row"
        reject("with a `population`, `noise` must say how much of the scores is randomization", "nothing", consequence)
    known = np.nan_to_num(scores) * factors
    if isinstance(noise, str):
        if noise != "shares":
            reject(
                "`noise` must be 'shares', a number, or one number per row", repr(noise)[:40], "nothing else is known"
            )
        own = np.nan_to_num(scores) * factors**2
        return np.asarray((known * fraction[:, None]).T @ known - np.diag(fraction @ own))
    variance = np.asarray(noise, dtype=np.float64)
    if variance.ndim > 1 or (variance.ndim and len(variance) != len(scores)) or not np.all(variance >= 0):
        reject("`noise` must be at least 0, one number per row", f"shape {variance.shape}", "it is a variance")
    return np.asarray((factors * (fraction * variance)[:, None]).T @ factors)


def as_estimate(
    sums: Linearization, cov: Array, df: int, single: bool, labels: Names, method: str, covers: Covers
) -> Estimate:
    """With a t interval of the design's degrees of freedom."""
    se = np.sqrt(np.maximum(np.diag(cov), 0))
    value: Any = float(sums.value[0]) if single else sums.value
    error: Any = float(se[0]) if single else se
    names = tuple(labels) if labels is not None else ("mean",) if single else tuple(range(len(se)))
    if len(names) != len(se):
        reject(f"`labels` must name {len(se)} columns", len(names), "each has its own")
    return Estimate(
        value=value,
        se=error,
        labels=names,
        cov=cov,
        n=sums.people,
        loss=None,
        covers=covers,
        method=method,
        basis=Student(value, error, df),
    )


def without_certainty(estimate: Estimate, scores: Array, inside: Mask) -> Estimate:
    """The mean of scores that are all equal has no error that they could tell, rather than the error 0."""
    most, least = (np.where(inside, scores, end) for end in (-np.inf, np.inf))
    alike = most.max(axis=0) == least.min(axis=0)
    if not alike.any() or not isinstance(estimate.basis, Student):
        return estimate
    se = np.where(alike, np.nan, estimate.se)
    error = se if np.ndim(estimate.value) else float(se[0])
    return replace(estimate, se=error, notes=(ALIKE,), basis=replace(estimate.basis, se=error))


Lonely = Literal["refuse", "collapse", "centre"]


@dataclass(frozen=True, eq=False)
class Units:
    """`unit` : the cluster of each row. `stratum` : the stratum of each cluster. `drawn` : clusters in each
    stratum, and `fraction` : the share of all that there are. `within` : who was drawn inside of clusters, which are
    its strata.
    """

    unit: Codes
    stratum: Codes
    drawn: Codes
    fraction: Array
    within: "Units | None" = None

    @property
    def df(self) -> int:
        """Degrees of freedom: clusters less strata."""
        return len(self.stratum) - len(self.drawn)

    def df_of(self, inside: Mask) -> int:
        """Degrees of freedom of a domain: clusters with members less their strata."""
        members = np.unique(self.unit[inside])
        return len(members) - len(np.unique(self.stratum[members]))

    @property
    def without_end(self) -> "Units":
        return replace(self, fraction=np.zeros(len(self.drawn)), within=None)

    def covariance(self, values: Array, share: Array | float = 1.0) -> Array:
        """Of the sum of rows: clusters differ within their stratum, and one that is alone in it from all others."""
        sums = self.totals(values)
        means = np.stack([np.bincount(self.stratum, column, len(self.drawn)) for column in sums.T], axis=1)
        apart = sums - (means / self.drawn[:, None])[self.stratum]
        lonely = self.drawn == 1
        if lonely.any():  # where it was asked for: `units` refuses it else
            apart[lonely[self.stratum]] = (sums - sums.mean(axis=0))[lonely[self.stratum]]
        with np.errstate(divide="ignore"):
            factor = share * (1 - self.fraction) * np.where(lonely, 1.0, self.drawn / (self.drawn - 1.0))
        cov = np.asarray((apart * factor[self.stratum, None]).T @ apart)
        return cov if self.within is None else cov + self.within.covariance(values, self.fraction[self.stratum])

    def totals(self, values: Array) -> Array:
        return np.stack([np.bincount(self.unit, column, len(self.stratum)) for column in values.T], axis=1)

    def row_fraction(self) -> Array:
        """For each row the share of its stratum's clusters that were drawn, times that of its cluster's people."""
        own = np.asarray(self.fraction[self.stratum[self.unit]])
        return own if self.within is None else own * self.within.row_fraction()


def units(
    rows: int,
    strata: Column,
    clusters: Column | tuple[Column, Column],
    population: Sizes | tuple[Sizes, Sizes],
    lonely: Lonely,
) -> Units:
    """Clusters and strata from columns; clusters may be numbered within strata, or across them."""
    choice(lonely, "lonely", ("refuse", "collapse", "centre"))
    place, names = (np.zeros(rows, dtype=np.intp), ("all",)) if strata is None else codes(strata, "strata")
    first, second = clusters if isinstance(clusters, tuple) else (clusters, None)
    outer, inner = population if isinstance(population, tuple) else (population, None)
    unit, stratum, drawn = _numbered(place, first, len(names))
    there = _population(outer, place, names, strata is not None)
    if np.any(there < drawn):
        rule = "`population` must be at least the number of clusters that were drawn"
        reject(rule, "fewer", "persons are counted where there are no clusters")
    if len(stratum) < 2:
        reject("a sample must have at least two clusters", len(stratum), "one says nothing about their spread")
    if np.any(drawn == 1) and lonely == "refuse":
        alone = [str(name) for name, number in zip(names, drawn, strict=True) if number == 1]
        rule = "every stratum must have at least two clusters"
        reject(rule, f"one in {', '.join(alone[:5])}", "use lonely='collapse' or lonely='centre', or merge strata")
    if lonely == "collapse":
        stratum, drawn, there = _collapse(stratum, drawn, there)
    return Units(unit, stratum, drawn, drawn / there, None if inner is None else _second_stage(unit, second, inner))


def _numbered(place: Codes, own: Column, strata: int) -> tuple[Codes, Codes, Codes]:
    """The cluster of each row, by number, the stratum of each cluster, and how many each stratum has."""
    code = np.arange(len(place)) if own is None else codes(own, "clusters")[0]
    span = int(code.max()) + 1
    pairs, unit = np.unique(place * span + code, return_inverse=True)  # one number for stratum and cluster
    return unit, pairs // span, np.bincount(pairs // span, minlength=strata)


def _second_stage(cluster: Codes, second: Column, population: Sizes) -> Units:
    """Who was drawn inside of clusters; a person for each row where there is no column for it."""
    names = tuple(range(int(cluster.max()) + 1))
    unit, stratum, drawn = _numbered(cluster, second, len(names))
    there = _population(population, cluster, names, False)
    if np.any(there < drawn):
        reject("the second `population` must be at least as many as were drawn in each cluster", "fewer", "it has all")
    if alone := int(np.count_nonzero((drawn == 1) & (there > 1))):
        remedy = "merge clusters, or leave out `population`: the errors are then rather too large"
        reject("at least two must be drawn in every cluster", f"{alone} clusters with one of several", remedy)
    return Units(unit, stratum, drawn, drawn / there)


def _population(sizes: Sizes, place: Codes, names: tuple[Any, ...], stratified: bool) -> Array:
    """How many clusters each stratum has in all: infinite where that is not said."""
    if sizes is None:
        return np.full(len(names), np.inf)
    if isinstance(sizes, np.ndarray):
        first = np.unique(place, return_index=True)[1]
        if sizes.dtype.kind not in "iuf" or not np.all(sizes == sizes[first][place]):
            rule = "a column `population` must hold one number for all rows of a stratum or cluster"
            reject(
                rule, "several" if sizes.dtype.kind in "iuf" else f"values of {sizes.dtype}", "it counts all of them"
            )
        return sizes[first].astype(np.float64)
    if isinstance(sizes, Mapping):
        unknown = [name for name in names if name not in sizes]
        if unknown or not stratified:
            reject("`population` must name every stratum", f"{len(unknown)} not named", "each has its own number")
        return np.array([float(exact(sizes[name], "population")) for name in names])
    if stratified and len(names) > 1:
        rule = "`population` must be a number of clusters for each stratum, by name or in a column"
        reject(rule, type(sizes).__name__, "one number for all would not say how they are shared")
    return np.array([float(exact(sizes, "population"))] * len(names))


def _collapse(stratum: Codes, drawn: Codes, there: Array) -> tuple[Codes, Codes, Array]:
    """Strata of one cluster merged with the next in order; the last with the one before it."""
    into, number = np.arange(len(drawn)), drawn.copy()
    for place in range(len(drawn)):
        if number[place] == 1:
            target = place + 1 if place + 1 < len(drawn) else into[place - 1]
            number[target] += 1
            number[place] = 0
            into[into == into[place]] = target
    strata, merged = np.unique(into, return_inverse=True)
    size, total = np.bincount(merged, drawn, len(strata)), np.zeros(len(strata))
    np.add.at(total, merged, there)
    return merged[stratum].astype(np.intp), size.astype(np.int64), total
