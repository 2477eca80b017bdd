"""Subsampling: the closed form, and an enumeration."""

import math
from fractions import Fraction

import pytest

from toolkit import Approx, Pure, Zcdp, subsampled, warner


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
    """One of three records is drawn and told by Warner's design; one record changes: the exact ratio is
    within the bound.
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
