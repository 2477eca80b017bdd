"""Numbers rounded to the private side: logarithms up, designs down, distributions to integers.

Privacy is claimed with a logarithm and kept with integers. These few functions are the bridge; each says on
which side of the truth its result lies, and uses enough digits to prove it.
"""

import math
from collections.abc import Iterable, Sequence
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction
from typing import Any

_DIGITS = 60
_UP, _DOWN = Context(prec=_DIGITS, rounding=ROUND_CEILING), Context(prec=_DIGITS, rounding=ROUND_FLOOR)
_SLACK = Fraction(1, 10**50)  # libmpdec's ln and exp are within one unit of the 60th digit: this is 10**8 of them
_SHORT = 2**1024  # sums stay exact while their denominator is not above this, or not above that of one of their terms
_BITS = 256  # beyond it, terms are rounded up to this many binary digits of the largest


def log_up(ratio: Fraction) -> float:
    """The smallest float that, read by its decimal digits, is not below ln(ratio), for a ratio of at least 1."""
    if ratio == 1:
        return 0.0
    quotient = _UP.divide(Decimal(ratio.numerator), Decimal(ratio.denominator))
    bound = Fraction(quotient.ln(_UP)) * (1 + _SLACK)
    return float_up(bound)


def float_up(value: Fraction) -> float:
    """The smallest float that, read by its decimal digits, is at least `value`."""
    number, (top, bottom) = float(value), value.as_integer_ratio()
    while True:
        over, under = Decimal(repr(number)).as_integer_ratio()
        if over * bottom >= top * under:
            return number
        number = math.nextafter(number, math.inf)


def sum_up(terms: Iterable[Fraction]) -> Fraction:
    """The sum of terms not below 0, in a time that grows as their number does: exact if its denominator is short, else
    above.

    Fractions of ever new denominators would grow with every addition. Where they would, each term is rounded up to a
    grid, and the result is above the sum by less than the number of terms times 2**-255 of the largest.
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
    """A fraction just below e**exponent: so little that only `log_up`'s own caution is made up for."""
    power = _DOWN.divide(Decimal(exponent.numerator), Decimal(exponent.denominator))
    return Fraction(power.exp(_DOWN)) * (1 - 1000 * _SLACK)


def best_below(target: Fraction, *, others: int, limit: int) -> tuple[int, int]:
    """The largest a/b not above `target` (at least 1) with a + others * b <= limit: a walk down the Stern-Brocot tree.

    Every fraction strictly between two neighbors of the tree is at least as large, in this sense, as both together; so
    when both together pass the limit, the lower one is the best there is.
    """
    if target <= 1:  # 1 itself, which rounding may have put a hair below
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
    """Distributions as integer weights over one denominator: exact if that is at most `limit`, else rounded to it."""
    denominator = math.lcm(*(p.denominator for row in rows for p in row))
    if denominator <= limit:
        return [[int(p * denominator) for p in row] for row in rows], denominator
    return [apportion_probabilities(row, limit) for row in rows], limit


def apportion(
    shares: Sequence[Any], total: int, low: Sequence[int] | None = None, high: Sequence[int] | None = None
) -> list[int]:
    """Round shares of `total` to whole parts that add up to it, by largest remainders and within limits.

    Each part begins as its share, rounded down and brought within its limits (0 and `total` by default). While parts
    are too few or too many, the one that is farthest on the other side of its share moves by one, each at most once a
    round; among equals the first.
    """
    low = [0] * len(shares) if low is None else low
    high = [total] * len(shares) if high is None else high
    parts = [min(max(math.floor(share), least), most) for share, least, most in zip(shares, low, high, strict=True)]
    while spare := total - sum(parts):
        step = 1 if spare > 0 else -1
        free = [i for i, part in enumerate(parts) if (part < high[i] if step > 0 else part > low[i])]
        if not free:
            raise ValueError("the limits leave no parts that add up to the total")
        free.sort(key=lambda i: step * (parts[i] - shares[i]))
        for i in free[: abs(spare)]:
            parts[i] += step
    return parts


def apportion_probabilities(probabilities: Sequence[Fraction], total: int) -> list[int]:
    """Round probabilities times `total` to whole parts; none above 0 becomes 0, which would end deniability."""
    return apportion([p * total for p in probabilities], total, low=[int(p > 0) for p in probabilities])
