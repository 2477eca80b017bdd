"""Statistics that do not follow outliers: Huber locations, smooth medians, trimmed means, quartile distances.

No standard error and no interval is released: with a local or a smooth sensitivity both would depend on the data.
"""

import math
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from toolkit.central.release import chosen
from toolkit.core.arrays import Array, Codes, Label
from toolkit.core.checks import Number, exact, probability, refuse
from toolkit.core.estimate import Estimate
from toolkit.core.randomness import Rng
from toolkit.curator.release import CHANGED, Query, Release, resolve_missing
from toolkit.frames.reader import values_of
from toolkit.frames.sums import BoundsLike, Missing, Variable, split, written

if TYPE_CHECKING:  # else imported by the verbs, so that `import toolkit` stays fast
    from toolkit.central.robust.releases import Summary


def location(query: Query, column: Label, estimator: object, bounds: BoundsLike, step: Number | None) -> Release[Any]:
    """The Huber location of a column in each cell, by inverse sensitivity."""
    from toolkit.central.robust.estimators import Huber
    from toolkit.central.robust.inverse import COVERS, InverseSensitivity

    if not isinstance(estimator, Huber):
        refuse(
            "`estimator` must be a Huber",
            getattr(estimator, "__name__", repr(estimator)),
            "write Huber(1.345): a mean has no bounded score, and where psi falls again no count of people is known",
            TypeError,
        )
    rows, name = query.rows, query.frame.column(column, numbers=True).name
    groups = 2 if rows.cells > 1 and query.unit.neighbors == "replace" else 1
    epsilon = groups * replace(query.price, amount=query.price.amount / groups).choice
    mechanism = InverseSensitivity.for_epsilon(
        epsilon, estimator, bounds=bounds, step=step, groups=groups, rows=query.unit.caps.most(rows.cells)
    )

    def draw(read: tuple[Codes, Array], rng: Rng) -> Estimate:
        codes, values = read
        scores = (-mechanism.lengths(one, len(values)) for one in split(codes, values, rows.cells))
        if not rows.axes:
            return mechanism.choose(next(scores), rng)
        points, kind = [mechanism.point(one, rng) for one in scores], type(mechanism).__name__
        return chosen(points, mechanism.loss, COVERS, kind, rng, labels=rows.labels, axes=rows.names)

    each = (f"each of {rows.cells} groups for itself: {mechanism.note}",) if rows.axes else ()
    return query.release(
        f"{mechanism.statistic!r} location of {name}{rows.words}",
        mechanism,
        lambda: values_of(query.frame, rows, column, mechanism.bounds),
        draw,
        variables=[Variable(column, mechanism.bounds, None, name, "missing left out")],
        notes=(*each, "a Huber location, which of skewed values is neither their median nor their mean"),
    )


def trimmed_mean(query: Query, column: Label, trim: Number, bounds: BoundsLike, missing: Missing) -> Release[Any]:
    """The mean without a share of the rows at each end."""
    share = probability(trim, "trim")
    if share >= exact("1/2", "trim"):
        refuse("`trim` must be below 1/2", trim, "it is cut off at each end")
    return smooth(query, "trimmed", column, bounds, missing, lambda n: {"trim": math.floor(share * n)})


_WORDS = {"median": "median", "trimmed": "trimmed mean", "iqr": "interquartile range"}


def smooth(
    query: Query,
    statistic: str,
    column: Label,
    bounds: BoundsLike,
    missing: Missing,
    options: Callable[[int], dict[str, Any]] | None = None,
) -> Release[Any]:
    """A statistic with noise for its smooth sensitivity, whose scale is not told."""
    words = _WORDS[statistic]
    _check_smooth(query, words)
    from toolkit.central.robust.releases import SmoothSensitivity

    n, numbers = len(query.frame), query.frame.column(column, numbers=True)
    settings = {} if options is None else options(n)
    mechanism = SmoothSensitivity.for_epsilon(query.price.amount, statistic, n=n, bounds=bounds, **settings)
    fill, how = (None, "") if missing is None else resolve_missing(missing, mechanism.bounds)
    if fill is None:
        middle = written(float(mechanism.bounds.low + mechanism.bounds.high) / 2)
        rule = "`missing` must be a number with smooth noise: what a missing value counts as"
        consequence = f"were values dropped, their number would be private; write missing={middle}, say"
        refuse(rule, "none" if missing is None else repr(missing), consequence)

    def read() -> "Summary | None":
        values = numbers.floats()
        if len(values) != n:
            return None
        return mechanism.summary(np.where(np.isnan(values), float(fill), values))

    return query.release(
        f"{words} of {numbers.name}",
        mechanism,
        read,
        lambda summary, rng: CHANGED if summary is None else mechanism.draw(summary, rng),
        variables=[Variable(column, mechanism.bounds, fill, numbers.name, how)],
        notes=(f"released is the {mechanism.statistic.name} of {n:,} values",),
    )


def _check_smooth(query: Query, words: str) -> None:
    if query.unit.neighbors != "replace":
        consequence = "its sensitivity is known for a public number of rows; quantile and location need none"
        refuse(f"a {words} with smooth noise needs neighbors='replace'", repr(query.unit.neighbors), consequence)
    if not query.price.is_epsilon or query.rows.is_part:
        rule = "method='smooth' takes `epsilon`, and no `where`, `by` or `rho`"
        refuse(rule, "others", "its noise is for all rows, whose number is public; method='exponential' takes them")
    if query.unit.persons is not None:
        consequence = "how far several rows move it is not known here; count, sum, mean and spread have tables"
        refuse("this statistic needs one row a person", f"a curator with {query.unit.persons.words}", consequence)
