"""Privacy-loss distributions, by Google's `dp-accounting`: the optimum for many unequal losses, on a grid.

An optional package; nothing is imported before it is asked for.
"""

import math
from collections import Counter
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from toolkit.core.checks import refuse
from toolkit.core.extras import extra
from toolkit.core.optimal import unit
from toolkit.core.rounding import float_up, sum_up
from toolkit.core.sampling.enclosure import floor_log2

_POINTS = 2**18
_INTERVAL_BITS = 20  # with those of a point they fit into a float
_TAIL_ERROR = Fraction(1, 10**11)  # what its Fourier transforms may lose of delta; seen: below 10**-14


def pld_epsilon(steps: Mapping[Fraction, int], delta: Fraction) -> Fraction:
    """The epsilon at `delta` of losses {epsilon: how many of them}; each loss is rounded up to the grid."""
    if delta < 100 * _TAIL_ERROR:
        refuse(
            f"rule='pld' needs a delta of at least {float(100 * _TAIL_ERROR)}",
            float(delta),
            "its tails are floating-point sums",
        )
    tool, parameters = _module("privacy_loss_distribution"), _module("common").DifferentialPrivacyParameters
    kinds, interval = _on_grid(steps)
    composed = tool.identity(value_discretization_interval=interval)
    for epsilon, times in kinds.items():
        one = tool.from_privacy_parameters(parameters(epsilon, 0.0), value_discretization_interval=interval)
        composed = composed.compose(one.self_compose(times))
    return Fraction(repr(float_up(Fraction(float(composed.get_epsilon_for_delta(float(delta - _TAIL_ERROR)))))))


def _on_grid(steps: Mapping[Fraction, int]) -> tuple[Mapping[float, int], float]:
    """The losses as whole multiples of an interval, and that interval; of many different losses few kinds are
    left.

    The interval is their common unit, or where that is too fine a number of so few digits that its multiples
    are floats.
    """
    if not steps:
        return {}, 1.0
    least = sum_up(epsilon * times for epsilon, times in steps.items()) / _POINTS
    if (common := unit(steps)) >= least:  # then no two of them are the same float
        return {float_up(epsilon): times for epsilon, times in steps.items()}, float_up(common)
    grain = Fraction(2) ** (floor_log2(least) - _INTERVAL_BITS)
    interval = math.ceil(least / grain) * grain
    kinds: Counter[float] = Counter()
    for epsilon, times in steps.items():
        kinds[float(math.ceil(epsilon / interval) * interval)] += times
    return kinds, float(interval)


def _module(name: str) -> Any:
    return extra(f"dp_accounting.pld.{name}")
