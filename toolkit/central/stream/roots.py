"""`SquareRoot`: the matrix of running totals as the square of another matrix, for Gaussian noise.

Totals are A x, where A is the lower triangular matrix of ones. With A = B C, the vector C x is published with noise,
and B times the noisy vector is the answer. The change that one person can cause is a column of C, and the error depends
on a row of B. If C = B is the square root of A, its diagonals hold the coefficients 1, 1/2, 3/8, … of (1 - z)**(-1/2)
(Fichtenberger, Henzinger and Upadhyay 2023). Columns of equal norm are better still (Henzinger, Kalinin and Upadhyay
2025). For a window of W periods, the coefficients are those of the square root of (1 - z**W) / (1 - z).

C is rounded to multiples of 2**-24. The sensitivity is computed from the rounded entries in integers, so that rounding
costs no privacy. B is A times the inverse of the rounded C, and is applied only to numbers that are already public. C
is lower triangular, so each period is a separate release whose sensitivity is fixed in advance, and counts may depend
on earlier releases.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from toolkit.central.stream.factorization import Factorization
from toolkit.core.arrays import Array
from toolkit.core.checks import check_integer

_BITS = 24  # products of two entries, and sums of squares of a column with norm 1, are exact doubles
_FINE = 64  # fractional bits of results that are computed from noisy numbers
_GRAM_LIMIT = 1024


def root_coefficients(periods: int, window: int | None = None, unit: object = Fraction(1)) -> npt.NDArray[Any]:
    """Return the first coefficients of the root of 1 + z + … + z**(window - 1), exactly unless `unit` is a float."""
    return _series_product(_power_series(periods, 1, unit), _power_series(periods, 3, unit), periods, window)


def inverse_root_coefficients(periods: int, window: int | None = None, unit: object = Fraction(1)) -> npt.NDArray[Any]:
    """Return the first coefficients of the reciprocal of the root of 1 + z + … + z**(window - 1)."""
    return _series_product(_power_series(periods, 3, unit), _power_series(periods, 1, unit), periods, window)


def _power_series(n_terms: int, odd: int, unit: Any) -> list[Any]:
    """Return the coefficients of (1 - z)**(-1/2) for odd = 1, and of (1 - z)**(1/2) for odd = 3."""
    terms = [unit]
    for k in range(1, n_terms):
        terms.append(terms[-1] * (2 * k - odd) / (2 * k))
    return terms


def _series_product(plain: list[Any], spaced: list[Any], n_terms: int, window: int | None) -> npt.NDArray[Any]:
    """Return the first coefficients of the product of plain(z) and spaced(z**window)."""
    base = np.array(plain)
    if window is None or window >= n_terms:
        return base
    product = np.zeros_like(base)
    for shift in range(0, n_terms, window):
        product[shift:] += spaced[shift // window] * base[: n_terms - shift]
    return product


@dataclass(frozen=True)
class SquareRoot(Factorization):
    """The square root of the matrix of totals, with columns scaled to norm 1 and rounded to multiples of 2**-24.

    Parameters
    ----------
    periods : int
        The total number of periods.
    window : int, optional
        The number of most recent periods to sum; by default, all periods so far.

    Examples
    --------
    >>> round(float(SquareRoot(52).error_factors.max()), 3)
    2.147
    """

    periods: int
    window: int | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "periods", check_integer(self.periods, "periods"))

    @property
    def description(self) -> str:
        return "the square root of the matrix of totals, columns of equal length"

    @property
    def _unit(self) -> int:
        return 1 << _BITS

    @property
    def _settings(self) -> list[Any]:
        return ["root", self.window]

    @cached_property
    def _root(self) -> Array:
        return root_coefficients(self.periods, self.window, 1.0)

    @cached_property
    def _lengths(self) -> Array:
        """The norm of each column before scaling; column j has periods - j entries."""
        return np.asarray(np.sqrt(np.cumsum(self._root**2))[::-1])

    def _column(self, period: int) -> npt.NDArray[np.int64]:
        """Return the change that one person in a period causes: the entries of C from this period on, in units."""
        entries = self._root[: self.periods - period + 1] * self._unit / self._lengths[period - 1]
        return np.asarray(np.rint(entries), dtype=np.int64)

    def _row(self, period: int) -> list[int]:
        """Return the weight of each count so far in the measurement of a period, in units."""
        entries = self._root[:period][::-1] * self._unit / self._lengths[:period]
        return [int(entry) for entry in np.rint(entries)]

    def l1_sensitivity(self, per_person: int = 1) -> Fraction:
        max_norm = max(int(np.abs(self._column(period)).sum()) for period in range(1, self.periods + 1))
        return Fraction(max_norm * min(per_person, self.periods), self._unit)

    def _l2_squared(self, per_person: int = 1) -> Fraction:
        """Return the squared L2 sensitivity, which is exact for one period and an upper bound for several.

        The upper bound is computed from the absolute inner products of the columns of C. For each column, its
        `per_person` largest products are added up; the `per_person` largest of these sums are then added up. Beyond
        1,024 periods, the bound is per_person**2 multiplied by the squared sensitivity for one period.
        """
        count = min(per_person, self.periods)
        if count == 1 or self.periods > _GRAM_LIMIT:
            columns = (self._column(period) for period in range(1, self.periods + 1))
            max_squared_norm = max(int(entries @ entries) for entries in columns)
            return Fraction(max_squared_norm * count**2, self._unit**2)
        matrix = np.zeros((self.periods, self.periods))
        for period in range(1, self.periods + 1):
            matrix[period - 1 :, period - 1] = self._column(period)
        products = np.sort(np.abs(matrix.T @ matrix), axis=1)[:, -count:].astype(np.int64)  # exact below 2**53
        rows = np.sort(products.sum(axis=1))[-count:]
        return Fraction(sum(int(row) for row in rows), self._unit**2)

    @cached_property
    def error_factors(self) -> Array:
        back, errors, row = inverse_root_coefficients(self.periods, self.window, 1.0), [], np.zeros(self.periods)
        for period in range(1, self.periods + 1):
            row[:period] += self._lengths[period - 1] * back[:period][::-1]
            expired = period - self.window if self.window else 0
            if expired > 0:
                row[:expired] -= self._lengths[expired - 1] * back[:expired][::-1]
            errors.append(float(np.linalg.norm(row[:period])))
        return np.array(errors)

    def encode(self, counts: Sequence[int]) -> list[int]:
        return [sum(weight * count for weight, count in zip(self._row(len(counts)), counts, strict=True))]

    def _decoder(self) -> "RootDecoder":
        return RootDecoder(self)


class RootDecoder:
    """A decoder that computes totals from noisy weighted sums, by forward substitution in integers."""

    def __init__(self, factorization: SquareRoot) -> None:
        self._factorization, self._counts = factorization, list[int]()

    def decode(self, noisy: Sequence[int]) -> Fraction:
        """Return the next number to publish, given the noisy weighted sum of the next period."""
        *weights, last = self._factorization._row(len(self._counts) + 1)
        earlier = sum(weight * count for weight, count in zip(weights, self._counts, strict=True))
        self._counts.append(round(Fraction((noisy[0] << _FINE) - earlier, last)))
        return Fraction(sum(self._counts[-(self._factorization.window or 0) :]), 1 << _FINE)
