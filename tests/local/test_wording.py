from fractions import Fraction

import pytest

from toolkit import k_ary, mangat, triangular, warner
from toolkit.local.wording import times_in


def test_two_coins_in_plain_words() -> None:
    assert warner("3/4").describe() == (
        "If your answer is “no”, we receive “no” 3 times in 4 and “yes” 1 time in 4. "
        "If your answer is “yes”, we receive “yes” 3 times in 4 and “no” 1 time in 4. "
        "Whatever we receive, it is at most 3 times as likely under one answer as under another (epsilon "
        "1.1), "
        "so it proves no answer."
    )


def test_a_design_that_gives_an_answer_away_says_so() -> None:
    assert "If we receive “no”, your answer can only be “no”." in mangat(0.7).describe()
    assert "If we receive “neither”, your answer can only be “no”." in triangular(0.2).describe()
    assert "proves no answer" not in mangat(0.7).describe()


def test_many_options_are_summed_up() -> None:
    assert "one of 9 others the rest of the time" in k_ary(10, epsilon=1.0).describe()


@pytest.mark.parametrize(
    ("share", "words"),
    [
        (Fraction(1, 20), "1 time in 20"),
        (Fraction(37, 100), "37 times in 100"),
        (Fraction(1, 1000), "10 times in 10,000"),
        (Fraction(999, 1000), "9990 times in 10,000"),
        (Fraction(1, 3), "1 time in 3"),
        (Fraction(22, 67), "about 33 times in 100"),
        (Fraction(0), "never"),
    ],
)
def test_probabilities_are_told_as_frequencies(share: Fraction, words: str) -> None:
    assert times_in(share) == words
