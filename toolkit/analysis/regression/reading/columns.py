"""Columns of a frame of any kind, or arrays in their place: found, looked through for missing values, cut to
some rows.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from toolkit.core.arrays import Array, Mask
from toolkit.core.checks import is_missing, refuse
from toolkit.core.extras import extra

Column = npt.NDArray[Any]


def column(data: Any, given: Any, what: str) -> Column:
    """A column by its name, or the values themselves; one-dimensional, as long as the data."""
    if isinstance(given, str):
        if given not in names(data):
            there = ", ".join(names(data)[:20])
            refuse(f"{what} must be a column of the data", repr(given), f"there are {there or 'none'}")
        given = data[given]
    elif not _same_index(given, data):
        refuse(f"{what} must have the index of the data", "another", "values and rows would be mixed up")
    given = list(given) if isinstance(given, Iterator) else given
    values = np.asarray(given.to_numpy() if hasattr(given, "to_numpy") else given)
    if values.ndim != 1 or len(values) != height(data):
        received = f"shape {values.shape} for {height(data)} rows"
        refuse(f"{what} must have one value for each row of the data", received, "rows and values must match")
    return values


def names(data: Any) -> tuple[str, ...]:
    """The columns' names: of pandas, polars and pyarrow, and of a mapping of names to arrays."""
    if type(data).__name__ == "LazyFrame":  # of polars, whose own way to ask for them warns
        return tuple(data.collect_schema().names())
    found = data if isinstance(data, dict) else getattr(data, "column_names", getattr(data, "columns", ()))
    return tuple(str(name) for name in found)


def height(data: Any) -> int:
    """How many rows there are."""
    if isinstance(data, dict):
        return len(next(iter(data.values()), ()))
    return int(data.num_rows) if hasattr(data, "num_rows") else len(data)


def as_frame(data: Any) -> Any:
    """A frame: a mapping of names to arrays becomes one of pandas, a frame is handed back as it is."""
    if isinstance(data, dict):
        return extra("pandas").DataFrame(data)
    found = names(data)
    if isinstance(data, np.ndarray) or not found or type(data).__name__ == "RecordBatch":
        consequence = "a formula names its columns; arrays are given in place of the formula and the data"
        refuse("`data` must be a frame with named columns", type(data).__name__, consequence, TypeError)
    if len(set(found)) < len(found):
        consequence = "it is not said which is meant"
        refuse("columns must have names of their own", "one that comes twice", consequence)
    return data


def absent(values: Column) -> Mask:
    """Which values are missing: None, NaN, NaT, NA."""
    if values.dtype.kind == "f":
        return np.isnan(values)
    if values.dtype.kind in "mM":
        return np.isnat(values)
    if values.dtype.kind == "O":
        return np.fromiter((is_missing(value) for value in values), dtype=bool, count=len(values))
    return np.zeros(len(values), dtype=bool)


def some_rows(data: Any, kept: Mask) -> Any:
    """The same kind of frame with only the rows that are kept."""
    if kept.all():
        return data
    if isinstance(data, np.ndarray):
        return data[kept]
    narwhals = extra("narwhals")
    return narwhals.from_native(data, eager_only=True)[np.flatnonzero(kept)].to_native()


def numbers(values: Column, what: str) -> Array:
    """Finite floats; what cannot be read as a number is refused without being quoted."""
    found = floats(values)
    if found is None:
        refuse(
            f"{what} must be numbers", f"values of type {values.dtype}", "they are calculated with", TypeError
        )
    if not np.all(np.isfinite(found)):
        count = int(np.count_nonzero(~np.isfinite(found)))
        refuse(f"{what} must be finite", f"{count} of {found.size} that are not", "no sum of them would be")
    return found


def floats(values: Any) -> Array | None:
    """Numbers as floats, and None where there are others: NumPy's own message would quote them."""
    try:
        return np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        return None


def groups(values: Column) -> npt.NDArray[np.intp]:
    """The same groups as codes 0, 1, …: of any values that can be told apart, sorted or not."""
    if values.dtype.kind == "O":
        table = {value: code for code, value in enumerate(dict.fromkeys(values.tolist()))}
        return np.fromiter((table[value] for value in values.tolist()), dtype=np.intp, count=len(values))
    return np.asarray(np.unique(values, return_inverse=True)[1], dtype=np.intp)


def with_column(data: Any, name: str, values: Column) -> Any:
    """The same kind of frame with other values in one column; categories of pandas stay categories."""
    if hasattr(data, "assign"):
        kind = getattr(data.get(name), "dtype", None)
        pandas = extra("pandas")
        kept = isinstance(kind, pandas.CategoricalDtype) and values.dtype.kind != "f"
        return data.assign(**{name: pandas.Categorical(values, dtype=kind) if kept else values})
    narwhals = extra("narwhals")
    frame = narwhals.from_native(data, eager_only=True)
    made = narwhals.new_series(name, values.tolist(), backend=frame.implementation)
    return frame.with_columns(made.alias(name)).to_native()


def categories(data: Any, name: str) -> list[Any] | None:
    """The categories that a column declares and has, in their order; None where it declares none."""
    declared = getattr(getattr(data[name], "dtype", None), "categories", None)
    if declared is None:
        return None
    there = set(column(data, name, "a variable").tolist())
    return [level for level in list(declared) if level in there]


def with_text_as_objects(data: Any) -> Any:
    """A frame of pandas whose text columns of the type "string" are objects: formulaic knows categories by
    these.
    """
    kinds: Any = getattr(data, "dtypes", None)
    text = [name for name, kind in kinds.items() if str(kind) == "string"] if hasattr(kinds, "items") else []
    return data.astype(dict.fromkeys(text, object)) if text else data


def _same_index(given: Any, data: Any) -> bool:
    """Whether two things of pandas have one index; what has none is paired by place."""
    one: Any = getattr(given, "index", None)
    two: Any = getattr(data, "index", None)
    return not (hasattr(one, "equals") and hasattr(two, "equals")) or bool(one.equals(two))
