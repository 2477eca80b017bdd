"""Days: how one is written, and when it is over for everybody."""

import datetime as dt

from toolkit.core.checks import refuse

Day = dt.date
_LAST_ZONE = dt.timezone(dt.timedelta(hours=-12))  # there a day ends last


def read_day(value: object, name: str) -> Day | None:
    """Return a day as TOML or a person writes it; None for none."""
    if value is None or (isinstance(value, dt.date) and not isinstance(value, dt.datetime)):
        return value
    try:
        return dt.date.fromisoformat(value if isinstance(value, str) else "")
    except ValueError:
        rule = f"`{name}` must be a day, as in 2026-12-01"
        refuse(rule, repr(value)[:40], "people are told the last day, without an hour")


def is_over(day: Day, now: dt.datetime | None = None) -> bool:
    """Return whether a day has ended everywhere: "until this day" holds by every person's own clock."""
    return (now or dt.datetime.now(dt.UTC)).astimezone(_LAST_ZONE).date() > day
