"""Reports of many yes/no bits, packed eight to a byte.

Option v is bit v % 8 of byte v // 8, lowest bit first. A million reports on 1024 options take 128 megabytes.
"""

from bisect import bisect_right
from collections.abc import Callable
from itertools import accumulate
from typing import Any

import numpy as np
import numpy.typing as npt

from toolkit.core.arrays import ArrayLike, Codes, Values, as_array
from toolkit.core.checks import reject
from toolkit.core.extras import chunks
from toolkit.core.randomness import Rng, big_below, words
from toolkit.core.sampling import CHUNK, Categorical
from toolkit.local.matrix.encoding import checked_times, count_codes

Packed = npt.NDArray[np.uint8]

_BITS = (np.arange(256)[:, None] >> np.arange(8)) & 1
_ONES = _BITS.sum(axis=1).astype(np.uint8)
_UNDECIDED = -1


class BernoulliByteLaw:
    """The distribution of a byte of eight independent bits, each 1 with probability exactly numerator / denominator.

    The 256 bytes are consecutive cells of the interval from 0 to 1, and a uniform point falls into one of them. Its
    first 16 binary digits nearly always determine the cell, which is looked up in a table. Otherwise 48 more digits are
    drawn; if a cell boundary still lies within the range of the digits, which happens once in 10**16 draws, the rest of
    the point is drawn exactly. So eight bits usually cost two random bytes.
    """

    def __init__(self, numerator: int, denominator: int) -> None:
        weights = [numerator**count * (denominator - numerator) ** (8 - count) for count in range(9)]
        self._edges = list(accumulate((weights[count] for count in _ONES.tolist()), initial=0))
        self._table = np.full(1 << 16, _UNDECIDED, dtype=np.int16)
        for byte, (first, last) in enumerate(self._decided_ranges(16)):
            self._table[first:last] = byte
        # The last 64-bit word is always resolved by the exact draw, so that every limit fits in a 64-bit word.
        self._first, self._last = (
            np.minimum(np.array(self._decided_ranges(64), dtype=object), 2**64 - 1).astype(np.uint64).T
        )

    def draw(self, n_bytes: int, rng: Rng = None) -> Packed:
        lead = words(n_bytes, 16, rng)
        sample = self._table[lead]
        ties = np.flatnonzero(sample == _UNDECIDED)
        if len(ties):
            finer = (lead[ties].astype(np.uint64) << np.uint64(48)) | (words(len(ties), 64, rng) >> np.uint64(16))
            sample[ties] = self._resolve_ties(finer, rng)
        return sample.astype(np.uint8)

    def _decided_ranges(self, digits: int) -> list[tuple[int, int]]:
        """Return, for each byte, the range of leading digits that lies wholly in its cell (empty if there is none)."""
        total, scale = self._edges[-1], 1 << digits
        starts = [-(-edge * scale // total) for edge in self._edges]
        ends = [edge * scale // total for edge in self._edges]
        return [(start, max(start, end)) for start, end in zip(starts[:-1], ends[1:], strict=True)]

    def _resolve_ties(self, points: npt.NDArray[np.uint64], rng: Rng) -> npt.NDArray[np.int16]:
        cell = np.searchsorted(self._first, points, side="right") - 1
        for index in np.flatnonzero(points >= self._last[cell]):
            cell[index] = self.cell(int(points[index]), big_below(self._edges[-1], rng))
        return cell.astype(np.int16)

    def cell(self, point: int, remainder: int) -> int:
        """Return the byte whose cell contains (point + rest / total) / 2**64, computed in exact integers."""
        total = self._edges[-1]
        return bisect_right(self._edges, (point * total + remainder) >> 64) - 1


def bytes_per_row(k: int) -> int:
    return -(-k // 8)


def rows_per_chunk(k: int) -> int:
    """Return the number of rows per chunk, which balances the size of the cache against the length of columns."""
    return max(4096, CHUNK // bytes_per_row(k))


def draw_noise(law: BernoulliByteLaw, n_rows: int, k: int, rng: Rng) -> Packed:
    """Draw rows of k independent bits; the unused bits of the last byte are zero."""
    sample = law.draw(n_rows * bytes_per_row(k), rng).reshape(n_rows, bytes_per_row(k))
    if k % 8:
        sample[:, -1] &= np.uint8((1 << k % 8) - 1)
    return sample


def draw_rows(
    other_law: BernoulliByteLaw,
    truth_law: Categorical,
    codes: Codes,
    k: int,
    rng: Rng,
    adjust_rows: Callable[[Packed, Codes], None] = lambda rows, codes: None,  # noqa: ARG005
) -> Packed:
    """Draw a row of bits per answer: the answer's bit from `truth_law`, all others from `other_law`.

    `adjust_rows` may change the rows of a chunk in place.
    """
    reports = np.empty((len(codes), bytes_per_row(k)), dtype=np.uint8)
    for chunk in chunks(len(codes), rows_per_chunk(k), "randomizing"):
        answers = codes[chunk]
        rows = draw_noise(other_law, len(answers), k, rng)
        set_bits(rows, answers, truth_law.draw(len(answers), rng))
        adjust_rows(rows, answers)
        reports[chunk] = rows
    return reports


def byte_and_mask(codes: npt.NDArray[Any]) -> tuple[npt.NDArray[np.intp], Packed]:
    """Return the byte of each code and its bit in that byte, as a mask."""
    return (codes >> 3).astype(np.intp), np.left_shift(1, codes & 7).astype(np.uint8)


def set_bits(packed: Packed, codes: npt.NDArray[Any], values: npt.NDArray[Any]) -> None:
    """Set one bit in each row, in place."""
    row, (byte, mask) = np.arange(len(packed)), byte_and_mask(codes)
    packed[row, byte] = np.where(values != 0, packed[row, byte] | mask, packed[row, byte] & ~mask)


def count_ones(packed: Packed) -> npt.NDArray[np.int64]:
    """Count the bits that are set in each row."""
    return np.asarray(_ONES[packed].sum(axis=1, dtype=np.int64))


def bit_column(packed: Packed, code: int) -> npt.NDArray[np.bool_]:
    """Return a mask of the rows in which the bit of `code` is set."""
    return np.asarray((packed[:, code >> 3] & np.uint8(1 << (code & 7))) != 0)


def column_sums(packed: Packed, k: int, times: npt.NDArray[np.int64] | None = None) -> npt.NDArray[np.int64]:
    """Count the rows in which each bit is set; `times` repeats rows."""
    # Counting the 256 values of each byte and then their bits is faster than unpacking the rows.
    sums = np.zeros((packed.shape[1], 8), dtype=np.int64)
    for chunk in chunks(len(packed), rows_per_chunk(k), "counting"):
        for byte_column, total in zip(packed[chunk].T, sums, strict=True):
            total += count_codes(byte_column, None if times is None else times[chunk], 256) @ _BITS
    return sums.ravel()[:k]


def tally(packed: Packed, k: int, times: ArrayLike | None) -> tuple[npt.NDArray[np.int64], int]:
    """Count the reports in which each bit is set, and all reports; `times` repeats reports."""
    if times is None:
        return column_sums(packed, k), len(packed)
    counts = checked_times(times, len(packed))
    return column_sums(packed, k, counts), int(counts.sum())


def pack(selected: npt.NDArray[np.bool_]) -> Packed:
    """Pack truth values, one row per report, into bits."""
    return np.packbits(selected, axis=1, bitorder="little")


def unpack(packed: Packed, k: int) -> npt.NDArray[np.bool_]:
    """Unpack bits into truth values, with one row per report and one column per option."""
    return np.unpackbits(packed, axis=1, count=k, bitorder="little").astype(bool)


def as_packed(reports: Values, k: int) -> Packed:
    """Read packed reports, a table of truth values, or a list of lists of option codes as packed reports."""
    array = np.asarray(reports) if not isinstance(reports, list) else _to_truth_table(reports, k)
    if array.ndim == 2 and array.dtype == np.bool_ and array.shape[1] == k:
        array = pack(array)
    if array.ndim != 2 or array.dtype != np.uint8 or array.shape[1] != bytes_per_row(k):
        rule = f"reports must be {bytes_per_row(k)} packed bytes or {k} truth values each, or lists of option codes"
        reject(rule, f"{array.ndim} dimensions of {array.dtype}", "pass reports as `randomize` returns them", TypeError)
    if len(array) == 0:
        reject("reports must hold at least one entry", "none", "there is nothing to estimate from")
    if k % 8 and np.any(array[:, -1] >> np.uint8(k % 8)):
        reject(f"reports must be on {k} options", "bits beyond them", "they were made by another randomizer")
    return array


def _to_truth_table(rows: list[Any], k: int) -> npt.NDArray[Any]:
    """Convert lists of option codes to truth values, and anything else to an array."""
    if not all(isinstance(row, list | tuple | set | frozenset) for row in rows):
        return as_array(rows)
    table = np.zeros((len(rows), k), dtype=bool)
    for row, codes in zip(table, rows, strict=True):
        if not all(type(code) is int and 0 <= code < k for code in codes) or len(set(codes)) < len(codes):
            reject(f"a report must be distinct option codes in 0 … {k - 1}", "others", "no other code names an option")
        row[list(codes)] = True
    return table
