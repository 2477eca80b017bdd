"""The worst case of a user's own function, sought over small neighbouring tables: a lower bound, never a
proof.
"""

import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal, TypeAlias

import numpy as np

from toolkit.core.checks import choice, refuse, whole
from toolkit.core.checks import neighbors as check_neighbors

Neighbors: TypeAlias = Literal["replace", "add_remove"]
Table: TypeAlias = tuple[Any, ...]


@dataclass(frozen=True, repr=False)
class WorstCase:
    """The largest change that was found between neighbours, and where. The sensitivity is at least this.

    Parameters
    ----------
    at_least : the largest change found, exact if the function is.
    table, neighbor : the two tables.
    tried : how many pairs were compared.
    complete : whether these were all pairs of tables of n rows with the given values.
    """

    at_least: Fraction | float
    table: Table
    neighbor: Table
    norm: str
    neighbors: str
    tried: int
    complete: bool

    def __repr__(self) -> str:
        return (
            f"<WorstCase: sensitivity at least {float(self.at_least):.6g} ({self.norm}, "
            f"{self.neighbors}); {self._footing()}>"
        )

    def _repr_html_(self) -> str:
        return (
            f"<p>Sensitivity at least <b>{float(self.at_least):.6g}</b> ({self.norm}, {self.neighbors}). "
            f"{self._footing()}.</p>"
        )

    def _footing(self) -> str:
        which = "all" if self.complete else "a random part of the"
        return f"a lower bound from {which} {self.tried:,} pairs of small tables, not a proof"


def worst_case(
    function: Callable[[Sequence[Any]], Any],
    values: Sequence[Any],
    n: int,
    *,
    neighbors: Neighbors,
    norm: str = "l1",
    limit: int = 50_000,
    rng: np.random.Generator | None = None,
) -> WorstCase:
    """Search neighbouring tables of n rows (and n - 1 under "add_remove") for the largest change of
    `function`.

    All pairs if there are at most `limit`, else that many at random. Other values or more rows may move the
    function further: what is found is a lower bound of the sensitivity, and disproves a smaller claim, but
    never proves one.

    Parameters
    ----------
    function : of a list of rows; returns a number or a sequence of numbers.
    values : what a row may be; extremes are where to look.
    rng : for the random search; a fixed one if left out, so that the search can be repeated.

    Examples
    --------
    >>> worst_case(lambda rows: Fraction(sum(rows), len(rows)), values=[0, 1], n=4, neighbors="replace")
    <WorstCase: sensitivity at least 0.25 (l1, replace); a lower bound from all 32 pairs of small tables, not
    a proof>
    """
    relation, size = check_neighbors(neighbors), whole(n, "n")
    choice(norm, "norm", ("l1", "l2"))
    options = list(values)
    if len(options) < 2 and relation == "replace":
        refuse("`values` must hold at least two values", len(options), "nothing could be replaced")
    number = _pairs_in_all(len(options), size, relation)
    complete = number <= whole(limit, "limit")
    source = np.random.default_rng(0) if rng is None else rng
    pairs = _all_pairs(options, size, relation) if complete else _some_pairs(options, size, relation, limit, source)
    results: dict[Table, Any] = {}
    best: tuple[Any, Table, Table] | None = None
    for indices, other in pairs:
        for key in (indices, other):
            if key not in results:
                results[key] = function([options[i] for i in key])
        change = _distance(results[indices], results[other], norm)
        if best is None or change > best[0]:
            best = (change, indices, other)
    change, table, neighbor = best or (Fraction(0), (), ())
    rows, others = (tuple(options[i] for i in key) for key in (table, neighbor))
    return WorstCase(change, rows, others, norm, relation, number if complete else limit, complete)


def _pairs_in_all(options: int, n: int, relation: str) -> int:
    tables: int = options**n
    return tables * n * (options - 1) // 2 if relation == "replace" else tables * n


def _all_pairs(options: Sequence[Any], n: int, relation: str) -> Iterator[tuple[Table, Table]]:
    for table in itertools.product(range(len(options)), repeat=n):
        for place in range(n):
            if relation == "add_remove":
                yield table, table[:place] + table[place + 1 :]
                continue
            for other in range(table[place]):  # each pair once
                yield table, (*table[:place], other, *table[place + 1 :])


def _some_pairs(
    options: Sequence[Any], n: int, relation: str, limit: int, rng: np.random.Generator
) -> Iterator[tuple[Table, Table]]:
    for _ in range(limit):
        table = tuple(rng.integers(len(options), size=n).tolist())
        place = int(rng.integers(n))
        if relation == "add_remove":
            yield table, table[:place] + table[place + 1 :]
        else:
            other = (table[place] + 1 + int(rng.integers(len(options) - 1))) % len(options)
            yield table, (*table[:place], other, *table[place + 1 :])


def _distance(first: Any, second: Any, norm: str) -> Any:
    """Between two results, exact for integers and fractions."""
    pairs = zip(np.atleast_1d(first).tolist(), np.atleast_1d(second).tolist(), strict=True)
    moves = [abs(a - b) for a, b in pairs]
    if norm == "l1" or len(moves) == 1:
        return sum(moves)
    return math.sqrt(sum(move * move for move in moves))
