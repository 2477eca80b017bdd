"""The question about the device: in every language, for every way to answer; and the number of right answers by
chance.
"""

import itertools
import unicodedata
from fractions import Fraction
from typing import Any

import pandas as pd
import pytest

from tests.survey.desk import payload, sent
from tests.survey.samples import cheated, survey
from toolkit import Design, crosswise, forced, forced_options, k_ary, kuk, mangat, unrelated, warner
from toolkit.survey.consent.device_check import device_tries, guess_probabilities, sheet_tries
from toolkit.survey.consent.page_data import page_words
from toolkit.survey.questions.question import Question, localized_question
from toolkit.survey.results import estimate
from toolkit.survey.serving.page import page_content
from toolkit.survey.serving.payload import PayloadError, parse_submission
from toolkit.survey.spec import Survey
from toolkit.texts.phrases import LANGUAGES, page_words_by_language, phrases

PHYSICAL = {"mode": "physical", "instructions": "Throw a die."}


def tries(question: Question, language: str = "en") -> list[tuple[str, list[str], str]]:
    words = page_words_by_language([language])
    found = device_tries([localized_question(question, language)], words)
    return [
        (text[language], [one[language] for one in labels], labels[right][language]) for text, labels, right in found
    ]


def test_of_a_wheel_what_is_sent_is_where_it_stops() -> None:
    (first, labels, right), (second, _, other) = tries(cheated())
    assert first == "The wheel stops at B, and your real answer is “No”. What is sent?"
    assert labels == ["A – No", "B – Yes", "Nothing"]
    assert (right, other) == ("B – Yes", "A – No")
    assert second == "The wheel stops at A, and your real answer is “Yes”. What is sent?"
    assert tries(Question("x", "X?", design=k_ary(5, epsilon=1.0)))[0][0] == first, "as it was practised"


@pytest.mark.parametrize("mode", [{"mode": "guided"}, PHYSICAL])
def test_where_people_tap_it_is_what_chance_tells_them_to(mode: dict[str, Any]) -> None:
    (first, labels, right), (_, _, other) = tries(cheated(design=forced("1/3", "1/3"), **mode))
    assert first == (
        "Chance tells you: choose “Yes”, whatever your real answer is. Your real answer is “No”. What do you choose?"
    )
    assert (labels, right, other) == (["No", "Yes", "Nothing"], "Yes", "No")


def test_where_two_answers_are_compared_it_is_whether_they_are_the_same() -> None:
    found = tries(Question("x", "X?", design=crosswise("1/4"), **PHYSICAL))
    assert found[0][0] == (
        "Your true answer to one of the two questions is “No”, and to the other “Yes”. What do you choose?"
    )
    assert [right for _, _, right in found] == ["Different", "Same"]


def test_what_is_asked_does_not_depend_on_what_a_design_is_called() -> None:
    compared = crosswise("1/4")
    mine = Design(compared.weights, 4, compared.options, compared.report_options, "mine")
    assert tries(Question("x", "X?", design=mine, **PHYSICAL)) == tries(
        Question("x", "X?", design=compared, **PHYSICAL)
    )
    weights = [[2, 1], [1, 2]]
    for name in ("mine", "forced"):
        design = Design(weights, 3, ("no", "yes"), name=name, procedure="forced")
        assert tries(cheated(design=design, **PHYSICAL)) == tries(cheated(design=forced("1/3", "1/3"), **PHYSICAL))
    with pytest.raises(ValueError, match="forced answers or a crosswise design"):
        tries(cheated(design=Design(weights, 3, ("no", "yes"), name="enforced"), **PHYSICAL))


def test_a_survey_that_an_older_version_saved_asks_what_it_asked() -> None:
    """The data of a forced design without a field for the procedure, which earlier versions inferred from the name."""
    data = {"name": "enforced", "options": ["no", "yes"], "report_options": ["no", "yes"]}
    saved = {**data, "denominator": 3, "weights": [[2, 1], [1, 2]]}
    question = {"name": "cheated", "text": "Have you?", "design": saved, "labels": {}, **PHYSICAL}
    loaded = Survey.from_dict({"title": "Exams", "consent": "Why.", "check": "device", "questions": [question]})
    assert tries(loaded["cheated"])[0][2] == "Yes"
    assert loaded.to_dict()["questions"][0]["design"] == saved
    again = Survey.from_dict(loaded.to_dict())
    assert again.hash == loaded.hash


def test_a_device_that_nobody_knows_is_refused() -> None:
    with pytest.raises(ValueError, match="needs a wheel, a known device, forced answers or a crosswise design"):
        survey(Question("x", "X?", design=kuk("1/2", "1/4"), **PHYSICAL), check="device")


@pytest.mark.parametrize("language", LANGUAGES)
def test_it_is_asked_in_every_language_with_one_right_answer(language: str) -> None:
    for question in (cheated(), cheated(mode="guided"), Question("x", "X?", design=crosswise("1/4"), **PHYSICAL)):
        asked = tries(question, language)
        assert len(asked) == 2
        assert len({text for text, _, _ in asked}) == 2
        for text, labels, right in asked:
            assert "{" not in text
            assert len(set(labels)) == 3
            assert right in labels[:2]
    made = Survey(
        {language: "T"}, [localized_question(cheated(), language)], consent={language: "C"}, languages=[language]
    )
    other = Survey.from_dict({**made.to_dict(), "check": "device"})
    assert phrases(language)["stored_check"] in made.consent_text()
    assert phrases(language)["stored_tries"] in other.consent_text()
    assert page_words_by_language([language])[language]["review_tries"] in page_words(other)[language]["review_note"]


def test_each_try_has_three_answers() -> None:
    """Every design has three answers, so that a random answer is right equally often."""
    slips, cards = forced_options(list("abcd"), ["1/10"] * 4), kuk("1/2", "1/4", draws=2)
    for design, codes in ((slips, [("answer 1", "answer 2")] * 2), (cards, [("0", "2"), ("0", "1")])):
        made = survey(Question("x", "X?", design=design, mode="physical"), check="device", ceiling=9)
        phone = device_tries(made.questions, page_words(made))
        sheet = [([*one.labels.values()], right) for one, right in sheet_tries(made)]
        assert [one.options for one, _ in sheet_tries(made)] == [(*pair, "answer 3") for pair in codes]
        for labels, right in [*((labels, right) for _, labels, right in phone), *sheet]:
            assert len({one["en"] for one in labels}) == 3
            assert labels[-1]["en"] == "Nothing"
            assert right < 2


def test_a_phone_without_a_wheel_says_what_the_device_asks_for() -> None:
    """Answers by slips: the rule stands before the case, because nobody has used the device yet."""
    (text, labels, right), _ = tries(Question("x", "X?", design=kuk("7/10", "2/10"), mode="physical"))
    assert text.startswith("If your answer is “No”, then on 1 to 8 choose “0”.")
    assert text.endswith("1 comes out, and your real answer is “No”. What do you choose?")
    assert (labels, right) == (["0", "1", "Nothing"], "0")


@pytest.mark.parametrize("design", [warner("3/4"), warner("2/3"), unrelated("2/3", "1/4"), mangat("2/3")])
def test_the_first_try_is_a_case_in_which_the_report_is_forced(design: Any) -> None:
    """The device does not ask for the real answer in the first case."""
    text, _, right = tries(cheated(design=design, mode="physical"))[0]
    other = {"Yes": "No", "No": "Yes"}[right]
    assert f"and your real answer is “{other}”. What do you choose?" in text


def test_a_sheet_asks_about_the_weakest_device_that_it_has() -> None:
    far = Question("far", "F?", design=forced("0.301", "0.2"))  # which cannot be drawn by hand
    made = survey(far, cheated(design=warner("3/4")), check="device")
    assert ["two coins" in one.text["en"] for one, _ in sheet_tries(made)] == [True, True]
    assert sheet_tries(survey(far, check="device")) == sheet_tries(survey(far)) == []


def test_labels_that_run_from_right_to_left_begin_at_the_right() -> None:
    """Browsers use the first letter that has a direction; the wheel's is Latin."""
    for _, labels, right in tries(cheated(), "ar"):
        assert all(unicodedata.bidirectional(label[0]) in ("R", "AL") for label in [*labels, right])


def test_a_quoted_label_begins_at_the_right_as_the_label_itself_does() -> None:
    text = {"ar": "هل غششت؟"}
    made = Survey(
        text, [Question("cheated", text, design=warner("3/4"))], consent=text, languages=["ar"], check="device"
    )
    item = next(one for one in page_content(made)["intro"] if one["name"] == "understood")
    for one, label in zip(item["tries"], ("B – نعم", "A – لا"), strict=True):
        assert f"«\u2067{label}\u2069»" in one["wrong"]["ar"]


def test_what_chance_gives_is_counted_out() -> None:
    """All pairs of random taps are tried: right at the first attempt, or at the second."""
    pairs = list(itertools.product(range(3), repeat=2))
    once = Fraction(sum(first == 0 for first, _ in pairs), len(pairs))
    either = Fraction(sum(0 in pair for pair in pairs), len(pairs))
    assert guess_probabilities(3) == (once, either) == (Fraction(1, 3), Fraction(5, 9))


@pytest.mark.parametrize(("check", "good"), [(True, [True, False]), (False, [None]), ("device", [0, 1, 2])])
def test_only_what_a_phone_may_send_about_it_is_taken(check: Any, good: list[Any]) -> None:
    made = survey(cheated(), check=check)
    for value in (True, False, None, 0, 1, 2, 3, -1, 1.5, "1"):
        raw = sent(payload(made, answers={"cheated": 1}, understood=value))
        if any(type(value) is type(one) and value == one for one in good):
            assert parse_submission(made, raw)
        else:
            with pytest.raises(PayloadError, match="`understood` must be"):
                parse_submission(made, raw)


def test_results_say_who_passed_the_check_at_which_try() -> None:
    """The sentences also state how many people would pass by chance."""
    frame = pd.DataFrame({"cheated": ["yes", "no"] * 50, "understood": [1] * 60 + [2] * 15 + [0] * 25})
    found = estimate(survey(cheated(), check="device"), frame)
    assert found.notes()[0] == (
        "75 of 100 (75 %) passed the comprehension check, 60 % at the first try; chance alone would give 56 %, 33 % at "
        "the first."
    )
    assert found.understood == (60, 15, 100)
    by = estimate(survey(cheated(), check="device", minimum=1), frame, "understood").summary()
    assert list(by["understood"]) == ["did not pass", "passed", "passed at the second try"]


def test_two_questions_to_practise_with_are_two_and_neither_is_sent() -> None:
    shown = page_content(survey(cheated(), practice=2))
    assert [item["name"] for item in shown["intro"]] == ["practice", "practice2", "understood"]
    assert shown["intro"][0]["text"] != shown["intro"][1]["text"]
    assert survey(cheated(), practice=2).loss == survey(cheated()).loss
    with pytest.raises(ValueError, match="or 2 or 3 practice"):
        survey(cheated(), practice=9)
