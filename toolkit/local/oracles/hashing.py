"""Local hashing: each person draws a random hash function and randomizes the hash of the answer."""

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from toolkit.core.arrays import ArrayLike, Codes, Counts, Mask, Values, as_array
from toolkit.core.checks import reject
from toolkit.core.extras import chunks
from toolkit.core.randomness import DrawBelow, Rng, below
from toolkit.core.sampling import CHUNK
from toolkit.local.calibration import check_odds
from toolkit.local.matrix.encoding import checked_times
from toolkit.local.oracles.oracle import Oracle
from toolkit.local.oracles.support import SupportLaw
from toolkit.local.protocol import convert_to_integers, is_code

Residues = npt.NDArray[np.unsignedinteger[Any]]


@dataclass(frozen=True, repr=False)
class LocalHash(Oracle):
    """A randomizer whose report is a hash function and a value; it supports the options that hash to this value.

    Let v_1 … v_t be the binary digits of an option's code, lowest first, where t is the number of digits that k options
    need. The hash of the option is a_1 v_1 + … + a_t v_t modulo g = `values`, with random a_1 … a_t. For three
    different options, the two differences of their hashes are independent and uniform for every g, so the probabilities
    of support are exact, even for pairs.

    To draw a report, draw uniform integers a_1 … a_t below g and then a uniform integer below inside + (g-1)
    outside. If it is below `inside`, the value is the answer's hash. Otherwise, with j the integer part of (integer -
    inside) / outside, the value is the hash plus j + 1 modulo g.

    A report is a row of integers: the value, then a_1 … a_t.

    Parameters
    ----------
    values : int
        The number of values that options are hashed to.
    inside : int
        The weight of the answer's value.
    outside : int
        The weight of any other value.

    Examples
    --------
    >>> from toolkit.local.oracles import local_hash
    >>> local_hash(range(100), epsilon=1).values
    4
    """

    values: int
    inside: int
    outside: int

    name = "local_hash"

    def __post_init__(self) -> None:
        super().__post_init__()
        convert_to_integers(self, values=2, inside=1, outside=1)
        check_odds(self.inside, self.outside, self._total_weight, noun="value")

    @property
    def _total_weight(self) -> int:
        return self.inside + (self.values - 1) * self.outside

    @property
    def n_digits(self) -> int:
        """The number of binary digits of an option's code."""
        return (len(self.options) - 1).bit_length()

    @cached_property
    def _support_law(self) -> SupportLaw:
        return SupportLaw.independent(Fraction(self.inside, self._total_weight), Fraction(1, self.values))

    @property
    def _odds(self) -> Fraction:
        return Fraction(self.inside, self.outside)

    def _draw_report(self, code: int, draw: DrawBelow) -> list[int]:
        # The hash function is drawn first, then the randomized value.
        factors = [draw(self.values) for _ in range(self.n_digits)]
        value = sum(factor for digit, factor in enumerate(factors) if code >> digit & 1)
        integer = draw(self._total_weight)
        shift = 0 if integer < self.inside else (integer - self.inside) // self.outside + 1
        return [(value + shift) % self.values, *factors]

    def _accepts(self, report: object) -> bool:
        row = report if isinstance(report, list) else []
        return len(row) == 1 + self.n_digits and all(is_code(residue, self.values) for residue in row)

    def _draw(self, codes: Codes, rng: Rng) -> Residues:
        kind = np.min_scalar_type(2 * self.values)  # sums of two residues must fit
        reports = np.empty((len(codes), 1 + self.n_digits), dtype=kind)
        for part in chunks(len(codes), CHUNK, "randomizing"):
            rows, answers = reports[part], codes[part]
            rows[:, 1:] = below(self.values, rows[:, 1:].size, rng).reshape(len(rows), -1)
            draws = below(self._total_weight, len(rows), rng)
            lie = (np.maximum(draws, self.inside) - np.uint64(self.inside)) // np.uint64(self.outside) + np.uint64(1)
            rows[:, 0] = np.where(draws < self.inside, 0, lie)
            for digit, factor in enumerate(rows[:, 1:].T):
                rows[:, 0] = _reduce_modulo(rows[:, 0] + factor * ((answers >> digit) & 1).astype(kind), self.values)
        return reports

    def tally(self, reports: Values, times: ArrayLike | None = None) -> tuple[Counts, int]:
        rows = self._read_reports(reports)
        repeats = None if times is None else checked_times(times, len(rows))
        counts = np.zeros(len(self.options), dtype=np.int64)
        for part in chunks(len(rows), CHUNK // 4, "counting"):
            counts += self._count_support(
                np.ascontiguousarray(rows[part].T), None if repeats is None else repeats[part]
            )
        return counts, len(rows) if repeats is None else int(repeats.sum())

    def _count_support(self, columns: Residues, times: Counts | None) -> Counts:
        """Count the reports that support each option, with one addition per option and report."""
        # An option's hash is the hash of the option without its lowest digit, plus the factor of that digit.
        value, factors = columns[0], columns[1:]
        counts = np.empty(len(self.options), dtype=np.int64)
        counts[0] = _count_rows(value == 0, times)
        latest = {self.n_digits: np.zeros_like(value)}  # the latest hash for each position of the lowest set digit
        for option in range(1, len(self.options)):
            lowest, parent = (option & -option).bit_length() - 1, option & (option - 1)
            above = (parent & -parent).bit_length() - 1 if parent else self.n_digits
            latest[lowest] = _reduce_modulo(latest[above] + factors[lowest], self.values)
            counts[option] = _count_rows(latest[lowest] == value, times)
        return counts

    def _supports(self, reports: Residues, code: int) -> Mask:
        hashed = np.zeros_like(reports[:, 0])
        for digit, factor in enumerate(reports[:, 1:].T):
            if code >> digit & 1:
                hashed = _reduce_modulo(hashed + factor, self.values)
        return np.asarray(hashed == reports[:, 0])

    def _read_reports(self, reports: Values) -> Residues:
        rows = as_array(reports)
        if rows.ndim != 2 or rows.shape[1] != 1 + self.n_digits or rows.dtype.kind not in "iu":
            expected = f"reports must be rows of {1 + self.n_digits} integers: the value, then the hash"
            reject(
                expected,
                f"{rows.ndim} dimensions of {rows.dtype}",
                "pass reports as `randomize` returns them",
                TypeError,
            )
        if len(rows) == 0:
            reject("reports must hold at least one entry", "none", "there is nothing to estimate from")
        if rows.min() < 0 or rows.max() >= self.values:
            consequence = "they were made by another randomizer"
            reject(f"reports must hold integers from 0 to {self.values - 1}", "others", consequence)
        return rows.astype(np.min_scalar_type(2 * self.values), copy=False)

    def _repr_detail(self) -> str:
        return f", {self.values} values"


def _count_rows(supporting: npt.NDArray[np.bool_], times: Counts | None) -> int:
    return int(np.count_nonzero(supporting) if times is None else times[supporting].sum())


def _reduce_modulo(sums: Residues, modulus: int) -> Residues:
    """Reduce sums of two residues modulo `modulus`."""
    # Where a sum is below the modulus, the unsigned subtraction wraps around to a larger number.
    return np.asarray(np.minimum(sums, sums - sums.dtype.type(modulus)))


def best_n_values(epsilon: float) -> int:
    """Return the best number of hash values.

    It is e**epsilon + 1, rounded in the direction that gives the smaller variance for rare options.
    """
    factor = math.exp(epsilon)

    def variance(values: int) -> float:
        q, slope = 1 / values, factor / (factor + values - 1) - 1 / values
        return q * (1 - q) / slope**2

    return min((max(2, math.floor(factor) + 1), math.ceil(factor) + 1), key=variance)
