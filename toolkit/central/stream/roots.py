"""`SquareRoot`: the matrix of running totals as the square of another, for Gaussian noise.

Totals are A x, A the lower triangle of ones. With A = B C, C x is published with noise, and B times that is
the answer; what one person can move is a column of C, and the error is a row of B. C = B, the square root
of A, has the coefficients 1, 1/2, 3/8, … of (1 - z)**(-1/2) along its diagonals (Fichtenberger, Henzinger and
Upadhyay 2023); columns of equal length are better still (Henzinger, Kalinin and Upadhyay 2025). Over a window
of W periods it is the root of (1 - z**W) / (1 - z).

C is rounded to multiples of 2**-24; what one person can move is computed from what was rounded, in whole
numbers, so that nothing is lost; B is made to fit it, and works on what is public already. C is lower
triangular: each step is a release of its own whose sensitivity is fixed, whatever was published before.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from toolkit.core.arrays import Array
from toolkit.core.checks import whole

_BITS = 24  # products of two entries, and sums of squares of a column of length 1, are exact in a double
_FINE = 64  # bits after the point of what is computed from noisy numbers
_GRAM_LIMIT = 1024


def root(periods: int, window: int | None = None, one: object = Fraction(1)) -> npt.NDArray[Any]:
    """The first coefficients of the root of 1 + z + … (to z**(window - 1) if given): exact, unless `one` is a float."""
    return _product(_power(periods, 1, one), _power(periods, 3, one), periods, window)


def inverse(periods: int, window: int | None = None, one: object = Fraction(1)) -> npt.NDArray[Any]:
    """The coefficients of one over that root."""
    return _product(_power(periods, 3, one), _power(periods, 1, one), periods, window)


def _power(count: int, odd: int, one: Any) -> list[Any]:
    """The coefficients of (1 - z)**(-1/2) for odd = 1, and of (1 - z)**(1/2) for odd = 3."""
    terms = [one]
    for k in range(1, count):
        terms.append(terms[-1] * (2 * k - odd) / (2 * k))
    return terms


def _product(plain: list[Any], spaced: list[Any], count: int, window: int | None) -> npt.NDArray[Any]:
    """The first coefficients of plain(z) spaced(z**window)."""
    base = np.array(plain)
    if window is None or window >= count:
        return base
    product = np.zeros_like(base)
    for place in range(0, count, window):
        product[place:] += spaced[place // window] * base[: count - place]
    return product


@dataclass(frozen=True)
class SquareRoot:
    """The square root of the matrix of totals, its columns brought to length 1 and rounded to 2**-24.

    Parameters
    ----------
    periods : int
        How many periods there will be.
    window : int, optional
        How many of the latest periods are summed; all if left out.

    Examples
    --------
    >>> round(float(SquareRoot(52).spread.max()), 3)
    2.147
    """

    periods: int
    window: int | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "periods", whole(self.periods, "periods"))

    @property
    def words(self) -> str:
        """What is measured, in words."""
        return "the square root of the matrix of totals, columns of equal length"

    @property
    def unit(self) -> int:
        """What is measured is a whole number of 2**-24."""
        return 1 << _BITS

    @cached_property
    def _root(self) -> Array:
        return root(self.periods, self.window, 1.0)

    @cached_property
    def _lengths(self) -> Array:
        """The length of each column before it is brought to 1: column j has periods - j entries."""
        return np.asarray(np.sqrt(np.cumsum(self._root**2))[::-1])

    def column(self, period: int) -> npt.NDArray[np.int64]:
        """Return what one person in a period moves: entries from that period on, in units.

        Parameters
        ----------
        period : int
            The period, counted from 1.

        Returns
        -------
        array
            Whole numbers.
        """
        entries = self._root[: self.periods - period + 1] * self.unit / self._lengths[period - 1]
        return np.asarray(np.rint(entries), dtype=np.int64)

    def row(self, period: int) -> list[int]:
        """Return what is measured at a period: one whole number for each count so far.

        Parameters
        ----------
        period : int
            The period, counted from 1.

        Returns
        -------
        list of int
            The weights of the counts.
        """
        entries = self._root[:period][::-1] * self.unit / self._lengths[:period]
        return [int(entry) for entry in np.rint(entries)]

    def absolute(self, times: int = 1) -> Fraction:
        """Return how far `times` periods, each moved by 1, move all that is measured, in absolute value.

        Parameters
        ----------
        times : int
            How many periods.

        Returns
        -------
        Fraction
            The sum of all moves.
        """
        widest = max(int(np.abs(self.column(period)).sum()) for period in range(1, self.periods + 1))
        return Fraction(widest * min(times, self.periods), self.unit)

    def squared(self, times: int = 1) -> Fraction:
        """Return the same in squared length: exact for one period, a bound for several.

        For several it is the sum over products of columns: of each column with those `times` that it has
        most in common with, of those `times` columns where that is largest. Beyond 1,024 periods it is the
        square of the number times that of one.

        Parameters
        ----------
        times : int
            How many periods.

        Returns
        -------
        Fraction
            The sum of the squared moves.
        """
        count = min(times, self.periods)
        if count == 1 or self.periods > _GRAM_LIMIT:
            columns = (self.column(period) for period in range(1, self.periods + 1))
            longest = max(int(entries @ entries) for entries in columns)
            return Fraction(longest * count**2, self.unit**2)
        matrix = np.zeros((self.periods, self.periods))
        for period in range(1, self.periods + 1):
            matrix[period - 1 :, period - 1] = self.column(period)
        common = np.sort(np.abs(matrix.T @ matrix), axis=1)[:, -count:].astype(np.int64)  # below 2**53: exact
        rows = np.sort(common.sum(axis=1))[-count:]
        return Fraction(sum(int(row) for row in rows), self.unit**2)

    @cached_property
    def spread(self) -> Array:
        """The standard deviation of every period's published number, for noise of standard deviation 1."""
        back, errors, row = inverse(self.periods, self.window, 1.0), [], np.zeros(self.periods)
        for period in range(1, self.periods + 1):
            row[:period] += self._lengths[period - 1] * back[:period][::-1]
            gone = period - self.window if self.window else 0
            if gone > 0:
                row[:gone] -= self._lengths[gone - 1] * back[:gone][::-1]
            errors.append(float(np.linalg.norm(row[:period])))
        return np.array(errors)

    def measure(self, counts: Sequence[int]) -> list[int]:
        """Return the weighted sum of all counts that belongs to the last period, exact, in units.

        Parameters
        ----------
        counts : sequence of int
            The count of each period so far.

        Returns
        -------
        list of int
            One number, to which noise is added.
        """
        return [sum(weight * count for weight, count in zip(self.row(len(counts)), counts, strict=True))]

    def reader(self) -> "RootReader":
        """Make what reads totals off noisy numbers, period by period.

        Returns
        -------
        RootReader
            Before the first period.
        """
        return RootReader(self)


class RootReader:
    """Totals from noisy weighted sums, which come period by period: forward substitution in whole numbers."""

    def __init__(self, way: SquareRoot) -> None:
        self._way, self._counts = way, list[int]()

    def read(self, noisy: Sequence[int]) -> Fraction:
        """The published number, after the noisy weighted sum of the next period."""
        *weights, own = self._way.row(len(self._counts) + 1)
        known = sum(weight * count for weight, count in zip(weights, self._counts, strict=True))
        self._counts.append(round(Fraction((noisy[0] << _FINE) - known, own)))
        return Fraction(sum(self._counts[-(self._way.window or 0) :]), 1 << _FINE)
