import re
from string import Formatter

import pytest

from toolkit.local.wording.phrases import LANGUAGES, odds_phrases


def gaps(sentence: str) -> set[str]:
    return {name for _, name, _, _ in Formatter().parse(sentence) if name}


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_language_has_every_sentence_with_the_same_gaps_in_the_same_order(language: str) -> None:
    english, words = odds_phrases("en"), odds_phrases(language)
    assert list(words) == list(english)
    assert {name: gaps(text) for name, text in words.items()} == {name: gaps(text) for name, text in english.items()}


def test_french_has_no_break_spaces_before_double_marks() -> None:
    for text in odds_phrases("fr").values():
        assert not re.search(r" [;:?!»]|« ", text)
