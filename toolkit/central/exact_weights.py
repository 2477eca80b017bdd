"""Odds of e**(c (score - best)) times a base measure, in integers: what exact selection draws with.

A candidate's weight is enclosed between integers in units of 2**-40 of the largest. Only operations that IEEE
754 specifies to the last bit are used (subtract, multiply, compare, read the bits of a double), with a margin
for each rounding; the powers of 2 come from tables of integers that are rounded up. Every candidate takes the
same steps, whatever its score.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Context, Decimal
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from toolkit.central.noise.grid import Answer
from toolkit.core.checks import refuse
from toolkit.core.sampling.enclosure import WORD, exp_enclosure

UNIT_BITS = 40
_FRACTION = 20  # logarithms to base 2 are in units of 2**-20
_HALF = 10
_MASK = (1 << _HALF) - 1
_SECOND = 22
_CAP = float(2**50)
_BIAS = 1023 << _FRACTION  # of a double's exponent
_CURVE = 90_300  # more than 0.0861 * 2**20, and a unit for the lower half of the bits
_PIECE = 1 << 14
_SURE = 88 * 2**WORD // 100
_MARGIN = 1 - 2.0**-48  # more than six roundings of 2**-53 each
_LN2 = Decimal("0.693147180559945309417232121458176568075500134360255254120680009493393621969694715605863326996418687")


@lru_cache(maxsize=1)
def _tables() -> tuple[npt.NDArray[np.uint64], npt.NDArray[np.uint64]]:
    """2**-i/1024 in units of 2**-40, and 2**-j/2**20 in units of 2**-22, rounded up."""
    first = [exp_enclosure(Fraction(_LN2) * i / 2**_HALF, UNIT_BITS)[1] for i in range(1 << _HALF)]
    second = [exp_enclosure(Fraction(_LN2) * j / 2**_FRACTION, _SECOND)[1] for j in range(1 << _HALF)]
    return np.array(first, dtype=np.uint64), np.array(second, dtype=np.uint64)


@dataclass(frozen=True, eq=False)
class Odds:
    """The weights base * e**(-rate * (best - score)) of all candidates; `rate` is exact."""

    scores: Answer
    rate: Fraction
    base: npt.NDArray[Any] | None = None

    @cached_property
    def best(self) -> Any:
        """The highest score among the candidates that the base allows."""
        entries = self.scores.entries
        return entries.max() if self.base is None else entries.max(where=self.base > 0, initial=entries.min())

    def gaps(self, part: slice) -> npt.NDArray[np.float64]:
        """How far each score is below the best, rounded once or twice.

        The difference of two int64 may wrap to a negative number; adding 2**64 to those takes the same time
        for all data, which the processor's own conversion from unsigned integers does not.
        """
        with np.errstate(over="ignore"):
            gaps = (self.best - self.scores.entries[part]).astype(np.float64)
        return np.asarray(gaps + (gaps < 0) * 2.0**64 if self.scores.whole else gaps)

    def logs(self, part: slice) -> npt.NDArray[np.int64]:
        """Lower bounds of -log2 of e**(-rate * gap), in units of 2**-20: at most 2 below it, up to 2**46 units."""
        with np.errstate(over="ignore"):
            scaled = self.gaps(part) * self._rate
        # A gap is negative only where the base is 0; of whole numbers it is then very large.
        return np.asarray(np.clip(scaled, 0, _CAP, out=scaled).astype(np.int64))

    @cached_property
    def levels(self) -> npt.NDArray[np.int64]:
        """Lower bounds of -log2 of the weights, in units of 2**-20, but for the constant `offset`.

        The upper half of a double's bits is its logarithm with a straight line in place of the curve between
        powers of 2. The line is never above the curve, and at most 0.0861 below.
        """
        levels = np.empty(len(self.scores.entries), dtype=np.int64)
        for part in self.parts():
            levels[part] = self.logs(part)
            if self.base is not None:
                levels[part] -= self.base[part].astype(np.float64).view(np.int64) >> 32
        return levels

    @cached_property
    def least(self) -> int:
        """The smallest level."""
        return int(self.levels.min())

    @property
    def offset(self) -> int:
        return 0 if self.base is None else _BIAS - _CURVE

    def envelope(self, part: slice) -> npt.NDArray[np.uint64]:
        """Integers not below 2**unit_bits times the weights, in units of the largest; at least 2, also for a base of 0.

        Read backwards, the same line gives a power of 2 that is never below the true one, and at most 1.0615
        times it.
        """
        top = (1023 + self.unit_bits) << _FRACTION
        bits = np.maximum(top + self.least - self.levels[part], _BIAS)
        return np.asarray((bits << 32).view(np.float64).astype(np.uint64) + np.uint64(1))

    @cached_property
    def sums(self) -> npt.NDArray[np.uint64]:
        """The envelope added up to the end of each part."""
        if self._all is not None:
            return np.array([self._all.sum()], dtype=np.uint64)
        return np.cumsum([self.envelope(part).sum() for part in self.parts()], dtype=np.uint64)

    @cached_property
    def _all(self) -> npt.NDArray[np.uint64] | None:
        """The whole envelope where all candidates are one part; of more, it is computed again where it is needed."""
        return self.envelope(slice(None)) if len(self.scores.entries) <= _PIECE else None

    def _at(self, i: int) -> int:
        """The envelope of candidate i."""
        return int(self.envelope(slice(i, i + 1))[0] if self._all is None else self._all[i])

    def locate(self, place: int) -> int:
        """The candidate at this place of the envelopes laid end to end."""
        piece = int(np.searchsorted(self.sums, np.uint64(place), side="right"))
        start, before = piece * _PIECE, int(self.sums[piece - 1]) if piece else 0
        inside = np.cumsum(self.envelope(slice(start, start + _PIECE)) if self._all is None else self._all)
        return start + int(np.searchsorted(inside, np.uint64(place - before), side="right"))

    def parts(self) -> Iterator[slice]:
        """The candidates in pieces whose working arrays stay in the processor's cache."""
        return (slice(start, start + _PIECE) for start in range(0, len(self.scores.entries), _PIECE))

    @cached_property
    def _rate(self) -> float:
        return float(self.rate * 2**_FRACTION / Fraction(_LN2)) * _MARGIN

    @property
    def unit_bits(self) -> int:
        """Fewer for very many candidates, so that the sum of the envelope stays below 2**64."""
        return min(UNIT_BITS, 62 - len(self.scores.entries).bit_length())

    def exponent(self, i: int) -> Fraction:
        """Rate * (best - score of i), exactly."""
        return self.rate * (Fraction(self.best.item()) - Fraction(self.scores.entries[i].item()))

    def surely_keeps(self, i: int, word: int) -> bool:
        """Whether a uniform word is so low that candidate i is kept, whatever the digits of its share.

        Where the envelope is not small, the share is at least 2**-0.0862 / 1.0616, the two lines for curves,
        and 1 - 2**-17, the units lost to rounding, together: more than 0.88.
        """
        return word < _SURE and self._at(i) >= 2**20

    def kept(self, i: int, bits: int) -> tuple[int, int]:
        """Bounds of 2**bits times the share of candidate i's envelope that is its weight.

        The share is e**-x with x = exponent - ln2 * level / 2**20 - ln(base * 2**unit_bits / envelope). Each
        term is rounded to at least 20 digits more than asked.
        """
        if self.base is not None and self.base[i] <= 0:
            return 0, 0
        exponent = self.exponent(i)
        if exponent > bits + 4096:  # all other terms together are below 4096
            return 0, 1
        measure = Fraction(1 if self.base is None else self.base[i].item())
        factor = measure * 2**self.unit_bits / self._at(i)
        context = Context(prec=bits * 302 // 1000 + 30)
        level = context.divide(Decimal(self.least + self.offset), Decimal(2**_FRACTION))
        reference = context.multiply(context.ln(Decimal(2)), level)
        power = context.subtract(
            context.add(context.ln(_quotient(context, factor)), reference), _quotient(context, exponent)
        )
        numerator, denominator = context.exp(min(power, Decimal(0))).as_integer_ratio()
        middle = (numerator << bits) // denominator
        return max(middle - 1, 0), middle + 2


def upper_powers(logs: npt.NDArray[np.int64]) -> npt.NDArray[np.uint64]:
    """Integers above 2**(40 - log), each log in units of 2**-20, too large by a factor of 1 + 2**-20 and 2 at most."""
    first, second = _tables()
    product = np.take(first, (logs >> _HALF) & _MASK) * np.take(second, logs & _MASK)
    shift = np.minimum((logs >> _FRACTION) + _SECOND, WORD - 1).view(np.uint64)
    return np.asarray((product >> shift) + np.uint64(1))


def lower_powers(logs: npt.NDArray[np.int64]) -> npt.NDArray[np.uint64]:
    """Integers below 2**(40 - log) by as little: the upper bound without what it may exceed by."""
    bound = upper_powers(logs)
    return np.asarray(bound - np.minimum((bound >> np.uint64(19)) + np.uint64(2), bound))


def check_base(base: Answer, size: int) -> npt.NDArray[Any]:
    """Weights of the candidates before any score: not negative, not all 0."""
    if base.size != size:
        refuse("`base` must have one weight for each candidate", f"{base.size} weights", f"there are {size} candidates")
    if base.entries.min() < 0 or base.entries.max() <= 0:
        refuse("`base` must not be negative, nor all 0", "such a weight", "it is a measure")
    found: npt.NDArray[Any] = base.entries
    return found


def _quotient(context: Context, number: Fraction) -> Decimal:
    return context.divide(Decimal(number.numerator), Decimal(number.denominator))
