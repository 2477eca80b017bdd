"""Tables of any kind as numbers: what they are is known from types and shapes, and cells are read later, once
they are paid for.

A cell never decides an error: what is no number is missing.
"""

import warnings
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.sparse import issparse

from toolkit.core.arrays import Array, Codes, number, objects
from toolkit.core.checks import refuse, untold
from toolkit.frames import values as wanted
from toolkit.frames.column import Column, numpy_column
from toolkit.frames.frame import Frame, column_of, engine_of
from toolkit.frames.streams import SOURCES


@dataclass(frozen=True)
class Table:
    """Rows and columns of numbers that are not read yet; `gaps` if its types can hold missing numbers."""

    shape: tuple[int, int]
    names: tuple[str, ...] | None
    cells: Callable[[], Array]
    gaps: bool = True

    def read(self) -> Array:
        """All numbers, NaN where they are missing; what fails is not told."""
        return untold(self.cells)


@dataclass(frozen=True)
class Target:
    """A column that is not read yet, and how many cells it has."""

    column: Column
    rows: int


def table(x: Any) -> Table:
    """A matrix, a list of rows, or a frame of pandas, polars or pyarrow; refused by type and shape alone.

    >>> table([[1, 2], [3, "x"]]).read()
    array([[ 1.,  2.],
           [ 3., nan]])
    """
    if issparse(x):
        refuse("X must be a dense table", "a sparse matrix", "write X.toarray()", TypeError)
    if engine_of(x) is not None:
        return _frame(x)
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
    whole = array.dtype.kind in "biu" and not isinstance(array, np.ma.MaskedArray)
    return Table(array.shape, None, lambda: numbers(array), gaps=not whole)


def numbers(cells: npt.NDArray[Any]) -> Array:
    """Cells as floats, NaN where they are missing or no numbers; never an error."""
    if isinstance(cells, np.ma.MaskedArray):
        return np.where(np.ma.getmaskarray(cells), np.nan, numbers(cells.data))
    with np.errstate(all="ignore"):
        if cells.dtype.kind == "O":
            flat = np.fromiter((number(cell) for cell in cells.ravel()), dtype=float, count=cells.size)
            return flat.reshape(cells.shape)
        return cells.astype(np.float64)


def places(target: Target, classes: tuple[Any, ...]) -> Callable[[], Codes]:
    """How the place of each label among the classes is found, -1 for a label that is none of them; refused if
    the column's type can never hold one of them.
    """
    values, column = [wanted.value_of(label, "a class") for label in classes], target.column
    wanted.check_kinds(values, column.kind, "y")
    held = [wanted.fitted(value, column.kind, "y") for value in values]
    return lambda: wanted.codes(column, held, days=False)


def one_column(y: Any, rows: int | None = None) -> Target:
    """The target, one cell for each row. An entry of a list is a cell, whatever it is."""
    if y is None:
        refuse("a learner requires y to be passed, but the target y is None", "None", "nothing is learnt")
    if issparse(y):
        refuse("y must be a column", "a sparse matrix", "write y.toarray()", TypeError)
    if engine_of(y) is not None or (hasattr(y, "__array__") and getattr(y, "ndim", 1) != 1):
        y = _only_column(y)
    found = column_of(y)
    if found is None:
        y = np.asarray(y) if hasattr(y, "__array__") else objects(_listed(y))
        found = numpy_column(y)
    if getattr(y, "ndim", 1) != 1 or (rows is not None and len(y) != rows):
        shape = getattr(y, "shape", (len(y),))
        refuse("y should be a 1d array with one cell for each row of X", f"shape {shape}", "no pairs")
    if isinstance(y, np.ndarray) and y.dtype.kind == "c":
        refuse("y must hold labels or real numbers", "complex ones", "Complex data not supported")
    return Target(found, len(y))


def _only_column(y: Any) -> Any:
    """The column of a frame or a matrix that has one."""
    engine = engine_of(y)
    y = np.asarray(y) if engine is None else y
    shape: tuple[int, ...] = () if engine in SOURCES else y.shape
    if len(shape) != 2 or shape[1] != 1:
        refuse("y should be a 1d array with one cell for each row of X", f"shape {shape}", "no pairs")
    from sklearn.exceptions import DataConversionWarning

    warnings.warn(
        "A column-vector y was passed when a 1d array was expected: it is read as one.",
        DataConversionWarning,
        stacklevel=5,
    )
    if engine == "polars":
        return y.to_series(0)
    return y.column(0) if engine == "pyarrow" else y.iloc[:, 0] if engine == "pandas" else y[:, 0]


def _array(x: Any) -> npt.NDArray[Any]:
    return x if isinstance(x, np.ndarray) else np.asarray(x) if hasattr(x, "__array__") else _rows(_listed(x))


def _listed(x: Any) -> list[Any]:
    if isinstance(x, Iterable) and not isinstance(x, str | bytes | dict):
        return list(x)
    refuse("data must be an array, lists or a frame", type(x).__name__, "its cells cannot be found", TypeError)


def _rows(rows: list[Any]) -> npt.NDArray[Any]:
    """An array of objects, so that no cell decides what the others are read as."""
    lengths = {len(row) if issubclass(type(row), list | tuple | np.ndarray) else -1 for row in rows}
    if len(lengths) > 1:
        refuse("rows must have the same length", f"{len(lengths)} lengths", "columns would be cut short")
    if lengths in ({-1}, set()):
        return objects(rows)
    return objects(chain.from_iterable(rows)).reshape(len(rows), lengths.pop())


def _frame(x: Any) -> Table:
    if engine_of(x) in SOURCES:
        refuse("X must be in memory", f"{engine_of(x)}", "rows meet those of y; collect it first", TypeError)
    frame = Frame(x)
    columns = [one.adds_up(f"{name} of X") for one, name in zip(frame.all(), frame.names, strict=True)]
    if not columns:
        refuse("X must have columns", "0 feature(s) while a minimum of 1 is required", "nothing is learnt")
    labels = tuple(frame.labels)
    texts = tuple(one for one in labels if isinstance(one, str))
    whole = hasattr(x, "iloc") and all(isinstance(dtype, np.dtype) and dtype.kind in "biu" for dtype in x.dtypes)
    return Table(
        (len(frame), len(columns)),
        texts if len(texts) == len(labels) else None,
        lambda: np.column_stack([column.floats() for column in columns]),
        gaps=not whole,
    )
