import datetime as dt

import pytest

from toolkit.survey.questions.survey_fields import is_over, read_day


def test_a_day_may_be_a_day_or_its_text():
    assert read_day("2026-12-01", "closes") == read_day(dt.date(2026, 12, 1), "closes") == dt.date(2026, 12, 1)
    assert read_day(None, "closes") is None


@pytest.mark.parametrize(
    "value", ["1.12.2026", "2026-13-01", "", 20261201, dt.datetime(2026, 12, 1, 12, tzinfo=dt.UTC), True, ["x"]]
)
def test_what_is_no_day_is_refused(value):
    with pytest.raises(ValueError, match="`closes` must be a day, as in 2026-12-01"):
        read_day(value, "closes")


@pytest.mark.parametrize("hours", range(-12, 15))
def test_nobody_is_late_by_the_clock_on_their_own_wall(hours):
    zone = dt.timezone(dt.timedelta(hours=hours))
    assert not is_over(dt.date(2026, 12, 1), dt.datetime(2026, 12, 1, 23, 59, 59, tzinfo=zone))
    assert is_over(dt.date(2026, 12, 1), dt.datetime(2026, 12, 3, 3, 0, tzinfo=zone))


def test_it_is_over_when_the_day_has_ended_in_the_last_zone():
    assert not is_over(dt.date(2026, 12, 1), dt.datetime(2026, 12, 2, 11, 59, 59, tzinfo=dt.UTC))
    assert is_over(dt.date(2026, 12, 1), dt.datetime(2026, 12, 2, 12, tzinfo=dt.UTC))
    assert is_over(dt.date(2020, 1, 1))
    assert not is_over(dt.date(2999, 1, 1))
