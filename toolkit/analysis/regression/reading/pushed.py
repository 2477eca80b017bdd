"""Rows that stay where they are: an engine counts how often each combination of values comes, and a model is
fitted to the counts.
"""

from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from typing import Any

from toolkit.core.checks import refuse
from toolkit.core.extras import extra
from toolkit.frames.counts import columns_of

TIMES = "number of people"
_MOST = 1_000_000  # different rows that are fetched


def stays_away(data: Any) -> bool:
    """Whether a frame's rows are computed only when they are asked for: those of DuckDB, Dask, Ibis, PySpark,
    and lazy ones of polars.
    """
    if isinstance(data, Mapping) or find_spec("narwhals") is None:
        return False
    nw = extra("narwhals")
    try:
        return isinstance(nw.from_native(data, pass_through=True), nw.LazyFrame)
    except nw.exceptions.DuplicateError:  # of pandas: `as_frame` says it
        return False


def counted_rows(data: Any, wanted: Sequence[str], others: Mapping[str, Any]) -> tuple[Any, dict[str, Any]]:
    """The different rows of the columns that a model needs, as a frame of pandas, and `others` with the
    column that says how often each came.

    `others` : further arguments of a model; each must be a column's name, as rows without order cannot be
    paired with an array.
    """
    nw = extra("narwhals")
    if others.get("sample") is not None:
        advice = "give weights, strata and clusters by name, or collect the rows first"
        refuse("with a `sample` the data must hold its rows in order", type(data).__name__, advice, TypeError)
    given = {what: name for what, name in others.items() if name is not None}
    for what, name in given.items():
        if not isinstance(name, str):
            rule = f"`{what}` must be the name of a column"
            refuse(rule, type(name).__name__, "the data's rows have no order to pair it with", TypeError)
    times = given.pop("times", None)
    names = [name for name in dict.fromkeys((*wanted, *given.values())) if name != times]
    if lost := [name for name in (*names, *((times,) if times else ())) if name not in columns_of(data)]:
        refuse("the data must have every column", f"none called {', '.join(lost)}", "columns go by name")
    frame = nw.from_native(data).lazy()
    count = nw.len() if times is None else nw.col(times).sum()
    found = frame.group_by(names).agg(count.alias(TIMES)).head(_MOST + 1).collect("pandas").to_native()
    if len(found) > _MOST:
        advice = "group covariates into bands, or collect the rows first"
        refuse(f"the data must have at most {_MOST:,} different rows", "more", advice)
    return found, {**others, "times": TIMES}
