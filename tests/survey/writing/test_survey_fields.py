"""Languages, words and flags of a survey: taken as they should be, refused otherwise with what to write."""

import re

import pytest

from tests.survey.samples import MEMO, cheated, panel, survey
from toolkit import Question, Survey, warner
from toolkit.local.waves import Memo
from toolkit.survey.writing.survey_fields import checked_languages, checked_waves, flag, own_words


def test_languages_are_a_list_of_distinct_codes():
    assert checked_languages(["en", "de"]) == ("en", "de")
    for wrong, error in (
        ("en", TypeError),
        ([], TypeError),
        (["en", "en"], ValueError),
        (["tlh!"], ValueError),
    ):
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
    assert checked_waves(4, 2) == {"waves": 4, "wave": 2}
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


def test_a_panel_is_its_waves_and_its_questions_with_a_memo_and_nothing_else():
    first = panel()
    assert survey().panel is None
    assert re.fullmatch("[0-9a-f]{64}", first.panel)
    asked, plain = first.questions
    same = [
        panel(wave=3),
        panel(plain, asked),
        panel(asked),
        panel(consent="Other words.", closes="2030-01-01", access="token", minimum=5, check=False),
        panel(cheated(design=MEMO, labels={"yes": "Yes, I have"}, help="On any exam.")),
        Survey.from_dict(first.to_dict()),
        panel(asked, Question("stolen", "Stolen?", design=warner("3/4")), ceiling=9),
    ]
    assert {one.panel for one in same} == {first.panel}
    assert len({one.hash for one in same}) == 7
    other = [
        panel(waves=3),
        panel(Question("cheat", "Have you ever cheated on an exam?", design=MEMO)),
        panel(Question("cheated", "Have you cheated?", design=MEMO)),
        panel(cheated(design=Memo(warner("3/4"), warner("4/5")))),
        panel(asked, Question("stolen", "Stolen?", design=MEMO), ceiling=9),
        first.as_rehearsal(),
    ]
    assert len({first.panel, *(one.panel for one in other)}) == 7
