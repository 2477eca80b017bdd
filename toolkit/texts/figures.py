"""English number formats for widgets, with the same digits as `show/widgets/static/kit.js` in the browser."""

import math
from collections.abc import Mapping

_MAX_FACTOR = 100_000  # larger factors are not printed, because they guarantee nothing


def format_number(value: float, decimals: int | None = None) -> str:
    """Format a number with about three digits and thousands separators; numbers below 1 have at least one decimal."""
    if decimals is None:
        decimals = 2 if value < 10 else 1 if value < 100 else 0
    elif 0 < value < 1:
        decimals = max(decimals, 1)
    rounded = math.floor(value * 10**decimals + 0.5) / 10**decimals  # halves are rounded up, as in the browser
    return f"{rounded:,.{decimals}f}"


def format_factor(factor: float) -> str:
    if factor > _MAX_FACTOR:
        return f"{_MAX_FACTOR:,} and more"
    decimals = 2 if factor < 10 else 1 if factor < 100 else 0
    return format_number(math.ceil(factor * 10**decimals - 1e-9) / 10**decimals, decimals)


def format_chance(percent: float) -> str:
    """Format a probability in percent, with a decimal below 2 %; only exact values are printed as 0 or 100."""
    if 0 < percent < 0.1:
        return "under 0.1"
    if percent < 2:
        return format_number(percent, 1).removesuffix(".0")
    return format_number(math.floor(10 * percent) / 10, 1) if 99.5 <= percent < 100 else format_number(percent, 0)


def format_upper_chance(percent: float) -> str:
    """Format the upper limit of a probability in percent, rounded up."""
    unit = 10 if percent < 1 else 1
    return format_number(math.ceil(percent * unit - 1e-9) / unit, 0)


def format_lower_chance(percent: float) -> str:
    """Format the lower limit of a probability in percent, rounded down."""
    unit = 10 if percent < 1 else 1
    return format_number(math.floor(percent * unit + 1e-9) / unit, 0)


def round_to_three_digits(value: float) -> float:
    """Round a number to three significant digits before the decimal point; more would suggest false precision."""
    unit: int = 10 ** max(0, math.floor(math.log10(value)) - 2)
    return math.floor(value / unit + 0.5) * unit


def format_three_digits(value: float) -> str:
    return format_number(
        round_to_three_digits(value) if value >= 100 else value, max(0, 2 - math.floor(math.log10(value)))
    )


def format_margin(margin: float) -> str:
    """Format a margin in percentage points; a margin of 100 or more says nothing about a share."""
    return "100 or more" if margin >= 100 else format_number(margin, 1 if margin >= 1 else 2)


def fill_templates(words: Mapping[str, str], values: Mapping[str, object]) -> dict[str, str]:
    """Return the sentences with the values inserted."""
    return {name: text.format(**values) for name, text in words.items()}


def round_for_browser(value: float) -> float:
    """Round to six significant digits, which suffices for drawing in the browser and halves the number of bytes."""
    return float(f"{value:.6g}")
