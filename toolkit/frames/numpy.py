"""Columns of numpy arrays: numbers and truth values as they are held, texts and objects cell by cell."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from toolkit.core.arrays import Array, Codes, Mask
from toolkit.frames.column import Cells, Column, Kind, whole_kind


def numpy_column(array: npt.NDArray[Any]) -> Column:
    """An array of one dimension; what is masked is missing."""
    kind = kind_of(array.dtype)
    return Cells(array.tolist, kind) if kind.name in ("object", "text") else NumpyColumn(array, kind)


def kind_of(dtype: np.dtype[Any]) -> Kind:
    """By the type of numpy; dates are of another type here."""
    if dtype.kind in "iu":
        return whole_kind(8 * dtype.itemsize, dtype.kind == "i")
    if dtype.kind == "f":
        return Kind("number", bits=min(8 * dtype.itemsize, 64))
    return Kind({"b": "truth", "O": "object", "U": "text"}.get(dtype.kind, "other"))


class NumpyColumn(Column):
    """Numbers and truth values, and what has no kind of its own."""

    def __init__(self, found: npt.NDArray[Any], kind: Kind) -> None:
        self._found, self.kind = found, kind

    @np.errstate(all="ignore")
    def floats(self) -> Array:
        numbers = np.ma.getdata(self._found).astype(np.float64)
        return np.where(np.ma.getmaskarray(self._found), np.nan, numbers)

    def ticks(self, *, local: bool = False) -> tuple[npt.NDArray[Any], Mask]:  # noqa: ARG002
        return np.ma.getdata(self._found), np.ma.getmaskarray(self._found)

    def places(self, texts: Sequence[str]) -> Codes:
        raise NotImplementedError("texts are compared cell by cell")

    def missing(self) -> Mask:
        held = self.kind.name in ("number", "whole", "truth")
        return np.isnan(self.floats()) if held else np.ma.getmaskarray(self._found)

    def cells(self) -> list[Any]:
        return list(self._found.tolist())

    def empty(self) -> Column:
        return NumpyColumn(self._found[:0], self.kind)
