import pandas as pd
import pytest

from tests.frames.test_counts import ENGINES
from tests.survey.samples import cheated, faculty, survey
from toolkit import Question
from toolkit.survey.reading.turnout import Rows, Turnout, turnout, turnout_notes

ROWS = {
    "faculty": ["arts", "law", "arts", None, "law", "law"],
    "cheated": ["yes", "no", "yes", "no", None, "no"],
    "paid": [None, "yes", None, None, "no", None],
}
PAID = Question("paid", "Paid for it?", options=["no", "yes"], show_if={"faculty": ["law"]}, required=False)
ASKED = survey(faculty(), cheated(), PAID, check=False)


@pytest.mark.parametrize("engine", ENGINES)
def test_every_engine_counts_people_by_group_and_those_without_one(engine):
    rows = Rows(ASKED, ENGINES[engine](ROWS), ("faculty",))
    assert rows.people() == {("arts",): 2, ("law",): 3}
    assert rows.groupless() == 1
    assert rows.asked(cheated()) == {("arts",): 2, ("law",): 3}
    assert rows.asked(PAID) == {("law",): 3}
    everybody = Rows(ASKED, ENGINES[engine](ROWS), ())
    assert (everybody.people(), everybody.groupless(), everybody.asked(PAID)) == ({(): 6}, 0, {(): 3})


def test_what_is_empty_is_refused_where_it_may_be_left_out_and_missing_where_not():
    assert turnout(PAID, (), answered=2, asked=3, people=6) == Turnout("paid", (), 2, refused=1, missing=0, not_asked=3)
    assert turnout(cheated(), (), answered=5, asked=6, people=6) == Turnout(
        "cheated", (), 5, refused=0, missing=1, not_asked=0
    )


def test_people_who_answered_without_being_asked_do_not_make_negative_counts():
    assert turnout(PAID, (), answered=4, asked=3, people=6) == Turnout("paid", (), 4, refused=0, missing=0, not_asked=2)


def test_a_question_with_numbers_as_options_decides_in_whatever_type_its_column_comes():
    year = Question("year", "Year?", options=[1, 2])
    thesis = Question("thesis", "Thesis?", options=["no", "yes"], show_if={"year": [2]})
    asked = survey(year, thesis, cheated(), check=False)
    for column in ([1.0, 2.0, None], ["1", "2", None], [1, 2, None]):
        assert Rows(asked, pd.DataFrame({"year": column}), ()).asked(thesis) == {(): 1}


def test_notes_count_over_all_groups_and_say_nothing_where_nothing_is_empty():
    found = [Turnout("a", ("x",), 5, 1, 0, 0), Turnout("a", ("y",), 1000, 0, 2, 0), Turnout("b", ("x",), 5, 0, 0, 3)]
    assert turnout_notes(found, ("faculty", "year"), 0) == ["a: 1,005 answered, 1 refused, 2 missing."]
    (_, last) = turnout_notes(found, ("faculty", "year"), 1)
    assert last == "1 person has no group, as the answer to faculty or year is missing: no estimate here counts them."
