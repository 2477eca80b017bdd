"""Ratios of estimates: Fieller's interval against its quadratic equation, and its coverage by enumeration."""

import math

import numpy as np
import pytest

from tests.slowly import each
from toolkit import forced, k_ary
from toolkit.core.estimate import Estimate
from toolkit.core.inference.contrasts import Quotient, _fieller, ratio_basis
from toolkit.core.inference.intervals import Normal, Student

DIE = forced("1/6", "1/6")
Z = 1.959963984540054


@each(correlation=[0.0, 0.3, -0.8], y=[2.0, -2.0], x=[1.2, -1.2, 0.2, -0.2, 0.0])
def test_normal_limits_lead_to_the_roots_of_fieller(x: float, y: float, correlation: float) -> None:
    """(x - r y)**2 = z**2 (0.09 - 2 r c 0.12 + r**2 0.16)."""
    basis = Quotient(Normal(x, 0.3), Normal(y, 0.4), x / y, 0.1, 0.1, correlation)
    square, half = y**2 - Z**2 * 0.16, x * y - Z**2 * correlation * 0.12
    roots = np.sort(np.roots([square, -2 * half, x**2 - Z**2 * 0.09]))
    assert basis.uncut(0.95, "fieller") == pytest.approx(roots, abs=1e-12)


def test_a_second_that_could_be_zero_leaves_no_upper_limit() -> None:
    assert Quotient(Normal(1.0, 0.1), Normal(0.5, 0.4), 2.0, 0.1, 0.1).uncut(0.95, "fieller") == (-np.inf, np.inf)
    ratio = DIE.estimate_counts([60, 40]) / DIE.estimate_counts([80, 20])
    low, high = ratio.interval()
    assert 0 < low < ratio.value
    assert high == np.inf
    assert ratio.interval(0.5).high < np.inf


def test_a_ratio_cannot_be_negative_where_neither_of_both_can() -> None:
    share, mean = Normal(0.5, 0.1, (0.0, 1.0)), Normal(0.5, 0.1)
    for first, second, least in ((share, share, 0), (share, mean, -np.inf), (mean, share, -np.inf)):
        assert Quotient(first, second, 1.0, 0.1, 0.1).within == (least, np.inf)


def test_the_test_agrees_with_the_interval() -> None:
    ratio = DIE.estimate_counts([761, 469]) / DIE.estimate_counts([777, 393])
    for method in ("fieller", "log"):
        limits = ratio.interval(1 - ratio.test(1, method=method).p, method)
        assert float(limits.low) == pytest.approx(1.0, abs=1e-9)
        assert np.sign([ratio.test(null, method=method).statistic for null in (1, 2)]).tolist() == [1, -1]
    assert ratio.labels == ("yes",)
    assert ratio.n == 2400
    assert type(ratio.value) is type(ratio.se) is float
    seen = np.array([469 / 1230, 393 / 1170])
    relative = np.sqrt(seen * (1 - seen) / [1229, 1169]) / (seen - 1 / 6)
    assert ratio.se == pytest.approx(ratio.value * np.hypot(*relative))


def test_several_entries_are_divided_label_by_label() -> None:
    first, second = (k_ary(["a", "b"], epsilon=2).estimate_counts(counts) for counts in ([500, 300], [420, 380]))
    ratio = first / second
    assert ratio.labels == first.labels
    assert ratio.value == pytest.approx(first.value / second.value)
    assert ratio.se == pytest.approx(ratio.value * np.hypot(first.se / first.value, second.se / second.value))


def test_entries_of_one_estimate_keep_their_covariance() -> None:
    table = k_ary(["no", "once", "often"], epsilon=2).estimate_counts([500, 300, 200])
    ratio = table.ratio("once", "often")
    slopes = np.array([0, 1, -ratio.value]) / table.value[2]
    assert ratio.value == pytest.approx(table.value[1] / table.value[2])
    assert ratio.se == pytest.approx(float(np.sqrt(slopes @ table.cov @ slopes)))
    assert ratio.interval().low < ratio.value < ratio.interval().high
    with pytest.raises(LookupError, match="has the entries"):
        table.ratio("once", "never")
    few = Estimate(np.array([1.0, 2.0]), np.array([0.1, 0.1]), ("a", "b"), np.eye(2) / 100, 9, None, "", basis=None)
    reach = Z / 10
    by_hand = _fieller((1, 1 - reach, 1 + reach), (2, 2 - reach, 2 + reach), 0, False)
    assert tuple(few.ratio("a", "b").interval()) == pytest.approx(by_hand)
    assert _fieller((1, 0.5, 1.5), (1, 0, 2), 0, False) == (-math.inf, math.inf)  # the second could be 0
    basis = ratio_basis(Student(np.array([1.0, 2.0]), np.array([0.1, 0.2]), 7), 2.0, 0.2)
    assert (basis.value, basis.se, basis.df) == (2.0, 0.2, 7)


@pytest.mark.slow
def test_coverage_through_a_die_by_enumeration() -> None:
    """All pairs of counts of 40 and 60 people; nothing is drawn."""
    for first, second in ((0.1, 0.1), (0.3, 0.15), (0.02, 0.1)):
        sides = [_outcomes(40, first), _outcomes(60, second)]
        covered = 0.0
        for chance, limits in sides[0]:
            for other, others in sides[1]:
                low, high = _fieller(limits, others, 0.0, True)
                covered += chance * other * (low <= first / second <= high)
        assert 0.93 < covered < 0.98


def _outcomes(n, share):
    yes = 1 / 6 + 2 / 3 * share
    rows = []
    for count in range(n + 1):
        estimate = DIE.estimate_counts([n - count, count])
        low, high = (float(limit[0]) for limit in estimate.basis.uncut(0.95, "wilson"))
        rows.append((math.comb(n, count) * yes**count * (1 - yes) ** (n - count), (estimate.value, low, high)))
    return rows


def test_what_is_no_ratio_is_refused() -> None:
    one = DIE.estimate_counts([6, 4])
    with pytest.raises(ValueError, match="a ratio must be of two estimates, got an estimate and itself"):
        one / one
    with pytest.raises(TypeError, match="another operation with int"):
        one / 2
    with pytest.raises(TypeError, match="another operation with float"):
        1.0 / one
    mapped = one.map(np.exp, np.exp)
    with pytest.raises(ValueError, match="needs estimates with untruncated limits"):
        mapped / one
