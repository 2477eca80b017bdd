import copy
import pickle

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from toolkit.texts.multilingual import (
    Frozen,
    checked_language,
    checked_string,
    checked_words,
    in_language,
    is_right_to_left,
    isolate_digit_groups,
)


def test_words_are_a_string_or_strings_by_language() -> None:
    assert checked_words("Have you?", "text", 20) == "Have you?"
    assert checked_words({"en": "Yes", "de-AT": "Ja"}, "text", 20) == {"en": "Yes", "de-AT": "Ja"}


@pytest.mark.parametrize("value", [None, 3, ["en"], True, b"en"])
def test_other_things_are_no_words(value: object) -> None:
    with pytest.raises(TypeError, match="`text` must be a string, or strings by language"):
        checked_words(value, "text", 20)


@pytest.mark.parametrize("value", ["", "  \n\t ", {}, {"en": " "}])
def test_empty_words_are_refused(value: object) -> None:
    with pytest.raises(ValueError, match="must not be empty"):
        checked_words(value, "text", 20)


@pytest.mark.parametrize("character", ["\x00", "\x07", "\x1b", "\r", "\x7f", "\x85", "\ud800", "\u2028", "\ufffe"])
def test_control_characters_and_halves_of_characters_are_refused(character: str) -> None:
    with pytest.raises(ValueError, match=rf"plain text, got the character U\+{ord(character):04X}"):
        checked_string(f"Have{character}you?", "text", 20)


@pytest.mark.parametrize(
    "words", ["<script>alert(1)</script>", "</script>", "a\nb\tc", "=1+1", "😀 ünï مرحبا", "{curly} %s & '\""]
)
def test_markup_and_signs_are_just_text(words: str) -> None:
    assert checked_string(words, "text", 100) == words


def test_words_have_a_length() -> None:
    assert checked_string("x" * 20, "text", 20)
    with pytest.raises(ValueError, match="at most 20 characters, got 21"):
        checked_string("x" * 21, "text", 20)


@pytest.mark.parametrize("code", ["en", "deu", "de-AT", "zh-Hant", "sr-Latn-RS"])
def test_language_codes(code: str) -> None:
    assert checked_language(code) == code


@pytest.mark.parametrize(
    "code", ["", "e", "EN", "english", "en_GB", "en-", "../en", "en\n", 3, None, "de-AT-1901-x-y-z"]
)
def test_other_things_are_no_language_codes(code: object) -> None:
    with pytest.raises(ValueError, match="a language must be a code"):
        checked_language(code)


def test_the_direction_of_writing_follows_from_the_language_or_the_script() -> None:
    assert all(is_right_to_left(code) for code in ("ar", "he", "fa", "ur", "ar-EG", "ku-Arab", "az-Arab-IR"))
    assert not any(is_right_to_left(code) for code in ("en", "de", "ku", "zh-Hant", "ar-Latn", "arn"))


def test_a_plain_string_is_in_the_language_that_is_said() -> None:
    assert in_language("Yes", "en") == {"en": "Yes"}
    assert in_language(Frozen({"de": "Ja"}), "en") == {"de": "Ja"}


@pytest.mark.slow
@settings(max_examples=25)
@given(st.dictionaries(st.text(), st.text()))
def test_what_is_frozen_equals_hashes_copies_and_cannot_be_changed(items: dict[str, str]) -> None:
    frozen = Frozen(items)
    assert frozen == items
    assert frozen == Frozen(dict(reversed(items.items())))
    assert hash(frozen) == hash(Frozen(dict(reversed(items.items()))))
    assert copy.deepcopy(frozen) == pickle.loads(pickle.dumps(frozen)) == frozen  # noqa: S301
    items["another"] = ""
    assert "another" not in frozen or items.keys() == frozen.keys()
    with pytest.raises(TypeError):
        frozen["x"] = ""  # type: ignore[index]


@pytest.mark.parametrize(
    "number",
    ["0800 111", "+49 30 1234", "+4930123", "(030) 123 456", "+49 (0)30 12-34", "116 123", "2027-06-01", "030/1 2"],
)
def test_groups_of_digits_keep_their_order_in_right_to_left_text(number):
    """A number of several groups is isolated inside right-to-left text only."""
    assert isolate_digit_groups(f"(اتصل {number})") == f"(اتصل \u2066{number}\u2069)"
    assert isolate_digit_groups(f"(Call {number})") == f"(Call {number})"


def test_arabic_digits_are_kept_in_order_by_marks():
    """Groups of Arabic digits are separated by a mark, because an isolate alone would reverse them."""
    assert isolate_digit_groups("اتصل ٠٨٠٠ ١١١") == "اتصل \u2066٠٨٠٠ \u200e١١١\u2069"


@pytest.mark.parametrize("text", ["المادة 6 (1)", "من 3-5", "لجنة 12/2026", "0,5 10", "1 من 2", "", "5"])
def test_other_numbers_run_with_their_words(text):
    assert isolate_digit_groups(text) == text
