from itertools import product

import pytest

from toolkit.central.robust.smooth import (
    distance,
    local_by_brute_force,
    neighbors,
    sensitivities_by_brute_force,
    smooth_sensitivity,
    tables,
)


@pytest.mark.parametrize("n", [2, 3])
def test_tables_and_neighbors_are_those_of_all_ordered_ones(n: int) -> None:
    domain = [0, 1, 5]
    assert set(tables(domain, n)) == {tuple(sorted(table)) for table in product(domain, repeat=n)}
    for table in tables(domain, n):
        assert set(neighbors(table, domain)) == {
            tuple(sorted(other))
            for other in product(domain, repeat=n)
            if sum(a != b for a, b in zip(table, other, strict=True)) == 1
        }


def test_the_distance_is_the_least_number_of_replacements() -> None:
    for one, other in product(tables([0, 1, 2], 3), repeat=2):
        assert distance(one, other) == min(
            sum(a != b for a, b in zip(one, order, strict=True))
            for order in product([0, 1, 2], repeat=3)
            if tuple(sorted(order)) == other
        )


def test_the_reach_of_the_sum_is_the_width_once_everybody_may_differ() -> None:
    assert local_by_brute_force(sum, [1, 1], [0, 1, 4]) == 3
    assert local_by_brute_force(sum, [0, 4], [0, 4]) == 4
    assert local_by_brute_force(sum, [1, 1], [1]) == 0  # there is no neighbor
    assert sensitivities_by_brute_force(sum, [1, 1], [1]) == [0, 0, 0]
    assert sensitivities_by_brute_force(sum, [1, 1], [0, 1, 4]) == [3, 4, 4]
    for q, smooth in ((0.5, 3), (0.9, 3.6)):
        assert smooth_sensitivity(sum, [1, 1], domain=[0, 1, 4], q=q) == pytest.approx(smooth)
