"""Random bits and exact random integers.

`rng=None` reads the operating system's generator. Real answers are randomized, and real statistics are released, only
in this way. A `numpy.random.Generator` is for simulation, teaching and tests. Each call reads one block of bytes and
discards those that it does not use. No buffer outlives a call, so no random bits can be used twice after a fork, in two
threads, or from a pickle.
"""

import os
from collections.abc import Callable
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from toolkit.core.checks import reject

Rng: TypeAlias = np.random.Generator | None

DrawBelow: TypeAlias = Callable[[int], int]
"""A source of exact draws: called with a bound, it returns a uniform integer from 0 to bound - 1."""

Words: TypeAlias = npt.NDArray[np.unsignedinteger]

Enclosure: TypeAlias = Callable[[int], tuple[int, int]]
"""A function of a number of bits that returns integers low <= 2**bits * probability <= high."""

WORD = 64

_WORD_TYPES: dict[int, type[np.unsignedinteger]] = {8: np.uint8, 16: np.uint16, 32: np.uint32, 64: np.uint64}

# Generators whose raw output consists of 64-bit words.
_RAW_64_BIT = (np.random.PCG64, np.random.PCG64DXSM, np.random.Philox, np.random.SFC64)


def check_rng(rng: object) -> Rng:
    """Reject seeds and everything else except None and a `numpy.random.Generator`."""
    if rng is None or isinstance(rng, np.random.Generator):
        return rng
    rule = "`rng` must be None (operating-system randomness) or a numpy.random.Generator"
    reject(rule, type(rng).__name__, "write numpy.random.default_rng(seed) for a simulation", TypeError)


def words(count: int, bits: int, rng: Rng = None) -> Words:
    """Draw `count` uniform words of 8, 16, 32 or 64 bits."""
    kind = _WORD_TYPES[bits]
    if rng is None:
        return np.frombuffer(os.urandom(count * bits // 8), dtype=kind)
    size = -(-count * bits // 64)
    if type(rng) is np.random.Generator and isinstance(rng.bit_generator, _RAW_64_BIT):
        return rng.bit_generator.random_raw(size).view(kind)[:count]  # the same words, five times as fast
    return rng.integers(0, 2**64, size=size, dtype=np.uint64).view(kind)[:count]


def below(bound: int, size: int, rng: Rng = None) -> npt.NDArray[np.uint64]:
    """Draw `size` integers, uniform on 0 … bound-1, for a bound of at most 2**64.

    The low bits of a word are used if they are below the bound; otherwise the next word is tried. There is no modulo
    and hence no bias. The browser's randomizer does the same with 32-bit words and gives the same integers for the same
    words.
    """
    if not 1 <= bound <= 2**64:
        reject("`bound` must lie between 1 and 2**64", bound, "larger integers are drawn with `big_below`")
    bits = 32 if bound <= 2**32 else 64
    mask = np.uint64((1 << (bound - 1).bit_length()) - 1)
    numbers = np.empty(size, dtype=np.uint64)
    filled = 0
    while filled < size:
        fresh = words(size - filled, bits, rng).astype(np.uint64) & mask
        fresh = fresh[fresh <= bound - 1]
        numbers[filled : filled + len(fresh)] = fresh
        filled += len(fresh)
    return numbers


def big_below(bound: int, rng: Rng = None) -> int:
    """Draw one integer, uniform on 0 … bound-1, for a bound of any size."""
    if bound < 1:
        reject("`bound` must be at least 1", bound, "there is no integer to draw")
    bits = (bound - 1).bit_length()
    while True:
        candidate = int.from_bytes(words(-(-bits // 8), 8, rng).tobytes(), "little") & ((1 << bits) - 1)
        if candidate < bound:
            return candidate


def integer_drawer(rng: Rng = None) -> DrawBelow:
    """Return a function that draws single integers below a bound of any size, as a phone does."""

    def draw(bound: int) -> int:
        return int(below(bound, 1, rng)[0]) if bound <= 2**64 else big_below(bound, rng)

    return draw


def falls_below(probability: Enclosure, prefix: int, bits: int, rng: Rng = None) -> bool:
    """Return whether a uniform random number, whose first `bits` bits are `prefix`, is below a probability.

    The result is exact: more bits are drawn until all continuations lead to the same outcome.
    """
    while True:
        low, high = probability(bits)
        if prefix < low:
            return True
        if prefix >= high:
            return False
        prefix, bits = (prefix << WORD) | int(words(1, WORD, rng)[0]), bits + WORD
