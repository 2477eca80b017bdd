"""One report at a time, as phones draw and send it: the rule that Python shares with the browser."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from toolkit.core.estimate import Estimate
from toolkit.core.randomness import Rng, below, big_below
from toolkit.local.design import Design
from toolkit.local.encoding import checked_times, times_each
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


def estimate_sent(randomizer: Any, reports: Sequence[Any], times: Sequence[int] | None = None) -> Estimate:
    """The randomizer's own estimate, from reports as they are sent.

    With `times`, each of the reports came so many times: as many rows as there are different reports are enough.

    >>> from toolkit.local.numeric import one_bit
    >>> estimate_sent(one_bit((0, 80), 1.0), [0, 1], [550_000_000, 450_000_000]).n
    1000000000
    """
    if isinstance(randomizer, Design):
        counts = None if times is None else checked_times(times, len(reports))
        return randomizer.estimate_counts(times_each(np.asarray(reports), counts, len(randomizer.report_options)))
    found: Estimate = randomizer.estimate(list(reports), times=times)
    return found
