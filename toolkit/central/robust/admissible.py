"""Noise laws for smooth sensitivities S: their density changes little under small shifts and scalings.

A release is f + S Z. For neighbors f moves by at most the smaller of S and S', and S by at most a factor e**t, where t,
the `smoothness`, is fixed before the data are seen. Each law here says the t that it needs, its loss, and its tail; why
it is private is proven below, and checked again by tests on grids of shifts and scales.

**PowerLaw**, density m / (2 c) (1 + |z| / c)**-(m + 1). With m = epsilon / t whole, c = (m + 1) / (epsilon - t) and u =
|z| / (c S): along the straight path from (f, ln S) to (f', ln S') the logarithm of the density changes by at most
(epsilon - t) / (1 + u) through the shift, and t (m u - 1) / (1 + u) through the scale. Together that is (epsilon - 2 t
+ epsilon u) / (1 + u) <= epsilon; the other way (epsilon - epsilon u) / (1 + u) <= epsilon.

**SmoothLaplace**, scale 2 S / epsilon. The shift costs epsilon / 2 at most. A scale that shrinks by r = e**s,
s <= t, costs u (r - 1) - s, where u = |z - f| / scale is exponential; that exceeds epsilon / 2 where u >
(epsilon / 2 + s) / (e**s - 1), which falls with s. So the claim holds if epsilon / 2 + t >= (e**t - 1) ln(1 /
delta). A scale that grows costs t at most.

**SmoothGaussian**, standard deviation c S. With W standard normal and a scale that shrinks by r <= e**t, the logarithm
moves by at most -ln r + W**2 (r**2 - 1) / 2 + r W / c + 1 / (2 c**2), which grows with r while W**2 > 1; W**2 and W
each exceed their quantile at 1 - delta / 2 with probability delta / 2. A scale that grows costs t + W / c + 1 / (2
c**2) at most.

Such noise must not be drawn from a discrete law on a fixed grid, for which nothing is proven; but a continuous law that
is rounded afterwards has lost nothing of what it promises. The magnitude of the noise is known by its tail,
Pr[|Z| > y], which one uniform number is compared with; bits of that number are drawn only as far as the comparisons
ask for.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Context, Decimal
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import TypeAlias

import numpy as np

from toolkit.central.noise.grid import NO_END
from toolkit.core.arrays import Array, ArrayLike
from toolkit.core.checks import Number, check_integer, check_positive, exact_fraction, reject
from toolkit.core.inference.special import chdtri, ndtri
from toolkit.core.loss import Approx, Pure
from toolkit.core.randomness import WORD, Enclosure, Rng, words
from toolkit.core.sampling import exp_of
from toolkit.core.search import bisect_integers

Tail: TypeAlias = Callable[[Fraction], Enclosure]
"""Of a distance y > 0, the enclosure of Pr[|Z| > y]; 1 at 0, continuous, falling."""

_GUARD = 30


class LazyUniform:
    """A uniform number from 0 to 1 whose bits are drawn when a comparison needs them."""

    def __init__(self, rng: Rng = None) -> None:
        self._rng, self._prefix, self._bits = rng, int(words(1, WORD, rng)[0]), WORD

    def is_below(self, probability: Enclosure) -> bool:
        """Return whether the number is below the probability; the same number at every call."""
        while True:
            low, high = probability(self._bits)
            if self._prefix < low:
                return True
            if self._prefix >= high:
                return False
            self._prefix = (self._prefix << WORD) | int(words(1, WORD, self._rng)[0])
            self._bits += WORD


def rounded_sum(center: Fraction, tail: Tail, rng: Rng = None) -> int:
    """Return the integer nearest to center + Z, rounding halves up, for symmetric noise Z."""
    positive, uniform = bool(int(words(1, 8, rng)[0]) & 1), LazyUniform(rng)
    edge = center + Fraction(1, 2)
    start = math.floor(edge)

    def reaches(j: int) -> bool:
        """Return whether center + Z >= j - 1/2."""
        distance = j - edge
        if positive:
            return distance <= 0 or uniform.is_below(tail(distance))
        return distance < 0 and not uniform.is_below(tail(-distance))

    if positive:
        low, high = _gallop(start, 1, reaches)
    else:
        high, low = _gallop(start + 1, -1, lambda j: not reaches(j))
    return bisect_integers(lambda j: not reaches(j), low, high) - 1


def _gallop(start: int, direction: int, holds: Callable[[int], bool]) -> tuple[int, int]:
    """Search with steps that grow sixteenfold; return the last point where `holds` is true and the next one."""
    last, step = start, direction
    while holds(last + step):
        last, step = last + step, 16 * step
    return last, last + step


def normal_tail(square: Fraction) -> Enclosure:
    """Return bounds of Pr[|N| > z] for standard normal N and z**2 = `square`.

    It is 1 - sqrt(2 z**2 / pi) e**(-z**2 / 2) (1 + z**2 / 3 + z**4 / 15 + ...). All terms are positive, and each
    operation on decimals is rounded correctly, so that a few hundred of them cost three digits; what is left out after
    a term that is below the last digit is less than that term, as each is below half the one before.
    """

    def enclosure(bits: int) -> tuple[int, int]:
        if square > 2 * bits:  # then the tail is below e**-bits
            return 0, 1
        context = Context(prec=bits * 302 // 1000 + math.ceil(square) + _GUARD)
        argument = context.divide(Decimal(square.numerator), Decimal(square.denominator))
        total = term = Decimal(1)
        order = 1
        while 2 * argument > order or term > total.scaleb(-context.prec):
            order += 2
            term = context.divide(context.multiply(term, argument), Decimal(order))
            total = context.add(total, term)
        root = context.sqrt(context.divide(context.multiply(argument, Decimal(2)), pi(context.prec)))
        power = context.exp(context.divide(argument, Decimal(-2)))
        inside = context.multiply(context.multiply(root, power), total)
        numerator, denominator = context.subtract(Decimal(1), inside).as_integer_ratio()
        middle = (numerator << bits) // denominator
        return max(middle - 1, 0), max(middle + 2, 1)

    return enclosure


@lru_cache(maxsize=16)
def pi(digits: int) -> Decimal:
    """Return pi to a number of digits, by Machin's formula in integers."""
    unit = 10 ** (digits + 10)
    value = 4 * (4 * _inverse_tangent(5, unit) - _inverse_tangent(239, unit))
    return Context(prec=digits).divide(Decimal(value), Decimal(unit))


def _inverse_tangent(x: int, unit: int) -> int:
    total = term = unit // x
    order, sign = 1, 1
    while term:
        term //= x * x
        order, sign = order + 2, -sign
        total += sign * (term // order)
    return total


_MARGIN = 1 + 1e-9  # on what is computed in floats


@dataclass(frozen=True)
class PowerLaw:
    """Density proportional to (1 + |z| / c)**-(m + 1), for t = epsilon / m: Pure(epsilon), exactly.

    With m = 6 the standard deviation is 2.66 S at epsilon = 1; m must be above 2 for it to be finite.

    References: the PolyPlace family of Hladík and Tětek (2025), with these parameters.
    """

    loss: Pure
    m: int = 6

    def __post_init__(self) -> None:
        check_positive(self.loss.amount, "epsilon", NO_END)
        if check_integer(self.m, "m") < 3:
            reject("`t` must be below epsilon / 2", f"epsilon / {self.m}", "otherwise the noise has no finite variance")

    @classmethod
    def for_epsilon(cls, epsilon: Number, t: Number | None = None) -> "PowerLaw":
        """Return the law that costs Pure(epsilon) on a t-smooth sensitivity; epsilon / t is whole, by default 6."""
        amount = check_positive(epsilon, "epsilon", NO_END)
        ratio = Fraction(6)
        if t is not None:
            ratio = amount / check_positive(t, "t", "a sensitivity that may not change is the global one")
        if ratio <= 2:
            reject("`t` must be below epsilon / 2", t, "otherwise the noise has no finite variance")
        if ratio.denominator != 1:
            reject("epsilon / `t` must be whole", float(ratio), "then the tail is a rational number")
        return cls(Pure(amount), int(ratio))

    @property
    def smoothness(self) -> Fraction:
        return Fraction(self.loss.amount) / self.m

    @cached_property
    def factor(self) -> Fraction:
        """The width c of the noise in units of S."""
        return Fraction(self.m + 1) / (Fraction(self.loss.amount) - self.smoothness)

    @property
    def sd(self) -> float:
        """The standard deviation in units of S."""
        return float(self.factor) * math.sqrt(2 / ((self.m - 1) * (self.m - 2)))

    def quantile(self, level: float) -> float:
        """Return the two-sided quantile: the error that |Z| exceeds with probability 1 - level, in units of S."""
        return float(self.factor) * float((1 - level) ** (-1 / self.m) - 1)

    def density(self, z: ArrayLike) -> Array:
        """Return the density in units of S, for teaching."""
        width = float(self.factor)
        return np.asarray(self.m / (2 * width) * (1 + np.abs(z) / width) ** -(self.m + 1.0))

    def tail(self, distance: Fraction, smooth: Fraction) -> Enclosure:
        """Return bounds of (C / (C + distance))**m in integers, with C = c S."""
        width = self.factor * smooth
        share = width / (width + distance)

        def enclosure(bits: int) -> tuple[int, int]:
            fine = bits + 8 + self.m.bit_length()
            low = (share.numerator << fine) // share.denominator
            shift = fine * self.m - bits
            return low**self.m >> shift, -(-((low + 1) ** self.m) >> shift)

        return enclosure


@dataclass(frozen=True)
class SmoothLaplace:
    """Laplace noise of scale 2 S / epsilon, for t = epsilon / (2 ln(2 / delta)): Approx(epsilon, delta).

    References: Nissim, Raskhodnikova and Smith (2007); the lecture's ln(1 / delta) would do, too.
    """

    loss: Approx

    def __post_init__(self) -> None:
        _check_proper(self.loss)
        t = float(self.smoothness)
        if self.loss.epsilon / 2 + t < math.expm1(t) * math.log(1 / self.loss.delta) * _MARGIN:
            reject("`epsilon` must be moderate", self.loss.epsilon, "beyond it the proof does not reach")

    @classmethod
    def for_loss(cls, epsilon: Number, delta: Number) -> "SmoothLaplace":
        return cls(Approx(check_positive(epsilon, "epsilon", NO_END), exact_fraction(delta, "delta")))

    @property
    def smoothness(self) -> Fraction:
        return Fraction(self.loss.amount) / (2 * log_up(2 / self.loss.slack))

    @property
    def factor(self) -> Fraction:
        return 2 / Fraction(self.loss.amount)

    @property
    def sd(self) -> float:
        """In units of S."""
        return math.sqrt(2) * float(self.factor)

    def quantile(self, level: float) -> float:
        return -float(self.factor) * math.log1p(-level)

    def tail(self, distance: Fraction, smooth: Fraction) -> Enclosure:
        return exp_of(distance / (self.factor * smooth))


@dataclass(frozen=True)
class SmoothGaussian:
    """Gaussian noise of standard deviation c S: Approx(epsilon, delta).

    c = 5 sqrt(2 ln(2 / delta)) / epsilon, and t = epsilon / (4 (1 + ln(2 / delta))).

    References: Nissim, Raskhodnikova and Smith (2007).
    """

    loss: Approx

    def __post_init__(self) -> None:
        _check_proper(self.loss)
        t, c, share = float(self.smoothness), self.sd, self.loss.delta / 2
        square, size = float(chdtri(1, share)), -float(ndtri(share))
        shrinks = -t + square * math.expm1(2 * t) / 2 + math.exp(t) * size / c + 1 / (2 * c**2)
        if max(shrinks, t + size / c + 1 / (2 * c**2)) * _MARGIN > self.loss.epsilon:
            reject("`epsilon` must be moderate", self.loss.epsilon, "beyond it the proof does not reach")

    @classmethod
    def for_loss(cls, epsilon: Number, delta: Number) -> "SmoothGaussian":
        return cls(Approx(check_positive(epsilon, "epsilon", NO_END), exact_fraction(delta, "delta")))

    @property
    def smoothness(self) -> Fraction:
        return Fraction(self.loss.amount) / (4 * (1 + log_up(2 / self.loss.slack)))

    @property
    def squared(self) -> Fraction:
        """The squared width c**2 = 50 ln(2 / delta) / epsilon**2, rounded up."""
        return 50 * log_up(2 / self.loss.slack) / Fraction(self.loss.amount) ** 2

    @property
    def sd(self) -> float:
        """In units of S."""
        return math.sqrt(float(self.squared))

    def quantile(self, level: float) -> float:
        return -self.sd * float(ndtri((1 - level) / 2))

    def tail(self, distance: Fraction, smooth: Fraction) -> Enclosure:
        return normal_tail(distance**2 / (self.squared * smooth**2))


Law = PowerLaw | SmoothLaplace | SmoothGaussian


def _check_proper(loss: Approx) -> None:
    check_positive(loss.amount, "epsilon", NO_END)
    if not 0 < loss.slack < 1:
        reject("`delta` must lie between 0 and 1", loss.delta, "at 0 this noise is not enough, at 1 none is needed")


def log_up(number: Fraction) -> Fraction:
    """Return the natural logarithm, rounded up at the thirtieth digit."""
    context = Context(prec=40)
    value = context.ln(context.divide(Decimal(number.numerator), Decimal(number.denominator)))
    return Fraction(math.ceil(Fraction(value) * 10**30) + 1, 10**30)
