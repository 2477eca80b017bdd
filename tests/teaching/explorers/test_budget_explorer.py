import math
from itertools import pairwise

import pytest

from toolkit import Pure, compose, warner
from toolkit.planning.disclosure import guess_rate, learned
from toolkit.teaching import explorers
from toolkit.teaching.explorers.budget_explorer import (
    EPSILONS,
    PRIORS,
    QUESTIONS,
    YEARS,
    budget_row,
    budget_table,
    fill_sentences,
    updated_belief,
)


@pytest.fixture
def explorer():
    return explorers.budget(0.5, questions=3, years=2, prior=0.2)


@pytest.mark.slow
def test_every_total_is_what_the_answers_compose_to():
    table = budget_table()
    for place in range(0, len(EPSILONS), 7):
        for count, total in list(zip(table["answers"], table["total"][place], strict=True))[::6]:
            assert total == pytest.approx(compose([Pure(EPSILONS[place])] * count).epsilon, rel=1e-5)


@pytest.mark.slow
def test_every_factor_is_e_to_the_total_up_to_a_total_of_100():
    """Above this total, nothing remains to be distinguished."""
    table = budget_table()
    for totals, factors in zip(table["total"], table["factor"], strict=True):
        for total, factor in zip(totals, factors, strict=True):
            assert factor == pytest.approx(math.exp(min(total, 100)), rel=1e-3 if total > 10 else 1e-4)


def test_a_belief_is_the_posterior_of_the_best_design_with_that_epsilon():
    for epsilon in (0.1, 0.5, 1.0, 3.0, 8.0):
        design = warner(epsilon=epsilon)
        for prior in PRIORS:
            lowest, highest = (step.after for step in learned(design, prior))
            assert updated_belief(prior, math.exp(epsilon)) == pytest.approx(highest, rel=1e-6)
            assert updated_belief(prior, math.exp(-epsilon)) == pytest.approx(lowest, rel=1e-6)


@pytest.mark.slow
def test_what_is_said_is_never_better_than_what_is_true():
    for epsilon in EPSILONS:
        row = budget_row(epsilon, 1)
        said = fill_sentences({name: f"{{{name}}}" for name in ("right", "low", "high")}, row, 1, 0.1)
        assert float(said["right"]) >= 100 * guess_rate(epsilon) - 1e-6
        assert float(said["high"]) >= 100 * updated_belief(0.1, math.exp(epsilon)) - 1e-4
        assert float(said["low"]) <= 100 * updated_belief(0.1, math.exp(-epsilon)) + 1e-4


@pytest.mark.slow
def test_what_one_answer_may_cost_adds_up_to_two_coins_and_not_more():
    table = budget_table()
    for count, each in zip(table["answers"], table["each"], strict=True):
        assert 0.98 * math.log(3) < count * float(each) <= math.log(3)


@pytest.mark.slow
def test_the_table_and_the_row_of_a_setting_agree():
    table = budget_table()
    for epsilon in EPSILONS[::9]:
        for questions in QUESTIONS[::4]:
            row, place = budget_row(epsilon, questions), EPSILONS.index(epsilon)
            for name in ("total", "factor"):
                assert row[name] == [table[name][place][table["answers"].index(questions * year)] for year in YEARS]


@pytest.mark.slow
def test_the_sentences_of_one_answer_hidden_by_two_coins():
    explorer = explorers.budget(warner("3/4").epsilon, prior=0.1)
    assert explorer.right_answer() == (75, "75")
    assert {name: text.replace("\u00a0", " ") for name, text in explorer.describe().items()} == {
        "icons": "Of 100 guesses between two equally likely secrets, on average at most 75 come out "
        "right; without the releases, 50.",
        "odds": "The odds between any two secrets shift by a factor of up to 3.00 (limits are rounded up).",
        "belief": "A belief of 10 % before becomes at least 3 % and at most 25 % after.",
        "bet": "A bet of 1 € on the secret that was fair before is worth up to 2.50 € after.",
        "total": "Questions per year: 1; years: 1; answers in total: 1. Together they cost ε = 1.10.",
        "each": "For the odds to shift by a factor of at most 3 in total, as with two coins, each answer may cost "
        "ε = 1.09.",
    }


def test_more_questions_and_more_years_cost_more(explorer):
    assert explorer.loss == Pure(3)
    explorer.years = 4
    assert explorer.loss == Pure(6) == compose([Pure(0.5)] * 12)
    explorer.questions = 13
    assert explorer.loss == Pure(26)
    assert explorer.row["questions"] == 13
    assert "answers in total: 52" in explorer.describe()["total"]


def test_a_budget_beyond_all_bounds_is_said_to_be_so():
    said = explorers.budget(10.0, questions=50, years=10, prior=0.01).describe()
    assert "up to 100,000 and more" in said["odds"]
    assert "at least 0 % and at most 100 %" in said["belief"]


def test_a_belief_before_is_never_rounded_to_certain():
    assert "A belief of 99.6 % before" in explorers.budget(prior=0.996).describe()["belief"]


def test_settings_of_epsilon_rise_by_at_most_two_thirds():
    """Only the step from 0.01 to 0.02 is larger."""
    assert list(EPSILONS) == sorted(set(EPSILONS))
    assert (EPSILONS[0], EPSILONS[-1]) == (0.01, 10.0)
    assert all(after <= before * 1.67 for before, after in pairwise(EPSILONS) if before >= 0.02)
