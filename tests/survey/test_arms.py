"""Two versions of one question for randomly chosen people: drawn, stored, planned and compared."""

import math
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from tests.survey.desk import payload, sent
from tests.survey.samples import cheated, faculty, survey
from toolkit import warner
from toolkit.survey.consent.page_data import page_words
from toolkit.survey.questions.question import Question, arm_pairs
from toolkit.survey.results import estimate
from toolkit.survey.results.comparing import ArmDifference, arm_differences
from toolkit.survey.serving.page import page_content
from toolkit.survey.serving.payload import PayloadError, parse_submission
from toolkit.survey.spec import Survey
from toolkit.texts.phrases import LANGUAGES, phrases

ARMS = {"direct": 0.3, "randomized": 0.7}
TEXT = "Have you ever cheated on an exam?"


def asked(arms: Any = None, **changes: Any) -> Survey:
    direct = Question("direct", TEXT, options=["no", "yes"], show_if={"arm": ["direct"]})
    hidden = Question("hidden", TEXT, design=warner("3/4"), show_if={"arm": ["randomized"]})
    return survey(faculty(), direct, hidden, arms=arms or ARMS, check=False, **changes)


def test_the_arm_is_a_column_with_exact_probabilities() -> None:
    """The arm is drawn at random."""
    made = asked()
    assert made.questions[0].draw_probabilities == (Fraction(3, 10), Fraction(7, 10))
    (item,) = [one for one in page_content(made)["questions"] if one["name"] == "arm"]
    assert (item["weights"], item["screens"]) == ([3, 7], [])
    assert (
        Survey.from_dict(made.to_dict())
        == made
        == Survey.from_dict(asked({"direct": "3/10", "randomized": "7/10"}).to_dict())
    )
    assert made.hash != asked({"direct": 0.4, "randomized": 0.6}).hash
    assert replace(made, rehearsal=True).questions == made.questions
    assert repr(made).startswith("<Survey 'Exams': 3 questions, 1 randomized")


def test_the_loss_is_that_of_the_most_expensive_arm() -> None:
    """The losses of the arms do not add up."""
    first = Question("first", "A?", design=warner("2/3"), show_if={"arm": ["a"]})
    second = Question("second", "A?", design=warner("3/4"), show_if={"arm": ["b"]})
    made = survey(first, second, cheated(), arms={"a": 0.5, "b": 0.5})
    assert made.loss == warner("3/4").loss + cheated().loss


@pytest.mark.parametrize("language", LANGUAGES)
def test_people_are_told_that_chance_chooses_and_which_questions_are_plain(language: str) -> None:
    text = {language: TEXT}
    direct = Question("direct", text, options=["no", "yes"], show_if={"arm": ["direct"]})
    hidden = Question("hidden", text, design=warner("3/4"), show_if={"arm": ["randomized"]})
    made = Survey({language: "T"}, [direct, hidden], consent={language: "C"}, languages=[language], arms=ARMS)
    told = made.consent_text()
    assert phrases(language)["arms"] in told
    assert phrases(language)["arm"] not in told, "nobody is asked for it"
    assert page_words(made)[language]["review_arms"] in page_words(made)[language]["review_note"]


@pytest.mark.parametrize(
    ("arm", "direct", "hidden", "good"),
    [
        (0, 1, None, True), (1, None, 1, True), (0, None, 1, False), (1, 1, None, False), (0, 1, 1, False),
        (None, 1, None, False), (2, 1, None, False),
    ],
)  # fmt: skip
def test_a_report_answers_the_questions_of_its_arm_and_no_others(
    arm: Any, direct: Any, hidden: Any, good: bool
) -> None:
    made = asked()
    answers = {"arm": arm, "faculty": 1, "direct": direct, "hidden": hidden}
    raw = sent(payload(made, answers=answers, understood=None))
    if good:
        assert parse_submission(made, raw)
    else:
        with pytest.raises(PayloadError):
            parse_submission(made, raw)


def test_plain_twins_need_different_arms() -> None:
    """A plain version of a randomized question is rejected if any person is asked both."""
    twin = Question("direct", TEXT, options=["no", "yes"])
    with pytest.raises(ValueError, match="must not have the text of a randomized question"):
        survey(twin, Question("hidden", TEXT, design=warner("3/4"), show_if={"arm": ["randomized"]}), arms=ARMS)
    with pytest.raises(ValueError, match="arms cannot be asked on paper"):
        asked().consent_text(paper=True)


def reports(n: int, seed: int, admit: float) -> pd.DataFrame:
    """A third have cheated; of the people who are asked directly, only some admit it."""
    rng = np.random.default_rng(seed)
    direct, truth, draws = rng.random(n) < 0.3, rng.random(n) < 1 / 3, rng.random(n)
    plain = np.where(truth & (draws < admit), "yes", "no")
    hidden = np.where(truth == (draws < 0.75), "yes", "no")
    return pd.DataFrame(
        {
            "arm": np.where(direct, "direct", "randomized"),
            "faculty": "law",
            "direct": np.where(direct, plain, None),
            "hidden": np.where(direct, None, hidden),
        }
    )


def test_results_compare_the_two_ways_of_asking() -> None:
    frame = reports(6000, 1, admit=0.5)
    found = estimate(asked(), frame)
    (one,) = found.arms()
    assert (one.reference, one.compared, one.answer) == ("direct", "hidden", "yes")
    n, share = (frame["direct"].notna()).sum(), (frame["direct"] == "yes").sum() / (frame["direct"].notna()).sum()
    m, seen = (frame["hidden"].notna()).sum(), (frame["hidden"] == "yes").sum() / (frame["hidden"].notna()).sum()
    assert one.value == pytest.approx((seen - 0.25) / 0.5 - share, abs=1e-9)
    assert one.se == pytest.approx(math.sqrt(share * (1 - share) / n + seen * (1 - seen) / 0.25 / m), rel=2e-3)
    assert any(note.startswith("Asked in two ways, yes: hidden 0.") for note in found.notes())
    for name in ("direct", "hidden"):  # with a single version there is nothing to compare
        assert arm_differences(asked().questions, {name: found[name]}.get) == ()
    with pytest.raises(ValueError, match="leave `by` out"):
        estimate(asked(), frame, by="faculty").arms()


@pytest.mark.slow
def test_without_a_difference_it_is_off_by_as_much_as_its_error_says() -> None:
    """In 100 surveys, the sum of the squared errors in units of the standard error has a chi-squared distribution: it
    exceeds these limits once in 5,000 times. If standard errors are too small by a factor of 0.7, 9 of 10 such tests
    detect it.
    """
    made = survey(*asked().questions[2:], arms=ARMS, check=False)
    arm_differences = (estimate(made, reports(1500, seed, admit=1.0)).arms() for seed in range(100))
    low, high = stats.chi2.ppf([1e-4, 1 - 1e-4], 100)
    assert low < sum((one.value / one.se) ** 2 for (one,) in arm_differences) < high


def test_a_difference_has_a_p_value_as_the_normal_law_gives_it() -> None:
    one = ArmDifference("a", "b", "yes", (0.1, 0.1 + 1.959963984540054 * 0.05), 1.959963984540054 * 0.05, 0.05)
    assert one.p_value == pytest.approx(0.05)
    assert one.interval()[0] == pytest.approx(0, abs=1e-12)
    assert math.isnan(ArmDifference("a", "b", "yes", (0.0, 0.0), 0.0, 0.0).p_value)


def test_only_questions_of_one_text_and_different_arms_are_compared() -> None:
    assert [(one.name, other.name) for one, other in arm_pairs(asked().questions)] == [("direct", "hidden")]
    other = Question("other", "Another?", design=warner("3/4"), show_if={"arm": ["direct"]})
    assert arm_pairs([other, *asked().questions[1:2]]) == []


def test_a_plan_has_the_margin_of_the_difference() -> None:
    """It counts the people of each arm."""
    plan = asked().plan(1000)
    assert (plan["direct"].n_people, plan["hidden"].n_people) == (300, 700)
    assert "arm" not in [one.question for one in plan.questions]
    apart = math.hypot(plan["direct"].margin, plan["hidden"].margin)
    assert any(f"hidden minus direct: ± {math.ceil(1000 * apart - 1e-9) / 10}" in note for note in plan.notes)
