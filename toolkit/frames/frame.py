"""`Frame`: a table of pandas, polars, pyarrow, DuckDB or PySpark, recognized by its type, whose columns are
found by their labels.

Engines are looked up among the modules that are loaded, never imported: a frame of an engine that is not
loaded cannot exist. No message holds anything out of a frame but column labels that are text; other labels,
of a pivoted table say, may be people's values, so such a column is told by its place.
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
from toolkit.frames.engines.polars import Lazy, polars_column
from toolkit.frames.engines.sql import Relation, Spark
from toolkit.frames.engines.streams import EngineTable

MOST_CELLS = 10**6
"""Cells of a table, and so entries of a list."""

_FRAMES = {
    "pandas": ("pandas", "DataFrame"),
    "polars": ("polars", "DataFrame"),
    "pyarrow": ("pyarrow", "Table"),
    "polars lazy": ("polars", "LazyFrame"),
    "duckdb": ("duckdb", "DuckDBPyRelation"),
    "pyspark": ("pyspark.sql", "DataFrame"),
}

SOURCES: dict[str, Callable[[Any], EngineTable]] = {"polars lazy": Lazy, "duckdb": Relation, "pyspark": Spark}
"""Engines that compute rows when they are read."""

_REMEDIES = {
    ("polars", "Series"): "make it a column: series.to_frame()",
    ("pandas", "Series"): "make it a column: series.to_frame()",
    ("pyarrow", "RecordBatch"): "write pyarrow.Table.from_batches([batch])",
    ("numpy", "ndarray"): "name its columns: pandas.DataFrame(array, columns=[…])",
    ("builtins", "dict"): "make it a frame: pandas.DataFrame(dict)",
    ("builtins", "list"): "make it a frame: pandas.DataFrame(list)",
    ("dask", "DataFrame"): "write it to Parquet and give polars.scan_parquet(…) of the files, which adds up there",
    ("ibis", "Table"): "give its query to DuckDB, which adds up there: connection.con.sql(ibis.to_sql(table))",
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

    def __init__(self, table: DataFrame) -> None:
        self._engine = _recognized(table)
        self.source: EngineTable | None = None
        """The engine that computes its rows when they are read, perhaps each time in another order."""
        self._length: int | None = None
        native: Any = table
        if self._engine in SOURCES:
            self.source, native = _opened(self._engine, table)
            self._engine = _recognized(native)
        self._table = _copied(self._engine, native, deep=False)
        labels = native.column_names if self._engine == "pyarrow" else list(native.columns)
        # Text or whole numbers; None for any other label, by which no column can be asked for.
        self.labels: list[str | int | None] = [_label(label) for label in labels]
        self.names = [_name(label, place) for place, label in enumerate(self.labels)]
        self._columns: dict[int, Column] = {}
        known = [(type(label), label, place) for place, label in enumerate(self.labels) if label is not None]
        self._places: dict[tuple[type, object], int] = {(kind, label): place for kind, label, place in known}
        if len(self._places) < len(known):
            reject("the columns of `frame` must have distinct names", "repetitions", "a name must mean one column")

    def __len__(self) -> int:
        if self.source is None:
            return int(self._table.num_rows if self._engine == "pyarrow" else len(self._table))
        if self._length is None:
            self._length = read_by_engine(self.source.row_count)
        return self._length

    def column(self, label: object, *, numbers: bool = False) -> Column:
        """The column of a label, refused if there is none, or not of numbers; none of its values is read yet."""
        key = label if type(label) is str else _label(label)
        place = self._places.get((type(key), key))
        if place is None:
            number = "a whole number" if key is not None else type(label).__name__
            more = f" and {len(self.names) - 20} more" if len(self.names) > 20 else ""
            rule = f"`column` must be one of {', '.join(self.names[:20])}{more}"
            received = repr(label) if isinstance(label, str) else number
            reject(rule, received, "columns go by name, and case matters")
        if place not in self._columns:
            self._columns[place] = self._column(place)
        column = self._columns[place]
        return column.adds_up() if numbers and not column.kind.adds_up else column

    def all(self) -> list[Column]:
        """Every column, in its order."""
        return [self._column(place) for place in range(len(self.labels))]

    def batches(self, labels: Iterable[object], *, whole: bool = False) -> Iterator["Frame"]:
        """Frames in memory that hold these columns of all rows, some rows after the other; with `whole` in one."""
        if self.source is not None:
            names = list(dict.fromkeys(map(str, labels)))
            parts = map(Frame, self.source.batches(names or self.source.names[:1]))
            yield from [_joined(list(parts), self)] if whole else parts
        elif self._engine == "polars" and not whole and len(self) > streams.ROWS:
            starts = range(0, len(self), streams.ROWS)  # some rows stay in the cache of a processor
            yield from (Frame(self._table.slice(at, streams.ROWS)) for at in starts)
        else:
            yield self

    def copy(self) -> Any:
        """The table again, for code that might change it."""
        return _copied(self._engine, self._table, deep=True) if self.source is None else self.source.collect()

    def _column(self, place: int) -> Column:
        column = _column(self._engine, self._table, place)
        if self.source is not None:
            column = Streamed(self.source, self.source.names[place], column, partial(_column, self._engine, place=0))
        column.name = self.names[place]
        return column


def _copied(engine: str, table: Any, *, deep: bool) -> Any:
    if engine == "pandas":
        return table.copy(deep=deep)
    return table.clone() if engine == "polars" else table


def _column(engine: str, table: Any, place: int) -> Column:
    if engine == "pandas":
        return pandas_column(table.iloc[:, place])
    return polars_column(table.to_series(place)) if engine == "polars" else arrow_column(table.column(place))


def _opened(engine: str, table: Any) -> tuple[EngineTable, Any]:
    """A table of an engine, and an empty one with the same columns."""

    def both() -> tuple[EngineTable, Any]:
        source = SOURCES[engine](table)
        return source, source.empty()

    return read_by_engine(both)


def read_by_engine(read: Callable[[], Result]) -> Result:
    """What an engine gives; what it says when it fails may quote data."""
    return quietly(read, "a frame must be readable by its engine", consequence="nothing was charged")


def _joined(parts: list[Frame], like: Frame) -> Frame:
    """All parts in one frame."""
    if not parts:
        return Frame(like._table)
    module = sys.modules[parts[0]._engine]
    tables = [part._table for part in parts]
    return Frame(module.concat(tables) if parts[0]._engine == "polars" else module.concat_tables(tables))


def _recognized(table: object) -> str:
    engine, kind = engine_of(table), type(table)
    if engine is None:
        origin = str(kind.__module__).split(".")[0].lstrip("_")
        default = "its columns are read by name; most other frames have to_pandas() or to_arrow()"
        rule = "`frame` must be a frame of pandas, polars or PySpark, a pyarrow Table or a DuckDB relation"
        remedy = _REMEDIES.get((origin, kind.__name__), default)
        reject(rule, f"{origin} {kind.__name__}", remedy, TypeError)
    check_engine(table)
    return engine


def engine_of(table: object) -> str | None:
    """The engine of a frame; None if it is no frame."""
    return next((engine for engine, known in _FRAMES.items() if _is(table, *known)), None)


def column_of(values: object) -> Column | None:
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


def _is(value: object, module: str, name: str) -> bool:
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


class Streamed(Column):
    """A column whose parts are read one after the other and put together. Two such columns are read at different times,
    so their rows need not be in the same order: what needs several goes through `Frame.batches`.
    """

    def __init__(self, source: EngineTable, name: str, empty: Column, wrap: Any) -> None:
        self._source, self._name, self._empty, self._wrap, self.kind = source, name, empty, wrap, empty.kind

    def _columns(self) -> list[Column]:
        return [self._empty, *(self._wrap(part) for part in self._source.batches([self._name]))]

    def floats(self) -> Array:
        return np.concatenate([column.floats() for column in self._columns()])

    def ticks(self, *, local: bool = False) -> tuple[npt.NDArray[Any], Mask]:
        ticks, missing = zip(*(column.ticks(local=local) for column in self._columns()), strict=True)
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
    """A Series of pandas."""
    import pandas as pd

    dtype = series.dtype
    if isinstance(dtype, pd.CategoricalDtype):
        listed = pandas_column(pd.Series(dtype.categories))
        return Categories(listed, series.cat.codes.to_numpy(), replace(listed.kind, categorical=True))
    if isinstance(dtype, pd.ArrowDtype) or (isinstance(dtype, pd.StringDtype) and dtype.storage != "python"):
        import pyarrow as pa

        return arrow_column(pa.array(series))
    if isinstance(dtype, pd.StringDtype):
        return Cells(series.tolist, Kind("text"))
    if isinstance(dtype, pd.DatetimeTZDtype):
        return PandasColumn(series, Kind("moment", tick=TICKS[dtype.unit], zoned=True))
    plain: Any = dtype if isinstance(dtype, np.dtype) else getattr(dtype, "numpy_dtype", np.dtype("V"))
    if plain.kind in "iuf":
        kind = replace(_number_kind(plain), long=plain.itemsize > 8)
    elif plain.kind == "M":
        kind = Kind("moment", tick=TICKS[np.datetime_data(plain)[0]])
    else:
        kind = Kind({"b": "truth", "O": "object"}.get(plain.kind, "other"))
    return Cells(series.tolist, kind) if kind.name == "object" else PandasColumn(series, kind)


class PandasColumn(Column):
    """Numbers, truth values and dates, held by numpy or with a mask beside; and what has no kind of its own."""

    def _padded(self, dtype: str, nothing: Any) -> npt.NDArray[Any]:
        """As an array of another type, of a column that can hold NA: one is appended first."""
        import pandas as pd

        padded = pd.concat([self._values, pd.Series([pd.NA], dtype=self._values.dtype)], ignore_index=True)
        return np.asarray(padded.to_numpy(dtype=dtype, na_value=nothing)[:-1])

    def floats(self) -> Array:
        if isinstance(self._values.dtype, np.dtype):
            return np.asarray(self._values.to_numpy(), dtype="float64")
        return self._padded("float64", np.nan)

    def ticks(self, *, local: bool = False) -> tuple[npt.NDArray[Any], Mask]:
        if self.kind.name == "moment":
            moments = (self._values.dt.tz_convert(None) if self.kind.zoned else self._values).to_numpy()
            ticks = moments.view(np.int64)
            return self._local(ticks) if local and self.kind.zoned else ticks, np.isnat(moments)
        dtype = "uint64" if self.kind.limits[1] == 2**64 - 1 else "int64"
        if isinstance(self._values.dtype, np.dtype):
            return np.asarray(self._values.to_numpy(), dtype=dtype), self.missing()
        return self._padded(dtype, 0), self.missing()

    def _local(self, ticks: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """By their own clock. pandas fails where the years of Python or 64 bits end: what is there goes by UTC."""
        import pandas as pd

        near = np.clip(ticks, *self._limits(1))
        utc = pd.DatetimeIndex(near.view(f"M8[{self._values.dt.unit}]")).tz_localize("UTC")
        clock = utc.tz_convert(self._values.dt.tz).tz_localize(None).to_numpy().view(np.int64)
        return np.where(ticks == near, clock, ticks)

    def _limits(self, less: int = 0) -> tuple[int, int]:
        """Of moments that are values of Python, or so many days less."""
        day = DAY // self.kind.tick
        first, last = (YEARS[0] + less) * day, (YEARS[1] + 1 - less) * day - 1
        return max(first, -(2**63) + 1 + day), min(last, 2**63 - 1 - day)

    def cells(self) -> list[Any]:
        """NaT where Python has no such moment of a time zone."""
        if not self.kind.zoned:
            return super().cells()
        low, high = self._limits()
        both = [self.ticks(local=local)[0] for local in (False, True)]
        possible = np.logical_and.reduce([(ticks >= low) & (ticks <= high) for ticks in both])
        return list(self._values.where(possible).tolist())

    def missing(self) -> Mask:
        if self.kind.name == "number":
            return np.isnan(self.floats())
        return np.asarray(self._values.isna().to_numpy(), dtype=bool)

    def empty(self) -> Column:
        return PandasColumn(self._values.iloc[:0], self.kind)


def arrow_column(array: Any) -> Column:
    """An array or chunked array of pyarrow."""
    kind = _arrow_kind(array.type)
    return Cells(partial(_python, array), kind) if kind.name == "object" else ArrowColumn(array, kind)


def _arrow_kind(type_: Any) -> Kind:
    from pyarrow import types

    if types.is_dictionary(type_):
        return replace(_arrow_kind(type_.value_type), categorical=True)
    if types.is_integer(type_):
        return whole_kind(type_.bit_width, types.is_signed_integer(type_))
    if types.is_floating(type_):
        return Kind("number", bits=type_.bit_width)
    if types.is_decimal(type_):
        return decimal_kind(type_.precision)
    if types.is_timestamp(type_):
        return Kind("moment", tick=TICKS[type_.unit], zoned=type_.tz is not None)
    if types.is_date(type_):
        return Kind("day", tick=DAY if types.is_date32(type_) else 10**6)
    if types.is_string(type_) or types.is_large_string(type_) or str(type_) == "string_view":
        return Kind("text")
    return Kind("truth" if types.is_boolean(type_) else "object" if types.is_null(type_) else "other")


class ArrowColumn(Column):
    """Read with pyarrow's own kernels."""

    def __init__(self, values: Any, kind: Kind) -> None:
        import pyarrow as pa
        import pyarrow.compute as pc

        super().__init__(values, kind)
        self._pa, self._pc = pa, pc

    def _padded(self) -> Any:
        """In one piece, categories as values, and one missing value at the end."""
        pa, array = self._pa, self._values
        chunks = array.chunks if isinstance(array, pa.ChunkedArray) else [array]
        plain = array.type.value_type if self.kind.categorical else array.type
        return pa.concat_arrays([*(chunk.cast(plain) for chunk in chunks), pa.nulls(1, plain)])

    def floats(self) -> Array:
        padded = self._padded()
        if self._pa.types.is_decimal(padded.type):  # its own way from decimals to floats is a last bit off
            padded = padded.cast(self._pa.string())
        numbers = self._pc.cast(padded, self._pa.float64(), safe=False)
        return np.asarray(self._pc.fill_null(numbers, float("nan")))[:-1]

    def ticks(self, *, local: bool = False) -> tuple[npt.NDArray[Any], Mask]:
        pa, padded = self._pa, self._padded()
        if local and self.kind.zoned:
            padded = self._pc.local_timestamp(padded)
        short = self.kind.name == "day" and padded.type.bit_width == 32
        stored = padded.type if self.kind.name == "whole" else pa.int32() if short else pa.int64()
        return np.asarray(self._pc.fill_null(padded.cast(stored), 0))[:-1], np.asarray(self._pc.is_null(padded))[:-1]

    def codes(self, texts: Sequence[str]) -> Codes:
        padded = self._padded()
        places = self._pc.index_in(padded, value_set=self._pa.array(texts, type=padded.type))
        return np.asarray(self._pc.fill_null(places, -1))[:-1].astype(np.int64)

    def has(self, texts: Sequence[str]) -> Mask:
        padded = self._padded()
        return np.asarray(self._pc.is_in(padded, value_set=self._pa.array(texts, type=padded.type)))[:-1]

    def missing(self) -> Mask:
        return np.asarray(self._pc.is_null(self._padded(), nan_is_null=True))[:-1]

    def tally(self, counted: Mask) -> dict[Any, int]:
        used = self._padded().filter(self._pa.array(np.append(counted, True)))
        values, numbers = self._pc.value_counts(used).flatten()
        return dict(zip(_python(values), numbers.to_pylist(), strict=True))

    def cells(self) -> list[Any]:
        return _python(self._values)

    def empty(self) -> Column:
        return ArrowColumn(self._values.slice(0, 0), self.kind)


def _python(array: Any) -> list[Any]:
    """The values as Python objects, None where Python has no such value: a date beyond its years, say."""

    def value(scalar: Any) -> Any:
        try:
            return scalar.as_py()
        except Exception:
            return None

    return [value(scalar) for scalar in array]


def as_list(values: object, name: str) -> list[Any]:
    """Any iterable that has an order, but a text, a table or a mapping, as a list of at most `MOST_CELLS`."""
    if isinstance(values, Estimate) and len(values.axes) == 1:  # keys that were found, or a table by them
        values = values.labels
    text = isinstance(values, str | bytes | bytearray | memoryview)
    table = isinstance(values, Mapping) or hasattr(values, "columns") or getattr(values, "ndim", 1) != 1
    if text or table or not isinstance(values, Iterable):
        reject(f"`{name}` must be a list", type(values).__name__, "a single one is written [value]", TypeError)
    if isinstance(values, Set) and not isinstance(values, MappingView):
        rule = f"`{name}` must be in the order in which it is told"
        reject(rule, "a set, which has none", "write a list, sorted(…) say", TypeError)
    listed = values.to_pylist() if hasattr(values, "to_pylist") else values  # an array of arrow
    listed = list(islice(listed, MOST_CELLS + 1))
    if len(listed) > MOST_CELLS:
        reject(f"`{name}` must have at most {MOST_CELLS:,} entries", "more", "nothing was read or charged")
    return listed
