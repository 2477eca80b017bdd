from fractions import Fraction
from functools import partial

import pytest

from toolkit import k_ary, warner
from toolkit.local import oracles
from toolkit.planning.families import snap


def test_devices_that_keep_epsilon_come_first_cheapest_first():
    found = snap(warner, 1.2, 0.1)
    kept = [snapped.keeps for snapped in found]
    assert kept == sorted(kept, reverse=True)
    keepers = [snapped for snapped in found if snapped.keeps]
    assert [s.people for s in keepers] == sorted(s.people for s in keepers)
    assert all(s.epsilon <= 1.2 for s in keepers)


def test_the_cost_in_people_is_the_ratio_of_variances():
    coins = next(s for s in snap(warner, 1.2, 0.1) if s.device.outcomes == 4)
    assert coins.people == pytest.approx(warner("3/4").variance(0.1, 1) / warner(epsilon=1.2).variance(0.1, 1))
    assert repr(coins).startswith(
        "<Snapped two coins, one after the other: epsilon 1.1 keeps 1.2; 1.19 times the people; "
    )


def test_a_device_that_realises_the_design_costs_nothing():
    import math

    die = next(s for s in snap(warner, math.log(5), 0.1) if s.device.outcomes == 6)
    assert die.people == pytest.approx(1, abs=1e-6)


def test_several_options_have_devices_and_oracles_have_none():
    assert snap(partial(k_ary, 3), 1.0, [0.3, 0.3, 0.4])
    with pytest.raises(ValueError, match="only designs with a matrix"):
        snap(partial(oracles.best, 30), 1.0, [1 / 30] * 30)


def test_what_was_wanted_is_never_said_to_be_more():
    assert Fraction(repr(snap(warner, "5/7", 0.1)[0].wanted)) <= Fraction(5, 7)
