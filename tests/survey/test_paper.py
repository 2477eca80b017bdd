import pytest

from tests.survey.samples import cheated, faculty, survey
from toolkit import Question, Survey, crosswise, forced, warner
from toolkit.local import numeric
from toolkit.survey.paper import paper


def test_a_die_in_the_respondents_hand_realises_the_design_exactly():
    form = paper(survey(faculty(), cheated(design=forced(yes="1/6", no="1/6"))))
    assert "Use a die." in form
    assert "1: say &quot;no&quot;. 2: say &quot;yes&quot;. 3–6: answer truthfully." in form
    assert form.count("<li>") == 4


def test_own_instructions_come_before_a_device_and_reports_are_what_is_ticked():
    question = Question(
        "paid", "Paid?", design=crosswise("1/4"), mode="physical", instructions="Think of a birthday."
    )
    form = paper(survey(question))
    assert "Think of a birthday." in form
    assert "<li>Different</li><li>The same</li>" in form or "<li>Different</li><li>Same</li>" in form


def test_texts_of_a_survey_are_text():
    form = paper(Survey("<b>x</b>", [faculty(), cheated()], consent="<script>alert(1)</script>"))
    assert "<script>" not in form
    assert "<b>x</b>" not in form


def test_what_no_hand_can_draw_is_refused():
    hours = Question("hours", "Hours?", design=numeric.one_bit((0, 80), 1.0))
    with pytest.raises(ValueError, match="a design that is a matrix, got hours"):
        paper(survey(hours))
    with pytest.raises(ValueError, match="that a device realises exactly, got cheated"):
        paper(survey(cheated(design=warner(epsilon=1))))


def test_the_language_must_be_one_of_the_survey():
    with pytest.raises(ValueError, match="language"):
        paper(survey(), "de")
