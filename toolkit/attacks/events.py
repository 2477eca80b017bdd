"""Events that tell two neighbours apart, looked for in runs that are not used to confirm them.

A feature turns each output into a number (an entry, a sum, the place of the largest, the last bits of a float, …). The numbers
are cut into cells, and an event is a set of cells: a tail, or the cells that were likelier on one neighbour. Whatever
event is found, its probabilities are estimated afterwards from fresh runs, so that looking at many costs nothing but power.
"""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]
Column = Callable[[Array], Array]
Counts = tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]

_CELLS = 64
_ATOMS = 1024
_COARSE = 6
_MOST_ENTRIES = 64
_MOST_BITS = 8
_KEPT = 3
_CAUTION = 4.0  # standard errors that a candidate is marked down by, so that chance alone does not win the search


@dataclass(frozen=True, eq=False)
class Event:
    """Cells of one feature: what they are called, how an output is put into them, and how good they looked."""

    feature: str
    column: Column
    edges: Array
    chosen: npt.NDArray[np.bool_]
    words: str
    promise: float

    def count(self, table: Array) -> int:
        """In how many runs the event happened."""
        return int(self.chosen[cells(self.column(table), self.edges)].sum())


def search(first: Array, second: Array, *, delta: float = 0.0, last_bits: bool = True) -> tuple[list[Event], list[Event]]:
    """The most promising events likelier on the first input, and those likelier on the second: one a feature, best first.

    Every other run says which cells are likelier on which input; the runs between say how promising the events are.
    The promise is ln((p - delta) / q) with p and q four standard errors (Wilson) to the cautious side.
    """
    there, back = [], []
    for name, column in features(first[::2], second[::2], last_bits=last_bits):
        a, b = column(first), column(second)
        edges = cut(np.concatenate([a, b]))
        counts = [np.bincount(cells(x[start::2], edges), minlength=len(edges) + 1) for x in (a, b) for start in (0, 1)]
        there.append(_best(name, column, edges, (counts[0], counts[2]), (counts[1], counts[3]), delta))
        back.append(_best(name, column, edges, (counts[2], counts[0]), (counts[3], counts[1]), delta))
    return _foremost(there), _foremost(back)


def _foremost(events: list[Event]) -> list[Event]:
    return sorted(events, key=lambda event: -event.promise)[:_KEPT]


def features(first: Array, second: Array, *, last_bits: bool = True) -> Iterator[tuple[str, Column]]:
    """Ways to look at an output, by what it consists of."""
    width = first.shape[1]
    entries = range(min(width, _MOST_ENTRIES))
    for i in entries:
        yield ("the output" if width == 1 else f"entry {i}"), _entry(i)
    for i in entries[: _MOST_BITS * last_bits]:
        if np.any(first[:, i] != np.floor(first[:, i])):
            yield f"the last bits of entry {i}", _bits(i)
    if width == 1:
        return
    for i in entries[:-1]:
        yield f"entry {i} less entry {i + 1}", _difference(i)
    yield "the sum of the entries", _total
    yield "the largest entry", _largest
    yield "the smallest entry", _smallest
    yield "the place of the largest entry", _place_of_largest
    yield "the place of the smallest entry", _place_of_smallest
    yield "all entries together", _fingerprint
    yield "the likelihood of all entries", _likelihood(first, second)


def cells(column: Array, edges: Array) -> npt.NDArray[np.intp]:
    """The cell of each number: how many edges are not above it."""
    return np.searchsorted(edges, column, side="right")


def cut(column: Array, most: int = _CELLS, atoms: int = _ATOMS) -> Array:
    """Edges of cells: each value its own where they are few; else equal shares, and a cell for every value that is frequent."""
    values, counts = np.unique(column, return_counts=True)
    if len(values) <= atoms:
        return np.asarray(values)
    heavy = values[counts >= max(2, len(column) / 500)]
    shares = np.quantile(column, np.linspace(0, 1, most + 1)[1:-1], method="lower")
    return np.unique(np.concatenate([shares, heavy, np.nextafter(heavy, math.inf)]))


def _best(name: str, column: Column, edges: Array, ranked: Counts, weighed: Counts, delta: float) -> Event:
    """The best of all tails, and of all sets of cells by their likelihood ratio."""
    seen, other = weighed
    natural = np.arange(len(seen))
    by_ratio = np.argsort(-(ranked[0] + 0.5) / (ranked[1] + 0.5), kind="stable")
    best, chosen, words = -math.inf, np.zeros(len(seen), dtype=bool), "never"
    for way, order in (("below", natural), ("at least", natural[::-1]), ("among", by_ratio)):
        promise = _promise(np.cumsum(seen[order]), int(seen.sum()), np.cumsum(other[order]), int(other.sum()), delta)
        last = int(np.argmax(promise))
        if promise[last] > best:
            best, chosen = float(promise[last]), np.zeros(len(seen), dtype=bool)
            chosen[order[: last + 1]] = True
            words = _worded(way, edges, order, last)
    return Event(name, column, edges, chosen, f"{name} {words}", best)


def _promise(seen: Array, n: int, other: Array, m: int, delta: float) -> Array:
    low, high = _wilson(seen, n, -_CAUTION) - delta, _wilson(other, m, _CAUTION)
    return np.where(low > 0, np.log(np.maximum(low, 1e-300) / high), -math.inf)


def _wilson(count: Array, n: int, z: float) -> Array:
    """The share z standard errors away from the one that was seen."""
    middle, lead = count + z * z / 2, n + z * z
    return np.asarray((middle + z * np.sqrt(count * (n - count) / n + z * z / 4)) / lead)


def _worded(way: str, edges: Array, order: npt.NDArray[np.intp], last: int) -> str:
    if way == "among":
        return f"in the {last + 1} of {len(order)} cells where it was likelier"
    cell = order[last]
    if way == "at least":
        return f"at least {edges[cell - 1]:.6g}" if cell > 0 else "of any size"
    return f"below {edges[cell]:.6g}" if cell < len(edges) else "of any size"


def _entry(i: int) -> Column:
    return lambda table: table[:, i]


def _bits(i: int) -> Column:
    """The place of the last bit that is set, and of the first: floats near zero can say what was added to them."""

    def column(table: Array) -> Array:
        mantissa, exponent = np.frexp(table[:, i])
        whole = np.abs(mantissa * 2.0**53).astype(np.int64)
        lowest = np.log2(np.maximum(whole & -whole, 1)) + exponent - 53
        return np.where(whole == 0, 5000.0, np.round(lowest) + 3000.0 * np.clip(exponent, -8, 8))

    return column


def _difference(i: int) -> Column:
    return lambda table: table[:, i] - table[:, i + 1]


def _total(table: Array) -> Array:
    return np.asarray(np.where(np.abs(table) < 1e300, table, 0).sum(axis=1))


def _largest(table: Array) -> Array:
    return np.asarray(table.max(axis=1))


def _smallest(table: Array) -> Array:
    return np.asarray(table.min(axis=1))


def _place_of_largest(table: Array) -> Array:
    return np.asarray(table.argmax(axis=1), dtype=float)


def _place_of_smallest(table: Array) -> Array:
    return np.asarray(table.argmin(axis=1), dtype=float)


def _fingerprint(table: Array) -> Array:
    """One number for each distinct row: a fixed random projection of the bits of its entries."""
    weights = np.random.default_rng(0).integers(1, 2**62, table.shape[1], dtype=np.uint64) | np.uint64(1)
    mixed = (np.ascontiguousarray(table + 0.0).view(np.uint64).reshape(table.shape) * weights).sum(axis=1, dtype=np.uint64)
    return np.asarray(mixed >> np.uint64(11), dtype=float)


def _likelihood(first: Array, second: Array) -> Column:
    """The sum over entries of ln(p / q), each entry cut into a few cells: the best event there is, if entries are independent."""
    pooled = np.concatenate([first, second])
    edges = [cut(pooled[:, i], _COARSE, _COARSE) for i in range(first.shape[1])]
    logs = [
        np.log((np.bincount(cells(a, e), minlength=len(e) + 1) + 1.0) / (np.bincount(cells(b, e), minlength=len(e) + 1) + 1.0))
        for a, b, e in zip(first.T, second.T, edges, strict=True)
    ]

    def column(table: Array) -> Array:
        parts = (log[cells(x, e)] for x, e, log in zip(table.T[: len(edges)], edges, logs, strict=True))
        return np.asarray(np.round(np.sum(list(parts), axis=0), 9))

    return column
