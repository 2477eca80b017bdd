"""The power of a test is counted, and the number of people that keeps it is the smallest that does."""

import math
from fractions import Fraction

import numpy as np
import pytest

from tests.slowly import each
from toolkit import crosswise, forced, warner
from toolkit.planning.accuracy import ScoreTest, score_tests

Z = {1: 1.6448536269514722, 2: 1.959963984540054}
DESIGNS = {"die": forced("1/6", "1/6"), "warner": warner("3/4"), "crosswise": crosswise(0.15)}


def judged(design, before, after, sides=2):
    found = score_tests(DESIGNS[design].matrix, before, after, Z[sides])
    assert found is not None
    return found[0]


@pytest.mark.parametrize(
    ("design", "before", "after", "one", "two"),
    [
        ("die", 0, 0.1, (205, 223), (254, 277)),
        ("die", 0, 0.05, (790, 837), (1001, 1053)),
        ("die", 0.05, 0.15, (230, 246), (296, 312)),
        ("warner", 0, 0.1, (470, 498), (597, 628)),
        ("crosswise", 0, 0.1, (169, 188), (212, 232)),
    ],
)
def test_where_the_power_first_reaches_80_percent_and_from_where_it_stays(design, before, after, one, two):
    """By enumeration of all n, each with the exact binomial tail of counts whose uncut Wilson interval
    excludes `before`.
    """
    for sides, expected in ((1, one), (2, two)):
        found = judged(design, before, after, sides)
        assert (found.first_n(0.8), found.sustained_n(0.8)) == expected


@each(seed=range(30))
def test_blocks_of_n_find_what_looking_at_every_n_finds(seed):
    rng = np.random.default_rng(seed)
    null = rng.uniform(0, 0.9)
    one = ScoreTest(null, rng.uniform(null + 0.04, min(null + 0.4, 1)), float(rng.uniform(0, 3)))
    power = float(rng.uniform(0.3, 0.99))
    end = one._sufficient_n(power)
    reached = np.array([one.power(n) >= power for n in range(1, end + 300)])
    assert reached[end - 1 :].all()
    assert one.first_n(power) == int(np.argmax(reached)) + 1
    stays = int(np.flatnonzero(~reached).max(initial=-1)) + 2
    assert one.sustained_n(power) == stays
    assert [one.is_sustained(power, n) for n in (stays, stays + 5, 10 * end)] == [True] * 3
    assert stays == 1 or not one.is_sustained(power, stays - 1)
    assert not reached[: stays - 1].all() or stays == 1


@pytest.mark.parametrize("power", [0.5, 0.8, 0.99])
def test_beyond_the_end_of_the_search_chernoffs_bound_keeps_the_power(power):
    """The bound falls as n grows, because the threshold moves away from the truth: it need be computed once."""
    for one in (judged("die", 0, 0.1), judged("warner", 0.3, 0.2, 1), ScoreTest(0.0, 0.1, Z[2])):
        end = one._sufficient_n(power)
        for n, enough in ((end, True), (end // 2, False)):
            edge = one.null + one.critical * math.sqrt(one.null * (1 - one.null) / n)
            share, other = edge / one.truth, (1 - edge) / (1 - one.truth)
            distance = (edge * math.log(share) if edge else 0) + (1 - edge) * math.log(other)
            assert (edge < one.truth and math.exp(-n * distance) <= 1 - power) is enough


@each(truth=[Fraction(1, 10), Fraction(7, 30), Fraction(1, 2), Fraction(1)], n=[1, 2, 17, 60, 277])
def test_the_power_is_the_binomial_tail_and_never_above_it(n, truth):
    one = ScoreTest(1 / 12, float(truth), Z[2])
    least = next(x for x in range(n + 2) if x > n / 12 + Z[2] * math.sqrt(n * 11) / 12)
    tail = sum((math.comb(n, x) * truth**x * (1 - truth) ** (n - x) for x in range(least, n + 1)), Fraction(0))
    assert tail - Fraction(2, 10**12) <= Fraction(one.power(n)) <= tail


@pytest.mark.parametrize("design", DESIGNS)
@pytest.mark.parametrize(("before", "after"), [(0, 0.2), (0.05, 0.3), (0.5, 0.4), (0.9, 1), (1, 0.7)])
def test_the_test_rejects_where_the_default_interval_excludes_the_null(design, before, after):
    """The interval must exclude the first share on the side of the other. For every count of up to 40 people; the
    limits are those before they are cut to 0 … 1, as for `Estimate.test`.
    """
    one = judged(design, before, after)
    for n in (1, 2, 9, 23, 40):
        rejected = 0.0
        for yes in range(n + 1):
            low, high = DESIGNS[design].estimate_counts([n - yes, yes]).basis.uncut(0.95, "wilson")
            if (low > before and after > before) or (high < before and after < before):
                share = (np.array([1 - after, after]) @ DESIGNS[design].matrix)[1]
                rejected += math.comb(n, yes) * share**yes * (1 - share) ** (n - yes)
        assert one.power(n) == pytest.approx(rejected, abs=1e-9)


def test_the_envelope_is_below_the_teeth_and_touches_them():
    one = judged("die", 0, 0.1)
    gaps = [one.power(n) - one.lower_bound(n) for n in range(50, 2000)]
    assert 0 <= min(gaps) < 1e-3
    over = [one.upper_bound(n) - one.power(n) for n in range(50, 2000)]
    assert 0 <= min(over) < 1e-3
    assert all(
        one.upper_bound(n) <= one._rejection_probability(n, one._max_accepted_count(n) - 1) for n in range(50, 2000)
    )
    assert all(one.lower_bound(n + 1) > one.lower_bound(n) for n in range(50, 2000))


def test_without_randomness_one_report_may_prove_it():
    """Asked directly, nobody says yes if nobody has it: 1 - 0.9**n is at least 0.8 from 16 people on."""
    direct = score_tests(DESIGNS["die"].matrix, 0, 0.1, Z[2])[1]
    assert direct.first_n(0.8) == direct.sustained_n(0.8) == 16
    assert direct.power(16) == pytest.approx(1 - 0.9**16, abs=1e-11)


def test_one_person_may_be_enough():
    sure = ScoreTest(0.0, 0.9, Z[2])
    assert sure.first_n(0.8) == sure.sustained_n(0.8) == 1
    assert sure.first_n(0.95) == sure.sustained_n(0.95) == 2
    assert all(sure.lower_bound(n) <= sure.power(n) <= sure.upper_bound(n) for n in range(1, 30))
    assert sure.upper_bound(1) == pytest.approx(0.9)  # nobody is below the threshold of no report
    assert sure.is_sustained(0.95, 2)
    assert not sure.is_sustained(0.95, 1)


def test_other_tests_are_not_counted():
    assert score_tests(np.full((3, 3), 1 / 3), 0.1, 0.2, Z[2]) is None
    assert score_tests(DESIGNS["die"].matrix, 0.1, 0.2, -0.5) is None
    assert score_tests(DESIGNS["die"].matrix, 0.1, 0.2, 0.0) is not None  # more than expected rejects
    assert score_tests(DESIGNS["die"].matrix, 0.1, 0.1, Z[2]) is None


@pytest.mark.slow
def test_the_tail_of_twenty_thousand_reports_is_exact_to_twelve_digits():
    """Summed in integers: with a quarter of the reports, each term is 3 (x + 1) / (n - x) of the one above it."""
    n, one = 20_000, ScoreTest(0.24, 0.25, Z[2])
    least = math.floor(n * 0.24 + Z[2] * math.sqrt(n * 0.24 * 0.76)) + 1
    term = tail = 1  # all n
    for x in range(n - 1, least - 1, -1):
        term = term * 3 * (x + 1) // (n - x)
        tail += term
    assert Fraction(tail, 4**n) - Fraction(2, 10**12) <= Fraction(one.power(n)) <= Fraction(tail, 4**n)


def test_a_quarter_of_a_million_people_are_still_counted():
    assert ScoreTest(1 / 6, 1 / 6 + 0.002, 1.96).sustained_n(0.8) == 273_798
