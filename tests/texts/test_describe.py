import math
import re
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import pytest

from tests.slowly import each
from toolkit import crosswise, k_ary, mangat, triangular, unrelated, warner
from toolkit.local import numeric, oracles
from toolkit.local.questionnaire import likert


def test_two_coins_in_plain_words() -> None:
    assert warner("3/4").describe() == (
        "If your answer is “yes”, we receive “yes” 3 times in 4; if it is “no”, we still receive “yes” 1 "
        "time in 4. Whatever we receive is at most 3 times as likely if the truth is one answer as if it is "
        "another. So it proves no answer. A guess between two answers that seem equally likely is right "
        "50 times in 100; with what we receive, at most 75 times in 100. Epsilon is at most 1.1."
    )


MAKERS: dict[str, Callable[[float], Any]] = {
    "warner": lambda epsilon: warner(epsilon=epsilon),
    "crosswise": lambda epsilon: crosswise(epsilon=epsilon),
    "k-ary, two": lambda epsilon: k_ary(2, epsilon=epsilon),
    "k-ary, nine": lambda epsilon: k_ary(9, epsilon=epsilon),
    "likert": lambda epsilon: likert(5, epsilon).distribution,
    "subset": lambda epsilon: oracles.subset(12, epsilon),
    "unary": lambda epsilon: oracles.unary(6, epsilon),
    "optimized unary": lambda epsilon: oracles.optimized_unary(6, epsilon),
    "local hash": lambda epsilon: oracles.local_hash(50, epsilon),
    "tick boxes": lambda epsilon: oracles.tick_boxes(4, epsilon, most=2),
    "one bit": lambda epsilon: numeric.one_bit((0, 1), epsilon),
    "piecewise": lambda epsilon: numeric.piecewise((0, 1), epsilon),
    "hybrid": lambda epsilon: numeric.hybrid((0, 1), epsilon),
    "local Laplace": lambda epsilon: numeric.local_laplace((0, 1), epsilon),
    "square wave": lambda epsilon: numeric.square_wave((0, 1), epsilon),
}
FACTOR = re.compile(r"(?:at most|up to) ([\d.,]+) times as likely")


@pytest.mark.slow
@each(name=MAKERS)
def test_a_design_for_an_epsilon_never_exceeds_it(name: str) -> None:
    """Thirty sizes a design. That its epsilon is that of its integers is held by the contracts."""
    for sixth in range(1, 31):
        design = MAKERS[name](sixth / 6)
        assert design.epsilon <= sixth / 6
        said = FACTOR.search(design.describe())
        assert said is not None
        assert (1 - 1e-12) * math.exp(design.epsilon) <= float(said[1].replace(",", ""))


@pytest.mark.slow
def test_factor_and_epsilon_are_rounded_up_for_every_epsilon() -> None:
    """500 designs: rounded to nearest, 246 of them were told a factor below the ratio of their own matrix."""
    for hundredth in range(1, 501):
        design = warner(epsilon=hundredth / 100)
        ratio = Fraction(int(design.weights.max()), int(design.weights.min()))
        said = FACTOR.search(design.describe())
        epsilon = re.search(r"Epsilon is at most ([\d.]+)\.$", design.describe())
        assert said is not None
        assert epsilon is not None
        assert ratio <= Fraction(said[1].replace(",", "")) <= ratio * Fraction(102, 100)
        assert design.epsilon <= hundredth / 100
        assert design.epsilon <= float(epsilon[1]) + 1e-12


def test_what_hangs_on_somebodys_ignorance_is_said() -> None:
    said = "nobody who sees the report can find out their answer to it"
    assert all(said in design.describe() for design in (crosswise("1/4"), triangular("1/4"), unrelated("1/2", "1/4")))
    assert said not in warner("3/4").describe()


def test_what_as_good_as_tells_the_answer_is_called_so() -> None:
    assert "proves no answer, but it can as good as tell yours" in warner(epsilon=10).describe()
    assert "it says a lot about yours" in warner(epsilon=4).describe()
    assert "e+" not in warner(epsilon=10).describe()


def test_a_design_that_gives_an_answer_away_says_so() -> None:
    assert "If we receive “no”, your answer can only be “no”." in mangat(0.7).describe()
    assert "If we receive “neither”, your answer can only be “no”." in triangular(0.2).describe()
    assert "proves no answer" not in mangat(0.7).describe()


def test_many_options_are_summed_up() -> None:
    assert "one of the 9 other answers, drawn by chance" in k_ary(10, epsilon=1.0).describe()
