# ruff: noqa: S608 (the queries consist of generated names, hexadecimal digits and numbers)
"""Relations of DuckDB and DataFrames of PySpark: expressions in SQL, and where the two dialects differ.

Texts are compared as bytes, so that the collation of a session or a column has no influence. They are written as
hexadecimal digits, so that no text can terminate a query.
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
from toolkit.frames.engines.streams import TAG_BITS, EngineTable, Rows, Term

# Hexadecimal digits of a hash, of which TAG_BITS bits are used.
_DIGITS = 8
# The most numbers of a group that are collected without sorting.
_MOST_UNSORTED = 100


@dataclass(frozen=True, eq=False)
class Text:
    """An expression of SQL."""

    text: str

    def _with(self, sign: str, other: object) -> "Text":
        right = other.text if isinstance(other, Text) else f"cast({other} as bigint)"
        return Text(f"({self.text} {sign} {right})")

    def __invert__(self) -> "Text":
        return Text(f"(not {self.text})")


_SIGNS = {"add": "+", "sub": "-", "mul": "*", "mod": "%", "lt": "<", "le": "<=", "gt": ">", "ge": ">=", "and": "and"}
for _name, _sign in (_SIGNS | {"or": "or"}).items():
    setattr(Text, f"__{_name}__", partialmethod(Text._with, _sign))


class Sql(EngineTable):
    """The expressions that both dialects share; `Rows` are the text of a query."""

    _text = "{}"
    """Text as bytes."""
    _hash = "{}"
    """The hash of bytes, as hexadecimal digits."""
    _digits = "{}"
    """Hexadecimal digits as a whole number."""
    _day = "{}"
    """A date as days since 1970."""
    _long = "bigint"
    """Whole numbers of more than 63 bits."""
    _shift = "({} >> {})"
    _xor = "xor({}, {})"

    def term(self, name: str) -> Term:
        return Text(name)

    def constant(self, value: float | str) -> Term:
        if isinstance(value, str):
            return Text(f"unhex('{value.encode().hex()}')")
        kind = "double" if isinstance(value, float) else "bigint" if value < 2**63 else self._long
        return Text(f"cast('{value!r}' as {kind})")

    def key(self, term: Term, column: Column, *, days: bool = False) -> Term:
        kind = column.kind
        if kind.name == "moment":
            return self._moment(term, column, days)
        if kind.name == "number":
            return self.number(term, column)
        if kind.name == "day":
            return Text(self._day.format(term.text))
        if kind.name == "text":
            return Text(self._text.format(term.text))
        return Text(f"cast({term.text} as {'bigint' if kind.limits[1] < 2**63 else self._long})")

    def number(self, term: Term, column: Column) -> Term:
        numbers = Text(f"cast({term.text} as double)")
        if column.kind.name != "number":
            return numbers
        # In SQL NaN is greater than every number.
        return self.case(numbers <= self.constant(float("inf")), numbers)

    def clamped(self, term: Term, column: Column, low: float, high: float) -> Term:  # noqa: ARG002
        value = Text(f"cast({term.text} as double)")
        # In SQL NaN is greater than every number.
        beyond = self.case(value <= self.constant(float("inf")), self.constant(high))
        outside = self.case(value < self.constant(low), self.constant(low), beyond)
        return self.case((value >= self.constant(low)) & (value <= self.constant(high)), value, outside)

    @abstractmethod
    def _moment(self, term: Term, column: Column, days: bool) -> Term:
        """Convert moments to microseconds, or to days since 1970 in the column's time zone."""

    def tag(self, term: Term, column: Column, secret: bytes) -> Term:
        if column.kind.name == "text":
            digest = self._hash.format(f"unhex('{secret.hex()}') || {term.text}")
            term = Text(self._digits.format(f"substr({digest}, 1, {_DIGITS})"))
        return Text(f"cast({self.bits(term, 0, TAG_BITS).text} as bigint)")

    def bits(self, term: Term, low: int, size: int | None = None) -> Term:
        shifted = self._shift.format(term.text, low) if low else term.text
        return Text(shifted if size is None else f"({shifted} & cast({2**size - 1} as bigint))")

    def xor(self, first: Term, second: Term) -> Term:
        return Text(self._xor.format(first.text, second.text))

    def case(self, condition: Term, value: Term, otherwise: Term | None = None) -> Term:
        rest = "" if otherwise is None else f" else {otherwise.text}"
        return Text(f"(case when {condition.text} then {value.text}{rest} end)")

    def missing(self, term: Term) -> Term:
        return Text(f"({term.text} is null)")

    def is_in(self, term: Term, values: Sequence[Any]) -> Term:
        return Text(f"({term.text} in ({', '.join(self.constant(value).text for value in values)}))")

    def count(self, term: Term | None = None) -> Term:
        return Text("count(*)" if term is None else f"count({term.text})")

    def total(self, name: str) -> Term:
        return Text(f"sum({name})")

    def with_columns(self, rows: Rows, terms: Mapping[str, Term], *, only: bool = False) -> Rows:
        columns = [f"{term.text} as {name}" for name, term in terms.items()]
        return f"(select {', '.join(columns if only else ['*', *columns])} from {rows})"

    def filter(self, rows: Rows, condition: Term) -> Rows:
        return f"(select * from {rows} where {condition.text})"

    def group_by(self, rows: Rows, by: Sequence[str], terms: Mapping[str, Term]) -> Rows:
        columns = [*by, *(f"{term.text} as {name}" for name, term in terms.items())]
        groups = f" group by {', '.join(by)}" if by else ""
        return f"(select {', '.join(columns)} from {rows}{groups})"

    def join_codes(self, rows: Rows, key: str, codes: Sequence[tuple[Any, int]], name: str) -> Rows:
        table = self._code_table(codes, name)
        return f"(select a.*, b.{name} from {rows} a left join {table} b on a.{key} = b.value)"

    @abstractmethod
    def _code_table(self, codes: Sequence[tuple[Any, int]], name: str) -> str:
        """Return a table of values and their codes, as the text of a query."""

    def with_rank(self, rows: Rows, by: Sequence[str], order: Sequence[str], name: str, *, dense: bool = False) -> Rows:
        function = "dense_rank" if dense else "row_number"
        rank = f"{function}() over (partition by {', '.join(by)} order by {', '.join(order)})"
        return f"(select *, {rank} as {name} from {rows})"


class Relation(Sql):
    """A relation of DuckDB."""

    _text, _hash, _digits = "encode(cast({} as varchar))", "sha256({})", "cast('0x' || {} as bigint)"
    _day = "cast({} - date '1970-01-01' as bigint)"
    _long = "hugeint"

    def __init__(self, table: Any) -> None:
        self._table, self.names = table, list(table.columns)

    def empty(self) -> Any:
        return self._table.limit(0).to_arrow_table()

    def batches(self, names: Sequence[str]) -> Iterator[Any]:
        import duckdb
        import pyarrow as pa

        for batch in _batches(self._table.select(*(duckdb.ColumnExpression(name) for name in names))):
            yield pa.Table.from_batches([batch])

    def row_count(self) -> int:
        return int(self._table.aggregate("count(*)").fetchall()[0][0])

    def collect(self) -> Any:
        return self._table.to_arrow_table()

    def supports(self, column: Column, *, days: bool = False) -> bool:
        return super().supports(column) or (column.kind.name == "moment" and (days or column.kind.tick == 1000))

    def select(self, columns: Mapping[str, str]) -> Rows:
        quoted = {name: f'"{label.replace(chr(34), chr(34) * 2)}"' for name, label in columns.items()}
        return f"(select {', '.join(f'{label} as {name}' for name, label in quoted.items()) or '1'} from confidential)"

    def _moment(self, term: Term, column: Column, days: bool) -> Term:
        if days:
            zone = str(getattr(column.empty()._values.type, "tz", None) or "").replace("'", "''")
            local = f"timezone('{zone}', {term.text})" if zone else term.text
            return Text(self._day.format(f"cast({local} as date)"))
        far = f"case when {term.text} > make_timestamp(0) then {2**63 - 1} else {-(2**63) + 1} end"
        if column.kind.zoned:
            far = far.replace("make_timestamp(0)", "to_timestamp(0)")
        finite = f"when isfinite({term.text}) then epoch_us({term.text})"
        return Text(f"(case {finite} when {term.text} is not null then {far} end)")

    def rounded(self, term: Term) -> Term:
        return Text(f"try_cast({term.text} as bigint)")  # DuckDB rounds to the nearest integer, halves to even

    def sums(self, term: Term, most: int) -> dict[int, Term]:  # noqa: ARG002
        return {0: Text(f"sum({term.text})")}  # DuckDB adds up in 128 bits

    def total(self, name: str) -> Term:
        return Text(f"cast(sum({name}) as {'hugeint' if name.startswith('t') else 'bigint'})")

    def smallest(self, rows: Rows, by: Sequence[str], order: str, cap: int) -> Rows:
        if cap > _MOST_UNSORTED:
            return super().smallest(rows, by, order, cap)
        minimum = f"min({order})" if cap == 1 else f"unnest(min({order}, {cap}))"
        return f"(select {', '.join(by)}, {minimum} as {order} from {rows} group by {', '.join(by)})"

    def _code_table(self, codes: Sequence[tuple[Any, int]], name: str) -> str:
        # All values are one constant: binding a constant for each takes longer than the join.
        values = [value for value, _ in codes]
        if isinstance(values[0], str):
            unnested = f"unhex(unnest(string_split('{','.join(value.encode().hex() for value in values)}', ',')))"
        else:
            kind = "double" if any(isinstance(value, float) for value in values) else self._long
            kind = "bigint" if kind != "double" and max(map(abs, values)) < 2**63 else kind
            unnested = f"unnest(cast('{values}' as {kind}[]))"
        return f"(select {unnested} as value, unnest(cast('{[code for _, code in codes]}' as bigint[])) as {name})"

    def fetch(self, rows: Rows) -> dict[str, npt.NDArray[Any]]:
        result = self._table.query("confidential", f"select * from {rows}")
        names = list(result.columns)
        # Sums, whose names begin with "t", have 128 bits, which NumPy does not hold.
        if not any(name.startswith("t") for name in names):
            return {name: np.ma.filled(column, 0) for name, column in result.fetchnumpy().items()}
        columns = np.array([[number or 0 for number in row] for row in result.fetchall()], dtype=object)
        return dict(zip(names, columns.reshape(-1, len(names)).T, strict=True))

    def stream(self, rows: Rows, key: str, number: str) -> Iterator[tuple[Any, int]]:
        result = self._table.query("confidential", f"select {key}, {number} from {rows} order by {key}")
        for batch in _batches(result):
            yield from (
                (_plain(value), count)
                for value, count in zip(*(column.to_pylist() for column in batch.columns), strict=True)
            )


class Spark(Sql):
    """A DataFrame of PySpark. A table that SQL cannot add up is fetched as a whole."""

    _text, _hash, _digits = "cast(cast({} as string) as binary)", "sha2({}, 256)", "cast(conv({}, 16, 10) as bigint)"
    _day = "cast(unix_date({}) as bigint)"
    _shift, _xor = "shiftright({}, {})", "({} ^ {})"

    def __init__(self, table: Any) -> None:
        self._table, self.names = table, list(table.columns)
        self._zone = _zone(table)

    def empty(self) -> Any:
        """Make an empty table from the types; Spark would compute all rows even to return none."""
        with _silent(self._table):
            return self._table.sparkSession.createDataFrame([], self._table.schema).toArrow()

    def batches(self, names: Sequence[str]) -> Iterator[Any]:
        with _silent(self._table):
            yield self._table.select(*map(_quoted, names)).toArrow()

    def row_count(self) -> int:
        with _silent(self._table):
            return int(self._table.count())

    def collect(self) -> Any:
        with _silent(self._table):
            return self._table.toArrow()

    def supports(self, column: Column, *, days: bool = False) -> bool:
        if column.kind.name != "moment":
            return super().supports(column)
        if not column.kind.zoned:
            return days  # Spark has no function for the microseconds of a moment without a time zone
        # Days begin by the time zone of the session, which must be the one in which the column was read.
        return not days or _zone(self._table) == self._zone

    def select(self, columns: Mapping[str, str]) -> Rows:
        selection = ", ".join(f"{_quoted(label)} as {name}" for name, label in columns.items()) or "1 as x"
        return f"(select {selection.replace('{', '{{').replace('}', '}}')} from {{confidential}})"

    def _moment(self, term: Term, column: Column, days: bool) -> Term:  # noqa: ARG002
        return Text(self._day.format(f"to_date({term.text})") if days else f"unix_micros({term.text})")

    def rounded(self, term: Term) -> Term:
        return Text(f"try_cast(rint({term.text}) as bigint)")

    def sums(self, term: Term, most: int) -> dict[int, Term]:
        if most < 2**27:
            return {0: Text(f"sum({term.text})")}
        shift = -(-most.bit_length() // 2)
        high = Text(f"sum(shiftright({term.text}, {shift}))")
        return {0: Text(f"sum({term.text} & {2**shift - 1})"), shift: high}

    def _code_table(self, codes: Sequence[tuple[Any, int]], name: str) -> str:
        values = ", ".join(f"({self.constant(value).text}, cast({code} as bigint))" for value, code in codes)
        return f"(select * from values {values} as codes(value, {name}))"

    def fetch(self, rows: Rows) -> dict[str, npt.NDArray[Any]]:
        with _silent(self._table):
            table = self._run(f"select * from {rows}").toArrow()
        return {name: table.column(name).fill_null(0).to_numpy() for name in table.column_names}

    def stream(self, rows: Rows, key: str, number: str) -> Iterator[tuple[Any, int]]:
        with _silent(self._table):
            for value, count in self._run(f"select {key}, {number} from {rows} order by {key}").toLocalIterator():
                yield _plain(value), count

    def _run(self, query: str) -> Any:
        return self._table.sparkSession.sql(query, confidential=self._table)


def _batches(relation: Any) -> Any:
    """Iterate over the rows of a relation in batches."""
    newer = hasattr(type(relation), "to_arrow_reader")  # older versions of DuckDB call it `fetch_arrow_reader`
    return (relation.to_arrow_reader if newer else relation.fetch_arrow_reader)(streams.ROWS)


def _quoted(name: str) -> str:
    return f"`{name.replace('`', '``')}`"


def _zone(table: Any) -> str | None:
    """Return the time zone of a Spark session, if it can be read."""
    with suppress(Exception):
        return str(table.sparkSession.conf.get("spark.sql.session.timeZone"))
    return None


def _plain(value: Any) -> Any:
    """Convert a key to a plain Python value; None for bytes that are not valid text.

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
def _silent(table: Any) -> Iterator[None]:
    """Silence the loggers of Spark and PySpark, which write the value at which a task failed to stderr.

    Executors on other machines write to files there.
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
