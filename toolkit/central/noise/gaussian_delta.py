"""Lower and upper bounds on the delta of the Gaussian mechanism, and the noise that epsilon and delta require.

With r = sigma / sensitivity, a = epsilon r - 1/(2r) and b = epsilon r + 1/(2r), the smallest delta of the Gaussian
mechanism is Phi(-a) - e**epsilon Phi(-b) (Balle and Wang 2018, theorem 8). Since e**epsilon phi(b) = phi(a), this is
phi(a) (M(a) - M(b)) with Mills' ratio M(x) = Phi(-x) / phi(x). This form loses no digits in the tails.

The noise is not continuous: it is a discrete Gaussian on a fine grid. `GRID_SLACK` covers the difference. A mechanism
is calibrated to epsilon (1 - 2**-20) and delta (1 - 2**-19) of the continuous distribution, and `grid_bits` makes the
grid so fine that the remainder covers the difference between the two distributions. The argument for d entries, and
noise with a standard deviation of s grid steps, has three parts:

1. Rounding continuous noise to the grid is post-processing, so it has the delta of the continuous distribution.
2. For an integer z, the probability under the rounded distribution divided by the probability under the discrete
   distribution is theta / sqrt(2 pi s**2) times the mean of e**-((2 z t + t**2) / (2 s**2)) over t from -1/2 to 1/2.
   This ratio is at least 1 - 1/(24 s**2), because theta is at least sqrt(2 pi s**2). For |z| <= T s it is at most
   e**(T**2 / (8 s**2)), up to a factor that is negligible at this precision.
3. So over d entries and two neighbors the likelihoods change by a factor of at most
   e**(d (T**2/8 + 1/12) / s**2), except for outcomes beyond T s, whose probability is at most d e**(-T**2 / 2). Let
   T**2 = 2 (2 epsilon + ln d - ln delta + 16) and s**2 >= d T**2 2**18 / epsilon. Then the exponent is at most
   2**-20 epsilon, and the probability times e**epsilon is at most 2**-23 delta.
"""

import math
from collections.abc import Callable
from decimal import Context, Decimal
from fractions import Fraction
from functools import lru_cache

from toolkit.core.inference.special import erfcx
from toolkit.core.rounding import to_decimal
from toolkit.core.search import bisect, bracket

_DIGITS = Context(prec=60)
_ONE = Decimal(1)
_ROUNDING = Decimal("1e-45")  # exceeds the relative error of hundreds of operations with 60 digits
_LESS, _MORE = (
    _DIGITS.subtract(_ONE, _ROUNDING),
    _DIGITS.add(_ONE, _ROUNDING),
)  # computed in `_DIGITS`, because the default context would round both bounds to 1
_HALF_PI_ROOT = Decimal("1.25331413731550025120788264240552262650349337030496915831496178817114682730392")
_SERIES_BELOW = 3
_CONVERGENTS = 120
_FAR = 40

GRID_SLACK = (1 - Fraction(1, 2**20), 1 - Fraction(1, 2**19))
"""Factors applied to epsilon and delta to leave room for the discrete distribution."""


def gaussian_delta(epsilon: Fraction, noise_multiplier: Fraction) -> tuple[Decimal, Decimal]:
    """Return bounds on delta for the continuous Gaussian mechanism; the noise multiplier is sigma / sensitivity."""
    middle, half = epsilon * noise_multiplier, 1 / (2 * noise_multiplier)
    a, b = to_decimal(middle - half, _DIGITS), to_decimal(middle + half, _DIGITS)
    if a < -_FAR:
        return Decimal("0.99"), _ONE
    context = _DIGITS
    power = context.exp(context.multiply(context.multiply(a, a), Decimal("-0.5")))
    density = context.divide(power, context.add(_HALF_PI_ROOT, _HALF_PI_ROOT))
    (a_low, a_high), (b_low, b_high) = mills_ratio_bounds(a), mills_ratio_bounds(b)
    low = context.multiply(density, context.subtract(a_low, b_high))
    high = context.multiply(density, context.subtract(a_high, b_low))
    return max(context.multiply(low, _LESS), Decimal(0)), context.multiply(high, _MORE)


def mills_ratio_bounds(x: Decimal) -> tuple[Decimal, Decimal]:
    """Return bounds on Phi(-x) / phi(x), from Laplace's continued fraction or, for x below 3, from a series."""
    if x >= _SERIES_BELOW:
        pair = sorted((_convergent(x, _CONVERGENTS), _convergent(x, _CONVERGENTS + 1)))
        return _DIGITS.multiply(pair[0], _LESS), _DIGITS.multiply(pair[1], _MORE)
    x_squared = _DIGITS.multiply(x, x)
    half = _DIGITS.multiply(_HALF_PI_ROOT, _DIGITS.exp(_DIGITS.divide(x_squared, Decimal(2))))
    series = _odd_series(x.copy_abs(), x_squared)
    value = _DIGITS.subtract(half, series) if x > 0 else _DIGITS.add(half, series)
    error = _DIGITS.multiply(_DIGITS.add(half, series), _ROUNDING)
    return _DIGITS.subtract(value, error), _DIGITS.add(value, error)


def _convergent(x: Decimal, n_terms: int) -> Decimal:
    """Return 1 / (x + 1 / (x + 2 / (x + …))) after `n_terms` terms, which is alternately too large and too small."""
    value = x
    for term in range(n_terms, 0, -1):
        value = _DIGITS.add(x, _DIGITS.divide(Decimal(term), value))
    return _DIGITS.divide(_ONE, value)


def _odd_series(x: Decimal, x_squared: Decimal) -> Decimal:
    """Return the sum of x**(2k+1) / (1 * 3 * … * (2k+1)), which is (Phi(x) - 1/2) / phi(x)."""
    total, term, odd = x, x, 1
    while odd < _DIGITS.add(x_squared, x_squared) or term > _DIGITS.multiply(total, Decimal("1e-58")):
        odd += 2
        term = _DIGITS.divide(_DIGITS.multiply(term, x_squared), Decimal(odd))
        total = _DIGITS.add(total, term)
    return total


@lru_cache(maxsize=256)
def is_private(epsilon: Fraction, delta: Fraction, noise_multiplier: Fraction) -> bool:
    """Return whether the discrete Gaussian with sigma = noise_multiplier * sensitivity is (epsilon, delta)-private."""
    less_epsilon, less_delta = GRID_SLACK
    _, high = gaussian_delta(epsilon * less_epsilon, noise_multiplier)
    return Fraction(high) <= delta * less_delta


@lru_cache(maxsize=256)
def smallest_noise_multiplier(epsilon: Fraction, delta: Fraction) -> Fraction:
    """Return the smallest sigma / sensitivity, to twelve digits, for which `is_private` is true.

    `_approximate_multiplier` computes it in floating point to more digits, so the slow proof usually runs only at both
    ends of the final interval.
    """
    approximation = _approximate_multiplier(epsilon, delta)
    low, high = _bisect_multiplier(lambda noise_multiplier: noise_multiplier >= approximation)
    if is_private(epsilon, delta, Fraction(low)) or not is_private(epsilon, delta, Fraction(high)):
        low, high = _bisect_multiplier(lambda noise_multiplier: is_private(epsilon, delta, Fraction(noise_multiplier)))
    return Fraction(high)


def _bisect_multiplier(is_private_enough: Callable[[float], bool]) -> tuple[float, float]:
    """Bisect a monotone predicate; return a multiplier that fails and a larger one that passes, 1e-12 apart."""
    _, high = bracket(is_private_enough, 0.0, 1.0)
    low = high / 2
    while is_private_enough(low):
        low, high = low / 2, low
    return bisect(is_private_enough, low, high, rtol=1e-12)


def _approximate_multiplier(epsilon: Fraction, delta: Fraction) -> float:
    """Return the noise multiplier at which the bound equals delta, in floats with one secant step on exact bounds."""
    less_epsilon, less_delta = epsilon * GRID_SLACK[0], delta * GRID_SLACK[1]

    def log_excess(noise_multiplier: float) -> float:
        """Return the logarithm of the bound divided by delta."""
        _, high = gaussian_delta(less_epsilon, Fraction(noise_multiplier))
        return float(_DIGITS.ln(_DIGITS.divide(high, to_decimal(less_delta, _DIGITS))))

    log_share = math.log(less_delta.numerator) - math.log(less_delta.denominator)
    _, near = _bisect_multiplier(lambda multiplier: _log_delta(float(less_epsilon), multiplier) <= log_share)
    beside = near * (1 + 1e-7)
    near_excess, beside_excess = log_excess(near), log_excess(beside)
    return (
        near - near_excess * (beside - near) / (beside_excess - near_excess) if near_excess != beside_excess else near
    )


def _log_delta(epsilon: float, noise_multiplier: float) -> float:
    a, b = ((epsilon * noise_multiplier + sign / (2 * noise_multiplier)) / math.sqrt(2) for sign in (-1, 1))
    if a < -20:
        return 0.0
    difference = float(erfcx(a) - erfcx(b))
    return math.log(difference / 2) - a * a if difference > 0 else -math.inf


def classic_noise_multiplier(constant: Fraction, epsilon: Fraction, delta: Fraction) -> Fraction:
    """Return sqrt(2 ln(constant / delta)) / epsilon, the classic sigma / sensitivity, rounded up to a float."""
    root = _DIGITS.sqrt(_DIGITS.multiply(Decimal(2), _DIGITS.ln(to_decimal(constant / delta, _DIGITS))))
    return Fraction(math.nextafter(float(_DIGITS.divide(root, to_decimal(epsilon, _DIGITS))), math.inf))


def grid_bits(epsilon: Fraction, delta: Fraction, n_entries: int) -> int:
    """Return the number of bits by which the grid must be finer than sigma, so that `GRID_SLACK` suffices."""
    tail = 2 * (2 * float(epsilon) + math.log(n_entries) - math.log(delta.numerator) + math.log(delta.denominator) + 16)
    return (
        math.ceil(
            (math.log2(n_entries * tail) + 18 - math.log2(epsilon.numerator) + math.log2(epsilon.denominator)) / 2
        )
        + 1
    )
