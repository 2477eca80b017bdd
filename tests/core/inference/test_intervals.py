"""Coverage by enumeration of all counts: no simulation, so no false alarms."""

import math
import re
from dataclasses import replace
from functools import cache
from itertools import chain

import numpy as np
import pytest
from scipy.special import betainc
from scipy.stats import beta, binom, t

from toolkit import Estimate, forced, kuk, warner
from toolkit.core.inference.intervals import (
    Interval,
    Normal,
    SampleShares,
    Shares,
    Student,
    cut,
    interval_from,
    share_error,
)
from toolkit.core.inference.posterior import RandomizedCounts

PREVALENCES = (0, 0.01, 0.02, 0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5)
SIZES = (50, 100, 200, 500, 1000, 2000, 5000)


def coverages(method: str, sizes: tuple[int, ...]) -> tuple[list[float], list[float]]:
    """Coverage and probability of an empty interval in every cell of the grid, for Warner's design."""
    covered, empty = zip(*(coverage_at(method, n) for n in sizes), strict=True)
    return list(chain(*covered)), list(chain(*empty))


@cache
def coverage_at(method: str, n: int) -> tuple[list[float], list[float]]:
    """The same for one number of people."""
    covered, empty = [], []
    for epsilon in (0.5, 1.0, 2.0):
        matrix = warner(epsilon=epsilon).matrix
        p, q = matrix[1, 1], matrix[0, 1]
        low, high = binom.ppf([1e-10, 1 - 1e-10], n, [q, q + 0.5 * (p - q)]).astype(int)
        counts = np.arange(low, high + 1)
        ones = np.ones(len(counts))
        interval = Shares.from_support(counts.astype(float), n, p * ones, q * ones).interval(0.95, method)
        for prevalence in PREVALENCES:
            chance = binom.pmf(counts, n, q + (p - q) * prevalence)
            covered.append(float(chance @ ((interval.low <= prevalence) & (prevalence <= interval.high))))
            empty.append(float(chance @ interval.empty))
    return covered, empty


def test_the_default_interval_covers_at_least_093() -> None:
    covered, _ = coverages("wilson", SIZES)
    assert min(covered) >= 0.93


@pytest.mark.slow
@pytest.mark.parametrize("method", ["wilson", "exact", "bayes", "wald"])
def test_the_documented_coverage_is_what_enumeration_gives(method: str) -> None:
    covered, empty = coverages(method, SIZES)
    documented = re.search(rf"{method} +([\d.]+) +([\d.]+) +([\d.]+)", Estimate.interval.__doc__ or "")
    assert documented is not None
    found = (min(covered), float(np.mean(covered)), max(empty))
    assert [f"{number:.3f}" for number in found] == list(documented.groups())


@pytest.mark.slow
def test_the_exact_interval_is_guaranteed_and_bayes_is_never_empty() -> None:
    assert min(coverages("exact", (50, 200, 1000))[0]) >= 0.95
    covered, empty = coverages("bayes", (50, 200))
    assert max(empty) == 0
    assert min(covered) > 0.87


@pytest.mark.parametrize(("count", "n"), [(30, 100), (60, 100), (480, 1000), (999, 1000), (0, 50)])
def test_the_bayes_interval_is_the_shortest_of_the_truncated_beta(count: int, n: int) -> None:
    p, q = 0.75, 0.25
    interval = warner(p).estimate_counts([n - count, count]).interval(0.9, "bayes")
    low, high = q + (p - q) * interval.low, q + (p - q) * interval.high
    inside = betainc(count + 1, n - count + 1, p) - betainc(count + 1, n - count + 1, q)
    if inside > 1e-9:  # else the closed form has lost its digits, which is why a grid is used
        mass = (betainc(count + 1, n - count + 1, high) - betainc(count + 1, n - count + 1, low)) / inside
        assert mass == pytest.approx(0.9, abs=1e-4)
    density = beta(count + 1, n - count + 1).pdf
    if low > q + 1e-6 and high < p - 1e-6:
        assert density(low) == pytest.approx(density(high), rel=0.05)
    elif low <= q + 1e-6:
        assert density(low) >= density(high) * 0.95


def test_wilson_agrees_with_the_textbook_for_a_direct_question() -> None:
    """Wilson's limits for 8 of 10 at 95 %: 0.4902 and 0.9433 (Newcombe 1998)."""
    shares = Shares.from_support(np.array([8.0]), 10, np.array([1.0]), np.array([0.0]))
    interval = shares.interval(0.95, "wilson")
    assert (round(interval.low, 4), round(interval.high, 4)) == (0.4902, 0.9433)


def test_clopper_pearson_agrees_with_the_textbook_for_a_direct_question() -> None:
    """Clopper and Pearson's limits for 8 of 10 at 95 %: 0.4439 and 0.9748."""
    interval = Shares.from_support(np.array([8.0]), 10, np.array([1.0]), np.array([0.0])).interval(0.95, "exact")
    assert (round(interval.low, 4), round(interval.high, 4)) == (0.4439, 0.9748)
    extremes = Shares.from_support(np.array([0.0, 10.0]), 10, np.ones(2), np.zeros(2)).interval(0.95, "exact")
    assert (extremes.low[0], extremes.high[1]) == (0, 1)
    for null in (0.0, 0.3, 1.0):  # none of ten, and all of them
        _, below, above = Shares.from_support(np.array([0.0, 10.0]), 10, np.ones(2), np.zeros(2)).tails(null, "exact")
        assert below == pytest.approx([binom.cdf(0, 10, null), 1])
        assert above == pytest.approx([1, binom.sf(9, 10, null)])


def test_a_wider_level_gives_a_wider_interval() -> None:
    estimate = kuk(0.8, 0.2, draws=3).estimate_counts([30, 20, 20, 10])
    for method in ("wilson", "exact", "bayes", "wald"):
        widths = [estimate.interval(level, method).width for level in (0.5, 0.9, 0.99)]
        assert widths == sorted(widths)


def test_normal_intervals_are_not_cut() -> None:
    interval = interval_from(Normal(-1.0, 0.5), 0.95, None)
    assert interval.low == pytest.approx(-1.98, abs=1e-3)
    assert interval.method == "wald"


@pytest.mark.parametrize("level", [0, 1, 95, -0.5])
def test_levels_are_checked(level: float) -> None:
    with pytest.raises(ValueError, match="`level` must lie strictly"):
        warner(0.7).estimate_counts([5, 5]).interval(level)


def test_an_interval_prints_its_limits_level_and_method() -> None:
    assert repr(Interval(0.25, 0.5)) == "Interval(low=0.25, high=0.5, level=0.95, method='wald')"


def test_an_interval_is_unpacked_into_its_limits() -> None:
    low, high = interval = warner(0.7).estimate_counts([55, 45]).interval()
    assert (low, high) == (interval.low, interval.high)


def test_an_empty_interval_has_no_limits_and_never_a_width_of_zero() -> None:
    interval = forced("1/6", "1/6").estimate_counts([290, 10]).interval()
    assert interval.empty is True
    assert all(np.isnan(limit) for limit in interval)
    assert np.isnan(interval.width)
    assert (
        repr(interval) == "Interval(empty, level=0.95, method='wilson': the data contradict every value at this level)"
    )


def test_of_several_intervals_the_empty_ones_have_no_limits() -> None:
    interval = Shares.from_support(np.array([10.0, 100.0]), 300, np.full(2, 5 / 6), np.full(2, 1 / 6)).interval(
        0.95, "exact"
    )
    assert interval.empty.tolist() == [True, False]
    assert np.isnan(interval.low).tolist() == [True, False]
    assert "nan where empty" in repr(interval)


def test_rounding_contradicts_nothing() -> None:
    assert cut(-1e-9, -1e-17, (0.0, 1.0), 0.95, "wald").empty is False
    assert cut(-1e-9, -1e-11, (0.0, 1.0), 0.95, "wald").empty is True
    for within in ((0.0, math.inf), (0.0, 1.0)):  # what ends at the edge holds it
        assert tuple(cut(-1.0, 0.0, within, 0.95, "wald")) == (0, 0)
        assert tuple(cut(within[1], math.inf, within, 0.95, "wald")) == (within[1], within[1])
    assert cut(-1.0, -1e-300, (0.0, math.inf), 0.95, "wald").empty is True


@pytest.mark.parametrize(("p", "q"), [(0.9, 0.3), (0.2, 0.6)])
def test_the_error_of_a_share_is_that_of_the_reports(p: float, q: float) -> None:
    """If all reports agree, the error is computed at the nearest possible share."""
    low, high = min(p, q), max(p, q)
    variances = np.array([low * (1 - low) / 40, 0.25 * 0.75 / 39, high * (1 - high) / 40])
    found = share_error(np.array([0.0, 10.0, 40.0]), 40, p, q)
    assert found == pytest.approx(np.sqrt(variances) / abs(p - q), rel=1e-12)
    assert np.isnan(share_error(np.ones(1), 1, p, q)).all()
    assert share_error(np.array([1.0]), 2, p, q) == pytest.approx(0.5 / abs(p - q))


def test_uncut_limits_are_there_for_differences_and_tests() -> None:
    """A die, 260 no and 40 yes: Wilson's limits are -0.101 and 0.0147."""
    low, high = forced("1/6", "1/6").estimate_counts([260, 40]).basis.uncut(0.95, "wilson")
    assert (low[0], high[0]) == pytest.approx((-0.101, 0.0147), abs=5e-4)


def test_students_interval_matches_the_textbook() -> None:
    """There are no limits if all answers are equal."""
    low, high = Student(10.0, 2.0, 4).interval(0.95, "t")
    assert (low, high) == pytest.approx(t.interval(0.95, 4, 10, 2))
    for silent in (Student(10.0, 0.0, 4), Student(10.0, float("nan"), 0), Student(1.0, 0.5, 0)):
        assert all(np.isnan(limit) for limit in silent.interval(0.95, "t"))
    low, high = Student(np.array([1.0, 2.0]), np.array([0.0, 1.0]), 9).interval(0.9, "t")
    assert np.isnan(low).tolist() == [True, False]


def test_some_shares_alone_keep_their_intervals() -> None:
    both = Shares.from_support(np.array([40.0, 100.0]), 300, np.full(2, 5 / 6), np.full(2, 1 / 6))
    one = both.rows(np.array([1]))
    for method in both.methods:
        assert one.interval(0.9, method).low == both.interval(0.9, method).low[1]


def among(p: float, least: float, greatest: float, n: int) -> Shares:
    """All counts of n reports for an option that p of its holders and from `least` to `greatest` of the
    others report.
    """
    count, rows = np.arange(n + 1.0), np.ones((n + 1, 1))
    dummy = np.full(n + 1, 0.5)
    return Shares(
        value=dummy,
        se=dummy,
        n=n,
        spread_with=dummy,
        spread_without=dummy,
        counts=np.stack([count, n - count], axis=1),
        probs_with=rows * [p, 1 - p],
        probs_without=rows * [least, 1 - least],
        support_range_without=(np.full(n + 1, least), np.full(n + 1, greatest)),
    )


def test_a_report_that_is_as_probable_from_either_speaks_for_nobody() -> None:
    """Three kinds of report, the middle one uninformative: 20 of 100 reports support the option."""
    one = np.ones(1)
    given, without = np.array([[0.5, 0.25, 0.25]]), np.array([[0.25, 0.25, 0.5]])
    spoken = (without[:, 0], without[:, 0])
    shares = Shares(one, one, 100, one, one, np.array([[20.0, 45, 35]]), given, without, spoken)
    assert [part.tolist() for part in shares.support()] == [[20], [0.5]]
    low, high = (beta.ppf(tail, 20 + more, 81 - more) for tail, more in ((0.025, 0), (0.975, 1)))
    found = shares.uncut(0.95, "exact")
    assert np.ravel(found) == pytest.approx([(low - 0.25) / 0.25, (high - 0.25) / 0.25])


@pytest.mark.parametrize("n", [7, 40])
def test_exact_intervals_and_tails_hold_whatever_the_others_report(n: int) -> None:
    """By enumeration: 0.8 from those who have the option, 0.1 to 0.3 from the others."""
    shares = among(0.8, 0.1, 0.3, n)
    low, high = shares.uncut(0.95, "exact")
    for share in (0, 0.05, 0.3, 0.6, 0.95, 1):
        _, below, above = shares.tails(share, "exact")
        for other in (0.1, 0.2, 0.3):
            chance = binom.pmf(np.arange(n + 1), n, share * 0.8 + (1 - share) * other)
            assert chance @ (low > share + 1e-12) <= 0.025 + 1e-12
            assert chance @ (high < share - 1e-12) <= 0.025 + 1e-12
            for level in (0.001, 0.025, 0.2):
                assert chance @ (below <= level) <= level
                assert chance @ (above <= level) <= level


def test_reports_that_do_not_single_out_an_option_exclude_no_share() -> None:
    """0.25 from those who have it and up to 0.3 from others: many reports may come from those, and few from anybody."""
    for greatest in (0.25, 0.3):
        shares = among(0.25, 0.1, greatest, 20)
        low, high = shares.uncut(0.95, "exact")
        assert (low.tolist(), high.tolist()) == ([0] * 21, [1] * 21)
        for null in (0.0, 0.5, 1.0):
            _, below, above = shares.tails(null, "exact")
            assert (below.tolist(), above.tolist()) == ([1] * 21, [1] * 21)


def test_the_standard_error_of_a_share_divides_by_n_minus_1() -> None:
    """The sample variance of the scores does the same; a single report has no error."""
    shares = Shares.from_support(np.array([3.0]), 8, np.array([0.75]), np.array([0.25]))
    scores = (np.repeat([1.0, 0.0], [3, 5]) - 0.25) / 0.5
    assert shares.se[0] == pytest.approx(scores.std(ddof=1) / np.sqrt(8))
    assert np.isnan(Shares.from_support(np.array([1.0]), 1, np.array([0.75]), np.array([0.25])).se[0])


@pytest.mark.parametrize("n", [10**6, 10**9, 10**12])
def test_the_posterior_of_many_reports_is_as_narrow_as_its_standard_error(n: int) -> None:
    """Far narrower than the first grid, whose nearest point may lie anywhere beside it."""
    for share in (0.3, 0.37654, 0.99):
        shares = Shares.from_support(np.array([n * (0.25 + 0.5 * share)]), n, np.array([0.75]), np.array([0.25]))
        low, high = shares.interval(0.95, "bayes")
        assert (low, high) == pytest.approx(tuple(shares.interval(0.95, "wald")), abs=0.02 * shares.se[0])


def test_reports_that_speak_against_an_option_mirror_the_opposite_reports() -> None:
    """The intervals and the tails are the same for 0.1 of those who have it and 0.6 of the others as for 0.9 and 0.4 of
    the other reports.
    """
    count, ones = np.arange(21.0), np.ones(21)
    one = Shares.from_support(count, 20, 0.1 * ones, 0.6 * ones)
    other = Shares.from_support(20 - count, 20, 0.9 * ones, 0.4 * ones)
    for method in ("exact", "wilson"):
        assert np.array(one.uncut(0.9, method)) == pytest.approx(np.array(other.uncut(0.9, method)))
        assert np.array(one.tails(0.3, method)) == pytest.approx(np.array(other.tails(0.3, method)))


def sample_share(count: int, n: int = 50) -> SampleShares:
    """A plain question to n people with equal weights."""
    one, shares = np.ones(1), Shares.from_support(np.array([float(count)]), n, np.ones(1), np.zeros(1))
    return SampleShares(shares, shares.value, shares.se, n * one, n * one, n * one, n - 1, one)


def test_an_interval_of_a_sample_ends_where_shares_end() -> None:
    assert sample_share(1).interval(0.95, "t").low == 0
    assert sample_share(49).interval(0.95, "t").high == 1


@pytest.mark.parametrize("method", ["wilson", "korn-graubard", "logit"])
def test_the_p_value_of_a_sampled_share_matches_its_interval(method: str) -> None:
    """Every share has a p-value, and the interval at the level 1 - p ends there. Also next to the estimate, where
    the limits of exact intervals do not meet at any level: there p is 1.
    """
    basis = sample_share(20)
    for null in (0.2, 0.38, 0.395, 0.4, 0.405, 0.42, 0.6):
        statistic, below, above = basis.tails(null, method)
        p = min(1.0, 2 * min(below, above))
        assert 0 < p <= 1
        assert below + above == pytest.approx(1, abs=1e-6)
        assert (below, above) == pytest.approx((t.cdf(statistic, 49), t.sf(statistic, 49)), abs=1e-6)
        if p < 0.99:
            assert np.min(np.abs(np.ravel(basis.uncut(1 - p, method)) - null)) < 1e-9
        student = Student(0.4, float(basis.se[0]), 49)
        assert [*map(float, basis.tails(null, "t"))] == pytest.approx(student.tails(null, "t"))
        assert np.ndim(basis.tails(null, "t")[0]) == 0
    # At the very edge, which every interval reaches.
    assert sample_share(0).tails(0.0, method)[1:] == pytest.approx((0.5, 0.5))
    assert sample_share(50).uncut(0.95, method)[1] == pytest.approx(1)


@pytest.mark.parametrize("method", ["wilson", "korn-graubard", "logit", "t"])
def test_a_sample_without_a_degree_of_freedom_is_taken_for_one_with_one(method: str) -> None:
    none, one, two = (replace(sample_share(20), df=df) for df in (0, 1, 2))
    assert none.uncut(0.9, method) == one.uncut(0.9, method) != two.uncut(0.9, method)
    heavy = [replace(sample_share(20), n=np.array([n]), kish=np.array([1e9])) for n in (1, 2, 3)]
    few = [basis.uncut(0.9, "korn-graubard") for basis in heavy]  # the quantiles of a sample of one are those of two
    assert few[0] == few[1] != few[2]
    for basis, df in ((none, 1), (one, 1), (two, 2)):
        for null in (0.1, 0.7):
            statistic, below, above = basis.tails(null, method)
            assert (t.cdf(statistic, df), t.sf(statistic, df)) == pytest.approx((below, above), abs=1e-9)


def test_some_of_the_shares_have_the_methods_of_each_for_itself() -> None:
    """The joint posterior of all shares is not a posterior of some of them."""
    ones = np.ones(3)
    shares = Shares.from_support(np.array([5.0, 9.0, 2.0]), 20, 0.75 * ones, 0.25 * ones)
    assert shares.rows(np.array([1])).methods == ("wilson", "exact", "bayes", "wald")
    together = replace(shares, joint=RandomizedCounts(np.eye(3), shares.value, np.eye(3)))
    assert together.rows(np.array([1])).methods == ("wilson", "exact", "wald")
    assert together.rows(np.array([2, 0])).value.tolist() == shares.value[[2, 0]].tolist()
