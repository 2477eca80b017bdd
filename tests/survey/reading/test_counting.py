import pytest

from tests.survey.samples import cheated, faculty, survey
from toolkit import Question
from toolkit.survey.reading.turnout import checked_groups, refuse_strange


def test_reports_are_grouped_by_plain_choices_and_by_understanding():
    assert checked_groups(survey(), ["faculty"]) == ("faculty",)
    assert checked_groups(survey(), "understood") == ("understood",)
    assert checked_groups(survey(), None) == ()


@pytest.mark.parametrize(("name", "words"), [("cheated", "which is randomized"), ("age", "which is a number")])
def test_people_cannot_be_sorted_by_what_is_hidden_or_has_no_options(name, words):
    age = Question("age", "Age?", bounds=(18, 99))
    with pytest.raises(ValueError, match=words):
        checked_groups(survey(faculty(), cheated(), age), name)


def test_understanding_is_no_group_where_it_was_not_checked():
    with pytest.raises(KeyError):
        checked_groups(survey(check=False), "understood")


def test_strange_values_are_refused_and_not_quoted():
    with pytest.raises(ValueError, match="1 kinds of value that are none") as refused:
        refuse_strange(cheated(), {"maybe, said Ann": -1, "yes": 1})
    assert "Ann" not in str(refused.value)
