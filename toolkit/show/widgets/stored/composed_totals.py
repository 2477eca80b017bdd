"""Totals of many equal releases on the grid of the composition explorer: seconds to compute, so kept in
`static/composed.json`.

The numbers are those of `compose`, and a test computes some of them again. To renew the file after a change
of a rule in `toolkit.core.composition`, run `python -m toolkit.show.widgets.stored.composed_totals`.
"""

import json
from functools import lru_cache

from toolkit.core.composition import compose
from toolkit.core.loss import Approx, Pure
from toolkit.show.widgets.explorer import STATIC
from toolkit.show.widgets.kit.words import short

RELEASES = (1, 2, 3, 5, 7, 10, 15, 20, 30, 52, 75, 100, 150, 200, 300, 365)
EPSILONS = (0.01, 0.02, 0.03, 0.05, 0.07, 0.1, 0.15, 0.2, 0.3, 0.5, 0.7, 1.0, 1.5, 2.0)
DELTAS = (1e-10, 1e-9, 1e-8, 1e-7, 1e-6, 1e-5, 1e-4)
RULES = ("basic", "advanced", "zcdp", "optimal")
FILE = STATIC / "composed.json"


def totals(releases: int, epsilon: float, delta: float) -> list[float]:
    """The total epsilon by each of the rules.

    >>> [round(total, 2) for total in totals(50, 0.1, 1e-6)]
    [5.0, 3.92, 3.54, 3.17]
    """
    losses = [Pure(epsilon)] * releases
    found = (compose(losses, None if rule == "basic" else delta, rule) for rule in RULES)
    return [short(loss.epsilon) for loss in found if isinstance(loss, Pure | Approx)]


@lru_cache(maxsize=1)
def stored() -> dict[tuple[int, float, float], list[float]]:
    """The totals as they were computed last, by number of releases, epsilon and delta."""
    numbers = iter(json.loads(FILE.read_text(encoding="utf-8")))
    return {(k, epsilon, delta): next(numbers) for delta in DELTAS for epsilon in EPSILONS for k in RELEASES}


def compute() -> list[list[float]]:
    """The whole grid, afresh, in the order of `stored`."""
    return [totals(k, epsilon, delta) for delta in DELTAS for epsilon in EPSILONS for k in RELEASES]


if __name__ == "__main__":
    FILE.write_text(json.dumps(compute(), separators=(",", ":")).replace("],[", "],\n[") + "\n", encoding="utf-8")
