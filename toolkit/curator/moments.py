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

from toolkit.central import statistics
from toolkit.central.gaussian import Gaussian
from toolkit.central.laplace import Laplace
from toolkit.central.tables import coding, table_estimators
from toolkit.central.tables.coding import Coding, Composed
from toolkit.central.tables.table_estimators import CellEstimates, Limits, Moments
from toolkit.core.arrays import Array
from toolkit.core.checks import refuse
from toolkit.core.covers import NOISE
from toolkit.core.estimate import SIMULATED, Estimate
from toolkit.core.randomness import Rng
from toolkit.curator.counts import linear, of_sums
from toolkit.curator.query import Query, by_column
from toolkit.curator.release import Noise, Release
from toolkit.frames.bounds import PAIR_BITS, SQUARE_BITS, Bounds
from toolkit.frames.groups import Grouping
from toolkit.frames.sums import Variable, summed, summed_pairs

Scale: TypeAlias = tuple[float, float, tuple[float, float]]
"""A factor, an offset, and what the result is clipped to."""
_PLAIN: Scale = (1.0, 0.0, (-math.inf, math.inf))
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


def mean(query: Query, column: Any, bounds: Any, missing: Any) -> Release[Any]:
    """The mean of a column, or of each of a list of columns, which share the price evenly."""
    if isinstance(column, list):
        return _means(query, column, bounds, missing)
    variable, words = query.variable(column, bounds, missing)
    if (n := query.public_n(variable)) is not None:
        return of_sums(query, "mean", statistics.mean(variable.limits, n), variable, words)
    name = query.frame.name(column)
    unit = "steps, as bounds have them"
    return _coded(query, f"mean of {name}", [_mean(query, variable)], [variable], words, unit)


def _means(query: Query, columns: list[Any], bounds: Any, missing: Any) -> Release[Any]:
    if len(set(columns)) < len(columns) or not columns:
        received = "repetitions" if columns else "none"
        refuse("`column` must list distinct columns, and at least one", received, "each is paid for")
    variables, words = _variables(query, columns, bounds, missing)
    names = ", ".join(query.frame.name(label) for label in columns)
    return _coded(query, f"mean of {names}", [_mean(query, one) for one in variables], variables, words)


def _mean(query: Query, variable: Variable) -> Part:
    limits, rows, laplace = variable.limits, query.rows, query.price.is_epsilon
    code = coding.first_order(limits.span, rows.cells, query.neighbors, query.caps, laplace=laplace)
    read = partial(summed, query.frame, rows, variable, 1)
    scale = *_half_and_middle(limits), (float(limits.low), float(limits.high))
    return Part(query.frame.name(variable.label), code, read, table_estimators.mean, scale)


def variance(query: Query, column: Any, bounds: Any, missing: Any, name: str = "variance") -> Release[Any]:
    """The sample variance of a column."""
    variable, words = query.variable(column, bounds, missing, SQUARE_BITS)
    limits, rows = variable.limits, query.rows
    if (n := query.public_n(variable)) is not None:
        return of_sums(query, name, statistics.variance(limits, n), variable, words, order=2)
    laplace, half = query.price.is_epsilon, _half_and_middle(limits)[0]
    code = coding.second_order(limits.span, rows.cells, query.neighbors, query.caps, laplace=laplace)
    read = partial(summed, query.frame, rows, variable, 2)
    part = Part("", code, read, table_estimators.variance, (half**2, 0.0, (0.0, 2 * half**2)))
    return _coded(query, f"{name} of {query.frame.name(column)}", [part], [variable], words)


def std(query: Query, column: Any, bounds: Any, missing: Any) -> Release[Any]:
    """The root of the variance."""
    squared = variance(query, column, bounds, missing, "standard deviation")
    return replace(squared, finish=partial(Estimate.map, function=_root, derivative=_root_slope))


def covariance(query: Query, pair: tuple[Any, Any], bounds: Any, missing: Any) -> Release[Any]:
    """The sample covariance of two columns."""
    variables, words = _variables(query, pair, bounds, missing, PAIR_BITS)
    x, y = variables
    read = partial(summed_pairs, query.frame, query.rows, (x, y))
    label = f"covariance of {' and '.join(query.frame.name(one.label) for one in variables)}"
    if (n := query.public_n(x, y)) is not None:
        statistic, limits = statistics.covariance((x.limits, y.limits), n), _limits(query, variables)
        unit = "products of steps, as bounds have them"
        label += query.rows.words
        return linear(query, label, statistic, read, limits, missing=words, noise_unit=unit)
    wide = _half_and_middle(x.limits)[0] * _half_and_middle(y.limits)[0]
    scale = wide, 0.0, (-2 * wide, 2 * wide)
    part = Part("", _pair_coding(query, x, y), read, table_estimators.covariance, scale)
    return _coded(query, label, [part], variables, words)


def correlation(query: Query, pair: tuple[Any, Any], bounds: Any, missing: Any) -> Release[Any]:
    """The correlation of two columns."""
    variables, words = _variables(query, pair, bounds, missing, PAIR_BITS)
    x, y = variables
    read = partial(summed_pairs, query.frame, query.rows, (x, y))
    part = Part("", _pair_coding(query, x, y), read, table_estimators.correlation, (1.0, 0.0, (-1.0, 1.0)))
    label = f"correlation of {' and '.join(query.frame.name(one.label) for one in variables)}"
    return _coded(query, label, [part], variables, words, notes=_LINEAR)


def _pair_coding(query: Query, x: Variable, y: Variable) -> Coding:
    spans = x.limits.span, y.limits.span
    return coding.pairs(spans, query.rows.cells, query.neighbors, query.caps)


def _variables(
    query: Query, labels: Sequence[Any], bounds: Any, missing: Any, *bits: int
) -> tuple[list[Variable], str]:
    """Several columns, each with its own bounds, and what becomes of missing values in words."""
    read = [
        query.variable(label, by_column(bounds, label, "bounds"), by_column(missing, label, "missing"), *bits)
        for label in labels
    ]
    words = [text for _, text in read]
    if len(set(words)) > 1:
        words = [", ".join(f"{query.frame.name(label)}: {text}" for label, text in zip(labels, words, strict=True))]
    return [variable for variable, _ in read], words[0]


def _limits(query: Query, variables: Sequence[Variable]) -> dict[str, Bounds]:
    return {query.frame.name(variable.label): variable.limits for variable in variables}


def _coded(
    query: Query,
    label: str,
    parts: list[Part],
    variables: list[Variable],
    missing: str,
    unit: str = "products of steps, as bounds have them",
    notes: tuple[str, ...] = (),
) -> Release[Any]:
    """Several whole numbers per cell, with noise, and what is estimated from them."""
    price, rows = query.price.share(len(parts)), query.rows
    mechanisms = tuple(price.noise(part.coding.sensitivity) for part in parts)
    mechanism = mechanisms[0] if len(parts) == 1 else Composed(mechanisms)
    label += rows.words

    def draw(entries: list[list[int]], rng: Rng) -> Estimate:
        moments = [
            Moments.of(part.coding, *one.integers(numbers, rng))
            for part, one, numbers in zip(parts, mechanisms, entries, strict=True)
        ]
        estimate, counts = _estimated(parts, moments, rows, _paid(mechanism, type(mechanisms[0]).__name__, rng))
        return replace(estimate, counts=release.describe(counts, f"values behind {label}", rows.notes))

    release = query.release(
        label,
        mechanism,
        lambda: [part.coding.entries(part.read()) for part in parts],
        draw,
        limits=_limits(query, variables),
        missing=missing,
        notes=notes,
        noise=lambda: Noise(rows.cells * len(parts), per_value=_per_value(parts, mechanisms)),
        noise_unit=unit,
    )
    return release


def _paid(mechanism: Composed | Laplace | Gaussian, method: str, rng: Rng) -> dict[str, Any]:
    """What an estimate says of its price: none, where a generator drew."""
    if rng is None:
        return {"loss": mechanism.loss, "method": method, "notes": ()}
    return {"loss": None, "method": method, "notes": (SIMULATED,)}


def _estimated(
    parts: list[Part], moments: list[Moments], rows: Grouping, paid: dict[str, Any]
) -> tuple[Estimate, Estimate]:
    """Cells one after the other, in each the columns that were asked for; and how many values are behind
    each. Both say what was paid.
    """
    several, scalar = len(parts) > 1, not rows.axes and len(parts) == 1
    results = [part.estimator(one) for part, one in zip(parts, moments, strict=True)]
    scales = [part.scale for part in parts]
    value = _interleave([_scaled(r.value, scale) for r, scale in zip(results, scales, strict=True)])
    se = _interleave([scale[0] * r.se for r, scale in zip(results, scales, strict=True)])
    labels: tuple[Any, ...] = rows.labels if rows.axes else ("value",)
    if several:
        names = [part.name for part in parts]
        keys = [label if isinstance(label, tuple) else (label,) for label in rows.labels]
        labels = tuple((*key, name) if rows.axes else name for key in keys for name in names)
    axes = (*rows.names, "column") if several else rows.names
    numbers = [table_estimators.counts(one) for one in moments]
    counts = _estimate(
        _whole(_interleave([one.value for one in numbers])),
        _interleave([one.se for one in numbers]),
        Limits(partial(_ends, [one.basis for one in numbers], [_PLAIN] * len(numbers)), scalar),
        labels,
        axes,
        **paid,
    )
    limits = Limits(partial(_ends, [r.basis for r in results], scales), scalar, results[0].basis.methods)
    return _estimate(value, se, limits, labels, axes, **paid), counts


def _estimate(
    value: Any, se: Array, basis: Limits, labels: tuple[Any, ...], axes: tuple[str, ...], **paid: Any
) -> Estimate:
    return Estimate(
        value=value[0].item() if basis.scalar else value,
        se=float(se[0]) if basis.scalar else se,
        labels=labels,
        cov=np.diag(se**2) if len(se) <= _MOST_COVARIANCES else None,
        n=None,
        covers=NOISE,
        basis=basis,
        axes=axes,
        **paid,
    )


def _whole(numbers: Array) -> Any:
    """Whole, as people are; the interval is that of the numbers themselves."""
    return np.rint(numbers).astype(np.int64) if np.all(np.abs(numbers) < 2**62) else numbers


def _interleave(columns: list[Array]) -> Array:
    return columns[0] if len(columns) == 1 else np.stack(columns, axis=1).ravel()


def _scaled(values: Array, scale: Scale) -> Array:
    factor, offset, ends = scale
    return np.clip(offset + factor * values, *ends)


def _ends(bases: list[Limits], scales: list[Scale], level: float) -> tuple[Array, Array]:
    """The limits of all columns, each on its own scale."""
    ends = [basis.of(level) for basis in bases]
    low, high = (
        _interleave([_scaled(end[side], scale) for scale, end in zip(scales, ends, strict=True)]) for side in (0, 1)
    )
    return low, high


def _half_and_middle(limits: Bounds) -> tuple[float, float]:
    """Half the distance of the limits, and their middle, on the grid: what t = 1 and t = 0 stand for."""
    half = limits.span * limits.step / 2
    return float(half), float(limits.least * limits.step + half)


def _per_value(parts: list[Part], mechanisms: Sequence[Laplace | Gaussian]) -> float:
    """The largest standard error of a cell, times the number of values, if that is large and they are spread
    evenly between their bounds.
    """
    errors = []
    for part, mechanism in zip(parts, mechanisms, strict=True):
        powers, slopes = _EVEN[len(part.coding.back)], part.coding.slopes / part.coding.unit
        moments = Moments(1e9 * np.array([powers]), slopes, mechanism.whole_law)
        errors.append(1e9 * part.scale[0] * float(part.estimator(moments).se[0]))
    return max(errors)


def _root(variance: Array) -> Array:
    """A noisy variance below 0 counts as 0."""
    return np.asarray(np.sqrt(np.maximum(variance, 0)))


def _root_slope(variance: Array) -> Array:
    return np.asarray(0.5 / np.sqrt(np.where(variance > 0, variance, np.nan)))
