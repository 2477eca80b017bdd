import re
import tomllib
from pathlib import Path

import pytest

import toolkit
from toolkit.texts.multilingual import Frozen
from toolkit.texts.phrases import LANGUAGES, PROMISE_PREFIX, label, needs_no_label, phrases, slot_names

FOLDER = Path(toolkit.__file__).parent / "texts/languages"


def gaps(language: str) -> dict[str, list[tuple[str, list[str]]]]:
    """Names and gaps of all texts of a file, in their order."""
    tables = tomllib.loads((FOLDER / f"{language}.toml").read_text(encoding="utf-8"))
    return {
        table: [(name, sorted(slot_names(text))) for name, text in texts.items()] for table, texts in tables.items()
    }


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_language_has_every_sentence_with_the_same_gaps(language: str) -> None:
    """The sentences are plain text without markup."""
    assert gaps(language) == gaps("en")
    for name, sentence in phrases(language).items():
        assert sentence.strip() or name == "thousands", name
        assert not re.search(r"[<>&\x00-\x1f]", sentence), name


@pytest.mark.parametrize("language", [code for code in LANGUAGES if code != "en"])
def test_no_sentence_was_left_in_english(language: str) -> None:
    same = [name for name, sentence in phrases(language).items() if sentence == phrases("en")[name]]
    assert set(same) <= {"decimal", "comma", "thousands", "part", "no", "card", "grouped_from"}


def test_a_region_is_served_by_its_language() -> None:
    assert phrases("de-AT") == phrases("de") != phrases("en")


def test_french_has_no_break_spaces_before_double_marks() -> None:
    for name, text in phrases("fr").items():
        assert name == "claims" or not re.search(r" [;:?!»]|« ", text)


def test_another_language_needs_all_sentences_with_their_gaps() -> None:
    own = {"it": {f"{PROMISE_PREFIX}{name}": sentence for name, sentence in phrases("en").items()}}
    assert phrases("it", own) == phrases("en")
    known = ", ".join(LANGUAGES)
    with pytest.raises(ValueError, match=f"must be one of {known}, or `words`.*got 'it' without promise_decimal"):
        phrases("it")
    with pytest.raises(ValueError, match="without promise_bound:"):
        phrases(
            "it", {"it": {name: sentence for name, sentence in own["it"].items() if name != f"{PROMISE_PREFIX}bound"}}
        )
    with pytest.raises(ValueError, match=r"other \{…\} in promise_bound:"):
        phrases("it", {"it": {**own["it"], f"{PROMISE_PREFIX}bound": "{factor.__class__}"}})


def test_a_promise_that_we_make_cannot_be_reworded() -> None:
    assert (
        phrases("de", {"de": {f"{PROMISE_PREFIX}head_plain": "Alles ist geheim."}})["head_plain"]
        == phrases("de")["head_plain"]
    )


def test_a_given_label_comes_first_then_common_answers_then_the_option() -> None:
    given = Frozen({"de": "Nie im Leben"})
    assert label("no", given, "de", phrases("de")) == "Nie im Leben"
    assert label("no", given, "en", phrases("en")) == "No"
    assert label("arts", None, "en", phrases("en")) == "arts"
    assert label(3, None, "ar", phrases("ar")) == "3"


def test_common_answers_are_there_in_every_language() -> None:
    for language in LANGUAGES:
        shown = [
            label(option, None, language, phrases(language))
            for option in ("yes", "no", "same", "different", "neither", "at least one")
        ]
        assert len(set(shown)) == 6


def test_numbers_and_common_answers_need_no_translation() -> None:
    assert all(needs_no_label(option) for option in (5, "5", "18–24", "≥ 3", "yes", "at least one"))
    assert not any(needs_no_label(option) for option in ("arts", "maybe", "5 or more", "ja"))
