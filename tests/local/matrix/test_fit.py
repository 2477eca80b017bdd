"""The fit of designs in which one report speaks for several options."""

import math

import numpy as np
import pytest
from scipy.stats import binom

from toolkit import Design, forced, k_ary, kuk, warner
from toolkit.local.matrix.likelihood import agreement, seen
from toolkit.local.matrix.moments import interval_basis

CARDS = kuk("4/5", "1/5", draws=2)
JOINT = forced("1/6", "1/6").joint(warner("3/4"))


@pytest.mark.parametrize(
    ("counts", "share", "p"),
    [
        ([150, 100, 50], 0.2166667, 0.6218),
        ([180, 40, 80], 0.28205128, 6.9e-14),
        ([60, 200, 40], 0.38666667, 1.05e-34),
        ([300, 0, 0], 0, 3.75e-59),
    ],
)
def test_with_more_reports_than_truths_the_shape_is_tested_too(counts, share, p):
    """Likelihood ratios 0.243348, 56.094552 and 150.997708, one degree of freedom; the last has its maximum
    at zero.
    """
    assert CARDS.estimate_counts(counts).fit.p == pytest.approx(p, rel=5e-3)
    assert CARDS.estimate_counts(counts, method="mle").value == pytest.approx(share, abs=6e-8)


def test_a_shape_that_no_share_makes_is_said_beside_the_interval():
    estimate = CARDS.estimate_counts([180, 40, 80])
    assert "fits badly: p = 7e-14)" in repr(estimate)
    assert estimate.notes[0].startswith(
        "the reports hardly agree with any share (p = 7e-14); the instructions were not followed"
    )
    assert not estimate.to_frame()["empty"].any()


def test_a_square_design_fits_when_all_estimates_are_shares_and_not_when_one_is_far_below():
    assert JOINT.estimate_counts([849, 438, 402, 311]).fit.p == 1
    wrong = JOINT.estimate_counts([700, 300, 250, 50])
    assert wrong.fit.p < 0.01
    assert "likelihood ratio" in wrong.fit.method
    assert "for 1 of 4 options no share agrees" in wrong.notes[0]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("design", "truth", "n"),
    [
        (CARDS, [0.7, 0.3], 100),
        (CARDS, [1, 0], 100),
        (kuk("4/5", "1/5", draws=5), [1, 0], 100),
        (JOINT, [0.7, 0.25, 0.05, 0], 300),
        (JOINT, [0.6, 0.15, 0.1, 0.15], 300),
    ],
    ids=["inside", "edge", "five cards", "joint, edge", "joint, inside"],
)
def test_a_survey_that_follows_the_design_is_suspected_about_as_rarely_as_it_says(
    design: Design, truth: list[float], n: int
):
    """300 surveys: at most 10 % below 0.05. At a true 0.065, the most seen in 600 surveys, 1 % of seeds would
    fail.
    """
    rng = np.random.default_rng(5)
    tallies = rng.multinomial(n, np.array(truth) @ design.matrix, size=300)
    assert np.mean([design.estimate_counts(tally).fit.p < 0.05 for tally in tallies]) <= 0.1


@pytest.mark.slow
def test_beyond_64_options_the_exact_tails_are_used():
    wide = k_ary(9, epsilon=3.0).joint(k_ary(9, epsilon=3.0))
    counts = np.full(81, 10.0)
    assert "binomial" in wide.estimate_counts(counts).fit.method


def test_a_design_that_hardly_tells_its_options_apart_is_contradicted_by_nothing(monkeypatch):
    def unsettled(*_):
        raise ArithmeticError

    monkeypatch.setattr("toolkit.local.matrix.likelihood.maximum_likelihood", unsettled)
    counts = np.array([700.0, 300, 250, 50])
    found = agreement(
        JOINT.matrix, None, counts, interval_basis(JOINT.matrix, np.linalg.inv(JOINT.matrix), counts, None)
    )
    assert "binomial" in found.method
    assert found.p > 0.05


def test_what_came_is_compared_with_what_the_design_makes():
    few, many, fine = (seen(np.array([300.0 - yes, yes]), forced("1/6", "1/6").matrix, "yes") for yes in (10, 290, 100))
    assert few == "10 of 300 reports were yes, where the design makes at least 50 on average"
    assert many == "290 of 300 reports were yes, where the design makes at most 250 on average"
    assert fine == ""
    assert [seen(np.array([300.0 - yes, yes]), forced("1/6", "1/6").matrix, "yes") for yes in (50, 250)] == ["", ""]


def test_where_each_option_has_its_own_report_the_tail_is_exact_and_one_for_all_options():
    """One yes of ten, where a quarter is the least: the tail is 0.244. For three options it is 2 * 3 times
    the least tail.
    """
    two, three = (warner("3/4").estimate_counts([9, 1]).fit, k_ary(3, epsilon=1.0).estimate_counts([20, 1, 9]).fit)
    assert two.p == pytest.approx(binom.cdf(1, 10, 0.25), rel=1e-9)
    assert three.p == pytest.approx(2 * 3 * binom.cdf(1, 30, 1 / (math.e + 2)), rel=1e-6)
