"""DataFrames and LazyFrames of polars: their columns, and the expressions that polars computes."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from toolkit.core.arrays import Array, Codes, Mask
from toolkit.frames.engines import streams
from toolkit.frames.engines.column import DAY, TICKS, YEARS, Cells, Column, Kind, decimal_kind, whole_kind
from toolkit.frames.engines.streams import TAG_BITS, EngineTable, Expression, LazyTable, sum_pieces, text_tag

if TYPE_CHECKING:
    import polars as pl

# The number of rows of a batch, including the missing value at its end.
_BATCH_ROWS = 2**20 + 1
_POLARS_TYPES = {float: "Float64", str: "String", int: "Int64"}
# The smallest and the largest number of days of a Python timedelta.
_TIMEDELTA_DAYS = (-999_999_999, 999_999_998)
# Polars converts time zones without panicking up to this many days before or after 1970.
_MAX_ZONED_DAYS = 9 * 10**7
# The maximum number of texts that are looked up by hash. The number of slots is about the square of the number of
# texts, so for most seeds no two texts collide.
_MAX_HASHED = 2**10


def polars_column(series: "pl.Series") -> Column:
    """Wrap a Series of polars."""
    kind = polars_kind(series.dtype)
    return Cells(series.to_list, kind) if kind.name == "object" else PolarsColumn(series, kind)


def polars_kind(dtype: "pl.DataType") -> Kind:
    """Return the kind of a polars type."""
    import polars as pl

    if dtype.is_integer():
        name = str(dtype)
        return whole_kind(int(name.removeprefix("U").removeprefix("Int")), signed=not name.startswith("U"))
    if dtype.is_float():
        return Kind("number", float_bits=int(str(dtype).removeprefix("Float")))
    if isinstance(dtype, pl.Datetime):
        return Kind("moment", tick=TICKS[dtype.time_unit], is_zoned=dtype.time_zone is not None)
    if isinstance(dtype, pl.Categorical | pl.Enum):
        return Kind("text", is_categorical=True)
    if isinstance(dtype, pl.Date):
        return Kind("day", tick=DAY)
    if isinstance(dtype, pl.Decimal):
        return decimal_kind(dtype.precision or 38)
    plain = {pl.Boolean: "truth", pl.String: "text", pl.Null: "object", pl.Object: "object"}
    return Kind(plain.get(dtype.base_type(), "other"))


class PolarsColumn(Column):
    """A Series of polars, read with its methods."""

    def _padded(self, dtype: "type[pl.DataType]") -> Any:
        """Cast to another type, in one chunk with a missing value at the end."""
        return self._values.cast(dtype, strict=False).extend_constant(None, 1).rechunk()

    def floats(self) -> Array:
        import polars as pl

        return np.asarray(self._padded(pl.Float64).fill_null(float("nan")).to_numpy()[:-1])

    def ticks(self, *, in_local_time: bool = False) -> tuple[npt.NDArray[Any], Mask]:
        import polars as pl

        series = (
            _evaluate(self._values, _local_ticks)
            if in_local_time and self.kind.is_zoned
            else self._values.to_physical()
        )
        stored = pl.UInt64 if self.kind.limits[1] == 2**64 - 1 else pl.Int64
        padded = PolarsColumn(series, self.kind)._padded(stored)
        return padded.fill_null(0).to_numpy()[:-1], padded.is_null().to_numpy()[:-1]

    def codes(self, texts: Sequence[str]) -> Codes:
        import polars as pl

        padded, table = self._padded(pl.String), HashTable.of(texts)
        enum_type: Any = None if table else pl.Enum(texts)

        def batch_codes(start: int) -> Codes:
            batch = padded.slice(start, _BATCH_ROWS)
            if table:
                return table.codes(batch)
            codes = batch.cast(enum_type, strict=False).to_physical()
            return np.asarray(codes.cast(pl.Int64).fill_null(-1).to_numpy())

        starts = range(0, len(padded), _BATCH_ROWS)
        if len(starts) == 1:
            return batch_codes(0)[:-1]
        # polars uses a single core for this task.
        with ThreadPoolExecutor(pl.thread_pool_size()) as pool:
            return np.concatenate(list(pool.map(batch_codes, starts)))[:-1]

    def has(self, texts: Sequence[str]) -> Mask:
        import polars as pl

        return np.asarray(self._padded(pl.String).is_in(list(texts)).fill_null(False).to_numpy()[:-1])

    def missing(self) -> Mask:
        if self.kind.name == "number":
            return np.isnan(self.floats())
        return np.asarray(self._values.extend_constant(None, 1).is_null().to_numpy()[:-1])

    def tally(self, mask: Mask) -> dict[Any, int]:
        import polars as pl

        counts = self._padded(pl.String).filter(pl.Series(np.append(mask, True))).value_counts()
        return dict(zip(counts.to_series(0).to_list(), counts.to_series(1).to_list(), strict=True))

    def cells(self) -> list[Any]:
        dated = self.kind.name in ("day", "moment", "other")
        return list((_evaluate(self._values, _without_unrepresentable) if dated else self._values).to_list())

    def empty(self) -> Column:
        return PolarsColumn(self._values.head(0), self.kind)


def _evaluate(series: "pl.Series", expression: "Callable[[pl.Expr, Any], pl.Expr]") -> "pl.Series":
    """Evaluate an expression that is a function of a column and its data type."""
    import polars as pl

    return series.alias("x").to_frame().select(expression(pl.col("x"), series.dtype)).to_series()


def _local_ticks(moments: "pl.Expr", dtype: "pl.Datetime") -> "pl.Expr":
    """Convert datetimes to ticks of local time.

    polars panics on dates more than 262,000 years away and overflows beyond 64 bits; such datetimes stay in UTC.
    """
    import polars as pl

    ticks = moments.to_physical()
    if dtype.time_zone is None:
        return ticks
    day = DAY // TICKS[dtype.time_unit]
    far = min(_MAX_ZONED_DAYS * day, 2**63 - 1 - day)
    near = ticks.is_between(-far, far)
    clock = pl.when(near).then(ticks).otherwise(0).cast(dtype).dt.replace_time_zone(None).to_physical()
    return pl.when(near).then(clock).otherwise(ticks)


def _without_unrepresentable(values: "pl.Expr", dtype: Any) -> "pl.Expr":
    """Replace values that Python cannot represent, such as a date beyond the year 9999, by null; polars may panic."""
    import polars as pl

    if isinstance(dtype, pl.List | pl.Array):
        lists = values if isinstance(dtype, pl.List) else values.arr.to_list()
        return lists.list.eval(_without_unrepresentable(pl.element(), dtype.inner))
    if isinstance(dtype, pl.Struct):
        fields = {field.name: _without_unrepresentable(pl.field(field.name), field.dtype) for field in dtype.fields}
        return values.struct.with_fields(**fields) if fields else values
    if not isinstance(dtype, pl.Date | pl.Datetime | pl.Duration):
        return values
    ticks, limits = (
        values.to_physical(),
        _tick_range(_TIMEDELTA_DAYS if isinstance(dtype, pl.Duration) else YEARS, dtype),
    )
    possible = ticks.is_between(*limits)
    if isinstance(dtype, pl.Datetime):
        # polars reads a datetime in UTC and then converts it to local time, so Python must be able to represent both.
        possible &= _local_ticks(values, dtype).is_between(*limits)
    return pl.when(possible).then(values)


def _tick_range(days: tuple[int, int], dtype: Any) -> tuple[int, int]:
    """Convert a range of whole days to ticks of a type, within 64 bits."""
    per = DAY // TICKS[dtype.time_unit] if hasattr(dtype, "time_unit") else 1
    return max(days[0] * per, -(2**63)), min((days[1] + 1) * per - 1, 2**63 - 1)


@dataclass(frozen=True, eq=False)
class HashTable:
    """Texts in a table that is indexed by the first bits of their hash.

    Each text of a column is compared with the text in its slot, so that different texts with the same hash are not
    confused. Every row is compared, so that the time does not depend on the values.
    """

    texts: Any
    table: npt.NDArray[np.uint32]
    seed: int

    @classmethod
    def of(cls, texts: Sequence[str]) -> "HashTable | None":
        """Build a table; return None if there are no texts or too many, or if every seed has collisions."""
        import polars as pl

        if not 0 < len(texts) <= _MAX_HASHED:
            return None
        series = pl.Series(texts, dtype=pl.String)
        table = np.zeros(4 ** len(texts).bit_length(), dtype=np.uint32)
        for seed in range(64):
            hash_table = cls(series, table, seed)
            if len(np.unique(slots := hash_table._slots(series))) == len(texts):
                table[slots] = np.arange(len(texts), dtype=np.uint32)
                return hash_table
        return None

    def codes(self, column: "pl.Series") -> Codes:
        """Return the index of each text of a polars Series, -1 for texts outside the table."""
        import polars as pl

        near = self.table.take(self._slots(column))
        same = self.texts.gather(pl.Series(near)).eq_missing(column).to_numpy()
        return np.asarray((near.astype(np.int64) + 1) * same - 1)

    def _slots(self, column: "pl.Series") -> npt.NDArray[np.int64]:
        bits = len(self.table).bit_length() - 1
        hashes: npt.NDArray[np.uint64] = column.hash(self.seed).to_numpy()
        return (hashes >> np.uint64(64 - bits)).view(np.int64)


class PolarsLazyTable(EngineTable):
    """A LazyFrame of polars."""

    def __init__(self, table: Any) -> None:
        import polars as pl

        self._pl, self._table, self.names = pl, table, list(table.collect_schema().names())

    def empty(self) -> Any:
        return self._pl.DataFrame(schema=self._table.collect_schema())

    def batches(self, names: Sequence[str]) -> Iterator[Any]:
        return iter(self._table.select(list(names)).collect_batches(chunk_size=streams.BATCH_ROWS))

    def row_count(self) -> int:
        return int(self._table.select(self._pl.len()).collect().item())

    def collect(self) -> Any:
        return self._table.collect()

    def supports(self, column: Column, *, as_days: bool = False) -> bool:  # noqa: ARG002
        return super().supports(column) or column.kind.name == "moment"

    def select(self, columns: Mapping[str, str]) -> LazyTable:
        # If no column is selected, polars returns no rows.
        columns = columns or {"x": self.names[0]}
        return self._table.select(**{name: self._pl.col(label) for name, label in columns.items()})

    def col(self, name: str) -> Expression:
        return self._pl.col(name)

    def constant(self, value: float | str) -> Expression:
        large = isinstance(value, int) and value >= 2**63
        return self._pl.lit(value, dtype=self._pl.UInt64 if large else getattr(self._pl, _POLARS_TYPES[type(value)]))

    def key(self, expression: Expression, column: Column, *, as_days: bool = False) -> Expression:
        pl, kind = self._pl, column.kind
        if kind.name == "moment":
            day = DAY // kind.tick
            return (
                _local_ticks(expression, column.empty()._values.dtype) // day if as_days else expression.to_physical()
            )
        if kind.name == "number":
            return self.to_float(expression, column)
        if kind.name == "day":
            return expression.cast(pl.Int32).cast(pl.Int64)
        if kind.name == "text":
            return expression.cast(pl.String)
        return expression.cast(pl.UInt64 if kind.limits[1] >= 2**63 else pl.Int64)

    def to_float(self, expression: Expression, column: Column) -> Expression:
        numbers = expression.cast(self._pl.Float64, strict=False)
        return numbers.fill_nan(None) if column.kind.name == "number" else numbers

    def round_to_integer(self, expression: Expression) -> Expression:
        return expression.round(0, mode="half_to_even").cast(self._pl.Int64, strict=False)

    def tag(self, expression: Expression, column: Column, secret: bytes) -> Expression:
        pl = self._pl
        if column.kind.name == "text":
            return expression.map_batches(
                partial(_text_tags, secret=secret), return_dtype=pl.Int64, is_elementwise=True
            )
        if column.kind.limits[1] >= 2**63:
            return (expression & pl.lit(2**TAG_BITS - 1, dtype=pl.UInt64)).cast(pl.Int64)
        return self.bits(expression, 0, TAG_BITS)

    def bits(self, expression: Expression, low: int, size: int | None = None) -> Expression:
        shifted = expression // 2**low if low else expression
        return shifted if size is None else shifted & self.constant(2**size - 1)

    def xor(self, first: Expression, second: Expression) -> Expression:
        return first ^ second

    def case(self, condition: Expression, value: Expression, otherwise: Expression | None = None) -> Expression:
        return self._pl.when(condition).then(value).otherwise(otherwise)

    def missing(self, expression: Expression) -> Expression:
        return expression.is_null()

    def is_in(self, expression: Expression, values: Sequence[Any]) -> Expression:
        return expression.is_in(self._series(values).implode())

    def count(self, expression: Expression | None = None) -> Expression:
        return (self._pl.len() if expression is None else expression.count()).cast(self._pl.Int64)

    def sums(self, expression: Expression, max_value: int) -> dict[int, Expression]:
        pieces, sums = sum_pieces(max_value), dict[int, Expression]()
        for low, width in pieces:
            piece = expression // 2**low if low else expression
            sums[low] = (piece if (low, width) == pieces[-1] else piece % 2**width).sum()
        return sums

    def sum_column(self, name: str) -> Expression:
        return self._pl.col(name).sum()

    def with_columns(
        self, rows: LazyTable, expressions: Mapping[str, Expression], *, drop_others: bool = False
    ) -> LazyTable:
        # Selecting only constants would return a single row.
        extended = rows.with_columns(**expressions)
        return extended.select(list(expressions)) if drop_others else extended

    def filter(self, rows: LazyTable, condition: Expression) -> LazyTable:
        return rows.filter(condition)

    def group_by(self, rows: LazyTable, by: Sequence[str], expressions: Mapping[str, Expression]) -> LazyTable:
        return rows.group_by(list(by)).agg(**expressions) if by else rows.select(**expressions)

    def join_codes(self, rows: LazyTable, key: str, codes: Sequence[tuple[Any, int]], name: str) -> LazyTable:
        values, numbers = zip(*codes, strict=True)
        table = self._pl.LazyFrame([self._series(values).alias(key), self._series(numbers).alias(name)])
        return rows.join(table, on=key, how="left")

    def with_rank(
        self, rows: LazyTable, by: Sequence[str], order: Sequence[str], name: str, *, dense: bool = False
    ) -> LazyTable:
        pl = self._pl
        if dense:
            return rows.with_columns(pl.struct(order).rank("dense").over(by).cast(pl.Int64).alias(name))
        # The order of equal rows does not matter: they contribute the same to every sum.
        return rows.sort(order).with_columns((pl.int_range(pl.len()).over(by) + 1).alias(name))

    def fetch(self, rows: LazyTable) -> dict[str, npt.NDArray[Any]]:
        table = rows.collect(engine="streaming").fill_null(0)
        return {name: table[name].to_numpy() for name in table.columns}

    def iter_key_counts(self, rows: LazyTable, key: str, number: str) -> Iterator[tuple[Any, int]]:
        yield from rows.sort(key).select(key, number).collect(engine="streaming").iter_rows()

    def _series(self, values: Sequence[Any]) -> Any:
        """Make a Series of values of the same type as keys."""
        pl, first = self._pl, type(values[0]) if values else int
        large = first is int and any(value >= 2**63 for value in values)
        return pl.Series(list(values), dtype=pl.UInt64 if large else getattr(pl, _POLARS_TYPES[first]))


def _text_tags(texts: Any, secret: bytes) -> Any:
    """Hash each text to its tag in Python, because polars has no such function."""
    import polars as pl

    tags = {text: text_tag(text, secret) for text in texts.unique().to_list() if text is not None}
    return pl.Series([tags.get(text) for text in texts.to_list()], dtype=pl.Int64)
