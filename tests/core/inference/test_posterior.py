"""Posteriors against closed forms, against independent computations, and their coverage."""

import re

import numpy as np
import pytest
from scipy.stats import beta

from tests.slowly import each
from toolkit import Design, Estimate, forced, k_ary, kuk, warner
from toolkit.core.inference import posterior
from toolkit.core.inference.posterior import (
    OPTIONS_LIMIT,
    RandomizedCounts,
    shortest_intervals,
    shortest_on_grid,
    simplex_draws,
)

DIE, COIN = forced("1/6", "1/6"), warner("3/4")


def drawn(design: Design, counts: list[int]) -> np.ndarray:
    cov = np.asarray(design.estimate_counts(counts).cov)
    return simplex_draws(design.matrix, np.array([counts], dtype=float), cov[None])[0]


@each(level=[0.5, 0.95, 0.999], n=[1, 20, 1000, 10**6])
def test_an_interval_at_an_edge_holds_its_level_of_the_posterior(n: int, level: float) -> None:
    """The limits match those in closed form. A die, only yes or only no: the posterior is a power of the chance of
    that report, steepest where the grid ends.
    """
    p, q = 5 / 6, 1 / 6
    given, without = np.array([p, 1 - p]), np.array([q, 1 - q])
    chance = p * (1 - level * -np.expm1((n + 1) * np.log(q / p))) ** (1 / (n + 1))  # of yes, at the lower limit
    width = 1 - (chance - q) / (p - q)
    for counts, expected in (([n, 0], (1 - width, 1)), ([0, n], (0, width))):
        low, high = shortest_on_grid(np.array(counts, dtype=float), given, without, level)
        assert (low, high) == pytest.approx(expected, abs=1e-3 * width)


@pytest.mark.slow
@pytest.mark.parametrize(("k", "n"), [(3, 50), (4, 100_000), (8, 300)])
def test_through_a_matrix_that_hides_nothing_the_posterior_is_dirichlets(k: int, n: int) -> None:
    """Fixed seed: quantiles within 0.15 standard deviations, three times the Monte Carlo error."""
    counts = np.random.default_rng(k).multinomial(n, np.arange(1, k + 1) / (k * (k + 1) / 2))
    shares = counts / n
    cov = (np.diag(shares) - np.outer(shares, shares)) / n
    draws = simplex_draws(np.eye(k), counts[None].astype(float), cov[None])[0]
    law = beta(counts + 1, n - counts + k - 1)
    for share in (0.025, 0.5, 0.975):
        assert np.all(np.abs(np.quantile(draws, share, axis=0) - law.ppf(share)) < 0.15 * law.std())
    assert draws.sum(axis=1) == pytest.approx(1)
    assert draws.min() >= 0


@pytest.mark.slow
def test_two_questions_at_once_have_the_posterior_that_exact_draws_give() -> None:
    """A die and a coin (3/4), from 2 * 10**5 draws of a Dirichlet law, mapped back and kept if no share is negative."""
    draws = drawn(DIE.joint(COIN), [849, 438, 402, 311])
    assert draws.mean(axis=0) == pytest.approx([0.60239, 0.11244, 0.14819, 0.13698], abs=0.002)
    low, high = np.quantile(draws, [0.025, 0.975], axis=0)
    assert low == pytest.approx([0.55366, 0.07020, 0.10937, 0.10221], abs=0.004)
    assert high == pytest.approx([0.65156, 0.15567, 0.18815, 0.17254], abs=0.004)


@pytest.mark.slow
def test_the_posterior_without_exact_draws_matches_gibbs_sampling() -> None:
    """One estimate is -0.067: data augmentation, 400 chains of 200 draws after 500 steps, gave these."""
    draws = drawn(DIE.joint(COIN), [700, 300, 250, 50])
    assert draws.mean(axis=0) == pytest.approx([0.84552, 0.05312, 0.09792, 0.00344], abs=0.002)
    low, high = np.quantile(draws, [0.025, 0.975], axis=0)
    assert low == pytest.approx([0.78536, 0.01034, 0.06392, 0.00009], abs=0.004)
    assert high == pytest.approx([0.90266, 0.10010, 0.13309, 0.01221], abs=0.004)


@pytest.mark.slow
def test_one_share_by_draws_is_one_share_by_the_grid() -> None:
    """Kuk's cards: a grid gives a mean of 0.219472 and 0.154456 to 0.289698 with equal tails."""
    design, counts = kuk("4/5", "1/5", draws=2), [150, 100, 50]
    draws = simplex_draws(design.matrix, np.array([counts], float), np.array([[[1, -1], [-1, 1]]]) * 1e-3)[0][:, 1]
    assert draws.mean() == pytest.approx(0.219472, abs=0.002)
    assert np.quantile(draws, [0.025, 0.975]) == pytest.approx([0.154456, 0.289698], abs=0.003)
    interval = design.estimate_counts(counts).interval(method="bayes")
    low, high = shortest_intervals(draws[:, None], 0.95)
    assert (low[0], high[0]) == pytest.approx(tuple(interval), abs=0.004)


def test_the_same_reports_always_give_the_same_draws() -> None:
    """Equal draws give equal intervals."""
    counts, cov = np.array([[60.0, 30.0, 20.0, 10.0]]), (np.eye(4)[None] - 1 / 4) * 1e-3
    first, second = (simplex_draws(DIE.joint(COIN).matrix, counts, cov, chains=3, length=9) for _ in range(2))
    assert np.array_equal(first, second)
    assert len(np.unique(first[0], axis=0)) == 27


@pytest.mark.slow
def test_reports_of_a_single_kind_and_a_single_report_have_a_posterior() -> None:
    for counts in ([30, 0, 0, 0], [0, 0, 1, 0]):
        interval = DIE.joint(COIN).estimate_counts(counts).interval(method="bayes")
        assert np.all((interval.low >= 0) & (interval.low < interval.high) & (interval.high <= 1))


def test_draws_reach_what_the_directions_of_the_covariance_never_do() -> None:
    """Without a report the posterior is even on the simplex, whatever the covariance; this one moves two of
    the three shares. One chain (fixed seed) takes the third to each tenth of the way from 0 to 0.9.
    """
    cov = np.array([[[1.0, -1.0, 0.0], [-1.0, 1.0, 0.0], [0.0, 0.0, 0.0]]])
    draws = simplex_draws(np.eye(3), np.zeros((1, 3)), cov, chains=1, length=500)[0]
    assert set(np.floor(10 * draws[:, 2]).astype(int)) >= set(range(9))


def test_the_shortest_interval_holds_its_level() -> None:
    """The interval ends at an edge that it touches, and is no longer than the equal-tailed one."""
    draws = np.random.default_rng(0).beta([1, 20, 5], [20, 1, 5], size=(20_000, 3))
    low, high = shortest_intervals(draws, 0.9)
    assert (low[0], high[1]) == (0, 1)
    held = ((draws >= low) & (draws <= high)).mean(axis=0)
    assert held == pytest.approx([0.9, 0.9, 0.9], abs=2e-3)
    equal = np.diff(np.quantile(draws[:, 2], [0.05, 0.95]))
    assert high[2] - low[2] <= equal + 1e-12


@pytest.mark.parametrize(("beyond", "touches"), [(2, True), (3, False)])
def test_an_interval_within_a_five_hundredth_of_the_draws_reaches_the_edge(beyond: int, touches: bool) -> None:
    """Of 1,000 draws, 900 lie close together, and the others lie between them and the edge."""
    few, others = np.linspace(0, 0.4, beyond), np.linspace(0.7, 1, 100 - beyond)
    draws = np.concatenate([few, np.linspace(0.5, 0.6, 900), others])
    low, high = shortest_intervals(np.stack([draws, 1 - draws], axis=1), 0.9)
    assert (low[0], high[1]) == pytest.approx((0, 1) if touches else (0.5, 0.5), abs=1e-12)
    assert (high[0], low[1]) == pytest.approx((0.6, 0.4))


def test_the_shortest_interval_rounds_its_number_of_draws_up() -> None:
    """An interval contains at least its level, even if the level is not a whole number of draws."""
    for count in (1001, 1003, 1999):
        draws = np.random.default_rng(count).beta(5, 5, size=(count, 2))
        for level in (0.5, 0.9, 0.95):
            low, high = shortest_intervals(draws, level)
            assert np.all(((draws >= low) & (draws <= high)).sum(axis=0) >= level * count)


@pytest.mark.slow
def test_the_documented_coverage_is_what_simulation_gives() -> None:
    """The documented coverage is that of shares that are estimated together. 250 of the documented 500 surveys
    (fixed seed), fewer draws each: within 0.035, twice the Monte Carlo error of the least.
    """
    documented = dict(re.findall(r"(inside|on an edge) +([\d.]+ +[\d.]+)", Estimate.interval.__doc__ or ""))
    design = COIN.joint(COIN)
    for name, truth in (("inside", np.array([0.6, 0.15, 0.1, 0.15])), ("on an edge", np.array([0.7, 0.25, 0.05, 0]))):
        counts = np.random.default_rng(1).multinomial(3000, truth @ design.matrix, size=500)[:250].astype(float)
        score = np.linalg.inv(design.matrix)
        cov = np.array([np.cov(score.T, fweights=row.astype(int)) / 3000 for row in counts])
        limits = [
            shortest_intervals(draws, 0.95) for draws in simplex_draws(design.matrix, counts, cov, chains=8, length=125)
        ]
        covered = np.mean([(low <= truth) & (truth <= high) for low, high in limits], axis=0)
        assert [covered.min(), covered.mean()] == pytest.approx(
            [float(part) for part in documented[name].split()], abs=0.035
        )


@pytest.mark.slow
def test_other_shares_are_not_taken_as_known() -> None:
    """Two coins: the interval of "both" is 0.072 wide, as its standard error says; with the others known it
    would be 0.057.
    """
    estimate = COIN.joint(COIN).estimate_counts([1150, 750, 650, 450])
    width = np.asarray(estimate.interval(method="bayes").width)
    assert width == pytest.approx(2 * 1.96 * np.asarray(estimate.se), rel=0.05)


def test_a_share_with_reports_of_its_own_is_judged_by_these_alone() -> None:
    """The forced form: the posterior of each share from a flat prior on 0 to 1, exactly that of two kinds of report."""
    estimate = k_ary(4, epsilon=1.0).estimate_counts([40, 30, 20, 10])
    low, high = estimate.interval(method="bayes")
    p, q = np.e / (np.e + 3), 1 / (np.e + 3)
    alone = shortest_on_grid(np.array([30.0, 70.0]), np.array([p, 1 - p]), np.array([q, 1 - q]), 0.95)
    assert (low[1], high[1]) == pytest.approx(alone, abs=1e-6)


def test_more_options_than_can_be_drawn_are_refused_with_what_to_use(monkeypatch: pytest.MonkeyPatch) -> None:
    k, draws = OPTIONS_LIMIT + 1, np.random.default_rng(1).random((2, 40, OPTIONS_LIMIT))
    monkeypatch.setattr(posterior, "simplex_draws", lambda *_: draws)
    expected = shortest_intervals(draws[0], 0.5)
    assert np.array_equal(RandomizedCounts(np.eye(k - 1), np.ones(k - 1), np.eye(k - 1)).shortest(0.5), expected)
    with pytest.raises(ValueError, match=r'at most 16 options.*got 17: use "wilson" or "exact"'):
        RandomizedCounts(np.eye(k), np.ones(k), np.eye(k)).shortest(0.95)
