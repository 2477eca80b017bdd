"""Tallies of yes/no reports by brute force: every composition of the others' answers, with sums of positive
numbers only.
"""

import itertools
import math
from fractions import Fraction

import numpy as np


def binomial(trials, share):
    """The law of a count, by ratios from the mode, each chance right to some 13 digits; what is below 1e-40
    is left out.

    The position of the first count is not returned, because a shifted tally reveals as much.
    """
    mode, odds = int((trials + 1) * share), float(share / (1 - share))
    reach = 14 * math.sqrt(trials * share * (1 - share)) + 100  # by Bernstein's inequality the rest is below e**-92
    up = np.arange(mode, min(trials, mode + int(reach)), dtype=float)
    down = np.arange(mode, max(0, mode - int(reach)), -1, dtype=float)
    rising, falling = (np.cumprod((trials - up) / (up + 1) * odds), np.cumprod(down / (trials - down + 1) / odds))
    weights = np.concatenate([falling[::-1], [1.0], rising])
    return weights[weights > 1e-40] / weights.sum()


def tally_delta(own, other, law, epsilon, *, both=True):
    """The gap between two answers of one person, where `law` is that of the others' tally: the worse of two
    directions.
    """
    first = float(own) * np.append(0, law) + float(1 - own) * np.append(law, 0)
    second = float(other) * np.append(0, law) + float(1 - other) * np.append(law, 0)
    factor = math.exp(epsilon)
    gaps = [np.maximum(first - factor * second, 0).sum(), np.maximum(second - factor * first, 0).sum()]
    return max(gaps) if both else gaps[0]


def worst_delta(own, other, n, *epsilons):
    """The largest gap over all compositions of n - 1 others, for each epsilon."""
    worst = np.zeros(len(epsilons))
    for holders in range(n):
        law = np.convolve(binomial(holders, own), binomial(n - 1 - holders, other))
        worst = np.maximum(worst, [tally_delta(own, other, law, epsilon) for epsilon in epsilons])
    return worst


def exact_delta(own, other, alike, unlike, epsilon):
    """The gap in favor of the answer in question, in fractions, for one composition."""
    laws = [
        [math.comb(trials, i) * share**i * (1 - share) ** (trials - i) for i in range(trials + 1)]
        for trials, share in ((alike, own), (unlike, other))
    ]
    law = [Fraction(0)] * (alike + unlike + 1)
    for i, one in enumerate(laws[0]):
        for j, two in enumerate(laws[1]):
            law[i + j] += one * two
    factor, padded = Fraction(math.exp(epsilon)), [Fraction(0), *law, Fraction(0)]
    gain, loss = own - factor * other, factor * (1 - other) - (1 - own)
    return sum(max(gain * before - loss * here, 0) for before, here in itertools.pairwise(padded))
