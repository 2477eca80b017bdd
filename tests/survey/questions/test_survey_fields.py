"""Languages, words and flags of a survey: taken as they should be, refused otherwise with what to write."""

import re
from dataclasses import replace

import pytest

from tests.survey.samples import panel, survey
from toolkit import Pure, Survey
from toolkit.survey.questions.question_fields import flag
from toolkit.survey.questions.survey_fields import Panel, checked_languages, checked_waves, own_words


def test_languages_are_a_list_of_distinct_codes():
    assert checked_languages(["en", "de"]) == ("en", "de")
    for wrong, error in (("en", TypeError), ([], TypeError), (["en", "en"], ValueError), (["tlh!"], ValueError)):
        with pytest.raises(error, match="language"):
            checked_languages(wrong)


def test_words_belong_to_a_language_of_the_survey():
    assert own_words(None, ["it"]) is own_words({}, ["it"]) is None
    assert dict(own_words({"it": {"next": "Avanti"}}, ["en", "it"])["it"]) == {"next": "Avanti"}
    with pytest.raises(TypeError, match="by language and name"):
        own_words({"it": "Avanti"}, ["it"])
    with pytest.raises(ValueError, match="nobody would see them"):
        own_words({"it": {"next": "Avanti"}}, ["en"])


def test_a_flag_is_true_or_false_and_not_a_number_or_a_word():
    assert flag(True, "check") is True
    for wrong in (1, 0, "yes", None):
        with pytest.raises(TypeError, match="`check` must be true or false"):
            flag(wrong, "check")


def test_waves_are_whole_numbers_and_a_wave_is_one_of_them():
    assert checked_waves(4, 2) == (4, 2)
    for waves, wave, message in (
        (0, 1, "`waves` must be at least 1"),
        (2, 0, "`wave` must be at least 1"),
        (2, 3, "`wave` must be at most `waves`, 2, got 3"),
        (25, 1, "`waves` must be at most 24, got 25"),
    ):
        with pytest.raises(ValueError, match=message):
            checked_waves(waves, wave)
    with pytest.raises(TypeError, match="`waves` must be a whole number"):
        checked_waves(True, 1)


def test_a_panel_is_random_is_part_of_the_hash_and_is_not_made_before_a_collection():
    first, one, other = panel(), Panel.new(Pure(1)), Panel.new(Pure(1))
    assert survey().panel is first.panel is None
    assert re.fullmatch("[0-9a-f]{32}", one.identity)
    assert one.identity != other.identity
    asked = [replace(first, panel=made) for made in (one, other, Panel(one.identity, Pure(2).amount))]
    assert len({first.hash, *(survey.hash for survey in asked)}) == 4
    assert all(Survey.from_dict(survey.to_dict()) == survey for survey in asked)
    with pytest.raises(ValueError, match="in a survey with `waves`"):
        Survey.from_dict(survey().to_dict() | {"panel": one.to_dict()})
