import re
import tomllib
from pathlib import Path

import pytest

import toolkit.survey.language.phrases
from toolkit.local.wording import odds_phrases
from toolkit.survey.language.phrases import OWN, fields, languages, phrases

FOLDER = Path(toolkit.survey.language.phrases.__file__).parent / "wording"


def test_the_promise_is_there_in_every_language_that_has_a_file() -> None:
    assert languages() == tuple(sorted(path.stem for path in FOLDER.glob("*.toml")))
    assert "en" in languages()


@pytest.mark.parametrize("language", languages())
def test_every_language_has_every_sentence_with_the_same_gaps_and_nothing_but_text(language: str) -> None:
    english, words = phrases("en"), phrases(language)
    assert list(words) == list(english)
    assert {name: fields(pattern) for name, pattern in words.items()} == {
        name: fields(pattern) for name, pattern in english.items()
    }
    for name, sentence in words.items():
        assert sentence.strip() or name == "thousands", name
        assert not re.search(r"[<>&\x00-\x1f]", sentence), name


@pytest.mark.parametrize("language", [code for code in languages() if code != "en"])
def test_no_sentence_was_left_in_english(language: str) -> None:
    same = [name for name, sentence in phrases(language).items() if sentence == phrases("en")[name]]
    assert set(same) <= {"decimal", "comma", "thousands", "part", "no", "card", "grouped_from"}


def test_a_region_is_served_by_its_language() -> None:
    promised = tomllib.loads((FOLDER / "de.toml").read_text())
    assert phrases("de-AT") == phrases("de") == {**odds_phrases("de"), **promised}


def test_another_language_needs_all_sentences_with_their_gaps() -> None:
    own = {"it": {f"{OWN}{name}": sentence for name, sentence in phrases("en").items()}}
    assert phrases("it", own) == phrases("en")
    known = ", ".join(languages())
    with pytest.raises(ValueError, match=f"must be one of {known}, or `words`.*got 'it' without promise_decimal"):
        phrases("it")
    with pytest.raises(ValueError, match="without promise_bound:"):
        phrases("it", {"it": {name: sentence for name, sentence in own["it"].items() if name != f"{OWN}bound"}})
    with pytest.raises(ValueError, match=r"other \{…\} in promise_bound:"):
        phrases("it", {"it": {**own["it"], f"{OWN}bound": "{factor.__class__}"}})


def test_a_promise_that_we_make_cannot_be_reworded() -> None:
    assert phrases("de", {"de": {f"{OWN}head_plain": "Alles ist geheim."}})["head_plain"] == phrases("de")["head_plain"]
