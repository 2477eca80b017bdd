"""`with_lookup`: add the columns of a public table to a confidential frame, by a key.

Each row of the frame receives the values of one row of the public table, which depend on the key of this row alone. So
one person's rows remain as many as before, and the sensitivity of every release stays the same. Two properties of an
ordinary join would break this: a key that occurs twice multiplies rows, and an inner join drops rows, so that the
number of rows, which may be public, depends on the keys. The type of an added column follows from the public table
alone; with other joins, a single unmatched key turns integers into floats.

A join with a second confidential table is refused. A row would then depend on people in both tables, one person could
change as many rows as match, and the two tables may have ledgers of their own.
"""

import sys
from collections.abc import Hashable
from typing import Any

import numpy as np

from toolkit.core.arrays import Codes, DataFrame, Label
from toolkit.core.checks import quietly, reject
from toolkit.frames import values
from toolkit.frames.engines import cells
from toolkit.frames.engines.column import Column
from toolkit.frames.frame import ENGINE_TABLES, Frame, engine_of


def with_lookup(frame: DataFrame, lookup: DataFrame, on: Label) -> Any:
    """Add the columns of a public lookup table to a frame, by a key that both have.

    The result has the rows of the frame, in the same order. Rows whose key is missing or not in the lookup table have
    missing values in the added columns. Nothing is released or charged; pass the result to a `Curator`.

    Parameters
    ----------
    frame : DataFrame
        A table of pandas, polars or pyarrow in memory.
    lookup : DataFrame
        A public table of the same kind, such as the region of each school, with each key once.
    on : str or int
        The column with the key, in both tables.

    Returns
    -------
    DataFrame
        A copy of the frame with the added columns. Columns of pandas have types that can hold missing values.

    Raises
    ------
    TypeError
        If a table is read by a query engine, or the key has another type in the two tables.
    ValueError
        If a key occurs twice in the lookup table, or both tables have another column in common.

    Examples
    --------
    >>> import pandas as pd
    >>> people = pd.DataFrame({"school": ["b", "a", "b", "c"], "pay": [3, 2, 5, 4]})
    >>> schools = pd.DataFrame({"school": ["a", "b"], "size": [200, 900]})
    >>> with_lookup(people, schools, on="school")["size"].tolist()
    [900, 200, 900, <NA>]
    """
    confidential, public = (_in_memory(table, name) for table, name in ((frame, "frame"), (lookup, "lookup")))
    if confidential._engine_name != public._engine_name:
        rule, consequence = "`lookup` must be a table of the same library as `frame`", "convert the lookup table"
        reject(rule, f"{public._engine_name} and {confidential._engine_name}", consequence, TypeError)
    column, targets = confidential.column(on), _public_keys(public, on)
    if None in public.labels:
        # For pandas, the labels 1 and True are the same: the column would replace one of the frame.
        rule = "the columns of `lookup` must have names that are text or whole numbers"
        reject(rule, "another label", "rename this column", TypeError)
    shared = [name for name, label in zip(public.names, public.labels, strict=True) if label in confidential.labels]
    if len(shared) > 1:
        remedy = "rename or drop the others in the lookup table"
        reject("the tables must share the column of the key alone", f"{len(shared)} columns", remedy)
    stored = _stored_keys(targets, column)
    codes: Codes = quietly(lambda: values.value_codes(column, stored, as_days=False))
    added = [index for index, label in enumerate(public.labels) if label != on]
    return _JOINS[confidential._engine_name](confidential._table, public._table, added, codes)


def _in_memory(table: DataFrame, name: str) -> Frame:
    if engine_of(table) in ENGINE_TABLES:
        remedy = "write a left join in its query, with a lookup table in which each key occurs once"
        reject(f"`{name}` must be in memory", f"{engine_of(table)}", remedy, TypeError)
    if engine_of(table) is None and hasattr(table, "ledger"):
        rule = f"`{name}` must be a public table, not a curator"
        consequence = "a join with confidential rows would let one person change many rows"
        reject(rule, type(table).__name__, consequence, TypeError)
    return Frame(table)


def _public_keys(public: Frame, on: Label) -> list[Any]:
    """Return the keys of the lookup table, each of which must be known and occur once."""
    keys: list[Hashable] = [cells.key(cell) for cell in public.column(on).cells()]
    if cells.MISSING_KEY in keys:
        reject("each row of `lookup` must have a key", "a missing key", "drop this row: it matches nobody")
    if len(set(keys)) < len(keys):
        consequence = "a row with this key would become several, so that one person counts several times"
        reject("each key must occur once in `lookup`", f"{len(keys) - len(set(keys))} repetitions", consequence)
    return public.column(on).cells()


def _stored_keys(keys: list[Any], column: Column) -> list[Any]:
    """Return the keys in the form in which the confidential column stores its values."""
    parsed = [values.parse_value(key, "a key") for key in keys]
    values.check_kinds(parsed, column.kind, column.name)
    if column.kind.name == "moment" and any(isinstance(value, cells.Day) for value in parsed):
        remedy = "a date matches no datetime; make the column of the frame dates, or write datetimes"
        reject(f"{column.name} holds {column.kind.description}", "a date in `lookup`", remedy, TypeError)
    stored = [values.to_stored_value(value, column.kind, column.name) for value in parsed]
    if (n_repetitions := len(stored) - len(set(stored))) > 0:
        rule = "each key must differ from the others in the type of the frame's column"
        consequence = f"{column.name} cannot distinguish them, because it has fewer digits; round the keys of `lookup`"
        reject(rule, f"{n_repetitions} repetitions", consequence)
    return stored


def _join_pandas(table: Any, public: Any, added: list[int], codes: Codes) -> Any:
    result = table.copy()
    for index in added:
        values_or_missing = public.iloc[:, index].convert_dtypes().reset_index(drop=True)
        # Position -1 is missing in every table, so that the type does not depend on whether a key is unmatched.
        extended = values_or_missing.reindex(range(len(public) + 1))
        result[public.columns[index]] = extended.iloc[codes].array
    return result


def _join_polars(table: Any, public: Any, added: list[int], codes: Codes) -> Any:
    indices = sys.modules["polars"].Series(np.where(codes < 0, len(public), codes))
    columns = [public.to_series(index).extend_constant(None, 1).gather(indices) for index in added]
    return table.with_columns(columns)


def _join_pyarrow(table: Any, public: Any, added: list[int], codes: Codes) -> Any:
    indices = sys.modules["pyarrow"].array(codes, mask=codes < 0)
    for index in added:
        table = table.append_column(public.field(index).with_nullable(True), public.column(index).take(indices))
    return table


_JOINS = {"pandas": _join_pandas, "polars": _join_polars, "pyarrow": _join_pyarrow}
