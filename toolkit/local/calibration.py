"""Integer odds from an epsilon, rounded to the private side: the bridge from a promise to the draws that keep it."""

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import TypeAlias

import numpy as np

from toolkit.core.checks import DENOMINATOR_LIMIT, Number, labels, positive, reject, whole
from toolkit.core.rounding import best_below, exp_below

Options: TypeAlias = int | Sequence[str | int]
"""Labels, or only their number."""

_MOST = 22


_LEAST = Fraction(1, 10**100)


def checked_epsilon(epsilon: Number) -> Fraction:
    """The epsilon that was asked for, within what 32-bit draws can keep, as the decimal digits of a float.

    A third has no float, and a randomizer must not say that it costs more than it was given: it gets a little less.
    """
    exact_epsilon = positive(epsilon, "epsilon", "at 0 a report says nothing about the answer")
    if exact_epsilon > _MOST:
        reject(f"`epsilon` must be at most {_MOST}", epsilon, "beyond it a 32-bit draw almost never hides anything")
    if exact_epsilon < _LEAST:
        reject("`epsilon` must be large enough for 32-bit odds", "less than 1e-100", "every answer would hide")
    number = float(exact_epsilon)
    while Fraction(repr(number)) > exact_epsilon:
        number = math.nextafter(number, 0)
    return Fraction(repr(number))


def odds(epsilon: Number, *, inside: int, outside: int) -> tuple[int, int]:
    """Weights a > b, with a / b as near below e**epsilon as `inside` * a + `outside` * b <= 2**32 allows."""
    factor = exp_below(checked_epsilon(epsilon))
    a, b = best_below(factor, others=-(-outside // inside), limit=DENOMINATOR_LIMIT // inside)
    if a == b:
        consequence = "the report would say nothing about the answer"
        reject("`epsilon` must be large enough for 32-bit odds", epsilon, consequence)
    return a, b


def check_odds(
    likelier: int, other: int, total: int, names: tuple[str, str] = ("inside", "outside"), of: str = "report"
) -> None:
    """Refuse weights of which the first is not the larger, or that one 32-bit word cannot draw with."""
    if likelier <= other:
        rule = f"`{names[0]}` must be above `{names[1]}`"
        reject(rule, f"{likelier} and {other}", f"else the {of} tells nothing")
    if total > DENOMINATOR_LIMIT:
        reject("the weights must sum to at most 2**32", total, "one 32-bit word must be enough")


def threshold_above(factor: Fraction) -> int:
    """The least whole t with t / 2**32 >= 1 / (factor + 1): a chance of lying, rounded to the private side."""
    return -(-DENOMINATOR_LIMIT * factor.denominator // (factor.numerator + factor.denominator))


MOST_OPTIONS = 1 << 22
"""Options that are given by their number."""


def option_labels(options: Options) -> tuple[str | int, ...]:
    """Labels, or the codes 0 … k-1 when only their number is given."""
    if isinstance(options, int | np.integer):
        return tuple(range(whole(options, "options", least=2, most=MOST_OPTIONS)))
    return labels(options, "options")
