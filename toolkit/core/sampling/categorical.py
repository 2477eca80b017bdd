"""Exact draws from a finite distribution with integer weights, many at a time."""

import numpy as np
import numpy.typing as npt

from toolkit.core.randomness import Rng, below, words

_WORD = 16
_FEW = 4096  # up to here a plain draw is faster than building the table
CHUNK = 1 << 17
"""Long work goes in pieces of this many, so that the working arrays stay in the processor's cache."""

_UNDECIDED = -1

Cells = npt.NDArray[np.signedinteger]


class Categorical:
    """Outcome j with probability exactly weights[j] / sum(weights); the sum is at most 2**32.

    A uniform integer U below `total` falls into one of the consecutive cells of the weights. For many draws a
    16-bit word is looked up first: it is the leading part of a finer uniform integer, word * total + U below
    2**16 * total, and it nearly always decides the cell alone. Only where a cell's edge lies inside the
    word's range is U drawn too. The law is the same to the last bit, at two random bytes a draw.
    """

    def __init__(self, weights: npt.ArrayLike) -> None:
        self._edges = np.concatenate([[0], np.cumsum(np.asarray(weights, dtype=np.uint64))]).astype(np.uint64)
        self._total = int(self._edges[-1])
        self.outcomes = len(self._edges) - 1
        self._table: Cells | None = None

    def cells(self, uniform: npt.NDArray[np.uint64]) -> npt.NDArray[np.intp]:
        """The outcome for each U below the total: the map that the browser shares."""
        return np.searchsorted(self._edges, uniform, side="right") - 1

    def draw(self, size: int, rng: Rng = None) -> Cells:
        """`size` independent outcomes, of the smallest integer type that holds them."""
        if size <= _FEW:
            return self.cells(below(self._total, size, rng))
        if self._table is None:
            self._table = self._decided()
        drawn = np.empty(size, dtype=self._table.dtype)
        for start in range(0, size, CHUNK):
            self._fill(drawn[start : start + CHUNK], self._table, rng)
        return drawn

    def _fill(self, out: Cells, table: Cells, rng: Rng) -> None:
        leading = words(len(out), _WORD, rng)
        np.take(table, leading, out=out, mode="clip")
        ties = np.flatnonzero(out == _UNDECIDED)
        if len(ties):
            finer = leading[ties].astype(np.uint64) * np.uint64(self._total) + below(self._total, len(ties), rng)
            out[ties] = np.searchsorted(self._edges << np.uint64(_WORD), finer, side="right") - 1

    def _decided(self) -> Cells:
        """For each word the cell that holds its whole range, or a mark where an edge cuts the range."""
        fine_edges = self._edges << np.uint64(_WORD)
        first = np.arange(1 << _WORD, dtype=np.uint64) * np.uint64(self._total)
        last = first + np.uint64(self._total - 1)
        cell = np.searchsorted(fine_edges, first, side="right") - 1
        whole = cell == np.searchsorted(fine_edges, last, side="right") - 1
        return np.where(whole, cell, _UNDECIDED).astype(np.min_scalar_type(-self.outcomes))
