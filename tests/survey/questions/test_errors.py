"""An error or a warning about a survey contains its question and its field, whatever the text of its message."""

import pickle
import warnings

import pytest

from tests.survey.samples import MEMO, cheated, faculty, survey
from toolkit import Question, Survey, crosswise, k_ary, warner
from toolkit.survey.questions.errors import SurveyError, SurveyWarning, error_location, reject_field, run_field_check


@pytest.mark.parametrize("kind", [ValueError, TypeError, SurveyError])
def test_errors_say_where_they_happened(kind: type[Exception]) -> None:
    with (
        pytest.raises(SurveyError, match=r"^campus.toml: question 'x': no$") as caught,
        error_location("campus.toml"),
        error_location(question="x"),
    ):
        raise kind("no")
    assert caught.value.__cause__ is None
    assert (caught.value.question, caught.value.field, caught.value.reason) == ("x", None, "no")


def test_other_errors_pass() -> None:
    with pytest.raises(OSError, match=r"^disk$"), error_location("campus.toml"):
        raise OSError("disk")


def test_locations_nest_and_a_question_is_named_once() -> None:
    with (
        pytest.raises(SurveyError, match=r"^question 'x': it must be a day, got soon: so\.$") as caught,
        error_location(question="x"),
        error_location(question="x", field="protection"),
    ):
        reject_field("review", "it must be a day", "soon", "so")
    assert (caught.value.question, caught.value.field) == ("x", "protection.review")
    assert run_field_check("cap", int, "3") == 3


def test_an_error_comes_back_from_another_process() -> None:
    raised = SurveyError("question 'x': no", question="x", field="text", reason="no")
    error = pickle.loads(pickle.dumps(raised))  # noqa: S301 (our own)
    assert (str(error), error.question, error.field, error.reason) == ("question 'x': no", "x", "text", "no")


ONE = {"name": "q", "text": "Q?", "options": ["a", "b"]}
HIDDEN = {"name": "q", "text": "Q?", "design": {"warner": {"p": "3/4"}}}
IN_QUESTIONS = {
    "name": {**ONE, "name": "practice"},
    "text": {**ONE, "text": {}},
    "design.p": {**HIDDEN, "design": {"warner": {"p": 3}}},
    "options": {**ONE, "options": ["a"]},
    "options of a design": {**HIDDEN, "options": ["a", "b"]},
    "options, bounds or text": {"name": "q", "text": "Q?"},
    "labels": {**ONE, "labels": {"c": "C"}},
    "mode": {**HIDDEN, "mode": "paper"},
    "help": {**ONE, "help": ""},
    "instructions": {**ONE, "instructions": "Toss."},
    "anchor": {**ONE, "anchor": "c"},
    "show_if": {**ONE, "show_if": {"z": ["a"]}},
    "page": {**HIDDEN, "page": "you"},
    "required": {**HIDDEN, "required": False},
    "bounds": {"name": "q", "text": "Q?", "bounds": [1, 0]},
    "bounds of whole numbers": {"name": "q", "text": "Q?", "bounds": [0, 0.5], "whole": True},
    "multiple": {**HIDDEN, "multiple": True},
    "free_text": {**HIDDEN, "free_text": True},
    "whole": {**ONE, "whole": True},
    "random_order": {"name": "q", "text": "Q?", "bounds": [0, 1], "random_order": True},
    "innocent": {**HIDDEN, "innocent": {"born": "jan"}},
    "skip": {**ONE, "skip": "b"},
}


@pytest.mark.parametrize("what", IN_QUESTIONS)
def test_an_error_in_a_question_knows_the_field(what: str) -> None:
    with pytest.raises(SurveyError) as caught:
        Survey.from_dict({"title": "T", "consent": "C", "questions": [IN_QUESTIONS[what]]})
    field = what.split(",")[0].split(" ")[0]
    assert (caught.value.question, caught.value.field) == (IN_QUESTIONS[what]["name"], field)
    assert caught.value.reason in str(caught.value)
    assert not caught.value.reason.startswith("question")


IN_SURVEYS = [
    *((name, {name: 3}) for name in ("title", "consent", "controller", "debrief", "help", "words", "completion")),
    *((name, {name: "?"}) for name in ("languages", "practice", "check", "access", "cap", "closes", "ceiling", "step")),
    *((name, {name: "?"}) for name in ("minimum", "rehearsal", "waves", "wave", "panel", "arms", "household", "field")),
    ("household", {"household": True, "access": "token"}),
    ("field", {"field": {"station": "desk"}, "access": "token"}),
    ("protection.officer", {"protection": {"officer": ""}}),
    ("protection.color", {"protection": {"color": "red"}}),
    ("waves", {"waves": 2}),
    ("random_order", {"random_order": ["cheated"]}),
    ("words", {"languages": ["xx"]}),
    ("ceiling", {"ceiling": "1/10"}),
    ("title", {"title": "Nobody can see your answers"}),
    ("quota", {"quota": 3}),
    ("consent", {"languages": ["en", "de"], "title": {"en": "T", "de": "T"}}),
]


@pytest.mark.parametrize(("field", "changes"), IN_SURVEYS)
def test_an_error_in_a_survey_knows_the_field(field: str, changes: dict[str, object]) -> None:
    data = {"title": "T", "consent": "Why.", "questions": [cheated().to_dict()]}
    with pytest.raises(SurveyError) as caught:
        Survey.from_dict({**data, **changes})
    assert (caught.value.question, caught.value.field) == (None, field)


def test_an_error_between_questions_knows_the_one_to_change() -> None:
    secret = Question("secret", "Cheated?", design=k_ary(3, epsilon=1), required=False)
    text = Question("why", "Why?", free_text=True)
    for questions, where in (
        ([cheated(), cheated()], ("cheated", "name")),
        ([cheated(), text], ("why", "warning")),
        ([secret], ("secret", "required")),
        ([cheated(design=warner(p=1))], ("cheated", "design")),
        ([cheated(), faculty(show_if={"cheated": ["yes"]})], ("faculty", "show_if")),
        ([cheated(design=MEMO)], (None, "waves")),
        ([], (None, None)),
    ):
        with pytest.raises(SurveyError) as caught:
            Survey("T", questions, consent="Why.")
        assert (caught.value.question, caught.value.field) == where


def test_warnings_know_their_place() -> None:
    asked = Question(
        "cheated", "Cheated?", design=crosswise("1/4"), mode="physical", instructions="Your birthday in January?",
        help="Nobody can see your answers.",
    )  # fmt: skip
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        survey(asked, consent="Nobody can see your answers.")
    places = [(one.message.question, one.message.field) for one in caught if isinstance(one.message, SurveyWarning)]
    assert places == [(None, "consent"), ("cheated", "help"), ("cheated", None), ("cheated", "design")]


@pytest.mark.parametrize(
    ("design", "around", "field"),
    [
        ({"piecewise": {"epsilon": 1}}, {"bounds": [0, -5]}, "design.bounds"),
        ({"piecewise": {"bounds": [0, 5], "epsilon": -1}}, {}, "design.epsilon"),
        ({"warner": {"p": 2}}, {}, "design.p"),
        ({"warner": {"epsilon": -1}}, {}, "design.epsilon"),
        ({"k_ary": {"epsilon": 1}}, {"options": ["a", "a"]}, "design.options"),
        ({"likert": {"points": 1, "epsilon": 1}}, {}, "design.points"),
        ({"warner": {"p": "1/2"}}, {}, "design.p"),
        ({"forced": {"yes": "3/4", "no": "3/4"}}, {}, "design.yes"),  # both would be possible
        ({"warner": {"q": 1}}, {}, "design"),
    ],
)
def test_an_error_in_a_design_names_the_wrong_argument(design, around, field):
    question = {"name": "q", "text": "How many?", "design": design, **around}
    with pytest.raises(SurveyError) as caught:
        Survey.from_dict({"title": "T", "consent": "C", "questions": [question]})
    assert (caught.value.question, caught.value.field) == ("q", field)
