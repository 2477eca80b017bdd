"""LazyFrames of polars, and what is said in its expressions."""

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import numpy.typing as npt

from toolkit.frames import streams
from toolkit.frames.column import Column
from toolkit.frames.streams import TAG_BITS, Rows, Source, Term, text_tag

_KINDS = {float: "Float64", str: "String", int: "Int64"}


class Lazy(Source):
    """A LazyFrame of polars."""

    def __init__(self, table: Any) -> None:
        import polars as pl

        self._pl, self._table, self.names = pl, table, list(table.collect_schema().names())

    def empty(self) -> Any:
        return self._pl.DataFrame(schema=self._table.collect_schema())

    def parts(self, names: Sequence[str]) -> Iterator[Any]:
        return iter(self._table.select(list(names)).collect_batches(chunk_size=streams.ROWS))

    def rows(self) -> int:
        return int(self._table.select(self._pl.len()).collect().item())

    def whole(self) -> Any:
        return self._table.collect()

    def says(self, column: Column, *, days: bool = False) -> bool:  # noqa: ARG002
        return super().says(column) or column.kind.name == "moment"

    def start(self, columns: Mapping[str, str]) -> Rows:
        columns = columns or {"one": self.names[0]}  # without any there would be no rows
        return self._table.select(**{name: self._pl.col(label) for name, label in columns.items()})

    def term(self, name: str) -> Term:
        return self._pl.col(name)

    def constant(self, value: float | str) -> Term:
        large = isinstance(value, int) and value >= 2**63
        return self._pl.lit(value, dtype=self._pl.UInt64 if large else getattr(self._pl, _KINDS[type(value)]))

    def key(self, term: Term, column: Column, *, days: bool = False) -> Term:
        pl, kind = self._pl, column.kind
        if kind.name == "moment":
            local = term.dt.replace_time_zone(None) if days and kind.zoned else term
            return local.dt.date().cast(pl.Int32).cast(pl.Int64) if days else term.to_physical()
        if kind.name == "number":
            return self.number(term, column)
        if kind.name == "day":
            return term.cast(pl.Int32).cast(pl.Int64)
        if kind.name == "text":
            return term.cast(pl.String)
        return term.cast(pl.UInt64 if kind.limits[1] >= 2**63 else pl.Int64)

    def number(self, term: Term, column: Column) -> Term:
        numbers = term.cast(self._pl.Float64, strict=False)
        return numbers.fill_nan(None) if column.kind.name == "number" else numbers

    def rounded(self, term: Term) -> Term:
        return term.round(0, mode="half_to_even").cast(self._pl.Int64, strict=False)

    def tag(self, term: Term, column: Column, secret: bytes) -> Term:
        pl = self._pl
        if column.kind.name == "text":
            return term.map_batches(partial(_tags, secret=secret), return_dtype=pl.Int64, is_elementwise=True)
        if column.kind.limits[1] >= 2**63:
            return (term & pl.lit(2**TAG_BITS - 1, dtype=pl.UInt64)).cast(pl.Int64)
        return self.bits(term, 0, TAG_BITS)

    def bits(self, term: Term, low: int, size: int | None = None) -> Term:
        shifted = term // 2**low if low else term
        return shifted if size is None else shifted & self.constant(2**size - 1)

    def xor(self, left: Term, right: Term) -> Term:
        return left ^ right

    def case(self, condition: Term, value: Term, otherwise: Term | None = None) -> Term:
        return self._pl.when(condition).then(value).otherwise(otherwise)

    def missing(self, term: Term) -> Term:
        return term.is_null()

    def among(self, term: Term, values: Sequence[Any]) -> Term:
        return term.is_in(self._listed(values).implode())

    def counted(self, term: Term | None = None) -> Term:
        return (self._pl.len() if term is None else term.count()).cast(self._pl.Int64)

    def totals(self, term: Term, most: int) -> dict[int, Term]:
        if most < 2**27:
            return {0: term.sum()}
        shift = -(-most.bit_length() // 2)
        return {0: (term % 2**shift).sum(), shift: (term // 2**shift).sum()}

    def again(self, name: str) -> Term:
        return self._pl.col(name).sum()

    def extended(self, rows: Rows, terms: Mapping[str, Term], *, only: bool = False) -> Rows:
        more = rows.with_columns(**terms)
        return more.select(list(terms)) if only else more  # constants alone would be one row

    def filtered(self, rows: Rows, condition: Term) -> Rows:
        return rows.filter(condition)

    def grouped(self, rows: Rows, by: Sequence[str], terms: Mapping[str, Term]) -> Rows:
        return rows.group_by(list(by)).agg(**terms) if by else rows.select(**terms)

    def placed(self, rows: Rows, key: str, codes: Sequence[tuple[Any, int]], name: str) -> Rows:
        values, places = zip(*codes, strict=True)
        table = self._pl.LazyFrame([self._listed(values).alias(key), self._listed(places).alias(name)])
        return rows.join(table, on=key, how="left")

    def ranked(self, rows: Rows, by: Sequence[str], order: Sequence[str], name: str, *, dense: bool = False) -> Rows:
        pl = self._pl
        if dense:
            return rows.with_columns(pl.struct(order).rank("dense").over(by).cast(pl.Int64).alias(name))
        # Equal rows may come in any order: no sum tells them apart.
        return rows.sort(order).with_columns((pl.int_range(pl.len()).over(by) + 1).alias(name))

    def fetched(self, rows: Rows) -> dict[str, npt.NDArray[Any]]:
        table = rows.collect(engine="streaming").fill_null(0)
        return {name: table[name].to_numpy() for name in table.columns}

    def streamed(self, rows: Rows, key: str, number: str) -> Iterator[tuple[Any, int]]:
        yield from rows.sort(key).select(key, number).collect(engine="streaming").iter_rows()

    def _listed(self, values: Sequence[Any]) -> Any:
        """Values of one type, as keys have it."""
        pl, first = self._pl, type(values[0]) if values else int
        large = first is int and any(value >= 2**63 for value in values)
        return pl.Series(list(values), dtype=pl.UInt64 if large else getattr(pl, _KINDS[first]))


def _tags(texts: Any, secret: bytes) -> Any:
    """Of each text its tag, which polars has no function for."""
    import polars as pl

    known = {text: text_tag(text, secret) for text in texts.unique().to_list() if text is not None}
    return pl.Series([known.get(text) for text in texts.to_list()], dtype=pl.Int64)
