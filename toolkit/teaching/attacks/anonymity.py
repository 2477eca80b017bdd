"""Measure k-anonymity, achieve it by generalization, and demonstrate attacks that it does not prevent.

An equivalence class is a set of rows that agree on the quasi-identifiers, the columns that an attacker may know.
k-anonymity requires large classes, but it does not restrict what their members have in common.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from toolkit.core.arrays import ArrayLike, Codes, DataFrame, Mask
from toolkit.core.checks import check_integer, reject
from toolkit.frames.engines.cells import key
from toolkit.frames.engines.column import Column
from toolkit.teaching.attacks.equivalence_classes import (
    as_column,
    read_columns,
    read_without_quoting,
    row_classes,
    value_codes,
    values_of,
)

__all__ = ["background", "bands", "generalize", "homogeneity", "k_anonymity", "possible_values", "prefixes"]

CoarseningFunction = Callable[[Any], Any]


def k_anonymity(frame: DataFrame, columns: Sequence[str]) -> int:
    """Compute k, the size of the smallest equivalence class.

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
    return int(np.bincount(row_classes(read_columns(frame, columns))).min())


def _read_columns(frame: DataFrame, columns: Sequence[str], sensitive: str) -> tuple[dict[Any, Column], Column]:
    """Read the quasi-identifiers and the sensitive column together, because an engine may change the order of rows."""
    names = [columns] if isinstance(columns, str) else list(columns)
    all_columns = read_columns(frame, list(dict.fromkeys([*names, sensitive])))
    return {name: all_columns[name] for name in names}, all_columns[sensitive]


def _count_by_class(rows: Codes, values: Codes) -> npt.NDArray[np.int64]:
    """Count the rows of each class by sensitive value, in increasing order of the values."""
    counts = np.zeros((int(rows.max()) + 1, int(values.max()) + 1), dtype=np.int64)
    np.add.at(counts, (rows, values), 1)
    return counts[:, counts.any(axis=0)]


@dataclass(frozen=True)
class HomogeneousClass:
    """An equivalence class whose members all have the same sensitive value.

    Parameters
    ----------
    quasi : tuple
        The quasi-identifiers of the class.
    size : int
        The number of members.
    value : object
        The sensitive value of the members.

    Examples
    --------
    >>> HomogeneousClass(("law", "1990s"), 4, "yes").size
    4
    """

    quasi: tuple[Any, ...]
    size: int
    value: Any


def homogeneity(frame: DataFrame, columns: Sequence[str], sensitive: str) -> list[HomogeneousClass]:
    """Find equivalence classes whose members share one sensitive value: the homogeneity attack.

    Parameters
    ----------
    frame : frame or mapping
        A table of any engine, or a mapping from names to arrays.
    columns : sequence of str
        The quasi-identifiers.
    sensitive : str
        The column with the sensitive values.

    Returns
    -------
    list of HomogeneousClass
        The classes in decreasing order of their size.

    Examples
    --------
    >>> homogeneity({"course": ["logic"] * 3 + ["art"] * 2, "grade": ["B"] * 3 + ["A", "C"]}, ["course"], "grade")
    [HomogeneousClass(quasi=('logic',), size=3, value='B')]
    """
    quasi, sensitive_column = _read_columns(frame, columns, sensitive)
    rows = row_classes(quasi)
    _, first_rows, sizes = np.unique(rows, return_index=True, return_counts=True)
    is_homogeneous = (_count_by_class(rows, value_codes(sensitive_column)) > 0).sum(axis=1) == 1
    table, values = [column.cells() for column in quasi.values()], sensitive_column.cells()
    classes = [
        HomogeneousClass(tuple(cells[first_rows[c]] for cells in table), int(sizes[c]), values[first_rows[c]])
        for c in np.flatnonzero(is_homogeneous)
    ]
    return sorted(classes, key=lambda group: -group.size)


def background(
    frame: DataFrame, sensitive: str, known: Mapping[str, Any], *, ruled_out: Sequence[Any] = ()
) -> dict[Any, float]:
    """Compute beliefs about a person's sensitive value: the background knowledge attack.

    Parameters
    ----------
    frame : frame or mapping
        A table of any engine, or a mapping from names to arrays.
    sensitive : str
        The column with the sensitive values.
    known : mapping
        The person's quasi-identifiers, with values as in the frame.
    ruled_out : sequence
        Sensitive values that the person cannot have.

    Returns
    -------
    dict
        The probability of each value.

    Examples
    --------
    >>> table = {"zip": ["130**"] * 3, "ill": ["heart", "virus", "virus"]}
    >>> background(table, "ill", {"zip": "130**"}, ruled_out=["virus"])
    {'heart': 1.0}
    """
    quasi, sensitive_column = _read_columns(frame, list(known), sensitive)
    values = sensitive_column.cells()
    is_match = ~_isin(values, ruled_out)
    for name, identifier in quasi.items():
        is_match &= _isin(identifier.cells(), [known[name]])
    if not is_match.any():
        reject(
            "`known` must fit at least one row that is not ruled out", "none", "nobody is left: rule out fewer values"
        )
    rows = np.flatnonzero(is_match)
    _, first_rows, counts = np.unique(value_codes(sensitive_column)[rows], return_index=True, return_counts=True)
    shares, names = (counts / len(rows)).tolist(), [values[rows[i]] for i in first_rows]
    return read_without_quoting(lambda: dict(zip(names, shares, strict=True)))


def _isin(values: list[Any], options: Sequence[Any]) -> Mask:
    keys = {key(option) for option in options}
    return np.array([key(value) in keys for value in values], dtype=bool)


def bands(*widths: int) -> list[CoarseningFunction]:
    """Make functions that replace numbers by increasingly wide ranges, and finally by a star.

    Parameters
    ----------
    *widths : int
        The widths of the ranges.

    Returns
    -------
    list of callable
        A function for each width, and a function that returns the star.

    Examples
    --------
    >>> [step(37) for step in bands(5, 20)]
    ['35 to 39', '20 to 39', '*']
    """
    return [_make_band(check_integer(width, "widths")) for width in widths] + [_star]


def prefixes(*lengths: int) -> list[CoarseningFunction]:
    """Make functions that replace codes such as ZIP by increasingly short prefixes, and finally by a star.

    Parameters
    ----------
    *lengths : int
        The lengths of the prefixes.

    Returns
    -------
    list of callable
        A function for each length, and a function that returns the star.

    Examples
    --------
    >>> [step("02138") for step in prefixes(3, 2)]
    ['021**', '02***', '*']
    """
    return [_make_prefix(check_integer(length, "lengths")) for length in lengths] + [_star]


def _make_band(width: int) -> CoarseningFunction:
    return lambda value: f"{value // width * width} to {value // width * width + width - 1}"


def _make_prefix(length: int) -> CoarseningFunction:
    return lambda value: str(value)[:length] + "*" * (len(str(value)) - length)


def _star(_: object) -> str:
    return "*"


@dataclass(frozen=True, eq=False)
class GeneralizedTable:
    """A table that was generalized to k-anonymity.

    Parameters
    ----------
    columns : dict
        The coarser columns of the remaining rows.
    steps : dict
        The number of coarsening steps in each column.
    kept_rows : NDArray
        A mask of the remaining rows.

    Examples
    --------
    >>> GeneralizedTable({"age": np.array(["20-29"])}, {"age": 1}, np.array([True, False])).kept_rows.sum()
    np.int64(1)
    """

    columns: dict[str, npt.NDArray[Any]]
    steps: dict[str, int]
    kept_rows: npt.NDArray[np.bool_]

    @property
    def suppressed(self) -> int:
        """The number of rows that were dropped."""
        return int(np.count_nonzero(~self.kept_rows))


def generalize(
    frame: DataFrame, ladders: Mapping[str, Sequence[CoarseningFunction]], k: int, *, max_suppressed: float = 0.05
) -> GeneralizedTable:
    """Generalize a table until it is k-anonymous except for a few rows, and drop these rows.

    Each step coarsens the column that leaves the fewest rows in small classes.

    Parameters
    ----------
    frame : frame or mapping
        A table of any engine, or a mapping from names to arrays.
    ladders : mapping
        The functions that coarsen each quasi-identifier, from fine to coarse, such as `bands(5, 10)`; all of them take
        original values.
    k : int
        The minimum size of a class.
    max_suppressed : float
        The maximum share of rows that may be dropped.

    Returns
    -------
    GeneralizedTable
        The coarser columns of the remaining rows, with the number of steps in each column.

    Raises
    ------
    ValueError
        If classes are smaller than k even if every column is at its coarsest.

    Examples
    --------
    >>> generalize({"age": [31, 34, 38, 39]}, {"age": bands(5)}, k=2).columns["age"].tolist()
    ['30 to 34', '30 to 34', '35 to 39', '35 to 39']
    """
    size = check_integer(k, "k", minimum=2)
    original = {name: values_of(cells) for name, cells in read_columns(frame, list(ladders)).items()}
    current, steps = dict(original), dict.fromkeys(original, 0)
    while True:
        small = _in_small_classes(current, size)
        if small.mean() <= max_suppressed:
            return GeneralizedTable({name: cells[~small] for name, cells in current.items()}, steps, ~small)
        options = [name for name in original if steps[name] < len(ladders[name])]
        if not options:
            reject("`k` must be attainable", k, "classes are smaller even at the coarsest steps; add coarser steps")
        coarser = {name: {**current, name: _coarser(original[name], ladders[name][steps[name]])} for name in options}
        best = min(options, key=lambda name: int(_in_small_classes(coarser[name], size).sum()))
        current, steps[best] = coarser[best], steps[best] + 1


def _in_small_classes(columns: Mapping[str, npt.NDArray[Any]], k: int) -> npt.NDArray[np.bool_]:
    rows = _classes(columns)
    return np.asarray(np.bincount(rows)[rows] < k)


def _classes(columns: Mapping[str, npt.NDArray[Any]]) -> Codes:
    return row_classes({name: as_column(cells) for name, cells in columns.items()})


def _coarser(values: npt.NDArray[Any], step: CoarseningFunction) -> npt.NDArray[Any]:
    """Apply a coarsening step to each distinct value."""
    _, first_rows, inverse = np.unique(value_codes(as_column(values)), return_index=True, return_inverse=True)
    cells = values.tolist()
    return np.array([step(cells[i]) for i in first_rows], dtype=object)[inverse].astype(str)


def possible_values(sensitive: ArrayLike, releases: Sequence[GeneralizedTable]) -> list[set[Any]]:
    """Find the sensitive values that remain possible for each person after several releases.

    A value remains possible if it occurs in the person's class in every release.

    Parameters
    ----------
    sensitive : array-like
        The value of each person.
    releases : sequence of GeneralizedTable
        Releases made from the data of all these people. A release does not rule out any value for a person who was
        dropped from it.

    Returns
    -------
    list of set
        The possible values of each person; a person with only one possible value is disclosed.

    References
    ----------
    S. R. Ganta, S. P. Kasiviswanathan and A. Smith, Composition attacks and auxiliary information (2008).

    Examples
    --------
    >>> people = {"zip": [1, 1, 2, 2], "age": [30, 40, 30, 40]}
    >>> by_zip, by_age = (generalize(people, {name: []}, k=2) for name in people)
    >>> ill = ["flu", "gout", "cold", "flu"]
    >>> [
    ...     [len(values) for values in possible_values(ill, several)]
    ...     for several in ([by_zip], [by_age], [by_zip, by_age])
    ... ]
    [[2, 2, 2, 2], [2, 2, 2, 2], [1, 2, 2, 1]]
    """
    sensitive_column = as_column(sensitive)
    values, row_codes = sensitive_column.cells(), value_codes(sensitive_column).tolist()
    if not releases or any(len(release.kept_rows) != len(values) for release in releases):
        reject(
            "each of `releases` must be made from these people",
            "none, or releases of other people",
            "write generalize(frame, …) with the rows of all people",
        )
    possible = [set(row_codes) for _ in values]
    for release in releases:
        rows, classes = np.flatnonzero(release.kept_rows), _classes(release.columns)
        present: list[set[int]] = [set() for _ in range(int(classes.max()) + 1)]
        for row, group in zip(rows.tolist(), classes.tolist(), strict=True):
            present[group].add(row_codes[row])
        for row, group in zip(rows.tolist(), classes.tolist(), strict=True):
            possible[row] &= present[group]
    by_code = dict(zip(row_codes, values, strict=True))
    return read_without_quoting(lambda: [{by_code[code] for code in person} for person in possible])
