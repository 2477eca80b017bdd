"""Shuffled reports by brute force, in fractions."""

import itertools
import math
from fractions import Fraction


def multiset_law(rows):
    """The law of the counts of reports, one row of report probabilities a person: exact."""
    law = {tuple([0] * len(rows[0])): Fraction(1)}
    for row in rows:
        grown = {}
        for counts, chance in law.items():
            for report, share in enumerate(row):
                place = (*counts[:report], counts[report] + 1, *counts[report + 1 :])
                grown[place] = grown.get(place, 0) + chance * share
        law = grown
    return law


def true_delta(matrix, n, epsilon):
    """The largest hockey-stick divergence over all answers of all people, by enumeration."""
    factor, worst = Fraction(math.exp(epsilon)), Fraction(0)
    answers = range(len(matrix))
    for others in itertools.combinations_with_replacement(answers, n - 1):
        for one, other in itertools.permutations(answers, 2):
            first = multiset_law([matrix[one], *(matrix[a] for a in others)])
            second = multiset_law([matrix[other], *(matrix[a] for a in others)])
            worst = max(worst, sum(max(first[c] - factor * second[c], 0) for c in first))
    return worst


def exact_matrix(design):
    return [[Fraction(int(w), design.denominator) for w in row] for row in design.weights]
