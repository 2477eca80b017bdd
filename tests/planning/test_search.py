import math
from functools import partial
from types import SimpleNamespace

import pytest

from toolkit import forced, warner
from toolkit.local import oracles
from toolkit.planning import search as solving
from toolkit.planning.accuracy import PlanInputs
from toolkit.planning.fieldwork import Field
from toolkit.planning.search import Target, epsilon_for, format_margin, people_for


@pytest.mark.parametrize("field", [Field(), Field(subgroup_share=0.5)], ids=["counted", "by formula"])
def test_the_smallest_size_is_found_for_every_kind_of_goal(field):
    accuracy = PlanInputs(warner, 0.3, 0.95, detect=0.4, field=field).accuracy(0.8)
    for target in (Target(margin=0.2), Target(margin=0.001), Target(power=0.5), Target(power=0.999)):
        n = people_for(accuracy, target)
        assert target.is_reached(accuracy, n)
        assert not target.is_reached(accuracy, n - 1)
        assert target.is_sustained(accuracy, n)
        assert not target.is_sustained(accuracy, n - 1)


def test_what_is_reached_exactly_is_reached():
    accuracy = PlanInputs(warner, 0.3, 0.95, detect=0.4, field=Field(subgroup_share=0.5)).accuracy(0.8)
    for target in (Target(margin=accuracy.margin(100)), Target(power=accuracy.power(100))):
        assert target.shortfall(accuracy, 100) == 0
        assert target.is_reached(accuracy, 100)
        assert people_for(accuracy, target) == 100
    nobody = PlanInputs(warner, 0, 0.95).accuracy(1.0).without_noise()  # asked directly, all say no
    assert Target(margin=0.01).shortfall(nobody, 1) == -math.inf


def test_a_power_that_is_reached_by_chance_of_the_number_is_not_kept():
    """254 people have 80 %, 255 to 276 not all: the teeth of a saw."""
    accuracy, target = PlanInputs(forced("1/6", "1/6"), 0, 0.95, detect=0.1).accuracy(None), Target(power=0.8)
    assert target.is_reached(accuracy, 254)
    assert not target.is_sustained(accuracy, 254)
    assert target.is_sustained(accuracy, 277)
    assert people_for(accuracy, target) == 277


def test_a_power_is_counted_for_up_to_a_million_people():
    accuracy = PlanInputs(warner, 0.3, 0.95, detect=0.4).accuracy(0.8)
    counts = [Target(power=0.8).has_exact_power(accuracy, n) for n in (10**6, 10**6 + 1)]
    assert counts == [True, False]
    assert not Target(margin=0.1).has_exact_power(accuracy, 10)


def test_who_cannot_be_invited_is_not_planned_with():
    accuracy = PlanInputs(warner, 0.3, 0.95, field=Field(population=1500, response=0.5)).accuracy(3.0)
    assert people_for(accuracy, Target(margin=0.05)) <= 750
    with pytest.raises(ValueError, match="the 750 people who answer when all 1,500 of the population are invited"):
        people_for(accuracy, Target(margin=0.02))
    with pytest.raises(ValueError, match="nobody answers"):
        people_for(
            PlanInputs(warner, 0.3, 0.95, field=Field(population=20, response=0.01)).accuracy(3.0), Target(margin=0.5)
        )


def test_the_smallest_epsilon_is_found_from_above():
    case = PlanInputs(warner, 0.3, 0.95)
    for margin in (0.05, 0.1, 0.4):
        epsilon = epsilon_for(case, Target(margin=margin), 1000)
        assert case.accuracy(epsilon).margin(1000) <= margin
        assert case.accuracy(epsilon * (1 - 2e-6)).margin(1000) > margin


def test_where_the_error_rises_with_epsilon_less_is_looked_for():
    """Reached from .8535 to .9, and again from 1 on; or from three times as much."""
    for unit in (1.0, 3.0):
        found = solving._try_smaller_epsilons(
            lambda epsilon, unit=unit: (0.8535 if epsilon <= 0.9 * unit else 1) * unit - epsilon, unit
        )
        assert 0.8535 <= found / unit <= 0.8535 * (1 + 1e-6)
    assert solving._try_smaller_epsilons(lambda epsilon: 1 - epsilon, 1.0) == 1
    assert solving._try_smaller_epsilons(lambda epsilon: -epsilon, 1e-3) == 1e-3
    lowest = pytest.approx(0.98 * 0.82)  # the search goes no further
    assert solving._try_smaller_epsilons(lambda epsilon: -epsilon, 1.0) == lowest


def test_the_smaller_of_two_sufficient_epsilons_is_found():
    """The subsets of the oracle change with epsilon."""
    case, target = PlanInputs(partial(oracles.best, 5), [0.9, *[0.025] * 4], 0.95), Target(margin=0.08)
    reached = [target.is_reached(case.accuracy(epsilon), 2000) for epsilon in (0.876, 0.877, 1.02, 1.04)]
    assert reached == [False, True, False, True]
    assert 0.876 < epsilon_for(case, target, 2000) < 0.877


def test_a_goal_just_short_of_direct_questioning_asks_for_too_much():
    direct = PlanInputs(warner, 0.3, 0.95).accuracy(1.0).without_noise().margin(1000)
    with pytest.raises(ValueError, match="at most 20"):
        epsilon_for(PlanInputs(warner, 0.3, 0.95), Target(margin=direct * (1 + 1e-12)), 1000)


def test_a_power_beyond_direct_questioning_is_said_to_be_so():
    with pytest.raises(ValueError, match=r"no epsilon was found .* even direct questioning has a power of 0.444"):
        epsilon_for(PlanInputs(warner, 0.3, 0.95, detect=0.4), Target(power=0.8), 60)


@pytest.mark.parametrize(("peak", "least"), [(0.5, 1.9), (0.9, 1.2345)])
def test_smaller_epsilons_are_searched_to_three_digits(peak, least):
    """The search goes on while the peaks of the exact power reach the target. A power that is kept from 1.2345 to
    1.5 and from 1.9 on.
    """
    exact_test = SimpleNamespace(upper_bound=lambda _: peak)
    case = SimpleNamespace(accuracy=lambda epsilon: SimpleNamespace(epsilon=epsilon, exact_test=exact_test))

    def is_sustained(accuracy, _):
        return 1.2345 <= accuracy.epsilon <= 1.5 or accuracy.epsilon >= 1.9

    target = SimpleNamespace(power=0.8, is_sustained=is_sustained)
    assert least <= solving._smallest_exact_epsilon(case, target, 100, 2.0) <= least * 1.001


def test_a_power_that_any_epsilon_has_gets_the_smallest():
    assert epsilon_for(PlanInputs(warner, 0.01, 0.95, detect=0.99), Target(power=0.06), 10**6) == 1e-3


def test_goals_in_words():
    assert str(Target(margin=0.03)) == "±3 points"
    assert str(Target(margin=2.5, is_share=False)) == "±2.5"
    assert str(Target(power=0.8)) == "a power of 0.8"
    assert format_margin(0.0693, is_share=True) == "±6.93 points"


def test_a_margin_is_rounded_up_and_a_power_down():
    found = PlanInputs(warner, 0.2, 0.95, detect=0.3).accuracy(1.0)
    assert found.margin(100) < solving.margin_with_tolerance(found, 100) < found.margin(100) * (1 + 1e-9)
    assert found.power(100) - 1e-9 < solving.power_with_tolerance(found, 100) < found.power(100)
    assert solving.power_with_tolerance(found, 1) == 0
