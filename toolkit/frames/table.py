"""Tables as an analysis reads them: columns as arrays, with rows matched by position or by the index of pandas.

A lazy frame returns its distinct rows and their frequencies. Messages name a column if its label is text. Other labels
may be people's values, so messages identify those columns by position.
"""

from collections.abc import Iterator, Sequence
from importlib.util import find_spec
from typing import Any

import numpy as np
import numpy.typing as npt

from toolkit.core.arrays import DataFrame, Mask
from toolkit.core.checks import is_missing, quietly, reject
from toolkit.core.extras import extra

Values = npt.NDArray[Any]
# The maximum number of distinct rows that are fetched.
_MAX_DISTINCT_ROWS = 1_000_000


def array_of(values: Any) -> Values:
    """Convert values to an array; numbers mixed with texts stay numbers.

    >>> array_of([1, "a"]).tolist()
    [1, 'a']
    """
    if isinstance(values, np.ndarray):
        return values
    if hasattr(values, "to_numpy"):
        return np.asarray(values) if hasattr(values, "to_pylist") else np.asarray(values.to_numpy())
    cells = list(values) if isinstance(values, Iterator) else values
    try:
        array = np.asarray(cells)
    except ValueError:  # lists of different lengths
        return np.asarray(cells, dtype=object)
    mixed = array.dtype.kind in "US" and array.ndim == 1 and not all(isinstance(cell, str) for cell in cells)
    return np.asarray(cells, dtype=object) if mixed else array


def column(data: Any, values: Any, argument: str) -> Values:
    """Return a named column, or the given values, as a one-dimensional array of the same length as the data."""
    if isinstance(values, str):
        if values not in column_names(data):
            reject(
                f"{argument} must be a column of the data", repr(values), f"there are {format_columns(data) or 'none'}"
            )
        values = data[values]
    elif not same_index(values, data):
        reject(f"{argument} must have the index of the data", "another", "values would be matched to the wrong rows")
    array = array_of(values)
    if array.ndim != 1 or len(array) != row_count(data):
        received = f"shape {array.shape} for {row_count(data)} rows"
        reject(
            f"{argument} must have one value for each row of the data",
            received,
            "values are matched to rows by position",
        )
    return array


def _labels(data: Any) -> list[Any]:
    if type(data).__name__ == "LazyFrame":  # LazyFrame.columns works, but warns that it is slow
        return list(data.collect_schema().names())
    return list(data if isinstance(data, dict) else getattr(data, "column_names", getattr(data, "columns", ())))


def column_names(data: object) -> tuple[str, ...]:
    """Return the names of the columns of a frame, or of a mapping of names to arrays."""
    return tuple(map(str, _labels(data)))


def format_columns(data: object) -> str:
    """Format the first 20 columns for a message, each by its name if that is text, otherwise by its position."""
    labels = enumerate(_labels(data)[:20], start=1)
    return ", ".join(label if isinstance(label, str) else f"column number {position}" for position, label in labels)


def row_count(data: Any) -> int:
    """Return the number of rows of a frame in memory, or of a mapping of names to arrays."""
    if isinstance(data, dict):
        return len(next(iter(data.values()), ()))
    return int(data.num_rows) if hasattr(data, "num_rows") else len(data)


def as_frame(data: object) -> Any:
    """Convert a mapping of names to arrays to a frame of pandas; return any other frame unchanged."""
    if isinstance(data, dict):
        pd, rule = extra("pandas"), "`data` must hold columns of equal length"
        return quietly(lambda: pd.DataFrame(data), rule, "different lengths", "one row is {'x': [1.0]}", ValueError)
    labels = column_names(data)
    if isinstance(data, np.ndarray) or not labels or type(data).__name__ == "RecordBatch":
        consequence = "a formula names its columns; arrays replace both the formula and the data"
        reject("`data` must be a frame with named columns", type(data).__name__, consequence, TypeError)
    if len(set(labels)) < len(labels):
        reject("column names must be distinct", "a repeated name", "a name must identify one column")
    return data


def rows_in_order(frame: object) -> Any:
    """Wrap a frame with narwhals; its rows must be in memory and in order."""
    try:
        return extra("narwhals").from_native(frame, eager_only=True)
    except TypeError:
        remedy = "collect it first, as a frame of pandas, polars or pyarrow"
        reject("with a `sample` the frame must hold its rows in order", type(frame).__name__, remedy, TypeError)


def missing_mask(values: Values) -> Mask:
    """Return a mask of the missing values: None, NaN, NaT and NA."""
    if values.dtype.kind == "f":
        return np.isnan(values)
    if values.dtype.kind in "mM":
        return np.isnat(values)
    if values.dtype.kind == "O":
        return np.fromiter((is_missing(value) for value in values), dtype=bool, count=len(values))
    return np.zeros(len(values), dtype=bool)


def select_rows(data: object, where: Mask) -> Any:
    """Select rows by a mask, in a frame of the same engine."""
    if where.all():
        return data
    if isinstance(data, np.ndarray):
        return data[where]
    return rows_in_order(data)[np.flatnonzero(where)].to_native()


def select_columns(data: Any, labels: Sequence[str]) -> Any:
    """Select columns, in a frame of the same engine."""
    return data[list(labels)] if hasattr(data, "assign") else rows_in_order(data).select(*labels).to_native()


def with_column(data: Any, name: str, values: Values) -> Any:
    """Replace the values of a column, in a frame of the same engine; categories of pandas stay categories."""
    if hasattr(data, "assign"):
        kind = getattr(data.get(name), "dtype", None)
        pandas = extra("pandas")
        declared = isinstance(kind, pandas.CategoricalDtype) and values.dtype.kind != "f"
        return data.assign(**{name: pandas.Categorical(values, dtype=kind) if declared else values})
    frame = rows_in_order(data)
    series = extra("narwhals").new_series(name, values.tolist(), backend=frame.implementation)
    return frame.with_columns(series.alias(name)).to_native()


def declared_categories(data: Any, name: str) -> tuple[list[Any], int] | None:
    """Return the declared categories that occur in a column, in order, and the number of those that do not occur.

    Return None if the column declares no categories. A Categorical of polars numbers its categories in order of
    appearance, so it does not declare them.
    """
    kind = getattr(data[name], "dtype", None)
    declared = getattr(kind, "categories", None)
    if declared is None or (type(kind).__module__.startswith("polars") and type(kind).__name__ == "Categorical"):
        return None
    present = set(column(data, name, "a variable").tolist())
    levels = [level for level in list(declared) if level in present]
    return levels, len(list(declared)) - len(levels)


def with_text_as_objects(data: Any) -> Any:
    """Convert pandas columns of type "string" to objects, which formulaic treats as categories.

    Convert polars categories to text, so that the first level does not depend on the order of rows.
    """
    if type(data).__module__.startswith("polars"):
        polars = extra("polars")
        return data.with_columns(polars.selectors.categorical().cast(polars.String))
    kinds: Any = getattr(data, "dtypes", None)
    text = [name for name, kind in kinds.items() if str(kind) == "string"] if hasattr(kinds, "items") else []
    return data.astype(dict.fromkeys(text, object)) if text else data


def index_of(values: object) -> Any:
    """Return the index of a pandas object; None for other values, which are matched by position."""
    index = getattr(values, "index", None)
    return index if hasattr(index, "equals") else None


def same_index(values: object, data: object) -> bool:
    """Return whether two pandas objects have the same index; True if either has no index."""
    values_index, data_index = index_of(values), index_of(data)
    return values_index is None or data_index is None or bool(values_index.equals(data_index))


def is_lazy(data: object) -> bool:
    """Return whether a frame computes its rows when they are read: DuckDB, Dask, Ibis, PySpark or a LazyFrame."""
    if find_spec("narwhals") is None:
        return False
    nw = extra("narwhals")
    try:
        return isinstance(nw.from_native(data, pass_through=True), nw.LazyFrame)
    except nw.exceptions.DuplicateError:  # a pandas frame with repeated names, which `as_frame` rejects
        return False


def distinct_rows(data: DataFrame, labels: Sequence[str], weight_column: str | None, count_column: str) -> Any:
    """Return the distinct rows of some columns as a frame of pandas.

    The column `count_column` holds the number of occurrences of each row, or the sum of the column `weight_column` over
    them.
    """
    nw = extra("narwhals")
    needed = [*labels, weight_column] if weight_column else labels
    if absent := [name for name in needed if name not in column_names(data)]:
        reject(
            "the data must have every column", f"none called {', '.join(absent)}", f"there are {format_columns(data)}"
        )
    number = nw.len() if weight_column is None else nw.col(weight_column).sum()
    rows = nw.from_native(data).lazy().group_by(list(labels)).agg(number.alias(count_column))
    table = rows.head(_MAX_DISTINCT_ROWS + 1).collect("pandas").to_native()
    if len(table) > _MAX_DISTINCT_ROWS:
        advice = "group covariates into bands, or collect the rows first"
        reject(f"the data must have at most {_MAX_DISTINCT_ROWS:,} distinct rows", "more", advice)
    return table


def floats_or_none(values: object) -> npt.NDArray[np.float64] | None:
    """Convert numbers to floats; return None if a value is not a number, because NumPy's error would quote it."""
    if getattr(values, "dtype", np.dtype(float)).kind in "mM":  # NumPy would return dates as days since 1970
        return None
    try:
        return np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        return None


def finite_floats(values: Values, argument: str) -> npt.NDArray[np.float64]:
    """Convert values to finite floats; reject anything else without quoting it."""
    array = floats_or_none(values)
    if array is None:
        reject(
            f"{argument} must be numbers", f"values of type {values.dtype}", "convert the column to numbers", TypeError
        )
    if count := int(np.count_nonzero(~np.isfinite(array))):
        reject(
            f"{argument} must be finite",
            f"{count} of {array.size} that are not",
            "leave these rows out, or correct them",
        )
    return array
