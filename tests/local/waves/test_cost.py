"""Ratios as exact fractions, and what is impossible."""

import math
from fractions import Fraction

from toolkit.local.waves import chances, changing, epsilon_of, redrawn, unchanged


def test_what_no_series_can_prove_costs_nothing_more() -> None:
    """A memo that is never no: the impossible series are left out of the worst case."""
    chance = chances([[1, 1], [0, 2]], [[4, 0], [0, 4]])
    assert unchanged(chance, 2) == math.inf
    assert changing(chance, 2) == math.inf


def test_ratios_are_fractions_and_those_of_runs_multiply() -> None:
    """Warner 3/4 on 3/4: one report is 5/8 against 3/8."""
    chance = chances([[3, 1], [1, 3]], [[3, 1], [1, 3]])
    assert unchanged(chance, 1) == changing(chance, 1) == Fraction(5, 3)
    assert unchanged(chance, 2) == Fraction(7, 3)
    assert redrawn(lambda run: unchanged(chance, run), 2) == Fraction(25, 9)
    costs = {1: Fraction(2), 2: Fraction(5), 3: Fraction(6), 4: Fraction(11), 5: Fraction(1)}
    assert [redrawn(costs.__getitem__, reports) for reports in (1, 2, 3, 4, 5)] == [2, 5, 10, 25, 50]
    assert redrawn({1: Fraction(2), 2: math.inf}.__getitem__, 2) == math.inf
    assert epsilon_of(Fraction(1)) == 0
    assert epsilon_of(math.inf) == math.inf
