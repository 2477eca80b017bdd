"""`Grouping` assigns each row of a frame to a cell of a table, and `Bounds` assigns each value of a column to a step.

`by` is a mapping of columns to public keys. The table has a cell for each combination of keys, in the order of the
keys, whether or not it has rows, and a row falls into at most one cell.

`Bounds` are the limits to which values are clamped, and a public grid to which they are rounded. A person's step
depends on their own value alone and lies in 0 … span: clamping, scaling and rounding are monotone, even in
floating-point arithmetic, so no value exceeds the steps of the two limits.
"""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from itertools import product
from typing import TYPE_CHECKING, Any, NamedTuple, NewType, Protocol, TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt

from toolkit.core.arrays import Array, Codes, Label, Steps
from toolkit.core.checks import Number, check_bounds, check_positive, exact_fraction, reject
from toolkit.core.estimate import Estimate
from toolkit.core.sampling import floor_log2
from toolkit.frames.conditions import EVERY_ROW, Condition, Where, parse_condition
from toolkit.frames.frame import MAX_CELLS, Frame, as_list
from toolkit.frames.persons import Persons
from toolkit.frames.values import Keys

By = Mapping[Any, Iterable[object]]


ThresholdCodes: TypeAlias = tuple[Sequence[float], Sequence[int]]
"""Increasing thresholds, and the codes below, between and above them; there is one more code than thresholds."""


class BinnedAxis(Protocol):
    """Bins of the numbers in one column. Only the codes are confidential; a row outside all bins has the code -1."""

    @property
    def label(self) -> Any: ...

    @property
    def name(self) -> str: ...

    @property
    def labels(self) -> tuple[str | int, ...]: ...

    @property
    def cuts(self) -> ThresholdCodes: ...

    def codes(self, frame: Frame) -> Codes: ...


Axis: TypeAlias = Keys | BinnedAxis
"""The public keys or bins by which one column splits rows."""


class Grouping:
    """The rows that are counted, and the cell of each row. Only `codes` are confidential.

    Parameters
    ----------
    where : Condition
        The condition that rows must meet.
    axes : tuple of Axis
        The columns by which rows are grouped; without columns the table has a single cell.
    people : Persons, optional
        The column that identifies people, and the caps on the rows of one person.
    """

    def __init__(self, where: Condition, axes: tuple[Axis, ...] = (), people: Persons | None = None) -> None:
        self.where, self.axes, self.people = where, axes, people
        self.names = tuple(axis.name for axis in axes)
        self.n_cells = math.prod(len(axis.labels) for axis in axes)
        self.code_widths = tuple((len(axis.labels) - 1).bit_length() for axis in axes)
        """The number of bits of the codes of each axis."""
        self.may_omit_rows = bool(axes or where.description)
        """Whether the table may omit rows; its number of rows is then private even if the frame's number is public.
        """
        self.has_caps = people is not None
        """Whether the rows of each person are limited, so that all rows must be read together."""
        self.columns = (*where.columns, *(axis.label for axis in axes), *(() if people is None else (people.label,)))
        columns = " × ".join(f"{axis.name} ({len(axis.labels)})" for axis in axes)
        self.description = (f" by {columns}" if columns else "") + (
            f" where {where.description}" if where.description else ""
        )
        """A suffix to the name of a statistic, such as "by region (4) × sex (2) where age between 30 and 39"."""

    def by(self, *axes: Axis) -> "Grouping":
        """Return a grouping of the same rows by different axes."""
        return Grouping(self.where, axes, self.people)

    @cached_property
    def labels(self) -> tuple[Any, ...]:
        """The keys of each cell, with the last column varying fastest; tuples if there are several columns."""
        if len(self.axes) == 1:
            return self.axes[0].labels
        return tuple(product(*(axis.labels for axis in self.axes)))

    def codes(self, frame: Frame, *steps: tuple[Steps, int]) -> Codes:
        """Return the cell of each row; -1 for a row that is not counted, or that exceeds a person's caps.

        `steps` are pairs of an array (0 to a maximum, -1 where missing) and the maximum. They enter the hash that
        selects the rows of a person.
        """
        # An engine may return two columns with their rows in different orders.
        if frame.engine_table is not None:
            raise RuntimeError("the rows of an engine are read batch by batch: see Frame.batches")
        codes = None
        for axis in self.axes:
            axis_codes, size = axis.codes(frame), len(axis.labels)
            codes = (
                axis_codes if codes is None else np.where((codes < 0) | (axis_codes < 0), -1, codes * size + axis_codes)
            )
        if self.where.description:
            codes = np.where(self.where.mask(frame), 0 if codes is None else codes, -1)
        elif codes is None:
            codes = np.zeros(len(frame), dtype=np.int64)
        if self.people is None:
            return codes
        packed: Steps | int = 0
        for step, max_step in steps:
            packed = packed * 2 ** step_bits(max_step) + step + 1
        bits = sum(step_bits(max_step) for _, max_step in steps)
        return self.people.limit_codes(frame, codes, sum(self.code_widths), packed, bits)


def step_bits(max_step: int) -> int:
    """Return the number of bits that hold a step from 0 to `max_step`, or a missing value."""
    return (max_step + 1).bit_length()


def parse_grouping(
    frame: Frame, where: Where | None = None, by: By | None = None, people: Persons | None = None
) -> Grouping:
    """Parse `where` and `by`. Whether they are rejected depends on their content alone; no data are read."""
    rows = EVERY_ROW if where is None else parse_condition(frame, where)
    return Grouping(rows, () if by is None else parse_axes(frame, by), people)


def parse_axes(frame: Frame, by: object) -> tuple[Keys, ...]:
    """Parse the columns of `by` and their keys."""
    if not isinstance(by, Mapping):
        remedy = 'keys are public and must be listed: by={"region": ["north", "south"]}'
        reject("`by` must be a mapping of columns to their keys", type(by).__name__, remedy, TypeError)
    keys_by_label = {label: as_list(keys, "by") for label, keys in dict(by.items()).items()}
    n_cells = math.prod(len(keys) for keys in keys_by_label.values())
    if not keys_by_label or n_cells > MAX_CELLS:
        received = f"{n_cells:,} cells" if keys_by_label else "none"
        reject(f"`by` must have 1 to {MAX_CELLS:,} cells", received, "every cell is released, even an empty one")
    return tuple(Keys.parse(frame, label, keys, "by") for label, keys in keys_by_label.items())


BoundsLike: TypeAlias = Sequence[Number] | npt.NDArray[Any] | Estimate
"""A lower and an upper limit, or an estimate as returned by `Curator.bounds`."""
BoundsByColumn: TypeAlias = BoundsLike | Mapping[Label, BoundsLike]
"""Limits, or a mapping from column to limits."""
Missing: TypeAlias = Number | Mapping[Label, Number] | None
"""The number that replaces a missing value, or "drop"; or a mapping from column to such a number."""
if not TYPE_CHECKING:  # `help` then shows the name and not the union
    BoundsByColumn, Missing = NewType("BoundsByColumn", object), NewType("Missing", object)
SUM_BITS = 32
"""Sums use a grid of 2**32 to 2**33 steps: rounding changes a value by at most 2**-32 of the width of the bounds."""

SQUARE_BITS = 14
"""Squares need a coarser grid of 2**14 to 2**15 steps."""

PAIR_BITS = 12
"""Products of two squares need a still coarser grid of 2**12 to 2**13 steps for each variable."""

QUANTILE_BITS = 16
"""A private quantile is selected among 2**16 to 2**17 candidates; with more, the selection is less accurate."""

_MAX_LIMIT = Fraction(10) ** 140

# The number of rows that are converted to steps, or summed, at a time.
_BATCH_ROWS = 2**18

# The steps of 2**14 rows sum to less than 2**48. The bits above count missing values.
_PACKED_ROWS, _COUNT_SHIFT = 2**14, 48

# Steps are counted from the lower limit if a limit is further from zero than this number of steps.
_MAX_STEPS_FROM_ZERO = 2**36

# Squares of up to 2**18 steps, over _BATCH_ROWS rows, stay below 2**63.
_MAX_SQUARED_STEPS = 2**18


class StepSums(NamedTuple):
    """The number of values of a column, the sum of their steps, and the sum of squared steps if requested."""

    n_values: int
    total: int
    total_of_squares: int = 0


@dataclass(frozen=True)
class Bounds:
    """The limits to which values are clamped, and the grid to which they are rounded; both are independent of the data.

    Parameters
    ----------
    low : Fraction
        The lower limit.
    high : Fraction
        The upper limit.
    step : Fraction
        The distance between two points of the grid.

    Examples
    --------
    >>> limits = Bounds.of((0, 100)).with_step(1)
    >>> limits.span, limits.steps(np.array([-5.0, 41.6, np.nan, 1e9])).tolist()
    (100, [0, 42, -1, 100])
    """

    low: Fraction
    high: Fraction
    step: Fraction

    @classmethod
    def of(cls, bounds: object, bits: int = SUM_BITS) -> "Bounds":
        """Parse two finite limits, and divide them into a grid of 2**bits to 2**(bits + 1) steps."""
        low, high = check_bounds(bounds.value if isinstance(bounds, Estimate) else bounds)
        if not _fits_in_floats(low, high):
            rule = "`bounds` must lie within ±1e140, and at least 1e-140 and a floating-point step apart"
            remedy = "values between them are rounded to a fine grid; choose a larger or smaller unit"
            reject(rule, f"{float(low):g} and {float(high):g}", remedy)
        return _bounds_with_grid(low, high, bits)

    def with_step(self, step: Number) -> "Bounds":
        """Return the same limits with a different grid, of at most 2**20 steps."""
        width = check_positive(step, "step")
        if not (self.high - self.low) / 2**20 <= width <= self.high - self.low:
            rule = "`step` must be at least 2**-20 times the distance between the bounds, and at most this distance"
            reject(rule, step, "it is the spacing of the grid")
        return Bounds(self.low, self.high, width)

    @cached_property
    def _grid(self) -> tuple[float, float, float]:
        """The triple (start, rate, offset): in (value - start) * rate + offset, the last bits of the float count steps.

        The last bit of a float of size 1.5 * 2**52 units stands for one unit. Adding it therefore rounds a value
        exactly to whole units, ties to even, without a carry for values of up to 2**51 units. If the step is a power
        of two, no multiplication is needed.
        """
        is_far_from_zero = max(abs(self.low), abs(self.high)) / self.step > _MAX_STEPS_FROM_ZERO
        is_power_of_two = (
            self.step.numerator & (self.step.numerator - 1) == 0
            and self.step.denominator & (self.step.denominator - 1) == 0
        )
        rate, unit = (1.0, float(self.step)) if is_power_of_two else (float(1 / self.step), 1.0)
        return (float(self.low) if is_far_from_zero else 0.0), rate, 1.5 * 2.0**52 * unit

    @cached_property
    def _end_bits(self) -> tuple[int, int]:
        """The bits of the two limits, read as integers that differ by the number of steps."""
        start, rate, offset = self._grid
        first, last = ((np.array([float(self.low), float(self.high)]) - start) * rate + offset).view(np.int64)
        return int(first), int(last)

    @cached_property
    def low_steps(self) -> int:
        """The lower limit, in steps from zero."""
        start, _, offset = self._grid
        return round(self.low / self.step) if start else self._end_bits[0] - int(np.array(offset).view(np.int64))

    @property
    def scaling(self) -> tuple[float, float, int]:
        """The numbers to subtract from a clamped value, to multiply it by, and to subtract after rounding."""
        start, rate, offset = self._grid
        first = self._end_bits[0] - int(np.array(offset).view(np.int64))
        return start, rate if rate != 1 else float(1 / self.step), first

    @property
    def high_steps(self) -> int:
        """The upper limit, in steps from zero."""
        return self.low_steps + self.span

    @cached_property
    def span(self) -> int:
        """The distance between the limits, in steps."""
        return self._end_bits[1] - self._end_bits[0]

    @property
    def middle(self) -> float:
        """The middle of the limits on the grid."""
        return float(self.low_steps * self.step + self.span * self.step / 2)

    @property
    def half_width(self) -> float:
        """Half the distance between the limits on the grid, which is the unit of the coded values."""
        return float(self.span * self.step / 2)

    @np.errstate(all="ignore")
    def steps(self, values: Array) -> Steps:
        """Return the number of steps of each value above the lower limit, 0 … span; -1 for a missing value."""
        steps = np.empty(len(values), dtype=np.int64)
        for rows, bits in self._batches_of_bits(values, -1):
            np.subtract(bits, self._end_bits[0], out=steps[rows])
        return steps

    @np.errstate(all="ignore")
    def sums(self, values: Array, *, squares: bool = False, fill: Number | None = None) -> StepSums:
        """Return the number, sum and sum of squares of the steps; a missing value is ignored, or replaced by `fill`.

        A missing value is coded as -2**48 steps. A sum over 2**14 rows then holds the sum of steps in its low 48 bits,
        and the number of missing values in the bits above. Wrapping modulo 2**64 is harmless: such a sum lies between
        -2**62 and 2**48, the square of 2**48 is 0 modulo 2**64, and sums of all other squares stay below 2**63.
        """
        if squares and self.span > _MAX_SQUARED_STEPS:
            remedy = f"Bounds.of(bounds, {SQUARE_BITS}) adds them up exactly"
            reject("squares need a coarser grid", f"{self.span:,} steps", remedy)
        starts, total_of_squares = np.arange(0, len(values), _PACKED_ROWS), 0
        totals = np.empty(len(starts), dtype=np.int64)
        for rows, bits in self._batches_of_bits(values, -(2**_COUNT_SHIFT)):
            chunks = slice(rows.start // _PACKED_ROWS, -(-rows.stop // _PACKED_ROWS))
            np.add.reduceat(bits, starts[chunks] - rows.start, out=totals[chunks])
            if squares:
                steps = bits - self._end_bits[0]
                total_of_squares += int(np.dot(steps, steps)) % 2**64
        totals -= np.minimum(_PACKED_ROWS, len(values) - starts) * self._end_bits[0]
        absent, total = -int((totals >> _COUNT_SHIFT).sum()), sum((totals % 2**_COUNT_SHIFT).tolist())
        if fill is None:
            return StepSums(len(values) - absent, total, total_of_squares)
        fill_step = int(self.steps(np.array([float(exact_fraction(fill, "missing"))]))[0])
        return StepSums(len(values), total + absent * fill_step, total_of_squares + absent * fill_step**2)

    def _batches_of_bits(self, values: Array, missing: int) -> Iterator[tuple[slice, Steps]]:
        """Iterate over batches of values, whose bits are read as integers that differ by the number of steps.

        A missing value becomes `missing` steps above the lower limit. The time does not depend on the number of missing
        values: `clip` preserves NaN, and `fmax` replaces it by a number below all others. Each operation is monotone,
        so no value exceeds the limits.
        """
        buffer = np.empty(min(_BATCH_ROWS, len(values)))
        (start, rate, offset), low, high = self._grid, float(self.low), float(self.high)
        mark = float(np.array(self._end_bits[0] + missing).view(np.float64))
        for row in range(0, len(values), _BATCH_ROWS):
            batch = values[row : row + _BATCH_ROWS]
            clamped = buffer[: len(batch)]
            np.clip(batch, low, high, out=clamped)
            if start:
                np.subtract(clamped, start, out=clamped)
            if rate != 1:
                np.multiply(clamped, rate, out=clamped)
            np.fmax(np.add(clamped, offset, out=clamped), mark, out=clamped)
            yield slice(row, row + len(batch)), clamped.view(np.int64)


@lru_cache(maxsize=256)
def _fits_in_floats(low: Fraction, high: Fraction) -> bool:
    return max(abs(low), abs(high)) <= _MAX_LIMIT and high - low >= 1 / _MAX_LIMIT and float(low) < float(high)


@lru_cache(maxsize=256)
def _bounds_with_grid(low: Fraction, high: Fraction, bits: int) -> Bounds:
    """Make limits with a grid of 2**bits steps; the result and its cached properties are reused."""
    return Bounds(low, high, Fraction(2) ** (floor_log2(high - low) - bits))


def format_number(number: float) -> str:
    """Format a number with six digits if they are exact, otherwise with all digits.

    >>> format_number(40.0), format_number(1000001.0)
    ('40', '1000001.0')
    """
    return short if float(short := f"{number:g}") == number else repr(number)


Numbers = TypeVar("Numbers", Array, Steps)


@dataclass(frozen=True, eq=False)
class Variable:
    """A column of numbers that are clamped to limits; a missing value is replaced by `fill`, or ignored."""

    label: Any
    limits: Bounds
    fill: Fraction | None
    name: str = ""
    missing_rule: str = ""
    """The treatment of missing values, in words."""

    def steps(self, frame: Frame) -> Steps:
        """Return the step of each value, 0 … span; -1 for a value that is ignored."""
        steps = self.limits.steps(frame.column(self.label).floats())
        return steps if self.fill is None else np.where(steps < 0, self.fill_step or 0, steps)

    @cached_property
    def fill_step(self) -> int | None:
        """The step that replaces a missing value."""
        return None if self.fill is None else int(self.limits.steps(np.array([float(self.fill)]))[0])


def split_by_cell(codes: Codes, numbers: Numbers, n_cells: int) -> list[Numbers]:
    """Split numbers by cell, preserving the order of rows."""
    used = np.flatnonzero(codes >= 0)
    order = used if n_cells == 1 else used[np.argsort(codes[used], kind="stable")]
    return np.split(numbers[order], np.searchsorted(codes[order], np.arange(1, n_cells)))
