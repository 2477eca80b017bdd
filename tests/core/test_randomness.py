import multiprocessing
import os
import pickle
import threading

import numpy as np
import pytest
from scipy.stats import chi2

from toolkit.core import randomness
from toolkit.core.randomness import below, big_below, check_rng, words


@pytest.mark.parametrize("bits", [8, 16, 32, 64])
@pytest.mark.parametrize("seed", [None, 5], ids=["system", "seeded"])
def test_words_fill_their_range(bits: int, seed: int | None) -> None:
    """Each bit is set half the time: 6 standard errors, false alarms 2e-9 a bit."""
    drawn = words(20_000, bits, None if seed is None else np.random.default_rng(seed))
    assert drawn.dtype.itemsize * 8 == bits
    assert len(drawn) == 20_000
    for bit in range(bits):
        share = np.mean((drawn >> bit) & 1)
        assert abs(share - 0.5) < 6 * 0.5 / np.sqrt(20_000)


@pytest.mark.parametrize("kind", ["MT19937", "PCG64", "PCG64DXSM", "Philox", "SFC64"])
def test_words_of_a_generator_are_its_own_of_64_bits_cut_in_parts(kind: str) -> None:
    """For every generator of NumPy, even if half a word remains from an earlier draw."""
    one, other = (np.random.Generator(getattr(np.random, kind)(5)) for _ in range(2))
    for count, bits in ((0, 64), (1, 64), (3, 8), (5, 16), (7, 32), (1000, 64)):
        assert one.integers(2**32, dtype=np.uint32) == other.integers(2**32, dtype=np.uint32)
        whole = other.integers(0, 2**64, size=-(-count * bits // 64), dtype=np.uint64)
        assert words(count, bits, one).tobytes() == whole.tobytes()[: count * bits // 8]
    assert one.random() == other.random()


@pytest.mark.parametrize("bound", [1, 2, 3, 6, 1000, 2**31 + 1, 2**32, 2**32 + 1, 2**63 + 5, 2**64])
def test_below_stays_below_and_reaches_both_halves(bound: int) -> None:
    drawn = below(bound, 2000, np.random.default_rng(1))
    assert int(drawn.max()) < bound
    if bound > 1:
        assert int(drawn.min()) < bound // 2 + 1 <= int(drawn.max()) + 1


@pytest.mark.parametrize("bound", [3, 6, 7, 100])
def test_below_is_uniform(bound: int) -> None:
    """Chi-squared with a fixed seed; false alarms 1e-6. A modulo of a byte would clearly fail at bound 100."""
    counts = np.bincount(below(bound, 100_000, np.random.default_rng(2)).astype(int), minlength=bound)
    assert chi2.sf(((counts - 1e5 / bound) ** 2 / (1e5 / bound)).sum(), bound - 1) > 1e-6


def test_below_keeps_low_bits_and_skips_what_is_too_large(monkeypatch: pytest.MonkeyPatch) -> None:
    """The exact rule that the browser follows, word by word."""
    stream = iter(np.array([7, 6, 5, 2**32 - 1, 8, 13], dtype=np.uint32))
    monkeypatch.setattr(
        randomness, "words", lambda count, _bits, _rng: np.array([next(stream) for _ in range(count)], dtype=np.uint32)
    )
    assert below(6, 3).tolist() == [5, 0, 5]


@pytest.mark.parametrize(("bound", "asked"), [(2**32, 32), (2**32 + 1, 64)])
def test_a_word_of_32_bits_is_enough_for_2_to_the_32_values(
    bound: int, asked: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(randomness, "words", lambda count, bits, _rng: np.full(count, bits, dtype=np.uint64))
    assert below(bound, 2).tolist() == [asked, asked]


@pytest.mark.parametrize("bound", [0, -1, 2**64 + 1])
def test_below_refuses_bounds_it_cannot_serve(bound: int) -> None:
    with pytest.raises(ValueError, match="`bound` must lie between"):
        below(bound, 1)


def test_big_below_is_uniform_beyond_64_bits() -> None:
    """Quarter counts of a 100-bit bound; 6 standard errors, false alarms 8e-9."""
    rng, bound = np.random.default_rng(3), 3 * 2**98
    quarters = np.bincount([4 * big_below(bound, rng) // bound for _ in range(4000)], minlength=4)
    assert np.all(np.abs(quarters - 1000) < 6 * np.sqrt(4000 * 0.25 * 0.75))
    with pytest.raises(ValueError, match="at least 1"):
        big_below(0)


@pytest.mark.parametrize("bound", [1, 3, 255, 256, 257, 2**64, 3 * 2**98])
def test_big_below_reads_as_few_bytes_as_possible(bound: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Numbers that are too large are skipped."""
    size = -(-(bound - 1).bit_length() // 8)
    most = 2 ** (bound - 1).bit_length() - 1
    numbers = [*({most, bound} - {bound - 1} if most >= bound else ()), bound - 1]
    stream = iter([number.to_bytes(size, "little") for number in numbers])

    def words(count: int, bits: int, _rng: object) -> np.ndarray:
        assert (count, bits) == (size, 8)
        return np.frombuffer(next(stream), dtype=np.uint8)

    monkeypatch.setattr(randomness, "words", words)
    assert big_below(bound) == bound - 1
    assert next(stream, None) is None


@pytest.mark.parametrize("bad", [42, np.random.RandomState(1), "seed", np.random.PCG64(1)])
def test_only_none_and_generators_are_sources(bad: object) -> None:
    with pytest.raises(TypeError, match="`rng` must be None"):
        check_rng(bad)


def _draw_in_child(queue: "multiprocessing.Queue[bytes]") -> None:
    queue.put(words(4, 64).tobytes())


@pytest.mark.slow
def test_forked_processes_never_draw_the_same_bits() -> None:
    context = multiprocessing.get_context("fork")
    queue = context.Queue()
    words(4, 64)
    children = [context.Process(target=_draw_in_child, args=(queue,)) for _ in range(8)]
    for child in children:
        child.start()
    drawn = [queue.get(timeout=30) for _ in children]
    for child in children:
        child.join()
    assert len({*drawn, words(4, 64).tobytes()}) == 9


def test_threads_never_draw_the_same_bits() -> None:
    drawn: list[bytes] = []
    threads = [
        threading.Thread(target=lambda: drawn.extend(words(2, 64).tobytes() for _ in range(200))) for _ in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(drawn)) == 1600


def test_nothing_random_is_kept_between_calls() -> None:
    """There is no module state, so nothing can be pickled, forked or drawn twice."""
    state = {
        name
        for name, value in vars(randomness).items()
        if isinstance(value, np.ndarray | bytes | bytearray | np.random.Generator)
    }
    assert not state
    assert pickle.dumps(randomness.words)


def test_system_words_come_from_the_operating_system(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "urandom", lambda count: bytes(range(count)))
    assert words(4, 8).tolist() == [0, 1, 2, 3]
