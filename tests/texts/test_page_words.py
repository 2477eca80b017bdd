"""The words of the interface: complete in every language, and none that promises more than another."""

import re
from pathlib import Path

import pytest

from toolkit.survey import client
from toolkit.survey.consent import device_check
from toolkit.survey.consent import page_data as told
from toolkit.survey.serving import items, page
from toolkit.texts.phrases import LANGUAGES, page_words_by_language, station_words

ENGLISH = page_words_by_language(["en"])["en"]


def slots(text):
    return sorted(re.findall(r"\{\w+\}", text))


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_language_says_everything_and_takes_the_same_values(language):
    words = page_words_by_language([language])[language]
    assert set(words) == set(ENGLISH)
    assert all(text.strip() for text in words.values())
    assert {name: slots(text) for name, text in words.items()} == {name: slots(text) for name, text in ENGLISH.items()}
    if language != "en":
        same = {name for name in words if words[name] == ENGLISH[name]} - {"direction", "no", "name"}
        assert same <= {"practice", "question"} or len(same) <= 2, f"not translated: {same}"


def test_the_page_uses_every_word_and_has_every_word_that_it_uses():
    """The words of the page are compared with its scripts and with the modules that build it."""
    scripts = "".join(client.asset(name).decode() for name in client.FILE_NAMES if name.endswith(".js"))
    scripts += "".join(
        Path(module.__file__).read_text(encoding="utf-8") for module in (items, page, told, device_check)
    )
    made = {"direction", "name", "moment", "loading", "cut", "optional", "tap_truth", "tap_this", "tap_if"}
    built = {
        name
        for name in ENGLISH
        if re.fullmatch(
            r"end_\w+|verify_\d|(auto|guided|physical|plain|check)_note|(wrong_)?(number|whole)|text"
            r"|review_(token|blind)",
            name,
        )
    }
    unused = {name for name in set(ENGLISH) - made - built if f'"{name}"' not in scripts}
    assert unused == set()
    named = set(re.findall(r'\b(?:say|note|lead|heading|button|back|fact|details|p)\("(\w+)"[,)]', scripts))
    assert named <= {*ENGLISH, *station_words("en"), "check_outcome"}  # which a sheet of paper says, too


def test_own_words_replace_and_complete():
    own = {name: f"{text}!" for name, text in ENGLISH.items() if name != "direction"}
    words = page_words_by_language(["en", "nl", "he"], {"en": {"send": "Off it goes"}, "nl": own, "he": own})
    assert (words["en"]["send"], words["en"]["next"], words["nl"]["next"]) == ("Off it goes", "Next", "Next!")
    assert (words["nl"]["direction"], words["he"]["direction"]) == ("ltr", "rtl")


def test_a_region_takes_the_words_of_its_language():
    assert page_words_by_language(["de-AT"])["de-AT"]["send"] == "Senden"
    assert station_words("de-AT") == station_words("de") != station_words("en") == station_words("it")


def test_values_are_set_apart_where_writing_runs_from_right_to_left():
    assert "\u2068{n}\u2069" in page_words_by_language(["ar"])["ar"]["question"]
    assert "\u2068" not in "".join(ENGLISH.values())


@pytest.mark.parametrize(
    ("asked", "own", "message"),
    [
        (["nl"], None, rf"all its texts in 'nl', got {len(ENGLISH) - 1} missing"),
        (["en"], {"en": {"sned": "Send"}}, "must be those of en.toml .*got sned"),
        (["en"], {"en": {"step": "Step {n}"}}, r"'step' in 'en' must contain \{n\} \{of\}, got others"),
        (["en"], {"en": {"send": "Send {n}"}}, "must contain nothing in braces, got others"),
        (["en"], {"en": {"plain_note": "Protected by chance."}}, "but no promise, got plain_note"),
        (["de-AT"], {"de-AT": {"review_note": "Alles bleibt hier."}}, "but no promise, got review_note"),
    ],
)
def test_words_that_the_page_cannot_use_are_refused(asked, own, message):
    with pytest.raises(ValueError, match=message):
        page_words_by_language(asked, own)
