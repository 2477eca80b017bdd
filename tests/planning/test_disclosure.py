"""Information from one report: odds, bets, guesses and tests are within the limits of epsilon."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

from tests.slowly import each
from toolkit import Design, forced, k_ary, kuk, mangat, triangular, unrelated, warner
from toolkit.planning.disclosure import bet, guess_rate, guess_rate_of, learned, people_at_equal_epsilon, roc, roc_limit

DESIGNS = [warner("3/4"), warner("1/4"), forced("1/6", "1/3"), unrelated(0.7, 0.3), kuk("4/5", "1/5", draws=2)]


@each(prior=[0.01, 0.1, 0.5, 0.9], design=DESIGNS)
def test_beliefs_odds_and_bets_follow_bayes_and_stay_within_epsilon(design, prior):
    steps = learned(design, prior)
    assert sum(step.chance for step in steps) == pytest.approx(1)
    assert sum(step.chance * step.after for step in steps) == pytest.approx(prior)
    for step in steps:
        odds = step.after / (1 - step.after) / (prior / (1 - prior))
        assert odds == pytest.approx(step.odds_factor)
        assert abs(math.log(step.odds_factor)) <= design.epsilon + 1e-12
        assert step.stake_factor <= bet(design.epsilon) + 1e-12
    assert max(abs(math.log(step.odds_factor)) for step in steps) == pytest.approx(design.epsilon)


def test_a_fair_bet_on_a_rare_answer_gains_nearly_all_that_epsilon_allows():
    assert max(step.stake_factor for step in learned(warner("3/4"), 1e-9)) == pytest.approx(bet(math.log(3)))


def test_an_insurer_reads_a_sentence():
    yes = learned(warner("3/4"), 0.1)[1]
    assert str(yes) == (
        "of people who report “yes”, about 25 in 100 have it; before the report it was 10. "
        "Nothing more can be concluded about this person."
    )


def test_a_proof_that_the_answer_is_no_is_a_factor_of_zero():
    assert learned(triangular("1/4"), 0.1)[0].odds_factor == 0


@pytest.mark.parametrize("design", DESIGNS, ids=str)
def test_the_best_guess_is_within_its_limit_and_warner_attains_it(design):
    assert guess_rate_of(design) <= guess_rate(design.epsilon) + 1e-12
    assert guess_rate_of(warner(epsilon=design.epsilon)) == pytest.approx(guess_rate(design.epsilon), rel=1e-8)


@pytest.mark.parametrize("design", [*DESIGNS, mangat("1/2")], ids=str)
def test_no_test_of_reports_leaves_the_region_of_epsilon(design):
    """Every subset of reports lies under the curve."""
    corners = roc(design)
    assert corners[0].tolist() == [0, 0]
    assert corners[-1] == pytest.approx([1, 1])
    if math.isfinite(design.epsilon):
        assert np.all(corners[:, 1] <= roc_limit(corners[:, 0], design.epsilon) + 1e-12)
    reports = range(len(design.report_options))
    for size in range(len(design.report_options) + 1):
        for chosen in itertools.combinations(reports, size):
            false, found = design.matrix[:, list(chosen)].sum(axis=1)
            assert found <= np.interp(false, corners[:, 0], corners[:, 1]) + 1e-12


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 3.0])
def test_the_limit_of_tests_is_warners_curve(epsilon):
    """Its only corner lies on both lines."""
    corner = roc(warner(epsilon=epsilon))[1]
    for share in (0.2, 0.5, 0.9):
        x = corner[0] + share * (1 - corner[0])
        assert roc_limit(x, epsilon) == pytest.approx(corner[1] + share * (1 - corner[1]), rel=1e-8)
        assert roc_limit(share * corner[0], epsilon) == pytest.approx(share * corner[1], rel=1e-8)


@pytest.mark.slow
def test_warner_is_the_best_two_by_two_design_at_every_epsilon_by_search():
    """All 2 x 2 designs on a grid of 12ths: none needs fewer people than Warner's design of the same epsilon."""
    for s, f in itertools.product(range(1, 12), repeat=2):
        if s != f:
            design = Design([[12 - f, f], [12 - s, s]], 12, ("no", "yes"))
            for prevalence in (0.01, 0.2, 0.5, 0.9):
                assert people_at_equal_epsilon(design, prevalence) >= 1 - 1e-6


def test_the_unrelated_question_at_equal_epsilon():
    """3.05 / 2.61 times direct questioning at prevalence 0.1."""
    assert people_at_equal_epsilon(unrelated(0.7, 0.3), 0.1) == pytest.approx(3.05 / 2.61, abs=5e-3)


def test_who_is_sure_learns_nothing_and_no_loss_gives_nothing_away():
    assert [step.after for prior in (0, 1) for step in learned(warner("3/4"), prior)] == [0, 0, 1, 1]
    assert {step.stake_factor for prior in (0, 1) for step in learned(warner("3/4"), prior)} == {1}
    assert (bet(0), guess_rate(0)) == (1, 0.5)
    assert roc_limit([0, 0.3, 1], 0).tolist() == [0, 0.3, 1]


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: learned(warner("3/4"), Fraction(-1, 1000)), "between 0 and 1"),
        (lambda: learned(warner("3/4"), 1.1), "between 0 and 1"),
        (lambda: learned(k_ary(3, epsilon=1.0), 0.1), "two options"),
        (lambda: roc(k_ary(3, epsilon=1.0)), "two options"),
        (lambda: people_at_equal_epsilon(mangat("1/2"), 0.1), "`design` must have two options and a finite epsilon"),
        (lambda: people_at_equal_epsilon(k_ary(3, epsilon=1.0), [0.5, 0.3, 0.2]), "two options and a finite epsilon"),
        (lambda: bet(Fraction(-1)), "negative"),
        (lambda: roc_limit([-1e-6, 0.5], 1.0), "shares"),
        (lambda: roc_limit([0.5, 1.2], 1.0), "shares"),
    ],
)
def test_what_makes_no_sense_is_refused(call, words):
    with pytest.raises(ValueError, match=words):
        call()
