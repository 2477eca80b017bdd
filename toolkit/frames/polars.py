"""Columns of polars frames."""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from toolkit.core.arrays import Array, Codes, Mask
from toolkit.frames.column import DAY, TICKS, Cells, Column, Kind, decimal_kind, whole_kind

if TYPE_CHECKING:
    import polars as pl

_ROWS = 2**20 + 1  # a part of a frame, and the missing value at its end
_MOST_HASHED = 2**10  # keys: a table of the square of their number has no two in one place for most seeds


def polars_column(series: "pl.Series") -> Column:
    """A Series of polars."""
    kind = kind_of(series.dtype)
    return Cells(series.to_list, kind) if kind.name == "object" else PolarsColumn(series, kind)


def kind_of(dtype: "pl.DataType") -> Kind:
    """By the type of polars."""
    import polars as pl

    if dtype.is_integer():
        name = str(dtype)
        return whole_kind(int(name.removeprefix("U").removeprefix("Int")), signed=not name.startswith("U"))
    if dtype.is_float():
        return Kind("number", bits=int(str(dtype).removeprefix("Float")))
    if isinstance(dtype, pl.Datetime):
        return Kind("moment", tick=TICKS[dtype.time_unit], zoned=dtype.time_zone is not None)
    if isinstance(dtype, pl.Categorical | pl.Enum):
        return Kind("text", categorical=True)
    if isinstance(dtype, pl.Date):
        return Kind("day", tick=DAY)
    if isinstance(dtype, pl.Decimal):
        return decimal_kind(dtype.precision or 38)
    plain = {pl.Boolean: "truth", pl.String: "text", pl.Null: "object", pl.Object: "object"}
    return Kind(plain.get(dtype.base_type(), "other"))


class PolarsColumn(Column):
    """Read with the methods of polars."""

    def _padded(self, dtype: "type[pl.DataType]") -> Any:
        """In one piece as another type, with one missing value at the end."""
        return self._values.cast(dtype, strict=False).extend_constant(None, 1).rechunk()

    def floats(self) -> Array:
        import polars as pl

        return np.asarray(self._padded(pl.Float64).fill_null(float("nan")).to_numpy()[:-1])

    def ticks(self, *, local: bool = False) -> tuple[npt.NDArray[Any], Mask]:
        import polars as pl

        series = self._values.dt.replace_time_zone(None) if local and self.kind.zoned else self._values
        stored = pl.UInt64 if self.kind.limits[1] == 2**64 - 1 else pl.Int64
        padded = PolarsColumn(series.to_physical(), self.kind)._padded(stored)
        return padded.fill_null(0).to_numpy()[:-1], padded.is_null().to_numpy()[:-1]

    def places(self, texts: Sequence[str]) -> Codes:
        import polars as pl

        padded, by_hash = self._padded(pl.String), Hashed.of(texts)
        listed: Any = None if by_hash else pl.Enum(texts)

        def placed(start: int) -> Codes:
            some = padded.slice(start, _ROWS)
            if by_hash:
                return by_hash.places(some)
            codes = some.cast(listed, strict=False).to_physical()
            return np.asarray(codes.cast(pl.Int64).fill_null(-1).to_numpy())

        starts = range(0, len(padded), _ROWS)
        if len(starts) == 1:
            return placed(0)[:-1]
        with ThreadPoolExecutor(pl.thread_pool_size()) as pool:  # polars does it on one core alone
            return np.concatenate(list(pool.map(placed, starts)))[:-1]

    def has(self, texts: Sequence[str]) -> Mask:
        import polars as pl

        return np.asarray(self._padded(pl.String).is_in(list(texts)).fill_null(False).to_numpy()[:-1])

    def missing(self) -> Mask:
        if self.kind.name == "number":
            return np.isnan(self.floats())
        return np.asarray(self._values.extend_constant(None, 1).is_null().to_numpy()[:-1])

    def tally(self, counted: Mask) -> dict[Any, int]:
        import polars as pl

        counts = self._padded(pl.String).filter(pl.Series(np.append(counted, True))).value_counts()
        return dict(zip(*(counts.to_series(place).to_list() for place in (0, 1)), strict=True))

    def cells(self) -> list[Any]:
        return list(self._values.to_list())

    def empty(self) -> Column:
        return PolarsColumn(self._values.head(0), self.kind)


@dataclass(frozen=True, eq=False)
class Hashed:
    """Texts in a table, by the first bits of their hash. A text of a column is compared with the one that
    lies where it would be, so that no other text of the same hash is taken for it; this is done for every
    row, whether it is one of them, another or missing.
    """

    texts: Any
    table: npt.NDArray[np.uint32]
    seed: int

    @classmethod
    def of(cls, texts: Sequence[str]) -> "Hashed | None":
        """None for no texts, for too many, and if no seed has each in a place of its own."""
        import polars as pl

        if not 0 < len(texts) <= _MOST_HASHED:
            return None
        listed = pl.Series(texts, dtype=pl.String)
        table = np.zeros(4 ** len(texts).bit_length(), dtype=np.uint32)
        for seed in range(64):
            hashed = cls(listed, table, seed)
            if len(np.unique(slots := hashed._slots(listed))) == len(texts):
                table[slots] = np.arange(len(texts), dtype=np.uint32)
                return hashed
        return None

    def places(self, column: "pl.Series") -> Codes:
        """The place of each text of a polars Series in the list, -1 where it is not there."""
        import polars as pl

        near = self.table.take(self._slots(column))
        same = self.texts.gather(pl.Series(near)).eq_missing(column).to_numpy()
        return np.asarray((near.astype(np.int64) + 1) * same - 1)

    def _slots(self, column: "pl.Series") -> npt.NDArray[np.int64]:
        bits = len(self.table).bit_length() - 1
        hashes: npt.NDArray[np.uint64] = column.hash(self.seed).to_numpy()
        return (hashes >> np.uint64(64 - bits)).view(np.int64)
