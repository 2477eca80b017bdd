"""Means, variances, covariances and correlations, in total or by group.

If the number of values is public, a single noisy number suffices. If it is private, as in every group, all necessary
sums and the number of values are released as one vector for one charge.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from toolkit.central import statistics, tables
from toolkit.central.release import CellNoise
from toolkit.core.arrays import Array, Label
from toolkit.core.checks import reject
from toolkit.core.estimate import Estimate
from toolkit.curator import weighted
from toolkit.curator.release import PRODUCTS, STEPS, PlannedRelease, Query, by_column, noisy_sums
from toolkit.frames.reader import power_sums, product_sums
from toolkit.frames.sums import PAIR_BITS, SQUARE_BITS, Bounds, BoundsByColumn, BoundsLike, Missing, Variable

_LINEAR = ("NaN if a noisy variance is not above 0; the interval uses a linear approximation of the error",)


def mean(query: Query, column: Label | list[Label], bounds: BoundsByColumn, missing: Missing) -> PlannedRelease[Any]:
    """Describe the mean of a column, or the means of a list of columns that share the budget evenly."""
    if query.weights is not None:
        return weighted.mean(query, query.weights, column, bounds, missing)
    if isinstance(column, list):
        if len(set(column)) < len(column) or not column:
            received = "repetitions" if column else "none"
            reject("`column` must list distinct columns, and at least one", received, 'write mean(["x", "y"], …)')
        variables, noise_unit = _variables(query, column, bounds, missing), PRODUCTS
    else:
        variables, noise_unit = [query.variable(column, bounds, missing)], STEPS
    label = f"mean of {', '.join(variable.name for variable in variables)}"
    reads = [partial(power_sums, query.frame, query.rows, variable, 1) for variable in variables]
    if not isinstance(column, list) and (n := _public_n(query, variables)) is not None:
        return noisy_sums(query, label, [statistics.mean(variables[0].limits, n)], reads, variables, STEPS)
    means = [_mean_statistic(query, variable.limits) for variable in variables]
    return noisy_sums(query, label, means, reads, variables, noise_unit)


def _mean_statistic(query: Query, limits: Bounds) -> tables.MomentStatistic:
    unit = query.unit
    statistic = tables.mean_statistic(
        limits.span, query.rows.n_cells, unit.neighbors, unit.caps, laplace=query.price.is_epsilon
    )
    return replace(
        statistic, factor=limits.half_width, offset=limits.middle, within=(float(limits.low), float(limits.high))
    )


def variance(
    query: Query, column: Label, bounds: BoundsLike, missing: Missing, name: str = "variance"
) -> PlannedRelease[Any]:
    """Describe the sample variance of a column."""
    variable, unit, rows = query.variable(column, bounds, missing, SQUARE_BITS), query.unit, query.rows
    limits = variable.limits
    if (n := _public_n(query, [variable])) is not None:
        statistic: statistics.Statistic = statistics.variance(limits, n)
    else:
        coded = tables.variance_statistic(
            limits.span, rows.n_cells, unit.neighbors, unit.caps, laplace=query.price.is_epsilon
        )
        statistic = replace(coded, factor=limits.half_width**2)
    read = partial(power_sums, query.frame, rows, variable, 2)
    return noisy_sums(query, f"{name} of {variable.name}", [statistic], [read], [variable], PRODUCTS)


def std(query: Query, column: Label, bounds: BoundsLike, missing: Missing) -> PlannedRelease[Any]:
    """Describe the sample standard deviation of a column, as the root of its variance."""
    squared = variance(query, column, bounds, missing, "standard deviation")
    noise = squared.noise and partial(_root_noise, squared.noise, Bounds.of(bounds, SQUARE_BITS), query.unit.n)
    return replace(squared, noise=noise, finish=partial(Estimate.map, function=_root, derivative=_root_slope))


def covariance(
    query: Query, pair: tuple[Label, Label], bounds: BoundsByColumn, missing: Missing
) -> PlannedRelease[Any]:
    """Describe the sample covariance of two columns."""
    x, y = variables = _variables(query, pair, bounds, missing, PAIR_BITS)
    if (n := _public_n(query, variables)) is not None:
        statistic: statistics.Statistic = statistics.covariance((x.limits, y.limits), n)
    else:
        statistic = replace(_covariance_statistic(query, x, y), factor=x.limits.half_width * y.limits.half_width)
    return _pair_release(query, "covariance", statistic, (x, y))


def correlation(
    query: Query, pair: tuple[Label, Label], bounds: BoundsByColumn, missing: Missing
) -> PlannedRelease[Any]:
    """Describe the correlation of two columns."""
    x, y = _variables(query, pair, bounds, missing, PAIR_BITS)
    statistic = replace(_covariance_statistic(query, x, y), estimator=tables.correlation)
    return _pair_release(query, "correlation", statistic, (x, y), notes=_LINEAR)


def _covariance_statistic(query: Query, x: Variable, y: Variable) -> tables.MomentStatistic:
    return tables.covariance_statistic(
        (x.limits.span, y.limits.span), query.rows.n_cells, query.unit.neighbors, query.unit.caps
    )


def _pair_release(
    query: Query, name: str, statistic: statistics.Statistic, pair: tuple[Variable, Variable], **more: Any
) -> PlannedRelease[Any]:
    label, read = f"{name} of {pair[0].name} and {pair[1].name}", partial(product_sums, query.frame, query.rows, pair)
    return noisy_sums(query, label, [statistic], [read], pair, PRODUCTS, **more)


def _public_n(query: Query, variables: Sequence[Variable]) -> int | None:
    """Return the number of values if it is public: the number of all rows, if missing values are replaced."""
    filled = all(variable.fill is not None for variable in variables)
    return query.unit.n if filled and not query.rows.may_omit_rows else None


def _variables(
    query: Query, labels: Sequence[Label], bounds: BoundsByColumn, missing: Missing, *bits: int
) -> list[Variable]:
    """Return several columns, each with its own bounds and treatment of missing values."""
    return [
        query.variable(label, by_column(bounds, label, "bounds"), by_column(missing, label, "missing"), *bits)
        for label in labels
    ]


def _root_noise(squared: Callable[[], CellNoise], limits: Bounds, n: int | None) -> CellNoise:
    """Return the noise of a standard deviation by the delta method, for values spread evenly between the bounds."""
    noise = squared()
    se_times_n = noise.sd * n if noise.sd is not None and n is not None else noise.se_times_n or 0.0
    return CellNoise(noise.n_cells, se_times_n=se_times_n * math.sqrt(3) / (2 * limits.half_width))


def _root(variance: Array) -> Array:
    return np.asarray(np.sqrt(np.maximum(variance, 0)))


def _root_slope(variance: Array) -> Array:
    return np.asarray(0.5 / np.sqrt(np.where(variance > 0, variance, np.nan)))
