import html
import json
from dataclasses import replace

import numpy as np
import pandas as pd
import polars as pl
import pytest

from tests.slowly import slowly
from tests.survey.samples import DESIGNS, cheated, faculty, survey, survey_with
from toolkit import Question, crosswise, forced_options, warner
from toolkit.analysis import Sample, estimates
from toolkit.local import born, oracles
from toolkit.local.anchor import attention_counts
from toolkit.local.compliance import worst_shift
from toolkit.survey.rehearsal import report
from toolkit.survey.results import estimate, tally
from toolkit.survey.results.survey_results import OUTSIDE_NOTE, footnotes
from toolkit.survey.results.table import reports_table

REPORTS = pd.DataFrame(
    {
        "faculty": ["arts"] * 60 + ["law"] * 40,
        "cheated": ["yes"] * 30 + ["no"] * 30 + ["yes"] * 10 + ["no"] * 30,
        "understood": [True] * 90 + [False] * 10,
    }
)


def sent_by(question, people, seed):
    """Return reports of people with the same true answer, drawn by the phones' rule."""
    rng, last = np.random.default_rng(seed), question.options[-1] if question.options else 0
    truth = {"choice": last, "ticks": list(question.options[:1]), "number": 1}[question.kind]
    return [report(question, truth, rng) for _ in range(people)]


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
    both = estimate(survey(), REPORTS, by=["faculty", "understood"], minimum=0)["cheated"]
    assert {group: one.n for group, one in both.items()} == {("arts", True): 60, ("law", False): 10, ("law", True): 30}


def test_the_numbers_are_those_of_the_analysis_without_a_survey():
    """A survey and a mapping describe the same questions, so the estimates of a frame are equal."""
    designs = {"cheated": warner(p="2/3")}
    ours, theirs = estimate(survey(), REPORTS, by="faculty"), estimates(REPORTS, designs, by="faculty")
    assert ours["cheated"]["law"].value == theirs["cheated"]["law"].value
    assert ours.differences("arts").equals(theirs.differences("arts"))
    gap = ours.differences("arts").iloc[0]
    assert gap.difference == (ours["cheated"]["law"] - ours["cheated"]["arts"]).value
    weights = np.arange(1, 101)
    drawn = estimate(survey(), REPORTS, sample=Sample(weights=weights))["cheated"]
    assert drawn.value == estimates(REPORTS, designs, sample=Sample(weights=weights))["cheated"].value
    assert drawn.value != ours["cheated"]["law"].value


def test_of_several_groups_it_is_told_what_liars_could_move_at_most():
    found = estimate(survey(), REPORTS.assign(cheated=["yes", "no"] * 30 + ["no"] * 40), by="faculty")
    moves = [f"{100 * one.lie_shift:.2g}" for one in found.group_estimates if one.question == "cheated"]
    assert len({*moves}) == 2
    sentence = f"could be off by up to {max(moves, key=float)} percentage points more."
    assert sentence in footnotes(found, survey()["cheated"])[-1]


def test_cells_are_read_as_the_analysis_reads_them():
    frame = REPORTS.assign(cheated=REPORTS["cheated"].map({"yes": " YES", "no": 0}))
    assert estimate(survey(), frame)["cheated"].value == estimate(survey(), REPORTS)["cheated"].value
    coded = REPORTS.assign(cheated=["refused", *REPORTS["cheated"][1:]])
    assert estimate(survey(), coded, missing=("refused",))["cheated"].n == 99


def test_a_season_with_more_births_moves_an_estimate_by_so_much():
    """An innocuous share p that is one point larger moves an estimate of q by (2q - 1) / (2p - 1) points."""
    design = crosswise(born("jan-apr"))
    paid = Question("paid", "Paid?", design=design, mode="physical", innocent={"born": "jan-apr"})
    asked, frame = (
        survey(faculty(), cheated(), paid),
        REPORTS.assign(paid=[*design.report_options] * 35 + ["different"] * 30),
    )
    found, groups = estimate(asked, frame), estimate(asked, frame, by="faculty")
    for results, own in ((found, [found["paid"]]), (groups, groups["paid"].values())):
        moved = max(((2 * min(one.value, 1) - 1) / (2 * 120.25 / 365.25 - 1) for one in own), key=abs)
        assert [note for note in results.notes() if f"moves an estimate by {moved:+.2g} points" in note]
    nobody = estimate(asked, frame.assign(paid=None)).notes()
    assert "paid: birthdays in jan-apr are taken as 120.25 of 365.25 days; births differ by season." in nobody
    assert found["paid"].value != found["cheated"].value


def test_pairs_of_hidden_answers_go_through_both_designs():
    paid = Question("paid", "Paid?", design=warner(p="3/4"))
    frame = REPORTS.assign(paid=["yes", "no"] * 50)
    pairs = estimate(survey(faculty(), cheated(), paid, check=False), frame).joint("cheated", "paid")
    assert pairs.value == pytest.approx(warner(p="2/3").joint(warner(p="3/4")).estimate_counts([30, 30, 20, 20]).value)
    with pytest.raises(ValueError, match="a matrix each"):
        estimate(survey(faculty(), cheated(), check=False), frame).joint("cheated", "faculty")


def test_what_became_of_every_row_adds_up():
    frame = REPORTS.assign(faculty=["arts"] * 60 + ["law"] * 39 + [None], cheated=[None, *REPORTS["cheated"][1:]])
    reports_table = estimate(survey(check=False), frame, by="faculty", minimum=0).missing
    parts = ["n", "refused", "missing", "not asked", "missing group"]
    assert (reports_table[parts].sum(axis=1) == reports_table["rows"]).all()
    assert reports_table["rows"].tolist() == [60, 39, 1]
    assert reports_table["missing"].tolist() == [1, 0, 0]


def test_small_groups_of_both_waves_are_not_revealed():
    """One person was asked both questions; 21 people were asked each."""
    asked = (
        faculty(options=["arts", "law", "both"]),
        cheated(show_if={"faculty": ["arts", "both"]}),
        Question("paid", "Paid?", design=warner(p="3/4"), show_if={"faculty": ["law", "both"]}),
        Question("why", "Why?", options=["a", "b"], show_if={"faculty": ["both"]}),
    )
    frame = pd.DataFrame(
        {
            "faculty": ["arts"] * 20 + ["law"] * 20 + ["both"],
            "cheated": ["yes"] * 20 + [None] * 20 + ["no"],
            "paid": [None] * 20 + ["no"] * 20 + ["yes"],
            "why": [None] * 40 + ["a"],
        }
    )
    own = survey(*asked, check=False, minimum=5)
    with pytest.raises(ValueError, match="at least 5 people must have answered, got fewer"):
        estimate(own, frame).joint("cheated", "paid")
    assert set(tally(own, frame)["question"]) == {"faculty", "cheated", "paid"}
    assert "why" in set(tally(own, frame, minimum=1)["question"])


def test_below_a_minimum_nothing_is_told_of_few_people_by_any_verb():
    paid = Question("paid", "Paid?", design=warner(p="3/4"))
    frame = REPORTS.assign(paid=["yes", "no"] * 40 + [None] * 20)
    found = estimate(survey(faculty(), cheated(), paid, check=False), frame, by="faculty").suppress_below(30)
    assert {(one.question, *one.group) for one in found.group_estimates} == {
        ("cheated", "arts"),
        ("cheated", "law"),
        ("paid", "arts"),
    }
    assert found.differences("arts")["question"].tolist() == ["cheated"]
    assert list(found.joint("cheated", "paid")) == ["arts"]
    with pytest.raises(ValueError, match="at least 30 people"):
        found.homogeneity("paid")
    with pytest.raises(ValueError, match="at least 90 people"):
        found.suppress_below(90).joint("cheated", "paid")


def test_comprehension_stands_beside_the_estimates():
    found = estimate(survey(), REPORTS)
    assert found.understood == (90, 100)
    assert found.notes() == ["90 of 100 (90 %) passed the comprehension check; chance alone would give 50 %."]
    assert replace(found, understood=(1080, 1200)).notes()[0].startswith("1,080 of 1,200 (90 %) passed")
    assert estimate(survey(check=False), REPORTS).understood is None


def test_an_anchor_measures_attention_and_is_told():
    moon = Question("moon", "Been to the moon?", design=warner(p="3/4"), anchor="no")
    frame = pd.DataFrame({"moon": ["no"] * 140 + ["yes"] * 60})
    found = estimate(survey(moon, check=False), frame)
    assert found.attention["moon"].value == attention_counts(warner(p="3/4"), [140, 60], truth="no").value
    (note,) = found.notes()
    assert note.startswith("By the anchor question moon, about 20 % (")


@pytest.mark.parametrize("name", slowly(DESIGNS, {"square_wave"}))
def test_estimates_through_every_randomizer_equal_its_own(name):
    """Reports drawn by the phones' rule and read through a table give the randomizer's own estimate from these
    reports.
    """
    asked = survey_with(DESIGNS[name], check=False)
    question, sent = asked["asked"], sent_by(asked["asked"], 300, seed=5)
    frame = reports_table(asked, [json.dumps({"answers": {"asked": one}, "understood": None}) for one in sent])
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
    assert list(ours.columns) == [
        *("question", "option", "estimate", "se", "low", "high", "empty", "fit p"),
        *("n", "refused", "missing", "not asked", "shift by 1 % of liars"),
    ]


def test_a_wrong_column_is_refused_without_quoting_it():
    with pytest.raises(ValueError, match="'cheated' must hold reports of its design") as refused:
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


def test_contradicted_estimates_are_marked_everywhere():
    """No lawyer reports yes, although Warner's question (2/3) makes at least a third of the reports a yes."""
    frame = pd.DataFrame({"faculty": ["arts"] * 60 + ["law"] * 60, "cheated": ["yes", "no"] * 30 + ["no"] * 60})
    found = estimate(survey(check=False), frame, by="faculty")
    outside, note = found.notes()
    assert outside == OUTSIDE_NOTE
    assert note.startswith(
        "cheated (faculty law): no share agrees with these reports at 95 %: 0 of 60 reports were yes"
    )
    assert "p = 3e-11" in note
    reports_table = found.to_frame().set_index("faculty")
    assert reports_table["empty"].to_dict() == {"arts": False, "law": True}
    assert np.isnan(reports_table.loc["law", ["low", "high"]].astype(float)).all()
    assert reports_table.loc["law", "fit p"] == pytest.approx((2 / 3) ** 60)
    page = found._repr_html_()
    assert page.count("do not publish it as a share") == 1
    assert page.index("</table>") < page.index(html.escape(OUTSIDE_NOTE)) < page.index("The errors cover")


def test_an_anchor_that_no_share_of_followers_explains_has_no_limits():
    moon = Question("moon", "Been to the moon?", design=warner(p="3/4"), anchor="no")
    found = estimate(survey(moon, check=False), pd.DataFrame({"moon": ["no"] * 60 + ["yes"] * 140}))
    assert found.notes()[0].startswith("By the anchor question moon, there are fewer true answers than chance alone")


def test_a_box_that_nobody_was_asked_about_stops_nothing():
    """With ten boxes and 40 people, at least one box is never drawn in 14 % of surveys; here nobody in arts was asked
    about box y.
    """
    boxes = Question("tried", "What?", design=oracles.tick_boxes(["x", "y", "z"], 1.0))
    arts = ["[0,1]"] * 13 + ["[0,0]"] * 12 + ["[2,0]"] * 8 + ["[2,1]"] * 7
    law = ["[0,1]", "[1,0]", "[2,1]"] * 20
    frame = pd.DataFrame({"faculty": ["arts"] * 40 + ["law"] * 60, "tried": arts + law, "cheated": ["yes", "no"] * 50})
    found = estimate(survey(faculty(), boxes, cheated(), check=False), frame, by="faculty", minimum=0)
    arts, law = found["tried"]["arts"], found["tried"]["law"]
    assert np.isnan(arts.value).tolist() == np.isnan(arts.se).tolist() == [False, True, False]
    assert np.isnan(arts.interval().low).tolist() == [False, True, False]
    assert arts.notes[0] == "nobody was asked about y: no estimate is possible"
    assert np.isfinite(law.value).all()
    assert not any("nobody" in note for note in law.notes)
    assert found["cheated"]["arts"].n == 40
    assert all(np.isfinite(finding.lie_shift) for finding in found.group_estimates)


@pytest.mark.slow
@pytest.mark.parametrize("name", slowly(DESIGNS, {"square_wave"}))
def test_a_group_that_left_a_question_empty_has_a_row_of_nan(name):
    """For every randomizer: groups of nobody, one person or two people must not prevent the estimates of other
    groups.
    """
    asked = survey(faculty(), Question("asked", "What?", design=DESIGNS[name]), ceiling=float("inf"), check=False)
    for answering in (1, 2):
        sent = sent_by(asked["asked"], answering, seed=4)
        people = [{"faculty": 0, "asked": one} for one in sent] + [{"faculty": 1, "asked": None}] * 3
        frame = reports_table(asked, [json.dumps({"answers": one, "understood": None}) for one in people])
        found = estimate(asked, frame, by="faculty", minimum=0)
        empty = found["asked"]["law"]
        assert (empty.n, found["asked"]["arts"].n) == (0, answering)
        assert np.isnan(empty.value).all()
        rows = found.to_frame().query("faculty == 'law'")
        assert (rows["n"] == 0).all()
        assert (rows["missing"] == 3).all()
        assert isinstance(found._repr_html_(), str)


def test_plain_questions_that_a_group_left_empty_have_a_row_of_nan_too():
    age = Question("age", "Age?", bounds=(0, 99), required=False)
    tried = Question("tried", "What?", options=["a", "b"], multiple=True, required=False)
    frame = pd.DataFrame(
        {"faculty": ["arts", "law"], "age": [20, None], "tried": ["[0]", None], "cheated": ["yes", "no"]}
    )
    found = estimate(survey(faculty(), age, tried, cheated(), check=False), frame, by="faculty", minimum=0)
    assert np.isnan(found["age"]["law"].value)
    assert np.isnan(found["tried"]["law"].value).all()
    assert found["age"]["arts"].value == 20


def test_turnout_is_counted_for_each_question_and_group():
    """Answered, declined, missing and not asked are distinguished."""
    paid = Question("paid", "Paid for it?", options=["no", "yes"], show_if={"faculty": ["law"]}, required=False)
    frame = pd.DataFrame(
        {
            "faculty": ["arts"] * 3 + ["law"] * 4 + [None],
            "cheated": ["yes", "no", None, "yes", "yes", None, None, "no"],
            "paid": [None] * 3 + ["yes", "no", None, "no"] + [None],
        }
    )
    asked = survey(faculty(), cheated(), paid, check=False)
    found = estimate(asked, frame, by="faculty", minimum=0)
    assert {(one.question, *one.group): tuple(one.counts.values()) for one in found.group_estimates} == {
        ("cheated", "arts"): (2, 0, 1, 0),
        ("cheated", "law"): (2, 0, 2, 0),
        ("paid", "arts"): (0, 0, 0, 3),
        ("paid", "law"): (3, 1, 0, 0),
    }
    assert found.ungrouped == 1
    assert found.notes()[1:4] == [
        "cheated: 4 answered, 0 refused, 3 missing.",
        "paid: 3 answered, 1 refused, 0 missing.",
        "1 person has no group, as the answer to faculty is missing: no estimate here includes them.",
    ]
    whole = estimate(asked, frame, minimum=0)
    assert whole.to_frame().query("question == 'cheated'")[
        ["n", "refused", "missing", "not asked"]
    ].values.tolist() == [[5, 0, 3, 0]]
    assert "5 answered, 0 refused, 3 missing" in whole._repr_html_()


def test_a_group_that_is_no_option_is_refused_by_group_as_it_is_without():
    frame = pd.DataFrame({"faculty": ["arts", "my secret"], "cheated": ["yes", "no"]})
    for by in (None, "faculty"):
        with pytest.raises(ValueError, match="'faculty'") as refused:
            estimate(survey(check=False), frame, by=by)
        assert "secret" not in str(refused.value)


def test_liars_are_measured_at_the_clipped_estimate():
    """Five yes of a hundred through Warner's 2/3 give the estimate -0.85; no true share is negative, so the effect of
    liars is computed from 0.
    """
    frame = pd.DataFrame({"cheated": ["yes"] * 5 + ["no"] * 95})
    (finding,) = estimate(survey(cheated(), check=False), frame).group_estimates
    assert finding.estimate.value == pytest.approx(-0.85)
    assert finding.lie_shift == pytest.approx(worst_shift(warner(p="2/3"), 0.0))
    assert finding.lie_shift == pytest.approx(0.02)
    three = forced_options(["a", "b", "c"], ["1/100", "1/100", "2/5"])
    frame = pd.DataFrame({"cheated": ["a"] * 50 + ["b"] * 40 + ["c"] * 10})
    (finding,) = estimate(survey(cheated(design=three), check=False, ceiling=9), frame).group_estimates
    inside = np.clip(finding.estimate.value, 0, 1)
    assert (finding.estimate.value.min() < 0, finding.estimate.value.sum()) == (True, pytest.approx(1))
    assert finding.lie_shift == pytest.approx(worst_shift(three, inside / inside.sum()))


@pytest.mark.slow
def test_a_billion_reports_cost_as_many_rows_as_there_are_kinds(monkeypatch):
    """Counts of 10**9 are estimated for randomizers without a matrix; an earlier version expanded them to one entry per
    person.
    """
    for name, kinds in {
        "one_bit": {0: 600_000_000, 1: 400_000_000},
        "local_laplace": {-5: 1, 0: 10**9, 40: 10**9},
        "subset": {"[0,1,2]": 10**9, "[1,2,3]": 10**9},
        "random_box": {"[0,1]": 10**9, "[1,0]": 10**9, "[2,1]": 10**9, "[3,0]": 10**9},
        "square_wave": {3: 10**9, 40: 10**9},
    }.items():
        rows = [((report,), times) for report, times in kinds.items()]
        monkeypatch.setattr("toolkit.analysis.estimating.row_counts", lambda *_, rows=rows: rows)
        found = estimate(survey_with(DESIGNS[name], check=False), pd.DataFrame({"asked": [0]}))
        assert found["asked"].n == sum(kinds.values())
