import math
from fractions import Fraction

import numpy as np
import pytest

from toolkit.core import sampling as categorical
from toolkit.core.sampling import Categorical, Edges, Inversion


@pytest.mark.parametrize("weights", [[1, 2], [1, 1, 1], [3, 0, 2], [1, 5], [2, 1, 3, 1]])
def test_the_table_and_its_ties_have_exactly_the_law_of_the_weights(weights: list[int]) -> None:
    """Enumeration of all 2**16 words and all U: every outcome has weights[j] * 2**16 of the equally likely pairs."""
    cells, total = Categorical(weights), sum(weights)
    table = cells._lookup_table()
    pairs = np.zeros(len(weights), dtype=np.int64)
    for outcome in range(len(weights)):
        pairs[outcome] = np.count_nonzero(table == outcome) * total
    for word in np.flatnonzero(table == -1):
        finer = int(word) * total + np.arange(total)
        outcomes = np.searchsorted(np.cumsum(weights) * 2**16, finer, side="right")
        pairs += np.bincount(outcomes, minlength=len(weights))
    assert pairs.tolist() == [w * 2**16 for w in weights]
    assert np.count_nonzero(table == -1) <= len(weights)


def test_ties_are_resolved_as_enumerated(monkeypatch: pytest.MonkeyPatch) -> None:
    """With every word a tie, the outcome is that of word * total + U, for every U."""
    weights = [1, 2]
    cells = Categorical(weights)
    tie = int(np.flatnonzero(cells._lookup_table() == -1)[0])
    monkeypatch.setattr(categorical, "words", lambda count, _bits, _rng: np.full(count, tie, dtype=np.uint16))
    monkeypatch.setattr(categorical, "below", lambda bound, size, _rng: (np.arange(size) % bound).astype(np.uint64))
    drawn = cells.draw(6000)
    expected = [int(tie * 3 + u >= 2**16) for u in range(3)]
    assert drawn.tolist() == expected * 2000


@pytest.mark.parametrize("size", [10, 4096, 4097, 300_000])
def test_a_sure_outcome_is_always_drawn(size: int) -> None:
    assert np.all(Categorical([0, 7, 0]).draw(size) == 1)


def test_the_largest_total_does_not_overflow() -> None:
    """2**32 - 1 against 1: the rare outcome almost never appears, the frequent one nearly always; nothing overflows."""
    drawn = Categorical([2**32 - 1, 1]).draw(200_000, np.random.default_rng(1))
    assert set(np.unique(drawn)) <= {0, 1}
    assert np.count_nonzero(drawn) <= 3
    assert Categorical([2**32 - 1, 1]).cells(np.array([2**32 - 1, 2**32 - 2], dtype=np.uint64)).tolist() == [1, 0]


@pytest.mark.parametrize("outcomes", [127, 128, 129, 130])
def test_outcomes_beyond_a_byte_are_drawn_as_they_are(outcomes: int) -> None:
    """The probability that one of 130 outcomes does not occur in 20,000 draws is 1e-67."""

    def edges(bits: int) -> Edges:
        ends = [Fraction(i * 2**bits, outcomes) for i in range(1, outcomes)] + [Fraction(2**bits - 1)]
        return [math.floor(end) for end in ends], [math.ceil(end) for end in ends]

    for law in (Categorical([1] * outcomes), Inversion(edges)):
        assert np.unique(law.draw(20_000)).tolist() == list(range(outcomes))
