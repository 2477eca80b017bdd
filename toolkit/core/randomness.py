"""Random bits, and exact integer draws made of them.

`rng=None` reads the operating system's generator; this is the only path on which real answers are randomized
or real statistics released. A `numpy.random.Generator` is for simulation, teaching and tests. Each call reads
the bytes it needs, in one block, and forgets what is left over: no buffer outlives a call, so nothing can be
drawn twice after a fork, in two threads, or from a pickle.
"""

import os
from collections.abc import Callable
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from toolkit.core.checks import reject

Rng: TypeAlias = np.random.Generator | None

Below: TypeAlias = Callable[[int], int]
"""A source of exact draws: called with a bound, it returns a uniform integer from 0 to bound - 1."""

Words: TypeAlias = npt.NDArray[np.unsignedinteger]

Enclosure: TypeAlias = Callable[[int], tuple[int, int]]
"""Given a number of bits, integers low and high with low <= 2**bits * probability <= high."""

WORD = 64

_WORD_TYPES: dict[int, type[np.unsignedinteger]] = {8: np.uint8, 16: np.uint16, 32: np.uint32, 64: np.uint64}

# generators that make words of 64 bits at once
_WHOLE = (np.random.PCG64, np.random.PCG64DXSM, np.random.Philox, np.random.SFC64)


def check_rng(rng: object) -> Rng:
    """Refuse seeds and other generators: only None and `numpy.random.Generator` have a meaning."""
    if rng is None or isinstance(rng, np.random.Generator):
        return rng
    rule = "`rng` must be None (operating-system randomness) or a numpy.random.Generator"
    reject(rule, type(rng).__name__, "write numpy.random.default_rng(seed) for a simulation", TypeError)


def words(count: int, bits: int, rng: Rng = None) -> Words:
    """`count` uniform words of 8, 16, 32 or 64 bits."""
    kind = _WORD_TYPES[bits]
    if rng is None:
        return np.frombuffer(os.urandom(count * bits // 8), dtype=kind)
    size = -(-count * bits // 64)
    if type(rng) is np.random.Generator and isinstance(rng.bit_generator, _WHOLE):
        return rng.bit_generator.random_raw(size).view(kind)[:count]  # the same words, in a fifth of the time
    return rng.integers(0, 2**64, size=size, dtype=np.uint64).view(kind)[:count]


def below(bound: int, size: int, rng: Rng = None) -> npt.NDArray[np.uint64]:
    """`size` integers, each uniform on 0 … bound-1, for a bound of at most 2**64.

    The low bits of a word are kept if they are below the bound, else the next word is tried: no modulo, so no bias. The
    browser's randomizer does the same with 32-bit words, and gives the same integers for the same words.
    """
    if not 1 <= bound <= 2**64:
        reject("`bound` must lie between 1 and 2**64", bound, "larger integers are drawn with `big_below`")
    bits = 32 if bound <= 2**32 else 64
    mask = np.uint64((1 << (bound - 1).bit_length()) - 1)
    drawn = np.empty(size, dtype=np.uint64)
    filled = 0
    while filled < size:
        fresh = words(size - filled, bits, rng).astype(np.uint64) & mask
        fresh = fresh[fresh <= bound - 1]
        drawn[filled : filled + len(fresh)] = fresh
        filled += len(fresh)
    return drawn


def big_below(bound: int, rng: Rng = None) -> int:
    """One integer, uniform on 0 … bound-1, for a bound of any size."""
    if bound < 1:
        reject("`bound` must be at least 1", bound, "there is no integer to draw")
    bits = (bound - 1).bit_length()
    while True:
        candidate = int.from_bytes(words(-(-bits // 8), 8, rng).tobytes(), "little") & ((1 << bits) - 1)
        if candidate < bound:
            return candidate


def drawer(rng: Rng = None) -> Below:
    """Uniform integers below a bound of any size, one at a time, as a phone draws them."""

    def draw(bound: int) -> int:
        return int(below(bound, 1, rng)[0]) if bound <= 2**64 else big_below(bound, rng)

    return draw


def falls_below(probability: Enclosure, prefix: int, bits: int, rng: Rng = None) -> bool:
    """Whether a uniform number whose first `bits` bits are `prefix` is below the probability: with exactly that
    probability, because more bits are drawn until every continuation would lead to the same outcome.
    """
    while True:
        low, high = probability(bits)
        if prefix < low:
            return True
        if prefix >= high:
            return False
        prefix, bits = (prefix << WORD) | int(words(1, WORD, rng)[0]), bits + WORD
