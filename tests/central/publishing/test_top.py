import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

from tests.recorder import Draw, recorded
from toolkit.central.publishing.keys import TopK
from toolkit.core.loss import Zcdp


def law(mechanism: TopK, counts: tuple[int, ...]) -> dict[tuple[int, ...], float]:
    """Of the ordered choices: round after round among what is left."""
    found = {}
    for chosen in itertools.permutations(range(len(counts)), mechanism.k):
        chance, left = 1.0, list(range(len(counts)))
        for place in chosen:
            chance *= float(mechanism.round_mechanism.probabilities([counts[i] for i in left])[left.index(place)])
            left.remove(place)
        found[chosen] = chance
    return found


@pytest.mark.slow
@pytest.mark.parametrize(("neighbors", "expected"), [("add_remove", 0.9999), ("replace", 0.9981)])
def test_no_choice_becomes_more_than_e_to_epsilon_times_likelier(neighbors: str, expected: float) -> None:
    """Over all neighbors whose counts are near or far apart; the bound is nearly reached."""
    mechanism = TopK.for_epsilon(1, 2, neighbors=neighbors, max_total_change=1)
    worst = 0.0
    for counts in itertools.product((1, 2, 20), repeat=3):
        for up, down in itertools.permutations(range(3), 2):
            moved = list(counts)
            moved[up] += 1
            moved[down] -= neighbors == "replace"
            first, second = law(mechanism, counts), law(mechanism, tuple(moved))
            worst = max(worst, *(abs(math.log(first[c] / second[c])) for c in first))
    assert worst <= 1
    assert worst == pytest.approx(expected, abs=1e-4)


@pytest.mark.parametrize(("rows", "together"), [(1, 2), (2, 2), (2, 3)])
def test_a_person_with_several_rows_is_hidden_too(rows: int, together: int) -> None:
    """Rows that leave and rows that come: at most `rows` of one option, `together` of two."""
    mechanism = TopK.for_epsilon(1, 2, neighbors="replace", rows_per_person=rows, max_total_change=together)
    moves = [move for move in itertools.product(range(rows + 1), repeat=3) if sum(sorted(move)[1:]) <= together]
    worst = 0.0
    for others in ((0, 0, 0), (0, 0, 40), (40, 0, 40)):
        laws = [law(mechanism, tuple(np.add(others, move).tolist())) for move in moves]
        worst = max(worst, *(abs(math.log(x[c] / y[c])) for x in laws for y in laws for c in x))
    assert 0.5 < worst <= 1


def test_rates_are_those_of_the_proof() -> None:
    one, two = (
        TopK.for_epsilon(1, 4, neighbors=relation, max_total_change=1).round_mechanism
        for relation in ("add_remove", "replace")
    )
    assert (one._rate, two._rate) == (Fraction(1, 4), Fraction(1, 5))
    assert TopK.for_epsilon(1, 4, neighbors="replace", rows_per_person=3, max_total_change=5).rate == Fraction(1, 17)
    assert TopK.for_epsilon(1, 1, neighbors="replace").rate == Fraction(1, 2)
    assert TopK.for_epsilon(1, 4, neighbors="replace", rows_per_person=3).max_total_change == 12
    with pytest.raises(ValueError, match="`max_total_change` must lie between `rows_per_person` and"):
        TopK.for_epsilon(1, 2, neighbors="replace", rows_per_person=3, max_total_change=2)


@pytest.mark.parametrize("neighbors", ["add_remove", "replace"])
def test_rounds_cost_an_eighth_of_the_square_of_their_range(neighbors: str) -> None:
    mechanism = TopK.for_epsilon(1, 10, neighbors=neighbors, max_total_change=1)
    assert mechanism.bounded_range == (Fraction(1, 10) if neighbors == "add_remove" else Fraction(2, 11))
    assert mechanism.zcdp == Zcdp(10 * mechanism.bounded_range**2 / 8)
    bought = TopK.for_rho("1/50", 10, neighbors=neighbors)
    assert (bought.rows_per_person, bought.max_total_change) == (1, 10)
    assert bought.zcdp <= Zcdp("1/50")
    assert float(bought.zcdp.amount) == pytest.approx(0.02, rel=1e-12)
    several = TopK.for_rho("1/50", 10, neighbors=neighbors, rows_per_person=3, max_total_change=7)
    assert (several.k, several.neighbors, several.rows_per_person, several.max_total_change) == (10, neighbors, 3, 7)
    assert float(several.zcdp.amount) == pytest.approx(0.02, rel=1e-12)


def test_the_most_frequent_are_found_in_order() -> None:
    counts = np.array([10, 5000, 20, 9000, 7000])
    mechanism = TopK.for_epsilon(1, 3, neighbors="replace", max_total_change=1)
    assert mechanism.choose(counts, np.random.default_rng(1)) == [3, 4, 1]
    assert mechanism.error_bound(5) == math.ceil(4 * (math.log(5) + math.log(60)))


def test_all_may_be_chosen_and_more_than_there_are_is_refused() -> None:
    assert TopK.for_epsilon(200, 2, neighbors="replace").choose([1, 2]) == [1, 0]
    with pytest.raises(ValueError, match="`k` must be at most the number of options"):
        TopK.for_epsilon(1, 3, neighbors="replace").choose([1, 2])


@pytest.mark.parametrize(
    ("neighbors", "rate"), [("add_remove", Fraction(6, 2 * 3)), ("replace", Fraction(6, 2 * 3 + 4))]
)
def test_each_round_draws_among_the_counts_that_are_left_at_its_rate(neighbors: str, rate: Fraction) -> None:
    """k rows, or k rows + together, share epsilon; what was drawn is told, not what is most frequent."""
    top = TopK.for_epsilon(6, 2, neighbors=neighbors, rows_per_person=3, max_total_change=4)
    with recorded(choices=[2, 0]) as drawn:
        assert top.choose([9, 50, 7, 8]) == [2, 0]
    assert drawn == [Draw("choice", rate, 4, (9, 50, 7, 8)), Draw("choice", rate, 3, (9, 50, 8))]
