"""Ways to look at a table of outputs: each makes one number of a row, in which two neighbors may differ.

Entries, their differences, pairs of them, sums and extremes, the last bits of floats, all entries together as
one label, and the likelihood ratio that a first half of the runs suggests.
"""

from collections.abc import Callable, Iterator, Sequence
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


def features(
    first: Array, second: Array, names: Sequence[str], *, last_bits: bool = True
) -> Iterator[tuple[str, Column]]:
    """Ways to look at outputs like these, by what varies in them; which cells and weights they use is read
    from these runs.
    """
    pooled = np.concatenate([first, second])
    varied = [i for i in range(min(pooled.shape[1], _MOST_ENTRIES)) if np.any(pooled[:, i] != pooled[0, i])] or [0]
    for i in varied:
        yield names[i], _entry(i)
    for i in varied[: _MOST_BITS * last_bits]:
        if np.any((pooled[:, i] != np.floor(pooled[:, i])) | (np.signbit(pooled[:, i]) & (pooled[:, i] == 0))):
            yield f"the last bits of {names[i]}", _bits(i)
    if len(varied) == 1:
        return
    for i, j in pairwise(varied):
        yield f"{names[i]} less {names[j]}", _difference(i, j)
    yield "the sum of the entries", lambda table: np.asarray(np.where(np.abs(table) < 1e300, table, 0).sum(axis=1))
    yield "the largest entry", lambda table: np.asarray(table.max(axis=1))
    yield "the smallest entry", lambda table: np.asarray(table.min(axis=1))
    yield "the place of the largest entry", lambda table: np.asarray(table.argmax(axis=1), dtype=float)
    yield "the place of the smallest entry", lambda table: np.asarray(table.argmin(axis=1), dtype=float)
    yield "all entries together", fingerprint
    for i, j in combinations(varied, 2) if len(varied) <= _MOST_TOGETHER else pairwise(varied):
        yield f"{names[i]} and {names[j]} together", _together(pooled, i, j)
    yield "the likelihood of all entries", _likelihood(first[:, varied], second[:, varied], varied)


def cells(column: Array, edges: Array) -> npt.NDArray[np.intp]:
    """The cell of each number: how many edges are not above it."""
    return np.searchsorted(edges, column, side="right")


def shares(column: Array, most: int) -> Array:
    """Edges of cells: each value its own where they are at most `most`; else about equal shares."""
    values = np.unique(column)
    if len(values) <= most:
        return values
    return np.unique(np.quantile(column, np.linspace(0, 1, most + 1)[1:-1], method="lower"))


def _entry(i: int) -> Column:
    return lambda table: table[:, i]


def _bits(i: int) -> Column:
    """The place of the last bit that is set, and of the first: floats near zero can say what was added to
    them; so can -0.
    """

    def column(table: Array) -> Array:
        mantissa, exponent = np.frexp(table[:, i])
        whole = np.abs(mantissa * 2.0**53).astype(np.int64)
        lowest = np.log2(np.maximum(whole & -whole, 1)) + exponent - 53
        zero = 50_000.0 + np.signbit(table[:, i])
        return np.where(whole == 0, zero, np.round(lowest) + 3000.0 * np.clip(exponent, -8, 8))

    return column


def _difference(i: int, j: int) -> Column:
    return lambda table: table[:, i] - table[:, j]


def fingerprint(table: Array) -> Array:
    """One number for each distinct row: a sum over entries of their bits, each stirred with a key of its own.

    The low bits of small whole floats are all zero, and a product carries nothing downwards: they are shifted
    in between.
    """
    keys = np.random.default_rng(0).integers(1, 2**62, table.shape[1], dtype=np.uint64)
    mixed = np.ascontiguousarray(table + 0.0).view(np.uint64).reshape(table.shape) ^ keys
    for shift in (32, 29, 32):
        mixed = (mixed ^ (mixed >> np.uint64(shift))) * np.uint64(0x9E3779B97F4A7C15)
    return np.asarray(mixed.sum(axis=1, dtype=np.uint64) >> np.uint64(11), dtype=float)


def _together(pooled: Array, i: int, j: int) -> Column:
    """Both entries, each cut into a few cells: what one says may matter only where the other is large."""
    edges = [shares(pooled[:, k], _FINE) for k in (i, j)]
    return lambda table: np.asarray(
        (len(edges[1]) + 1) * cells(table[:, i], edges[0]) + cells(table[:, j], edges[1]), dtype=float
    )


def _likelihood(first: Array, second: Array, places: list[int]) -> Column:
    """The log-likelihood ratio of all entries: of each by itself, from a few cells, weighed by logistic regression.

    With weights of one it is the best feature there is if entries are independent; the weights allow for
    those that are not.

    References: B. Bichsel et al., DP-Sniper (2021).
    """
    pooled = np.concatenate([first, second])
    edges = [shares(column, _COARSE) for column in pooled.T]

    def counts(column: Array, e: Array) -> Array:
        return np.asarray(np.bincount(cells(column, e), minlength=len(e) + 1) + 1.0, dtype=float)

    logs = [np.log(counts(a, e) / counts(b, e)) for a, b, e in zip(first.T, second.T, edges, strict=True)]

    def ratios(table: Array) -> Array:
        return np.column_stack([log[cells(x, e)] for x, e, log in zip(table.T, edges, logs, strict=True)])

    weights = _logistic(ratios(pooled), np.arange(len(pooled)) < len(first))
    return lambda table: np.asarray(np.round(ratios(table[:, places]) @ weights, 9))


def _logistic(ratios: Array, is_first: npt.NDArray[np.bool_]) -> Array:
    """Weights by Newton's method, drawn towards one by a penalty as if ten runs had said so."""
    weights = np.ones(ratios.shape[1])
    for _ in range(_ROUNDS):
        chance = 1 / (1 + np.exp(-np.clip(ratios @ weights, -30, 30)))
        slope = ratios.T @ (is_first - chance) - 10 * (weights - 1)
        curve = (ratios * (chance * (1 - chance))[:, None]).T @ ratios + 10 * np.eye(len(weights))
        weights = np.clip(weights + np.linalg.solve(curve, slope), -10, 10)
    return weights
