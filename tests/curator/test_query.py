"""Missing values: the value that they count as is stated in advance."""

from fractions import Fraction

import pytest

from toolkit.curator.release import resolve_missing
from toolkit.frames.sums import Bounds


def test_missing_is_drop_or_a_number_within_the_bounds():
    """A missing value is dropped, or counted as a number within the bounds."""
    limits = Bounds.of((0, 10))
    assert resolve_missing("drop", limits) == (None, "missing dropped")
    assert resolve_missing("5/2", limits) == (Fraction(5, 2), "missing counted as 2.5")
    for wrong in (None, -1, 11, "mean", float("nan")):
        with pytest.raises(ValueError, match="missing"):
            resolve_missing(wrong, limits)
