"""`Frame`: a table of pandas, polars, pyarrow, DuckDB or PySpark, recognized by its type, whose columns are
found by their labels.

Engines are looked up among the modules that are loaded, never imported: a frame of an engine that is not
loaded cannot exist. No message holds anything out of a frame but column labels that are text; other labels,
of a pivoted table say, may be people's values, so such a column is told by its place.
"""

import sys
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Any

import numpy as np

from toolkit.core.checks import Result, refuse, untold
from toolkit.core.extras import check_engine
from toolkit.frames import streams
from toolkit.frames.column import Column, arrow_column, numpy_column, pandas_column
from toolkit.frames.polars import polars_column
from toolkit.frames.streams import SOURCES, Source, Streamed

_FRAMES = {
    "pandas": ("pandas", "DataFrame"),
    "polars": ("polars", "DataFrame"),
    "pyarrow": ("pyarrow", "Table"),
    "polars lazy": ("polars", "LazyFrame"),
    "duckdb": ("duckdb", "DuckDBPyRelation"),
    "pyspark": ("pyspark.sql", "DataFrame"),
}
_REMEDIES = {
    ("polars", "Series"): "make it a column: series.to_frame()",
    ("pandas", "Series"): "make it a column: series.to_frame()",
    ("pyarrow", "RecordBatch"): "write pyarrow.Table.from_batches([batch])",
    ("numpy", "ndarray"): "name its columns: pandas.DataFrame(array, columns=[…])",
    ("builtins", "dict"): "make it a frame: pandas.DataFrame(dict)",
    ("builtins", "list"): "make it a frame: pandas.DataFrame(list)",
}


class Frame:
    """A confidential table. Its columns' labels and types are public; so is the number of rows under "replace".

    Columns that are added or renamed later are not seen.

    Parameters
    ----------
    table : DataFrame
        A table of pandas, polars, pyarrow, DuckDB or PySpark.

    Examples
    --------
    >>> import pandas as pd
    >>> frame = Frame(pd.DataFrame({"age": [21, 34]}))
    >>> frame.names, frame.column("age").kind.words
    (['age'], 'whole numbers')
    """

    def __init__(self, table: Any) -> None:
        self._engine = _recognized(table)
        self._source: Source | None = None
        self._length: int | None = None
        if self._engine in SOURCES:
            self._source, table = _opened(self._engine, table)
            self._engine = _recognized(table)
        self.streamed = self._source is not None
        """Whether an engine computes its rows when they are read, perhaps each time in another order."""
        self._table = (
            table.copy(deep=False) if self._engine == "pandas" else table.clone() if self._engine == "polars" else table
        )
        labels = table.column_names if self._engine == "pyarrow" else list(table.columns)
        # Text or whole numbers; None for any other label, by which no column can be asked for.
        self.labels: list[str | int | None] = [_label(label) for label in labels]
        self.names = [_name(label, place) for place, label in enumerate(self.labels)]
        self._columns: dict[int, Column] = {}
        known = [(type(label), label, place) for place, label in enumerate(self.labels) if label is not None]
        self._places: dict[tuple[type, object], int] = {(kind, label): place for kind, label, place in known}
        if len(self._places) < len(known):
            refuse("the columns of `frame` must have distinct names", "repetitions", "a name must mean one column")

    def __len__(self) -> int:
        if self._source is None:
            return int(self._table.num_rows if self._engine == "pyarrow" else len(self._table))
        if self._length is None:
            self._length = read_by_engine(self._source.rows)
        return self._length

    def column(self, label: object) -> Column:
        """The column of a label, refused if there is none; none of its values is read yet."""
        wanted = label if type(label) is str else _label(label)
        place = self._places.get((type(wanted), wanted))
        if place is None:
            number = "a whole number" if wanted is not None else type(label).__name__
            more = f" and {len(self.names) - 20} more" if len(self.names) > 20 else ""
            rule = f"`column` must be one of {', '.join(self.names[:20])}{more}"
            received = repr(label) if isinstance(label, str) else number
            refuse(rule, received, "columns go by name, and case matters")
        if place not in self._columns:
            self._columns[place] = self._column(place)
        return self._columns[place]

    def all(self) -> list[Column]:
        """Every column, in its order."""
        return [self._column(place) for place in range(len(self.labels))]

    def parts(self, labels: Iterable[object], *, whole: bool = False) -> Iterator["Frame"]:
        """Frames in memory that hold these columns of all rows, some rows after the other; with `whole` in one."""
        if self._source is not None:
            names = list(dict.fromkeys(map(str, labels)))
            parts = map(Frame, self._source.parts(names or self._source.names[:1]))
            yield from [_joined(list(parts), self)] if whole else parts
        elif self._engine == "polars" and not whole and len(self) > streams.ROWS:
            starts = range(0, len(self), streams.ROWS)  # some rows stay in the cache of a processor
            yield from (Frame(self._table.slice(at, streams.ROWS)) for at in starts)
        else:
            yield self

    def copy(self) -> Any:
        """The table again, for code that might change it."""
        if self._source is not None:
            return self._source.whole()
        if self._engine == "pandas":
            return self._table.copy()
        return self._table.clone() if self._engine == "polars" else self._table

    def _column(self, place: int) -> Column:
        column = _column(self._engine, self._table, place)
        if self._source is not None:
            column = Streamed(self._source, self._source.names[place], column, partial(_column, self._engine, place=0))
        column.name = self.names[place]
        return column


def _column(engine: str, table: Any, place: int) -> Column:
    if engine == "pandas":
        return pandas_column(table.iloc[:, place])
    return polars_column(table.to_series(place)) if engine == "polars" else arrow_column(table.column(place))


def _opened(engine: str, table: Any) -> tuple[Source, Any]:
    """A table of an engine, and an empty one with the same columns."""

    def both() -> tuple[Source, Any]:
        source = SOURCES[engine](table)
        return source, source.empty()

    return read_by_engine(both)


def read_by_engine(read: Callable[[], Result]) -> Result:
    """What an engine gives; what it says when it fails may quote data."""
    return untold(read, "a frame must be readable by its engine", consequence="nothing was charged")


def _joined(parts: list[Frame], like: Frame) -> Frame:
    """All parts in one frame."""
    if not parts:
        return Frame(like._table)
    module = sys.modules[parts[0]._engine]
    tables = [part._table for part in parts]
    return Frame(module.concat(tables) if parts[0]._engine == "polars" else module.concat_tables(tables))


def _recognized(table: Any) -> str:
    engine, kind = engine_of(table), type(table)
    if engine is None:
        origin = str(kind.__module__).split(".")[0].lstrip("_")
        default = "its columns are read by name; most other frames have to_pandas() or to_arrow()"
        rule = "`frame` must be a frame of pandas, polars or PySpark, a pyarrow Table or a DuckDB relation"
        remedy = _REMEDIES.get((origin, kind.__name__), default)
        refuse(rule, f"{origin} {kind.__name__}", remedy, TypeError)
    check_engine(table)
    return engine


def engine_of(table: Any) -> str | None:
    """The engine of a frame; None if it is no frame."""
    return next((engine for engine, known in _FRAMES.items() if _is(table, *known)), None)


def column_of(values: Any) -> Column | None:
    """A Series of pandas or polars, an array of pyarrow or numpy; None if it is no column."""
    kinds: dict[tuple[str, str], Callable[[Any], Column]] = {
        ("pandas", "Series"): pandas_column,
        ("polars", "Series"): polars_column,
        ("pyarrow", "Array"): arrow_column,
        ("pyarrow", "ChunkedArray"): arrow_column,
    }
    if isinstance(values, np.ndarray):
        return numpy_column(values) if values.ndim == 1 else None
    return next((read(values) for known, read in kinds.items() if _is(values, *known)), None)


def _is(value: Any, module: str, name: str) -> bool:
    known = getattr(sys.modules.get(module), name, None)
    return known is not None and issubclass(type(value), known)


def _label(label: object) -> str | int | None:
    kind = type(label)
    if issubclass(kind, str):
        return str.__str__(label)
    if issubclass(kind, np.integer) or (issubclass(kind, int) and kind is not bool):
        return int(label)  # type: ignore[call-overload,no-any-return]
    return None


def _name(label: str | int | None, place: int) -> str:
    if isinstance(label, str):
        return label if label.isprintable() and label else repr(label)
    return f"column number {place + 1}"
