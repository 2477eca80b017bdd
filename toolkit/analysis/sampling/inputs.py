"""What a sample is given, as arrays, and weights made to add up to known totals: of cells (poststratification) or of
several margins (raking). Messages count what is wrong and never quote a person's value.

What the totals explain has no sampling error any more: linearized values are replaced by their residuals from
the weighted regression on the cells or margins (Deville and Särndal 1992).
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from toolkit.core.arrays import Array, Mask, Values
from toolkit.core.checks import Number, exact, is_missing, reject
from toolkit.frames.table import array_of, index_of, is_lazy, row_count, rows_in_order
from toolkit.frames.table import column as named_column

if TYPE_CHECKING:
    import pandas as pd


LEAST_WEIGHT = 1e-60


def column(values: Values, name: str) -> npt.NDArray[Any]:
    """One value per row: of a list, an array, or a column of pandas, polars or pyarrow."""
    array = array_of(values)
    if array.ndim != 1 or len(array) == 0:
        rule = f"`{name}` must be a column with a value for each row"
        reject(rule, f"shape {array.shape}", "rows are matched by position")
    return array


def columns(values: Any, name: str) -> Any:
    """The same of each stage, where there are two; numbers of a population, also by name, stay as they are."""
    if isinstance(values, tuple):
        return tuple(columns(part, name) for part in values)
    number = name == "population" and (isinstance(values, Mapping) or np.ndim(values) == 0)
    return values if values is None or number else column(values, name)


def stages(values: object) -> Any:
    """A tuple of two names or columns is of two stages; any other one is a column of values."""
    if not isinstance(values, tuple):
        return values
    pair = len(values) == 2 and all(isinstance(part, str) or np.ndim(part) == 1 for part in values)
    return values if pair else list(values)


def names_in(parts: Iterable[tuple[str, Any]]) -> tuple[str, ...]:
    flat = [part for _, value in parts for part in (value if isinstance(value, tuple) else (value,))]
    return tuple(part for part in flat if isinstance(part, str))


def from_frame(frame: object, values: object, name: str) -> Any:
    """The same with names looked up in a frame."""
    if isinstance(values, tuple):
        return tuple(from_frame(frame, part, name) for part in values)
    if not isinstance(values, str):
        return values
    if is_lazy(frame):
        rows_in_order(frame)  # says that its rows have no order
    return named_column(frame, values, f"`{name}`")


def check_frame(rows: int | None, index: "pd.Index[Any] | None", frame: object) -> None:
    """Refuse a frame with other rows than the columns of a sample."""
    if rows is not None and rows != row_count(frame):
        reject(f"the frame must have {rows} rows, as the sample has", row_count(frame), "rows are matched by position")
    check_index(index, frame, "the frame")


def check_index(index: "pd.Index[Any] | None", values: object, what: str) -> None:
    """Refuse what has another index than the columns of a sample: its rows are those of other people."""
    other = index_of(values)
    if index is not None and other is not None and not index.equals(other):
        remedy = "weights would go to other people: make the Sample from the columns of this very frame"
        reject(f"{what} must have the index of the sample's columns", "another", remedy)


def one_index(columns: Sequence[object]) -> "pd.Index[Any] | None":
    """The index that all columns share; None where none of them has one."""
    known = [index for index in map(index_of, columns) if index is not None]
    if known and not all(known[0].equals(other) for other in known[1:]):
        reject("the columns of a sample must have one index", "several", "their rows would be mixed up")
    return known[0] if known else None


def positive_weights(values: Values) -> Array:
    """Weights above 0: rows with weight 0 must be dropped."""
    array = column(values, "weights")
    try:
        weights = array.astype(np.float64)
    except (TypeError, ValueError):
        reject("`weights` must be numbers", f"a column of {array.dtype}", "a weight is multiplied with", TypeError)
    if wrong := int(np.count_nonzero(~((weights > 0) & np.isfinite(weights)))):
        rule = "`weights` must be finite numbers above 0"
        reject(rule, f"{wrong} of {len(weights)} that are not", "drop those rows from the frame first")
    check_size(weights)
    return weights


def check_size(weights: Array) -> None:
    """Refuse weights whose sums and squares would leave what floats can hold."""
    if wrong := int(np.count_nonzero((weights > 1 / LEAST_WEIGHT) | (weights < LEAST_WEIGHT))):
        rule = f"weights must lie between {LEAST_WEIGHT:g} and {1 / LEAST_WEIGHT:g}"
        remedy = "their sums would overflow: divide all of them by one number, as their proportions alone count"
        reject(rule, f"{wrong} of {len(weights)} that do not", remedy)


def codes(values: Values, name: str) -> tuple[npt.NDArray[np.intp], tuple[Any, ...]]:
    """What each row has, as a number, and the values in order: numbers by size, then texts by letters."""
    array = column(values, name)
    if array.dtype.kind in "biuU":
        distinct, places = np.unique(array, return_inverse=True)
        return places.astype(np.intp), tuple(distinct.tolist())
    cells = array.tolist()
    if missing := sum(map(is_missing, cells)):
        reject(f"`{name}` must not be missing", f"{missing} missing of {len(array)}", "drop those rows first")
    names = sorted(set(cells), key=_order)
    place = {name: number for number, name in enumerate(names)}
    return np.array([place[cell] for cell in cells], dtype=np.intp), tuple(names)


def _order(cell: object) -> tuple[bool, Any]:
    return isinstance(cell, str), cell if isinstance(cell, str | int | float) else str(cell)


def mask(values: Values, rows: int) -> Mask:
    array = column(values, "where")
    cells = array.tolist() if array.dtype.kind == "O" else None
    if len(array) != rows or (cells is not None and not all(isinstance(cell, bool | np.bool_) for cell in cells)):
        rule = f"`where` must hold a truth value for each of {rows} rows"
        reject(rule, f"{len(array)} of {array.dtype}", "all rows are kept, those outside count as zeros")
    if array.dtype.kind not in "bO":
        reject("`where` must hold truth values", f"a column of {array.dtype}", "write a comparison", TypeError)
    return array.astype(bool)


def domain(values: Values, shape: tuple[int, ...]) -> Mask:
    """Who is in the domain: the same people for all columns of a table, or for each its own."""
    if isinstance(values, np.ndarray) and values.ndim == 2:
        if values.shape != shape or values.dtype.kind != "b":
            reject(f"`where` must hold truth values of shape {shape}", f"shape {values.shape}", "one for each score")
        return values
    return np.broadcast_to(mask(values, shape[0])[:, None], shape)


def table(scores: Values, rows: int | None) -> tuple[Array, bool]:
    """Scores as a table, one row per person, and whether they were a single column."""
    array = array_of(scores)
    if array.dtype.kind not in "biuf" or array.ndim not in (1, 2) or len(array) == 0:
        rule = "scores must be numbers, one row per person"
        reject(rule, f"{array.ndim} dimensions of {array.dtype}", "make them by design.scores(reports)", TypeError)
    if rows is not None and len(array) != rows:
        reject(f"scores must have {rows} rows, as the sample has", len(array), "rows are matched by position")
    numbers = array.astype(np.float64)
    if np.isinf(numbers).any():
        reject("scores must be finite", f"{int(np.isinf(numbers).sum())} that are not", "they have no mean")
    return (numbers[:, None], True) if numbers.ndim == 1 else (numbers, False)


def same_length(named: Sequence[tuple[str, Any]]) -> int | None:
    """How many rows all columns have; None where there is no column."""
    sizes = {name: len(array) for name, array in named if array is not None}
    if len(set(sizes.values())) > 1:
        received = ", ".join(f"{name} {size}" for name, size in sizes.items())
        reject("the columns of a sample must have the same number of rows", received, "rows are matched by position")
    return next(iter(sizes.values()), None)


_STEPS, _CLOSE = 1000, 1e-12


@dataclass(frozen=True, eq=False)
class Margin:
    """Which class each row is in, and how many people the classes have in the population."""

    place: npt.NDArray[np.intp]
    totals: Array

    def fitted(self, weights: Array) -> Array:
        """Weights that add up to the totals, class by class."""
        sums = np.bincount(self.place, weights, len(self.totals))
        return np.asarray(weights * (self.totals / np.where(sums > 0, sums, 1))[self.place])

    def miss(self, weights: Array) -> float:
        """How far the sums are from the totals, as a share of them."""
        return float(np.abs(np.bincount(self.place, weights, len(self.totals)) / self.totals - 1).max())


@dataclass(frozen=True, eq=False)
class Calibration:
    """One or several margins that the weights add up to."""

    margins: tuple[Margin, ...]

    def weights(self, base: Array) -> Array:
        """Iterative proportional fitting; one margin takes a single step."""
        weights = base
        for _ in range(_STEPS):
            for margin in self.margins:
                weights = margin.fitted(weights)
            if max(margin.miss(weights) for margin in self.margins) < _CLOSE:
                return weights
        consequence = "their totals may contradict each other, or classes have nobody in common"
        reject("the margins must be ones that weights can add up to", f"no such weights in {_STEPS} steps", consequence)

    def residuals(self, values: Array, weights: Array) -> Array:
        """What is left of each column after the weighted regression on the classes of all margins."""
        if len(self.margins) == 1:
            (margin,) = self.margins
            sums = np.bincount(margin.place, weights, len(margin.totals))
            means = [np.bincount(margin.place, weights * column, len(sums)) / sums for column in values.T]
            return np.asarray(values - np.stack(means, axis=1)[margin.place])
        dummies = np.concatenate([np.eye(len(m.totals))[m.place] for m in self.margins], axis=1)
        root = np.sqrt(weights)[:, None]
        fitted, *_ = np.linalg.lstsq(dummies * root, values * root, rcond=None)
        return np.asarray(values - dummies @ fitted)


def margin(column: Values, totals: Mapping[Any, Number], name: str, rows: int | None) -> Margin:
    """A column's classes and their totals by name; the classes named must be those that people have."""
    place, names = codes(column, name)
    if rows is not None and len(place) != rows:
        reject(f"`{name}` must have {rows} rows, as the sample has", len(place), "rows go by place")
    if not isinstance(totals, Mapping):
        reject(f"totals of `{name}` must be given by class", type(totals).__name__, "{class: people, …}", TypeError)
    people = {key: float(exact(value, "total")) for key, value in totals.items()}
    if set(people) != set(names):
        missing, empty = set(names) - set(people), set(people) - set(names)
        received = f"{len(missing)} without a total, {len(empty)} that nobody in the sample has"
        reject(f"totals of `{name}` must name the classes of the sample", received, "merge or drop classes")
    if min(people.values()) <= 0:
        reject(f"totals of `{name}` must be above 0", "others", "they count people")
    return Margin(place, np.array([people[key] for key in names]))


def calibration(margins: Mapping[str, Any], columns: Any, rows: int | None) -> Calibration:
    """Margins by the name of their column, in a frame or a mapping."""
    if not isinstance(margins, Mapping) or not margins:
        reject("margins must be totals by column", "none", "{column: {class: people}}", TypeError)
    classes = []
    for name, totals in margins.items():
        try:
            column = columns[name]
        except (KeyError, TypeError, IndexError):
            reject("`columns` must hold every margin", f"none called {name!r}", "columns go by name")
        classes.append(margin(column, totals, name, rows))
    sums = [one.totals.sum() for one in classes]
    if max(sums) - min(sums) > 1e-9 * max(sums):
        reject("all margins must have the same total", f"{min(sums):g} to {max(sums):g}", "they count one population")
    return Calibration(tuple(classes))
