import math

import numpy as np
import pytest

from toolkit.central.robust.estimators import Huber, Logistic, Mean, Median, MEstimator, Tukey
from toolkit.central.robust.influence import (
    POPULATIONS,
    fixed_scale_influence,
    gross_error_sensitivity,
    influence,
    location,
)

# Gross-error sensitivity and variance at N(0,1), t with 3 degrees of freedom, .9 N(0,1) + .1 N(0,9): by
# another integration, to six digits.
TABLE: dict[MEstimator, list[tuple[float, float]]] = {
    Mean(): [(math.inf, 1), (math.inf, 3), (math.inf, 1.8)],
    Median(): [(1.253314, 1.570796), (1.360350, 1.850551), (1.342837, 1.803210)],
    Huber(1.345): [(1.637499, 1.052631), (1.845666, 1.556462), (1.738072, 1.298779)],
    Tukey(4.685): [(1.769554, 1.052635), (2.094519, 1.556732), (1.921461, 1.276210)],
    Logistic(): [(2.419890, 1.016088), (2.636972, 1.679678), (2.532381, 1.348191)],
}


@pytest.mark.parametrize("estimator", TABLE, ids=repr)
def test_the_table_to_six_digits(estimator: MEstimator) -> None:
    for population, (sensitivity, variance) in zip(POPULATIONS, TABLE[estimator], strict=True):
        found = influence(estimator, population)
        assert found.gross_error_sensitivity == pytest.approx(sensitivity, abs=6e-7)
        assert found.variance == pytest.approx(variance, abs=6e-7)
        assert gross_error_sensitivity(estimator, population) == found.gross_error_sensitivity


def test_slopes_at_the_normal_law() -> None:
    for estimator, slope in ((Huber(1.345), 0.821375), (Tukey(4.685), 0.757776), (Logistic(), 0.413242)):
        assert influence(estimator, "normal").slope == pytest.approx(slope, abs=6e-7)


@pytest.mark.parametrize("estimator", [Mean(), Huber(1.345), Tukey(4.685), Logistic()], ids=repr)
def test_one_more_value_moves_a_sample_along_the_influence_function(estimator: MEstimator) -> None:
    """n (T with x - T) is within 2 % of the largest influence, at n = 2,000."""
    values = np.random.default_rng(1).normal(size=2000)
    at, found = location(estimator, values), influence(estimator, values)
    reach = min(found.gross_error_sensitivity, 6)
    for x in (-6.0, -1.0, 0.3, 2.0, 6.0):
        moved = (location(estimator, np.append(values, x)) - at) * 2001
        assert moved == pytest.approx(float(found(x)), abs=0.02 * reach)
        assert fixed_scale_influence(estimator, values, x, 1 / 2001) == pytest.approx(moved, abs=1e-6)


def test_where_no_value_counts_the_location_is_the_median() -> None:
    assert location(Tukey(1), [0.0, 100.0]) == 50


@pytest.mark.parametrize(("n", "low", "high"), [(20, 1.89, 1.92), (100, 1.96, 1.99), (1000, 1.996, 2.0)])
def test_to_replace_a_value_moves_twice_as_far_as_to_add_one(n: int, low: float, high: float) -> None:
    """A value leaves and one comes: n times the local sensitivity is nearly twice the sensitivity at 1/n."""
    values, estimator = np.sort(np.random.default_rng(1).normal(size=n)), Huber(1.345)
    at = location(estimator, values)
    local = max(
        abs(location(estimator, np.append(np.delete(values, i), x)) - at) for i in (0, n - 1) for x in (-1e3, 1e3)
    )
    far = max(abs(fixed_scale_influence(estimator, values, x, 1 / n)) for x in (-1e3, 1e3))
    assert low < local * n / far < high


def test_locations_are_those_of_other_formulas() -> None:
    values = np.random.default_rng(3).lognormal(0, 1, 501)
    assert location(Mean(), values) == pytest.approx(values.mean())
    assert location(Median(), values) == np.median(values)
    assert location(Median(), values[:500]) == pytest.approx(np.median(values[:500]))
    assert location(Huber(1e6), values) == pytest.approx(values.mean())
    assert location(Huber(1e-6), values) == pytest.approx(np.median(values), abs=1e-5)
    for estimator in (Huber(1), Tukey(3), Logistic()):
        assert abs(estimator.psi(values - location(estimator, values)).sum()) < 1e-8
    assert location(Huber(1), [4.0, 4.0]) == 4


@pytest.mark.parametrize("estimator", TABLE, ids=repr)
def test_a_weight_is_how_often_a_value_is_there_in_whatever_unit(estimator: MEstimator) -> None:
    values, times = np.array([0.0, 1.0, 2.5, 7.0]), np.array([2, 1, 3, 1])
    expected = location(estimator, np.repeat(values, times))
    for unit in (1, 1 / 7, 50):
        assert location(estimator, values, times * unit) == pytest.approx(expected, abs=1e-9)


@pytest.mark.slow
def test_the_asymptotic_variance_is_that_of_many_samples() -> None:
    """2,000 samples of 200: the variance of the Huber location is within 15 %, 4.7 standard errors."""
    rng = np.random.default_rng(7)
    found = [location(Huber(1.345), rng.normal(size=200)) for _ in range(2000)]
    assert np.var(found) * 200 == pytest.approx(1.052631, rel=0.15)


@pytest.mark.parametrize("n", [4, 50, 500, 2000])
def test_a_location_that_is_not_unique_is_the_middle_of_its_interval(n: int) -> None:
    """The location is the middle of the interval on which the scores add up to zero.

    Every t from -3 + 1.345... to 3 - 1.345 balances both sides, and with one value at 0 every t from 1.345
    on: the middle, wherever rounding would let a search stop; there psi has no slope, which is said.
    """
    huber = Huber(1.345)
    for moved in (0.0, 1e-13, -1e-13, 0.1, 1e3):
        values = np.repeat([-3.0, 3.0], n // 2) + moved
        assert location(huber, values) - moved == pytest.approx(0, abs=1e-8)
        values = np.repeat([-3.0, 0.0, 3.0], [n // 2 - 1, 1, n // 2]) + moved
        assert location(huber, values) - moved == pytest.approx(1.5, abs=1e-8)
        assert location(huber, values, np.full(n, 1 / n)) - moved == pytest.approx(1.5, abs=1e-8)
        with pytest.raises(ValueError, match="T is not determined for such a sample"):
            influence(huber, values)


def test_the_slope_at_a_kink_is_the_mean_of_both_sides() -> None:
    """At a kink the slope is the mean of the slopes on both sides, however sums are rounded.

    T of 0, 1 and 100 is 1, where the score of 0 has its kink: the slope is 2/3 below and 1/3 above.
    """
    for moved in (0.0, 1e-13, -1e-13, 0.1, 1e3):
        found = influence(Huber(1), np.array([0.0, 1.0, 100.0]) + moved)
        assert found.location - moved == pytest.approx(1, abs=1e-8)
        assert found.slope == pytest.approx(1 / 2)


@pytest.mark.parametrize("size", [1e-150, 1e-20, 1e20, 1e150])
def test_a_location_is_found_at_every_scale(size: float) -> None:
    assert location(Huber(1), np.array([0.0, 1.0, 5.0]) * size) > 0
    assert location(Logistic(), np.array([0.0, 1.0, 5.0]) * size) > 0


def test_what_has_no_influence_is_refused() -> None:
    for call, message in (
        (lambda: influence(Median(), [1.0, 2.0]), "needs a density"),
        (lambda: influence(Huber(1), "cauchy"), "must be one of normal"),
        (lambda: influence(Huber(1), []), "at least one number, all finite"),
        (lambda: influence(Huber(1), [0.0, 100.0]), "mean slope of psi must be above 0"),
        (lambda: location(Huber(1), [1.0, np.nan]), "all finite"),
        (lambda: fixed_scale_influence(Huber(1), [1.0], 1, 0), "`rho` must be above 0"),
        (lambda: fixed_scale_influence(Huber(1), [1.0], 1, 1), "`rho` must be below 1"),
    ):
        with pytest.raises(ValueError, match=message):
            call()
