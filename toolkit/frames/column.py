"""`Column`: what the engines have in common. A column's `Kind` follows from its type; nothing else decides
how it is read.

What cannot be read as a number is missing as a number, whatever it is: whether a column holds such values
must not show as an error, a warning, another shape, or a longer time. Engines go a shorter way through
columns without missing values, so one is always appended before they are asked, and taken off the result.
"""

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from itertools import compress
from typing import Any

import numpy as np
import numpy.typing as npt

from toolkit.core.arrays import Array, Codes, Mask, number
from toolkit.core.checks import refuse
from toolkit.frames import cells

DAY = 86_400 * 10**9
"""Nanoseconds."""
TICKS = {"s": 10**9, "ms": 10**6, "us": 10**3, "ns": 1}
_WORDS = {
    "number": "numbers",
    "whole": "whole numbers",
    "truth": "truth values",
    "text": "text",
    "moment": "dates with a time",
    "day": "dates",
    "object": "Python objects",
    "other": "values of another type",
}


@dataclass(frozen=True)
class Kind:
    """What a column can hold, by its type.

    Parameters
    ----------
    name : str
        "number", "whole", "truth", "text", "moment", "day", "object" or "other".
    limits : pair of int
        The smallest and the largest whole number.
    bits : int
        Of a floating-point number.
    tick : int
        Nanoseconds in a unit of a moment or a day.
    zoned : bool
        Whether moments have a time zone.
    categorical : bool
        Whether values are held as places in a list of categories; such a column is not added up.
    long : bool
        Whether numbers have more digits than a float or 64 bits hold: they are added up as floats, and compared
        one by one, exactly.
    """

    name: str
    limits: tuple[int, int] = (-(2**63), 2**63 - 1)
    bits: int = 64
    tick: int = 1
    zoned: bool = False
    categorical: bool = False
    long: bool = False

    @cached_property
    def one_by_one(self) -> bool:
        """Whether values are compared as Python objects."""
        return self.name == "object" or self.long

    @property
    def words(self) -> str:
        return "categories" if self.categorical else f"{_WORDS[self.name]}{' and a time zone' if self.zoned else ''}"


def whole_kind(bits: int, signed: bool) -> Kind:
    """Integers of a number of bits."""
    limits = (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1) if signed else (0, 2**bits - 1)
    return Kind("whole", limits, long=bits > 64)


def decimal_kind(digits: int) -> Kind:
    """Decimal numbers; up to 15 digits a float tells all of them apart."""
    return Kind("number", long=digits > 15)


class Column(ABC):
    """A column of a frame: its kind and name are public, all that the verbs return is confidential."""

    name: str = ""

    def __init__(self, values: Any, kind: Kind) -> None:
        self._values, self.kind = values, kind

    @abstractmethod
    def floats(self) -> Array:
        """Numbers and truth values as floats, NaN where missing."""

    def ticks(self, *, local: bool = False) -> tuple[npt.NDArray[Any], Mask]:
        """Whole numbers, moments and days as integers, and where they are missing; moments in UTC or local time."""
        raise NotImplementedError("Python objects are compared one by one")

    def places(self, texts: Sequence[str]) -> Codes:
        """The place of each text in the list, -1 where it is not there."""
        raise NotImplementedError("texts are compared cell by cell")

    def has(self, texts: Sequence[str]) -> Mask:
        """Whether each text is in the list."""
        return self.places(texts) >= 0

    @abstractmethod
    def missing(self) -> Mask:
        """Where nothing is."""

    def cells(self) -> list[Any]:
        """The values one by one, as Python objects."""
        return list(self._values.tolist())

    def tally(self, counted: Mask) -> dict[Any, int]:
        """How many of the counted rows hold each text; what else may be among them is no text."""
        return Counter(compress(self.cells(), counted.tolist()))

    @abstractmethod
    def empty(self) -> "Column":
        """A column of the same type without a row."""

    def adds_up(self, name: str = "") -> "Column":
        """Itself, if its type can hold numbers; `name` is what it is called in the refusal."""
        if self.kind.categorical or self.kind.name not in ("number", "whole", "truth", "object"):
            rule = f"{name or f'column {self.name}'} must hold numbers"
            refuse(rule, self.kind.words, "only numbers can be added up and ordered", TypeError)
        return self


class Cells(Column):
    """A column of Python objects, from a function that lists them: one loop over the cells, whatever they are."""

    @np.errstate(all="ignore")
    def floats(self) -> Array:
        return np.array([number(cell) for cell in self.cells()], dtype=np.float64)

    def places(self, texts: Sequence[str]) -> Codes:
        return cells.places(self.cells(), {text: place for place, text in enumerate(texts)})

    @np.errstate(all="ignore")
    def missing(self) -> Mask:
        return np.array([cells.key(cell) is cells.NOTHING for cell in self.cells()], dtype=bool)

    def cells(self) -> list[Any]:
        return list(self._values())

    def empty(self) -> Column:
        return Cells(list, self.kind)


class Categories(Column):
    """Values as places in a list of categories, -1 where missing: the list is read, and its entries put in place."""

    def __init__(self, listed: Column, places: npt.NDArray[Any], kind: Kind) -> None:
        self._listed, self._values, self.kind = listed, places, kind

    def floats(self) -> Array:
        return np.asarray(np.append(self._listed.floats(), np.nan)[self._values])

    def ticks(self, *, local: bool = False) -> tuple[npt.NDArray[Any], Mask]:
        ticks, missing = self._listed.ticks(local=local)
        return np.append(ticks, ticks.dtype.type(0))[self._values], np.append(missing, True)[self._values]

    def places(self, texts: Sequence[str]) -> Codes:
        return np.asarray(np.append(self._listed.places(texts), -1)[self._values])

    def missing(self) -> Mask:
        return np.asarray(np.append(self._listed.missing(), True)[self._values])

    def tally(self, counted: Mask) -> dict[Any, int]:
        numbers = np.bincount(self._values[counted] + 1, minlength=1)
        return dict(zip([None, *self._listed.cells()], numbers.tolist(), strict=False))

    def cells(self) -> list[Any]:
        listed = [*self._listed.cells(), None]
        return [listed[place] for place in self._values.tolist()]

    def empty(self) -> Column:
        return Categories(self._listed.empty(), self._values[:0], self.kind)


def numpy_column(array: npt.NDArray[Any]) -> Column:
    """An array of one dimension; what is masked is missing. Dates are of another type here."""
    if array.dtype.kind in "iuf":
        kind = _number_kind(array.dtype)
    else:
        kind = Kind({"b": "truth", "O": "object", "U": "text"}.get(array.dtype.kind, "other"))
    return Cells(array.tolist, kind) if kind.name in ("object", "text") else NumpyColumn(array, kind)


def _number_kind(dtype: np.dtype[Any]) -> Kind:
    if dtype.kind == "f":
        return Kind("number", bits=min(8 * dtype.itemsize, 64))
    return whole_kind(8 * dtype.itemsize, dtype.kind == "i")


class NumpyColumn(Column):
    """Numbers and truth values, and what has no kind of its own."""

    @np.errstate(all="ignore")
    def floats(self) -> Array:
        numbers = np.ma.getdata(self._values).astype(np.float64)
        return np.where(np.ma.getmaskarray(self._values), np.nan, numbers)

    def ticks(self, *, local: bool = False) -> tuple[npt.NDArray[Any], Mask]:  # noqa: ARG002
        return np.ma.getdata(self._values), np.ma.getmaskarray(self._values)

    def missing(self) -> Mask:
        numbers = self.kind.name in ("number", "whole", "truth")
        return np.isnan(self.floats()) if numbers else np.ma.getmaskarray(self._values)

    def empty(self) -> Column:
        return NumpyColumn(self._values[:0], self.kind)


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

    def _read(self, dtype: str, nothing: Any) -> npt.NDArray[Any]:
        """As an array of another type; a column that can hold NA has one appended first."""
        import pandas as pd

        if isinstance(self._values.dtype, np.dtype):
            return np.asarray(self._values.to_numpy(), dtype=dtype)
        padded = pd.concat([self._values, pd.Series([pd.NA], dtype=self._values.dtype)], ignore_index=True)
        return np.asarray(padded.to_numpy(dtype=dtype, na_value=nothing)[:-1])

    def floats(self) -> Array:
        return self._read("float64", np.nan)

    def ticks(self, *, local: bool = False) -> tuple[npt.NDArray[Any], Mask]:
        if self.kind.name == "moment":
            shown = self._values
            if self.kind.zoned:
                shown = shown.dt.tz_localize(None) if local else shown.dt.tz_convert(None)
            moments = shown.to_numpy()
            return moments.view(np.int64), np.isnat(moments)
        return self._read("uint64" if self.kind.limits[1] == 2**64 - 1 else "int64", 0), self.missing()

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
        numbers = self._pc.cast(self._padded(), self._pa.float64(), safe=False)
        return np.asarray(_unpadded(self._pc.fill_null(numbers, float("nan"))))

    def ticks(self, *, local: bool = False) -> tuple[npt.NDArray[Any], Mask]:
        pa, padded = self._pa, self._padded()
        if local and self.kind.zoned:
            padded = self._pc.local_timestamp(padded)
        short = self.kind.name == "day" and padded.type.bit_width == 32
        stored = padded.type if self.kind.name == "whole" else pa.int32() if short else pa.int64()
        return _unpadded(self._pc.fill_null(padded.cast(stored), 0)), _unpadded(self._pc.is_null(padded))

    def places(self, texts: Sequence[str]) -> Codes:
        padded = self._padded()
        places = self._pc.index_in(padded, value_set=self._pa.array(texts, type=padded.type))
        return np.asarray(_unpadded(self._pc.fill_null(places, -1)), dtype=np.int64)

    def has(self, texts: Sequence[str]) -> Mask:
        padded = self._padded()
        return np.asarray(_unpadded(self._pc.is_in(padded, value_set=self._pa.array(texts, type=padded.type))))

    def missing(self) -> Mask:
        return np.asarray(_unpadded(self._pc.is_null(self._padded(), nan_is_null=True)))

    def tally(self, counted: Mask) -> dict[Any, int]:
        used = self._padded().filter(self._pa.array(np.append(counted, True)))
        values, numbers = self._pc.value_counts(used).flatten()
        return dict(zip(_python(values), numbers.to_pylist(), strict=True))

    def cells(self) -> list[Any]:
        return _python(self._values)

    def empty(self) -> Column:
        return ArrowColumn(self._values.slice(0, 0), self.kind)


def _unpadded(array: Any) -> npt.NDArray[Any]:
    return array.to_numpy(zero_copy_only=False)[:-1]  # type: ignore[no-any-return]


def _python(array: Any) -> list[Any]:
    """The values as Python objects, None where Python has no such value: a date beyond its years, say."""

    def value(scalar: Any) -> Any:
        try:
            return scalar.as_py()
        except Exception:
            return None

    return [value(scalar) for scalar in array]
