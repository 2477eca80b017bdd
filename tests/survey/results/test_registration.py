import json
from dataclasses import replace

import numpy as np
import pytest

from tests.survey.documents import read
from tests.survey.samples import cheated, faculty, survey
from toolkit import plan as solve
from toolkit import warner
from toolkit.survey import estimate
from toolkit.survey.plan import plan_table
from toolkit.survey.results.registration import Registration, register

ASKED = survey(faculty(), cheated(design=warner("3/4")), minimum=10)
PLAN = {
    "n": 500,
    "stopping": "At 500 reports.",
    "exclusions": "None.",
    "missing": "Left out.",
    "questions": ["cheated"],
    "groups": ["faculty"],
    "contrasts": [{"question": "cheated", "by": "faculty", "reference": "arts"}],
    "prevalence": {"cheated": 0.2},
    "power": {"cheated": {"prevalence": 0.1, "detect": 0.2}},
    "hypotheses": ["More cheat in law."],
}
QUESTIONS = [one.text["en"] for one in ASKED.questions]
FRAME = ASKED.simulate(300, np.random.default_rng(2))


@pytest.mark.slow
def test_what_was_planned_is_registered_and_all_else_exploratory(tmp_path):
    made = register(ASKED, PLAN, tmp_path / "prereg.md")
    assert Registration.load(tmp_path / "prereg.md") == made
    results = estimate(ASKED, FRAME).registered(tmp_path / "prereg.md")
    status = results.to_frame().groupby("question")["status"].first().to_dict()
    assert status == {"cheated": "registered", "faculty": "exploratory"}
    assert set(results.summary()["status"]) == {"registered", "exploratory"}
    assert any("all else is exploratory" in note for note in results.notes())
    by = estimate(ASKED, FRAME, "faculty").registered(made)
    assert set(by.to_frame()["status"]) == {"registered"}
    assert set(by.differences("arts")["status"]) == {"registered"}
    assert set(by.differences("law")["status"]) == {"exploratory"}
    assert set(estimate(ASKED, FRAME, "understood").registered(made).to_frame()["status"]) == {"exploratory"}
    assert "status" not in estimate(ASKED, FRAME).to_frame()
    assert "This is registered." in results._repr_html_()


def test_the_registration_holds_margins_and_power_as_they_are_planned(tmp_path):
    register(ASKED, PLAN, tmp_path / "prereg.md")
    rows, text = read(tmp_path / "prereg.md")
    assert list(plan_table(ASKED.plan(500, prevalence={"cheated": 0.2}))[2]) in rows
    power = solve(warner("3/4"), prevalence=0.1, detect=0.2, n=500).power
    assert ["cheated", "0.1", "0.2", f"{power:.3f}"] in rows
    asked = [row for row in rows if len(row) == 4 and row[1] in QUESTIONS]
    hidden = ["cheated", QUESTIONS[1], f"warner, auto: {warner('3/4').describe()}", "1.099"]
    assert asked == [["faculty", QUESTIONS[0], "plain", "—"], hidden]
    assert text.startswith("# Pre-registration: Exams\n")
    for words in ("At 500 reports.", "More cheat in law.", ASKED.hash, "from arts"):
        assert words in text


def test_another_survey_and_a_changed_registration_are_refused(tmp_path):
    path = tmp_path / "prereg.md"
    made = register(ASKED, PLAN, path)
    other = survey(faculty(), cheated(design=warner("4/5")), minimum=10)
    with pytest.raises(ValueError, match="must be the one that was registered"):
        estimate(other, FRAME).registered(made)
    made.check(replace(ASKED, rehearsal=True))
    path.write_text(path.read_text().replace('"n": 500', '"n": 400'))
    with pytest.raises(ValueError, match="must not be changed, got one that was changed"):
        Registration.load(path)
    path.write_text("nothing")
    with pytest.raises(ValueError, match="the file must be a registration"):
        Registration.load(path)


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"n": None}, "`n`"),
        ({"stoping": "x"}, "stoping"),
        ({"questions": ["other"]}, "other"),
        ({"groups": ["cheated"]}, "`by` must name plain questions"),
        ({"contrasts": [{"question": "cheated", "by": "faculty", "refrence": "arts"}]}, "refrence"),
        ({"contrasts": [{"question": "other", "by": "faculty", "reference": "arts"}]}, "other"),
        ({"contrasts": [{"question": "cheated", "by": "cheated", "reference": "arts"}]}, "plain questions"),
        *(
            (
                {"contrasts": [{key: "faculty" for key in ("question", "by", "reference") if key != name}]},
                f"must have `{name}`",
            )
            for name in ("question", "by", "reference")
        ),
        ({"power": {"cheated": {"prevalence": 0.1}}}, "power of 'cheated': its fields must be prevalence and detect"),
        ({"power": {"cheated": 0.1}}, "power of 'cheated': its fields must be prevalence and detect"),
        ({"power": {"other": {}}}, "other"),
        ({"level": 1}, "`level` must lie strictly between"),
        ({"power": {"faculty": {"prevalence": 0.1, "detect": 0.2}}}, "`power` must name randomized questions"),
    ],
)
def test_a_plan_that_does_not_fit_is_refused_and_nothing_is_written(tmp_path, change, sentence):
    with pytest.raises((ValueError, KeyError, TypeError), match=sentence):
        register(ASKED, {**PLAN, **change}, tmp_path / "prereg.md")
    assert list(tmp_path.iterdir()) == []


def test_fields_that_are_needed_are_asked_for(tmp_path):
    for name in ("n", "stopping", "exclusions", "missing"):
        with pytest.raises(ValueError, match=f"a plan must have `{name}`"):
            register(ASKED, {key: value for key, value in PLAN.items() if key != name}, tmp_path / "p.md")
    with pytest.raises(TypeError, match=r"a plan must be a table of fields, got list: they are n, stopping"):
        register(ASKED, [PLAN], tmp_path / "p.md")
    with pytest.raises(ValueError, match=r"must end in \.md"):
        register(ASKED, PLAN, tmp_path / "p.txt")


def test_one_question_group_or_hypothesis_needs_no_list(tmp_path):
    alone = {"questions": "cheated", "groups": "faculty", "hypotheses": "More cheat in law."}
    made = register(ASKED, {**PLAN, **alone}, tmp_path / "p.md")
    assert made == register(ASKED, PLAN, tmp_path / "q.md")
    assert (tmp_path / "p.md").read_bytes() == (tmp_path / "q.md").read_bytes()
    told = [("faculty", None), (("faculty",), None), ("faculty", "arts"), ("faculty", "law"), ("understood", None)]
    status = [made.status("cheated", by, reference) for by, reference in told]
    assert status == ["registered"] * 3 + ["exploratory"] * 2


def test_a_plan_in_a_file_is_read(tmp_path):
    (tmp_path / "plan.json").write_text(json.dumps(PLAN))
    made = register(ASKED, tmp_path / "plan.json", tmp_path / "p.md")
    assert replace(made, date="2026-01-01").seal != made.seal
    assert made.plan["n"] == 500
