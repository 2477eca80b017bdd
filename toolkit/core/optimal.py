"""The exact cost of many pure losses together: what no analysis that knows only their epsilons can improve.

The worst mechanism of loss epsilon is a coin that shows the truth with odds e**epsilon. Of k coins only the
number of true ones matters, so the worst k-fold mechanism is a binomial law and its mirror image, and the
smallest epsilon at a given delta is a maximum over tails of the binomial: finite sums, computed here with all
roundings to the private side (Kairouz, Oh and Viswanath 2015; for unequal losses Murtagh and Vadhan 2016:
their sums may be too many to be listed, and are then rounded up to a grid).
"""

import math
from collections import Counter
from collections.abc import Iterator, Mapping
from decimal import MAX_EMAX, MIN_EMIN, ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction
from typing import TypeAlias

from toolkit.core.rounding import exp_below, log_up, sum_up

_UP = Context(prec=60, rounding=ROUND_CEILING, Emin=MIN_EMIN, Emax=MAX_EMAX)
_DOWN = Context(prec=60, rounding=ROUND_FLOOR, Emin=MIN_EMIN, Emax=MAX_EMAX)
_WORK_LIMIT = 1_200_000  # products of two numbers: a second or two
_FEWEST_POINTS = 1000  # a grid coarser than this is not worth the time
_LARGEST = 100_000  # beyond this epsilon there is no privacy left to account for

Law: TypeAlias = dict[int, tuple[Decimal, Decimal]]
"""Privacy loss in whole units, and its probability under the one truth (rounded up) and the other (rounded
down).
"""


def manageable(steps: Mapping[Fraction, int]) -> Mapping[Fraction, int] | None:
    """The losses {epsilon: how many of them}, if need be rounded up to a grid on which their sums are few;
    else None.
    """
    if not steps or max(steps) > _LARGEST:
        return None
    if _least_work(steps) <= _WORK_LIMIT and _work(steps) <= _WORK_LIMIT:
        return steps
    points = _WORK_LIMIT // sum(times + 1 for times in steps.values())
    if points < _FEWEST_POINTS:
        return None
    grain = 4 * sum_up(epsilon * times for epsilon, times in steps.items()) / points
    coarse: Counter[Fraction] = Counter()
    for epsilon, times in steps.items():
        coarse[math.ceil(epsilon / grain) * grain] += times
    return coarse if _work(coarse) <= _WORK_LIMIT else None


def optimal_epsilon(steps: Mapping[Fraction, int], delta: Fraction) -> Fraction:
    """The smallest epsilon at `delta` of manageable losses, rounded up in the last digit of a float.

    >>> float(optimal_epsilon({Fraction("0.1"): 50}, Fraction("1e-6")))
    3.172...
    """
    law = _composed(steps)
    one, other, ratio = Decimal(0), Decimal(0), Decimal(1)
    spare = _decimal(delta, _DOWN)
    for loss in sorted(law, reverse=True):  # the worst events are tails: the largest losses together
        one, other = _UP.add(one, law[loss][0]), _DOWN.add(other, law[loss][1])
        ratio = max(ratio, _UP.divide(_UP.subtract(one, spare), other))
    epsilon = log_up(Fraction(ratio))
    while _excess(law, epsilon) > spare:  # the proof; the logarithm above may miss it in the last digit
        epsilon = math.nextafter(epsilon, math.inf)
    return Fraction(repr(epsilon))


def _excess(law: Law, epsilon: float) -> Decimal:
    """Delta at epsilon: how much likelier the worst event is than e**epsilon allows, rounded up."""
    factor = _decimal(exp_below(Fraction(repr(epsilon))), _DOWN) if epsilon else Decimal(1)
    total = Decimal(0)
    for one, other in law.values():
        over = _UP.subtract(one, _DOWN.multiply(factor, other))
        total = _UP.add(total, over) if over > 0 else total
    return total


def _composed(steps: Mapping[Fraction, int]) -> Law:
    law: Law = {0: (Decimal(1), Decimal(1))}
    for (epsilon, times), units in zip(steps.items(), _in_units(steps), strict=True):
        coins = _coins(epsilon, times, units)
        law = _convolved(law, coins) if len(law) > 1 else coins
    return law


def _convolved(left: Law, right: Law) -> Law:
    law: Law = {}
    nothing = (Decimal(0), Decimal(0))
    for a, (a_one, a_other) in left.items():
        for b, (b_one, b_other) in right.items():
            one, other = law.get(a + b, nothing)
            law[a + b] = _UP.fma(a_one, b_one, one), _DOWN.fma(a_other, b_other, other)
    return law


def _work(steps: Mapping[Fraction, int]) -> int:
    work, size, reach = 0, 1, 0
    for times, units in zip(steps.values(), _in_units(steps), strict=True):
        work += (size + 10) * (times + 1)  # to make a number costs some ten times as much as to multiply two
        reach += times * units
        size = min(size * (times + 1), 2 * reach + 1)
    return work


def _least_work(steps: Mapping[Fraction, int]) -> int:
    """Not above `_work`, and found without a common unit, which has a digit or more for every different
    loss.
    """
    work, coins = 0, 0
    for times in steps.values():
        work += (coins + 1 + 10) * (times + 1)  # so many coins have at least one sum more than they are
        coins += times
    return work


def _coins(epsilon: Fraction, times: int, units: int) -> Law:
    """The law of `times` coins with odds just above e**epsilon; a larger epsilon is never more private."""
    odds = _decimal(1 / exp_below(-epsilon), _UP)
    one = _power(_UP.divide(Decimal(1), _DOWN.add(1, odds)), times, _UP)
    other = _power(_DOWN.divide(odds, _UP.add(1, odds)), times, _DOWN)
    law: Law = {-times * units: (one, other)}
    for true in range(times):
        ways, coins = Decimal(times - true), Decimal(true + 1)
        one = _UP.divide(_UP.multiply(_UP.multiply(one, ways), odds), coins)
        other = _DOWN.divide(_DOWN.divide(_DOWN.multiply(other, ways), coins), odds)
        law[(2 * true + 2 - times) * units] = one, other
    return law


def _power(base: Decimal, exponent: int, rounding: Context) -> Decimal:
    """By squaring: `Context.power` does not round in a given direction."""
    result = Decimal(1)
    while exponent:
        if exponent & 1:
            result = rounding.multiply(result, base)
        base, exponent = rounding.multiply(base, base), exponent >> 1
    return result


def unit(steps: Mapping[Fraction, int]) -> Fraction:
    """The largest amount that every epsilon is a whole multiple of; of fractions in lowest terms it has this
    form.
    """
    return Fraction(
        math.gcd(*(epsilon.numerator for epsilon in steps)),
        math.lcm(*(epsilon.denominator for epsilon in steps)),
    )


def _in_units(steps: Mapping[Fraction, int]) -> Iterator[int]:
    """Every epsilon as a whole number of units."""
    grain = unit(steps)
    return ((epsilon.numerator // grain.numerator) * (grain.denominator // epsilon.denominator) for epsilon in steps)


def _decimal(value: Fraction, rounding: Context) -> Decimal:
    return rounding.divide(Decimal(value.numerator), Decimal(value.denominator))
