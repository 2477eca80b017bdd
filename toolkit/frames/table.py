"""Tables as an analysis reads them: columns as arrays, rows paired by position or by the index of pandas; of
engines that compute rows when they are read, the different rows and how often each comes.

Messages name columns whose labels are text; other labels may be people's values, and are told by their place.
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
_MOST = 1_000_000  # different rows that are fetched


def array_of(values: Any) -> Values:
    """Values as an array; numbers among texts stay numbers.

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
    except ValueError:  # lists of several lengths
        return np.asarray(cells, dtype=object)
    mixed = array.dtype.kind in "US" and array.ndim == 1 and not all(isinstance(cell, str) for cell in cells)
    return np.asarray(cells, dtype=object) if mixed else array


def column(data: Any, values: Any, what: str) -> Values:
    """A column by its name, or the values themselves; one-dimensional, as long as the data."""
    if isinstance(values, str):
        if values not in names(data):
            reject(f"{what} must be a column of the data", repr(values), f"there are {format_columns(data) or 'none'}")
        values = data[values]
    elif not same_index(values, data):
        reject(f"{what} must have the index of the data", "another", "values and rows would be mixed up")
    array = array_of(values)
    if array.ndim != 1 or len(array) != row_count(data):
        received = f"shape {array.shape} for {row_count(data)} rows"
        reject(f"{what} must have one value for each row of the data", received, "rows and values must match")
    return array


def _labels(data: Any) -> list[Any]:
    if type(data).__name__ == "LazyFrame":  # of polars, whose own way to ask for them warns
        return list(data.collect_schema().names())
    return list(data if isinstance(data, dict) else getattr(data, "column_names", getattr(data, "columns", ())))


def names(data: object) -> tuple[str, ...]:
    """The columns' names: of a frame of any engine, and of a mapping of names to arrays."""
    return tuple(map(str, _labels(data)))


def format_columns(data: object) -> str:
    """The first columns, for a message: by name if that is text, else by place."""
    labels = enumerate(_labels(data)[:20], start=1)
    return ", ".join(label if isinstance(label, str) else f"column number {place}" for place, label in labels)


def row_count(data: Any) -> int:
    """How many rows there are."""
    if isinstance(data, dict):
        return len(next(iter(data.values()), ()))
    return int(data.num_rows) if hasattr(data, "num_rows") else len(data)


def as_frame(data: object) -> Any:
    """A frame: a mapping of names to arrays becomes one of pandas, a frame is returned as it is."""
    if isinstance(data, dict):
        pd, rule = extra("pandas"), "`data` must hold columns of one length"
        return quietly(lambda: pd.DataFrame(data), rule, "others", "one row is {'x': [1.0]}", ValueError)
    labels = names(data)
    if isinstance(data, np.ndarray) or not labels or type(data).__name__ == "RecordBatch":
        consequence = "a formula names its columns; arrays are given in place of the formula and the data"
        reject("`data` must be a frame with named columns", type(data).__name__, consequence, TypeError)
    if len(set(labels)) < len(labels):
        reject("columns must have names of their own", "one that comes twice", "it is not said which is meant")
    return data


def rows_in_order(frame: object) -> Any:
    """A frame whose rows are in memory, in their order, as narwhals has it."""
    try:
        return extra("narwhals").from_native(frame, eager_only=True)
    except TypeError:
        remedy = "collect it first, as a frame of pandas, polars or pyarrow"
        reject("with a `sample` the frame must hold its rows in order", type(frame).__name__, remedy, TypeError)


def missing_mask(values: Values) -> Mask:
    """Which values are missing: None, NaN, NaT, NA."""
    if values.dtype.kind == "f":
        return np.isnan(values)
    if values.dtype.kind in "mM":
        return np.isnat(values)
    if values.dtype.kind == "O":
        return np.fromiter((is_missing(value) for value in values), dtype=bool, count=len(values))
    return np.zeros(len(values), dtype=bool)


def select_rows(data: object, where: Mask) -> Any:
    """The same kind of frame with only these rows."""
    if where.all():
        return data
    if isinstance(data, np.ndarray):
        return data[where]
    return rows_in_order(data)[np.flatnonzero(where)].to_native()


def select_columns(data: Any, labels: Sequence[str]) -> Any:
    """The same kind of frame with only these columns."""
    return data[list(labels)] if hasattr(data, "assign") else rows_in_order(data).select(*labels).to_native()


def with_column(data: Any, name: str, values: Values) -> Any:
    """The same kind of frame with other values in one column; categories of pandas stay categories."""
    if hasattr(data, "assign"):
        kind = getattr(data.get(name), "dtype", None)
        pandas = extra("pandas")
        declared = isinstance(kind, pandas.CategoricalDtype) and values.dtype.kind != "f"
        return data.assign(**{name: pandas.Categorical(values, dtype=kind) if declared else values})
    frame = rows_in_order(data)
    series = extra("narwhals").new_series(name, values.tolist(), backend=frame.implementation)
    return frame.with_columns(series.alias(name)).to_native()


def categories(data: Any, name: str) -> tuple[list[Any], int] | None:
    """The categories that a column declares and has, in their order, and how many it only declares; None where
    it declares none. Those of polars' Categorical are numbered as they come, and not declared.
    """
    kind = getattr(data[name], "dtype", None)
    declared = getattr(kind, "categories", None)
    if declared is None or (type(kind).__module__.startswith("polars") and type(kind).__name__ == "Categorical"):
        return None
    there = set(column(data, name, "a variable").tolist())
    levels = [level for level in list(declared) if level in there]
    return levels, len(list(declared)) - len(levels)


def with_text_as_objects(data: Any) -> Any:
    """A frame of pandas whose text columns of the type "string" are objects: formulaic knows categories by
    these. Categories of polars become texts, so that the first level does not depend on the order of rows.
    """
    if type(data).__module__.startswith("polars"):
        polars = extra("polars")
        return data.with_columns(polars.selectors.categorical().cast(polars.String))
    kinds: Any = getattr(data, "dtypes", None)
    text = [name for name, kind in kinds.items() if str(kind) == "string"] if hasattr(kinds, "items") else []
    return data.astype(dict.fromkeys(text, object)) if text else data


def index_of(values: object) -> Any:
    """The index of what pandas holds; None of all else, which is matched by position."""
    index = getattr(values, "index", None)
    return index if hasattr(index, "equals") else None


def same_index(one: object, other: object) -> bool:
    """Whether two things of pandas have one index; what has none is matched by position."""
    first, second = index_of(one), index_of(other)
    return first is None or second is None or bool(first.equals(second))


def is_lazy(data: object) -> bool:
    """Whether a frame's rows are computed when they are read: those of DuckDB, Dask, Ibis, PySpark, and lazy
    ones of polars.
    """
    if find_spec("narwhals") is None:
        return False
    nw = extra("narwhals")
    try:
        return isinstance(nw.from_native(data, pass_through=True), nw.LazyFrame)
    except nw.exceptions.DuplicateError:  # of pandas: `as_frame` says it
        return False


def distinct_rows(data: DataFrame, labels: Sequence[str], times: str | None, count: str) -> Any:
    """The different rows of some columns as a frame of pandas, with a column `count` that says how often each
    comes, or for how many people it stands by the column `times`.
    """
    nw = extra("narwhals")
    if lost := [name for name in (*labels, *((times,) if times else ())) if name not in names(data)]:
        reject("the data must have every column", f"none called {', '.join(lost)}", "columns go by name")
    number = nw.len() if times is None else nw.col(times).sum()
    rows = nw.from_native(data).lazy().group_by(list(labels)).agg(number.alias(count))
    table = rows.head(_MOST + 1).collect("pandas").to_native()
    if len(table) > _MOST:
        advice = "group covariates into bands, or collect the rows first"
        reject(f"the data must have at most {_MOST:,} different rows", "more", advice)
    return table


def floats(values: object) -> npt.NDArray[np.float64] | None:
    """Numbers as floats, and None where there are others: NumPy's own message would quote them."""
    if getattr(values, "dtype", np.dtype(float)).kind in "mM":  # days since 1970 are no covariate
        return None
    try:
        return np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        return None


def numbers(values: Values, what: str) -> npt.NDArray[np.float64]:
    """Finite floats; what cannot be read as a number is refused without being quoted."""
    array = floats(values)
    if array is None:
        reject(f"{what} must be numbers", f"values of type {values.dtype}", "they are calculated with", TypeError)
    if count := int(np.count_nonzero(~np.isfinite(array))):
        reject(f"{what} must be finite", f"{count} of {array.size} that are not", "no sum of them would be")
    return array
