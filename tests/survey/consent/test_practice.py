"""What is practised is true of what follows: see also tests/survey/test_spec.py for whole surveys."""

from tests.survey.samples import cheated, faculty
from toolkit import k_ary, warner
from toolkit.survey.consent.page_data import practice_question, tried, unsure
from toolkit.survey.question import Question


def test_practice_is_as_weak_as_the_weakest_question() -> None:
    many = Question("x", "X?", design=k_ary(5, epsilon=2.0))
    made = practice_question([cheated(), many], ["en"])
    assert made.design == warner(epsilon=many.loss.epsilon)
    assert practice_question([cheated(), faculty()], ["en"]).design == cheated().design


def test_there_is_none_where_nobody_could_stay_unsure() -> None:
    assert unsure(tried([cheated(), faculty()]))
    assert not unsure(tried([faculty()]))
    assert not unsure([cheated(design=warner(epsilon=3.1))])
