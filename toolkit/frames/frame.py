"""`Frame`: a table of pandas, polars, pyarrow, DuckDB or PySpark, recognized by its type, with columns by label.

Engines are looked up among the loaded modules and never imported: a frame cannot exist before its engine is loaded.
Messages quote nothing from a frame except column labels that are text. Other labels, such as those of a pivoted table,
may be people's values, so messages identify such a column by its position.
"""

import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, MappingView, Sequence, Set
from dataclasses import replace
from functools import partial
from itertools import islice
from typing import Any

import numpy as np
import numpy.typing as npt

from toolkit.core.arrays import Array, Codes, DataFrame, Mask
from toolkit.core.checks import Result, quietly, reject
from toolkit.core.estimate import Estimate
from toolkit.core.extras import check_engine
from toolkit.frames.engines import streams
from toolkit.frames.engines.column import (
    DAY,
    TICKS,
    YEARS,
    Categories,
    Cells,
    Column,
    Kind,
    _number_kind,
    decimal_kind,
    numpy_column,
    whole_kind,
)
from toolkit.frames.engines.polars import PolarsLazyTable, polars_column
from toolkit.frames.engines.sql import DuckDbTable, SparkTable
from toolkit.frames.engines.streams import EngineTable

MAX_CELLS = 10**6
"""The largest number of cells of a table, and hence of entries of a list."""

_FRAME_TYPES = {
    "pandas": ("pandas", "DataFrame"),
    "polars": ("polars", "DataFrame"),
    "pyarrow": ("pyarrow", "Table"),
    "polars lazy": ("polars", "LazyFrame"),
    "duckdb": ("duckdb", "DuckDBPyRelation"),
    "pyspark": ("pyspark.sql", "DataFrame"),
}

ENGINE_TABLES: dict[str, Callable[[Any], EngineTable]] = {
    "polars lazy": PolarsLazyTable,
    "duckdb": DuckDbTable,
    "pyspark": SparkTable,
}
"""Engines that compute their rows when they are read."""

_REMEDIES = {
    ("polars", "Series"): "make it a column: series.to_frame()",
    ("pandas", "Series"): "make it a column: series.to_frame()",
    ("pyarrow", "RecordBatch"): "write pyarrow.Table.from_batches([batch])",
    ("numpy", "ndarray"): "name its columns: pandas.DataFrame(array, columns=[…])",
    ("builtins", "dict"): "make it a frame: pandas.DataFrame(dict)",
    ("builtins", "list"): "make it a frame: pandas.DataFrame(list)",
    ("dask", "DataFrame"): "write it to Parquet and pass polars.scan_parquet(…) of the files",
    ("ibis", "Table"): "pass its query to DuckDB: connection.con.sql(ibis.to_sql(table))",
}


class Frame:
    """A confidential table. The labels and types of its columns are public; so is the number of rows under "replace".

    Columns that are added or renamed later are ignored.

    Parameters
    ----------
    table : DataFrame
        A table of pandas, polars, pyarrow, DuckDB or PySpark.

    Examples
    --------
    >>> import pandas as pd
    >>> frame = Frame(pd.DataFrame({"age": [21, 34]}))
    >>> frame.names, frame.column("age").kind.description
    (['age'], 'whole numbers')
    """

    def __init__(self, table: DataFrame) -> None:
        self._engine_name = _checked_engine(table)
        self.engine_table: EngineTable | None = None
        """The lazy table whose engine computes the rows when they are read, possibly in a different order each time."""
        self._length: int | None = None
        native: Any = table
        if self._engine_name in ENGINE_TABLES:
            self.engine_table, native = _open_engine_table(self._engine_name, table)
            self._engine_name = _checked_engine(native)
        self._table = _copy_table(self._engine_name, native, deep=False)
        labels = native.column_names if self._engine_name == "pyarrow" else list(native.columns)
        # Labels are text or whole numbers. Any other label is replaced by None, because it cannot select a column.
        self.labels: list[str | int | None] = [_parse_label(label) for label in labels]
        self.names = [_column_name(label, index) for index, label in enumerate(self.labels)]
        self._columns: dict[int, Column] = {}
        keyed = [(type(label), label, index) for index, label in enumerate(self.labels) if label is not None]
        self._indices: dict[tuple[type, object], int] = {(kind, label): index for kind, label, index in keyed}
        if len(self._indices) < len(keyed):
            reject("the columns of `frame` must have distinct names", "repetitions", "a name must identify one column")

    def __len__(self) -> int:
        if self.engine_table is None:
            return int(self._table.num_rows if self._engine_name == "pyarrow" else len(self._table))
        if self._length is None:
            self._length = read_by_engine(self.engine_table.row_count)
        return self._length

    def column(self, label: object, *, must_be_numeric: bool = False) -> Column:
        """Return the column with a label without reading its values; `must_be_numeric` rejects other types."""
        key = label if type(label) is str else _parse_label(label)
        index = self._indices.get((type(key), key))
        if index is None:
            # A label that is not text may be a person's value: only its type is quoted.
            number = "a whole number" if key is not None else type(label).__name__
            more = f" and {len(self.names) - 20} more" if len(self.names) > 20 else ""
            rule = f"`column` must be one of {', '.join(self.names[:20])}{more}"
            received = repr(label) if isinstance(label, str) else number
            reject(rule, received, "column names are case-sensitive")
        if index not in self._columns:
            self._columns[index] = self._column(index)
        column = self._columns[index]
        return column.require_numbers() if must_be_numeric and not column.kind.can_hold_numbers else column

    def all_columns(self) -> list[Column]:
        """Return all columns, in order."""
        return [self._column(index) for index in range(len(self.labels))]

    def batches(self, labels: Iterable[object], *, in_one_batch: bool = False) -> Iterator["Frame"]:
        """Iterate over all rows of these columns in batches, or in a single batch; each batch is a frame in memory."""
        if self.engine_table is not None:
            names = list(dict.fromkeys(map(str, labels)))
            batches = map(Frame, self.engine_table.batches(names or self.engine_table.names[:1]))
            yield from [_concatenate(list(batches), self)] if in_one_batch else batches
        elif self._engine_name == "polars" and not in_one_batch and len(self) > streams.BATCH_ROWS:
            # A batch fits in the processor cache.
            starts = range(0, len(self), streams.BATCH_ROWS)
            yield from (Frame(self._table.slice(start, streams.BATCH_ROWS)) for start in starts)
        else:
            yield self

    def copy(self) -> Any:
        """Copy the table for code that might change it."""
        return (
            _copy_table(self._engine_name, self._table, deep=True)
            if self.engine_table is None
            else self.engine_table.collect()
        )

    def _column(self, index: int) -> Column:
        column = _column(self._engine_name, self._table, index)
        if self.engine_table is not None:
            column = StreamedColumn(
                self.engine_table, self.engine_table.names[index], column, partial(_column, self._engine_name, index=0)
            )
        column.name = self.names[index]
        return column


def _copy_table(engine: str, table: Any, *, deep: bool) -> Any:
    if engine == "pandas":
        return table.copy(deep=deep)
    return table.clone() if engine == "polars" else table


def _column(engine: str, table: Any, index: int) -> Column:
    if engine == "pandas":
        return pandas_column(table.iloc[:, index])
    return polars_column(table.to_series(index)) if engine == "polars" else arrow_column(table.column(index))


def _open_engine_table(engine: str, table: Any) -> tuple[EngineTable, Any]:
    """Wrap a lazy table, and make an empty table with the same columns."""

    def open_table() -> tuple[EngineTable, Any]:
        source = ENGINE_TABLES[engine](table)
        return source, source.empty()

    return read_by_engine(open_table)


def read_by_engine(read: Callable[[], Result]) -> Result:
    """Call `read`; if the engine fails, replace its message, which may quote data."""
    return quietly(read, "a frame must be readable by its engine", consequence="nothing was charged")


def _concatenate(batches: list[Frame], empty: Frame) -> Frame:
    """Concatenate batches into one frame; without batches, return a copy of the empty frame."""
    if not batches:
        return Frame(empty._table)
    module = sys.modules[batches[0]._engine_name]
    tables = [batch._table for batch in batches]
    return Frame(module.concat(tables) if batches[0]._engine_name == "polars" else module.concat_tables(tables))


def _checked_engine(table: object) -> str:
    engine, kind = engine_of(table), type(table)
    if engine is None:
        origin = str(kind.__module__).split(".")[0].lstrip("_")
        default = "most other frames have a method to_pandas() or to_arrow()"
        rule = "`frame` must be a frame of pandas, polars or PySpark, a pyarrow Table or a DuckDB relation"
        remedy = _REMEDIES.get((origin, kind.__name__), default)
        reject(rule, f"{origin} {kind.__name__}", remedy, TypeError)
    check_engine(table)
    return engine


def engine_of(table: object) -> str | None:
    """Return the name of a frame's engine; None for a value that is not a frame."""
    return next((engine for engine, origin in _FRAME_TYPES.items() if _is_instance(table, *origin)), None)


def column_of(values: object) -> Column | None:
    """Wrap a Series of pandas or polars, or an array of pyarrow or NumPy; None for any other value."""
    kinds: dict[tuple[str, str], Callable[[Any], Column]] = {
        ("pandas", "Series"): pandas_column,
        ("polars", "Series"): polars_column,
        ("pyarrow", "Array"): arrow_column,
        ("pyarrow", "ChunkedArray"): arrow_column,
    }
    if isinstance(values, np.ndarray):
        return numpy_column(values) if values.ndim == 1 else None
    return next((read(values) for origin, read in kinds.items() if _is_instance(values, *origin)), None)


def _is_instance(value: object, module: str, name: str) -> bool:
    expected = getattr(sys.modules.get(module), name, None)
    return expected is not None and issubclass(type(value), expected)


def _parse_label(label: object) -> str | int | None:
    kind = type(label)
    if issubclass(kind, str):
        return str.__str__(label)
    if issubclass(kind, np.integer) or (issubclass(kind, int) and kind is not bool):
        return int(label)  # type: ignore[call-overload,no-any-return]
    return None


def _column_name(label: str | int | None, index: int) -> str:
    if isinstance(label, str):
        return label if label.isprintable() and label else repr(label)
    return f"column number {index + 1}"


class StreamedColumn(Column):
    """A column of a lazy table, read in batches that are concatenated.

    Two such columns are read at different times, so their rows need not be in the same order. Code that needs several
    columns must read `Frame.batches`.
    """

    def __init__(self, source: EngineTable, name: str, empty: Column, wrap: Any) -> None:
        self._source, self._column_name, self._empty, self._wrap, self.kind = source, name, empty, wrap, empty.kind

    def _columns(self) -> list[Column]:
        return [self._empty, *(self._wrap(batch) for batch in self._source.batches([self._column_name]))]

    def floats(self) -> Array:
        return np.concatenate([column.floats() for column in self._columns()])

    def ticks(self, *, in_local_time: bool = False) -> tuple[npt.NDArray[Any], Mask]:
        ticks, missing = zip(*(column.ticks(in_local_time=in_local_time) for column in self._columns()), strict=True)
        return np.concatenate(ticks), np.concatenate(missing)

    def codes(self, texts: Sequence[str]) -> Codes:
        return np.concatenate([column.codes(texts) for column in self._columns()])

    def missing(self) -> Mask:
        return np.concatenate([column.missing() for column in self._columns()])

    def cells(self) -> list[Any]:
        return [cell for column in self._columns() for cell in column.cells()]

    def empty(self) -> Column:
        return self._empty


def pandas_column(series: Any) -> Column:
    """Wrap a Series of pandas."""
    import pandas as pd

    dtype = series.dtype
    if isinstance(dtype, pd.CategoricalDtype):
        categories = pandas_column(pd.Series(dtype.categories))
        return Categories(categories, series.cat.codes.to_numpy(), replace(categories.kind, is_categorical=True))
    if isinstance(dtype, pd.ArrowDtype) or (isinstance(dtype, pd.StringDtype) and dtype.storage != "python"):
        import pyarrow as pa

        return arrow_column(pa.array(series))
    if isinstance(dtype, pd.StringDtype):
        return Cells(series.tolist, Kind("text"))
    if isinstance(dtype, pd.DatetimeTZDtype):
        return PandasColumn(series, Kind("moment", tick=TICKS[dtype.unit], is_zoned=True))
    plain: Any = dtype if isinstance(dtype, np.dtype) else getattr(dtype, "numpy_dtype", np.dtype("V"))
    if plain.kind in "iuf":
        kind = replace(_number_kind(plain), is_long=plain.itemsize > 8)
    elif plain.kind == "M":
        kind = Kind("moment", tick=TICKS[np.datetime_data(plain)[0]])
    else:
        kind = Kind({"b": "truth", "O": "object"}.get(plain.kind, "other"))
    return Cells(series.tolist, kind) if kind.name == "object" else PandasColumn(series, kind)


class PandasColumn(Column):
    """A Series of numbers, truth values, dates, or values of kind "other", stored by NumPy with or without a mask."""

    def _padded(self, dtype: str, fill_value: Any) -> npt.NDArray[Any]:
        """Convert a column that can hold NA to an array of another type, after appending a missing value."""
        import pandas as pd

        padded = pd.concat([self._values, pd.Series([pd.NA], dtype=self._values.dtype)], ignore_index=True)
        return np.asarray(padded.to_numpy(dtype=dtype, na_value=fill_value)[:-1])

    def floats(self) -> Array:
        if isinstance(self._values.dtype, np.dtype):
            return np.asarray(self._values.to_numpy(), dtype="float64")
        return self._padded("float64", np.nan)

    def ticks(self, *, in_local_time: bool = False) -> tuple[npt.NDArray[Any], Mask]:
        if self.kind.name == "moment":
            moments = (self._values.dt.tz_convert(None) if self.kind.is_zoned else self._values).to_numpy()
            ticks = moments.view(np.int64)
            return self._local_ticks(ticks) if in_local_time and self.kind.is_zoned else ticks, np.isnat(moments)
        dtype = "uint64" if self.kind.limits[1] == 2**64 - 1 else "int64"
        if isinstance(self._values.dtype, np.dtype):
            return np.asarray(self._values.to_numpy(), dtype=dtype), self.missing()
        return self._padded(dtype, 0), self.missing()

    def _local_ticks(self, ticks: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """Convert ticks to local time.

        Datetimes beyond the years of Python or beyond 64 bits stay in UTC, because pandas cannot convert them.
        """
        import pandas as pd

        near = np.clip(ticks, *self._tick_limits(1))
        utc = pd.DatetimeIndex(near.view(f"M8[{self._values.dt.unit}]")).tz_localize("UTC")
        clock = utc.tz_convert(self._values.dt.tz).tz_localize(None).to_numpy().view(np.int64)
        return np.where(ticks == near, clock, ticks)

    def _tick_limits(self, margin: int = 0) -> tuple[int, int]:
        """Return the first and last tick that Python can represent, less a margin in days at both ends."""
        day = DAY // self.kind.tick
        first, last = (YEARS[0] + margin) * day, (YEARS[1] + 1 - margin) * day - 1
        return max(first, -(2**63) + 1 + day), min(last, 2**63 - 1 - day)

    def cells(self) -> list[Any]:
        """Return the values as Python objects; NaT for a datetime that Python cannot represent in its time zone."""
        if not self.kind.is_zoned:
            return super().cells()
        low, high = self._tick_limits()
        both = [self.ticks(in_local_time=in_local_time)[0] for in_local_time in (False, True)]
        possible = np.logical_and.reduce([(ticks >= low) & (ticks <= high) for ticks in both])
        return list(self._values.where(possible).tolist())

    def missing(self) -> Mask:
        if self.kind.name == "number":
            return np.isnan(self.floats())
        return np.asarray(self._values.isna().to_numpy(), dtype=bool)

    def empty(self) -> Column:
        return PandasColumn(self._values.iloc[:0], self.kind)


def arrow_column(array: Any) -> Column:
    """Wrap an array or chunked array of pyarrow."""
    kind = _arrow_kind(array.type)
    return Cells(partial(_python_values, array), kind) if kind.name == "object" else ArrowColumn(array, kind)


def _arrow_kind(arrow_type: Any) -> Kind:
    from pyarrow import types

    if types.is_dictionary(arrow_type):
        return replace(_arrow_kind(arrow_type.value_type), is_categorical=True)
    if types.is_integer(arrow_type):
        return whole_kind(arrow_type.bit_width, types.is_signed_integer(arrow_type))
    if types.is_floating(arrow_type):
        return Kind("number", float_bits=arrow_type.bit_width)
    if types.is_decimal(arrow_type):
        return decimal_kind(arrow_type.precision)
    if types.is_timestamp(arrow_type):
        return Kind("moment", tick=TICKS[arrow_type.unit], is_zoned=arrow_type.tz is not None)
    if types.is_date(arrow_type):
        return Kind("day", tick=DAY if types.is_date32(arrow_type) else 10**6)
    if types.is_string(arrow_type) or types.is_large_string(arrow_type) or str(arrow_type) == "string_view":
        return Kind("text")
    return Kind("truth" if types.is_boolean(arrow_type) else "object" if types.is_null(arrow_type) else "other")


class ArrowColumn(Column):
    """An array of pyarrow, read with its kernels."""

    def __init__(self, values: Any, kind: Kind) -> None:
        import pyarrow as pa
        import pyarrow.compute as pc

        super().__init__(values, kind)
        self._pa, self._pc = pa, pc

    def _padded(self) -> Any:
        """Return one chunk with categories decoded to values, and a missing value at the end."""
        pa, array = self._pa, self._values
        chunks = array.chunks if isinstance(array, pa.ChunkedArray) else [array]
        plain = array.type.value_type if self.kind.is_categorical else array.type
        return pa.concat_arrays([*(chunk.cast(plain) for chunk in chunks), pa.nulls(1, plain)])

    def floats(self) -> Array:
        padded = self._padded()
        # pyarrow converts decimals to floats with an error in the last bit; its conversion from text is exact.
        if self._pa.types.is_decimal(padded.type):
            padded = padded.cast(self._pa.string())
        numbers = self._pc.cast(padded, self._pa.float64(), safe=False)
        return np.asarray(self._pc.fill_null(numbers, float("nan")))[:-1]

    def ticks(self, *, in_local_time: bool = False) -> tuple[npt.NDArray[Any], Mask]:
        pa, padded = self._pa, self._padded()
        if in_local_time and self.kind.is_zoned:
            padded = self._pc.local_timestamp(padded)
        short = self.kind.name == "day" and padded.type.bit_width == 32
        stored = padded.type if self.kind.name == "whole" else pa.int32() if short else pa.int64()
        return np.asarray(self._pc.fill_null(padded.cast(stored), 0))[:-1], np.asarray(self._pc.is_null(padded))[:-1]

    def codes(self, texts: Sequence[str]) -> Codes:
        padded = self._padded()
        codes = self._pc.index_in(padded, value_set=self._pa.array(texts, type=padded.type))
        return np.asarray(self._pc.fill_null(codes, -1))[:-1].astype(np.int64)

    def has(self, texts: Sequence[str]) -> Mask:
        padded = self._padded()
        return np.asarray(self._pc.is_in(padded, value_set=self._pa.array(texts, type=padded.type)))[:-1]

    def missing(self) -> Mask:
        return np.asarray(self._pc.is_null(self._padded(), nan_is_null=True))[:-1]

    def tally(self, mask: Mask) -> dict[Any, int]:
        used = self._padded().filter(self._pa.array(np.append(mask, True)))
        values, numbers = self._pc.value_counts(used).flatten()
        return dict(zip(_python_values(values), numbers.to_pylist(), strict=True))

    def cells(self) -> list[Any]:
        return _python_values(self._values)

    def empty(self) -> Column:
        return ArrowColumn(self._values.slice(0, 0), self.kind)


def _python_values(array: Any) -> list[Any]:
    """Return the values as Python objects; None where Python has no such value, such as a date beyond the year 9999."""

    def value(scalar: Any) -> Any:
        try:
            return scalar.as_py()
        except Exception:
            return None

    return [value(scalar) for scalar in array]


def as_list(values: object, name: str) -> list[Any]:
    """Return an ordered iterable as a list of at most `MAX_CELLS` entries; reject a text, a table or a mapping."""
    # The labels of an estimate are keys, if a curator has released keys or counts by key.
    if isinstance(values, Estimate) and len(values.axes) == 1:
        values = values.labels
    text = isinstance(values, str | bytes | bytearray | memoryview)
    table = isinstance(values, Mapping) or hasattr(values, "columns") or getattr(values, "ndim", 1) != 1
    if text or table or not isinstance(values, Iterable):
        reject(f"`{name}` must be a list", type(values).__name__, "write a single value as [value]", TypeError)
    if isinstance(values, Set) and not isinstance(values, MappingView):
        reject(f"`{name}` must have an order", "a set", "write a list, such as sorted(…)", TypeError)
    entries = values.to_pylist() if hasattr(values, "to_pylist") else values  # an array of pyarrow
    entries = list(islice(entries, MAX_CELLS + 1))
    if len(entries) > MAX_CELLS:
        reject(f"`{name}` must have at most {MAX_CELLS:,} entries", "more", "nothing was read or charged")
    return entries
