"""How often each report came, by group: counted where the reports are, in whatever engine holds them."""

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
    """For each group the number of times that each value of a column occurs; missing values are left out.

    `reports` is a frame of pandas, polars, pyarrow, DuckDB, Dask, PySpark or Ibis: the counting is done
    there, and only the counts come here.
    """
    columns = [*by, name]
    table = _tallied(_columns(reports, columns).drop_nulls(), columns)
    groups: dict[Group, dict[Any, int]] = {}
    for row in sorted(table.iter_rows(), key=in_order):
        if any(map(is_missing, row)):  # NaN, which not every engine calls missing
            continue
        group = groups.setdefault(row[:-2], {})
        group[row[-2]] = group.get(row[-2], 0) + int(row[-1])
    return groups


def in_order(row: Iterable[Any]) -> tuple[tuple[bool, Any], ...]:
    """A key to sort rows by: numbers before texts, as options may be both (1, 2, 3, "undisclosed") and Python
    compares them not.

    >>> sorted([("b", 1), (2, 1), ("a", 1), (1, 1)], key=in_order)
    [(1, 1), (2, 1), ('a', 1), ('b', 1)]
    """
    return tuple((isinstance(value, str), value) for value in row)


def row_counts(reports: DataFrame, names: Sequence[str]) -> list[tuple[tuple[Any, ...], int]]:
    """How many rows have each combination of values in the columns, what is missing included; without
    columns, all rows.
    """
    nw = _narwhals()

    if not names:
        count = nw.from_native(reports).lazy().select(nw.len()).collect("pandas")
        return [((), int(count.item(0, 0)))]
    table = _tallied(_columns(reports, names), names)
    return [(tuple(map(_plain, row[:-1])), int(row[-1])) for row in table.iter_rows()]


def has_column(reports: DataFrame, name: str) -> bool:
    """Whether a frame has a column of that name."""
    return name in columns_of(reports)


def columns_of(reports: DataFrame) -> list[str]:
    """The names of a frame's columns."""
    nw = _narwhals()

    try:
        return list(nw.from_native(reports).lazy().collect_schema().names())
    except nw.exceptions.DuplicateError:
        reject("columns must have names of their own", "one that comes twice", "it is not said which is meant")
    except TypeError:
        rule = "reports must be a frame of pandas, polars, pyarrow, DuckDB, Dask, PySpark or Ibis"
        reject(rule, type(reports).__name__, "it has no columns that can be counted", TypeError)


def _columns(reports: DataFrame, names: Sequence[str]) -> Any:
    """The named columns of a frame, not computed yet."""
    nw = _narwhals()

    frame = nw.from_native(reports).lazy()
    there = frame.collect_schema().names()
    missing = [name for name in names if name not in there]
    if missing:
        rule = "the reports must have a column for each question, and for each group"
        consequence = f"there are {', '.join(map(str, there[:20]))}{', …' if len(there) > 20 else ''}"
        reject(rule, f"none called {', '.join(missing)}", consequence)
    return frame.select(list(names))


def _tallied(chosen: Any, columns: Sequence[str]) -> Any:
    """Each combination of values, and last how often it comes."""
    nw = _narwhals()
    number = "number of people"
    while number in columns:
        number += " "
    try:
        return chosen.group_by(list(columns)).agg(nw.len().alias(number)).collect("pandas")
    except TypeError:  # of pandas; others can count lists
        rule, received = "columns must hold values that can be told apart", "some that cannot, such as lists"
    reject(rule, received, "rows are counted by them", TypeError)


def _plain(value: object) -> Any:
    """A whole number as one, also where an engine made floats of a column because something in it is missing."""
    return int(value) if isinstance(value, float) and value.is_integer() else value
