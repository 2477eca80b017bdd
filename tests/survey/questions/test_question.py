import dataclasses
import math
import re
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.survey.samples import DESIGNS, cheated, faculty
from toolkit import Design, Pure, crosswise, k_ary, unrelated, warner
from toolkit.local import born
from toolkit.local.numeric import one_bit
from toolkit.local.oracles import tick_boxes, unary
from toolkit.local.questionnaire import likert
from toolkit.local.waves import Memo
from toolkit.survey.consent.page_data import shown_question
from toolkit.survey.questions.errors import SurveyError
from toolkit.survey.questions.question import Question, accepts, localized_question, loss_over_waves, read_questions
from toolkit.texts.phrases import phrases

AGE = Question("age", "How old are you?", bounds=(18, "99.5"))
TICKS = Question("langs", "Which do you speak?", options=["en", "de", "fr"], multiple=True)
TEXT = Question("comment", "Anything else?", free_text=True)
STRANGE = [None, True, False, "", "0", 0.5, -1, 99, math.nan, math.inf, -math.inf, 10**400]
STRANGE += [[], [0], [[0]], {}, {"a": 1}]


@pytest.mark.parametrize("name", ["unrelated", "mine"])
def test_a_birthday_replaces_no_device_of_an_unrelated_question_whatever_its_name(name: str) -> None:
    """A device still selects the question, but no simple device has the odds of these months."""
    given_design = unrelated("1/2", prevalence=born("jan-apr"))
    weights, denominator = given_design.weights, given_design.denominator
    design = Design(weights, denominator, given_design.options, name=name, procedure="unrelated")
    with pytest.raises(SurveyError, match="needs `instructions`"):
        Question("q", "Q?", design=design, mode="physical", innocent={"born": "jan-apr"})


def test_kinds_follow_from_the_design_or_from_what_is_given() -> None:
    kinds = {question.name: (question.kind, question.mode) for question in (faculty(), AGE, TICKS, TEXT, cheated())}
    assert kinds == {
        "faculty": ("choice", "plain"),
        "age": ("number", "plain"),
        "langs": ("ticks", "plain"),
        "comment": ("text", "plain"),
        "cheated": ("choice", "auto"),
    }
    assert Question("boxes", "Which?", design=tick_boxes(["a", "b"], 1.0)).kind == "ticks"
    assert Question("hours", "How many?", design=one_bit((0, 80), 1.0)).kind == "number"


@pytest.mark.parametrize("design", DESIGNS.values(), ids=DESIGNS)
def test_a_randomized_question_has_options_bounds_and_loss_of_its_design(design: Any) -> None:
    question = Question("asked", "What?", design=design)
    assert question.kind == design.answer_kind
    assert question.options == getattr(design, "options", ())
    assert question.bounds == ((design.low, design.high) if design.answer_kind == "number" else None)
    assert question.loss == design.loss
    assert question.randomized
    assert [accepts(question, value) for value in STRANGE] == [design._accepts(value) for value in STRANGE]


def accepted(question: Question, values: list[Any]) -> list[Any]:
    return [value for value in values if accepts(question, value)]


def test_plain_answers_are_checked_strictly() -> None:
    assert accepted(faculty(), [0, 1, *STRANGE]) == [0, 1]
    assert accepted(TICKS, [[], [0], [0, 2], [2, 0], [0, 0], [3], [True], 0, None, "0", [0.0]]) == [[], [0], [0, 2]]
    ages = [18, 99, 99.5, 17.999, 99.6, "20", True, None, math.nan, math.inf, [20], 10**400]
    assert accepted(AGE, ages) == [18, 99, 99.5]
    assert accepted(TEXT, ["", "Hello\n\tyou", "😀" * 2000]) == ["", "Hello\n\tyou", "😀" * 2000]
    assert not accepted(TEXT, ["x" * 2001, "\x00", "\r", "\x7f", "\ud800", None, 3, True, ["x"]])


def test_a_bound_that_a_float_cannot_hold_is_read_as_it_was_written() -> None:
    share = Question("share", "Which share?", bounds=(0, 0.1))
    assert share.bounds == (0, Fraction(1, 10))
    assert accepts(share, 0.1)
    assert not accepts(share, math.nextafter(0.1, 1))


@pytest.mark.slow
@given(st.floats() | st.integers())
def test_numbers_are_accepted_between_the_bounds_and_nowhere_else(value: float) -> None:
    assert accepts(AGE, value) == (18 <= value <= 99.5)


REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "nothing asked for": ({}, "exactly one of `options`, `bounds` and `free_text`, got none"),
    "two things": ({"options": ["a", "b"], "bounds": (0, 1)}, "got options and bounds"),
    "an empty list": ({"options": []}, "at least two labels"),
    "one option": ({"options": ["a"]}, "at least two labels"),
    "equal options": ({"options": ["1", 1]}, "must be distinct"),
    "options as a string": ({"options": "ab"}, "must be a list of labels"),
    "an option with a control character": ({"options": ["a", "b\x00"]}, "plain text"),
    "a long option": ({"options": ["a", "b" * 101]}, "at most 100 characters"),
    "a long label": ({"options": ["a", "b"], "labels": {"a": "A" * 301}}, "at most 300 characters"),
    "other options than the eight": (
        {"design": k_ary(8, epsilon=1.0), "options": [*range(9)]},
        r"\(0, 1, 2, 3, 4, 5, 6, 7\), got 0, 1, 2, 3, 4, 5, 6, 7, …: ",
    ),
    "too many options": ({"options": [*range(1001)]}, "at most 1000 options"),
    "a design with too many": ({"design": unary(1001, 1.0)}, "at most 1000 options, got 1001"),
    "bounds in the wrong order": ({"bounds": (1, 0)}, "must be below the upper"),
    "one bound": ({"bounds": (1,)}, "must be two finite numbers"),
    "infinite bounds": ({"bounds": (0, math.inf)}, "finite"),
    "multiple numbers": ({"bounds": (0, 1), "multiple": True}, "`multiple` needs `options`"),
    "a plain question in a mode": ({"options": ["a", "b"], "mode": "guided"}, "mode"),
    "instructions for a plain question": ({"options": ["a", "b"], "instructions": "Roll."}, "for randomized questions"),
    "a label for no option": ({"options": ["a", "b"], "labels": {"c": "C"}}, r"must name options \(a, b\), got 'c'"),
    "labels as a list": ({"options": ["a", "b"], "labels": ["A", "B"]}, "must be a mapping from option to label"),
    "an anchor that is no option": ({"options": ["a", "b"], "anchor": "c"}, "must be one of the options"),
    "an anchor among ticks": ({"options": ["a", "b"], "multiple": True, "anchor": "a"}, "a single-choice question"),
    "an anchor of a number": ({"bounds": (0, 9), "anchor": 3}, "a single-choice question"),
    "an anchor that is a truth value": ({"options": [1, 2], "anchor": True}, "must be one of the options"),
    "show_if as a string": ({"free_text": True, "show_if": {"faculty": "law"}}, "a list of options"),
    "an empty show_if": ({"free_text": True, "show_if": {}}, "`show_if` must be a mapping from question to options"),
    "a page of a design": (
        {"design": warner(p="2/3"), "page": "you"},
        "`page` must be left out of a randomized question, which has a page to itself, got a page: its odds",
    ),
    "a page without a name": ({"free_text": True, "page": ""}, "`page` must not be empty"),
    "a page by number": ({"free_text": True, "page": 1}, "`page` must be a string, got int"),
    "required as a word": ({"free_text": True, "required": "no"}, "true or false"),
    "a design that is none": ({"design": "warner"}, "must be a randomizer"),
    "other options than the design's": (
        {"design": warner(p="2/3"), "options": ["no", "yes", "prefer not to say"]},
        "options of its design",
    ),
    "other bounds than the design's": ({"design": one_bit((0, 80), 1.0), "bounds": (0, 90)}, "bounds of its design"),
    "randomized free text": ({"design": warner(p="2/3"), "free_text": True}, "for plain questions"),
    "guided without a matrix": ({"design": one_bit((0, 80), 1.0), "mode": "guided"}, 'must be "auto" with one_bit'),
    "physical without a matrix": (
        {"design": tick_boxes(4, 1.0), "mode": "physical", "instructions": "Roll."},
        'must be "auto"',
    ),
    "an unknown mode": ({"design": warner(p="2/3"), "mode": "magic"}, "auto, guided, physical"),
    "physical without instructions": (
        {"design": warner(epsilon=1), "mode": "physical"},
        r"needs `instructions`, or a design that a coin, a die or slips draw, got .*the nearest device is <Device",
    ),
    "no months": (
        {"design": crosswise("1/4"), "mode": "physical", "innocent": {"born": "q1"}},
        "months must be written",
    ),
    "a third for January to April": (
        {"design": crosswise("1/3"), "mode": "physical", "innocent": {"born": "jan-apr"}},
        r"must be 120.25 of 365.25 days, got 1/3: .*born\(.jan-apr.\)",
    ),
    **{
        f"{wrong} as an innocent question": ({"free_text": True, "innocent": wrong}, "months of a birthday")
        for wrong in ("jan", {"born": 3}, {"month": "jan"}, {"born": "jan", "more": 1})
    },
    "a birthday that the phone hears": (
        {"design": crosswise("1/4"), "innocent": {"born": "jan-apr"}},
        '`innocent` needs mode "physical" and a crosswise.*got crosswise in mode .auto.',
    ),
}


def test_who_must_draw_by_hand_is_advised_of_a_device_for_hands() -> None:
    design = warner(epsilon=1)
    assert not design.devices()[0]._is_simple_to_use
    near = next(device for device in design.devices() if device._is_simple_to_use)
    with pytest.raises(ValueError, match=re.escape(f"the nearest device is {near!r}: use its design")):
        Question("q", "Q?", design=design, mode="physical")


@pytest.mark.parametrize(("given", "message"), REFUSED.values(), ids=REFUSED)
def test_what_cannot_be_asked_is_refused_by_name(given: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=rf"(?s)^question 'asked': .*{message}"):
        Question("asked", "What?", **given)


@pytest.mark.parametrize(
    "name", ["", "Cheated", "2nd", "a b", "a-b", "_a", "a" * 41, "a\n", "é", None, 3, "../x", "a.b"]
)
def test_names_are_plain(name: Any) -> None:
    with pytest.raises(ValueError, match="must be up to 40 of a–z"):
        Question(name, "What?", free_text=True)
    assert Question("a" * 40, "What?", free_text=True).name == "a" * 40


@pytest.mark.parametrize(("field", "most"), {"text": 2000, "help": 4000, "instructions": 4000, "warning": 2000}.items())
def test_every_text_is_checked(field: str, most: int) -> None:
    given = {"name": "asked", "text": "What?", "design": warner(p="2/3")}
    with pytest.raises(ValueError, match=rf"question 'asked': `{field}` must be plain text, got the character U\+0000"):
        Question(**{**given, field: "a\x00b"})
    assert Question(**{**given, field: "x" * most}).to_dict()[field] == "x" * most
    with pytest.raises(ValueError, match=rf"question 'asked': `{field}` must have at most {most} characters"):
        Question(**{**given, field: "x" * (most + 1)})


def test_there_is_room_for_what_is_not_too_long_and_not_too_many() -> None:
    longest = Question("asked", "What?", options=["a", "b" * 100], labels={"a": "A" * 300})
    assert longest.label("a", "en", {}) == "A" * 300
    assert len(Question("asked", "What?", options=[*range(1000)]).options) == 1000


def test_options_and_bounds_may_repeat_those_of_the_design() -> None:
    assert cheated(options=["no", "yes"]) == cheated()
    assert Question("hours", "How many?", design=one_bit((0, 80), 1.0), bounds=[0, 80.0]).bounds == (0, 80)


def test_plain_strings_become_the_language_that_is_said() -> None:
    question = localized_question(cheated(labels={"yes": "I have", "no": {"de": "Nein"}}, help="Think."), "en")
    assert question.text == {"en": "Have you ever cheated on an exam?"}
    assert question.help == {"en": "Think."}
    assert question.labels == {"yes": {"en": "I have"}, "no": {"de": "Nein"}}
    assert localized_question(question, "de") == question
    assert localized_question(AGE, "en").bounds == AGE.bounds
    assert question.warning is None


def test_labels_know_options_by_how_they_are_written() -> None:
    likert = localized_question(
        Question("agree", "Agree?", design=k_ary([1, 2, 3], epsilon=1.0), labels={"1": "No", 3: "Yes"}), "en"
    )
    assert [likert.label(option, "en", phrases("en")) for option in (1, 2, 3)] == ["No", "2", "Yes"]


def test_questions_are_frozen_equal_by_value_and_hashable() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        cheated().name = "other"  # type: ignore[misc]
    assert cheated() == cheated()
    assert cheated() != cheated(design=warner(p="3/4"))
    assert len({cheated(), cheated(), faculty()}) == 2
    assert repr(faculty()) == "<Question faculty: choice, plain>"


def test_plain_data_leave_out_what_follows_from_the_design() -> None:
    data = cheated(anchor="no").to_dict()
    assert data == {
        "name": "cheated",
        "text": "Have you ever cheated on an exam?",
        "design": warner(p="2/3").to_dict(),
        "mode": "auto",
        "anchor": "no",
        "required": True,
        "multiple": False,
        "free_text": False,
    }
    assert AGE.to_dict()["bounds"] == [18, "199/2"]


def test_a_memo_is_one_report_and_costs_more_in_several_waves() -> None:
    memo = Memo(warner("3/4"), warner("99/100"))
    asked = Question("cheated", "Cheated?", design=memo)
    assert (asked.design, asked.memo, asked.mode) == (memo.design, memo, "auto")
    assert asked.options == asked.report_options == ("no", "yes")
    assert loss_over_waves(asked) == asked.loss
    assert loss_over_waves(asked, 2).epsilon == memo.epsilon(2, truth="changing", memo="lost") > 2 * asked.loss.epsilon
    assert shown_question(asked, ["en"])["randomizer"] == memo._browser_data()
    assert asked.to_dict()["design"] == memo.to_dict()
    assert "memo" not in asked.to_dict()
    (read,) = read_questions([asked.to_dict()])
    assert read == asked
    assert read != Question("cheated", "Cheated?", design=memo.design)
    assert localized_question(asked, "en").memo == memo


def test_fresh_noise_adds_up_over_waves() -> None:
    """Plain answers are not counted."""
    hidden = Question("cheated", "Cheated?", design=warner("3/4"))
    assert (faculty().loss, faculty().randomized) == (Pure(0), False)
    assert loss_over_waves(hidden, 5).amount == 5 * hidden.loss.amount
    assert loss_over_waves(Question("age", "Age?", bounds=(18, 99)), 5).epsilon == 0
    assert shown_question(Question("age", "Age?", bounds=(18, 99)), ["en"])["randomizer"] is None


@pytest.mark.parametrize("mode", ["guided", "physical", "plain"])
def test_a_memo_is_drawn_by_the_phone_alone(mode: str) -> None:
    with pytest.raises(SurveyError, match=f'`mode` must be "auto" with a memo, got {mode!r}: only the phone'):
        Question("cheated", "Cheated?", design=Memo(warner("3/4"), warner("3/4")), mode=mode)


def test_the_odds_of_a_memo_must_be_those_that_are_drawn() -> None:
    fine = warner(epsilon=1.0)
    with pytest.raises(SurveyError, match=r"multiply to at most 2\*\*32, got [\d,]+ and [\d,]+: the odds"):
        Question("cheated", "Cheated?", design=Memo(fine, fine))
    assert Question("cheated", "Cheated?", design=Memo(fine, warner("3/4"))).memo is not None


def test_a_likert_scale_asks_for_one_of_its_points() -> None:
    scale = likert(5, 0.8)
    asked = Question("mood", "How are you?", design=scale, labels={1: "Bad", 5: "Good"})
    assert (asked.design, asked.options) == (scale.distribution, (1, 2, 3, 4, 5))
    assert asked == Question("mood", "How are you?", design=k_ary([1, 2, 3, 4, 5], epsilon=0.8), labels=asked.labels)
    assert Question("mood", "How are you?", design=scale.mean).bounds == (1, 5)


def test_whole_numbers_can_be_demanded() -> None:
    age = Question("age", "Age?", bounds=(18, 99), whole=True)
    assert [accepts(age, value) for value in (18, 20.0, 20.5, 17, 100, True)] == [
        True,
        True,
        False,
        False,
        False,
        False,
    ]
    assert "whole" not in Question("age", "Age?", bounds=(18, 99)).to_dict()  # as in hashes of earlier versions
    assert age.to_dict()["whole"] is True
    hidden = Question("hours", "Hours?", design=one_bit((0, 80), 1.0), whole=True)
    assert (hidden.whole, accepts(hidden, 1)) == (True, True)
    with pytest.raises(ValueError, match="`whole` needs a question for a number"):
        Question("sex", "Sex?", options=["f", "m"], whole=True)
    with pytest.raises(ValueError, match=r"must be whole numbers if answers must be whole numbers, got 0\.5 and 9"):
        Question("age", "Age?", bounds=("1/2", 9), whole=True)
