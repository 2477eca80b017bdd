"""The search for events that distinguish two neighbors, in runs that are not used to confirm them.

A feature turns each output into a number whose distribution may differ between two neighbors. Features are entries,
their differences, pairs of entries, sums and extremes, the last bits of floats, all entries together as one label, and
the likelihood ratio estimated from half of the runs. The numbers are divided into cells, and an event is a set of
cells: a tail, or the cells that were likelier on one neighbor. The probabilities of the events are estimated afterwards
from fresh runs, so a search among many events only reduces the power.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise

import numpy as np
import numpy.typing as npt

from toolkit.core.arrays import Array

Column = Callable[[Array], Array]

_COARSE = 6

_FINE = 12

_MOST_ENTRIES = 64

_MOST_BITS = 8

_MOST_TOGETHER = 7

_ROUNDS = 8


def iterate_features(
    first: Array, second: Array, names: Sequence[str], *, last_bits: bool
) -> Iterator[tuple[str, Column]]:
    """Yield the features of outputs by name; the given runs determine the cells and weights of the features."""
    pooled = np.concatenate([first, second])
    varied = [i for i in range(min(pooled.shape[1], _MOST_ENTRIES)) if np.any(pooled[:, i] != pooled[0, i])] or [0]
    for i in varied:
        yield names[i], _entry_feature(i)
    for i in varied[: _MOST_BITS * last_bits]:
        if np.any((pooled[:, i] != np.floor(pooled[:, i])) | (np.signbit(pooled[:, i]) & (pooled[:, i] == 0))):
            yield f"the last bits of {names[i]}", _low_bits_feature(i)
    if len(varied) == 1:
        return
    for i, j in pairwise(varied):
        yield f"{names[i]} minus {names[j]}", _difference_feature(i, j)
    yield "the sum of the entries", lambda table: np.asarray(np.where(np.abs(table) < 1e300, table, 0).sum(axis=1))
    yield "the largest entry", lambda table: np.asarray(table.max(axis=1))
    yield "the smallest entry", lambda table: np.asarray(table.min(axis=1))
    yield "the index of the largest entry", lambda table: np.asarray(table.argmax(axis=1), dtype=float)
    yield "the index of the smallest entry", lambda table: np.asarray(table.argmin(axis=1), dtype=float)
    yield "all entries together", fingerprint
    for i, j in combinations(varied, 2) if len(varied) <= _MOST_TOGETHER else pairwise(varied):
        yield f"{names[i]} and {names[j]} together", _pair_feature(pooled, i, j)
    yield "the likelihood of all entries", _likelihood_feature(first[:, varied], second[:, varied], varied)


def cell_indices(column: Array, edges: Array) -> npt.NDArray[np.intp]:
    """Return the index of the cell that contains each number: the number of edges that are not above the number."""
    return np.searchsorted(edges, column, side="right")


def cell_edges(column: Array, max_cells: int) -> Array:
    """Return the edges of cells: one cell per value if there are few values, otherwise cells of about equal shares."""
    values = np.unique(column)
    if len(values) <= max_cells:
        return values
    return np.unique(np.quantile(column, np.linspace(0, 1, max_cells + 1)[1:-1], method="lower"))


def _entry_feature(i: int) -> Column:
    return lambda table: table[:, i]


def _low_bits_feature(i: int) -> Column:
    """Return a feature of the lowest set bit and the exponent; floats near zero can reveal the exact value."""

    def column(table: Array) -> Array:
        mantissa, exponent = np.frexp(table[:, i])
        whole = np.abs(mantissa * 2.0**53).astype(np.int64)
        lowest = np.log2(np.maximum(whole & -whole, 1)) + exponent - 53
        zero = 50_000.0 + np.signbit(table[:, i])
        return np.where(whole == 0, zero, np.round(lowest) + 3000.0 * np.clip(exponent, -8, 8))

    return column


def _difference_feature(i: int, j: int) -> Column:
    return lambda table: table[:, i] - table[:, j]


def fingerprint(table: Array) -> Array:
    """Return a hash of each row: the sum of the bits of its entries, each mixed with a key for its column.

    The low bits of a small integer that is stored as a float are all zero, and remain zero in a product, so the bits
    are also shifted.
    """
    keys = np.random.default_rng(0).integers(1, 2**62, table.shape[1], dtype=np.uint64)
    mixed = np.ascontiguousarray(table + 0.0).view(np.uint64).reshape(table.shape) ^ keys
    for shift in (32, 29, 32):
        mixed = (mixed ^ (mixed >> np.uint64(shift))) * np.uint64(0x9E3779B97F4A7C15)
    return np.asarray(mixed.sum(axis=1, dtype=np.uint64) >> np.uint64(11), dtype=float)


def _pair_feature(pooled: Array, i: int, j: int) -> Column:
    """Return a feature of two entries, each divided into a few cells; one may matter only if the other is large."""
    edges = [cell_edges(pooled[:, k], _FINE) for k in (i, j)]
    return lambda table: np.asarray(
        (len(edges[1]) + 1) * cell_indices(table[:, i], edges[0]) + cell_indices(table[:, j], edges[1]), dtype=float
    )


def _likelihood_feature(first: Array, second: Array, columns: list[int]) -> Column:
    """Return the log-likelihood ratio of all entries as a feature.

    The log-ratio of each entry is estimated from a few cells, and logistic regression finds the weights of the entries.
    Weights of 1 are optimal if the entries are independent (B. Bichsel et al., DP-Sniper, 2021).
    """
    pooled = np.concatenate([first, second])
    edges = [cell_edges(column, _COARSE) for column in pooled.T]

    def counts(column: Array, e: Array) -> Array:
        return np.asarray(np.bincount(cell_indices(column, e), minlength=len(e) + 1) + 1.0, dtype=float)

    logs = [np.log(counts(a, e) / counts(b, e)) for a, b, e in zip(first.T, second.T, edges, strict=True)]

    def ratios(table: Array) -> Array:
        return np.column_stack([log[cell_indices(x, e)] for x, e, log in zip(table.T, edges, logs, strict=True)])

    weights = _logistic(ratios(pooled), np.arange(len(pooled)) < len(first))
    return lambda table: np.asarray(np.round(ratios(table[:, columns]) @ weights, 9))


def _logistic(ratios: Array, is_first: npt.NDArray[np.bool_]) -> Array:
    """Fit weights by Newton's method, with a penalty that pulls them towards 1 as strongly as ten runs would."""
    weights = np.ones(ratios.shape[1])
    for _ in range(_ROUNDS):
        chance = 1 / (1 + np.exp(-np.clip(ratios @ weights, -30, 30)))
        gradient = ratios.T @ (is_first - chance) - 10 * (weights - 1)
        # This is the negative Hessian, so the step is added.
        hessian = (ratios * (chance * (1 - chance))[:, None]).T @ ratios + 10 * np.eye(len(weights))
        weights = np.clip(weights + np.linalg.solve(hessian, gradient), -10, 10)
    return weights


Counts = tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]

_CELLS = 64

_ATOMS = 1024

_RAREST = 4  # the approximate number of runs in the outermost cell of a tail

_KEPT = 3

_CAUTION = 4.0  # the number of standard errors subtracted, so that chance alone does not win the search

# This is the same number for the excess, where less caution is better: rare events have few runs, and another trial
# costs little.
_HOPE = 1.5


@dataclass(frozen=True, eq=False)
class Event:
    """A set of cells of one feature.

    `promise` is a cautious estimate of ln((p - delta) / q). `excess` is a less cautious estimate of p - delta -
    e**epsilon q in standard errors.
    """

    feature: str
    column: Column
    edges: Array
    is_selected: npt.NDArray[np.bool_]
    description: str
    promise: float
    excess: float

    def count(self, table: Array) -> int:
        return int(self.is_selected[cell_indices(self.column(table), self.edges)].sum())


def search(
    first: Array, second: Array, names: Sequence[str], *, target: tuple[float, float], last_bits: bool
) -> tuple[list[Event], list[Event]]:
    """Return the best events that are likelier on the first input, and the best events that are likelier on the second.

    The best events have the largest promise or excess. Every second run determines the cells and the input on which
    they are likelier; the other runs evaluate the events.
    """
    forward: list[Event] = []
    back: list[Event] = []
    for name, column in iterate_features(first[::2], second[::2], names, last_bits=last_bits):
        a, b = column(first), column(second)
        edges = event_edges(a[::2], b[::2])
        counts = [
            np.bincount(cell_indices(x[start::2], edges), minlength=len(edges) + 1) for x in (a, b) for start in (0, 1)
        ]
        forward += _best(name, column, edges, (counts[0], counts[2]), (counts[1], counts[3]), target)
        back += _best(name, column, edges, (counts[2], counts[0]), (counts[3], counts[1]), target)
    return _select_best(forward), _select_best(back)


def _select_best(events: list[Event]) -> list[Event]:
    """Return the best events by either measure, most promising first; events with equal measures count once."""
    distinct = {(event.promise, event.excess): event for event in reversed(events)}.values()
    selected: dict[int, Event] = {}
    for measure in ("promise", "excess"):
        best_by_feature: dict[str, Event] = {}
        for event in sorted(distinct, key=lambda event: -float(getattr(event, measure))):
            best_by_feature.setdefault(event.feature, event)
        selected |= {id(event): event for event in list(best_by_feature.values())[:_KEPT]}
    return list(selected.values())


def event_edges(first: Array, second: Array) -> Array:
    """Return the edges of cells: one per value if there are few, otherwise equal shares that shrink in the tails.

    A frequent value gets its own cell, and so does the range beyond all outputs of the other input.
    """
    column = np.concatenate([first, second])
    values, counts = np.unique(column, return_counts=True)
    if len(values) <= _ATOMS:
        return np.asarray(values)
    heavy = values[counts >= max(2, len(column) / 500)]
    smallest = max(math.floor(math.log2(len(column) / _RAREST)), 7)
    tail = 0.5 ** np.arange(7, smallest + 1)
    inner = np.quantile(column, np.concatenate([tail, np.linspace(0, 1, _CELLS + 1)[1:-1], 1 - tail]), method="lower")
    ends = np.array([first.min(), second.min(), *np.nextafter([first.max(), second.max()], math.inf)])
    return np.unique(np.concatenate([inner, heavy, np.nextafter(heavy, math.inf), ends]))


def _best(
    name: str, column: Column, edges: Array, ranked: Counts, counts: Counts, target: tuple[float, float]
) -> list[Event]:
    """Return the best event by either measure among all tails and all sets of cells ordered by likelihood ratio."""
    observed, other = counts
    n, m = int(observed.sum()), int(other.sum())
    ascending = np.arange(len(observed))
    by_ratio = np.argsort(-(ranked[0] + 1.0) / (ranked[1] + 1.0), kind="stable")
    directions, orders = ("below", "at least", "among"), np.array([ascending, ascending[::-1], by_ratio])
    sums = np.cumsum(observed[orders], axis=1), np.cumsum(other[orders], axis=1)
    promises, excesses = _promise(sums[0], n, sums[1], m, target[1]), _excess(sums[0], n, sums[1], m, target)
    events = []
    for measure in (promises, excesses):
        direction, last = np.unravel_index(int(np.argmax(measure)), measure.shape)  # the first maximum in case of ties
        selected = np.zeros(len(observed), dtype=bool)
        selected[orders[direction][: last + 1]] = True
        description = f"{name} {_describe_cells(directions[direction], edges, orders[direction], int(last))}"
        events.append(
            Event(
                name,
                column,
                edges,
                selected,
                description,
                float(promises[direction, last]),
                float(excesses[direction, last]),
            )
        )
    return events


def _promise(observed: Array, n: int, other: Array, m: int, delta: float) -> Array:
    low, high = _wilson(observed, n, -_CAUTION) - delta, _wilson(other, m, _CAUTION)
    return np.where(low > 0, np.log(np.maximum(low, 1e-300) / high), -math.inf)


def _excess(observed: Array, n: int, other: Array, m: int, target: tuple[float, float]) -> Array:
    epsilon, delta = target
    if epsilon == math.inf:
        return _promise(observed, n, other, m, delta)
    power = math.exp(min(epsilon, 300.0))
    low, high = _wilson(observed, n, -_HOPE), _wilson(other, m, _HOPE)
    error = np.sqrt(low * (1 - low) / n + power**2 * high / m)
    return np.asarray((low - delta - power * high) / error)


def _wilson(count: Array, n: int, z: float) -> Array:
    """Return the share that is z standard errors away from the observed share (Wilson)."""
    middle, lead = count + z * z / 2, n + z * z
    return np.asarray((middle + z * np.sqrt(count * (n - count) / n + z * z / 4)) / lead)


def _describe_cells(direction: str, edges: Array, order: npt.NDArray[np.intp], last: int) -> str:
    if direction == "among":
        return f"in the {last + 1} of {len(order)} cells where it was likelier"
    cell = order[last]
    if direction == "at least":
        return f"at least {edges[cell - 1]:.6g}" if cell > 0 else "of any size"
    return f"below {edges[cell]:.6g}" if cell < len(edges) else "of any size"
