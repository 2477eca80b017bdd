from fractions import Fraction
from functools import partial
from itertools import product

import numpy as np
import pytest

from tests.slowly import slowly
from toolkit.central.robust.inverse import function_lengths, huber_lengths, quantile_lengths
from toolkit.central.robust.smooth import Table, distance, neighbors, tables
from toolkit.frames.sums import Bounds


def scores(table: Table, half: int, reach: int, unit: int) -> int:
    return sum(min(max(unit * (2 * value - half), -reach), reach) for value in table)


def is_huber(table: Table, v: int, reach: int, unit: int) -> bool:
    return scores(table, 2 * v + 1, reach, unit) <= 0 <= scores(table, 2 * v - 1, reach, unit)


def is_quantile(table: Table, v: int, q: Fraction) -> bool:
    below, above = sum(x < v for x in table), sum(x > v for x in table)
    return below <= q * len(table) and above <= (1 - q) * len(table)


def steps(table: Table) -> np.ndarray:
    return np.array(table, dtype=np.int64)


@pytest.mark.parametrize("case", slowly([(5, 3), (4, 4), (3, 5), (2, 4), (4, 1), (3, 0)], [(5, 3), (4, 4), (3, 5)]))
def test_the_length_of_a_quantile_is_the_true_distance_on_all_tables(case: tuple[int, int]) -> None:
    span, n = case
    every = tables(range(span + 1), n)
    for table, q in product(every, [Fraction(1, 2), Fraction(1, 4), Fraction(9, 10)]):
        expected = [min(distance(table, other) for other in every if is_quantile(other, v, q)) for v in range(span + 1)]
        assert quantile_lengths(steps(table), span, q).tolist() == expected


SMALL = [(4, 1, 2, 1), (3, 0, 2, 1), (2, 4, 1, 1), (3, 3, 5, 4), (3, 3, 20, 1)]
LARGE = [
    (5, 4, 4, 1),
    (4, 5, 3, 1),
    (6, 3, 20, 1),
    (5, 3, 1, 1),
    (2, 6, 1, 1),
    (4, 4, 8, 3),
    (3, 5, 5, 4),
    (5, 3, 1, 7),
]


@pytest.mark.parametrize("case", slowly(SMALL + LARGE, LARGE))
def test_the_length_of_a_huber_location_is_the_true_distance_on_all_tables(case: tuple[int, int, int, int]) -> None:
    span, n, reach, unit = case
    every = tables(range(span + 1), n)
    for table in every:
        expected = [
            min(distance(table, other) for other in every if is_huber(other, v, reach, unit)) for v in range(span + 1)
        ]
        assert huber_lengths(steps(table), span, reach, unit).tolist() == expected


@pytest.mark.slow
def test_one_person_moves_no_length_by_more_than_one() -> None:
    """This holds for a person who is replaced, added or removed, over all small tables."""
    span = 4
    every = [table for n in range(6) for table in tables(range(span + 1), n)]
    for length in (
        *(partial(quantile_lengths, span=span, q=q) for q in (Fraction(1, 2), Fraction(1, 3))),
        *(partial(huber_lengths, span=span, cutoff=reach, unit=1) for reach in (1, 3, 6)),
    ):
        found = {table: length(steps(table)) for table in every}
        for table in (table for table in every if table):
            near = {*neighbors(table, range(span + 1)), *(table[:i] + table[i + 1 :] for i in range(len(table)))}
            assert all(np.abs(found[table] - found[other]).max() <= 1 for other in near)


def test_a_median_as_a_function_has_the_lengths_of_the_median() -> None:
    """For odd n the two agree: the middle value is a function, and the only value that is a median."""
    bounds = Bounds.of((0, 5)).with_step(1)
    for table in tables(range(6), 3):
        found = function_lengths(np.array(table, dtype=float), bounds, lambda x: float(np.median(x)), 9)
        assert found.tolist() == quantile_lengths(steps(table), 5, Fraction(1, 2)).tolist()


@pytest.mark.parametrize("n", [2, 3])
def test_the_lengths_of_the_mean_are_exact_and_capped(n: int) -> None:
    """The mean as a function has the true distance, up to the largest length.

    Of two values it may lie halfway between two steps: then it is both.
    """
    bounds = Bounds.of((0, 4)).with_step(1)
    every = tables(range(5), n)
    for table in every:
        expected = [
            min(distance(table, other) for other in every if abs(Fraction(sum(other), n) - v) <= Fraction(1, 2))
            for v in range(5)
        ]
        found = function_lengths(np.array(table, dtype=float), bounds, lambda x: float(np.mean(x)), 9)
        assert found.tolist() == expected
        cut = function_lengths(np.array(table, dtype=float), bounds, lambda x: float(np.mean(x)), 1)
        assert cut.tolist() == np.minimum(expected, 2).tolist()


def test_a_function_that_fails_or_is_not_finite_counts_as_the_lower_bound() -> None:
    bounds = Bounds.of((0, 4)).with_step(1)
    for function in (lambda _: 1 / 0, lambda _: float("nan"), lambda _: "a"):
        found = function_lengths(np.array([1.0, 2.0]), bounds, function, 9)
        assert found.tolist() == [0, 3, 3, 3, 3]
