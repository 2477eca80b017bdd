"""Counts of reports by group, computed by the engine that holds the reports."""

from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from typing import Any

from toolkit.core.arrays import DataFrame
from toolkit.core.checks import is_missing, reject
from toolkit.core.extras import extra

Counts = Mapping[Any, int]
Group = tuple[Any, ...]


@cache
def _narwhals() -> Any:
    return extra("narwhals")


def value_counts(reports: DataFrame, name: str, by: Sequence[str] = ()) -> dict[Group, dict[Any, int]]:
    """For each group, count how often each value of a column occurs; missing values are ignored.

    `reports` is a frame of pandas, polars, pyarrow, DuckDB, Dask, PySpark or Ibis, which counts its rows itself.
    """
    columns = [*by, name]
    table = _value_combinations(_select_columns(reports, columns).drop_nulls(), columns)
    groups: dict[Group, dict[Any, int]] = {}
    for row in sorted(table.iter_rows(), key=sort_key):
        if any(map(is_missing, row)):  # some engines do not treat NaN as missing
            continue
        group = groups.setdefault(row[:-2], {})
        group[row[-2]] = group.get(row[-2], 0) + int(row[-1])
    return groups


def sort_key(row: Iterable[Any]) -> tuple[tuple[bool, Any], ...]:
    """Return a key that sorts numbers before texts: options may be of both types, which Python cannot compare.

    >>> sorted([("b", 1), (2, 1), ("a", 1), (1, 1)], key=sort_key)
    [(1, 1), (2, 1), ('a', 1), ('b', 1)]
    """
    return tuple((isinstance(value, str), value) for value in row)


def row_counts(reports: DataFrame, names: Sequence[str]) -> list[tuple[tuple[Any, ...], int]]:
    """Count the rows with each combination of values, including missing values; without columns, count all rows."""
    nw = _narwhals()

    if not names:
        count = nw.from_native(reports).lazy().select(nw.len()).collect("pandas")
        return [((), int(count.item(0, 0)))]
    table = _value_combinations(_select_columns(reports, names), names)
    return [(tuple(map(_whole_as_integer, row[:-1])), int(row[-1])) for row in table.iter_rows()]


def has_column(reports: DataFrame, name: str) -> bool:
    """Return whether a frame has a column with this name."""
    return name in columns_of(reports)


def columns_of(reports: DataFrame) -> list[str]:
    """Return the names of the columns of a frame."""
    nw = _narwhals()

    try:
        return list(nw.from_native(reports).lazy().collect_schema().names())
    except nw.exceptions.DuplicateError:
        reject("column names must be distinct", "a repeated name", "a name must identify one column")
    except TypeError:
        rule = "reports must be a frame of pandas, polars, pyarrow, DuckDB, Dask, PySpark or Ibis"
        reject(rule, type(reports).__name__, "it has no columns that can be counted", TypeError)


def _select_columns(reports: DataFrame, names: Sequence[str]) -> Any:
    """Select columns of a frame lazily."""
    nw = _narwhals()

    frame = nw.from_native(reports).lazy()
    available = frame.collect_schema().names()
    missing = [name for name in names if name not in available]
    if missing:
        rule = "the reports must have a column for each question, and for each group"
        consequence = f"there are {', '.join(map(str, available[:20]))}{', …' if len(available) > 20 else ''}"
        reject(rule, f"none called {', '.join(missing)}", consequence)
    return frame.select(list(names))


def _value_combinations(selection: Any, columns: Sequence[str]) -> Any:
    """Return each combination of values that occurs, with the number of its rows in the last column."""
    nw = _narwhals()
    number = "number of people"
    while number in columns:
        number += " "
    try:
        return selection.group_by(list(columns)).agg(nw.len().alias(number)).collect("pandas")
    except TypeError:  # pandas, unlike other engines, cannot count lists
        pass
    reject("columns must hold hashable values", "others, such as lists", "rows are counted by value", TypeError)


def _whole_as_integer(value: object) -> Any:
    """Convert a whole float to an integer: engines convert integers to floats if some values are missing."""
    return int(value) if isinstance(value, float) and value.is_integer() else value
