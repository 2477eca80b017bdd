import pandas as pd
import pytest

from tests.frames.test_counts import ENGINES
from tests.survey.samples import cheated, faculty, survey
from toolkit import Question
from toolkit.survey.results import SurveyEstimate, estimate
from toolkit.survey.results.table import GroupedRows, checked_groups, nonresponse_counts, reject_invalid_values

ROWS = {
    "faculty": ["arts", "law", "arts", None, "law", "law"],
    "cheated": ["yes", "no", "yes", "no", None, "no"],
    "paid": [None, "yes", None, None, "no", None],
}
PAID = Question("paid", "Paid for it?", options=["no", "yes"], show_if={"faculty": ["law"]}, required=False)
ASKED = survey(faculty(), cheated(), PAID, check=False)


@pytest.mark.parametrize("engine", ENGINES)
def test_every_engine_counts_people_by_group_and_those_without_one(engine):
    rows = GroupedRows(ASKED, ENGINES[engine](ROWS), ("faculty",))
    assert rows.count_people() == {("arts",): 2, ("law",): 3}
    assert estimate(ASKED, ENGINES[engine](ROWS), by="faculty", minimum=0).ungrouped == 1
    assert rows.count_eligible(cheated()) == {("arts",): 2, ("law",): 3}
    assert rows.count_eligible(PAID) == {("law",): 3}
    everybody = GroupedRows(ASKED, ENGINES[engine](ROWS), ())
    assert (everybody.count_people(), everybody.count_eligible(PAID)) == ({(): 6}, {(): 3})


@pytest.mark.parametrize(
    ("question", "answered", "asked", "refused", "missing", "not_asked"),
    [(PAID, 2, 3, 1, 0, 3), (cheated(), 5, 6, 0, 1, 0), (faculty(), 5, 6, 0, 1, 0), (PAID, 4, 3, 0, 0, 2)],
    ids=["empty where it may be left out", "empty where not", "nor there", "answered without being asked"],
)
def test_all_people_are_counted_once_and_never_below_none(question, answered, asked, refused, missing, not_asked):
    people = nonresponse_counts(question, answered, asked, n_people=6)
    assert people == {"n_refused": refused, "n_not_asked": not_asked}
    one = SurveyEstimate(
        question.name, (), cheated().design.estimate_counts([1, 1]), 6, 6 - answered, lie_shift=None, **people
    )
    assert (one.n_unanswered, sum(one.counts.values())) == (missing, 6)


def test_numeric_options_decide_whatever_the_column_type():
    """A condition on a question with numbers as options works with every type of its column."""
    year = Question("year", "Year?", options=[1, 2])
    thesis = Question("thesis", "Thesis?", options=["no", "yes"], show_if={"year": [2]})
    asked = survey(year, thesis, cheated(), check=False)
    for column in ([1.0, 2.0, None], ["1", "2", None], [1, 2, None]):
        assert GroupedRows(asked, pd.DataFrame({"year": column}), ()).count_eligible(thesis) == {(): 1}


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
    with pytest.raises(ValueError, match="1 different values that are not") as refused:
        reject_invalid_values(cheated(), {"maybe, said Ann": -1, "yes": 1})
    assert "Ann" not in str(refused.value)
