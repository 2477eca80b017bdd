"""From the noisy sums of a table's cells to an `Estimate`: in the column's unit, with labels and axes."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeAlias

import numpy as np

from toolkit.budget.frames.rows import Rows
from toolkit.central.gaussian import Gaussian
from toolkit.central.laplace import Laplace
from toolkit.central.steps import Bounds
from toolkit.central.tables import found
from toolkit.central.tables.coding import Coding
from toolkit.central.tables.found import Found, Limits, Moments
from toolkit.core.arrays import Array
from toolkit.core.checks import refuse
from toolkit.core.estimate import Estimate

_MOST_COVARIANCES = 1000
Unit: TypeAlias = tuple[float, float, tuple[float, float]]
"""A factor, an offset, and what the result is cut to."""
_PLAIN: Unit = (1.0, 0.0, (-math.inf, math.inf))


@dataclass(frozen=True, eq=False)
class Part:
    """One column, or one pair, of what is asked for: how it is coded, read and found, and its unit."""

    name: str
    coding: Coding
    read: Callable[[], list[list[int]]]
    find: Callable[[Moments], Found]
    factor: float
    offset: float
    limits: tuple[float, float]


def estimated(parts: list[Part], released: list[Moments], rows: Rows, **paid: Any) -> tuple[Estimate, Estimate]:
    """Cells one after the other, in each the columns that were asked for; and how many values are behind
    each. Both say what was paid.
    """
    several, scalar = len(parts) > 1, not rows.axes and len(parts) == 1
    results = [part.find(moments) for part, moments in zip(parts, released, strict=True)]
    value, se = (
        _woven([np.clip(p.offset + p.factor * r.value, *p.limits) for p, r in zip(parts, results, strict=True)]),
        _woven([p.factor * r.se for p, r in zip(parts, results, strict=True)]),
    )
    units = [(part.factor, part.offset, part.limits) for part in parts]
    labels: tuple[Any, ...] = rows.labels if rows.axes else ("value",)
    if several:
        names = [part.name for part in parts]
        keys = [label if isinstance(label, tuple) else (label,) for label in rows.labels]
        labels = tuple((*key, name) if rows.axes else name for key in keys for name in names)
    axes = (*rows.names, "column") if several else rows.names
    numbers = [found.counted(moments) for moments in released]
    counts = _made(
        _people(_woven([one.value for one in numbers])),
        _woven([one.se for one in numbers]),
        Limits(partial(_ends, [one.basis for one in numbers], [_PLAIN] * len(numbers)), scalar),
        labels,
        axes,
        **paid,
    )
    limits = Limits(partial(_ends, [r.basis for r in results], units), scalar, results[0].basis.methods)
    made = _made(value, se, limits, labels, axes, **paid)
    return made, counts


def _people(numbers: Array) -> Any:
    """Whole, as people are; the interval is that of the numbers themselves."""
    return np.rint(numbers).astype(np.int64) if np.all(np.abs(numbers) < 2**62) else numbers


def _made(
    value: Any,
    se: Array,
    basis: Limits,
    labels: tuple[Any, ...],
    axes: tuple[str, ...],
    **paid: Any,
) -> Estimate:
    cov = np.diag(se**2) if len(se) <= _MOST_COVARIANCES else None
    return Estimate(
        value=value[0].item() if basis.scalar else value,
        se=float(se[0]) if basis.scalar else se,
        labels=labels,
        cov=cov,
        n=None,
        covers="noise",
        basis=basis,
        axes=axes,
        **paid,
    )


def _woven(columns: list[Array]) -> Array:
    return columns[0] if len(columns) == 1 else np.stack(columns, axis=1).ravel()


def _ends(bases: list[Limits], units: list[Unit], level: float) -> tuple[Array, Array]:
    """The limits of all columns, each in its own unit."""
    ends = [basis.of(level) for basis in bases]
    low, high = (
        _woven(
            [np.clip(offset + factor * end[side], *cut) for (factor, offset, cut), end in zip(units, ends, strict=True)]
        )
        for side in (0, 1)
    )
    return low, high


def unit(limits: Bounds) -> tuple[float, float]:
    """Half the distance of the limits, and their middle, on the grid: what t = 1 and t = 0 stand for."""
    half = limits.span * limits.step / 2
    return float(half), float(limits.least * limits.step + half)


def per_value(parts: list[Part], mechanisms: Sequence[Laplace | Gaussian]) -> float:
    """The largest standard error of a cell, times the number of values, if that is large and they are spread
    evenly between their bounds.
    """
    found_errors = []
    for part, mechanism in zip(parts, mechanisms, strict=True):
        powers = _EVEN[len(part.coding.back)]
        moments = Moments(1e9 * np.array([powers]), part.coding.slopes / part.coding.unit, mechanism.whole_law)
        found_errors.append(1e9 * part.factor * float(part.find(moments).se[0]))
    return max(found_errors)


_EVEN = {2: (1.0, 0.0), 3: (1.0, 0.0, 1 / 3), 9: (1.0, 0.0, 1 / 3, 0.0, 0.0, 0.0, 1 / 3, 0.0, 1 / 9)}
"""Sums of powers of numbers, and of pairs, that are spread evenly from -1 to 1."""


def of_column(given: Any, label: Any, name: str) -> Any:
    """What is given for one of several columns: bounds by name, what is missing by name or for all."""
    if isinstance(given, Mapping):
        if label not in given:
            refuse(f"`{name}` must have an entry for each column", "fewer", "each column has its own")
        return given[label]
    if name == "bounds":
        remedy = 'write bounds={"x": (0, 1), "y": (0, 100)}'
        refuse("`bounds` of several columns must be given by name", type(given).__name__, remedy, TypeError)
    return given
