"""In which cell of a table each row of a frame falls, and in which step between its bounds each value of a column.

`by` is a mapping of columns to public keys: every cell is there, in the order of the keys given, whether or not a row
falls into it; a row falls into at most one.

`Bounds` are limits that values are clamped to and a public grid that they are rounded to. A person's step depends on
their own value alone and lies in 0 … span, whatever the value: clamping, scaling and rounding keep the order of
numbers, also in floating point, so that no value passes the steps of the two limits.
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
from toolkit.core.checks import Number, exact, limits, positive, reject
from toolkit.core.estimate import Estimate
from toolkit.core.sampling import floor_log2
from toolkit.frames.conditions import EVERY_ROW, Condition, Where, condition
from toolkit.frames.frame import MOST_CELLS, Frame, as_list
from toolkit.frames.persons import Persons
from toolkit.frames.values import Keys

By = Mapping[Any, Iterable[object]]


Cuts: TypeAlias = tuple[Sequence[float], Sequence[int]]
"""Increasing numbers at which one code ends and another begins; there is one code more than numbers."""


class BinnedAxis(Protocol):
    """How numbers of one column split rows into bins: public but for the codes, which are -1 for a row in no bin."""

    @property
    def label(self) -> Any: ...

    @property
    def name(self) -> str: ...

    @property
    def labels(self) -> tuple[str | int, ...]: ...

    @property
    def cuts(self) -> Cuts: ...

    def codes(self, frame: Frame) -> Codes: ...


Axis: TypeAlias = Keys | BinnedAxis
"""How one column splits rows: by public keys, or by bins."""


class Grouping:
    """Which rows count and in which cell each is: `codes` is confidential, all else public.

    Parameters
    ----------
    where : Condition
        Which rows count.
    axes : tuple of Axis
        The columns that split the table; without any it has one cell.
    people : Persons, optional
        Which rows are used of a person who has several.
    """

    def __init__(self, where: Condition, axes: tuple[Axis, ...] = (), people: Persons | None = None) -> None:
        self.where, self.axes, self.people = where, axes, people
        self.names = tuple(axis.name for axis in axes)
        self.cells = math.prod(len(axis.labels) for axis in axes)
        self.widths = tuple((len(axis.labels) - 1).bit_length() for axis in axes)
        """Bits of the codes of each."""
        self.is_part = bool(axes or where.words)
        """Whether the number of rows that count is private even where that of all rows is public."""
        self.limited = people is not None
        """Whether a person's rows are counted, so that all rows must be seen together."""
        self.columns = (*where.columns, *(axis.label for axis in axes), *(() if people is None else (people.label,)))
        split = " × ".join(f"{axis.name} ({len(axis.labels)})" for axis in axes)
        self.words = (f" by {split}" if split else "") + (f" where {where.words}" if where.words else "")
        """Follow the name of a statistic: by region (4) × sex (2) where age between 30 and 39."""

    def by(self, *axes: Axis) -> "Grouping":
        """The same rows in other cells."""
        return Grouping(self.where, axes, self.people)

    @cached_property
    def labels(self) -> tuple[Any, ...]:
        """The keys of each cell, the last column fastest; tuples if it is split by several."""
        if len(self.axes) == 1:
            return self.axes[0].labels
        return tuple(product(*(axis.labels for axis in self.axes)))

    def codes(self, frame: Frame, *steps: tuple[Steps, int]) -> Codes:
        """The cell of each row; -1 where it does not count, or is beyond what is used of a person, which the steps of
        values decide, too: from 0 to a most, -1 where missing.
        """
        if frame.source is not None:  # two columns of it may be read in different orders
            raise RuntimeError("rows of a stream are coded part by part: see Frame.batches")
        codes = None
        for axis in self.axes:
            place, size = axis.codes(frame), len(axis.labels)
            codes = place if codes is None else np.where((codes < 0) | (place < 0), -1, codes * size + place)
        if self.where.words:
            codes = np.where(self.where.mask(frame), 0 if codes is None else codes, -1)
        elif codes is None:
            codes = np.zeros(len(frame), dtype=np.int64)
        if self.people is None:
            return codes
        together: Steps | int = 0
        for one, most in steps:
            together = together * 2 ** step_bits(most) + one + 1
        bits = sum(step_bits(most) for _, most in steps)
        return self.people.limited(frame, codes, sum(self.widths), together, bits)


def step_bits(most: int) -> int:
    """Of a step from 0 to a most, or of none."""
    return (most + 1).bit_length()


def grouping(frame: Frame, where: Where | None = None, by: By | None = None, people: Persons | None = None) -> Grouping:
    """What `where` and `by` say: refused for what they say alone, before anything is read."""
    rows = EVERY_ROW if where is None else condition(frame, where)
    return Grouping(rows, () if by is None else axes_of(frame, by), people)


def axes_of(frame: Frame, by: object) -> tuple[Keys, ...]:
    """The columns of `by` with their keys, each read once."""
    if not isinstance(by, Mapping):
        remedy = 'keys are public, so they are given: by={"region": ["north", "south"]}'
        reject("`by` must be a mapping of columns to their keys", type(by).__name__, remedy, TypeError)
    listed = {label: as_list(keys, "by") for label, keys in dict(by.items()).items()}
    cells = math.prod(len(keys) for keys in listed.values())
    if not listed or cells > MOST_CELLS:
        received = f"{cells:,} cells" if listed else "none"
        reject(f"`by` must have 1 to {MOST_CELLS:,} cells", received, "every cell is released, empty ones too")
    return tuple(Keys.of(frame, label, keys, "by") for label, keys in listed.items())


BoundsLike: TypeAlias = Sequence[Number] | npt.NDArray[Any] | Estimate
"""A lower and an upper limit, as `Curator.bounds` finds them, too."""
BoundsByColumn: TypeAlias = BoundsLike | Mapping[Label, BoundsLike]
"""The same, or of several columns each their own."""
Missing: TypeAlias = Number | Mapping[Label, Number] | None
"""What a missing value counts as, or "drop"; of several columns by name."""
if not TYPE_CHECKING:  # `help` shows the name
    BoundsByColumn, Missing = NewType("BoundsByColumn", object), NewType("Missing", object)
SUM_BITS = 32
"""A grid of 2**32 to 2**33 steps over the bounds: a value moves by at most 2**-32 of their distance."""

SQUARE_BITS = 14
"""Squares need a coarser grid: 2**14 to 2**15 steps."""

PAIR_BITS = 12
"""Products of two squares need a still coarser one: 2**12 to 2**13 steps each."""

QUANTILE_BITS = 16
"""A private quantile is found among 2**16 to 2**17 candidates: more would only dilute the choice."""

_EXTREME = Fraction(10) ** 140

_ROWS = 2**18  # brought to steps, or added up, at a time

_PACKED, _SHIFT = 2**14, 48  # steps of 2**14 rows add up to less than 2**48; above it the missing are counted

_STEPS = 2**36  # the most from zero, or else steps are counted from the lower limit

_SQUARED = 2**18  # squares of up to 2**18 steps, over _ROWS rows, stay below 2**63


class Sums(NamedTuple):
    """The number of values of a column, the sum of their steps, and that of the squares if asked for."""

    number: int
    first: int
    second: int = 0


@dataclass(frozen=True)
class Bounds:
    """Limits that values are clamped to, and the grid that they are rounded to; chosen without the data.

    Parameters
    ----------
    low : Fraction
        The lower limit.
    high : Fraction
        The upper limit.
    step : Fraction
        The distance of two points of the grid.

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
        """Two finite numbers, on a grid of 2**bits to 2**(bits + 1) steps."""
        low, high = limits(bounds.value if isinstance(bounds, Estimate) else bounds)
        if not _floats_hold(low, high):
            rule = "`bounds` must lie within ±1e140, and at least 1e-140 and a floating-point step apart"
            remedy = "values between them are rounded to a fine grid; choose a larger or smaller unit"
            reject(rule, f"{float(low):g} and {float(high):g}", remedy)
        return _gridded(low, high, bits)

    def with_step(self, step: Number) -> "Bounds":
        """The same limits on a grid of the analyst's choice, of at most 2**20 steps."""
        width = positive(step, "step")
        if not (self.high - self.low) / 2**20 <= width <= self.high - self.low:
            rule = "`step` must be between 2**-20 of the distance of the bounds and all of it"
            reject(rule, step, "it spaces the candidates")
        return Bounds(self.low, self.high, width)

    @cached_property
    def _grid(self) -> tuple[float, float, float]:
        """What is subtracted from a value, multiplied with it and added to it, so that its last bits count steps.

        A float that is 1.5 * 2**52 units large has the unit as its last bit: adding that rounds to whole units, ties to
        even, exactly, and does not carry for any number of up to 2**51 units. A power of two needs no multiplication.
        """
        far = max(abs(self.low), abs(self.high)) / self.step > _STEPS
        power = (
            self.step.numerator & (self.step.numerator - 1) == 0
            and self.step.denominator & (self.step.denominator - 1) == 0
        )
        rate, unit = (1.0, float(self.step)) if power else (float(1 / self.step), 1.0)
        return (float(self.low) if far else 0.0), rate, 1.5 * 2.0**52 * unit

    @cached_property
    def _ends(self) -> tuple[int, int]:
        """The last bits of the two limits."""
        start, rate, unit = self._grid
        first, last = ((np.array([float(self.low), float(self.high)]) - start) * rate + unit).view(np.int64)
        return int(first), int(last)

    @cached_property
    def least(self) -> int:
        """The lower limit, in steps from zero."""
        start, _, unit = self._grid
        return round(self.low / self.step) if start else self._ends[0] - int(np.array(unit).view(np.int64))

    @property
    def factors(self) -> tuple[float, float, int]:
        """What is subtracted from a clamped value, multiplied with it, and subtracted again once that is rounded."""
        start, rate, unit = self._grid
        first = self._ends[0] - int(np.array(unit).view(np.int64))
        return start, rate if rate != 1 else float(1 / self.step), first

    @property
    def most(self) -> int:
        """The upper limit, in steps from zero."""
        return self.least + self.span

    @cached_property
    def span(self) -> int:
        """The distance of the limits, in steps."""
        return self._ends[1] - self._ends[0]

    @np.errstate(all="ignore")
    def steps(self, values: Array) -> Steps:
        """Whole steps above the lower limit, 0 … span, one for each value; -1 for a missing one."""
        steps = np.empty(len(values), dtype=np.int64)
        for part, bits in self._parts(values, -1):
            np.subtract(bits, self._ends[0], out=steps[part])
        return steps

    @np.errstate(all="ignore")
    def sums(self, values: Array, *, squares: bool = False, fill: Number | None = None) -> Sums:
        """Number, sum and sum of squares of the steps; a missing value is left out, or counted as `fill`.

        It stands as -2**48 steps, so that one sum of 2**14 rows holds both: below 2**48 that of the steps,
        above it how many are missing. Nothing is lost where 64 bits wrap around: such a sum lies between
        -2**62 and 2**48, the square of 2**48 leaves no remainder, and other squares stay below 2**63.
        """
        if squares and self.span > _SQUARED:
            remedy = f"Bounds.of(bounds, {SQUARE_BITS}) adds them up exactly"
            reject("squares need a coarser grid", f"{self.span:,} steps", remedy)
        starts, second = np.arange(0, len(values), _PACKED), 0
        totals = np.empty(len(starts), dtype=np.int64)
        for part, bits in self._parts(values, -(2**_SHIFT)):
            groups = slice(part.start // _PACKED, -(-part.stop // _PACKED))
            np.add.reduceat(bits, starts[groups] - part.start, out=totals[groups])
            if squares:
                above = bits - self._ends[0]
                second += int(np.dot(above, above)) % 2**64
        totals -= np.minimum(_PACKED, len(values) - starts) * self._ends[0]
        absent, first = -int((totals >> _SHIFT).sum()), sum((totals % 2**_SHIFT).tolist())
        if fill is None:
            return Sums(len(values) - absent, first, second)
        step = int(self.steps(np.array([float(exact(fill, "missing"))]))[0])
        return Sums(len(values), first + absent * step, second + absent * step**2)

    def _parts(self, values: Array, missing: int) -> Iterator[tuple[slice, Steps]]:
        """Values as bits that count steps, missing ones as `missing` above the lower limit; some rows at a time.

        How many are missing changes nothing about how long it takes: `clip` leaves NaN as it is, and `fmax` takes
        the other number for it, which lies below all others. Each operation keeps the order of numbers, so that no
        value leaves the two ends.
        """
        buffer = np.empty(min(_ROWS, len(values)))
        (start, rate, unit), low, high = self._grid, float(self.low), float(self.high)
        mark = float(np.array(self._ends[0] + missing).view(np.float64))
        for row in range(0, len(values), _ROWS):
            some = values[row : row + _ROWS]
            clamped = buffer[: len(some)]
            np.clip(some, low, high, out=clamped)
            if start:
                np.subtract(clamped, start, out=clamped)
            if rate != 1:
                np.multiply(clamped, rate, out=clamped)
            np.fmax(np.add(clamped, unit, out=clamped), mark, out=clamped)
            yield slice(row, row + len(some)), clamped.view(np.int64)


@lru_cache(maxsize=256)
def _floats_hold(low: Fraction, high: Fraction) -> bool:
    return max(abs(low), abs(high)) <= _EXTREME and high - low >= 1 / _EXTREME and float(low) < float(high)


@lru_cache(maxsize=256)
def _gridded(low: Fraction, high: Fraction, bits: int) -> Bounds:
    """Limits on a grid of 2**bits steps, made once with what follows from them."""
    return Bounds(low, high, Fraction(2) ** (floor_log2(high - low) - bits))


def format_number(number: float) -> str:
    """A number in few digits if they say it exactly, else in as many as it takes.

    >>> written(40.0), written(1000001.0)
    ('40', '1000001.0')
    """
    return short if float(short := f"{number:g}") == number else repr(number)


Numbers = TypeVar("Numbers", Array, Steps)


@dataclass(frozen=True, eq=False)
class Variable:
    """A column of numbers, clamped to limits; a missing value counts as `fill`, or is left out."""

    label: Any
    limits: Bounds
    fill: Fraction | None
    name: str = ""
    missing: str = ""
    """What becomes of missing values, in words."""

    def steps(self, frame: Frame) -> Steps:
        """0 … span, and -1 for what is left out."""
        steps = self.limits.steps(frame.column(self.label).floats())
        return steps if self.fill is None else np.where(steps < 0, self.filled or 0, steps)

    @cached_property
    def filled(self) -> int | None:
        """The step of a missing value."""
        return None if self.fill is None else int(self.limits.steps(np.array([float(self.fill)]))[0])


def split(codes: Codes, numbers: Numbers, cells: int) -> list[Numbers]:
    """The numbers of each cell, in the order of the rows."""
    used = np.flatnonzero(codes >= 0)
    order = used if cells == 1 else used[np.argsort(codes[used], kind="stable")]
    return np.split(numbers[order], np.searchsorted(codes[order], np.arange(1, cells)))
