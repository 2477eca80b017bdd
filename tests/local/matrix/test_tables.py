from fractions import Fraction
from itertools import combinations, pairwise, product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.slowly import each
from toolkit import Design, forced_options, k_ary, kuk, unrelated, warner
from toolkit.local.compliance import Compliance
from toolkit.local.matrix.tables import largest_odds, private_weights, read_probability_rows

LIMIT = 2**32


def exactly(design: Design) -> list[list[Fraction]]:
    return [[Fraction(weight, design.denominator) for weight in row] for row in design.weights.tolist()]


@st.composite
def tables(draw: st.DrawFn) -> list[list[Fraction]]:
    """Return rows of positive probabilities with large denominators, some nearly equal, some with tiny cells."""
    k, reports = draw(st.integers(2, 5)), draw(st.integers(2, 5))
    cell = st.one_of(st.integers(1, 10**14), st.integers(1, 9), st.just(10**14))
    rows = [draw(st.lists(cell, min_size=reports, max_size=reports)) for _ in range(k)]
    return [[Fraction(part, sum(row)) for part in row] for row in rows]


@pytest.mark.slow
@given(tables(), st.integers(60, 5000))
def test_rounding_never_raises_the_odds_of_a_table(rows: list[list[Fraction]], limit: int) -> None:
    """Rounding is coarse under a small limit; every row must still be a distribution near the requested one."""
    try:
        weights, denominator = private_weights(rows, limit)
    except ValueError:
        return  # so few units cannot distinguish these rows
    assert largest_odds([[Fraction(weight) for weight in row] for row in weights]) <= largest_odds(rows)
    assert all(sum(row) == denominator for row in weights)
    assert min(min(row) for row in weights) > 0


@pytest.mark.slow
@given(st.integers(1, 2**40), st.integers(1, 2**40), st.integers(1, 2**40))
def test_a_weight_is_within_a_few_units_of_its_probability(a: int, b: int, c: int) -> None:
    shares = [Fraction(part, a + b + c) for part in (a, b, c)]
    rows = [shares[turn:] + shares[:turn] for turn in range(3)]
    if len(set(shares)) == 1 or min(shares) < Fraction(1, 10**6):
        return
    try:
        weights, denominator = private_weights(rows, LIMIT)
    except ValueError:
        assert largest_odds(rows) < 1 + Fraction(1, 10**3)
        return
    off = [
        abs(weight - p * denominator)
        for row, want in zip(weights, rows, strict=True)
        for weight, p in zip(row, want, strict=True)
    ]
    assert max(off) <= 3


def test_the_joint_of_two_designs_is_not_dearer_than_both_together() -> None:
    """Warner's design at epsilon 1 has odds of nearly 32 bits; rounded to the nearest integers, the product of two such
    designs had epsilon 2.0000000004.
    """
    one = warner(epsilon=1.0)
    both = one.joint(one)
    assert one.denominator**2 > LIMIT
    assert both.epsilon <= 2.0
    assert both.epsilon == pytest.approx(2 * one.epsilon, rel=1e-8)
    assert np.allclose(both.matrix, np.kron(one.matrix, one.matrix), atol=4 / LIMIT)


PARTS = {
    "warner": warner(epsilon=0.3),
    "warner strong": warner(epsilon=5.0),
    "k_ary": k_ary(5, epsilon=1.0),
    "kuk": kuk("4/5", "1/5", draws=2),
    "lopsided": Design.from_matrix([[0.123456789, 0.876543211], [0.987654321, 0.012345679]], ("no", "yes")),
    "three": Design.from_matrix(
        [["1/3", "1/7", "11/21"], ["3/5", "1/5", "1/5"], ["1/9", "7/9", "1/9"]], ("a", "b", "c")
    ),
}


@pytest.mark.slow
@each(second=PARTS, first=PARTS)
def test_odds_of_a_joint_design_are_at_most_the_product_in_exact_fractions(first: str, second: str) -> None:
    one, two = PARTS[first], PARTS[second]
    both = one.joint(two)
    product = largest_odds(exactly(one)) * largest_odds(exactly(two))
    assert largest_odds(exactly(both)) <= product
    if one.denominator * two.denominator <= LIMIT:
        assert largest_odds(exactly(both)) == product
    # whatever the rounding, the estimate is unbiased for the integers that are used for drawing
    assert np.allclose(both.matrix @ both._score_matrix, np.eye(len(both.options)), atol=1e-9)


def test_joints_of_joints_stay_on_the_private_side() -> None:
    one = warner(epsilon=1.0)
    chain = [one, one.joint(one), one.joint(one).joint(one)]
    for number, design in enumerate(chain, 1):
        assert design.epsilon <= number
        assert largest_odds(exactly(design)) <= largest_odds(exactly(one)) ** number


@pytest.mark.parametrize("p", ["1234567891/9876543211", "99999999977/150000000001", "2999999999999/3000000000000"])
def test_designs_of_the_field_round_to_the_private_side(p: str) -> None:
    """Probabilities with a denominator above 2**32 are rounded to integers whose odds are not larger than the exact
    odds.
    """
    share = Fraction(p)
    rows = {
        "warner": (warner(share), [[share, 1 - share], [1 - share, share]]),
        "unrelated": (
            unrelated(share, "1/3"),
            [[1 - (1 - share) / 3, (1 - share) / 3], [1 - share - (1 - share) / 3, share + (1 - share) / 3]],
        ),
        "kuk": (
            kuk(share, "1/5", draws=3),
            [
                [part**3, 3 * part**2 * (1 - part), 3 * part * (1 - part) ** 2, (1 - part) ** 3]
                for part in (share, Fraction(1, 5))
            ],
        ),
    }
    for design, table in rows.values():
        assert largest_odds(exactly(design)) <= largest_odds(table)


def test_forced_options_round_to_the_private_side_and_keep_their_form() -> None:
    shares = [Fraction(1, 7), Fraction(1, 10**5 + 3), Fraction(10**9, 10**10 + 19)]
    design, truth = forced_options(3, shares), 1 - sum(shares)
    assert design.denominator == LIMIT
    assert largest_odds(exactly(design)) <= 1 + truth / min(shares)
    assert design._forced_form is not None
    with pytest.raises(ValueError, match="must leave more than 2"):
        forced_options(2, [Fraction(1, 2), Fraction(1, 2) - Fraction(1, 2**34 + 1)])


@pytest.mark.parametrize("epsilon", [0.5, 1.0, 3.0])
def test_people_who_answer_anything_never_raise_epsilon(epsilon: float) -> None:
    """Mixing in a row that is the same for every truth can only reduce the odds."""
    design = k_ary(4, epsilon=epsilon)
    for share in (0.013, 0.1, 0.37):
        mixed = [Compliance(self_protective=part, random=share)._effective_design(design) for part in (0.0, 0.1)]
        assert all(more.epsilon <= less.epsilon for less, more in pairwise([design, *mixed]))


def test_rows_that_thirty_two_bits_cannot_tell_apart_are_refused() -> None:
    tiny = Fraction(1, 2**40 + 1)
    rows = [[Fraction(1, 2) + tiny, Fraction(1, 2) - tiny], [Fraction(1, 2) - tiny, Fraction(1, 2) + tiny]]
    with pytest.raises(ValueError, match="must be linearly independent"):
        Design.from_matrix(rows, ("no", "yes"))
    # 2**32 times these probabilities is not an integer, and the smallest weights of all reports are too large
    third = Fraction(1, 3)
    with pytest.raises(ValueError, match="rows that are equal in units of 1 / 4294967296"):
        private_weights([[third + tiny, third, third - tiny], [third, third - tiny, third + tiny]], LIMIT)


def test_a_zero_stays_a_zero_and_the_odds_infinite() -> None:
    p = Fraction(1, 2**40 + 1)
    weights, _ = private_weights([[Fraction(1), Fraction(0)], [p, 1 - p]], LIMIT)
    assert weights == [[LIMIT, 0], [1, LIMIT - 1]]
    assert largest_odds([[Fraction(1), Fraction(0)], [p, 1 - p]]) is None


@pytest.mark.slow
def test_no_table_of_small_parts_gets_larger_odds_by_any_small_limit() -> None:
    """Enumeration with few units, where one more unit is a large step: a weight of 2 would be too much where the table
    allows 1.88 times 1.
    """
    parts = [row for row in product(range(1, 5), repeat=3) if sum(row) in (5, 7, 8)]
    rows = [[Fraction(part, sum(row)) for part in row] for row in parts]
    rounded = 0
    for first, second in combinations(rows, 2):
        most = largest_odds([first, second])
        for limit in (6, 9, 11, 13):
            try:
                weights, denominator = private_weights([first, second], limit)
            except ValueError:
                continue  # so few units cannot distinguish these rows
            rounded += 1
            assert sum(weights[0]) == sum(weights[1]) == denominator
            assert all(max(column) <= most * min(column) for column in zip(*weights, strict=True))
    assert rounded > 500


def test_a_report_that_nobody_sends_does_not_turn_off_the_private_side() -> None:
    """Rounded to the nearest integers, 5/7 and 2/7 of five units are 4 and 1, with odds of 4 instead of 5/2."""
    zero, much, little = Fraction(0), Fraction(5, 7), Fraction(2, 7)
    assert largest_odds([[much, zero, little], [little, zero, much]]) == Fraction(5, 2)
    assert private_weights([[much, zero, little], [little, zero, much]], 5) == ([[3, 0, 2], [2, 0, 3]], 5)


def test_what_is_left_over_goes_where_it_is_missing_most() -> None:
    """Seven units of 2/10, 7/10 and 1/10 are 1.4, 4.9 and 0.7; the nearest integers with odds of at most 7 are 1, 5 and
    1.
    """
    shares = [Fraction(2, 10), Fraction(7, 10), Fraction(1, 10)]
    rows = [shares[turn:] + shares[:turn] for turn in range(3)]
    assert private_weights(rows, 7) == ([[1, 5, 1], [5, 1, 1], [1, 1, 5]], 7)


def test_a_table_is_in_lowest_terms_and_read_only() -> None:
    design = Design([[6, 2], [2, 6]], 8, ("no", "yes"))
    assert (design.weights.tolist(), design.denominator) == ([[3, 1], [1, 3]], 4)
    with pytest.raises(ValueError, match="read-only"):
        design.weights[0, 0] = 2


def test_rows_may_miss_one_by_a_billionth_for_each_cell() -> None:
    rows = read_probability_rows([["1/2", "0.500000002"], ["0.9", "0.099999998"]])
    assert rows == [[Fraction(1, 2), Fraction(1, 2)], [Fraction("0.900000002"), Fraction("0.099999998")]]
    for cell in ("0.500000003", "0.499999997"):
        with pytest.raises(ValueError, match="each row of `matrix` must sum to 1"):
            read_probability_rows([["1/2", cell]])
