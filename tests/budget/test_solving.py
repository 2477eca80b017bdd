import pytest

from toolkit import warner
from toolkit.budget.accuracy import Case
from toolkit.budget.solving import Target, epsilon_for, in_words, people_for


def test_the_smallest_size_is_found_for_every_kind_of_goal():
    accuracy = Case(warner, 0.3, 0.95, detect=0.4).accuracy(0.8)
    for target in (Target(margin=0.2), Target(margin=0.001), Target(power=0.5), Target(power=0.999)):
        n = people_for(accuracy, target)
        assert target.reached(accuracy, n)
        assert not target.reached(accuracy, n - 1)


def test_the_smallest_epsilon_is_found_from_above():
    case = Case(warner, 0.3, 0.95)
    for margin in (0.05, 0.1, 0.4):
        epsilon = epsilon_for(case, Target(margin=margin), 1000)
        assert case.accuracy(epsilon).margin(1000) <= margin
        assert case.accuracy(epsilon * (1 - 2e-6)).margin(1000) > margin


def test_a_goal_just_short_of_direct_questioning_asks_for_too_much():
    direct = Case(warner, 0.3, 0.95).accuracy(1.0).without_noise().margin(1000)
    with pytest.raises(ValueError, match="at most 20"):
        epsilon_for(Case(warner, 0.3, 0.95), Target(margin=direct * (1 + 1e-12)), 1000)


def test_goals_in_words():
    assert str(Target(margin=0.03)) == "±3 points"
    assert str(Target(margin=2.5, shares=False)) == "±2.5"
    assert str(Target(power=0.8)) == "a power of 0.8"
    assert in_words(0.0693, shares=True) == "±6.93 points"
