"""Tables of probabilities as integers: exact if 32 bits suffice, otherwise rounded toward more privacy.

The epsilon of a table must not grow when the table is converted to integers. So the weights of each report stay between
two integers whose ratio is at most the largest ratio in the table, and each row is apportioned within these bounds.
"""

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from toolkit.core.arrays import ArrayLike, Labels
from toolkit.core.checks import DENOMINATOR_LIMIT, Number, check_integer, check_probability, reject
from toolkit.core.rounding import apportion, integer_rows

FractionRows: TypeAlias = Sequence[Sequence[Fraction]]


TABLE_LIMIT = 2048
"""The largest number of options for which a table with a row and a column per option is made (32 megabytes)."""


def in_lowest_terms(weights: ArrayLike, denominator: int) -> tuple[npt.NDArray[np.int64], int]:
    """Return a read-only table of integers over the smallest denominator."""
    table = np.asarray(weights)
    if table.ndim != 2 or table.dtype.kind not in "iu":
        received = f"{table.ndim} dimensions of {table.dtype}"
        reject("`weights` must be a table of integers", received, "rows are truths, columns reports")
    common = math.gcd(int(np.gcd.reduce(table, axis=None)), check_integer(denominator, "denominator"))
    table = table.astype(np.int64) // common
    table.setflags(write=False)
    return table, int(denominator) // common


def check_table(weights: npt.NDArray[np.int64], denominator: int, n_truths: int, n_reports: int) -> None:
    """Check that weights are probabilities over a denominator of at most 32 bits."""
    if weights.shape != (n_truths, n_reports):
        rule = f"`weights` must be {n_truths} by {n_reports}, truths by reports"
        reject(rule, f"{weights.shape}", "give a row per option and a column per report")
    if denominator > DENOMINATOR_LIMIT:
        consequence = "one 32-bit word must be enough to draw a report"
        reject("`denominator` must be at most 2**32", denominator, consequence)
    if weights.min() < 0:
        consequence = "they are probabilities times the denominator"
        reject("`weights` must not be negative", int(weights.min()), consequence)
    if np.any(weights.sum(axis=1) != denominator):
        rule = "each row of `weights` must sum to `denominator`"
        reject(rule, "another sum", "a person sends exactly one report")
    if np.any(weights.sum(axis=0) == 0):
        reject("each report must be possible", "a column of zeros", "leave that report out")


def kronecker_rows(
    first_weights: npt.NDArray[np.int64],
    first_denominator: int,
    second_weights: npt.NDArray[np.int64],
    second_denominator: int,
) -> list[list[Fraction]]:
    """Return the exact Kronecker product of two tables, the distribution of a pair of independent reports."""
    return [
        [Fraction(int(a) * int(b), first_denominator * second_denominator) for a in first for b in second]
        for first in first_weights
        for second in second_weights
    ]


def join_labels(first_labels: Labels, second_labels: Labels, separator: str = " / ") -> list[str]:
    return [f"{a}{separator}{b}" for a in first_labels for b in second_labels]


def read_probability_rows(matrix: Sequence[Sequence[Number]]) -> list[list[Fraction]]:
    """Read rows of fractions, strings and floats as exact rows that sum to one; the largest cell absorbs the error."""
    rows = [[check_probability(cell, "matrix") for cell in row] for row in matrix]
    if len({len(row) for row in rows}) != 1:
        reject(
            "`matrix` rows must have one length", "several lengths", "give a probability for each report in each row"
        )
    for row in rows:
        total = sum(row, Fraction(0))
        if abs(total - 1) > Fraction(len(row), 10**9):
            reject("each row of `matrix` must sum to 1", float(total), "a person sends exactly one report")
        row[row.index(max(row))] += 1 - total
    return rows


def largest_odds(rows: FractionRows) -> Fraction | None:
    """Return the largest ratio of a report's probabilities under two truths; None if a zero makes it infinite."""
    columns = [(min(column), max(column)) for column in zip(*rows, strict=True) if any(column)]
    return None if any(least == 0 for least, _ in columns) else max(most / least for least, most in columns)


def private_weights(rows: FractionRows, limit: int) -> tuple[list[list[int]], int]:
    """Return integer weights over one denominator of at most `limit` whose odds never exceed those of the table.

    The weights are exact if the denominator fits. Otherwise each weight is within a few units of its probability times
    `limit`. If a column has a zero, the odds are infinite before and after the conversion.
    """
    most = largest_odds(rows)
    if most is None or math.lcm(*(p.denominator for row in rows for p in row)) <= limit:
        return integer_rows(rows, limit)
    low = [math.ceil(min(column) * limit) for column in zip(*rows, strict=True)]
    high = [math.floor(most * least) for least in low]
    if not sum(low) <= limit <= sum(high):
        consequence = "the reports would say nothing about the answer"
        reject("the rows must differ after rounding", f"rows that are equal in units of 1 / {limit}", consequence)
    return [apportion([p * limit for p in row], limit, low, high) for row in rows], limit
