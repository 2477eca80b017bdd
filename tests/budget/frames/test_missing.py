"""Missing values: what they count as is said beforehand, and the sums keep to it."""

from fractions import Fraction

import pytest

from toolkit.budget.frames.frame import Frame
from toolkit.budget.frames.missing import clamped_sums, settled, sums_within
from toolkit.central.steps import Bounds


def column(values):
    pd = pytest.importorskip("pandas")
    return Frame(pd.DataFrame({"x": values})).column("x")


def test_a_missing_value_is_left_out_or_counts_as_a_number_within_the_bounds():
    limits = Bounds.of((0, 10))
    assert settled("drop", limits) == (None, "missing dropped")
    assert settled("5/2", limits) == (Fraction(5, 2), "missing counted as 2.5")
    for wrong in (None, -1, 11, "mean", float("nan")):
        with pytest.raises(ValueError, match="missing"):
            settled(wrong, limits)


def test_sums_keep_to_what_was_settled():
    limits, found = Bounds.of((0, 10)), column([1.0, None, 30.0])
    dropped, filled = sums_within(found, limits, None), sums_within(found, limits, Fraction(4))
    assert (dropped.number, filled.number) == (2, 3)
    assert (filled.first - dropped.first) * limits.step == 4
    assert dropped.first * limits.step == 11  # 1, and 30 clamped to 10


def test_on_wider_bounds_values_are_clamped_to_the_narrower_ones_and_a_missing_one_adds_nothing():
    limits, wide = Bounds.of((2, 10)), Bounds.of((0, 10))
    found = clamped_sums(column([1.0, None, 30.0]), limits, wide)
    assert found.first * wide.step == 12  # 1 becomes 2, 30 becomes 10
