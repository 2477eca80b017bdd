"""Exact draws from a law on 0, 1, 2, … whose probabilities are irrational: inversion with edges as fine as needed."""

from bisect import bisect_right
from collections.abc import Callable
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from toolkit.core.randomness import Rng, words
from toolkit.core.sampling.categorical import CHUNK
from toolkit.core.sampling.enclosure import WORD

Edges: TypeAlias = tuple[list[int], list[int]]
"""Lower and upper bounds of Pr[0], Pr[0] + Pr[1], …, times 2**bits; the list may stop when little is left."""

_LEADING = 16
_FEW = 2048  # up to here looking up whole words is faster than building the table
_UNDECIDED = -1


class Inversion:
    """Outcome t where a uniform number U falls between the edges below and above t of the cumulative law.

    U is known by its leading bits only. Each edge is enclosed between two integers; an outcome is decided
    when every continuation of the bits lies between the upper bound of the edge below and the lower bound of
    the edge above. If not, U gets 64 more bits and the edges are computed with 64 more. So the law is that of
    the real number U, exactly, and nearly always 16 bits are enough.

    Parameters
    ----------
    edges : callable
        Of the number of bits: `Edges` of that precision; more bits must leave less over.
    """

    def __init__(self, edges: Callable[[int], Edges]) -> None:
        self._edges = edges
        self._lower, upper = edges(WORD)
        # No prefix is at or above the largest word's successor, so an edge there is never passed and may be
        # cut to it.
        self._upper = [min(edge, 2**WORD - 1) for edge in upper]
        self._low, self._high = (np.array(edge, dtype=np.uint64) for edge in (self._lower, [0, *self._upper]))
        self._table: npt.NDArray[np.signedinteger] | None = None

    def draw(self, size: int, rng: Rng = None) -> npt.NDArray[np.int64]:
        """`size` independent outcomes."""
        if size <= _FEW:
            return self._decide(words(size, WORD, rng), rng)
        if self._table is None:
            self._table = self._decided()
        drawn = np.empty(size, dtype=np.int64)
        for start in range(0, size, CHUNK):
            self._fill(drawn[start : start + CHUNK], self._table, rng)
        return drawn

    def draw_one(self, rng: Rng = None) -> int:
        """One outcome, without the cost of arrays."""
        prefix = int(words(1, WORD, rng)[0])
        cell = _located(self._lower, self._upper, prefix)
        return self._refine(prefix, rng) if cell == _UNDECIDED else cell

    def _fill(self, out: npt.NDArray[np.int64], table: npt.NDArray[np.signedinteger], rng: Rng) -> None:
        leading = words(len(out), _LEADING, rng)
        out[:] = np.take(table, leading, mode="clip")
        ties = np.flatnonzero(out == _UNDECIDED)
        rest = words(len(ties), WORD, rng) >> np.uint64(_LEADING)
        out[ties] = self._decide((leading[ties].astype(np.uint64) << np.uint64(WORD - _LEADING)) | rest, rng)

    def _cells(self, uniform: npt.NDArray[np.unsignedinteger]) -> npt.NDArray[np.intp]:
        """The outcome of each 64-bit prefix, or the mark of an undecided one."""
        cell = np.searchsorted(self._low, uniform, side="right")
        decided = (self._high[cell] <= uniform) & (cell < len(self._low))
        return np.where(decided, cell, _UNDECIDED)

    def _decide(self, uniform: npt.NDArray[np.unsignedinteger], rng: Rng) -> npt.NDArray[np.int64]:
        cell = self._cells(uniform).astype(np.int64, copy=False)
        for i in np.flatnonzero(cell == _UNDECIDED):
            cell[i] = self._refine(int(uniform[i]), rng)
        return cell

    def _refine(self, prefix: int, rng: Rng) -> int:
        bits = WORD
        while True:
            prefix, bits = (prefix << WORD) | int(words(1, WORD, rng)[0]), bits + WORD
            cell = _located(*self._edges(bits), prefix)
            if cell != _UNDECIDED:
                return cell

    def _decided(self) -> npt.NDArray[np.signedinteger]:
        """For each 16-bit word the outcome that holds its whole range, or the mark where an edge cuts it."""
        first = np.arange(1 << _LEADING, dtype=np.uint64) << np.uint64(WORD - _LEADING)
        cell = self._cells(first)
        whole = cell == self._cells(first + np.uint64((1 << (WORD - _LEADING)) - 1))
        return np.where(whole, cell, _UNDECIDED).astype(np.min_scalar_type(-len(self._low) - 1))


def _located(low: list[int], high: list[int], prefix: int) -> int:
    """The outcome of one prefix, or the mark of an undecided one."""
    cell = bisect_right(low, prefix)
    return cell if cell < len(low) and (cell == 0 or high[cell - 1] <= prefix) else _UNDECIDED
