"""Packed bits: the byte distribution is exact, counts are right, and reports of other randomizers are rejected."""

from bisect import bisect_right
from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import chi2

from toolkit.local.oracles import bits


@pytest.mark.slow
@pytest.mark.parametrize(("ones", "of"), [(1, 4), (3, 7), (1155106184, 2**32), (1, 2**32), (0, 256), (255, 256)])
def test_the_table_gives_every_byte_its_exact_share_or_leaves_it_open(ones: int, of: int) -> None:
    """Leading words inside a cell are decided, and words that a cell boundary cuts are not; no word is assigned to a
    wrong byte.
    """
    law, chance = bits.BernoulliByteLaw(ones, of), Fraction(ones, of)
    start = Fraction(0)
    for byte in range(256):
        share = chance ** byte.bit_count() * (1 - chance) ** (8 - byte.bit_count())
        mine = np.flatnonzero(law._table == byte)
        if len(mine):  # if the first and the last are inside, all are
            assert start <= Fraction(int(mine[0]), 2**16)
            assert Fraction(int(mine[-1]) + 1, 2**16) <= start + share
        assert len(mine) > share * 2**16 - 2  # only a word at either boundary remains undecided
        start += share
    assert start == 1
    assert np.count_nonzero(law._table == -1) <= 256


@pytest.mark.slow
@pytest.mark.parametrize(("ones", "of"), [(1, 4), (3, 7), (1155106184, 2**32), (1, 2**32), (2**32 - 1, 2**32)])
def test_finer_words_and_the_exact_draw_agree_with_the_edges(ones: int, of: int) -> None:
    """Around every boundary, the 64-bit stage decides only certain cases, and the exact stage decides the rest."""
    law, total = bits.BernoulliByteLaw(ones, of), of**8
    for byte, edge in enumerate(law._edges[:-1]):
        near = edge * 2**64 // total
        for point in {max(near - 1, 0), near, min(near + 1, 2**64 - 1)}:
            for rest in (0, total - 1, (edge * 2**64 - point * total) % total):
                position = Fraction(point * total + rest, total * 2**64)
                cell = law.cell(point, rest)
                assert Fraction(law._edges[cell], total) <= position < Fraction(law._edges[cell + 1], total)
            decided = np.searchsorted(law._first, np.uint64(point), side="right") - 1
            if decided >= 0 and point < law._last[decided]:
                assert law._edges[decided] * 2**64 <= point * total
                assert (point + 1) * total <= law._edges[decided + 1] * 2**64
        assert byte < 256


def test_an_undecided_point_is_resolved_by_the_exact_draw(monkeypatch: pytest.MonkeyPatch) -> None:
    law = bits.BernoulliByteLaw(3, 7)
    edge = law._edges[1]
    point = edge * 2**64 // 7**8
    cut = edge * 2**64 - point * 7**8  # here the boundary lies within the last digit
    assert 0 < cut < 7**8
    for rest, byte in ((cut - 1, 0), (cut, 1)):
        monkeypatch.setattr(bits, "big_below", lambda *_, rest=rest: rest)
        assert law._resolve_ties(np.array([point], dtype=np.uint64), None).tolist() == [byte]


def test_a_word_that_an_edge_cuts_is_followed_by_48_bits_more(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every such word, with the smallest, a middle and the largest continuation, is compared with the exact
    boundaries.
    """
    law = bits.BernoulliByteLaw(3, 7)
    cut = np.flatnonzero(law._table == -1)
    assert len(cut) > 200
    for rest in (0, 2**47 + 12_345, 2**48 - 1):
        stream = {16: cut.astype(np.uint16), 64: np.full(len(cut), (rest << 16) + 99, dtype=np.uint64)}
        monkeypatch.setattr(bits, "words", lambda _count, size, _rng, stream=stream: stream[size])
        points = [(int(word) << 48) + rest for word in cut]
        expected = [bisect_right(law._edges, point * 7**8 >> 64) - 1 for point in points]
        assert law.draw(len(cut)).tolist() == expected


@pytest.mark.parametrize("rng", [np.random.default_rng(1), None])
def test_bytes_follow_their_law(rng: np.random.Generator | None) -> None:
    """Chi-squared over 256 bytes. False alarms: 1e-6, with the seed and without."""
    law = bits.BernoulliByteLaw(3, 7)
    counts = np.bincount(law.draw(400_000, rng), minlength=256)
    expected = np.diff(np.array([Fraction(edge, 7**8) for edge in law._edges]).astype(float)) * 400_000
    assert chi2.sf(((counts - expected) ** 2 / expected).sum(), 255) > 1e-6


def test_a_point_on_an_edge_is_resolved_by_a_second_draw(monkeypatch: pytest.MonkeyPatch) -> None:
    """A point that a boundary divides is followed by a random number below the last boundary."""
    law, bounds = bits.BernoulliByteLaw(3, 7), []
    points = np.array([edge * 2**64 // 7**8 for edge in law._edges[1:-1]], dtype=np.uint64)
    monkeypatch.setattr(bits, "big_below", lambda bound, _rng: bounds.append(bound) or bound - 1)
    assert law._resolve_ties(points, None).tolist() == [law.cell(int(point), 7**8 - 1) for point in points]
    assert bounds == [7**8] * len(points)


@pytest.mark.parametrize("k", [2, 7, 8, 9, 16, 100])
def test_packing_counting_and_setting_bits(k: int) -> None:
    rng = np.random.default_rng(k)
    table = rng.random((9000, k)) < 0.3
    packed = bits.pack(table)
    assert packed.shape == (9000, bits.bytes_per_row(k))
    assert np.array_equal(bits.unpack(packed, k), table)
    assert np.array_equal(bits.column_sums(packed, k), table.sum(axis=0))
    assert np.array_equal(bits.count_ones(packed), table.sum(axis=1))
    codes, values = rng.integers(0, k, 9000), rng.integers(0, 2, 9000)
    bits.set_bits(packed, codes, values)
    table[np.arange(9000), codes] = values == 1
    assert np.array_equal(bits.unpack(packed, k), table)
    assert np.array_equal(bits.as_packed(table, k), packed)


@pytest.mark.parametrize(
    ("reports", "error", "rule"),
    [
        (np.zeros(2, dtype=np.uint8), TypeError, "2 packed bytes or 11 truth values each"),
        (np.zeros((3, 1), dtype=np.uint8), TypeError, "2 packed bytes or 11 truth values each"),
        (np.zeros((3, 2), dtype=np.int64), TypeError, "got 2 dimensions of int64"),
        (np.zeros((3, 10), dtype=bool), TypeError, "got 2 dimensions of bool"),
        (np.zeros((0, 2), dtype=np.uint8), ValueError, "at least one entry"),
        (np.full((3, 2), 8, dtype=np.uint8), ValueError, "reports must be on 11 options, got bits beyond them"),
        ([[0, 11]], ValueError, "distinct option codes in 0 … 10"),
        ([[4, 4]], ValueError, "distinct option codes in 0 … 10"),
    ],
)
def test_what_is_no_report_on_these_options_is_refused(reports: object, error: type[Exception], rule: str) -> None:
    with pytest.raises(error, match=rule):
        bits.as_packed(reports, 11)
    assert bits.as_packed(np.full((3, 2), 7, dtype=np.uint8), 11).tolist() == [[7, 7]] * 3


@pytest.mark.parametrize("k", [3, 8, 9, 11, 16, 18])
def test_noise_leaves_no_bit_beyond_the_options(k: int) -> None:
    rows = bits.draw_noise(bits.BernoulliByteLaw(9, 10), 500, k, np.random.default_rng(3))
    assert np.unpackbits(rows, axis=1, bitorder="little")[:, k:].sum() == 0
    assert np.all(np.abs(bits.unpack(rows, k).mean(axis=0) - 0.9) < 0.07)  # 5 standard errors
