import json

import numpy as np
import pandas as pd
import polars as pl
import pytest

from tests.survey.samples import DESIGNS, cheated, faculty, survey, survey_with
from toolkit import Question, warner
from toolkit.local.anchor import attention_counts
from toolkit.local.compliance import worst_shift
from toolkit.survey.reading.table import table
from toolkit.survey.rehearsal import report
from toolkit.survey.results import estimate, tally

REPORTS = pd.DataFrame(
    {
        "faculty": ["arts"] * 60 + ["law"] * 40,
        "cheated": ["yes"] * 30 + ["no"] * 30 + ["yes"] * 10 + ["no"] * 30,
        "understood": [True] * 90 + [False] * 10,
    }
)


def test_each_estimate_is_that_of_the_design_from_the_counts():
    found = estimate(survey(), REPORTS)
    direct = warner(p="2/3").estimate_counts([60, 40])
    assert found["cheated"].value == direct.value
    assert found["cheated"].se == direct.se
    assert found["faculty"].value == 0.4


def test_by_groups_there_is_one_estimate_a_group_from_its_own_people():
    found = estimate(survey(), REPORTS, by=["faculty"])["cheated"]
    assert {name: one.value for name, one in found.items()} == {
        "arts": warner(p="2/3").estimate_counts([30, 30]).value,
        "law": warner(p="2/3").estimate_counts([30, 10]).value,
    }
    both = estimate(survey(), REPORTS, by=["faculty", "understood"])["cheated"]
    assert {group: one.n for group, one in both.items()} == {("arts", True): 60, ("law", False): 10, ("law", True): 30}


def test_comprehension_stands_beside_the_estimates():
    found = estimate(survey(), REPORTS)
    assert found.understood == (90, 100)
    assert found.notes() == ["90 of 100 (90 %) passed the comprehension check."]
    assert estimate(survey(check=False), REPORTS).understood is None


def test_an_anchor_measures_attention_and_is_told():
    moon = Question("moon", "Been to the moon?", design=warner(p="3/4"), anchor="no")
    frame = pd.DataFrame({"moon": ["no"] * 140 + ["yes"] * 60})
    found = estimate(survey(moon, check=False), frame)
    assert found.attention["moon"].value == attention_counts(warner(p="3/4"), [140, 60], truth="no").value
    (note,) = found.notes()
    assert note.startswith("By the anchor question moon, 80 % (")


def test_one_percent_of_liars_is_said_for_each_estimate():
    (_, liars) = [finding.liars for finding in estimate(survey(), REPORTS).findings]
    value = np.clip(warner(p="2/3").estimate_counts([60, 40]).value, 0, 1)
    assert liars == pytest.approx(worst_shift(warner(p="2/3"), value))
    assert "If 1 % of the people lied in concert" in estimate(survey(), REPORTS)._repr_html_()


@pytest.mark.parametrize("name", DESIGNS)
def test_estimates_through_every_randomizer_equal_its_own(name):
    """Reports by the phones' rule, through a table, against the randomizer's own estimate of the same reports."""
    asked = survey_with(DESIGNS[name], check=False)
    question, rng = asked["asked"], np.random.default_rng(5)
    truths = {"choice": question.options[-1] if question.options else 0, "ticks": list(question.options[:1]), "number": 1}
    sent = [report(question, truths[question.kind], rng) for _ in range(300)]
    frame = table(asked, [json.dumps({"answers": {"asked": one}, "understood": None}) for one in sent])
    found = estimate(asked, frame)["asked"]
    codes = np.array(sent) if isinstance(sent[0], int) and question.report_options else sent
    own = question.design.estimate(codes)
    assert np.allclose(found.value, own.value)
    assert np.allclose(found.se, own.se, equal_nan=True)


def test_tallies_count_every_report_in_every_group():
    found = tally(survey(), REPORTS, by="faculty")
    rows = dict(zip(zip(found["faculty"], found["report"], strict=True), found["count"], strict=True))
    assert rows == {("arts", "yes"): 30, ("arts", "no"): 30, ("law", "yes"): 10, ("law", "no"): 30}
    assert tally(survey(), REPORTS).query("question == 'cheated' and report == 'yes'")["count"].item() == 40


def test_polars_and_pandas_give_the_same_frame():
    ours = estimate(survey(), REPORTS).to_frame()
    assert ours.equals(estimate(survey(), pl.DataFrame(REPORTS.to_dict("list"))).to_frame())
    assert list(ours.columns) == ["question", "option", "estimate", "se", "low", "high", "empty", "fit p", "n", "1 % of liars"]


def test_a_wrong_column_is_refused_without_quoting_it():
    with pytest.raises(ValueError, match="question 'cheated'") as refused:
        estimate(survey(cheated(), check=False), pd.DataFrame({"cheated": ["yes", "my secret"]}))
    assert "secret" not in str(refused.value)


def test_asking_for_what_is_not_there_says_so():
    note = Question("note", "Why?", free_text=True, required=False, warning="Name nobody.")
    found = estimate(survey(faculty(), cheated(), note), REPORTS.assign(note=None))
    with pytest.raises(KeyError, match="something to estimate"):
        found["note"]
    with pytest.raises(KeyError, match="must be one of"):
        found["nothing"]


def test_the_html_holds_the_survey_texts_as_text():
    nasty = survey(Question("cheated", "<script>alert(1)</script>", design=warner(p="2/3")), check=False)
    shown = estimate(nasty, REPORTS[["cheated"]])._repr_html_()
    assert "<script>" not in shown
    assert "&lt;script&gt;" in shown
    assert repr(estimate(nasty, REPORTS[["cheated"]])) == "<Results of 'Exams': 1 estimates, up to 100 people>"


def test_answers_that_contradict_their_design_are_told_in_the_notes_the_table_and_the_page():
    """Nobody says yes among the lawyers, where Warner's question (2/3) makes at least a third."""
    frame = pd.DataFrame({"faculty": ["arts"] * 60 + ["law"] * 60, "cheated": ["yes", "no"] * 30 + ["no"] * 60})
    found = estimate(survey(check=False), frame, by="faculty")
    (note,) = found.notes()
    assert note.startswith("cheated (faculty law): no share agrees with these reports at 95 %: 0 of 60 reports were yes")
    assert "p = 3e-11" in note
    table = found.to_frame().set_index("faculty")
    assert table["empty"].to_dict() == {"arts": False, "law": True}
    assert np.isnan(table.loc["law", ["low", "high"]].astype(float)).all()
    assert table.loc["law", "fit p"] == pytest.approx((2 / 3) ** 60)
    assert found._repr_html_().count("do not publish it as a share") == 1


def test_an_anchor_that_no_share_of_followers_explains_has_no_limits():
    moon = Question("moon", "Been to the moon?", design=warner(p="3/4"), anchor="no")
    found = estimate(survey(moon, check=False), pd.DataFrame({"moon": ["no"] * 60 + ["yes"] * 140}))
    assert found.notes()[0] == "By the anchor question moon, 0 % (no share fits) followed the instructions."
