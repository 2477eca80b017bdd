"""Two groups: their counts and probabilities, however they are given, and likelihoods along a line."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from toolkit.core.arrays import Array, ArrayLike, Values, as_array
from toolkit.core.checks import Number, probability, refuse
from toolkit.core.inference.digits import concise
from toolkit.core.inference.special import chdtrc, xlogy
from toolkit.frames.table import array_of
from toolkit.local.matrix.encoding import checked_counts, encode

Chances: TypeAlias = Sequence[Number] | Mapping[Any, Number]
"""A probability for each of two groups, in their order or by their names."""


@dataclass(frozen=True)
class ModelTest:
    """A test of what a model leaves open.

    Parameters
    ----------
    statistic : float
        The likelihood ratio, or the distance in standard errors.
    p : float
        The p-value.
    null : str
        What is tested.

    Examples
    --------
    >>> from toolkit.analysis import cheater_detection
    >>> cheater_detection([[748, 483], [201, 968]], (0.2, 0.8)).test.null
    'there are no cheaters'
    """

    statistic: float
    p: float
    null: str

    __repr__ = concise


@dataclass(frozen=True, eq=False)
class Groups:
    """How many of each group said no and yes, one row per group, and the probability that tells the groups apart."""

    counts: Array
    p: tuple[float, float]

    @property
    def n(self) -> int:
        return int(self.counts.sum())

    @property
    def seen(self) -> Array:
        return np.asarray(self.counts[:, 1] / self.counts.sum(axis=1))

    @property
    def variance(self) -> Array:
        return np.asarray(self.seen * (1 - self.seen) / (self.counts.sum(axis=1) - 1))

    def log_likelihood(self, yes: ArrayLike) -> float:
        """The log-likelihood if yes had these probabilities in the two groups."""
        yes = np.asarray(yes)
        return float(np.sum(xlogy(self.counts[:, 1], yes) + xlogy(self.counts[:, 0], 1 - yes)))

    @property
    def best(self) -> float:
        """The log-likelihood of the shares as they were seen: no model can do better."""
        return self.log_likelihood(self.seen)

    def likeliest(self, start: Iterable[float], end: Iterable[float]) -> tuple[float, float]:
        """Where from `start` (0) to `end` (1) the likelihood is highest, and how high: it is concave there."""
        lines = [(float(a), float(b) - float(a)) for a, b in zip(start, end, strict=True)]
        counts = [(float(no), float(yes)) for no, yes in self.counts]

        def rises(at: float) -> bool:
            slope = 0.0
            for (a, b), (no, yes) in zip(lines, counts, strict=True):
                here = a + at * b
                slope += b * yes / here if yes and b else 0.0
                slope -= b * no / (1 - here) if no and b else 0.0
            return slope > 0

        low, high = 0.0, 1.0
        for _ in range(60):  # the ends themselves, where a slope may be infinite, are looked at below
            middle = (low + high) / 2
            low, high = (middle, high) if rises(middle) else (low, middle)

        def height(at: float) -> float:
            return self.log_likelihood([a + at * b for a, b in lines])

        best = max((0.0, (low + high) / 2, 1.0), key=height)
        return best, height(best)


def read_groups(reports: Values, p: Chances, by: Values | None, labels: tuple[str, str] = ("no", "yes")) -> Groups:
    """Counts of no and yes of two groups, in the order of `p`; or reports, and `by` their groups, by name in `p`."""
    if not isinstance(p, Mapping) and (not isinstance(p, Sequence) or isinstance(p, str)):
        remedy = "(0.2, 0.8), or {group: 0.2, other: 0.8}"
        refuse("`p` must hold a probability for each group", type(p).__name__, remedy, TypeError)
    chances = [float(probability(one, "p")) for one in (p.values() if isinstance(p, Mapping) else p)]
    if len(chances) != 2:
        refuse("there must be two groups", len(chances), "their odds are compared")
    if chances[0] == chances[1]:
        refuse("the groups must have different probabilities", f"{chances[0]:g} twice", "equal ones tell nothing apart")
    if by is None:
        table = as_array(reports)
        if table.shape != (2, 2):
            rule = f"counts must be two rows, how many {labels[0]} and {labels[1]} in each group"
            refuse(rule, f"shape {table.shape}", "or give reports, and `by` for their groups")
        counts = np.array([checked_counts(row, 2) for row in table])
    else:
        codes, groups = encode(reports, labels, "reports").codes, array_of(by)
        if groups.shape != codes.shape:
            received = f"{groups.shape} for {codes.shape}"
            refuse("`by` must have one group for each report", received, "they belong together")
        places = group_places(groups, chances_by_group(p))
        counts = np.bincount(2 * places + codes, minlength=4).reshape(2, 2).astype(float)
    if (small := counts.sum(axis=1).min()) < 2:
        refuse("each group must have at least two people", int(small), "there would be no variance")
    return Groups(counts, (chances[0], chances[1]))


def chances_by_group(p: object) -> dict[Any, float]:
    """The probability that tells each group apart, by the group's name."""
    if not isinstance(p, Mapping):
        rule = "`p` must be a mapping, {group: probability}"
        refuse(rule, type(p).__name__, "it says which group is which", TypeError)
    return {name: float(probability(chance, "p")) for name, chance in p.items()}


def group_places(groups: npt.NDArray[Any], chances: Mapping[Any, float]) -> npt.NDArray[np.intp]:
    """For each row the place of its group among those of `p`."""
    places = np.full(len(groups), -1, dtype=np.intp)
    for place, name in enumerate(chances):
        places[groups == name] = place
    if unknown := int(np.count_nonzero(places < 0)):
        received = f"{unknown} of {len(places)} that are not"
        refuse("every report must be of one of the groups in `p`", received, "its odds are not known")
    return places


def standard_errors(cov: Array) -> Array:
    """Roots of the variances. Where all answers are equal there is none, and zero would be false certainty."""
    variances = np.diag(cov)
    return np.sqrt(np.where(variances > 0, variances, np.nan))


def in_errors(distance: float, se: float) -> float:
    """A distance in standard errors; without an error none is 0, and any other beyond all of them."""
    return distance / se if se > 0 else math.copysign(math.inf, distance) if distance else 0.0


def boundary_test(ratio: float, null: str) -> ModelTest:
    """A likelihood ratio whose null lies on the edge: half the time 0, else chi-squared with one degree of freedom."""
    ratio = max(ratio, 0.0)
    return ModelTest(ratio, 1.0 if ratio < 1e-9 else float(chdtrc(1, ratio) / 2), null)


def outside_notes(groups: Groups, highest: float, names: str) -> tuple[str, ...]:
    """What to say where the unbiased estimate leaves the possible: and whether even the nearest model fits."""
    ratio = 2 * (groups.best - highest)
    if ratio < 1e-9:
        return ()
    p = float(chdtrc(2, ratio))  # at most 2 degrees of freedom: an upper bound
    note = f"the unbiased estimate lies outside what {names} can be; `likeliest` is inside"
    if p >= 0.05:
        return (note,)
    size = 10.0 ** np.floor(np.log10(max(p, 1e-300)))
    above = f"{np.ceil(p / size) * size:.0e}"
    doubt = f"the counts contradict the model: likelihood ratio {ratio:.2f}, p at most {above} for large groups"
    return (note, doubt)


# Three kinds of people behind two groups: who always say yes, who say yes as often as their group's device makes them,
# and who always say no.
#
# Cheater detection and the lie detector are this model with different names for the kinds.


@dataclass(frozen=True, eq=False)
class Kinds:
    """`sometimes` : in each group the chance that people of the second kind say yes."""

    groups: Groups
    sometimes: tuple[float, float]

    @cached_property
    def _solve(self) -> Array:
        """What turns the shares of yes of both groups into shares of the kinds, up to a constant."""
        first, second = self.sometimes
        return np.array([[second, -first], [-1, 1], [1 - second, first - 1]]) / (second - first)

    @cached_property
    def value(self) -> Array:
        return np.asarray(self._solve @ self.groups.seen + np.array([0.0, 0.0, 1.0]))

    @cached_property
    def cov(self) -> Array:
        return np.asarray(self._solve @ np.diag(self.groups.variance) @ self._solve.T)

    @cached_property
    def likeliest(self) -> tuple[Array, float]:
        """The likeliest shares, and how likely: the unbiased ones where possible, else the best point of the edges."""
        if self.value.min() >= 0:
            return self.value, self.groups.best
        corners = ((1.0, 1.0), self.sometimes, (0.0, 0.0))
        edges = []
        for one, other in ((0, 1), (0, 2), (1, 2)):
            at, height = self.groups.likeliest(corners[one], corners[other])
            shares = np.zeros(3)
            shares[one], shares[other] = 1 - at, at
            edges.append((height, shares))
        height, shares = max(edges, key=lambda pair: pair[0])
        return shares, height

    def without_the_last(self) -> tuple[float, float]:
        """The share of the first kind if nobody always says no, and how likely that is."""
        return self.groups.likeliest(self.sometimes, (1.0, 1.0))
