"""Languages, texts and flags of a survey: valid values are accepted, and messages about invalid ones say what
to write.
"""

import contextlib
import re
from dataclasses import replace

import pytest

from tests.slowly import case
from tests.survey.samples import MEMO, cheated, faculty, panel, survey
from toolkit import Pure, Question, Survey, warner
from toolkit.local.waves import Memo
from toolkit.survey.questions.errors import SurveyError
from toolkit.survey.questions.question_fields import checked_flag
from toolkit.survey.questions.survey_fields import Panel, check_panel, question_units

ASKED = Question("stolen", "Stolen?", design=MEMO)


def test_a_flag_is_true_or_false_and_not_a_number_or_a_word():
    assert checked_flag(True, "check") is True
    for wrong in (1, 0, "yes", None):
        with pytest.raises(TypeError, match="`check` must be true or false"):
            checked_flag(wrong, "check")


def test_waves_are_whole_numbers_and_a_wave_is_one_of_them():
    made = panel(waves=4, wave=2)
    assert (made.waves, made.wave) == (4, 2)
    for waves, wave, message in (
        (0, 1, "`waves` must be at least 1"),
        (2, 0, "`wave` must be at least 1"),
        (2, 3, "`wave` must be at most `waves`, 2, got 3"),
        (25, 1, "`waves` must be at most 24, got 25"),
    ):
        with pytest.raises(SurveyError, match=message) as caught:
            panel(waves=waves, wave=wave)
        assert caught.value.field == message.split("`")[1]
    with pytest.raises(SurveyError, match="`waves` must be a whole number"):
        panel(waves=True)


def test_a_panel_is_random_and_part_of_the_hash():
    """It is not made before there is a collection."""
    first, one, other = panel(), Panel.new(Pure(1)), Panel.new(Pure(1))
    assert survey().panel is first.panel is None
    assert re.fullmatch("[0-9a-f]{32}", one.identity)
    assert one.identity != other.identity
    asked = [replace(first, panel=made) for made in (one, other, Panel(one.identity, Pure(2).amount))]
    assert len({first.hash, *(survey.hash for survey in asked)}) == 4
    assert all(Survey.from_dict(survey.to_dict()) == survey for survey in asked)
    with pytest.raises(ValueError, match="in a survey with `waves`"):
        Survey.from_dict(survey().to_dict() | {"panel": one.to_dict()})


PIXEL = "data:image/png;base64,iVBORw0KGgo="  # the first bytes of every PNG file
IT = {"identity": "ab" * 16, "loss": 3}
WAVES = {
    None: [{}, {"wave": 2}, {"title": "Again"}, {"panel": IT}, {"minimum": 9}],
    "another number of waves": [{"waves": 3}],
    "another kind, of a rehearsal and a real collection": [{"rehearsal": True}],
    "another list of questions with a memo": [{"questions": [cheated(design=MEMO), ASKED]}, {"questions": [ASKED]}],
    "another text of 'cheated'": [{"questions": [Question("cheated", "Cheated?", design=MEMO)]}],
    "another help of 'cheated'": [{"questions": [cheated(design=MEMO, help="Think.")]}],
    "other labels of 'cheated'": [{"questions": [cheated(design=MEMO, labels={"yes": "Yes, once"})]}],
    "another design of 'cheated'": [{"questions": [cheated(design=Memo(warner("3/4"), warner("4/5")))]}],
    "another image of 'cheated'": [{"questions": [cheated(design=MEMO, image={"data": PIXEL, "alt": "A card"})]}],
    "another mode or condition of 'cheated'": [
        {"questions": [faculty(), cheated(design=MEMO, show_if={"faculty": ["law"]})]}
    ],
    "another panel": [{"panel": IT | {"identity": "cd" * 16}}, {"panel": IT | {"loss": 2}}],
    "a survey without waves": [{"waves": 1, "questions": [faculty()]}],
}


@pytest.mark.parametrize("received", WAVES)
def test_surveys_are_waves_of_one_panel_or_it_is_said_what_is_not_the_same(received):
    earlier = replace(panel(), panel=Panel("ab" * 16, Pure(3).amount))
    for changes in WAVES[received]:
        with case(changes), contextlib.ExitStack() as stack:
            if received is not None:
                said = f"waves must fit, got {received}: phones"
                stack.enter_context(pytest.raises(ValueError, match=f"^{re.escape(said)}"))
            given = {"title": "Exams", "questions": panel().questions, "consent": "Why.", "waves": 2, "ceiling": 9}
            check_panel(Survey(**{**given, **changes}), earlier, "waves must fit", "phones")


STATION = {"station": "kiosk"}
ORDERED = [
    Question("a", "A?", options=["x", "y"]),
    Question("c", "C?", options=["x", "y"]),
    Question("b", "B?", options=["x", "y"], show_if={"a": ["x"]}),
]
FIELDS = {
    "household": [
        ({"household": True}, None),
        ({"household": 1}, "`household` must be true or false, got int"),
        ({"household": True, "access": "token"}, "needs open access, and one wave, got access 'token'"),
        ({"household": True, "waves": 2}, "needs open access, and one wave, got 2 waves"),
        ({"household": False, "access": "token", "waves": 2}, None),
    ],
    "check": [
        *(({"check": check}, None) for check in (True, False, "device")),
        *(({"check": check}, "`check` must be true or false") for check in (1, 0, None, "phone")),
    ],
    "completion": [
        ({"completion": "x" * 40}, None),
        ({"completion": "link", "access": "token"}, None),
        ({"completion": "x" * 41}, "completion"),
        ({"completion": "link"}, "needs access by token or blind, got open"),
    ],
    "field": [
        ({"field": STATION, "access": "token"}, None),
        ({"field": STATION | {"auto": True}, "access": "token"}, None),
        ({"field": STATION, "access": "token", "languages": ["it"]}, "in languages of the toolkit, got 'it'"),
        ({"field": "kiosk", "access": "token"}, "`field` must be a table, got str"),
        ({"field": STATION}, "needs access \"token\", and one wave, got access 'open'"),
        ({"field": STATION, "access": "token", "waves": 2}, 'needs access "token", and one wave, got 2 waves'),
        ({"field": STATION | {"auto": 1}, "access": "token"}, "`field.auto` must be true or false, got int"),
        ({"field": {"station": "car"}, "access": "token"}, "field.station"),
        ({"field": STATION | {"more": 1}, "access": "token"}, "more"),
    ],
    "arms": [
        ({"arms": {"a": 0.5, "b": 0.5}}, None),
        *(({"arms": wrong}, "must be a mapping from 2 to 8 names") for wrong in (["a", "b"], {"a": 1})),
        ({"arms": {"a" * 40: 0.5, "b": 0.5}}, None),
        ({"arms": {"a" * 41: 0.5, "b": 0.5}}, "`arms` must have at most 40 characters, got 41"),
        ({"arms": {"a": 0.5, "b": 0.4}}, "above 0 and add up to 1, got 0.9"),
        ({"arms": {"a": 1, "b": 0}}, "above 0 and add up to 1"),
        ({"arms": {"a": 1.5, "b": -0.5}}, "above 0 and add up to 1"),
    ],
    "words": [
        ({"words": {"en": {"next": "On"}}}, None),
        ({"words": {}}, None),
        ({"words": {"en": {"nothing": "On"}}}, "names in `words` must be those of en.toml"),
        ({"words": {"en": {"review_note": "We see nothing."}}}, "may reword questions and labels but no promise"),
    ],
    "panel": [
        ({"panel": {"identity": "ab" * 16, "loss": 3}, "waves": 2}, None),
        ({"panel": {"identity": "ab" * 16, "loss": "inf"}, "waves": 2}, None),
        ({"panel": {"identity": "ab" * 16, "loss": 3}}, "in a survey with `waves`"),
        ({"panel": {"identity": "ab" * 16}, "waves": 2}, "the fields identity, loss"),
        ({"panel": {"identity": "ab" * 16, "loss": 3, "more": 1}, "waves": 2}, "the fields identity, loss"),
        *(({"panel": wrong, "waves": 2}, "the fields identity, loss") for wrong in (["identity", "loss"], "ab" * 16)),
        ({"panel": {"identity": "AB" * 16, "loss": 3}, "waves": 2}, "32 hexadecimal digits"),
        ({"panel": {"identity": "ab" * 16 + "a", "loss": 3}, "waves": 2}, "32 hexadecimal digits"),
    ],
}


@pytest.mark.parametrize("name", FIELDS)
def test_a_field_is_taken_or_refused_with_its_reason(name):
    for given, refused in FIELDS[name]:
        with case(given):
            if refused is None:
                made = (panel if "waves" in given else survey)(**given)
                assert Survey.from_dict(made.to_dict()) == made
            else:
                with pytest.raises((ValueError, TypeError), match=re.escape(refused)):
                    survey(**given)


def test_questions_that_depend_on_one_another_move_together():
    """The question that draws the arm keeps its position; without random order all questions do."""
    last = Question("d", "D?", options=["x", "y"], show_if={"arm": ["one"]})
    asked = survey(*ORDERED, last, arms={"one": 0.5, "two": 0.5}).questions
    assert question_units(asked, random_order=False) == ([[0], [1], [2], [3], [4]], [])
    assert question_units(asked, random_order=True) == ([[0], [1, 3], [2], [4]], [1, 2, 3])
    assert question_units(asked, ["d", "c"]) == ([[0], [1], [2], [3], [4]], [2, 4])
    both = Question("e", "E?", options=["x", "y"], show_if={"a": ["x"], "c": ["y"]})
    assert question_units([*ORDERED, both, last], ["a", "d"]) == ([[0, 1, 2, 3], [4]], [0, 1])


def test_questions_on_one_page_move_together_with_those_that_they_depend_on():
    alone = Question("d", "D?", options=["x", "y"])
    paged = [Question(name, f"{name}?", bounds=(0, 1), page="p") for name in "ef"]
    after = Question("g", "G?", bounds=(0, 1), page="p", show_if={"a": ["x"]})
    assert question_units([alone, *paged], random_order=True) == ([[0], [1, 2]], [0, 1])
    told = Question("h", "{answer:c}?", options=["x", "y"])
    assert question_units([*ORDERED, told], random_order=True) == ([[0, 2], [1, 3]], [0, 1])
    units = [[0, 2, 4, 5, 6], [1], [3]]
    assert question_units([*ORDERED, alone, *paged, after], random_order=True) == (units, [0, 1, 2])
    assert question_units([*ORDERED, alone, *paged], ["c", "d"]) == ([[0], [1], [2], [3], [4], [5]], [1, 3])


ORDERS = [
    *((order, None) for order in (True, False, ["a", "c"], ("a", "c"))),
    *((wrong, "must be true or false, or a list") for wrong in ("a", 1, None)),
    (["a"], "two or more questions, each once, got 1"),
    (["a", "a"], "each once, got repeated names"),
    (["a", "b"], "got 'b', which follows another: .* name that one"),
    (["a", "z"], "got 'z', which is not a question"),
    (["a", 1], "`random_order` must be a string, got int"),
]


@pytest.mark.parametrize(("order", "said"), ORDERS)
def test_a_random_order_is_of_all_questions_or_of_named_ones_that_lead(order, said):
    if said is None:
        made = survey(*ORDERED, random_order=order)
        assert Survey.from_dict(made.to_dict()) == made
    else:
        with pytest.raises(SurveyError, match=said) as caught:
            survey(*ORDERED, random_order=order)
        assert caught.value.field == "random_order"
