"""Numbers as text, with the digits that their errors allow."""

import math
from collections.abc import Sequence
from dataclasses import fields
from decimal import ROUND_CEILING, Context, Decimal
from typing import Any

_UP = Context(prec=6, rounding=ROUND_CEILING)
_SLACK = Decimal("1e-12")  # without it, an epsilon of ln 5 would read as a factor of 5.01


def digits(value: object) -> str:
    """A float in at most six significant digits, with a point; anything else as Python writes it."""
    if isinstance(value, float):
        return repr(float(f"{float(value):.6g}"))
    if type(value) is tuple:
        return f"({', '.join(map(digits, value))}{',' * (len(value) == 1)})"
    return repr(value)


def round_up(value: float | Decimal, digits: int) -> Decimal:
    """Round up to significant digits; what rounding of floats can have added, 1e-12 of the value, is not counted."""
    return Context(prec=digits, rounding=ROUND_CEILING).plus(Decimal(value) * (1 - _SLACK) if value else Decimal(0))


def digits_up(value: float) -> str:
    """Likewise, rounded up: a loss is never shown smaller than it is."""
    return repr(float(_UP.create_decimal(repr(float(value)))))


def concise(self: Any) -> str:
    """The repr of a dataclass, its numbers in the digits that mean something."""
    parts = (f"{field.name}={digits(getattr(self, field.name))}" for field in fields(self) if field.repr)
    return f"{type(self).__name__}({', '.join(parts)})"


_MOST_DECIMALS = 12
_THOUSAND, _LONG = 1000, 1e15
_MINUS = "\N{MINUS SIGN}"


def short(number: float) -> str:
    """Four digits, and all before the point: never with an exponent where people would write none."""
    return f"{number:,.0f}" if _THOUSAND <= abs(number) < _LONG else f"{number:.4g}"


def written(number: float, se: float, *, whole: bool = False) -> str:
    """A number with the decimals that two digits of its standard error reach; a whole one without any."""
    if math.isnan(number):
        return "—"
    if whole and math.isfinite(number):
        return f"{number:,.0f}"
    if not (math.isfinite(number) and math.isfinite(se) and se > 0):
        return short(number)
    return f"{number:z,.{max(1 - math.floor(math.log10(se)), 0)}f}"


def between(low: float, high: float, se: float, *, whole: bool = False) -> str:
    """Two limits, with as many decimals as tell them apart; of a whole number the next whole ones outside."""
    if whole and math.isfinite(low) and math.isfinite(high):
        return f"{math.floor(low):,} to {math.ceil(high):,}"
    finer = se
    while low < high and written(low, finer) == written(high, finer) and finer > 1e-12 * se:
        finer /= 10
    return f"{written(low, finer)} to {written(high, finer)}"


def decimals_of(lines: Sequence[Sequence[float]]) -> int:
    """As many as two digits of the smallest error reach, and more where an interval would be written as a point."""
    errors = [se for _, se, _, _ in lines if math.isfinite(se) and se > 0]
    decimals = max([0, *(1 - math.floor(math.log10(se)) for se in errors)])
    while decimals < _MOST_DECIMALS and any(
        low < high and f"{low:.{decimals}f}" == f"{high:.{decimals}f}" for _, _, low, high in lines
    ):
        decimals += 1
    return min(decimals, _MOST_DECIMALS)


def fixed(number: float, decimals: int, unit: str) -> str:
    if math.isnan(number):
        return "—"
    return f"{number:z,.{decimals}f}{unit}".replace("-", _MINUS)  # z: no minus before 0


def fixed_between(low: float, high: float, decimals: int, unit: str) -> str:
    if math.isnan(low) or math.isnan(high):
        return "—"
    return f"{fixed(low, decimals, '')} to {fixed(high, decimals, unit)}"
