"""Conversion of any table to rows of numbers, scaled by public bounds to a norm of at most 1.

Tables are recognized by types and shapes; cells are read only after the charge. A cell never causes an error: a value
that is not a number counts as missing. The scales consist of the bounds of the columns, the largest norm of a row, and
a constant column for the intercept. They are never computed from the data, because a mean or a standard deviation would
be a separate release.
"""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any, cast

import numpy as np
import numpy.typing as npt
from scipy.sparse import issparse
from sklearn.exceptions import DataConversionWarning

from toolkit.core.arrays import Array, ArrayLike, Codes, DataFrame, Mask, number_or_nan, object_array
from toolkit.core.checks import check_bounds, check_positive, exact_fraction, quietly, reject, warn
from toolkit.frames import values
from toolkit.frames.engines.column import Column, numpy_column
from toolkit.frames.frame import ENGINE_TABLES, Frame, column_of, engine_of

_MAX_MAGNITUDE = 1e100  # without bounds, numbers are clipped to this size, so that their squares are finite floats
_LENGTH_FACTOR = 1 - 2.0**-40  # covers the rounding error of a norm, so that no row has a norm above 1


@dataclass(frozen=True)
class Table:
    """Rows and columns of numbers that are read only on demand."""

    n_columns: int
    names: tuple[str, ...] | None
    cells: Callable[[], Array]
    count: Callable[[], int]
    """A function that counts the rows; their number is private unless neighbors replace each other."""

    def read(self) -> Array:
        """Return all numbers, with NaN for missing numbers; errors are not reported."""
        return quietly(self.cells)


@dataclass(frozen=True)
class Examples:
    """Rows of numbers that are read only on demand, with or without a target for each row."""

    rows: Table
    target: Column | None
    read_batches: Callable[[], Iterator[tuple[Array, Any]]]
    """A function that yields all rows; for an engine in batches, possibly in another order each time."""


@dataclass(frozen=True)
class TargetColumn:
    """A column that is read only on demand, and its number of cells."""

    column: Column
    n_rows: int


def make_table(x: DataFrame | ArrayLike) -> Table:
    """Convert a matrix, a list of rows, or a frame to a `Table`, after checking only its type and shape."""
    if issparse(x):
        reject("X must be a dense table", "a sparse matrix", "write X.toarray()", TypeError)
    if not isinstance(x, np.ndarray):
        if engine_of(x) is not None:
            if engine_of(x) in ENGINE_TABLES:
                reject("X must be in memory", f"{engine_of(x)}", "its rows have no order; collect it first", TypeError)
            return _frame(Frame(cast("DataFrame", x)))
        x = np.asarray(x) if hasattr(x, "__array__") else _matrix(_as_list(x))
    kind, shape = x.dtype.kind, x.shape
    if kind == "c":
        reject("X must hold real numbers", "complex numbers", "Complex data not supported")
    if kind not in "biufO":
        reject("X must be a table of numbers", f"dtype {x.dtype}", "text and dates are not numbers")
    if x.ndim != 2 or shape[1] == 0:
        shortage = f"{shape[1]} feature(s) (shape={shape}) while a minimum of 1 is required" if x.ndim == 2 else ""
        reject("X must have rows and columns", shortage or f"shape {shape}", "Reshape your data")
    return Table(shape[1], None, lambda: to_floats(x), lambda: shape[0])


def make_examples(x: Any, y: Any, *, target: bool = True) -> Examples:
    """Return rows and targets; if `y` is a string, it names the target column of the frame `x`."""
    by_name = target and isinstance(y, str)
    if not by_name and engine_of(x) not in ENGINE_TABLES:
        rows = make_table(x)
        column = target_column(y, rows.count()).column if target else None
        return Examples(rows, column, lambda: iter([(rows.read(), column)]))
    if target and not by_name:
        remedy = "the rows of an engine have no order, so write fit(frame, 'target')"
        reject("y must name a column of X", type(y).__name__, remedy, TypeError)
    frame = Frame(x)
    target_columns = [frame.column(y)] if by_name else []
    rows, labels = _frame(frame, y if by_name else None), [label for label in frame.labels if not by_name or label != y]

    def read_batches() -> Iterator[tuple[Array, Any]]:
        for part in frame.batches([*labels, y] if by_name else labels):
            yield _cells([part.column(label) for label in labels]), part.column(y) if by_name else None

    return Examples(rows, target_columns[0] if target_columns else None, read_batches)


def to_floats(cells: npt.NDArray[Any]) -> Array:
    """Return cells as floats, with NaN for missing cells and for other types; never raise an error."""
    if isinstance(cells, np.ma.MaskedArray):
        return np.where(np.ma.getmaskarray(cells), np.nan, to_floats(cells.data))
    with np.errstate(all="ignore"):
        if cells.dtype.kind == "O":
            flat = np.fromiter((number_or_nan(cell) for cell in cells.ravel()), dtype=float, count=cells.size)
            return flat.reshape(cells.shape)
        return cells.astype(np.float64)


def class_codes(column: Column, classes: tuple[Any, ...]) -> Callable[[Column], Codes]:
    """Return a function that finds the index of each label among the classes, or -1 for other labels."""
    plain = values.parse_plain(classes, column.kind)
    if plain is not None:
        targets: Sequence[Any] = plain[1]
    else:
        selected = [values.parse_value(label, "a class") for label in classes]
        values.check_kinds(selected, column.kind, "y")
        targets = [values.to_stored_value(value, column.kind, "y") for value in selected]
    return lambda labels: values.value_codes(labels, targets, as_days=False)


def target_column(y: Any, rows: int | None = None) -> TargetColumn:
    """Return the target with one cell per row; each entry of a list is a cell."""
    if y is None:
        reject("a learner requires y to be passed, but the target y is None", "None", "there is nothing to learn")
    if issparse(y):
        reject("y must be a column", "a sparse matrix", "write y.toarray()", TypeError)
    if isinstance(y, np.ndarray) and y.ndim == 1:
        target = TargetColumn(numpy_column(y), len(y))
    elif engine_of(y) is not None or (hasattr(y, "__array__") and getattr(y, "ndim", 1) != 1):
        target = _single_column(y)
    else:
        column = column_of(y)
        if column is None:
            y = np.asarray(y) if hasattr(y, "__array__") else object_array(_as_list(y))
            column = numpy_column(y)
        target = TargetColumn(column, len(y))
    if rows is not None and target.n_rows != rows:
        _refuse_shape(getattr(y, "shape", (target.n_rows,)))
    if isinstance(y, np.ndarray) and y.dtype.kind == "c":
        reject("y must hold labels or real numbers", "complex numbers", "Complex data not supported")
    return target


def _single_column(y: Any) -> TargetColumn:
    engine = engine_of(y)
    y = np.asarray(y) if engine is None else y
    shape: tuple[int, ...] = () if engine in ENGINE_TABLES else y.shape
    if len(shape) != 2 or shape[1] != 1:
        _refuse_shape(shape)
    warn("A column-vector y was passed when a 1d array was expected: it is read as one.", DataConversionWarning)
    return TargetColumn(numpy_column(y[:, 0]) if engine is None else Frame(y).all_columns()[0], shape[0])


def _refuse_shape(shape: tuple[int, ...]) -> None:
    reject("y should be a 1d array with one cell for each row of X", f"shape {shape}", "rows and cells form no pairs")


def _as_list(x: DataFrame | ArrayLike) -> list[Any]:
    if isinstance(x, Iterable) and not isinstance(x, str | bytes | dict):
        return list(x)
    reject("data must be an array, lists or a frame", type(x).__name__, "its cells cannot be found", TypeError)


def _matrix(rows: list[Any]) -> npt.NDArray[Any]:
    """Return an array of objects, so that no cell determines how other cells are read."""
    lengths = {len(row) if issubclass(type(row), list | tuple | np.ndarray) else -1 for row in rows}
    if len(lengths) > 1:
        reject("rows must have the same length", f"{len(lengths)} lengths", "columns would be cut short")
    if lengths in ({-1}, set()):
        return object_array(rows)
    return object_array(chain.from_iterable(rows)).reshape(len(rows), lengths.pop())


def _frame(frame: Frame, target: str | None = None) -> Table:
    selected = [
        entry
        for entry in zip(frame.all_columns(), frame.names, frame.labels, strict=True)
        if target is None or entry[2] != target
    ]
    columns = [column.require_numbers(f"{name} of X") for column, name, _ in selected]
    if not columns:
        reject("X must have columns", "0 feature(s) while a minimum of 1 is required", "there is nothing to learn")
    texts = tuple(label for *_, label in selected if isinstance(label, str))
    names = texts if len(texts) == len(columns) else None
    return Table(len(columns), names, lambda: _cells(columns), lambda: len(frame))


def _cells(columns: Sequence[Column]) -> Array:
    return np.column_stack([column.floats() for column in columns])


@dataclass(frozen=True, eq=False)
class Scale:
    """The map from a person's numbers to a row with a norm of at most 1, and from weights back to coefficients.

    A column is clipped to its bounds and scaled to [-1, 1], and missing numbers are filled in. If the norm of a row
    exceeds `row_norm`, the row is shortened to this norm. The constant is as large as one of d equal columns, and is
    part of the row: (sqrt(d) x, 1) / sqrt(d + 1) for a row x with a norm of at most 1. With `drop`, a row with a
    missing number becomes all zeros.
    """

    low: Array
    high: Array
    middle: Array
    half: Array
    row_norm: float
    intercept: bool
    fill: Array
    drop: bool = False

    @property
    def size(self) -> int:
        return len(self.low) + self.intercept

    @property
    def max_entry(self) -> float:
        """The largest possible entry of a row.

        Both bounds of each column are scaled in the same way as its cells, because the middle of two floats may not be
        a float. `_LENGTH_FACTOR` more than covers all other rounding errors.
        """
        scaled_limits = np.abs((np.array([self.low, self.high]) - self.middle) / self.half)
        max_scaled_entry = min(1.0, float(scaled_limits.max()) / self.row_norm)
        return max(self._unit * max_scaled_entry, 1 / math.sqrt(self.size) if self.intercept else 0.0)

    def rows(self, cells: Array) -> Array:
        """Scale the cells; return one column per person, with a norm of at most 1, and one row per weight."""
        rows = np.empty((self.size, len(cells)))
        features = rows[: len(self.low)]
        missing = np.isnan(cells)
        features[:] = np.where(missing, self.fill, cells).T
        np.clip(features, self.low[:, None], self.high[:, None], out=features)
        features -= self.middle[:, None]
        features /= self.half[:, None]
        norms = np.sqrt(np.einsum("ij,ij->j", features, features))
        features *= self._unit * _LENGTH_FACTOR / np.maximum(norms, self.row_norm)
        if self.intercept:
            rows[-1] = _LENGTH_FACTOR / math.sqrt(self.size)
        if self.drop:
            rows *= self.complete(cells)
        return rows

    def complete(self, cells: Array) -> Mask:
        """Return whether each row is used: with `drop`, a row with a missing number is not."""
        return np.asarray(~(np.isnan(cells).any(axis=1) & self.drop))

    def impute(self, cells: Array) -> Array:
        """Return numbers from which a score can be computed, without missing or excessively large numbers."""
        return np.clip(np.where(np.isnan(cells), self.fill, cells), -_MAX_MAGNITUDE, _MAX_MAGNITUDE)

    def coefficients(self, weights: Array) -> tuple[Array, float]:
        """Return the coefficients and the intercept in the units of the data, for rows that were not clipped."""
        slopes = weights[: len(self.low)] * (self._unit * _LENGTH_FACTOR / self.row_norm) / self.half
        constant = weights[-1] * _LENGTH_FACTOR / math.sqrt(self.size) if self.intercept else 0.0
        return slopes, float(constant - slopes @ self.middle)

    @property
    def _unit(self) -> float:
        return math.sqrt(len(self.low) / self.size) if self.intercept else 1.0


def make_scale(
    bounds: object,
    row_norm: Any,
    *,
    features: int,
    names: Sequence[str] | None = None,
    intercept: bool = True,
    missing: Any = "middle",
) -> Scale:
    """Return the scale from one pair of bounds for all columns, a pair for each column, or a mapping by name."""
    if bounds is None and row_norm is None:
        consequence = "they limit how far one person can move the weights, and must not be read from the data"
        reject("`bounds` or `row_norm` must be given", "neither", consequence)
    low, high = np.array(_bounds_by_column(bounds, features, names), dtype=float).T
    if bounds is None:
        middle, half = np.zeros(features), np.ones(features)
    elif intercept:
        middle, half = (low + high) / 2, (high - low) / 2
    else:  # without an intercept, the score must be 0 at 0
        middle, half = np.zeros(features), np.maximum(np.abs(low), np.abs(high))
    max_length = math.sqrt(features) if row_norm is None else float(check_positive(row_norm, "row_norm"))
    if not 1e-100 <= max_length <= _MAX_MAGNITUDE:
        reject("`row_norm` must lie between 1e-100 and 1e100", row_norm, "its square must fit into a float")
    fill = (
        (low + high) / 2 if isinstance(missing, str) else np.full(features, float(exact_fraction(missing, "missing")))
    )
    if not np.all((low <= fill) & (fill <= high)):
        reject("a number for `missing` must lie within all bounds", missing, "numbers are clipped to them")
    return Scale(low, high, middle, half, max_length, intercept, fill, drop=missing == "drop")


def _bounds_by_column(bounds: Any, features: int, names: Sequence[str] | None) -> list[tuple[float, float]]:
    if bounds is None:
        return [(-_MAX_MAGNITUDE, _MAX_MAGNITUDE)] * features
    if isinstance(bounds, Mapping):
        if names is None or set(bounds) != set(names):
            received = f"{len(bounds)} names for {features} columns"
            reject("`bounds` by name must name each column of X", received, "a column without bounds has no scale")
        bounds = [bounds[name] for name in names]
    pairs = list(bounds)
    if len(pairs) == 2 and not any(hasattr(pair, "__len__") and not isinstance(pair, str) for pair in pairs):
        pairs = [tuple(pairs)] * features
    if len(pairs) != features:
        reject("`bounds` must be a pair, or a pair for each column", f"{len(pairs)}", f"X has {features}")
    return [checked_limits(pair, "bounds", "numbers are clipped to them") for pair in pairs]


def checked_limits(pair: Any, name: str, consequence: str) -> tuple[float, float]:
    """Check that two public numbers are increasing and within ±1e100."""
    low, high = map(float, check_bounds(pair, name, consequence))
    if not -_MAX_MAGNITUDE <= low < high <= _MAX_MAGNITUDE:
        reject(
            f"`{name}` must lie within ±{_MAX_MAGNITUDE:g} and differ as floats", f"{low:g} and {high:g}", consequence
        )
    return low, high
