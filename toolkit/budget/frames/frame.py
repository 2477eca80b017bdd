"""`Frame`: a table of pandas, polars or pyarrow, recognised by its type, whose columns are found by their
labels.

Engines are looked up among the modules that are loaded, never imported: a frame of an engine that is not
loaded cannot exist. No message holds anything out of a frame but column labels that are text; other labels,
of a pivoted table say, may be people's values, so such a column is told by its place.
"""

import sys
from collections.abc import Iterable, Iterator
from typing import Any, NoReturn

import numpy as np

from toolkit.budget.frames.arrow import arrow_column
from toolkit.budget.frames.columns import Column
from toolkit.budget.frames.pandas import pandas_column
from toolkit.budget.frames.polars import polars_column
from toolkit.core.checks import refuse

_FRAMES = {"pandas": "DataFrame", "polars": "DataFrame", "pyarrow": "Table"}
_REMEDIES = {
    ("polars", "LazyFrame"): "collect it first: frame.collect()",
    ("polars", "Series"): "make it a column: series.to_frame()",
    ("pandas", "Series"): "make it a column: series.to_frame()",
    ("pyarrow", "RecordBatch"): "write pyarrow.Table.from_batches([batch])",
    ("duckdb", "DuckDBPyRelation"): "read it first: relation.to_arrow_table() or relation.df()",
    ("numpy", "ndarray"): "name its columns: pandas.DataFrame(array, columns=[…])",
    ("builtins", "dict"): "make it a frame: pandas.DataFrame(dict)",
    ("builtins", "list"): "make it a frame: pandas.DataFrame(list)",
}


class Frame:
    """A confidential table. Its columns' labels and types are public; so is the number of rows under
    "replace".

    Columns that are added or renamed later are not seen.
    """

    def __init__(self, table: Any) -> None:
        self._engine = _recognised(table)
        self._table = (
            table.copy(deep=False)
            if self._engine == "pandas"
            else table.clone()
            if self._engine == "polars"
            else table
        )
        found = table.column_names if self._engine == "pyarrow" else list(table.columns)
        # Text or whole numbers; None for any other label, by which no column can be asked for.
        self.labels: list[str | int | None] = [_label(label) for label in found]
        self.names = [_name(label, place) for place, label in enumerate(self.labels)]
        self._columns: dict[int, Column] = {}
        known = [label for label in self.labels if label is not None]
        if len({(isinstance(label, str), label) for label in known}) < len(known):
            refuse(
                "the columns of `frame` must have distinct names",
                "repetitions",
                "a name must mean one column",
            )

    def __len__(self) -> int:
        return int(self._table.num_rows if self._engine == "pyarrow" else len(self._table))

    def name(self, label: object) -> str:
        """What the column of a label is called in messages; refused if there is none."""
        return self.names[self._place(label)]

    def column(self, label: object) -> Column:
        """The column of a label; none of its values is read yet."""
        place = self._place(label)
        if place not in self._columns:
            self._columns[place] = self._found(place)
        return self._columns[place]

    def parts(self, labels: Iterable[object], *, whole: bool = False) -> Iterator["Frame"]:  # noqa: ARG002
        """Frames that hold these columns of all rows, some rows after the other; with `whole` only one."""
        yield self

    def copy(self) -> Any:
        """The table again, for code that might change it."""
        if self._engine == "pandas":
            return self._table.copy()
        return self._table.clone() if self._engine == "polars" else self._table

    def _found(self, place: int) -> Column:
        if self._engine == "pandas":
            return pandas_column(self._table.iloc[:, place])
        return (
            polars_column(self._table.to_series(place))
            if self._engine == "polars"
            else arrow_column(self._table.column(place))
        )

    def _place(self, label: object) -> int:
        wanted = _label(label)
        for place, found in enumerate(self.labels):
            if found is not None and type(found) is type(wanted) and found == wanted:
                return place
        told = (
            repr(label)
            if isinstance(label, str)
            else "a whole number"
            if wanted is not None
            else type(label).__name__
        )
        refuse(f"`column` must be one of {_listed(self.names)}", told, "no other column is there")


def _recognised(table: Any) -> str:
    kind = type(table)
    for engine, name in _FRAMES.items():
        known = getattr(sys.modules.get(engine), name, None)
        if known is not None and issubclass(kind, known):
            return engine
    _refuse_frame(kind)


def _refuse_frame(kind: type) -> NoReturn:
    origin = str(kind.__module__).split(".")[0].lstrip("_")
    default = "its columns are read by name; most other frames have to_pandas() or to_arrow()"
    remedy = _REMEDIES.get((origin, kind.__name__), default)
    refuse(
        "`frame` must be a pandas or polars DataFrame or a pyarrow Table",
        f"{origin} {kind.__name__}",
        remedy,
        TypeError,
    )


def _label(label: object) -> str | int | None:
    kind = type(label)
    if issubclass(kind, str):
        return str.__str__(label)
    if issubclass(kind, np.integer) or (issubclass(kind, int) and kind is not bool):
        return int(label)  # type: ignore[call-overload,no-any-return]
    return None


def _name(label: str | int | None, place: int) -> str:
    if isinstance(label, str):
        return label if label.isprintable() and label else repr(label)
    return f"column number {place + 1}"


def _listed(names: list[str]) -> str:
    return ", ".join(names[:20]) + (f" and {len(names) - 20} more" if len(names) > 20 else "")
