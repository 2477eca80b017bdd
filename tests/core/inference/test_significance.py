"""A test and its interval always agree: checked by enumeration of counts, so there are no false alarms."""

from dataclasses import dataclass

import numpy as np
import pytest

from toolkit import Estimate, Gaussian, Laplace, crosswise, forced, k_ary, kuk, mangat, warner
from toolkit.central.tables import CellEstimates
from toolkit.core.inference.contrasts import BonferroniDifference
from toolkit.core.inference.intervals import Affine, Interval, Normal, Shares, Student
from toolkit.core.inference.significance import Significance, adjusted, significance
from toolkit.local.numeric import one_bit
from toolkit.local.numeric.square_wave import Bootstrap

DIE = forced("1/6", "1/6")
DESIGNS = {
    "die": DIE,
    "warner": warner("3/4"),
    "crosswise": crosswise("0.15"),
    "mangat": mangat("2/3"),
    "weak": warner(epsilon=0.2),
}
NULLS = (0.0, 0.05, 0.25, 0.5, 1.0)


def all_counts(name: str, n: int) -> Shares:
    matrix = DESIGNS[name].matrix
    ones = np.ones(n + 1)
    return Shares.from_support(np.arange(n + 1.0), n, matrix[1, 1] * ones, matrix[0, 1] * ones)


@pytest.mark.slow
@pytest.mark.parametrize("method", ["wilson", "exact"])
@pytest.mark.parametrize("name", DESIGNS)
def test_a_p_value_rejects_exactly_where_the_uncut_interval_does(name: str, method: str) -> None:
    """The p-value is at most 1 - level exactly when the interval leaves the null out: all counts of all n up to 60,
    five nulls, three levels.
    """
    for n in range(2, 61):
        shares = all_counts(name, n)
        for level in (0.5, 0.9, 0.95):
            low, high = shares.uncut(level, method)
            for null in NULLS:
                p = significance(shares, shares.value, shares.se, null, 2, None, method).p
                clear = (np.abs(low - null) > 1e-9) & (np.abs(high - null) > 1e-9)
                assert np.array_equal((p <= 1 - level)[clear], ((null < low) | (null > high))[clear])


def test_walds_test_agrees_with_walds_interval() -> None:
    shares = all_counts("die", 40)
    low, high = shares.uncut(0.9, "wald")
    p = significance(shares, shares.value, shares.se, 0.2, 2, None, "wald").p
    assert np.array_equal(p <= 0.1, (low > 0.2) | (high < 0.2))


def test_the_default_agrees_for_designs_with_more_reports_or_options() -> None:
    for design, counts in ((kuk("4/5", "1/5", draws=2), [30, 25, 10]), (DIE.joint(warner("3/4")), [40, 20, 15, 12])):
        estimate = design.estimate_counts(counts)
        for null in np.linspace(0.01, 0.99, 50):
            low, high = estimate.interval(0.8)
            assert np.array_equal(estimate.test(float(null)).p <= 0.2, (null < low) | (null > high))


def test_the_reference_numbers_of_862_yes_among_2400_through_a_die() -> None:
    """Computed independently from the normal quantile and the binomial law."""
    estimate = DIE.estimate_counts([1538, 862])
    quarter, third, none = (estimate.test(null) for null in (0.25, 0.3, 0))
    assert (quarter.statistic, quarter.p) == pytest.approx((2.684678752, 0.007259955), rel=1e-7)
    assert (third.statistic, third.p) == pytest.approx((-0.762456368, 0.445787675), rel=1e-7)
    assert none.statistic == pytest.approx(25.30478216)
    assert estimate.test(0.25, method="exact").p == pytest.approx(0.008069, abs=5e-7)
    assert estimate.test(0.25, method="wald").statistic == pytest.approx(2.637394, abs=1e-6)
    assert (quarter.null, quarter.sides, quarter.direction, quarter.method) == (0.25, 2, None, "wilson")


def test_one_side_has_half_of_it_and_the_other_the_rest() -> None:
    estimate = DIE.estimate_counts([1538, 862])
    greater, less = estimate.test(0.25, sides=1), estimate.test(0.25, sides=1, direction="less")
    assert greater.direction == "greater"
    assert greater.p == pytest.approx(estimate.test(0.25).p / 2)
    assert greater.p + less.p == pytest.approx(1)


def test_each_entry_of_several_has_its_p_value() -> None:
    found = k_ary(3, epsilon=2.0).estimate_counts([50, 30, 20]).test("1/3")
    assert found.p.shape == found.statistic.shape == (3,)
    assert found.p[1] > 0.1 > found.p[0]


@pytest.mark.parametrize(
    "estimate",
    [
        Laplace.for_epsilon(0.5).release(10, np.random.default_rng(1)),
        Laplace.for_epsilon(0.5, sensitivity="1/4").release(10.25, np.random.default_rng(1)),
        Gaussian.for_rho(0.5).release(10, np.random.default_rng(2)),
        Estimate(2.0, 0.5, ("mean",), np.array([[0.25]]), n=None, loss=None, covers="sampling"),
        Estimate(
            2.0, 0.5, ("mean",), np.array([[0.25]]), n=4, loss=None, covers="sampling", basis=Student(2.0, 0.5, 3)
        ),
        one_bit((-100, 100), 1.0).estimate_counts([400, 600]),
    ],
    ids=["laplace on integers", "laplace", "gaussian", "normal", "t", "one bit"],
)
def test_every_basis_has_a_test_that_agrees_with_its_interval(estimate: Estimate) -> None:
    for distance in (-6.0, -2.0, -0.3, 0.4, 1.5, 5.0):
        null = float(estimate.value) + distance * float(estimate.se)
        if estimate.fit is not None and abs(null) > 100:
            continue  # its interval is cut to what is possible
        p = estimate.test(null).p
        for level in (0.3, 0.8, 0.95, 0.99):
            low, high = estimate.interval(level)
            if min(abs(p - 1 + level), abs(null - low), abs(null - high)) > 1e-6:
                assert (p <= 1 - level) == (not low <= null <= high), (distance, level, p)
        sides = [estimate.test(null, sides=1, direction=way).p for way in ("less", "greater")]
        assert min(sides) == pytest.approx(p / 2)


def test_noise_far_away_has_the_smallest_p_value_that_a_level_can_tell() -> None:
    found = Laplace.for_epsilon(1).release(10_000, np.random.default_rng(1)).test(0)
    assert found.p == 1e-15


def test_a_vector_of_noisy_counts_is_tested_entry_by_entry() -> None:
    estimate = Laplace.for_epsilon(1).release(np.array([0, 100]), np.random.default_rng(1))
    p = estimate.test(0).p
    assert p[1] < 1e-10 < p[0]


def test_a_ratio_of_noisy_numbers_agrees_and_claims_no_half_for_one_side() -> None:
    """Its interval guarantees both sides together; which side misses more often is not known."""
    value, se = np.array([0.4]), np.array([0.1])
    cells = CellEstimates(value, se, lambda level: (0.4 - level / np.array([4]), 0.4 + level**2 / np.array([3])))
    estimate = cells.estimate(as_scalar=True)
    for null in (0.2, 0.3, 0.38, 0.45, 0.6):
        p = estimate.test(null).p
        for level in (0.3, 0.8, 0.95):
            low, high = estimate.interval(level)
            assert (p <= 1 - level) == (not low <= null <= high)
        assert min(estimate.test(null, 1, direction=way).p for way in ("less", "greater")) == p


def test_a_bootstrap_p_value_is_limited_by_the_number_of_draws() -> None:
    """The smallest p-value of 99 resampled surveys is 2 / 100."""
    basis = Bootstrap(np.linspace(0, 1, 99)[:, None])
    assert significance(basis, np.array([0.5]), np.array([0.3]), 7, 2, None, None).p[0] == 2 / 100
    assert significance(basis, np.array([0.5]), np.array([0.3]), 0.75, 2, None, None).p[0] == pytest.approx(
        0.5, abs=0.02
    )


def test_another_unit_changes_no_p_value() -> None:
    estimate = DIE.estimate_counts([60, 40])
    assert estimate.rescaled(100, 3).test(23).p == pytest.approx(estimate.test(0.2).p)
    assert isinstance(estimate.rescaled(2).basis, Affine)


def test_a_direct_question_excludes_zero_as_soon_as_somebody_says_yes() -> None:
    direct = warner(1)
    assert direct.estimate_counts([9, 1]).test(0).p == 0
    assert direct.estimate_counts([10, 0]).test(0).p == 1


def test_one_report_alone_can_be_tested_by_the_law_of_the_reports() -> None:
    found = DIE.estimate_counts([0, 1])
    assert 0 < found.test(0).p < 1
    assert np.isnan(found.test(0, method="wald").p)


@dataclass(frozen=True)
class TwoTails:
    """Symmetric errors with Pr[|error| > x] = e**-x: a basis that has only intervals."""

    value: np.ndarray
    methods: tuple[str, ...] = ("noise",)
    equal_tails: bool = True

    def interval(self, level: float, method: str) -> Interval:
        reach = -np.log1p(-level)
        return Interval(self.value - reach, self.value + reach, level, method)


def two_tails(null: float, direction: str | None = None) -> tuple[TwoTails, np.ndarray]:
    basis = TwoTails(np.array([3.0, -1.0, 0.5, np.nan]))
    sides = 2 if direction is None else 1
    return basis, significance(basis, basis.value, np.ones(4), null, sides, direction, None).p


def test_a_p_value_from_intervals_alone_is_never_too_small() -> None:
    """At the level 1 - p the interval excludes the null, and 10 digits are right: e**-distance."""
    for null in (0.0, 0.3, 2.0, 7.25):
        basis, found = two_tails(null)
        assert found[:3] == pytest.approx(np.exp(-np.abs(basis.value[:3] - null)), rel=2e-10)
        for entry, p in enumerate(found[:3].tolist()):
            low, high = basis.interval(1 - p, "noise")
            assert not low[entry] <= null <= high[entry]


def test_an_entry_without_an_interval_has_no_p_value_on_any_side() -> None:
    for direction in (None, "less", "greater"):
        assert np.isnan(two_tails(0.0, direction)[1]).tolist() == [False, False, False, True]


def test_a_value_at_the_null_speaks_for_neither_side() -> None:
    """With integer noise, the probability of 0 or less is above one half, so one half would be too small."""
    for direction in ("less", "greater"):
        assert two_tails(0.5, direction)[1][2] == 1
        assert (
            Estimate(2.0, 0.0, ("n",), None, 5, None, "noise", basis=TwoTails(np.array(2.0)))
            .test(2, 1, direction=direction)
            .p
            == 1
        )


def test_no_p_value_is_above_one() -> None:
    """For counts, both tails include the count itself, and may both be above one half."""
    for n in (2, 5, 20):
        shares = all_counts("die", n)
        for method in ("exact", "wilson", "wald"):
            for null in NULLS:
                found = significance(shares, shares.value, shares.se, null, 2, None, method).p
                assert np.all((found >= 0) & (found <= 1))
    assert DIE.estimate_counts([10, 10]).test(0.5, method="exact").p == 1


def test_what_makes_no_test_is_refused() -> None:
    estimate = DIE.estimate_counts([60, 40])
    with pytest.raises(ValueError, match="`sides` must be 1 or 2, got True"):
        estimate.test(0, True)
    with pytest.raises(ValueError, match="`sides` must be 1 or 2, got 3"):
        estimate.test(0, 3)
    with pytest.raises(ValueError, match="must be left out when `sides` is 2"):
        estimate.test(0, direction="less")
    with pytest.raises(ValueError, match="`direction` must be one of greater, less"):
        estimate.test(0, 1, direction="up")
    with pytest.raises(ValueError, match="`method` must be one of wilson, exact, wald"):
        estimate.test(0, method="bayes")


def test_the_result_is_frozen_and_says_all() -> None:
    found = DIE.estimate_counts([1538, 862]).test(0.25)
    with pytest.raises(AttributeError):
        found.p = 1
    assert isinstance(found, Significance)
    assert repr(found) == "<Significance p = 0.0073: statistic 2.6847, null 0.25, two-sided, wilson>"
    assert "one-sided, less" in repr(DIE.estimate_counts([60, 40]).test(0, 1, direction="less"))


def test_many_p_values_are_adjusted_as_bonferroni_and_holm_say() -> None:
    """Four tests of a difference between women and men in rr_synthetic.csv; NaN is not a test and remains NaN."""
    p = np.array([0.020480, 0.040015, np.nan, 0.147162, 0.004682])
    holm = [0.061440, 0.080030, np.nan, 0.147162, 0.018728]
    assert adjusted(p, "holm") == pytest.approx(holm, abs=2e-6, nan_ok=True)
    bonferroni = [0.081920, 0.160060, np.nan, 0.588648, 0.018728]
    assert adjusted(p, "bonferroni") == pytest.approx(bonferroni, abs=2e-6, nan_ok=True)
    assert adjusted(0.04, "holm") == adjusted(0.04, "bonferroni") == 0.04
    assert np.isnan(adjusted(np.nan, "holm"))


def test_a_change_of_unit_does_not_change_the_test() -> None:
    """This also holds where only intervals are known."""
    basis = BonferroniDifference(Normal(3.0, 1.0), Normal(1.0, 1.0))
    plain = significance(basis, 2.0, 1.5, 0.5, 2, None, None)
    moved = significance(Affine(basis, 10.0, 7.0), 27.0, 15.0, 12.0, 2, None, None)
    assert plain.statistic == moved.statistic == pytest.approx(1.0)
    assert plain.p == pytest.approx(moved.p)


def test_unless_said_otherwise_it_is_zero_that_is_tested() -> None:
    found = DIE.estimate_counts([70, 30])
    assert (found.test().null, found.test().p) == (0, found.test(0).p)
