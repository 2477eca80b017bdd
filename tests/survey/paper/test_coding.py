"""The numbers of sheets reveal every wrong or exchanged digit; cells are read by code or by label in any language."""

import hashlib
import hmac

import pytest

from tests.survey.samples import cheated, faculty, survey
from toolkit import Question, Survey, forced, kuk
from toolkit.survey.paper.coding import (
    NumberCell,
    box_codes,
    is_serial,
    legacy_report_key,
    read_cell,
    report_key,
    serial_numbers,
    serial_remainder,
)

DIE = forced("1/6", "1/6")


def test_numbers_are_different_and_belong_to_their_questions() -> None:
    made = survey(cheated(design=DIE))
    numbers = serial_numbers(made, 500)
    assert len(set(numbers)) == 500
    assert all(is_serial(made, number) for number in numbers)
    assert len({report_key(made, number, "secret") for number in numbers}) == 500


def test_every_wrong_digit_and_every_exchange_of_two_near_digits_is_seen() -> None:
    made = survey()
    for number in serial_numbers(made, 40):
        for place, digit in enumerate(number):
            for other in set("0123456789") - {digit}:
                assert not is_serial(made, number[:place] + other + number[place + 1 :])
            for far in (1, 2):
                if place + far < len(number) and number[place + far] != digit:
                    turned = list(number)
                    turned[place], turned[place + far] = turned[place + far], digit
                    assert not is_serial(made, "".join(turned))
        assert not is_serial(made, number[:-1])
        assert not is_serial(made, f"{number[:-1]}x")


def test_a_corrected_title_changes_no_number_and_other_questions_do() -> None:
    made = survey(cheated(design=DIE))
    assert serial_remainder(Survey("Other title", [cheated(design=DIE)], consent="Other.")) == serial_remainder(made)
    others = {serial_remainder(survey(Question(f"q{i}", "Which?", options=[1, 2]))) for i in range(50)}
    assert len(others) > 25  # of 97, as 50 draws happen to be


def test_sheets_that_an_earlier_version_printed_can_be_typed_in() -> None:
    made = survey(cheated(design=DIE))
    written = b'[["cheated","choice",["no","yes"],["no","yes"]]]'
    assert serial_remainder(made) == int(hashlib.sha256(written).hexdigest()[:12], 16) % 97
    assert is_serial(made, f"{1234567 * 100 + (serial_remainder(made) - 1234567 * 100) % 97}")  # nine digits
    assert legacy_report_key(made, "123456789") == hashlib.sha256(b"5 123456789").digest()[:16]


def test_the_key_of_a_sheet_is_a_keyed_hash_of_its_number() -> None:
    made = survey(cheated(design=DIE))
    expected = hmac.new(b"abc", b"5 123456789", hashlib.sha256).digest()[:16]
    assert (serial_remainder(made), report_key(made, "123456789", "abc")) == (5, expected)


def test_codes_are_the_options_where_these_are_numbers() -> None:
    assert box_codes(Question("m", "M?", options=[0, 1, 2])) == [0, 1, 2]
    assert box_codes(Question("m", "M?", options=[1, 2, "undisclosed"])) == [1, 2, 3]
    assert box_codes(Question("m", "M?", options=["b", 1])) == [2, 1]
    assert box_codes(Question("m", "M?", options=["01", "1"])) == [2, 1]
    assert box_codes(cheated(design=kuk("7/10", "2/10", draws=2))) == [0, 1, 2]
    assert box_codes(Question("m", "M?", options=[0, 1], multiple=True)) == [1, 2]


TWO = Survey(
    {"en": "T", "ar": "ع"},
    [
        Question("x", {"en": "X", "ar": "س"}, design=DIE),
        Question("n", {"en": "N", "ar": "ن"}, bounds=(0, "9.5"), required=False),
        Question(
            "t",
            {"en": "T", "ar": "ت"},
            options=["a", "b"],
            multiple=True,
            labels={"a": {"en": "An apple", "ar": "تفاحة"}, "b": {"en": "2", "ar": "كمثرى"}},
        ),
    ],
    consent={"en": "C", "ar": "م"},
    languages=["en", "ar"],
)


@pytest.mark.parametrize(
    ("name", "text", "value"),
    [
        ("x", "1", 0), ("x", "2", 1), ("x", "٢", 1), ("x", "yes", 1), ("x", " YES ", 1), ("x", "نعم", 1),
        ("n", "3", 3), ("n", "3,5", 3.5), ("n", "٣", 3), ("t", "0", []), ("t", "2 1", [0, 1]),
        ("t", "1;2", [0, 1]), ("t", "an apple", [0]), ("t", "2", [1]),
    ],
)  # fmt: skip
def test_codes_labels_and_numbers_are_read(name: str, text: str, value: object) -> None:
    assert read_cell(TWO, TWO[name], text) == value


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("x", "0"), ("x", "3"), ("x", "maybe"), ("n", "10"), ("n", "-1"), ("n", "nan"), ("n", "1/0"),
        ("n", "1e999999999"), ("t", "3"), ("t", "1 1"), ("t", "3 1"),
    ],
)  # fmt: skip
def test_anything_else_has_no_meaning(name: str, text: str) -> None:
    assert read_cell(TWO, TWO[name], text) is None


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1.500", None),
        ("1,500", None),
        ("1500", 1500),
        ("1.5", 1.5),
        ("9.500", 9.5),
        ("0,125", 0.125),
        (NumberCell("1.500"), 1.5),
    ],
)
def test_a_mark_that_may_stand_between_thousands_is_not_guessed(text: str, value: float | None) -> None:
    paid = Question("paid", "Paid?", bounds=(0, 2000))
    assert read_cell(survey(paid), paid, text) == value  # 9500 is out of range, so 9.500 can only be 9.5


def test_a_label_that_two_boxes_share_names_neither() -> None:
    labels = {"a": {"en": "Left", "de": "Right"}, "b": {"en": "Right", "de": "Links"}}
    both = {"en": "W", "de": "W"}
    made = Survey(both, [Question("w", both, options=["a", "b"], labels=labels)], consent=both, languages=["en", "de"])
    assert [read_cell(made, made["w"], word) for word in ("left", "right")] == [0, None]


def test_free_text_is_kept_as_it_is() -> None:
    said = Question("said", "Say?", free_text=True, required=False)
    made = survey(faculty(), said)
    assert read_cell(made, said, "=1+1, Ünï") == "=1+1, Ünï"
