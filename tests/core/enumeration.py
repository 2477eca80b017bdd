"""Shuffled reports by brute force, in fractions."""

import itertools
import math
from fractions import Fraction
from functools import cache


def multiset_law(rows):
    """The exact distribution of the counts of reports, from one row of report probabilities per person."""
    law = {tuple([0] * len(rows[0])): Fraction(1)}
    for row in rows:
        law = joined_by(law, row)
    return law


def joined_by(law, row):
    """The distribution of the counts after one more person reports."""
    grown = {}
    for counts, chance in law.items():
        for report, share in enumerate(row):
            place = (*counts[:report], counts[report] + 1, *counts[report + 1 :])
            grown[place] = grown.get(place, 0) + chance * share
    return grown


def true_delta(matrix, n, epsilon):
    """The largest hockey-stick divergence over all answers of all people, by enumeration."""
    factor, worst = Fraction(math.exp(epsilon)), Fraction(0)
    for laws in _laws(tuple(map(tuple, matrix)), n):
        for first, second in itertools.permutations(laws, 2):
            worst = max(worst, sum(max(first[c] - factor * second[c], 0) for c in first))
    return worst


@cache
def _laws(matrix, n):
    """The distribution of the counts for each answer of one person, for all answers of the other people."""
    nobody = {tuple([0] * len(matrix[0])): Fraction(1)}
    crowds = itertools.combinations_with_replacement(matrix, n - 1)
    return [[joined_by(multiset_law(others) if others else nobody, row) for row in matrix] for others in crowds]


def exact_matrix(design):
    return [[Fraction(int(w), design.denominator) for w in row] for row in design.weights]
