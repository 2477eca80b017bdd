"""Plain JSON values as reports: is this one that could have been sent? Strict, because the sender is anybody.

A truth value is not a number here, nor is 1.0 a code: what an honest phone never sends is not guessed at.
"""

from itertools import pairwise
from typing import TypeGuard


def is_code(value: object, kinds: int) -> bool:
    """A whole number from 0 to kinds - 1.

    >>> is_code(1, 2), is_code(2, 2), is_code(True, 2), is_code(1.0, 2)
    (True, False, False, False)
    """
    return is_whole(value) and 0 <= value < kinds


def is_set(value: object, kinds: int) -> bool:
    """A list of distinct codes in rising order.

    >>> is_set([0, 2], 3), is_set([2, 0], 3), is_set([1, 1], 3), is_set([], 3)
    (True, False, False, True)
    """
    if not isinstance(value, list) or not all(is_code(code, kinds) for code in value):
        return False
    return all(first < second for first, second in pairwise(value))


def is_whole(value: object) -> TypeGuard[int]:
    """An integer, and not a truth value."""
    return type(value) is int
