"""Columns of pyarrow tables, and columns of pandas that arrow holds."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from toolkit.core.arrays import Array, Codes, Mask
from toolkit.frames.column import TICKS, Cells, Column, Kind, decimal_kind, whole_kind


def arrow_column(found: Any) -> Column:
    """An array or chunked array of pyarrow."""
    kind = kind_of(found.type)
    return Cells(partial(_python, found), kind) if kind.name == "object" else ArrowColumn(found, kind)


def kind_of(type_: Any) -> Kind:
    """By the type of arrow."""
    from pyarrow import types

    if types.is_dictionary(type_):
        return replace(kind_of(type_.value_type), categorical=True)
    if types.is_integer(type_):
        return whole_kind(type_.bit_width, types.is_signed_integer(type_))
    if types.is_floating(type_):
        return Kind("number", bits=type_.bit_width)
    if types.is_decimal(type_):
        return decimal_kind(type_.precision)
    if types.is_timestamp(type_):
        return Kind("moment", tick=TICKS[type_.unit], zoned=type_.tz is not None)
    if types.is_date(type_):
        return Kind("day", tick=86_400 * 10**9 if types.is_date32(type_) else 10**6)
    text = types.is_string(type_) or types.is_large_string(type_) or str(type_) == "string_view"
    plain = {"truth": types.is_boolean(type_), "text": text, "object": types.is_null(type_)}
    return Kind(next((name for name, found in plain.items() if found), "other"))


class ArrowColumn(Column):
    """Read with pyarrow's own kernels."""

    def __init__(self, found: Any, kind: Kind) -> None:
        self._found, self.kind = found, kind

    def _padded(self) -> Any:
        """In one piece, categories as values, and one missing value at the end."""
        import pyarrow as pa

        chunks = self._found.chunks if isinstance(self._found, pa.ChunkedArray) else [self._found]
        plain = self._found.type.value_type if self.kind.categorical else self._found.type
        return pa.concat_arrays([*(chunk.cast(plain) for chunk in chunks), pa.nulls(1, plain)])

    def floats(self) -> Array:
        import pyarrow as pa
        import pyarrow.compute as pc

        numbers = pc.cast(self._padded(), pa.float64(), safe=False)
        return np.asarray(pc.fill_null(numbers, float("nan")).to_numpy(zero_copy_only=False)[:-1])

    def ticks(self, *, local: bool = False) -> tuple[npt.NDArray[Any], Mask]:
        import pyarrow as pa
        import pyarrow.compute as pc

        padded = self._padded()
        if local and self.kind.zoned:
            padded = pc.local_timestamp(padded)
        width = 32 if self.kind.name == "day" and padded.type.bit_width == 32 else 64
        held = padded.type if self.kind.name == "whole" else pa.int32() if width == 32 else pa.int64()
        ticks = pc.fill_null(padded.cast(held), 0).to_numpy(zero_copy_only=False)
        return ticks[:-1], pc.is_null(padded).to_numpy(zero_copy_only=False)[:-1]

    def places(self, texts: Sequence[str]) -> Codes:
        import pyarrow as pa
        import pyarrow.compute as pc

        padded = self._padded()
        found = pc.index_in(padded, value_set=pa.array(texts, type=padded.type))
        return np.asarray(pc.fill_null(found, -1).to_numpy(zero_copy_only=False)[:-1], dtype=np.int64)

    def has(self, texts: Sequence[str]) -> Mask:
        import pyarrow as pa
        import pyarrow.compute as pc

        padded = self._padded()
        return np.asarray(
            pc.is_in(padded, value_set=pa.array(texts, type=padded.type)).to_numpy(zero_copy_only=False)[:-1]
        )

    def missing(self) -> Mask:
        import pyarrow.compute as pc

        return np.asarray(pc.is_null(self._padded(), nan_is_null=True).to_numpy(zero_copy_only=False)[:-1])

    def tally(self, counted: Mask) -> dict[Any, int]:
        import pyarrow as pa
        import pyarrow.compute as pc

        values, numbers = pc.value_counts(self._padded().filter(pa.array(np.append(counted, True)))).flatten()
        return dict(zip(_python(values), numbers.to_pylist(), strict=True))

    def cells(self) -> list[Any]:
        return _python(self._found)

    def empty(self) -> Column:
        return ArrowColumn(self._found.slice(0, 0), self.kind)


def _python(found: Any) -> list[Any]:
    """The values as Python objects, None where Python has no such value: a date beyond its years, say."""

    def value(scalar: Any) -> Any:
        try:
            return scalar.as_py()
        except Exception:
            return None

    return [value(scalar) for scalar in found]
