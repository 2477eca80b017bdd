"""Weighted counts, sums and means, in total or by group, with the error of the sample and of the noise."""

from dataclasses import replace
from functools import partial
from typing import Any

from toolkit.central.weighted import SamplingModel, WeightedStatistic, weighted_mean, weighted_sums, weighted_total
from toolkit.core.arrays import Label
from toolkit.curator.release import PRODUCTS, PlannedRelease, Query, noisy_sums
from toolkit.curator.weights import Weights, reject_weights
from toolkit.frames.reader import power_sums, product_sums
from toolkit.frames.sums import SQUARE_BITS, BoundsByColumn, BoundsLike, Missing, Variable


def count(query: Query, weights: Weights) -> PlannedRelease[Any]:
    """Describe the sum of the weights of the selected rows, in total or by group."""
    model = SamplingModel(query.unit.n, weights.deff)
    statistic = _statistic(query, weights, None)
    statistic = replace(statistic, estimator=partial(weighted_total, model=model), factor=weights.largest)
    return _release(query, weights, "count", statistic, None)


def total(query: Query, weights: Weights, column: Label, bounds: BoundsLike, missing: Missing) -> PlannedRelease[Any]:
    """Describe the weighted sum of a column clamped to bounds."""
    value = query.variable(column, bounds, missing, SQUARE_BITS)
    model, limits = SamplingModel(query.unit.n, weights.deff), value.limits
    estimator = partial(weighted_total, model=model, middle=limits.middle, half=limits.half_width)
    statistic = replace(_statistic(query, weights, value), estimator=estimator, factor=weights.largest)
    return _release(query, weights, f"sum of {value.name}", statistic, value)


def mean(
    query: Query, weights: Weights, column: Label | list[Label], bounds: BoundsByColumn, missing: Missing
) -> PlannedRelease[Any]:
    """Describe the weighted mean of a column: the ratio of two sums of one noisy vector."""
    if isinstance(column, list):
        reject_weights()
    value = query.variable(column, bounds, missing, SQUARE_BITS)
    model, limits = SamplingModel(query.unit.n, weights.deff), value.limits
    statistic = replace(
        _statistic(query, weights, value),
        estimator=partial(weighted_mean, model=model),
        factor=limits.half_width,
        offset=limits.middle,
        within=(float(limits.low), float(limits.high)),
    )
    return _release(query, weights, f"mean of {value.name}", statistic, value)


def _statistic(query: Query, weights: Weights, value: Variable | None) -> WeightedStatistic:
    limits, unit = weights.variable.limits, query.unit
    statistic = weighted_sums(
        (limits.low_steps, limits.high_steps),
        None if value is None else value.limits.span,
        query.rows.n_cells,
        unit.neighbors,
        unit.caps,
        squares=weights.deff is None,
    )
    n_is_public = unit.n is not None and not query.rows.may_omit_rows and (value is None or value.fill is not None)
    return replace(statistic, has_counts=not n_is_public)


def _release(
    query: Query, weights: Weights, label: str, statistic: WeightedStatistic, value: Variable | None
) -> PlannedRelease[Any]:
    order = 2 if weights.deff is None else 1
    variables: tuple[Variable, ...] = (weights.variable,)
    read = partial(power_sums, query.frame, query.rows, weights.variable, order)
    if value is not None:
        variables = (weights.variable, value)
        read = partial(product_sums, query.frame, query.rows, (weights.variable, value), order)
    release = noisy_sums(query, f"weighted {label}", [statistic], [read], variables, PRODUCTS)
    facts = {
        "weights": f"{weights.description.removeprefix('weights ')}; each depends on its own row alone",
        "sampling variance": SamplingModel(query.unit.n, weights.deff).description,
    }
    return replace(release, query={**release.query, **facts})
