"""What a model is fitted to: covariates, reports with their designs, and who stands behind them; rows with
missing values are refused or counted.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from toolkit.analysis.regression.reading.channel import Channel, missing_codes, through, unsaid
from toolkit.analysis.regression.reading.columns import (
    Column,
    absent,
    as_frame,
    column,
    floats,
    names,
    some_rows,
)
from toolkit.analysis.regression.reading.covariates import (
    Covariates,
    absent_in,
    from_arrays,
    from_formula,
    sides,
    variables,
)
from toolkit.analysis.regression.reading.drawn import FINITE, Drawn, checked_sample, without_population
from toolkit.analysis.regression.reading.people import People, people
from toolkit.analysis.regression.reading.pushed import TIMES, counted_rows, stays_away
from toolkit.core.arrays import Mask
from toolkit.core.checks import choice, refuse

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
