"""The page states in every language who asks and what happens to the answers; otherwise a survey cannot leave this
machine.
"""

from dataclasses import replace
from pathlib import Path

import pytest

from tests.survey.samples import SAID, cheated, survey
from toolkit import Survey
from toolkit.survey.consent.page_data import shown_survey
from toolkit.survey.consent.statement import missing_statements, stated_layers
from toolkit.survey.questions.question import localized_question
from toolkit.survey.questions.survey_fields import statements
from toolkit.survey.serving.options import ServeOptions, check_network_exposure
from toolkit.survey.spec import STATEMENT_FIELDS
from toolkit.texts.phrases import LANGUAGES


def test_without_it_the_page_says_that_this_is_a_demonstration() -> None:
    who = shown_survey(survey(cheated()))["consent"]["en"][1]
    assert "This is a demonstration" in who["open"][-1]
    assert "This is a demonstration" in survey(cheated(), **{**SAID, "contact": None}).consent_text()
    assert "demonstration" not in survey(cheated(), **SAID).consent_text()


@pytest.mark.parametrize("language", LANGUAGES)
def test_it_is_said_in_every_language(language: str) -> None:
    said = {name: {language: f"«{name}»"} for name in STATEMENT_FIELDS}
    asked = [localized_question(cheated(), language)]
    made = Survey({language: "T"}, asked, consent={language: "C"}, languages=[language], **said)
    layers = stated_layers(statements(made), "C", language)
    told = [text for layer in layers[1:] for text in (*layer.open, *layer.more)]
    assert len(told) == len(STATEMENT_FIELDS)
    assert all(f"«{name}»" in text for name, text in zip(STATEMENT_FIELDS, told, strict=True))
    assert all(text in made.consent_text() for text in told)


def test_beyond_this_machine_all_but_a_way_back_must_be_said() -> None:
    asked = survey(cheated())
    check_network_exposure(asked, ServeOptions())
    check_network_exposure(replace(asked, rehearsal=True), ServeOptions(host="0.0.0.0"))  # noqa: S104
    assert missing_statements(statements(asked)) == [
        name for name in STATEMENT_FIELDS if name not in ("withdrawal", "hashes")
    ]
    for options in (ServeOptions(host="0.0.0.0"), ServeOptions(public_url="https://survey.example/")):  # noqa: S104
        with pytest.raises(ValueError, match="must state controller, contact, purpose, retention, publication"):
            check_network_exposure(asked, options)
        check_network_exposure(survey(cheated(), **SAID), options)


def test_a_way_to_take_it_back_replaces_the_sentence_that_there_is_none() -> None:
    assert "nothing can be taken back" in survey(cheated(), **SAID).consent_text()
    text = survey(cheated(), **SAID, withdrawal="Write to us within a week.").consent_text()
    assert "If you want to take it back: Write to us within a week." in text
    assert "nothing can be taken back" not in text


def test_the_place_of_the_published_hashes_is_on_the_page_only() -> None:
    """The page says where the hashes are published, and the sheet of paper does not."""
    made = survey(cheated(), **SAID, hashes="example.org/study")
    said = "Where the two numbers that this page shows at the end (SHA-256) are published: example.org/study"
    assert said in shown_survey(made)["consent"]["en"][1]["more"]
    assert said not in made.consent_text(paper=True)


def test_it_is_kept_in_files_and_in_the_hash(tmp_path: Path) -> None:
    made = survey(cheated(), **SAID)
    made.save(tmp_path / "a.toml")
    assert Survey.load(tmp_path / "a.toml") == made
    assert made.hash != survey(cheated(), **{**SAID, "contact": "another"}).hash
    with pytest.raises(ValueError, match="`contact` must be given in every language"):
        survey(localized_question(cheated(), "en"), **{**SAID, "contact": {"de": "wir"}})
