"""Robust statistics: Huber locations, medians, trimmed means and interquartile ranges.

No standard error and no interval are released, because both would depend on the data.
"""

import math
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from toolkit.central.release import selection_estimate
from toolkit.core.arrays import Array, Codes, Label
from toolkit.core.checks import Number, check_probability, exact_fraction, reject
from toolkit.core.estimate import Estimate
from toolkit.core.randomness import Rng
from toolkit.curator.release import CHANGED, PlannedRelease, Query, resolve_missing
from toolkit.frames.reader import cell_values
from toolkit.frames.sums import BoundsLike, Missing, Variable, format_number, split_by_cell

if TYPE_CHECKING:  # imported inside the functions, so that `import toolkit` stays fast
    from toolkit.central.robust.releases import SmoothSummary


def location(
    query: Query, column: Label, estimator: object, bounds: BoundsLike, step: Number | None
) -> PlannedRelease[Any]:
    """Describe the Huber location of a column in each cell, by inverse sensitivity."""
    from toolkit.central.robust.estimators import Huber
    from toolkit.central.robust.inverse import COVERS, InverseSensitivity

    if not isinstance(estimator, Huber):
        received = getattr(estimator, "__name__", repr(estimator))
        remedy = "write Huber(1.345): only its score is bounded and monotone"
        reject("`estimator` must be a Huber", received, remedy, TypeError)
    rows, name = query.rows, query.frame.column(column, must_be_numeric=True).name
    groups = 2 if rows.n_cells > 1 and query.unit.neighbors == "replace" else 1
    epsilon = groups * replace(query.price, amount=query.price.amount / groups).selection_epsilon
    mechanism = InverseSensitivity.for_epsilon(
        epsilon,
        estimator,
        bounds=bounds,
        step=step,
        affected_groups=groups,
        rows_per_person=query.unit.caps.max_rows(rows.n_cells),
    )

    def draw(read: tuple[Codes, Array], rng: Rng) -> Estimate:
        codes, values = read
        scores = (-mechanism.lengths(cell, len(values)) for cell in split_by_cell(codes, values, rows.n_cells))
        if not rows.axes:
            return mechanism._release(next(scores), rng)
        points, kind = [mechanism._choose_point(cell, rng) for cell in scores], type(mechanism).__name__
        return selection_estimate(points, mechanism.loss, COVERS, kind, rng, labels=rows.labels, axes=rows.names)

    each = (f"separately in each of {rows.n_cells} groups: {mechanism._note}",) if rows.axes else ()
    return query.release(
        f"{mechanism.statistic!r} location of {name}{rows.description}",
        mechanism,
        lambda: cell_values(query.frame, rows, column, mechanism.bounds),
        draw,
        variables=[Variable(column, mechanism.bounds, None, name, "missing left out")],
        notes=(*each, "a Huber location, which for skewed values is neither the median nor the mean"),
    )


def trimmed_mean(
    query: Query, column: Label, trim: Number, bounds: BoundsLike, missing: Missing
) -> PlannedRelease[Any]:
    """Describe the trimmed mean, which drops a share of the rows at each end."""
    share = check_probability(trim, "trim")
    if share >= exact_fraction("1/2", "trim"):
        reject("`trim` must be below 1/2", trim, "trim=0.1 drops a tenth of the rows at each end")
    return smooth(query, "trimmed", column, bounds, missing, lambda n: {"trim": math.floor(share * n)})


_NAMES = {"median": "median", "trimmed": "trimmed mean", "iqr": "interquartile range"}


def smooth(
    query: Query,
    statistic: str,
    column: Label,
    bounds: BoundsLike,
    missing: Missing,
    options: Callable[[int], dict[str, Any]] | None = None,
) -> PlannedRelease[Any]:
    """Describe a statistic with noise scaled to its smooth sensitivity; the scale of the noise is not published."""
    name = _NAMES[statistic]
    _check_smooth(query, name)
    from toolkit.central.robust.releases import SmoothSensitivity

    n, numbers = len(query.frame), query.frame.column(column, must_be_numeric=True)
    settings = {} if options is None else options(n)
    mechanism = SmoothSensitivity.for_epsilon(query.price.amount, statistic, n=n, bounds=bounds, **settings)
    fill, how = (None, "") if missing is None else resolve_missing(missing, mechanism.bounds)
    if fill is None:
        middle = format_number(float(mechanism.bounds.low + mechanism.bounds.high) / 2)
        rule = "`missing` must be a number with smooth noise: the number that replaces missing values"
        consequence = f"without it the number of values would be private; write missing={middle}, for example"
        reject(rule, "none" if missing is None else repr(missing), consequence)

    def read() -> "SmoothSummary | None":
        values = numbers.floats()
        if len(values) != n:
            return None
        return mechanism._summarize(np.where(np.isnan(values), float(fill), values))

    return query.release(
        f"{name} of {numbers.name}",
        mechanism,
        read,
        lambda summary, rng: CHANGED if summary is None else mechanism._draw(summary, rng),
        variables=[Variable(column, mechanism.bounds, fill, numbers.name, how)],
        notes=(f"the released statistic is the {mechanism.statistic.name} of {n:,} values",),
    )


def _check_smooth(query: Query, name: str) -> None:
    if query.unit.neighbors != "replace":
        consequence = "it needs a public number of rows; use quantile or location instead"
        reject(f"a {name} with smooth noise needs neighbors='replace'", repr(query.unit.neighbors), consequence)
    if not query.price.is_epsilon or query.rows.may_omit_rows:
        rule = "method='smooth' takes `epsilon`, and no `where`, `by` or `rho`"
        reject(rule, "others", "use method='exponential', or leave them out")
    if query.unit.persons is not None:
        consequence = "its sensitivity to several rows is unknown; use count, sum, mean or quantile"
        reject(
            "this statistic needs one row per person", f"a curator with {query.unit.persons.description}", consequence
        )
