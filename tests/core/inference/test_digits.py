import math
import re

import pytest

from toolkit.analysis.regression.fit import Comparison
from toolkit.audit.verdict import Trial
from toolkit.central.robust.estimators import Huber
from toolkit.central.robust.influence import influence
from toolkit.core.inference.digits import (
    decimals_of,
    digits,
    digits_up,
    format_estimate,
    format_fixed_range,
    format_limits,
    format_short,
)
from toolkit.core.loss import Approx, Pure, Zcdp
from toolkit.local.compliance import Compliance
from toolkit.teaching.attacks.linkage import Match


def test_a_number_has_the_decimals_that_two_digits_of_its_error_reach() -> None:
    assert format_estimate(0.33333, 0.0204) == "0.333"
    assert format_estimate(float("nan"), 0.1) == "—"
    assert format_estimate(5.0, 0.0) == "5"


def test_an_interval_is_never_written_as_a_point() -> None:
    assert format_limits(0.0, 0.0004, 0.016) == "0.0000 to 0.0004"
    assert format_limits(0.0, 0.0004, 0.0105) == "0.0000 to 0.0004"
    assert format_limits(0.0, 4e-8, 0.0105) == "0.00000000 to 0.00000004"
    assert format_limits(0.0, 4e-14, 2e-8) == "0.00000000000000 to 0.00000000000004"
    assert len(format_limits(0.0, 1e-300, 2.0)) < 40
    assert format_limits(0.5, 0.5, 0.1) == "0.50 to 0.50"
    assert format_fixed_range(math.nan, 0.5, 2, "") == format_fixed_range(0.5, math.nan, 2, "") == "—"
    for lines, decimals in (
        ([], 0),
        ([(0.3, 0.1, 0.2, 0.4), (12.0, 3.0, 9.0, 15.0)], 2),
        ([(0.0, 0.016, 0.0, 0.0004)], 4),
        ([(0.5, 0.1, 0.5, 0.5), (0.5, 0.0, 0.5, 0.5), (0.5, math.nan, 0.5, 0.5)], 2),
        ([(0.0, 1.0, 0.0, 1e-14)], 12),
        ([(0.0, 1e-20, 0.0, 0.0)], 12),
    ):
        assert decimals_of(lines) == decimals


def test_people_are_whole_and_large_numbers_have_no_exponent() -> None:
    assert (format_estimate(979.0, 1.4, whole=True), format_estimate(-3.0, 1.4, whole=True)) == ("979", "-3")
    assert format_limits(975.2, 982.8, 1.4, whole=True) == "975 to 983"
    assert format_estimate(11450.03125, float("nan")) == "11,450"
    assert [format_short(number) for number in (999.96, 1000.0, 70710.678, 1e15, 1e-7)] == [
        "1000",
        "1,000",
        "70,711",
        "1e+15",
        "1e-07",
    ]


def test_a_result_shows_the_digits_that_machines_agree_on() -> None:
    """The twelfth digit of a likelihood ratio depends on how a processor adds up."""
    one = Comparison(48.367915772932975, 1, 3.5330160259206463e-12, "likelihood ratio")
    other = Comparison(48.36791577292752, 1, 3.5330160259304768e-12, "likelihood ratio")
    assert one != other
    assert repr(one) == repr(other)
    assert repr(one) == "Comparison(statistic=48.3679, df=1, p=3.53302e-12, method='likelihood ratio')"


@pytest.mark.parametrize("amount", [1 / 3, 0.1, 2.0, 1e-9, 123456.7, math.inf])
def test_a_loss_is_never_shown_smaller_than_it_is(amount: float) -> None:
    for loss in (Pure(amount), Approx(amount, 1e-6), Zcdp(amount)):
        shown = eval(repr(loss), {"Pure": Pure, "Approx": Approx, "Zcdp": Zcdp, "inf": math.inf})  # noqa: S307
        assert loss <= shown
        assert float(shown.amount) <= float(loss.amount) * (1 + 1e-5)


def test_what_is_no_float_stays_as_it_is() -> None:
    assert [digits(value) for value in (10**9, "x", None, (0.1 + 0.2, 1), (1.0,))] == [
        "1000000000",
        "'x'",
        "None",
        "(0.3, 1)",
        "(1.0,)",
    ]
    assert digits_up(0.1234561) == "0.123457"


def test_results_of_other_rooms_show_no_more_digits() -> None:
    shown = (
        influence(Huber(1.345), "normal"),
        Compliance(random=1 / 3),
        Match(3, 1 / 3, 2 / 7),
        Trial("pair", "event", 1, 99, 1, 99, 1 / 3, 0.0, 1 / 7),
    )
    for one in shown:
        assert [word for word in re.findall(r"\d[\d.]*", repr(one)) if len(word.strip("0.")) > 7] == [], one
