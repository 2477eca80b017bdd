"""The one way benchmarks measure: the best of several runs, in seconds."""

import time
from collections.abc import Callable


def best(work: Callable[[], object], repeats: int = 5, clock: Callable[[], float] = time.perf_counter) -> float:
    """The shortest of `repeats` runs, after one that does not count; by the time that passes, or by another
    clock, as `time.process_time`.
    """
    work()
    times = []
    for _ in range(repeats):
        start = clock()
        work()
        times.append(clock() - start)
    return min(times)
