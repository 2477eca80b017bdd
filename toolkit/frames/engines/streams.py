"""Tables that an engine computes when they are read: polars LazyFrames, DuckDB relations and PySpark frames.

What can be said in an engine's own expressions is counted and added up there (`pushed`): a `EngineTable` says them,
and only the counts come here. All else is read some rows at a time, only the columns that are asked for, and as
tables in memory are read; so the same integers come out of every engine. What an engine says when it fails may
quote data: it is read only where nothing of that comes out.
"""

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeAlias

import numpy.typing as npt

from toolkit.frames.engines.column import Column

ROWS = 2**20
"""Rows that are read at a time, and keys."""

TAG_BITS = 31
"""Of the number of a person: its products with secret factors add up to less than 2**63 in every engine."""

Term: TypeAlias = Any
"""An expression of an engine; it has Python's operators for numbers, comparisons, and & and |."""
Rows: TypeAlias = Any
"""A table of an engine that is not computed yet."""


class EngineTable(ABC):
    """A table of an engine, and the few expressions that integers of it are made of.

    No expression can fail, whatever a cell holds; a comparison with what is missing holds for no row.
    """

    names: list[str]

    @abstractmethod
    def empty(self) -> Any:
        """A table in memory with the same columns and types, and no row."""

    @abstractmethod
    def parts(self, names: Sequence[str]) -> Iterator[Any]:
        """Tables in memory with these columns, one after the other, of all rows."""

    @abstractmethod
    def rows(self) -> int:
        """How many there are."""

    @abstractmethod
    def whole(self) -> Any:
        """All of it, in memory."""

    def says(self, column: Column, *, days: bool = False) -> bool:  # noqa: ARG002
        """Whether `key` can read a column exactly."""
        return not column.kind.one_by_one and column.kind.name in ("text", "whole", "number", "truth", "day")

    @abstractmethod
    def start(self, columns: Mapping[str, str]) -> Rows:
        """Columns under other names: names that are of no meaning, to their labels."""

    @abstractmethod
    def term(self, name: str) -> Term:
        """A column of `Rows`."""

    @abstractmethod
    def constant(self, value: float | str) -> Term:
        """A whole number of 64 bits, a float, or a text as `key` has it."""

    @abstractmethod
    def key(self, term: Term, column: Column, *, days: bool = False) -> Term:
        """What values are compared by: text, a float, or whole numbers; NaN is missing."""

    @abstractmethod
    def number(self, term: Term, column: Column) -> Term:
        """A float; NaN is missing."""

    def clamped(self, term: Term, column: Column, low: float, high: float) -> Term:
        """A float between two limits; NaN is missing."""
        value, least, most = self.number(term, column), self.constant(low), self.constant(high)
        return self.case(value > most, most, self.case(value < least, least, value))

    @abstractmethod
    def rounded(self, term: Term) -> Term:
        """A float of less than 2**62 as the nearest whole number, halves to even."""

    @abstractmethod
    def tag(self, term: Term, column: Column, secret: bytes) -> Term:
        """A key as a number of `TAG_BITS` bits, as `Persons.tag` makes it."""

    @abstractmethod
    def bits(self, term: Term, low: int, size: int | None = None) -> Term:
        """Some bits of a whole number of 64 bits; all from a place on, of one that is not negative."""

    @abstractmethod
    def xor(self, left: Term, right: Term) -> Term:
        """The bits in which two whole numbers differ."""

    @abstractmethod
    def case(self, condition: Term, value: Term, otherwise: Term | None = None) -> Term:
        """One of two, the second where a condition does not hold or is missing; without one, nothing."""

    @abstractmethod
    def missing(self, term: Term) -> Term:
        """Whether nothing is there; what is not `missing` compares."""

    @abstractmethod
    def among(self, term: Term, values: Sequence[Any]) -> Term:
        """Whether a key is one of the values."""

    @abstractmethod
    def counted(self, term: Term | None = None) -> Term:
        """The number of rows of a group, or of those that have a term."""

    @abstractmethod
    def totals(self, term: Term, most: int) -> dict[int, Term]:
        """Sums over a group of numbers from 0 to `most`, which none of 2**35 rows lets overflow: by the power of two
        that they are to be multiplied with before they are added up.
        """

    @abstractmethod
    def again(self, name: str) -> Term:
        """The sum of sums, or of counts."""

    @abstractmethod
    def extended(self, rows: Rows, terms: Mapping[str, Term], *, only: bool = False) -> Rows:
        """More columns, or these alone."""

    @abstractmethod
    def filtered(self, rows: Rows, condition: Term) -> Rows:
        """The rows for which a condition holds."""

    @abstractmethod
    def grouped(self, rows: Rows, by: Sequence[str], terms: Mapping[str, Term]) -> Rows:
        """One row a group; without columns to group by, one."""

    @abstractmethod
    def placed(self, rows: Rows, key: str, codes: Sequence[tuple[Any, int]], name: str) -> Rows:
        """With a column of the code of a key, missing where it has none."""

    @abstractmethod
    def ranked(self, rows: Rows, by: Sequence[str], order: Sequence[str], name: str, *, dense: bool = False) -> Rows:
        """With the rank of each row within its group from 1 on, or `dense`, that of its different values."""

    def least(self, rows: Rows, by: Sequence[str], order: str, cap: int) -> Rows:
        """Of each group the smallest numbers, without other columns."""
        ranked = self.filtered(self.ranked(rows, by, [order], "place"), self.term("place") <= self.constant(cap))
        return self.extended(ranked, {name: self.term(name) for name in (*by, order)}, only=True)

    @abstractmethod
    def fetched(self, rows: Rows) -> dict[str, npt.NDArray[Any]]:
        """The columns, of whole numbers, 0 where a sum is of nothing."""

    @abstractmethod
    def streamed(self, rows: Rows, key: str, number: str) -> Iterator[tuple[Any, int]]:
        """Keys in their order, each with its number; some at a time are here."""


def text_tag(text: str, secret: bytes) -> int:
    """A number of a text, by a hash with a secret that DuckDB and Spark have, too: the first bits of SHA-256."""
    digest = hashlib.sha256(secret + text.encode("utf-8", "surrogatepass")).digest()
    return int(int.from_bytes(digest[:4]) & (2**TAG_BITS - 1))
