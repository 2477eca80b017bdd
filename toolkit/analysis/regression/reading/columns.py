"""Columns of a frame of any kind, or arrays in their place: found, looked through for missing values, cut to
some rows.
"""

import math
from collections.abc import Iterator
from datetime import date, timedelta
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from toolkit.analysis.sampling.columns import index_of
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


def some_columns(data: Any, wanted: tuple[str, ...]) -> Any:
    """The same kind of frame with only these columns: a fit holds no more of a frame than it speaks of."""
    if hasattr(data, "assign"):
        return data[list(wanted)]
    narwhals = extra("narwhals")
    return narwhals.from_native(data, eager_only=True).select(*wanted).to_native()


def numbers(values: Column, what: str) -> Array:
    """Finite floats; what cannot be read as a number is refused without being quoted."""
    found = floats(values)
    if found is None:
        refuse(f"{what} must be numbers", f"values of type {values.dtype}", "they are calculated with", TypeError)
    if not np.all(np.isfinite(found)):
        count = int(np.count_nonzero(~np.isfinite(found)))
        refuse(f"{what} must be finite", f"{count} of {found.size} that are not", "no sum of them would be")
    return found


def floats(values: Any) -> Array | None:
    """Numbers as floats, and None where there are others: NumPy's own message would quote them."""
    if getattr(values, "dtype", np.dtype(float)).kind in "mM":  # days since 1970 are no covariate
        return None
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
    kind = getattr(data[name], "dtype", None)
    declared = getattr(kind, "categories", None)
    if declared is None or _in_order_of_rows(kind):
        return None
    there = set(column(data, name, "a variable").tolist())
    return [level for level in list(declared) if level in there]


def _in_order_of_rows(kind: Any) -> bool:
    """Whether it is a category of polars, whose levels are numbered as they come, and not as declared."""
    return type(kind).__module__.startswith("polars") and type(kind).__name__ == "Categorical"


def check_kind(data: Any, name: str, *, bare: bool) -> None:
    """Refuse a covariate that would be read as something else than it is: by its name, with what to do.

    `bare` : whether it stands in the formula as it is, and not in a function such as C(…).
    """
    values = column(data, name, "a covariate")
    cells = values.tolist() if values.dtype.kind in "OUT" else []
    if any(isinstance(cell, list | dict | set | tuple | np.ndarray) for cell in cells):
        rule = f"the column {name!r} must hold one value in each row"
        refuse(rule, "lists", "a covariate is one thing: make a column of each", TypeError)
    declared = categories(data, name)
    if declared is not None and (unused := len(list(data[name].dtype.categories)) - len(declared)):
        rule = f"every category of {name!r} must have people"
        remedy = f"leave them out, as by data[{name!r}].cat.remove_unused_categories()"
        refuse(rule, f"{unused} that nobody has", f"they have no coefficient; {remedy}")
    if not bare or declared is not None:
        return
    if values.dtype.kind in "mM" or (cells and all(isinstance(cell, date | timedelta) for cell in cells)):
        remedy = f"make days of them, as by (date - first).days, or write C({name}) for categories"
        rule, received = f"the column {name!r} must hold numbers or categories", "dates or times"
        refuse(rule, received, f"they have no unit; {remedy}", TypeError)
    if cells and all(map(_is_number, cells)):
        remedy = f"convert the column, as by astype(float), or write C({name}) for categories"
        rule, received = f"the column {name!r} must hold numbers or categories", "numbers stored as text"
        refuse(rule, received, f"each would be a category of its own; {remedy}", TypeError)


def _is_number(cell: Any) -> bool:
    """Whether a cell is a number in a text, or of a type that formulas do not know."""
    if not isinstance(cell, str):
        return isinstance(cell, int | float | Decimal | Fraction | np.number) and not isinstance(cell, bool)
    try:
        return math.isfinite(float(cell))
    except ValueError:
        return False


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


def _same_index(given: Any, data: Any) -> bool:
    """Whether two things of pandas have one index; what has none is paired by place."""
    one, two = index_of(given), index_of(data)
    return one is None or two is None or bool(one.equals(two))
