"""Losses: exact amounts, comparison, group privacy, and the conversions, each never below the truth."""

import math
import pickle
import random
from decimal import Context, Decimal, localcontext
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import norm

from tests.slowly import each
from toolkit import subsampled, warner
from toolkit.core.loss import Approx, Pure, Zcdp, _best_order, _epsilon_at, format_amount
from toolkit.core.rounding import log_up

amounts = st.fractions(min_value=0, max_value=20, max_denominator=10**6)
deltas = st.fractions(min_value=0, max_value=1, max_denominator=10**9)
losses = st.one_of(st.builds(Pure, amounts), st.builds(Approx, amounts, deltas), st.builds(Zcdp, amounts))


def test_tenths_add_up_to_one_exactly() -> None:
    total = Pure(0)
    for _ in range(10):
        total = total + Pure(0.1)
    assert total == Pure(1.0)
    assert Pure(0.1) + Pure(0.2) <= Pure(0.3)
    assert Approx(0.1, 1e-7) + Approx(0.2, 2e-7) == Approx(0.3, 3e-7)
    assert Approx(0.1, 0.6) + Approx(0.2, 0.7) == Approx(0.3, 1)  # of probability there is no more
    assert Zcdp("1/3") + Zcdp("2/3") == Zcdp(1)


def test_amounts_read_as_floats_are_never_below_the_exact_amount() -> None:
    third = Fraction(1, 3)
    assert Fraction(repr(Pure(third).epsilon)) >= third > Fraction(repr(math.nextafter(Pure(third).epsilon, 0)))
    assert Fraction(repr(Approx(third, third).delta)) >= third
    assert Fraction(repr(Zcdp(third).rho)) >= third
    assert Pure(Fraction(1, 10**400)).epsilon > 0
    assert Pure(Fraction(10) ** 400).epsilon == Pure(10**300).epsilon == math.inf
    assert Pure(10**300 - 1).epsilon == 1e300
    assert [Pure(x).epsilon for x in (0.1, 0.3, 1e-300, 123.456)] == [0.1, 0.3, 1e-300, 123.456]


@pytest.mark.parametrize("wrong", [-1, float("nan"), "abc", -1e-300])
def test_amounts_that_mean_nothing_are_refused(wrong: object) -> None:
    for kind in (Pure, Zcdp):
        with pytest.raises(ValueError, match="must"):
            kind(wrong)


def test_truth_values_are_no_amounts_and_deltas_are_probabilities() -> None:
    with pytest.raises(TypeError, match="truth value"):
        Pure(True)
    for delta in (-0.1, 1.5, float("inf")):
        with pytest.raises(ValueError, match="delta"):
            Approx(1, delta)


def test_the_sum_of_zcdp_and_approx_is_rejected_with_the_remedy() -> None:
    """Adding or comparing anything that is not a loss is a type error."""
    for left, right in ((Approx(1, 0.1), Zcdp(1)), (Zcdp(1), Approx(1, 0.1))):
        with pytest.raises(TypeError, match="to_approx"):
            left + right
    for loss in (Pure(1), Approx(1, 0.1), Zcdp(1)):
        with pytest.raises(TypeError):
            loss + 1  # type: ignore[operator]
        with pytest.raises(TypeError):
            loss <= 1  # type: ignore[operator]  # noqa: B015


def test_pure_added_to_zcdp_costs_half_its_square() -> None:
    assert Zcdp(1) + Pure(2) == Pure(2) + Zcdp(1) == Zcdp(3)


@pytest.mark.slow
@given(amounts, amounts, deltas, deltas)
def test_within_a_currency_order_is_that_of_the_amounts(a: Fraction, b: Fraction, c: Fraction, d: Fraction) -> None:
    assert (Pure(a) <= Pure(b)) == (Zcdp(a) <= Zcdp(b)) == (a <= b)
    assert (Approx(a, c) <= Approx(b, d)) == (a <= b and c <= d)
    assert (Approx(a, c) <= Pure(b)) == (a <= b and c == 0)
    assert (Approx(a, c) <= Zcdp(b)) == (a * a / 2 <= b and c == 0)


@pytest.mark.slow
@given(amounts, amounts, deltas)
def test_the_order_between_currencies_holds_for_the_randomized_coin(
    epsilon: Fraction, bound: Fraction, delta: Fraction
) -> None:
    """Pure(e) <= b for all e-private things means in particular for the coin with odds e**e, whose delta is known."""
    if Pure(epsilon) <= Approx(bound, delta):
        odds = math.exp(epsilon)
        assert (odds - math.exp(bound)) / (1 + odds) <= delta + 1e-12
    if Pure(epsilon) <= Zcdp(bound):
        kl = float(epsilon) * math.tanh(float(epsilon) / 2)  # the Rényi loss of order 1
        assert kl <= bound + 1e-12


def test_order_between_currencies() -> None:
    assert Pure(1) <= Approx(1, 0)
    assert Approx(1, 0) <= Pure(1)
    assert not Approx(1, 1e-9) <= Pure(5)
    assert Pure(1) <= Zcdp(0.5)
    assert not Pure(1) <= Zcdp(0.49)
    assert not Zcdp(1e-9) <= Pure(100)
    assert Zcdp(0) <= Pure(0)
    assert Zcdp(0.02) <= Approx(1, 1e-6)
    assert not Zcdp(0.03) <= Approx(1, 1e-6)
    assert not Approx(1, 1e-6) <= Approx(2, 1e-7)
    assert not Approx(2, 1e-7) <= Approx(1, 1e-6)
    assert Zcdp(5) <= Pure(math.inf)


def test_groups_cost_k_times_epsilon_and_k_squared_times_rho() -> None:
    assert Pure(0.1).group(3) == Pure(0.3)
    assert Zcdp(0.1).group(3) == Zcdp(0.9)
    for k in (0, -1, 1.5, True):
        with pytest.raises((ValueError, TypeError)):
            Pure(0.1).group(k)  # type: ignore[arg-type]


@each(k=[1, 2, 3, 17], epsilon=["1e-9", "1e-6", "0.001", "0.1", "1", "5"])
def test_group_delta_is_the_geometric_sum_rounded_up(epsilon: str, k: int) -> None:
    with localcontext(prec=80):
        truth = Fraction(sum(((Decimal(epsilon) * i).exp() for i in range(k)), Decimal(0)))
    found = Approx(epsilon, "1e-60").group(k)
    assert found.amount == k * Fraction(epsilon)
    assert truth <= found.slack * 10**60 <= truth * (1 + Fraction(1, 10**5))


def test_group_delta_stops_at_one_and_zero_stays_zero() -> None:
    assert Approx(2, 1e-6).group(10).slack == 1
    assert Approx(500, 1e-6).group(10).slack == 1
    assert Approx(math.inf, 1e-6).group(2).slack == 1
    assert Approx(500, 0).group(10) == Approx(5000, 0)
    assert Approx(350, "1e-305").group(2).delta == pytest.approx(math.exp(350) * 1e-305, rel=1e-8)
    assert Approx("350.001", "1e-305").group(2).slack == 1  # beyond every float


def _zcdp_epsilon(step: Decimal, rho: str, log_delta: Decimal) -> Decimal:
    """Canonne, Kamath and Steinke (2020), corollary 13, solved for epsilon at one order, 1 + step."""
    order = 1 + step
    return order * Decimal(rho) - (log_delta + order.ln()) / step + (step / order).ln()


@pytest.mark.slow
@each(delta=["1e-300", "1e-30", "1e-6", "0.01"], rho=["1e-20", "1e-12", "1e-6", "0.005", "1.25", "1e6"])
def test_zcdp_conversion_is_the_least_over_orders_and_never_below_it(rho: str, delta: str) -> None:
    """At rho = 1e-20 the terms of the formula agree in their first nine digits, so floats alone would err in
    the seventh.
    """
    found = Zcdp(rho).to_approx(delta)
    assert found.slack == Fraction(delta)
    with localcontext(prec=80):
        log_delta = Decimal(delta).ln()
        near = [Decimal(repr(math.exp(i / 2))) for i in range(-20 * 2, 60 * 2)]
        for width in ("0.03", "0.0015", "0.00006", "0.000003"):  # look ever closer around the best order
            best = min(near, key=lambda step: _zcdp_epsilon(step, rho, log_delta))
            near = [best * (1 + i * Decimal(width)) for i in range(-25, 26)]
        least = Fraction(max(Decimal(0), min(_zcdp_epsilon(step, rho, log_delta) for step in near)))
    assert least * (1 - Fraction(1, 10**9)) <= found.amount <= least * (1 + Fraction(1, 10**9)) + Fraction(1, 10**34)


@pytest.mark.slow
@given(st.fractions("1e-6", 10, max_denominator=10**9), st.fractions("1e-12", "0.1", max_denominator=10**15))
def test_zcdp_conversion_is_proven_by_the_order_it_uses(rho: Fraction, delta: Fraction) -> None:
    """Not even the last digit is below what the formula gives at that order, in eighty digits."""
    extra = _best_order(Zcdp(rho).rho, log_up(1 / delta))
    with localcontext(prec=80):
        order, slack = 1 + Decimal(extra), Decimal(delta.numerator) / delta.denominator
        rest = -(slack.ln() + order.ln()) / (order - 1) + (1 - 1 / order).ln()
    exact = Fraction(order) * rho + Fraction(rest)
    assert (
        max(Fraction(0), exact)
        <= Zcdp(rho).to_approx(delta).amount
        <= max(Fraction(0), exact) * (1 + Fraction(1, 10**14)) + Fraction(1, 10**30)
    )


@each(delta=[1e-9, 1e-6, 1e-2], sigma=[0.5, 1, 5, 20])
def test_zcdp_conversion_covers_gaussian_noise_whose_delta_is_known(sigma: float, delta: float) -> None:
    epsilon = Zcdp(1 / (2 * sigma**2)).to_approx(delta).epsilon
    mean = 1 / sigma
    exact = norm.cdf(mean / 2 - epsilon / mean) - math.exp(epsilon) * norm.cdf(-mean / 2 - epsilon / mean)
    assert 0 <= exact <= delta
    assert epsilon <= 1 / (2 * sigma**2) + 2 * math.sqrt(
        math.log(1 / delta) / (2 * sigma**2)
    )  # the classical conversion


@pytest.mark.slow
def test_the_epsilon_of_an_order_is_never_below_the_truth() -> None:
    """The epsilon is above the truth by more than its rounding. 500 random orders, rhos and deltas against 200 digits:
    no sum of rounded logarithms is below the formula.
    """
    precise, rng = Context(prec=200), random.Random(17)  # noqa: S311

    def log(ratio: Fraction) -> Fraction:
        return Fraction(precise.ln(precise.divide(Decimal(ratio.numerator), Decimal(ratio.denominator))))

    for _ in range(500):
        extra = Fraction(math.exp(rng.uniform(-8, 8)))
        rho, delta = Fraction(rng.random()), Fraction(rng.randint(1, 10**6), 10 ** rng.randint(7, 30))
        truth = (1 + extra) * rho - (log(delta) + log(1 + extra)) / extra - log(1 + 1 / extra)
        assert truth < _epsilon_at(extra, rho, delta) < truth + Fraction(2, 10**35)


def test_zcdp_conversion_at_the_edges() -> None:
    assert Zcdp(0).to_approx(1e-6) == Approx(0, 1e-6)
    assert Zcdp(math.inf).to_approx(1e-6).amount == math.inf
    assert Zcdp(Fraction(1, 10**500)).to_approx(1e-6).amount >= 0
    assert Zcdp(1).to_approx(Fraction(1, 10**1000)).epsilon > Zcdp(1).to_approx(1e-300).epsilon
    assert Zcdp(1e-6).to_approx(1).amount == 0
    with pytest.raises(ValueError, match="no finite epsilon"):
        Zcdp(1).to_approx(0)


@pytest.mark.parametrize("target", [Approx(1, 1e-6), Approx(0.01, 1e-9), Approx(20, 1e-3), Approx(1e-9, 1e-12)])
def test_largest_rho_within_a_target_fits_and_a_millionth_more_does_not(target: Approx) -> None:
    found = Zcdp.within(target)
    assert found <= target
    assert not Zcdp(found.rho * (1 + 1e-6)) <= target


def test_no_rho_is_the_largest_without_delta_or_without_bound() -> None:
    for target in (Approx(1, 0), Approx(math.inf, 1e-6)):
        with pytest.raises(ValueError, match="target"):
            Zcdp.within(target)


@pytest.mark.slow
@given(losses)
def test_losses_are_values_hashed_pickled_and_shown(loss: Pure | Approx | Zcdp) -> None:
    again = pickle.loads(pickle.dumps(loss))  # noqa: S301
    assert again == loss
    assert hash(again) == hash(loss)
    assert str(loss)
    assert repr(loss).startswith(type(loss).__name__)


def test_shown_amounts() -> None:
    assert [format_amount(Fraction(1, 3)), format_amount(math.inf), format_amount(Fraction(0))] == ["0.333", "∞", "0"]
    large = {"999.4": "999", "999.6": "1,000", "1e300": "∞", "9.99e14": "999,000,000,000,000", "1e15": "1e+15"}
    assert {amount: format_amount(Fraction(amount)) for amount in large} == large
    assert str(Approx(0.5, 1e-6)) == "ε = 0.5, δ = 1e-06"


def test_subsampling_is_the_closed_form_rounded_up():
    for epsilon, rate in ((1.0, "1/100"), (0.1, "1/2"), (5.0, "1/1000")):
        found = subsampled(Pure(epsilon), rate=rate)
        exact = math.log1p(float(Fraction(rate)) * math.expm1(epsilon))
        assert exact * (1 - 1e-15) <= found.epsilon <= exact * (1 + 1e-14)
    assert subsampled(Approx(1.0, "1/1000"), rate="1/10") == Approx(subsampled(Pure(1.0), "1/10").amount, "1/10000")
    assert subsampled(Pure(1.0), rate=1) == Pure(1.0)
    assert subsampled(Pure(1.0), rate=0) == Pure(0)
    assert subsampled(Pure(math.inf), rate="1/2") == Pure(math.inf)


def test_subsampling_holds_for_a_sampled_bit_by_enumeration():
    """One of three records is sampled and reported by Warner's design; if one record changes, the exact ratio is within
    the bound.
    """
    keep = Fraction(3, 4)
    chance = [sum((keep if bit else 1 - keep) for bit in records) / 3 for records in ((1, 0, 0), (0, 0, 0))]
    ratio = max(chance[0] / chance[1], (1 - chance[1]) / (1 - chance[0]))
    assert math.log(ratio) <= subsampled(warner("3/4").loss, rate="1/3").epsilon + 1e-15
    assert math.log(ratio) == pytest.approx(subsampled(warner("3/4").loss, rate="1/3").epsilon, rel=1e-12)


def test_subsampling_refuses_what_it_has_no_rule_for():
    with pytest.raises(TypeError, match="Pure or Approx"):
        subsampled(Zcdp(0.1), rate=0.5)
    with pytest.raises(ValueError, match="rate"):
        subsampled(Pure(1), rate=1.5)
