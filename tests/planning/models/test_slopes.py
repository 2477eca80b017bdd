"""The n that a slope needs: variances by Gauss-Hermite quadrature with 200 points, computed independently."""

import numpy as np
import pytest
from scipy.special import expit, ndtr, roots_hermitenorm
from scipy.stats import binom

from toolkit import Design, forced, k_ary, kuk, warner
from toolkit.planning import plan_slope
from toolkit.planning.accuracy import critical_value
from toolkit.planning.models.slopes import slope_variance

DIE, WARNER, DIRECT = forced("1/6", "1/6"), warner("3/4"), Design([[1, 0], [0, 1]], 1, ("no", "yes"))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("design", "intercept", "slope", "variance", "n"),
    [
        (DIE, -1, 0.5, 15.79937503, 497), (DIE, -2, 0.5, 37.58173783, 1180), (DIE, -1, 0.3, 14.08224616, 1229),
        (WARNER, -1, 0.5, 29.5972337, 930), (WARNER, -2, 0.5, 74.83142437, 2350),
        (WARNER, -1, 0.3, 26.24012478, 2289), (DIRECT, -1, 0.5, 5.73042937, 180),
        (DIRECT, -2, 0.5, 9.71898087, 306), (DIRECT, -1, 0.3, 5.31187770, 464),
    ],
)  # fmt: skip
def test_reference_numbers(design, intercept: float, slope: float, variance: float, n: int) -> None:
    planned = plan_slope(design, intercept=intercept, slope=slope, power=0.8)
    assert planned.variance == pytest.approx(variance, rel=1e-8)
    assert planned.n == n
    assert planned.power >= 0.8
    assert plan_slope(design, intercept=intercept, slope=slope, n=n - 1).power < 0.8


def test_two_groups_asked_directly_have_the_variance_of_a_log_odds_ratio() -> None:
    """1 / (n p (1 - p)) in each group, where n is the group's share of all people."""
    shares = expit(np.array([-1.0, -0.2]))
    found = slope_variance(DIRECT, -1.0, 0.8, np.array([0.0, 1.0]), np.array([0.7, 0.3]))
    assert found == pytest.approx((1 / (np.array([0.7, 0.3]) * shares * (1 - shares))).sum())
    assert plan_slope(DIRECT, intercept=-1, slope=0.8, n=400, covariate=0.3).se == pytest.approx(np.sqrt(found / 400))


@pytest.mark.slow
@pytest.mark.parametrize(("share", "slope", "formula"), [(0.1, 1.0, 1364), (0.3, -0.7, 1689)])
def test_a_covariate_of_two_values_has_a_counted_power(share: float, slope: float, formula: int) -> None:
    """By the normal formula, the power for a rare value is .754 instead of .8, and for another value it is too high.
    Counted against
    4,000 surveys in closed form: 4.5 standard errors are a false alarm of 7e-6.
    """
    intercept = -2 if slope > 0 else -1
    planned = plan_slope(DIE, intercept=intercept, slope=slope, covariate=share, power=0.8)
    assert (planned.n > formula) == (slope > 0)
    rng, hits = np.random.default_rng(8), 0
    for _ in range(4000):
        second = rng.binomial(planned.n, share)
        sizes = np.array([planned.n - second, second])
        seen = rng.binomial(sizes, 1 / 6 + 2 / 3 * expit(intercept + slope * np.arange(2))) / sizes
        found = (seen - 1 / 6) * 1.5
        if found.min() > 0:
            se = np.sqrt((seen * (1 - seen) / sizes / (found * (1 - found) * 2 / 3) ** 2).sum())
            hits += abs(np.diff(np.log(found / (1 - found)))[0]) > 1.959964 * se
    assert hits / 4000 == pytest.approx(0.8, abs=4.5 * 0.4 / np.sqrt(4000) + 0.002)
    assert plan_slope(DIE, intercept=intercept, slope=slope, covariate=share, n=planned.n).power >= 0.8


@pytest.mark.parametrize(
    ("design", "share", "n"), [(DIE, 0.3, 80), (WARNER, 0.6, 80), (DIE, 0.1, 73)], ids=["die", "warner", "few"]
)
def test_a_counted_power_is_that_of_all_counts_of_five_sizes(design, share: float, n: int) -> None:
    """Sizes of the second group by Gauss-Hermite quadrature, and every pair of counts for each size; an empty group has
    no power.
    """
    z, (no, yes), total = 1.959964, design.matrix[:, 1], 0.0
    points, weights = roots_hermitenorm(5)
    for point, weight in zip(points, weights / np.sqrt(2 * np.pi), strict=True):
        second = round(n * share + point * np.sqrt(n * share * (1 - share)))
        if second == 0:
            assert n == 73
            continue
        (p, odds, variance), (q, *others) = (
            _side(size, no, yes, truth) for size, truth in ((n - second, expit(-1)), (second, expit(1)))
        )
        hits = np.abs(odds[:, None] - others[0]) > z * np.sqrt(variance[:, None] + others[1])
        total += weight * (p @ hits @ q)
    assert plan_slope(design, intercept=-1, slope=2, covariate=share, n=n).power == pytest.approx(total, abs=1e-7)


def _side(size, no, yes, truth):
    counts = np.arange(size + 1)
    found = (counts / size - no) / (yes - no)
    there = (found > 1e-9) & (found < 1 - 1e-9)
    found, seen, chance = found[there], counts[there] / size, binom.pmf(counts, size, no + (yes - no) * truth)[there]
    return chance, np.log(found / (1 - found)), seen * (1 - seen) / size / (found * (1 - found) * (yes - no)) ** 2


def test_power_is_by_the_formula_beyond_50_000_people_and_of_more_reports() -> None:
    for design, n, formula in ((DIE, 50_000, False), (DIE, 50_001, True), (kuk("4/5", "1/5", draws=2), 400, True)):
        planned = plan_slope(design, intercept=-1, slope=0.06 if n > 400 else 0.5, covariate=0.5, n=n)
        by_formula = ndtr(planned.slope / planned.se - critical_value(0.95, 2))
        assert (planned.power == pytest.approx(by_formula, rel=1e-12)) == formula


def test_a_plan_says_that_it_is_approximate() -> None:
    assert repr(plan_slope(DIE, intercept=-1, slope=0.5, power=0.8)).startswith("<SlopePlan: about 497 people")


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        ({"slope": 0, "n": 100}, "`slope` must differ from 0"),
        ({"slope": 0.5}, "exactly one of n and power must be given, got none"),
        ({"slope": 0.5, "n": 10, "power": 0.8}, "got both"),
        ({"slope": 0.5, "power": 0.01}, "`power` must lie between"),
        ({"slope": 0.5, "n": 10, "covariate": 1}, "strictly between 0 and 1"),
        ({"slope": 0.5, "n": 10, "covariate": 0}, "strictly between 0 and 1"),
        ({"slope": 0.5, "n": 1}, "`n` must be at least 2"),
    ],
)
def test_what_is_no_plan_is_refused(asked, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        plan_slope(DIE, intercept=-1, **asked)
    with pytest.raises(TypeError, match="two answers"):
        plan_slope(k_ary(3, epsilon=1.0), intercept=-1, slope=0.5, n=10)
