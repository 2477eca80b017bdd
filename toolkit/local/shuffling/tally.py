"""An upper bound on delta for a tally of yes/no reports, given the answers of the other people.

A report of yes has probability p if its sender has the answer in question, else q < p. Let b be the distribution of the
tally of all others. With gain = p - e**epsilon q and loss = e**epsilon (1 - q) - (1 - p),

    delta = max over c of the sum over x >= c of (gain b(x - 1) - loss b(x)).

A tally of independent reports has a log-concave distribution, so the summands change sign once. Let r = loss / gain,
and let B be the tilted distribution r**x b(x) / G(r), where G is the generating function of b. B is again the
distribution of a tally, with other probabilities. A summand is positive where B decreases, so the best c is a mode of B
plus 1. A mode is within 1 of the mean (J. Darroch 1964), so only two values of c can be the best. For the best c,

    delta = loss G(r) r**-c psi(c), where psi(c) = the sum over j >= 0 of r**-j (B(c + j - 1) - B(c + j)).

The Fourier transform of psi has a closed form, whose mean over the M-th roots of unity is the sum of psi(c + kM) over
all whole k. For k > 0 the terms are positive, because B decreases there. For k < 0 they are at least -(1 - 1/r) r**(c +
kM) / G(r). With this amount added, the result exceeds psi(c) by no more than tails of B, which M keeps small. For any
number of people, only about twenty roots near 1 make a relevant contribution. Bounds on the other terms and on the
rounding error are added, so the result is an upper bound.
"""

import math
from dataclasses import dataclass
from decimal import Context, Decimal
from fractions import Fraction

import numpy as np

from toolkit.core.arrays import Array

MAX_PEOPLE = 10**9
"""The largest number of people for which a float is precise enough; more people never increase the loss."""

ROUNDING_FACTOR = 1e-13
"""A factor that, times 30 + sqrt(n), bounds the relative rounding error.

Exponents and angles are of size 10 sqrt(n), and each is accurate to a few units of the 16th digit. At 10**9 people the
bound is 3e-9; the observed error was 1e-10.
"""

_DECIMAL_CONTEXT = Context(prec=50)
_WIDTH, _MIN_WIDTH = 8.0, 30.0  # M in standard deviations, and its smallest value
_NEGLIGIBLE = 40.0  # roots where the transform of B is below e**-40 are not summed


@dataclass(frozen=True)
class Side:
    """The probabilities in (0, 1) that a report is tallied, for senders with and without the answer in question."""

    p: Fraction
    q: Fraction

    def scores(self, epsilon: float) -> tuple[float, float, float]:
        """Return gain, loss and loss / gain - 1, as defined in the module's docstring, exact up to a final rounding."""
        factor = Fraction(_DECIMAL_CONTEXT.exp(Decimal(epsilon)))
        gain, loss = self.p - factor * self.q, factor * (1 - self.q) - (1 - self.p)
        return float(gain), float(loss), float((factor - 1) / gain) if gain > 0 else math.inf


@dataclass(frozen=True, eq=False)
class _Group:
    """The tilted distribution of the reports of people with one answer.

    The rarer reports are counted, with a negative `sign` if these are the no reports. This preserves precision if
    nearly everybody gives the same report.
    """

    people: Array
    sign: float
    rare_share: float
    report_variance: float
    log_weight: float

    @classmethod
    def tilted(cls, people: Array, share: Fraction, tilt: float) -> "_Group":
        yes, no = float(share), float(1 - share)
        weight_sum = 1 + yes * tilt
        up, down = yes * (1 + tilt) / weight_sum, no / weight_sum
        if yes <= no:
            return cls(people, 1.0, up, up * down, math.log1p(yes * tilt))
        return cls(people, -1.0, down, up * down, math.log1p(-no * tilt / (1 + tilt)))


def delta_bounds(side: Side, n_with_answer: Array, n_without_answer: Array, epsilon: float, delta: float) -> Array:
    """Return an upper bound on delta, given how many others have the answer in question and how many do not.

    `delta` is the magnitude of interest; results far below it may be loose.
    """
    gain, loss, tilt = side.scores(epsilon)
    if gain <= 0:
        return np.zeros(len(n_with_answer))
    groups = (_Group.tilted(n_with_answer, side.p, tilt), _Group.tilted(n_without_answer, side.q, tilt))
    middle = np.round(sum(group.sign * group.people * group.rare_share for group in groups)) + 1
    n_roots = (
        2 * np.floor((_WIDTH + math.sqrt(-math.log(delta) / 2)) * np.sqrt(_variance(groups)) / 2 + _MIN_WIDTH / 2) + 1
    )
    turn, error = math.log1p(tilt), ROUNDING_FACTOR * (30 + np.sqrt(n_with_answer + n_without_answer))
    level = loss * np.exp(sum(group.people * group.log_weight for group in groups) - middle * turn)
    tail = gain * tilt * np.exp(-n_roots * turn) / -np.expm1(-n_roots * turn) if tilt else gain / n_roots
    return np.asarray(level * _psi(groups, middle, n_roots, tilt, error) + tail * (1 + error))


def _psi(groups: tuple[_Group, _Group], middle: Array, n_roots: Array, tilt: float, error: Array) -> Array:
    """Return an upper bound on the largest of r psi(c - 1), psi(c) and psi(c + 1) / r; `n_roots` is M, which is odd."""
    half, variance = (n_roots - 1) / 2, _variance(groups)
    max_angle = np.arcsin(np.sqrt(_NEGLIGIBLE / 2 / np.maximum(variance, _NEGLIGIBLE / 2)))
    count = int(np.minimum(np.ceil(n_roots / math.pi * max_angle), half).max())
    indices = np.arange(1, count + 1)
    angle = 2 * math.pi / n_roots[:, None] * indices
    sine, cosine = np.sin(angle / 2), np.cos(angle / 2)
    square, double = sine * sine, 2 * sine * cosine
    size, phase = np.zeros_like(angle), angle * (0.5 - middle[:, None])
    for group in groups:
        people = group.people[:, None]
        size += people / 2 * np.log1p(-4 * group.report_variance * square)
        phase += group.sign * people * np.arctan2(group.rare_share * double, 1 - 2 * group.rare_share * square)
    back, gap = 1 / (1 + tilt), tilt / (1 + tilt)  # 1 / r and 1 - 1 / r
    weight = (
        np.where(indices <= half[:, None], np.exp(size), 0)
        * 4
        / n_roots[:, None]
        * sine
        / (gap * gap + 4 * back * square)
    )
    even, odd = weight * 2 * back * sine * cosine, weight * (2 * back * square + gap)
    straight, crossed = even * np.cos(phase) - odd * np.sin(phase), even * np.sin(phase) + odd * np.cos(phase)
    turned, shifted = (straight * (1 - 2 * square)).sum(axis=1), (crossed * double).sum(axis=1)
    above = error * (even + odd).sum(axis=1)
    above += np.where(count < half, 2 * np.exp(-2 * variance * np.sin(math.pi * (count + 1) / n_roots) ** 2), 0)
    candidates = [
        (turned - shifted + above) * (1 + tilt),
        straight.sum(axis=1) + above,
        (turned + shifted + above) * back,
    ]
    return np.asarray(np.max(candidates, axis=0))


def _variance(groups: tuple[_Group, _Group]) -> Array:
    return groups[0].people * groups[0].report_variance + groups[1].people * groups[1].report_variance
