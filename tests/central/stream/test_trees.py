import itertools
import math

import numpy as np
import pytest

from tests.central.stream.noises import published
from tests.slowly import each, slowly
from toolkit.central.stream import RunningTotal, SquareRoot, Tree
from toolkit.central.stream.calibration import best_factorization, lowest_error_factorization
from toolkit.central.stream.trees import averaged_error_factors, binary_tree, candidate_trees
from toolkit.core.loss import Pure, Zcdp


def test_fresh_noise_is_a_tree_of_one_level() -> None:
    assert Tree(9).node_counts.tolist() == list(range(1, 10))
    assert (Tree(9).l1_sensitivity(), Tree(9)._l2_squared(), Tree(9)._l2_squared(4)) == (1, 1, 4)


def test_a_binary_tree_uses_as_many_sums_as_the_period_has_binary_ones() -> None:
    assert binary_tree(52).node_counts.tolist() == [t.bit_count() for t in range(1, 53)]
    assert (binary_tree(52).l1_sensitivity(), binary_tree(52)._l2_squared()) == (6, 6)
    assert (binary_tree(8).l1_sensitivity(3), binary_tree(8)._l2_squared(3)) == (
        12,
        3 + (4 + 1) + 9 + 9,
    )  # all in one block of four
    assert (binary_tree(64).levels, binary_tree(63).levels) == (7, 6)


def test_totals_of_a_tree_are_the_digits_of_the_period_in_its_base() -> None:
    """The first digit has no limit: 12 sums at most for blocks of 8 and 52 periods, 36 for 20 and 365."""
    assert Tree(52, 8, 2).node_counts.max() == 12
    assert Tree(365, 20, 2).node_counts.max() == 36
    assert Tree(3650, 16, 3).node_counts.max() == 43
    assert [Tree(9, 3, depth).description for depth in (1, 2)] == [
        "fresh noise for every period",
        "a tree of 2 levels: noise on periods and on blocks of 3",
    ]
    assert Tree(3650, 16, 3).description == "a tree of 3 levels: noise on periods and on blocks of 16 and 256"


@pytest.mark.parametrize("tree", [Tree(9, 2, 4), Tree(9, 3, 2), Tree(9, 3, 3, 4), Tree(9, 2, 3, 5), Tree(9)])
def test_what_a_total_is_made_of_is_counted_and_adds_up(tree: Tree) -> None:
    """Each noisy number alone moves the totals by -1, 0 or 1; at each period so many of them as `nodes` says."""

    def make() -> RunningTotal:
        return RunningTotal(Pure(1), 9, window=tree.window, factorization=tree)

    counts = [3, 1, 4, 1, 5, 9, 2, 6, 5]
    exact, measured = published(make, counts)
    width = tree.window or 9
    assert exact == [sum(counts[max(0, t - width) : t]) for t in range(1, 10)]
    number = sum(map(len, measured))
    moved = [
        np.array(published(make, counts, [i == place for i in range(number)])[0]) - exact for place in range(number)
    ]
    assert np.abs(moved).sum(axis=0).tolist() == tree.node_counts.tolist()
    assert set(np.unique(moved)) <= {-1, 0, 1}


@pytest.mark.parametrize("times", slowly([1, 2, 3], [2, 3]))
@each(tree=[Tree(9, 2, 4), Tree(9, 3, 2), Tree(8, 2, 3, 3), Tree(7)])
def test_no_person_moves_the_sums_further_than_claimed(tree: Tree, times: int) -> None:
    """By brute force over all sets of periods; the claim in absolute value is reached."""
    zero = [0] * tree.periods
    _, base = _measured(tree, zero)
    far, long = 0, 0
    for chosen in itertools.combinations(range(tree.periods), times):
        counts = [int(period in chosen) for period in range(tree.periods)]
        _, numbers = _measured(tree, counts)
        moves = [a - b for a, b in zip(numbers, base, strict=True)]
        far, long = max(far, sum(map(abs, moves))), max(long, sum(move**2 for move in moves))
    assert far <= tree.l1_sensitivity(times)
    assert long <= tree._l2_squared(times)
    if times == 1:
        assert (far, long) == (tree.l1_sensitivity(), tree._l2_squared())


def _measured(tree: Tree, counts: list[int]) -> tuple[list[float], list[int]]:
    made, noisy = published(lambda: RunningTotal(Pure(1), tree.periods, window=tree.window, factorization=tree), counts)
    return made, [number for row in noisy for number in row]


def test_the_binary_tree_and_averaging_from_below_have_the_known_errors() -> None:
    """Pure(1), 52 periods: 18.97 and 15.39, recomputed from popcounts and v = 1 / (1 + 1/(2v))."""
    tree = binary_tree(52)
    unit = math.sqrt(2) * float(tree.l1_sensitivity())
    assert unit * tree.error_factors.max() == pytest.approx(18.97, abs=0.005)
    assert unit * averaged_error_factors(tree).max() == pytest.approx(15.385, abs=0.005)
    with pytest.raises(ValueError, match="must have no window, got 2"):
        averaged_error_factors(Tree(8, 2, 3, window=2))


def test_averaging_from_below_is_the_best_average_of_a_block_and_its_parts() -> None:
    """Two periods and their block, each with noise of variance 1: the average with weights 2/3 and 1/3."""
    assert averaged_error_factors(Tree(2, 2, 2))[1] ** 2 == pytest.approx((2 / 3) ** 2 + 2 * (1 / 3) ** 2)


MANY = [*range(2, 30, 3), 36, 40, 44, 45, 46, 47, 48, 49, 50, 52, 60, 78, 104, 365, 1000, 3650]


@pytest.mark.slow
def test_averaging_from_below_would_serve_nothing_under_zcdp() -> None:
    """The square root has a largest error that is smaller than that of every tree, averaged from below, by a
    sixth at least; up to 1,000 periods.
    """
    for periods in MANY[:-1]:
        way = SquareRoot(periods)
        chosen = math.sqrt(way._l2_squared()) * way.error_factors.max()
        averaged = min(
            math.sqrt(tree._l2_squared()) * averaged_error_factors(tree).max() for tree in candidate_trees(periods)
        )
        assert best_factorization(Zcdp(1), periods) == way
        assert chosen < averaged / 1.2


@pytest.mark.slow
def test_the_best_tree_beats_the_averaged_binary_one_under_pure() -> None:
    """Under pure the best tree beats the averaged binary one and averaging gains six percent."""
    gains = {}
    for periods in MANY:
        way = best_factorization(Pure(1), periods)
        chosen = float(way.l1_sensitivity()) * way.error_factors.max()
        assert (
            chosen
            < float(binary_tree(periods).l1_sensitivity()) * averaged_error_factors(binary_tree(periods)).max() / 1.4
        )
        averaged = min(
            float(tree.l1_sensitivity()) * averaged_error_factors(tree).max() for tree in candidate_trees(periods)
        )
        gains[periods] = 1 - averaged / chosen
    assert max(gains, key=gains.__getitem__) == 48
    assert gains[48] == pytest.approx(0.0572, abs=1e-4)
    assert gains[52] == pytest.approx(0.0426, abs=1e-4)
    assert all(gains[periods] == 0 for periods in MANY if periods < 30)


def test_a_level_that_serves_nothing_is_refused() -> None:
    with pytest.raises(ValueError, match=r"largest blocks must fit into `periods`, got 8\*\*2 of 52 periods"):
        Tree(52, 8, 3)


def test_no_tree_is_better_than_the_best_of_the_candidates() -> None:
    for periods in (2, 8, 48):
        tried, levels = list(candidate_trees(periods)), range(1, periods.bit_length() + 1)
        pairs = itertools.product(range(2, periods + 1), levels)
        every = [Tree(periods, branches, depth) for branches, depth in pairs if branches ** (depth - 1) <= periods]
        assert binary_tree(periods) in tried
        for loss, times in itertools.product((Pure(1), Zcdp(1)), (1, 3)):
            assert lowest_error_factorization(tried, loss, times) == lowest_error_factorization(every, loss, times)
