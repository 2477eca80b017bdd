import datetime as dt
import math
import sys
import types
import warnings
import zoneinfo
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest

from tests.curator.hostile import CELLS
from tests.slowly import each
from toolkit.core.arrays import number_or_nan
from toolkit.frames.engines import cells
from toolkit.frames.engines.cells import MISSING_KEY, Day, Moment


@each(name=CELLS)
def test_no_cell_raises_or_warns(name: str) -> None:
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("error")
        assert isinstance(number_or_nan(CELLS[name]), float)
        cells.key(CELLS[name])
        assert cells.codes([CELLS[name]], {"a": 0}).tolist() == [-1]


@pytest.mark.parametrize(
    "cell",
    [3, 3.0, np.int8(3), np.uint64(3), np.float32(3), np.longdouble(3), Decimal(3), Fraction(3)],
    ids=lambda cell: type(cell).__name__,
)
def test_numbers_of_all_types_are_numbers_and_equal(cell: object) -> None:
    assert number_or_nan(cell) == 3.0
    assert cells.codes([cell], {3: 7}).tolist() == [7]


def test_a_whole_number_of_a_long_double_keeps_all_its_digits() -> None:
    large = np.longdouble(2**62) + 1
    assert cells.key(large) == int(large)
    assert [cells.key(np.longdouble(text)) for text in ("0.5", "inf", "-inf")] == [0.5, math.inf, -math.inf]


def test_infinite_and_huge_numbers_are_numbers() -> None:
    """Every other cell is missing as a number."""
    assert [number_or_nan(c) for c in (math.inf, 10**400, -(10**400), Decimal("-1E+999999"), True)] == [
        math.inf,
        math.inf,
        -math.inf,
        -math.inf,
        1,
    ]
    for cell in ("3", b"3", [3], None, pd.NA, pd.NaT, 3j, dt.date(2020, 1, 1), np.datetime64(3, "ns"), CELLS["raises"]):
        assert math.isnan(number_or_nan(cell))
    assert number_or_nan(CELLS["a float that raises"]) == 3.0


def test_missing_is_none_nan_na_and_nat_and_nothing_else() -> None:
    for cell in (
        None,
        math.nan,
        np.float32("nan"),
        pd.NA,
        pd.NaT,
        np.datetime64("NaT"),
        Decimal("NaN"),
        Decimal("sNaN"),
    ):
        assert cells.key(cell) is MISSING_KEY
    for cell in ("", 0, False, [], CELLS["raises"]):
        assert cells.key(cell) is not MISSING_KEY


def test_dates_are_days_and_datetimes_are_moments_whatever_holds_them() -> None:
    noon = Moment(18_262 * 86_400 * 10**9 + 43_200 * 10**9, False)
    for cell in (dt.datetime(2020, 1, 1, 12), pd.Timestamp("2020-01-01 12:00"), np.datetime64("2020-01-01T12", "h")):
        assert cells.key(cell) == noon
        assert cells.key(cell, as_days=True) == Day(18_262)
    for cell in (dt.date(2020, 1, 1), np.datetime64("2020-01-01")):
        assert cells.key(cell) == cells.key(cell, as_days=True) == Day(18_262)
    assert cells.key(pd.Timestamp("2020-01-01 12:00:00.000000007")) == Moment(noon.nanoseconds + 7, False)
    assert cells.key(np.datetime64("2020-01", "M")) is None


def test_moments_with_a_time_zone_are_compared_in_utc() -> None:
    """The day of such a moment follows its own clock."""
    late = dt.datetime(2020, 1, 1, 0, 30, tzinfo=zoneinfo.ZoneInfo("Europe/Berlin"))
    assert cells.key(late) == cells.key(late.astimezone(dt.UTC)) == cells.key(pd.Timestamp(late))
    assert cells.key(late, as_days=True) == Day(18_262)
    assert cells.key(late.astimezone(dt.UTC), as_days=True) == Day(18_261)


def test_code_of_an_unknown_time_zone_is_not_run(monkeypatch: pytest.MonkeyPatch) -> None:
    """Zones of pytz are known."""

    class Zone(dt.tzinfo):
        def utcoffset(self, _: object) -> dt.timedelta:
            ran.append(type(self))
            return dt.timedelta(hours=1)

    class Derived(Zone):
        """As those of pytz are."""

    ran: list[type] = []
    monkeypatch.delitem(sys.modules, "pytz", raising=False)
    noon = {zone: dt.datetime(1970, 1, 1, 1, tzinfo=zone()) for zone in (Zone, Derived)}
    assert [cells.key(one) for one in noon.values()] == [None, None]
    monkeypatch.setitem(sys.modules, "pytz", types.SimpleNamespace(BaseTzInfo=Derived))
    assert [cells.key(one) for one in noon.values()] == [None, Moment(0, True)]
    assert set(ran) == {Derived}


def test_code_of_a_cell_is_not_run_whatever_known_type_it_is_derived_from() -> None:
    """A number or text of a derived type is read by the type that is known; all other derived types are no value."""
    ran = []

    def run(cell: object, *_: object) -> object:
        ran.append(type(cell).__name__)
        raise RuntimeError("Bob")

    own = dict.fromkeys(
        ("__int__", "__float__", "__index__", "__str__", "__hash__", "__eq__", "__sub__", "utcoffset"), run
    )
    known = (int, float, str, Decimal, Fraction, dt.datetime, dt.date, np.float64)
    derived = {kind: type(kind.__name__, (kind,), own) for kind in known}
    for cell, value in (
        (derived[int](3), 3),
        (derived[float](3.5), 3.5),
        (derived[np.float64](3.5), 3.5),
        (derived[str]("law"), "law"),
        (derived[Decimal](3), None),
        (derived[Fraction](3), None),
        (derived[dt.datetime](2020, 1, 1), None),
        (derived[dt.date](2020, 1, 1), None),
        (dt.datetime(2020, 1, 1, tzinfo=type("Zone", (zoneinfo.ZoneInfo,), own)("Europe/Berlin")), None),
    ):
        assert cells.key(cell) == cells.key(cell, as_days=True) == value
        assert number_or_nan(cell) == value or math.isnan(number_or_nan(cell))
    assert ran == []
