"""Lazy tables: polars LazyFrames, DuckDB relations and PySpark frames, which are computed when they are read.

The engine computes the counts and sums that it can express (`pushed`): an `EngineTable` builds the expressions, and
only the results are fetched. Everything else is read in batches of rows, with only the necessary columns, by the code
that reads tables in memory, so that all engines give the same integers. The error messages of an engine may quote data,
so an engine is called only where its messages are replaced.
"""

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeAlias

import numpy.typing as npt

from toolkit.frames.engines.column import Column

BATCH_ROWS = 2**20
"""The number of rows, or of keys, in a batch."""

TAG_BITS = 31
"""The number of bits of a person's tag. Sums of its products with secret factors stay below 2**63 in every engine."""

_PIECE_BITS = 27

Expression: TypeAlias = Any
"""An expression of an engine, with Python's arithmetic and comparison operators, & and |."""
LazyTable: TypeAlias = Any
"""A table of an engine whose rows are not computed until it is fetched."""


class EngineTable(ABC):
    """A table of an engine, and the expressions needed to compute counts and sums.

    No content of a cell can make an expression fail. A comparison with a missing value is never true.
    """

    names: list[str]

    @abstractmethod
    def empty(self) -> Any:
        """Return a table in memory with the same columns and types, and no rows."""

    @abstractmethod
    def batches(self, names: Sequence[str]) -> Iterator[Any]:
        """Iterate over all rows of these columns in batches, each a table in memory."""

    @abstractmethod
    def row_count(self) -> int:
        """Count the rows."""

    @abstractmethod
    def collect(self) -> Any:
        """Return the whole table in memory."""

    def supports(self, column: Column, *, as_days: bool = False) -> bool:  # noqa: ARG002
        """Return whether `key` can read a column exactly."""
        return not column.kind.is_compared_by_cell and column.kind.name in ("text", "whole", "number", "truth", "day")

    @abstractmethod
    def select(self, columns: Mapping[str, str]) -> LazyTable:
        """Select columns and rename them; `columns` maps generated names to labels."""

    @abstractmethod
    def col(self, name: str) -> Expression:
        """Return a column of a lazy table by its generated name."""

    @abstractmethod
    def constant(self, value: float | str) -> Expression:
        """Return a constant: a 64-bit integer, a float, or a text, in the form that `key` returns."""

    @abstractmethod
    def key(self, expression: Expression, column: Column, *, as_days: bool = False) -> Expression:
        """Return the values by which rows are compared, as text, floats or integers; NaN becomes missing."""

    @abstractmethod
    def to_float(self, expression: Expression, column: Column) -> Expression:
        """Convert to a float; NaN becomes missing."""

    def clamp(self, expression: Expression, column: Column, low: float, high: float) -> Expression:
        """Convert to a float between two limits; NaN becomes missing."""
        value, lowest, highest = self.to_float(expression, column), self.constant(low), self.constant(high)
        return self.case(value > highest, highest, self.case(value < lowest, lowest, value))

    @abstractmethod
    def round_to_integer(self, expression: Expression) -> Expression:
        """Round a float below 2**62 to the nearest integer, halves to even."""

    @abstractmethod
    def tag(self, expression: Expression, column: Column, secret: bytes) -> Expression:
        """Hash a key to `TAG_BITS` bits, with the same result as `Persons.tag`."""

    @abstractmethod
    def bits(self, expression: Expression, low: int, size: int | None = None) -> Expression:
        """Return `size` bits of an integer from bit `low` on, or all higher bits of a nonnegative integer."""

    @abstractmethod
    def xor(self, first: Expression, second: Expression) -> Expression:
        """Return the bitwise exclusive or of two integers."""

    @abstractmethod
    def case(self, condition: Expression, value: Expression, otherwise: Expression | None = None) -> Expression:
        """Return `value` where a condition holds, and `otherwise` where it does not hold or is missing."""

    @abstractmethod
    def missing(self, expression: Expression) -> Expression:
        """Return a condition that is true for missing values; all other values can be compared."""

    @abstractmethod
    def is_in(self, expression: Expression, values: Sequence[Any]) -> Expression:
        """Return a condition that is true for keys among the values."""

    @abstractmethod
    def count(self, expression: Expression | None = None) -> Expression:
        """Count the rows of a group, or only the rows in which an expression is not missing."""

    @abstractmethod
    def sums(self, expression: Expression, max_value: int) -> dict[int, Expression]:
        """Sum numbers from 0 to `max_value` over each group; up to 2**35 rows do not overflow.

        The sum may be split into parts: a mapping from shift to part, where the sum is the total of `part << shift`.
        """

    @abstractmethod
    def sum_column(self, name: str) -> Expression:
        """Sum a column of partial sums or of counts."""

    @abstractmethod
    def with_columns(
        self, rows: LazyTable, expressions: Mapping[str, Expression], *, drop_others: bool = False
    ) -> LazyTable:
        """Add columns; `drop_others` removes all other columns."""

    @abstractmethod
    def filter(self, rows: LazyTable, condition: Expression) -> LazyTable:
        """Select the rows for which a condition holds."""

    @abstractmethod
    def group_by(self, rows: LazyTable, by: Sequence[str], expressions: Mapping[str, Expression]) -> LazyTable:
        """Aggregate to one row per group; without columns to group by, to a single row."""

    @abstractmethod
    def join_codes(self, rows: LazyTable, key: str, codes: Sequence[tuple[Any, int]], name: str) -> LazyTable:
        """Add a column with the code of each key, missing for a key without a code."""

    @abstractmethod
    def with_rank(
        self, rows: LazyTable, by: Sequence[str], order: Sequence[str], name: str, *, dense: bool = False
    ) -> LazyTable:
        """Add the rank of each row within its group, starting at 1; with `dense` equal values share a rank."""

    def smallest(self, rows: LazyTable, by: Sequence[str], order: str, cap: int) -> LazyTable:
        """Select the `cap` smallest values of the column `order` in each group, without other columns."""
        ranked = self.with_rank(rows, by, [order], "row_number")
        ranked = self.filter(ranked, self.col("row_number") <= self.constant(cap))
        return self.with_columns(ranked, {name: self.col(name) for name in (*by, order)}, drop_others=True)

    @abstractmethod
    def fetch(self, rows: LazyTable) -> dict[str, npt.NDArray[Any]]:
        """Compute a table and return its columns of integers, with 0 for an empty sum."""

    @abstractmethod
    def iter_key_counts(self, rows: LazyTable, key: str, number: str) -> Iterator[tuple[Any, int]]:
        """Iterate over sorted keys with their counts; the table is fetched in batches."""


def sum_pieces(max_value: int) -> list[tuple[int, int]]:
    """Split numbers up to `max_value` into pieces of at most 27 bits, as pairs of the lowest bit and the width.

    Sums of 27 bits over 2**35 rows stay below 2**63.
    """
    n_bits = max(max_value.bit_length(), 1)
    width = -(-n_bits // -(-n_bits // _PIECE_BITS))
    return [(low, width) for low in range(0, n_bits, width)]


def text_tag(text: str, secret: bytes) -> int:
    """Hash a text with a secret to the first bits of SHA-256, which DuckDB and Spark can compute as well."""
    digest = hashlib.sha256(secret + text.encode("utf-8", "surrogatepass")).digest()
    return int(int.from_bytes(digest[:4]) & (2**TAG_BITS - 1))
