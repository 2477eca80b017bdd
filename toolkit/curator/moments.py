"""Means, variances, covariances and correlations, in all or by groups.

Where the number of values is public, one number with noise is enough. Where it is private, as in every group,
all that is needed is released as one vector for one charge, and the number of values comes with it.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, TypeAlias

import numpy as np

from toolkit.central import statistics, tables
from toolkit.central.gaussian import Gaussian
from toolkit.central.laplace import Laplace
from toolkit.central.tables import CellEstimates, Coding, Composed, Limits, Moments
from toolkit.core.arrays import Array, Label
from toolkit.core.checks import refuse
from toolkit.core.covers import NOISE
from toolkit.core.estimate import SIMULATED, Estimate
from toolkit.core.randomness import Rng
from toolkit.curator.counts import PRODUCTS, STEPS, linear, of_sums
from toolkit.curator.release import Noise, Query, Release, by_column
from toolkit.frames.sums import (
    PAIR_BITS,
    SQUARE_BITS,
    Bounds,
    BoundsByColumn,
    BoundsLike,
    Grouping,
    Missing,
    Variable,
    summed,
    summed_pairs,
)

Scale: TypeAlias = tuple[float, float, tuple[float, float]]
"""A factor, an offset, and what the result is clipped to."""
_ANYWHERE = (-math.inf, math.inf)
_MOST_COVARIANCES = 1000
_LINEAR = ("NaN where a noisy variance is not above 0; the interval follows the linear part of the error",)
_EVEN = {2: (1.0, 0.0), 3: (1.0, 0.0, 1 / 3), 9: (1.0, 0.0, 1 / 3, 0.0, 0.0, 0.0, 1 / 3, 0.0, 1 / 9)}
"""Sums of powers of numbers, and of pairs, that are spread evenly from -1 to 1."""


@dataclass(frozen=True, eq=False)
class Part:
    """One column, or one pair: how it is coded, read and estimated, and the scale of the result."""

    name: str
    coding: Coding
    read: Callable[[], list[list[int]]]
    estimator: Callable[[Moments], CellEstimates]
    scale: Scale


def mean(query: Query, column: Label | list[Label], bounds: BoundsByColumn, missing: Missing) -> Release[Any]:
    """The mean of a column, or of each of a list of columns, which share the price evenly."""
    unit, rows = query.unit, query.rows
    if isinstance(column, list):
        if len(set(column)) < len(column) or not column:
            received = "repetitions" if column else "none"
            refuse("`column` must list distinct columns, and at least one", received, "each is paid for")
        variables, noise_unit = _variables(query, column, bounds, missing), PRODUCTS
    else:
        variables, noise_unit = [query.variable(column, bounds, missing)], STEPS
        if variables[0].fill is not None and not rows.is_part and unit.n is not None:
            return of_sums(query, "mean", statistics.mean(variables[0].limits, unit.n), variables[0])
    parts = []
    for variable in variables:
        limits, laplace = variable.limits, query.price.is_epsilon
        code = tables.first_order(limits.span, rows.cells, unit.neighbors, unit.caps, laplace=laplace)
        read = partial(summed, query.frame, rows, variable, 1)
        half, least = limits.span * limits.step / 2, limits.least * limits.step
        scale = float(half), float(least + half), (float(limits.low), float(limits.high))
        parts.append(Part(variable.name, code, read, tables.mean, scale))
    return _coded(query, f"mean of {', '.join(one.name for one in variables)}", parts, variables, noise_unit)


def variance(query: Query, column: Label, bounds: BoundsLike, missing: Missing, name: str = "variance") -> Release[Any]:
    variable, unit, rows = query.variable(column, bounds, missing, SQUARE_BITS), query.unit, query.rows
    limits = variable.limits
    if variable.fill is not None and not rows.is_part and unit.n is not None:
        return of_sums(query, name, statistics.variance(limits, unit.n), variable, order=2)
    laplace, half = query.price.is_epsilon, _half(limits)
    code = tables.second_order(limits.span, rows.cells, unit.neighbors, unit.caps, laplace=laplace)
    read = partial(summed, query.frame, rows, variable, 2)
    part = Part("", code, read, tables.variance, (half**2, 0.0, _ANYWHERE))
    return _coded(query, f"{name} of {variable.name}", [part], [variable])


def std(query: Query, column: Label, bounds: BoundsLike, missing: Missing) -> Release[Any]:
    squared = variance(query, column, bounds, missing, "standard deviation")
    noise = squared.noise and partial(_root_noise, squared.noise, Bounds.of(bounds, SQUARE_BITS), query.unit.n)
    return replace(squared, noise=noise, finish=partial(Estimate.map, function=_root, derivative=_root_slope))


def covariance(query: Query, pair: tuple[Label, Label], bounds: BoundsByColumn, missing: Missing) -> Release[Any]:
    x, y = variables = _variables(query, pair, bounds, missing, PAIR_BITS)
    label, n = f"covariance of {x.name} and {y.name}", query.unit.n
    if not query.rows.is_part and n is not None and x.fill is not None and y.fill is not None:
        statistic, read = statistics.covariance((x.limits, y.limits), n), partial(summed_pairs, query.frame, query.rows)
        return linear(query, label, statistic, partial(read, (x, y)), variables, noise_unit=PRODUCTS)
    part = _pair(query, x, y, tables.covariance, (_half(x.limits) * _half(y.limits), 0.0, _ANYWHERE))
    return _coded(query, label, [part], variables)


def correlation(query: Query, pair: tuple[Label, Label], bounds: BoundsByColumn, missing: Missing) -> Release[Any]:
    x, y = variables = _variables(query, pair, bounds, missing, PAIR_BITS)
    part = _pair(query, x, y, tables.correlation, (1.0, 0.0, _ANYWHERE))
    return _coded(query, f"correlation of {x.name} and {y.name}", [part], variables, notes=_LINEAR)


def _pair(query: Query, x: Variable, y: Variable, estimator: Callable[[Moments], CellEstimates], scale: Scale) -> Part:
    spans, unit = (x.limits.span, y.limits.span), query.unit
    code = tables.pairs(spans, query.rows.cells, unit.neighbors, unit.caps)
    return Part("", code, partial(summed_pairs, query.frame, query.rows, (x, y)), estimator, scale)


def _variables(
    query: Query, labels: Sequence[Label], bounds: BoundsByColumn, missing: Missing, *bits: int
) -> list[Variable]:
    """Several columns, each with its own bounds and what becomes of its missing values."""
    return [
        query.variable(label, by_column(bounds, label, "bounds"), by_column(missing, label, "missing"), *bits)
        for label in labels
    ]


def _coded(
    query: Query,
    label: str,
    parts: list[Part],
    variables: list[Variable],
    noise_unit: str = PRODUCTS,
    notes: tuple[str, ...] = (),
) -> Release[Any]:
    """Several whole numbers per cell, with noise, and what is estimated from them."""
    price, rows = replace(query.price, amount=query.price.amount / len(parts)), query.rows
    mechanisms = tuple(price.noise(part.coding.sensitivity) for part in parts)
    mechanism = mechanisms[0] if len(parts) == 1 else Composed(mechanisms)
    label += rows.words

    def draw(entries: list[list[int]], rng: Rng) -> Estimate:
        moments = [
            Moments.of(part.coding, *one.integers(numbers, rng))
            for part, one, numbers in zip(parts, mechanisms, entries, strict=True)
        ]
        loss, simulated = (mechanism.loss, ()) if rng is None else (None, (SIMULATED,))
        paid = {"loss": loss, "method": type(mechanisms[0]).__name__, "notes": simulated}
        estimate, counts = _estimated(parts, moments, rows, paid)
        return replace(estimate, counts=release.describe(counts, f"values behind {label}", rows.where.notes))

    release = query.release(
        label,
        mechanism,
        lambda: [part.coding.entries(part.read()) for part in parts],
        draw,
        variables=variables,
        notes=notes,
        noise=lambda: Noise(rows.cells * len(parts), per_value=_per_value(parts, mechanisms)),
        noise_unit=noise_unit,
    )
    return release


def _estimated(
    parts: list[Part], moments: list[Moments], rows: Grouping, paid: dict[str, Any]
) -> tuple[Estimate, Estimate]:
    """The estimates, cell by cell and in each column by column; and how many values are behind each."""
    several, scalar = len(parts) > 1, not rows.axes and len(parts) == 1
    labels: tuple[Any, ...] = rows.labels if rows.axes else ("value",)
    if several:
        keys = [label if isinstance(label, tuple) else (label,) for label in rows.labels]
        labels = tuple((*key, part.name) if rows.axes else part.name for key in keys for part in parts)
    paid = {"labels": labels, "axes": (*rows.names, "column") if several else rows.names, **paid}
    results = [part.estimator(one) for part, one in zip(parts, moments, strict=True)]
    bounded = [part.scale for part in parts]
    limits = Limits(partial(_ends, [one.basis for one in results], bounded), scalar, results[0].basis.methods)
    numbers = [tables.counts(one) for one in moments]
    unbounded: list[Scale] = [(1.0, 0.0, _ANYWHERE)] * len(parts)
    count_limits = Limits(partial(_ends, [one.basis for one in numbers], unbounded), scalar)
    counts = _estimate(numbers, unbounded, count_limits, paid)
    if np.all(np.abs(counts.value) < 2**62):  # whole, as people are; the interval is that of the numbers themselves
        whole: Any = np.rint(counts.value).astype(np.int64)
        counts = replace(counts, value=whole.item() if scalar else whole)
    return _estimate(results, bounded, limits, paid), counts


def _estimate(results: list[CellEstimates], scales: list[Scale], limits: Limits, paid: dict[str, Any]) -> Estimate:
    """Each column on its own scale, side by side in each cell."""
    pairs = list(zip(results, scales, strict=True))
    value = np.stack([np.clip(offset + factor * one.value, *ends) for one, (factor, offset, ends) in pairs], axis=1)
    se = np.stack([factor * one.se for one, (factor, *_) in pairs], axis=1).ravel()
    return Estimate(
        value=value.ravel()[0].item() if limits.scalar else value.ravel(),
        se=float(se[0]) if limits.scalar else se,
        cov=np.diag(se**2) if len(se) <= _MOST_COVARIANCES else None,
        n=None,
        covers=NOISE,
        basis=limits,
        **paid,
    )


def _ends(bases: list[Limits], scales: list[Scale], level: float) -> tuple[Array, Array]:
    ends = [
        [np.clip(offset + factor * end, *within) for end in basis.of(level)]
        for basis, (factor, offset, within) in zip(bases, scales, strict=True)
    ]
    low, high = (np.stack(side, axis=1).ravel() for side in zip(*ends, strict=True))
    return low, high


def _half(limits: Bounds) -> float:
    """Half the distance of the limits, on the grid: what t = 1 stands for."""
    return float(limits.span * limits.step / 2)


def _per_value(parts: list[Part], mechanisms: Sequence[Laplace | Gaussian]) -> float:
    """The largest standard error of a cell, times the number of values, if these are many and spread evenly."""
    errors = []
    for part, mechanism in zip(parts, mechanisms, strict=True):
        powers, slopes = _EVEN[len(part.coding.back)], part.coding.slopes / part.coding.unit
        moments = Moments(1e9 * np.array([powers]), slopes, mechanism.whole_law)
        errors.append(1e9 * part.scale[0] * float(part.estimator(moments).se[0]))
    return max(errors)


def _root_noise(squared: Callable[[], Noise], limits: Bounds, n: int | None) -> Noise:
    """Of the root of a variance: by its slope where values are spread evenly, 1 / (2 half / sqrt 3)."""
    noise = squared()
    per_value = noise.sd * n if noise.sd is not None and n is not None else noise.per_value or 0.0
    return Noise(noise.cells, per_value=per_value * math.sqrt(3) / (2 * _half(limits)))


def _root(variance: Array) -> Array:
    return np.asarray(np.sqrt(np.maximum(variance, 0)))


def _root_slope(variance: Array) -> Array:
    return np.asarray(0.5 / np.sqrt(np.where(variance > 0, variance, np.nan)))
