"""The result of planning: what it shows, compares and warns of."""

import dataclasses
import math
from functools import partial

import pytest

from toolkit import forced, k_ary, warner
from toolkit.local.shuffling.amplification import local_epsilon, shuffled
from toolkit.planning.planner import plan

PLAN = plan(warner, prevalence=0.2, margin=0.03, epsilon=1.0)


def test_a_plan_is_a_frozen_value_with_a_sentence():
    assert repr(PLAN) == "<Plan: 4,613 people, epsilon 1, margin ±3 points at 95 %; solved for n; warner>"
    with pytest.raises(dataclasses.FrozenInstanceError):
        PLAN.n = 1


def test_the_html_marks_the_answer_and_shows_what_it_rests_on():
    text = plan(
        forced("1/6", "1/6"), prevalence=0, detect=0.1, power=0.8, response=0.5, compliance={"random": 0.1}
    )._repr_html_()
    assert "<strong>" in text
    assert text.index("must arrive") < text.index("people to invite") < text.index("epsilon, the largest loss")
    assert "power to detect 0.1" in text
    assert "10 % do not follow the instructions" in text
    assert PLAN._repr_html_().count("<strong>") == 1
    assert "warner design; prevalence guessed as 0.2<" in PLAN._repr_html_()
    shares = plan(partial(k_ary, 3), prevalence=[0.2, 0.3, 0.5], n=100, epsilon=1.0)
    assert "prevalence guessed as given shares<" in shares._repr_html_()
    assert shares.se == pytest.approx(math.sqrt(max(shares.design.variance([0.2, 0.3, 0.5], 100))))
    assert "<strong>4,613</strong>" in PLAN._repr_html_()


@pytest.mark.slow
def test_the_comparison_has_four_ways_and_says_whom_to_trust():
    frame = PLAN.compare()
    assert list(frame.index) == ["direct", "local", "shuffled", "central"]
    assert "curator" in frame.loc["central", "who must be trusted"]
    assert "shuffler" in frame.loc["shuffled", "who must be trusted"]
    assert frame.loc["local", "n needed"] == PLAN.n
    assert frame.loc["direct", "n needed"] == PLAN.direct_n() == 683


@pytest.mark.slow
def test_what_the_shuffled_way_promises_is_kept():
    row = PLAN.compare().loc["shuffled"]
    assert shuffled(warner(epsilon=row["local epsilon"]), PLAN.n, 1e-6).epsilon <= 1.0
    assert row["noise se"] == pytest.approx(
        math.sqrt(warner(epsilon=row["local epsilon"]).variance(0.2, PLAN.n, respondents="fixed"))
    )


@pytest.mark.slow
def test_central_noise_is_root_two_over_n_epsilon():
    """Local noise is 68 times as large."""
    frame = plan(warner, prevalence=0.5, n=10_000, epsilon=1.0).compare()
    assert frame.loc["central", "noise se"] == pytest.approx(math.sqrt(2) / 10_000)
    ratio = math.sqrt(10_000) / (
        2 * math.sqrt(2) * math.sinh(0.5)
    )  # 67.848: sqrt(p (1 - p)) / (2 p - 1) is 1 / (2 sinh(1/2))
    assert frame.loc["local", "noise se"] / frame.loc["central", "noise se"] == pytest.approx(ratio, rel=1e-9)


@pytest.mark.slow
def test_local_central_and_direct_as_in_the_textbook_example():
    """n = 1000, epsilon = ln 3, prevalence 0.1: 0.0290, 0.0096, 0.0095."""
    frame = plan(warner, prevalence=0.1, n=1000, epsilon=math.log(3)).compare()
    assert frame["se"].drop("shuffled").round(4).to_dict() == {"direct": 0.0095, "local": 0.0290, "central": 0.0096}


@pytest.mark.slow
def test_the_inverse_table_of_shuffling():
    """n, wanted epsilon: noise of shuffled, local and central, from the closed forms at the local epsilons
    2.57 and 2.20.
    """
    for n, epsilon, hidden, local, central in ((1000, 0.5, 0.0095, 0.0626, 0.0028), (10_000, 0.1, 0.0038, 0.1, 0.0014)):
        frame = plan(warner, prevalence=0.5, n=n, epsilon=epsilon).compare()
        assert list(frame["noise se"].drop(["direct", "shuffled"])) == pytest.approx([local, central], rel=0.02)
        allowed = math.exp(local_epsilon(epsilon, n, 1e-6))
        assert frame.loc["shuffled", "noise se"] == pytest.approx(math.sqrt(allowed / n) / (allowed - 1), rel=0.01)
        assert round(frame.loc["shuffled", "noise se"], 4) == hidden


@pytest.mark.slow
def test_people_needed_by_each_way_reach_the_goal():
    frame = PLAN.compare()
    for name in ("shuffled", "central"):
        people = int(frame.loc[name, "n needed"])
        again = plan(warner, prevalence=0.2, n=people, epsilon=1.0).compare()
        assert again.loc[name, "margin"] <= 0.03 * 1.001
        assert frame.loc["direct", "n needed"] < people < frame.loc["local", "n needed"]


def test_a_given_design_is_compared_with_what_shuffling_it_would_promise():
    frame = plan(warner("3/4"), prevalence=0.1, n=1000).compare()
    assert frame.loc["shuffled", "epsilon"] == shuffled(warner("3/4"), 1000, 1e-6).epsilon
    assert frame.loc["shuffled", "se"] == frame.loc["local", "se"]
    assert frame.loc["central", "noise se"] == pytest.approx(math.sqrt(2) / (1000 * math.log(3)))


@pytest.mark.slow
def test_k_options_cost_a_curator_twice():
    """A replaced answer moves two counts."""
    frame = plan(partial(k_ary, 5), prevalence=[0.2] * 5, n=10_000, epsilon=1.0).compare()
    assert frame.loc["central", "noise se"] == pytest.approx(2 * math.sqrt(2) / 10_000)


def test_delta_is_checked():
    with pytest.raises(ValueError, match="strictly between 0 and 1"):
        PLAN.compare(delta=0)


def test_sensitivity_replans_at_other_truths():
    frame = PLAN.sensitivity()
    assert frame.loc[frame["prevalence"] == 0.2, "n"].item() == PLAN.n
    for row in frame.itertuples():
        assert row.n == plan(warner, prevalence=row.prevalence, margin=0.03, epsilon=1.0).n
    assert frame["n"].is_monotonic_increasing


def test_sensitivity_of_every_unknown():
    margins = plan(warner, prevalence=0.2, n=1000, epsilon=1.0).sensitivity([0.1, 0.5])
    assert list(margins["margin"]) == pytest.approx(
        [plan(warner, prevalence=x, n=1000, epsilon=1.0).margin for x in (0.1, 0.5)]
    )
    epsilons = plan(warner, prevalence=0.2, n=1000, margin=0.03).sensitivity([0.01, 0.5])
    assert epsilons["epsilon"].notna().tolist() == [True, False]  # at one half even direct questioning has ±3.1 points
    powers = plan(warner, prevalence=0.1, detect=0.2, n=1000, epsilon=1.0).sensitivity([0.05, 0.15])
    assert powers["power"].is_monotonic_decreasing


def test_sensitivity_of_several_shares_moves_them_to_even():
    frame = plan(partial(k_ary, 3), prevalence=[0.7, 0.2, 0.1], n=1000, epsilon=1.0).sensitivity()
    assert frame["prevalence"].iloc[0] == pytest.approx([1 / 3] * 3)
    assert len(frame) == 3


@pytest.mark.slow
def test_what_was_found_is_what_the_ways_are_compared_by():
    """A plan that was solved for its power or margin asks of the other ways what it has itself."""
    powerful = plan(warner, prevalence=0.1, detect=0.2, n=1000, epsilon=1.0)
    assert powerful.target.power == powerful.power
    assert powerful.direct_n() < 1000
    wide = plan(warner, prevalence=0.1, n=1000, epsilon=1.0)
    assert wide.target.margin == wide.margin
    assert wide.compare().loc["local", "n needed"] == 1000
