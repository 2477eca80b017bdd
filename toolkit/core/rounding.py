"""Rounding that never understates a loss: logarithms up, odds of designs down, and distributions to integers.

The claimed privacy is a logarithm, and the mechanism uses integers. Each function here states on which side of the
exact value its result lies, and uses enough digits to prove it.
"""

import math
from collections.abc import Iterable, Sequence
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction
from typing import Any

_DIGITS = 60
_UP, _DOWN = Context(prec=_DIGITS, rounding=ROUND_CEILING), Context(prec=_DIGITS, rounding=ROUND_FLOOR)
# The ln and exp of libmpdec are within one unit of the 60th digit; this tolerance is 10**8 such units.
_SLACK = Fraction(1, 10**50)
# Sums are exact while their denominator does not exceed this limit or the denominator of one of their terms.
_SHORT = 2**1024
# Otherwise terms are rounded up to this number of binary digits of the largest term.
_BITS = 256


def to_decimal(value: Fraction, context: Context) -> Decimal:
    """Return a fraction as a decimal number, rounded by the context."""
    return context.divide(Decimal(value.numerator), Decimal(value.denominator))


def log_up(ratio: Fraction) -> float:
    """Return the smallest float whose decimal representation is at least ln(ratio), for a ratio of at least 1."""
    if ratio == 1:
        return 0.0
    bound = Fraction(to_decimal(ratio, _UP).ln(_UP)) * (1 + _SLACK)
    return float_up(bound)


def float_up(value: Fraction) -> float:
    """Return the smallest float whose decimal representation is at least `value`."""
    number, (top, bottom) = float(value), value.as_integer_ratio()
    while True:
        over, under = Decimal(repr(number)).as_integer_ratio()
        if over * bottom >= top * under:
            return number
        number = math.nextafter(number, math.inf)


def sum_up(terms: Iterable[Fraction]) -> Fraction:
    """Return the sum of nonnegative terms in linear time: exact if its denominator is short, otherwise rounded up.

    Sums of fractions with many different denominators would grow with every addition. So each term is rounded up to a
    grid, and the result exceeds the sum by less than the number of terms times 2**-255 of the largest term.
    """
    amounts = [term for term in terms if term]
    limit, common = max([_SHORT, *(term.denominator for term in amounts)]), 1
    for term in amounts:
        common = math.lcm(common, term.denominator)
        if common > limit:
            break
    else:
        return Fraction(sum(term.numerator * (common // term.denominator) for term in amounts), common)
    largest = max(amounts)
    bits = _BITS + largest.denominator.bit_length() - largest.numerator.bit_length()
    up, down = max(bits, 0), max(-bits, 0)
    return Fraction(sum(-(-(term.numerator << up) // (term.denominator << down)) for term in amounts) << down, 1 << up)


def exp_below(exponent: Fraction) -> Fraction:
    """Return a fraction slightly below e**exponent; the difference compensates for the tolerance of `log_up`."""
    return Fraction(to_decimal(exponent, _DOWN).exp(_DOWN)) * (1 - 1000 * _SLACK)


def best_below(target: Fraction, *, others: int, limit: int) -> tuple[int, int]:
    """Return the largest a/b not above `target` (at least 1) with a + others * b <= limit, by the Stern-Brocot tree.

    For a fraction strictly between two neighbors of the tree, a + others * b is at least the sum of these sizes for
    both neighbors. When that sum exceeds the limit, the lower neighbor is therefore optimal.
    """
    if target <= 1:  # 1, or slightly below 1 because of rounding
        return 1, 1
    (low_a, low_b), (high_a, high_b) = (1, 1), (1, 0)
    while (low_size := low_a + others * low_b) + (high_size := high_a + others * high_b) <= limit:
        gap = target.numerator * low_b - target.denominator * low_a
        excess = target.denominator * high_a - target.numerator * high_b
        if excess <= gap:  # the mediant is not above the target: raise the lower neighbor, as far as allowed
            steps = min(gap // excess, (limit - low_size) // high_size)
            low_a, low_b = low_a + steps * high_a, low_b + steps * high_b
        else:
            steps = (limit - high_size) // low_size
            steps = min(steps, (excess - 1) // gap) if gap else steps
            high_a, high_b = high_a + steps * low_a, high_b + steps * low_b
    return low_a, low_b


def integer_rows(rows: Sequence[Sequence[Fraction]], limit: int) -> tuple[list[list[int]], int]:
    """Convert distributions to integer weights; the weights are exact if the common denominator is at most `limit`."""
    denominator = math.lcm(*(p.denominator for row in rows for p in row))
    if denominator <= limit:
        return [[int(p * denominator) for p in row] for row in rows], denominator
    return [apportion_probabilities(row, limit) for row in rows], limit


def apportion(
    shares: Sequence[Any], total: int, low: Sequence[int] | None = None, high: Sequence[int] | None = None
) -> list[int]:
    """Round shares of `total` to integers that add up to `total`, by largest remainders and within limits.

    Each integer begins as its share, rounded down and clamped to its limits (0 and `total` by default). While the sum
    is too small or too large, the integers that differ most from their shares change by one, each at most once per
    round. Ties are broken in favor of the first integer.
    """
    low = [0] * len(shares) if low is None else low
    high = [total] * len(shares) if high is None else high
    parts = [min(max(math.floor(share), least), most) for share, least, most in zip(shares, low, high, strict=True)]
    while spare := total - sum(parts):
        step = 1 if spare > 0 else -1
        free = [i for i, part in enumerate(parts) if (part < high[i] if step > 0 else part > low[i])]
        if not free:
            raise ValueError("no parts within the limits add up to the total")
        free.sort(key=lambda i: step * (parts[i] - shares[i]))
        for i in free[: abs(spare)]:
            parts[i] += step
    return parts


def apportion_probabilities(probabilities: Sequence[Fraction], total: int) -> list[int]:
    """Round probabilities times `total` to integers; a positive probability never becomes 0, so deniability remains."""
    return apportion([p * total for p in probabilities], total, low=[int(p > 0) for p in probabilities])
