"""Delta of a tally of yes/no reports, compared with sums over the whole distribution."""

import itertools
import math
from decimal import Context, Decimal
from fractions import Fraction

import numpy as np
import pytest

from tests.core.tallies import binomial, exact_delta, tally_delta
from toolkit.local.shuffling import tally
from toolkit.local.shuffling.tally import MAX_PEOPLE, Side, delta_bounds

SIDES = [  # own, other: symmetric, skewed either way, nearly equal, nearly certain
    (Fraction(3, 4), Fraction(1, 4)),
    (Fraction(1, 2), Fraction(1, 50)),
    (Fraction(49, 50), Fraction(1, 2)),
    (Fraction(501, 1000), Fraction(1, 2)),
    (Fraction(999, 1000), Fraction(1, 1000)),
]
CROWDS = [(0, 0), (0, 1), (3, 0), (2, 5), (20, 11), (0, 40)]


def of(own, other, alike, unlike, epsilon, delta):
    return float(delta_bounds(Side(own, other), np.array([float(alike)]), np.array([float(unlike)]), epsilon, delta)[0])


@pytest.mark.parametrize(("own", "other"), SIDES)
@pytest.mark.parametrize(("alike", "unlike"), CROWDS)
def test_delta_is_never_below_the_exact_sum_and_at_most_a_hair_above(own, other, alike, unlike):
    for part in (0, 1e-6, 0.01, 0.1, 0.4, 0.8, 0.99):
        epsilon = part * math.log(own / other)
        exact = exact_delta(own, other, alike, unlike, epsilon)
        if exact > 1e-60:
            found = of(own, other, alike, unlike, epsilon, min(float(exact), 0.9))
            # the reference computes e**epsilon from a float: an epsilon with an error in the 16th digit
            slack = Fraction(2, 10**16) * Fraction(math.exp(epsilon))
            assert exact - slack <= Fraction(found) <= exact * (1 + Fraction(1, 10**9)) + slack


@pytest.mark.parametrize(("own", "other"), SIDES)
@pytest.mark.parametrize(("alike", "unlike"), [(0, 1999), (1999, 0), (1000, 999), (300, 10), (12, 600)])
def test_delta_of_large_crowds_is_that_of_the_whole_law(own, other, alike, unlike):
    """The reference adds positive numbers only, each correct to 13 digits; their difference loses at most three of
    these.
    """
    law = np.convolve(binomial(alike, own), binomial(unlike, other))
    spread = float(own - other) / math.sqrt(alike * own * (1 - own) + unlike * other * (1 - other))
    for deviations in (0.0, 0.1, 1, 3, 5):
        epsilon = deviations * spread
        both = Side(own, other), Side(1 - other, 1 - own)
        expected = tally_delta(own, other, law, epsilon)
        found = [
            float(delta_bounds(side, np.array([a]), np.array([b]), epsilon, 1e-6)[0])
            for side, a, b in zip(both, (float(alike), float(unlike)), (float(unlike), float(alike)), strict=True)
        ]
        if expected > 1e-12:
            assert max(found) == pytest.approx(expected, rel=1e-8)


def exact_among(n, own, other, deviations):
    """Return epsilon and delta if n others all have the other answer, to 50 digits, from the ratios of the
    probabilities.
    """
    digits, width = Context(prec=50), math.ceil(13 * math.sqrt(n * other * (1 - other)))  # thirteen standard deviations
    spread = float(own - other) / math.sqrt(n * other * (1 - other))
    epsilon = deviations * spread
    factor = Fraction(digits.exp(Decimal(epsilon)))
    gain, loss = own - factor * other, factor * (1 - other) - (1 - own)
    odds, rise = other / (1 - other), loss / gain
    first = (
        math.floor(rise * other * (n + 1) / (1 - other + rise * other)) + 1
    )  # the region in which the probabilities fall faster than by `rise`
    mode = math.floor((n + 1) * other)
    total, height, at_first, tail = Decimal(0), Decimal(1), Decimal(0), Decimal(0)
    ratio = digits.divide(Decimal(odds.numerator), Decimal(odds.denominator))
    for x in range(mode, mode + width):
        total += height
        at_first = height if x == first - 1 else at_first
        tail += height if x >= first else 0
        height = digits.multiply(digits.divide(digits.multiply(height, Decimal(n - x)), Decimal(x + 1)), ratio)
    height = Decimal(1)
    for x in range(mode, mode - width, -1):
        height = digits.divide(digits.divide(digits.multiply(height, Decimal(x)), Decimal(n - x + 1)), ratio)
        total += height
    return epsilon, gain * Fraction(at_first) / Fraction(total) - (loss - gain) * Fraction(tail) / Fraction(total)


@pytest.mark.parametrize(("own", "other"), [(Fraction(3, 4), Fraction(1, 4)), (Fraction(9, 10), Fraction(1, 3))])
@pytest.mark.parametrize("deviations", [0.3, 4, 7])
def test_delta_has_eight_correct_digits_for_a_million_people(own, other, deviations):
    """The relative error stays below 1e-8 down to a delta of 1e-15."""
    epsilon, exact = exact_among(10**6 - 1, own, other, deviations)
    found = of(own, other, 0, 10**6 - 1, epsilon, float(exact))
    assert exact <= Fraction(found) <= exact * (1 + Fraction(1, 10**8))


@pytest.mark.parametrize("changed", [{"_NEGLIGIBLE": 3.0}, {"_WIDTH": -1.0, "_MIN_WIDTH": 2.0}], ids=["sum", "circle"])
@pytest.mark.parametrize(("own", "other"), SIDES[:3])
def test_fewer_roots_loosen_the_bound_and_never_break_it(monkeypatch, changed, own, other):
    """The bound holds for any number of roots: bounds on the omitted terms and on the wrapped terms are added."""
    law = np.convolve(binomial(250, own), binomial(150, other))
    spread = float(own - other) / math.sqrt(250 * own * (1 - own) + 150 * other * (1 - other))
    loose = []
    for epsilon in np.array([0.0, 0.2, 1, 2, 3.5]) * spread:
        exact = tally_delta(own, other, law, epsilon, both=False)
        with monkeypatch.context() as context:
            for name, value in changed.items():
                context.setattr(tally, name, value)
            loose.append(of(own, other, 250, 150, float(epsilon), 1e-5) / exact)
    assert min(loose) > 1 - 1e-11
    assert max(loose) > 1 + 1e-7


@pytest.mark.parametrize(("own", "other"), SIDES[:3])
def test_what_is_left_out_is_bounded_from_the_first_root_on(monkeypatch, own, other):
    """A period of about two standard deviations, where each root contributes far less than the previous one: the first
    root alone plus the bound on the others, compared with all roots.
    """
    monkeypatch.setattr(tally, "_WIDTH", 1.8)
    monkeypatch.setattr(tally, "_MIN_WIDTH", 1.0)
    spread = float(own - other) / math.sqrt(250 * own * (1 - own) + 150 * other * (1 - other))
    for epsilon in np.linspace(0, 3.5, 8) * spread:
        found = []
        for negligible in (1e-3, 1e6):
            monkeypatch.setattr(tally, "_NEGLIGIBLE", negligible)
            found.append(of(own, other, 250, 150, float(epsilon), 0.5))
        assert found[1] <= found[0] <= found[1] * 1.01


@pytest.mark.slow
@pytest.mark.parametrize(("own", "other"), SIDES)
def test_a_crowd_hides_no_better_without_some_of_its_people(own, other):
    """The rule that decides a range of compositions by a single crowd, checked exactly with fractions."""
    for part, (alike, unlike) in itertools.product((0.05, 0.3, 0.7), [(2, 3), (0, 6), (5, 5)]):
        epsilon = part * math.log(own / other)
        whole_crowd = exact_delta(own, other, alike, unlike, epsilon)
        for fewer, fewer_too in itertools.product(range(alike + 1), range(unlike + 1)):
            assert exact_delta(own, other, fewer, fewer_too, epsilon) >= whole_crowd


def test_nothing_is_left_at_the_local_epsilon_and_all_of_it_without_others():
    assert of(Fraction(3, 4), Fraction(1, 4), 5, 5, math.log(3) * (1 + 1e-12), 0.01) == 0
    assert of(Fraction(3, 4), Fraction(1, 4), 0, 0, math.log(2), 0.25) == pytest.approx(0.25, rel=1e-9)


@pytest.mark.parametrize("delta", [1e-6, 1e-100])
def test_compositions_may_be_asked_for_together_or_one_by_one(delta):
    side, alike = Side(Fraction(2, 3), Fraction(1, 6)), np.array([0.0, 1.0, 400.0, 10**6])
    unlike = np.array([10**6, 0.0, 5.0, 0.0])
    together = delta_bounds(side, alike, unlike, 0.01, delta)
    alone = [float(delta_bounds(side, alike[i : i + 1], unlike[i : i + 1], 0.01, delta)[0]) for i in range(4)]
    assert together == pytest.approx(alone, rel=1e-9)


@pytest.mark.parametrize(
    ("own", "other"),
    [
        pytest.param(Fraction(3, 4), Fraction(1, 4), marks=pytest.mark.slow),
        (1 - Fraction(1, 10**6), Fraction(1, 10**6)),
        (Fraction(1, 10**3), Fraction(1, 10**6)),
    ],
)
def test_the_rounding_margin_holds_for_a_billion_people(own, other):
    """The result exceeds the exact sum by at least half of 1e-13 (30 + sqrt(n)), the bound on the rounding error, and
    by at most 1e-7. Rare reports are counted directly; counted as the remainder of a billion, they would lose digits.
    """
    n = MAX_PEOPLE - 1
    epsilon, exact = exact_among(n, own, other, 4)
    found = of(own, other, 0, n, epsilon, float(exact))
    margin = Fraction(tally.ROUNDING_FACTOR * (30 + math.sqrt(n)))
    assert exact * (1 + margin / 2) <= Fraction(found) <= exact * (1 + Fraction(1, 10**7))


def test_the_digits_suffice_for_as_many_people_as_are_counted():
    """Mirrored crowds give the same sum with different rounding."""
    one = of(Fraction(3, 4), Fraction(1, 4), 0, MAX_PEOPLE, 1e-4, 1e-7)
    two = float(
        delta_bounds(Side(Fraction(3, 4), Fraction(1, 4)), np.array([1.0]), np.array([MAX_PEOPLE - 1.0]), 1e-4, 1e-7)[0]
    )
    assert one == pytest.approx(two, rel=1e-6)
    assert 0 < one < 1e-4
