"""Local and smooth sensitivity of a user's own function, by looking at every table of a small domain."""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from itertools import combinations_with_replacement
from math import comb
from typing import Any, TypeAlias

from toolkit.core.checks import refuse

Table: TypeAlias = tuple[Any, ...]
Function: TypeAlias = Callable[[Sequence[Any]], Any]

MOST_TABLES = 100_000


def tables(domain: Sequence[Any], n: int) -> list[Table]:
    """All tables of n values of the domain, sorted; the order of rows does not count."""
    number = comb(len(domain) + n - 1, n)
    if number > MOST_TABLES:
        refuse(f"`domain` must allow at most {MOST_TABLES:,} tables", f"{number:,}", "each is looked at")
    return list(combinations_with_replacement(sorted(domain), n))


def neighbours(table: Table, domain: Sequence[Any]) -> Iterator[Table]:
    """Every table that differs in one value."""
    for i in range(len(table)):
        if i and table[i] == table[i - 1]:
            continue
        rest = table[:i] + table[i + 1 :]
        yield from (tuple(sorted((*rest, other))) for other in domain if other != table[i])


def distance(one: Table, other: Table) -> int:
    """How many values must be replaced to turn one table into the other.

    >>> distance((0, 0, 1), (0, 2, 2))
    2
    """
    return len(one) - sum((Counter(one) & Counter(other)).values())


def local_by_brute_force(function: Function, values: Sequence[Any], domain: Sequence[Any]) -> Any:
    """The largest change of the function from this table to a neighbour with values of the domain."""
    table = _within(values, domain)
    start = function(list(table))
    return max((abs(function(list(other)) - start) for other in neighbours(table, domain)), default=0)


def reaches_by_brute_force(function: Function, values: Sequence[Any], domain: Sequence[Any]) -> list[Any]:
    """The largest local sensitivity among all tables at a distance of at most k, for k = 0 ... n."""
    table = _within(values, domain)
    everything = tables(domain, len(table))
    results = {other: function(list(other)) for other in everything}
    reaches: list[Any] = [0] * (len(table) + 1)
    for other in everything:
        moved = max((abs(results[near] - results[other]) for near in neighbours(other, domain)), default=0)
        away = distance(table, other)
        reaches[away] = max(reaches[away], moved)
    for k in range(len(table)):
        reaches[k + 1] = max(reaches[k + 1], reaches[k])
    return reaches


def _within(values: Sequence[Any], domain: Sequence[Any]) -> Table:
    table = tuple(sorted(values))
    if not set(table) <= set(domain):
        refuse("`values` must be values of the `domain`", "others", "only tables of the domain are looked at")
    return table
