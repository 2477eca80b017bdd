"""Estimates of hidden answers: through the randomizer, by its unbiased estimator or by one whose shares lie
inside 0 to 1.
"""

from collections.abc import Sequence
from typing import Any

from toolkit.core.checks import choice, refuse
from toolkit.core.estimate import Estimate
from toolkit.local.design import Design
from toolkit.local.protocol import Randomizer

METHODS = ("moment", "mle", "simplex")

Values = Sequence[tuple[Any, int]]
"""Reports as codes, numbers or lists, each with the number of people who sent it."""


def checked_method(method: str | None) -> str:
    """The name of an estimator; "moment", the unbiased one, if none is named.

    >>> checked_method("MLE")
    Traceback (most recent call last):
    ValueError: `method` must be one of moment, mle, simplex, got 'MLE': write 'mle'.
    """
    if isinstance(method, str) and method not in METHODS and method.lower() in METHODS:
        refuse(f"`method` must be one of {', '.join(METHODS)}", repr(method), f"write {method.lower()!r}")
    return choice("moment" if method is None else method, "method", METHODS)


def hidden_estimate(design: Randomizer, values: Values, method: str = "moment") -> Estimate:
    """The estimate of one question.

    Of a matrix, "mle" is maximum likelihood and "simplex" the nearest distribution. Oracles have no
    likelihood here: both mean the nearest distribution. Boxes, means and distributions have one estimator
    each, which stays; the estimate's `method` says it.
    """
    return design.estimate_sent([value for value, _ in values], [count for _, count in values], method)


def counts_of(design: Design, values: Values) -> list[int]:
    """How often each report of a matrix came, in the order of its reports."""
    counts = [0] * len(design.report_options)
    for code, count in values:
        counts[code] += count
    return counts
