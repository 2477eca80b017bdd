import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

from toolkit.central.publishing.top import TopK
from toolkit.core.loss import Zcdp


def law(mechanism: TopK, counts: tuple[int, ...]) -> dict[tuple[int, ...], float]:
    """Of the ordered choices: round after round among what is left."""
    found = {}
    for chosen in itertools.permutations(range(len(counts)), mechanism.k):
        chance, left = 1.0, list(range(len(counts)))
        for place in chosen:
            chance *= float(mechanism.round.probabilities([counts[i] for i in left])[left.index(place)])
            left.remove(place)
        found[chosen] = chance
    return found


@pytest.mark.parametrize(("neighbors", "expected"), [("add_remove", 0.9999), ("replace", 0.7429)])
def test_no_choice_becomes_more_than_e_to_epsilon_times_likelier(neighbors: str, expected: float) -> None:
    """Over all neighbours whose counts are near or far apart. Under "replace" the bound is not reached: once
    one of the two counts that move was chosen, the next round moves the odds half as far.
    """
    mechanism = TopK.for_epsilon(1, 2, neighbors=neighbors)
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


def test_counts_that_move_in_one_direction_have_twice_the_rate() -> None:
    one, two = (TopK.for_epsilon(1, 4, neighbors=relation).round for relation in ("add_remove", "replace"))
    assert one.rate == 2 * two.rate == Fraction(1, 4)


def test_rounds_cost_an_eighth_of_their_square() -> None:
    assert TopK.for_epsilon(1, 10, neighbors="replace").zcdp == Zcdp(Fraction(10, 800))
    bought = TopK.for_rho("1/50", 10, neighbors="replace").zcdp
    assert bought <= Zcdp("1/50")
    assert float(bought.amount) == pytest.approx(0.02, rel=1e-12)


def test_the_most_frequent_are_found_in_order() -> None:
    counts = np.array([10, 5000, 20, 9000, 7000])
    mechanism = TopK.for_epsilon(1, 3, neighbors="replace")
    assert mechanism.choose(counts, np.random.default_rng(1)) == [3, 4, 1]
    assert mechanism.off_by(5) == math.ceil(6 * (math.log(5) + math.log(60)))


def test_more_than_there_are_is_refused() -> None:
    with pytest.raises(ValueError, match="`k` must be at most the number of options"):
        TopK.for_epsilon(1, 3, neighbors="replace").choose([1, 2])
