"""Noise that may be scaled to a smooth sensitivity S: laws whose density changes little when shift and scale
change a little.

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

**SmoothGaussian**, standard deviation c S in each of p directions, S a bound in length. With W standard
normal in p dimensions, g one coordinate of it, and a scale that shrinks by r <= e**t, the logarithm moves
by at most -p ln r + |W|**2 (r**2 - 1) / 2 + r g / c + 1 / (2 c**2), which grows with r while |W|**2 > p;
|W|**2 and g each exceed their quantile at 1 - delta / 2 with probability delta / 2. A scale that grows
costs p t + g / c + 1 / (2 c**2) at most.
"""

import math
from dataclasses import dataclass
from decimal import Context, Decimal
from fractions import Fraction
from functools import cached_property

import numpy as np
import numpy.typing as npt

from toolkit.central.noise.grid import NO_END
from toolkit.core.arrays import Array
from toolkit.core.checks import Number, exact, positive, refuse, whole
from toolkit.core.inference.special import chdtri, ndtri
from toolkit.core.loss import Approx, Pure
from toolkit.core.randomness import Enclosure
from toolkit.core.sampling.noise import exp_of
from toolkit.core.sampling.rounded import normal_tail

_MARGIN = 1 + 1e-9  # on what is computed in floats


@dataclass(frozen=True)
class PowerLaw:
    """Density proportional to (1 + |z| / c)**-(m + 1), for t = epsilon / m: Pure(epsilon), exactly.

    With m = 6 the standard deviation is 2.66 S at epsilon = 1; m must be above 2 for it to be finite.

    >>> law = PowerLaw.for_epsilon(1)
    >>> law.smoothness, law.factor, round(law.sd, 3)
    (Fraction(1, 6), Fraction(42, 5), 2.656)

    References: the PolyPlace family of Hladík and Tětek (2025), with these parameters.
    """

    loss: Pure
    m: int = 6

    def __post_init__(self) -> None:
        positive(self.loss.amount, "epsilon", NO_END)
        if whole(self.m, "m") < 3:
            refuse("`t` must be below epsilon / 2", f"epsilon / {self.m}", "else the noise has no finite variance")

    @classmethod
    def for_epsilon(cls, epsilon: Number, t: Number | None = None) -> "PowerLaw":
        """The law that costs Pure(epsilon) on a t-smooth sensitivity; epsilon / t must be whole, 6 if not given."""
        amount = positive(epsilon, "epsilon", NO_END)
        ratio = Fraction(6)
        if t is not None:
            ratio = amount / positive(t, "t", "a sensitivity that may not change is the global one")
        if ratio <= 2:
            refuse("`t` must be below epsilon / 2", t, "else the noise has no finite variance")
        if ratio.denominator != 1:
            refuse("epsilon / `t` must be whole", float(ratio), "then the tail is a rational number")
        return cls(Pure(amount), int(ratio))

    @property
    def smoothness(self) -> Fraction:
        return Fraction(self.loss.amount) / self.m

    @cached_property
    def factor(self) -> Fraction:
        """c: the width of the noise in units of S."""
        return Fraction(self.m + 1) / (Fraction(self.loss.amount) - self.smoothness)

    @property
    def sd(self) -> float:
        """In units of S."""
        return float(self.factor) * math.sqrt(2 / ((self.m - 1) * (self.m - 2)))

    def reach(self, level: float) -> float:
        """What |Z| exceeds with probability 1 - level, in units of S."""
        return float(self.factor) * float((1 - level) ** (-1 / self.m) - 1)

    def density(self, z: npt.ArrayLike) -> Array:
        """In units of S, for lessons."""
        width = float(self.factor)
        return np.asarray(self.m / (2 * width) * (1 + np.abs(z) / width) ** -(self.m + 1.0))

    def tail(self, distance: Fraction, scales: tuple[Fraction, ...]) -> Enclosure:
        """(C / (C + distance))**m with C = c S: enclosed in integers."""
        width = self.factor * scales[0]
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

    >>> round(float(SmoothLaplace.for_loss(1, 1e-6).smoothness), 6)
    0.034462

    References: Nissim, Raskhodnikova and Smith (2007); the lecture's ln(1 / delta) would do, too.
    """

    loss: Approx

    def __post_init__(self) -> None:
        _check_proper(self.loss)
        t = float(self.smoothness)
        if self.loss.epsilon / 2 + t < math.expm1(t) * math.log(1 / self.loss.delta) * _MARGIN:
            refuse("`epsilon` must be moderate", self.loss.epsilon, "beyond it the proof does not reach")

    @classmethod
    def for_loss(cls, epsilon: Number, delta: Number) -> "SmoothLaplace":
        return cls(Approx(positive(epsilon, "epsilon", NO_END), exact(delta, "delta")))

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

    def reach(self, level: float) -> float:
        return -float(self.factor) * math.log1p(-level)

    def tail(self, distance: Fraction, scales: tuple[Fraction, ...]) -> Enclosure:
        return exp_of(distance / (self.factor * scales[0]))


@dataclass(frozen=True)
class SmoothGaussian:
    """Gaussian noise in p dimensions, standard deviation c S, S in length: Approx(epsilon, delta).

    c = 5 sqrt(2 ln(2 / delta)) / epsilon, and t = epsilon / (4 (p + ln(2 / delta))).

    >>> round(SmoothGaussian.for_loss(1, 1e-6).sd, 3), SmoothGaussian.for_loss(1, 1e-6, dimension=3).dimension
    (26.934, 3)

    References: Nissim, Raskhodnikova and Smith (2007).
    """

    loss: Approx
    dimension: int = 1

    def __post_init__(self) -> None:
        _check_proper(self.loss)
        p, t, c = whole(self.dimension, "dimension"), float(self.smoothness), math.sqrt(float(self.squared))
        share = self.loss.delta / 2
        length, g = float(chdtri(p, share)), -float(ndtri(share))
        shrinks = -p * t + length * math.expm1(2 * t) / 2 + math.exp(t) * g / c + 1 / (2 * c**2)
        if max(shrinks, p * t + g / c + 1 / (2 * c**2)) * _MARGIN > self.loss.epsilon:
            refuse("`epsilon` must be moderate", self.loss.epsilon, "beyond it the proof does not reach")

    @classmethod
    def for_loss(cls, epsilon: Number, delta: Number, dimension: int = 1) -> "SmoothGaussian":
        return cls(Approx(positive(epsilon, "epsilon", NO_END), exact(delta, "delta")), dimension)

    @property
    def smoothness(self) -> Fraction:
        return Fraction(self.loss.amount) / (4 * (self.dimension + log_up(2 / self.loss.slack)))

    @property
    def squared(self) -> Fraction:
        """c**2: 50 ln(2 / delta) / epsilon**2, rounded up."""
        return 50 * log_up(2 / self.loss.slack) / Fraction(self.loss.amount) ** 2

    @property
    def sd(self) -> float:
        """In units of S."""
        return math.sqrt(float(self.squared))

    def reach(self, level: float) -> float:
        return -self.sd * float(ndtri((1 - level) / 2))

    def tail(self, distance: Fraction, scales: tuple[Fraction, ...]) -> Enclosure:
        return normal_tail(distance**2 / (self.squared * sum(scale**2 for scale in scales)))


Law = PowerLaw | SmoothLaplace | SmoothGaussian


def _check_proper(loss: Approx) -> None:
    positive(loss.amount, "epsilon", NO_END)
    if not 0 < loss.slack < 1:
        refuse("`delta` must lie between 0 and 1", loss.delta, "at 0 this noise is not enough, at 1 none is needed")


def log_up(number: Fraction) -> Fraction:
    """ln, rounded up at the thirtieth digit."""
    context = Context(prec=40)
    value = context.ln(context.divide(Decimal(number.numerator), Decimal(number.denominator)))
    return Fraction(math.ceil(Fraction(value) * 10**30) + 1, 10**30)
