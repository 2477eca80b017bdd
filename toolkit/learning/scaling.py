"""Rows of length at most 1, by public scales: bounds of the columns, the length of a row, a constant
column for the intercept.

Nothing is read from the data: a mean or a spread of them would be a release of its own.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from toolkit.core.arrays import Array
from toolkit.core.checks import exact, positive, refuse

_FAR = 1e100  # where no bounds are said, numbers are cut here: their squares are still floats
_INSIDE = 1 - 2.0**-40  # more than the rounding of a length, so that no row is longer than 1


@dataclass(frozen=True, eq=False)
class Scale:
    """From a person's numbers to a row of length at most 1, and from weights of such rows back.

    A column is cut to its bounds and brought to [-1, 1], a missing number is filled; a row longer than
    `row_norm` is shortened to it. The constant is as large as one of d equal columns, and is part of the row:
    (sqrt(d) x, 1) / sqrt(d + 1) for a row x of length at most 1. With `drop` a row with a missing number is
    all zero.
    """

    low: Array
    high: Array
    middle: Array
    half: Array
    row_norm: float
    intercept: bool
    fill: Array
    drop: bool = False

    @property
    def size(self) -> int:
        """How many weights there are."""
        return len(self.low) + self.intercept

    @property
    def widest(self) -> float:
        """No entry of a row is larger. Both ends of each column are brought to its scale as its cells are, as
        floats may find no middle; `_INSIDE` leaves more room than the rest of the rounding needs.
        """
        ends = np.abs((np.array([self.low, self.high]) - self.middle) / self.half)
        entry = min(1.0, float(ends.max()) / self.row_norm)
        return max(self._unit * entry, 1 / math.sqrt(self.size) if self.intercept else 0.0)

    def rows(self, values: Array) -> Array:
        """One column a person, one row a weight; every column has a length of at most 1."""
        rows = np.empty((self.size, len(values)))
        cut = rows[: len(self.low)]
        missing = np.isnan(values)
        cut[:] = np.where(missing, self.fill, values).T
        np.clip(cut, self.low[:, None], self.high[:, None], out=cut)
        cut -= self.middle[:, None]
        cut /= self.half[:, None]
        lengths = np.sqrt(np.einsum("ij,ij->j", cut, cut))
        cut *= self._unit * _INSIDE / np.maximum(lengths, self.row_norm)
        if self.intercept:
            rows[-1] = _INSIDE / math.sqrt(self.size)
        if self.drop:
            rows *= ~missing.any(axis=1)
        return rows

    def filled(self, values: Array) -> Array:
        """Numbers of which a score can be told: none is missing, none too large."""
        return np.clip(np.where(np.isnan(values), self.fill, values), -_FAR, _FAR)

    def linear(self, weights: Array) -> tuple[Array, float]:
        """Coefficients and intercept in the units of the data, of a score that is linear in rows that were
        not cut.
        """
        slopes = weights[: len(self.low)] * (self._unit * _INSIDE / self.row_norm) / self.half
        constant = weights[-1] * _INSIDE / math.sqrt(self.size) if self.intercept else 0.0
        return slopes, float(constant - slopes @ self.middle)

    @property
    def _unit(self) -> float:
        return math.sqrt(len(self.low) / self.size) if self.intercept else 1.0


def scale(
    bounds: Any,
    row_norm: Any,
    *,
    features: int,
    names: Sequence[str] | None = None,
    intercept: bool = True,
    missing: Any = "middle",
) -> Scale:
    """From what was said: one pair of bounds for all columns, one for each, or a mapping by name; and what a
    missing number counts as.

    >>> scale({"age": (18, 98)}, None, features=1, names=["age"]).rows(np.array([[98.0]])).round(3).tolist()
    [[0.707], [0.707]]
    """
    if bounds is None and row_norm is None:
        refuse(
            "`bounds` or `row_norm` must be said",
            "neither",
            "how far one person can move the weights depends on them, and they must not be read from data",
        )
    pairs = _pairs(bounds, features, names)
    low, high = np.array(pairs, dtype=float).T
    if bounds is None:
        middle, half = np.zeros(features), np.ones(features)
    elif intercept:
        middle, half = (low + high) / 2, (high - low) / 2
    else:  # a score without intercept is 0 at 0
        middle, half = np.zeros(features), np.maximum(np.abs(low), np.abs(high))
    longest = math.sqrt(features) if row_norm is None else float(positive(row_norm, "row_norm"))
    if not 1e-100 <= longest <= _FAR:
        refuse("`row_norm` must lie between 1e-100 and 1e100", row_norm, "its square must be a float")
    fill = (low + high) / 2 if isinstance(missing, str) else _number(missing, low, high)
    return Scale(low, high, middle, half, longest, intercept, fill, drop=missing == "drop")


def _number(missing: Any, low: Array, high: Array) -> Array:
    fill = float(exact(missing, "missing"))
    if not np.all((low <= fill) & (fill <= high)):
        refuse("a number for `missing` must lie within all bounds", missing, "numbers are cut to them")
    return np.full(len(low), fill)


def _pairs(bounds: Any, features: int, names: Sequence[str] | None) -> list[tuple[float, float]]:
    if bounds is None:
        return [(-_FAR, _FAR)] * features
    if isinstance(bounds, Mapping):
        if names is None or set(bounds) != set(names):
            refuse(
                "`bounds` by name must name each column of X",
                f"{len(bounds)} names for {features} columns",
                "a column without bounds has no scale",
            )
        bounds = [bounds[name] for name in names]
    listed = list(bounds)
    if len(listed) == 2 and not any(hasattr(one, "__len__") and not isinstance(one, str) for one in listed):
        listed = [tuple(listed)] * features
    if len(listed) != features:
        refuse("`bounds` must be a pair, or a pair for each column", f"{len(listed)}", f"X has {features}")
    return [_pair(one) for one in listed]


def _pair(pair: Any) -> tuple[float, float]:
    low, high = (float(exact(end, "bounds")) for end in pair)
    if not -_FAR <= low < high <= _FAR:
        refuse("`bounds` must be (low, high) with low < high", (low, high), "numbers are cut to them")
    return low, high
