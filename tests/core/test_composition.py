"""Composition: every rule against the truth by enumeration, against each other, and against published numbers."""

import itertools
import math
import sys
from decimal import Decimal, localcontext
from fractions import Fraction
from types import SimpleNamespace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import brentq

from tests.work import calls
from toolkit.core import composition as optimal
from toolkit.core import composition as pld
from toolkit.core.composition import _on_grid, coarsen_if_needed, compose, optimal_epsilon, parallel, pld_epsilon, unit
from toolkit.core.loss import Approx, Loss, Pure, Zcdp

few = st.lists(st.sampled_from(["0.05", "0.1", "0.3", "1/3", "1", "2.5"]), min_size=1, max_size=7)


def _excess(epsilons: list[Fraction], target: float) -> Decimal:
    """Delta at `target` of the worst mechanisms with these epsilons: all outcomes of as many coins, one by one."""
    with localcontext(prec=50):
        odds = [(Decimal(epsilon.numerator) / epsilon.denominator).exp() for epsilon in epsilons]
        bound, total = Decimal(repr(target)).exp(), Decimal(0)
        for coins in itertools.product((True, False), repeat=len(odds)):
            one = math.prod((x if coin else Decimal(1)) / (1 + x) for coin, x in zip(coins, odds, strict=True))
            other = math.prod((Decimal(1) if coin else x) / (1 + x) for coin, x in zip(coins, odds, strict=True))
            total += max(Decimal(0), one - bound * other)
        return total


def _least_epsilon(epsilons: list[Fraction], delta: float) -> float:
    if _excess(epsilons, 0.0) <= delta:
        return 0.0
    return float(
        brentq(
            lambda target: float(_excess(epsilons, target) - Decimal(delta)), 0, float(sum(epsilons)) + 1e-9, xtol=1e-14
        )
    )


@pytest.mark.slow
@given(few, st.sampled_from(["1e-9", "1e-6", "0.001", "0.1"]))
@settings(max_examples=60)
def test_optimal_is_the_truth_found_by_enumeration(texts: list[str], delta: str) -> None:
    epsilons = [Fraction(text) for text in texts]
    truth = _least_epsilon(epsilons, float(delta))
    found = compose([Pure(epsilon) for epsilon in epsilons], delta, "optimal").epsilon
    assert found == pytest.approx(truth, rel=1e-7, abs=1e-7)


@pytest.mark.slow
@given(few, st.sampled_from(["1e-9", "1e-6", "0.001", "0.1"]))
@settings(max_examples=60)
def test_no_rule_is_below_the_truth_and_best_is_the_smallest(texts: list[str], delta: str) -> None:
    losses = [Pure(text) for text in texts]
    found = {rule: compose(losses, delta, rule).epsilon for rule in ("basic", "advanced", "optimal", "zcdp", "best")}
    for epsilon in found.values():
        assert _excess([Fraction(text) for text in texts], epsilon) <= Decimal(delta) * (1 + Decimal("1e-35"))
    assert found["best"] == min(found.values())
    assert found["optimal"] <= found["basic"] * (1 + 1e-15)


def test_optimal_equals_the_theorem_at_its_own_points() -> None:
    """Kairouz, Oh and Viswanath (2015), theorem 3.3: k-fold composition is ((k - 2i) epsilon, delta_i)-private."""
    k, epsilon = 12, 0.4
    for i in range(1, k // 2):
        weights = (
            math.comb(k, j) * (math.exp((k - j) * epsilon) - math.exp((k - 2 * i + j) * epsilon)) for j in range(i)
        )
        delta = math.fsum(weights) / (1 + math.exp(epsilon)) ** k
        assert compose([Pure(epsilon)] * k, delta, "optimal").epsilon == pytest.approx((k - 2 * i) * epsilon, rel=1e-12)


def test_optimal_of_one_loss_has_a_closed_form() -> None:
    for epsilon, delta in ((2.0, 1e-6), (2.0, 0.5), (0.1, 0.01)):
        expected = math.log(math.exp(epsilon) - delta * (1 + math.exp(epsilon)))
        assert compose([Pure(epsilon)], delta, "optimal").epsilon == pytest.approx(expected, rel=1e-13)
    assert compose([Pure(0.1)], 0.2, "optimal") == Approx(0, 0.2)


def test_optimal_result_is_proven_by_exact_arithmetic() -> None:
    """With odds of exactly 3 the coins are rational, and so is the delta of ln 3 that is claimed to be below 1e-3."""
    k = 20
    epsilon = Fraction(math.nextafter(math.log(3), 2))
    claimed = optimal_epsilon({epsilon: k}, Fraction(1, 1000))
    power = Fraction(math.nextafter(math.exp(claimed), 0)) * (1 - Fraction(1, 10**12))  # a little below e**claimed
    true = [Fraction(math.comb(k, j) * 3**j, 4**k) for j in range(k + 1)]
    delta = sum(max(Fraction(0), true[j] - power * true[k - j]) for j in range(k + 1))
    assert Fraction(999, 10**6) < delta < Fraction(1, 1000) * (1 + Fraction(1, 10**9))


def test_thousand_releases_of_laplace_noise_against_published_tools() -> None:
    """Laplace noise of scale 20 released 1000 times, delta 1e-6.

    diffprivlib 0.6.6 (theorem 3.5 of Kairouz, Oh and Viswanath): 9.5610. dp-accounting 0.6.0, knowing only
    that each release is 0.05-private: 8.28357; knowing that the noise is Laplace: 8.2044, which no rule on
    losses may beat.
    """
    thousand = [Pure(0.05)] * 1000
    assert compose(thousand, 1e-6, "basic") == Pure(50)
    assert compose(thousand, 1e-6, "advanced").epsilon == pytest.approx(9.5610, abs=5e-5)
    assert compose(thousand, 1e-6, "optimal").epsilon == pytest.approx(8.283573, abs=1e-6)
    assert 8.2044 < compose(thousand, 1e-6).epsilon < compose(thousand, 1e-6, "zcdp").epsilon < 9.5610


@pytest.mark.parametrize(("epsilon", "k"), [(0.05, 1000), (0.5, 30), (0.1, 50), (0.001, 10)])
def test_advanced_is_the_smaller_closed_form_and_below_the_original_one(epsilon: float, k: int) -> None:
    delta, spread = 1e-6, math.sqrt(k) * epsilon
    tail = min(math.log(1 / delta), math.log(math.e + spread / delta))  # the second is for spreads below 1
    found = compose([Pure(epsilon)] * k, delta, "advanced").epsilon
    assert found == pytest.approx(k * epsilon * math.tanh(epsilon / 2) + spread * math.sqrt(2 * tail), rel=1e-12)
    with localcontext(prec=60):  # and it is rounded up in the last digit
        odds, square = Decimal(repr(epsilon)).exp(), k * Decimal(repr(epsilon)) ** 2
        exact_tail = min(Decimal(10**6), Decimal(1).exp() + square.sqrt() * 10**6).ln()
        exact = k * Decimal(repr(epsilon)) * (odds - 1) / (odds + 1) + (2 * square * exact_tail).sqrt()
        assert exact <= Decimal(repr(found))
    assert found < k * epsilon * math.expm1(epsilon) + spread * math.sqrt(
        2 * math.log(1 / delta)
    )  # Dwork, Rothblum, Vadhan


def test_unequal_losses_on_a_grid_are_near_the_exact_value_and_above_it() -> None:
    epsilons = [Fraction(1, i) for i in range(3, 11)]
    steps = dict.fromkeys(epsilons, 1)
    coarse = coarsen_if_needed(dict.fromkeys(epsilons, 40))
    assert coarse is not None
    assert coarse != dict.fromkeys(epsilons, 40)
    assert all(epsilon > 0 for epsilon in coarse)
    exact = _least_epsilon(epsilons, 1e-4)
    assert compose([Pure(epsilon) for epsilon in epsilons], 1e-4, "optimal").epsilon == pytest.approx(exact, rel=1e-9)
    assert coarsen_if_needed(steps) == steps


def test_grid_never_rounds_a_loss_down(monkeypatch: pytest.MonkeyPatch) -> None:
    epsilons = [Fraction(1, i) for i in range(3, 17)]
    exact = compose([Pure(epsilon) for epsilon in epsilons], 1e-4, "optimal").epsilon
    monkeypatch.setattr("toolkit.core.composition._WORK_LIMIT", 30_000)
    coarse = compose([Pure(epsilon) for epsilon in epsilons], 1e-4, "optimal").epsilon
    assert exact < coarse < exact * 1.05


@pytest.mark.slow
def test_too_many_kinds_are_refused_with_the_way_out() -> None:
    losses = [Pure(Fraction(1, i)) for i in range(100, 1400)]
    with pytest.raises(ValueError, match="1300 with 1300 values"):
        compose(losses, 1e-6, "optimal")
    assert compose(losses, 1e-6) <= compose(losses, 1e-6, "zcdp")


RULES = ("basic", "advanced", "zcdp", "best")


@pytest.mark.slow
@pytest.mark.parametrize("rule", RULES)
def test_different_losses_are_four_times_the_work_of_a_quarter_of_them(rule: str) -> None:
    """Once quadratic and worse, as the sums of different denominators had as many digits as all of them
    together: minutes for "best".
    """
    losses = [Pure(Fraction(i * i + 1, 10**9 + 7 * i)) for i in range(1, 1_001)]
    compose(losses, 1e-6, rule)  # what is computed once and kept
    quarter, all_of_them = (calls(lambda part=part: compose(part, 1e-6, rule)) for part in (losses[::4], losses))
    assert all_of_them < 4.5 * quarter
    assert compose(losses, 1e-6, rule).amount.denominator < 2**1100


@pytest.mark.slow
def test_the_optimum_rejects_ten_thousand_different_losses_at_once() -> None:
    """The error comes before any long computation."""
    losses = [Pure(Fraction(1, 10**6 + i)) for i in range(10_000)]

    def refused() -> None:
        with pytest.raises(ValueError, match="10000 with 10000 values"):
            compose(losses, 1e-6, "optimal")

    assert calls(refused) < 100 * len(losses)


@pytest.mark.slow
@given(st.lists(st.fractions(min_value=0, max_value=2, max_denominator=10**40), min_size=1, max_size=40))
@settings(max_examples=50)
def test_sums_of_long_denominators_are_barely_above_the_exact_sums(amounts: list[Fraction]) -> None:
    """Such sums are rounded up by at most one part in 10**70."""
    exact, squares = sum(amounts, Fraction(0)), sum((a * a for a in amounts), Fraction(0))
    for found, truth in (
        (compose([Pure(a) for a in amounts]).amount, exact),
        (compose([Zcdp(a) for a in amounts]).amount, exact),
        (compose([Pure(a) for a in amounts], rule="zcdp").amount, squares / 2),
        (compose([Approx(0, a / 100) for a in amounts]).slack, exact / 100),  # type: ignore[union-attr]
    ):
        assert truth <= found <= truth * (1 + Fraction(1, 10**70))


def test_the_sum_of_pure_and_concentrated_losses_ignores_their_order() -> None:
    """The sum of rhos: two epsilons of 1 cost 1/2 each, and not (1 + 1)**2 / 2 together because they came first."""
    losses: list[Loss] = [Pure(1), Pure(1), Zcdp(0.1)]
    assert {compose(order) for order in itertools.permutations(losses)} == {Zcdp(1.1)}


def test_units_are_the_largest_that_every_loss_is_a_multiple_of() -> None:
    assert unit({Fraction(1, 6): 1, Fraction(1, 4): 1}) == Fraction(1, 12)
    assert unit({Fraction(4, 3): 1, Fraction(6, 5): 2}) == Fraction(2, 15)
    assert unit({Fraction(10): 1, Fraction(4): 1}) == 2


def test_work_is_never_below_what_is_foreseen_of_it() -> None:
    """The quick refusal may not refuse what could be computed."""
    for count, times in itertools.product((1, 5, 40), (1, 7, 300)):
        for steps in (
            {Fraction(1, i): times for i in range(2, count + 2)},
            {Fraction(i, 7): times for i in range(1, count + 1)},
        ):
            assert optimal._least_work(steps) <= optimal._work(steps)


@pytest.mark.slow
def test_hundred_thousand_releases_are_still_counted_exactly_in_seconds() -> None:
    assert coarsen_if_needed({Fraction(1, 1000): 100_000}) is not None
    assert compose([Pure(0.001)] * 10_000, 1e-6).epsilon == pytest.approx(0.397, abs=0.001)


@pytest.mark.slow
def test_approximate_losses_pay_with_their_own_deltas_first() -> None:
    losses = [Approx(0.05, 1e-9)] * 1000
    for rule in ("advanced", "optimal", "zcdp", "best"):
        assert compose(losses, 2e-6, rule) == Approx(compose([Pure(0.05)] * 1000, 1e-6, rule).amount, 2e-6)
    assert compose(losses, 1e-6) == Approx(50, 1e-6)
    with pytest.raises(ValueError, match="must exceed"):
        compose(losses, 1e-6, "zcdp")
    with pytest.raises(ValueError, match="sum of the losses' deltas"):
        compose(losses, 9e-7, "basic")


def test_own_deltas_are_really_paid_for_by_enumeration() -> None:
    """The worst (epsilon, delta)-private mechanism tells the truth openly with probability delta, else tosses
    a coin.
    """
    epsilon, own, delta = 0.5, 0.01, 0.05
    found = compose([Approx(epsilon, own)] * 3, delta, "optimal").epsilon
    secret = (1 - own) ** 3
    truth = brentq(lambda target: 1 - secret + secret * float(_excess([Fraction(1, 2)] * 3, target)) - delta, 0, 2)
    assert truth <= found <= truth * 1.01


def test_zcdp_sums_half_squares_and_mixes_all_three() -> None:
    assert compose([Pure(0.2), Zcdp(0.1)], rule="zcdp") == Zcdp(0.12)
    assert compose([Pure(0.2)] * 50, 1e-6, "zcdp") == Zcdp(1).to_approx(1e-6)
    mixed: list[Loss] = [Zcdp(0.1), Pure(0.2), Approx(0.2, 1e-7)]
    assert compose(mixed, "1.1e-6", "zcdp") == Approx(Zcdp(0.14).to_approx(1e-6).amount, "1.1e-6")
    assert compose(mixed, "1.1e-6", "basic") == Approx(Fraction("0.4") + Zcdp(0.1).to_approx(1e-6).amount, "1.1e-6")
    assert compose(mixed, "1.1e-6") == compose(mixed, "1.1e-6", "basic") <= compose(mixed, "1.1e-6", "zcdp")
    for rule in ("advanced", "optimal", "pld"):
        with pytest.raises(ValueError, match="takes Pure and Approx"):
            compose(mixed, "1.1e-6", rule)


def test_without_delta_only_sums_are_left() -> None:
    assert compose([Pure(0.1), Pure(0.2)]) == Pure(0.3)
    assert compose([Pure(0.1), Approx(0.2, 1e-6)], rule="basic") == Approx(0.3, 1e-6)
    assert compose([Approx(1, 0.9)] * 2) == Approx(2, 1)
    assert compose([]) == Pure(0)
    assert compose([], 1e-6) == Pure(0)
    with pytest.raises(TypeError, match="Approx and Zcdp have no sum, got both"):
        compose([Approx(1, 1e-6), Zcdp(1)])
    for rule in ("advanced", "optimal", "pld"):
        with pytest.raises(ValueError, match="needs `delta`"):
            compose([Pure(0.1)], rule=rule)


@pytest.mark.parametrize("rule", ["basic", "advanced", "optimal", "zcdp", "best"])
def test_losses_of_nothing_cost_nothing(rule: str) -> None:
    assert compose([Pure(0), Approx(0, 0), Zcdp(0)], 1e-6, rule).amount == 0


def test_arguments_that_mean_nothing_are_refused() -> None:
    with pytest.raises(ValueError, match="`rule` must be one of"):
        compose([Pure(1)], 1e-6, "magic")
    with pytest.raises(TypeError, match="Pure, Approx or Zcdp"):
        compose([0.5])  # type: ignore[list-item]
    for delta in (-0.1, 1.1):
        with pytest.raises(ValueError, match="`delta` must lie"):
            compose([Pure(1)], delta)
    assert compose([Approx(1, 0.25)], 0.25) == Approx(1, 0.25)
    assert compose([Pure(1)], 1) == Approx(0, 1)
    for rule in ("advanced", "optimal", "zcdp", "pld"):
        with pytest.raises(
            ValueError, match=f"must exceed the sum of the losses' deltas, got 0.1: rule='{rule}' needs"
        ):
            compose([Approx(1, 0.1)], 0.1, rule)


@pytest.mark.parametrize("boundless", [Pure(math.inf), Approx(math.inf, 1e-6), Zcdp(math.inf)])
def test_one_loss_without_bound_leaves_none(boundless: Loss) -> None:
    assert compose([Pure(0.1), boundless]) == compose([Pure(0.1), boundless], 1e-5) == Pure(math.inf)


def test_a_loss_that_hides_nothing_costs_all_of_it_on_average() -> None:
    """Beyond 100 the mean loss of a coin is epsilon itself, to 43 digits: three of 200 cost 600 and what
    chance adds.
    """
    closed = 600 + math.sqrt(2 * 3 * 200**2 * math.log(math.e + math.sqrt(3 * 200**2) / 1e-6))
    least = 600 + math.sqrt(2 * 3 * 200**2 * math.log(1e6))
    assert compose([Pure(200)] * 3, 1e-6, "advanced").epsilon == pytest.approx(min(closed, least), rel=1e-12)
    assert compose([Pure(100)], 1e-6, "advanced").epsilon <= compose([Pure("100.001")], 1e-6, "advanced").epsilon


def test_the_delta_of_an_epsilon_is_what_the_worst_event_exceeds_it_by() -> None:
    """Of two coins, enumerated: the events in which the one truth is likelier than e**epsilon times the other."""
    truth, lie = math.e / (1 + math.e), 1 / (1 + math.e)
    pairs = [(truth**2, lie**2), (2 * truth * lie, 2 * truth * lie), (lie**2, truth**2)]
    law = optimal._composed({Fraction(1): 2})
    for epsilon in (0.0, 0.5, 1.0, 2.5):
        excess = sum(max(one - math.exp(epsilon) * other, 0) for one, other in pairs)
        assert float(optimal._excess(law, epsilon)) == pytest.approx(excess, rel=1e-12)


def test_a_root_is_above_the_truth_by_at_most_its_last_digit() -> None:
    for square in (Fraction(0), Fraction(1, 3), Fraction(2), Fraction(4), Fraction(10**30 + 1, 7)):
        root = optimal._sqrt_up(square)
        assert (root - Fraction(1, 10**40)) ** 2 <= square < root**2


def test_extreme_losses_do_not_break_the_rules() -> None:
    for rule in ("advanced", "optimal", "zcdp", "best"):
        assert compose([Pure(10_000)] * 3, 0.1, rule).epsilon > 29_000
        assert 0 <= compose([Pure("1e-80")] * 3, 1e-6, rule).epsilon < 1e-5
        assert compose([Pure(0.1)] * 5, "1e-400", rule).epsilon >= 0.4


def test_losses_beyond_a_hundred_thousand_are_not_manageable() -> None:
    """The optimal composition rejects them, because nothing would be left to count for any loss."""
    assert coarsen_if_needed({Fraction(1): 1, Fraction(100_000): 1}) is not None
    assert coarsen_if_needed({Fraction(1): 1, Fraction(100_001): 1}) is None
    assert coarsen_if_needed({}) is None
    with pytest.raises(
        ValueError, match="takes up to about 100,000 losses with few different values, got 1 with 1 values"
    ):
        compose([Pure(100_001)], 1e-6, "optimal")


def test_missing_package_is_named_with_the_way_out(monkeypatch: pytest.MonkeyPatch) -> None:
    loaded = [name for name in sys.modules if name.startswith("dp_accounting.")]  # by a test before this one
    for name in ("dp_accounting", "dp_accounting.pld", *loaded):
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(ImportError, match=r"pip install .privacy-survey-toolkit\[accounting\]"):
        compose([Pure(0.1)] * 5, 1e-6, "pld")


@pytest.mark.slow
def test_privacy_loss_distributions_of_google_agree_from_above() -> None:
    pytest.importorskip("dp_accounting", reason="an optional package")
    for losses in ([Pure(0.05)] * 1000, [Pure(0.1)] * 50 + [Pure(0.25)] * 20, [Approx(0.1, 1e-8)] * 20):
        exact, found = (compose(losses, 1e-6, rule).epsilon for rule in ("optimal", "pld"))
        assert exact <= found <= exact * 1.0001
    many = [Pure(Fraction(1, i)) for i in range(1, 60)]
    assert compose(many, 1e-6, "pld") <= compose(many, 1e-6)


def test_parallel_is_the_maximum_when_people_come_and_go() -> None:
    assert parallel([Pure(0.1), Pure(0.3), Pure(0.2)], neighbors="add_remove") == Pure(0.3)
    assert parallel([Approx(0.1, 1e-6), Pure(0.3)], neighbors="add_remove") == Approx(0.3, 1e-6)
    assert parallel([Zcdp(0.1), Pure(1)], neighbors="add_remove") == Zcdp(0.5)
    assert parallel([], neighbors="add_remove") == Pure(0)


def test_parallel_adds_the_two_largest_when_a_person_may_change_groups() -> None:
    assert parallel([Pure(0.1), Pure(0.3), Pure(0.2)], neighbors="replace") == Pure(0.5)
    assert parallel([Approx(0.1, 0.9), Approx(0.3, 0.8), Approx(0.3, 0)], neighbors="replace") == Approx(0.6, 1)
    assert parallel([Zcdp(0.1), Pure(1), Zcdp(0.2)], neighbors="replace") == Zcdp(0.7)
    assert parallel([Pure(0.4)], neighbors="replace") == Pure(0.4)


def test_parallel_needs_the_relation_and_one_currency() -> None:
    with pytest.raises(TypeError):
        parallel([Pure(1)])  # type: ignore[call-arg]
    with pytest.raises(ValueError, match="neighbors"):
        parallel([Pure(1)], neighbors="other")
    with pytest.raises(TypeError, match="Approx and Zcdp have no common measure, got both: convert the Zcdp first"):
        parallel([Zcdp(1), Approx(1, 1e-6)], neighbors="replace")


def test_the_loss_of_the_transforms_is_taken_from_delta_first(monkeypatch: pytest.MonkeyPatch) -> None:
    """The epsilon is asked for at what remains of delta."""
    asked: list[float] = []
    law = SimpleNamespace(get_epsilon_for_delta=lambda delta: asked.append(delta) or 0.5)
    law.compose = law.self_compose = lambda _: law
    tool = SimpleNamespace(
        identity=lambda **_: law,
        from_privacy_parameters=lambda *_, **__: law,
        DifferentialPrivacyParameters=lambda *_: None,
    )
    monkeypatch.setattr(pld, "_module", lambda _: tool)
    assert pld_epsilon({Fraction(1, 2): 3}, Fraction(1, 10**9)) == Fraction(1, 2)
    assert asked == [float(Fraction(99, 10**11))]


def test_a_delta_in_the_reach_of_floating_point_is_refused() -> None:
    with pytest.raises(ValueError, match="needs a delta of at least"):
        pld_epsilon({Fraction(1, 10): 3}, Fraction(1, 10**12))


@pytest.mark.slow
def test_many_different_losses_become_few_kinds_none_of_them_smaller() -> None:
    """Ten thousand compositions on a grid of 2**18 points took minutes; each loss alone was shifted up on that grid."""
    steps = {Fraction(i, 10**6 + 3): 1 for i in range(1, 10_001)}
    kinds, interval = _on_grid(steps)
    assert len(kinds) < 300
    assert sum(kinds.values()) == 10_000
    above = sorted(kind for kind, times in kinds.items() for _ in range(times))
    for epsilon, kind in zip(sorted(steps), above, strict=True):
        assert epsilon <= Fraction(kind) < epsilon + Fraction(interval)
        assert Fraction(kind) % Fraction(interval) == 0


def test_losses_with_a_common_unit_are_taken_as_they_are() -> None:
    assert _on_grid({Fraction(1, 10): 50, Fraction(1, 4): 20}) == ({0.1: 50, 0.25: 20}, 0.05)
    assert _on_grid({}) == ({}, 1.0)
