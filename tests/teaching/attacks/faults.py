"""Seventeen realistic faults beyond the gallery; each mechanism claims the loss that is listed with it, and violates
the claim.
"""

import math
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

from toolkit.audit.running import shapes

RATIO = math.exp(-1)


def laplace(scale, rng, size=None):
    """Round to a grid of 1/64, so that the last bits reveal nothing."""
    return np.rint(rng.laplace(0, scale, size) * 64) / 64


def geometric(rng, size=None):
    """Draw two-sided geometric noise with ratio 1/e, which an integer count needs at epsilon 1."""
    return rng.geometric(1 - RATIO, size) - rng.geometric(1 - RATIO, size)


@dataclass(frozen=True)
class Each:
    """Many runs of a fault at once, which an audit treats as the answers of as many people."""

    randomize: Any


def sign_forgotten(counts, rng):
    return counts + abs(laplace(1, rng, len(counts)))


def zero_twice(counts, rng):
    sizes = rng.geometric(1 - RATIO, len(counts)) - 1
    return counts + np.where(rng.random(len(counts)) < 0.5, sizes, -sizes)


def float_gaussian(means, rng):
    return means + rng.normal(0, 3.8, len(means))


def clipped_noise(counts, rng):
    return counts + np.clip(laplace(1, rng, len(counts)), -6, 6)


def no_factor_two(scores, rng):
    totals = np.exp(scores).cumsum(axis=1)
    return (totals < rng.random((len(scores), 1)) * totals[:, -1:]).sum(axis=1)


def telling_maximum(scores, rng):
    noisy = scores + laplace(2, rng, scores.shape)
    return np.stack([noisy.argmax(axis=1), noisy.max(axis=1)], axis=1)


def sparse_vector_with_half_the_noise(answers, rng):
    """Return the index of the first value above the threshold, or one less than zero if there is none."""
    above = answers + laplace(2, rng, answers.shape) >= 1 + laplace(2, rng, (len(answers), 1))
    return np.where(above.any(axis=1), above.argmax(axis=1), -1)


def k_ary_off_by_two_hundredths(answers, rng):
    keeps, others = math.e / (math.e + 4) + 0.02, rng.integers(1, 5, len(answers))
    return (answers + np.where(rng.random(len(answers)) < keeps, 0, others)) % 5


def subsample(columns, rng):
    return (columns * (rng.random(columns.shape) < 0.5)).sum(axis=1) + laplace(1, rng, len(columns))


def few_seeds(counts, rng):
    return counts + NOISES[rng.integers(60, size=len(counts))]


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


def again(counts, noise, allowed):
    """Counts with noise that is redrawn where this is not allowed."""
    noisy = counts + noise(len(counts))
    while (wrong := ~allowed(noisy - counts, noisy)).any():
        noisy[wrong] = counts[wrong] + noise(wrong.sum())
    return noisy


def truncated_geometric(counts, rng):
    return again(np.array(counts), partial(geometric, rng), lambda noise, _: abs(noise) <= 5)


def mean_of_so_many(columns, rng):
    people = columns.shape[1]
    return np.rint(columns.sum(axis=1) / people * 64) / 64 + laplace(1 / people, rng, len(columns))


def gaussian_without_delta(counts, rng):
    return np.rint((counts + rng.normal(0, 2, len(counts))) * 64) / 64


def again_until_not_negative(counts, rng):
    return again(np.array(counts), partial(laplace, 1, rng), lambda _, noisy: noisy >= 0)


def order_of_appearance(column, rng):
    return {option: column.count(option) + int(geometric(rng)) for option in dict.fromkeys(column)}


@dataclass(frozen=True)
class Fault:
    """A mechanism, neighbors on which it violates its claim, and the claim."""

    mechanism: Any
    neighbors: Any
    epsilon: float = 1
    delta: float = 0


_ANSWERS = (np.array([0.0, 0, 1]), np.array([0.0, 0, 1, 1]))

FAULTS = {
    "the sign is forgotten": Fault(Each(sign_forgotten), (3.0, 4.0)),
    "zero counted twice": Fault(Each(zero_twice), (10, 11)),
    "last bits of Gaussian noise": Fault(Each(float_gaussian), (0.0, 1.0), delta=1e-5),
    "noise clipped at six scales": Fault(Each(clipped_noise), (0.0, 1.0)),
    "exponential without its factor of two": Fault(Each(no_factor_two), shapes(5)),
    "a noisy maximum that tells its value": Fault(Each(telling_maximum), shapes(5)),
    "sparse vector with half the noise": Fault(Each(sparse_vector_with_half_the_noise), shapes(10)),
    "k-ary off by 0.02": Fault(Each(k_ary_off_by_two_hundredths), [(0, 1), (0, 2), (1, 4)]),
    "subsampling that claims half": Fault(Each(subsample), (np.zeros(3), np.array([1.0, 0, 0])), epsilon=0.5),
    "sixty seeds": Fault(Each(few_seeds), (0.0, 1.0)),
    "noise from a cache": Fault(CachedNoise(), (0.0, 1.0)),
    "the last cell makes the total": Fault(
        last_cell_makes_the_total, (np.array([0, 0, 1, 2]), np.array([0, 0, 1, 2, 2]))
    ),
    "geometric noise with truncated tails": Fault(Each(truncated_geometric), (0, 1)),
    "a mean whose noise tells how many": Fault(Each(mean_of_so_many), _ANSWERS),
    "Gaussian noise, delta forgotten": Fault(Each(gaussian_without_delta), (0.0, 1.0)),
    "again until not negative": Fault(Each(again_until_not_negative), (0.0, 1.0)),
    "cells in order of appearance": Fault(order_of_appearance, ([*"aabb"], [*"babb"])),
}
