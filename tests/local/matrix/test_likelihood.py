"""The fit of designs in which a report may come from several options."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import xlogy
from scipy.stats import binom, chi2

from toolkit import Design, forced, k_ary, kuk, warner
from toolkit.local.matrix.likelihood import (
    _chi_squared_tail,
    agreement_test,
    forced_mle,
    impossible_count_note,
    interior_point,
    likelihood_ratios,
    maximum_likelihood,
    maximum_likelihoods,
)
from toolkit.local.matrix.moments import interval_basis
from toolkit.local.numeric import square_wave
from toolkit.local.numeric.square_wave import BOOTSTRAP_SEED, resample


def test_a_missing_report_carries_no_information() -> None:
    """A report that was not received does not change any likelihood ratio, even if its probability is zero."""
    law = np.array([[1, 0], [0.25, 0.75]])
    found = likelihood_ratios(law, np.array([[1, 0], [0.5, 0.5]]), np.array([[1, 0], [0, 1]]))
    assert found.tolist() == [[1, 0.25], pytest.approx([2, 1])]


@pytest.mark.slow
@given(st.integers(2, 20), st.floats(0.02, 0.9), st.integers(0, 2**32 - 1), st.sampled_from([1, 3, 50, 10_000]))
def test_the_closed_form_of_forced_designs_is_the_maximum(k: int, truth: float, seed: int, n: int) -> None:
    rng = np.random.default_rng(seed)
    forced = rng.dirichlet(np.ones(k)) * (1 - truth)
    matrix = np.eye(k) * truth + forced
    counts = rng.multinomial(n, rng.dirichlet(np.full(k, 0.3)) @ matrix).astype(float)
    shares = forced_mle(counts, truth, forced)
    seen = counts > 0
    assert likelihood_ratios(matrix[:, seen], counts[seen] / n, shares).max() <= 1 + 1e-9
    assert shares.min() >= 0
    height = lambda x: counts[seen] @ np.log((x @ matrix)[seen])  # noqa: E731
    assert abs(height(shares) - height(maximum_likelihood(matrix, counts))) < 1e-6 * max(n, 1)


@pytest.mark.parametrize("k", [2, 3])
def test_designs_of_forced_form_need_no_search(k: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("toolkit.local.matrix.likelihood.maximum_likelihood", None)
    assert np.ravel(k_ary(k, epsilon=1).estimate_counts([90, 10, 0][:k], method="mle").value)[-1] == 0
    # no report is forced
    assert forced_mle(np.array([3.0, 0, 1]), 0.5, np.array([0.5, 0, 0])).tolist() == [0.5, 0, 0.5]


def test_many_surveys_have_the_maxima_that_each_has_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """This also holds if reports that one survey has are missing in another, and for several chunks."""
    monkeypatch.setattr("toolkit.local.matrix.likelihood._MAX_CELLS", 60)
    rng = np.random.default_rng(4)
    for k in (2, 4):
        matrix = rng.dirichlet(np.ones(5), size=k)
        tallies = rng.multinomial(12, rng.dirichlet(np.ones(5)), size=9).astype(float)
        together = maximum_likelihoods(matrix, tallies)
        alone = [maximum_likelihood(matrix, counts) for counts in tallies]
        assert np.allclose(together, alone, atol=1e-7)
        assert np.any(tallies == 0)


def test_the_maximum_for_two_truths_is_a_root_of_the_score_or_an_end() -> None:
    """The likelihood equals that of the interior-point method, which handles any number of truths; shares are not
    compared, because a maximum may be flat.
    """
    rng = np.random.default_rng(5)
    for impossible in (False, True):
        matrix = rng.dirichlet(np.ones(4), size=2)
        matrix[0, 0] *= not impossible
        matrix[0] /= matrix[0].sum()
        for n in (3, 40, 10_000):
            counts = rng.multinomial(n, rng.dirichlet(np.ones(4)), size=20).astype(float)
            ends = (matrix[:1] @ np.diag([n] * 4), matrix[1:] @ np.diag([n] * 4))  # all reports are of one kind
            weights = np.concatenate([counts, *ends]) / n
            shares, other = maximum_likelihoods(matrix, weights), interior_point(matrix, weights)
            logs = [xlogy(weights, one @ matrix).sum(axis=1) for one in (shares, other)]
            assert np.all(logs[0] >= logs[1] - 1e-12)
            assert shares[-1, 1] == shares[-2, 0] == 1


def test_shares_that_go_to_zero_slowly_are_found() -> None:
    """The third share is exactly on the boundary with zero gradient: EM needs 374,227 rounds for the same
    certificate.
    """
    matrix = np.full((3, 3), 0.4) - 0.2 * np.eye(3)
    shares = maximum_likelihood(matrix, np.array([14.0, 10.0, 16.0]))
    assert np.allclose(shares, [0.25, 0.75, 0], atol=1e-6)


def test_an_unsettled_likelihood_is_an_error_not_an_answer() -> None:
    matrix = np.array([[0.6, 0.3, 0.1], [0.2, 0.2, 0.6]])
    with pytest.raises(ArithmeticError, match="did not converge"):
        maximum_likelihood(matrix, np.array([3.0, 4.0, 5.0]), tolerance=-1.0)


@pytest.mark.slow
def test_the_maximum_is_found_where_it_is_flat():
    """Three hundred people with one answer near the end of 81 points: the plain Newton equations become
    singular there.
    """
    wave, rng = square_wave((0, 80), 1.0), np.random.default_rng(5)
    reports = [wave._draw_report(1, lambda bound: int(rng.integers(bound))) for _ in range(300)]
    matrix, tallies = (
        wave._window.matrix(),
        resample(wave.tally(reports).astype(float), 40, np.random.default_rng(BOOTSTRAP_SEED)),
    )
    # the bootstrap of an estimate, in which this was observed
    shares = maximum_likelihoods(matrix, tallies, tolerance=1e-6)
    assert likelihood_ratios(matrix, tallies / 300, shares).max() < 1 + 1e-9


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
    """Likelihood ratios 0.243348, 56.094552 and 150.997708, one degree of freedom; the last has its maximum at zero."""
    assert CARDS.estimate_counts(counts).fit.p == pytest.approx(p, rel=5e-3)
    assert CARDS.estimate_counts(counts, method="mle").value == pytest.approx(share, abs=6e-8)


def test_a_shape_that_no_share_makes_is_said_beside_the_interval():
    estimate = CARDS.estimate_counts([180, 40, 80])
    assert "fits badly: p = 7e-14)" in repr(estimate)
    assert estimate.notes[0].startswith(
        "the reports hardly agree with any share (p = 7e-14); the instructions were not followed"
    )
    assert not estimate.to_frame()["empty"].any()


def test_a_square_design_fits_when_all_estimates_are_shares():
    """A square design fits if all estimates are between 0 and 1, but not if one is far below 0."""
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
def test_a_valid_survey_is_suspected_as_rarely_as_stated(design: Design, truth: list[float], n: int):
    """Of 300 surveys, at most 10 % are below 0.05. At a true rate of 0.065, the largest rate in 600 surveys, 1 % of
    seeds would fail.
    """
    rng = np.random.default_rng(5)
    tallies = rng.multinomial(n, np.array(truth) @ design.matrix, size=300)
    assert np.mean([design.estimate_counts(tally).fit.p < 0.05 for tally in tallies]) <= 0.1


@pytest.mark.parametrize(("k", "word"), [(64, "likelihood"), (65, "binomial")])
def test_beyond_64_options_the_exact_tails_are_used(k, word):
    matrix, counts = (np.eye(k) + 1 / k) / 2, np.full(k, 10.0)
    basis = interval_basis(matrix, np.linalg.inv(matrix), counts, None, np.ones(k))
    assert word in agreement_test(matrix, None, counts, basis).method


def test_a_nearly_uninformative_design_is_not_contradicted(monkeypatch):
    """If maximum likelihood does not converge, the binomial test finds no disagreement with the design."""

    def unsettled(*_):
        raise ArithmeticError

    monkeypatch.setattr("toolkit.local.matrix.likelihood.maximum_likelihood", unsettled)
    counts = np.array([700.0, 300, 250, 50])
    basis = interval_basis(JOINT.matrix, np.linalg.inv(JOINT.matrix), counts, None, np.ones(4))
    found = agreement_test(JOINT.matrix, None, counts, basis)
    assert "binomial" in found.method
    assert found.p > 0.05


def test_what_came_is_compared_with_what_the_design_makes():
    matrix = forced("1/6", "1/6").matrix
    few, many, fine = (impossible_count_note(np.array([300.0 - yes, yes]), matrix, "yes") for yes in (10, 290, 100))
    assert few == "10 of 300 reports were yes, where the design makes at least 50 on average"
    assert many == "290 of 300 reports were yes, where the design makes at most 250 on average"
    assert fine == ""
    assert [impossible_count_note(np.array([300.0 - yes, yes]), matrix, "yes") for yes in (50, 250)] == ["", ""]


def test_designs_with_a_report_per_option_have_exact_tails():
    """One yes in ten, where a quarter is the minimum: the tail is 0.244. For three options it is 2 * 3 times the
    smallest tail.
    """
    two, three = (warner("3/4").estimate_counts([9, 1]).fit, k_ary(3, epsilon=1.0).estimate_counts([20, 1, 9]).fit)
    assert two.p == pytest.approx(binom.cdf(1, 10, 0.25), rel=1e-9)
    assert three.p == pytest.approx(2 * 3 * binom.cdf(1, 30, 1 / (math.e + 2)), rel=1e-6)


def test_without_a_degree_of_freedom_any_distance_is_too_far() -> None:
    assert [_chi_squared_tail(ratio, 0) for ratio in (0.0, 1e-9, 5.0)] == [1, 0, 0]
    assert _chi_squared_tail(5.0, 2) == pytest.approx(chi2.sf(5, 2))


def test_the_p_value_of_shares_at_zero_is_the_mean_of_two_tails() -> None:
    """Four reports that are all "b" fit best if all people have the second option, who report "b" half of the time."""
    fit = Design([[3, 2, 5], [3, 5, 2], [2, 2, 6]], 10, ("a", "b", "c")).estimate_counts([0, 4, 0]).fit
    ratio = 2 * 4 * np.log(2)
    assert fit is not None
    assert fit.p == pytest.approx((chi2.sf(ratio, 1) + chi2.sf(ratio, 2)) / 2)
