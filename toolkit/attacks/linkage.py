"""Names taken off, and put back on: who is unique by a few columns, and joins with a table that has names."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from toolkit.attacks.equivalence_classes import alone, codes, columns_of, floats, joined, singletons, values_of
from toolkit.core.arrays import Array, Codes, objects
from toolkit.core.checks import refuse, whole
from toolkit.core.extras import extra
from toolkit.core.inference.digits import concise
from toolkit.core.progress import chunks

if TYPE_CHECKING:
    import pandas as pd

Places = npt.NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class Profile:
    """For each set of columns the share of rows that no other row equals; the most telling sets first."""

    shares: dict[tuple[str, ...], float]
    rows: int

    def to_frame(self) -> "pd.DataFrame":
        pd = extra("pandas")

        table = [
            (" + ".join(names), len(names), share, round(share * self.rows)) for names, share in self.shares.items()
        ]
        return pd.DataFrame(table, columns=["columns", "number", "share unique", "rows unique"])


def uniqueness(frame: Any, columns: Sequence[str] | None = None, *, sizes: Sequence[int] = (1, 2)) -> Profile:
    """The share of rows that are unique by each set of so many columns, as in "87 % are unique by ZIP, birth
    date and sex".

    >>> people = {"zip": [1, 1, 2, 2], "year": [70, 71, 70, 70]}
    >>> uniqueness(people).shares
    {('zip', 'year'): 0.5, ('year',): 0.25, ('zip',): 0.0}

    References: L. Sweeney, Simple demographics often identify people uniquely (2000).
    """
    coded = {name: codes(column) for name, column in columns_of(frame, columns).items()}
    n = len(next(iter(coded.values())))
    sets = [chosen for size in sizes for chosen in combinations(coded, whole(size, "sizes"))]
    found = {}
    for part in chunks(len(sets), 1, "counting unique rows"):
        chosen = sets[part.start]
        found[chosen] = singletons(*joined([coded[name] for name in chosen])) / n
    ranked = sorted(found.items(), key=lambda item: (-item[1], len(item[0])))
    return Profile(dict(ranked), n)


def exposure(frame: Any, columns: Sequence[str] | None = None, *, size: int = 2) -> npt.NDArray[np.int64]:
    """For each row, by how many sets of `size` columns it is unique: the highest numbers are the most exposed
    people.
    """
    coded = {name: codes(column) for name, column in columns_of(frame, columns).items()}
    sets = list(combinations(coded, whole(size, "size")))
    total = np.zeros(len(next(iter(coded.values()))), dtype=np.int64)
    for part in chunks(len(sets), 1, "looking for exposed rows"):
        total += alone(joined([coded[name] for name in sets[part.start]])[0])
    return total


@dataclass(frozen=True, eq=False)
class Links:
    """Rows of the anonymous table and the rows of the public one that they were matched with."""

    anonymous: Places
    public: Places
    ambiguous: int

    def precision(self, truth: npt.ArrayLike) -> float:
        """The share of matches that are right; `truth` has the public row of each anonymous row, -1 for
        none.
        """
        true = floats(truth, "truth")
        return float(np.mean(true[self.anonymous] == self.public)) if len(self.anonymous) else 1.0

    def recall(self, truth: npt.ArrayLike) -> float:
        """The share of those who are in both tables that were matched rightly."""
        true = floats(truth, "truth")
        return float(np.count_nonzero(true[self.anonymous] == self.public) / np.count_nonzero(true >= 0))


def link(anonymous: Any, public: Any, on: Sequence[str]) -> Links:
    """Join two tables on shared columns, where a combination occurs exactly once in each: Sweeney's attack.

    >>> hospital = {"zip": ["02138", "02139", "02139"], "born": [1945, 1970, 1970]}
    >>> voters = {"zip": ["02139", "02138"], "born": [1970, 1945]}
    >>> links = link(hospital, voters, on=["zip", "born"])
    >>> links.anonymous, links.public, links.ambiguous
    (array([0]), array([1]), 2)
    """
    ours, theirs = columns_of(anonymous, on), columns_of(public, on)
    split = len(next(iter(ours.values())))
    together, _ = joined([codes(_stacked(column, theirs[name])) for name, column in ours.items()])
    classes = np.unique(together, return_inverse=True)[1]
    first, second = classes[:split], classes[split:]
    size = int(classes.max()) + 1
    here, there = np.bincount(first, minlength=size), np.bincount(second, minlength=size)
    matched = np.flatnonzero((here == 1) & (there == 1))
    place_here, place_there = np.zeros(size, dtype=np.intp), np.zeros(size, dtype=np.intp)
    place_here[first], place_there[second] = np.arange(len(first)), np.arange(len(second))
    ambiguous = int(here[(here > 0) & (there > 0) & ((here > 1) | (there > 1))].sum())
    return Links(place_here[matched], place_there[matched], ambiguous)


def _stacked(first: Any, second: Any) -> Any:
    """One column after the other: as an array where both hold one type, else cell by cell."""
    both = [values_of(first), values_of(second)]
    alike = both[0].dtype.kind == both[1].dtype.kind
    return np.concatenate(both) if alike else objects([*both[0], *both[1]])


@dataclass(frozen=True)
class Ratings:
    """Sparse ratings: one entry each for user, item, stars and day."""

    user: Codes
    item: Codes
    stars: Array
    day: Array


@dataclass(frozen=True)
class Match:
    """The best candidate, how much it scored, and how far it stands out: the gap to the second, in standard
    deviations.
    """

    user: int
    score: float
    eccentricity: float

    __repr__ = concise

    @property
    def accepted(self) -> bool:
        """Whether it stands out enough to be believed: an eccentricity above 1.5, as in the paper."""
        return self.eccentricity > 1.5


def recognize(known: Ratings, released: Ratings, *, stars_scale: float = 1.5, day_scale: float = 30.0) -> Match:
    """Find a person of whom a few approximate ratings are known among anonymous ones: the Netflix attack.

    A user scores, for each known item they rated, e**(-|stars apart| / 1.5) + e**(-|days apart| / 30),
    divided by ln(1 + raters of the item): rare items count more.

    References: A. Narayanan and V. Shmatikov, Robust de-anonymization of large sparse datasets (2008).
    """
    if not len(known.item):
        refuse("`known` must hold at least one rating", "none", "there is nothing to recognize")
    items = int(max(released.item.max(), known.item.max())) + 1
    raters = np.bincount(released.item, minlength=items)
    stars, day = np.full(items, np.nan), np.full(items, np.nan)
    stars[known.item], day[known.item] = known.stars, known.day
    common = np.flatnonzero(~np.isnan(stars[released.item]))
    item = released.item[common]
    near = np.exp(-np.abs(released.stars[common] - stars[item]) / stars_scale)
    near += np.exp(-np.abs(released.day[common] - day[item]) / day_scale)
    weight = near / np.log1p(raters[item])
    scores = np.bincount(released.user[common], weights=weight, minlength=int(released.user.max()) + 1)
    second, best = np.sort(scores)[-2:]
    return Match(int(scores.argmax()), float(best), float((best - second) / max(scores.std(), 1e-12)))
