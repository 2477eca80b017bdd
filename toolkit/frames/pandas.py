"""Columns of pandas frames."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from toolkit.core.arrays import Array, Codes, Mask
from toolkit.frames.arrow import arrow_column
from toolkit.frames.column import TICKS, Categories, Cells, Column, Kind, whole_kind


def pandas_column(found: Any) -> Column:
    """A Series of pandas."""
    import pandas as pd

    dtype = found.dtype
    if isinstance(dtype, pd.CategoricalDtype):
        listed = pandas_column(pd.Series(dtype.categories))
        return Categories(listed, found.cat.codes.to_numpy(), replace(listed.kind, categorical=True))
    if isinstance(dtype, pd.ArrowDtype) or (isinstance(dtype, pd.StringDtype) and dtype.storage != "python"):
        import pyarrow as pa

        return arrow_column(pa.array(found))
    kind = kind_of(dtype)
    return Cells(found.tolist, kind) if kind.name in ("object", "text") else PandasColumn(found, kind)


def kind_of(dtype: Any) -> Kind:
    """By the type of pandas, as far as neither arrow nor a list of categories holds the values."""
    import pandas as pd

    if isinstance(dtype, pd.DatetimeTZDtype):
        return Kind("moment", tick=TICKS[dtype.unit], zoned=True)
    if isinstance(dtype, pd.StringDtype):
        return Kind("text")
    plain: Any = dtype if isinstance(dtype, np.dtype) else getattr(dtype, "numpy_dtype", np.dtype("V"))
    if plain.kind in "iu":
        return whole_kind(8 * plain.itemsize, plain.kind == "i")
    if plain.kind == "f":
        return Kind("number", bits=min(8 * plain.itemsize, 64), long=plain.itemsize > 8)
    if plain.kind == "M":
        return Kind("moment", tick=TICKS[np.datetime_data(plain)[0]])
    return Kind({"b": "truth", "O": "object"}.get(plain.kind, "other"))


class PandasColumn(Column):
    """Numbers, truth values and dates, held by numpy or with a mask beside; all else that has no kind of its
    own.
    """

    def __init__(self, found: Any, kind: Kind) -> None:
        self._found, self.kind = found, kind

    def _read(self, dtype: str, nothing: Any) -> npt.NDArray[Any]:
        """As an array of another type; a column that can hold NA has one appended first."""
        import pandas as pd

        if isinstance(self._found.dtype, np.dtype):
            return np.asarray(self._found.to_numpy(), dtype=dtype)
        padded = pd.concat([self._found, pd.Series([pd.NA], dtype=self._found.dtype)], ignore_index=True)
        return np.asarray(padded.to_numpy(dtype=dtype, na_value=nothing)[:-1])

    def floats(self) -> Array:
        return self._read("float64", np.nan)

    def ticks(self, *, local: bool = False) -> tuple[npt.NDArray[Any], Mask]:
        if self.kind.name == "moment":
            shown = self._found
            if self.kind.zoned:
                shown = shown.dt.tz_localize(None) if local else shown.dt.tz_convert(None)
            held = shown.to_numpy()
            return held.view(np.int64), np.isnat(held)
        return self._read("uint64" if self.kind.limits[1] == 2**64 - 1 else "int64", 0), self.missing()

    def places(self, texts: Sequence[str]) -> Codes:
        raise NotImplementedError("a column of text is read by arrow or cell by cell")

    def missing(self) -> Mask:
        if self.kind.name == "number":
            return np.isnan(self.floats())
        return np.asarray(self._found.isna().to_numpy(), dtype=bool)

    def cells(self) -> list[Any]:
        return list(self._found.tolist())

    def empty(self) -> Column:
        return PandasColumn(self._found.iloc[:0], self.kind)
