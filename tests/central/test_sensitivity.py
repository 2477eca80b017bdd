import statistics
from collections import Counter
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from toolkit.central.sensitivity import (
    _all_pairs,
    _random_pairs,
    count,
    counts,
    covariance,
    histogram,
    mean,
    total,
    variance,
    worst_case,
)

RELATIONS = ["replace", "add_remove"]
EYES = ["brown", "blue", "green", "red"]


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("groups", [(["brown"],), (EYES,), (["brown"], ["tall"]), (EYES, ["tall"])])
def test_several_counts_together_agree_with_all_small_tables(groups: tuple[list[str], ...], relation: str) -> None:
    """Those of the lecture on numeric queries, and one more: 1, 1 and 2 under "add_remove"."""
    people = [(eye, tall) for eye in (*EYES, "other") for tall in ("tall", "short")]
    names = [name for group in groups for name in group]

    def tally(rows: list[tuple[str, str]]) -> list[int]:
        seen = Counter(word for row in rows for word in row)
        return [seen[name] for name in names]

    claimed = counts(*groups, neighbors=relation)
    if relation == "add_remove":
        assert claimed.l1 == len(groups)
    for norm, reach in (("l1", claimed.l1), ("l2", float(claimed.l2))):
        found = worst_case(tally, people, 2, neighbors=relation, norm=norm)
        assert found.is_complete
        assert float(found.at_least) == pytest.approx(float(reach), rel=1e-15)


@pytest.mark.parametrize("bounds", [(0, 1), (-1, 3), (-5, -2), ("1/3", 2)])
@pytest.mark.parametrize("relation", RELATIONS)
def test_the_sum_agrees_with_all_small_tables(bounds: tuple[object, object], relation: str) -> None:
    low, high = map(Fraction, bounds)
    found = worst_case(sum, [low, high, (low + high) / 2], 3, neighbors=relation)
    assert found.at_least == total(bounds, neighbors=relation).l1


@pytest.mark.parametrize("n", [1, 2, 5])
def test_the_mean_agrees_with_all_small_tables(n: int) -> None:
    found = worst_case(lambda rows: Fraction(sum(rows), n), [-2, 0, 3], n, neighbors="replace")
    assert found.at_least == mean((-2, 3), n, neighbors="replace").l1 == Fraction(5, n)


@pytest.mark.parametrize("n", [2, 3, 4, 5])
def test_the_variance_agrees_with_all_small_tables(n: int) -> None:
    for ddof, function in ((0, statistics.pvariance), (1, statistics.variance)):
        found = worst_case(lambda rows, f=function: f(map(Fraction, rows)), [0, 1, 3], n, neighbors="replace")
        assert found.at_least == variance((0, 3), n, neighbors="replace", ddof=ddof).l1


@pytest.mark.parametrize("n", [2, 3])
def test_the_covariance_agrees_with_all_small_tables(n: int) -> None:
    def of(rows: list[tuple[int, int]]) -> Fraction:
        x, y = zip(*rows, strict=True)
        return Fraction(n * sum(a * b for a, b in rows) - sum(x) * sum(y), n * (n - 1))

    found = worst_case(of, [(x, y) for x in (-2, 3) for y in (1, 5)], n, neighbors="replace")
    assert found.at_least == covariance((-2, 3), (1, 5), n, neighbors="replace").l1 == Fraction(20, n)


@pytest.mark.parametrize("relation", RELATIONS)
def test_count_and_histogram(relation: str) -> None:
    assert count(neighbors=relation).l1 == 1
    found = histogram(neighbors=relation)
    assert (found.l1, found.l2_squared) == ((2, 2) if relation == "replace" else (1, 1))
    assert found.l2**2 >= found.l2_squared
    assert float(found.l2) == pytest.approx(float(found.l2_squared) ** 0.5, rel=1e-15)


@pytest.mark.parametrize("relation", RELATIONS)
def test_the_length_of_one_number_is_its_size(relation: str) -> None:
    """A mean of 100 numbers in [0, 1] moves by 0.01 in either norm: less would be too little Gaussian noise."""
    scalars = [count(neighbors=relation), total((-1, 3), neighbors=relation), total(("1/7", "1/3"), neighbors=relation)]
    if relation == "replace":
        scalars += [mean((0, 1), 100, neighbors=relation), variance((0, 3), 7, neighbors=relation)]
        scalars.append(variance((0, 3), 7, neighbors=relation, ddof=0))
        scalars.append(covariance((0, 3), (0, 2), 7, neighbors=relation))
    for found in scalars:
        assert found.neighbors == found.scaled_by_rows(2).neighbors == relation
        assert found.l2_squared == found.l1**2
        assert found.l2 == found.l1
    if relation == "replace":
        assert mean((0, 1), 100, neighbors=relation).l2 == Fraction(1, 100)


def test_an_irrational_length_is_rounded_up_at_the_60th_binary_digit() -> None:
    """A length that is not a fraction is rounded upwards by less than 2**-60."""
    for times in (1, 3, 10**9):
        found = histogram(neighbors="replace").scaled_by_rows(times)
        assert (found.l2 - Fraction(1, 2**60)) ** 2 < found.l2_squared < found.l2**2


def test_a_person_with_three_rows_moves_three_times_as_far() -> None:
    three = histogram(neighbors="replace").scaled_by_rows(3)
    assert (three.l1, three.l2_squared) == (6, 18)
    with pytest.raises(ValueError, match="`k` must be at least 1, got 0"):
        three.scaled_by_rows(0)


def test_neighbors_are_always_said() -> None:
    for function, arguments in (
        (count, ()),
        (histogram, ()),
        (total, ((0, 1),)),
        (mean, ((0, 1), 5)),
        (counts, (["a"],)),
    ):
        with pytest.raises(TypeError, match="neighbors"):
            function(*arguments)
        with pytest.raises(ValueError, match="`neighbors` must be one of"):
            function(*arguments, neighbors="swap")


def test_where_n_is_private_mean_and_variance_are_rejected() -> None:
    """A divisor other than n or n - 1 is rejected as well."""
    for function, bounds in ((mean, [(0, 1)]), (variance, [(0, 1)]), (covariance, [(0, 1), (0, 1)])):
        with pytest.raises(ValueError, match="n is private; release the sum and the count"):
            function(*bounds, 10, neighbors="add_remove")
    with pytest.raises(ValueError, match="`ddof` must be 0 or 1"):
        variance((0, 1), 10, neighbors="replace", ddof=2)


@pytest.mark.parametrize("bounds", [(1, 0), (1, 1), (float("nan"), 1), (0, float("inf"))])
def test_bounds_must_be_two_increasing_numbers(bounds: tuple[float, float]) -> None:
    with pytest.raises(ValueError, match="bounds"):
        total(bounds, neighbors="replace")


def test_groups_of_counts_must_be_lists() -> None:
    for groups in ((), ("brown",), ([],)):
        with pytest.raises(TypeError, match="each group must be a list"):
            counts(*groups, neighbors="replace")


def test_the_search_says_that_it_is_a_lower_bound_and_shows_where() -> None:
    found = worst_case(max, [0, 10], 3, neighbors="replace")
    assert "not a proof" in repr(found)
    assert "not a proof" in found._repr_html_()
    assert (found.at_least, sorted([max(found.table), max(found.neighbor)])) == (10, [0, 10])
    assert sum(a != b for a, b in zip(found.table, found.neighbor, strict=True)) == 1


def test_a_large_search_is_random_repeatable_and_still_a_lower_bound() -> None:
    arguments = {"neighbors": "add_remove", "limit": 500}
    first, second = (worst_case(sum, range(100), 6, **arguments) for _ in range(2))
    assert first == second
    assert not first.is_complete
    assert "random part" in repr(first)
    assert 90 <= first.at_least <= 99
    other = worst_case(sum, range(100), 6, rng=np.random.default_rng(9), **arguments)
    assert len(other.table) == len(other.neighbor) + 1


@pytest.mark.parametrize("relation", ["replace", "add_remove"])
def test_random_pairs_are_neighbors_and_reach_all_of_them(relation: str) -> None:
    """1,000 draws of 36 or 15 pairs: one is missed with probability 1e-10."""
    found = list(_random_pairs(range(3), 2, relation, 1000, np.random.default_rng(1)))
    assert len(found) == 1000
    every = set(_all_pairs(range(3), 2, relation))
    if relation == "replace":
        every |= {(other, table) for table, other in every}
    assert set(found) == every
    assert len(every) == {"replace": 36, "add_remove": 15}[relation]


@pytest.mark.parametrize("wrong", [{"n": 0}, {"norm": "l3"}, {"limit": 0}, {"neighbors": "swap"}], ids=str)
def test_a_search_for_nothing_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=f"`{next(iter(wrong))}` must be"):
        worst_case(sum, [0, 1], **({"n": 2, "neighbors": "replace"} | wrong))


def test_without_values_there_is_no_pair_and_no_change() -> None:
    found = worst_case(sum, [], 3, neighbors="add_remove")
    assert (found.at_least, found.table, found.neighbor, found.n_pairs, found.is_complete) == (0, (), (), 0, True)
    for values in ([], [7]):
        with pytest.raises(ValueError, match="`values` must hold at least two values"):
            worst_case(sum, values, 3, neighbors="replace")


@pytest.mark.parametrize(("relation", "pairs"), [("replace", 48), ("add_remove", 32)])
def test_a_search_is_complete_as_long_as_all_pairs_are_within_the_limit(relation: Any, pairs: int) -> None:
    for limit in (pairs, pairs - 1):
        found = worst_case(sum, [0, 1, 5, 7], 2, neighbors=relation, limit=limit)
        assert (found.is_complete, found.n_pairs) == (limit == pairs, limit)
