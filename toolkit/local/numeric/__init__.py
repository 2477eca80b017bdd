"""Randomizers of bounded numbers, for means (one bit, window, hybrid, Laplace) and for distributions (square wave).

Answers are rounded to a public grid before anything is drawn, and reports are integers. So the answer influences what
leaves a person's device only through the exact distribution of the report, and not through floating-point rounding.
"""

import math
from collections.abc import Mapping
from fractions import Fraction

from toolkit.core.checks import (
    DENOMINATOR_LIMIT,
    Number,
    check_integer,
    check_positive,
    check_probability,
    exact_fraction,
    reject,
)
from toolkit.core.rounding import integer_rows
from toolkit.local.calibration import checked_epsilon, weights_for_epsilon
from toolkit.local.numeric.bounded import TURN_DENOMINATOR, Hybrid, OneBit, Piecewise
from toolkit.local.numeric.grid import checked_bounds, finest_step_count
from toolkit.local.numeric.laplace import LocalLaplace
from toolkit.local.numeric.scrambling import Scrambled
from toolkit.local.numeric.square_wave import SquareWave, square_wave

__all__ = ["SquareWave", "additive", "hybrid", "local_laplace", "multiplicative", "one_bit", "piecewise", "square_wave"]

_MAX_CARDS = 5000  # the largest number of different cards in a deck
_MAX_ONE_BIT_EPSILON = 0.61  # up to this epsilon a window only adds variance


def one_bit(bounds: tuple[Number, Number], epsilon: Number) -> OneBit:
    """Make a randomizer for the mean that reports a single bit: the answer, randomly rounded to 0 or 1.

    The bit is randomized by Warner's design. For answers from -1 to 1 the variance of one report is
    ((e**epsilon + 1) / (e**epsilon - 1))**2 minus the squared mean.

    Parameters
    ----------
    bounds : pair of number
        The lowest and the highest answer; they are public.
    epsilon : number
        The privacy loss of one report.

    Returns
    -------
    Randomizer
        The randomizer.

    References
    ----------
    J. C. Duchi, M. I. Jordan and M. J. Wainwright, Minimax optimal procedures for locally private estimation (2018).

    Examples
    --------
    >>> hours = one_bit((0, 80), 1.0).estimate_counts([550, 450])
    >>> round(hours.value, 2), round(hours.se, 2)
    (31.34, 2.72)
    """
    low, high = checked_bounds(bounds)
    keep, lie = weights_for_epsilon(epsilon, n_inside=1, n_outside=1)
    return OneBit(low, high, finest_step_count(low, high), keep, lie)


def piecewise(bounds: tuple[Number, Number], epsilon: Number) -> Piecewise:
    """Make a randomizer for the mean whose reports are more likely near the answer.

    It is better than `one_bit` if epsilon is above about 1.3. For answers x from -1 to 1, with h = e**(epsilon/2), the
    variance of the noise is x**2 / (h-1) + (h+3) / (3 (h-1)**2).

    Parameters
    ----------
    bounds : pair of number
        The lowest and the highest answer; they are public.
    epsilon : number
        The privacy loss of one report.

    Returns
    -------
    Randomizer
        The randomizer.

    References
    ----------
    N. Wang et al., Collecting and analyzing multidimensional data with local differential privacy (2019).

    Examples
    --------
    >>> piecewise((0, 1), 2.0)
    <Piecewise on 0 to 1: epsilon 2>
    """
    low, high = checked_bounds(bounds)
    steps = finest_step_count(low, high)
    return Piecewise(low, high, steps, *_best_window(steps, epsilon))


def hybrid(bounds: tuple[Number, Number], epsilon: Number) -> Hybrid:
    """Make a randomizer for the mean that chooses between `piecewise` and `one_bit` at random.

    It chooses `piecewise` with probability 1 - e**(-epsilon/2), but never if epsilon is at most 0.61. For every
    epsilon its worst-case variance is the smallest among the randomizers of this module.

    Parameters
    ----------
    bounds : pair of number
        The lowest and the highest answer; they are public.
    epsilon : number
        The privacy loss of one report.

    Returns
    -------
    Randomizer
        The randomizer.

    References
    ----------
    N. Wang et al., Collecting and analyzing multidimensional data with local differential privacy (2019).

    Examples
    --------
    >>> round(hybrid((-1, 1), 1.0).variance(0, n=1, sd=0, respondents="fixed"), 2)
    4.29
    """
    low, high = checked_bounds(bounds)
    steps, number = finest_step_count(low, high), float(checked_epsilon(epsilon))
    keep, lie = weights_for_epsilon(epsilon, n_inside=1, n_outside=1)
    turn = round(-math.expm1(-number / 2) * TURN_DENOMINATOR) if number > _MAX_ONE_BIT_EPSILON else 0
    return Hybrid(low, high, steps, keep, lie, *_best_window(steps, epsilon), turn)


def local_laplace(bounds: tuple[Number, Number], epsilon: Number) -> LocalLaplace:
    """Make a randomizer for the mean that adds Laplace noise to each answer.

    It is simple, but if epsilon is at most 1 it has 1.7 to 2 times the variance of `one_bit`.

    Parameters
    ----------
    bounds : pair of number
        The lowest and the highest answer; they are public.
    epsilon : number
        The privacy loss of one report.

    Returns
    -------
    Randomizer
        The randomizer.

    References
    ----------
    C. Canonne, G. Kamath and T. Steinke, The discrete Gaussian for differential privacy (2020), for the sampler.

    Examples
    --------
    >>> round(local_laplace((0, 10), 0.5).variance(5, n=100, sd=0), 6)
    8.0
    """
    low, high = checked_bounds(bounds)
    return LocalLaplace(low, high, finest_step_count(low, high), checked_epsilon(epsilon))


def additive(bounds: tuple[Number, Number], noise: Mapping[Number, Number], *, step: Number = 1) -> Scrambled:
    """Make an additive scrambling design, which reports the answer plus a number drawn from a known deck.

    A deck is finite, so the largest report proves the largest answer and epsilon is infinite. A finite epsilon needs
    unbounded noise, as in `local_laplace`.

    Parameters
    ----------
    bounds : pair of number
        The lowest and the highest answer; they are public.
    noise : mapping of number to number
        The numbers in the deck, each with its probability.
    step : number
        The distance between neighboring answers.

    Returns
    -------
    Randomizer
        The randomizer.

    References
    ----------
    K. H. Pollock and Y. Bek, Journal of the American Statistical Association 71 (1976).

    Examples
    --------
    >>> additive((0, 20), {-3: 0.25, 0: 0.5, 3: 0.25}).epsilon
    inf
    """
    return _make_scrambled("additive", bounds, noise, step)


def multiplicative(bounds: tuple[Number, Number], noise: Mapping[Number, Number], *, step: Number = 1) -> Scrambled:
    """Make a multiplicative scrambling design, which reports the answer times a number drawn from a known deck.

    Epsilon is infinite except in special cases; if both the answers and the deck are -1 and 1, the design is Warner's.
    The report of an answer of 0 is always 0.

    Parameters
    ----------
    bounds : pair of number
        The lowest and the highest answer; they are public.
    noise : mapping of number to number
        The numbers in the deck, each with its probability.
    step : number
        The distance between neighboring answers.

    Returns
    -------
    Randomizer
        The randomizer.

    References
    ----------
    B. H. Eichhorn and L. S. Hayre, Journal of Statistical Planning and Inference 7 (1983).

    Examples
    --------
    >>> round(multiplicative((1, 30), {"1/2": 0.5, "3/2": 0.5}).variance(10, n=100, sd=0), 6)
    0.25
    """
    return _make_scrambled("multiplicative", bounds, noise, step)


def _make_scrambled(how: str, bounds: tuple[Number, Number], noise: Mapping[Number, Number], step: Number) -> Scrambled:
    low, high = checked_bounds(bounds)
    steps = (high - low) / check_positive(step, "step")
    if steps.denominator != 1:
        consequence = "otherwise the highest answer is not on the grid"
        reject("the range must be a whole number of `step`s", f"{float(steps):g}", consequence)
    if not isinstance(noise, Mapping):
        reject("`noise` must map numbers to probabilities", type(noise).__name__, "see the example", TypeError)
    check_integer(len(noise), "noise", maximum=_MAX_CARDS)
    values = tuple(exact_fraction(value, "noise") for value in noise)
    shares = [check_probability(share, "noise") for share in noise.values()]
    if sum(shares, Fraction(0)) != 1 or 0 in shares:
        consequence = "every draw gives one of these numbers"
        reject("the probabilities of `noise` must be positive and sum to 1", float(sum(shares)), consequence)
    (weights,), _ = integer_rows([shares], DENOMINATOR_LIMIT)
    return Scrambled(low, high, int(steps), how, values, tuple(weights))  # type: ignore[arg-type]


def _best_window(steps: int, epsilon: Number) -> tuple[int, int, int]:
    """Return the width of the best window for a mean, e**(-epsilon/2) of the range, and its weights."""
    width = max(1, round(steps * math.exp(-float(checked_epsilon(epsilon)) / 2)))
    return (width, *weights_for_epsilon(epsilon, n_inside=width, n_outside=steps))
