"""Plans, grids and shuffled losses must feel immediate: a slider waits for them. Run with `make bench`; the
best of a few.
"""

from collections.abc import Callable
from functools import partial

import numpy as np

from toolkit import forced, k_ary, warner
from toolkit.local import numeric, oracles
from toolkit.local.shuffling.amplification import shuffled
from toolkit.planning.accuracy import margin_grid
from toolkit.planning.planner import plan

from _timing import best


def report(name: str, limit: float, work: Callable[[], object], repeats: int = 7) -> None:
    cost = 1e3 * best(work, repeats)
    print(f"{name:58} {cost:7.1f} ms  (at most {limit:g}: {'ok' if cost <= limit else 'TOO SLOW'})")


def main() -> None:
    many = {"prevalence": [0.05] * 20}
    report("plan n, Warner", 20, lambda: plan(warner, prevalence=0.2, margin=0.03, epsilon=1.0))
    report("plan epsilon, Warner", 20, lambda: plan(warner, prevalence=0.2, margin=0.03, n=5000))
    report("plan epsilon for a power, Warner", 100, lambda: plan(warner, prevalence=0.1, detect=0.2, power=0.8, n=1000))
    report("plan n for a power, die", 20, lambda: plan(forced("1/6", "1/6"), prevalence=0, detect=0.1, power=0.8))
    report(
        "plan 24,894 people for a power, die",
        100,
        lambda: plan(forced("1/6", "1/6"), prevalence=0, detect=0.01, power=0.8),
    )
    report("plan epsilon, 20 options", 20, lambda: plan(partial(oracles.best, 20), **many, margin=0.03, n=5000))
    report("plan epsilon, mean", 50, lambda: plan(partial(numeric.hybrid, (0, 80)), prevalence=30, margin=2, n=3000))
    grid = {"epsilons": np.geomspace(0.2, 5, 50), "ns": np.geomspace(100, 1e5, 50)}
    report("margins on a grid of 50 by 50, Warner", 200, lambda: margin_grid(warner, 0.2, **grid))
    report(
        "margins on a grid of 50 by 50, 20 options",
        200,
        lambda: margin_grid(partial(oracles.best, 20), [0.05] * 20, **grid),
    )
    for n in (200, 10**3, 10**4, 10**5, 10**6):
        report(f"shuffled, Warner, {n:,} people", 50, partial(shuffled, warner(epsilon=1.0), n, 1e-6))
    for n in (10**3, 10**4, 10**6):
        for k in (5, 16, 128):
            report(f"shuffled, {k} options, {n:,} people", 50, partial(shuffled, k_ary(k, epsilon=1.0), n, 1e-6))
    found = plan(warner, prevalence=0.2, margin=0.03, epsilon=1.0)
    report("compare four ways, Warner", 500, found.compare, repeats=3)


if __name__ == "__main__":
    main()
