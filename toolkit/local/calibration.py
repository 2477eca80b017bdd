"""Conversion of an epsilon to integer odds, rounded toward more privacy."""

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import TypeAlias

import numpy as np

from toolkit.core.checks import DENOMINATOR_LIMIT, Number, check_integer, check_labels, check_positive, reject
from toolkit.core.rounding import best_below, exp_below

Options: TypeAlias = int | Sequence[str | int]
"""The labels of the options, or the number of options."""

_MAX_EPSILON = 22


_MIN_EPSILON = Fraction(1, 10**100)


def checked_epsilon(epsilon: Number) -> Fraction:
    """Check an epsilon for 32-bit draws; return the decimal fraction of the nearest float that does not exceed it.

    For example, no float is exactly equal to one third. A randomizer must not report a larger epsilon than requested,
    so the epsilon is rounded down.
    """
    exact_epsilon = check_positive(epsilon, "epsilon", "at 0 a report says nothing about the answer")
    if exact_epsilon > _MAX_EPSILON:
        reject(f"`epsilon` must be at most {_MAX_EPSILON}", epsilon, "above it a 32-bit draw hides almost nothing")
    if exact_epsilon < _MIN_EPSILON:
        reject(
            "`epsilon` must be large enough for 32-bit odds",
            "less than 1e-100",
            "the report would say nothing about the answer",
        )
    number = float(exact_epsilon)
    while Fraction(repr(number)) > exact_epsilon:
        number = math.nextafter(number, 0)
    return Fraction(repr(number))


def weights_for_epsilon(epsilon: Number, *, n_inside: int, n_outside: int) -> tuple[int, int]:
    """Return weights a > b with the largest a / b <= e**epsilon such that `n_inside` * a + `n_outside` * b <= 2**32."""
    factor = exp_below(checked_epsilon(epsilon))
    a, b = best_below(factor, others=-(-n_outside // n_inside), limit=DENOMINATOR_LIMIT // n_inside)
    if a == b:
        consequence = "the report would say nothing about the answer"
        reject("`epsilon` must be large enough for 32-bit odds", epsilon, consequence)
    return a, b


def check_odds(
    larger_weight: int,
    smaller_weight: int,
    total: int,
    names: tuple[str, str] = ("inside", "outside"),
    noun: str = "report",
) -> None:
    """Check that the first weight is the larger one, and that one 32-bit word is enough for a draw."""
    if larger_weight <= smaller_weight:
        rule = f"`{names[0]}` must be above `{names[1]}`"
        reject(rule, f"{larger_weight} and {smaller_weight}", f"otherwise the {noun} says nothing about the answer")
    if total > DENOMINATOR_LIMIT:
        reject("the weights must sum to at most 2**32", total, "one 32-bit word must be enough for a draw")


def flip_threshold(odds: Fraction) -> int:
    """Return the smallest integer t with t / 2**32 >= 1 / (odds + 1), a probability rounded toward more privacy."""
    return -(-DENOMINATOR_LIMIT * odds.denominator // (odds.numerator + odds.denominator))


MAX_OPTIONS = 1 << 22
"""The largest number of options that may be given as a number instead of labels."""


def option_labels(options: Options) -> tuple[str | int, ...]:
    """Return the labels, or the codes 0 … k-1 if only the number of options is given."""
    if isinstance(options, int | np.integer):
        return tuple(range(check_integer(options, "options", minimum=2, maximum=MAX_OPTIONS)))
    return check_labels(options, "options")
