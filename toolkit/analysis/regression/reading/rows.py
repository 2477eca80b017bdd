"""What a model is fitted to: covariates, reports with their designs, and who stands behind them; rows with
missing values are refused or counted.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

import numpy as np

from toolkit.analysis.regression.reading.channel import Channel, missing_codes, through, unsaid
from toolkit.analysis.regression.reading.columns import Column, absent, as_frame, column, floats, names, some_rows
from toolkit.analysis.regression.reading.covariates import (
    Covariates,
    absent_in,
    from_arrays,
    from_formula,
    sides,
    variables,
)
from toolkit.analysis.regression.reading.people import FINITE, Drawn, People, checked_sample, people, without_population
from toolkit.core.arrays import Mask
from toolkit.core.checks import choice, refuse
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


SAMPLING = ("weights", "times", "strata", "clusters")


@dataclass(frozen=True, eq=False)
class Rows:
    """Rows that a model is fitted to, and how many were left out, by reason."""

    covariates: Covariates
    channel: Channel
    people: People
    dropped: Mapping[str, int]
    notes: tuple[str, ...] = ()


def dropped_notes(dropped: Mapping[str, int], used: int) -> tuple[str, ...]:
    """How many rows were left out, and why; where a row stands for several people, how many of them."""
    reasons = ", ".join(f"{count:,} with missing {what}" for what, count in dropped.items() if count)
    total = used + sum(dropped.values())
    return (f"{used:,} of {total:,} rows were used: left out {reasons}",) if reasons else ()


def read_rows(formula: Any, data: Any, design: Any, design_by: Any, sampling: Mapping[str, Any], missing: Any) -> Rows:
    """A formula and a frame, or reports and a table of numbers in their place."""
    by_formula = isinstance(formula, str)
    if isinstance(data, str):
        order = 'the formula comes first: logistic("report ~ age", frame, design)'
        refuse("`data` must be a frame", repr(data)[:60], order, TypeError)
    left, right = sides(formula) if by_formula else (formula, "")
    if by_formula and stays_away(data):
        others = {**sampling, "design_by": design_by}
        data, sampling = counted_rows(data, [left, *variables(right, data)], others)
    frame = as_frame(data) if by_formula else data
    columns = {"reports": column(frame, left, "reports")}
    if design_by is not None:
        columns["design_by"] = column(frame, design_by, "`design_by`")
    columns |= sampling_columns(frame, sampling)
    wanted = variables(right, frame) if by_formula else ()
    gaps = gaps_in(columns, sampling)
    way, codes = missing_codes(missing)
    gaps["reports"] |= unsaid(columns["reports"], codes)
    if by_formula:
        gaps["covariates"] = absent_in(frame, wanted)
    kept, dropped = complete(gaps, way, columns.get("times"))
    used = some_rows(frame, kept)
    drawn, notes = who(columns, kept, sampling, dropped, frame)
    named = tuple(one for one in sampling.values() if isinstance(one, str) and one in names(frame))
    columns = {what: values[kept] for what, values in columns.items()}
    return Rows(
        from_formula(right, used, named) if by_formula else from_arrays(used),
        through(columns["reports"], design, columns.get("design_by"), codes),
        drawn,
        dropped,
        notes,
    )


def sampling_columns(frame: Any, sampling: Mapping[str, Any]) -> dict[str, Column]:
    """The columns of weights, times, strata and clusters that were given: by name, or as arrays."""
    given = {name: sampling[name] for name in SAMPLING if sampling.get(name) is not None}
    return {name: column(frame, value, f"`{name}`") for name, value in given.items()}


def gaps_in(columns: Mapping[str, Column], sampling: Mapping[str, Any]) -> dict[str, Mask]:
    """Where each column has no value; what an engine has counted is always there."""
    counted = sampling.get("times") == TIMES if isinstance(sampling.get("times"), str) else False
    return {what: absent(values) for what, values in columns.items() if not (counted and what == "times")}


def who(
    columns: Mapping[str, Column],
    kept: Mask,
    sampling: Mapping[str, Any],
    dropped: Mapping[str, int],
    data: Any,
    *,
    finite: bool = True,
) -> tuple[People, tuple[str, ...]]:
    """Who stands behind the rows that are kept, and what must be said of them. `finite` : whether the model
    can tell its randomization from the drawing of people, which alone a finite population lessens.
    """
    sample = sampling.get("sample")
    parts = [columns[name][kept] if name in columns else None for name in SAMPLING]
    found = people(int(kept.sum()), *parts)
    told = dropped_notes(dropped, found.n)
    if sample is None:
        return found, told
    known = checked_sample(sample, [name for name in SAMPLING if name in columns], len(kept), data)
    if known is not None and known.population is not None and not finite:
        known, told = without_population(known), (*told, FINITE)
    if known is None:
        return found, told
    drawn = Drawn(known, kept)
    return People(found.rows, weights=drawn.weights, drawn=drawn), told


def complete(gaps: Mapping[str, Mask], missing: str, times: Column | None = None) -> tuple[Mask, dict[str, int]]:
    """Rows in which nothing is missing, and how many others there are: each counted once, by its first
    gap; as many times as it stands for people, if that is said.
    """
    each = np.ones(len(next(iter(gaps.values()))))
    if times is not None and (known := floats(times)) is not None:
        each = np.where(np.isnan(known), 1.0, known)
    some = np.logical_or.reduce(list(gaps.values()))
    if choice(missing, "missing", ("refuse", "drop")) == "refuse" and some.any():
        which = ", ".join(f"{int(each[gap].sum())} in {what}" for what, gap in gaps.items() if gap.any())
        refuse("no value may be missing", which, "missing='drop' leaves those rows out and counts them")
    dropped, kept = {}, np.ones(len(some), dtype=bool)
    for what, gap in gaps.items():
        dropped[what] = int(each[gap & kept].sum())
        kept &= ~gap
    if not kept.any():
        refuse("there must be a row without missing values", "none", "there is nothing to fit")
    return kept, dropped
