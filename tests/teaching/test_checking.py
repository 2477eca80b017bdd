"""Right answers in any form, a hint for each typical mistake, and only "not yet" for nonsense."""

import importlib.util
import json
import math
import re
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from tests.slowly import each
from tests.teaching.key import KEY, right
from toolkit.teaching import check, checking
from toolkit.teaching.checking import SLIPS, left_to_do, nearby_roundings, parse_number, round_to_digits

ROOT = Path(__file__).parents[2]
SEALED = ROOT / "toolkit" / "teaching" / "static" / "answers.json"


@pytest.mark.slow
@each(name=KEY)
def test_the_right_answer_is_right(name):
    assert check(name, tuple(right(name)))


@pytest.mark.slow
@each(name=KEY)
def test_each_known_mistake_is_told_its_reason_and_no_other_part_is_blamed(name):
    for place, part in enumerate(KEY[name]["parts"]):
        for wrong, reason in part.get("wrong", []):
            given = right(name)
            given[place] = wrong
            reply = check(name, given)
            assert not reply
            assert reply.message == (reason if len(given) == 1 else f"part {place + 1} of {len(given)}: {reason}")


@pytest.mark.slow
@each(name=KEY)
def test_nonsense_is_not_right_and_gets_no_hint(name):
    for nonsense in (-98765.4, "perhaps", [1] * 9, {}):
        given = [nonsense] * len(KEY[name]["parts"]) if not isinstance(nonsense, list | dict) else nonsense
        reply = check(name, given)
        assert not reply
        reasons = [said for part in KEY[name]["parts"] for _, said in part.get("wrong", [])]
        reasons += [said for slips in SLIPS.values() for _, said in slips]
        assert not any(reason in reply.message for reason in reasons)


@pytest.mark.parametrize(
    ("name", "answer", "said"),
    [
        ("03.3", 12.5, "per cent"),
        ("03.4", np.log(4), "logarithm"),
        ("04.1", (2.0, 2.5), "epsilon is its logarithm"),
        ("04.1", (np.log(2), 0.4), "Upside down"),
        ("07.1", (8, 8), "come or go, or change"),
        ("07.2", (2996 * np.sqrt(2), 5991), "Too large by √2"),
        ("03.1", ("3/4", -1.0986, 5), "sign"),
    ],
)
def test_slips_of_the_hand_are_told_by_what_would_make_them_right(name, answer, said):
    reply = check(name, answer)
    assert not reply
    assert said in reply.message


@pytest.mark.parametrize(
    ("right", "digits", "kind", "slips"),
    [
        (0.25, 3, "percent", {25: "per cent; a share", 0.0025: "This is a share"}),
        (0.25, 3, "root2", {0.25 * math.sqrt(2): "Too large by √2", 0.25 / math.sqrt(2): "Too small by √2"}),
        (8, 0, "neighbors", {16: "Twice too large", 4: "Half of it", 16.4: "Twice too large"}),
        (0.25, 3, "log", {math.exp(0.25): "This is a factor"}),
        (2, 3, "log", {math.log(2): "This is a logarithm"}),
        (-0.25, 3, "log", {math.exp(-0.25): "This is a factor"}),
        (0.25, 3, "sign", {-0.25: "look at the sign"}),
        (0.25, 3, "inverse", {4: "Upside down"}),
    ],
)
def test_a_typical_slip_gets_its_hint_and_other_wrong_answers_none(monkeypatch, right, digits, kind, slips):
    """A slip is recognized if undoing it gives the right number."""
    monkeypatch.setattr(checking, "_HASH_ROUNDS", 1)
    hints = {checking.seal("t", 0, round_to_digits(77.7, digits or 3)): "a hint"}
    part = {
        "right": [checking.seal("t", 0, round_to_digits(right, digits))],
        "digits": digits,
        "slips": [kind],
        "hints": hints,
    }
    monkeypatch.setattr(checking, "_answer_key", lambda: {"t": [part]})
    assert check("t", right)
    assert check("t", 77.7).message == "a hint"
    for answer, said in slips.items():
        assert said in check("t", answer).message
    for answer in (0, -3, 0.7, 1, 1000, "inf"):
        is_fraction = not digits and answer == 0.7
        assert check("t", answer).message == ("not yet. A whole number is asked for." if is_fraction else "not yet.")


@pytest.mark.parametrize(
    ("name", "answer", "message"),
    [
        ("03.2", 3361.04, "Round up."),
        ("03.2", 3361, "One too few"),
        ("03.2", 3363, "One too many"),
        ("03.2", 3000.5, "A whole number is asked for"),
        ("03.2", 33620, "look at the decimal point"),
        ("03.1", (0.75, 1.12, 5), "carry more digits"),
        ("03.1", (5, 1.0986, 5), "This is the answer to part 3"),
        ("05.2", (2, "maybe"), "Answer yes or no"),
        ("16.2", "cards", "A word is asked for"),
        ("05.1", (2.10, 496, 114), "part 3 of 3: Round up: with 114"),
        ("09.2", 0.392, "the share of yes"),
    ],
)
def test_a_likely_wrong_answer_gets_a_hint(name, answer, message):
    assert message in check(name, answer).message


@pytest.mark.parametrize("people", [496, 498])
def test_people_follow_from_an_epsilon_that_was_rounded_before(people):
    assert check("05.1", (2.10, people, 115))
    assert check("05.1", (2.097, people, 115))


@pytest.mark.slow
@each(epsilon=[1.0986, 1.1, "1.099", np.log(3)], p=[0.75, "3/4", "75 %", Fraction(3, 4), np.float32(0.75), " .75 "])
def test_a_number_counts_in_any_form_and_to_the_digits_that_matter(p, epsilon):
    assert check("03.1", (p, epsilon, 5))
    assert check("03.1", np.array([0.75, float(epsilon), 5.0]))


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("0,693", 0.693), ("-0,5", -0.5), ("1,0986", 1.0986), ("12,5 %", 0.125), ("2,5", 2.5), ("3,362", 3362),
        ("10,000", 10_000), ("1,234,567.5", 1_234_567.5), ("0,1,2", None),
    ],
)  # fmt: skip
def test_a_comma_separates_decimals_or_thousands(text, number):
    """Three digits after a comma are thousands, except after a leading zero."""
    assert parse_number(text) == number


@pytest.mark.parametrize("said", [False, "No", "no.", "FALSE", " n "])
def test_a_word_counts_in_any_case_and_as_a_truth_value(said):
    assert check("13.1", said)


@pytest.mark.parametrize(
    ("value", "digits"), [(1.0986, 3), (0.012345, 2), (-98.765, 3), (0.5004, 1), (0.3145, 3), (7.77, 2)]
)
def test_a_number_counts_whether_it_was_rounded_or_truncated(value, digits):
    """No other number is accepted."""
    unit = Decimal(1).scaleb(Decimal(str(value)).adjusted() - digits + 1)
    cut = abs(Decimal(str(value))) // unit * unit
    assert {abs(Decimal(text)) for text in nearby_roundings(value, digits)} == {cut, cut + unit}
    sign = "-" if value < 0 else ""
    assert round_to_digits(float(f"{sign}{cut + unit}"), digits) in nearby_roundings(float(f"{sign}{cut}"), digits)
    assert round_to_digits(float(f"{sign}{cut}"), digits) in nearby_roundings(float(f"{sign}{cut + unit}"), digits)
    assert [nearby_roundings(whole, digits) for whole in (10.0, 0, np.inf)] == [
        {round_to_digits(10.0, digits)},
        {"0"},
        {"inf"},
    ]


def test_three_dots_are_no_answer_yet_and_the_number_of_parts_is_told():
    assert repr(check("03.2", ...)) == "03.2: no answer yet. Put it in place of the three dots."
    assert repr(check("03.1", 0.75)) == "03.1: parts asked for: 3; given: 1."


def test_an_exercise_that_is_not_there_is_refused():
    with pytest.raises(ValueError, match=r"one of the course, got '03\.9'"):
        check("03.9", 1)


@pytest.mark.slow
def test_the_sealed_file_is_that_of_the_key_and_shows_no_answer():
    spec = importlib.util.spec_from_file_location("answers", ROOT / ".make" / "answers.py")
    sealing = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(sealing)
    text = SEALED.read_text(encoding="utf-8")
    assert text == sealing.sealed(), "run `make answers`"
    for name, parts in json.loads(text).items():
        assert set().union(*parts) <= {"right", "digits", "slips", "hints"}
        said = " ".join(hint for part in parts for hint in part["hints"].values())
        assert not any(re.search(rf"\b{one}\b", said) for one in right(name) if (parse_number(one) or 0) > 8)


@pytest.mark.parametrize(
    ("name", "near_miss"),
    [
        ("02.4", (45, 105)), ("02.4", (47, 107)), ("07.4", 299), ("07.4", 310), ("11.2", (0.1, 10, 100)),
        ("01.4", 651), ("01.4", 670),
    ],
)  # fmt: skip
def test_a_whole_number_beside_the_right_one_is_wrong(name, near_miss):
    assert not check(name, near_miss)


@pytest.mark.parametrize(
    ("name", "answer"),
    [
        ("09.1", "−0.5"),
        ("09.1", Decimal("-0.5")),
        ("03.1", pd.Series([0.75, np.log(3), 5])),
        ("03.1", ("3/4", "ln 3", 5)),
        ("16.2", "one die"),
        ("16.2", "Dice"),
        ("08.3", (0.88, 0.31)),
        ("08.3", ("92 %", "33 %")),
    ],
)
def test_what_means_the_same_is_right(name, answer):
    assert check(name, answer)


def test_what_is_left_to_do_is_told_until_it_is_done():
    def written(x):
        return x

    def unwritten(x):
        raise NotImplementedError

    assert left_to_do(["13.2"], {"unwritten": unwritten}).startswith("Still to do: write unwritten")
    check("13.2", 2)
    assert "exercise 13.2" in left_to_do(["13.2"], {"written": written})
    check("13.2", 3)
    assert left_to_do(["13.2"], {"written": written}) == "All done."
