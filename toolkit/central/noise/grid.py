"""Functions that read private numbers, round them to a public grid and add noise on this grid.

Integers stay integers. Real numbers are rounded to multiples of a power of two that depends on the mechanism alone and
not on the data, so that all tables have the same possible outputs and the low bits of a release reveal nothing. The
exact sum of the value and the noise is then converted to a float or a 64-bit integer. The conversion depends on the sum
alone, so it costs no privacy.

Input is rejected only because of its type, its shape or a non-finite entry. No error message quotes a value.
"""

import math
import operator
import sys
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from toolkit.core.checks import Number, check_positive, exact_fraction, reject
from toolkit.core.sampling import Integers, floor_log2

GRID_BITS = 30
"""The number of bits by which the grid is finer than sensitivity and scale; rounding adds 1e-9 of the noise."""

Noisy: TypeAlias = int | float | npt.NDArray[np.int64] | npt.NDArray[np.float64]

_INT64 = np.iinfo(np.int64)
_EXACT_FLOAT = 2**53
_SMALLEST, _LARGEST = Fraction(1, 10**300), Fraction(10**300)


@dataclass(frozen=True, eq=False)
class PrivateValue:
    """A private number or vector: an int, a Fraction, or an array of int64, float64 or Python integers."""

    entries: Any
    is_whole: bool
    is_scalar: bool

    @property
    def size(self) -> int:
        return 1 if self.is_scalar else len(self.entries)


def read_private_value(value: object, name: str = "value") -> PrivateValue:
    """Read a number, or a one-dimensional array or list of numbers.

    The type, which must not depend on the data, determines whether the numbers are integers. Integers in arrays and
    lists are clipped to 64 bits, or to 53 bits if a list also contains floats. Unlike rounding, clipping never
    increases the distance between two numbers.
    """
    if isinstance(value, list | tuple):
        value = _from_list(value, name)
    if isinstance(value, np.ma.MaskedArray):
        remedy = "fill or drop the missing entries first"
        reject(f"`{name}` must not be masked", "a masked array", remedy, TypeError)
    if isinstance(value, np.generic) or hasattr(value, "__array__"):
        value = np.asarray(value)
        if value.ndim == 0 and _is_numeric(value):
            value = value.item()
    if isinstance(value, np.ndarray):
        return _from_array(value, name)
    if isinstance(value, bool) or not isinstance(value, int | float | Fraction):
        rule = f"`{name}` must be a number or an array of numbers"
        reject(rule, type(value).__name__, "noise is added to numbers", TypeError)
    if isinstance(value, float):
        _check_finite(math.isfinite(value), name)
    return PrivateValue(value if isinstance(value, int) else Fraction(value), isinstance(value, int), True)


def _is_numeric(array: npt.NDArray[Any]) -> bool:
    """Return whether an array holds integers or floats of at most 64 bits; longer floats would be rounded twice."""
    return array.dtype.kind in "iu" or (array.dtype.kind == "f" and array.dtype.itemsize <= 8)


def _from_list(values: list[Any] | tuple[Any, ...], name: str) -> npt.NDArray[Any]:
    types = {type(entry) for entry in values}
    if any(
        issubclass(kind, bool | np.bool_) or not issubclass(kind, int | float | np.integer | np.floating)
        for kind in types
    ):
        reject(f"`{name}` must hold integers and floats", "another type", "noise is added to numbers", TypeError)
    if all(issubclass(kind, int | np.integer) for kind in types):
        return np.array([min(max(int(entry), _INT64.min), _INT64.max) for entry in values], dtype=np.int64)
    return np.array(
        [_clip_to_exact_float(int(entry)) if isinstance(entry, int | np.integer) else entry for entry in values]
    )


def _from_array(array: npt.NDArray[Any], name: str) -> PrivateValue:
    if not _is_numeric(array):
        rule = f"`{name}` must be an array of integers or floats"
        reject(rule, f"dtype {array.dtype}", "noise is added to numbers", TypeError)
    if array.ndim != 1 or array.size == 0:
        rule = f"`{name}` must be one-dimensional and not empty"
        reject(rule, f"shape {array.shape}", "release each row, or flatten the array first")
    if array.dtype.kind == "f":
        _check_finite(bool(np.isfinite(array).all()), name)
        return PrivateValue(array.astype(np.float64, copy=False), False, False)
    if array.dtype == np.uint64:
        array = np.minimum(array, np.uint64(_INT64.max))
    return PrivateValue(array.astype(np.int64, copy=False), True, False)


def _check_finite(is_finite: bool, name: str) -> None:
    if not is_finite:
        reject(f"`{name}` must be finite", "NaN or an infinity", "replace missing and infinite values before a release")


def grid_exponent(*scales: Fraction, bits: int = GRID_BITS) -> int:
    """Return the exponent of the largest power of two that is at most the smallest scale divided by 2**bits."""
    return floor_log2(min(scales)) - bits


def rounded_sensitivity(sensitivity: Fraction, n_entries: int, norm: str) -> Fraction:
    """Return the sensitivity after rounding to the grid, given the sensitivity before rounding; both are in grid steps.

    Rounding halves up is monotone and commutes with shifts by whole steps, so two numbers at most a apart are at most
    ceil(a) apart after rounding. Over n entries, rounding adds at most n - 1 to the ceiling of the L1 distance, and at
    most sqrt(n) to the L2 distance.
    """
    if norm == "l1" or n_entries == 1:
        return Fraction(math.ceil(sensitivity) + n_entries - 1)
    return sensitivity + Fraction(math.isqrt(n_entries << 60) + 1, 2**30)


NO_NOISE_NEEDED = "a statistic that nobody can change needs no noise"
NO_FINITE_NOISE = "at 0 no finite noise is enough"


def check_magnitude(value: Number, name: str, consequence: str) -> Fraction:
    """Check that a number lies between 1e-300 and 1e300, so that floats can represent the noise and its grid."""
    number = check_positive(value, name, consequence)
    if not _SMALLEST <= number <= _LARGEST:
        reject(f"`{name}` must lie between 1e-300 and 1e300", value, "floats could not represent the noise")
    return number


def check_delta(delta: Number, meaning: str = "the amount by which a probability may exceed its bound") -> Fraction:
    """Check that delta lies strictly between 0 and 1; `meaning` explains delta in the error message."""
    number = exact_fraction(delta, "delta")
    if not 0 < number < 1:
        reject("`delta` must lie strictly between 0 and 1", delta, f"it is {meaning}")
    return number


def add_integer_noise(answer: PrivateValue, noise: Integers) -> int | npt.NDArray[np.int64]:
    """Add integer noise to integers; the sums in an array are clipped to 64 bits."""
    if answer.is_scalar:
        return int(answer.entries) + int(noise[0])
    if noise.dtype == object:
        sums = map(operator.add, answer.entries.tolist(), noise.tolist())
        return np.array([min(max(total, _INT64.min), _INT64.max) for total in sums], dtype=np.int64)
    total = answer.entries + noise
    wrapped = ((answer.entries ^ total) & (noise ^ total)) < 0
    return np.where(wrapped, np.where(noise < 0, _INT64.min, _INT64.max), total)


def add_grid_noise(answer: PrivateValue, noise: Integers, exponent: int) -> float | npt.NDArray[np.float64]:
    """Round numbers to the grid and add noise in grid steps; return the floats nearest to the exact sums.

    In an array both terms are usually exact doubles, so their sum is rounded once. For the few entries with larger
    noise, the sums are computed with fractions.
    """
    if answer.is_scalar:
        return _add_steps(Fraction(answer.entries), int(noise[0]), exponent)
    if answer.is_whole or noise.dtype == object:
        pairs = zip(answer.entries.tolist(), noise.tolist(), strict=True)
        return np.array([_add_steps(Fraction(number), step, exponent) for number, step in pairs])
    total: npt.NDArray[np.float64]
    with np.errstate(over="ignore"):
        total = _round_to_grid(answer.entries, exponent) + np.ldexp(noise.astype(np.float64), exponent)
    for i in np.flatnonzero(np.abs(noise) > _EXACT_FLOAT):
        total[i] = _add_steps(Fraction(float(answer.entries[i])), int(noise[i]), exponent)
    return np.clip(total, -sys.float_info.max, sys.float_info.max)


def round_to_steps(number: Fraction, exponent: int) -> int:
    """Return the number of grid steps nearest to a number, rounding halves up: floor(number / 2**exponent + 1/2)."""
    up, down = (1 << -exponent, 1) if exponent < 0 else (1, 1 << exponent)
    half = number.denominator * down
    return (2 * number.numerator * up + half) // (2 * half)


def steps_below_maximum(answer: PrivateValue, exponent: int) -> npt.NDArray[np.float64]:
    """Return the difference between the largest entry and each entry, in grid steps; it is exact up to 2**53."""
    with np.errstate(over="ignore"):
        if answer.is_whole:  # as uint64, the difference is correct even if it wrapped around
            return np.asarray((answer.entries.max() - answer.entries).view(np.uint64).astype(np.float64))
        rounded = _round_to_grid(answer.entries, exponent)
        return np.asarray(np.ldexp(rounded.max() - rounded, -exponent))


def _add_steps(number: Fraction, noise: int, exponent: int) -> float:
    up, down = (1 << -exponent, 1) if exponent < 0 else (1, 1 << exponent)
    steps = round_to_steps(number, exponent) + noise
    try:
        return steps * down / up
    except OverflowError:
        return math.copysign(sys.float_info.max, steps)


def _clip_to_exact_float(number: int) -> float:
    return float(min(max(number, -_EXACT_FLOAT), _EXACT_FLOAT))


def _round_to_grid(values: npt.NDArray[np.float64], exponent: int) -> npt.NDArray[np.float64]:
    """Round values to the nearest multiple of 2**exponent, halves up, without error.

    Unlike in x / unit + 1/2, the fractional part is exact whenever it could be one half. Values above 2**53 steps are
    already multiples of the step.
    """
    top = math.ldexp(1.0, min(exponent + 53, 1023))
    is_small = np.abs(values) < top
    scaled = np.ldexp(np.where(is_small, values, 0.0), -exponent)
    floor = np.floor(scaled)
    return np.where(is_small, np.ldexp(floor + (scaled - floor >= 0.5), exponent), values)
