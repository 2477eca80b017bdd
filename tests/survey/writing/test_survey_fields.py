"""Languages, words and flags of a survey: taken as they should be, refused otherwise with what to write."""

import pytest

from toolkit.survey.writing.survey_fields import checked_languages, flag, own_words


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
