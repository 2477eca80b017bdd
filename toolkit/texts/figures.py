"""English number formats for widgets, with the same digits as `show/widgets/static/kit.js` in the browser."""

import math
from collections.abc import Mapping

_BEYOND = 100_000  # a larger factor promises nothing


def figure(value: float, decimals: int | None = None) -> str:
    """Format a number with about three digits and thousands separators; below 1 with at least one decimal."""
    if decimals is None:
        decimals = 2 if value < 10 else 1 if value < 100 else 0
    elif 0 < value < 1:
        decimals = max(decimals, 1)
    rounded = math.floor(value * 10**decimals + 0.5) / 10**decimals  # halves go up, here and in the browser
    return f"{rounded:,.{decimals}f}"


def bound(factor: float) -> str:
    if factor > _BEYOND:
        return f"{_BEYOND:,} and more"
    decimals = 2 if factor < 10 else 1 if factor < 100 else 0
    return figure(math.ceil(factor * 10**decimals - 1e-9) / 10**decimals, decimals)


def chance(percent: float) -> str:
    """Format a probability in per cent without rounding to impossible or certain; below 2 % with a decimal."""
    if 0 < percent < 0.1:
        return "under 0.1"
    if percent < 2:
        return figure(percent, 1).removesuffix(".0")
    return figure(math.floor(10 * percent) / 10, 1) if 99.5 <= percent < 100 else figure(percent, 0)


def at_most(percent: float) -> str:
    """Return the upper end of a chance in per cent, rounded up."""
    unit = 10 if percent < 1 else 1
    return figure(math.ceil(percent * unit - 1e-9) / unit, 0)


def at_least(percent: float) -> str:
    """Return the lower end of a chance in per cent, rounded down."""
    unit = 10 if percent < 1 else 1
    return figure(math.floor(percent * unit + 1e-9) / unit, 0)


def three_digits(value: float) -> float:
    """Format a number with all digits after the third set to zero, because more would suggest false precision."""
    unit: int = 10 ** max(0, math.floor(math.log10(value)) - 2)
    return math.floor(value / unit + 0.5) * unit


def significant(value: float) -> str:
    return figure(three_digits(value) if value >= 100 else value, max(0, 2 - math.floor(math.log10(value))))


def in_points(margin: float) -> str:
    """Return a margin in points; of shares, none above 100 differ."""
    return "100 or more" if margin >= 100 else figure(margin, 1 if margin >= 1 else 2)


def fill(words: Mapping[str, str], values: Mapping[str, object]) -> dict[str, str]:
    """Return every sentence with its numbers in place."""
    return {name: text.format(**values) for name, text in words.items()}


def short(value: float) -> float:
    """Round to six digits, which is enough for the browser and halves the number of bytes."""
    return float(f"{value:.6g}")
