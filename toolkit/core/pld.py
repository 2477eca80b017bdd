"""Privacy-loss distributions, by Google's `dp-accounting`: the optimum for many unequal losses, on a grid.

An optional package; nothing is imported before it is asked for.
"""

import importlib
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from toolkit.core.checks import refuse
from toolkit.core.optimal import unit
from toolkit.core.rounding import float_up

_POINTS = 2**18
_TAIL_ERROR = Fraction(1, 10**11)  # what its Fourier transforms may lose of delta; seen: below 10**-14


def pld_epsilon(steps: Mapping[Fraction, int], delta: Fraction) -> Fraction:
    """The epsilon at `delta` of losses {epsilon: how many of them}; each loss is rounded up to the grid."""
    if delta < 100 * _TAIL_ERROR:
        refuse(
            f"rule='pld' needs a delta of at least {float(100 * _TAIL_ERROR)}", float(delta), "its tails are floating-point sums"
        )
    tool, parameters = _module("privacy_loss_distribution"), _module("common").DifferentialPrivacyParameters
    total = sum((epsilon * times for epsilon, times in steps.items()), Fraction(0))
    interval = float_up(max(unit(steps), total / _POINTS)) if steps else 1.0
    composed = tool.identity(value_discretization_interval=interval)
    for epsilon, times in steps.items():
        one = tool.from_privacy_parameters(parameters(float_up(epsilon), 0.0), value_discretization_interval=interval)
        composed = composed.compose(one.self_compose(times))
    return Fraction(repr(float_up(Fraction(float(composed.get_epsilon_for_delta(float(delta - _TAIL_ERROR)))))))


def _module(name: str) -> Any:
    try:
        return importlib.import_module(f"dp_accounting.pld.{name}")
    except ImportError:
        refuse("rule='pld' needs the package dp-accounting", "none", "`pip install dp-accounting`, or use rule='best'", ImportError)
