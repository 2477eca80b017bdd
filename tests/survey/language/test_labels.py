from toolkit.survey.language.phrases import label, languages, phrases, speaks_for_itself
from toolkit.survey.language.text import Frozen


def test_a_given_label_comes_first_then_common_answers_then_the_option() -> None:
    given = Frozen({"de": "Nie im Leben"})
    assert label("no", given, "de", phrases("de")) == "Nie im Leben"
    assert label("no", given, "en", phrases("en")) == "No"
    assert label("arts", None, "en", phrases("en")) == "arts"
    assert label(3, None, "ar", phrases("ar")) == "3"


def test_common_answers_are_there_in_every_language() -> None:
    for language in languages():
        shown = [
            label(option, None, language, phrases(language))
            for option in ("yes", "no", "same", "different", "neither", "at least one")
        ]
        assert len(set(shown)) == 6


def test_numbers_and_common_answers_need_no_translation() -> None:
    assert all(speaks_for_itself(option) for option in (5, "5", "18–24", "≥ 3", "yes", "at least one"))
    assert not any(speaks_for_itself(option) for option in ("arts", "maybe", "5 or more", "ja"))
