"""Shuffled reports by brute force, in fractions."""

import itertools
import math
from fractions import Fraction


def multiset_law(rows):
    """The law of the counts of reports, one row of report probabilities a person: exact."""
    law = {tuple([0] * len(rows[0])): Fraction(1)}
    for row in rows:
        law = joined_by(law, row)
    return law


def joined_by(law, row):
    """The law of the counts when one more person reports."""
    grown = {}
    for counts, chance in law.items():
        for report, share in enumerate(row):
            place = (*counts[:report], counts[report] + 1, *counts[report + 1 :])
            grown[place] = grown.get(place, 0) + chance * share
    return grown


def true_delta(matrix, n, epsilon):
    """The largest hockey-stick divergence over all answers of all people, by enumeration."""
    factor, worst = Fraction(math.exp(epsilon)), Fraction(0)
    for others in itertools.combinations_with_replacement(matrix, n - 1):
        crowd = multiset_law(others) if others else {tuple([0] * len(matrix[0])): Fraction(1)}
        for first, second in itertools.permutations([joined_by(crowd, row) for row in matrix], 2):
            worst = max(worst, sum(max(first[c] - factor * second[c], 0) for c in first))
    return worst


def exact_matrix(design):
    return [[Fraction(int(w), design.denominator) for w in row] for row in design.weights]
