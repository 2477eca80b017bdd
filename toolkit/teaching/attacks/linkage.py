"""Linkage attacks: people whom a few columns identify uniquely, and joins with a table that has names."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import numpy.typing as npt

from toolkit.core.arrays import Array, Codes, DataFrame
from toolkit.core.checks import check_integer, reject
from toolkit.core.extras import chunks
from toolkit.core.inference.digits import concise
from toolkit.teaching.attacks.equivalence_classes import (
    as_column,
    count_singletons,
    join_codes,
    read_columns,
    read_without_quoting,
    row_classes,
    value_codes,
)

__all__ = ["Ratings", "link", "recognize", "uniqueness"]

Indices = npt.NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class UniquenessProfile:
    """The share of unique rows for each set of columns.

    Parameters
    ----------
    shares : dict
        A mapping from sets of columns to shares, in decreasing order of the shares.
    n_rows : int
        The number of rows.

    Examples
    --------
    >>> UniquenessProfile({("zip",): 0.25}, 100).shares[("zip",)]
    0.25
    """

    shares: dict[tuple[str, ...], float]
    n_rows: int


def uniqueness(
    frame: DataFrame, columns: Sequence[str] | None = None, *, sizes: Sequence[int] = (1, 2)
) -> UniquenessProfile:
    """Compute the share of rows that each set of columns identifies uniquely.

    Parameters
    ----------
    frame : frame or mapping
        A table of any engine, or a mapping from names to arrays.
    columns : sequence of str, optional
        Columns that an attacker may know; all columns if left out.
    sizes : sequence of int
        The numbers of columns in a set.

    Returns
    -------
    UniquenessProfile
        The shares of unique rows by set of columns, as in "87 % are unique by ZIP, birth date and sex".

    References
    ----------
    L. Sweeney, Simple demographics often identify people uniquely (2000).

    Examples
    --------
    >>> people = {"zip": [1, 1, 2, 2], "year": [70, 71, 70, 70]}
    >>> uniqueness(people).shares
    {('zip', 'year'): 0.5, ('year',): 0.25, ('zip',): 0.0}
    """
    coded = {name: value_codes(values) for name, values in read_columns(frame, columns).items()}
    n = len(next(iter(coded.values())))
    column_sets = [names for size in sizes for names in combinations(coded, check_integer(size, "sizes"))]
    shares = {}
    for chunk in chunks(len(column_sets), 1, "counting unique rows"):
        names = column_sets[chunk.start]
        shares[names] = count_singletons(*join_codes([coded[name] for name in names])) / n
    return UniquenessProfile(dict(sorted(shares.items(), key=lambda item: (-item[1], len(item[0])))), n)


@dataclass(frozen=True, eq=False)
class Links:
    """Matched rows of an anonymous and a public table.

    Parameters
    ----------
    anonymous : NDArray
        Indices in the anonymous table.
    public : NDArray
        The indices of the same rows in the public table.
    ambiguous : int
        The number of anonymous rows whose combination occurs in both tables, but more than once in one of them.

    Examples
    --------
    >>> int(Links(np.array([0]), np.array([3]), 2).public[0])
    3
    """

    anonymous: Indices
    public: Indices
    ambiguous: int


def link(anonymous: DataFrame, public: DataFrame, on: Sequence[str]) -> Links:
    """Join two tables by combinations of values that occur exactly once in each: Sweeney's attack.

    Parameters
    ----------
    anonymous : frame or mapping
        A table without names.
    public : frame or mapping
        A table with names.
    on : sequence of str
        The columns that both tables have.

    Returns
    -------
    Links
        The indices of the matched rows in both tables, and the number of ambiguous rows.

    Examples
    --------
    >>> hospital = {"zip": ["02138", "02139", "02139"], "born": [1945, 1970, 1970]}
    >>> voters = {"zip": ["02139", "02138"], "born": [1970, 1945]}
    >>> links = link(hospital, voters, on=["zip", "born"])
    >>> links.anonymous, links.public, links.ambiguous
    (array([0]), array([1]), 2)
    """
    anonymous_columns, public_columns = read_columns(anonymous, on), read_columns(public, on)
    cells = {name: read_without_quoting(values.cells) for name, values in anonymous_columns.items()}
    n = len(next(iter(cells.values())))
    # Both tables are numbered together, so that equal combinations have the same class.
    classes = row_classes(
        {name: as_column([*cells[name], *read_without_quoting(public_columns[name].cells)]) for name in cells}
    )
    anonymous_classes, public_classes = classes[:n], classes[n:]
    n_classes = int(classes.max()) + 1
    anonymous_counts = np.bincount(anonymous_classes, minlength=n_classes)
    public_counts = np.bincount(public_classes, minlength=n_classes)
    matched = np.flatnonzero((anonymous_counts == 1) & (public_counts == 1))
    anonymous_index, public_index = np.zeros(n_classes, dtype=np.intp), np.zeros(n_classes, dtype=np.intp)
    anonymous_index[anonymous_classes] = np.arange(len(anonymous_classes))
    public_index[public_classes] = np.arange(len(public_classes))
    is_in_both = (anonymous_counts > 0) & (public_counts > 0)
    ambiguous = int(anonymous_counts[is_in_both & ((anonymous_counts > 1) | (public_counts > 1))].sum())
    return Links(anonymous_index[matched], public_index[matched], ambiguous)


@dataclass(frozen=True, eq=False)
class Ratings:
    """Sparse ratings, with one entry per rating in each array.

    Parameters
    ----------
    user : Codes
        The users.
    item : Codes
        The items.
    stars : Array
        The ratings.
    day : Array
        The days of the ratings.

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
    """The user who is most likely to be the person in question.

    Parameters
    ----------
    user : int
        The user.
    score : float
        The score of the user.
    eccentricity : float
        The difference from the second best score, in standard deviations.

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
    def is_accepted(self) -> bool:
        """Whether the eccentricity exceeds 1.5, the threshold of Narayanan and Shmatikov."""
        return self.eccentricity > 1.5


def recognize(known: Ratings, released: Ratings, *, stars_scale: float = 1.5, day_scale: float = 30.0) -> Match:
    """Find a person among anonymous ratings from a few approximately known ratings: the Netflix attack.

    For each known item that a user rated, the score is ``e**(-|stars - stars'| / 1.5) + e**(-|days - days'| / 30)``,
    divided by ln(1 + raters of the item), so that rare items count more.

    Parameters
    ----------
    known : Ratings
        Approximate ratings of the person.
    released : Ratings
        The ratings of all users.
    stars_scale : float
        The difference in stars at which the weight falls by a factor of e.
    day_scale : float
        The difference in days at which the weight falls by a factor of e.

    Returns
    -------
    Match
        The best candidate, with its score and its eccentricity.

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
        reject("`known` must hold at least one rating", "none", "give some ratings of the person")
    n_items = int(max(released.item.max(), known.item.max())) + 1
    raters = np.bincount(released.item, minlength=n_items)
    stars, day = np.full(n_items, np.nan), np.full(n_items, np.nan)
    stars[known.item], day[known.item] = known.stars, known.day
    common = np.flatnonzero(~np.isnan(stars[released.item]))
    item = released.item[common]
    near = np.exp(-np.abs(released.stars[common] - stars[item]) / stars_scale)
    near += np.exp(-np.abs(released.day[common] - day[item]) / day_scale)
    weight = near / np.log1p(raters[item])
    scores = np.bincount(released.user[common], weights=weight, minlength=int(released.user.max()) + 1)
    second_best, best = np.sort(scores)[-2:]
    return Match(int(scores.argmax()), float(best), float((best - second_best) / max(scores.std(), 1e-12)))
