"""Shares of birthdays are computed from days; the effect of seasonal births on an estimate."""

from fractions import Fraction

import numpy as np
import pytest

from toolkit import crosswise, triangular, unrelated, warner
from toolkit.local.birthdays import MONTHS, born, count_days, estimate_shift, innocuous_share


def test_shares_are_days_of_a_year_with_a_quarter() -> None:
    assert sum(count_days(month) for month in MONTHS) == Fraction(1461, 4)
    assert born("jan-apr") == Fraction(481, 1461)  # 120.25 of 365.25
    assert born("jan-mar") == Fraction(361, 1461)
    assert born("NOV - feb") == born("nov") + born("dec") + born("jan") + born("feb")
    assert born("may-apr".replace("apr", "mar")) + born("apr") == 1


@pytest.mark.parametrize("months", ["q1", "jan-", "january", "", "jan-feb-mar", "jan-dec", "apr-mar"])
def test_what_is_no_span_is_refused(months: str) -> None:
    with pytest.raises(ValueError, match="months must"):
        born(months)


def test_a_third_for_january_to_april_is_what_was_measured_to_be_wrong() -> None:
    """The text once said "at most 2 times" where 2.04 is exact; the estimate at 0 % was off by -1.2 points, at 5 % by
    -1.1.
    """
    told, true = crosswise("1/3"), crosswise(born("jan-apr"))
    assert np.exp(true.epsilon) == pytest.approx(2.0374, abs=1e-4)
    for truth, bias in ((0.0, -0.0123), (0.05, -0.0111)):
        reports = np.array([1 - truth, truth]) @ true.matrix
        assert np.linalg.solve(told.matrix.T, reports)[1] - truth == pytest.approx(bias, abs=1e-4)


@pytest.mark.parametrize("truth", [0.0, 0.05, 0.3, 1.0])
def test_a_shift_is_what_another_share_does(truth: float) -> None:
    """Computed by hand: (p' - p)(2x - 1) / (2p - 1) for the crosswise design, (p' - p)(1 - x) / (1 - p) for the
    triangular design.
    """
    p = float(born("jan-apr"))
    assert estimate_shift(crosswise(born("jan-apr")), truth) == pytest.approx(0.01 * (2 * truth - 1) / (2 * p - 1))
    assert estimate_shift(triangular(born("jan-apr")), truth) == pytest.approx(0.01 * (1 - truth) / (1 - p))


def test_a_design_without_an_innocent_question_has_no_shift() -> None:
    assert innocuous_share(unrelated("2/3", born("mar"))) == born("mar")
    with pytest.raises(ValueError, match="must be crosswise or triangular, got warner"):
        estimate_shift(warner("3/4"), 0.1)
