from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from tests.survey.samples import cheated, faculty, survey
from toolkit import Question, crosswise, warner
from toolkit.analysis import Findings, estimates
from toolkit.local import born
from toolkit.survey.results import estimate, tally
from toolkit.survey.results.survey_results import NOTHING_TO_SHOW, OUTSIDE_NOTE, footnotes
from toolkit.survey.spec import OPEN_ACCESS_REMARK
from toolkit.survey.storage.protocol import State
from toolkit.survey.storage.stepwise_disclosure import FLOODED, DisclosedReports, disclosure_remarks

REPORTS = pd.DataFrame({"faculty": ["arts"] * 60 + ["law"] * 40, "cheated": ["yes", "no"] * 50})


def test_where_there_is_nothing_yet_it_is_said_in_a_sentence():
    assert estimate(survey(check=False), REPORTS[:0], by="faculty").group_estimates == ()
    empty = estimate(survey(check=False), REPORTS[:0])
    assert empty.group_estimates == ()
    assert repr(empty) == f"<Results of 'Exams': {NOTHING_TO_SHOW}.>"
    assert NOTHING_TO_SHOW in empty._repr_html_()
    with pytest.warns(UserWarning, match=f"The table is empty: {NOTHING_TO_SHOW}"):
        table = empty.summary()
    assert len(table) == len(empty.to_frame()) == 0
    assert list(table)[:3] == ["question", "answer", "estimate"]


def test_below_a_minimum_findings_are_left_out_and_counted():
    found = estimate(survey(check=False), REPORTS, by="faculty").suppress_below(50)
    assert {finding.group for finding in found.group_estimates} == {("arts",)}
    assert found.remarks[0].startswith("1 of 2 estimates are not shown, as fewer than 50 people answered")
    assert estimate(survey(check=False), REPORTS).suppress_below(50).remarks == ()


@pytest.mark.slow
def test_of_fewer_people_than_the_minimum_in_all_nothing_is_shown():
    """An earlier version estimated a group of three people in a report that said that groups below 30 are withheld."""
    trip = Question("trip", "Been there?", design=warner("3/5"), anchor="no")
    season = Question(
        "season", "Ever?", design=crosswise(born("jan-mar")), mode="physical", innocent={"born": "jan-mar"}
    )
    asked = survey(faculty(), cheated(), trip, season, minimum=30, ceiling=5)
    for people, shown in ((3, False), (29, False), (30, True)):
        frame = asked.simulate(people, np.random.default_rng(1))
        found = estimate(asked, frame)
        notes = " ".join(found.notes())
        assert bool(found.group_estimates) is shown
        for sentence in ("passed the comprehension check", "By the anchor question trip", "moves an estimate by"):
            assert (sentence in notes) is shown, sentence
        assert ("4 of 4 estimates are not shown, as fewer than 30 people answered" in notes) is not shown
        assert len(tally(asked, frame)) == 0 or shown
        assert estimate(asked, frame, minimum=3).group_estimates


@pytest.mark.parametrize("yes", [20, 60, 77, 95])
def test_a_share_outside_its_range_is_marked_and_its_reason_stands_below(yes):
    frame = pd.DataFrame({"cheated": ["yes"] * yes + ["no"] * (100 - yes)})
    outside = yes != 60
    found = estimate(survey(cheated(design=warner("3/4")), check=False), frame)
    assert found.summary()["estimate"][0].endswith(" *") is outside
    assert (OUTSIDE_NOTE in found.notes()) is (footnotes(found, found.survey["cheated"])[0] == OUTSIDE_NOTE) is outside
    inside = estimate(found.survey, frame, method="mle")
    assert OUTSIDE_NOTE not in [*inside.notes(), *footnotes(inside, found.survey["cheated"])]


def test_what_errors_cover_and_cost_stands_once_below_each_table():
    page = estimate(survey(check=False), REPORTS, by="faculty")._repr_html_()
    assert (
        page.count("The errors cover sampling and randomization; privacy loss ε = 0.693; warner design, unbiased.") == 1
    )


def test_liars_are_said_in_percentage_points_and_the_worst_group_counts():
    found = estimate(survey(faculty(), cheated(design=warner(p="3/4")), check=False), REPORTS, by="faculty")
    worst = max(finding.lie_shift for finding in found.group_estimates)
    assert f"off by up to {100 * worst:.2g} percentage points more" in found._repr_html_()


def test_notes_of_a_group_name_it_by_its_label():
    asked = survey(faculty(labels={"law": "Law School"}), cheated(), check=False)
    frame = pd.DataFrame({"faculty": ["arts", "law"] * 60, "cheated": ["yes", "no"] * 60})
    assert estimate(asked, frame, by="faculty").notes()[-1].startswith("cheated (faculty Law School): no share agrees")


def test_almost_all_is_not_called_all():
    """An earlier version printed 604 of 606 as 100 %."""
    frame = pd.DataFrame({"cheated": ["no"] * 606, "understood": [True] * 604 + [False] * 2})
    assert (
        estimate(survey(cheated()), frame).notes()[0]
        == "604 of 606 (99.7 %) passed the comprehension check; chance alone would give 50 %."
    )


@pytest.mark.parametrize(("passed", "said"), [([False] * 30, ["0 of 30 (0 %) passed"]), ([None] * 30, [])])
def test_it_is_said_if_nobody_passed_the_check_and_not_if_nobody_took_it(passed, said):
    frame = pd.DataFrame({"cheated": ["yes", "no"] * 15, "understood": passed})
    notes = [note for note in estimate(survey(cheated()), frame).notes() if "comprehension" in note]
    assert [note.partition(" the comprehension")[0] for note in notes] == said


def test_a_method_is_passed_on_to_each_question():
    frame = pd.DataFrame({"cheated": ["yes"] * 25 + ["no"] * 75})
    asked = survey(cheated(), check=False)
    assert estimate(asked, frame)["cheated"].value == pytest.approx(-0.25)
    assert estimate(asked, frame, method="mle")["cheated"].value == pytest.approx(0, abs=1e-9)
    with pytest.raises(ValueError, match="one of moment, mle, simplex"):
        estimate(asked, frame, method="bayes")


def test_rows_of_a_rehearsal_stay_marked():
    """The results say that they come from invented people, whatever survey they are estimated with."""
    assert estimate(survey(check=False), REPORTS.assign(REHEARSAL=True)).notes()[0].startswith("This is a rehearsal")
    assert estimate(replace(survey(check=False), rehearsal=True), REPORTS).notes()[0].startswith("This is a rehearsal")
    assert estimate(survey(check=False), REPORTS).notes() == []


def test_a_closed_collection_of_single_use_links_needs_no_remark():
    assert disclosure_remarks(survey(access="token"), DisclosedReports(State.CLOSED, ("{}",), 1)) == ()


def test_open_access_is_mentioned_also_after_closing():
    """An open state is mentioned only while the collection is open."""
    assert disclosure_remarks(survey(), DisclosedReports(State.CLOSED, ("{}",), 1)) == (OPEN_ACCESS_REMARK,)
    steps, *others = disclosure_remarks(survey(), DisclosedReports(State.PAUSED, (), 12))
    assert steps == (
        "While the collection is paused, it is shown in steps of 10, and the last 10 wait: from 40 "
        "reports on. So far 12 are stored."
    )
    assert others == [OPEN_ACCESS_REMARK, FLOODED]
    (steps,) = disclosure_remarks(survey(access="token"), DisclosedReports(State.OPEN, (), 1))
    assert steps.endswith("So far 1 is stored.")
    tried = disclosure_remarks(replace(survey(), rehearsal=True), DisclosedReports(State.OPEN, (), 5))
    assert tried[0].endswith("in steps of 10: from 30 reports on. So far 5 are stored.")
    assert tried[1:] == (OPEN_ACCESS_REMARK,)


def test_results_are_findings_with_all_that_findings_can_do():
    second = Question("paid", "Paid for it?", design=warner(p="2/3"))
    frame = REPORTS.assign(paid=REPORTS["cheated"].to_numpy()[::-1])
    results = estimate(survey(faculty(), cheated(), second, check=False), frame, by="faculty", minimum=1)
    assert isinstance(results, Findings)
    same = estimates(frame, {"cheated": cheated().design, "paid": second.design}, by="faculty")
    assert results.homogeneity("cheated") == same.homogeneity("cheated")
    for mine, theirs in (
        (results.difference("cheated", "paid"), same.difference("cheated", "paid")),
        (results.joint("cheated", "paid"), same.joint("cheated", "paid")),
        (results["cheated"], same["cheated"]),
    ):
        assert mine.keys() == theirs.keys()
        assert all(np.array_equal(mine[group].value, theirs[group].value) for group in mine)
    assert results.to_csv().splitlines()[0] == ",".join(results.summary())
    assert "\\begin{tabular}" in results.to_latex()
    with pytest.raises(KeyError, match="must have something to estimate, got 'faculty': it is free text, or"):
        results["faculty"]
