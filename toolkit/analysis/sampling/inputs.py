"""The arguments of samples as checked arrays, and the calibration of weights to known totals.

The totals are known for cells (poststratification) or for several margins (raking). The part of a variable that cells
or margins explain has no sampling error, so linearized values are replaced by their residuals from the weighted
regression on the cells or margins (Deville and Särndal 1992). Messages count faulty values and never quote them.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from toolkit.core.arrays import Array, Mask, Values
from toolkit.core.checks import Number, exact_fraction, is_missing, reject
from toolkit.frames.table import array_of, index_of, is_lazy, row_count, rows_in_order
from toolkit.frames.table import column as named_column

if TYPE_CHECKING:
    import pandas as pd


LEAST_WEIGHT = 1e-60


def column(values: Values, name: str) -> npt.NDArray[Any]:
    """Return a list, array, or column of a frame as a one-dimensional array."""
    array = array_of(values)
    if array.ndim != 1 or len(array) == 0:
        rule = f"`{name}` must be a column with a value for each row"
        reject(rule, f"shape {array.shape}", "rows are matched by position")
    return array


def columns(values: Any, name: str) -> Any:
    """Apply `column` to each sampling stage; population sizes that are numbers or mappings are returned unchanged."""
    if isinstance(values, tuple):
        return tuple(columns(stage, name) for stage in values)
    number = name == "population" and (isinstance(values, Mapping) or np.ndim(values) == 0)
    return values if values is None or number else column(values, name)


def stages(values: object) -> Any:
    """Return a tuple of two names or columns, which are two stages, unchanged; any other tuple becomes a list."""
    if not isinstance(values, tuple):
        return values
    pair = len(values) == 2 and all(isinstance(stage, str) or np.ndim(stage) == 1 for stage in values)
    return values if pair else list(values)


def names_in(arguments: Iterable[tuple[str, Any]]) -> tuple[str, ...]:
    """Return the values of arguments that are names of columns."""
    flat = [stage for _, value in arguments for stage in (value if isinstance(value, tuple) else (value,))]
    return tuple(stage for stage in flat if isinstance(stage, str))


def from_frame(frame: object, values: object, name: str) -> Any:
    """Look up the names of columns in a frame; other values are returned unchanged."""
    if isinstance(values, tuple):
        return tuple(from_frame(frame, stage, name) for stage in values)
    if not isinstance(values, str):
        return values
    if is_lazy(frame):
        rows_in_order(frame)  # raises an error, because its rows have no order
    return named_column(frame, values, f"`{name}`")


def check_frame(rows: int | None, index: "pd.Index[Any] | None", frame: object) -> None:
    """Reject a frame whose rows are not those of the sample's columns."""
    if rows is not None and rows != row_count(frame):
        reject(f"the frame must have {rows} rows, as the sample has", row_count(frame), "rows are matched by position")
    check_index(index, frame, "the frame")


def check_index(index: "pd.Index[Any] | None", values: object, name: str) -> None:
    """Reject values whose index differs from the index of a sample's columns, because their rows do not match."""
    other = index_of(values)
    if index is not None and other is not None and not index.equals(other):
        remedy = "weights would go to other people: make the Sample from the columns of this frame"
        reject(f"{name} must have the index of the sample's columns", "another", remedy)


def one_index(columns: Sequence[object]) -> "pd.Index[Any] | None":
    """Return the index that all columns share; None if no column has an index."""
    indices = [index for index in map(index_of, columns) if index is not None]
    if indices and not all(indices[0].equals(other) for other in indices[1:]):
        reject("the columns of a sample must have one index", "several", "their rows would be mixed up")
    return indices[0] if indices else None


def positive_weights(values: Values) -> Array:
    """Return weights as an array, after a check that they are finite and above 0."""
    array = column(values, "weights")
    try:
        weights = array.astype(np.float64)
    except (TypeError, ValueError):
        reject("`weights` must be numbers", f"a column of {array.dtype}", "convert the column to numbers", TypeError)
    if wrong := int(np.count_nonzero(~((weights > 0) & np.isfinite(weights)))):
        rule = "`weights` must be finite numbers above 0"
        reject(rule, f"{wrong} of {len(weights)} that are not", "drop those rows from the frame first")
    check_size(weights)
    return weights


def check_size(weights: Array) -> None:
    """Reject weights whose sums and squares would overflow or underflow."""
    if wrong := int(np.count_nonzero((weights > 1 / LEAST_WEIGHT) | (weights < LEAST_WEIGHT))):
        rule = f"weights must lie between {LEAST_WEIGHT:g} and {1 / LEAST_WEIGHT:g}"
        remedy = "their sums would overflow: divide all of them by one number, because only their proportions matter"
        reject(rule, f"{wrong} of {len(weights)} that do not", remedy)


def codes(values: Values, name: str) -> tuple[npt.NDArray[np.intp], tuple[Any, ...]]:
    """Return the code of each row's value, and the distinct values in order: numbers first, then text."""
    array = column(values, name)
    if array.dtype.kind in "biuU":
        distinct, row_codes = np.unique(array, return_inverse=True)
        return row_codes.astype(np.intp), tuple(distinct.tolist())
    cells = array.tolist()
    if missing := sum(map(is_missing, cells)):
        reject(f"`{name}` must not be missing", f"{missing} missing of {len(array)}", "drop those rows first")
    names = sorted(set(cells), key=_order)
    code = {name: number for number, name in enumerate(names)}
    return np.array([code[cell] for cell in cells], dtype=np.intp), tuple(names)


def _order(cell: object) -> tuple[bool, Any]:
    return isinstance(cell, str), cell if isinstance(cell, str | int | float) else str(cell)


def mask(values: Values, rows: int) -> Mask:
    """Return `where` as a boolean array with one value per row."""
    array = column(values, "where")
    cells = array.tolist() if array.dtype.kind == "O" else None
    if len(array) != rows or (cells is not None and not all(isinstance(cell, bool | np.bool_) for cell in cells)):
        rule = f"`where` must hold a truth value for each of {rows} rows"
        reject(rule, f"{len(array)} of {array.dtype}", "rows outside the domain are needed for its error")
    if array.dtype.kind not in "bO":
        reject("`where` must hold truth values", f"a column of {array.dtype}", "write a comparison", TypeError)
    return array.astype(bool)


def domain(values: Values, shape: tuple[int, ...]) -> Mask:
    """Return the domain of each column of scores, from one domain for all of them or a table of domains."""
    if isinstance(values, np.ndarray) and values.ndim == 2:
        if values.shape != shape or values.dtype.kind != "b":
            reject(
                f"`where` must hold truth values of shape {shape}", f"shape {values.shape}", "give one for each score"
            )
        return values
    return np.broadcast_to(mask(values, shape[0])[:, None], shape)


def table(scores: Values, rows: int | None) -> tuple[Array, bool]:
    """Return scores as a table, one row per person, and whether they were a single column."""
    array = array_of(scores)
    if array.dtype.kind not in "biuf" or array.ndim not in (1, 2) or len(array) == 0:
        rule = "scores must be numbers, one row per person"
        reject(rule, f"{array.ndim} dimensions of {array.dtype}", "make them by design.scores(reports)", TypeError)
    if rows is not None and len(array) != rows:
        reject(f"scores must have {rows} rows, as the sample has", len(array), "rows are matched by position")
    numbers = array.astype(np.float64)
    if np.isinf(numbers).any():
        count = int(np.isinf(numbers).sum())
        reject("scores must be finite", f"{count} that are not", "write NaN where there is no score")
    return (numbers[:, None], True) if numbers.ndim == 1 else (numbers, False)


def same_length(columns: Sequence[tuple[str, Any]]) -> int | None:
    """Return the number of rows of all columns; None if there is no column."""
    sizes = {name: len(array) for name, array in columns if array is not None}
    if len(set(sizes.values())) > 1:
        received = ", ".join(f"{name} {size}" for name, size in sizes.items())
        reject("the columns of a sample must have the same number of rows", received, "rows are matched by position")
    return next(iter(sizes.values()), None)


_STEPS, _CLOSE = 1000, 1e-12


@dataclass(frozen=True, eq=False)
class Margin:
    """The class of each row, by its index, and the population totals of the classes."""

    index: npt.NDArray[np.intp]
    totals: Array

    def fitted(self, weights: Array) -> Array:
        """Return weights that add up to the totals, class by class."""
        sums = np.bincount(self.index, weights, len(self.totals))
        return np.asarray(weights * (self.totals / np.where(sums > 0, sums, 1))[self.index])

    def error(self, weights: Array) -> float:
        """Return the largest relative difference between the sums of weights and the totals."""
        return float(np.abs(np.bincount(self.index, weights, len(self.totals)) / self.totals - 1).max())


@dataclass(frozen=True, eq=False)
class Calibration:
    """Margins whose totals the weights are calibrated to."""

    margins: tuple[Margin, ...]

    def weights(self, base: Array) -> Array:
        """Calibrate weights by iterative proportional fitting, which takes a single step for one margin."""
        weights = base
        for _ in range(_STEPS):
            for margin in self.margins:
                weights = margin.fitted(weights)
            if max(margin.error(weights) for margin in self.margins) < _CLOSE:
                return weights
        consequence = "their totals may contradict each other, or classes have nobody in common"
        reject("the margins must be totals that weights can reach", f"no such weights in {_STEPS} steps", consequence)

    def residuals(self, values: Array, weights: Array) -> Array:
        """Return the residuals of each column from the weighted regression on the classes of all margins."""
        if len(self.margins) == 1:
            (margin,) = self.margins
            sums = np.bincount(margin.index, weights, len(margin.totals))
            means = [np.bincount(margin.index, weights * column, len(sums)) / sums for column in values.T]
            return np.asarray(values - np.stack(means, axis=1)[margin.index])
        dummies = np.concatenate([np.eye(len(margin.totals))[margin.index] for margin in self.margins], axis=1)
        root = np.sqrt(weights)[:, None]
        fitted, *_ = np.linalg.lstsq(dummies * root, values * root, rcond=None)
        return np.asarray(values - dummies @ fitted)


def margin(column: Values, totals: Mapping[Any, Number], name: str, rows: int | None) -> Margin:
    """Return the margin of a column, whose totals must name exactly the classes that occur."""
    index, names = codes(column, name)
    if rows is not None and len(index) != rows:
        reject(f"`{name}` must have {rows} rows, as the sample has", len(index), "rows are matched by position")
    if not isinstance(totals, Mapping):
        reject(f"totals of `{name}` must be given by class", type(totals).__name__, "{class: people, …}", TypeError)
    people = {key: float(exact_fraction(value, "total")) for key, value in totals.items()}
    if set(people) != set(names):
        missing, empty = set(names) - set(people), set(people) - set(names)
        received = f"{len(missing)} without a total, {len(empty)} that nobody in the sample has"
        reject(f"totals of `{name}` must name the classes of the sample", received, "merge or drop classes")
    if min(people.values()) <= 0:
        reject(f"totals of `{name}` must be above 0", "others", "they count people")
    return Margin(index, np.array([people[key] for key in names]))


def calibration(margins: Mapping[str, Any], columns: Any, rows: int | None) -> Calibration:
    """Return a calibration to totals by column, with the columns in a frame or a mapping."""
    if not isinstance(margins, Mapping) or not margins:
        reject("margins must be totals by column", "none", "{column: {class: people}}", TypeError)
    classes = []
    for name, totals in margins.items():
        try:
            column = columns[name]
        except (KeyError, TypeError, IndexError):
            reject("`columns` must hold every margin", f"none called {name!r}", "columns are looked up by name")
        classes.append(margin(column, totals, name, rows))
    sums = [margin.totals.sum() for margin in classes]
    if max(sums) - min(sums) > 1e-9 * max(sums):
        reject("all margins must have the same total", f"{min(sums):g} to {max(sums):g}", "they count one population")
    return Calibration(tuple(classes))
