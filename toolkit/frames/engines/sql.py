# ruff: noqa: S608 (the queries consist of generated names, hexadecimal digits and numbers)
"""Relations of DuckDB and DataFrames of PySpark: SQL expressions, and the differences between the two dialects.

Texts are compared as bytes, so that the collation of a session or a column has no influence. They are written in
hexadecimal, so that no text can terminate a query.
"""

from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from decimal import Decimal
from functools import partialmethod
from typing import Any

import numpy as np
import numpy.typing as npt

from toolkit.frames.engines import streams
from toolkit.frames.engines.column import Column
from toolkit.frames.engines.streams import TAG_BITS, EngineTable, Expression, LazyTable, sum_pieces

# The number of hexadecimal digits of a hash; TAG_BITS bits of them are used.
_HASH_DIGITS = 8
# The maximum number of values of a group that are collected without sorting.
_MAX_UNSORTED = 100


@dataclass(frozen=True, eq=False)
class SqlExpression:
    """An SQL expression."""

    text: str

    def _combine(self, sign: str, other: object) -> "SqlExpression":
        right = other.text if isinstance(other, SqlExpression) else f"cast({other} as bigint)"
        return SqlExpression(f"({self.text} {sign} {right})")

    def __invert__(self) -> "SqlExpression":
        return SqlExpression(f"(not {self.text})")


_SIGNS = {"add": "+", "sub": "-", "mul": "*", "mod": "%", "lt": "<", "le": "<=", "gt": ">", "ge": ">=", "and": "and"}
for _name, _sign in (_SIGNS | {"or": "or"}).items():
    setattr(SqlExpression, f"__{_name}__", partialmethod(SqlExpression._combine, _sign))


class SqlTable(EngineTable):
    """The expressions that both dialects share; a `LazyTable` is the text of a query."""

    _text_template = "{}"
    """The SQL that converts text to bytes."""
    _hash_template = "{}"
    """The SQL that hashes bytes to hexadecimal digits."""
    _hex_template = "{}"
    """The SQL that converts hexadecimal digits to a whole number."""
    _day_template = "{}"
    """The SQL that converts a date to days since 1970."""
    _wide_integer_type = "bigint"
    """The type of whole numbers of more than 63 bits."""
    _shift_template = "({} >> {})"
    _xor_template = "xor({}, {})"

    def col(self, name: str) -> Expression:
        return SqlExpression(name)

    def constant(self, value: float | str) -> Expression:
        if isinstance(value, str):
            return SqlExpression(f"unhex('{value.encode().hex()}')")
        kind = "double" if isinstance(value, float) else "bigint" if value < 2**63 else self._wide_integer_type
        return SqlExpression(f"cast('{value!r}' as {kind})")

    def key(self, expression: Expression, column: Column, *, as_days: bool = False) -> Expression:
        kind = column.kind
        if kind.name == "moment":
            return self._moment_key(expression, column, as_days)
        if kind.name == "number":
            return self.to_float(expression, column)
        if kind.name == "day":
            return SqlExpression(self._day_template.format(expression.text))
        if kind.name == "text":
            return SqlExpression(self._text_template.format(expression.text))
        return SqlExpression(
            f"cast({expression.text} as {'bigint' if kind.limits[1] < 2**63 else self._wide_integer_type})"
        )

    def to_float(self, expression: Expression, column: Column) -> Expression:
        numbers = SqlExpression(f"cast({expression.text} as double)")
        if column.kind.name != "number":
            return numbers
        # In SQL, NaN is greater than every number.
        return self.case(numbers <= self.constant(float("inf")), numbers)

    def clamp(self, expression: Expression, column: Column, low: float, high: float) -> Expression:  # noqa: ARG002
        value = SqlExpression(f"cast({expression.text} as double)")
        # In SQL, NaN is greater than every number.
        beyond = self.case(value <= self.constant(float("inf")), self.constant(high))
        outside = self.case(value < self.constant(low), self.constant(low), beyond)
        return self.case((value >= self.constant(low)) & (value <= self.constant(high)), value, outside)

    @abstractmethod
    def _moment_key(self, expression: Expression, column: Column, as_days: bool) -> Expression:
        """Convert datetimes to microseconds, or to days since 1970 in the column's time zone."""

    def tag(self, expression: Expression, column: Column, secret: bytes) -> Expression:
        if column.kind.name == "text":
            digest = self._hash_template.format(f"unhex('{secret.hex()}') || {expression.text}")
            expression = SqlExpression(self._hex_template.format(f"substr({digest}, 1, {_HASH_DIGITS})"))
        return SqlExpression(f"cast({self.bits(expression, 0, TAG_BITS).text} as bigint)")

    def bits(self, expression: Expression, low: int, size: int | None = None) -> Expression:
        shifted = self._shift_template.format(expression.text, low) if low else expression.text
        return SqlExpression(shifted if size is None else f"({shifted} & cast({2**size - 1} as bigint))")

    def xor(self, first: Expression, second: Expression) -> Expression:
        return SqlExpression(self._xor_template.format(first.text, second.text))

    def case(self, condition: Expression, value: Expression, otherwise: Expression | None = None) -> Expression:
        rest = "" if otherwise is None else f" else {otherwise.text}"
        return SqlExpression(f"(case when {condition.text} then {value.text}{rest} end)")

    def missing(self, expression: Expression) -> Expression:
        return SqlExpression(f"({expression.text} is null)")

    def is_in(self, expression: Expression, values: Sequence[Any]) -> Expression:
        return SqlExpression(f"({expression.text} in ({', '.join(self.constant(value).text for value in values)}))")

    def count(self, expression: Expression | None = None) -> Expression:
        return SqlExpression("count(*)" if expression is None else f"count({expression.text})")

    def sum_column(self, name: str) -> Expression:
        return SqlExpression(f"sum({name})")

    def with_columns(
        self, rows: LazyTable, expressions: Mapping[str, Expression], *, drop_others: bool = False
    ) -> LazyTable:
        columns = [f"{expression.text} as {name}" for name, expression in expressions.items()]
        return f"(select {', '.join(columns if drop_others else ['*', *columns])} from {rows})"

    def filter(self, rows: LazyTable, condition: Expression) -> LazyTable:
        return f"(select * from {rows} where {condition.text})"

    def group_by(self, rows: LazyTable, by: Sequence[str], expressions: Mapping[str, Expression]) -> LazyTable:
        columns = [*by, *(f"{expression.text} as {name}" for name, expression in expressions.items())]
        groups = f" group by {', '.join(by)}" if by else ""
        return f"(select {', '.join(columns)} from {rows}{groups})"

    def join_codes(self, rows: LazyTable, key: str, codes: Sequence[tuple[Any, int]], name: str) -> LazyTable:
        table = self._code_table(codes, name)
        return f"(select a.*, b.{name} from {rows} a left join {table} b on a.{key} = b.value)"

    @abstractmethod
    def _code_table(self, codes: Sequence[tuple[Any, int]], name: str) -> str:
        """Return a table of values and their codes, as the text of a query."""

    def with_rank(
        self, rows: LazyTable, by: Sequence[str], order: Sequence[str], name: str, *, dense: bool = False
    ) -> LazyTable:
        function = "dense_rank" if dense else "row_number"
        rank = f"{function}() over (partition by {', '.join(by)} order by {', '.join(order)})"
        return f"(select *, {rank} as {name} from {rows})"


class DuckDbTable(SqlTable):
    """A relation of DuckDB."""

    _text_template, _hash_template, _hex_template = (
        "encode(cast({} as varchar))",
        "sha256({})",
        "cast('0x' || {} as bigint)",
    )
    _day_template = "cast({} - date '1970-01-01' as bigint)"
    _wide_integer_type = "hugeint"

    def __init__(self, table: Any) -> None:
        self._table, self.names = table, list(table.columns)

    def empty(self) -> Any:
        return self._table.limit(0).to_arrow_table()

    def batches(self, names: Sequence[str]) -> Iterator[Any]:
        import duckdb
        import pyarrow as pa

        for batch in _record_batches(self._table.select(*(duckdb.ColumnExpression(name) for name in names))):
            yield pa.Table.from_batches([batch])

    def row_count(self) -> int:
        return int(self._table.aggregate("count(*)").fetchall()[0][0])

    def collect(self) -> Any:
        return self._table.to_arrow_table()

    def supports(self, column: Column, *, as_days: bool = False) -> bool:
        return super().supports(column) or (column.kind.name == "moment" and (as_days or column.kind.tick == 1000))

    def select(self, columns: Mapping[str, str]) -> LazyTable:
        quoted = {name: f'"{label.replace(chr(34), chr(34) * 2)}"' for name, label in columns.items()}
        return f"(select {', '.join(f'{label} as {name}' for name, label in quoted.items()) or '1'} from confidential)"

    def _moment_key(self, expression: Expression, column: Column, as_days: bool) -> Expression:
        if as_days:
            zone = str(getattr(column.empty()._values.type, "tz", None) or "").replace("'", "''")
            local = f"timezone('{zone}', {expression.text})" if zone else expression.text
            return SqlExpression(self._day_template.format(f"cast({local} as date)"))
        far = f"case when {expression.text} > make_timestamp(0) then {2**63 - 1} else {-(2**63) + 1} end"
        if column.kind.is_zoned:
            far = far.replace("make_timestamp(0)", "to_timestamp(0)")
        finite = f"when isfinite({expression.text}) then epoch_us({expression.text})"
        return SqlExpression(f"(case {finite} when {expression.text} is not null then {far} end)")

    def round_to_integer(self, expression: Expression) -> Expression:
        return SqlExpression(f"try_cast({expression.text} as bigint)")  # DuckDB rounds halves to even

    def sums(self, expression: Expression, max_value: int) -> dict[int, Expression]:  # noqa: ARG002
        return {0: SqlExpression(f"sum({expression.text})")}  # DuckDB computes sums in 128 bits

    def sum_column(self, name: str) -> Expression:
        return SqlExpression(f"cast(sum({name}) as {'hugeint' if name.startswith('t') else 'bigint'})")

    def smallest(self, rows: LazyTable, by: Sequence[str], order: str, cap: int) -> LazyTable:
        if cap > _MAX_UNSORTED:
            return super().smallest(rows, by, order, cap)
        minimum = f"min({order})" if cap == 1 else f"unnest(min({order}, {cap}))"
        return f"(select {', '.join(by)}, {minimum} as {order} from {rows} group by {', '.join(by)})"

    def _code_table(self, codes: Sequence[tuple[Any, int]], name: str) -> str:
        # All values are passed as a single constant: binding one constant per value takes longer than the join.
        values = [value for value, _ in codes]
        if isinstance(values[0], str):
            unnested = f"unhex(unnest(string_split('{','.join(value.encode().hex() for value in values)}', ',')))"
        else:
            kind = "double" if isinstance(values[0], float) else self._wide_integer_type
            kind = "bigint" if kind != "double" and max(map(abs, values)) < 2**63 else kind
            unnested = f"unnest(cast('{values}' as {kind}[]))"
        return f"(select {unnested} as value, unnest(cast('{[code for _, code in codes]}' as bigint[])) as {name})"

    def fetch(self, rows: LazyTable) -> dict[str, npt.NDArray[Any]]:
        result = self._table.query("confidential", f"select * from {rows}")
        names = list(result.columns)
        # Sums, whose names begin with "t", have 128 bits, which NumPy does not support.
        if not any(name.startswith("t") for name in names):
            return {name: np.ma.filled(column, 0) for name, column in result.fetchnumpy().items()}
        columns = np.array([[number or 0 for number in row] for row in result.fetchall()], dtype=object)
        return dict(zip(names, columns.reshape(-1, len(names)).T, strict=True))

    def iter_key_counts(self, rows: LazyTable, key: str, number: str) -> Iterator[tuple[Any, int]]:
        result = self._table.query("confidential", f"select {key}, {number} from {rows} order by {key}")
        for batch in _record_batches(result):
            yield from (
                (_plain_key(value), count)
                for value, count in zip(*(column.to_pylist() for column in batch.columns), strict=True)
            )


class SparkTable(SqlTable):
    """A DataFrame of PySpark. A table that SQL cannot aggregate is fetched as a whole."""

    _text_template, _hash_template, _hex_template = (
        "cast(cast({} as string) as binary)",
        "sha2({}, 256)",
        "cast(conv({}, 16, 10) as bigint)",
    )
    _day_template = "cast(unix_date({}) as bigint)"
    _shift_template, _xor_template = "shiftright({}, {})", "({} ^ {})"

    def __init__(self, table: Any) -> None:
        self._table, self.names = table, list(table.columns)
        self._session_time_zone = _session_time_zone(table)

    def empty(self) -> Any:
        """Make an empty table from the schema; Spark would compute all rows even if it returned none."""
        with _silenced_loggers(self._table):
            return self._table.sparkSession.createDataFrame([], self._table.schema).toArrow()

    def batches(self, names: Sequence[str]) -> Iterator[Any]:
        with _silenced_loggers(self._table):
            yield self._table.select(*map(_quote_name, names)).toArrow()

    def row_count(self) -> int:
        with _silenced_loggers(self._table):
            return int(self._table.count())

    def collect(self) -> Any:
        with _silenced_loggers(self._table):
            return self._table.toArrow()

    def supports(self, column: Column, *, as_days: bool = False) -> bool:
        if column.kind.name != "moment":
            return super().supports(column)
        if not column.kind.is_zoned:
            return as_days  # Spark has no function for the microseconds of a datetime without a time zone
        # Days begin at midnight in the session's time zone, which must not have changed since the table was opened.
        return not as_days or _session_time_zone(self._table) == self._session_time_zone

    def select(self, columns: Mapping[str, str]) -> LazyTable:
        selection = ", ".join(f"{_quote_name(label)} as {name}" for name, label in columns.items()) or "1 as x"
        return f"(select {selection.replace('{', '{{').replace('}', '}}')} from {{confidential}})"

    def _moment_key(self, expression: Expression, column: Column, as_days: bool) -> Expression:  # noqa: ARG002
        return SqlExpression(
            self._day_template.format(f"to_date({expression.text})") if as_days else f"unix_micros({expression.text})"
        )

    def round_to_integer(self, expression: Expression) -> Expression:
        return SqlExpression(f"try_cast(rint({expression.text}) as bigint)")

    def sums(self, expression: Expression, max_value: int) -> dict[int, Expression]:
        pieces, sums = sum_pieces(max_value), dict[int, Expression]()
        for low, width in pieces:
            piece = f"shiftright({expression.text}, {low})" if low else expression.text
            sums[low] = SqlExpression(f"sum({piece if (low, width) == pieces[-1] else f'{piece} & {2**width - 1}'})")
        return sums

    def _code_table(self, codes: Sequence[tuple[Any, int]], name: str) -> str:
        values = ", ".join(f"({self.constant(value).text}, cast({code} as bigint))" for value, code in codes)
        return f"(select * from values {values} as codes(value, {name}))"

    def fetch(self, rows: LazyTable) -> dict[str, npt.NDArray[Any]]:
        with _silenced_loggers(self._table):
            table = self._run(f"select * from {rows}").toArrow()
        return {name: table.column(name).fill_null(0).to_numpy() for name in table.column_names}

    def iter_key_counts(self, rows: LazyTable, key: str, number: str) -> Iterator[tuple[Any, int]]:
        with _silenced_loggers(self._table):
            for value, count in self._run(f"select {key}, {number} from {rows} order by {key}").toLocalIterator():
                yield _plain_key(value), count

    def _run(self, query: str) -> Any:
        return self._table.sparkSession.sql(query, confidential=self._table)


def _record_batches(relation: Any) -> Any:
    """Iterate over the rows of a relation in batches."""
    newer = hasattr(type(relation), "to_arrow_reader")  # older versions of DuckDB call it `fetch_arrow_reader`
    return (relation.to_arrow_reader if newer else relation.fetch_arrow_reader)(streams.BATCH_ROWS)


def _quote_name(name: str) -> str:
    return f"`{name.replace('`', '``')}`"


def _session_time_zone(table: Any) -> str | None:
    """Return the time zone of a Spark session, if it can be read."""
    with suppress(Exception):
        return str(table.sparkSession.conf.get("spark.sql.session.timeZone"))
    return None


def _plain_key(value: Any) -> Any:
    """Convert a key to a plain Python value; return None for bytes that are not valid text.

    Integers of more than 64 bits arrive as Decimal.
    """
    if isinstance(value, Decimal):
        return int(value)
    if not isinstance(value, bytes | bytearray):
        return value
    with suppress(UnicodeDecodeError):
        return bytes(value).decode()
    return None


@contextmanager
def _silenced_loggers(table: Any) -> Iterator[None]:
    """Silence the loggers of Spark and PySpark, because they write to stderr the value at which a task failed.

    Executors on other machines are not silenced; they write to files on those machines.
    """
    loggers, root, level = [], None, None
    with suppress(Exception):  # older versions of PySpark have no such loggers
        from pyspark.logger import PySparkLogger

        loggers = [PySparkLogger.getLogger(f"{name}QueryContextLogger") for name in ("SQL", "DataFrame")]
    disabled = [logger.disabled for logger in loggers]
    with suppress(Exception):  # Spark Connect has no Java process to configure
        log4j = table.sparkSession.sparkContext._jvm.org.apache.logging.log4j
        root, level = log4j.core.config.Configurator, log4j.LogManager.getRootLogger().getLevel()
        # `setLogLevel` would not restore the level that a script has chosen.
        root.setRootLevel(log4j.Level.OFF)
    for logger in loggers:
        logger.disabled = True
    try:
        yield
    finally:
        for logger, previous in zip(loggers, disabled, strict=True):
            logger.disabled = previous
        with suppress(Exception):
            root.setRootLevel(level)  # type: ignore[union-attr]
