"""Noise distributions for smooth sensitivity: their densities change little under small shifts and scalings.

A release is f + S Z, where S is the smooth sensitivity of f and Z is the noise. Between neighbors f changes by at most
the smaller of S and S', and S changes by at most a factor e**t. The `smoothness` t is fixed before the data are seen.
Each distribution defines the t that it requires, its loss, and its tail. The proofs of privacy follow; tests also check
them on grids of shifts and scales.

**PowerLaw**, density m / (2 c) (1 + |z| / c)**-(m + 1). Let m = epsilon / t be an integer, c = (m + 1) / (epsilon - t)
and u = |z| / (c S). Along the straight path from (f, ln S) to (f', ln S') the shift changes the log-density by at most
(epsilon - t) / (1 + u), and the scaling by t (m u - 1) / (1 + u). The sum is (epsilon - 2 t + epsilon u) / (1 + u) <=
epsilon. If the scale changes in the other direction, the sum is (epsilon - epsilon u) / (1 + u) <= epsilon.

**SmoothLaplace**, scale 2 S / epsilon. The shift costs at most epsilon / 2. If the scale shrinks by r = e**s, s <= t,
the cost is u (r - 1) - s, where u = |z - f| / scale is exponential. The cost exceeds epsilon / 2 if u > (epsilon / 2 +
s) / (e**s - 1), and this bound decreases in s. So the claim holds if epsilon / 2 + t >= (e**t - 1) ln(1 / delta). If
the scale grows, the cost is at most t.

**SmoothGaussian**, standard deviation c S. Let W be standard normal. If the scale shrinks by r <= e**t, the
log-density changes by at most -ln r + W**2 (r**2 - 1) / 2 + r W / c + 1 / (2 c**2), which increases in r while W**2 >
1. W**2 and W each exceed their quantile at 1 - delta / 2 with probability delta / 2. If the scale grows, the cost is at
most t + W / c + 1 / (2 c**2).

These proofs do not cover a discrete distribution on a fixed grid. Rounding continuous noise afterwards, however, is
post-processing and costs nothing. The magnitude of the noise is determined by inversion: a uniform number is compared
with the tail Pr[|Z| > y]. Bits of this number are drawn only when a comparison requires them.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Context, Decimal
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import TypeAlias

import numpy as np

from toolkit.central.noise.grid import NO_FINITE_NOISE
from toolkit.core.arrays import Array, ArrayLike
from toolkit.core.checks import Number, check_integer, check_positive, exact_fraction, reject
from toolkit.core.inference.special import chdtri, ndtri
from toolkit.core.loss import Approx, Pure
from toolkit.core.randomness import WORD, Enclosure, Rng, words
from toolkit.core.rounding import to_decimal
from toolkit.core.sampling import exp_of
from toolkit.core.search import bisect_integers

EnclosedTail: TypeAlias = Callable[[Fraction], Enclosure]
"""A function that maps a distance y > 0 to an enclosure of Pr[|Z| > y], which is continuous, decreasing, and 1 at 0."""

_GUARD = 30


class LazyUniform:
    """A uniform number from 0 to 1 whose bits are drawn when a comparison needs them."""

    def __init__(self, rng: Rng = None) -> None:
        self._rng, self._prefix, self._bits = rng, int(words(1, WORD, rng)[0]), WORD

    def is_below(self, probability: Enclosure) -> bool:
        """Return whether the number is below the probability; all calls compare the same number."""
        while True:
            low, high = probability(self._bits)
            if self._prefix < low:
                return True
            if self._prefix >= high:
                return False
            self._prefix = (self._prefix << WORD) | int(words(1, WORD, self._rng)[0])
            self._bits += WORD


def draw_rounded_sum(center: Fraction, tail: EnclosedTail, rng: Rng = None) -> int:
    """Return the integer nearest to center + Z, rounding halves up, for symmetric noise Z."""
    is_positive, uniform = bool(int(words(1, 8, rng)[0]) & 1), LazyUniform(rng)
    edge = center + Fraction(1, 2)
    start = math.floor(edge)

    def is_at_least(j: int) -> bool:
        """Return whether center + Z >= j - 1/2."""
        distance = j - edge
        if is_positive:
            return distance <= 0 or uniform.is_below(tail(distance))
        return distance < 0 and not uniform.is_below(tail(-distance))

    if is_positive:
        low, high = _gallop(start, 1, is_at_least)
    else:
        high, low = _gallop(start + 1, -1, lambda j: not is_at_least(j))
    return bisect_integers(lambda j: not is_at_least(j), low, high) - 1


def _gallop(start: int, direction: int, holds: Callable[[int], bool]) -> tuple[int, int]:
    """Search with steps that grow sixteenfold; return the last point at which `holds` is true and the next point."""
    last, step = start, direction
    while holds(last + step):
        last, step = last + step, 16 * step
    return last, last + step


def normal_tail(squared_distance: Fraction) -> Enclosure:
    """Return bounds on Pr[|N| > z] for standard normal N and z**2 = `squared_distance`.

    The tail is 1 - sqrt(2 z**2 / pi) e**(-z**2 / 2) (1 + z**2 / 3 + z**4 / 15 + ...). All terms are positive, and each
    decimal operation is rounded correctly, so a few hundred operations lose at most three digits. The series stops
    after a term below the last digit. From this term on, each term is less than half its predecessor, so the remainder
    is smaller than this term.
    """

    def enclosure(bits: int) -> tuple[int, int]:
        if squared_distance > 2 * bits:  # the tail is then below e**-bits
            return 0, 1
        context = Context(prec=bits * 302 // 1000 + math.ceil(squared_distance) + _GUARD)
        argument = to_decimal(squared_distance, context)
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
def pi(n_digits: int) -> Decimal:
    """Return pi to the given number of digits, by Machin's formula in integer arithmetic."""
    unit = 10 ** (n_digits + 10)
    value = 4 * (4 * _inverse_tangent(5, unit) - _inverse_tangent(239, unit))
    return Context(prec=n_digits).divide(Decimal(value), Decimal(unit))


def _inverse_tangent(x: int, unit: int) -> int:
    total = term = unit // x
    order, sign = 1, 1
    while term:
        term //= x * x
        order, sign = order + 2, -sign
        total += sign * (term // order)
    return total


_MARGIN = 1 + 1e-9  # covers the rounding error of floats


@dataclass(frozen=True)
class PowerLaw:
    """Density proportional to (1 + |z| / c)**-(m + 1), for t = epsilon / m: Pure(epsilon), exactly.

    With m = 6 and epsilon = 1 the standard deviation is 2.66 S. The standard deviation is finite only if m is above 2.

    References: the PolyPlace family of Hladík and Tětek (2025), with these parameters.
    """

    loss: Pure
    m: int = 6

    def __post_init__(self) -> None:
        check_positive(self.loss.amount, "epsilon", NO_FINITE_NOISE)
        if check_integer(self.m, "m") < 3:
            reject("`t` must be below epsilon / 2", f"epsilon / {self.m}", "otherwise the noise has no finite variance")

    @classmethod
    def for_epsilon(cls, epsilon: Number, t: Number | None = None) -> "PowerLaw":
        """Make noise that costs Pure(epsilon) for a t-smooth sensitivity; epsilon / t is an integer, by default 6."""
        amount = check_positive(epsilon, "epsilon", NO_FINITE_NOISE)
        ratio = Fraction(6)
        if t is not None:
            ratio = amount / check_positive(t, "t", "at 0 the smooth sensitivity is the global one")
        if ratio <= 2:
            reject("`t` must be below epsilon / 2", t, "otherwise the noise has no finite variance")
        if ratio.denominator != 1:
            reject("epsilon / `t` must be whole", float(ratio), "otherwise the tail would be irrational")
        return cls(Pure(amount), int(ratio))

    @property
    def smoothness(self) -> Fraction:
        return Fraction(self.loss.amount) / self.m

    @cached_property
    def relative_scale(self) -> Fraction:
        """The scale c of the noise, in units of S."""
        return Fraction(self.m + 1) / (Fraction(self.loss.amount) - self.smoothness)

    @property
    def sd(self) -> float:
        """The standard deviation in units of S."""
        return float(self.relative_scale) * math.sqrt(2 / ((self.m - 1) * (self.m - 2)))

    def two_sided_quantile(self, level: float) -> float:
        """Return the value that |Z| exceeds with probability 1 - level, in units of S."""
        return float(self.relative_scale) * float((1 - level) ** (-1 / self.m) - 1)

    def density(self, z: ArrayLike) -> Array:
        """Return the density in units of S, for teaching."""
        width = float(self.relative_scale)
        return np.asarray(self.m / (2 * width) * (1 + np.abs(z) / width) ** -(self.m + 1.0))

    def tail(self, distance: Fraction, smooth_sensitivity: Fraction) -> Enclosure:
        """Return integer bounds on (C / (C + distance))**m, where C = c S."""
        width = self.relative_scale * smooth_sensitivity
        share = width / (width + distance)

        def enclosure(bits: int) -> tuple[int, int]:
            fine_bits = bits + 8 + self.m.bit_length()
            low = (share.numerator << fine_bits) // share.denominator
            shift = fine_bits * self.m - bits
            return low**self.m >> shift, -(-((low + 1) ** self.m) >> shift)

        return enclosure


@dataclass(frozen=True)
class SmoothLaplace:
    """Laplace noise of scale 2 S / epsilon, for t = epsilon / (2 ln(2 / delta)): Approx(epsilon, delta).

    References: Nissim, Raskhodnikova and Smith (2007). The lecture uses ln(1 / delta), which would also suffice.
    """

    loss: Approx

    def __post_init__(self) -> None:
        _check_loss(self.loss)
        t = float(self.smoothness)
        if self.loss.epsilon / 2 + t < math.expm1(t) * math.log(1 / self.loss.delta) * _MARGIN:
            reject("`epsilon` must be moderate", self.loss.epsilon, "the proof does not cover such a large value")

    @classmethod
    def for_loss(cls, epsilon: Number, delta: Number) -> "SmoothLaplace":
        return cls(Approx(check_positive(epsilon, "epsilon", NO_FINITE_NOISE), exact_fraction(delta, "delta")))

    @property
    def smoothness(self) -> Fraction:
        return Fraction(self.loss.amount) / (2 * log_rounded_up(2 / self.loss.slack))

    @property
    def relative_scale(self) -> Fraction:
        return 2 / Fraction(self.loss.amount)

    @property
    def sd(self) -> float:
        """The standard deviation in units of S."""
        return math.sqrt(2) * float(self.relative_scale)

    def two_sided_quantile(self, level: float) -> float:
        return -float(self.relative_scale) * math.log1p(-level)

    def tail(self, distance: Fraction, smooth_sensitivity: Fraction) -> Enclosure:
        return exp_of(distance / (self.relative_scale * smooth_sensitivity))


@dataclass(frozen=True)
class SmoothGaussian:
    """Gaussian noise of standard deviation c S: Approx(epsilon, delta).

    The constants are c = 5 sqrt(2 ln(2 / delta)) / epsilon and t = epsilon / (4 (1 + ln(2 / delta))).

    References: Nissim, Raskhodnikova and Smith (2007).
    """

    loss: Approx

    def __post_init__(self) -> None:
        _check_loss(self.loss)
        t, c, share = float(self.smoothness), self.sd, self.loss.delta / 2
        squared_bound, bound = float(chdtri(1, share)), -float(ndtri(share))
        shrinks = -t + squared_bound * math.expm1(2 * t) / 2 + math.exp(t) * bound / c + 1 / (2 * c**2)
        if max(shrinks, t + bound / c + 1 / (2 * c**2)) * _MARGIN > self.loss.epsilon:
            reject("`epsilon` must be moderate", self.loss.epsilon, "the proof does not cover such a large value")

    @classmethod
    def for_loss(cls, epsilon: Number, delta: Number) -> "SmoothGaussian":
        return cls(Approx(check_positive(epsilon, "epsilon", NO_FINITE_NOISE), exact_fraction(delta, "delta")))

    @property
    def smoothness(self) -> Fraction:
        return Fraction(self.loss.amount) / (4 * (1 + log_rounded_up(2 / self.loss.slack)))

    @property
    def squared_relative_scale(self) -> Fraction:
        """The squared scale c**2 = 50 ln(2 / delta) / epsilon**2, rounded up."""
        return 50 * log_rounded_up(2 / self.loss.slack) / Fraction(self.loss.amount) ** 2

    @property
    def sd(self) -> float:
        """The standard deviation in units of S."""
        return math.sqrt(float(self.squared_relative_scale))

    def two_sided_quantile(self, level: float) -> float:
        return -self.sd * float(ndtri((1 - level) / 2))

    def tail(self, distance: Fraction, smooth_sensitivity: Fraction) -> Enclosure:
        return normal_tail(distance**2 / (self.squared_relative_scale * smooth_sensitivity**2))


SmoothNoiseLaw = PowerLaw | SmoothLaplace | SmoothGaussian


def _check_loss(loss: Approx) -> None:
    check_positive(loss.amount, "epsilon", NO_FINITE_NOISE)
    if not 0 < loss.slack < 1:
        reject("`delta` must lie between 0 and 1", loss.delta, "at 0 this noise is not enough, at 1 none is needed")


def log_rounded_up(number: Fraction) -> Fraction:
    """Return the natural logarithm, rounded up to thirty digits."""
    context = Context(prec=40)
    value = context.ln(to_decimal(number, context))
    return Fraction(math.ceil(Fraction(value) * 10**30) + 1, 10**30)
