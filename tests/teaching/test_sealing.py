"""Numbers and words as people write them are converted to one normal form."""

import hashlib
import math
from decimal import Decimal

import numpy as np
import pytest

from toolkit.teaching.checking import nearby_roundings, normalize_word, parse_number, round_to_digits, seal


@pytest.mark.parametrize(
    ("written", "meant"),
    [("1,200", 1200), ("1/3", 1 / 3), ("infinity", math.inf), ("∞", math.inf), (np.int64(4), 4), ("-2", -2)],
)
def test_a_number_is_read_as_people_write_it(written, meant):
    assert parse_number(written) == meant


@pytest.mark.parametrize("written", [True, None, "two", "1/0", [1], "", "%", "inf or so", "0." + "3" * 300])
def test_what_is_no_number_is_none(written):
    assert parse_number(written) is None


def test_the_exponent_of_a_number_is_not_expanded(monkeypatch):
    """A fraction with the value "1e999999999" has a billion digits, and would stop the grading of a class."""
    monkeypatch.setattr("toolkit.teaching.checking.Fraction", None)
    assert parse_number("1e999999999") is parse_number("ln 1e999999999") is parse_number("nan") is None
    assert parse_number("2.5e-3") == 0.0025


def test_a_step_more_or_less_in_the_last_digit_counts_and_two_do_not():
    right = round_to_digits(3362, 3)
    assert right in nearby_roundings(3364, 3)
    assert right in nearby_roundings(3360, 3)
    assert right not in nearby_roundings(3380, 3)
    assert right not in nearby_roundings(3340, 3)


def test_zero_and_infinity_have_no_digits():
    assert nearby_roundings(0, 3) == {"0"}
    assert nearby_roundings(math.inf, 3) == {"inf"}
    assert round_to_digits(math.nan, 2) == "nan"


def test_words_lose_case_article_and_marks():
    assert [normalize_word(said) for said in ("The die!", "a die", False, "YES")] == ["die", "die", "no", "yes"]


def test_the_same_answer_to_another_exercise_or_part_has_another_seal():
    assert len({seal("03.1", 0, "5"), seal("03.1", 1, "5"), seal("03.2", 0, "5")}) == 3


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("−0.5", -0.5),
        ("ln 3", math.log(3)),
        ("log(3)", math.log(3)),
        ("2 ln 3", 2 * math.log(3)),
        ("2*ln(2)", 2 * math.log(2)),
        ("-√2", -math.sqrt(2)),
        ("sqrt(1/2)", math.sqrt(1 / 2)),
        ("1/2 %", 0.005),
        (Decimal("0.25"), 0.25),
    ],
)
def test_formulas_and_other_signs_are_numbers(written, meant):
    assert parse_number(written) == pytest.approx(meant, rel=1e-15)


def test_a_whole_number_is_exact_and_other_numbers_are_rounded_once():
    """An answer that must be a whole number is compared without rounding."""
    assert nearby_roundings(46, 0) == {"46"}
    assert round_to_digits(46, 0) not in nearby_roundings(46.4, 0)
    assert round_to_digits(660, 2) not in nearby_roundings(651, 2) | nearby_roundings(670, 2)
    assert round_to_digits(660, 2) in nearby_roundings(659, 2)


@pytest.mark.parametrize("plain", ["", "0.75", "ja, ε", "x" * 200])
def test_without_openssl_the_seal_is_the_same(plain, monkeypatch):
    sealed = seal("03.1", 2, plain)
    monkeypatch.delattr(hashlib, "pbkdf2_hmac")
    assert seal("03.1", 2, plain) == sealed
