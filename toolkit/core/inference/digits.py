"""Format numbers with as many digits as their errors justify."""

import math
from collections.abc import Sequence
from dataclasses import fields
from decimal import ROUND_CEILING, Context, Decimal
from typing import Any

_UP = Context(prec=6, rounding=ROUND_CEILING)
# Without this tolerance, an epsilon of ln 5 would be shown as a factor of 5.01.
_SLACK = Decimal("1e-12")


def digits(value: object) -> str:
    """Format a float with at most six significant digits and a decimal point, and anything else with `repr`."""
    if isinstance(value, float):
        return repr(float(f"{float(value):.6g}"))
    if type(value) is tuple:
        return f"({', '.join(map(digits, value))}{',' * (len(value) == 1)})"
    return repr(value)


def round_up(value: float | Decimal, digits: int) -> Decimal:
    """Round a number up to the given significant digits, ignoring a relative rounding error of 1e-12."""
    return Context(prec=digits, rounding=ROUND_CEILING).plus(Decimal(value) * (1 - _SLACK) if value else Decimal(0))


def digits_up(value: float) -> str:
    """Format a float with six digits, rounded up, so that a loss is never understated."""
    return repr(float(_UP.create_decimal(repr(float(value)))))


def concise(self: Any) -> str:
    """Return the repr of a dataclass, with six digits for its numbers."""
    parts = (f"{field.name}={digits(getattr(self, field.name))}" for field in fields(self) if field.repr)
    return f"{type(self).__name__}({', '.join(parts)})"


_MOST_DECIMALS = 12
_THOUSAND, _LONG = 1000, 1e15
_MINUS = "\N{MINUS SIGN}"


def format_short(number: float) -> str:
    """Format a number with four significant digits, or as a whole number if it lies between 1,000 and 1e15."""
    return f"{number:,.0f}" if _THOUSAND <= abs(number) < _LONG else f"{number:.4g}"


def format_estimate(number: float, se: float, *, whole: bool = False) -> str:
    """Format a number with enough decimals to show two digits of its standard error; a whole number has no decimals."""
    if math.isnan(number):
        return "—"
    if whole and math.isfinite(number):
        return f"{number:,.0f}"
    if not (math.isfinite(number) and math.isfinite(se) and se > 0):
        return format_short(number)
    return f"{number:z,.{max(1 - math.floor(math.log10(se)), 0)}f}"


def format_limits(low: float, high: float, se: float, *, whole: bool = False) -> str:
    """Format two limits with enough decimals to distinguish them; limits of a whole number are rounded outwards."""
    if whole and math.isfinite(low) and math.isfinite(high):
        return f"{math.floor(low):,} to {math.ceil(high):,}"
    finer = se
    while low < high and format_estimate(low, finer) == format_estimate(high, finer) and finer > 1e-12 * se:
        finer /= 10
    return f"{format_estimate(low, finer)} to {format_estimate(high, finer)}"


def decimals_of(lines: Sequence[Sequence[float]]) -> int:
    """Return the number of decimals that shows two digits of the smallest error, or more if limits would look equal."""
    errors = [se for _, se, _, _ in lines if math.isfinite(se) and se > 0]
    decimals = max([0, *(1 - math.floor(math.log10(se)) for se in errors)])
    while decimals < _MOST_DECIMALS and any(
        low < high and f"{low:.{decimals}f}" == f"{high:.{decimals}f}" for _, _, low, high in lines
    ):
        decimals += 1
    return min(decimals, _MOST_DECIMALS)


def format_fixed(number: float, decimals: int, unit: str) -> str:
    """Format a number with the given number of decimals, a typographic minus sign and a unit."""
    if math.isnan(number):
        return "—"
    return f"{number:z,.{decimals}f}{unit}".replace("-", _MINUS)  # "z" omits the sign of -0


def format_fixed_range(low: float, high: float, decimals: int, unit: str) -> str:
    """Format two limits with the given number of decimals and a unit."""
    if math.isnan(low) or math.isnan(high):
        return "—"
    return f"{format_fixed(low, decimals, '')} to {format_fixed(high, decimals, unit)}"
