"""Every kind of randomizer at several parameters, with true answers: what Python and the browser must agree on."""

import math
from collections.abc import Callable
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np

from toolkit import Design, crosswise, forced, k_ary, kuk, mangat, triangular, unrelated, warner
from toolkit.local import numeric, oracles
from toolkit.local.catalogue import CATALOGUE, make_example
from toolkit.local.numeric.bounded import Hybrid, OneBit, Piecewise
from toolkit.local.numeric.laplace import LocalLaplace
from toolkit.local.numeric.scrambling import Scrambled
from toolkit.local.numeric.square_wave import SquareWave
from toolkit.local.oracles.hashing import LocalHash
from toolkit.local.oracles.random_box import RandomBox
from toolkit.local.oracles.subset import Subset
from toolkit.local.oracles.ticks import CappedBoxes
from toolkit.local.oracles.unary import Unary
from toolkit.local.questions import forced_options
from toolkit.local.waves import Memo

WORD = 2**32


@cache
def _examples() -> dict[str, Any]:
    return {f"{name} of the catalogue": make_example(name) for name in CATALOGUE}


@cache
def designs() -> dict[str, Design]:
    """Every design function; denominators from 2 to 2**32, powers of two and odd ones."""
    return {name: made for name, made in _examples().items() if made.matrix is not None} | {
        "warner die": warner(p="2/3"),
        "warner epsilon 1": warner(epsilon=1.0),
        "warner nearly silent": warner(p=Fraction(WORD // 2 + 1, WORD)),
        "warner nearly bare": warner(epsilon=21.0),
        "forced": forced(yes="1/6", no="1/6"),
        "forced, uneven": forced(yes="1/10", no="3/7"),
        "forced options": forced_options(["never", "once", "often"], ["1/8", "1/4", "1/16"]),
        "unrelated": unrelated("7/10", "1/4"),
        "mangat, a cell of zero": mangat("3/4"),
        "kuk": kuk("4/5", "1/5"),
        "kuk, five cards": kuk("3/4", "1/3", draws=5),
        "crosswise birthday": crosswise("61/365"),
        "triangular": triangular("1/4"),
        "k-ary": k_ary(["bus", "car", "bike", "walk"], epsilon=1.0),
        "k-ary, 30 options": k_ary(30, epsilon=0.2),
        "joint": warner(p="3/4").joint(k_ary(3, epsilon=math.log(3))),
        "custom, 2**32": Design([[WORD - 3, 1, 2], [5, WORD - 12, 7]], WORD, ("no", "yes"), ("a", "b", "c")),
        "custom, 2**32 - 1": Design([[1, WORD - 2], [WORD - 2, 1]], WORD - 1, ("no", "yes")),
        "custom, just above 2**31": Design([[2**31, 1], [1, 2**31]], 2**31 + 1, ("no", "yes")),
        "custom, zeros inside": Design(
            [[0, 5, 0, 2], [3, 0, 4, 0], [0, 1, 6, 0]], 7, ("x", "y", "z"), ("p", "q", "r", "s")
        ),
        "custom, everything told": Design([[1, 0], [0, 1]], 1, ("no", "yes")),
    }


@cache
def others() -> dict[str, Any]:
    """Everything that no matrix holds, where JavaScript's plain numbers suffice."""
    return {name: made for name, made in _examples().items() if made.matrix is None} | {
        "memo": Sent(Memo(warner("3/4"), warner("9/10"))),
        "memo, uneven": Sent(Memo(forced("1/3", "1/10"), crosswise("61/365"))),
        "subset of 16": oracles.subset(16, 1.0),
        "subset of size 1": oracles.subset(["a", "b", "c"], 2.0, size=1),
        "subset but one": oracles.subset(5, 0.5, size=4),
        "subset, small weights": Subset(tuple("abcdef"), 2, 3, 1),
        "unary": oracles.unary(["bus", "car", "bike"], 2.0),
        "optimized unary": oracles.optimized_unary(9, 0.5),
        "unary, odd": Unary(tuple("abcd"), 5, 2, 7),
        "local hash": oracles.local_hash(1000, 1.0),
        "local hash of 2": oracles.local_hash(2, 0.3),
        "local hash of 8, 5 values": oracles.local_hash(8, 1.0, values=5),
        "random box": oracles.tick_boxes(6, 1.0, how="random"),
        "random box, small weights": RandomBox(tuple("abc"), 2, 1),
        "capped boxes": oracles.tick_boxes(9, 2.0, most=2, how="capped"),
        "capped boxes, odd": CappedBoxes(tuple("abcde"), 5, 3, 11),
        "one bit": numeric.one_bit((0, 80), 1.0),
        "one bit, coarse": OneBit(Fraction(0), Fraction(1), 1, 2, 1),
        "piecewise": numeric.piecewise((0, 24), 2.0),
        "piecewise, tiny": Piecewise(Fraction(-1), Fraction(1), 3, 1, 5, 2),
        "hybrid": numeric.hybrid((-1, 1), 1.0),
        "hybrid, only a bit": numeric.hybrid((0, 1), 0.5),
        "hybrid, small weights": Hybrid(Fraction(0), Fraction(1), 4, 2, 1, 2, 3, 1, 30_000),
        "square wave": numeric.square_wave((0, 20), 1.0, points=21),
        "square wave, narrow": SquareWave(Fraction(0), Fraction(1), 7, 1, 9, 1),
        "laplace": numeric.local_laplace((0, 10), 0.5),
        "laplace, large epsilon": numeric.local_laplace((0, 1), 20),
        "laplace, a third": numeric.local_laplace((0, 3), 1.25),
        "laplace, coarse": LocalLaplace(Fraction(0), Fraction(1), 3, Fraction(7, 2)),
        "additive": numeric.additive((0, 20), {-3: 0.25, 0: 0.5, 3: 0.25}),
        "additive, fractions": numeric.additive(("-1/3", 3), {"-1/6": "1/7", "5/4": "2/7", 2: "4/7"}, step="1/9"),
        "multiplicative": numeric.multiplicative((1, 30), {"1/2": 0.5, "3/2": 0.5}),
        "multiplicative, with zero and minus": numeric.multiplicative(
            (-2, 4), {0: "1/4", "-2/3": "1/4", "5/6": "1/2"}, step="1/2"
        ),
    }


@cache
def long() -> dict[str, Any]:
    """Laplace noise whose budget has so many digits that integers pass 2**53, and 2**64: the browser needs BigInt."""
    return {
        "laplace, ln 3": numeric.local_laplace((0, 20), math.log(3)),
        "laplace, 17 digits": numeric.local_laplace((0, 1), 0.10000000000000002),
        "laplace, just beyond": LocalLaplace(Fraction(0), Fraction(1), 2**16, Fraction(2**20 + 7, 2**28 + 1)),
    }


def truths(randomizer: Any) -> list[Any]:
    """True answers in turn: all codes (of many, some), all allowed ways of ticking (some), places on the grid."""
    if randomizer.answer_kind == "ticks":
        k, most = len(randomizer.options), getattr(randomizer, "most", len(randomizer.options))
        ways = [[], [0], [k - 1], list(range(k)), list(range(0, k, 2)), [k - 1, 0]]
        return [way for way in ways if len(way) <= most]
    if randomizer.options:
        count = len(randomizer.options)
        return sorted({*range(min(count, 8)), count // 2, count - 1})
    return sorted({0, 1, randomizer.steps // 3, randomizer.steps - 1, randomizer.steps})


@cache
def laws() -> dict[str, tuple[Any, tuple[Any, Any]]]:
    """One small randomizer of every kind, and two answers: for laws that can be written down whole."""
    unit = (Fraction(0), Fraction(1))
    return {
        "design yes/no": (warner(p="2/3"), (0, 1)),
        "design, birthday": (crosswise("61/365"), (0, 1)),
        "design, five options": (k_ary(5, epsilon=1.0), (0, 3)),
        "subset": (Subset(tuple("abcde"), 2, 3, 1), (0, 3)),
        "unary": (Unary(tuple("abc"), 5, 2, 7), (0, 2)),
        "local_hash": (LocalHash(tuple("abcd"), 3, 5, 2), (1, 2)),
        "random_box": (RandomBox(tuple("abc"), 3, 2), ([], [0, 2])),
        "capped_boxes": (CappedBoxes(tuple("abc"), 2, 3, 11), ([], [0, 2])),
        "one_bit": (OneBit(*unit, 5, 3, 2), (1, 4)),
        "piecewise": (Piecewise(*unit, 6, 3, 5, 2), (0, 4)),
        "hybrid": (Hybrid(*unit, 4, 3, 2, 2, 3, 1, 40_000), (1, 4)),
        "square_wave": (SquareWave(*unit, 6, 3, 5, 2), (2, 6)),
        "local_laplace": (LocalLaplace(*unit, 3, Fraction(7, 2)), (0, 3)),
        "memo": (Sent(Memo(warner("3/4"), warner("4/5"))), (0, 1)),
        "scrambled": (Scrambled(*unit, 3, "additive", (Fraction(-1), Fraction(1, 3)), (2, 3)), (0, 3)),
    }


class Sent:
    """A memo as one report: what a phone sends that draws its memos in the same breath."""

    answer_kind = "choice"
    matrix = None

    def __init__(self, memo: Memo) -> None:
        self.options, self._draw_report, self._browser_data = (
            memo.permanent.options,
            memo._draw_report,
            memo._browser_data,
        )


class Shared:
    """Draws from a list of 32-bit words by the rule that both sides follow.

    With b the binary digits of bound - 1: as many words as hold b digits, at least one, the first the lowest;
    their b lowest digits; all of it again as long as they make a number that is not below the bound.
    """

    def __init__(self, words: np.ndarray) -> None:
        self._words = iter(words.tolist())
        self.used = 0

    def draw(self, bound: int) -> int:
        digits = (bound - 1).bit_length()
        count, mask = -(-digits // 32) or 1, (1 << digits) - 1
        while True:
            drawn = 0
            for place in range(count):
                drawn |= next(self._words) << (32 * place)
            self.used += count
            if drawn & mask < bound:
                return drawn & mask


def drawn_in_python(
    report: Callable[[Any, Callable[[int], int]], Any], answers: list[Any], words: np.ndarray
) -> tuple[list, list]:
    """Reports for the answers in turn, until the words are used up, and how many words had been used after each."""
    shared, reports, used = Shared(words), [], []
    try:
        while True:
            reports.append(report(answers[len(used) % len(answers)], shared.draw))
            used.append(shared.used)
    except StopIteration:
        return reports[: len(used)], used
