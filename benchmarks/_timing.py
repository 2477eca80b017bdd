"""The one way benchmarks measure: the best of several runs, in seconds."""

import time
from collections.abc import Callable


def best(work: Callable[[], object], repeats: int = 5) -> float:
    """The shortest of `repeats` runs, after one that does not count."""
    work()
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return min(times)
