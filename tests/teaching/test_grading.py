"""Points: one for each right part and none for a missing answer; the key gets all points."""

import pytest

from tests.teaching.key import KEY, right
from toolkit.teaching import check, grade
from toolkit.teaching.checking import left_to_do


@pytest.mark.parametrize("of", ["P.", "03.", "14."])
def test_the_key_earns_every_point_and_nothing_earns_none(of):
    names = [name for name in KEY if name.startswith(of)]
    marks = grade({name: right(name) for name in names}, of)
    assert [(mark.exercise, mark.points) for mark in marks] == [(name, len(KEY[name]["parts"])) for name in names]
    assert all(mark.points == mark.max_points and mark.message == "right." for mark in marks)
    assert sum(mark.points for mark in grade({}, of)) == 0


@pytest.mark.parametrize("wrong", ["nonsense", 0.123456789, None, True, float("nan"), 10**400])
def test_a_wrong_part_costs_its_own_point_alone(wrong):
    answers = {name: right(name) for name in ("P.1", "P.2", "P.3", "P.4")}
    answers["P.3"][1] = wrong
    assert [mark.points for mark in grade(answers)] == [2, 2, 2, 2]


def test_a_part_that_is_missing_costs_its_own_point_and_too_many_cost_all():
    marks = {mark.exercise: mark for mark in grade({"P.1": right("P.1")[0], "P.2": [*right("P.2"), 1], "P.3": []})}
    assert [mark.points for mark in marks.values()] == [1, 0, 0, 0]
    assert marks["P.1"].message == "parts asked for: 2; given: 1."
    assert marks["P.4"].message == "no answer."


def test_a_plan_for_people_who_answer_at_random_gets_a_hint():
    """In this project, one person in ten answers at random, but the question asks for a plan without them."""
    assert check("P.2", (5266, 13165)).message.count("allows for the tenth who answer at random") == 2


def test_to_grade_is_not_to_answer(monkeypatch):
    monkeypatch.setattr("toolkit.teaching.checking._last_replies", {})
    grade({"P.1": right("P.1")})
    assert left_to_do(["P.1"], {}) == "Still to do: exercise P.1."
    check("P.1", right("P.1"))
    assert left_to_do(["P.1"], {}) == "All done."
