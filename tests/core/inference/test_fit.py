"""Reports that contradict their design: exact tails, and the notes about them."""

import math

import numpy as np
import pytest
from scipy.special import xlogy
from scipy.stats import binom, norm

from toolkit import crosswise, forced, forced_options, k_ary, warner
from toolkit.core.inference.fit import DesignFit, boundary_note, edge_fit, fit_notes, format_p, wald_fit
from toolkit.core.inference.intervals import Normal, Shares
from toolkit.local import oracles
from toolkit.local.numeric import one_bit

DIE = forced("1/6", "1/6")


@pytest.mark.parametrize(
    ("design", "counts", "value", "z", "p", "ratio"),
    [
        (DIE, [290, 10], -0.2, -6.196773, 3.03095e-13, 53.894845),
        (DIE, [20, 0], -0.25, -2.0, 0.0260841, 7.292862),
        (DIE, [260, 40], -0.05, -1.549193, 0.067528, 2.543287),
        (DIE, [10, 290], 1.2, 6.196773, 3.03095e-13, 53.894845),
        (warner("3/4"), [95, 5], -0.4, -4.618802, 1.17001e-07, 28.819489),
        (crosswise("0.15"), [5, 95], -0.142857, -2.800560, 0.00155265, 10.146748),
    ],
)
def test_the_fit_is_the_binomial_tail_at_the_nearest_edge(design, counts, value, z, p, ratio):
    """Reference: the binomial law, computed apart from this code; so were the score at the edge and the
    likelihood ratio of the best share, which say the same for large samples.
    """
    found, best = design.estimate_counts(counts), design.estimate_counts(counts, method="mle").value
    assert found.value == pytest.approx(value, abs=1e-6)
    assert found.fit.p == pytest.approx(p, rel=1e-5)
    assert found.test(float(best)).statistic == pytest.approx(z, abs=1e-6)
    assert likelihood_ratio(design, counts, [1 - best, best]) == pytest.approx(ratio, abs=1e-6)
    assert DIE.estimate_counts([200, 100]).fit.p == 1


def likelihood_ratio(design, counts, shares) -> float:
    """Twice the log-likelihood ratio of the observed shares of reports and the shares that these truths imply."""
    seen = np.array(counts)
    return float(2 * xlogy(seen, seen / seen.sum() / (np.array(shares) @ design.matrix)).sum())


@pytest.mark.parametrize(
    ("counts", "ratio", "p"), [([10, 60, 80, 80, 70], 11.189058, 0.000754517), ([22, 70, 70, 70, 68], 0.185957, None)]
)
def test_of_five_options_the_likeliest_shares_fit_as_well_as_any(counts, ratio: float, p: float | None):
    """Ratios by another program, whose bootstrap of the second has p = 0.35; ours is at least that."""
    design = forced_options(5, ["0.08"] * 5)
    best = design.estimate_counts(counts, method="mle")
    assert likelihood_ratio(design, counts, best.value) == pytest.approx(ratio, abs=1e-6)
    assert best.fit.p == pytest.approx(10 * p, rel=1e-5) if p else best.fit.p > 0.35


def test_a_contradiction_of_the_design_is_stated_in_every_display():
    """The text, the HTML, the notes and the data frame of an estimate say when no share fits its reports."""
    estimate = DIE.estimate_counts([290, 10])
    assert repr(estimate).startswith("<Estimate -0.200 (standard error 0.016; no share fits at 95 %: p = 3e-13)")
    assert "<td>no share fits at 95 %: p = 3e-13</td>" in estimate._repr_html_()
    (note,) = estimate.notes
    assert note.startswith(
        "no share agrees with these reports at 95 %: 10 of 300 reports were yes, where the design makes at least 50"
    )
    assert (
        "(p = 3e-13); the instructions were not followed, or another design was used, or it is chance; do "
        "not publish" in note
    )
    assert note in estimate._repr_html_().replace("&#x27;", "'")
    row = estimate.to_frame().loc["yes"]
    assert row["empty"]
    assert np.isnan(row["low"])
    assert np.isnan(row["high"])
    assert row["fit p"] == pytest.approx(3.03e-13, rel=1e-3)


@pytest.mark.parametrize("method", ["moment", "mle", "simplex"])
def test_an_estimate_that_was_pulled_inside_says_it_too(method):
    estimate = DIE.estimate_counts([10, 290], method=method)
    assert "at most 250 on average" in estimate.notes[0]
    assert "no share fits" in repr(estimate)


@pytest.mark.slow
def test_no_interval_is_written_as_a_point():
    """All counts of 300 through a die: once 0.000 to 0.000 for every count below 38."""
    for yes in range(301):
        _, _, _, interval = DIE.estimate_counts([300 - yes, yes]).text_rows()[0]
        if not interval.startswith("no share fits"):
            low, high = interval.split(" to ")
            assert low != high


@pytest.mark.slow
def test_misfit_is_noted_if_the_interval_is_empty_or_p_is_below_5_percent():
    """For every count of 300 reports, the notes and the text mention the misfit in exactly these cases."""
    for yes in range(301):
        estimate = DIE.estimate_counts([300 - yes, yes])
        contradicts = bool(estimate.interval().empty) or estimate.fit.p < 0.05
        assert ("reports" in " ".join(estimate.notes)) == contradicts
        assert ("fits" in repr(estimate)) == contradicts


@pytest.mark.slow
def test_a_survey_that_follows_the_design_is_rarely_suspected():
    """The fit is rejected in at most 5 % of such surveys. By enumeration, at the edges and between."""
    for design, n in ((DIE, 300), (warner(epsilon=1.0), 60), (crosswise("0.15"), 37)):
        ps = np.array([design.estimate_counts([n - yes, yes]).fit.p for yes in range(n + 1)])
        for prevalence in (0, 0.02, 0.5, 1):
            chance = binom.pmf(
                np.arange(n + 1), n, design.matrix[0, 1] * (1 - prevalence) + design.matrix[1, 1] * prevalence
            )
            assert chance @ (ps < 0.05) <= 0.05


def test_options_that_belong_together_share_one_adjusted_p_value():
    """The p-value is adjusted for the number of options. k-ary, 5 options with 0.08 for each that is not the truth:
    10 of 300 has a tail of 0.000754517.
    """
    shares = Shares.from_support(np.array([10.0, 60, 80, 80, 70]), 300, np.full(5, 0.68), np.full(5, 0.08))
    assert edge_fit(shares, together=True).p == pytest.approx(10 * 0.000754517, rel=1e-5)
    each = edge_fit(shares, together=False).p
    assert each == pytest.approx([0.000754517, 1, 1, 1, 1], rel=1e-5)


@pytest.mark.parametrize(
    ("far", "near", "tail"), [(30, 60, binom.cdf(30, 1000, 0.1)), (560, 97, binom.sf(559, 1000, 0.5))]
)
def test_of_very_many_options_the_farthest_decides_on_either_side(far: int, near: int, tail: float):
    counts = np.full(5000, 100.0)
    counts[17], counts[4000] = far, near
    shares = Shares.from_support(counts, 1000, np.full(5000, 0.5), np.full(5000, 0.1))
    assert edge_fit(shares, together=True).p == pytest.approx(10_000 * tail)


def test_no_p_value_of_a_fit_is_above_one():
    """Barely outside: each tail is about one half, and six tails sum to three."""
    shares = Shares.from_support(np.array([79.0, 110, 111]), 1000, np.full(3, 0.5), np.full(3, 0.08))
    assert shares.value[0] < 0
    assert edge_fit(shares, together=True).p == 1
    assert wald_fit(Normal(np.array([-0.001, 0.5, 0.501]), np.full(3, 0.05))).p == 1


def test_the_normal_fit_counts_two_tails_for_each_of_several_shares():
    """A single share counts one tail. Two standard errors outside, on either side; a share without a value has no
    fit.
    """
    tail = norm.cdf(-2)
    for outside in (-0.1, 1.1):
        assert wald_fit(Normal(np.array([outside, 0.4, 0.6]), np.full(3, 0.05))).p == pytest.approx(6 * tail)
        assert wald_fit(Normal(np.array([outside]), np.array([0.05]))).p == pytest.approx(tail)
    assert np.isnan(wald_fit(Normal(np.array([np.nan]), np.array([0.05]))).p)


def test_the_doubtful_option_is_marked_and_the_p_value_is_that_of_all():
    estimate = k_ary(["a", "b", "c"], epsilon=2.0).estimate_counts([2, 150, 148])
    assert "a: -0.1467 (se 0.0069; no share fits at 95 %); b:" in repr(estimate)
    assert f"fits badly: {estimate.fit.words()}" in repr(estimate)
    assert "for 1 of 3 options no share agrees with the reports at 95 %" in estimate.notes[0]
    assert estimate.to_frame()["empty"].tolist() == [True, False, False]


def test_among_many_options_chance_is_named_before_people_are_suspected():
    oracle = oracles.subset(200, 1.0)
    estimate = oracle.estimate(oracle.randomize(np.zeros(2000, dtype=int), np.random.default_rng(3)))
    assert np.any(estimate.interval().empty)
    assert not estimate.fit.doubtful
    assert "chance alone does this to about 1 in 40 of the options that nobody has" in estimate.notes[0]
    assert "instructions" not in " ".join(estimate.notes)


def test_oracles_boxes_and_one_bit_means_say_it_too():
    oracle = oracles.subset(["a", "b", "c"], 1.0)
    assert "no share fits at 95 %" in repr(oracle.estimate_counts([1, 300, 299], 300))
    boxes = oracles.tick_boxes(["a", "b"], 1.0)
    estimate = boxes.estimate_counts([1, 50], [100, 100])
    assert "a: " in repr(estimate)
    assert "; no share fits at 95 %: p = " in repr(estimate)
    assert estimate.to_frame()["fit p"]["b"] == 1
    mean = one_bit((0, 10), 1.0).estimate_counts([300, 10])
    assert "no mean fits at 95 %" in repr(mean)
    assert mean.notes[0].startswith("no mean agrees with these reports")


def test_a_p_value_has_two_digits_and_below_a_thousandth_one():
    words = {0.0: "p < 1e-300", 1e-300: "p = 1e-300", 0.00094: "p = 9e-04", 0.001: "p = 0.001", 0.02649: "p = 0.026"}
    assert {p: format_p(p) for p in words} == words
    doubts = {0.05: False, math.nextafter(0.05, 0): True, math.nan: False}
    assert {p: DesignFit(p, "a test").doubtful for p in doubts} == doubts


def test_a_fit_that_is_no_question_has_no_words():
    shares = Shares.from_support(np.array([100.0]), 300, np.array([5 / 6]), np.array([1 / 6]))
    assert fit_notes(edge_fit(shares, together=True), shares) == ()
    for far in (10.0, 290.0):  # below what the design makes, and above it
        some = Shares.from_support(np.array([100.0, far, 150.0]), 300, np.full(3, 5 / 6), np.full(3, 1 / 6))
        (note,) = fit_notes(DesignFit(1.0, ""), some)
        assert note.startswith("for 1 of 3 options no share agrees with the reports at 95 %")
    assert not DesignFit(np.array([np.nan, np.nan]), "").doubtful
    assert DesignFit(np.array([np.nan, 0.01]), "").doubtful
    assert not DesignFit(np.array([0.03, 0.9]), "").doubtful


def test_a_share_outside_is_said_and_one_inside_is_not() -> None:
    assert boundary_note(-0.1)[0].startswith("the estimate lies outside 0 to 1")
    assert boundary_note(np.array([-0.1, 0.5, 1.2]), "simplex")[0].startswith("2 of 3 estimates lie outside")
    assert boundary_note(-0.1)[0].endswith("; use it in averages, and maximum likelihood (mle) for display")
    assert boundary_note(-0.1, None)[0].endswith("; use it in averages")
    assert boundary_note(np.array([0.0, 1.0])) == ()
    assert boundary_note(np.array([np.nan, 2.0])) == ()
