"""One report at a time, as phones draw and send it: the rule that Python shares with the browser."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from toolkit.core.estimate import Estimate
from toolkit.core.randomness import Rng, below, big_below
from toolkit.local.design import Design
from toolkit.local.odds import Below


def drawer(rng: Rng = None) -> Below:
    """Uniform integers below a bound of any size, one at a time; from the operating system unless a generator is given."""

    def draw(bound: int) -> int:
        return int(below(bound, 1, rng)[0]) if bound <= 2**64 else big_below(bound, rng)

    return draw


def one_report(randomizer: Any, truth: Any, draw: Below) -> Any:
    """What is sent for a truth (a code, a list of ticked codes, a point of the grid): plain data for JSON.

    A design's report is a map of one draw; the others draw what they need.

    >>> from toolkit import warner
    >>> one_report(warner(p="2/3"), 1, drawer(np.random.default_rng(1)))
    1
    """
    if isinstance(randomizer, Design):
        return int(randomizer.report(truth, draw(randomizer.denominator)))
    return randomizer.report(truth, draw)


def estimate_sent(randomizer: Any, reports: Sequence[Any]) -> Estimate:
    """The randomizer's own estimate, from reports as they are sent."""
    if isinstance(randomizer, Design):
        return randomizer.estimate_counts(np.bincount(reports, minlength=len(randomizer.report_options)))
    found: Estimate = randomizer.estimate(list(reports))
    return found
