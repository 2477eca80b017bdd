"""k-anonymity and its kin: measured, reached by coarser values, and shown to be no promise.

A class is a set of rows that agree on the quasi-identifiers, the columns an attacker may know. k-anonymity
asks that classes be large; it says nothing about what their members have in common.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from toolkit.attacks.equivalence_classes import class_of_rows, codes, columns_of, quietly, values_of
from toolkit.core.arrays import Codes, Mask
from toolkit.core.checks import refuse, whole
from toolkit.frames.cells import key

Step = Callable[[Any], Any]


def k_anonymity(frame: Any, columns: Sequence[str]) -> int:
    """The size of the smallest class.

    >>> k_anonymity({"zip": [1, 1, 2, 2, 2]}, ["zip"])
    2
    """
    return int(np.bincount(class_of_rows(columns_of(frame, columns))).min())


def l_diversity(frame: Any, columns: Sequence[str], sensitive: str) -> int:
    """The smallest number of different sensitive values in a class: 1 where a class gives its members away.

    References: A. Machanavajjhala et al., l-diversity: privacy beyond k-anonymity (2007).
    """
    return int((_table(columns_of(frame, columns), _one(frame, sensitive)) > 0).sum(axis=1).min())


def t_closeness(frame: Any, columns: Sequence[str], sensitive: str, *, ordered: bool = False) -> float:
    """The largest distance of a class's distribution of sensitive values from that of all rows: 0 where
    classes tell nothing.

    The earth mover's distance, between 0 and 1: with all values equally far apart, or `ordered`, with their
    ranks apart.

    References: N. Li, T. Li and S. Venkatasubramanian, t-closeness (2007).
    """
    counts = _table(columns_of(frame, columns), _one(frame, sensitive))
    gap = counts / counts.sum(axis=1, keepdims=True) - counts.sum(axis=0) / counts.sum()
    if ordered:
        return float(np.abs(np.cumsum(gap, axis=1)).sum(axis=1).max() / max(counts.shape[1] - 1, 1))
    return float(np.abs(gap).sum(axis=1).max() / 2)


def _one(frame: Any, name: str) -> Any:
    return columns_of(frame, [name])[name]


def _table(columns: Mapping[Any, Any], sensitive: Any) -> npt.NDArray[np.int64]:
    """Rows of each class by sensitive value, values in increasing order."""
    rows, values = class_of_rows(columns), codes(sensitive)
    counts = np.zeros((int(rows.max()) + 1, int(values.max()) + 1), dtype=np.int64)
    np.add.at(counts, (rows, values), 1)
    return counts[:, counts.any(axis=0)]


@dataclass(frozen=True)
class GivenAway:
    """A class whose members all have the same sensitive value."""

    quasi: tuple[Any, ...]
    size: int
    value: Any


def homogeneity(frame: Any, columns: Sequence[str], sensitive: str) -> list[GivenAway]:
    """The first flaw: classes in which everyone has the same value, so that membership tells it; the largest
    first.

    >>> homogeneity({"course": ["logic"] * 3 + ["art"] * 2, "grade": ["B"] * 3 + ["A", "C"]}, ["course"], "grade")
    [GivenAway(quasi=('logic',), size=3, value='B')]
    """
    held, secret = columns_of(frame, columns), _one(frame, sensitive)
    _, first, sizes = np.unique(class_of_rows(held), return_index=True, return_counts=True)
    same = (_table(held, secret) > 0).sum(axis=1) == 1
    table, values = [values_of(column) for column in held.values()], values_of(secret)
    found = [
        GivenAway(tuple(_plain(column[first[c]]) for column in table), int(sizes[c]), _plain(values[first[c]]))
        for c in np.flatnonzero(same)
    ]
    return sorted(found, key=lambda given: -given.size)


def background(
    frame: Any, sensitive: str, known: Mapping[str, Any], *, ruled_out: Sequence[Any] = ()
) -> dict[Any, float]:
    """The second flaw: what is left of a person's class when an attacker can rule values out; the belief in
    each value.

    `known` are the person's quasi-identifiers as they stand in the frame.

    >>> table = {"zip": ["130**"] * 3, "ill": ["heart", "virus", "virus"]}
    >>> background(table, "ill", {"zip": "130**"}, ruled_out=["virus"])
    {'heart': 1.0}
    """
    secret = _one(frame, sensitive)
    values, order = values_of(secret), codes(secret)
    inside = ~_among(values, ruled_out)
    for name, column in columns_of(frame, list(known)).items():
        inside &= _among(values_of(column), [known[name]])
    if not inside.any():
        refuse("`known` must fit at least one row that is not ruled out", "none", "nobody is left")
    left = np.flatnonzero(inside)
    _, first, counts = np.unique(order[left], return_index=True, return_counts=True)
    shares, names = (counts / len(left)).tolist(), [_plain(values[left[i]]) for i in first]
    return quietly(lambda: dict(zip(names, shares, strict=True)))


def _among(values: npt.NDArray[Any], listed: Sequence[Any]) -> Mask:
    wanted = {key(one) for one in listed}
    return np.array([key(value) in wanted for value in values], dtype=bool)


def bands(*widths: int) -> list[Step]:
    """Ever wider ranges for numbers, and at last a star.

    >>> [step(37) for step in bands(5, 20)]
    ['35 to 39', '20 to 39', '*']
    """
    return [_band(whole(width, "widths")) for width in widths] + [_star]


def prefixes(*lengths: int) -> list[Step]:
    """Ever shorter beginnings for codes such as ZIP, and at last a star.

    >>> [step("02138") for step in prefixes(3, 2)]
    ['021**', '02***', '*']
    """
    return [_prefix(whole(length, "lengths")) for length in lengths] + [_star]


def _band(width: int) -> Step:
    return lambda value: f"{value // width * width} to {value // width * width + width - 1}"


def _prefix(length: int) -> Step:
    return lambda value: str(value)[:length] + "*" * (len(str(value)) - length)


def _star(_: Any) -> str:
    return "*"


@dataclass(frozen=True, eq=False)
class Generalized:
    """Columns made coarse enough for k, the steps taken in each, and which rows were kept."""

    columns: dict[str, npt.NDArray[Any]]
    steps: dict[str, int]
    kept: npt.NDArray[np.bool_]

    @property
    def suppressed(self) -> int:
        return int(np.count_nonzero(~self.kept))


def generalize(frame: Any, ladders: Mapping[str, Sequence[Step]], k: int, *, suppress: float = 0.05) -> Generalized:
    """Reach k-anonymity: coarsen one column after the other, always where most is won, and drop the few rows
    that remain.

    Parameters
    ----------
    ladders : for each quasi-identifier its steps, from fine to coarse, such as `bands(5, 10)`; each from the
    original value. suppress : the share of rows that may be dropped.
    """
    size = whole(k, "k", least=2)
    original = {name: values_of(column) for name, column in columns_of(frame, list(ladders)).items()}
    current, steps = dict(original), dict.fromkeys(original, 0)
    while True:
        small = _in_small_classes(current, size)
        if small.mean() <= suppress:
            kept = {name: column[~small] for name, column in current.items()}
            return Generalized(kept, steps, ~small)
        options = [name for name in original if steps[name] < len(ladders[name])]
        if not options:
            refuse("`k` must be within reach", k, "even with every column at its coarsest, classes are smaller")
        tried = {name: {**current, name: _coarser(original[name], ladders[name][steps[name]])} for name in options}
        best = min(options, key=lambda name: int(_in_small_classes(tried[name], size).sum()))
        current, steps[best] = tried[best], steps[best] + 1


def _in_small_classes(columns: Mapping[str, npt.NDArray[Any]], k: int) -> npt.NDArray[np.bool_]:
    rows = class_of_rows(columns)
    return np.asarray(np.bincount(rows)[rows] < k)


def _coarser(column: npt.NDArray[Any], step: Step) -> npt.NDArray[Any]:
    """Each different value is put through the step once."""
    places: Codes = codes(column)
    _, first = np.unique(places, return_index=True)
    return np.array([step(_plain(column[i])) for i in first], dtype=object)[places].astype(str)


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value


def left_over(sensitive: npt.ArrayLike, releases: Sequence[Generalized]) -> list[set[Any]]:
    """For each person the sensitive values that occur in their class of every release: one value left is a
    secret told.

    `sensitive` has one value a person, and each release was made from all of these people. Whoever was
    dropped from a release is not helped by it, nor exposed: it rules nothing out.

    >>> from toolkit.attacks.anonymity import generalize
    >>> people = {"zip": [1, 1, 2, 2], "age": [30, 40, 30, 40]}
    >>> by_zip, by_age = (generalize(people, {name: []}, k=2) for name in people)
    >>> ill = ["flu", "gout", "cold", "flu"]
    >>> [[len(values) for values in left_over(ill, made)] for made in ([by_zip], [by_age], [by_zip, by_age])]
    [[2, 2, 2, 2], [2, 2, 2, 2], [1, 2, 2, 1]]

    References: S. R. Ganta, S. P. Kasiviswanathan and A. Smith, Composition attacks and auxiliary information
    (2008).
    """
    values, numbered = values_of(sensitive).tolist(), codes(sensitive).tolist()
    if not releases or any(len(release.kept) != len(values) for release in releases):
        refuse("each of `releases` must be made from these people", "none, or of others", "its rows are theirs")
    left = [set(numbered) for _ in values]
    for release in releases:
        rows, classes = np.flatnonzero(release.kept), class_of_rows(release.columns)
        present: list[set[int]] = [set() for _ in range(int(classes.max()) + 1)]
        for row, place in zip(rows.tolist(), classes.tolist(), strict=True):
            present[place].add(numbered[row])
        for row, place in zip(rows.tolist(), classes.tolist(), strict=True):
            left[row] &= present[place]
    shown = dict(zip(numbered, values, strict=True))
    return quietly(lambda: [{shown[code] for code in one} for one in left])
