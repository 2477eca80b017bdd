"""The data of a question that the browser receives, in the form that the page expects."""

import json
import math
from typing import Any

import pytest

from tests.survey.samples import DESIGNS, cheated, faculty, panel, survey
from toolkit import crosswise
from toolkit.local.numeric import additive, hybrid, local_laplace, multiplicative, one_bit, piecewise, square_wave
from toolkit.survey.consent import page_data
from toolkit.survey.consent.page_data import minutes, page_words, shown_question
from toolkit.survey.questions.question import Question
from toolkit.survey.spec import Survey
from toolkit.texts.phrases import page_words_by_language, phrases

FIELDS = [
    *("name", "kind", "mode", "text", "help", "options", "reports", "randomizer", "odds", "deniable"),
    *("instructions", "show_if", "required", "bounds", "warning", "scale"),
]


@pytest.mark.parametrize("design", DESIGNS.values(), ids=DESIGNS)
def test_every_design_has_the_same_fields_and_is_plain_json(design: Any) -> None:
    page = shown_question(Question("asked", "What?", design=design), ["en"])
    assert list(page) == FIELDS
    assert json.loads(json.dumps(page, allow_nan=False)) == page
    assert page["randomizer"] == design._browser_data()
    assert [option["value"] for option in page["options"]] == list(getattr(design, "options", ()))
    assert [report["value"] for report in page["reports"]] == list(getattr(design, "report_options", ()))
    assert page["deniable"] == (design.epsilon <= 3)
    assert len(page["odds"]["en"]) >= 2


def test_a_plain_question_has_no_randomizer_and_no_odds() -> None:
    page = shown_question(faculty(required=False, help="Where you are enrolled."), ["en"])
    assert (page["mode"], page["randomizer"], page["odds"], page["deniable"], page["reports"]) == (
        "plain",
        None,
        None,
        None,
        [],
    )
    assert page["options"][0] == {"value": "arts", "label": {"en": "arts"}}
    assert (page["required"], page["help"], page["warning"]) == (False, {"en": "Where you are enrolled."}, None)


def test_reports_have_labels_of_their_own_in_every_language() -> None:
    instructions = {"en": "Two questions.", "de": "Zwei Fragen."}
    question = Question(
        "paid",
        {"en": "Paid?", "de": "Bezahlt?", "fr": "Payé ?"},
        design=crosswise("1/4"),
        mode="physical",
        instructions=instructions,
        labels={"same": {"en": "The same", "de": "Gleich"}},
    )
    page = shown_question(question, ["de", "en"])
    assert page["text"] == {"de": "Bezahlt?", "en": "Paid?"}
    assert page["options"] == [
        {"value": "no", "label": {"de": "Nein", "en": "No"}},
        {"value": "yes", "label": {"de": "Ja", "en": "Yes"}},
    ]
    assert page["reports"] == [
        {"value": "different", "label": {"de": "Verschieden", "en": "Different"}},
        {"value": "same", "label": {"de": "Gleich", "en": "The same"}},
    ]
    assert page["instructions"] == {"de": "Zwei Fragen.", "en": "Two questions."}


@pytest.mark.parametrize(
    ("design", "answer", "shown", "decimals"),
    [
        (local_laplace((0, 900), 1.0), 500, "500", 0),  # no noise at all
        (local_laplace((0, "0.5"), 1.0), "0.25", "0.25", 3),
        (piecewise((0, 1000), 1.0), 500, "500", 0),  # the middle of its window
        (hybrid((0, 80), 2.0), 40, "40", 1),
        (square_wave((0, 20), 1.0, points=21), 12, "12", 1),
        (additive((0, 20), {-3: "1/4", 0: "1/2", 3: "1/4"}), 12, "9", 12),  # the first card
        (multiplicative((1, 31), {"1/2": "1/2", "3/2": "1/2"}), 7, "3.5", 12),
    ],
    ids=lambda one: getattr(one, "name", None),
)
def test_a_report_of_a_number_is_read_on_the_scale_that_was_asked_for(design, answer, shown, decimals) -> None:
    """Reports are whole steps of a grid: the report at the position of the answer is shown as this answer, to about
    three digits of the range; reports from a deck are exact.
    """
    scale = shown_question(Question("q", "How many?", design=design), ["en"])["scale"]
    index = design._grid.nearest_indices(answer)[0][0] if hasattr(design, "_grid") else answer - int(design.low)
    if design.name == "local_laplace":
        report = int(index)
    elif hasattr(design, "width"):
        report = int(index) + design.width // 2 + (2 if scale["bits"] else 0)
    else:
        starts, slopes = design.report_lines
        report = int(starts[0] + index * slopes[0])
    assert scale["decimals"] == decimals
    assert abs(scale["zero"] + scale["step"] * report - float(shown)) <= 10.0**-decimals


def test_a_yes_or_no_that_was_made_of_a_number_is_no_number() -> None:
    asked = {name: Question("q", "How many?", design=DESIGNS[name]) for name in ("one_bit", "hybrid")}
    assert all(shown_question(question, ["en"])["scale"]["bits"] for question in asked.values())
    assert not shown_question(Question("q", "?", design=DESIGNS["piecewise"]), ["en"])["scale"]["bits"]


def test_bounds_are_numbers() -> None:
    assert shown_question(Question("hours", "How many?", design=one_bit((0, 80), 1.0)), ["en"])["bounds"] == [0, 80]
    assert shown_question(Question("share", "Which?", bounds=("1/4", 0.5)), ["en"])["bounds"] == [0.25, 0.5]


def test_numbers_that_a_browser_would_round_are_refused() -> None:
    """They are rejected when the question is made."""
    with pytest.raises(ValueError, match=r"question 'hours': `bounds` must have fewer digits"):
        Question("hours", "How many?", design=local_laplace((0, "1/9007199254740993"), 1.0))


PHYSICAL = {"mode": "physical", "instructions": "Throw a die."}
STAYS = "stay on this phone"


def review(*questions: Question, check: bool = True, access: str = "open") -> str:
    return page_words(survey(*questions, check=check, access=access))["en"]["review_note"]


def test_a_plain_survey_is_not_told_that_answers_stay_on_the_phone() -> None:
    assert STAYS not in review(faculty(), check=False)
    assert "sent as you gave them" in review(faculty(), check=False)


def test_each_way_to_answer_has_its_own_sentence() -> None:
    assert STAYS in review(cheated())
    assert STAYS not in review(cheated(**PHYSICAL)) + review(cheated(mode="guided"))
    assert "only what you tapped is sent" in review(cheated(mode="guided"))
    assert "sent as you gave them" not in review(cheated())


@pytest.mark.parametrize(("access", "words"), [("token", "code of your personal link"), ("blind", "anonymous ticket")])
def test_all_that_goes_with_the_answers_is_listed(access: str, words: str) -> None:
    assert words in review(cheated(), access=access)
    assert words not in review(cheated())
    assert "with a random number and the hash of this survey" in review(cheated())
    assert "question about the method" in review(cheated())
    assert "question about the method" not in review(cheated(), check=False)


def test_the_minutes_count_every_word_that_is_not_folded_and_every_tap(monkeypatch) -> None:
    def entry(mode: str, odds: str | None, **texts: str) -> dict[str, Any]:
        told = {name: {"en": texts[name]} if name in texts else None for name in ("help", "instructions", "warning")}
        options = [{"label": {"en": "yes"}}, {"label": {"en": "rather not"}}]
        said = {"en": odds.split("|")} if odds else None
        return {"name": odds, "text": {"en": "Did you?"}, "options": options, "mode": mode, "odds": said, **told}

    consent = [{"title": "Who asks", "open": ["We ask.", "Again."], "more": ["this is folded"]}]
    asked = [
        entry("plain", None, help="one"),  # 30 words of the page, 5 of the question, 1 of help
        entry("guided", "a b|c", instructions="one two", warning="three"),  # 30 + 5 + 3 of odds + 3
        *(entry("auto", "a b|c"), entry("auto", "d"), entry("auto", "d"), entry("auto", "d")),  # d is shown twice
    ]
    page = {"consent": {"en": consent}, "practice": [entry("plain", None)], "questions": asked, "check": None}
    weights = {"weights": [1]}  # a question that the page shows only for review
    read = 5 + (35 + 1) + (35 + 3 + 3) + (35 + 30) + (35 + 1 + 30) + (35 + 30) + 35 + 35 + 12 * 6 + 60
    # 200 words per minute, 4 seconds for each of 9 taps
    assert minutes(page, "en") == math.ceil(read / 200 + 4 * 9 / 60)
    monkeypatch.setattr(page_data, "_SECONDS_PER_WORD", 60)
    monkeypatch.setattr(page_data, "_SECONDS_PER_QUESTION", 0)
    assert minutes(page, "en") == read
    assert minutes(page | {"check": {}}, "en") == read
    assert minutes(page | {"random_order": ["d"]}, "en") == read + 2, "odds are never folded in random order"
    assert minutes(page | {"check": {"x": 1}}, "en") == read + 60
    assert minutes(page | {"questions": [*asked, weights]}, "en") == read + 12
    monkeypatch.setattr(page_data, "_SECONDS_PER_WORD", 0)
    monkeypatch.setattr(page_data, "_SECONDS_PER_QUESTION", 60)
    assert [minutes(page | {"check": check}, "en") for check in (None, {"x": 1})] == [9, 10]
    monkeypatch.setattr(page_data, "_SECONDS_PER_QUESTION", 60 * 0.1)
    assert minutes(page, "en") == 1


def test_the_end_of_the_page_says_what_is_so_of_this_access() -> None:
    def ends(made: Survey) -> tuple[str, str]:
        words = page_words(made)["en"]
        return words["end_403"], words["end_already"]

    words = page_words_by_language(["en"])["en"]
    usual, later = (words["end_403"], words["end_already"]), phrases("en")["already_waves"]
    assert ends(survey()) == ends(survey(access="token")) == usual
    assert ends(survey(access="blind")) == (words["used_blind"], usual[1])
    assert ends(survey(household=True)) == (usual[0], words["already_household"])
    assert ends(panel()) == (usual[0], later)
    assert len({*usual, words["used_blind"], words["already_household"], later}) == 5
