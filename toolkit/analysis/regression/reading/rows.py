"""What a model is fitted to: covariates, reports with their designs, and who stands behind them; rows with
missing values are refused or counted.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from toolkit.analysis.regression.reading.channel import Channel, through
from toolkit.analysis.regression.reading.columns import Column, absent, as_frame, column, some_rows
from toolkit.analysis.regression.reading.covariates import (
    Covariates,
    absent_in,
    from_arrays,
    from_formula,
    sides,
    variables,
)
from toolkit.analysis.regression.reading.people import People, people
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

    @property
    def notes(self) -> tuple[str, ...]:
        return dropped_notes(self.dropped, self.people.rows)


def dropped_notes(dropped: Mapping[str, int], used: int) -> tuple[str, ...]:
    """How many rows were left out, and why."""
    reasons = ", ".join(f"{count:,} with missing {what}" for what, count in dropped.items() if count)
    total = used + sum(dropped.values())
    return (f"{used:,} of {total:,} rows were used: left out {reasons}",) if reasons else ()


def read_rows(
    formula: Any, data: Any, design: Any, design_by: Any, sampling: Mapping[str, Any], missing: str
) -> Rows:
    """A formula and a frame, or reports and a table of numbers in their place."""
    by_formula = isinstance(formula, str)
    frame = as_frame(data) if by_formula else data
    left, right = sides(formula) if by_formula else (formula, "")
    columns = {"reports": column(frame, left, "reports")}
    if design_by is not None:
        columns["design_by"] = column(frame, design_by, "`design_by`")
    columns |= sampling_columns(frame, sampling)
    wanted = variables(right, frame) if by_formula else ()
    gaps = {what: absent(values) for what, values in columns.items()}
    if by_formula:
        gaps["covariates"] = absent_in(frame, wanted)
    kept, dropped = complete(gaps, missing)
    columns = {what: values[kept] for what, values in columns.items()}
    used = some_rows(frame, kept)
    return Rows(
        from_formula(right, used) if by_formula else from_arrays(used),
        through(columns["reports"], design, columns.get("design_by")),
        people(int(kept.sum()), *(columns.get(name) for name in SAMPLING)),
        dropped,
    )


def sampling_columns(frame: Any, sampling: Mapping[str, Any]) -> dict[str, Column]:
    """The columns of weights, times, strata and clusters that were given: by name, as arrays, or in a
    sample.
    """
    given = {name: sampling[name] for name in SAMPLING if sampling.get(name) is not None}
    if (sample := sampling.get("sample")) is not None:
        given |= _drawn(sample, given)
    return {name: column(frame, value, f"`{name}`") for name, value in given.items()}


def _drawn(sample: Any, given: Mapping[str, Any]) -> dict[str, Any]:
    """Weights, strata and clusters of a `Sample`; what else it knows has no place in the errors of a
    model.
    """
    if given.keys() & {"weights", "strata", "clusters"}:
        refuse("`sample` must be given alone", "weights, strata or clusters as well", "it holds them already")
    if not all(hasattr(sample, name) for name in ("weights", "strata", "clusters")):
        refuse("`sample` must be a Sample", type(sample).__name__, "it says how people were drawn", TypeError)
    more = [name for name in ("population", "calibration") if getattr(sample, name, None) is not None]
    more += ["lonely"] if getattr(sample, "lonely", "refuse") != "refuse" else []
    if more:
        consequence = "the errors of a model know weights, strata and clusters; give these three as arguments"
        refuse(f"`sample` must have no {' or '.join(more)} here", "one that has", consequence)
    found = {name: getattr(sample, name) for name in ("weights", "strata", "clusters")}
    return {name: value for name, value in found.items() if value is not None}


def complete(gaps: Mapping[str, Mask], missing: str) -> tuple[Mask, dict[str, int]]:
    """Rows in which nothing is missing, and how many others there are: each counted once, by its first
    gap.
    """
    some = np.logical_or.reduce(list(gaps.values()))
    if choice(missing, "missing", ("refuse", "drop")) == "refuse" and some.any():
        which = ", ".join(f"{int(gap.sum())} in {what}" for what, gap in gaps.items() if gap.any())
        refuse("no value may be missing", which, "missing='drop' leaves those rows out and counts them")
    dropped, kept = {}, np.ones(len(some), dtype=bool)
    for what, gap in gaps.items():
        dropped[what] = int(np.count_nonzero(gap & kept))
        kept &= ~gap
    if not kept.any():
        refuse("there must be a row without missing values", "none", "there is nothing to fit")
    return kept, dropped
