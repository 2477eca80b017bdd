"""Seventeen faults as people make them, beyond the gallery: each claims the loss beside it, and breaks it."""

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from toolkit.attacks.audit.running import shapes

RATIO = math.exp(-1)


def laplace(scale, rng, size=None):
    """On a grid of 1/64, so that last bits tell nothing."""
    if size is None:  # as is drawn millions of times
        return round(rng.laplace(0, scale) * 64) / 64
    return np.rint(rng.laplace(0, scale, size) * 64) / 64


def geometric(rng):
    """Two-sided, with ratio 1/e: what a whole count needs at epsilon 1."""
    return int(rng.geometric(1 - RATIO) - rng.geometric(1 - RATIO))


def sign_forgotten(count, rng):
    return count + abs(laplace(1, rng))


def zero_twice(count, rng):
    size = int(rng.geometric(1 - RATIO)) - 1
    return count + (size if rng.random() < 0.5 else -size)


def float_gaussian(mean, rng):
    return mean + rng.normal(0, 3.8)


def clipped_noise(count, rng):
    return count + min(max(laplace(1, rng), -6), 6)


def no_factor_two(scores, rng):
    totals = np.exp(scores).cumsum()
    return int(totals.searchsorted(rng.random() * totals[-1]))


def telling_maximum(scores, rng):
    noisy = (scores + laplace(2, rng, len(scores))).tolist()
    best = max(noisy)
    return noisy.index(best), best


def sparse_vector_with_half_the_noise(answers, rng):
    above = (answers + laplace(2, rng, len(answers)) >= 1 + laplace(2, rng)).tolist()
    return above.index(True) if True in above else None


def k_ary_off_by_two_hundredths(answer, rng):
    keeps = math.e / (math.e + 4) + 0.02
    return answer if rng.random() < keeps else (answer + int(rng.integers(1, 5))) % 5


def subsample(column, rng):
    return float(column @ (rng.random(len(column)) < 0.5)) + laplace(1, rng)


def few_seeds(count, rng):
    return count + NOISES[int(rng.integers(60))]


NOISES = laplace(1, np.random.default_rng(5), 60)


@dataclass
class CachedNoise:
    kept: dict[float, float] = field(default_factory=dict)

    def __call__(self, count, rng):
        return count + self.kept.setdefault(count, laplace(1, rng))


def last_cell_makes_the_total(column, rng):
    counts = np.bincount(column, minlength=3) + laplace(1, rng, 3)
    counts[2] = len(column) - counts[0] - counts[1]
    return counts


def truncated_geometric(count, rng):
    while abs(noise := geometric(rng)) > 5:
        pass
    return count + noise


def mean_of_so_many(column, rng):
    return round(float(column.sum()) / len(column) * 64) / 64 + laplace(1 / len(column), rng)


def gaussian_without_delta(count, rng):
    return round((count + rng.normal(0, 2)) * 64) / 64


def again_until_not_negative(count, rng):
    while (noisy := count + laplace(1, rng)) < 0:
        pass
    return noisy


def order_of_appearance(column, rng):
    return {option: column.count(option) + geometric(rng) for option in dict.fromkeys(column)}


@dataclass(frozen=True)
class Fault:
    """A mechanism, neighbors on which it breaks its claim, and the claim."""

    mechanism: Any
    neighbors: Any
    epsilon: float = 1
    delta: float = 0


_ANSWERS = (np.array([0.0, 0, 1]), np.array([0.0, 0, 1, 1]))

FAULTS = {
    "the sign is forgotten": Fault(sign_forgotten, (3.0, 4.0)),
    "zero counted twice": Fault(zero_twice, (10, 11)),
    "last bits of Gaussian noise": Fault(float_gaussian, (0.0, 1.0), delta=1e-5),
    "noise clipped at six scales": Fault(clipped_noise, (0.0, 1.0)),
    "exponential without its factor of two": Fault(no_factor_two, shapes(5)),
    "a noisy maximum that tells its value": Fault(telling_maximum, shapes(5)),
    "sparse vector with half the noise": Fault(sparse_vector_with_half_the_noise, shapes(10)),
    "k-ary off by 0.02": Fault(k_ary_off_by_two_hundredths, [(0, 1), (0, 2), (1, 4)]),
    "subsampling that claims half": Fault(subsample, (np.zeros(3), np.array([1.0, 0, 0])), epsilon=0.5),
    "sixty seeds": Fault(few_seeds, (0.0, 1.0)),
    "noise from a cache": Fault(CachedNoise(), (0.0, 1.0)),
    "the last cell makes the total": Fault(
        last_cell_makes_the_total, (np.array([0, 0, 1, 2]), np.array([0, 0, 1, 2, 2]))
    ),
    "geometric noise with truncated tails": Fault(truncated_geometric, (0, 1)),
    "a mean whose noise tells how many": Fault(mean_of_so_many, _ANSWERS),
    "Gaussian noise, delta forgotten": Fault(gaussian_without_delta, (0.0, 1.0)),
    "again until not negative": Fault(again_until_not_negative, (0.0, 1.0)),
    "cells in order of appearance": Fault(order_of_appearance, ([*"aabb"], [*"babb"])),
}
