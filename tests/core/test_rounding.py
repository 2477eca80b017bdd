import math
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal, localcontext
from fractions import Fraction

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from toolkit.core.rounding import (
    apportion,
    apportion_probabilities,
    best_below,
    exp_below,
    float_up,
    integer_rows,
    log_up,
    sum_up,
    to_decimal,
)

shares = st.lists(st.integers(0, 10**6), min_size=2, max_size=12).filter(any)


@pytest.mark.slow
@given(st.fractions(min_value=1, max_value=30, max_denominator=50), st.integers(1, 6), st.integers(8, 120))
def test_best_below_is_the_largest_fraction_within_the_limit(target: Fraction, others: int, limit: int) -> None:
    found = best_below(target, others=others, limit=limit)
    tops = ((min(math.floor(target * b), limit - others * b), b) for b in range(1, limit))  # the largest a for every b
    assert found[0] + others * found[1] <= limit
    assert Fraction(*found) == max(Fraction(a, b) for a, b in tops if a >= b)


def test_a_decimal_is_rounded_as_its_context_says() -> None:
    down, up = Context(prec=3, rounding=ROUND_FLOOR), Context(prec=3, rounding=ROUND_CEILING)
    for value in (Fraction(2, 3), Fraction(-2, 3)):
        low, high = to_decimal(value, down), to_decimal(value, up)
        assert Fraction(low) < value < Fraction(high)
        assert high - low == Decimal("0.001")
    assert to_decimal(Fraction(-1, 8), down) == Decimal("-0.125")


def exp_between(exponent: Fraction) -> tuple[Fraction, Fraction]:
    """e**exponent between two fractions, for exponents of 0 to 22: its series in whole numbers, independent
    of the decimal module.

    The 300th term is below 10**-200. A term is rounded down, to less than one unit below; the terms after it
    carry that on, times at most e**22 < 4e9 in all: 300 terms lose less than 10**13 units of 10**-90.
    """
    scale = term = total = 10**90
    for i in range(1, 300):
        term = term * exponent.numerator // (exponent.denominator * i)
        total += term
    return Fraction(total, scale), Fraction(total + 10**13, scale)


@pytest.mark.slow
@given(st.fractions(min_value=Fraction(1, 10**6), max_value=22))
@example(Fraction(4620070491, 276700000))  # math.exp is below the truth here by 2**-49.6: no yardstick for a bound
@example(Fraction(22))
def test_exp_below_is_below_and_log_up_is_above(exponent: Fraction) -> None:
    low = exp_below(exponent)
    assert log_up(low) <= float_up(exponent)
    at_least, at_most = exp_between(exponent)
    assert at_most * (1 - Fraction(1, 10**46)) <= low < at_least


def test_the_yardstick_of_the_exponential_is_right() -> None:
    for exponent in (Fraction(1, 3), Fraction(1), Fraction(22)):
        low, high = exp_between(exponent)
        with localcontext(prec=70):
            power = (Decimal(exponent.numerator) / exponent.denominator).exp()
        assert low * (1 - Fraction(1, 10**68)) < Fraction(power) < high * (1 + Fraction(1, 10**68))
        assert high - low < Fraction(1, 10**76)


@pytest.mark.parametrize(
    "ratio", [Fraction(2), Fraction(3), Fraction(5), Fraction(10**9 + 1, 10**9), Fraction(2**32 - 1)]
)
def test_log_up_is_the_first_float_not_below_the_logarithm(ratio: Fraction) -> None:
    # 70 digits of ln by the series of atanh, summed in fractions: independent of the decimal module.
    x = (ratio - 1) / (ratio + 1)
    if ratio < 10:
        truth = 2 * sum((x ** (2 * i + 1)).limit_denominator(10**80) / (2 * i + 1) for i in range(200))
        assert Fraction(repr(log_up(ratio))) >= truth
        assert Fraction(repr(math.nextafter(log_up(ratio), 0))) < truth
    assert math.isclose(log_up(ratio), math.log1p(ratio - 1), rel_tol=1e-15)


def test_a_float_is_rounded_up_by_the_digits_it_is_read_by() -> None:
    """The double 0.1 lies above one tenth and 10**-18, but is read as one tenth, which does not."""
    assert float_up(Fraction(1, 10)) == 0.1
    assert float_up(Fraction(1, 10) + Fraction(1, 10**18)) == math.nextafter(0.1, 1)


def test_remainders_go_to_the_largest_and_among_equals_to_the_first() -> None:
    assert apportion([0.5, 0.5, 1.0], 2) == [1, 0, 1]
    assert apportion([0.9, 1.9, 0.2], 3, low=[0, 0, 1]) == [1, 1, 1]
    assert apportion([2.5, 2.5], 5, high=[2, 5]) == [2, 3]


def test_log_of_one_is_zero() -> None:
    assert log_up(Fraction(1)) == 0.0


@pytest.mark.slow
@given(shares, st.integers(20, 2**32))
def test_apportion_keeps_the_total_the_zeros_and_the_positives(weights: list[int], total: int) -> None:
    wanted = [Fraction(w, sum(weights)) for w in weights]
    parts = apportion_probabilities(wanted, total)
    assert sum(parts) == total
    assert [p > 0 for p in parts] == [w > 0 for w in wanted]
    assert max(abs(p - w * total) for p, w in zip(parts, wanted, strict=True)) < len(wanted)


@pytest.mark.slow
@given(
    st.integers(2, 6).flatmap(
        lambda k: st.lists(st.lists(st.integers(1, 10**6), min_size=k, max_size=k), min_size=2, max_size=4)
    )
)
def test_integer_rows_are_exact_where_a_common_denominator_fits(rows: list[list[int]]) -> None:
    wanted = [[Fraction(w, sum(row)) for w in row] for row in rows]
    weights, denominator = integer_rows(wanted, 2**32)
    assert all(sum(row) == denominator for row in weights)
    if math.lcm(*(p.denominator for row in wanted for p in row)) <= 2**32:
        assert [[Fraction(w, denominator) for w in row] for row in weights] == wanted
    else:
        assert denominator == 2**32


@pytest.mark.slow
@given(
    st.lists(st.fractions(min_value=0, max_denominator=10**60), max_size=30),
    st.sampled_from([1, 10**400, Fraction(1, 10**400)]),
)
def test_a_sum_is_exact_or_above_by_next_to_nothing_whatever_the_size(terms: list[Fraction], factor: Fraction) -> None:
    scaled = [term * factor for term in terms]
    exact, found = sum(scaled, Fraction(0)), sum_up(scaled)
    assert exact <= found <= exact * (1 + Fraction(30, 2**255))
    assert (
        found.denominator <= max([2**1024, *(term.denominator for term in scaled)])
        or found.denominator.bit_count() == 1
    )


def test_a_sum_with_a_short_denominator_is_exact() -> None:
    """So is a sum whose denominator is no longer than that of one of its terms."""
    assert sum_up(Fraction(1, i) for i in range(1, 500)) == sum(Fraction(1, i) for i in range(1, 500))
    tiny = Fraction(1, 10**5000)
    assert sum_up([tiny, tiny]) == 2 * tiny
    assert sum_up([]) == 0
    assert sum_up([Fraction(1, 3**700), Fraction(1, 5**500)]) > Fraction(1, 3**700) + Fraction(1, 5**500)


def test_a_rounded_sum_uses_the_grid_of_its_largest_term() -> None:
    """Otherwise, one tiny loss would give every later sum as many digits as it has itself."""
    assert sum_up([Fraction(1, 3), Fraction(1, 5**500), Fraction(1, 7**500)]).denominator <= 2**260
