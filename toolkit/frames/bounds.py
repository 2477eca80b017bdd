"""`Bounds`: limits that values are clamped to and a public grid that they are rounded to; sums of whole
steps, exactly.

A person's step depends on their own value alone and lies in 0 … span, whatever the value: clamping, scaling
and rounding keep the order of numbers, also in floating point, so that no value passes the steps of the two
limits.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import Any

import numpy as np

from toolkit.core.arrays import Array, Steps
from toolkit.core.checks import Number, exact, positive, refuse
from toolkit.core.estimate import Estimate
from toolkit.core.sampling.enclosure import floor_log2

SUM_BITS = 32
"""A grid of 2**32 to 2**33 steps over the bounds: a value moves by at most 2**-32 of their distance."""
SQUARE_BITS = 14
"""Squares need a coarser grid: 2**14 to 2**15 steps."""
PAIR_BITS = 12
"""Products of two squares need a still coarser one: 2**12 to 2**13 steps each."""
QUANTILE_BITS = 16
"""A private quantile is found among 2**16 to 2**17 candidates: more would only dilute the choice."""
_EXTREME = Fraction(10) ** 140
_ROWS = 2**18  # brought to steps at a time
_PACKED, _SHIFT = 2**14, 48  # so many rows' steps add up to less than 2**48; above it the missing are counted
_STEPS = 2**36  # the most from zero, or else steps are counted from the lower limit
_SQUARED = 2**18  # squares of so many steps, of so many rows, stay below 2**63


@dataclass(frozen=True)
class Sums:
    """Of a column in steps: how many values, the sum of their steps, and of the squares if asked for; without
    a limit of size.
    """

    number: int
    first: int
    second: int = 0


@dataclass(frozen=True)
class Bounds:
    """Limits that values are clamped to, and the grid that they are rounded to; public, and chosen without
    the data.
    """

    low: Fraction
    high: Fraction
    step: Fraction

    @classmethod
    def of(cls, bounds: Any, bits: int = SUM_BITS) -> "Bounds":
        bounds = bounds.value if isinstance(bounds, Estimate) else bounds  # as `Curator.bounds` finds them
        remedy = "values are clamped to them; write bounds=(0, 100)"
        try:
            low, high = (exact(limit, "bounds") for limit in (() if isinstance(bounds, str) else bounds))
        except (TypeError, ValueError):
            refuse("`bounds` must be two finite numbers", _shown(bounds), remedy)
        if low >= high:
            refuse("the lower of `bounds` must be below the upper", _shown(bounds), "values are clamped to them")
        if not _floats_hold(low, high):
            rule = "`bounds` must lie within ±1e140, and at least 1e-140 and a floating-point step apart"
            refuse(
                rule, _shown(bounds), "values between them are rounded to a fine grid; choose a larger or smaller unit"
            )
        return _gridded(low, high, bits)

    def with_step(self, step: Number) -> "Bounds":
        """The same limits on a grid of the analyst's choice, of at most 2**20 steps."""
        width = positive(step, "step")
        if not (self.high - self.low) / 2**20 <= width <= self.high - self.low:
            refuse(
                "`step` must be between 2**-20 of the distance of the bounds and all of it",
                step,
                "it spaces the candidates",
            )
        return Bounds(self.low, self.high, width)

    @cached_property
    def _grid(self) -> tuple[float, float, float]:
        """What is subtracted from a value, multiplied with it, and added to it, so that its last bits count
        whole steps.

        A float that is 1.5 * 2**52 units large has the unit as its last bit: adding that rounds to whole
        units, ties to even, exactly, and does not carry for any number of up to 2**51 units. A power of two
        needs no multiplication.
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
        first, last = self._bits(np.array([float(self.low), float(self.high)]))
        return int(first), int(last)

    @property
    def least(self) -> int:
        """The lower limit, in steps from zero."""
        start, _, unit = self._grid
        return round(self.low / self.step) if start else self._ends[0] - int(np.array(unit).view(np.int64))

    @property
    def most(self) -> int:
        return self.least + self.span

    @property
    def span(self) -> int:
        return self._ends[1] - self._ends[0]

    @np.errstate(all="ignore")
    def steps(self, values: Array) -> Steps:
        """Whole steps above the lower limit, 0 … span, one for each value; -1 for a missing one."""
        found = np.empty(len(values), dtype=np.int64)
        for part, bits in self._parts(values, -1):
            np.subtract(bits, self._ends[0], out=found[part])
        return found

    @np.errstate(all="ignore")
    def sums(self, values: Array, *, squares: bool = False, fill: Number | None = None) -> Sums:
        """Number, sum and sum of squares of the steps; a missing value is left out, or counted as `fill`.

        It stands as -2**48 steps, so that one sum of 2**14 rows holds both: below 2**48 that of the steps,
        above it how many are missing. Nothing is lost where 64 bits wrap around: such a sum lies between
        -2**62 and 2**48, the square of 2**48 leaves no remainder, and other squares stay below 2**63.
        """
        if squares and self.span > _SQUARED:
            refuse(
                "squares need a coarser grid",
                f"{self.span:,} steps",
                f"Bounds.of(bounds, {SQUARE_BITS}) adds them up exactly",
            )
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
        """Values as bits that count steps, missing ones as so many above the lower limit; some rows at a
        time. How many are missing changes nothing about how long it takes: `clip` leaves NaN as it is, and
        `fmax` takes the other number for it, which lies below all others.
        """
        buffer = np.empty(min(_ROWS, len(values)))
        low, high = float(self.low), float(self.high)
        mark = float(np.array(self._ends[0] + missing).view(np.float64))
        for start in range(0, len(values), _ROWS):
            some = values[start : start + _ROWS]
            held = buffer[: len(some)]
            np.clip(some, low, high, out=held)
            self._bits(held)
            np.fmax(held, mark, out=held)
            yield slice(start, start + len(some)), held.view(np.int64)

    def _bits(self, clamped: Array) -> Steps:
        """In place: each operation keeps the order of numbers, so that no value leaves the two ends."""
        start, rate, unit = self._grid
        if start:
            np.subtract(clamped, start, out=clamped)
        if rate != 1:
            np.multiply(clamped, rate, out=clamped)
        return np.add(clamped, unit, out=clamped).view(np.int64)


@lru_cache(maxsize=256)
def _floats_hold(low: Fraction, high: Fraction) -> bool:
    return max(abs(low), abs(high)) <= _EXTREME and high - low >= 1 / _EXTREME and float(low) < float(high)


@lru_cache(maxsize=256)
def _gridded(low: Fraction, high: Fraction, bits: int) -> Bounds:
    """Limits on the grid of so many bits: made once, with what follows from them."""
    return Bounds(low, high, Fraction(2) ** (floor_log2(high - low) - bits))


def written(number: float) -> str:
    """A number in few digits if they say it exactly, else in as many as it takes.

    >>> written(40.0), written(1000001.0)
    ('40', '1000001.0')
    """
    return short if float(short := f"{number:g}") == number else repr(number)


def _shown(bounds: object) -> str:
    return repr(bounds) if isinstance(bounds, tuple | list) else type(bounds).__name__
