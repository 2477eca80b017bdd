import math
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolkit.texts.phrases import phrases
from toolkit.texts.voice import Voice, as_frequency

ENGLISH, GERMAN, ARABIC = (Voice(phrases(code)) for code in ("en", "de", "ar"))


@pytest.mark.slow
@given(st.floats(min_value=0, max_value=30))
def test_a_factor_is_rounded_up_to_three_digits(epsilon: float) -> None:
    told = float(ENGLISH.factor(epsilon).replace(",", ""))
    assert math.exp(epsilon) * (1 - 1e-11) <= told <= math.exp(epsilon) * 1.01


@pytest.mark.parametrize(
    ("odds", "told"), [(5, "5"), (3, "3"), (Fraction(10, 3), "3.34"), (1, "1"), (1000, "1,000"), (12345, "12,400")]
)
def test_whole_odds_stay_whole(odds: Fraction, told: str) -> None:
    assert ENGLISH.factor(math.nextafter(math.log(odds), math.inf)) == told


def test_an_epsilon_is_rounded_up_but_for_the_last_digit_of_a_float() -> None:
    rounded = {0.1: "0.1", 0.7: "0.7", 1.0: "1", 1.0001: "1.01", 2 + 1e-10: "2.01", 12.34: "12.4", 1234.5: "1,240"}
    assert {value: ENGLISH.rounded_up(value) for value in rounded} == rounded


@pytest.mark.slow
@given(st.floats(min_value=0, max_value=9.2))
def test_the_share_of_right_guesses_is_rounded_up(epsilon: float) -> None:
    said = ENGLISH.guess_frequency(epsilon)
    assert said is not None
    count, of = (int(number) for number in said.replace(",", "").split(" times in "))
    right = 1 / (1 + math.exp(-epsilon))
    assert right * (1 - 1e-11) <= count / of < right + 1 / of


def test_what_nobody_could_count_is_not_told_as_a_number() -> None:
    assert (ENGLISH.guess_frequency(math.log(9999)), ENGLISH.guess_frequency(math.log(10_001))) == (
        "9,999 times in 10,000",
        None,
    )
    assert ENGLISH.guess_frequency(1000.0) is None


def test_frequencies() -> None:
    said = {"2/3": "2 times in 3", "1/3": "1 time in 3", "73/100": "73 times in 100", "0": "never", "1": "always"}
    said |= {"1/3000": "about 3 times in 10,000", "1/20": "1 time in 20", "22/67": "about 33 times in 100"}
    said |= {"1/1000": "10 times in 10,000", "999/1000": "9,990 times in 10,000"}
    assert {share: ENGLISH.frequency(Fraction(share)) for share in said} == said
    rounded = {"19/20": (19, 20, True), "20/21": (95, 100, False), "3/200": (2, 100, False)}
    rounded |= {"149/10000": (15, 1000, False), "9851/10000": (985, 1000, False), "1/1000": (10, 10_000, True)}
    assert {share: as_frequency(Fraction(share)) for share in rounded} == rounded
    assert GERMAN.frequency(Fraction(1, 3)) == "in 1 von 3 Fällen"
    assert ARABIC.frequency(Fraction(2, 3)) == "\u20682\u2069 من أصل \u20683\u2069"


def test_icons_are_drawn_for_exact_small_frequencies_only() -> None:
    drawn = Voice(phrases("en"), with_icons=True)
    assert drawn.frequency(Fraction(5, 6)) == "5 times in 6 (●●●●●○)"
    assert drawn.frequency(Fraction(1, 12)) == f"1 time in 12 (●{'○' * 11})"
    assert "●" not in drawn.frequency(Fraction(73, 100)) + drawn.frequency(Fraction(1, 13)) + drawn.frequency(
        Fraction(1)
    )


def test_lists_and_quotes_are_those_of_the_language() -> None:
    assert ENGLISH.join_words(["a"]) == "a"
    assert ENGLISH.join_words(["a", "b", "c"]) == "a, b and c"
    assert GERMAN.join_words(["a", "b"], "or") == "a oder b"
    assert ARABIC.join_words(["a", "b", "c"]) == "a، b وc"
    assert GERMAN.quoted("Ja") == "„Ja“"


@pytest.mark.parametrize("label", ["{0}", "{often}", "%s", "<b>", "\\u0041", "{{", "}"])
def test_labels_are_put_in_as_they_are(label: str) -> None:
    assert ENGLISH.quoted(label) == f"“{label}”"


def test_numbers_have_the_decimal_mark_of_the_language() -> None:
    assert (ENGLISH.number(0.125), GERMAN.number(2.5)) == ("0.125", "2,5")
    assert (GERMAN.number(1234), GERMAN.number(12345)) == ("1234", "12\u202f345")
