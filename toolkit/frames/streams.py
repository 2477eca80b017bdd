"""Tables that an engine computes when they are read: polars LazyFrames, DuckDB relations and PySpark frames.

They are read some rows at a time, only the columns that are asked for, and as tables in memory are read; so
the same integers come out of every engine, and no more than a part of the rows is ever here. What an engine
says when it fails may quote data: it is read only where nothing of that comes out.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from typing import Any

ROWS = 2**20
"""Rows that are read at a time."""


class Source(ABC):
    """A table of an engine."""

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


class Lazy(Source):
    """A LazyFrame of polars."""

    def __init__(self, table: Any) -> None:
        self._table, self.names = table, list(table.collect_schema().names())

    def empty(self) -> Any:
        import polars as pl

        return pl.DataFrame(schema=self._table.collect_schema())

    def parts(self, names: Sequence[str]) -> Iterator[Any]:
        return iter(self._table.select(list(names)).collect_batches(chunk_size=ROWS))

    def rows(self) -> int:
        import polars as pl

        return int(self._table.select(pl.len()).collect().item())

    def whole(self) -> Any:
        return self._table.collect()


class Relation(Source):
    """A relation of DuckDB."""

    def __init__(self, table: Any) -> None:
        self._table, self.names = table, list(table.columns)

    def empty(self) -> Any:
        return self._table.limit(0).to_arrow_table()

    def parts(self, names: Sequence[str]) -> Iterator[Any]:
        import duckdb
        import pyarrow as pa

        chosen = self._table.select(*(duckdb.ColumnExpression(name) for name in names))
        newer = hasattr(type(chosen), "to_arrow_reader")
        for batch in chosen.to_arrow_reader(ROWS) if newer else chosen.fetch_arrow_reader(ROWS):
            yield pa.Table.from_batches([batch])

    def rows(self) -> int:
        return int(self._table.aggregate("count(*)").fetchall()[0][0])

    def whole(self) -> Any:
        return self._table.to_arrow_table()


class Spark(Source):
    """A frame of PySpark: the columns that are asked for are brought here in one piece."""

    def __init__(self, table: Any) -> None:
        self._table, self.names = table, list(table.columns)

    def empty(self) -> Any:
        return self._table.limit(0).toArrow()

    def parts(self, names: Sequence[str]) -> Iterator[Any]:
        quoted = [f"`{name.replace('`', '``')}`" for name in names]
        yield self._table.select(*quoted).toArrow()

    def rows(self) -> int:
        return int(self._table.count())

    def whole(self) -> Any:
        return self._table.toArrow()


SOURCES: dict[str, Callable[[Any], Source]] = {"polars lazy": Lazy, "duckdb": Relation, "pyspark": Spark}
