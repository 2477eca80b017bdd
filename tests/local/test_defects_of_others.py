"""Defects that were observed in rr 1.4.2, RRreg 0.7.6, RRTCS 0.0.4, GLMMRR 0.6.0, multi-freq-ldpy and pure-ldp, and
that this toolkit does not have.
"""

import math

import numpy as np
import pytest

from toolkit import forced_options, k_ary, kuk, warner


def test_p_below_one_half_is_legal() -> None:
    """rr: "negative weights not allowed" for mirrored questions with p < 1/2."""
    estimate = warner(0.3).estimate_counts([400, 600])
    assert math.isclose(float(estimate), 0.25)
    assert estimate.interval().low < 0.25 < estimate.interval().high


def test_a_boundary_estimate_has_an_honest_standard_error() -> None:
    """RRreg: Warner, n = 1000, 250 yes, p = 0.7 gives 1e-8 with standard error 2.0e-6; the moment estimate is -0.125 ±
    0.034.
    """
    design = warner(0.7)
    raw = design.estimate_counts([750, 250])
    assert math.isclose(float(raw), -0.125)
    assert round(raw.se, 3) == 0.034
    assert "250 of 1,000 reports were yes, where the design makes at least 300 on average (p = 3e-04)" in raw.notes[0]
    mle = design.estimate_counts([750, 250], method="mle")
    assert float(mle) == 0.0
    assert 0.03 < mle.se < 0.04


def test_the_empty_interval_is_reported_not_hidden() -> None:
    interval = warner(0.7).estimate_counts([750, 250]).interval()
    assert interval.empty
    assert math.isnan(interval.low)
    assert math.isnan(interval.high)
    assert "contradict" in repr(interval)
    bayes = warner(0.7).estimate_counts([750, 250]).interval(method="bayes")
    assert not bayes.empty
    assert bayes.low == 0.0
    assert 0 < bayes.high < 0.05


def test_one_negative_category_does_not_spoil_the_others() -> None:
    """RRreg: a k-category forced response with one negative moment estimate is NA for all categories."""
    estimate = forced_options(3, [0.1, 0.1, 0.1]).estimate_counts([700, 280, 20])
    assert np.all(np.isfinite(estimate.value))
    assert np.all(np.isfinite(estimate.se))
    assert estimate.value[2] < 0
    assert math.isclose(estimate.value.sum(), 1)
    mle = forced_options(3, [0.1, 0.1, 0.1]).estimate_counts([700, 280, 20], method="mle")
    assert mle.value[2] == 0
    assert math.isclose(mle.value.sum(), 1)


def test_zero_red_cards_is_a_legal_answer() -> None:
    """RRTCS: Kuk rejects z = 0."""
    estimate = kuk(0.8, 0.2, draws=3).estimate([0, 0, 1, 3, 0, 2])
    assert math.isfinite(float(estimate))


@pytest.mark.slow
def test_the_unbiased_estimate_is_not_clipped_and_renormalized() -> None:
    """multi-freq-ldpy: a true share of 0.5 has mean estimate 0.30 at k = 16, eps = 0.5, n = 2000.

    200 surveys with a fixed seed; 4.5 standard errors of the mean, false alarms 7e-6.
    """
    design, rng = k_ary(16, epsilon=0.5), np.random.default_rng(11)
    shares = np.array([0.5, *[0.5 / 15] * 15])
    tallies = rng.multinomial(2000, shares @ design.matrix, size=200)
    values = [design.estimate_counts(tally).value[0] for tally in tallies]
    assert abs(np.mean(values) - 0.5) < 4.5 * math.sqrt(design.variance(shares, 2000)[0] / 200)


def test_the_users_random_state_is_left_alone() -> None:
    """cWise: set.seed inside the estimator overwrites the state of the user's generator."""
    np.random.seed(1)  # noqa: NPY002
    before = np.random.get_state()[1].copy()  # noqa: NPY002
    design = warner(0.7)
    design.estimate(design.randomize([True] * 5000))
    assert np.array_equal(before, np.random.get_state()[1])  # noqa: NPY002


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 5.0])
def test_estimates_need_no_starting_values_and_are_deterministic(epsilon: float) -> None:
    """rr: 30 of 100 seeds fail on its own example, because EM starts from random values."""
    design = kuk(0.6, 0.4, draws=4)
    counts = [3, 10, 20, 40, 7]
    assert design.estimate_counts(counts, method="mle").value == design.estimate_counts(counts, method="mle").value
    assert k_ary(4, epsilon=epsilon).estimate_counts([1, 0, 0, 0], method="mle").value.tolist() == [1, 0, 0, 0]
