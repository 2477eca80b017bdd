"""k-anonymity and its kin: measured, reached by coarser values, and shown to be no promise.

A class is a set of rows that agree on the quasi-identifiers, the columns an attacker may know. k-anonymity
asks that classes be large; it says nothing about what their members have in common.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from toolkit.core.arrays import ArrayLike, Codes, DataFrame, Mask
from toolkit.core.checks import refuse, whole
from toolkit.frames.engines.cells import key
from toolkit.frames.engines.column import Column
from toolkit.teaching.attacks.equivalence_classes import class_of_rows, codes, column, columns_of, read_cells, values_of

__all__ = ["background", "bands", "generalize", "homogeneity", "k_anonymity", "left_over", "prefixes"]

Step = Callable[[Any], Any]


def k_anonymity(frame: DataFrame, columns: Sequence[str]) -> int:
    """Compute the size of the smallest class.

    Parameters
    ----------
    frame : frame or mapping
        A table of any engine, or a mapping from names to arrays.
    columns : sequence of str
        The quasi-identifiers.

    Returns
    -------
    int
        The k of k-anonymity.

    Examples
    --------
    >>> k_anonymity({"zip": [1, 1, 2, 2, 2]}, ["zip"])
    2
    """
    return int(np.bincount(class_of_rows(columns_of(frame, columns))).min())


def _read(frame: DataFrame, columns: Sequence[str], sensitive: str) -> tuple[dict[Any, Column], Column]:
    """The quasi-identifiers and the sensitive column, of one reading: an engine may give rows in another order."""
    names = [columns] if isinstance(columns, str) else list(columns)
    both = columns_of(frame, list(dict.fromkeys([*names, sensitive])))
    return {name: both[name] for name in names}, both[sensitive]


def _counts(rows: Codes, values: Codes) -> npt.NDArray[np.int64]:
    """Rows of each class by sensitive value, values in increasing order."""
    counts = np.zeros((int(rows.max()) + 1, int(values.max()) + 1), dtype=np.int64)
    np.add.at(counts, (rows, values), 1)
    return counts[:, counts.any(axis=0)]


@dataclass(frozen=True)
class GivenAway:
    """A class whose members all have the same sensitive value.

    Parameters
    ----------
    quasi : tuple
        The quasi-identifiers of the class.
    size : int
        How many members it has.
    value : object
        Their sensitive value.

    Examples
    --------
    >>> GivenAway(("law", "1990s"), 4, "yes").size
    4
    """

    quasi: tuple[Any, ...]
    size: int
    value: Any


def homogeneity(frame: DataFrame, columns: Sequence[str], sensitive: str) -> list[GivenAway]:
    """Find the first flaw: classes in which everyone has the same value, so that membership tells it.

    Parameters
    ----------
    frame : frame or mapping
        A table of any engine, or a mapping from names to arrays.
    columns : sequence of str
        The quasi-identifiers.
    sensitive : str
        The column of the sensitive values.

    Returns
    -------
    list of GivenAway
        The classes, the largest first: `quasi` is the class, `size` the number of its members, `value` their value.

    Examples
    --------
    >>> homogeneity({"course": ["logic"] * 3 + ["art"] * 2, "grade": ["B"] * 3 + ["A", "C"]}, ["course"], "grade")
    [GivenAway(quasi=('logic',), size=3, value='B')]
    """
    quasi, secret = _read(frame, columns, sensitive)
    rows = class_of_rows(quasi)
    _, first, sizes = np.unique(rows, return_index=True, return_counts=True)
    same = (_counts(rows, codes(secret)) > 0).sum(axis=1) == 1
    table, values = [one.cells() for one in quasi.values()], secret.cells()
    classes = [
        GivenAway(tuple(cells[first[c]] for cells in table), int(sizes[c]), values[first[c]])
        for c in np.flatnonzero(same)
    ]
    return sorted(classes, key=lambda one: -one.size)


def background(
    frame: DataFrame, sensitive: str, known: Mapping[str, Any], *, ruled_out: Sequence[Any] = ()
) -> dict[Any, float]:
    """Show the second flaw: what is left of a person's class when an attacker can rule values out.

    Parameters
    ----------
    frame : frame or mapping
        A table of any engine, or a mapping from names to arrays.
    sensitive : str
        The column of the sensitive values.
    known : mapping
        The person's quasi-identifiers as they stand in the frame.
    ruled_out : sequence
        Sensitive values that the person cannot have.

    Returns
    -------
    dict
        The belief in each value.

    Examples
    --------
    >>> table = {"zip": ["130**"] * 3, "ill": ["heart", "virus", "virus"]}
    >>> background(table, "ill", {"zip": "130**"}, ruled_out=["virus"])
    {'heart': 1.0}
    """
    quasi, secret = _read(frame, list(known), sensitive)
    values = secret.cells()
    inside = ~_among(values, ruled_out)
    for name, one in quasi.items():
        inside &= _among(one.cells(), [known[name]])
    if not inside.any():
        refuse("`known` must fit at least one row that is not ruled out", "none", "nobody is left")
    left = np.flatnonzero(inside)
    _, first, counts = np.unique(codes(secret)[left], return_index=True, return_counts=True)
    shares, names = (counts / len(left)).tolist(), [values[left[i]] for i in first]
    return read_cells(lambda: dict(zip(names, shares, strict=True)))


def _among(values: list[Any], listed: Sequence[Any]) -> Mask:
    keys = {key(one) for one in listed}
    return np.array([key(value) in keys for value in values], dtype=bool)


def bands(*widths: int) -> list[Step]:
    """Make ever wider ranges for numbers, and at last a star.

    Parameters
    ----------
    *widths : int
        Widths of the ranges.

    Returns
    -------
    list of callable
        A step per width, and the star.

    Examples
    --------
    >>> [step(37) for step in bands(5, 20)]
    ['35 to 39', '20 to 39', '*']
    """
    return [_band(whole(width, "widths")) for width in widths] + [_star]


def prefixes(*lengths: int) -> list[Step]:
    """Make ever shorter beginnings for codes such as ZIP, and at last a star.

    Parameters
    ----------
    *lengths : int
        Lengths of the beginnings.

    Returns
    -------
    list of callable
        A step per length, and the star.

    Examples
    --------
    >>> [step("02138") for step in prefixes(3, 2)]
    ['021**', '02***', '*']
    """
    return [_prefix(whole(length, "lengths")) for length in lengths] + [_star]


def _band(width: int) -> Step:
    return lambda value: f"{value // width * width} to {value // width * width + width - 1}"


def _prefix(length: int) -> Step:
    return lambda value: str(value)[:length] + "*" * (len(str(value)) - length)


def _star(_: object) -> str:
    return "*"


@dataclass(frozen=True, eq=False)
class Generalized:
    """Columns made coarse enough for k.

    Parameters
    ----------
    columns : dict
        The coarser columns, of the rows that were kept.
    steps : dict
        How many steps were taken in each.
    kept : NDArray
        Which rows were kept.

    Examples
    --------
    >>> Generalized({"age": np.array(["20-29"])}, {"age": 1}, np.array([True, False])).kept.sum()
    np.int64(1)
    """

    columns: dict[str, npt.NDArray[Any]]
    steps: dict[str, int]
    kept: npt.NDArray[np.bool_]

    @property
    def suppressed(self) -> int:
        """How many rows were dropped."""
        return int(np.count_nonzero(~self.kept))


def generalize(
    frame: DataFrame, ladders: Mapping[str, Sequence[Step]], k: int, *, suppress: float = 0.05
) -> Generalized:
    """Reach k-anonymity: coarsen the column where most is gained, step by step, and drop the few rows that remain.

    Parameters
    ----------
    frame : frame or mapping
        A table of any engine, or a mapping from names to arrays.
    ladders : mapping
        For each quasi-identifier its steps, from fine to coarse, such as `bands(5, 10)`; each from the original value.
    k : int
        The size that classes must have.
    suppress : float
        The share of rows that may be dropped.

    Returns
    -------
    Generalized
        The coarser `columns` of the rows that remain, the `steps` taken in each column, a mask of the rows that were
        `kept`, and the number of rows that were `suppressed`.

    Raises
    ------
    ValueError
        If classes are smaller even with every column at its coarsest.

    Examples
    --------
    >>> generalize({"age": [31, 34, 38, 39]}, {"age": bands(5)}, k=2).columns["age"].tolist()
    ['30 to 34', '30 to 34', '35 to 39', '35 to 39']
    """
    size = whole(k, "k", least=2)
    original = {name: values_of(one) for name, one in columns_of(frame, list(ladders)).items()}
    current, steps = dict(original), dict.fromkeys(original, 0)
    while True:
        small = _in_small_classes(current, size)
        if small.mean() <= suppress:
            return Generalized({name: cells[~small] for name, cells in current.items()}, steps, ~small)
        options = [name for name in original if steps[name] < len(ladders[name])]
        if not options:
            refuse("`k` must be within reach", k, "even with every column at its coarsest, classes are smaller")
        tried = {name: {**current, name: _coarser(original[name], ladders[name][steps[name]])} for name in options}
        best = min(options, key=lambda name: int(_in_small_classes(tried[name], size).sum()))
        current, steps[best] = tried[best], steps[best] + 1


def _in_small_classes(columns: Mapping[str, npt.NDArray[Any]], k: int) -> npt.NDArray[np.bool_]:
    rows = _classes(columns)
    return np.asarray(np.bincount(rows)[rows] < k)


def _classes(columns: Mapping[str, npt.NDArray[Any]]) -> Codes:
    return class_of_rows({name: column(cells) for name, cells in columns.items()})


def _coarser(values: npt.NDArray[Any], step: Step) -> npt.NDArray[Any]:
    """Each different value is put through the step once."""
    _, first, places = np.unique(codes(column(values)), return_index=True, return_inverse=True)
    plain = values.tolist()
    return np.array([step(plain[i]) for i in first], dtype=object)[places].astype(str)


def left_over(sensitive: ArrayLike, releases: Sequence[Generalized]) -> list[set[Any]]:
    """List for each person the sensitive values that occur in their class of every release.

    Parameters
    ----------
    sensitive : array-like
        A value per person.
    releases : sequence of Generalized
        Each was made from all of these people. A person who was dropped from a release is neither helped nor
        exposed by it: it rules nothing out.

    Returns
    -------
    list of set
        One value left is a disclosed secret.

    References
    ----------
    S. R. Ganta, S. P. Kasiviswanathan and A. Smith, Composition attacks and auxiliary information (2008).

    Examples
    --------
    >>> people = {"zip": [1, 1, 2, 2], "age": [30, 40, 30, 40]}
    >>> by_zip, by_age = (generalize(people, {name: []}, k=2) for name in people)
    >>> ill = ["flu", "gout", "cold", "flu"]
    >>> [[len(values) for values in left_over(ill, several)] for several in ([by_zip], [by_age], [by_zip, by_age])]
    [[2, 2, 2, 2], [2, 2, 2, 2], [1, 2, 2, 1]]
    """
    secret = column(sensitive)
    values, numbered = secret.cells(), codes(secret).tolist()
    if not releases or any(len(release.kept) != len(values) for release in releases):
        refuse("each of `releases` must be made from these people", "none, or of others", "its rows are theirs")
    left = [set(numbered) for _ in values]
    for release in releases:
        rows, classes = np.flatnonzero(release.kept), _classes(release.columns)
        present: list[set[int]] = [set() for _ in range(int(classes.max()) + 1)]
        for row, place in zip(rows.tolist(), classes.tolist(), strict=True):
            present[place].add(numbered[row])
        for row, place in zip(rows.tolist(), classes.tolist(), strict=True):
            left[row] &= present[place]
    by_code = dict(zip(numbered, values, strict=True))
    return read_cells(lambda: [{by_code[code] for code in one} for one in left])
