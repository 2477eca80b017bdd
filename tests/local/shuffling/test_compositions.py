"""The worst composition of the others' answers, compared with a search through all compositions."""

import itertools
import math
from decimal import Context, Decimal
from fractions import Fraction

import numpy as np
import pytest

from tests.core.tallies import worst_delta
from tests.work import calls
from toolkit.local.shuffling import amplification as others
from toolkit.local.shuffling.amplification import ENUMERATION_LIMIT, HEADROOM, worst_case_epsilon
from toolkit.local.shuffling.tally import Side, delta_bounds

YES_NO = {
    "warner 1.3": (Fraction(786, 1000), Fraction(214, 1000)),
    "die": (Fraction(5, 6), Fraction(1, 6)),
    "skewed": (Fraction(2, 3), Fraction(1, 6)),
    "rare": (Fraction(1, 2), Fraction(1, 50)),
    "opposite": (Fraction(1, 4), Fraction(3, 4)),
}


def local(yes, no):
    high, low = max(yes, no), min(yes, no)
    return max(math.log(high / low), math.log((1 - low) / (1 - high)))


@pytest.mark.slow
@pytest.mark.parametrize("name", YES_NO)
@pytest.mark.parametrize(("n", "delta"), [(2, 0.05), (10, 1e-2), (50, 1e-5), (301, 1e-8), (700, 1e-5)])
def test_the_bracket_holds_the_worst_of_all_compositions_to_five_digits(name, n, delta):
    yes, no = YES_NO[name]
    least, epsilon = worst_case_epsilon(yes, no, n, delta, local(yes, no))
    below, above = worst_delta(max(yes, no), min(yes, no), n, least, epsilon)
    assert above <= delta <= below
    assert epsilon <= least * (1 + 1e-5)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["warner 1.3", "skewed"])
def test_the_bracket_stays_narrow_beyond_the_exhaustive_search(name):
    """The lower and upper epsilon stay close together if there are too many compositions to evaluate each of them."""
    (yes, no), n, delta = YES_NO[name], 2 * ENUMERATION_LIMIT, 1e-6
    least, epsilon = worst_case_epsilon(yes, no, n, delta, local(yes, no))
    below, above = worst_delta(yes, no, n, least, epsilon)
    assert above <= delta <= below
    assert epsilon <= least * (1 + 1.01 * HEADROOM)


@pytest.mark.parametrize("name", YES_NO)
@pytest.mark.parametrize("n", [10**4, 10**6])
def test_no_composition_of_many_people_is_above(name, n):
    """The ends, the middle and two thousand random compositions, in both directions."""
    yes, no = max(YES_NO[name]), min(YES_NO[name])
    delta = 1e-7
    least, epsilon = worst_case_epsilon(yes, no, n, delta, local(yes, no))
    assert least <= epsilon <= least * (1 + 1.01 * HEADROOM)
    holders = np.concatenate([[0, 1, 2, n - 2, n - 1], np.random.default_rng(3).integers(0, n, 2000)]).astype(float)
    for side in (Side(yes, no), Side(1 - no, 1 - yes)):
        assert delta_bounds(side, holders, n - 1 - holders, epsilon, delta).max() <= delta


def test_the_worst_composition_need_not_be_all_alike():
    """This is why all compositions are searched: a mixed crowd may fit the grid of counts better than a uniform
    crowd.
    """
    side, n, gains = Side(Fraction(3, 4), Fraction(1, 4)), 13, []
    holders = np.arange(float(n))
    for epsilon in np.linspace(0.05, 0.9, 30):
        found = delta_bounds(side, holders, n - 1 - holders, float(epsilon), 0.01)
        gains.append(found.max() / max(found[0], found[-1]) - 1)
    assert max(gains) > 0.05


@pytest.mark.parametrize("worst", [0, 1, 123_456, 999_999])
def test_one_bad_composition_among_a_million_is_found(monkeypatch, worst):
    """An invented delta that falls when people are added, and that is too large up to an epsilon of 0.5 for a single
    composition.
    """

    def invented(_side, alike, unlike, epsilon, delta):
        return np.where((alike <= worst) & (unlike <= 999_999 - worst) & (epsilon < 0.5), 2 * delta, 0.0)

    monkeypatch.setattr(others, "delta_bounds", invented)
    least, epsilon = worst_case_epsilon(Fraction(3, 4), Fraction(1, 4), 10**6, 1e-6, 1.1)
    assert least <= 0.5 <= epsilon <= 0.5 * (1 + 1.01 * HEADROOM)


@pytest.mark.slow
def test_a_million_people_are_hardly_more_work_than_a_thousand():
    for yes, no in YES_NO.values():
        few, many = (
            calls(lambda n=n, yes=yes, no=no: worst_case_epsilon(yes, no, n, 1e-6, local(yes, no)))
            for n in (10**3, 10**6)
        )
        assert many < 2 * few


@pytest.mark.slow
@pytest.mark.parametrize("name", ["warner 1.3", "rare"])
@pytest.mark.parametrize("middle", [300, ENUMERATION_LIMIT])
def test_epsilon_falls_with_n_across_the_limit_of_exhaustive_search(name, middle):
    """More people give more privacy on both sides of the former boundary between the two methods."""
    yes, no = YES_NO[name]
    found = [worst_case_epsilon(yes, no, n, 1e-6, local(yes, no))[1] for n in range(middle - 2, middle + 4)]
    for before, after in itertools.pairwise(found):
        assert before * 0.98 <= after <= before * (1 + 1.01 * HEADROOM)


@pytest.mark.parametrize("delta", [1e-12, 1e-60, 1e-200])
def test_tiny_deltas_are_met_from_above_too(delta):
    yes, no = YES_NO["skewed"]
    least, epsilon = worst_case_epsilon(yes, no, 40, delta, local(yes, no))
    assert least <= epsilon <= local(yes, no)
    assert worst_delta(yes, no, 40, epsilon)[0] <= delta * (1 + 1e-9) + 1e-15


def test_where_delta_hardly_falls_the_search_still_ends():
    """Two people with nearly certain reports: for most epsilons, delta is the same to six digits."""
    yes, no = 1 - Fraction(1, 10**6), Fraction(1, 10**6)
    flat = float(worst_delta(yes, no, 2, 5.0)[0])
    for delta in (flat * (1 - 1e-7), flat, flat * (1 + 1e-7)):
        least, epsilon = worst_case_epsilon(yes, no, 2, delta, local(yes, no))
        assert worst_delta(yes, no, 2, epsilon)[0] <= delta * (1 + 1e-12)
        assert worst_delta(yes, no, 2, least)[0] >= delta * (1 - 1e-12)


def test_a_large_delta_needs_no_epsilon():
    assert worst_case_epsilon(Fraction(3, 4), Fraction(1, 4), 10**6, 0.1, 1.1) == (0, 0)


def test_both_ends_of_the_bracket_hold_where_delta_is_almost_flat(monkeypatch):
    """Both ends hold for delta itself and are found within 1000 evaluations.

    The invented delta equals the target at 2, and its bound is rounded up by nine tenths of the permitted amount.
    """
    delta, calls = 1e-6, itertools.count()

    def invented(_side, alike, _unlike, epsilon, _delta):
        assert next(calls) < 1000
        return np.full(len(alike), delta * (1 + 2e-7 - 1e-7 * epsilon) * (1 + 9e-7))

    monkeypatch.setattr(others, "delta_bounds", invented)
    least, epsilon = worst_case_epsilon(Fraction(3, 4), Fraction(1, 4), 3, delta, 25.0)
    assert 0.9 < least <= 2 <= epsilon < 25
    assert invented(None, np.zeros(1), None, epsilon, None)[0] <= delta


@pytest.mark.slow
@pytest.mark.parametrize("percent", [51, 55, 59, 75, 95])
def test_the_lower_end_is_attained_where_delta_is_steep_in_epsilon(percent):
    """Close to the local epsilon of two people, delta is own (own - e**epsilon other)."""
    own, other = Fraction(percent, 100), 1 - Fraction(percent, 100)
    for delta in (1e-12, 1e-14):
        least, _ = worst_case_epsilon(own, other, 2, delta, local(own, other))
        assert least > 0.999 * local(own, other)
        assert own * (own - Fraction(Context(prec=50).exp(Decimal(least))) * other) >= delta
