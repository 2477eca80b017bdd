"""Chosen noise in place of drawn noise, so that what is published can be computed by hand."""

from collections.abc import Callable, Iterable
from dataclasses import replace

import numpy as np

from toolkit.central.stream import RunningTotal


class Chosen:
    """A sampler that hands out the numbers that it was given, then zeros."""

    def __init__(self, numbers: Iterable[int]) -> None:
        self.numbers = list(numbers)

    def draw(self, size: int, _: object = None) -> np.ndarray:
        drawn = [self.numbers.pop(0) if self.numbers else 0 for _ in range(size)]
        return np.array(drawn, dtype=object)


def published(
    make: Callable[[], RunningTotal], counts: Iterable[int], noise: Iterable[int] = ()
) -> tuple[list[float], list[tuple[int, ...]]]:
    """What a total publishes with this noise, and the noisy numbers that it is made of."""
    total = make()
    total._noise = replace(total._noise)  # its own, as others share one
    total._noise.__dict__["sampler"] = Chosen(noise)
    numbers = [total.add(count).value for count in counts]
    return numbers, total._history[1]
