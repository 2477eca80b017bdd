"""Means, variances, covariances and correlations from noisy sums: errors and coverage."""

from itertools import product

import numpy as np
import pytest

from toolkit.central import tables as table_estimators
from toolkit.central.noise.laws import GeometricLaw, RoundedNormalLaw
from toolkit.central.tables import (
    MomentStatistic,
    NoisyMoments,
    covariance_statistic,
    mean_statistic,
    quantile_of_combination,
    variance_statistic,
)

SPAN = 2**33


def noisy(coding: MomentStatistic, sums: list[int], epsilon: float, runs: int, seed: int) -> NoisyMoments:
    """The same cell released many times, with Laplace noise."""
    scale = float(coding.sensitivity.l1) / epsilon
    noise = np.random.default_rng(seed).laplace(0, scale, (runs, len(coding.terms)))
    entries = np.array(coding.integers([sums]), dtype=float) + noise
    return NoisyMoments((entries / coding.unit) @ coding.slopes.T, coding.slopes / coding.unit, GeometricLaw(scale))


@pytest.mark.parametrize(
    ("cells", "neighbors", "expected"), [(8, "add_remove", 10.0), (1, "replace", 14.14), (8, "replace", 20.0)]
)
def test_the_noise_of_a_mean_is_that_of_one_vector(cells: int, neighbors: str, expected: float) -> None:
    """n = 2000 values in the middle, epsilon 0.2: standard deviation times n over half the width. By theory
    2, 2 root 2 and 4 over epsilon; two halves of epsilon gave 14.14 and 28.28 for the first two. 4.5
    standard errors of 20,000 runs.
    """
    coding = mean_statistic(SPAN, cells, neighbors)
    one = table_estimators.mean(noisy(coding, [2000, 1000 * SPAN], 0.2, 20_000, 1))
    assert one.value.std() * 2000 == pytest.approx(expected, rel=4.5 / 200)
    assert one.se.mean() * 2000 == pytest.approx(expected, rel=0.01)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("n", "t", "width"), [(200, 0.0, 0.208), (200, 0.6, 0.247), (2000, 0.6, 0.0244), (50, 0.9, 0.551)]
)
def test_the_interval_of_a_mean_covers_as_often_as_it_says(n: int, t: float, width: float) -> None:
    """epsilon 0.2; 8000 runs have a standard error of 0.0024, so that 0.95 is missed by 0.01 with probability
    3e-5. Widths as in a simulation of 4000 runs, in which an empty interval (1.5 % at n = 50) was a point;
    here it is all of the range.
    """
    moments = noisy(mean_statistic(SPAN, 5, "add_remove"), [n, round(n * (1 + t) / 2 * SPAN)], 0.2, 8000, 2)
    low, high = table_estimators.mean(moments).limits(0.95)
    assert np.mean((low <= t) & (t <= high)) == pytest.approx(0.95 if n > 50 else 0.958, abs=0.01)
    assert np.mean(high - low) == pytest.approx(width, rel=0.07)
    assert np.all((low >= -1) & (high <= 1) & (low < high))


def test_an_empty_cell_has_a_valid_mean_and_an_interval_of_all_values() -> None:
    """The mean of an empty cell lies within the bounds.

    Nobody is there: the interval is all of the range in at least 95 % of releases.
    """
    moments = noisy(mean_statistic(SPAN, 5, "replace"), [0, 0], 1.0, 4000, 3)
    one = table_estimators.mean(moments)
    low, high = one.limits(0.95)
    assert np.all(np.abs(one.value) <= 1)
    assert np.mean(high - low > 1.9) > 0.8
    for truth in (-1, 0, 1):
        assert np.mean((low <= truth) & (truth <= high)) > 0.93


@pytest.mark.parametrize(("cells", "neighbors"), [(8, "add_remove"), (1, "replace"), (8, "replace")])
@pytest.mark.parametrize("n", [300, 3000])
def test_the_interval_and_standard_error_of_a_variance_are_valid(cells: int, neighbors: str, n: int) -> None:
    """The interval covers the truth as often as guaranteed, and the standard error is right.

    2000 runs at 95 %: fewer than 93.5 % with probability 1e-3 at most.
    """
    span = 2**14
    steps = np.random.default_rng(4).beta(2, 5, n) * span // 1
    sums = [n, int(steps.sum()), int((steps**2).sum())]
    truth = (2 / span) ** 2 * steps.var(ddof=1)
    moments = noisy(variance_statistic(span, cells, neighbors), sums, 1.0, 2000, 5)
    one = table_estimators.variance(moments)
    low, high = one.limits(0.95)
    assert np.mean((low <= truth) & (truth <= high)) > 0.935
    if n == 3000:
        assert one.se.mean() == pytest.approx(one.value.std(), rel=0.1)


def test_bernstein_sums_halve_the_error_of_a_variance() -> None:
    """Beta(2, 2), n = 2000, epsilon 0.2: three sums at a third of epsilon each have twice the error."""
    span, n = 2**14, 2000
    steps = np.random.default_rng(6).beta(2, 2, n) * span // 1
    moments = noisy(
        variance_statistic(span, 2, "add_remove"), [n, int(steps.sum()), int((steps**2).sum())], 0.2, 4000, 7
    )
    t = 2 * steps / span - 1
    sums = np.array([n, t.sum(), (t**2).sum()]) + np.random.default_rng(8).laplace(0, 3 / 0.2, (4000, 3))
    before = sums[:, 2] / sums[:, 0] - (sums[:, 1] / sums[:, 0]) ** 2
    assert table_estimators.variance(moments).value.std() / before.std() == pytest.approx(0.54, abs=0.03)


@pytest.mark.slow
def test_covariances_and_correlations_are_near_and_their_errors_right() -> None:
    """2000 runs: fewer than 93.5 % of guaranteed intervals with probability 1e-3 at most; the linear one of a
    correlation is within 0.02 of its level.
    """
    span, n, rng = 2**12, 4000, np.random.default_rng(9)
    x = np.clip(rng.normal(0, 0.3, n), -1, 1)
    y = np.clip(0.5 * x + rng.normal(0, 0.26, n), -1, 1)
    s, u = ((v + 1) / 2 * span // 1 for v in (x, y))
    sums = [int((s**i * u**j).sum()) for i in range(3) for j in range(3)]
    moments = noisy(covariance_statistic((span, span), 3, "add_remove"), sums, 1.0, 2000, 10)
    both = table_estimators.covariance(moments)
    truth = 4 * np.cov(s, u)[0, 1] / span**2
    low, high = both.limits(0.95)
    assert np.mean((low <= truth) & (truth <= high)) > 0.935
    assert both.se.mean() == pytest.approx(both.value.std(), rel=0.1)
    linked = table_estimators.correlation(moments)
    low, high = linked.limits(0.95)
    assert linked.methods == ("linear",)
    assert np.mean((low <= np.corrcoef(s, u)[0, 1]) & (np.corrcoef(s, u)[0, 1] <= high)) == pytest.approx(
        0.95, abs=0.02
    )
    assert linked.se.mean() == pytest.approx(linked.value.std(), rel=0.1)


def test_a_correlation_without_a_variance_is_nan_and_raises_nothing() -> None:
    coding = covariance_statistic((4, 4), 1, "add_remove")
    one = table_estimators.correlation(coding.moments([0] * 9, GeometricLaw(1.0)))
    assert np.isnan(one.value).all()


def test_the_number_of_values_comes_along_with_its_own_error() -> None:
    moments = noisy(mean_statistic(SPAN, 4, "add_remove"), [300, 100 * SPAN], 0.5, 4000, 11)
    number = table_estimators.counts(moments)
    low, high = number.limits(0.95)
    assert number.value.std() == pytest.approx(number.se[0], rel=0.06)
    assert np.mean((low <= 300) & (high >= 300)) == pytest.approx(0.95, abs=0.012)


def test_gaussian_noise_covers_alike() -> None:
    coding = mean_statistic(SPAN, 4, "add_remove", laplace=False)
    sigma = float(coding.sensitivity.l2) / np.sqrt(2 * 0.02)
    noise = np.random.default_rng(12).normal(0, sigma, (8000, 2))
    entries = np.array(coding.integers([[100, 70 * SPAN]]), dtype=float) + noise
    moments = NoisyMoments(
        (entries / coding.unit) @ coding.slopes.T, coding.slopes / coding.unit, RoundedNormalLaw(sigma)
    )
    low, high = table_estimators.mean(moments).limits(0.95)
    assert np.mean((low <= 0.4) & (high >= 0.4)) == pytest.approx(0.95, abs=0.01)


def test_the_three_limits_behind_a_variance_share_its_error_evenly() -> None:
    """1000 values around 0, of which the sum of squares is 500, each of the three sums with noise of its own:
    at 95 % each is within what it exceeds with probability 5 % / 3.
    """
    law = RoundedNormalLaw(10.0)
    moments = NoisyMoments(np.array([[1000.0, 0.0, 500.0]]), np.eye(3), law)
    low, high = table_estimators.variance(moments).limits(0.95)
    reach = quantile_of_combination(law, [1.0], 1 - 0.05 / 3)
    assert high[0] == pytest.approx((500 + reach) / (1000 - reach - 1), rel=1e-12)
    most = 1000 + reach
    least = (500 - reach) / most - (reach / (1000 - reach)) ** 2
    assert low[0] == pytest.approx(least * most / (most - 1), rel=1e-12)


def test_the_four_limits_behind_a_covariance_share_its_error_evenly() -> None:
    law, sums = RoundedNormalLaw(10.0), np.zeros((1, 9))
    sums[0, [0, 4]] = 1000.0, 200.0
    low, high = table_estimators.covariance(NoisyMoments(sums, np.eye(9), law)).limits(0.95)
    reach = quantile_of_combination(law, [1.0], 1 - 0.05 / 4)
    fewest, most = 1000 - reach, 1000 + reach
    product, wide = (reach / fewest) ** 2, fewest / (fewest - 1)
    assert high[0] == pytest.approx(((200 + reach) / fewest + product) * wide, rel=1e-12)
    assert low[0] == pytest.approx((200 - reach) / most - product, rel=1e-12)


POWERS = {"counts": 2, "mean": 2, "variance": 3, "covariance": 9, "correlation": 9}


def sums_of(name: str, x: np.ndarray, y: np.ndarray) -> np.ndarray:
    if POWERS[name] < 9:
        return np.array([(x**i).sum() for i in range(POWERS[name])])
    return np.array([(x**i * y**j).sum() for i in range(3) for j in range(3)])


@pytest.mark.parametrize("name", POWERS)
def test_values_are_those_of_numpy_and_errors_those_of_the_slopes(name: str) -> None:
    """Noise that reaches every sum; slopes by central differences of the value. Skewed values around 1/3 and -1/2."""
    rng, law, size = np.random.default_rng(1), RoundedNormalLaw(2.0), POWERS[name]
    x, y = rng.beta(4, 2, 60) * 2 - 1, rng.beta(1, 3, 60) * 2 - 1
    y = (x + 3 * y) / 4
    sums, slopes, estimator = sums_of(name, x, y), rng.normal(size=(size, size)), getattr(table_estimators, name)
    ends = sums + 1e-5 * np.concatenate([np.eye(size), -np.eye(size)])
    values = estimator(NoisyMoments(ends, slopes, law)).value
    one = estimator(NoisyMoments(sums[None], slopes, law))
    truth = {"counts": 60, "mean": x.mean(), "variance": x.var(ddof=1), "covariance": np.cov(x, y)[0, 1]}
    assert one.value[0] == pytest.approx(truth.get(name, np.corrcoef(x, y)[0, 1]), rel=1e-9)
    expected = np.linalg.norm((values[:size] - values[size:]) / 2e-5 @ slopes) * law.sd
    assert one.se[0] == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize(
    ("name", "sums", "expected"),
    [
        ("mean", {0: 0.5, 1: 0.2}, 0.2), ("mean", {1: 5}, 1), ("mean", {0: 9, 1: 17}, 1), ("mean", {0: 9, 1: -17}, -1),
        ("variance", {0: 10, 2: 99}, 10 / 9), ("variance", {0: 10, 1: 9}, 0), ("variance", {0: -4, 2: 1}, 1),
        ("covariance", {0: 10, 4: 99}, 10 / 9), ("covariance", {0: 10, 4: -99}, -10 / 9), ("covariance", {4: 1}, 1),
        ("correlation", {0: 10, 4: 6, 2: 5, 6: 5}, 1), ("correlation", {0: 10, 4: -6, 2: 5, 6: 5}, -1),
        ("correlation", {0: -4, 4: 0.5, 2: 1, 6: 1}, 0.5), ("correlation", {0: 10, 4: 1, 2: 5, 6: -5}, np.nan),
    ],
)  # fmt: skip
def test_noise_leads_to_nothing_that_is_impossible(name: str, sums: dict[int, float], expected: float) -> None:
    """Fewer values than one, or two, are taken for one, or two; limits are limits whatever the sums are."""
    entries = np.zeros((1, POWERS[name]))
    entries[0, list(sums)] = list(sums.values())
    one = getattr(table_estimators, name)(NoisyMoments(entries, np.eye(POWERS[name]), RoundedNormalLaw(0.3)))
    assert one.value[0] == pytest.approx(expected, nan_ok=True)
    low, high = one.limits(0.95)
    most = 1 if name in ("mean", "correlation") else 2
    assert np.isnan(expected) or -most <= low[0] <= high[0] <= most


@pytest.mark.parametrize("scale", [0.6, 1e-3])
@pytest.mark.parametrize("n", [2, 4, 30])
def test_limits_hold_for_all_noise_within_its_reach(n: int, scale: float) -> None:
    """Of columns that rise or fall together and of such that do not, with each sum too high, too low or right; without
    noise they are the sample's own, but for what n against n - 1 makes of it.
    """
    law, rng = GeometricLaw(scale), np.random.default_rng(n)
    for slope, (name, places) in product((-1, 0, 1), (("variance", [0, 1, 2]), ("covariance", [0, 1, 3, 4]))):
        x = rng.beta(0.5, 0.5, n) * 2 - 1
        y = np.clip(slope * x + rng.normal(0, 0.1, n), -1, 1)
        truth = x.var(ddof=1) if name == "variance" else np.cov(x, y)[0, 1]
        reach = law.two_sided_quantile(1 - 0.05 / len(places))
        sums = np.tile(sums_of(name, x, y), (3 ** len(places), 1))
        sums[:, places] += reach * np.array(list(product((-1, 0, 1), repeat=len(places))))
        low, high = getattr(table_estimators, name)(NoisyMoments(sums, np.eye(POWERS[name]), law)).limits(0.95)
        assert low.max() - 1e-12 <= truth <= high.min() + 1e-12
        assert reach or high.max() - low.min() <= abs(truth) / n + 1e-12


def test_limits_of_a_mirrored_column_are_mirrored() -> None:
    """Of x and of -x: the same variance, and the covariance with the other sign; around 0 and away from it."""
    law, rng = RoundedNormalLaw(3.0), np.random.default_rng(2)
    for shift in (-0.5, 0.0, 0.5):
        x = np.clip(rng.normal(shift, 0.3, 900), -1, 1)
        y = np.clip(x / 2 + rng.normal(0, 0.2, 900), -1, 1)
        one, other = (
            [
                getattr(table_estimators, name)(NoisyMoments(sums_of(name, sign * x, y)[None], np.eye(size), law))
                for name, size in (("variance", 3), ("covariance", 9))
            ]
            for sign in (1, -1)
        )
        assert np.ravel(one[0].limits(0.9)) == pytest.approx(np.ravel(other[0].limits(0.9)))
        assert np.ravel(one[1].limits(0.9)) == pytest.approx(-np.ravel(other[1].limits(0.9))[::-1])
        (low, high), (least, most) = one[0].limits(0.9), one[1].limits(0.9)
        assert low[0] < x.var(ddof=1) < high[0]
        assert least[0] < np.cov(x, y)[0, 1] < most[0]
        assert high[0] - low[0] < 0.2
        assert most[0] - least[0] < 0.2


@pytest.mark.parametrize("span", [3, 2**62, 2**63, 2**63 + 1, 2**70])
def test_sums_of_any_range_are_exact_integers(span: int) -> None:
    """Factors from 2**63 on, beside a negative one, would become floats."""
    terms = mean_statistic(span, 2, "replace").integers([(5, 7), (3, 2**64 + 1)])
    assert terms == [5 * span - 7, 7, 3 * span - 2**64 - 1, 2**64 + 1]
    assert all(type(term) is int for term in terms)
