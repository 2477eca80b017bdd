from fractions import Fraction

import numpy as np
import pytest

from toolkit.core import sampling as inversion
from toolkit.core.sampling import Edges, Inversion

LAW = [Fraction(1, 3), Fraction(1, 7), Fraction(1, 1000), 1 - Fraction(1, 3) - Fraction(1, 7) - Fraction(1, 1000)]
CUMULATIVE = [sum(LAW[: t + 1]) for t in range(4)]


def edges(bits: int) -> Edges:
    """Bounds on the cumulative distribution; the last edge is never reached, as with an unbounded distribution."""
    scaled = [edge * 2**bits for edge in CUMULATIVE[:3]] + [Fraction(2**bits - 1)]
    return [edge.__floor__() for edge in scaled], [edge.__ceil__() for edge in scaled]


def feed(monkeypatch: pytest.MonkeyPatch, *stream: list[int]) -> list[list[int]]:
    """Let the draws read these words, call by call; unread words remain in the list."""
    left = list(stream)
    kinds = {16: np.uint16, 64: np.uint64}
    monkeypatch.setattr(
        inversion, "words", lambda count, bits, _rng: np.array(left.pop(0) if count else [], dtype=kinds[bits])
    )
    return left


def truth(prefix: int, bits: int) -> int:
    return next(t for t, edge in enumerate(CUMULATIVE) if prefix * edge.denominator < edge.numerator << bits)


def test_16_bits_are_undecided_if_their_last_number_differs() -> None:
    """The first 16 bits decide only if the last number that begins with them has the same outcome."""
    for edge, cut in ((2**48 - 1, [0]), (2**48, []), (2**48 + 1, [1])):
        table = Inversion(lambda bits, edge=edge: ([edge << (bits - 64), 2**bits - 1],) * 2)._lookup_table()
        assert np.flatnonzero(table == inversion._UNDECIDED).tolist() == [*cut, 2**16 - 1]
        assert table[2:-1].min() == 1


def test_a_64_bit_prefix_is_undecided_only_where_an_edge_cuts_it() -> None:
    sampler = Inversion(edges)
    low, high = edges(64)
    for t in range(3):
        assert high[t] == low[t] + 1
        prefixes = np.array([low[t] - 1, low[t], high[t]], dtype=np.uint64)
        assert sampler._cells(prefixes).tolist() == [t, -1, t + 1]
    assert sampler._cells(np.array([0, 2**64 - 1], dtype=np.uint64)).tolist() == [0, -1]
    last = Inversion(lambda bits: ([2**bits - 2, 2**bits - 1], [2**bits, 2**bits]))  # an edge that no word is above
    assert last._cells(np.array([2**64 - 3, 2**64 - 2, 2**64 - 1], dtype=np.uint64)).tolist() == [0, -1, -1]


def test_one_draw_and_many_draws_ask_for_as_many_words_as_it_takes(monkeypatch: pytest.MonkeyPatch) -> None:
    """One word beside an edge; two words if the edge divides the range of the first; three if it divides the range of
    two.
    """
    sampler = Inversion(edges)
    numbers = [(1, 5), (1, 2**63), (2, (2**64 - 1) << 64), (3, (2**128 - 1) << 64)]
    for t in range(3):
        one, two, three = (edges(bits)[0][t] for bits in (64, 128, 192))
        numbers += [(1, one - 1), (1, one + 1), (2, one << 64), (2, two - 1), (2, two + 1)]
        numbers += [(3, two << 64), (3, three - 1), (3, three + 1)]
    for count, number in numbers:
        first, *rest = [[number >> 64 * place & (2**64 - 1)] for place in reversed(range(count))]
        expected = truth(number, 64 * count)
        left = feed(monkeypatch, first, *rest)
        assert sampler.draw_one() == expected
        assert left == []
        left = feed(monkeypatch, [5, *first, 2**63], *rest)
        assert sampler.draw(3).tolist() == [0, expected, 3]
        assert left == []


@pytest.mark.slow
def test_all_16_bit_words_then_all_16_bit_continuations_have_the_law(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every 16-bit word through the table of many draws: decided words are right, and those that an edge cuts
    ask for 48 more.
    """
    sampler = Inversion(edges)
    monkeypatch.setattr(inversion, "_FEW", 0)
    everything = list(range(2**16))
    cut = [int(edge * 2**16) for edge in CUMULATIVE[:3]] + [2**16 - 1]
    expected = [truth(word, 16) for word in everything]
    for rest in (0, 2**47, 2**48 - 2):
        left = feed(monkeypatch, everything, [rest << 16] * len(cut))
        drawn = sampler.draw(2**16)
        assert left == []
        for word in cut:
            expected[word] = truth((word << 48) + rest, 64)
        assert drawn.tolist() == expected
