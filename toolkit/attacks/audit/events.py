"""Events that tell two neighbors apart, looked for in runs that are not used to confirm them.

A feature turns each output into a number; the numbers are cut into cells, and an event is a set of cells: a
tail, or the cells that were likelier on one neighbor. Whatever event is found, its probabilities are
estimated afterwards from fresh runs, so that looking at many costs nothing but power.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from toolkit.attacks.audit.features import Column, cells, features
from toolkit.core.arrays import Array

Counts = tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]

_CELLS = 64
_ATOMS = 1024
_RAREST = 4  # runs in the outermost cell of a tail, about
_KEPT = 3
_CAUTION = 4.0  # standard errors that a candidate is marked down by, so that chance alone does not win the search
# and those where a fault is hoped for: what is rare has few runs for it, and a trial too many costs little
_HOPE = 1.5


@dataclass(frozen=True, eq=False)
class Event:
    """Cells of one feature: what they are called, how an output is put into them, and how good they looked.

    Parameters
    ----------
    promise : a cautious guess of ln((p - delta) / q).
    excess : how many standard errors p - delta - e**epsilon q is expected to be above 0, a little less
    cautious.
    """

    feature: str
    column: Column
    edges: Array
    chosen: npt.NDArray[np.bool_]
    words: str
    promise: float
    excess: float

    def count(self, table: Array) -> int:
        """In how many runs the event happened."""
        return int(self.chosen[cells(self.column(table), self.edges)].sum())


def search(
    first: Array,
    second: Array,
    names: Sequence[str] | None = None,
    *,
    target: tuple[float, float] = (math.inf, 0.0),
    last_bits: bool = True,
) -> tuple[list[Event], list[Event]]:
    """Events likelier on the first input, and events likelier on the second: those of the best promise and of
    the largest excess.

    Every other run says how the cells are cut and which are likelier on which input; the runs between say how
    good events are.

    Parameters
    ----------
    names : what the columns are called.
    target : the claimed epsilon and delta.
    """
    called = names or ["the output"] if first.shape[1] == 1 else names or [f"entry {i}" for i in range(first.shape[1])]
    there: list[Event] = []
    back: list[Event] = []
    for name, column in features(first[::2], second[::2], called, last_bits=last_bits):
        a, b = column(first), column(second)
        edges = cut(a[::2], b[::2])
        counts = [np.bincount(cells(x[start::2], edges), minlength=len(edges) + 1) for x in (a, b) for start in (0, 1)]
        there += _best(name, column, edges, (counts[0], counts[2]), (counts[1], counts[3]), target)
        back += _best(name, column, edges, (counts[2], counts[0]), (counts[3], counts[1]), target)
    return _foremost(there), _foremost(back)


def _foremost(events: list[Event]) -> list[Event]:
    """The best by either measure, the most promising first; those that look the same by both are one event
    under several names.
    """
    unlike = {(event.promise, event.excess): event for event in reversed(events)}.values()
    events_by_place: dict[int, Event] = {}
    for measure in ("promise", "excess"):
        of_feature: dict[str, Event] = {}
        for event in sorted(unlike, key=lambda event: -float(getattr(event, measure))):
            of_feature.setdefault(event.feature, event)
        events_by_place |= {id(event): event for event in list(of_feature.values())[:_KEPT]}
    return list(events_by_place.values())


def cut(first: Array, second: Array, most: int = _CELLS, atoms: int = _ATOMS) -> Array:
    """Edges of cells: each value its own where they are few; else equal shares, ever smaller ones in the tails.

    A value that is frequent has a cell of its own, and so has what lies beyond everything that the other input gave.
    """
    column = np.concatenate([first, second])
    values, counts = np.unique(column, return_counts=True)
    if len(values) <= atoms:
        return np.asarray(values)
    heavy = values[counts >= max(2, len(column) / 500)]
    smallest = max(math.floor(math.log2(len(column) / _RAREST)), 7)
    tail = 0.5 ** np.arange(7, smallest + 1)
    inner = np.quantile(column, np.concatenate([tail, np.linspace(0, 1, most + 1)[1:-1], 1 - tail]), method="lower")
    ends = np.array([first.min(), second.min(), *np.nextafter([first.max(), second.max()], math.inf)])
    return np.unique(np.concatenate([inner, heavy, np.nextafter(heavy, math.inf), ends]))


def _best(
    name: str, column: Column, edges: Array, ranked: Counts, weighed: Counts, target: tuple[float, float]
) -> list[Event]:
    """By either measure the best of all tails, and of all sets of cells by their likelihood ratio."""
    seen, other = weighed
    n, m = int(seen.sum()), int(other.sum())
    natural = np.arange(len(seen))
    by_ratio = np.argsort(-(ranked[0] + 1.0) / (ranked[1] + 1.0), kind="stable")
    ways = {"below": natural, "at least": natural[::-1], "among": by_ratio}
    sums = {way: (np.cumsum(seen[order]), np.cumsum(other[order])) for way, order in ways.items()}
    promises = {way: _promise(p, n, q, m, target[1]) for way, (p, q) in sums.items()}
    excesses = {way: _excess(p, n, q, m, target) for way, (p, q) in sums.items()}
    events = []
    for measure in (promises, excesses):
        way = max(ways, key=lambda way: float(measure[way].max()))
        last = int(np.argmax(measure[way]))
        chosen = np.zeros(len(seen), dtype=bool)
        chosen[ways[way][: last + 1]] = True
        words = f"{name} {_worded(way, edges, ways[way], last)}"
        events.append(Event(name, column, edges, chosen, words, float(promises[way][last]), float(excesses[way][last])))
    return events


def _promise(seen: Array, n: int, other: Array, m: int, delta: float) -> Array:
    low, high = _wilson(seen, n, -_CAUTION) - delta, _wilson(other, m, _CAUTION)
    return np.where(low > 0, np.log(np.maximum(low, 1e-300) / high), -math.inf)


def _excess(seen: Array, n: int, other: Array, m: int, target: tuple[float, float]) -> Array:
    epsilon, delta = target
    if epsilon == math.inf:
        return _promise(seen, n, other, m, delta)
    power = math.exp(min(epsilon, 300.0))
    low, high = _wilson(seen, n, -_HOPE), _wilson(other, m, _HOPE)
    error = np.sqrt(low * (1 - low) / n + power**2 * high / m)
    return np.asarray((low - delta - power * high) / error)


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
