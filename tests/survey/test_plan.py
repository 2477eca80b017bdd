import math
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from tests.survey.samples import DESIGNS, cheated, faculty, survey, survey_with
from toolkit import Question, Survey, forced, plan, warner
from toolkit.local.numeric import one_bit
from toolkit.planning import plan_slope
from toolkit.survey.plan import PlannedQuestion, _plan_notes, _round_up, margin_text, plan_questions, plan_table

CAMPUS = Survey.load(Path(__file__).parents[2] / "data" / "campus.toml")
Z = 1.959963984540054


def test_a_survey_is_planned_before_anybody_is_asked():
    """Warner's question at 2/3 and one half: 1.96 * (1/2) / (1/3) / sqrt(n), by hand."""
    found = survey().plan(n=600)
    assert found["cheated"].margin == pytest.approx(Z * 1.5 / math.sqrt(600))
    assert found["cheated"].margin == plan(warner(p="2/3"), prevalence=0.5, n=600).margin
    assert (found["cheated"].n_people, found["cheated"].n_subgroup) == (600, 300)  # two faculties
    assert found["cheated"].subgroup_margin == pytest.approx(Z * 1.5 / math.sqrt(300))
    assert found["faculty"].margin == pytest.approx(Z * 0.5 / math.sqrt(600))


@pytest.mark.slow
def test_the_margin_of_a_number_is_in_its_own_unit():
    """Six hundred people and one bit each of a number from 0 to 40: the margin used to be known only after the
    survey.
    """
    drinks = Question("drinks", "How many drinks a week?", design=one_bit((0, 40), 1.0))
    found = survey(drinks, check=False).plan(n=600)["drinks"]
    assert found.guess == "mean 20"
    assert found.margin == pytest.approx(3.463, abs=0.001)
    assert margin_text(found, found.margin) == "± 3.5"
    rng = np.random.default_rng(2)  # for 400 surveys of people at both ends, the standard deviation is known to 3.5 %
    estimates = [
        drinks.design.estimate(drinks.design.randomize(rng.choice([0, 40], 600), rng)).value for _ in range(400)
    ]
    assert Z * np.std(estimates) == pytest.approx(found.margin, rel=0.14)  # 4 standard errors: one seed in 16,000 fails


@pytest.mark.parametrize("name", DESIGNS)
def test_every_randomizer_is_planned_as_the_houses_plan_says(name):
    (found,) = survey_with(DESIGNS[name]).plan(n=600).questions
    span = getattr(DESIGNS[name], "high", 1) - getattr(DESIGNS[name], "low", 0)
    assert found.span == (1 if found.is_share else span)
    assert found.is_share == (name == "square_wave" or not hasattr(DESIGNS[name], "high"))
    if name == "square_wave":
        assert math.isnan(found.margin)
        assert margin_text(found, found.margin) == "—"
        return
    question = survey_with(DESIGNS[name])["asked"]
    k = len(question.options)
    shares = [1 / k] * k if k > 2 else 0.5
    guess = found.span / 2 + float(question.design.low) if question.kind == "number" else shares
    if question.kind == "ticks":
        guess = [min(0.5, getattr(question.design, "most", k) / k)] * k
    assert found.margin == plan(question.design, prevalence=guess, n=600).margin


def test_the_subgroup_is_the_finest_plain_question_or_what_is_given():
    found = CAMPUS.plan(n=600)
    assert found["cheated"].n_subgroup == 120
    assert found["faculty"].n_subgroup is None  # in a group by faculty, all people have the same answer
    taken = "The smallest subgroup is assumed to be 1 of 5 of equal size by faculty"
    assert f"{taken}; the margin of a smaller subgroup is wider." in found.notes
    assert "=" not in " ".join(found.notes)  # the studio shows them to people who do not write code
    given = CAMPUS.plan(n=600, subgroup=0.05)
    assert given["cheated"].n_subgroup == 30
    assert given["cheated"].subgroup_margin == pytest.approx(found["cheated"].margin * math.sqrt(20), rel=1e-6)
    alone = survey(cheated(), check=False).plan(n=600)
    assert alone["cheated"].n_subgroup is None
    assert plan_table(alone)[0] == ("question", "guess", "people", "margin")
    with pytest.raises(ValueError, match="`subgroup` must be a share"):
        CAMPUS.plan(n=600, subgroup=30)


def test_who_is_not_asked_does_not_count():
    found = survey(faculty(), cheated(show_if={"faculty": ["law"]})).plan(n=600)
    assert found["cheated"].n_people == 300
    assert found["cheated"].margin == pytest.approx(Z * 1.5 / math.sqrt(300))
    assert (
        "cheated is asked of some people only: 300 of 600 if the plain answers in its condition are equally common."
        in found.notes
    )


def test_guesses_can_be_given_and_an_anchor_is_its_own():
    found = CAMPUS.plan(n=600, prevalence={"cheated": 0.1, "hours": 20})
    assert found["cheated"].guess == "10 %"
    assert found["cheated"].margin == plan(CAMPUS["cheated"].design, prevalence=0.1, n=600).margin
    assert CAMPUS.plan(n=600, prevalence={"cheated": "1/10"})["cheated"] == found["cheated"]
    three = survey(faculty(options=["a", "b", "c"]), cheated()).plan(n=400, prevalence={"faculty": [0.8, 0.1, 0.1]})
    assert three["faculty"].guess == "as given"
    assert three["faculty"].margin == pytest.approx(Z * math.sqrt(0.16 / 400))
    assert found["hours"].guess == "mean 20"
    assert found["moon"].guess == "all no"
    assert found["moon"].margin == plan(CAMPUS["moon"].design, prevalence=0.0, n=600).margin
    die = forced("1/3", "1/6")  # whose margin differs between 0 and 1
    sure = [survey(cheated(design=die, anchor=one), check=False).plan(n=600)["cheated"].margin for one in ("no", "yes")]
    assert sure == [plan(die, prevalence=share, n=600).margin for share in (0.0, 1.0)]
    assert sure[0] != sure[1]
    with pytest.raises(ValueError, match="`prevalence` must be a mapping from question to guess, got 'cheat'"):
        CAMPUS.plan(n=600, prevalence={"cheat": 0.1})
    with pytest.raises(ValueError, match="question 'cheated'"):
        CAMPUS.plan(n=600, prevalence={"cheated": 10})


def test_plain_questions_have_the_usual_margin():
    age = Question("age", "Age?", bounds=(18, 98))
    found = survey(age, faculty(), cheated(), check=False).plan(n=400)
    assert found["age"].margin == pytest.approx(
        Z * 40 / math.sqrt(400)
    )  # people at both ends: a standard deviation of 40
    assert found["age"].subgroup_margin == pytest.approx(Z * 40 / math.sqrt(200))
    three = survey(faculty(options=["a", "b", "c"]), cheated()).plan(n=400)
    assert three["faculty"].margin == pytest.approx(Z * math.sqrt(2 / 9 / 400))


def test_where_next_to_nothing_would_be_learned_it_is_said():
    found = CAMPUS.plan(n=60)
    assert any(note.startswith("pressure: ± ") and "would say almost nothing" in note for note in found.notes)
    assert not any(note.startswith("faculty:") for note in found.notes)
    assert survey().plan(n=1)["cheated"].n_subgroup == 0
    assert plan_table(survey().plan(n=1))[2][-1] == "—"


def test_a_plan_at_its_limits():
    half = [(0.5, None), (0.499, None), (0.499, 0.5), (0.499, 0.499)]
    rows = [PlannedQuestion(f"q{i}", True, "50 %", 9, margin, 1.0, 3, small) for i, (margin, small) in enumerate(half)]
    told = _plan_notes(rows, {row.question: Fraction(1) for row in rows}, 9, 0.95)[1:]
    assert [note.partition(":")[0] for note in told] == ["q0", "q2"]
    assert "in the smallest subgroup" in told[1]
    assert (survey().plan(n=9, subgroup=1)["cheated"].n_subgroup, survey().plan(n=2)["cheated"].n_subgroup) == (9, 1)
    assert math.isfinite(survey().plan(n=2)["cheated"].subgroup_margin)  # one person
    assert math.isinf(survey().plan(n=1)["cheated"].subgroup_margin)
    for share in (0, -0.1, 1.01):
        with pytest.raises(ValueError, match=r"^`subgroup` must be a share above 0 and at most 1"):
            survey().plan(n=9, subgroup=share)
    numbers = {0: "0", 0.0121: "0.013", 0.12: "0.12", 1.01: "1.1", 9.9: "9.9", 10: "10", 13.01: "14", 1230.2: "1,231"}
    assert {number: _round_up(number) for number in numbers} == numbers


def test_a_margin_is_never_written_smaller_than_it_is():
    for n in range(100, 700, 37):
        for one in CAMPUS.plan(n=n).questions:
            number = float(margin_text(one, one.margin).removeprefix("± ").removesuffix(" points").replace(",", ""))
            assert number >= (100 if one.is_share else 1) * one.margin - 1e-9


def test_the_table_is_shown_and_can_be_taken_on():
    found = survey().plan(n=600)
    assert repr(found) == "<Plan of 'Exams' with 600 people: faculty ± 4.1 points, cheated ± 13 points at 95 %>"
    assert found._repr_html_().count("<tr>") == 3
    frame = found.to_frame()
    assert frame["margin"].tolist() == [one.margin for one in found.questions]
    with pytest.raises(KeyError, match="one of faculty, cheated"):
        found["nothing"]
    assert plan_questions("Exams", survey().questions, 600) == found
    with pytest.raises(ValueError, match="`n` must be at least 1"):
        survey().plan(n=0)


def test_clusters_and_weights_widen_margins():
    """The error of a plain share comes from sampling alone; for a randomized share, sampling is only part of it."""
    alike, drawn = survey().plan(n=600), survey().plan(n=600, deff=2, weighting=1.5)
    assert drawn["faculty"].margin == pytest.approx(math.sqrt(2 * 1.5) * alike["faculty"].margin)
    assert drawn["cheated"].margin == plan(warner("2/3"), prevalence=0.5, n=600, deff=2, weighting=1.5).margin
    assert 1.5 < (drawn["cheated"].margin / alike["cheated"].margin) ** 2 < 3


def test_wishes_of_a_survey_are_planned_with_its_designs():
    goals = {"cheated": [{"margin": 0.1}, {"slope": 1, "intercept": -1}]}
    found = survey().plan(goals=goals, prevalence={"cheated": 0.2}, response=0.5)
    assert found.rows[0].n == plan(warner("2/3"), prevalence=0.2, margin=0.1).n
    assert found.rows[1].n == plan_slope(warner("2/3"), slope=1, intercept=-1, power=0.8).n
    assert found.invited == 2 * found.n
    with pytest.raises(ValueError, match="exactly one of n and goals"):
        survey().plan()
    with pytest.raises(ValueError, match="randomized questions, got 'faculty'"):
        survey().plan(goals={"faculty": {"margin": 0.1}})
