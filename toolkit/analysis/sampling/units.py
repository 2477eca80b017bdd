"""Sampling units: clusters in strata, and the variance of a total over them.

Let z be the sum of a cluster's linearized values, and suppose that m of the M clusters of a stratum were drawn, f = m /
M. The variance of a total is the sum over strata of (1 - f) m / (m - 1) times the sum over clusters of (z - mean z)**2
(Taylor linearization; Binder 1983). If people were also sampled within clusters, each cluster adds f times the same
variance for its second stage, in which the cluster is the stratum (Särndal, Swensson and Wretman 1992, 4.3).
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from toolkit.analysis.sampling.inputs import codes
from toolkit.core.arrays import Array, ArrayLike, Codes, Label, Mask
from toolkit.core.checks import Number, check_choice, exact_fraction, reject
from toolkit.core.covers import Covers
from toolkit.core.estimate import Estimate
from toolkit.core.inference.intervals import Student

Noise: TypeAlias = ArrayLike | None
"""The part of each score's variance that is due to randomization: "shares", a number, or one number per row."""
Column: TypeAlias = npt.NDArray[Any] | None
Sizes: TypeAlias = Number | Mapping[Any, Number] | Column
"""Population sizes of the strata, by name or in a column; None for an infinite population."""
Names: TypeAlias = Iterable[Label] | None
"""The names of the columns of scores."""
ALIKE = "all answers are equal, so the error of their mean is not known: there is no interval"


@dataclass(frozen=True, eq=False)
class Linearization:
    """A statistic of weighted scores and its linear approximation.

    `influence` is the derivative of the value with respect to a row's weight, `factors` are the factors of the rows'
    scores, and `people` is the number of rows in the domain that have a score.
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
    """Compute the weighted mean of the scores S, sum w S / sum w over the domain, column by column."""
    if not inside.any(axis=0).all():
        reject("`where` must include somebody with a score", "nobody", "an empty domain has no mean")
    share = np.where(inside, weights[:, None], 0.0)
    share /= share.sum(axis=0)
    domain_scores = np.where(inside, scores, 0.0)
    value = (share * domain_scores).sum(axis=0)
    influence = (domain_scores - value) * share / weights[:, None]
    return Linearization(value, influence, share, int(inside.any(axis=1).sum()))


def total(scores: Array, weights: Array, inside: Mask) -> Linearization:
    """Compute the weighted total of the scores S, sum w S over the domain, column by column."""
    domain_scores = np.where(inside, scores, 0.0)
    factors = np.where(inside, weights[:, None], 0.0)
    value = (factors * domain_scores).sum(axis=0)
    return Linearization(value, domain_scores, factors, int(inside.any(axis=1).sum()))


def randomization(factors: Array, scores: Array, fraction: Array, noise: Noise) -> Array:
    """Return the randomization variance that the finite population correction must not remove.

    It is the sum over people of fraction * factor**2 * variance of the score given the answer. For scores S of options
    that variance is estimated without bias by S S' - diag(S), because an answer either is an option or is not.
    """
    if noise is None:
        remedy = "write noise='shares' for scores of options, noise=0 for plain answers, or a variance per row"
        rule = "with a `population`, `noise` must give the variance of the scores that is due to randomization"
        reject(rule, "nothing", remedy)
    weighted = np.nan_to_num(scores) * factors
    if isinstance(noise, str):
        if noise != "shares":
            rule = "`noise` must be 'shares', a number, or one number per row"
            reject(rule, repr(noise)[:40], "for scores of options write noise='shares'")
        diagonal = fraction @ (np.nan_to_num(scores) * factors**2)
        return np.asarray((weighted * fraction[:, None]).T @ weighted - np.diag(diagonal))
    variance = np.asarray(noise, dtype=np.float64)
    if variance.ndim > 1 or (variance.ndim and len(variance) != len(scores)) or not np.all(variance >= 0):
        reject("`noise` must be at least 0, one number per row", f"shape {variance.shape}", "it is a variance")
    return np.asarray((factors * (fraction * variance)[:, None]).T @ factors)


def as_estimate(
    sums: Linearization, cov: Array, df: int, single: bool, labels: Names, method: str, covers: Covers
) -> Estimate:
    """Return an estimate with a t interval that has the sample's degrees of freedom."""
    se = np.sqrt(np.maximum(np.diag(cov), 0))
    value: Any = float(sums.value[0]) if single else sums.value
    error: Any = float(se[0]) if single else se
    names = tuple(labels) if labels is not None else ("mean",) if single else tuple(range(len(se)))
    if len(names) != len(se):
        reject(f"`labels` must name {len(se)} columns", len(names), "give one label for each column of scores")
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
    """Return a mean without a standard error if all scores are equal, because the error is unknown rather than 0."""
    highest = np.where(inside, scores, -np.inf).max(axis=0)
    lowest = np.where(inside, scores, np.inf).min(axis=0)
    equal = highest == lowest
    if not equal.any() or not isinstance(estimate.basis, Student):
        return estimate
    se = np.where(equal, np.nan, estimate.se)
    error = se if np.ndim(estimate.value) else float(se[0])
    return replace(estimate, se=error, notes=(ALIKE,), basis=replace(estimate.basis, se=error))


Lonely = Literal["refuse", "collapse", "centre"]


@dataclass(frozen=True, eq=False)
class Units:
    """Clusters in strata.

    `unit` is the cluster of each row and `stratum` the stratum of each cluster. `counts` are the numbers of sampled
    clusters in each stratum, and `fraction` is their share of all clusters. `within` is the second stage, whose strata
    are the clusters.
    """

    unit: Codes
    stratum: Codes
    counts: Codes
    fraction: Array
    within: "Units | None" = None

    @property
    def df(self) -> int:
        """Degrees of freedom: the number of clusters minus the number of strata."""
        return len(self.stratum) - len(self.counts)

    def df_of(self, inside: Mask) -> int:
        """Return the degrees of freedom of a domain: clusters with members minus their strata."""
        members = np.unique(self.unit[inside])
        return len(members) - len(np.unique(self.stratum[members]))

    @property
    def without_population(self) -> "Units":
        """The same units, sampled from an infinite population."""
        return replace(self, fraction=np.zeros(len(self.counts)), within=None)

    def covariance(self, values: Array, share: Array | float = 1.0) -> Array:
        """Return the covariance of the sum of `values` over rows, times `share`.

        Clusters are compared with the mean of their stratum. A stratum's only cluster is compared with the mean of all
        clusters.
        """
        sums = self.totals(values)
        strata_sums = np.stack([np.bincount(self.stratum, column, len(self.counts)) for column in sums.T], axis=1)
        centred = sums - (strata_sums / self.counts[:, None])[self.stratum]
        lonely = self.counts == 1
        if lonely.any():  # only with lonely="centre": `units` rejects or merges such strata otherwise
            centred[lonely[self.stratum]] = (sums - sums.mean(axis=0))[lonely[self.stratum]]
        with np.errstate(divide="ignore"):
            factor = share * (1 - self.fraction) * np.where(lonely, 1.0, self.counts / (self.counts - 1.0))
        cov = np.asarray((centred * factor[self.stratum, None]).T @ centred)
        return cov if self.within is None else cov + self.within.covariance(values, self.fraction[self.stratum])

    def totals(self, values: Array) -> Array:
        """Return the sum of `values` over the rows of each cluster."""
        return np.stack([np.bincount(self.unit, column, len(self.stratum)) for column in values.T], axis=1)

    def row_fraction(self) -> Array:
        """Return the sampling fraction of each row: its cluster's fraction times the fraction within the cluster."""
        fraction = np.asarray(self.fraction[self.stratum[self.unit]])
        return fraction if self.within is None else fraction * self.within.row_fraction()


def units(
    rows: int,
    strata: Column,
    clusters: Column | tuple[Column, Column],
    population: Sizes | tuple[Sizes, Sizes],
    lonely: Lonely,
) -> Units:
    """Return the sampling units of these columns; clusters may be numbered within strata or across them."""
    check_choice(lonely, "lonely", ("refuse", "collapse", "centre"))
    row_stratum, names = (np.zeros(rows, dtype=np.intp), ("all",)) if strata is None else codes(strata, "strata")
    first, second = clusters if isinstance(clusters, tuple) else (clusters, None)
    outer, inner = population if isinstance(population, tuple) else (population, None)
    unit, stratum, counts = _numbered(row_stratum, first, len(names))
    sizes = _population(outer, row_stratum, names, strata is not None)
    if np.any(sizes < counts):
        rule = "`population` must be at least the number of clusters in the sample"
        reject(rule, "fewer", "without clusters it is the number of people")
    if len(stratum) < 2:
        reject("a sample must have at least two clusters", len(stratum), "one cluster has no variance")
    if np.any(counts == 1) and lonely == "refuse":
        alone = [str(name) for name, count in zip(names, counts, strict=True) if count == 1]
        rule = "every stratum must have at least two clusters"
        reject(rule, f"one in {', '.join(alone[:5])}", "use lonely='collapse' or lonely='centre', or merge strata")
    if lonely == "collapse":
        stratum, counts, sizes = _collapse(stratum, counts, sizes)
    return Units(unit, stratum, counts, counts / sizes, None if inner is None else _second_stage(unit, second, inner))


def _numbered(row_stratum: Codes, clusters: Column, strata: int) -> tuple[Codes, Codes, Codes]:
    """Return the cluster of each row, the stratum of each cluster, and the number of clusters in each stratum."""
    code = np.arange(len(row_stratum)) if clusters is None else codes(clusters, "clusters")[0]
    span = int(code.max()) + 1
    # Each pair of stratum and cluster has its own code, because clusters may be numbered within strata.
    pairs, unit = np.unique(row_stratum * span + code, return_inverse=True)
    return unit, pairs // span, np.bincount(pairs // span, minlength=strata)


def _second_stage(cluster: Codes, second: Column, population: Sizes) -> Units:
    """Return the units of the second stage, whose strata are the clusters; without a column each row is one unit."""
    names = tuple(range(int(cluster.max()) + 1))
    unit, stratum, counts = _numbered(cluster, second, len(names))
    sizes = _population(population, cluster, names, False)
    if np.any(sizes < counts):
        rule = "the second `population` must be at least the number of people sampled in each cluster"
        reject(rule, "fewer", "it is the number of all people in the cluster")
    if alone := int(np.count_nonzero((counts == 1) & (sizes > 1))):
        remedy = "merge clusters, or leave out `population`: the errors are then conservative"
        rule = "at least two units must be sampled in every cluster"
        reject(rule, f"{alone} clusters with one unit of several", remedy)
    return Units(unit, stratum, counts, counts / sizes)


def _population(sizes: Sizes, row_stratum: Codes, names: tuple[Any, ...], stratified: bool) -> Array:
    """Return the number of all clusters of each stratum, which is infinite if it is not given."""
    if sizes is None:
        return np.full(len(names), np.inf)
    if isinstance(sizes, np.ndarray):
        first = np.unique(row_stratum, return_index=True)[1]
        if sizes.dtype.kind not in "iuf" or not np.all(sizes == sizes[first][row_stratum]):
            rule = "a column `population` must hold one number for all rows of a stratum or cluster"
            received = "several" if sizes.dtype.kind in "iuf" else f"values of {sizes.dtype}"
            reject(rule, received, "it is the size of the whole stratum or cluster")
        return sizes[first].astype(np.float64)
    if isinstance(sizes, Mapping):
        unknown = [name for name in names if name not in sizes]
        if unknown or not stratified:
            remedy = "give {stratum: number of clusters}, with `strata`"
            reject("`population` must name every stratum", f"{len(unknown)} not named", remedy)
        return np.array([float(exact_fraction(sizes[name], "population")) for name in names])
    if stratified and len(names) > 1:
        rule = "`population` must be a number of clusters for each stratum, by name or in a column"
        reject(rule, type(sizes).__name__, "one number does not say how clusters are distributed over strata")
    return np.array([float(exact_fraction(sizes, "population"))] * len(names))


def _collapse(stratum: Codes, counts: Codes, sizes: Array) -> tuple[Codes, Codes, Array]:
    """Merge strata of one cluster with the next stratum, and the last stratum with the one before it."""
    target_of, remaining = np.arange(len(counts)), counts.copy()
    for index in range(len(counts)):
        if remaining[index] == 1:
            target = index + 1 if index + 1 < len(counts) else target_of[index - 1]
            remaining[target] += 1
            remaining[index] = 0
            target_of[target_of == target_of[index]] = target
    strata, merged = np.unique(target_of, return_inverse=True)
    merged_counts, merged_sizes = np.bincount(merged, counts, len(strata)), np.zeros(len(strata))
    np.add.at(merged_sizes, merged, sizes)
    return merged[stratum].astype(np.intp), merged_counts.astype(np.int64), merged_sizes
