"""Argument checks: the one place that words errors.

Every message states the rule, what was received, and the consequence. What was received is always a
*parameter* that the analyst wrote; a respondent's answer is never quoted, only counted.
"""

import math
import re
from collections.abc import Sequence
from fractions import Fraction
from typing import Any, NoReturn, SupportsFloat, TypeAlias

import numpy as np

Number: TypeAlias = int | float | Fraction | str | SupportsFloat

DENOMINATOR_LIMIT = 2**32
"""Probabilities are multiples of 1/denominator, with the denominator at most this: one 32-bit word draws a
report.
"""

LARGEST_POWER = 10_000
"""Of ten, in a number that is written as text: far more than a float can have."""

_POWER = re.compile(r"[eE]([+-]?[0-9_]+)\s*$")

NEIGHBORS = ("replace", "add_remove")


def refuse(rule: str, received: object, consequence: str, error: type[Exception] = ValueError) -> NoReturn:
    """Raise `error` with a message of the form rule, received, consequence."""
    raise error(f"{rule}, got {received}: {consequence}.")


def exact(value: Number, name: str) -> Fraction:
    """The exact number that was written: a fraction, an integer, "2/3", "0.1", or a float read by its decimal
    digits.

    Reading 0.1 as one tenth, rather than as the binary double just above it, is what makes 0.1 + 0.2 fit in
    0.3.

    >>> exact(0.1, "p"), exact("2/3", "p")
    (Fraction(1, 10), Fraction(2, 3))
    """
    if isinstance(value, bool | np.bool_):
        refuse(f"`{name}` must be a number", value, "a truth value is not a quantity", TypeError)
    if isinstance(value, str):
        if (power := _POWER.search(value)) and abs(float(power.group(1))) > LARGEST_POWER:
            refuse(
                f"`{name}` must have a power of ten from -{LARGEST_POWER} to {LARGEST_POWER}",
                repr(value)[:60],
                "its digits would fill the memory",
            )
        try:
            return Fraction(value.strip())
        except (ValueError, ZeroDivisionError):
            refuse(
                f"`{name}` must be a number or a fraction such as '2/3'",
                repr(value)[:60],
                "it cannot be read as one",
            )
    if isinstance(value, int | np.integer | Fraction):
        return Fraction(int(value)) if not isinstance(value, Fraction) else value
    if isinstance(value, float | np.floating):
        number = float(value)
        if not math.isfinite(number):
            refuse(f"`{name}` must be a finite number", number, "it has no exact value")
        return Fraction(repr(number))
    refuse(f"`{name}` must be a number", type(value).__name__, "it has no exact value", TypeError)


def probability(value: Number, name: str) -> Fraction:
    """A probability as an exact fraction.

    A float that is the nearest double to a simple fraction is read as that fraction (2/3, not
    0.6666666666666666); any other float with many digits is rounded to a multiple of 2**-32.

    >>> probability(2 / 3, "p"), probability(0.75, "p")
    (Fraction(2, 3), Fraction(3, 4))
    """
    number = exact(value, name)
    if not 0 <= number <= 1:
        refuse(f"`{name}` must lie between 0 and 1", value, "it is a probability")
    if isinstance(value, float | np.floating) and number.denominator > DENOMINATOR_LIMIT:
        simple = number.limit_denominator(10**6)
        if float(simple) == float(value):
            return simple
        return Fraction(round(number * DENOMINATOR_LIMIT), DENOMINATOR_LIMIT)
    return number


def positive(
    value: Number, name: str, consequence: str = "only a positive number has a meaning here"
) -> Fraction:
    """A finite number above zero, exact."""
    number = exact(value, name)
    if number <= 0:
        refuse(f"`{name}` must be above 0", value, consequence)
    return number


def level(value: Number) -> float:
    """A confidence level strictly between 0 and 1."""
    if type(value) is float and 0 < value < 1:  # as nearly always: no fraction is needed to see that
        return value
    number = exact(value, "level")
    if not 0 < number < 1:
        refuse("`level` must lie strictly between 0 and 1", value, "0.95 asks for a 95 % interval")
    return float(number)


def whole(value: object, name: str, *, least: int = 1, most: int | None = None) -> int:
    """A whole number of at least `least`, and of at most `most` where it sets a size; truth values and
    fractions are refused.
    """
    number = (
        int(value)
        if isinstance(value, int | np.integer | float | np.floating) and value == value // 1
        else None
    )
    if number is None or isinstance(value, bool | np.bool_):
        refuse(f"`{name}` must be a whole number", _shown(value), "it counts things", TypeError)
    if number < least:
        refuse(f"`{name}` must be at least {least}", number, "fewer make no sense here")
    if most is not None and number > most:
        received = number if number < 10**20 else "a number of more than 20 digits"
        refuse(f"`{name}` must be at most {most:,}", received, "more would be of no use, and fill the memory")
    return number


def choice(value: object, name: str, allowed: Sequence[str]) -> str:
    """One of a few names."""
    if value not in allowed:
        refuse(f"`{name}` must be one of {', '.join(allowed)}", repr(value), "nothing else is defined")
    return str(value)


def neighbors(value: object) -> str:
    """Whom a promise is about: "replace" (one record changes, n is public) or "add_remove" (one comes or
    goes).
    """
    return choice(value, "neighbors", NEIGHBORS)


def labels(values: Any, name: str) -> tuple[str | int, ...]:
    """Distinct labels, strings or whole numbers, at least two."""
    if isinstance(values, str):
        refuse(
            f"`{name}` must be a list of labels",
            "one string",
            "its letters would become the options",
            TypeError,
        )
    found = tuple(values)
    if not {type(label) for label in found} <= {
        str,
        int,
    }:  # a million labels of the usual types are not looked at one by one
        found = tuple(int(v) if isinstance(v, np.integer) else v for v in found)
        for label in found:
            if isinstance(label, bool) or not isinstance(label, str | int):
                refuse(
                    f"`{name}` must be strings or whole numbers",
                    type(label).__name__,
                    "labels are written to JSON",
                    TypeError,
                )
    if len(found) < 2:
        refuse(f"`{name}` must hold at least two labels", len(found), "one option has nothing to hide behind")
    mixed = len({isinstance(label, str) for label in found}) > 1  # then 1 and "1" are written alike
    if len(set(map(str, found) if mixed else found)) < len(found):
        refuse(
            f"`{name}` must be distinct",
            f"{len(found)} labels with repetitions",
            "equal labels cannot be told apart",
        )
    return found


def is_missing(value: object) -> bool:
    """None, NaN, and what pandas calls NA and NaT, without importing pandas."""
    return (
        value is None
        or type(value).__name__ in ("NAType", "NaTType")
        or (isinstance(value, float) and value != value)
    )


def _shown(value: object) -> str:
    return repr(value) if isinstance(value, int | float | str) else type(value).__name__
