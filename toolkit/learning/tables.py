"""Tables of any kind as numbers: what they are is known from types and shapes, and cells are read later, once
they are paid for.

A cell never decides an error: what is no number is missing.
"""

import warnings
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.sparse import issparse

from toolkit.core.arrays import Array, Codes, number
from toolkit.core.checks import refuse
from toolkit.core.extras import check_engine

_NUMBERS = ("int", "uint", "float", "double", "half", "bool", "decimal", "object", "null")
_CELLS = (int, float, bool, np.bool_, Decimal, Fraction)


@dataclass(frozen=True)
class Table:
    """Rows and columns of numbers that are not read yet."""

    shape: tuple[int, int]
    names: tuple[str, ...] | None
    read: Callable[[], Array]


def table(x: Any) -> Table:
    """A matrix, a list of rows, or a frame of pandas, polars or pyarrow; refused by type and shape alone.

    >>> table([[1, 2], [3, "x"]]).read()
    array([[ 1.,  2.],
           [ 3., nan]])
    """
    if issparse(x):
        refuse("X must be a dense table", "a sparse matrix", "write X.toarray()", TypeError)
    names = getattr(x, "columns", None) if hasattr(x, "columns") else getattr(x, "column_names", None)
    if names is not None and hasattr(x, "shape"):
        return _frame(x, list(names) if not callable(names) else [])
    array = _array(x)
    if array.dtype.kind == "c":
        refuse("X must hold real numbers", "complex ones", "Complex data not supported")
    if array.dtype.kind not in "biufO":
        refuse("X must be a table of numbers", f"dtype {array.dtype}", "text and dates have no size")
    if array.ndim != 2 or array.shape[1] == 0:
        refuse(
            "X must have rows and columns",
            f"{array.shape[1]} feature(s) (shape={array.shape}) while a minimum of 1 is required"
            if array.ndim == 2
            else f"shape {array.shape}",
            "Reshape your data",
        )
    return Table(array.shape, None, lambda: numbers(array))


def numbers(cells: npt.NDArray[Any]) -> Array:
    """Cells as floats, NaN where they are missing or no numbers; never an error."""
    if isinstance(cells, np.ma.MaskedArray):
        return np.where(np.ma.getmaskarray(cells), np.nan, numbers(cells.data))
    with np.errstate(all="ignore"):
        if cells.dtype.kind == "O":
            flat = np.fromiter((number(cell) for cell in cells.ravel()), dtype=float, count=cells.size)
            return flat.reshape(cells.shape)
        return cells.astype(np.float64)


def places(y: Any, classes: tuple[Any, ...], rows: int) -> Callable[[], Codes]:
    """How the place of each label among the classes is found; -1 for a label that is none of them."""
    if y is None:
        refuse("a classifier requires y to be passed, but the target y is None", "None", "nothing is learnt")
    array = one_column(y, rows)

    def read() -> Codes:
        if array.dtype.kind in "biuf":
            found = np.full(rows, -1)
            for code, label in enumerate(classes):
                if not isinstance(label, str):
                    found[array == label] = code
            return found
        known = {label: code for code, label in enumerate(classes)}
        usual = (str, np.str_, *_CELLS)
        cells = (cell.item() if isinstance(cell, np.generic) else cell for cell in array)
        return np.array([known.get(c, -1) if type(c) in usual else -1 for c in cells], dtype=int)

    return read


def one_column(y: Any, rows: int) -> npt.NDArray[Any]:
    """The target, one cell for each row."""
    if issparse(y):
        refuse("y must be a column", "a sparse matrix", "write y.toarray()", TypeError)
    array = _array(y)
    if array.ndim == 2 and array.shape[1] == 1:
        from sklearn.exceptions import DataConversionWarning

        warnings.warn(
            "A column-vector y was passed when a 1d array was expected: it is read as one.",
            DataConversionWarning,
            stacklevel=4,
        )
        array = array[:, 0]
    if array.ndim != 1 or len(array) != rows:
        refuse("y should be a 1d array with one cell for each row of X", f"shape {array.shape}", "no pairs")
    if array.dtype.kind == "c":
        refuse("y must hold labels or real numbers", "complex ones", "Complex data not supported")
    return array


def _array(x: Any) -> npt.NDArray[Any]:
    if isinstance(x, np.ndarray):
        return x
    if hasattr(x, "__array__"):
        return np.asarray(x)
    if isinstance(x, Iterable) and not isinstance(x, str | bytes | dict):
        return _from_lists(list(x))
    refuse(
        "data must be an array, lists or a frame", type(x).__name__, "its cells cannot be found", TypeError
    )


def _from_lists(rows: list[Any]) -> npt.NDArray[Any]:
    """An array of objects, so that no cell decides what the others are read as."""
    lengths = {len(row) if isinstance(row, list | tuple | np.ndarray) else -1 for row in rows}
    if len(lengths) > 1:
        refuse("rows must have the same length", f"{len(lengths)} lengths", "columns would be cut short")
    if lengths in ({-1}, set()):
        filled = np.empty(len(rows), dtype=object)
        filled[:] = rows
        return filled
    table = np.empty((len(rows), lengths.pop()), dtype=object)
    for i, row in enumerate(rows):
        table[i, :] = list(row)
    return table


def _frame(frame: Any, names: list[Any]) -> Table:
    check_engine(frame)
    columns = [_column(frame, place, name) for place, name in enumerate(names)]
    for column in columns:
        kind = str(getattr(column, "dtype", getattr(column, "type", ""))).lower()
        if not kind.startswith(_NUMBERS):
            refuse("columns of X must hold numbers", f"a column of {kind}", "text has no size", TypeError)
    if not columns:
        refuse("X must have columns", "0 feature(s) while a minimum of 1 is required", "nothing is learnt")
    texts = tuple(names) if all(isinstance(name, str) for name in names) else None

    def read() -> Array:
        return np.column_stack([numbers(np.asarray(column)) for column in columns])

    return Table((int(frame.shape[0]), len(columns)), texts, read)


def _column(frame: Any, place: int, name: Any) -> Any:
    if hasattr(frame, "iloc"):
        return frame.iloc[:, place]
    return frame.column(place) if hasattr(frame, "column") else frame[name]
