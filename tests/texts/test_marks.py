import re
from dataclasses import replace

import pytest

from tests.survey.samples import survey
from toolkit.survey.client import asset
from toolkit.survey.consent.page_data import page_words, shown_survey
from toolkit.survey.serving.page import HEADING_PREFIX
from toolkit.texts.phrases import HEADINGS, LANGUAGES, page_words_by_language, rehearsal_mark, rehearsal_words


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_heading_of_a_rehearsal_begins_with_a_word_for_it(language):
    words = page_words_by_language([language], rehearsal_words([language], {}))[language]
    plain = page_words_by_language([language])[language]
    assert rehearsal_mark(language) != rehearsal_mark("en") or language == "en"
    assert {name for name in words if words[name] != plain[name]} == set(HEADINGS)
    assert all(words[name] == f"{rehearsal_mark(language)}: {plain[name]}" for name in HEADINGS)


def test_all_words_that_the_page_makes_headings_of_are_known_here():
    """Named where screens are made, or given with the question; all others are titles of the survey. Last
    screens are headed by words that `page.py` makes of these.
    """
    script = asset("screens.js").decode()
    named = {word for call in re.findall(r"heading\(([^)]*)\)", script) for word in re.findall(r'"(\w+)"', call)}
    assert named <= {*HEADINGS, HEADING_PREFIX}
    assert {"practice", "check_title"} <= {*HEADINGS}  # these come with the introduction's questions


def test_custom_words_stay_and_are_marked_where_they_head_a_screen():
    """A rehearsal marks a heading in the researcher's words and leaves a button unchanged."""
    asked = replace(survey(words={"en": {"next": "Go on", "thanks": "Merci"}}), rehearsal=True)
    assert page_words(asked)["en"]["next"] == "Go on"
    assert page_words(asked)["en"]["thanks"] == "REHEARSAL: Merci"


def test_a_rehearsal_is_a_survey_of_its_own_that_can_be_written_down(tmp_path):
    tried = replace(survey(), rehearsal=True)
    assert tried.hash != survey().hash
    assert tried.name == "REHEARSAL: Exams"
    assert tried.title == survey().title
    assert replace(tried, rehearsal=True) == tried
    tried.save(tmp_path / "tried.toml")
    assert type(tried).load(tmp_path / "tried.toml") == tried
    assert shown_survey(tried)["title"] == {"en": "REHEARSAL: Exams"}
