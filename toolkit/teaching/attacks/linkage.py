"""Names taken off, and put back on: who is unique by a few columns, and joins with a table that has names."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from toolkit.core.arrays import Array, Codes, DataFrame
from toolkit.core.checks import refuse, whole
from toolkit.core.extras import chunks
from toolkit.core.inference.digits import concise
from toolkit.teaching.attacks.equivalence_classes import (
    class_of_rows,
    codes,
    column,
    columns_of,
    join_codes,
    read_cells,
    singletons,
)

if TYPE_CHECKING:
    pass

__all__ = ["Ratings", "link", "recognize", "uniqueness"]

Indices = npt.NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class Profile:
    """For each set of columns the share of rows that no other row equals.

    Parameters
    ----------
    shares : dict
        From sets of columns to shares; the most telling sets first.
    rows : int
        How many rows there are.

    Examples
    --------
    >>> Profile({("zip",): 0.25}, 100).shares[("zip",)]
    0.25
    """

    shares: dict[tuple[str, ...], float]
    rows: int


def uniqueness(frame: DataFrame, columns: Sequence[str] | None = None, *, sizes: Sequence[int] = (1, 2)) -> Profile:
    """Compute the share of rows that are unique by each set of columns.

    Parameters
    ----------
    frame : frame or mapping
        A table of any engine, or a mapping from names to arrays.
    columns : sequence of str, optional
        Columns that an attacker may know; None for all.
    sizes : sequence of int
        How many columns a set has.

    Returns
    -------
    Profile
        The `shares` of unique rows, a mapping from sets of columns, as in "87 % are unique by ZIP, birth date and sex".

    References
    ----------
    L. Sweeney, Simple demographics often identify people uniquely (2000).

    Examples
    --------
    >>> people = {"zip": [1, 1, 2, 2], "year": [70, 71, 70, 70]}
    >>> uniqueness(people).shares
    {('zip', 'year'): 0.5, ('year',): 0.25, ('zip',): 0.0}
    """
    coded = {name: codes(one) for name, one in columns_of(frame, columns).items()}
    n = len(next(iter(coded.values())))
    sets = [names for size in sizes for names in combinations(coded, whole(size, "sizes"))]
    shares = {}
    for part in chunks(len(sets), 1, "counting unique rows"):
        names = sets[part.start]
        shares[names] = singletons(*join_codes([coded[name] for name in names])) / n
    return Profile(dict(sorted(shares.items(), key=lambda item: (-item[1], len(item[0])))), n)


@dataclass(frozen=True, eq=False)
class Links:
    """Rows of the anonymous table and the rows of the public one that they were matched with.

    Parameters
    ----------
    anonymous : NDArray
        Places in the anonymous table.
    public : NDArray
        Places in the public table, in the same order.
    ambiguous : int
        Anonymous rows whose combination occurs in both tables, but more than once in one.

    Examples
    --------
    >>> int(Links(np.array([0]), np.array([3]), 2).public[0])
    3
    """

    anonymous: Indices
    public: Indices
    ambiguous: int


def link(anonymous: DataFrame, public: DataFrame, on: Sequence[str]) -> Links:
    """Join two tables where a combination occurs exactly once in each: Sweeney's attack.

    Parameters
    ----------
    anonymous : frame or mapping
        A table without names.
    public : frame or mapping
        A table with names.
    on : sequence of str
        The columns that both have.

    Returns
    -------
    Links
        The matched rows of both tables, as indices `anonymous` and `public`, and the number of `ambiguous` rows.

    Examples
    --------
    >>> hospital = {"zip": ["02138", "02139", "02139"], "born": [1945, 1970, 1970]}
    >>> voters = {"zip": ["02139", "02138"], "born": [1970, 1945]}
    >>> links = link(hospital, voters, on=["zip", "born"])
    >>> links.anonymous, links.public, links.ambiguous
    (array([0]), array([1]), 2)
    """
    ours, theirs = columns_of(anonymous, on), columns_of(public, on)
    cells = {name: read_cells(one.cells) for name, one in ours.items()}
    split = len(next(iter(cells.values())))
    both = {name: column([*cells[name], *read_cells(theirs[name].cells)]) for name in cells}
    classes = class_of_rows(both)
    first, second = classes[:split], classes[split:]
    size = int(classes.max()) + 1
    here, there = np.bincount(first, minlength=size), np.bincount(second, minlength=size)
    matched = np.flatnonzero((here == 1) & (there == 1))
    place_here, place_there = np.zeros(size, dtype=np.intp), np.zeros(size, dtype=np.intp)
    place_here[first], place_there[second] = np.arange(len(first)), np.arange(len(second))
    ambiguous = int(here[(here > 0) & (there > 0) & ((here > 1) | (there > 1))].sum())
    return Links(place_here[matched], place_there[matched], ambiguous)


@dataclass(frozen=True)
class Ratings:
    """Sparse ratings, an entry per rating.

    Parameters
    ----------
    user : Codes
        Who rated.
    item : Codes
        What was rated.
    stars : Array
        How it was rated.
    day : Array
        When it was rated.

    Examples
    --------
    >>> Ratings(np.array([0]), np.array([5]), np.array([4.0]), np.array([12.0])).stars.tolist()
    [4.0]
    """

    user: Codes
    item: Codes
    stars: Array
    day: Array


@dataclass(frozen=True)
class Match:
    """The best candidate.

    Parameters
    ----------
    user : int
        Who it is.
    score : float
        How much it scored.
    eccentricity : float
        The gap to the second, in standard deviations.

    Examples
    --------
    >>> Match(user=7, score=3.2, eccentricity=1.8).user
    7
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

    A user scores, for each known item they rated, e**(-stars apart / 1.5) + e**(-days apart / 30),
    divided by ln(1 + raters of the item): rare items count more.

    Parameters
    ----------
    known : Ratings
        Ratings of the person, approximate.
    released : Ratings
        Ratings of everybody.
    stars_scale : float
        Stars apart at which a rating counts e times less.
    day_scale : float
        Days apart at which a rating counts e times less.

    Returns
    -------
    Match
        The best candidate: `user`, `score`, its `eccentricity` (the gap to the second in standard deviations), and
        whether it is `accepted` (an eccentricity above 1.5).

    References
    ----------
    A. Narayanan and V. Shmatikov, Robust de-anonymization of large sparse datasets (2008).

    Examples
    --------
    >>> released = Ratings(np.array([0, 0, 1]), np.array([0, 1, 1]), np.array([5.0, 1.0, 3.0]), np.zeros(3))
    >>> known = Ratings(np.array([0, 0]), np.array([0, 1]), np.array([5.0, 1.0]), np.zeros(2))
    >>> recognize(known, released).user
    0
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
