"""What takes minutes to compute for the grid of the tradeoff explorer, kept in `static/ways.json`.

The numbers are those of `plan(...).ways()`, and a test computes some of them again. To renew the file after a
change of the bounds in `toolkit.local.shuffling.amplification`, run `python -m
toolkit.show.widgets.stored.ways_table`.
"""

import json
from typing import Any

from toolkit.local.questions import warner
from toolkit.planning.planner import plan
from toolkit.show.widgets.explorer import STATIC

WAYS = ("direct", "central", "shuffled", "local")
DELTA = 1e-6
EPSILONS = (
    0.1,
    0.15,
    0.2,
    0.3,
    0.4,
    0.5,
    0.6,
    0.7,
    0.8,
    0.9,
    1.0,
    1.2,
    1.4,
    1.6,
    1.8,
    2.0,
    2.5,
    3.0,
    3.5,
    4.0,
    4.5,
    5.0,
)
SIZES = (*(lead * 10**power for power in (2, 3, 4) for lead in (1, 2, 3, 5, 7)), 100_000)
PREVALENCES = (0.01, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5)
GOALS = (0.01, 0.02, 0.03, 0.05, 0.1)
FILE = STATIC / "ways.json"


def local_epsilon(epsilon: float, n: int) -> float:
    """What each report may lose on its own if n of them are shuffled and may lose (epsilon, delta)
    together.
    """
    ways = plan(warner, prevalence=0.5, epsilon=epsilon, n=n).ways(DELTA)
    return next(way.local_epsilon for way in ways if way.name == "shuffled")


def people_needed(epsilon: float, prevalence: float, goal: float) -> dict[str, float]:
    """How many people have a margin of `goal`, in each way."""
    return {
        way.name: way.n_needed for way in plan(warner, prevalence=prevalence, epsilon=epsilon, margin=goal).ways(DELTA)
    }


def stored() -> dict[str, Any]:
    """The grid as it was computed last: `local[epsilon][n]`, and `needed[way][epsilon][prevalence][goal]`."""
    found: dict[str, Any] = json.loads(FILE.read_text(encoding="utf-8"))
    return found


def compute() -> dict[str, Any]:
    """The whole grid, afresh."""
    people = [[[people_needed(epsilon, x, goal) for goal in GOALS] for x in PREVALENCES] for epsilon in EPSILONS]
    return {
        "local": [[local_epsilon(epsilon, n) for n in SIZES] for epsilon in EPSILONS],
        "needed": {way: [[[found[way] for found in cells] for cells in row] for row in people] for way in WAYS},
    }


if __name__ == "__main__":
    FILE.write_text(json.dumps(compute()) + "\n", encoding="utf-8")
