"""Plain values are accepted as reports exactly if they can be drawn, which is checked by walking through every path of
draws.
"""

import itertools
import math
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import pytest

from tests.local.channel import Draw, channel, frozen
from toolkit import Design, k_ary, kuk, mangat, triangular
from toolkit.local.numeric import additive, hybrid, local_laplace, multiplicative, one_bit, piecewise, square_wave
from toolkit.local.numeric.bounded import TURN_DENOMINATOR, Hybrid, OneBit, Piecewise
from toolkit.local.numeric.laplace import LocalLaplace
from toolkit.local.numeric.square_wave import SquareWave
from toolkit.local.oracles import local_hash, subset, tick_boxes, unary
from toolkit.local.oracles.hashing import LocalHash
from toolkit.local.oracles.random_box import RandomBox
from toolkit.local.oracles.subset import Subset
from toolkit.local.oracles.ticks import CappedBoxes
from toolkit.local.oracles.unary import Unary
from toolkit.local.protocol import Randomizer, is_code, is_code_set

ZERO, ONE, FOUR = Fraction(0), Fraction(1), Fraction(4)
THREE = ("a", "b", "c")

SMALL: list[tuple[Any, list[Any]]] = [
    (Subset(("a", "b", "c", "d"), 2, 2, 1), [0, 1, 2, 3]),
    (Subset(THREE, 1, 2, 1), [0, 1, 2]),
    (Unary(THREE, 2, 1, 3), [0, 1, 2]),
    (LocalHash(THREE, 2, 2, 1), [0, 1, 2]),
    (LocalHash(("a", "b"), 3, 2, 1), [0, 1]),
    (RandomBox(THREE, 2, 1), [[], [1], [0, 1, 2]]),
    (CappedBoxes(THREE, 1, 1, 3), [[], [0], [2]]),
    (OneBit(ZERO, FOUR, 4, 2, 1), [0, 2, 4]),
    (Piecewise(ZERO, FOUR, 4, 2, 2, 1), [0, 2, 4]),
    (SquareWave(ZERO, FOUR, 4, 3, 2, 1), [0, 2, 4]),
    (additive((0, 4), {-3: 0.25, 0: 0.5, 3: 0.25}), [0, 1, 2, 3, 4]),
    (additive((0, 2), {0: 0.5, "1/2": 0.5}, step=1), [0, 1, 2]),
    (multiplicative((1, 3), {1: 0.5, -2: 0.5}), [0, 1, 2]),
    (multiplicative((-1, 1), {1: "3/4", -1: "1/4"}, step=2), [0, 1]),
    (multiplicative((0, 2), {0: 0.5, 3: 0.5}), [0, 1, 2]),
]
NO_REPORTS = [
    True,
    False,
    None,
    1.0,
    0.0,
    -0.0,
    math.nan,
    math.inf,
    "0",
    "",
    b"0",
    1j,
    (0,),
    {0},
    {},
    [True],
    [0.0],
    [None],
    [[0]],
    10**30,
]


def plain_values() -> Iterator[object]:
    yield from range(-12, 20)
    for length in range(5):
        yield from (list(codes) for codes in itertools.product(range(-1, 5), repeat=length))
    yield from NO_REPORTS


def is_plain(value: object) -> bool:
    return type(value) is int or (type(value) is list and all(type(code) is int for code in value))


@pytest.mark.parametrize(("randomizer", "answers"), SMALL, ids=[f"{one.name}-{i}" for i, (one, _) in enumerate(SMALL)])
def test_exactly_what_can_be_drawn_is_accepted(randomizer: Any, answers: list[Any]) -> None:
    possible = set().union(*channel(randomizer._draw_report, answers))
    for value in plain_values():
        assert randomizer._accepts(value) == (is_plain(value) and frozen(value) in possible), value


@pytest.mark.parametrize(
    "design", [Design([[3, 1], [1, 3]], 4, ("no", "yes")), mangat("1/2"), kuk("4/5", "1/5", draws=2), triangular("1/4")]
)
def test_exactly_the_codes_of_a_design_are_accepted(design: Design) -> None:
    possible = {design._draw_report(truth, lambda _, u=u: u) for truth in range(2) for u in range(design.denominator)}
    for value in plain_values():
        assert design._accepts(value) == (type(value) is int and value in possible), value


@pytest.mark.parametrize(
    ("turn", "accepted"),
    [(0, {0, 1}), (1, set(range(8))), (TURN_DENOMINATOR - 1, set(range(8))), (TURN_DENOMINATOR, set(range(2, 8)))],
)
def test_a_hybrid_accepts_what_has_its_turn(turn: int, accepted: set[int]) -> None:
    randomizer = Hybrid(ZERO, FOUR, 4, 2, 1, 2, 2, 1, turn)
    assert {value for value in plain_values() if type(value) is int and randomizer._accepts(value)} == accepted
    assert not any(randomizer._accepts(value) for value in plain_values() if type(value) is not int)


def test_laplace_noise_is_accepted_as_far_as_it_ever_comes() -> None:
    """The probability of noise sixty-four scales beyond the bounds is e**-64 = 1.6e-28, so honest reports are never
    rejected.
    """
    randomizer = LocalLaplace(ZERO, ONE, 8, Fraction(1, 2))
    reach = 64 * 16
    assert randomizer._accepts(-reach)
    assert randomizer._accepts(8 + reach)
    assert not randomizer._accepts(-reach - 1)
    assert not randomizer._accepts(8 + reach + 1)
    assert not any(randomizer._accepts(value) for value in NO_REPORTS)


def cycle(seed: int) -> Draw:
    """Yield an endless sequence of different draws: the high bits of Knuth's congruential generator."""
    state = seed

    def draw(bound: int) -> int:
        nonlocal state
        state = (state * 6364136223846793005 + 1442695040888963407) % 2**64
        return (state >> 16) * bound >> 48

    return draw


REAL: list[tuple[Any, list[Any]]] = [
    (k_ary(5, epsilon=1.0), []),
    (subset(16, 1.0), [0, 15]),
    (unary(12, 2.0), [0, 11]),
    (local_hash(100, 1.0), [0, 99]),
    (tick_boxes(10, 1.0), [[], [0, 9]]),
    (tick_boxes(10, 1.0, most=1), [[], [9]]),
    (one_bit((0, 80), 1.0), [0, 40]),
    (piecewise((0, 80), 2.0), [0, 65520]),
    (hybrid((0, 80), 2.0), [0, 65520]),
    (local_laplace((0, 80), 1.0), [0, 65520]),
    (square_wave((0, 80), 1.0), [0, 64]),
]


@pytest.mark.parametrize(("randomizer", "answers"), REAL, ids=[one.name for one, _ in REAL])
def test_honest_reports_of_real_sizes_are_accepted(randomizer: Any, answers: list[Any]) -> None:
    draw = cycle(20260101)
    assert all(randomizer._accepts(randomizer._draw_report(answer, draw)) for answer in answers for _ in range(300))
    assert not any(randomizer._accepts(value) for value in NO_REPORTS)


@pytest.mark.parametrize(("randomizer", "answers"), REAL, ids=[one.name for one, _ in REAL])
def test_every_randomizer_says_what_it_asks_for(randomizer: Any, answers: list[Any]) -> None:
    assert isinstance(randomizer, Randomizer)
    lists = any(isinstance(answer, list) for answer in answers)
    assert randomizer.answer_kind == ("ticks" if lists else "number" if hasattr(randomizer, "low") else "choice")


def test_codes_and_sets_are_strict() -> None:
    assert [value for value in (-1, 0, 1, 2, True, 1.0, "1") if is_code(value, 2)] == [0, 1]
    assert is_code_set([0, 1, 2], 3)
    for value in ([0, 0], [1, 0], [3], [-1], [True], (0,), "0", None, 0):
        assert not is_code_set(value, 3)
